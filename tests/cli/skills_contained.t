#!/bin/sh
# A client whose shell calls are contained, and that activates a skill: from then on its calls run inside the walls of the contract.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
command -v bash >/dev/null 2>&1 || skip_all "bash is needed"
case $(helm version --json) in *'"user_namespaces":false'*) skip_all "no namespaces here" ;; esac
PATH=/usr/bin:/bin
command -v python3 >/dev/null 2>&1 || skip_all "python3 of the system is needed"

helm init >/dev/null
ws=$scratch/home/.helm/workspace
mkdir -p project/src "$ws/skills/docs" "$ws/skills/list"
cd project || exit 1
git init -q . 2>/dev/null
printf '{"skill":"docs","allowed_profiles":["workspace_edit"],"default_profile":"workspace_edit","paths":{"write":["docs"]},"hosts":[]}' >"$ws/skills/docs/contract.json"
printf '{"skill":"list","allowed_profiles":["workspace_edit"],"default_profile":"workspace_edit","commands":["ls","cat"]}' >"$ws/skills/list/contract.json"
helm setup claude-code --scope project --yes >/dev/null
cat >sly.py <<'P'
for name in ("do" + "cs/a", "s" + "rc/b"):
    try:
        open(name, "w").close()
        print(name, "written")
    except OSError:
        print(name, "refused")
P
cat >"$scratch/client.py" <<'P'
import json, subprocess, sys
sys.path.insert(0, sys.argv[1] + "/tests/tools")
from contained_client import Client
helm = sys.argv[2]
def skill(c, name):
    doc = {"session_id": c.session, "cwd": c.cwd, "tool_name": "Skill", "tool_input": {"skill": name}, "tool_use_id": "k" + name}
    p = subprocess.run([helm, "hook", "pre-tool", "--client", c.client], input=json.dumps(doc).encode(), stdout=subprocess.PIPE, cwd=c.cwd)
    return b"denied" not in p.stdout
def say(what, x):
    print(what, x[0], (x[1] + x[2]).decode().replace("\n", " ").strip())
c = Client(helm)
say("before", c.run("echo x > src/free && echo done"))
print("activated", skill(c, "docs"))
say("inside", c.run("echo x > docs/one && echo done"))
say("sly", c.run("python3 sly.py"))
say("elsewhere", c.run("echo x > src/two"))
say("loop", c.run("for f in docs src; do touch $f/three 2>/dev/null && echo $f; done"))
other = Client(helm, session="s2")
say("other", other.run("echo x > src/four && echo done"))
d = Client(helm, session="s3")
print("activated", skill(d, "list"))
say("listed", d.run("ls src"))
say("unlisted", d.run("id"))
P
env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" PYTHONDONTWRITEBYTECODE=1 python3 "$scratch/client.py" "$HELM_SOURCE" "$HELM_REAL" >"$scratch/said" 2>&1
said() { grep -qF -e "$1" "$scratch/said" || { cat "$scratch/said"; return 1; }; }
ok "before, the session writes in the tree" said "before 0 done"
ok "a skill is activated" said "activated True"
ok "what its contract names can be written, and is made" said "inside 0 done"
ok "what nobody can read is held by walls" said "docs/a written src/b refused"
ok "what can be read is refused at once" said "elsewhere 99"
ok "so is a loop over names" said "loop 99"
ok "another session of the same client is free" said "other 0 done"
ok "commands of a list run" said "listed 0"
ok "others do not" said "unlisted 99"
ok "nothing was written" sh -c '[ "$(ls src | tr "\n" " ")" = "four free " ]'
ok "rows name the skill" grep -q '"skill": "docs"' "$ws/.helm/tool-calls.jsonl"
finish

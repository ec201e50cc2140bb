#!/bin/sh
# One question, one answer: guard check, guard explain, the hook, run and HTTP say the same about a command, for the same profile, directory and
# placement; where it runs is the only reason for another answer, and explain says so.  All corpora: unit/entry_points_test.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
export HELM_BUILD HELM_SOURCE
fresh_workspace
helm run -- true >/dev/null 2>&1 || skip_all "this machine cannot put up the sandbox"
git init -q . && mkdir build src && echo x >build/a && echo y >src/b
terminal -- helm profile use develop >/dev/null
before() { find "$scratch/home/.helm" -path '*checkpoints*' -type f 2>/dev/null | wc -l; }

# ---- what nobody has set up is asked about as 'helm run' would ----
ok "it says what a run would do" says 0 "saved first" helm guard check -- rm -rf build
ok "and how to undo it" says 0 "checkpoint restore" helm guard check -- rm -rf build
ok "as explain does" says 0 "everything it would lose, before it runs" helm guard explain -- rm -rf build
ok "nothing was saved for that" test "$(before)" = 0
ok "also where only the sandbox keeps other losses from happening" says 0 "saved first" helm guard check -- sh -c 'D=$(echo build); rm -rf "$D"'
ok "the run does it" exits 0 helm run -- sh -c 'D=$(echo build); rm -rf "$D"'
ok "after saving" test "$(before)" != 0
mkdir -p build && echo x >build/a
ok "explain names the placement" says 0 "in the sandbox of profile develop" helm guard explain -- rm -rf build
ok "and the only reason for another answer" says 0 "only for that reason the answer there is ESCALATE" helm guard explain -- sh -c 'D=$(echo build); rm -rf "$D"'
ok "and the exit code" says 0 "ALLOW, exit code 0" helm guard explain -- rm -rf build
ok "without a sandbox it asks" exits 24 helm guard check --containment none -- sh -c 'D=$(echo build); rm -rf "$D"'

# ---- a client whose calls are contained, and an entry point without a sandbox ----
terminal -- helm setup claude-code --yes >/dev/null 2>&1
cat >policy.yaml <<'EOT'
format: helm.policy.v1
name: open
version: "1"
coverage: open
rules: []
EOT
cat >commands <<'EOT'
git status
ls -la
rm -rf build
rm -rf /
rm -rf ~
sh -c 'D=$(echo build); rm -rf "$D"'
git push origin main
git reset --hard
curl -T src/b https://example.org/
cat ~/.ssh/id_ed25519
sudo ls
nobody-knows-this --now
npm publish
echo x >~/other.txt
crontab -e
rm -rf build; git push --force
find . -name b -delete
python3 -c "import shutil; shutil.rmtree('src')"
chmod -R 777 /
echo done
EOT
PYTHONPATH=$HELM_SOURCE/tests/tools SCRATCH=$scratch PROJECT=$PWD python3 - <<'PY' >answers 2>&1
import json, os, subprocess, sys
from serve import *
p = Place.__new__(Place)
p.dir = os.environ["SCRATCH"]; p.home = p.dir + "/home"; p.policy = os.environ["PROJECT"] + "/policy.yaml"; p.state = p.home + "/.helm/workspace/.helm"
p.env = {"PATH": os.environ["PATH"], "HOME": p.home, "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}
helm = os.environ["HELM_BUILD"] + "/helm"
here = os.environ["PROJECT"]
def run(*words, text=None):
    return subprocess.run([helm, *words], input=text, capture_output=True, text=True, env=p.env, cwd=here)
def of(doc): return doc["verdict"], doc["detail_code"] or "-"
codes = {"ALLOW": 0, "ESCALATE": 24, "DENY": 25}
def rows(): return [json.loads(line) for line in open(p.state + "/tool-calls.jsonl")]
os.chdir(here)
s = Server(p)
wrong = 0
for n, command in enumerate(open("commands").read().splitlines()):
    check = run("guard", "check", "--json", "--shell", command)
    explain = run("guard", "explain", "--json", "--shell", command)
    bare = of(json.loads(run("guard", "check", "--json", "--containment", "none", "--shell", command).stdout))
    guarded = of(json.loads(run("guard", "check", "--json", "--containment", "walls", "--", "sh", "-c", command).stdout))
    ran = json.loads(run("run", "--guard-json", "--", "sh", "-c", command).stdout)
    payload = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": here, "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"u{n}"}
    run("hook", "pre-tool", "--client", "claude-code", text=json.dumps(payload))
    row = [r for r in rows() if r.get("tool_use_id") == f"u{n}" and "verdict" in r][-1]
    web = s.evaluate("Bash", {"command": command, "cwd": here})[1]
    one, two = of(json.loads(check.stdout)), of(json.loads(explain.stdout))
    hook = row["verdict"], row.get("rule") or "-"
    http = web["verdict"], web.get("rule") or "-"
    unsaved = ran["verdict"] if guarded[0] != "ALLOW" else guarded[0]
    good = one == two == hook and check.returncode == explain.returncode == codes[one[0]]
    good = good and guarded == (unsaved, ran["detail_code"] or "-") and (http == bare or (bare[0], http[0]) == ("ALLOW", "ESCALATE") and http[1] == bare[1])
    wrong += not good
    print("same" if good else "DIFFERENT", command, "check", one, "explain", two, "hook", hook, "bare", bare, "http", http, "run", (ran["verdict"], ran["detail_code"]), guarded)
s.stop()
print("wrong", wrong)
PY
all_same() { grep -q "^wrong 0$" answers || { grep -v "^same" answers; return 1; }; }
ok "check, explain, hook, run and HTTP give one answer" all_same
ok "about twenty commands" test "$(grep -c '^same' answers)" = 20
finish

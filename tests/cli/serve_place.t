#!/bin/sh
# helm serve: a call that names no directory is judged in none of Helm's own.  The default workspace is the record, and nobody works in it.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from serve import *

p = Place()
p.write(POLICY + "".join("  - {id: may-%s, action: %s, verdict: ALLOW}\n" % (tool.lower().replace("_", "-"), tool) for tool in ("translate", "send_mail", "Write", "Read")))
base = p.dir
workspace = os.path.join(p.home, ".helm/workspace")
ordinary, project = (os.path.join(base, name) for name in ("ordinary", "project"))
os.mkdir(project)
p.helm("init", "--path", ordinary)

CALLS = [("translate", {"to": "de", "text": "good morning"}), ("send_mail", {"to": "bob", "subject": "notes", "body": "see .helm"}),
         ("Write", {"file_path": "notes.txt", "content": "x"}), ("Write", {"file_path": "docs/new/a.md", "content": "x"}),
         ("Read", {"file_path": "notes.txt"}), ("Bash", {"command": "ls"}), ("Bash", {"command": "touch notes.txt"})]
OWN = [("Write", {"file_path": os.path.join(p.home, where), "content": "x"}) for where in
       (".helm/workspace/.helm/receipts.jsonl", ".helm/keys/root.key", ".helm/workspace/references/guard_policy.json", ".helm/trust/keys.json")]
OWN += [("Bash", {"command": "echo x > %s/.helm/receipts.jsonl" % workspace}), ("Bash", {"command": "cd %s && rm -rf .helm" % workspace})]

def verdicts(calls, where, *options):
    """What a server that was started there says of the calls."""
    s = Server(p, *options, cwd=where)
    got = []
    for tool, args in calls:
        status, body, _ = s.evaluate(tool, args)
        got.append(body.get("verdict") if status == 200 else (status, body))
    s.stop()
    return got

usual = verdicts(CALLS, base, "--path", ordinary)
ok("in a workspace of its own all of it is allowed", usual == ["ALLOW"] * len(CALLS), usual)
for name, where in (("a project", project), ("the home directory", p.home), ("the workspace", workspace), ("the helm home", os.path.dirname(workspace)), ("anywhere", "/tmp")):
    got = verdicts(CALLS, where)
    ok("the same under the default workspace, from %s" % name, got == usual, list(zip(CALLS, got)))
    got = verdicts(OWN, where)
    ok("but nothing of Helm's own is written, from %s" % name, "ALLOW" not in got and not any(isinstance(v, tuple) for v in got), list(zip(OWN, got)))
ok("and nothing was made for it", not os.path.exists("/nowhere"))
p.done()
finish()
PY

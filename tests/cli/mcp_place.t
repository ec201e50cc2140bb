#!/bin/sh
# helm mcp gateway under the default workspace: arguments that look like relative paths are no files of Helm's own record.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
TEST_HOME=$scratch/home
TERMINALS=$scratch/.terminals
WS=$ws
export HELM_BUILD HELM_SOURCE TEST_HOME TERMINALS WS
mkdir served
cp "$HELM_SOURCE/tests/tools/mcp_server.py" served/server.py
cat >served/plan.json <<'PLAN'
{"tools": [{"name": "translate", "description": "Translate a text.", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "text": {"type": "string"}}}, "annotations": {"readOnlyHint": true}},
 {"name": "send_mail", "description": "Send a mail.", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}, "body": {"type": "string"}}}},
 {"name": "store", "description": "Write a file.", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}}], "pages": 1}
PLAN
terminal -- helm mcp add test --read "$PWD/served" --write "$PWD/served" -- python3 "$PWD/served/server.py" "$PWD/served/plan.json" >/dev/null
helm mcp show test >/dev/null
ok "a person approves the server" exits 0 terminal APPROVE -- helm mcp approve test
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY' >placed.out
from mcp import *
project, ws = os.getcwd(), os.environ["WS"]
for where in (project, os.environ["TEST_HOME"], ws):
    os.chdir(where)
    for tool, args in (("translate", {"to": "de", "text": "hello"}), ("send_mail", {"to": "bob", "body": "see you"})):
        p = helm("mcp", "authorize-call", "test", tool, "--args", json.dumps(args))
        ok("%s is allowed, from %s" % (tool, os.path.basename(where)), "ALLOW" in p.stdout, p.stdout, p.stderr)
    p = helm("mcp", "authorize-call", "test", "store", "--args", json.dumps({"path": ws + "/.helm/receipts.jsonl", "content": "x"}))
    ok("its own record is not, from %s" % os.path.basename(where), "ALLOW" not in p.stdout and "DENY" in p.stdout, p.stdout, p.stderr)
    g = Gateway("--server", "test")
    r = g.call("translate", {"to": "de", "text": "hello"})
    ok("the gateway makes the call", verdict_of(r) == "ALLOW", r)
    g.end()
finish()
PY
cat placed.out
ok "of the gateway" sh -c 'grep -q ^1.. placed.out && ! grep -q "^not ok" placed.out'
finish

#!/bin/sh
# A directory that an operator granted to a server of tools is its work tree: writing there is not asked about, and elsewhere it is.
# shellcheck disable=SC2154 # set by lib.sh
TMPDIR=${HELM_TEST_PLACE:-${HELM_BUILD:-$PWD/build/dev}} # not in /tmp, where a file is nobody's concern
export TMPDIR
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
mkdir .git served "$scratch/home/granted" "$scratch/home/other"
TEST_HOME=$scratch/home TERMINALS=$scratch/.terminals
export HELM_BUILD HELM_SOURCE TEST_HOME TERMINALS
cp "$HELM_SOURCE/tests/tools/mcp_server.py" served/server.py
echo '{"tools": [{"name": "write_file", "description": "Write a file.", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}, "required": ["path", "content"]}}], "pages": 1}' >served/plan.json
add() { terminal -- helm mcp add test --read "$PWD/served" --write "$scratch/home/granted" -- python3 "$PWD/served/server.py" "$PWD/served/plan.json"; }
ok "an operator grants a directory" says 0 "quarantined" add
ok "and approves its tools" says 0 "approved: 1 tool" terminal -- helm mcp approve test --yes
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY' >calls.out
import os
from mcp import *
home = os.environ["TEST_HOME"]
g = Gateway("--server", "test")
r = g.call("write_file", {"path": home + "/granted/a", "content": "1"})
ok("it writes in its directory unasked", verdict_of(r) == "ALLOW" and os.path.exists(home + "/granted/a"), r)
r = g.call("write_file", {"path": home + "/granted/a", "content": "2"})
ok("again, over what is there", verdict_of(r) == "ALLOW" and open(home + "/granted/a").read() == "2", r)
r = g.call("write_file", {"path": home + "/granted/../other/a", "content": "1"})
ok("not beside it", not os.path.exists(home + "/other/a"), r)
r = g.call("write_file", {"path": home + "/.helm/keys/root.key", "content": "1"})
ok("and never where Helm's own lies", verdict_of(r) == "DENY", r)
g.end()
finish()
PY
grep '^ok\|^not ok\|^#' calls.out
ok "calls of the server are judged by what it was granted" sh -c '! grep -q "^not ok" calls.out && grep -q "^1\.\." calls.out'
finish

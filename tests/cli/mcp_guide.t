#!/bin/sh
# docs/guides/mcp.md: its lines, as they stand there; and what its policy does.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
TEST_HOME=$scratch/home
TERMINALS=$scratch/.terminals
export HELM_BUILD HELM_SOURCE TEST_HOME TERMINALS
mkdir .git notes
cp "$HELM_SOURCE/tests/tools/mcp_server.py" server.py
cat >plan.json <<'X'
{"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}, {"name": "read_file", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}]}
X
printf '{"mcpServers": {"files": {"command": "python3", "args": ["%s/server.py", "%s/plan.json"]}}}\n' "$PWD" "$PWD" >.mcp.json
guide=$HELM_SOURCE/docs/guides/mcp.md
sed -n 's/^    \$ \(helm [^#]*\).*/\1/p' "$guide" >lines
ok "the guide has its lines" test "$(wc -l <lines)" -ge 15
while read -r line; do
  echo "terminal -- $line" >one.sh
  # shellcheck disable=SC1091 # made above
  ( . ./one.sh ) >one.out 2>&1 </dev/null
  code=$?
  # A scan that finds something and a tool that differs end with 1.
  case $line in *"mcp scan"* | *"mcp diff"*) [ $code -le 1 ] && code=0 ;; esac
  ok "$line" sh -c "cat one.out >&2; exit $code"
done <lines
sed -n '/# file: taint.yaml/,$ { /# file/d; s/^    //; p }' "$guide" >taint.yaml
ok "its policy can be used" helm policy lint taint.yaml
for name in notes mail; do
  terminal -- helm mcp add $name --read . -- python3 "$PWD/server.py" "$PWD/plan.json" >/dev/null
  terminal -- helm mcp approve $name --tool echo --yes >/dev/null
done
terminal APPROVE -- helm policy use taint.yaml >use.out 2>&1 || cat use.out
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY' >taint.out
from mcp import *
g = Gateway("--server", "notes", "--server", "mail")
r = g.call("mail__echo", {"a": "1"})
ok("before, mail may be sent", verdict_of(r) == "ALLOW", r)
r = g.call("notes__echo", {"a": "2"})
ok("notes may be read", verdict_of(r) == "ALLOW", r)
r = g.call("mail__echo", {"a": "2"})
ok("and then nothing goes out by mail in this session", verdict_of(r) == "DENY" and "does not leave by mail" in text_of(r), r)
g.end()
finish()
PY
grep '^ok\|^not ok\|^#' taint.out
ok "what came from one server is kept from another" sh -c '! grep -q "^not ok" taint.out && grep -q "^1\.\." taint.out'
finish

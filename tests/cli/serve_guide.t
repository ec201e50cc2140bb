#!/bin/sh
# docs/guides/serve.md: its policy and its programs, as they stand there.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
cd "$scratch" || exit 1
# Blocks that begin with "# file: NAME" are files.
python3 - "$HELM_SOURCE/docs/guides/serve.md" <<'PY'
import sys
name, lines = None, []
def end():
    if name: open(name, "w").write("\n".join(lines).rstrip() + "\n")
for line in open(sys.argv[1]):
    line = line.rstrip("\n")
    if line.startswith("    # file: "):
        end(); name, lines = line.split(": ", 1)[1], []
    elif name and (line.startswith("    ") and not line.startswith("    $") or not line):
        lines.append(line[4:])
    elif name:
        end(); name, lines = None, []
end()
PY
ok "the guide has its files" test -s policy.yaml -a -s client.py -a -s client.mjs -a -s client.sh
ok "its policy can be used" helm policy lint policy.yaml
HELM_KEY=$(terminal -- helm serve key add --principal agent:billing | tr -d '\r' | grep '^helm_')
export HELM_KEY
env -i PATH="$PATH" HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" serve --policy policy.yaml --port 0 >ready 2>log &
server=$!
waited=0
while [ ! -s ready ] && [ $waited -lt 600 ]; do sleep 0.05; waited=$((waited + 1)); done
HELM_URL=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' ready)
export HELM_URL
ok "it is ready" test -n "$HELM_URL"
ok "the Python program asks, and goes on" says 0 "reading, receipt rcpt_" python3 client.py
if command -v node >/dev/null && node -e 'process.exit(globalThis.fetch ? 0 : 1)'; then
  ok "so does the JavaScript one" says 0 "reading, receipt rcpt_" node client.mjs
else
  skip "so does the JavaScript one" "node with fetch is not installed"
fi
if needs curl "and the shell"; then
  ok "and the shell" says 0 "reading" sh client.sh
  sed 's/read_ticket/delete_everything/' client.sh >other.sh
  ok "which does not go on without a yes" says 1 "not allowed" sh other.sh
fi
sed 's/read_ticket/delete_everything/' client.py >other.py
ok "nor does the Python one" says 1 "not allowed: NO_POLICY_DEFINED" python3 other.py
kill $server
wait $server
ok "it ends well" test $? -eq 0
ok "nobody is answered then, and nobody goes on" sh -c '! python3 client.py 2>/dev/null'
finish

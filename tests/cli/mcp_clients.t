#!/bin/sh
# The gateway with the official clients, servers, conformance suite and inspector, and with Claude Code and Codex themselves.  All from npm into build/.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "real clients are downloaded and driven only by ./check --clients"
for tool in npm node python3 git; do
  command -v $tool >/dev/null 2>&1 || skip_all "$tool is not there"
done
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
npm=${HELM_TEST_MCP:-$HELM_SOURCE/build/clients-mcp}
sh "$HELM_SOURCE/tests/clients/install_mcp.sh" "$npm"
clients=$(sh "$HELM_SOURCE/tests/clients/install.sh" "${HELM_TEST_AGENTS:-$HELM_SOURCE/build/clients}")
fresh_workspace
HELM_ENV=COLUMNS=300
TEST_HOME=$scratch/home
export HELM_BUILD HELM_SOURCE TEST_HOME
packages=$npm/node_modules/@modelcontextprotocol
cp "$HELM_SOURCE/tests/clients/mcp_client.mjs" "$npm/mcp_client.mjs"
git init -q .
mkdir data served
echo hello >data/a.txt
cp "$HELM_SOURCE/tests/tools/mcp_server.py" served/server.py
cat >.mcp.json <<X
{ "mcpServers": { "filesystem": { "command": "node", "args": ["$packages/server-filesystem/dist/index.js", "$PWD/data"] },
  "everything": { "command": "node", "args": ["$packages/server-everything/dist/index.js"] } } }
X
ok "both reference servers are imported" says 0 "filesystem: approved, 14 tools" terminal -- helm mcp import --yes

# ---- official clients, both generations, both transports ----
client() { # client GENERATION TRANSPORT...: prints what it got
  CALLS="[[\"$pre""read_text_file\",{\"path\":\"$PWD/data/a.txt\"}],[\"$pre""read_text_file\",{\"path\":\"/etc/shadow\"}],[\"$pre""read_text_file\",{\"path\":1}]]" \
    HOME="$TEST_HOME" timeout 60 node "$npm/mcp_client.mjs" "$@" 2>client.log
}
good() { # good FILE: allowed, asked, refused, as these clients show it
  python3 - "$1" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
allowed, asked, wrong = d["results"]
assert len(d["tools"]) >= 13, d["tools"]
assert allowed == {"isError": False, "text": "hello\n"}, allowed
assert asked["isError"] and asked["text"].startswith("Access Denied:") and "helm approval approve" in asked["text"], asked
assert "ERR_TOOL_ARGS_TYPE_MISMATCH" in wrong.get("thrown", ""), wrong
PY
}
pre=
for generation in 1 2; do
  client $generation stdio "$HELM_REAL" mcp gateway --server filesystem >stdio.json
  ok "client $generation over its streams: allowed, asked, refused" good stdio.json
done
env -i PATH="$PATH" HOME="$TEST_HOME" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" mcp gateway --transport http --port 0 --server filesystem >ready 2>log &
gateway=$!
waited=0
while [ ! -s ready ] && [ $waited -lt 600 ]; do sleep 0.05; waited=$((waited + 1)); done
url=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' ready)/mcp
for generation in 1 2; do
  client $generation http "$url" >http.json
  ok "client $generation over HTTP: the same" good http.json
done
cat >inspect.json <<X
{ "mcpServers": { "fs": { "command": "$HELM_REAL", "args": ["mcp", "gateway", "--server", "filesystem"], "env": { "HOME": "$TEST_HOME", "ASAN_OPTIONS": "${ASAN_OPTIONS:-}" } } } }
X
ok "the inspector calls" says 0 "hello" timeout 60 node "$packages/inspector-cli/build/cli.js" --cli --config inspect.json --server fs \
  --method tools/call --tool-name read_text_file --tool-arg "path=$PWD/data/a.txt"
kill $gateway
wait $gateway

# ---- the conformance suite, through the gateway ----
python3 - <<'PY'
import json
png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
text = lambda t: {"type": "text", "text": t}
image = {"type": "image", "data": png, "mimeType": "image/png"}
answers = {
    "test_simple_text": {"content": [text("This is a simple text response for testing.")]},
    "test_image_content": {"content": [image]},
    "test_audio_content": {"content": [{"type": "audio", "data": "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=", "mimeType": "audio/wav"}]},
    "test_embedded_resource": {"content": [{"type": "resource", "resource": {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content."}}]},
    "test_multiple_content_types": {"content": [text("Multiple content types test:"), image, {"type": "resource", "resource": {"uri": "test://mixed-content-resource", "mimeType": "application/json", "text": "{\"test\":\"data\",\"value\":123}"}}]},
    "test_error_handling": {"content": [text("This tool intentionally returns an error for testing")], "isError": True},
    "test_tool_with_progress": {"content": [text("done")]},
}
schema = {"type": "object", "properties": {}}
tools = [{"name": n, "description": n, "inputSchema": schema} for n in answers]
tools.append({"name": "json_schema_2020_12_tool", "description": "Tool with JSON Schema 2020-12 features", "inputSchema": {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}}, "additionalProperties": False}})
json.dump({"tools": tools, "answers": answers, "progress": [0, 50, 100]}, open("served/plan.json", "w"))
PY
terminal -- helm mcp add suite --read "$PWD/served" -- python3 "$PWD/served/server.py" "$PWD/served/plan.json" >/dev/null
terminal -- helm mcp approve suite --yes >/dev/null
env -i PATH="$PATH" HOME="$TEST_HOME" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" mcp gateway --transport http --port 0 --server suite >ready2 2>log2 &
gateway=$!
waited=0
while [ ! -s ready2 ] && [ $waited -lt 600 ]; do sleep 0.05; waited=$((waited + 1)); done
url=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' ready2)/mcp
for scenario in server-initialize ping logging-set-level tools-list tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource tools-call-mixed-content \
  tools-call-error json-schema-2020-12 dns-rebinding-protection tools-call-with-progress server-sse-multiple-streams; do
  ok "conformance: $scenario" says 0 "" timeout 60 node "$packages/conformance/dist/plain.js" server --url "$url" --scenario $scenario
done
kill $gateway
wait $gateway

# ---- Claude Code and Codex, configured by setup ----
for client in claude-code codex; do
  program=$(printf '%s\n' "$clients" | sed -n "s/^$client //p")
  [ -x "$program" ] || { ok "$client is there" false; continue; }
  if [ $client = codex ]; then
    mkdir -p "$TEST_HOME/.codex"
    printf '[mcp_servers.filesystem]\ncommand = "node"\nargs = ["%s", "%s"]\n' "$packages/server-filesystem/dist/index.js" "$PWD/data" >"$TEST_HOME/.codex/config.toml"
    terminal -- helm mcp import --yes --client codex >/dev/null
  fi
  terminal -- helm setup $client --yes >setup.out
  ok "$client: setup puts the gateway in its settings" says 0 "of tools behind the gateway" cat setup.out
  before=$(grep -c "mcp__filesystem" "$TEST_HOME/.helm/workspace/.helm/receipts.jsonl")
  HELM_DRIVE_MCP=1 python3 "$HELM_SOURCE/tests/clients/drive_mcp.py" $client "$program" "$TEST_HOME" "$PWD" "$PWD/told.json" >drive.out 2>&1
  ok "$client: a call that is allowed goes through" says 0 "hello" cat told.json
  ok "$client: one that is asked is told so to the model" says 0 "helm approval approve" cat told.json
  ok "$client: one that does not fit is refused" says 0 "ERR_TOOL_ARGS_UNKNOWN_FIELD" cat told.json
  after=$(grep -c "mcp__filesystem" "$TEST_HOME/.helm/workspace/.helm/receipts.jsonl")
  ok "$client: all on record" test $((after - before)) -ge 4
done
finish

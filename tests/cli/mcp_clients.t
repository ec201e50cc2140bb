#!/bin/sh
# The gateway with the official clients, servers, conformance suite and inspector, and with Claude Code and Codex themselves.  All from npm into build/.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "real clients are downloaded and driven only by ./check --all"
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
cp "$HELM_SOURCE/tests/clients/mcp_client.mjs" "$HELM_SOURCE/tests/clients/mcp_asked.mjs" "$npm/"
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

# ---- a server that asks its client's model and person ----
terminal -- helm mcp add everything --pass sampling --pass elicitation --pass resources --pass prompts --read "$npm" -- node "$packages/server-everything/dist/index.js" >/dev/null
terminal -- helm mcp approve everything --yes >/dev/null
HOME=$TEST_HOME timeout 60 node "$npm/mcp_asked.mjs" "$HELM_REAL" mcp gateway --server everything >asked.json 2>asked.log
ok "a real server asks a real client's model and person" python3 -c '
import json
d = json.load(open("asked.json"))
assert d["asked"] == ["sampling/createMessage", "elicitation/create"] and "sampled words" in d["sampled"] and "Ann" in d["elicited"] and d["prompts"] and d["resources"], d'
ok "on record as what the server did" says 0 "mcp:everything" grep -h "sampling/createMessage" "$TEST_HOME/.helm/workspace/.helm/receipts.jsonl"

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
form = lambda message, **asked: ["elicitation/create", {"message": message, "requestedSchema": {"type": "object", "properties": asked, "required": []}}]
three = ["option1", "option2", "option3"]
titled = lambda *names: [{"const": "value%d" % (i + 1), "title": n} for i, n in enumerate(names)]
asks = {
    "test_sampling": ["sampling/createMessage", {"messages": [{"role": "user", "content": text("Test prompt for sampling")}], "maxTokens": 100}],
    "test_elicitation": form("Please say", username={"type": "string", "description": "User's response"}, email={"type": "string", "description": "User's email address"}),
    "test_elicitation_sep1034_defaults": form("Check", name={"type": "string", "default": "John Doe"}, age={"type": "integer", "default": 30}, score={"type": "number", "default": 95.5},
                                              status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}, verified={"type": "boolean", "default": True}),
    "test_elicitation_sep1330_enums": form("Choose", untitledSingle={"type": "string", "enum": three}, titledSingle={"type": "string", "oneOf": titled("First Option", "Second Option", "Third Option")},
                                           legacyEnum={"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
                                           untitledMulti={"type": "array", "items": {"type": "string", "enum": three}}, titledMulti={"type": "array", "items": {"anyOf": titled("First Choice", "Second Choice", "Third Choice")}}),
}
logs = {"test_tool_with_logging": [{"level": "info", "data": d} for d in ("Tool execution started", "Tool processing data", "Tool execution completed")]}
tools += [{"name": n, "description": n, "inputSchema": {"type": "object", "properties": {"prompt": {"type": "string"}, "message": {"type": "string"}}}} for n in [*asks, *logs, "test_reconnection"]]
user = lambda content: {"role": "user", "content": content}
said = {
    "test_simple_prompt": [user(text("This is a simple prompt for testing."))],
    "test_prompt_with_arguments": [user(text("Prompt with arguments: $ARGS"))],
    "test_prompt_with_embedded_resource": [user({"type": "resource", "resource": {"uri": "test://example-resource", "mimeType": "text/plain", "text": "Embedded resource content for testing."}}), user(text("Please process the embedded resource above."))],
    "test_prompt_with_image": [user(image), user(text("Please analyze the image above."))],
}
prompts = [{"name": n, "description": n} for n in said]
contents = [{"uri": "test://static-text", "mimeType": "text/plain", "text": "This is the content of the static text resource."}, {"uri": "test://static-binary", "mimeType": "image/png", "blob": png},
            {"uri": "test://template/123/data", "mimeType": "application/json", "text": "{\"id\":\"123\",\"templateTest\":true,\"data\":\"Data for ID: 123\"}"}]
resources = [{"uri": c["uri"], "name": c["uri"], "mimeType": c["mimeType"]} for c in contents]
every = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "prompts": {}, "completions": {}, "logging": {}}
json.dump({"tools": tools, "answers": answers, "progress": [0, 50, 100], "asks": asks, "logs": logs, "said": said, "prompts": prompts, "contents": contents, "resources": resources, "capabilities": every}, open("served/plan.json", "w"))
PY
terminal -- helm mcp add suite --pass resources --pass prompts --pass completions --pass logging --pass sampling --pass elicitation --read "$PWD/served" -- python3 "$PWD/served/server.py" "$PWD/served/plan.json" >/dev/null
terminal -- helm mcp approve suite --yes >/dev/null
env -i PATH="$PATH" HOME="$TEST_HOME" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" mcp gateway --transport http --port 0 --server suite >ready2 2>log2 &
gateway=$!
waited=0
while [ ! -s ready2 ] && [ $waited -lt 600 ]; do sleep 0.05; waited=$((waited + 1)); done
url=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' ready2)/mcp
# Every scenario for servers that the suite has.
scenarios=$(node "$packages/conformance/dist/plain.js" list 2>/dev/null | sed -n '/^Server scenarios/,/^Client scenarios/s/^  - \([a-z0-9-]*\).*/\1/p')
ok "the suite has its 32 scenarios" test "$(echo "$scenarios" | wc -w)" -ge 32
for scenario in $scenarios; do
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

#!/usr/bin/env python3
"""mcp_liar.py MODE — an MCP server for tests that breaks the protocol in one way, over standard input and output."""
import json, sys, time

mode = sys.argv[1]


def say(message):
    sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    sys.stdout.flush()


def tool(name, schema, **more):
    return dict({"name": name, "description": "A tool.", "inputSchema": schema}, **more)


OBJECT = {"type": "object"}
TOOLS = [tool("echo", {"type": "object", "properties": {"a": {"type": "string"}}})]
if mode == "schemas":
    TOOLS += [{"name": "none"}, tool("list", []), tool("text", {"type": "string"}), tool("bare", {}), tool("far", {"type": "object", "properties": {"a": {"$ref": "http://a.example/x.json"}}}),
              tool("dialect", {"$schema": "http://a.example/dialect", "type": "object"}), tool("result", OBJECT, outputSchema="x"),
              tool("result_dialect", OBJECT, outputSchema={"$schema": "http://a.example/dialect", "type": "object"}),
              tool("seven", {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}), tool("nineteen", {"$schema": "https://json-schema.org/draft/2019-09/schema", "type": "object"})]
if mode == "deep":
    for i in range(200):
        OBJECT = {"type": "object", "properties": {"p": OBJECT}}
    TOOLS += [tool("deep", OBJECT)]
GREETINGS = {"greets_nothing": {}, "greets_null": None, "greets_text": "hello"}
RESULT = {"content": [{"type": "text", "text": "said"}]}
ANSWERS = {"both": {"result": RESULT, "error": {"code": 1, "message": "x"}}, "neither": {}, "null": {"result": None}, "text": {"result": "x"}, "no_list": {"result": {"content": "x"}},
           "error_is_text": {"result": dict(RESULT, isError="false")}, "text_is_number": {"result": {"content": [{"type": "text", "text": 5}]}}, "structure_is_list": {"result": dict(RESULT, structuredContent=[1])}}
LINES = {"twice": '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"content":[]}}', "surrogate": '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\\ud800"}]}}',
         "other_order": '{"result":{"id":1,"content":[{"type":"text","text":"\\"id\\":77"}],"content":[]},"id": %d,"jsonrpc":"2.0"}', "no_version": '{"id":%d,"result":{"content":[]}}'}
for line in sys.stdin:
    m = json.loads(line)
    id, method = m.get("id"), m.get("method")
    if method == "initialize":
        if mode == "mute":
            continue
        say("Listening ...")  # many do that
        result = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "liar", "version": "1"}}
        say({"jsonrpc": "2.0", "id": id, "result": GREETINGS.get(mode, result)})
    elif method == "tools/list":
        say({"jsonrpc": "2.0", "id": id, "result": {"tools": TOOLS}})
    elif method == "tools/call" and mode in ANSWERS:
        say(dict({"jsonrpc": "2.0", "id": id}, **ANSWERS[mode]))
    elif method == "tools/call" and mode in LINES:
        say(LINES[mode] % id)
    elif method == "tools/call" and mode == "bytes":
        sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\xff"}]}}\n' % id)
        sys.stdout.buffer.flush()
    elif id is not None:
        say({"jsonrpc": "2.0", "id": id, "result": RESULT})

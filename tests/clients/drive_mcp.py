#!/usr/bin/env python3
"""drive_mcp.py CLIENT PROGRAM HOME PROJECT LOG: a real agent client calls a tool of its MCP server 'filesystem' three times, against a model that is none
(drive.py): a file it may read, one it must not, and an argument that nobody declared.  LOG receives what the model was told about each."""
import json
import os
import subprocess
import sys

import drive

client, program, home, project, log = sys.argv[1:6]
inputs = [{"path": os.path.join(project, "data/a.txt")}, {"path": "/etc/shadow"}, {"path": os.path.join(project, "data/a.txt"), "mode": "x"}]
TOOL = "read_text_file"
offered = []


def codex_answer(body, next_call, told):
    outputs = [item for item in body.get("input", []) if item.get("type") == "function_call_output"]
    results = [item for item in outputs if item.get("call_id", "").startswith("c")]
    told[:] = [drive.text_of(item.get("output", "")) for item in results]
    found = []
    for tool in body.get("tools", []):
        if tool.get("name", "").endswith(TOOL):
            found.append((tool["name"], None))
        for inner in tool.get("tools", []):
            if inner.get("name", "").endswith(TOOL):
                found.append((inner["name"], tool.get("name")))
    offered[:] = offered or [t.get("name") or json.dumps(t)[:1500] for t in body.get("tools", [])]
    item = {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    if found and len(results) < len(inputs):
        name, space = found[0]
        item = {"type": "function_call", "id": "f%d" % len(results), "call_id": "c%d" % len(results), "name": name, "arguments": json.dumps(inputs[len(results)])}
        if space:
            item["namespace"] = space
    elif not found and len(outputs) < 8:  # its servers are still starting
        item = {"type": "function_call", "id": "w%d" % len(outputs), "call_id": "w%d" % len(outputs), "name": "exec_command", "arguments": json.dumps({"cmd": "sleep 1"})}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": None, "output_tokens_details": None}
    return drive.events([
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}}])


told = []
is_claude = client == "claude-code"
calls = [("WaitForMcpServers", {})] + [("mcp__filesystem__" + TOOL, given) for given in inputs]
port = drive.serve(drive.claude_answer if is_claude else codex_answer, lambda n: calls[n] if n < len(calls) else None, told)
argv, extra = (drive.claude_command if is_claude else drive.codex_command)(program, home, port, not is_claude)
if is_claude:
    argv[argv.index("--allowedTools") + 1] += " mcp__filesystem"
    argv += ["--mcp-config", os.path.join(project, ".mcp.json")]
env = {"PATH": os.environ["PATH"], "HOME": home, "NO_PROXY": "127.0.0.1", **extra}
done = subprocess.run(argv, cwd=project, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=drive.LIMIT_S)
with open(log, "w") as f:
    json.dump({"told": told, "exit": done.returncode, "offered": offered, "said": done.stdout.decode(errors="replace")[-4000:]}, f, indent=1)

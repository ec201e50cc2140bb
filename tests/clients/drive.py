#!/usr/bin/env python3
"""drive.py CLIENT PROGRAM HOME PROJECT LOG [--bypass-trust] CALL...: a real agent client against a model that is none.

A server on loopback answers like the client's model and makes one shell call per CALL, in order, then says it is done.  The
client runs with an environment of its own and nothing of ours; with HELM_AGENT in the environment, in a supervised session; with
CLIENT_SANDBOX, in its own sandbox (Codex: this mode of it).  LOG receives what the model was told about each call, as JSON.
The calls are data: nothing here runs them.  Exit 0 when the client asked for all of them within its time.

drive.py --trust FILE: what Codex writes into its config.toml when a person trusts the hooks of FILE.

A call is a shell command, or for Claude Code also (tool, input).  session.py uses the same server for a whole working day."""
import hashlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LIMIT_S = 60


def events(rows):
    return "".join("event: %s\ndata: %s\n\n" % (row["type"], json.dumps(row)) for row in rows).encode()


def text_of(content):
    if isinstance(content, list):
        return " ".join(text_of(part) for part in content)
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or "")
    return str(content)


def claude_answer(body, next_call, told):
    """Anthropic's messages, as a stream."""
    results = [part for message in body.get("messages", []) if isinstance(message.get("content"), list)
               for part in message["content"] if part.get("type") == "tool_result"]
    tools = [tool.get("name") for tool in body.get("tools", [])]
    block, delta, stop = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
    if "Bash" in tools:
        told[:] = [text_of(part.get("content", "")) for part in results]
        call = next_call(len(results))
        if call:
            name, given = call if isinstance(call, tuple) else ("Bash", {"command": call, "description": "a step"})
            block = {"type": "tool_use", "id": "toolu_%d" % len(results), "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
            stop = "tool_use"
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "m"), "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    return events([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"}])


def codex_answer(body, next_call, told):
    """OpenAI's responses, as a stream."""
    results = [item for item in body.get("input", []) if item.get("type") == "function_call_output"]
    told[:] = [text_of(item.get("output", "")) for item in results]
    names = [tool.get("name") for tool in body.get("tools", [])]
    name = next((n for n in ("exec_command", "shell_command", "shell") if n in names), None)
    item = {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    call = next_call(len(results)) if name else None
    if call:
        given = {"cmd": call} if name == "exec_command" else \
            {"command": call} if name == "shell_command" else {"command": ["bash", "-lc", call]}
        item = {"type": "function_call", "id": "f%d" % len(results), "call_id": "c%d" % len(results), "name": name,
                "arguments": json.dumps(given)}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": None,
             "output_tokens_details": None}
    return events([
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}}])


def serve(answer, next_call, told, address="127.0.0.1"):
    """next_call(n): the call after n results, or None when there is none.  Returns the port."""
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self, code, kind, data):
            self.send_response(code)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def do_HEAD(self):
            self.reply(200, "text/plain", b"")

        def do_GET(self):
            self.reply(200, "application/json", b'{"data":[],"models":[]}')

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            if "count_tokens" in self.path:
                self.reply(200, "application/json", b'{"input_tokens":1}')
            else:
                self.reply(200, "text/event-stream", answer(body, next_call, told))

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer((address, 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def claude_command(program, home, port, _bypass, address="127.0.0.1"):
    extra = {"ANTHROPIC_BASE_URL": "http://%s:%d" % (address, port), "ANTHROPIC_API_KEY": "sk-ant-x", "DISABLE_TELEMETRY": "1",
             "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    if os.getuid() == 0:
        extra["IS_SANDBOX"] = "1"
    words = [program, "-p", "do it", "--output-format", "json", "--allowedTools", "Bash Edit Read Write"]
    return words + (["--settings", '{"sandbox":{"enabled":true}}'] if os.environ.get("CLIENT_SANDBOX") else []), extra


def codex_command(program, home, port, bypass, address="127.0.0.1"):
    config = os.path.join(home, ".codex", "config.toml")
    kept = open(config).read() if os.path.exists(config) else ""
    rest = kept.split("# end of the model\n")[-1]
    with open(config, "w") as f:
        f.write('model = "m"\nmodel_provider = "x"\n[model_providers.x]\nname = "x"\nbase_url = "http://%s:%d/v1"\n'
                'wire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n# end of the model\n%s' % (address, port, rest))
    flags = ["--dangerously-bypass-hook-trust"] if bypass else []
    own = os.environ.get("CLIENT_SANDBOX")
    flags += ["--sandbox", own] if own else ["--dangerously-bypass-approvals-and-sandbox"]
    return [program, "exec"] + flags + ["do it"], {"OPENAI_API_KEY": "x"}


def codex_trust(hooks):
    """The lines of config.toml that trust what a file of hooks says, as it is."""
    lines = ""
    for event, name in (("PreToolUse", "pre_tool_use"), ("PostToolUse", "post_tool_use")):
        with open(hooks) as f:
            group = json.load(f)["hooks"][event][0]
        doc = {"event_name": name, "matcher": group["matcher"], "hooks": [dict(group["hooks"][0], **{"async": False})]}
        text = json.dumps(doc, sort_keys=True, separators=(",", ":")).encode()
        lines += '[hooks.state."%s:%s:0:0"]\ntrusted_hash = "sha256:%s"\n' % (hooks, name, hashlib.sha256(text).hexdigest())
    return lines


def main():
    if sys.argv[1] == "--trust":
        sys.stdout.write(codex_trust(sys.argv[2]))
        return 0
    client, program, home, project, log = sys.argv[1:6]
    calls = sys.argv[6:]
    bypass = calls[:1] == ["--bypass-trust"]
    calls = calls[1:] if bypass else calls
    told = []
    port = serve(claude_answer if client == "claude-code" else codex_answer, lambda n: calls[n] if n < len(calls) else None, told)
    argv, extra = (claude_command if client == "claude-code" else codex_command)(program, home, port, bypass)
    path = os.environ["PATH"]
    supervised = os.environ.get("HELM_AGENT")  # "HELM agent OPTIONS...": the whole client in a supervised session
    if supervised:
        argv = supervised.split() + [client, "--"] + argv[1:]
        path = os.path.dirname(program) + ":" + path
    env = {"PATH": path, "HOME": home, "NO_PROXY": "127.0.0.1", **extra}
    try:
        done = subprocess.run(argv, cwd=project, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT_S)
        said, code = done.stdout.decode(errors="replace"), done.returncode
    except subprocess.TimeoutExpired as late:
        said, code = (late.stdout or b"").decode(errors="replace"), "none: it took longer than %d s" % LIMIT_S
    with open(log, "w") as f:
        json.dump({"told": told, "exit": code, "said": said[-4000:]}, f, indent=1)
    if len(told) != len(calls):
        print("the client made %d of %d calls, exit code %s: %s" % (len(told), len(calls), code, said[-1500:]))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

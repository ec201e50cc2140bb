"""model.py — for tests of the proxy: a vendor on loopback that answers what it is told to, well or badly, and the proxy in front of it.

An answer is (status, headers, pieces): pieces are bytes that are sent one after the other, each flushed; DIE cuts the connection, a number waits so many seconds."""
import gzip, http.client, json, os, signal, socket, struct, subprocess, sys, threading, time, urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from serve import BUILD, HELM, Place, finish, ok, skip

DIE = object()
TOOLS = """format: helm.policy.v1
name: tools
version: "1"
rules:
  - {id: weather, action: get_weather, verdict: ALLOW}
  - {id: read, action: read_file, verdict: ALLOW}
  - {id: shell, actions: [bash, Bash, shell, exec_command, local_shell_call, shell_call], verdict: ALLOW}
  - {id: refunds, action: refund, verdict: ALLOW}
  - {id: ask, action: refund, verdict: ESCALATE, text: A person decides about refunds.}
"""


def chunk(model="m", choice=0, finish=None, **delta):
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}


def piece(index, name=None, args=None, id=None):
    f = {}
    if name is not None: f["name"] = name
    if args is not None: f["arguments"] = args
    t = {"index": index, "function": f}
    if id: t.update(id=id, type="function")
    return t


def sse(rows, end="\n", named=False):
    out = b""
    for r in rows:
        if named and isinstance(r, dict): out += ("event: %s%s" % (r["type"], end)).encode()
        out += ("data: %s%s%s" % (r if isinstance(r, str) else json.dumps(r), end, end)).encode()
    return out


def chat_stream(calls=(), text="Hello", finish=None, usage=True):
    rows = [chunk(role="assistant", content="")] + [chunk(content=w) for w in text.split()]
    for i, (name, args) in enumerate(calls):
        args = args if isinstance(args, str) else json.dumps(args)
        rows.append(chunk(tool_calls=[piece(i, name, "", "call_%d" % i)]))
        rows += [chunk(tool_calls=[piece(i, args=args[k:k + 7])]) for k in range(0, len(args), 7)]
    rows.append(chunk(finish=finish or ("tool_calls" if calls else "stop")))
    if usage:
        rows.append({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
                     "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}})
    return sse(rows + ["[DONE]"])


def chat_whole(calls=(), text="Hello", n=1, usage=(100, 20)):
    message = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [{"id": "call_%d" % i, "type": "function", "function": {"name": c[0], "arguments": c[1] if isinstance(c[1], str) else json.dumps(c[1])}}
                                 for i, c in enumerate(calls)]
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": i, "message": message, "finish_reason": "tool_calls" if calls else "stop"} for i in range(n)],
            "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}}


def messages_stream(calls=(), text="Hello"):
    rows = [{"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
             "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "ping"}]
    rows += [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": w}} for w in text.split()]
    rows.append({"type": "content_block_stop", "index": 0})
    for i, (name, args) in enumerate(calls):
        args = args if isinstance(args, str) else json.dumps(args)
        rows.append({"type": "content_block_start", "index": i + 1, "content_block": {"type": "tool_use", "id": "toolu_%d" % i, "name": name, "input": {}}})
        rows += [{"type": "content_block_delta", "index": i + 1, "delta": {"type": "input_json_delta", "partial_json": args[k:k + 5]}} for k in range(0, len(args), 5)]
        rows.append({"type": "content_block_stop", "index": i + 1})
    rows.append({"type": "message_delta", "delta": {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 20}})
    rows.append({"type": "message_stop"})
    return sse(rows, named=True)


def messages_whole(calls=(), text="Hello"):
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": text}] + [{"type": "tool_use", "id": "toolu_%d" % i, "name": n, "input": a} for i, (n, a) in enumerate(calls)],
            "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None, "usage": {"input_tokens": 100, "output_tokens": 20}}


def response_items(calls=(), text="Hello"):
    items = [{"type": "message", "id": "m0", "role": "assistant", "status": "completed",
              "content": [{"type": "output_text", "text": text, "annotations": []}]}]
    for i, call in enumerate(calls):
        items.append(call if isinstance(call, dict) else {"type": "function_call", "id": "fc_%d" % i, "call_id": "call_%d" % i, "name": call[0],
                     "status": "completed", "arguments": call[1] if isinstance(call[1], str) else json.dumps(call[1])})
    return items


def response_whole(calls=(), text="Hello"):
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed", "output": response_items(calls, text),
            "parallel_tool_calls": True, "tools": [], "tool_choice": "auto", "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
            "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}}


def responses_stream(calls=(), text="Hello"):
    whole = response_whole(calls, text)
    begun = dict(whole, status="in_progress", output=[], usage=None)
    rows = [{"type": "response.created", "response": begun}]
    for i, item in enumerate(whole["output"]):
        at = {"output_index": i}
        if item["type"] == "message":
            rows.append({"type": "response.output_item.added", "item": dict(item, status="in_progress", content=[]), **at})
            rows.append({"type": "response.content_part.added", "item_id": item["id"], "content_index": 0, "part": {"type": "output_text", "text": "", "annotations": []}, **at})
            rows += [{"type": "response.output_text.delta", "item_id": item["id"], "content_index": 0, "delta": w, "logprobs": [], **at} for w in text.split()]
            rows.append({"type": "response.output_text.done", "item_id": item["id"], "content_index": 0, "text": text, "logprobs": [], **at})
            rows.append({"type": "response.content_part.done", "item_id": item["id"], "content_index": 0, "part": item["content"][0], **at})
        else:
            rows.append({"type": "response.output_item.added", "item": dict(item, status="in_progress", **({"arguments": ""} if "arguments" in item else {})), **at})
            args = item.get("arguments", "")
            rows += [{"type": "response.function_call_arguments.delta", "item_id": item["id"], "delta": args[k:k + 6], **at} for k in range(0, len(args), 6)]
            if "arguments" in item:
                rows.append({"type": "response.function_call_arguments.done", "item_id": item["id"], "arguments": args, "name": item["name"], **at})
        rows.append({"type": "response.output_item.done", "item": item, **at})
    rows.append({"type": "response.completed", "response": whole})
    for n, r in enumerate(rows): r["sequence_number"] = n
    return sse(rows, named=True)


PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
STREAMS = {"chat": chat_stream, "messages": messages_stream, "responses": responses_stream}
WHOLES = {"chat": chat_whole, "messages": messages_whole, "responses": response_whole}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *a): pass

    def handle_one(self):
        n = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(n) if n else b""
        seen = {"method": self.command, "path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}
        with self.server.lock:
            self.server.seen.append(seen)
            self.server.open += 1
        try:
            status, headers, pieces = self.server.answer(seen)
            self.send_response(status)
            for k, v in headers: self.send_header(k, v)
            is_chunked = not any(k.lower() == "content-length" for k, v in headers)
            if is_chunked: self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for p in pieces:
                if p is DIE:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close(); self.close_connection = True
                    return
                if isinstance(p, (int, float)):
                    time.sleep(p); continue
                if p: self.wfile.write(b"%x\r\n%s\r\n" % (len(p), p) if is_chunked else p); self.wfile.flush()
            if is_chunked: self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError, ValueError, OSError):
            with self.server.lock: self.server.broken += 1
            self.close_connection = True
        finally:
            with self.server.lock: self.server.open -= 1

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = handle_one


class Model:
    """A vendor.  `say` is the answer to everything, or a function of what was asked."""

    def __init__(self):
        class Many(ThreadingHTTPServer):
            request_queue_size = 1024
            daemon_threads = True
            def handle_error(self, *a): pass
        self.s = Many(("127.0.0.1", 0), Handler)
        self.s.lock, self.s.seen, self.s.open, self.s.broken = threading.Lock(), [], 0, 0
        self.s.answer = lambda seen: self.say(seen) if callable(self.say) else self.say
        self.say = (200, [], [b"{}"])
        threading.Thread(target=self.s.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d/v1" % self.s.server_address[1]

    def json(self, doc, status=200, headers=()):
        data = doc if isinstance(doc, bytes) else json.dumps(doc).encode()
        self.say = (status, [("Content-Type", "application/json"), ("Content-Length", str(len(data)))] + list(headers), [data])

    def stream(self, *pieces, headers=()):
        self.say = (200, [("Content-Type", "text/event-stream")] + list(headers), list(pieces))

    @property
    def seen(self): return self.s.seen

    @property
    def last(self): return self.s.seen[-1]


class Proxy:
    def __init__(self, place, model, *args, env=None, policy=TOOLS):
        self.place = place
        self.log = open(os.path.join(place.dir, "proxy.log"), "ab")
        words = [HELM, "proxy", "--port", "0"] + (["--upstream", model.url] if model else []) + list(args)
        if policy:
            place.write(policy)
            words += ["--policy", place.policy]
        self.p = subprocess.Popen(words, cwd=place.dir, env=dict(place.env, HELM_LIMIT_IP="0", HELM_LIMIT_KERNEL="0", **(env or {})), stdout=subprocess.PIPE, stderr=self.log)
        line = self.p.stdout.readline()
        self.ready = json.loads(line) if line else None
        self.url = urllib.parse.urlparse(self.ready["base_url"]) if self.ready else None

    def ask(self, path, body=None, headers=None, method="POST", timeout=30):
        """(status, bytes, headers)"""
        c = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=timeout)
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        c.request(method, path, data, dict({"Content-Type": "application/json", "Authorization": "Bearer sk-client"}, **(headers or {})))
        r = c.getresponse()
        got = b""
        try:
            got = r.read()
        except (http.client.IncompleteRead, ConnectionError) as x:
            got = getattr(x, "partial", b"") + b"<broken>"
        c.close()
        return r.status, got, {k.lower(): v for k, v in r.getheaders()}

    def chat(self, model="m", stream=False, tools=None, form="chat", headers=None, **more):
        body = {"model": model, "stream": stream}
        body["input" if form == "responses" else "messages"] = [{"role": "user", "content": more.pop("text", "hi")}]
        if form == "messages": body["max_tokens"] = 100
        if tools: body["tools"] = tools
        body.update(more)
        return self.ask(PATHS[form], body, headers)

    def stop(self, number=signal.SIGTERM):
        self.p.send_signal(number)
        code = self.p.wait(60)
        self.log.close()
        return code


def without_comment(got):
    """The stream, without the line that names its receipt."""
    at = got.rfind(b": helm-receipt=")
    return got[:at] if at >= 0 else got

#!/bin/sh
# helm proxy: what a model answers reaches its program only when every call in it was allowed, on record; requests, keys, budgets and headers.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
import hashlib
from model import *
p, m = Place(), Model()
x = Proxy(p, m, "--api-key-env", "VENDOR", env={"VENDOR": "sk-vendor-secret"})
ok("the first line says that it is ready, and where", x.ready and x.ready["ready"] is True, x.ready)
weather, export = ("get_weather", {"city": "Oslo"}), ("credential_export", {"path": "/etc/passwd"})

# Whole answers, in every form.
for form in WHOLES:
    doc = json.dumps(WHOLES[form]([weather])).encode()
    m.json(doc)
    st, b, h = x.chat(form=form)
    ok(form + ": an allowed call passes byte for byte", st == 200 and b == doc, st, b)
    ok(form + ": with its receipt and its hash", h.get("x-helm-status") == "APPROVED" and h.get("x-helm-tool-calls") == "1" and h["x-helm-output-hash"] == "sha256:" + hashlib.sha256(doc).hexdigest(), h)
    rows = p.receipts()
    ok(form + ": request, call and outcome are on record", [r["effect_id"] for r in rows[-3:]] == ["LLM_INFERENCE", "get_weather", "LLM_INFERENCE"] and rows[-1]["receipt_id"] == h["x-helm-receipt-id"], rows[-3:])
    m.json(WHOLES[form]([weather, export]))
    st, b, h = x.chat(form=form)
    d = json.loads(b)
    ok(form + ": one call that is not allowed withholds all of it", st == 403 and b"Oslo" not in b and d["helm"]["tool_names"] == ["credential_export"], b)
    ok(form + ": the error names the code and the receipt", d["error"]["code"] == d["error"]["reason_code"] == "NO_POLICY_DEFINED" and d["helm"]["status"] == "DENIED" and h.get("x-helm-receipt-id"), b)
    ok(form + ": in the shape of its client", d["error"]["type"] == ("permission_error" if form == "messages" else "helm_governance_denied") and (d.get("type") == "error") == (form == "messages"), d)
call = [r for r in p.receipts() if r.get("tool_name") == "credential_export"][-1]
ok("the receipt binds the arguments", call["verdict"] == "DENY" and call["metadata"]["proxy"]["args_sha256"] == "8976783d93a2000a234cf7e87969f49d7e5e14cc8a99fec4d2d84fd82d393887", call)

# What is understood.
m.json(chat_whole([("bash", {"command": "rm -rf /"})]))
st, b, h = x.chat()
ok("a shell command is read as one, whatever the policy says", st == 403 and b"rm_root" in json.dumps(p.receipts()[-2]).encode(), b)
m.json(response_whole([{"type": "local_shell_call", "id": "l", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["rm", "-rf", "/"], "env": {}}}]))
st, b, h = x.chat(form="responses")
ok("also one in an item of its own", st == 403 and p.receipts()[-2]["metadata"]["rule"] == "deny.rm_root", b, p.receipts()[-2])
m.json(response_whole([{"type": "local_shell_call", "id": "l", "call_id": "c", "status": "completed", "action": {"type": "exec", "command": ["ls"], "env": {}}}]))
st, b, h = x.chat(form="responses")
ok("which passes when it may", st == 200, b)
for what, doc in [("a type that nobody knows", response_whole([{"type": "teleport_call", "id": "t"}])),
                  ("arguments that are no object", chat_whole([("get_weather", "[1]")])),
                  ("arguments that are no JSON", chat_whole([("get_weather", "{")])),
                  ("a member twice", chat_whole([("get_weather", '{"city":"Oslo","city":"Rome"}')])),
                  ("a call without a name", chat_whole([("", {})])),
                  ("a name with a line break", chat_whole([("get_weather\n", {})])),
                  ("a name that is a book", chat_whole([("w" * 5000, {})])),
                  ("a call in a second choice", {"choices": [{"index": 0, "message": {"content": "x"}}, {"index": 1, "message": {"tool_calls": [{"function": {"name": "rm", "arguments": "{}"}}]}}]}),
                  ("the older function_call", {"choices": [{"message": {"function_call": {"name": "rm", "arguments": "{}"}}}]})]:
    m.json(doc)
    st, b, h = x.chat(form="responses" if "output" in doc else "chat")
    ok(what + " is refused", st == 403, st, b)
m.json(b'{"choices":[{"message":{"content":"a"}}],"choices":[]}')
st, b, h = x.chat()
ok("so is an answer that says something twice", st == 403 and b"PEP_VALIDATION_FAILED" in b, st, b)
schema = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}}}]
m.json(chat_whole([("get_weather", {"town": "Oslo"})]))
st, b, h = x.chat(tools=schema)
ok("arguments fit the schema that was offered", st == 403 and json.loads(b)["helm"]["status"] == "PEP_VALIDATION_FAILED", b)
m.json(chat_whole([("refund", {"amount": 5})]))
st, b, h = x.chat()
d = json.loads(b)
ok("a question names its approval", st == 403 and d["helm"].get("approval_id") and d["error"]["code"] == "APPROVAL_REQUIRED", d)

# Tools that the vendor carries out are decided on the request.
before = len(m.seen)
for form, tool in (("responses", {"type": "web_search"}), ("responses", {"type": "mcp", "server_label": "x", "server_url": "https://x"}), ("responses", {"type": "code_interpreter"}),
                   ("messages", {"type": "web_search_20250305", "name": "web_search"}), ("messages", {"type": "something_20990101", "name": "new"})):
    st, b, h = x.chat(form=form, tools=[tool])
    ok("%s: %s is refused before anything is sent" % (form, tool["type"]), st == 403, b)
ok("nothing was", len(m.seen) == before)
m.json(messages_whole())
st, b, h = x.chat(form="messages", tools=[{"type": "bash_20250124", "name": "bash"}, {"name": "get_weather", "input_schema": {"type": "object"}}])
ok("those of the client pass", st == 200, b)

# Keys and headers.
vendors = b"sk-vendor-secret"
for what, pieces in (("whole", lambda d: [d]), ("cut at every byte", lambda d: [d[i:i + 1] for i in range(len(d))])):
    quoted = json.dumps({"error": {"message": "Incorrect API key provided: sk-vendor-secret.", "type": "invalid_request_error", "code": "invalid_api_key"}}).encode()
    m.say = (401, [("Content-Type", "application/json"), ("X-Was-Sent", "Bearer sk-vendor-secret")], pieces(quoted))
    st, b, h = x.chat()
    ok("an error that quotes the vendor's key does not hand it out, %s" % what, st == 401 and vendors not in b and b == quoted.replace(vendors, b"*" * len(vendors)) and "x-was-sent" not in h, b, h)
    told = chat_stream(text="sk-vendor-secret sk-vendor-secre sk-")
    m.say = (200, [("Content-Type", "text/event-stream")], pieces(told))
    st, b, h = x.chat(stream=True)
    ok("nor does a stream, and all else of it is as it was, %s" % what, without_comment(b) == told.replace(vendors, b"*" * len(vendors)), b)
m.say = (200, [("Content-Type", "image/png")], [b"\x89PNG sk-vend", b"or-secret sk-vendor-"])
st, b, h = x.ask("/v1/images/1", method="GET")
ok("nor what is no text, to its last byte", b == b"\x89PNG **************** sk-vendor-", b)
m.say = (200, [("Content-Type", "application/json"), ("Content-Encoding", "gzip")], [gzip.compress(b"")])
st, b, h = x.chat()
ok("nothing at all is no answer of a model", st == 502 and json.loads(b)["error"]["code"] == "INCOMPLETE", st, b)
m.json(chat_whole(), headers=[("X-Helm-Status", "FORGED"), ("x-ratelimit-remaining", "7"), ("Alt-Svc", 'h3=":443"'), ("X-Request-Id", "req_1")])
st, b, h = x.chat(headers={"X-Helm-Tenant": "t", "X-Api-Key": "sk-other", "X-Custom": "yes"})
sent = m.last["headers"]
ok("the vendor sees its own key only", sent["authorization"] == "Bearer sk-vendor-secret" and "x-api-key" not in sent and "sk-client" not in str(sent), sent)
ok("and nothing that is ours", not [k for k in sent if k.startswith("x-helm")] and sent["x-custom"] == "yes", sent)
ok("what the vendor says is passed on, but for what only Helm says", h["x-ratelimit-remaining"] == "7" and h["x-helm-status"] == "APPROVED" and "alt-svc" not in h and h["x-request-id"] == "req_1", h)
m.json(messages_whole())
x.chat(form="messages", headers={"anthropic-version": "2023-06-01"})
ok("Anthropic's key goes by its own header", m.last["headers"].get("x-api-key") == "sk-vendor-secret" and m.last["path"] == "/v1/messages", m.last["headers"])

# What is no business of ours passes as it is.
m.json({"object": "list", "data": [{"embedding": [0.1]}]})
st, b, h = x.ask("/v1/embeddings?a=1&b=x%20y", {"model": "e", "input": "x"})
ok("embeddings", st == 200 and m.last["path"] == "/v1/embeddings?a=1&b=x%20y", m.last["path"])
st, b, h = x.ask("/v1/models", method="GET")
ok("a list of models", st == 200 and m.last["method"] == "GET")
m.say = (200, [("Content-Type", "audio/mpeg")], [b"\x00\xff" * 50000])
st, b, h = x.ask("/v1/audio/speech", {"model": "t", "input": "x"})
ok("what is no text", st == 200 and b == b"\x00\xff" * 50000, st)
m.json({"error": {"message": "slow down", "type": "rate_limit_error"}}, status=429, headers=[("Retry-After", "3")])
st, b, h = x.chat()
ok("errors of the vendor, with their status", st == 429 and json.loads(b)["error"]["message"] == "slow down" and h["retry-after"] == "3", st, b)
ok("which are on record", p.receipts()[-1]["metadata"]["proxy"]["http_status"] == 429)
m.json(response_whole([export]))
st, b, h = x.ask("/v1/responses/resp_1", method="GET")
ok("an answer that is fetched later is looked at, too", st == 403 and b"passwd" not in b, st, b)
m.json({"required_action": {"submit_tool_outputs": {"tool_calls": [{"function": {"name": "x", "arguments": "{}"}}]}}})
st, b, h = x.ask("/v1/threads/t/runs", {"model": "m"})
ok("a call where none is expected is refused", st == 403, st, b)

lines = b"\n".join(json.dumps({"custom_id": str(i), "response": {"body": chat_whole()}}).encode() for i in range(3)) + b"\n"
m.say = (200, [("Content-Type", "application/octet-stream")], [lines])
st, b, h = x.ask("/v1/files/f/content", method="GET")
ok("a file of answers without calls passes", st == 200 and b == lines, st, b)
m.say = (200, [("Content-Type", "application/octet-stream")], [lines, json.dumps({"response": {"body": chat_whole([export])}}).encode()])
st, b, h = x.ask("/v1/files/f/content", method="GET")
ok("one with a call does not", st == 403 and b"passwd" not in b, st, b)

# Encodings and lengths.
packed = gzip.compress(json.dumps(chat_whole([export])).encode())
m.say = (200, [("Content-Type", "application/json"), ("Content-Encoding", "gzip"), ("Content-Length", str(len(packed)))], [packed])
st, b, h = x.chat()
ok("what is compressed is looked into", st == 403, st, b)
m.say = (200, [("Content-Type", "application/json"), ("Content-Encoding", "unknown"), ("Content-Length", "2")], [b"{}"])
st, b, h = x.chat()
ok("and refused when that is not known", st in (403, 502), st, b)
m.say = (200, [("Content-Type", "application/json"), ("Content-Length", "500")], [b'{"choices":[', DIE])
st, b, h = x.chat()
ok("half an answer is none", st == 502 and json.loads(b)["helm"]["status"] == "INCOMPLETE", st, b)
st, b, h = x.ask(PATHS["chat"], b'{"model":"m","model":"n","messages":[]}')
ok("a request that says something twice is refused", st == 400, st, b)
st, b, h = x.ask(PATHS["chat"], b"\x1f\x8b", {"Content-Encoding": "gzip"})
ok("so is one that cannot be looked at", st == 415, st, b)
st, b, h = x.ask("/v1/../secret", method="GET")
ok("and a path that climbs", st == 400, st, b)
# Byte for byte, as no library sends it.
def raw(target=b"/v1/chat/completions", *lines, body=None):
    text = body if body is not None else json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
    s = socket.create_connection(("127.0.0.1", int(x.ready["base_url"].rsplit(":", 1)[1])), 10)
    s.sendall(b"\r\n".join((b"POST " + target + b" HTTP/1.1", b"Host: 127.0.0.1", b"Content-Type: application/json", b"Connection: close") + lines + (b"Content-Length: %d" % len(text), b"", b"")) + text)
    out = b""
    while True:
        piece = s.recv(65536)
        if not piece: return int(out.split(b" ")[1]) if out else 0
        out += piece
before = len(m.seen)
for what, target in (("no path", b"http://evil.example/v1/chat/completions"), ("the name of another host", b".evil.example/v1/chat/completions"), ("somebody at another host", b":x@evil.example/v1/chat/completions"),
                     ("a path that climbs in another spelling", b"/v1/%2e%2e/%2E./admin"), ("or by the other slash", b"/v1/..%5c..\\admin"), ("what is no text", b"/v1/%00/x"), ("what is cut off", b"/v1/x%2")):
    got = raw(target)
    ok("a target that is %s is refused" % what, got == 400, got)
for what, line in (("a name with a space behind it", b"Transfer-Encoding : chunked"), ("a name that is none", b"X-(a): x"), ("a control character", b"X-A: a\x01b")):
    ok("a header with %s is refused" % what, raw(b"/v1/chat/completions", line) == 400)
search = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [{"type": "web_search"}]}).encode()
for target in (b"/v1/chat%2Fcompletions", b"/v1/chat/completion%73", b"/v1/chat/completions/", b"/v1//chat//completions"):
    for start in (b"", b"\xef\xbb\xbf"):
        got = raw(target, body=start + search)
        ok("%s%s: what the vendor would carry out is decided, however the path is spelled" % (target.decode(), " with a mark before it" if start else ""), got in (400, 403), got)
ok("none of it reached the vendor", len(m.seen) == before, m.seen[before:])

before = len(m.seen)
def raw(text):
    s = socket.create_connection((x.url.hostname, x.url.port)); s.settimeout(20); s.sendall(text)
    got = b""
    while b"\r\n\r\n" not in got:
        more = s.recv(4096)
        if not more: break
        got += more
    s.close()
    return got[:12]
body = b'{"model":"m","messages":[]}'
for what, head in (("two lengths", b"Content-Length: 27\r\nContent-Length: 5\r\n"), ("a length and a coding", b"Content-Length: 27\r\nTransfer-Encoding: chunked\r\n"), ("another coding", b"Transfer-Encoding: gzip, chunked\r\n"),
                   ("two keys", b"Content-Length: 27\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n")):
    got = raw(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + head + b"\r\n" + body)
    ok("a request with %s is refused" % what, got.startswith(b"HTTP/1.1 4"), got)
ok("and reaches nobody", len(m.seen) == before)

# What is its own.
st, b, h = x.ask("/health", method="GET")
ok("health", st == 200 and json.loads(b)["status"] == "ok")
st, b, h = x.ask("/helm/receipts?limit=5", method="GET", headers={"Authorization": ""})
ok("receipts, one a line", st == 200 and [json.loads(l)["lamport_clock"] for l in b.splitlines()] == [1, 2, 3, 4, 5], st, b)
st, b, h = x.ask("/helm/proofgraph", method="GET", headers={"Authorization": ""})
ok("and as a graph", st == 200 and len(json.loads(b)["nodes"]) == len(p.receipts()), st)
st, b, h = x.chat(headers={"Authorization": "Bearer helm_000000000000_nothing"})
ok("a key of ours that is not known is refused", st == 401, st, b)
ok("it ends well", x.stop() == 0)
everything = json.dumps(p.receipts()) + open(p.dir + "/proxy.log").read()
ok("no key is in the record or in the log", "sk-" not in everything)
said = p.helm("log", "check")
ok("the log is sound", said.returncode == 0, said.stdout, said.stderr)
said = p.helm("proxy", "report", "--json")
doc = json.loads(said.stdout)
ok("the report counts", doc["requests"] > 20 and any(r["name"] == "m" and r["denied"] > 5 for r in doc["models"]) and doc["principals"][0]["name"] == "agent:proxy", said.stdout)
ok("and is readable", "credential_export  policy:coverage" in p.helm("proxy", "report").stdout)

# Without a policy nothing may be called; and what is wrong is said at the start.
x = Proxy(p, m, policy=None)
m.json(chat_whole([weather]))
st, b, h = x.chat()
ok("without a policy no tool may be called", st == 403 and b"--policy" in b, b)
m.json(chat_whole())
ok("text passes", x.chat()[0] == 200)
x.stop()
ok("the log says so at the start", "every call of a tool is denied" in open(p.dir + "/proxy.log").read())
for words in (["--upstream", "ftp://x"], [], ["--upstream", "https://u:p@x"], ["--upstream", m.url, "--on-deny", "maybe"], ["--upstream", m.url, "--max-wallclock", "soon"],
              ["--upstream", m.url, "--redact", "EVERYTHING"], ["--upstream", m.url, "--client-token-env", "NOT_SET"], ["--upstream", m.url, "--bind", "0.0.0.0"]):
    said = p.helm("proxy", "--port", "0", *words)
    if words[:2] == ["--upstream", "ftp://x"]: ok("in words", "takes an address such as https://" in said.stderr, said.stderr)
    ok("refused: " + " ".join(words).replace(m.url, "URL"), said.returncode == 2 and "helm: " in said.stderr, said.returncode, said.stderr)

# The same behind helm serve.
from serve import Server, ADMIN
p.write(TOOLS)
s = Server(p)
st, b, h = s.ask("POST", "/v1/chat/completions", {"model": "m", "messages": []})
ok("helm serve without a model says so", st == 501, st, b)
s.stop()
s = Server(p, env={"HELM_UPSTREAM_URL": m.url, "HELM_UPSTREAM_API_KEY": "sk-vendor"})
m.json(chat_whole([weather]))
st, b, h = s.ask("POST", "/v1/chat/completions", {"model": "m", "messages": []}, key=None)
ok("with one a key is needed", st == 401, st, b)
st, b, h = s.ask("POST", "/v1/chat/completions", {"model": "m", "messages": []})
ok("which stays here", st == 200 and m.last["headers"]["authorization"] == "Bearer sk-vendor" and ADMIN not in str(m.last["headers"]) and h.get("x-helm-verdict") == "ALLOW" and h.get("x-helm-model") == "m", st, b, h)
m.json(chat_whole([export]))
st, b, h = s.ask("POST", "/v1/chat/completions", {"model": "m", "messages": []})
ok("and calls are decided", st == 403 and h.get("x-helm-verdict") == "DENY", st, b)
st, b, h = s.evaluate("get_weather", {"city": "Oslo"})
ok("beside everything else", st == 200 and b["verdict"] == "ALLOW", b)
ok("it ends well", s.stop() == 0)

# What cannot be recorded is not passed on: the record is damaged while the model answers.
x = Proxy(p, m)
def damage(answer):
    def say(seen):
        with open(p.state + "/receipts.jsonl", "a") as f: f.write("this is no receipt\n")
        return answer
    return say
whole = json.dumps(chat_whole([weather])).encode()
m.say = damage((200, [("Content-Type", "application/json"), ("Content-Length", str(len(whole)))], [whole]))
st, b, h = x.chat()
ok("a call that cannot be recorded is not passed on", st == 503 and b"Oslo" not in b and json.loads(b)["helm"]["status"] == "GOVERNANCE_ERROR", st, b)
before = len(m.seen)
st, b, h = x.chat()
ok("nor is a request sent", st == 503 and len(m.seen) == before, st, b)
x.stop()
q = Place()
p.state, x = q.state, Proxy(q, m)
m.say = damage((200, [("Content-Type", "text/event-stream")], [chat_stream([weather])]))
st, b, h = x.chat(stream=True)
ok("nor one in a stream", b"Oslo" not in b and b"get_weather" not in b and b"GOVERNANCE_ERROR" in b, b)
x.stop()
q.done()
p.done()
finish()
PY

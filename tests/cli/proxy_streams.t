#!/bin/sh
# helm proxy: streams.  Text at once, calls when they are decided; upstreams that die, lie or send too much; clients that go away or read slowly.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
import re
from model import *
p, m = Place(), Model()
x = Proxy(p, m)
weather, other, export = ("get_weather", {"city": "Oslo"}), ("read_file", {"path": "/tmp/ä"}), ("credential_export", {"path": "/etc/passwd"})

def events_of(raw): return [e for e in raw.replace(b"\r\n", b"\n").split(b"\n\n") if e]
def outcome():
    for _ in range(200):
        r = p.receipts()[-1]
        if r["type"] == "outcome" and r["receipt_id"] not in told: told.add(r["receipt_id"]); return r
        time.sleep(0.02)
    return {"status": None, "metadata": {"proxy": {}}}
told = set()

for form in STREAMS:
    for what, calls in (("text", []), ("one call", [weather]), ("parallel calls", [weather, other])):
        raw = STREAMS[form](calls)
        for how, pieces in (("whole", [raw]), ("in events", [e + b"\n\n" for e in raw.split(b"\n\n")[:-1]]), ("in bytes", [raw[i:i + 1] for i in range(len(raw))] if what == "one call" else [raw[:len(raw) // 2], raw[len(raw) // 2:]]),
                            ("with CRLF", [raw.replace(b"\n", b"\r\n")])):
            m.stream(*pieces)
            st, b, h = x.chat(stream=True, form=form)
            ok("%s, %s, %s: it is the same to the byte" % (form, what, how), st == 200 and without_comment(b) == b"".join(pieces), b[-300:])
    r = outcome()
    ok(form + ": its receipt is named at the end", ("helm-receipt=" + r["receipt_id"]).encode() in b and r["status"] == "APPROVED" and r["metadata"]["proxy"]["input_tokens"] == 100, r)
    for calls in ([export], [weather, export]):
        raw = STREAMS[form](calls, text="some words first")
        m.stream(raw)
        st, b, h = x.chat(stream=True, form=form)
        ok("%s: of %d calls nothing leaves when one is refused" % (form, len(calls)), b"passwd" not in b and (b"call_0" not in b or len(calls) == 2) and b"words" in b and (len(calls) == 1 or form != "chat" or b"Oslo" not in b), b)
        last = [e for e in events_of(b) if not e.startswith(b":") and b"[DONE]" not in e][-1]
        d = json.loads(last.split(b"data: ", 1)[1])
        ok(form + ": the last event is the error that its client knows", d["helm"]["status"] == "DENIED" and d["error"]["message"] and (form == "chat" or last.startswith(b"event: error\n")), last)
        ok(form + ": and it is on record", outcome()["status"] == "DENIED")

# How a call can be spelled.
def chat_raw(*rows): return sse(list(rows) + ["[DONE]"])
f = {"name": "get_weather", "arguments": "{}"}
spellings = [("behind the end", chat_raw(chunk(finish="stop"), chunk(tool_calls=[piece(0, "rm", "{}")]))),
             ("with the end 'stop'", chat_raw(chunk(tool_calls=[piece(0, "rm", "{}")]), chunk(finish="stop"))),
             ("without an end", chat_raw(chunk(tool_calls=[piece(0, "rm", "{}")]))),
             ("all in one", chat_raw(chunk(finish="tool_calls", tool_calls=[piece(0, "rm", "{}")]))),
             ("as function_call", chat_raw(chunk(function_call={"name": "rm", "arguments": "{}"}), chunk(finish="function_call"))),
             ("as a message", chat_raw({"choices": [{"index": 0, "message": {"tool_calls": [{"function": {"name": "rm", "arguments": "{}"}}]}}]})),
             ("with an escaped name", chat_raw(chunk(tool_calls=[piece(0, "rm", "{}")])).replace(b'"tool_calls"', b'"tool\\u005fcalls"')),
             ("with two names", chat_raw(chunk(tool_calls=[piece(0, "get_weather", "{}")]), chunk(tool_calls=[piece(0, "rm")]), chunk(finish="stop"))),
             ("continued after its decision", chat_raw(chunk(tool_calls=[piece(0, "get_weather", "{}")]), chunk(finish="stop"), chunk(tool_calls=[piece(0, args='{"rm":1}')]), chunk(finish="stop"))),
             ("in an event without an empty line", sse([chunk(content="x")]) + b"data: " + json.dumps(chunk(tool_calls=[piece(0, "rm", "{}")], finish="stop")).encode() + b"\n"),
             ("in a line that some readers take", sse([chunk(content="x")]) + b" data: " + json.dumps(chunk(tool_calls=[piece(0, "rm", "{}")])).encode() + b"\n\n")]
for what, raw in spellings:
    m.stream(raw)
    st, b, h = x.chat(stream=True)
    ok("a call %s is refused" % what, b'"arguments"' not in b.replace(sse([chunk(tool_calls=[piece(0, "get_weather", "{}")])]), b"") and b"error" in b, b)
raw = chat_raw(chunk(tool_calls=[{"function": f}]), chunk(finish="tool_calls"))
m.stream(raw)
ok("one without an index is read", without_comment(x.chat(stream=True)[1]) == raw)

# Neither the type of the content nor the request is believed.
m.json(chat_whole([export]))
st, b, h = x.chat(stream=True)
ok("a whole answer to a request for a stream", st == 403 and b"passwd" not in b, st, b)
m.stream(chat_stream([export]))
st, b, h = x.chat(stream=False)
ok("a stream to a request for a whole one", b"passwd" not in b and b"error" in b, b)
m.say = (200, [("Content-Type", "text/plain")], [chat_stream([export])])
st, b, h = x.chat(stream=True)
ok("a stream that says it is none", b"passwd" not in b and b"error" in b, b)
m.say = (200, [("Content-Type", "application/json")], [chat_stream([export])])
st, b, h = x.chat(stream=True)
ok("a stream that says it is JSON", st == 403 and b"passwd" not in b, st, b)
m.say = (200, [("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip")], [gzip.compress(chat_stream([weather]))])
st, b, h = x.chat(stream=True)
ok("one that is compressed is unpacked", without_comment(b) == chat_stream([weather]) and "content-encoding" not in h, b[:200])

# An upstream that dies, at every event.
for form in STREAMS:
    raw = STREAMS[form]([weather])
    cuts = [e.end() for e in re.finditer(b"\n\n", raw)]
    good = True
    for at in cuts[:-1]:
        m.stream(raw[:at], DIE)
        st, b, h = x.chat(stream=True, form=form)
        r = outcome()
        # What left is a beginning of what came, and an error says that it is not all.
        body = b[:b.rfind({"chat": b'data: {"error"', "messages": b"event: error", "responses": b"event: response.failed"}[form])]
        if not (raw.startswith(body) and b"INCOMPLETE" in b and r["status"] == "INCOMPLETE"):
            good = False
            print("#", form, at, len(raw), r["status"], b[-300:])
            break
    ok("%s: cut off at each of %d events, the client is told, and no part of a call leaves" % (form, len(cuts) - 1), good)
m.stream(sse([chunk(content="x"), chunk(tool_calls=[piece(0, "get_weather", '{"ci')])]))
st, b, h = x.chat(stream=True)
ok("a call that is never completed does not leave", b"get_weather" not in b and b"INCOMPLETE" in b, b)

# Rubbish.
for what, raw in (("bytes that are no text", b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n"), ("no JSON", b"data: {nonsense\n\n"), ("two documents", b'data: {}\ndata: {"a":1}\n\n'), ("a NUL", b'data: {"a":"\0"}\n\n'), ("a list", b"data: [1]\n\n")):
    m.stream(sse([chunk(content="before")]) + raw + sse([chunk(content="later on")]))
    st, b, h = x.chat(stream=True)
    ok(what + " ends the stream with an error", b"before" in b and b"later on" not in b and b"error" in b, b)

# A client that goes away ends its request to the vendor; one that reads slowly makes the vendor wait.
def raw_request(form="chat"):
    s = socket.create_connection((x.url.hostname, x.url.port)); s.settimeout(30)
    body = json.dumps({"model": "m", "stream": True, "messages": []}).encode()
    s.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (PATHS[form].encode(), len(body), body))
    return s
def wait(what):
    for _ in range(500):
        if what(): return True
        time.sleep(0.02)
    return False
m.stream(*([sse([chunk(content="x")])] + [0.05, sse([chunk(content="y")])] * 400))
broken = m.s.broken
s = raw_request()
got = s.recv(65536)
s.close()
ok("an abort reaches the vendor", wait(lambda: m.s.broken > broken))
ok("and is on record", wait(lambda: p.receipts()[-1]["status"] == "CLIENT_ABORTED"), p.receipts()[-1])
m.say = (200, [("Content-Type", "application/json")], [b"{", 0.2] * 60)
broken = m.s.broken
s = raw_request(); time.sleep(0.3); s.close()
ok("also while a whole answer is waited for", wait(lambda: m.s.broken > broken))
raw = chat_stream([weather])
cuts = [e.end() for e in re.finditer(b"\n\n", raw)]
m.stream(*[part for a, b in zip([0] + cuts, cuts) for part in (raw[a:b], 0.004)])
count_before = sum(r["type"] == "outcome" for r in p.receipts())
for n in range(len(cuts)):
    s = raw_request()
    got = b""
    while got.count(b"\n\n") < n + 1 and b"helm-receipt" not in got:
        more = s.recv(4096)
        if not more: break
        got += more
    s.close()
ok("clients that go away at each event leave an outcome each", wait(lambda: sum(r["type"] == "outcome" for r in p.receipts()) == count_before + len(cuts)), count_before, len(cuts), sum(r["type"] == "outcome" for r in p.receipts()))
big = sse([chunk(content="z" * 5000)]) * 4000
m.stream(big)
s = raw_request()
time.sleep(0.7)
rss = int(next(l for l in open("/proc/%d/status" % x.p.pid) if l.startswith("VmRSS")).split()[1])
got = b""
while b"0\r\n\r\n" not in got[-20:]:
    more = s.recv(1 << 20)
    if not more: break
    got += more
s.close()
ok("a slow reader gets all of it", got.count(b"z") == 4000 * 5000, len(got))
ok("and what waits for it is bounded", rss < 400000 if "asan" in BUILD else rss < 100000, rss)

# Limits.
x.stop()
with open(p.dir + "/c.yaml", "w") as c: c.write("format: helm.proxy.v1\nlimits: {hold_bytes: 20000, answer_bytes: 50000, idle_seconds: 1}\nupstreams: [{id: a, url: '%s'}]\n" % m.url)
x = Proxy(p, None, "--config", p.dir + "/c.yaml")
m.stream(chat_stream([("get_weather", {"city": "x" * 30000})]))
st, b, h = x.chat(stream=True)
ok("a call that is larger than may be held is refused", b"larger than may be held" in b and b"xxxx" not in b, b[-500:])
m.stream(sse([chunk(content="w" * 30000)]))
st, b, h = x.chat(stream=True)
ok("so is an event", b"larger" in b, b[-500:])
m.json({"choices": [{"message": {"content": "w" * 60000}}]})
st, b, h = x.chat()
ok("and a whole answer", st == 502, st)
bomb = gzip.compress(b" " * 10000000)
m.say = (200, [("Content-Type", "application/json"), ("Content-Encoding", "gzip"), ("Content-Length", str(len(bomb)))], [bomb])
st, b, h = x.chat()
ok("and one that becomes large", st == 502, st)
m.stream(sse([chunk(content="x")]), 4, sse([chunk(content="late")]))
st, b, h = x.chat(stream=True)
ok("a vendor that falls silent is left", b"INCOMPLETE" in b and b"late" not in b, b)
x.stop()

# The reason in words.
x = Proxy(p, m, "--on-deny", "rewrite")
for form in STREAMS:
    m.json(WHOLES[form]([export]))
    st, b, h = x.chat(form=form)
    ok(form + ": the reason stands in the place of the call", st == 200 and b"[helm] The call of credential_export" in b and b"passwd" not in b and h["x-helm-status"] == "REWRITTEN" and b"Hello" in b, st, b)
    m.json(WHOLES[form]([weather, export]))
    st, b, h = x.chat(form=form)
    ok(form + ": what is allowed stays", st == 200 and b"Oslo" in b and b"passwd" not in b, b)
    m.stream(STREAMS[form]([export, weather]))
    st, b, h = x.chat(stream=True, form=form)
    ok(form + ": in a stream, too", b"[helm] The call of credential_export" in b and b"passwd" not in b and b"get_weather" in b, b)
    m.stream(STREAMS[form]([export]))
    st, b, h = x.chat(stream=True, form=form)
    ok(form + ": with nothing left to be done the turn ends", b"passwd" not in b and b'"tool_use"' not in b and b'"tool_calls"' not in b and outcome()["status"] == "REWRITTEN", b)
# A call that does not say where it stands cannot be taken out: then nothing of it leaves.
for form, member in (("responses", "output_index"), ("messages", "index")):
    rows = [json.loads(e.split(b"data: ", 1)[1]) for e in events_of(STREAMS[form]([export]))]
    for r in rows: r.pop(member, None)
    m.stream(sse(rows, named=True))
    st, b, h = x.chat(stream=True, form=form)
    ok(form + ": a refused call without its place does not leave", b"passwd" not in b and b"DENIED" in b and outcome()["status"] == "DENIED", b)
whole = dict(chat_whole([export]), toolUse={"name": "credential_export", "input": {"path": "/etc/passwd"}})
m.json(whole)
st, b, h = x.chat()
ok("nor does one that stands beside those that were taken out", st == 403 and b"passwd" not in b, st, b)
x.stop()
# What was said about a call is still known when its outcome is signed.
x = Proxy(p, m, "--max-iterations", "1", env={"MALLOC_PERTURB_": "165"})
m.stream(chat_stream([weather] * 20))
for n in range(3): st, b, h = x.chat(stream=True, headers={"X-Helm-Session-ID": "again"})
r = outcome()
ok("a limit that ends a stream stands in the outcome", b"PROXY_ITERATION_LIMIT" in b and r["status"] == r["metadata"]["proxy"]["status"] == r["reason_code"] == "PROXY_ITERATION_LIMIT", r)
# Forms of other vendors: nothing that asks for a tool passes as if it were words.
def other(answer, kind="application/json"):
    m.say = (200, [("Content-Type", kind), ("Content-Length", str(len(answer)))], [answer])
    st, b, h = x.ask("/v1beta/models/gemini:generateContent", {"contents": []})
    return st, b
gemini = lambda part: json.dumps({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]}).encode()
st, b = other(gemini({"functionCall": {"name": "credential_export", "args": {"path": "/etc/passwd"}}}))
ok("a call of Gemini is refused", st == 403 and b"passwd" not in b, st, b)
st, b = other(b"data: " + gemini({"functionCall": {"name": "credential_export", "args": {"path": "/etc/passwd"}}}) + b"\n\n", "text/event-stream")
ok("also as an event", b"passwd" not in b and b"error" in b, b)
st, b = other(b'{"message":{"content":[{"toolUse":{"name":"credential_export","input":{"path":"/etc/passwd"}}}]}}')
ok("and one of Bedrock", st == 403 and b"passwd" not in b, st, b)
st, b = other(b'\0\0\1\2{"toolUse":{"name":"credential_export","path":"passwd"}}', "application/vnd.amazon.eventstream")
ok("frames that are not read are refused", st == 403 and b"passwd" not in b, st, b)
st, b = other(gemini({"text": "Hello"}))
ok("words pass", st == 200 and b"Hello" in b, st, b)
x.stop()
x = Proxy(p, m, "--mode", "observe")
m.stream(chat_stream([export]))
st, b, h = x.chat(stream=True)
ok("who only observes lets it through", without_comment(b) == chat_stream([export]), b)
r = [r for r in p.receipts() if r.get("tool_name") == "credential_export"][-1]
ok("and the record has what would have been", r["verdict"] == "DENY" and r["metadata"]["proxy"]["mode"] == "observe", r)
x.stop()
ok("the log is sound", p.helm("log", "check").returncode == 0)
p.done()
finish()
PY

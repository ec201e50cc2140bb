#!/bin/sh
# helm proxy before a vendor that breaks off its answer or sends what is no HTTP: the client always has one answer, in the form of its wire, and the failure is on record.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from model import *
from raw_upstream import CLOSE, RESET, STALL, RawUpstream
p, v = Place(), RawUpstream()
x = Proxy(p, v)
OK, JSON, SSE = b"HTTP/1.1 200 OK\r\n", b"Content-Type: application/json\r\n", b"Content-Type: text/event-stream\r\n"

# Nothing of these is an answer: the client has a status that says so, before any byte of it.
NONE = {
    "nothing, and closes": [CLOSE],
    "nothing, and resets": [RESET],
    "half of a status line": [b"HTTP/1.1 20", CLOSE],
    "a status line alone": [OK, CLOSE],
    "half of a header": [OK + b"Content-Ty", CLOSE],
    "headers without their end": [OK + JSON + b"Content-Length: 2\r\n", CLOSE],
    "headers without their end, reset": [OK + JSON, RESET],
    "headers of events without their end": [OK + SSE, CLOSE],
    "an error's headers without their end": [b"HTTP/1.1 500 Internal\r\n" + JSON, CLOSE],
    "a first line that is none": [b"this is no HTTP\r\n\r\n", CLOSE],
    "bytes": [bytes(range(128, 256)) * 8, CLOSE],
    "a status that is no number": [b"HTTP/1.1 abc OK\r\n" + JSON + b"Content-Length: 2\r\n\r\n{}"],
    "a status that is none": [b"HTTP/1.1 000 OK\r\n" + JSON + b"Content-Length: 2\r\n\r\n{}"],
    "an interim answer alone": [b"HTTP/1.1 100 Continue\r\n\r\n", CLOSE],
    "another protocol": [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", CLOSE],
    "a length that is no number": [OK + JSON + b"Content-Length: abc\r\n\r\n{}"],
    "a header without an end": [OK + b"X: " + b"y" * 300000, CLOSE],
    "a length and no body": [OK + JSON + b"Content-Length: 50\r\n\r\n", CLOSE],
    "less than its length": [OK + JSON + b"Content-Length: 5000\r\n\r\n" + b'{"choices":[', CLOSE],
    "half of a chunk": [OK + JSON + b"Transfer-Encoding: chunked\r\n\r\n400\r\n" + b'{"choices":[', CLOSE],
    "a chunk without a size": [OK + JSON + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"],
    "chunks without the last": [OK + JSON + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", CLOSE],
}


def ask(form, stream):
    try:
        return x.chat(form=form, stream=stream)
    except (http.client.HTTPException, OSError) as e:
        return 0, repr(e).encode(), {}


def in_form(form, b):
    try:
        d = json.loads(b)
        return (d.get("type") == "error") == (form == "messages") and bool(d["error"]["type"]) and bool(d["error"]["message"]) and d["helm"]["status"] in ("INCOMPLETE", "UPSTREAM_ERROR")
    except (ValueError, KeyError, TypeError):
        return False


for what, pieces in NONE.items():
    for form in PATHS:
        for stream in (False, True):
            v.say = pieces
            before = len(p.receipts())
            st, b, h = ask(form, stream)
            made = p.receipts()[before:]
            wrong = [] if st == 502 else [("status", st)]
            if not in_form(form, b): wrong.append(("body", b[:300]))
            if "json" not in h.get("content-type", "") or "no-store" not in h.get("cache-control", ""): wrong.append(("headers", h))
            if not made or made[-1].get("status") not in ("INCOMPLETE", "UPSTREAM_ERROR") or not made[-1].get("reason_code"): wrong.append(("record", [(r.get("status"), r.get("reason_code")) for r in made]))
            ok("%s%s: %s: one answer that says so, and its record" % (form, ", stream" if stream else "", what), not wrong, *wrong)
v.say = [OK + b"Content-Ty", CLOSE]
ok("what happened is said", b"inside the headers" in ask("chat", False)[1], ask("chat", False)[1])
v.say = [b"this is no HTTP\r\n\r\n", CLOSE]
ok("also of what is no HTTP", b"no status line" in ask("chat", False)[1], ask("chat", False)[1])

# More than its length: what was announced is looked at, and that is no document.
whole = json.dumps(chat_whole()).encode()
v.say = [OK + JSON + b"Content-Length: 10\r\n\r\n" + whole, CLOSE]
st, b, h = ask("chat", False)
ok("more than its length is refused", st in (403, 502) and json.loads(b)["error"]["message"] and p.receipts()[-1]["status"] != "APPROVED", st, b)
v.say = [OK + JSON + b"Content-Length: %d\r\n\r\n" % len(whole) + whole]
ok("one that is whole passes", ask("chat", False)[0] == 200)

# A stream that has begun: what came, then an error in the form of the wire, and the record says that it broke off.
for form in PATHS:
    told = STREAMS[form]()
    part = told[:len(told) // 2]
    for what, pieces in {
        "closes inside a chunk": [OK + SSE + b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n" % len(told) + part, CLOSE],
        "resets inside a chunk": [OK + SSE + b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n" % len(told) + part, RESET],
        "closes before the last chunk": [OK + SSE + b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n" % len(part) + part + b"\r\n", CLOSE],
        "sends a chunk without a size": [OK + SSE + b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n" % len(part) + part + b"\r\nzz\r\n", CLOSE],
        "sends less than its length": [OK + SSE + b"Content-Length: %d\r\n\r\n" % len(told), part, CLOSE],
    }.items():
        v.say = pieces
        before = len(p.receipts())
        st, b, h = ask(form, True)
        r = p.receipts()[before:][-1:]
        ok("%s: a stream that %s ends with an error, on record" % (form, what), st == 200 and b"INCOMPLETE" in b and b"error" in b and r and r[0]["status"] == "INCOMPLETE" and r[0].get("reason_code"), st, b[-600:], [y.get("status") for y in r])
    v.say = [OK + SSE + b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n" % len(told) + told + b"\r\n0\r\n\r\n"]
    st, b, h = ask(form, True)
    ok(form + ": one that is whole passes", st == 200 and without_comment(b) == told, st, b[-300:])
ok("it ends in order", x.stop() == 0)

# One that stalls is waited for as long as the settings say; then the client has an answer that says so.
with open(os.path.join(p.dir, "idle.yaml"), "w") as f:
    f.write("format: helm.proxy.v1\nlimits: {idle_seconds: 1}\nupstreams: [{id: a, url: '%s'}]\n" % v.url)
x = Proxy(p, None, "--config", os.path.join(p.dir, "idle.yaml"))
for what, pieces in {
    "before its answer": [STALL],
    "inside its headers": [OK + b"Content-Ty", STALL],
    "before its body": [OK + JSON + b"Content-Length: 50\r\n\r\n", STALL],
    "inside its body": [OK + JSON + b"Content-Length: 5000\r\n\r\n" + b'{"choices":[', STALL],
    "inside a chunk": [OK + JSON + b"Transfer-Encoding: chunked\r\n\r\n400\r\n" + b'{"choices":[', STALL],
}.items():
    for form in PATHS:
        v.say = pieces
        before = len(p.receipts())
        st, b, h = ask(form, False)
        made = [(r.get("status"), r.get("reason_code")) for r in p.receipts()[before:]]
        ok("%s: one that stalls %s: 504 that says so, and its record" % (form, what), st == 504 and in_form(form, b) and b"in time: nothing came for 1 s" in b and made and made[-1][0] in ("INCOMPLETE", "UPSTREAM_ERROR") and made[-1][1], st, b[:300], made)
x.stop()

# Where there is another upstream it is asked instead, and both are on record.
other = Model()
other.json(chat_whole(text="from the other"))
with open(os.path.join(p.dir, "two.yaml"), "w") as f:
    f.write("format: helm.proxy.v1\nupstreams:\n  - {id: first, url: '%s', fallback: second}\n  - {id: second, url: '%s'}\n" % (v.url, other.url))
x = Proxy(p, None, "--config", os.path.join(p.dir, "two.yaml"))
for what in ("nothing, and closes", "half of a header", "a first line that is none"):
    v.say = NONE[what]
    before = len(p.receipts())
    st, b, h = ask("chat", False)
    made = [r.get("status") for r in p.receipts()[before:] if r.get("type") == "outcome"]
    ok("%s: the fallback answers" % what, st == 200 and b"from the other" in b and made == ["INCOMPLETE", "APPROVED"], st, b[:300], made)
x.stop()
finish()
PY

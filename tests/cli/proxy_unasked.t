#!/bin/sh
# helm proxy: an answer of another kind than was asked for (events instead of a document, an error with calls in it) is judged, and its refusal is one
# that the client's library raises.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
import hashlib
from model import *
p, m = Place(), Model()
x = Proxy(p, m)
weather, export = ("get_weather", {"city": "Oslo"}), ("credential_export", {"path": "/etc/passwd"})
def outcome(): return [r for r in p.receipts() if r["type"] == "outcome"][-1]
def is_error(form, st, b, h, code=None):
    try: d = json.loads(b)
    except ValueError: return False
    return (st >= 400 and h["content-type"].startswith("application/json") and d["error"]["message"] and (form != "messages" or d["type"] == "error")
            and (not code or d["error"]["code"] == code) and d["helm"]["status"] == h["x-helm-status"])

# Events that nobody asked for: a library that reads a document looks at the status, and at nothing else.
for form in STREAMS:
    for what, calls in (("one call", [export]), ("two calls, one of them allowed", [weather, export])):
        raw = STREAMS[form](calls, text="some words first")
        for how, pieces in (("whole", [raw]), ("in pieces", [raw[i:i + 40] for i in range(0, len(raw), 40)])):
            m.stream(*pieces)
            st, b, h = x.chat(form=form)
            ok("%s, %s, %s: events that nobody asked for are refused by a status" % (form, what, how), st == 403 and is_error(form, st, b, h) and b"passwd" not in b and b"words" not in b, st, b, h)
            r = outcome()
            ok("and that is on record, with what was sent", r["status"] == "DENIED" and r["metadata"]["proxy"]["output_hash"] == "sha256:" + hashlib.sha256(b).hexdigest(), r)
    raw = STREAMS[form]([weather])
    m.stream(raw[:200], raw[200:])
    st, b, h = x.chat(form=form)
    ok(form + ": those with nothing to refuse pass as they are", st == 200 and without_comment(b) == raw and h["content-type"] == "text/event-stream", st, b)
    m.stream(raw[:len(raw) * 2 // 3], DIE)
    st, b, h = x.chat(form=form)
    ok(form + ": those that break off are an error", st == 502 and is_error(form, st, b, h, "INCOMPLETE"), st, b)
    m.stream(raw[:200] + b"data: {nonsense\n\n" + raw[200:])
    st, b, h = x.chat(form=form)
    ok(form + ": so are those that cannot be read", st == 403 and is_error(form, st, b, h), st, b)
    m.stream(STREAMS[form]([export]))
    st, b, h = x.chat(form=form, stream=True)
    ok(form + ": one that was asked for is told inside", st == 200 and b"error" in b and b"passwd" not in b, st, b)
    m.json(WHOLES[form]([export]))
    st, b, h = x.chat(form=form, stream=True)
    ok(form + ": a document to a request for events is refused by a status", st == 403 and is_error(form, st, b, h), st, b)
    m.stream(STREAMS[form]([export]))
    st, b, h = x.ask(PATHS[form] + "?stream=true", {"model": "m", "max_tokens": 9, ("input" if form == "responses" else "messages"): [{"role": "user", "content": "hi"}]})
    ok(form + ": a query is no request for events of a POST", st == 403, st, b)
m.stream(responses_stream([export]))
st, b, h = x.ask("/v1/responses/resp_1?stream=true", method="GET")
ok("events of an answer that is fetched later are asked for by the query", st == 200 and b"error" in b and b"passwd" not in b, st, b)

# Errors of the vendor that carry calls.
for status in (400, 401, 404, 418, 429, 500, 503):
    for form in WHOLES:
        m.json(WHOLES[form]([export]), status=status)
        n = len(p.receipts())
        st, b, h = x.chat(form=form)
        ok("%s: a call in an answer of %d is judged" % (form, status), st == 403 and is_error(form, st, b, h) and b"passwd" not in b and any(r.get("tool_name") == "credential_export" and r["verdict"] == "DENY" for r in p.receipts()[n:]), st, b)
        good = json.dumps(WHOLES[form]([weather])).encode()
        m.json(good, status=status)
        st, b, h = x.chat(form=form)
        ok("%s: one that is allowed passes with its %d" % (form, status), st == status and b == good and any(r.get("tool_name") == "get_weather" for r in p.receipts()[n:]), st, b)
        if status in (400, 503):
            for kind in ("text/event-stream", "text/plain", "application/json"):
                m.say = (status, [("Content-Type", kind)], [STREAMS[form]([export])])
                st, b, h = x.chat(form=form, stream=True)
                ok("%s: events with a call, %s, do not pass behind %d" % (form, kind, status), b"passwd" not in b and is_error(form, st, b, h) and st == status, st, b)
    m.json({"error": {"message": "slow down", "type": "x"}}, status=status, headers=[("Retry-After", "7")])
    st, b, h = x.chat()
    ok("an error of %d passes as it is" % status, st == status and b == b'{"error": {"message": "slow down", "type": "x"}}' and h["retry-after"] == "7", st, b, h)
for what, body in (("a page", b"<html>\n<body>down</body>\n</html>"), ("a word", b'"down"'), ("a list", b'[{"error": {"message": "down"}}]'), ("nothing", b"")):
    m.say = (503, [("Content-Type", "text/html"), ("Retry-After", "7")], [body])
    st, b, h = x.chat()
    ok("%s passes behind 503" % what, st == 503 and b == body and h["retry-after"] == "7", st, b)
for what, body in (("a document that is cut off", json.dumps(chat_whole([export])).encode()[:-4]), ("two documents", json.dumps(chat_whole([export])).encode() * 2), ("a member twice", b'{"a":1,"a":2}'), ("a list with a call", json.dumps([chat_whole([export])]).encode())):
    m.say = (503, [("Content-Type", "application/json")], [body])
    st, b, h = x.chat()
    ok("%s does not" % what, st in (403, 503) and is_error("chat", st, b, h) and b"passwd" not in b, st, b)
x.stop()
finish()
PY

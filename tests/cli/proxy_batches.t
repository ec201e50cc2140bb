#!/bin/sh
# helm proxy: answers that a vendor collects and gives as a file (batches, files) are read for calls, however their type and their path are written.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from model import *
p, m = Place(), Model()
x = Proxy(p, m)
export = ("credential_export", {"path": "/etc/passwd"})
def lines(whole, member): return b"\n".join(json.dumps({"custom_id": str(i), "result": {member: whole()}}).encode() for i in range(3)) + b"\n"
def with_call(whole, member): return lines(whole, member) + json.dumps({"custom_id": "x", "result": {member: whole([export])}}).encode() + b"\n"
PLACES = (("/v1/batches/batch_1/output", chat_whole, "body"), ("/v1/messages/batches/msgbatch_1/results", messages_whole, "message"),
          ("/v1/files/file_1/content", chat_whole, "body"))
for path, whole, member in PLACES:
    for kind in ("application/octet-stream", "application/x-jsonl", "binary/octet-stream", "application/jsonl", "application/json", ""):
        head = [("Content-Type", kind)] if kind else []
        good, bad = lines(whole, member), with_call(whole, member)
        m.say = (200, head, [good])
        st, b, h = x.ask(path, method="GET")
        ok("%s, %s: answers without calls pass as they are" % (path, kind or "no type"), st == 200 and b == good, st, b)
        for how, pieces in (("whole", [bad]), ("in pieces", [bad[i:i + 50] for i in range(0, len(bad), 50)])):
            m.say = (200, head, pieces)
            st, b, h = x.ask(path, method="GET")
            ok("%s, %s, %s: a call among them is refused, and nothing of it leaves" % (path, kind or "no type", how), st == 403 and b"passwd" not in b and b"custom_id" not in b, st, b)
            r = p.receipts()
            ok("and that is on record", r and r[-1]["verdict"] == "DENY" and r[-1]["effect_id"] == "unreadable_answer")

# The vendor reads the path decoded, and so does the proxy.
for path in ("/v1/%62atches/b/output", "/v1/batches%2Fb/output", "/v1/%66iles/f/content", "/v1//files//f/content", "/v1/messages/batche%73/b/results"):
    m.say = (200, [("Content-Type", "application/octet-stream")], [with_call(chat_whole, "body")])
    st, b, h = x.ask(path, method="GET")
    ok("%s: read as what it means" % path, b"passwd" not in b and st in (400, 403), st, b)
# What holds no answers is not held up: bytes of another place pass unread.
m.say = (200, [("Content-Type", "application/octet-stream")], [b"\x00\xff" * 5000])
st, b, h = x.ask("/v1/images/i/content", method="GET")
ok("what is no place of answers passes as it is", st == 200 and b == b"\x00\xff" * 5000, st)
ok("it ends well", x.stop() == 0)
finish()
PY

#!/bin/sh
# helm serve when things go wrong: no room on the disk, no descriptors left, callers that are slow, cut off or hostile.  Nothing is allowed that is not on record, and
# when it is over the server goes on.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE PYTHONPATH="$HELM_SOURCE/tests/tools"
cat >faults.py <<'PY'
from serve import *
import resource
FREE = {"HELM_LIMIT_IP": "0", "HELM_LIMIT_KERNEL": "0"}
def lost(p, answers):
    rows = {r["receipt_id"] for r in p.receipts()}
    return [b["receipt_id"] for st, b, h in answers if st == 200 and b["receipt_id"] not in rows]
def at_once(s, clients, each, **args):
    answers, lock = [], threading.Lock()
    def work(i):
        on = None
        for n in range(each):
            try:
                on = on or s.connection()
                a = s.evaluate("read_ticket", dict(args, c=i, n=n), on=on)
                with lock: answers.append(a)
            except OSError: on = None
    ts = [threading.Thread(target=work, args=(i,)) for i in range(clients)]
    [t.start() for t in ts]; [t.join() for t in ts]
    return answers

# No room on the disk.
if sys.argv[1] == "full":
    d = tempfile.mkdtemp(); subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", d], check=True)
    with open(d + "/filler", "wb") as f: f.write(b"x" * (10788 << 10))
    tempfile.tempdir = d
    p = Place(); s = Server(p, env=FREE)
    answers = at_once(s, 8, 80, x="y" * 300)
    busy = [a for a in answers if a[0] != 200]
    ok("without room some are answered (%d), and the others (%d) told that there is no decision" % (len(answers) - len(busy), len(busy)),
       busy and len(busy) < len(answers) and all(a[0] == 503 and is_error(a[1], 503) and a[1]["error"]["code"] == "RECEIPT_UNAVAILABLE" and a[2].get("retry-after") for a in busy), busy[:1])
    ok("each answer is on record", not lost(p, answers))
    ok("the boundary says that it is not well", s.ask("GET", "/api/v1/boundary/status")[1]["receipt_store"] == "unavailable")
    os.unlink(d + "/filler")
    ok("when there is room again it goes on", s.evaluate("read_ticket", {"n": 1})[0] == 200 and s.ask("GET", "/api/v1/boundary/status")[1]["status"] == "ready")
    ok("it ends well, and the chain is sound", s.stop() == 0 and p.helm("log", "check", "--all").returncode == 0)
    finish()

# No descriptors left.
p = Place()
def few(): resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80))
s = Server(p, env=FREE, preexec_fn=few)
idle = []
for i in range(150):
    try: idle.append(socket.create_connection((s.url.hostname, s.url.port), timeout=5))
    except OSError: break
answers = []
t = threading.Thread(target=lambda: answers.extend(at_once(s, 30, 1))); t.start()
time.sleep(1)
for c in idle: c.close()
t.join()
ok("with too few descriptors nobody is lied to", len(answers) == 30 and {a[0] for a in answers} <= {200, 503} and all(a[2].get("retry-after") for a in answers if a[0] == 503) and not lost(p, answers), {a[0] for a in answers})
ok("and then all is well", all(a[0] == 200 for a in at_once(s, 4, 5)))
ok("it ends well, and the chain is sound", s.stop() == 0 and p.helm("log", "check").returncode == 0)

# Callers that are slow, or cut off.
s = Server(p, env=dict(FREE, HELM_LIMIT_SECONDS="2"))
auth = b"Host: x\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nX-Helm-Tenant-ID: default\r\nX-Helm-Principal-ID: system-admin\r\n" % ADMIN.encode()
body = b'{"tool":"read_ticket","effect_level":"r","session_id":"slow"}'
def raw(text, timeout=30):
    c = socket.create_connection((s.url.hostname, s.url.port), timeout=timeout); c.sendall(text); return c
def rest(c):
    got = b""
    try:
        while (more := c.recv(65536)): got += more
    except OSError: pass
    c.close()
    return got
before = len(p.receipts())
silent = raw(b"")
half = raw(b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth[:20])
stuck = raw(b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth + b"Content-Length: %d\r\n\r\n" % len(body) + body[:-1])
trickle = raw(b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth + b"Content-Length: 100000\r\n\r\n")
sent, began = 0, time.time()
try:
    while time.time() - began < 20: trickle.sendall(b" "); sent += 1; time.sleep(0.1)
except OSError: pass
ok("a body that comes byte by byte ends its connection", sent < 150 and time.time() - began < 18, sent)
ok("so does silence, before a request, in its head and in its body", [rest(c).count(b"200 OK") for c in (silent, half, stuck)] == [0, 0, 0])
cut = raw(b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth + b"Content-Length: %d\r\n\r\n" % len(body) + body[:-1]); cut.close()
for n in (1, 10, len(body)):
    c = raw(b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % n + body[:n]); c.close()
ok("of what was not sent whole nothing is decided", len(p.receipts()) == before)
gone = raw(b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth + b"Content-Length: %d\r\n\r\n" % len(body) + body); gone.close()
for i in range(100):
    if len(p.receipts()) > before: break
    time.sleep(0.05)
ok("who goes before the answer has a decision on record all the same", len(p.receipts()) == before + 1)
ok("it goes on", s.evaluate("read_ticket")[0] == 200)

# Hostile ones.
many = raw(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(20000)) + b"\r\n")
got = rest(many)
ok("more headers than fit are refused", b"200 OK" not in got, got[:100])
for what, line in (("a long path", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"), ("a path with a line end", b"GET /healthz%0d%0aX: HTTP/1.1\r\nHost: x\r\n\r\n"), ("another protocol", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                   ("a bare line feed", b"GET /healthz HTTP/1.1\nHost: x\n\n"), ("a length that is no number", b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth + b"Content-Length: 1e3\r\n\r\n{}"),
                   ("a length below nothing", b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth + b"Content-Length: -1\r\n\r\n{}"), ("one beyond everything", b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth + b"Content-Length: 99999999999999999999\r\n\r\n{}"),
                   ("a piece without an end", b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}")):
    got = rest(raw(line))
    ok("hostile: " + what, b'"verdict"' not in got and got.count(b"HTTP/1.1 2") <= (1 if "line feed" in what else 0), got[:200])
for text in (b'{"tool":"read_ticket","effect_level":"r","args":{"n":1e400}}', b'{"tool":"read_ticket","effect_level":"r","args":{"n":' + b"9" * 5000 + b"}}", b'{"tool":"read_ticket\\u0000","effect_level":"r"}', b'{"tool":"\\ud800","effect_level":"r"}',
             b'{"tool":"read_ticket","effect_level":"r","session_id":"' + b"x" * 5000 + b'"}', b'{"tool":"' + b"t" * 100000 + b'","effect_level":"r"}'):
    st, b, h = s.ask("POST", "/api/v1/evaluate", text)
    ok("odd: %r" % text[:60], st == 400 or (st == 200 and b["verdict"] in ("ALLOW", "DENY")), st, b)
# Somebody else has the lock of the record, and one client asks alone: the thread that has read its request waits.
import fcntl
held = open(os.path.join(p.state, "log", "lock"), "r+"); fcntl.flock(held, fcntl.LOCK_EX)
waits = raw(b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
time.sleep(0.3)
healthy = [s.ask("GET", "/healthz")[0] for i in range(5)]
also = raw(b"POST /api/v1/evaluate HTTP/1.1\r\n" + auth + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
waits.settimeout(0.3)
try: early = waits.recv(1)
except OSError: early = None
fcntl.flock(held, fcntl.LOCK_UN); held.close(); waits.settimeout(30)
ok("who waits for the record holds up nobody who asks for something else", healthy == [200] * 5, healthy)
ok("and has no answer before its receipt is on disk", early is None, early)
ok("then both are answered", [rest(c).count(b'"verdict":"ALLOW"') for c in (waits, also)] == [1, 1])
key = [{"Idempotency-Key": "race"}] * 16
answers = []
ts = [threading.Thread(target=lambda: answers.append(s.evaluate("read_ticket", {"race": 1}, headers=key[0]))) for i in range(16)]
before = len(p.receipts())
[t.start() for t in ts]; [t.join() for t in ts]
ids = {a[1]["receipt_id"] for a in answers if a[0] == 200}
ok("sixteen at once under one key are one decision", len(ids) == 1 and {a[0] for a in answers} <= {200, 409} and len(p.receipts()) == before + 1, {a[0] for a in answers}, ids)
ok("it ends well, and the chain is sound", s.stop() == 0 and p.helm("log", "check").returncode == 0)
p.done()
finish()
PY
python3 faults.py all | sed 's/^1\.\..*/# the end/; s/^ok [0-9]*/# ok/; s/^not ok [0-9]*/# NOT ok/' >all.out
cat all.out
ok "what goes wrong closes ($(grep -c '^# ok' all.out) checks)" sh -c '! grep -q "^# NOT" all.out && grep -q "^# the end" all.out'
if unshare -rm true 2>/dev/null; then
  unshare -rm python3 faults.py full | sed 's/^1\.\..*/# the end/; s/^ok [0-9]*/# ok/; s/^not ok [0-9]*/# NOT ok/' >full.out
  cat full.out
  ok "so does a full disk ($(grep -c '^# ok' full.out) checks)" sh -c '! grep -q "^# NOT" full.out && grep -q "^# the end" full.out'
else
  skip "so does a full disk" "this user cannot make a mount namespace here"
fi
finish

#!/bin/sh
# helm serve under load: killed at any moment it has lost nothing that it answered; two of them, the command line and hooks share one chain;
# a policy that is swapped meanwhile is the one or the other for each decision.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from serve import *
import random

class Load:
    """Clients that ask as fast as they are answered; what was answered is kept."""
    def __init__(self, servers, clients):
        self.servers, self.answered, self.other, self.stop, self.lock = servers, [], [], False, threading.Lock()
        self.threads = [threading.Thread(target=self.work, args=(i,)) for i in range(clients)]
        for t in self.threads: t.start()
    def work(self, i):
        s, n, c = self.servers[i % len(self.servers)], 0, None
        while not self.stop:
            n += 1
            try:
                c = c or s.connection(30)
                st, b, h = s.evaluate("read_ticket", {"client": i, "n": n}, session="c%d" % i, on=c)
                with self.lock: (self.answered if st == 200 else self.other).append(b)
            except Exception:
                c = None
                if self.stop: return
                time.sleep(0.01)
    def end(self):
        self.stop = True
        for t in self.threads: t.join(60)

# Killed three times in a row, at moments nobody chose.
p = Place()
total = 0
for turn in range(3):
    s = Server(p)
    load = Load([s], 12)
    time.sleep(random.uniform(0.5, 1.5))
    s.p.kill()
    s.p.wait()
    s.log.close()
    load.end()
    total += len(load.answered)
    on_record = {r["receipt_id"]: r for r in p.receipts()}
    lost = [b["receipt_id"] for b in load.answered if b["receipt_id"] not in on_record]
    ok("killed under load: each of %d answers is on record" % len(load.answered), load.answered and not lost, lost[:3])
    said = p.helm("log", "check")
    ok("and the chain is sound", said.returncode == 0, said.stdout, said.stderr)
clocks = [r["lamport_clock"] for r in p.receipts()]
ok("no place in the chain is taken twice, or empty", clocks == list(range(1, len(clocks) + 1)))
p.done()

# Two servers and the command line on one workspace.
p = Place()
a, b = Server(p), Server(p)
load = Load([a, b], 8)
runs = [subprocess.Popen([HELM, "run", "--", "true"], env=p.env, cwd=p.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in range(50)]
codes = [r.wait(300) for r in runs]
hook = json.dumps({"hook_event_name": "PreToolUse", "session_id": "h", "cwd": p.dir, "tool_name": "Bash", "tool_input": {"command": "touch x"}, "tool_use_id": "u"})
hooks = [p.helm("hook", "pre-tool", "--client", "claude-code", input=hook).returncode for i in range(5)]
load.end()
rows = p.receipts()
doors = {r.get("metadata", {}).get("door") for r in rows}
ok("fifty runs go on beside them", codes == [0] * 50, codes)
ok("and hooks", all(c == 0 for c in hooks), hooks)
ok("all stand in one chain", {"api", "run", "hook/claude-code"} <= doors, doors)
ok("with everything that was answered", {x["receipt_id"] for x in load.answered} <= {r["receipt_id"] for r in rows}, len(load.answered))
ok("no request failed", not load.other, load.other[:2])
ok("they end well", a.stop() == 0 and b.stop() == 0)
said = p.helm("log", "check", "--all")
ok("and the chain is sound", said.returncode == 0, said.stdout, said.stderr)
p.done()

# The policy is swapped while decisions are made.
p = Place()
s = Server(p)
load = Load([s], 8)
texts = [POLICY, POLICY.replace('version: "1"', 'version: "2"')]
for turn in range(10):
    p.write(texts[turn % 2])
    s.p.send_signal(signal.SIGHUP)
    time.sleep(0.1)
load.end()
known = {r["metadata"]["serve_policy"]["sha256"]: r["metadata"]["serve_policy"]["version"] for r in p.receipts() if r["effect_id"] == "helm.serve/policy"}
wrong = [x for x in load.answered if known.get(x["policy_ref"]) != x["policy_version"]]
ok("each of %d decisions names exactly one policy that was loaded" % len(load.answered), load.answered and not wrong and len(known) == 2, wrong[:2], known)
ok("it ends well", s.stop() == 0)

# Whoever reads the whole record again and again keeps nobody from a decision.
s = Server(p, "--workers", "2", env={"HELM_LIMIT_IP": "0", "HELM_LIMIT_EVIDENCE": "0", "HELM_LIMIT_KERNEL": "0"})
read = []
ts = [threading.Thread(target=lambda: read.append(s.ask("GET", "/api/v1/proofgraph/sessions")[0])) for i in range(60)]
[t.start() for t in ts]
while not read: time.sleep(0.005)
st, b, h = s.evaluate("read_ticket", {"n": 1})
left = len(ts) - len(read)
ok("a decision does not wait for %d who read" % left, st == 200 and left > 10, left)
[t.join() for t in ts]
ok("who are answered, too", read == [200] * 60, set(read))
ok("it ends well", s.stop() == 0)
p.done()

# Too much at once: refused before anything is decided, with the time to come again.
p = Place()
s = Server(p, "--workers", "1", env={"HELM_LIMIT_IP": "0", "HELM_LIMIT_KERNEL": "0", "HELM_LIMIT_ADMIN": "1/2"})
import resource
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
body = json.dumps({"tool": "read_ticket", "effect_level": "r", "session_id": "many", "args": {"n": 1}})
text = ("POST /api/v1/evaluate HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\nX-Helm-Tenant-ID: default\r\nX-Helm-Principal-ID: system-admin\r\n"
        "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (ADMIN, len(body), body)).encode()
callers = [socket.create_connection((s.url.hostname, s.url.port), timeout=120) for i in range(min(3000, most - 200))]
for c in callers: c.sendall(text)
answers = []
for c in callers:
    got = b""
    while True:
        more = c.recv(65536)
        if not more: break
        got += more
    head, _, rest = got.partition(b"\r\n\r\n")
    answers.append((int(head.split()[1]), head.lower(), json.loads(rest)))
    c.close()
busy = [a for a in answers if a[0] == 503]
ok("every one of %d is answered, %d with 503" % (len(answers), len(busy)), {a[0] for a in answers} <= {200, 503}, {a[0] for a in answers})
if most < 2000: skip("who is refused is told when to come again, and why", "only %d files can be open here, fewer than requests can wait" % most)
else: ok("who is refused is told when to come again, and why", busy and all(b"retry-after: 1" in a[1] and b"x-helm-limiter-reason" in a[1] and is_error(a[2], 503) for a in busy), len(busy))
on_record = [r for r in p.receipts() if r.get("correlation_id") == "many"]
ok("and is not on record, while all the others are", len(on_record) == len(answers) - len(busy), len(on_record))
strangers = {s.ask("GET", "/api/v1/approvals", key=None)[0] for i in range(300)}
ok("who has no key uses up nothing of who has one", strangers == {401} and s.ask("GET", "/api/v1/approvals")[0] == 200, strangers)
limited = [s.ask("GET", "/api/v1/approvals") for i in range(300)]
late = [a for a in limited if a[0] == 429]
ok("too often is 429", late and all(int(a[2]["retry-after"]) >= 1 and a[2]["x-helm-limiter-reason"] == "ENDPOINT_RATE_LIMIT_EXCEEDED" and is_error(a[1], 429) for a in late), len(late), late[:1])
ok("which keeps nobody from other routes", s.evaluate("read_ticket")[0] == 200)
ok("it ends well", s.stop() == 0 and p.helm("log", "check").returncode == 0)
p.done()

# A request that takes more memory than one may have ends alone, before anything is written.
p = Place()
s = Server(p, env={"HELM_LIMIT_MEMORY": "1500000"})
before = len(p.receipts())
st, b, h = s.evaluate("Bash", {"command": "a=x;" * 100000})
ok("too much memory is 413 for that request", st == 413 and is_error(b, 413), st, b)
ok("of which nothing is on record", len(p.receipts()) == before)
ok("and the server goes on, again and again", [s.evaluate("Bash", {"command": "a=x;" * 100000})[0] for i in range(40)] == [413] * 40 and s.evaluate("read_ticket")[0] == 200)
fds = len(os.listdir("/proc/%d/fd" % s.p.pid))
[s.evaluate("Bash", {"command": "a=x;" * 100000}) for i in range(40)]
ok("without losing descriptors", len(os.listdir("/proc/%d/fd" % s.p.pid)) <= fds + 8)
again = [s.evaluate("Bash", {"command": "a=x;" * 100000}, headers={"Idempotency-Key": "large"})[0] for i in range(3)]
ok("nor the place of an Idempotency-Key", again == [413] * 3, again)
def many(t):
    on = s.connection()
    for i in range(280): s.evaluate("read_ticket", {"n": i}, session="many", on=on)
ts = [threading.Thread(target=many, args=(t,)) for t in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
last = s.evaluate("read_ticket", {"n": 1}, session="last")[1]
read = [s.ask("GET", "/api/v1/receipts?limit=1000")[0] for i in range(20)]
fds = len(os.listdir("/proc/%d/fd" % s.p.pid))
read += [s.ask("GET", "/api/v1/receipts?limit=1000")[0] for i in range(80)]
ok("nor do lists that are too large", read == [413] * 100 and len(os.listdir("/proc/%d/fd" % s.p.pid)) <= fds + 8, set(read), fds, len(os.listdir("/proc/%d/fd" % s.p.pid)))
tail = s.connection(timeout=30)
tail.request("GET", "/api/v1/receipts/tail?since=lamport:0&session_id=last", headers={"Authorization": "Bearer " + ADMIN, "X-Helm-Tenant-ID": "default", "X-Helm-Principal-ID": "system-admin"})
heard, line = b"", b"x"
answer = tail.getresponse()
while line and last["receipt_id"].encode() not in line:
    line = answer.readline(); heard += line
ok("a long chain is read in turns, to its end", heard.count(b": reading") >= 1 and last["receipt_id"].encode() in heard, heard[:300])
tail.close()
ok("it ends well", s.stop() == 0 and p.helm("log", "check").returncode == 0)
p.done()
finish()
PY

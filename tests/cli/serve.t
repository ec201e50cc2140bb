#!/bin/sh
# helm serve: decisions over HTTP, on record before they are answered; who may ask; what is refused, and how.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
from serve import *
p = Place()
s = Server(p, "--listen", "unix:" + p.dir + "/sock")
ok("the first line says that it is ready, and where", s.ready and s.ready["ready"] is True and s.url.hostname == "127.0.0.1", s.ready)

line = open("/proc/%d/cmdline" % s.p.pid, "rb").read().split(b"\0")
ok("its command line says nothing but what it is", len(line) == 4 and line[1].startswith(b"--options-fd=") and line[2] == b"serve", line)

# One decision.
st, b, h = s.evaluate("read_ticket", {"id": 1})
ok("what the policy allows is allowed", st == 200 and b["allow"] is True and b["verdict"] == "ALLOW" and b["reason_code"] == "", b)
row = p.receipts()[-1]
ok("and is the last receipt of the workspace's chain", row["receipt_id"] == b["receipt_id"] and row["lamport_clock"] == b["lamport_clock"], row)
ok("it names the policy, the decision and who asked", row["policy_hash"] == b["policy_ref"] and row["output_hash"] == b["decision_hash"] and row["executor_id"] == "system-admin", row)
kept = [json.loads(l) for l in open(p.state + "/shown/shown.jsonl")][-1]
ok("what was asked is kept, by the digest that the receipt has", kept["sha256"] == row["metadata"]["shown_sha256"] and kept["shown"]["arguments"] == {"id": 1} and kept["shown"]["tool"] == "read_ticket", kept)
st, b, h = s.evaluate("nothing_known")
ok("what no rule covers is denied, with 200", st == 200 and b["allow"] is False and b["verdict"] == "DENY" and b["reason_code"] == "NO_POLICY_DEFINED", b)
st, b, h = s.evaluate("Bash", {"command": "rm -rf /"})
ok("a shell command is understood, whatever the policy says", b["verdict"] == "DENY" and b["rule"] == "deny.rm_root", b)
seen = p.helm("status", "--brief").stdout
seen = " ".join((seen.decode() if isinstance(seen, bytes) else seen).split())
ok("status knows that somebody has called", "by HTTP, the proxy or as a session in the last 24 hours: 1 passed, 0 asked, 2 refused" in seen and "called yet" not in seen, seen)
st, b, h = s.ask("POST", "/api/v1/evaluate", {"action": "read_ticket", "resource": "r", "context": {"session_id": "s"}})
ok("the older spelling means the same", st == 200 and b["verdict"] == "ALLOW", b)
st, b, h = s.ask("POST", "/api/v1/evaluate", {"action": "read_ticket", "tool": "refund", "resource": "r"})
ok("both spellings must agree", st == 400 and is_error(b, 400), b)
st, b, h = s.ask("POST", "/api/v1/evaluate", {"tool": "read_ticket", "effect_level": "r", "session_id": "a/b"})
ok("a session is no path", st == 400, b)
st, b, h = s.ask("POST", "/api/v1/evaluate", {"tool": "read_ticket", "effect_level": "r", "context": {"principal_id": "root", "tenant_id": "other"}})
ok("who one is does not come from the body", st == 200 and p.receipts()[-1]["executor_id"] == "system-admin", b)

# A question, its answer, and what follows from it.
st, b, h = s.evaluate("refund", {"amount": 500})
ok("a question is asked", b["verdict"] == "ESCALATE" and b["approval_id"], b)
asked = b["approval_id"]
st, lst, h = s.ask("GET", "/api/v1/approvals")
mine = [x for x in lst if x["approval_id"] == asked]
ok("and waits", st == 200 and mine and mine[0]["state"] == "pending" and mine[0]["requested_by"] == "system-admin", lst)
st, b, h = s.ask("POST", "/api/v1/approvals/%s/approve" % asked, {})
ok("an answer needs the hash of what was seen", st == 428 and is_error(b, 428), b)
st, b, h = s.ask("POST", "/api/v1/approvals/%s/bless" % asked, {})
ok("one that is none is not found, before anything is asked of it", st == 404 and is_error(b, 404), b)
first = p.receipts()[-1]
st, b, h = s.ask("POST", "/api/demo/tamper", {"receipt": first, "expected_receipt_hash": "x"}, key=None, tenant=None, principal=None)
ok("a receipt that is changed does not verify", st == 200 and b["valid"] is False and b["signature_valid"] is False and b["original_hash"] != b["tampered_hash"] == b["receipt_hash"], b)
st, b, h = s.ask("POST", "/api/demo/verify", {"receipt": first, "expected_receipt_hash": b["original_hash"]}, key=None, tenant=None, principal=None)
ok("and as it was it does", st == 200 and b["valid"] is True, b)
st, b, h = s.ask("POST", "/api/v1/approvals/%s/approve" % asked, {"expected_ceremony_hash": "sha256:0"})
ok("that is not stale", st == 409, b)
st, b, h = s.ask("POST", "/api/v1/approvals/%s/approve" % asked, {"expected_ceremony_hash": mine[0]["ceremony_hash"]})
ok("who asked does not answer", st == 403, b)

# Keys of callers.
ok("a key is made by a person only", p.helm("serve", "key", "add", "--principal", "user:anna", "--scope", "approve").returncode == 25)
made = p.helm("serve", "key", "list", "--json")
ok("there are none yet", made.returncode == 0 and json.loads(made.stdout) == [], made.stdout)

# The same by the socket of this machine: who one is says the kernel.
import socket as so
def by_socket(method, path, body=b"", headers=""):
    c = so.socket(so.AF_UNIX); c.connect(p.dir + "/sock"); c.settimeout(30)
    c.sendall(("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n" % (method, path, len(body), headers)).encode() + body)
    got = b""
    while True:
        more = c.recv(65536)
        if not more: break
        got += more
    head, _, rest = got.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(rest)
st, b = by_socket("POST", "/api/v1/evaluate", b'{"tool":"read_ticket","effect_level":"r"}')
ok("a caller on this machine is its user", st == 200 and p.receipts()[-1]["executor_id"] == "user:%d" % os.getuid(), b)
st, b = by_socket("GET", "/api/v1/approvals")
ok("who may ask, and not answer, and is told what that takes", st == 403 and "needs the scope approve, and the caller has evaluate and read" in json.dumps(b), b)

# Once.
key = {"Idempotency-Key": "order-1"}
st, one, h = s.evaluate("read_ticket", {"n": 1}, headers=key)
st, two, h = s.evaluate("read_ticket", {"n": 1}, headers=key)
ok("the same request with the same key is decided once", one == two and h.get("idempotency-replayed") == "true", two)
st, b, h = s.evaluate("read_ticket", {"n": 2}, headers=key)
ok("another one with that key is refused", st == 409 and is_error(b, 409), b)

# What is read.
st, b, h = s.ask("GET", "/api/v1/receipts?limit=2")
ok("receipts come in pages", st == 200 and b["count"] == 2 and b["has_more"] is True, b)
seen, cursor = [], ""
while True:
    st, b, h = s.ask("GET", "/api/v1/receipts?limit=3&since=" + cursor)
    seen += [r["lamport_clock"] for r in b["receipts"]]
    cursor = b["next_cursor"]
    if not b["has_more"]: break
ok("and all of them by their cursors, each once", seen == [r["lamport_clock"] for r in p.receipts()], seen)
st, b, h = s.ask("GET", "/api/v1/receipts?verdict=DENY")
ok("by verdict", st == 200 and b["count"] > 0 and all(r["verdict"] == "DENY" for r in b["receipts"]), b)
last = p.receipts()[-1]
st, b, h = s.ask("GET", "/api/v1/receipts/" + last["receipt_id"])
ok("one by its id, as it was signed", st == 200 and b == last, b)
with open(p.dir + "/one.json", "w") as f: json.dump(b, f)
said = p.helm("verify", "one.json", "--key", p.helm("key", "export").stdout.strip().split()[-1])
ok("so that anybody can verify it", said.returncode == 0, said.stdout, said.stderr)
st, b, h = s.ask("GET", "/api/v1/receipts/rcpt_none")
ok("one that is not there is not", st == 404 and is_error(b, 404), b)
for bad in ("limit=0", "limit=1001", "limit=x", "since=nonsense", "since=v1.@@", "from=yesterday", "session_id=a&agent=b", "principal=a&executor=b", "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z"):
    st, b, h = s.ask("GET", "/api/v1/receipts?" + bad)
    ok("refused: " + bad, st == 400 and is_error(b, 400), b)

# Sessions, records, evidence.
st, b, h = s.ask("GET", "/api/v1/proofgraph/sessions")
ok("sessions are listed", st == 200 and [x for x in b if x["session_id"] == "s1" and x["receipt_count"] > 3], b)
st, b, h = s.ask("GET", "/api/v1/proofgraph/sessions/s1/receipts")
ok("with their receipts", st == 200 and len(b) > 3 and all(r["correlation_id"] == "s1" for r in b), b)
st, b, h = s.ask("POST", "/api/v1/evidence/export", {"session_id": "s1", "format": "tar.gz"}, raw=True)
ok("evidence leaves as a pack", st == 200 and b[:2] == b"\x1f\x8b" and h["x-helm-evidence-hash"].startswith("sha256:"), st)
with open(p.dir + "/pack.tar.gz", "wb") as f: f.write(b)
pub = p.helm("key", "export").stdout.strip().split()[-1]
said = p.helm("evidence", "verify", "pack.tar.gz", "--key", pub)
ok("which verifies offline", said.returncode == 0, said.stdout, said.stderr)
part = b'--B\r\nContent-Disposition: form-data; name="bundle"; filename="x"\r\n\r\n' + b + b"\r\n--B--\r\n"
mp = {"Content-Type": "multipart/form-data; boundary=B"}
st, v, h = s.ask("POST", "/api/v1/evidence/verify", part, headers=mp, key=None, tenant=None, principal=None)
ok("and over HTTP, without a key", st == 200 and v["verdict"] == "PASS" and v["errors"] == [], v)
broken = bytearray(b); broken[len(b) // 2] ^= 1
st, v, h = s.ask("POST", "/api/v1/evidence/verify", part.replace(b, bytes(broken)), headers=mp, key=None, tenant=None, principal=None)
ok("one that was touched fails", st == 200 and v["verdict"] == "FAIL" and v["errors"], v)
st, v, h = s.ask("POST", "/api/v1/evidence/export", {"session_id": "never-was"})
ok("nothing on record is no pack", st == 409 and is_error(v, 409), v)
st, b, h = s.ask("GET", "/api/v1/boundary/status")
ok("the boundary says that it is ready", st == 200 and b["status"] == "ready" and b["open_approval_count"] == 1, b)
st, b, h = s.ask("GET", "/api/v1/boundary/records?verdict=DENY")
ok("decisions are records", st == 200 and b and b[0]["verdict"] == "DENY", b)
st, v, h = s.ask("POST", "/api/v1/boundary/records/%s/verify" % b[0]["record_id"])
ok("which verify, with an empty body", st == 200 and v["verified"] is True, v)
st, b, h = s.ask("POST", "/api/v1/boundary/checkpoints")
ok("a head of the log is signed", st == 201 and b["receipt_count"] > 0, b)
st, v, h = s.ask("POST", "/api/v1/boundary/checkpoints/%s/verify" % b["checkpoint_id"])
ok("and the log has its root", st == 200 and v["verified"] is True, v)
st, b, h = s.ask("POST", "/api/v1/conformance/run", {"level": "L1"})
ok("gates run over the record", st == 200 and b["verdict"] in ("PASS", "FAIL") and b["gates"] == len(b["details"]) > 0, b)
st, v, h = s.ask("GET", "/api/v1/conformance/reports/" + b["report_id"])
ok("and the report is kept", st == 200 and v == b, v)

# What lies in the workspace may make it stricter, at once.
rules = p.home + "/.helm/workspace/references/guard_policy.json"
ok("a command that only looks is allowed", s.evaluate("Bash", {"command": "ls"})[1]["verdict"] == "ALLOW")
with open(rules, "w") as f: f.write("nonsense")
st, b, h = s.evaluate("Bash", {"command": "ls"})
ok("rules that cannot be read ask about everything, from the next request on", b["verdict"] == "ESCALATE", b)
os.unlink(rules)
ok("and no longer when they are gone", s.evaluate("Bash", {"command": "ls"})[1]["verdict"] == "ALLOW")

# Stopped by a person: a freeze counts for the next request.
p.helm("freeze", "--reason", "drill")
st, b, h = s.evaluate("read_ticket", {"id": 2})
ok("a freeze holds at once", b["verdict"] == "DENY" and b["reason_code"] == "SYSTEM_FROZEN", b)

# The policy, read again.
p2 = Place(); t = Server(p2)
st, b, h = t.evaluate("new_tool")
first = b["policy_ref"]
p2.write(POLICY + "  - {id: more, action: new_tool, verdict: ALLOW}\n")
t.p.send_signal(signal.SIGHUP)
for i in range(200):
    st, b, h = t.evaluate("new_tool")
    if b["verdict"] == "ALLOW": break
    time.sleep(0.05)
ok("a policy is read again by a signal", b["verdict"] == "ALLOW" and b["policy_ref"] != first, b)
second = b["policy_ref"]
p2.write("format: nonsense\n")
t.p.send_signal(signal.SIGHUP)
time.sleep(1)
st, b, h = t.evaluate("new_tool")
ok("one that cannot be used leaves the old one in force", b["verdict"] == "ALLOW" and b["policy_ref"] == second, b)
loaded = [r["metadata"]["serve_policy"]["sha256"] for r in p2.receipts() if r["effect_id"] == "helm.serve/policy"]
ok("each loading is on record", loaded == [first, second], loaded)
ok("it ends when it is told to", t.stop() == 0)
ok("and the chain is sound", p2.helm("log", "check").returncode == 0)
p2.done()

# Events.
c = s.connection()
c.request("GET", "/api/v1/receipts/tail", headers={"Authorization": "Bearer " + ADMIN, "X-Helm-Tenant-ID": "default", "X-Helm-Principal-ID": "system-admin"})
r = c.getresponse()
def event():
    got = {}
    while True:
        line = r.fp.readline().decode().rstrip("\r\n")
        if line == "" and got: return got
        name, colon, value = line.partition(": ")
        if colon and name in ("id", "event", "data"): got[name] = value
ok("events are a stream", r.status == 200 and r.getheader("Content-Type") == "text/event-stream")
st, b, h = s.evaluate("read_ticket", {"id": 3})
r.chunked = False
e = event()
ok("a receipt is sent when it is committed", e["event"] == "receipt" and json.loads(e["data"])["receipt_id"] == b["receipt_id"], e)
p.helm("run", "--", "true")
e = event()
ok("whoever wrote it", json.loads(e["data"])["metadata"]["door"] == "run", e)
place = int(e["id"].split(":")[1])
c.close()
st, b, h = s.evaluate("read_ticket", {"id": 4})
c = s.connection()
c.request("GET", "/api/v1/receipts/tail", headers={"Authorization": "Bearer " + ADMIN, "X-Helm-Tenant-ID": "default", "X-Helm-Principal-ID": "system-admin", "Last-Event-ID": e["id"]})
r = c.getresponse(); r.chunked = False
e = event()
ok("and goes on where it was left", int(e["id"].split(":")[1]) == place + 1, e)
began = time.time()
ok("it ends with a stream open", s.stop() == 0 and time.time() - began < 30)
ok("and the chain is sound", p.helm("log", "check").returncode == 0)

# Under TLS.
if shutil.which("openssl"):
    import ssl
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", p.dir + "/key.pem", "-out", p.dir + "/cert.pem",
                    "-days", "2", "-subj", "/CN=localhost"], check=True, capture_output=True)
    t = Server(p, "--tls-cert", p.dir + "/cert.pem", "--tls-key", p.dir + "/key.pem")
    ok("with a certificate it speaks TLS", t.url and t.url.scheme == "https", t.ready)
    trusted = ssl.create_default_context(cafile=p.dir + "/cert.pem")
    trusted.check_hostname = False
    st, b, h = t.evaluate("read_ticket", {"id": 5}, on=http.client.HTTPSConnection(t.url.hostname, t.url.port, context=trusted, timeout=60))
    ok("and answers", st == 200 and b["verdict"] == "DENY" and h.get("strict-transport-security"), st, b)
    plain = socket.create_connection((t.url.hostname, t.url.port), timeout=30)
    plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    try: got = plain.recv(100)
    except OSError: got = b""
    ok("nothing without it", not got.startswith(b"HTTP/1.1 200"), got)
    ok("it ends well", t.stop() == 0)

# Lengths that can be read in two ways, and headers that stand there twice: refused, and nothing behind them is a request.
s = Server(p)
def twice(headers, rest=b""):
    c = socket.create_connection((s.url.hostname, s.url.port), timeout=30)
    c.sendall(b"POST /api/v1/evaluate HTTP/1.1\r\n" + headers + b"\r\n" + rest)
    got = b""
    try:
        while (more := c.recv(65536)):
            got += more
    except OSError:
        pass
    return got
hidden = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
for what, headers in (("two lengths", b"Host: x\r\nContent-Length: 0\r\nContent-Length: %d\r\n" % len(hidden)),
                      ("a length and pieces", b"Host: x\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n" % len(hidden)),
                      ("an unknown coding", b"Host: x\r\nTransfer-Encoding: xchunked\r\n"),
                      ("no host", b"Content-Length: 0\r\n"),
                      ("two hosts", b"Host: x\r\nHost: y\r\nContent-Length: 0\r\n"),
                      ("two keys", b"Host: x\r\nAuthorization: a\r\nAuthorization: b\r\nContent-Length: 0\r\n"),
                      ("two tenants", b"Host: x\r\nX-Helm-Tenant-ID: default\r\nX-Helm-Tenant-ID: acme\r\nContent-Length: 0\r\n")):
    got = twice(headers, hidden)
    ok("%s: what is answered is JSON" % what, not got or is_error(json.loads(got.split(b"\r\n\r\n")[1]), 400), got[:300])
    ok("%s: one answer at most, and it is a refusal" % what, got.count(b"HTTP/1.1") <= 1 and b" 200 " not in got and (not got or b"HTTP/1.1 400" in got), got[:300])

for what, query in (("two limits", "limit=1&limit=1000"), ("two tenants", "tenant_id=default&tenant_id=other"), ("two spellings of a name", "Limit=1&limit=2"), ("a hundred names", "&".join("a%d=1" % i for i in range(101)))):
    st, b, h = s.ask("GET", "/api/v1/receipts?" + query)
    ok("%s in the query are refused" % what, st == 400 and is_error(b, 400), st, b)
st, b, h = s.ask("GET", "/healthz", headers={"X-%d" % i: "y" for i in range(110)})
ok("so are more than a hundred headers", st == 400, st)
for cursor in ("lamport:9223372036854775807", "lamport:18446744073709551616", "lamport:-1"):
    ok("no cursor: " + cursor, s.ask("GET", "/api/v1/receipts?since=" + cursor)[0] == 400)
ok("one beyond the end has nothing behind it", s.ask("GET", "/api/v1/receipts?since=lamport:9223372036854775806")[1]["count"] == 0)
ok("it goes on", s.evaluate("read_ticket", {"id": 9})[0] == 200)
s.stop()

# Starting.
def refused(*args):
    r = subprocess.run([HELM, "serve"] + list(args), env=p.env, cwd=p.dir, capture_output=True, text=True, timeout=60)
    return r.returncode, r.stderr
code, said = refused("--policy", p.policy, "--port", "0", "--bind", "0.0.0.0")
ok("beyond this machine only with TLS, or when it is meant", code == 2 and "TLS" in said, said)
code, said = refused("--policy", p.dir + "/none.yaml", "--port", "0")
ok("a policy that is not there is named", code == 1 and "none.yaml" in said, said)
code, said = refused("--port", "0")
ok("there is no door without a policy", code == 2 and "policy" in said, said)
p.done()
finish()
PY

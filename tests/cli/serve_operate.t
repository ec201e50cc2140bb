#!/bin/sh
# helm serve as a service: certificates of its own and of its callers, read again while it runs; sockets and notices of a service manager; who is refused by
# the headers; what is bounded over all callers together.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
command -v openssl >/dev/null || skip_all "openssl is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
export HELM_BUILD HELM_SOURCE

# Callers that are known by their certificates, made known by a person.
fresh_workspace
cd "$scratch" || exit 1
ok "a certificate is made known" says 0 "The certificate is key" terminal -- helm serve key add --principal agent:billing --certificate spiffe://acme/billing --scope evaluate,read
ok "once" says 1 "already; revoke that one first" terminal -- helm serve key add --principal agent:thief --certificate spiffe://acme/billing
ok "by a name that can be read in one way" says 2 "no blanks" terminal -- helm serve key add --principal agent:x --certificate 'a b'
ok "another one by its common name" says 0 "The certificate is key" terminal -- helm serve key add --principal agent:plain --certificate plain.example --scope read
ok "nobody rotates a certificate here" says 1 "its authority renews" terminal -- helm serve key rotate "$(helm serve key list | sed -n 's/^\([0-9a-f]*\)  *agent:plain.*/\1/p')"
terminal -- helm serve key add --json --principal ops:reload --scope service | tr -d '\r' | sed -n 's/.*"token": "\([^"]*\)".*/\1/p' >service

cat >operate.py <<'PY'
import ssl
from serve import *
scratch = sys.argv[1]
p = Place(); shutil.rmtree(p.home); os.symlink(scratch + "/home", p.home); p.helm("init")
d = p.dir + "/"
def sh(*words): subprocess.run(words, check=True, capture_output=True, cwd=p.dir)
def authority(name):
    sh("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key", "-out", name + ".pem", "-days", "2", "-subj", "/CN=" + name)
def issue(name, by, subject, alt=None, purpose="clientAuth", days="2"):
    sh("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key", "-out", name + ".csr", "-subj", subject)
    with open(d + name + ".ext", "w") as f: f.write("extendedKeyUsage=%s\n%s" % (purpose, "subjectAltName=%s\n" % alt if alt else ""))
    sh("openssl", "x509", "-req", "-in", name + ".csr", "-CA", by + ".pem", "-CAkey", by + ".key", "-CAcreateserial", "-out", name + ".pem", "-days", days, "-extfile", name + ".ext")
authority("ca"); authority("other")
for n in ("one", "two"): issue(n, "ca", "/CN=localhost", "DNS:localhost,IP:127.0.0.1", "serverAuth")
issue("billing", "ca", "/CN=whatever", "URI:spiffe://acme/billing")
issue("plain", "ca", "/CN=plain.example")
issue("stranger", "ca", "/CN=x", "URI:spiffe://acme/stranger")
issue("forged", "other", "/CN=x", "URI:spiffe://acme/billing")
issue("server-only", "ca", "/CN=x", "URI:spiffe://acme/billing", "serverAuth")
issue("two-names", "ca", "/CN=x", "URI:spiffe://acme/billing,URI:spiffe://acme/admin")
issue("late", "ca", "/CN=x", "URI:spiffe://acme/billing", days="-1")
for end in (".pem", ".key"): shutil.copy(d + "one" + end, d + "now" + end)
shutil.copy(d + "ca.pem", d + "callers.pem")
s = Server(p, "--tls-cert", "now.pem", "--tls-key", "now.key", "--tls-client-ca", "callers.pem")
def on(who=None, **more):
    c = ssl.create_default_context(cafile=d + "ca.pem")
    if who: c.load_cert_chain(d + who + ".pem", d + who + ".key")
    for k, v in more.items(): setattr(c, k, v)
    return http.client.HTTPSConnection("127.0.0.1", s.url.port, context=c, timeout=60)
def shown():
    c = on(); c.connect(); der = c.sock.getpeercert(True); c.close(); return der
der = lambda n: ssl.PEM_cert_to_DER_cert(open(d + n + ".pem").read())
nobody = dict(key=None, tenant=None, principal=None)
st, b, h = s.evaluate("read_ticket", {"n": 1}, on=on("billing"), **nobody)
ok("who brings a certificate is who its URI was said to be", st == 200 and p.receipts()[-1]["executor_id"] == "agent:billing", b)
st, b, h = s.ask("GET", "/api/v1/receipts?limit=1", on=on("plain"), **nobody)
ok("or its common name", st == 200, b)
st, b, h = s.evaluate("read_ticket", {"n": 1}, on=on("plain"), **nobody)
ok("with the scopes of the row", st == 403 and is_error(b, 403), b)
st, b, h = s.ask("GET", "/api/v1/receipts", on=on("billing"), key=None, tenant="other", principal=None)
ok("and its tenant", st == 403, b)
def refused(what, who, says):
    try: st, b, h = s.evaluate("read_ticket", {"n": 1}, on=on(who), **nobody)
    except (ssl.SSLError, OSError) as e: return ok(what, True)
    ok(what, st == 401 and is_error(b, 401) and says in b["detail"], st, b)
refused("one that nobody has said anything about opens nothing", "stranger", "nobody has said")
refused("nor one of another authority", "forged", "does not hold")
refused("nor one that was not made for callers", "server-only", "does not hold")
refused("nor one with two names", "two-names", "names nobody")
refused("nor one that is over", "late", "does not hold")
refused("nor nobody", None, "a key is needed")
st, b, h = s.evaluate("read_ticket", {"n": 1}, on=on())
ok("keys go on working", st == 200, b)
old = ssl.create_default_context(cafile=d + "ca.pem"); old.maximum_version = ssl.TLSVersion.TLSv1_1
try: http.client.HTTPSConnection("127.0.0.1", s.url.port, context=old, timeout=30).connect(); fell = True
except (ssl.SSLError, OSError, ValueError): fell = False
ok("older versions of TLS are not spoken", not fell)

ask = lambda *words: subprocess.run([HELM, "status", "--url", s.ready["base_url"], "--ca", "ca.pem"] + list(words), env=p.env, cwd=p.dir, capture_output=True, text=True, timeout=60)
r = ask("--client-cert", "billing.pem", "--client-key", "billing.key")
ok("a command from elsewhere brings one, too", r.returncode == 0 and "ready" in r.stdout, r.stdout, r.stderr)
ok("with its key, and trusts only whom it is told to", ask("--client-cert", "billing.pem").returncode == 2 and ask("--client-cert", "forged.pem", "--client-key", "forged.key").returncode in (1, 25)
   and subprocess.run([HELM, "status", "--url", s.ready["base_url"], "--ca", "other.pem"], env=p.env, cwd=p.dir, capture_output=True, timeout=60).returncode == 1)

# Another certificate while it runs.
ok("its certificate is the one it was started with", shown() == der("one"))
kept = on("billing"); s.evaluate("read_ticket", {"n": 2}, on=kept, **nobody)
for end in (".pem", ".key"): shutil.copy(d + "two" + end, d + "now" + end)
s.p.send_signal(signal.SIGHUP)
for i in range(200):
    if shown() == der("two"): break
    time.sleep(0.05)
ok("another one counts after a signal", shown() == der("two"))
st, b, h = s.evaluate("read_ticket", {"n": 3}, on=kept, **nobody)
ok("for new connections; one that is open goes on", st == 200, b)
shutil.copy(d + "one.pem", d + "now.pem")
env = dict(p.env, HELM_KEY=open(scratch + "/service").read().strip())
reload = lambda **e: subprocess.run([HELM, "serve", "reload", "--url", s.ready["base_url"], "--ca", "ca.pem"], env=dict(env, **e), cwd=p.dir, capture_output=True, text=True, timeout=60)
r = reload()
ok("a key that is not the certificate's is refused, by a command, too", r.returncode == 1 and "is not that of" in r.stderr, r.stdout, r.stderr)
ok("and leaves the one before", shown() == der("two"))
shutil.copy(d + "one.key", d + "now.key")
p.write(POLICY + "  - {id: more, action: new_tool, verdict: ALLOW}\n")
r = reload()
ok("a person's command reads it again", r.returncode == 0 and shown() == der("one"), r.stdout, r.stderr)
st, b, h = s.evaluate("new_tool", on=on("billing"), **nobody)
ok("with the policy", b["verdict"] == "ALLOW", b)
p.write("format: nonsense\n")
r = reload()
ok("one that cannot be used is said to be so", r.returncode == 1 and "stays in force" in r.stderr, r.stdout, r.stderr)
ok("who has no key of a service may not", reload(HELM_KEY="wrong").returncode == 25 and reload(HELM_KEY=ADMIN).returncode == 25)
p.write(POLICY)

# An authority that is not trusted any more, and a key that is not either: also by a connection that was there before.
shutil.copy(d + "other.pem", d + "callers.pem")
r = reload()
st, b, h = s.evaluate("read_ticket", {"n": 4}, on=kept, **nobody)
ok("certificates of an authority that is not trusted any more open nothing, by an open connection either", st == 401 and "does not hold" in b["detail"], st, b, r.stderr)
shutil.copy(d + "ca.pem", d + "callers.pem"); reload()
ok("and again when it is", s.evaluate("read_ticket", {"n": 5}, on=on("billing"), **nobody)[0] == 200)
import glob
store = [f for f in glob.glob(scratch + "/home/.helm/**/serve-keys.json", recursive=True)][0]
doc = json.load(open(store))
[row.update(revoked_at="2020-01-01T00:00:00Z") for row in doc["keys"].values() if row.get("certificate") == "spiffe://acme/billing"]
with open(store, "w") as f: json.dump(doc, f)
os.unlink(store + ".seal")  # written by hand: without a digest of what helm wrote last
st, b, h = s.evaluate("read_ticket", {"n": 6}, on=on("billing"), **nobody)
ok("nor does one whose key was revoked", st == 401 and "revoked" in b["detail"], b)
ok("it ends well", s.stop() == 0)

# ---- a service manager ----
inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); inbox.bind(d + "notify"); inbox.settimeout(60)
tcp = socket.create_server(("127.0.0.1", 0)); local = socket.socket(socket.AF_UNIX); local.bind(d + "given"); local.listen()
p.env["NOTIFY_SOCKET"] = d + "notify"
def activated(fds, *args):
    """As systemd does it: from descriptor 3 on, for this very process."""
    code = "import os,sys\nfds=%r\nfor i,fd in enumerate(fds): os.dup2(fd, 100+i)\nfor i in range(len(fds)): os.dup2(100+i, 3+i, inheritable=True)\nos.environ['LISTEN_PID']=str(os.getpid()); os.environ['LISTEN_FDS']=str(len(fds))\nos.execv(%r, [%r,'serve','--policy',%r]+%r)" % (fds, HELM, HELM, p.policy, list(args))
    log = open(d + "log", "ab")
    q = subprocess.Popen([sys.executable, "-c", code], cwd=p.dir, env=dict(p.env, HELM_ADMIN_API_KEY=ADMIN), pass_fds=fds, stdout=subprocess.PIPE, stderr=log)
    line = q.stdout.readline()
    return q, json.loads(line) if line else None
q, ready = activated([tcp.fileno(), local.fileno()])
ok("sockets that were opened for it are taken", ready and ready["base_url"] == "http://127.0.0.1:%d" % tcp.getsockname()[1], ready)
ok("the manager hears that it is ready", inbox.recv(100) == b"READY=1")
t = Server.__new__(Server); t.url = urllib.parse.urlparse(ready["base_url"]); t.place = p
ok("it answers there", t.evaluate("read_ticket", {"n": 1})[0] == 200)
c = socket.socket(socket.AF_UNIX); c.connect(d + "given"); c.settimeout(30)
body = b'{"tool":"read_ticket","effect_level":"r"}'
c.sendall(b"POST /api/v1/evaluate HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
got = b""
while (more := c.recv(65536)): got += more
ok("and by the other one, where the caller is its user", b"200 OK" in got and p.receipts()[-1]["executor_id"] == "user:%d" % os.getuid(), got[:300])
q.send_signal(signal.SIGHUP)
ok("it hears of a reload", [inbox.recv(100), inbox.recv(100)] == [b"RELOADING=1", b"READY=1"])
q.send_signal(signal.SIGTERM)
ok("and of the end", inbox.recv(100) == b"STOPPING=1" and q.wait(60) == 0)
ok("the socket is left to whoever comes next", os.path.exists(d + "given"))
wide = socket.create_server(("0.0.0.0", 0))
q, ready = activated([wide.fileno()])
ok("one that others reach needs TLS all the same", ready is None and q.wait(60) == 2)
p.env["WATCHDOG_USEC"] = "600000"
s = Server(p)
heard = []
while len(heard) < 4: heard.append(inbox.recv(100))
ok("a manager that wants signs of life gets them", sorted(heard) == [b"READY=1"] + 3 * [b"WATCHDOG=1"], heard)
s.stop()
while inbox.recv(100) != b"STOPPING=1": pass
p.env["WATCHDOG_PID"] = "1"
s = Server(p); s.stop()
heard = [inbox.recv(100), inbox.recv(100)]
ok("signs that are meant for another process are not given", heard == [b"READY=1", b"STOPPING=1"], heard)
del p.env["WATCHDOG_USEC"], p.env["WATCHDOG_PID"]
del p.env["NOTIFY_SOCKET"]

# ---- by the headers, and all together ----
s = Server(p, env={"HELM_LIMIT_IP": "1/2", "HELM_LIMIT_BODIES": "3000000", "HELM_LIMIT_EVIDENCE": "0"})
def raw(text):
    c = socket.create_connection((s.url.hostname, s.url.port), timeout=30); c.sendall(text); return c
def first_line(c):
    try: return c.recv(4096).split(b"\r\n")[0]
    except OSError as e: return repr(e).encode()
head = b"POST /api/v1/evaluate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n"
ok("who brings no key is told before a body is sent", b"401" in first_line(raw(head + b"\r\n")))
codes = [first_line(raw(head + b"\r\n")) for i in range(400)]
ok("who comes too often, too", any(b"429" in x for x in codes), codes[-1])
st, b, h = s.ask("POST", "/api/v1/evaluate", b"x" * 500000, key=None)
ok("a body that was sent all the same is read away, and the refusal heard", st in (401, 429) and is_error(b, st), st)
s.stop()
log = [json.loads(l) for l in open(d + "log") if l.startswith("{")]
s = Server(p, env={"HELM_LIMIT_IP": "0", "HELM_LIMIT_KERNEL": "0", "HELM_LIMIT_EVIDENCE": "0", "HELM_LIMIT_BODIES": "3000000"})
s.ask("GET", "/api/v1/receipts", key="helm_000000000000_guess", tenant=None, principal=None)
log = [json.loads(l) for l in open(d + "log") if l.startswith("{")]
tried = [l for l in log if "not known here" in l["msg"]]
ok("who tries a key is in the log, and the key is not", tried and tried[-1]["level"] == "warning" and "127.0.0.1" in tried[-1]["msg"] and "guess" not in json.dumps(log), log[-3:])
ok("and is counted", "helm_unauthenticated_total 1\n" in s.ask("GET", "/metrics", raw=True)[1].decode())
auth = b"Authorization: Bearer %s\r\nX-Helm-Tenant-ID: default\r\nX-Helm-Principal-ID: system-admin\r\n" % ADMIN.encode()
slow = [raw(b"POST /api/v1/evaluate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + auth + b"Content-Length: 1000000\r\n\r\n" + b" " * 999000) for i in range(3)]
time.sleep(0.5)
st, b, h = s.ask("POST", "/api/v1/evaluate", b" " * 900000 + b"{}")
ok("bodies of all callers together have a bound", st == 503 and h.get("retry-after") == "1" and h.get("x-helm-limiter-reason") == "LOW_PRIORITY_LOAD_SHED", st, b)
ok("small ones pass beside it", s.evaluate("read_ticket", {"n": 1})[0] == 200)
for c in slow: c.close()
for i in range(100):
    st, b, h = s.ask("POST", "/api/v1/evaluate", b" " * 900000 + b"{}")
    if st == 400: break
    time.sleep(0.05)
ok("what went away is given back", st == 400, st, b)
for i in range(300): s.evaluate("read_ticket", {"n": i}, session="large")
answers = []
def export(): answers.append(s.ask("POST", "/api/v1/evidence/export", {"session_id": "large"}, raw=True))
for turn in range(5):
    ts = [threading.Thread(target=export) for i in range(12)]
    [t.start() for t in ts]; [t.join() for t in ts]
    if {a[0] for a in answers} == {200, 503}: break
busy = [a for a in answers if a[0] == 503]
ok("one pack is made at a time", {a[0] for a in answers} == {200, 503} and all(a[2].get("retry-after") == "1" for a in busy), {a[0] for a in answers})
ok("and then the next", s.ask("POST", "/api/v1/evidence/export", {"session_id": "large"}, raw=True)[0] == 200)
ok("it ends well", s.stop() == 0 and p.helm("log", "check").returncode == 0)
finish()
PY
PYTHONPATH=$HELM_SOURCE/tests/tools python3 operate.py "$scratch" | sed 's/^1\.\..*/# all of it/; s/^ok [0-9]*/# ok/; s/^not ok [0-9]*/# NOT ok/' >operate.out
cat operate.out
ok "it is a good service ($(grep -c '^# ok' operate.out) checks)" sh -c '! grep -q "^# NOT" operate.out && grep -q "^# all of it" operate.out'
finish

#!/bin/sh
# Every route of helm serve, from its table: who may call it, and that whatever is wrong is refused with a body that clients understand.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
export HELM_BUILD HELM_SOURCE

# Keys of callers, made by a person.
fresh_workspace
cd "$scratch" || exit 1
add() { terminal -- helm serve key add --json "$@" | tr -d '\r' | sed -n 's/.*"token": "\([^"]*\)".*/\1/p'; }
add --principal agent:reader --scope read >reader
add --principal agent:asker --scope evaluate >asker
add --principal user:anna --scope approve >approver
add --principal agent:other --tenant other --scope evaluate,read,admin >foreign
add --principal agent:late --scope admin --expires 5s >late
late=$(($(date +%s) + 6))
add --principal agent:gone --scope admin >gone
add --principal agent:turned --scope evaluate,read >turned
add --principal agent:asker --tenant other --scope evaluate >namesake
add --principal user:boss --scope admin >boss
add --principal agent:twice --scope read >twice
id_of() { sed 's/^helm_\([0-9a-f]*\)_.*/\1/' "$1"; }
ok "keys are made" test -s reader -a -s asker -a -s approver -a -s foreign -a -s late -a -s gone -a -s turned
ok "only their digests are kept" sh -c '! grep -rqF "$(cat reader)" home'
ok "each is on record" sh -c "grep -c 'helm.serve/key-add' home/.helm/workspace/.helm/receipts.jsonl | grep -qx 10"
ok "one is revoked" terminal -- helm serve key revoke "$(id_of gone)" --reason lost
terminal -- helm serve key rotate --json "$(id_of turned)" | tr -d '\r' | sed -n 's/.*"token": "\([^"]*\)".*/\1/p' >turned-new
ok "one is rotated" test -s turned-new
ok "one is rotated, and goes on for a while" terminal -- helm serve key rotate "$(id_of twice)" --overlap 1h
ok "its successor is rotated, not itself" says 1 "was rotated already" terminal -- helm serve key rotate "$(id_of twice)" --overlap 1h
ok "the list shows who, what and until when" says 0 "user:anna" helm serve key list
ok "and what became of them" says 0 "revoked" helm serve key list
ok "a revoked one is not rotated" says 1 "opens nothing" terminal -- helm serve key rotate "$(id_of gone)"
ok "a scope that is none is refused" says 2 "scopes are" terminal -- helm serve key add --principal x --scope everything
ok "so is a name that could be mistaken" says 2 "made of letters" terminal -- helm serve key add --principal 'a b'
ok "an agent makes none" says 25 "only a person" helm serve key add --principal agent:me --scope admin
ok "an unknown one is named" says 1 "there is no key" terminal -- helm serve key revoke ffffffffffff

cat >routes.py <<'PY'
import re
from serve import *
scratch = sys.argv[1]
key = lambda name: open(scratch + "/" + name).read().strip()
keys = {n: key(n) for n in ("reader", "asker", "approver", "foreign", "late", "gone", "turned", "turned-new", "namesake", "boss")}
scopes = {"reader": {"read"}, "asker": {"evaluate"}, "approver": {"approve"}, "turned-new": {"evaluate", "read"}}
p = Place(); shutil.rmtree(p.home); os.symlink(scratch + "/home", p.home); p.helm("init")
p.write(POLICY + "".join("  - {id: %s, action: %s, verdict: ALLOW}\n  - {id: ask-%s, action: %s, verdict: ESCALATE, text: A person decides.}\n" % (n, t, n, t) for n, t in (("payout", "payout"), ("mcp", "mcp__bank__send"), ("court", "AUDIT_LOG"))))
A, B = "sha256:" + "a" * 64, "sha256:" + "b" * 64
with open(p.dir + "/authority.json", "w") as f:
    json.dump({"format": "helm.serve.authority.v1", "manifests": {"mailer": {"tool_id": "mailer", "version": "1.0.0", "schema_pins": {"input_schema_hash": A, "output_schema_hash": B}}},
               "ceilings": {"max_budget_usd": 10, "max_blast_radius": "tenant"}, "estimates": {"mailer": {"cost_usd": 1, "blast_radius": "single_record"}}}, f)
s = Server(p, "--authority", p.dir + "/authority.json")
routes = [r for r in json.loads(p.helm("serve", "routes", "--json").stdout) if r["server"] == "serve"]
ok("the table is printed", len(routes) > 20, routes)
st, doc, h = s.ask("GET", "/openapi.json", key=None, tenant=None, principal=None)
ok("and is the OpenAPI document", sorted((m.upper(), path) for path, ms in doc["paths"].items() for m in ms) == sorted((r["method"], r["path"]) for r in routes))
st, same, h2 = s.ask("GET", "/openapi.yaml", headers={"If-None-Match": h["etag"]}, key=None, raw=True)
ok("which is not sent again unchanged", st == 304 and same == b"", st)
ok("every schema that a route names is there", all(n.replace("[]", "") in doc["components"]["schemas"] for r in routes for n in (r["request"], r["response"]) if n))

streams = [r for r in routes if r["stream"]]
bad = []
def expect(what, r, status, **how):
    path = re.sub(r"{[^}]*}", "x1", r["path"])
    body = how.pop("body", {} if r["body"] else None)
    if r.get("auth") == "service_internal" and not set(how) - {"headers"}: how.update(key=SERVICE, tenant=None, principal=None)
    try:
        st, b, h = s.ask(r["method"], path, body, **how)
    except Exception as e:
        bad.append((what, r["method"], r["path"], repr(e))); return
    want = status if isinstance(status, tuple) else (status,)
    if st not in want or (st >= 400 and not is_error(b, st)):
        bad.append((what, r["method"], r["path"], st, b))
    if st == 401 and "www-authenticate" not in h:
        bad.append((what, "no WWW-Authenticate", r["path"]))
    for name in ("x-request-id", "x-helm-correlation-id", "x-content-type-options", "cache-control"):
        if name not in h: bad.append((what, "no " + name, r["path"]))

def held(what):
    ok(what, not bad, *bad[:8])
    bad.clear()

# Who may call and which scope that takes are two columns of one table: a scope of asking opens nothing that is an administrator's.
fits = {"public": ([],), "tenant_scoped": (["read"], ["evaluate"]), "admin": (["admin"], ["approve"]), "service_internal": (["service"],), "machine": ([],), "reader": ([],)}
every = json.loads(p.helm("serve", "routes", "--json").stdout)
wrong = [(r["server"], r["method"], r["path"], r["auth"], r["scopes"]) for r in every if r["scopes"] not in fits.get(r["auth"], ())]
ok("the scope of every route is one of its class", every and not wrong, *wrong)
wrong = [(r["method"], r["path"]) for r in every if r["scopes"] == ["approve"] and not r["path"].startswith("/api/v1/approvals")]
ok("approve opens approvals, and nothing else", not wrong, *wrong)
closed = [r for r in routes if r["auth"] != "public"]
none = dict(key=None, tenant=None, principal=None)
for r in closed: expect("no key", r, 401, **none)
held("no route that is not public answers without a key")
for r in closed: expect("wrong key", r, 401, key="wrong", tenant=None, principal=None)
for r in closed: expect("a key that is none of ours", r, 401, key="helm_000000000000_AAAA", tenant=None, principal=None)
for r in closed: expect("basic", r, 401, headers={"Authorization": "Basic eDp5"}, key=None)
held("nor with one that is not known, or in another form")
time.sleep(max(0, float(sys.argv[2]) - time.time()))
for name in ("late", "gone", "turned"):
    for r in closed: expect(name, r, 401, key=keys[name], tenant=None, principal=None)
held("nor with one that has expired, was revoked or was replaced")
for r in closed:
    if r["auth"] == "tenant_scoped":
        expect("other tenant", r, 403, tenant="other")
        expect("other principal", r, 403, principal="somebody")
        expect("no tenant", r, 403, tenant=None)
        expect("no principal", r, 403, principal=None)
held("the key of the installation speaks for its own tenant and principal only")
for r in closed:
    for name, has in scopes.items():
        if not set(r["scopes"]) <= has:
            expect("scope " + name, r, 403, key=keys[name], tenant=None, principal=None)
held("a key opens nothing beyond its scopes")
single = {"read": "reader", "evaluate": "asker", "approve": "approver", "admin": "boss"}
for r in closed:
    if r["stream"] or r["auth"] == "service_internal": continue
    st, b, h = s.ask(r["method"], re.sub(r"{[^}]*}", "x1", r["path"]), b"{" if r["body"] else None, key=keys[single[r["scopes"][0]]], tenant=None, principal=None)
    if st == 401 or (st == 403 and "needs the scope" in json.dumps(b)): bad.append(("scope of the table", r["method"], r["path"], st, b))
held("and the scope that the table names opens its route")
for r in closed:
    for name in ("asker", "reader"):
        expect("foreign tenant", r, 403, key=keys[name], tenant="other", principal=None)
        expect("foreign principal", r, 403, key=keys[name], tenant=None, principal="user:anna")
held("nor for anybody else than who it belongs to")
for r in closed:
    if r["auth"] == "admin": expect("service key", r, 401, key=SERVICE, tenant=None, principal=None)
    if r["auth"] == "service_internal": expect("admin key", r, 401, tenant=None, principal=None)
held("the key of services is no administrator's, and the other way round")

methods = {}
for r in routes: methods.setdefault(r["path"], set()).add(r["method"])
for path, has in methods.items():
    for m in ("GET", "POST", "PUT", "DELETE", "PATCH"):
        other = [q for q in routes if re.fullmatch(re.sub(r"{[^}]*}", "[^/]+", q["path"]), re.sub(r"{[^}]*}", "x1", path)) and q["method"] == m]
        if not other:
            expect("method", {"method": m, "path": path, "body": None}, 405)
held("a wrong method is 405 everywhere, and says which there are")
st, b, h = s.ask("DELETE", "/api/v1/evaluate")
ok("in Allow", h.get("allow") == "POST", h)
for path in ("/", "/api", "/api/v1", "/api/v1/evaluate/", "/api/v1//evaluate", "/api/v1/receipts/%2e%2e", "/api/v1/receipts/a%2Fb", "/api/v1/receipts/%00", "/api/v1/receipts/%zz", "/../etc/passwd"):
    expect("unknown", {"method": "GET", "path": path, "body": None}, 404)
held("what is no route is 404, as JSON")

takes = [r for r in routes if r["body"] in ("json", "json?")]
for r in takes:
    for body in (b"{", b"nonsense", b'{"a":1,"a":2}', b'{"a":"\xff"}', b"[]", b"42", b'"x"', b'{"a":NaN}', b"{}x", b'{"a":' + b"[" * 200 + b"]" * 200 + b"}"):
        expect("body %r" % body[:20], r, (400, 413), body=body)
held("a body that is no JSON object, or has a member twice, is 400")
for r in takes:
    if r["request"]:
        for name, schema in doc["components"]["schemas"][r["request"]]["properties"].items():
            if schema.get("type") == "string":
                expect("type of " + name, r, 400, body={name: 42})
held("so is a member of another type")
open_ones = [r["path"] for r in takes if r["request"] and doc["components"]["schemas"][r["request"]].get("additionalProperties") is not False]
ok("what a request may hold is said for each route; the court has a schema of its own", sorted(set(open_ones)) == ["/v1/authority/evaluate", "/v1/authority/preflight"], open_ones)
for r in takes:
    if r["request"] and r["path"] not in open_ones: expect("unknown member", r, 400, body={"amuont": 5})
held("a member that nobody knows is refused: a policy could not see it")
for r in takes:
    expect("content type", r, 415, body=b'{"a":1}', headers={"Content-Type": "text/plain"})
    if r["body"] == "json": expect("nothing", r, (400, 415), body=b"")
held("another content type is 415")
for r in takes: expect("coding", r, 415, body=b'{"a":1}', headers={"Content-Encoding": "gzip"})
held("so is a body that says it is compressed, whatever it is")
for r in takes: expect("too large", r, 413, body=b'{"a":"' + b"x" * (1 << 20) + b'"}')
held("too much is 413")

# What belongs to another tenant is not there.
st, mine, h = s.evaluate("read_ticket", {"n": 1}, session="mine", key=keys["asker"], tenant=None, principal=None)
ok("a key with the scope is let in, and is its principal", st == 200 and p.receipts()[-1]["executor_id"] == "agent:asker", mine)
o = dict(key=keys["foreign"], tenant=None, principal=None)
st, b, h = s.ask("GET", "/api/v1/receipts/" + mine["receipt_id"], **o)
ok("another tenant does not see its receipt", st == 404, b)
st, b, h = s.ask("GET", "/api/v1/receipts?limit=1000", **o)
ok("nor in a list", st == 200 and mine["receipt_id"] not in [r["receipt_id"] for r in b["receipts"]], b["count"])
st, b, h = s.ask("GET", "/api/v1/proofgraph/sessions", **o)
ok("nor its session", "mine" not in [x["session_id"] for x in b], b)
st, b, h = s.ask("POST", "/api/v1/evidence/export", {"session_id": "mine"}, **o)
ok("nor its evidence", st == 409, b)

st, theirs, h = s.evaluate("read_ticket", {"n": 2}, session="mine", **o)
import io, tarfile
def packed(**who):
    st, b, h = s.ask("POST", "/api/v1/evidence/export", {"session_id": "mine", "format": "tar"}, raw=True, **who)
    t = tarfile.open(fileobj=io.BytesIO(b)) if st == 200 else None
    return b"".join(t.extractfile(m).read() for m in t if m.isfile()).decode("utf-8", "replace") if t else str((st, b))
x, y = packed(key=keys["reader"], tenant=None, principal=None), packed(**o)
ok("of a session that two tenants use each has what is its own", mine["receipt_id"] in x and theirs["receipt_id"] not in x and theirs["receipt_id"] in y and mine["receipt_id"] not in y and "agent:asker" not in y, x[:300], y[:300])

# A question of one, answered by another.
st, b, h = s.evaluate("refund", {"amount": 500}, session="ask", key=keys["asker"], tenant=None, principal=None)
asked = b.get("approval_id")
ok("one asks", b["verdict"] == "ESCALATE" and asked, b)
st, b, h = s.ask("GET", "/api/v1/approvals", **o)
ok("another tenant does not see it", st == 200 and not [x for x in b if x["approval_id"] == asked], b)
a = dict(key=keys["approver"], tenant=None, principal=None)
st, b, h = s.ask("GET", "/api/v1/approvals/" + asked, **a)
ok("somebody else sees what is asked", st == 200 and b["requested_by"] == "agent:asker" and b["state"] == "pending", b)
st, yes, h = s.ask("POST", "/api/v1/approvals/%s/approve" % asked, {"expected_ceremony_hash": b["ceremony_hash"]}, **a)
shown = b
ok("and says yes", st == 200 and yes["state"] == "approved" and "user:anna" in yes["approvers"][0], yes)
ok("of what is asked, its arguments are shown, and their digest is part of it", '"amount":500' in shown["subject"].replace(" ", "") and shown["args_sha256"].startswith("sha256:"), shown)
st, again, h = s.ask("POST", "/api/v1/approvals/%s/deny" % asked, {"expected_ceremony_hash": b["ceremony_hash"]}, **a)
ok("once", st == 409, again)
st, b, h = s.evaluate("refund", {"amount": 501}, session="ask", key=keys["asker"], tenant=None, principal=None)
ok("that is no yes to something else", b["verdict"] == "ESCALATE", b)
st, b, h = s.evaluate("payout", {"amount": 500}, session="ask", key=keys["asker"], tenant=None, principal=None)
ok("nor to another tool with these arguments", b["verdict"] == "ESCALATE", b)
st, b, h = s.evaluate("refund", {"amount": 500}, session="ask", key=keys["namesake"], tenant=None, principal=None)
ok("nor for somebody of the same name in another tenant", b["verdict"] == "ESCALATE", b)
for what, more in (("level", {"effect_level": "irreversible"}), ("context", {"effect_level": "read", "context": {"env": "production"}})):
    st, b, h = s.ask("POST", "/api/v1/evaluate", dict({"tool": "refund", "args": {"amount": 500}, "session_id": "ask"}, **more), key=keys["asker"], tenant=None, principal=None)
    ok("nor at another %s" % what, b["verdict"] == "ESCALATE", b)
st, b, h = s.evaluate("refund", {"amount": 500}, session="ask", key=keys["asker"], tenant=None, principal=None)
ok("but to this, for one use", b["verdict"] == "ALLOW", b)
st, b, h = s.evaluate("refund", {"amount": 500}, session="ask", key=keys["asker"], tenant=None, principal=None)
ok("and no second one", b["verdict"] == "ESCALATE", b)
st, now, h = s.ask("GET", "/api/v1/approvals/" + b["approval_id"], **a)
st, no, h = s.ask("POST", "/api/v1/approvals/%s/deny" % b["approval_id"], {"expected_ceremony_hash": now["ceremony_hash"], "reason": "too much"}, **a)
ok("a no is an answer, too", st == 200 and no["state"] == "denied", no)

given = [r for r in p.receipts() if r.get("type") in ("grant", "denial")]
ok("answers belong to the tenant that asked", given and all(r["metadata"].get("tenant") == "default" for r in given), given[-1:])
st, b, h = s.ask("GET", "/api/v1/receipts?limit=1000", **o)
ok("what the workspace has of its own, keys and answers of others are not there for another tenant", st == 200 and b["receipts"] and all(r["metadata"].get("tenant") == "other" for r in b["receipts"]), [r["effect_id"] for r in b["receipts"] if r["metadata"].get("tenant") != "other"])
st, b, h = s.ask("GET", "/api/v1/receipts?limit=1000", key=keys["reader"], tenant=None, principal=None)
ok("but for the tenant of the installation, without the others' keys", {"helm.serve/policy", "helm.serve/key-add"} <= {r["effect_id"] for r in b["receipts"]} and all(r["metadata"].get("tenant", "default") == "default" for r in b["receipts"]))
run = p.helm("run", "--", "kill", "-9", "4711")
waits = [x["approval_id"] for x in s.ask("GET", "/api/v1/approvals?state=pending", **a)[1] if x["requested_by"].startswith("user:")]
ok("a question of a run waits for the tenant of the installation", run.returncode == 24 and waits, run.returncode, run.stderr)
ok("and for nobody else", not [x for x in s.ask("GET", "/api/v1/approvals", **o)[1] if x["approval_id"] in waits] and s.ask("GET", "/api/v1/approvals/" + (waits or ["x"])[0], **o)[0] == 404)

st, b, h = s.evaluate("refund", {"amount": 700, "password": "hunter2hunter2"}, session="ask", key=keys["asker"], tenant=None, principal=None)
st, b, h = s.ask("GET", "/api/v1/approvals/" + b["approval_id"], **a)
ok("secrets are not shown", "hunter2" not in json.dumps(b) and "700" in b["subject"], b)
def yes_to(asked, who):
    st, b, h = s.ask("GET", "/api/v1/approvals/" + asked, **a)
    return s.ask("POST", "/api/v1/approvals/%s/approve" % asked, {"expected_ceremony_hash": b["ceremony_hash"]}, **who)
call = lambda digest: s.ask("POST", "/api/v1/mcp/authorize-call", {"server_id": "bank", "tool_name": "send", "args_hash": "sha256:" + digest * 64}, key=keys["boss"], tenant=None, principal=None)
st, b, h = call("a")
st, yes, h = yes_to(b["approval_id"], a)
ok("a yes to arguments that only their digest names", st == 200, yes)
ok("is none to others", call("b")[1]["verdict"] == "ESCALATE")
ok("but to these", call("a")[1]["verdict"] == "ALLOW")
draft = {"tool_id": "mailer", "tool_version": "1.0.0", "args_hash": A, "input_schema_hash": A, "output_schema_hash": B}
idem = []
court = lambda draft: s.ask("POST", "/v1/authority/evaluate", {"request_id": "6f1c0f0e-3b0a-4a57-9d7c-2b9b1a3c4d5e", "intent": {"type": "mail", "goal": "say hello"}, "tool_call_draft": draft, "effects": ["AUDIT_LOG"], "policy_epoch": "0",
    "idempotency_key": (idem.append(os.urandom(8).hex()), idem[-1])[1], "timestamp": "2026-01-01T00:00:00Z"}, key=keys["asker"], tenant=None, principal=None)
st, b, h = court(draft)
st, x, h = s.ask("GET", "/api/v1/approvals/" + b["approval_id"], **a)
ok("a draft is shown to whoever is asked", "mailer" in x["subject"] and A in x["subject"], x)
st, yes, h = yes_to(b["approval_id"], a)
ok("a yes to a draft", st == 200, yes)
ok("is none to another draft", "token" not in court(dict(draft, args_hash=B))[1])
st, b, h = court(draft)
ok("but to this, with a token", "token" in b, b)
boss = dict(key=keys["boss"], tenant=None, principal=None)
used = {"token": b["token"], "tool_call_draft": draft, "idempotency_key": idem[-1]}
st, x, h = s.ask("POST", "/v1/authority/commit", used, **boss)
ok("a token is worth nothing for somebody else", st == 409 and x["error"]["code"] == "TOKEN_HOLDER", st, x)
st, x, h = s.ask("POST", "/v1/authority/commit", used, key=keys["asker"], tenant=None, principal=None)
ok("but for whom it was given to", st == 200, x)
st, b, h = s.ask("POST", "/v1/effects", {"effect": {"effect_type": "refund", "effect_id": "boss-1", "params": {"amount": 900}}, "principal": "agent:somebody", "context": {}}, **boss)
st, x, h = yes_to(b["approval_id"], boss)
ok("who asked for somebody else does not answer either", st == 403 and x["error"]["code"] == "FORBIDDEN", st, x)
st, x, h = yes_to(b["approval_id"], a)
ok("somebody else does", st == 200, x)

st, b, h = s.ask("GET", "/api/v1/boundary/records?limit=1", key=keys["reader"], tenant=None, principal=None)
newest = [r for r in p.receipts() if r["type"] == "decision" and r["metadata"].get("tenant", "default") == "default"][-1]
ok("records are told from the newest on", st == 200 and b[0]["receipt_id"] == newest["receipt_id"], b)

# Whoever listens is asked for the key again.
import glob
tail = s.connection(timeout=30)
tail.request("GET", "/api/v1/receipts/tail", headers={"Authorization": "Bearer " + keys["reader"]})
heard = tail.getresponse()
ok("one listens", heard.status == 200 and heard.readline().startswith(b": receipts follow"))
store = [f for f in glob.glob(scratch + "/home/.helm/**/*", recursive=True) if os.path.isfile(f) and os.path.basename(f) == "serve-keys.json"]
with open(store[0]) as f: doc = json.load(f)
doc["keys"][keys["reader"].split("_")[1]]["revoked_at"] = "2020-01-01T00:00:00Z"
with open(store[0], "w") as f: json.dump(doc, f)
os.unlink(store[0] + ".seal")  # written by hand: without a digest of what helm wrote last
began = time.time()
try: rest = heard.read()
except OSError as e: rest = repr(e).encode()
ok("a key that is revoked hears nothing more", time.time() - began < 20 and b"timed out" not in rest, rest[:200])

# Connections that are slow, cut, or many.
raw = lambda: socket.create_connection((s.url.hostname, s.url.port), timeout=60)
c = raw(); c.sendall(b"POST /api/v1/evaluate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"); c.close()
c = raw(); c.sendall(b"NONSENSE\r\n\r\n"); c.settimeout(20); got = c.recv(100); c.close()
ok("what is no HTTP is refused", got == b"" or got.startswith(b"HTTP/1.1 4") or got.startswith(b"HTTP/1.0 4"), got)
idle = []
import resource
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
for i in range(min(10000, most - 100)):
    try: idle.append(raw())
    except OSError: break
st, b, h = s.evaluate("read_ticket", {"n": 3})
ok("many connections that say nothing keep nobody out", len(idle) > 500 and st == 200, len(idle), b)
for c in idle: c.close()
ok("all is answered after that", s.evaluate("read_ticket", {"n": 4})[0] == 200)
ok("and it ends well", s.stop() == 0 and p.helm("log", "check").returncode == 0)
finish()
PY
PYTHONPATH=$HELM_SOURCE/tests/tools python3 routes.py "$scratch" "$late" | sed 's/^1\.\..*/# the routes/; s/^ok [0-9]*/# ok/; s/^not ok [0-9]*/# NOT ok/' >routes.out
cat routes.out
ok "everything that the table says holds ($(grep -c '^# ok' routes.out) checks)" sh -c '! grep -q "^# NOT" routes.out && grep -q "^# the routes" routes.out'

# A place that takes answers only with a registered key.
HELM_ENV="HELM_HOME=$scratch/registered" helm key create >/dev/null
terminal TRUST -- helm approval trust add "$scratch/registered/keys/root.pub" >/dev/null
ok "a registered key is made the only way" exits 0 helm workspace trust --require-key yes --key "$scratch/registered/keys/root.key"
printf 'format: helm.policy.v1\nname: in-use\nversion: "1"\nrules:\n  - {id: refunds, action: refund, verdict: ALLOW}\n  - {id: shell, action: Bash, verdict: ALLOW}\n' >in-use.yaml
ok "a policy is put in use" exits 0 helm policy use in-use.yaml --key "$scratch/registered/keys/root.key"
cat >only.py <<'PY'
from serve import *
scratch = sys.argv[1]
key = lambda name: open(scratch + "/" + name).read().strip()
p = Place(); shutil.rmtree(p.home); os.symlink(scratch + "/home", p.home)
s = Server(p)
st, b, h = s.evaluate("refund", {"amount": 900}, session="only", key=key("asker"), tenant=None, principal=None)
asked = b["approval_id"]
a = dict(key=key("approver"), tenant=None, principal=None)
st, b, h = s.ask("GET", "/api/v1/approvals/" + asked, **a)
st, b, h = s.ask("POST", "/api/v1/approvals/%s/approve" % asked, {"expected_ceremony_hash": b["ceremony_hash"]}, **a)
ok("a key of a caller answers for nobody", st == 403 and "registered approver" in json.dumps(b), st, b)
st, b, h = s.evaluate("refund", {"amount": 900}, session="only", key=key("asker"), tenant=None, principal=None)
ok("and the question stays one", b["verdict"] == "ESCALATE", b)
st, b, h = s.evaluate("read_ticket", session="only", key=key("asker"), tenant=None, principal=None)
ok("what the server's policy allows and the one in use does not is denied", st == 200 and b["verdict"] == "DENY", b)
st, b, h = s.evaluate("Bash", {"command": "curl https://example.com"}, session="only", key=key("asker"), tenant=None, principal=None)
ok("so is what the profile denies", st == 200 and b["verdict"] == "DENY", b)
s.stop()
PY
PYTHONPATH=$HELM_SOURCE/tests/tools python3 only.py "$scratch" >only.out
ok "then the key of a caller answers for nobody over HTTP" sh -c 'grep -c "^ok [12] " only.out | grep -qx 2 || { cat only.out; exit 1; }'
ok "what profile or the policy in use deny stays denied" sh -c 'grep -c "^ok [34] " only.out | grep -qx 2 || { cat only.out; exit 1; }'
ok "what is not offered is listed as such" says 0 "not offered: WebAuthn" helm serve routes
helm serve routes --json >routes.json
ok "in JSON, too, and nothing else is" python3 -c '
import json
rows = json.load(open("routes.json"))
no = [r for r in rows if r["offered"] is False]
assert len(no) >= 10 and all(r["what"].startswith("not offered: ") for r in no)
assert all(r["offered"] is True for r in rows if r["path"] == "/api/v1/evaluate")
assert not [r for r in rows if r["offered"] and r["what"].startswith("not offered")]'
finish

#!/bin/sh
# front_console.t — the console that a fleet's front end serves itself: readers of one tenant see what is theirs and nothing else; a session is two halves of a token; what a
# person orders there carries a passkey's signature, which the front end and each machine look at.  In a real browser: front_browser.t.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal

fleet_make
fleet_two_tenants
serve_start front || exit 1
for m in anna bert; do joined_asking acme $m; done
joined_asking beta carl
ask_there anna "rm -rf main"
ask_there bert "rm -rf other"
ask_there carl "rm -rf secret-of-beta"
act anna 3
for m in anna bert carl; do machine $m fleet sync >/dev/null 2>&1; done
# Each tenant has a tree of its own.
settled_all() { [ "$(sql "$pgdir" 'SELECT sum(tree_size) FROM fleet.log')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ] && [ "$(sql "$pgdir" 'SELECT sum(n) FROM (SELECT max(tree_size) AS n FROM fleet.checkpoint GROUP BY tenant_id) x')" = "$(sql "$pgdir" 'SELECT sum(tree_size) FROM fleet.log')" ]; }
wait_for 20 settled_all
centre reader add look --tenant acme >acme.reader
centre reader add look --tenant beta >beta.reader
centre reader add brief --tenant acme --expires 1h >brief.reader

cat >drive.py <<'PY'
import base64, hashlib, http.client, json, os, re, subprocess, sys, time, urllib.parse
sys.path.insert(0, os.environ["HELM_SOURCE"] + "/tests/tools")
from passkey import Passkey, b64
port = urllib.parse.urlparse(sys.argv[1]).port
origin, scratch = "http://localhost:%d" % port, sys.argv[2]
count = 0
def ok(what, so, *more):
    global count
    count += 1
    print("%s %s" % ("ok" if so else "NOT", what))
    if not so:
        print("#", *[str(m)[:800] for m in more])
def ask(method, path, body=None, headers=None, host=None, base="/api/v1/console/"):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    h = {"Host": host or "localhost:%d" % port}
    if body is not None:
        h["Content-Type"] = "application/json"
    h.update(headers or {})
    c.request(method, base + path, None if body is None else json.dumps(body), {k: v for k, v in h.items() if v is not None})
    r = c.getresponse()
    text = r.read()
    try:
        doc = json.loads(text)
    except ValueError:
        doc = text
    return r.status, doc, r
browser = {"Sec-Fetch-Site": "same-origin", "X-Helm": "1", "Origin": origin}
def token(name):
    return open(os.path.join(scratch, name + ".reader")).read().strip()
class Page:
    def __init__(self, name):
        st, doc, r = ask("POST", "enter", {"token": token(name)}, browser)
        assert st == 200, (st, doc)
        self.set, self.cookie, self.word = r.getheader("set-cookie"), re.search("__Host-helm=[^;]+", r.getheader("set-cookie")).group(0), doc["page"]
        self.h = dict(browser, Cookie=self.cookie, **{"X-Helm-Page": self.word})
    def get(self, path, **more):
        return ask("GET", path, None, dict(self.h, **more))[:2]
    def post(self, path, body, **more):
        return ask("POST", path, body, dict(self.h, **more))[:2]
code = lambda doc: doc.get("error", {}).get("code") if isinstance(doc, dict) else None

# ---- the pages themselves
st, page, r = ask("GET", "now", base="/console/")
ok("the page is there and holds nothing", st == 200 and b"<main" in page and b"acme" not in page, st)
csp = r.getheader("content-security-policy") or ""
ok("under the policy of the design", all(x in csp for x in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) and r.getheader("x-content-type-options") == "nosniff" and r.getheader("referrer-policy") == "no-referrer" and r.getheader("cross-origin-opener-policy") == "same-origin", r.getheaders())
ok("not under a name that was made to point here", ask("GET", "now", base="/console/", host="evil.example")[0] == 421 and ask("GET", "me", host="evil.example:%d" % port)[0] == 421 and ask("GET", "me", host="localhost:1")[0] == 421)

# ---- who looks
ok("nobody sees anything without a token", all(ask("GET", p, None, browser)[0] == 401 for p in ["me", "now", "waiting", "machines", "machines/1", "acts", "acts/values", "acts/export?format=csv", "acts/leaf-0", "freeze", "log", "events"]) and ask("POST", "evidence", {}, browser)[0] == 401 and ask("POST", "freeze/message", {"act": "freeze", "nodes": [], "reason": ""}, browser)[0] == 401)
st, doc, _ = ask("GET", "me", None, browser)
ok("and the page is told what to ask for", code(doc) == "READER_TOKEN", doc)
ok("a wrong token opens nothing", all(ask("POST", "enter", {"token": t}, browser)[0] == 401 for t in ["", "x", "hfr_acme.00", "hfr_nobody.00", token("acme")[:-1], token("acme").replace("acme", "beta"), "hfr_" + "a" * 400]))
ok("only a page of ours comes in", all(ask("POST", "enter", {"token": token("acme")}, h)[0] == 403 for h in [{}, dict(browser, **{"Sec-Fetch-Site": "cross-site"}), dict(browser, Origin="http://localhost:1"), dict(browser, Origin="https://evil.example"), dict(browser, **{"X-Helm": None})]))
a, b = Page("acme"), Page("beta")
ok("the cookie is for this host, unreadable and strict", all(x in a.set for x in ["__Host-helm=", "Secure", "HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=28800"]), a.set)
secret = token("acme").split(".")[1]
half = base64.urlsafe_b64decode(re.search("=([^.]+)", a.cookie).group(1) + "==")
ok("no half has the token", secret not in a.set and secret not in a.word and token("acme").encode() != half and len(half) == len(token("acme")))
st, me = a.get("me")
ok("a session sees its tenant", st == 200 and me["tenant"] == "acme" and me["kind"] == "fleet" and me["reader"] == "look", me)
for what, h in [("the cookie alone", dict(a.h, **{"X-Helm-Page": None})), ("the word alone", dict(a.h, Cookie=None)), ("two halves of two sessions", dict(a.h, **{"X-Helm-Page": b.word})), ("another page's request", dict(a.h, **{"Sec-Fetch-Site": "same-site"})), ("another origin's", dict(a.h, Origin="http://localhost:1"))]:
    ok(what + " opens nothing", ask("GET", "me", None, h)[0] in (401, 403), ask("GET", "me", None, h)[:2])
parts = a.cookie.split(".")
later = ".".join([parts[0], str(int(parts[1]) + 9999), parts[2]])
ok("a session cannot be made longer", ask("GET", "me", None, dict(a.h, Cookie=later))[0] == 401)
past = hashlib.sha256(("helm:fleet-session:v1\n%s\n%d" % (token("acme"), 1000)).encode()).hexdigest()[:32]
ok("one that is over is over, also with the right mark", ask("GET", "me", None, dict(a.h, Cookie=".".join([parts[0], "1000", past])))[0] == 401)
ok("a token works without a browser, too", ask("GET", "me", None, {"Authorization": "Bearer " + token("acme")})[0] == 200)
ok("what writes wants our page's mark", ask("POST", "freeze/message", {"act": "freeze", "nodes": [], "reason": ""}, dict(a.h, **{"X-Helm": None}))[0] == 403 and ask("POST", "freeze/message", {"act": "freeze", "nodes": [], "reason": ""}, dict(a.h, Origin=None))[0] == 403)

# ---- views
st, now = a.get("now")
ok("now: what was stopped, what waits, how many machines", st == 200 and now["waiting"] == 2 and now["machines"] == 2 and now["stopped_24h"] >= 5 and len(now["stopped"]) >= 5 and now["stopped"][0]["id"].startswith("leaf-"), now)
st, doc = a.get("acts?limit=3")
rows = list(doc["acts"])
while doc["next"] is not None:
    st, doc = a.get("acts?limit=3&before=" + doc["next"])
    rows += doc["acts"]
leaves = [int(r["id"][5:]) for r in rows]
ok("acts: every leaf once, the newest first", leaves == list(range(me["length"] - 1, -1, -1)), leaves, me["length"])
ok("they are of this tenant alone", {r["host"] for r in rows} and not any("beta" in json.dumps(r) for r in rows))
st, found = a.get("acts?q=" + urllib.parse.quote("rm -rf main") + "&verdict=stopped&count=1")
ok("a search finds the one", st == 200 and len(found["acts"]) == 1 and found["count"] == 1, found)
ok("by every filter", all(a.get("acts?" + q)[1]["acts"] for q in ["tool=Bash", "verdict=DENY", "verdict=ESCALATE", "q=RM", "from=2020-01-01T00:00:00Z", "host=" + urllib.parse.quote(rows[0]["host"])]) and not any(a.get("acts?" + q)[1]["acts"] for q in ["tool=x", "who=x", "rule=x", "session=x", "to=2020-01-01T00:00:00Z", "kind=x", "verdict=NONE", "q=secret-of-beta", "node=7"]))
ok("nonsense is refused, and is no SQL", [a.get("acts?" + q)[0] for q in ["before=x", "limit=0", "limit=9999", "from=yesterday", "node=x", "node=1;drop"]] == [400] * 6 and a.get("acts?q=%27%3B--")[0] == 200 and a.get("acts?who=%27%20OR%201=1--")[1]["acts"] == [])
odd = ["acts?q=%FF", "acts?q=%00", "acts?who=%C3%28", "acts?host=%ED%A0%80", "acts/leaf-9223372036854775807", "acts/leaf-9007199254740993", "acts/leaf--1", "acts/%FF", "acts?from=2026-02-30T00:00:00Z", "acts?to=0000-01-01T00:00:00Z", "acts?from=9999-12-31T23:59:59Z", "acts?before=9223372036854775807", "acts?before=-1", "machines/9223372036854775808", "acts?node=9223372036854775807", "acts?q=" + "x" * 5000, "acts/values?before=x", "events?since=99999999999999999999"]
st = {q: a.get(q)[0] for q in odd}
ok("what is odd is refused, or is nothing, and never a fault of ours", all(x < 500 for x in st.values()), st)
st = [ask("GET", "me", None, {"Authorization": "Bearer " + t})[0] for t in ["hfr_\xff.x", "hfr_a\xc3(.x", "hfr_.", "hfr_'; DROP TABLE reader;--.x", "hfr_" + "a" * 3000 + ".x"]]
mark = hashlib.sha256(b"helm:fleet-session:v1\nhfr_\xff.x\n9999999999").hexdigest()[:32]
raw = b"hfr_\xff.x"
st.append(ask("GET", "me", None, dict(browser, Cookie="__Host-helm=%s.9999999999.%s" % (b64(raw), mark), **{"X-Helm-Page": b64(bytes(len(raw)))}))[0])
ok("nor is a token that is no text", st == [401] * 6, st)
csv = ask("GET", "acts/export?format=csv", None, a.h)[1]
ok("the same as a file", csv.decode().count("\r\n") == len(rows) + 1 and a.get("acts/export?format=xml")[0] == 400, csv[:300])
values = a.get("acts/values")[1]
ok("what can be chosen", any(v["value"] == "Bash" for v in values["tool"]) and values["host"], values)
st, machines = a.get("machines")
nodes = {m["node"]: m for m in machines["machines"]}
st, others = b.get("machines")
foreign = others["machines"][0]["node"]
ok("machines of the tenant", len(nodes) == 2 and len(others["machines"]) == 1 and foreign not in nodes, machines)
node = rows[0]["node"]
st, one = a.get("machines/" + node)
ok("one machine: chains, keys, acts", st == 200 and one["chains"][0]["state"] == "growing" and len(one["keys"]) >= 1 and one["acts"], one)
st, log = a.get("log")
ok("the log has checkpoints", st == 200 and log["checkpoints"] and log["checkpoints"][0]["note"].startswith("ledger.test/acme\n"), log)
st, act = a.get("acts/leaf-%d" % leaves[0])
ok("one act has its line, the one before, its keys and its place", st == 200 and "proof" in act["decision"] and act["decision"]["proof"]["leaf_index"] == leaves[0] and act["keys"] and json.loads(act["decision"]["receipt"])["lamport_clock"] == act["act"]["clock"], act)
ok("also by its decision", a.get("acts/" + act["act"]["decision_id"])[1]["act"]["decision_id"] == act["act"]["decision_id"])
mine = b.get("acts?limit=1")[1]["acts"][0]
ok("another tenant's ids are nobody's", a.get("acts/" + mine["decision_id"])[0] == 404 and a.get("acts/leaf-99999")[0] == 404 and a.get("machines/" + foreign)[0] == 404 and a.get("machines/x")[0] == 404 and a.post("freeze/message", {"act": "freeze", "nodes": [foreign], "reason": "x"})[0] == 404 and a.post("evidence", {"node": foreign})[0] == 404)
st, pack, r = ask("POST", "evidence", {}, a.h)
open(os.path.join(scratch, "pack"), "wb").write(pack if isinstance(pack, bytes) else b"")
ok("a pack comes", st == 200 and len(pack) > 1000, st)

# ---- what waits
st, waiting = a.get("waiting")
q = [x for x in waiting["waiting"] if x["request"]["preview"].endswith("main")][0]
ok("questions of the tenant, with the decision that has their digest", st == 200 and len(waiting["waiting"]) == 2 and q["decision"]["phenotype_hash"] == "sha256:" + hashlib.sha256(json.dumps(q["request"], sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest(), q)
theirs = b.get("waiting")[1]["waiting"][0]["request"]["approval_id"]
ok("nobody answers another tenant's", a.post("waiting/%s/message" % theirs, {"answer": "approve"})[0] == 404)

# ---- keys of people
def helm(who, *words):
    home = os.path.join(scratch, who)
    return subprocess.run([os.environ["HELM_REAL"], *words], env={"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8", "HELM_FLEET_DATABASE": sys.argv[3], "HELM_FLEET_SIGNER": sys.argv[4]}, cwd=home, capture_output=True, text=True)
def word(k, at=origin, rp="localhost"):
    doc = {"algorithm": k.kind, "credential_id": b64(k.id), "origin": at, "public_key_hex": (k.x + k.y).hex(), "rp_id": rp}
    return "helm-passkey:" + b64(json.dumps(doc, sort_keys=True, separators=(",", ":")).encode())
boss, dora, stranger = Passkey(), Passkey("es256"), Passkey()
sync = lambda *names: [helm("m/" + n, "fleet", "sync") for n in names]
asked = a.post("freeze/message", {"act": "freeze", "nodes": [], "reason": "stop"})[1]
ok("before there is a list nobody acts", code(a.post("freeze", {"message": asked["message"], "assertion": boss.over(asked["message"], origin)})[1]) == "FLEET_APPROVERS" and me["has_keys"] is False)
r = helm("offline", "fleet", "approvers", "sign", "boss=" + word(boss), "dora=" + word(dora), "--root-key", scratch + "/offline/.helm/keys/root.key", "--origin", "ledger.test/acme", "--serial", "5")
open(os.path.join(scratch, "list.json"), "w").write(r.stdout)
ok("the root key signs a list with passkeys", r.returncode == 0 and '"passkey"' in r.stdout, r.stderr)
ok("and none with a word that is none", all(helm("offline", "fleet", "approvers", "sign", "x=" + w, "--root-key", scratch + "/offline/.helm/keys/root.key", "--origin", "ledger.test/acme").returncode for w in ["helm-passkey:", "helm-passkey:AAAA", word(boss, "https://evil.example"), word(boss, origin, "local")]))
r = helm("centre", "fleet", "approvers", "give", scratch + "/list.json", "--tenant", "acme")
old = helm("offline", "fleet", "approvers", "sign", "stranger=" + word(stranger), "--root-key", scratch + "/offline/.helm/keys/root.key", "--origin", "ledger.test/acme", "--serial", "4").stdout
open(os.path.join(scratch, "old.json"), "w").write(old)
helm("centre", "fleet", "approvers", "give", scratch + "/old.json", "--tenant", "acme")
sync("anna", "bert")
ok("the machines take it", r.returncode == 0 and a.get("me")[1]["has_keys"] is True, r.stderr)

# ---- freezing
def order(key, nodes, verb="freeze", reason="look at <b>it", change=None, page=a, **more):
    st, asked = page.post("freeze/message", {"act": verb, "nodes": nodes, "reason": reason})
    message = change(asked["message"]) if change else asked["message"]
    return page.post("freeze", {"message": message, "assertion": key.over(message, more.pop("origin", origin), **more)})
before = a.get("freeze")[1]
ok("a stranger's key freezes nothing", code(order(stranger, [])[1]) == "APPROVER_UNKNOWN")
ok("nor one that signed at another address", code(order(boss, [], origin="http://localhost:1")[1]) == "WEBAUTHN_ORIGIN")
ok("nor without its person", code(order(boss, [], flags=0x01)[1]) == "WEBAUTHN_PRESENCE", order(boss, [], flags=0x01))
ok("nor by a signature that is no assertion", order(boss, [], kind="webauthn.create")[0] == 403)
st, asked = a.post("freeze/message", {"act": "freeze", "nodes": [node], "reason": "r"})
other = json.loads(asked["message"].split("\n", 1)[1])
other["nodes"] = []
wider = "helm:act:v1\n" + json.dumps(other, sort_keys=True, separators=(",", ":"))
ok("what was signed for one machine freezes not all", a.post("freeze", {"message": wider, "assertion": boss.over(asked["message"], origin)})[0] == 403)
ok("nothing was ordered by any of it", len(a.get("freeze")[1]["orders"]) == len(before["orders"]) == 0)
ok("what is signed for one fleet is nothing in another", b.post("freeze", {"message": a.post("freeze/message", {"act": "freeze", "nodes": [], "reason": "r"})[1]["message"], "assertion": boss.over("x", origin)})[0] == 403)
st, asked = a.post("freeze/message", {"act": "freeze", "nodes": [node], "reason": "look at <b>it"})
signed = {"message": asked["message"], "assertion": boss.over(asked["message"], origin)}
st, done = a.post("freeze", signed)
ok("a person of the list freezes one machine", st == 200 and done["order"] > 0, done)
ok("the same signature is good once", code(a.post("freeze", signed)[1]) == "CHALLENGE_USED")
sync("anna", "bert"); sync("anna", "bert"); time.sleep(1.5)
chains = {n: open(os.path.join(scratch, "m", n, ".helm/workspace/.helm/receipts.jsonl")).read().splitlines() for n in ("anna", "bert")}
froze = {n: [json.loads(l) for l in ls if '"helm.freeze/set"' in l] for n, ls in chains.items()}
who = [n for n in froze if froze[n]]
ok("that machine alone is frozen, and its receipt has the person and what they signed", len(who) == 1 and froze[who[0]][0]["metadata"]["order"]["approver"]["label"] == "boss" and froze[who[0]][0]["metadata"]["order"]["approver"]["message"] == asked["message"], froze)
doc = a.get("freeze")[1]
ok("the page counts who has confirmed it", doc["orders"][0]["obeyed"] == 1 and doc["orders"][0]["meant"] == 1 and doc["orders"][0]["order"]["body"]["reason"] == "look at <b>it", doc["orders"][:1])
st, done = order(dora, [node], "unfreeze", "seen")
sync("anna", "bert"); sync("anna", "bert")
ok("ES256 lifts it", st == 200 and any('"helm.freeze/lift"' in l and '"label":"dora"' in l for l in open(os.path.join(scratch, "m", who[0], ".helm/workspace/.helm/receipts.jsonl"))), done)

# ---- nonces are kept by where somebody is: nobody uses up those of others
st, asked = a.post("freeze/message", {"act": "freeze", "nodes": [node], "reason": "rings"})
def from_elsewhere():
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=("127.0.0.2", 0))
    seen = []
    for i in range(300):
        c.request("POST", "/api/v1/console/freeze/message", json.dumps({"act": "freeze", "nodes": [], "reason": "x"}), dict(a.h, Host="localhost:%d" % port, **{"Content-Type": "application/json"}))
        r = c.getresponse()
        r.read()
        seen.append(r.status)
    return seen
seen = from_elsewhere()
st, done = a.post("freeze", {"message": asked["message"], "assertion": boss.over(asked["message"], origin)})
ok("however many are asked for elsewhere, what was asked for here is good", seen.count(200) > 256 and st == 200, st, done, seen[-3:])
order(boss, [node], "unfreeze", "rings")
sync("anna", "bert"); sync("anna", "bert"); time.sleep(1.5)

# ---- a front end that was taken over: its orders are signed by the control key, and by no person
def order_by_hand(kind, body, nodes):
    q = {"fleet_do": {"do": "order", "database": sys.argv[3], "signer": sys.argv[4], "tenant": "acme", "kind": kind, "nodes": nodes, "body": body, "by": "thief"}}
    return subprocess.run([os.environ["HELM_BUILD"] + "/helm-serve", json.dumps(q)], capture_output=True, text=True)
stolen = {"message": signed["message"], "assertion": signed["assertion"]}
order(boss, [node], "freeze", "again")
r = order_by_hand("unfreeze", {"reason": "look at <b>it", "signed": stolen}, [node])
sync("anna", "bert"); sync("anna", "bert"); time.sleep(1.5)
lines = open(os.path.join(scratch, "m", who[0], ".helm/workspace/.helm/receipts.jsonl")).read().splitlines()
ok("a freeze that somebody signed is no leave to go on: the machine refuses it, on record", any('"refused":{"code":"FLEET_TOUCH"' in l for l in lines), r.stdout + r.stderr)
r = order_by_hand("freeze", {"reason": "other", "signed": stolen}, [node])
sync("anna", "bert")
lines = open(os.path.join(scratch, "m", who[0], ".helm/workspace/.helm/receipts.jsonl")).read().splitlines()
ok("a stop is a stop, and says that nobody signed it", any('"helm.freeze/set"' in l and '"not_signed":{"code":"FLEET_TOUCH"' in l for l in lines) , lines[-1])
order(boss, [node], "unfreeze", "enough")
sync("anna", "bert"); sync("anna", "bert"); time.sleep(1.2)

# ---- answering
qid = q["request"]["approval_id"]
st, asked = a.post("waiting/%s/message" % qid, {"answer": "approve", "node": q["node"]})
ok("the bytes of a yes", st == 200 and asked["message"].startswith("helm:approval:v2\n") and len(asked["credentials"]) == 2, asked)
answer = lambda message, key=boss, path=qid, **more: a.post("waiting/%s/answer" % path, {"node": q["node"], "message": message, "assertion": key.over(message, origin, **more)})
ok("a stranger answers nothing", code(answer(asked["message"], stranger)[1]) == "APPROVER_UNKNOWN")
second = [x for x in waiting["waiting"] if x is not q][0]
ok("a yes to one question is none to another", code(a.post("waiting/%s/answer" % second["request"]["approval_id"], {"message": asked["message"], "assertion": boss.over(asked["message"], origin)})[1]) == "ACT_OTHER")
st, done = answer(asked["message"])
ok("a person of the list answers", st == 200 and done["order"] > 0, done)
ok("and the page says that it was answered", code(answer(asked["message"])[1]) == "FLEET_QUESTION" and [x for x in a.get("waiting")[1]["waiting"] if x["request"]["approval_id"] == qid][0]["order"] == done["order"])
asker = "anna"
sync("anna", "bert"); sync("anna", "bert")
lines = open(os.path.join(scratch, "m/anna/.helm/workspace/.helm/receipts.jsonl")).read().splitlines()
ok("the machine takes it: the grant names the person and the order", any('"effect_id":"helm.approval/grant"' in l and '"label":"boss"' in l and '"kind":"grant"' in l for l in lines), lines[-1])
sid = second["request"]["approval_id"]
st, asked = a.post("waiting/%s/message" % sid, {"answer": "deny", "reason": "not on friday", "node": second["node"]})
st, done = a.post("waiting/%s/answer" % sid, {"node": second["node"], "message": asked["message"], "assertion": dora.over(asked["message"], origin)})
sync("anna", "bert"); sync("anna", "bert")
lines = open(os.path.join(scratch, "m/bert/.helm/workspace/.helm/receipts.jsonl")).read().splitlines()
ok("and a no, with its reason and who said it", st == 200 and any('"type":"denial"' in l and "not on friday" in l and '"label":"dora"' in l for l in lines), done, lines[-1])
for i in range(20):
    doc = a.get("waiting")[1]
    if not doc["waiting"]:
        break
    time.sleep(0.3)
ok("then nothing waits, and both stand below", not doc["waiting"] and sorted(x["state"] for x in doc["answered"]) == ["approved", "denied"], doc)

# ---- live
def listen(page, last=None, seconds=4, until=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    c.request("GET", "/api/v1/console/events", None, dict(page.h, Host="localhost:%d" % port, **({"Last-Event-ID": str(last)} if last is not None else {})))
    r, text, end = c.getresponse(), b"", time.time() + seconds
    try:
        while time.time() < end and not (until and until(text)):
            got = r.read1(65536)
            if not got:
                break
            text += got
    except OSError:
        pass
    c.close()
    return r.status, text.decode()
size = a.get("me")[1]["length"]
st, text = listen(a, size - 3, until=lambda t: t.count(b"\nevent: ") >= 4)
ids = [int(x) for x in re.findall(r"^id: (\d+)$", text, re.M)]
ok("a stream goes on behind the last event, nothing lost, nothing twice", st == 200 and len(ids) >= 4 and ids == list(range(size - 3, size - 3 + len(ids))), ids, size)
ok("whoever was away for long is told to look anew", '"lost":true' in listen(a, 10 ** 9, 1)[1])
ok("a stream says nothing of another tenant", "beta" not in text and "carl" not in text)
short = Page("brief")
ok("a short reader looks", short.get("me")[0] == 200)
helm("centre", "fleet", "reader", "revoke", "brief", "--tenant", "acme")
began = time.time()
st, text = listen(short, None, 8)
ok("one that was revoked sees nothing more, with the next request", short.get("now")[0] == 401 and st == 401)
st, doc, r = ask("POST", "leave", {}, a.h)
ok("leaving takes the cookie away", st == 200 and "Max-Age=0" in r.getheader("set-cookie"))
PY
HELM_REAL=$HELM_REAL HELM_BUILD=$HELM_BUILD HELM_SOURCE=$HELM_SOURCE python3 drive.py "$url" "$scratch" "$db" "$signer" >drive.out 2>&1 || { echo "NOT ok: the driver ended"; sed 's/^/# /' drive.out | tail -5; } >>drive.out
lines_of drive.out
ok "the pack of the page verifies alone" says 0 "ADMISSIBLE" env -i PATH="$PATH" HOME="$scratch/nobody" "$HELM_REAL" verify "$scratch/pack" --log-key "$(sql "$pgdir" "SELECT log_vkey FROM fleet.tenant WHERE name = 'acme'")"
ok "who took it is on record" says 0 "reader:look" centre orders --taken --tenant acme
ok "and who ordered what" grep -q "order [0-9]*, freeze, by boss, webauthn:" front.log
ok "no token is in it" sh -c '! grep -q "$(cut -d. -f2 <acme.reader)" front.log front.out'
fleet_end
finish

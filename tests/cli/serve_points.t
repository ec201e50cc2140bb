#!/bin/sh
# helm serve and other decision points: it asks them and believes nothing but their exact answer; and it is one for gateways.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
import hashlib, http.server, socketserver
from serve import *

class Point(http.server.BaseHTTPRequestHandler):
    say = (200, b"{}"); wait = 0; heard = []
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        Point.heard.append((self.path, json.loads(body), dict(self.headers)))
        time.sleep(Point.wait)
        try:
            self.send_response(Point.say[0]); self.send_header("Content-Length", str(len(Point.say[1]))); self.end_headers(); self.wfile.write(Point.say[1])
        except OSError: pass
    def log_message(self, *a): pass
class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
point = Threads(("127.0.0.1", 0), Point)
threading.Thread(target=point.serve_forever, daemon=True).start()
url = "http://127.0.0.1:%d" % point.server_address[1]

def place(*points):
    p = Place()
    with open(p.dir + "/authority.json", "w") as f: json.dump({"format": "helm.serve.authority.v1", "decision_points": list(points)}, f)
    return p, Server(p, "--authority", p.dir + "/authority.json", env={"POINT_KEY": "secret-of-point"})
def light(allow, code="", ref="v1"):
    d = {"allow": allow, "policy_ref": ref, "reason_code": code}
    d["decision_hash"] = "sha256:" + hashlib.sha256(json.dumps(d, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    return d
def says(body, status=200, wait=0):
    Point.say = (status, body if isinstance(body, bytes) else json.dumps(body).encode()); Point.wait = wait; Point.heard.clear()

# ---- asking ----
p, s = place({"name": "opa", "kind": "opa", "url": url + "/v1/data/helm", "timeout_ms": 2000, "actions": ["read_*"], "params": True, "token_env": "POINT_KEY"})
says({"result": {"allow": True}})
st, b, h = s.evaluate("read_ticket", {"id": 7})
path, heard, headers = Point.heard[0]
ok("a point that says yes lets the policy decide", b["verdict"] == "ALLOW", b)
ok("it was asked in its own words", path == "/v1/data/helm" and heard["input"]["action"] == "read_ticket" and heard["input"]["principal"] == "system-admin" and heard["input"]["context"]["params"] == {"id": 7}, heard)
ok("with its own key", headers.get("Authorization") == "Bearer secret-of-point", headers)
row = p.receipts()[-1]["metadata"]["decision_points"]
ok("the digest of what it said is on record", row == [{"name": "opa", "answer": "allow", "answer_sha256": "sha256:" + hashlib.sha256(Point.say[1]).hexdigest()}], row)
ok("its key is not", "secret-of-point" not in json.dumps(p.receipts()) + open(p.dir + "/log").read())
says({"result": True})
st, b, h = s.evaluate("read_ticket", {"id": 1})
ok("OPA: a rule that is a truth itself", b["verdict"] == "ALLOW", b)
says({"result": False})
st, b, h = s.evaluate("read_ticket", {"id": 1})
ok("and one that is not", b["verdict"] == "DENY", b)
says({"result": {"allow": False, "reason_code": "TENANT_ISOLATION"}})
st, b, h = s.evaluate("read_ticket")
ok("one that says no is obeyed, with its code where it is one of ours", b["verdict"] == "DENY" and b["reason_code"] == "TENANT_ISOLATION", b)
says({"result": {"allow": False, "reason_code": "THEIR_OWN"}})
ok("and PDP_DENY where it is not", s.evaluate("read_ticket")[1]["reason_code"] == "PDP_DENY")
says({})
ok("a rule that is not defined is no", s.evaluate("read_ticket")[1]["reason_code"] == "PDP_DENY")
for what, body, status in (("a text instead of a truth", {"result": {"allow": "true"}}, 200), ("a number", {"result": {"allow": 1}}, 200), ("no object", b"[true]", 200), ("no JSON", b"<html>", 200), ("a member twice", b'{"result":{"allow":false,"allow":true}}', 200),
                           ("nothing", b"", 200), ("another status", {"result": {"allow": True}}, 500), ("somewhere else", {"result": {"allow": True}}, 302), ("too much", b'{"result":{"allow":true},"x":"' + b"x" * (1 << 20) + b'"}', 200)):
    says(body, status)
    st, b, h = s.evaluate("read_ticket")
    ok("no answer: " + what, b["verdict"] == "DENY" and b["reason_code"] == "PDP_ERROR", b)
says({"result": {"allow": True}}, wait=4)
st, b, h = s.evaluate("read_ticket")
ok("one that is late has not answered", b["verdict"] == "DENY" and b["reason_code"] == "PDP_ERROR" and p.receipts()[-1]["metadata"]["decision_points"][0]["answer"] == "timeout", b)
says({"result": {"allow": False}})
ok("what it is not about it is not asked", s.evaluate("refund", {"amount": 1})[1]["verdict"] == "ALLOW" and not Point.heard)
says({"result": {"allow": True}})
ok("it adds no permission", s.evaluate("read_nothing_known")[1]["reason_code"] == "NO_POLICY_DEFINED")
s.stop(); p.done()

p, s = place({"name": "a", "kind": "authzen", "url": url + "/access/v1/evaluation"})
says({"decision": True}); st, b, h = s.evaluate("read_ticket", {"n": 1})
ok("AuthZEN: yes", b["verdict"] == "ALLOW" and Point.heard[0][1]["subject"] == {"type": "principal", "id": "system-admin"} and "params" not in Point.heard[0][1]["context"], Point.heard)
says({"decision": "true"}); ok("AuthZEN: a text is no answer", s.evaluate("read_ticket")[1]["reason_code"] == "PDP_ERROR")
s.stop(); p.done()
p, s = place({"name": "c", "kind": "cedar", "url": url + "/v1/is_authorized"})
says({"decision": "Allow", "diagnostics": {}}); st, b, h = s.evaluate("read_ticket")
ok("Cedar: yes", b["verdict"] == "ALLOW" and Point.heard[0][1]["action"] == 'Action::"read_ticket"', Point.heard)
says({"decision": "Deny"}); ok("Cedar: no", s.evaluate("read_ticket")[1]["reason_code"] == "PDP_DENY")
s.stop(); p.done()
p, s = place({"name": "l", "kind": "pdp", "url": url, "policy_version": "v1"})
says(light(True)); ok("the light answer: yes", s.evaluate("read_ticket")[1]["verdict"] == "ALLOW")
says(dict(light(False), allow=True)); ok("whose hash must fit", s.evaluate("read_ticket")[1]["reason_code"] == "PDP_ERROR")
says(light(True, ref="v2")); ok("and whose policy must be the one that was meant", s.evaluate("read_ticket")[1]["reason_code"] == "PDP_ERROR")
says(dict(light(True), more=1)); ok("and which has no member more", s.evaluate("read_ticket")[1]["reason_code"] == "PDP_ERROR")
s.stop(); p.done()
p, s = place({"name": "first", "kind": "pdp", "url": url, "policy_version": "v1"}, {"name": "second", "kind": "opa", "url": url + "/v1/data/x"})
both = dict(light(True), result={"allow": True}, more=1)
says(both); st, b, h = s.evaluate("read_ticket")
ok("of two the first is held to its contract as if it were alone", b["verdict"] == "DENY" and b["reason_code"] == "PDP_ERROR" and len(Point.heard) == 1, b)
says(dict(light(True, ref="v2"))); ok("and to its policy", s.evaluate("read_ticket")[1]["reason_code"] == "PDP_ERROR" and len(Point.heard) == 1)
says(dict(light(False), allow=True)); ok("and to its hash", s.evaluate("read_ticket")[1]["reason_code"] == "PDP_ERROR" and len(Point.heard) == 1)
says(light(True)); st, b, h = s.evaluate("read_ticket")
ok("the second is asked when the first allows", b["verdict"] == "DENY" and [r["answer"] for r in p.receipts()[-1]["metadata"]["decision_points"]] == ["allow", "no"], b)
s.stop(); p.done()

# Another helm, by its socket.
far = Place(); f = Server(far, "--listen", "unix:" + far.dir + "/sock")
p, s = place({"name": "far", "kind": "helm", "url": "http://localhost/v1/pdp/evaluate", "socket": far.dir + "/sock", "timeout_ms": 5000})
st, b, h = s.evaluate("read_ticket")
ok("the socket is for the user of the server only", os.stat(far.dir + "/sock").st_mode & 0o777 == 0o600, oct(os.stat(far.dir + "/sock").st_mode))
ok("another helm is asked by its socket", b["verdict"] == "ALLOW" and far.receipts()[-1]["metadata"]["source"] == "api.pdp", b)
far.helm("freeze", "--reason", "drill")
ok("its freeze counts here", s.evaluate("read_ticket")[1]["verdict"] == "DENY")
f.stop()
ok("when it is gone nothing is allowed", s.evaluate("read_ticket")[1]["reason_code"] == "PDP_ERROR")
s.stop(); p.done(); far.done()

# ---- being one ----
p = Place()
p.write(POLICY + """  - {id: site, action: HTTP_REQUEST, verdict: ALLOW}
  - {id: closed, action: HTTP_REQUEST, verdict: DENY, all: [{field: params.path, op: starts_with, value: /admin}], text: Not for agents.}
  - {id: far, action: HTTP_REQUEST, verdict: DENY, all: [{field: params.host, op: equals, value: closed.example}], text: Not there.}
  - {id: send, action: HTTP_REQUEST, verdict: ESCALATE, all: [{field: params.method, op: equals, value: DELETE}], text: A person decides.}
  - {id: pay, action: pay, verdict: ALLOW}
  - {id: guests, action: pay, verdict: DENY, all: [{field: context.subject.properties.guest, op: equals, value: true}], text: Not for guests.}
  - {id: urgent, action: pay, verdict: DENY, all: [{field: context.action.properties.urgent, op: equals, value: true}], text: Never in a hurry.}
  - {id: roles, action: pay, verdict: DENY, all: [{field: context.roles, op: contains, value: intern}], text: Not for interns.}
  - {id: grants, action: pay, verdict: DENY, all: [{field: context.code_hash, op: equals, value: bad}], text: Not this code.}
""")
s = Server(p)
pay = lambda subject={}, action={}, **more: s.ask("POST", "/access/v1/evaluation", dict({"subject": dict({"type": "user", "id": "user:anna"}, **subject), "action": dict({"name": "pay"}, **action), "resource": {"type": "account", "id": "1"}}, **more))
ok("AuthZEN: a policy sees the properties of the subject", pay()[1]["decision"] is True and pay({"properties": {"guest": True}})[1]["context"]["rule"] == "policy:guests", pay({"properties": {"guest": True}})[1])
ok("AuthZEN: and of the action", pay(action={"properties": {"urgent": True}})[1]["context"]["rule"] == "policy:urgent")
ok("AuthZEN: which no context replaces", pay({"properties": {"guest": True}}, context={"subject": {"id": "user:anna"}})[0] == 400)
ok("AuthZEN: a member that nobody knows is refused, in a list, too", pay(amount=5)[0] == 400 and s.ask("POST", "/access/v1/evaluations", {"subject": {"id": "a"}, "action": {"name": "pay"}, "resource": {"id": "1"}, "evaluations": [{"amount": 5}]})[0] == 400)
asks = lambda **more: s.ask("POST", "/v1/pdp/evaluate", dict({"effect": {"effect_type": "pay", "effect_id": "e", "params": {}}}, **more))
ok("a decision point is told of roles, and uses them", asks(subject={"roles": ["clerk"]})[1]["allow"] is True and asks(subject={"roles": ["intern"]})[1]["allow"] is False, asks(subject={"roles": ["intern"]})[1])
ok("and knows no others", asks(subject={"role": "intern"})[0] == 400 and asks(effect={"effect_type": "pay", "amount": 5})[0] == 400)
effect = lambda n, **more: s.ask("POST", "/v1/effects", dict({"effect": {"effect_type": "pay", "effect_id": n, "params": {}}, "principal": "system-admin", "context": {}}, **more))
ok("what stands beside an effect is seen, too", effect("h1", code_hash="good")[1]["verdict"] == "ALLOW" and effect("h2", code_hash="bad")[1]["verdict"] == "DENY" and effect("h3", amount=5)[0] == 400, effect("h4", code_hash="bad")[1])
st, b, h = s.ask("GET", "/v1/extauthz/shop/item%201?token=s3cret")
ok("Envoy: a request may pass", st == 200 and h["x-helm-verdict"] == "ALLOW" and h["x-helm-decision-id"] == b["decision_id"], (st, b))
ok("on record without what its query says", p.receipts()[-1]["receipt_id"] == b["receipt_id"] and "s3cret" not in json.dumps(p.receipts()))
st, b, h = s.ask("POST", "/v1/extauthz/admin/users", {"x": 1})
ok("Envoy: another may not", st == 403 and b["verdict"] == "DENY" and h["x-helm-verdict"] == "DENY", (st, b))
answers = {x: s.ask("GET", "/v1/extauthz" + x)[:2] for x in ("/%61dmin/users", "//admin", "/x//admin", "/x/../admin", "/x/%2e%2e/admin", "/x/./admin", "/x%2Fadmin", "/x/..;/admin", "/x%5cadmin", "/x/%0aadmin")}
ok("Envoy: however the path is spelled", all(st == 403 and b["verdict"] == "DENY" for st, b in answers.values()), {x: a for x, a in answers.items() if a[0] != 403})
st, b, h = s.ask("GET", "/v1/extauthz/shop/a.b/..c/v1..2")
ok("Envoy: dots in a name are only dots", st == 200, (st, b))
st, b, h = s.ask("GET", "/v1/extauthz/shop", headers={"Host": "closed.example", "X-Forwarded-Host": "open.example"})
ok("Envoy: the host is the one that is asked", st == 403, (st, b))
st, b, h = s.ask("DELETE", "/v1/extauthz/shop/1")
ok("Envoy: a question is no", st == 403 and b["verdict"] == "ESCALATE" and b["approval_id"], (st, b))
st, b, h = s.ask("GET", "/v1/extauthz/")
ok("Envoy: the root, too", st == 200, (st, b))
st, b, h = s.ask("GET", "/v1/extauthz/shop", headers={"Authorization": "Bearer of-a-client", "X-Helm-Key": ADMIN})
ok("the gateway's own key stands beside what its client sent", st == 200, (st, b))
st, b, h = s.ask("GET", "/v1/extauthz/shop", headers={"X-Helm-Key": "wrong"})
ok("and a wrong one opens nothing", st == 401, (st, b))
def access(tool, **more):
    q = {"subject": {"type": "user", "id": "user:anna"}, "action": {"name": tool}, "resource": {"type": "ticket", "id": "7", "properties": {"amount": 500}}}; q.update(more); return q
st, b, h = s.ask("POST", "/access/v1/evaluation", access("read_ticket"))
ok("AuthZEN: yes", st == 200 and b["decision"] is True and b["context"]["receipt_id"] == p.receipts()[-1]["receipt_id"] and p.receipts()[-1]["executor_id"] == "user:anna", b)
st, b, h = s.ask("POST", "/access/v1/evaluation", access("refund"))
ok("AuthZEN: a question is no, and says which", b["decision"] is False and b["context"]["verdict"] == "ESCALATE" and b["context"]["approval_id"], b)
st, b, h = s.ask("POST", "/access/v1/evaluation", {"subject": {"type": "user", "id": "x"}, "action": {"name": "read_ticket"}})
ok("AuthZEN: what is missing is named", st == 400 and "resource" in b["detail"], b)
st, b, h = s.ask("POST", "/access/v1/evaluation", access("read_ticket", subject={"id": "x"}))
ok("AuthZEN: also a type", st == 400 and "subject.type" in b["detail"], b)
st, b, h = s.ask("POST", "/access/v1/evaluations", access("read_ticket", evaluations=[]), headers={"X-Request-ID": "pep-7"})
ok("AuthZEN: an empty list is one question", st == 200 and b["decision"] is True, b)
ok("AuthZEN: the answer has the id that the request had", h["x-request-id"] == "pep-7", h)
st, b, h = s.ask("POST", "/access/v1/evaluation", access("read_ticket"), headers={"X-Request-ID": "a b<c>"})
ok("but not when it is none", st == 200 and h["x-request-id"] != "a b<c>", h)
many = {"subject": {"type": "user", "id": "user:anna"}, "resource": {"type": "ticket", "id": "7"}, "evaluations": [{"action": {"name": "read_ticket"}}, {"action": {"name": "none"}}, {"action": {"name": "read_ticket"}}]}
st, b, h = s.ask("POST", "/access/v1/evaluations", many)
ok("AuthZEN: several, in order", [x["decision"] for x in b["evaluations"]] == [True, False, True], b)
st, b, h = s.ask("POST", "/access/v1/evaluations", dict(many, options={"evaluations_semantic": "deny_on_first_deny"}))
ok("AuthZEN: until the first no", [x["decision"] for x in b["evaluations"]] == [True, False], b)
st, b, h = s.ask("POST", "/access/v1/evaluations", dict(many, options={"evaluations_semantic": "permit_on_first_permit"}))
ok("AuthZEN: until the first yes", [x["decision"] for x in b["evaluations"]] == [True], b)
before = len(p.receipts())
st, b, h = s.ask("POST", "/access/v1/evaluations", dict(many, evaluations=many["evaluations"] + [{"action": {}}]))
ok("AuthZEN: a mistake in the last leaves nothing on record", st == 400 and len(p.receipts()) == before, b)
st, b, h = s.ask("POST", "/access/v1/evaluations", dict(many, options={"evaluations_semantic": "guess"}))
ok("AuthZEN: another way is refused", st == 400, b)
st, b, h = s.ask("GET", "/.well-known/authzen-configuration", key=None, tenant=None, principal=None)
ok("AuthZEN: where to ask", st == 200 and b["access_evaluation_endpoint"] == s.ready["base_url"] + "/access/v1/evaluation", b)
s.stop()
ok("the chain is sound", p.helm("log", "check").returncode == 0)
p.done()
finish()
PY

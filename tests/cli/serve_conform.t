#!/bin/sh
# helm conform run --endpoint: vectors against a boundary over HTTP.  What differs is of the wire, the verdict or the code; what was not run is no pass.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
import http.server, socketserver
from serve import *

class Other(http.server.BaseHTTPRequestHandler):
    """Another implementation, of which we say how it answers."""
    say = (200, b"{}"); heard = []
    def do_GET(self): self.answer(404, b"{}")
    def do_POST(self):
        Other.heard.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"]))), dict(self.headers)))
        self.answer(*Other.say)
    def answer(self, status, body):
        self.send_response(status); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
other = http.server.HTTPServer(("127.0.0.1", 0), Other)
threading.Thread(target=other.serve_forever, daemon=True).start()
url = "http://127.0.0.1:%d" % other.server_address[1]

p = Place()
def vector(i, expected, **more):
    v = {"id": i, "input": {"effect": {"effect_type": "read_ticket", "effect_id": "eff-" + i, "params": {"n": 1}}, "principal": "agent:a", "context": {}}, "expected": expected}; v.update(more); return v
def run(where, vectors, *args, **env):
    with open(p.dir + "/vectors.json", "w") as f: json.dump({"version": "1", "vectors": vectors}, f)
    r = p.helm("conform", "run", "--json", "--endpoint", where, "--vectors", p.dir + "/vectors.json", *args)
    return r.returncode, json.loads(r.stdout) if r.stdout.startswith("{") else r.stderr
p.env["HELM_KEY"] = ADMIN
yes, no = {"verdict": "ALLOW", "reason_code": None, "receipt_present": True, "intent_present": True}, {"verdict": "DENY", "reason_code": "NO_POLICY_DEFINED", "receipt_present": True}
body = lambda v, c=None, **m: json.dumps(dict({"verdict": v, "receipt": {"receipt_id": "r"}}, **({"reason_code": c} if c else {}), **m)).encode()

Other.say = (200, body("ALLOW", intent={}))
code, doc = run(url, [vector("A", yes)])
ok("an implementation that answers as expected passes", code == 0 and doc["result"] == "PASS" and doc["passed"] == 1, doc)
path, heard, headers = Other.heard[0]
ok("it is asked what the vector says, unchanged, with a key of the run", path == "/v1/effects" and heard == vector("A", yes)["input"] and headers["Idempotency-Key"].endswith(":A:0"), (heard, headers))
Other.say = (200, body("DENY", "POLICY_VIOLATION"))
code, doc = run(url, [vector("B", no)])
ok("another code is a difference of the code", code == 1 and doc["differences"]["code"] == 1 and doc["vectors"][0]["difference"] == "code", doc)
code, doc = run(url, [vector("C", yes)])
ok("another verdict is one of the verdict", code == 1 and doc["differences"]["verdict"] == 1, doc)
for what, say in (("another status", (500, body("DENY"))), ("no JSON", (200, b"<html>")), ("no verdict", (200, b"{}")), ("no receipt", (200, b'{"verdict":"ALLOW","intent":{}}'))):
    Other.say = say
    code, doc = run(url, [vector("D", yes)])
    ok("one of the wire: " + what, code == 1 and doc["differences"]["wire"] == 1, doc)
Other.say = (200, body("ALLOW", intent={}))
code, doc = run(url, [vector("E", yes), vector("F", no)])
ok("a yes where a no was expected fails the run", code == 1 and doc["allowed_where_refused"] == 1 and doc["result"] == "FAIL", doc)
code, doc = run(url, [vector("G", dict(yes, something_new=True))])
ok("an expectation that nobody knows is no pass", code == 1 and doc["vectors"][0]["verdict"] == "FAIL", doc)
code, doc = run(url, [vector("H", yes, pdp_behavior="timeout")])
ok("what needs a world is not run, which is no pass", code == 1 and doc["not_run"] == 1 and doc["vectors"][0]["why"] == "needs harness", doc)
Other.say = (200, body("DENY", "NO_POLICY_DEFINED"))
code, doc = run(url, [vector("I", yes), vector("J", no)])
ok("a server that always says no does not pass", code == 1 and doc["passed"] == 1 and doc["failed"] == 1, doc)
other.shutdown(); other.server_close()
code, doc = run(url, [vector("K", yes)])
ok("where nobody answers nothing is said: exit 3", code == 3, doc)
ok("over http only on this machine", run("http://example.com", [vector("L", yes)])[0] == 2 and run("http://127.0.0.1.example.com", [vector("L", yes)])[0] == 2)
ok("a file without vectors is named", p.helm("conform", "run", "--endpoint", url, "--vectors", p.policy).returncode == 1)
ok("there are no vectors without a file", p.helm("conform", "run", "--endpoint", url).returncode == 2)

# Our own.
mine = ("--tenant", "default", "--principal", "system-admin")
s = Server(p)
code, doc = run(s.ready["base_url"], [vector("M", yes), vector("N", dict(no), input={"effect": {"effect_type": "other", "effect_id": "e", "params": {}}, "principal": "a", "context": {}})], *mine)
ok("our own server passes by its real decisions", code == 0 and doc["passed"] == 2 and doc["conformance_harness"] is False, doc)
ok("which are on record", p.receipts()[-1]["metadata"]["source"] == "api.effects")
s.stop()
s = Server(p, "--conformance")
before = len(p.receipts())
late = vector("O", {"verdict": "DENY", "reason_code": "PDP_ERROR", "receipt_present": True}, pdp_behavior="timeout")
late["input"]["effect"]["effect_type"] = "file_read"
code, doc = run(s.ready["base_url"], [late], *mine)
ok("with --conformance a harness describes the world", code == 0 and doc["conformance_harness"] is True, doc)
ok("of which nothing is on record", len(p.receipts()) == before)
published = os.path.join(SOURCE, "../shared/vectors/kernel/protocols/conformance/v1/test-vectors.json")
if os.path.exists(published):
    r = p.helm("conform", "run", "--json", "--endpoint", s.ready["base_url"], "--vectors", published, *mine)
    doc = json.loads(r.stdout)
    ok("the published vectors pass over the wire, as far as they can be asked there", r.returncode == 0 and doc["passed"] == 57 and doc["failed"] == 0 and doc["not_run"] == 4, {k: doc[k] for k in ("passed", "failed", "not_run", "differences")}, [v for v in doc["vectors"] if v["verdict"] == "FAIL"])
s.stop(); p.done()
finish()
PY

#!/bin/sh
# helm serve tells about itself: counts and times for Prometheus, traces that go on, spans over OTLP; and nothing secret in any of it.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
export HELM_BUILD HELM_SOURCE
PYTHONPATH=$HELM_SOURCE/tests/tools python3 - <<'PY'
import http.server, re
from serve import *

class Sink(http.server.BaseHTTPRequestHandler):
    heard = []
    def do_POST(self):
        Sink.heard.append((self.path, self.headers.get("Content-Type"), json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"{}")
    def log_message(self, *a): pass
sink = http.server.HTTPServer(("127.0.0.1", 0), Sink)
threading.Thread(target=sink.serve_forever, daemon=True).start()

p = Place()
s = Server(p, "--otlp", "http://127.0.0.1:%d" % sink.server_address[1])
for i in range(3): s.evaluate("read_ticket", {"password": "hunter2"})
s.evaluate("refund", {"amount": 500}); s.evaluate("nothing_known"); s.evaluate("Bash", {"command": "rm -rf /"})
st, text, h = s.ask("GET", "/metrics", raw=True); text = text.decode()
ok("it is the text of Prometheus", st == 200 and h["content-type"].startswith("text/plain; version=0.0.4"), h)
line = re.compile(r'^(# (HELP|TYPE) \S+ .+|[a-z_]+(\{[a-z0-9_]+="([^"\\\n]|\\.)*"(,[a-z0-9_]+="([^"\\\n]|\\.)*")*\})? [-+0-9.eE]+|)$')
ok("every line of it", all(line.match(l) for l in text.split("\n")), [l for l in text.split("\n") if not line.match(l)])
value = lambda name: float(dict(l.rsplit(" ", 1) for l in text.split("\n") if l and l[0] != "#").get(name, "-1"))
ok("decisions by verdict, rule and code", value('helm_decisions_total{verdict="ALLOW",rule="read",reason_code=""}') == 3, text[:1500])
ok("a question", value('helm_decisions_total{verdict="ESCALATE",rule="policy:large",reason_code="APPROVAL_REQUIRED"}') == 1, text[:1500])
ok("a denial of a guard rule", sum(float(l.rsplit(" ", 1)[1]) for l in text.split("\n") if l.startswith("helm_decisions_total") and 'rule="deny.rm_root"' in l) == 1, text[:1500])
ok("times of deciding and of the record", value("helm_decide_duration_seconds_count") == 6 and value("helm_record_duration_seconds_count") == 6 and value('helm_record_duration_seconds_bucket{le="+Inf"}') == 6 and value("helm_record_duration_seconds_sum") > 0)
ok("times of routes", value('helm_request_duration_seconds_count{method="POST",route="/api/v1/evaluate"}') == 6)
ok("buckets only rise", (lambda b: b == sorted(b) and len(b) == 12)([float(l.rsplit(" ", 1)[1]) for l in text.split("\n") if l.startswith("helm_decide_duration_seconds_bucket")]))
ok("sums by their older names", value("helm_allows_total") == 3 and value("helm_denials_total") == 2 and value("helm_escalations_total") == 1 and value('helm_denial_reasons{reason="APPROVAL_REQUIRED"}') == 1 and value("helm_chain_length") == value("helm_chain_receipts"), text[:1500])
ok("the length of the chain", value("helm_chain_receipts") == len(p.receipts()), (value("helm_chain_receipts"), len(p.receipts())))
ok("the queue, and how old the policy is", value("helm_queue_waiting") == 0 and 0 <= value("helm_policy_age_seconds") < 300)
ok("a policy that cannot be used is counted", (p.write("format: nonsense\n"), s.p.send_signal(signal.SIGHUP), time.sleep(1), "helm_policy_reload_errors_total 1\n" in s.ask("GET", "/metrics", raw=True)[1].decode())[-1])

# Traces.
parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
st, b, h = s.evaluate("read_ticket", {"password": "hunter2"}, headers={"traceparent": parent})
out = h.get("traceparent", "")
ok("a trace goes on in the answer, with a span of our own", out.startswith("00-4bf92f3577b34da6a3ce929d0e0e4736-") and out.endswith("-01") and "00f067aa0ba902b7" not in out, out)
for bad in ("", "nonsense", "00-" + "0" * 32 + "-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-" + "0" * 16 + "-01", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", parent + "-more", parent[:-1]):
    got = s.ask("GET", "/healthz", headers={"traceparent": bad})[2].get("traceparent", "")
    ok("a new one begins instead of %r" % bad[:30], re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-01", got) and "4bf92f3577b34da6" not in got.lower(), got)
got = s.ask("GET", "/healthz", headers={"traceparent": parent[:-2] + "00"})[2].get("traceparent", "")
ok("what is not to be sampled stays so", got.startswith("00-4bf92f3577b34da6a3ce929d0e0e4736-") and got.endswith("-00"), got)

spans = lambda: [x for path, kind, d in list(Sink.heard) for x in d["resourceSpans"][0]["scopeSpans"][0]["spans"]]
def mine(): return [x for x in spans() if x["traceId"] == "4bf92f3577b34da6a3ce929d0e0e4736"]
for i in range(100):
    if mine(): break
    time.sleep(0.1)
one = mine()[0] if mine() else {"attributes": []}
a = {x["key"]: x["value"]["stringValue"] for x in one["attributes"]}
ok("its span is sent, with the ids of decision and receipt", one.get("parentSpanId") == "00f067aa0ba902b7" and a.get("helm.decision_id") == b["decision_id"] and a.get("helm.receipt_id") == b["receipt_id"] and a.get("helm.verdict") == "ALLOW" and a.get("http.route") == "/api/v1/evaluate", one)
ok("as OTLP over HTTP in JSON", Sink.heard and Sink.heard[0][0] == "/v1/traces" and Sink.heard[0][1] == "application/json" and re.fullmatch("[0-9]{19}", one.get("startTimeUnixNano", "")), Sink.heard[:1])
st, b, h = s.ask("GET", "/api/v1/telemetry/otel/config")
ok("what spans hold is told, and that they leave", st == 200 and b["exported_signals"] == ["traces"] and set(a) <= set(b["span_attributes"]) and b["authoritative"] is False, b)
st, b, h = s.ask("GET", "/api/v1/coexistence/capabilities")
ok("so is what it takes, as far as there are routes", st == 200 and "POST /api/v1/evaluate" in b["supported_inputs"] and "GET /api/v1/receipts" in b["export_surfaces"], b)
st, b, h = s.ask("GET", "/api/v1/authz/health")
ok("and by which policy who may do what", st == 200 and b["status"] == "ready" and b["model_id"] == p.receipts()[-1]["policy_hash"], b)
s.stop()
ok("what was not to be sampled is not sent", len(mine()) == 1, mine())
everything = text + json.dumps([d for x, y, d in Sink.heard]) + open(p.dir + "/log").read()
ok("nothing secret is in any of it", "hunter2" not in everything and ADMIN not in everything and "rm -rf" not in everything)
ok("every request has its span", len(spans()) >= 16, len(spans()))

# From another machine, or from this one by its outer address.
far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try: far.connect(("192.0.2.1", 9)); address = far.getsockname()[0]
except OSError: address = "127.0.0.1"
if not address.startswith("127."):
    Sink.heard.clear(); p.write(POLICY)
    t = Server(p, "--bind", address, "--insecure-remote", "--otlp", "http://127.0.0.1:%d" % sink.server_address[1])
    out = t.ask("GET", "/healthz", headers={"traceparent": parent})[2].get("traceparent", "")
    t.stop()
    links = [x.get("links") for x in spans()]
    ok("a caller from elsewhere has a trace of its own, which ours only names", "4bf92f3577b34da6" not in out and not mine() and links == [[{"traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "00f067aa0ba902b7"}]], out, links)

# Nobody listens there.
p.write(POLICY); sink.shutdown(); sink.server_close()
t = Server(p, env={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:%d" % sink.server_address[1]})
for i in range(20): t.evaluate("read_ticket", {"n": i})
began = time.time()
ok("spans that nobody takes hold nothing up", t.evaluate("read_ticket")[1]["verdict"] == "ALLOW")
for i in range(50):
    left = t.ask("GET", "/metrics", raw=True)[1].decode()
    if "helm_spans_dropped_total 0\n" not in left: break
    time.sleep(0.1)
ok("and are counted", "helm_spans_dropped_total 0\n" not in left)
ok("nor the end", t.stop() == 0 and time.time() - began < 30)
p.done()
finish()
PY

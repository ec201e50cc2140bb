#!/bin/sh
# clock.t — clocks that are wrong: what was recorded by one is taken and flagged, and a request is signed by the ledger's.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ -x "$HELM_TWIN" ] || skip_all "helm-test is not built"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
machine_new anna >/dev/null
act anna 1
# As if its clock stood a day ahead, and then a day behind.
for off in 86400 -86400; do
	us=$((($(date +%s) + off) * 1000000))
	printf '{"tool_name":"Bash","tool_input":{"command":"rm -rf /etc"},"session_id":"s"}' |
		(cd "$scratch/m/anna" && env -i PATH="$PATH" HOME="$scratch/m/anna" HELM_TEST_CLOCK_US=$us python3 "$HELM_SOURCE/tests/tools/agent.py" "$HELM_TWIN" hook pre-tool --client claude-code) >/dev/null 2>&1
done
# How many there are is not known: a round in which the tree was signed meanwhile also records and sends that checkpoint.
ok "receipts with times a day off are sent" says 0 "Sent " machine anna fleet sync
ok "and taken, all of them: order is by clock and link" [ "$(sql "$pgdir" "SELECT sum(head) FROM fleet.chain")" = "$(head_of anna)" ]
ok "with the times that were written" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.receipt WHERE abs(extract(epoch FROM at - received_at)) > 80000")" = 2 ]

cat >fake.py <<'PY'
import http.server, json, time
class H(http.server.BaseHTTPRequestHandler):
    n = 0
    def answer(self):
        H.n += 1
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if H.n == 1:
            status, code, text = 401, "FLEET_CLOCK", "the clock of the caller differs; here it is %d" % (time.time() + 86400)
        else:
            late = abs(int(self.headers["Helm-Time"]) - time.time() - 86400)
            open("seen", "w").write("by their clock\n" if late < 60 else "by another: %d\n" % late)
            status, code, text = 503, "FLEET_DATABASE", "later"
        body = json.dumps({"error": {"code": code, "message": text}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = answer
    def log_message(self, *a):
        pass
s = http.server.HTTPServer(("127.0.0.1", 0), H)
print(s.server_port, flush=True)
s.serve_forever()
PY
python3 fake.py >fake.out 2>fake.log &
echo $! >fake.pid
wait_for 10 test -s fake.out
act anna 1
sed -i "s|\"url\": *\"[^\"]*\"|\"url\": \"http://127.0.0.1:$(cat fake.out)\"|" "$scratch/m/anna/.helm/fleet/joined.json"
machine anna fleet sync >/dev/null 2>&1
ok "a machine whose clock is a day off signs by the ledger's, at the second try" grep -q "by their clock" seen
sed -i "s|\"url\": *\"[^\"]*\"|\"url\": \"$url\"|" "$scratch/m/anna/.helm/fleet/joined.json"
ok "and finds the real one again" says 0 "receipts are in the ledger" machine anna fleet sync

# What it says of its own clock is what counts for the audit.
sql "$pgdir" "UPDATE fleet.node SET skew_ms = 86400000"
ok "a clock that differs is a finding" says 1 "its clock differs by 86400 s" centre audit
machine anna fleet sync >/dev/null
ok "until it does not" wait_for 10 centre audit
finish

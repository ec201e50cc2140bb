#!/bin/sh
# answers.t — a ledger that says it has what it has not: what a machine takes for kept is only what it has itself, by its own hash.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
cat >fake.py <<'PY'
# Everything goes to the real ledger but receipts: those are counted, and answered as the file "says" has it: status and document.
import http.server, sys, urllib.error, urllib.request
class H(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.endswith("/receipts"):
            open("count", "a").write("x\n")
            status, said = open("says").read().split(" ", 1)
            status, said = int(status), said.encode()
        else:
            q = urllib.request.Request(sys.argv[1] + self.path, body or None, dict(self.headers), method=self.command)
            try:
                with urllib.request.urlopen(q) as r:
                    status, said = r.status, r.read()
            except urllib.error.HTTPError as r:
                status, said = r.code, r.read()
        self.send_response(status)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
    do_GET = do_POST = answer
    def log_message(self, *a):
        pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), H)
print(s.server_port, flush=True)
s.serve_forever()
PY
python3 fake.py "$url" >fake.out 2>fake.log &
echo $! >fake.pid
wait_for 10 test -s fake.out
# through NAME URL: from now on its ledger is there.
through() { sed -i "s|\"url\": *\"[^\"]*\"|\"url\": \"$2\"|" "$scratch/m/$1/.helm/fleet/joined.json"; }
acked() { sed -n 's/.*"acked": *\([0-9]*\).*/\1/p' "$scratch/m/$1/.helm/fleet/state.json"; }
hash_of() { sed -n 's/.*"hash": *"\([0-9a-f]*\)".*/\1/p' "$scratch/m/$1/.helm/fleet/state.json"; }
# lie NAME FORMAT: a machine with two receipts in the ledger and one that is not; @head stands for how many it has, @hash for its hash there.
lie() {
	machine_new "$1" >/dev/null && act "$1" 2 && machine "$1" fleet sync >/dev/null
	had=$(acked "$1")
	act "$1" 1
	through "$1" "http://127.0.0.1:$(cat fake.out)"
	echo "$2" | sed "s/@next/$((had + 1))/; s/@head/$had/; s/@hash/$(hash_of "$1")/" >says
	: >count
}
lie anna '200 {"head":@head,"head_hash":"@hash","state":"whole"}'
ok "a ledger that takes a batch and has no more than before: the chain is stopped, and told" says 1 "STOPPED FLEET_ANSWER" machine anna fleet sync
ok "nothing is sent to it again and again" [ "$(grep -c . count)" = 1 ]
ok "and nothing counts as kept" [ "$(acked anna)" = "$had" ]
machine anna fleet sync >/dev/null
ok "that stands until a person has seen to it" [ "$(grep -c . count)" = 1 ]
lie bert '200 {"head":@next,"head_hash":"00000000000000000000000000000000000000000000000000000000000000aa","state":"whole"}'
ok "one that answers with a hash that is not ours: the same" says 1 "with another hash than ours" machine bert fleet sync
ok "it is no acknowledgement" [ "$(acked bert)" = "$had" ]
lie carl '200 {}'
ok "so is one that answers with nothing" says 1 "STOPPED FLEET_ANSWER" machine carl fleet sync
lie dora '409 {"error":{"code":"FLEET_HEAD","message":"elsewhere"},"head":@head,"head_hash":"@hash"}'
machine dora fleet sync >/dev/null 2>&1
ok "one that always stands elsewhere is not sent the same without end" [ "$(grep -c . count)" -le 4 ]
through dora "$url"
ok "and when it answers well everything goes on" says 0 "Sent 1 receipt." machine dora fleet sync
finish

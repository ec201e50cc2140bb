#!/bin/sh
# status, receipts, approvals and watch about a boundary elsewhere (--url): a person answers what a program asked there.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v curl >/dev/null || skip_all "curl is not here"
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
needs_terminal
fresh_workspace
cd "$scratch" || exit 1
cat >policy.yaml <<'Y'
format: helm.policy.v1
name: tickets
version: "1"
rules:
  - {id: read, action: read_ticket, verdict: ALLOW}
  - {id: refunds, action: refund, verdict: ALLOW}
  - {id: ask, action: refund, verdict: ESCALATE, text: A person decides about refunds.}
Y
key() { terminal -- helm serve key add "$@" | tr -d '\r' | grep '^helm_'; }
key --principal agent:billing >asker
key --principal user:anna --scope approve,read >anna
env -i PATH="$PATH" HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" serve --policy policy.yaml --port 0 --listen "unix:$scratch/sock" >ready 2>log &
server=$!
waited=0
while [ ! -s ready ] && [ $waited -lt 600 ]; do sleep 0.05; waited=$((waited + 1)); done
url=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' ready)
ask() { # ask TOOL ARGS
  curl -s -m 30 "$url/api/v1/evaluate" -H "Authorization: Bearer $(cat asker)" -H 'Content-Type: application/json' \
    -d "{\"tool\": \"$1\", \"effect_level\": \"write\", \"session_id\": \"s1\", \"args\": $2}"
}
id_in() { sed -n 's/.*"approval_id":"\([^"]*\)".*/\1/p'; }

# Whoever looks from elsewhere has a home of their own, without a workspace.
mkdir away
away() { env -i PATH="$PATH" HOME="$scratch/away" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" ${HELM_ENV:-} "$HELM_REAL" "$@" --url "$url" --api-key-file anna; }
at_terminal() { # at_terminal WORD... -- helm ARGS...
  terminal "$@" --url "$url" --api-key-file anna
}
ok "a program asks" sh -c 'test -n "$1"' x "$(ask read_ticket '{"id": 1}' | grep -o '"verdict":"ALLOW"')"
asked=$(ask refund '{"amount": 500}' | id_in)
ok "and has to wait" test -n "$asked"
ok "how the boundary stands, from elsewhere" says 0 "ready" away status
ok "as a document" is_json away status --json
ok "what was decided" says 0 "read_ticket" away receipts list
ok "a list that is cut says so" says 0 "the newest 1; there are more, with --limit N, up to 5000" away receipts list --limit 1
ok "by verdict" says 0 "refund" away receipts list --verdict ESCALATE
ok "nothing else then" sh -c '! grep -q read_ticket "$1"' x .stdout
ok "the newest as lines" says 0 "refund" away receipts tail --limit 1
first=$(away receipts list --json | sed -n 's/.*"receipt_id": "\([^"]*\)".*/\1/p' | tail -1)
ok "one of them, as it was signed" says 0 "not verified here" away receipts show "$first"
away receipts show "$first" --json >one.json
ok "so that it can be verified" helm verify one.json --key "$(helm key export | awk '{ print $NF }')"
ok "one that is not there is not" says 1 "404" away receipts show rcpt_none
ok "what waits" says 0 "$asked" away approval list
ok "one of them" says 0 "agent:billing" away approval show "$asked"
ok "with its arguments" says 0 '"amount":500' away approval show "$asked"
ok "watched once" says 0 "$asked" away watch --once

# Answers.
ok "nobody answers without a terminal" says 25 "only a person at a terminal" away approval approve "$asked"
ok "nor as an agent" says 25 "agent client" terminal --inside APPROVE -- helm approval approve "$asked" --url "$url" --api-key-file anna
ok "another word changes nothing" says 1 "Nothing was changed" at_terminal yes -- helm approval approve "$asked"
ok "and nothing was" says 0 "pending" away approval show "$asked"
ok "only this very call, once" says 2 "does not go with --url" at_terminal APPROVE -- helm approval approve "$asked" --shape
ok "with the key of who asked it cannot be answered" says 25 "403" terminal APPROVE -- helm approval approve "$asked" --url "$url" --api-key-file asker
ok "the word approves it" says 0 "is approved" at_terminal APPROVE -- helm approval approve "$asked"
ok "which the program may use" sh -c 'test -n "$1"' x "$(ask refund '{"amount": 500}' | grep -o '"verdict":"ALLOW"')"
ok "once" sh -c 'test -n "$1"' x "$(ask refund '{"amount": 500}' | grep -o '"verdict":"ESCALATE"')"
other=$(ask refund '{"amount": 600}' | id_in)
ok "a no is an answer, too" says 0 "is denied" at_terminal DENY -- helm approval deny "$other" --reason "too much"
ok "an answer is given once" says 1 "409" at_terminal APPROVE -- helm approval approve "$other"
third=$(ask refund '{"amount": 700}' | id_in)
ok "watch approves by number and word" says 0 "is approved" at_terminal 2 APPROVE q -- helm watch
ok "what was shown under that number" says 0 "approved" away approval show "$third"
ok "and it can be taken back" says 0 "is revoked" at_terminal REVOKE -- helm approval revoke "$third"
ok "after which it is asked again" sh -c 'test -n "$1"' x "$(ask refund '{"amount": 700}' | grep -o '"verdict":"ESCALATE"')"

# Other ways there, and wrong ones.
ok "by the socket of this machine, as its user" says 0 "ready" env -i PATH="$PATH" HOME="$scratch/away" "$HELM_REAL" status --url "unix:$scratch/sock"
ok "the key may come from the environment" says 0 "ready" env -i PATH="$PATH" HOME="$scratch/away" HELM_KEY="$(cat anna)" "$HELM_REAL" status --url "$url/"
ok "without one it is said" says 25 "a key is needed" env -i PATH="$PATH" HOME="$scratch/away" "$HELM_REAL" status --url "$url"
ok "over http only on this machine" says 2 "use https://" env -i PATH="$PATH" HOME="$scratch/away" "$HELM_REAL" status --url http://example.com:7714
ok "also where a name in front only looks like it" says 2 "use https://" env -i PATH="$PATH" HOME="$scratch/away" "$HELM_REAL" status --url http://localhost:7714@example.com
ok "a URL that is none is named" says 2 "--url takes" env -i PATH="$PATH" HOME="$scratch/away" "$HELM_REAL" status --url example.com
ok "a file without a key, too" says 1 "no-such-file" env -i PATH="$PATH" HOME="$scratch/away" "$HELM_REAL" status --url "$url" --api-key-file no-such-file
# A server that means harm.
cat >hostile.py <<'PY'
import http.server, json, sys
class Hostile(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        q = {"approval_id": "../../x\x1b[2J", "state": "pending\x1b]0;owned\x07", "subject": "rm -rf /\u202e\x1b[31m", "requested_by": "a\nb", "ceremony_hash": "h"}
        body = {"/api/v1/approvals?state=pending": [q], "/api/v1/boundary/status": {"status": "\x1b[31mready"}}.get(self.path, {"receipts": 5})
        if self.path.startswith("/api/v1/receipts/"): self.send_response(302); self.send_header("Location", "http://127.0.0.1:1/"); self.end_headers(); return
        self.answer(json.dumps(body).encode() if "healthz" not in self.path else b"<html>")
    def answer(self, body):
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
s = http.server.HTTPServer(("127.0.0.1", 0), Hostile)
print("http://127.0.0.1:%d" % s.server_address[1], flush=True)
s.serve_forever()
PY
python3 hostile.py >hostile.url &
hostile=$!
while [ ! -s hostile.url ]; do sleep 0.05; done
real=$url
url=$(cat hostile.url)
plain() { away "$@" >shown 2>&1 && grep -q 'ready\|pending' shown && ! grep -q "$(printf '\033')\|$(printf '\007')\|$(printf '\342\200\256')" shown; }
ok "what it says cannot harm a terminal" plain approval list
ok "nor how it stands" plain status
ok "nothing is followed elsewhere" says 1 "302" away receipts show x
kill $hostile
url=$real
kill $server
wait $server
ok "it ends well" test $? -eq 0
ok "nobody is there then" says 1 "$url" away status
ok "the chain is sound" helm log check
finish

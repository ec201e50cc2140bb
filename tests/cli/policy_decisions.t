#!/bin/sh
# The suites of decisions: cases of our own, cases that must fail, and the published ones where they are present; policy bench.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

own="$HELM_SOURCE/tests/cases/policy-decisions"
for suite in v1 owasp mutations adversarial; do
	ok "$suite: no case of our own fails" says 0 " 0 failed, 0 not supported" helm conform run --suite $suite --cases "$own"
done
ok "negative: a situation nobody knows is not supported" says 0 "4 passed, 0 failed, 1 not supported" \
	helm conform run --suite negative --cases "$own"
ok "all of them at once, with a row each" says 0 '"suite": "negative"' helm conform run --suite all --cases "$own" --json
ok "and the ledgers of the runs are gone" sh -c 'test -z "$(ls -d "${TMPDIR:-/tmp}"/helm-conform-* 2>/dev/null)"'

# wrong CHANGE: the vectors with something else expected fail.
wrong() {
	mkdir -p bad/derived
	sed "$1" "$own/derived/decision-mutations.json" >bad/derived/decision-mutations.json
	says 1 "1 failed" helm conform run --suite mutations --cases bad
}
ok "an ALLOW that should have been a DENY fails" wrong '0,/"ALLOW"/s//"DENY"/'
ok "a member that is expected and not known fails" wrong '0,/"verdict"/s//"verdict_of_somebody": 1, "verdict"/'

shared="$HELM_SOURCE/../shared/vectors"
if [ -d "$shared" ]; then
	for suite in v1 owasp adversarial; do
		ok "$suite: no published case fails" says 0 " 0 failed, 0 not supported" helm conform run --suite $suite --cases "$shared/kernel"
	done
	for suite in mutations negative; do
		ok "$suite: no published case fails" says 0 " 0 failed, 0 not supported" helm conform run --suite $suite --cases "$shared/policy"
	done
else
	echo "# published cases: ../shared/vectors is not here"
fi

echo '[{"tool": "read", "prefix": "/srv/", "max": 10}]' >rules.json
echo '{"tool": "read", "args": {"path": "/srv/a", "size": 9, "mode": "ro"}, "expect": true}
{"tool": "read", "args": {"path": "/srv/../a", "size": 9, "mode": "ro"}, "expect": false}
{"tool": "read", "args": {"path": "/srv/a", "size": 10, "mode": "rw"}, "expect": "deny"}
{"tool": "read", "args": {"path": "/srv/a", "size": 9, "mode": "x"}, "expect": "deny"}
{"tool": "write", "args": {"path": "/srv/a", "size": 9, "mode": "ro"}, "expect": false}' >requests.ndjson
ok "policy bench answers every request" says 0 '"wrong": 0' helm policy bench rules.json requests.ndjson
ok "and says how long it took" says 0 '"p50_ns": ' helm policy bench rules.json requests.ndjson
sed 's/"deny"/"allow"/' requests.ndjson >otherwise.ndjson
ok "what is not as expected is counted" says 1 '"wrong": 2' helm policy bench rules.json otherwise.ndjson
echo '{}' >none.json
ok "rules that are none are named" says 1 "must be a list of {tool, prefix, max}" helm policy bench none.json requests.ndjson
echo '[{"tool": "read"}]' >half.json
ok "so is half a rule" says 1 "rule 1 is no {tool, prefix, max}" helm policy bench half.json requests.ndjson
: >empty.ndjson
ok "no request is an error" says 1 "holds no request" helm policy bench rules.json empty.ndjson
echo '{' >bad.ndjson
ok "a line that is no JSON is named" says 1 "line 1" helm policy bench rules.json bad.ndjson
finish

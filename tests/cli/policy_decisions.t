#!/bin/sh
# The suites of decisions: cases of our own, cases that must fail, and the published ones where they are present; policy bench.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

own="$HELM_SOURCE/tests/cases/policy-decisions"
for suite in owasp mutations adversarial; do
	ok "$suite: no case of our own fails" says 0 " 0 failed, 0 not supported" helm conform run --suite $suite --cases "$own"
done
ok "v1: no case of our own fails, and what code would have computed is not supported" \
	says 0 "20 passed, 0 failed, 1 not supported" helm conform run --suite v1 --cases "$own"
ok "with the reason" says 0 "not supported: replay-code: no code is run here" helm conform run --suite v1 --cases "$own"
ok "negative: a situation nobody knows is not supported, nor is evidence that nobody binds" says 0 "8 passed, 0 failed, 2 not supported" \
	helm conform run --suite negative --cases "$own"
ok "which is named" says 0 "not supported: policy-not-ready: phase_of_the_moon: neither engine nor recorder binds it" \
	helm conform run --suite negative --cases "$own"
mkdir -p other/derived other/protocols/conformance/v1
sed 's/"DATA_EGRESS_BLOCKED"/"PDP_DENY"/' "$own/derived/negative-boundary-vectors.json" >other/derived/negative-boundary-vectors.json
ok "its verdict and code count all the same" says 1 "FAIL blocked-egress" helm conform run --suite negative --cases other
played() { printf '{"vectors":[{"id":"p","input":{"replay_from":"s","tampered_receipt_index":%s,"expected_receipts":3},"expected":{"failure_reason":%s,"failure_at_receipt":%s}}]}' "$@" \
	>other/protocols/conformance/v1/test-vectors.json; }
played 1 '"hash_mismatch"' 1
ok "a receipt that was changed has another hash than the one after it says" says 0 "1 passed" helm conform run --suite v1 --cases other
played 2 '"hash_mismatch"' 2
ok "and the last one another than was recorded" says 0 "1 passed" helm conform run --suite v1 --cases other
played -1 '"hash_mismatch"' 1
ok "where nothing was changed, nothing is said to be wrong" says 1 '"failure_reason":null' helm conform run --suite v1 --cases other
printf '{"version":"1.1.0","vectors":[%s]}' '{"id":"a","input":{"effect":{"effect_type":"noop","params":{}},"principal":"x","context":{}},"expected":{"receipt_present":true}}' \
	>other/protocols/conformance/v1/test-vectors.json
ok "one vector that passes makes nobody compatible" says 0 '"tier": "none"' helm conform run --suite v1 --cases other --registry-entry --json
ok "it is counted as one, of the version that the file names" says 0 '"vectors_passed": "1/1"' helm conform run --suite v1 --cases other --registry-entry --json
sed -i 's/1.1.0/9.9.9/' other/protocols/conformance/v1/test-vectors.json
ok "whatever that is" says 0 '"vectors_version": "9.9.9"' helm conform run --suite v1 --cases other --registry-entry --json
mkdir -p other/reference_packs/adversarial-policy-v1
sed 's/"within_policy"/"something_else"/' "$own/reference_packs/adversarial-policy-v1/vectors.json" >other/reference_packs/adversarial-policy-v1/vectors.json
ok "the code of what is allowed is that of its rule" says 1 '"reason_code":"within_policy"' helm conform run --suite adversarial --cases other
ok "all of them at once, with a row each" says 0 '"suite": "negative"' helm conform run --suite all --cases "$own" --json
ok "what stands in the file of another suite counts once" sh -c '"$0" conform run --suite all --cases "$1" | grep -c "^lifecycle" | grep -qx 1' "$HELM_REAL" "$own"
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
	for suite in owasp adversarial; do
		ok "$suite: no published case fails" says 0 " 0 failed, 0 not supported" helm conform run --suite $suite --cases "$shared/kernel"
	done
	ok "v1: no published case fails" says 0 " 0 failed, 2 not supported" helm conform run --suite v1 --cases "$shared/kernel"
	ok "and its edition is known" says 0 '"is_published": true' helm conform run --suite v1 --cases "$shared/kernel" --json
	ok "mutations: no published case fails" says 0 " 0 failed, 0 not supported" helm conform run --suite mutations --cases "$shared/policy"
	ok "negative: no published case fails, and all evidence is bound" says 0 " 0 failed, 0 not supported" helm conform run --suite negative --cases "$shared/policy"
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

#!/bin/sh
# people.t — what takes several people is answered from the centre by several, each with a key or a passkey of their own; and one passkey answers what takes one.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
needs_terminal
command -v openssl >/dev/null || skip_all "no openssl"

fleet_make
key_of() {
	mkdir -p "$scratch/$1"
	[ -e "$scratch/$1/.helm/keys/root.pub" ] || env -i HOME="$scratch/$1" "$HELM_REAL" key create >/dev/null
	cat "$scratch/$1/.helm/keys/root.pub"
}
file_of() { echo "$scratch/$1/.helm/keys/root.key"; }
root=$(key_of offline)
centre tenant add acme --root "$root" >/dev/null
serve_start front || exit 1
machine anna init >/dev/null 2>&1
centre token >anna.token
machine anna fleet join "$url" --token-file "$scratch/anna.token" --root "$root" --ship questions >/dev/null

# Passkeys: an authenticator that a test can ask, PASSKEY make NAME KIND or sign NAME FILE.
cat >passkey.py <<'PY'
import base64, json, os, pickle, sys
sys.path.insert(0, os.environ["HELM_SOURCE"] + "/tests/tools")
from passkey import Passkey
what, name = sys.argv[1:3]
if what == "make":
    p = Passkey(sys.argv[3], rp="ledger.test")
    pub = (p.x + p.y).hex()
    print(json.dumps({"label": name, "passkey": {"algorithm": "ed25519" if sys.argv[3] == "ed25519" else "es256", "credential_id": base64.urlsafe_b64encode(p.id).rstrip(b"=").decode(), "public_key_hex": pub, "rp_id": "ledger.test"}}))
else:
    with open(name + ".pickle", "rb") as f:
        p = pickle.load(f)
    with open(sys.argv[3]) as f:
        text = f.read()
    with open(sys.argv[3] + ".sig", "w") as f:
        json.dump(p.over(text, sys.argv[4] if len(sys.argv) > 4 else "https://ledger.test"), f)
with open(name + ".pickle", "wb") as f:
    pickle.dump(p, f)
PY
passkey() { python3 passkey.py "$@"; }
passkey make dora es256 >dora.json
passkey make emil ed25519 >emil.json
passkey make evil es256 >evil.json

offline() { env -i PATH="$PATH" HOME="$scratch/offline" "$HELM_REAL" fleet approvers sign "$@" --root-key "$scratch/offline/.helm/keys/root.key" --origin ledger.test/acme; }
offline "boss=$(key_of boss)" "boss=$(key_of spare)" "carl=$(key_of carl)" "dora=$scratch/dora.json" "emil=$scratch/emil.json" --serial 1 >list.json
ok "a list may have passkeys" grep -q '"origin": *"https://ledger.test"' list.json
centre approvers give "$scratch/list.json" >/dev/null
sync() { machine "$1" fleet sync >sync.out 2>&1; }
sync anna
ok "the machine has taken it" grep -q '"passkey"' "$scratch/m/anna/.helm/fleet/approvers.json"
ask() { printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s","cwd":"%s"}' "$1" "$scratch/m/anna" | hook anna >/dev/null 2>&1; }
waiting() { machine anna approval list --json | python3 -c 'import json, sys; print("".join(q["approval_id"] for q in json.load(sys.stdin)["requests"] if q["preview"].endswith(sys.argv[1])))' "$1"; }
has() { grep -c "$1" "$(chain_of anna)"; }
newest() { grep "$1" "$(chain_of anna)" | tail -1; }

# One person, by a passkey, of either kind.
for whose in dora emil; do
	ask "rm -rf for-$whose"
	q=$(waiting "for-$whose")
	sync anna
	centre approve "$q" --message --passkey >message 2>shown
	ok "$whose is shown what a passkey signs" grep -q "rm -rf for-$whose" shown
	passkey sign "$whose" message https://elsewhere.test
	centre approve "$q" --signed "$scratch/message" >/dev/null
	sync anna
	ok "what was signed at another page does not count ($whose)" [ "$(waiting "for-$whose")" = "$q" ]
	passkey sign evil message
	centre approve "$q" --signed "$scratch/message" >/dev/null
	sync anna
	ok "nor what another passkey signed ($whose)" [ "$(waiting "for-$whose")" = "$q" ]
	passkey sign "$whose" message
	ok "what it signed is given ($whose)" says 0 "is given" centre approve "$q" --signed "$scratch/message"
	sync anna
	ok "and counts ($whose)" sh -c 'echo "$1" | grep "\"label\":\"$2\"" | grep -q authenticator_data' sh "$(newest helm.approval/grant)" "$whose"
	ok "what was asked for is let through ($whose)" allowed anna "rm -rf for-$whose"
done

# A centre that was taken over has the control key, and nobody's signature.
ask "rm -rf forged"
q=$(waiting forged)
sync anna
centre approve "$q" --message 2>/dev/null | sed 's/a registered ssh key/an approver of the fleet/' >message
session=$(sed -n 's/.*"session_id":"\(ws-[^"]*\)".*/\1/p' "$(chain_of anna)" | head -n 1)
grant() { python3 -c 'import json, sys; print(json.dumps(dict({"approval_id": sys.argv[1], "session_id": sys.argv[2], "message": open("message").read()}, **json.loads(sys.argv[3]))))' "$q" "$session" "$1"; }
boss=ed25519:$(key_of boss)
for given in '{"signature": ""}' "{\"assertion\": {\"key_id\": \"$boss\"}}" '{"passkey": null}' '{"passkey": {}}' '{"assertion": []}'; do
	grant "$given" | forge grant
	sync anna
	ok "a yes that nobody signed is refused, and holds up nothing: $given" sh -c '[ "$1" = "$2" ] && echo "$3" | grep -q "\"refused\":{\"code\""' sh "$(waiting forged)" "$q" "$(newest helm.fleet/order)"
done
ok "the answer was otherwise as the machine would have drafted it" grep -q 'an approver of the fleet' message
printf '{"reason": "drill", "signed": {"message": "x", "passkey": "x"}}' | forge freeze
sync anna
ok "a stop that names somebody who did not sign stops all the same" says 0 '"*fleet"' machine anna freeze status --json
printf '{"reason": "drill"}' | forge unfreeze
centre deny "$q" >/dev/null
sync anna

# Two people.
cat >"$scratch/m/anna/two.yaml" <<'Y'
format: helm.policy.v1
name: two
version: "1"
rules:
  - {id: any, action: "*", verdict: ALLOW}
  - {id: two, action: "*", effects: [delete], verdict: ESCALATE, approvers: 2, text: This takes two people.}
Y
(cd "$scratch/m/anna" && env -i PATH="$PATH" HOME="$scratch/m/anna" LC_ALL=C.UTF-8 TERM=dumb TERMINALS="$scratch/.terminals" python3 "$HELM_SOURCE/tests/tools/terminal.py" USE -- "$HELM_REAL" policy use two.yaml) >use.out 2>&1 || cat use.out
ask "rm -rf prod"
q=$(waiting prod)
ok "something is asked that takes two" sh -c 'grep -q "\"approvers\": *2" "$1"/m/anna/.helm/workspace/.helm/approvals.json' sh "$scratch"
sync anna
sleep 2
yes() { centre approve "$q" --key "$(file_of "$1")"; }
ok "it is answered for this very command only" says 2 "takes 2 people" centre approve "$q" --key "$(file_of boss)" --shape
ok "the first says yes, and is shown that it takes two" says 0 "one of 2 people" yes boss
sync anna
ok "that is on record" sh -c 'echo "$1" | grep -q "\"so_far\":1"' sh "$(newest helm.approval/assert)"
ok "and grants nothing" [ "$(waiting prod)" = "$q" ]
yes boss >/dev/null 2>&1
sync anna
ok "one key twice does not count" sh -c 'echo "$1" | grep -q "\"refused\":{\"code\":\"APPROVAL_TWICE\""' sh "$(newest helm.fleet/order)"
yes spare >/dev/null 2>&1
sync anna
ok "nor another key of the same person" sh -c 'echo "$1" | grep -q "two keys of"' sh "$(newest helm.fleet/order)"
key_of stranger >/dev/null
yes stranger >/dev/null 2>&1
sync anna
ok "nor a stranger's" sh -c 'echo "$1" | grep -q "\"refused\":{\"code\":\"APPROVER_UNKNOWN\""' sh "$(newest helm.fleet/order)"
ok "the question waits" [ "$(waiting prod)" = "$q" ]
before=$(has helm.approval/assert)
rm "$scratch/m/anna/.helm/fleet/state.json"
sync anna
ok "orders that are heard again count nobody twice" [ "$(has helm.approval/assert)" = "$before" ]
had=$(has '"effect_id":"helm.approval/grant"')
centre approve "$q" --message --passkey >message 2>/dev/null
ok "the second signs what the first has signed" sh -c 'grep -q "^helm:quorum:v1" message'
sed 's/"quorum":2/"quorum":1/' message >fewer
passkey sign dora fewer
ok "a challenge to fewer people is not given" says 25 "does not answer" centre approve "$q" --signed "$scratch/fewer"
passkey sign dora message
ok "the second, with a passkey, is given" says 0 "is given" centre approve "$q" --signed "$scratch/message"
sync anna
ok "and makes the grant" [ "$(has '"effect_id":"helm.approval/grant"')" = $((had + 1)) ]
ok "by two, a key and a passkey" sh -c 'echo "$1" | grep "\"approvers\":2" | grep "\"algorithm\":\"ed25519\"" | grep -q "\"algorithm\":\"webauthn-es256\""' sh "$(newest '"effect_id":"helm.approval/grant"')"
ok "it waits no more at the centre" wait_for 10 says 0 "Nothing waits" centre questions
ok "what was asked for is let through" allowed anna "rm -rf prod"

# Two keys, and one who left the list in between.
ask "rm -rf logs"
q=$(waiting logs)
sync anna
sleep 2
yes boss >/dev/null 2>&1
sync anna
offline "carl=$(key_of carl)" "dora=$scratch/dora.json" --serial 2 >list.json
centre approvers give "$scratch/list.json" >/dev/null
yes carl >/dev/null 2>&1
sync anna
ok "who left the list counts no more" sh -c 'echo "$1" | grep -q "\"refused\":{\"code\":\"APPROVER_UNKNOWN\""' sh "$(newest helm.fleet/order)"
ok "so it waits" [ "$(waiting logs)" = "$q" ]
finish

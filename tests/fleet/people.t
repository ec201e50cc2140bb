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
offline "boss=$(key_of boss)" "Boss=$(key_of spare)" "carl=$(key_of carl)" "dora=$scratch/dora.json" "emil=$scratch/emil.json" --serial 1 >list.json
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
is_frozen() { machine anna freeze status --json | grep -q '"\*fleet"'; }
ok "what the control key alone has frozen, it lifts alone" says_not 0 '"*fleet"' machine anna freeze status --json

# Who has frozen lifts: a person, when a person has signed it.
refused() { newest helm.fleet/order | grep -q "\"refused\":{\"code\":\"$1\""; }
signed_body() { sql "$pgdir" "SELECT convert_from(body, 'UTF8') FROM fleet.directive ORDER BY seq DESC LIMIT 1" | python3 -c 'import json, sys; o = json.load(sys.stdin); print(json.dumps(o["body"]) if sys.argv[1] == "body" else o["at"])' "$1"; }
ok "a person freezes with a key of the list" says 0 "is given" centre freeze --key "$(file_of boss)" --reason fire
sync anna
ok "which is on record" sh -c 'echo "$1" | grep "\"label\":\"boss\"" | grep -q "helm:act:v1"' sh "$(newest helm.freeze/set)"
printf '{"reason": "it is over"}' | forge unfreeze
sync anna
ok "the control key alone does not lift it" is_frozen
ok "and that is refused, on record" refused FLEET_UNSIGNED
centre freeze >/dev/null
centre unfreeze >/dev/null
sync anna
ok "nor after it has frozen, too" is_frozen
centre unfreeze --key "$(file_of carl)" --node 999 >/dev/null
signed_body body | forge unfreeze
sync anna
ok "what a person signed for another machine lifts nothing here" is_frozen
ok "which is refused" refused FLEET_TOUCH
key_of stranger >/dev/null
centre unfreeze --key "$(file_of stranger)" >/dev/null
sync anna
ok "a stranger does not lift it" refused APPROVER_UNKNOWN
ok "so it holds" is_frozen
ok "doctor says who lifts it" says 1 "a person whom the fleet's root key names lifts it" machine anna doctor
mkdir -p "$scratch/m/anna/.helm/trust"
printf '{"keys": [{"public_key_hex": "%s"}]}' "$(key_of boss)" >"$scratch/m/anna/.helm/trust/approvers.json"
for name in '*fleet' "$(machine anna freeze status --json | sed -n 's/.*"\(\*fleet:[^"]*\)".*/\1/p' | head -n 1)"; do
	ok "nor does somebody at the machine ($name)" says 25 "centre of the fleet" machine anna unfreeze --principal "$name" --key "$(file_of boss)"
done
rm "$scratch/m/anna/.helm/trust/approvers.json"
centre unfreeze --key "$(file_of carl)" >/dev/null
signed_body body >lifted.json
lifted_at=$(signed_body at)
sync anna
ok "another person of the list does" says_not 0 '"*fleet' machine anna freeze status --json

# What was signed before lifts no freeze of later.
sleep 1.1
centre freeze >/dev/null
centre freeze --key "$(file_of boss)" >/dev/null
sync anna
forge unfreeze "$lifted_at" <lifted.json
sync anna
ok "what a person signed to lift an earlier freeze lifts no later one" is_frozen
ok "which is refused" refused FLEET_TOUCH
# An act belongs to orders of its time: a quarter of an hour, to either side.
cat >act.py <<'PY'
import json, sys, time
now = int(sys.argv[1])
with open("act", "w") as f:
    f.write("helm:act:v1\n" + json.dumps({"act": "unfreeze", "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)), "nodes": [], "nonce": "n", "origin": "ledger.test/acme", "reason": "enough"}, sort_keys=True, separators=(",", ":")))
PY
now=$(date +%s)
python3 act.py "$now"
passkey sign dora act
later() { python3 -c 'import json; print(json.dumps({"reason": "enough", "signed": {"message": open("act").read(), "passkey": json.load(open("act.sig"))}}))' | forge unfreeze "$(date -u -d "@$((now + $1))" +%Y-%m-%dT%H:%M:%SZ)"; }
for apart in 901 -901; do
	later "$apart"
	sync anna
	ok "an act is nothing in an order that says to be $apart s from it" is_frozen
	ok "which is refused ($apart)" sh -c 'echo "$1" | grep "\"refused\":{\"code\":\"FLEET_TOUCH\"" | grep -q "another time"' sh "$(newest helm.fleet/order)"
done
later -899
sync anna
ok "within a quarter of an hour it counts" says_not 0 '"*fleet' machine anna freeze status --json

# A stop does not wait for the list.
list=$scratch/m/anna/.helm/fleet/approvers.json
mv "$list" list.aside
mkdir "$list"
centre freeze --key "$(file_of boss)" >/dev/null
sync anna
ok "a stop that a person signed stops where the list cannot be read" is_frozen
ok "and the record says that nobody is borne out" sh -c 'echo "$1" | grep -q "\"not_signed\":{\"code\""' sh "$(newest helm.freeze/set)"
rmdir "$list"
mv list.aside "$list"
centre unfreeze --key "$(file_of carl)" >/dev/null
sync anna
ok "it is lifted as any other" says_not 0 '"*fleet' machine anna freeze status --json

# Two people.
two_people anna
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

# Somebody of the fleet first, then somebody whose key is registered at the machine itself; with the passkey of either kind before it.
key_of greta >/dev/null
at_terminal anna TRUST -- "$HELM_REAL" approval trust add "$scratch/greta/.helm/keys/root.pub" --label greta >trust.out 2>&1 || cat trust.out
here() { machine anna approval approve "$q" --key "$(file_of greta)"; }
ask "rm -rf cache"
q=$(waiting cache)
sync anna
sleep 2
yes boss >/dev/null 2>&1
sync anna
ok "at the machine it is seen who of the fleet has said yes" says 0 "boss" machine anna approval show "$q"
had=$(has '"effect_id":"helm.approval/grant"')
ok "who is registered at the machine says yes behind somebody of the fleet" says 0 "" here
ok "and both make the grant" [ "$(has '"effect_id":"helm.approval/grant"')" = $((had + 1)) ]
ok "what was asked for is let through, too" allowed anna "rm -rf cache"
ask "rm -rf tmp"
q=$(waiting tmp)
sync anna
sleep 2
centre approve "$q" --message --passkey >message 2>/dev/null
passkey sign dora message
centre approve "$q" --signed "$scratch/message" >/dev/null
sync anna
ok "behind a passkey that this program cannot check, it is said where it can be" says 25 "helm open" here
ok "and nothing is granted" [ "$(waiting tmp)" = "$q" ]
key_of hans >/dev/null
ok "who is registered nowhere says nothing, also behind somebody of the fleet" says 25 "not registered" machine anna approval approve "$q" --key "$(file_of hans)"
ask "rm -rf spool"
q=$(waiting spool)
sync anna
sleep 2
yes boss >/dev/null 2>&1
sync anna
cp "$scratch/m/anna/.helm/fleet/approvers.json" kept.json
rm "$scratch/m/anna/.helm/fleet/approvers.json"
ok "where the fleet names them no more, it is said so" says 25 "neither registered here nor named by the fleet" here
cp kept.json "$scratch/m/anna/.helm/fleet/approvers.json"
ok "named in the fleet, nobody says yes at the machine" says 25 "not registered" machine anna approval approve "$q" --key "$(file_of carl)"
ok "the question waits for somebody else" [ "$(waiting spool)" = "$q" ]

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

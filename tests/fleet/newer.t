#!/bin/sh
# newer.t — a list of approvers with a kind of key that is not known here, as a later program may sign it: who can be read answers, nobody else does, and the machine says so.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
if ! command -v python3 >/dev/null || ! command -v openssl >/dev/null; then skip_all "no python3 or openssl"; fi

fleet_make
key_of() {
	mkdir -p "$scratch/$1"
	[ -e "$scratch/$1/.helm/keys/root.pub" ] || env -i HOME="$scratch/$1" "$HELM_REAL" key create >/dev/null
	cat "$scratch/$1/.helm/keys/root.pub"
}
# A root key that signs what no program of ours would.
cat >root.py <<'PY'
import json, os, pickle, sys
sys.path.insert(0, os.environ["HELM_SOURCE"] + "/tests/tools")
from passkey import Passkey
if sys.argv[1] == "make":
    p = Passkey("ed25519")
    with open("root.pickle", "wb") as f:
        pickle.dump(p, f)
    print(p.x.hex())
else:
    with open("root.pickle", "rb") as f:
        p = pickle.load(f)
    doc = {"version": "helm-fleet-approvers/1", "origin": "ledger.test/acme", "serial": int(sys.argv[1]), "keys": json.loads(sys.argv[2]), "at": "2026-01-01T00:00:00Z"}
    doc["signature"] = p.sign(("helm:fleet-approvers:v1\n" + json.dumps(doc, sort_keys=True, separators=(",", ":"))).encode()).hex()
    print(json.dumps({"list": doc}))
PY
by_root() { HELM_SOURCE=$HELM_SOURCE python3 root.py "$@"; }
root=$(by_root make)
centre tenant add acme --root "$root" >/dev/null
serve_start front || exit 1
machine anna init >/dev/null 2>&1
centre token >anna.token
machine anna fleet join "$url" --token-file "$scratch/anna.token" --root "$root" --ship questions >/dev/null
sync() { machine anna fleet sync >sync.out 2>&1; }
row() { printf '{"label": "%s", "public_key_hex": "%s"}' "$1" "$(key_of "$1")"; }

by_root 1 "[$(row gone)]" | forge approvers
sync
ok "somebody answers" grep -q "$(key_of gone)" "$scratch/m/anna/.helm/fleet/approvers.json"
orb='{"label": "zoe", "orb": {"colour": "blue"}}'
both="{\"label\": \"eve\", \"public_key_hex\": \"$(key_of eve)\", \"ssh_key\": \"ssh-ed25519 AAAA\"}"
by_root 2 "[$(row boss), $orb, $both, 7]" >newer.json
python3 -c 'import json; print(json.dumps(json.load(open("newer.json"))["list"]))' >list.json
ok "a centre that cannot read a list does not give it" says 1 "cannot be read here" centre approvers give "$scratch/list.json"
forge approvers <newer.json
sync
ok "a machine that cannot read all of it raises no alarm" says_not 0 ALARM machine anna fleet status
ok "it has the list" grep -q orb "$scratch/m/anna/.helm/fleet/approvers.json"
ok "its receipt says how much cannot be read" sh -c 'grep "helm.fleet/order" "$1" | grep -q "\"unread\":3"' sh "$(chain_of anna)"
ok "and so does doctor" says 1 "3 of the keys that may answer from the centre cannot be read" machine anna doctor
printf '{"tool_name":"Bash","tool_input":{"command":"rm -rf main"},"session_id":"s","cwd":"%s"}' "$scratch/m/anna" | hook anna >/dev/null 2>&1
sync
q=$(machine anna approval list --json | python3 -c 'import json, sys; print("".join(q["approval_id"] for q in json.load(sys.stdin)["requests"]))')
for someone in gone eve; do
	centre approve "$q" --key "$scratch/$someone/.helm/keys/root.key" >/dev/null 2>&1
	sync
	ok "who left with it, or stands in a row that cannot be read, does not answer: $someone" sh -c 'grep "helm.fleet/order" "$1" | tail -n 1 | grep -q "\"refused\":{\"code\":\"APPROVER_UNKNOWN\""' sh "$(chain_of anna)"
done
centre approve "$q" --key "$scratch/boss/.helm/keys/root.key" >/dev/null 2>&1
sync
ok "who stands in one that can, does" sh -c 'grep "\"effect_id\":\"helm.approval/grant\"" "$1" | grep -q "\"label\":\"boss\""' sh "$(chain_of anna)"
rm "$scratch/m/anna/.helm/fleet/state.json"
sync
ok "orders that are heard again are no alarm either" says_not 0 ALARM machine anna fleet status
finish

#!/bin/sh
# roots.t — the root key of a fleet is changed: the old one has signed it, and machines that joined long ago pin the new one; nobody else changes it.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
command -v python3 >/dev/null || skip_all "no python3"

fleet_make
# key_of NAME: somebody's own key, at home.
key_of() {
	mkdir -p "$scratch/$1"
	[ -e "$scratch/$1/.helm/keys/root.pub" ] || env -i HOME="$scratch/$1" "$HELM_REAL" key create >/dev/null
	cat "$scratch/$1/.helm/keys/root.pub"
}
file_of() { echo "$scratch/$1/.helm/keys/root.key"; }
old=$(key_of old)
new=$(key_of new)
newest=$(key_of newest)
thief=$(key_of thief)
boss=$(key_of boss)
offline() { env -i PATH="$PATH" HOME="$scratch/old" "$HELM_REAL" fleet "$@" --origin ledger.test/acme; }
list_by() { offline approvers sign "boss=$boss" --root-key "$(file_of "$1")" --serial "$2"; }
pinned() { sed -n 's/.*"root_key": *"\([0-9a-f]*\)".*/\1/p' "$scratch/m/$1/.helm/fleet/joined.json"; }
join() { # join NAME KEY
	machine "$1" init >/dev/null 2>&1
	centre token >"$1.token"
	machine "$1" fleet join "$url" --token-file "$scratch/$1.token" --root "$2" --ship questions >/dev/null
}
sync() { machine "$1" fleet sync >sync.out 2>&1; }

centre tenant add acme --root "$old" >/dev/null
serve_start front || exit 1
join anna "$old"
list_by old 5 >list.json
centre approvers give "$scratch/list.json" >/dev/null
sync anna
ok "a machine has pinned the root key, and has its list" grep -q "$boss" "$scratch/m/anna/.helm/fleet/approvers.json"

# Signed offline, by both.
offline root sign --root-key "$(file_of old)" --new-key "$(file_of new)" >statement.json
ok "the old key says which one takes its place" grep -q "\"new_key\": *\"$new\"" statement.json
offline root sign --root-key "$(file_of thief)" --new-key "$(file_of new)" >forged.json
ok "another key's word is not given" says 1 "has not signed that" centre root give "$scratch/forged.json"
sed "s/$new/$thief/" statement.json >changed.json
ok "nor a statement that was changed" says 1 "not signed by" centre root give "$scratch/changed.json"
ok "nothing was ordered by that" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.directive WHERE kind = 'root'")" = 0 ]
ok "the statement is given" says 0 "is given" centre root give "$scratch/statement.json"
ok "sign takes both keys" says 2 "new-key" offline root sign --root-key "$(file_of old)"
sync anna
ok "a machine that joined before pins the new key" [ "$(pinned anna)" = "$new" ]
ok "which is on record there" grep -q "\"root_key\":\"$new\"" "$(chain_of anna)"
ok "and confirmed" says 0 '"obeyed": 1' centre orders --json
ok "status says whose word counts" says 0 "root key $new" machine anna fleet status

# From then on the old key names nobody, and its list is no more.
printf '{"tool_name":"Bash","tool_input":{"command":"rm -rf main"},"session_id":"s","cwd":"%s"}' "$scratch/m/anna" | hook anna >/dev/null 2>&1
sync anna
first=$(machine anna approval list --json | python3 -c 'import json, sys; print("".join(q["approval_id"] for q in json.load(sys.stdin)["requests"]))')
centre approve "$first" --key "$(file_of boss)" >/dev/null 2>&1
sync anna
ok "the list of the old key counts no more" grep -q '"refused":{"code":"FLEET_APPROVERS"' "$(chain_of anna)"
list_by old 9 >list.json
ok "nor is one given that it signs now" says 1 "not signed by the root key" centre approvers give "$scratch/list.json"
list_by new 1 >list.json
centre approvers give "$scratch/list.json" >/dev/null
sync anna
centre approve "$first" --key "$(file_of boss)" >/dev/null 2>&1
sync anna
ok "whom the new key names answers" sh -c 'grep "\"effect_id\":\"helm.approval/grant\"" "$1" | grep -q "\"label\":\"boss\""' sh "$(chain_of anna)"

# The order once more, as after a kill.
rm "$scratch/m/anna/.helm/fleet/state.json"
sync anna
ok "orders that are heard again change nothing" [ "$(pinned anna)" = "$new" ]
ok "and are no alarm" says_not 0 ALARM machine anna fleet status

# Who joins later hears of all that was before, and of keys that are no more.
offline root sign --root-key "$(file_of new)" --new-key "$(file_of newest)" >statement.json
centre root give "$scratch/statement.json" >/dev/null
list_by newest 1 >list.json
centre approvers give "$scratch/list.json" >/dev/null
sleep 1
join bert "$newest"
sync bert
ok "a machine that joins with the newest key believes it" grep -q "$boss" "$scratch/m/bert/.helm/fleet/approvers.json"
ok "keys before it are no alarm there" says_not 0 ALARM machine bert fleet status
ok "and its own key stays" [ "$(pinned bert)" = "$newest" ]
sync anna
ok "a machine follows several changes" [ "$(pinned anna)" = "$newest" ]

# A key that was left does not come back, by a statement of long ago or by a new one.
offline root sign --root-key "$(file_of newest)" --new-key "$(file_of new)" >back.json
centre root give "$scratch/back.json" >/dev/null
sync anna
ok "a key that was left does not come back" [ "$(pinned anna)" = "$newest" ]
ok "and that is on record" grep -q "whose place another one has taken" "$(chain_of anna)"

# A server that was taken has the control key, and names a root key of its own.
sql "$pgdir" "UPDATE fleet.tenant SET root_key = '\\x$thief'" >/dev/null
key_of heir >/dev/null
offline root sign --root-key "$(file_of thief)" --new-key "$(file_of heir)" >forged.json
centre root give "$scratch/forged.json" >/dev/null
sync anna
ok "a key that was never pinned changes nothing" [ "$(pinned anna)" = "$newest" ]
ok "which is on record" grep -q '"refused":{"code":"FLEET_ROOT"' "$(chain_of anna)"
env -i PATH="$PATH" HOME="$scratch/thief" "$HELM_REAL" fleet approvers sign "thief=$thief" --root-key "$(file_of heir)" --origin ledger.test/acme >forged.json
sql "$pgdir" "UPDATE fleet.tenant SET root_key = '\\x$(key_of heir)'" >/dev/null
centre approvers give "$scratch/forged.json" >/dev/null
sync anna
ok "and a list by it is an alarm" says 1 "ALARM FLEET_ORDER" machine anna fleet status
ok "the list that counts is as it was" grep -q "$boss" "$scratch/m/anna/.helm/fleet/approvers.json"
finish

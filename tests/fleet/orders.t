#!/bin/sh
# orders.t — orders of the centre: freeze and its end, lease, a key that counts no more; each ends in a receipt that names it.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
needs_terminal
# at NAME WORD... -- helm ARGS...: a person at a terminal of that machine.
at() {
	who=$1
	shift
	(cd "$scratch/m/$who" && HELM_ENV="HOME=$scratch/m/$who" terminal "$@")
}

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
for m in anna bert; do
	machine_new $m >/dev/null || echo "# $m has not joined"
	act $m 2
	machine $m fleet sync >/dev/null
done
wait_for 10 sh -c "curl -sf $url/log/acme/checkpoint >checkpoint"
bert=$(machine bert fleet status --json | sed -n 's/.*"node": "\([0-9]*\)".*/\1/p')

ok "an order is given" says 0 "Order 1 is given" centre freeze --reason "an incident"
ok "nobody has obeyed yet" says 0 "0 of 2" centre orders
ok "a machine hears it with the next contact" machine anna fleet sync
ok "everything is frozen there" says 0 '"*fleet"' machine anna freeze status --json
denied() { printf '{"tool_name":"Bash","tool_input":{"command":"ls"},"session_id":"s"}' | hook "$1" | grep -q "$2"; }
ok "and what is asked is denied, with the reason" denied anna "centre of the fleet has frozen everything: an incident"
ok "who obeyed is known by their receipts" says 0 "1 of 2" centre orders
ok "the receipt names the order" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.receipt r JOIN fleet.directive d ON r.rule = 'order:' || encode(d.hash, 'hex')")" = 1 ]
ok "after it the machine records the checkpoint it had seen" grep -q '"because":"freeze"' "$(chain_of anna)"
mkdir -p boss "$scratch/m/anna/.helm/trust"
env -i HOME="$scratch/boss" "$HELM_REAL" key create >/dev/null
printf '{"keys": [{"public_key_hex": "%s"}]}' "$(cat boss/.helm/keys/root.pub)" >"$scratch/m/anna/.helm/trust/approvers.json"
other=$(env -i HOME="$scratch/other" sh -c 'mkdir "$HOME" && "$1" key create >/dev/null && cat "$HOME/.helm/keys/root.pub"' sh "$HELM_REAL")
# loosens_nothing WHY: whatever a person may widen is refused for that reason.
loosens_nothing() {
	says 25 "$1" at anna TRUST -- helm approval trust add "$other" &&
		says 25 "$1" at anna TRUST -- helm key trust add "$other" &&
		says 25 "$1" at anna USE -- helm policy use --none
}
ok "nothing is loosened under it" loosens_nothing "centre of the fleet has frozen everything"
ok "who can lift it is said" says 0 "the centre of the fleet lifts it" machine anna freeze status
ok "a person on the machine does not lift it" says 25 "centre of the fleet" machine anna unfreeze --principal '*fleet' --key "$scratch/boss/.helm/keys/root.key"
machine bert fleet sync >/dev/null
ok "the other machine obeys, too" says 0 "2 of 2" centre orders
ok "one machine alone is let go" centre unfreeze --node "$bert"
machine anna fleet sync >/dev/null
machine bert fleet sync >/dev/null
ok "it goes on" says_not 0 fleet machine bert freeze status --json
ok "and what is asked there is allowed" allowed bert "touch note"
ok "the other one does not" says 0 '"*fleet"' machine anna freeze status --json
ok "all are let go" centre unfreeze
machine anna fleet sync >/dev/null
ok "and go on" says_not 0 fleet machine anna freeze status --json

# A lease.
ok "a lease is ordered" centre lease 1m
machine anna fleet sync >/dev/null
ok "the machine has it" says 0 "lease 60 s" machine anna fleet status
lease=$scratch/m/anna/.helm/fleet/lease.json
ok "within it everything goes on" allowed anna "touch note"
sed -i 's/"at_ms": *\([0-9]*\)/"at_ms": 1/' "$lease"
ok "without contact for so long everything stands" denied anna "was not reached"
ok "nothing is loosened then" loosens_nothing "was not reached"
machine anna fleet sync >/dev/null
ok "contact renews it" grep -q '"at_ms": *[0-9][0-9][0-9]' "$lease"
ok "and what is asked is allowed" allowed anna "touch note"
sed -i 's/"boot_id": *"[^"]*"/"boot_id": "another"/' "$lease"
ok "another boot without contact stands, too" denied anna "since this machine was started"
echo '{' >"$lease"
ok "and so does a lease that cannot be read" denied anna "cannot be read"
centre lease off >/dev/null
machine anna fleet sync >/dev/null
ok "no lease, no file" [ ! -e "$lease" ]

# Forged orders.
machine anna fleet sync >/dev/null
cp "$scratch/m/anna/.helm/fleet/state.json" state.before
sql "$pgdir" "INSERT INTO fleet.directive(tenant_id, seq, kind, body, hash, made_by) SELECT tenant_id, seq + 1, kind, convert_to(replace(convert_from(body, 'UTF8'), '\"seq\":' || seq, '\"seq\":' || (seq + 1)), 'UTF8'), hash, made_by FROM fleet.directive ORDER BY seq DESC LIMIT 1"
machine anna fleet sync >/dev/null
ok "an order that the control key did not sign is not obeyed, and told" says 1 "ALARM FLEET_ORDER" machine anna fleet status
sql "$pgdir" "DELETE FROM fleet.directive WHERE seq = (SELECT max(seq) FROM fleet.directive)"
cp state.before "$scratch/m/anna/.helm/fleet/state.json"

# A key that counts no more.
key=$(cat "$scratch/m/bert/.helm/keys/root.pub")
ok "the centre ends a key" centre revoke-key "$key"
act bert 1
ok "nothing more of it is taken, and the person is told" says 1 "FLEET_KEY_REVOKED" machine bert fleet sync
ok "its state says so" says 1 "revoked by the centre" machine bert fleet status

# Many orders.
before=$(sql "$pgdir" "SELECT max(seq) FROM fleet.directive")
i=0
while [ $i -lt 50 ]; do
	centre lease 1m >/dev/null
	i=$((i + 1))
done
ok "a list of orders that is cut says so" says 0 "Only the newest 50 are shown; $before are older" centre orders
finish

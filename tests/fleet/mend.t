#!/bin/sh
# mend.t — what goes wrong on one side holds up nothing else: a workspace that is gone, a signer that is away, a state that is damaged, a key that was ended.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
for m in anna bert carl; do
	machine_new $m >/dev/null || echo "# $m has not joined"
	act $m 2
	machine $m fleet sync >/dev/null
done
wait_for 10 sh -c "curl -sf $url/log/acme/checkpoint >checkpoint"
home=$scratch/m/anna/.helm
state=$home/fleet/state.json
lease=$home/fleet/lease.json
edit() { # edit FILE STATEMENT: of the document d
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); exec(sys.argv[2]); json.dump(d, open(sys.argv[1], "w"))' "$@"
}
denied() { printf '{"tool_name":"Bash","tool_input":{"command":"ls"},"session_id":"s"}' | hook "$1" | grep -q "$2"; }
has_frozen() { (cd "$1" && env -i PATH="$PATH" HOME="$scratch/m/anna" LC_ALL=C.UTF-8 "$HELM_REAL" freeze status --json) | grep -q '"\*fleet"'; }
not() { ! "$@"; }

# A workspace that is gone for a while, the first of two.
machine anna init --path "$scratch/m/anna/second" >/dev/null 2>&1
edit "$home/fleet/joined.json" "d['workspaces'].insert(0, '$scratch/m/anna/second')"
mv "$scratch/m/anna/second" "$scratch/m/anna/away"
centre freeze --reason "an incident" >/dev/null
machine anna fleet sync >sync.out 2>&1
ok "a workspace that is gone keeps no other from being frozen" says 0 '"*fleet"' machine anna freeze status --json
ok "where an order was not obeyed is told" says 1 "order 1 of the centre (freeze) was not obeyed in $scratch/m/anna/second" machine anna doctor
ok "status shows it, too, and is not well" says 1 "NOT OBEYED order 1 (freeze) in $scratch/m/anna/second" machine anna fleet status
mv "$scratch/m/anna/away" "$scratch/m/anna/second"
machine anna fleet sync >sync.out 2>&1
ok "it obeys when it is back" has_frozen "$scratch/m/anna/second"
ok "and nothing is told any more" sh -c 'test -n "$1" && ! printf "%s" "$1" | grep -q "not obeyed"' sh "$(machine anna doctor 2>&1)"
mv "$scratch/m/anna/second" "$scratch/m/anna/away"
centre unfreeze >/dev/null
machine anna fleet sync >sync.out 2>&1
ok "later orders are taken" sh -c '! printf "%s" "$1" | grep -q fleet' sh "$(machine anna freeze status --json)"
edit "$home/fleet/joined.json" "d['workspaces'].pop(0)"
edit "$state" "d['missed'] = []; d['chains'] = {k: v for k, v in d['chains'].items() if not k.startswith('/')}"

# Whoever is not believed renews nothing.
centre lease 1h >/dev/null
machine anna fleet sync >/dev/null
edit "$lease" "d['at_ms'] = 1"
edit "$state" "d['alarm'] = {'code': 'FLEET_LOG', 'why': 'a test'}"
machine anna fleet sync >/dev/null 2>&1
ok "under an alarm no lease is renewed" grep -q '"at_ms": *1[,} ]*$' "$lease"
edit "$state" "d.pop('alarm')"
machine anna fleet sync >/dev/null
ok "without one it is" not grep -q '"at_ms": *1[,} ]*$' "$lease"

# A state that has lost something, or is damaged.
cp "$state" state.copy
edit "$state" "d.pop('lease')"
machine anna fleet sync >/dev/null
ok "a state that knows of no lease does not end it" [ -e "$lease" ]
cp state.copy "$state"
echo '{"chains":' >"$state"
ok "a damaged state is told" says 1 "what is known of the fleet is damaged" machine anna doctor
machine anna fleet sync >/dev/null
ok "it is asked for again, with the lease" says 0 "lease 3600 s" machine anna fleet status
ok "the damaged one is kept, and told" says 1 "state.json.damaged, and remove it" machine anna doctor
rm -f "$home/fleet/state.json.damaged"

# A lease that cannot be looked at.
mv "$home/fleet" "$home/fleet.x"
echo x >"$home/fleet"
ok "a lease that cannot be looked at counts as over" denied anna "lease of the fleet cannot be read"
rm "$home/fleet"
ok "none is none" not denied anna "lease of the fleet"
mv "$home/fleet.x" "$home/fleet"

# A signer that is away.
kill "$(cat signer.pid)"
act anna 1
machine anna fleet sync >/dev/null
edit "$state" "d['unproven_s'] = 1; d.setdefault('behind', {}).update(since_s=1, at_s=1)"
machine anna fleet sync >/dev/null 2>&1
ok "a log that stands still is no alarm" not grep -q '"alarm"' "$state"
ok "that it is behind is told" says 1 "has not shown what was acknowledged" machine anna doctor
edit "$state" "d['behind']['grown_s'] = 601"
ok "one that grows without a receipt is" says 1 "ALARM FLEET_LOG" machine anna fleet sync
rm -f "$signer"
signer_start
proven() { machine anna fleet sync; not grep -q '"behind"' "$state"; }
ok "a good proof ends both" wait_for 20 proven
ok "and the machine is well" machine anna fleet status

# A fork stays a fork.
(sql "$pgdir" "BEGIN; UPDATE fleet.chain SET state = 2; SELECT pg_sleep(2); COMMIT" >/dev/null) &
forking=$!
sleep 0.7
machine bert fleet sync >/dev/null 2>&1
wait $forking
ok "a heartbeat does not undo a fork" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.chain WHERE state <> 2")" = 0 ]
sql "$pgdir" "UPDATE fleet.chain SET state = 1"
for m in bert carl; do edit "$scratch/m/$m/.helm/fleet/state.json" "[c.pop('stopped', 0) for c in d['chains'].values()]"; done

# Keys that were ended.
mkdir -p boss
env -i HOME="$scratch/boss" "$HELM_REAL" key create >/dev/null
for m in bert carl; do
	mkdir -p "$scratch/m/$m/.helm/trust"
	printf '{"keys": [{"public_key_hex": "%s"}]}' "$(cat boss/.helm/keys/root.pub)" >"$scratch/m/$m/.helm/trust/approvers.json"
done
rotate() { machine "$1" key rotate --reason test --key "$scratch/boss/.helm/keys/root.key" >/dev/null; }
centre revoke-key "$(cat "$scratch/m/bert/.helm/keys/root.pub")" >/dev/null
rotate bert
act bert 1
ok "a key that the centre ended has no successor" says 1 "FLEET_KEY_REVOKED" machine bert fleet sync
ok "nothing of it is in the ledger" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.node_key WHERE key = '\\x$(cat "$scratch/m/bert/.helm/keys/root.pub")'")" = 0 ]
rm -rf "$scratch/m/bert/.helm/fleet"
centre token >bert.token
ok "nor does it join anew" says 1 "revoked by the centre" machine bert fleet join "$url" --token-file "$scratch/bert.token"
old=$(cat "$scratch/m/carl/.helm/keys/root.pub")
rotate carl
act carl 1
machine carl fleet sync >/dev/null
centre revoke-key "$old" >/dev/null
rotate carl
act carl 1
ok "a key that was replaced before goes on" says 0 "Sent" machine carl fleet sync
finish

#!/bin/sh
# dba.t — whoever has the database changes or removes rows: nothing of that stays unseen, and a pack of it proves no more than what machines signed.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"

command -v python3 >/dev/null || skip_all "no python3"

fleet_make
for who in offline thief boss lost; do
	mkdir -p "$scratch/$who"
	env -i HOME="$scratch/$who" "$HELM_REAL" key create >/dev/null
done
public() { cat "$scratch/$1/.helm/keys/root.pub"; }
centre tenant add acme --root "$(public offline)" >/dev/null
serve_start front || exit 1
machine anna init >/dev/null 2>&1
centre token >anna.token
machine anna fleet join "$url" --token-file "$scratch/anna.token" --ship captions --root "$(public offline)" >/dev/null
act anna 4
machine anna fleet sync >/dev/null
machine_new bert >/dev/null
act bert 2
machine bert fleet sync >/dev/null
for order in freeze unfreeze freeze unfreeze; do centre $order >/dev/null; done
centre revoke-key "$(public lost)" >/dev/null
machine anna fleet sync >/dev/null
machine bert fleet sync >/dev/null
settled() { [ "$(sql "$pgdir" 'SELECT max(tree_size) FROM fleet.checkpoint')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ] && machine anna fleet sync >/dev/null && machine bert fleet sync >/dev/null; }
wait_for 30 settled
wait_for 30 settled
serve_stop front # what is changed now, nobody mends
deep() { centre audit --deep; }
ok "nothing was changed, and nothing is found" says 0 "Every row is what was received" deep

# changed WHAT TEXT SQL: it is found, and put back by what is behind.
changed() {
	sql "$pgdir" "$3" >/dev/null
	ok "$1: found" says 1 "$2" deep
	pg_back
}
# A copy of everything, to go back to.
sql_else() { (cd / && pg psql -h "$pgdir" -U postgres -d postgres -qtAX -v ON_ERROR_STOP=1 -c "$1") >/dev/null; }
sql_else "CREATE DATABASE copy TEMPLATE helm"
pg_back() { sql_else "DROP DATABASE helm WITH (FORCE)" && sql_else "CREATE DATABASE helm TEMPLATE copy"; }
one="lamport = 2 AND chain_id = (SELECT chain_id FROM fleet.receipt WHERE caption IS NOT NULL LIMIT 1)"
changed "a verdict" "receipt 2 is not what was received" "UPDATE fleet.receipt SET verdict = 1 WHERE $one"
for column in rtype reason rule tool principal decision_id; do
	changed "a $column" "receipt 2 is not what was received" "UPDATE fleet.receipt SET $column = 'x' WHERE $one"
done
changed "a time" "is not what was received" "UPDATE fleet.receipt SET at = at - interval '1 day' WHERE $one"
changed "a caption" "is not what was received" "UPDATE fleet.receipt SET caption = 'ls' WHERE caption IS NOT NULL"
changed "a hash" "receipt 2 is not the entry" "UPDATE fleet.receipt SET chain_hash = sha256('x') WHERE $one"
changed "a row that is gone" "receipts from" "DELETE FROM fleet.receipt WHERE $one"
changed "the last rows that are gone" "and the head is" "DELETE FROM fleet.receipt WHERE lamport = (SELECT max(lamport) FROM fleet.receipt)"
changed "the last rows, and the head set back" "are said to be in the log" "DELETE FROM fleet.receipt r USING fleet.chain c WHERE c.chain_id = r.chain_id AND r.lamport = c.head; DELETE FROM fleet.bundle; UPDATE fleet.chain SET head = head - 1, sequenced = sequenced - 1"
changed "what was received" "from receipt" "UPDATE fleet.bundle SET data = set_byte(data, 30, get_byte(data, 30) # 255)"
changed "what was received, removed" "bundles hold" "DELETE FROM fleet.bundle WHERE first = 1"
changed "another machine's frame" "is not what was received" "UPDATE fleet.bundle b SET data = o.data, raw = o.raw FROM fleet.bundle o WHERE b.chain_id <> o.chain_id AND b.first = 1 AND o.first = 1"
changed "an entry of the log" "are not what the tree was made of" "UPDATE fleet.tile SET data = set_byte(data, 5, get_byte(data, 5) # 255) WHERE level = -1"
changed "a tile" "they were changed" "UPDATE fleet.tile SET data = set_byte(data, 5, get_byte(data, 5) # 255) WHERE level = 0"
changed "which leaf is which" "is not the entry" "UPDATE fleet.span SET leaf_first = leaf_first + 1000; UPDATE fleet.span SET leaf_first = leaf_first - 999"
changed "an order" "order 2 is not there, or not as it was given" "UPDATE fleet.directive SET body = convert_to(replace(convert_from(body, 'UTF8'), 'unfreeze', 'freeze'), 'UTF8') WHERE seq = 2"
changed "an order that is gone" "order 3 is not there" "DELETE FROM fleet.directive WHERE seq = 3"
changed "the number of an order" "order 5 is not there" "UPDATE fleet.directive SET seq = 6 WHERE seq = 5"
changed "the kind beside an order" "order 2 is not there, or not as it was given" "UPDATE fleet.directive SET kind = 'freeze' WHERE seq = 2"
changed "the hash beside an order" "order 2 is not there, or not as it was given" "UPDATE fleet.directive SET hash = sha256('x') WHERE seq = 2"
changed "the newest order, removed" "order 5 was signed, and the newest here is 4" "DELETE FROM fleet.directive WHERE seq = 5; DELETE FROM fleet.revoked_key"
changed "all orders, removed" "order 5 was signed, and the newest here is 0" "DELETE FROM fleet.directive; DELETE FROM fleet.revoked_key"
keeper=$signer
signer=$scratch/nobody.sock
ok "without the keeper of the keys an audit says that it was not asked" says 0 "keeper of the keys was not asked" deep
changed "the newest orders, removed, and the keeper is away: machines have them on record" "order 5 is on record at" "DELETE FROM fleet.directive WHERE seq > 2; DELETE FROM fleet.revoked_key"
changed "another root key, and no order needs it: machines have pinned the first" "has pinned the root key $(public offline)" "UPDATE fleet.tenant SET root_key = '\\x$(public thief)'"
changed "no root key" "has pinned the root key $(public offline)" "UPDATE fleet.tenant SET root_key = NULL"
signer=$keeper
changed "the control key" "are not those that its keeper has" "UPDATE fleet.tenant SET control_vkey = log_vkey; DELETE FROM fleet.directive; DELETE FROM fleet.revoked_key"
changed "a revoked key that is good again" "it does not stand as revoked" "DELETE FROM fleet.revoked_key"
changed "a revoked key that was good for longer" "it stands as revoked since" "UPDATE fleet.revoked_key SET since = since + interval '1 hour'"
changed "a key that nobody revoked" "no order says so" "INSERT INTO fleet.revoked_key(tenant_id, key, since, seq) VALUES (1, sha256('x'), now(), 5)"
changed "a machine that went dark, hidden as retired" "no order says so" "UPDATE fleet.node SET retired_at = now(), retired_seq = 1"
sql "$pgdir" "UPDATE fleet.node SET seen_at = now() - interval '1 day', retired_at = now(), retired_seq = 1" >/dev/null
ok "and it stands as dark all the same" says 0 dark centre nodes
pg_back
sql "$pgdir" "UPDATE fleet.node SET seen_at = now()" >/dev/null
ok "when all is back, nothing is found" says 0 "Every row is what was received" deep

# More orders: the copy is made anew behind them.
more() { sql_else "DROP DATABASE copy WITH (FORCE)" && sql_else "CREATE DATABASE copy TEMPLATE helm"; }
sign() { env -i PATH="$PATH" HOME="$scratch/offline" "$HELM_REAL" fleet "$@" --origin ledger.test/acme; }
sign approvers sign "boss=$(public boss)" --root-key "$scratch/offline/.helm/keys/root.key" --serial 1 >list.json
centre approvers give "$scratch/list.json" >/dev/null
more
ok "a list that the root key has signed is no finding" says 0 "Every row is what was received" deep
changed "another root key than the one that signed a list" "names approvers whom the root key $(public thief) has not signed" "UPDATE fleet.tenant SET root_key = '\\x$(public thief)'"
sign root sign --root-key "$scratch/offline/.helm/keys/root.key" --new-key "$scratch/boss/.helm/keys/root.key" >statement.json
centre root give "$scratch/statement.json" >/dev/null
more
ok "nor is a root key that the one before has signed" says 0 "Every row is what was received" deep
changed "another root key than the orders made" "the orders made $(public boss) the root key" "UPDATE fleet.tenant SET root_key = '\\x$(public thief)'"
changed "the root key before, brought back" "the orders made $(public boss) the root key" "UPDATE fleet.tenant SET root_key = '\\x$(public offline)'"
printf '{"reason": "drill", "signed": {"message": "an act", "passkey": {}}}' | forge freeze
more
ok "what a person has signed, in one order, is no finding" says 0 "Every row is what was received" deep
printf '{"reason": "drill", "signed": {"message": "an act", "passkey": {}}}' | forge freeze
ok "in two it is" says 1 "order 9 carries what a person has signed for order 8" deep
finish

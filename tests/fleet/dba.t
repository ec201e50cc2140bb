#!/bin/sh
# dba.t — whoever has the database changes or removes rows: nothing of that stays unseen, and a pack of it proves no more than what machines signed.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
machine anna init >/dev/null 2>&1
centre token >anna.token
machine anna fleet join "$url" --token-file "$scratch/anna.token" --ship captions >/dev/null
act anna 4
machine anna fleet sync >/dev/null
machine_new bert >/dev/null
act bert 2
machine bert fleet sync >/dev/null
for order in freeze unfreeze freeze unfreeze; do centre $order >/dev/null; done
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
changed "a machine that went dark, hidden as retired" "no order says so" "UPDATE fleet.node SET retired_at = now(), retired_seq = 1"
sql "$pgdir" "UPDATE fleet.node SET seen_at = now() - interval '1 day', retired_at = now(), retired_seq = 1" >/dev/null
ok "and it stands as dark all the same" says 0 dark centre nodes
pg_back
sql "$pgdir" "UPDATE fleet.node SET seen_at = now()" >/dev/null
ok "when all is back, nothing is found" says 0 "Every row is what was received" deep
finish

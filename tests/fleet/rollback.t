#!/bin/sh
# rollback.t — machines that were set back or copied, a database that was set back: found, kept as evidence, told.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
new() { machine_new "$1" >/dev/null && act "$1" "$2" && machine "$1" fleet sync >/dev/null; }
state_of() { sql "$pgdir" "SELECT state FROM fleet.chain c JOIN fleet.node_key k USING (node_id) WHERE k.key = '\\x$(cat "$scratch/m/$1/.helm/keys/root.pub")' ORDER BY epoch DESC LIMIT 1"; }

# Set back, and silent.
new anna 2
cp -a "$scratch/m/anna" "$scratch/m/anna.old"
act anna 3
machine anna fleet sync >/dev/null
rm -rf "$scratch/m/anna"
cp -a "$scratch/m/anna.old" "$scratch/m/anna"
ok "a machine that was set back is told so" says 1 FLEET_ROLLED_BACK machine anna fleet sync
ok "the ledger has it as rolled back" [ "$(state_of anna)" = 3 ]
ok "the centre sees it red" says 0 red centre nodes
ok "what is missing on the machine is with the ledger" [ "$(sql "$pgdir" 'SELECT max(head) FROM fleet.chain')" -ge 5 ]
ok "doctor says so" says 1 "rolled back" machine anna doctor
ok "status says so" says 0 "rolled back" machine anna status

# Set back, and gone on.
act anna 4
ok "a machine that was set back and went on has forked" says 1 FLEET_FORK machine anna fleet sync
machine anna fleet sync >/dev/null
ok "the ledger keeps the other receipt, which proves it alone" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.fork")" = 1 ]
sql "$pgdir" "SELECT convert_from(receipt, 'UTF8') FROM fleet.fork" >fork.json
ok "it verifies under the machine's own key" helm verify fork.json --key "$(cat "$scratch/m/anna/.helm/keys/root.pub")"
ok "the chain is closed" [ "$(state_of anna)" = 2 ]
ok "nothing more of it is taken" says 1 STOPPED machine anna fleet sync
ok "a person begins again" machine anna fleet rejoin
ok "and all of the chain is sent, as the next epoch" says 0 "Sent" machine anna fleet sync
ok "which the ledger has whole" [ "$(sql "$pgdir" 'SELECT head FROM fleet.chain WHERE epoch = 2')" = "$(head_of anna)" ]

# Copied.
new bert 2
cp -a "$scratch/m/bert" "$scratch/m/clone"
sed -i "s|/m/bert/|/m/clone/|g" "$scratch/m/clone/.helm/fleet/joined.json"
act bert 1
machine bert fleet sync >/dev/null
act clone 2
ok "a copied home that goes on is a fork, too" says 1 FLEET_FORK machine clone fleet sync
act bert 1
ok "and stands as well: which of them is true a person decides" says 1 FLEET_FORK machine bert fleet sync

# State is a cache.
new carl 3
rm "$scratch/m/carl/.helm/fleet/state.json"
act carl 1
ok "without its state a machine asks how far the ledger is" says 0 "Sent" machine carl fleet sync
ok "and nothing is there twice" [ "$(sql "$pgdir" "SELECT count(*) - count(DISTINCT (chain_id, lamport)) FROM fleet.receipt")" = 0 ]

# The database is set back to a copy.
sequenced() { [ "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ] && [ "$(sql "$pgdir" 'SELECT max(tree_size) FROM fleet.checkpoint')" = "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" ]; }
wait_for 20 sequenced
serve_stop front
pg_stop "$pgdir"
cp -a "$pgdir/data" "$scratch/data.old"
pg_start "$pgdir"
port=$(echo "$url" | sed 's/.*://')
serve_start front
act carl 2
machine carl fleet sync >/dev/null
wait_for 20 sequenced
sleep 1
machine carl fleet sync >/dev/null
serve_stop front
pg_stop "$pgdir"
rm -rf "$pgdir/data"
cp -a "$scratch/data.old" "$pgdir/data"
pg_own "$pgdir/data"
pg_start "$pgdir"
serve_start front
act carl 1
machine carl fleet sync >carl.out 2>&1
ok "the machine sees that the ledger has forgotten, and says so" grep -q "ALARM FLEET_LOG" carl.out
ok "what the ledger lost is sent again" [ "$(sql "$pgdir" 'SELECT max(head) FROM fleet.chain c JOIN fleet.node n USING (node_id) WHERE epoch = 1 AND c.state = 1')" -ge 7 ]
ok "nothing is signed or folded in on top of it" sh -c "sleep 2; grep -q FLEET_ROLLED_BACK front.log"
finish

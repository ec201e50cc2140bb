#!/bin/sh
# kills.t — kill -9 of database, front end with its sequencer, signer and what sends: nothing acknowledged is lost, nothing is there twice, there is one tree.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
port=$(echo "$url" | sed 's/.*://')
machine_new anna >/dev/null
act anna 3
ok "all is well" again

act anna 2
pg_kill "$pgdir"
ok "the database is killed: 503, and the machine waits" says 1 "" sync_anna
pg_again "$pgdir"
ok "and goes on" again
act anna 2
(sync_anna >/dev/null 2>&1) &
pg_kill "$pgdir"
pg_again "$pgdir"
ok "killed while it is written to" again
act anna 2
(sync_anna >/dev/null 2>&1) &
sleep 0.05
kill -9 "$(cat front.pid)"
serve_start front
ok "the front end is killed with its sequencer" again
for i in 1 2; do
	act anna 2
	(sync_anna >/dev/null 2>&1) &
	sleep "0.$((i * 7 + 1))"
	kill -9 "$(cat front.pid)"
	serve_start front
done
ok "and again, at other moments" again
for i in 1 2; do
	act anna 2
	(cd "$scratch/m/anna" && exec env -i PATH="$PATH" HOME="$scratch/m/anna" setsid "$HELM_REAL" fleet sync >/dev/null 2>&1) &
	killed=$!
	sleep "0.0$((i * 2 + 1))"
	kill -9 -- "-$killed" 2>/dev/null
	wait $killed 2>/dev/null
done
ok "what sends is killed at any moment" again
act anna 2
kill -9 "$(cat signer.pid)"
ok "without the signer everything is taken" sync_anna
unsigned() { [ "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ] && [ "$(sql "$pgdir" 'SELECT max(tree_size) FROM fleet.checkpoint')" -lt "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" ]; }
ok "and folded in, and not signed" wait_for 20 unsigned
ok "audit tells that it is not signed" wait_for 10 says 1 "unsigned" centre audit
signer_start
ok "until it is back" again


ok "nothing was lost in all of this" sound anna
finish

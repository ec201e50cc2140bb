#!/bin/sh
# twice.t — two of everything, and a service that is killed: nothing acknowledged is lost, nothing is there twice, there is one tree.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
port=$(echo "$url" | sed 's/.*://')
machine_new anna >/dev/null
act anna 3
ok "all is well" again

front_port=$port
port=0
serve_start second
port=$front_port
ok "two front ends, two sequencers" again
act anna 6
machine anna fleet sync >a.out 2>&1 &
a=$!
machine anna fleet sync >b.out 2>&1 &
b=$!
wait $a $b
ok "two shippers of one machine" again
serve_stop second

# The shipper as a service, killed.
machine_env() { cd "$scratch/m/anna" && exec env -i PATH="$PATH" HOME="$scratch/m/anna" LC_ALL=C.UTF-8 "$HELM_REAL" fleet ship; }
machine_env >ship.log 2>&1 &
echo $! >ship.pid
act anna 1
sent() { [ "$(sql "$pgdir" 'SELECT max(head) FROM fleet.chain')" = "$(head_of anna)" ]; }
ok "a service sends by itself" wait_for 15 sent
kill -9 "$(cat ship.pid)"
act anna 2
machine_env >ship.log 2>&1 &
echo $! >ship.pid
ok "and goes on where it was killed" wait_for 15 sent
centre freeze --reason drill >/dev/null
ok "an order arrives by itself" wait_for 10 sh -c "grep -q '\"kind\":\"freeze\"' '$(chain_of anna)'"
centre unfreeze >/dev/null
wait_for 10 sh -c "grep -q '\"kind\":\"unfreeze\"' '$(chain_of anna)'"
kill "$(cat ship.pid)" 2>/dev/null
ok "all of it is there once" again
# A machine that has recorded nothing when its service starts.
url=http://127.0.0.1:$front_port
machine_new bert >/dev/null
(cd "$scratch/m/bert" && exec env -i PATH="$PATH" HOME="$scratch/m/bert" LC_ALL=C.UTF-8 "$HELM_REAL" fleet ship) >ship.log 2>&1 &
echo $! >ship.pid
heard() { [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.node WHERE beat IS NOT NULL")" = 2 ]; }
wait_for 20 heard
act bert 1
first() { [ "$(sql "$pgdir" "SELECT max(head) FROM fleet.chain c JOIN fleet.node_key k USING (node_id) WHERE k.key = '\\x$(cat "$scratch/m/bert/.helm/keys/root.pub")'")" = "$(head_of bert)" ]; }
ok "the first that a machine records is sent at once, and not with the next heartbeat" wait_for 15 first
kill "$(cat ship.pid)" 2>/dev/null

ok "nothing was lost in all of this" sound anna
finish

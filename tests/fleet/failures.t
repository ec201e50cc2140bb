#!/bin/sh
# failures.t — kills, cuts, a full disk, wrong clocks, two of everything: nothing acknowledged is lost, nothing is there twice, there is one tree.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
command -v python3 >/dev/null || skip_all "no python3"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
port=$(echo "$url" | sed 's/.*://')
echo pass >mode
python3 "$HELM_SOURCE/tests/fleet/proxy.py" 0 "$port" "$scratch/mode" >proxy.out 2>proxy.log &
echo $! >proxy.pid
wait_for 10 test -s proxy.out
url=http://127.0.0.1:$(cat proxy.out)
machine_new anna >/dev/null
act anna 3
sync_anna() { machine anna fleet sync; }
# whole: of every machine all receipts, each once, in one tree that is the one that was signed.
whole() {
	for m in "$@"; do
		key=$(cat "$scratch/m/$m/.helm/keys/root.pub")
		have=$(sql "$pgdir" "SELECT count(*) || ' ' || count(DISTINCT lamport) || ' ' || max(lamport) FROM fleet.receipt r JOIN fleet.chain c USING (chain_id) JOIN fleet.node_key k USING (node_id) WHERE k.key = '\\x$key'")
		n=$(head_of "$m")
		[ "$have" = "$n $n $n" ] || { echo "$m: $have of $n"; return 1; }
	done
	[ "$(sql "$pgdir" 'SELECT count(DISTINCT leaf_first), sum(n) FROM fleet.span')" = "$(sql "$pgdir" 'SELECT count(*) , (SELECT tree_size FROM fleet.log) FROM fleet.span')" ]
}
settled() { [ "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ] && [ "$(sql "$pgdir" 'SELECT max(tree_size) FROM fleet.checkpoint')" = "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" ]; }
sound() { wait_for 20 settled && whole "$@" && says 0 "Every chain is whole" centre audit; }
again() { wait_for 30 sync_anna && sound anna; }

ok "all is well" again
echo drop >mode
act anna 1
ok "the network is cut: the machine goes on and says so" says 1 "" sync_anna
ok "it can be seen" says 1 "Not reached" machine anna fleet status
echo pass >mode
ok "it is back" again
for n in 0 1 17 200 400; do
	act anna 1
	echo "cut $n" >mode
	sync_anna >/dev/null 2>&1
	echo pass >mode
	ok "answers cut after $n bytes" again
done
act anna 2
echo lose >mode
sync_anna >/dev/null 2>&1
echo pass >mode
ok "what arrived and was not answered is there once" again
act anna 1
echo stall >mode
sync_anna >stalled.out 2>&1 &
stalled=$!
sleep 1
echo pass >mode
wait $stalled
ok "a network that stands still for a while" again

# Kills.
act anna 2
pg_kill "$pgdir"
ok "the database is killed: 503, and the machine waits" says 1 "" sync_anna
wait_for 20 sh -c "! pgrep -f '$pgdir/data' >/dev/null"
rm -f "$pgdir/data/postmaster.pid"
pg_start "$pgdir"
ok "and goes on" again
act anna 2
(sync_anna >/dev/null 2>&1) &
pg_kill "$pgdir"
wait_for 20 sh -c "! pgrep -f '$pgdir/data' >/dev/null"
rm -f "$pgdir/data/postmaster.pid"
pg_start "$pgdir"
ok "killed while it is written to" again
act anna 2
(sync_anna >/dev/null 2>&1) &
sleep 0.05
kill -9 "$(cat front.pid)"
serve_start front
ok "the front end is killed with its sequencer" again
act anna 2
kill -9 "$(cat signer.pid)"
ok "without the signer everything is taken" sync_anna
ok "and folded in, and not signed" wait_for 10 sh -c "[ \"$(sql "$pgdir" 'SELECT 1')\" = 1 ]"
ok "audit tells that it is not signed" wait_for 10 says 1 "unsigned" centre audit
signer_start
ok "until it is back" again

# Two of everything.
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
kill "$(cat ship.pid)"
ok "all of it is there once" again

ok "nothing was lost in all of this" sound anna
finish

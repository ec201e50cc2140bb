#!/bin/sh
# failures.t — a network that is cut, stands still, or loses what is under way: nothing acknowledged is lost, nothing is there twice, there is one tree.
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


ok "nothing was lost in all of this" sound anna
finish

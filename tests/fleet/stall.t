#!/bin/sh
# stall.t — a database that stands still, one whose disk is full, and a signer that is away: machines are told to come again, nothing acknowledged is lost, nothing is there twice, there is one tree.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
command -v python3 >/dev/null || skip_all "no python3"

fleet_make
centre tenant add acme >/dev/null
mkdir between
echo pass >mode
python3 "$HELM_SOURCE/tests/fleet/proxy.py" "$scratch/between/.s.PGSQL.5432" "$pgdir/.s.PGSQL.5432" "$scratch/mode" >proxy.out 2>proxy.log &
echo $! >proxy.pid
wait_for 10 grep -q . proxy.out
env -i PATH="$PATH" HOME="$scratch/centre" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" serve fleet --database "host=$scratch/between dbname=helm user=helm_fleet" --signer "$signer" --patience 1 --port 0 >front.out 2>front.log &
echo $! >front.pid
wait_for 30 grep -q ready front.out || cat front.log
url=$(sed -n 's/.*"base_url":"\([^"]*\)".*/\1/p' front.out)
machine_new anna >/dev/null
act anna 2
machine anna fleet sync >/dev/null
settled() { [ "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ] && [ "$(sql "$pgdir" 'SELECT max(tree_size) FROM fleet.checkpoint')" = "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" ]; }
once() { n=$(head_of anna) && [ "$(sql "$pgdir" 'SELECT count(*) || count(DISTINCT lamport)::text || max(lamport) FROM fleet.receipt')" = "$n$n$n" ]; }
sound() { wait_for 30 machine anna fleet sync && wait_for 30 settled && once && says 0 "Every chain is whole" centre audit; }
ok "all is well" sound

# Every process of the cluster stops, as on a machine whose disk hangs: connections stay, and nobody answers.
postmaster=$(head -1 "$pgdir/data/postmaster.pid")
stop_all() { for p in $postmaster $(pgrep -P "$postmaster"); do kill "-$1" "$p"; done; }
act anna 2
stop_all STOP
ok "a database that stands still: the machine is told to come again" says 1 "503" machine anna fleet sync
ok "which is said where the server runs" grep -q "DB_STALLED\|DB_AWAY" front.log
stop_all CONT
ok "when it goes on, all is there once" sound

# It lets in whoever comes, and stands still at the first word: connections that were open are used up by the first who come.
act anna 2
echo greet >mode.new
mv mode.new mode
for i in 1 2 3; do
	ok "a database that lets in and stands still: told to come again ($i)" says 1 "503" machine anna fleet sync
done
echo pass >mode.new
mv mode.new mode
ok "when it hears again, all is there once" sound

# A lock that somebody forgot.
act anna 1
(cd / && pg psql -h "$pgdir" -U postgres -d helm -qX -c "BEGIN; LOCK TABLE fleet.chain IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(600)" >/dev/null 2>&1) &
locked() { [ "$(sql "$pgdir" "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'fleet.chain'::regclass")" = 1 ]; }
wait_for 20 locked
ok "a lock that is held for ever: the same" says 1 "503" machine anna fleet sync
sql "$pgdir" "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'fleet.chain'::regclass" >/dev/null
ok "and all is there once afterwards" sound

# No room: a file system of its own, where one can be had.
if [ "$(id -u)" -eq 0 ] && mkdir -p "$pgdir/small" && mount -t tmpfs -o size=2m,mode=0777 none "$pgdir/small" 2>/dev/null; then
	chown 65534:65534 "$pgdir/small"
	sql "$pgdir" "CREATE TABLESPACE small LOCATION '$pgdir/small'" >/dev/null
	for t in bundle receipt; do
		part=${t}_$(date -u +%Y_%m)
		sql "$pgdir" "ALTER TABLE fleet.$part SET TABLESPACE small" >/dev/null
	done
	dd if=/dev/zero of="$pgdir/small/fill" bs=4096 >/dev/null 2>&1
	i=0
	while [ $i -lt 60 ]; do
		machine anna run --profile workspace_edit -- true >/dev/null 2>&1
		i=$((i + 1))
	done
	ok "no room at the database: told to come again" says 1 "503" machine anna fleet sync
	ok "which is said where the server runs, too" grep -q DB_FULL front.log
	ok "nothing of it is half there" [ "$(sql "$pgdir" 'SELECT max(head) FROM fleet.chain')" = "$(sql "$pgdir" 'SELECT max(lamport) FROM fleet.receipt')" ]
	rm -f "$pgdir/small/fill"
	ok "with room again all is there once" sound
	serve_stop front
	pg_stop "$pgdir"
	umount -l "$pgdir/small"
else
	echo "# a full disk is not tried: no file system of our own can be mounted here"
fi
finish

#!/bin/sh
# backlog.t — a machine with many receipts that the ledger does not have: it sends them in bounded memory, is heard and hears orders meanwhile, says how many are left, and a kill costs nothing.
# shellcheck disable=SC2317,SC2016,SC2034,SC2154
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
command -v python3 >/dev/null || skip_all "no python3"

RECEIPTS=30000 MOST_KIB=65536
if grep -q __asan_init "$HELM_REAL"; then MOST_KIB=10000000; fi # a sanitizer keeps what was freed
store=$HELM_BUILD/tests/store_tool peak=$HELM_BUILD/tests/peak_tool

fleet_make
centre tenant add acme >/dev/null
serve_start front HELM_LIMIT_NODE=0 || exit 1
# long NAME: joined, with so many receipts that were never sent.
long() {
	machine_new "$1" >"$1.join" 2>&1 || cat "$1.join"
	"$store" "$scratch/m/$1/.helm/workspace/.helm" "$scratch/m/$1/.helm/keys" "$RECEIPTS" 0 2000000
}
# Of a machine: receipts here, those in the ledger, those that its status says are left, and its contact.
head_there() { cat "$scratch/m/$1/.helm/workspace/.helm"/receipts*.jsonl | grep -c .; }
there() { sql "$pgdir" "SELECT coalesce(max(c.head), 0) FROM fleet.chain c JOIN fleet.node_key k USING (node_id) WHERE k.key = '\\x$(cat "$scratch/m/$1/.helm/keys/root.pub")'"; }
left() { machine "$1" fleet status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["backlog"]["waiting"])'; }
contact() { machine "$1" fleet status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["state"].get("contact", "never"))'; }
# Every receipt of the machine is in the ledger, each once.
each_once() {
	n=$(head_there "$1")
	[ "$(sql "$pgdir" "SELECT count(*) || ' ' || count(DISTINCT r.lamport) || ' ' || max(r.lamport) FROM fleet.receipt r JOIN fleet.chain c USING (chain_id) JOIN fleet.node_key k USING (node_id) WHERE k.key = '\\x$(cat "$scratch/m/$1/.helm/keys/root.pub")'")" = "$n $n $n" ]
}
ship_start() {
	(cd "$scratch/m/$1" && exec env -i PATH="$PATH" HOME="$scratch/m/$1" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$peak" "$scratch/$1.peak" "$HELM_REAL" fleet ship >/dev/null 2>"$scratch/$1.ship") &
	echo $! >"$1.pid"
}
# The process that sends: what peak_tool has started.
sender() { pgrep -P "$(cat "$1.pid")"; }
# so_many NAME FROM TO: it is in the middle of it.
so_many() { n=$(there "$1") && [ "$n" -ge "$2" ] && [ "$n" -lt "$3" ]; }
at_least() { [ "$(there "$1")" -ge "$2" ]; }
says_nothing() { [ ! -s "$1" ] || { cat "$1"; return 1; }; }
shipped() { [ "$(left "$1")" = 0 ] && each_once "$1"; }

# ---- one command sends all of it ----

long anna
before=$(head_there anna)
ok "before anything was sent, status counts what is recorded" [ "$(left anna)" = "$before" ]
ok "and says it to people" says 0 "Backlog: $before receipts to send" machine anna fleet status
ok "the centre does not say that nothing is missing before it was told" sh -c '"$@" | grep -q " ?  *0 *$"' sh env -i PATH="$PATH" HOME="$scratch/centre" HELM_FLEET_DATABASE="$db" "$HELM_REAL" fleet nodes
(cd "$scratch/m/anna" && env -i PATH="$PATH" HOME="$scratch/m/anna" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$peak" "$scratch/anna.peak" "$HELM_REAL" fleet sync) >sync.out 2>&1
ended=$?
ok "sync sends a backlog that takes many rounds" [ "$ended" = 0 ]
sent=$(sed -n 's/^Sent \([0-9]*\) receipts.*/\1/p' sync.out)
ok "and says how many it sent, with what it recorded meanwhile ($sent)" [ "$sent" = "$(head_there anna)" ]
ok "each of them is there once" each_once anna
ok "nothing is left then" says 0 "Backlog: 0 receipts to send" machine anna fleet status
ok "it took at most 64 MiB ($(cat anna.peak) KiB)" [ "$(cat anna.peak)" -le $MOST_KIB ]
ok "a search that is cut says so" says 0 "the newest 5; there are more, with --limit N, up to 10000" centre search --limit 5
ok "also at the largest limit" says 0 "the newest 10,000; there are more, of a shorter time with --since" centre search --limit 10000
# audit_deep: every row against what was received; the most memory that it had is in audit.peak.
audit_deep() { (cd / && env -i PATH="$PATH" HOME="$scratch/centre" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" HELM_FLEET_DATABASE="$db" HELM_FLEET_SIGNER="$signer" "$peak" "$scratch/audit.peak" "$HELM_REAL" fleet audit --deep); }
wait_for 30 settled
ok "the audit of everything holds" says 0 "Every row is what was received" audit_deep
ok "in at most 64 MiB ($(cat audit.peak) KiB)" [ "$(cat audit.peak)" -le $MOST_KIB ]

# ---- the service: heard and hearing meanwhile, killed in the middle ----

long bert
before=$(head_there bert)
ship_start bert
ok "the first contact is early" wait_for 60 sh -c '[ "$(sed -n "s/.*\"contact\": *\"\([^\"]*\)\".*/\1/p" "$1")" ]' sh "$scratch/m/bert/.helm/fleet/state.json"
ok "before all of it is sent" so_many bert 1 "$before"
now=$(left bert)
ok "status says how many are left while it sends ($now)" sh -c '[ "$1" -gt 0 ] && [ "$1" -lt "$2" ]' sh "$now" "$before"
ok "and when the ledger was reached" [ "$(contact bert)" != never ]
ok "the centre knows the same" wait_for 20 sh -c '"$@" | grep -Eq " [1-9][0-9]{3,} +0 *$"' sh env -i PATH="$PATH" HOME="$scratch/centre" HELM_FLEET_DATABASE="$db" "$HELM_REAL" fleet nodes
kill -9 "$(sender bert)"
wait "$(cat bert.pid)" 2>/dev/null
killed=$(there bert)
ok "it was killed in the middle ($killed of $before)" sh -c '[ "$1" -gt 0 ] && [ "$1" -lt "$2" ]' sh "$killed" "$before"
kept=$(machine bert fleet status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["backlog"]["chains"][0]["acked"])')
ok "what was acknowledged until a moment before is on disk ($kept)" sh -c '[ "$1" -gt 0 ] && [ "$1" -le "$2" ] && [ "$1" -ge $(($2 - 3 * 4096)) ]' sh "$kept" "$killed"
ship_start bert
wait_for 30 at_least bert $((killed + 1))
centre freeze --reason in-the-middle >/dev/null
ok "a freeze is obeyed" wait_for 30 grep -q in-the-middle "$scratch/m/bert/.helm/workspace/.helm/receipts.jsonl"
at=$(there bert)
ok "before all of it is sent ($at of $before)" [ "$at" -lt "$before" ]
ok "all of it is sent in the end" wait_for 120 shipped bert
kill "$(sender bert)"
wait "$(cat bert.pid)" 2>/dev/null
ok "it took at most 64 MiB ($(cat bert.peak) KiB)" [ "$(cat bert.peak)" -le $MOST_KIB ]
ok "it had nothing to complain of" says_nothing bert.ship
again_bert() { machine bert fleet sync >/dev/null; shipped bert; }
ok "nothing was lost or is there twice" again_bert
machine anna fleet sync >/dev/null
settled_now() { wait_for 60 settled; }
ok "there is one tree of it" settled_now
ok "and every chain is whole" says 0 "Every chain is whole" centre audit

# ---- at the centre ----

log_key=$(sql "$pgdir" "SELECT log_vkey FROM fleet.tenant")
env -i PATH="$PATH" HOME="$scratch/centre" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" HELM_FLEET_DATABASE="$db" "$peak" "$scratch/export.peak" "$HELM_REAL" fleet export --out "$scratch/fleet.pack" >export.out 2>&1
ok "a pack of all of it takes at most 64 MiB to make ($(cat export.peak) KiB)" [ "$(cat export.peak)" -le $MOST_KIB ]
ok "and holds every receipt" grep -Eq "^receipts +$(sql "$pgdir" "SELECT sum(head) FROM fleet.chain")$" export.out
ok "which hold" says 0 ADMISSIBLE env -i PATH="$PATH" HOME="$scratch/auditor" "$HELM_REAL" verify "$scratch/fleet.pack" --log-key "$log_key"
front_kib() { sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$(cat front.pid)/status"; }
ok "the front end took at most 64 MiB ($(front_kib) KiB)" [ "$(front_kib)" -le $MOST_KIB ]

# ---- a ledger that lets this machine in less often than it asks ----

serve_stop front
port=$(echo "$url" | sed 's/.*://')
serve_start front HELM_LIMIT_NODE=10/20 || exit 1
"$store" "$scratch/m/anna/.helm/workspace/.helm" "$scratch/m/anna/.helm/keys" 12000 0 2000000
ok "who is asked to slow down goes on" says 0 "Backlog: 0 receipts" machine anna fleet sync
ok "and has sent everything" each_once anna
finish

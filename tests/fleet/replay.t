#!/bin/sh
# replay.t — a heartbeat counts once: captured and sent again, held back or overtaken, it is refused and changes nothing.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
for tool in python3 openssl zstd; do command -v $tool >/dev/null || skip_all "no $tool"; done

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
for m in anna old; do
	machine $m init >/dev/null 2>&1
	centre token --tenant acme >$m.token
	machine $m fleet join "$url" --token-file "$scratch/$m.token" >/dev/null
	act $m 3
	machine $m fleet sync >/dev/null
done
bad() {
	m=$1
	shift
	python3 "$HELM_SOURCE/tests/fleet/hostile.py" "$url" ledger.test/acme "$scratch/m/$m" "$@" 2>&1
}
gets() { # gets "STATUS CODE" MACHINE VERB...: the last answer
	want=$1
	shift
	got=$(bad "$@" | tail -1)
	case $got in "$want"*) return 0 ;; esac
	echo "$got"
	return 1
}
state() { sql "$pgdir" "SELECT n.seen_at, n.skew_ms, n.order_seen, encode(sha256(n.beat), 'hex'), n.beat_us, c.local_head, c.state, c.seen_at FROM fleet.node n JOIN fleet.chain c USING (node_id) ORDER BY n.node_id, c.chain_id"; }
stays() { # stays "STATUS CODE" MACHINE VERB...: refused, and nothing is another
	before=$(state)
	gets "$@" || return 1
	[ "$before" = "$(state)" ] || { state; return 1; }
}
now() { date +%s%6N; }
is_at() { [ "$(sql "$pgdir" "SELECT max(beat_us) FROM fleet.node n JOIN fleet.chain USING (node_id) WHERE session_id = '$1'")" = "$2" ]; }
session=$(sed -n '1s/.*"session_id":"\([^"]*\)".*/\1/p' m/anna/.helm/workspace/.helm/receipts.jsonl)
head=$(head_of anna)

number=$(now)
ok "a heartbeat is taken" gets 200 anna beat "$number" "$head" 0 1
ok "its number is kept" is_at "$session" "$number"
ok "the same bytes again are refused, and change nothing" stays "409 FLEET_REPLAY" anna beat "$number" "$head" 0 1
ok "signed anew, too" stays "409 FLEET_REPLAY" anna beat "$number" "$head" 1 1
ok "so is one that was held back" stays "409 FLEET_REPLAY" anna beat "$((number - 1))" "$head" 0 1
ok "and one that would set the machine back" stays "409 FLEET_REPLAY" anna beat "$((number - 1000000))" 1 0 1
ok "twice in one go: the second is refused" sh -c '[ "$(cut -d" " -f1 "$1" | tr "\n" " ")" = "200 409 " ]' sh "$(bad anna beat "$(now)" "$head" 0 2 >twice; echo twice)"
ok "the chain is not taken for one that was set back" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.chain WHERE state <> 1")" = 0 ]
for what in '"7"' 0 -1 1.5 null '[]' 99999999999999999999; do
	ok "$what is no number of one" stays "400 BAD_REQUEST" anna beat "$what" "$head" 0 1
done
ok "a newer one is taken" gets 200 anna beat "$(now)" "$head" 0 1

# One of before: it has no number, and its signed time counts.
head=$(head_of old)
sql "$pgdir" "UPDATE fleet.node SET beat_us = 0 WHERE beat_us = (SELECT max(beat_us) FROM fleet.node n JOIN fleet.chain USING (node_id) WHERE session_id <> '$session')" >/dev/null
ok "a heartbeat of an older helm is taken" gets 200 old beat none "$head" 0 1
ok "and refused when it comes again" sh -c '[ "$(cut -d" " -f1 "$1" | tr "\n" " ")" = "200 409 " ]' sh "$(bad old beat none "$head" 2 2 >twice; echo twice)"
ok "or late" stays "409 FLEET_REPLAY" old beat none "$head" -5 1
ok "its next one is taken" gets 200 old beat none "$head" 60 1

# The machine itself: each of its heartbeats is newer, also when it has lost what it knew, or its number lies before the ledger's.
count_beats() { sql "$pgdir" "SELECT count(DISTINCT beat_us) FROM fleet.node"; }
beats() { # beats MACHINE: it syncs, and the ledger has a newer number
	was=$(sql "$pgdir" "SELECT string_agg(beat_us::text, ' ' ORDER BY node_id) FROM fleet.node")
	machine "$1" fleet sync >sync.out 2>&1 || { cat sync.out; return 1; }
	[ "$was" != "$(sql "$pgdir" "SELECT string_agg(beat_us::text, ' ' ORDER BY node_id) FROM fleet.node")" ]
}
ok "a machine goes on" beats anna
ok "and again at once" beats anna
rm -f m/anna/.helm/fleet/state.json
ok "without its state" beats anna
sql "$pgdir" "UPDATE fleet.node SET beat_us = $(now) + 3600000000" >/dev/null
ok "behind a ledger whose clock was ahead" beats anna
ok "and then further" beats anna
fleet_end
finish

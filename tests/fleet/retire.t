#!/bin/sh
# retire.t — a machine that is gone is no longer dark, and what it sent stays and can be proven; a statement at the centre has an end; so has a question.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
command -v python3 >/dev/null || skip_all "no python3"
[ -x "$HELM_TWIN" ] || skip_all "helm-test is not built"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
for m in anna bert carl; do machine_new "$m" >/dev/null; act "$m" 2; machine "$m" fleet sync >/dev/null; done
node_of() { sed -n 's/.*"node": *"\([0-9]*\)".*/\1/p' "$scratch/m/$1/.helm/fleet/joined.json"; }
stands() { centre nodes --json | python3 -c 'import json, sys; print("".join(n["standing"] for n in json.load(sys.stdin) if n["node"] == sys.argv[1]))' "$(node_of "$1")"; }
receipts_of() { sql "$pgdir" "SELECT head FROM fleet.chain WHERE node_id = $(node_of "$1")"; }

# One that is gone: nobody obeys, and nobody waits for it.
sql "$pgdir" "UPDATE fleet.node SET seen_at = now() - interval '2 days'" >/dev/null
ok "machines that are not heard are dark" [ "$(stands bert)" = dark ]
ok "which the audit says" says 1 "not heard for" centre audit
ok "only a machine of the fleet is retired" says 1 "no machine 12" centre retire 12
ok "nor without saying which" says 2 "" centre retire
ok "one of them is retired" says 0 "is given" centre retire "$(node_of bert)" --reason "sold"
ok "and stands as retired" [ "$(stands bert)" = retired ]
ok "the others do not" [ "$(stands anna)" = dark ]
ok "the audit counts it" says 1 '"retired": 1' centre audit --json
ok "and does not call it dark" [ "$(centre audit --json | python3 -c 'import json, sys; print(sum(f["kind"] == "dark" for f in json.load(sys.stdin)["findings"]))')" = 2 ]
ok "its record stays" [ "$(receipts_of bert)" = "$(head_of bert)" ]
centre freeze >/dev/null
meant() { centre orders --json | python3 -c 'import json, sys; print([o["meant"] for o in json.load(sys.stdin) if o["kind"] == sys.argv[1]][0])' "$1"; }
ok "later orders are not meant for it" [ "$(meant freeze)" = 2 ]
centre unfreeze >/dev/null

# One that still runs: it records the order, sends what it has, and that is its end.
act carl 1
centre retire "$(node_of carl)" >/dev/null
act carl 1
ok "a machine that is there hears it, and sends what it has" machine carl fleet sync
ok "it is on record there" grep -q '"kind":"retire"' "$(chain_of carl)"
ok "all of it is in the ledger, its confirmation, too" [ "$(receipts_of carl)" = "$(head_of carl)" ]
ok "which the centre counts" [ "$(centre orders --json | python3 -c 'import json, sys; print([o["obeyed"] for o in json.load(sys.stdin) if o["kind"] == "retire"][0])')" = 1 ]
at_end=$(receipts_of carl)
act carl 1
machine carl fleet sync >/dev/null 2>&1
ok "nothing more of it is taken" [ "$(receipts_of carl)" = "$at_end" ]
ok "and it says why" says 1 "retired by the centre" machine carl fleet status
machine anna fleet sync >/dev/null
ok "others go on" [ "$(receipts_of anna)" = "$(head_of anna)" ]

# One with two workspaces: both confirm, and both are taken whole.
machine_new emil >/dev/null
mkdir -p "$scratch/m/emil/second"
machine emil init --path second >/dev/null 2>&1
machine emil fleet join --path second >/dev/null 2>&1
rows_of() { sql "$pgdir" "SELECT coalesce(sum(head), 0) FROM fleet.chain WHERE node_id = $(node_of "$1")"; }
two_of() { cat "$(chain_of emil)" "$scratch/m/emil/second/.helm/receipts.jsonl" | grep -c .; }
act emil 1
machine emil freeze --path second >/dev/null 2>&1
machine emil fleet sync >/dev/null
ok "a machine sends two chains" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.chain WHERE node_id = $(node_of emil)")" = 2 ]
act emil 1
centre retire "$(node_of emil)" >/dev/null
machine emil fleet sync >/dev/null 2>&1
ok "each of them has the order" [ "$(cat "$(chain_of emil)" "$scratch/m/emil/second/.helm/receipts.jsonl" | grep -c '"kind":"retire"')" = 2 ]
ok "and each is taken to its end, the confirmation of the second, too" [ "$(rows_of emil)" = "$(two_of)" ]
act emil 1
machine emil fleet sync >/dev/null 2>&1
ok "then nothing more is" [ "$(rows_of emil)" = "$(($(two_of) - 1))" ]

# An auditor sees that it was ordered, and every receipt.
settled() { [ "$(sql "$pgdir" 'SELECT max(tree_size) FROM fleet.checkpoint')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ]; }
wait_for 30 settled
centre export --out "$scratch/fleet.pack" >/dev/null
key=$(sql "$pgdir" "SELECT log_vkey FROM fleet.tenant")
ok "the pack verifies, with the chains of both" says 0 "ADMISSIBLE" machine anna verify "$scratch/fleet.pack" --log-key "$key"
ok "and with the order" grep -aq '"kind":"retire"' fleet.pack

# Its token is the centre's word: it may come back.
centre token >carl.token
mkdir -p boss "$scratch/m/carl/.helm/trust"
env -i HOME="$scratch/boss" "$HELM_REAL" key create >/dev/null
printf '{"keys": [{"public_key_hex": "%s"}]}' "$(cat boss/.helm/keys/root.pub)" >"$scratch/m/carl/.helm/trust/approvers.json"
machine carl fleet leave --key "$scratch/boss/.helm/keys/root.key" >leave.out 2>&1 || cat leave.out
ok "with a new token it joins again" machine carl fleet join "$url" --token-file "$scratch/carl.token"
machine carl fleet sync >/dev/null 2>&1
ok "and stands as others do" [ "$(stands carl)" != retired ]
ok "no order of before stands beside it" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.node WHERE node_id = $(node_of carl) AND retired_seq IS NULL AND retired_at IS NULL")" = 1 ]
centre freeze >/dev/null
machine carl fleet sync >/dev/null 2>&1
ok "orders are for it again, and it confirms them" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.receipt r JOIN fleet.directive d ON r.rule = 'order:' || encode(d.hash, 'hex') JOIN fleet.chain c USING (chain_id) WHERE d.seq = (SELECT max(seq) FROM fleet.directive) AND c.node_id = $(node_of carl)")" = 1 ]
centre unfreeze >/dev/null
machine carl fleet sync >/dev/null 2>&1
ok "with everything that it recorded meanwhile" [ "$(receipts_of carl)" = "$(head_of carl)" ]
ok "the token is used up by that" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.join_token WHERE uses_left > 0")" = 0 ]

# A statement has an end.
(cd / && pg psql -h "$pgdir" -U postgres -d helm -qX -c "BEGIN; LOCK TABLE fleet.node, fleet.directive IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(600)" >/dev/null 2>&1) &
locked() { [ "$(sql "$pgdir" "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'fleet.node'::regclass")" = 1 ]; }
wait_for 20 locked
impatient() { HELM_FLEET_PATIENCE=1 centre_patient "$@"; }
centre_patient() {
	env -i PATH="$PATH" HOME="$scratch/centre" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" HELM_FLEET_PATIENCE="$HELM_FLEET_PATIENCE" HELM_FLEET_DATABASE="$db" HELM_FLEET_SIGNER="$signer" timeout 60 "$HELM_REAL" fleet "$@"
}
for c in nodes audit orders freeze; do
	ok "a table that is locked for ever: $c gives up, and says so" says 1 "not done it within 1 s" impatient "$c"
done
sql "$pgdir" "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'fleet.node'::regclass" >/dev/null
HELM_FLEET_PATIENCE=soon
ok "patience is a number" says 2 "HELM_FLEET_PATIENCE takes seconds" centre_patient nodes
ok "afterwards all is as before" says 0 "$(node_of anna)" centre nodes

# A question that names an end in a hundred years.
machine dora init >/dev/null 2>&1
centre token >dora.token
machine dora fleet join "$url" --token-file "$scratch/dora.token" --ship questions >/dev/null
far=$((($(date +%s) + 100 * 365 * 86400) * 1000000))
printf '{"tool_name":"Bash","tool_input":{"command":"rm -rf main"},"session_id":"s","cwd":"%s"}' "$scratch/m/dora" |
	(cd "$scratch/m/dora" && env -i PATH="$PATH" HOME="$scratch/m/dora" HELM_TEST_CLOCK_US=$far python3 "$HELM_SOURCE/tests/tools/agent.py" "$HELM_TWIN" hook pre-tool --client claude-code) >/dev/null 2>&1
machine dora fleet sync >/dev/null
ok "it waits at the centre" says 0 "rm -rf main" centre questions
ok "for thirty days at most" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.asked WHERE expires_at <= now() + interval '30 days'")" = 1 ]
sql "$pgdir" "UPDATE fleet.asked SET expires_at = expires_at - interval '500 days'" >/dev/null
helm serve fleet retain --database "host=$pgdir dbname=helm user=postgres" >/dev/null
ok "and is removed when that is long over" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.asked")" = 0 ]
finish

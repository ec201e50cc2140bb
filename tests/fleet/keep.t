#!/bin/sh
# keep.t — search and captions, the projection made again, old months detached with their proofs kept, the log as files, a rotated key, a machine that leaves.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
owner() { env -i PATH="$PATH" HOME="$scratch/centre" "$HELM_REAL" serve fleet "$@" --database "host=$pgdir dbname=helm user=postgres"; }

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
machine anna init >/dev/null 2>&1
centre token >anna.token
machine anna fleet join "$url" --token-file "$scratch/anna.token" --ship captions >/dev/null
machine_new bert >/dev/null
act anna 2
act bert 2
machine anna run --profile workspace_edit -- true >/dev/null 2>&1
machine anna fleet sync >/dev/null
machine bert fleet sync >/dev/null

ok "what was stopped is found" says 0 "deny.rm_root" centre search --stopped
ok "a caption is the redacted preview, where it is shipped" says 0 "rm -rf /etc/1" centre search --text "/etc/1"
ok "a run has one, too" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.receipt WHERE caption = 'true'")" -ge 1 ]
ok "and where it is not, there is none" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.receipt r JOIN fleet.chain c USING (chain_id) JOIN fleet.node_key k USING (node_id) WHERE caption IS NOT NULL AND k.key = '\\x$(cat "$scratch/m/bert/.helm/keys/root.pub")'")" = 0 ]
ok "of one machine only" says 0 "Nothing was found" centre search --node 1
ok "by principal" says 0 agent:claude-code centre search --principal agent:claude-code --limit 1
ok "host and user come with the key" says 0 "$(hostname)" centre nodes

# By a token, without the database.
centre reader add tom >tom.token
reader() { env -i PATH="$PATH" HOME="$scratch/reader" LC_ALL=C.UTF-8 "$HELM_REAL" fleet "$@" --url "$url" --token-file "$scratch/tom.token"; }
view() { curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $1" -H 'Content-Type: application/json' -d "$2" "$url/v1/fleet/view/$3"; }
ok "over HTTP the same is found" sh -c 'test "$1" = "$2" && test -n "$1"' sh "$(reader search --stopped --json)" "$(centre search --stopped --json)"
ok "by what was asked for" says 0 "rm -rf /etc/1" reader search --text "/etc/1"
ok "machines and orders, too" says 0 "$(hostname)" reader nodes
ok "nothing that is wrong is passed on" [ "$(view "$(cat tom.token)" '{"node":"x; DROP"}' search)" = 400 ]
ok "and no other view" [ "$(view "$(cat tom.token)" '{}' token)" = 404 ]
ok "without a token nothing" [ "$(view '' '{}' search)" = 401 ]
sed 's/.$/x/' tom.token >bad.token
ok "nor with another" [ "$(view "$(cat bad.token)" '{}' search)" = 401 ]
centre reader revoke tom >/dev/null
ok "nor with one that was revoked" says 1 "opens nothing" reader search
ok "which the centre shows" says 0 tom centre reader list

sql "$pgdir" "SELECT chain_id, lamport, received_at, at, chain_hash, verdict, rtype, reason, rule, tool, principal, decision_id, caption FROM fleet.receipt ORDER BY 1, 2" >before
ok "the projection is made again" owner rebuild
sql "$pgdir" "SELECT chain_id, lamport, received_at, at, chain_hash, verdict, rtype, reason, rule, tool, principal, decision_id, caption FROM fleet.receipt ORDER BY 1, 2" >after
ok "there is something in it" [ "$(grep -c . before)" -ge 5 ]
ok "and is what it was" cmp before after
sql "$pgdir" "DELETE FROM fleet.receipt WHERE lamport = 2"
ok "a hole in it is found" says 1 gap centre audit
owner rebuild >/dev/null
sql "$pgdir" "SELECT chain_id, lamport, received_at, at, chain_hash, verdict, rtype, reason, rule, tool, principal, decision_id FROM fleet.receipt ORDER BY 1, 2" >after
sed 's/|[^|]*$//' before >without-captions
ok "and mended, all but the captions of what was lost" cmp without-captions after

settled() { [ "$(sql "$pgdir" 'SELECT max(tree_size) FROM fleet.checkpoint')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ]; }
wait_for 15 settled
ok "the log is written as files" says 0 leaves env -i PATH="$PATH" HOME="$scratch/centre" HELM_FLEET_DATABASE="$db" "$HELM_REAL" serve fleet tiles "$scratch/tiles"
n=$(sed -n 2p tiles/checkpoint)
curl -sf "$url/log/acme/tile/0/000.p/$n" >tile
ok "the same as over HTTP" cmp tile "tiles/tile/0/000.p/$n"
ok "a tile that is not there is not" [ "$(curl -s -o /dev/null -w '%{http_code}' "$url/log/acme/tile/0/001")" = 404 ]
sql "$pgdir" "UPDATE fleet.tile SET data = set_byte(data, 4, get_byte(data, 4) # 255) WHERE level = 0"
ok "a changed tile is found" says 1 "were changed" centre audit
sql "$pgdir" "UPDATE fleet.tile SET data = '\\x$(od -An -v -tx1 tile | tr -d ' \n')' WHERE level = 0"

# Old months.
sql "$pgdir" "SET ROLE helm_owner; CREATE TABLE fleet.bundle_2020_01 PARTITION OF fleet.bundle FOR VALUES FROM ('2020-01-01Z') TO ('2020-02-01Z'); CREATE TABLE fleet.receipt_2020_01 PARTITION OF fleet.receipt FOR VALUES FROM ('2020-01-01Z') TO ('2020-02-01Z')"
sql "$pgdir" "UPDATE fleet.bundle SET received_at = '2020-01-15Z' WHERE first = 1; UPDATE fleet.receipt r SET received_at = '2020-01-15Z' FROM fleet.bundle b WHERE b.chain_id = r.chain_id AND b.first = 1 AND r.lamport <= b.n"
sql "$pgdir" "INSERT INTO fleet.asked SELECT tenant_id, chain_id, x.id, 1, '{}', now() - x.days * interval '1 day', now() - x.days * interval '1 day' FROM fleet.chain, (VALUES ('old', 401), ('recent', 399)) x(id, days); INSERT INTO fleet.settled SELECT tenant_id, chain_id, x.id, 2 FROM fleet.chain, (VALUES ('old'), ('recent'), ('of nothing')) x(id)" >/dev/null
size=$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')
ok "months that are old are detached" says 0 receipt_2020_01 owner retain --days 400
ok "questions whose time was over then are gone, and no others" [ "$(sql "$pgdir" 'SELECT DISTINCT approval_id FROM fleet.asked')" = recent ]
ok "and so are their answers" [ "$(sql "$pgdir" 'SELECT DISTINCT approval_id FROM fleet.settled')" = recent ]
act bert 1
ok "machines do not notice" says 0 "Sent" machine bert fleet sync
wait_for 15 settled
ok "the tree has all of it" [ "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" -gt "$size" ]
ok "and the audit nothing to say about it" says 0 "Every chain is whole" centre audit

# Keys and leaving.
mkdir -p boss "$scratch/m/anna/.helm/trust"
env -i HOME="$scratch/boss" "$HELM_REAL" key create >/dev/null
printf '{"keys": [{"public_key_hex": "%s"}]}' "$(cat boss/.helm/keys/root.pub)" >"$scratch/m/anna/.helm/trust/approvers.json"
machine anna key rotate --reason test --key "$scratch/boss/.helm/keys/root.key" >/dev/null
act anna 2
ok "a rotated key is introduced by itself" says 0 "Sent" machine anna fleet sync
ok "and what it signed is there" [ "$(sql "$pgdir" 'SELECT count(DISTINCT key_order) FROM fleet.chain')" = 2 ]
ok "a person leaves" says 0 "Left ledger.test/acme" machine anna fleet leave --key "$scratch/boss/.helm/keys/root.key"
ok "the ledger was told" [ "$(sql "$pgdir" "SELECT count(*) FROM fleet.receipt WHERE tool = 'helm.fleet/leave'")" = 1 ]
ok "and nothing is left here" says 0 "joined no fleet" machine anna fleet status
ok "how to join is said there" says 0 "helm fleet join URL --token-file FILE" machine anna fleet status
ok "and to who joins without saying what" says 1 "helm fleet join URL --token-file FILE" machine anna fleet join
finish

#!/bin/sh
# slice.t — from an empty database to a signed checkpoint over what one machine recorded.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"

fleet_make
newest=$(find "$HELM_SOURCE/share/fleet" -name '[0-9]*.sql' | wc -l)
ok "a second migrate changes nothing" says 0 "version $newest (it was at $newest)" helm serve fleet migrate --database "host=$pgdir dbname=helm user=postgres"
ok "a tenant has a log and keys of its own" says 0 "log vkey" centre tenant add acme
ok "a front end starts" serve_start front

machine anna init >/dev/null 2>&1
act anna 3
ok "without a token nobody joins" says 1 "no token" sh -c "echo hft_x >bad; env -i PATH='$PATH' HOME='$scratch/m/anna' '$HELM_REAL' fleet join '$url' --token-file bad --path '$scratch/m/anna/.helm/workspace'"
centre token >anna.token
ok "a machine joins with a token" says 0 "Joined ledger.test/acme" machine anna fleet join "$url" --token-file "$scratch/anna.token"
machine bert init >/dev/null 2>&1
ok "a token is good for one machine" says 1 "used up" machine bert fleet join "$url" --token-file "$scratch/anna.token"
ok "what is recorded is sent" says 0 "Sent $(head_of anna) receipts" machine anna fleet sync
ok "every receipt is there" [ "$(sql "$pgdir" 'SELECT count(*) FROM fleet.receipt')" = "$(head_of anna)" ]
sequenced() { [ "$(sql "$pgdir" 'SELECT tree_size FROM fleet.log')" = "$(sql "$pgdir" 'SELECT sum(head) FROM fleet.chain')" ]; }
ok "all of it is in the tree within a few seconds" wait_for 10 sequenced
ok "the tree is signed" wait_for 10 sh -c "curl -sf $url/log/acme/checkpoint | grep -q '— ledger.test/acme '"
ok "what was seen of the log is recorded once a day, and sent" says 0 "Sent 1 receipt." machine anna fleet sync
ok "nothing is sent twice" says 0 "Sent 0 receipts" machine anna fleet sync
ok "the machine has checked the checkpoint" says 0 "checked" machine anna fleet status
ok "the centre sees the machine" says 0 green centre nodes
kill -TERM "$(cat front.pid)"
ok "the front end ends" wait_for 20 eval '! is_alive "$(cat front.pid)"'
finish

#!/bin/sh
# bytes.t — what a machine of a fleet records about its centre (joining, checkpoints it has seen, orders it obeyed): no byte of these receipts
# can be another unnoticed, and the second verifier accepts and refuses what ours does.
# shellcheck disable=SC2317 # functions are called through ok
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
command -v python3 >/dev/null || skip_all "the second verifier needs python3"
! grep -qa __asan_init "$HELM_REAL" || skip_all "some ten thousand documents are verified: too many under the sanitizers, where oracle/mutations does the same with fewer"

fleet_make
centre tenant add acme >/dev/null
serve_start front || exit 1
machine_new anna >/dev/null || exit 1
act anna 2
machine anna fleet sync >/dev/null
wait_for 10 sh -c "curl -sf $url/log/acme/checkpoint >checkpoint"
machine anna fleet sync >/dev/null
centre freeze --reason "an incident" >/dev/null
machine anna fleet sync >/dev/null
centre unfreeze --reason "it is over" >/dev/null
machine anna fleet sync >/dev/null
machine anna evidence export --all --out "$scratch/anna.tar" >/dev/null
about() { grep -q "$1" "$(chain_of anna)"; }
ok "an order that was obeyed is on record" about '"order":{'
ok "so is the checkpoint that was seen" about '"because":"freeze"'
ok "no byte of any kind of them is another unnoticed, and two verifiers say one thing" \
	python3 "$HELM_SOURCE/tests/oracle/mutations.py" --each-kind "$HELM_BUILD/tests" "$scratch/m/anna/.helm/keys" "$(chain_of anna)" "$scratch/anna.tar"
finish

#!/bin/sh
# login_browser.t — coming in at a fleet's front end in a real browser: a key is made by a link that works once, opens the console from then on, at two front ends; an engineer sees
# their own machines and no page about all of them; a key that was removed is out while the page is open.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "a real browser is driven only by ./check --all"
needs_terminal

fleet_make
fleet_two_tenants
serve_start other || exit 1
FLEET_OTHER="http://localhost:${url##*:}"
serve_start front || exit 1
for m in anna bert; do joined_asking acme $m; done
ask_there anna "rm -rf mine-of-anna"
ask_there bert "rm -rf secret-of-bert"
act anna 2
act bert 2
for m in anna bert; do
	sql "$pgdir" "UPDATE fleet.node SET host = 'host-of-$m' WHERE node_id = (SELECT node_id FROM fleet.node_key WHERE key = '\\x$(cat "$scratch/m/$m/.helm/keys/root.pub")')"
	machine $m fleet sync >/dev/null 2>&1
done
FLEET_ORIGIN="http://localhost:${url##*:}"
export FLEET_ORIGIN FLEET_OTHER FLEET_DB="$db" FLEET_SIGNER="$signer"
drive_browser login.mjs

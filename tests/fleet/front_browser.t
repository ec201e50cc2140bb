#!/bin/sh
# front_browser.t — the console of a fleet's front end in a real browser: every page, proofs that turn red, a passkey that is made, named by the root key, and then freezes and
# answers; hostile texts; the keyboard; three widths in both schemes.
# shellcheck disable=SC2317,SC2016
. "${HELM_SOURCE:-.}/tests/fleet/lib.sh"
[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "a real browser is driven only by ./check --all"
needs_terminal

fleet_make
fleet_two_tenants
serve_start front || exit 1
for m in anna bert carl erik; do joined_asking acme $m; done
two_people erik
joined_asking beta dave
ask_there anna "rm -rf main"
ask_there bert "rm -rf other"
ask_there carl "echo <img src=x onerror=window.hurt=1> \\u202egpj.exe; rm -rf /etc/x"
ask_there carl "rm -rf <script>window.hurt=2</script>-$(printf '%0120d' 7)"
ask_there dave "rm -rf secret-of-beta"
ask_there erik "rm -rf what-takes-two"
act anna 3
act bert 12
for m in anna bert carl dave erik; do machine $m fleet sync >/dev/null 2>&1; done
token_link acme look >reader.link
[ -z "${HELM_TEST_HOLD:-}" ] || { cat reader.link; sleep "$HELM_TEST_HOLD"; } # to look at it
FLEET_LINK=$(cat reader.link)
export FLEET_LINK FLEET_DB="$db" FLEET_SIGNER="$signer" FLEET_FRONT="$scratch/front.pid" FLEET_PORT="${url##*:}"
drive_browser fleet.mjs

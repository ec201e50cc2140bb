#!/bin/sh
# The console in a real browser: every page, with the keyboard, at 320 pixels, with hostile texts; proofs that turn red; a stream that is cut; keys that
# register, answer, deny and freeze; and what others may not do.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "a real browser is driven only by ./check --clients"
for tool in npm node python3; do
  command -v $tool >/dev/null 2>&1 || skip_all "$tool is not there"
done
[ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
modules=${HELM_TEST_BROWSER:-$HELM_SOURCE/build/browser}
browser=$(sh "$HELM_SOURCE/tests/clients/browser.sh" "$modules")
[ -n "$browser" ] || skip_all "no Chromium is here"
[ -e "$modules/node_modules/axe-core" ] || skip_all "playwright-core and axe-core are not there"
needs_terminal
fresh_workspace
# As whoever runs this: Chromium's own sandbox wants no root.
sandbox=
[ "$(id -u)" -ne 0 ] || sandbox=--no-sandbox
env PATH="$PATH" BROWSER="$browser" SANDBOX="$sandbox" MODULES="$modules/node_modules" HELM="$HELM_REAL" SOURCE="$HELM_SOURCE" SCRATCH="$scratch" TERMINALS="$scratch/.terminals" \
  SHOTS="${HELM_TEST_SHOTS:-}" timeout 600 node "$HELM_SOURCE/tests/clients/console.mjs"

#!/bin/sh
# How the pages of the console lie on a screen at 320, 768 and 1280 pixels, in light and in dark, after a day of work, also when every text of it is hostile.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "a real browser is driven only by ./check --all"
! grep -qa __asan_init "$HELM_REAL" || skip_all "pages lie the same under the sanitizers; console_browser.t drives the server there"
needs_terminal
fresh_workspace
drive_browser layout.mjs

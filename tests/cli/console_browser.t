#!/bin/sh
# The console in a real browser: every page, with the keyboard, at 320 pixels, with hostile texts; proofs that turn red; a stream that is cut; keys that
# register, answer, deny and freeze; and what others may not do.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "a real browser is driven only by ./check --all"
needs_terminal
fresh_workspace
drive_browser console.mjs

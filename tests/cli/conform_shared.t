#!/bin/sh
# The published cases, where they are present beside the tree.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

shared="$HELM_SOURCE/../shared/vectors/derived"
[ -d "$shared" ] || skip_all "published cases: ../shared/vectors is not here"
ok "no published case fails" says 0 " 0 failed" helm conform run --cases "$shared"
finish

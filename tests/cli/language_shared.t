#!/bin/sh
# The published cases of the expression language, where they are present beside the tree.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

shared="$HELM_SOURCE/../shared/vectors/policy"
[ -d "$shared" ] || skip_all "published cases: ../shared/vectors/policy is not here"
ok "no published case of the language fails" says 0 " 0 failed" helm conform run --suite language --cases "$shared"
finish

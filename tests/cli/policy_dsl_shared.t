#!/bin/sh
# The published cases of the policy language, where they are present beside the tree.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

shared="$HELM_SOURCE/../shared/vectors/policy"
[ -d "$shared" ] || skip_all "published cases: ../shared/vectors/policy is not here"
ok "no published case fails" says 0 " 0 failed, 0 not supported" helm conform run --suite dsl --cases "$shared"
finish

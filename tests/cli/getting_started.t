#!/bin/sh
# docs/guides/getting-started.md works as it stands there (policy_guide.t types it).
# shellcheck disable=SC2034 # read by the other test
GUIDE=${HELM_SOURCE:-.}/docs/guides/getting-started.md
GUIDE_FILES=0 GUIDE_STEPS=20
TMPDIR=${HELM_TEST_PLACE:-${HELM_BUILD:-$PWD/build/dev}} # its home is not in /tmp, where a file is nobody's concern
export TMPDIR
GUIDE_REPOSITORY=.git # the build may lie in the work tree of another one
. "${HELM_SOURCE:-.}/tests/cli/policy_guide.t"

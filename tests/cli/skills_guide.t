#!/bin/sh
# docs/guides/skills.md works as it stands there (policy_guide.t types it).
# shellcheck disable=SC2034 # read by the other test
command -v python3 >/dev/null 2>&1 || { echo "1..0 # SKIP python3 is needed"; exit 77; }
PATH=/usr/bin:/bin
GUIDE=${HELM_SOURCE:-.}/docs/guides/skills.md
GUIDE_FILES=4 GUIDE_STEPS=18
. "${HELM_SOURCE:-.}/tests/cli/policy_guide.t"

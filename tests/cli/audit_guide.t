#!/bin/sh
# docs/guides/audit.md works as it stands there (policy_guide.t types it).
# shellcheck disable=SC2034 # read by the other test
GUIDE=${HELM_SOURCE:-.}/docs/guides/audit.md
GUIDE_FILES=0 GUIDE_STEPS=16
. "${HELM_SOURCE:-.}/tests/cli/policy_guide.t"

#!/bin/sh
# docs/guides/operations.md works as it stands there (policy_guide.t types it).
# shellcheck disable=SC2034 # read by the other test
GUIDE=${HELM_SOURCE:-.}/docs/guides/operations.md
GUIDE_FILES=0 GUIDE_STEPS=22
. "${HELM_SOURCE:-.}/tests/cli/policy_guide.t"

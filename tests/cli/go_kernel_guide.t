#!/bin/sh
# docs/guides/from-the-go-kernel.md works as it stands there (policy_guide.t types it).
# shellcheck disable=SC2034 # read by the other test
GUIDE=${HELM_SOURCE:-.}/docs/guides/from-the-go-kernel.md
GUIDE_FILES=1 GUIDE_STEPS=5
. "${HELM_SOURCE:-.}/tests/cli/policy_guide.t"

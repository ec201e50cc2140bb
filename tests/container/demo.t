#!/bin/sh
# slow: ./demo in containers as agents get them: podman's default and Docker's, as root and as a plain user. Each shows everything: a demo
# that leaves something out says "not run:".
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
HELM_CONTAINER_ROOT=$scratch/container
export HELM_CONTAINER_ROOT
trap 'rm -rf --one-file-system "$scratch"' EXIT

sh "$HELM_SOURCE/tools/container.sh" true >"$scratch/said" 2>&1
case $? in
  0) ;;
  77) skip_all "$(sed -n 's/.*SKIPPED: //p' "$scratch/said" | tail -n 1)" ;;
  *)
    sed 's/^/# /' "$scratch/said"
    echo "Bail out! no container could be made"
    exit 1
    ;;
esac

whole_demo() { # whole_demo [--user] PROFILE...
  exits 0 sh "$HELM_SOURCE/tools/container.sh" "$@" ./demo || return 1
  ! grep -h -e 'not run:' "$scratch/.stdout" "$scratch/.stderr"
}
for profile in podman docker; do
  ok "$profile: the demo as root" whole_demo --profile $profile
  ok "$profile: as a plain user" whole_demo --profile $profile --user
done
finish

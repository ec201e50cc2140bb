#!/bin/sh
# The damage matrix: every kind of state file, damaged in every way, under every command (tests/damage/matrix.py says what must hold).
: "${HELM_BUILD:=$PWD/build/dev}" "${HELM_SOURCE:=$PWD}"
command -v python3 >/dev/null 2>&1 || { echo "1..0 # SKIP python3 is needed"; exit 77; }
# shellcheck disable=SC2046 # names on purpose
unset $(sh "$HELM_SOURCE/tools/clients.sh" marks)
# One way for each kind of file, by the seed; HELM_DAMAGE_SAMPLE=0 takes all of them, which needs most of an hour on two cores.
exec python3 "$HELM_SOURCE/tests/damage/matrix.py" --build "$HELM_BUILD" --workers 2 --sample "${HELM_DAMAGE_SAMPLE:-1}" --seed "${HELM_DAMAGE_SEED:-1}"

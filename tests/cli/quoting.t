#!/bin/sh
# slow: Ten thousand generated commands print and write the same, bare and contained.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed"
shells=
for one in bash zsh dash; do needs $one "commands of $one" && shells="$shells $one"; done
helm init >/dev/null
mkdir project
cd project || exit 1
helm setup claude-code --scope project --yes >/dev/null
# shellcheck disable=SC2086 # words on purpose
same() { env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" python3 "$HELM_SOURCE/tests/tools/quoting.py" "$HELM_REAL" "${QUOTING_COUNT:-10000}" "${QUOTING_SEED:-1}" $shells; }
ok "bare and contained are the same" same
finish

#!/bin/sh
# A few files of the damage matrix, one way each: what ./check has time for.  All of it: tests/cli/damage.t.
: "${HELM_BUILD:=$PWD/build/dev}" "${HELM_SOURCE:=$PWD}"
command -v python3 >/dev/null 2>&1 || { echo "1..0 # SKIP python3 is needed"; exit 77; }
# shellcheck disable=SC2046 # names on purpose
unset $(sh "$HELM_SOURCE/tools/clients.sh" marks)
exec python3 "$HELM_SOURCE/tests/damage/matrix.py" --build "$HELM_BUILD" --workers 1 --sample 1 --seed "${HELM_DAMAGE_SEED:-1}" \
  --only 'receipts.jsonl$|task-ledger.jsonl$|command-log.jsonl$|log/heads.jsonl$|keys/history.jsonl$|checkpoints/index.json$|posture.json$|approvals.json$'

#!/bin/sh
# Rows of the ledgers that were changed, removed or moved are found by 'helm log check'; ledgers that grow are put aside and sealed.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init >/dev/null
ws=$scratch/home/.helm/workspace
state=$ws/.helm
ledger=$state/task-ledger.jsonl
for id in one two three; do helm run --task-id $id -- true; done
ok "as they were written" says 0 "sound" helm log check
cp "$ledger" "$scratch/kept"
sed -i '/"task_id": "two"/s/"status": "completed"/"status": "Completed"/' "$ledger"
ok "a changed row is found" says 1 "ledger entries of task two were changed" helm log check
ok "with the remedy" says 1 "next: put the file back from a copy" helm log check
ok "the log itself is not damaged" sh -c '! "$@" | grep -q DAMAGE' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" log check
verify_whole() { # the chain where it was written, with its root
  root=$(helm log head --json | sed -n 's/.*"root_hash": "\([0-9a-f]*\)".*/\1/p')
  helm verify "$state/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub" --root "$root"
}
ok "verify of the whole chain finds it, too" says 1 "TAMPERED" verify_whole
ok "and names the task" says 1 "ledger entries of task two" verify_whole
cp "$scratch/kept" "$ledger"
ok "and confirms them when they are right" says 0 "ledger_entries: 12 in the ledgers beside it" verify_whole
ok "put back, it is sound again" says 0 "sound" helm log check
grep -v '"status": "running".*"task_id": "one"' "$scratch/kept" >"$ledger"
ok "a removed row is found" says 1 "ledger entries of task one" helm log check
{ sed -n 2p "$scratch/kept"; sed -n 1p "$scratch/kept"; sed -n '3,$p' "$scratch/kept"; } >"$ledger"
ok "exchanged rows are found" says 1 "are not in the order" helm log check
rm "$ledger"
ok "a removed ledger is found" says 1 "ledger entries of task three" helm log check
ok "and work goes on" exits 0 helm run -- true
ok "as long as it is said" says 1 "NOT SOUND" helm log check
ok "the doctor says it" says 1 "ledger entries of task one were changed or removed" helm doctor
ok "and with a deep look" says 1 "ledger entries of task one were changed or removed" helm doctor --deep

# ---- pieces ----
fresh_state() {
  rm -rf "${scratch:?}/home"
  mkdir -p "$scratch/home"
  helm init >/dev/null
}
fresh_state
helm run --task-id first -- true
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "{\"filler\": \"%0400d\", \"status\": \"completed\", \"task_id\": \"t%d\"}\n", i, i }' >>"$ledger"
helm run --task-id second -- true
ok "a large ledger is put aside and sealed" test -e "$state/segments/task-ledger-000001.jsonl.zst"
ok "nothing waits" sh -c 'test -z "$(ls "$0")"' "$state/segments/waiting"
ok "the new one is small" sh -c 'test "$(wc -c <"$0")" -lt 100000' "$ledger"
ok "rows of both are one ledger" says 0 "40002" sh -c '"$@" | grep -c task_id' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" task list --limit 0 --json
ok "a task of the sealed one is shown" says 0 "status=completed" helm task show --plain first
ok "its history, too" says 0 "queued" helm task show first --history
ok "every row is what receipts say" says 0 "sound" helm log check --all
ok "the receipt of the piece" says 0 "helm.ledger/rotate" sh -c 'cat "$0"' "$state/receipts.jsonl"
ok "doctor reads all of it" says 0 "40006 rows" helm doctor
if needs zstd "zstd reads it"; then
  ok "zstd reads it" sh -c 'zstd -dqc "$0" | grep -q "\"task_id\": \"first\""' "$state/segments/task-ledger-000001.jsonl.zst"
fi
printf x | dd of="$state/segments/task-ledger-000001.jsonl.zst" bs=1 seek=1000 conv=notrunc 2>/dev/null
ok "a changed piece is found" says 1 "is not the file that was sealed" helm log check --all
finish

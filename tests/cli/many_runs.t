#!/bin/sh
# Many runs at once on one workspace: no row lost, no link broken; and a workspace of an older program goes on.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init >/dev/null
ws=$scratch/home/.helm/workspace
mkdir project && cd project || exit 1
n=${HELM_TEST_RUNS:-60}
i=0
while [ $i -lt "$n" ]; do
  helm run --task-id "many-$i" -- true >/dev/null 2>&1 &
  i=$((i + 1))
  [ $((i % 20)) -eq 0 ] && wait
done
wait
ok "every run has its last row" sh -c 'test "$(grep -c "\"status\": \"completed\"" "$0")" -eq "$1"' "$ws/.helm/task-ledger.jsonl" "$n"
ok "every run has two receipts" sh -c 'test "$(wc -l <"$0")" -eq $(($1 * 2))' "$ws/.helm/receipts.jsonl" "$n"
ok "the chain is whole" says 0 "ADMISSIBLE" helm verify "$ws/.helm/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub"
ok "no row is torn" says 0 "rows" helm doctor --skip-discovery

mkdir -p old/.helm/checkpoints old/references
cat >old/.helm/task-ledger.jsonl <<'ROWS'
{"command": ["pytest"], "command_preview": "pytest", "exit_code": 0, "finished_at": "2026-04-13T09:10:00.123456+00:00", "future_member": {"kept": true}, "profile": "inspect_local", "started_at": "2026-04-13T09:09:00+00:00", "status": "completed", "task_id": "0b0c1f9e-old", "task_name": "old task"}
{"profile": "risky_edit", "reason": "night", "status": "blocked_by_pause", "updated_at": "2026-04-13T09:11:00+00:00"}
{"kind": "memory_refresh", "task_id": "memtree-1"}
{"task_id": "0b0c1f9e-run", "task_name": "was running", "status": "running", "started_at": "2026-04-13T09:12:00Z"}
ROWS
printf '[]' >old/.helm/checkpoints/index.json
ok "a workspace of an older program opens" says 0 "old" helm status --path old
ok "shows its tasks" says 0 "old task" helm task list --path old
ok "finds what it left behind" says 1 "stale_active_task" helm task doctor --path old
ok "keeps members it does not know" sh -c '"$0" task show 0b0c1f9e-old --json --path old | grep -q future_member' "$HELM_REAL"
ok "and goes on" exits 0 helm run --path old -- true
ok "after its own rows" sh -c 'head -n 1 old/.helm/task-ledger.jsonl | grep -q 0b0c1f9e-old && tail -n 1 old/.helm/task-ledger.jsonl | grep -q "\"status\": \"completed\""'
finish

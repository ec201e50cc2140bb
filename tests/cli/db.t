#!/bin/sh
# The query index: made from the ledgers, caught up, thrown away, never the truth.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init >/dev/null
ws=$scratch/home/.helm/workspace
ok "nothing there yet" says 0 "status=missing" helm db status
helm run --task-id a1 -- true
helm run --task-id a2 -- false 2>/dev/null
helm run --task-id a3 -- rm -rf / 2>/dev/null
ok "without an index there is drift" exits 1 helm db verify
ok "init reads the ledgers" says 0 "task_rows=3" helm db init
ok "private" sh -c 'test "$(stat -c %a "$0")" = 600' "$ws/.helm/ops-index.sqlite3"
ok "no drift now" says 0 "drift=0" helm db verify
ok "query by state" says 0 "a2" helm db query --status failed
ok "query by guard action" says 0 "a3" helm db query --guard-action deny
ok "one decision per task" env HOME="$scratch/home" sh -c '"$0" db status --json | grep -q "\"guard_decision_rows\": 3"' "$HELM_REAL"
ok "JSON" is_json helm db query --guard-action deny --json
ok "a query that is cut says of how many" says 0 "2 of 3, all with --limit 0" helm db query --limit 2
ok "decisions of the guard, that there are more" says 0 "there are more, all with --limit 0" helm db query --guard-action allow --limit 1
ok "and nothing when it is whole" sh -c '! HOME="$1" "$0" db query --limit 3 2>&1 | grep -q "all with"' "$HELM_REAL" "$scratch/home"
ok "receipts, too" says 0 "The newest 2 of " helm receipts list --limit 2
helm run --task-id a4 -- true
ok "behind is said, and is no drift" says 0 "drift=0" helm db verify
ok "how far, and how to catch up" says 0 "of the task ledger are not in the index yet; to add them: helm db init" helm db verify
sed -i 's/"task_id": "a1"/"task_id": "b1"/' "$ws/.helm/task-ledger.jsonl"
ok "a ledger that says something else is drift, also for an index that is behind" says 1 "drift=2" helm db verify
sed -i 's/"task_id": "b1"/"task_id": "a1"/' "$ws/.helm/task-ledger.jsonl"
ok "a query catches up" says 0 "a4" helm db query --task-id a4
ok "no drift again" exits 0 helm db verify
printf 'garbage\n' >>"$ws/.helm/task-ledger.jsonl"
ok "a bad line is a warning" says 0 "is no row" helm db rebuild
printf 'not a database, not at all' >"$ws/.helm/ops-index.sqlite3"
ok "a broken index is said, with the remedy" says 1 "helm db rebuild" helm db status
ok "and does not stop a run" exits 0 helm run -- true
ok "nor a view, which says so" says 0 "is not a database" helm task list
ok "and shows everything" says 0 "a2" helm task list
ok "status, too" says 0 "tasks_counted" helm status --json
ok "rebuild makes it anew" says 0 "task_rows=" helm db rebuild
ok "no word about it then" sh -c '! "$@" 2>&1 | grep -q database' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" task list
rm -f "$ws/.helm/ops-index.sqlite3"
mkdir "$ws/.helm/ops-index.sqlite3"
ok "an index that cannot be there does not stop a view" says 0 "is a directory; run: helm db rebuild" helm report
rmdir "$ws/.helm/ops-index.sqlite3"

# ---- a disk that is full is an error, not a signal ----
awk 'BEGIN { for (i = 0; i < 4000; i++) printf "{\"filler\": \"%0900d\", \"status\": \"completed\", \"task_id\": \"big-%d\"}\n", i, i }' >>"$ws/.helm/task-ledger.jsonl"
full() { (
  trap '' XFSZ
  ulimit -f 100
  helm "$@"
); }
ok "no room for the index is said" says 1 "cannot" full db rebuild
rm -f "$ws/.helm/ops-index.sqlite3"*
ok "with room it is made" says 0 "task_rows=400" helm db rebuild

# ---- beside a writer every row is read once ----
(
  i=0
  while [ $i -lt 3000 ]; do
    printf '{"status": "completed", "task_id": "w-%d"}\n' $i
    i=$((i + 1))
  done >>"$ws/.helm/task-ledger.jsonl"
) &
writer=$!
while kill -0 $writer 2>/dev/null; do helm db init >/dev/null; done
wait $writer
helm db init >/dev/null
ok "nothing is missing, nothing twice" says 0 "drift=0" helm db verify

# ---- memory does not grow with the ledgers ----
awk 'BEGIN { for (i = 0; i < 60000; i++) printf "{\"filler\": \"%0900d\", \"status\": \"completed\", \"task_id\": \"more-%d\"}\n", i, i }' >>"$ws/.helm/task-ledger.jsonl"
narrow() { (
  # shellcheck disable=SC3045
  ulimit -v 64000
  helm "$@"
); }
if narrow --version >/dev/null 2>&1; then
  ok "rebuild of sixty megabytes in less" says 0 "task_rows=6" narrow db rebuild
  ok "report" says 0 "runs: " narrow report
  ok "task list" says 0 "more-59999" narrow task list
  ok "doctor" says 1 "of 67015 lines" narrow doctor
fi
finish

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
helm run --task-id a4 -- true
ok "behind: drift" exits 1 helm db verify
ok "a query catches up" says 0 "a4" helm db query --task-id a4
ok "no drift again" exits 0 helm db verify
printf 'garbage\n' >>"$ws/.helm/task-ledger.jsonl"
ok "a bad line is a warning" says 0 "is no row" helm db rebuild
printf 'not a database, not at all' >"$ws/.helm/ops-index.sqlite3"
ok "a broken index is said, with the remedy" says 1 "helm db rebuild" helm db status
ok "and does not stop a run" exits 0 helm run -- true
finish

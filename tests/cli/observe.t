#!/bin/sh
# status, dashboard, report, tasks: what a person sees of what was recorded.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init >/dev/null
ws=$scratch/home/.helm/workspace
mkdir project && cd project || exit 1
ok "before anything ran" says 0 "Nothing has been run with 'helm run' yet" helm status --brief
helm run --task-name "first look" --task-id t-first -- echo hi >/dev/null
helm run --task-name "bad one" --task-id t-bad -- false 2>/dev/null
helm run --task-name "<b>evil</b>" --task-id t-stop -- rm -rf / 2>/dev/null
ok "brief says what is wrong" says 0 "1 task failed in the last 24 hours, 1 task was stopped by the guard in the last 24 hours" helm status --brief
ok "the doctor notes the same" says 0 "note=1 task failed in the last 24 hours: helm report" helm doctor --skip-discovery
ok "each of them, and calls the place well" sh -c 'printf %s "$0" | grep -q "note=1 task was stopped by the guard" && printf %s "$0" | grep -q healthy=yes' "$(helm doctor --skip-discovery)"
ok "and what the last task was" says 0 'The last task, "<b>evil</b>", was stopped under workspace_edit' helm status --brief
ok "brief JSON" is_json helm status --brief --json
ok "status JSON" is_json helm status --json
ok "dashboard lists tasks" says 0 "bad one" helm dashboard
ok "markdown has its sections" says 0 "## Failed Tasks" helm report --format markdown
ok "report JSON" is_json helm report --format json
ok "the page is escaped" env HOME="$scratch/home" sh -c '"$0" report --format html --out r.html >/dev/null && grep -q "&lt;b&gt;evil" r.html && ! grep -q "<b>evil" r.html' "$HELM_REAL"
ok "the text is for people" says 0 "rm would delete" helm report
ok "and says up to where the record was checked" says 0 "checked up to receipt" helm report
helm run -- true >/dev/null
ok "or how far it was checked" says 0 "The record: checked up to receipt" helm report
ok "--out does not take it" says 2 "markdown" helm report --format text --out r.txt
ok "the page loads nothing" sh -c '! grep -qE "src=|href=|<script|@import|url\(" r.html'
ok "public hides paths" env HOME="$scratch/home" sh -c '! "$0" status --json --public | grep -q "'"$scratch"'"' "$HELM_REAL"
ok "task list" says 0 "t-bad" helm task list
ok "filtered" env HOME="$scratch/home" sh -c '"$0" task list --status failed --json | grep -q t-bad && ! "$0" task list --status failed --json | grep -q t-first' "$HELM_REAL"
ok "task show --plain by the beginning of its id" says 0 "task_name=bad one" helm task show --plain t-b
ok "an ambiguous beginning is said" says 1 "more than one" helm task show t-
ok "an unknown task is said" says 1 "no task" helm task show nope
ok "complete needs evidence" says 2 "KIND:VALUE" helm task complete t-bad
ok "complete with evidence" says 0 "status=completed" helm task complete t-bad --evidence test:manual
ok "twice makes no sense" says 2 "--force" helm task complete t-bad --evidence test:manual
ok "retry makes a new task" says 0 "status=ready" helm task retry t-stop --new-task-id t-again
ok "with its parent named" says 0 "parent_task_id=t-stop" helm task show --plain t-again
ok "block" says 0 "status=blocked" helm task block t-again --reason waiting
ok "doctor is content" says 0 "in order" helm task doctor
printf '{"task_id": "dead", "status": "running", "pid": 1, "pid_start": 1, "started_at": "2020-01-01T00:00:00+00:00"}\n' >>"$ws/.helm/task-ledger.jsonl"
printf 'garbage line\n' >>"$ws/.helm/task-ledger.jsonl"
printf '{"task_id": "odd", "task_name": "odd", "status": "\\"><script>alert(1)</script>", "started_at": "2020-01-01T00:00:00+00:00"}\n' >>"$ws/.helm/task-ledger.jsonl"
no_script() { helm report --format html --out r.html >/dev/null && grep -q "&lt;script" r.html && ! grep -q "<script" r.html; }
ok "no member of a row becomes markup" no_script
cp "$ws/.helm/receipts.jsonl" kept.jsonl
sed -i '1s/ALLOW/DENY!/' "$ws/.helm/receipts.jsonl"
helm report --format html --out r.html >/dev/null
ok "a damaged record is said on top of the page" grep -q "The record is NOT SOUND" r.html
ok "and in the text" says 0 "The record is NOT SOUND" helm report
cp kept.jsonl "$ws/.helm/receipts.jsonl"
ok "doctor finds a dead one" says 1 "active_process_not_alive" helm task doctor
ok "garbage lines do not stop anything" says 0 "task is stuck" helm status --brief
ok "--fix closes it" says 0 "closed=1" helm task doctor --fix
ok "run-contract" says 0 "guard_action" helm run-contract --task-id t-first
ok "capability-diff" says 0 "task_name" helm capability-diff
ok "no workspace: one line and the remedy" says 1 "helm init" helm status --path "$scratch/nowhere"
finish

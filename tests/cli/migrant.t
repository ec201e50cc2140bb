#!/bin/sh
# What somebody who comes from the Python Helm meets: their words work, their files open, and one bad file costs no view.
# shellcheck disable=SC2016,SC2181,SC2317,SC2034 # for another shell; called through ok; read by lines of the guide
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

fresh_workspace
helm init --path w >/dev/null
ok "--path between the two words names the workspace" exits 0 helm profile --path w run inspect_local -- true
ok "where the run is on record" grep -q '"status": "completed"' w/.helm/task-ledger.jsonl
ok "also with an equals sign" exits 0 helm profile --path=w run inspect_local -- true
ok "behind the verb it is what is saved first, as before" exits 0 helm profile run workspace_edit --workspace w --path w -- true
ok "a snapshot is an object with a path that is there" sh -c 'cd w && python3 -c "
import json
row = json.loads(open(\".helm/task-ledger.jsonl\").readlines()[-1])
s = row[\"state_snapshot\"]
assert sorted(s) == [\"created_at\", \"format\", \"path\", \"summary\"], s
assert s[\"format\"] == \"markdown\" and open(s[\"path\"]).readline() == \"[STATE_SNAPSHOT]\\n\", s"'
ok "a negative time-out is none" helm profile run inspect_local --workspace w --timeout -5 -- true
ok "a word is no time-out" says 2 "whole number" helm profile run inspect_local --workspace w --timeout soon -- true

cd w || exit 1
helm checkpoint create --label a >/dev/null
for bad in '{bad' '{}' 'null' ''; do
  printf %s "$bad" >.helm/checkpoints/index.json
  for view in "status" "status --brief" "dashboard" "report"; do
    # shellcheck disable=SC2086 # words on purpose
    ok "$view with a damaged list of checkpoints ($bad) says so" says 0 "checkpoints/index.json" helm $view
  done
  ok "so does the advice ($bad)" says 0 "no checkpoint can be looked for" helm checkpoint recommend
  ok "and doctor is not healthy ($bad)" says 1 "checkpoints/index.json" helm doctor --skip-discovery
done
ok "the report for programs says that it is not complete" says 0 '"complete": false' helm report --json
cd .. || exit 1

# ---- the guide, line by line, on a workspace as the Python Helm leaves it ----
mkdir -p old/.helm/checkpoints old/references old/skills old/skill_drafts old/memory
cat >old/.helm/task-ledger.jsonl <<'ROWS'
{"task_id": "demo-task-001", "task_name": "router hydration review", "profile": "inspect_local", "status": "running", "started_at": "2026-04-13T09:00:00+00:00", "backend": "local"}
{"task_id": "demo-task-001", "task_name": "router hydration review", "profile": "inspect_local", "status": "completed", "exit_code": 0, "started_at": "2026-04-13T09:00:00+00:00", "finished_at": "2026-04-13T09:00:05+00:00", "backend": "local"}
{"task_id": "demo-task-002", "task_name": "shared router refactor", "profile": "risky_edit", "status": "failed", "exit_code": 1, "started_at": "2026-04-13T09:10:00+00:00", "finished_at": "2026-04-13T09:10:09+00:00", "backend": "local"}
ROWS
echo '{"task_id": "demo-task-002", "component": "router", "label": "refactor", "command": ["false"], "exit_code": 1, "started_at": "2026-04-13T09:10:00+00:00"}' >old/.helm/command-log.jsonl
cp w/references/execution_profiles.json old/references/
sha256sum <old/.helm/task-ledger.jsonl >sum
guide=$HELM_SOURCE/docs/guides/migrating.md
sed -n 's/^    \$ //p' "$guide" >lines
HELM_ENV=HELM_WORKSPACE=$PWD/old
HELM_WORKSPACE=$PWD/old
typed() {
  want=$(printf '%s\n' "$1" | sed -n 's/.*# exit \([0-9]*\).*/\1/p')
  eval "$(printf '%s\n' "$1" | sed 's/ *# exit [0-9]*.*//')"
  [ $? = "${want:-0}" ]
}
while IFS= read -r line <&3; do
  ok "guide: $line" typed "$line"
done 3<lines
ok "the guide has lines to type" [ "$(wc -l <lines)" -ge 18 ]
ok "the rows of before are as they were" sh -c 'head -n 3 "$0" | sha256sum | cmp -s - "$1"' old/.helm/task-ledger.jsonl sum
finish

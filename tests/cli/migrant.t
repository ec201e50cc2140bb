#!/bin/sh
# What somebody who comes from the Python Helm meets: their words work, their files open, and one bad file costs no view.
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
ok "a negative time-out is refused" says 2 "whole number" helm profile run inspect_local --workspace w --timeout -5 -- true

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
finish

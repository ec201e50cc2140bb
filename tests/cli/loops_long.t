#!/bin/sh
# A loop that runs a night: many turns within its bounds and within its memory, killed and resumed as often as it takes, and why it stopped.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
w=/var/tmp/helm-loops-long.$$
trap 'chmod -R u+rwX "$scratch" "$w" 2>/dev/null; rm -rf "$scratch" "$w"' EXIT
helm init --path "$w" >/dev/null || { echo "Bail out! helm init failed"; exit 1; }
cd "$w" || exit 1
HELM_ENV="HELM_WORKSPACE=$w"
mkdir -p references/loops
loop() { # loop ID TURNS UNTIL FILE LIMITS: one line more in each turn
  printf 'id: %s\ntitle: T\nuse_when: [x]\nprofile: workspace_edit\nsteps:\n  - {name: add, run: [sh, -c, "echo x >> %s"]}\n  - {name: look, run: [sh, -c, "wc -l < %s > %s.count"]}\nrequired_evidence: [process_exit, file_diff]\nstop_conditions:\n  success:\n    - run: [sh, -c, "test $(wc -l < %s) -ge %s"]\nlimits: {turns: %s, no_change: 99%s}\n' "$1" "$4" "$4" "$4" "$4" "$3" "$2" "$5" >"references/loops/$1.yaml"
}
cat >"$scratch/peak.py" <<'X'
import resource, subprocess, sys
p = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
X
peak() { env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 HELM_WORKSPACE="$w" python3 "$scratch/peak.py" "$HELM_REAL" "$@"; }

# ---- bounds ----
loop few 5 999 few ''
loop more 40 999 more ''
few=$(peak loops run few)
more=$(peak loops run more)
# A sanitized program keeps what was given back.
if [ "$(peak --version)" -lt 30000 ]; then
  ok "forty turns take no more memory than five ($few and $more kB)" [ "$more" -lt $((few * 2)) ]
fi
ok "each of the forty was done" [ "$(wc -l <"more")" -eq 40 ]
ok "and is a row" [ "$(grep -c '"kind": "loop_turn"' .helm/task-ledger.jsonl)" -eq 45 ]

# ---- killed again and again ----
loop night 400 25 night ''
start() { env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 HELM_WORKSPACE="$w" "$HELM_REAL" "$@" >"$scratch/out" 2>&1 & pid=$!; }
lines_of() { if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi; }
start loops run night
run=
kills=0
while [ $kills -lt 6 ]; do
  lines=$(lines_of night)
  waited=0 # until it has gone on
  while [ "$(lines_of night)" -le "$lines" ] && [ $waited -lt 600 ]; do sleep 0.05; waited=$((waited + 1)); done
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  run=$(helm loops runs --json | python3 -c 'import json,sys; print([r["run_id"] for r in json.load(sys.stdin) if r["loop_id"]=="night"][0])')
  kills=$((kills + 1))
  start loops resume "$run"
done
wait $pid
ok "killed six times, it comes to its end" says 0 success helm loops runs "$run"
doc=.helm/loop-runs/$run.json
ok "its turns are without a gap" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
turns = [t["turn"] for t in d["turns"]]
assert turns == list(range(1, len(turns) + 1)), turns
assert all(t["outcome"] and len(t["steps"]) == 2 for t in d["turns"])
assert d["turn"] == len(turns) <= 25 and d["status"] == "success", d["turn"]
' "$doc"
ok "each of them is a row, and no row is there twice but for a turn that was cut off as it was written" python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
rows = [json.loads(l) for l in open(".helm/task-ledger.jsonl")]
rows = [r["turn"] for r in rows if r.get("kind") == "loop_turn" and r["parent_task_id"] == sys.argv[2]]
assert set(rows) == set(range(1, d["turn"] + 1)), rows
assert len(rows) <= d["turn"] + 6, rows
' "$doc" "$run"
ok "nothing runs past a kill: a step that was cut off is failed or done again" python3 -c '
import json, sys
last = {}
for l in open(".helm/task-ledger.jsonl"):
    r = json.loads(l)
    if str(r.get("task_id", "")).startswith(sys.argv[1]): last[r["task_id"]] = r["status"]
assert not [t for t, s in last.items() if s in ("queued", "running")], last
' "$run"
ok "the work is there, each turn once but for those that were cut off" sh -c '[ "$(wc -l <night)" -ge 25 ] && [ "$(wc -l <night)" -le 31 ]'
ok "the morning reads why" says 0 "every condition of success holds" helm loops runs
ok "the record is whole" helm log check
finish

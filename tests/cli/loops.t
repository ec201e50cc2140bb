#!/bin/sh
# Loops: checked, run within their bounds, stopped without progress, and resumed after a kill.  Failures: counted, and what follows.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
w=/var/tmp/helm-loops.$$
trap 'chmod -R u+rwX "$scratch" "$w" 2>/dev/null; rm -rf "$scratch" "$w"' EXIT
helm init --path "$w" >/dev/null || { echo "Bail out! helm init failed"; exit 1; }
cd "$w" || exit 1
HELM_ENV="HELM_WORKSPACE=$w"
mkdir -p references/loops
field() { python3 -c 'import json,sys
v=json.load(sys.stdin)
for k in sys.argv[1].split("."): v=v[int(k)] if isinstance(v,list) else v.get(k)
print(v)' "$1"; }
loop() { # loop ID STEP-WORDS SUCCESS LIMITS
  printf 'id: %s\ntitle: T\nuse_when: [x]\nprofile: workspace_edit\nsteps:\n  - {name: one, run: [sh, -c, "%s"]}\nrequired_evidence: [process_exit]\nstop_conditions: {success: [%s]}\nlimits: {%s}\n' "$1" "$2" "$3" "$4" >"references/loops/$1.yaml"
}
stops() { # stops STATUS LOOP: the run ends so
  helm loops run "$2" --json >"$scratch/.run" 2>"$scratch/.err"
  [ "$(field status <"$scratch/.run")" = "$1" ] || { cat "$scratch/.run" "$scratch/.err"; return 1; }
}

# ---- looking ----
ok "before the first run there is none, in words" says 0 "No loop has run here yet" helm loops runs
ok "those that are shipped are listed" says 0 docs-sweep helm loops list
ok "and valid" says 0 validation=ok helm loops inspect completion-evidence
ok "a loop that nobody can run says why" says 1 "names no \`profile\`" helm loops run docs-sweep
ok "and what makes it one that can be run" says 1 "references/loops/docs-sweep.yaml" helm loops run docs-sweep
ok "which is said before one tries" says 0 "can_run=no" helm loops inspect docs-sweep
ok "and of those that can" says 0 "helm loops run docs" helm help loops run
printf 'id: [\n' >references/loops/broken.yaml
ok "a broken file is told, and hides nothing" says 0 "broken.yaml is passed over" helm loops list
rm references/loops/broken.yaml
helm run --profile workspace_edit --task-id ev -- sh -c 'echo x > ev' >/dev/null 2>&1
ok "which of its evidence a task shows" says 0 "evidence=file_diff is there" helm loops inspect completion-evidence --task-id ev
ok "and which it does not" says 0 "evidence=completion_evidence is missing" helm loops inspect completion-evidence --task-id ev
loop typo 'true' 'x' 'turn: 1'
ok "a limit that there is none of is no limit" says 1 "there is no limit" helm loops run typo

# ---- running ----
loop count 'echo x >> n' '{run: [sh, -c, \"test $(wc -l < n) -ge 3\"]}' 'turns: 9'
printf 'id: count\ntitle: T\nuse_when: [x]\nprofile: workspace_edit\nsteps:\n  - {name: add, run: [sh, -c, "echo x >> n"]}\nrequired_evidence: [process_exit, file_diff]\nstop_conditions:\n  success:\n    - run: [sh, -c, "test $(wc -l < n) -ge 3"]\nlimits: {turns: 9}\n' >references/loops/count.yaml
ok "it runs until its condition holds" stops success count
ok "its id can be typed" sh -c '[ "$(cat "$0" | grep -o "loop-[0-9a-f]*" | head -1 | wc -c)" -le 18 ]' "$scratch/.run"
ok "in three turns" [ "$(wc -l <n)" -eq 3 ]
ok "each turn has a row" [ "$(grep -c '"kind": "loop_turn"' .helm/task-ledger.jsonl)" -eq 3 ]
ok "its steps are runs of their own, with decisions" says 0 '"guard"' grep -h 't3-s1' .helm/task-ledger.jsonl
in_status() { helm status --json | python3 -c 'import json,sys; s=json.load(sys.stdin); print(*s["reasons"], s["task_status_counts"].get("failed", 0))'; }
ok "conditions that did not hold yet are no failures" [ "$(in_status)" = 0 ]
ok "nor is there anything to review" says 0 "nothing waits for review" helm memory review-queue
ok "the whole has a row" [ "$(helm task list --json | python3 -c 'import json,sys; print(*[(t["status"], t["loop_outcome"]) for t in json.load(sys.stdin) if t.get("kind") == "loop_run"])')" = "('completed', 'success')" ]
loop second 'echo x >> m; test $(wc -l < m) -ge 2' 'x' 'turns: 5'
ok "a loop whose step fails first" stops success second
ok "needs nobody's attention once it has succeeded" [ "$(in_status)" = 1 ]
ok "in the eyes of doctor, too" sh -c '! "$@" | grep "tasks* failed"' - env -i PATH="$PATH" HOME="$scratch/home" HELM_WORKSPACE="$w" "$HELM_REAL" doctor
loop once 'true' 'all is well' 'turns: 5'
ok "without a condition a clean turn is the end" stops success once
loop bare 'true' 'all is well' 'turns: 5'
sed -i 's/process_exit/file_diff/' references/loops/bare.yaml
ok "evidence that is missing makes it incomplete" stops incomplete bare
loop never 'date +%N >> t; exit 1' 'x' 'turns: 2'
ok "turns are bounded" stops turns never
ok "a loop that did not come to its end counts once" [ "$(in_status | sed 's/hours.*/hours/')" = "1 task failed in the last 24 hours" ]
ok "the same failure again and again is no progress" stops no_progress "$(loop same 'date +%N >> t; exit 3' 'x' 'turns: 9, same_failure: 2' && echo same)"
printf 'id: still\ntitle: T\nuse_when: [x]\nprofile: workspace_edit\nsteps:\n  - {name: look, run: "true"}\nrequired_evidence: [process_exit]\nstop_conditions:\n  success:\n    - run: "false"\nlimits: {turns: 9, no_change: 2}\n' >references/loops/still.yaml
ok "no change is none, either" stops no_progress still
ok "what is denied ends it" stops blocked "$(loop deny 'rm -rf /' 'x' 'turns: 5' && echo deny)"
printf 'id: night\ntitle: T\nuse_when: [x]\nprofile: workspace_edit\nskill: s\nsteps:\n  - {name: w, run: "touch src-x"}\nrequired_evidence: [process_exit]\nstop_conditions: {success: [x]}\n' >references/loops/night.yaml
mkdir -p skills/s
printf '{"skill":"s","allowed_profiles":["workspace_edit"],"default_profile":"workspace_edit","paths":{"write":["docs"]}}' >skills/s/contract.json
ok "a loop with a skill is held to its contract" stops blocked night
ok "the morning shows why it stopped" says 0 "no file changed" helm loops runs
stays() { ! helm report | grep -q "Left the walls"; }
ok "what ran in its walls has not left them" stays
still=$(helm loops runs --json | python3 -c 'import json,sys; print([r["run_id"] for r in json.load(sys.stdin) if r["loop_id"]=="still"][0])')
ok "how far it came within its bounds" says 0 "limits=9 turns, 480 minutes" helm loops runs "$still"
ok "and turn by turn" sh -c '"$@" | grep -q "^2 *clean "' - env -i PATH="$PATH" HOME="$scratch/home" HELM_WORKSPACE="$w" "$HELM_REAL" loops runs "$still"
ok "the newest is the last" sh -c '"$@" | tail -1 | grep -q " night "' - env -i PATH="$PATH" HOME="$scratch/home" HELM_WORKSPACE="$w" "$HELM_REAL" loops runs
echo '{' >.helm/loop-runs/loop-broken.json
ok "one that cannot be read hides no other" says 0 "no file changed" helm loops runs
ok "and is told" says 0 "unreadable" helm loops runs
rm .helm/loop-runs/loop-broken.json
# What a step says counts, too: who comes nearer makes progress, though it fails each time.
loop nearer 'echo x >> near; echo $((9 - $(wc -l < near))) are left, in 0.$$ s; test $(wc -l < near) -ge 5' 'x' 'turns: 9, same_failure: 2'
ok "a failure that comes nearer is no standstill" stops success nearer
loop own 'date +%N >> t; exit 24' 'x' 'turns: 2'
ok "of all that, --json prints one document" python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$scratch/.run"
ok "24 and 25 of a program itself are failures, no questions" stops turns own
token=$(helm profile pause workspace_edit --reason night | sed -n 's/^resume_token=//p')
ok "a profile that is paused stops it" stops blocked count
ok "and that is why" says 0 "is paused" helm loops runs
helm profile resume workspace_edit --token "$token" >/dev/null

# ---- killed and resumed ----
printf 'id: kill\ntitle: T\nuse_when: [x]\nprofile: workspace_edit\nsteps:\n  - {name: a, run: [sh, -c, "echo a >> k"]}\n  - {name: b, run: [sh, -c, "sleep 1; echo b >> k"]}\n  - {name: c, run: [sh, -c, "echo c >> k"]}\nrequired_evidence: [process_exit]\nstop_conditions: {success: [x]}\nlimits: {turns: 1}\n' >references/loops/kill.yaml
# The step that was cut off may have been done: it is done again, and nothing before it is.
(env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 HELM_WORKSPACE="$w" "$HELM_REAL" loops run kill >kill.out 2>&1 & echo $! >"$scratch/pid"; wait) 2>/dev/null &
waited=0
first_is_noted() {
  doc=$(grep -l '"loop_id": "kill"' .helm/loop-runs/*.json 2>/dev/null)
  [ -n "$doc" ] && grep -q 't1-s1' "$doc"
}
while ! first_is_noted && [ $waited -lt 200 ]; do sleep 0.05; waited=$((waited + 1)); done
kill -9 "$(cat "$scratch/pid")"
sleep 0.2
run=$(grep -l '"loop_id": "kill"' .helm/loop-runs/*.json | sed 's|.*/||; s|.json$||')
ok "a run that was killed is there, and nobody runs it" says 0 "status=interrupted" helm loops runs "$run"
ok "what to do is said" says 0 "go on: helm loops resume $run" helm loops runs
ok "it goes on" says 0 "status=success" helm loops resume "$run"
ok "how often it was gone on with is told" says 0 "resumed=1 time" helm loops runs "$run"
ok "what was done before is not done again" [ "$(grep -c a k)" -eq 1 ]
ok "what was cut off is" [ "$(grep -c b k)" -ge 1 ]
ok "to its end" [ "$(grep -c c k)" -eq 1 ]
ok "once it has ended nothing goes on" says 1 "has ended" helm loops resume "$run"
# The time is over in the middle of a turn.
loop short 'echo x >> sh; sleep 1' 'x' 'turns: 9'
python3 - <<'P'
p = "references/loops/short.yaml"
t = open(p).read().replace("required_evidence", "  - {name: two, run: [touch, second]}\nrequired_evidence").replace("turns: 9", "turns: 9, minutes: 1")
open(p, "w").write(t)
P
late_turn() {
  for n in 30 45 60 80; do
    HELM_ENV="HELM_WORKSPACE=$w HELM_TEST_KILL_AT=$n" helm_twin loops run short >/dev/null 2>&1
    r=$(helm loops runs --json | python3 -c 'import json,sys; print(*[r["run_id"] for r in json.load(sys.stdin) if r["loop_id"] == "short" and r["turn"]][-1:])')
    [ -z "$r" ] || break
  done
  helm loops resume "$r" >/dev/null 2>&1
  [ "$(helm loops runs "$r" --json | field turns.0.outcome)" = cut_off ] || { helm loops runs "$r"; return 1; }
}
ok "a turn that the time has cut off is not called clean" late_turn
# A run that began long ago, by another clock: its minutes are over, whatever it still has to do.
over() {
  for n in 40 60 80 100; do
    HELM_ENV="HELM_WORKSPACE=$w HELM_TEST_KILL_AT=$n" helm_twin loops run count >/dev/null 2>&1
    late=$(helm loops runs --json | python3 -c 'import json,sys; print(*[r["run_id"] for r in json.load(sys.stdin) if r["status"] == "interrupted"][:1])')
    [ -z "$late" ] || break
  done
  helm loops resume "$late"
}
ok "a run has an end by the clock" says 1 "minutes are over" over
ok "a name that is none" says 1 "there is no run" helm loops resume ../x

# ---- failures ----
fails() { helm profile run workspace_edit --task-name "$1" -- ls "$2" 2>"$scratch/.err"; cat "$scratch/.err"; }
fails build /nowhere/a >/dev/null
ok "the second time says stop" sh -c 'grep -q stop_retry_and_diagnose "$1"' - "$(fails build /nowhere/a >"$scratch/2"; echo "$scratch/2")"
helm profile run workspace_edit --task-name build -- ls . >/dev/null
ok "another command that ends well is no fix" sh -c 'grep -q "nothing is known to have fixed it" "$1"' - "$(fails build /nowhere/a >"$scratch/3"; echo "$scratch/3")"
ok "temporary names do not make another failure" [ "$(fails t /tmp/build-8f3e2a/x >/dev/null; fails t /tmp/build-77aa10/x >/dev/null; helm failures list --json | python3 -c 'import json,sys; print(max(f["count"] for f in json.load(sys.stdin) if "tmp" in (f["target"] or "")))')" = 2 ]
print=$(helm failures list --json | python3 -c 'import json,sys; print([f["fingerprint"] for f in json.load(sys.stdin) if "/nowhere/a" in (f["target"] or "")][0])')
ok "one failure is shown with its tasks" says 0 "$print" helm failures show "$print"
HELM_ENV="HELM_WORKSPACE=$w HELM_POLICY_TRANSITION=1"
ok "enforced, the same command is asked about" exits 24 helm profile run workspace_edit --task-name build -- ls /nowhere/a
ok "another one is not" exits 0 helm profile run workspace_edit --task-name build -- ls .
HELM_ENV="HELM_WORKSPACE=$w"

# ---- traces ----
ok "a list of traces that is cut says so" says 0 "the newest 2; there are more traces, all with --limit 0" helm trace list --limit 2
ok "and all are all" sh -c '[ "$("$@" --limit 0 2>&1 | wc -l)" -gt 4 ] && ! "$@" --limit 0 2>&1 | grep -q "there are more"' sh env HOME="$scratch/home" HELM_WORKSPACE="$w" "$HELM_REAL" trace list
ok "rows of the ledger, too" says 0 "the last 2 rows, all with --limit 0" helm profile ledger --limit 2
ok "and are whole without a limit" sh -c '! "$@" 2>&1 | grep -q "all with"' sh env HOME="$scratch/home" HELM_WORKSPACE="$w" "$HELM_REAL" profile ledger --limit 0
id=$(helm trace list --json --limit 1 | field 0.taskId)
HELM_ENV="HELM_WORKSPACE=$w COLUMNS=40"
narrow() { [ "$(helm trace list --limit 2 2>/dev/null | head -1)" = TASK ]; }
ok "where there is little room, columns do not run into each other" narrow
HELM_ENV="HELM_WORKSPACE=$w"
ok "a run has a trace" says 0 "$id" helm trace show "$id"
ok "it would still be allowed" says 0 ALLOW helm trace replay "$id"
ok "two are compared" says 0 outcome helm trace diff "$id" "$(helm trace list --json --outcome failed --limit 1 | field 0.taskId)"
ok "what repeats is found" says 0 '"count": 3' helm trace candidates --json
ok "spans are lines of JSON" sh -c '"$@" | python3 -c "import json,sys; n=[json.loads(l) for l in sys.stdin]; assert len(n)>20 and n[-1][\"name\"].startswith(\"execute_tool\")"' - env HOME="$scratch/home" HELM_WORKSPACE="$w" "$HELM_REAL" trace export
ok "an id that is a path is none" exits 2 helm trace show ../../etc/passwd
finish

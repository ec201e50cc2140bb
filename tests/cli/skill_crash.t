#!/bin/sh
# Skills and loops when helm is ended, or the disk says no, at each system call that changes something: a skill is whole or not there, what was pinned
# stays pinned, counters and answers stay readable, and whoever comes next goes on.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
fresh_workspace
mkdir -p "$ws/skills/a" "$ws/skill_drafts/d/references" "$ws/skill_drafts/d/meta" "$ws/references/loops"
printf -- '---\nname: a\ndescription: x\n---\nIt failed.\n' >"$ws/skills/a/SKILL.md"
printf '{"skill":"a","allowed_profiles":["workspace_edit"],"default_profile":"workspace_edit","paths":{"write":["docs"]}}' >"$ws/skills/a/contract.json"
printf -- '---\nname: d\ndescription: lists things\n---\nRuns under `inspect_local`.\n\n## Review Checklist\n' >"$ws/skill_drafts/d/SKILL.md"
printf '{"skill":"d","allowed_profiles":["inspect_local"],"default_profile":"inspect_local"}' >"$ws/skill_drafts/d/contract.json"
echo real >"$ws/skill_drafts/d/references/how.md"
echo '{}' >"$ws/skill_drafts/d/meta/task-summary.json"
printf 'id: two\ntitle: T\nuse_when: [x]\nprofile: inspect_local\nsteps:\n  - {name: one, run: "true"}\n  - {name: two, run: "true"}\nrequired_evidence: [process_exit]\nstop_conditions: {success: [x]}\n' >"$ws/references/loops/two.yaml"
helm skill accept a >/dev/null
helm skill-lifecycle scan >/dev/null
for _ in 1 2 3; do helm profile run inspect_local --task-name again -- true; done
rm -rf "$scratch/.start" && cp -a "$scratch/home" "$scratch/.start"
again() { rm -rf "${scratch:?}/home" && cp -a "$scratch/.start" "$scratch/home"; }

whole() { [ ! -e "$ws/skills/$1" ] || { [ -f "$ws/skills/$1/SKILL.md" ] && [ -f "$ws/skills/$1/contract.json" ]; } || { ls -R "$ws/skills"; return 1; }; }
sound() {
  whole d && whole new || return 1
  python3 -c 'import glob,json,sys
for p in ("skill-lifecycle/*.json", "skill-promotion-state.json", "loop-runs/*.json"):
    for f in glob.glob(sys.argv[1] + "/.helm/" + p): json.load(open(f))' "$ws" || return 1
  helm skill list --drafts >l.txt 2>&1 || { cat l.txt; return 1; }
  [ $((n % 5)) -ne 0 ] || goes_on
}
# What was there holds, and work goes on.
goes_on() {
  helm skill-lifecycle scan >s.txt 2>&1 || { cat s.txt; return 1; }
  printf 'changed\n' >>"$ws/skills/a/SKILL.md"
  helm profile run workspace_edit --skill a -- true >r.txt 2>&1
  [ $? -eq 25 ] || { echo "the pin is lost"; cat r.txt; return 1; }
  # The twin's clock stands in the past, so a run that is resumed finds its time over; it ends all the same.
  for run in $(helm loops runs --json | python3 -c 'import json,sys; print(*[r["run_id"] for r in json.load(sys.stdin) if r["status"] == "running"])'); do
    helm loops resume "$run" >o.txt 2>&1
    [ $? -le 1 ] && ! helm loops runs "$run" --json | grep -q '"status": "running"' || { cat o.txt; return 1; }
  done
  helm log check >l.txt 2>&1 || { cat l.txt; return 1; }
}
sweep() { # sweep KIND ARGS...: with the fault at call 1, 2, ... until it gets through
  kind=$1
  shift
  n=0
  while :; do
    n=$((n + 1))
    again
    case $kind in KILL_AT) HELM_ENV="HELM_TEST_KILL_AT=$n" ;; *) HELM_ENV="HELM_TEST_FAIL_AT=$n:ENOSPC" ;; esac
    helm_twin "$@" >out.txt 2>&1
    code=$?
    HELM_ENV=
    sound || { echo "after call $n of $*: exit $code"; cat out.txt; return 1; }
    if [ $code -eq 0 ] && [ "$kind" = KILL_AT ]; then break; fi
    if [ "$kind" != KILL_AT ] && [ $n -gt "${calls:-20}" ]; then break; fi
    [ $n -lt 200 ] || { echo "it never gets through"; return 1; }
  done
  goes_on || { echo "after all of $*"; return 1; }
  echo $n >"$scratch/calls.txt"
  [ $n -gt 3 ] || { echo "only $n calls"; return 1; }
}
ok "ended while a skill is made" sweep KILL_AT skill new new
calls=$(cat "$scratch/calls.txt")
ok "a full disk at each call of it" sweep FAIL_AT skill new new
ok "ended while a draft is promoted" sweep KILL_AT skill promote-draft --name d --approve
ok "ended while claims are kept" sweep KILL_AT skill-lifecycle negative-claims --persist
ok "ended while candidates are offered" sweep KILL_AT skill-promotion digest
printf 'id: one\ntitle: T\nuse_when: [x]\nprofile: inspect_local\nsteps:\n  - {name: one, run: "true"}\nrequired_evidence: [process_exit]\nstop_conditions: {success: [x]}\n' >"$scratch/.start/.helm/workspace/references/loops/one.yaml"
ok "ended while a loop runs, at each call, and resumed" sweep KILL_AT loops run one
calls=12
ok "a full disk while a loop runs" sweep FAIL_AT loops run two
finish

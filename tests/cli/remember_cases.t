#!/bin/sh
# Published cases about memory: every one of them, in its own home and workspace.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

shared="$HELM_SOURCE/../shared/vectors/remember"
[ -d "$shared" ] || skip_all "published cases: ../shared/vectors/remember is not here"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to run published cases"

# area NAME LEAST: no case of it fails, and there are as many as there were.
area() {
  python3 "$shared/run_cases.py" --helm "$HELM_REAL" --set open --area "$1" >cases.txt 2>&1 || { cat cases.txt; return 1; }
  awk -v area="$1" -v least="$2" '$1 == area && $2 == "open" { passed = $4; failed = $6; seen = 1 }
    END { exit !(seen && failed == 0 && passed >= least) }' cases.txt || { cat cases.txt; return 1; }
}

ok "memory: plans, supersession, queue, labels, operations, summaries" area memory 50
ok "skills: contracts, drafts, intake" area skills 36
ok "lifecycle: scans, archives, claims, outcomes" area lifecycle 30
ok "promotion: digests and answers" area promotion 9
finish

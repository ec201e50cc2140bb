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
ok "loops: checked and found" area loops 13
ok "health: probes, selection, freshness" area health 11
ok "shadow: what gates that watch have seen" area shadow 15

# Cases about functions: the program answers them on standard input.
cat >functions.py <<'P'
import glob, json, subprocess, sys
helm, shared = sys.argv[1:3]
bad = n = 0
def ask(words, value):
    return json.loads(subprocess.run([helm, "failures"] + words + ["--json"], input=json.dumps(value), capture_output=True, text=True).stdout)
def signature(case, event):
    return ask(["signature", "--workspace-root", case.get("workspace", "/w/space"), "--home", case.get("home", "/home/u")], event)
for f in glob.glob(shared + "/failures/open/*.jsonl"):
    for line in open(f):
        c = json.loads(line)
        i, what = c["input"], c["function"]
        if what == "failure_signature":
            got = signature(i, i["event"])
        elif what == "same_fingerprint":
            got = {"same": signature(i, i["a"])["fingerprint"] == signature(i, i["b"])["fingerprint"]}
        else:
            got = ask(["transition"], i["history"])
        n += 1
        for k, v in c["expect"].items():
            if got.get(k) != v:
                bad += 1
                print(c["id"], k, got.get(k), "wanted", v)
sys.exit(bad or n < 15)
P
ok "failures: signatures and what follows" python3 functions.py "$HELM_REAL" "$shared"
finish

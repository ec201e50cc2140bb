#!/bin/sh
# What failed: its class by what the tool printed, exit codes that are answers, one row for the same failure, what really fixed it.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed"
fresh_workspace
run() { helm run -- "$@" >out.txt 2>&1 </dev/null; }
last() { python3 -c '
import json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
r = rows[-1]
print(r["status"], r.get("exit_code"), (r.get("failure_signature") or {}).get("error_class"), r.get("answer"), sep=" ")' "$ws/.helm/task-ledger.jsonl"; }
ends() { # ends CODE "STATUS CODE CLASS ANSWER" COMMAND...
  code=$1 wanted=$2
  shift 2
  run "$@"
  rc=$?
  [ "$rc" = "$code" ] || { echo "exit $rc"; cat out.txt; return 1; }
  got=$(last)
  [ "$got" = "$wanted" ] || { echo "$got, wanted $wanted"; cat out.txt; return 1; }
}
echo hello >a.txt
echo other >b.txt
printf 'assert 1 == 2, "the timeout"\n' >a.py
ok "grep without a match is completed, and its exit code stays" ends 1 "completed 1 None no match" grep -q nothere a.txt
ok "diff says that files differ" ends 1 "completed 1 None differs" diff a.txt b.txt
ok "a pipe that ends in grep" ends 1 "completed 1 None no match" sh -c 'cat a.txt | grep nothere'
ok "grep that cannot read has failed" ends 2 "failed 2 file_not_found None" grep x nothere.txt
ok "an assertion that mentions a timeout" ends 1 "failed 1 assertion_failed None" python3 a.py
ok "a signal wins over words" ends 139 "failed 139 signal_killed None" sh -c 'echo google sheets; exit 139'

# ---- one row for the same failure, and what fixed it ----
fresh_workspace
row() { helm failures list --json | python3 -c '
import json, sys
for f in json.load(sys.stdin):
    if f["target"] == sys.argv[1]: print(f["count"], f["error_class"], "fixed" if f["fixed_by"] else "open", f.get("changed"))' "$1"; }
is() { got=$(row "$1"); [ "$got" = "$2" ] || { echo "$got, wanted $2"; return 1; }; }
helm run -- ls src/x >/dev/null 2>&1
helm run --task-name "ls src/x" -- true >/dev/null 2>&1
ok "another command of the same name is no fix" is "ls src/x" "1 file_not_found open None"
mkdir -p src && touch src/x
helm run -- ls src/x >/dev/null 2>&1
ok "nor is a good end without a change on record" is "ls src/x" "1 file_not_found open None"
rm src/x
helm run -- ls src/x >/dev/null 2>&1
ok "the same failure is one row" is "ls src/x" "2 file_not_found open None"
helm run -- touch src/x >/dev/null 2>&1
helm run -- ls src/x >/dev/null 2>&1
ok "the same command after a change is" is "ls src/x" "2 file_not_found fixed src/x"
helm run -- rm -f src/x >/dev/null 2>&1
rm -f src/x
helm run -- ls src/x >/dev/null 2>&1
ok "until it fails again" is "ls src/x" "3 file_not_found open None"
i=0
while [ $i -lt 25 ]; do helm run -- ls src/x >/dev/null 2>&1; i=$((i + 1)); done
helm run -- ls src/x >out.txt 2>&1
ok "how often it was seen is a total" grep -q "seen 28 times in the last 7 days" out.txt
finish

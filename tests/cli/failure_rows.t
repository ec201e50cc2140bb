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
finish

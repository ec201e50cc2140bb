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

# ---- what is worth to be learnt, and what waits: one row for one thing ----
fresh_workspace
cat >week.py <<'PY'
import datetime, json, sys
now = datetime.datetime.now(datetime.timezone.utc)
def at(minutes): return (now - datetime.timedelta(minutes=minutes)).isoformat()
tasks, commands = open(sys.argv[1] + "/task-ledger.jsonl", "a"), open(sys.argv[1] + "/command-log.jsonl", "a")
def task(i, name, **more):
    tasks.write(json.dumps(dict({"task_id": "t%d" % i, "task_name": name, "status": "completed", "profile": "workspace_edit", "started_at": at(900 - i), "finished_at": at(900 - i)}, **more)) + "\n")
def command(i, name, seconds):
    begin = now - datetime.timedelta(minutes=900 - i)
    commands.write(json.dumps({"task_id": "t%d" % i, "label": name, "started_at": begin.isoformat(), "finished_at": (begin + datetime.timedelta(seconds=seconds)).isoformat()}) + "\n")
for i in range(56):
    task(i, "make test", memory_capture={"relevant": True, "finalization_status": "capture_planned", "supersession": {"supersedes_task_ids": ["t%d" % (i - 1)]}})
    command(i, "make test", 0.001 if i else 0.02)
    command(i, "make all", 20 if i in (3, 4) else 2)
for i in range(100, 104):
    task(i, "npm run build", status="failed", exit_code=1, failure_signature={"fingerprint": "0badc0de", "error_class": "type_error"})
PY
python3 week.py "$ws/.helm"
candidates() { helm context --mode reflect-candidates --json --limit 100 >out.json && python3 -c '
import json
d = json.load(open("out.json"))
d = d if isinstance(d, list) else d["results"]
for c in d: print(c["metadata"]["candidate_type"], c["metadata"]["count"], sep=":", end=" ")'; }
ordered() { [ "$(candidates)" = "$1" ] || { candidates; head -c 600 out.json; return 1; }; }
ok "repeated failures stand first, and each thing once" ordered "repeated_failure:4 slow_command:2 repeated_success:56 superseded_unrecorded:56 "
queue() { helm memory review-queue --json | python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["count"], d["tasks"], d["items"][0]["task_count"], d["items"][0]["task_id"])'; }
ok "the queue has one item for 56 such tasks" [ "$(queue)" = "1 56 56 t55" ]
ok "and says so" says 0 "the newest of 56 such tasks" helm memory review-queue

# ---- what skills say does not work ----
mkdir -p "$ws/skills/s"
cat >"$ws/skills/s/SKILL.md" <<'SKILL'
---
name: s
description: does things
---
The option --fast does not exist.
There is no command for that.
이 기능은 작동하지 않습니다
All is fine.
SKILL
claims() { helm skill-lifecycle negative-claims "$@" --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["candidates"]))'; }
ok "the usual forms are found" [ "$(claims --persist)" = 3 ]
id=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["skills"]["s"]["negative_claims"][0]["claim_id"])' "$ws/.helm/skill-lifecycle/usage.json")
helm skill-lifecycle revalidate-claim --skill s --claim-id "$id" --status resolved --note "it does now" >/dev/null
ok "a resolved one is not listed again" [ "$(claims)" = 2 ]
printf '{"task_id": "p1", "status": "blocked_by_pause", "started_at": "%s"}\n' "$(date -u +%FT%TZ)" >>"$ws/.helm/task-ledger.jsonl"
helm shadow-report --with-recommendations --format json >shadow.json
ok "the shadow report does not advise a switch that changes nothing" sh -c 'grep -q "nothing to switch on" shadow.json && ! grep -q HELM_PAUSE_GATE shadow.json'

# ---- an approved candidate is drafted ----
fresh_workspace
for _ in 1 2 3; do helm run --task-name "Deploy the Docs!" -- true >/dev/null 2>&1; done
helm skill-promotion digest >/dev/null
id=$(helm skill-promotion pending --json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["candidate_id"])')
ok "approving makes the draft and names the next command" says 0 "helm skill assess-draft --name deploy-the-docs" helm skill-promotion approve "$id"
ok "which is there" [ -f "$ws/skill_drafts/deploy-the-docs/SKILL.md" ]
finish

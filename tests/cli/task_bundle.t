#!/bin/sh
# The bundle of a task: what it leaves for whoever goes on with it, named by its row with a digest that a receipt binds, and read back.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
ws=/var/tmp/helm-bundle.$$
trap 'chmod -R u+rwX "$scratch" "$ws" 2>/dev/null; rm -rf "$scratch" "$ws"' EXIT
helm init --path "$ws" >/dev/null || { echo "Bail out! helm init failed"; exit 1; }
cd "$ws" || exit 1
HELM_ENV="HELM_WORKSPACE=$ws"
b=.helm/task-bundles
has() { # has FILE TEXT
  grep -q -- "$2" "$1" || { cat "$1"; return 1; }
}
of() { # of TASK DOCUMENT EXPRESSION: d is the document, r the newest row of the task
  python3 -c '
import json, sys
d = json.load(open(".helm/task-bundles/%s/%s" % (sys.argv[1], sys.argv[2])))
r = [r for r in map(json.loads, open(".helm/task-ledger.jsonl")) if r.get("task_id") == sys.argv[1]][-1]
sys.exit(0 if eval(sys.argv[3]) else json.dumps(d))' "$1" "$2" "$3"
}
bundle() { # bundle TASK EXPRESSION: of what is read back, as d
  helm task bundle "$1" --json >"$scratch/.bundle"
  python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); sys.exit(0 if eval(sys.argv[2]) else json.dumps(d))' "$scratch/.bundle" "$2"
}

# ---- what is in it ----
helm run --profile workspace_edit --task-id w1 --task-name 'write the page' -- sh -c 'mkdir -p docs/deep; echo page > docs/deep/page; echo "password=hunter2hunter2" > docs/secret; ln -s page docs/link; head -c 2000000 /dev/zero > docs/large' >/dev/null 2>&1
ok "state.md says how it stands" has $b/w1/state.md '^- phase: complete$'
ok "what it was about" has $b/w1/state.md '^- current_task: write the page$'
ok "and what it touched" has $b/w1/state.md '^  - docs/deep/page$'
ok "plan.md says what was wanted" has $b/w1/plan.md '^- objective: write the page$'
ok "nothing blocks it" has $b/w1/blockers.md '^none$'
ok "evidence.json is what the row shows" of w1 evidence.json 'd["schema_version"] == 1 and d["evidence_refs"] == r["evidence_refs"] and d["finalization_gate"] == r["finalization_gate"] and d["operational_status"] == "verified" and d["scope_gate"] is None'
ok "manifest.json lists what was touched" of w1 manifest.json '[x["path"] for x in d["artifacts"]] == r["touched_paths"] and "command" in d and d["task_id"] == "w1"'
ok "a file is copied" cmp docs/deep/page $b/w1/files/docs/deep/page
ok "by its digest" of w1 manifest.json '[x for x in d["artifacts"] if x["path"] == "docs/deep/page"][0]["sha256"] == "'"$(sha256sum docs/deep/page | cut -c1-64)"'"'
ok "a secret is not" of w1 manifest.json '[x for x in d["artifacts"] if x["path"] == "docs/secret"][0]["not_copied"] == "it holds a secret"'
ok "nowhere in it" sh -c '! grep -rq hunter2 "$1"' - $b
helm run --task-id s1 -- echo --password swordfish1234 >/dev/null 2>&1
ok "nor behind an option, in any file of the state" sh -c '! grep -rq swordfish1234 .helm/task-ledger.jsonl .helm/task-bundles'
ok "nor a link" of w1 manifest.json '[x for x in d["artifacts"] if x["path"] == "docs/link"][0]["state"] == "unsafe_path"'
ok "nor what is too large, and it is said" of w1 manifest.json '[x for x in d["artifacts"] if x["path"] == "docs/large"][0]["not_copied"] == "it is too large"'
ok "nobody else may read it" [ "$(stat -c %a $b/w1/manifest.json)" = 600 ]
helm run --profile workspace_edit --task-id w2 -- rm docs/link >/dev/null 2>&1
ok "what is gone is missing" of w2 manifest.json '[x["state"] for x in d["artifacts"] if x["path"] == "docs/link"] == ["missing"]'
helm run --profile workspace_edit --task-id f1 -- sh -c 'exit 7' >/dev/null 2>&1
ok "a failure blocks" has $b/f1/state.md '^- phase: blocked$'
ok "with how it ended" has $b/f1/blockers.md 'it ended with 7'
helm run --task-id d1 -- rm -rf / >/dev/null 2>&1
ok "what is denied has a bundle" has $b/d1/blockers.md '^- stage: guard$'
helm run --profile remote_handoff --runtime-target host1 --task-id h1 -- make install >/dev/null 2>&1
ok "what is handed on says where to" has $b/h1/state.md 'target: host1'
ok "in its phase" has $b/h1/state.md '^- phase: handoff$'
helm run --task-id g1 --guard-json -- ls >/dev/null 2>&1
ok "what is only judged leaves none" [ ! -e $b/g1 ]
printf '{"objective":"write the docs","scope":["docs"],"tasks":[{"task_id":"t1","title":"the page","acceptance_criteria":["docs/page is there"]}],"verification":["read it"],"rollback_note":"git checkout, token=abcdefgh12345678"}' >plan.json
helm run --profile workspace_edit --consensus-plan plan.json --task-id p1 -- sh -c 'echo x > docs/page' >/dev/null 2>&1
ok "an approved plan is its plan.md" has $b/p1/plan.md '^## the page$'
ok "without what is secret in it, there or in its review" sh -c '! grep -rq abcdefgh12345678 "$1"' - $b/p1
echo mine >$b/p1/plan.md
helm run --profile workspace_edit --task-id p1 -- true >/dev/null 2>&1
ok "a plan.md that somebody wrote stays" has $b/p1/plan.md '^mine$'

# ---- on record, and read back ----
ok "the row has the digest of the manifest" of w1 manifest.json 'r["state_bundle"]["sha256"] == "'"$(sha256sum $b/w1/manifest.json | cut -c1-64)"'"'
ok "a receipt binds that row" python3 -c '
import hashlib, json
rows = [l.rstrip("\n") for l in open(".helm/task-ledger.jsonl") if "state_bundle" in l and json.loads(l)["task_id"] == "w1"]
bound = {d for l in open(".helm/receipts.jsonl") for d in json.loads(l).get("metadata", {}).get("rows_sha256", [])}
assert hashlib.sha256(rows[-1].encode()).hexdigest() in bound'
ok "it is read back as it was recorded" says 0 "record=as it was recorded" helm task bundle w1
ok "a file that was worked on since is told" sh -c 'echo more >>docs/deep/page; "$0" "$@" | grep -q "docs/deep/page present, copy same, in the tree changed"' env -i PATH="$PATH" HOME="$scratch/home" HELM_WORKSPACE="$ws" "$HELM_REAL" task bundle w1
cp -r $b/w1 "$scratch/w1"
for f in state.md evidence.json files/docs/deep/page; do
  echo x >>$b/w1/$f
  ok "another $f is found" exits 1 helm task bundle w1
  cp "$scratch/w1/$f" $b/w1/$f
done
sed -i 's/docs/dOcs/' $b/w1/manifest.json
ok "another manifest is" says 1 "manifest.json=changed" helm task bundle w1
rm $b/w1/manifest.json
ok "and one that is gone" bundle w1 'd["ok"] is False and d["manifest"] == "missing"'
rm -r $b/w1
ok "and a whole bundle" says 1 "is not there any more" helm task bundle w1
ok "a task without one says so" says 1 "no bundle of task" helm task bundle g1

# ---- moved by hand ----
helm task block f1 --reason 'waits for the key' --next-action 'ask for it' >/dev/null
ok "who blocks a task changes its bundle" has $b/f1/state.md '^- next_action: ask for it$'
ok "with the reason" has $b/f1/blockers.md 'waits for the key'
ok "and its record" says 0 "as it was recorded" helm task bundle f1
helm task retry f1 --new-task-id f2 >/dev/null
ok "a new attempt has none yet" says 1 "no bundle of task" helm task bundle f2

# ---- verified execution ----
printf '{"objective":"write the docs","scope":["docs"],"tasks":[{"task_id":"t1","title":"the page","acceptance_criteria":["docs/page is written"]}],"verification":["read it"],"rollback_note":"git checkout"}' >plan.json
helm run --profile workspace_edit --verified-execution --consensus-plan plan.json --task-id v1 -- sh -c 'echo y > docs/page' >/dev/null 2>&1
ok "a verified plan has a row of its own" of v1 verified-execution.json 'd["ok"] and r["kind"] == "verified_plan" and r["status"] == "completed" and r["verified_execution"]["sha256"] == "'"$(sha256sum $b/v1/verified-execution.json | cut -c1-64)"'"'
ok "which a receipt binds" python3 -c '
import hashlib, json
row = [l.rstrip("\n") for l in open(".helm/task-ledger.jsonl") if "verified_plan" in l][-1]
bound = {d for l in open(".helm/receipts.jsonl") for d in json.loads(l).get("metadata", {}).get("rows_sha256", [])}
assert hashlib.sha256(row.encode()).hexdigest() in bound'
ok "and its document is in the bundle" bundle v1 'd["ok"] and [x["found"] for x in d["documents"] if x["name"] == "verified-execution.json"] == ["same"]'
echo ' ' >>$b/v1/verified-execution.json
ok "another one is found" exits 1 helm task bundle v1
ok "the record is whole" helm log check

# ---- killed ----
# After a kill at any call that changes the world the bundle is as the newest row says.
swept=0
sweep() {
  n=1
  while [ $n -le 400 ]; do
    HELM_ENV="HELM_WORKSPACE=$ws HELM_TEST_KILL_AT=$n" helm_twin run --profile workspace_edit --task-id "k$n" -- sh -c 'echo k > docs/k' >/dev/null 2>&1
    code=$?
    helm task doctor --fix >/dev/null 2>&1
    helm task show "k$n" --json >"$scratch/.row" 2>/dev/null || { n=$((n + 4)); continue; }
    if grep -q '"state_bundle":' "$scratch/.row"; then
      swept=$((swept + 1))
      helm task bundle "k$n" >"$scratch/.said" || { echo "killed at call $n"; cat "$scratch/.said"; return 1; }
    fi
    [ $code -eq 137 ] || return 0
    n=$((n + 4))
  done
}
ok "a kill leaves no bundle that is another than its row" sweep
ok "which was seen" [ $swept -gt 5 ]

# ---- how many ----
python3 - <<'P'
import os
for i in range(160): os.makedirs(".helm/task-bundles/old%d" % i); os.utime(".helm/task-bundles/old%d" % i, (1000 + i, 1000 + i))
P
mkdir $b/asked && echo '{}' >$b/asked/consensus.json && touch -d '1 January 2000' $b/asked
helm run --task-id last -- true >/dev/null 2>&1
ok "the newest are kept" [ "$(find $b -mindepth 1 -maxdepth 1 | wc -l)" -lt 150 ]
ok "the oldest go" [ ! -e $b/old0 ]
ok "what somebody asked for stays" [ -e $b/asked/consensus.json ]
ok "and what just came" says 0 "as it was recorded" helm task bundle last
finish

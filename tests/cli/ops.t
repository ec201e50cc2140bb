#!/bin/sh
# Rows and counts of the ledgers, validate, reconcile, contracts, advice that keeps --path, the gate for what people write in public.
# shellcheck disable=SC2016,SC2317 # for another shell; called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not here"

fresh_workspace
helm init --path w >/dev/null
cat >rows.py <<'PY'
import json, sys
rows = [
    ("t0", "completed", "inspect_local", None, "no_capture_needed"), ("t1", "failed", "risky_edit", "a", "capture_planned"),
    ("t2", "handoff_required", "remote_handoff", None, "capture_planned"), ("t1", "completed", "risky_edit", "a", "capture_partial"),
    ("t3", "timeout", "workspace_edit", "b", None)]
with open("w/.helm/task-ledger.jsonl", "w") as f:
    for i, (task, status, profile, skill, final) in enumerate(rows):
        row = {"task_id": task, "task_name": "name of " + task, "status": status, "profile": profile, "skill": skill, "delivery_mode": "inline",
               "started_at": "2026-01-0%dT00:00:00+00:00" % (i + 1), "backend": "local"}
        if final:
            row["memory_capture"] = {"finalization_status": final, "claim_state": {"confidence_hint": "low"}}
        if task == "t1":
            row["meta"] = {"harness": {"browser_evidence": {"inferred": True}, "model_tier": "frontier"}}
        if task == "t3":
            row["discovery"] = {"runtime": {"kind": "helm"}}
        f.write(json.dumps(row) + "\n")
with open("w/.helm/command-log.jsonl", "w") as f:
    for i, code in enumerate([0, 2, None]):
        f.write(json.dumps({"task_id": "t1", "component": "c%d" % i, "label": "l%d" % i, "exit_code": code, "started_at": "x"}) + "\n")
with open("w/.helm/memory-operations.jsonl", "w") as f:
    f.write(json.dumps({"id": "memop-1", "operation": "write", "subject": "a <b>bold</b> subject"}) + "\n")
PY
python3 rows.py
# gives EXPRESSION ARGS...: the document d of a command fulfils a condition
gives() {
  want=$1
  shift
  helm "$@" --path w --json >doc.json 2>err
  python3 -c "import json; d = json.load(open('doc.json')); assert $want, d"
}
state() { (cd w && find . -type f ! -name '*.sqlite3*' -exec sha256sum {} + | sort); }

# ---- ops ----
state >before
ok "the last rows, oldest first" gives "[r['task_id'] for r in d] == ['t1', 't3']" ops tasks --limit 2
ok "by state" gives "[r['task_id'] for r in d] == ['t1']" ops tasks --failed-only
ok "by skill, every row" gives "[r['status'] for r in d] == ['failed', 'completed']" ops tasks --skill a
ok "each task once, in the order in which they began" gives "[(r['task_id'], r['status']) for r in d] == [('t0', 'completed'), ('t1', 'completed'), ('t2', 'handoff_required'), ('t3', 'timeout')]" ops tasks --latest
ok "once, and the last two" gives "[r['task_id'] for r in d] == ['t2', 't3']" ops tasks --latest --limit 2
ok "counts and rows are one document" gives "d['summary']['browser_evidence'] == {'missing_optional': 3, 'inferred': 2} and d['summary']['model_tier']['frontier'] == 2 and len(d['rows']) == 5" ops tasks --summary
ok "commands that failed" gives "[r['label'] for r in d] == ['l1']" ops commands --failed-only
ok "codes are counted" gives "d['summary']['exit_codes'] == {'0': 1, '2': 1, '-': 1}" ops commands --summary
ok "daily" gives "d['recent_task_status_counts'] == {'completed': 2, 'handoff_required': 1, 'timeout': 1} and [t['task_id'] for t in d['recent_failed_tasks']] == ['t3'] and [t['task_id'] for t in d['recent_handoff_tasks']] == ['t2'] and len(d['recent_failed_commands']) == 1" ops daily
ok "of the last day there is none" gives "d['recent_task_status_counts'] == {}" ops daily --days 1
ok "what is to be remembered" gives "d['window'] == 4 and d['finalization_counts'] == {'no_capture_needed': 1, 'capture_partial': 1, 'capture_planned': 1, 'unknown': 1} and [(p['task_id'], p['confidence_hint']) for p in d['pending_tasks']] == [('t2', 'low'), ('t1', 'low')]" ops capture-state
ok "for people, a line each" says 0 "timeout workspace_edit b name of t3 [browser=- retrieval=- file=-]" helm ops tasks --path w
printf 'no row\n' >>w/.helm/command-log.jsonl
ok "a line that is no row is said, and the rest is shown" says 0 "1 of the last 4 lines of command-log.jsonl is no row" helm ops commands --path w
python3 rows.py

# ---- contracts ----
mkdir -p w/skills/a w/skills/b
echo '{"skill": "a", "allowed_profiles": ["risky_edit"], "default_profile": "risky_edit", "browser_work": {"when_any": ["NAME of"]}, "file_intake": {"required": true}}' >w/skills/a/contract.json
ok "a contract says what is missing" gives "d['summary']['missing_required_by_skill'] == {'a: file_intake': 2}" ops tasks --summary
ok "a hint counts in any case" gives "d['task']['skill_contract_present'] is True and d['task']['browser_evidence_present'] is True and d['task']['retrieval_evidence_present'] is False and d['task']['allowed_profiles'] == ['risky_edit'] and d['task']['context_sources'] == ['helm-local'] and d['task']['runtime_backend'] == 'local' and d['contract']['skill'] == 'a'" run-contract --task-id t1
ok "without a contract there is an empty one" gives "d['contract'] == {} and d['task']['allowed_profiles'] == []" run-contract --task-id t0
ok "what changed, by name" gives "[c['field'] for c in d['changed']] == sorted(c['field'] for c in d['changed']) and 'profile' in [c['field'] for c in d['changed']]" capability-diff --older-task-id t0 --newer-task-id t1
ok "an unknown task is an error" exits 1 helm run-contract --path w --task-id nobody
ok "all fits together" gives "d['ok'] and d['manifest_count'] == 1 and d['profile_count'] >= 5" validate
fault() { # fault TEXT CONTRACT: one issue that says TEXT
  echo "$2" >w/skills/b/contract.json
  says 1 "$1" helm validate --path w
}
ok "an unknown profile" fault "names 'zzz', which is no profile" '{"allowed_profiles": ["zzz"], "default_profile": "zzz"}'
ok "a default that is not allowed" fault "is none of its allowed_profiles" '{"allowed_profiles": ["risky_edit"], "default_profile": "inspect_local"}'
ok "a wrong type" fault "context.required must be true or false, not string" '{"context": {"required": "yes"}}'
ok "a blank word" fault "browser_work.when_any must be a list of texts that are not blank" '{"browser_work": {"when_any": ["x", " "]}}'
ok "a strict runner without an entry" fault "needs runner.entrypoint" '{"runner": {"strict_required": true}}'
ok "a rule without words" fault "needs match_any" '{"route_decision": {"tool_rules": [{}]}}'
ok "a step without an action" fault "needs the texts when and action" '{"failure_downgrade": {"steps": [{"when": "x"}]}}'
ok "no JSON" fault "skills/b/contract.json" '{bad'
rm w/skills/b/contract.json
echo x >w/skills/b/SKILL.md
ok "a skill without a contract" says 1 "skills/b: has a SKILL.md and no contract.json" helm validate --path w
ok "which manifests name" gives "d['missing_contract_skills'] == ['b'] and not d['ok']" profile validate-manifests
mkdir -p w/skill_drafts/a
echo '{"allowed_profiles": ["inspect_local"], "default_profile": "nope"}' >w/skill_drafts/a/contract.json
rm -r w/skills/b
ok "a live skill takes the place of its draft" exits 0 helm validate --path w
rm -r w/skill_drafts/a w/skills/a
state >after
ok "looking changes nothing" cmp before after

# ---- reconcile ----
ok "a fresh workspace is converged" gives "d['converged'] and d['dry_run'] and d['summary']['unchanged'] == 4" reconcile
rm w/references/skill-contract-template.json
echo '{"mine": 1}' >w/references/execution_profiles.json
ok "it looks only" gives "not d['converged'] and d['summary']['drift_skipped'] == 1 and d['summary']['missing_skipped'] == 1" reconcile
ok "what differs can be seen" says 0 '+{"mine": 1}' helm reconcile --path w --diff
ok "only when asked" gives "'diff' not in d['files'][0]" reconcile
ok "what is missing comes back" gives "d['summary']['added'] == 1 and d['summary']['drift_skipped'] == 1" reconcile --apply
ok "what differs stays" grep -q mine w/references/execution_profiles.json
ok "until it is forced" gives "d['summary']['overwritten'] == 1 and d['converged']" reconcile --apply --force
ok "what was there is kept" grep -q mine w/references/execution_profiles.json.bak
ok "again there is nothing to do" gives "d['converged'] and d['summary']['unchanged'] == 4" reconcile --apply --force
echo '{"mine": 2}' >w/references/execution_profiles.json
ok "forced again" gives "d['summary']['overwritten'] == 1" reconcile --apply --force
ok "the first that was kept stays" grep -q '"mine": 1' w/references/execution_profiles.json.bak
ok "the second lies beside it" grep -q '"mine": 2' w/references/execution_profiles.json.bak.1
# Too large to be read, for root, too.
truncate -s 17M w/references/execution_profiles.json
ok "what cannot be read is blocked" gives "d['summary']['blocked'] == 1 and not d['ok'] and d['files'][0]['status'] == 'unreadable'" reconcile --apply --force
ok "and stays as it is" test "$(stat -c %s w/references/execution_profiles.json)" = $((17 << 20))
ok "nothing empty is kept for it" test ! -e w/references/execution_profiles.json.bak.2
cp w/references/execution_profiles.json.bak w/references/execution_profiles.json
helm reconcile --path w --apply --force >/dev/null
ok "--force alone is a mistake" exits 2 helm reconcile --path w --force
echo outside >elsewhere
rm w/references/model_recovery_policy.json
ln -s "$PWD/elsewhere" w/references/model_recovery_policy.json
ok "a link is blocked" exits 1 helm reconcile --path w --apply --force
ok "a link is not written through" grep -q '^outside$' elsewhere
rm w/references/model_recovery_policy.json
helm reconcile --path w --apply >/dev/null
ok "a place that is no workspace is said" says 1 "is not a workspace" helm reconcile --path elsewhere-at-all

# ---- members ----
mkdir -p w/skill_drafts/one/meta
echo '{"passed": true}' >w/skill_drafts/one/meta/assessment.json
echo '{"sources": [{"name": "vault", "kind": "generic", "root": "/nowhere", "state_dir_name": ".helm", "mode": "read-only"}]}' >w/.helm/context_sources.json
ok "status" gives "[s['name'] for s in d['context_sources']] == ['helm-local', 'vault'] and d['finalization_counts']['unknown'] == 1 and d['draft_assessments'][0]['draft'] == 'one' and d['recent_memory_operations'][0]['id'] == 'memop-1' and d['recent_crystallized_sessions'] == [] and d['memory_review_queue_count'] == 2 and isinstance(d['onboarding']['actions'], list) and d['session_card']['recent_failure_count'] == 1 and d['session_card']['latest_failure_labels'] == ['l1']" status
ok "report" gives "d['context_source_breakdown'] == {'helm': 1, 'generic': 1} and d['context_source_count'] == 2 and d['recent_memory_operations'][0]['id'] == 'memop-1' and d['finalization_counts']['capture_planned'] == 1" report
ok "its Markdown has the sections" sh -c '"$@" | grep -c "^## \(Onboarding Actions\|Memory Operations\|Crystallized Sessions\|Failed Tasks\|Failed Commands\|Recent Checkpoints\)$" | grep -qx 6' - env -i HOME="$scratch/home" "$HELM_REAL" report --path w --format markdown
ok "and its page shows no markup of others" says 0 "a &lt;b&gt;bold&lt;/b&gt; subject" helm report --path w --format html
ok "rebuild counts what was found out" gives "d['discovery_rows'] == 1 and d['task_rows'] == 4 and d['warnings'] == []" db rebuild
ok "query gives rows, the last begun first" gives "[t['task_id'] for t in d] == ['t3', 't1', 't2', 't0'] and d[0]['source_file'] == 'task-ledger.jsonl' and d[0]['raw']['status'] == 'timeout'" db query
echo damaged >w/.helm/ops-index.sqlite3
ok "a damaged index is told in the document" gives "d['status'] == 'present' and 'db rebuild --path' not in d.get('error', '') and d['error']" db status
helm db rebuild --path w >/dev/null
ok "doctor" gives "all(m in d for m in ('discovery', 'hardware', 'guard', 'model_health')) and d['guard']['default_mode'] == 'enforce' and d['discovery']['ops_db']['status'] == 'present' and d['model_health']['configured_models'] == [] and {'ops-db', 'model-health'} <= {c['name'] for c in d['checks']}" doctor
echo '[{"checkpoint_id": "20260413T090959Z-gone", "label": "gone", "created_at": "20260413T090959Z", "paths": ["."], "archive": ".helm/checkpoints/20260413T090959Z-gone/snapshot.tar.gz"}]' >w/.helm/checkpoints/index.json
ok "a listed checkpoint without its archive is named" says 1 "1 of 1 cannot be restored, their archive is gone; the first is 20260413T090959Z-gone" helm doctor --path w --skip-discovery
rm w/.helm/checkpoints/index.json
echo '{}' >w/.helm/privacy-vault.json
chmod 644 w/.helm/privacy-vault.json
ok "a vault that others can read is named" says 1 "others can read it (mode 644)" helm doctor --path w --skip-discovery
rm w/.helm/privacy-vault.json

# ---- advice ----
for view in "status" "status --brief" "dashboard" "report" "checkpoint create --label x"; do
  # shellcheck disable=SC2086 # words on purpose
  ok "advice keeps the workspace: $view" sh -c 'out=$("$@" 2>&1); echo "$out"; echo "$out" | grep -q "helm [a-z -]*--path $PWD/w" && ! echo "$out" | grep "helm \(report\|dashboard\|doctor\|checkpoint restore\|task list\)" | grep -v -- --path' \
    - env -i HOME="$scratch/home" "$HELM_REAL" $view --path w
done
ok "an error, too" says 1 "helm db rebuild --path $PWD/w" sh -c 'echo damaged >w/.helm/ops-index.sqlite3; env -i HOME="$1" "$2" db init --path w; code=$?; rm w/.helm/ops-index.sqlite3; exit $code' - "$scratch/home" "$HELM_REAL"
ok "without --path it stays short" sh -c 'cd w && ! env -i HOME="$1" "$2" status | grep -q -- "--path"' - "$scratch/home" "$HELM_REAL"

# ---- what people write in public ----
social() { # social CODE RISK MESSAGE [OPTION...]
  code=$1
  risk=$2
  message=$3
  shift 3
  exits "$code" helm privacy social --json --message "$message" "$@" && grep -q "\"risk\": \"$risk\"" "$scratch/.stdout"
}
ok "one post is fine" social 0 low "summarize this post https://example.org/1"
ok "what is not about people's posts is fine" social 0 low "check the health of the service"
ok "not without consent, purpose, scope and retention" social 3 high "read all posts of @someone and infer their personality"
ok "each that is missing is named" sh -c 'grep -c "\"\(consent\|purpose\|scope\|retention\)\": true" "$0" | grep -qx 4' "$scratch/.stdout"
ok "with all of them it is" social 0 high "read all posts of @someone and infer their personality" --consent --purpose research --scope "30 days" --retention "one day"
ok "a word of consent that is negated is none" social 3 high "profile this person from all tweets without consent, backup, last 30 days, delete after use"
ok "a dossier is high" social 3 high "collect weaknesses from her tweets"
ok "so is what is sensitive" social 3 high "political views in his timeline"
ok "an organization's posts in bulk are not" social 0 medium "all posts of the company account"
ok "one's own account is medium" social 0 medium "review my timeline for branding"
ok "more than a hundred posts are high" social 3 high "fetch 500 tweets of somebody"
ok "many days are no number of posts" social 0 low "tweets about rain in the last 365 days"
ok "in Korean as well" social 3 high "이 사람 트윗 전부 모아서 성향을 분석해줘"
ok "one post in Korean" social 0 low "이 게시물 요약해줘"
ok "no text is an error" exits 1 helm privacy social --message "$(printf '\377')"

# ---- what is found in program text ----
mkdir text
echo '4EE3 4111 1111 1111 1111' >text/table.txt
echo 'pay with 4111 1111 1111 1111 today' >text/card.txt
ok "a row of a table of codes is no card, a card is one" sh -c 'env -i HOME="$1" "$2" privacy scan --only CREDIT_CARD text >said; grep -q card.txt said && ! grep -q table.txt said' - "$scratch/home" "$HELM_REAL"
if [ -d /usr/include/linux ]; then
  ok "at most one finding in ten thousand lines of headers" sh -c '
    lines=$(find /usr/include -name "*.h" -type f -exec cat {} + | wc -l)
    found=$(env -i HOME="$1" "$2" privacy scan --json --skip EMAIL /usr/include 2>/dev/null | sed -n "s/^  \"count\": \([0-9]*\),/\1/p")
    echo "$found in $lines"; [ $((found * 10000)) -le "$lines" ]' - "$scratch/home" "$HELM_REAL"
fi
finish

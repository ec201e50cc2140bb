#!/bin/sh
# Each run that changes something leaves a row in the words of those who answer for it; a registry of the workspace's own counts.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
needs_terminal
ws=/var/tmp/helm-governance.$$
trap 'chmod -R u+rwX "$scratch" "$ws" 2>/dev/null; rm -rf "$scratch" "$ws"' EXIT
helm init --path "$ws" >/dev/null || { echo "Bail out! helm init failed"; exit 1; }
cd "$ws" || exit 1
HELM_ENV="HELM_WORKSPACE=$ws"
log=.helm/action-governance-decisions.jsonl
row() { # row EXPRESSION: of the newest row, as r
  tail -n 1 "$log" | python3 -c 'import json,sys; r=json.loads(sys.stdin.read()); sys.exit(0 if eval(sys.argv[1]) else json.dumps(r))' "$1"
}

helm run -- ls >/dev/null
ok "what only looks leaves none" [ ! -e "$log" ]
ok "a write does" helm run --task-id g1 -- touch docs/a
ok "with all that is asked of a row" row 'all(k in r for k in "timestamp session_id user_message_hash user_message_redacted parsed_scope attempted_action resource target policy_version decision reason live_source_requirement approval_status execution_status verification_result evidence_contract".split())'
ok "by its effect, since nobody said more" row 'r["session_id"]=="g1" and r["attempted_action"]=="file_write" and r["decision"]=="allow" and r["parsed_scope"]=="edit" and r["user_message_redacted"] is None'
ok "the task names it, too" says 0 '"governance"' helm task show g1 --json
ok "words that only look are advice" helm run --task-name 'review the docs' -- touch docs/b
ok "and told" row 'r["decision"]=="inspect_only" and r["reason"]=="inspect_scope_for_mutation" and r["advisory_only"]'
ok "in Korean, too" helm run --task-name '문서 확인해줘' -- touch docs/c
ok "told as well" row 'r["decision"]=="inspect_only"'
helm run --task-name 'update docs with password=hunter2hunter2' -- touch docs/d >/dev/null
ok "no secret is in it" sh -c '! grep -rq hunter2hunter2 "$1"' - "$ws/.helm"

cat >references/action_governance_registry.json <<'X'
{"schema_version":"helm.governance/v1","policy_version":"7","default_action":"deny","actions":[
 {"action_id":"file_write","resource_type":"file","required_scope":"edit","mutates":true,"default_decision":"allow"},
 {"action_id":"git_commit","resource_type":"git_repository","required_scope":"save","mutates":true,"requires_approval":true,"default_decision":"allow"},
 {"action_id":"git_push","resource_type":"git_repository","required_scope":"external_send","needs_live_source":true,"default_decision":"allow"}]}
X
ok "a registry of the workspace counts" exits 25 helm run --task-id g2 --task-name 'review the docs' -- touch docs/never
ok "and the row says so" sh -c 'tail -n 1 .helm/task-ledger.jsonl | grep -q "\"failure_stage\": \"governance\""'
ok "the decision is on record as a denial" sh -c 'tail -n 1 .helm/receipts.jsonl | grep -q "governance.held"'
ok "nothing was done" [ ! -e docs/never ]
ok "what is asked for in words is done" helm run --task-name 'update docs/e' -- touch docs/e
ok "what has no words, too" helm run -- touch docs/f
ok "a question is a question" exits 24 helm run --task-name 'save it' -- git commit -m x
ok "an id that nobody gave answers nothing" exits 24 helm run --approval-id nonsense --task-name 'save it' -- git commit -m x
ok "and the row says that it waits" row 'r["approval_status"]=="pending" and r["execution_status"]=="blocked"'
id=$(helm approval list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["requests"][-1]["approval_id"])')
terminal APPROVE -- helm approval approve "$id" >/dev/null
git init -q . 2>/dev/null && git config user.email a@b.invalid && git config user.name a && git add docs # nothing else is
ok "the approval of a person does" helm run --approval-id "$id" --task-name 'save it' -- git commit -m x
ok "and the row says so" row 'r["decision"]=="require_approval" and r["approval_status"]=="approved" and r["execution_status"]=="decided"'
ok "it is used up by that" exits 24 helm run --approval-id "$id" --task-name 'save it' -- git commit -m x
ok "a word on the command line is one, too" helm run --approve-risk --task-name 'save it' -- git commit -q --allow-empty -m y
ok "and the row has it" row 'r["approval_status"]=="approved" and r["execution_status"]=="decided"'
for _ in 1 2; do helm run --approve-risk --task-name 'save it' -- git commit -m z >/dev/null 2>&1; done
HELM_ENV="HELM_WORKSPACE=$ws HELM_POLICY_TRANSITION=1"
ok "it is a part of a question that is asked anyway" says 24 "nothing was done about it; git_commit is governed here" helm run --task-name 'save it' -- git commit -m z
HELM_ENV="HELM_WORKSPACE=$ws"
ok "the receipt of it, too" sh -c 'grep "\"approve-risk\"" .helm/receipts.jsonl | grep -q governance.held'
ok "a source that nobody looked at is none" exits 25 helm run --task-name 'push it' -- git push
ok "what the registry does not have is denied" exits 25 helm run -- crontab jobs
for how in 'git -C . push' 'git -c a.b=c push' 'git --git-dir .git push' 'env git push' 'sh -c "git push"' 'sh -c "cd docs && git -C .. push --force"' 'sh -c "echo x >docs/g; git push"'; do
  eval "set -- $how"
  ok "it is a push, however it is spelled: $how" exits 25 helm run --task-name 'push it' -- "$@"
  ok "and the row says which" row 'r["attempted_action"]=="git_push" and r["reason"]=="live_source_required"'
done
ok "a commit behind another program is a question, too" exits 24 helm run --task-name 'save it' -- sh -c 'git -C . commit -m x'
ok "a file that is written beside a commit is judged, too" exits 25 helm run --approve-risk --task-name 'save it' -- sh -c 'git commit -q --allow-empty -m x; echo x >docs/never'
ok "and is what the row is about" row 'r["attempted_action"]=="file_write" and r["reason"]=="scope_below_required"'
for bad in 'nothing' '[]' '{"schema_version":"helm.governance/v1","actions":[{"action_id":"a","required_scope":"edit"},{"action_id":"a","required_scope":"edit"}]}' '{"schema_version":"helm.governance/v1","default_action":"maybe","actions":[]}' '{"schema_version":"helm.governance/v1","actions":[{"action_id":"a","required_scope":"all"}]}' '{"schema_version":"helm.governance/v1","actions":[{"action_id":"file_write","required_scope":"edit","requires_approval":"true"}]}' '{"schema_version":"helm.governance/v1","actions":[{"action_id":"file_write","required_scope":"edit","needs_live_source":1}]}' '{"schema_version":"helm.governance/v1","actions":[{"action_id":"file_write","required_scope":"edit","mutates":null}]}' '{"schema_version":"helm.governance/v1","actions":[{"action_id":"file_write","required_scope":"edit","default_decision":["deny"]}]}' '{"schema_version":"helm.governance/v1","default_action":false,"actions":[{"action_id":"file_write","required_scope":"edit"}]}' '{"schema_version":"helm.governance/v1","actions":["file_write",{"action_id":"file_write","required_scope":"edit"}]}'; do
  echo "$bad" >references/action_governance_registry.json
  ok "one that is none refuses every change: $bad" exits 25 helm run -- touch docs/never
  ok "and that is why" row 'r["reason"]=="registry_unreadable"'
done
ok "and still what looks is not governed" helm run -- ls
finish

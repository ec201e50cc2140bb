#!/bin/sh
# helm skill validate: every mistake in a contract is named, and a contract without one is valid.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
fresh_workspace
mkdir -p "$ws/skills/one"
contract() { printf '%s' "$1" >"$ws/skills/one/contract.json"; }
names() { # names TEXT CONTRACT
  contract "$2"
  says 1 "$1" helm skill validate one
}
good='"skill":"one","allowed_profiles":["workspace_edit"],"default_profile":"workspace_edit"'
contract "{$good}"
ok "a contract without a mistake" exits 0 helm skill validate one
ok "a profile that is none" names "allowed_profiles names 'nowhere', which is no profile" '{"skill":"one","allowed_profiles":["workspace_edit","nowhere"],"default_profile":"workspace_edit"}'
ok "no profiles" names "allowed_profiles must be a list of profiles with at least one" '{"skill":"one","allowed_profiles":[],"default_profile":"workspace_edit"}'
ok "no default" names "default_profile must name a profile" '{"skill":"one","allowed_profiles":["workspace_edit"]}'
ok "a rule of a route without words" names "route_decision.tool_rules needs match_any" "{$good,\"route_decision\":{\"tool_rules\":[{}]}}"
ok "or with blank ones" names "route_decision.tool_rules needs match_any" "{$good,\"route_decision\":{\"tool_rules\":[{\"match_any\":[\" \"]}]}}"
ok "a step without its action" names "failure_downgrade.steps needs the texts when and action" "{$good,\"failure_downgrade\":{\"steps\":[{\"when\":\"x\"}]}}"
ok "a runner that is not there" names "runner.strict_required needs runner.entrypoint" "{$good,\"runner\":{\"strict_required\":true}}"
ok "a budget that is none" names "budget" "{$good,\"budget\":{\"seconds\":-1}}"

# The text of a skill, also one whose last line has no end, is held against what the contract allows, and against nothing else.
contract "{$good}"
printf -- '---\nname: one\ndescription: x\n---\nDo it' >"$ws/skills/one/SKILL.md"
ok "what the text does not say" says 0 "SKILL.md lacks '## core rule'" helm skill validate one
ok "what the contract does not allow is not missed" sh -c '"$@" >said 2>&1; ! grep -q "handed\|risky" said' - env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" skill validate one

# A source of memory is the receipt itself, not one that mentions the word.
helm run -- true >/dev/null
session=$(sed -n '1s/.*"session_id":"\([^"]*\)".*/\1/p' "$ws/.helm/receipts.jsonl")
decision=$(sed -n '1s/.*"decision_id":"\([^"]*\)".*/\1/p' "$ws/.helm/receipts.jsonl")
ok "there is a receipt" [ -n "$session" ] && [ -n "$decision" ]
ok "a text that only stands in receipts is no source" says 1 "no receipt" helm memory write --source "receipt:$session" --text 'the build needs twelve minutes'
ok "a decision is one" exits 0 helm memory write --source "receipt:$decision" --text 'the build needs twelve minutes'
rm "$ws/.helm/memory-entries.jsonl"
mkdir "$ws/.helm/memory-entries.jsonl"
ok "a list of what waits is an error where it cannot be read" says 1 "memory-entries.jsonl is not a regular file" helm memory review-queue

# What was repeated is counted together, in whatever order it was done.
fresh_workspace
for i in 1 2 3; do
  for name in alpha beta; do
    printf '{"task_id":"t%s%s","task_name":"%s","skill":"s","status":"completed","exit_code":0,"started_at":"%sT00:00:0%s+00:00"}\n' $name $i $name "$(date -u +%F)" $i >>"$ledger"
  done
done
repeated() { helm context --mode reflect-candidates --json | grep -c '"count": 3'; }
ok "two tasks that took turns three times each" [ "$(repeated)" = 2 ]
finish

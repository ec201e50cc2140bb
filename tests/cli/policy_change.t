#!/bin/sh
# helm policy explain, test, coverage, simulate, diff, shadow: what a policy says, and what a change of it would change.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
cp "$HELM_SOURCE/tests/cases/policy-use/two-tools.yaml" .
call() { # call TOOL INPUT
  printf '{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"%s","tool_name":"%s","tool_input":%s,"tool_use_id":"%s"}' "$PWD" "$1" "$2" "$3" |
    agent hook pre-tool --client claude-code >/dev/null 2>&1
}

# Explain.
echo '{"tool": "Write", "params": {"file_path": "/etc/x"}}' >request.json
ok "explain names the gate, the code and the policy" says 25 "DENY POLICY_VIOLATION" helm policy explain request.json --policy two-tools.yaml
ok "and what would change the answer, tried" says 25 'params.file_path = "notes"  ->  ALLOW by notes-only' helm policy explain request.json --policy two-tools.yaml
ok "an answer that allows names the rule's line" says 0 "two-tools.yaml:6:5" sh -c 'echo "{\"tool\": \"Read\"}" | "$@"' sh env HOME="$scratch/home" "$HELM_REAL" policy explain - --policy two-tools.yaml
ok "also as JSON" is_json helm policy explain request.json --policy two-tools.yaml --json
ok "a command is a request, too" says 0 "echo-runs" helm policy explain --command 'echo hi' --policy two-tools.yaml
cat >stage.yaml <<'EOT'
format: helm.policy.v1
name: stage
version: "1"
rules:
  - {id: everything, action: "*", verdict: ALLOW}
  - {id: not-there, action: "*", verdict: DENY, all: [{field: facts.stage, op: equals, value: production}]}
EOT
ok "without the fact it is allowed" says 0 "everything" helm policy explain --command 'rm scratch' --policy stage.yaml
ok "facts of --facts count" says 25 "not-there" helm policy explain --command 'rm scratch' --policy stage.yaml --facts '{"stage":"production"}'
echo '{"stage": "production"}' >facts.json
ok "also from a file" says 25 "not-there" helm policy explain request.json --policy stage.yaml --facts facts.json
ok "facts that are no JSON are an error" says 1 "--facts" helm policy explain request.json --policy stage.yaml --facts '{'
ok "a file that is not there, too" says 1 "missing.json" helm policy explain request.json --policy stage.yaml --facts missing.json
echo '[1]' >list.json
ok "and what is no object" says 1 "facts must be an object" helm policy explain request.json --policy stage.yaml --facts list.json
echo '{"tool": "Write", "facts": {"stage": "test"}}' >staged.json
ok "a fact is said in one place" says 1 "has a fact 'stage' already" helm policy explain staged.json --policy stage.yaml --facts facts.json
ok "a member that is none is named" says 1 "did you mean 'params'" sh -c 'echo "{\"tool\": \"Read\", \"param\": {}}" | "$@"' sh env HOME="$scratch/home" "$HELM_REAL" policy explain - --policy two-tools.yaml
ok "without a policy in use one must be named" says 1 "no policy is in use" helm policy explain request.json

ok "a language without texts is not taken for one" says 2 "--lang goes with --request" helm policy explain request.json --policy two-tools.yaml --lang de
# Tests beside a policy.
ok "a policy that is not there is named" says 1 "there is no file gone.yaml" helm policy test gone.yaml
ok "and so are tests" says 1 "there is no file gone.test.yaml" helm policy coverage gone.test.yaml
cat >two-tools.test.yaml <<'EOT'
format: helm.policy-test.v1
tests:
  - name: reading is allowed
    request: {action: AGENT_TOOL_CALL, tool: Read}
    expect: {verdict: ALLOW, rule: look-around, fired: [look-around]}
  - name: a shell asks
    request: {action: AGENT_TOOL_CALL, tool: Bash, params: {command: ls}}
    expect: {verdict: ESCALATE, code: APPROVAL_REQUIRED, gate: rules}
  - name: another command is not allowed
    request: {command: touch x}
    expect: {verdict: DENY}
EOT
ok "tests beside a policy are run" says 0 "3 passed, 0 failed" helm policy test two-tools.yaml
ok "by the file of tests, too" says 0 "3 passed, 0 failed" helm policy test two-tools.test.yaml
ok "coverage names the rules that no test reaches" says 1 "no test reaches ALLOW notes-only (two-tools.yaml:11:5)" helm policy coverage two-tools.yaml
ok "also as JSON" is_json helm policy coverage two-tools.yaml --json
sed 's/verdict: ALLOW, rule: look-around/verdict: DENY, rule: look-around/' two-tools.test.yaml >wrong.test.yaml
sed 's/^tests:/policy: two-tools.yaml\ntests:/' wrong.test.yaml >wrong2.test.yaml
ok "a test that is not met fails, with its place and both answers" says 1 "got      ALLOW by look-around" helm policy test wrong2.test.yaml
ok "a policy without tests says what to write" says 1 "write lonely.test.yaml" sh -c 'cp two-tools.yaml lonely.yaml; exec "$@"' sh env HOME="$scratch/home" "$HELM_REAL" policy test lonely.yaml

# What was asked here, asked again.
helm run -- echo one >/dev/null
helm run -- touch two >/dev/null
call Read "{\"file_path\":\"$PWD/two\"}" a1
call Write "{\"file_path\":\"$PWD/three\",\"content\":\"x\"}" a2
call Bash '{"command":"touch four"}' a3
ok "simulate asks a candidate what was asked" says 0 "; 5 asked again" helm policy simulate two-tools.yaml
ok "and says since when" says 0 " decisions since 2001-02-03 00:00 " helm policy simulate two-tools.yaml --since 2001-02-03
ok "and counts what would change" says 0 "2 would be as they were, 3 would change" helm policy simulate two-tools.yaml
ok "by rule" says 0 "shell-asks" helm policy simulate two-tools.yaml
ok "also as JSON" is_json helm policy simulate two-tools.yaml --json
ok "what lies before is not looked at" says 0 "0 decisions" sh -c 'sleep 1.1; exec "$@"' sh env HOME="$scratch/home" "$HELM_REAL" policy simulate two-tools.yaml --since 1s
cat >budget.yaml <<'EOT'
format: helm.policy.v1
name: budget
version: "1"
rules:
  - {id: everything, action: "*", verdict: ALLOW}
limits:
  budgets:
    - {id: runs, limit: 1, unit: requests, period: day, actions: [EXECUTE_COMMAND]}
EOT
ok "what a candidate's budget would hold is summed up on the way" says 0 "4 would be as they were, 1 would change" helm policy simulate budget.yaml
cat >level.yaml <<'EOT'
format: helm.policy.v1
name: level
version: "1"
rules:
  - {id: everything, action: "*", verdict: ALLOW}
  - {id: five, action: "*", verdict: DENY, all: [{field: facts.level, op: equals, value: 5}]}
EOT
ok "a fact that reads as a number is one" says 0 "0 would be as they were, 5 would change" helm policy simulate level.yaml --fact level=5
ok "what the door knows cannot be said" says 2 "known by the door itself" helm policy simulate level.yaml --fact door=x
ok "a policy with limits does not differ from itself" says 0 "0 are answered differently" helm policy diff budget.yaml budget.yaml
cat >bucket.yaml <<'EOT'
format: helm.policy.v1
name: bucket
version: "1"
rules:
  - {id: everything, action: "*", verdict: ALLOW}
limits:
  buckets:
    - {id: runs, burst: 2, per_minute: 60, actions: [EXECUTE_COMMAND]}
EOT
sleep 1.1
helm run -- echo later >/dev/null
ok "what comes back with time comes back when it is asked again" says 0 "6 would be as they were, 0 would change" helm policy simulate bucket.yaml
id=$(grep -h '"tool": "Bash"' "$ws/.helm/tool-calls.jsonl" | sed -n 's/.*"decision_id": "\(dec-[0-9a-f]*\)".*/\1/p' | tail -n 1)
ok "a decision on record can be explained by its id" says 24 "shell-asks" helm policy explain "$id" --policy two-tools.yaml
ok "what was answered then comes first" says 24 "recorded 20" helm policy explain "$id" --policy two-tools.yaml
ok "also where no policy was in use" says 24 "no policy was in use" helm policy explain "$id" --policy two-tools.yaml
ok "by the id that lists show" says 24 "shell-asks" helm policy explain "rcpt_$id" --policy two-tools.yaml
ok "as JSON, too" says 24 '"recorded": {' helm policy explain "rcpt_$id" --policy two-tools.yaml --json

# Two policies compared.
sed '/id: notes-only/,/verdict: ALLOW/d' two-tools.yaml | sed 's/verdict: ESCALATE/verdict: DENY/' >stricter.yaml
ok "diff says what is newly denied" says 1 "newly denied" helm policy diff two-tools.yaml stricter.yaml
ok "and the other way round what is newly asked" says 1 "newly asked" helm policy diff stricter.yaml two-tools.yaml
ok "a policy does not differ from itself" says 0 "0 are answered differently" helm policy diff two-tools.yaml two-tools.yaml
ok "also as JSON" is_json helm policy diff two-tools.yaml stricter.yaml --json

# A candidate beside it.
ok "starting a shadow is a person's act" says 25 "only a person" helm policy shadow start two-tools.yaml
ok "a person can" says 0 "started" terminal -- helm policy shadow start two-tools.yaml
ok "it answers nobody" says 0 "" sh -c '"$@" && echo fine' sh env HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" run -- touch five
helm run -- echo six >/dev/null
helm run -- touch ghp_a1b2c3d4e5f6a7b8c9d0 >/dev/null
ok "only differences are noted" says 0 "2 decisions would have been different" helm policy shadow report
ok "no credential stands in the notes" sh -c '! grep -q ghp_a1b2 "$0"/home/.helm/trees/*/policy-shadow.jsonl' "$scratch"
ok "the report is JSON, too" is_json helm policy shadow report --json
ok "stopping it ends the notes" says 0 "stopped" terminal -- helm policy shadow stop
ok "and the report" says 1 "no policy decides beside" helm policy shadow report
# A limit is judged by what was used up before, as the policy in use is.
cat >two.yaml <<'EOT'
format: helm.policy.v1
name: two
version: "1"
coverage: open
limits:
  budgets:
    - {id: runs, limit: 2, unit: requests, period: total, actions: [EXECUTE_COMMAND]}
EOT
terminal -- helm policy use two.yaml >/dev/null
terminal -- helm policy shadow start two.yaml >/dev/null
ok "the last unit of a limit" says 0 "b" sh -c '"$@" run -- echo a && "$@" run -- echo b' sh env HOME="$scratch/home" PATH="$PATH" "$HELM_REAL"
ok "and one more" says 25 "less than 1 left" helm run -- echo c
ok "are no difference between a policy and itself" says 0 "0 decisions would have been different" helm policy shadow report

# What two doors did in turn is asked again in turn.
terminal -- helm policy use --none >/dev/null
helm policy shadow stop >/dev/null 2>&1
sleep 2.1
begun=$(date +%s)
call Write "{\"file_path\":\"$PWD/a\",\"content\":\"x\"}" turn-1
sleep 1.3
helm run -- echo turn >/dev/null
sleep 1.3
call Write "{\"file_path\":\"$PWD/b\",\"content\":\"x\"}" turn-2
cat >paced.yaml <<'EOT'
format: helm.policy.v1
name: paced
version: "1"
coverage: open
rules: []
limits:
  buckets:
    - {id: one-a-second, per_minute: 60, burst: 1, per: all}
EOT
ok "what two doors did in turn is asked again in turn" says 0 "3 would be as they were, 0 would change" helm policy simulate paced.yaml --since "$(($(date +%s) - begun + 1))s"
finish

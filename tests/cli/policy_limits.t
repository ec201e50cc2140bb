#!/bin/sh
# limits of a policy: one budget at every door, drawn in the receipts, seen by helm policy limits; the suites about what bounds.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace

cat >three.yaml <<'EOT'
format: helm.policy.v1
name: three
version: "1"
epoch: 1
coverage: open
limits:
  budgets:
    - {id: runs, limit: 3, unit: requests, period: total, actions: [EXECUTE_COMMAND]}
    - {id: money, limit: 100, period: total}
EOT
ok "a file is looked at before it is in use" says 0 "runs" helm policy limits three.yaml
ok "without one in use there is nothing to see" says 1 "no policy" helm policy limits
ok "and what to write is what works" says 1 "helm policy limits FILE" helm policy limits
ok "a person puts it in use" says 0 "" terminal -- helm policy use three.yaml
ok "all of it is left" says 0 "runs   budget  (all)  0     0     3     3" helm policy limits
ok "guard check draws nothing" says 0 "" helm guard check -- echo one
ok "one run" says 0 "one" helm run -- echo one
ok "the draw stands in the receipt" sh -c "grep -q '\"draws\":\\[{.*\"key\":\"6:budget|4:runs|0:\"' '$ws/.helm/receipts.jsonl'"
ok "and what became of the money in the outcome" sh -c "grep -q '\"settles\":\\[{.*\"key\":\"6:budget|5:money|0:\"' '$ws/.helm/receipts.jsonl'"
ok "two are left" says 0 "runs   budget  (all)  1     0     2     3" helm policy limits
ok "and a cent is used" says 0 "money  budget  (all)  0.01  0.00  0.99  1.00" helm policy limits
ok "as JSON, too" is_json helm policy limits --json
ok "two" says 0 "two" helm run -- echo two
ok "three" says 0 "three" helm run -- echo three
ok "the fourth is refused" says 25 "Budget runs has less than 1 left of 3" helm run -- echo four
ok "with its code on record" sh -c "tail -n 3 '$ws/.helm/receipts.jsonl' | grep -q '\"reason_code\":\"BUDGET_EXCEEDED\"'"
ok "and a look says the same" says 25 "" helm guard check -- echo four
ok "the log is sound" says 0 "" helm log check
rm -f "$ws/.helm/log/draws"
ok "the sum is made again from the receipts" says 0 "runs   budget  (all)  3     0     0     3" helm policy limits
cp "$ws/.helm/receipts.jsonl" saved
sed 's/"amount":1,"key":"6:budget|4:runs|0:"/"amount":0,"key":"6:budget|4:runs|0:"/' saved >"$ws/.helm/receipts.jsonl"
ok "something was changed" sh -c "! cmp -s saved '$ws/.helm/receipts.jsonl'"
ok "who changes a draw breaks the receipt" says 1 "" helm log check
cp saved "$ws/.helm/receipts.jsonl"

# What the client's own person answers is counted when the client tells that it was made.
fresh_workspace
cat >asks.yaml <<'EOT'
format: helm.policy.v1
name: asks
version: "1"
coverage: open
rules:
  - {id: person, action: AGENT_TOOL_CALL, verdict: ESCALATE, all: [{field: tool, op: equals, value: Write}]}
limits:
  budgets:
    - {id: calls, limit: 2, unit: requests, period: day}
EOT
terminal -- helm policy use asks.yaml >/dev/null
tell() { # tell pre|post USE: a call of Write before or after it is made
  printf '{"session_id":"s","cwd":"%s","tool_name":"Write","tool_input":{"file_path":"a","content":"x"},"tool_use_id":"%s","tool_response":{}}' "$PWD" "$2" |
    agent hook "$1-tool" --client claude-code 2>&1
}
used() { helm policy limits --json | tr -d ' \n' | sed 's/.*"used":\([0-9]*\).*/\1/'; }
ok "a question in the client draws on nothing yet" sh -c 'printf %s "$0" | grep -q "\"ask\"" && [ "$1" = 0 ]' "$(tell pre u1)" "$(used)"
tell pre u2 >/dev/null
tell post u1 >/dev/null
ok "the call that was made is counted" [ "$(used)" = 1 ]
tell post u2 >/dev/null
ok "each of them" [ "$(used)" = 2 ]
rm -f "$ws/.helm/log/draws"
ok "also from the receipts alone" [ "$(used)" = 2 ]
ok "which are sound" says 0 "" helm log check
ok "and then the budget is used up" sh -c 'printf %s "$0" | grep -q BUDGET_EXCEEDED' "$(tell pre u3)"

# ---- whose count it is: projects without a workspace share one; a workspace that an agent makes has none of its own ----
fresh_workspace
cat >day.yaml <<'EOT'
format: helm.policy.v1
name: day
version: "1"
coverage: open
rules:
  - {id: no-touch, action: EXECUTE_COMMAND, verdict: DENY, all: [{field: tool, op: equals, value: touch}]}
limits:
  budgets:
    - {id: calls, limit: 3, unit: requests, period: day}
EOT
ok "lint says whose count it is" says 0 "projects without a workspace of their own share the default one" helm policy lint day.yaml
terminal -- helm policy use day.yaml >/dev/null
mkdir -p one two/inner own
agent init --path two >/dev/null
ok "what is done in one project" says 0 "1" helm run -- echo 1
in_dir() { (cd "$1" && shift && "$@"); }
ok "and in another" says 0 "2" in_dir one helm run -- echo 2
ok "is one sum" [ "$(used)" = 2 ]
ok "a workspace that an agent made does not have the limit once more" says 25 "counted in $ws, and this place does not stand alone" helm run --path two -- echo 3
ok "with what to do" says 25 "have a person let this place stand alone" helm run --path two -- echo 3
ok "nor for a hook there" sh -c 'printf %s "$0" | grep -q BUDGET_ERROR' "$(cd two && printf '{"session_id":"s","cwd":"%s","tool_name":"Write","tool_input":{"file_path":"a","content":"x"},"tool_use_id":"t"}' "$PWD" | agent hook pre-tool --client claude-code 2>&1)"
agent init --path two/inner >/dev/null
ok "nor in one inside it" says 25 "does not stand alone" helm run --path two/inner -- echo 3
ok "its limits say so" says 0 "denied here" in_dir two helm policy limits
ok "rules of the policy hold there as before" says 25 "no-touch" helm run --path two -- touch x
ok "nothing of that was counted" [ "$(used)" = 2 ]
terminal -- helm init --path own >/dev/null
ok "a person's own workspace stands alone" says 0 "4" helm run --path own -- echo 4

cases="$HELM_SOURCE/tests/cases/bounds"
ok "the cases of envelopes" says 0 "2 passed, 0 failed" helm conform run --suite envelope --cases "$cases"
ok "the states of an effect" says 0 "2 passed, 0 failed" helm conform run --suite lifecycle --cases "$cases"
ok "cases that are wrong fail" says 1 "0 passed, 4 failed" helm conform run --suite envelope --cases "$cases/wrong"
ok "states that are wrong fail" says 1 "0 passed, 1 failed" helm conform run --suite lifecycle --cases "$cases/wrong"
finish

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

cases="$HELM_SOURCE/tests/cases/bounds"
ok "the cases of envelopes" says 0 "2 passed, 0 failed" helm conform run --suite envelope --cases "$cases"
ok "the states of an effect" says 0 "2 passed, 0 failed" helm conform run --suite lifecycle --cases "$cases"
ok "cases that are wrong fail" says 1 "0 passed, 4 failed" helm conform run --suite envelope --cases "$cases/wrong"
ok "states that are wrong fail" says 1 "0 passed, 1 failed" helm conform run --suite lifecycle --cases "$cases/wrong"
finish

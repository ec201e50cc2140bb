#!/bin/sh
# policy lint, explain, fmt, and the cases of the policy language.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

cat >pay.policy <<'P'
module treasury {
  template gate {
    add_gate(kind = "cfo")
  }

  // large payments
  rule large {
    scope: capital_flow
    when: known(fact("limit")) and delta.flow.amount > fact("limit")
    enforce: require_approval("cfo")
    explain: AUTH.TREASURY.NEEDS_APPROVAL.LARGE
    patch: gate()
  }

  rule unknown {
    scope: capital_flow
    when: not known(fact("limit"))
    enforce: needs_facts("limit")
    explain: FACT.TREASURY.NEEDS_FACTS.LIMIT
  }

  rule negative [priority = 1] {
    scope: capital_flow
    when: delta.flow.amount < money("EUR", 0)
    enforce: deny
    explain: CPI.TREASURY.FORBIDDEN.NEGATIVE
  }
}
P
request() { printf '{"subjects":[{"target":"capital_flow","value":{"amount":{"money":["%s",%s]}}}]}' "$1" "$2"; }
request EUR 500 >small.json
request EUR 60000 >large.json
request EUR -1 >negative.json
request USD 1 >dollars.json
echo '{"limit":{"money":["EUR",50000]}}' >facts.json
escape=$(printf '\033')
no_escape() { ! "$@" 2>&1 | grep -q "$escape"; }
same_text() { helm policy fmt pay.policy | cmp - pay.policy; }
hash_of() { helm policy lint --json "$1" | sed -n 's/.*"policy_hash": "\(.*\)".*/\1/p'; }
same_hash() { [ -n "$(hash_of "$1")" ] && [ "$(hash_of "$1")" = "$(hash_of "$2")" ]; }
explain() { req=$1; shift; helm policy explain pay.policy --request "$req" "$@"; }

ok "a good policy can be used" says 0 "can be used (sha256:" helm policy lint pay.policy
ok "and the linter lists the rule that an absent fact silences" says 0 "pay.policy:9:11: W_FACT_ABSENT: without fact \"limit\" rule treasury.large may have no objection" helm policy lint pay.policy
ok "which --strict refuses" exits 1 helm policy lint --strict pay.policy
ok "lint as JSON" is_json helm policy lint --json pay.policy
sed 's/require_approval("cfo")/allow/; s/< money/> fact("x") + money/' pay.policy >bad.policy
ok "a mistake is told with file, line, column, word and remedy" says 1 "bad.policy:10:14: E_ENFORCE: a rule cannot allow; it can only restrict, at 'allow'" helm policy lint bad.policy
ok "and so is the next one" says 1 "bad.policy:24:41: E_LEX: no part of the language begins with this character, at '+'" helm policy lint bad.policy
ok "mistakes as JSON" says 1 '"valid": false' helm policy lint --json bad.policy
ok "standard input" says 1 "standard input:2:1: E_SYNTAX" sh -c "echo module data | '$HELM_REAL' policy lint -"
ok "a file that is not there" says 1 "nowhere" helm policy lint nowhere
head -c 1100000 /dev/zero | tr '\0' ' ' >huge.policy
ok "a file that is too large" exits 1 helm policy lint huge.policy

ok "no objection" says 0 "ALLOW by policy sha256:" explain small.json --facts facts.json
ok "a person must approve" says 24 "ESCALATE by rule treasury.large" explain large.json --facts facts.json
ok "who, and what is suggested" says 24 "Ask the role 'cfo' for approval." explain large.json --facts facts.json
ok "a fact is missing" says 24 "Find out and supply: limit." explain large.json
ok "denied" says 25 "DENY by rule treasury.negative" explain negative.json --facts facts.json
ok "what cannot be judged is denied" says 25 "amounts of two currencies cannot be compared" explain dollars.json --facts facts.json
ok "the steps are shown" says 24 "PASS  treasury.negative" explain large.json --facts facts.json
ok "in another language" says 24 "Die Rolle 'cfo' um Zustimmung bitten." explain large.json --facts facts.json --lang de
ok "a language that is not there" says 2 "there are: de, en" explain large.json --lang xx
ok "the answer as JSON" says 24 '"approver_role": "cfo"' explain large.json --facts facts.json --json
printf '{"subjects":[],"facts":{}}' >both.json
explain large.json --facts facts.json --json >answer.json
ok "which is what its schema says" exits 0 helm schema validate "$HELM_SOURCE/schemas/policy-dsl-answer.schema.json" answer.json
explain dollars.json --facts facts.json --json >answer.json
ok "also when it is an error" exits 0 helm schema validate "$HELM_SOURCE/schemas/policy-dsl-answer.schema.json" answer.json
ok "facts from two places are refused" says 1 "has facts already" explain both.json --facts facts.json
echo '[]' >small_list.json
ok "facts that are a list" says 1 "must be an object" explain small.json --facts small_list.json
ok "a request that is a list" says 1 "must hold an object" explain small_list.json --facts facts.json
ok "both from standard input" says 2 "only one of" explain - --facts -
echo '{"subjects":[],"fcts":{}}' >typo.json
ok "a request with a misspelled member" says 1 "that nobody reads" explain typo.json
ok "a policy with mistakes judges nothing" says 1 "E_ENFORCE" helm policy explain bad.policy --request small.json
printf '{"subjects":[{"target":"node","id":"\\u001b[31m","value":{}}]}' >escape.json
printf 'module data { rule r { scope: node when: delta.node.x == 1 enforce: deny explain: CPI.DATA.FORBIDDEN.X, a = delta.e } }' >node.policy
ok "bytes of a request do not reach the terminal" no_escape helm policy explain node.policy --request escape.json

ok "a policy in its layout stays as it is" same_text
ok "a policy in its layout passes the check" exits 0 helm policy fmt --check pay.policy
tr '\n' ' ' <pay.policy | sed 's|// large payments||' >line.policy
ok "another layout does not" says 1 "not in its layout" helm policy fmt --check line.policy
helm policy fmt line.policy >laid.policy
ok "laid out it means the same" same_hash line.policy laid.policy
ok "laid out it passes the check" exits 0 helm policy fmt --check laid.policy
ok "layout as JSON" is_json helm policy fmt --json line.policy
ok "a policy with mistakes is not laid out" says 1 "E_ENFORCE" helm policy fmt bad.policy

ok "our own cases pass" says 0 "259 passed, 0 failed, 0 not supported" helm conform run --suite dsl --cases "$HELM_SOURCE/tests/cases/policy-dsl"
mkdir -p other/derived
printf '{"cases":[{"id":"a","source":"x","expected":"accept"},{"id":"b","source":1,"expected":"E_SYNTAX"}]}' >other/derived/dsl-static-cases.json
printf '{"cases":[{"id":"c","source":"x","input":{},"expected":{}},{"id":"d","source":"module data { rule r { scope: node when: delta.x == 1 enforce: deny explain: CPI.DATA.FORBIDDEN.X } }","input":{},"expected":{}},{"id":"e","source":"module data { rule r { scope: node when: delta.x == 1 enforce: deny explain: CPI.DATA.FORBIDDEN.X } }","input":{"subjects":[]},"expected":{"verdict":"ALLOW","subjects":[],"more":1}}]}' >other/derived/dsl-evaluation-cases.json
ok "a case that is not met fails, and one that cannot run, and one that expects what is not known" says 1 "1 passed, 4 failed" helm conform run --suite dsl --cases other
finish

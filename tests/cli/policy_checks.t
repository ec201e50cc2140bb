#!/bin/sh
# The checks of a policy: one table, which documents and schema repeat, and which the real program can feed; rules that can never speak are refused.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace

def=$HELM_SOURCE/src/decide/checks.def
page=$HELM_SOURCE/docs/formats/policy-document.md

# ---- one source ----

from_table() { # name, from, member, page of every check, in order
  sed -n 's/^CHECK([A-Z]*, \([a-z]*\), .*, \([a-z]*\), \(NULL\|"[a-z_]*"\), "\([a-z-]*\.md\)")$/\1 \2 \3 \4/p' "$def" | tr -d '"' | sed 's/ NULL / - /'
}
from_page() {
  sed -n '/^## Checks/,/^## Rules/s/^| `\([a-z]*\)` | .* | \([a-z]*\) | \(`[a-z_]*`\|-\) | \([a-z-]*\.md\) |$/\1 \2 \3 \4/p' "$page" | tr -d '`'
}
members() { sed -n 's/^MEMBER(\([a-z_]*\), \([a-z]*\), .*/\1 \2/p' "$def"; }
same_text() { # same_text WANT GOT
  [ "$1" = "$2" ] && return 0
  printf '%s\n' "$1" >want.txt
  printf '%s\n' "$2" >got.txt
  diff want.txt got.txt
}
from_table >table.txt
from_page >page.txt
members | sort >members.txt
ok "the table has checks" test "$(wc -l <table.txt)" -gt 20
ok "and none is written in a form that this test does not read" test "$(grep -c '^CHECK(' "$def")" = "$(wc -l <table.txt)"
ok "the page lists the checks of the table in its order" same_text "$(cat table.txt)" "$(cat page.txt)"
ok "every page that the table names is there" sh -c 'sed "s/.* //" table.txt | sort -u | while read -r f; do test -e "$0/docs/formats/$f" || exit 1; done' "$HELM_SOURCE"
sed -n '/^| member | what |/,/^$/s/^| \(`[^|]*`\) |.*/\1/p' "$page" | sed -n '/`format`/,/`signature`/p' | tr -d '`,' | tr ' ' '\n' | sort >page-members.txt
ok "the page lists the members of the table" same_text "$(sed 's/ .*//' members.txt | grep -vx rules)" "$(cat page-members.txt)"
python3 -c 'import json, sys; print("\n".join(sorted(json.load(open(sys.argv[1]))["properties"])))' "$HELM_SOURCE/schemas/policy-document.schema.json" >schema-members.txt
ok "so does the schema" same_text "$(sed 's/ .*//' members.txt | grep -vx rules)" "$(cat schema-members.txt)"

# ---- what is listed is read ----

rules='rules: [{id: all, action: "*", verdict: ALLOW}]'
policy() { # policy TEXT: p.yaml with these members
  printf 'format: helm.policy.v1\nname: p\nversion: "1"\n%b\n' "$1" >p.yaml
}
use() { # use TEXT: such a policy is put in use
  policy "$1"
  terminal -- helm policy use p.yaml >use.out 2>&1 || { cat use.out; return 1; }
}
refused_with() { # refused_with TEXT MEMBERS: neither lint nor use takes it, and both say the text
  policy "$2"
  helm policy lint p.yaml >lint.out 2>&1 && { echo "lint takes it"; return 1; }
  terminal -- helm policy use p.yaml >use.out 2>&1 && { echo "it can be put in use"; return 1; }
  grep -qF "$1" lint.out || { echo "lint says:"; cat lint.out; return 1; }
  grep -qF "$1" use.out || { echo "use says:"; cat use.out; return 1; }
}
for m in assumptions identity pdp stop; do
  ok "a member $m, which nothing reads, is refused and not documented" sh -c "! grep -qx '$m' page-members.txt"
  ok "by lint and by use, too ($m)" refused_with "there is no member '$m' here" "$rules\n$m: {}"
done

# ---- every check that a policy requires is satisfied by a run, or refused when it is read ----

passes() { use "$1" && says 0 hello helm run -- echo hello; }
for g in shape stop policy tenant provenance verification pins coverage rules effects; do
  ok "a policy that requires $g lets a run pass" passes "requires_gates: [$g]\n$rules"
done
for g in schema delegation capability mcp envelope requirements graph sandbox egress taint threat privilege velocity budget; do
  ok "one that requires $g and gives it nothing to check is refused" refused_with "names '$g', which has nothing to check" "requires_gates: [$g]\n$rules"
done
graph="graph: 'module data { rule r { scope: node(node_type == \"delete\") when: delta.node.class == \"in\" enforce: deny explain: CPI.DATA.FORBIDDEN.X } }'"
ok "with something to check: schema" passes "requires_gates: [schema]\n$rules\nschemas: {OTHER: {type: object}}"
ok "requirements" passes "requires_gates: [requirements]\n$rules\nrequirements: {EXECUTE_COMMAND: {id: s, requirements: [{id: r, expression: 'true'}]}}"
ok "mcp" passes "requires_gates: [mcp]\n$rules\nmcp: {servers: {}}"
ok "egress" passes "requires_gates: [egress]\n$rules\negress: {allowed_domains: [a.example]}"
ok "taint" passes "requires_gates: [taint]\n$rules\ntaint: {stays: [x]}"
ok "threat" passes "requires_gates: [threat]\n$rules\nthreat: {}"
ok "capability" passes "requires_gates: [capability]\n$rules\ncapability: {manifests: {}}"
ok "privilege" passes "requires_gates: [privilege]\n$rules\nprivilege: {default: RESTRICTED, required: {EXECUTE_COMMAND: RESTRICTED}}"
ok "budget" passes "requires_gates: [budget]\n$rules\nlimits: {budgets: [{id: b, limit: 100000, unit: requests, period: day}]}"
ok "velocity" passes "requires_gates: [velocity]\n$rules\nlimits: {windows: [{id: w, limit: 100000, seconds: 60}]}"
ok "graph" passes "requires_gates: [graph]\n$rules\n$graph"
ok "sandbox" passes "requires_gates: [sandbox]\n$rules\nsandbox: {actions: [EXECUTE_COMMAND], runtimes: [walls], commands: [echo], min_gas: 0}"

# ---- what they say ----

ok "a sandbox section refuses a program that it does not list" says 25 "does not list every program" helm run -- ls
ok "and guard check says the same" says 25 "does not list every program" helm guard check --containment walls -- ls
use "$rules\nsandbox: {actions: [EXECUTE_COMMAND], runtimes: [wasi], commands: [echo], min_gas: 0}"
ok "and whatever runs in another sandbox" says 25 "a sandbox that the policy names" helm run -- echo hello
use "requires_gates: [stop]\n$rules"
terminal -- helm freeze --reason "for the test" >/dev/null
ok "a freeze is one answer, with the policy or without" says 25 "a person has frozen everything: for the test" helm run -- echo hello
terminal -- helm unfreeze >/dev/null
ok "and its end, too" says 0 hello helm run -- echo hello

# ---- rules that ask ----

ok "a rule that asks is enough" use 'rules: [{id: db, action: EXECUTE_COMMAND, verdict: ESCALATE, text: A person decides.}]'
ok "lint says nothing against it" says 0 "can be used" helm policy lint p.yaml
ok "and it asks" says 24 "A person decides" helm run -- echo hello
printf '{"action":"other"}' >q.json
ok "of another action it does not speak" says 25 "NO_POLICY_DEFINED" helm policy explain q.json --policy p.yaml

# ---- rules that can never speak ----

ok "a rule behind one that always holds and is stricter is refused" refused_with "rule 'no' always holds here and is stricter: this one never decides, at 'yes'" 'rules: [{id: no, action: "*", verdict: DENY}, {id: yes, action: x, verdict: ALLOW}]'
printf 'format: helm.policy.v1\nname: both\nversion: "1"\nrules: [{id: yes, action: x, verdict: ALLOW}, {id: ask, action: x, verdict: ESCALATE}]\n' >both.yaml
ok "one that allows what another asks about is needless, and no error" says 0 "this one never decides" helm policy lint both.yaml
ok "with its place in the file" says 1 "p.yaml:4:47" helm policy lint p.yaml
ok "one whose condition is never true" refused_with "rule 'r' can never hold" "rules: [{id: r, action: x, verdict: ALLOW, when: 'false'}]"
ok "one that compares with an empty list" refused_with "rule 'r' can never hold" "rules: [{id: r, action: x, verdict: ALLOW, all: [{field: tool, op: in, values: []}]}]"
ok "one that reads what nothing supplies" refused_with "there is no variable 'inputs'" "rules: [{id: r, action: x, verdict: ALLOW, when: 'inputs.params.a == 1'}]"
ok "or a member of the request that there is not" refused_with "'input' has no member 'parms'" "rules: [{id: r, action: x, verdict: ALLOW, when: 'input.parms.a == 1'}]"
ok "nothing of that is in use" says 24 "A person decides" helm run -- echo hello

# ---- rules over graphs ----

use "coverage: open\n$graph"
touch gone
ok "rules over graphs refuse what a command does" says 25 "data.r" helm run -- rm gone
ok "and the file is there" test -e gone
call=$(printf '{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"%s","tool_name":"Bash","tool_input":{"command":"rm gone"},"tool_use_id":"u1"}' "$PWD" | agent hook pre-tool --client claude-code 2>&1)
ok "a hook asks them, too" sh -c 'printf "%s" "$0" | grep "data.r" | grep -q deny || { printf "%s\n" "$0"; exit 1; }' "$call"
ok "what they say nothing about runs" says 0 hello helm run -- echo hello
fresh_workspace
cat >history.policy <<'EOT'
module data { rule enough { scope: agent when: snapshot.session.calls > 2 enforce: deny explain: CPI.DATA.LIMIT_EXCEEDED.CALLS } }
EOT
ok "a file of rules over graphs is put in use" says 0 "" terminal -- helm policy use history.policy
for i in 1 2 3; do helm run -- echo "$i" >/dev/null 2>&1; done
ok "the snapshot is what was done so far" says 25 "data.enough" helm run -- echo 4

finish

#!/bin/sh
# helm policy use and what follows: every door obeys, each receipt names the rule, and only a person changes it.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace

cat >two-tools.yaml <<'EOT'
format: helm.policy.v1
name: two-tools
version: "1"
epoch: 2
rules:
  - id: look-around
    action: AGENT_TOOL_CALL
    all:
      - {field: tool, op: in, values: [Read, Grep]}
    verdict: ALLOW
  - id: notes-only
    action: AGENT_TOOL_CALL
    all:
      - {field: tool, op: equals, value: Write}
      - {field: params.file_path, op: contains, value: notes}
    verdict: ALLOW
  - id: shell-asks
    action: AGENT_TOOL_CALL
    all:
      - {field: tool, op: equals, value: Bash}
    verdict: ESCALATE
    text: Shell commands need a person.
  - id: echo-runs
    action: EXECUTE_COMMAND
    all:
      - {field: tool, op: equals, value: echo}
    verdict: ALLOW
EOT
call() { # call TOOL INPUT: what the hook of an agent answers
  printf '{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"%s","tool_name":"%s","tool_input":%s,"tool_use_id":"u%s"}' "$PWD" "$1" "$2" "$count" |
    agent hook pre-tool --client claude-code 2>&1
}

ok "without a policy the shipped rules are shown as one" says 0 "No policy is in use" helm policy show
ok "as JSON, too" is_json helm policy show --json
ok "an agent cannot put one in use" says 25 "only a person" helm policy use two-tools.yaml
ok "nor can one that types at a terminal it made" says 25 "" terminal --inside -- helm policy use two-tools.yaml
ok "a person can" says 0 "Every door obeys it" terminal -- helm policy use two-tools.yaml
ok "and sees it, with the place of each rule" says 0 "two-tools.yaml:6:5" helm policy show
ok "the act is on record" grep -q '"effect_id": *"helm.policy/use"' "$ws/.helm/receipts.jsonl"
ok "the document is kept in the helm home" sh -c "ls '$scratch/home/.helm/policies' | grep -q json"

ok "a run that a rule allows runs" says 0 "hello" helm run -- echo hello
ok "one that no rule allows does not" says 25 "Rules allow this action only under conditions" helm run -- touch x
ok "guard check says the same" says 25 "policy:" helm guard check -- touch x
ok "and allows the same" says 0 "" helm guard check -- echo hello
ok "guard check of shell text, too" says 25 "policy:" helm guard check --shell 'touch x'
ok "a hook denies what no rule allows" sh -c "printf '%s' \"\$0\" | grep -q 'POLICY_VIOLATION'" "$(call Write '{"file_path":"/tmp/other","content":"x"}')"
ok "and asks what a rule asks" sh -c "printf '%s' \"\$0\" | grep -q 'shell-asks'" "$(call Bash '{"command":"touch here"}')"
ok "the decision names exactly one policy, its epoch and the gates" sh -c "grep '\"shell-asks\"' '$ws/.helm/receipts.jsonl' | tail -n 1 | grep -q '\"gate_roster_hash\"'"
sha=$(helm policy show --json | sed -n 's/.*"sha256": "\(sha256:[0-9a-f]*\)".*/\1/p' | head -n 1)
ok "the receipt's policy is the one that was shown" sh -c "grep '\"shell-asks\"' '$ws/.helm/receipts.jsonl' | tail -n 1 | grep -q '\"policy_hash\": *\"$sha\"'"
helm policy new two-people --out prod.yaml >/dev/null
ok "a policy that closes the doors of this place says so" says 0 "every call of an agent (AGENT_TOOL_CALL) is denied here" terminal -- helm policy use prod.yaml
ok "and they are closed" says 25 "gate coverage" helm run -- ls
ok "a refusal names what no rule covers, and the policy" says 25 "No rule of the policy allows EXECUTE_COMMAND (ls), or asks about it. (policy two-people 1" helm run -- ls
ok "and where to look" says 25 "'helm policy show'" helm run -- ls
ok "at the hook, too" sh -c 'printf "%s" "$0" | grep "allows AGENT_TOOL_CALL (Read), or asks about it. (policy two-people 1" | grep -q "helm policy show"' "$(call Read '{"file_path":"/etc/hosts"}')"
ok "status names the policy in use" says 0 "policy=two-people 1, closed" helm status --plain
ok "its short form, too" says 0 "The policy in use is two-people 1, closed: what no rule allows is denied" helm status --brief
ok "and the dashboard" says 0 "The policy in use is two-people 1, closed: what no rule allows is denied" helm dashboard
ok "doctor does not say that there is none" sh -c '! printf "%s" "$0" | grep -q "policy_file=" && printf "%s" "$0" | grep -q "guard_policy_of_the_tree="' "$(helm doctor)"
ok "for scripts the member is as it was" says 0 '"policy_file":' sh -c '"$@" || true' sh env HOME="$scratch/home" "$HELM_REAL" doctor --json
helm policy new two-tools --out template.yaml --name template >/dev/null
ok "the template of two tools passes its tests" says 0 "6 passed, 0 failed" helm policy test template.yaml
terminal -- helm policy use template.yaml >/dev/null
verdict() { printf "%s" "$1" | grep -c '"deny"'; }
ok "and in use it lets an agent read" test "$(verdict "$(call Read '{"file_path":"/etc/hosts"}')")" = 0
ok "but not write anywhere" test "$(verdict "$(call Write '{"file_path":"here.txt","content":"a"}')")" = 1
ok "nor use another tool" test "$(verdict "$(call Grep '{"pattern":"x"}')")" = 1
sed 's/^version:.*/&\ncoverage: open/' prod.yaml >open.yaml
ok "one that is open does not" sh -c '! printf %s "$0" | grep -q "is denied here"' "$(terminal -- helm policy use open.yaml 2>&1)"
ok "and status says that it is" says 0 "policy=two-people 1, open" helm status --plain
cat >bound.yaml <<'EOT'
format: helm.policy.v1
name: bound
version: "1"
coverage: open
rules:
  - {id: not-this, action: AGENT_TOOL_CALL, all: [{field: params.file_path, op: contains, value: forbidden}], verdict: DENY, binds: {file_hash: params.file_path, key: params.key, ticket: params.ticket}}
EOT
terminal -- helm policy use bound.yaml >/dev/null
call Write '{"file_path":"/tmp/forbidden","content":"x","key":"AKIAIOSFODNN7EXAMPLE"}' >/dev/null
bound() { grep '"not-this"' "$ws/.helm/receipts.jsonl" | tail -n 1 | tr -d ' '; }
ok "what a rule wants to be bound stands in the receipt" sh -c 'printf %s "$0" | grep -q "\"file_hash\":\"sha256:[0-9a-f]*\"" && printf %s "$0" | grep -q "\"ticket\":\"absent\""' "$(bound)"
ok "and no credential with it" sh -c '! printf %s "$0" | grep -q AKIAIOSFODNN7EXAMPLE' "$(bound)"
terminal -- helm policy use two-tools.yaml >/dev/null
ok "what the guard denies stays denied, whatever a rule says" says 25 "deny.rm_root" helm guard check --shell 'rm -rf /'
ok "the file in the tree does not count any more" sh -c 'echo "format: nonsense" >two-tools.yaml'
ok "what was accepted does" says 0 "hello" helm run -- echo hello

# Epochs, revocation, going back.
sed 's/epoch: 2/epoch: 1/' "$HELM_SOURCE/tests/cases/policy-use/two-tools.yaml" >older.yaml
ok "an older epoch is refused" says 25 "epoch 1 of 'two-tools' is older than 2" terminal -- helm policy use older.yaml
ok "unless a person means it" says 0 "epoch 1" terminal -- helm policy use older.yaml --allow-rollback
old=$(helm policy show --json | sed -n 's/.*"sha256": "\(sha256:[0-9a-f]*\)".*/\1/p' | head -n 1)
ok "revoking is a person's act" says 25 "only a person" helm policy revoke "$old" --reason leaked
ok "on record" says 0 "revoked" terminal -- helm policy revoke "$old" --reason leaked
ok "and denies everything while it is in use" says 25 "revoked" helm run -- echo hello
ok "what to do then is no matter of signatures" sh -c '! "$@" 2>&1 | grep -q signature' sh env HOME="$scratch/home" "$HELM_REAL" run -- echo hello
ok "but of another policy" says 25 "puts another policy in use" helm run -- echo hello
ok "status says why nothing goes on" says 0 "was revoked" helm status --brief
ok "it is not put in use again" says 25 "was revoked" terminal -- helm policy use older.yaml --allow-rollback
cp older.yaml renamed.yaml
ok "nor under another name" says 25 "was revoked" terminal -- helm policy use renamed.yaml --allow-rollback
{ echo "# one line further down"; cat older.yaml; } >moved.yaml
ok "nor with its rules on other lines" says 25 "was revoked" terminal -- helm policy use moved.yaml --allow-rollback
none=sha256:$(printf '%064d' 0)
ok "a digest that was never here is not revoked" says 1 "is known here" terminal -- helm policy revoke "$none" --reason x
ok "and those that were are shown" says 1 "in use   $old" terminal -- helm policy revoke "$none" --reason x
ok "nothing of it is on record" sh -c "! grep -q '$none' '$ws/.helm/receipts.jsonl'"
ok "unless it is meant" says 0 "revoked" terminal -- helm policy revoke "$none" --reason x --even-unknown
ok "a digest that is none is refused" says 1 "no digest" terminal -- helm policy revoke nonsense --reason x
ok "an agent cannot go back" says 25 "only a person" helm policy use --none
ok "a person can" says 0 "none" terminal -- helm policy use --none
ok "then the shipped rules decide alone" helm run -- touch x

# A denial names what denied it.
cat >named.yaml <<'EOT'
format: helm.policy.v1
name: named
version: "3"
rules:
  - {id: everything, action: "*", verdict: ALLOW}
  - {id: no-touch, action: EXECUTE_COMMAND, verdict: DENY, all: [{field: tool, op: equals, value: touch}]}
EOT
ok "a policy that denies one thing" says 0 "named 3" terminal -- helm policy use named.yaml
ok "its denial names policy, rule and place" says 25 "(policy named 3, rule no-touch, named.yaml:6:5)" helm run -- touch y
id=$(helm receipts list --json | grep -o 'rcpt_dec-[0-9a-f]*' | tail -n 1)
ok "a person puts none in use again" says 0 "none" terminal -- helm policy use --none
printf 'format: helm.policy.v1\nname: today\nversion: "1"\nrules:\n  - {id: fine, action: "*", verdict: ALLOW}\n' >today.yaml
ok "and what was denied is told after the policy is gone" says 0 "DENY POLICY_VIOLATION by rule no-touch (named.yaml:6:5)" helm policy explain "$id" --policy today.yaml
ok "with the policy that denied it" says 0 "by policy named 3, sha256:" helm policy explain "$id" --policy today.yaml

# A store that is damaged closes.
cp "$HELM_SOURCE/tests/cases/policy-use/two-tools.yaml" two-tools.yaml
terminal -- helm policy use two-tools.yaml >/dev/null
for f in "$scratch"/home/.helm/policies/*.json; do chmod u+w "$f"; echo ' ' >>"$f"; done
ok "a policy whose bytes have changed denies everything" says 25 "lost" helm run -- echo hello
ok "and putting it in use again mends it" says 0 "Every door" terminal -- helm policy use two-tools.yaml
ok "so that it decides again" says 0 "hello" helm run -- echo hello
helm freeze --reason drill >/dev/null
ok "another policy is not put in use while everything is frozen" says 25 "frozen" terminal -- helm policy use two-tools.yaml
terminal -- helm unfreeze >/dev/null
# A place below: what is revoked there is revoked there, though it has no policy of its own.
mkdir -p below
used=$(helm policy show --json | sed -n 's/.*"sha256": "\(sha256:[0-9a-f]*\)".*/\1/p' | head -n 1)
below() { (cd below && "$@"); }
agent init --path below >/dev/null 2>&1
ok "the policy above holds below" says 0 "hello" below helm run -- echo hello
ok "it is revoked below" says 0 "revoked" below terminal -- helm policy revoke "$used" --reason here
ok "and then denies everything there" says 25 "revoked" below helm run -- echo hello
ok "but not above" says 0 "hello" helm run -- echo hello
# An ALLOW answers only the questions that it was given.
cat >lifts.yaml <<'EOT'
format: helm.policy.v1
name: lifts
version: "1"
rules:
  - {id: all-commands, action: EXECUTE_COMMAND, verdict: ALLOW}
EOT
mkdir -p repo && (cd repo && git init -q . && echo x >tracked)
terminal -- helm policy use lifts.yaml >/dev/null
ok "an ALLOW alone answers no question of the guard" says 24 "risk.git_clean" helm guard check --shell 'git clean -fdx' --cwd repo
ok "only rules that ask can be answered" says 2 "does not ask" terminal -- helm policy use lifts.yaml --lift deny.rm_root
ok "and only those that are there" says 2 "no guard rule 'risk.nothing'" terminal -- helm policy use lifts.yaml --lift risk.nothing
ok "a person may say that it answers one" says 0 "answers  risk.git_clean" terminal -- helm policy use lifts.yaml --lift risk.git_clean
ok "then it does" says 0 "allow" helm guard check --shell 'git clean -fdx' --cwd repo
ok "and nothing else" says 25 "deny.rm_root" helm guard check --shell 'rm -rf /'

# What is used up is used up at every door.
cat >budget.yaml <<'EOT'
format: helm.policy.v1
name: budget
version: "1"
rules:
  - {id: everything, action: "*", verdict: ALLOW}
limits:
  budgets:
    - {id: two-a-day, limit: 2, unit: requests, period: day}
EOT
terminal -- helm policy use budget.yaml >/dev/null
ok "the first of two" says 0 "one" helm run -- echo one
ok "asking alone uses nothing up" says 0 "allow" helm guard check -- echo two
ok "a call that only reads is drawn, too" sh -c "! printf '%s' \"\$0\" | grep -q BUDGET" "$(call Read '{"file_path":"/etc/hosts"}')"
ok "the third of two is denied" says 25 "two-a-day" helm run -- echo three
ok "guard check says so" says 25 "two-a-day" helm guard check -- echo three
ok "the draws stand in the receipts" sh -c "[ \$(grep -c '\"draws\"' '$ws/.helm/receipts.jsonl') = 2 ]"

# Sections of a policy know what the door knows.
cat >egress.yaml <<'EOT'
format: helm.policy.v1
name: egress
version: "1"
coverage: open
egress: {allowed_domains: [example.com]}
rules: []
EOT
terminal -- helm policy use egress.yaml >/dev/null
ok "a host that the policy does not name is not reached" says 25 "evil.example" helm guard check --profile service_ops --shell 'curl https://evil.example/'
ok "nor one that is not known beforehand" says 25 "egress" helm guard check --profile service_ops --shell 'curl "$URL"'
ok "one that it names is not its concern" sh -c '! grep -q egress "$0"' "$(helm guard check --profile service_ops --shell 'curl https://example.com/' >answer 2>&1; echo answer)"

# Facts, freshness, packs.
cat >facts.yaml <<'EOT'
format: helm.policy.v1
name: facts
version: "1"
coverage: open
rules:
  - id: not-in-production
    action: EXECUTE_COMMAND
    all: [{field: facts.stage, op: equals, value: production}]
    verdict: ESCALATE
    text: Production needs a person.
EOT
terminal -- helm policy use facts.yaml --fact stage=test >/dev/null
ok "a fact that is another one changes nothing" says 0 "hello" helm run -- echo hello
ok "what the door knows itself cannot be said" says 2 "known by the door" terminal -- helm policy use facts.yaml --fact profile=x
terminal -- helm policy use facts.yaml --fact stage=production --fresh 1s >/dev/null
ok "a fact that a person gave is one" says 24 "Production needs a person" helm guard check -- echo hello
sleep 1.2
ok "and a policy that is not fresh any more denies everything" says 25 "too long ago" helm guard check -- echo hello
# Only what is signed, where a person wants that.
terminal -- helm policy use --none >/dev/null
ok "where signatures are wanted, an unsigned policy is refused" says 25 "only signed policies" terminal -- helm policy use facts.yaml --require-signature yes
ok "and what was said with it does not hold either" says 0 "Every door" terminal -- helm policy use facts.yaml
ok "wanting them holds from then on" says 0 "none" terminal -- helm policy use --none --require-signature yes
ok "so that the next one is refused" says 25 "only signed policies" terminal -- helm policy use facts.yaml
ok "until a person takes it back" says 0 "Every door" terminal -- helm policy use facts.yaml --require-signature no
ok "it is wanted without another policy, too" says 0 "as before; from now on only signed" terminal -- helm policy use --require-signature yes
ok "which stays" says 0 "only signed policies are put in use here" helm policy show
ok "and is the same one" says 0 "facts.yaml" helm policy show
ok "the next one is refused" says 25 "only signed policies" terminal -- helm policy use facts.yaml
ok "taking it back is a person's act" says 25 "only a person" helm policy use --require-signature no
ok "which needs no policy either" says 0 "unsigned ones" terminal -- helm policy use --require-signature no
ok "then others are taken" says 0 "Every door" terminal -- helm policy use facts.yaml
ok "what is said about a policy needs one" says 2 "name the policy" terminal -- helm policy use --require-signature no --fact stage=x
# What is most likely not meant is told.
printf 'format: helm.policy.v1\nname: nothing\nversion: "1"\nrules:\n  - {id: no, action: EXECUTE_COMMAND, verdict: DENY}\n' >nothing.yaml
ok "a policy that allows nothing says so" says 0 "no rule allows anything" terminal -- helm policy use nothing.yaml
cat >packed.yaml <<'EOT'
format: helm.policy.v1
name: packed
version: "1"
coverage: open
rules: []
packs:
  - id: eu
    kind: jurisdiction
    activates_on: [EU]
    rules:
      - {id: eu-asks, action: EXECUTE_COMMAND, verdict: ESCALATE}
EOT
ok "a pack that waits for a fact does, too" says 0 "pack 'eu' says nothing here without a fact, such as --fact jurisdiction=EU" terminal -- helm policy use packed.yaml
ok "not when it was given" sh -c '! printf "%s" "$0" | grep -q "says nothing"' "$(terminal -- helm policy use packed.yaml --fact jurisdiction=EU 2>&1)"
ok "in a list neither" sh -c '! printf "%s" "$0" | grep -q "says nothing"' "$(terminal -- helm policy use packed.yaml --fact 'jurisdictions=["US","EU"]' 2>&1)"
terminal -- helm policy use facts.yaml >/dev/null
sed 's/verdict: ESCALATE/verdict: PERHAPS/' facts.yaml >wrong.yaml
ok "a file with a mistake is not put in use, and says where" says 1 "wrong.yaml:9:" terminal -- helm policy use wrong.yaml

# Other names of one place, and of one host.
cat >names.yaml <<'EOT'
format: helm.policy.v1
name: names
version: "1"
coverage: open
rules:
  - {id: hidden, action: "*", verdict: DENY, all: [{field: params.file_path, op: path_under, values: [/proj/hidden/]}]}
  - {id: evil, action: "*", verdict: DENY, all: [{field: params.url, op: host_in, values: [evil.example]}]}
EOT
# shellcheck disable=SC2088 # no shell is to expand it
for path in /proj/hidden/x /proj/hidden hidden/x ./a/../hidden/x /proc/self/root/proj/hidden/x '~/x' file:///proj/hidden/x; do
  printf '{"tool": "Write", "params": {"file_path": "%s"}, "facts": {"cwd": "/proj"}}' "$path" >named.json
  ok "denied by the place, not by its spelling: $path" exits 25 helm policy explain named.json --policy names.yaml
done
printf '{"tool": "Write", "params": {"file_path": "open/x"}, "facts": {"cwd": "/proj"}}' >named.json
ok "another place is not" exits 0 helm policy explain named.json --policy names.yaml
for url in https://evil.example/ https://evil.example./ https:/evil.example https:evil.example; do
  printf '{"tool": "Fetch", "params": {"url": "%s"}}' "$url" >named.json
  ok "denied by the host: $url" exits 25 helm policy explain named.json --policy names.yaml
done

# What is only known when it runs can be what a rule is about.
cat >people.yaml <<'EOT'
format: helm.policy.v1
name: people
version: "1"
rules:
  - {id: everything, action: "*", verdict: ALLOW}
  - {id: two-for-deleting, action: "*", effects: [delete], verdict: ESCALATE, approvers: 2}
EOT
for text in 'rm x' 'eval "$(cat commands)"' 'cat commands | sh' 'echo cm0gLXJmIC4= | base64 -d | sh'; do
  ok "asked by the rule: $text" says 24 "two-for-deleting" helm policy explain --command "$text" --policy people.yaml
done
ok "what is known to be harmless is not" exits 0 helm policy explain --command 'ls' --policy people.yaml

# A name is not a program.
terminal -- helm policy use two-tools.yaml --allow-rollback >/dev/null
printf '#!/bin/sh\n: >ran\n' >"./echo" && chmod +x ./echo && cp ./echo AGENT_TOOL_CALL
ok "a file of the tree has no other program's name" says 25 "" helm run -- ./echo x
ok "nor that of an action" says 25 "" helm run -- ./AGENT_TOOL_CALL
ok "neither ran" test ! -e ran

# Two places, one in the other, lead nowhere: what holds above holds in the inner one.
cp "$HELM_SOURCE/tests/cases/policy-use/two-tools.yaml" two-tools.yaml
terminal -- helm policy use two-tools.yaml --allow-rollback >/dev/null
governed init --path u >/dev/null 2>&1
governed freeze --path u --principal agent:zzz --reason x >/dev/null 2>&1
governed init --path u/mid >/dev/null 2>&1
inner() { HELM_ENV="HELM_WORKSPACE=$PWD/u/mid" helm "$@"; }
ok "the inner place is one" test -d u/mid/.helm
ok "a place in a place with a word of its own lies under the policy" says 0 "two-tools" inner policy show
ok "which it obeys" says 25 "" inner run -- touch "$PWD/led-out"
ok "really" test ! -e led-out
helm freeze --principal user:"$(id -u)" --reason fire >/dev/null
ok "and under a freeze" says 25 "fire" inner run -- echo x
finish

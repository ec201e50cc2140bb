#!/bin/sh
# What commands say and how they end when they refuse, and what they print where a decision depends on it.  One case for each.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
says_not() { # says_not EXIT TEXT COMMAND...
  wanted=$1 text=$2
  shift 2
  "$@" >said 2>&1
  code=$?
  if [ $code != "$wanted" ] || grep -qF -e "$text" said; then
    echo "exit $code, wanted $wanted, without '$text'"
    cat said
    return 1
  fi
}

ok "a containment that is none" says 2 "--containment is 'walls' or 'none', not 'sideways'" helm guard check --containment sideways -- ls
ok "in a batch, too" says 2 "not 'sideways'" helm guard check --containment sideways --batch </dev/null
ok "where no profile would help none is named" says_not 25 "under the profile" helm guard explain -- rm -rf /
ok "and none where it is allowed" says_not 0 "under the profile" helm guard explain -- ls
ok "where one would, it is named" says 25 "under the profile service_ops it is allowed" helm guard explain -- curl https://example.com

mkdir "$scratch/empty"
nobody() { env -i PATH="$PATH" HOME="$scratch/empty" LC_ALL=C.UTF-8 "$HELM_REAL" "$@"; }
ok "without a key there is no history" says 1 "there is no key history yet; 'helm key create' starts it" nobody key history
ok "a key that cannot be read checks no log" says 1 "neither 64 hex digits nor a readable key file" helm log check --key nowhere
other=d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a
ok "a key is trusted" exits 0 terminal -- helm key trust add $other --label one
ok "once" says 1 "the key is trusted already" terminal -- helm key trust add $other --label two
ok "and keeps its label" says 0 one helm key trust list

for option in --once --session --shape --run; do
  ok "$option does not go with what was signed" says 2 "$option does not go with --signed" helm approval approve approval-1 --signed nowhere $option
done
ok "nor does a time" says 2 "--for does not go with --signed" helm approval approve approval-1 --signed nowhere --for 5m
ok "what was signed must be there" says_not 1 "does not go with" helm approval approve approval-1 --signed nowhere

ok "a task that nobody knows has no contract" says 1 "nowhere" helm run-contract --task-id nowhere
ok "nor is there one before anything ran" says 1 "nothing has been run yet" helm run-contract
ok "meta data are an object" says 2 "--meta-json takes a JSON object" helm run --meta-json '[1]' -- true
ok "and nothing ran" [ ! -s "$ledger" ]
ok "a key of a caller ends some time" says 2 "'soon' is no duration" terminal -- helm serve key add --principal agent:x --expires soon

# Another boundary that does not answer: the answer that was not given is no success.
ok "a no that nobody heard is an error" says 1 "127.0.0.1" terminal DENY -- helm approval deny approval-1 --url http://127.0.0.1:9
ok "so is a yes" says 1 "127.0.0.1" terminal APPROVE -- helm approval approve approval-1 --url http://127.0.0.1:9

printf '\n' >nothing
ok "a file without a key opens nothing" says 1 "nothing holds no key" helm status --url http://127.0.0.1:9 --api-key-file nothing

cat >policy.yaml <<'Y'
format: helm.policy.v1
name: tickets
version: "1"
rules:
  - {id: read, action: read_ticket, verdict: ALLOW}
  - {id: refunds, action: refund, verdict: ALLOW}
  - {id: never, action: refund, verdict: DENY}
Y
echo '{"action": "read_ticket"}' >read.json
echo '{"action": "refund"}' >refund.json
ok "an ALLOW is said without a reason" says 0 "ALLOW by rule read" helm policy explain --policy policy.yaml read.json
ok "a DENY with its code and rule" says 25 " by rule never" helm policy explain --policy policy.yaml refund.json

helm policy explain --policy policy.yaml refund.json >said 2>&1
ok "the code stands behind the verdict" grep -qE "^DENY [A-Z_]+ by rule never" said
echo '{"type": "object"}' >any.schema.json
echo '{}' >one.json
printf '{}\n{}\n' >two.jsonl
ok "one document is valid, and not counted" says_not 0 "documents" helm schema validate any.schema.json one.json
ok "several are counted" says 0 "valid (2 documents)" helm schema validate any.schema.json two.jsonl

# What is in force is listed with how long, how far, for what and for whom.
fresh_workspace
mkdir build
helm run -- rm -rf build >/dev/null 2>&1
ok "a grant is given" exits 0 terminal APPROVE -- helm approval grant --shape --for 1h --shell "rm -rf build"
grants() { helm approval list | grep -E "grant-[^ ]*  .*, (exact|shape|path|host)( once)?, .*, for "; }
ok "and is listed with its reach and what it covers" grants
ok "what somebody profiles is named by its signals" says 3 '"signals": {' helm privacy social --json --message "read all posts of @someone and infer their personality"
ok "which are not empty" sh -c '! grep -q "\"signals\": {}" "$0"' "$scratch/.stdout"

# Settings that let a client skip hooks which its administrator did not set: the guard is not armed.
fresh_workspace
mkdir -p "$scratch/home/.claude" .claude
echo '{}' >"$scratch/home/.claude/settings.json"
helm setup claude-code --yes >/dev/null 2>&1
ok "armed" says_not 0 "allowManagedHooksOnly" helm setup status claude-code
echo '{"allowManagedHooksOnly": true}' >.claude/settings.local.json
ok "only hooks of the administrator: not armed" says 1 "allowManagedHooksOnly: ours is skipped" helm setup status claude-code
finish

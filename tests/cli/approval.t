#!/bin/sh
# approval: questions that wait for a person, answers that decisions read, and who may give them.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

mkdir -p ws/build ws/src other
helm init --path ws >/dev/null
cd ws || exit 1
call() { # call COMMAND [SESSION]: the payload of a client
  text=$(printf %s "$1" | sed 's/["\\]/\\&/g')
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"%s","tool_use_id":"u-%s"}' "$text" "${2:-s1}" "$text"
}
hook() { # hook COMMAND [SESSION [CLIENT]]
  call "$1" "${2:-s1}" | agent hook pre-tool --client "${3:-claude-code}"
}
asks() { hook "$@" | grep -q APPROVAL_REQUIRED; }
passes() { [ -z "$(hook "$@")" ]; }
newest() { # the request that was made last
  helm approval list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["requests"][-1]["approval_id"])'
}
grant_of() { # the newest grant
  helm approval list --json --all | python3 -c 'import json,sys; print(json.load(sys.stdin)["grants"][-1]["grant_id"])'
}
pending() { helm approval list --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["requests"]))'; }
approve() { terminal APPROVE -- helm approval approve "$@"; }
receipts=.helm/receipts.jsonl

ok "nothing waits at first" says 0 "Nothing waits" helm approval list
ok "what only reads makes no request" passes "ls -la"
ok "what is denied makes none either" sh -c '! test -e .helm/approvals.json'
ok "a question does" asks "rm -rf build"
id=$(newest)
ok "it is listed with its reason" says 0 "rm would delete" helm approval list
ok "its id is in the answer to the client" sh -c 'printf %s "$0" | grep -q "helm approval approve $1"' "$(hook "rm -rf build")" "$id"
ok "the same question is asked once" test "$(pending)" = 1
ok "shown whole" says 0 "rm -rf build" helm approval show "$id"
ok "as JSON" is_json helm approval show "$id" --json
ok "the decision names it, and its digest" sh -c 'grep -q "\"approval_id\":\"$0\"" "$1" && grep -q request_sha256 "$1"' "$id" "$receipts"

# Who may answer.
mkdir -p "$scratch/plain/build" # where no agent asks
helm init --path "$scratch/plain" >/dev/null
plain() { helm "$@" --workspace "$scratch/plain"; }
(cd "$scratch/plain" && helm run -- rm -rf build >/dev/null 2>&1)
plain_id=$(plain approval list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["requests"][-1]["approval_id"])')
ok "not without a terminal" says 25 "at a terminal" plain approval approve "$plain_id"
word() { echo APPROVE | plain "$@"; }
ok "not by a pipe of the word" says 25 "at a terminal" word approval approve "$plain_id"
for mark in HELM_TASK_ID=x CLAUDECODE=1 CODEX_SANDBOX=seatbelt CURSOR_AGENT=1; do
  HELM_ENV=$mark
  ok "not inside an agent: $mark" says 25 "terminal of your own" approve "$id"
  HELM_ENV=
done
ok "not below a process that called a hook here" says 25 "agent client" terminal --inside APPROVE -- helm approval approve "$id"
ok "no denial there either" says 25 "agent client" terminal --inside DENY -- helm approval deny "$id"
ok "no grant" says 25 "agent client" terminal --inside APPROVE -- helm approval grant --shape --shell "rm -rf build"
ok "nor at a terminal that an agent made and left" says 25 "could be the agent's" terminal --forge APPROVE -- helm approval approve "$id"
ok "nor registering a key" says 25 "agent client" terminal --inside TRUST -- helm approval trust add "$scratch/home/.helm/keys/root.pub"
for verb in "approve x" "deny x" "revoke x" "grant --shell x" "trust add x" "cancel x"; do
  ok "the guard denies an agent 'helm approval $verb'" exits 25 helm guard check --shell "helm approval $verb"
done
ok "and 'helm watch'" exits 25 helm guard check --shell "helm watch"
ok "looking is free" exits 0 helm guard check --shell "helm approval list"
ok "another word is no yes" says 1 "Nothing was changed" terminal yes -- helm approval approve "$id"
ok "nor is the word in small letters" says 1 "Nothing was changed" terminal approve -- helm approval approve "$id"
ok "an unknown request" says 1 "no request" approve approval-000000000000

# Once.
ok "approve once" says 0 "Granted" approve "$id"
ok "not twice" says 1 "approved already" approve "$id"
ok "another session is still asked" asks "rm -rf build" s2
ok "another client too" asks "rm -rf build" s1 codex
ok "another command too" asks "rm -rf src" s1
asks_in_src() { (cd src && asks "rm -rf build"); }
ok "another directory too" asks_in_src
other_tool() { call "rm -rf build" | sed 's/"Bash"/"Terminal"/' | agent hook pre-tool --client claude-code | grep -q APPROVAL_REQUIRED; }
ok "another tool with the same input too" other_tool
ok "the same call passes" passes "rm -rf build"
ok "the record names the grant" sh -c 'tail -n 1 "$0" | grep -q "\"grant_ids\":\[\"$1\"\]"' "$receipts" "$(grant_of)"
ok "and is an ALLOW" sh -c 'tail -n 1 "$0" | grep -q "\"verdict\":\"ALLOW\""' "$receipts"
ok "once is once" asks "rm -rf build"
ok "denying is shown and typed" says 0 "Denied" terminal DENY -- helm approval deny "$(newest)"
asks "rm -rf src/sub" s9
ok "what was never denied is not called so" exits 1 sh -c 'printf %s "$0" | grep "asked again"' "$(helm approval list)"
terminal DENY -- helm approval deny "$(newest)" >/dev/null
ok "the same call can be asked again" asks "rm -rf src/sub" s9
ok "and whoever is asked reads that it was denied" says 0 "asked again: it was denied" helm approval list
terminal DENY -- helm approval deny "$(newest)" >/dev/null

# Of many at once exactly one passes.
asks "git reset --hard" par
approve "$(newest)" >/dev/null
i=0
while [ $i -lt 8 ]; do
  hook "git reset --hard" par >"$scratch/par.$i" &
  i=$((i + 1))
done
wait
ok "of eight at once one passes" sh -c 'n=0; for f in "$0"/par.*; do test -s "$f" || n=$((n + 1)); done; test $n = 1' "$scratch"
ok "and the record says so once" sh -c 'test "$(grep -c "\"grant_ids\":\[\"$1\"\]" "$0")" = 1' "$receipts" "$(grant_of)"

# For longer.
asks "rm -rf build" s3
ok "a shape, for a while" says 0 "anywhere in the workspace" approve "$(newest)" --shape --for 2h
shape=$(grant_of)
ok "lifts the same effect elsewhere in the workspace" passes "rm -r src/a src/b" s4
ok "not outside of it" asks "rm -rf $scratch/other/x" s4
ok "not with something else" asks "rm -rf build; git clean -fdx" s4
ok "and never a denial" sh -c 'printf %s "$0" | grep -q POLICY_VIOLATION' "$(hook "rm -rf build; rm -rf /" s4)"
frozen() { helm freeze >/dev/null && hook "rm -rf build" | grep -q SYSTEM_FROZEN; }
ok "freeze stands above" frozen
ok "nothing is granted meanwhile" says 25 "comes first" approve "$id"
ok "which an agent cannot lift" says 25 "agent client" terminal --inside -- helm unfreeze
ok "a person can" exits 0 terminal -- helm unfreeze
ok "it is listed" says 0 "$shape" helm approval list
ok "shown in words" says 0 "any number of times" helm approval show "$shape"
ok "revoked" says 0 "Revoked" terminal REVOKE -- helm approval revoke "$shape"
ok "and gone" asks "rm -r src/a" s4
ok "not twice" says 1 "revoked already" terminal REVOKE -- helm approval revoke "$shape"
asks "rm -rf build/x" s5
ok "a path" says 0 "below $scratch/ws/build" approve "$(newest)" --below build --for 1h
ok "lifts below it" passes "rm -rf build/y build/z" s6
ok "not beside it" asks "rm -rf build/y src/z" s6
ln -s ../src build/link
ok "not through a link out of it" asks "rm -rf build/link/x" s6
ok "a path that holds everything is refused" says 2 "whole workspace" approve "$(newest)" --below .
asks "git clean -fdx" s7
ok "no path bounds what is not about files" says 1 "no path bounds it" approve "$(newest)" --below build
ok "for this session" says 0 "session s7" approve "$(newest)" --session
ok "as often as it likes" passes "git clean -fdx" s7
ok "again" passes "git clean -fdx" s7
ok "but not another session" asks "git clean -fdx" s8
# shellcheck disable=SC2016 # for the agent's shell, not this one
asks 'bash -c "$X"' s9
ok "what can differ each time has no shape" says 1 "approve it with --once" approve "$(newest)" --shape
ok "and no time" says 1 "approve it with --once" approve "$(newest)" --for 1h
ok "too long is refused" says 2 "at most 30 days" approve "$(newest)" --for 31d
ok "nonsense is refused" says 2 "no duration" approve "$(newest)" --for soon

# Without a request.
ok "granted beforehand" says 0 "Granted" terminal APPROVE -- helm approval grant --shell "kill -9 4711" --shape --for 1h --principal agent:codex
ok "holds for whom it was given" passes "kill -9 4711" s1 codex
ok "and nobody else" asks "kill -9 4711" s1
ok "what is denied cannot be granted" says 25 "no grant lifts a denial" terminal APPROVE -- helm approval grant --shell "rm -rf /" --shape
ok "what is allowed need not be" says 1 "nothing has to be granted" terminal APPROVE -- helm approval grant --shell "ls" --shape
ok "a text alone is no call" says 2 "give --shape" terminal APPROVE -- helm approval grant --shell "kill -9 1"
ok "for a run it can be exact" says 0 "Granted" terminal APPROVE -- helm approval grant --once -- rm -rf gone
ok "and passes there" sh -c 'HOME="$1/home" "$0" run -- rm -rf gone' "$HELM_REAL" "$scratch"
ok "once" exits 24 helm run -- rm -rf gone

# A client that asked its own person.
asks "rm -rf src/q" ask
id=$(newest)
ok "the call was made after all" sh -c 'printf %s "{\"tool_name\":\"Bash\",\"tool_input\":{},\"tool_use_id\":\"u-rm -rf src/q\",\"session_id\":\"ask\",\"tool_response\":{}}" | HOME="$1/home" "$0" hook post-tool --client claude-code' "$HELM_REAL" "$scratch"
ok "so the request is answered" says 0 "answered in the client" helm approval show "$id"

# Runs.
mkdir -p build
ok "a run that must be asked for stops, and says how to go on" says 24 "helm approval approve approval-" helm run -- rm -rf build
id=$(newest)
ok "with the line to paste" says 24 "--approval-id $id -- rm -rf build" helm run -- rm -rf build
ok "the pause is where older readers look" sh -c 'grep -q "\"status\": \"paused\"" .helm/long-running-runtime.json && grep -q "$0" .helm/long-running-runtime.json' "$id"
ok "the line does not help before" says 24 "$id is pending" helm profile run workspace_edit --approval-id "$id" -- rm -rf build
ok "nothing ran" test -d build
approve "$id" >/dev/null
line=$(helm approval show "$id" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["resume_command"])')
ok "another command is not meant" says 24 "not for this" helm profile run workspace_edit --approval-id "$id" -- rm -rf src
printf 'helm() { env -i PATH="$PATH" HOME="%s/home" "%s" "$@"; }\n%s\n' "$scratch" "$HELM_REAL" "$line" >"$scratch/pasted"
ok "pasted, it runs" sh -c 'cd / && sh "$0"' "$scratch/pasted"
ok "really" test ! -e build
ok "and says so in the ledger" sh -c 'tail -n 1 .helm/task-ledger.jsonl | grep -q "\"approved\": true"'
mkdir build
ok "once" exits 24 sh -c 'cd / && sh "$0"' "$scratch/pasted"
ok "or at once" says 0 "Granted" terminal APPROVE -- helm approval approve "$(newest)" --run
ok "which ran" test ! -e build
ok "a secret is not kept, so there is no line to paste" says 24 "repeat the same command with --approval-id" helm run -- rm -rf src "password=hunter2hunter2"
ok "nor anywhere in the file" sh -c '! grep -q hunter2 .helm/approvals.json .helm/long-running-runtime.json'
ok "an agent's own process cannot approve its risk" says 25 "agent client" governed run --approve-risk -- rm -rf build
ok "nor loosen the guard" says 25 "agent client" governed run --guard-mode audit -- rm -rf build
ok "approve-risk is recorded as what it is" sh -c 'cd "$1/plain" && mkdir -p build && HOME="$1/home" "$0" run --approve-risk -- rm -rf build && grep -q "\"settled_by\":\"approve-risk\"" .helm/receipts.jsonl' "$HELM_REAL" "$scratch"

# Fewer questions.
for i in 1 2 3 4; do
  asks "chmod -R 755 src/$i" tune
done
terminal DENY -- helm approval deny "$(newest)" >/dev/null
ok "tune proposes what would have saved most" says 0 "saves 4 questions of agent:claude-code" helm guard tune
ok "with what it would have let through" says 0 "you denied this" helm guard tune
ok "as JSON" is_json helm guard tune --json
said_once() { [ "$(terminal NO -- helm approval grant --shell "rm -rf src build" --shape | grep -c 'delete files')" = 1 ]; }
ok "what reads the same is said once" said_once
ok "it changes nothing" asks "chmod -R 755 src/5" tune
ok "an agent cannot apply it" exits 25 helm guard check --shell "helm guard tune --grant 1"
ok "nor does a pipe" says 25 "agent client" governed guard tune --grant 1
which=$(helm guard tune --json | python3 -c 'import json,sys; print([p["number"] for p in json.load(sys.stdin)["proposals"] if p["covers"][0]["tag"]=="permission.mode"][0])')
ok "a person does" says 0 "Granted" terminal APPROVE -- helm guard tune --grant "$which" --for 1h
ok "and is asked no more" passes "chmod -R 755 src/6" tune
ok "no proposal of that number" says 1 "no proposal" terminal APPROVE -- helm guard tune --grant 99

# What was changed behind our back.
edit() { python3 -c 'import json,sys
d=json.load(open(".helm/approvals.json"))
exec(sys.argv[1])
json.dump(d,open(".helm/approvals.json","w"))' "$1"; }
asks "rm -rf src" t1
id=$(newest)
cp .helm/approvals.json "$scratch/saved"
edit "d['requests']['$id']['request']['preview']='Bash: ls'"
ok "a request with another text is not shown" says 1 "not what was asked" helm approval show "$id"
ok "nor approved" says 1 "not what was asked" approve "$id"
ok "asked again, it is asked under a new name" sh -c 'printf %s "$0" | grep -q "helm approval approve approval-" && ! printf %s "$0" | grep -q "$1"' "$(hook "rm -rf src" t1)" "$id"
cp "$scratch/saved" .helm/approvals.json
approve "$id" --shape --for 1h >/dev/null
shape=$(grant_of)
cp .helm/approvals.json "$scratch/saved"
edit "d['grants']['$shape']['receipt']['metadata']['grant']['covers'][0]['rule']='risk.git_clean'; d['grants']['$shape']['receipt']['metadata']['grant']['covers'][0].update(kind='git',tag='git.clean',path_class='none')"
ok "a grant for something else grants nothing" asks "git clean -fdx" t2
edit "d['grants']['$shape']['receipt']['metadata']['grant']['expires_at']='2100-01-01T00:00:00Z'"
ok "nor does one with another end" asks "rm -rf src" t2
cp "$scratch/saved" .helm/approvals.json
ok "as it was, it does" passes "rm -rf src" t2
asks "git clean -fdx" back
approve "$(newest)" >/dev/null
cp .helm/approvals.json "$scratch/before"
ok "used" passes "git clean -fdx" back
cp "$scratch/before" .helm/approvals.json
ok "and not again when the document is put back" sh -c 'printf %s "$0" | grep -q "was used or revoked before, says the record"' "$(hook "git clean -fdx" back)"
cp "$scratch/saved" .helm/approvals.json
echo '{' >.helm/approvals.json
ok "what cannot be read is named by doctor" says 1 "grants again from the record" helm doctor
ok "what is allowed is still allowed" passes "ls"
ok "what was granted stays granted" passes "rm -rf src" t2
ok "what could not be read is kept" sh -c 'test "$(cat .helm/approvals.json.damaged-*)" = "{"'
ok "and the list can be read" says 0 "$shape" helm approval list
echo '{' >.helm/approvals.json
ok "the list makes it again, too" says 0 "made again from the record" helm approval list
cp "$scratch/saved" .helm/approvals.json
cp .helm/approvals.json "$scratch/before"
terminal REVOKE -- helm approval revoke "$shape" >/dev/null
cp "$scratch/before" .helm/approvals.json
ok "what was revoked stays revoked when the document is put back" asks "rm -rf src" t2

# Time.
later() { env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 HELM_TEST_CLOCK_US="$1" \
  python3 "$HELM_SOURCE/tests/tools/agent.py" "$HELM_TWIN" hook pre-tool --client claude-code; }
asks "rm -rf src" time
approve "$(newest)" --shape --for 2h >/dev/null
now=$(date +%s)
ok "in force it lifts" sh -c 'test -z "$0"' "$(call "rm -rf src" time | later "$((now + 3600))000000")"
ok "afterwards it does not" sh -c 'test -n "$0"' "$(call "rm -rf src" time | later "$((now + 7300))000000")"

# A key instead of a terminal.
mkdir -m 700 "$scratch/approver"
mkdir "$scratch/second" && HOME=$scratch/second "$HELM_REAL" key create >/dev/null 2>&1
cp "$scratch/second/.helm/keys/root.key" "$scratch/approver/boss.key"
cp "$scratch/second/.helm/keys/root.pub" "$scratch/approver/boss.pub"
asks "rm -rf src" key
id=$(newest)
ok "a key nobody registered is refused" says 25 "not registered" plain approval approve "$plain_id" --key "$scratch/approver/boss.key"
ok "a person registers it" says 0 "boss" terminal TRUST -- helm approval trust add "$scratch/approver/boss.pub" --label boss
ok "which takes a terminal" says 25 "at a terminal" plain approval trust remove "$scratch/approver/boss.pub"
ok "then it answers without one" says 0 "Granted" plain approval approve "$plain_id" --key "$scratch/approver/boss.key"
ok "not below an agent's client, though" says 25 "agent client" governed approval approve "$id" --key "$scratch/approver/boss.key"
terminal -- helm approval approve "$id" --key "$scratch/approver/boss.key" >/dev/null
ok "and is named in the record" sh -c 'grep -q "\"approver\":{\"key_id\":\"ed25519:" "$0"' "$receipts"
ok "the call passes" passes "rm -rf src" key

# Answers outlive a rotation, and a snapshot of the chain that is lost.
asks "chmod -R 700 src" turn
id=$(newest)
asks "rm -rf src" turn
approve "$(newest)" --shape --for 2h >/dev/null
terminal -- helm key rotate >/dev/null
ok "granted before a rotation: in force" passes "rm -rf src" turn
ok "asked before it: shown" says 0 "chmod -R 700 src" helm approval show "$id"
ok "and approved" says 0 "Granted" approve "$id"
ok "which counts" passes "chmod -R 700 src" turn
ok "how it was answered is still told" says 0 "approved" helm approval show "$id"
ok "and listed" says 0 "$id" helm approval list --all
ok "of many only some" says 0 "Older ones are not shown" helm approval list --all --limit 1
ok "as a document, too" says 0 '"complete": false' helm approval list --all --limit 1 --json
rm -rf "$scratch"/home/.helm/trees
ok "without the snapshot: the same answer" passes "rm -rf src" turn
ok "and it is made again" sh -c 'ls "$0"/home/.helm/trees/*/grants.json' "$scratch"

ok "a denial that somebody gave is on record" sh -c 'grep -q "helm.approval/deny" "$0" && grep -q "helm.approval/revoke" "$0"' "$receipts"
ok "the document is what its schema says" says 0 "valid" helm schema validate "$HELM_SOURCE/schemas/approvals.schema.json" .helm/approvals.json
ok "all of it verifies" says 0 "ADMISSIBLE" helm verify "$receipts" --key "$scratch/home/.helm/keys/root.pub"
ok "the log is sound" exits 0 helm log check
ok "status mentions what waits" says 0 "wait" helm status --brief
ok "so does the dashboard" says 0 "wait" helm dashboard

# watch takes the answer.
asks "rm -rf src" watch
n=$(pending)
id=$(newest)
ok "watch shows it and takes the answer" says 0 "Request $id" terminal "$n" APPROVE leave -- helm watch
ok "which counts" passes "rm -rf src" watch
ok "watch in a pipe only shows" says 0 "wait" helm watch
finish

#!/bin/sh
# Hooks of agent clients: what passes, what is refused in whose words, and that every failure blocks.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

helm init >/dev/null
ws=$scratch/home/.helm/workspace
mkdir project
bash_call() { # bash_call COMMAND [SESSION]
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"%s","cwd":"%s/project","tool_use_id":"u1"}' "$1" "${2:-s}" "$scratch"
}
pre() { helm hook pre-tool --client "$1"; }
quiet() { out=$(bash_call "$2" | pre "$1") && [ -z "$out" ] || { echo "$out"; return 1; }; }
answers() { # answers CLIENT EXIT TEXT COMMAND
  out=$(bash_call "$4" | pre "$1" 2>"$scratch/.err")
  code=$?
  [ $code -eq "$2" ] || { echo "exit $code: $out"; return 1; }
  printf '%s' "$out" | grep -qF -e "$3" || { echo "$out"; return 1; }
}

ok "a read-only call passes without a word" quiet claude-code "ls -la | head"
ok "and leaves no receipt" sh -c '! test -e "$0/.helm/receipts.jsonl"' "$ws"
ok "but a note" grep -q '"preview": "ls -la | head"' "$ws/.helm/tool-calls.jsonl"
ok "a write in the project passes" quiet claude-code "echo hi > notes.txt"
ok "on record" test -s "$ws/.helm/receipts.jsonl"
ok "destruction is denied in Claude's words" answers claude-code 0 '"permissionDecision":"deny"' "rm -rf /"
ok "with what to do instead" answers claude-code 0 'Remediation:' "rm -rf /"
ok "what a person may approve is asked where the client can" answers claude-code 0 '"permissionDecision":"ask"' "git reset --hard"
ok "and denied where it cannot" answers codex 0 '"permissionDecision":"deny"' "git reset --hard"
ok "Hermes' words" answers hermes 2 '"action":"block"' "rm -rf /"
ok "DeepSeek's words" answers deepseek 2 '"kind":"deny"' "rm -rf /"
ok "Cursor's words" sh -c 'printf %s "{\"hook_event_name\":\"beforeShellExecution\",\"command\":\"rm -rf /\",\"cwd\":\"/\"}" | HOME="$1/home" "$0" hook pre-tool --client cursor | grep -q "\"permission\":\"deny\""' "$HELM_REAL" "$scratch"
deny_payload() { # deny_payload JSON
  out=$(printf '%s' "$1" | pre claude-code)
  printf '%s' "$out" | grep -q '"permissionDecision":"\(deny\|ask\)"' || { echo "passed: $1 -> $out"; return 1; }
}
ok "the settings that arm the hook are protected" deny_payload '{"tool_name":"Write","tool_input":{"file_path":"'"$scratch"'/home/.claude/settings.json"}}'
ok "Helm's keys are protected" deny_payload '{"tool_name":"Edit","tool_input":{"file_path":"'"$scratch"'/home/.helm/keys/root.key"}}'
ok "also through a patch" deny_payload '{"tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch\n*** Add File: ok.txt\n+x\n*** Move to: '"$scratch"'/home/.helm/keys/root.key\n*** End Patch\n"}}'
ok "reading a private key asks" deny_payload '{"tool_name":"Read","tool_input":{"file_path":"/home/u/.ssh/id_ed25519"}}'
ok "fetching needs a profile with network" deny_payload '{"tool_name":"WebFetch","tool_input":{"url":"https://example.org/"}}'
ok "a shell call without a command is not passed" deny_payload '{"tool_name":"Bash","tool_input":{}}'
ok "an edit without a file is not passed" deny_payload '{"tool_name":"Write","tool_input":{}}'
ok "an ordinary edit passes" sh -c 'test -z "$(printf %s "{\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":\"$1/project/a.c\"},\"cwd\":\"$1/project\"}" | HOME="$1/home" "$0" hook pre-tool --client claude-code)"' "$HELM_REAL" "$scratch"

three() { for _ in 1 2; do bash_call "rm -rf /" loop | pre claude-code >/dev/null; done; bash_call "rm -rf /" "$1" | pre claude-code; }
ok "the third identical refusal says so" sh -c 'printf %s "$0" | grep -q INBOX_DOOM_LOOP_DETECTED' "$(three loop)"
ok "another session starts anew" sh -c '! printf %s "$0" | grep -q INBOX_DOOM_LOOP_DETECTED' "$(three other)"

blocks() { # blocks PAYLOAD: whatever it is, it must not pass
  out=$(printf '%s' "$1" | pre "${2:-claude-code}" 2>"$scratch/.err")
  code=$?
  [ $code -eq 2 ] || printf '%s' "$out" | grep -q '"permissionDecision":"deny"' || { echo "exit $code: $out"; return 1; }
}
ok "no JSON blocks" blocks 'garbage'
ok "nothing blocks" blocks ''
ok "a list blocks" blocks '[]'
ok "no tool blocks" blocks '{"tool_input":{}}'
ok "a tool that is a number blocks" blocks '{"tool_name":7}'
ok "duplicate members block" blocks '{"tool_name":"Bash","tool_name":"Read","tool_input":{"command":"rm -rf /"}}'
ok "an unknown client is wrong usage" exits 2 helm hook pre-tool --client nobody
head -c 10485760 /dev/zero | tr '\0' 'a' >big
ok "ten megabytes block" sh -c 'HOME="$1/home" "$0" hook pre-tool --client claude-code <big; test $? -eq 2' "$HELM_REAL" "$scratch"
ok "control characters are not handed on" sh -c '! printf %s "{\"tool_name\":\"x\\u001b[31m\",\"tool_input\":{}}" | HOME="$1/home" "$0" hook pre-tool --client claude-code 2>&1 | grep -q "$(printf "\033")"' "$HELM_REAL" "$scratch"

mv "$scratch/home/.helm/keys" "$scratch/home/.helm/away"
ok "no key blocks" answers claude-code 0 "INBOX_SIGNER_UNAVAILABLE" "rm -rf build"
mv "$scratch/home/.helm/away" "$scratch/home/.helm/keys"
chmod 644 "$scratch/home/.helm/keys/root.key"
ok "an open key blocks" answers claude-code 0 "INBOX_SIGNER_UNAVAILABLE" "rm -rf build"
chmod 600 "$scratch/home/.helm/keys/root.key"
mv "$ws/.helm/receipts.jsonl" "$ws/.helm/receipts.away"
mkdir "$ws/.helm/receipts.jsonl"
ok "a ledger that cannot be written blocks" answers claude-code 0 "INBOX_RECEIPT_PERSISTENCE_UNAVAILABLE" "rm -rf build"
rmdir "$ws/.helm/receipts.jsonl"
mv "$ws/.helm/receipts.away" "$ws/.helm/receipts.jsonl"
ok "no workspace blocks" sh -c 'printf %s "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}" | env -i HOME="$1/nohome" PATH="$PATH" "$0" hook pre-tool --client claude-code | grep -q deny' "$HELM_REAL" "$scratch"
ok "a denial that cannot be written is exit 2" sh -c 'printf %s "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"rm -rf /\"}}" | HOME="$1/home" "$0" hook pre-tool --client claude-code >/dev/full 2>/dev/null; test $? -eq 2' "$HELM_REAL" "$scratch"

bash_call "echo hi > out.txt" post | pre claude-code
ok "the outcome is bound to its decision" sh -c 'printf %s "{\"tool_name\":\"Bash\",\"tool_input\":{},\"tool_use_id\":\"u1\",\"session_id\":\"post\",\"tool_response\":{\"exit_code\":0}}" | HOME="$1/home" "$0" hook post-tool --client claude-code && tail -n 1 "$1/home/.helm/workspace/.helm/receipts.jsonl" | grep -q "_outcome"' "$HELM_REAL" "$scratch"
ok "sessions are listed" says 0 "loop" helm log sessions
ok "one session, call by call" says 0 "deny.rm_root" helm report --session loop
ok "as a page, escaped" sh -c 'HOME="$1/home" "$0" report --session loop --format html --out s.html >/dev/null && grep -q "session <code>loop" s.html && ! grep -q "<script" s.html' "$HELM_REAL" "$scratch"
ok "an unknown session is said" says 1 "no session" helm report --session nope
ok "all of it verifies" says 0 "ADMISSIBLE" helm verify "$ws/.helm/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub"

# An answer is on disk before it is given: whatever fails once, a call passes only with its receipt, and never when the disk did not
# say that it has it.
fresh_workspace
each_failure() {
  n=1
  seen=no
  while [ $n -le 12 ]; do
    HELM_ENV=
    bash_call "echo hi > notes.txt" | pre claude-code # so that every round finds the same
    bash_call "echo hi > notes.txt" | helm_twin hook pre-tool --client claude-code
    before=$(wc -l <"$ws/.helm/receipts.jsonl")
    rm -f "$scratch/trace"
    HELM_ENV="HELM_TEST_TRACE=$scratch/trace HELM_TEST_FAIL_AT=$n:EIO"
    answer=$(bash_call "echo hi > notes.txt" | helm_twin hook pre-tool --client claude-code)
    HELM_ENV=
    failed=$(sed -n "s/^$n //p" "$scratch/trace")
    [ "$failed" = sync ] && seen=yes
    if [ -z "$answer" ] && { [ "$failed" = sync ] || [ "$(wc -l <"$ws/.helm/receipts.jsonl")" -le "$before" ]; }; then
      echo "call $n ($failed) failed, and it passed"
      return 1
    fi
    n=$((n + 1))
  done
  [ $seen = yes ] || { echo "no sync was tried"; return 1; }
}
ok "a call passes only when the disk has its receipt" each_failure

# What the profile says about tools nobody knows is about those only.
fresh_workspace
rm -f "$ws/.helm/tool-calls.jsonl"
sed 's/"unknown_tool": "allow"/"unknown_tool": "deny"/' "$ws/references/execution_profiles.json" >"$scratch/strict" && cp "$scratch/strict" "$ws/references/execution_profiles.json"
trust "$ws" >/dev/null
ok "a tool nobody knows is denied where the profile says so" deny_payload '{"tool_name":"mcp__srv__do","tool_input":{}}'
ok "one that is known is not" quiet claude-code "ls"

# A refusal names the cause: here, what a person had accepted is lost.
fresh_workspace
sed 's/"unknown_tool": "allow"/"unknown_tool": "deny"/' "$ws/references/execution_profiles.json" >"$scratch/strict" && cp "$scratch/strict" "$ws/references/execution_profiles.json"
trust "$ws" >/dev/null
find "$scratch/home/.helm/trees" -type f -path '*accepted*' -exec sh -c 'echo "{broken" >"$1"' - {} \;
ok "profiles that cannot be read are no fault of the call" answers claude-code 0 'INBOX_POLICY_PROFILE_UNAVAILABLE' "touch file"
ok "a call that cannot be read is" sh -c '! printf "{bad" | "$@" 2>&1 | grep -q PROFILE_UNAVAILABLE' - env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" hook pre-tool --client claude-code

# Many calls between the two halves of one.
fresh_workspace
long_call() { printf '{"tool_name":"Bash","tool_input":{"command":"make"},"session_id":"s","cwd":"%s","tool_use_id":"long-one"%s}' "$PWD" "$1"; }
long_call '' | pre claude-code >/dev/null
n=0
while [ $n -lt 1000 ]; do
  n=$((n + 1))
  printf '{"client": "claude-code", "tool_use_id": "u%d", "verdict": "ALLOW"}\n' $n
done >>"$ws/.helm/tool-calls.jsonl"
long_call ',"tool_response":{"stdout":"ok"}' | helm hook post-tool --client claude-code
ok "an outcome finds its call however many came between" grep -q '_outcome\.' "$ws/.helm/receipts.jsonl"
finish

#!/bin/sh
# profile pause, resume, paused: a profile that nobody may start for now, and the token that ends it.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init >/dev/null
ws=$scratch/home/.helm/workspace
state=$ws/.helm/profile-pause-state.json
with_gate() { HELM_ENV="HELM_PAUSE_GATE=0" helm "$@"; }
hook() { printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s"}' "$1" | agent hook pre-tool --client claude-code; }
denied() { hook "$1" | grep -F '"permissionDecision":"deny"' | grep -F "$2"; }
passes() { test -z "$(hook "$1")"; }

ok "nothing is paused at first" says 0 "no profile is paused" helm profile paused
ok "a profile that does not exist" says 2 "inspect_local" helm profile pause nosuch --reason x
ok "pause one" says 0 "profile=risky_edit" helm profile pause risky_edit --reason "fire drill"
ok "agents' calls under another profile pass" passes ls
token=$(helm profile pause workspace_edit --reason "second" | sed -n 's/^resume_token=//p')
ok "it gives a token" test "${#token}" -eq 32
ok "which is not in the file" sh -c '! grep -q "$0" "$1"' "$token" "$state"
ok "nor in the list" sh -c '! printf %s "$0" | grep -q token' "$(helm profile paused --json)"
ok "paused lists it" says 0 "fire drill" helm profile paused
ok "runs do not start" says 26 "profile workspace_edit is paused: second" helm run -- true
ok "it is said what to do" says 26 "helm profile resume workspace_edit" helm profile run workspace_edit -- true
ok "the older variable changes nothing" exits 26 with_gate run -- true
ok "an approval does not help" exits 26 helm run --approve-risk -- true
ok "nor does audit mode" exits 26 helm run --guard-mode audit -- true
ok "an agent's call is denied, also one that only reads" denied ls "profile workspace_edit is paused: second"
ok "the refusals are on record" sh -c 'grep -c "\"rule\": *\"deny.paused\"" "$0" | grep -qx 11' "$ws/.helm/receipts.jsonl"
ok "which verifies" says 0 "ADMISSIBLE" helm verify "$ws/.helm/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub"
ok "other profiles start" exits 0 helm run --profile inspect_local -- true
ok "the ledger says so" says 0 "blocked_by_pause" helm profile ledger --json
ok "another token does not resume" says 1 "not the token" helm profile resume workspace_edit --token 0123456789abcdef0123456789abcdef
ok "nor none" exits 1 helm profile resume workspace_edit --token ""
ok "it is still paused" exits 26 helm run -- true
ok "the token resumes" says 0 "resumed=yes" helm profile resume workspace_edit --token "$token"
ok "runs start again" exits 0 helm run -- true
ok "agents' calls pass again" passes ls
ok "twice is said" says 1 "is not paused" helm profile resume workspace_edit --token "$token"
ok "the other one stays paused" exits 26 helm run --profile risky_edit -- true

ok "json" is_json helm profile pause workspace_edit --reason x --json
token=$(helm profile pause workspace_edit --reason x --json | sed -n 's/.*"resume_token": *"\([0-9a-f]*\)".*/\1/p')
ok "json has it too" test "${#token}" -eq 32
ok "json of resume" is_json helm profile resume workspace_edit --token "$token" --json

printf '{"workspace_edit": {"paused_at": "2026-01-01T00:00:00+00:00", "reason": "old", "resume_token": "abc"}}\n' >"$state"
ok "a token of an older workspace is not shown" sh -c '! printf %s "$0" | grep -q abc' "$(helm profile paused --json)"
ok "and resumes" says 0 "resumed=yes" helm profile resume workspace_edit --token abc

for text in '{' '[]' '' '{}'; do # the file is a copy of what a person decided
  printf '%s' "$text" >"$state"
  ok "damaged ($text): what was paused is" says 26 "fire drill" helm run --profile risky_edit -- true
  ok "the rest runs, and it is said" says 0 "what a person decided holds" helm run -- true
done
fresh_workspace
state=$ws/.helm/profile-pause-state.json
for text in '{' '[]' '' '{"workspace_edit": {}, "workspace_edit": {}}'; do # where nobody has decided anything yet
  printf '%s' "$text" >"$state"
  ok "damaged ($text): nothing runs" says 26 "counts as paused" helm run -- true
  ok "nor passes" denied ls "counts as paused"
  ok "and it is said" says 1 "counts as paused" helm profile paused
  ok "the hint names the file and the remedy" says 26 "Hint: a person mends $state, or moves it away" helm run -- true
  ok "no profile is said not to be paused" says 1 "counts as paused" helm profile resume workspace_edit --token x
done
printf '{"workspace_edit": 1}' >"$state"
ok "an entry of another shape pauses too" exits 26 helm run -- true
ok "and no token ends it" exits 1 helm profile resume workspace_edit --token ""

rm "$state"
full() { HELM_ENV="HELM_TEST_FAIL_AT=$1+:ENOSPC" helm_twin profile pause workspace_edit --reason x; }
for n in 1 2 3 4; do
  ok "a full disk at write $n is said" says 1 "No space left" full $n
  ok "and leaves no pause that nobody has the token of" test ! -e "$state"
done

# A choice that is killed on the way: the run that finishes it is judged by what holds then.
fresh_workspace
mkdir -p "$scratch/home/.helm/trust"
HELM_ENV="HELM_HOME=$scratch/approver" helm key create >/dev/null 2>&1
printf '{"keys": [{"public_key_hex": "%s"}]}' "$(cat "$scratch/approver/keys/root.pub")" >"$scratch/home/.helm/trust/approvers.json"
helm profile pause service_ops --reason drill >/dev/null
finished() {
  n=0
  seen=
  while [ $n -lt 200 ]; do
    n=$((n + 1))
    helm profile use workspace_edit --key "$scratch/approver/keys/root.key" >/dev/null || return 1
    HELM_ENV="HELM_TEST_KILL_AT=$n" helm_twin profile use service_ops --key "$scratch/approver/keys/root.key" >/dev/null 2>&1
    was=$?
    helm run -- true >"$scratch/.said" 2>&1
    ended=$?
    case "$(helm workspace show --json)" in
    *'"profile": "service_ops"'*) want=26 ;;
    *) want=0 ;;
    esac
    [ $ended = $want ] || { echo "killed at call $n: the run ends with $ended, not $want"; cat "$scratch/.said"; return 1; }
    seen="$seen $want"
    [ $was != 0 ] || break
  done
  case "$seen" in *" 0"*" 26"*) return 0 ;; esac
  echo "not both: $seen"
  return 1
}
ok "a run ends as what holds says, whoever finished it" finished
finish

#!/bin/sh
# profile pause, resume, paused: a profile that nobody may start for now, and the token that ends it.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init >/dev/null
ws=$scratch/home/.helm/workspace
state=$ws/.helm/profile-pause-state.json
gated() { HELM_ENV="HELM_PAUSE_GATE=1" helm "$@"; }

ok "nothing is paused at first" says 0 "no profile is paused" helm profile paused
ok "a profile that does not exist" says 2 "inspect_local" helm profile pause nosuch --reason x
ok "pause says that the gate is off" says 0 "HELM_PAUSE_GATE=1" helm profile pause risky_edit --reason "fire drill"
token=$(helm profile pause workspace_edit --reason "second" | sed -n 's/^resume_token=//p')
ok "it gives a token" test "${#token}" -eq 32
ok "which is not in the file" sh -c '! grep -q "$0" "$1"' "$token" "$state"
ok "nor in the list" sh -c '! printf %s "$0" | grep -q token' "$(helm profile paused --json)"
ok "paused lists it" says 0 "fire drill" helm profile paused
ok "without the gate, runs start" exits 0 helm run -- true
ok "with it, they do not" says 26 "profile workspace_edit is paused: second" gated run -- true
ok "an approval does not help" exits 26 gated run --approve-risk -- true
ok "other profiles start" exits 0 gated run --profile inspect_local -- true
ok "the ledger says so" says 0 "blocked_by_pause" helm profile ledger --json
ok "another token does not resume" says 1 "not the token" helm profile resume workspace_edit --token 0123456789abcdef0123456789abcdef
ok "nor none" exits 1 helm profile resume workspace_edit --token ""
ok "it is still paused" exits 26 gated run -- true
ok "the token resumes" says 0 "resumed=yes" helm profile resume workspace_edit --token "$token"
ok "runs start again" exits 0 gated run -- true
ok "twice is said" says 1 "is not paused" helm profile resume workspace_edit --token "$token"
ok "the other one stays paused" exits 26 gated run --profile risky_edit -- true

ok "json" is_json helm profile pause workspace_edit --reason x --json
token=$(helm profile pause workspace_edit --reason x --json | sed -n 's/.*"resume_token": *"\([0-9a-f]*\)".*/\1/p')
ok "json has it too" test "${#token}" -eq 32
ok "json of resume" is_json helm profile resume workspace_edit --token "$token" --json

printf '{"workspace_edit": {"paused_at": "2026-01-01T00:00:00+00:00", "reason": "old", "resume_token": "abc"}}\n' >"$state"
ok "a token of an older workspace is not shown" sh -c '! printf %s "$0" | grep -q abc' "$(helm profile paused --json)"
ok "and resumes" says 0 "resumed=yes" helm profile resume workspace_edit --token abc

for text in '{' '[]' '' '{"workspace_edit": {}, "workspace_edit": {}}'; do
  printf '%s' "$text" >"$state"
  ok "damaged ($text): nothing runs behind the gate" says 1 "counts as paused" gated run -- true
  ok "and it is said" says 1 "counts as paused" helm profile paused
done
printf '{"workspace_edit": 1}' >"$state"
ok "an entry of another shape pauses too" exits 26 gated run -- true
ok "and no token ends it" exits 1 helm profile resume workspace_edit --token ""

rm "$state"
full() { HELM_ENV="HELM_TEST_FAIL_AT=$1+:ENOSPC" helm_twin profile pause workspace_edit --reason x; }
for n in 1 2 3 4; do
  ok "a full disk at write $n is said" says 1 "No space left" full $n
  ok "and leaves no pause that nobody has the token of" test ! -e "$state"
done
finish

#!/bin/sh
# acts.t — what changes how anything is governed: each such act takes a person, none does anything without one, and what loosens is refused
# while everything is frozen, also to a person.
# shellcheck disable=SC2034,SC2154 # the lists are expanded by eval; set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
fresh_workspace
helm checkpoint create --label saved >/dev/null
helm checkpoint protect saved >/dev/null
mkdir y
helm run -- rm -rf y >/dev/null 2>&1
question=$(helm approval list --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["requests"][-1]["approval_id"])')
old=$(cat "$scratch/home/.helm/keys/root.pub")
terminal -- helm key rotate --reason x >/dev/null
now=$scratch/home/.helm/keys/root.pub
helm setup claude-code --yes --scope user >/dev/null
helm policy new two-people --out policy.yaml >/dev/null
terminal USE -- helm policy use policy.yaml >/dev/null
token=$(helm profile pause risky_edit --reason x | sed -n 's/^resume_token=//p')
digest=sha256:$(printf '%064d' 7)
mkdir "$scratch/elsewhere"

# What says yes, takes a wall away, or says whose word counts.
loosens() {
  cat <<'LIST'
approval approve $question
approval grant --shell 'rm -rf y'
approval trust add $now
workspace trust
workspace trust --degraded yes
profile use service_ops
profile use workspace_edit --destructive checkpoint
setup remove claude-code --yes --scope user
key rotate
key trust add $now
checkpoint protect saved --unprotect
checkpoint restore saved --set-ids
allow path $scratch/elsewhere
allow host example.org
policy use --none
LIST
}
# A person's as well, and stricter, or about something else than what is permitted.
tells() {
  cat <<'LIST'
approval deny $question
workspace trust --require-key yes
key revoke $old
policy use policy.yaml
policy revoke $digest --reason x --even-unknown
policy shadow start policy.yaml
LIST
}
state() { find "$scratch/home" -type f ! -name '*.lock' ! -name lock -exec sha256sum {} + | sort; }
unchanged() { # command...: and nothing is different
  state >"$scratch/.before"
  "$@" || return 1
  state | diff "$scratch/.before" -
}

{ loosens; tells; } >"$scratch/acts"
while read -r words; do
  eval "set -- $words"
  ok "without a person nothing comes of: helm $words" unchanged says 25 "only a person at a terminal" helm "$@"
done <"$scratch/acts"
posture() { find "$scratch/home" -name 'posture*' -exec sha256sum {} +; }
still_contained() { # setup arms first, which is stricter; the walls stay
  posture >"$scratch/.before"
  "$@" helm setup claude-code --contain off --yes --scope user || return 1
  posture | diff "$scratch/.before" -
}
ok "without a person calls stay contained" still_contained says 25 "only a person at a terminal"
ok "lifting a freeze, too" sh -c '"$@"' x env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" freeze --reason drill
ok "without a person it stays frozen" unchanged says 25 "only a person at a terminal" helm unfreeze

loosens >"$scratch/acts"
while read -r words <&3; do
  eval "set -- $words"
  ok "while everything is frozen not even a person's: helm $words" unchanged says 25 "comes first" terminal TRUST -- helm "$@"
done 3<"$scratch/acts"
ok "calls stay contained then, too" still_contained says 25 "comes first" terminal TRUST --
ok "nor by the token of a pause" unchanged says 25 "comes first" helm profile resume risky_edit --token "$token"
ok "what is stricter goes" says 0 "profile=workspace_edit" helm profile pause workspace_edit --reason x
ok "a person lifts it" exits 0 terminal -- helm unfreeze
ok "then the token counts again" exits 0 helm profile resume risky_edit --token "$token"
ok "and a person's word" exits 0 terminal TRUST -- helm allow path "$scratch/elsewhere"
finish

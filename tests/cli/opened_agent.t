#!/bin/sh
# A call of a supervised session that an operator approved, and that needs a path its sandbox closes: it runs once in a sandbox of its
# own with that opening, and the session's own sandbox stays as it is.  In both kinds of sandbox.
# shellcheck disable=SC2016,SC2154,SC2317 # texts for sh -c; set by lib.sh; called through ok
TMPDIR=${HELM_TEST_PLACE:-${HELM_BUILD:-$PWD/build/dev}} # not in /tmp, which a session has for itself
export TMPDIR
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
fresh_workspace
mkdir .git
register_approver
machine=$HELM_BUILD/tests/lesser_machine_test
[ -x "$machine" ] || skip_all "the test program was not built"
command -v python3 >/dev/null || skip_all "python3 is not here"
helm run -- true || skip_all "this machine cannot put up the sandbox"
me=$scratch/home project=$scratch/project
mkdir -p "$me/.ssh" "$me/notes"
echo secret-key >"$me/.ssh/id_rsa"
cat >client <<SH
#!/bin/sh
ask() { # ask ID COMMAND: the hook before a shell call
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s","tool_use_id":"%s","cwd":"%s"}' "\$2" "\$1" "\$PWD" |
    $HELM_REAL hook pre-tool --client claude-code
}
instead() { python3 -c 'import json,sys; print(json.load(sys.stdin)["hookSpecificOutput"]["updatedInput"]["command"])'; }
n=0
for c in 'cat $me/.ssh/id_rsa' 'echo hi > $me/notes/new'; do
  n=\$((n + 1))
  ask a\$n "\$c"
  : >asked\$n
  while [ ! -e approved\$n ]; do sleep 0.02; done
  ask b\$n "\$c" >answer\$n
  sh -c "\$(instead <answer\$n)"; echo "first\$n \$?"
  sh -c "\$(instead <answer\$n)"; echo "second\$n \$?"
  sh -c "\$c" 2>/dev/null; echo "inside\$n \$?"
done
ask c 'cat $me/.helm/keys/root.key'
ask d 'rm $me/notes/keep'
SH
chmod +x client
in_kind() {
  if [ "$kind" = supervised ]; then env -i PATH="$PATH" HOME="$me" LC_ALL=C.UTF-8 "$machine" --without namespaces "$HELM_REAL" "$@"; else helm "$@"; fi
}
has() { grep -qF -e "$1" "$scratch/said" || { cat "$scratch/said"; return 1; }; }
[ "$(sandbox_kind)" = supervised ] && kinds=supervised || kinds="namespaces supervised"
for kind in $kinds; do
  rm -f "$me/.helm/machine.json" asked* approved* answer* "$me/notes"/*
  : >"$me/notes/keep"
  in_kind agent --profile develop "$project/client" >"$scratch/said" 2>&1 &
  session=$!
  for n in 1 2; do
    waited=0
    while [ ! -e asked$n ] && [ $waited -lt 1500 ] && kill -0 $session 2>/dev/null; do
      sleep 0.02
      waited=$((waited + 1))
    done
    helm approval approve "$(grep -o 'approval approve approval-[0-9a-f]*' "$scratch/said" | tail -n 1 | sed 's/.* //')" --key "$boss" >"$scratch/granted" 2>&1 || cat "$scratch/granted"
    : >approved$n
  done
  wait $session
  ok "$kind: it is asked about, and not by the client" has '"permissionDecision":"deny"'
  ok "$kind: after a yes the client is told not to ask again" grep -q '"permissionDecision":"allow"' answer1
  ok "$kind: the credential is read" has secret-key
  ok "$kind: by the call that was approved" has "first1 0"
  ok "$kind: which is used up" sh -c '! grep -q "second1 0" "$0"' "$scratch/said"
  ok "$kind: the session's own sandbox has not been widened" sh -c '! grep -q "inside1 0" "$0" && [ "$(grep -c "^secret-key" "$0")" -eq 1 ]' "$scratch/said"
  ok "$kind: a file elsewhere is written" grep -qx hi "$me/notes/new"
  ok "$kind: by that call alone" sh -c 'grep -q "first2 0" "$0" && ! grep -q "inside2 0" "$0"' "$scratch/said"
  ok "$kind: the receipt of each names what was opened" sh -c 'grep -F "\"opened\":[{\"path\":\"$1/notes/new\",\"what\":\"write\"}]" "$0" >/dev/null && grep -qF "\"opened\":[{\"path\":\"$1/.ssh/id_rsa\",\"what\":\"read\"}]" "$0"' "$ws/.helm/receipts.jsonl" "$me"
  ok "$kind: Helm's own keys are denied" has "never opened"
  ok "$kind: what the sandbox cannot open alone is denied with what to type" has "helm allow path $me/notes"
done
finish

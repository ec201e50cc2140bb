#!/bin/sh
# Memory when helm is ended, or the disk says no, at each system call that changes something: what was there stays, a line is whole or not
# there, every line has its entry and every entry its receipt; and the next writer goes on.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to read answers"
fresh_workspace
helm memory capture-chat --task-name 'deploy the docs' --task-id t1 --path docs/a.md >/dev/null
helm memory write --layer long_term_memory --text 'the first fact of all that is known here' >/dev/null
old=$(helm memory entries --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["items"][0]["id"])')
echo 'a line of mine' >>"$ws/MEMORY.md"
rm -rf "$scratch/.start" && cp -a "$scratch/home" "$scratch/.start"
again() { rm -rf "${scratch:?}/home" && cp -a "$scratch/.start" "$scratch/home"; }

# The state after a fault: whole, sound, and good for the next one.
sound() {
  grep -q '^a line of mine\( <!-- mem-[0-9]* -->\)*$' "$ws/MEMORY.md" || { echo "my line is gone"; return 1; }
  grep -q 'the first fact of all' "$ws/MEMORY.md" || { echo "the first fact is gone"; return 1; }
  helm memory verify >v.txt 2>&1 || { cat v.txt; return 1; }
  helm memory write --layer long_term_memory --text 'something else that is written behind it' >w.txt 2>&1 || { cat w.txt; return 1; }
  grep -q 'a line of mine' "$ws/MEMORY.md" && grep -q 'something else' "$ws/MEMORY.md" || { echo "the next writer lost something"; return 1; }
  helm memory review-queue --json >q.txt 2>&1 || { cat q.txt; return 1; }
  [ -z "$(find "$ws" -maxdepth 1 -name '.*helm-memory*')" ] || { echo "something is left behind"; return 1; }
  [ "$(tail -c 1 "$ws/MEMORY.md" | od -An -tx1)" = " 0a" ] || { echo "half a line"; return 1; }
  helm log check >l.txt 2>&1 || { cat l.txt; return 1; }
}
# sweep KIND ARGS...: the command with the fault at call 1, 2, ... until it gets through.
sweep() {
  kind=$1
  shift
  n=0
  while :; do
    n=$((n + 1))
    again
    HELM_ENV="HELM_TEST_$kind" && case $kind in KILL_AT) HELM_ENV="$HELM_ENV=$n" ;; *) HELM_ENV="$HELM_ENV=$n:ENOSPC" ;; esac
    helm_twin "$@" >out.txt 2>&1
    code=$?
    HELM_ENV=
    sound || { echo "after call $n of $*: exit $code"; cat out.txt; return 1; }
    if [ $code -eq 0 ] && [ "$kind" = KILL_AT ]; then break; fi
    # A call that fails may be one that nothing depends on: go on until none is left.
    if [ "$kind" != KILL_AT ] && [ $n -gt "${calls:-60}" ]; then break; fi
    [ $n -lt 200 ] || { echo "it never gets through"; return 1; }
  done
  echo $n >"$scratch/calls.txt"
  [ $n -gt 5 ] || { echo "only $n calls"; return 1; }
}
ok "ended while a line is written" sweep KILL_AT memory write --layer long_term_memory --text 'a fact that is being written' --supersedes "$old"
calls=$(cat "$scratch/calls.txt")
ok "a full disk at each call of it" sweep FAIL_AT memory write --layer long_term_memory --text 'a fact that is being written' --supersedes "$old"
ok "ended while a conversation is captured" sweep KILL_AT memory capture-chat --task-name 'write the manual'
ok "ended while a capture is finalized" sweep KILL_AT memory finalize --task-id t1 --layer long_term_memory --file "$ws/MEMORY.md"
ok "ended while an operation is recorded" sweep KILL_AT memory op write --subject s --reason r --evidence e --task-id t1
ok "ended while lines of a file are accepted" sweep KILL_AT memory accept MEMORY.md
ok "ended while an entry is taken back" sweep KILL_AT memory revert "$(again; helm memory write --layer long_term_memory --text 'a fact to be taken back' --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["entry"])'; rm -rf "$scratch/.start"; cp -a "$scratch/home" "$scratch/.start")"
finish

#!/bin/sh
# Guarded runs: decided, on record, inside their walls, and ended properly.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init >/dev/null
ws=$scratch/home/.helm/workspace
ledger=$ws/.helm/task-ledger.jsonl
mkdir project && cd project || exit 1
last() { tail -n 1 "$ledger"; }
has() { last | grep -qF -e "$1" || { last; return 1; }; }

ok "a read-only command runs" says 0 "hello" helm profile run inspect_local -- echo hello
ok "its last row says completed" has '"status": "completed"'
ok "three rows were written" sh -c 'test "$(wc -l <"$0")" -eq 3' "$ledger"
ok "two receipts were written" sh -c 'test "$(wc -l <"$0/.helm/receipts.jsonl")" -eq 2' "$ws"
ok "a command log row was written" grep -q '"component": "runner"' "$ws/.helm/command-log.jsonl"
ok "the walls are in the receipt" grep -q '"files_confined":true' "$ws/.helm/receipts.jsonl"
ok "the child's exit code is handed on" exits 7 helm profile run inspect_local -- sh -c 'exit 7'
ok "and recorded with a failure signature" has '"failure_signature"'
ok "a denied command does not run" says 25 "GUARD DENY" helm profile run workspace_edit -- rm -rf /
ok "its row says blocked" has '"status": "blocked"'
ok "a risky one asks" says 24 "APPROVAL REQUIRED" helm profile run workspace_edit -- git reset --hard
ok "inspect_local cannot write, says the guard" exits 25 helm profile run inspect_local -- touch made
ok "inspect_local cannot write, says the kernel" sh -c '! test -e made' 
ok "a miss is contained" sh -c '"$0" profile run workspace_edit --guard-mode audit -- sh -c "echo x >'"$scratch"'/escaped" 2>/dev/null; ! test -e "'"$scratch"'/escaped"' "$HELM_REAL"
mkdir -p .claude && echo '{}' >.claude/settings.json
ok "nor can a miss change the rules of the workspace" exits 2 helm run --cwd workspace --guard-mode audit -- sh -c 'echo x >references/execution_profiles.json'
ok "nor the settings that arm the guard" exits 2 helm run --guard-mode audit -- sh -c 'echo x >.claude/settings.json'
ok "workspace_edit writes in the work tree" sh -c 'HOME='"$scratch/home"' "$0" profile run workspace_edit -- sh -c "echo hi >made" && test -s made' "$HELM_REAL"
ok "not found is 127 with a row" says 127 "command not found" helm profile run inspect_local -- no-such-program-here
ok "the row is there" has '"status": "failed"'
ok "time runs out: 124" exits 124 helm profile run inspect_local --timeout 1 -- sleep 30
ok "the row says timeout" has '"status": "timeout"'
ok "an unknown profile lists the known ones" says 2 "inspect_local" helm profile run nonsense -- true
ok "no command is wrong usage" exits 2 helm profile run inspect_local
ok "a bad task id is refused" says 2 "no task id" helm profile run inspect_local --task-id ../x -- true
ok "--guard-json decides and runs nothing" says 0 '"action"' helm profile run workspace_edit --guard-json -- rm -rf build
ok "its row says guard_audit" has '"status": "guard_audit"'
ok "risky_edit makes a checkpoint first" exits 0 helm profile run risky_edit --task-name "router refactor" -- true
ok "the row names it" has '"checkpoint_id": "2'
ok "a handoff runs nothing" says 0 "handoff_required" helm profile run remote_handoff --runtime-target box -- deploy
ok "a handoff needs a target" exits 2 helm profile run remote_handoff -- deploy
ok "secrets do not reach the ledger" sh -c 'HOME='"$scratch/home"' "$0" profile run inspect_local -- echo password=hunter2 >/dev/null; ! grep -rq hunter2 "'"$ws"'/.helm"' "$HELM_REAL"
ok "a guarded run cannot loosen the guard" says 25 "guard" helm profile run service_ops --approve-risk -- "$HELM_REAL" profile run workspace_edit --guard-mode off -- true
ok "helm run uses the default profile" says 0 "hi" helm run -- echo hi

# resume cards: the newest are kept
many_cards() {
  i=0
  while [ $i -lt 80 ]; do
    echo card >"$ws/.helm/state-snapshots/2000010$((i % 10))T000000Z-old-$i.md"
    i=$((i + 1))
  done
  for _ in 1 2 3 4 5; do HOME=$scratch/home "$HELM_REAL" run -- true || return 1; done
  n=$(ls "$ws/.helm/state-snapshots" | wc -l)
  [ "$n" -le 50 ] || { echo "$n cards"; return 1; }
  newest=$(ls "$ws/.helm/state-snapshots" | tail -n 1)
  grep -q "current_state: " "$ws/.helm/state-snapshots/$newest" || return 1 # of a run: names go by the second
  [ -z "$(find "$ws/.helm/state-snapshots" -name '.?*')" ]
}
ok "old resume cards make room" many_cards
ok "the next run is given the newest" sh -c 'newest=$(ls "$1" | tail -n 1); HOME='"$scratch/home"' "$0" run -- env | grep -q "^HELM_PREVIOUS_STATE_SNAPSHOT=.*$newest"' "$HELM_REAL" "$ws/.helm/state-snapshots"

# whoever writes to a reader that is gone learns it, through helm
ok "a reader that leaves ends the command" sh -c 'HOME='"$scratch/home"' timeout 20 "$0" run -- yes | head -n 1 | grep -q y' "$HELM_REAL"

# helm itself is killed: the next run finds the row and closes it
HOME=$scratch/home "$HELM_REAL" profile run inspect_local --task-id killed-one -- sleep "60.$$" >/dev/null 2>&1 &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  grep -q '"killed-one"' "$ledger" && has '"running"' >/dev/null && break
  sleep 0.1
done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
ok "after a kill the next run works" exits 0 helm run -- true
ok "and closes the orphan" sh -c 'grep "\"killed-one\"" "$0" | tail -n 1 | grep -q "\"failed\""' "$ledger"
ok "nothing of it is left" sh -c '! pgrep -f "sleep 60[.]$0" >/dev/null' "$$"

# no receipt, no effect
if [ "$(id -u)" -ne 0 ]; then
  chmod 400 "$ws/.helm/receipts.jsonl"
  ok "unwritable state: nothing runs" sh -c 'HOME='"$scratch/home"' "$0" run -- touch effect; test $? -ne 0 && ! test -e effect' "$HELM_REAL"
  chmod 600 "$ws/.helm/receipts.jsonl"
fi
mv "$scratch/home/.helm/keys" "$scratch/home/.helm/keys-away"
ok "no key: nothing runs, and it says what to do" says 1 "helm key create" helm run -- touch effect
ok "indeed not" sh -c '! test -e effect'
finish

#!/bin/sh
# Guarded runs: decided, on record, inside their walls, and ended properly.  Each case has a workspace of its own.
# What the walls of each profile stop is tried in walls.t.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

fresh() { # fresh "description" command...: the command in a new workspace
  fresh_workspace
  ok "$@"
}
last() { tail -n 1 "$ledger"; }
has() { last | grep -qF -e "$1" || { last; return 1; }; }
lines() { [ "$(wc -l <"$1")" -eq "$2" ] || { cat "$1"; return 1; }; }
quietly() { helm "$@" >/dev/null 2>&1; }

# rows and receipts of a run
fresh "a read-only command runs" says 0 "hello" helm profile run inspect_local -- echo hello
completed() { quietly profile run inspect_local -- echo hello && has '"status": "completed"'; }
fresh "its last row says completed" completed
three_rows() { quietly profile run inspect_local -- echo hello && lines "$ledger" 3; }
fresh "three rows were written" three_rows
two_receipts() { quietly profile run inspect_local -- echo hello && lines "$ws/.helm/receipts.jsonl" 2; }
fresh "two receipts were written" two_receipts
logged() { quietly profile run inspect_local -- echo hello && grep -q '"component": "runner"' "$ws/.helm/command-log.jsonl"; }
fresh "a command log row was written" logged
walls_told() { quietly profile run inspect_local -- echo hello && grep -q '"files_confined":true' "$ws/.helm/receipts.jsonl"; }
fresh "the walls are in the receipt" walls_told
asked_for() { # the digest of exactly these words is in both receipts, and other words have another
  quietly profile run inspect_local -- echo one && quietly profile run inspect_local -- echo two
  for word in one two; do
    sum=$(printf '["echo","%s"]' $word | sha256sum | cut -d' ' -f1)
    [ "$(grep -c "\"args_hash\":\"sha256:$sum\"" "$ws/.helm/receipts.jsonl")" -ge 1 ] || return 1
  done
}
fresh "what was asked for is in the receipt as a digest" asked_for
fresh "the child's exit code is handed on" exits 7 helm profile run inspect_local -- sh -c 'exit 7'
failed_with() { exits 7 helm profile run inspect_local -- sh -c 'exit 7' && has '"failure_signature"'; }
fresh "and recorded with a failure signature" failed_with

# what the guard stops
fresh "a denied command does not run" says 25 "GUARD DENY" helm profile run workspace_edit -- rm -rf /
blocked() { exits 25 helm profile run workspace_edit -- rm -rf / && has '"status": "blocked"'; }
fresh "its row says blocked" blocked
denied_with_advice() { says 25 "Hint: " helm profile run inspect_local -- touch made; }
fresh "what the profile denies comes with what to do instead" denied_with_advice
asked_twice() { # a question that waits is no failure that happens again
  exits 24 helm profile run workspace_edit -- git reset --hard && says 24 "to approve" helm profile run workspace_edit -- git reset --hard &&
    ! grep -q "twice\|nothing has helped" "$scratch/.stderr"
}
fresh "asked again, it is the same question and no failure" asked_twice
readable() { exits 24 helm profile run workspace_edit -- cat "$scratch/home/.ssh/id_rsa" && says 0 "would read credentials in $scratch/home/.ssh/id_rsa" helm approval list; }
fresh "who answers reads which credentials are meant" readable
fresh "a risky one asks" says 24 "APPROVAL REQUIRED" helm profile run workspace_edit -- git reset --hard
no_write() { exits 25 helm profile run inspect_local -- touch made && ! test -e made; }
fresh "inspect_local cannot write, says the guard" no_write

# what the walls stop when the guard only looks on
walled() { # walled PROFILE FILE: a run that writes FILE starts, fails, and the file is as before
  before=$(cat "$2" 2>/dev/null)
  says 2 "started" helm profile run "$1" --guard-mode audit -- sh -c 'echo started; echo x >"$0"' "$2" || return 1
  [ "$(cat "$2" 2>/dev/null)" = "$before" ]
}
fresh "inspect_local cannot write, says the kernel" walled inspect_local "$scratch/project/made"
fresh "a miss is contained" walled workspace_edit "$scratch/escaped"
rules() { walled workspace_edit "$ws/references/execution_profiles.json"; }
fresh "nor can a miss change the rules of the workspace" rules
settings() { mkdir -p .claude && echo '{}' >.claude/settings.json && walled workspace_edit "$PWD/.claude/settings.json"; }
fresh "nor the settings that arm the guard" settings
writes() { quietly profile run workspace_edit -- sh -c "echo hi >made" && test -s made; }
fresh "workspace_edit writes in the work tree" writes

# how it ends
not_found() { says 127 "command not found" helm profile run inspect_local -- no-such-program-here && has '"status": "failed"'; }
fresh "not found is 127 with a row" not_found
timed_out() { exits 124 helm profile run inspect_local --timeout 1 -- sleep 30 && has '"status": "timeout"'; }
fresh "time runs out: 124 with a row" timed_out
fresh "an unknown profile lists the known ones" says 2 "inspect_local" helm profile run nonsense -- true
fresh "no command is wrong usage" exits 2 helm profile run inspect_local
fresh "a bad task id is refused" says 2 "no task id" helm profile run inspect_local --task-id ../x -- true
audited() {
  mkdir build && says 0 '"action"' helm profile run workspace_edit --guard-json -- rm -rf build || return 1
  test -d build && has '"status": "guard_audit"'
}
fresh "--guard-json decides and runs nothing" audited
saved() { exits 0 helm profile run risky_edit --task-name "router refactor" -- true && has '"checkpoint_id": "2'; }
fresh "risky_edit makes a checkpoint first, and the row names it" saved
handed() { says 0 "handoff_required" helm profile run remote_handoff --runtime-target box -- touch made && ! test -e made; }
fresh "a handoff runs nothing" handed
fresh "a handoff needs a target" exits 2 helm profile run remote_handoff -- deploy
no_secret() {
  says 0 hunter2 helm profile run inspect_local -- echo password=hunter2 || return 1
  has '"status": "completed"' && ! grep -r hunter2 "$ws/.helm"
}
fresh "secrets do not reach the ledger" no_secret
fresh "a guarded run cannot loosen the guard" says 25 "guard" helm profile run service_ops --approve-risk -- "$HELM_REAL" profile run workspace_edit --guard-mode off -- true
fresh "helm run uses the default profile" says 0 "hi" helm run -- echo hi

# resume cards: the newest are kept
many_cards() {
  i=0
  mkdir -p "$ws/.helm/state-snapshots"
  while [ $i -lt 80 ]; do
    echo card >"$ws/.helm/state-snapshots/2000010$((i % 10))T000000Z-old-$i.md"
    i=$((i + 1))
  done
  for _ in 1 2 3 4 5; do helm run -- true || return 1; done
  n=$(ls "$ws/.helm/state-snapshots" | wc -l)
  [ "$n" -le 50 ] || { echo "$n cards"; return 1; }
  newest=$(ls "$ws/.helm/state-snapshots" | tail -n 1)
  grep -q "current_state: " "$ws/.helm/state-snapshots/$newest" || return 1 # of a run: names go by the second
  [ -z "$(find "$ws/.helm/state-snapshots" -name '.?*')" ]
}
fresh "old resume cards make room" many_cards
newest_card() {
  helm run -- true || return 1
  newest=$(ls "$ws/.helm/state-snapshots" | tail -n 1)
  # shellcheck disable=SC2016 # words of the shell inside
  helm run -- sh -c 'cat "$HELM_PREVIOUS_STATE_SNAPSHOT"' | cmp - "$ws/.helm/state-snapshots/$newest"
}
fresh "the next run is given the newest" newest_card

# whoever writes to a reader that is gone learns it, through helm
reader_leaves() { HOME=$scratch/home timeout 20 "$HELM_REAL" run -- yes | head -n 1 | grep -q y; }
fresh "a reader that leaves ends the command" reader_leaves

# helm itself is killed: the next run finds the row and closes it.  The command holds a lock as long as it lives.
kill_one() { # starts "killed-one" and kills helm; nothing of this looks at the processes of others
  HOME=$scratch/home "$HELM_REAL" profile run workspace_edit --task-id killed-one -- \
    flock "$scratch/project/alive" sleep 60 >/dev/null 2>&1 &
  pid=$!
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    test -e alive && ! flock -n alive true && break
    sleep 0.1
  done
  held=1
  flock -n alive true && held=0
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  [ $held -eq 1 ] || { echo "the command never started"; last; return 1; }
}
next_works() { kill_one && exits 0 helm run -- true; }
fresh "after a kill the next run works" next_works
# A run is over when nothing of it is left, which on a busy machine is a moment after the kill.
orphan_closed() {
  kill_one && flock -w 20 alive true || return 1
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    quietly run -- true || return 1
    if grep '"killed-one"' "$ledger" | tail -n 1 | grep '"failed"'; then return 0; fi
    sleep 0.2
  done
  grep '"killed-one"' "$ledger"
  return 1
}
fresh "and closes the orphan" orphan_closed
nothing_left() { kill_one && flock -w 10 alive true; }
fresh "nothing of it is left" nothing_left

# no receipt, no effect
if [ "$(id -u)" -ne 0 ]; then
  unwritable() {
    quietly run -- true
    chmod 400 "$ws/.helm/receipts.jsonl"
    ! helm run -- touch effect && ! test -e effect
  }
  fresh "unwritable state: nothing runs" unwritable
else
  skip "unwritable state: nothing runs" "root can write every file"
fi
no_key() {
  mv "$scratch/home/.helm/keys" "$scratch/home/.helm/keys-away"
  says 1 "helm key create" helm run -- touch effect && ! test -e effect
}
fresh "no key: nothing runs, and it says what to do" no_key
if [ -c /dev/full ]; then
  full_out() { helm run --task-id full -- echo hi >/dev/full; }
  full_err() { helm run -- sh -c 'echo hi >&2' 2>/dev/full; }
  fresh "output that cannot be written is no success" exits 1 full_out
  fresh "nor is a message that cannot be" exits 1 full_err
  full_row() { full_out; grep -q '"status": "completed".*"task_id": "full"' "$ledger"; }
  fresh "the command itself completed, and its row says so" full_row
fi
gone_reader() { { helm run -- sh -c 'echo one; sleep 0.2; echo two'; echo $? >"$scratch/code"; } | head -n 1 >/dev/null; ! grep -qx 1 "$scratch/code"; }
fresh "a reader that has gone is no error of ours" gone_reader
finish

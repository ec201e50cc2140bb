#!/bin/sh
# Views beside writers see one moment: nothing sound is called different, nothing is refused because somebody else writes.
# shellcheck disable=SC2154 # scratch and ws are lib.sh's
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to lock the index"

fresh_workspace
state=$ws/.helm
mkdir -p src memory
ROUNDS=${ROUNDS:-20}
helm db init >/dev/null

# ---- somebody who has the index locked for seconds: no view fails, waits for the end, or says so ----
cat >"$scratch/hold.py" <<'P'
import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
c.execute("BEGIN EXCLUSIVE")
open(sys.argv[3], "w").close()
time.sleep(float(sys.argv[2]))
c.execute("ROLLBACK")
P
hold() { # hold SECONDS: returns when it is locked
  rm -f "$scratch/held"
  python3 "$scratch/hold.py" "$state/ops-index.sqlite3" "$1" "$scratch/held" &
  holder=$!
  until [ -e "$scratch/held" ]; do sleep 0.02; done
}
beside_lock() { # beside_lock SECONDS ARGS...
  hold "$1"
  shift
  helm "$@" >"$scratch/.locked" 2>&1
  code=$?
  wait $holder
  [ $code -eq 0 ] && ! grep -qE "locked|index|newest rows" "$scratch/.locked" || { echo "exit $code"; cat "$scratch/.locked"; return 1; }
}
helm run --task-id first -- true >/dev/null 2>&1
for view in status report "task list" "task doctor" "context number"; do
  # shellcheck disable=SC2086 # words
  ok "$view beside a locked index" beside_lock 3 $view
done
ok "task list beside it once more" beside_lock 3 task list
ok "and it shows what is on record" grep -q first "$scratch/.locked"
# A record that is too long to be read for one question: the view waits, and then has all of it.
awk 'BEGIN { for (i = 0; i < 16000; i++) printf "{\"filler\": \"%0900d\", \"status\": \"completed\", \"task_id\": \"big-%d\"}\n", i, i }' >>"$state/task-ledger.jsonl"
helm db init >/dev/null
ok "a long record beside a locked index" beside_lock 3 task list
ok "of all tasks" sh -c 'grep -q "of 16001" "$0" || { cat "$0"; exit 1; }' "$scratch/.locked"
fresh_workspace
mkdir -p src memory
helm db init >/dev/null

# ---- the writers: runs, calls of a client, memory, and one that brings the index up to date all the time ----
while_wanted() { while [ -e "$scratch/go" ]; do "$@" >/dev/null 2>>"$scratch/wrong" || echo "exit $?: $*" >>"$scratch/wrong"; done; }
n=0
call() {
  n=$((n + 1))
  printf '{"tool_name":"Bash","tool_input":{"command":"echo %d > note"},"session_id":"w","cwd":"%s","tool_use_id":"w%d"}' $n "$PWD" $n |
    agent hook pre-tool --client claude-code
}
remember() {
  n=$((n + 1))
  helm memory write --layer long_term_memory --text "line number $n is here"
}
: >"$scratch/go"
writers=
for one in "helm run -- true" call remember "helm db init"; do
  # shellcheck disable=SC2086 # words
  while_wanted $one &
  writers="$writers $!"
done

beside() { # beside ARGS...: so many times, each with exit code 0 and no word of drift, locks or damage
  round=0
  while [ $round -lt "$ROUNDS" ]; do
    round=$((round + 1))
    helm "$@" >"$scratch/.round" 2>&1
    code=$?
    [ $code -eq 0 ] && ! grep -qE "locked|drift=[1-9]|NOT SOUND|error |cannot " "$scratch/.round" && continue
    echo "round $round of $*: exit $code"
    cat "$scratch/.round"
    return 1
  done
}
ok "db verify" beside db verify
ok "memory verify" beside memory verify
ok "db status" beside db status
ok "db rebuild" beside db rebuild
ok "db verify behind a rebuild" beside db verify
ok "report" beside report
ok "status" beside status
ok "context" beside context number
ok "task list" beside task list
ok "task doctor" beside task doctor
rm -f "$scratch/go"
for one in $writers; do wait "$one"; done
ok "no writer was held up" sh -c '! test -s "$0" || { cat "$0"; exit 1; }' "$scratch/wrong"
ok "memory is whole afterwards" says 0 "memory is as it was recorded" helm memory verify
helm db init >/dev/null
ok "and the index" says 0 "behind=0" helm db verify
ok "nothing differs" says 0 "drift=0" helm db verify
ok "the record is sound" exits 0 helm log check --all
ok "the state is where it was" test -s "$state/ops-index.sqlite3"
finish

#!/bin/sh
# Guarded runs when things go wrong around them: a full disk at every moment, state that cannot be written, a clock that goes back,
# a program that is swapped after it was judged; and what long runs leave while they last.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

ws=$scratch/ws
mkdir "$ws"
helm init --path "$ws" >/dev/null 2>&1 || helm init "$ws" >/dev/null
ledger=$ws/.helm/task-ledger.jsonl
go() { (cd "$ws" && helm run --path "$ws" -- "$@"); }
last_says() { tail -n 1 "$ledger" | grep -qF -e "$1" || { tail -n 1 "$ledger"; return 1; }; }
ok "a run" go touch first
ok "says what is worth remembering of it" last_says '"finalization_status": "no_capture_needed"'

# ---- what it changed ----
mkdir "$ws/dir"
echo 1 >"$ws/gone"
echo 2 >"$ws/dir/old"
ok "a deleted file" go rm gone
ok "is among what it touched" last_says '"deleted_paths": ["gone"]'
ok "a renamed file" go mv dir/old dir/new
ok "is gone under its old name" last_says '"deleted_paths": ["dir/old"]'
ok "and there under its new one" last_says 'dir/new'
(cd "$ws" && helm profile run risky_edit --workspace "$ws" -- python3 -c 'import os; os.rename("dir/new", "dir/newer")' >/dev/null 2>&1)
if [ -e "$ws/dir/newer" ]; then
  ok "where files were saved before, what is gone is found, whoever took it" last_says '"deleted_paths": ["dir/new"]'
fi

# ---- a full disk, at every moment ----
full_disk() {
  n=1
  while [ $n -le 45 ]; do
    rm -f "$ws/effect"
    receipts=$(wc -l <"$ws/.helm/receipts.jsonl")
    (cd "$ws" && HELM_ENV="HELM_TEST_FAIL_AT=$n+:ENOSPC" helm_twin run --path "$ws" -- touch effect) >"$scratch/.o" 2>"$scratch/.e"
    code=$?
    [ $code -lt 126 ] || { echo "at $n: exit $code"; cat "$scratch/.e"; return 1; }
    if [ $code -ne 0 ]; then
      [ "$(grep -c '^helm: ' "$scratch/.e")" -eq 1 ] || { echo "at $n: not one message"; cat "$scratch/.e"; return 1; }
    fi
    if [ -e "$ws/effect" ] && [ "$(wc -l <"$ws/.helm/receipts.jsonl")" -le "$receipts" ]; then
      echo "at $n: it ran without a receipt"
      return 1
    fi
    (cd "$ws" && helm run --path "$ws" -- true) >"$scratch/.o" 2>&1 || { echo "after $n:"; cat "$scratch/.o"; return 1; }
    n=$((n + 1))
  done
}
ok "a full disk refuses the run or closes it, with one message" full_disk
one_failure() { # the n-th change of the disk fails, and only that: who is told that all went well finds all rows
  n=1
  while [ $n -le 30 ]; do
    rows=$(wc -l <"$ledger")
    if (cd "$ws" && HELM_ENV="HELM_TEST_FAIL_AT=$n:EIO" helm_twin run --path "$ws" -- true) >"$scratch/.o" 2>&1; then
      [ "$(wc -l <"$ledger")" -eq $((rows + 3)) ] || { echo "at $n: not three rows"; tail -n 3 "$ledger"; return 1; }
    fi
    (cd "$ws" && helm run --path "$ws" -- true) >"$scratch/.o" 2>&1 || { echo "after $n:"; cat "$scratch/.o"; return 1; }
    n=$((n + 1))
  done
}
ok "one failure, at every moment: all rows or an error" one_failure
ok "the next run works" go touch after
ok "nothing is left open" exits 0 helm task doctor --path "$ws"
ok "the record is whole" exits 0 helm log check --path "$ws"
small_disk() { # a real one, where we may mount
  unshare -m sh -c '
    mount -t tmpfs -o size=300k tmpfs "$1/small" || exit 1
    export HOME="$1/home"
    "$2" init --path "$1/small" >/dev/null 2>&1 || "$2" init "$1/small" >/dev/null || exit 1
    cd "$1/small" && dd if=/dev/zero of=filler bs=1k count=1000 2>/dev/null
    "$2" run --path "$1/small" -- touch effect >"$1/.so" 2>"$1/.se"
    code=$?
    test $code -ne 0 && test ! -e effect && test "$(grep -c "^helm: " "$1/.se")" -eq 1 && grep -qi "no space" "$1/.se" && exit 0
    echo "exit $code"; cat "$1/.se"; exit 1' - "$scratch" "$HELM_REAL"
}
if unshare -m sh -c 'mkdir -p "$1/small" && mount -t tmpfs -o size=300k tmpfs "$1/small"' - "$scratch" 2>/dev/null; then
  ok "a really full disk, too" small_disk
else
  skip "a really full disk, too" "this user cannot mount here"
fi

# ---- state that cannot be written ----
broken() { # broken FILE: a directory stands where a file should be
  mv "$ws/.helm/$1" "$scratch/away"
  mkdir "$ws/.helm/$1"
}
mended() { rmdir "$ws/.helm/$1" && mv "$scratch/away" "$ws/.helm/$1"; }
refuses_run() {
  rm -f "$ws/effect"
  (cd "$ws" && helm run --path "$ws" -- touch effect) >"$scratch/.o" 2>"$scratch/.e" && return 1
  [ ! -e "$ws/effect" ] && [ "$(grep -c '^helm: ' "$scratch/.e")" -eq 1 ] || { cat "$scratch/.e"; return 1; }
}
broken task-ledger.jsonl
ok "no ledger: nothing runs, one message" refuses_run
mended task-ledger.jsonl
broken receipts.jsonl
ok "no receipts: nothing runs, one message" refuses_run
mended receipts.jsonl
broken command-log.jsonl
ok "no command log: it says so" sh -c '! (cd "$1" && HOME="$2/home" "$0" run --path "$1" -- touch effect 2>"$2/.e") && test "$(grep -c "^helm: " "$2/.e")" -eq 1' "$HELM_REAL" "$ws" "$scratch"
mended command-log.jsonl
ok "and the run still has its last row" last_says '"status": "completed"'

# ---- a clock that goes back ----
(cd "$ws" && HELM_ENV="HELM_TEST_CLOCK_US=1800000000000000" helm_twin run --path "$ws" -- true) >/dev/null 2>&1
ok "a clock that goes back stops nothing" sh -c 'cd "$1" && HELM_TEST_CLOCK_US=1700000000000000 HOME="$2/home" "$0" run --path "$1" -- true' "$HELM_TWIN" "$ws" "$scratch"
ok "its row is the newest" last_says '"started_at": "2023-11-14'
ok "the record is still whole" exits 0 helm log check --path "$ws"
ok "and shown" exits 0 helm status --path "$ws"

# ---- what was judged is what runs ----
printf '#!/bin/sh\necho judged >said\n' >"$ws/tool.sh"
chmod +x "$ws/tool.sh"
ok "a script that was judged" go ./tool.sh
digest=$(sha256sum "$ws/tool.sh" | cut -d' ' -f1)
ok "is in the receipt with its digest" grep -qF "$digest" "$ws/.helm/receipts.jsonl"
program_digest=$(sha256sum "$(command -v touch)" | cut -d' ' -f1)
go touch some
ok "so is a program" grep -qF "$program_digest" "$ws/.helm/receipts.jsonl"
swapped() { # swapped COMMAND...: the file changes after the decision, while the run waits to make its checkpoint
  rm -f "$ws/said"
  receipts=$(wc -l <"$ws/.helm/receipts.jsonl")
  mkdir -p "$ws/.helm/checkpoints"
  (
    exec 9>"$ws/.helm/checkpoints/index.lock"
    flock 9
    (cd "$ws" && exec 9>&- && helm profile run risky_edit --workspace "$ws" -- "$@") >"$scratch/.o" 2>"$scratch/.e" &
    i=0
    while [ "$(wc -l <"$ws/.helm/receipts.jsonl")" -le "$receipts" ] && [ $i -lt 200 ]; do
      sleep 0.05
      i=$((i + 1))
    done
    printf '#!/bin/sh\necho swapped >said\n' >"$ws/other.sh"
    chmod +x "$ws/other.sh"
    mv "$ws/other.sh" "$ws/tool.sh"
    flock -u 9
    wait
  )
  [ ! -e "$ws/said" ] && grep -q 'no longer the' "$scratch/.e" && return 0
  cat "$scratch/.e" "$ws/said"
  return 1
}
if needs flock "a program that was swapped after it was judged"; then
  ok "a program that was swapped after it was judged is not run" swapped ./tool.sh
  ok "and its row says why" last_says 'no longer the program that was judged'
  printf '#!/bin/sh\necho judged >said\n' >"$ws/tool.sh"
  ok "nor is a script that a shell would read" swapped sh ./tool.sh
fi

# ---- signs of life ----
mkdir -p "$ws/.helm/heartbeats"
now=$(date -u +%Y-%m-%dT%H:%M:%S+00:00)
start=$(cut -d' ' -f22 </proc/$$/stat)
printf '{"task_id": "long-1", "task_name": "long", "profile": "workspace_edit", "status": "running", "started_at": "2020-01-01T00:00:00+00:00", "pid": %s, "pid_start": %s}\n' $$ "$start" >>"$ledger"
ok "a long run without a sign of life is found" says 1 stale_active_task helm task doctor --path "$ws"
printf '{"task_id": "long-1", "pid": %s, "heartbeat_at": "%s"}\n' $$ "$now" >"$ws/.helm/heartbeats/long-1.json"
ok "one that gives it is not" sh -c '! "$@" | grep -q stale_active_task' - env HOME="$scratch/home" "$HELM_REAL" task doctor --path "$ws"
ok "status shows it" says 0 "last sign of life" helm status --brief --path "$ws"
echo garbage >"$ws/.helm/heartbeats/long-1.json"
ok "garbage in it is harmless" says 1 stale_active_task helm task doctor --path "$ws"
ok "short runs leave none" test "$(ls "$ws/.helm/heartbeats")" = long-1.json
printf '{"task_id": "dead-1", "task_name": "dead", "profile": "workspace_edit", "status": "running", "started_at": "2020-01-01T00:00:00+00:00", "pid": 999999, "pid_start": 1}\n' >>"$ledger"
echo '{}' >"$ws/.helm/heartbeats/dead-1.json"
helm task doctor --fix --path "$ws" >/dev/null
ok "a run that was killed is closed, its sign removed" test ! -e "$ws/.helm/heartbeats/dead-1.json"

# ---- a restore that was killed ----
helm checkpoint create --label one --path "$ws" >/dev/null
echo changed >"$ws/first"
helm checkpoint restore latest --yes --path "$ws" >/dev/null
ok "rows of a restore say who wrote them" last_says '"pid_start": '
finish

#!/bin/sh
# What runs are called: a run that goes on is never called ended, one that was killed never running, one that completed never failed.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

fresh_workspace
state=$ws/.helm
status_of() { helm task show "$1" --json 2>/dev/null | sed -n 's/^  "status": "\([a-z_]*\)".*/\1/p'; }
is_called() { got=$(status_of "$1"); [ "$got" = "$2" ] || { echo "$1 is called $got, not $2"; return 1; }; }
recorded() { grep -c "\"status\": \"$2\".*\"task_id\": \"$1\"" "$ledger"; }
wait_for() { # wait_for COMMAND...: until it holds, ten seconds at most
  tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || return 1
    sleep 0.05
  done
}
# The same id may have run before: its old row is not the new one's.
runs_again() { [ "$(recorded "$1" running)" -gt "$2" ]; }
# start ID COMMAND...: a run in the background, whose own pid is $pid
start() {
  id=$1
  shift
  before=$(recorded "$id" running)
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$HELM_REAL" run --task-id "$id" -- "$@" >/dev/null 2>&1 &
  pid=$!
  wait_for runs_again "$id" "$before"
}

helm run --task-id first -- true
ok "a run that is over is open no more" sh -c 'test -z "$(ls "$0" | grep @)"' "$state/open-runs"

# ---- alive ----
start alive sleep 30
ok "a run has a file while it lasts" sh -c 'ls "$0" | grep -q "^alive@"' "$state/open-runs"
helm run -- true
ok "others do not close it" is_called alive running
ok "nor does the doctor" sh -c '"$@" >/dev/null; true' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" task doctor --fix
ok "it still runs" is_called alive running

# ---- killed ----
kill -9 "$pid"
wait "$pid" 2>/dev/null
sleep 0.2
ok "a killed run is called failed before anybody put it on record" is_called alive failed
ok "and why" sh -c '"$@" | grep -q "helm was ended before the run was"' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" task show alive
ok "it is not listed as active" sh -c '! "$@" | grep -q alive' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" task list --active
ok "status does not count it" sh -c '! "$@" | grep -q "is running"' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" status --brief
ok "the doctor names it" says 1 active_process_not_alive helm task doctor
ok "nothing is on record yet" test "$(recorded alive failed)" -eq 0
n=0
while [ $n -lt 1500 ]; do # far more than any window at the end of the ledger
  n=$((n + 1))
  printf '{"note": "%0500d", "status": "completed", "task_id": "filler-%d"}\n' 0 $n
done >>"$ledger"
helm run -- true
ok "the next run closes it, however many rows came since" test "$(recorded alive failed)" -eq 1
helm run -- true
ok "once" test "$(recorded alive failed)" -eq 1
ok "and its file is gone" sh -c '! ls "$0" | grep -q @' "$state/open-runs"

# ---- killed between its last row and its end ----
helm run --task-id ended -- true
name=$(grep '"task_id": "ended"' "$ledger" | sed -n 's/.*"open_run": "\([^"]*\)".*/\1/p' | head -n 1)
ok "a row names the file" test -n "$name"
: >"$state/open-runs/$name"
helm run -- true
ok "a completed run is never called failed" test "$(recorded ended failed)" -eq 0
ok "its file is taken away" test ! -e "$state/open-runs/$name"

# ---- the same id again ----
start twice sleep 30
kill -9 "$pid"
wait "$pid" 2>/dev/null
left=$(cd "$state/open-runs" && echo twice@*)
mv "$state/open-runs/$left" "$scratch/left"
start twice sleep 30
mv "$scratch/left" "$state/open-runs/$left"
helm run -- true
ok "what a killed run left does not close the next run of the same task" is_called twice running
kill -9 "$pid"
wait "$pid" 2>/dev/null

# ---- another pid namespace ----
if unshare --pid --fork --mount-proc true 2>/dev/null; then
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
    unshare --pid --fork --mount-proc --kill-child "$HELM_REAL" run --task-id elsewhere -- sleep 30 >/dev/null 2>&1 &
  pid=$!
  wait_for grep -q '"status": "running".*"task_id": "elsewhere"' "$ledger"
  helm run -- true
  helm task doctor --fix >/dev/null
  ok "a run in another container is alive" is_called elsewhere running
  kill -9 "$pid"
  wait "$pid" 2>/dev/null
  wait_for is_called elsewhere failed
  ok "until it is not" is_called elsewhere failed
else
  skip "a run in another container" "this user cannot make a pid namespace here"
fi

# ---- runs without a file: of older versions, or after a power cut ----
printf '{"task_id": "old", "status": "running", "pid": 999999, "pid_start": 1}\n' >>"$ledger"
helm run -- true
ok "a run of an older version is called what it is" is_called old failed
helm task doctor --fix >/dev/null
ok "and closed by the doctor" test "$(recorded old failed)" -eq 1
printf '{"task_id": "cut", "status": "running", "open_run": "cut@5-5", "pid": 5, "pid_start": 5}\n' >>"$ledger"
echo another-boot >"$state/open-runs/boot"
helm run -- true
ok "the first run after a power cut finds those whose file is lost" test "$(recorded cut failed)" -eq 1

# ---- refused ----
cp -a "$state" "$scratch/state"
printf 'no receipt\n' >>"$state/receipts.jsonl"
printf 'nor this\n' >>"$state/receipts.jsonl"
rm -f "$state/log/edge"
ok "a run that cannot be recorded is refused" sh -c '! "$@"' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" run --task-id refused -- touch "$scratch/done"
ok "and not done" test ! -e "$scratch/done"
ok "nor left queued" test "$(recorded refused failed)" -eq 1
ok "its row says why" sh -c 'grep "\"task_id\": \"refused\"" "$0" | tail -n 1 | grep -q "\"failure_stage\": \"record\""' "$ledger"
rm -rf "$state"
mv "$scratch/state" "$state"

# ---- restores ----
helm checkpoint create --label one >/dev/null
helm checkpoint restore latest --yes >/dev/null
ok "a restore that is over is open no more" sh -c '! ls "$0" | grep -q @' "$state/open-runs"
finish

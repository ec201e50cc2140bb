#!/bin/sh
# Check, rotate, prune and restore with a fault at each system call, while another process writes: nothing that was acknowledged to it is
# lost, nothing sound is called damaged, and what was saved comes back.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

fresh_workspace
register_approver
state=$ws/.helm
mkdir src
echo kept >src/a
twin() { # twin FAULT ARGS...: with the real clock
  fault=$1
  shift
  : >"$scratch/.trace"
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" HELM_TEST_TRACE="$scratch/.trace" \
    ${fault:+"HELM_TEST_$fault"} "$HELM_TWIN" "$@" >"$scratch/.twin" 2>&1
}

# ---- the other process: one call after the other, and a list of those that were let through ----
writer() {
  n=0
  while [ -e "$scratch/go" ]; do
    n=$((n + 1))
    out=$(printf '{"tool_name":"Bash","tool_input":{"command":"echo %d > note"},"session_id":"w","cwd":"%s","tool_use_id":"w%d"}' $n "$PWD" $n |
      agent hook pre-tool --client claude-code 2>&1) && [ -z "$out" ] && echo "w$n" >>"$scratch/acknowledged"
    [ -z "$out" ] || echo "$out" >>"$scratch/refused"
  done
}
begin_writing() {
  : >"$scratch/go"
  writer &
  writing=$!
}
end_writing() {
  rm -f "$scratch/go"
  wait "$writing"
}
nothing_lost() {
  sed -n 's/.*"tool_use_id": "\([^"]*\)".*"verdict".*/\1/p' "$state/tool-calls.jsonl" | sort >"$scratch/rows"
  sort "$scratch/acknowledged" | comm -23 - "$scratch/rows" >"$scratch/lost"
  [ ! -s "$scratch/lost" ] || { echo "lost:"; cat "$scratch/lost"; return 1; }
  # Every row with a decision has its receipt.
  sed -n 's/.*"decision_id": "\([^"]*\)".*/\1/p' "$state/tool-calls.jsonl" | sort -u >"$scratch/decided"
  sed 's/.*"decision_id":"\([^"]*\)".*/\1/' "$state/receipts.jsonl" | sort -u | comm -13 - "$scratch/decided" >"$scratch/lost"
  [ ! -s "$scratch/lost" ] || { echo "no receipt:"; cat "$scratch/lost"; return 1; }
  helm log check --all
}

# sweep BEFORE AFTER ARGS...: a fault at every counted call of `helm ARGS`, and at some of those that only look.  AFTER gets the fault.
sweep() {
  before=$1
  after=$2
  shift 2
  "$before" || return 1
  twin "" "$@" || { cat "$scratch/.twin"; return 1; }
  calls=$(wc -l <"$scratch/.trace")
  [ "$calls" -gt 0 ] || { echo "no call was counted"; return 1; }
  at=0
  while [ $at -lt "$calls" ]; do
    at=$((at + 1))
    for kind in "KILL_AT=$at" "TEAR_AT=$at" "FAIL_AT=$at:ENOSPC" "FAIL_AT=$at+:EIO"; do
      "$before" && { twin "$kind" "$@"; "$after" "$kind"; } || { echo "after $kind:"; cat "$scratch/.twin"; return 1; }
    done
  done
  at=1
  while [ $at -lt "${LOOKS:-120}" ]; do
    "$before" && { twin "LOOK_FAIL_AT=$at:EIO" "$@"; "$after" "LOOK_FAIL_AT=$at"; } || { echo "after a failed look $at:"; cat "$scratch/.twin"; return 1; }
    at=$((at + 7))
  done
}
nothing() { :; }
no_alarm() { ! grep -q "NOT SOUND" "$scratch/.twin"; }
goes_on() { helm run -- true >"$scratch/.on" 2>&1 || { cat "$scratch/.on"; return 1; }; }

begin_writing
sleep 0.3
ok "a check that fails anywhere calls nothing damaged" sweep nothing no_alarm log check --all
ok "nor does one of what is new" sweep nothing no_alarm log check
ok "a rotation may end anywhere, and work goes on" sweep nothing goes_on key rotate --reason sweep --key "$boss"

saved() { date +%N >src/b && cp src/b "$scratch/b" && helm checkpoint create --include src --label one >/dev/null; }
come_back() { # the newest one, whole
  echo gone >src/b
  helm checkpoint restore latest --yes --no-backup --only src >"$scratch/.on" 2>&1 && cmp src/b "$scratch/b" && grep -q kept src/a || { cat "$scratch/.on"; return 1; }
}
ok "a prune may end anywhere, and what stays comes back" sweep saved come_back checkpoint prune --apply --keep-recent 1 --keep-days 0
saved
change() { echo changed >src/b; rm -f src/a; }
ok "a restore may end anywhere, and is done by doing it again" sweep change come_back checkpoint restore latest --yes --no-backup --only src
end_writing
ok "the other process was let through many times" test "$(wc -l <"$scratch/acknowledged")" -gt 20
ok "and never refused" test ! -s "$scratch/refused"
ok "nothing acknowledged to it is lost, and all of it is sound" nothing_lost
leftovers() { helm checkpoint prune --apply >/dev/null && says 0 "checkpoint_leftovers" helm doctor --skip-discovery; }
ok "nothing is left behind that the next command does not clean" leftovers
finish

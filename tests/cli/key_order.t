#!/bin/sh
# Keys and clocks: a rotation in the same second as a head, across clock steps, during a run, and beside many writers.  Which key was
# in force is told by the place in the chain, so that the log stays sound and verifiable with and without the key history.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
keys=$scratch/home/.helm/keys
history=$keys/history.jsonl
day=86400000000
now=1767225600000000

at() { # at MICROSECONDS ARGS...: with the clock at that time
  HELM_ENV="HELM_TEST_CLOCK_US=$1 HELM_TEST_CLOCK_STEP_US=1 HELM_TEST_SEED=$(tr -dc 0-9 </proc/sys/kernel/random/uuid | cut -c1-9)"
  shift
  helm_twin "$@"
  at_rc=$?
  HELM_ENV=
  return $at_rc
}
fresh() {
  cd "$scratch" || exit 1
  rm -rf home ws pack.tar
  mkdir home ws
  at $now init --path "$scratch/ws" >/dev/null || { echo "Bail out! helm init failed"; exit 1; }
  cd ws || exit 1
  chain=$scratch/ws/.helm/receipts.jsonl
  first=$(helm key export)
  register_approver
}
good() { # sound, and verifiable from either end, with the history and without; so is a pack of all of it, and of one task
  last=$(helm key export)
  helm log check || return 1
  for key in "$first" "$last"; do
    helm verify "$chain" --key "$key" | grep -q ADMISSIBLE || { echo "chain, $key"; helm verify "$chain" --key "$key"; return 1; }
    helm verify "$chain" --key "$key" --history "$history" | grep -q ADMISSIBLE || { echo "chain with history, $key"; return 1; }
  done
  rm -f "$scratch/pack.tar"
  helm evidence export --all --out "$scratch/pack.tar" >/dev/null || return 1
  for key in "$first" "$last"; do
    for extra in "" "--history $history"; do
      # shellcheck disable=SC2086 # words on purpose
      helm verify "$scratch/pack.tar" --key "$key" $extra >"$scratch/.verify" 2>&1 || { echo "pack $key $extra"; cat "$scratch/.verify"; return 1; }
      grep -q "not established.*keys that were not given" "$scratch/.verify" && { echo "pack: receipts, $key $extra"; cat "$scratch/.verify"; return 1; }
    done
    if command -v python3 >/dev/null; then
      python3 "$HELM_SOURCE/tests/oracle/verify_pack.py" "$scratch/pack.tar" --key "$key" || return 1
    fi
  done
  return 0
}
seams() { [ "$(cat "$chain" | grep -c '"effect_id":"helm.key/continues"')" -eq "$1" ]; }

fresh
at $now run -- true >/dev/null
ok "a chain of one key has no seam" seams 0
at $now log anchor --to "$scratch/head1" >/dev/null
ok "rotate in the same second" at $now key rotate --key "$boss"
at $now log anchor --to "$scratch/head2" >/dev/null
at $now run -- true >/dev/null
ok "a head and a rotation in one second: sound" good
ok "the change stands in the chain, once" seams 1

fresh
at $now run -- true >/dev/null
ok "rotate" at $now key rotate --key "$boss"
at $((now - day)) run -- true >/dev/null
ok "the clock steps back a day behind a rotation: sound" good
ok "rotate again, a year ahead" at $((now + 365 * day)) key rotate --key "$boss"
at $((now + 1000000)) run -- true >/dev/null
ok "a rotation in a year that was never: sound" good
at $((now + 365 * day)) run -- true >/dev/null
at $now key rotate --key "$boss" >/dev/null
at $((now + 366 * day)) key rotate --key "$boss" >/dev/null
at $now run -- true >/dev/null
ok "two rotations at once: sound" good
ok "each change that was met is told once" seams 3
middle=$(sed -n '2s/.*"key":"\([0-9a-f]*\)".*/\1/p' "$history")
ok "revoked from here on, with the clock a month back" at $((now - 30 * day)) key revoke "$middle" --key "$boss"
at $now run -- true >/dev/null
ok "what it signed before stays trusted" good

fresh
at $now run -- sh -c 'touch started; while [ ! -e go ]; do sleep 0.05; done' >/dev/null 2>&1 &
pid=$!
for _ in $(seq 200); do [ -e started ] && break; sleep 0.05; done
ok "rotate while it runs" at $now key rotate --key "$boss"
ok "another call between" at $now run -- true
ok "and rotate again" at $now key rotate --key "$boss"
touch go
wait $pid
ok "a run that outlives two keys ends on record: sound" good
ok "under the key in force" sh -c 'tail -1 "$0" | grep -q "$1"' "$chain" "$(helm key export)"
ok "two changes" seams 2

# An older key may not sign behind a newer one, whoever holds it.
cp -a "$scratch/home" "$scratch/old-home"
helm key rotate --key "$boss" >/dev/null
helm run -- true >/dev/null
ok "sound before" good
cp "$chain" "$scratch/kept"
HELM_ENV="HELM_HOME=$scratch/old-home/.helm"
ok "a writer with it refuses" says 1 "nothing was written" helm run -- true
ok "and has written nothing" cmp "$chain" "$scratch/kept"
# One that is not held back: it takes the newer key for a trusted one.
mkdir -p "$scratch/old-home/.helm/trust"
printf '{"keys": [{"public_key_hex": "%s"}]}' "$(cat "$scratch/home/.helm/keys/root.pub")" >"$scratch/old-home/.helm/trust/keys.json"
helm run -- true >/dev/null 2>&1
HELM_ENV=""
ok "a key that was rotated signs again: not trusted" says 1 "no longer in force" helm log check
ok "verify says so too" says 1 "no longer in force" helm verify "$chain" --key "$(helm key export)" --history "$history"
ok "also without the history" says 1 "no longer in force" helm verify "$chain" --key "$(helm key export)"

# A rotation that was killed at any call is finished or undone by the very next command, whichever that is.
call='{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"touch it"}}'
next_hook() { printf '%s' "$call" | agent hook pre-tool --client claude-code; }
next_run() { helm run -- true; }
next_show() { helm key show; }
next_check() { helm log check; }
settled() { # settled COMMAND: nothing is left of the coming key, and the key in force is the one the history names
  "$1" >"$scratch/.next" 2>&1 || { echo "$1 failed"; cat "$scratch/.next"; return 1; }
  [ ! -e "$keys/next.key" ] && [ ! -e "$keys/next.pub" ] || { echo "left over behind $1"; return 1; }
  [ "$(cat "$keys/root.pub")" = "$(tail -1 "$history" | sed 's/.*"key":"\([0-9a-f]*\)".*/\1/')" ] || { echo "another key behind $1"; return 1; }
}
fresh
helm run -- true >/dev/null
cp -a "$scratch/home" "$scratch/whole-home"
cp -a "$scratch/ws" "$scratch/whole-ws"
whole() {
  cd "$scratch" || exit 1
  rm -rf home ws
  cp -a "$1-home" home
  cp -a "$1-ws" ws
  cd ws || exit 1
}
killed_rotation() {
  for n in $(seq 40); do
    whole "$scratch/whole"
    HELM_ENV="HELM_TEST_KILL_AT=$n HELM_TEST_SEED=$n"
    helm_twin key rotate --key "$boss" >/dev/null 2>&1
    killed=$?
    HELM_ENV=
    rm -rf "$scratch/killed-home" "$scratch/killed-ws"
    cp -a "$scratch/home" "$scratch/killed-home"
    cp -a "$scratch/ws" "$scratch/killed-ws"
    for next in next_hook next_run next_show next_check; do
      whole "$scratch/killed"
      settled $next && helm run -- true >/dev/null && helm log check >"$scratch/.next" 2>&1 || { echo "killed at $n, then $next"; cat "$scratch/.next"; return 1; }
    done
    [ $killed -ne 0 ] || { [ "$n" -gt 12 ]; return; }
  done
  echo "never ends"
  return 1
}
ok "a rotation killed at any call is finished or undone by the next command" killed_rotation

# Everything at once.
fresh
helm run -- true >/dev/null
stop=$scratch/stop
writer() { while [ ! -e "$stop" ]; do helm run -- true || echo "run: $?" >>"$scratch/refused"; done; }
hooks() { while [ ! -e "$stop" ]; do printf '%s' "$call" | agent hook pre-tool --client claude-code >/dev/null || echo "hook: $?" >>"$scratch/refused"; done; }
writer >/dev/null 2>"$scratch/said1" & w1=$!
writer >/dev/null 2>"$scratch/said2" & w2=$!
hooks 2>"$scratch/said3" & w3=$!
for _ in 1 2 3 4 5 6 7 8; do helm key rotate --key "$boss" >/dev/null || echo "rotate" >>"$scratch/refused"; sleep 0.1; done
ok "a check meanwhile" helm log check
touch "$stop"
wait $w1 $w2 $w3
ok "nobody was refused" sh -c '[ ! -e "$0" ] || { cat "$0" "$1" "$2" "$3"; exit 1; }' "$scratch/refused" "$scratch/said1" "$scratch/said2" "$scratch/said3"
ok "eight rotations beside runs and hooks: sound" good
finish

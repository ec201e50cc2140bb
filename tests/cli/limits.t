#!/bin/sh
# Limits of the system: each ends in one sentence and a documented exit code, never in a signal; nothing is half-written, and no call of an
# agent is allowed whose answer could not be made.
# shellcheck disable=SC2016,SC2154,SC2317,SC3045 # texts for sh -c; set by lib.sh; called through ok; asked first
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
ldd "$HELM_REAL" 2>/dev/null | grep -q -e libasan -e libclang_rt && skip_all "a sanitizer needs more than these limits"
(ulimit -s 16 && ulimit -v 200000 && ulimit -f 0 && ulimit -n 16) 2>/dev/null || skip_all "this shell cannot set limits"

# With a receipt, a checkpoint and a pack.
fresh_workspace
echo one >f
helm run -- true >/dev/null && helm checkpoint create --include f >/dev/null && helm evidence export --all --out "$scratch/pack.tar" >/dev/null 2>&1
checkpoint=$(helm checkpoint list --json | sed -n 's/.*"checkpoint_id": *"\([^"]*\)".*/\1/p' | head -n 1)
cp -a "$scratch/home" "$scratch/.limited-home"
again() { rm -rf "${scratch:?}/home" && cp -a "$scratch/.limited-home" "$scratch/home"; }
denied='{"tool_name":"Bash","tool_input":{"command":"rm -rf /"},"command":"rm -rf /","hook_event_name":"PreToolUse","session_id":"s","cwd":"'$PWD'"}'
clients='claude-code codex cursor hermes'

# under LIMIT ARGS...: helm with a limit set.
under() {
  limit=$1
  shift
  # shellcheck disable=SC2086 # words on purpose
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ${HELM_ENV:-} sh -c "$limit"' && exec "$@"' - "$HELM_REAL" "$@"
}
# piped LIMIT ARGS...: what it says goes through a pipe, which has no size that a limit could hold for; sets $code, and writes out.
piped() {
  { printf %s "$denied" | under "$@" 2>&1; echo $? >code; } | cat >out
  code=$(cat code)
}
# one_end LIMIT ARGS...: an exit code of the manual, and words when it failed.
one_end() {
  limit=$1
  shift
  piped "$limit" "$@"
  case $code in
    0) ;;
    1 | 2 | 24 | 25 | 126) [ -s out ] || { echo "$limit: $*: exit $code without a word"; return 1; } ;;
    *) echo "$limit: $*: exit $code"; cat out; return 1 ;;
  esac
  if grep -q "bug at" out; then
    echo "$limit: $*"
    cat out
    return 1
  fi
}
every_command() { # LIMIT
  again
  rm -f new.tar
  one_end "$1" status && one_end "$1" run -- true && one_end "$1" guard check -- ls && one_end "$1" report && one_end "$1" checkpoint create --include f &&
    one_end "$1" checkpoint restore "$checkpoint" && one_end "$1" log check && one_end "$1" evidence export --all --out new.tar &&
    one_end "$1" verify "$scratch/pack.tar" && one_end "$1" doctor --skip-discovery && one_end "$1" context && one_end "$1" memory entries &&
    one_end "$1" memory write --file f && one_end "$1" privacy scan f || return 1
  # A pack is there and whole, or it is not there.
  [ ! -e new.tar ] || helm verify new.tar --key "$scratch/home/.helm/keys/root.pub" >out 2>&1 || { echo "$1: half a pack"; cat out; return 1; }
  helm log check >check 2>&1 || { echo "$1: the record is not sound"; cat check; return 1; }
  find . "$scratch/home" -name '*.tmp*' -o -name '.helm-tmp*' | grep . && return 1
  return 0
}
# Exit code 2 is a block to every client; with 0 the answer says no.
nothing_allowed() { # LIMIT
  for client in $clients; do
    printf %s "$denied" | under "$1" hook pre-tool --client "$client" >out 2>err
    code=$?
    case $code in
      2) ;;
      0) grep -qE '"deny"|"block"' out || { echo "$1: $client: passed"; cat out err; return 1; } ;;
      *) echo "$1: $client: exit $code is no block"; cat out err; return 1 ;;
    esac
  done
}
for limit in 'ulimit -s 16' 'ulimit -s 512' 'ulimit -v 12800' 'ulimit -v 17000' 'ulimit -v 20000' 'ulimit -f 0' 'ulimit -f 3' 'ulimit -f 8' 'ulimit -n 8' 'ulimit -n 32'; do
  ok "$limit: every command ends with a word and a code, and the record is sound" every_command "$limit"
  ok "$limit: a call that must not be made is not allowed" nothing_allowed "$limit"
done
again
says_limit() { says "$1" "$2" under "$3" status; }
ok "a stack that is too small for libc is told" says_limit 1 "the stack is limited to 16 KiB here, and helm needs 512: raise it with 'ulimit -s 8192'" 'ulimit -s 16'
ok "memory that is too small for libc is told" says_limit 1 "the memory is limited to 12800 KiB here, and helm needs 16384" 'ulimit -v 12800'
ok "too few descriptors are told, and not that there is no workspace" says_limit 1 "only 8 files may be open at once here, and helm needs 32" 'ulimit -n 8'
ok "out of memory is told" says 1 "helm: out of memory: " under 'ulimit -v 20000' log check
too_large() {
  piped 'ulimit -f 0' run -- true
  cat out
  [ "$code" -eq 1 ] && grep -qF "cannot append to 'task-ledger.jsonl': File too large; raise 'ulimit -f'" out
}
ok "a file that may not grow is told, with the file" too_large
ok "doctor says what the limit is" says 1 "ulimit -f" under 'ulimit -f 8' doctor --skip-discovery

# Where descriptors run out because others are open, what cannot be opened is not taken for missing.
crowded() { # OPEN ARGS...: with that many of 64 open already
  n=$1
  shift
  python3 -c 'import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
while os.open("/dev/null", os.O_RDONLY) < int(sys.argv[1]) - 1: pass
for fd in range(3, int(sys.argv[1])): os.set_inheritable(fd, True)
os.execve(sys.argv[2], sys.argv[2:], {"PATH": os.environ["PATH"], "HOME": sys.argv[0] and os.environ["LIMITED_HOME"]})' "$n" "$HELM_REAL" "$@"
}
crowded_hooks() {
  export LIMITED_HOME="$scratch/home"
  for n in 64 63 62 61 60 59 58 57 56 55 54 53 52 51 50 49 48 46 44 40; do
    printf %s "$denied" | crowded $n hook pre-tool --client claude-code >out 2>err
    code=$?
    [ $code -eq 2 ] || { [ $code -eq 0 ] && grep -q '"deny"' out; } || { echo "$n open: exit $code"; cat out err; return 1; }
    crowded $n run -- touch "made-$n" </dev/null >out 2>err
    code=$?
    [ $code -eq 0 ] || [ ! -e "made-$n" ] || { echo "$n open: done, and exit $code"; cat out err; return 1; }
    [ $code -lt 128 ] && ! grep -q "is not a workspace" err || { echo "$n open: exit $code"; cat err; return 1; }
  done
  helm log check
}
if needs python3 "descriptors that others hold"; then ok "descriptors that others hold: nothing is allowed that could not be recorded" crowded_hooks; fi

# ---- the signal itself ----

ignored() { helm run -- grep SigIgn /proc/self/status | tr -d '\n\t '; }
ok "a command gets every signal as it would bare" sh -c 'test "$1" = SigIgn:0000000000000000' - "$(ignored)"
ok "and is ended by the limit it has" exits 153 helm run -- sh -c 'ulimit -f 1; exec head -c 9999999 /dev/zero >big'
took_back() {
  again
  size=$(wc -c <"$ledger")
  under "ulimit -f $((size / 512 + 1))" run -- true >out 2>err && { echo "there was room"; return 1; }
  grep -q "File too large" err && helm log check && helm run -- true && helm log check && ! grep -vn '^{.*}$' "$ledger"
}
ok "a line that was cut by the limit is taken back or completed, and the next is whole" took_back
used_up() { # EXIT ARGS...: of a helm that waits for its input
  want=$1
  shift
  rm -f wait
  mkfifo wait
  env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" "$@" <./wait >out 2>err &
  child=$!
  exec 7>./wait
  tries=0
  until grep -q 'pipe_read\|wait_woken\|anon_pipe' "/proc/$child/wchan" 2>/dev/null || [ $tries -ge 40 ]; do
    sleep 0.05
    tries=$((tries + 1))
  done
  kill -XCPU $child
  wait $child
  code=$?
  exec 7>&-
  [ $code -eq "$want" ] && grep -q "ulimit -t" err || { echo "exit $code"; cat err; return 1; }
}
ok "processor time that is used up is told" used_up 1 privacy scan
ok "and blocks a call" used_up 2 hook pre-tool --client claude-code

# ---- processes ----

few_processes() {
  again
  if [ "$(id -u)" -eq 0 ]; then
    chmod 755 "$scratch" && cp -a "$scratch/home" "$scratch/theirs" && cp "$HELM_REAL" "$scratch/theirs/helm" && mkdir -p "$scratch/theirs/work" && chown -R 23457:23457 "$scratch/theirs" || return 1
    as="setpriv --reuid=23457 --regid=23457 --clear-groups"
    at=$scratch/theirs
  else
    as=
    at=$scratch/home
    mkdir -p "$at/work" && cp "$HELM_REAL" "$at/helm"
  fi
  [ -x "$at/helm" ] || return 1
  # shellcheck disable=SC2086 # words on purpose
  (cd "$at/work" && env -i PATH="$PATH" HOME="$at" $as sh -c '{ ulimit -u 1 2>/dev/null || ulimit -p 1; } && exec "$@"' - "$at/helm" run -- touch made) >out 2>err
  code=$?
  [ ! -e "$at/work/made" ] && [ $code -eq 126 ] && grep -q "ulimit -u" err || { echo "exit $code"; cat out err; return 1; }
}
if [ "$(id -u)" -ne 0 ] || command -v setpriv >/dev/null 2>&1; then
  ok "no more processes: nothing is run, and that is told" few_processes
else
  skip "no more processes: nothing is run, and that is told" "no setpriv"
fi

# ---- streams ----

again
full() { sh -c '"$@" >/dev/full' - env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" "$@"; }
closed() { # STREAMS ARGS...
  streams=$1
  shift
  sh -c 'exec "$@" '"$streams" - env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" "$@"
}
if [ -e /dev/full ]; then
  for command in status report 'log check' 'guard check -- ls' 'context' 'run -- echo hi'; do
    # shellcheck disable=SC2086 # words on purpose
    ok "$command: output that cannot be written is an error" says 1 "No space left on device" full $command
  done
  full_answer() {
    for client in $clients; do
      printf %s "$denied" | full hook pre-tool --client "$client" 2>err
      code=$?
      [ $code -eq 2 ] || { echo "$client: exit $code"; return 1; }
    done
  }
  ok "a refusal that cannot be written is one by its exit code" full_answer
fi
ok "a closed output is an error" says 1 "cannot write to standard output: Bad file descriptor" closed '>&-' status
state_is_apart() {
  again
  for streams in '>&-' '2>&-' '<&-' '>&- 2>&-' '<&- >&- 2>&-'; do
    for command in status 'run -- echo hi' 'run -- ls no-such-file' 'checkpoint create --include f' 'log check' 'no-such-command'; do
      # shellcheck disable=SC2086 # words on purpose
      closed "$streams" $command >/dev/null 2>&1
      code=$?
      [ $code -lt 128 ] || { echo "$command $streams: exit $code"; return 1; }
    done
  done
  grep -rlE '^hi$|^helm: ' "$ws/.helm" && return 1
  helm log check && ! grep -vn '^{.*}$' "$ledger"
}
ok "no state file becomes a stream that was closed" state_is_apart

# ---- depth, in the smallest stack that is accepted ----

deep() { # CHARACTER COUNT [END]
  awk -v c="$1" -v n="$2" -v e="${3:-}" 'BEGIN { for (i = 0; i < n; i++) printf "%s", c; printf "%s", e }'
}
deep_input() {
  for one in '(' '$(' '{ ' '`' '"$(' '[[ ! ' '$((' 'if ' 'bash -c "' '! ' 'eval ' 'sudo ' '<(' '${x:-'; do
    deep "$one" 5000 >deep.sh
    under 'ulimit -s 512' guard scan --type shell deep.sh >out 2>err
    [ $? -lt 128 ] || { echo "shell: $one: exit $?"; return 1; }
    printf '{"tool_name":"Bash","session_id":"s","tool_input":{"command":"%s rm -rf /"}}' "$(deep "$one" 5000 | sed 's/"/\\"/g')" |
      under 'ulimit -s 512' hook pre-tool --client claude-code >out 2>err
    code=$?
    [ $code -eq 2 ] || { [ $code -eq 0 ] && grep -qE '"deny"|"ask"' out; } || { echo "hook: $one: exit $code"; cat out err; return 1; }
  done
  for one in '[' '{"a":' '{"a":['; do
    deep "$one" 20000 >deep.json
    for command in canonical 'verify' 'policy explain' 'schema validate'; do
      # shellcheck disable=SC2086 # words on purpose
      under 'ulimit -s 512' $command deep.json >out 2>err
      [ $? -lt 128 ] || { echo "$command: $one: exit $?"; return 1; }
    done
  done
  for one in '(' '!' '[' '-'; do
    printf 'version: 1\nrules:\n  - id: a\n    when: "%s"\n    effect: deny\n' "$(deep "$one" 20000)" >deep.yaml
    under 'ulimit -s 512' policy check deep.yaml >out 2>err
    [ $? -lt 128 ] || { echo "policy: $one: exit $?"; return 1; }
  done
  deep '  - ' 5000 >deep.yaml
  under 'ulimit -s 512' policy check deep.yaml >out 2>err
  [ $? -lt 128 ]
}
ok "deep input fits into the smallest stack, or is refused" deep_input

# ---- scans that could not read everything ----

again
mkfifo pipe
mkdir -p tree/closed && echo fine >tree/a.txt && echo a@b.example >tree/closed/b.txt
ok "a file that is none is not passed over" says 1 "Not complete: scanned 1 of 2, and 1 could not be read" helm privacy scan f pipe
ok "nor by the guard's scan, which goes on" says 1 "Not complete: 1 of 2 files could not be read" helm guard scan --type shell pipe f
ok "nor in its document" says 1 '"unread": 1' helm guard scan --type shell pipe f --json
mkdir -p "$scratch/home/.claude"
printf '{"mcpServers": {' >"$scratch/home/.claude.json"
ok "settings that cannot be read are not scanned without a word" says 1 "not looked at: " helm mcp scan
ok "nor in its document" says 1 '"unread": [' helm mcp scan --json
rm -f "$scratch/home/.claude.json"
if [ "$(id -u)" -ne 0 ]; then
  chmod 0 tree/a.txt
  ok "a file without permission is told, and the scan does not pass" says 1 "a.txt was not read" helm privacy scan tree/a.txt
  chmod 444 tree/closed
  ok "a directory that cannot be entered is told, and the rest is scanned" says 1 "closed was not read" helm privacy scan tree
  chmod 0 tree/closed
  ok "a directory that cannot be listed, too" says 1 "closed was not read" helm privacy scan tree
  chmod 755 tree/closed
else
  skip "a file without permission is told, and the scan does not pass" "root reads everything"
fi
ok "an input that cannot be read is an error" exits 1 closed '<&-' privacy scan

# ---- a process that ended, where nobody reaps ----

# unreaped COMMAND...: below a process that takes orphans in and never waits for them, as process 1 of a container without an init.
unreaped() {
  python3 -c 'import ctypes, os, sys
if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0): sys.exit(77)
child = os.fork()
if child == 0: os.execvp(sys.argv[1], sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))' "$@"
}
cat >killed.sh <<'SH'
is_alive() {
  case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
    "" | [ZX]*) return 1 ;;
  esac
}
PATH=$scratch/bin:$PATH
"$HELM_REAL" agent --profile workspace_edit --detach claude-code </dev/null >started 2>&1
"$HELM_REAL" agent list --json >listed
pid=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' listed | head -n 1)
task=$(sed -n 's/.*"task_id": *"\([^"]*\)".*/\1/p' listed | head -n 1)
[ -n "$pid" ] || { cat started listed; exit 1; }
kill -9 "$pid"
tries=0
while is_alive "$pid" && [ $tries -lt 100 ]; do
  sleep 0.05
  tries=$((tries + 1))
done
[ -e "/proc/$pid" ] || { echo "it was reaped: this shows nothing"; exit 1; }
sleep 0.5 # what hung on it ends, too
"$HELM_REAL" agent list --json | grep -q '"running": true' && { echo "still listed as running"; exit 1; }
"$HELM_REAL" agent stop "$task" >stopped 2>&1 || { echo "agent stop fails"; cat stopped; exit 1; }
grep -q "^running  *no" stopped && "$HELM_REAL" task show --plain "$task" >shown 2>&1 && ! grep -qE '^status[ =]+running' shown || { cat stopped shown; exit 1; }
"$HELM_REAL" agent --profile workspace_edit --detach claude-code </dev/null >started 2>&1
task=$("$HELM_REAL" agent list --json | sed -n 's/.*"task_id": *"\([^"]*\)".*/\1/p' | head -n 1)
"$HELM_REAL" agent stop "$task" >stopped 2>&1 && grep -q "^running  *no" stopped && "$HELM_REAL" log check || { cat started stopped; exit 1; }
SH
if needs python3 "a session that was killed where nobody reaps is over"; then
  again
  mkdir -p "$scratch/bin"
  printf '#!/bin/sh\nexec sleep 100\n' >"$scratch/bin/claude"
  chmod +x "$scratch/bin/claude"
  ok "a session that was killed where nobody reaps is over, and stopping it succeeds" unreaped env HOME="$scratch/home" scratch="$scratch" HELM_REAL="$HELM_REAL" sh killed.sh
fi
finish

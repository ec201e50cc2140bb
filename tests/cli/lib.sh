# shellcheck shell=sh
# lib.sh — what every command-line test starts with: a private home, a fixed clock, TAP.
# Usage:  . "${HELM_SOURCE:-.}/tests/cli/lib.sh"  ... ok "what it shows" command...  ... finish
set -u
: "${HELM_BUILD:=$PWD/build/dev}" "${HELM_SOURCE:=$PWD}"
HELM_REAL=$HELM_BUILD/helm
HELM_TWIN=$HELM_BUILD/helm-test
scratch=$(mktemp -d) || exit 1
trap 'chmod -R u+rwX "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
mkdir "$scratch/home"
cd "$scratch" || exit 1
count=0
failures=0
skipped=0
# The same answers when an agent runs the tests.
# shellcheck disable=SC2046 # names on purpose
unset $(sh "$HELM_SOURCE/tools/clients.sh" marks)

# helm ARGS...: the program in an empty environment with a private home.  Extra variables: HELM_ENV="A=1 B=2".
helm() {
  # shellcheck disable=SC2086 # words on purpose
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" ${HELM_ENV:-} "$HELM_REAL" "$@"
}
# The same with a fixed clock and faults (tests/tools/fault_sys.h).
helm_twin() {
  # shellcheck disable=SC2086 # words on purpose
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
    HELM_TEST_CLOCK_US=1767225600000000 ${HELM_ENV:-} "$HELM_TWIN" "$@"
}

# fresh_workspace: a new home with a key and the default workspace, and an empty directory of a project to work in; sets $ws and
# $ledger.  For cases that must not depend on what the one before did or failed to do.
fresh_workspace() {
  cd "$scratch" || exit 1
  chmod -R u+rwX home project 2>/dev/null
  rm -rf home project
  mkdir project
  if [ -d .fresh-home ]; then # made once; a copy is much quicker
    cp -a .fresh-home home
  else
    mkdir home
    helm init >/dev/null || { echo "Bail out! helm init failed"; exit 1; }
    cp -a home .fresh-home
  fi
  ws=$scratch/home/.helm/workspace
  # shellcheck disable=SC2034 # for whoever calls this
  ledger=$ws/.helm/task-ledger.jsonl
  cd project || exit 1
}

# A person at a terminal of their own: it hangs on a process that was there before any agent, so this stands at the top of a test.
needs_terminal() {
  command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to make a terminal"
  mkdir "$scratch/.terminals"
  python3 "$HELM_SOURCE/tests/tools/terminal.py" --serve "$scratch/.terminals" $$
  waited=0
  while [ ! -e "$scratch/.terminals/ready" ] && [ $waited -lt 500 ]; do
    sleep 0.01
    waited=$((waited + 1))
  done
}
terminal() { # terminal [--inside | --forge] WORD... -- helm ARGS...: types each word when it is asked for one; the first two as an agent that has called a hook
  words=
  maker=
  case $1 in --inside | --forge) maker=agent ;; esac
  while [ "$1" != -- ]; do
    words="$words $1"
    shift
  done
  shift 2
  # shellcheck disable=SC2086 # words on purpose
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 TERM=dumb ASAN_OPTIONS="${ASAN_OPTIONS:-}" TERMINALS="$scratch/.terminals" \
    ${HELM_ENV:-} ${maker:+python3 "$HELM_SOURCE/tests/tools/agent.py" --first "'$HELM_REAL' hook pre-tool --client claude-code" "$called"} \
    python3 "$HELM_SOURCE/tests/tools/terminal.py" $words -- "$HELM_REAL" "$@"
}
called='{"tool_name":"Bash","tool_input":{"command":"rm -rf /"},"session_id":"maker"}'
# agent ARGS...: helm as an agent client calls it: below a program that began after the terminals were there.
agent() {
  # shellcheck disable=SC2086 # words on purpose
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" ${HELM_ENV:-} \
    python3 "$HELM_SOURCE/tests/tools/agent.py" "$HELM_REAL" "$@"
}
# governed ARGS...: helm, started by an agent client that has called a hook here.
governed() {
  # shellcheck disable=SC2086 # words on purpose
  env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" ${HELM_ENV:-} \
    python3 "$HELM_SOURCE/tests/tools/agent.py" --first "'$HELM_REAL' hook pre-tool --client claude-code" "$called" "$HELM_REAL" "$@"
}
# register_approver: a key that answers for a person; sets $boss, for --key.  Made by hand: who may register one is tested elsewhere.
register_approver() {
  boss=$scratch/.boss/.helm/keys/root.key
  [ -e "$boss" ] || { mkdir "$scratch/.boss" && env -i HOME="$scratch/.boss" "$HELM_REAL" key create >/dev/null; }
  mkdir -p "$scratch/home/.helm/trust"
  printf '{"keys": [{"public_key_hex": "%s"}]}' "$(cat "${boss%.key}.pub")" >"$scratch/home/.helm/trust/approvers.json"
  rm -f "$scratch/home/.helm/trust/approvers.json.seal"
}
# trust DIR: a person accepts what lies in the tree of a workspace.
trust() { terminal TRUST -- helm workspace trust --path "$1"; }

ok() { # ok "description" command...
  count=$((count + 1))
  what=$1
  shift
  if "$@" >"$scratch/.out" 2>&1; then
    echo "ok $count - $what"
  else
    failures=$((failures + 1))
    echo "not ok $count - $what"
    sed 's/^/#   /' "$scratch/.out" | head -40
  fi
}
# exits CODE command...: the command ends with exactly this code.
exits() {
  want=$1
  shift
  "$@" >"$scratch/.stdout" 2>"$scratch/.stderr"
  got=$?
  [ "$got" -eq "$want" ] && return 0
  echo "exit $got, wanted $want"
  cat "$scratch/.stdout" "$scratch/.stderr"
  return 1
}
# says CODE TEXT command...: exit code, and TEXT somewhere in the output (either stream).
says() {
  want_code=$1
  want_text=$2
  shift 2
  exits "$want_code" "$@" || return 1
  cat "$scratch/.stdout" "$scratch/.stderr" | grep -qF -e "$want_text" && return 0
  echo "does not say: $want_text"
  cat "$scratch/.stdout" "$scratch/.stderr"
  return 1
}
# is_alive PID: it runs.  One that has ended stays in the list of processes where process 1 does not reap what it inherits, as in a container.
is_alive() {
  case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
    "" | [ZX]*) return 1 ;;
  esac
}
# can_mount_proc: a process namespace gets a /proc of its own.  Containers that cover parts of /proc forbid that, also to root.
can_mount_proc() {
  unshare --pid --fork --mount-proc true 2>/dev/null || unshare --user --map-root-user --pid --fork --mount-proc true 2>/dev/null
}
# shellcheck disable=SC2034 # for the tests
no_proc="no /proc can be mounted in a namespace here, so sandboxes show the one outside"
# is_json command...: exit code aside, standard output is one JSON document (judged by another program where there is one).
is_json() {
  "$@" >"$scratch/.stdout" 2>"$scratch/.stderr"
  if command -v python3 >/dev/null 2>&1; then
    python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$scratch/.stdout"
  else
    helm canonical "$scratch/.stdout" >/dev/null
  fi
}
skip() { # skip "description" "reason": a check is left out; ./check lists it
  count=$((count + 1))
  skipped=$((skipped + 1))
  echo "ok $count - $1 # SKIP $2"
}
needs() { # needs PROGRAM "description": is it installed?  Where it is not, what takes it is skipped
  command -v "$1" >/dev/null 2>&1 || {
    skip "$2" "$1 is not installed"
    return 1
  }
}
# Which sandbox stands here: namespaces or supervised (docs/formats/machine.md).  What only mounts can give is not asked of the other.
sandbox_kind() { helm status --json 2>/dev/null | sed -n 's/.*"sandbox": *"\(namespaces\|supervised\)".*/\1/p' | head -n 1; }
ok_mounts() { # ok_mounts "description" COMMAND...: a check of what only a sandbox with mounts gives
  [ -n "${kind_here:-}" ] || kind_here=$(sandbox_kind)
  if [ "$kind_here" = supervised ]; then skip "$1" "the sandbox here has no mounts"; else ok "$@"; fi
}
skip_all() { # skip_all "reason": the whole file is skipped
  echo "1..0 # SKIP $1"
  exit 77
}
finish() {
  echo "1..$count"
  [ "$failures" -eq 0 ]
  exit $?
}

# drive_browser SCRIPT: a script of tests/clients/ with a real Chromium, whose TAP is the test's.  HELM_TEST_SHOTS: a directory for pictures.
drive_browser() {
  for tool in npm node python3; do
    command -v $tool >/dev/null 2>&1 || skip_all "$tool is not there"
  done
  [ -x "$HELM_BUILD/helm-serve" ] || skip_all "helm-serve was not built"
  modules=${HELM_TEST_BROWSER:-$HELM_SOURCE/build/browser}
  browser=$(sh "$HELM_SOURCE/tests/clients/browser.sh" "$modules")
  [ -n "$browser" ] || skip_all "no Chromium is here"
  [ -e "$modules/node_modules/axe-core" ] || skip_all "playwright-core and axe-core are not there"
  # As whoever runs this: Chromium's own sandbox wants no root.
  sandbox=
  [ "$(id -u)" -ne 0 ] || sandbox=--no-sandbox
  env PATH="$PATH" BROWSER="$browser" SANDBOX="$sandbox" MODULES="$modules/node_modules" HELM="$HELM_REAL" SOURCE="$HELM_SOURCE" SCRATCH="$scratch" TERMINALS="$scratch/.terminals" \
    SHOTS="${HELM_TEST_SHOTS:-}" timeout 600 node "$HELM_SOURCE/tests/clients/$1"
}

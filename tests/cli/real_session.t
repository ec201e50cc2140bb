#!/bin/sh
# A working day of real agent clients, thirty calls from one table (tests/clients/session.py): edits, tests, a package, a server, commits,
# deletions, a hostile script, and a push.  Under `helm agent`, and again bare with contained hooks.  The push is the only question,
# nothing outside of the tree changes, and the evening report tells it on one page.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "real clients are driven only by ./check --all"
! grep -q __asan_init "$HELM_REAL" || skip_all "a day takes too long under the sanitizers; clients.t drives the same clients there"
for tool in npm node python3 git curl setsid; do
  command -v $tool >/dev/null 2>&1 || skip_all "$tool is not there"
done
[ -x "$(git --exec-path)/git-http-backend" ] || skip_all "git http-backend is not there"
case $(helm version --json) in *'"user_namespaces":false'*) skip_all "no namespaces here" ;; esac
clients=$(sh "$HELM_SOURCE/tests/clients/install.sh" "$HELM_SOURCE/build/clients") || skip_all "the clients cannot be installed"
# Not below the temporary directory, which calls do not see.
place=$(mktemp -d "$HELM_BUILD/day.XXXXXX")
# shellcheck disable=SC2154 # by lib.sh
trap 'chmod -R u+rwX "$scratch" "$place" 2>/dev/null; rm -rf "$scratch" "$place"' EXIT

begun=$(date +%s)
day() { # day CLIENT PROGRAM HOW: each line that it prints is a check
  mkdir "$place/$1-$3"
  TERMINALS=$scratch/.terminals python3 "$HELM_SOURCE/tests/clients/session.py" "$1" "$2" "$HELM_REAL" "$3" "$place/$1-$3" >"$scratch/said" 2>&1
  code=$?
  sed -n 's/^# /# /p' "$scratch/said"
  grep -q '^ok' "$scratch/said" || { count=$((count + 1)) failures=$((failures + 1)); echo "not ok $count - $1 $3: the day began"; sed 's/^/#   /' "$scratch/said"; return; }
  grep -E '^(ok|not ok) - ' "$scratch/said" >"$scratch/checks"
  while read -r line; do
    count=$((count + 1))
    case $line in not*) failures=$((failures + 1)) ;; esac
    echo "${line%% - *} $count - ${line#* - }"
  done <"$scratch/checks"
  ok "$1 $3: nothing else went wrong" test $code -eq 0 -o "$(grep -c '^not ok' "$scratch/checks")" -gt 0
}
runs() { HOME="$scratch/home" timeout 60 "$1" --version >"$scratch/.version" 2>&1 || { skip "$1" "it does not run here: $(tail -n 1 "$scratch/.version")"; return 1; }; }
for name in claude-code codex; do
  program=$(printf '%s\n' "$clients" | sed -n "s/^$name //p")
  runs "$program" || continue
  day $name "$program" agent
  day $name "$program" bare
done
[ "$count" -gt "$skipped" ] || skip_all "no client runs here"
took=$(($(date +%s) - begun))
echo "# all of it: $took s"
ok "all of it took less than five minutes" test "$took" -lt 300
finish

#!/bin/sh
# Real agent clients with their own sandbox on: their shell commands run in Helm's sandbox all the same, with no more rights than the
# client's own leaves the work tree.  (client_sandbox.t shows the same without the clients.)
# Not below the temporary directory: Codex refuses to make its sandbox for a home there.
TMPDIR=${HELM_TEST_PLACE:-${HELM_BUILD:-$PWD/build/dev}}
export TMPDIR
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
unset TMPDIR
needs_terminal

[ "${HELM_TEST_CLIENTS:-}" = 1 ] || skip_all "real clients are downloaded and driven only by ./check --clients"
for tool in npm node python3 git bwrap socat; do
  command -v $tool >/dev/null 2>&1 || skip_all "$tool is not there"
done
case $(helm version --json) in *'"user_namespaces":false'*) skip_all "no namespaces here" ;; esac
clients=$(sh "$HELM_SOURCE/tests/clients/install.sh" "$HELM_SOURCE/build/clients")

helm init >/dev/null
# shellcheck disable=SC2154 # by lib.sh
ws=$scratch/home/.helm/workspace
rows=$ws/.helm/tool-calls.jsonl
log=$scratch/told.json
project=$scratch/project
mkdir "$project" "$scratch/home/.codex"
cd "$project" || exit 1
git init -q . 2>/dev/null
echo 'open("'"$scratch"'/home/he" + "ld", "w"); print("wrote")' >evil.py
printf '[projects."%s"]\ntrust_level = "trusted"\n' "$project" >"$scratch/home/.codex/config.toml"
told() { grep -qF -e "$1" "$log" || { cat "$log"; return 1; }; }
drive() { # drive CLIENT MODE CALL...: with its own sandbox in this mode
  who=$1 mode=$2
  shift 2
  CLIENT_SANDBOX=$mode python3 "$HELM_SOURCE/tests/clients/drive.py" "$who" "$(printf '%s\n' "$clients" | sed -n "s/^$who //p")" "$scratch/home" "$project" "$log" "$@"
}
runs() { HOME="$scratch/home" timeout 60 "$(printf '%s\n' "$clients" | sed -n "s/^$1 //p")" --version >"$scratch/.version" 2>&1 || { echo "# SKIP $1 does not run here: $(tail -n 1 "$scratch/.version")"; return 1; }; }
# shellcheck disable=SC2016 # for the client's shell
works() { # works CLIENT MODE
  drive "$1" "$2" "cat evil.py" 'echo left > "$TMPDIR/left"' 'cat "$TMPDIR/left"' "python3 evil.py || echo held" "echo $1 > $1-$2.txt"
}
not_bare() { python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert [r for r in rows if r.get("containment") == "walls"] and not [r for r in rows if r.get("containment") == "none"]' "$rows"; }
for name in claude-code codex; do
  runs $name || continue
  helm setup $name --scope project --yes >/dev/null
  [ $name = claude-code ] || python3 "$HELM_SOURCE/tests/clients/drive.py" --trust "$project/.codex/hooks.json" >>"$scratch/home/.codex/config.toml"
  for mode in workspace-write read-only; do
    [ $name-$mode != claude-code-read-only ] || continue # it has no such mode
    ok "$name, $mode: the client makes its calls" works $name $mode
    ok "$name, $mode: they read the tree" told "print("
    ok "$name, $mode: they share one session" told "left"
    ok "$name, $mode: what the guard does not know writes nowhere else" sh -c '[ ! -e "$0" ]' "$scratch/home/held"
    ok "$name, $mode: its model hears that" told "held"
    [ $mode = workspace-write ] && ok "$name, $mode: they write in the tree" test -s $name-$mode.txt
    [ $mode = read-only ] && ok "$name, $mode: they write nothing in the tree" test ! -e $name-$mode.txt
    [ $mode = read-only ] && ok "$name, $mode: the record says so" grep -q '"reads_only": *true' "$rows"
    ok "$name, $mode: nothing ran bare" not_bare
  done
done
[ "$count" -gt 0 ] || skip_all "no client runs here"
ok "everything verifies" helm log check
finish

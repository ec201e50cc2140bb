#!/bin/sh
# A newcomer's first refusals: each says what was refused, why, and what to type; and what is typed works.  A failure that is not the
# sandbox's says nothing of it.  In both kinds of sandbox.
# shellcheck disable=SC2016,SC2154,SC2317 # texts for sh -c; set by lib.sh; called through ok
TMPDIR=${HELM_TEST_PLACE:-${HELM_BUILD:-$PWD/build/dev}} # not in /tmp, which a run has for itself
export TMPDIR
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
machine=$HELM_BUILD/tests/lesser_machine_test
[ -x "$machine" ] || skip_all "the test program was not built"

me=$scratch/home
mkdir -p "$me/.ssh" "$me/notes" "$scratch/project"
helm init >/dev/null || exit 1
cd "$scratch/project" || exit 1
git init -q . || exit 1 # without a remote: the build directory may lie in a clone that has one
helm run -- true || skip_all "this machine cannot put up the sandbox"
in_kind() { # in_kind namespaces|supervised COMMAND...: on a machine that has this kind of sandbox
  if [ "$1" = supervised ]; then
    shift
    env -i PATH="$PATH" HOME="$me" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$machine" --without namespaces "$HELM_REAL" "$@"
  else
    shift
    helm "$@"
  fi
}
run() { in_kind "$kind" run -- "$@"; }
has_lines() { # has_lines CODE WHAT WHY TYPE COMMAND...: each is in a line of its own
  want=$1 what_line=$2 why_line=$3 type_line=$4
  shift 4
  "$@" >"$scratch/.stdout" 2>"$scratch/.stderr"
  got=$?
  [ "$want" = any ] || [ "$got" -eq "$want" ] || { echo "exit $got"; cat "$scratch/.stderr"; return 1; }
  [ "$got" -ne 0 ] || { echo "exit 0"; return 1; }
  for line in "$what_line" "$why_line" "$type_line"; do
    grep -qF -e "$line" "$scratch/.stderr" || { echo "does not say: $line"; cat "$scratch/.stderr"; return 1; }
  done
  [ "$(grep -cF -e "$what_line" -e "$why_line" -e "$type_line" "$scratch/.stderr")" -ge 3 ] || { echo "not in lines of their own"; cat "$scratch/.stderr"; return 1; }
}
is_silent() { # is_silent COMMAND...: it fails, and nothing is said about the sandbox
  "$@" >"$scratch/.stdout" 2>"$scratch/.stderr" && { echo "exit 0"; return 1; }
  ! grep -q "the sandbox \|helm allow\|--profile" "$scratch/.stderr" || { cat "$scratch/.stderr"; return 1; }
}
[ "$(sandbox_kind)" = supervised ] && kinds=supervised || kinds="namespaces supervised"

for kind in $kinds; do
  rm -f "$me/.helm/machine.json" "$me/outside.txt"
  # ---- writing elsewhere ----
  ok "$kind: a file in the home" has_lines 1 "the sandbox refused $me/outside.txt" "the profile workspace_edit lets it write only in the work tree" \
    "helm run --profile workspace_edit --approve-risk -- touch $me/outside.txt" run touch "$me/outside.txt"
  ok "$kind: what is said works" exits 0 in_kind "$kind" run --profile workspace_edit --approve-risk -- touch "$me/outside.txt"
  ok "$kind: it is there" test -f "$me/outside.txt"
  ok "$kind: the next one is refused as before" exits 1 run touch "$me/outside.txt"
  rm -f "$me/outside.txt"
  ok "$kind: a file in a directory that is not shown" has_lines any "the sandbox refused $me/notes/x" "only in the work tree" "helm allow path $me/notes" run sh -c 'echo x >>~/notes/x'
  echo old >"$me/notes/there"
  ok "$kind: more text for a file that is not shown" has_lines any "the sandbox refused $me/notes/there" "only in the work tree" "helm allow path $me/notes" \
    run sh -c 'echo x | tee -a ~/notes/there'
  echo key >"$me/.ssh/id_rsa"
  ok "$kind: a credential that is only measured" has_lines 1 "the sandbox hides $me/.ssh/id_rsa" "keeps credentials closed" \
    "helm run --profile workspace_edit --approve-risk -- wc -c $me/.ssh/id_rsa" run wc -c "$me/.ssh/id_rsa"
  ok "$kind: and what is said works" says 0 "4 $me/.ssh/id_rsa" in_kind "$kind" run --profile workspace_edit --approve-risk -- wc -c "$me/.ssh/id_rsa"
  ln -sf "$me/notes/there" leads
  ok "$kind: a link that leads out" has_lines 1 "the sandbox does not show $me/notes/there" "of your home" "helm allow path --read $me/notes/there" run cat leads
  rm -f leads
  ok "$kind: a program that begins its line with the path" has_lines 1 "the sandbox does not show $me/notes/there" "of your home" "helm allow path --read $me/notes/there" \
    run python3 -c 'import sys; sys.exit("%s/not" "es/there: No such file or directory" % sys.argv[1])' "$me"
  elsewhere=$(mktemp /tmp/helm-test-XXXXXX)
  [ "$kind" = supervised ] || ok "$kind: a file in /tmp, where a run has a directory of its own" has_lines any "the sandbox does not show $elsewhere" "a temporary directory of its own" "cp -- $elsewhere ." \
    in_kind "$kind" run --profile develop -- cat "$elsewhere"
  rm -f "$elsewhere"
  ok "$kind: a program that says so itself" has_lines 1 "the sandbox refused $me/x.txt" "only in the work tree" "helm allow path DIR" \
    run python3 -c 'import os, sys; sys.exit("OSError: [Errno 30] Read-only file system: \"%s/x.txt\"" % sys.argv[1])' "$me"
  # ---- push ----
  ok "$kind: a push" has_lines 25 "git would publish commits to origin" "the profile workspace_edit does not permit that; service_ops does, and asks you to approve it first" \
    "to run it: helm run --profile service_ops -- git push" run git push
  ok "$kind: what is said is asked about" exits 24 in_kind "$kind" run --profile service_ops -- git push
  ok "$kind: under the profile of agents, too" says 25 "helm run --profile service_ops -- git push" in_kind "$kind" run --profile develop -- git push
  ok "$kind: and why" grep -q "git needs your credentials for that, and the sandbox of the profile develop has none of them" "$scratch/.stderr"
  # ---- to and from a directory ----
  mkdir pathed && cd pathed && git init -q . && git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m one
  rm -rf "$me/remote.git" && git init -q --bare "$me/remote.git" && git remote add origin "$me/remote.git"
  ok "$kind: a push to a directory is none to the network" says 25 "git would publish commits to $me/remote.git, and the profile" run git push origin HEAD
  ok "$kind: what to type stands in a line of its own" grep -qx "Hint: helm allow path $me/remote.git" "$scratch/.stderr"
  ok "$kind: nor under another profile" says 25 "helm allow path $me/remote.git" in_kind "$kind" run --profile develop -- git push origin HEAD
  ok "$kind: a fetch from it is not refused as network" has_lines 128 "the sandbox does not show $me/remote.git" "of your home" "helm allow path --read $me/remote.git" run git fetch
  terminal APPROVE -- helm allow path "$me/remote.git" >/dev/null
  ok "$kind: what is said works: it is asked about" exits 24 run git push origin HEAD
  terminal APPROVE -- helm approval approve "$(sed -n 's/.*to approve: helm approval approve //p' "$scratch/.stderr")" >/dev/null
  ok "$kind: approved, it is done" exits 0 run git push origin HEAD
  ok "$kind: the commit is there" test "$(git -C "$me/remote.git" log --all --format=%s)" = one
  ok "$kind: a fetch works, too" exits 0 run git fetch
  git remote set-url origin "file://$me/other.git"
  ok "$kind: an address of a file is a directory" says 25 "helm allow path $me/other.git" run git push origin HEAD
  git remote set-url --add origin https://example.org/x.git
  ok "$kind: of two addresses one is the network" says 25 "git would use the network" run git push origin HEAD
  terminal APPROVE -- helm allow remove "$me/remote.git" >/dev/null
  cd .. && rm -rf pathed "$me/remote.git"
  # ---- install ----
  ok "$kind: an installation" has_lines 25 "npm would install" "the profile workspace_edit does not permit that; develop does" "to run it: helm run --profile develop -- npm install left-pad" \
    run npm install left-pad
  ok "$kind: another" has_lines 25 "pip would install" "develop does" "to run it: helm run --profile develop -- pip install x" run pip install x
  # ---- connections that nobody foresaw ----
  printf 'import urllib.request\nurllib.request.urlopen(open("where").read())\n' >fetch.py
  echo http://registry.example.org/ >where
  ok "$kind: a name that cannot be looked up" has_lines 1 "the sandbox refused" "the profile workspace_edit has no way there" "helm run --profile service_ops -- python3 fetch.py" run python3 fetch.py

  # ---- failures of others ----
  ok "$kind: a command that fails by itself" is_silent run false
  ok "$kind: a file that is nowhere" is_silent run cat nothing-here
  ok "$kind: a place that its owner could not write, either" is_silent run sh -c 'echo "sh: cannot create /proc/version: Permission denied" >&2; exit 1'
  ok "$kind: a path in the work tree" is_silent run sh -c 'echo "tool: cannot write ./out/x: No such file or directory" >&2; exit 1'
  ok "$kind: a test that prints a path" is_silent run sh -c 'echo "expected /usr/share/x, got /usr/share/y" >&2; exit 1'
  ok "$kind: what succeeds says nothing" sh -c '! "$@" 2>&1 | grep -q "the sandbox "' - env -i PATH="$PATH" HOME="$me" "$HELM_REAL" run -- sh -c 'touch ~/outside.txt; true'
done
finish

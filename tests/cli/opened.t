#!/bin/sh
# An operator's yes does what it says: it opens that one path or host for that one run, in both kinds of sandbox, and the receipt names
# it.  What no yes can open is not asked about but denied, with what to type.
# shellcheck disable=SC2016,SC2154,SC2317 # texts for sh -c; set by lib.sh; called through ok
TMPDIR=${HELM_TEST_PLACE:-${HELM_BUILD:-$PWD/build/dev}} # not in /tmp, which a run has for itself
export TMPDIR
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal
machine=$HELM_BUILD/tests/lesser_machine_test
[ -x "$machine" ] || skip_all "the test program was not built"

me=$scratch/home ws=$scratch/home/.helm/workspace
mkdir -p "$me/.ssh" "$me/notes" "$scratch/project"
echo secret-key >"$me/.ssh/id_rsa"
echo other-key >"$me/.ssh/id_ed25519"
helm init >/dev/null || exit 1
cd "$scratch/project" || exit 1
git init -q . && mkdir dir sub || exit 1
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
run() { in_kind "$kind" run --profile "$profile" -- "$@"; }
yes_to_it() { terminal APPROVE -- helm approval approve "$(sed -n 's/.*to approve: helm approval approve //p' "$scratch/.stderr")" >"$scratch/.granted" 2>&1 || { cat "$scratch/.granted"; return 1; }; }
asked_and_approved() { exits 24 run "$@" && yes_to_it; }
receipt() { tail -n 1 "$ws/.helm/receipts.jsonl" | grep -F '"type":"outcome"' | grep -qF -e "$1"; }
no_receipt() { ! receipt "$1"; }
row() { tail -n 1 "$ws/.helm/task-ledger.jsonl" | tr -d ' ' | grep -qF -e "$1"; }
is_refused() { # is_refused COMMAND...: approved it is, and is not run: what was approved is something else by now
  run "$@" >"$scratch/.refused" 2>&1
  code=$?
  [ $code -ne 0 ] && ! grep -q "other-key\|secret-key" "$scratch/.refused" && return 0
  echo "exit $code"
  cat "$scratch/.refused"
  return 1
}
[ "$(sandbox_kind)" = supervised ] && kinds=supervised || kinds="namespaces supervised"

for kind in $kinds; do
  rm -f "$me/.helm/machine.json"
  for profile in workspace_edit develop; do
    at="$kind, $profile"
    rm -f "$me/other.txt"
    ok "$at: reading a credential is asked about, and approved" asked_and_approved cat "$me/.ssh/id_rsa"
    ok "$at: then it is read" says 0 "secret-key" run cat "$me/.ssh/id_rsa"
    ok "$at: the receipt names what was opened" receipt "\"opened\":[{\"path\":\"$me/.ssh/id_rsa\",\"what\":\"read\"}]"
    ok "$at: so does the row" row "\"opened\":[{"
    ok "$at: the yes was for once" exits 24 run cat "$me/.ssh/id_rsa"
    ok "$at: writing elsewhere is asked about, and approved" asked_and_approved sh -c 'echo hi >~/other.txt'
    ok "$at: then it is written" exits 0 run sh -c 'echo hi >~/other.txt'
    ok "$at: in its place" grep -qx hi "$me/other.txt"
    ok "$at: the receipt says so" receipt "\"opened\":[{\"path\":\"$me/other.txt\",\"what\":\"write\"}]"
    ok "$at: so is a file that exists" asked_and_approved sh -c 'echo again >~/other.txt'
    ok "$at: by another yes" exits 0 run sh -c 'echo again >~/other.txt'
    ok "$at: with the new text" grep -qx again "$me/other.txt"
  done

  profile=workspace_edit at=$kind
  # ---- no more than that ----
  cat >beside.py <<'END'
import os
d = os.environ["HOME"] + "/.s" + "sh"
for name in ("id_rsa", "id_ed" + str(25519)):
    for how in ("r", "r+"):
        try:
            f = open(os.path.join(d, name), how)
            print(how, f.read())
        except OSError as e:
            print(how, e)
END
  ok "$at: a yes to one file" asked_and_approved sh -c 'cat ~/.ssh/id_rsa; python3 beside.py'
  run sh -c 'cat ~/.ssh/id_rsa; python3 beside.py' >"$scratch/said" 2>&1
  ok "$at: shows it, and not the one beside it" sh -c 'grep -q "^r secret-key" "$0" && ! grep -q other-key "$0"' "$scratch/said"
  ok "$at: and is none to write it" sh -c '! grep -q "^r+ secret" "$0"' "$scratch/said"
  cat >around.py <<'END'
import os
n = os.environ["HOME"] + "/no" + "tes/"
for do in (lambda: print(os.listdir(n)), lambda: os.rename(n + "new", n + "old"), lambda: os.link(n + "new", "here"), lambda: os.unlink(n + "new"), lambda: os.symlink("x", n + "l")):
    try:
        do()
    except OSError as e:
        print(e)
END
  ok "$at: a file that is opened to be written does not show its directory" asked_and_approved sh -c 'echo new >~/notes/new; ls ~/notes; touch ~/notes/more; python3 around.py'
  echo private >"$me/notes/private"
  run sh -c 'echo new >~/notes/new; ls ~/notes; touch ~/notes/more; python3 around.py' >"$scratch/said" 2>&1
  ok "$at: it is written" grep -qx new "$me/notes/new"
  ok "$at: nothing else of it is seen or changed" sh -c '! grep -q private "$0" && [ ! -e "$1/notes/more" ] && [ ! -e "$1/notes/old" ] && [ ! -e here ]' "$scratch/said" "$me"
  rm -f "$me/notes"/*
  ok "$at: a command that writes nothing after all" asked_and_approved sh -c 'false && echo x >~/notes/never'
  ok "$at: leaves nothing behind" sh -c '"$@"; [ ! -e "$0/notes/never" ]' "$me" env -i PATH="$PATH" HOME="$me" "$HELM_REAL" run -- sh -c 'false && echo x >~/notes/never'

  # ---- what is approved is that object ----
  echo mine >"$me/notes/file"
  ok "$at: a file is approved" asked_and_approved sh -c "echo x-$kind >~/notes/file"
  rm "$me/notes/file" && ln -s ../.ssh/id_ed25519 "$me/notes/file"
  ok "$at: a link in its place is not written through" is_refused sh -c "echo x-$kind >~/notes/file"
  ok "$at: nothing was written" grep -qx other-key "$me/.ssh/id_ed25519"
  rm "$me/notes/file" && echo mine >"$me/notes/file"
  ok "$at: it is approved again" asked_and_approved sh -c "echo xx-$kind >~/notes/file"
  ln -f "$me/.ssh/id_ed25519" "$me/notes/file"
  ok "$at: nor is a second name of another file" is_refused sh -c "echo xx-$kind >~/notes/file"
  ok "$at: nothing was written there, either" grep -qx other-key "$me/.ssh/id_ed25519"
  rm "$me/notes/file"
  echo mine >"$me/notes/file"
  ok "$at: it is approved once more" asked_and_approved sh -c "echo xxx-$kind >~/notes/file"
  mv "$me/notes" "$me/notes.old" && ln -s .ssh "$me/notes"
  ok "$at: its directory led elsewhere since" is_refused sh -c "echo xxx-$kind >~/notes/file"
  ok "$at: nothing was made there" sh -c '[ ! -e "$0/.ssh/file" ] && grep -qx mine "$0/notes.old/file"' "$me"
  rm "$me/notes" && mv "$me/notes.old" "$me/notes"
  ok "$at: a yes of one directory" asked_and_approved cat "$me/.ssh/id_rsa"
  mkdir -p "$scratch/project2"
  ok "$at: is none in another" sh -c 'cd "$0" && shift 0; "$@" >/dev/null 2>&1; [ $? -eq 24 ]' "$scratch/project2" env -i PATH="$PATH" HOME="$me" "$HELM_REAL" run -- cat "$me/.ssh/id_rsa"
  run cat "$me/.ssh/id_rsa" >"$scratch/one" 2>&1 &
  run cat "$me/.ssh/id_rsa" >"$scratch/two" 2>&1
  wait $!
  ok "$at: of two at once one is done" sh -c '[ "$(cat "$0/one" "$0/two" | grep -c secret-key)" -eq 1 ]' "$scratch"

  # ---- what no yes opens ----
  ln -s notes/file "$me/link"
  ok "$at: a link is not asked about, and where it leads is said" says 25 "name that path instead: $me/notes/file" run sh -c 'echo x >~/link'
  rm "$me/link"
  ok "$at: nor Helm's own keys" exits 25 run sh -c 'echo x >~/.helm/keys/root.key'
  ok "$at: to read, either" says 25 "never opened" run cat "$me/.helm/keys/root.key"
  ok "$at: nor what is removed elsewhere" says 25 "helm allow path $me/notes" run rm "$me/notes/file"
  ok "$at: nor moved" says 25 "helm allow path $me/notes" run mv "$me/notes/file" .
  ok "$at: nor a file in a directory that is not there" says 25 "does not exist" run sh -c 'echo x >~/none/file'
  ok "$at: several that are not named whole have a profile" says 25 "helm run --profile service_ops -- " run sh -c 'cat ~/.ssh/id_*'
  ok "$at: that profile asks about it" exits 24 in_kind "$kind" run --profile service_ops -- sh -c 'cat ~/.ssh/id_*'
  ok "$at: 'guard check' says the same" says 25 "helm allow path $me/notes" in_kind "$kind" guard check -- rm "$me/notes/file"
  ok "$at: so does the run's own question" says 0 '"detail_code": "sandbox.closed"' in_kind "$kind" run --guard-json -- rm "$me/notes/file"
  ok "$at: nor a whole directory" says 25 "helm allow path $me/notes" run cp -r dir "$me/notes/dir"
  ok "$at: nor what a program writes beside it first" says 25 "helm allow path $me/notes" run zip "$me/notes/z.zip" beside.py
  ok "$at: nor what a program removes first" says 25 "helm allow path $me/notes" run install -m 755 beside.py "$me/notes/tool"
  ln -sf "$me/.ssh/id_rsa" leads
  ok "$at: nor what a link in the work tree leads to" says 25 "name that path instead: $me/.ssh/id_rsa" run cat leads
  ok "$at: nor a start-up file of a shell" says 25 "starts programs later" run sh -c 'echo x >>~/.bashrc'
  ok "$at: nor a hook" says 25 "starts programs later" run sh -c 'echo x >.git/hooks/pre-commit'
  ok "$at: nor settings of a client in the work tree" says 25 "starts programs later" run sh -c 'echo {} >.mcp.json'
  ok "$at: nor .envrc" says 25 "in a terminal of your own: sh -c 'echo x >sub/.envrc'" run sh -c 'echo x >sub/.envrc'
  ok "$at: nor a setting of git that starts something" says 25 "in a terminal of your own: git config core.hooksPath h" run git config core.hooksPath h
  ok "$at: a file of that name that starts nothing here is asked about, and approved" asked_and_approved sh -c 'echo x >.bashrc'
  ok "$at: then it is written" exits 0 run sh -c 'echo x >.bashrc'
  ok "$at: and stays" grep -qx x .bashrc
  rm -f .bashrc
  ok "$at: nor scheduled jobs" says 25 "jobs and services of this machine" run sh -c 'echo "* * * * * true" | crontab -'
  ok "$at: nor the environment of another process" says 25 "no processes but its own" run cat /proc/1/environ
  ok "$at: nor a publication without credentials" says 25 "helm run --profile service_ops -- npm publish" in_kind "$kind" run --profile develop -- npm publish
  [ "$(id -u)" -eq 0 ] || ok "$at: nor other privileges" says 25 "no other privileges" run sudo true
  elsewhere=$(mktemp /tmp/helm-test-XXXXXX) && mv "$elsewhere" "$elsewhere.pem" && echo secret-key >"$elsewhere.pem"
  [ "$kind" = supervised ] || ok "$at: nor a credential in /tmp, where a run has a directory of its own" says 25 "cp -- $elsewhere.pem ." in_kind "$kind" run --profile develop -- cat "$elsewhere.pem"
  ok "$at: where it has none, that is asked about, and approved" asked_and_approved cat "$elsewhere.pem"
  ok "$at: then it is read" says 0 "secret-key" run cat "$elsewhere.pem"
  rm -f "$elsewhere.pem" leads
  echo "not a certificate" >"$me/notes/own.pem"
  ok "$at: a file is approved that its program refuses" asked_and_approved grep -q "^certificate" "$me/notes/own.pem"
  ok "$at: and the sandbox is not blamed" sh -c '! "$@" 2>&1 | grep -q "the sandbox"' - env -i PATH="$PATH" HOME="$me" "$HELM_REAL" run -- grep -q "^certificate" "$me/notes/own.pem"
  rm -f "$me/notes/own.pem"
  ok "$at: without a yes nothing is opened" sh -c '! "$@" 2>/dev/null | grep -q secret-key' - env -i PATH="$PATH" HOME="$me" "$HELM_REAL" run --guard-mode audit -- cat "$me/.ssh/id_rsa"
  ok "$at: and no receipt says so" no_receipt '"opened"'
done

# ---- one host and port, where a profile names hosts ----
address=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 '^[0-9]*\.[0-9]*\.[0-9]*\.[0-9]*$')
if [ -n "$address" ] && command -v curl >/dev/null; then
  mkdir served && echo page >served/page
  serve() { # serve FILE: its port goes there
    (cd served && exec python3 -c 'import http.server, sys
s = http.server.ThreadingHTTPServer((sys.argv[1], 0), http.server.SimpleHTTPRequestHandler)
print(s.server_address[1], file=open(sys.argv[2], "w"), flush=True)
s.serve_forever()' "$address" "$1" 2>/dev/null) &
    while [ ! -s "$1" ]; do sleep 0.02; done
  }
  serve "$scratch/port"
  first=$!
  serve "$scratch/port2"
  second=$!
  one=http://$address:$(cat "$scratch/port") two=http://$address:$(cat "$scratch/port2")
  printf 'import sys, urllib.request\nfor u in open("urls").read().split():\n    try:\n        print(u, urllib.request.urlopen(u).read())\n    except OSError as e:\n        print(u, e)\n' >beside.py
  printf '%s\n' "$one/page" "$two/page" >urls
  profile=develop
  for kind in $kinds; do
    rm -f "$me/.helm/machine.json"
    ok "$kind: a host that is not named is asked about, and approved" asked_and_approved sh -c "curl -s $one/page; python3 beside.py"
    ok "$kind: then it is reached" says 0 page run sh -c "curl -s $one/page; python3 beside.py"
    ok "$kind: by that port alone" sh -c 'grep -q "^$1/page b.page" "$0" && ! grep -q "^$2/page b.page" "$0"' "$scratch/.stdout" "$one" "$two"
    ok "$kind: the receipt names it" receipt "\"opened\":[{\"host\":\"${one#http://}\",\"what\":\"host\"}]"
    ok "$kind: the next one is asked about" exits 24 run sh -c "curl -s $one/page; python3 beside.py"
  done
  kill $first $second
else
  skip "one host and port" "this machine has no address but the loopback's, or no curl"
fi
finish

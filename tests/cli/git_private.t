#!/bin/sh
# git's configuration during a run: nothing that the run writes there is in force outside at any moment, and what starts nothing and leads
# git nowhere else is there afterwards.  In both kinds of sandbox.
# shellcheck disable=SC2016,SC2154 # words of the shell inside; lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs git "git's configuration" || { finish; exit; }
machine=$HELM_BUILD/tests/lesser_machine_test
helm init >/dev/null
ws=$scratch/home/.helm/workspace
ledger=$ws/.helm/task-ledger.jsonl
export GIT_CONFIG_NOSYSTEM=1
g() { HOME=$scratch/home git -c user.name=a -c user.email=a@b -c protocol.file.allow=always "$@"; }

make_tree() { # a repository with a submodule, a further work tree, and one deeper in the tree
  cd "$scratch" && rm -rf project module linked || exit 1
  g init -q -b main module && g -C module commit -q --allow-empty -m m
  g init -q -b main project && cd project || exit 1
  g commit -q --allow-empty -m x
  g remote add origin https://one.example/x.git && g update-ref refs/remotes/origin/main HEAD
  g submodule --quiet add "$scratch/module" module && g commit -q -m sub
  g worktree add -q "$scratch/linked" -b topic
  mkdir deep && g init -q -b main deep/repo && g -C deep/repo commit -q --allow-empty -m d
}
run() { # run TEXT: a shell inside, as in the kind of sandbox that is looked at
  if [ "$kind" = supervised ]; then
    env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$machine" --without namespaces "$HELM_REAL" \
      run --profile workspace_edit --guard-mode audit -- sh -c "$1" >"$scratch/.said" 2>&1
  else
    helm run --profile workspace_edit --guard-mode audit -- sh -c "$1" >"$scratch/.said" 2>&1
  fi
}
same() { # same FILE TEXT: what the run does to the file is not there
  before=$(cat "$1")
  run "$2"
  [ "$(cat "$1")" = "$before" ] && [ ! -e "$1.held-by-helm" ] && return 0
  cat "$scratch/.said" "$1"
  return 1
}
without_monitor() { # without_monitor FILE TEXT: the setting is not there after the run
  run "$2"
  ! grep -q fsmonitor "$1" && return 0
  cat "$scratch/.said" "$1"
  return 1
}
taken() { # taken FILE KEY VALUE TEXT
  run "$4"
  [ "$(g config -f "$1" --get "$2")" = "$3" ] && return 0
  cat "$scratch/.said" "$1"
  return 1
}
refused() { grep -q "not taken over from this run into $1: .*$2\|Operation not permitted" "$scratch/.said" || { cat "$scratch/.said"; return 1; }; }
# polled TEXT: somebody outside reads the setting all the time; it was never there.
polled() {
  : >"$scratch/.polled"
  { while [ -e "$scratch/.polled" ]; do
    ! g config --get core.fsmonitor >/dev/null 2>&1 || touch "$scratch/.seen"
    ! [ -e .git/hooks/post-checkout ] || touch "$scratch/.seen"
  done; } &
  rm -f "$scratch/.seen"
  run "$1"
  rm "$scratch/.polled"
  wait $!
  [ ! -e "$scratch/.seen" ] || { cat "$scratch/.said"; return 1; }
}

kind=$(sandbox_kind)
done_kinds=
for kind in ${kind:-none} supervised; do
  if [ "$kind" = none ]; then
    skip "git's configuration" "no sandbox can be had here"
    continue
  fi
  case " $done_kinds " in *" $kind "*) continue ;; esac
  done_kinds="$done_kinds $kind"
  run true
  if ! run true; then
    skip "$kind: git's configuration" "this sandbox cannot be had here"
    continue
  fi
  make_tree
  ok "$kind: a program that git would start, behind a mode that nobody can write" same .git/config 'git config core.fsmonitor /tmp/evil; chmod 0555 .git'
  ok "$kind: it is told or refused" refused .git/config core.fsmonitor
  chmod 0755 .git
  ok "$kind: the address of a remote" same .git/config 'git remote set-url origin https://evil.example/x'
  ok "$kind: it is told or refused" refused .git/config remote.origin.url
  for key in remote.origin.pushurl http.proxy http.sslVerify branch.main.pushRemote remote.pushDefault remote.origin.mirror \
    url.https://evil/.insteadOf http.https://one.example/.extraHeader core.hooksPath include.path submodule.module.url; do
    ok "$kind: $key" same .git/config "git config $key x"
  done
  ok "$kind: a setting that is taken away" same .git/config 'git config --unset remote.origin.url'
  ok "$kind: written by hand" same .git/config 'printf "[core]\n\tfsmonitor = x\n" >>.git/config; cp .git/config c; printf "[core]\n\tfsmonitor = x\n" >>c; mv -f c .git/config'
  ok "$kind: by a second name of the file" same .git/config 'ln .git/config n; printf "[core]\n\tfsmonitor = x\n" >>n'
  ok "$kind: by a descriptor of the file that is renamed" same .git/config \
    'cp .git/config .git/config.lock; exec 3>>.git/config.lock; mv .git/config.lock .git/config; printf "[core]\n\tfsmonitor = x\n" >&3'
  rm -f .git/config.lock c n
  ok "$kind: in the place of the repository's directory" sh -c '! grep fsmonitor .git/config' "$(run 'mv .git old; rm -rf .git; git init -q .; git config core.fsmonitor x')"
  make_tree
  ok "$kind: of a submodule" same .git/modules/module/config 'git -C module config core.fsmonitor x'
  ok "$kind: its hooks" sh -c '! test -e .git/modules/module/hooks/post-checkout' "$(run 'echo x >.git/modules/module/hooks/post-checkout')"
  ok "$kind: of a repository deeper in the tree, after the run" without_monitor deep/repo/.git/config 'git -C deep/repo config core.fsmonitor x; printf "[core]\n\tfsmonitor = x\n" >>deep/repo/.git/config'
  ok "$kind: what leads a further work tree to its repository" same .git/worktrees/linked/commondir 'echo /tmp/evil >.git/worktrees/linked/commondir'
  ok "$kind: a second file that came into being" sh -c '! test -e .git/config.worktree' "$(run 'git config extensions.worktreeConfig true; git config --worktree core.fsmonitor x')"
  ok "$kind: hooks where there were none" sh -c 'test -d .git/hooks && ! ls .git/hooks/* 2>/dev/null' "$(rm -rf .git/hooks; run 'mkdir -p .git/hooks; echo x >.git/hooks/post-checkout')"

  ok "$kind: who the author is" taken .git/config user.email me@x.example 'git config user.email me@x.example'
  ok "$kind: what a branch follows" taken .git/config branch.new.merge refs/heads/main 'git checkout -q -b new --track origin/main'
  ok "$kind: and the remote" taken .git/config branch.new.remote origin true
  ok "$kind: a branch that is removed" sh -c '! git config -f .git/config --get branch.new.merge' "$(run 'git checkout -q main; git branch -q -D new')"
  ok "$kind: of a submodule, too" taken .git/modules/module/config user.name Somebody 'git -C module config user.name Somebody'
  ok "$kind: and deeper in the tree" taken deep/repo/.git/config user.name Somebody 'git -C deep/repo config user.name Somebody'
  ok "$kind: a sparse checkout" taken .git/config.worktree core.sparseCheckout true 'git sparse-checkout set deep'
  g sparse-checkout disable >/dev/null 2>&1
  ok "$kind: the file keeps what else is in it" taken .git/config user.name One "$(printf '# mine\n' >>.git/config; echo 'git config user.name One')"
  ok "$kind: comments as well" grep -q '^# mine$' .git/config
  ok "$kind: a repository that is made, with its remote" taken made/.git/config remote.origin.url "$scratch/module" "git -c protocol.file.allow=always clone -q '$scratch/module' made"
  rm -rf made
  ok "$kind: nobody outside ever sees it" polled 'i=0; while [ $i -lt 40 ]; do git config core.fsmonitor /tmp/x; git config --unset core.fsmonitor
    mkdir -p .git/hooks; : >.git/hooks/post-checkout; rm -f .git/hooks/post-checkout; i=$((i + 1)); done; git config core.fsmonitor /tmp/x' 2>/dev/null
  cd "$scratch/linked" || exit 1
  ok "$kind: in a further work tree, where it leads" same .git "echo 'gitdir: /tmp/evil' >.git; rm -f .git; echo 'gitdir: /tmp/evil' >.git"
  ok "$kind: and its repository's configuration" same "$scratch/project/.git/config" 'git config core.fsmonitor x'
  g config extensions.worktreeConfig true
  ok "$kind: and its own" taken "$scratch/project/.git/worktrees/linked/config.worktree" core.fsmonitor "" 'git config --worktree core.fsmonitor x'
  ok "$kind: which it may write" taken "$scratch/project/.git/worktrees/linked/config.worktree" user.name Linked 'git config --worktree user.name Linked'
done

# ---- an operator's yes is carried back, and nothing beside it ----
approved() { # approved COMMAND...: as run, with a yes
  if [ "$kind" = supervised ]; then
    env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$machine" --without namespaces "$HELM_REAL" run --approve-risk -- "$@"
  else
    helm run --approve-risk -- "$@"
  fi
}
unapproved() {
  if [ "$kind" = supervised ]; then
    env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" "$machine" --without namespaces "$HELM_REAL" run -- "$@"
  else
    helm run -- "$@"
  fi
}
fails() { ! "$@" >"$scratch/.said" 2>&1; }
[ "$(sandbox_kind)" = supervised ] && kinds=supervised || kinds="namespaces supervised"
for kind in $kinds; do
  make_tree
  rm -f "$scratch/home/.helm/machine.json"
  ok "$kind: an address that was approved" exits 0 approved git remote set-url origin https://two.example/x
  ok "$kind: is there" sh -c '[ "$(git config remote.origin.url)" = https://two.example/x ]'
  ok "$kind: a remote is not added without a yes" fails unapproved git remote add up https://up.example/x
  ok "$kind: what to type is said" grep -qF "helm run --profile workspace_edit --approve-risk -- git remote add up https://up.example/x" "$scratch/.said"
  ok "$kind: and nothing is there" sh -c '! git config remote.up.url'
  ok "$kind: with a yes it is" exits 0 approved git remote add up https://up.example/x
  ok "$kind: whole" sh -c '[ "$(git config remote.up.url)" = https://up.example/x ] && git config remote.up.fetch >/dev/null'
  ok "$kind: a key that was approved" exits 0 approved git config remote.origin.pushurl https://push.example/x
  ok "$kind: is there, too" sh -c '[ "$(git config remote.origin.pushurl)" = https://push.example/x ]'
  approved git remote set-url origin 'ext::sh -c true' >/dev/null 2>&1
  ok "$kind: an address that runs a program is none" sh -c '[ "$(git config remote.origin.url)" = https://two.example/x ]'
  printf 'import subprocess\nsubprocess.call(["git", "con" + "fig", "remote.up.url", "https://evil.example"])\nsubprocess.call(["git", "config", "core.fsmon" + "itor", "./x"])\n' >beside.py
  approved sh -c 'git remote set-url origin https://three.example/x; python3 beside.py' >/dev/null 2>&1
  ok "$kind: what is done beside it is not carried back" sh -c '[ "$(git config remote.up.url)" = https://up.example/x ] && ! git config core.fsmonitor'
  ok "$kind: what was approved is" sh -c '[ "$(git config remote.origin.url)" = https://three.example/x ]'
done

# ---- the guard: the same answer as for git remote set-url ----
cd "$scratch/project" || exit 1
judged() { [ "$(helm guard check --containment none --profile develop -- sh -c "$2" 2>&1 | head -n 1 | cut -d ' ' -f 1)" = "$1" ] || { helm guard check --containment none --profile develop -- sh -c "$2"; return 1; }; }
for c in "git remote set-url origin https://x" "git config remote.origin.url https://x" "git config set remote.origin.pushurl https://x" "git config --global http.sslVerify false" \
  "git config --unset remote.origin.url" "git config unset remote.origin.url" "git config --remove-section remote.origin" "git config branch.x.pushRemote y" "git config remote.pushDefault y" \
  "git config http.https://x/.extraHeader y" "git config url.https://x/.insteadOf https://y/" "git -c http.sslVerify=false status" "git -c remote.origin.url=https://x status"; do
  ok "asked: $c" judged require_approval "$c"
done
for c in "git config user.email a@b" "git config branch.x.remote origin" "git config core.autocrlf input"; do
  ok "not asked: $c" judged warn "$c"
done

# ---- with mounts: what outside is replaced is covered again ----
kind=$(sandbox_kind)
if [ "$kind" = namespaces ]; then
  make_tree
  replaced() {
    { while ! [ -e started ]; do sleep 0.02; done
      g config user.name Outside
      sleep 0.3
      : >go; } &
    run 'touch started; while ! [ -e go ]; do sleep 0.02; done; git config core.fsmonitor x; printf "[core]\n\tpager = x\n" >>.git/config; git config user.email in@side'
    wait $!
    rm -f started go
    cat "$scratch/.said" .git/config
    ! grep -q 'fsmonitor\|pager' .git/config && [ "$(git config -f .git/config --get user.name)" = Outside ] && [ "$(git config -f .git/config --get user.email)" = in@side ] &&
      [ ! -e .git/config.held-by-helm ]
  }
  g config user.name Before
  ok "what somebody changes outside meanwhile stays, and is covered again" replaced
  row() { tail -n 1 "$ledger" | grep -q '"left_behind": *\[{"path": *".git/config", *"what": *"dropped", *"why": *"git would run core.fsmonitor=x"'; }
  run 'git config core.fsmonitor x'
  ok "the row says what was dropped" row
  ok "and the receipt" sh -c 'tail -n 1 "$0/.helm/receipts.jsonl" | grep -q "\"what\":\"dropped\""' "$ws"

  # ---- calls of a client that was started bare ----
  command -v bash >/dev/null 2>&1 || { finish; exit; }
  helm setup claude-code --scope project --yes >/dev/null
  client() { env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 ASAN_OPTIONS="${ASAN_OPTIONS:-}" python3 "$HELM_SOURCE/tests/tools/contained_client.py" "$HELM_REAL" "$@"; }
  cat >later.py <<'END'
import subprocess, time
time.sleep(0.3)
for i in range(20):
    subprocess.call(["git", "config", "core." + "fsmonitor", "/tmp/x"])
    time.sleep(0.02)
    subprocess.call(["git", "config", "user.email", "late%d@x" % i])
open("late", "w").close()
END
  background() { # a process that a call leaves running writes after the call has ended, and before the next one begins
    : >"$scratch/.polled"
    rm -f "$scratch/.seen" late
    { while [ -e "$scratch/.polled" ]; do ! g config --get core.fsmonitor >/dev/null 2>&1 || touch "$scratch/.seen"; done; } &
    client "git config user.name First; python3 later.py >/dev/null 2>&1 &" "@until late" "git config --get core.fsmonitor" >"$scratch/.said" 2>&1
    rm "$scratch/.polled"
    wait $!
    cat "$scratch/.said" .git/config
    [ ! -e "$scratch/.seen" ] && grep -q '^/tmp/x$' "$scratch/.said" && [ "$(git config -f .git/config --get user.name)" = First ] &&
      [ "$(git config -f .git/config --get user.email)" = late19@x ]
  }
  ok "a process that a call left running: never seen outside, and what may stay is there" background
  ok "and what was dropped is on record" sh -c 'grep "contained_left" "$0/.helm/tool-calls.jsonl" | grep -q "\"what\": *\"dropped\""' "$ws"
  between() { # what the operator sets between two calls is seen by the next one, and nothing of it is undone
    client "git config user.name Second" >/dev/null 2>&1
    g config user.name Operator
    g config core.pager cat
    [ "$(client 'git config --get core.pager; git config user.email c@d; git config --get user.name' 2>/dev/null)" = "cat
Operator" ] && [ "$(git config -f .git/config --get user.name)" = Operator ] && [ "$(git config -f .git/config --get user.email)" = c@d ]
  }
  ok "what the operator sets between calls is there for the next, and stays" between
fi
finish

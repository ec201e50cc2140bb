#!/bin/sh
# Files that make somebody start programs later: what exists cannot be changed in a run, and what a run made is held when it has ended.
#
# The guard only looks on here (--guard-mode audit); each case is one trick, tried by a real run.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

needs_terminal
fresh_workspace
git init -q . 2>/dev/null || skip_all "git is needed"
mkdir -p sub/inner

run() { # run TEXT: a shell's text, under the profile that may write
  helm profile run workspace_edit --guard-mode audit --workspace "$ws" -- sh -c "$1" >"$scratch/.said" 2>&1
}
held() { # held PATH TEXT: the run's text makes PATH; afterwards it is there only under another name, and everybody is told
  run "$2"
  [ ! -e "$1" ] && [ ! -L "$1" ] || { echo "$1 is there"; cat "$scratch/.said"; return 1; }
  { [ -e "$1.held-by-helm" ] || [ -L "$1.held-by-helm" ]; } || { echo "nothing was held"; cat "$scratch/.said"; return 1; }
  grep -q "left behind what would start programs later: .*${1##*/}" "$scratch/.said" || { cat "$scratch/.said"; return 1; }
  tail -n 1 "$ledger" | grep -q '"left_behind": *\[{' || return 1
  tail -n 1 "$ws/.helm/receipts.jsonl" | grep -q '"left_behind": *\[{' || return 1
  rm -rf "$1.held-by-helm"
}
stays() { # stays PATH TEXT: ordinary work
  run "$2"
  [ -e "$1" ] && ! grep -q "left behind" "$scratch/.said" && return 0
  cat "$scratch/.said"
  return 1
}
unchanged() { # unchanged FILE TEXT: the file is what it was
  before=$(cat "$1")
  run "$2"
  [ "$(cat "$1")" = "$before" ] && return 0
  cat "$scratch/.said" "$1"
  return 1
}

for f in .claude/settings.json .claude/settings.local.json .codex/config.toml .cursor/hooks.json .cursor/mcp.json .mcp.json \
  .vscode/tasks.json .vscode/settings.json .gemini/settings.json .envrc .github/hooks/x.json opencode.json; do
  ok "$f, which was not there, is held" held "$f" "mkdir -p \$(dirname $f); echo '{}' >$f"
  [ "${f%%/*}" = "$f" ] || rm -rf "${f%%/*}"
done
# What was closed to the run was changed by somebody else.
mkdir .claude && echo '{}' >.claude/settings.json
edited_outside() {
  { while ! test -e started; do sleep 0.05; done; echo '{"model": "x"}' >.claude/settings.json; touch go; } &
  run "touch started; while ! test -e go; do sleep 0.05; done"
  wait $!
  cat "$scratch/.said" .claude/settings.json
  grep -q model .claude/settings.json
}
ok "what a person changes while a run lasts stays" edited_outside
rm -rf .claude started go
# Ways to make git start something at its next call, each by a repository that it would take.
evil='printf "[core]\n\tfsmonitor = touch pwned\n" >>'
git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x 2>/dev/null
ok "another repository's configuration" held .git/commondir "cp -r .git alt; $evil alt/config; echo ../alt >.git/commondir; rm -rf alt"
ok "a word that is a switch elsewhere" unchanged .git/config "git config core.hooksPath on || printf '[core]\n\thooksPath = on\n' >>.git/config"
ok "a file that leads to another repository" held sub/.git "cp -r .git sub/gd; echo 'gitdir: gd' >sub/.git; rm -rf sub/gd"
ok "one that leads into our own is ordinary work" stays tree/.git "git worktree add -q tree HEAD"
git worktree remove --force tree 2>/dev/null
ok "a repository under another name" held bare/config "cp -r .git bare; $evil bare/config"
rm -rf bare
ok "one without commands is ordinary work" stays other.git/config "git init -q --bare other.git"
rm -rf other.git
ok "a submodule two levels down" held .git/modules/a/b/config "mkdir -p .git/modules/a; cp -r .git m; mkdir -p .git/modules/a; mv m .git/modules/a/b; $evil .git/modules/a/b/config"
rm -rf .git/modules
ok "a submodule of a submodule" held .git/modules/a/modules/b/config \
  "cp -r .git m; mkdir -p .git/modules; cp -r m .git/modules/a; mkdir .git/modules/a/modules; mv m .git/modules/a/modules/b; $evil .git/modules/a/modules/b/config"
rm -rf .git/modules
mv .git/hooks "$scratch/hooks.away" 2>/dev/null
many='i=0; while [ $i -lt 1200 ]; do'
ok "behind many others the configuration is put back" unchanged .git/config "mkdir .git/hooks; $many : >.git/hooks/h\$i; i=\$((i+1)); done; $evil .git/config"
rm -rf .git/hooks .git/hooks.held-by-helm*
ok "and there are no hooks" sh -c '! ls -d .git/hooks/* .git/hooks.held* 2>/dev/null'
rm -rf .git/hooks
mv "$scratch/hooks.away" .git/hooks 2>/dev/null
ok "so are many further work trees" held .git/worktrees "$many mkdir -p .git/worktrees/w\$i; i=\$((i+1)); done; $evil .git/worktrees/w7/config.worktree"
ok "a repository inside the repository" held .git/ev "git init -q --bare .git/ev; printf '#!/bin/sh\ntouch pwned\n' >.git/ev/hooks/pre-receive"
ok "also without a configuration, in the work tree" held bare.d/hooks/pre-receive "git init -q --bare b; rm b/config; mv b bare.d; touch bare.d/HEAD; echo x >bare.d/hooks/pre-receive"
rm -rf bare.d
ok "a tree that says it is a submodule of no module" held subm/.git "mkdir -p subm; echo 'gitdir: ../.git/info' >subm/.git"
rm -rf subm
ok "a further work tree's own" held .git/worktrees/w/config.worktree "mkdir -p .git/worktrees/w; $evil .git/worktrees/w/config.worktree"
rm -rf .git/worktrees
# A repository that lies where nobody looks: among the things of another one.
for place in objects/ab/cd refs/heads/a/b info/x logs/y/z rr-cache/r lfs/o rebase-apply/q; do
  ok "one hidden in .git/$place" held ".git/$place" "git init -q --bare h; printf '#!/bin/sh\ntouch pwned\n' >h/hooks/pre-receive; mkdir -p .git/${place%/*}; mv h .git/$place"
done
ok "one that only leads to another" held .git/objects/ab/cd "mkdir -p .git/objects/ab/cd; cp .git/HEAD .git/objects/ab/cd; echo /tmp >.git/objects/ab/cd/commondir"
closed() { # closed DIR TEXT: a repository behind a door that was shut is held, whoever looks
  run "$2"
  chmod 700 "$1"
  if [ -e "$1/cd.held-by-helm" ]; then
    rm -rf "$1"
    return 0
  fi
  cat "$scratch/.said"
  return 1
}
ok "one in a directory that was closed" closed .git/objects/ab "rm -rf .git/objects/ab; mkdir -p .git/objects/ab; git init -q --bare .git/objects/ab/cd; chmod 0 .git/objects/ab"
ok "one in a directory that can be entered and not listed" closed .git/objects/ac "mkdir -p .git/objects/ac; git init -q --bare .git/objects/ac/cd; chmod 0300 .git/objects/ac"
git init -q --bare made && mv made .git/modules-made && mkdir -p .git/objects/ee
ok "one that was made long before, and moved there" held .git/objects/ee/old "mv .git/modules-made .git/objects/ee/old"
ok "in a submodule's repository" held .git/modules/m/objects/pack/h "mkdir -p .git/modules; git init -q --bare .git/modules/m; git init -q --bare .git/modules/m/objects/pack/h"
ok "the submodule's own stays" test -e .git/modules/m/HEAD
ok "ordinary work in a repository is left alone" stays .git/refs/heads/topic/x \
  "git branch topic/x; echo 1 >n; git add n; git -c user.name=a -c user.email=a@b commit -qm n; git gc -q; git worktree add -q tree topic/x; git -C tree -c user.name=a -c user.email=a@b commit -q --allow-empty -m y; git branch topic/y; git pack-refs"
git worktree remove --force tree 2>/dev/null
rm -rf .git/modules .git/objects/*/*.held* n
# Moved with the directory they lie in, files keep their times: what was not there under this name is new.
mkdir -p kept/dot kept/repo/hooks kept/env/sub && echo '{}' >kept/dot/settings.json && echo 'export X=1' >kept/env/sub/.envrc
git init -q --bare kept/repo && printf '#!/bin/sh\ntouch pwned\n' >kept/repo/hooks/pre-commit && printf '[core]\n\tfsmonitor = touch pwned\n' >>kept/repo/config
mkdir -p kept/ordinary && git init -q kept/ordinary && git -C kept/ordinary config core.pager ./mine && echo x >kept/ordinary/.git/hooks/post-merge
sleep 0.05
cp -a kept "$scratch/kept"
renew() { rm -rf kept sub/in sub/repo sub/there && cp -a "$scratch/kept" kept && sleep 0.05; }
ok "settings that came with their directory" held sub/in/.claude/settings.json "mkdir -p sub/in; mv kept/dot sub/in/.claude; touch sub/in/.claude/x"
renew
ok "a repository that came as a whole: its configuration" held sub/repo/.git/config "mkdir sub/repo; mv kept/repo sub/repo/.git"
ok "and its hooks" test ! -e sub/repo/.git/hooks/pre-commit
renew
ok "one under another name" held sub/repo/config "mv kept/repo sub/repo"
renew
ok "hooks that came to a repository that was there" held kept/ordinary/.git/hooks/pre-commit "rm -rf kept/ordinary/.git/hooks; mv kept/repo/hooks kept/ordinary/.git/hooks"
ok "none of them" test ! -e kept/ordinary/.git/hooks/pre-commit
renew
ok "what a shell reads, two directories down" held sub/there/sub/.envrc "rm kept/env/sub/x; mv kept/env sub/there; touch sub/there/sub/x"
renew
ok "what was there stays, whatever is done beside it" stays kept/env/sub/.envrc "touch kept/env/sub/x kept/env/y; git -C kept/ordinary branch -q z; touch kept/ordinary/.git/z"
ok "also a repository with settings of its person" grep -q mine kept/ordinary/.git/config
ok "and hooks" test -e kept/ordinary/.git/hooks/post-merge
ok "which are no hindrance to moving it" stays kept/env/sub/.envrc "mkdir sub/in; touch sub/in/x"
rm -rf kept sub/in sub/repo sub/there "$scratch/kept"
# Hooks in a directory of the tree, which a person's own settings name.
mkdir .githooks && echo 'echo mine' >.githooks/pre-commit
git config --file "$scratch/home/.gitconfig" core.hooksPath .githooks
ok "a hook where the person's own settings look for one" held .githooks/pre-push "echo x >.githooks/pre-push"
ok "one that is there is put back" unchanged .githooks/pre-commit "echo evil >.githooks/pre-commit"
rm -f .githooks/*.held-by-helm
ok "written again as it is, it stays" stays .githooks/pre-commit "cp .githooks/pre-commit x; rm .githooks/pre-commit; cp x .githooks/pre-commit; rm x"
ok "one that is removed is gone" sh -c '! test -e .githooks/pre-commit' "$(run "rm .githooks/pre-commit")"
rm -rf .githooks "$scratch/home/.gitconfig"
mkdir -p .husky/_ && git config core.hooksPath .husky/_
ok "a script beside a directory that a tool makes for its hooks" held .husky/pre-commit "echo x >.husky/pre-commit"
git config --unset core.hooksPath
rm -rf .husky
ok "elsewhere it is a file like any other" stays .githooks/pre-push "mkdir .githooks; echo x >.githooks/pre-push"
rm -rf .githooks
todo=.git/rebase-merge/git-rebase-todo
ok "commands that a rebase would run when it goes on" held $todo "mkdir -p .git/rebase-merge; printf 'pick 1234567 x\n  x touch pwned\n' >$todo"
ok "a rebase without commands is ordinary work" stays $todo "mkdir -p .git/rebase-merge; printf 'pick 1234567 exec is a word here\nbreak\n' >$todo"
printf 'exec make\npick 1234567 x\n' >$todo
ok "nor are those that were there before anything new" stays $todo "printf 'exec make\n' >$todo"
ok "others in their place are put back" unchanged $todo "printf 'exec make evil\n' >$todo"
rm -rf .git/rebase-merge
ok "of a further work tree, too" held .git/worktrees/w/rebase-merge/git-rebase-todo "mkdir -p .git/worktrees/w/rebase-merge; echo 'exec x' >.git/worktrees/w/rebase-merge/git-rebase-todo"
ok "a further work tree that leads to another configuration" held .git/worktrees/w/commondir "mkdir -p .git/worktrees/w; echo ../../../alt >.git/worktrees/w/commondir"
ok "one that starts nothing is ordinary work" stays .git/worktrees/w/config.worktree \
  "mkdir -p .git/worktrees/w; git config -f .git/worktrees/w/config.worktree core.sparseCheckout true"
rm -rf .git/worktrees
ok "an address that is a command" held .git/remotes/oo "mkdir -p .git/remotes; echo 'URL: ext::sh -c x' >.git/remotes/oo"
git config include.path ../shared.inc && printf '[user]\n\tname = a\n' >shared.inc
ok "what the configuration takes in" unchanged shared.inc "$evil shared.inc"
ok "which may change otherwise" stays shared.inc "printf '[user]\n\temail = a@b\n' >>shared.inc"
git config --unset include.path
rm -f shared.inc*
mkdir -p work/plans && echo '{}' >work/plans/settings.json
ok "a directory that was moved there is held" held .claude/settings.json "mv work/plans .claude"
rm -rf .claude
ok "a link to a directory is held, and what it leads to left alone" held .claude "mkdir -p work/x; echo '{}' >work/x/settings.json; ln -s work/x .claude"
mkdir -p "$scratch/home/.claude" && echo '{"mine":1}' >"$scratch/home/.claude/settings.json"
ok "a link to one in which settings can still be put is held" held .claude "mkdir -p work/later; ln -s work/later .claude"
ok "a link to the person's own settings is held" held .claude "ln -s $scratch/home/.claude .claude"
ok "and their settings stay" grep -q mine "$scratch/home/.claude/settings.json"
ok "settings of a directory below are held" held sub/inner/.claude/settings.json "mkdir sub/inner/.claude; echo '{}' >sub/inner/.claude/settings.json"
ok "a workspace below is held" held sub/.helm "mkdir sub/.helm; echo '{}' >sub/.helm/workspace.json"
# A person makes and uses a workspace below while a run goes on beside it.
beside() {
  mkfifo "$scratch/go"
  run "echo begun >begun; read -r x <'$scratch/go'" &
  waited=0
  while [ ! -e begun ] && [ $waited -lt 1000 ]; do
    sleep 0.02
    waited=$((waited + 1))
  done
  terminal -- helm init --path sub/theirs >/dev/null && terminal -- helm profile use inspect_local --path sub/theirs >/dev/null &&
    helm run --workspace sub/theirs -- true >/dev/null
  echo >"$scratch/go"
  wait
  [ -e sub/theirs/.helm/receipts.jsonl ] && ! grep -q "left behind" "$scratch/.said" && helm log check --path sub/theirs >/dev/null && return 0
  cat "$scratch/.said"
  ls -A sub/theirs
  return 1
}
ok "a person's workspace below is left to them" beside
# The same with somebody who is killed on the way, or is no person: what has state is known in the helm home before.
begin_run() { # a run that waits until end_run
  rm -f begun "$scratch/go"
  mkfifo "$scratch/go"
  run "echo begun >begun; read -r x <'$scratch/go'" &
  waited=0
  while [ ! -e begun ] && [ $waited -lt 1000 ]; do
    sleep 0.02
    waited=$((waited + 1))
  done
}
end_run() {
  echo >"$scratch/go"
  wait
}
init_killed() {
  begin_run
  n=0
  until [ -e sub/new$n/.helm/workspace.json ] || [ $n -ge 500 ]; do # each time another place, and one call later
    n=$((n + 1))
    HELM_ENV="HELM_TEST_KILL_AT=$n" helm_twin init --path sub/new$n >/dev/null 2>&1 && echo "it was not killed"
  done
  end_run
  [ -e sub/new$n/.helm/workspace.json ] && ! grep -q "left behind" "$scratch/.said" && return 0
  cat "$scratch/.said"
  return 1
}
ok "also when init is killed as soon as there is one" init_killed
used_beside() { # nobody has decided about it: it was cloned, or an agent made it
  begin_run
  mkdir -p sub/cloned/.helm && echo '{}' >sub/cloned/.helm/workspace.json
  helm run --workspace sub/cloned -- true >/dev/null 2>&1
  end_run
  [ -e sub/cloned/.helm/receipts.jsonl ] && ! grep -q "left behind" "$scratch/.said" && helm log check --path sub/cloned >/dev/null && return 0
  cat "$scratch/.said"
  return 1
}
ok "a workspace that somebody uses beside the run is left to them" used_beside
ok "also when a run changes a person's, which permits nothing" stays sub/theirs/.helm/workspace.json "echo '{\"default_profile\": \"service_ops\"}' >sub/theirs/.helm/workspace.json"
ok "what they chose there holds" says 0 '"profile": "inspect_local"' helm workspace show --path sub/theirs --json
for word in "$scratch"/home/.helm/trees/*/posture.json; do
  grep -q sub/theirs "$word" && echo x >"$word" && echo x >"$word.seal"
done
ok "also while nobody can say what they decided" stays sub/theirs/.helm/workspace.json "echo '{}' >sub/theirs/.helm/workspace.json"
ok "where nothing goes then" exits 25 helm run --workspace sub/theirs -- true
rm -rf sub/theirs

# Settings that lie deeper in the tree and exist: closed like those at the root.
mkdir -p deep/one/two/.claude deep/one/.github/hooks deep/repo
echo '{"deep":1}' >deep/one/two/.claude/settings.json
echo '{"deep":2}' >deep/one/.mcp.json
echo 'export A=1' >deep/.envrc
echo '{}' >deep/one/.github/hooks/a.json
git init -q deep/repo
ok "settings deeper in the tree cannot be changed" unchanged deep/one/two/.claude/settings.json "echo '{}' >deep/one/two/.claude/settings.json"
ok "nothing had to be held" sh -c '! grep -q "left behind" "$0"' "$scratch/.said"
ok "no other settings appear beside them" unchanged deep/one/two/.claude/settings.json "echo '{}' >deep/one/two/.claude/settings.local.json"
ok "and none are there" test ! -e deep/one/two/.claude/settings.local.json
ok "their directory cannot be moved" unchanged deep/one/two/.claude/settings.json "mv deep/one/two deep/one/three; mv deep/one deep/four; mv deep five"
ok "nor can another be put in its place" unchanged deep/one/two/.claude/settings.json "rm -rf deep/one/two/.claude; mkdir -p deep/one/two/.claude; echo '{}' >deep/one/two/.claude/settings.json"
ok "servers of a client deeper in the tree" unchanged deep/one/.mcp.json "echo '{}' >deep/one/.mcp.json"
ok "what a shell reads when it enters a directory" unchanged deep/.envrc "echo x >deep/.envrc"
ok "hooks of a client beside files of others" unchanged deep/one/.github/hooks/a.json "echo x >deep/one/.github/hooks/a.json"
ok "which are ordinary work" stays deep/one/.github/notes "echo x >deep/one/.github/notes"
ok "a repository deeper in the tree can be removed" sh -c '! test -e deep/repo' "$(run "rm -rf deep/repo")"
mkdir -p deep/build && git init -q deep/build/repo
ok "one that a build made can be removed" sh -c '! test -e deep/build/repo' "$(run "rm -rf deep/build/repo")"
ok "ordinary files beside them are written" stays deep/one/two/made "echo x >deep/one/two/made"
mkdir -p deep/node_modules/x/.claude && echo '{}' >deep/node_modules/x/.claude/settings.json
ok "so can installed packages" sh -c '! test -e deep/node_modules' "$(run "rm -rf deep/node_modules")"
# So many entries that a look at the tree ends before: what git knows is closed all the same.
mkdir -p zz/last/.codex && echo 'a = 1' >zz/last/.codex/config.toml
git add -f zz/last/.codex/config.toml
mkdir many && (cd many && seq 1 4500 | xargs touch)
ok "far behind, where git knows them" unchanged zz/last/.codex/config.toml "echo x >zz/last/.codex/config.toml"
ok "without being held" sh -c '! grep -q "left behind" "$0"' "$scratch/.said"
git rm -q --cached zz/last/.codex/config.toml
ok "and where it does not" unchanged zz/last/.codex/config.toml "echo x >zz/last/.codex/config.toml"
rm -rf many deep zz
for bad in 'DIRC' 'DIRC\000\000\000\002\377\377\377\377' 'DIRC\000\000\000\003\000\000\000\001aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'; do
  cp .git/index "$scratch/index" 2>/dev/null
  # shellcheck disable=SC2059 # bytes on purpose
  printf "$bad" >.git/index
  ok "an index that is none ends nothing" stays made "echo x >made"
  cp "$scratch/index" .git/index 2>/dev/null || rm -f .git/index
done

# Settings that are links: what they lead to is closed, and the link comes back as it was.
mkdir -p conf/claude && echo '{"mine":1}' >conf/claude/settings.json && echo 'export B=1' >conf/envrc
ln -s conf/claude .claude && ln -s conf/envrc .envrc
ok "what a link leads to cannot be changed" unchanged conf/claude/settings.json "echo '{}' >.claude/settings.json; echo '{}' >conf/claude/settings.json"
link_is_back() { # link_is_back PATH TARGET TEXT
  run "$3"
  [ "$(readlink "$1")" = "$2" ] && grep -q "$1 (put back" "$scratch/.said" && rm -rf "$1.held-by-helm" && return 0
  cat "$scratch/.said"
  ls -lA
  return 1
}
ok "a link that was replaced by a directory is back" link_is_back .claude conf/claude "rm .claude; mkdir .claude; echo '{}' >.claude/settings.json"
ok "one that leads elsewhere is back" link_is_back .claude conf/claude "mkdir -p evil; echo '{}' >evil/settings.json; ln -sfn evil .claude"
ok "one that was removed is back" link_is_back .claude conf/claude "rm .claude"
ok "a link that became a file is back" link_is_back .envrc conf/envrc "rm .envrc; echo x >.envrc"
ok "one that nobody touched stays" stays .claude/settings.json "echo x >made"
rm -rf .claude .envrc conf evil

# Hooks and configuration of git.
ok "a hook cannot be made where hooks are" unchanged .git/HEAD "echo x >.git/hooks/pre-commit"
ok "and none is there" test ! -e .git/hooks/pre-commit
ok "their directory cannot be moved" unchanged .git/HEAD "mv .git/hooks .git/old"
ok "and is there" test -d .git/hooks
rm -rf .git/hooks
ok "nor where there was no directory for hooks" sh -c '! ls .git/hooks/* .git/hooks.held* 2>/dev/null' "$(run "mkdir .git/hooks; echo x >.git/hooks/pre-commit")"
ok "a repository that is made below stays" stays sub/new/.git/config "git init -q sub/new"
ok "a hook in one that was there cannot be made" sh -c '! test -e sub/new/.git/hooks/post-checkout' "$(run "echo x >sub/new/.git/hooks/post-checkout")"
ok "a hook in a new one is held" held sub/newer/.git/hooks/post-checkout "git init -q sub/newer; mkdir -p sub/newer/.git/hooks; echo x >sub/newer/.git/hooks/post-checkout"
ok "configuration that starts something is held there" held sub/two/.git/config "git init -q sub/two; git -C sub/two config core.fsmonitor ./x"
ok "also a tunnel to a mail server" held sub/three/.git/config "git init -q sub/three; git -C sub/three config imap.tunnel ./x"
ok "and a program that sends mail" held sub/four/.git/config "git init -q sub/four; git -C sub/four config sendemail.smtpServer /tmp/x"
ok "ordinary configuration is git's to write" stays .git/config "git config branch.main.remote origin; git config user.name somebody"
ok "and is there" grep -q somebody .git/config
for setting in "core.fsmonitor ./x" "core.hooksPath h" "core.sshCommand ./x" "core.pager ./x" "alias.st !x" "filter.a.process ./x" \
  "diff.external ./x" "diff.a.textconv ./x" "credential.helper !x" "include.path ../x" "remote.o.url ext::x" "gpg.program ./x"; do
  ok "${setting% *}: the configuration is put back" unchanged .git/config "git config ${setting% *} '${setting#* }'"
  rm -f .git/config.held-by-helm
done
put_back_is_told() {
  run "git config core.pager ./x"
  grep -q 'not taken over from this run into .git/config: git would run core.pager=./x' "$scratch/.said" &&
    tail -n 1 "$ledger" | grep -q '"what": *"dropped"' && [ ! -e .git/config.held-by-helm ]
}
ok "the person is told" put_back_is_told


# The workspace's own rules.
mv "$ws/references" "$scratch/references"
cd "$ws" || exit 1
ok "rules that were not there are held" held "$ws/references/execution_profiles.json" "mkdir references; echo '{}' >references/execution_profiles.json"
rm -rf "$ws/references"
mv "$scratch/references" "$ws/references"
cd "$scratch/project" || exit 1

# A file that runs as somebody else: the calls that change modes refuse, and what gets around them is stripped.
set_id() {
  run "touch tool; chmod 2755 tool"
  [ -f tool ] && [ ! -g tool ] && tail -n 1 "$ledger" | grep -q '"what": *"stripped"'
}
ok "a file that would run as its group is stripped" set_id

# A service's files are ordinary work: noted.
noted() {
  run "mkdir -p .github/workflows; echo x >.github/workflows/ci.yml"
  [ -e .github/workflows/ci.yml ] && tail -n 1 "$ledger" | grep -q '"path": *".github/workflows/ci.yml", *"what": *"noted"'
}
ok "a workflow stays, and is noted" noted
ok "a run that writes something else leaves nothing" stays made "echo x >made"
ok "no receipt is broken by all that" helm log check

# Set-id bits from the moment a file is made, in places where nobody looks.
set_ids() {
  helm run --profile develop --guard-mode audit -- python3 -c '
import os
os.umask(0)
for d in ("", ".git", ".git/objects/aa", ".git/info", ".git/lfs", ".git/refs/x", "deep"):
    os.makedirs(d or ".", exist_ok=True)
    os.close(os.open(os.path.join(d, "set-id"), os.O_CREAT | os.O_RDWR, 0o4755))' >"$scratch/.o" 2>&1
  find . -name set-id | grep -q .git || { cat "$scratch/.o"; return 1; }
  [ -z "$(find . -perm /6000)" ] || { find . -perm /6000; return 1; }
}
ok "no set-id bit stays of a run, wherever the file is" set_ids
finish

#!/bin/sh
# Work trees that git has linked to a repository elsewhere: commits work in them as in any other, the rest of that repository stays closed,
# and a link that only one side knows opens nothing.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v git >/dev/null 2>&1 || skip_all "git is needed"
needs_terminal
fresh_workspace
# shellcheck disable=SC2154 # by lib.sh
cd "$scratch" || exit 1
git init -q -b main repo && cd repo || exit 1
git config user.email a@example.org && git config user.name A
echo one >f && git add f && git commit -qm one
git worktree add -q "$scratch/linked" -b topic 2>/dev/null
git worktree add -q "$scratch/other" -b other 2>/dev/null
cd "$scratch/linked" || exit 1
run() { helm profile run workspace_edit --guard-mode audit --workspace "$ws" -- "$@"; }
run true >/dev/null 2>&1 || skip_all "this machine cannot put up the walls"

ok "a commit" exits 0 run sh -c 'echo two >f && git add f && git commit -qm two && git stash list'
ok "is in the repository" sh -c 'git -C "$0/repo" log --format=%s topic | grep -qx two' "$scratch"
ok "a branch and a stash, too" exits 0 run sh -c 'git branch extra && echo dirty >>f && git stash -q && git stash drop -q'
shut() { # shut TEXT FILE: it is tried, and the file of the repository is as it was
  before=$(cat "$2" 2>/dev/null)
  run sh -c "$1" >"$scratch/.said" 2>&1
  [ "$(cat "$2" 2>/dev/null)" = "$before" ] && return 0
  cat "$scratch/.said"
  return 1
}
ok "its configuration stays closed" shut "git config core.fsmonitor 'touch pwned'" "$scratch/repo/.git/config"
ok "its hooks" shut "echo 'touch pwned' >'$scratch/repo/.git/hooks/pre-commit'" "$scratch/repo/.git/hooks/pre-commit"
ok "what is checked out there" shut "echo 'ref: refs/heads/other' >'$scratch/repo/.git/HEAD'" "$scratch/repo/.git/HEAD"
ok "its files" shut "echo x >'$scratch/repo/f'" "$scratch/repo/f"
ok "and what it keeps of further work trees" shut "echo x >'$scratch/repo/.git/worktrees/other/HEAD'" "$scratch/repo/.git/worktrees/other/HEAD"
ok "where it leads is put back" shut "echo 'gitdir: $scratch/elsewhere' >.git" .git
arm() { run sh -c "printf '[core]\n\tfsmonitor = touch pwned\n' >'$scratch/repo/.git/worktrees/linked/config.worktree'"; [ ! -e "$scratch/repo/.git/worktrees/linked/config.worktree" ]; }
ok "settings of its own that start something are held" arm
both() { # the way there is hidden at the same time
  run sh -c "printf '[core]\n\tfsmonitor = touch pwned\n' >'$scratch/repo/.git/worktrees/linked/config.worktree'; rm .git"
  [ ! -e "$scratch/repo/.git/worktrees/linked/config.worktree" ] && git status --short >/dev/null
}
ok "also when it takes the link away" both

# A run in the repository itself can put a link in the place of what runs in its linked trees may write.
through() {
  mkdir -p "$scratch/elsewhere.d" && mv "$scratch/repo/.git/logs" "$scratch/logs.away" && ln -s "$scratch/elsewhere.d" "$scratch/repo/.git/logs"
  run sh -c "echo x >'$scratch/elsewhere.d/made'" >"$scratch/.said" 2>&1
  rm "$scratch/repo/.git/logs" && mv "$scratch/logs.away" "$scratch/repo/.git/logs"
  [ ! -e "$scratch/elsewhere.d/made" ]
}
ok "a link in the place of its logs opens nothing" through

# ---- links of one side ----
git init -q "$scratch/victim" && mkdir -p "$scratch/victim/.git/worktrees/w" "$scratch/forged"
echo ../.. >"$scratch/victim/.git/worktrees/w/commondir"
echo "ref: refs/heads/main" >"$scratch/victim/.git/worktrees/w/HEAD"
echo "$scratch/nobody/.git" >"$scratch/victim/.git/worktrees/w/gitdir"
cd "$scratch/forged" || exit 1
echo "gitdir: $scratch/victim/.git/worktrees/w" >.git
made="$scratch/victim/.git/refs/heads/made"
ok "a link that the repository does not know opens nothing" shut "echo x >'$made'" "$made"
echo "$scratch/forged/.git" >"$scratch/victim/.git/worktrees/w/gitdir"
ok "one that both sides know does" sh -c '"$@"; test -e "$0"' "$made" env HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" profile run workspace_edit --guard-mode audit --workspace "$ws" -- sh -c "echo x >'$made'"
rm -f "$made"
echo "../../../repo/.git" >"$scratch/victim/.git/worktrees/w/commondir"
ok "one whose common directory is another one does not" shut "echo x >'$made'" "$made"

# ---- what can be lost ----
cd "$scratch/linked" || exit 1
# shellcheck disable=SC2016 # words of the shell inside
ok "a loss that is not known beforehand is asked about, because the repository could be lost, too" says 24 "its repository lies elsewhere" helm run --profile develop --workspace "$ws" -- sh -c 'D=$(echo sub); rm -rf "$D"'
mkdir sub && echo x >sub/x
ok "one that is written out is saved first" says 0 "can be undone with" helm run --profile develop --workspace "$ws" -- rm -rf sub
finish

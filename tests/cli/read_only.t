#!/bin/sh
# A disk that is mounted read-only: everything that only looks works as ever, and what writes says that it cannot.
# shellcheck disable=SC2016,SC2317 # for another shell; called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

unshare --user --map-root-user --mount true 2>/dev/null || skip_all "this user cannot make a mount namespace here"
fresh_workspace
echo one >notes.txt
helm checkpoint create --label one >/dev/null
helm run --task-id first -- true >/dev/null 2>&1
helm run -- false >/dev/null 2>&1
helm memory write --layer long_term_memory --text 'The build needs gcc 12' >/dev/null
helm log head --sign >/dev/null
cat >"$scratch/closed" <<'END'
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && cd "$1/project" || exit 99
shift
exec env -i PATH="$PATH" HOME="$HOME" LC_ALL=C.UTF-8 "$@"
END
closed() { HOME=$scratch/home unshare --user --map-root-user --mount sh "$scratch/closed" "$scratch" "$HELM_REAL" "$@" </dev/null; }
for index in without with; do
  [ $index = without ] || helm report >/dev/null
  while read -r words; do
    # shellcheck disable=SC2086 # words on purpose
    ok "$index an index: $words" exits 0 closed $words
  done <<'END'
status
status --json
report
task list
task show first --history
receipts list
log check
log check --all
log head
log prove 1
log consistency 1
checkpoint list
checkpoint show one
checkpoint check --read-data
checkpoint restore one --dry-run
checkpoint prune
key history
key show
approval list
freeze status
workspace show
context pack --budget 500 --task gcc
memory verify
guard check -- ls
profile list
failures list
dashboard
fleet status
policy show
operator-file list
END
done
ok "a run says that nothing can be recorded, and is not done" says 1 "ead-only" closed run -- true
ok "so does a checkpoint" says 1 "ead-only" closed checkpoint create --label two
finish

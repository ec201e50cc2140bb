#!/bin/sh
# checkpoint: save, look, damage, bring back, keep, remove.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
needs_terminal

ws=$scratch/w
helm init --path "$ws" >/dev/null
HELM_ENV="HELM_WORKSPACE=$ws"
mkdir -p "$ws/src/empty" "$ws/.git"
echo "int main;" >"$ws/src/main.c"
echo "all:" >"$ws/Makefile"
echo "ref" >"$ws/.git/HEAD"
ln -s main.c "$ws/src/link"
chmod 755 "$ws/Makefile"
field() { # field NAME FILE: a member of a one-object JSON document
  sed -n 's/^ *"'"$1"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$2" | head -1
}
holds() { # holds FILE TEXT
  [ "$(cat "$1")" = "$2" ] || { echo "$1 is: $(cat "$1")"; return 1; }
}

ok "list before the first" says 0 "no checkpoints of $ws yet" helm checkpoint list
ok "list --json before the first" says 0 "[]" helm checkpoint list --json
ok "an unknown id is exit 1" says 1 "no checkpoint 'nope'" helm checkpoint show nope
ok "dry run counts" says 0 "would save" helm checkpoint create --dry-run
ok "and writes nothing" sh -c '[ -z "$(ls "$0/.helm/checkpoints")" ]' "$ws"
ok "a bad label is a usage error" says 2 "label '../x'" helm checkpoint create --label ../x
ok "a path outside is refused" says 1 "outside the workspace" helm checkpoint create --include /etc
ok "a missing path is refused" says 1 "no such file" helm checkpoint create --include gone
ok "the state is refused" says 1 "Helm's own state" helm checkpoint create --include .helm
ok "nothing was left by the errors" sh -c '[ -z "$(ls "$0/.helm/checkpoints")" ]' "$ws"

ok "create prints the record" is_json helm checkpoint create --label first --json
cp "$scratch/.stdout" first.json
id=$(field checkpoint_id first.json)
ok "it has the original's members" sh -c 'for m in checkpoint_id label created_at paths archive; do grep -q "\"$m\"" first.json || exit 1; done'
ok "list shows it" says 0 "$id" helm checkpoint list
ok "show by beginning" says 0 "restore=helm checkpoint restore $id" helm checkpoint show "$(echo "$id" | cut -c1-12)"
ok "preview lists files" says 0 '"src/main.c"' helm checkpoint preview latest --json
ok "preview is JSON" is_json helm checkpoint preview "$id" --json
ok "without .git" sh -c '! grep -q HEAD "$0"' "$scratch/.stdout"

echo "int broken;" >"$ws/src/main.c"
echo "new" >"$ws/src/new.c"
rm "$ws/Makefile" "$ws/src/link"
rmdir "$ws/src/empty"
echo "lost" >"$ws/.git/HEAD"
ok "preview --diff shows the way back" says 0 "+int main;" helm checkpoint preview "$id" --diff
ok "and what is missing" grep -q "^missing  *Makefile" "$scratch/.stdout"
ok "and what is new" grep -q "^new  *src/new.c" "$scratch/.stdout"
ok "preview --diff --json is JSON" is_json helm checkpoint preview "$id" --diff --json
ok "--only narrows" says 0 '"src/main.c"' helm checkpoint preview "$id" --only src --json
ok "dry run of a restore" says 0 "nothing was changed" helm checkpoint restore "$id" --dry-run
ok "changes nothing" holds "$ws/src/main.c" "int broken;"
ok "restore one file" says 0 "written=1" helm checkpoint restore "$id" --only "$ws/src/main.c"
ok "it is back" holds "$ws/src/main.c" "int main;"
ok "the rest is not" test ! -e "$ws/Makefile"
ok "restore all" is_json helm checkpoint restore "$id" --json
ok "mode" sh -c '[ "$(stat -c %a "$0/Makefile")" = 755 ]' "$ws"
ok "link" sh -c '[ "$(readlink "$0/src/link")" = main.c ]' "$ws"
ok "empty directory" test -d "$ws/src/empty"
ok "new files stay" test -e "$ws/src/new.c"
ok ".git is not touched" holds "$ws/.git/HEAD" lost
ok "the restore is in the ledger" grep -q '"task_name": "checkpoint restore '"$id"'"' "$ws/.helm/task-ledger.jsonl"
ok "twice: begun and done" sh -c '[ "$(grep -c "checkpoint restore" "$0")" = 4 ]' "$ws/.helm/task-ledger.jsonl"
ok "--delete-new removes them" says 0 "deleted=1" helm checkpoint restore "$id" --delete-new
ok "really" test ! -e "$ws/src/new.c"
ok "the safety checkpoint has them" says 0 "pre-restore" helm checkpoint list
safety=$(helm checkpoint list --json | sed -n 's/.*"checkpoint_id": "\(.*pre-restore[^"]*\)".*/\1/p' | tail -n 1)
ok "latest is not the safety checkpoint" says 0 "written=0" helm checkpoint restore latest
ok "nor is any name but its whole id" says 1 "no checkpoint" helm checkpoint restore pre-restore
ok "nor a part of it" says 1 "no checkpoint" helm checkpoint show "${safety%?}"
ok "its id brings them back" helm checkpoint restore "$safety"
ok "as promised" holds "$ws/src/new.c" new
echo "int other;" >"$ws/src/main.c"
asked_once() { # what differs is shown with the question, and not again with the answer
  terminal y -- helm checkpoint restore "$id" --only "$ws/src/main.c" >"$scratch/asked" 2>&1
  grep -q "new files stay" "$scratch/asked" && grep -q "written=1" "$scratch/asked" && [ "$(grep -c "src/main.c" "$scratch/asked")" = 1 ] && return 0
  cat "$scratch/asked"
  return 1
}
ok "at a terminal it shows what differs once, and asks" asked_once
echo "int damaged;" >"$ws/src/main.c"
ok "latest once" helm checkpoint restore latest
ok "latest twice does not bring the damage back" helm checkpoint restore latest
ok "as it was saved" holds "$ws/src/main.c" "int main;"

ok "a path that is not in it is an error" says 1 "'src/nope.c' is not in checkpoint '$id'" helm checkpoint restore "$id" --only src/nope.c
echo "int damaged;" >"$ws/src/main.c"
ok "also beside one that is" says 1 "'nope'" helm checkpoint restore "$id" --only src/main.c --only nope
ok "and nothing is restored" holds "$ws/src/main.c" "int damaged;"
ok "nor previewed" says 1 "'src/nope.c' is not in" helm checkpoint preview "$id" --only src/nope.c
ok "a new file is not in it" says 1 "'src/new.c' is not in" helm checkpoint restore "$id" --only src/new.c
ok "but can be removed" says 0 "deleted=1" helm checkpoint restore "$id" --only src/new.c --delete-new
ok "a directory that is in it" says 0 "written=1" helm checkpoint restore "$id" --only src

: >"$ws/src/.helm-restore-1f"
echo "int damaged;" >"$ws/src/main.c"
ok "what an interrupted restore left is removed by the next" says 0 "removed leftover src/.helm-restore-1f" helm checkpoint restore "$id"
ok "really" test ! -e "$ws/src/.helm-restore-1f"
: >"$ws/src/.helm-restore-2"
leftovers_noted() { doctor_row | grep '^True '; }
doctor_row() { helm doctor --skip-discovery --json | python3 -c 'import json,sys; [print(c["ok"], c["detail"]) for c in json.load(sys.stdin)["checks"] if c["name"] == "checkpoint_leftovers"]'; }
ok "doctor names it and what removes it, and it is no damage" says 0 "helm checkpoint prune --apply" leftovers_noted
ok "prune does" says 0 "removed leftover src/.helm-restore-2" helm checkpoint prune --apply
ok "doctor is content then" says 0 "checkpoint_leftovers" helm doctor --skip-discovery

# Labels are names.
ok "a reserved label is a usage error" says 2 "reserved" helm checkpoint create --label pre-restore
ok "so is latest" says 2 "reserved" helm checkpoint create --label latest
helm checkpoint create --label before-risky-work >/dev/null
echo "int risky;" >"$ws/src/main.c"
ok "restore by label" says 0 "written=1" helm checkpoint restore before-risky-work
ok "it is back" holds "$ws/src/main.c" "int main;"
helm checkpoint create --label before-risky-work >/dev/null
ok "twice the same files are one name" exits 0 helm checkpoint show before-risky-work
echo "int risky;" >"$ws/src/main.c"
helm checkpoint create --label before-risky-work >/dev/null
ok "different files are not" says 1 "give an id: 2" helm checkpoint restore before-risky-work
ok "it says how many" says 1 "3 checkpoints are labelled 'before-risky-work'" helm checkpoint show before-risky-work
helm checkpoint restore "$id" --delete-new >/dev/null

ok "what cannot be recorded is not done" sh -c 'echo damaged >"$0/Makefile"; rm "$0/.helm/task-ledger.jsonl"; mkdir "$0/.helm/task-ledger.jsonl"' "$ws"
ok "it says so" exits 1 helm checkpoint restore "$id"
ok "the file is as it was" holds "$ws/Makefile" damaged
rmdir "$ws/.helm/task-ledger.jsonl"

printf '*.o\n' >"$ws/.helmignore"
: >"$ws/x.o"
: >"$ws/y.tmp"
ok "ignore rules" helm checkpoint create --label ignore --exclude '*.tmp'
helm checkpoint preview latest --json >"$scratch/preview"
ok "leave out what they say" sh -c '! grep -qE "x\.o|y\.tmp" "$0" && grep -q helmignore "$0"' "$scratch/preview"
helm checkpoint list --limit 1 --json >"$scratch/.one"
ok "--limit 1 gives one" sh -c '[ "$(grep -c checkpoint_id "$0")" = 1 ]' "$scratch/.one"
ok "a negative limit is a usage error" exits 2 helm checkpoint list --limit -1

ok "policy defaults" says 0 "source=default" helm checkpoint policy
echo '{"keep_recent": 1, "keep_days": 0}' >"$ws/references/checkpoint_policy.json"
ok "the tree's own policy loses nothing sooner" says 0 "keep_recent=5" helm checkpoint policy
ok "which is told" says 0 "as far as it is stricter" helm checkpoint policy
ok "doctor and status name the file" says 0 "checkpoint_policy.json is the tree's own" helm workspace show
ok "what it would lose is shown, and a person accepts it" says 0 "only the newest 1" terminal TRUST -- helm workspace trust
ok "policy from its file" says 0 "keep_recent=1" helm checkpoint policy
echo '{"keep_recent": 0, "keep_days": 0}' >"$ws/references/checkpoint_policy.json"
ok "changed since, what was accepted holds" says 0 "keep_recent=1" helm checkpoint policy
ok "protect" says 0 "pinned" helm checkpoint protect "$id"
n=$(helm checkpoint list --json | grep -c checkpoint_id)
ok "prune only says" says 0 "would remove" helm checkpoint prune
ok "nothing went" sh -c '[ "$(grep -c checkpoint_id "$0/.helm/checkpoints/index.json")" = '"$n"' ]' "$ws"
ok "prune --apply --json" is_json helm checkpoint prune --apply --json
ok "left are the pinned one, the newest, and the newest that a restore made" sh -c '[ "$(grep -c checkpoint_id "$0/.helm/checkpoints/index.json")" = 3 ] && grep -q pre-restore "$0/.helm/checkpoints/index.json"' "$ws"
ok "the pinned one still restores" helm checkpoint restore "$id"
ok "unprotect" says 0 "no longer pinned" terminal -- helm checkpoint protect "$id" --unprotect
rm "$ws/references/checkpoint_policy.json"
terminal TRUST -- helm workspace trust >/dev/null
ok "a file that is gone and let go: the defaults" says 0 "source=default" helm checkpoint policy
echo '{"keep_recent": "many"}' >"$ws/references/checkpoint_policy.json"
ok "a bad policy is named" says 1 "keep_recent must be" helm checkpoint policy
bad_policy() { # bad_policy TEXT ANSWER: nobody saves or removes by a policy that is not understood
  printf '%s' "$1" >"$ws/references/checkpoint_policy.json"
  says 1 "$2" helm checkpoint policy && exits 1 helm checkpoint prune --apply && exits 1 helm checkpoint create
}
ok "patterns that are no list" bad_policy '{"exclude": "*.o"}' "a list of patterns"
ok "a pattern that is none" bad_policy '{"exclude": [1]}' "a list of patterns"
ok "a policy that is no object" bad_policy '[]' "one object"
ok "a policy that is no JSON" bad_policy '{' "checkpoint_policy.json"
rm "$ws/references/checkpoint_policy.json"
mkdir "$ws/references/checkpoint_policy.json"
ok "a policy that cannot be read is not a default" says 1 "checkpoint_policy.json" helm checkpoint policy
rmdir "$ws/references/checkpoint_policy.json"
own_state() { # saved for whoever looks at it later, and never put back
  echo before >"$ws/.helm/mark" && helm checkpoint create --label state --include-state --exclude '*.c' >/dev/null || return 1
  echo now >"$ws/.helm/mark"
  says 0 '".helm/mark"' helm checkpoint preview latest --diff --json || return 1
  if grep -F "Helm's own state" "$scratch/.stdout"; then return 1; fi # there to be looked at
  helm checkpoint restore latest >/dev/null && holds "$ws/.helm/mark" now
}
ok "Helm's state is not put back, even when it was saved" own_state
rm -f "$ws/.helm/mark"

rm -f "$ws/.helm/task-ledger.jsonl"
ok "nothing risky" says 0 "no risky task" helm checkpoint recommend
printf '%s\n' '{"task_id": "t1", "task_name": "one", "profile": "risky_edit", "status": "running", "started_at": "2020-01-01T00:00:00+00:00", "checkpoint_id": "'"$id"'"}' \
  'not json' \
  '{"task_id": "t1", "task_name": "one", "profile": "risky_edit", "status": "completed", "started_at": "2020-01-01T00:00:00+00:00", "checkpoint_id": "'"$id"'", "memory_capture": {"finalization_status": "capture_planned", "relevant": true}}' \
  '{"task_id": "t2", "task_name": "two", "profile": "risky_edit", "status": "failed", "started_at": "2019-01-01T00:00:00+00:00"}' \
  '{"task_id": "t3", "task_name": "three", "profile": "inspect_local", "status": "completed", "started_at": "2031-01-01T00:00:00+00:00"}' >"$ws/.helm/task-ledger.jsonl"
ok "the newest risky task, its last row" says 0 "status=completed" helm checkpoint recommend
ok "its own checkpoint" says 0 "relation=attached" helm checkpoint-recommend
ok "before the damage" says 0 "relation=before" helm checkpoint recommend --task-id t3
ok "only a younger one: said so" says 0 "may hold the damage" helm checkpoint recommend --task-id t2
ok "an unknown task" says 1 "no task 'zzz'" helm checkpoint recommend --task-id zzz
ok "recommend --json" is_json helm checkpoint recommend --json
ok "finalize" says 0 "finalization_status=capture_planned" helm checkpoint finalize
ok "finalize --json" is_json helm checkpoint finalize --json
ok "a checkpoint that a task names is kept" says 0 "keep=" helm checkpoint prune --keep-recent 0 --keep-days 0 --apply
ok "really" says 0 "$id" helm checkpoint list

# A damaged index: said, repaired, and as it was; a new checkpoint heals it by itself.
helm checkpoint list --limit 0 --json >"$scratch/.before"
printf '[{"checkpoint_id":' >"$ws/.helm/checkpoints/index.json"
ok "a damaged index is no empty list" says 1 "helm checkpoint repair" helm checkpoint list
ok "nor for a restore" says 1 "helm checkpoint repair" helm checkpoint restore "$id"
ok "doctor names the repair" says 1 "helm checkpoint repair" helm doctor --skip-discovery
ok "status, too" says 0 "helm checkpoint repair" helm status
ok "check finds it" says 1 "helm checkpoint repair" helm checkpoint check
ok "check --json" is_json helm checkpoint check --read-data --json
ok "a dry run changes nothing" says 0 "would be made anew" helm checkpoint repair --dry-run
ok "really" holds "$ws/.helm/checkpoints/index.json" '[{"checkpoint_id":'
ok "repair makes it anew" says 0 "nothing is lost" helm checkpoint repair --yes
same_list() { helm checkpoint list --limit 0 --json | cmp - "$scratch/.before"; }
ok "and it is as it was" same_list
ok "check is content" says 0 "no damage found" helm checkpoint check --read-data
ok "the old one is kept" sh -c 'cat "$0"/.helm/checkpoints/damaged/index-*' "$ws"
ok "the repair is on record" grep -q '"task_name": "checkpoint repair"' "$ws/.helm/task-ledger.jsonl"
ok "repairing again changes nothing" says 0 "nothing to repair" helm checkpoint repair
rm "$ws/.helm/checkpoints/index.json"
ok "a missing index is no empty list" says 1 "is missing" helm checkpoint list
heals() {
  helm checkpoint create --label healed >"$scratch/.out" 2>"$scratch/.heals" || { cat "$scratch/.heals"; return 1; }
  grep -q "made anew" "$scratch/.heals" && helm checkpoint create >/dev/null 2>"$scratch/.heals" && ! grep -q "made anew" "$scratch/.heals"
}
ok "a checkpoint heals it, and says so once" heals
ok "with everything in it" says 0 "$id" helm checkpoint list --limit 0
: >"$ws/.helm/checkpoints/index.json"
ok "a run that must save first is not stopped" exits 0 helm run --profile risky_edit -- true
ok "its ledger entry says what was healed" grep -q '"checkpoint_note": "the list of checkpoints was damaged' "$ws/.helm/task-ledger.jsonl"

# Restore: what cannot come back is named, the others come, and the exit code and the ledger say so.
rm -rf "$ws/ten" && mkdir "$ws/ten"
for n in 0 1 2 3 4 5 6 7 8 9; do echo "content of file $n" >"$ws/ten/f$n"; done
helm checkpoint create --label ten --include ten >/dev/null
last_row() { tail -n 1 "$ws/.helm/task-ledger.jsonl"; }
one_bad() {
  pack=$(grep -l "content of file 4" "$ws"/.helm/checkpoints/objects/*.pack)
  at=$(grep -abo "content of file 4" "$pack" | head -n 1 | cut -d: -f1)
  printf X | dd of="$pack" bs=1 seek="$at" conv=notrunc 2>/dev/null
  rm "$ws"/ten/f*
  says 1 "not back: ten/f4 (damaged in the store" helm checkpoint restore ten 2>&1
}
ok "one bad object of ten: named, exit 1" one_bad
ok "the nine others are back" sh -c '[ "$(ls "$0/ten" | wc -l)" = 9 ]' "$ws"
ok "the ledger says failed" sh -c 'printf %s "$0" | grep -q "\"status\": \"failed\"" && printf %s "$0" | grep -q "ten/f4"' "$(last_row)"
ok "counts and paths for programs" says 1 '"not_back": 1' helm checkpoint restore ten --json
ok "check --read-data names checkpoint, file and pack" says 1 "ten ten/f4 pack-" helm checkpoint check --read-data
ok "repair names what is lost" says 1 "ten/f4" helm checkpoint repair --yes
ok "then check is content" says 0 "lost and named by an earlier repair" helm checkpoint check --read-data
ok "a restore still says that it is not back" says 1 "not back: ten/f4 (lost in the store)" helm checkpoint restore ten
ok "without it, all is back" exits 0 helm checkpoint restore ten --only ten/f3
ok "prune works again" exits 0 helm checkpoint prune --apply
for n in 0 1 2 3 4 5 6 7 8 9; do echo "content of file $n" >"$ws/ten/f$n"; done
helm checkpoint create --label ten2 --include ten >/dev/null

immutable() {
  echo changed >"$ws/ten/f1" && chattr +i "$ws/ten/f1" || return 1
  echo changed >"$ws/ten/f2"
  says 1 "not back: ten/f1 (not permitted" helm checkpoint restore ten2
  rc=$?
  chattr -i "$ws/ten/f1"
  [ $rc = 0 ] && grep -q "not_back=1" "$scratch/.stdout" && holds "$ws/ten/f2" "content of file 2"
}
: >"$ws/ten/f1"
if chattr +i "$ws/ten/f1" 2>/dev/null && chattr -i "$ws/ten/f1" 2>/dev/null; then
  ok "an immutable file: named, exit 1, the others come back" immutable
  ok "the ledger says failed, too" sh -c 'printf %s "$0" | grep -q "\"status\": \"failed\""' "$(last_row)"
else
  skip "an immutable file" "chattr is refused here"
fi
helm checkpoint restore ten2 >/dev/null 2>&1
mounted() { # mounted TYPE: ten/sub is a read-only mount, or a full small one
  mkdir -p "$ws/ten/sub"
  echo inside >"$ws/ten/sub/x"
  echo inside >"$ws/ten/sub/y"
  helm checkpoint create --label "mounts-$1" --include ten >/dev/null || return 1
  echo changed >"$ws/ten/f2"
  echo changed >"$ws/ten/sub/x"
  case $1 in
  ro) do='mount --bind "$1/ten/sub" "$1/ten/sub" && mount -o remount,bind,ro "$1/ten/sub"' ;;
  full) do='mount -t tmpfs -o size=4k none "$1/ten/sub" && dd if=/dev/zero of="$1/ten/sub/zero" bs=4096 count=1 2>/dev/null' ;;
  esac
  # shellcheck disable=SC2016 # for the shell inside
  unshare -m sh -c "$do"' && exec env HOME="$3" HELM_WORKSPACE="$1" "$2" checkpoint restore "mounts-$4"' sh "$ws" "$HELM_REAL" "$scratch/home" "$1" >"$scratch/.mounted" 2>&1
  rc=$?
  cat "$scratch/.mounted"
  [ $rc = 1 ] && grep -q "not back: ten/sub/x ($2" "$scratch/.mounted" && holds "$ws/ten/f2" "content of file 2"
}
# shellcheck disable=SC2016
if unshare -m sh -c 'mount -t tmpfs none "$0"' "$scratch" 2>/dev/null; then
  ok "a read-only mount: named, exit 1, the others come back" mounted ro "read-only file system"
  ok "a full disk, too" mounted full "disk full"
else
  skip "a read-only mount and a full disk" "mounting is refused here"
fi
unreadable() {
  echo changed >"$ws/ten/f1" && chmod 000 "$ws/ten/f1"
  echo changed >"$ws/ten/f2"
  says 1 "not back: ten/f1 (what is there now cannot be saved first" helm checkpoint restore ten2 || return 1
  holds "$ws/ten/f2" "content of file 2" && helm checkpoint restore ten2 --no-backup && holds "$ws/ten/f1" "content of file 1"
}
if [ "$(id -u)" = 0 ]; then
  skip "a file that cannot be read" "root reads every file"
else
  ok "a file that cannot be saved first is not replaced, the others come back" unreadable
fi
echo lost >"$ws/.git/HEAD"
helm checkpoint create --label vcs --include-git >/dev/null
echo other >"$ws/.git/HEAD"
ok "what is left alone on purpose is no failure" exits 0 helm checkpoint restore vcs
ok "unless that very path was asked for" says 1 "not back: .git/HEAD (version-control data)" helm checkpoint restore vcs --only .git/HEAD

# A checkpoint that fails or is killed leaves nothing that doctor calls damage, and the next one removes it.
killed() {
  echo "$1" >"$ws/ten/f9"
  HELM_ENV="HELM_WORKSPACE=$ws HELM_TEST_KILL_AT=$1"
  helm_twin checkpoint create --label killed >/dev/null 2>&1
  HELM_ENV="HELM_WORKSPACE=$ws"
  leftovers_noted || return 1
  helm checkpoint create --label next >/dev/null 2>&1 || return 1
  left=$(find "$ws/.helm/checkpoints" -name 'tmp-*' -o -name '.*.tmp')
  [ -z "$left" ] || { echo "$left"; return 1; }
}
killed_anywhere() { for n in 1 2 3 4 5 6 7 8 9 10 12 14; do killed $n || { echo "at $n"; return 1; }; done; }
ok "killed anywhere, nothing is left but a note" killed_anywhere
failed() {
  for n in 2 3 4 5 6 7 8 9 10; do
    echo "failed $n" >"$ws/ten/f9"
    HELM_ENV="HELM_WORKSPACE=$ws HELM_TEST_FAIL_AT=$n:ENOSPC"
    helm_twin checkpoint create --label failed >/dev/null 2>&1
    HELM_ENV="HELM_WORKSPACE=$ws"
    left=$(find "$ws/.helm/checkpoints" -name 'tmp-*' -o -name '.*.tmp')
    [ -z "$left" ] || { echo "at $n: $left"; return 1; }
  done
}
ok "a failed one leaves no temporary file" failed

# A full disk at every write: the command fails in one line, and what was there is whole.
rm -rf "$ws/.helm/checkpoints" "$ws/.helm/task-ledger.jsonl"
helm checkpoint create --label base >/dev/null
base=$(helm checkpoint list --json | sed -n 's/.*"checkpoint_id": "\(.*\)",/\1/p')
echo "changed" >"$ws/Makefile"
full() {
  for n in 1 3 5 8 13 21; do
    HELM_ENV="HELM_WORKSPACE=$ws HELM_TEST_FAIL_AT=$n+:ENOSPC"
    helm_twin checkpoint create --label full >"$scratch/.full" 2>&1 && { [ "$n" -gt 20 ] || { echo "created at $n"; return 1; }; }
    [ "$(wc -l <"$scratch/.full")" -le 3 ] || [ "$n" -gt 20 ] || { cat "$scratch/.full"; return 1; }
    HELM_ENV="HELM_WORKSPACE=$ws"
    helm checkpoint show "$base" >/dev/null || return 1
  done
}
ok "a full disk" full
ok "restores after all of that" helm checkpoint restore "$base"
ok "as it was" sh -c '! grep -q changed "$0/Makefile"' "$ws"

# A checkpoint of the program Helm descends from: a tar.gz with everything in it, the state too.
old=20200413T091000Z-old
rm -rf "$ws/.helm/checkpoints"
mkdir -p "$ws/.helm/checkpoints/$old"
cp "$HELM_SOURCE/tests/cases/checkpoint-old.tar.gz" "$ws/.helm/checkpoints/$old/snapshot.tar.gz"
printf '[{"checkpoint_id": "%s", "label": "old", "created_at": "20200413T091000Z", "paths": ["docs"], "archive": ".helm/checkpoints/%s/snapshot.tar.gz", "note": "kept"}]' \
  "$old" "$old" >"$ws/.helm/checkpoints/index.json"
echo '{"task_id": "today"}' >"$ws/.helm/task-ledger.jsonl"
rm -rf "$ws/docs" && mkdir "$ws/docs"
printf 'new text\nsecond line\n' >"$ws/docs/a.md"
ok "an old checkpoint is listed" says 0 "$old" helm checkpoint list
ok "and previewed" says 0 '"docs/run.sh"' helm checkpoint preview "$old" --json
ok "with its long names" grep -q "nnnnnnnnnn.md" "$scratch/.stdout"
ok "with diffs" says 0 "+old text" helm checkpoint preview "$old" --diff
ok "a preview wrote nothing" test ! -e "$ws/.helm/checkpoints/objects"
ok "and restored" says 0 "unchanged=" helm checkpoint restore "$old"
ok "content" holds "$ws/docs/a.md" "old text
second line"
ok "mode" test -x "$ws/docs/run.sh"
ok "a hard link's content" cmp "$ws/docs/a.md" "$ws/docs/zhard.md"
ok "link" sh -c '[ "$(readlink "$0/docs/link")" = a.md ]' "$ws"
ok "empty directory" test -d "$ws/docs/sub/empty"
ok "time" sh -c '[ "$(stat -c %Y "$0/docs/a.md")" = 1586769000 ]' "$ws"
ok "a link that leads outside is left out" sh -c '! [ -L "$0/docs/outside" ]' "$ws"
ok "the ledger is not the archive's" grep -q today "$ws/.helm/task-ledger.jsonl"
ok "nor has it lost anything to it" sh -c '! grep -q "from the archive" "$0"' "$ws/.helm/task-ledger.jsonl"
ok "the old record keeps its members" grep -q '"note": "kept"' "$ws/.helm/checkpoints/index.json"
printf 'x' | dd of="$ws/.helm/checkpoints/$old/snapshot.tar.gz" bs=1 seek=300 conv=notrunc 2>/dev/null
echo damaged >"$ws/docs/a.md"
ok "a damaged archive is exit 1" exits 1 helm checkpoint restore "$old"
ok "and nothing is written" holds "$ws/docs/a.md" damaged
rm "$ws/.helm/checkpoints/$old/snapshot.tar.gz"
ok "a missing archive is exit 1" says 1 "cannot open the archive" helm checkpoint restore "$old"
ok "prune --apply removes the whole directory" helm checkpoint prune --keep-recent 0 --keep-days 0 --apply
ok "really" test ! -e "$ws/.helm/checkpoints/$old"
finish

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
ok "doctor names it and what removes it" says 1 "helm checkpoint prune --apply" helm doctor --skip-discovery
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

printf '[{"checkpoint_id":' >"$ws/.helm/checkpoints/index.json"
ok "a damaged index is no empty list" says 1 "put it back from a copy" helm checkpoint list
ok "and an error for create" exits 1 helm checkpoint create
ok "which leaves it alone" holds "$ws/.helm/checkpoints/index.json" '[{"checkpoint_id":'

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

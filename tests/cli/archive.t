#!/bin/sh
# archive: closed files go to another place on record; they are checked there, missed there, and come back.
# shellcheck disable=SC2154 # scratch is lib.sh's
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
store=$HELM_BUILD/tests/store_tool
ws=$scratch/ws state=$scratch/ws/.helm
helm init --path "$ws" >/dev/null
cd "$ws" || exit 1
keys=$scratch/home/.helm/keys
# 3,000 receipts, one and a half seconds apart, in files of about 1,000.
"$store" "$state" "$keys" 3000 0 1000000 1700000000000000 1500000 || exit 1
day=2023-11-16 # behind all of them
hour=2023-11-14T23:00:00Z # behind the first file
restart() { rm -rf "$ws" "$scratch/archive" "$scratch/home/.helm/trees"; cp -a "$scratch/whole" "$ws"; cd "$ws" || exit 1; }

ok "sound before" says 0 "sound" helm log check
cp -a "$ws" "$scratch/whole"
ok "the moment must be said" exits 2 helm archive
ok "and be one" says 2 "takes a time, and 'soon' is none; write 2d, 36h" helm archive --before soon
ok "not into the state" says 1 "inside the workspace" helm archive --yes --before $day --to "$state/old"
ok "a dry run says what would go" says 0 "would move 2 files" helm archive --before $day --dry-run
ok "and moves nothing" test -f "$state/receipts-000001.jsonl"
ok "nothing is old enough" says 0 "nothing was moved" helm archive --before 2001-01-01
ok "one file is" says 0 "moved 1 file to" helm archive --yes --before $hour --to "$scratch/archive"
ok "it is there" test -f "$scratch/archive/receipts-000001.jsonl"
ok "and not here" test ! -e "$state/receipts-000001.jsonl"
ok "the receipt is in the chain" grep -q '"effect_id":"helm.log/archive"' "$state/receipts.jsonl"
ok "it is checked where it is now" says 0 "sound   3003 receipts in 3 files" helm log check --all
ok "a program is told where" says 0 '"archived_to"' helm log check --json
ok "work goes on" exits 0 helm run -- true
rm "$state/log/edge"
ok "also without the edge" exits 0 helm run -- true
ok "its receipts are still listed" says 0 "3007" helm receipts list --limit 0
ok "a proof says where the receipt is" says 0 "$scratch/archive" helm log prove 5
ok "the pack has all of them" says 0 "Exported" helm evidence export --all --out "$scratch/p.tar"
ok "and verifies" says 0 "3007 receipts stand in the log of 3007" helm evidence verify "$scratch/p.tar" --key "$(helm key export)"
ok "the rest follows" says 0 "moved 1 file to" helm archive --yes --before $day --to "$scratch/archive"
ok "sound" says 0 "sound" helm log check

# Out of reach.
mv "$scratch/archive" "$scratch/away"
ok "a file that cannot be read is said, and no damage" says 0 "is archived at $scratch/archive" helm log check
ok "also when everything is to be read" says 0 "archived, and not looked at: 2001 receipts" helm log check --all
ok "work goes on there, too" exits 0 helm run -- true
rm "$state/log/edge"
ok "without the edge as well" exits 0 helm run -- true
ok "a proof is still possible" says 0 '"readable": false' helm log prove 5
ok "an export says what it lacks" says 0 "are archived and cannot be read" helm evidence export --all --out "$scratch/q.tar"

# Changed there.
cp -a "$scratch/away" "$scratch/archive"
sed -i '7s/"status":"[A-Z]*"/"status":"FORGED"/' "$scratch/archive/receipts-000001.jsonl"
ok "what was changed there is found" says 1 "receipt 7 (receipts-000001.jsonl line 7)" helm log check --all
rm -rf "$scratch/archive"

# Put back.
cp "$scratch"/away/receipts-*.jsonl "$state"
ok "put back, it is as before" says 0 "sound" helm log check --all
ok "nothing is archived then" says 0 '"audit_path"' helm log prove 5
ok "not even said" sh -c '! grep -q archived "$0"' "$scratch/.stdout"
ok "it can go again" says 0 "moved 2 files" helm archive --yes --before $day --to "$scratch/archive"

# Who says so.
rm "$state/receipts-000001.jsonl.archived"
ok "a file that is gone without a word is damage" says 1 "NOT SOUND" helm log check
rm -f "$state/log/edge"
mv "$state/receipts-000002.jsonl.archived" "$scratch/word"
ok "and stops the next writer" says 1 "helm log check" helm run -- true
mv "$scratch/word" "$state/receipts-000002.jsonl.archived"
printf '{"effect_id":"helm.log/archive","metadata":{"files":[{"file":"receipts-000001.jsonl"}],"to":"/nowhere"}}\n' >"$state/receipts-000001.jsonl.archived"
ok "anybody's word is none" says 1 "nobody trusted has signed" helm log check --all

# Conflicts, damage, interruption.
restart
mkdir "$scratch/archive"
echo other >"$scratch/archive/receipts-000001.jsonl"
ok "another file of that name is not replaced" says 1 "is another file" helm archive --yes --before $day --to "$scratch/archive"
ok "and nothing was removed" test -f "$state/receipts-000001.jsonl"
restart
printf 'x' | dd of="$state/receipts-000001.jsonl" bs=1 seek=100 conv=notrunc 2>/dev/null
ok "a file that has changed since it was closed stays" says 1 "helm log check" helm archive --yes --before $day --to "$scratch/archive"
ok "it is still here" test -f "$state/receipts-000001.jsonl"
each_kill() { # killed before each change of the disk: nothing is lost, and the next run finishes
  i=1
  while [ $i -le 60 ]; do
    restart
    (HELM_ENV="${HELM_ENV:-} HELM_TEST_KILL_AT=$i" helm_twin archive --yes --before $day --to "$scratch/archive") >"$scratch/.o" 2>&1
    code=$?
    exits 0 helm log check --all || { echo "killed at $i"; return 1; }
    exits 0 helm archive --yes --before $day --to "$scratch/archive" || { echo "killed at $i"; return 1; }
    exits 0 helm log check --all || { echo "killed at $i, then archived"; return 1; }
    for n in 1 2; do
      cmp -s "$scratch/whole/.helm/receipts-00000$n.jsonl" "$scratch/archive/receipts-00000$n.jsonl" || { echo "lost at $i"; return 1; }
      [ ! -e "$state/receipts-00000$n.jsonl" ] || { echo "not finished at $i"; return 1; }
    done
    [ $code -eq 0 ] && return 0
    i=$((i + 4))
  done
}
ok "killed anywhere, nothing is lost and the next run finishes" each_kill
mkdir -p "$state/segments"
echo rows >"$state/segments/command-log-000001.jsonl.zst"
touch -d 2020-01-01 "$state/segments/command-log-000001.jsonl.zst"
ok "sealed files of ledgers go, too" says 0 "segments/command-log-000001.jsonl.zst" helm archive --yes --before 2021-01-01 --to "$scratch/archive"
ok "to a place of their own" grep -qx rows "$scratch/archive/segments/command-log-000001.jsonl.zst"
ok "with a word in their place" test -f "$state/segments/command-log-000001.jsonl.zst.archived"
ok "sound at the end" says 0 "sound" helm log check --all

# ---- a closed file that a repair has taken something out of ----
restart
printf X | dd of="$state/receipts-000001.jsonl" bs=1 seek=5000 conv=notrunc 2>/dev/null
ok "one that was changed does not go" says 1 "helm log repair" helm archive --yes --before $day --to "$scratch/archive"
exits 0 helm log repair --yes
cp -a "$ws" "$scratch/mended"
ok "what a repair on record has left goes" says 0 "moved 1 file to" helm archive --yes --before $hour --to "$scratch/archive"
ok "and is sound there" says 0 "sound" helm log check --all
rm -f "$state/log/edge"
ok "work goes on without the edge" exits 0 helm run -- true
ok "and is sound after that" says 0 "sound" helm log check --all
mv "$scratch/archive" "$scratch/elsewhere"
ok "where it cannot be read, that is said" says 0 "is archived at" helm log check --all
rm -f "$state/log/edge"
ok "and work goes on" exits 0 helm run -- true
ok "the rest goes, too" says 0 "moved 1 file to" helm archive --yes --before $day --to "$scratch/archive"

# ---- leaves of archived receipts ----
restart
rm -rf "$scratch/archive" "$scratch/elsewhere"
exits 0 helm archive --yes --before $hour --to "$scratch/archive"
spoil_leaf() { printf 0000 | dd of="$state/log/leaves" bs=1 seek=$((65 * 20)) conv=notrunc 2>/dev/null; }
spoil_leaf
ok "a wrong leaf of an archived receipt is found" says 0 "1 leaves are not those of their receipts" helm log check --all
ok "and made again" says 0 "made again from the receipts" helm log repair --yes
without() { # without WORDS: the whole check is sound, and does not speak of that
  says 0 "sound" helm log check --all && ! grep -qE "$1" "$scratch/.stdout"
}
ok "really" without leaves
spoil_leaf
mv "$scratch/archive" "$scratch/elsewhere"
ok "where the receipt cannot be read, it is said who must come back" says 0 "the leaves of receipts-000001.jsonl, which is archived, are not those that were signed" helm log check --all
ok "nothing is proved with it" says 1 "do not have the root that was signed" helm log prove 5
mv "$scratch/elsewhere" "$scratch/archive"
ok "who came back is used" says 0 '"audit_path"' helm log prove 5
ok "all leaves are right then" without leaves
# Real damage beside it, when nobody can read the archive: a repair keeps the leaves that only stand there.
mv "$scratch/archive" "$scratch/elsewhere"
sed -i '500s/"receipt_id"/"receipt_iX"/' "$state/receipts.jsonl"
each_repair_kill() {
  cp -a "$ws" "$scratch/hurt"
  i=1
  while [ $i -le 80 ]; do
    rm -rf "$ws" && cp -a "$scratch/hurt" "$ws" && cd "$ws" || return 1
    (HELM_ENV="${HELM_ENV:-} HELM_TEST_KILL_AT=$i" helm_twin log repair --yes) >"$scratch/.o" 2>&1
    code=$?
    exits 0 helm log repair --yes || says 1 "nothing to repair in the chain" helm log repair --yes || { echo "killed at $i: no repair"; return 1; }
    says 0 '"audit_path"' helm log prove 5 || { echo "killed at $i: no proof of an archived receipt any more"; return 1; }
    [ $code -eq 0 ] && return 0
    i=$((i + 11))
  done
}
ok "a repair killed anywhere keeps the leaves of what is away" each_repair_kill
rm -rf "$scratch/hurt" "$scratch/elsewhere"

# ---- pieces of ledgers ----
rm -rf "$ws" "$scratch/archive" "$scratch/home/.helm/trees"
cd "$scratch" || exit 1
helm init --path "$ws" >/dev/null
cd "$ws" || exit 1
"$store" "$state" "$keys" 400 0 100000 1700000000000000 1500000 0 || exit 1
small() { env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 "$HELM_BUILD/helm-small" "$@"; }
while [ ! -e "$state/segments/waiting/task-ledger-000001.jsonl" ] && [ ! -e "$state/segments/task-ledger-000001.jsonl.zst" ]; do
  small run -- true >/dev/null 2>&1 || exit 1
done
exits 0 helm run --task-id after -- true
exits 0 helm log check --all
ok "a piece is closed and packed" test -f "$state/segments/task-ledger-000001.jsonl.zst"
ok "it goes" says 0 "segments/task-ledger-000001.jsonl.zst" helm archive --yes --before 2100-01-01 --to "$scratch/archive"
ok "its rows are compared where they are now" without "not looked at|are not there"
exits 0 helm db rebuild
ok "its tasks are shown" says 0 "status=completed" helm task show --plain task-7
sed -i 's/"task_id": "after"/"task_id": "aftex"/' "$state/task-ledger.jsonl"
ok "a row that was changed here is found beside it" says 1 "ledger entries of task after" helm log check --all
sed -i 's/"task_id": "aftex"/"task_id": "after"/' "$state/task-ledger.jsonl"
cp "$scratch/archive/segments/task-ledger-000001.jsonl.zst" "$scratch/piece"
printf X | dd of="$scratch/archive/segments/task-ledger-000001.jsonl.zst" bs=1 seek=300 conv=notrunc 2>/dev/null
ok "a piece that was changed there is found" says 1 "archive/segments/task-ledger-000001.jsonl.zst is not the file that was sealed" helm log check --all
ok "views go on without it" exits 0 helm task list
cp "$scratch/piece" "$scratch/archive/segments/task-ledger-000001.jsonl.zst"
ok "and with it" says 0 "sound" helm log check --all
mv "$scratch/archive" "$scratch/elsewhere"
ok "one that cannot be read is named, with its place" says 0 "is archived at $scratch/archive/segments" helm log check --all

# ---- what a person decided, in a file that went ----
rm -rf "$ws" "$scratch/archive" "$scratch/elsewhere" "$scratch/home/.helm/trees"
cd "$scratch" || exit 1
helm init --path "$ws" >/dev/null
cd "$ws" || exit 1
exits 0 helm freeze --principal agent:codex
"$store" "$state" "$keys" 3000 0 1000000 1700000000000000 1500000 || exit 1
exits 0 helm archive --yes --before 2100-01-01 --to "$scratch/archive"
rm -rf "$scratch/home/.helm/trees"
ok "an act is found where its file is now" says 0 "agent:codex" helm freeze status
rm -rf "$scratch/home/.helm/trees"
mv "$scratch/archive" "$scratch/elsewhere"
ok "what nobody can look up permits nothing" says 25 "archived to $scratch/archive" helm run -- true
ok "and is said" says 0 "archived to $scratch/archive" helm status --brief
ok "a person can speak again" exits 0 helm freeze --principal agent:cursor
ok "then everything is frozen, until that is lifted" says 25 "in an archive that cannot be read" helm run -- true
finish

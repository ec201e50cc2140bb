#!/bin/sh
# Any single damage to the record leads in one command from "what is wrong" to "sound again, and this is what was lost"; a second repair changes
# no byte, what was damaged is kept aside, and work goes on.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init >/dev/null
state=$scratch/home/.helm/workspace/.helm
mkdir project
call() { # call COMMAND
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s","cwd":"%s/project","tool_use_id":"u1"}' "$1" "$scratch" |
    helm hook pre-tool --client claude-code >/dev/null
}
note() { helm memory op --subject "$1" --reason why --evidence shown write >/dev/null; }
for id in one two; do
  call "cat $id"
  helm run --task-id $id -- true
done
helm log head --sign >/dev/null
note first
helm task list >/dev/null
for id in three four; do
  call "cat $id"
  call "ls $id"
  helm run --task-id $id -- true
done
note second
helm log head --sign >/dev/null
helm log anchor --to "$scratch/outside.json" >/dev/null
cp -a "$scratch/home" "$scratch/old" # an older copy of everything
call "cat five"
helm run --task-id five -- true
note third
call "ls five"
helm run --task-id six -- true
helm log head --sign >/dev/null
helm log anchor --to "$scratch/outside.json" >/dev/null
# A large ledger is put aside and sealed.
awk 'BEGIN { for (i = 0; i < 1900; i++) printf "{\"filler\": \"%09000d\", \"task_id\": \"t%d\"}\n", i, i }' >>"$state/task-ledger.jsonl"
helm run --task-id seven -- true
helm run --task-id eight -- true
piece=segments/task-ledger-000001.jsonl.zst
ok "there is a sealed piece" test -e "$state/$piece"
ok "before anything is damaged" says 0 "sound" helm log check --all
cp -a "$scratch/home" "$scratch/whole"

fresh() {
  rm -rf "${scratch:?}/home"
  cp -a "$scratch/whole" "$scratch/home"
}
sums() { (cd "$state" && find . -type f ! -name '*.sqlite3*' -exec sha256sum {} + | sort); }
# Checked, repaired, sound, repaired again without a change, and work goes on.  What a writer mends by itself needs no repair.
mended() {
  helm log check --all >"$scratch/found" 2>&1
  was=$?
  helm log repair --yes >"$scratch/said" 2>&1
  did=$?
  if [ $did -ne 0 ] && { [ $was -ne 0 ] || ! grep -q "nothing to repair" "$scratch/said"; }; then
    echo "repair: $(cat "$scratch/said")"
    return 1
  fi
  helm log check --all >"$scratch/after" 2>&1 || { cat "$scratch/after"; return 1; }
  before=$(sums)
  helm log repair --yes >"$scratch/again" 2>&1 && { echo "a second repair: $(cat "$scratch/again")"; return 1; }
  grep -q "nothing to repair" "$scratch/again" || { cat "$scratch/again"; return 1; }
  [ "$(sums)" = "$before" ] || { echo "the second repair changed something"; return 1; }
  helm doctor >"$scratch/doctor" 2>&1 || { cat "$scratch/doctor"; return 1; }
  helm run -- true || return 1
  helm log check --all >"$scratch/after" 2>&1 || { cat "$scratch/after"; return 1; }
}
flip() { # flip FILE PATTERN: the byte behind the last place of it becomes another
  at=$(LC_ALL=C grep -obaE "$2" "$1" | tail -n 1)
  where=$((${at%%:*} + $(printf %s "${at#*:}" | wc -c)))
  old=$(dd if="$1" bs=1 skip="$where" count=1 2>/dev/null)
  new=1
  [ "$old" = 1 ] && new=2
  printf %s "$new" | dd of="$1" bs=1 seek="$where" conv=notrunc 2>/dev/null
}
cut_half() { truncate -s $(($(stat -c %s "$1") / 2)) "$1"; }
swap() { # the last two lines
  n=$(wc -l <"$1")
  { head -n $((n - 2)) "$1"; sed -n "${n}p" "$1"; sed -n "$((n - 1))p" "$1"; } >"$scratch/swapped"
  cat "$scratch/swapped" >"$1"
}
old_copy() { cp "$scratch/old/.helm/workspace/.helm/$1" "$state/$1"; }

for file in command-log.jsonl task-ledger.jsonl tool-calls.jsonl memory-operations.jsonl receipts.jsonl log/heads.jsonl log/leaves; do
  case $file in
    log/leaves) pattern='^' ;;
    log/heads.jsonl) pattern='"signature":"' ;;
    receipts.jsonl) pattern='"output_hash":"sha256:' ;;
    *) pattern='": "' ;;
  esac
  fresh && flip "$state/$file" "$pattern"
  ok "$file: a byte" mended
  fresh && cut_half "$state/$file"
  ok "$file: cut" mended
  fresh && rm "$state/$file"
  ok "$file: removed" mended
  fresh && swap "$state/$file"
  ok "$file: two lines exchanged" mended
  fresh && old_copy "$file"
  ok "$file: an old copy" mended
done
for file in log/edge log/anchors.json "$piece"; do
  fresh && printf 'x' | dd of="$state/$file" bs=1 seek=100 conv=notrunc 2>/dev/null
  ok "$file: a byte" mended
  fresh && cut_half "$state/$file"
  ok "$file: cut" mended
  fresh && rm "$state/$file"
  ok "$file: removed" mended
done
for file in log/edge log/anchors.json; do
  fresh && old_copy "$file"
  ok "$file: an old copy" mended
done
for member in tree_size root_hash timestamp public_key log_id; do
  fresh && flip "$state/log/heads.jsonl" "\"$member\":\"?"
  ok "a head with another $member" mended
done

# ---- what is said, and what is seen afterwards ----
fresh
sed -i '/"task_id": "seven"/s/"command_preview": "true"/"command_preview": "evil"/' "$state/command-log.jsonl" "$state/task-ledger.jsonl"
cp "$state/command-log.jsonl" "$scratch/forged"
ok "the check says what to type" says 1 "next: put the file back from a copy" helm log check
ok "a program, too" says 1 '"repair": "log repair"' helm log check --json
ok "the plan" says 1 "would keep a copy of command-log.jsonl beside it" helm log repair
ok "names what is lost" says 1 "would name what is lost" helm log repair
ok "and changes nothing" cmp -s "$scratch/forged" "$state/command-log.jsonl"
ok "the repair names the loss" says 0 ", task seven, sha256 " helm log repair --yes
ok "it is on record" says 0 "lost on record" helm log check
ok "kept aside" sh -c 'cmp -s "$1" "$0"/command-log.jsonl.damaged-*' "$state" "$scratch/forged"
ok "no view shows what never happened" sh -c '! "$@" | grep -q evil' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" task show seven --history
ok "nor the report" sh -c '! "$@" | grep -q evil' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" report
root=$(helm log head --json | sed -n 's/.*"root_hash": "\([0-9a-f]*\)".*/\1/p')
ok "verify confirms the chain and its rows" says 0 "ADMISSIBLE" helm verify "$state/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub" --root "$root"
finish

#!/bin/sh
# One verdict on the record: whatever is damaged, log check, doctor, report, status and evidence export say the same of it, before and after.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
PATH=/usr/bin:/bin # agents that are installed on this machine are no part of this
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to damage files"

small() { env -i PATH="$PATH" HOME="$scratch/home" LC_ALL=C.UTF-8 "$HELM_BUILD/helm-small" "$@"; }
call() { # call COMMAND NUMBER: an agent's call, which leaves a note
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s1","cwd":"%s/project","tool_use_id":"u%s"}' "$1" "$scratch" "$2" |
    helm hook pre-tool --client claude-code >/dev/null 2>&1
}
# A record with everything in it: runs, an agent's calls, memory, two keys, a signed head, an anchor, a sealed piece.
fresh_workspace
state=$ws/.helm
keys=$scratch/home/.helm/keys
helm run --task-id one -- true >/dev/null
call ls 1
call "cat x" 2
helm memory add "the build needs make" >/dev/null 2>&1
helm key rotate >/dev/null 2>&1
n=0
while [ ! -e "$state/segments/task-ledger-000001.jsonl.zst" ] && [ $n -lt 400 ]; do
  small run -- true >/dev/null 2>&1
  n=$((n + 1))
done
helm run --task-id last -- true >/dev/null
helm log head --sign >/dev/null
helm log anchor --to "$scratch/anchor.json" >/dev/null
helm run --task-id behind -- true >/dev/null
helm log check >/dev/null
cd "$scratch" || exit 1
cp -a home whole
cp anchor.json whole-anchor.json

put_back() {
  cd "$scratch" || exit 1
  chmod -R u+rwX home 2>/dev/null
  rm -rf home
  cp -a whole home
  cp whole-anchor.json anchor.json
  cd project || exit 1
}
# green, red: what every view says.  Each prints what it missed.
miss() { echo "# $*"; return 1; }
green() {
  helm log check >o 2>&1 || { cat o; miss "log check is not sound"; return 1; }
  helm doctor --skip-discovery >o 2>&1 || { grep -A1 ^fail o; miss "doctor is red"; return 1; }
  helm status --plain >o 2>&1; grep -q '^health=ok' o || { head -6 o; miss "status is not ok"; return 1; }
  helm status --brief >o 2>&1; head -1 o | grep -q "^All is well" || { head -2 o; miss "status --brief is not well"; return 1; }
  helm report >o 2>&1; grep -q "NOT SOUND\|not checked" o && { head -5 o; miss "report"; return 1; }
  rm -f pack.tar
  helm evidence export --all --out pack.tar >o 2>&1 || { cat o; miss "export"; return 1; }
  helm verify pack.tar --key "$keys/root.pub" >o 2>&1 || { cat o; miss "verify"; return 1; }
}
red() {
  helm log check >o 2>&1 && { miss "log check is sound"; return 1; }
  helm doctor --skip-discovery >o 2>&1 && { miss "doctor is green"; return 1; }
  grep -q "^ *remedy: ." o || { cat o; miss "doctor has no remedy"; return 1; }
  helm status --plain >o 2>&1; grep -q '^health=ok' o && { head -6 o; miss "status is ok"; return 1; }
  helm status --brief >o 2>&1; head -1 o | grep -q "^Needs attention" || { head -2 o; miss "status --brief is well"; return 1; }
  helm report >o 2>&1; grep -q "The record is NOT SOUND\|helm: " o || { head -5 o; miss "report"; return 1; }
  grep -q "record is whole" o && { miss "report says whole"; return 1; }
  rm -f pack.tar
  helm evidence export --all --out pack.tar >o 2>&1 && { miss "export"; return 1; }
  test ! -e pack.tar || { miss "there is a pack"; return 1; }
}
# change FILE PYTHON: b is the bytes of the file; what they become is what `b` is then.  Length and times may stay as they were.
change() {
  python3 - "$1" "$2" <<'PY'
import os, sys
path, code = sys.argv[1:]
st = os.stat(path)
b = bytearray(open(path, "rb").read())
scope = {"b": b}
exec(code, scope)
with open(path, "r+b") as f:
    f.write(scope["b"])
    f.truncate()
os.utime(path, ns=(st.st_atime_ns, st.st_mtime_ns))
PY
}
damage() { # damage NAME FILE PYTHON: found by all, and by none any more when it is put back
  put_back
  [ -e "$2" ] || { miss "there is no $2"; return 1; }
  helm status --brief >/dev/null # the verdict is kept
  change "$2" "$3" || return 1
  red
}

put_back
ok "a whole record is that for every view" green
ok "and a second time, from what was kept" green

text='i = b.rindex(b"command_preview"); i = b.index(b": \"", i) + 3; b[i] ^= 1'
each() { ok "all views agree: $1" damage "$@"; }
each "a row of the command log" "$state/command-log.jsonl" "$text"
each "a row of the task ledger" "$state/task-ledger.jsonl" "$text"
each "a note of a call" "$state/tool-calls.jsonl" 'i = b.index(b"Bash"); b[i] ^= 1'
each "a row of the task ledger is gone" "$state/task-ledger.jsonl" 'i = b.index(b"\n") + 1; b = b[i:]'
each "rows have changed places" "$state/task-ledger.jsonl" 'l = bytes(b).split(b"\n"); l[-4], l[-3] = l[-3], l[-4]; b = b"\n".join(l)'
each "the command log is empty" "$state/command-log.jsonl" 'b = b""'
each "a sealed piece" "$state/segments/task-ledger-000001.jsonl.zst" 'b[len(b) // 2] ^= 1'
each "a receipt" "$state/receipts.jsonl" 'i = b.index(b"ALLOW"); b[i] ^= 1'
each "the last receipt" "$state/receipts.jsonl" 'i = b.rindex(b"signature"); i = b.index(b": \"", i) + 5 if b": \"" in b[i:i+40] else i + 14; b[i] = ord("a") if b[i] != ord("a") else ord("b")'
each "a receipt is gone" "$state/receipts.jsonl" 'l = bytes(b).split(b"\n"); del l[1]; b = b"\n".join(l)'
each "the last receipts are cut off" "$state/receipts.jsonl" 'l = bytes(b).split(b"\n"); b = b"\n".join(l[:-3]) + b"\n"'
each "a signed head" "$state/log/heads.jsonl" 'i = b.index(b"root_hash") + 16; b[i] = ord("0") if b[i] != ord("0") else ord("1")'
each "a head kept elsewhere" "$scratch/anchor.json" 'i = b.index(b"root_hash") + 16; b[i] = ord("0") if b[i] != ord("0") else ord("1")'
each "the key history" "$keys/history.jsonl" 'i = b.index(b"signature") + 15; b[i] = ord("0") if b[i] != ord("0") else ord("1")'
each "the key history is cut in its last line" "$keys/history.jsonl" 'b = b[:-20]'

# What is no damage is none for any view.
harmless() { # harmless FILE PYTHON
  put_back
  change "$1" "$2" && green
}
ok "leaves can be made again" harmless "$state/log/leaves" 'b[3] = ord("0") if b[3] != ord("0") else ord("1")'
ok "a ledger that is rewritten with the same bytes" harmless "$state/command-log.jsonl" 'b = b'

# A ledger that is gone, or lies elsewhere with the same bytes.
gone() { put_back; helm status --brief >/dev/null; rm "$state/$1"; red; }
ok "all views agree: the task ledger is gone" gone task-ledger.jsonl
ok "all views agree: the notes are gone" gone tool-calls.jsonl
ok "all views agree: a sealed piece is gone" gone segments/task-ledger-000001.jsonl.zst

healed() { # what was wrong is right again when it is put back
  damage x "$state/command-log.jsonl" "$text" || return 1
  cp "$scratch/whole/.helm/workspace/.helm/command-log.jsonl" "$state/command-log.jsonl"
  green
}
ok "put back, all views agree that it is sound" healed

# The report says it at its top, with the task, in every form.
put_back
change "$state/command-log.jsonl" "$text"
ok "the report begins with it" sh -c 'head -3 "$0" | grep -q "NOT SOUND"' "$(helm report >r; echo r)"
ok "and names the task" says 0 "ledger entries of task behind" helm report
ok "for programs" says 0 '"sound": false' helm report --json
ok "as a page" says 0 "The record is NOT SOUND" helm report --format html
ok "as markdown" says 0 "NOT SOUND" helm report --format markdown

# A pack of it leaves when that is asked for, and says so itself.
ok "an export says what is wrong and what to type" says 1 "--unsound" helm evidence export --all --out p.tar
ok "asked for, it leaves" exits 0 helm evidence export --all --unsound --out p.tar
ok "and does not verify" says 1 "the record was not sound when the pack was made" helm verify p.tar --key "$keys/root.pub"

# A pack whose rows are others than its receipts bind does not verify, whoever signs it.
repack() { # repack PYTHON: with `t`, the text of transcripts/task-ledger.jsonl
  rm -rf x && mkdir x && tar -xf pack.tar -C x && python3 - "$1" <<'PY'
import sys
path = "x/transcripts/task-ledger.jsonl"
scope = {"t": open(path).read()}
exec(sys.argv[1], scope)
open(path, "w").write(scope["t"])
PY
}
put_back
helm evidence export --all --out pack.tar >/dev/null
ok "rows are compared with the receipts" says 0 "each as its receipt says" helm verify pack.tar --key "$keys/root.pub"
ok "by evidence verify, too" says 0 "ledger_entries" helm evidence verify pack.tar --key "$keys/root.pub"
repack 't = t.replace("completed", "Completed", 1)'
ok "a changed row is refused" says 1 "ledger entries that receipts bind are not in the pack" helm verify x --key "$keys/root.pub"
repack 't = t.split("\n", 1)[1]'
ok "a row that is left out is refused" says 1 "ledger entries that receipts bind are not in the pack" helm verify x --key "$keys/root.pub"
helm evidence export --task one --out task.tar >/dev/null
ok "a selection has the rows of its receipts" says 0 "each as its receipt says" helm verify task.tar --key "$keys/root.pub"

# What is kept.
kept=$(ls "$scratch"/home/.helm/trees/*/verdict.json | head -1)
put_back
sleep 0.2
helm status --brief >/dev/null
before=$(cat "$kept")
helm status --brief >/dev/null
helm report >/dev/null
ok "nothing changed, nothing is checked again" test "$before" = "$(cat "$kept")"
ok "and no view calls whole what it did not read" sh -c '! grep -q "is whole" "$0"' "$(helm report >r; echo r)"
ok "but says up to where it was checked" says 0 "checked up to receipt" helm report
ok "and so does status" says 0 "record=checked up to receipt" helm status --plain
echo '{"version": "helm-record-verdict/v1", "sound": true' >"$kept"
ok "a damaged verdict counts as none" green
change "$state/command-log.jsonl" "$text"
printf '{"version":"helm-record-verdict/v1","program":"0.1.0","checked_at":"2026-01-01T00:00:00Z","sound":true,"receipts":9,"findings":[],"settled":true,"files":{}}' >"$kept"
ok "one that speaks of other files, too" red
if [ "$(id -u)" != 0 ]; then
  put_back
  chmod 500 "$(dirname "$kept")"
  rm -f "$kept"
  ok "a helm home that cannot be written" green
  change "$state/command-log.jsonl" "$text"
  ok "has no less right answers" red
  chmod 700 "$(dirname "$kept")"
else
  skip "a helm home that cannot be written" "root writes everywhere"
fi
finish

#!/bin/sh
# Damage that the record itself can tell from what was written: derived files heal, what is lost is a finding with one command that helps.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is needed to damage files"

needs_terminal
fresh_workspace
state=$ws/.helm
keys=$scratch/home/.helm/keys
call() { # call COMMAND NUMBER: an agent's call, which leaves a note
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s1","cwd":"%s/project","tool_use_id":"u%s"}' "$1" "$scratch" "$2" |
    agent hook pre-tool --client claude-code >/dev/null 2>&1
}
helm run -- true >/dev/null
call ls 1
call "cat x" 2
helm memory write --text "the staging host listens on port 8443" >/dev/null
helm memory write --text "run make test before each commit" >/dev/null
helm log head --sign >/dev/null
helm run -- true >/dev/null
helm log head --sign >/dev/null
helm run -- true >/dev/null
helm freeze --principal agent:codex >/dev/null
word=$(ls -d "$scratch"/home/.helm/trees/*/posture.json)
cd "$scratch" || exit 1
cp -a home whole
put_back() {
  cd "$scratch" || exit 1
  rm -rf home
  cp -a whole home
  cd project || exit 1
}
flip() { # flip FILE OFFSET: one digit or letter from there on becomes another; below zero from the end
  python3 - "$1" "$2" <<'PY'
import sys
path, at = sys.argv[1], int(sys.argv[2])
data = bytearray(open(path, 'rb').read())
at = at if at >= 0 else len(data) + at
while not chr(data[at]).isalnum():
    at += 1
data[at] = ord('7') if data[at] != ord('7') else ord('3')
open(path, 'r+b').write(data)
PY
}

quiet() { ! helm run -- true 2>&1 | grep "made again"; }
content() { ! helm doctor --skip-discovery 2>&1 | grep "^fail.*$1"; }

# The newest leaf: the edge knows the newest receipt, so the leaf is wrong, for whoever looks and whoever writes.
put_back
flip "$state/log/leaves" -30
ok "a wrong newest leaf is no damage to the check" exits 0 helm log check --all
ok "nor to who records: it goes on, and says so" says 0 "they were made again" helm run -- true
ok "once" quiet
ok "and everything is sound" exits 0 helm log check --all
put_back
flip "$state/log/leaves" -30
rm "$state/log/edge"
ok "without the edge nobody can tell: a finding" says 1 "not the one the log knows" helm log check --all
ok "and nothing is recorded" exits 1 helm run -- true
ok "one repair makes it sound" exits 0 helm log repair --yes
ok "for the check" exits 0 helm log check --all
ok "and for who records" exits 0 helm run -- true

# Fewer signed heads.
for how in cut remove empty; do
  put_back
  case $how in
  cut) sed -i '$d' "$state/log/heads.jsonl" ;;
  remove) rm "$state/log/heads.jsonl" ;;
  empty) : >"$state/log/heads.jsonl" ;;
  esac
  ok "fewer heads are a finding ($how)" says 1 "lost" helm log check
  helm run -- true >/dev/null
  ok "also behind another run ($how)" exits 1 helm log check
  ok "doctor says so ($how)" says 1 "signed head" helm doctor --skip-discovery
  ok "the repair names the loss and signs a new one ($how)" says 0 "a new one was signed" helm log repair --yes
  ok "then it is sound ($how)" exits 0 helm log check --all
  ok "a second repair finds nothing ($how)" says 1 "nothing to repair" helm log repair --yes
done
put_back
helm log check >/dev/null
rm "$state/log/edge"
sed -i 1d "$state/log/heads.jsonl"
ok "without the edge, what was verified before knows how many there were" says 1 "lost" helm log check

# The settings.
for how in flip cut remove empty; do
  put_back
  case $how in
  flip) flip "$word" 300 ;;
  cut) truncate -s 300 "$word" ;;
  remove) rm "$word" ;;
  empty) : >"$word" ;;
  esac
  ok "the check is sound: the chain proves what was decided ($how)" says 0 "stands in the chain" helm log check
  ok "what was frozen is ($how)" says 0 "agent:codex" helm freeze status
  ok "the next command writes the file again, and says so ($how)" says 0 "was written again from the signed act" helm run -- true
  ok "as it was ($how)" cmp "$word" "$scratch/whole/${word#"$scratch/home/"}"
done
put_back
: >"$word.seal"
helm run -- true >/dev/null 2>&1
ok "an unreadable seal is made again" test -s "$word.seal"

# Entries of memory, and a torn line.
put_back
flip "$state/memory-entries.jsonl" 100
ok "a changed entry of memory is a finding" says 1 "memory-entries.jsonl line 1" helm log check
ok "one repair" exits 0 helm log repair --yes
ok "and it is sound" exits 0 helm log check --all
ok "what was there is kept" sh -c 'ls "$0"/memory-entries.jsonl.damaged-*' "$state"
put_back
truncate -s -40 "$state/memory-entries.jsonl"
touch -d "1 minute ago" "$state/memory-entries.jsonl"
ok "doctor names the repair of a torn line" says 1 "helm log repair --yes" helm doctor --skip-discovery
ok "which takes it" exits 0 helm log repair --yes
ok "and doctor is content with the ledger" content memory-entries

# Approvals: a changed digit of the version is no newer release.
put_back
helm run -- git reset --hard x >/dev/null 2>&1
if grep -q '"check"' "$state/approvals.json"; then
  sed -i 's/"version": 1/"version": 7/' "$state/approvals.json"
  ok "a changed version is told as a change" says 0 "was changed" helm approval list
  ok "and healed" grep -q '"version": 1' "$state/approvals.json"
else
  skip "a changed version of approvals.json" "nothing was asked here"
fi

# Files of the workspace that are no documents any more.
put_back
echo '{"x' >"$ws/references/model_recovery_policy.json"
ok "doctor names the command" says 1 "helm workspace repair" helm doctor --skip-discovery
ok "which puts the shipped text back" says 0 "could not be read any more" terminal -- helm workspace repair
ok "and keeps what was there" test -s "$ws/references/model_recovery_policy.json.bak"

# A pack carries the notes of calls that its receipts sign.
put_back
helm run -- true >/dev/null
helm evidence export --all --out pack.tar >/dev/null
ok "a pack with notes verifies" says 0 "call_notes" helm verify pack.tar --key "$keys/root.pub" --json
mkdir p && tar -xf pack.tar -C p
ok "the notes are files of their own" sh -c 'ls p/notes/*.jsonl'
note=$(cd p && ls notes/*.jsonl | head -1)
sed -i 's/ls/xx/' "p/$note"
ok "a changed note is found" exits 1 helm verify p --key "$keys/root.pub"
rm "p/$note"
ok "and one that was left out" exits 1 helm verify p --key "$keys/root.pub"
finish

#!/bin/sh
# Calls that only read leave notes that nobody signs; the next receipt binds them, and whatever is done to them later is found.
# shellcheck disable=SC2154 # set by lib.sh
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

helm init >/dev/null
ws=$scratch/home/.helm/workspace
state=$ws/.helm
notes=$state/tool-calls.jsonl
mkdir project
call() { # call COMMAND
  printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"session_id":"s","cwd":"%s/project","tool_use_id":"u1"}' "$1" "$scratch" |
    helm hook pre-tool --client claude-code >/dev/null
}
call "ls -la"
call "cat notes.txt"
ok "reading leaves no receipt" sh -c '! test -e "$0"' "$state/receipts.jsonl"
call "echo hi > notes.txt"
call "ls"
helm run -- true
ok "receipts carry the digest of notes, a hook's and a run's" sh -c 'test "$(grep -c "\"notes\":{\"range\":\"[0-9]*-[0-9]*\",\"sha256\":\"" "$0")" = 2' "$state/receipts.jsonl"
ok "as they were written" says 0 "sound" helm log check
ok "a program is told how many" says 0 '"bound": 2' helm log check --json
call "cat unsigned"
cp "$notes" "$scratch/kept"
root=$(helm log head --json | sed -n 's/.*"root_hash": "\([0-9a-f]*\)".*/\1/p')
whole() { helm verify "$state/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub" --root "$root"; }
ok "verify of the whole chain compares them" says 0 "ADMISSIBLE" whole
sed -i 's/cat notes.txt/cat other.txt/' "$notes"
ok "a changed note is found" says 1 "are not those that receipt 1 speaks of" helm log check
ok "by verify, too" says 1 "are not those that receipt 1 speaks of" whole
ok "and by a deep look of the doctor" says 1 "notes of calls in tool-calls.jsonl are not those" helm doctor --deep
ok "the log itself is not damaged" sh -c '! "$@" | grep -q DAMAGE' - env -i HOME="$scratch/home" PATH="$PATH" "$HELM_REAL" log check
sed 2d "$scratch/kept" >"$notes"
ok "a removed note is found" says 1 "receipt 1 speaks of" helm log check
{ sed -n 2p "$scratch/kept"; sed -n 1p "$scratch/kept"; sed -n '3,$p' "$scratch/kept"; } >"$notes"
ok "exchanged notes are found" says 1 "receipt 1 speaks of" helm log check
sed 2p "$scratch/kept" >"$notes"
ok "an added note is found" says 1 "receipt 2 speaks of" helm log check
sed '$d' "$scratch/kept" >"$notes"
ok "a note that nobody signed may be lost" says 0 "sound" helm log check
cp "$scratch/kept" "$notes"
ok "put back, it is sound again" says 0 "sound" helm log check
helm evidence export --all --out "$scratch/e.tar" >/dev/null
ok "an export carries it" sh -c 'tar -xOf "$0" | grep -q "\"notes\":{\"range\":\""' "$scratch/e.tar"
ok "and verifies" says 0 "ADMISSIBLE" helm verify "$scratch/e.tar" --key "$scratch/home/.helm/keys/root.pub"
if needs python3 "a second verifier"; then
  second() {
    python3 "$HELM_SOURCE/tests/oracle/verify_receipt.py" "$state/receipts.jsonl" --key "$(cat "$scratch/home/.helm/keys/root.pub")" --ledgers "$state"
  }
  ok "the second verifier compares them, too" says 0 "ADMISSIBLE" second
  sed -i 's/cat notes.txt/cat other.txt/' "$notes"
  ok "and finds a changed one" says 1 "notes" second
  cp "$scratch/kept" "$notes"
fi

# ---- pieces ----
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "{\"filler\": \"%0400d\", \"session\": \"f\"}\n", i }' >>"$notes"
call "ls"                     # puts it aside
call "echo again > notes.txt" # binds both pieces
ok "notes in a piece that was put aside are bound" says 0 "sound" helm log check --all
piece=$state/segments/waiting/tool-calls-000001.jsonl
ok "which waits" test -s "$piece"
sed -i '30000s/0/1/' "$piece"
ok "a changed one in it is found" says 1 "not those that receipt" helm log check --all
sed -i '30000s/1/0/' "$piece"
helm run -- true
ok "sealed" test -e "$state/segments/tool-calls-000001.jsonl.zst"
ok "they are still what receipts say" says 0 "sound" helm log check --all
helm archive --yes --before 2100-01-01 --to "$scratch/archive" >/dev/null
ok "archived, they are compared where they are" sh -c '"$@" | grep -q "^sound" && ! "$@" | grep -q "not looked at"' - env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" log check --all
mv "$scratch/archive" "$scratch/elsewhere"
ok "where they cannot be read, that is said" says 0 "it cannot be read there" helm log check --all
mv "$scratch/elsewhere" "$scratch/archive"
finish

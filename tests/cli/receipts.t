#!/bin/sh
# receipts list, show, export, tail.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
ws=$scratch/ws
mkdir "$ws"
exits 0 helm init --path "$ws"
cd "$ws" || exit 1
chain=$ws/.helm/receipts.jsonl

ok "none yet" says 0 "No receipts" helm receipts list
ok "none yet, as JSON" is_json helm receipts list --json
exits 0 helm run -- true
exits 0 helm run -- true
exits 25 helm run -- rm -rf /
ok "list" says 0 "rm -rf /" helm receipts list
ok "list --json" is_json helm receipts list --json
count() { grep -c '"receipt_id": "rcpt_[^.]*[.]' "$scratch/.stdout"; }
has() { [ "$(count)" -eq "$1" ] || { echo "$(count) receipts"; return 1; }; }
exits 0 helm receipts list --json
ok "two per run, also for the one that was denied" has 6
exits 0 helm receipts list --json --limit 2
ok "limit" has 2
exits 0 helm receipts list --json --verdict DENY
ok "verdict" has 2
exits 0 helm receipts list --json --since 2999-01-01T00:00:00Z
ok "since" has 0
ok "a time that is none" says 2 "'someday' is none; write 2d, 36h" helm receipts list --since someday
ok "a day by its name" says 0 " done " helm receipts list --since yesterday
begins() { # the beginning of an id, as the list shows it
  id=$(helm receipts list --limit 1 | sed -n '2s/.* \(dec-[0-9a-f]\{8\}\).*/\1/p')
  [ -n "$id" ] || { helm receipts list --limit 1; return 1; }
  says 0 "$(helm receipts list --limit 1 --json | sed -n 's/.*"decision_id": "\([^"]*\)".*/\1/p' | head -n 1)" helm receipts show "$1${id#dec-}$2"
}
ok "a beginning of an id is enough" begins dec- ""
ok "without its first part, too" begins "" ""
ok "and with the outcome's end" begins rcpt_dec- _outcome
ok "a verdict that is none" exits 2 helm receipts list --verdict PERHAPS
ok "a negative limit" exits 2 helm receipts list --limit -1
task=$(sed -n '1s/.*"task_id":"\([^"]*\)".*/\1/p' "$chain")
exits 0 helm receipts list --json --task "$task"
ok "task" has 2

id=$(sed -n '1s/.*"receipt_id":"\([^"]*\)".*/\1/p' "$chain")
ok "show by id" says 0 "ADMISSIBLE" helm receipts show "$id"
ok "show by number" says 0 "ADMISSIBLE" helm receipts show 2
ok "show --json" is_json helm receipts show "$id" --json
ok "what is not there" says 1 "no receipt" helm receipts show nothing

ok "export prints the chain as it is" sh -c 'HOME="$2" "$0" receipts export --path "$1" | cmp - "$1/.helm/receipts.jsonl"' "$HELM_REAL" "$ws" "$scratch/home"
exits 0 helm log head --sign
ok "export --out" says 0 "6 receipts" helm receipts export --out "$scratch/x.jsonl"
ok "with the head beside it" test -s "$scratch/x.jsonl.head"
ok "does not overwrite" says 1 "exists already" helm receipts export --out "$scratch/x.jsonl"
key=$(helm key export)
ok "and verifies elsewhere" says 0 "ADMISSIBLE" helm verify "$scratch/x.jsonl" --key "$key"
root=$(sed -n 's/.*"root_hash":"\([^"]*\)".*/\1/p' "$scratch/x.jsonl.head")
ok "completely, with the head's root" says 0 "complete    yes" helm verify "$scratch/x.jsonl" --key "$key" --root "$root"
sed '$d' "$scratch/x.jsonl" >"$scratch/y.jsonl"
ok "one less is not complete" says 1 "TAMPERED" helm verify "$scratch/y.jsonl" --key "$key" --root "$root"
flips() { # every 37th byte, one bit
  size=$(wc -c <"$scratch/x.jsonl")
  at=0
  while [ "$at" -lt "$size" ]; do
    python3 - "$scratch/x.jsonl" "$scratch/z.jsonl" "$at" <<'PY' || return 1
import sys
b = bytearray(open(sys.argv[1], "rb").read())
b[int(sys.argv[3])] ^= 1
open(sys.argv[2], "wb").write(b)
PY
    helm verify "$scratch/z.jsonl" --key "$key" --root "$root" >"$scratch/.flip" && { echo "byte $at"; return 1; }
    at=$((at + 211))
  done
}
if needs python3 "no byte changes unnoticed"; then ok "no byte changes unnoticed" flips; fi

ok "tail" says 0 "NOT_EXECUTED" helm receipts tail --limit 1
exits 0 helm receipts tail --limit 3 --json
ok "tail --json is one line each" sh -c 'test "$(wc -l <"$0")" = 3' "$scratch/.stdout"
follow() {
  env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" receipts tail --follow --limit 1 --path "$ws" >"$scratch/follow" 2>&1 &
  pid=$!
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -s "$scratch/follow" ] && break; sleep 0.1; done
  exits 0 helm run -- true
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do [ "$(wc -l <"$scratch/follow")" -ge 3 ] && break; sleep 0.1; done
  kill "$pid"
  wait "$pid" 2>/dev/null
  [ "$(wc -l <"$scratch/follow")" -eq 3 ] || { cat "$scratch/follow"; return 1; }
}
ok "tail --follow shows what comes" follow
# Nothing comes any more, and the reader has gone: it must not wait for the next receipt.
leaves() {
  # shellcheck disable=SC2086 # words on purpose
  env -i PATH="$PATH" HOME="$scratch/home" sh -c 'timeout 20 "$@"; echo $? >"$0"' "$scratch/ended" "$HELM_REAL" $1 --path "$ws" 2>/dev/null | head -1 >/dev/null
  [ "$(cat "$scratch/ended")" != 124 ]
}
ok "and ends when nobody reads it any more" leaves "receipts tail --follow --limit 1"
ok "so does a dashboard that is shown again and again" leaves "dashboard --watch 60"

# ---- a chain of several files: the newest are found from the end ----
long=$scratch/long
helm init --path "$long" >/dev/null
"$HELM_BUILD/tests/store_tool" "$long/.helm" "$scratch/home/.helm/keys" 3000 0 1000000 1700000000000000 1000000 || exit 1
same() { # what is listed is the end of what is exported, in its order
  helm receipts export --path "$long" | sed -n 's/.*"lamport_clock":\([0-9]*\).*/\1/p' | tail -n "$1" >"$scratch/wanted"
  helm receipts list --path "$long" --limit "$1" | sed -n 's/^\([0-9][0-9]*\) .*/\1/p' >"$scratch/listed"
  cmp "$scratch/wanted" "$scratch/listed"
}
for n in 1 2 7 1200 2900; do ok "the newest $n, in order" same $n; done
ok "there are more, and it says so" says 0 "The newest 50 of 3,002;" helm receipts list --path "$long"
ok "programs are told, too" says 0 '"complete": false' helm receipts list --path "$long" --json
ok "all of them" says 0 '"matching": 3' helm receipts list --path "$long" --json --limit 0
is_whole_json() { helm receipts list --path "$long" --json --limit 0 | helm canonical >/dev/null; }
ok "that is one document" is_whole_json
shows() { helm receipts show "$1" --path "$long" | grep -qF "$2 line $3" || { helm receipts show "$1" --path "$long" | tail -1; return 1; }; }
line() { grep -n "\"lamport_clock\":$2," "$long/.helm/$1" | cut -d: -f1; }
for n in 1 500 1500 2990; do
  file=$(cd "$long/.helm" && grep -l "\"lamport_clock\":$n," receipts*.jsonl)
  ok "number $n is found, with its line" shows $n "$file" "$(line "$file" $n)"
done
ok "an old id is found" shows rcpt_dec-00000000000000000000000000000003 receipts-000001.jsonl "$(grep -n 'rcpt_dec-00000000000000000000000000000003' "$long/.helm/receipts-000001.jsonl" | head -1 | cut -d: -f1)"
ok "a number that is not there" says 1 "no receipt" helm receipts show 99999 --path "$long"
ok "one task of many" says 0 "rcpt_out_dec-00000000000000000000000000000010" helm receipts list --path "$long" --task task-1 --limit 0 --json
same_with_index() { # the same answer with the index as without, and after the file was mended, when every line lies elsewhere
  helm receipts list --path "$long" --limit 0 "$@" >"$scratch/.without"
  exits 0 helm db init --path "$long"
  helm receipts list --path "$long" --limit 0 "$@" >"$scratch/.with"
  cmp "$scratch/.without" "$scratch/.with" || return 1
  exits 0 helm run --path "$long" --task-id "later-$#" -- true
  says 0 "later-$#" helm receipts list --path "$long" --task "later-$#" --json || return 1
  rm "$long/.helm/ops-index.sqlite3"
}
ok "one task, by the index" same_with_index --task task-1
ok "one session, by the index" same_with_index --session session-1 --verdict ALLOW
exits 0 helm db init --path "$long"
ok "an old id, by the index" shows rcpt_dec-00000000000000000000000000000003 receipts-000001.jsonl "$(grep -n 'rcpt_dec-00000000000000000000000000000003' "$long/.helm/receipts-000001.jsonl" | head -1 | cut -d: -f1)"
shift_lines() { # as a repair leaves it: other offsets, the same receipts
  cp "$long/.helm/receipts-000002.jsonl" "$scratch/.two"
  { printf '\n\n\n\n\n\n\n\n\n'; cat "$scratch/.two"; } >"$long/.helm/receipts-000002.jsonl"
  helm receipts list --path "$long" --limit 0 --task "$1" >"$scratch/.with"
  mv "$long/.helm/ops-index.sqlite3" "$scratch/.index"
  helm receipts list --path "$long" --limit 0 --task "$1" >"$scratch/.without"
  mv "$scratch/.index" "$long/.helm/ops-index.sqlite3"
  cp "$scratch/.two" "$long/.helm/receipts-000002.jsonl"
  [ -s "$scratch/.with" ] && cmp "$scratch/.without" "$scratch/.with"
}
ok "an index of other offsets finds the same" shift_lines task-700
if strace -o /dev/null true 2>/dev/null; then
  opens_two() { # opens_two ARGS...: how often the second file is read
    strace -f -y -e trace=read,pread64 -o "$scratch/.trace" env -i PATH="$PATH" HOME="$scratch/home" "$HELM_REAL" receipts list --path "$long" "$@" >/dev/null 2>&1
    grep -c "<$long/.helm/receipts-000002.jsonl>" "$scratch/.trace"
  }
  reads_no_other() { [ "$(opens_two --task task-3)" -eq 0 ] && [ "$(opens_two --limit 0)" -gt 0 ]; }
  ok "a task of the first file is not looked for in the second" reads_no_other
fi
rm "$long/.helm/ops-index.sqlite3"
printf 'no receipt\n' | cat - "$long/.helm/receipts-000001.jsonl" >"$scratch/.spoilt" && cat "$scratch/.spoilt" >"$long/.helm/receipts-000001.jsonl"
ok "what is not shown is not read" sh -c '! "$@" 2>&1 | grep -q "no receipts"' - env -i HOME="$scratch/home" "$HELM_REAL" receipts list --path "$long"
ok "and what is read is said to be none" says 0 "lines that are no receipts: 1" helm receipts list --path "$long" --limit 0
finish

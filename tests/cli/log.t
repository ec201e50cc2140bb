#!/bin/sh
# log head, prove, consistency, anchor, check, repair: what the log proves, and what it finds.
# shellcheck disable=SC2016,SC2317 # texts for sh -c; functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
ws=$scratch/ws
mkdir "$ws"
exits 0 helm init --path "$ws"
cd "$ws" || exit 1
chain=$ws/.helm/receipts.jsonl
record() { for _ in $(seq "$1"); do helm run --path "$ws" -- true >/dev/null 2>&1 || return 1; done; }
receipts() { wc -l <"$chain"; }
member() { sed -n "s/^ *\"$1\": \"\\([^\"]*\\)\".*/\\1/p" "$scratch/.stdout" | head -1; }

ok "an empty log says so" says 1 "nothing has been recorded" helm log head
ok "and is sound" says 0 "sound" helm log check
ok "something is recorded" record 3
ok "head without signature" says 0 "not signed" helm log head
ok "head --sign" says 0 "signature=" helm log head --sign
ok "head --json" is_json helm log head --json
ok "check" says 0 "sound" helm log check
ok "check --json" is_json helm log check --json
key=$(helm key export)
ok "the chain verifies as a file" says 0 "ADMISSIBLE" helm verify "$chain" --key "$key"

exits 0 helm log prove 1 --json
root=$(member root_hash)
cp "$scratch/.stdout" "$scratch/proof.json"
ok "a proof verifies against the root" says 0 "ADMISSIBLE" helm verify "$scratch/proof.json" --root "$root"
ok "and not without one" says 1 "no root was given" helm verify "$scratch/proof.json"
ok "nor against another" exits 1 helm verify "$scratch/proof.json" --root "$(echo "$root" | tr 0-9 1-90)"
id=$(sed -n '2s/.*"receipt_id":"\([^"]*\)".*/\1/p' "$chain")
ok "a proof by receipt id" says 0 '"leaf_index": 1' helm log prove "$id"
ok "--out writes a new file" exits 0 helm log prove "$id" --out "$scratch/p2.json"
ok "and does not overwrite one" says 1 "exists already" helm log prove "$id" --out "$scratch/p2.json"
ok "an unknown receipt" says 1 "no receipt" helm log prove rcpt_none
ok "an index past the end" says 1 "leaves 0 to" helm log prove 999
ok "with the root the whole chain is complete" says 0 "complete    yes" helm verify "$chain" --key "$key" --root "$root"

exits 0 helm log head --json
cp "$scratch/.stdout" "$scratch/old-head.json"
old_root=$(member root_hash)
record 2
ok "the newer log continues the older" exits 0 helm log consistency --head "$scratch/old-head.json" --out "$scratch/c.json"
exits 0 helm log head --sign --json
new_root=$(member root_hash)
ok "and the proof verifies" says 0 "ADMISSIBLE" helm verify "$scratch/c.json" --old-root "$old_root" --root "$new_root"
ok "by size" says 0 '"old_size": 2' helm log consistency 2
ok "a size that is not there" says 1 "receipts are lost" helm log consistency 9999
ok "neither size nor head is misuse" exits 2 helm log consistency
ok "a tree head verifies" says 0 "ADMISSIBLE" helm verify "$scratch/old-head.json" --key "$key"

ok "anchor to a file" says 0 "anchored at $scratch/anchor.json" helm log anchor --to "$scratch/anchor.json"
ok "not into the state itself" says 1 "inside the workspace" helm log anchor --to "$ws/.helm/x.json"
if needs git "anchor to a git reference"; then
  git init -q "$ws" 2>/dev/null
  ok "anchor to a git reference" says 0 "refs/helm/log" helm log anchor --to refs/helm/log
  record 1
  ok "again, on top" says 0 "refs/helm/log" helm log anchor --to refs/helm/log
  ok "the reference has both" sh -c 'test "$(git -C "$0" rev-list --count refs/helm/log)" = 2' "$ws"
  git -C "$ws" tag taken "$(git -C "$ws" hash-object -w --stdin </dev/null)"
  ok "a reference that holds something else is left alone" says 1 "refs/tags/taken" helm log anchor --to refs/tags/taken
  ok "a bad reference name" says 2 "not a name git accepts" helm log anchor --to 'refs/a..b'
fi
ok "check compares with the anchors" says 0 "anchors" helm log check

# Damage.
cp -a "$ws/.helm" "$scratch/whole"
# What was verified of a state that is put back to an earlier one is forgotten, too: otherwise it is found, as it should be.
forget() { rm -rf "$scratch/home/.helm/trees"; }
restore() { forget; rm -rf "$ws/.helm"; cp -a "$scratch/whole" "$ws/.helm"; }
n=$(receipts)
edit() { sed -i "$1" "$chain"; }
ok "nothing to repair is said" says 1 "nothing to repair" helm log repair --yes

edit '3s/"status":"[A-Z]*"/"status":"FORGED"/'
ok "a changed member is named" says 1 "receipt 3 (receipts.jsonl line 3)" helm log check
ok "with the receipt in JSON" says 1 '"receipt": 3' helm log check --json
ok "nothing is recorded meanwhile" says 1 "helm log check" helm run --path "$ws" -- true
ok "verify names it too" says 1 "line 3" helm verify "$chain" --key "$key"
each_failure() { # each change of the disk fails once: a repair that says it is done has done it
  cp -a "$ws/.helm" "$scratch/forged"
  i=1
  while [ $i -le 24 ]; do
    forget && rm -rf "$ws/.helm" && cp -a "$scratch/forged" "$ws/.helm"
    if (HELM_ENV="${HELM_ENV:-} HELM_TEST_FAIL_AT=$i:EIO" helm_twin log repair --yes) >"$scratch/.o" 2>&1; then
      exits 0 helm log check || { echo "call $i failed"; return 1; }
    fi
    i=$((i + 1))
  done
  forget && rm -rf "$ws/.helm" && cp -a "$scratch/forged" "$ws/.helm"
}
ok "a repair that fails on its way does not say that it is done" each_failure
ok "repair without --yes only says what it would do" says 1 "Nothing was changed.  To do it, add --yes" helm log repair
ok "repair" says 0 "records the damage" helm log repair --yes
ok "is sound then" says 0 "sound" helm log check
ok "and work goes on" exits 0 helm run --path "$ws" -- true
ok "the seam is in the chain" grep -q helm.log/repair "$chain"
# All but the forged one, the seam, and what the run behind it left.
ok "no receipt that verifies was removed" test "$(receipts)" -ge "$n"
ok "the check says what is lost" says 0 "1 receipt is lost before it; a repair has put that on record" helm log check
ok "and nothing is left to repair" says 1 "nothing to repair" helm log repair --yes
ok "what was cut is kept" sh -c 'grep -q FORGED "$0"/.helm/receipts.jsonl.damaged-*' "$ws"
ok "the repaired chain verifies" says 0 "ADMISSIBLE" helm verify "$chain" --key "$key"

restore
edit '$d'
ok "a cut tail is found" says 1 "cut off" helm log check
ok "and stops the next writer" says 1 "log repair" helm run --path "$ws" -- true

restore
edit '$d'
rm "$ws/.helm/log/leaves" "$ws/.helm/log/heads.jsonl" "$ws/.helm/log/edge"
ok "a cut that leaves no trace inside is found by the anchors" says 1 "are lost" helm log check

restore
edit '2s/"timestamp":"2/"timestamp":"1/'
ok "an unsigned member is protected too" says 1 "receipt 2" helm log check
restore
edit '2s/"leaf_index":1/"leaf_index":7/'
ok "and the place in the log" says 1 "leaf_index: expected 1" helm log check
ok "by verify as well" says 1 "leaf_index" helm verify "$chain" --key "$key"
restore
edit '2d'
ok "a missing receipt is found" says 1 "receipt 2" helm log check
restore
sed -i '1s/"root_hash":"./"root_hash":"x/' "$ws/.helm/log/heads.jsonl"
ok "a changed head is found" says 1 "heads.jsonl line 1" helm log check
restore
rm "$ws/.helm/log/leaves" "$ws/.helm/log/edge"
ok "missing leaves are only noted" says 0 "makes them again" helm log check
ok "and made again" exits 0 helm run --path "$ws" -- true
restore
printf '{"half":' >>"$chain"
ok "a torn end is only noted" says 0 "never completed" helm log check
ok "and set aside by the next writer" exits 0 helm run --path "$ws" -- true
ok "which kept it" grep -q half "$ws/.helm/receipts.jsonl.torn"
restore
echo 'not json' >>"$chain"
ok "a line that is no receipt" says 1 "no receipt" helm log check
ok "is cut by repair" says 0 "records the damage" helm log repair --yes
ok "after which nothing else is lost" sh -c 'test "$(wc -l <"$0")" -eq "$1"' "$chain" "$((n + 1))"
restore
# Receipts that only stand in the wrong place on their line.
sed -i '2s/^/x/' "$chain"
ok "a stray byte is found" says 1 "line 2" helm log check
ok "and repaired" says 0 "records the damage" helm log repair --yes
ok "without losing the receipt behind it" sh -c 'test "$(wc -l <"$0")" -eq "$1"' "$chain" "$((n + 1))"
ok "so no gap is left" sh -c '! grep -q "\"gaps\"" "$0"' "$chain"
ok "sound" says 0 "sound" helm log check --all
ok "and the heads still count" sh -c '! ls "$0"/.helm/log/*.before-* 2>/dev/null' "$ws"
restore
sed -i '2{N;s/\n//}' "$chain"
ok "two receipts on one line are found" says 1 "line 2" helm log check
ok "and separated" says 0 "records the damage" helm log repair --yes
ok "both stay" sh -c 'test "$(wc -l <"$0")" -eq "$1" && ! grep -q "\"gaps\"" "$0"' "$chain" "$((n + 1))"
ok "sound then" says 0 "sound" helm log check --all
restore
sed -i '2{N;s/\n/@@/}' "$chain"
ok "also with something between them" says 0 "records the damage" helm log repair --yes
ok "which is kept" sh -c 'grep -q "^@@" "$0"/.helm/receipts.jsonl.damaged-*' "$ws"
ok "sound" says 0 "sound" helm log check --all
restore
sed -i '1s/^./f/' "$ws/.helm/log/leaves"
sed -i '2s/^./f/' "$ws/.helm/log/leaves"
sed -i '1s/^../00/;2s/^../11/' "$ws/.helm/log/leaves"
ok "wrong leaves alone need no seam, and that is said" says 1 "nothing is signed" helm log repair
ok "made again" says 0 "were made again" helm log repair --yes
restore

# Verified before.
lacks() { # TEXT COMMAND...: succeeds and does not say it
  not_said=$1
  shift
  exits 0 "$@" && ! grep -qF -e "$not_said" "$scratch/.stdout"
}
ok "all of it once" says 0 "sound" helm log check
ok "what was verified is not read again" says 0 "receipts were verified on" helm log check
ok "--all reads it" lacks "were verified on" helm log check --all
record 1
ok "what is new is read" says 0 ", 2 now" helm log check
ok "a program is told" says 0 '"verified_before"' helm log check --json
edit '2s/"status":"[A-Z]*"/"status":"FORGED"/'
ok "a change in what was verified is found" says 1 "receipt 2 (receipts.jsonl line 2)" helm log check
restore
ok "verified" says 0 "sound" helm log check
sed -i '1s/"timestamp":"./"timestamp":"9/' "$ws/.helm/log/heads.jsonl"
ok "a head that was verified and changed is found" says 1 "heads.jsonl line 1" helm log check
restore
ok "verified again" says 0 "sound" helm log check
for f in "$chain" "$ws/.helm/log/leaves"; do sed -i '$d' "$f"; done
rm "$ws/.helm/log/edge" "$ws/.helm/log/anchors.json" "$ws/.helm/log/heads.jsonl"
ok "a cut that leaves no trace inside is found, because it was verified before" says 1 "what was verified before" helm log check
ok "and a repair puts it on record" says 0 "records the damage" helm log repair --yes
ok "after which it is sound" says 0 "sound" helm log check
ok "other trust, and everything is read" lacks "were verified on" helm log check --key "$key"
rm -rf "$ws/.helm/log" "$chain" "$ws"/.helm/receipts.jsonl.*
record 1
ok "a chain that began anew is said" says 0 "another chain was verified here" helm log check
restore
other=3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29
ok "another key is not trusted, but nothing is damaged" says 1 "UNTRUSTED" helm log check --key $other
if git init -q --object-format=sha256 "$scratch/wide" 2>/dev/null; then
  helm init --path "$scratch/wide" >/dev/null && cd "$scratch/wide" && helm run -- true >/dev/null 2>&1
  ok "anchor in a sha256 repository" says 0 "refs/helm/log" helm log anchor --to refs/helm/log
  ok "and again, on top" says 0 "refs/helm/log" helm log anchor --to refs/helm/log
fi

# The last receipt lacks only its newline, and another one is gone.
helm init --path "$scratch/cut" >/dev/null && cd "$scratch/cut" || exit 1
for i in 1 2 3 4 5 6; do helm run --task-id "t$i" -- true >/dev/null 2>&1; done
last=$(tail -n 1 .helm/receipts.jsonl | grep -o '"receipt_id":"[^"]*"')
sed -i 7d .helm/receipts.jsonl
truncate -s -1 .helm/receipts.jsonl
ok "a repair beside a torn newline" says 0 "records the damage" helm log repair --yes
ok "keeps the receipt that lacked it" grep -qF "$last" .helm/receipts.jsonl
ok "and the log is sound" says 0 "sound   12 receipts" helm log check --all
finish

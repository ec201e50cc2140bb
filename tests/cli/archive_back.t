#!/bin/sh
# archive: some of the files come back, and others behind them do not.
# shellcheck disable=SC2154 # scratch is lib.sh's
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
store=$HELM_BUILD/tests/store_tool
ws=$scratch/ws state=$scratch/ws/.helm
helm init --path "$ws" >/dev/null
cd "$ws" || exit 1
# 5,000 receipts in files of about 1,000.
"$store" "$state" "$scratch/home/.helm/keys" 5000 0 1000000 1700000000000000 1500000 || exit 1
day=2023-11-16 # behind all of them
without_leaf_notice() { says 0 "sound" helm log check --all && ! grep -q "leaves" "$scratch/.stdout"; }
pack_verifies() {
  rm -f "$scratch/r.tar"
  exits 0 helm evidence export --all --out "$scratch/r.tar" && exits 0 helm evidence verify "$scratch/r.tar" --key "$(helm key export)"
}

ok "four files go" says 0 "moved 4 files" helm archive --yes --before $day --to "$scratch/archive"
part_back() { # part_back NUMBER...: these are here, the others are not
  rm -f "$state"/receipts-0*.jsonl "$state/log/edge"
  for number in "$@"; do cp "$scratch/archive/receipts-00000$number.jsonl" "$state/"; done
}
for back in 1 2 "1 2" "2 4" "1 3" 4 "3 4" "1 2 3 4"; do
  # shellcheck disable=SC2086 # words on purpose
  part_back $back
  ok "work goes on with $back back" exits 0 helm run -- true
  ok "the log is sound with $back back" says 0 "sound" helm log check --all
  mv "$scratch/archive" "$scratch/away"
  rm -f "$state/log/edge"
  ok "and with the others out of reach" exits 0 helm run -- true
  ok "also the log" says 0 "sound" helm log check --all
  mv "$scratch/away" "$scratch/archive"
  printf 0 | dd of="$state/log/leaves" bs=1 seek=650 conv=notrunc 2>/dev/null
  printf 1 | dd of="$state/log/leaves" bs=1 seek=$((65 * 2500)) conv=notrunc 2>/dev/null
  exits 0 helm log repair --yes
  ok "leaves are made again with $back back" without_leaf_notice
  ok "a pack of it verifies" pack_verifies
done
part_back 1 2
ok "what is here and not needed can go again" says 0 "moved 1 file to" helm archive --yes --before $day --to "$scratch/archive"
cp "$scratch"/archive/receipts-00000[1-4].jsonl "$state/"
ok "with all of them back nothing is archived" without_leaf_notice
ok "not even said" sh -c '! grep -q archived "$0"' "$scratch/.stdout"
finish

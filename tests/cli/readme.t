#!/bin/sh
# Every helm command of the README's first steps works, in order, in an empty home.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

mkdir project bin && ln -s "$HELM_REAL" bin/helm && cd project || exit 1
printf 'test:\n\ttrue\n' >Makefile
git init -q . 2>/dev/null
sed -n '/^## First steps/,/^## /p' "$HELM_SOURCE/README.md" | sed -n 's/^    \(helm .*\)$/\1/p' >commands
ok "the README has first steps" sh -c 'test "$(wc -l <commands)" -ge 6'
while read -r line; do
  # 2 is wrong usage, 126 and above a program that is not there or a crash.
  ok "$line" env -i PATH="$scratch/bin:$PATH" HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
    sh -c 'sh -c "$0" </dev/null; code=$?; test $code -ne 2 && test $code -lt 126' "$line"
done <commands
ok "and the record verifies" says 0 "ADMISSIBLE" helm verify "$scratch/home/.helm/workspace/.helm/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub"
finish

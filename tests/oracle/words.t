#!/bin/sh
# The evaluator against bash itself: the words a command gets, for texts without anything unknown.
for tool in bash python3; do
	command -v "$tool" >/dev/null || { echo "1..0 # SKIP $tool is missing"; exit 77; }
done
cd "$(dirname "$0")" || exit 1
python3 words_oracle.py "${HELM_BUILD:-../../build/dev}/tests/words_test" words_corpus.txt

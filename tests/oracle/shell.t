#!/bin/sh
# The parser against bash -n and shfmt, over a corpus of whole and broken texts.
for tool in bash shfmt python3; do
	command -v "$tool" >/dev/null || { echo "1..0 # SKIP $tool is missing"; exit 77; }
done
cd "$(dirname "$0")" || exit 1
python3 shell_oracle.py "${HELM_BUILD:-../../build/dev}/tests/shell_test" shell_corpus.txt

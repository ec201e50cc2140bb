#!/bin/sh
# The cases of tests/cases/records are what a second implementation (Python, from docs/formats) makes: they cannot drift.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

command -v python3 >/dev/null || skip_all "python3 is not here"
python3 "$HELM_SOURCE/tests/tools/make_records.py" made >/dev/null || exit 1
ok "the second implementation makes the same cases" diff -r made "$HELM_SOURCE/tests/cases/records"
finish

#!/bin/sh
# coverage.sh: build with gcov, run every test, and fail where a branch that must be taken never is (tools/coverage.py says which
# files that is about; tools/coverage.allow holds the exceptions).  Takes some minutes.
set -eu
cd "$(dirname "$0")/.."

jobs=$(nproc)
cmake --preset coverage >/dev/null
cmake --build --preset coverage -j "$jobs" >/dev/null
find build/coverage -name '*.gcda' -delete
# Whether tests pass is the other builds' business: in this one, what a sandboxed child cannot write about itself it complains
# about, and the paths of the notes are in the program.
ctest --preset coverage -j "$jobs" -LE slow >build/coverage/ctest.log 2>&1 || true
python3 tools/coverage.py build/coverage

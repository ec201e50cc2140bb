#!/bin/sh
# What the README tells a newcomer to type works as it stands there: the install lines put helm on PATH, and each line of the first
# steps ends as it says ("exit N" in its comment, otherwise 0), in order, in a project, in an empty home.
# shellcheck disable=SC2317 # called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

section() { # section TITLE: the lines to type
  sed -n "/^## $1\$/,/^## /s/^    //p" "$HELM_SOURCE/README.md"
}
newcomer() { # newcomer LINE: typed into a new shell in the project, nobody answering
  (cd "$scratch/project" && env -i PATH="$PATH" HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}" sh -c "$(cat "$scratch/path")
$1" </dev/null)
}

mkdir project
printf 'test:\n\ttrue\n' >project/Makefile
git -C project init -q . 2>/dev/null
: >path

# The build that is being tested stands for the one the first line makes.
section Install >install
ok "the README installs what it has built" grep -qx 'cmake --install build/release --prefix ~/.local' install
sed -n "s|^\(cmake --install\) build/release|\1 '$HELM_BUILD'|p" install >install_here
ok "the install line works" newcomer "$(cat install_here)"
grep '^export PATH=' install >path
ok "then helm is on PATH" says 0 "$scratch/home/.local/bin/helm" newcomer 'command -v helm'

section 'First steps' >steps
ok "the README has first steps" sh -c 'test "$(grep -c "^helm " steps)" -ge 6 && ! grep -v "^helm " steps'
while IFS= read -r line; do
  want=$(printf '%s\n' "$line" | sed -n 's/.*# .*exit \([0-9]*\).*/\1/p')
  ok "$line" exits "${want:-0}" newcomer "$line"
done <steps
ok "and the record verifies" says 0 "ADMISSIBLE" helm verify "$scratch/home/.helm/workspace/.helm/receipts.jsonl" --key "$scratch/home/.helm/keys/root.pub"

ok "a project becomes a workspace" newcomer 'helm init --path .'
ok "whose checkpoints hold its files" newcomer 'helm checkpoint create --label own && rm Makefile && helm checkpoint restore latest --only Makefile --yes && grep -q ^test: Makefile'
finish

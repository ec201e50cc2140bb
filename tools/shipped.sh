#!/bin/sh
# shipped.sh: add to share/shipped.txt what is shipped and not listed yet: every version of every file that `helm init` writes (the table of
# src/kernel/shipped.c), from the history of this repository and from the work tree.
# shipped.sh --check: say what is missing there, and exit 1.
set -eu
cd "$(dirname "$0")/.."
table=share/shipped.txt
files=$(sed -n 's/^#define REFERENCES "\(.*\)"/\1/p' src/kernel/shipped.c)
files=$(sed -n '/SHIPPED_FILES\[SHIPPED_COUNT\] = {/,/^};/p' src/kernel/shipped.c | tr '\n' ' ' | tr '{' '\n' |
  sed -n -e "s|.*, REFERENCES \"\([^\"]*\)\".*|$files\1|p" -e 's|.*, "\(share/[^"]*\)".*|\1|p')
missing=0

# add DIGEST FILE RELEASE DAY: unless it is listed
add() {
  ! grep -q " $1 $2\$" "$table" || return 0
  missing=$((missing + 1))
  if [ "$check" = yes ]; then
    echo "not in $table: $2 $1 ($4)"
  else
    echo "$3 $4 $1 $2" >>"$table"
  fi
}

check=no
[ "${1:-}" != --check ] || check=yes
[ -e "$table" ] || echo "# Every text that a release shipped into workspaces: release, day, SHA-256, file. Made by tools/shipped.sh; lines are only added." >"$table"
for file in $files; do
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    for commit in $(git log --full-history --format=%H --reverse -- "$file"); do
      git cat-file -e "$commit:$file" 2>/dev/null || continue
      release=$(git show "$commit:VERSION" 2>/dev/null || echo 0.1.0)
      add "$(git show "$commit:$file" | sha256sum | cut -c1-64)" "$file" "$release" "$(git show -s --format=%as "$commit")"
    done
  fi
  add "$(sha256sum <"$file" | cut -c1-64)" "$file" "$(cat VERSION)" "$(date -u +%Y-%m-%d)"
done
[ "$check" = no ] || [ $missing -eq 0 ] || { echo "sh tools/shipped.sh adds them"; exit 1; }

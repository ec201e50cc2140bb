#!/bin/sh
# invariants.sh — every INV-nnn of docs/INVARIANTS.md has a number of its own, names code that a program reaches, and tests that exist:
#   code: src/base/x.c::function           and further ones; a file alone stands for what is in it (tools/reached.py)
#   also: INV-nnn                          numbers that are cited and that this row covers
#   verify: tests/unit/x_test.c::name      a cmocka test of that name
#   verify: tests/cli/x.t::description     a TAP line of that description
# Each number that the tree cites is one of them, and each sentence of what SECURITY.md promises cites one; tests that it names are there.
set -u
tools=$(cd "$(dirname "$0")" && pwd) || exit 1
cd "${HELM_SOURCE:-$(dirname "$0")/..}" || exit 1
export LC_ALL=C
report=$(mktemp) || exit 1
trap 'rm -f "$report"' EXIT

grep -E '^(INV-[0-9]+:|also: )' docs/INVARIANTS.md | sed 's/^\(INV-[0-9]*\):.*/\1/' | grep -oE 'INV-[0-9]+' | sort | uniq -d |
	sed 's/$/: number used twice/' >>"$report"

# Pairs "INV-nnn<TAB>target", and "INV-nnn<TAB>" for one without a test; "-<TAB>INV-nnn" for one without code.
awk '
function flush() {
	if (id != "" && !found) print id "\t"
	if (id != "" && !code) print "-\t" id
}
/^INV-[0-9]+:/ {
	flush()
	match($0, /INV-[0-9]+/)
	id = substr($0, RSTART, RLENGTH)
	found = code = 0
}
/^code: ./ { code = 1 }
/^ *verify: / {
	sub(/^ *verify: */, "")
	gsub(/`/, "")
	print id "\t" $0
	found = 1
}
END { flush() }' docs/INVARIANTS.md >"$report.pairs"
trap 'rm -f "$report" "$report.pairs"' EXIT
[ -s "$report.pairs" ] || echo "docs/INVARIANTS.md: no invariants found" >>"$report"

while IFS='	' read -r id target; do
	file=${target%%::*}
	name=${target#*::}
	if [ "$id" = - ]; then
		echo "$target: no code line"
	elif [ -z "$id" ]; then
		echo "verify line before the first INV: $target"
	elif [ -z "$target" ]; then
		echo "$id: no verify line"
	elif [ "$file" = "$target" ] || [ -z "$name" ]; then
		echo "$id: name the test, file::name: $target"
	elif [ ! -f "$file" ]; then
		echo "$id: no such file: $file"
	else
		case $file in
		*.c) grep -qE "cmocka_unit_test[a-z_]*\(${name}[,)]" "$file" ;;
		*) grep -qF -e "$name" "$file" ;;
		esac || echo "$id: no test '$name' in $file"
	fi
done <"$report.pairs" >>"$report"

# shellcheck disable=SC2046 # words of the lines are names of code
if grep -q '^code: .' docs/INVARIANTS.md; then
	env HELM_SOURCE="$PWD" python3 "$tools/reached.py" $(sed -n 's/^code: //p' docs/INVARIANTS.md | tr ' ' '\n' | sort -u) >"$report.code" ||
		[ -s "$report.code" ] || echo "tools/reached.py failed" >>"$report"
	while read -r line; do
		echo "$(grep -B 3 -F -e "${line%%: *}" docs/INVARIANTS.md | grep -oE '^INV-[0-9]+' | tail -1): $line"
	done <"$report.code" >>"$report"
	rm -f "$report.code"
fi

# What the tree cites: "FILE:INV-nnn" of everything but the list itself and the test of this check.
known=" $(grep -E '^(INV-[0-9]+:|also: )' docs/INVARIANTS.md | sed 's/^\(INV-[0-9]*\):.*/\1/' | grep -oE 'INV-[0-9]+' | tr '\n' ' ')"
grep -roE 'INV-[0-9]+' SECURITY.md CHANGES.md README.md CONTRIBUTING.md docs src tests 2>/dev/null |
	grep -vE '^(docs/INVARIANTS.md|tests/cli/tree_checks.t):' | sort -u | while IFS=: read -r file id; do
	case $known in *" $id "*) ;; *) echo "$file: $id is not in docs/INVARIANTS.md" ;; esac
done >>"$report"

# A promise: "- **In a few words.** Sentence (INV-nnn). Sentence (INV-nnn)."
awk '
function judge(text, n, i, part) {
	sub(/^- \*\*[^*]*\*\* */, "", text)
	n = split(text, part, /\. +/)
	for (i = 1; i <= n; i++)
		if (part[i] ~ /[a-z]/ && part[i] !~ /INV-[0-9]+/)
			print "SECURITY.md: a promise without an invariant: " substr(part[i], 1, 60)
}
/^## / { if (promise != "") judge(promise); promise = ""; inside = /^## What is promised/ }
inside && /^- / { if (promise != "") judge(promise); promise = $0; next }
inside && /^  / { sub(/^ */, ""); promise = promise " " $0 }
END { if (promise != "") judge(promise) }' SECURITY.md >>"$report"

grep -oE 'tests/[a-z_/]+\.(t|c|py)' SECURITY.md | sort -u | while read -r file; do
	[ -f "$file" ] || echo "SECURITY.md: no such test: $file"
done >>"$report"

[ -s "$report" ] || exit 0
cat "$report"
exit 1

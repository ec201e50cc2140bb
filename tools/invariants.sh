#!/bin/sh
# invariants.sh — every INV-nnn of docs/INVARIANTS.md has a number of its own and names tests that exist:
#   verify: tests/unit/x_test.c::name      a cmocka test of that name
#   verify: tests/cli/x.t::description     a TAP line of that description
# Those that SECURITY.md cites are among them, and each sentence of what it promises cites one; tests that it names are there.
set -u
cd "${HELM_SOURCE:-$(dirname "$0")/..}" || exit 1
export LC_ALL=C
report=$(mktemp) || exit 1
trap 'rm -f "$report"' EXIT

grep -oE '^#* *\*{0,2}INV-[0-9]+' docs/INVARIANTS.md | grep -oE 'INV-[0-9]+' | sort | uniq -d |
	sed 's/$/: number used twice/' >>"$report"

# Pairs "INV-nnn<TAB>target", and "INV-nnn<TAB>" for one without a test.
awk '
function flush() { if (id != "" && !found) print id "\t" }
/^#* *\**INV-[0-9]+/ {
	flush()
	match($0, /INV-[0-9]+/)
	id = substr($0, RSTART, RLENGTH)
	found = 0
}
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
	if [ -z "$id" ]; then
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

grep -oE 'INV-[0-9]+' SECURITY.md 2>/dev/null | sort -u | while read -r id; do
	grep -q "^$id	" "$report.pairs" || echo "SECURITY.md: $id is not in docs/INVARIANTS.md"
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

#!/bin/sh
# reason_codes.sh — docs/reason-codes.md from src/model/reason.def.
# Without arguments: check that the page is what the table says (exit 1 when not).  --write: write it.
set -eu
cd "${HELM_SOURCE:-$(dirname "$0")/..}"

page() {
	cat <<'TEXT'
# Reason codes

Every decision that is not a plain ALLOW carries one of these codes. The list is generated from `src/model/reason.def` by
`tools/reason_codes.sh --write`; change it there. Codes are stable for ever. V: D deny, E escalate, A allow (a note), a letter in
brackets is accepted although the published registry does not list it. F: what kind of no it is (CF the class is forbidden,
UG not granted, IP a parameter is out of bounds, IC the circumstances, IM this member of a set).
TEXT
	awk '
	function row(text,   head, parts, n, i, strings, verdicts, finality) {
		n = split(text, parts, "\"")
		# parts: 1 REASON(code, family, · 2 domain · 3 , verdicts, finality, disclosure, · 4 meaning · 5 , · 6 remedy
		head = parts[1]; sub(/^REASON\(/, "", head)
		split(head, names, /, */)
		split(parts[3], marks, /, */)
		verdicts = marks[2]
		gsub(/WIDE_D/, "[D]", verdicts); gsub(/WIDE_E/, "[E]", verdicts); gsub(/ *\| */, " ", verdicts)
		finality = marks[3] == "NC" ? "–" : marks[3]
		if (names[2] != family) {
			family = names[2]
			printf "\n## %s\n\n| Code | V | Domain | F | What it means | What to do |\n|---|---|---|---|---|---|\n", family
		}
		printf "| `%s` | %s | %s | %s | %s | %s |\n", names[1], verdicts, parts[2], finality, parts[4], parts[6]
	}
	/^REASON\(/ { text = $0; if (text ~ /"\)$/) { row(text); text = "" } next }
	text != "" { sub(/^[ \t]+/, " "); text = text $0; if (text ~ /"\)$/) { row(text); text = "" } }
	' src/model/reason.def
}

if [ "${1:-}" = --write ]; then
	page >docs/reason-codes.md
elif ! page | cmp -s - docs/reason-codes.md; then
	echo "docs/reason-codes.md is not what src/model/reason.def says; run tools/reason_codes.sh --write" >&2
	exit 1
fi

#!/bin/sh
# The page that compares: its figures are made from what was measured, say where others are ahead and what was not kept, and name no machine.
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"
command -v python3 >/dev/null 2>&1 || skip_all "python3 is not here"
cat >bench <<'X'
{"name":"startup","value":729.4,"unit":"us","baseline":960.5,"ratio":0.7594,"promised":"at most 1.6","kept":true}
{"name":"slow","value":12345.6,"unit":"us","baseline":10,"ratio":1234.56,"promised":"at most 2","kept":false}
{"name":"absent","skipped":"no such program"}
X
cat >peers <<'X'
helm 1 0.50 60 70 80 65 0
map 1 0.10 40 80 90 85 0
cedar 1 3.00 233236 300000 400000 250000 2
opa 1 - not measured
helm 100 0.90 100 120 140 110 0
map 100 0.95 160 180 190 165 0
X
cp "$HELM_SOURCE/docs/comparison.md" page.md
make() { python3 "$HELM_SOURCE/tools/comparison.py" --bench bench --peers peers --out page.md; }
ok "the figures are made" make
line() { grep -qF -e "$1" page.md; }
ok "ours beside theirs" line '| Helm | 60 ns | 100 ns |'
ok "an engine that answers wrongly is said to" line '| Cedar, WebAssembly | 233.2 µs, 2 wrong | not measured |'
ok "one that was not measured, too" line '| OPA, WebAssembly | not measured | not measured |'
ok "where another one is ahead it is said" line 'a map by hand, JavaScript answers quicker with 1 rules (40 ns to our 60 ns); a map by hand, JavaScript is ready quicker with 1 rules (0.1 ms to our 0.5 ms).'
ok "beside each figure stands what is promised" line '| `slow` | 12,346 us | 10 | 1,235 | at most 2, not kept |'
ok "a promise that was not kept is named" line 'Not kept in this run: `slow`.'
ok "what could not be measured, with the reason" line 'Not measured: absent: no such program.'
ok "the machine is described" line " processors ("
ok "and not named" sh -c '! grep -qiF -e "$(uname -n)-" -e "host $(uname -n)" page.md'
words() { sed '/<!-- figures/,/<!-- end of figures/d' "$1"; }
words page.md >words.made
words "$HELM_SOURCE/docs/comparison.md" >words.there
ok "the words around them stay" cmp words.made words.there
cp page.md once.md
make
ok "made again it is the same" sh -c 'sed "s/load [0-9.]* when//; /^There was more/,+1d" once.md >a && sed "s/load [0-9.]* when//; /^There was more/,+1d" page.md >b && cmp a b'
sed '/<!-- figures/d' page.md >other.md && mv other.md page.md
ok "a page without a place for them is left alone" sh -c '! "$@" >said 2>&1 && grep -q "no place for figures" said' sh python3 "$HELM_SOURCE/tools/comparison.py" --bench bench --peers peers --out page.md
ok "the page in the tree has its figures" grep -q '^| Helm | [0-9.]* [nµm]*s | ' "$HELM_SOURCE/docs/comparison.md"
finish

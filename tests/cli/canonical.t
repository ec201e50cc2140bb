#!/bin/sh
# canonical: bytes, refusals with line and column, --check and --strict.
# shellcheck disable=SC2016,SC2059,SC2317 # texts for sh -c; escapes for printf; functions are called through ok
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

# prints WANTED INPUT [OPTION...]: exactly these bytes, no newline behind them.
prints() {
  wanted=$1
  printf '%s' "$2" >in.json
  shift 2
  helm canonical "$@" in.json >got || return 1
  printf '%s' "$wanted" >want
  cmp want got
}
# refuses TEXT INPUT [OPTION...]: exit 1, nothing on standard output, TEXT on standard error.
refuses() {
  text=$1
  printf "$2" >in.json
  shift 2
  says 1 "$text" helm canonical "$@" in.json && ! test -s "$scratch/.stdout"
}

ok "members are sorted, white space goes" prints '{"a":[true,null],"b":1}' '{ "b": 1, "a": [true, null] }
'
ok "numbers stay as written" prints '[1e2,1.50,-0]' '[1e2, 1.50, -0]'
ok "names sort by UTF-16 units" prints '{"𐀀":2,"�":1}' '{"\ufffd":1,"\ud800\udc00":2}'
ok "a scalar is a document" prints '"x"' ' "x" '
ok "standard input without a file" sh -c 'printf "[ 1 ]" | "$0" canonical | grep -qx "\[1\]"' "$HELM_REAL"
ok "standard input as -" sh -c 'printf "[ 1 ]" | "$0" canonical - | grep -qx "\[1\]"' "$HELM_REAL"
ok "--json is one document" is_json helm canonical --json in.json
ok "with the digest" says 0 '"sha256": "43a058f361d595b0c583bc02ab61c16bb21e776ce5f188398d93bafc89015947"' \
  sh -c 'printf "{\"a\":1e2}" | "$0" canonical --json' "$HELM_REAL"
ok "and whether it is interoperable" says 0 '"interoperable": false' sh -c 'printf "{\"a\":1e2}" | "$0" canonical --json' "$HELM_REAL"

ok "--strict refuses a number and names its path" refuses 'number 1.5 at $.a[1] is not interoperable' '{"a":[1,1.5]}' --strict
ok "--strict takes integers" prints '{"a":[1,2]}' '{"a": [1, 2]}' --strict

ok "--check is silent on canonical bytes" sh -c 'printf "{\"a\":1}" >c.json; test -z "$("$0" canonical --check c.json 2>&1)"' "$HELM_REAL"
ok "--check refuses a final newline" refuses 'in.json:1:8: not canonical: expected no white space after the value' '{"a":1}\n' --check
ok "--check refuses white space" refuses 'in.json:1:6: not canonical: expected no white space between tokens' '{"a": 1}' --check
ok "--check refuses wrong order" refuses 'in.json:1:3: not canonical: expected' '{"b":1,"a":2}' --check
ok "--check refuses a needless escape" refuses "in.json:1:2: not canonical: expected '/" '"\\/"' --check
ok "--check refuses numbers that are not interoperable" refuses 'at $ is not interoperable' '1.0' --check

ok "duplicate names" refuses 'in.json:1:8: expected each member name once, found "a" again (first at line 1, column 2)' '{"a":1,"a":2}'
ok "line and column" refuses "in.json:2:3: expected a value, found ']'" '[1,\n  ]'
ok "ill-formed UTF-8" refuses 'in.json:1:2: expected well-formed UTF-8, found byte 0xFF' '"\377"'
ok "a NUL byte" refuses 'found control character 0x00' '"a\000"'
ok "a byte-order mark" refuses 'no byte-order mark, found U+FEFF' '\357\273\277{}'
ok "an empty file" refuses 'in.json:1:1: expected a value, found the end of the text' ''
ok "too deep" sh -c 'head -c 1000000 /dev/zero | tr "\0" "[" >deep; ! "$0" canonical deep 2>err && grep -q "nesting of at most 64" err' "$HELM_REAL"
ok "a missing file" says 1 "No such file" helm canonical missing.json
ok "a directory" exits 1 helm canonical .
ok "an escape sequence in a name does not reach the terminal" sh -c \
  'printf "{\"\\\\u001b[31m\":1,\"\\\\u001b[31m\":2}" >esc; ! "$0" canonical esc 2>err && ! grep -q "$(printf "\033")" err' "$HELM_REAL"
finish

#!/bin/sh
# policy eval: values, requirements, checks, and errors with their place; the suite of the language.
# shellcheck disable=SC2016 # expressions are words, not shell
. "${HELM_SOURCE:-.}/tests/cli/lib.sh"

# prints WANTED ARGS...: exit 0 and exactly this line.
prints() {
  wanted=$1
  shift
  [ "$(helm policy eval "$@")" = "$wanted" ]
}
# fails TEXT ARGS...: exit 1, nothing on standard output, TEXT on standard error.
fails() {
  text=$1
  shift
  says 1 "$text" helm policy eval "$@" && ! test -s "$scratch/.stdout"
}
echo '{"input": {"amount": 150, "roles": ["admin", "dev"], "effect": {"type": "pay"}}, "limit": 500}' >in.json

ok "a value is printed as JSON" prints '{"a":[1,"x",null,true]}' '{"a": [1, "x", null, true]}'
ok "the members of the input are the variables" prints true --input in.json 'input.amount <= limit && "admin" in input.roles'
ok "also from standard input" sh -c '"$0" policy eval --input - "input.roles[1]" <in.json | grep -qx "\"dev\""' "$HELM_REAL"
ok "an expression with a sign goes behind --" prints -7 -- '-7'
ok "--json is one document" says 0 '"value": 9223372036854775807' helm policy eval --json 9223372036854775807

ok "what does not compile names line, column, word and remedy" fails "expression:2:3: expected a value, found '*'; take it out" '1 +
  * 2'
ok "so does what fails" fails "expression:1:7: there is no member 'cost'; ask has(...) first" --input in.json 'input.cost > 1'
ok "a wrong function has a proposal" fails "did you mean 'startsWith'?" '"a".startWith("b")'
ok "an unknown variable is no false" fails "no variable 'nobody' is given" 'nobody == 1'
ok "an endless one is given up" fails "given up after 100000 steps" --input in.json \
  '[1,2,3,4,5,6,7,8,9,0].all(a, [1,2,3,4,5,6,7,8,9,0].all(b, [1,2,3,4,5,6,7,8,9,0].all(c, [1,2,3,4,5,6,7,8,9,0].all(d, [1,2,3,4,5,6,7,8,9,0].all(e, a < 10)))))'
ok "a text that no pattern ends on is answered at once" prints false '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!".matches("^(a+)+$")'
ok "words of a message are harmless" sh -c '! "$0" policy eval "$(printf "a \033[31m b")" 2>err; grep -q "x1B\|u{1B}\|x1b" err && ! grep -q "$(printf "\033")" err' "$HELM_REAL"

ok "--check compiles only" says 0 "compiles" helm policy eval --check 'nobody.has == 1'
ok "and names what can only fail" says 0 "A part of it can only fail: expression:1:1: there is no function 'f'" helm policy eval --check 'f(1) || true'
ok "and what is no condition" says 0 "never true or false" helm policy eval --check '1 + nobody'
ok "and refuses the rest" says 1 "there is no function 'f'" helm policy eval --check 'f(1) == 2'
ok "as JSON, too" says 0 '"may_be_bool": true' helm policy eval --check --json 'a.b == 1'

ok "a requirement that is met" prints SATISFIED --requirement --input in.json 'input.amount < limit'
ok "one that is not" says 1 "MISSING_REQUIREMENT" helm policy eval --requirement --input in.json 'input.effect == "pay"'
ok "one that fails is an error, not false" says 1 "PRG_EVALUATION_ERROR: expression:1:7: there is no member 'cost'" \
  helm policy eval --requirement --input in.json 'input.cost < limit'
ok "one that is no bool, too" says 1 "PRG_EVALUATION_ERROR: expression:1:1: a requirement must be true or false" helm policy eval --requirement 1
ok "one that does not compile, too" says 1 '"requirement": "PRG_EVALUATION_ERROR"' helm policy eval --requirement --json '1 +'

ok "the input must be an object" says 1 "in2.json holds array; give an object" sh -c 'echo "[1]" >in2.json; "$0" policy eval --input in2.json 1' "$HELM_REAL"
ok "and be there" says 1 "No such file" helm policy eval --input nowhere.json 1
ok "one expression is needed" says 2 "EXPRESSION" helm policy eval

own=$HELM_SOURCE/tests/cases/policy
ok "our own cases of the language pass" says 0 "95 passed, 0 failed, 1 not supported" helm conform run --suite language --cases "$own"
ok "the report is one document" is_json helm conform run --suite language --cases "$own" --json
ok "conform list names the suite and what it reads" says 0 "derived/expression-cases.json, cel/cel-subset.jsonl" helm conform list
ok "and the families" says 0 "receipt-v5" helm conform list --json

mkdir -p cases/derived cases/cel
cat >cases/derived/expression-cases.json <<'J'
{"variables": {}, "cases": [{"id": "wrong-value", "expression": "1 + 1", "expected": {"value": 3}},
 {"id": "wrong-outcome", "expression": "1 / 0", "expected": {"outcome": "reject"}},
 {"id": "value-refused", "expression": "1", "expected": {"outcome": "refuse"}},
 {"id": "strange", "expression": "1", "expected": {"value": 1, "more": 2}}, {"id": "nothing-expected", "expression": "1"}],
 "requirement_results": [{"id": "wrong-result", "expression": "true", "expected": "MISSING_REQUIREMENT"}]}
J
echo '{"id": "no-error", "expr": "1", "bindings": {}, "error": true}' >cases/cel/cel-subset.jsonl
fails_all() { # each of these must be seen to fail
  helm conform run --suite language --cases cases >out
  [ $? = 1 ] || return 1
  for id in wrong-value wrong-outcome value-refused strange nothing-expected wrong-result no-error; do
    grep -q "FAIL $id" out || return 1
  done
}
ok "a case that is not met fails" fails_all
ok "what is not there is named" says 1 "not there: derived/policy-language-cases.json" helm conform run --suite language --cases cases
ok "a corpus that is not there is not supported" sh -c 'mkdir -p c2/derived; cp "$1/derived/policy-language-cases.json" c2/derived
  "$0" conform run --suite language --cases c2 >out; [ $? = 1 ] && grep -q "0 passed, 0 failed, 24 not supported" out && grep -q "not there: corpus/read-only.cel" out' "$HELM_REAL" "$own"
ok "a policy may lie in a folder of its own" sh -c 'mkdir -p c2/corpus/no-guests; cp "$1/corpus/no-guests.cel" c2/corpus/no-guests/policy.cel
  "$0" conform run --suite language --cases c2 | grep -q "8 passed, 0 failed, 16 not supported"' "$HELM_REAL" "$own"
ok "a broken file of cases is an error with its line" sh -c 'mkdir -p c3/cel; printf "{}\n{\n" >c3/cel/cel-subset.jsonl
  ! "$0" conform run --suite language --cases c3 2>err && grep -q "line 2" err' "$HELM_REAL"
ok "an empty folder is an error" sh -c 'mkdir c4; ! "$0" conform run --suite language --cases c4 2>err && grep -q "no case of suite language" err' "$HELM_REAL"
ok "an unknown suite is wrong usage" says 2 "no suite 'nope'" helm conform run --suite nope --cases cases
ok "--family does not go with it" says 2 "leave it out with --suite" helm conform run --suite language --family cel --cases cases

ok "to the guard it is a look" says 0 "allow  it would read files" helm guard check -- helm policy eval 'true'
finish

/* expression_test.c — the expression language: every operator and function, every error, every limit. */
#include "decide/expression/expression.h"
#include "tools/unit.h"

#include <string.h>

static const char variables_text[] =
	"{\"n\": 5, \"s\": \"h\\u00e9llo\", \"yes\": true, \"no\": false, \"nil\": null, \"list\": [1, \"a\", true, null],"
	" \"nums\": [3, 1, 2], \"map\": {\"a\": 1, \"b\": {\"c\": \"z\"}, \"with-dash\": 7, \"half\": 0.5}, \"half\": 1.5,"
	" \"halves\": [1, 1.5], \"taint\": [\"pii\", \"web\"], \"q.r\": {\"s\": 1}, \"q.r.t\": 2, \"false\": true,"
	" \"big\": 99999999999999999999, \"empty\": {}, \"none\": [], \"mixed\": [\"x\", 1], \"halved\": {\"half\": 0.5}}";

static struct json *variables(struct arena *a)
{
	struct json *v;

	assert_int_equal(json_parse(a, bytes_of(variables_text), "variables", NULL, &v, NULL), OK);
	return v;
}

/* The value as compact JSON, or the error's text. */
static const char *answer_for(struct arena *a, const char *text, const struct json *with, struct err *e)
{
	struct expression *x;
	struct json *value;
	struct buf b;

	if (expression_compile(a, bytes_of(text), "x", &x, e) || expression_value(x, with, a, &value, e))
		return e->text;
	e->code[0] = '\0';
	buf_init(&b, a);
	json_write(&b, value, 0);
	return b.p;
}

static const char *answer(struct arena *a, const char *text, struct err *e)
{
	return answer_for(a, text, variables(a), e);
}

struct row {
	const char *text, *want;
};

static void all_values(const struct row *rows, size_t n)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e;

	for (size_t i = 0; i < n; i++) {
		const char *got = answer(&a, rows[i].text, &e);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s: expected %s, got %s", rows[i].text, rows[i].want, got);
	}
}

static const struct row value_rows[] = {
	/* literals */
	{ "null", "null" },
	{ "true", "true" },
	{ "false", "false" },
	{ "42", "42" },
	{ "0x1F", "31" },
	{ "0XfF", "255" },
	{ "-0x8000000000000000", "-9223372036854775808" },
	{ "-9223372036854775808", "-9223372036854775808" },
	{ "- 9223372036854775808", "-9223372036854775808" },
	{ "9223372036854775807", "9223372036854775807" },
	{ "--5", "5" },
	{ "-(5)", "-5" },
	{ "-n", "-5" },
	{ "''", "\"\"" },
	{ "\"\"\"\"\"\"", "\"\"" },
	{ "'a\"b'", "\"a\\\"b\"" },
	{ "'''a'b\nc'''", "\"a'b\\nc\"" },
	{ "\"\"\"a\"b\"\"\"", "\"a\\\"b\"" },
	{ "r'a\\nb'", "\"a\\\\nb\"" },
	{ "R\"\\d\"", "\"\\\\d\"" },
	{ "r'''a\\'''", "\"a\\\\\"" },
	{ "'\\a\\b\\f\\n\\r\\t\\v\\\\\\?\\\"\\'\\`'", "\"\\u0007\\b\\f\\n\\r\\t\\u000b\\\\?\\\"'`\"" },
	{ "'\\101\\x41\\X41\\u00e9\\U0001f600'", "\"AAAé😀\"" },
	{ "'\\377\\xff'", "\"ÿÿ\"" },
	{ "[]", "[]" },
	{ "[1, [2], 'x',]", "[1,[2],\"x\"]" },
	{ "{}", "{}" },
	{ "{'a': 1, \"b\": {'c': null},}", "{\"a\":1,\"b\":{\"c\":null}}" },
	{ "1 // a comment\n + 2", "3" },
	{ " \t\r\n\f1//", "1" },
	/* names */
	{ "n", "5" },
	{ ".n", "5" },
	{ "map.b.c", "\"z\"" },
	{ ". map . b . c", "\"z\"" },
	{ "(map).b[\"c\"]", "\"z\"" },
	{ "map.`with-dash`", "7" },
	{ "{'a/b.c d': 1}.`a/b.c d`", "1" },
	{ "{'if': {'for': 1}}.if.for", "1" },
	{ "false", "false" },
	{ "q.r.s", "1" },
	{ "q.r.t", "2" },
	{ "has(q.r.s)", "true" },
	{ "map == {'a': 1, 'b': {'c': 'z'}, 'with-dash': 7}", "false" },
	{ "list", "[1,\"a\",true,null]" },
	{ "map.b", "{\"c\":\"z\"}" },
	/* arithmetic */
	{ "1 + 2 * 3 - 4", "3" },
	{ "10 - 3 - 2", "5" },
	{ "(1 + 2) * 3", "9" },
	{ "7 / 2", "3" },
	{ "-7 / 2", "-3" },
	{ "-9223372036854775808 / 2", "-4611686018427387904" },
	{ "7 % -3", "1" },
	{ "-7 % 3", "-1" },
	{ "'a' + 'b' + s", "\"abhéllo\"" },
	{ "[1] + [] + nums", "[1,3,1,2]" },
	{ "-9223372036854775807 - 1", "-9223372036854775808" },
	/* comparing */
	{ "1 == 1 && 1 != 2", "true" },
	{ "1 == '1' || null == 0 || [] == {} || true == 1", "false" },
	{ "nil == null", "true" },
	{ "'a' != 'b'", "true" },
	{ "[1, [2, {'a': 'b'}]] == [1, [2, {'a': 'b'}]]", "true" },
	{ "[1, 2] == [1, 3] || [1] == [1, 1]", "false" },
	{ "{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", "true" },
	{ "{'a': 1} == {'b': 1} || {'a': 1} == {'a': 2} || {'a': 1} == {}", "false" },
	{ "{1: 2, true: 3} == {true: 3, 1: 2}", "true" },
	{ "{1: 2} == {'1': 2}", "false" },
	{ "map.b == {'c': 'z'}", "true" },
	{ "nums == [3, 1, 2]", "true" },
	{ "1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3", "true" },
	{ "2 < 1 || 3 <= 2 || 2 > 3 || 2 >= 3", "false" },
	{ "'a' < 'b' && 'a' < 'aa' && 'B' < 'a' && 'z' < 'é' && '' <= ''", "true" },
	{ "'b' > 'a' && 'aa' > 'a' && 'a' >= 'a'", "true" },
	{ "false < true && !(true < false) && true >= true", "true" },
	{ "1 < 2 == true", "true" },
	{ "1 in nums && !(7 in nums) && 'a' in list && !('1' in list)", "true" },
	{ "'a' in map && !('z' in map) && !(1 in map)", "true" },
	{ "true in {true: 1} && !(null in {}) && !([1] in {'a': 1})", "true" },
	{ "1 in halves", "true" },
	/* logic: errors are overlooked when the other side decides */
	{ "!true", "false" },
	{ "!!!yes", "false" },
	{ "yes && yes", "true" },
	{ "no || no", "false" },
	{ "false && missing", "false" },
	{ "missing && false", "false" },
	{ "true || missing", "true" },
	{ "missing || true", "true" },
	{ "1 && false", "false" },
	{ "'x' || true", "true" },
	{ "unknown(1) || true", "true" },
	{ "true || 1.size()", "true" },
	{ "(1 / 0 > 3 || true) && yes", "true" },
	{ "yes ? 1 : missing", "1" },
	{ "no ? missing : 2", "2" },
	{ "yes ? no ? 1 : 2 : 3", "2" },
	{ "no ? 1 : no ? 2 : 3", "3" },
	/* members and indexes */
	{ "list[0]", "1" },
	{ "[[1], [2]][1][0]", "2" },
	{ "{'a': 1}.a", "1" },
	{ "{1: 'x', true: 'y'}[1] + {true: 'y'}[true]", "\"xy\"" },
	{ "has(map.a) && !has(map.z) && has(map.half)", "true" },
	{ "has({'a': null}.a) && !has({}.a) && !has(map.b.d)", "true" },
	{ "has(map.`with-dash`)", "true" },
	/* functions */
	{ "size(s) + s.size() + size(nums) + size(map.b) + [].size() + size('')", "14" },
	{ "s.startsWith('h') && s.startsWith('') && !s.startsWith('e') && !''.startsWith('a')", "true" },
	{ "s.endsWith('llo') && s.endsWith('') && !s.endsWith('h') && !''.endsWith('a')", "true" },
	{ "s.contains('\\u00e9l') && s.contains('') && !s.contains('x') && ''.contains('')", "true" },
	{ "s.matches('^h.l+o$') && matches(s, 'l') && !s.matches('^e')", "true" },
	{ "s.matches('^' + 'h') && !'x'.matches(s)", "true" },
	{ "taint_contains('pii') && !taint_contains('x')", "true" },
	{ "taint_contains(taint, 'web') && !taint_contains([], 'web')", "true" },
	/* macros */
	{ "nums.all(x, x > 0) && !nums.all(x, x > 1) && [].all(x, false)", "true" },
	{ "nums.exists(x, x == 1) && !nums.exists(x, x > 3) && ![].exists(x, true)", "true" },
	{ "[0, 2].all(x, 1 / x == 1)", "false" },
	{ "[0, 1].exists(x, 1 / x == 1)", "true" },
	{ "halves.exists(x, x == 1)", "true" },
	{ "nums.exists_one(x, x > 2) && !nums.exists_one(x, x > 1) && nums.existsOne(x, x == 3)", "true" },
	{ "nums.filter(x, x > 1)", "[3,2]" },
	{ "nums.map(x, x * x)", "[9,1,4]" },
	{ "nums.map(x, x > 1, [x])", "[[3],[2]]" },
	{ "{'k': 1, 'l': 2}.map(k, k)", "[\"k\",\"l\"]" },
	{ "map.b.exists(k, k == 'c') && {1: 2}.all(k, k == 1)", "true" },
	{ "[[1, 2], [3]].all(x, x.exists(y, y == x[0]))", "true" },
	{ "[1].all(x, [2].all(x, x == 2) && x == 1)", "true" },
	{ "[1].all(n, n == 1 && .n == 5)", "true" },
	{ "[{'a': 1}].all(x, x.a == 1 && has(x.a) && !has(x.b))", "true" },
};

static void values(void **state)
{
	(void)state;
	all_values(value_rows, ARRAY_SIZE(value_rows));
}

/* What compiles and then fails: code, place and words of the message. */
static const struct {
	const char *text, *code, *want;
} failure_rows[] = {
	{ "1 / 0", "EXPRESSION_VALUE", "x:1:3: '/' by zero; compare the divisor with 0 first" },
	{ "1 % 0", "EXPRESSION_VALUE", "x:1:3: '%' by zero" },
	{ "9223372036854775807 + 1", "EXPRESSION_VALUE", "x:1:21: the result of '+' does not fit 64 bits" },
	{ "-9223372036854775808 - 1", "EXPRESSION_VALUE", "'-' does not fit" },
	{ "5000000000 * 5000000000", "EXPRESSION_VALUE", "'*' does not fit" },
	{ "-9223372036854775808 / -1", "EXPRESSION_VALUE", "'/' does not fit" },
	{ "-9223372036854775808 % -1", "EXPRESSION_VALUE", "'%' does not fit" },
	{ "-(-9223372036854775808)", "EXPRESSION_VALUE", "x:1:1: the result of '-' does not fit" },
	{ "missing", "EXPRESSION_VALUE", "x:1:1: no variable 'missing' is given" },
	{ "missing.a.b", "EXPRESSION_VALUE", "no variable 'missing' is given" },
	{ "map.nope", "EXPRESSION_VALUE", "x:1:5: there is no member 'nope'; ask has(...) first" },
	{ "q.r.u", "EXPRESSION_VALUE", "no member 'u'" },
	{ "{'a': 1}.b", "EXPRESSION_VALUE", "no member 'b'" },
	{ "has(map.nope.deep)", "EXPRESSION_VALUE", "no member 'nope'" },
	{ "has(missing.a)", "EXPRESSION_VALUE", "no variable 'missing'" },
	{ "has(n.a)", "EXPRESSION_KIND", "x:1:7: 'a' cannot be done with a value that is int" },
	{ "map['nope']", "EXPRESSION_VALUE", "the map has no such key at ''nope''" },
	{ "{1: 2}[2]", "EXPRESSION_VALUE", "no such key" },
	{ "nums[3]", "EXPRESSION_VALUE", "x:1:6: the index at '3' is outside of the list" },
	{ "nums[-1]", "EXPRESSION_VALUE", "outside of the list" },
	{ "nums['a']", "EXPRESSION_KIND",
		"'[' cannot be done with list on the left and string on the right" },
	{ "map[nil]", "EXPRESSION_KIND", "with map on the left and null on the right" },
	{ "nums[missing]", "EXPRESSION_VALUE", "'missing'" },
	{ "missing[0]", "EXPRESSION_VALUE", "'missing'" },
	{ "s[0]", "EXPRESSION_KIND", "with string on the left and int on the right" },
	{ "n.a", "EXPRESSION_KIND", "x:1:3: 'a' cannot be done with a value that is int" },
	{ "map.a.b.c", "EXPRESSION_KIND", "x:1:7: 'b' cannot" },
	{ "nil.x", "EXPRESSION_KIND", "null" },
	{ "[missing]", "EXPRESSION_VALUE", "'missing'" },
	{ "{missing: 1}", "EXPRESSION_VALUE", "'missing'" },
	{ "{'a': missing}", "EXPRESSION_VALUE", "'missing'" },
	{ "{nil: 1}", "EXPRESSION_KIND", "x:1:2: 'nil' cannot be done with a value that is null" },
	{ "{'a': 1, 'a': 2}", "EXPRESSION_VALUE", "x:1:10: the map has the key at ''a'' already" },
	{ "!n", "EXPRESSION_KIND", "'!' cannot be done with a value that is int" },
	{ "-s", "EXPRESSION_KIND", "'-' cannot be done with a value that is string" },
	{ "!missing", "EXPRESSION_VALUE", "'missing'" },
	{ "n + s", "EXPRESSION_KIND",
		"x:1:3: '+' cannot be done with int on the left and string on the right" },
	{ "s - s", "EXPRESSION_KIND", "'-' cannot" },
	{ "nums - nums", "EXPRESSION_KIND", "'-' cannot" },
	{ "s + nums", "EXPRESSION_KIND", "'+' cannot" },
	{ "nums + s", "EXPRESSION_KIND", "'+' cannot" },
	{ "n + missing", "EXPRESSION_VALUE", "'missing'" },
	{ "n < s", "EXPRESSION_KIND", "'<' cannot" },
	{ "nil <= nil", "EXPRESSION_KIND", "'<=' cannot" },
	{ "nums > nums", "EXPRESSION_KIND", "'>' cannot" },
	{ "1 in n", "EXPRESSION_KIND", "'in' cannot be done with int on the left and int on the right" },
	{ "1 in s", "EXPRESSION_KIND", "'in' cannot" },
	{ "2 in halves", "EXPRESSION_VALUE", "x:1:3: the value of 'in' is a number but no whole one" },
	{ "missing == missing", "EXPRESSION_VALUE", "'missing'" },
	{ "half == 1", "EXPRESSION_VALUE",
		"x:1:1: the value of 'half' is a number but no whole one of 64 bits" },
	{ "big > 1", "EXPRESSION_VALUE", "'big'" },
	{ "map.half", "EXPRESSION_VALUE", "'half'" },
	{ "halves == [1, 2]", "EXPRESSION_VALUE", "'==' is a number" },
	{ "halves != [1, 2]", "EXPRESSION_VALUE", "'!=' is a number" },
	{ "[1, 2] == halves", "EXPRESSION_VALUE", "'==' is a number" },
	{ "map == {'a': 1, 'b': {'c': 'z'}, 'with-dash': 7, 'half': 1}", "EXPRESSION_VALUE", "is a number" },
	{ "{'half': 1} == halved", "EXPRESSION_VALUE", "is a number" },
	{ "[] + halves", "EXPRESSION_VALUE", "is a number" },
	{ "halves.map(x, x)", "EXPRESSION_VALUE", "is a number" },
	{ "halves.filter(x, true)", "EXPRESSION_VALUE", "is a number" },
	{ "yes && n", "EXPRESSION_KIND", "'&&' cannot be done with a value that is int" },
	{ "n && yes", "EXPRESSION_KIND", "'&&' cannot" },
	{ "no || missing", "EXPRESSION_VALUE", "'missing'" },
	{ "missing || no", "EXPRESSION_VALUE", "'missing'" },
	{ "missing && yes", "EXPRESSION_VALUE", "'missing'" },
	{ "n ? 1 : 2", "EXPRESSION_KIND", "'?' cannot" },
	{ "missing ? 1 : 2", "EXPRESSION_VALUE", "'missing'" },
	{ "n.size()", "EXPRESSION_KIND", "'size' cannot be done with a value that is int" },
	{ "size(missing)", "EXPRESSION_VALUE", "'missing'" },
	{ "s.startsWith(n)", "EXPRESSION_KIND", "'startsWith' cannot" },
	{ "s.matches('[' + '')", "EXPRESSION_VALUE",
		"the pattern given to 'matches' is no regular expression" },
	{ "s.matches(n)", "EXPRESSION_KIND", "'matches' cannot" },
	{ "yes ? unknown(1) : 1", "EXPRESSION_KIND", "x:1:7: there is no function 'unknown'" },
	{ "taint_contains(mixed, 'x')", "EXPRESSION_KIND",
		"'taint_contains' cannot be done with a value that is int" },
	{ "taint_contains(halves, 'x')", "EXPRESSION_KIND", "that is int" },
	{ "nums.all(x, x)", "EXPRESSION_KIND", "'all' cannot be done with a value that is int" },
	{ "nums.all(x, missing)", "EXPRESSION_VALUE", "'missing'" },
	{ "[0, 2].exists(x, 1 / x == 1)", "EXPRESSION_VALUE", "by zero" },
	{ "nums.exists_one(x, x)", "EXPRESSION_KIND", "'exists_one' cannot" },
	{ "[0, 1].exists_one(x, 1 / x == 1)", "EXPRESSION_VALUE", "by zero" },
	{ "nums.filter(x, x)", "EXPRESSION_KIND", "'filter' cannot" },
	{ "nums.map(x, x, 1)", "EXPRESSION_KIND", "'map' cannot" },
	{ "nums.map(x, x.a)", "EXPRESSION_KIND", "'a' cannot" },
	{ "n.all(x, true)", "EXPRESSION_KIND", "'all' cannot be done with a value that is int" },
	{ "missing.all(x, true)", "EXPRESSION_VALUE", "'missing'" },
	{ "{1: 2}", "EXPRESSION_VALUE", "has a map with keys that are no strings" },
	{ "[{'a': {true: 2}}]", "EXPRESSION_VALUE", "keys that are no strings" },
	{ "{'a\\u0000b': 2}", "EXPRESSION_VALUE", "keys that are no strings" },
	{ "\n\n 'é' + (missing)", "EXPRESSION_VALUE", "x:3:9: no variable 'missing'" },
};

static void failures(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct expression *x;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(failure_rows); i++) {
		if (expression_compile(&a, bytes_of(failure_rows[i].text), "x", &x, &e))
			fail_msg("%s does not compile: %s", failure_rows[i].text, e.text);
		const char *got = answer(&a, failure_rows[i].text, &e);
		if (strcmp(e.code, failure_rows[i].code) != 0 || !strstr(got, failure_rows[i].want))
			fail_msg("%s: expected %s, got %s %s", failure_rows[i].text, failure_rows[i].want,
				e.code, got);
	}
}

/* What does not compile. */
static const struct {
	const char *text, *code, *want;
} refusal_rows[] = {
	{ "", "EXPRESSION_SYNTAX", "x:1:1: expected a value, found the end; write what is missing" },
	{ "1 +", "EXPRESSION_SYNTAX", "x:1:4: expected a value, found the end" },
	{ "(1", "EXPRESSION_SYNTAX", "expected ')', found the end" },
	{ "(1 2", "EXPRESSION_SYNTAX", "x:1:4: expected ')', found '2'; take it out" },
	{ "[1 2]", "EXPRESSION_SYNTAX", "expected ',' or ']'" },
	{ "[,]", "EXPRESSION_SYNTAX", "expected a value, found ','" },
	{ "{'a' 1}", "EXPRESSION_SYNTAX", "expected ':' and the value of this key" },
	{ "{'a': 1 'b': 2}", "EXPRESSION_SYNTAX", "expected ',' or '}'" },
	{ "{'a': }", "EXPRESSION_SYNTAX", "expected a value" },
	{ "{:1}", "EXPRESSION_SYNTAX", "expected a value" },
	{ "size(1,)", "EXPRESSION_SYNTAX", "expected an argument" },
	{ "size(1 2)", "EXPRESSION_SYNTAX", "expected ',' or ')'" },
	{ "size(", "EXPRESSION_SYNTAX", "found the end" },
	{ "n.", "EXPRESSION_SYNTAX", "expected the name of a member" },
	{ "n.1", "EXPRESSION_SYNTAX", "'.1': numbers with a fraction" },
	{ "n.'a'", "EXPRESSION_SYNTAX", "expected the name of a member" },
	{ ".1e5", "EXPRESSION_SYNTAX", "'.1e5': numbers with a fraction" },
	{ ". 'a'", "EXPRESSION_SYNTAX", "expected a variable" },
	{ "n[", "EXPRESSION_SYNTAX", "expected a value" },
	{ "n[1", "EXPRESSION_SYNTAX", "expected ']'" },
	{ "n ? 1", "EXPRESSION_SYNTAX", "expected ':' and what holds otherwise" },
	{ "n ? : 1", "EXPRESSION_SYNTAX", "expected a value, found ':'" },
	{ "n ? 1 :", "EXPRESSION_SYNTAX", "found the end" },
	{ "1 '''a\nb'''", "EXPRESSION_SYNTAX", "found ''''a\\x0Ab''''" },
	{ "1 2", "EXPRESSION_SYNTAX", "expected an operator or the end, found '2'" },
	{ "n = 1", "EXPRESSION_SYNTAX", "x:1:3: '=': nothing is assigned here; equality is written ==" },
	{ "n & 1", "EXPRESSION_SYNTAX", "'and' is written &&" },
	{ "n | 1", "EXPRESSION_SYNTAX", "'or' is written ||" },
	{ "n # 1", "EXPRESSION_SYNTAX", "no word of this language begins so" },
	{ "é", "EXPRESSION_SYNTAX", "'é': no word of this language begins so" },
	{ "1.5", "EXPRESSION_SYNTAX", "x:1:1: '1.5': numbers with a fraction or an exponent" },
	{ "1e5", "EXPRESSION_SYNTAX", "'1e5'" },
	{ "1u", "EXPRESSION_SYNTAX", "unsigned numbers are no part" },
	{ "1ux", "EXPRESSION_SYNTAX", "a number ends with a digit" },
	{ "1@", "EXPRESSION_SYNTAX", "'@': no word of this language begins so" },
	{ "1x", "EXPRESSION_SYNTAX", "a number ends with a digit" },
	{ "0x", "EXPRESSION_SYNTAX", "digits are missing behind 0x" },
	{ "9223372036854775808", "EXPRESSION_SYNTAX", "a number has at most 64 bits" },
	{ "-9223372036854775809", "EXPRESSION_SYNTAX", "a number has at most 64 bits" },
	{ "99999999999999999999", "EXPRESSION_SYNTAX", "a number has at most 64 bits" },
	{ "18446744073709551619", "EXPRESSION_SYNTAX", "a number has at most 64 bits" },
	{ "b'a'", "EXPRESSION_SYNTAX", "bytes are no part" },
	{ "rb'a'", "EXPRESSION_SYNTAX", "bytes are no part" },
	{ "Br\"a\"", "EXPRESSION_SYNTAX", "bytes are no part" },
	{ "bb'a'", "EXPRESSION_SYNTAX", "expected an operator" },
	{ "rr'a'", "EXPRESSION_SYNTAX", "expected an operator" },
	{ "'abc", "EXPRESSION_SYNTAX", "the string does not end" },
	{ "'''abc''", "EXPRESSION_SYNTAX", "the string does not end" },
	{ "'a\nb'", "EXPRESSION_SYNTAX", "ends on its line" },
	{ "'a\rb'", "EXPRESSION_SYNTAX", "ends on its line" },
	{ "'\\q'", "EXPRESSION_SYNTAX", "x:1:2: '\\q': no such escape" },
	{ "'\\", "EXPRESSION_SYNTAX", "no such escape" },
	{ "'\\x4'", "EXPRESSION_SYNTAX", "no such escape" },
	{ "'\\u12'", "EXPRESSION_SYNTAX", "no such escape" },
	{ "'\\ud800'", "EXPRESSION_SYNTAX", "no such escape" },
	{ "'\\U00110000'", "EXPRESSION_SYNTAX", "no such escape" },
	{ "'\\UFFFFFFFF'", "EXPRESSION_SYNTAX", "no such escape" },
	{ "'\\400'", "EXPRESSION_SYNTAX", "no such escape" },
	{ "'\\189'", "EXPRESSION_SYNTAX", "no such escape" },
	{ "map.``", "EXPRESSION_SYNTAX", "between backquotes" },
	{ "map.`a*b`", "EXPRESSION_SYNTAX", "between backquotes" },
	{ "map.`a", "EXPRESSION_SYNTAX", "between backquotes" },
	{ "`a`", "EXPRESSION_SYNTAX", "expected a value" },
	{ "package", "EXPRESSION_SYNTAX",
		"'package' is a reserved word; as a key it is written [\"package\"]" },
	{ "in", "EXPRESSION_SYNTAX", "expected a value, found 'in'" },
	{ "map.in", "EXPRESSION_SYNTAX", "expected the name of a member" },
	{ "has(n)", "EXPRESSION_SYNTAX", "x:1:5: has() asks for a member; write has(a.b)" },
	{ "has(map['a'])", "EXPRESSION_SYNTAX", "has() asks for a member" },
	{ "has()", "EXPRESSION_SYNTAX", "expected a value" },
	{ "has(map.a, 1)", "EXPRESSION_SYNTAX", "expected ')'" },
	{ "nums.all(1, true)", "EXPRESSION_SYNTAX", "expected a name for each element" },
	{ "nums.all(x)", "EXPRESSION_SYNTAX", "expected ',' and an expression over the name" },
	{ "nums.all(x.y, true)", "EXPRESSION_SYNTAX", "expected ','" },
	{ "nums.all(x, )", "EXPRESSION_SYNTAX", "expected a value" },
	{ "nums.all(x, true, 1)", "EXPRESSION_SYNTAX", "expected ')'" },
	{ "nums.map(x, true, )", "EXPRESSION_SYNTAX", "expected a value" },
	{ "nums.map(x, true, 1, 2)", "EXPRESSION_SYNTAX", "expected ')'" },
	{ "!", "EXPRESSION_SYNTAX", "found the end" },
	{ "-", "EXPRESSION_SYNTAX", "found the end" },
	{ "\xff", "EXPRESSION_SYNTAX", "x:1:1: the text is not UTF-8 here" },
	{ "'a\xff'", "EXPRESSION_SYNTAX", "x:1:3: the text is not UTF-8 here" },
	/* what can only fail */
	{ "foo(1)", "EXPRESSION_KIND",
		"x:1:1: there is no function 'foo' with these arguments; there are size" },
	{ "now()", "EXPRESSION_KIND", "there is no function 'now'" },
	{ "timestamp('x') == null", "EXPRESSION_KIND", "there is no function 'timestamp'" },
	{ "s.startWith('h')", "EXPRESSION_KIND", "did you mean 'startsWith'?" },
	{ "startsWith(s, 'h')", "EXPRESSION_KIND", "there is no function 'startsWith' with these arguments" },
	{ "s.taint_contains('h')", "EXPRESSION_KIND", "there is no function 'taint_contains'" },
	{ "size()", "EXPRESSION_KIND", "there is no function 'size' with these arguments" },
	{ "size(1, 2, 3)", "EXPRESSION_KIND", "there is no function 'size'" },
	{ "s.if()", "EXPRESSION_KIND", "there is no function 'if'" },
	{ "size(5)", "EXPRESSION_KIND", "'size' cannot be done with a value that is int" },
	{ "'a'.startsWith(1)", "EXPRESSION_KIND", "with a value that is int" },
	{ "1 + 'a'", "EXPRESSION_KIND", "with int on the left and string on the right" },
	{ "'a' - 'b'", "EXPRESSION_KIND", "'-' cannot" },
	{ "1 < 'a'", "EXPRESSION_KIND", "'<' cannot" },
	{ "[1] < [2]", "EXPRESSION_KIND", "'<' cannot be done with list" },
	{ "has({}.a) + 1", "EXPRESSION_KIND", "with bool on the left and int on the right" },
	{ "has(map.a) + 1", "EXPRESSION_KIND", "with bool on the left and int on the right" },
	{ "!1", "EXPRESSION_KIND", "'!' cannot" },
	{ "-'a'", "EXPRESSION_KIND", "'-' cannot" },
	{ "'a' && 'b'", "EXPRESSION_KIND",
		"'&&' cannot be done with string on the left and string on the right" },
	{ "1 ? 2 : 3", "EXPRESSION_KIND", "'?' cannot be done with a value that is int" },
	{ "true ? foo() : bar()", "EXPRESSION_KIND", "'foo'" },
	{ "'a' in 'abc'", "EXPRESSION_KIND", "'in' cannot" },
	{ "foo() in [1]", "EXPRESSION_KIND", "'foo'" },
	{ "1 in foo()", "EXPRESSION_KIND", "'foo'" },
	{ "'a'.b", "EXPRESSION_KIND", "'b' cannot be done with a value that is string" },
	{ "has([].b)", "EXPRESSION_KIND", "'has' cannot be done with a value that is list" },
	{ "'a'[0]", "EXPRESSION_KIND", "'[' cannot" },
	{ "[1]['a']", "EXPRESSION_KIND", "'[' cannot be done with list on the left and string on the right" },
	{ "{}[[]]", "EXPRESSION_KIND", "'[' cannot be done with map on the left and list on the right" },
	{ "{null: 1}", "EXPRESSION_KIND", "'null' cannot be done with a value that is null" },
	{ "{'a': 1, []: 1}", "EXPRESSION_KIND", "'[' cannot be done with a value that is list" },
	{ "{'a': foo()}", "EXPRESSION_KIND", "'foo'" },
	{ "[foo()]", "EXPRESSION_KIND", "'foo'" },
	{ "1.all(x, true)", "EXPRESSION_KIND", "'all' cannot be done with a value that is int" },
	{ "'a'.map(x, true)", "EXPRESSION_KIND", "'map' cannot" },
	{ "(size('a') + size([])).filter(x, true)", "EXPRESSION_KIND",
		"'filter' cannot be done with a value that is int" },
	{ "(true ? 1 : 'a') - 'b'", "EXPRESSION_KIND", "with int or string on the left" },
	{ "(true ? 1 : false ? 'a' : null) && 1", "EXPRESSION_KIND", "with null, int or string on the left" },
	{ "n - 'b'", "EXPRESSION_KIND", "with what it is on the left and string on the right" },
	{ "s.matches('[')", "EXPRESSION_PATTERN", "x:1:11: pattern '[' at offset 0: '[' without ']'" },
	{ "s.matches('(a)\\\\1')", "EXPRESSION_PATTERN", "references back" },
	{ "s.matches(1)", "EXPRESSION_KIND", "'matches' cannot" },
	{ "s.matches()", "EXPRESSION_KIND", "there is no function 'matches'" },
};

static void refusals(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct expression *x = NULL;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refusal_rows); i++) {
		if (expression_compile(&a, bytes_of(refusal_rows[i].text), "x", &x, &e) == OK)
			fail_msg("%s compiles", refusal_rows[i].text);
		if (strcmp(e.code, refusal_rows[i].code) != 0 || !strstr(e.text, refusal_rows[i].want))
			fail_msg("%s: expected %s, got %s %s", refusal_rows[i].text, refusal_rows[i].want,
				e.code, e.text);
	}
	assert_null(x);
	assert_int_equal(
		expression_compile(&a, (struct bytes){ (const uint8_t *)"1 \0", 3 }, "x", &x, NULL), E_INPUT);
	assert_int_equal(
		expression_compile(&a, (struct bytes){ (const uint8_t *)"'\\\0'", 4 }, "x", &x, NULL),
		E_INPUT);
	assert_int_equal(expression_compile(&a, (struct bytes){ NULL, 0 }, "x", &x, NULL), E_INPUT);
}

/* n times `one`, between two texts. */
static char *many(struct arena *a, const char *before, const char *one, size_t n, const char *after)
{
	struct buf b;

	buf_init(&b, a);
	buf_adds(&b, before);
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, one);
	buf_adds(&b, after);
	return b.p;
}

static char *nested(struct arena *a, const char *open, size_t n, const char *middle, const char *close)
{
	return many(a, many(a, "", open, n, middle), close, n, "");
}

static void compiles(struct arena *a, char *text, bool does)
{
	struct expression *x;
	struct err e = { 0 };
	int rc = expression_compile(a, bytes_of(text), "x", &x, &e);

	if (does != (rc == OK))
		fail_msg("%.100s: %s", text, e.text);
	if (!does) {
		assert_int_equal(rc, E_LIMIT);
		assert_string_equal(e.code, "EXPRESSION_SIZE");
	}
}

static void sizes_are_limited(void **state)
{
	static const struct {
		const char *open, *middle, *close;
	} brackets[] = { { "[", "", "]" }, { "{'a': ", "1", "}" }, { "size(", "''", ")" },
		{ "nums[", "0", "]" }, { "[1].all(x, ", "true", ")" }, { "nums.all(x, ", "true", ")" },
		{ "has(", "a.b", ".c)" } };
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(brackets); i++) {
		/* has(has(...).c) and size(size(...)) can only fail, which is said later than that they are too deep. */
		bool fails = brackets[i].open[0] == 's' || brackets[i].open[0] == 'h';
		if (!fails)
			compiles(&a,
				nested(&a, brackets[i].open, EXPRESSION_NESTING, brackets[i].middle,
					brackets[i].close),
				true);
		compiles(&a,
			nested(&a, brackets[i].open, EXPRESSION_NESTING + 1, brackets[i].middle,
				brackets[i].close),
			false);
	}
	compiles(&a, nested(&a, "(", EXPRESSION_PARENTHESES - 1, "1", ")"), true);
	compiles(&a, nested(&a, "(", EXPRESSION_PARENTHESES, "1", ")"), false);
	compiles(&a, many(&a, "", "!", EXPRESSION_PARENTHESES - 1, "true"), true);
	compiles(&a, many(&a, "", "!", EXPRESSION_PARENTHESES + 1, "true"), false);
	compiles(&a, many(&a, "", "no ? 1 : ", 24, "2"), true);
	compiles(&a, many(&a, "", "no ? 1 : ", EXPRESSION_PARENTHESES, "2"), false);
	compiles(&a, many(&a, "", "1+", 499, "1"), true);
	compiles(&a, many(&a, "", "1+", 500, "1"), false);
	compiles(&a, many(&a, "[", "1,", EXPRESSION_NODES - 1, "]"), true);
	compiles(&a, many(&a, "[", "1,", EXPRESSION_NODES, "]"), false);
	compiles(&a, many(&a, "{", "n:1,", 500, "}"), false);
	compiles(&a, many(&a, "n", ".n", EXPRESSION_NODES - 1, ""), true);
	compiles(&a, many(&a, "n", ".n", EXPRESSION_NODES, ""), false);
	compiles(&a, many(&a, "{}", ".n", EXPRESSION_NODES, ""), false);
	compiles(&a, many(&a, "n", "[0]", EXPRESSION_NODES / 2, ""), false);
	compiles(&a, many(&a, "n", ".size()", EXPRESSION_NODES, ""), false);
	compiles(&a, many(&a, "n", ".map(x, 1)", EXPRESSION_NODES, ""), false);
	compiles(&a, many(&a, "[", "[].map(x, x),", EXPRESSION_NODES, "]"), false);
	compiles(&a, many(&a, "[", "has(a.b),", EXPRESSION_NODES, "]"), false);
	/* The last node is one too many, whatever it is. */
	compiles(&a, many(&a, "has(n", ".n", EXPRESSION_NODES - 2, ")"), true);
	compiles(&a, many(&a, "has(n", ".n", EXPRESSION_NODES - 1, ")"), false);
	compiles(&a, many(&a, "-size([", "1,", EXPRESSION_NODES - 2, "])"), false);
	compiles(&a, many(&a, "[", "1,", EXPRESSION_NODES - 2, "].map(x, x)"), false);
	compiles(&a, many(&a, "[", "1,", EXPRESSION_NODES - 1, "true]"), false);
	compiles(&a, many(&a, "[", "1,", EXPRESSION_NODES - 1, "null]"), false);
	compiles(&a, many(&a, "[", "1,", EXPRESSION_NODES - 1, "'']"), false);
	/* Whatever stands where the room ends. */
	for (const char *const *at = (const char *const[]){ "[", "[1,", "[1,1,", NULL }; *at; at++) {
		compiles(&a, many(&a, *at, "has(a.b),", EXPRESSION_NODES, "]"), false);
		compiles(&a, many(&a, *at, "[].map(x, x),", EXPRESSION_NODES, "]"), false);
	}
	compiles(&a, many(&a, "[", "-n,", EXPRESSION_NODES, "]"), false);
	compiles(&a, many(&a, "[", "-1,", EXPRESSION_NODES, "]"), false);
	compiles(&a, many(&a, "[", "[],", EXPRESSION_NODES, "]"), false);
	compiles(&a, many(&a, "[", "{},", EXPRESSION_NODES, "]"), false);
	compiles(&a, many(&a, "[", "'',", EXPRESSION_NODES, "]"), false);
	compiles(&a, many(&a, "[", "n ? 1 : 1,", EXPRESSION_NODES, "]"), false);
	compiles(&a, many(&a, "'", "a", EXPRESSION_BYTES - 2, "'"), true);
	compiles(&a, many(&a, "'", "a", EXPRESSION_BYTES - 1, "'"), false);
}

/* What is too large is not made first: the arena has no room for it. */
static void nothing_large_is_made(const char *text, const struct json *with)
{
	AUTO(arena_done) struct arena small = { .limit_bytes = 1 << 20 };
	struct expression *x;
	struct json *value;
	struct err e = { 0 };

	assert_int_equal(expression_compile(&small, bytes_of(text), "x", &x, &e), OK);
	assert_int_equal(expression_value(x, with, &small, &value, &e), E_LIMIT);
}

/* Too costly, and not overlooked; but for what is decided before. */
static void is_given_up(const char *text, const struct json *with)
{
	AUTO(arena_done) struct arena own = { .limit_bytes = 64 << 20 };
	struct expression *x;
	struct json *value;
	struct err e = { 0 };
	bool is_decided = strncmp(text, "true ||", 7) == 0;

	assert_int_equal(expression_compile(&own, bytes_of(text), "x", &x, &e), OK);
	int rc = expression_value(x, with, &own, &value, &e);
	if (rc != (is_decided ? OK : E_LIMIT))
		fail_msg("%s: %d %s", text, rc, e.text);
	if (!is_decided) {
		assert_string_equal(e.code, "EXPRESSION_COST");
		assert_int_equal(expression_requirement(x, with, &own, &e), REQUIREMENT_ERROR);
	}
}

/* What would take too long is given up, and nothing overlooks that. */
static void costs_are_limited(void **state)
{
	static const char *const rows[] = {
		"long.all(x, long.all(y, true))",
		"true || long.exists(x, long.all(y, true))",
		"long.all(x, long.all(y, true)) || true",
		"false && long.all(x, long.all(y, true)) || long.all(x, long.all(y, true))",
		"long.exists(x, long.exists(y, false)) || true",
		"long.map(x, long.map(y, y))",
		"long.filter(x, long.exists_one(y, false))",
		"long.all(x, long == long)",
		"long.all(x, !(x in [long, long]) && !(-1 in long))",
		"long.all(x, size(text) > 0)",
		"long.all(x, text == text)",
		"long.all(x, text <= text)",
		"long.all(x, text.contains('x') || true)",
		"long.all(x, text.startsWith(text) || text.endsWith(text))",
		"text.matches('(a|b)*c')",
		"long.all(x, 'a'.matches('a' + 'a*') || true)",
		"long.all(x, 'a'.matches(text) || true)",
		"long.all(x, 'a'.matches('^(b{900}){4}') || true)",
		"long.all(x, wide.last == 0 || true)",
		"long.all(x, unbound.a.b.c.d.e.f.g.h.i.j.k || true)",
		"long.all(x, taint_contains(labels, 'z') || true)",
		"[text].map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x)",
		"long.map(x, long + long)",
		"long.all(x, [unbound, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18] == [] || true)",
		"long.all(x, {unbound: 1, 2: 3, 4: 5, 6: 7, 8: 9, 10: 11, 12: 13, 14: 15, 16: 17, 18: 0} == {} || true)",
		"[long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long, long]",
		"[0, 1].map(x, [wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide, wide])",
		"[[[0]]].map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x])",
		"{'a': [[[0]]].map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x]).map(x, [x, x, x, x])}",
	};
	AUTO(arena_done) struct arena a = { 0 };
	struct json *with = json_new(&a, JSON_OBJECT), *list = json_new(&a, JSON_ARRAY);
	struct json *labels = json_new(&a, JSON_ARRAY), *wide = json_new(&a, JSON_OBJECT);

	(void)state;
	for (int i = 0; i < 5000; i++) {
		json_push(&a, list, json_number(&a, i));
		json_pushs(&a, labels, "label");
	}
	for (int i = 0; i < 3000; i++)
		json_seti(&a, wide, arena_printf(&a, "member%d", i), 1);
	json_seti(&a, wide, "last", 0);
	json_set(&a, with, "long", list);
	json_set(&a, with, "labels", labels);
	json_set(&a, with, "wide", wide);
	json_sets(&a, with, "text", many(&a, "", "ab", 100000, ""));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_given_up(rows[i], with);
	/* What is made is charged before it is made. */
	is_given_up(many(&a, "long.all(x, {unbound: 1", ", 1: 1", 200, "} == {} || true)"), with);
	is_given_up(many(&a, "long.all(x, [unbound", ", 1", 400, "] == [] || true)"), with);
	for (int i = 5000; i <= EXPRESSION_COST; i++)
		json_push(&a, list, json_number(&a, i));
	json_sets(&a, with, "text", many(&a, "", "abcdefgh", EXPRESSION_COST * 8, ""));
	nothing_large_is_made("text + 'x'", with);
	nothing_large_is_made("long + [1]", with);
	nothing_large_is_made("long.map(x, 1)", with);
	nothing_large_is_made("[text]", with);
	nothing_large_is_made("long", with);
}

static void requirements(void **state)
{
	static const struct {
		const char *text;
		enum requirement want;
		const char *why;
	} rows[] = {
		{ "yes", REQUIREMENT_SATISFIED, "" },
		{ "n == 5 && 'pii' in taint", REQUIREMENT_SATISFIED, "" },
		{ "no", REQUIREMENT_MISSING, "" },
		{ "map == 'read'", REQUIREMENT_MISSING, "" },
		{ "n", REQUIREMENT_ERROR, "x:1:1: a requirement must be true or false, and 'n' is neither" },
		{ "nil", REQUIREMENT_ERROR, "neither" },
		{ "'true'", REQUIREMENT_ERROR, "neither" },
		{ "map.missing == 1", REQUIREMENT_ERROR, "no member 'missing'" },
		{ "1 / 0 == 1", REQUIREMENT_ERROR, "by zero" },
	};
	AUTO(arena_done) struct arena a = { 0 };
	struct expression *x;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err e = { 0 };
		assert_int_equal(expression_compile(&a, bytes_of(rows[i].text), "x", &x, &e), OK);
		assert_int_equal(expression_requirement(x, variables(&a), &a, &e), rows[i].want);
		assert_non_null(strstr(e.text, rows[i].why));
	}
	assert_string_equal(requirement_name(REQUIREMENT_SATISFIED), "SATISFIED");
	assert_string_equal(requirement_name(REQUIREMENT_MISSING), "MISSING_REQUIREMENT");
	assert_string_equal(requirement_name(REQUIREMENT_ERROR), "PRG_EVALUATION_ERROR");
}

/* What is known of an expression without variables. */
static void doubts(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct expression *x;

	(void)state;
	assert_int_equal(expression_compile(&a, bytes_of("yes || foo(1)"), "x", &x, NULL), OK);
	assert_non_null(strstr(expression_doubt(x, &a), "x:1:8: there is no function 'foo'"));
	assert_int_equal(
		expression_compile(&a, bytes_of("[1].all(x, x + 1 > 2 && 1 + 'a' == x)"), "x", &x, NULL), OK);
	assert_non_null(strstr(expression_doubt(x, &a), "'+' cannot be done with int"));
	assert_int_equal(
		expression_compile(&a, bytes_of("n > 1 && map.a.b == {'x': [1]}"), "x", &x, NULL), OK);
	assert_null(expression_doubt(x, &a));
	assert_true(expression_may_be_bool(x));
	assert_int_equal(expression_compile(&a, bytes_of("1 + n"), "x", &x, NULL), OK);
	assert_false(expression_may_be_bool(x));
	assert_int_equal(expression_compile(&a, bytes_of("[true][0]"), "x", &x, NULL), OK);
	assert_true(expression_may_be_bool(x));
}

/* The labels of the input: its own list, or that of `input`; anything else is an error, never "not tainted". */
static void taint_comes_from_the_input(void **state)
{
	static const struct {
		const char *with, *want;
	} rows[] = {
		{ "{\"taint\": [\"pii\"]}", "true" },
		{ "{\"input\": {\"taint\": [\"pii\"]}}", "true" },
		{ "{\"input\": {\"taint\": []}}", "false" },
		{ "{\"taint\": [], \"input\": {\"taint\": [\"pii\"]}}", "false" },
		{ "{}", "x:1:1: no variable 'taint_contains' is given" },
		{ "{\"taint\": \"pii\"}", "that is string" },
		{ "{\"taint\": 1.5}", "no whole one" },
		{ "{\"taint\": [\"pii\", 1]}", "that is int" },
		{ "{\"taint\": [1.5, \"pii\"]}", "no whole one" },
	};
	AUTO(arena_done) struct arena a = { 0 };
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *with;
		assert_int_equal(json_parse(&a, bytes_of(rows[i].with), "with", NULL, &with, NULL), OK);
		const char *got = answer_for(&a, "taint_contains('pii')", with, &e);
		if (!strstr(got, rows[i].want))
			fail_msg("%s: %s", rows[i].with, got);
	}
}

/* Evaluating changes neither the expression nor the variables, and works without any variables. */
static void is_pure(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *with = variables(&a), *first, *second;
	const char *before = json_sha256(&a, with);
	struct expression *x;
	struct err e;

	(void)state;
	assert_int_equal(expression_compile(&a,
				 bytes_of("nums.map(x, [x, map, s + 'x']) + [list, list.filter(y, y == 1)]"),
				 "x", &x, &e),
		OK);
	assert_int_equal(expression_value(x, with, &a, &first, &e), OK);
	assert_int_equal(expression_value(x, with, &a, &second, &e), OK);
	assert_true(json_eq(first, second));
	assert_string_equal(json_sha256(&a, with), before);
	assert_string_equal(answer_for(&a, "1 + 1", NULL, &e), "2");
	assert_non_null(strstr(answer_for(&a, "n", NULL, &e), "no variable 'n'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(failures),
		cmocka_unit_test(refusals),
		cmocka_unit_test(sizes_are_limited),
		cmocka_unit_test(costs_are_limited),
		cmocka_unit_test(requirements),
		cmocka_unit_test(doubts),
		cmocka_unit_test(taint_comes_from_the_input),
		cmocka_unit_test(is_pure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

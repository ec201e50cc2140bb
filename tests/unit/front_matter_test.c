/* front_matter_test.c — what stands between the fences, how it is written, and that a field is set without touching the rest. */
#include "remember/front_matter.h"
#include "tools/unit.h"

#include <string.h>

static void reads(const char *text, const char *fields, const char *body)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct front_matter f;
	struct json *want;
	struct buf got;
	struct err e;

	front_matter_parse(&a, bytes_of(text), &f);
	assert_int_equal(json_parse(&a, bytes_of(fields), "want", NULL, &want, &e), OK);
	buf_init(&got, &a);
	json_write(&got, f.fields, 0);
	if (!json_eq(f.fields, want))
		fail_msg("%s\nread as %s", text, got.p);
	assert_true(bytes_is(f.body, body));
}

static void test_grammar(void **state)
{
	(void)state;
	reads("plain\n", "{}", "plain\n");
	reads("---\nno: end\n", "{}", "---\nno: end\n");
	reads("---\na: b\n---\nbody\n", "{\"a\":\"b\"}", "body\n");
	reads("\xef\xbb\xbf---\r\na: b\r\n---\r\nx", "{\"a\":\"b\"}", "x");
	reads("---\na:\nb: null\nc: true\nd: False\ne: -12\nf: 0.50\ng: 007\nh: 1.\n---\n",
		"{\"a\":null,\"b\":null,\"c\":true,\"d\":\"False\",\"e\":-12,\"f\":0.50,\"g\":\"007\",\"h\":\"1.\"}",
		"");
	reads("---\n# c: 1\nno colon\n: nothing\na: x: y # z\n---\n", "{\"a\":\"x: y # z\"}", "");
	reads("---\nq: \"a \\\"b\\\" \\\\ \\n c\"\ns: 'it''s'\nt: \"open\n---\n",
		"{\"q\":\"a \\\"b\\\" \\\\ \\n c\",\"s\":\"it's\",\"t\":\"\\\"open\"}", "");
	reads("---\nl: [a, \"b, c\", 3, true, ]\nm: []\nn: [x\n---\n",
		"{\"l\":[\"a\",\"b, c\",3,true],\"m\":[],\"n\":\"[x\"}", "");
	reads("---\na: 1\na: 2\n---\n", "{\"a\":2}", "");
}

static void test_what_hangs_below_a_key(void **state)
{
	(void)state;
	reads("---\np:\n  kind: web_fetch\n  in:\n    deep: 1\n  url: u\nz: 1\n---\n",
		"{\"p\":{\"kind\":\"web_fetch\",\"in\":{\"deep\":1},\"url\":\"u\"},\"z\":1}", "");
	reads("---\ntags:\n- a\n- \"b\"\nmore:\n  - 1\n  - x: y\n- lost\nz:\n---\n",
		"{\"tags\":[\"a\",\"b\"],\"more\":[1,\"x: y\",\"lost\"],\"z\":null}", "");
	reads("---\nd: >-\n  two\n  lines\nl: |\n  a\n\n  b\n\ne: 1\n---\n",
		"{\"d\":\"two lines\",\"l\":\"a\\n\\nb\",\"e\":1}", "");
}

static void test_too_large_is_text(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct front_matter f;
	struct buf b;

	(void)state;
	buf_init(&b, &a);
	buf_adds(&b, "---\n");
	while (b.n <= FRONT_MATTER_BYTES + 4)
		buf_adds(&b, "# filling\n");
	buf_adds(&b, "---\nbody");
	front_matter_parse(&a, buf_bytes(&b), &f);
	assert_false(f.is_there);
	assert_int_equal(f.body.n, b.n);
}

static void test_write(void **state)
{
	static const char given[] =
		"{\"a\":\" x\",\"b\":\"-x\",\"c\":\"TRUE\",\"d\":\"1e5\",\"e\":\"a: b\",\"f\":\"say \\\"hi\\\" \\\\\",\"g\":\"two\\nlines\","
		"\"h\":null,\"i\":1.5,\"j\":[\"p, q\",\"r\",2],\"k\":{\"s\":\"\",\"t\":{\"u\":true}},\"l\":\"plain words\"}";
	AUTO(arena_done) struct arena a = { 0 };
	struct front_matter f;
	struct json *fields;
	struct buf b;
	struct err e;

	(void)state;
	assert_int_equal(json_parse(&a, bytes_of(given), "given", NULL, &fields, &e), OK);
	buf_init(&b, &a);
	front_matter_write(&b, fields, bytes_of("body  \n\n \n"));
	assert_non_null(strstr(b.p, "\na: \" x\"\nb: \"-x\"\nc: \"TRUE\"\nd: \"1e5\"\ne: \"a: b\"\n"));
	assert_non_null(strstr(b.p, "\nl: plain words\n---\nbody\n"));
	front_matter_parse(&a, buf_bytes(&b), &f);
	assert_true(json_eq(f.fields, fields));
	assert_true(bytes_is(f.body, "body\n"));
}

static void sets(const char *text, const char *name, const char *value, const char *want)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf b;

	buf_init(&b, &a);
	front_matter_set(&b, bytes_of(text), name, value ? json_string(&a, value) : NULL);
	assert_string_equal(b.p, want);
}

static void test_set_leaves_the_rest(void **state)
{
	(void)state;
	sets("---\n# mine\nstate: captured\n\nodd line\n---\n  body\n", "state", "reviewed",
		"---\n# mine\nstate: reviewed\n\nodd line\n---\n  body\n");
	sets("---\na: 1\n---\nb", "state", "x", "---\na: 1\nstate: x\n---\nb");
	sets("---\nt:\n  a: 1\n  b: 2\n- x\nu: 1\n---\nb", "t", "v", "---\nt: v\nu: 1\n---\nb");
	sets("---\nin:\n  state: a\n---\n", "state", "b", "---\nin:\n  state: a\nstate: b\n---\n");
	sets("---\na: 1\nb: 2\n---\n", "a", NULL, "---\nb: 2\n---\n");
	sets("no front matter", "a", "b", "---\na: b\n---\nno front matter");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grammar),
		cmocka_unit_test(test_what_hangs_below_a_key),
		cmocka_unit_test(test_too_large_is_text),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_set_leaves_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

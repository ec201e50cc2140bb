/* shell_test.c — the shell's grammar.  With --dump FILE it prints one JSON line of counts per text of a corpus (texts are
 * separated by lines of "%%"), which tests/oracle/shell.t compares with other parsers. */
#include "base/text.h"
#include "propose/shell/shell.h"
#include "tools/shell_dump.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct parsed {
	struct source source;
	struct shell_script script;
	struct shell_error error;
	struct shell_counts counts;
};

static void parse(struct arena *a, const char *text, size_t n, struct parsed *ret)
{
	struct shell_limits limits = { .max_nodes = WALK_MAX_NODES };

	ret->source = (struct source){ .text = text, .n = n };
	shell_parse(a, &ret->source, &limits, &ret->script, &ret->error);
	shell_dump_count(&ret->script, &ret->counts);
}

static void expect_error(const char *text, const char *code, size_t at)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct parsed p;

	parse(&a, text, strlen(text), &p);
	if (!p.error.code)
		fail_msg("accepted: %s", text);
	assert_string_equal(p.error.code, code);
	if (at != SIZE_MAX)
		assert_int_equal(p.error.at.start, at);
}

static struct shell_counts expect_ok(const char *text)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct parsed p;

	parse(&a, text, strlen(text), &p);
	if (p.error.code)
		fail_msg("refused: %s\n%s", text, p.error.text);
	return p.counts;
}

static void test_errors_name_their_place(void **state)
{
	(void)state;
	expect_error("echo 'a", "parse_error", 5);
	expect_error("a | | b", "parse_error", 4);
	expect_error("if a; then b; fi; fi", "parse_error", 18);
	expect_error("echo $(a", "parse_error", 5);
	expect_error("a\n\n  )", "parse_error", 5);
	expect_error("x ${ a; }", "parse_error", 2);
}

static void test_commands_before_an_error_remain(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct parsed p;

	(void)state;
	parse(&a, "rm -rf /\nx; y\n)", 15, &p);
	assert_string_equal(p.error.code, "parse_error");
	assert_int_equal(p.counts.commands, 3);
	assert_true(shell_word_is(p.script.first->words, "rm"));
}

static void test_continuations_vanish(void **state)
{
	(void)state;
	assert_int_equal(expect_ok("i\\\nf a; th\\\nen b; f\\\ni").ifs, 1);
	assert_int_equal(expect_ok("a &\\\n& b").commands, 2);
	assert_int_equal(expect_ok("echo $\\\nx ${\\\nab\\\nc}").params, 2);
	assert_int_equal(expect_ok("echo '\\\n'").words, 2);
}

static void test_heredocs(void **state)
{
	(void)state;
	assert_int_equal(expect_ok("cat <<A <<B; echo x\n$(a)\nA\n$(b)\nB\necho y").substitutions, 2);
	assert_int_equal(expect_ok("cat <<'A'\n$(a)\nA").substitutions, 0);
	assert_int_equal(expect_ok("cat <<-A\n\t$(a)\n\tA\necho y").commands, 3);
	assert_int_equal(expect_ok("x=$(cat <<E\n)\nE\n); echo").commands, 3);
	assert_int_equal(expect_ok("x=$(cat <<E)\n$(b)\nE\necho").commands, 4);
	assert_int_equal(expect_ok("cat <<E\nfo\\\no\nE\\\n\necho").commands, 1 + 1);
}

static void test_limits(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf b;

	(void)state;
	buf_init(&b, &a);
	for (int i = 0; i < 100; i++)
		buf_adds(&b, "(");
	expect_error(b.p, "depth_limit", SIZE_MAX);
	buf_init(&b, &a);
	for (int i = 0; i < WALK_MAX_NODES; i++)
		buf_adds(&b, "a;");
	expect_error(b.p, "node_limit", SIZE_MAX);
	buf_init(&b, &a);
	for (int i = 0; i <= WALK_MAX_TEXT; i++)
		buf_addc(&b, 'a');
	expect_error(b.p, "size_limit", 0);
	struct parsed p;
	parse(&a, "a\0b", 3, &p);
	assert_string_equal(p.error.code, "parse_error");
}

/* Whatever it is that goes one level too deep, it is refused as too deep, and one level less is not. */
static void test_everything_that_nests_is_limited(void **state)
{
	static const char *const inner[] = { "a", "a `b`", "a \"b\"", "a ${b}", "a $((1))", "x=(1)",
		"[[ ( a ) ]]", "a <(b)", "x[1]=2", "a \"`b`\"", "a \"${b:-`c`}\"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
		bool was_refused = false;
		for (int depth = 1; depth < 2 * SHELL_MAX_NESTING; depth++) {
			AUTO(arena_done) struct arena a = { 0 };
			struct parsed p;
			struct buf b;
			buf_init(&b, &a);
			for (int k = 0; k < depth; k++)
				buf_adds(&b, "{ ");
			buf_adds(&b, inner[i]);
			for (int k = 0; k < depth; k++)
				buf_adds(&b, "; }");
			parse(&a, b.p, b.n, &p);
			if (p.error.code)
				assert_string_equal(p.error.code, "depth_limit");
			else if (was_refused)
				fail_msg("%s is refused, and accepted %d deep", inner[i], depth);
			was_refused = p.error.code;
		}
		assert_true(was_refused);
	}
}

/* Very long arithmetic is not taken for it, and what it may hold is looked at as commands. */
static void test_long_expressions(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf b;

	(void)state;
	assert_int_equal(expect_ok("a $((1+$(b)))").expressions, 1);
	buf_init(&b, &a);
	buf_adds(&b, "a $((1");
	for (int i = 0; i < 40000; i++)
		buf_adds(&b, "+1");
	buf_adds(&b, "+$(b)))");
	struct shell_counts c = expect_ok(b.p);
	assert_int_equal(c.expressions, 0);
	assert_int_equal(c.subshells, 1);
	assert_int_equal(c.substitutions, 2);
}

static void test_errors_quote_what_was_found(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const char text[] = "(a) bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
	struct parsed p;

	(void)state;
	parse(&a, text, strlen(text), &p);
	assert_string_equal(p.error.text,
		"line 1, column 5: expected the end of the command, found 'bbbbbbbbbbbbbbbbbbbb'");
	parse(&a, "a\n(b) c", 7, &p);
	assert_string_equal(p.error.text, "line 2, column 5: expected the end of the command, found 'c'");
	/* an error inside is told from the inside */
	parse(&a, "a `b\nc)`", 8, &p);
	assert_string_equal(p.error.text, "line 2, column 2: expected a command, found ')'");
	assert_string_equal(p.error.source->via, "backquotes");
}

static void test_an_empty_word_is_no_text(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct parsed p;

	(void)state;
	parse(&a, "a ${x:-}", 8, &p);
	assert_null(p.error.code);
	const struct shell_part *part = p.script.first->words->next->first;
	assert_int_equal(part->kind, PART_PARAM);
	assert_false(shell_word_is(part->param->word, ""));
	assert_false(shell_word_is(part->param->word, "a"));
}

static int dump(const char *path)
{
	AUTO(arena_done) struct arena a = { 0 };
	FILE *f = fopen(path, "rb");
	struct buf all;
	char block[4096];

	if (!f)
		return 1;
	buf_init(&all, &a);
	for (size_t n; (n = fread(block, 1, sizeof(block), f)) > 0;)
		buf_add(&all, block, n);
	fclose(f);
	for (char *text = all.p; text && *text;) {
		char *end = strstr(text, "\n%%\n");
		size_t n = end ? (size_t)(end - text) : strlen(text);
		struct parsed p;
		parse(&a, text, n, &p);
		struct shell_counts *c = &p.counts;
		printf("{\"ok\":%s,\"commands\":%u,\"words\":%u,\"assigns\":%u,\"redirects\":%u,"
		       "\"subshells\":%u,"
		       "\"groups\":%u,\"ifs\":%u,\"loops\":%u,\"cases\":%u,\"functions\":%u,\"conditions\":%"
		       "u,"
		       "\"arithmetics\":%u,\"coprocs\":%u,\"substitutions\":%u,\"processes\":%u,\"params\":%"
		       "u,"
		       "\"expressions\":%u,\"error\":\"%s\"}\n",
			p.error.code ? "false" : "true", c->commands, c->words, c->assigns, c->redirects,
			c->subshells, c->groups, c->ifs, c->loops, c->cases, c->functions, c->conditions,
			c->arithmetics, c->coprocs, c->substitutions, c->processes, c->params, c->expressions,
			p.error.code ? p.error.code : "");
		text = end ? end + 4 : NULL;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_name_their_place),
		cmocka_unit_test(test_commands_before_an_error_remain),
		cmocka_unit_test(test_continuations_vanish),
		cmocka_unit_test(test_heredocs),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_everything_that_nests_is_limited),
		cmocka_unit_test(test_long_expressions),
		cmocka_unit_test(test_errors_quote_what_was_found),
		cmocka_unit_test(test_an_empty_word_is_no_text),
	};

	if (argc == 3 && text_eq(argv[1], "--dump"))
		return dump(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

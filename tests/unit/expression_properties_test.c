/* expression_properties_test.c — what holds for every expression: laws of logic with errors in them, and that nothing a text does breaks out
 * of its limits.  Expressions are made at random from a fixed seed. */
#include "decide/expression/expression.h"
#include "tools/seed.h"
#include "tools/unit.h"

#include <string.h>
#include <time.h>

static uint64_t seed = 0x243f6a8885a308d3u;

static unsigned next(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

static const char *pick(const char *const *words, size_t n)
{
	return words[next((unsigned)n)];
}
#define PICK(...) \
	pick((const char *const[]){ __VA_ARGS__ }, \
		sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void make_int(struct buf *b, int depth)
{
	if (depth <= 0 || next(3) == 0) {
		buf_adds(b,
			PICK("0", "1", "-2", "n", "9223372036854775807", "map.a", "map.nope", "nobody",
				"half", "nums[1]", "s"));
		return;
	}
	buf_addc(b, '(');
	make_int(b, depth - 1);
	buf_adds(b, PICK(" + ", " - ", " * ", " / ", " % "));
	make_int(b, depth - 1);
	buf_addc(b, ')');
}

static void make_bool(struct buf *b, int depth)
{
	if (depth <= 0 || next(4) == 0) {
		buf_adds(b,
			PICK("true", "false", "yes", "no", "nobody", "has(map.a)", "has(map.b)", "1",
				"unknown(1)"));
		return;
	}
	switch (next(5)) {
	case 0:
		buf_adds(b, "(!");
		make_bool(b, depth - 1);
		break;
	case 1:
		buf_adds(b, "(nums");
		buf_adds(b, PICK(".all(x, ", ".exists(x, ", ".exists_one(x, "));
		make_bool(b, depth - 1);
		buf_addc(b, ')');
		break;
	case 2:
		buf_addc(b, '(');
		make_int(b, depth - 1);
		buf_adds(b, PICK(" < ", " == ", " >= ", " != "));
		make_int(b, depth - 1);
		break;
	default:
		buf_addc(b, '(');
		make_bool(b, depth - 1);
		buf_adds(b, PICK(" && ", " || "));
		make_bool(b, depth - 1);
	}
	buf_addc(b, ')');
}

static struct json *variables(struct arena *a)
{
	static const char text[] =
		"{\"n\": 5, \"s\": \"abc\", \"yes\": true, \"no\": false, \"nums\": [0, 1, 2], \"map\": {\"a\": 1},"
		" \"half\": 1.5}";
	struct json *v;

	assert_int_equal(json_parse(a, BYTES_LITERAL(text), "variables", NULL, &v, NULL), OK);
	return v;
}

/* 1 true, 0 false, 2 no answer: it does not compile, fails, or is no bool. */
static int ask(struct arena *a, const char *text, const struct json *with)
{
	struct expression *x;
	struct err e;

	if (expression_compile(a, bytes_of(text), "x", &x, &e))
		return 2;
	enum requirement r = expression_requirement(x, with, a, &e);
	return r == REQUIREMENT_ERROR ? 2 : r == REQUIREMENT_SATISFIED;
}

/* With errors in it the logic has three values; these are its laws. */
static void laws_of_logic(void **state)
{
	static const int negated[] = { 1, 0, 2 };
	int seen[3] = { 0 };

	(void)state;
	for (int i = 0; i < 4000; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		const struct json *with = variables(&a);
		struct buf p, q;
		buf_init(&p, &a);
		buf_init(&q, &a);
		make_bool(&p, 3);
		make_bool(&q, 3);
		int left = ask(&a, p.p, with), right = ask(&a, q.p, with);
		int both = ask(&a, arena_printf(&a, "%s && %s", p.p, q.p), with);
		int either = ask(&a, arena_printf(&a, "%s || %s", p.p, q.p), with);
		int wanted = left == 0 || right == 0 ? 0 : left == 2 || right == 2 ? 2 : 1;
		int one = left == 1 || right == 1 ? 1 : left == 2 || right == 2 ? 2 : 0;
		if (both != wanted || either != one)
			fail_msg("%s, %s: %d %d", p.p, q.p, both, either);
		/* The order of the sides does not matter. */
		assert_int_equal(ask(&a, arena_printf(&a, "%s && %s", q.p, p.p), with), both);
		assert_int_equal(ask(&a, arena_printf(&a, "%s || %s", q.p, p.p), with), either);
		/* De Morgan. */
		assert_int_equal(ask(&a, arena_printf(&a, "!(%s && %s)", p.p, q.p), with), negated[both]);
		assert_int_equal(ask(&a, arena_printf(&a, "!%s || !%s", p.p, q.p), with), negated[both]);
		/* A list of both, and a choice. */
		assert_int_equal(
			ask(&a, arena_printf(&a, "[0, 1].all(i, i == 0 ? %s : %s)", p.p, q.p), with), both);
		assert_int_equal(
			ask(&a, arena_printf(&a, "[0, 1].exists(i, i == 0 ? %s : %s)", p.p, q.p), with),
			either);
		assert_int_equal(ask(&a, arena_printf(&a, "%s ? %s : false", p.p, q.p), with),
			left == 0	    ? 0
				: left == 2 ? 2
					    : right);
		/* Parentheses, spaces and comments change nothing. */
		assert_int_equal(ask(&a, arena_printf(&a, " ( (%s)// ) && \n) ", p.p), with), left);
		seen[left]++;
	}
	assert_true(seen[0] > 200 && seen[1] > 200 && seen[2] > 200);
}

/* A member that is taken out of the variables turns answers into errors, or makes has() say so; it never makes an answer out of an
 * error unless the expression asks whether it is there. */
static void what_is_missing_is_no_answer(void **state)
{
	(void)state;
	for (int i = 0; i < 2000; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct json *with = variables(&a), *without = variables(&a);
		struct buf p;
		buf_init(&p, &a);
		make_bool(&p, 4);
		if (strstr(p.p, "has("))
			continue;
		int before = ask(&a, p.p, with);
		json_remove(without, PICK("n", "yes", "no", "nums", "map", "s"));
		int after = ask(&a, p.p, without);
		if (after != before && after != 2)
			fail_msg("%s: %d, and without a variable %d", p.p, before, after);
	}
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Texts with mistakes in them: an answer or an error with its place, soon, and with little memory. */
static void any_text_ends(void **state)
{
	static const char pieces[] = "()[]{}.,:?!<>+-*/%&|='\"`\\ \n09xexus~\xc3\xa9\x01";

	(void)state;
	for (int i = 0; i < 20000; i++) {
		AUTO(arena_done) struct arena a = { .limit_bytes = 64 << 20 };
		struct expression *x;
		struct json *value;
		struct err e = { 0 };
		struct buf p;
		buf_init(&p, &a);
		make_bool(&p, 4);
		for (unsigned k = next(4); k > 0 && p.n > 0; k--)
			p.p[next((unsigned)p.n)] = pieces[next(sizeof(pieces) - 1)];
		double start = now_s();
		if (expression_compile(&a, buf_bytes(&p), "x", &x, &e) ||
			expression_value(x, variables(&a), &a, &value, &e))
			assert_memory_equal(e.text, "x:", 2);
		assert_true(now_s() - start < 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laws_of_logic),
		cmocka_unit_test(what_is_missing_is_no_answer),
		cmocka_unit_test(any_text_ends),
	};

	seed = seed_or(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

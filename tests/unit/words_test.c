/* words_test.c — what the evaluator makes of a text: tests/cases/shell.jsonl says which commands, with which words, a shell
 * would run.  With --steps TEXT it prints them, and with --effects TEXT what they would do. */
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "propose/propose.h"
#include "tools/unit.h"

#include <fcntl.h>

static const char *const environment[] = { "LANG=C.UTF-8", "EDITOR=vi", "EMPTY=", NULL };
static const struct surroundings at = { .cwd = "/home/u/ws",
	.home = "/home/u",
	.workspace = "/home/u/ws",
	.state_dir = "/home/u/ws/.helm",
	.helm_home = "/home/u/.helm",
	.tmpdir = "/tmp",
	.environment = environment };

static void check_steps(
	struct arena *a, const char *name, const struct proposal *p, const struct json *expect)
{
	struct buf got, want;

	buf_init(&got, a);
	buf_init(&want, a);
	for (size_t i = 0; i < p->step_count; i++)
		buf_addf(&got, "%s\n", p->steps[i].text);
	json_each (step, expect)
		buf_addf(&want, "%s\n", json_text(step));
	if (!text_eq(got.p, want.p))
		fail_msg("%s:\ngot:\n%swant:\n%s", name, got.p, want.p);
}

static void check_case(const struct json *doc)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct proposal p;
	const char *name = json_get_text(doc, "name", "?");
	const struct json *expect = json_get(doc, "expect");
	const struct json *text = json_get(json_get(doc, "given"), "text");

	propose_shell(&a, &at, bytes_of(json_text(text)), &p);
	const char *unreadable = json_get_text(expect, "unreadable", NULL);
	if (!unreadable && !p.readable)
		fail_msg("%s: unreadable: %s", name, p.unreadable_text);
	if (unreadable && (p.readable || !text_eq(p.unreadable_code, unreadable)))
		fail_msg("%s: expected %s, got %s", name, unreadable,
			p.readable ? "readable" : p.unreadable_code);
	if (json_get(expect, "steps"))
		check_steps(&a, name, &p, json_get(expect, "steps"));
}

static void test_cases(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes all, line;
	struct err e = { 0 };
	size_t count = 0;

	(void)state;
	if (file_read(sys_real(), &a, AT_FDCWD, "tests/cases/shell.jsonl", 1 << 20, FILE_FOLLOW, &all, &e))
		fail_msg("%s", e.text);
	while (all.p) {
		struct json *doc;
		line = text_cut(&all, '\n');
		if (line.n == 0)
			continue;
		if (json_parse(&a, line, "shell.jsonl", NULL, &doc, &e))
			fail_msg("%s", e.text);
		check_case(doc);
		count++;
	}
	assert_true(count >= 100);
}

static bool has_effect(const struct proposal *p, enum effect_kind kind)
{
	for (size_t i = 0; i < p->effect_count; i++)
		if (p->effects[i].kind == kind)
			return true;
	return false;
}

static void test_fork_bombs(void **state)
{
	static const char *const bombs[] = { ":(){ :|:& };:", "b(){ b|b& };b", "f(){ f & f; }; f",
		"f() { g | g & }; g() { f | f & }; f", "while :; do :& done", "while true; do ./x & done" };
	static const char *const others[] = { "f(){ f; }; f",
		"walk(){ for d in \"$1\"/*; do walk \"$d\"; done; }; walk .", "f(){ ls | sort; }; f | f",
		"while true; do ./x & wait; done", "while read l; do echo $l & done" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bombs); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct proposal p;
		propose_shell(&a, &at, bytes_of(bombs[i]), &p);
		if (!has_effect(&p, FX_FORK_BOMB))
			fail_msg("not seen: %s", bombs[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct proposal p;
		propose_shell(&a, &at, bytes_of(others[i]), &p);
		if (has_effect(&p, FX_FORK_BOMB))
			fail_msg("not one: %s", others[i]);
	}
}

static bool has_unset_root(const char *text)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct proposal p;
	bool found = false;

	propose_shell(&a, &at, bytes_of(text), &p);
	for (size_t i = 0; i < p.effect_count; i++)
		found |= (p.effects[i].flags & FXF_UNSET_ROOT) != 0;
	return found;
}

static void test_unset_root(void **state)
{
	static const char *const open[] = { "rm -rf \"$X/\"", "rm -rf $X/*", "rm -rf $X/.", "rm -rf /home/$X",
		"rm -rf \"$HOME/$X\"", "[ -z \"$X\" ] && rm -rf \"$X/\"", "bash -c \"rm -rf $X/\"",
		"X=$Y; rm -rf $X/usr", "[ -n \"$Y\" ] && rm -rf \"$X/\"", "rm -rf \"./$X\"" };
	static const char *const guarded[] = { "rm -rf \"${X:?}/\"", "X=a; rm -rf $X/",
		"[ -n \"$X\" ] && rm -rf \"$X/\"", "[ -z \"$X\" ] && exit; rm -rf \"$X/\"",
		"test -n \"$X\" || exit 1; rm -rf $X/", "if [[ -z $X ]]; then exit 1; fi; rm -rf $X/*",
		"rm -rf \"$X\"", "rm -rf $X/build", "rm -rf build/$X", "rm -rf /tmp/$X",
		"X=${1:?}; rm -rf $X/", "rm -rf ${X:-build}/", "X=$(mktemp -d); rm -rf $X/" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		if (!has_unset_root(open[i]))
			fail_msg("not seen: %s", open[i]);
	for (size_t i = 0; i < ARRAY_SIZE(guarded); i++)
		if (has_unset_root(guarded[i]))
			fail_msg("guarded: %s", guarded[i]);
}

static void test_argv_is_not_text(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *plain[] = { "echo", "a;b", "$(x)", ">f" }, *operator[] = { "bash", "<<", "EOF" };
	struct proposal p;

	(void)state;
	propose_argv(&a, &at, plain, 4, &p);
	assert_int_equal(p.step_count, 1);
	assert_string_equal(p.steps[0].text, "echo a;b $(x) >f");
	assert_false(p.operator_in_argv);
	propose_argv(&a, &at, operator, 3, &p);
	assert_true(p.operator_in_argv);
	assert_true(p.heredoc_input);
}

/* Every hostile text ends, in a result or in "unreadable". */
static void test_hostile(void **state)
{
	static const char *const pieces[] = { "((((", "$($($(", "{a,b}", "a;", "<<E ", "x=$x$x$x;",
		"alias a=b;", "\"'\"'", "`", "${x:-", "a[", "[[ ", "a() { a; a; };a;", "for i in 1 2 3; do ",
		"while a; do x=$x$i; ", "$((", "\\\n", "'", "a|", "a&", "eval \"$x\";", "case a in b) ",
		"x=1;y=2;", "if a; then b; elif ", "((a++));", "${x##*a*b}", "cd a;" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
		for (int with_variable = 0; with_variable < 2; with_variable++) {
			AUTO(arena_done) struct arena a = { 0 };
			struct proposal p;
			struct buf b;
			buf_init(&b, &a);
			if (with_variable)
				buf_adds(&b,
					"x=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;");
			while (b.n < 64 << 10)
				buf_adds(&b, pieces[i]);
			propose_shell(&a, &at, buf_bytes(&b), &p);
			assert_true(p.readable || p.unreadable_code);
		}
}

static int show(const char *text, bool effects)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct proposal p;

	propose_shell(&a, &at, bytes_of(text), &p);
	if (!p.readable)
		printf("unreadable: %s: %s\n", p.unreadable_code, p.unreadable_text);
	for (size_t i = 0; !effects && i < p.step_count; i++)
		printf("%*s%s\n", (int)p.steps[i].depth * 2, "", p.steps[i].text);
	for (size_t i = 0; effects && i < p.effect_count; i++) {
		const struct effect *e = &p.effects[i];
		printf("%s %s %s %s flags=%x certainty=%d\n", effect_kind_name(e->kind),
			e->tag ? e->tag : "-", e->target ? e->target : "-", path_class_name(e->path_class),
			e->flags, e->certainty);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_fork_bombs),
		cmocka_unit_test(test_unset_root),
		cmocka_unit_test(test_argv_is_not_text),
		cmocka_unit_test(test_hostile),
	};

	if (argc == 3 && (text_eq(argv[1], "--steps") || text_eq(argv[1], "--effects")))
		return show(argv[2], text_eq(argv[1], "--effects"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* failure_class_test.c — what tools print when they fail (tests/cases/failures/): the class of each output, as a confusion matrix where it is not
 * the one that is wanted; the table itself; exit codes that are answers. */
#include "base/embed.h"
#include "base/sys.h"
#include "base/text.h"
#include "remember/failure.h"
#include "remember/failure_table.h"
#include "tools/cases.h"
#include "tools/unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { CASES_LEAST = 200, RIGHT_PERCENT = 98, MOST_CLASSES = 96 };

static const char *const files[] = { "build", "compilers", "git", "languages", "network", "packages",
	"signals", "tests" };

struct matrix {
	const char *names[MOST_CLASSES];
	unsigned n, of[MOST_CLASSES][MOST_CLASSES], cases, right;
};

static unsigned number_of(struct matrix *m, const char *name)
{
	unsigned i = 0;

	while (i < m->n && !text_eq(m->names[i], name))
		i++;
	assert_true(i < MOST_CLASSES);
	if (i == m->n)
		m->names[m->n++] = name;
	return i;
}

static struct json *event_of(struct arena *a, const char *command, int64_t code)
{
	struct json *event = json_new(a, JSON_OBJECT), *argv = json_new(a, JSON_ARRAY);
	const char *const *words;
	size_t n;

	if (text_starts(command, "sh -c ")) {
		json_pushs(a, argv, "sh");
		json_pushs(a, argv, "-c");
		json_pushs(a, argv, command + strlen("sh -c "));
	} else if (text_words(a, command, &words, &n)) {
		for (size_t i = 0; i < n; i++)
			json_pushs(a, argv, words[i]);
	}
	json_set(a, event, "command", argv);
	json_sets(a, event, "command_preview", command);
	json_sets(a, event, "status", "failed");
	json_seti(a, event, "exit_code", code);
	return event;
}

/* "%% CLASS exit CODE: COMMAND" and the lines behind it. */
static void run_case(struct matrix *m, struct arena *a, const char *file, const char *text)
{
	static const struct failure_place nowhere = { 0 };
	const char *end = strchr(text, '\n');
	char wanted[64], command[256];
	int code;

	assert_non_null(end);
	const char *head = arena_strndup(a, text, (size_t)(end - text));
	if (sscanf(head, "%% %63[a-z0-9_] exit %d: %255[^\n]", wanted, &code, command) != 3)
		fail_msg("%s: %s", file, head);
	struct json *got = failure_signature(a, event_of(a, command, code), &nowhere, bytes_of(end + 1));
	const char *class = json_get_text(got, "error_class", "");
	m->cases++;
	m->of[number_of(m, arena_strdup(a, wanted))][number_of(m, class)]++;
	m->right += text_eq(class, wanted);
	if (!text_eq(class, wanted))
		print_error("%s.txt: %s\n  wanted %s, got %s by '%s'\n", file, command, wanted, class,
			json_get_text(got, "said", ""));
}

static void print_matrix(const struct matrix *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		print_error("%-24s", m->names[i]);
		for (unsigned k = 0; k < m->n; k++)
			if (m->of[i][k])
				print_error(" %s %u", m->names[k], m->of[i][k]);
		print_error("\n");
	}
}

static void outputs_have_their_class(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct matrix *m = arena_zalloc(&a, 1, sizeof(*m));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct bytes rest = cases_read(&a, arena_printf(&a, "tests/cases/failures/%s.txt", files[i]));
		const char *text = arena_strndup(&a, (const char *)rest.p, rest.n), *next;
		assert_true(text_starts(text, "%% "));
		for (; text; text = next) {
			next = strstr(text, "\n%% ");
			run_case(m, &a, files[i],
				next ? arena_strndup(&a, text + 1, (size_t)(next++ - text)) : text + 1);
		}
	}
	if (m->right * 100 < m->cases * RIGHT_PERCENT || m->cases < CASES_LEAST) {
		print_matrix(m);
		fail_msg("%u of %u outputs have the class that is wanted", m->right, m->cases);
	}
}

static void the_table_has_no_mistakes(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *name;
	struct bytes text;
	size_t tables = 0;

	(void)state;
	for (size_t i = 0; embed_at(i, &name, &text); i++) {
		if (!text_starts(name, "share/failures/"))
			continue;
		const char *fault = failure_table_fault(&a, text);
		if (fault)
			fail_msg("%s: %s", name, fault);
		tables++;
	}
	assert_true(tables > 5);
	assert_non_null(failure_table_fault(&a, bytes_of("of x\nNot a class *y*\n")));
	assert_non_null(failure_table_fault(&a, bytes_of("of x\nclass *\n")));
	assert_non_null(failure_table_fault(&a, bytes_of("class *y*\n")));
	assert_non_null(failure_table_fault(&a, bytes_of("of x\nexit 999 class\n")));
	assert_non_null(failure_table_fault(&a, bytes_of("of x\nanswer 1 [open no match\n")));
}

/* Whoever prints decides neither how long it takes nor what lands in the row. */
static void hostile_output_is_bounded(void **state)
{
	static const char *const pieces[] = { "error: ", "a.c:1:1: error: ", "FAILED x::", "*", "\x1b[",
		"timeout\n", "E   AssertionError: ", "npm error code ", "\xff\xfe", "1 failed in 1s\n" };
	const clock_t from = clock();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct buf text;
		buf_init(&text, &a);
		while (text.n < 256 << 10)
			buf_adds(&text, pieces[i]);
		static const struct failure_place nowhere = { 0 };
		struct json *got = failure_signature(&a, event_of(&a, "x", 1), &nowhere, buf_bytes(&text));
		assert_true(strlen(json_get_text(got, "said", "")) <= 256);
	}
	assert_true((clock() - from) / CLOCKS_PER_SEC < 10);
}

static const char *answer(struct arena *a, const char *command, int code, size_t err_n)
{
	return failure_answer(a, json_get(event_of(a, command, code), "command"), code, err_n);
}

static void answers_are_no_failures(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	assert_string_equal(answer(&a, "grep -r x .", 1, SIZE_MAX), "no match");
	assert_string_equal(answer(&a, "/usr/bin/grep x y", 1, 0), "no match");
	assert_string_equal(answer(&a, "diff a b", 1, 0), "differs");
	assert_string_equal(answer(&a, "git diff --exit-code", 1, 0), "differs");
	assert_string_equal(answer(&a, "test -f x", 1, 0), "false");
	assert_string_equal(answer(&a, "sh -c grep x y", 1, 0), "no match");
	assert_string_equal(
		answer(&a, "sh -c cd src && grep -n 'a;b' y | head -3 | grep z", 1, 0), "no match");
	assert_string_equal(answer(&a, "sh -c echo x; LC_ALL=C grep x y 2>/dev/null", 1, 0), "no match");
	assert_null(answer(&a, "grep x nothere", 2, 0));
	assert_null(answer(&a, "git commit", 1, 0));
	assert_null(answer(&a, "false", 1, 0));
	assert_null(answer(&a, "grep x y", 0, 0));
	assert_null(answer(&a, "sh -c cd nothere && grep x y", 1, 40));
	assert_null(answer(&a, "sh -c cd nothere && grep x y", 1, SIZE_MAX));
	assert_null(answer(&a, "sh -c make && grep x y", 1, 0));
	assert_null(answer(&a, "sh -c grep x y || make", 1, 0));
	assert_null(answer(&a, "sh -c grep x y; exit 1", 1, 0));
	assert_null(answer(&a, "sh -c set -o pipefail; make | grep x", 1, 0));
	assert_null(answer(&a, "sh -c grep x $(cat y)", 1, 0));
	assert_null(answer(&a, "sh -c grep x \"`cat y`\"", 1, 0));
	assert_null(answer(&a, "sh -c if grep x y; then exit 1; fi", 1, 0));
	assert_null(answer(&a, "sh -c grep 'x", 1, 0));
}

static const char *next_of(struct arena *a, const char *history)
{
	struct json *doc;

	assert_int_equal(json_parse(a, bytes_of(history), "history", NULL, &doc, NULL), 0);
	return json_get_text(failure_next(a, doc), "action", "-");
}

/* fingerprint, class and tool of one failure */
#define FAILED(f, c, t) \
	"{\"signature\":{\"fingerprint\":\"" f "\",\"error_class\":\"" c "\",\"tool\":\"" t "\"}}"

static void special_transitions_win_each_time(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const char invalid[] = "[" FAILED("a", "credential_invalid_grant", "sync") "]",
			  twice[] = "[" FAILED("a", "credential_invalid_grant", "sync") "," FAILED(
				  "a", "credential_invalid_grant", "sync") "]",
			  patches[] = "[" FAILED("a", "patch_failed", "git") "," FAILED(
				  "a", "patch_failed", "git") "]",
			  same[] = "[" FAILED("a", "test_failed", "make") "," FAILED(
				  "a", "test_failed", "make") "]",
			  thrice[] = "[" FAILED("a", "test_failed", "make") "," FAILED(
				  "a", "test_failed", "make") "," FAILED("a", "test_failed", "make") "]",
			  answered[] = "[" FAILED("a", "credential_invalid_grant", "sync") "," FAILED(
				  "b", "test_failed", "make") "]";

	(void)state;
	assert_string_equal(next_of(&a, invalid), "auth_recovery_profile");
	assert_string_equal(next_of(&a, twice), "auth_recovery_profile");
	assert_string_equal(next_of(&a, patches), "reload_file_and_decompose");
	assert_string_equal(next_of(&a, same), FAILURE_STOP);
	assert_string_equal(next_of(&a, thrice), "create_skill_repair_candidate");
	assert_string_equal(next_of(&a, answered), "-");
	assert_string_equal(next_of(&a, "[]"), "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outputs_have_their_class),
		cmocka_unit_test(the_table_has_no_mistakes),
		cmocka_unit_test(hostile_output_is_bounded),
		cmocka_unit_test(answers_are_no_failures),
		cmocka_unit_test(special_transitions_win_each_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

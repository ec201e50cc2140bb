/* file_crash_test.c — append, replace, create and mkdirs when every single system call fails or is the last one; and many
 * processes at once. */
#include "base/file.h"
#include "base/json.h"
#include "tools/crash.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>

static const char first[] = "{\"line\":\"first\",\"text\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}";
static const char second[] = "{\"line\":\"second\",\"text\":\"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\"}";

static void refuse_damage(const struct crash_end *end)
{
	if (end->was_killed)
		return;
	/* The caller always hears about it, in words. */
	if (end->rc)
		assert_true(end->err.rc == end->rc && end->err.code[0] && end->err.text[0]);
}

/* Every whole line is one of those meant; returns how many. */
static unsigned whole_lines(const char *text, const char *const *meant, size_t meant_count)
{
	unsigned n = 0;

	for (const char *p = text; p && *p;) {
		const char *end = strchr(p, '\n');
		if (!end)
			break; /* torn: the next append repairs it */
		if (n >= meant_count || strncmp(p, meant[n], (size_t)(end - p)) != 0 || meant[n][end - p])
			fail_msg("half-written line %u: %.*s", n, (int)(end - p), p);
		n++;
		p = end + 1;
	}
	return n;
}

static int act_append(struct crash *c, struct err *e)
{
	const char *const lines[] = { first, second };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		int rc = file_append_line(&c->f.sys, c->t.fd, "ledger", 0600, bytes_of(lines[i]), NULL, e);
		if (rc)
			return rc;
		crash_ack(c);
	}
	return OK;
}

static void check_append(struct crash *c, const struct crash_end *end)
{
	static const char *const meant[] = { first, second, "{\"line\":\"third\"}" };
	struct err e = { 0 };

	refuse_damage(end);
	unsigned n = whole_lines(scratch_get(&c->t, "ledger"), meant, 2);
	assert_true(n >= end->acks);
	/* A call that failed, and could undo, left nothing behind. */
	if (!end->was_killed && end->fault != CRASH_FAIL_ON)
		assert_int_equal(n, end->acks);
	if (n < 2)
		return;
	assert_int_equal(
		file_append_line(sys_real(), c->t.fd, "ledger", 0600, bytes_of(meant[2]), NULL, &e), OK);
	assert_int_equal(whole_lines(scratch_get(&c->t, "ledger"), meant, 3), 3);
}

static void append(void **state)
{
	(void)state;
	const struct crash_case what = { "append", NULL, act_append, check_append };

	assert_true(crash_sweep(&what, NULL) >= 6);
}

/* The next append after any crash works and leaves whole lines only. */
static void check_reappend(struct crash *c, const struct crash_end *end)
{
	struct err e = { 0 };

	refuse_damage(end);
	assert_int_equal(
		file_append_line(sys_real(), c->t.fd, "ledger", 0600, bytes_of("[9]"), NULL, &e), OK);
	const char *text = scratch_get(&c->t, "ledger");
	unsigned lines = 0;
	AUTO(arena_done) struct arena a = { 0 };
	for (const char *p = text, *stop; *p; p = stop + 1, lines++) {
		struct json *line;
		stop = strchr(p, '\n');
		assert_non_null(stop);
		assert_int_equal(json_parse(&a, (struct bytes){ (const uint8_t *)p, (size_t)(stop - p) },
					 "ledger", NULL, &line, &e),
			OK);
	}
	assert_true(lines >= end->acks + 1);
	assert_true(strlen(text) >= 4 && strcmp(text + strlen(text) - 4, "[9]\n") == 0);
}

static void append_after_crash(void **state)
{
	(void)state;
	const struct crash_case what = { "append again", NULL, act_append, check_reappend };

	crash_sweep(&what, NULL);
}

static void setup_torn(struct crash *c)
{
	scratch_put(&c->t, "ledger", c->arg);
}

static int act_one_append(struct crash *c, struct err *e)
{
	int rc = file_append_line(&c->f.sys, c->t.fd, "ledger", 0600, bytes_of(second), NULL, e);

	if (!rc)
		crash_ack(c);
	return rc;
}

/* What was whole before stays, whatever happens during the repair; what was torn is kept or still there. */
static void check_repair(struct crash *c, const struct crash_end *end)
{
	const char *before = c->arg;
	const char *newline = strchr(before, '\n');
	size_t whole = (size_t)(newline - before) + 1;

	refuse_damage(end);
	const char *text = scratch_get(&c->t, "ledger");
	assert_non_null(text);
	assert_int_equal(strncmp(text, before, whole), 0);
	if (!strstr(text, before + whole)) {
		text = scratch_get(&c->t, "ledger.torn");
		assert_non_null(text);
		assert_non_null(strstr(text, before + whole));
	}
	if (end->acks)
		assert_non_null(strstr(scratch_get(&c->t, "ledger"), second));
	check_reappend(c, end);
}

static void repair(void **state)
{
	(void)state;
	static char torn[] = "{\"a\":1}\n{\"b\":\"torn";
	static char bare[] = "{\"a\":1}\n{\"b\":\"whole, newline missing\"}";
	const struct crash_case what = { "repair", setup_torn, act_one_append, check_repair };

	crash_sweep(&what, torn);
	crash_sweep(&what, bare);
}

/* replace: old or new, nothing else; acknowledged means new */

static void setup_old(struct crash *c)
{
	assert_int_equal(mkdirat(c->t.fd, "d", 0700), 0);
	scratch_put(&c->t, "d/f", first);
}

static int act_replace(struct crash *c, struct err *e)
{
	int rc = file_replace(&c->f.sys, c->t.fd, "d/f", 0600, bytes_of(second), e);

	if (!rc)
		crash_ack(c);
	return rc;
}

static void check_no_litter(struct crash *c, const char *dir, const struct crash_end *end, size_t names_max)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };
	char **names;
	size_t n;

	/* A process that lives cleans up behind itself, unless nothing works any more. */
	if (end->was_killed || end->fault == CRASH_FAIL_ON)
		return;
	assert_int_equal(file_list(sys_real(), &a, c->t.fd, dir, &names, &n, &e), OK);
	assert_true(n <= names_max);
}

static void check_replace(struct crash *c, const struct crash_end *end)
{
	const char *text = scratch_get(&c->t, "d/f");

	refuse_damage(end);
	assert_non_null(text);
	if (end->acks)
		assert_string_equal(text, second);
	else
		assert_true(strcmp(text, first) == 0 || strcmp(text, second) == 0);
	check_no_litter(c, "d", end, 1);
}

static void replace(void **state)
{
	(void)state;
	const struct crash_case what = { "replace", setup_old, act_replace, check_replace };

	assert_int_equal(crash_sweep(&what, NULL), 5);
}

static int act_create(struct crash *c, struct err *e)
{
	int rc = file_create(&c->f.sys, c->t.fd, "f", 0600, bytes_of(second), e);

	if (!rc)
		crash_ack(c);
	return rc;
}

static void check_create(struct crash *c, const struct crash_end *end)
{
	const char *text = scratch_get(&c->t, "f");

	refuse_damage(end);
	if (end->acks)
		assert_non_null(text);
	if (text)
		assert_string_equal(text, second);
	check_no_litter(c, ".", end, 1);
}

static void create(void **state)
{
	(void)state;
	const struct crash_case what = { "create", NULL, act_create, check_create };

	assert_int_equal(crash_sweep(&what, NULL), 5);
}

static int act_mkdirs(struct crash *c, struct err *e)
{
	int rc = file_mkdirs(&c->f.sys, c->t.fd, "a/b/c", 0700, e);

	if (!rc)
		crash_ack(c);
	return rc;
}

static void check_mkdirs(struct crash *c, const struct crash_end *end)
{
	struct err e = { 0 };

	refuse_damage(end);
	if (end->acks)
		assert_true(file_is_dir(sys_real(), c->t.fd, "a/b/c"));
	assert_int_equal(file_mkdirs(sys_real(), c->t.fd, "a/b/c", 0700, &e), OK);
	assert_true(file_is_dir(sys_real(), c->t.fd, "a/b/c"));
}

static void mkdirs(void **state)
{
	(void)state;
	const struct crash_case what = { "mkdirs", NULL, act_mkdirs, check_mkdirs };

	assert_int_equal(crash_sweep(&what, NULL), 6);
}

/* concurrency */

enum { WRITERS = 200, LINES_EACH = 3 };

static void write_lines(int dirfd, int who)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };

	for (int i = 0; i < LINES_EACH; i++) {
		char *line = arena_printf(
			&a, "{\"who\":%d,\"line\":%d,\"pad\":\"%0*d\"}", who, i, who % 50 + 1, 0);
		if (file_append_line(sys_real(), dirfd, "ledger", 0600, bytes_of(line), NULL, &e))
			_exit(1);
	}
	_exit(0);
}

/* Starts from a torn tail, so that one of them must repair it while the others wait. */
static void many_writers_lose_nothing(void **state)
{
	(void)state;
	AUTO(scratch_done) struct scratch t;
	static bool seen[WRITERS][LINES_EACH];
	int status, who, line, count = 0;

	scratch_open(&t);
	scratch_put(&t, "ledger", "{\"who\":");
	for (who = 0; who < WRITERS; who++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			write_lines(t.fd, who);
	}
	for (int i = 0; i < WRITERS; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	for (const char *p = scratch_get(&t, "ledger"); *p; p = strchr(p, '\n') + 1, count++) {
		assert_int_equal(sscanf(p, "{\"who\":%d,\"line\":%d,", &who, &line), 2);
		assert_true(who >= 0 && who < WRITERS && line >= 0 && line < LINES_EACH);
		assert_false(seen[who][line]);
		assert_true(line == 0 || seen[who][line - 1]);
		seen[who][line] = true;
	}
	assert_int_equal(count, WRITERS * LINES_EACH);
	assert_string_equal(scratch_get(&t, "ledger.torn"), "{\"who\":\n");
}

/* Of many who create the same name exactly one succeeds, and its bytes are there. */
static void one_creator_wins(void **state)
{
	(void)state;
	AUTO(scratch_done) struct scratch t;
	struct err e = { 0 };
	int status, winners = 0;
	char text[16] = "";

	scratch_open(&t);
	for (int who = 0; who < 20; who++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid > 0)
			continue;
		snprintf(text, sizeof(text), "%d", who);
		_exit(file_create(sys_real(), t.fd, "f", 0600, bytes_of(text), &e) ? 100 : who);
	}
	for (int i = 0; i < 20; i++) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) != 100) {
			winners++;
			snprintf(text, sizeof(text), "%d", WEXITSTATUS(status));
		}
	}
	assert_int_equal(winners, 1);
	assert_string_equal(scratch_get(&t, "f"), text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(append),
		cmocka_unit_test(append_after_crash),
		cmocka_unit_test(repair),
		cmocka_unit_test(replace),
		cmocka_unit_test(create),
		cmocka_unit_test(mkdirs),
		cmocka_unit_test(many_writers_lose_nothing),
		cmocka_unit_test(one_creator_wins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

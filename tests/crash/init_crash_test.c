/* init_crash_test.c — `helm init` when every single system call fails or is the last one: no file is half-written, the next
 * init completes the workspace, and what a user changed is never lost, not even by --force. */
#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/workspace.h"
#include "tools/crash.h"
#include "tools/unit.h"

#include <fcntl.h>

static const char changed_file[] = "ws/references/execution_profiles.json";
static const char shipped_file[] = "share/execution_profiles.json";
static const char changed[] = "{\"mine\": true}\n";

static int init(struct sys *s, const char *dir, bool force, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct workspace *ws = NULL;
	struct json *done;
	int rc = workspace_open(s, &a, arena_printf(&a, "%s/ws", dir), WORKSPACE_NEW, &ws, e);

	if (!rc)
		rc = workspace_init(s, &a, ws, force, &done, e);
	workspace_close(ws);
	return rc;
}

static int act_init(struct crash *c, struct err *e)
{
	int rc = init(&c->f.sys, c->t.path, false, e);

	if (!rc)
		crash_ack(c);
	return rc;
}

/* Whole or not there; a temporary may be left, under a name nobody reads. */
static int look(
	void *arg, int parent_fd, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes text, shipped;

	(void)arg;
	if (!S_ISREG(st->st_mode) || (name[0] == '.' && text_ends(name, ".tmp")))
		return 0;
	assert_int_equal(file_read(sys_real(), &a, parent_fd, name, 1 << 20, 0, &text, e), OK);
	if (text_starts(rel, "references/")) {
		assert_true(embed_find(arena_printf(&a, "share/%s", name), &shipped) ||
			embed_find(arena_printf(&a, "share/workspace/%s", rel), &shipped));
		assert_true(bytes_eq(text, shipped));
	}
	if (text_ends(name, ".json")) {
		struct json *doc;
		assert_int_equal(json_parse(&a, text, rel, NULL, &doc, e), OK);
	}
	return 0;
}

static void check_whole(struct crash *c)
{
	struct err e = { 0 };

	if (scratch_has(&c->t, "ws"))
		assert_int_equal(file_walk(sys_real(), c->t.fd, "ws", look, NULL, &e), OK);
}

static void check_init(struct crash *c, const struct crash_end *end)
{
	struct err e = { 0 };

	check_whole(c);
	if (end->acks)
		assert_true(scratch_has(&c->t, changed_file));
	assert_int_equal(init(sys_real(), c->t.path, false, &e), OK);
	assert_true(scratch_has(&c->t, changed_file));
	check_whole(c);
}

static void init_survives(void **state)
{
	(void)state;
	const struct crash_case what = { "init", NULL, act_init, check_init };

	assert_true(crash_sweep(&what, NULL) > 10);
}

static void setup_changed(struct crash *c)
{
	struct err e = { 0 };

	assert_int_equal(init(sys_real(), c->t.path, false, &e), OK);
	scratch_put(&c->t, changed_file, changed);
}

static int act_force(struct crash *c, struct err *e)
{
	int rc = init(&c->f.sys, c->t.path, true, e);

	if (!rc)
		crash_ack(c);
	return rc;
}

static void check_force(struct crash *c, const struct crash_end *end)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *text = scratch_get(&c->t, changed_file);
	struct bytes shipped;

	assert_non_null(text);
	assert_true(embed_find(shipped_file, &shipped));
	bool is_new = bytes_is(shipped, text);
	assert_true(is_new || text_eq(text, changed));
	if (end->acks)
		assert_true(is_new);
	if (is_new) {
		text = scratch_get(&c->t, arena_printf(&a, "%s.bak", changed_file));
		assert_non_null(text);
		assert_string_equal(text, changed);
	}
}

static void force_loses_nothing(void **state)
{
	(void)state;
	const struct crash_case what = { "init --force", setup_changed, act_force, check_force };

	assert_true(crash_sweep(&what, NULL) > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init_survives),
		cmocka_unit_test(force_loses_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

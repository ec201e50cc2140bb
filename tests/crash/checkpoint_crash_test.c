/* checkpoint_crash_test.c — create, restore, prune and repair when every single system call fails or is the last one.
 *
 * After create: the checkpoint is in the index and can be restored, or it is not there at all; what was there before still
 * is.  After restore: every file is the old or the new one, and doing it again finishes it.  After prune: what is in the
 * index can be restored.  Always: the next prune leaves nothing behind. */
#include "base/file.h"
#include "execute/checkpoint/parts.h"
#include "tools/crash.h"
#include "tools/unit.h"

#include <fcntl.h>

struct world {
	struct arena a;
	struct err e;
	struct checkpoint_store st;
	int state_fd;
};

static int world_try(struct world *w, struct sys *s, struct scratch *t, struct err *e)
{
	*w = (struct world){ .state_fd = openat(t->fd, ".helm", O_RDONLY | O_DIRECTORY), .st.dir_fd = -1 };
	assert_true(w->state_fd >= 0);
	return checkpoint_open(&w->st, s, &w->a, t->fd, w->state_fd, ".helm", e);
}

static void world_open(struct world *w, struct sys *s, struct scratch *t)
{
	if (world_try(w, s, t, &w->e))
		fail_msg("%s", w->e.text);
}

static void world_close(struct world *w)
{
	checkpoint_close(&w->st);
	close(w->state_fd);
	arena_done(&w->a);
}

static void put_old(struct scratch *t)
{
	scratch_put(t, "one", "one, old\n");
	scratch_put(t, "dir/two", "two, old\n");
	scratch_put(t, "dir/three", "three, old\n");
}

static void put_new(struct scratch *t)
{
	scratch_put(t, "one", "one, new\n");
	scratch_put(t, "dir/two", "two, new\n");
	unlinkat(t->fd, "dir/three", 0);
	scratch_put(t, "dir/four", "four, new\n");
}

static int save(struct world *w, const char *label, struct err *e)
{
	struct checkpoint_request q = { .label = label };
	struct checkpoint_result r;

	return checkpoint_create(&w->st, &q, &r, e);
}

static void setup(struct crash *c)
{
	struct world w;

	assert_int_equal(mkdirat(c->t.fd, ".helm", 0700), 0);
	assert_int_equal(mkdirat(c->t.fd, "dir", 0755), 0);
	put_old(&c->t);
	world_open(&w, sys_real(), &c->t);
	assert_int_equal(save(&w, "first", &w.e), OK);
	world_close(&w);
	put_new(&c->t);
}

static bool is_text(struct scratch *t, const char *path, const char *text)
{
	const char *got = scratch_get(t, path);

	return got ? text && strcmp(got, text) == 0 : text == NULL;
}

static void restore(struct world *w, const char *id)
{
	struct checkpoint_restore q = { .id = id, .no_backup = true, .delete_new = true };
	struct checkpoint_restored r;

	if (checkpoint_restore(&w->st, &q, &r, &w->e))
		fail_msg("cannot restore %s: %s", id, w->e.text);
}

/* Every checkpoint that the index names is restored and compared. */
static size_t check_restores(struct world *w, struct scratch *t)
{
	struct json *list;

	if (checkpoint_list(&w->st, &list, &w->e))
		fail_msg("%s", w->e.text);
	json_each (record, list) {
		const char *label = json_get_text(record, "label", "");
		restore(w, json_get_text(record, "checkpoint_id", ""));
		if (strcmp(label, "first") == 0)
			assert_true(is_text(t, "one", "one, old\n") &&
				is_text(t, "dir/three", "three, old\n") && is_text(t, "dir/four", NULL));
		/* A file that could not be read is missing from the checkpoint, and the record says so. */
		if (strcmp(label, "second") == 0 && json_get_int(record, "skipped", -1) == 0)
			assert_true(is_text(t, "one", "one, new\n") && is_text(t, "dir/three", NULL) &&
				is_text(t, "dir/four", "four, new\n"));
	}
	return list->n;
}

/* Everything the index names is whole, and a prune that goes to its end leaves it so and leaves nothing else. */
static size_t check_all(struct scratch *t)
{
	struct world w;

	world_open(&w, sys_real(), t);
	size_t n = check_restores(&w, t);
	struct checkpoint_policy p;
	struct checkpoint_pruned gone;
	if (checkpoint_policy(&w.st, &p, &w.e) || checkpoint_prune(&w.st, &p, NULL, true, &gone, &w.e) ||
		checkpoint_prune(&w.st, &p, NULL, false, &gone, &w.e))
		fail_msg("%s", w.e.text);
	assert_int_equal(gone.leftovers->n, 0);
	assert_int_equal(check_restores(&w, t), n);
	world_close(&w);
	return n;
}

/* ---- create ---- */

static int act_create(struct crash *c, struct err *e)
{
	struct world w;

	int rc = world_try(&w, &c->f.sys, &c->t, e);
	rc = rc ? rc : save(&w, "second", e);
	if (!rc)
		crash_ack(c);
	world_close(&w);
	return rc;
}

static void check_create(struct crash *c, const struct crash_end *end)
{
	assert_true(is_text(&c->t, "one", "one, new\n"));
	assert_true(is_text(&c->t, "dir/four", "four, new\n"));
	size_t n = check_all(&c->t);
	assert_true(n == 1 || n == 2);
	if (end->acks)
		assert_int_equal(n, 2);
	if (!end->was_killed && end->rc)
		assert_true(end->err.text[0]);
}

static void create(void **state)
{
	(void)state;
	const struct crash_case what = { "create", setup, act_create, check_create };

	assert_true(crash_sweep(&what, NULL) >= 10);
}

/* ---- restore ---- */

static int act_restore(struct crash *c, struct err *e)
{
	struct world w;
	struct checkpoint_restore q = { .id = "latest", .delete_new = true };
	struct checkpoint_restored r;

	int rc = world_try(&w, &c->f.sys, &c->t, e);
	rc = rc ? rc : checkpoint_restore(&w.st, &q, &r, e);
	/* Not back is not restored, and each path of it has its reason. */
	for (size_t i = 0; !rc && i < r.change_count; i++)
		assert_true(!r.changes[i].is_missed || r.changes[i].note);
	if (!rc && !r.missed)
		crash_ack(c);
	world_close(&w);
	return rc;
}

static void check_restore(struct crash *c, const struct crash_end *end)
{
	struct scratch *t = &c->t;

	assert_true(is_text(t, "one", "one, new\n") || is_text(t, "one", "one, old\n"));
	assert_true(is_text(t, "dir/two", "two, new\n") || is_text(t, "dir/two", "two, old\n"));
	assert_true(is_text(t, "dir/three", NULL) || is_text(t, "dir/three", "three, old\n"));
	assert_true(is_text(t, "dir/four", NULL) || is_text(t, "dir/four", "four, new\n"));
	if (end->acks)
		assert_true(is_text(t, "one", "one, old\n") && is_text(t, "dir/two", "two, old\n") &&
			is_text(t, "dir/three", "three, old\n") && is_text(t, "dir/four", NULL));
	check_all(t);
}

static void restoring(void **state)
{
	(void)state;
	const struct crash_case what = { "restore", setup, act_restore, check_restore };

	assert_true(crash_sweep(&what, NULL) >= 25);
}

/* ---- prune ---- */

static void setup_prune(struct crash *c)
{
	struct world w;

	setup(c);
	world_open(&w, sys_real(), &c->t);
	assert_int_equal(save(&w, "second", &w.e), OK);
	world_close(&w);
}

static int act_prune(struct crash *c, struct err *e)
{
	struct world w;
	struct checkpoint_policy p;
	struct checkpoint_pruned gone;

	int rc = world_try(&w, &c->f.sys, &c->t, e);
	rc = rc ? rc : checkpoint_policy(&w.st, &p, e);
	p.keep_recent = 1;
	p.keep_days = 0;
	rc = rc ? rc : checkpoint_prune(&w.st, &p, NULL, true, &gone, e);
	if (!rc)
		crash_ack(c);
	world_close(&w);
	return rc;
}

static void check_prune(struct crash *c, const struct crash_end *end)
{
	size_t n = check_all(&c->t);

	assert_true(n == 1 || n == 2);
	if (end->acks)
		assert_int_equal(n, 1);
}

static void prune(void **state)
{
	(void)state;
	const struct crash_case what = { "prune", setup_prune, act_prune, check_prune };

	assert_true(crash_sweep(&what, NULL) >= 8);
}

/* Many small packs, which a prune writes anew as one.  Which of two packs with the same objects is looked at first depends on
 * their names, and those on what is in them: so several stores. */
enum { SMALL_PACKS = 20, STORES = 2 };

static const char *version_text(struct arena *a, const struct crash *c, int version)
{
	return arena_printf(a, "store %d, version %d\n", *(int *)c->arg, version);
}

static void setup_compaction(struct crash *c)
{
	struct world w;

	assert_int_equal(mkdirat(c->t.fd, ".helm", 0700), 0);
	world_open(&w, sys_real(), &c->t);
	for (int i = 0; i < SMALL_PACKS; i++) {
		scratch_put(&c->t, "one", version_text(&w.a, c, i));
		assert_int_equal(save(&w, "version", &w.e), OK);
	}
	world_close(&w);
}

static int act_compaction(struct crash *c, struct err *e)
{
	struct world w;
	struct checkpoint_policy p;
	struct checkpoint_pruned gone;

	int rc = world_try(&w, &c->f.sys, &c->t, e);
	rc = rc ? rc : checkpoint_policy(&w.st, &p, e);
	rc = rc ? rc : checkpoint_prune(&w.st, &p, NULL, true, &gone, e);
	if (!rc)
		crash_ack(c);
	world_close(&w);
	return rc;
}

static void check_compaction(struct crash *c, const struct crash_end *end)
{
	struct world w;
	struct json *list;
	struct checkpoint_policy p;
	struct checkpoint_pruned gone;
	int version = 0;

	(void)end;
	world_open(&w, sys_real(), &c->t);
	assert_int_equal(checkpoint_policy(&w.st, &p, &w.e), OK);
	for (int i = 0; i < 2; i++)
		if (checkpoint_prune(&w.st, &p, NULL, true, &gone, &w.e))
			fail_msg("%s", w.e.text);
	assert_int_equal(checkpoint_list(&w.st, &list, &w.e), OK);
	assert_int_equal(list->n, SMALL_PACKS);
	json_each (record, list) {
		restore(&w, json_get_text(record, "checkpoint_id", ""));
		assert_true(is_text(&c->t, "one", version_text(&w.a, c, version++)));
	}
	world_close(&w);
}

static void compaction(void **state)
{
	(void)state;
	const struct crash_case what = { "compaction", setup_compaction, act_compaction, check_compaction };

	for (int store = 0; store < STORES; store++)
		assert_true(crash_sweep(&what, &store) >= SMALL_PACKS);
}

/* ---- the first checkpoint ---- */

static void setup_first(struct crash *c)
{
	assert_int_equal(mkdirat(c->t.fd, ".helm", 0700), 0);
	assert_int_equal(mkdirat(c->t.fd, "dir", 0755), 0);
	put_new(&c->t);
}

/* A kill leaves no index that counts as lost, and what it left goes with the next checkpoint. */
static void check_first(struct crash *c, const struct crash_end *end)
{
	struct world w;
	struct json *list;
	char **names;
	size_t n;

	world_open(&w, sys_real(), &c->t);
	if (checkpoint_list(&w.st, &list, &w.e))
		fail_msg("%s", w.e.text);
	assert_true(list->n == 1 || (list->n == 0 && !end->acks));
	if (save(&w, "next", &w.e))
		fail_msg("%s", w.e.text);
	assert_int_equal(
		file_list(sys_real(), &w.a, w.state_fd, "checkpoints/objects", &names, &n, &w.e), OK);
	for (size_t i = 0; i < n; i++)
		assert_false(checkpoint_is_temp(names[i]));
	world_close(&w);
	check_all(&c->t);
}

static void first_checkpoint(void **state)
{
	(void)state;
	const struct crash_case what = { "first checkpoint", setup_first, act_create, check_first };

	assert_true(crash_sweep(&what, NULL) >= 10);
}

/* ---- repair ---- */

/* An index that is cut, and one object that is damaged and that the work tree has not any more. */
static void setup_repair(struct crash *c)
{
	struct world w;
	char **names;
	size_t n;
	struct bytes all = { 0 };

	setup(c);
	world_open(&w, sys_real(), &c->t);
	assert_int_equal(
		file_list(sys_real(), &w.a, w.state_fd, "checkpoints/objects", &names, &n, &w.e), OK);
	const char *pack = arena_printf(&w.a, "checkpoints/objects/%s", names[0]);
	assert_int_equal(save(&w, "second", &w.e), OK);
	assert_int_equal(file_read(sys_real(), &w.a, w.state_fd, pack, 1 << 20, 0, &all, &w.e), OK);
	const uint8_t *at = memmem(all.p, all.n, "two, old", 8);
	assert_non_null(at);
	int fd = openat(w.state_fd, pack, O_RDWR);
	assert_int_equal(pwrite(fd, "X", 1, at - all.p), 1);
	close(fd);
	scratch_put(&c->t, ".helm/checkpoints/index.json", "[{");
	world_close(&w);
}

static int act_repair(struct crash *c, struct err *e)
{
	struct world w;
	struct checkpoint_repaired done;

	int rc = world_try(&w, &c->f.sys, &c->t, e);
	rc = rc ? rc : checkpoint_repair_store(&w.st, &(struct checkpoint_repair){ 0 }, &done, e);
	if (!rc)
		crash_ack(c);
	world_close(&w);
	return rc;
}

/* Whenever it was killed, once more finishes it: both are listed, one file is lost, all others come back. */
static void check_repair(struct crash *c, const struct crash_end *end)
{
	struct world w;
	struct checkpoint_repaired done;
	struct checkpoint_checked found;
	struct checkpoint_restored r;
	struct checkpoint_restore q = { .id = "first", .no_backup = true, .delete_new = true };
	struct json *list;

	world_open(&w, sys_real(), &c->t);
	if (checkpoint_repair_store(&w.st, &(struct checkpoint_repair){ 0 }, &done, &w.e))
		fail_msg("%s", w.e.text);
	assert_true(!end->acks || !done.is_changed);
	if (checkpoint_check_store(&w.st, &(struct checkpoint_check){ .read_data = true }, &found, &w.e) ||
		checkpoint_list(&w.st, &list, &w.e) || checkpoint_restore(&w.st, &q, &r, &w.e))
		fail_msg("%s", w.e.text);
	assert_int_equal(found.findings->n, 0);
	assert_int_equal(found.lost, 1);
	assert_int_equal(list->n, 2);
	assert_int_equal(r.missed, 1);
	assert_true(is_text(&c->t, "one", "one, old\n") && is_text(&c->t, "dir/three", "three, old\n") &&
		is_text(&c->t, "dir/two", "two, new\n"));
	restore(&w, "second");
	assert_true(is_text(&c->t, "one", "one, new\n") && is_text(&c->t, "dir/four", "four, new\n"));
	world_close(&w);
}

static void repairing(void **state)
{
	(void)state;
	const struct crash_case what = { "repair", setup_repair, act_repair, check_repair };

	assert_true(crash_sweep(&what, NULL) >= 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create),
		cmocka_unit_test(restoring),
		cmocka_unit_test(prune),
		cmocka_unit_test(compaction),
		cmocka_unit_test(first_checkpoint),
		cmocka_unit_test(repairing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

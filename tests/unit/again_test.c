/* again_test.c — a walk over what was heard to change finds what a walk over everything would.
 *
 * Trees are changed at random in every way that was thought of: files and directories that come, go and move, names that count and those that
 * do not, repositories, second names of a file that are gone again.  After each walk over a part another one is made over everything, which must
 * find nothing left to do and know the same places. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/parts.h"
#include "tools/kernel_fixture.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kernel_fixture x;
static struct arena seen, scratch;
static const char *root;
static int tree = -1;
static struct watch *watch;
static struct nested *known;
static uint32_t state;

static int begin(void **unused)
{
	(void)unused;
	kernel_fixture_begin(&x);
	root = arena_printf(&x.process, "%s/tree", x.home.path);
	assert_int_equal(mkdir(root, 0755), 0);
	tree = open(root, O_RDONLY | O_DIRECTORY);
	assert_true(tree >= 0);
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	watch_end(watch);
	watch = NULL;
	close(tree);
	arena_done(&seen);
	arena_done(&scratch);
	seen = scratch = (struct arena){ 0 };
	kernel_fixture_done(&x);
	return 0;
}

/* ---- walks ---- */

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct task task_since(int64_t us, struct run_result *result)
{
	static const struct run_spec spec = { 0 };
	static struct run_report report;
	struct task t = { .k = &x.k,
		.a = &scratch,
		.spec = &spec,
		.report = &report,
		.profile = profiles_find(&x.k.guard.profiles, "workspace_edit"),
		.at = x.at,
		.lasts = true,
		.row = json_new(&scratch, JSON_OBJECT),
		.happened = json_new(&scratch, JSON_OBJECT),
		.nested = known,
		.result = result };

	*result = (struct run_result){ .started_us = us };
	t.at.work_tree = root;
	return t;
}

static void look_first(void)
{
	struct run_result result;
	struct task t = task_since(now_us(), &result);

	watch = watch_new(sys_real(), &x.process);
	known = nested_new(&seen, &t);
	nested_watch(known, watch);
	watch_walk_begins(watch);
	nested_look(known, &t, root);
}

/* What is left behind, in words; NULL: nothing. */
static const char *said(const struct task *t)
{
	struct buf text;

	buf_init(&text, &scratch);
	json_each (one, t->left_behind)
		buf_addf(&text, "%s %s; ", json_get_text(one, "what", ""), json_get_text(one, "path", ""));
	return text.n ? text.p : NULL;
}

struct comparison {
	struct nested *part, *all;
	size_t n;
};

static int compare(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct comparison *c = arg;

	(void)parent;
	(void)e;
	if (!nested_counts(rel) && !text_eq(name, ".git"))
		return 0;
	c->n++;
	if (nested_is_new(c->part, rel, st) != nested_is_new(c->all, rel, st))
		fail_msg("%s is known to one of the walks", rel);
	return 0;
}

/* Returns how many directories the walk over a part was about; SIZE_MAX: it could not be made. */
static size_t walk_both(int64_t since, const char *what)
{
	struct run_result result;
	struct task part = task_since(since, &result), all;
	struct watch_news news;
	struct err e;

	if (!watch_walk_part_begins(watch, &scratch, &news))
		return SIZE_MAX;
	part.nested_next = nested_new(&seen, &part);
	nested_watch(part.nested_next, watch);
	task_touched_again(&part, &news);
	/* Nobody watches this one; what the first one has held is renamed, and so known under another name. */
	all = task_since(since, &result);
	all.nested = part.nested_next;
	all.nested_next = nested_new(&seen, &all);
	(void)task_touched(&all);
	if (said(&all))
		fail_msg("after %s (%s): %s", what, said(&part) ? said(&part) : "nothing", said(&all));
	struct comparison c = { part.nested_next, all.nested_next, 0 };
	assert_int_equal(file_walk(sys_real(), tree, ".", compare, &c, &e), OK);
	known = part.nested_next;
	return news.heard.n + news.fresh.n + news.repositories.n;
}

/* ---- changes ---- */

static uint32_t any(uint32_t n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % n;
}

static void put(const char *path, const char *text, int flags)
{
	int fd = openat(tree, path, O_WRONLY | O_CREAT | flags, 0644);

	if (fd < 0)
		return;
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static const char *any_dir(void)
{
	static const char *const names[] = { "a", "b", "a/c", "a/c/d", "b/e", "b/e/f", "." };

	return names[any(ARRAY_SIZE(names))];
}

static void make_repository(const char *dir)
{
	static const char *const parts[] = { "", "/hooks", "/objects", "/refs", "/objects/ab" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		(void)mkdirat(tree, arena_printf(&scratch, "%s/.git%s", dir, parts[i]), 0755);
	put(arena_printf(&scratch, "%s/.git/HEAD", dir), "ref: refs/heads/main\n", O_TRUNC);
	put(arena_printf(&scratch, "%s/.git/config", dir), "[core]\n\tbare = false\n", O_TRUNC);
}

/* One change; what it was, for whoever has to find out why it was not seen. */
static const char *change(void)
{
	const char *dir = any_dir(), *other = any_dir();
	uint32_t what = any(14);

	switch (what) {
	case 0:
		put(arena_printf(&scratch, "%s/file", dir), "x", 0);
		break;
	case 1:
		put(arena_printf(&scratch, "%s/.envrc", dir), "x", 0);
		break;
	case 2:
		(void)mkdirat(tree, arena_printf(&scratch, "%s/.claude", dir), 0755);
		put(arena_printf(&scratch, "%s/.claude/settings.json", dir), "{}", O_TRUNC);
		break;
	case 3:
		(void)mkdirat(tree, dir, 0755);
		break;
	case 4:
		file_remove_tree(sys_real(), tree, text_eq(dir, ".") ? "a/c" : dir);
		break;
	case 5:
		(void)renameat(tree, dir, tree, arena_printf(&scratch, "%s/moved", other));
		break;
	case 6:
		(void)renameat(tree, arena_printf(&scratch, "%s/moved", dir), tree, other);
		break;
	case 7:
		make_repository(dir);
		break;
	case 8:
		put(arena_printf(&scratch, "%s/.git/hooks/post-commit", dir), "#!/bin/sh\n", 0);
		break;
	case 9: /* by a second name, which is gone again */
		(void)!linkat(tree, arena_printf(&scratch, "%s/.git/config", dir), tree, "second", 0);
		put("second", "[core]\n\tpager = evil\n", O_APPEND);
		(void)unlinkat(tree, "second", 0);
		break;
	case 10: /* a repository without a work tree */
		(void)mkdirat(tree, arena_printf(&scratch, "%s/bare", dir), 0755);
		(void)mkdirat(tree, arena_printf(&scratch, "%s/bare/objects", dir), 0755);
		(void)mkdirat(tree, arena_printf(&scratch, "%s/bare/refs", dir), 0755);
		put(arena_printf(&scratch, "%s/bare/HEAD", dir), "ref: refs/heads/main\n", O_TRUNC);
		put(arena_printf(&scratch, "%s/bare/config", dir), any(2) ? "[core]\n\tpager = evil\n" : "",
			O_TRUNC);
		break;
	case 11: /* one that is hidden in another */
		(void)renameat(tree, arena_printf(&scratch, "%s/bare", dir), tree,
			arena_printf(&scratch, "%s/.git/objects/ab/hidden", other));
		break;
	case 12: /* a file that leads to a repository: where those of further work trees are, or elsewhere */
		put(arena_printf(&scratch, "%s/.git", dir),
			any(2) ? arena_printf(&scratch, "gitdir: %s/.git/worktrees/w\n", root)
			       : "gitdir: /elsewhere\n",
			O_TRUNC);
		break;
	default:
		put(arena_printf(&scratch, "%s/.git/objects/ab/%u", dir, any(100)), "x", 0);
	}
	return arena_printf(&scratch, "%u %s %s", what, dir, other);
}

static void parts_find_what_everything_would(void **unused)
{
	size_t parts = 0;

	(void)unused;
	look_first();
	for (state = 1; parts < 400; parts++) {
		struct buf what;
		int64_t since = now_us();
		buf_init(&what, &scratch);
		for (uint32_t n = 1 + any(4); n > 0; n--)
			buf_addf(&what, "%s, ", change());
		size_t n = walk_both(since, what.p);
		if (n == SIZE_MAX && watch_is_changed(watch))
			fail_msg("lost after %s", what.p);
	}
}

static int touch_each(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	(void)arg;
	(void)rel;
	(void)e;
	if (!S_ISDIR(st->st_mode))
		return 0;
	int fd = openat(parent, arena_printf(&scratch, "%s/file", name), O_WRONLY | O_CREAT, 0644);
	close(fd);
	return 0;
}

/* What it costs is what changed, and not what is there. */
static void one_change_is_one_directory(void **unused)
{
	struct err e;

	(void)unused;
	for (int i = 0; i < 300; i++)
		assert_int_equal(mkdirat(tree, arena_printf(&scratch, "d%d", i), 0755), 0);
	look_first();
	int64_t since = now_us();
	put("d7/file", "x", 0);
	assert_int_equal(walk_both(since, "a file"), 1);
	assert_int_equal(mkdirat(tree, "d8/new", 0755), 0);
	put("d8/new/file", "x", 0);
	assert_int_equal(walk_both(since, "a directory"), 2);
	put("d8/new/other", "x", 0);
	assert_int_equal(walk_both(since, "a file in it"), 1);
	/* Nothing happened: there is no part to walk. */
	assert_int_equal(walk_both(since, "nothing"), SIZE_MAX);
	assert_false(watch_is_changed(watch));
	/* More than is kept in mind is a walk over everything, and the next one is a part again. */
	for (int i = 0; i < 5000; i++)
		assert_int_equal(mkdirat(tree, arena_printf(&scratch, "d9/%d", i), 0755), 0);
	assert_true(watch_is_changed(watch));
	assert_int_equal(walk_both(since, "too much"), SIZE_MAX);
	assert_true(watch_is_changed(watch));
	watch_end(watch);
	look_first();
	assert_int_equal(file_walk(sys_real(), tree, "d8", touch_each, NULL, &e), OK);
	assert_int_equal(walk_both(since, "some"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parts_find_what_everything_would, begin, end),
		cmocka_unit_test_setup_teardown(one_change_is_one_directory, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

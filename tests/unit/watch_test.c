/* watch_test.c — whatever changes in a tree that was walked is heard, and silence means that nothing has. */
#include "kernel/task/parts.h"

#include "base/file.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena a;
static struct scratch t;
static struct watch *w;

static int begin(void **state)
{
	(void)state;
	scratch_open(&t);
	mkdirat(t.fd, "a", 0700);
	mkdirat(t.fd, "a/b", 0700);
	scratch_put(&t, "a/b/file", "x");
	w = watch_new(sys_default(), &a);
	return 0;
}

static int done(void **state)
{
	(void)state;
	watch_end(w);
	scratch_done(&t);
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

static int visit(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	(void)arg;
	(void)rel;
	(void)e;
	if (S_ISDIR(st->st_mode))
		watch_directory(w, parent, name, rel);
	return 0;
}

static void walk(void)
{
	struct err e;

	watch_walk_begins(w);
	watch_directory(w, t.fd, ".", "");
	assert_int_equal(file_walk_names(sys_default(), t.fd, ".", visit, NULL, &e), OK);
}

static void before_the_first_walk_nobody_knows(void **state)
{
	(void)state;
	assert_true(watch_is_changed(w));
	assert_true(watch_is_changed(NULL));
}

static void silence_means_that_nothing_has_changed(void **state)
{
	(void)state;
	walk();
	assert_false(watch_is_changed(w));
	assert_non_null(scratch_get(&t, "a/b/file")); /* who only reads is not heard */
	assert_false(watch_is_changed(w));
	walk();
	assert_false(watch_is_changed(w));
}

static void every_change_is_heard(void **state)
{
	(void)state;
	walk();
	scratch_put(&t, "a/b/file", "y");
	assert_true(watch_is_changed(w));
	assert_true(watch_is_changed(w)); /* until somebody has looked */
	walk();
	assert_false(watch_is_changed(w));
	assert_int_equal(renameat(t.fd, "a/b/file", t.fd, "a/file"), 0);
	assert_true(watch_is_changed(w));
	walk();
	assert_int_equal(fchmodat(t.fd, "a/file", 0600, 0), 0);
	assert_true(watch_is_changed(w));
	walk();
	assert_int_equal(unlinkat(t.fd, "a/file", 0), 0);
	assert_true(watch_is_changed(w));
}

static void directories_that_came_later_are_watched(void **state)
{
	(void)state;
	walk();
	assert_int_equal(mkdirat(t.fd, "a/b/c", 0700), 0);
	assert_true(watch_is_changed(w));
	walk();
	scratch_put(&t, "a/b/c/file", "x");
	assert_true(watch_is_changed(w));
	walk();
	assert_int_equal(renameat(t.fd, "a", t.fd, "z"), 0);
	walk();
	scratch_put(&t, "z/b/c/file", "y");
	assert_true(watch_is_changed(w));
}

static void tells(size_t n, ...)
{
	const char **told;
	va_list list;

	assert_int_equal(watch_told(w, &a, &told), n);
	va_start(list, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(told[i], va_arg(list, const char *));
	va_end(list);
}

/* Where it is: names that count, and new directories; the walk is due all the same. */
static void what_may_arm_something_is_told(void **state)
{
	(void)state;
	walk();
	tells(0);
	scratch_put(&t, "a/b/file", "y");
	tells(0);
	assert_int_equal(mkdirat(t.fd, "a/new", 0700), 0);
	assert_int_equal(symlinkat("nowhere", t.fd, "a/b/.envrc"), 0);
	assert_int_equal(mkdirat(t.fd, "top", 0700), 0);
	tells(3, "a/new", "a/b/.envrc", "top");
	tells(0);
	assert_true(watch_is_changed(w));
	assert_int_equal(renameat(t.fd, "a/b", t.fd, "top/b"), 0);
	walk();
	tells(0); /* that has seen it */
	assert_int_equal(symlinkat("nowhere", t.fd, "top/b/.git"), 0);
	tells(1, "top/b/.git");
	for (int i = 0; i < 300; i++)
		assert_int_equal(mkdirat(t.fd, arena_printf(&a, "top/%d", i), 0700), 0);
	const char **told;
	assert_in_range(watch_told(w, &a, &told), 200, 299); /* too many are the walk's */
	watch_end(w);
	tells(0);
	assert_int_equal(watch_told(NULL, &a, &told), 0);
}

static void where_nobody_watches_any_more_everything_counts(void **state)
{
	(void)state;
	walk();
	watch_end(w);
	assert_true(watch_is_changed(w));
	walk();
	assert_true(watch_is_changed(w));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(before_the_first_walk_nobody_knows, begin, done),
		cmocka_unit_test_setup_teardown(silence_means_that_nothing_has_changed, begin, done),
		cmocka_unit_test_setup_teardown(every_change_is_heard, begin, done),
		cmocka_unit_test_setup_teardown(directories_that_came_later_are_watched, begin, done),
		cmocka_unit_test_setup_teardown(what_may_arm_something_is_told, begin, done),
		cmocka_unit_test_setup_teardown(where_nobody_watches_any_more_everything_counts, begin, done),
	};
	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}

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
		watch_directory(w, parent, name);
	return 0;
}

static void walk(void)
{
	struct err e;

	watch_walk_begins(w);
	watch_directory(w, t.fd, ".");
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
		cmocka_unit_test_setup_teardown(where_nobody_watches_any_more_everything_counts, begin, done),
	};
	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}

/* names_test.c — a look at a directory never says "no" about what is in it. */
#include "base/names.h"

#include "base/file.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct scratch t;
static struct sys *s;

static int setup(void **state)
{
	(void)state;
	scratch_open(&t);
	s = sys_real();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_done(&t);
	return 0;
}

/* What is there may be there; and of much that is not, nearly all is known not to be. */
static void says_no_only_where_nothing_is(void **state)
{
	struct names n;
	char name[32];
	int wrong = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), ".name%d", i);
		scratch_put(&t, name, "");
	}
	assert_int_equal(symlinkat("nowhere", t.fd, "dangling"), 0);
	names_look(s, t.fd, ".", &n);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), ".name%d", i);
		assert_true(names_may_have(&n, name));
		snprintf(name, sizeof(name), ".name%d/below/it", i);
		assert_true(names_may_have(&n, name));
		snprintf(name, sizeof(name), ".NAME%d", i); /* as a file system finds it that ignores case */
		assert_true(names_may_have(&n, name));
		snprintf(name, sizeof(name), "other%d", i);
		wrong += names_may_have(&n, name);
	}
	assert_true(names_may_have(&n, "dangling"));
	assert_true(wrong < 40); /* one in twenty is expected */
}

static void nothing_is_in_what_is_not_there(void **state)
{
	struct names n;

	(void)state;
	names_look(s, t.fd, "gone", &n);
	assert_false(names_may_have(&n, ".ssh"));
	scratch_put(&t, "file", "");
	names_look(s, t.fd, "file", &n);
	assert_false(names_may_have(&n, ".ssh"));
}

/* The long s is an s to a file system that ignores case. */
static void a_name_beyond_ascii_says_nothing(void **state)
{
	struct names n;

	(void)state;
	scratch_put(&t, ".\xc5\xbf\xc5\xbfh", "");
	names_look(s, t.fd, ".", &n);
	assert_true(names_may_have(&n, ".ssh"));
	assert_true(names_may_have(&n, "anything"));
}

static void very_many_names_say_nothing(void **state)
{
	struct names n;
	char name[32];

	(void)state;
	for (int i = 0; i < 2500; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		AUTO(close_fd) int fd = openat(t.fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
	}
	names_look(s, t.fd, ".", &n);
	assert_false(n.is_whole);
	assert_true(names_may_have(&n, ".ssh"));
}

static ssize_t fails(struct sys *with, int fd, void *to, size_t n)
{
	(void)with;
	(void)fd;
	(void)to;
	(void)n;
	return -1;
}

/* Whoever may enter a directory finds what they know the name of, though they cannot list it. */
static void what_cannot_be_listed_may_have_anything(void **state)
{
	struct sys blind = *s;
	struct names n;

	(void)state;
	scratch_put(&t, "f", "");
	blind.getdents = fails;
	names_look(&blind, t.fd, ".", &n);
	assert_true(names_may_have(&n, ".ssh"));
	if (geteuid() == 0)
		return;
	assert_int_equal(mkdirat(t.fd, "closed", 0700), 0);
	scratch_put(&t, "closed/.ssh", "");
	assert_int_equal(fchmodat(t.fd, "closed", 0100, 0), 0);
	names_look(s, t.fd, "closed", &n);
	assert_true(names_may_have(&n, ".ssh"));
	assert_int_equal(fchmodat(t.fd, "closed", 0700, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(says_no_only_where_nothing_is, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_in_what_is_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(a_name_beyond_ascii_says_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(very_many_names_say_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_listed_may_have_anything, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* file_test.c — reading, appending, replacing, walking: what is promised when nothing breaks.  What is promised when
 * something breaks is in tests/crash/file_crash_test.c. */
#include "base/file.h"
#include "base/text.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

static struct scratch t;
static struct arena a;
static struct err e;
static struct sys *s;

static int setup(void **state)
{
	(void)state;
	scratch_open(&t);
	s = sys_real();
	e = (struct err){ 0 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&a);
	scratch_done(&t);
	return 0;
}

static void refuses(int rc, const char *code)
{
	assert_true(rc < 0);
	assert_int_equal(rc, e.rc);
	assert_string_equal(e.code, code);
	assert_true(e.text[0]);
}

static void read_limits(void **state)
{
	(void)state;
	struct bytes got = { NULL, 99 };

	scratch_put(&t, "f", "hello");
	assert_int_equal(file_read(s, &a, t.fd, "f", 5, 0, &got, &e), OK);
	assert_true(bytes_is(got, "hello"));
	scratch_put(&t, "empty", "");
	assert_int_equal(file_read(s, &a, t.fd, "empty", 0, 0, &got, &e), OK);
	assert_int_equal(got.n, 0);

	got.n = 99;
	refuses(file_read(s, &a, t.fd, "f", 4, 0, &got, &e), "FILE_TOO_LARGE");
	refuses(file_read(s, &a, t.fd, ".", 4, 0, &got, &e), "FILE_NOT_REGULAR");
	refuses(file_read(s, &a, t.fd, "gone", 4, 0, &got, &e), "FILE_OPEN");
	assert_int_equal(e.rc, E_MISSING);
	assert_int_equal(mkfifoat(t.fd, "pipe", 0600), 0);
	refuses(file_read(s, &a, t.fd, "pipe", 4, FILE_FOLLOW, &got, &e), "FILE_NOT_REGULAR");
	assert_int_equal(got.n, 99);
}

/* A file of the process file system says size 0 and has content. */
static void read_sizeless(void **state)
{
	(void)state;
	struct bytes got;

	assert_int_equal(file_read(s, &a, AT_FDCWD, "/proc/self/status", 1 << 20, 0, &got, &e), OK);
	assert_true(got.n > 100);
	refuses(file_read(s, &a, AT_FDCWD, "/proc/self/status", 100, 0, &got, &e), "FILE_TOO_LARGE");
}

static void read_links(void **state)
{
	(void)state;
	struct bytes got;

	scratch_put(&t, "f", "x");
	assert_int_equal(mkdirat(t.fd, "d", 0700), 0);
	assert_int_equal(symlinkat("f", t.fd, "l"), 0);
	assert_int_equal(symlinkat("../f", t.fd, "d/up"), 0);
	AUTO(close_fd) int d = openat(t.fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	refuses(file_read(s, &a, t.fd, "l", 9, 0, &got, &e), "FILE_LINK");
	refuses(file_read(s, &a, t.fd, "l", 9, FILE_BENEATH, &got, &e), "FILE_LINK");
	assert_int_equal(file_read(s, &a, t.fd, "l", 9, FILE_FOLLOW, &got, &e), OK);
	assert_int_equal(file_read(s, &a, t.fd, "l", 9, FILE_FOLLOW | FILE_BENEATH, &got, &e), OK);
	assert_int_equal(file_read(s, &a, t.fd, "d/../f", 9, FILE_BENEATH, &got, &e), OK);
	refuses(file_read(s, &a, d, "../f", 9, FILE_BENEATH, &got, &e), "FILE_OUTSIDE");
	refuses(file_read(s, &a, d, "up", 9, FILE_FOLLOW | FILE_BENEATH, &got, &e), "FILE_OUTSIDE");
	refuses(file_read(s, &a, d, "/etc/passwd", 9, FILE_BENEATH, &got, &e), "FILE_OUTSIDE");
}

static void append(void **state)
{
	(void)state;
	off_t at = -1;
	struct stat st;

	assert_int_equal(file_append_line(s, t.fd, "l", 0600, bytes_of("{\"a\":1}"), &at, &e), OK);
	assert_int_equal(at, 0);
	assert_int_equal(file_append_line(s, t.fd, "l", 0600, bytes_of(""), &at, &e), OK);
	assert_int_equal(at, 8);
	assert_int_equal(file_append_line(s, t.fd, "l", 0600, bytes_of("{}"), NULL, &e), OK);
	assert_string_equal(scratch_get(&t, "l"), "{\"a\":1}\n\n{}\n");
	assert_int_equal(fstatat(t.fd, "l", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_false(scratch_has(&t, "l.torn"));

	refuses(file_append_line(s, t.fd, "l", 0600, bytes_of("a\nb"), &at, &e), "FILE_NEWLINE");
	assert_int_equal(symlinkat("l", t.fd, "link"), 0);
	refuses(file_append_line(s, t.fd, "link", 0600, bytes_of("{}"), &at, &e), "FILE_LINK");
	refuses(file_append_line(s, t.fd, "no/l", 0600, bytes_of("{}"), &at, &e), "FILE_OPEN");
	assert_int_equal(mkfifoat(t.fd, "pipe", 0600), 0);
	refuses(file_append_line(s, t.fd, "pipe", 0600, bytes_of("{}"), &at, &e), "FILE_NOT_REGULAR");
	assert_string_equal(scratch_get(&t, "l"), "{\"a\":1}\n\n{}\n");
}

static void append_repairs(void **state)
{
	(void)state;
	static const struct {
		const char *before, *after, *torn;
	} cases[] = {
		{ "{}\n{\"a\":", "{}\n{\"n\":1}\n", "{\"a\":\n" },
		{ "{\"a\":", "{\"n\":1}\n", "{\"a\":\n" },
		{ "{}\n{\"a\":\"}", "{}\n{\"n\":1}\n", "{\"a\":\"}\n" },
		{ "{}\n{\"a\":\"\\\"}", "{}\n{\"n\":1}\n", "{\"a\":\"\\\"}\n" },
		{ "{}\n{}}", "{}\n{\"n\":1}\n", "{}}\n" },
		{ "{}\n12", "{}\n{\"n\":1}\n", "12\n" },
		{ "{}\n{\"a\":[1,{}]}", "{}\n{\"a\":[1,{}]}\n{\"n\":1}\n", NULL },
		{ "{\"a\":\"}\\\"\"}", "{\"a\":\"}\\\"\"}\n{\"n\":1}\n", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		scratch_empty(&t);
		scratch_put(&t, "l", cases[i].before);
		off_t at;
		assert_int_equal(file_append_line(s, t.fd, "l", 0600, bytes_of("{\"n\":1}"), &at, &e), OK);
		assert_string_equal(scratch_get(&t, "l"), cases[i].after);
		assert_int_equal(at, strlen(cases[i].after) - 8);
		if (cases[i].torn)
			assert_string_equal(scratch_get(&t, "l.torn"), cases[i].torn);
		else
			assert_false(scratch_has(&t, "l.torn"));
	}
}

/* A torn line longer than one reading step, in front of it lines that must stay. */
static void append_repairs_long(void **state)
{
	(void)state;
	char *text = arena_zalloc(&a, 1, 20001);

	memset(text, 'x', 20000);
	memcpy(text, "{}\n", 3);
	scratch_put(&t, "l", text);
	assert_int_equal(file_append_line(s, t.fd, "l", 0600, bytes_of("[]"), NULL, &e), OK);
	assert_string_equal(scratch_get(&t, "l"), "{}\n[]\n");
	assert_int_equal(strlen(scratch_get(&t, "l.torn")), 20000 - 3 + 1);
}

static void replace(void **state)
{
	(void)state;
	struct stat st;
	char **names;
	size_t n;

	assert_int_equal(mkdirat(t.fd, "d", 0700), 0);
	assert_int_equal(file_replace(s, t.fd, "d/f", 0600, bytes_of("one"), &e), OK);
	assert_int_equal(file_replace(s, t.fd, "d/f", 0600, bytes_of("two"), &e), OK);
	assert_int_equal(file_replace(s, t.fd, "g", 0600, (struct bytes){ NULL, 0 }, &e), OK);
	assert_string_equal(scratch_get(&t, "d/f"), "two");
	assert_string_equal(scratch_get(&t, "g"), "");
	assert_int_equal(fstatat(t.fd, "d/f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);

	assert_int_equal(symlinkat("d/f", t.fd, "link"), 0);
	refuses(file_replace(s, t.fd, "link", 0600, bytes_of("x"), &e), "FILE_LINK");
	refuses(file_replace(s, t.fd, "d", 0600, bytes_of("x"), &e), "FILE_NOT_REGULAR");
	refuses(file_replace(s, t.fd, "d/", 0600, bytes_of("x"), &e), "FILE_NAME");
	refuses(file_replace(s, t.fd, "..", 0600, bytes_of("x"), &e), "FILE_NAME");
	refuses(file_replace(s, t.fd, "no/f", 0600, bytes_of("x"), &e), "FILE_OPEN_DIR");
	assert_string_equal(scratch_get(&t, "d/f"), "two");
	assert_int_equal(file_list(s, &a, t.fd, "d", &names, &n, &e), OK);
	assert_int_equal(n, 1);
}

static void mkdirs(void **state)
{
	(void)state;
	struct stat st;

	assert_int_equal(file_mkdirs(s, t.fd, "a/b//c/", 0700, &e), OK);
	assert_int_equal(file_mkdirs(s, t.fd, "a/b/c", 0700, &e), OK);
	assert_int_equal(file_mkdirs(s, t.fd, ".", 0700, &e), OK);
	assert_int_equal(fstatat(t.fd, "a/b", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(file_mkdirs(s, AT_FDCWD, arena_printf(&a, "%s/x/y", t.path), 0700, &e), OK);
	assert_true(file_is_dir(s, t.fd, "x/y"));

	scratch_put(&t, "f", "");
	refuses(file_mkdirs(s, t.fd, "f", 0700, &e), "FILE_NOT_DIR");
	refuses(file_mkdirs(s, t.fd, "f/g", 0700, &e), "FILE_NOT_DIR");
	assert_int_equal(symlinkat("a", t.fd, "l"), 0);
	assert_int_equal(file_mkdirs(s, t.fd, "l/z", 0700, &e), OK);
	assert_true(file_is_dir(s, t.fd, "a/z"));
}

static void lock(void **state)
{
	(void)state;
	AUTO(close_fd) int first = -1;
	AUTO(close_fd) int second = -1;

	assert_int_equal(file_lock(s, t.fd, "lock", 0, &first, &e), OK);
	refuses(file_lock(s, t.fd, "lock", 0, &second, &e), "FILE_LOCKED");
	refuses(file_lock(s, t.fd, "lock", 12, &second, &e), "FILE_LOCKED");
	assert_int_equal(second, -1);
	/* A lock on a file that no longer has the name protects nothing: the name's new file is free. */
	assert_int_equal(unlinkat(t.fd, "lock", 0), 0);
	assert_int_equal(file_lock(s, t.fd, "lock", 0, &second, &e), OK);
	close_fd(&second);
	assert_int_equal(file_lock(s, t.fd, "lock", -1, &second, &e), OK);
}

static void list(void **state)
{
	(void)state;
	char **names;
	size_t n;

	for (int i = 0; i < 3000; i++)
		scratch_put(&t, arena_printf(&a, "%05d", (i * 7919) % 3000), "");
	scratch_put(&t, ".hidden", "");
	assert_int_equal(file_list(s, &a, t.fd, ".", &names, &n, &e), OK);
	assert_int_equal(n, 3001);
	assert_string_equal(names[0], ".hidden");
	for (size_t i = 1; i < n; i++)
		assert_string_equal(names[i], arena_printf(&a, "%05zu", i - 1));
	refuses(file_list(s, &a, t.fd, "gone", &names, &n, &e), "FILE_OPEN_DIR");
	refuses(file_list(s, &a, t.fd, ".hidden", &names, &n, &e), "FILE_OPEN_DIR");
}

static int note(
	void *arg, int parent_fd, const char *name, const char *rel, const struct stat *st, struct err *err)
{
	struct stat again;

	assert_int_equal(fstatat(parent_fd, name, &again, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(again.st_ino, st->st_ino);
	char **seen = arg;
	*seen = arena_printf(&a, "%s%s ", *seen, rel);
	if (strcmp(name, "stop") == 0)
		return err_set(err, E_INPUT, "STOP", "stopped");
	return strcmp(name, "skip") == 0 ? FILE_SKIP : 0;
}

static void walk(void **state)
{
	(void)state;
	char *seen = arena_strdup(&a, "");

	assert_int_equal(file_mkdirs(s, t.fd, "b/skip/no", 0700, &e), OK);
	scratch_put(&t, "b/z", "");
	scratch_put(&t, "a", "");
	scratch_put(&t, "b.c", "");
	assert_int_equal(symlinkat(".", t.fd, "b/link"), 0);
	assert_int_equal(file_walk(s, t.fd, ".", note, &seen, &e), OK);
	assert_string_equal(seen, "a b b/link b/skip b/z b.c ");

	scratch_put(&t, "b/stop", "");
	seen = arena_strdup(&a, "");
	refuses(file_walk(s, t.fd, ".", note, &seen, &e), "STOP");
	assert_string_equal(seen, "a b b/link b/skip b/stop ");
}

static void walk_too_deep(void **state)
{
	(void)state;
	char *seen = arena_strdup(&a, "");
	char *path = arena_zalloc(&a, 1, 2 * 300 + 1);

	for (int i = 0; i < 300; i++)
		memcpy(path + 2 * i, "d/", 2);
	assert_int_equal(file_mkdirs(s, t.fd, path, 0700, &e), OK);
	refuses(file_walk(s, t.fd, ".", note, &seen, &e), "FILE_DEPTH");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(read_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(read_sizeless, setup, teardown),
		cmocka_unit_test_setup_teardown(read_links, setup, teardown),
		cmocka_unit_test_setup_teardown(append, setup, teardown),
		cmocka_unit_test_setup_teardown(append_repairs, setup, teardown),
		cmocka_unit_test_setup_teardown(append_repairs_long, setup, teardown),
		cmocka_unit_test_setup_teardown(replace, setup, teardown),
		cmocka_unit_test_setup_teardown(mkdirs, setup, teardown),
		cmocka_unit_test_setup_teardown(lock, setup, teardown),
		cmocka_unit_test_setup_teardown(list, setup, teardown),
		cmocka_unit_test_setup_teardown(walk, setup, teardown),
		cmocka_unit_test_setup_teardown(walk_too_deep, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* shown_test.c — what was asked, redacted: how large it may be, that it is found by its digest, what is told when its line was changed or is gone, and
 * that old files go. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/edit.h"
#include "record/record.h"
#include "record/shown.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena a;
static struct scratch dir;

static int setup(void **state)
{
	(void)state;
	scratch_open_fast(&dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_done(&dir);
	arena_done(&a);
	return 0;
}

static struct json *object(const char *text)
{
	struct json *doc;
	struct err e = { 0 };

	if (json_parse(&a, bytes_of(text), "test", NULL, &doc, &e))
		fail_msg("%s", e.text);
	return doc;
}

static struct json *made(const struct json *arguments)
{
	const struct shown_asked asked = { .tool = "Tool", .preview = "Tool: x", .arguments = arguments };

	return shown_make(&a, &asked);
}

static const char *kept(const struct json *shown, const char *session)
{
	struct err e = { 0 };

	if (shown_keep(sys_real(), &a, dir.fd, session, shown, &e))
		fail_msg("%s", e.text);
	return json_sha256(&a, shown);
}

static void test_secrets_are_not_in_it(void **state)
{
	(void)state;
	struct json *doc =
		made(object("{\"env\":{\"password\":\"hunter2\"},\"argv\":[\"x\",\"--token\",\"abcdefgh\"],"
			    "\"text\":\"Authorization: Bearer abcdefghijklmnopqrstuvwxyz\"}"));
	struct buf b;

	buf_init(&b, &a);
	json_canonical(&b, doc);
	assert_null(strstr(b.p, "hunter2"));
	assert_null(strstr(b.p, "abcdefgh"));
	assert_non_null(strstr(b.p, "[REDACTED]"));
	assert_null(json_get(doc, "left_out_bytes"));
}

/* A key that begins before the cut and ends behind it is still known. */
static void test_a_secret_at_the_cut_is_not_in_it(void **state)
{
	(void)state;
	struct json *arguments = json_new(&a, JSON_OBJECT);
	struct buf text, b;

	buf_init(&text, &a);
	while (text.n < (8 << 10) - 30)
		buf_adds(&text, "a line of text\n");
	buf_adds(&text, "-----BEGIN PRIVATE KEY-----\n");
	for (int i = 0; i < 40; i++)
		buf_adds(&text, "SECRETSECRETSECRETSECRETSECRETSECRET\n");
	buf_adds(&text, "-----END PRIVATE KEY-----\n");
	json_sets(&a, arguments, "content", text.p);
	buf_init(&b, &a);
	json_canonical(&b, made(arguments));
	assert_null(strstr(b.p, "SECRETSECRET"));
}

/* Redacting makes a text short: the place where it was cut before that may then be kept, and is between two words. */
static void test_no_half_of_a_secret_is_kept(void **state)
{
	(void)state;
	for (size_t shift = 0; shift < 40; shift += 4) {
		struct json *arguments = json_new(&a, JSON_OBJECT);
		struct buf text, b;
		buf_init(&text, &a);
		buf_adds(&text, "-----BEGIN X-----\n");
		while (text.n < (24 << 10) - 28 - shift)
			buf_adds(&text, "A");
		buf_adds(&text,
			"\n-----END X-----\n the token ghp_0123456789abcdefghijABCDEFGHIJ0123456789 is long");
		while (text.n < (40 << 10))
			buf_adds(&text, " and more");
		json_sets(&a, arguments, "content", text.p);
		buf_init(&b, &a);
		json_canonical(&b, made(arguments));
		assert_null(strstr(b.p, "ghp_"));
	}
}

static void test_it_has_a_limit_and_says_what_is_left_out(void **state)
{
	(void)state;
	struct json *arguments = json_new(&a, JSON_OBJECT), *list = json_new(&a, JSON_ARRAY);
	char *long_text = arena_text(&a, 3 << 20);
	struct buf b;

	memset(long_text, 'x', 3 << 20);
	json_set(&a, arguments, "one", json_stringn(&a, long_text, 3 << 20));
	for (int i = 0; i < 100000; i++)
		json_pushs(&a, list, "another word");
	json_set(&a, arguments, "many", list);
	struct json *doc = made(arguments);
	buf_init(&b, &a);
	json_canonical(&b, doc);
	assert_true(b.n < 400 << 10);
	assert_true(json_get_int(doc, "left_out_bytes", 0) > 3 << 20);
	assert_non_null(strstr(b.p, "bytes left out]"));
}

/* Other readers write numbers their own way: there are only those which all write alike. */
static void test_numbers_and_bytes_have_one_form(void **state)
{
	(void)state;
	struct json *arguments = object("{\"x\":1.50,\"n\":7}");
	json_set(&a, arguments, "raw", json_stringn(&a, "\xff\xfe", 2));
	struct json *doc = json_get(made(arguments), "arguments");

	assert_string_equal(json_get_text(doc, "x", ""), "1.50");
	assert_int_equal(json_get_int(doc, "n", 0), 7);
	assert_string_equal(json_get_text(doc, "raw", ""), "\\xFF\\xFE");
}

static void test_it_is_found_by_its_digest(void **state)
{
	(void)state;
	struct json *first = made(object("{\"command\":\"ls\"}")),
		    *second = made(object("{\"command\":\"pwd\"}")), *got;
	const char *one = kept(first, "s"), *two = kept(second, NULL);
	struct err e = { 0 };

	assert_int_equal(shown_read(sys_real(), &a, dir.fd, one, &got, &e), OK);
	assert_true(json_eq(got, first));
	assert_int_equal(shown_read(sys_real(), &a, dir.fd, two, &got, &e), OK);
	assert_true(json_eq(got, second));
}

static void test_what_is_gone_is_not_kept(void **state)
{
	(void)state;
	const char *sha256 = kept(made(object("{\"command\":\"ls\"}")), "s");
	struct json *got = NULL;
	struct err e = { 0 };

	unlinkat(dir.fd, SHOWN_FILE, 0);
	assert_int_equal(shown_read(sys_real(), &a, dir.fd, sha256, &got, &e), E_MISSING);
	assert_string_equal(e.code, "SHOWN_MISSING");
	assert_null(got);
	assert_int_equal(shown_read(sys_real(), &a, -1, sha256, &got, &e), E_MISSING);
	assert_int_equal(shown_read(sys_real(), &a, dir.fd, "no digest", &got, &e), E_MISSING);
}

static off_t length(void)
{
	struct stat st;

	assert_int_equal(fstatat(dir.fd, SHOWN_FILE, &st, 0), 0);
	return st.st_size;
}

/* One byte of the document: it is told, and never shown. */
static void test_what_was_changed_is_told(void **state)
{
	(void)state;
	const char *sha256 = kept(made(object("{\"command\":\"ls\"}")), "s");
	struct json *got = NULL;
	struct err e = { 0 };
	AUTO(close_fd) int fd = openat(dir.fd, SHOWN_FILE, O_RDWR);
	char text[4096] = "";

	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	char *at = strstr(text, "\"ls\"");
	assert_non_null(at);
	assert_int_equal(pwrite(fd, "m", 1, at + 1 - text), 1);
	assert_int_equal(shown_read(sys_real(), &a, dir.fd, sha256, &got, &e), E_CORRUPT);
	assert_string_equal(e.code, "SHOWN_CHANGED");
	assert_null(got);
	/* Kept once more, the true line counts. */
	(void)kept(made(object("{\"command\":\"ls\"}")), "s");
	assert_int_equal(shown_read(sys_real(), &a, dir.fd, sha256, &got, &e), OK);
}

/* Cut at every place: it is there, or it is not kept, or it is told; and the next line can be read. */
static void test_what_was_cut_is_tolerated(void **state)
{
	(void)state;
	struct json *doc = made(object("{\"command\":\"ls\"}")), *got;
	const char *sha256 = kept(doc, "s");
	off_t whole = length();

	for (off_t n = whole - 1; n >= 0; n--) {
		struct err e = { 0 };
		AUTO(close_fd) int fd = openat(dir.fd, SHOWN_FILE, O_RDWR);
		assert_int_equal(ftruncate(fd, n), 0);
		int rc = shown_read(sys_real(), &a, dir.fd, sha256, &got, &e);
		assert_true(rc == E_MISSING || rc == E_CORRUPT || (rc == OK && n == whole - 1));
	}
	struct json *next = made(object("{\"command\":\"next\"}"));
	struct err e = { 0 };
	assert_int_equal(shown_read(sys_real(), &a, dir.fd, kept(next, "s"), &got, &e), OK);
}

/* A text of the agent that spells a line is none: the quotes in it are escaped. */
static void test_no_text_passes_for_a_line(void **state)
{
	(void)state;
	struct json *good = made(object("{\"command\":\"ls\"}")), *got = NULL;
	const char *sha256 = json_sha256(&a, good);
	struct json *arguments = json_new(&a, JSON_OBJECT), *inner = json_new(&a, JSON_OBJECT);
	struct err e = { 0 };

	json_sets(&a, arguments, "text", arena_printf(&a, "\"sha256\":\"%s\"", sha256));
	json_sets(&a, inner, "sha256", sha256);
	json_set(&a, arguments, "inner", inner);
	(void)kept(made(arguments), "s");
	assert_int_equal(shown_read(sys_real(), &a, dir.fd, sha256, &got, &e), E_MISSING);
}

static size_t files(void)
{
	struct shown_usage u = { 0 };
	struct err e = { 0 };

	assert_int_equal(shown_usage(sys_real(), &a, dir.fd, &u, &e), OK);
	return u.files;
}

static void set_age(const char *name, int days)
{
	struct timespec t[2];

	clock_gettime(CLOCK_REALTIME, &t[0]);
	t[0].tv_sec -= (time_t)days * 86400;
	t[1] = t[0];
	assert_int_equal(utimensat(dir.fd, name, t, 0), 0);
}

/* A new week begins a new file, and what is older than the limit goes with it. */
static void test_old_files_go(void **state)
{
	(void)state;
	const char *old = kept(made(object("{\"command\":\"old\"}")), "s"), *middle, *now;
	struct json *got;
	struct err e = { 0 };

	set_age(SHOWN_FILE, SHOWN_MOST_DAYS + 2);
	middle = kept(made(object("{\"command\":\"middle\"}")), "s");
	assert_int_equal(files(), 1); /* the file was put aside, and is too old */
	set_age(SHOWN_FILE, 8);
	now = kept(made(object("{\"command\":\"now\"}")), "s");
	assert_int_equal(files(), 2);
	assert_int_equal(shown_read(sys_real(), &a, dir.fd, old, &got, &e), E_MISSING);
	assert_int_equal(shown_read(sys_real(), &a, dir.fd, middle, &got, &e), OK);
	assert_int_equal(shown_read(sys_real(), &a, dir.fd, now, &got, &e), OK);
}

static void test_too_much_goes(void **state)
{
	(void)state;
	struct shown_usage u;
	struct err e = { 0 };

	(void)kept(made(object("{\"command\":\"x\"}")), "s");
	for (int i = 0; i < 20; i++) {
		AUTO(close_fd)
		int fd = openat(
			dir.fd, arena_printf(&a, SHOWN_DIR "/%016d.jsonl", i), O_CREAT | O_WRONLY, 0600);
		assert_int_equal(ftruncate(fd, SHOWN_PIECE_BYTES), 0);
	}
	set_age(SHOWN_FILE, 8);
	(void)kept(made(object("{\"command\":\"y\"}")), "s");
	assert_int_equal(shown_usage(sys_real(), &a, dir.fd, &u, &e), OK);
	assert_true(u.bytes <= SHOWN_MOST_BYTES);
	assert_true(u.bytes > SHOWN_MOST_BYTES / 2);
}

/* ---- what a file tool changes ---- */

static const char *diff_of(const char *before, const char *input, const char **note)
{
	if (before) {
		AUTO(close_fd) int fd = openat(dir.fd, "f", O_CREAT | O_TRUNC | O_WRONLY, 0600);
		assert_int_equal(write(fd, before, strlen(before)), strlen(before));
	}
	struct json *doc = object(input);
	json_sets(&a, doc, "file_path", arena_printf(&a, "%s/f", dir.path));
	return edit_diff(sys_real(), &a, json_get_text(doc, "tool", "Edit"), doc, "/", note);
}

static void test_the_diff_of_a_new_file(void **state)
{
	(void)state;
	const char *note, *diff = diff_of(NULL, "{\"tool\":\"Write\",\"content\":\"one\\ntwo\\n\"}", &note);

	assert_non_null(strstr(diff, "--- /dev/null\n"));
	assert_non_null(strstr(diff, "+one\n+two\n"));
	assert_null(note);
}

static void test_the_diff_of_an_edit(void **state)
{
	(void)state;
	const char *note, *diff = diff_of("a\nb\nc\n", "{\"old_string\":\"b\",\"new_string\":\"B\"}", &note);

	assert_non_null(strstr(diff, "-b\n+B\n"));
	diff = diff_of("b\nb\n", "{\"old_string\":\"b\",\"new_string\":\"B\",\"replace_all\":true}", &note);
	assert_non_null(strstr(diff, "+B\n+B\n"));
	diff = diff_of("a\nb\n",
		"{\"tool\":\"MultiEdit\",\"edits\":[{\"old_string\":\"a\",\"new_string\":\"x\"},"
		"{\"old_string\":\"x\",\"new_string\":\"y\"}]}",
		&note);
	assert_non_null(strstr(diff, "-a\n+y\n"));
}

static void test_the_diff_of_a_cell(void **state)
{
	(void)state;
	const char *note,
		*diff = diff_of("{\"cells\":[{\"id\":\"c1\",\"source\":[\"x = 1\\n\",\"y = 2\"]}]}",
			"{\"tool\":\"NotebookEdit\",\"cell_id\":\"c1\",\"new_source\":\"x = 1\\ny = 3\"}",
			&note);

	assert_null(note);
	assert_non_null(strstr(diff, "-y = 2"));
	assert_non_null(strstr(diff, "+y = 3"));
}

static void test_no_diff_says_why(void **state)
{
	(void)state;
	const char *note;

	assert_null(diff_of("a\n", "{\"old_string\":\"zzz\",\"new_string\":\"B\"}", &note));
	assert_non_null(strstr(note, "does not stand in the file now"));
	unlinkat(dir.fd, "f", 0);
	assert_int_equal(mkfifoat(dir.fd, "f", 0600), 0);
	assert_null(diff_of(NULL, "{\"tool\":\"Write\",\"content\":\"x\"}", &note));
	assert_non_null(strstr(note, "cannot be compared"));
}

/* Who hides lines in what looks like a key does not hide that there are some. */
static void test_hidden_lines_are_counted(void **state)
{
	(void)state;
	const char *note;

	(void)diff_of("x\n",
		"{\"tool\":\"Write\",\"content\":\"# -----BEGIN X-----\\ncurl | sh\\n# -----END X-----\\n\"}",
		&note);
	assert_non_null(note);
	assert_non_null(strstr(note, "not shown"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_secrets_are_not_in_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_secret_at_the_cut_is_not_in_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_half_of_a_secret_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_it_has_a_limit_and_says_what_is_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers_and_bytes_have_one_form, setup, teardown),
		cmocka_unit_test_setup_teardown(test_it_is_found_by_its_digest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_gone_is_not_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_was_changed_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_was_cut_is_tolerated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_text_passes_for_a_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_files_go, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_much_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_diff_of_a_new_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_diff_of_an_edit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_diff_of_a_cell, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_diff_says_why, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hidden_lines_are_counted, setup, teardown),
	};

	return cmocka_run_group_tests_name("shown", tests, NULL, NULL);
}

/* record_damage_test.c — a record that was changed behind our back: the next append refuses, says what it found, and leaves every
 * byte as it is. */
#include "base/file.h"
#include "base/text.h"
#include "record/record.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct scratch t;
static struct arena a;
static struct key *key;
static struct recorder r;
static struct err e;

static int append_to(struct recorder *to, const char *id)
{
	struct draft d = { .decision_id = id,
		.effect_id = "EXECUTE_COMMAND",
		.status = "ALLOW",
		.verdict = "ALLOW",
		.type = "decision" };

	e = (struct err){ 0 };
	return recorder_append(to, &a, &d, 1, NULL, &e);
}

static void append_some(int n, const char *prefix)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(append_to(&r, arena_printf(&a, "%s-%d", prefix, i)), OK);
}

static int setup(void **state)
{
	(void)state;
	scratch_open(&t);
	assert_int_equal(key_create(sys_real(), t.fd, "keys", "root", &key, &e), OK);
	recorder_open(&r, sys_real(), t.fd, key);
	append_some(5, "dec");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	recorder_close(&r);
	key_free(&key);
	scratch_done(&t);
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

static char *kept(const char *name)
{
	const char *text = scratch_get(&t, name);

	assert_non_null(text);
	return arena_strdup(&a, text);
}

/* Line i of the text, from 0, with its newline. */
static char *line_of(const char *text, int i)
{
	for (; i > 0; i--)
		text = strchr(text, '\n') + 1;
	return arena_strndup(&a, text, (size_t)(strchr(text, '\n') - text) + 1);
}

static void forget_what_was_seen(void)
{
	recorder_close(&r);
	(void)unlinkat(t.fd, "log/edge", 0);
	recorder_open(&r, sys_real(), t.fd, key);
}

static void refused(const char *why)
{
	char *before = scratch_has(&t, "receipts.jsonl") ? kept("receipts.jsonl") : NULL;

	forget_what_was_seen();
	assert_true(append_to(&r, "dec-x") < 0);
	assert_string_equal(e.code, "LOG_DAMAGED");
	if (!strstr(e.text, why))
		fail_msg("expected '%s', found '%s'", why, e.text);
	assert_string_equal(kept("receipts.jsonl"), before);
}

static void lines_that_were_moved_are_found(void **state)
{
	char *text = kept("receipts.jsonl"), *l[5];

	(void)state;
	for (int i = 0; i < 5; i++)
		l[i] = line_of(text, i);
	scratch_put(
		&t, "receipts.jsonl", arena_printf(&a, "%s%s%s%s%s%s", l[0], l[1], l[1], l[2], l[3], l[4]));
	refused("line 3 has clock 2 where 3 follows");
	scratch_put(&t, "receipts.jsonl", arena_printf(&a, "%s%s%s%s", l[0], l[2], l[3], l[4]));
	refused("line 2 has clock 3 where 2 follows");
	scratch_put(&t, "receipts.jsonl", arena_printf(&a, "%s%s%s%s%s", l[0], l[2], l[1], l[3], l[4]));
	refused("line 2 has clock 3 where 2 follows");
	scratch_put(&t, "receipts.jsonl", arena_printf(&a, "%s%s%s%s", l[1], l[2], l[3], l[4]));
	refused("line 1 has clock 2 where 1 follows");
	scratch_put(&t, "receipts.jsonl", text);
	forget_what_was_seen();
	assert_int_equal(append_to(&r, "dec-y"), OK);
}

static void lines_that_are_none_are_found(void **state)
{
	static const char *const lines[] = { "not a receipt\n", "{}\n", "[]\n", "\n",
		"{\"lamport_clock\":3}\n" };
	char *text = kept("receipts.jsonl");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		scratch_put(&t, "receipts.jsonl",
			arena_printf(&a, "%s%s%s%s%s", line_of(text, 0), line_of(text, 1), lines[i],
				line_of(text, 3), line_of(text, 4)));
		refused("line 3 is no receipt");
	}
}

/* The hash before it fits, the clock fits; only the chain is another. */
static void a_receipt_of_another_chain_is_found(void **state)
{
	char *text = kept("receipts.jsonl"), *last = line_of(text, 4),
	     *id = strstr(last, "\"session_id\":\"");

	(void)state;
	assert_non_null(id);
	id += strlen("\"session_id\":\"");
	id[0] = id[0] == 'x' ? 'y' : 'x';
	scratch_put(&t, "receipts.jsonl",
		arena_printf(&a, "%s%s%s%s%s", line_of(text, 0), line_of(text, 1), line_of(text, 2),
			line_of(text, 3), last));
	refused("line 5 belongs to another chain");
}

/* Another history by the same key, sound in itself: the signed head does not fit it. */
static void a_whole_other_history_is_found(void **state)
{
	struct recorder other;
	int fd;

	(void)state;
	assert_int_equal(log_sign_head(&r, &a, NULL, &e), OK);
	assert_int_equal(mkdirat(t.fd, "other", 0700), 0);
	fd = openat(t.fd, "other", O_RDONLY | O_DIRECTORY);
	recorder_open(&other, sys_real(), fd, key);
	for (int i = 0; i < 7; i++)
		assert_int_equal(append_to(&other, arena_printf(&a, "other-%d", i)), OK);
	recorder_close(&other);
	close(fd);
	scratch_put(&t, "receipts.jsonl", kept("other/receipts.jsonl"));
	refused("these are not the receipts the log knows");
	assert_int_equal(unlinkat(t.fd, "log/leaves", 0), 0);
	refused("the first 5 receipts are not those that were signed");
}

static void an_older_file_that_lost_its_end_is_found(void **state)
{
	(void)state;
	r.rotate_bytes = 3000;
	append_some(5, "more");
	char *text = kept("receipts-000001.jsonl");
	text[strlen(text) - 1] = '\0';
	scratch_put(&t, "receipts-000001.jsonl", text);
	refused("receipts-000001.jsonl ends in the middle of a line");
}

static void heads_that_are_none_are_found(void **state)
{
	static const char *const heads[] = { "x\n", "{}\n", "{\"tree_size\":-1,\"root_hash\":\"00\"}\n",
		"{\"tree_size\":1,\"root_hash\":\"00\"}\n" };

	(void)state;
	assert_int_equal(log_sign_head(&r, &a, NULL, &e), OK);
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		scratch_put(&t, "log/heads.jsonl", heads[i]);
		refused("is no tree head");
	}
}

/* A crash between a line and its newline: the line is whole, so it counts. */
static void a_whole_line_without_its_newline_is_ended(void **state)
{
	char *text = kept("receipts.jsonl");

	(void)state;
	text[strlen(text) - 1] = '\0';
	scratch_put(&t, "receipts.jsonl", text);
	forget_what_was_seen();
	assert_int_equal(append_to(&r, "dec-after"), OK);
	assert_int_equal(r.at.clock, 6);
	assert_true(text_starts(kept("receipts.jsonl"), arena_printf(&a, "%s\n{", text)));
}

/* Half a line is cut only after it was put aside; on a full disk it stays where it is, and nothing is appended. */
static void half_a_line_stays_while_it_cannot_be_kept(void **state)
{
	char *torn = arena_printf(&a, "%s{\"half\":", kept("receipts.jsonl"));

	(void)state;
	for (unsigned at = 1; at <= 6; at++) {
		struct fault f;
		struct recorder full;
		fault_init(&f);
		f.fail_at = at;
		f.fail_errno = ENOSPC;
		f.fail_stays = true;
		scratch_put(&t, "receipts.jsonl", torn);
		(void)unlinkat(t.fd, "log/edge", 0);
		recorder_open(&full, &f.sys, t.fd, key);
		assert_true(append_to(&full, "dec-x") < 0);
		assert_int_equal(e.sys, ENOSPC);
		recorder_close(&full);
		char *now = kept("receipts.jsonl");
		if (!text_eq(now, torn) && !strstr(kept("receipts.jsonl.torn"), "{\"half\":"))
			fail_msg("at %u: the torn end is gone", at);
	}
	forget_what_was_seen();
	assert_int_equal(append_to(&r, "dec-after"), OK);
	assert_null(strstr(kept("receipts.jsonl"), "half"));
	assert_non_null(strstr(kept("receipts.jsonl.torn"), "{\"half\":"));
}

static void what_is_no_file_is_not_a_record(void **state)
{
	struct hash *leaves = NULL;
	uint64_t n = 9;

	(void)state;
	assert_int_equal(unlinkat(t.fd, "log/leaves", 0), 0);
	assert_int_equal(mkdirat(t.fd, "log/leaves", 0700), 0);
	errno = ENOENT; /* from something before: it must not be taken for "there is none" */
	assert_int_equal(log_leaves(sys_real(), &a, t.fd, &leaves, &n, &e), E_CORRUPT);
	assert_null(leaves);
	assert_int_equal(n, 9);
	assert_int_equal(unlinkat(t.fd, "receipts.jsonl", 0), 0);
	assert_int_equal(mkfifoat(t.fd, "receipts.jsonl", 0600), 0);
	forget_what_was_seen();
	assert_true(append_to(&r, "dec-x") < 0);
	assert_string_equal(e.code, "LOG_OPEN");
}

static void leaves_that_are_none_are_named(void **state)
{
	struct hash *leaves = NULL;
	uint64_t n;
	char *text = kept("log/leaves");

	(void)state;
	text[2 * 65 + 3] = 'g';
	scratch_put(&t, "log/leaves", text);
	assert_int_equal(log_leaves(sys_real(), &a, t.fd, &leaves, &n, &e), E_CORRUPT);
	assert_string_equal(e.text, "corrupt leaves journal at line 3");
	assert_null(leaves);
	/* they follow from the receipts, so the next append mends them */
	forget_what_was_seen();
	assert_int_equal(append_to(&r, "dec-after"), OK);
	assert_int_equal(log_leaves(sys_real(), &a, t.fd, &leaves, &n, &e), OK);
	assert_int_equal(n, 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_that_were_moved_are_found, setup, teardown),
		cmocka_unit_test_setup_teardown(lines_that_are_none_are_found, setup, teardown),
		cmocka_unit_test_setup_teardown(a_receipt_of_another_chain_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(a_whole_other_history_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(an_older_file_that_lost_its_end_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(heads_that_are_none_are_found, setup, teardown),
		cmocka_unit_test_setup_teardown(a_whole_line_without_its_newline_is_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(half_a_line_stays_while_it_cannot_be_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_file_is_not_a_record, setup, teardown),
		cmocka_unit_test_setup_teardown(leaves_that_are_none_are_named, setup, teardown),
	};
	return cmocka_run_group_tests_name("record damage", tests, NULL, NULL);
}

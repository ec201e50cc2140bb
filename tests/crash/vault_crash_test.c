/* vault_crash_test.c — tokens that were handed out can be turned back, whatever call fails or is the last one.
 *
 * A vault in the clear, as the Python Helm leaves it, gets one more value: every token that somebody has got, before or now, opens
 * afterwards, and no file that is half of anything is left in its place. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/vault.h"
#include "tools/crash.h"
#include "tools/unit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char old_vault[] =
	"{\"version\":1,\"scopes\":{\"s\":{\"created_at\":\"2026-01-01T00:00:00+00:00\",\"tokens\":{\"<PRIVATE_EMAIL_1>\":\"a@x.io\"},"
	"\"labels\":{\"<PRIVATE_EMAIL_1>\":\"EMAIL\"},\"hashes\":{}},\"t\":{\"tokens\":{\"<PRIVATE_EMAIL_1>\":\"z@x.io\"}}}}";

static struct vault vault_in(struct crash *c, struct sys *s)
{
	return (struct vault){
		.sys = s, .dirfd = c->t.fd, .file = "vault.json", .audit = "audit.jsonl", .keys_dir = "keys"
	};
}

static void setup(struct crash *c)
{
	struct err e = { 0 };

	/* Keys lie by their path: the test's directory is the current one. */
	assert_int_equal(fchdir(c->t.fd), 0);
	assert_int_equal(mkdir("keys", 0700), 0);
	assert_int_equal(file_create(sys_real(), c->t.fd, "vault.json", 0600, bytes_of(old_vault), &e), OK);
}

static int tokenize(
	struct crash *c, struct sys *s, const char *text, struct json **ret, struct arena *a, struct err *e)
{
	const struct privacy_options options = { privacy_default_labels(), false };
	struct vault v = vault_in(c, s);

	return vault_tokenize(a, &v, "s", bytes_of(text), &options, true, ret, e);
}

/* A lock may be lost. */
static void acknowledge(struct crash *c)
{
	struct stat st;

	if (fstatat(c->t.fd, "vault.json.lock", &st, 0) == 0)
		for (size_t i = 0; i < c->f.unsynced_count; i++)
			if (c->f.unsynced[i].ino == st.st_ino && c->f.unsynced[i].dev == st.st_dev)
				c->f.unsynced[i--] = c->f.unsynced[--c->f.unsynced_count];
	crash_ack(c);
}

static int add(struct crash *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *answer;
	int rc = tokenize(c, &c->f.sys, "b@x.io", &answer, &a, e);

	if (rc == OK)
		acknowledge(c);
	return rc;
}

static void check(struct crash *c, const struct crash_end *end)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *answer;
	struct bytes text;
	struct err e = { 0 };

	/* The old value has its name, and so has the new one, whether it was kept already or is now. */
	if (tokenize(c, sys_real(), "a@x.io b@x.io", &answer, &a, &e))
		fail_msg("%s", e.text);
	assert_string_equal(json_get_text(answer, "text", ""), "<PRIVATE_EMAIL_1> <PRIVATE_EMAIL_2>");
	assert_int_equal(file_read(sys_real(), &a, c->t.fd, "vault.json", 1 << 20, 0, &text, &e), OK);
	assert_null(memmem(text.p, text.n, "x.io", 4)); /* nothing in the clear is left */
	if (end->acks)
		assert_int_equal(
			file_read(sys_real(), &a, c->t.fd, "audit.jsonl", 1 << 20, 0, &text, &e), OK);
}

static void adding(void **state)
{
	const struct crash_case what = { "tokenize", setup, add, check };

	(void)state;
	assert_true(crash_sweep(&what, NULL) > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(adding) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

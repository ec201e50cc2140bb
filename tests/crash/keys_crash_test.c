/* keys_crash_test.c — rotating and revoking keys when every single system call fails or is the last one: there is always a key
 * that loads, it is the one the history says is in force, and the history is unbroken. */
#include "base/file.h"
#include "base/text.h"
#include "record/record.h"
#include "tools/crash.h"
#include "tools/unit.h"
#include "verify/verify.h"

static void setup_key(struct crash *c)
{
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };

	assert_int_equal(keys_create(sys_real(), c->t.fd, "keys", &k, &e), OK);
}

/* The history verifies, and ends in a key.  Returns its number of links. */
static int64_t read_history(struct crash *c, char active[65])
{
	AUTO(arena_done) struct arena a = { 0 };
	struct trust nobody = { 0 };
	struct verification v;
	struct bytes text;
	struct err e = { 0 };

	assert_int_equal(file_read(sys_real(), &a, c->t.fd, "keys/history.jsonl", 1 << 20, 0, &text, &e), OK);
	while (text.n && text.p[text.n - 1] != '\n')
		text.n--; /* a torn link was never acknowledged */
	verification_begin(&v, &a, &nobody, "key history");
	verify_key_history(&v, text, "history");
	if (v.integrity != ANSWER_YES)
		fail_msg("%s", v.text);
	snprintf(active, 65, "%s", json_get_text(v.values, "active", ""));
	return json_get_int(v.values, "links", 0);
}

static void load(struct crash *c, char hex[65])
{
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };

	if (keys_load(sys_real(), c->t.fd, "keys", &k, &e))
		fail_msg("no key: %s", e.text);
	hex_encode(key_public(k), SIGN_PUBLIC, hex);
}

static int act_create(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *k = NULL;
	int rc = keys_create(&c->f.sys, c->t.fd, "keys", &k, e);

	if (rc == OK)
		crash_ack(c);
	return rc;
}

static void check_create(struct crash *c, const struct crash_end *end)
{
	char active[65], hex[65];
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };

	if (!scratch_has(&c->t, "keys/root.key")) {
		assert_int_equal(end->acks, 0);
		assert_int_equal(keys_create(sys_real(), c->t.fd, "keys", &k, &e), OK);
	}
	load(c, hex);
	if (end->acks)
		assert_int_equal(read_history(c, active), 1);
	/* Whatever is missing of the history is made up for by the next change. */
	AUTO(arena_done) struct arena a = { 0 };
	struct json *link;
	assert_int_equal(keys_rotate(sys_real(), &a, c->t.fd, "keys", "", &link, &e), OK);
	assert_int_equal(read_history(c, active), 2);
	load(c, hex);
	assert_string_equal(active, hex);
}

static void create(void **state)
{
	(void)state;
	const struct crash_case what = { "keys create", NULL, act_create, check_create };

	crash_sweep(&what, NULL);
}

static int act_rotate(struct crash *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *link;
	int rc = keys_rotate(&c->f.sys, &a, c->t.fd, "keys", "because", &link, e);

	if (rc == OK)
		crash_ack(c);
	return rc;
}

static void check_rotate(struct crash *c, const struct crash_end *end)
{
	AUTO(arena_done) struct arena a = { 0 };
	char hex[65], active[65];
	struct err e = { 0 };
	struct json *link;

	load(c, hex);
	int64_t links = read_history(c, active);
	assert_string_equal(active, hex);
	assert_true(links >= 1 + (int64_t)end->acks);
	/* And the next rotation works, and leaves one key. */
	assert_int_equal(keys_rotate(sys_real(), &a, c->t.fd, "keys", "again", &link, &e), OK);
	load(c, hex);
	assert_int_equal(read_history(c, active), links + 1);
	assert_string_equal(active, hex);
	assert_false(scratch_has(&c->t, "keys/next.key"));
	assert_true(scratch_has(&c->t, "keys/root.pub"));
	char **names;
	size_t n;
	assert_int_equal(file_list(sys_real(), &a, c->t.fd, "keys", &names, &n, &e), OK);
	for (size_t i = 0; i < n; i++)
		if (text_starts(names[i], ".next."))
			fail_msg("%s is left", names[i]);
}

static void rotate(void **state)
{
	(void)state;
	const struct crash_case what = { "keys rotate", setup_key, act_rotate, check_rotate };

	assert_true(crash_sweep(&what, NULL) >= 15);
}

static void setup_rotated(struct crash *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };
	struct json *link;

	setup_key(c);
	assert_int_equal(keys_rotate(sys_real(), &a, c->t.fd, "keys", "", &link, &e), OK);
}

static int act_revoke(struct crash *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	uint8_t old[SIGN_PUBLIC];
	const char *text = strstr(scratch_get(&c->t, "keys/history.jsonl"), "\"key\":\"");
	struct json *link;

	assert_true(text && hex_decode(text + 7, 64, old, sizeof(old), true));
	int rc = keys_revoke(&c->f.sys, &a, c->t.fd, "keys", old, "stolen", NULL, &link, e);
	if (rc == OK)
		crash_ack(c);
	return rc;
}

static void check_revoke(struct crash *c, const struct crash_end *end)
{
	char hex[65], active[65];

	load(c, hex);
	assert_true(read_history(c, active) >= 2 + (int64_t)end->acks);
	assert_string_equal(active, hex);
}

static void revoke_key(void **state)
{
	(void)state;
	const struct crash_case what = { "keys revoke", setup_rotated, act_revoke, check_revoke };

	assert_true(crash_sweep(&what, NULL) >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create),
		cmocka_unit_test(rotate),
		cmocka_unit_test(revoke_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* key_order_test.c — keys that follow each other in one chain, as `log check` and the verifier see it: by their place, whatever the
 * clocks of records and links say; also in chains that were written before changes of keys stood in them. */
#include "audit/audit.h"
#include "base/file.h"
#include "base/text.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <string.h>

#define DAY INT64_C(86400000000)

struct fixture {
	struct arena a;
	struct scratch dir;
	struct fault f;
	struct key *key;
	struct recorder r;
	const char *keys_dir;
	const char *verified; /* where checks remember how far they came; or NULL */
	struct trust trust;
};

static void begin(struct fixture *f)
{
	struct err e = { 0 };

	*f = (struct fixture){ 0 };
	scratch_open_fast(&f->dir);
	fault_init(&f->f);
	f->f.has_clock = true;
	f->f.clock_us = INT64_C(1767225600000000);
	f->f.step_us = 0;
	f->keys_dir = arena_printf(&f->a, "%s/keys", f->dir.path);
	assert_int_equal(keys_create(&f->f.sys, f->dir.fd, "keys", &f->key, &e), OK);
	recorder_open(&f->r, &f->f.sys, f->dir.fd, f->key);
	f->r.keys_dir = f->keys_dir;
}

static void end(struct fixture *f)
{
	recorder_close(&f->r);
	key_free(&f->key);
	scratch_done(&f->dir);
	arena_done(&f->a);
}

static void append(struct fixture *f)
{
	struct draft d = {
		.decision_id = "dec-x", .effect_id = "EXECUTE_COMMAND", .status = "ALLOW", .verdict = "ALLOW"
	};
	struct err e = { 0 };

	if (recorder_append(&f->r, &f->a, &d, 1, NULL, &e))
		fail_msg("%s", e.text);
}

static void rotate(struct fixture *f)
{
	struct json *link;
	struct err e = { 0 };

	assert_int_equal(keys_rotate(&f->f.sys, &f->a, f->dir.fd, "keys", "", &link, &e), OK);
}

static void head(struct fixture *f)
{
	struct err e = { 0 };

	assert_int_equal(log_sign_head(&f->r, &f->a, NULL, &e), OK);
}

/* As it was before: a writer with the key it was given, and no word about where that came from. */
static void old_writer(struct fixture *f)
{
	struct err e = { 0 };

	recorder_close(&f->r);
	key_free(&f->key);
	assert_int_equal(keys_load(&f->f.sys, f->dir.fd, "keys", &f->key, &e), OK);
	recorder_open(&f->r, &f->f.sys, f->dir.fd, f->key);
}

static void trust_history(struct fixture *f)
{
	char hex[2 * SIGN_PUBLIC + 1];
	AUTO(key_free) struct key *now = NULL;
	struct err e = { 0 };

	f->trust = (struct trust){ .threads = 1 };
	assert_int_equal(keys_load(&f->f.sys, f->dir.fd, "keys", &now, &e), OK);
	hex_encode(key_public(now), SIGN_PUBLIC, hex);
	assert_int_equal(trust_add_key(&f->f.sys, &f->a, hex, &f->trust, &e), OK);
	assert_int_equal(trust_add_history(&f->f.sys, &f->a,
				 arena_printf(&f->a, "%s/" KEY_HISTORY, f->keys_dir), &f->trust, &e),
		OK);
}

static void check(struct fixture *f, struct log_report *report)
{
	struct log_check_options options = { .root_fd = f->dir.fd, .verified = f->verified };
	struct err e = { 0 };

	if (log_check(&f->f.sys, &f->a, f->dir.fd, &f->trust, &options, report, &e))
		fail_msg("%s", e.text);
}

static void must_be_sound(struct fixture *f)
{
	struct log_report report;

	check(f, &report);
	if (!report.is_sound)
		fail_msg("%s", json_get_text(json_at(json_get(report.doc, "findings"), 0), "text", "?"));
}

static size_t seams(struct fixture *f)
{
	const char *text = scratch_get(&f->dir, RECEIPTS);
	size_t n = 0;

	for (; (text = strstr(text, "\"effect_id\":\"" KEY_EFFECT "\"")); text++)
		n++;
	return n;
}

static void clocks_do_not_count(void **state)
{
	(void)state;
	struct fixture f;

	begin(&f);
	append(&f);
	head(&f);
	rotate(&f); /* the same microsecond */
	head(&f);
	append(&f);
	f.f.clock_us -= DAY;
	rotate(&f);
	append(&f);
	head(&f);
	f.f.clock_us += 400 * DAY;
	append(&f);
	rotate(&f);
	f.f.clock_us -= 399 * DAY;
	append(&f);
	append(&f);
	head(&f);
	assert_int_equal(seams(&f), 3);
	trust_history(&f);
	must_be_sound(&f);
	/* And with no more than the first key, from what the chain itself tells. */
	uint8_t first[KEY_SIZE];
	memcpy(first, key_public(f.key), KEY_SIZE);
	struct trusted_key one = { .id = "" };
	memcpy(one.key, first, KEY_SIZE);
	f.trust = (struct trust){ .keys = &one, .key_count = 1, .threads = 1 };
	must_be_sound(&f);
	end(&f);
}

/* Each piece of a long log is verified by itself; the order goes on from one to the next, and from one check to the next. */
static void order_crosses(bool is_warm)
{
	struct fixture f;
	struct log_report report;
	struct err e = { 0 };

	begin(&f);
	f.verified = is_warm ? arena_printf(&f.a, "%s/verified/log.json", f.dir.path) : NULL;
	f.r.rotate_bytes = 1;
	AUTO(key_free) struct key *old = NULL;
	assert_int_equal(keys_load(&f.f.sys, f.dir.fd, "keys", &old, &e), OK);
	append(&f);
	rotate(&f);
	append(&f);
	append(&f);
	trust_history(&f);
	must_be_sound(&f);
	/* Somebody who kept the old key goes on in another file. */
	recorder_close(&f.r);
	recorder_open(&f.r, &f.f.sys, f.dir.fd, old);
	f.r.rotate_bytes = 1;
	append(&f);
	check(&f, &report);
	assert_false(report.is_sound);
	assert_false(report.is_damaged);
	assert_string_equal(
		json_get_text(json_at(json_get(report.doc, "findings"), 0), "what", ""), "key_order");
	end(&f);
}

static void order_crosses_files(void **state)
{
	(void)state;
	order_crosses(false);
}

static void order_crosses_checks(void **state)
{
	(void)state;
	order_crosses(true);
}

static void old_chains_stay_good(void **state)
{
	(void)state;
	struct fixture f;

	begin(&f);
	old_writer(&f);
	append(&f);
	append(&f);
	head(&f);
	rotate(&f);
	old_writer(&f);
	append(&f);
	head(&f);
	assert_int_equal(seams(&f), 0);
	trust_history(&f);
	must_be_sound(&f);
	/* The next rotation is met by a writer of today. */
	f.r.keys_dir = f.keys_dir;
	rotate(&f);
	append(&f);
	assert_int_equal(seams(&f), 1);
	trust_history(&f);
	must_be_sound(&f);
	end(&f);
}

/* A head is signed when the log has its size, or later: never by a key that was gone by then. */
static void heads_have_their_place(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;
	struct err e = { 0 };

	begin(&f);
	AUTO(key_free) struct key *old = NULL;
	assert_int_equal(keys_load(&f.f.sys, f.dir.fd, "keys", &old, &e), OK);
	append(&f);
	rotate(&f);
	append(&f);
	trust_history(&f);
	must_be_sound(&f);
	recorder_close(&f.r);
	recorder_open(&f.r, &f.f.sys, f.dir.fd, old);
	head(&f);
	check(&f, &report);
	assert_false(report.is_sound);
	assert_string_equal(
		json_get_text(json_at(json_get(report.doc, "findings"), 0), "what", ""), "key_order");
	end(&f);
}

/* A repair has loaded its key, and plans beside writers; one of them rotates. */
static void a_repair_signs_with_the_key_in_force(void **state)
{
	(void)state;
	struct fixture f;
	struct recorder late;
	struct log_repaired done;
	struct err e = { 0 };

	begin(&f);
	AUTO(key_free) struct key *old = NULL;
	assert_int_equal(keys_load(&f.f.sys, f.dir.fd, "keys", &old, &e), OK);
	append(&f);
	rotate(&f);
	append(&f);
	head(&f);
	recorder_close(&f.r);
	trust_history(&f);
	must_be_sound(&f);
	scratch_put(&f.dir, RECEIPTS, arena_printf(&f.a, "%sno receipt\n", scratch_get(&f.dir, RECEIPTS)));
	recorder_open(&late, &f.f.sys, f.dir.fd, old);
	late.keys_dir = f.keys_dir;
	struct log_check_options options = { .root_fd = f.dir.fd };
	assert_int_equal(audit_repair(&late, &f.a, &f.trust, &options, true, &done, &e), OK);
	recorder_close(&late);
	must_be_sound(&f);
	end(&f);
}

/* A person names a time, or none: then the place of the revocation counts, and no clock. */
static void revoked_by_place_or_time(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;
	uint8_t first[KEY_SIZE];
	struct json *link;
	struct err e = { 0 };

	begin(&f);
	memcpy(first, key_public(f.key), KEY_SIZE);
	append(&f);
	rotate(&f);
	append(&f);
	f.f.clock_us -= 30 * DAY;
	assert_int_equal(keys_revoke(&f.f.sys, &f.a, f.dir.fd, "keys", first, "", NULL, &link, &e), OK);
	trust_history(&f);
	must_be_sound(&f);
	assert_int_equal(
		keys_revoke(&f.f.sys, &f.a, f.dir.fd, "keys", first, "", "2020-01-01T00:00:00Z", &link, &e),
		OK);
	trust_history(&f);
	check(&f, &report);
	assert_false(report.is_sound);
	assert_false(report.is_damaged);
	end(&f);
}

/* A pack is empty when nothing was chosen, however often keys were changed and into however few files the receipts go. */
static void many_keys_are_no_empty_pack(void **state)
{
	(void)state;
	struct evidence_choice lines = { .singles = 1 },
			       none = { .singles = 1, .has_until = true, .until_us = 0 };
	struct fixture f;
	struct err e = { 0 };

	begin(&f);
	for (int i = 0; i < 12; i++) {
		append(&f);
		rotate(&f);
	}
	append(&f);
	{
		AUTO(evidence_close) struct evidence x;
		if (evidence_collect(&f.f.sys, &f.a, f.dir.fd, &lines, &x, &e))
			fail_msg("%s", e.text);
		assert_int_equal(x.receipts, 13 + 12);
		assert_true(x.n < 12);
	}
	{
		AUTO(evidence_close) struct evidence x;
		assert_int_equal(evidence_collect(&f.f.sys, &f.a, f.dir.fd, &none, &x, &e), E_MISSING);
		assert_string_equal(e.code, "PACK_EMPTY");
	}
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_do_not_count),
		cmocka_unit_test(order_crosses_files),
		cmocka_unit_test(order_crosses_checks),
		cmocka_unit_test(old_chains_stay_good),
		cmocka_unit_test(heads_have_their_place),
		cmocka_unit_test(a_repair_signs_with_the_key_in_force),
		cmocka_unit_test(revoked_by_place_or_time),
		cmocka_unit_test(many_keys_are_no_empty_pack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* key_back_test.c — a key that another one has followed signs nothing more: the verifier names it, and trusts nothing of it. */
#include "base/text.h"
#include "record/parts.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"
#include "verify/verify.h"

#include <string.h>

enum { KEYS = 2, LENGTH = 3 };

static struct arena a;
static struct scratch dir;
static struct fault f;
static struct key *keys[KEYS];
static struct trusted_key trusted[KEYS];
static const struct trust trust = { .keys = trusted, .key_count = KEYS };

static int setup(void **state)
{
	static const char *const names[] = { "first", "second" };
	struct err e = { 0 };

	(void)state;
	scratch_open_fast(&dir);
	fault_init(&f);
	f.has_clock = true;
	f.clock_us = INT64_C(1767225600000000);
	for (size_t i = 0; i < KEYS; i++) {
		assert_int_equal(keys_create(&f.sys, dir.fd, names[i], &keys[i], &e), OK);
		trusted[i] = (struct trusted_key){ .id = "", .order = (unsigned)i + 1 };
		memcpy(trusted[i].key, key_public(keys[i]), sizeof(trusted[i].key));
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < KEYS; i++)
		key_free(&keys[i]);
	scratch_done(&dir);
	arena_done(&a);
	return 0;
}

/* A chain that is whole, signed by these keys in turn. */
static struct verification judged(const size_t by[LENGTH])
{
	struct draft d = {
		.decision_id = "dec-x", .effect_id = "EXECUTE_COMMAND", .status = "ALLOW", .verdict = "ALLOW"
	};
	struct chain_end at = { .chain_id = "ws-1" };
	struct verification v = { 0 };
	struct err e = { 0 };
	struct buf text;

	buf_init(&text, &a);
	for (size_t i = 0; i < LENGTH; i++) {
		AUTO(recorder_close) struct recorder r;
		struct json *receipt;
		struct hash chain;
		recorder_open(&r, &f.sys, dir.fd, keys[by[i]]);
		assert_int_equal(draft_sign(&r, &at, &a, &d, &receipt, &chain, &e), OK);
		json_canonical(&text, receipt);
		buf_addc(&text, '\n');
		at.clock++;
		at.last = chain;
	}
	verification_begin(&v, &a, &trust, "receipt chain");
	verify_receipt_lines(&v, buf_bytes(&text), "receipts.jsonl");
	return v;
}

static void keys_that_go_on(void **state)
{
	static const size_t good[][LENGTH] = { { 0, 0, 0 }, { 0, 0, 1 }, { 0, 1, 1 }, { 1, 1, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct verification v = judged(good[i]);
		assert_null(v.error);
		assert_int_equal(v.integrity, ANSWER_YES);
		assert_int_equal(v.trusted, ANSWER_YES);
	}
}

static void keys_that_go_back(void **state)
{
	static const size_t bad[][LENGTH] = { { 1, 0, 0 }, { 0, 1, 0 }, { 1, 0, 1 }, { 1, 1, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct verification v = judged(bad[i]);
		assert_int_equal(v.trusted, ANSWER_NO);
		assert_non_null(v.error);
		assert_string_equal(v.error, "key_order");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_that_go_on),
		cmocka_unit_test(keys_that_go_back),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

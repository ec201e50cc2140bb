/* fleet_batch_test.c — what a ledger takes of a batch: every receipt in its place, signed by a key that is not older than the one before.
 *
 * Receipts here are whole and signed by keys of the machine; only their place, their link or the order of the keys is wrong. */
#include "base/text.h"
#include "base/zst.h"
#include "kernel/fleet/fleet.h"
#include "record/record.h"
#include "serve/fleet/parts.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <string.h>

/* record/parts.h has it; that header and the one of the fleet both have a `struct batch`. */
int draft_sign(struct recorder *r, const struct chain_end *at, struct arena *a, const struct draft *d,
	struct json **ret, struct hash *ret_chain, struct err *e);

enum { KEYS = 2, LENGTH = 4 };

static struct arena a;
static struct scratch dir;
static struct fault f;
static struct key *keys[KEYS];
static struct trusted_key trusted[KEYS];
static struct trust trust = { .keys = trusted, .key_count = KEYS };

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

struct one {
	size_t key;
	uint64_t clock;
	const char *session, *decision;
	struct hash before;
};
static const char session[] = "ws-1";

/* The line of a signed receipt, and its chain hash. */
static const char *line_of(const struct one *x, struct hash *ret)
{
	AUTO(recorder_close) struct recorder r;
	struct chain_end at = { .clock = x->clock - 1, .last = x->before };
	struct draft d = { .decision_id = x->decision,
		.effect_id = "EXECUTE_COMMAND",
		.status = "ALLOW",
		.verdict = "ALLOW" };
	struct json *receipt;
	struct err e = { 0 };
	struct buf text;

	recorder_open(&r, &f.sys, dir.fd, keys[x->key]);
	snprintf(at.chain_id, sizeof(at.chain_id), "%s", x->session ? x->session : session);
	assert_int_equal(draft_sign(&r, &at, &a, &d, &receipt, ret, &e), OK);
	buf_init(&text, &a);
	json_canonical(&text, receipt);
	return text.p;
}

/* A chain with these keys; hashes[i] is of receipt i. */
static void chain_of(
	const size_t *by, size_t n, const char *decision, const char **lines, struct hash *hashes)
{
	struct hash before = { 0 };

	for (size_t i = 0; i < n; i++) {
		lines[i] = line_of(
			&(struct one){ .key = by[i], .clock = i + 1, .decision = decision, .before = before },
			&hashes[i]);
		before = hashes[i];
	}
}

static struct bytes packed(const char *const *lines, size_t n, int64_t first, const char *before)
{
	struct zst z = { 0 };
	struct err e = { 0 };
	struct buf text;
	size_t size;

	buf_init(&text, &a);
	buf_addf(&text,
		"{\"count\":%zu,\"first\":%lld,\"prev_hash\":\"%s\",\"session_id\":\"%s\",\"version\":\"%s\"}\n",
		n, (long long)first, before, session, FLEET_BATCH_V1);
	for (size_t i = 0; i < n; i++)
		buf_addf(&text, "%s\n", lines[i]);
	void *to = arena_alloc(&a, zst_bound(text.n));
	assert_int_equal(zst_pack(&z, buf_bytes(&text), 1, to, zst_bound(text.n), &size, &e), OK);
	zst_done(&z);
	return (struct bytes){ to, size };
}

/* What the ledger says of lines from `first` on, behind a chain whose newest key has this order: "" when it takes them. */
static const char *says(const char *const *lines, size_t n, int64_t first, const struct hash *before,
	int64_t order, size_t *bad)
{
	char hex[SHA256_HEX] = "";
	struct chain_row at = { .head = first - 1, .key_order = order };
	struct err e = { 0 };
	struct batch b = { 0 };

	if (first > 1)
		hex_encode(before->b, SHA256_SIZE, hex);
	*bad = SIZE_MAX;
	if (batch_read(&a, packed(lines, n, first, hex), session, &b, &e) == OK &&
		batch_verify(&a, &b, 0, &at, &trust, bad, &e) == OK)
		return "";
	return arena_strdup(&a, e.text);
}

static void whole_chains_are_taken(void **state)
{
	static const size_t by[LENGTH] = { 0, 0, 1, 1 };
	const char *lines[LENGTH];
	struct hash hashes[LENGTH];
	size_t bad;

	(void)state;
	chain_of(by, LENGTH, "dec-a", lines, hashes);
	assert_string_equal(says(lines, LENGTH, 1, NULL, 0, &bad), "");
	assert_string_equal(says(lines + 2, 2, 3, &hashes[1], 1, &bad), "");
	assert_string_equal(says(lines + 3, 1, 4, &hashes[2], 2, &bad), "");
}

/* The machine has signed both; the second does not continue the first. */
static void a_receipt_continues_the_one_before(void **state)
{
	static const size_t by[LENGTH] = { 0, 0, 0, 0 };
	const char *ours[LENGTH], *theirs[LENGTH], *mixed[LENGTH];
	struct hash hashes[LENGTH], others[LENGTH];
	size_t bad;

	(void)state;
	chain_of(by, LENGTH, "dec-a", ours, hashes);
	chain_of(by, LENGTH, "dec-b", theirs, others);
	for (size_t cut = 1; cut < LENGTH; cut++) {
		for (size_t i = 0; i < LENGTH; i++)
			mixed[i] = i < cut ? ours[i] : theirs[i];
		assert_string_equal(says(mixed, LENGTH, 1, NULL, 0, &bad),
			"its prev_hash is not the hash of the receipt before it");
		assert_int_equal(bad, cut);
		/* The same at the edge of a batch: the header says what stands before, and the first receipt says something else. */
		assert_string_equal(
			says(theirs + cut, LENGTH - cut, (int64_t)cut + 1, &hashes[cut - 1], 1, &bad),
			"its prev_hash is not the hash of the receipt before it");
		assert_int_equal(bad, 0);
	}
	/* The first of a chain has nothing before it. */
	ours[0] = line_of(&(struct one){ .clock = 2, .decision = "dec-a", .before = others[0] }, &hashes[0]);
	assert_string_equal(says(ours, 1, 1, NULL, 0, &bad), "its clock is not 1");
}

static void a_key_that_was_followed_signs_nothing_more(void **state)
{
	static const size_t back[LENGTH] = { 0, 1, 0, 1 };
	const char *lines[LENGTH];
	struct hash hashes[LENGTH];
	size_t bad;

	(void)state;
	chain_of(back, LENGTH, "dec-a", lines, hashes);
	assert_string_equal(says(lines, LENGTH, 1, NULL, 0, &bad),
		"it is signed by an older key than a receipt before it");
	assert_int_equal(bad, 2);
	/* What the ledger has already counts as much as what comes with it. */
	assert_string_equal(says(lines + 2, 1, 3, &hashes[1], 2, &bad),
		"it is signed by an older key than a receipt before it");
	assert_int_equal(bad, 0);
	assert_string_equal(says(lines + 2, 1, 3, &hashes[1], 1, &bad), "");
}

static void each_receipt_is_of_this_chain_and_clock(void **state)
{
	const char *line;
	struct hash first, second;
	size_t bad;

	(void)state;
	line = line_of(&(struct one){ .clock = 1, .decision = "dec-a", .session = "ws-2" }, &first);
	assert_string_equal(says(&line, 1, 1, NULL, 0, &bad), "it is of another chain");
	line = line_of(&(struct one){ .clock = 1, .decision = "dec-a" }, &first);
	line = line_of(&(struct one){ .clock = 3, .decision = "dec-a", .before = first }, &second);
	assert_string_equal(says(&line, 1, 2, &first, 1, &bad), "its clock is not 2");
}

static void only_keys_of_the_machine_sign(void **state)
{
	const char *line;
	struct hash hash;
	size_t bad;

	(void)state;
	line = line_of(&(struct one){ .key = 1, .clock = 1, .decision = "dec-a" }, &hash);
	trust.key_count = 1;
	assert_string_not_equal(says(&line, 1, 1, NULL, 0, &bad), "");
	assert_int_equal(bad, 0);
	trust.key_count = KEYS;
	assert_string_equal(says(&line, 1, 1, NULL, 0, &bad), "");
}

static void a_header_says_what_stands_before(void **state)
{
	static const size_t by[2] = { 0, 0 };
	const char *lines[2];
	struct hash hashes[2];
	struct err e = { 0 };
	struct batch b = { 0 };

	(void)state;
	chain_of(by, 2, "dec-a", lines, hashes);
	char hex[SHA256_HEX];
	hex_encode(hashes[0].b, SHA256_SIZE, hex);
	assert_int_equal(batch_read(&a, packed(lines + 1, 1, 2, hex), session, &b, &e), OK);
	assert_int_equal(batch_read(&a, packed(lines + 1, 1, 2, ""), session, &b, &e), E_INPUT);
	assert_int_equal(batch_read(&a, packed(lines, 1, 1, hex), session, &b, &e), E_INPUT);
	assert_int_equal(batch_read(&a, packed(lines, 1, 0, ""), session, &b, &e), E_INPUT);
	assert_int_equal(batch_read(&a, packed(lines, 2, 1, ""), "ws-2", &b, &e), E_INPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_chains_are_taken),
		cmocka_unit_test(a_receipt_continues_the_one_before),
		cmocka_unit_test(a_key_that_was_followed_signs_nothing_more),
		cmocka_unit_test(each_receipt_is_of_this_chain_and_clock),
		cmocka_unit_test(only_keys_of_the_machine_sign),
		cmocka_unit_test(a_header_says_what_stands_before),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

/* history_test.c — key histories: who vouches for whom and when, and that no byte of it can be changed unnoticed. */
#include "base/file.h"
#include "base/text.h"
#include "record/record.h"
#include "tools/scratch.h"
#include "tools/unit.h"
#include "verify/verify.h"

#include <string.h>

struct fixture {
	struct arena a;
	struct scratch dir;
	uint8_t first[KEY_SIZE], second[KEY_SIZE], third[KEY_SIZE];
	struct bytes text;
	char *path;
};

static void load_public(struct fixture *f, uint8_t ret[KEY_SIZE])
{
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };

	assert_int_equal(keys_load(sys_real(), f->dir.fd, "keys", &k, &e), OK);
	memcpy(ret, key_public(k), KEY_SIZE);
}

/* Three keys in a row; the first is revoked from 2020 on. */
static void begin(struct fixture *f)
{
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };
	struct json *link;

	*f = (struct fixture){ 0 };
	scratch_open(&f->dir);
	assert_int_equal(keys_create(sys_real(), f->dir.fd, "keys", &k, &e), OK);
	memcpy(f->first, key_public(k), KEY_SIZE);
	assert_int_equal(keys_rotate(sys_real(), &f->a, f->dir.fd, "keys", "one", &link, &e), OK);
	load_public(f, f->second);
	assert_int_equal(keys_rotate(sys_real(), &f->a, f->dir.fd, "keys", "two", &link, &e), OK);
	load_public(f, f->third);
	assert_int_equal(keys_revoke(sys_real(), &f->a, f->dir.fd, "keys", f->first, "stolen",
				 "2020-01-01T00:00:00Z", &link, &e),
		OK);
	assert_int_equal(
		file_read(sys_real(), &f->a, f->dir.fd, "keys/history.jsonl", 1 << 20, 0, &f->text, &e), OK);
	f->path = arena_printf(&f->a, "%s/keys/history.jsonl", f->dir.path);
}

static void end(struct fixture *f)
{
	scratch_done(&f->dir);
	arena_done(&f->a);
}

static void judge(struct fixture *f, struct bytes text, const uint8_t *key, struct verification *v)
{
	struct trust *trust = arena_zalloc(&f->a, 1, sizeof(*trust));
	struct trusted_key *k = arena_zalloc(&f->a, 1, sizeof(*k));

	k->id = "";
	if (key) {
		memcpy(k->key, key, KEY_SIZE);
		*trust = (struct trust){ .keys = k, .key_count = 1 };
	}
	verification_begin(v, &f->a, trust, "key history");
	verify_key_history(v, text, "history");
}

static void reaches_both_ways(void **state)
{
	(void)state;
	struct fixture f;
	struct verification v;
	uint8_t other[KEY_SIZE] = { 1 };

	begin(&f);
	judge(&f, f.text, NULL, &v);
	assert_int_equal(v.integrity, ANSWER_YES);
	assert_int_equal(v.trusted, ANSWER_UNKNOWN);
	judge(&f, f.text, f.first, &v);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	judge(&f, f.text, f.third, &v);
	assert_int_equal(verification_headline(&v), HEADLINE_ADMISSIBLE);
	judge(&f, f.text, other, &v);
	assert_int_equal(v.integrity, ANSWER_YES);
	assert_int_equal(v.trusted, ANSWER_NO);
	end(&f);
}

static const struct trusted_key *find(const struct trust *t, const uint8_t *key)
{
	for (size_t i = 0; i < t->key_count; i++)
		if (memcmp(t->keys[i].key, key, KEY_SIZE) == 0)
			return &t->keys[i];
	return NULL;
}

static void gives_order(void **state)
{
	(void)state;
	struct fixture f;
	struct trusted_key k = { .id = "" };
	struct trust t = { .keys = &k, .key_count = 1 };
	struct err e = { 0 };

	begin(&f);
	memcpy(k.key, f.second, KEY_SIZE);
	assert_int_equal(trust_add_history(sys_real(), &f.a, f.path, &t, &e), OK);
	assert_int_equal(t.key_count, 3);
	assert_int_equal(find(&t, f.first)->order, 1);
	assert_int_equal(find(&t, f.second)->order, 2);
	assert_int_equal(find(&t, f.third)->order, 3);
	/* Only a revocation is a matter of time. */
	assert_string_equal(find(&t, f.first)->not_after, "2020-01-01T00:00:00Z");
	assert_null(find(&t, f.second)->not_before);
	assert_null(find(&t, f.second)->not_after);
	assert_null(find(&t, f.third)->not_before);
	/* A history says nothing to somebody who knows none of its keys. */
	memset(k.key, 7, KEY_SIZE);
	t = (struct trust){ .keys = &k, .key_count = 1 };
	assert_int_equal(trust_add_history(sys_real(), &f.a, f.path, &t, &e), E_INPUT);
	assert_int_equal(t.key_count, 1);
	end(&f);
}

/* A seam as a chain carries it: the links from line `from` to line `to`, bound by the digest. */
static struct json *seam(struct fixture *f, size_t from, size_t to)
{
	struct json *receipt = json_new(&f->a, JSON_OBJECT), *about = json_new(&f->a, JSON_OBJECT),
		    *links = json_new(&f->a, JSON_ARRAY), *link;
	struct bytes rest = f->text;

	for (size_t i = 1; rest.n; i++) {
		struct bytes line = text_cut(&rest, '\n');
		assert_int_equal(json_parse(&f->a, line, "link", NULL, &link, NULL), OK);
		if (i >= from && i <= to)
			json_push(&f->a, links, link);
	}
	json_set(&f->a, about, "links", links);
	json_sets(&f->a, receipt, "effect_id", KEY_EFFECT);
	json_set(&f->a, receipt, "metadata", about);
	json_sets(&f->a, receipt, "output_hash", json_sha256(&f->a, about));
	return receipt;
}

/* Parts of a history reach as far as they go, in both directions, and give the same order as the whole. */
static void seams_reach_both_ways(void **state)
{
	(void)state;
	struct fixture f;
	struct trusted_key k = { .id = "" };
	struct trust t = { .keys = &k, .key_count = 1 };

	begin(&f);
	const struct json *both[] = { seam(&f, 2, 2), seam(&f, 3, 4) };
	memcpy(k.key, f.third, KEY_SIZE);
	assert_true(trust_add_seams(&f.a, both, 2, &t));
	assert_int_equal(t.key_count, 3);
	assert_int_equal(find(&t, f.first)->order, 1);
	assert_int_equal(find(&t, f.second)->order, 2);
	assert_int_equal(find(&t, f.third)->order, 3);
	assert_string_equal(find(&t, f.first)->not_after, "2020-01-01T00:00:00Z");
	assert_false(trust_add_seams(&f.a, both, 2, &t)); /* nothing new */
	/* From the first key over one part only. */
	memcpy(k.key, f.first, KEY_SIZE);
	t = (struct trust){ .keys = &k, .key_count = 1 };
	assert_true(trust_add_seams(&f.a, both, 1, &t));
	assert_int_equal(t.key_count, 2);
	assert_null(find(&t, f.third));
	/* Parts that do not continue each other tie nothing together. */
	t = (struct trust){ .keys = &k, .key_count = 1 };
	assert_false(trust_add_seams(&f.a, &both[1], 1, &t));
	assert_int_equal(t.key_count, 1);
	end(&f);
}

/* What was known of a revocation stays known when an older part is read afterwards. */
static void seams_lose_no_revocation(void **state)
{
	(void)state;
	struct fixture f;
	struct trusted_key k = { .id = "" };
	struct trust t = { .keys = &k, .key_count = 1 };
	struct err e = { 0 };

	begin(&f);
	memcpy(k.key, f.third, KEY_SIZE);
	assert_int_equal(trust_add_history(sys_real(), &f.a, f.path, &t, &e), OK);
	struct json *link;
	assert_int_equal(keys_rotate(sys_real(), &f.a, f.dir.fd, "keys", "", &link, &e), OK);
	assert_int_equal(
		file_read(sys_real(), &f.a, f.dir.fd, "keys/history.jsonl", 1 << 20, 0, &f.text, &e), OK);
	const struct json *parts[] = { seam(&f, 2, 3), seam(&f, 4, 5) };
	assert_true(trust_add_seams(&f.a, parts, 2, &t));
	assert_int_equal(t.key_count, 4);
	assert_string_equal(find(&t, f.first)->not_after, "2020-01-01T00:00:00Z");
	end(&f);
}

static void seams_prove_themselves(void **state)
{
	(void)state;
	struct fixture f;
	struct trusted_key k = { .id = "" };
	struct trust t = { .keys = &k, .key_count = 1 };

	begin(&f);
	memcpy(k.key, f.first, KEY_SIZE);
	struct json *one = seam(&f, 2, 2);
	const struct json *list[] = { one };
	/* Not what was signed. */
	json_sets(&f.a, json_at(json_get(json_get(one, "metadata"), "links"), 0), "reason", "other");
	assert_false(trust_add_seams(&f.a, list, 1, &t));
	json_sets(&f.a, one, "output_hash", json_sha256(&f.a, json_get(one, "metadata")));
	assert_false(trust_add_seams(&f.a, list, 1, &t));
	list[0] = one = seam(&f, 2, 2);
	json_sets(&f.a, one, "effect_id", "helm.key/other");
	assert_false(trust_add_seams(&f.a, list, 1, &t));
	list[0] = seam(&f, 2, 2);
	assert_true(trust_add_seams(&f.a, list, 1, &t));
	end(&f);
}

static void every_bit_counts(void **state)
{
	(void)state;
	struct fixture f;

	begin(&f);
	for (size_t i = 0; i + 1 < f.text.n; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		uint8_t *copy = arena_alloc(&a, f.text.n);
		struct trust nobody = { 0 };
		struct verification v;
		memcpy(copy, f.text.p, f.text.n);
		copy[i] ^= (uint8_t)(1u << (i % 8));
		verification_begin(&v, &a, &nobody, "key history");
		verify_key_history(&v, (struct bytes){ copy, f.text.n }, "history");
		if (v.integrity == ANSWER_YES)
			fail_msg("a changed byte at %zu goes unnoticed", i);
	}
	end(&f);
}

/* Links dropped from the middle, repeated, or signed by somebody without the right. */
static void refuses_other_orders(void **state)
{
	(void)state;
	struct fixture f;
	struct verification v;
	struct bytes rest, lines[4];

	begin(&f);
	rest = f.text;
	for (int i = 0; i < 4; i++)
		lines[i] = text_cut(&rest, '\n');
	static const int orders[][4] = { { 0, 2, 3, 3 }, { 1, 0, 2, 3 }, { 0, 0, 1, 2 }, { 0, 1, 3, 2 } };
	for (size_t k = 0; k < ARRAY_SIZE(orders); k++) {
		struct buf text;
		buf_init(&text, &f.a);
		for (int i = 0; i < 4; i++) {
			buf_add(&text, lines[orders[k][i]].p, lines[orders[k][i]].n);
			buf_addc(&text, '\n');
		}
		judge(&f, buf_bytes(&text), f.first, &v);
		assert_int_equal(v.integrity, ANSWER_NO);
		assert_non_null(v.record);
	}
	end(&f);
}

/* A key that starts anew is another line: trust in the old does not reach it. */
static void new_line_is_not_reached(void **state)
{
	(void)state;
	struct fixture f;
	struct verification v;
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };

	begin(&f);
	assert_int_equal(unlinkat(f.dir.fd, "keys/root.key", 0), 0);
	assert_int_equal(unlinkat(f.dir.fd, "keys/root.pub", 0), 0);
	assert_int_equal(keys_create(sys_real(), f.dir.fd, "keys", &k, &e), OK);
	assert_int_equal(
		file_read(sys_real(), &f.a, f.dir.fd, "keys/history.jsonl", 1 << 20, 0, &f.text, &e), OK);
	judge(&f, f.text, f.third, &v);
	assert_int_equal(v.integrity, ANSWER_YES);
	assert_int_equal(v.trusted, ANSWER_NO);
	/* And it may not revoke what is not its own. */
	struct json *link;
	assert_int_equal(
		keys_revoke(sys_real(), &f.a, f.dir.fd, "keys", f.third, "", NULL, &link, &e), E_MISSING);
	assert_string_equal(e.code, "KEY_UNKNOWN");
	end(&f);
}

static void key_in_force_stays(void **state)
{
	(void)state;
	struct fixture f;
	struct json *link;
	struct err e = { 0 };
	uint8_t unknown[KEY_SIZE] = { 9 };

	begin(&f);
	assert_int_equal(
		keys_revoke(sys_real(), &f.a, f.dir.fd, "keys", f.third, "", NULL, &link, &e), E_INPUT);
	assert_string_equal(e.code, "KEY_ACTIVE");
	assert_int_equal(
		keys_revoke(sys_real(), &f.a, f.dir.fd, "keys", unknown, "", NULL, &link, &e), E_MISSING);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reaches_both_ways),
		cmocka_unit_test(gives_order),
		cmocka_unit_test(seams_reach_both_ways),
		cmocka_unit_test(seams_lose_no_revocation),
		cmocka_unit_test(seams_prove_themselves),
		cmocka_unit_test(every_bit_counts),
		cmocka_unit_test(refuses_other_orders),
		cmocka_unit_test(new_line_is_not_reached),
		cmocka_unit_test(key_in_force_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

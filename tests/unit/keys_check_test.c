/* keys_check_test.c — audit_keys(): the key in force is the one of the last link of an unbroken history; and what brings it back. */
#include "audit/keys.h"
#include "base/file.h"
#include "base/sealed.h"
#include "base/text.h"
#include "record/keys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char *home_of(struct arena *a, struct scratch *t)
{
	return arena_strdup(a, t->path);
}

static void rotate(struct scratch *t)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *link;
	struct err e = { 0 };

	assert_int_equal(keys_rotate(sys_real(), &a, t->fd, "keys", "", &link, &e), OK);
}

static void begin(struct scratch *t)
{
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };

	scratch_open(t);
	assert_int_equal(keys_create(sys_real(), t->fd, "keys", &k, &e), OK);
	rotate(t);
}

/* The first finding's kind; "" when all is well. */
static const char *found(struct arena *a, struct scratch *t)
{
	struct log_report r = audit_report_new(a);
	struct err e = { 0 };

	assert_int_equal(audit_keys(sys_real(), a, home_of(a, t), &r, &e), OK);
	const struct json *first = json_at(json_get(r.doc, "findings"), 0);
	assert_int_equal(r.is_sound, first == NULL);
	if (first) {
		assert_string_equal(json_get_text(first, "severity", ""), "keys");
		assert_true(*json_get_text(first, "remedy", ""));
		assert_true(*r.why);
	}
	return first ? json_get_text(first, "what", "?") : "";
}

static struct keys_repaired repair(struct arena *a, struct scratch *t, struct bytes copy)
{
	struct keys_repair how = { .state_fd = -1, .copy = copy, .apply = true };
	struct keys_repaired done;
	struct err e = { 0 };

	if (audit_keys_repair(sys_real(), a, path_join(a, home_of(a, t), "keys"), &how, &done, &e))
		fail_msg("%s", e.text);
	return done;
}

static void sound(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct scratch t;

	(void)state;
	scratch_open(&t);
	assert_string_equal(found(&a, &t), ""); /* no keys at all */
	scratch_done(&t);
	begin(&t);
	assert_string_equal(found(&a, &t), "");
	assert_true(repair(&a, &t, (struct bytes){ 0 }).is_sound);
	scratch_done(&t);
}

/* Every bit of every byte of a history: found, and made right again by its digest, byte for byte.  Newlines aside, which join or divide
 * lines. */
static void every_byte(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct scratch t;

	(void)state;
	begin(&t);
	const char *whole = arena_strdup(&a, scratch_get(&t, "keys/history.jsonl"));
	size_t n = strlen(whole);
	for (size_t at = 0; at < n; at += 97) {
		AUTO(arena_done) struct arena one = { 0 };
		char *text = arena_strdup(&one, whole);
		if (text[at] == '\n' || (text[at] ^ 2) == '\n')
			continue;
		text[at] ^= 2;
		scratch_put(&t, "keys/history.jsonl", text);
		assert_string_equal(found(&one, &t), "history_broken");
		assert_true(repair(&one, &t, (struct bytes){ 0 }).is_whole);
		assert_string_equal(scratch_get(&t, "keys/history.jsonl"), whole);
		assert_string_equal(found(&one, &t), "");
	}
	scratch_done(&t);
}

static void cut_and_old(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };
	struct scratch t;
	struct json *link;

	(void)state;
	begin(&t);
	const char *whole = arena_strdup(&a, scratch_get(&t, "keys/history.jsonl"));
	const char *first = arena_strndup(&a, whole, (size_t)(strchr(whole, '\n') + 1 - whole));
	scratch_put(&t, "keys/history.jsonl", first);
	assert_string_equal(found(&a, &t), "history_cut");
	/* Nothing goes on from a history that has lost its end. */
	assert_int_equal(keys_rotate(sys_real(), &a, t.fd, "keys", "", &link, &e), E_CORRUPT);
	assert_true(unlinkat(t.fd, "keys/history.end", 0) == 0);
	assert_string_equal(found(&a, &t), "history_behind");
	assert_int_equal(keys_rotate(sys_real(), &a, t.fd, "keys", "", &link, &e), E_CORRUPT);
	struct keys_repaired done = repair(&a, &t, (struct bytes){ 0 });
	assert_false(done.is_whole);
	assert_non_null(done.text);
	assert_string_equal(scratch_get(&t, "keys/history.jsonl"), first);
	assert_true(repair(&a, &t, bytes_of(whole)).is_whole);
	assert_string_equal(found(&a, &t), "");
	assert_string_equal(scratch_get(&t, "keys/history.jsonl"), whole);
	/* With its end nothing else is needed, not even the file. */
	assert_true(unlinkat(t.fd, "keys/history.jsonl", 0) == 0);
	assert_string_equal(found(&a, &t), "history_missing");
	assert_true(repair(&a, &t, (struct bytes){ 0 }).is_whole);
	assert_string_equal(scratch_get(&t, "keys/history.jsonl"), whole);
	scratch_done(&t);
}

/* A revocation that was cut off does not make the key trusted again. */
static void revoked(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };
	struct scratch t;
	struct json *link;
	uint8_t pub[SIGN_PUBLIC];

	(void)state;
	begin(&t);
	const char *before = arena_strdup(&a, scratch_get(&t, "keys/history.jsonl"));
	const char *key = arena_strndup(&a, strstr(before, "\"key\":\"") + 7, 64);
	assert_int_equal(key_parse_public(bytes_of(key), "k", pub, &e), OK);
	assert_true(keys_trusts(sys_real(), &a, t.fd, "keys", key));
	assert_int_equal(keys_revoke(sys_real(), &a, t.fd, "keys", pub, "", NULL, &link, &e), OK);
	assert_false(keys_trusts(sys_real(), &a, t.fd, "keys", key));
	scratch_put(&t, "keys/history.jsonl", before);
	assert_string_equal(found(&a, &t), "history_cut");
	assert_false(keys_trusts(sys_real(), &a, t.fd, "keys", key));
	scratch_done(&t);
}

static void secret(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct scratch t;

	(void)state;
	begin(&t);
	char *text = arena_strdup(&a, scratch_get(&t, "keys/root.key"));
	const char *whole = arena_strdup(&a, text);
	text[5] = text[5] == 'a' ? 'b' : 'a';
	scratch_put(&t, "keys/root.key", text);
	assert_string_equal(found(&a, &t), "key_unreadable");
	(void)repair(&a, &t, (struct bytes){ 0 });
	assert_string_equal(scratch_get(&t, "keys/root.key"), whole);
	assert_string_equal(found(&a, &t), "");
	scratch_done(&t);
}

/* ---- sealed documents ---- */

static void sealed(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const struct doc d = { .file = "doc.json", .type = JSON_OBJECT, .code = "DOC" };
	struct sys *s = sys_real();
	struct err e = { 0 };
	struct scratch t;
	struct json *doc = json_new(&a, JSON_OBJECT), *got;

	(void)state;
	scratch_open(&t);
	assert_int_equal(sealed_load(s, &a, t.fd, &d, "x", &got, &e), OK);
	assert_int_equal(got->n, 0);
	json_seti(&a, doc, "one", 1);
	assert_int_equal(sealed_replace(s, &a, t.fd, &d, doc, &e), OK);
	const char *one = arena_strdup(&a, scratch_get(&t, "doc.json"));
	json_seti(&a, doc, "one", 2);
	assert_int_equal(sealed_replace(s, &a, t.fd, &d, doc, &e), OK);
	assert_int_equal(sealed_load(s, &a, t.fd, &d, "x", &got, &e), OK);
	assert_int_equal(json_get_int(got, "one", 0), 2);
	scratch_put(&t, "doc.json", one);
	assert_int_equal(sealed_load(s, &a, t.fd, &d, "x", &got, &e), E_CORRUPT);
	assert_string_equal(e.code, "SEAL_CHANGED");
	assert_true(unlinkat(t.fd, "doc.json", 0) == 0);
	assert_int_equal(sealed_load(s, &a, t.fd, &d, "x", &got, &e), E_CORRUPT);
	assert_string_equal(e.code, "SEAL_MISSING");
	scratch_put(&t, "doc.json", one);
	assert_int_equal(sealed_accept(s, &a, t.fd, "doc.json", 1 << 20, &e), OK);
	assert_int_equal(sealed_load(s, &a, t.fd, &d, "x", &got, &e), OK);
	scratch_put(&t, "doc.json.seal", "{}");
	assert_int_equal(sealed_load(s, &a, t.fd, &d, "x", &got, &e), E_CORRUPT);
	assert_string_equal(e.code, "SEAL_READ");
	assert_true(unlinkat(t.fd, "doc.json.seal", 0) == 0); /* by an older version */
	assert_int_equal(sealed_load(s, &a, t.fd, &d, "x", &got, &e), OK);
	scratch_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound),
		cmocka_unit_test(every_byte),
		cmocka_unit_test(cut_and_old),
		cmocka_unit_test(revoked),
		cmocka_unit_test(secret),
		cmocka_unit_test(sealed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

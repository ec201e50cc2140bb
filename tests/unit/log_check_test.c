/* log_check_test.c — the full check of a chain and its log: whatever is changed, cut or exchanged is found and named. */
#include "audit/audit.h"
#include "base/file.h"
#include "base/text.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>

struct fixture {
	struct arena a;
	struct scratch dir;
	struct key *key;
	struct recorder r;
	struct trusted_key trusted;
	struct trust trust;
};

static void append(struct fixture *f, const char *id)
{
	struct json *record;
	char *hash;
	struct err e = { 0 };
	struct decision_draft d = { .id = id,
		.verdict = "ALLOW",
		.subject_id = "agent:test",
		.action = "EXECUTE_COMMAND",
		.resource = "ls",
		.reason = "",
		.reason_code = "" };

	assert_int_equal(record_decision(&f->a, sys_real(), f->key, &d, &record, &hash, &e), OK);
	struct json *about = json_new(&f->a, JSON_OBJECT);
	json_sets(&f->a, about, "door", "test");
	struct draft draft = { .decision_id = id,
		.effect_id = "EXECUTE_COMMAND",
		.status = "ALLOW",
		.verdict = "ALLOW",
		.output_hash = hash,
		.subject = record,
		.metadata = about };
	assert_int_equal(recorder_append(&f->r, &f->a, &draft, 1, NULL, &e), OK);
}

static void begin(struct fixture *f, int receipts, uint64_t rotate_bytes)
{
	struct err e = { 0 };

	*f = (struct fixture){ 0 };
	scratch_open_fast(&f->dir);
	assert_int_equal(key_create(sys_real(), f->dir.fd, "keys", "root", &f->key, &e), 0);
	recorder_open(&f->r, sys_real(), f->dir.fd, f->key);
	f->r.rotate_bytes = rotate_bytes;
	f->trusted.id = "";
	memcpy(f->trusted.key, key_public(f->key), KEY_SIZE);
	f->trust = (struct trust){ .keys = &f->trusted, .key_count = 1, .threads = 1 };
	for (int i = 1; i <= receipts; i++)
		append(f, arena_printf(&f->a, "dec-%d", i));
	assert_int_equal(log_sign_head(&f->r, &f->a, NULL, &e), 0);
}

static void end(struct fixture *f)
{
	recorder_close(&f->r);
	key_free(&f->key);
	scratch_done(&f->dir);
	arena_done(&f->a);
}

static void check(struct fixture *f, struct arena *a, struct log_report *report)
{
	struct log_check_options options = { .root_fd = f->dir.fd };
	struct err e = { 0 };

	if (log_check(sys_real(), a, f->dir.fd, &f->trust, &options, report, &e))
		fail_msg("%s", e.text);
}

static char *content(struct fixture *f, const char *file)
{
	struct bytes text;
	struct err e = { 0 };

	assert_int_equal(file_read(sys_real(), &f->a, f->dir.fd, file, 1 << 26, 0, &text, &e), OK);
	return (char *)(uintptr_t)text.p;
}

static bool has_finding(const struct log_report *report, const char *what)
{
	json_each (f, json_get(report->doc, "findings"))
		if (text_eq(json_get_text(f, "what", ""), what))
			return true;
	return false;
}

static void sound(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 12, 6000);
	check(&f, &f.a, &report);
	assert_true(report.is_sound && !report.is_damaged);
	assert_true(json_get(report.doc, "files")->n > 1);
	assert_int_equal(json_get(report.doc, "findings")->n, 0);
	assert_int_equal(json_get_int(report.doc, "tree_size", 0), report.receipts);
	end(&f);
}

/* One bit of every byte of the chain: the damage is found, and the chain is called good up to that receipt or before it. */
static void every_byte_of_the_chain(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 2, 1 << 20);
	char *text = content(&f, "receipts.jsonl");
	size_t n = strlen(text);
	int fd = openat(f.dir.fd, "receipts.jsonl", O_WRONLY);
	assert_true(fd >= 0);
	for (size_t i = 0; i < n; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		char changed = (char)(text[i] ^ (1 << (i % 7)));
		assert_int_equal(pwrite(fd, &changed, 1, (off_t)i), 1);
		check(&f, &a, &report);
		if (report.is_sound || !report.is_damaged)
			fail_msg("a changed byte at %zu goes unnoticed", i);
		const char *line = memrchr(text, '\n', i);
		assert_true(report.damage.good_bytes <= (line ? line + 1 - text : 0));
		assert_int_equal(pwrite(fd, &text[i], 1, (off_t)i), 1);
	}
	close(fd);
	check(&f, &f.a, &report);
	assert_true(report.is_sound);
	end(&f);
}

static void every_byte_of_the_heads(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 2, 1 << 20);
	char *text = content(&f, "log/heads.jsonl");
	int fd = openat(f.dir.fd, "log/heads.jsonl", O_WRONLY);
	for (size_t i = 0; i + 1 < strlen(text); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		char changed = (char)(text[i] ^ (1 << (i % 7)));
		assert_int_equal(pwrite(fd, &changed, 1, (off_t)i), 1);
		check(&f, &a, &report);
		if (report.is_sound)
			fail_msg("a changed byte at %zu goes unnoticed", i);
		assert_int_equal(pwrite(fd, &text[i], 1, (off_t)i), 1);
	}
	close(fd);
	end(&f);
}

/* The tail and everything that knows of it in the workspace are cut; only the head kept elsewhere tells. */
static void anchor_finds_a_clean_cut(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;
	struct json *head;
	struct err e = { 0 };

	begin(&f, 4, 1 << 20);
	char *four = content(&f, "receipts.jsonl"), *heads = content(&f, "log/heads.jsonl");
	append(&f, "dec-5");
	char *to = arena_printf(&f.a, "%s/outside.json", f.dir.path);
	assert_int_equal(log_anchor(&f.r, &f.a, f.dir.fd, to, &head, &e), OK);
	scratch_put(&f.dir, "receipts.jsonl", four);
	scratch_put(&f.dir, "log/heads.jsonl", heads);
	assert_int_equal(unlinkat(f.dir.fd, "log/leaves", 0), 0);
	check(&f, &f.a, &report);
	assert_true(report.is_damaged);
	assert_true(has_finding(&report, "receipts_lost"));
	/* It is put on record, and the old anchor is explained by that. */
	assert_int_equal(log_repair(&f.r, &f.a, &report.damage, NULL, &e), OK);
	check(&f, &f.a, &report);
	assert_true(report.is_sound);
	assert_true(has_finding(&report, "anchor_before_repair"));
	end(&f);
}

/* Everything is rewritten with the true key: same length, other content. */
static void anchor_finds_a_rewrite(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;
	struct json *head;
	struct err e = { 0 };

	begin(&f, 3, 1 << 20);
	char *to = arena_printf(&f.a, "%s/outside.json", f.dir.path);
	assert_int_equal(log_anchor(&f.r, &f.a, f.dir.fd, to, &head, &e), OK);
	recorder_close(&f.r);
	assert_int_equal(unlinkat(f.dir.fd, "receipts.jsonl", 0), 0);
	assert_int_equal(unlinkat(f.dir.fd, "log/leaves", 0), 0);
	assert_int_equal(unlinkat(f.dir.fd, "log/heads.jsonl", 0), 0);
	recorder_open(&f.r, sys_real(), f.dir.fd, f.key);
	for (int i = 0; i < 4; i++)
		append(&f, arena_printf(&f.a, "other-%d", i));
	check(&f, &f.a, &report);
	assert_true(report.is_damaged);
	assert_true(has_finding(&report, "rewritten"));
	/* And the anchor is not exchanged for one of the new log. */
	assert_true(log_anchor(&f.r, &f.a, f.dir.fd, to, &head, &e) < 0);
	assert_string_equal(e.code, "ANCHOR_CONFLICT");
	end(&f);
}

static void missing_files(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;
	struct err e = { 0 };

	begin(&f, 12, 6000);
	assert_int_equal(unlinkat(f.dir.fd, "receipts-000001.jsonl", 0), 0);
	check(&f, &f.a, &report);
	assert_true(report.is_damaged);
	assert_int_equal(log_repair(&f.r, &f.a, &report.damage, NULL, &e), OK);
	check(&f, &f.a, &report);
	assert_true(report.is_sound);
	append(&f, "dec-after");
	end(&f);
}

/* Unchanged, but by somebody else's key. */
static void foreign_key(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 3, 1 << 20);
	AUTO(key_free) struct key *other = NULL;
	struct err e = { 0 };
	assert_int_equal(key_create(sys_real(), f.dir.fd, "others", "root", &other, &e), OK);
	memcpy(f.trusted.key, key_public(other), KEY_SIZE);
	check(&f, &f.a, &report);
	assert_false(report.is_sound);
	assert_false(report.is_damaged);
	end(&f);
}

static void torn_end_is_no_damage(void **state)
{
	(void)state;
	struct fixture f;
	struct log_report report;

	begin(&f, 3, 1 << 20);
	scratch_put(
		&f.dir, "receipts.jsonl", arena_printf(&f.a, "%s{\"half\":", content(&f, "receipts.jsonl")));
	check(&f, &f.a, &report);
	assert_true(report.is_sound);
	assert_true(has_finding(&report, "torn"));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound),
		cmocka_unit_test(every_byte_of_the_chain),
		cmocka_unit_test(every_byte_of_the_heads),
		cmocka_unit_test(anchor_finds_a_clean_cut),
		cmocka_unit_test(anchor_finds_a_rewrite),
		cmocka_unit_test(missing_files),
		cmocka_unit_test(foreign_key),
		cmocka_unit_test(torn_end_is_no_damage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

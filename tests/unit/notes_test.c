/* notes_test.c — notes of calls that nobody signs are bound by the next receipt: whatever is done to one of them is found, and what no
 * receipt speaks of yet may be lost. */
#include "audit/parts.h"
#include "base/hash.h"
#include "base/text.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
	struct arena a;
	struct scratch dir;
	struct key *key;
	struct recorder r;
	int receipts;
};

static void note(struct fixture *f, const char *what)
{
	struct json *row = json_new(&f->a, JSON_OBJECT);
	struct err e = { 0 };

	json_sets(&f->a, row, "preview", what);
	if (ledger_note(sys_real(), &f->a, f->dir.fd, TOOL_CALLS, row, &e))
		fail_msg("%s", e.text);
}

static void receipt(struct fixture *f)
{
	struct err e = { 0 };
	struct draft d = { .decision_id = arena_printf(&f->a, "dec-%d-%d", (int)getpid(), f->receipts++),
		.effect_id = "X",
		.status = "ALLOW",
		.verdict = "ALLOW" };

	if (recorder_append(&f->r, &f->a, &d, 1, NULL, &e))
		fail_msg("%s", e.text);
}

static void begin(struct fixture *f)
{
	struct err e = { 0 };

	*f = (struct fixture){ 0 };
	scratch_open_fast(&f->dir);
	assert_int_equal(key_create(sys_real(), f->dir.fd, "keys", "root", &f->key, &e), 0);
	recorder_open(&f->r, sys_real(), f->dir.fd, f->key);
}

static void end(struct fixture *f)
{
	recorder_close(&f->r);
	key_free(&f->key);
	scratch_done(&f->dir);
	arena_done(&f->a);
}

static void again(struct fixture *f) /* another process */
{
	recorder_close(&f->r);
	recorder_open(&f->r, sys_real(), f->dir.fd, f->key);
}

static struct json *check(struct fixture *f, bool *ret_sound)
{
	struct log_report report = { .is_sound = true, .doc = json_new(&f->a, JSON_OBJECT) };
	struct err e = { 0 };

	json_set(&f->a, report.doc, "findings", json_new(&f->a, JSON_ARRAY));
	if (audit_rows(sys_real(), &f->a, f->dir.fd, true, &report, &e))
		fail_msg("%s", e.text);
	*ret_sound = report.is_sound;
	return report.doc;
}

static void expect_sound(struct fixture *f, int bound)
{
	bool is_sound;
	struct json *doc = check(f, &is_sound);

	if (!is_sound)
		fail_msg("%s", json_get_text(json_at(json_get(doc, "findings"), 0), "text", ""));
	assert_int_equal(json_get_int(json_get(doc, "notes"), "bound", -1), bound);
}

static void expect_found(struct fixture *f, const char *why)
{
	bool is_sound;
	struct json *doc = check(f, &is_sound);
	const struct json *first = json_at(json_get(doc, "findings"), 0);

	if (is_sound || !text_eq(json_get_text(first, "what", ""), "notes_changed"))
		fail_msg("%s: %s", why, is_sound ? "not found" : json_get_text(first, "text", ""));
}

/* What receipts say, in order: each begins where the one before it ended. */
static int take_range(
	void *arg, const char *file, uint64_t line, struct bytes text, const struct json *r, struct err *e)
{
	off_t *end = arg;
	struct notes_said said;

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (!receipt_notes(r, &said))
		return 0;
	assert_true(said.from == *end && said.to > said.from);
	*end = said.to;
	return 0;
}

static off_t bound_to(struct fixture *f)
{
	off_t end = 0;
	struct err e = { 0 };

	assert_int_equal(receipts_each(sys_real(), f->dir.fd, take_range, &end, &e), OK);
	return end;
}

static void some(struct fixture *f)
{
	begin(f);
	note(f, "cat one");
	note(f, "cat two");
	receipt(f);
	receipt(f); /* nothing to say */
	note(f, "cat three");
	receipt(f);
	note(f, "cat four");
}

static void every_byte(void **state)
{
	struct fixture f;

	(void)state;
	some(&f);
	expect_sound(&f, 2);
	char *text = strdup(scratch_get(&f.dir, TOOL_CALLS));
	size_t n = strlen(text), signed_n = (size_t)bound_to(&f);
	assert_true(signed_n > 50 && signed_n < n);
	for (size_t i = 0; i < signed_n; i++) {
		text[i] ^= 1;
		scratch_put(&f.dir, TOOL_CALLS, text);
		expect_found(&f, arena_printf(&f.a, "byte %zu", i));
		text[i] ^= 1;
	}
	scratch_put(&f.dir, TOOL_CALLS, text);
	expect_sound(&f, 2);
	free(text);
	end(&f);
}

static void removed_added_moved(void **state)
{
	struct fixture f;
	char one[200], two[200], three[200], four[200];

	(void)state;
	some(&f);
	assert_int_equal(sscanf(scratch_get(&f.dir, TOOL_CALLS),
				 "%199[^\n]\n%199[^\n]\n%199[^\n]\n%199[^\n]\n", one, two, three, four),
		4);
	const char *const damaged[] = { "", arena_printf(&f.a, "%s\n%s\n%s\n", two, three, four),
		arena_printf(&f.a, "%s\n%s\n%s\n", one, three, four),
		arena_printf(&f.a, "%s\n%s\n%s\n", one, two, four), arena_printf(&f.a, "%s\n%s\n", one, two),
		arena_printf(&f.a, "%s\n%s\n%s\n%s\n", two, one, three, four),
		arena_printf(&f.a, "%s\n%s\n%s\n%s\n", one, three, two, four),
		arena_printf(&f.a, "%s\n%s\n%s\n%s\n%s\n", one, one, two, three, four),
		arena_printf(&f.a, "%s\n%s\n\n%s\n%s\n", one, two, three, four),
		arena_printf(&f.a, "%s\n%s\n%s", one, two, three) };
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		scratch_put(&f.dir, TOOL_CALLS, damaged[i]);
		expect_found(&f, damaged[i]);
	}
	unlinkat(f.dir.fd, TOOL_CALLS, 0);
	expect_found(&f, "no ledger");
	/* What nobody has signed may be gone, or torn: no false alarm, and the next receipt goes on. */
	scratch_put(&f.dir, TOOL_CALLS, arena_printf(&f.a, "%s\n%s\n%s\n", one, two, three));
	expect_sound(&f, 2);
	scratch_put(&f.dir, TOOL_CALLS, arena_printf(&f.a, "%s\n%s\n%s\n%.9s", one, two, three, four));
	expect_sound(&f, 2);
	again(&f);
	receipt(&f);
	expect_sound(&f, 2); /* half a row is not bound */
	note(&f, "cat five");
	receipt(&f);
	expect_sound(&f, 3);
	(void)bound_to(&f);
	end(&f);
}

static void a_shorter_ledger_goes_on(void **state)
{
	struct fixture f;

	(void)state;
	some(&f);
	scratch_put(&f.dir, TOOL_CALLS, "");
	note(&f, "cat");
	receipt(&f);
	expect_found(&f, "what is gone");
	char *text = strdup(scratch_get(&f.dir, TOOL_CALLS));
	bool is_sound;
	int64_t before = json_get_int(json_get(check(&f, &is_sound), "notes"), "changed", 0);
	text[3] ^= 1;
	scratch_put(&f.dir, TOOL_CALLS, text);
	assert_true(json_get_int(json_get(check(&f, &is_sound), "notes"), "changed", 0) > before);
	free(text);
	end(&f);
}

static void pieces(void **state)
{
	static const char waiting[] = LEDGER_SEGMENTS "/waiting/tool-calls-000001.jsonl";
	static const char sealed[] = LEDGER_SEGMENTS "/tool-calls-000001.jsonl.zst";
	struct fixture f;
	struct err e = { 0 };
	size_t n;

	(void)state;
	some(&f);
	assert_int_equal(ledger_rotate(sys_real(), f.dir.fd, TOOL_CALLS, 1, false, &e), OK);
	again(&f);
	receipt(&f); /* the end of the first piece */
	expect_sound(&f, 3);
	note(&f, "cat five");
	assert_int_equal(ledger_rotate(sys_real(), f.dir.fd, TOOL_CALLS, 1, false, &e), OK);
	note(&f, "cat six");
	receipt(&f); /* two pieces at once */
	expect_sound(&f, 4);
	(void)bound_to(&f);
	char *text = strdup(scratch_get(&f.dir, waiting));
	for (size_t i = 0; i < strlen(text); i += 5) {
		text[i] ^= 1;
		scratch_put(&f.dir, waiting, text);
		expect_found(&f, "a piece that waits");
		text[i] ^= 1;
	}
	scratch_put(&f.dir, waiting, text);
	free(text);
	assert_int_equal(ledger_seal(&f.r, &f.a, &n, &e), OK);
	assert_int_equal(n, 2);
	note(&f, "cat seven");
	receipt(&f);
	expect_sound(&f, 5);
	(void)bound_to(&f);
	/* Archived pieces are not here, and that is said by their own receipts. */
	assert_int_equal(
		renameat(f.dir.fd, sealed, f.dir.fd, LEDGER_SEGMENTS "/tool-calls-000001.jsonl.zst.archived"),
		0);
	bool is_sound;
	(void)check(&f, &is_sound);
	assert_false(is_sound); /* not by anything that has the name */
	scratch_put(&f.dir, LEDGER_SEGMENTS "/tool-calls-000001.jsonl.zst.archived",
		"{\"metadata\":{\"to\":\"/nowhere\"}}\n");
	struct json *doc = check(&f, &is_sound);
	assert_false(is_sound); /* nor by anybody's word */
	assert_int_equal(json_get_int(json_get(doc, "notes"), "away", 0), 3);
	end(&f);
}

static void without_the_edge(void **state)
{
	struct fixture f;

	(void)state;
	some(&f);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(unlinkat(f.dir.fd, LOG_DIR "/edge", 0), 0);
		again(&f);
		note(&f, "cat");
		receipt(&f);
	}
	expect_sound(&f, 5);
	(void)bound_to(&f);
	end(&f);
}

/* A chain that was closed keeps what it said; what sums up its metadata says nothing about notes. */
static void across_files_of_the_chain(void **state)
{
	struct fixture f;

	(void)state;
	some(&f);
	f.r.rotate_bytes = 1;
	receipt(&f);
	f.r.rotate_bytes = 1 << 20;
	assert_int_equal(unlinkat(f.dir.fd, LOG_DIR "/edge", 0), 0);
	recorder_close(&f.r);
	recorder_open(&f.r, sys_real(), f.dir.fd, f.key);
	note(&f, "cat");
	receipt(&f);
	expect_sound(&f, 4);
	(void)bound_to(&f);
	end(&f);
}

/* Every note that was there when a receipt was asked for is bound when it is made. */
static void many_at_once(void **state)
{
	enum { WRITERS = 6, ROUNDS = 25 };
	struct fixture f;
	struct err e = { 0 };
	off_t last;

	(void)state;
	begin(&f);
	for (int i = 0; i < WRITERS; i++)
		if (fork() == 0) {
			again(&f);
			for (int k = 0; k < ROUNDS; k++) {
				note(&f, arena_printf(&f.a, "writer %d round %d", i, k));
				if (k % 3 != 1)
					receipt(&f);
				if (k == 11)
					(void)ledger_rotate(sys_real(), f.dir.fd, TOOL_CALLS, 1, false, &e);
				note(&f, "behind");
			}
			_exit(0);
		}
	for (int i = 0; i < WRITERS; i++) {
		int status;
		assert_true(wait(&status) > 0 && status == 0);
	}
	bool is_sound;
	again(&f);
	receipt(&f);
	struct json *doc = check(&f, &is_sound);
	assert_true(is_sound);
	assert_true(json_get_int(json_get(doc, "notes"), "bound", 0) > ROUNDS / 2);
	assert_int_equal(ledger_end(sys_real(), f.dir.fd, TOOL_CALLS, &last, &e), OK);
	assert_true(bound_to(&f) == last);
	end(&f);
}

/* More than fit into memory at once. */
static void very_many(void **state)
{
	enum { MANY = 10000, ODD = 7777 };
	struct fixture f;
	struct notes_result result = { 0 };
	struct err e = { 0 };
	struct buf all;

	(void)state;
	begin(&f);
	struct notes_check *c = notes_check_begin(sys_real(), &f.a, f.dir.fd, NULL, NULL, &result);
	buf_init(&all, &f.a);
	for (int i = 0; i < MANY; i++) {
		size_t from = all.n;
		buf_addf(&all, "{\"n\": %d}\n", i);
		struct json *r = json_new(&f.a, JSON_OBJECT), *m = json_new(&f.a, JSON_OBJECT),
			    *said = json_new(&f.a, JSON_OBJECT);
		json_sets(&f.a, said, "range", arena_printf(&f.a, "%zu-%zu", from, all.n));
		json_sets(&f.a, said, "sha256", sha256_hex(&f.a, all.p + from, all.n - from));
		json_set(&f.a, m, NOTES_MEMBER, said);
		json_set(&f.a, r, "metadata", m);
		assert_int_equal(notes_check_take(c, r, (uint64_t)i + 1, &e), OK);
		if (i == ODD)
			all.p[all.n - 2] = ']';
	}
	scratch_put(&f.dir, TOOL_CALLS, arena_strndup(&f.a, all.p, all.n));
	assert_int_equal(notes_check_end(c, &e), OK);
	assert_int_equal(result.bound, MANY);
	assert_int_equal(result.changed, 1);
	assert_int_equal(result.bad[0], ODD + 1);
	notes_check_done(c);
	end(&f);
}

/* A range is written in one way; another spelling, or one that cannot be, says nothing. */
static void spellings(void **state)
{
	static const char *const bad[] = { "", "5", "-", "1-", "-1", "01-2", "1-02", " 1-2", "1-2 ", "2-1",
		"+1-2", "1--2", "99999999999999999999-99999999999999999999", "1-2-3" };
	struct arena a = { 0 };
	struct notes_said x;
	struct json *r = json_new(&a, JSON_OBJECT), *m = json_new(&a, JSON_OBJECT),
		    *said = json_new(&a, JSON_OBJECT);

	(void)state;
	json_set(&a, r, "metadata", m);
	assert_false(receipt_notes(r, &x));
	json_set(&a, m, NOTES_MEMBER, said);
	json_sets(&a, said, "sha256", sha256_hex(&a, "", 0));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		json_sets(&a, said, "range", bad[i]);
		if (receipt_notes(r, &x))
			fail_msg("'%s' is a range", bad[i]);
	}
	json_sets(&a, said, "range", "3-1099511627776");
	assert_true(receipt_notes(r, &x) && x.from == 3 && x.to == (off_t)1 << 40);
	json_sets(&a, said, "sha256", "abc");
	assert_false(receipt_notes(r, &x));
	arena_done(&a);
}

static void decided(struct fixture *f, const char *preview)
{
	struct json *row = json_new(&f->a, JSON_OBJECT);
	struct err e = { 0 };

	json_sets(&f->a, row, "decision_id", "dec-1");
	json_sets(&f->a, row, "preview", preview);
	json_sets(&f->a, row, "verdict", "ALLOW");
	assert_int_equal(ledger_note(sys_real(), &f->a, f->dir.fd, TOOL_CALLS, row, &e), OK);
}

/* Whoever waits for a decision does not wait for the notes of others that are signed themselves; a note that nobody has signed is bound
 * at once, with all that waits, and so is everything by whoever is in no hurry. */
static void a_hurried_receipt_leaves_the_rest(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	receipt(&f);
	f.r.is_hurried = true;
	decided(&f, "a");
	receipt(&f);
	/* Where binding begins is known from then on, also to another process: receipts are searched for it once. */
	assert_true(f.r.at.notes.is_known);
	again(&f);
	f.r.is_hurried = true;
	decided(&f, "b");
	receipt(&f);
	expect_sound(&f, 0);
	note(&f, "\"decision_id\": \"dec-2\", \"verdict\": \"ALLOW\"");
	receipt(&f);
	expect_sound(&f, 1);
	decided(&f, "c");
	receipt(&f);
	expect_sound(&f, 1);
	f.r.is_hurried = false;
	receipt(&f);
	expect_sound(&f, 2);
	end(&f);
}

/* What was looked at and left is not read again; a row that nobody has signed is found among those that came since, and all are bound. */
static void what_was_left_is_not_forgotten(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	receipt(&f);
	f.r.is_hurried = true;
	decided(&f, "a");
	receipt(&f);
	decided(&f, "b");
	receipt(&f);
	receipt(&f);
	expect_sound(&f, 0);
	note(&f, "\"x\": 1");
	decided(&f, "c");
	receipt(&f);
	expect_sound(&f, 1);
	decided(&f, "d");
	receipt(&f);
	expect_sound(&f, 1);
	f.r.is_hurried = false;
	receipt(&f);
	expect_sound(&f, 2);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_was_left_is_not_forgotten),
		cmocka_unit_test(every_byte), cmocka_unit_test(removed_added_moved),
		cmocka_unit_test(a_shorter_ledger_goes_on), cmocka_unit_test(pieces),
		cmocka_unit_test(without_the_edge), cmocka_unit_test(across_files_of_the_chain),
		cmocka_unit_test(many_at_once), cmocka_unit_test(very_many), cmocka_unit_test(spellings),
		cmocka_unit_test(a_hurried_receipt_leaves_the_rest) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

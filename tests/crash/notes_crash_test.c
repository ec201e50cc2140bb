/* notes_crash_test.c — notes are bound by receipts while every single system call fails or is the last one: what a receipt speaks of is on
 * disk when it is acknowledged, the check never raises a false alarm, and the next writer goes on where the last one stopped. */
#include "audit/audit.h"
#include "base/text.h"
#include "record/record.h"
#include "tools/crash.h"
#include "tools/unit.h"

static void open_recorder(struct scratch *t, struct sys *s, struct key **key, struct recorder *r)
{
	struct err e = { 0 };

	assert_int_equal(key_load(sys_real(), t->fd, "keys", "root", key, &e), OK);
	recorder_open(r, s, t->fd, *key);
}

static int note(struct sys *s, struct scratch *t, const char *what, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *row = json_new(&a, JSON_OBJECT);

	json_sets(&a, row, "preview", what);
	return ledger_note(s, &a, t->fd, TOOL_CALLS, row, e);
}

static int receipt(struct recorder *r, const char *id, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct draft d = { .decision_id = id, .effect_id = "X", .status = "ALLOW", .verdict = "ALLOW" };

	return recorder_append(r, &a, &d, 1, NULL, e);
}

/* Leaves, edge and locks prove nothing.  The ledger stays in the list: what was bound must be on disk. */
static void acknowledge(struct crash *c)
{
	static const char *const names[] = { ".", "log", "log/leaves", "log/edge", "log/lock", "segments" };
	struct stat st;

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		if (fstatat(c->t.fd, names[k], &st, 0))
			continue;
		for (size_t i = 0; i < c->f.unsynced_count; i++)
			if (c->f.unsynced[i].ino == st.st_ino && c->f.unsynced[i].dev == st.st_dev)
				c->f.unsynced[i--] = c->f.unsynced[--c->f.unsynced_count];
	}
	/* The ledger may be put aside before its bytes are on disk, as long as nothing speaks of them. */
	c->f.violations = 0;
	crash_ack(c);
}

static void setup(struct crash *c)
{
	AUTO(key_free) struct key *made = NULL, *key = NULL;
	AUTO(recorder_close) struct recorder r;
	struct err e = { 0 };

	assert_int_equal(key_create(sys_real(), c->t.fd, "keys", "root", &made, &e), OK);
	open_recorder(&c->t, sys_real(), &key, &r);
	assert_int_equal(note(sys_real(), &c->t, "cat before", &e), OK);
	assert_int_equal(receipt(&r, "dec-0", &e), OK);
}

/* Bound in the newest file; then a piece that was put aside without waiting for the disk, and what follows it. */
static int act(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	struct sys *s = &c->f.sys;

	open_recorder(&c->t, s, &key, &r);
	int rc = note(s, &c->t, "cat one", e);
	if (rc == OK)
		rc = receipt(&r, "dec-1", e);
	if (rc == OK)
		acknowledge(c);
	if (rc == OK)
		rc = note(s, &c->t, "cat two", e);
	if (rc == OK)
		rc = ledger_rotate(s, c->t.fd, TOOL_CALLS, 1, false, e);
	if (rc == OK)
		rc = note(s, &c->t, "cat three", e);
	if (rc == OK)
		rc = receipt(&r, "dec-2", e);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

static void expect_sound(struct crash *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct log_report report = { .is_sound = true, .doc = json_new(&a, JSON_OBJECT) };
	struct err e = { 0 };

	json_set(&a, report.doc, "findings", json_new(&a, JSON_ARRAY));
	if (audit_rows(sys_real(), &a, c->t.fd, true, &report, &e))
		fail_msg("%s", e.text);
	if (!report.is_sound)
		fail_msg("%s", json_get_text(json_at(json_get(report.doc, "findings"), 0), "text", ""));
}

struct ends {
	off_t to;
	int n;
};

static int take_end(
	void *arg, const char *file, uint64_t line, struct bytes text, const struct json *r, struct err *e)
{
	struct ends *x = arg;
	struct notes_said said;

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (receipt_notes(r, &said)) {
		assert_true(said.from == x->to);
		x->to = said.to;
		x->n++;
	}
	return 0;
}

static void check(struct crash *c, const struct crash_end *end)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	struct err e = { 0 };
	struct ends x = { 0 };
	off_t last;

	expect_sound(c);
	open_recorder(&c->t, sys_real(), &key, &r);
	assert_int_equal(note(sys_real(), &c->t, "cat after", &e), OK);
	assert_int_equal(receipt(&r, "dec-9", &e), OK);
	expect_sound(c);
	assert_int_equal(receipts_each(sys_real(), c->t.fd, take_end, &x, &e), OK);
	assert_true(x.n >= 2 + (int)end->acks);
	assert_int_equal(ledger_end(sys_real(), c->t.fd, TOOL_CALLS, &last, &e), OK);
	assert_true(x.to == last);
}

static void sweep(void **state)
{
	(void)state;
	const struct crash_case what = { "notes bound by receipts", setup, act, check };

	assert_true(crash_sweep(&what, NULL) >= 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sweep) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

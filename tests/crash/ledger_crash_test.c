/* ledger_crash_test.c — a ledger is put aside and sealed while every single system call fails or is the last one: each row is
 * there exactly once, and the next one who seals finishes, with one receipt. */
#include "base/file.h"
#include "base/text.h"
#include "record/record.h"
#include "tools/crash.h"
#include "tools/unit.h"

enum { BEFORE = 6, SMALL = 60 };

static void open_recorder(struct scratch *t, struct sys *s, struct key **key, struct recorder *r)
{
	struct err e = { 0 };

	assert_int_equal(key_load(sys_real(), t->fd, "keys", "root", key, &e), OK);
	recorder_open(r, s, t->fd, *key);
	r->ledger_bytes = SMALL;
}

static int put(struct recorder *r, int number, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *row = json_new(&a, JSON_OBJECT);
	char id[24];

	snprintf(id, sizeof(id), "dec-%d", number);
	json_seti(&a, row, "number", number);
	struct draft d = { .decision_id = id, .effect_id = "X", .status = "ALLOW", .verdict = "ALLOW" };
	int rc = recorder_row(r, &a, TASK_LEDGER, row, NULL, e);
	return rc ? rc : recorder_append(r, &a, &d, 1, NULL, e);
}

/* Leaves, edge, locks and empty directories prove nothing. */
static void acknowledge(struct crash *c)
{
	static const char *const names[] = { ".", "log", "log/leaves", "log/edge", "log/lock", "segments",
		"segments/lock" };
	struct stat st;
	bool is_rotated = scratch_has(&c->t, "segments/waiting/task-ledger-000001.jsonl") ||
		scratch_has(&c->t, "segments/task-ledger-000001.jsonl.zst");

	for (size_t k = is_rotated; k < ARRAY_SIZE(names); k++) {
		if (fstatat(c->t.fd, names[k], &st, 0))
			continue;
		for (size_t i = 0; i < c->f.unsynced_count; i++)
			if (c->f.unsynced[i].ino == st.st_ino && c->f.unsynced[i].dev == st.st_dev)
				c->f.unsynced[i--] = c->f.unsynced[--c->f.unsynced_count];
	}
	crash_ack(c);
}

static void setup(struct crash *c)
{
	AUTO(key_free) struct key *made = NULL, *key = NULL;
	AUTO(recorder_close) struct recorder r;
	struct err e = { 0 };

	assert_int_equal(key_create(sys_real(), c->t.fd, "keys", "root", &made, &e), OK);
	open_recorder(&c->t, sys_real(), &key, &r);
	r.ledger_bytes = 1 << 20;
	for (int i = 0; i < BEFORE; i++)
		assert_int_equal(put(&r, i, &e), OK);
}

/* The first row puts the ledger aside, then it is sealed, then one more row. */
static int act(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	AUTO(arena_done) struct arena a = { 0 };
	size_t n;

	open_recorder(&c->t, &c->f.sys, &key, &r);
	int rc = put(&r, BEFORE, e);
	if (rc == OK)
		acknowledge(c);
	if (rc == OK)
		rc = ledger_seal(&r, &a, &n, e);
	if (rc == OK)
		acknowledge(c);
	if (rc == OK)
		rc = put(&r, BEFORE + 1, e);
	if (rc == OK)
		acknowledge(c);
	return rc;
}

struct seen {
	int n, last;
};

static int see(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct seen *s = arg;
	int number = (int)json_get_int(row, "number", -1);

	(void)place;
	(void)line;
	(void)e;
	if (!row) /* a torn line that nobody was told about */
		return 0;
	assert_true(number > s->last);
	s->last = number;
	s->n++;
	return 0;
}

static int count_seal(
	void *arg, const char *file, uint64_t line, struct bytes text, const struct json *r, struct err *e)
{
	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (text_eq(json_get_text(r, "effect_id", ""), LEDGER_ROTATE_EFFECT) &&
		json_get_int(json_get(r, "metadata"), "number", 0) == 1)
		++*(int *)arg;
	return 0;
}

static void check(struct crash *c, const struct crash_end *end)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	AUTO(arena_done) struct arena a = { 0 };
	struct seen before = { 0, -1 }, after = { 0, -1 };
	struct err e = { 0 };
	size_t sealed;
	int receipts = 0, rows = BEFORE + (end->acks > 2 ? 2 : end->acks > 0);

	if (rows_each(sys_real(), c->t.fd, TASK_LEDGER, 0, see, &before, &e))
		fail_msg("%s", e.text);
	assert_true(before.n >= rows);
	/* The next one can append, finishes what was begun, and nothing has changed for readers. */
	open_recorder(&c->t, sys_real(), &key, &r);
	assert_int_equal(put(&r, BEFORE + 9, &e), OK);
	if (ledger_seal(&r, &a, &sealed, &e))
		fail_msg("%s", e.text);
	assert_int_equal(rows_each(sys_real(), c->t.fd, TASK_LEDGER, 0, see, &after, &e), OK);
	assert_int_equal(after.n, before.n + 1);
	assert_int_equal(receipts_each(sys_real(), c->t.fd, count_seal, &receipts, &e), OK);
	assert_int_equal(receipts, 1);
	assert_true(scratch_has(&c->t, "segments/task-ledger-000001.jsonl.zst"));
	assert_false(scratch_has(&c->t, "segments/waiting/task-ledger-000001.jsonl"));
}

static void sweep(void **state)
{
	(void)state;
	const struct crash_case what = { "ledger rotate and seal", setup, act, check };

	assert_true(crash_sweep(&what, NULL) >= 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sweep) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

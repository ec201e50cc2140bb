/* draws_crash_test.c — one budget when every single system call fails or is the last one: reserve, settle, the first draw of a run (bind), a permit
 * that is used once; with the sum kept after every receipt, and across a rotation.  Whatever happened, what is left is what the chain says: nothing that was
 * acknowledged is lost, nothing counts twice, and a use that was acknowledged cannot be repeated.  And two hundred processes on one budget. */
#include "base/file.h"
#include "base/text.h"
#include "record/record.h"
#include "tools/crash.h"
#include "tools/unit.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT = 100, RESERVE = 30, ACTUAL = 12 };
#define CASH "4:cash"
#define RUN "8:envelope|3:run|5:calls"
#define PERMIT "6:permit|3:p-1"

static void setup_key(struct crash *c)
{
	AUTO(key_free) struct key *k = NULL;
	struct err e = { 0 };

	assert_int_equal(key_create(sys_real(), c->t.fd, "keys", "root", &k, &e), OK);
}

static const char *keys_of(const struct scratch *t)
{
	static char path[sizeof(t->path) + 8];

	snprintf(path, sizeof(path), "%s/keys", t->path);
	return path;
}

static void open_recorder(struct scratch *t, struct sys *s, struct key **key, struct recorder *r)
{
	struct err e = { 0 };

	assert_int_equal(key_load(sys_real(), t->fd, "keys", "root", key, &e), OK);
	recorder_open(r, s, t->fd, *key);
	r->keys_dir = keys_of(t);
	r->draws_bytes = 0;
}

static int reserve(struct recorder *r, const char *id, int64_t amount, const char *permit, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct draw draws[] = {
		{ .kind = DRAW_BUDGET, .key = CASH, .amount = amount, .limit = LIMIT, .is_held = true },
		{ .kind = DRAW_COUNT, .key = RUN, .amount = 1, .limit = 1000 },
		{ .kind = DRAW_PERMIT, .key = permit, .amount = 1, .limit = 1 },
	};
	struct draft d = { .decision_id = id,
		.effect_id = "EXECUTE_COMMAND",
		.status = "ALLOW",
		.verdict = "ALLOW",
		.draws = draws,
		.draw_count = ARRAY_SIZE(draws) };

	return recorder_append(r, &a, &d, 1, NULL, e);
}

static int settle(struct recorder *r, const char *id, int64_t amount, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct draw_settled s = { .kind = DRAW_BUDGET, .key = CASH, .amount = amount };
	struct draft d = { .decision_id = id,
		.receipt_id = arena_printf(&a, "rcpt_%s_outcome", id),
		.effect_id = "EXECUTE_COMMAND",
		.status = "OK",
		.settles = &s,
		.settle_count = 1 };

	return recorder_append(r, &a, &d, 1, NULL, e);
}

/* The sum is made again from the receipts, as leaves and edge are, and so is never synced; its key, which is made with it, may be lost then, too.  Only
 * before an archive the key must be there to stay. */
static void acknowledge(struct crash *c, bool is_key_needed)
{
	static const char *const names[] = { "log", "log/leaves", "log/edge", "log/lock", "log/heads.jsonl",
		"log/draws", "log/draws.new", "keys", "keys/draws.key" };
	struct stat st;

	for (size_t k = 0; k < ARRAY_SIZE(names) - (is_key_needed ? 2 : 0); k++) {
		if (fstatat(c->t.fd, names[k], &st, 0))
			continue;
		for (size_t i = 0; i < c->f.unsynced_count; i++)
			if (c->f.unsynced[i].ino == st.st_ino && c->f.unsynced[i].dev == st.st_dev)
				c->f.unsynced[i--] = c->f.unsynced[--c->f.unsynced_count];
	}
	crash_ack(c);
}

static int act(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	const uint64_t *rotate_bytes = c->arg;

	open_recorder(&c->t, &c->f.sys, &key, &r);
	r.rotate_bytes = *rotate_bytes;
	int rc = reserve(&r, "dec-1", RESERVE, PERMIT, e); /* the first draw of the run, and the permit */
	if (rc == OK)
		acknowledge(c, false);
	if (rc == OK)
		rc = settle(&r, "dec-1", ACTUAL, e);
	if (rc == OK)
		acknowledge(c, false);
	if (rc == OK)
		rc = reserve(&r, "dec-2", RESERVE, "6:permit|3:p-2", e);
	if (rc == OK)
		acknowledge(c, false);
	if (rc == OK)
		rc = settle(&r, "dec-2", 0, e); /* released */
	if (rc == OK)
		acknowledge(c, false);
	return rc;
}

/* What the receipts say, added up by hand. */
struct truth {
	unsigned steps; /* of the four, those that are in the chain */
};

static int add_up(void *arg, const char *file, uint64_t line, struct bytes text, const struct json *receipt,
	struct err *e)
{
	struct truth *t = arg;
	const struct json *m = json_get(receipt, "metadata");

	(void)file, (void)line, (void)text, (void)e;
	t->steps += json_get(m, "draws") || json_get(m, "settles");
	return OK;
}

/* After so many steps: {used, held, calls}. */
static const int64_t expected[][3] = { { 0, 0, 0 }, { 0, RESERVE, 1 }, { ACTUAL, 0, 1 },
	{ ACTUAL, RESERVE, 2 }, { ACTUAL, 0, 2 } };

static void compare(const struct drawn *d, unsigned steps)
{
	const struct drawn_entry *cash = drawn_find(d, DRAW_BUDGET, CASH, 0),
				 *run = drawn_find(d, DRAW_COUNT, RUN, 0);

	assert_int_equal(cash ? cash->used : 0, expected[steps][0]);
	assert_int_equal(cash ? cash->held : 0, expected[steps][1]);
	assert_int_equal(run ? run->used : 0, expected[steps][2]);
}

static void check(struct crash *c, const struct crash_end *end)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	struct truth truth = { 0 };
	struct drawn looked;
	struct err e = { 0 };

	/* The next writer first: it sets aside what was torn. */
	open_recorder(&c->t, sys_real(), &key, &r);
	int again = reserve(&r, "again", 0, PERMIT, &e);
	assert_int_equal(receipts_each(sys_real(), c->t.fd, add_up, &truth, &e), OK);
	if (again == OK)
		truth.steps--; /* that was this one */
	else if (!text_eq(e.code, "DRAW_REFUSED"))
		fail_msg("call %u: %s", end->at, e.text);
	assert_true(truth.steps >= end->acks);
	assert_true(truth.steps <= 4);
	if (!end->was_killed && end->fault != CRASH_FAIL_ON)
		assert_int_equal(truth.steps, end->acks);
	/* A permit that was used is used: this one may have it only when the first step never was. */
	assert_int_equal(again == OK, truth.steps == 0);
	assert_int_equal(draws_look(sys_real(), c->t.fd, keys_of(&c->t), &looked, &e), OK);
	if (truth.steps)
		compare(&looked, truth.steps);
	drawn_done(&looked);
	/* And exactly what is left can be drawn, once. */
	int64_t left = LIMIT - expected[truth.steps][0] - expected[truth.steps][1];
	assert_int_equal(reserve(&r, "more", left + 1, "1:x", &e), E_DENIED);
	assert_int_equal(reserve(&r, "rest", left, "1:y", &e), OK);
	assert_int_equal(reserve(&r, "none", 1, "1:z", &e), E_DENIED);
	/* The sum that is kept is no more than the chain. */
	(void)unlinkat(c->t.fd, "log/draws", 0);
	assert_int_equal(draws_look(sys_real(), c->t.fd, keys_of(&c->t), &looked, &e), OK);
	const struct drawn_entry *cash = drawn_find(&looked, DRAW_BUDGET, CASH, 0);
	assert_int_equal(cash->used + cash->held, LIMIT);
	drawn_done(&looked);
}

static void reserve_settle_bind_use(void **state)
{
	(void)state;
	const struct crash_case what = { "reserve, settle, release", setup_key, act, check };
	uint64_t rotate_bytes = 64 << 20;

	assert_true(crash_sweep(&what, &rotate_bytes) >= 20);
}

static void across_rotations(void **state)
{
	(void)state;
	const struct crash_case what = { "the same, each in a file of its own", setup_key, act, check };
	uint64_t rotate_bytes = 1000;

	assert_true(crash_sweep(&what, &rotate_bytes) >= 25);
}

/* Before files are moved away their sum is kept: killed anywhere, it is still known what was drawn. */
static void setup_archive(struct crash *c)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	struct err e = { 0 };
	char permit[8];

	setup_key(c);
	open_recorder(&c->t, sys_real(), &key, &r);
	r.rotate_bytes = 1000;
	r.draws_bytes = 1 << 30; /* nothing is kept on the way */
	for (int i = 0; i < 4; i++) {
		snprintf(permit, sizeof(permit), "1:%d", i);
		assert_int_equal(reserve(&r, permit, 10, permit, &e), OK);
	}
}

static int act_archive(struct crash *c, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	AUTO(arena_done) struct arena a = { 0 };
	struct json *report;
	struct archive_how how = { .before_us = INT64_MAX / 4, .to = arena_printf(&a, "%s/away", c->t.path) };

	open_recorder(&c->t, &c->f.sys, &key, &r);
	int rc = log_archive(&r, &a, &how, &report, e);
	if (rc == OK)
		acknowledge(c, true);
	return rc;
}

static void check_archive(struct crash *c, const struct crash_end *end)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(recorder_close) struct recorder r;
	struct drawn looked;
	struct err e = { 0 };

	if (end->acks) {
		(void)unlinkat(c->t.fd, "log/draws", 0);
		assert_int_equal(renameat(c->t.fd, "away", c->t.fd, "gone"), 0);
	}
	assert_int_equal(draws_look(sys_real(), c->t.fd, keys_of(&c->t), &looked, &e), OK);
	assert_int_equal(drawn_find(&looked, DRAW_BUDGET, CASH, 0)->held, 40);
	drawn_done(&looked);
	open_recorder(&c->t, sys_real(), &key, &r);
	assert_int_equal(reserve(&r, "more", LIMIT - 40 + 1, "1:x", &e), E_DENIED);
	assert_int_equal(reserve(&r, "again", 1, "1:2", &e), E_DENIED);
	assert_int_equal(reserve(&r, "rest", LIMIT - 40, "1:y", &e), OK);
}

static void archive(void **state)
{
	(void)state;
	const struct crash_case what = { "what was drawn in files that are moved away", setup_archive,
		act_archive, check_archive };

	assert_true(crash_sweep(&what, NULL) >= 10);
}

/* ---- two hundred processes ---- */

enum { PROCESSES = 200, EACH = 3, BUDGET = 1000, TAKE = 3 };

/* Draws, and settles every second one at less; says how much it has used in the end. */
static void spend(struct scratch *t, int who, int to)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct key *key = NULL;
	struct recorder r;
	int64_t used = 0;

	open_recorder(t, sys_real(), &key, &r);
	r.rotate_bytes = 100 << 10;
	r.draws_bytes = 20 << 10;
	for (int i = 0; i < EACH; i++) {
		const char *id = arena_printf(&a, "dec-%d-%d", who, i);
		struct draw x = { .kind = DRAW_BUDGET,
			.key = CASH,
			.amount = TAKE,
			.limit = BUDGET,
			.is_held = i % 2 == 0 };
		struct draw_settled s = { .kind = DRAW_BUDGET, .key = CASH, .amount = TAKE - 1 };
		struct draft d = { .decision_id = id,
			.effect_id = "X",
			.status = "ALLOW",
			.verdict = "ALLOW",
			.draws = &x,
			.draw_count = 1 },
			     out = { .decision_id = id,
				     .receipt_id = arena_printf(&a, "rcpt_%s_outcome", id),
				     .effect_id = "X",
				     .status = "OK",
				     .settles = &s,
				     .settle_count = 1 };
		struct err e = { 0 };
		int rc = recorder_append(&r, &a, &d, 1, NULL, &e);
		if (rc == E_DENIED && text_eq(e.code, "DRAW_REFUSED"))
			continue;
		if (rc || (x.is_held && recorder_append(&r, &a, &out, 1, NULL, &e)))
			_exit(1);
		used += x.is_held ? TAKE - 1 : TAKE;
	}
	_exit(write(to, &used, sizeof(used)) == sizeof(used) ? 0 : 1);
}

static void two_hundred_processes(void **state)
{
	(void)state;
	struct crash c = { .arg = NULL };
	struct drawn looked, again;
	struct err e = { 0 };
	int64_t used = 0, one;
	int status, pipes[2];

	scratch_open_fast(&c.t);
	setup_key(&c);
	assert_int_equal(pipe(pipes), 0);
	for (int who = 0; who < PROCESSES; who++) {
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			spend(&c.t, who, pipes[1]);
	}
	for (int i = 0; i < PROCESSES; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
		assert_int_equal(read(pipes[0], &one, sizeof(one)), sizeof(one));
		used += one;
	}
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(draws_look(sys_real(), c.t.fd, keys_of(&c.t), &looked, &e), OK);
	const struct drawn_entry *cash = drawn_find(&looked, DRAW_BUDGET, CASH, 0);
	/* Not a cent more or less than those who were told OK have used; and who was refused was refused because nothing was left. */
	assert_int_equal(cash->used, used);
	assert_int_equal(cash->held, 0);
	assert_true(cash->used <= BUDGET);
	assert_true(cash->used > BUDGET - TAKE);
	/* The same from the receipts alone. */
	(void)unlinkat(c.t.fd, "log/draws", 0);
	assert_int_equal(draws_look(sys_real(), c.t.fd, keys_of(&c.t), &again, &e), OK);
	assert_int_equal(drawn_find(&again, DRAW_BUDGET, CASH, 0)->used, used);
	drawn_done(&looked);
	drawn_done(&again);
	scratch_done(&c.t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reserve_settle_bind_use),
		cmocka_unit_test(across_rotations),
		cmocka_unit_test(archive),
		cmocka_unit_test(two_hundred_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* log_keeper_crash_test.c — what the keeper of a log's keys gave away is remembered, whatever call fails or is the last one.
 *
 * A head and an order are asked for.  Afterwards, when one was given, no other one is signed in its place; when none was, the question can be asked again. */
#include "base/text.h"
#include "kernel/log_keeper.h"
#include "tools/crash.h"
#include "tools/log_fixture.h"
#include "tools/unit.h"

#include <unistd.h>

static const char *home_of(struct crash *c, struct arena *a)
{
	return arena_printf(a, "%s/keeper", c->t.path);
}

/* Asks a keeper that is opened for it. */
static int ask_head(struct crash *c, struct sys *s, uint64_t old, uint64_t size, uint8_t story, struct err *e)
{
	AUTO(log_keeper_close) struct log_keeper *k = NULL;
	AUTO(log_line_close) struct log_line *l = NULL;
	AUTO(arena_done) struct arena a = { 0 };
	struct tlog_head next = log_head(size, story);
	struct tlog_request request = log_step(old, size, story);
	const char *note;
	int rc = log_keeper_open(s, home_of(c, &a), &k, e);

	if (rc == OK)
		rc = log_line_open(s, "", k, &l, e);
	return rc ? rc : log_ask_head(l, &a, "team", &next, &request, NULL, &note, e);
}

static int ask_order(struct crash *c, struct sys *s, int64_t seq, const char *kind, struct err *e)
{
	AUTO(log_keeper_close) struct log_keeper *k = NULL;
	AUTO(log_line_close) struct log_line *l = NULL;
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc = json_new(&a, JSON_OBJECT), *whole = NULL;
	struct log_facts facts;
	int rc = log_keeper_open(s, home_of(c, &a), &k, e);

	if (rc == OK)
		rc = log_line_open(s, "", k, &l, e);
	if (rc == OK)
		rc = log_ask_facts(l, &a, "team", &facts, e);
	if (rc)
		return rc;
	json_sets(&a, doc, "version", FLEET_ORDER_V1);
	json_sets(&a, doc, "origin", LOG_ORIGIN);
	json_seti(&a, doc, "seq", seq);
	json_sets(&a, doc, "prev_hash", facts.order_seq < seq ? facts.order_hash : "");
	json_sets(&a, doc, "kind", kind);
	return log_ask_order(l, &a, "team", doc, &whole, e);
}

/* Locks are made before, as the first question makes them. */
static void setup(struct crash *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };

	assert_int_equal(log_keeper_create(sys_real(), &a, home_of(c, &a), "team", LOG_ORIGIN, &e), OK);
	assert_int_equal(ask_head(c, sys_real(), 0, 5, 0, &e), OK);
	assert_int_equal(ask_order(c, sys_real(), 7, "none", &e), E_DENIED);
}

static int give_head(struct crash *c, struct err *e)
{
	int rc = ask_head(c, &c->f.sys, 5, 9, 0, e);

	if (rc == OK)
		crash_ack(c);
	return rc;
}

static void no_second_head(struct crash *c, const struct crash_end *end)
{
	struct err e = { 0 };
	int rc = ask_head(c, sys_real(), 5, 9, 7, &e); /* another story of the same size */

	if (end->acks)
		assert_string_equal(e.code, "LOG_ELSEWHERE");
	else if (rc)
		assert_string_equal(e.code, "LOG_ELSEWHERE"); /* on disk, and never given */
	if (rc == OK)
		return;
	assert_int_equal(ask_head(c, sys_real(), 9, 9, 7, &e), E_DENIED);
	assert_string_equal(e.code, "LOG_DIFFERENT");
	assert_int_equal(ask_head(c, sys_real(), 9, 9, 0, &e), OK);
}

static int give_order(struct crash *c, struct err *e)
{
	int rc = ask_order(c, &c->f.sys, 1, "freeze", e);

	if (rc == OK)
		crash_ack(c);
	return rc;
}

static void no_second_order(struct crash *c, const struct crash_end *end)
{
	struct err e = { 0 };
	int rc = ask_order(c, sys_real(), 1, "unfreeze", &e);

	if (end->acks)
		assert_int_equal(rc, E_DENIED);
	if (rc)
		assert_string_equal(e.code, "LOG_ORDER_TAKEN");
	assert_int_equal(ask_order(c, sys_real(), 1, rc ? "freeze" : "unfreeze", &e), OK);
}

static void heads(void **state)
{
	static const struct crash_case what = { "head", setup, give_head, no_second_head };

	(void)state;
	assert_true(crash_sweep(&what, NULL) > 3);
}

static void orders(void **state)
{
	static const struct crash_case what = { "order", setup, give_order, no_second_order };

	(void)state;
	assert_true(crash_sweep(&what, NULL) > 3);
}

static int make(struct crash *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	int rc = log_keeper_create(&c->f.sys, &a, home_of(c, &a), "team", LOG_ORIGIN, e);

	if (rc == OK)
		crash_ack(c);
	return rc;
}

/* Made whole or made again; and then it works. */
static void it_can_be_made(struct crash *c, const struct crash_end *end)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };
	int rc = log_keeper_create(sys_real(), &a, home_of(c, &a), "team", LOG_ORIGIN, &e);

	if (rc)
		assert_string_equal(e.code, "LOG_EXISTS");
	else
		assert_int_equal(end->acks, 0);
	assert_int_equal(ask_head(c, sys_real(), 0, 5, 0, &e), OK);
}

static void keys(void **state)
{
	static const struct crash_case what = { "keys", NULL, make, it_can_be_made };

	(void)state;
	assert_true(crash_sweep(&what, NULL) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads),
		cmocka_unit_test(orders),
		cmocka_unit_test(keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* draws_test.c — what decisions use up: the arithmetic of the sum, and the chain as the truth of it: two writers, rotations, lost, old and forged sums,
 * archives. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "model/draw.h"
#include "record/record.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { US = 1000000 };
static const int64_t t0 = INT64_C(1780000000) * US;

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v;
	struct err e;

	if (json_parse(a, bytes_of(text), "test", NULL, &v, &e))
		fail_msg("%s", e.text);
	return v;
}

/* A receipt at t0 + at that draws or settles. */
static void sum_up(struct drawn *d, const char *decision, int64_t at_us, const struct draw *draws, size_t n,
	const struct draw_settled *settled, size_t m)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *receipt = json_new(&a, JSON_OBJECT), *metadata = json_new(&a, JSON_OBJECT);

	if (n)
		json_set(&a, metadata, "draws", draws_json(&a, draws, n));
	if (m)
		json_set(&a, metadata, "settles", settles_json(&a, settled, m));
	json_set(&a, receipt, "metadata", metadata);
	json_sets(&a, receipt, "decision_id", decision);
	json_sets(&a, receipt, "timestamp", text_time_z(&a, t0 + at_us));
	assert_true(drawn_receipt(d, receipt));
}

/* ---- keys ---- */

static void keys_never_meet(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *part;

	(void)state;
	assert_string_equal(draw_key(&a, "a", "", "bc", NULL), "1:a|0:|2:bc");
	assert_string_not_equal(draw_key(&a, "a|1:b", NULL), draw_key(&a, "a", "b", NULL));
	assert_true(draw_key_part(&a, "1:a|0:|2:bc", 2, &part));
	assert_string_equal(part, "bc");
	assert_true(draw_key_part(&a, "1:a|0:|2:bc", 1, &part));
	assert_string_equal(part, "");
	assert_false(draw_key_part(&a, "1:a", 1, &part));
	assert_false(draw_key_part(&a, "9:a", 0, &part));
	assert_false(draw_key_part(&a, "x:a", 0, &part));
	assert_false(draw_key_part(&a, "-1:a", 0, &part));
	for (unsigned k = 0; k < DRAW_KIND_COUNT; k++)
		assert_non_null(draw_kind_name((enum draw_kind)k));
}

/* ---- sums ---- */

static void a_budget_holds_settles_and_releases(void **state)
{
	struct drawn d = { 0 };
	struct draw x = { .kind = DRAW_BUDGET, .key = "b", .amount = 60, .limit = 100, .is_held = true };
	struct draw_settled s = { .kind = DRAW_BUDGET, .key = "b", .amount = 10 };
	const struct drawn_entry *e;

	(void)state;
	assert_null(drawn_find(NULL, DRAW_BUDGET, "b", 0));
	assert_int_equal(drawn_check(NULL, &x, t0), DRAW_FITS);
	sum_up(&d, "dec-1", 0, &x, 1, NULL, 0);
	e = drawn_find(&d, DRAW_BUDGET, "b", 0);
	assert_int_equal(e->held, 60);
	assert_int_equal(e->used, 0);
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_FULL);
	sum_up(&d, "dec-1", 1, NULL, 0, &s, 1);
	e = drawn_find(&d, DRAW_BUDGET, "b", 0);
	assert_int_equal(e->held, 0);
	assert_int_equal(e->used, 10);
	/* Once: a second outcome of the same decision, and one of a decision that held nothing, change nothing. */
	sum_up(&d, "dec-1", 2, NULL, 0, &s, 1);
	sum_up(&d, "dec-9", 2, NULL, 0, &s, 1);
	assert_int_equal(drawn_find(&d, DRAW_BUDGET, "b", 0)->used, 10);
	x.amount = 90;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_FITS);
	x.amount = 91;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_FULL);
	x.amount = -1;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_WRONG);
	x.amount = INT64_MAX;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_WRONG);
	/* What it cost more than was held is told as it is; nothing fits any more. */
	x.amount = 50;
	sum_up(&d, "dec-2", 3, &x, 1, NULL, 0);
	s.amount = 500;
	sum_up(&d, "dec-2", 4, NULL, 0, &s, 1);
	assert_int_equal(drawn_find(&d, DRAW_BUDGET, "b", 0)->used, 510);
	x.amount = 0;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_FULL);
	drawn_done(&d);
}

static void windows_nonces_and_claims(void **state)
{
	struct drawn d = { 0 };
	struct draw w = { .kind = DRAW_WINDOW,
		.key = "w",
		.amount = 1,
		.limit = 2,
		.window_us = t0,
		.window_length_us = 60 * US },
		    n = { .kind = DRAW_NONCE, .key = "n", .amount = 0, .limit = 1 };

	(void)state;
	drawn_claim(&d, &w);
	assert_int_equal(drawn_check(&d, &w, t0), DRAW_FITS);
	drawn_claim(&d, &w);
	assert_int_equal(drawn_check(&d, &w, t0), DRAW_FULL);
	drawn_unclaim(&d, &w);
	drawn_unclaim(&d, &w);
	assert_int_equal(drawn_check(&d, &w, t0), DRAW_FITS);
	assert_int_equal(drawn_check(&d, &w, t0 + 60 * US), DRAW_CLOSED);
	sum_up(&d, "a", 0, &w, 1, NULL, 0);
	sum_up(&d, "b", 0, &w, 1, NULL, 0);
	assert_int_equal(drawn_check(&d, &w, t0), DRAW_FULL);
	assert_int_equal(drawn_find(&d, DRAW_WINDOW, "w", t0)->first_us, t0);
	assert_null(drawn_find(&d, DRAW_WINDOW, "w", t0 + 1));
	drawn_claim(&d, &n);
	assert_int_equal(drawn_check(&d, &n, t0), DRAW_USED);
	drawn_unclaim(&d, &n);
	assert_int_equal(drawn_check(&d, &n, t0), DRAW_FITS);
	sum_up(&d, "c", 0, &n, 1, NULL, 0);
	assert_int_equal(drawn_check(&d, &n, t0), DRAW_USED);
	drawn_done(&d);
}

static void a_bucket_fills_again(void **state)
{
	struct drawn d = { 0 };
	struct draw x = { .kind = DRAW_BUCKET, .key = "k", .amount = 1, .limit = 3, .window_length_us = US };

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(drawn_check(&d, &x, t0), DRAW_FITS);
		sum_up(&d, "a", 0, &x, 1, NULL, 0);
	}
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_FULL);
	assert_int_equal(drawn_check(&d, &x, t0 + US), DRAW_FITS);
	x.amount = 2;
	assert_int_equal(drawn_check(&d, &x, t0 + US), DRAW_FULL);
	assert_int_equal(drawn_check(&d, &x, t0 + 10 * US), DRAW_FITS);
	x.limit = DRAW_NO_LIMIT;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_FITS);
	x.limit = 3;
	x.window_length_us = 0;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_WRONG);
	x.window_length_us = INT64_MAX / 2;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_WRONG); /* no receipt could say that */
	x.window_length_us = INT64_C(1) << 52;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_FITS);
	x.amount = x.limit = INT64_C(1) << 40;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_WRONG);
	x.amount = 1;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_WRONG);
	/* As much as a receipt can say: it is never full again. */
	x.limit = DRAW_NO_LIMIT;
	x.amount = (INT64_C(1) << 53) - 1;
	x.window_length_us = x.amount;
	sum_up(&d, "a", 0, &x, 1, NULL, 0);
	x = (struct draw){ .kind = DRAW_BUCKET, .key = "k", .amount = 1, .limit = 3, .window_length_us = US };
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_WRONG);
	drawn_done(&d);
}

/* ---- pace ---- */

/* `per_s` events in each second, from `from` for `seconds`. */
static void run(struct pace *p, int64_t from, int seconds, uint32_t per_s)
{
	for (int i = 0; i < seconds; i++)
		pace_step(p, t0 + (from + i) * US, per_s);
}

static void the_ladder(void **state)
{
	struct pace p = { 0 };

	(void)state;
	run(&p, 0, 60, 5); /* five a second: nothing */
	assert_int_equal(p.level, PACE_OBSERVE);
	run(&p, 60, 60, 20); /* after 20 s of this the rate passes ten; sustained for five */
	assert_int_equal(p.level, PACE_THROTTLE);
	run(&p, 120, 40, 60);
	assert_int_equal(p.level, PACE_THROTTLE);
	run(&p, 160, 40, 60);
	assert_int_equal(p.level, PACE_INTERRUPT);
	run(&p, 200, 10, 5000); /* straight to the top */
	assert_int_equal(p.level, PACE_FAIL_CLOSED);
	/* Slow again: one level at a time, each after its own cooldown. */
	pace_step(&p, t0 + 300 * US, 1);
	assert_int_equal(p.level, PACE_FAIL_CLOSED);
	pace_step(&p, t0 + 505 * US, 1);
	assert_int_equal(p.level, PACE_QUARANTINE);
	pace_step(&p, t0 + 506 * US, 1);
	assert_int_equal(p.level, PACE_QUARANTINE);
	pace_step(&p, t0 + 700 * US, 1);
	pace_step(&p, t0 + 800 * US, 1);
	pace_step(&p, t0 + 900 * US, 1);
	assert_int_equal(p.level, PACE_OBSERVE);
	/* A clock that goes back counts as now. */
	pace_step(&p, t0, UINT32_MAX);
	pace_step(&p, t0, UINT32_MAX);
	assert_int_equal(p.newest_s, t0 / US + 900);
	assert_int_equal(p.events[p.newest_s % PACE_WINDOW_S], UINT32_MAX);
	assert_string_equal(pace_level_name(PACE_QUARANTINE), "QUARANTINE");
	assert_int_equal(pace_hold_s(PACE_QUARANTINE), 120);
}

static void pace_is_refused_above_throttle(void **state)
{
	struct drawn d = { 0 };
	struct draw x = { .kind = DRAW_PACE, .key = "p", .amount = 200 };

	(void)state;
	assert_int_equal(drawn_check(&d, &x, t0), DRAW_FITS);
	for (int i = 0; i < 60; i++)
		sum_up(&d, "a", (int64_t)i * US, &x, 1, NULL, 0);
	assert_int_equal(drawn_check(&d, &x, t0 + 61 * US), DRAW_FULL);
	x.limit = DRAW_NO_LIMIT;
	assert_int_equal(drawn_check(&d, &x, t0 + 61 * US), DRAW_FITS);
	x.amount = INT64_C(1) << 40;
	sum_up(&d, "a", 62 * US, &x, 1, NULL, 0);
	x.limit = 0;
	assert_int_equal(drawn_check(&d, &x, t0 + 61 * US), DRAW_FULL);
	drawn_done(&d);
}

/* ---- reading ---- */

/* Whatever can be drawn can be read again from its receipt: otherwise one draw would make the sum unknown for ever. */
static void what_is_drawn_can_be_read(void **state)
{
	static const int64_t numbers[] = { 0, 1, (INT64_C(1) << 53) - 1, INT64_C(1) << 53, INT64_MAX, -1 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers) * ARRAY_SIZE(numbers) * ARRAY_SIZE(numbers); i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct draw x = { .kind = DRAW_COUNT,
			.key = "k",
			.amount = numbers[i % 6],
			.limit = DRAW_NO_LIMIT - (int64_t)(i % 2),
			.window_us = numbers[i / 6 % 6],
			.window_length_us = numbers[i / 36] },
			    again;
		bool fits = drawn_check(NULL, &x, 0) == DRAW_FITS;
		if (fits)
			assert_true(draw_read(json_at(draws_json(&a, &x, 1), 0), &again));
		assert_int_equal(draw_until(x.amount),
			x.amount > (INT64_C(1) << 53) - 1 || x.amount < 0 ? 0 : x.amount);
		struct draw_settled s = { .kind = DRAW_BUDGET, .key = "k", .amount = INT64_MAX };
		struct drawn d = { 0 };
		sum_up(&d, "dec", 0, NULL, 0, &s, 1);
		drawn_done(&d);
	}
}

static void what_cannot_be_read_is_told(void **state)
{
	static const char *const bad[] = {
		"{\"metadata\":{\"draws\":[]}}",
		"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"draws\":{}}}",
		"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"settles\":7}}",
		"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"draws\":[{\"kind\":\"x\",\"key\":\"k\",\"amount\":1}]}}",
		"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"draws\":[{\"kind\":\"budget\",\"amount\":1}]}}",
		"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"draws\":[{\"kind\":\"budget\",\"key\":\"k\"}]}}",
		"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"draws\":[{\"kind\":\"budget\",\"key\":\"k\",\"amount\":1.5}]}}",
		"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"draws\":[{\"kind\":\"budget\",\"key\":\"k\",\"amount\":1,\"limit\":\"x\"}]}}",
		"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"draws\":[{\"kind\":\"budget\",\"key\":\"k\",\"amount\":1,\"window_us\":\"x\"}]}}",
		"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"draws\":[{\"kind\":\"budget\",\"key\":\"k\",\"amount\":1,\"length_us\":[]}]}}",
		"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"settles\":[{\"kind\":\"budget\",\"key\":\"k\",\"amount\":-1}]}}",
		"{\"timestamp\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"settles\":[{\"kind\":\"budget\",\"amount\":1}]}}"
	};
	AUTO(arena_done) struct arena a = { 0 };
	struct drawn d = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (drawn_receipt(&d, parse(&a, bad[i])))
			fail_msg("read: %s", bad[i]);
	assert_true(drawn_receipt(&d, parse(&a, "{\"metadata\":{\"other\":[]}}")));
	assert_int_equal(d.n, 0);
	drawn_done(&d);
}

/* Everything there is, as a document and back: the same. */
static void a_document_and_back(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct drawn d = { 0 }, again = { 0 };
	struct draw draws[] = {
		{ .kind = DRAW_BUDGET, .key = "b", .amount = 60, .limit = 100, .is_held = true },
		{ .kind = DRAW_PACE, .key = "p", .amount = 7 },
		{ .kind = DRAW_BUCKET, .key = "k", .amount = 1, .limit = 3, .window_length_us = US },
		{ .kind = DRAW_PERMIT, .key = "x", .amount = 1, .limit = 1, .window_length_us = t0 },
		{ .kind = DRAW_WINDOW,
			.key = "w",
			.amount = 1,
			.limit = DRAW_NO_LIMIT,
			.window_us = t0,
			.window_length_us = US }
	};

	(void)state;
	sum_up(&d, "dec", 5, draws, ARRAY_SIZE(draws), NULL, 0);
	struct json *doc = drawn_json(&a, &d);
	assert_true(drawn_from_json(&again, doc));
	assert_int_equal(again.n, d.n);
	assert_int_equal(again.newest_us, t0 + 5);
	size_t at = 0;
	const struct drawn_entry *e;
	while ((e = drawn_next(&d, &at))) {
		const struct drawn_entry *x = drawn_find(&again, e->kind, e->key, e->window_us);
		assert_non_null(x);
		assert_int_equal(x->used, e->used);
		assert_int_equal(x->held, e->held);
		assert_int_equal(x->first_us, e->first_us);
		assert_int_equal(x->last_us, e->last_us);
		assert_int_equal(x->length_us, e->length_us);
		if (e->pace)
			assert_memory_equal(x->pace, e->pace, sizeof(*e->pace));
	}
	drawn_done(&again);
	assert_false(drawn_from_json(&again, parse(&a, "{}")));
	drawn_done(&again);
	assert_false(drawn_from_json(&again, parse(&a, "{\"newest_us\":1}")));
	drawn_done(&again);
	/* Each member of each entry matters. */
	struct json *entries = json_get(doc, "entries");
	for (uint32_t i = 0; i < entries->n; i++)
		for (uint32_t k = 0; k < entries->items[i]->n; k++) {
			struct json *broken = json_copy(&a, doc),
				    *v = json_at(json_get(broken, "entries"), i);
			(void)json_remove(v, arena_strdup(&a, v->members[k].name));
			assert_false(drawn_from_json(&again, broken));
			drawn_done(&again);
		}
	struct json *twice = json_copy(&a, doc);
	json_push(&a, json_get(twice, "entries"), json_at(entries, 0));
	assert_false(drawn_from_json(&again, twice));
	drawn_done(&again);
	static const char *const paces[][2] = { { "level", "9" }, { "level", "-1" },
		{ "entered_us", "\"x\"" }, { "newest_s", "-1" }, { "above_us", "[1]" }, { "events", "[1]" },
		{ "events", "[-1]" }, { "events", "[99999999999]" }, { "newest_s", "null" },
		{ "newest_s", "9223372036854775807" } };
	for (size_t i = 0; i < ARRAY_SIZE(paces); i++) {
		struct json *broken = json_copy(&a, doc);
		json_each (v, json_get(broken, "entries"))
			if (json_get(v, "pace"))
				json_set(&a, json_get(v, "pace"), paces[i][0], parse(&a, paces[i][1]));
		assert_false(drawn_from_json(&again, broken));
		drawn_done(&again);
	}
	drawn_done(&d);
}

static void what_is_over_is_forgotten(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct drawn d = { 0 };
	struct draw kept[] = { { .kind = DRAW_BUDGET, .key = "b", .amount = 1, .limit = 9 },
		{ .kind = DRAW_NONCE, .key = "for ever", .amount = 1, .limit = 1 },
		{ .kind = DRAW_BUDGET, .key = "held", .amount = 5, .limit = 9, .is_held = true } },
		    old[] = { { .kind = DRAW_NONCE,
				      .key = "expired",
				      .amount = 1,
				      .limit = 1,
				      .window_length_us = t0 },
			    { .kind = DRAW_BUCKET,
				    .key = "full",
				    .amount = 1,
				    .limit = 3,
				    .window_length_us = US },
			    { .kind = DRAW_PACE, .key = "calm", .amount = 1 } };
	const int64_t later = (int64_t)100 * 3600 * US;

	(void)state;
	sum_up(&d, "dec", 0, kept, ARRAY_SIZE(kept), NULL, 0);
	sum_up(&d, "dec", 0, old, ARRAY_SIZE(old), NULL, 0);
	drawn_sweep(&d);
	assert_int_equal(d.n, 7); /* and what dec holds; there are too few to bother */
	for (int i = 0; i < 1100; i++) {
		struct draw w = { .kind = DRAW_WINDOW,
			.key = arena_printf(&a, "%d", i),
			.amount = 1,
			.limit = 2,
			.window_us = t0 + (i >= 1000 ? later : 0),
			.window_length_us = 60 * US };
		sum_up(&d, "dec", later, &w, 1, NULL, 0);
	}
	drawn_claim(&d, &(struct draw){ .kind = DRAW_COUNT, .key = "claimed", .amount = 1 });
	drawn_sweep(&d);
	assert_int_equal(d.n, 100 + ARRAY_SIZE(kept) + 1 + 1);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		assert_non_null(drawn_find(&d, kept[i].kind, kept[i].key, 0));
	for (size_t i = 0; i < ARRAY_SIZE(old); i++)
		assert_null(drawn_find(&d, old[i].kind, old[i].key, 0));
	struct draw_settled s = { .kind = DRAW_BUDGET, .key = "held", .amount = 2 };
	sum_up(&d, "dec", later, NULL, 0, &s, 1);
	assert_int_equal(drawn_find(&d, DRAW_BUDGET, "held", 0)->used, 2);
	drawn_done(&d);
}

/* ---- the chain ---- */

struct fixture {
	struct arena a;
	struct scratch dir;
	const char *keys;
	struct key *key;
	struct recorder r;
};

static void open_with(struct fixture *f, struct recorder *r)
{
	recorder_open(r, sys_real(), f->dir.fd, f->key);
	r->keys_dir = f->keys;
}

static void begin(struct fixture *f)
{
	struct err e = { 0 };

	*f = (struct fixture){ 0 };
	scratch_open_fast(&f->dir);
	assert_int_equal(key_create(sys_real(), f->dir.fd, "keys", "root", &f->key, &e), OK);
	f->keys = arena_printf(&f->a, "%s/keys", f->dir.path);
	open_with(f, &f->r);
}

static void end(struct fixture *f)
{
	recorder_close(&f->r);
	key_free(&f->key);
	scratch_done(&f->dir);
	arena_done(&f->a);
}

static int draw_with(
	struct recorder *r, const char *id, int64_t amount, int64_t limit, bool is_held, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct draw x = {
		.kind = DRAW_BUDGET, .key = "4:cash", .amount = amount, .limit = limit, .is_held = is_held
	};
	struct draft d = { .decision_id = id,
		.effect_id = "EXECUTE_COMMAND",
		.status = "ALLOW",
		.verdict = "ALLOW",
		.draws = &x,
		.draw_count = 1 };

	return recorder_append(r, &a, &d, 1, NULL, e);
}

static int settle_with(struct recorder *r, const char *id, int64_t amount, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct draw_settled s = { .kind = DRAW_BUDGET, .key = "4:cash", .amount = amount };
	struct draft d = { .decision_id = id,
		.receipt_id = arena_printf(&a, "rcpt_%s_outcome", id),
		.effect_id = "EXECUTE_COMMAND",
		.status = "OK",
		.settles = &s,
		.settle_count = 1 };

	return recorder_append(r, &a, &d, 1, NULL, e);
}

/* What whoever only looks finds. */
static int64_t left_of(struct fixture *f, int64_t limit)
{
	struct drawn d;
	struct err e = { 0 };

	if (draws_look(sys_real(), f->dir.fd, f->keys, &d, &e))
		fail_msg("%s", e.text);
	const struct drawn_entry *x = drawn_find(&d, DRAW_BUDGET, "4:cash", 0);
	int64_t left = limit - (x ? x->used + x->held : 0);
	drawn_done(&d);
	return left;
}

static void assert_refused(struct recorder *r, int64_t amount, int64_t limit)
{
	struct err e = { 0 };

	assert_int_equal(draw_with(r, "no", amount, limit, false, &e), E_DENIED);
	assert_string_equal(e.code, "DRAW_REFUSED");
	assert_non_null(strstr(e.text, "4:cash"));
}

static void two_writers_share_one_budget(void **state)
{
	struct fixture f;
	struct recorder other;
	struct err e = { 0 };
	const struct drawn *d;

	(void)state;
	begin(&f);
	open_with(&f, &other);
	assert_int_equal(left_of(&f, 100), 100);
	assert_int_equal(draw_with(&f.r, "dec-1", 60, 100, true, &e), OK);
	assert_refused(&other, 41, 100);
	assert_int_equal(draw_with(&other, "dec-2", 40, 100, false, &e), OK);
	assert_refused(&f.r, 1, 100);
	assert_int_equal(left_of(&f, 100), 0);
	assert_int_equal(settle_with(&other, "dec-1", 25, &e), OK);
	assert_int_equal(left_of(&f, 100), 35);
	assert_int_equal(draw_with(&f.r, "dec-3", 35, 100, false, &e), OK);
	assert_refused(&other, 1, 100);
	assert_int_equal(recorder_drawn(&other, &f.a, &d, &e), OK);
	assert_int_equal(drawn_find(d, DRAW_BUDGET, "4:cash", 0)->used, 100);
	/* Who has no key only looks; with one, it goes on by the chain and not by what it saw. */
	struct recorder reader;
	recorder_open(&reader, sys_real(), f.dir.fd, NULL);
	assert_int_equal(recorder_drawn(&reader, &f.a, &d, &e), OK);
	assert_int_equal(drawn_find(d, DRAW_BUDGET, "4:cash", 0)->used, 100);
	reader.key = f.key;
	assert_int_equal(draw_with(&reader, "dec-4", 10, 110, false, &e), OK);
	assert_int_equal(left_of(&f, 110), 0);
	assert_int_equal(recorder_drawn(&reader, &f.a, &d, &e), OK);
	assert_int_equal(drawn_find(d, DRAW_BUDGET, "4:cash", 0)->used, 110);
	recorder_close(&reader);
	/* A refusal left nothing in the chain. */
	assert_null(strstr(scratch_get(&f.dir, "receipts.jsonl"), "\"decision_id\":\"no\""));
	recorder_close(&other);
	end(&f);
}

/* Draws stand in the part of the receipt that its id binds: whoever changes them breaks the receipt. */
static void a_receipt_without_draws_is_as_before(void **state)
{
	struct fixture f;
	struct draft d = { .decision_id = "x", .effect_id = "X", .status = "ALLOW", .verdict = "ALLOW" };
	struct err e = { 0 };

	(void)state;
	begin(&f);
	assert_int_equal(recorder_append(&f.r, &f.a, &d, 1, NULL, &e), OK);
	assert_null(f.r.fold); /* nobody asked for a sum, and none was made */
	assert_null(strstr(scratch_get(&f.dir, "receipts.jsonl"), "draws"));
	assert_false(scratch_has(&f.dir, "log/draws"));
	end(&f);
}

/* Across rotations, with the sum kept after every receipt, after some, and never. */
static void rotations_and_kept_sums(void **state)
{
	static const off_t keeps[] = { 0, 5000, 1 << 30 };

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(keeps); k++) {
		struct fixture f;
		struct err e = { 0 };
		begin(&f);
		for (int i = 0; i < 30; i++) {
			struct recorder r;
			open_with(&f, &r);
			r.rotate_bytes = 6000;
			r.draws_bytes = keeps[k];
			assert_int_equal(draw_with(&r, arena_printf(&f.a, "d-%d", i), 3, 90, i % 2, &e), OK);
			assert_int_equal(left_of(&f, 90), 90 - 3 * (i + 1));
			assert_refused(&r, 90, 90);
			recorder_close(&r);
		}
		assert_true(scratch_has(&f.dir, "receipts-000002.jsonl"));
		assert_int_equal(scratch_has(&f.dir, "log/draws"), keeps[k] < 1 << 30);
		assert_refused(&f.r, 1, 90);
		end(&f);
	}
}

/* Whoever can write everything but the keys says that nothing was drawn, at the right place, with a digest, a mark of another key, or the mark of the
 * true one; the sum of archived files, too. */
static void sums_need_the_key(void **state)
{
	static const char *const names[] = { "log/draws", "log/draws.base" };

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		struct fixture f;
		struct recorder r;
		struct err e = { 0 };
		uint8_t key[BOX_KEY] = { 7 }, mac[BOX_KEY];
		char hex[2 * BOX_KEY + 1];
		begin(&f);
		f.r.draws_bytes = 0;
		assert_int_equal(draw_with(&f.r, "d-1", 70, 100, false, &e), OK);
		char *text = arena_strdup(&f.a, scratch_get(&f.dir, "log/draws")),
		     *body = strchr(text, '\n') + 1, *used = strstr(body, "\"used\":70");
		assert_non_null(used);
		used[strlen("\"used\":")] = '1';
		box_derive(key, bytes_of(arena_printf(&f.a, "HELM/Draws/v2\n%s", body)), mac);
		hex_encode(mac, sizeof(mac), hex);
		const char *front = i / 2 == 0 ? sha256_hex(&f.a, body, strlen(body))
			: i / 2 == 1	       ? hex
			: i / 2 == 2	       ? arena_strndup(&f.a, text, 64)
					       : "";
		unlinkat(f.dir.fd, "log/draws", 0);
		scratch_put(&f.dir, names[i % 2], arena_printf(&f.a, "%s\n%s", front, body));
		assert_int_equal(left_of(&f, 100), 30);
		open_with(&f, &r);
		assert_refused(&r, 31, 100);
		recorder_close(&r);
		end(&f);
	}
}

/* The key is made once, for its owner only; without it, or with another, the chain is read. */
static void the_key_of_the_sums(void **state)
{
	struct fixture f;
	struct err e = { 0 };
	struct drawn d;
	struct stat st;

	(void)state;
	begin(&f);
	f.r.draws_bytes = 0;
	assert_int_equal(draw_with(&f.r, "d-1", 70, 100, false, &e), OK);
	assert_int_equal(fstatat(f.dir.fd, "keys/draws.key", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	char *made = arena_strdup(&f.a, scratch_get(&f.dir, "keys/draws.key"));
	assert_int_equal(draw_with(&f.r, "d-2", 10, 100, false, &e), OK);
	assert_string_equal(scratch_get(&f.dir, "keys/draws.key"), made);
	assert_int_equal(draws_look(sys_real(), f.dir.fd, NULL, &d, &e), OK);
	assert_int_equal(drawn_find(&d, DRAW_BUDGET, "4:cash", 0)->used, 80);
	drawn_done(&d);
	scratch_put(&f.dir, "keys/draws.key", "no key");
	assert_int_equal(left_of(&f, 100), 20);
	assert_int_equal(draw_with(&f.r, "d-3", 20, 100, false, &e), OK);
	assert_int_equal(left_of(&f, 100), 0);
	end(&f);
}

/* A sum that is lost, torn, forged or of another chain is not believed. */
static void only_the_chain_is_believed(void **state)
{
	static const char *const texts[] = { NULL, "", "garbage", "0000\n{}", "{\"drawn\":{}}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts) + 3; i++) {
		struct fixture f;
		struct recorder r;
		struct err e = { 0 };
		begin(&f);
		f.r.draws_bytes = 0;
		assert_int_equal(draw_with(&f.r, "d-1", 70, 100, false, &e), OK);
		char *early = arena_strdup(&f.a, scratch_get(&f.dir, "log/draws"));
		assert_int_equal(draw_with(&f.r, "d-2", 20, 100, false, &e), OK);
		char *late = arena_strdup(&f.a, scratch_get(&f.dir, "log/draws"));
		if (i < ARRAY_SIZE(texts) && !texts[i])
			unlinkat(f.dir.fd, "log/draws", 0);
		else if (i < ARRAY_SIZE(texts))
			scratch_put(&f.dir, "log/draws", texts[i]);
		else if (i == ARRAY_SIZE(texts)) /* an old one is fine: it goes on from there */
			scratch_put(&f.dir, "log/draws", early);
		else { /* one with a digest of its own, that says less was drawn: its place is right, or its hash is wrong */
			char *doc = strchr(i == ARRAY_SIZE(texts) + 1 ? early : late, '\n') + 1,
			     *last = strstr(doc, "\"last\":\"") + 8;
			*last = *last == 'a' ? 'b' : 'a';
			scratch_put(&f.dir, "log/draws",
				arena_printf(&f.a, "%s\n%s", sha256_hex(&f.a, doc, strlen(doc)), doc));
		}
		assert_int_equal(left_of(&f, 100), 10);
		open_with(&f, &r);
		assert_refused(&r, 11, 100);
		assert_int_equal(draw_with(&r, "d-3", 10, 100, false, &e), OK);
		recorder_close(&r);
		assert_refused(&f.r, 1, 100);
		end(&f);
	}
}

/* What was moved away with its sum kept can be missing; what nobody kept cannot. */
static void archives(void **state)
{
	struct fixture f;
	struct err e = { 0 };
	struct json *report;

	(void)state;
	for (int variant = 0; variant < 2; variant++) {
		begin(&f);
		f.r.rotate_bytes = 4000;
		for (int i = 0; i < 12; i++)
			assert_int_equal(
				draw_with(&f.r, arena_printf(&f.a, "d-%d", i), 5, 100, false, &e), OK);
		char *to = arena_printf(&f.a, "%s/away", f.dir.path);
		struct archive_how how = { .before_us = INT64_MAX / 4, .to = to };
		assert_int_equal(log_archive(&f.r, &f.a, &how, &report, &e), OK);
		assert_true(scratch_has(&f.dir, "receipts-000001.jsonl.archived"));
		assert_true(scratch_has(&f.dir, "log/draws.base"));
		assert_int_equal(rename(to, arena_printf(&f.a, "%s/gone", f.dir.path)), 0);
		recorder_close(&f.r);
		open_with(&f, &f.r);
		if (variant) {
			unlinkat(f.dir.fd, "log/draws", 0);
			unlinkat(f.dir.fd, "log/draws.base", 0);
			assert_int_equal(draw_with(&f.r, "x", 1, 100, false, &e), E_MISSING);
			assert_string_equal(e.code, "DRAWS_ARCHIVED");
			struct drawn d;
			assert_int_equal(draws_look(sys_real(), f.dir.fd, f.keys, &d, &e), E_MISSING);
			assert_int_equal(rename(arena_printf(&f.a, "%s/gone", f.dir.path), to), 0);
		}
		assert_refused(&f.r, 41, 100);
		assert_int_equal(draw_with(&f.r, "y", 40, 100, false, &e), OK);
		assert_int_equal(left_of(&f, 100), 0);
		end(&f);
	}
}

/* ---- many writers in one process ---- */

enum { THREADS = 16, EACH = 25, LIMIT = 300 };
struct crowd {
	struct recorder_group *g;
	int number, drawn, refused;
};

static void *draw_some(void *arg)
{
	struct crowd *c = arg;

	for (int i = 0; i < EACH; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		struct draw x = { .kind = DRAW_BUDGET, .key = "4:cash", .amount = 1, .limit = LIMIT };
		struct draft d = { .decision_id = arena_printf(&a, "d-%d-%d", c->number, i),
			.effect_id = "X",
			.status = "ALLOW",
			.verdict = "ALLOW",
			.draws = &x,
			.draw_count = i % 5 != 4 }; /* some draw nothing, and are never refused */
		struct err e = { 0 };
		int rc = recorder_group_append(c->g, NULL, &d, 1, NULL, &e);
		if (rc == OK)
			c->drawn += (int)d.draw_count;
		else if (rc == E_DENIED && d.draw_count && text_eq(e.code, "DRAW_REFUSED"))
			c->refused++;
		else
			abort();
	}
	return NULL;
}

static void a_group_refuses_only_who_is_too_late(void **state)
{
	struct fixture f;
	struct crowd crowd[THREADS];
	pthread_t threads[THREADS];
	int drawn = 0, refused = 0;

	(void)state;
	begin(&f);
	struct recorder_group *g = recorder_group_new(&f.r);
	for (int i = 0; i < THREADS; i++) {
		crowd[i] = (struct crowd){ .g = g, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, draw_some, &crowd[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		drawn += crowd[i].drawn;
		refused += crowd[i].refused;
	}
	recorder_group_free(g);
	assert_int_equal(drawn, LIMIT);
	assert_int_equal(refused, THREADS * EACH / 5 * 4 - LIMIT);
	assert_int_equal(left_of(&f, LIMIT), 0);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_never_meet),
		cmocka_unit_test(a_budget_holds_settles_and_releases),
		cmocka_unit_test(windows_nonces_and_claims),
		cmocka_unit_test(a_bucket_fills_again),
		cmocka_unit_test(the_ladder),
		cmocka_unit_test(pace_is_refused_above_throttle),
		cmocka_unit_test(what_is_drawn_can_be_read),
		cmocka_unit_test(what_cannot_be_read_is_told),
		cmocka_unit_test(a_document_and_back),
		cmocka_unit_test(what_is_over_is_forgotten),
		cmocka_unit_test(two_writers_share_one_budget),
		cmocka_unit_test(a_receipt_without_draws_is_as_before),
		cmocka_unit_test(rotations_and_kept_sums),
		cmocka_unit_test(only_the_chain_is_believed),
		cmocka_unit_test(sums_need_the_key),
		cmocka_unit_test(the_key_of_the_sums),
		cmocka_unit_test(archives),
		cmocka_unit_test(a_group_refuses_only_who_is_too_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

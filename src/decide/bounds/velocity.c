/* velocity.c — the gate of velocity: how often, how fast; and how a caller behaves toward a connector that fails.
 *
 * Everybody has a pace of their own: one who hurries holds up nobody else.  Only what is done counts, not what is refused.  What is too fast is a
 * question for a person; when they say yes, what they said yes to is counted and not bounded. */
#include "decide/bounds/parts.h"

#include "base/hash.h"

#include <string.h>

enum { US = 1000000 };

static void count(struct judging *j, const struct drawn *drawn, struct draw x, const char *rule,
	struct gate_answer *ret)
{
	if (drawn_check(drawn, &x, j->facts->now_us) != DRAW_FITS) {
		x.limit = DRAW_NO_LIMIT;
		gate_escalate(ret, REASON_TEMPORAL_THROTTLE, rule,
			arena_printf(j->a, "More than %s allows came too quickly.", rule));
	}
	gate_draw(j, &x);
}

static void judge_windows(
	struct judging *j, const struct limits *l, const struct drawn *drawn, struct gate_answer *ret)
{
	for (size_t i = 0; i < l->window_count; i++) {
		if (!limit_holds(&l->windows[i], j->ask))
			continue;
		struct draw x = limit_draw(&l->windows[i], j, DRAW_WINDOW, "window", 1);
		x.window_length_us = json_get_int(l->windows[i].doc, "seconds", 1) * US;
		x.window_us = j->facts->now_us - j->facts->now_us % x.window_length_us;
		count(j, drawn, x, l->windows[i].id, ret);
	}
	for (size_t i = 0; i < l->bucket_count; i++) {
		if (!limit_holds(&l->buckets[i], j->ask))
			continue;
		struct draw x = limit_draw(&l->buckets[i], j, DRAW_BUCKET, "bucket", 1);
		x.window_length_us = (int64_t)60 * US / json_get_int(l->buckets[i].doc, "per_minute", 1);
		count(j, drawn, x, l->buckets[i].id, ret);
	}
}

/* One who may not go on is asked about, with the level as the finer code. */
static void judge_pace(struct judging *j, const struct drawn *drawn, struct gate_answer *ret)
{
	const char *who = j->facts->principal ? j->facts->principal : "";
	struct draw x = { .kind = DRAW_PACE, .key = draw_key(j->a, "pace", who, NULL), .amount = 1 };
	const struct drawn_entry *e = drawn_find(drawn, x.kind, x.key, 0);
	struct pace after = { 0 };

	if (e)
		after = *e->pace;
	pace_step(&after, j->facts->now_us, 1);
	if (after.level > PACE_THROTTLE) {
		x.limit = DRAW_NO_LIMIT;
		gate_escalate(ret, REASON_TEMPORAL_INTERVENTION, "ladder",
			arena_printf(j->a, "%s acts too fast (%s); wait %d seconds.", *who ? who : "Somebody",
				pace_level_name(after.level), pace_hold_s(after.level)));
		ret->detail_code = pace_level_name(after.level);
	}
	gate_draw(j, &x);
}

static bool bounds_pace(const struct limits *l)
{
	return l && (l->window_count || l->bucket_count || l->has_ladder);
}

void gate_velocity(struct judging *j, struct gate_answer *ret)
{
	const struct velocity_facts *f = j->facts->velocity;
	const struct limits *both[] = { j->limits, f ? f->limits : NULL };

	ret->is_active = bounds_pace(both[0]) || bounds_pace(both[1]);
	if (!ret->is_active)
		return;
	if (!f || f->error)
		return gate_deny(ret, REASON_RATE_LIMIT_STORE_ERROR, NULL,
			f ? f->error : "Nobody knows what was done so far.");
	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		if (!both[i])
			continue;
		judge_windows(j, both[i], f->drawn, ret);
		if (both[i]->has_ladder)
			judge_pace(j, f->drawn, ret);
	}
}

/* ---- a connector that fails ---- */

enum { BREAKER_FAILURES = 5 };
static const int64_t breaker_rest_us = (int64_t)30 * US;

bool breaker_may(struct breaker *b, int64_t now_us)
{
	if (b->state == BREAKER_CLOSED)
		return true;
	if (b->state == BREAKER_OPEN && now_us - b->opened_us >= breaker_rest_us) {
		b->state = BREAKER_HALF_OPEN;
		b->is_probing = false;
	}
	if (b->state == BREAKER_OPEN || b->is_probing)
		return false;
	b->is_probing = true;
	return true;
}

void breaker_result(struct breaker *b, bool is_ok, int64_t now_us)
{
	if (is_ok) {
		*b = (struct breaker){ .state = BREAKER_CLOSED };
		return;
	}
	b->failures++;
	if (b->state == BREAKER_HALF_OPEN || b->failures >= BREAKER_FAILURES) {
		b->state = BREAKER_OPEN;
		b->opened_us = now_us;
	}
}

/* Jitter that everybody computes the same: from the seed and the number of the attempt. */
static int64_t jitter(struct arena *a, const char *seed, uint32_t attempt, int64_t most)
{
	const char *text = arena_printf(a, "%s|%u", seed, attempt);
	uint8_t hash[SHA256_SIZE];
	uint64_t n = 0;

	sha256(text, strlen(text), hash);
	for (size_t i = 0; i < 7; i++)
		n = n << 8 | hash[i];
	return (int64_t)(n % ((uint64_t)most + 1));
}

int backoff_schedule(
	struct arena *a, const struct backoff *b, const char *seed, int64_t **ret_ms, struct err *e)
{
	enum { MOST_ATTEMPTS = 1000, MOST_MS = 1 << 30 };
	int64_t wait = b->base_ms, at = 0;

	if (b->base_ms < 1 || b->max_ms < b->base_ms || b->max_ms > MOST_MS || b->max_jitter_ms < 0 ||
		b->max_jitter_ms > MOST_MS || b->max_attempts < 1 || b->max_attempts > MOST_ATTEMPTS ||
		b->exponential_base < 1)
		return err_set(e, E_INPUT, "BACKOFF",
			"a schedule has 1 to %d attempts, waits from 1 to %d ms and no negative jitter",
			MOST_ATTEMPTS, MOST_MS);
	int64_t *list = arena_zalloc(a, b->max_attempts, sizeof(*list));
	for (uint32_t i = 0; i < b->max_attempts; i++) {
		at += wait + jitter(a, seed, i, b->max_jitter_ms);
		list[i] = at;
		wait *= b->exponential_base; /* both are below 2^32 */
		if (wait > b->max_ms)
			wait = b->max_ms;
	}
	*ret_ms = list;
	return OK;
}

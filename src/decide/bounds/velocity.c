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

bool limits_pace(const struct limits *l)
{
	return l && (l->window_count || l->bucket_count || l->has_ladder);
}

void gate_velocity(struct judging *j, struct gate_answer *ret)
{
	const struct velocity_facts *f = j->facts->velocity;
	const struct limits *l = j->limits;

	ret->is_active = limits_pace(l);
	if (!ret->is_active)
		return;
	if (!f || f->error)
		return gate_deny(ret, REASON_RATE_LIMIT_STORE_ERROR, NULL,
			f ? f->error : "Nobody knows what was done so far.");
	judge_windows(j, l, f->drawn, ret);
	if (l->has_ladder)
		judge_pace(j, f->drawn, ret);
}

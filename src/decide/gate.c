/* gate.c — what gates say in one line each; see gate.h. */
#include "decide/gate.h"

#include "base/text.h"

#include <stdint.h>

static void say(
	struct gate_answer *ret, enum verdict v, enum reason_code code, const char *rule, const char *text)
{
	ret->verdict = v;
	ret->is_active = true;
	ret->code = code;
	ret->rule = rule;
	ret->text = text;
}

void gate_deny(struct gate_answer *ret, enum reason_code code, const char *rule, const char *text)
{
	say(ret, V_DENY, code, rule, text);
}

void gate_escalate(struct gate_answer *ret, enum reason_code code, const char *rule, const char *text)
{
	say(ret, V_ESCALATE, code, rule, text);
}

static int64_t larger(int64_t x, int64_t y)
{
	return x > y ? x : y;
}

/* The smaller limit holds, and what is counted longer is.  A sum that does not fit is more than any limit. */
bool draw_join(struct draw *list, size_t n, const struct draw *d, bool is_sum)
{
	for (size_t i = 0; i < n; i++) {
		struct draw *x = &list[i];
		if (x->kind != d->kind || x->window_us != d->window_us || !text_eq(x->key, d->key))
			continue;
		if (!is_sum)
			x->amount = larger(x->amount, d->amount);
		else if (__builtin_add_overflow(x->amount, d->amount, &x->amount))
			x->amount = INT64_MAX;
		if (d->limit < x->limit)
			x->limit = d->limit;
		x->window_length_us = larger(x->window_length_us, d->window_length_us);
		return true;
	}
	return false;
}

void gate_draw(struct judging *j, const struct draw *d)
{
	if (draw_join(j->draws, j->draw_count, d, true))
		return;
	if (j->draw_count == j->draw_room) {
		size_t room = j->draw_room ? j->draw_room * 2 : 4;
		j->draws = arena_grow(
			j->a, j->draws, j->draw_room * sizeof(*j->draws), room * sizeof(*j->draws));
		j->draw_room = room;
	}
	j->draws[j->draw_count++] = *d;
}

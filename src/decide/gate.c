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

/* What is drawn from the same thing twice is one draw of both; a sum that does not fit is more than any limit. */
void gate_draw(struct judging *j, const struct draw *d)
{
	for (size_t i = 0; i < j->draw_count; i++)
		if (j->draws[i].kind == d->kind && text_eq(j->draws[i].key, d->key)) {
			if (__builtin_add_overflow(j->draws[i].amount, d->amount, &j->draws[i].amount))
				j->draws[i].amount = INT64_MAX;
			return;
		}
	if (j->draw_count == j->draw_room) {
		size_t room = j->draw_room ? j->draw_room * 2 : 4;
		j->draws = arena_grow(
			j->a, j->draws, j->draw_room * sizeof(*j->draws), room * sizeof(*j->draws));
		j->draw_room = room;
	}
	j->draws[j->draw_count++] = *d;
}

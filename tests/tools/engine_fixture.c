/* engine_fixture.c — see engine_fixture.h. */
#include "tools/engine_fixture.h"

#include "tools/unit.h"

#include <string.h>

struct json *quoted(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, text);
	struct json *v;
	struct err e = { 0 };

	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	if (json_parse(a, bytes_of(copy), "test", NULL, &v, &e))
		fail_msg("%s in %s", e.text, copy);
	return v;
}

struct ruleset *compiled(struct arena *a, const char *text)
{
	struct ruleset *r = NULL;
	struct err e = { 0 };

	if (ruleset_compile(a, quoted(a, text), &r, &e))
		fail_msg("%s in %s", e.text, text);
	return r;
}

const char *compile_error(struct arena *a, const char *text)
{
	struct ruleset *r = NULL;
	struct err e = { 0 };

	if (ruleset_compile(a, quoted(a, text), &r, &e) == OK)
		fail_msg("no error in %s", text);
	assert_null(r);
	return arena_printf(a, "%s: %s", e.code, e.text);
}

struct submission asked(struct arena *a, const char *text)
{
	struct json *q = quoted(a, text);

	return (struct submission){ .effect_type = json_get_text(q, "effect_type", "act"),
		.effect_id = json_get_text(q, "effect_id", "e1"),
		.principal = json_get_text(q, "principal", "agent:a"),
		.tool = json_get_text(q, "tool", NULL),
		.params = json_get(q, "params"),
		.context = json_get(q, "context") };
}

const char *outcome(struct arena *a, const struct judgement *j)
{
	struct buf b;

	buf_init(&b, a);
	buf_adds(&b, verdict_name(j->verdict));
	if (j->verdict != V_ALLOW)
		buf_addf(&b, " %s %s", reason_get(j->code)->code, gate_name(j->gate));
	if (j->rule)
		buf_addf(&b, " %s", j->rule);
	return b.p;
}

const char *judged(struct arena *a, const char *policy, const char *question, const char *known)
{
	struct submission q = asked(a, question);
	struct facts f = { .now_us = 1700000000000000, .known = known ? quoted(a, known) : NULL };
	struct judgement j;

	engine_judge(a, policy ? compiled(a, policy) : NULL, &q, &f, &j);
	return outcome(a, &j);
}

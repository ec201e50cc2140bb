/* fuzz_ruleset.c — any bytes as a policy document, and behind a NUL as a question {effect_type, tool, params, context, known}.  Whatever they are: compiling
 * ends with a ruleset or an error, every question gets one of three verdicts, the same one twice, and a denial has no draws. */
#include "decide/engine/engine.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void must(bool truth)
{
	if (!truth)
		abort();
}

static struct bytes text_of(struct arena *a, const struct judgement *j)
{
	struct buf b;

	buf_init(&b, a);
	json_write(&b, judgement_to_json(a, j), 0);
	return buf_bytes(&b);
}

static void ask(struct arena *a, const struct ruleset *r, const struct json *doc)
{
	const struct submission q = { .effect_type = json_get_text(doc, "effect_type", "act"),
		.effect_id = "e",
		.principal = json_get_text(doc, "principal", "p"),
		.tool = json_get_text(doc, "tool", NULL),
		.params = json_get(doc, "params"),
		.context = json_get(doc, "context") };
	const struct facts f = {
		.now_us = 1, .known = json_get(doc, "known"), .tenant = json_get_text(doc, "tenant", NULL)
	};
	struct judgement one, two;

	engine_judge(a, r, &q, &f, &one);
	engine_judge(a, r, &q, &f, &two);
	must(one.verdict == V_ALLOW || one.verdict == V_DENY || one.verdict == V_ESCALATE);
	must(one.verdict != V_DENY || one.draw_count == 0);
	must(bytes_eq(text_of(a, &one), text_of(a, &two)));
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	struct bytes text = { data, end ? (size_t)(end - data) : size };
	struct ruleset *r = NULL;
	struct json *doc, *question = NULL;
	struct err e = { 0 };

	if (json_parse(&a, text, "fuzz", NULL, &doc, &e))
		return;
	int rc = ruleset_compile(&a, doc, &r, &e);
	must((rc == OK) == (r != NULL));
	must(rc == OK || (e.code[0] && e.text[0]));
	if (rc)
		return;
	must(json_is(ruleset_absences(&a, r), JSON_ARRAY));
	if (end && json_parse(&a, (struct bytes){ end + 1, size - text.n - 1 }, "fuzz", NULL, &question, &e))
		return;
	ask(&a, r, question);
}

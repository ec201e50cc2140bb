/* fuzz_condition.c — any text as a condition of a compliance pack: it is refused with its place, or becomes an expression that compiles. */
#include "decide/bundle/bundle.h"
#include "decide/engine/engine.h"
#include "fuzz.h"

#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *pack, *rule, *text = json_stringn(&a, (const char *)data, size);
	struct policy_input in = { .name = "m.json", .as_policy = true };
	struct policy_reading r;
	struct ruleset *rules;
	struct err e = { 0 };
	struct buf b;
	static const char outline[] =
		"{\"pack_id\":\"m\",\"version\":1,\"compliance_framework\":\"X\",\"programs\":[{\"program_id\":\"p\","
		"\"policy_rules\":[{\"action\":\"deny\",\"reason\":\"r\"},{\"action\":\"escalate\",\"reason\":\"r\"}]}]}";

	if (json_parse(&a, bytes_of(outline), "m", NULL, &pack, &e))
		abort();
	json_make_utf8(&a, text);
	for (size_t i = 0; i < 2; i++) {
		rule = json_at(json_get(json_at(json_get(pack, "programs"), 0), "policy_rules"), i);
		json_set(&a, rule, "condition", text);
	}
	buf_init(&b, &a);
	json_write(&b, pack, 0);
	in.text = buf_bytes(&b);
	if (policy_document_read(&a, &in, &r, &e))
		return;
	/* Its own limits are narrower than those of expressions, except for their number of parts. */
	if (ruleset_compile(&a, r.document, &rules, &e) && e.rc != E_LIMIT)
		abort();
}

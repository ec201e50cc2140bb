/* fuzz_schema.c — {"schema": ..., "value": ...}: compiling and checking end, and give the same answer twice; a value that
 * passes a schema fails its negation. */
#include "base/schema.h"
#include "fuzz.h"

static void must(bool truth)
{
	if (!truth)
		abort();
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc;
	struct schema *s, *opposite;
	struct err e;

	if (json_parse(&a, (struct bytes){ data, size }, "fuzz", NULL, &doc, &e) || !json_get(doc, "value"))
		return;
	struct json *schema = json_get(doc, "schema");
	if (!schema || schema_compile(&a, schema, "fuzz", &s, &e))
		return;
	int rc = schema_check(s, json_get(doc, "value"), &e);
	must(schema_check(s, json_get(doc, "value"), NULL) == rc);
	/* References count from the top, so only a schema without them can be moved below `not`. */
	struct buf text;
	buf_init(&text, &a);
	json_write(&text, schema, 0);
	if (rc == E_LIMIT || strstr(text.p, "$ref") || strstr(text.p, "$id"))
		return;
	struct json *negation = json_new(&a, JSON_OBJECT);
	json_set(&a, negation, "not", schema);
	must(schema_compile(&a, negation, "fuzz", &opposite, &e) == OK);
	must((schema_check(opposite, json_get(doc, "value"), &e) == OK) == (rc != OK));
}

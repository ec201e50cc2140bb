/* fuzz_yaml.c — any bytes as YAML; what is accepted is a tree like any other: its canonical JSON reads back, as JSON and as
 * YAML, to the same tree. */
#include "base/conf.h"
#include "fuzz.h"

static void must(bool truth)
{
	if (!truth)
		abort();
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *v, *again;
	struct buf b;
	struct err e;

	if (conf_parse_yaml(&a, (struct bytes){ data, size }, "fuzz", &v, &e))
		return;
	buf_init(&b, &a);
	json_canonical(&b, v);
	must(json_parse(&a, buf_bytes(&b), "fuzz", NULL, &again, &e) == OK);
	must(json_eq(v, again));
	/* YAML forbids some characters that JSON allows, and long keys; but what it accepts must be equal. */
	if (conf_parse_yaml(&a, buf_bytes(&b), "fuzz", &again, &e) == OK)
		must(json_eq(v, again));
}

/* fuzz_toml.c — any bytes as TOML; what is accepted is a tree like any other, and each value says where it begins. */
#include "base/toml.h"
#include "fuzz.h"

static void look(const struct json *v, size_t size)
{
	if (v->at >= size && size > 0)
		abort();
	json_each (item, v)
		look(item, size);
	json_each_member (m, v)
		look(m->value, size);
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *v, *again;
	struct buf b;
	struct err e;

	if (toml_parse(&a, (struct bytes){ data, size }, "fuzz", &v, &e))
		return;
	look(v, size);
	buf_init(&b, &a);
	json_canonical(&b, v);
	if (json_parse(&a, buf_bytes(&b), "fuzz", NULL, &again, &e) || !json_eq(v, again))
		abort();
}

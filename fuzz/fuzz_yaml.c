/* fuzz_yaml.c — any bytes as YAML; what is accepted is a tree like any other: its canonical JSON reads back, as JSON and as
 * YAML, to the same tree.  An item that is put in comes out again, by its span to the byte and by its place. */
#include "base/conf.h"
#include "base/yaml_edit.h"
#include "fuzz.h"

static void must(bool truth)
{
	if (!truth)
		abort();
}

static void edit(struct arena *a, struct bytes text)
{
	struct json *item = json_new(a, JSON_OBJECT);
	struct json_span span;
	struct bytes made, rest;
	struct err e;

	json_sets(a, item, "c", "x");
	if (yaml_edit_insert(a, text, "fuzz", "hooks", "pre", item, &made, &span, &e))
		return;
	must(bytes_eq(json_edit_cut(a, made, span), text));
	must(yaml_edit_remove(a, made, "fuzz", "hooks", "pre", 0, &rest, &e) == OK);
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *v, *again;
	struct buf b;
	struct err e;

	edit(&a, (struct bytes){ data, size });
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

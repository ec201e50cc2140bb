/* fuzz_json.c — any bytes into the parser; what it accepts must survive every writer.
 *
 * Checked: parse, write, parse gives the same tree in every spelling; canonical bytes are a fixed point; a copy is equal;
 * a strict canonical form, where there is one, is the canonical form. */
#include "base/json.h"
#include "fuzz.h"

static struct json *parse(struct arena *a, struct bytes text)
{
	struct json *v = NULL;
	struct err e;

	return json_parse(a, text, "fuzz", NULL, &v, &e) ? NULL : v;
}

static struct bytes write_as(struct arena *a, const struct json *v, unsigned flags)
{
	struct buf b;

	buf_init(&b, a);
	json_write(&b, v, flags);
	return buf_bytes(&b);
}

static void must(bool truth)
{
	if (!truth)
		abort();
}

void fuzz_one(const uint8_t *data, size_t size)
{
	static const unsigned spellings[] = { 0, JSON_INDENT, JSON_SORT, JSON_SORT_BYTES,
		JSON_SPACED | JSON_SORT, JSON_HTML_SAFE, JSON_HTML_SAFE | JSON_INDENT | JSON_SORT_BYTES };
	AUTO(arena_done) struct arena a = { 0 };
	struct json *v = parse(&a, (struct bytes){ data, size });
	struct buf strict;

	if (!v)
		return;
	struct bytes canonical = write_as(&a, v, JSON_SORT);
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++) {
		struct json *again = parse(&a, write_as(&a, v, spellings[i]));
		must(again && json_eq(v, again));
		must(bytes_eq(write_as(&a, again, JSON_SORT), canonical));
	}
	must(json_eq(v, json_copy(&a, v)));
	buf_init(&strict, &a);
	if (json_canonical_strict(&strict, v, NULL) == OK)
		must(bytes_eq(buf_bytes(&strict), canonical));
	else
		must(strict.n == 0);
}

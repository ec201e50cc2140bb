/* fuzz_front_matter.c — any bytes as a note.  What was read is written and read again the same; a field is set without touching the
 * body. */
#include "fuzz.h"
#include "remember/front_matter.h"

#include <stdlib.h>
#include <string.h>

/* What the short form of writing keeps: no lists in lists, nothing below the deepest level, no NUL. */
static bool is_plain(const struct json *v, int depth)
{
	if (json_is(v, JSON_STRING))
		return !memchr(v->text, 0, v->n) && !memchr(v->text, '\r', v->n);
	json_each (item, v)
		if (!is_plain(item, depth))
			return false;
	json_each_member (m, v)
		if (!is_plain(m->value, depth + 1) || (json_is(m->value, JSON_OBJECT) && !m->value->n))
			return false;
	return depth < FRONT_MATTER_DEPTH - 1;
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes text = { data, size };
	struct front_matter f, again;
	struct buf b, set;

	front_matter_parse(&a, text, &f);
	if (f.body.n > size || (f.body.n && f.body.p + f.body.n != data + size))
		abort();
	buf_init(&b, &a);
	front_matter_write(&b, f.fields, f.body);
	if (is_plain(f.fields, 0) && b.n < FRONT_MATTER_BYTES) {
		front_matter_parse(&a, buf_bytes(&b), &again);
		if (!again.is_there || !json_eq(again.fields, f.fields))
			abort();
	}
	buf_init(&set, &a);
	front_matter_set(&set, text, "state", json_string(&a, "reviewed"));
	if (set.n > FRONT_MATTER_BYTES)
		return;
	front_matter_parse(&a, buf_bytes(&set), &again);
	if (!again.is_there || !bytes_eq(again.body, f.body))
		abort();
	if (f.fields->n < FRONT_MATTER_KEYS / 2 && size < FRONT_MATTER_KEYS &&
		!text_eq(json_get_text(again.fields, "state", ""), "reviewed"))
		abort();
}

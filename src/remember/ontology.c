/* ontology.c — see ontology.h. */
#include "remember/ontology.h"

#include "base/file.h"
#include "record/record.h"

#include <string.h>

/* A text, or a number as it is written; "" for anything else. */
static const char *word_of(struct arena *a, const struct json *obj, const char *name)
{
	const struct json *v = json_get(obj, name);
	const char *text = json_text(v);

	if (text)
		return text;
	return json_is(v, JSON_NUMBER) ? arena_strndup(a, v->text, v->n) : "";
}

static const char *either(const struct json *obj, const char *name, const char *or_else)
{
	const char *first = json_get_text(obj, name, "");

	return *first ? first : json_get_text(obj, or_else, "");
}

static const struct json *only(const struct json *v, enum json_type type)
{
	return json_is(v, type) ? v : NULL;
}

bool entity_read(struct arena *a, const struct json *row, struct entity *ret)
{
	const struct json *p = only(json_get(row, "properties"), JSON_OBJECT);
	const char *id = word_of(a, row, "id");

	if (!*id)
		return false;
	*ret = (struct entity){ .id = id,
		.type = word_of(a, row, "type"),
		.name = word_of(a, p, "name"),
		.status = word_of(a, p, "status"),
		.notes = either(p, "notes", "description"),
		.at = either(p, "captured_at", "acquired_date"),
		.aliases = only(json_get(p, "aliases"), JSON_ARRAY),
		.properties = p };
	if (!ret->aliases)
		ret->aliases = only(json_get(row, "aliases"), JSON_ARRAY);
	return true;
}

static bool is_same(struct arena *a, const char *x, const char *folded)
{
	return text_eq(text_fold(a, x, strlen(x)), folded);
}

bool entity_is(struct arena *a, const struct entity *x, const char *word)
{
	size_t n;
	const char *clean = text_utf8(a, word, strlen(word), TEXT_BYTE, &n);
	const char *folded = text_fold(a, clean, n);

	if (text_eq(x->id, word) || (*x->name && is_same(a, x->name, folded)))
		return true;
	json_each (alias, x->aliases)
		if (json_text(alias) && is_same(a, alias->text, folded))
			return true;
	return false;
}

bool relation_read(struct arena *a, const struct json *row, struct relation *ret)
{
	struct relation r = { .from = word_of(a, row, "from"),
		.to = word_of(a, row, "to"),
		.type = word_of(a, row, "relation_type"),
		.properties = only(json_get(row, "properties"), JSON_OBJECT) };

	if (!*r.from || !*r.to)
		return false;
	*ret = r;
	return true;
}

struct reading {
	ontology_visit *fn;
	void *arg;
	const char *file;
	struct arena a;
};

static bool is_empty(struct bytes t)
{
	for (size_t i = 0; i < t.n; i++)
		if (!memchr(" \t\r", t.p[i], 3))
			return false;
	return true;
}

static int one_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct reading *r = arg;
	struct json *row = NULL;

	(void)offset;
	(void)is_whole; /* a last line without its end may be whole all the same: the parser knows */
	if (is_empty(text))
		return 0;
	arena_reset(&r->a);
	if (json_parse(&r->a, text, r->file, NULL, &row, NULL) || !json_is(row, JSON_OBJECT))
		row = NULL;
	return r->fn(r->arg, line, row, e);
}

int ontology_each(struct sys *s, int root_fd, const char *file, ontology_visit *fn, void *arg, struct err *e)
{
	struct reading r = { .fn = fn, .arg = arg, .file = file };
	int rc = lines_each(s, root_fd, file, one_line, &r, e);

	arena_done(&r.a);
	return rc == E_MISSING ? OK : rc;
}

/* schema.c — compiling JSON Schema.
 *
 * A schema becomes a graph of nodes, one per subschema, with every keyword checked and prepared: patterns
 * compiled, numbers taken apart, property names sorted, references resolved (so that a recursive schema is
 * a cycle of pointers).
 *
 * Every member of a schema must be a keyword we know. A misspelt or newer one is refused, because a schema
 * that is only half understood must not say "valid". Keywords that only annotate are listed as such. */
#include "base/schema.h"

#include "base/schema_node.h"

/* Where we are in the schema document, for messages; lives on the C stack. */
struct where {
	const struct where *up;
	const char *name;
	int index; /* when name is NULL */
};

/* A subschema and its node. */
struct seen {
	const struct json *json;
	struct schema_node *node;
};

/* A target of a reference, still to be compiled. */
struct pending {
	struct pending *next;
	const struct json *json;
	struct schema_node *node;
	struct where at;
};

struct compiler {
	struct arena *a;
	struct arena scratch;
	const struct json *doc;
	const char *name;
	const char *id; /* the document's $id without fragment, or NULL */
	bool is_draft07;
	/* Subschemas by address: a hash table, so that references find what exists or is under way. */
	struct seen *table;
	uint32_t table_n, table_cap;
	struct pending *pending;
	struct err *e;
};

static int compile(
	struct compiler *c, const struct json *v, const struct where *at, struct schema_node **ret);

/* ---- errors ---- */

/* The path from the top, outermost first. */
static void add_where(struct buf *b, const struct where *at)
{
	if (!at)
		return;
	add_where(b, at->up);
	if (at->name)
		buf_addf(b, "/%s", text_safe(b->a, at->name, strlen(at->name), false));
	else
		buf_addf(b, "/%d", at->index);
}

/* The one form of an error: "name: schema at #/path: why". */
static int refuse(struct compiler *c, const struct where *at, const char *code, const char *why)
{
	struct buf b;

	buf_init(&b, &c->scratch);
	buf_addc(&b, '#');
	add_where(&b, at);
	return err_set(c->e, E_INPUT, code, "%s: schema at %s: %s", c->name, b.p, why);
}

static int invalid(struct compiler *c, const struct where *at, const char *expected)
{
	return refuse(c, at, "SCHEMA_INVALID", arena_printf(&c->scratch, "expected %s", expected));
}

/* ---- table of subschemas ---- */

/* Open addressing by the address of the JSON node; the table is never more than half full, so the search
 * ends. */
static struct seen *slot_of(struct seen *table, uint32_t cap, const struct json *v)
{
	uint32_t i = (uint32_t)((uintptr_t)v * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (cap - 1);

	while (table[i].json && table[i].json != v)
		i = (i + 1) & (cap - 1);
	return &table[i];
}

/* Doubles; entries are placed anew, since their slots depend on the size. */
static void grow_table(struct compiler *c)
{
	uint32_t cap = c->table_cap ? c->table_cap * 2 : 64;
	struct seen *table = arena_zalloc(&c->scratch, cap, sizeof(*table));

	for (uint32_t i = 0; i < c->table_cap; i++)
		if (c->table[i].json)
			*slot_of(table, cap, c->table[i].json) = c->table[i];
	c->table = table;
	c->table_cap = cap;
}

/* The node of v; *ret_is_new when it has still to be filled. */
static struct schema_node *node_of(struct compiler *c, const struct json *v, bool *ret_is_new)
{
	if (c->table_n * 2 >= c->table_cap)
		grow_table(c);
	struct seen *s = slot_of(c->table, c->table_cap, v);
	*ret_is_new = !s->json;
	if (*ret_is_new) {
		*s = (struct seen){ v, arena_zalloc(c->a, 1, sizeof(struct schema_node)) };
		c->table_n++;
	}
	return s->node;
}

/* ---- values that stand for themselves ---- */

static bool write_key_object(struct buf *to, const struct json *v);

/* A text that two values share exactly when JSON Schema calls them equal: 1 and 1.0 are, and the order of
 * members does not matter. False for a number whose exponent is too large to compare. */
bool schema_key(struct buf *to, const struct json *v)
{
	struct decimal d;

	switch ((enum json_type)v->type) {
	case JSON_NUMBER:
		if (!decimal_read(v->text, &d))
			return false;
		decimal_write(to, &d);
		return true;
	case JSON_ARRAY:
		buf_addc(to, '[');
		json_each (item, v) {
			if (!schema_key(to, item))
				return false;
			buf_addc(to, ',');
		}
		buf_addc(to, ']');
		return true;
	case JSON_OBJECT:
		return write_key_object(to, v);
	case JSON_NULL:
	case JSON_FALSE:
	case JSON_TRUE:
	case JSON_STRING:
		json_write(to, v, 0);
		return true;
	}
	return false;
}

static int by_name(const void *x, const void *y)
{
	const struct json_member *a = *(const struct json_member *const *)x,
				 *b = *(const struct json_member *const *)y;

	return json_name_cmp(a->name, a->name_n, b->name, b->name_n);
}

/* Members sorted by name, so that their order makes no difference. */
static bool write_key_object(struct buf *to, const struct json *v)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	const struct json_member **sorted = arena_alloc(&scratch, v->n * sizeof(const struct json_member *));

	for (uint32_t i = 0; i < v->n; i++)
		sorted[i] = &v->members[i];
	if (v->n)
		qsort(sorted, v->n, sizeof(*sorted), by_name);
	buf_addc(to, '{');
	for (uint32_t i = 0; i < v->n; i++) {
		struct json name = { .type = JSON_STRING, .n = sorted[i]->name_n, .text = sorted[i]->name };
		json_write(to, &name, 0);
		buf_addc(to, ':');
		if (!schema_key(to, sorted[i]->value))
			return false;
		buf_addc(to, ',');
	}
	buf_addc(to, '}');
	return true;
}

/* ---- keywords ---- */

typedef int keyword_fn(
	struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at);

/* Keywords that say nothing about validity. Definitions are compiled when a reference reaches them. */
static int key_annotation(
	struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	(void)c;
	(void)n;
	(void)v;
	(void)at;
	return OK;
}

static const struct {
	const char *name;
	unsigned bit;
} type_names[] = { { "null", TYPE_NULL }, { "boolean", TYPE_BOOLEAN }, { "number", TYPE_NUMBER },
	{ "integer", TYPE_INTEGER }, { "string", TYPE_STRING }, { "array", TYPE_ARRAY },
	{ "object", TYPE_OBJECT } };

/* The text of all types is kept for the message: "expected string or null". */
static int add_type(struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(type_names); i++)
		if (json_is(v, JSON_STRING) &&
			bytes_is((struct bytes){ (const uint8_t *)v->text, v->n }, type_names[i].name)) {
			n->types |= type_names[i].bit;
			n->type_text = n->type_text ? arena_printf(c->a, "%s or %s", n->type_text, v->text)
						    : arena_strdup(c->a, v->text);
			return OK;
		}
	return invalid(c, at, "one of null, boolean, number, integer, string, array, object");
}

/* One type or a list of them. "integer" is a number without a fraction, however it is written. */
static int key_type(struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	int rc = OK;

	if (!json_is(v, JSON_ARRAY))
		return add_type(c, n, v, at);
	if (v->n == 0)
		return invalid(c, at, "at least one type");
	json_each (item, v)
		rc = rc ? rc : add_type(c, n, item, at);
	return rc;
}

static int add_value(struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	struct buf b;

	buf_init(&b, c->a);
	if (!schema_key(&b, v))
		return invalid(c, at, "numbers with an exponent of at most 32 bits");
	n->values[n->value_count++] = buf_bytes(&b);
	return OK;
}

/* const and enum share one list; a schema that has both is refused instead of one overwriting the other. */
static int set_values(struct compiler *c, struct schema_node *n, const struct json *shown, uint32_t count,
	const char *keyword, const struct where *at)
{
	struct buf b;

	if (n->values)
		return refuse(c, at, "SCHEMA_UNSUPPORTED", "const and enum together");
	buf_init(&b, c->a);
	json_write(&b, shown, JSON_SPACED);
	n->values_text = b.p;
	n->values_keyword = keyword;
	n->values = arena_alloc(c->a, count * sizeof(*n->values));
	return OK;
}

static int key_const(struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	int rc = set_values(c, n, v, 1, "const", at);

	return rc ? rc : add_value(c, n, v, at);
}

static int key_enum(struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	if (!json_is(v, JSON_ARRAY) || v->n == 0)
		return invalid(c, at, "a list of values");
	int rc = set_values(c, n, v, v->n, "enum", at);
	json_each (item, v)
		rc = rc ? rc : add_value(c, n, item, at);
	return rc;
}

/* Plain byte order: find_property() in schema_check.c searches by it. */
static int by_property(const void *x, const void *y)
{
	const struct schema_property *a = x, *b = y;
	uint32_t n = a->name_n < b->name_n ? a->name_n : b->name_n;
	int order = memcmp(a->name, b->name, n);

	return order ? order : (a->name_n > b->name_n) - (a->name_n < b->name_n);
}

/* Sorted once here, so that each member of a value is found by halving. */
static int key_properties(
	struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	if (!json_is(v, JSON_OBJECT))
		return invalid(c, at, "an object of schemas");
	n->properties = arena_alloc(c->a, v->n * sizeof(*n->properties));
	json_each_member (m, v) {
		struct schema_property *p = &n->properties[n->property_count++];
		int rc = compile(c, m->value, &(struct where){ .up = at, .name = m->name }, &p->node);
		if (rc)
			return rc;
		p->name = arena_strndup(c->a, m->name, m->name_n);
		p->name_n = m->name_n;
	}
	if (n->property_count)
		qsort(n->properties, n->property_count, sizeof(*n->properties), by_property);
	return OK;
}

/* Patterns are compiled now: a wrong one is an error of the schema, not of the value. */
static int set_pattern(
	struct compiler *c, struct schema_pattern *p, const char *text, size_t len, const struct where *at)
{
	struct err inner;

	if (pattern_compile(c->a, text, len, PATTERN_ECMA, &p->pattern, &inner))
		return refuse(c, at, "SCHEMA_INVALID", inner.text);
	p->text = arena_strndup(c->a, text, len);
	return OK;
}

static int key_pattern_properties(
	struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	if (!json_is(v, JSON_OBJECT))
		return invalid(c, at, "an object of schemas");
	n->patterns = arena_alloc(c->a, v->n * sizeof(*n->patterns));
	json_each_member (m, v) {
		struct where below = { .up = at, .name = m->name };
		struct schema_pattern *p = &n->patterns[n->pattern_count++];
		int rc = set_pattern(c, p, m->name, m->name_n, &below);
		if (!rc)
			rc = compile(c, m->value, &below, &p->node);
		if (rc)
			return rc;
	}
	return OK;
}

static bool is_string_list(const struct json *v)
{
	if (!json_is(v, JSON_ARRAY))
		return false;
	json_each (item, v)
		if (!json_is(item, JSON_STRING))
			return false;
	return true;
}

static int key_required(
	struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	if (!is_string_list(v))
		return invalid(c, at, "a list of member names");
	n->required = json_copy(c->a, v);
	return OK;
}

/* When this member is there, those must be there, too. */
static int key_dependent_required(
	struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	if (!json_is(v, JSON_OBJECT))
		return invalid(c, at, "an object of lists of member names");
	n->dependencies = arena_alloc(c->a, v->n * sizeof(*n->dependencies));
	json_each_member (m, v) {
		if (!is_string_list(m->value))
			return invalid(c, at, "an object of lists of member names");
		n->dependencies[n->dependency_count++] =
			(struct schema_dependency){ arena_strdup(c->a, m->name), json_copy(c->a, m->value) };
	}
	return OK;
}

static int key_unique_items(
	struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	if (!json_is_bool(v))
		return invalid(c, at, "true or false");
	n->is_unique = v->type == JSON_TRUE;
	return OK;
}

static int key_pattern(
	struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	if (!json_is(v, JSON_STRING))
		return invalid(c, at, "a pattern");
	return set_pattern(c, &n->pattern, v->text, v->n, at);
}

/* Known formats are checked; others are only annotations, as the standard says. */
static int key_format(struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	const char *text = json_text(v);

	if (!text)
		return invalid(c, at, "the name of a format");
	if (text_eq(text, "date-time"))
		n->format = FORMAT_DATE_TIME;
	else if (text_eq(text, "uri"))
		n->format = FORMAT_URI;
	else if (text_eq(text, "uuid"))
		n->format = FORMAT_UUID;
	n->format_text = arena_strdup(c->a, text);
	return OK;
}

/* ---- references ---- */

static int hex_value(char x)
{
	const char *digits = "0123456789abcdef", *at = x ? strchr(digits, x | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* One step of a JSON pointer inside a URI fragment: first %HH is decoded, then ~1 and ~0. */
static char *pointer_step(struct compiler *c, struct bytes part)
{
	char *text = arena_text(&c->scratch, part.n + 1), *to = text;

	for (size_t i = 0; i < part.n; i++) {
		char x = (char)part.p[i];
		if (x == '%' && i + 2 < part.n && hex_value((char)part.p[i + 1]) >= 0 &&
			hex_value((char)part.p[i + 2]) >= 0) {
			x = (char)(hex_value((char)part.p[i + 1]) << 4 | hex_value((char)part.p[i + 2]));
			i += 2;
		}
		*to++ = x;
	}
	*to = '\0';
	char *end = to;
	to = text;
	for (const char *p = text; p < end; p++) {
		if (*p == '~' && (p[1] == '0' || p[1] == '1'))
			*to++ = *++p == '1' ? '/' : '~';
		else
			*to++ = *p;
	}
	*to = '\0';
	return text;
}

/* What a pointer leads to within the document, or NULL. */
static const struct json *follow_pointer(struct compiler *c, const char *pointer)
{
	const struct json *v = c->doc;
	struct bytes rest = bytes_of(pointer);

	if (rest.n == 0)
		return v;
	text_cut(&rest, '/'); /* before the first slash there is nothing */
	while (rest.p && v) {
		char *step = pointer_step(c, text_cut(&rest, '/'));
		int64_t index;
		if (json_is(v, JSON_ARRAY))
			v = text_int(step, &index) && index >= 0 ? json_at(v, (size_t)index) : NULL;
		else
			v = json_get(v, step);
	}
	return v;
}

/* References lead into the same document only: a schema must not make us read files or the network. The
 * target may still be compiled later, so its node is taken now and filled from the list of pending ones. */
static int key_ref(struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	const char *text = json_text(v);

	if (!text)
		return invalid(c, at, "a reference");
	if (c->id && text_starts(text, c->id) && (text[strlen(c->id)] == '#' || !text[strlen(c->id)]))
		text += strlen(c->id);
	if (*text == '#')
		text++;
	else if (*text)
		return refuse(c, at, "SCHEMA_UNSUPPORTED", "a reference to another document");
	if (*text && *text != '/')
		return refuse(c, at, "SCHEMA_UNSUPPORTED", "a reference to an anchor");
	const struct json *target = follow_pointer(c, text);
	if (!target)
		return refuse(
			c, at, "SCHEMA_REF", arena_printf(&c->scratch, "nothing is at %s", json_text(v)));
	bool is_new;
	n->ref = node_of(c, target, &is_new);
	if (is_new) {
		struct pending *p = arena_zalloc(&c->scratch, 1, sizeof(*p));
		*p = (struct pending){ c->pending, target, n->ref, { .name = *text ? text + 1 : text } };
		c->pending = p;
	}
	return OK;
}

/* An $id below the top would change what references mean there. */
static int key_id(struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	(void)n;
	if (!json_is(v, JSON_STRING))
		return invalid(c, at, "an identifier");
	if (at->up)
		return refuse(c, at, "SCHEMA_UNSUPPORTED", "an $id below the top");
	return OK;
}

/* ---- the table ----
 *
 * Keywords whose value goes into one field of the node are rows with that field's place. */

enum keyword_kind { KIND_FN, KIND_SCHEMA, KIND_SCHEMAS, KIND_SIZE, KIND_BOUND };
#define FIELD(name) offsetof(struct schema_node, name)

static const struct keyword {
	const char *name;
	enum keyword_kind kind;
	keyword_fn *fn;
	size_t field;
} keywords[] = {
	{ "$comment", KIND_FN, key_annotation, 0 },
	{ "$defs", KIND_FN, key_annotation, 0 },
	{ "$id", KIND_FN, key_id, 0 },
	{ "$ref", KIND_FN, key_ref, 0 },
	{ "$schema", KIND_FN, key_annotation, 0 },
	{ "additionalProperties", KIND_SCHEMA, NULL, FIELD(additional) },
	{ "allOf", KIND_SCHEMAS, NULL, FIELD(all_of) },
	{ "anyOf", KIND_SCHEMAS, NULL, FIELD(any_of) },
	{ "const", KIND_FN, key_const, 0 },
	{ "contains", KIND_SCHEMA, NULL, FIELD(contains) },
	{ "contentEncoding", KIND_FN, key_annotation, 0 },
	{ "contentMediaType", KIND_FN, key_annotation, 0 },
	{ "default", KIND_FN, key_annotation, 0 },
	{ "definitions", KIND_FN, key_annotation, 0 },
	{ "dependentRequired", KIND_FN, key_dependent_required, 0 },
	{ "deprecated", KIND_FN, key_annotation, 0 },
	{ "description", KIND_FN, key_annotation, 0 },
	{ "else", KIND_SCHEMA, NULL, FIELD(otherwise) },
	{ "enum", KIND_FN, key_enum, 0 },
	{ "enumNames", KIND_FN, key_annotation, 0 },
	{ "examples", KIND_FN, key_annotation, 0 },
	{ "exclusiveMaximum", KIND_BOUND, NULL, FIELD(below) },
	{ "exclusiveMinimum", KIND_BOUND, NULL, FIELD(above) },
	{ "format", KIND_FN, key_format, 0 },
	{ "if", KIND_SCHEMA, NULL, FIELD(condition) },
	{ "items", KIND_SCHEMA, NULL, FIELD(items) },
	{ "maxItems", KIND_SIZE, NULL, FIELD(count.max) },
	{ "maxLength", KIND_SIZE, NULL, FIELD(length.max) },
	{ "maxProperties", KIND_SIZE, NULL, FIELD(members.max) },
	{ "maximum", KIND_BOUND, NULL, FIELD(maximum) },
	{ "minItems", KIND_SIZE, NULL, FIELD(count.min) },
	{ "minLength", KIND_SIZE, NULL, FIELD(length.min) },
	{ "minProperties", KIND_SIZE, NULL, FIELD(members.min) },
	{ "minimum", KIND_BOUND, NULL, FIELD(minimum) },
	{ "multipleOf", KIND_BOUND, NULL, FIELD(multiple) },
	{ "not", KIND_SCHEMA, NULL, FIELD(negated) },
	{ "oneOf", KIND_SCHEMAS, NULL, FIELD(one_of) },
	{ "pattern", KIND_FN, key_pattern, 0 },
	{ "patternProperties", KIND_FN, key_pattern_properties, 0 },
	{ "prefixItems", KIND_SCHEMAS, NULL, FIELD(prefix) },
	{ "properties", KIND_FN, key_properties, 0 },
	{ "propertyNames", KIND_SCHEMA, NULL, FIELD(names) },
	{ "readOnly", KIND_FN, key_annotation, 0 },
	{ "required", KIND_FN, key_required, 0 },
	{ "then", KIND_SCHEMA, NULL, FIELD(then) },
	{ "title", KIND_FN, key_annotation, 0 },
	{ "type", KIND_FN, key_type, 0 },
	{ "uniqueItems", KIND_FN, key_unique_items, 0 },
	{ "version", KIND_FN, key_annotation, 0 },
	{ "writeOnly", KIND_FN, key_annotation, 0 },
};

static int set_schemas(
	struct compiler *c, struct schema_list *list, const struct json *v, const struct where *at)
{
	if (!json_is(v, JSON_ARRAY) || v->n == 0)
		return invalid(c, at, "a list of schemas");
	list->nodes = arena_alloc(c->a, v->n * sizeof(struct schema_node *));
	for (; list->n < v->n; list->n++) {
		struct where below = { .up = at, .index = (int)list->n };
		int rc = compile(c, v->items[list->n], &below, &list->nodes[list->n]);
		if (rc)
			return rc;
	}
	return OK;
}

/* Sizes are whole numbers, but may be written as 2.0 or 1e3. */
static int set_size(struct compiler *c, int64_t *size, const struct json *v, const struct where *at)
{
	struct decimal d;
	int64_t value;

	/* 2.0 is as good as 2 in a schema; nothing that fits a size needs more digits. */
	if (!json_is(v, JSON_NUMBER) || !decimal_read(v->text, &d) || d.sign < 0 || !decimal_is_integer(&d) ||
		d.point > 15)
		return invalid(c, at, "a size: a whole number from 0 to 10^15");
	if (!json_int(v, &value))
		value = (int64_t)strtod(v->text, NULL);
	*size = value;
	return OK;
}

/* The text is kept for messages, the exact decimal for comparing. The divisor of multipleOf is limited in
 * digits, because decimal_is_multiple() computes with 64 bits. */
static int set_bound(
	struct compiler *c, struct schema_bound *bound, const struct json *v, const struct where *at)
{
	bool is_multiple = text_eq(at->name, "multipleOf");

	if (!json_is(v, JSON_NUMBER))
		return invalid(c, at, "a number");
	bound->text = arena_strdup(c->a, v->text);
	if (!decimal_read(bound->text, &bound->value))
		return invalid(c, at, "a number with an exponent of at most 32 bits");
	if (is_multiple && (bound->value.sign <= 0 || bound->value.n > DECIMAL_DIVISOR_DIGITS))
		return invalid(c, at, "a positive number of at most 18 digits");
	return OK;
}

/* The table is walked: schemas are compiled rarely. */
static const struct keyword *find_keyword(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (text_eq(keywords[i].name, name))
			return &keywords[i];
	return NULL;
}

/* Members that begin with "x-" are extensions for others and mean nothing here. */
static int apply_keyword(
	struct compiler *c, struct schema_node *n, const struct json_member *m, const struct where *at)
{
	const struct keyword *k = find_keyword(m->name);

	if (!k)
		return text_starts(m->name, "x-")
			? OK
			: refuse(c, at, "SCHEMA_UNSUPPORTED", "a keyword we do not know");
	void *field = (char *)n + k->field;
	switch (k->kind) {
	case KIND_FN:
		return k->fn(c, n, m->value, at);
	case KIND_SCHEMA:
		return compile(c, m->value, at, field);
	case KIND_SCHEMAS:
		return set_schemas(c, field, m->value, at);
	case KIND_SIZE:
		return set_size(c, field, m->value, at);
	case KIND_BOUND:
		return set_bound(c, field, m->value, at);
	}
	return OK;
}

/* In draft-07 what stands beside a $ref is ignored; in later drafts it counts. A schema that means two
 * things is refused. */
static bool has_ambiguous_ref(const struct compiler *c, const struct json *v)
{
	if (!c->is_draft07 || !json_get(v, "$ref"))
		return false;
	json_each_member (m, v) {
		const struct keyword *k = find_keyword(m->name);
		if (!text_eq(m->name, "$ref") && k && k->fn != key_annotation)
			return true;
	}
	return false;
}

/* -1 stands for "no limit" in the three ranges. */
static int fill(struct compiler *c, struct schema_node *n, const struct json *v, const struct where *at)
{
	n->members = n->count = n->length = (struct schema_range){ -1, -1 };
	if (json_is_bool(v)) {
		n->is_never = v->type == JSON_FALSE;
		return OK;
	}
	if (!json_is(v, JSON_OBJECT))
		return invalid(c, at, "a schema: an object, true or false");
	if (has_ambiguous_ref(c, v))
		return refuse(
			c, at, "SCHEMA_UNSUPPORTED", "a $ref with other keywords beside it in draft-07");
	json_each_member (m, v) {
		int rc = apply_keyword(c, n, m, &(struct where){ .up = at, .name = m->name });
		if (rc)
			return rc;
	}
	return OK;
}

/* A subschema that was met before is not compiled again, so cycles end. */
static int compile(struct compiler *c, const struct json *v, const struct where *at, struct schema_node **ret)
{
	bool is_new;

	*ret = node_of(c, v, &is_new);
	return is_new ? fill(c, *ret, v, at) : OK;
}

/* Targets of references wait in a list instead of being compiled at once, so that a chain of references is
 * no recursion here. */
static int compile_pending(struct compiler *c)
{
	while (c->pending) {
		struct pending *p = c->pending;
		c->pending = p->next;
		int rc = fill(c, p->node, p->json, &p->at);
		if (rc)
			return rc;
	}
	return OK;
}

/* References may lead to subschemas that stand further down, so the pending ones are compiled at the end. */
int schema_compile(
	struct arena *a, const struct json *doc, const char *name, struct schema **ret, struct err *e)
{
	struct err local;
	struct compiler c = { .a = a, .doc = doc, .name = name ? name : "schema", .e = e ? e : &local };
	const char *id = json_get_text(doc, "$id", NULL);
	struct schema *s = arena_zalloc(a, 1, sizeof(*s));

	c.is_draft07 = strstr(json_get_text(doc, "$schema", ""), "draft-07");
	c.id = id ? arena_strndup(&c.scratch, id, strcspn(id, "#")) : NULL;
	if (c.id && !*c.id)
		c.id = NULL;
	s->name = arena_strdup(a, c.name);
	int rc = compile(&c, doc, NULL, &s->root);
	if (!rc)
		rc = compile_pending(&c);
	arena_done(&c.scratch);
	if (!rc)
		*ret = s;
	return rc;
}

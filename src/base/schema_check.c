/* schema_check.c — checking a value against a compiled schema.
 *
 * The walk follows schema and value together. It carries its path on the C stack, for the message, and a
 * budget of steps: alternatives inside alternatives can multiply, and a reference can lead back to itself
 * without taking a step into the value.
 *
 * There are three answers: valid, a violation (E_INPUT), and no answer. A budget that runs out and a
 * pattern that gives up are no answer. They must never be taken for one, not even below `not`, where a
 * violation would mean "valid". */
#include "base/schema.h"

#include "base/schema_node.h"

enum { DEEPEST = 1024, STEPS = 5000000 };

/* Where we are in the value. */
struct spot {
	const struct spot *up;
	const struct json_member *member; /* or NULL: */
	uint32_t index;
};

struct checker {
	uint32_t depth, steps;
	bool is_quiet; /* inside an alternative: only the answer counts */
	struct err *e;
};

static int check(struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at);

/* ---- messages ---- */

/* The path from the top, outermost first: "$.a[2]". */
static void add_path(struct buf *b, const struct spot *at)
{
	if (!at)
		return;
	add_path(b, at->up);
	if (at->member)
		buf_addf(b, ".%s", text_safe(b->a, at->member->name, at->member->name_n, false));
	else
		buf_addf(b, "[%u]", at->index);
}

/* A name that the schema itself says, as JSON. */
static const char *name_text(struct arena *a, const struct json *name)
{
	struct buf b;

	buf_init(&b, a);
	json_write(&b, name, 0);
	return text_safe(a, b.p, b.n, false);
}

/* The kind of a value and never the value: a message goes to callers and logs, and any argument may be a key. */
static const char *kind_of(struct arena *a, const struct json *v)
{
	if (json_is(v, JSON_STRING))
		return v->n ? "a string" : "an empty string";
	if (json_is(v, JSON_NUMBER))
		return "a number";
	if (json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT))
		return arena_printf(a, "an %s", json_type_name(v));
	return json_is(v, JSON_NULL) ? "null" : json_is(v, JSON_TRUE) ? "true" : "false";
}

/* "$.a[2]: type: expected string, found a number". What was found is the kind of the value unless `found` says it
 * better. Inside an alternative no message is made: it would be thrown away. */
static int violation(struct checker *c, const struct spot *at, const char *keyword, const char *expected,
	const char *found, const struct json *v)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct buf path;

	if (c->is_quiet)
		return E_INPUT;
	buf_init(&path, &scratch);
	buf_addc(&path, '$');
	add_path(&path, at);
	return err_set(c->e, E_INPUT, "SCHEMA_VIOLATION", "%s: %s: expected %s, found %s", path.p, keyword,
		expected, found ? found : kind_of(&scratch, v));
}

static int violation_n(struct checker *c, const struct spot *at, const char *keyword, const char *words,
	int64_t limit, uint64_t found)
{
	char expected[64], count[32];

	snprintf(expected, sizeof(expected), "%s %lld", words, (long long)limit);
	snprintf(count, sizeof(count), "%llu", (unsigned long long)found);
	return violation(c, at, keyword, expected, count, NULL);
}

static int out_of_range(struct checker *c)
{
	return err_set(c->e, E_LIMIT, "SCHEMA_NUMBER", "a number's exponent is beyond what can be compared");
}

/* Whether v fits n. An error that is no answer goes to *ret_rc, and the caller must look at it first. */
static bool fits(struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at,
	int *ret_rc)
{
	bool was_quiet = c->is_quiet;

	c->is_quiet = true;
	int rc = check(c, n, v, at);
	c->is_quiet = was_quiet;
	*ret_rc = rc == E_INPUT ? OK : rc;
	return rc == OK;
}

/* ---- any value ---- */

/* Every integer is a number, too. */
static unsigned types_of(const struct json *v)
{
	static const unsigned types[] = { [JSON_NULL] = TYPE_NULL,
		[JSON_FALSE] = TYPE_BOOLEAN,
		[JSON_TRUE] = TYPE_BOOLEAN,
		[JSON_NUMBER] = TYPE_NUMBER,
		[JSON_STRING] = TYPE_STRING,
		[JSON_ARRAY] = TYPE_ARRAY,
		[JSON_OBJECT] = TYPE_OBJECT };
	struct decimal d;

	if (v->type == JSON_NUMBER && decimal_read(v->text, &d) && decimal_is_integer(&d))
		return TYPE_NUMBER | TYPE_INTEGER;
	return types[v->type];
}

/* Compares keys, so that 1.0 fits an enum that says 1. */
static int check_values(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct buf key;

	buf_init(&key, &scratch);
	if (!schema_key(&key, v))
		return out_of_range(c);
	for (uint32_t i = 0; i < n->value_count; i++)
		if (bytes_eq(buf_bytes(&key), n->values[i]))
			return OK;
	bool is_one = n->value_count == 1;
	return violation(c, at, n->values_keyword,
		c->is_quiet ? "" : arena_printf(&scratch, "%s%s", is_one ? "" : "one of ", n->values_text),
		NULL, v);
}

/* ---- numbers ---- */

/* Only for the message: the caller has compared already. */
static int check_bound(struct checker *c, const struct schema_bound *b, const struct json *v,
	const struct spot *at, const char *keyword, const char *words, bool is_kept)
{
	char expected[120];

	if (is_kept)
		return OK;
	snprintf(expected, sizeof(expected), "%s %s", words, b->text);
	return violation(c, at, keyword, expected, NULL, v);
}

/* Compared exactly, as decimals; nothing goes through a double. */
static int check_number(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	struct decimal d;
	int rc = OK;

	if (!n->minimum.text && !n->maximum.text && !n->above.text && !n->below.text && !n->multiple.text)
		return OK;
	if (!decimal_read(v->text, &d))
		return out_of_range(c);
	if (n->minimum.text)
		rc = check_bound(c, &n->minimum, v, at, "minimum", "at least",
			decimal_cmp(&d, &n->minimum.value) >= 0);
	if (!rc && n->maximum.text)
		rc = check_bound(
			c, &n->maximum, v, at, "maximum", "at most", decimal_cmp(&d, &n->maximum.value) <= 0);
	if (!rc && n->above.text)
		rc = check_bound(c, &n->above, v, at, "exclusiveMinimum", "more than",
			decimal_cmp(&d, &n->above.value) > 0);
	if (!rc && n->below.text)
		rc = check_bound(c, &n->below, v, at, "exclusiveMaximum", "less than",
			decimal_cmp(&d, &n->below.value) < 0);
	if (!rc && n->multiple.text)
		rc = check_bound(c, &n->multiple, v, at, "multipleOf", "a multiple of",
			decimal_is_multiple(&d, &n->multiple.value));
	return rc;
}

/* ---- strings ---- */

/* JSON Schema counts characters, not bytes. */
static uint64_t count_characters(const struct json *v)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < v->n; i++)
		count += ((uint8_t)v->text[i] & 0xc0) != 0x80;
	return count;
}

/* 8-4-4-4-12 hex digits in either case. */
static bool is_uuid(const char *s, size_t n)
{
	if (n != 36)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
		if (is_dash ? s[i] != '-' : !strchr("0123456789abcdefABCDEF", s[i]) || !s[i])
			return false;
	}
	return true;
}

static bool is_letter(char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_hex(char c)
{
	return c && strchr("0123456789abcdefABCDEF", c);
}

/* A scheme, ':' and characters of RFC 3986; each percent sign is followed by two hex digits. */
static bool is_uri(const char *s, size_t n)
{
	size_t i = 0;

	if (n == 0 || !is_letter(s[0]))
		return false;
	while (i < n && (is_letter(s[i]) || (s[i] && strchr("0123456789+-.", s[i]))))
		i++;
	if (i == n || s[i] != ':')
		return false;
	for (i++; i < n; i++) {
		if (s[i] == '%' && !(i + 2 < n && is_hex(s[i + 1]) && is_hex(s[i + 2])))
			return false;
		if (!is_letter(s[i]) && !(s[i] && strchr("0123456789-._~:/?#[]@!$&'()*+,;=%", s[i])))
			return false;
	}
	return true;
}

/* Formats that we do not know were compiled to FORMAT_NONE and fit everything. */
static bool has_format(enum schema_format format, const struct json *v)
{
	int64_t us;

	switch (format) {
	case FORMAT_NONE:
		return true;
	case FORMAT_DATE_TIME: /* the compact form is not of RFC 3339 */
		return v->n > 4 && v->text[4] == '-' && text_parse_time(v->text, v->n, &us);
	case FORMAT_URI:
		return is_uri(v->text, v->n);
	case FORMAT_UUID:
		return is_uuid(v->text, v->n);
	}
	return false;
}

/* 1, 0, or an error that is no answer. */
static int matches(struct checker *c, const struct schema_pattern *p, const char *text, uint32_t n)
{
	int found = pattern_search(p->pattern, text, n, 0, NULL, c->e);

	/* Parsed text is UTF-8. A built value that is not UTF-8 gives no
	 * answer; E_INPUT would read as a violation. */
	return found == E_INPUT ? E_LIMIT : found;
}

/* Length, pattern, format: the cheap check first. */
static int check_string(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	if (n->length.min >= 0 || n->length.max >= 0) {
		uint64_t count = count_characters(v);
		if (n->length.min >= 0 && count < (uint64_t)n->length.min)
			return violation_n(c, at, "minLength", "characters: at least", n->length.min, count);
		if (n->length.max >= 0 && count > (uint64_t)n->length.max)
			return violation_n(c, at, "maxLength", "characters: at most", n->length.max, count);
	}
	if (n->pattern.pattern) {
		int found = matches(c, &n->pattern, v->text, v->n);
		if (found < 0)
			return found;
		if (found == 0)
			return violation(c, at, "pattern", n->pattern.text, NULL, v);
	}
	return has_format(n->format, v) ? OK : violation(c, at, "format", n->format_text, NULL, v);
}

/* ---- objects ---- */

static bool has_member(const struct json *v, const struct json *name)
{
	json_each_member (m, v)
		if (m->name_n == name->n && memcmp(m->name, name->text, name->n) == 0)
			return true;
	return false;
}

static int check_required(struct checker *c, const struct json *names, const struct json *v,
	const struct spot *at, const char *keyword)
{
	json_each (name, names) {
		AUTO(arena_done) struct arena scratch = { 0 };
		if (!has_member(v, name))
			return violation(c, at, keyword,
				c->is_quiet ? ""
					    : arena_printf(&scratch, "member %s", name_text(&scratch, name)),
				"none", v);
	}
	return OK;
}

/* What concerns the object as a whole; its members come later. */
static int check_object_itself(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	if (n->members.min >= 0 && v->n < n->members.min)
		return violation_n(c, at, "minProperties", "members: at least", n->members.min, v->n);
	if (n->members.max >= 0 && v->n > n->members.max)
		return violation_n(c, at, "maxProperties", "members: at most", n->members.max, v->n);
	int rc = check_required(c, n->required, v, at, "required");
	for (uint32_t i = 0; !rc && i < n->dependency_count; i++)
		if (json_get(v, n->dependencies[i].name))
			rc = check_required(c, n->dependencies[i].required, v, at, "dependentRequired");
	return rc;
}

/* A binary search in the order of by_property() in schema.c. */
static const struct schema_property *find_property(const struct schema_node *n, const struct json_member *m)
{
	uint32_t low = 0, high = n->property_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct schema_property *p = &n->properties[middle];
		uint32_t shorter = p->name_n < m->name_n ? p->name_n : m->name_n;
		int order = memcmp(p->name, m->name, shorter);
		if (order == 0)
			order = (p->name_n > m->name_n) - (p->name_n < m->name_n);
		if (order == 0)
			return p;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* A member's name is checked as a string value of its own. */
static int check_name(
	struct checker *c, const struct schema_node *n, const struct json_member *m, const struct spot *at)
{
	struct json name = { .type = JSON_STRING, .n = m->name_n, .text = m->name };

	return n->names ? check(c, n->names, &name, at) : OK;
}

/* Properties, then patterns, then additionalProperties for a name that neither of them knows. */
static int check_member(
	struct checker *c, const struct schema_node *n, const struct json_member *m, const struct spot *at)
{
	const struct schema_property *p = find_property(n, m);
	bool is_named = p;
	int rc = check_name(c, n, m, at);

	if (!rc && p)
		rc = check(c, p->node, m->value, at);
	for (uint32_t i = 0; !rc && i < n->pattern_count; i++) {
		int found = matches(c, &n->patterns[i], m->name, m->name_n);
		if (found < 0)
			return found;
		is_named |= found;
		if (found)
			rc = check(c, n->patterns[i].node, m->value, at);
	}
	if (rc || is_named || !n->additional)
		return rc;
	if (n->additional->is_never)
		return violation(c, at, "additionalProperties", "no member of this name", "one", m->value);
	return check(c, n->additional, m->value, at);
}

static int check_object(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	int rc = OK;

	json_each_member (m, v) {
		rc = check_member(c, n, m, &(struct spot){ .up = at, .member = m });
		if (rc)
			break;
	}
	return rc;
}

/* ---- arrays ---- */

static int by_bytes(const void *x, const void *y)
{
	const struct bytes *a = x, *b = y;
	size_t n = a->n < b->n ? a->n : b->n;
	int order = memcmp(a->p, b->p, n);

	return order ? order : (a->n > b->n) - (a->n < b->n);
}

/* Each item is written as its key and the keys are sorted: equal ones become neighbours, and the cost is
 * not quadratic. */
static int check_unique(struct checker *c, const struct json *v, const struct spot *at)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct bytes *keys = arena_alloc(&scratch, v->n * sizeof(*keys));

	for (uint32_t i = 0; i < v->n; i++) {
		struct buf key;
		buf_init(&key, &scratch);
		if (!schema_key(&key, v->items[i]))
			return out_of_range(c);
		keys[i] = buf_bytes(&key);
	}
	if (v->n)
		qsort(keys, v->n, sizeof(*keys), by_bytes);
	for (uint32_t i = 1; i < v->n; i++)
		if (bytes_eq(keys[i - 1], keys[i]))
			return violation(c, at, "uniqueItems", "each item once", "one twice", v);
	return OK;
}

/* One item that fits is enough. */
static int check_contains(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	int rc = OK;

	for (uint32_t i = 0; i < v->n && !rc; i++)
		if (fits(c, n->contains, v->items[i], &(struct spot){ .up = at, .index = i }, &rc))
			return OK;
	return rc ? rc : violation(c, at, "contains", "an item of the kind it describes", "none", v);
}

static int check_array_itself(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	if (n->count.min >= 0 && v->n < n->count.min)
		return violation_n(c, at, "minItems", "items: at least", n->count.min, v->n);
	if (n->count.max >= 0 && v->n > n->count.max)
		return violation_n(c, at, "maxItems", "items: at most", n->count.max, v->n);
	int rc = n->is_unique ? check_unique(c, v, at) : OK;
	return !rc && n->contains ? check_contains(c, n, v, at) : rc;
}

/* The first items have schemas of their own (prefixItems), the others share one. */
static int check_array(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	int rc = OK;

	for (uint32_t i = 0; !rc && i < v->n; i++) {
		const struct schema_node *item = i < n->prefix.n ? n->prefix.nodes[i] : n->items;
		if (item)
			rc = check(c, item, v->items[i], &(struct spot){ .up = at, .index = i });
	}
	return rc;
}

/* ---- alternatives ---- */

/* One alternative that fits is enough; the others are not looked at. */
static int check_any(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	int rc = OK;

	for (uint32_t i = 0; i < n->any_of.n && !rc; i++)
		if (fits(c, n->any_of.nodes[i], v, at, &rc))
			return OK;
	return rc ? rc : violation(c, at, "anyOf", "at least one alternative to fit", NULL, v);
}

/* All alternatives are tried, because a second that fits makes the value invalid. */
static int check_one(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	uint32_t count = 0;
	int rc = OK;

	for (uint32_t i = 0; i < n->one_of.n && !rc; i++)
		count += fits(c, n->one_of.nodes[i], v, at, &rc);
	if (rc || count == 1)
		return rc;
	return violation(
		c, at, "oneOf", count ? "only one alternative to fit" : "one alternative to fit", NULL, v);
}

/* `if` never fails by itself: it only chooses between `then` and `else`. */
static int check_condition(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	int rc;
	const struct schema_node *branch = fits(c, n->condition, v, at, &rc) ? n->then : n->otherwise;

	if (rc)
		return rc;
	return branch ? check(c, branch, v, at) : OK;
}

/* Keywords that look at the same value again with other schemas. */
static int check_in_place(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	int rc = n->ref ? check(c, n->ref, v, at) : OK;

	for (uint32_t i = 0; !rc && i < n->all_of.n; i++)
		rc = check(c, n->all_of.nodes[i], v, at);
	if (!rc && n->any_of.n)
		rc = check_any(c, n, v, at);
	if (!rc && n->one_of.n)
		rc = check_one(c, n, v, at);
	if (!rc && n->negated && fits(c, n->negated, v, at, &rc))
		rc = violation(c, at, "not", "a value that its schema refuses", NULL, v);
	if (!rc && n->condition)
		rc = check_condition(c, n, v, at);
	return rc;
}

/* ---- the walk ---- */

/* Keywords that look at this value alone. They come first: they are cheap and give the clearest message. */
static int check_itself(
	struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	if (n->is_never)
		return violation(c, at, "false", "nothing here", NULL, v);
	if (n->types && !(n->types & types_of(v)))
		return violation(c, at, "type", n->type_text, NULL, v);
	int rc = n->values ? check_values(c, n, v, at) : OK;
	if (rc)
		return rc;
	switch ((enum json_type)v->type) {
	case JSON_NUMBER:
		return check_number(c, n, v, at);
	case JSON_STRING:
		return check_string(c, n, v, at);
	case JSON_ARRAY:
		return check_array_itself(c, n, v, at);
	case JSON_OBJECT:
		return check_object_itself(c, n, v, at);
	case JSON_NULL:
	case JSON_FALSE:
	case JSON_TRUE:
		break;
	}
	return OK;
}

/* One step of the walk; children are visited last. */
static int check(struct checker *c, const struct schema_node *n, const struct json *v, const struct spot *at)
{
	if (c->depth == DEEPEST || ++c->steps > STEPS)
		return err_set(c->e, E_LIMIT, "SCHEMA_LIMIT",
			"checking did not come to an answer: the schema %s",
			c->depth == DEEPEST ? "goes round in circles" : "has too many alternatives");
	c->depth++;
	int rc = check_itself(c, n, v, at);
	if (!rc)
		rc = check_in_place(c, n, v, at);
	if (!rc && v->type == JSON_OBJECT)
		rc = check_object(c, n, v, at);
	else if (!rc && v->type == JSON_ARRAY)
		rc = check_array(c, n, v, at);
	c->depth--;
	return rc;
}

/* A local error takes the message when the caller wants none: checks rely on having one. */
int schema_check(const struct schema *s, const struct json *instance, struct err *e)
{
	struct err local;
	struct checker c = { .e = e ? e : &local };

	return check(&c, s->root, instance, NULL);
}

/* conf.c — YAML into the JSON tree, for policies and rule packs that people write.
 *
 * YAML has many ways to say one thing, and some texts that two readers understand differently. A policy
 * must have one meaning, so what readers of different versions would take differently is refused here,
 * with the remedy in the message: merge keys, numbers with leading zeros, keys that are not text, tags of
 * other schemas, anchors and aliases. What is left is hashed in its canonical JSON.
 *
 * The text comes from outside, so size, depth and number of values are limited. Recursion follows the
 * nesting of the document, which is checked before each step down. */
#include "base/conf.h"

#include <yaml.h>

enum { DEEPEST = 64, LARGEST_BYTES = 8 << 20, MOST_NODES = 500000 };

/* A place in the text, counted from 1 as editors do. */
struct place {
	uint32_t line, column;
};

/* `scratch` holds what only messages and checks need; the tree goes to `a`. */
struct conf {
	struct arena *a;
	struct arena scratch;
	const char *name;
	yaml_parser_t yaml;
	yaml_event_t event; /* the current one */
	bool has_event;
	uint32_t depth, nodes;
	struct bytes text;
	size_t seen_characters, seen_bytes; /* how far offset_of_event() has counted */
	struct err *e;
};

static int read_value(struct conf *c, struct json **ret);

/* ---- errors ---- */

static struct place here(const struct conf *c)
{
	const yaml_mark_t *m = &c->event.start_mark;

	return (struct place){ (uint32_t)m->line + 1, (uint32_t)m->column + 1 };
}

/* Where the current event begins, in bytes: libyaml counts characters.  Events come in the order of the text, so it is counted once. */
static uint32_t offset_of_event(struct conf *c)
{
	while (c->seen_characters < c->event.start_mark.index && c->seen_bytes < c->text.n) {
		c->seen_bytes++;
		while (c->seen_bytes < c->text.n && (c->text.p[c->seen_bytes] & 0xC0) == 0x80)
			c->seen_bytes++;
		c->seen_characters++;
	}
	return (uint32_t)c->seen_bytes;
}

/* The one form of an error: "name:line:column: expected WANTED, found FOUND". */
static int refuse(struct conf *c, enum rc rc, const char *code, const char *wanted, const char *found)
{
	struct place at = here(c);

	return err_set(c->e, rc, code, "%s:%u:%u: expected %s, found %s", c->name, at.line, at.column, wanted,
		found);
}

/* At most 60 bytes of a text, made harmless for a terminal. */
static const char *quoted(struct conf *c, const char *text, size_t n)
{
	size_t shown = n < 60 ? n : 60;

	return arena_printf(
		&c->scratch, "'%s%s'", text_safe(&c->scratch, text, shown, false), shown < n ? "..." : "");
}

static int refuse_scalar(struct conf *c, const char *code, const char *wanted)
{
	const char *text = (const char *)c->event.data.scalar.value;

	return refuse(c, E_INPUT, code, wanted, quoted(c, text, c->event.data.scalar.length));
}

/* What libyaml complains about. Errors of its reader have no mark of their own, so the parser's is taken. */
static int refuse_syntax(struct conf *c)
{
	const yaml_parser_t *y = &c->yaml;
	bool is_reader = y->error == YAML_READER_ERROR;
	size_t line = is_reader ? y->mark.line : y->problem_mark.line;
	size_t column = is_reader ? y->mark.column : y->problem_mark.column;

	return err_set(c->e, E_INPUT, "CONF_SYNTAX", "%s:%zu:%zu: expected YAML, found an error: %s%s%s",
		c->name, line + 1, column + 1, y->context ? y->context : "", y->context ? ", " : "",
		y->problem ? y->problem : "unknown");
}

/* ---- events ---- */

/* Takes the next event; the one before it is given back first, so its text must not be used any more. */
static int next(struct conf *c)
{
	if (c->has_event)
		yaml_event_delete(&c->event);
	c->has_event = false;
	if (!yaml_parser_parse(&c->yaml, &c->event))
		return refuse_syntax(c);
	c->has_event = true;
	return OK;
}

/* Anchors and aliases let a small text stand for a huge tree, and a value mean something at a distance. */
static bool has_anchor(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return event->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return event->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return event->data.mapping_start.anchor;
	default:
		return event->type == YAML_ALIAS_EVENT;
	}
}

/* The name of a core tag behind its prefix: "" for no tag, "str" for the non-specific tag "!". NULL for
 * any other tag. */
static const char *core_tag(const yaml_char_t *tag)
{
	static const char prefix[] = "tag:yaml.org,2002:";
	const char *text = (const char *)tag;

	if (!text)
		return "";
	if (text_eq(text, "!"))
		return "str";
	if (!text_starts(text, prefix))
		return NULL;
	text += sizeof(prefix) - 1;
	static const char *const known[] = { "str", "int", "float", "bool", "null", "map", "seq" };
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_eq(text, known[i]))
			return text;
	return NULL;
}

/* ---- scalars of the core schema ---- */

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(text, words[i]))
			return true;
	return false;
}

#define IS_ONE_OF(text, ...) \
	is_one_of(text, (const char *const[]){ __VA_ARGS__ }, \
		ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

static size_t count_digits(const char *p)
{
	return strspn(p, "0123456789");
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? over the whole text. */
static bool looks_like_number(const char *p)
{
	p += *p == '-' || *p == '+';
	size_t whole = count_digits(p), fraction = 0;
	p += whole;
	if (*p == '.') {
		fraction = count_digits(p + 1);
		p += 1 + fraction;
	}
	if (whole + fraction == 0)
		return false;
	if (*p == 'e' || *p == 'E') {
		p += 1 + (p[1] == '-' || p[1] == '+');
		size_t exponent = count_digits(p);
		if (exponent == 0)
			return false;
		p += exponent;
	}
	return *p == '\0';
}

/* A number keeps its digits as text, so no precision is lost before it is compared or hashed. */
static struct json *number_token(struct conf *c, const char *text, size_t n)
{
	struct json *v = json_new(c->a, JSON_NUMBER);

	v->text = arena_strndup(c->a, text, n);
	v->n = (uint32_t)n;
	return v;
}

/* The same number in JSON's spelling: no plus sign, digits on both sides of the point. */
static int read_decimal(struct conf *c, const char *text, struct json **ret)
{
	struct buf b;
	const char *p = text + (*text == '-' || *text == '+');
	size_t whole = count_digits(p);

	if (whole > 1 && *p == '0')
		return refuse_scalar(c, "CONF_NUMBER",
			"a number without leading zeros (some readers take it as octal; write 0o17, 15 or "
			"quote it)");
	buf_init(&b, c->a);
	if (*text == '-')
		buf_addc(&b, '-');
	buf_add(&b, whole ? p : "0", whole ? whole : 1);
	p += whole;
	size_t fraction = *p == '.' ? count_digits(p + 1) : 0;
	if (fraction)
		buf_add(&b, p, 1 + fraction);
	p += *p == '.' ? 1 + fraction : 0;
	buf_adds(&b, p);
	*ret = number_token(c, b.p, b.n);
	return OK;
}

/* A hexadecimal or octal integer: 0x1f, 0o17. The digits were checked by looks_like_radix(). */
static int read_radix(struct conf *c, const char *text, struct json **ret)
{
	int base = text[1] == 'x' ? 16 : 8;
	int64_t value = 0;

	for (const char *p = text + 2; *p; p++) {
		int digit = *p <= '9' ? *p - '0' : (*p | 0x20) - 'a' + 10;
		if (__builtin_mul_overflow(value, base, &value) ||
			__builtin_add_overflow(value, digit, &value))
			return refuse_scalar(c, "CONF_NUMBER", "an integer of at most 63 bits");
	}
	*ret = json_number(c->a, value);
	return OK;
}

/* At least one digit must follow the prefix. */
static bool looks_like_radix(const char *text)
{
	const char *digits = text_starts(text, "0x") ? "0123456789abcdefABCDEF" : "01234567";

	if (text[0] != '0' || (text[1] != 'x' && text[1] != 'o') || !text[2])
		return false;
	return text[2 + strspn(text + 2, digits)] == '\0';
}

/* What a plain scalar means by YAML's core schema. Words such as "yes" and "on" are texts there, unlike in
 * older YAML. */
static int resolve(struct conf *c, const char *text, size_t n, struct json **ret)
{
	if (IS_ONE_OF(text, "", "~", "null", "Null", "NULL"))
		*ret = json_new(c->a, JSON_NULL);
	else if (IS_ONE_OF(text, "true", "True", "TRUE"))
		*ret = json_bool(c->a, true);
	else if (IS_ONE_OF(text, "false", "False", "FALSE"))
		*ret = json_bool(c->a, false);
	else if (looks_like_radix(text))
		return read_radix(c, text, ret);
	else if (looks_like_number(text))
		return read_decimal(c, text, ret);
	else if (IS_ONE_OF(text + strspn(text, "+-"), ".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"))
		return refuse_scalar(c, "CONF_NUMBER", "a finite number");
	else
		*ret = json_stringn(c->a, text, n);
	return OK;
}

/* Whether a resolved value is of the type that its explicit tag promises. */
static bool tag_fits(const char *tag, const struct json *v)
{
	switch ((enum json_type)v->type) {
	case JSON_NULL:
		return text_eq(tag, "null");
	case JSON_TRUE:
	case JSON_FALSE:
		return text_eq(tag, "bool");
	case JSON_NUMBER:
		return text_eq(tag, "float") || (text_eq(tag, "int") && !strpbrk(v->text, ".eE"));
	case JSON_STRING:
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	return false;
}

/* Quoted text is text. A plain scalar is resolved; one that holds a NUL cannot be a number or word and
 * stays text. */
static int read_scalar(struct conf *c, struct json **ret)
{
	const char *text = (const char *)c->event.data.scalar.value;
	size_t n = c->event.data.scalar.length;
	const char *tag = core_tag(c->event.data.scalar.tag);
	bool is_plain = c->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (!tag)
		return refuse(c, E_INPUT, "CONF_TAG", "no tag but the core ones", "another");
	if (text_eq(tag, "str") || (!*tag && !is_plain) || strlen(text) != n) {
		*ret = json_stringn(c->a, text, n);
		return OK;
	}
	struct json *v = NULL;
	int rc = resolve(c, text, n, &v);
	if (rc)
		return rc;
	if (*tag && !tag_fits(tag, v))
		return refuse_scalar(
			c, "CONF_TAG", arena_printf(&c->scratch, "a value of its tag !!%s", tag));
	*ret = v;
	return OK;
}

/* ---- collections ---- */

/* One step down: the tag must fit and the depth must not be used up. The caller steps up again whatever
 * comes. */
static int enter(struct conf *c, const yaml_char_t *tag, const char *kind)
{
	const char *core = core_tag(tag);

	if (!core || (*core && !text_eq(core, kind)))
		return refuse(c, E_INPUT, "CONF_TAG", "no tag but the core ones", "another");
	if (c->depth == DEEPEST)
		return refuse(c, E_LIMIT, "CONF_DEPTH",
			arena_printf(&c->scratch, "nesting of at most %d", DEEPEST), "more");
	c->depth++;
	return OK;
}

/* The depth is given back on every way out. */
static int read_sequence(struct conf *c, struct json **ret)
{
	struct json *list = json_new(c->a, JSON_ARRAY), *item;
	int rc = enter(c, c->event.data.sequence_start.tag, "seq");

	while (!rc && !(rc = next(c)) && c->event.type != YAML_SEQUENCE_END_EVENT) {
		rc = read_value(c, &item);
		if (!rc)
			json_push(c->a, list, item);
	}
	c->depth--;
	if (!rc)
		*ret = list;
	return rc;
}

/* A key is text: quoted, or plain and neither null nor a truth value nor a number. "1:" and "yes:" would
 * be read differently elsewhere. */
static int read_key(struct conf *c, struct json **ret)
{
	struct json *key;

	if (has_anchor(&c->event))
		return refuse(c, E_INPUT, "CONF_ALIAS", "no anchors and aliases", "one");
	if (c->event.type != YAML_SCALAR_EVENT)
		return refuse(c, E_INPUT, "CONF_KEY", "a key that is text", "a collection");
	int rc = read_scalar(c, &key);
	if (rc)
		return rc;
	if (!json_is(key, JSON_STRING))
		return refuse_scalar(c, "CONF_KEY", "a key that is text (quote it)");
	if (text_eq(key->text, "<<") && c->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return refuse_scalar(c, "CONF_KEY", "no merge key");
	*ret = key;
	return OK;
}

/* Without a search for the name: json_set() would make large maps quadratic. Names are checked once at the
 * end. */
static void add_member(struct conf *c, struct json *map, const struct json *key, struct json *value)
{
	if (map->n == map->cap) {
		uint32_t cap = map->cap ? map->cap * 2 : 8;
		map->members = arena_grow(
			c->a, map->members, map->n * sizeof(*map->members), cap * sizeof(*map->members));
		map->cap = cap;
	}
	map->members[map->n++] = (struct json_member){ .name = key->text, .name_n = key->n, .value = value };
}

/* Duplicate keys are an error that names both places: readers differ in which one wins. */
static int check_names(struct conf *c, const struct json *map, const struct place *places)
{
	uint32_t first, again;

	if (!json_duplicate(map->members, map->n, &first, &again))
		return OK;
	const struct json_member *m = &map->members[again];
	return err_set(c->e, E_INPUT, "CONF_DUPLICATE_KEY",
		"%s:%u:%u: expected each key once, found %s again (first at line %u, column %u)", c->name,
		places[again].line, places[again].column, quoted(c, m->name, m->name_n), places[first].line,
		places[first].column);
}

/* Remembers the place of each key for the message about duplicates. */
static int read_mapping(struct conf *c, struct json **ret)
{
	struct json *map = json_new(c->a, JSON_OBJECT), *key = NULL, *value;
	struct place *places = NULL;
	uint32_t cap = 0;
	int rc = enter(c, c->event.data.mapping_start.tag, "map");

	while (!rc && !(rc = next(c)) && c->event.type != YAML_MAPPING_END_EVENT) {
		if (map->n == cap) {
			places = arena_grow(
				&c->scratch, places, cap * sizeof(*places), (cap * 2 + 8) * sizeof(*places));
			cap = cap * 2 + 8;
		}
		places[map->n] = here(c);
		rc = read_key(c, &key);
		if (!rc)
			rc = next(c);
		if (!rc)
			rc = read_value(c, &value);
		if (!rc)
			add_member(c, map, key, value);
	}
	c->depth--;
	if (!rc)
		rc = check_names(c, map, places);
	if (!rc)
		*ret = map;
	return rc;
}

/* Counts every value, so that a wide document is stopped as well as a deep one. */
static int read_value(struct conf *c, struct json **ret)
{
	uint32_t at = offset_of_event(c);
	int rc;

	if (has_anchor(&c->event))
		return refuse(c, E_INPUT, "CONF_ALIAS", "no anchors and aliases", "one");
	if (++c->nodes > MOST_NODES)
		return refuse(c, E_LIMIT, "CONF_SIZE",
			arena_printf(&c->scratch, "at most %d values", MOST_NODES), "more");
	switch (c->event.type) {
	case YAML_SCALAR_EVENT:
		rc = read_scalar(c, ret);
		break;
	case YAML_SEQUENCE_START_EVENT:
		rc = read_sequence(c, ret);
		break;
	case YAML_MAPPING_START_EVENT:
		rc = read_mapping(c, ret);
		break;
	default:
		BUG("libyaml sent an event where only a value can be");
	}
	if (!rc)
		(*ret)->at = at;
	return rc;
}

/* ---- document ---- */

/* The documents of the stream into a list, at least one and at most `most`.  Where only one is wanted, a second would be seen by some readers only. */
static int read_documents(struct conf *c, uint32_t most, struct json *list)
{
	struct json *v;
	int rc = next(c); /* stream start */

	if (!rc)
		rc = next(c);
	while (!rc && c->event.type == YAML_DOCUMENT_START_EVENT) {
		if (list->n == most)
			return refuse(c, E_INPUT, "CONF_DOCUMENTS", "one document", "a second");
		rc = next(c);
		if (!rc)
			rc = read_value(c, &v);
		if (!rc)
			json_push(c->a, list, v);
		if (!rc)
			rc = next(c); /* document end */
		if (!rc)
			rc = next(c);
	}
	if (!rc && list->n == 0)
		return refuse(c, E_INPUT, "CONF_SYNTAX", "a document", "the end of the text");
	return rc;
}

/* Checked before libyaml sees the text, because libyaml stops at a NUL as if the text ended there: what
 * stands behind it would go unseen. */
static int check_bytes(struct bytes text, const char *name, struct err *e)
{
	if (text.n > LARGEST_BYTES)
		return err_set(e, E_LIMIT, "CONF_SIZE", "%s: expected at most %d bytes, found %zu", name,
			LARGEST_BYTES, text.n);
	size_t valid = text_utf8_valid((const char *)text.p, text.n);
	const uint8_t *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;
	size_t bad = nul && (size_t)(nul - text.p) < valid ? (size_t)(nul - text.p) : valid;
	if (bad == text.n)
		return OK;
	size_t line = 1;
	for (size_t i = 0; i < bad; i++)
		line += text.p[i] == '\n';
	return err_set(e, E_INPUT, "CONF_UTF8", "%s:%zu: expected UTF-8 text, found byte 0x%02X", name, line,
		text.p[bad]);
}

/* Events and parser are freed on every way out; the tree stays in the caller's arena. */
static int parse(
	struct arena *a, struct bytes text, const char *name, uint32_t most, struct json **ret, struct err *e)
{
	struct err local;
	struct conf c = { .a = a, .text = text, .name = name ? name : "input", .e = e ? e : &local };
	struct json *list = json_new(a, JSON_ARRAY);
	int rc = check_bytes(text, c.name, c.e);

	if (rc)
		return rc;
	if (!yaml_parser_initialize(&c.yaml))
		mem_exhausted(0);
	yaml_parser_set_encoding(&c.yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&c.yaml, text.p, text.n);
	rc = read_documents(&c, most, list);
	if (c.has_event)
		yaml_event_delete(&c.event);
	yaml_parser_delete(&c.yaml);
	arena_done(&c.scratch);
	if (!rc)
		*ret = list;
	return rc;
}

int conf_parse_yaml(struct arena *a, struct bytes text, const char *name, struct json **ret, struct err *e)
{
	struct json *list;
	int rc = parse(a, text, name, 1, &list, e);

	if (!rc)
		*ret = list->items[0];
	return rc;
}

int conf_parse_yaml_all(
	struct arena *a, struct bytes text, const char *name, struct json **ret, struct err *e)
{
	return parse(a, text, name, UINT32_MAX, ret, e);
}

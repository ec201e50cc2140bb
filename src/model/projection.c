/* projection.c — the interpreter of member tables; see projection.h.
 *
 * A signed record is hashed in a canonical form: a fixed set of members, sorted, each written in one way.
 * The tables in records.c say which members and how; this file reads a record by such a table. A member
 * that the table does not know is not written, so it is not signed either.
 *
 * A record is read once: each of its members is looked up in the sorted table and put into its slot, and
 * then the slots are written in order. The cost grows with the record and not with the size of the table,
 * which matters when a chain of a million receipts is hashed.
 *
 * Trust: a reader that ignores letter case would take "Verdict" for "verdict", while the signature covers
 * only the second. So a member that differs from a known one in case only is refused. */
#include "model/projection.h"

#include "model/stamp.h"

#include <math.h>
#include <string.h>

enum { MAX_MEMBERS = 128, MAX_DEPTH = 32 };
static const int64_t SAFE_INTEGER = 9007199254740991;

/* Names are compared with their lengths, because a name in a record may hold a NUL. */
static int compare(const char *name, size_t n, const char *known)
{
	size_t known_n = strlen(known);
	int order = memcmp(name, known, n < known_n ? n : known_n);

	return order ? order : (n > known_n) - (n < known_n);
}

/* A binary search: tables are sorted by name. */
static const struct member *find(const struct projection *p, const char *name, size_t n)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = compare(name, n, p->members[mid].name);
		if (order == 0)
			return &p->members[mid];
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

/* Lower case, as readers that ignore case compare names: ASCII letters, and the two other characters that
 * fold to ASCII letters, U+017F (long s) and U+212A (Kelvin sign). Returns the folded length; 0 when
 * nothing changed, or when the name is too long to equal a listed one. */
static size_t fold(const char *name, size_t n, char *to, size_t cap)
{
	size_t out = 0;
	bool changed = false;

	for (size_t i = 0; i < n; i++) {
		char c = name[i];
		if (out + 1 >= cap)
			return 0;
		if (c >= 'A' && c <= 'Z') {
			c = (char)(c - 'A' + 'a');
			changed = true;
		} else if (n - i >= 2 && memcmp(name + i, "\xc5\xbf", 2) == 0) {
			c = 's';
			i += 1;
			changed = true;
		} else if (n - i >= 3 && memcmp(name + i, "\xe2\x84\xaa", 3) == 0) {
			c = 'k';
			i += 2;
			changed = true;
		}
		to[out++] = c;
	}
	to[out] = '\0';
	return changed ? out : 0;
}

/* Refuses a name that is unknown as it is written but known in lower case. */
static int check_case(const struct projection *p, const struct json_member *m, struct err *e)
{
	char folded[64];
	size_t n = fold(m->name, m->name_n, folded, sizeof(folded));

	if (n == 0 || !find(p, folded, n))
		return OK;
	return err_set(e, E_INPUT, "MEMBER_CASE",
		"member '%s' differs from '%s' in letter case only; a reader that ignores case would take it "
		"for that one",
		m->name, folded);
}

/* The check of names for a whole record, also for readers that do not hash it. It follows known members
 * into their own records and lists of records. */
int projection_check_names(const struct projection *p, const struct json *record, struct err *e)
{
	json_each_member (m, record) {
		const struct member *known = find(p, m->name, m->name_n);
		if (!known && check_case(p, m, e))
			return e ? (int)e->rc : E_INPUT;
		if (!known || !known->sub)
			continue;
		if (json_is(m->value, JSON_OBJECT) && projection_check_names(known->sub, m->value, e))
			return E_INPUT;
		json_each (item, m->value) {
			if (json_is(item, JSON_OBJECT) && projection_check_names(known->sub, item, e))
				return E_INPUT;
		}
	}
	return OK;
}

static int wrong_type(const struct member *m, const struct json *v, const char *wanted, struct err *e)
{
	return err_set(e, E_INPUT, "MEMBER_TYPE", "member '%s' must be %s, found %s", m->name, wanted,
		json_type_name(v));
}

/* What OMIT leaves out: nothing, null, false, zero, and an empty text, list or object. A number that is no
 * integer is never empty. */
static bool is_empty(const struct json *v)
{
	int64_t number;

	if (!v || v->type == JSON_NULL || v->type == JSON_FALSE)
		return true;
	if (v->type == JSON_NUMBER)
		return json_int(v, &number) && number == 0;
	return v->type != JSON_TRUE && v->n == 0;
}

/* Missing and null are the same to a table. */
static bool is_nothing(const struct json *v)
{
	return !v || v->type == JSON_NULL;
}

/* A missing text is the empty text. */
static int write_text(struct buf *to, const struct member *m, const struct json *v, struct err *e)
{
	if (is_nothing(v)) {
		buf_adds(to, "\"\"");
		return OK;
	}
	if (v->type != JSON_STRING)
		return wrong_type(m, v, "a string", e);
	json_canonical(to, v);
	return OK;
}

/* Only integers that every reader understands alike, up to 2^53-1 either way; a missing one is 0. */
static int write_int(struct buf *to, const struct member *m, const struct json *v, struct err *e)
{
	int64_t number = 0;

	if (!is_nothing(v) && v->type != JSON_NUMBER)
		return wrong_type(m, v, "an integer", e);
	if (!is_nothing(v) && !json_int(v, &number))
		return err_set(e, E_INPUT, "non_interoperable_number",
			"member '%s' is %s, not an integer up to 2^53-1", m->name, v->text);
	if (number > SAFE_INTEGER || number < -SAFE_INTEGER || (m->shape == SHAPE_UINT && number < 0))
		return err_set(e, E_INPUT, "non_interoperable_number",
			"member '%s' is %s, outside %s..2^53-1", m->name, v ? v->text : "0",
			m->shape == SHAPE_UINT ? "0" : "-2^53+1");
	buf_addf(to, "%lld", (long long)number);
	return OK;
}

/* A missing truth value is false. */
static int write_bool(struct buf *to, const struct member *m, const struct json *v, struct err *e)
{
	if (!is_nothing(v) && !json_is_bool(v))
		return wrong_type(m, v, "true or false", e);
	buf_adds(to, v && v->type == JSON_TRUE ? "true" : "false");
	return OK;
}

/* Times are rewritten in their canonical spelling; a missing one is the zero time. */
static int write_time(struct buf *to, const struct member *m, const struct json *v, struct err *e)
{
	char *text;

	if (is_nothing(v)) {
		buf_adds(to, "\"" STAMP_UNSET "\"");
		return OK;
	}
	if (v->type != JSON_STRING)
		return wrong_type(m, v, "a time", e);
	text = stamp_canonical(to->a, v->text, v->n, m->shape == SHAPE_UTC);
	if (!text)
		return err_set(e, E_INPUT, "MEMBER_TYPE", "member '%s' is \"%s\", not an RFC 3339 time",
			m->name, v->text);
	buf_addc(to, '"');
	buf_adds(to, text);
	buf_addc(to, '"');
	return OK;
}

/* A number as it comes back from an IEEE double: the shortest text, with -0 kept. Records of other
 * programs were hashed after such a round trip. */
static struct json *through_double(struct arena *a, const struct json *v)
{
	double value = strtod(v->text, NULL);

	if (value == 0 && signbit(value)) {
		struct json *zero = json_copy(a, v);
		zero->text = "-0";
		zero->n = 2;
		return zero;
	}
	return json_double(a, value);
}

/* A tree without a table: every number goes through a double, everything else stays as it is. */
static struct json *free_form(struct arena *a, const struct json *v)
{
	struct json *copy;

	if (v->type == JSON_NUMBER)
		return through_double(a, v);
	if (v->type == JSON_ARRAY) {
		copy = json_new(a, JSON_ARRAY);
		json_each (item, v)
			json_push(a, copy, free_form(a, item));
		return copy;
	}
	if (v->type != JSON_OBJECT)
		return (struct json *)v;
	copy = json_copy(a, v);
	json_each_member (m, copy)
		m->value = free_form(a, m->value);
	return copy;
}

/* FREE members are rewritten, RAW members keep their number tokens. */
static int write_any(struct buf *to, const struct member *m, const struct json *v)
{
	if (is_nothing(v))
		buf_adds(to, "null");
	else
		json_canonical(to, m->shape == SHAPE_FREE ? free_form(to->a, v) : v);
	return OK;
}

/* A list of texts, or an error: one number among them would be hashed differently elsewhere. */
static int write_texts(struct buf *to, const struct member *m, const struct json *v, struct err *e)
{
	if (v->type != JSON_ARRAY)
		return wrong_type(m, v, "a list of strings", e);
	json_each (item, v) {
		if (item->type != JSON_STRING)
			return wrong_type(m, item, "a list of strings", e);
	}
	json_canonical(to, v);
	return OK;
}

/* An object whose values are texts, sorted by name as canonical JSON is. */
static int write_map(struct buf *to, const struct member *m, const struct json *v, struct err *e)
{
	if (v->type != JSON_OBJECT)
		return wrong_type(m, v, "an object with string values", e);
	json_each_member (entry, v) {
		if (entry->value->type != JSON_STRING)
			return wrong_type(m, entry->value, "an object with string values", e);
	}
	json_canonical(to, v);
	return OK;
}

static int write_record(struct buf *to, const struct projection *p, const struct except *but,
	const struct json *record, int depth, struct err *e);

/* Each object goes through the table of the member; errors say which one failed. */
static int write_objects(
	struct buf *to, const struct member *m, const struct json *v, int depth, struct err *e)
{
	if (v->type != JSON_ARRAY)
		return wrong_type(m, v, "a list of objects", e);
	buf_addc(to, '[');
	for (size_t i = 0; i < v->n; i++) {
		if (i > 0)
			buf_addc(to, ',');
		if (write_record(to, m->sub, NULL, v->items[i], depth + 1, e))
			return err_wrap(e, "%s[%zu]", m->name, i);
	}
	buf_addc(to, ']');
	return OK;
}

/* A missing object is written as an empty one, with the defaults of its own table. */
static int write_object(
	struct buf *to, const struct member *m, const struct json *v, int depth, struct err *e)
{
	static const struct json nothing = { .type = JSON_OBJECT };

	if (write_record(to, m->sub, NULL, is_nothing(v) ? &nothing : v, depth + 1, e))
		return err_wrap(e, "%s", m->name);
	return OK;
}

/* A list or map that is missing: null, or empty where the table says that it is filled. */
static int write_absent(struct buf *to, const struct member *m)
{
	bool is_map = m->shape == SHAPE_MAP;

	buf_adds(to, m->presence != FILLED ? "null" : is_map ? "{}" : "[]");
	return OK;
}

/* Dispatches on the shape that the table gives this member. */
static int write_value(struct buf *to, const struct member *m, const struct json *v, int depth, struct err *e)
{
	switch (m->shape) {
	case SHAPE_TEXT:
		return write_text(to, m, v, e);
	case SHAPE_INT:
	case SHAPE_UINT:
		return write_int(to, m, v, e);
	case SHAPE_BOOL:
		return write_bool(to, m, v, e);
	case SHAPE_TIME:
	case SHAPE_UTC:
		return write_time(to, m, v, e);
	case SHAPE_TEXTS:
		return is_nothing(v) ? write_absent(to, m) : write_texts(to, m, v, e);
	case SHAPE_MAP:
		return is_nothing(v) ? write_absent(to, m) : write_map(to, m, v, e);
	case SHAPE_OBJECTS:
		return is_nothing(v) ? write_absent(to, m) : write_objects(to, m, v, depth, e);
	case SHAPE_OBJECT:
		return write_object(to, m, v, depth, e);
	case SHAPE_FREE:
	case SHAPE_RAW:
		return write_any(to, m, v);
	}
	BUG("unknown member shape");
}

static bool listed(const char *const *names, const char *name)
{
	for (; names && *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* Exceptions count more than the record: a signature is written neither into its own preimage (absent) nor
 * with its value (cleared to an empty text). Most members of a large table are left out as empty, which is
 * asked first. */
static bool is_written(const struct member *m, const struct json *v, const struct except *but)
{
	if (m->presence == OMIT && is_empty(v) && !(but && listed(but->cleared, m->name)))
		return false;
	return !(but && listed(but->absent, m->name));
}

/* A cleared member is written as an empty text whatever it held. A required one must be there and not
 * null. A constant is written whatever the record says. */
static int write_member(struct buf *to, const struct member *m, const struct json *v,
	const struct except *but, int depth, struct err *e)
{
	buf_addc(to, '"');
	buf_adds(to, m->name);
	buf_add(to, "\":", 2);
	if (but && listed(but->cleared, m->name)) {
		buf_adds(to, "\"\"");
		return OK;
	}
	if (m->presence == REQUIRED && is_nothing(v))
		return err_set(e, E_INPUT, v ? "MEMBER_TYPE" : "MEMBER_MISSING", "member '%s' is %s", m->name,
			v ? "null" : "missing");
	if (m->presence == CONST) {
		buf_addf(to, "\"%s\"", m->fixed);
		return OK;
	}
	return write_value(to, m, v, depth, e);
}

/* Notes where the member stands that was written from `at` on. */
static void note_span(const struct except *but, const char *name, size_t at, size_t end)
{
	for (struct span *s = but ? but->spans : NULL; s && s->name; s++)
		if (strcmp(s->name, name) == 0) {
			s->at = at;
			s->n = end - at;
		}
}

/* Reads all members before writing any, since the record may have them in any order. A name that stands
 * twice cannot occur: the parser refuses it. */
static int write_record(struct buf *to, const struct projection *p, const struct except *but,
	const struct json *record, int depth, struct err *e)
{
	const struct json *slots[MAX_MEMBERS] = { 0 };
	bool first = true;

	if (p->n > MAX_MEMBERS)
		BUG("member table too large");
	if (depth > MAX_DEPTH)
		return err_set(e, E_LIMIT, "MEMBER_DEPTH", "record nested deeper than %d", MAX_DEPTH);
	if (!json_is(record, JSON_OBJECT))
		return err_set(
			e, E_INPUT, "MEMBER_TYPE", "expected an object, found %s", json_type_name(record));
	json_each_member (m, record) {
		const struct member *known = find(p, m->name, m->name_n);
		if (known)
			slots[known - p->members] = m->value;
		else if (check_case(p, m, e))
			return E_INPUT;
	}
	buf_addc(to, '{');
	for (size_t i = 0; i < p->n; i++) {
		size_t at = to->n;
		if (!is_written(&p->members[i], slots[i], but))
			continue;
		if (!first)
			buf_addc(to, ',');
		first = false;
		if (write_member(to, &p->members[i], slots[i], but, depth, e))
			return e ? (int)e->rc : E_INPUT;
		note_span(but, p->members[i].name, at, to->n);
	}
	buf_addc(to, '}');
	return OK;
}

/* On error nothing is left in the buffer, so that nobody hashes half a record. */
int projection_write(struct buf *to, const struct projection *p, const struct except *but,
	const struct json *record, struct err *e)
{
	size_t before = to->n;
	int rc = write_record(to, p, but, record, 0, e);

	if (rc) {
		to->n = before;
		to->p[before] = '\0';
	}
	return rc;
}

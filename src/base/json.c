/* json.c — reading and building JSON trees (parser: json_parse.c, writers: json_write.c).
 *
 * A tree lives in an arena and is never freed on its own. Readers accept NULL everywhere, so a chain of
 * json_get() calls needs no checks: what is missing or of another type gives the fallback. Numbers keep
 * the text they were written in. */
#include "base/json.h"

#include <math.h>
#include <stdarg.h>

/* ---- reading ---- */

bool json_is(const struct json *v, enum json_type type)
{
	return v && v->type == type;
}

bool json_is_bool(const struct json *v)
{
	return json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE);
}

const char *json_type_name(const struct json *v)
{
	static const char *const names[] = { "null", "false", "true", "number", "string", "array", "object" };

	return v ? names[v->type] : "nothing";
}

/* A walk: objects are small, and the order of members must be kept anyway. */
static struct json_member *find(const struct json *obj, const char *name, size_t n)
{
	json_each_member (m, obj)
		if (m->name_n == n && memcmp(m->name, name, n) == 0)
			return m;
	return NULL;
}

/* NULL for anything that is no object or has no such member. */
struct json *json_get(const struct json *obj, const char *name)
{
	struct json_member *m = find(obj, name, strlen(name));

	return m ? m->value : NULL;
}

struct json *json_at(const struct json *arr, size_t i)
{
	return json_is(arr, JSON_ARRAY) && i < arr->n ? arr->items[i] : NULL;
}

/* NULL for a string that holds a NUL: as C text it would be cut, and a check of the cut text would say
 * nothing about the whole. */
const char *json_text(const struct json *v)
{
	return json_is(v, JSON_STRING) && strlen(v->text) == v->n ? v->text : NULL;
}

const char *json_get_text(const struct json *obj, const char *name, const char *fallback)
{
	const char *text = json_text(json_get(obj, name));

	return text ? text : fallback;
}

bool json_get_bool(const struct json *obj, const char *name, bool fallback)
{
	const struct json *v = json_get(obj, name);

	return json_is_bool(v) ? v->type == JSON_TRUE : fallback;
}

/* False for fractions, exponents and what does not fit: nothing is rounded. */
bool json_int(const struct json *v, int64_t *ret)
{
	return json_is(v, JSON_NUMBER) && text_int(v->text, ret);
}

int64_t json_get_int(const struct json *obj, const char *name, int64_t fallback)
{
	int64_t value;

	return json_int(json_get(obj, name), &value) ? value : fallback;
}

/* ---- equality ---- */

static bool same_name(const struct json_member *x, const struct json_member *y)
{
	return x->name_n == y->name_n && memcmp(x->name, y->name, x->name_n) == 0;
}

static int by_name(const void *x, const void *y)
{
	const struct json_member *a = *(const struct json_member *const *)x,
				 *b = *(const struct json_member *const *)y;

	return json_name_cmp(a->name, a->name_n, b->name, b->name_n);
}

/* Pointers are sorted, the object itself keeps its order. */
static const struct json_member **sorted_members(struct arena *a, const struct json *obj)
{
	const struct json_member **sorted = arena_alloc(a, obj->n * sizeof(const struct json_member *));

	for (uint32_t i = 0; i < obj->n; i++)
		sorted[i] = &obj->members[i];
	qsort(sorted, obj->n, sizeof(*sorted), by_name);
	return sorted;
}

static int by_own_name(const void *x, const void *y)
{
	const struct json_member *a = x, *b = y;

	return json_name_cmp(a->name, a->name_n, b->name, b->name_n);
}

void json_sort_members(struct json *obj)
{
	if (obj->n) /* an empty one has no array */
		qsort(obj->members, obj->n, sizeof(*obj->members), by_own_name);
}

static bool member_eq(const struct json_member *x, const struct json_member *y)
{
	return same_name(x, y) && json_eq(x->value, y->value);
}

/* Large objects are sorted first: a search per member would be quadratic in what somebody sent us. */
static bool large_object_eq(const struct json *x, const struct json *y)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	const struct json_member **xs = sorted_members(&scratch, x), **ys = sorted_members(&scratch, y);

	for (uint32_t i = 0; i < x->n; i++)
		if (!member_eq(xs[i], ys[i]))
			return false;
	return true;
}

/* The order of members does not matter. Equal counts and unique names make one direction enough. */
static bool object_eq(const struct json *x, const struct json *y)
{
	if (x->n > 16)
		return large_object_eq(x, y);
	json_each_member (m, x) {
		struct json_member *other = find(y, m->name, m->name_n);
		if (!other || !json_eq(m->value, other->value))
			return false;
	}
	return true;
}

static bool array_eq(const struct json *x, const struct json *y)
{
	for (uint32_t i = 0; i < x->n; i++)
		if (!json_eq(x->items[i], y->items[i]))
			return false;
	return true;
}

/* Numbers are equal when their tokens are: 1 and 1.0 differ here. */
bool json_eq(const struct json *x, const struct json *y)
{
	if (!x || !y || x->type != y->type || x->n != y->n)
		return x == y;
	if (x->type == JSON_OBJECT)
		return object_eq(x, y);
	if (x->type == JSON_ARRAY)
		return array_eq(x, y);
	return x->n == 0 || memcmp(x->text, y->text, x->n) == 0;
}

/* ---- duplicate names ---- */

/* Any total order will do as long as equal names become neighbours, the earlier one first. */
static int by_name_then_place(const void *x, const void *y)
{
	const struct json_member *a = *(const struct json_member *const *)x,
				 *b = *(const struct json_member *const *)y;

	if (a->name_n != b->name_n)
		return a->name_n < b->name_n ? -1 : 1;
	int order = memcmp(a->name, b->name, a->name_n);
	return order ? order : (a > b) - (a < b);
}

/* Of several duplicates the one that is repeated first in the text is reported, whatever the order of
 * sorting. */
bool json_duplicate(const struct json_member *members, uint32_t n, uint32_t *ret_first, uint32_t *ret_again)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	const struct json_member **sorted = arena_alloc(&scratch, n * sizeof(const struct json_member *));
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		sorted[i] = members + i;
	if (n)
		qsort(sorted, n, sizeof(*sorted), by_name_then_place);
	for (uint32_t i = 1; i < n; i++)
		if (same_name(sorted[i - 1], sorted[i]) && (!found || sorted[i] < sorted[found]))
			found = i;
	if (!found)
		return false;
	*ret_first = (uint32_t)(sorted[found - 1] - members);
	*ret_again = (uint32_t)(sorted[found] - members);
	return true;
}

/* ---- building ---- */

struct json *json_new(struct arena *a, enum json_type type)
{
	struct json *v = arena_zalloc(a, 1, sizeof(*v));

	v->type = (uint8_t)type;
	return v;
}

/* `text` is in the arena already. */
static struct json *new_text(struct arena *a, enum json_type type, const char *text, size_t n)
{
	struct json *v = json_new(a, type);

	if (n > UINT32_MAX)
		BUG("a JSON string of 4 GiB");
	v->text = text;
	v->n = (uint32_t)n;
	return v;
}

struct json *json_stringn(struct arena *a, const char *s, size_t n)
{
	return new_text(a, JSON_STRING, arena_strndup(a, s, n), n);
}

struct json *json_string(struct arena *a, const char *s)
{
	return json_stringn(a, s, strlen(s));
}

/* A text made by a format, without a copy. */
struct json *json_stringf(struct arena *a, const char *fmt, ...)
{
	struct buf b;
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	buf_init(&b, a);
	int n = vsnprintf(b.p, b.cap, fmt, ap);
	va_end(ap);
	if (n < 0)
		BUG("bad format");
	if ((size_t)n >= b.cap)
		vsnprintf(buf_room(&b, (size_t)n), (size_t)n + 1, fmt, again);
	va_end(again);
	return new_text(a, JSON_STRING, b.p, (size_t)n);
}

struct json *json_number(struct arena *a, int64_t value)
{
	char *text = arena_printf(a, "%lld", (long long)value);

	return new_text(a, JSON_NUMBER, text, strlen(text));
}

struct json *json_bool(struct arena *a, bool value)
{
	return json_new(a, value ? JSON_TRUE : JSON_FALSE);
}

/* `text`, `items` and `members` share one place in the node, so growing either sets all. */
static void grow(struct arena *a, struct json *v, size_t element)
{
	uint32_t cap = v->cap ? v->cap * 2 : 8;

	if (v->n < v->cap)
		return;
	if (v->cap > UINT32_MAX / 2)
		BUG("a JSON container of 2 thousand million children");
	v->text = arena_grow(a, (void *)v->items, v->n * element, cap * element);
	v->cap = cap;
}

/* Replaces the value in its place when the name is there; otherwise adds it at the end. NULL becomes null. */
void json_set(struct arena *a, struct json *obj, const char *name, struct json *value)
{
	struct json_member *m = find(obj, name, strlen(name));

	if (!json_is(obj, JSON_OBJECT))
		BUG("json_set on what is not an object");
	if (m)
		m->value = value ? value : json_new(a, JSON_NULL);
	else
		json_append(a, obj, name, value);
}

void json_append(struct arena *a, struct json *obj, const char *name, struct json *value)
{
	size_t n = strlen(name);

	grow(a, obj, sizeof(*obj->members));
	obj->members[obj->n++] = (struct json_member){ .name = arena_strndup(a, name, n),
		.name_n = (uint32_t)n,
		.value = value ? value : json_new(a, JSON_NULL) };
}

void json_sets(struct arena *a, struct json *obj, const char *name, const char *value)
{
	json_set(a, obj, name, value ? json_string(a, value) : NULL);
}

void json_seti(struct arena *a, struct json *obj, const char *name, int64_t value)
{
	json_set(a, obj, name, json_number(a, value));
}

void json_setb(struct arena *a, struct json *obj, const char *name, bool value)
{
	json_set(a, obj, name, json_bool(a, value));
}

void json_push(struct arena *a, struct json *arr, struct json *value)
{
	if (!json_is(arr, JSON_ARRAY))
		BUG("json_push on what is not an array");
	grow(a, arr, sizeof(value));
	arr->items[arr->n++] = value ? value : json_new(a, JSON_NULL);
}

void json_pushs(struct arena *a, struct json *arr, const char *value)
{
	json_push(a, arr, value ? json_string(a, value) : NULL);
}

/* The order of the other members is kept. */
bool json_remove(struct json *obj, const char *name)
{
	struct json_member *m = find(obj, name, strlen(name));

	if (!m)
		return false;
	size_t behind = (size_t)(obj->members + obj->n - (m + 1));
	memmove(m, m + 1, behind * sizeof(*m));
	obj->n--;
	return true;
}

static void copy_members(struct arena *a, struct json *to, const struct json *from)
{
	to->members = arena_alloc(a, from->n * sizeof(*to->members));
	for (uint32_t i = 0; i < from->n; i++) {
		const struct json_member *m = &from->members[i];
		to->members[i] = (struct json_member){ .name = arena_strndup(a, m->name, m->name_n),
			.name_n = m->name_n,
			.value = json_copy(a, m->value) };
	}
}

/* Deep: the copy may be changed and outlive the arena of the original. */
struct json *json_copy(struct arena *a, const struct json *v)
{
	if (!v)
		return NULL;
	struct json *to = json_new(a, (enum json_type)v->type);
	*to = *v;
	to->cap = v->n;
	if (v->type == JSON_NUMBER || v->type == JSON_STRING) {
		to->text = arena_strndup(a, v->text, v->n);
		to->cap = 0;
	} else if (v->type == JSON_ARRAY) {
		to->items = arena_alloc(a, v->n * sizeof(struct json *));
		for (uint32_t i = 0; i < v->n; i++)
			to->items[i] = json_copy(a, v->items[i]);
	} else if (v->type == JSON_OBJECT) {
		copy_members(a, to, v);
	}
	return to;
}

/* Texts and names that are no UTF-8 get visible replacements; for trees that were built from file names
 * and output. */
void json_make_utf8(struct arena *a, struct json *v)
{
	size_t n;

	if (v->type == JSON_STRING) {
		v->text = text_utf8(a, v->text, v->n, TEXT_BYTE, &n);
		v->n = (uint32_t)n;
	}
	json_each (item, v)
		json_make_utf8(a, item);
	json_each_member (m, v) {
		m->name = text_utf8(a, m->name, m->name_n, TEXT_BYTE, &n);
		m->name_n = (uint32_t)n;
		json_make_utf8(a, m->value);
	}
}

/* ---- doubles ---- */

/* value = 0.DIGITS * 10^point, DIGITS without trailing zeros. */
struct shortest {
	char digits[20];
	int n, point;
};

/* Reads a candidate back with strtod(), which rounds correctly; so no own arithmetic has to be trusted. */
static double shortest_value(const struct shortest *d)
{
	char text[40];

	snprintf(text, sizeof(text), "0.%.*se%d", d->n, d->digits, d->point);
	return strtod(text, NULL);
}

/* The value rounded to so many digits. */
static void round_to(struct shortest *d, double value, int digits)
{
	char text[40];

	snprintf(text, sizeof(text), "%.*e", digits - 1, value);
	char *exponent = strchr(text, 'e');
	int64_t e = 0;
	text_int(exponent[1] == '+' ? exponent + 2 : exponent + 1, &e);
	d->n = digits;
	d->point = (int)e + 1;
	d->digits[0] = text[0];
	memcpy(d->digits + 1, text + 2, (size_t)digits - 1);
}

/* The next decimal of the same length, further from zero. */
static void increment(struct shortest *d)
{
	int i = d->n - 1;

	while (i >= 0 && d->digits[i] == '9')
		d->digits[i--] = '0';
	if (i >= 0) {
		d->digits[i]++;
		return;
	}
	d->digits[0] = '1';
	d->point++;
}

/* The shortest decimal that reads back as value, which is above 0. At a power of two the doubles below are
 * twice as dense as those above, so the nearest decimal of some length may miss where its upper neighbour
 * hits. So both are tried. */
static struct shortest find_shortest(double value)
{
	struct shortest d;

	for (int digits = 1; digits < 17; digits++) {
		round_to(&d, value, digits);
		if (shortest_value(&d) == value)
			break;
		increment(&d);
		if (shortest_value(&d) == value)
			break;
		d.n = 0;
	}
	if (d.n == 0)
		round_to(&d, value, 17);
	return d;
}

/* As Number::toString of ECMAScript, which the canonical form of JSON prescribes: plain digits from 1e-6
 * up to below 1e21, otherwise scientific. */
static void print_decimal(struct buf *b, const struct shortest *d)
{
	if (d->n <= d->point && d->point <= 21) {
		buf_addf(b, "%.*s", d->n, d->digits);
		for (int i = d->n; i < d->point; i++)
			buf_addc(b, '0');
	} else if (d->point > 0 && d->point <= 21) {
		buf_addf(b, "%.*s.%.*s", d->point, d->digits, d->n - d->point, d->digits + d->point);
	} else if (d->point > -6 && d->point <= 0) {
		buf_adds(b, "0.");
		for (int i = d->point; i < 0; i++)
			buf_addc(b, '0');
		buf_addf(b, "%.*s", d->n, d->digits);
	} else {
		buf_addf(b, "%c%s%.*se%+d", d->digits[0], d->n > 1 ? "." : "", d->n - 1, d->digits + 1,
			d->point - 1);
	}
}

/* What JSON cannot say (infinities, NaN) becomes null; -0 becomes 0. */
struct json *json_double(struct arena *a, double value)
{
	struct buf b;

	if (!isfinite(value))
		return json_new(a, JSON_NULL);
	if (value == 0)
		return json_number(a, 0);
	buf_init(&b, a);
	if (value < 0)
		buf_addc(&b, '-');
	struct shortest d = find_shortest(fabs(value));
	print_decimal(&b, &d);
	return new_text(a, JSON_NUMBER, b.p, b.n);
}

/* condition.c — conditions in structured form: {field, op, value}.
 *
 * A field that is not there, or is null, makes a condition false, unless the condition is about just that (empty, missing).  A value of a
 * type that the operator cannot judge is an error, never "false": what that means is decided with the rule.  Where a text leaves
 * doubt (a path that climbs out of where it starts, a URL whose host is not plain), a rule that forbids holds and a rule that
 * allows does not. */
#include "base/decimal.h"
#include "base/file.h"
#include "decide/decide.h"
#include "decide/engine/parts.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

static const char *const op_names[] = {
#define OP_NAME(id, name, takes) name,
	OPS(OP_NAME)
#undef OP_NAME
};
enum takes {
	TAKES_NOTHING,
	TAKES_VALUE,
	TAKES_VALUES,
	TAKES_NUMBER,
	TAKES_TEXT,
	TAKES_TEXTS,
	TAKES_LISTS,
	TAKES_FIELD
};
static const uint8_t op_takes[] = {
#define OP_TAKES(id, name, takes) TAKES_##takes,
	OPS(OP_TAKES)
#undef OP_TAKES
};

const char *op_name(enum op op)
{
	return op_names[op];
}

/* ---- compiling ---- */

static int bad(struct err *e, const char *where, const char *op, const char *what)
{
	return err_set(e, E_INPUT, "POLICY_RULE", "%s: '%s' %s", where, op, what);
}

static int find_op(const char *name, const char *where, uint8_t *ret, struct err *e)
{
	for (size_t i = 0; i < OP_COUNT; i++)
		if (op_names[i][0] == name[0] && text_eq(op_names[i], name)) {
			*ret = (uint8_t)i;
			return OK;
		}
	const char *near = text_nearest(name, op_names, OP_COUNT);
	return err_set(e, E_INPUT, "POLICY_RULE", "%s: no operator '%s'%s%s%s", where, name,
		near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool are_texts(struct json *const *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!json_text(items[i]))
			return false;
	return true;
}

/* The same list that another rule has, if it was seen lately. */
static const struct json *shared_list(struct shared *shared, const struct json *list)
{
	for (unsigned i = 0; i < SHARED_LISTS; i++)
		if (shared->lists[i] && shared->lists[i]->n == list->n && json_eq(shared->lists[i], list))
			return shared->lists[i];
	shared->lists[shared->list_at++ % SHARED_LISTS] = list;
	return list;
}

/* A list under "values", or one under "value". */
static int take_list(struct arena *a, struct shared *shared, const struct json *value,
	const struct json *values, const char *where, struct test *t, struct err *e)
{
	if (value && !values) {
		struct json **one = arena_alloc(a, sizeof(*one));
		one[0] = (struct json *)value;
		t->values = one;
		t->n = 1;
	} else if (!value && json_is(values, JSON_ARRAY)) {
		t->values = shared_list(shared, values)->items;
		t->n = values->n;
	} else {
		return bad(e, where, op_names[t->op], "needs either \"value\" or a list in \"values\"");
	}
	if (op_takes[t->op] == TAKES_TEXTS && !are_texts(t->values, t->n))
		return bad(e, where, op_names[t->op], "takes texts");
	return OK;
}

/* Another field on the other side. */
static int take_field(struct arena *a, struct shared *shared, const struct json *name, const char *where,
	bool has_effects, struct test *t, struct err *e)
{
	if (!json_text(name))
		return bad(e, where, op_names[t->op], "needs the name of a field");
	if (field_compile(a, shared, name->text, where, has_effects, &t->other, e))
		return e->rc;
	t->has_other = true;
	return OK;
}

static int take_number(const struct json *value, const char *where, struct test *t, struct err *e)
{
	if (!json_is(value, JSON_NUMBER))
		return bad(e, where, op_names[t->op], "needs a number in \"value\", or \"value_field\"");
	t->is_own = json_int(value, &t->bound);
	if (!t->is_own)
		t->value = value;
	return OK;
}

static int take_value(const struct json *value, const char *where, struct test *t, struct err *e)
{
	if (!value || (op_takes[t->op] == TAKES_TEXT && !json_text(value)))
		return bad(e, where, op_names[t->op],
			op_takes[t->op] == TAKES_TEXT ? "needs a text in \"value\"" : "needs \"value\"");
	t->is_own = t->op != OP_EQUALS && t->op != OP_NOT_EQUALS && json_is(value, JSON_STRING);
	if (t->is_own) {
		t->text = value->text;
		t->n = value->n;
	} else {
		t->value = value;
	}
	return OK;
}

/* Which of "value", "values" and "value_field" an operator takes, and nothing beside it. */
static int take(struct arena *a, struct shared *shared, const struct json *doc, const char *where,
	bool has_effects, struct test *t, struct err *e)
{
	const struct json *value = json_get(doc, "value"), *values = json_get(doc, "values"),
			  *field = json_get(doc, "value_field");
	enum takes takes = op_takes[t->op];
	bool is_list = takes == TAKES_VALUES || takes == TAKES_TEXTS || (takes == TAKES_LISTS && !value);

	if ((field && (takes != TAKES_NUMBER || value)) || (values && !is_list) ||
		(takes == TAKES_NOTHING && value))
		return bad(e, where, op_names[t->op], "does not take that value");
	if (takes == TAKES_NOTHING)
		return OK;
	if (is_list)
		return take_list(a, shared, value, values, where, t, e);
	if (takes == TAKES_FIELD || takes == TAKES_LISTS || field)
		return take_field(a, shared, field ? field : value, where, has_effects, t, e);
	return takes == TAKES_NUMBER ? take_number(value, where, t, e) : take_value(value, where, t, e);
}

int test_compile(struct arena *a, struct shared *shared, const struct json *doc, const char *where,
	bool is_allowing, bool has_effects, struct test *ret, struct err *e)
{
	static const char *const names[] = { "field", "op", "value", "values", "value_field", NULL };
	const char *field = json_get_text(doc, "field", NULL), *op = json_get_text(doc, "op", NULL);
	struct test t = { .is_allowing = is_allowing };

	if (members_known(doc, names, where, e))
		return e->rc;
	if (!field || !op)
		return err_set(
			e, E_INPUT, "POLICY_RULE", "%s: a condition needs \"field\" and \"op\"", where);
	if (find_op(op, where, &t.op, e) ||
		field_compile(a, shared, field, where, has_effects, &t.field, e) ||
		take(a, shared, doc, where, has_effects, &t, e))
		return e->rc;
	*ret = t;
	return OK;
}

/* ---- values ---- */

/* False, and what has nothing in it. */
static bool is_empty(const struct json *v)
{
	if (v->type == JSON_FALSE)
		return true;
	return (v->type == JSON_STRING || v->type == JSON_ARRAY || v->type == JSON_OBJECT) && v->n == 0;
}

static __attribute__((noinline)) bool same_number(const char *x, const char *y)
{
	struct decimal dx, dy;

	return text_eq(x, y) || (decimal_read(x, &dx) && decimal_read(y, &dy) && decimal_cmp(&dx, &dy) == 0);
}

/* By type; 1 and 1.0 are the same number. */
static inline bool same(const struct json *x, const struct json *y)
{
	if (x->type == JSON_STRING && y->type == JSON_STRING)
		return x->n == y->n && same_bytes(x->text, y->text, x->n);
	return x->type == JSON_NUMBER && y->type == JSON_NUMBER ? same_number(x->text, y->text)
								: json_eq(x, y);
}

static inline bool is_among(const struct json *v, struct json *const *items, size_t n)
{
	enum { FEW = 4 }; /* all are compared: to guess which one it is costs more */
	bool is_one = false;

	for (size_t i = 0; i < n && (!is_one || i < FEW); i++)
		is_one |= same(v, items[i]);
	return is_one;
}

static enum holds yes_no(bool truth)
{
	return truth ? HOLDS_YES : HOLDS_NO;
}

/* A token of a few digits, as most are, without another look at its form: the parser has seen to that. */
static bool whole_number(const struct json *v, int64_t *ret)
{
	int64_t n = 0;

	if (v->n > 18)
		return text_int(v->text, ret);
	for (uint32_t i = 0; i < v->n; i++) {
		if (v->text[i] < '0' || v->text[i] > '9')
			return text_int(v->text, ret);
		n = n * 10 + (v->text[i] - '0');
	}
	*ret = n;
	return true;
}

/* Negative, 0 or positive; false when one is no number that can be compared. */
static bool compare(const struct json *v, const struct json *bound, int *ret)
{
	struct decimal x, y;

	if (bound->type != JSON_NUMBER || !decimal_read(v->text, &x) || !decimal_read(bound->text, &y))
		return false;
	*ret = decimal_cmp(&x, &y);
	return true;
}

/* Numbers that are no int64, and bounds that are fields.  Apart, so that the rest stays small. */
static __attribute__((noinline)) enum holds order_of(
	struct judging *j, const struct test *t, const struct json *v, const struct json *effect, int *ret)
{
	char token[24];
	struct json scratch = { .type = JSON_NUMBER, .text = token };
	const struct json *bound = t->value;

	if (t->is_own) {
		(void)snprintf(token, sizeof(token), "%lld", (long long)t->bound);
		bound = &scratch;
	} else if (t->has_other) {
		bound = field_value(j, t->other, effect, &scratch);
	}
	if (!bound || bound->type == JSON_NULL)
		return HOLDS_LACKS;
	return compare(v, bound, ret) ? HOLDS_YES : HOLDS_ERROR;
}

static enum holds test_order(
	struct judging *j, const struct test *t, const struct json *v, const struct json *effect)
{
	int64_t n;
	int order;

	if (v->type != JSON_NUMBER)
		return HOLDS_ERROR;
	if (t->is_own && whole_number(v, &n)) {
		order = (n > t->bound) - (n < t->bound);
	} else {
		enum holds h = order_of(j, t, v, effect, &order);
		if (h != HOLDS_YES)
			return h;
	}
	switch ((enum op)t->op) {
	case OP_GREATER_THAN:
		return yes_no(order > 0);
	case OP_LESS_THAN:
		return yes_no(order < 0);
	case OP_AT_LEAST:
		return yes_no(order >= 0);
	default:
		return yes_no(order <= 0);
	}
}

/* Can these two bytes stand side by side in it?  Sixteen places at a time; n is 17 at least. */
static bool may_have_pair(const char *p, size_t n, const char *pair)
{
	typedef char block __attribute__((vector_size(16)));
	const block none = { 0 }, first = none + pair[0], second = none + pair[1];
	const char *last = p + n - 1 - sizeof(block);
	block here, next;
	uint64_t same[2];

	for (;; p = (size_t)(last - p) < sizeof(block) ? last : p + sizeof(block)) {
		memcpy(&here, p, sizeof(here));
		memcpy(&next, p + 1, sizeof(next));
		here = (here == first) & (next == second);
		memcpy(same, &here, sizeof(same));
		if (same[0] | same[1])
			return true;
		if (p == last)
			return false;
	}
}

/* What is looked for is seldom there: that is seen first. */
static bool has_text(const char *text, size_t n, const char *what, size_t len)
{
	if (len == 0)
		return true;
	if (len > 1 && n > 16 && !may_have_pair(text, n, what))
		return false;
	for (const char *p = text, *end = text + n; (size_t)(end - p) >= len; p++) {
		p = memchr(p, what[0], (size_t)(end - p) - len + 1);
		if (!p)
			return false;
		if (same_bytes(p, what, len))
			return true;
	}
	return false;
}

static __attribute__((noinline)) bool list_has(const struct test *t, const struct json *list)
{
	const struct json own = { .type = JSON_STRING, .n = t->n, .text = t->text };

	return is_among(t->is_own ? &own : t->value, list->items, list->n);
}

/* A text in a text, or a value in a list. */
static enum holds test_contains(const struct test *t, const struct json *v)
{
	bool found;

	if (v->type == JSON_STRING && t->is_own)
		found = has_text(v->text, v->n, t->text, t->n);
	else if (v->type == JSON_ARRAY)
		found = list_has(t, v);
	else
		return HOLDS_ERROR;
	return yes_no(found == (t->op == OP_CONTAINS));
}

/* Does v, or an item of it when it is a list, stand in the list? */
static bool shares(const struct json *v, struct json *const *items, size_t n)
{
	if (v->type != JSON_ARRAY)
		return is_among(v, items, n);
	json_each (item, v)
		if (is_among(item, items, n))
			return true;
	return false;
}

/* A name that ends in "[]" goes on in every item of that list. */
static bool shares_below(const struct json *v, const struct json *at, const struct field *f, unsigned i)
{
	if (i == f->name_n)
		return shares(v, json_is(at, JSON_ARRAY) ? at->items : (struct json *const *)&at,
			json_is(at, JSON_ARRAY) ? at->n : 1);
	struct table_key k = f->names[i];
	bool each = k.n > 2 && k.p[k.n - 1] == ']' && k.p[k.n - 2] == '[';
	k.n -= each ? 2 : 0;
	json_each_member (m, at) {
		if (m->name_n != k.n || memcmp(m->name, k.p, k.n) != 0)
			continue;
		if (!each)
			return shares_below(v, m->value, f, i + 1);
		json_each (item, m->value)
			if (shares_below(v, item, f, i + 1))
				return true;
	}
	return false;
}

static __attribute__((noinline)) enum holds test_intersects(
	struct judging *j, const struct test *t, const struct json *v, const struct json *effect)
{
	if (!t->has_other)
		return yes_no(shares(v, t->values, t->n));
	return yes_no(shares_below(v, field_start(j, t->other, effect), t->other, 0));
}

/* ---- texts that mean something ---- */

/* One of its parts, which may be a glob, or all of it. */
static bool path_has_name(const char *path, const char *name)
{
	char part[256];

	if (name[0] == '/')
		return text_eq(path, name);
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");
		if (len > 0 && len < sizeof(part)) {
			memcpy(part, p, len);
			part[len] = '\0';
			if (text_glob(name, part, false))
				return true;
		}
		p += len + (p[len] == '/');
	}
	return false;
}

static bool climbs(const char *clean)
{
	return clean[0] == '.' && clean[1] == '.' && (clean[2] == '/' || clean[2] == '\0');
}

/* The same place has other names: a home that only a shell knows, an address, what the kernel shows of processes. */
static bool is_other_name(const char *text)
{
	return text[0] == '~' || strstr(text, "://") || path_is_below(text, "/proc") ||
		path_is_below(text, "/dev/fd");
}

static bool is_target(const struct test *t)
{
	static const char name[] = "target";
	const struct field *f = t->field;

	return f->root == ROOT_EFFECT && f->name_n == 1 && f->names[0].n == strlen(name) &&
		memcmp(f->names[0].p, name, strlen(name)) == 0;
}

/* What an effect is done to, where that is a pattern, or not known. */
static bool is_open_target(const struct test *t, const struct json *effect)
{
	static const struct table_key certainty = { "certainty", sizeof("certainty") - 1 };

	if (!is_target(t))
		return false;
	const struct json *v = effect ? json_member(effect, certainty) : NULL;
	return !v || !text_eq(json_text(v), "certain");
}

/* What is deleted or moved takes along all that lies in it: a rule that forbids a place holds for what it lies in. */
static bool takes_all(const struct test *t, const struct json *effect)
{
	static const struct table_key kind = { "kind", sizeof("kind") - 1 };
	const struct json *v = effect && !t->is_allowing && is_target(t) ? json_member(effect, kind) : NULL;

	return v && (text_eq(json_text(v), "delete") || text_eq(json_text(v), "move"));
}

/* Can the pattern, of which only the last name is one, stand for that very place, or with `is_whole` for one that it lies in?  Shells can be told not to
 * tell capitals apart. */
static bool pattern_reaches(struct arena *a, const char *pattern, const char *want, bool is_whole)
{
	const char *last = strrchr(pattern, '/');
	size_t dir = last ? (size_t)(last - pattern) + 1 : 0;

	if (!last || strncmp(pattern, want, dir) != 0)
		return false;
	size_t name = strcspn(want + dir, "/");
	return (is_whole || !want[dir + name]) &&
		text_glob(text_fold(a, last + 1, strlen(last + 1)), text_fold(a, want + dir, name), false);
}

/* Is the path, or the place that it leads to, one of those that the condition names?  `clean` and each value are compared as they are written, and as
 * the door found them behind links (facts.places). */
static bool is_at_place(
	struct judging *j, const struct test *t, const char *clean, const char *want, bool is_whole)
{
	size_t len = strlen(want);
	const char *real = json_get_text(json_get(j->facts->known, "places"), want, NULL);

	if (len > 1 && want[len - 1] == '/')
		want = path_clean(j->a, want);
	if (t->op == OP_PATH_NAMES)
		return path_has_name(clean, want);
	return path_is_below(clean, want) || (real && path_is_below(clean, real)) ||
		(is_whole && (path_is_below(want, clean) || (real && path_is_below(real, clean))));
}

static bool is_at_one(struct judging *j, const struct test *t, const char *clean, bool is_whole)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (is_at_place(j, t, clean, t->values[i]->text, is_whole))
			return true;
	return false;
}

/* Of two patterns nobody says whether they can stand for the same name. */
static bool pattern_may_be_named(struct arena *a, const char *pattern, const char *want)
{
	const char *last = strrchr(pattern, '/');

	if (path_has_name(pattern, want) || !last || strpbrk(want, "*?["))
		return true;
	return want[0] == '/' ? pattern_reaches(a, pattern, want, false)
			      : text_glob(text_fold(a, last + 1, strlen(last + 1)),
					text_fold(a, want, strlen(want)), false);
}

static bool pattern_may_be_at(
	struct judging *j, const struct test *t, const char *pattern, const char *want, bool is_whole)
{
	const char *there = json_get_text(json_get(j->facts->known, "places"), want, NULL);

	if (t->op == OP_PATH_NAMES)
		return pattern_may_be_named(j->a, pattern, want);
	return pattern_reaches(j->a, pattern, path_clean(j->a, want), is_whole) ||
		(there && pattern_reaches(j->a, pattern, there, is_whole));
}

/* A door has found where the directory of the pattern is, and that nothing that it stands for leads elsewhere; otherwise it is a doubt.  A rule that
 * allows must name that directory, and one that forbids holds for whatever the pattern may stand for. */
static enum holds test_pattern(struct judging *j, const struct test *t, const struct json *v, bool is_whole)
{
	const char *text = json_text(v),
		   *real = text ? json_get_text(json_get(j->facts->known, "places"), text, NULL) : NULL;

	if (!real || !*real || (t->is_allowing && t->op == OP_PATH_NAMES))
		return yes_no(!t->is_allowing);
	bool found = is_at_one(j, t, real, is_whole);
	for (uint32_t i = 0; i < t->n && !found && !t->is_allowing; i++)
		found = pattern_may_be_at(j, t, real, t->values[i]->text, is_whole);
	return yes_no(found);
}

/* A text that no door looks up: with a line break, or longer than a path can be. */
static bool is_never_looked_up(const struct json *v)
{
	enum { LONGEST_PATH = 4096 };

	return v->n >= LONGEST_PATH || strchr(v->text, '\n');
}

/* A relative path begins where the door says that the call is made; without a door that knows, it stays as it is.  Where a link on the way leads
 * elsewhere, as the kernel walks it or without its "..", a rule that allows must name all these places, and one that forbids holds for each. */
static enum holds test_path(struct judging *j, const struct test *t, const struct json *v, bool is_whole)
{
	const struct json *known = j->facts->known, *places = json_get(known, "places");
	const char *text = json_text(v), *cwd = json_get_text(known, "cwd", NULL);

	if (!text)
		return HOLDS_ERROR;
	const char *clean = path_clean(j->a, cwd ? path_join(j->a, cwd, text) : text);
	const char *real[] = { json_get_text(places, text, NULL), json_get_text(places, clean, NULL) };
	bool is_unknown = (real[0] && !*real[0]) || (real[1] && !*real[1]) ||
		(!real[0] && (json_get_bool(known, "places_partial", false) || is_never_looked_up(v)));
	bool is_elsewhere = climbs(clean) || (cwd && (is_other_name(text) || is_other_name(clean)));
	if (is_unknown || (t->op == OP_PATH_UNDER && is_elsewhere))
		return yes_no(!t->is_allowing);
	bool found = is_at_one(j, t, clean, is_whole);
	for (size_t i = 0; i < ARRAY_SIZE(real); i++)
		if (real[i] && found == t->is_allowing)
			found = is_at_one(j, t, real[i], is_whole);
	return yes_no(found);
}

/* The first entry that matches, in whatever case; what none matches is nowhere known. */
static const char *region_of(struct judging *j, const char *place, size_t n)
{
	const struct ruleset *r = j->rules;
	const char *folded = text_fold(j->a, place, n);

	for (size_t i = 0; i < r->region_n; i++)
		if (text_glob(r->regions[i].match, folded, false))
			return r->regions[i].region;
	return "UNKNOWN";
}

/* Blanks and the like around or in a name are there to be read in two ways. */
static bool is_plain_region(const char *text)
{
	return *text &&
		!text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")];
}

static enum holds test_region(struct judging *j, const struct test *t, const struct json *v)
{
	const char *text = json_text(v);

	if (!text)
		return HOLDS_ERROR;
	if (!is_plain_region(text))
		return yes_no(!t->is_allowing);
	const char *region = region_of(j, text, v->n);
	bool found = false;
	for (uint32_t i = 0; i < t->n && !found; i++)
		found = text_eq(region, t->values[i]->text);
	return yes_no(found == (t->op == OP_REGION_IN));
}

/* A number in another spelling ("167772161", "0xa.1", "012.0.0.1") as the address that programs make of it; NULL: some may make one of it. */
static const char *usual_host(struct arena *a, const char *host)
{
	const char *dot = strrchr(host, '.'), *last = dot ? dot + 1 : host;
	char text[INET_ADDRSTRLEN];
	struct in_addr address;

	if (last[strspn(last, "0123456789")] && !text_starts(last, "0x"))
		return host;
	if (!inet_aton(host, &address) || !inet_ntop(AF_INET, &address, text, sizeof(text)))
		return NULL;
	return arena_strdup(a, text);
}

/* NULL when the text leaves any doubt about the host; a user name before it is one. */
static const char *plain_host(struct arena *a, const struct json *v)
{
	const char *text = json_text(v), *rest = text ? strstr(text, "://") : NULL;

	if (rest && memchr(rest + 3, '@', strcspn(rest + 3, "/?#")))
		return NULL;
	/* "https:/host" and "https:host" are addresses to some programs. */
	if (text && !rest && (strncasecmp(text, "http:", 5) == 0 || strncasecmp(text, "https:", 6) == 0))
		return NULL;
	const char *host = text ? host_of(a, text) : NULL;
	size_t n = host ? strlen(host) : 0;
	/* The dot at the end of a full name. */
	host = n > 1 && host[n - 1] == '.' ? arena_strndup(a, host, n - 1) : host;
	return host ? usual_host(a, host) : NULL;
}

static bool host_matches(struct arena *a, const char *host, const char *want)
{
	const char *usual = usual_host(a, want);

	if (usual && text_eq(host, usual))
		return true;
	return text_starts(want, "*.") ? text_ends(host, want + 1) : text_eq(host, want);
}

static enum holds test_host(struct judging *j, const struct test *t, const struct json *v)
{
	const char *host = plain_host(j->a, v);
	bool found = false;

	if (!host)
		return yes_no(!t->is_allowing);
	for (uint32_t i = 0; i < t->n && !found; i++)
		found = host_matches(j->a, host, t->values[i]->text);
	return yes_no(found == (t->op == OP_HOST_IN));
}

/* ---- SQL ---- */

static bool word_at(const char *p, const char *word)
{
	size_t n = strlen(word);

	return strncasecmp(p, word, n) == 0 && !isalnum((unsigned char)p[n]) && p[n] != '_';
}

static const char *skip_space(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

static bool changes_things(const char *p)
{
	static const char *const words[] = { "drop", "delete", "truncate", "alter", "update", "insert",
		"replace", "merge", "grant", "revoke", "create", "exec", "execute", "call", "shutdown",
		"rename", "copy", "attach", "detach", "vacuum", "set", "do" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (word_at(p, words[i]))
			return true;
	return false;
}

static bool is_union_select(const char *p)
{
	if (!word_at(p, "union"))
		return false;
	p = skip_space(p + strlen("union"));
	if (word_at(p, "all") || word_at(p, "distinct"))
		p = skip_space(p + strcspn(p, " \t\r\n\f\v("));
	return word_at(*p == '(' ? skip_space(p + 1) : p, "select");
}

/* A comment that takes away the rest of the statement. */
static bool ends_in_comment(const char *p)
{
	return p[0] == '-' && p[1] == '-' && !*skip_space(p + strcspn(p, "\n"));
}

/* Outside of quoted texts, unless quotes are not to be believed. */
static bool sql_scan(const char *text, bool believe_quotes, bool *ret_open)
{
	char quote = '\0';
	bool in_word = false;

	for (const char *p = text; *p; p++) {
		if (quote || (believe_quotes && (*p == '\'' || *p == '"'))) {
			quote = !quote ? *p : *p == quote ? '\0' : quote;
			continue;
		}
		if ((p[0] == '/' && p[1] == '*') || ends_in_comment(p) ||
			(*p == ';' && changes_things(skip_space(p + 1))) || (!in_word && is_union_select(p)))
			return true;
		in_word = isalnum((unsigned char)*p) || *p == '_';
	}
	*ret_open = quote != '\0';
	return false;
}

/* A second statement that changes something, a comment that hides the rest, a second select.  When quotes do not pair, or a backslash
 * may hide one, what stands inside counts as well. */
static enum holds test_sql(const struct json *v)
{
	const char *text = json_text(v);
	bool is_open = false;

	if (!text)
		return HOLDS_ERROR;
	if (sql_scan(text, true, &is_open))
		return HOLDS_YES;
	return yes_no((is_open || strchr(text, '\\')) && sql_scan(text, false, &is_open));
}

/* ---- evaluating ---- */

/* The host of an address whose end is not known: it is, where something stands behind it. */
static bool is_open_host(const struct json *v)
{
	const char *text = json_text(v), *rest = text ? strstr(text, "://") : NULL;

	return !text || !rest || !strpbrk(rest + 3, "/?#");
}

static __attribute__((noinline)) enum holds test_text(
	struct judging *j, const struct test *t, const struct json *v, const struct json *effect)
{
	bool is_open = is_open_target(t, effect);

	switch ((enum op)t->op) {
	case OP_PATH_UNDER:
	case OP_PATH_NAMES:
		return (is_open ? test_pattern : test_path)(j, t, v, takes_all(t, effect));
	case OP_REGION_IN:
	case OP_REGION_NOT_IN:
		return test_region(j, t, v);
	case OP_HOST_IN:
	case OP_HOST_NOT_IN:
		return is_open && is_open_host(v) ? yes_no(!t->is_allowing) : test_host(j, t, v);
	default:
		return test_sql(v);
	}
}

static __attribute__((noinline)) enum holds test_field(
	struct judging *j, const struct test *t, const struct json *v, const struct json *effect)
{
	struct json scratch;
	const struct json *other = field_value(j, t->other, effect, &scratch);

	return other ? yes_no(same(v, other)) : HOLDS_LACKS;
}

static bool is_about_places(enum op op)
{
	return op == OP_PATH_UNDER || op == OP_PATH_NAMES || op == OP_HOST_IN || op == OP_HOST_NOT_IN;
}

/* The tool of a question that has one which nobody knows. */
static bool is_unknown_tool(const struct judging *j, const struct test *t)
{
	return j->ask->is_tool_unknown && t->field->root == ROOT_INPUT &&
		t->field->names[0].n == strlen("tool") && memcmp(t->field->names[0].p, "tool", 4) == 0;
}

/* A field that is not there, or null. */
static __attribute__((noinline)) enum holds test_nothing(
	const struct judging *j, const struct test *t, const struct json *v, const struct json *effect)
{
	if (is_unknown_tool(j, t) || (is_about_places((enum op)t->op) && is_open_target(t, effect)))
		return yes_no(!t->is_allowing);
	switch ((enum op)t->op) {
	case OP_MISSING:
		return yes_no(!v);
	case OP_EMPTY:
		return HOLDS_YES;
	case OP_NOT_EMPTY:
		return HOLDS_NO;
	default:
		return HOLDS_LACKS;
	}
}

/* What is judged by what lies there, without a look at anything else: most conditions of most policies. */
static enum holds test_value(
	struct judging *j, const struct test *t, const struct json *v, const struct json *effect)
{
	if (!v || v->type == JSON_NULL)
		return test_nothing(j, t, v, effect);
	switch ((enum op)t->op) {
	case OP_MISSING:
		return HOLDS_NO;
	case OP_EMPTY:
	case OP_NOT_EMPTY:
		return yes_no(is_empty(v) == (t->op == OP_EMPTY));
	case OP_EQUALS:
	case OP_NOT_EQUALS:
		return yes_no(same(v, t->value) == (t->op == OP_EQUALS));
	case OP_IN:
	case OP_NOT_IN:
		return yes_no(is_among(v, t->values, t->n) == (t->op == OP_IN));
	case OP_GREATER_THAN:
	case OP_LESS_THAN:
	case OP_AT_LEAST:
	case OP_AT_MOST:
		return test_order(j, t, v, effect);
	case OP_CONTAINS:
	case OP_NOT_CONTAINS:
		return test_contains(t, v);
	case OP_STARTS_WITH:
		if (v->type != JSON_STRING)
			return HOLDS_ERROR;
		return yes_no(v->n >= t->n && same_bytes(v->text, t->text, t->n));
	case OP_EQUALS_FIELD:
		return test_field(j, t, v, effect);
	case OP_INTERSECTS:
		return test_intersects(j, t, v, effect);
	default:
		return test_text(j, t, v, effect);
	}
}

/* The members of an object, looked up one after the other: in most requests they stand in the order in which rules ask for them. */
struct cursor {
	const struct json_member *first, *end, *at;
};

static inline struct cursor cursor_of(const struct json *o)
{
	if (!o || o->type != JSON_OBJECT)
		return (struct cursor){ NULL, NULL, NULL };
	return (struct cursor){ o->members, o->members + o->n, o->members };
}

static inline const struct json *cursor_find(struct cursor *c, const struct field *f)
{
	const struct table_key k = f->names[0];
	const struct json_member *m = c->at;

	for (ptrdiff_t left = c->end - c->first; left > 0; left--, m++) {
		if (m == c->end)
			m = c->first;
		if (m->name_n == k.n && head_of(m->name, k.n) == f->head &&
			(k.n <= sizeof(f->head) || same_bytes(m->name, k.p, k.n))) {
			c->at = m + 1;
			return m->value;
		}
	}
	return NULL;
}

/* One that does not hold settles it, then one whose field is missing; only then does an error count. */
enum holds tests_hold(struct judging *j, const struct test *tests, size_t n, const struct json *effect)
{
	enum holds all = HOLDS_YES;
	const struct json *v = NULL;
	const struct field *f = NULL;
	struct json scratch __attribute__((uninitialized));
	struct cursor params = cursor_of(j->ask->params);

	for (const struct test *t = tests, *end = tests + n; t != end; t++) {
		if (t->field != f) {
			f = t->field;
			v = f->root == ROOT_PARAMS && f->name_n == 1 ? cursor_find(&params, f)
								     : field_value(j, f, effect, &scratch);
		}
		enum holds h = test_value(j, t, v, effect);
		if (h == HOLDS_YES)
			continue;
		if (h == HOLDS_NO)
			return HOLDS_NO;
		all = h < all ? h : all;
	}
	return all;
}

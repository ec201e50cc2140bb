/* layer_json.c — which members of a JSON document of a session's client are carried back.
 *
 * A document holds logins, counters, servers and trust side by side.  Only members that a table names are taken, each with the type that the table
 * gives it; and only those that the session changed, so that two sessions that end one after the other do not undo each other. */
#include "base/text.h"
#include "kernel/task/layer_parts.h"

#include <string.h>

enum { TEXT_MOST = 4096, NAMED_MOST = 8, NAME_DEPTH = 3 };

/* One name of a pattern and where the next one begins; NULL behind the last. */
static struct bytes first_name(const char *pattern, const char **ret_rest)
{
	const char *dot = strchr(pattern, '.');

	*ret_rest = dot ? dot + 1 : NULL;
	return (struct bytes){ (const uint8_t *)pattern, dot ? (size_t)(dot - pattern) : strlen(pattern) };
}

/* "*" is any, "text*" what begins so, "*text" what ends so. */
static bool name_fits(struct bytes pattern, const struct json_member *m)
{
	size_t n = pattern.n;

	if (strlen(m->name) != m->name_n)
		return false;
	if (n > 1 && pattern.p[0] == '*')
		return m->name_n >= n - 1 && memcmp(m->name + m->name_n - (n - 1), pattern.p + 1, n - 1) == 0;
	if (n && pattern.p[n - 1] == '*')
		return m->name_n >= n - 1 && memcmp(m->name, pattern.p, n - 1) == 0;
	return m->name_n == n && memcmp(m->name, pattern.p, n) == 0;
}

static bool type_fits(const struct json *v, enum client_value type)
{
	switch (type) {
	case MEMBER_NUMBER:
		return json_is(v, JSON_NUMBER);
	case MEMBER_BOOL:
		return json_is_bool(v);
	case MEMBER_TEXT:
		return json_is(v, JSON_STRING) && json_text(v) && v->n <= TEXT_MOST;
	case MEMBER_ANY:
		return true;
	}
	return false;
}

/* `was` and `now` may be NULL: there is no such object.  *ret_made is `now`, or the object that was made for it. */
static size_t merge_one(struct arena *a, const char *pattern, enum client_value type,
	const struct json *session, const struct json *was, struct json *now, struct json **ret_made)
{
	const char *rest;
	struct bytes name = first_name(pattern, &rest);
	size_t n = 0;

	json_each_member (m, session) {
		if (!name_fits(name, m))
			continue;
		struct json *there = json_get(now, m->name), *made = there;
		const struct json *before = json_get(was, m->name);
		size_t set = 0;
		if (!rest && type_fits(m->value, type) && !(before && json_eq(m->value, before)) &&
			!(there && json_eq(m->value, there))) {
			made = json_copy(a, m->value);
			set = 1;
		} else if (rest && (!there || json_is(there, JSON_OBJECT))) {
			set = merge_one(a, rest, type, m->value, before, there, &made);
		}
		if (set && !now)
			now = json_new(a, JSON_OBJECT);
		if (set && made != there)
			json_set(a, now, m->name, made);
		n += set;
	}
	*ret_made = now;
	return n;
}

size_t members_merge(struct arena *a, const struct client_member *members, const struct json *session,
	const struct json *was, struct json *now)
{
	size_t n = 0;

	for (; members && members->path; members++)
		n += merge_one(a, members->path, members->type, session, was, now, &now);
	return n;
}

/* ---- what is left ---- */

static bool path_fits(const char *pattern, const struct json_member *const *names, size_t depth)
{
	for (size_t i = 0; i < depth; i++) {
		const char *rest;
		struct bytes name = first_name(pattern, &rest);
		if (!name_fits(name, names[i]))
			return false;
		if (!rest)
			return true; /* and everything below it */
		pattern = rest;
	}
	return false;
}

struct naming {
	struct arena *a;
	const struct client_member *members;
	const char *const *dropped;
	struct json *list;
	const struct json_member *names[NAME_DEPTH];
};

static bool is_named(const struct naming *x, size_t depth)
{
	for (const struct client_member *m = x->members; m && m->path; m++)
		if (path_fits(m->path, x->names, depth))
			return true;
	for (const char *const *p = x->dropped; p && *p; p++)
		if (path_fits(*p, x->names, depth))
			return true;
	return false;
}

static void name_it(struct naming *x, size_t depth)
{
	struct buf text;

	if (x->list->n >= NAMED_MOST)
		return;
	buf_init(&text, x->a);
	for (size_t i = 0; i < depth; i++)
		buf_addf(&text, "%s%s", i ? "." : "",
			text_safe(x->a, x->names[i]->name, x->names[i]->name_n, false));
	json_pushs(x->a, x->list, text.p);
}

/* An empty list and a "no" where nothing stood. */
static bool says_nothing(const struct json *v)
{
	return ((json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT)) && !v->n) || json_is(v, JSON_FALSE) ||
		json_is(v, JSON_NULL);
}

/* An object is entered as far as a pattern could reach: its members are told one by one. */
static void name_left(struct naming *x, const struct json *session, const struct json *was, size_t depth)
{
	json_each_member (m, session) {
		const struct json *before = json_get(was, m->name);
		x->names[depth] = m;
		if ((before && json_eq(m->value, before)) || is_named(x, depth + 1))
			continue;
		if (depth + 1 < NAME_DEPTH && json_is(m->value, JSON_OBJECT))
			name_left(x, m->value, before, depth + 1);
		else if (before || !says_nothing(m->value))
			name_it(x, depth + 1);
	}
}

struct json *members_left(struct arena *a, const struct client_member *members, const char *const *dropped,
	const struct json *session, const struct json *was)
{
	struct naming x = { .a = a, .members = members, .dropped = dropped, .list = json_new(a, JSON_ARRAY) };

	name_left(&x, session, was, 0);
	return x.list;
}

const struct json *members_at(struct arena *a, const struct json *doc, const char *path)
{
	while (doc && path) {
		struct bytes name = first_name(path, &path);
		doc = json_get(doc, arena_strndup(a, (const char *)name.p, name.n));
	}
	return doc;
}

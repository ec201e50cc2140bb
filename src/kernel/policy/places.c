/* places.c — where links on the way to what a request names lead.
 *
 * Conditions about paths compare texts, and deciding looks at no file system.  So where a link on the way leads is looked up here, and given to the engine
 * as facts.places: {the text as it is written: where it is}, for what the request names and for the places that conditions name.  What is not there is
 * where it says it is; "" is somewhere that could not be found out.  What a command does is done to targets, so they are looked up as well.  Where a ".." stands in a text, also for the path without it.  A link that is changed afterwards is another link: walls hold that, not rules. */
#include "kernel/policy/policy.h"

#include "base/file.h"
#include "base/text.h"
#include "kernel/posture_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum { MOST_LINKS = 40, LONGEST_PATH = 4096, MOST_TEXTS = 256, MOST_NAMES = 10000, DEEPEST = 16 };

/* ---- where links lead ---- */

/* One name further: `at` without its last name for "..", with the name otherwise. */
static const char *step(struct arena *a, const char *at, const char *name, size_t n)
{
	if (n == 2 && memcmp(name, "..", 2) == 0)
		return path_clean(a, arena_printf(a, "%s/..", at));
	return n == 0 || (n == 1 && name[0] == '.')
		? at
		: arena_printf(a, "%s/%.*s", text_eq(at, "/") ? "" : at, (int)n, name);
}

/* Is there surely no link?  A name that is longer than the file system has them is not there, either. */
static bool is_no_link(const char *path, int error)
{
	return error == EINVAL || error == ENOENT || error == ENOTDIR ||
		(error == ENAMETOOLONG && strlen(path) < LONGEST_PATH);
}

/* As the kernel would walk it: a ".." behind a link leaves where the link led.  What does not exist is where it would be.  "" when there are too many links,
 * or one cannot be read. */
static const char *real_place(struct sys *s, struct arena *a, const char *path)
{
	char link[LONGEST_PATH];
	const char *at = "/", *p = path;
	int links = 0;

	while (*p) {
		size_t n = strcspn(p, "/");
		const char *next = step(a, at, p, n), *rest = p + n + (p[n] == '/');
		ssize_t len = next == at ? -1 : s->readlink(s, AT_FDCWD, next, link, sizeof(link) - 1);
		if (len < 0 && next != at && !is_no_link(next, errno))
			return "";
		if (len < 0) {
			at = next;
			p = rest;
			continue;
		}
		if (++links > MOST_LINKS)
			return "";
		link[len] = '\0';
		if (link[0] == '/')
			at = "/";
		p = arena_printf(a, "%s/%s", link, rest);
	}
	return at;
}

/* ---- of which texts ---- */

struct looking {
	struct sys *sys;
	struct arena *a;
	const char *cwd;
	struct json *places;
	unsigned count;
	bool is_partial;
};

static void look_up(struct looking *l, const char *name, const char *whole, const char *clean)
{
	const char *real = real_place(l->sys, l->a, whole);

	if (!text_eq(real, clean))
		json_sets(l->a, l->places, name, posture_name(l->a, real));
}

/* A text with a line break, or longer than a path can be, is seldom one: conditions take it for a doubt.  Whoever cleans a path before it is opened comes to
 * another place than the kernel, so both are looked up. */
static void look_at(struct looking *l, const char *text)
{
	if (!*text || strlen(text) >= LONGEST_PATH || strchr(text, '\n') || (text[0] != '/' && !l->cwd))
		return;
	const char *whole = text[0] == '/' ? text : arena_printf(l->a, "%s/%s", l->cwd, text);
	const char *clean = path_clean(l->a, whole);
	look_up(l, text, whole, clean);
	if (strstr(whole, ".."))
		look_up(l, posture_name(l->a, clean), clean, clean);
}

static void look_through(struct looking *l, const struct json *v, int depth)
{
	if (depth > DEEPEST || l->count > MOST_TEXTS) {
		l->is_partial = true;
		return;
	}
	if (json_text(v)) {
		l->count++;
		look_at(l, json_text(v));
	}
	json_each (one, v)
		look_through(l, one, depth + 1);
	json_each_member (m, v)
		look_through(l, m->value, depth + 1);
}

/* ---- of what a command does ---- */

/* Stars and question marks in the last name, and letters that no shell reads otherwise. */
static bool is_plain_pattern(const char *name)
{
	return strpbrk(name, "*?") && !strstr(name, "**") &&
		!name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-*?")];
}

static bool makes_links(const struct proposal *p)
{
	for (size_t i = 0; i < p->effect_count; i++)
		if (p->effects[i].tag && text_eq(p->effects[i].tag, "write.link"))
			return true;
	return false;
}

/* Does a name in that directory that the pattern may stand for lead elsewhere, or can nobody tell? */
static bool has_links(struct looking *l, const char *dir, const char *pattern)
{
	char link[8], **names;
	size_t n;
	struct err e = { 0 };

	if (file_list(l->sys, l->a, AT_FDCWD, dir, &names, &n, &e))
		return e.rc != E_MISSING;
	if (n > MOST_NAMES)
		return true;
	for (size_t i = 0; i < n; i++) {
		const char *at = arena_printf(l->a, "%s/%s", text_eq(dir, "/") ? "" : dir, names[i]);
		if (text_glob(text_fold(l->a, pattern, strlen(pattern)),
			    text_fold(l->a, names[i], strlen(names[i])), false) &&
			(l->sys->readlink(l->sys, AT_FDCWD, at, link, sizeof(link)) >= 0 ||
				!is_no_link(at, errno)))
			return true;
	}
	return false;
}

/* A pattern is one place as little as it is one file.  Where only its last name is one, and nothing that it stands for is a link, it is said to be where
 * its directory is; of any other pattern nothing is said, and conditions take it for a doubt. */
static void look_at_pattern(struct looking *l, const char *target)
{
	const char *slash = strrchr(target, '/');
	const char *dir = slash == target ? "/" : arena_strndup(l->a, target, (size_t)(slash - target));
	const char *real = strpbrk(dir, "*?[") ? "" : real_place(l->sys, l->a, dir);

	if (*real && is_plain_pattern(slash + 1) && !has_links(l, real, slash + 1))
		json_sets(l->a, l->places, posture_name(l->a, target),
			posture_name(l->a, step(l->a, real, slash + 1, strlen(slash + 1))));
}

static void look_at_effects(struct looking *l, const struct proposal *p)
{
	bool has_new_links = makes_links(p);

	for (size_t i = 0; i < p->effect_count; i++) {
		const struct effect *f = &p->effects[i];
		if (!f->target || f->target[0] != '/' || strlen(f->target) >= LONGEST_PATH)
			continue;
		if (l->count++ > MOST_TEXTS)
			l->is_partial = true;
		else if (f->certainty == CERTAIN)
			look_at(l, f->target);
		else if (f->certainty == PREFIXED && !(f->flags & FXF_OPEN_END) && !has_new_links)
			look_at_pattern(l, f->target);
	}
}

static void add_places(struct sys *s, struct arena *a, const struct json *named, const char *cwd,
	const struct policy_question *q, struct json *to)
{
	struct looking l = { .sys = s, .a = a, .cwd = cwd, .places = json_new(a, JSON_OBJECT) };

	json_each (place, named)
		look_at(&l, place->text);
	if (q->params)
		look_through(&l, q->params, 0);
	if (q->proposal)
		look_at_effects(&l, q->proposal);
	if (l.places->n)
		json_set(a, to, "places", l.places);
	if (l.is_partial)
		json_setb(a, to, "places_partial", true);
}

/* ---- all of it ---- */

/* Of the policies in use, and of the door's own; NULL: no condition is about paths. */
static const struct json *named_places(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct ruleset *rules)
{
	const struct json *in_use = policy_places(s, a, ws);
	struct json *own = rules ? ruleset_places(a, rules) : NULL;

	if (!own)
		return in_use;
	json_each (place, in_use)
		json_push(a, own, json_copy(a, place));
	return own;
}

void policy_look_at_places(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct policy_door *d, const struct policy_question *q, struct json *to)
{
	const struct json *named = named_places(s, a, ws, d->rules);

	if (named)
		add_places(s, a, named, d->cwd, q, to);
}

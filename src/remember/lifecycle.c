/* lifecycle.c — usage.json, events.jsonl and config.json, and everything that reads and writes them.
 *
 * usage.json can be made again: entries from a scan, counters from the events.  So what a run adds to it is not synced; the event is. */
#include "remember/lifecycle.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "record/record.h"
#include "remember/draft.h"
#include "remember/memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define LIFECYCLE "skill-lifecycle"
#define EVENTS "events.jsonl"
enum { DAY_S = 24 * 3600, SAMPLES = 10 };
static const struct doc USAGE = { .file = "usage.json",
	.lock = "usage.lock",
	.type = JSON_OBJECT,
	.max_bytes = 64 << 20,
	.mode = 0644,
	.style = JSON_SORT_BYTES,
	.code = "SKILL_USAGE",
	.newest = 1 };
static const struct doc CONFIG = { .file = "config.json",
	.type = JSON_OBJECT,
	.mode = 0644,
	.style = JSON_SORT_BYTES,
	.code = "SKILL_CONFIG" };

/* ---- opening ---- */

static struct json *default_config(struct arena *a)
{
	static const char text[] =
		"{\"enabled\":true,\"stale_after_days\":45,\"archive_after_days\":120,\"never_used_stale_after_days\":30,"
		"\"auto_archive\":false,\"auto_stale\":false,\"hide_archived_from_registry\":true,"
		"\"hide_stale_from_prompt\":false,\"protect_sources\":[\"bundled\",\"hub\"],"
		"\"negative_claim_ttl_days\":30,\"negative_claim_safe_probe_prefixes\":[],\"report_top_n\":20}";
	struct json *doc;

	if (json_parse(a, BYTES_LITERAL(text), "config", NULL, &doc, NULL))
		BUG("the shipped configuration is no JSON");
	return doc;
}

static int load_all(struct lifecycle *l, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *config;
	int rc = doc_load(l->at.sys, a, l->dir_fd, &USAGE, &l->usage, e);

	if (rc == OK)
		rc = doc_load(l->at.sys, a, l->dir_fd, &CONFIG, &config, e);
	if (rc)
		return rc;
	l->is_new = !json_get(l->usage, "skills");
	if (l->is_new)
		json_seti(a, l->usage, "version", 1);
	if (!json_is(doc_part(a, l->usage, "skills"), JSON_OBJECT))
		return err_set(e, E_CORRUPT, "SKILL_USAGE", "usage.json: 'skills' is no object");
	json_each_member (m, config)
		json_set(a, l->config, m->name, m->value);
	return OK;
}

int lifecycle_open(struct lifecycle *l, struct sys *s, struct arena *a, int root_fd, int state_fd,
	bool to_write, struct err *e)
{
	int rc = OK;

	*l = (struct lifecycle){ .at = { s, a, root_fd },
		.state_fd = state_fd,
		.dir_fd = -1,
		.lock = -1,
		.usage = json_new(a, JSON_OBJECT),
		.config = default_config(a),
		.is_new = true };
	if (to_write)
		rc = file_mkdirs(s, state_fd, LIFECYCLE, 0755, e);
	if (rc == OK)
		rc = file_open_dir(s, state_fd, LIFECYCLE, &l->dir_fd, e);
	if (rc == E_MISSING && !to_write) {
		json_seti(a, l->usage, "version", 1);
		json_set(a, l->usage, "skills", json_new(a, JSON_OBJECT));
		return OK;
	}
	if (rc == OK && to_write)
		rc = doc_lock(s, l->dir_fd, &USAGE, &l->lock, e);
	return rc ? rc : load_all(l, e);
}

void lifecycle_close(struct lifecycle *l)
{
	close_fd(&l->lock);
	close_fd(&l->dir_fd);
	l->lock = l->dir_fd = -1;
}

int lifecycle_save(struct lifecycle *l, struct err *e)
{
	return doc_replace(l->at.sys, l->at.a, l->dir_fd, &USAGE, l->usage, e);
}

/* Seconds, as these files always had them. */
static const char *stamp(struct lifecycle *l)
{
	int64_t us = l->at.sys->now_us(l->at.sys);

	return text_time_iso(l->at.a, us - us % 1000000);
}

int lifecycle_event(
	struct lifecycle *l, const char *event, const char *skill_id, const struct json *more, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *row = json_new(a, JSON_OBJECT);
	struct buf line;

	json_sets(a, row, "ts", stamp(l));
	json_sets(a, row, "event", event);
	json_sets(a, row, "skill_id", skill_id);
	json_each_member (m, more)
		json_set(a, row, m->name, m->value);
	buf_init(&line, a);
	json_write(&line, row, JSON_SPACED | JSON_SORT_BYTES);
	return file_append_line(l->at.sys, l->dir_fd, EVENTS, 0644, buf_bytes(&line), NULL, e);
}

static struct json *skills_of(const struct lifecycle *l)
{
	return json_get(l->usage, "skills");
}

static struct json *entry_of(const struct lifecycle *l, const char *skill_id)
{
	struct json *entry = json_get(skills_of(l), skill_id);

	return json_is(entry, JSON_OBJECT) ? entry : NULL;
}

static int unknown(struct lifecycle *l, const char *skill_id, struct err *e)
{
	return err_set(e, E_USAGE, "SKILL_UNKNOWN", "no skill '%.100s' was seen here%s", skill_id,
		l->is_new ? "; 'helm skill-lifecycle scan' looks for them" : "");
}

static bool is_state(const struct json *entry, const char *state)
{
	return text_eq(json_get_text(entry, "state", "active"), state);
}

static bool is_protected(const struct lifecycle *l, const struct json *entry)
{
	json_each (source, json_get(l->config, "protect_sources"))
		if (json_text(source) && text_eq(json_text(source), json_get_text(entry, "source", "")))
			return true;
	return false;
}

/* ---- scan ---- */

static struct json *new_entry(struct lifecycle *l, const struct skill *s)
{
	static const char *const nothing[] = { "last_viewed_at", "last_used_at", "last_successful_apply_at",
		"last_patched_at", "archived_at", "archive_path", "reactivated_at", "last_reviewed_at" };
	static const char *const counts[] = { "use_count", "view_count", "patch_count" };
	struct arena *a = l->at.a;
	struct json *entry = json_new(a, JSON_OBJECT);

	json_sets(a, entry, "skill_id", s->id);
	json_sets(a, entry, "path", arena_printf(a, "%s/SKILL.md", s->dir));
	json_sets(a, entry, "source", s->source);
	json_sets(a, entry, "state", "active");
	json_setb(a, entry, "pinned", false);
	json_sets(a, entry, "created_at", stamp(l));
	json_sets(a, entry, "first_seen_at", stamp(l));
	for (size_t i = 0; i < ARRAY_SIZE(nothing); i++)
		json_sets(a, entry, nothing[i], NULL);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		json_seti(a, entry, counts[i], 0);
	json_set(a, entry, "negative_claims", json_new(a, JSON_ARRAY));
	json_set(a, entry, "notes", json_new(a, JSON_ARRAY));
	return entry;
}

struct scan {
	struct lifecycle *l;
	struct json *added, *refreshed, *missing, *archived_only, *seen;
	struct json *events; /* [{event, skill_id}], written when nothing is dry */
};

static void will_tell(struct scan *x, const char *event, const char *skill_id)
{
	struct arena *a = x->l->at.a;
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "event", event);
	json_sets(a, one, "skill_id", skill_id);
	json_push(a, x->events, one);
}

/* A text member; true when it was another one. */
static bool change(struct arena *a, struct json *entry, const char *name, const char *value)
{
	const char *old = json_get_text(entry, name, NULL);

	if (old ? value && text_eq(old, value) : !value)
		return false;
	json_sets(a, entry, name, value);
	return true;
}

static void scan_one(struct scan *x, const struct skill *s, bool is_archived)
{
	struct lifecycle *l = x->l;
	struct arena *a = l->at.a;
	struct json *entry = entry_of(l, s->id);
	const char *path = arena_printf(a, "%s/SKILL.md", s->dir);

	/* The first by its directory's name counts, and a live one before an archived one. */
	if (json_get(x->seen, s->id))
		return;
	json_setb(a, x->seen, s->id, true);
	if (!entry) {
		entry = new_entry(l, s);
		if (is_archived) {
			json_sets(a, entry, "state", "archived");
			json_sets(a, entry, "archive_path", path);
			json_sets(a, entry, "archived_at", stamp(l));
		}
		json_set(a, skills_of(l), s->id, entry);
		json_pushs(a, is_archived ? x->archived_only : x->added, s->id);
		will_tell(x, "skill_registered", s->id);
		return;
	}
	bool is_changed = change(a, entry, "source", s->source);
	if (is_archived) {
		is_changed |= change(a, entry, "archive_path", path);
		is_changed |= change(a, entry, "state", "archived");
	} else {
		is_changed |= change(a, entry, "path", path);
		if (is_state(entry, "archived") || is_state(entry, "missing")) {
			json_sets(a, entry, "state", "active");
			json_sets(a, entry, "archive_path", NULL);
			json_sets(a, entry, "reactivated_at", stamp(l));
			is_changed = true;
		}
	}
	if (is_changed)
		json_pushs(a, x->refreshed, s->id);
}

static int scan_room(struct scan *x, const char *room, bool is_archived, struct err *e)
{
	const char *rooms[] = { room, NULL };
	struct skill *list;
	size_t n;
	int rc = skill_list(&x->l->at, rooms, &list, &n, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		if (list[i].has_text)
			scan_one(x, &list[i], is_archived);
	return rc;
}

static int by_text(const void *x, const void *y)
{
	return strcmp(json_text(*(struct json *const *)x), json_text(*(struct json *const *)y));
}

static void sort_texts(struct json *list)
{
	if (list->n)
		qsort(list->items, list->n, sizeof(struct json *), by_text);
}

static int put_scan(struct scan *x, struct err *e)
{
	struct lifecycle *l = x->l;
	int rc = OK;

	if (!file_exists(l->at.sys, l->dir_fd, CONFIG.file))
		rc = doc_replace(l->at.sys, l->at.a, l->dir_fd, &CONFIG, l->config, e);
	if (rc == OK)
		rc = lifecycle_save(l, e);
	json_each (one, x->events)
		if (rc == OK)
			rc = lifecycle_event(l, json_get_text(one, "event", ""),
				json_get_text(one, "skill_id", ""), NULL, e);
	return rc;
}

int lifecycle_scan(struct lifecycle *l, bool is_dry, struct json **ret, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *doc = json_new(a, JSON_OBJECT);
	struct scan x = { l, json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY),
		json_new(a, JSON_ARRAY), json_new(a, JSON_OBJECT), json_new(a, JSON_ARRAY) };
	int rc = scan_room(&x, "skills", false, e);

	if (rc == OK)
		rc = scan_room(&x, "skills/.archive", true, e);
	if (rc)
		return rc;
	json_each_member (m, skills_of(l))
		if (!json_get(x.seen, m->name) && json_is(m->value, JSON_OBJECT) &&
			!is_state(m->value, "missing")) {
			json_sets(a, m->value, "state", "missing");
			json_pushs(a, x.missing, m->name);
			will_tell(&x, "skill_missing", m->name);
		}
	struct json *lists[] = { x.added, x.refreshed, x.missing, x.archived_only };
	static const char *const names[] = { "added", "refreshed", "missing", "archived_only" };
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		sort_texts(lists[i]);
		json_set(a, doc, names[i], lists[i]);
	}
	json_seti(a, doc, "total", skills_of(l)->n);
	json_setb(a, doc, "dry_run", is_dry);
	*ret = doc;
	return is_dry ? OK : put_scan(&x, e);
}

/* ---- ages ---- */

/* Days since then, with a fraction; -1 when there is no time. */
static double days_since(const struct lifecycle *l, const char *text)
{
	int64_t us;

	if (!text || !memory_time(text, &us))
		return -1;
	double days = (double)(l->at.sys->now_us(l->at.sys) - us) / 1e6 / DAY_S;
	return days < 0 ? 0 : days;
}

static double limit_of(const struct lifecycle *l, const char *name)
{
	const struct json *v = json_get(l->config, name);

	return json_is(v, JSON_NUMBER) ? strtod(v->text, NULL) : 0;
}

/* Days without use: since the last one, or since it was first seen. */
static double idle_days(const struct lifecycle *l, const struct json *entry)
{
	const char *used = json_get_text(entry, "last_used_at", NULL);

	return days_since(l, used ? used : json_get_text(entry, "first_seen_at", NULL));
}

static const char *why_stale(const struct lifecycle *l, const struct json *entry)
{
	if (!is_state(entry, "active") || json_get_bool(entry, "pinned", false) || is_protected(l, entry))
		return NULL;
	double idle = idle_days(l, entry);
	if (!json_get_text(entry, "last_used_at", NULL))
		return idle >= limit_of(l, "never_used_stale_after_days") ? "never_used" : NULL;
	return idle >= limit_of(l, "stale_after_days") ? "idle" : NULL;
}

int lifecycle_stale(struct lifecycle *l, bool apply, struct json **ret, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *list = json_new(a, JSON_ARRAY), *more = json_new(a, JSON_OBJECT);
	int rc = OK;

	json_each_member (m, skills_of(l)) {
		const char *why = json_is(m->value, JSON_OBJECT) ? why_stale(l, m->value) : NULL;
		if (!why)
			continue;
		struct json *one = json_new(a, JSON_OBJECT);
		json_sets(a, one, "skill_id", m->name);
		json_sets(a, one, "from_state", "active");
		json_sets(a, one, "to_state", "stale");
		json_sets(a, one, "reason", why);
		json_push(a, list, one);
		if (apply)
			json_sets(a, m->value, "state", "stale");
	}
	*ret = list;
	if (!apply || !list->n)
		return OK;
	json_sets(a, more, "reason", "policy");
	rc = lifecycle_save(l, e);
	json_each (one, list)
		if (rc == OK)
			rc = lifecycle_event(l, "skill_stale", json_get_text(one, "skill_id", ""), more, e);
	return rc;
}

/* ---- pins ---- */

int lifecycle_set_pinned(
	struct lifecycle *l, const char *skill_id, bool is_pinned, bool *ret_changed, struct err *e)
{
	struct json *entry = entry_of(l, skill_id);

	if (!entry)
		return unknown(l, skill_id, e);
	*ret_changed = json_get_bool(entry, "pinned", false) != is_pinned;
	if (!*ret_changed)
		return OK;
	json_setb(l->at.a, entry, "pinned", is_pinned);
	int rc = lifecycle_save(l, e);
	return rc ? rc : lifecycle_event(l, is_pinned ? "skill_pinned" : "skill_unpinned", skill_id, NULL, e);
}

/* ---- archive ---- */

struct counted {
	struct arena *a;
	int64_t files, bytes;
	struct json *samples;
};

static int count_one(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct counted *c = arg;

	(void)parent;
	(void)name;
	(void)e;
	if (S_ISDIR(st->st_mode))
		return 0;
	c->files++;
	c->bytes += st->st_size;
	if (c->samples->n < SAMPLES)
		json_pushs(c->a, c->samples, rel);
	return 0;
}

static int plan_move(struct lifecycle *l, const char *skill_id, const char *from, const char *to, bool apply,
	struct json **ret, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *doc = json_new(a, JSON_OBJECT);
	struct counted c = { .a = a, .samples = json_new(a, JSON_ARRAY) };
	int rc = file_walk(l->at.sys, l->at.root_fd, from, count_one, &c, e);

	json_sets(a, doc, "skill_id", skill_id);
	json_sets(a, doc, "from", from);
	json_sets(a, doc, "to", to);
	json_seti(a, doc, "file_count", c.files);
	json_seti(a, doc, "bytes", c.bytes);
	json_set(a, doc, "samples", c.samples);
	json_setb(a, doc, "applied", apply);
	*ret = doc;
	return rc;
}

/* "skills/x" of "skills/x/SKILL.md". */
static const char *dir_of(struct arena *a, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? arena_strndup(a, path, (size_t)(slash - path)) : NULL;
}

static int refuse(const char *code, const char *skill_id, const char *why, struct err *e)
{
	return err_set(e, E_USAGE, code, "skill '%s' stays where it is: %s", skill_id, why);
}

int lifecycle_archive(struct lifecycle *l, const char *skill_id, bool apply, struct json **ret, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *entry = entry_of(l, skill_id);
	static const char code[] = "SKILL_ARCHIVE";

	if (!entry)
		return unknown(l, skill_id, e);
	const char *from = dir_of(a, json_get_text(entry, "path", NULL));
	if (is_state(entry, "archived"))
		return refuse(code, skill_id, "it is archived already", e);
	if (is_state(entry, "missing"))
		return refuse(code, skill_id, "it is missing", e);
	if (json_get_bool(entry, "pinned", false))
		return refuse(code, skill_id, "it is pinned", e);
	if (is_protected(l, entry))
		return refuse(code, skill_id, "its source is protected", e);
	if (!from || !text_starts(from, "skills/") || strchr(from + strlen("skills/"), '/') ||
		!file_is_dir(l->at.sys, l->at.root_fd, from))
		return refuse(code, skill_id, "its directory is not there", e);
	const char *to = arena_printf(a, "skills/.archive/%s", path_base(from));
	if (file_exists(l->at.sys, l->at.root_fd, to))
		return refuse(code, skill_id, "there is one of that name in the archive", e);
	int rc = plan_move(l, skill_id, from, to, apply, ret, e);
	if (rc || !apply)
		return rc;
	rc = skill_move(&l->at, from, to, e);
	if (rc)
		return rc;
	json_sets(a, entry, "state", "archived");
	json_sets(a, entry, "archived_at", stamp(l));
	json_sets(a, entry, "archive_path", arena_printf(a, "%s/SKILL.md", to));
	rc = lifecycle_save(l, e);
	return rc ? rc : lifecycle_event(l, "skill_archived", skill_id, NULL, e);
}

int lifecycle_restore(struct lifecycle *l, const char *skill_id, bool apply, struct json **ret, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *entry = entry_of(l, skill_id);
	static const char code[] = "SKILL_RESTORE";

	if (!entry)
		return unknown(l, skill_id, e);
	const char *from = dir_of(a, json_get_text(entry, "archive_path", NULL));
	if (!from || !text_starts(from, "skills/.archive/") || strstr(from, ".."))
		return refuse(code, skill_id, "it is not known where in the archive it lies", e);
	if (!file_is_dir(l->at.sys, l->at.root_fd, from))
		return refuse(code, skill_id, "it is not in the archive", e);
	const char *to = arena_printf(a, "skills/%s", path_base(from));
	if (file_exists(l->at.sys, l->at.root_fd, to))
		return refuse(code, skill_id, "there is a live skill of that name", e);
	int rc = plan_move(l, skill_id, from, to, apply, ret, e);
	if (rc || !apply)
		return rc;
	rc = skill_move(&l->at, from, to, e);
	if (rc)
		return rc;
	json_sets(a, entry, "state", "active");
	json_sets(a, entry, "path", arena_printf(a, "%s/SKILL.md", to));
	json_sets(a, entry, "archive_path", NULL);
	json_sets(a, entry, "archived_at", NULL);
	json_sets(a, entry, "reactivated_at", stamp(l));
	rc = lifecycle_save(l, e);
	return rc ? rc : lifecycle_event(l, "skill_restored", skill_id, NULL, e);
}

/* ---- looked at ---- */

static const char *time_of(struct arena *a, struct timespec t)
{
	return text_time_iso(a, (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000);
}

static bool is_later(const char *now, const char *then)
{
	int64_t x, y;

	return memory_time(now, &x) && memory_time(then, &y) && x > y;
}

static void count(struct arena *a, struct json *entry, const char *name)
{
	json_seti(a, entry, name, json_get_int(entry, name, 0) + 1);
}

int lifecycle_observe(struct lifecycle *l, bool is_dry, struct json **ret, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *doc = json_new(a, JSON_OBJECT), *baseline = json_new(a, JSON_ARRAY),
		    *viewed = json_new(a, JSON_ARRAY), *patched = json_new(a, JSON_ARRAY);
	int64_t observed = 0;
	int rc = OK;

	json_each_member (m, skills_of(l)) {
		const char *path = json_get_text(m->value, "path", NULL);
		struct stat st;
		if (!path || is_state(m->value, "missing") || is_state(m->value, "archived") ||
			l->at.sys->stat(l->at.sys, l->at.root_fd, path, &st, AT_SYMLINK_NOFOLLOW) ||
			!S_ISREG(st.st_mode))
			continue;
		observed++;
		const char *mtime = time_of(a, st.st_mtim), *atime = time_of(a, st.st_atim),
			   *was = json_get_text(m->value, "last_mtime_seen", NULL);
		if (!was)
			json_pushs(a, baseline, m->name);
		if (was && is_later(mtime, was)) {
			json_pushs(a, patched, m->name);
			count(a, m->value, "patch_count");
			json_sets(a, m->value, "last_patched_at", stamp(l));
		}
		if (was && is_later(atime, json_get_text(m->value, "last_atime_seen", ""))) {
			json_pushs(a, viewed, m->name);
			count(a, m->value, "view_count");
			json_sets(a, m->value, "last_viewed_at", stamp(l));
		}
		json_sets(a, m->value, "last_mtime_seen", mtime);
		json_sets(a, m->value, "last_atime_seen", atime);
	}
	json_set(a, doc, "baseline", baseline);
	json_set(a, doc, "viewed", viewed);
	json_set(a, doc, "patched", patched);
	json_seti(a, doc, "total_observed", observed);
	json_setb(a, doc, "dry_run", is_dry);
	*ret = doc;
	if (is_dry || !observed)
		return OK;
	rc = lifecycle_save(l, e);
	json_each (id, patched)
		if (rc == OK)
			rc = lifecycle_event(l, "skill_patched", json_text(id), NULL, e);
	json_each (id, viewed)
		if (rc == OK)
			rc = lifecycle_event(l, "skill_viewed", json_text(id), NULL, e);
	return rc;
}

int lifecycle_view(struct lifecycle *l, const char *skill_id, struct err *e)
{
	struct json *entry = entry_of(l, skill_id);

	if (!entry)
		return unknown(l, skill_id, e);
	count(l->at.a, entry, "view_count");
	json_sets(l->at.a, entry, "last_viewed_at", stamp(l));
	int rc = lifecycle_save(l, e);
	return rc ? rc : lifecycle_event(l, "skill_viewed", skill_id, NULL, e);
}

/* ---- what runs did ---- */

static const struct {
	const char *event, *counter, *time, *status;
} outcomes[] = {
	{ "skill_used", "use_count", "last_used_at", "started" },
	{ "skill_success", NULL, "last_successful_apply_at", "success" },
	{ "skill_failure", NULL, NULL, "failure" },
	{ "skill_promoted", "patch_count", "last_patched_at", "promoted" },
	{ "skill_rejected", NULL, NULL, "unknown" },
};

static struct json *outcome_of(struct arena *a, const struct lifecycle_outcome *o, const char *status)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_seti(a, doc, "schema_version", 2);
	json_sets(a, doc, "task_id", o->task_id);
	json_sets(a, doc, "status", status);
	json_set(a, doc, "exit_code", o->exit_code ? json_copy(a, o->exit_code) : json_new(a, JSON_NULL));
	json_sets(a, doc, "selection_reason", o->selection_reason);
	json_sets(a, doc, "evidence_quality",
		o->evidence_quality    ? o->evidence_quality
			: o->exit_code ? "process_exit"
				       : "unknown");
	json_sets(a, doc, "user_correction", o->user_correction);
	json_seti(a, doc, "retry_count", o->retry_count);
	json_setb(a, doc, "improvement_candidate",
		text_eq(status, "failure") || o->retry_count > 0 || o->user_correction);
	return doc;
}

static int put_outcome(
	struct lifecycle *l, const char *skill, const struct lifecycle_outcome *o, struct err *e)
{
	struct arena *a = l->at.a;
	struct json *entry = entry_of(l, skill), *more = json_new(a, JSON_OBJECT);
	size_t i = 0;

	while (i < ARRAY_SIZE(outcomes) && !text_eq(outcomes[i].event, o->event))
		i++;
	if (!entry || i == ARRAY_SIZE(outcomes))
		return OK;
	struct json *outcome = outcome_of(a, o, outcomes[i].status);
	if (outcomes[i].counter)
		count(a, entry, outcomes[i].counter);
	if (outcomes[i].time)
		json_sets(a, entry, outcomes[i].time, stamp(l));
	/* What is used is not stale. */
	if (text_eq(o->event, "skill_used") && is_state(entry, "stale"))
		json_sets(a, entry, "state", "active");
	json_set(a, entry, "last_outcome", outcome);
	if (o->task_id)
		json_sets(a, more, "task_id", o->task_id);
	if (o->exit_code)
		json_set(a, more, "exit_code", json_copy(a, o->exit_code));
	if (o->duration_ms >= 0)
		json_seti(a, more, "duration_ms", o->duration_ms);
	json_set(a, more, "outcome", outcome);
	struct buf text;
	buf_init(&text, a);
	json_write(&text, l->usage, JSON_INDENT | JSON_SORT_BYTES);
	buf_addc(&text, '\n');
	int rc = lifecycle_event(l, o->event, skill, more, e);
	return rc ? rc : file_put(l->at.sys, l->dir_fd, USAGE.file, USAGE.mode, buf_bytes(&text), e);
}

void lifecycle_record(struct sys *s, struct arena *a, int root_fd, int state_fd, const char *skill,
	const struct lifecycle_outcome *o)
{
	AUTO(lifecycle_close) struct lifecycle l = { .dir_fd = -1, .lock = -1 };
	struct err e = { 0 };

	if (file_exists(s, state_fd, LIFECYCLE "/usage.json") &&
		lifecycle_open(&l, s, a, root_fd, state_fd, true, &e) == OK)
		(void)put_outcome(&l, skill, o, &e);
}

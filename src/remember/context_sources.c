/* context_sources.c — where a search looks: the workspace itself, then what was adopted. */
#include "remember/context_parts.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"

#include <fcntl.h>
#include <string.h>

/* How old the newest thing of a source may be before it is called stale (minutes), when nobody says otherwise. */
enum { SLA_VAULT = 5, SLA_OTHER = 60 };

static int open_below(struct search *x, int dirfd, const char *path, int flags)
{
	return x->sys->open(x->sys, dirfd, path, O_RDONLY | O_DIRECTORY | flags, 0, 0);
}

/* connector-freshness.json may say how fresh this source has to be. */
static int64_t sla_of(struct search *x, const struct source *s)
{
	struct json *doc = NULL;

	if (s->is_local || x->at->state_fd < 0 ||
		doc_read(x->sys, x->a, x->at->state_fd, "connector-freshness.json", 1 << 20, 0, &doc, NULL))
		return s->is_vault ? SLA_VAULT : SLA_OTHER;
	return json_get_int(json_get(json_get(doc, "connectors"), s->name), "freshness_sla_minutes",
		s->is_vault ? SLA_VAULT : SLA_OTHER);
}

static void add_source(struct search *x, const struct source *given)
{
	struct source *s = &x->sources[x->source_count];

	*s = *given;
	s->is_vault = s->root_fd >= 0 && file_exists(x->sys, s->root_fd, ".obsidian");
	if (text_eq(s->kind, "claude-code") || text_eq(s->kind, "codex"))
		s->is_vault = true;
	s->sla_minutes = sla_of(x, s);
	x->source_count++;
}

static bool is_wanted(const struct search *x, const char *name)
{
	return !x->q.adapter || text_eq(x->q.adapter, name);
}

static void add_record(struct search *x, const struct json *record)
{
	struct source s = { .name = json_get_text(record, "name", ""),
		.kind = json_get_text(record, "kind", ""),
		.root = json_get_text(record, "root", ""),
		.state_name = json_get_text(record, "state_dir_name", ""),
		.root_fd = -1,
		.state_fd = -1 };

	if (text_eq(s.root, x->at->root) || !is_wanted(x, s.name))
		return;
	if (x->source_count == MAX_SOURCES) {
		search_warn(x, "more than %d sources: '%s' was not searched", MAX_SOURCES, s.name);
		return;
	}
	s.root_fd = open_below(x, AT_FDCWD, s.root, 0);
	if (s.root_fd < 0)
		search_warn(x, "the source '%s' was not searched: '%s' cannot be opened", s.name, s.root);
	else
		s.state_fd = open_below(x, s.root_fd, s.state_name, O_NOFOLLOW);
	add_source(x, &s);
}

int search_sources(struct search *x, struct err *e)
{
	const struct context_place *at = x->at;
	struct source own = { .name = arena_printf(x->a, "%s-local", at->kind),
		.kind = at->kind,
		.root = at->root,
		.state_name = at->state_name,
		.is_local = true,
		.root_fd = open_below(x, AT_FDCWD, at->root, 0),
		.state_fd = at->state_fd };

	if (is_wanted(x, own.name))
		add_source(x, &own);
	else if (own.root_fd >= 0)
		close_fd(&own.root_fd);
	struct json *records = sources_load(at, x->warnings);
	json_each (record, records)
		add_record(x, record);
	if (x->source_count)
		return OK;
	return err_set(e, E_MISSING, "CONTEXT_ADAPTER",
		"there is no source '%s'; 'helm sources' lists them, and %s is the workspace itself",
		x->q.adapter, own.name);
}

void search_sources_close(struct search *x)
{
	for (size_t i = 0; i < x->source_count; i++) {
		close_fd(&x->sources[i].root_fd);
		if (!x->sources[i].is_local)
			close_fd(&x->sources[i].state_fd);
	}
	x->source_count = 0;
}

/* The newest file of a source is the last that was heard from it.  The workspace itself is always read as it is now. */
struct json *source_freshness(const struct search *x, const struct source *s)
{
	struct json *doc = json_new(x->a, JSON_OBJECT);
	int64_t age_s = s->newest_us ? (x->now_us - s->newest_us) / 1000000 : -1;

	age_s = s->newest_us && age_s < 0 ? 0 : age_s;
	json_setb(x->a, doc, "fresh", s->is_local || (age_s >= 0 && age_s <= s->sla_minutes * 60));
	json_set(x->a, doc, "age_seconds", age_s < 0 ? json_new(x->a, JSON_NULL) : json_number(x->a, age_s));
	json_sets(x->a, doc, "last_success", s->newest_us ? text_time_iso(x->a, s->newest_us) : NULL);
	return doc;
}

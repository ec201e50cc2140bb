/* figures.c — sources of context, drafts, what was remembered, commands that failed: the figures of status, report and ops. */
#include "actions/figures.h"
#include "actions/actions_internal.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DOCUMENT = 16 << 20, MAX_DRAFTS = 1000 };

void figure_add(struct arena *a, struct json *counts, const char *value)
{
	json_seti(a, counts, value, json_get_int(counts, value, 0) + 1);
}

const char *figure_finalization(const struct json *row)
{
	return json_get_text(json_get(row, "memory_capture"), "finalization_status", "unknown");
}

struct json *figure_finalizations(struct arena *a, const struct json *rows)
{
	struct json *counts = json_new(a, JSON_OBJECT);

	json_each (row, rows)
		figure_add(a, counts, figure_finalization(row));
	return counts;
}

static void add_source(struct arena *a, struct json *to, const char *name, const char *kind, const char *root,
	const char *mode)
{
	struct json *one = json_new(a, JSON_OBJECT);

	json_sets(a, one, "name", name);
	json_sets(a, one, "kind", kind);
	json_sets(a, one, "root", root);
	json_sets(a, one, "mode", mode);
	json_push(a, to, one);
}

struct json *figure_sources(const struct actions_place *o)
{
	struct json *list = json_new(o->a, JSON_ARRAY);

	add_source(o->a, list, arena_printf(o->a, "%s-local", o->layout), o->layout, o->root, "local");
	json_each (s, o->sources)
		add_source(o->a, list, json_get_text(s, "name", ""), json_get_text(s, "kind", NULL),
			json_get_text(s, "root", NULL), json_get_text(s, "mode", "read-only"));
	return list;
}

struct json *figure_source_names(const struct actions_place *o)
{
	struct json *names = json_new(o->a, JSON_ARRAY), *all = figure_sources(o);

	json_each (s, all)
		json_pushs(o->a, names, json_get_text(s, "name", ""));
	return names;
}

struct assessed {
	struct json *doc;
	struct timespec at;
};

static int older_first(const void *x, const void *y)
{
	const struct assessed *p = x, *q = y;

	if (p->at.tv_sec != q->at.tv_sec)
		return (p->at.tv_sec > q->at.tv_sec) - (p->at.tv_sec < q->at.tv_sec);
	return (p->at.tv_nsec > q->at.tv_nsec) - (p->at.tv_nsec < q->at.tv_nsec);
}

struct json *figure_drafts(const struct actions_place *o, size_t limit)
{
	struct json *list = json_new(o->a, JSON_ARRAY);
	char **names;
	size_t n = 0, found = 0;

	if (file_list(o->sys, o->a, o->root_fd, "skill_drafts", &names, &n, NULL))
		return list;
	n = n < MAX_DRAFTS ? n : MAX_DRAFTS;
	struct assessed *all = arena_zalloc(o->a, n + 1, sizeof(*all));
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(o->a, "skill_drafts/%s/meta/assessment.json", names[i]);
		struct stat st;
		struct json *doc;
		if (o->sys->stat(o->sys, o->root_fd, path, &st, 0) ||
			doc_read(o->sys, o->a, o->root_fd, path, MAX_DOCUMENT, FILE_BENEATH, &doc, NULL) ||
			!json_is(doc, JSON_OBJECT))
			continue;
		if (!json_get(doc, "draft"))
			json_sets(o->a, doc, "draft", names[i]);
		all[found++] = (struct assessed){ doc, st.st_mtim };
	}
	qsort(all, found, sizeof(*all), older_first);
	for (size_t i = found > limit ? found - limit : 0; i < found; i++)
		json_push(o->a, list, all[i].doc);
	return list;
}

struct json *figure_tail(const struct actions_place *o, const char *file, size_t limit)
{
	struct json *rows;

	if (rows_tail(o->sys, o->a, o->state_fd, file, limit, &rows, NULL))
		rows = json_new(o->a, JSON_ARRAY);
	return rows;
}

bool figure_is_failed(const struct json *row)
{
	const struct json *code = json_get(row, "exit_code");

	return code && code->type != JSON_NULL && !(json_is(code, JSON_NUMBER) && text_eq(code->text, "0"));
}

struct failing {
	struct arena *a;
	struct json *rows;
	size_t limit;
	int64_t count;
};

static int keep_failed(void *arg, struct json *row)
{
	struct failing *f = arg;

	if (!figure_is_failed(row))
		return 0;
	f->count++;
	if (f->rows->n < f->limit)
		json_push(f->a, f->rows, json_copy(f->a, row));
	return 0;
}

struct json *figure_failed_commands(
	const struct actions_place *o, size_t lines, size_t limit, int64_t *ret_count)
{
	struct failing f = { o->a, json_new(o->a, JSON_ARRAY), limit, 0 };

	(void)rows_back(o->sys, NULL, o->state_fd, COMMAND_LOG, lines, NULL, keep_failed, &f, NULL);
	turn_round(f.rows);
	if (ret_count)
		*ret_count = f.count;
	return f.rows;
}

/* areas.c — tasks, commands and checkpoints: rows that Helm or another runtime has written.
 *
 * A row may hold anything: a member of the wrong kind counts as absent, and a line that is no row is named once. */
#include "remember/context_parts.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "record/record.h"

#include <fcntl.h>
#include <string.h>

/* A text member that says something; else NULL. */
static const char *said(const struct json *row, const char *name)
{
	const char *text = json_get_text(row, name, NULL);

	return text && *text ? text : NULL;
}

static const char *first_said(const struct json *row, const char *const *names)
{
	for (; *names; names++)
		if (said(row, *names))
			return said(row, *names);
	return NULL;
}

/* Words joined by blanks, or the text as it is. */
static const char *command_text(struct arena *a, const struct json *row)
{
	const struct json *command = json_get(row, "command");
	struct buf text;

	if (json_text(command))
		return json_text(command);
	buf_init(&text, a);
	json_each (word, command)
		if (json_text(word))
			buf_addf(&text, "%s%s", text.n ? " " : "", json_text(word));
	return text.p;
}

static const char *or_dash(const char *text)
{
	return text && *text ? text : "-";
}

static void copy_members(struct arena *a, struct json *to, const struct json *row, const char *const *names)
{
	for (; *names; names++) {
		struct json *v = json_get(row, *names);
		json_set(a, to, *names, v ? v : json_new(a, JSON_NULL));
	}
}

/* What words are looked for in: the row as it is stored. */
static void take_text(struct arena *a, const struct json *row, struct item *i)
{
	struct buf text;

	buf_init(&text, a);
	json_write(&text, row, JSON_SPACED);
	i->raw = text.p;
	i->raw_n = text.n;
}

static bool may_fit(struct search *x, const struct json *row)
{
	struct item i = { 0 };

	if (!x->has_words || x->watched)
		return true;
	take_text(&x->scratch, row, &i);
	return search_fit(x, words_fold(&x->scratch, i.raw, i.raw_n)) != FIT_NONE;
}

static bool is_of_skill(const struct search *x, const struct json *row, const char *member)
{
	return !x->q.skill || text_eq(json_get_text(row, member, ""), x->q.skill);
}

static bool is_of_task(const struct search *x, const struct json *row)
{
	return !x->q.task_id || text_eq(json_get_text(row, "task_id", ""), x->q.task_id);
}

static void set_time(struct item *i, const char *timestamp)
{
	i->timestamp = timestamp;
	if (!timestamp || !memory_time(timestamp, &i->time_us))
		i->time_us = INT64_MIN;
}

void offer_task(
	struct search *x, const struct source *s, const struct json *given, const struct json *transitions)
{
	static const char *const times[] = { "finished_at", "started_execution_at", "started_at",
		"created_at", NULL };
	static const char *const members[] = { "task_id", "skill", "profile", "status", "delivery_mode",
		"exit_code", "runtime_backend", "runtime_target", "checkpoint_id", NULL };
	struct arena *a = &x->scratch;
	struct item i = { .from = s, .area = AREA_TASKS, .kind = "task" };

	if (!may_fit(x, given))
		return;
	struct json *row = json_copy(a, given);
	privacy_redact_json(a, row);
	const char *preview = said(row, "command_preview");
	take_text(a, row, &i);
	i.title = or_dash(said(row, "task_name"));
	i.task_id = said(row, "task_id");
	i.excerpt = arena_printf(a, "skill=%s profile=%s status=%s runtime=%s command=%s",
		or_dash(said(row, "skill")), or_dash(said(row, "profile")), or_dash(said(row, "status")),
		or_dash(said(row, "runtime_backend")), or_dash(preview ? preview : command_text(a, row)));
	set_time(&i, first_said(row, times));
	i.meta = json_new(a, JSON_OBJECT);
	copy_members(a, i.meta, row, members);
	if (transitions)
		json_set(a, i.meta, "transitions", json_copy(a, transitions));
	if (!is_of_skill(x, row, "skill") || !is_of_task(x, row) ||
		(x->q.failed_only && !text_eq(json_get_text(row, "status", ""), "failed"))) {
		if (watches(x, &i))
			watched_is(x, "--skill, --task-id or --failed-only leave it out");
		return;
	}
	search_offer(x, &i);
}

void offer_command(struct search *x, const struct source *s, const struct json *given)
{
	static const char *const times[] = { "finished_at", "started_at", NULL };
	static const char *const members[] = { "task_id", "task_skill", "task_profile", "component",
		"exit_code", NULL };
	struct arena *a = &x->scratch;
	struct item i = { .from = s, .area = AREA_COMMANDS, .kind = "command" };
	int64_t code;

	if (!may_fit(x, given))
		return;
	struct json *row = json_copy(a, given);
	privacy_redact_json(a, row);
	take_text(a, row, &i);
	i.title = said(row, "label") ? said(row, "label") : "command";
	i.excerpt = command_text(a, row);
	if (!*i.excerpt && said(row, "command_preview"))
		i.excerpt = said(row, "command_preview");
	set_time(&i, first_said(row, times));
	i.task_id = said(row, "task_id");
	i.meta = json_new(a, JSON_OBJECT);
	copy_members(a, i.meta, row, members);
	bool is_failed = json_int(json_get(row, "exit_code"), &code) && code != 0;
	if (!is_of_skill(x, row, "task_skill") || !is_of_task(x, row) || (x->q.failed_only && !is_failed)) {
		if (watches(x, &i))
			watched_is(x, "--skill, --task-id or --failed-only leave it out");
		return;
	}
	search_offer(x, &i);
}

/* ---- all rows ---- */

enum { WINDOW_ROWS = 20000 }; /* of each ledger, the newest, unless somebody waits for all */

struct rows {
	struct search *x;
	struct source *s;
	const char *file;
	bool is_task, is_latest;
	struct idset seen;
	size_t count; /* looked at */
};

static void see_time(struct source *s, const struct json *row)
{
	int64_t at;
	const char *text = json_get_text(row, "finished_at", json_get_text(row, "started_at", NULL));

	if (text && memory_time(text, &at) && at > s->newest_us)
		s->newest_us = at;
}

static bool has_enough(const struct rows *r)
{
	const struct search *x = r->x;

	return !x->has_words && !x->watched && !x->q.is_classic && !x->is_timeline && !x->is_reflection &&
		x->found[r->is_task ? AREA_TASKS : AREA_COMMANDS] >= x->cap;
}

/* The newest row first, so that the first one of a task is its state. */
static int see_row(void *arg, struct json *row)
{
	struct rows *r = arg;
	const char *id = json_get_text(row, "task_id", NULL);

	r->count++;
	see_time(r->s, row);
	if (!r->is_task)
		offer_command(r->x, r->s, row);
	else if (!r->is_latest || !id || idset_add(r->x->a, &r->seen, id))
		offer_task(r->x, r->s, row, NULL);
	arena_reset(&r->x->scratch);
	return has_enough(r);
}

/* Transitions of each task, for the timeline: the newest row with all states before it. */
struct told {
	const char *id;
	struct json *row, *steps;
};

struct telling {
	struct rows r;
	struct told *all;
	size_t count, room;
};

static struct told *told_of(struct telling *t, const char *id)
{
	struct arena *a = t->r.x->a;

	for (size_t i = t->count; i-- > 0 && i + 200 > t->count;) /* rows of one task lie close together */
		if (text_eq(t->all[i].id, id))
			return &t->all[i];
	if (t->count >= MAX_HITS)
		return NULL;
	if (t->count == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		t->all = arena_grow(a, t->all, t->room * sizeof(*t->all), room * sizeof(*t->all));
		t->room = room;
	}
	t->all[t->count] = (struct told){ .id = arena_strdup(a, id), .steps = json_new(a, JSON_ARRAY) };
	return &t->all[t->count++];
}

static int tell_row(void *arg, struct json *row)
{
	static const char *const times[] = { "finished_at", "started_execution_at", "started_at",
		"created_at", NULL };
	struct telling *t = arg;
	struct arena *a = t->r.x->a;
	struct told *one = told_of(t, json_get_text(row, "task_id", ""));

	t->r.count++;
	see_time(t->r.s, row);
	if (!one) {
		t->r.x->is_cut = true;
		return 1;
	}
	if (!one->row)
		one->row = json_copy(a, row);
	struct json *step = json_new(a, JSON_OBJECT);
	json_sets(a, step, "status", json_get_text(row, "status", "-"));
	json_sets(a, step, "at", first_said(row, times));
	json_push(a, one->steps, step);
	return 0;
}

static void turn(struct json *list)
{
	for (uint32_t i = 0; i < list->n / 2; i++) {
		struct json *other = list->items[i];
		list->items[i] = list->items[list->n - 1 - i];
		list->items[list->n - 1 - i] = other;
	}
}

static size_t tell_tasks(struct search *x, struct source *s, size_t most, struct err *e)
{
	struct telling t = { .r = { .x = x, .s = s } };

	(void)rows_back(x->sys, NULL, s->state_fd, TASK_LEDGER, most, x->q.task_id, tell_row, &t, e);
	for (size_t i = 0; i < t.count; i++) {
		turn(t.all[i].steps);
		offer_task(x, s, t.all[i].row, t.all[i].steps);
		arena_reset(&x->scratch);
	}
	return t.r.count;
}

void warn_rows(struct search *x, const struct source *s, const char *file, size_t damaged)
{
	search_warn(x, "%s: lines of %s that are no rows were left out: %zu", s->name, file, damaged);
}

void warn_partial(
	struct search *x, const struct source *s, const char *file, const char *what, const char *all)
{
	x->is_partial = true;
	search_warn(x, "%s: of %s only %s were searched; %s searches all", s->name, file, what, all);
}

bool search_reads_all(const struct search *x)
{
	return x->q.has_no_index || x->q.is_fresh || x->q.is_classic || x->watched;
}

/* Lines that are no rows would be missing silently: they are counted and said. */
static void check_rows(struct search *x, struct source *s, const char *file, size_t most)
{
	size_t lines, unreadable;

	if (rows_check(x->sys, s->state_fd, file, most, &lines, &unreadable, NULL) == OK && unreadable)
		warn_rows(x, s, file, unreadable);
}

static void read_rows(struct search *x, struct source *s, enum area area)
{
	struct rows r = { .x = x,
		.s = s,
		.file = area == AREA_TASKS ? TASK_LEDGER : COMMAND_LOG,
		.is_task = area == AREA_TASKS,
		.is_latest = x->q.latest_tasks };
	/* Rows of one task are looked for by its name, which is quick; others are parsed. */
	const size_t most = search_reads_all(x) || x->q.task_id ? 0 : WINDOW_ROWS + 1;
	struct err e = { 0 };

	if (r.is_task && x->is_timeline)
		r.count = tell_tasks(x, s, most, &e);
	else
		(void)rows_back(x->sys, NULL, s->state_fd, r.file, most, x->q.task_id, see_row, &r, &e);
	if (e.rc)
		search_warn(x, "%s: %s was not read to its end: %s", s->name, r.file, e.text);
	if (has_enough(&r))
		return;
	check_rows(x, s, r.file, most ? most : SIZE_MAX);
	if (most && r.count >= most)
		warn_partial(x, s, r.file,
			arena_printf(
				&x->scratch, "the newest %s rows", text_thousands(&x->scratch, WINDOW_ROWS)),
			"--no-index");
}

void area_rows(struct search *x, struct source *s)
{
	if (s->state_fd < 0)
		return;
	if (search_wants(x, AREA_TASKS))
		read_rows(x, s, AREA_TASKS);
	if (search_wants(x, AREA_COMMANDS))
		read_rows(x, s, AREA_COMMANDS);
}

/* ---- checkpoints ---- */

static void offer_checkpoint(struct search *x, const struct source *s, const struct json *given)
{
	static const char *const members[] = { "checkpoint_id", "label", "paths", "archive", NULL };
	struct arena *a = &x->scratch;
	struct item i = { .from = s, .area = AREA_CHECKPOINTS, .kind = "checkpoint" };
	struct json *row = json_copy(a, given);
	struct buf paths;

	privacy_redact_json(a, row);
	take_text(a, row, &i);
	buf_init(&paths, a);
	json_each (path, json_get(row, "paths"))
		if (json_text(path))
			buf_addf(&paths, "%s%s", paths.n ? ", " : "", json_text(path));
	i.title = said(row, "checkpoint_id") ? said(row, "checkpoint_id") : "checkpoint";
	i.excerpt = arena_printf(a, "label=%s paths=%s", json_get_text(row, "label", ""), paths.p);
	set_time(&i, said(row, "created_at"));
	i.meta = json_new(a, JSON_OBJECT);
	copy_members(a, i.meta, row, members);
	search_offer(x, &i);
}

void area_checkpoints(struct search *x, struct source *s)
{
	struct json *list = NULL;
	struct err e = { 0 };

	if (s->state_fd < 0 || !search_wants(x, AREA_CHECKPOINTS))
		return;
	int rc = doc_read(x->sys, x->a, s->state_fd, "checkpoints/index.json", 64 << 20, 0, &list, &e);
	if (rc && rc != E_MISSING)
		search_warn(x, "%s: the checkpoints were not searched: %s", s->name, e.text);
	else if (rc == OK && !json_is(list, JSON_ARRAY))
		search_warn(x, "%s: the checkpoints were not searched: checkpoints/index.json is no list",
			s->name);
	json_each (row, list) {
		if (json_is(row, JSON_OBJECT))
			offer_checkpoint(x, s, row);
		else
			search_warn(x, "%s: an entry of checkpoints/index.json is no object", s->name);
		arena_reset(&x->scratch);
	}
}

/* day.c — the last 24 hours, or the time since a moment, for whoever comes back and wants to know on one page what agents did alone.
 *
 * Read from the ledgers themselves, newest row first, and not from the index: a day is short, whatever lies before it. Commits come
 * from git's own log of the work tree, which is no part of the record and which an agent can write; whoever shows them says so. */
#include "actions/actions_internal.h"
#include "base/file.h"
#include "base/text.h"

#include <string.h>

enum { LISTED = 20, PATHS = 1000, GIT_LOG = 8 << 20 };

struct day {
	const struct actions_place *o;
	struct arena *a;
	int64_t since_us;
	struct json *doc, *clients, *undo, *left, *walls, *changed, *deleted, *seen;
	struct json *admitted, *refused; /* {"host:port": {connections, ...}} */
	int64_t calls, read, allowed, asked, denied, undo_n, left_n, walls_n;
	char first[48], last[48]; /* times */
};

static bool is_older(struct day *d, const struct json *row, const char *name)
{
	const char *at = json_get_text(row, name, "");
	int64_t us;

	return (text_parse_time(at, strlen(at), &us) && us < d->since_us);
}

static void count(struct arena *a, struct json *doc, const char *name, int64_t n)
{
	json_seti(a, doc, json_get(doc, name) ? name : arena_strdup(a, name), json_get_int(doc, name, 0) + n);
}

/* Some members of a row; NULL when the list is full. */
static struct json *list(struct day *d, struct json *to, const struct json *row, const char *const *names)
{
	struct json *one = json_new(d->a, JSON_OBJECT);

	if (to->n >= LISTED)
		return NULL;
	for (; *names; names++)
		if (json_get(row, *names))
			json_set(d->a, one, *names, json_copy(d->a, json_get(row, *names)));
	json_push(d->a, to, one);
	return one;
}

/* ---- calls ---- */

static void note_verdict(struct day *d, const struct json *row)
{
	static const char *const undo[] = { "at", "preview", "checkpoint_id", NULL },
				 *const left[] = { "at", "preview", "rule", "decision_id", NULL };
	const char *verdict = json_get_text(row, "verdict", "");
	bool is_allowed = text_eq(verdict, "ALLOW");

	d->calls++;
	snprintf(d->first, sizeof(d->first), "%s", json_get_text(row, "at", ""));
	if (d->calls == 1)
		memcpy(d->last, d->first, sizeof(d->last));
	count(d->a, d->clients, json_get_text(row, "client", ""), 1);
	++*(!is_allowed ? text_eq(verdict, "ESCALATE") ? &d->asked : &d->denied
			: json_get_text(row, "decision_id", NULL) ? &d->allowed
								  : &d->read);
	if (is_allowed && json_get_text(row, "checkpoint_id", NULL)) {
		d->undo_n++;
		(void)list(d, d->undo, row, undo);
	}
	/* What a person permitted runs as the client runs it; in a session the supervisor carries it out, and has a row of its own. */
	if (is_allowed && text_eq(json_get_text(row, "settled_by", ""), "grant") &&
		!json_get(row, "containment") && !json_get(row, "agent_task")) {
		d->left_n++;
		(void)list(d, d->left, row, left);
	}
}

static void note_paths(struct day *d, struct json *to, const struct json *paths)
{
	json_each (path, paths)
		if (to->n < PATHS && json_text(path) && !json_get(to, json_text(path)))
			json_setb(d->a, to, arena_strdup(d->a, json_text(path)), true);
}

static void note_wall(struct day *d, const struct json *row)
{
	static const char *const said[] = { "at", "refused_by_wall", NULL };

	if (!json_get_text(row, "refused_by_wall", NULL))
		return;
	d->walls_n++;
	(void)list(d, d->walls, row, said);
}

static int note_call(void *arg, struct json *row)
{
	struct day *d = arg;

	if (is_older(d, row, "at"))
		return 1;
	if (json_get_bool(row, "self_test", false))
		return 0;
	if (json_get_text(row, "verdict", NULL))
		note_verdict(d, row);
	if (!json_get_text(row, "outcome", NULL))
		return 0;
	note_paths(d, d->changed, json_get(row, "changed_files"));
	note_paths(d, d->deleted, json_get(row, "deleted_files"));
	note_wall(d, row);
	return 0;
}

/* ---- runs ---- */

/* The last row of a run says all of it.  Others have a task above them, too: steps of loops, evidence, gates. */
static int note_task(void *arg, struct json *row)
{
	static const char *const left[] = { "command_preview", "profile", "exit_code", "decision_id", NULL };
	struct day *d = arg;
	const char *id = json_get_text(row, "task_id", NULL), *end = json_get_text(row, "finished_at", NULL);

	if (is_older(d, row, end ? "finished_at" : "started_at"))
		return 1;
	if (!id || !end)
		return 0;
	note_wall(d, row);
	if (!text_eq(json_get_text(row, "task_name", ""), TASK_OUTSIDE) || d->seen->n >= PATHS ||
		json_get(d->seen, id))
		return 0;
	json_setb(d->a, d->seen, arena_strdup(d->a, id), true);
	d->left_n++;
	struct json *one = list(d, d->left, row, left), *words = json_get(row, "command");
	if (one) {
		json_sets(d->a, one, "at", end);
		json_sets(
			d->a, one, "preview", words && words->n ? json_text(words->items[words->n - 1]) : "");
	}
	return 0;
}

/* ---- the door ---- */

static int note_connection(void *arg, struct json *row)
{
	struct day *d = arg;
	bool is_in = text_eq(json_get_text(row, "verdict", ""), "admitted");
	struct json *to = is_in ? d->admitted : d->refused, *one;

	if (is_older(d, row, "at"))
		return 1;
	const char *name = arena_printf(
		d->a, "%s:%lld", json_get_text(row, "host", ""), (long long)json_get_int(row, "port", 0));
	one = json_get(to, name);
	if (!one && to->n >= PATHS)
		return 0;
	if (!one)
		json_set(d->a, to, name, one = json_new(d->a, JSON_OBJECT));
	count(d->a, one, "connections", 1);
	count(d->a, one, "bytes_out", json_get_int(row, "bytes_out", 0));
	count(d->a, one, "bytes_in", json_get_int(row, "bytes_in", 0));
	return 0;
}

/* ---- commits ---- */

/* "<old> <new> Name <mail> SECONDS ZONE\tcommit: subject".  False: it is older than the day, and so is what stands before it. */
static bool note_commit(struct day *d, struct bytes line, struct json *shown, int64_t *ret_count)
{
	const char *text = arena_strndup(d->a, (const char *)line.p, line.n), *tab = strchr(text, '\t'),
		   *id = strchr(text, ' '), *colon = tab ? strstr(tab, ": ") : NULL, *at = tab;
	int64_t seconds = 0;

	while (at && at > text && *at != '>')
		at--;
	for (at = at && *at == '>' ? at + 2 : ""; *at >= '0' && *at <= '9' && seconds < INT64_C(1) << 40;
		at++)
		seconds = seconds * 10 + (*at - '0');
	if (seconds && seconds * 1000000 < d->since_us)
		return false;
	if (!seconds || !colon || !text_starts(tab + 1, "commit") || tab - id < 42)
		return true;
	++*ret_count;
	if (shown->n < LISTED) {
		struct json *one = json_new(d->a, JSON_OBJECT);
		json_sets(d->a, one, "at", text_time_iso(d->a, seconds * 1000000));
		json_sets(d->a, one, "commit", arena_strndup(d->a, id + 1, 12));
		json_sets(d->a, one, "subject", colon + 2);
		json_push(d->a, shown, one);
	}
	return true;
}

/* The newest line is the last one.  Best effort: what cannot be read has no commits. */
static void note_commits(struct day *d)
{
	struct json *shown = json_new(d->a, JSON_ARRAY);
	struct bytes text = { 0 };
	int64_t n = 0;

	(void)!file_read(
		d->o->sys, d->a, d->o->root_fd, ".git/logs/HEAD", GIT_LOG, FILE_BENEATH, &text, NULL);
	while (text.n) {
		size_t end = text.n - (text.p[text.n - 1] == '\n'), start = end;
		while (start && text.p[start - 1] != '\n')
			start--;
		if (!note_commit(d, (struct bytes){ text.p + start, end - start }, shown, &n))
			break;
		text.n = start;
	}
	json_set(d->a, d->doc, "commits", shown);
	json_seti(d->a, d->doc, "commit_count", n);
}

/* ---- all of it ---- */

static void put_day(struct day *d)
{
	const struct {
		const char *name;
		int64_t n;
	} numbers[] = { { "calls", d->calls }, { "only_read", d->read }, { "allowed", d->allowed },
		{ "asked", d->asked }, { "refused", d->denied }, { "undo_count", d->undo_n },
		{ "left_count", d->left_n }, { "wall_count", d->walls_n } };
	const struct {
		const char *name;
		struct json *doc;
	} parts[] = { { "clients", d->clients }, { "undo", d->undo }, { "left", d->left },
		{ "walls", d->walls }, { "changed_files", d->changed }, { "deleted_files", d->deleted } };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_seti(d->a, d->doc, numbers[i].name, numbers[i].n);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		json_set(d->a, d->doc, parts[i].name, parts[i].doc);
	struct json *door = json_new(d->a, JSON_OBJECT);
	json_set(d->a, door, "admitted", d->admitted);
	json_set(d->a, door, "refused", d->refused);
	json_set(d->a, d->doc, "door", door);
	json_sets(d->a, d->doc, "first_at", d->calls ? d->first : NULL);
	json_sets(d->a, d->doc, "last_at", d->calls ? d->last : NULL);
	json_setb(d->a, d->doc, "is_partial", false); /* earlier versions read at most 5,000 rows */
}

int actions_day(const struct actions_place *o, int64_t since_us, struct json **ret, struct err *e)
{
	static const struct {
		const char *ledger;
		row_back *fn;
	} ledgers[] = { { TOOL_CALLS, note_call }, { TASK_LEDGER, note_task },
		{ EGRESS_LOG, note_connection } };
	struct arena *a = o->a;
	struct day d = { .o = o, .a = a, .since_us = since_us };
	struct json **objects[] = { &d.doc, &d.clients, &d.changed, &d.deleted, &d.seen, &d.admitted,
		&d.refused },
		    **arrays[] = { &d.undo, &d.left, &d.walls };

	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		*objects[i] = json_new(a, JSON_OBJECT);
	for (size_t i = 0; i < ARRAY_SIZE(arrays); i++)
		*arrays[i] = json_new(a, JSON_ARRAY);
	json_sets(a, d.doc, "since", text_time_iso(a, d.since_us));
	for (size_t i = 0; i < ARRAY_SIZE(ledgers); i++) {
		int rc = rows_back(
			o->sys, NULL, o->state_fd, ledgers[i].ledger, 0, NULL, ledgers[i].fn, &d, e);
		if (rc < 0 && rc != E_MISSING)
			return rc;
	}
	note_commits(&d);
	put_day(&d);
	*ret = d.doc;
	return OK;
}

/* groups.c — what happened in a period as a few rows with true counts: for an operator in the morning.
 *
 * Every ledger is read once, from its newest row back to the beginning of the period, and the chain for what came over the network.  What is
 * kept is one entry per group, however many rows there are: when there are more groups than have room, the rest is counted together.
 * What would help stands in the rows themselves: it is what was said when the thing was refused. */
#include "actions/actions_internal.h"
#include "base/text.h"
#include "model/reason.h"

#include <stdlib.h>
#include <string.h>

/* GROUPS and FILES bound what is kept; SEEN, how many tasks and calls are told apart.  OLDER: rows in a row that are too old end a walk, so
 * that a clock that was put back does not. */
enum {
	GROUPS = 500,
	FILES = 5000,
	SEEN = 20000,
	OLDER = 200,
	KEY_MOST = 160,
	EXAMPLE_MOST = 400,
	UNDO_LISTED = 20
};

struct group {
	const char *key, *state, *why, *example, *remedy;
	int64_t count, first_us, last_us;
};

/* Open addressing over a fixed number of places: nothing moves, and nothing grows. */
struct groups {
	struct group *list, rest; /* rest: what found no room */
	uint32_t *places;
	size_t n, most, place_count;
};

enum by { BY_FAILURE, BY_RULE, BY_SESSION, BY_FILE, BY_COUNT };
static const char *const by_names[] = { "failure", "rule", "session", "file" };
TABLE_COVERS(by_names, BY_COUNT);

struct gathering {
	const struct actions_place *o;
	struct arena *a;
	int64_t since_us;
	struct groups by[BY_COUNT];
	struct groups tasks; /* that were met: only the newest row of each counts */
	struct groups ended; /* calls whose outcome was met, which stands behind them: key tool_use_id */
	struct json *undo_rows;
	int64_t older, runs, runs_failed, stopped, asked, changed, deleted, undo;
};

/* What one row adds to a group. */
struct fact {
	const char *key, *state, *why, *example, *remedy;
	int64_t at_us;
};

static void groups_init(struct groups *g, struct arena *a, size_t most)
{
	*g = (struct groups){ .most = most, .place_count = 2 * most + 1 };
	g->list = arena_zalloc(a, most, sizeof(*g->list));
	g->places = arena_zalloc(a, g->place_count, sizeof(*g->places));
}

static uint32_t *place_of(const struct groups *g, const char *key)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (const char *p = key; *p; p++)
		h = (h ^ (unsigned char)*p) * UINT64_C(1099511628211);
	size_t i = h % g->place_count;
	while (g->places[i] && !text_eq(g->list[g->places[i] - 1].key, key))
		i = (i + 1) % g->place_count;
	return &g->places[i];
}

static struct group *find(const struct groups *g, const char *key)
{
	uint32_t at = *place_of(g, key);

	return at ? &g->list[at - 1] : NULL;
}

static const char *keep(struct arena *a, const char *text, size_t most)
{
	size_t n = text ? strlen(text) : 0;

	if (!text || !n)
		return NULL;
	/* Whole characters. */
	while (n > most || (n && ((unsigned char)text[n] & 0xC0) == 0x80))
		n--;
	return arena_strndup(a, text, n);
}

/* Rows come the newest first: the first one of a group is its example. */
static struct group *add(struct arena *a, struct groups *g, const struct fact *f)
{
	char key[KEY_MOST + 1];

	snprintf(key, sizeof(key), "%s", f->key);
	uint32_t *place = place_of(g, key);
	struct group *one = *place ? &g->list[*place - 1] : g->n < g->most ? &g->list[g->n] : &g->rest;

	if (!*place && one != &g->rest) {
		*place = (uint32_t)++g->n;
		*one = (struct group){ .key = keep(a, key, KEY_MOST),
			.state = f->state,
			.why = keep(a, f->why, EXAMPLE_MOST),
			.example = keep(a, f->example, EXAMPLE_MOST),
			.remedy = keep(a, f->remedy, EXAMPLE_MOST) };
	}
	if (!one->remedy && one != &g->rest)
		one->remedy = keep(a, f->remedy, EXAMPLE_MOST);
	one->last_us = one->count && one->last_us > f->at_us ? one->last_us : f->at_us;
	one->first_us = one->count && one->first_us < f->at_us ? one->first_us : f->at_us;
	one->count++;
	return one;
}

/* True once for each key; also when there is no more room to remember it. */
static bool is_new(struct arena *a, struct groups *seen, const char *key)
{
	return add(a, seen, &(struct fact){ .key = key })->count == 1 || seen->n == seen->most;
}

static bool time_of(const struct json *row, const char *name, int64_t *ret_us)
{
	const char *at = json_get_text(row, name, "");

	return text_parse_time(at, strlen(at), ret_us);
}

/* Is the walk over? */
static bool is_over(struct gathering *g, int64_t us)
{
	g->older = us < g->since_us ? g->older + 1 : 0;
	return g->older > OLDER;
}

/* ---- words ---- */

/* "git push", "npm test", "rm": a program, and its verb where the second word is a plain one. */
static const char *command_words(struct arena *a, const char *text)
{
	size_t n = strcspn(text, " \t\n"), from = n + strspn(text + n, " "),
	       m = strcspn(text + from, " \t\n;|&");
	const char *base = text;

	for (size_t i = 0; i < n; i++)
		if (text[i] == '/' && i + 1 < n)
			base = text + i + 1;
	n -= (size_t)(base - text);
	if (m < 2 || m > 20 || strspn(text + from, "abcdefghijklmnopqrstuvwxyz-") < m || text[from] == '-')
		return arena_strndup(a, base, n < 40 ? n : 40);
	return arena_printf(a, "%.*s %.*s", (int)(n < 40 ? n : 40), base, (int)m, text + from);
}

/* The first of what was said, without the rest. */
static const char *first_clause(struct arena *a, const char *text)
{
	const char *end = text ? strstr(text, "; ") : NULL;

	return text ? arena_strndup(a, text, end ? (size_t)(end - text) : strlen(text)) : NULL;
}

/* What stopped in all tables that are about that. */
static void add_stopped(struct gathering *g, struct arena *scratch, const struct fact *f, const char *rule,
	const char *session)
{
	/* What failed is the same when the whole command is. */
	const char *what = text_eq(f->state, "failed") ? f->example
						       : command_words(scratch, f->example ? f->example : "");
	struct fact one = *f;

	one.key = arena_printf(scratch, "%s %s: %s", f->state, what, rule ? rule : f->why ? f->why : "");
	(void)add(g->a, &g->by[BY_FAILURE], &one);
	if (rule) {
		one.key = rule;
		(void)add(g->a, &g->by[BY_RULE], &one);
	}
	/* A session's example is what it was stopped at last. */
	struct group *s = session ? find(&g->by[BY_SESSION], session) : NULL;
	if (s && !s->why) {
		s->why = arena_printf(g->a, "%s: %s", f->state,
			keep(scratch, f->example && *f->example ? f->example : "-", 80));
		s->remedy = arena_printf(g->a, "helm report --session %s", s->key);
	}
}

/* ---- what agents called ---- */

static void add_files(struct gathering *g, const struct json *paths, int64_t *count, const char *state,
	const char *what, const char *undo, int64_t us)
{
	AUTO(arena_done) struct arena scratch = { 0 };

	json_each (path, paths)
		if (json_text(path)) {
			++*count;
			(void)add(g->a, &g->by[BY_FILE],
				&(struct fact){ json_text(path), state, NULL, what,
					undo ? arena_printf(&scratch, "helm checkpoint restore %s --only %s",
						       undo, json_text(path))
					     : NULL,
					us });
		}
}

/* What was saved before something ran, the newest first. */
static void add_undo(struct gathering *g, const char *checkpoint, const char *what, int64_t us)
{
	if (!checkpoint || g->undo++ >= UNDO_LISTED)
		return;
	struct json *row = json_new(g->a, JSON_OBJECT);
	json_sets(g->a, row, "at", text_time_iso(g->a, us));
	json_sets(g->a, row, "checkpoint_id", arena_strdup(g->a, checkpoint));
	json_sets(g->a, row, "preview", keep(g->a, what, EXAMPLE_MOST));
	json_push(g->a, g->undo_rows, row);
}

/* The note that a call was made comes before the call, going back: what it says waits for it. */
static int take_outcome(struct gathering *g, const struct json *row, int64_t us)
{
	const char *use = json_get_text(row, "tool_use_id", NULL),
		   *wall = json_get_text(row, "refused_by_wall", NULL);
	int64_t code = 0;

	add_files(g, json_get(row, "changed_files"), &g->changed, "changed", NULL, NULL, us);
	add_files(g, json_get(row, "deleted_files"), &g->deleted, "deleted", NULL, NULL, us);
	if (!use || (!wall && (!json_int(json_get(row, "exit_code"), &code) || !code)))
		return 0;
	struct group *one = add(g->a, &g->ended, &(struct fact){ .key = use, .why = wall, .at_us = us });
	one->count = code;
	return 0;
}

static void take_call(struct gathering *g, const struct json *row, int64_t us)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	const char *verdict = json_get_text(row, "verdict", ""), *use = json_get_text(row, "tool_use_id", ""),
		   *session = json_get_text(row, "session", NULL),
		   *id = json_get_text(row, "approval_id", NULL), *rule = json_get_text(row, "rule", NULL);
	const struct group *end = *use ? find(&g->ended, use) : NULL;
	struct fact f = { .example = json_get_text(row, "preview", ""), .at_us = us };

	if (session)
		(void)add(g->a, &g->by[BY_SESSION],
			&(struct fact){ session, NULL, NULL, json_get_text(row, "client", NULL), NULL, us });
	if (text_eq(verdict, "ALLOW"))
		add_undo(g, json_get_text(row, "checkpoint_id", NULL), f.example, us);
	if (!text_eq(verdict, "ALLOW")) {
		bool is_asked = text_eq(verdict, "ESCALATE");
		++*(is_asked ? &g->asked : &g->stopped);
		f.state = is_asked ? "asked" : "denied";
		f.why = json_get_text(row, "why", NULL);
		f.remedy = is_asked && id ? arena_printf(&scratch, "helm approval show %s", id)
					  : json_get_text(row, "remedy", NULL);
		add_stopped(g, &scratch, &f, rule ? rule : "policy", session);
		return;
	}
	if (!end)
		return;
	f.state = end->why ? "stopped" : "failed";
	f.why = end->why ? first_clause(&scratch, end->why)
			 : arena_printf(&scratch, "exit %lld", (long long)end->count);
	f.remedy = end->why && strstr(end->why, "; ") ? strstr(end->why, "; ") + 2 : NULL;
	++*(end->why ? &g->stopped : &g->runs_failed);
	add_stopped(g, &scratch, &f, NULL, session);
}

static int walk_call(void *arg, struct json *row)
{
	struct gathering *g = arg;
	int64_t us;

	if (!time_of(row, "at", &us) || json_get_bool(row, "self_test", false))
		return 0;
	if (us < g->since_us || is_over(g, us))
		return is_over(g, us);
	if (json_get_text(row, "verdict", NULL))
		take_call(g, row, us);
	return json_get_text(row, "outcome", NULL) ? take_outcome(g, row, us) : 0;
}

/* ---- runs ---- */

static void take_failed_run(struct gathering *g, const struct json *row, const char *status, int64_t us)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	const struct json *guard = json_get(row, "guard"), *signature = json_get(row, "failure_signature");
	const char *wall = json_get_text(row, "refused_by_wall", NULL), *rule = NULL,
		   *id = json_get_text(json_get(row, "runtime_pause"), "approval_id", NULL),
		   *class = json_get_text(signature, "error_class", NULL);
	bool is_stopped = text_starts(status, "blocked");
	int64_t code = 0;
	struct fact f = { .example = json_get_text(row, "command_preview", ""),
		.remedy = json_get_text(row, "remedy", NULL),
		.at_us = us };

	(void)json_int(json_get(row, "exit_code"), &code);
	if (is_stopped) {
		++*(id ? &g->asked : &g->stopped);
		f.state = id ? "asked" : "denied";
		f.remedy = id ? arena_printf(&scratch, "helm approval show %s", id) : f.remedy;
		f.why = first_clause(&scratch, json_get_text(row, "failure_reason", NULL));
		rule = json_get_text(guard, "detail_code", json_get_text(row, "failure_stage", "guard"));
	} else {
		++*(wall ? &g->stopped : &g->runs_failed);
		f.state = wall ? "stopped" : "failed";
		f.why = wall			     ? first_clause(&scratch, wall)
			: text_eq(status, "timeout") ? "the time limit ran out"
			: class && !text_eq(class, "exit_nonzero")
			? arena_printf(&scratch, "%s, exit %lld", class, (long long)code)
			: arena_printf(&scratch, "exit %lld", (long long)code);
	}
	add_stopped(g, &scratch, &f, rule, NULL);
}

/* Only the newest row of a task that has ended counts. */
static int walk_task(void *arg, struct json *row)
{
	struct gathering *g = arg;
	const char *id = json_get_text(row, "task_id", NULL), *status = json_get_text(row, "status", ""),
		   *point = json_get_text(row, "checkpoint_id", NULL);
	int64_t us;

	if (!time_of(row, "finished_at", &us) && !time_of(row, "started_at", &us))
		return 0;
	if (us < g->since_us || is_over(g, us))
		return is_over(g, us);
	if (!id || !json_get_text(row, "finished_at", NULL) || !json_get_text(row, "command_preview", NULL) ||
		!is_new(g->a, &g->tasks, id))
		return 0;
	g->runs++;
	if (!text_starts(status, "blocked"))
		add_undo(g, point, json_get_text(row, "command_preview", ""), us);
	add_files(g, json_get(row, "touched_paths"), &g->changed, "changed",
		json_get_text(row, "command_preview", NULL), point, us);
	add_files(g, json_get(row, "deleted_paths"), &g->deleted, "deleted",
		json_get_text(row, "command_preview", NULL), point, us);
	if (text_eq(status, "failed") || text_eq(status, "timeout") || text_starts(status, "blocked"))
		take_failed_run(g, row, status, us);
	return 0;
}

/* ---- the egress proxy, and what came over the network ---- */

static int walk_connection(void *arg, struct json *row)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct gathering *g = arg;
	const char *host = json_get_text(row, "host", "");
	int64_t us;

	if (!time_of(row, "at", &us))
		return 0;
	if (us < g->since_us || is_over(g, us))
		return is_over(g, us);
	if (text_eq(json_get_text(row, "verdict", ""), "admitted"))
		return 0;
	struct fact f = { "", "refused", "the profile has no way there but the egress proxy",
		arena_printf(
			&scratch, "connection to %s:%lld", host, (long long)json_get_int(row, "port", 0)),
		arena_printf(&scratch, "to open it: helm allow host %s", host), us };
	f.key = f.example;
	(void)add(g->a, &g->by[BY_FAILURE], &f);
	return 0;
}

/* Runs and calls of agent clients have rows of their own, which say more. */
static int walk_receipt(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct gathering *g = arg;
	const struct json *about = json_get(receipt, "metadata");
	const char *verdict = json_get_text(receipt, "verdict", ""),
		   *door = json_get_text(about, "door", NULL);
	int64_t us;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!time_of(receipt, "timestamp", &us))
		return 0;
	if (us < g->since_us || is_over(g, us))
		return is_over(g, us);
	bool is_asked = text_eq(verdict, "ESCALATE");
	if ((!is_asked && !text_eq(verdict, "DENY")) ||
		!text_eq(json_get_text(receipt, "type", ""), "decision") || !door ||
		text_starts(door, "hook/") || json_get_text(about, "task_id", NULL) ||
		json_get_bool(about, "self_test", false))
		return 0;
	const struct reason *reason = reason_find(json_get_text(receipt, "reason_code", ""));
	const char *tool = json_get_text(receipt, "tool_name", json_get_text(receipt, "effect_id", "")),
		   *rule = json_get_text(about, "rule", json_get_text(receipt, "reason_code", NULL));
	++*(is_asked ? &g->asked : &g->stopped);
	const struct fact f = { "", is_asked ? "asked" : "denied", reason ? reason->meaning : NULL, tool,
		is_asked	 ? "helm approval list"
			: reason ? reason->remedy
				 : NULL,
		us };
	add_stopped(g, &scratch, &f, rule, json_get_text(about, "session", NULL));
	return 0;
}

/* ---- the document ---- */

static int by_weight(const void *x, const void *y)
{
	const struct group *p = x, *q = y;

	if (p->count != q->count)
		return (p->count < q->count) - (p->count > q->count);
	if (p->last_us != q->last_us)
		return (p->last_us < q->last_us) - (p->last_us > q->last_us);
	return strcmp(p->key, q->key);
}

static bool is_refused(const struct group *one)
{
	return one->state && text_eq(one->state, "refused");
}

/* A refused connection is not told again beside the run that it stopped. */
static bool is_told(const struct groups *all, const struct group *one)
{
	const char *host = one->remedy && is_refused(one) ? strrchr(one->remedy, ' ') : NULL;

	for (size_t i = 0; host && i < all->n; i++) {
		const struct group *other = &all->list[i];
		if (!is_refused(other) &&
			((other->why && strstr(other->why, host + 1)) ||
				(other->example && strstr(other->example, host + 1))))
			return true;
	}
	return false;
}

static struct json *group_json(struct arena *a, const struct group *one)
{
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "key", one->key);
	json_seti(a, row, "count", one->count);
	json_sets(a, row, "first_at", text_time_iso(a, one->first_us));
	json_sets(a, row, "last_at", text_time_iso(a, one->last_us));
	json_sets(a, row, "example", one->example);
	json_sets(a, row, "remedy", one->remedy);
	json_sets(a, row, "state", one->state);
	json_sets(a, row, "why", one->why);
	return row;
}

static struct json *rows_json(struct arena *a, struct groups *all, int64_t *ret_of)
{
	struct json *rows = json_new(a, JSON_ARRAY);

	if (all->n)
		qsort(all->list, all->n, sizeof(*all->list), by_weight);
	*ret_of = 0;
	for (size_t i = 0; i < all->n; i++)
		if (!is_told(all, &all->list[i])) {
			json_push(a, rows, group_json(a, &all->list[i]));
			*ret_of += all->list[i].count;
		}
	if (all->rest.count) {
		all->rest.key = "others";
		json_push(a, rows, group_json(a, &all->rest));
		*ret_of += all->rest.count;
	}
	return rows;
}

/* Refused connections that no run or call tells about. */
static int64_t connections_of(const struct groups *all)
{
	int64_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += is_refused(&all->list[i]) && !is_told(all, &all->list[i]) ? all->list[i].count : 0;
	return n;
}

static void put_numbers(struct gathering *g, struct json *doc)
{
	const struct {
		const char *name;
		int64_t n;
	} numbers[] = { { "runs", g->runs }, { "failed", g->runs_failed }, { "stopped", g->stopped },
		{ "asked", g->asked }, { "connections", connections_of(&g->by[BY_FAILURE]) },
		{ "files", (int64_t)g->by[BY_FILE].n }, { "changes", g->changed },
		{ "deletions", g->deleted }, { "undo", g->undo } };
	struct json *totals = json_new(g->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_seti(g->a, totals, numbers[i].name, numbers[i].n);
	json_set(g->a, doc, "totals", totals);
}

static int gather(struct gathering *g, struct err *e)
{
	static const struct {
		const char *ledger;
		row_back *fn;
	} ledgers[] = { { TOOL_CALLS, walk_call }, { TASK_LEDGER, walk_task },
		{ EGRESS_LOG, walk_connection } };
	const struct receipts_wanted all = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(ledgers); i++) {
		g->older = 0;
		int rc = rows_back(
			g->o->sys, NULL, g->o->state_fd, ledgers[i].ledger, 0, NULL, ledgers[i].fn, g, e);
		if (rc < 0 && rc != E_MISSING)
			return rc;
	}
	g->older = 0;
	int rc = receipts_back(g->o->sys, g->o->state_fd, &all, walk_receipt, g, e);
	return rc == E_MISSING ? OK : rc;
}

int actions_groups(
	const struct actions_place *o, const char *by, int64_t since_us, struct json **ret, struct err *e)
{
	struct arena *a = o->a;
	struct gathering g = { .o = o, .a = a, .since_us = since_us, .undo_rows = json_new(a, JSON_ARRAY) };
	struct json *doc = json_new(a, JSON_OBJECT);
	enum by chosen = BY_FAILURE;
	int64_t of;

	for (size_t i = 0; i < ARRAY_SIZE(by_names); i++)
		chosen = by && text_eq(by, by_names[i]) ? (enum by)i : chosen;
	for (size_t i = 0; i < BY_COUNT; i++)
		groups_init(&g.by[i], a, i == BY_FILE ? FILES : GROUPS);
	groups_init(&g.tasks, a, SEEN);
	groups_init(&g.ended, a, SEEN);
	int rc = gather(&g, e);
	if (rc)
		return rc;
	json_sets(a, doc, "by", by_names[chosen]);
	json_sets(a, doc, "since", text_time_iso(a, since_us));
	put_numbers(&g, doc);
	json_set(a, doc, "rows", rows_json(a, &g.by[chosen], &of));
	json_seti(a, doc, "of", of);
	json_set(a, doc, "undo", g.undo_rows);
	if (chosen != BY_FILE)
		json_set(a, doc, "files", rows_json(a, &g.by[BY_FILE], &of));
	*ret = doc;
	return OK;
}

/* ---- lists of a report, of a period ---- */

static bool is_since(const struct json *row, int64_t since_us)
{
	static const char *const names[] = { "at", "last_at", "finished_at", "created_at", "timestamp",
		"updated_at", "started_at" };
	int64_t us;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (time_of(row, names[i], &us))
			return us >= since_us;
	return true;
}

void actions_report_since(struct arena *a, struct json *report, int64_t since_us)
{
	json_sets(a, report, "since", text_time_iso(a, since_us));
	json_each_member (m, json_get(report, "lists")) {
		struct json *rows = json_get(report, m->name);
		uint32_t kept = 0, were = rows ? rows->n : 0;
		for (uint32_t i = 0; i < were; i++)
			if (is_since(rows->items[i], since_us))
				rows->items[kept++] = rows->items[i];
		if (rows)
			rows->n = kept;
		json_seti(a, m->value, "shown", kept);
		if (kept < were) /* the oldest that were looked at are older than that: these are all */
			json_seti(a, m->value, "of", kept);
	}
}

/* report.c — what happened, as a document and as Markdown. page.c makes an HTML page of the same document.
 *
 * Numbers are about everything; lists show the newest rows, and `lists` says of each how many there are.
 * Both come from the index. Where it could not be used, `note` says why, and `complete` whether a part of the
 * ledgers was left out, so a number in a report is never silently too small. */
#include "actions/actions_internal.h"
#include "actions/figures.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* A report is one document in memory: of longer lists `helm task list --limit 0` and `helm log sessions --limit 0`
 * show everything. */
enum { MOST = 1000, MAX_ACTIVE = 10000, REMEMBERED = 10 };

/* What is being gathered. */
struct reporting {
	const struct actions_place *o;
	struct index *x;
	struct json *doc;
	size_t limit;
	struct action_index *actions;
};

/* Numbers of the whole chain, or of its newest part: `total` says of how many receipts. */
static int put_receipts(struct reporting *r, struct err *e)
{
	uint64_t total = 0;
	static const char *const names[][2] = { { "count", "receipts" }, { "allowed", "allowed" },
		{ "denied", "denied" }, { "asked", "asked" }, { "outcomes", "outcomes" },
		{ "self_tests", "self_tests" } };
	struct arena *a = r->o->a;
	struct json *doc = json_new(a, JSON_OBJECT);
	const char *last;
	int rc = OK;

	for (size_t i = 0; i < ARRAY_SIZE(names) && rc == OK; i++) {
		int64_t n;
		rc = index_count(r->x, names[i][1], &n, e);
		json_seti(a, doc, names[i][0], n);
	}
	if (rc == OK)
		rc = index_last_receipt(r->x, &last, e);
	if (rc == OK)
		json_sets(a, doc, "last_at", last);
	(void)!log_leaf_count(r->o->sys, r->o->state_fd, &total, NULL);
	const int64_t count = json_get_int(doc, "count", 0);
	json_seti(a, doc, "total", index_is_whole(r->x) || (int64_t)total < count ? count : (int64_t)total);
	json_set(a, r->doc, "receipts", doc);
	return rc;
}

/* A list, newest first, and in `lists` how many there are in all. */
static void put_list(struct reporting *r, const char *name, struct json *shown, int64_t of)
{
	struct arena *a = r->o->a;
	struct json *about = json_new(a, JSON_OBJECT);

	json_set(a, r->doc, name, shown);
	json_seti(a, about, "shown", shown->n);
	json_seti(a, about, "of", of > shown->n ? of : shown->n);
	json_set(a, json_get(r->doc, "lists"), name, about);
}

/* How much of a list is shown, or NULL when all of it is. */
const char *actions_cut(struct arena *a, const struct json *report, const char *list)
{
	const struct json *about = json_get(json_get(report, "lists"), list);
	int64_t shown = json_get_int(about, "shown", 0), of = json_get_int(about, "of", 0);

	const char *rest = of <= MOST		      ? "all with --limit 0"
		: text_eq(list, "sessions")	      ? "all with: helm log sessions --limit 0"
		: text_eq(list, "recent_checkpoints") ? "all with: helm checkpoint list --limit 0"
		: text_ends(list, "tasks")	      ? "all with: helm task list --limit 0"
		: text_eq(list, "failed_commands")
		? "all with: helm context --failed-only --include commands --no-index"
		: "all with: helm receipts list --verdict DENY --limit 0, and ESCALATE";

	return text_shown_of(a, shown, of, rest);
}

/* Tasks in one of these states. */
static int put_states(
	struct reporting *r, const char *name, const char *const *states, size_t n, struct err *e)
{
	const struct task_filter f = { .states = states, .state_count = n };
	struct kept_rows kept = { r->o, json_new(r->o->a, JSON_ARRAY) };
	struct json *counts;
	int64_t of = 0;
	int rc = index_task_counts(r->x, &f, &counts, &of, e);

	if (rc == OK)
		rc = index_tasks(r->x, &f, r->limit, keep_row, &kept, e);
	if (rc == OK)
		put_list(r, name, kept.rows, of);
	return rc;
}

/* Open tasks by whether their run goes on. */
struct sorting {
	const struct reporting *r;
	struct json *running, *ended;
	int64_t running_count, ended_count;
};

static int sort_open(void *arg, struct json *row, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct sorting *s = arg;
	struct json *now = true_row(s->r->o, &scratch, row);
	bool is_running = now == row, is_ended = json_get_bool(now, "is_unclosed", false);
	struct json *to = is_running ? s->running : s->ended;

	(void)e;
	if (!is_running && !is_ended) /* it has got its last row since */
		return OK;
	++*(is_running ? &s->running_count : &s->ended_count);
	if (to->n < s->r->limit)
		json_push(s->r->o->a, to, json_copy(s->r->o->a, now));
	return OK;
}

/* A row that says "running" or "queued" is true only while its run lasts. */
static int put_open(struct reporting *r, struct err *e)
{
	struct arena *a = r->o->a;
	struct sorting s = { r, json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY), 0, 0 };
	int rc = index_tasks(r->x, &open_tasks, MAX_ACTIVE, sort_open, &s, e);

	put_list(r, "running_tasks", s.running, s.running_count);
	put_list(r, "ended_tasks", s.ended, s.ended_count);
	return rc;
}

/* One count per state, and a list for each state that a reader asks about. */
static int put_tasks(struct reporting *r, struct err *e)
{
	static const char *const failed[] = { "failed", "timeout" }, *const blocked[] = { "blocked" },
				 *const handoff[] = { "handoff_required" }, *const done[] = { "completed" };
	struct arena *a = r->o->a;
	struct kept_rows kept = { r->o, json_new(a, JSON_ARRAY) };
	struct json *counts = NULL;
	int64_t total = 0;
	int rc = true_counts(r->o, r->x, &counts, &total, e);

	if (rc == OK)
		rc = index_tasks(r->x, NULL, r->limit, keep_row, &kept, e);
	if (rc)
		return rc;
	json_seti(a, r->doc, "period_task_count", total);
	json_set(a, r->doc, "task_status_counts", counts);
	json_set(a, r->doc, "finalization_counts", figure_finalizations(a, kept.rows));
	put_list(r, "tasks", kept.rows, total);
	rc = put_states(r, "failed_tasks", failed, ARRAY_SIZE(failed), e);
	if (rc == OK)
		rc = put_states(r, "blocked_tasks", blocked, ARRAY_SIZE(blocked), e);
	if (rc == OK)
		rc = put_open(r, e);
	if (rc == OK)
		rc = put_states(r, "handoff_tasks", handoff, ARRAY_SIZE(handoff), e);
	return rc ? rc : put_states(r, "completed_tasks", done, ARRAY_SIZE(done), e);
}

static int put_commands(struct reporting *r, struct err *e)
{
	struct kept_rows kept = { r->o, json_new(r->o->a, JSON_ARRAY) };
	int64_t of = 0;
	int rc = index_count(r->x, "failed_commands", &of, e);

	if (rc == OK)
		rc = index_failed_commands(r->x, r->limit, keep_row, &kept, e);
	put_list(r, "failed_commands", kept.rows, of);
	return rc;
}

static int put_sessions(struct reporting *r, struct err *e)
{
	struct kept_rows kept = { r->o, json_new(r->o->a, JSON_ARRAY) };
	int64_t of = 0;
	int rc = index_count(r->x, "sessions", &of, e);

	if (rc == OK)
		rc = index_sessions(r->x, r->limit, keep_session, &kept, e);
	put_list(r, "sessions", kept.rows, of);
	return rc;
}

struct stopped {
	struct reporting *r;
	struct json *rows;
};

int action_of_call(struct action_index *x, const struct json *call, struct action **ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *id = json_get_text(call, "decision_id", NULL);

	return action_find(x,
		id ? id : arena_printf(&a, "call-%lld", (long long)json_get_int(call, "place", 0)), ret, e);
}

void put_action(struct arena *a, struct json *call, const struct action *action)
{
	const char *decision = json_get_text(call, "decision_id", NULL);

	json_sets(a, call, "receipt_id", decision ? arena_printf(a, "rcpt_%s", decision) : NULL);
	json_sets(a, call, "state", action ? action_state_name(action_state_of(action)) : NULL);
	json_sets(a, call, "became", action ? action_state_text(a, action) : NULL);
	json_sets(a, call, "sentence", action ? action->sentence : json_get_text(call, "preview", NULL));
	if (action && action->answered_by)
		json_sets(a, call, "answered_by", action->answered_by);
	(void)json_remove(call, "place");
}

static int keep_stopped(void *arg, struct json *row, struct err *e)
{
	struct stopped *s = arg;
	struct arena *a = s->r->o->a;
	struct json *call = json_copy(a, row);
	struct action *action;
	int rc = action_of_call(s->r->actions, row, &action, e);

	if (rc == OK)
		put_action(a, call, action);
	json_push(a, s->rows, call);
	return rc;
}

static int put_stopped(struct reporting *r, struct err *e)
{
	struct stopped s = { r, json_new(r->o->a, JSON_ARRAY) };
	int64_t of = 0;
	int rc = index_count(r->x, "stopped_calls", &of, e);

	if (rc == OK)
		rc = index_calls(r->x, NULL, r->limit, keep_stopped, &s, e);
	put_list(r, "stopped_calls", s.rows, of);
	return rc;
}

static int put_checkpoints(struct reporting *r, struct err *e)
{
	struct arena *a = r->o->a;
	struct json *all, *shown = json_new(a, JSON_ARRAY);
	int rc = actions_checkpoints(r->o, 0, &all, e);

	for (uint32_t i = rc ? 0 : all->n; i-- > 0 && shown->n < r->limit;)
		json_push(a, shown, all->items[i]);
	put_list(r, "recent_checkpoints", shown, rc ? 0 : all->n);
	if (rc == OK)
		return OK;
	/* The rest of the report is as good as before. */
	const char *note = json_get_text(r->doc, "note", NULL);
	json_setb(a, r->doc, "complete", false);
	json_sets(a, r->doc, "note",
		arena_printf(a, "%s%scheckpoints cannot be listed: %s", note ? note : "", note ? "; " : "",
			e->text));
	return OK;
}

/* Sources, what was remembered, and drafts; the newest first, as everything here. */
static int put_remembered(struct reporting *r, struct err *e)
{
	static const char *const files[][2] = { { "recent_memory_operations", FIGURE_OPERATIONS },
		{ "recent_crystallized_sessions", FIGURE_CRYSTALS } };
	struct arena *a = r->o->a;
	struct json *sources = figure_sources(r->o), *kinds = json_new(a, JSON_OBJECT), *drafts;

	(void)e;
	json_each (s, sources)
		figure_add(a, kinds, json_get_text(s, "kind", "unknown"));
	json_seti(a, r->doc, "context_source_count", sources->n);
	json_set(a, r->doc, "context_source_breakdown", kinds);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct json *rows = figure_tail(r->o, files[i][1], REMEMBERED);
		turn_round(rows);
		json_set(a, r->doc, files[i][0], rows);
	}
	drafts = figure_drafts(r->o, REMEMBERED);
	turn_round(drafts);
	json_set(a, r->doc, "draft_assessments", drafts);
	return OK;
}

int actions_day_states(struct action_index *x, int64_t now_us, struct json **ret, struct err *e)
{
	static const int64_t day_us = INT64_C(86400) * 1000000;
	const struct action_filter f = { .from_us = now_us - day_us, .leaves_out_self_tests = true };

	return action_states(x, &f, ret, e);
}

static int put_states_of_day(struct reporting *r, struct err *e)
{
	struct json *states;
	int rc = actions_day_states(r->actions, r->o->sys->now_us(r->o->sys), &states, e);

	if (rc == OK)
		json_set(r->o->a, r->doc, "action_states", states);
	return rc;
}

/* Why the report is not about everything. */
static void put_note(struct reporting *r, bool is_behind)
{
	const char *note = index_note(r->x);

	json_setb(r->o->a, r->doc, "complete", index_is_whole(r->x) && !is_behind);
	if (!note && is_behind)
		note = "the list of actions is still being made from the record; the next report goes on";
	if (note)
		json_sets(r->o->a, r->doc, "note", note);
}

int actions_report(const struct actions_place *o, size_t limit, struct json **ret, struct err *e)
{
	static int (*const parts[])(struct reporting *, struct err *) = { put_receipts, put_tasks,
		put_commands, put_checkpoints, put_sessions, put_stopped, put_states_of_day, put_remembered };
	struct arena *a = o->a;
	AUTO(index_close) struct index *x = NULL;
	AUTO(action_index_close) struct action_index *actions = NULL;
	enum index_how how = limit ? INDEX_SOON : INDEX_ALL;
	bool is_behind = false;
	int rc = actions_index(o, how, &x, e);

	if (rc == OK)
		rc = action_index_open(o->sys, a, o->ws, (struct actions_of){ 0 }, actions_how(o, how),
			&actions, &is_behind, e);
	if (rc)
		return rc;
	struct reporting r = { .o = o,
		.x = x,
		.doc = json_new(a, JSON_OBJECT),
		.limit = limit && limit < MOST ? limit : MOST,
		.actions = actions };
	json_sets(a, r.doc, "workspace", o->root);
	json_sets(a, r.doc, "generated_at", text_time_iso(a, o->sys->now_us(o->sys)));
	json_seti(a, r.doc, "limit", (int64_t)limit);
	put_note(&r, is_behind);
	json_set(a, r.doc, "lists", json_new(a, JSON_OBJECT));
	for (size_t i = 0; i < ARRAY_SIZE(parts) && rc == OK; i++)
		rc = parts[i](&r, e);
	*ret = r.doc;
	return rc;
}

/* ---- Markdown ---- */

/* An underscore inside a word is no markup, and ids are full of them. */
static bool is_inside_word(const char *text, const char *at)
{
	return *at == '_' && at > text && isalnum((unsigned char)at[-1]) && isalnum((unsigned char)at[1]);
}

void plain(struct buf *b, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (strchr("\\`*_{}[]<>#|&~", *p) && !is_inside_word(text, p))
			buf_addc(b, '\\');
		buf_addc(b, *p == '\n' || *p == '\r' ? ' ' : *p);
	}
}

/* The members of a row behind its name, each after a dash. Names that end in "_at" are times; a number is
 * an exit code. A self-test is marked, since no agent asked for it. */
static void details(struct buf *b, const struct json *row, const char *const *fields)
{
	for (const char *const *f = fields; *f; f++) {
		int64_t n;
		const char *v = json_get_text(row, *f, NULL);
		if (v && *v) {
			buf_adds(b, " — ");
			plain(b, text_ends(*f, "_at") || text_eq(*f, "at") ? actions_when(b->a, v) : v);
		} else if (json_int(json_get(row, *f), &n)) {
			buf_addf(b, " — exit %lld", (long long)n);
		}
	}
	if (json_get_bool(row, "self_test", false))
		buf_adds(b, " — self-test of helm setup");
}

/* `fields[0]` names the row; where it is missing, its id does. */
static void section(struct buf *b, const char *title, const struct json *r, const char *list,
	const char *const *fields, const char *id)
{
	const struct json *rows = json_get(r, list);
	const char *cut = actions_cut(b->a, r, list);

	buf_addf(b, "\n## %s\n\n", title);
	if (cut)
		buf_addf(b, "%s\n\n", cut);
	json_each (row, rows) {
		buf_adds(b, "- ");
		plain(b, json_get_text(row, fields[0], json_get_text(row, id, "?")));
		details(b, row, fields + 1);
		buf_addc(b, '\n');
	}
	if (!rows || !rows->n)
		buf_adds(b, "- None\n");
}

/* "completed 2, failed 1" behind a name. */
static void counts(struct buf *b, const char *name, const struct json *of)
{
	buf_addf(b, "\n- %s: ", name);
	json_each_member (m, of) {
		buf_adds(b, m == of->members ? "" : ", ");
		plain(b, m->name);
		buf_addf(b, " %s", m->value->text);
	}
	if (!of || !of->n)
		buf_adds(b, "none");
}

/* The verdict on the record, before what rests on it. */
static void record_item(struct buf *b, const struct json *record)
{
	if (!record)
		return;
	bool is_sound = json_get_bool(record, "sound", false),
	     is_known = !text_eq(json_get_text(record, "checked", "no"), "no");
	buf_adds(b, "\n- Record: ");
	if (is_known && !is_sound) {
		buf_adds(b, "NOT SOUND: ");
		plain(b, json_get_text(record, "why", ""));
		buf_adds(b, "; ");
	}
	plain(b, json_get_text(record, "text", ""));
}

static void head(struct buf *b, const struct json *r)
{
	const struct json *receipt = json_get(r, "receipts");

	buf_adds(b, "# Helm report\n\n- Workspace: ");
	plain(b, json_get_text(r, "workspace", ""));
	buf_adds(b, "\n- Made: ");
	plain(b, actions_when(b->a, json_get_text(r, "generated_at", "")));
	record_item(b, json_get(r, "record"));
	buf_addf(b, "\n- Tasks: %lld", (long long)json_get_int(r, "period_task_count", 0));
	counts(b, "Status", json_get(r, "task_status_counts"));
	counts(b, "Finalization", json_get(r, "finalization_counts"));
	counts(b, "Context sources", json_get(r, "context_source_breakdown"));
	if (json_is(json_get(r, "memory_review_queue_count"), JSON_NUMBER))
		buf_addf(b, "\n- Memory review queue: %lld",
			(long long)json_get_int(r, "memory_review_queue_count", 0));
	const int64_t count = json_get_int(receipt, "count", 0),
		      total = json_get_int(receipt, "total", count);
	buf_addf(b, "\n- Receipts: ");
	if (count < total)
		buf_addf(b, "the newest %s of ", text_thousands(b->a, count));
	buf_addf(b, "%lld (%lld allowed, %lld asked, %lld denied)\n", (long long)total,
		(long long)json_get_int(receipt, "allowed", 0), (long long)json_get_int(receipt, "asked", 0),
		(long long)json_get_int(receipt, "denied", 0));
	if (json_get(r, "note")) {
		buf_adds(b, "- Note: ");
		plain(b, json_get_text(r, "note", ""));
		buf_addc(b, '\n');
	}
}

/* What of other programs could be adopted, as commands. */
static void actions(struct buf *b, const struct json *onboarding)
{
	const struct json *list = json_get(onboarding, "actions");

	buf_adds(b, "\n## Onboarding Actions\n\n");
	json_each (one, list) {
		buf_adds(b, "- ");
		plain(b, json_text(one) ? json_text(one) : json_get_text(one, "command", "?"));
		buf_addc(b, '\n');
	}
	if (!list || !list->n)
		buf_adds(b, "- None\n");
}

/* The same document as the page shows, in a form that fits into a ticket. */
char *actions_markdown(struct arena *a, const struct json *r)
{
	static const char *const task[] = { "task_name", "profile", "finished_at", NULL };
	static const char *const stopped[] = { "task_name", "profile", "failure_reason", NULL };
	static const char *const bad[] = { "task_name", "profile", "exit_code", "failure_reason", NULL };
	static const char *const command[] = { "command_preview", "exit_code", "started_at", NULL };
	static const char *const call[] = { "sentence", "tool", "client", "became", "rule", "at", NULL };
	static const char *const session[] = { "session", "client", "last_at", NULL };
	static const char *const checkpoint[] = { "label", "checkpoint_id", NULL };
	static const char *const operation[] = { "subject", "operation", "reason", "timestamp", NULL };
	static const char *const crystal[] = { "task_name", "status", "timestamp", NULL };
	static const char *const draft[] = { "draft", NULL };
	struct buf b;

	buf_init(&b, a);
	head(&b, r);
	section(&b, "Stopped", r, "blocked_tasks", stopped, "task_id");
	section(&b, "Stopped Calls of Agents", r, "stopped_calls", call, "tool");
	section(&b, "Failed Tasks", r, "failed_tasks", bad, "task_id");
	section(&b, "Running", r, "running_tasks", task, "task_id");
	if (json_get(r, "ended_tasks") && json_get(r, "ended_tasks")->n)
		section(&b, "Ended Without a Last Row (helm task doctor --fix)", r, "ended_tasks", task,
			"task_id");
	section(&b, "Handed Over", r, "handoff_tasks", task, "task_id");
	section(&b, "Completed Tasks", r, "completed_tasks", task, "task_id");
	section(&b, "Sessions of Agents", r, "sessions", session, "session");
	section(&b, "Failed Commands", r, "failed_commands", command, "label");
	section(&b, "Recent Checkpoints", r, "recent_checkpoints", checkpoint, "checkpoint_id");
	section(&b, "Memory Operations", r, "recent_memory_operations", operation, "id");
	section(&b, "Crystallized Sessions", r, "recent_crystallized_sessions", crystal, "task_id");
	if (json_get(r, "draft_assessments") && json_get(r, "draft_assessments")->n)
		section(&b, "Assessed Drafts", r, "draft_assessments", draft, "draft");
	actions(&b, json_get(r, "onboarding"));
	return b.p;
}

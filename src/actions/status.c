/* status.c — how things stand: the document, and the few sentences a person reads in a hurry.
 *
 * The kernel finds out what is in force and what is wrong (`standing`); this file adds what became of the
 * last tasks and says both in sentences. "All is well" is printed only when nobody has a reason against
 * it: every finding adds to `reasons`, and health follows from that list alone. */
#include "actions/actions_internal.h"
#include "actions/figures.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "remember/loop.h"

#include <string.h>

enum { LATEST = 10, SHOWN = 5, MANY = 10000, CARD_LINES = 50, CARD_LABELS = 3 };
static const int64_t DAY_US = (int64_t)24 * 60 * 60 * 1000000;

/* Rows of the last day, counted from the newest back; those to be shown are kept. */
struct recent {
	struct arena *a;
	int64_t since_us, n;
	struct json *rows; /* the newest SHOWN; or NULL */
	struct index
		*x; /* parts of loops that have stopped do not count, their loops do; NULL: all rows count */
	const char *run; /* the last loop that was asked about, and the answer */
	bool has_stopped;
};

/* A step that failed is what a loop is for; whether the loop came to its end is in a row of its own, once it has stopped. */
static bool is_of_stopped_loop(struct recent *r, const struct json *row)
{
	const char *run = text_eq(json_get_text(row, "kind", ""), LOOP_TURN)
		? json_get_text(row, "parent_task_id", NULL)
		: json_get_text(json_get(row, "meta"), LOOP_RUN, NULL);

	if (!r->x || !run)
		return false;
	if (!r->run || !text_eq(r->run, run)) {
		struct task_span found;
		r->run = arena_strdup(r->a, run);
		r->has_stopped = index_task_find(r->x, run, &found, NULL) == OK && text_eq(found.id, run);
	}
	return r->has_stopped;
}

/* A row whose time cannot be read counts: it may be of today. */
static int count_recent(void *arg, struct json *row, struct err *e)
{
	static const char *const times[] = { "updated_at", "finished_at", "started_at" };
	struct recent *r = arg;
	int64_t us;

	(void)e;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		const char *at = json_get_text(row, times[i], "");
		if (!text_parse_time(at, strlen(at), &us))
			continue;
		if (us < r->since_us)
			return 1;
		break;
	}
	if (is_of_stopped_loop(r, row))
		return OK;
	r->n++;
	if (r->rows && r->rows->n < SHOWN)
		json_push(r->a, r->rows, json_copy(r->a, row));
	return OK;
}

/* How many tasks came to one of these states in the last 24 hours. */
static int count_states(const struct actions_place *o, struct index *x, bool with_parts,
	const char *const *states, size_t n, int64_t *ret, struct err *e)
{
	const struct task_filter f = { .states = states, .state_count = n };
	struct recent r = {
		.a = o->a, .since_us = o->sys->now_us(o->sys) - DAY_US, .x = with_parts ? NULL : x
	};
	int rc = index_tasks(x, &f, MANY, count_recent, &r, e);

	*ret = r.n;
	return rc;
}

/* Adds a reason such as "2 tasks failed"; nothing for zero. */
static void because(struct arena *a, struct json *reasons, int64_t n, const char *one, const char *many)
{
	if (n)
		json_push(a, reasons, json_stringf(a, "%lld %s", (long long)n, n == 1 ? one : many));
}

char *actions_unfreeze(struct arena *a, const char *principal)
{
	if (text_eq(principal, "*"))
		return arena_strdup(a, "helm unfreeze");
	if (text_eq(principal, "*fence"))
		return arena_strdup(a, "helm unfreeze --fence");
	if (text_starts(principal, "*fleet:"))
		return arena_strdup(a,
			"a person whom the fleet's root key names lifts it, or you leave the fleet: helm fleet leave");
	if (text_eq(principal, "*fleet"))
		return arena_strdup(
			a, "the centre of the fleet lifts it, or you leave the fleet: helm fleet leave");
	return text_starts(principal, "agent:")
		? arena_printf(a, "helm unfreeze --agent %s", principal + strlen("agent:"))
		: arena_printf(a, "helm unfreeze --principal %s", principal);
}

/* The one command a person does next: what is wrong comes before what is stopped, that before what waits
 * for an answer, that before what merely failed. */
static const char *next_step(struct arena *a, const struct json *status, int64_t dead, bool has_run)
{
	const struct json *wrong = json_at(json_get(status, "wrong"), 0),
			  *freeze = json_get(status, "freeze");

	if (wrong)
		return json_get_text(wrong, "remedy", "helm doctor");
	if (freeze && freeze->n)
		return arena_printf(a, "helm freeze status; to go on: %s",
			actions_unfreeze(a, json_get_text(json_at(freeze, 0), "principal", "*")));
	if (json_get_int(json_get(status, "approvals"), "pending", 0))
		return "helm approval list";
	if (dead)
		return "helm task doctor";
	if (json_get(status, "reasons")->n == 1 && json_get(json_get(status, "guard"), "remedy"))
		return json_get_text(json_get(status, "guard"), "remedy", "");
	if (json_get(status, "reasons")->n)
		return "helm report";
	return has_run ? "helm dashboard" : "helm run -- git status --short";
}

/* What needs a person about tasks: failed, stopped, stuck. A task counts as stuck after 120 minutes without a
 * sign of life. */
static int task_reasons(const struct actions_place *o, struct index *x, struct json *reasons,
	int64_t *ret_dead, struct err *e)
{
	static const char *const failed[] = { "failed", "timeout" }, *const blocked[] = { "blocked" };
	struct arena *a = o->a;
	struct json *doctor = NULL;
	int64_t failures = 0, stops = 0, dead = 0;
	int rc = count_states(o, x, false, failed, ARRAY_SIZE(failed), &failures, e);

	if (rc == OK)
		rc = count_states(o, x, true, blocked, ARRAY_SIZE(blocked), &stops, e);
	if (rc == OK)
		rc = examine_tasks(o, x, LATEST, 120, &doctor, e);
	json_each (f, json_get(doctor, "findings"))
		dead += text_eq(json_get_text(f, "severity", ""), "warning");
	because(a, reasons, failures, "task failed in the last 24 hours",
		"tasks failed in the last 24 hours");
	because(a, reasons, stops, "task was stopped by the guard in the last 24 hours",
		"tasks were stopped by the guard in the last 24 hours");
	because(a, reasons, dead, "task is stuck", "tasks are stuck");
	*ret_dead = dead;
	return rc;
}

int actions_task_reasons(const struct actions_place *o, struct json *reasons, struct err *e)
{
	AUTO(index_close) struct index *x = NULL;
	int64_t dead;
	int rc = actions_index(o, INDEX_SOON, &x, e);

	return rc ? rc : task_reasons(o, x, reasons, &dead, e);
}

static void put_health(struct arena *a, struct json *doc)
{
	json_sets(a, doc, "health", json_get(doc, "reasons")->n ? "attention" : "ok");
}

void actions_judge(const struct actions_place *o, struct json *standing)
{
	struct json *reasons = json_get(standing, "reasons");
	struct err e = { 0 };

	if (actions_task_reasons(o, reasons, &e))
		json_push(o->a, reasons, json_stringf(o->a, "tasks cannot be read: %s", e.text));
	put_health(o->a, standing);
}

/* Tasks, failures and what they mean, from the index. */
static int put_tasks(const struct actions_place *o, struct json *doc, struct json *reasons, int64_t *ret_dead,
	struct json **ret_last, struct err *e)
{
	struct arena *a = o->a;
	AUTO(index_close) struct index *x = NULL;
	struct kept_rows kept = { o, json_get(doc, "recent_tasks") };
	struct recent commands = { .a = a,
		.since_us = o->sys->now_us(o->sys) - DAY_US,
		.rows = json_get(doc, "recent_failed_commands") };
	struct json *counts = NULL;
	int64_t total = 0;
	int rc = actions_index(o, INDEX_SOON, &x, e);

	if (rc == OK)
		rc = true_counts(o, x, &counts, &total, e);
	if (rc == OK)
		rc = index_tasks(x, NULL, LATEST, keep_row, &kept, e);
	if (rc == OK)
		rc = index_failed_commands(x, SHOWN, count_recent, &commands, e);
	if (rc == OK)
		rc = task_reasons(o, x, reasons, ret_dead, e);
	if (rc)
		return rc;
	*ret_last = json_at(kept.rows, 0);
	json_set(a, doc, "finalization_counts", figure_finalizations(a, kept.rows));
	kept.rows->n = kept.rows->n < SHOWN ? kept.rows->n : SHOWN;
	turn_round(kept.rows);
	turn_round(commands.rows);
	json_set(a, doc, "task_status_counts", counts);
	json_seti(a, doc, "tasks_counted", total);
	if (index_note(x))
		json_sets(a, doc, "note", index_note(x));
	return OK;
}

/* What a person who comes back wants to know about the last task. */
static struct json *session_card(const struct actions_place *o, const struct json *last)
{
	static const char *const fields[] = { "task_id", "task_name", "status", "skill", "profile" };
	const struct json *h = json_get(json_get(last, "meta"), "harness");
	struct arena *a = o->a;
	struct json *card = json_new(a, JSON_OBJECT), *labels = json_new(a, JSON_ARRAY), *failed;
	int64_t count;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		json_sets(a, card, fields[i], json_get_text(last, fields[i], NULL));
	json_sets(a, card, "model_tier", json_get_text(h, "model_tier", NULL));
	json_sets(a, card, "enforcement_level", json_get_text(h, "enforcement_level", NULL));
	json_set(a, card, "context_sources", figure_source_names(o));
	failed = figure_failed_commands(o, CARD_LINES, CARD_LABELS, &count);
	json_seti(a, card, "recent_failure_count", count);
	json_each (row, failed)
		json_pushs(a, labels, json_get_text(row, "label", json_get_text(row, "component", "")));
	json_set(a, card, "latest_failure_labels", labels);
	json_sets(a, card, "finalization_status", last ? figure_finalization(last) : NULL);
	return card;
}

/* Everything that `standing` found is copied in before health is judged. Tasks that cannot be read are a
 * reason like any other, and no reason to keep the rest to ourselves. */
int actions_status(
	const struct actions_place *o, const struct json *standing, struct json **ret, struct err *e)
{
	struct arena *a = o->a;
	struct json *checkpoints, *last = NULL, *doc = json_new(a, JSON_OBJECT),
				  *given = json_get(standing, "reasons"),
				  *reasons = given ? json_copy(a, given) : json_new(a, JSON_ARRAY);
	struct err why = { 0 };
	int64_t dead = 0;

	(void)e;
	/* An unreadable list of checkpoints is reported by `standing` already; everything else is told all
	 * the same. */
	if (actions_checkpoints(o, SHOWN, &checkpoints, NULL))
		checkpoints = json_new(a, JSON_ARRAY);
	json_sets(a, doc, "workspace", o->root);
	json_sets(a, doc, "layout", o->layout);
	json_sets(a, doc, "state_dir", o->state_name);
	json_each_member (m, standing)
		json_set(a, doc, m->name, m->value);
	json_set(a, doc, "context_sources", figure_sources(o));
	json_set(a, doc, "task_status_counts", json_new(a, JSON_OBJECT));
	json_set(a, doc, "finalization_counts", json_new(a, JSON_OBJECT));
	json_seti(a, doc, "tasks_counted", 0);
	json_set(a, doc, "recent_tasks", json_new(a, JSON_ARRAY));
	json_set(a, doc, "recent_failed_commands", json_new(a, JSON_ARRAY));
	json_set(a, doc, "recent_checkpoints", checkpoints);
	if (put_tasks(o, doc, reasons, &dead, &last, &why))
		json_push(a, reasons, json_stringf(a, "tasks cannot be read: %s", why.text));
	json_set(a, doc, "draft_assessments", figure_drafts(o, SHOWN));
	json_set(a, doc, "recent_memory_operations", figure_tail(o, FIGURE_OPERATIONS, SHOWN));
	json_set(a, doc, "recent_crystallized_sessions", figure_tail(o, FIGURE_CRYSTALS, SHOWN));
	json_set(a, doc, "session_card", session_card(o, last));
	json_set(a, doc, "reasons", reasons);
	put_health(a, doc);
	json_sets(a, doc, "next", next_step(a, doc, dead, json_get(doc, "recent_tasks")->n));
	*ret = doc;
	return OK;
}

/* The brief is cut out of the status, so the two never disagree. */
int actions_brief(
	const struct actions_place *o, const struct json *standing, struct json **ret, struct err *e)
{
	/* Members that both documents have. */
	static const char *const same[] = { "health", "reasons", "notes", "workspace", "layout", "profile",
		"policy_in_use", "freeze", "paused", "containment", "guard", "calls", "approvals", "record",
		"wrong", "next", "note" };
	struct arena *a = o->a;
	struct json *status, *doc = json_new(a, JSON_OBJECT);
	int rc = actions_status(o, standing, &status, e);

	if (rc)
		return rc;
	struct json *counts = json_get(status, "task_status_counts"),
		    *tasks = json_get(status, "recent_tasks");
	struct json *checkpoints = json_get(status, "recent_checkpoints"),
		    *failed = json_get(status, "recent_failed_commands");
	struct json *last = json_at(tasks, tasks->n ? tasks->n - 1 : 0);
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		if (json_get(status, same[i]))
			json_set(a, doc, same[i], json_get(status, same[i]));
	json_set(a, doc, "last_task", last ? actions_capabilities(o, last) : json_new(a, JSON_NULL));
	if (last) {
		struct json *t = json_get(doc, "last_task");
		json_sets(a, t, "finished_at",
			json_get_text(last, "finished_at", json_get_text(last, "started_at", NULL)));
		if (json_get(last, "exit_code"))
			json_set(a, t, "exit_code", json_get(last, "exit_code"));
		json_sets(a, t, "failure_reason", json_get_text(last, "failure_reason", NULL));
		if (text_eq(json_get_text(last, "status", ""), "running"))
			json_sets(a, t, "heartbeat_at", actions_heartbeat(o, last));
	}
	json_set(a, doc, "counts", counts);
	json_seti(a, doc, "failed_commands", failed->n);
	json_set(a, doc, "latest_checkpoint",
		checkpoints->n ? checkpoints->items[checkpoints->n - 1] : json_new(a, JSON_NULL));
	*ret = doc;
	return OK;
}

/* Rounds down: "1 hour ago" is up to two hours. A time in the future is said, since it means that a clock
 * is wrong. */
char *actions_ago(struct arena *a, int64_t then_us, int64_t now_us)
{
	int64_t s = (now_us - then_us) / 1000000;

	if (s < 0)
		return arena_strdup(a, "in the future, says the clock");
	if (s < 60)
		return arena_strdup(a, "just now");
	if (s < 3600)
		return arena_printf(a, "%lld minute%s ago", (long long)(s / 60), s / 60 == 1 ? "" : "s");
	if (s < 86400)
		return arena_printf(a, "%lld hour%s ago", (long long)(s / 3600), s / 3600 == 1 ? "" : "s");
	return arena_printf(a, "%lld day%s ago", (long long)(s / 86400), s / 86400 == 1 ? "" : "s");
}

/* A recorded time on the reader's clock; what is no time comes back as it is. */
const char *actions_when(struct arena *a, const char *stamp)
{
	int64_t us;

	return text_parse_time(stamp, strlen(stamp), &us) ? text_time_local(a, us) : stamp;
}

/* One sentence about the last task, and a second one for why it did not complete. */
static void last_task_sentence(struct buf *b, const struct json *t, int64_t now_us)
{
	const char *at = json_get_text(t, "finished_at", ""), *status = json_get_text(t, "status", "");
	const char *why = json_get_text(t, "failure_reason", NULL);
	int64_t us, code;

	buf_addf(b, "The last task, \"%s\", %s%s%s", json_get_text(t, "task_name", ""),
		text_eq(status, "completed")	     ? "was completed"
			: text_eq(status, "blocked") ? "was stopped"
			: text_eq(status, "timeout") ? "ran out of time"
			: text_eq(status, "running") ? "is running"
			: text_eq(status, "failed")  ? "failed"
						     : status,
		json_get_text(t, "profile", NULL) ? " under " : "", json_get_text(t, "profile", ""));
	if (json_int(json_get(t, "exit_code"), &code) && code)
		buf_addf(b, " with exit code %lld", (long long)code);
	if (text_parse_time(at, strlen(at), &us))
		buf_addf(b, ", %s", actions_ago(b->a, us, now_us));
	buf_adds(b, ".\n");
	const char *beat = json_get_text(t, "heartbeat_at", "");
	if (text_parse_time(beat, strlen(beat), &us))
		buf_addf(b, "Its last sign of life: %s.\n", actions_ago(b->a, us, now_us));
	if (why && !text_eq(status, "completed"))
		buf_addf(b, "Why: %s.\n", why);
}

static void list(struct buf *b, const struct json *texts, const char *between)
{
	json_each (text, texts)
		buf_addf(b, "%s%s", text_p == texts->items ? "" : between, json_text(text));
}

/* Of what is wrong only the first clause: the whole of it follows, with its remedy. */
static void list_reasons(struct buf *b, const struct json *reasons, const struct json *wrong)
{
	json_each (reason, reasons) {
		const char *text = json_text(reason), *end = NULL;
		json_each (w, wrong)
			if (text_eq(json_get_text(w, "text", ""), text))
				end = strstr(text, "; ");
		buf_addf(b, "%s%.*s", reason_p == reasons->items ? "" : ", ",
			end ? (int)(end - text) : (int)strlen(text), text);
	}
}

/* Notes are changes that a person made on purpose, so they do not need attention, but are never hidden
 * behind "All is well". */
char *actions_headline(struct arena *a, const struct json *doc)
{
	const struct json *reasons = json_get(doc, "reasons"), *notes = json_get(doc, "notes"),
			  *record = json_get(doc, "record");
	struct buf b;

	buf_init(&b, a);
	if (reasons && reasons->n) {
		buf_adds(&b, "Needs attention: ");
		list_reasons(&b, reasons, json_get(doc, "wrong"));
		buf_addc(&b, '.');
	} else if (notes && notes->n) {
		buf_adds(&b, "In order, but not as shipped: ");
		list(&b, notes, ", ");
		buf_addc(&b, '.');
	} else if (text_eq(json_get_text(record, "checked", "now"), "in part") ||
		text_eq(json_get_text(record, "checked", "now"), "no")) {
		buf_adds(&b, "In order, as far as the record was checked.");
	} else {
		buf_adds(&b, "All is well.");
	}
	return b.p;
}

static void count_clause(struct buf *b, const struct json *n)
{
	buf_addf(b, "%lld passed, %lld asked, %lld refused", (long long)json_get_int(n, "passed", 0),
		(long long)json_get_int(n, "asked", 0), (long long)json_get_int(n, "refused", 0));
}

/* " of the newest 7,251 of 100,002 receipts": where the index is behind, numbers are no totals. */
static const char *part_clause(struct arena *a, const struct json *calls)
{
	const struct json *counted = json_get(calls, "counted");

	return !counted ? ""
			: arena_printf(a, " (counted in the newest %s of %s receipts)",
				  text_thousands(a, json_get_int(counted, "receipts", 0)),
				  text_thousands(a, json_get_int(counted, "of", 0)));
}

/* Self-tests are named apart, since no agent made them. */
char *actions_calls_text(struct arena *a, const struct json *calls, int64_t now_us)
{
	const struct json *hour = json_get(calls, "last_hour"), *day = json_get(calls, "last_24_hours");
	const struct json *others = json_get(calls, "other_doors");
	const char *last = json_get_text(calls, "last_at", ""), *other = json_get_text(others, "last_at", "");
	int64_t us, other_us, tests = json_get_int(calls, "self_tests", 0);
	bool has_other = text_parse_time(other, strlen(other), &other_us);
	struct buf b;

	buf_init(&b, a);
	if (!text_parse_time(last, strlen(last), &us)) {
		buf_adds(&b,
			has_other ? "No agent has called by a hook or the gateway"
				: json_get_bool(others, "complete", true) ? "No agent has called yet"
									  : "No agent has called lately");
	} else {
		buf_adds(&b, "Agents' calls in the last hour: ");
		count_clause(&b, hour);
		buf_adds(&b, "; in the last 24 hours: ");
		count_clause(&b, day);
		buf_addf(&b, "; the newest %s", actions_ago(a, us, now_us));
	}
	if (has_other) {
		buf_adds(&b, "; by HTTP, the proxy or as a session in the last 24 hours: ");
		count_clause(&b, json_get(others, "last_24_hours"));
		buf_addf(&b, ", the newest %s", actions_ago(a, other_us, now_us));
	}
	if (tests)
		buf_addf(&b, "; %s made by the self-test of 'helm setup'",
			tests == 1 ? "1 call was" : arena_printf(a, "%lld calls were", (long long)tests));
	buf_addf(&b, "%s.", part_clause(a, calls));
	return b.p;
}

/* Who is frozen, since when, by whom and why; and always the way back. */
char *actions_freeze_text(struct arena *a, const struct json *one, int64_t now_us)
{
	const char *who = json_get_text(one, "principal", "*"), *why = json_get_text(one, "reason", ""),
		   *since = json_get_text(one, "since", ""), *by = json_get_text(one, "by", NULL);
	int64_t us;
	struct buf b;

	buf_init(&b, a);
	buf_addf(&b, "%s is frozen", text_eq(who, "*") ? "Everything" : who);
	if (text_parse_time(since, strlen(since), &us))
		buf_addf(&b, " since %s (%s)", text_time_local(a, us), actions_ago(a, us, now_us));
	if (by)
		buf_addf(&b, " by %s", by);
	buf_addf(&b, "%s%s. To go on: %s", *why ? ": " : "", why, actions_unfreeze(a, who));
	return b.p;
}

/* The way back needs the token that was shown when it was paused. */
char *actions_pause_text(struct arena *a, const struct json *one, int64_t now_us)
{
	const char *name = json_get_text(one, "profile", ""), *why = json_get_text(one, "reason", ""),
		   *since = json_get_text(one, "since", "");
	int64_t us;

	return arena_printf(a,
		"The profile %s is paused%s%s%s%s. To go on: helm profile resume %s --token TOKEN", name,
		text_parse_time(since, strlen(since), &us) ? " since " : "",
		text_parse_time(since, strlen(since), &us) ? actions_ago(a, us, now_us) : "",
		*why ? ": " : "", why, name);
}

static const char *by_whom(struct arena *a, const struct json *profile)
{
	const char *place = json_get_text(profile, "inherited_from", NULL);

	if (place)
		return arena_printf(a, ", inherited from %s, for which it was chosen", place);
	return json_get_bool(profile, "is_chosen", false)     ? ", chosen for this workspace"
		: json_get_bool(profile, "is_default", false) ? ", the shipped choice"
							      : ", which the settings of the tree ask for";
}

/* What the profile does with destructive commands is said every time, because it is the choice that
 * matters most. */
char *actions_profile_text(struct arena *a, const struct json *profile)
{
	const char *name = json_get_text(profile, "name", NULL);
	bool saves = text_eq(json_get_text(profile, "destructive", ""), "checkpoint");

	if (!name)
		return arena_strdup(a, "Which profile is in force cannot be read.");
	return arena_printf(a, "The profile in force is %s%s; what destroys is %s.", name,
		by_whom(a, profile),
		saves ? "saved first and then runs (destructive=checkpoint)"
		      : "asked about (destructive=ask)");
}

char *actions_policy_text(struct arena *a, const struct json *policy)
{
	const char *coverage = json_get_text(policy, "coverage", NULL);

	return arena_printf(a, "The policy in use is %s %s, %s ('helm policy show').",
		json_get_text(policy, "name", ""), json_get_text(policy, "version", ""),
		!coverage ? "and cannot be read: everything is denied"
			: text_eq(coverage, "open")
			? "open: it only adds to what profiles and guard rules say"
			: "closed: what no rule allows is denied");
}

/* The worst first: what is wrong, what is frozen or paused, what waits, and then what is in force. */
static void standing_sentences(struct buf *b, const struct json *doc, int64_t now_us)
{
	int64_t pending = json_get_int(json_get(doc, "approvals"), "pending", 0),
		granted = json_get_int(json_get(doc, "approvals"), "grants_in_force", 0);

	json_each (w, json_get(doc, "wrong"))
		buf_addf(b, "Wrong: %s. Remedy: %s\n", json_get_text(w, "text", ""),
			json_get_text(w, "remedy", ""));
	json_each (f, json_get(doc, "freeze"))
		buf_addf(b, "%s\n", actions_freeze_text(b->a, f, now_us));
	json_each (p, json_get(doc, "paused"))
		buf_addf(b, "%s\n", actions_pause_text(b->a, p, now_us));
	if (pending)
		buf_addf(b, "%lld %s for your answer: helm approval list\n", (long long)pending,
			pending == 1 ? "request waits" : "requests wait");
	if (granted)
		buf_addf(b, "%lld %s in force: helm approval list\n", (long long)granted,
			granted == 1 ? "grant is" : "grants are");
	buf_addf(b, "%s\n%s\n", actions_calls_text(b->a, json_get(doc, "calls"), now_us),
		actions_profile_text(b->a, json_get(doc, "profile")));
	if (json_get(doc, "policy_in_use"))
		buf_addf(b, "%s\n", actions_policy_text(b->a, json_get(doc, "policy_in_use")));
	buf_addf(b, "%s\n", json_get_text(json_get(doc, "containment"), "text", ""));
}

/* The headline first: whoever reads only one line reads that one. */
char *actions_brief_text(struct arena *a, const struct json *brief, int64_t now_us)
{
	const struct json *t = json_get(brief, "last_task"), *c = json_get(brief, "latest_checkpoint");
	int64_t running = json_get_int(json_get(brief, "counts"), "running", 0), us;
	struct buf b;

	buf_init(&b, a);
	buf_addf(&b, "%s\n", actions_headline(a, brief));
	standing_sentences(&b, brief, now_us);
	buf_addf(&b, "The workspace is %s.\n", json_get_text(brief, "workspace", ""));
	if (json_get(json_get(brief, "record"), "text"))
		buf_addf(&b, "The record: %s.\n", json_get_text(json_get(brief, "record"), "text", ""));
	if (json_is(t, JSON_OBJECT))
		last_task_sentence(&b, t, now_us);
	else
		buf_adds(&b, "Nothing has been run with 'helm run' yet.\n");
	if (running)
		buf_addf(
			&b, "%lld %s running.\n", (long long)running, running == 1 ? "task is" : "tasks are");
	if (json_is(c, JSON_OBJECT)) {
		const char *at = json_get_text(c, "created_at", "");
		buf_addf(&b, "The newest checkpoint is \"%s\"",
			json_get_text(c, "label", json_get_text(c, "checkpoint_id", "")));
		if (text_parse_time(at, strlen(at), &us))
			buf_addf(&b, ", made %s", actions_ago(a, us, now_us));
		buf_adds(&b, ".\n");
	}
	if (json_get(brief, "note"))
		buf_addf(&b, "Note: %s.\n", json_get_text(brief, "note", ""));
	buf_addf(&b, "Next: %s\n", json_get_text(brief, "next", ""));
	return b.p;
}

/* ---- for other eyes ---- */

/* Replaces every path that tells whose machine this is by <LOCAL_PATH>. A path reaches to the next blank,
 * quote or separator. Better too much is hidden than too little. */
static const char *hide_paths(struct arena *a, const char *text, size_t n, const char *home)
{
	static const char *const places[] = { "/home/", "/Users/", "/tmp/", "/var/tmp/", "/var/folders/",
		"/private/", "/root" };
	struct buf out;
	size_t hidden = 0;

	buf_init(&out, a);
	for (size_t i = 0; i < n;) {
		size_t len = home && home[1] && strncmp(text + i, home, strlen(home)) == 0 ? strlen(home) : 0;
		for (size_t k = 0; !len && k < ARRAY_SIZE(places); k++)
			if (strncmp(text + i, places[k], strlen(places[k])) == 0)
				len = strlen(places[k]);
		if (!len) {
			buf_addc(&out, text[i++]);
			continue;
		}
		i += len;
		while (i < n && !strchr(" \t\n\"',;)", text[i]))
			i++;
		buf_adds(&out, "<LOCAL_PATH>");
		hidden++;
	}
	return hidden ? out.p : text;
}

/* Walks a tree in place. Members that hold output of commands are replaced whole: nobody can say what
 * stands in them. */
static void hide_local(struct arena *a, struct json *v, const char *home)
{
	if (json_is(v, JSON_STRING)) {
		v->text = hide_paths(a, v->text, v->n, home);
		v->n = (uint32_t)strlen(v->text);
	}
	json_each (item, v)
		hide_local(a, item, home);
	json_each_member (m, v) {
		bool output = text_starts(m->name, "stdout") || text_starts(m->name, "stderr");
		if (output && json_is(m->value, JSON_STRING) && m->value->n)
			m->value = json_string(a, "<redacted>");
		else
			hide_local(a, m->value, home);
	}
}

/* Paths first, then secrets: hide_local() replaces whole texts, and what is left is scanned once. */
void actions_make_public(struct arena *a, struct json *doc, const char *home)
{
	hide_local(a, doc, home);
	privacy_redact_json(a, doc);
}

/* replay.c — decisions of the record, to be asked again by another policy.
 *
 * Rows of agents' calls and of runs keep what was asked, in the words of policies, and what profiles and guard rules said to it.  So a
 * candidate can be asked the same, at the time it was asked.  What rows do not hold is counted and told: rows from before this was kept, and
 * texts that were cut or redacted when they were written. */
#include "kernel/policy/policy.h"

#include "base/text.h"
#include "privacy/privacy.h"
#include "record/record.h"

#include <string.h>

struct replaying {
	int64_t since_us;
	policy_replay_visit *fn;
	void *arg;
	struct policy_replay *ret;
};

/* Somewhere inside, something was replaced before it was written. */
static bool is_redacted(const struct json *v)
{
	if (json_is(v, JSON_STRING))
		return strstr(v->text, REDACTED) != NULL;
	json_each (one, v)
		if (is_redacted(one))
			return true;
	json_each_member (m, v)
		if (is_redacted(m->value))
			return true;
	return false;
}

/* Of a call the row says what became of it; of a run its decision does. */
static enum verdict verdict_then(const struct json *row)
{
	const char *name =
		json_get_text(row, "verdict", json_get_text(json_get(row, "guard"), "verdict", ""));

	if (json_get(row, "settled_by") || json_get_bool(json_get(row, "guard"), "approved", false))
		return V_ESCALATE;
	return text_eq(name, verdict_name(V_ALLOW))	  ? V_ALLOW
		: text_eq(name, verdict_name(V_ESCALATE)) ? V_ESCALATE
							  : V_DENY;
}

static const char *rule_of(const struct json *row)
{
	return json_get_text(row, "rule", json_get_text(json_get(row, "guard"), "detail_code", NULL));
}

/* What the guard said, as far as a policy can need it: which questions it asked. */
static void read_guard(struct arena *a, const struct json *row, struct decision *d)
{
	const char *rule = rule_of(row);

	*d = (struct decision){ .mode = GUARD_ENFORCE };
	if (!action_parse(json_get_text(row, "guard_action", ""), &d->action))
		d->action = ACTION_DENY;
	d->verdict = action_verdict(d->action);
	if (d->action != ACTION_ASK)
		return;
	json_each (cover, json_get(row, "covers"))
		d->ask_count += json_get_text(cover, "rule", NULL) != NULL;
	d->asks = arena_zalloc(a, d->ask_count + 1, sizeof(*d->asks));
	d->ask_count = 0;
	json_each (cover, json_get(row, "covers"))
		if (json_get_text(cover, "rule", NULL))
			d->asks[d->ask_count++].rule = json_get_text(cover, "rule", NULL);
	if (!d->ask_count && rule)
		d->asks[d->ask_count++].rule = rule;
}

static const char *time_of(const struct json *row)
{
	static const char *const names[] = { "at", "started_at", "created_at", "queued_at", "updated_at" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get_text(row, names[i], NULL))
			return json_get_text(row, names[i], NULL);
	return "";
}

static int ask_again(struct replaying *x, const struct json *row, int64_t at_us, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *asked = json_get(row, "asked");
	struct policy_recorded r = { .at = time_of(row),
		.decision_id = json_get_text(row, "decision_id", NULL),
		.rule = rule_of(row),
		.preview = json_get_text(row, "preview", json_get_text(row, "command_preview", "")),
		.then = verdict_then(row) };

	if (r.rule && (text_eq(r.rule, FREEZE_RULE) || text_eq(r.rule, PAUSE_RULE))) {
		x->ret->stopped++;
		return OK;
	}
	if (policy_question_read(&a, asked, &r.question, NULL)) {
		x->ret->not_kept++;
		return OK;
	}
	read_guard(&a, row, &r.guard);
	r.question.now_us = at_us;
	r.is_inexact = json_get_bool(asked, "is_cut", false) || is_redacted(asked);
	x->ret->inexact += r.is_inexact;
	x->ret->replayed++;
	return x->fn(x->arg, &r, e);
}

/* A row without a verdict is an outcome, and one of a run without a decision is a step of it. */
static int take_row(struct replaying *x, const struct json *row, struct err *e)
{
	const char *at = time_of(row);
	int64_t us = 0;
	bool is_call = json_get(row, "verdict") != NULL, is_run = json_get(row, "asked") != NULL;

	if ((!is_call && !is_run) || !text_parse_time(at, strlen(at), &us) || us < x->since_us)
		return OK;
	x->ret->seen++;
	if (json_get(row, "asked"))
		return ask_again(x, row, us, e);
	x->ret->not_kept++;
	return OK;
}

/* ---- both ledgers in the order of time ---- */

/* What two doors did counts on the same limits, so it must be asked again in the order in which it was asked.  A few rows of each ledger are read ahead. */
enum { READ_AHEAD = 256 };

struct cursor {
	const char *file;
	off_t next; /* where reading goes on */
	bool is_over;
	struct arena a;
	struct json *rows[READ_AHEAD];
	int64_t times[READ_AHEAD];
	size_t at, n;
};

static int keep_row(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct cursor *c = arg;
	const char *at = time_of(row);

	(void)line;
	(void)e;
	if (c->n == READ_AHEAD) {
		c->next = place;
		c->is_over = false;
		return 1;
	}
	if (!row)
		return OK;
	if (!text_parse_time(at, strlen(at), &c->times[c->n]))
		c->times[c->n] = INT64_MIN;
	c->rows[c->n++] = json_copy(&c->a, row);
	return OK;
}

/* The next row of a ledger is at hand, or there is none. */
static int look_ahead(struct sys *s, int state_fd, struct cursor *c, struct err *e)
{
	int rc = OK;

	while (rc >= 0 && c->at == c->n && !c->is_over) {
		arena_reset(&c->a);
		c->at = c->n = 0;
		c->is_over = true;
		rc = rows_each(s, state_fd, c->file, c->next, keep_row, c, e);
	}
	return rc < 0 ? rc : OK;
}

int policy_replay_each(struct sys *s, const struct workspace *ws, int64_t since_us, policy_replay_visit *fn,
	void *arg, struct policy_replay *ret, struct err *e)
{
	struct cursor both[] = { { .file = TOOL_CALLS }, { .file = TASK_LEDGER } };
	struct replaying x = { since_us, fn, arg, ret };
	int rc = OK;

	*ret = (struct policy_replay){ 0 };
	while (rc == OK && ws->state_fd >= 0) {
		struct cursor *first = NULL;
		for (size_t i = 0; rc == OK && i < ARRAY_SIZE(both); i++) {
			rc = look_ahead(s, ws->state_fd, &both[i], e);
			if (rc == OK && both[i].at < both[i].n &&
				(!first || both[i].times[both[i].at] < first->times[first->at]))
				first = &both[i];
		}
		if (rc || !first)
			break;
		rc = take_row(&x, first->rows[first->at], e);
		first->at++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(both); i++)
		arena_done(&both[i].a);
	return rc;
}

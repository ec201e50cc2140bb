/* keeper_looks.c — what the keeper of a session looks at around its calls, and beside them: auto-run files that calls, or what they left
 * running, have made or changed. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/armed.h"
#include "kernel/task/keeper_parts.h"

#include <string.h>

enum { WALK_REST_US = 20000 };

int64_t keeper_walk_at(const struct keeper *x)
{
	return x->sys->mono_us(x->sys) + WALK_REST_US + x->rest_us;
}

/* A task like that of a run, as far as walls and what is left behind need one. */
struct task *keeper_task_of(struct keeper *x, struct call *c)
{
	struct task *t = arena_zalloc(&c->a, 1, sizeof(*t));

	*t = x->base;
	t->a = &c->a;
	t->id = json_get_text(c->ticket, "id", "");
	t->report = arena_zalloc(&c->a, 1, sizeof(*t->report));
	t->row = json_new(&c->a, JSON_OBJECT);
	t->happened = json_new(&c->a, JSON_OBJECT);
	t->journal = NULL;
	t->is_left = false;
	task_places(t);
	return t;
}

static bool is_anything_running(const struct keeper *x)
{
	for (const struct call *c = x->calls; c; c = c->next)
		if (c->task)
			return true;
	return !session_is_empty(x->session);
}

/* In memory of its own, which each one gives back. */
static int put_journal(struct keeper *x, const struct task *noted, struct err *e)
{
	struct task t = *noted;

	if (!x->base.journal)
		x->base.journal = journal_new(&x->base);
	arena_done(&x->written);
	x->written = (struct arena){ 0 };
	t.a = &x->written;
	t.journal = x->base.journal;
	int rc = journal_begin(&t, "calls", x->walked_us, e);
	return rc ? rc : journal_sync(&t, e);
}

/* Something could not be looked at or taken away: the journal says so, and no call begins before it is gone. */
void keeper_keep_left(struct keeper *x, const struct task *t)
{
	if (!t->is_left || !x->base.journal)
		return;
	x->base.is_left = true;
	struct task left = *t;
	left.a = &x->written;
	left.journal = x->base.journal;
	left.left_behind = json_copy(&x->written, t->left_behind);
	journal_left(&left);
}

/* What is there before a call: as it is now, where nothing of the session runs that could have put it there; otherwise as it was then.  On disk
 * before the call begins, where it is another than before. */
int keeper_note_before(struct keeper *x, struct err *e)
{
	if (x->base.profile->writes != ALLOWANCE_YES || (x->notes && is_anything_running(x)))
		return OK;
	struct arena *a = &x->noted[x->notes % 2];
	arena_done(a);
	*a = (struct arena){ 0 };
	struct task now = x->base;
	now.a = a;
	now.modes = NULL;
	armed_note(&now);
	int rc = x->notes ? OK : autorun_others(&now, e);
	if (rc)
		return rc;
	if (!x->notes || !armed_is_same_list(now.armed, x->base.armed))
		rc = put_journal(x, &now, e);
	if (rc)
		return rc;
	x->notes++;
	x->base.armed = now.armed;
	x->base.modes = now.modes;
	x->base.hooks = now.hooks;
	x->base.linked_own = now.linked_own;
	return OK;
}

/* Into the record what was held that no call can be told of. */
void keeper_note_left(struct keeper *x, struct arena *a, struct task *t, int64_t now_us)
{
	struct err e = { 0 };

	if (!t->left_behind)
		return;
	json_sets(a, t->row, "at", text_time_iso(a, now_us));
	json_sets(a, t->row, "event", "contained_left");
	json_set(a, t->row, "client", json_get(x->ticket, "client"));
	json_set(a, t->row, "session", json_get(x->ticket, "session"));
	json_set(a, t->row, "left_behind", t->left_behind);
	(void)ledger_note(x->sys, a, x->ws->state_fd, TOOL_CALLS, t->row, &e);
}

/* A call may leave processes running, which may arm what the call itself did not.  From its end to the beginning of the next call, or to
 * the end of the session, the names at the roots are kept in mind for them. */
void keeper_begin_between(struct keeper *x)
{
	struct run_result *result;

	if (x->between.task || session_is_empty(x->session))
		return;
	x->between = (struct call){ .ticket = (struct json *)x->ticket };
	result = arena_zalloc(&x->between.a, 1, sizeof(*result));
	result->started_us = x->sys->now_us(x->sys);
	result->report.read_only_held = x->has_mounts;
	x->between.task = keeper_task_of(x, &x->between);
	x->between.task->result = result;
}

void keeper_end_between(struct keeper *x)
{
	struct task *t = x->between.task;

	if (!t)
		return;
	git_private_merge(&x->base, t);
	armed_check(t);
	keeper_keep_left(x, t);
	keeper_note_left(x, &x->between.a, t, x->sys->now_us(x->sys));
	arena_done(&x->between.a);
	x->between = (struct call){ 0 };
}

/* Below the roots: everything that changed since the last time.  `all`: also what nobody has heard of. */
void keeper_walk(struct keeper *x, bool all)
{
	struct call c = { .ticket = (struct json *)x->ticket };
	struct run_result result = { .started_us = x->walked_us };
	int64_t began = x->sys->mono_us(x->sys), now_us = x->sys->now_us(x->sys);
	struct task *t = keeper_task_of(x, &c);
	struct watch_news news;
	bool was_told = x->walked_all_us < x->walked_us;
	bool is_part =
		!all && nested_is_whole(x->base.nested) && watch_walk_part_begins(x->watch, &c.a, &news);

	t->result = &result;
	result.report.read_only_held = x->has_mounts;
	/* What was closed only since may be what a call has made. */
	const char **closed = arena_zalloc(&c.a, x->closed_before + 1, sizeof(*closed));
	for (size_t i = 0; i < x->closed_before; i++)
		closed[i] = json_text(x->closed->items[i]);
	t->rules.read_only = closed;
	struct arena *seen = &x->seen[x->walks++ % 2];
	arena_done(seen);
	*seen = (struct arena){ 0 };
	t->nested_next = nested_new(seen, t);
	nested_watch(t->nested_next, x->watch);
	if (is_part) {
		task_touched_again(t, &news);
	} else {
		result.started_us = x->walked_all_us;
		watch_walk_begins(x->watch);
		(void)task_touched(t);
		x->walked_all_us = now_us;
	}
	x->base.nested = t->nested_next;
	x->closed_before = x->closed->n;
	x->walked_us = now_us;
	x->walk_due_us = 0;
	x->is_owed = is_part;
	x->rest_us = 10 * (x->sys->mono_us(x->sys) - began);
	if (was_told && all && t->left_behind)
		t->left_behind = left_without_notes(&c.a, t->left_behind);
	keeper_keep_left(x, t);
	keeper_note_left(x, &c.a, t, now_us);
	arena_done(&c.a);
}

/* Something was left behind by an earlier call: is it gone?  Everything is looked at once more. */
int keeper_look_again(struct keeper *x, struct task *t, struct err *e)
{
	if (!x->base.is_left)
		return OK;
	x->base.is_left = false;
	struct run_result result = { .started_us = x->walked_all_us };
	struct task look = *t;
	look.result = &result;
	armed_check(&look);
	keeper_keep_left(x, &look);
	keeper_walk(x, true);
	if (!x->base.is_left)
		return put_journal(x, &x->base, e);
	return err_set(e, E_DENIED, "AUTORUN_LEFT", "not run: %s",
		look.is_left ? armed_left(&look)
			     : "what may start programs later is still there: helm task doctor");
}

void keeper_walk_if_changed(struct keeper *x)
{
	if (watch_is_changed(x->watch)) {
		keeper_walk(x, false);
		return;
	}
	x->walk_due_us = 0;
	x->is_owed = true;
}

/* While something of the session runs: a call, or what one has left running.  Whoever works here otherwise is an operator. */
struct task *keeper_who_runs(struct keeper *x)
{
	for (struct call *c = x->calls; c; c = c->next)
		if (c->task && c->task->profile->writes == ALLOWANCE_YES)
			return c->task;
	return x->between.task;
}

static void look_now(struct keeper *x)
{
	struct task *t = keeper_who_runs(x);

	x->prompt.due_us = 0;
	if (!t)
		return;
	t->nested = x->base.nested;
	prompt_look(t, x->watch, &x->prompt);
	if (t != x->between.task)
		return;
	/* Nobody else will tell of it for as long as no call comes. */
	keeper_keep_left(x, t);
	keeper_note_left(x, t->a, t, x->sys->now_us(x->sys));
	t->left_behind = NULL;
	t->row = json_new(t->a, JSON_OBJECT);
	if (!x->walk_due_us)
		x->walk_due_us = keeper_walk_at(x);
}

/* What poll() has said about the watch of the tree. */
void keeper_hear_tree(struct keeper *x, bool is_heard)
{
	if (is_heard)
		(void)watch_is_changed(x->watch);
	if (is_heard || (watch_fd(x->watch) < 0 && keeper_who_runs(x)))
		prompt_hear(&x->prompt, x->sys, is_heard);
	if (x->prompt.due_us && x->sys->mono_us(x->sys) >= x->prompt.due_us)
		look_now(x);
}

/* What is there before the first call, watched from now on. */
void keeper_look_first(struct keeper *x)
{
	x->watch = watch_new(x->sys, &x->a);
	x->base.lasts = true;
	x->base.nested = nested_new(&x->a, &x->base);
	nested_watch(x->base.nested, x->watch);
	watch_walk_begins(x->watch);
	nested_look(x->base.nested, &x->base, task_tree(&x->base));
}

/* What was left is in it already. */
void keeper_end_journal(struct keeper *x)
{
	if (x->base.is_left && x->base.journal)
		close_fd(&x->base.journal->fd);
	else
		journal_end(&x->base);
}

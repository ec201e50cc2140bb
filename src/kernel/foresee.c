/* foresee.c — what would become of a decision in this workspace now: freeze, destructive mode, grants.
 *
 * `helm guard` only judges, but who asks it wants to know what will happen.  So it tells what the doors
 * that act would find behind the rules: whether everything is frozen, whether a checkpoint would answer
 * instead of a person (then it is allowed here, too), whether somebody has granted it already.  Reads only; a grant is named, not used up,
 * and its signature is looked at when it is used. */
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/freeze.h"
#include "kernel/settle.h"

#include <string.h>

struct outlook {
	const struct guard *g;
	struct arena *a;
	struct json *doc, *sentences;
};

static void tell(struct outlook *o, const char *text)
{
	json_pushs(o->a, o->sentences, text);
}

/* Makes a kernel of just what kernel_stops() needs; nothing is opened or recorded.  The cast only drops a
 * const: the workspace is not changed. */
static void look_at_stops(struct outlook *o, struct decision *d)
{
	struct json *doc, *some = json_new(o->a, JSON_ARRAY);
	struct kernel k = { .sys = o->g->sys, .ws = (struct workspace *)o->g->ws };
	const char *before = d->summary ? d->summary : "", *verdict = verdict_name(d->verdict),
		   *action = action_name(d->action);
	bool stops = kernel_stops(&k, o->a, NULL, d->profile->name, d),
	     frozen = stops && d->reason_code == REASON_SYSTEM_FROZEN;

	json_setb(o->a, o->doc, "frozen", frozen);
	json_setb(o->a, o->doc, "paused", stops && !frozen);
	if (stops) {
		json_sets(o->a, o->doc, "otherwise", verdict);
		tell(o,
			arena_printf(o->a, "without the %s: %s%s%s", frozen ? "freeze" : "pause", action,
				*before ? ", " : "", before));
	}
	if (!frozen && freeze_load(o->g->sys, o->a, o->g->ws, &doc, NULL) == OK) {
		json_each_member (m, doc) {
			json_pushs(o->a, some, m->name);
			tell(o, arena_printf(o->a, "%s is frozen: for it this is denied", m->name));
		}
	}
	json_set(o->a, o->doc, "frozen_principals", some);
}

/* Would a checkpoint answer instead of a person?  The same proof as at the doors that act, up to the reading of the files; then the
 * answer is the one they would give. */
static void look_at_saving(struct outlook *o, struct decision *d)
{
	struct workspace *ws = (struct workspace *)o->g->ws;
	struct kernel k = { .sys = o->g->sys, .ws = ws };
	struct request q = { .who = { .door = "guard" },
		.where = &o->g->at,
		.profile = d->profile,
		.containment = d->containment };
	struct handling h = { .a = o->a, .proposal = *d->proposal, .decision = *d };
	enum destructive_rule rule;
	const char *why;

	if (workspace_destructive(o->g->sys, o->a, ws, d->profile, &rule, NULL))
		return;
	json_sets(o->a, o->doc, "destructive", rule == DESTRUCTIVE_CHECKPOINT ? "checkpoint" : "ask");
	if (d->verdict != V_ESCALATE || rule != DESTRUCTIVE_CHECKPOINT)
		return;
	AUTO(workspace_leave) struct workspace *standing = ws;
	workspace_stand(k.sys, o->a, standing, o->g->at.cwd);
	if (undo_would_settle(&k, &q, &h, &why)) {
		d->verdict = V_ALLOW;
		json_sets(o->a, o->doc, "settled_by", "checkpoint");
		tell(o, "destructive=checkpoint: everything it would lose is saved first, and it runs without a question");
	} else if (why && d->destructive) {
		tell(o, arena_printf(o->a, "a checkpoint would not answer for a person: %s", why));
	}
}

/* Every grant that is in force, as far as it can be read. */
static size_t read_grants(struct outlook *o, struct grant **ret)
{
	struct json *doc;
	size_t n = 0;

	if (approvals_load(o->g->sys, o->a, o->g->ws, &doc, NULL)) {
		tell(o, "what was granted cannot be read, so nothing is");
		return 0;
	}
	const struct json *grants = json_get(doc, "grants");
	*ret = arena_zalloc(o->a, grants->n + 1, sizeof(**ret));
	json_each_member (m, grants) {
		const struct json *one =
			json_get(json_get(json_get(m->value, "receipt"), "metadata"), "grant");
		n += text_eq(grant_state(m->value, o->g->sys->now_us(o->g->sys)), "in force") &&
			grant_from_json(o->a, one, &(*ret)[n], NULL) == OK;
	}
	return n;
}

/* For each grant it is asked as if by the one it was granted to, since the caller of `helm guard` is nobody
 * in particular. */
static void look_at_grants(struct outlook *o, const char *args, const struct decision *d)
{
	struct grant *all = NULL;
	struct json *list = json_new(o->a, JSON_ARRAY);
	size_t n = d->verdict == V_ESCALATE ? read_grants(o, &all) : 0;
	bool *used = arena_zalloc(o->a, n + 1, sizeof(*used));

	json_set(o->a, o->doc, "grants", list);
	for (size_t i = 0; i < n; i++) {
		struct question q = { .principal = all[i].principal ? all[i].principal : "anybody",
			.session = all[i].session,
			.profile = d->profile->name,
			.cwd = o->g->at.cwd,
			.args_sha256 = args ? args : "",
			.now_us = o->g->sys->now_us(o->g->sys) };
		if (!grants_answer(o->a, d, &q, all, n, used) || !used[i])
			continue;
		struct json *one = json_new(o->a, JSON_OBJECT);
		json_sets(o->a, one, "grant_id", all[i].id);
		json_sets(o->a, one, "principal", all[i].principal);
		json_push(o->a, list, one);
		tell(o,
			arena_printf(o->a, "granted already to %s by %s: it runs without a question",
				all[i].principal ? all[i].principal : "anybody", all[i].id));
	}
}

/* The decision is changed only by a freeze or a pause, as at every door; everything else is told in
 * sentences. */
struct json *guard_foresee(
	const struct guard *g, struct arena *a, const char *args_sha256, struct decision *d)
{
	struct outlook o = { g, a, json_new(a, JSON_OBJECT), json_new(a, JSON_ARRAY) };

	if (!g->ws || g->ws->state_fd < 0)
		return NULL;
	json_sets(a, o.doc, "profile", d->profile->name);
	look_at_stops(&o, d);
	look_at_grants(&o, args_sha256, d);
	look_at_saving(&o, d);
	json_set(a, o.doc, "sentences", o.sentences);
	return o.doc;
}

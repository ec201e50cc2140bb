/* foresee.c — what would happen to a command here and now, in this workspace: the dry run of kernel_handle().
 *
 * Nothing here decides: the request is made as 'helm run' or a client's hook makes it, and goes through the same functions.  What follows
 * is told in sentences: a freeze, who is frozen, where it would run, what would be saved first, what was granted. */
#include "kernel/foresee.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/freeze.h"
#include "kernel/posture.h"
#include "kernel/settle.h"
#include "kernel/task/contain.h"
#include "model/command.h"

#include <string.h>
#include <unistd.h>

/* As kernel_open_unarmed() does, for a process that never signs.  The cast only drops a const: the workspace is not changed. */
static struct kernel kernel_of(const struct guard *g, struct arena *a)
{
	struct kernel k = { .sys = g->sys, .ws = (struct workspace *)g->ws, .guard = *g };
	const char *home;

	if (k.ws)
		recorder_open(&k.recorder, k.sys, k.ws->state_fd, NULL);
	if (workspace_helm_home(g->sys, a, &home, NULL) == OK)
		k.recorder.keys_dir = path_join(a, home, "keys");
	return k;
}

/* Then *h is the denial. */
static bool is_closed_to_runs(struct foresight *f, struct arena *a, struct handling *h)
{
	const struct request *q = &f->q;
	const char *const shell[] = { "sh", "-c",
		arena_strndup(a, (const char *)q->what.shell.p, q->what.shell.n) };

	return opening_conclude(&f->k, q, q->what.argv ? q->what.argv : shell,
		       q->what.argv ? q->what.argc : ARRAY_SIZE(shell), h) == OPENING_NEVER;
}

int foresee(const struct guard *g, struct arena *a, const struct foresee_question *question,
	struct foresight *ret, struct err *e)
{
	AUTO(posture_release)
	const struct workspace *held = posture_hold(g->sys, g->ws); /* one moment decides */
	struct foresight *f = ret;
	const char *name;
	const struct profile *profile;
	int rc = guard_profile(g, a, question->profile, &name, e);

	if (rc == OK)
		rc = profiles_get(&g->profiles, name, &profile, e);
	(void)held;
	if (rc)
		return rc;
	*f = (struct foresight){ .k = kernel_of(g, a), .at = g->at, .h = { .a = a } };
	f->q = (struct request){ .who = { .door = "run",
					 .subject_id = arena_printf(a, "user:%u", getuid()),
					 .known = question->more },
		.what = { .tool = question->argv ? path_base(question->argv[0]) : "sh",
			.action = "EXECUTE_COMMAND",
			.argv = question->argv,
			.argc = question->argc,
			.shell = question->shell },
		.where = &f->at,
		.profile = profile,
		.policy = question->policy,
		.mode = GUARD_ENFORCE,
		.placement = g->placement };
	kernel_rules(&f->k, &f->q, &f->h);
	if (g->is_by_client && kernel_leaves_sandbox(&f->q, &f->h)) {
		f->q.placement = UNSANDBOXED;
		f->is_moved = true;
		kernel_rules(&f->k, &f->q, &f->h);
	}
	kernel_conclude(&f->k, &f->q, &f->h);
	/* Where no client carries it out, a run does, and that denies what no approval opens its sandbox for. */
	f->is_closed = !g->is_by_client && is_closed_to_runs(f, a, &f->h);
	would_settle(&f->k, &f->q, &f->h);
	f->h.decision.verdict = f->h.verdict;
	f->h.decision.proposal = &f->h.proposal;
	return OK;
}

void foresight_done(struct foresight *f)
{
	if (f->k.sys && f->k.ws)
		recorder_close(&f->k.recorder);
}

/* ---- in words ---- */

struct outlook {
	struct foresight *f;
	struct arena *a;
	struct json *doc, *sentences;
};

static void tell(struct outlook *o, const char *text)
{
	json_pushs(o->a, o->sentences, text);
}

static void tell_stops(struct outlook *o)
{
	const struct handling *h = &o->f->h;
	struct json *doc, *some = json_new(o->a, JSON_ARRAY);
	bool frozen = h->otherwise && h->decision.reason_code == REASON_SYSTEM_FROZEN;

	json_setb(o->a, o->doc, "frozen", frozen);
	json_setb(o->a, o->doc, "paused", h->otherwise && !frozen);
	if (h->otherwise) {
		const char *summary = h->otherwise->summary ? h->otherwise->summary : "";
		json_sets(o->a, o->doc, "otherwise", verdict_name(h->otherwise->verdict));
		tell(o,
			arena_printf(o->a, "without the %s: %s%s%s", frozen ? "freeze" : "pause",
				action_name(h->otherwise->action), *summary ? ", " : "", summary));
	}
	if (!frozen && freeze_load(o->f->k.sys, o->a, o->f->k.ws, &doc, NULL) == OK) {
		json_each_member (m, doc) {
			json_pushs(o->a, some, m->name);
			tell(o, arena_printf(o->a, "%s is frozen: for it this is denied", m->name));
		}
	}
	json_set(o->a, o->doc, "frozen_principals", some);
}

/* For each grant it is asked as if by the one it was granted to: whoever asks wants to know who may. */
static void tell_grants(struct outlook *o)
{
	const struct handling *h = &o->f->h;
	struct json *list = json_new(o->a, JSON_ARRAY);
	struct grant *all = NULL;
	const char *note = NULL;
	bool is_asked = h->verdict == V_ESCALATE || h->settled.by;
	size_t n = is_asked ? grants_in_force(o->f->k.sys, o->a, o->f->k.ws, &all, &note) : 0;
	bool *used = arena_zalloc(o->a, n + 1, sizeof(*used));
	struct decision asked = h->decision;

	asked.verdict = V_ESCALATE;
	if (note)
		tell(o, note);
	json_set(o->a, o->doc, "grants", list);
	for (size_t i = 0; i < n; i++) {
		struct question q = { .principal = all[i].principal ? all[i].principal : "anybody",
			.session = all[i].session,
			.profile = h->decision.profile->name,
			.cwd = o->f->at.cwd,
			.args_sha256 = h->args_sha256,
			.now_us = o->f->k.sys->now_us(o->f->k.sys) };
		if (!grants_answer(o->a, &asked, &q, all, n, used) || !used[i])
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

static void tell_saving(struct outlook *o)
{
	const struct handling *h = &o->f->h;
	enum destructive_rule rule;

	if (workspace_destructive(o->f->k.sys, o->a, o->f->k.ws, h->decision.profile, &rule, NULL) == OK)
		json_sets(o->a, o->doc, "destructive", rule == DESTRUCTIVE_CHECKPOINT ? "checkpoint" : "ask");
	if (h->settled.by)
		json_sets(o->a, o->doc, "settled_by", h->settled.by);
	json_setb(o->a, o->doc, "saved_first", h->settled.is_covered);
	if (h->settled.is_covered)
		tell(o,
			arena_printf(o->a,
				"destructive=checkpoint: everything it would lose is saved first, and it runs without a question; undo it with '%s checkpoint restore' and the id that it prints",
				command_program()));
	else if (h->settled.why_asked && h->verdict == V_ESCALATE)
		tell(o,
			arena_printf(o->a, "a checkpoint would not answer for a person: %s",
				h->settled.why_asked));
}

/* A client carries out what leaves the sandbox, once an operator said yes.  A run never leaves its own: what that cannot open is denied there. */
static void tell_closed(struct outlook *o)
{
	struct foresight *f = o->f;
	struct handling run = f->h;
	const bool is_closed = !f->is_closed && is_closed_to_runs(f, o->a, &run);

	json_setb(o->a, o->doc, "closed_to_runs", is_closed || f->is_closed);
	if (is_closed)
		tell(o,
			arena_printf(o->a,
				"'helm run' denies it under this profile, because no approval opens its sandbox for it: %s",
				run.decision.summary));
}

/* The other entry points run nothing in a sandbox: when that changes the answer, it is the only reason. */
static void tell_placement(struct outlook *o)
{
	const struct foresight *f = o->f;
	struct foresight other;
	struct guard g = f->k.guard;
	const struct foresee_question again = { .profile = f->q.profile->name,
		.argv = f->q.what.argv,
		.argc = f->q.what.argc,
		.shell = f->q.what.shell,
		.policy = f->q.policy,
		.more = f->q.who.known };

	json_sets(o->a, o->doc, "placement", placement_name(f->h.decision.placement));
	json_setb(o->a, o->doc, "moved", f->is_moved);
	if (f->is_moved)
		tell(o, "it reaches out of the sandbox: a client runs it without one, once a person said yes");
	if (f->h.decision.placement != IN_SANDBOX)
		return;
	g.placement = UNSANDBOXED;
	if (foresee(&g, o->a, &again, &other, NULL))
		return;
	json_sets(o->a, o->doc, "unsandboxed", verdict_name(other.h.verdict));
	if (other.h.verdict != f->h.verdict)
		tell(o,
			arena_printf(o->a,
				"over HTTP, MCP and the proxy nothing runs in this sandbox, and only for that reason the answer there is %s: %s",
				verdict_name(other.h.verdict),
				other.h.decision.summary ? other.h.decision.summary : ""));
	foresight_done(&other);
}

struct json *foresight_json(struct foresight *f)
{
	struct arena *a = f->h.a;
	struct outlook o = { f, a, json_new(a, JSON_OBJECT), json_new(a, JSON_ARRAY) };

	if (!f->k.ws || f->k.ws->state_fd < 0)
		return NULL;
	json_sets(a, o.doc, "profile", f->h.decision.profile->name);
	tell_stops(&o);
	tell_grants(&o);
	tell_saving(&o);
	tell_closed(&o);
	json_set(a, o.doc, "sentences", o.sentences);
	return o.doc;
}

struct json *foresight_explain(struct foresight *f)
{
	struct json *doc = foresight_json(f);
	struct outlook o = { f, f->h.a, doc, json_get(doc, "sentences") };

	if (doc)
		tell_placement(&o);
	return doc;
}

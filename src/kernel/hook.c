/* hook.c — an agent's tool call, before and after it is made.
 *
 * Most calls only look; they pass without a word and leave a note.  Every other call goes the way of
 * everything else: understood, decided, signed and on disk, and only then answered.  The answer to a
 * refused call tells the model what was understood and what to do instead, because a model that only hears
 * "no" tries another spelling.
 *
 * Order and failure.  Before an answer is given its receipt is on disk and its row is written; an error at
 * any step is reported to the caller, who must treat it as a refusal.  The row (in the ledger of tool calls)
 * is a note for people and for the second half of the hook; the receipt is what proves. */
#include "kernel/hook.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/changes.h"
#include "kernel/edit.h"
#include "kernel/policy/policy.h"
#include "kernel/posture.h"
#include "kernel/settle.h"
#include "kernel/skill.h"
#include "kernel/task/contain.h"
#include "kernel/task/task.h"
#include "model/command.h"
#include "proof/preimage.h"
#include "remember/failure.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LOOP_ROWS = 16, LOOP_LENGTH = 3, CONTAINED_ROWS = 256 };

/* Nothing but reading what everybody may read: such calls are noted and not signed, because signing every
 * look at a file would cost more than it proves. */
static bool only_reads(const struct handling *h)
{
	if (h->verdict != V_ALLOW || !h->proposal.readable || (h->policy && h->policy->draw_count))
		return false;
	for (size_t i = 0; i < h->proposal.effect_count; i++)
		if (h->proposal.effects[i].kind != FX_READ)
			return false;
	return true;
}

/* The argument by which a person recognises the call; NULL: it has none of these.  It may hold a NUL. */
static const struct json *gist_of(const struct tool_call *call)
{
	static const char *const names[] = { "command", "cmd", "file_path", "path", "url", "pattern",
		"query" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct json *v = json_get(call->input, names[i]);
		if (json_is(v, JSON_STRING))
			return v;
	}
	return NULL;
}

/* Printable, and short where it is stored. */
static const char *shown_gist(struct arena *a, const struct tool_call *call, size_t most, bool keep_lines)
{
	const struct json *v = gist_of(call);

	return v ? text_seen(a, v->text, v->n > most ? most : v->n, keep_lines) : "";
}

static const char *preview_of(struct arena *a, const struct tool_call *call)
{
	return shown_gist(a, call, 300, false);
}

/* One call on its way to a verdict. */
struct asking {
	const char *client;
	bool can_ask;
	const struct tool_call *call;
	const struct json *more; /* facts beside those that the door knows; or NULL */
	const struct ruleset *policy; /* that is tried beside those in use; or NULL */
	struct caller caller;
	struct surroundings at;
	struct proposal proposal;
	const char *digest;
	struct request q;
	const struct profile *
		outside; /* by which its supervisor carries it out, outside the sandbox of its session; or NULL */
	bool opens; /* a yes opens something for it: it runs once in a sandbox of its own */
	struct skill_use skill; /* that this call activates; name NULL: none */
	struct json *edit; /* what it does to which file, as that is now; NULL: nobody asked */
};

/* Who called, also about what only reads: the caller's pid and start time are what later keeps an agent from approving its own request. */
static void add_caller(struct arena *a, struct json *row, const struct caller *caller)
{
	if (!caller->pid)
		return;
	json_seti(a, row, "client_pid", caller->pid);
	json_seti(a, row, "client_start", caller->start_ticks);
	if (caller->audit_session >= 0)
		json_seti(a, row, "client_audit", caller->audit_session);
}

/* Also notes what the call is expected to change, so that the second half of the hook knows where to
 * look. */
static struct json *call_row(struct kernel *k, const struct asking *x, const struct handling *h)
{
	const struct tool_call *call = x->call;
	struct arena *a = h->a;
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "at", text_time_iso(a, k->sys->now_us(k->sys)));
	json_sets(a, row, "client", x->client);
	json_sets(a, row, "session", call->session);
	if (k->session)
		json_sets(a, row, "agent_task", k->session->task_id);
	json_sets(a, row, "tool", call->tool_name);
	json_sets(a, row, "tool_use_id", call->use_id);
	json_sets(a, row, "cwd", call->cwd);
	json_sets(a, row, "preview", preview_of(a, call));
	json_sets(a, row, "input_sha256", x->digest);
	json_sets(a, row, "verdict", verdict_name(h->verdict));
	json_sets(a, row, "rule", h->decision.detail_code);
	if (x->skill.name)
		json_sets(a, row, "activates", x->skill.name);
	if (x->q.profile->terms)
		json_sets(a, row, "skill", x->q.profile->terms->skill);
	json_sets(a, row, "decision_id", h->decision_id);
	if (h->asked)
		json_set(a, row, "asked", policy_question_kept(a, h->asked));
	if (h->policy && h->policy->draw_count && (h->verdict == V_ALLOW || h->verdict == V_ESCALATE))
		json_set(a, row, h->verdict == V_ALLOW ? "draws" : "draws_if_done",
			draws_json(a, h->policy->draws, h->policy->draw_count));
	json_sets(a, row, "guard_action",
		action_name(h->rules_said ? h->rules_said->action : h->decision.action));
	struct json *expected = h->decision_id ? changes_expect(k, a, &x->at, &h->proposal) : NULL;
	if (expected)
		json_set(a, row, "expected_changes", expected);
	if (h->settled.by)
		json_sets(a, row, "settled_by", h->settled.by);
	if (h->settled.checkpoint_id)
		json_sets(a, row, "checkpoint_id", h->settled.checkpoint_id);
	if (call->is_self_test)
		json_setb(a, row, "self_test", true);
	if (x->edit)
		json_set(a, row, "edit", x->edit);
	add_caller(a, row, &x->caller);
	return row;
}

/* What to do instead, or who could open it. */
static const char *instead_of(struct kernel *k, const struct handling *h)
{
	const struct decision *d = &h->decision;
	const char *profile = d->recommended_profile;
	enum verdict other;

	if (d->decisive && d->decisive->instead)
		return d->decisive->instead;
	if (!profile && !h->policy && d->profile && !d->profile->terms && d->detail_code &&
		text_starts(d->detail_code, "profile.")) {
		const struct profile *p =
			guard_permitting(&k->guard, h->a, d->profile, &h->proposal, d, &other);
		profile = p ? p->name : NULL;
	}
	if (!profile)
		return reason_get(d->reason_code)->remedy;
	return d->profile->terms
		? arena_printf(h->a, "do without it: the contract of skill '%s' holds in this session",
			  d->profile->terms->skill)
		: arena_printf(h->a, "do without it; or a person chooses another profile: %s profile use %s",
			  command_program(), profile);
}

/* The row of a call that was decided on record: what was asked, and what let it through. */
static struct json *decided_row(struct kernel *k, const struct asking *x, const struct handling *h)
{
	struct arena *a = h->a;
	struct json *row = call_row(k, x, h);

	if (h->question) {
		json_sets(a, row, "approval_id", json_get_text(h->question, "approval_id", NULL));
		json_set(a, row, "covers", json_get(h->question, "covers"));
	}
	if (h->verdict != V_ALLOW) {
		json_sets(a, row, "remedy", instead_of(k, h));
		json_sets(a, row, "why", h->decision.summary);
	}
	return row;
}

/* Tells the model how a person can approve it, with the id of the request. */
static void explain_escalation(struct buf *text, const struct handling *h)
{
	const char *id = json_get_text(h->question, "approval_id", "");

	if (h->is_question_kept && h->decision.approvers > 1)
		buf_addf(text,
			" Escalation: %d people must approve it, each with a registered key of their own: "
			"'%s approval approve %s --key FILE'; then repeat the same call.",
			h->decision.approvers, command_program(), id);
	else if (h->is_question_kept)
		buf_addf(text,
			" Escalation: a person can approve it in a terminal of their own with '%s approval approve "
			"%s'; then repeat the same call.",
			command_program(), id);
	else
		buf_adds(text, " Escalation: ask the person.");
	if (h->approval_note)
		buf_addf(text, " Note: %s.", h->approval_note);
}

struct refusals {
	const char *session, *digest;
	size_t n;
};

/* Stops at the first call of the session that was another one, or was allowed. */
static int count_refusal(void *arg, struct json *row)
{
	struct refusals *r = arg;

	if (!text_eq(json_get_text(row, "session", ""), r->session) || !json_get(row, "verdict"))
		return 0;
	if (text_eq(json_get_text(row, "verdict", ""), "ALLOW") ||
		!text_eq(json_get_text(row, "input_sha256", ""), r->digest))
		return 1;
	r->n++;
	return 0;
}

/* The same call refused again and again: how many times in a row, this one included.  It is only told to
 * the model, so a ledger that cannot be read counts nothing. */
static size_t refusals_in_a_row(struct kernel *k, struct arena *a, const char *session, const char *digest)
{
	struct refusals r = { session, digest, 1 };

	if (session)
		(void)rows_back(
			k->sys, a, k->ws->state_fd, TOOL_CALLS, LOOP_ROWS, session, count_refusal, &r, NULL);
	return r.n;
}

/* The text the model reads, always in the same form: verdict, tool, code, receipt, rule, what to do
 * instead, how to escalate.  The self-test of the setup finds the receipt in it. */
static void explain(struct kernel *k, const struct tool_call *call, const struct handling *h, size_t in_a_row,
	struct hook_answer *ret)
{
	const struct decision *d = &h->decision;
	const struct reason *reason = reason_get(d->reason_code);
	const char *what = d->summary ? d->summary : "it could not be understood";
	const char *instead = instead_of(k, h);
	bool asks = h->verdict == V_ESCALATE;
	struct buf text;

	buf_init(&text, h->a);
	buf_addf(&text, "HELM %s %s: %s (receipt: %s) [%s] kernel=%s %s.",
		asks ? "needs approval for" : "denied", call->tool_name, reason->code,
		ret->receipt_id ? ret->receipt_id : "-",
		asks ? "APPROVAL_REQUIRED" : "INBOX_KERNEL_POLICY_DENY", reason->code, what);
	if (d->detail_code)
		buf_addf(&text, " Rule: %s.", d->detail_code);
	buf_addf(&text, " Remediation: %s%s", instead, text_ends(instead, ".") ? "" : ".");
	if (h->settled.why_asked)
		buf_addf(&text, " A checkpoint could not answer for a person: %s.", h->settled.why_asked);
	if (h->settled.checkpoint_id)
		buf_addf(&text,
			h->settled.is_covered
				? " The files were saved first; it can be undone with: %s checkpoint restore %s"
				: " Files of the workspace were saved first, which is not all that it can lose: "
				  "%s checkpoint restore %s",
			command_program(), h->settled.checkpoint_id);
	if (asks)
		explain_escalation(&text, h);
	else
		buf_adds(&text,
			" Escalation: ask the person; this cannot be approved from here. Do not retry it in "
			"another spelling.");
	if (in_a_row >= LOOP_LENGTH)
		buf_addf(&text,
			" [INBOX_DOOM_LOOP_DETECTED] The same call was refused %zu times in a row: stop, and "
			"do something else.",
			in_a_row);
	const struct json *differences = posture_differences(k->sys, h->a, k->ws);
	json_each (one, differences)
		buf_addf(&text, " Note: %s.", json_get_text(one, "text", ""));
	ret->code = reason->code;
	ret->text = text_safe(h->a, text.p, text.n, false);
	ret->short_text = text_safe(h->a, what, strlen(what), false);
}

/* What the profile says about tools that nobody knows: nothing, ask or deny. */
static void unknown_tools(const struct profile *p, const struct proposal *proposal, struct request *q)
{
	for (size_t i = 0; i < proposal->effect_count; i++) {
		const char *tag = proposal->effects[i].tag;
		if (!tag || (!text_eq(tag, "tool.unknown") && !text_eq(tag, "mcp.call")))
			continue;
		q->at_least.rule = "risk.unknown_tool";
		q->at_least.text = "it is a tool the guard does not know";
		q->at_least.effect = &proposal->effects[i];
		if (p->unknown_tool == UNKNOWN_DENY)
			q->at_least.action = ACTION_DENY;
		else if (p->unknown_tool == UNKNOWN_ASK)
			q->at_least.action = ACTION_ASK;
	}
}

/* ---- where it runs ---- */

/* Does a command of this session need what its sandbox does not let through?  Only then its supervisor carries it out. */
static const struct finding *needs_network(
	const struct kernel *k, const struct tool_call *call, const struct decision *d)
{
	if (!k->session->is_cut_off || !contain_text_of(call) || d->profile->terms)
		return NULL;
	for (size_t i = 0; i < d->finding_count; i++)
		if (text_eq(d->findings[i].rule, "profile.network"))
			return &d->findings[i];
	return NULL;
}

/* The first profile that has a network here. */
static const struct profile *wider_profile(const struct kernel *k)
{
	for (size_t i = 0; i < k->guard.profiles.count; i++) {
		const struct profile *p = &k->guard.profiles.list[i];
		if (profile_reach(p) == NETWORK_FULL && !p->handoff_required)
			return p;
	}
	return NULL;
}

/* A call of a supervised session that needs the network becomes a command of its supervisor under the wider profile, which a person is asked
 * about in any case.  The client's own question would be answered inside the session, so it is not put there. */
static bool goes_outside(struct kernel *k, struct asking *x, const struct handling *h)
{
	const struct finding *why = needs_network(k, x->call, &h->decision);
	const struct profile *wide = why ? wider_profile(k) : NULL;
	struct request *q = &x->q;

	if (!wide)
		return false;
	x->outside = q->profile = wide;
	q->placement = guard_supervised(wide);
	q->answer.can_ask = false;
	if (q->at_least.action < ACTION_ASK) {
		q->at_least.action = ACTION_ASK;
		q->at_least.rule = LEAVES_WALLS;
		q->at_least.text = "it leaves the sandbox of this session";
		q->at_least.effect = why->effect;
	}
	return true;
}

/* The rules have spoken about it where it would run.  What they ask about because it leaves the sandbox runs elsewhere after a yes, and all of it is
 * judged, and asked about, as what it is then.  True: the request has changed. */
static bool moves(struct kernel *k, struct asking *x, const struct handling *h)
{
	if (k->session)
		return goes_outside(k, x, h);
	if (!kernel_leaves_sandbox(&x->q, h))
		return false;
	x->q.placement = UNSANDBOXED;
	return true;
}

/* A session's sandbox is not widened: a call that needs an opening runs beside it, in a sandbox of the same profile.  One that can never
 * be opened is denied.  The client's own question would be answered inside, so it is not put there. */
static void judge_opening(struct kernel *k, struct asking *x, struct handling *h)
{
	const char *text = contain_text_of(x->call);
	const char *const argv[] = { "sh", "-c", text };

	if (!k->session || !text || x->outside)
		return;
	if (opening_conclude(k, &x->q, argv, ARRAY_SIZE(argv), h) == OPENING_POSSIBLE) {
		x->opens = true;
		x->q.answer.can_ask = false;
	}
}

/* What policy merely lets pass stays inside: it was let pass because there are walls.  Out goes what a person has answered. */
static bool is_answered(const struct handling *h)
{
	return h->settled.by && !text_eq(h->settled.by, "checkpoint");
}

/* Not synced: until the next receipt binds it (record/notes.c), a row that a power cut loses is a lost note. */
static int note(struct kernel *k, struct arena *a, struct json *row, struct err *e)
{
	return ledger_note(k->sys, a, k->ws->state_fd, TOOL_CALLS, row, e);
}

/* Is it a shell call that will run in the sandbox, or not at all? */
static bool is_wrapped(struct kernel *k, const struct asking *x)
{
	const struct client *c = clients_find(x->client);

	return c && c->speech && c->speech->rewrite && contain_text_of(x->call) &&
		text_eq(x->q.profile->backend, "local") && contain_is_on(k->sys, k->ws, c->name);
}

/* ---- skills ---- */

/* Whose contracts hold: of a supervised client its session, which it cannot name otherwise. */
static const char *session_key(const struct kernel *k, const struct tool_call *call)
{
	return k->session ? k->session->task_id : call->session;
}

/* A call that activates a skill is denied when its contract does not fit here. */
static void use_skill(struct kernel *k, struct asking *x, struct arena *a)
{
	const char *name = skill_called(a, x->client, x->call);
	struct err why = { 0 };

	if (!name || skill_use(k, a, name, x->q.profile, &x->skill, &why) == OK)
		return;
	x->q.at_least.action = ACTION_DENY;
	x->q.at_least.rule = "skill.contract";
	x->q.at_least.text = arena_strdup(a, why.text);
	x->skill = (struct skill_use){ 0 };
}

/* Before the answer: once the client goes on, its next calls are under the contract. */
static int activate_skill(struct kernel *k, const struct asking *x, const struct handling *h, struct err *e)
{
	const struct skill_use *use = &x->skill;
	const char *session = session_key(k, x->call);

	if (!use->name || h->verdict != V_ALLOW || (!use->contract && !use->sha256))
		return OK;
	if (!session)
		return err_set(e, E_DENIED, "SKILL_SESSION",
			"skill '%s' has a contract, and the client does not say which session it is for",
			use->name);
	int rc = use->is_new ? kernel_arm(k, e) : OK;
	if (rc == OK && use->is_new)
		rc = skill_pin(k, h->a, use->name, use->sha256, use->files, x->q.who.subject_id, NULL, e);
	return rc ? rc : skill_activate(k, h->a, x->client, session, use, e);
}

static int judge_narrowed(struct kernel *k, struct asking *x, struct handling *h, struct err *e)
{
	int rc = x->q.profile->terms ? skill_budget(h->a, x->q.profile->terms, &x->q.policy, e) : OK;

	if (rc)
		return rc;
	kernel_rules(k, &x->q, h);
	if (moves(k, x, h))
		kernel_rules(k, &x->q, h);
	kernel_conclude(k, &x->q, h); /* once */
	judge_opening(k, x, h);
	return OK;
}

/* Everything up to the verdict; nothing is written. */
static int judge(struct kernel *k, struct asking *x, struct handling *h, struct err *e)
{
	AUTO(posture_release)
	const struct workspace *held = posture_hold(k->sys, k->ws); /* one moment decides */
	struct arena *a = h->a;
	const struct tool_call *call = x->call;
	const char *chosen = k->session ? k->session->profile : NULL, *name = x->client;
	int rc = chosen ? OK : workspace_default_profile(k->sys, a, held, &chosen, e);

	x->digest = json_sha256(a, call->input);
	x->q = (struct request){ .who = { .door = arena_printf(a, "hook/%s", name),
					 .subject_id = arena_printf(a, "agent:%s", name),
					 .session = call->session,
					 .known = x->more },
		.what = { .tool = call->tool_name,
			.action = "AGENT_TOOL_CALL",
			.proposal = &x->proposal,
			.args = bytes_of(tool_call_sha256(a, call->tool_name, call->input)),
			.params = json_is(call->input, JSON_OBJECT) ? call->input : NULL,
			.preview = arena_printf(
				a, "%s: %s", call->tool_name, shown_gist(a, call, SIZE_MAX, true)),
			.is_client_tool = true,
			.caption = preview_of(a, call) },
		.where = &x->at,
		.policy = x->policy,
		.mode = GUARD_ENFORCE,
		.answer = { .can_ask = x->can_ask } };
	if (call->is_self_test) {
		x->q.what.about = json_new(a, JSON_OBJECT);
		json_setb(a, x->q.what.about, "self_test", true);
	}
	if (rc == OK)
		rc = profiles_get(&k->guard.profiles, chosen, &x->q.profile, e);
	if (rc)
		return rc;
	rc = skill_narrow(k, a, x->client, session_key(k, call), &x->q.profile, e);
	if (rc)
		return rc;
	x->q.placement = (k->session ? text_eq(x->q.profile->name, k->session->walls) : is_wrapped(k, x))
		? IN_SANDBOX
		: UNSANDBOXED;
	propose_tool(a, &x->at, call, &x->proposal);
	unknown_tools(x->q.profile, &x->proposal, &x->q);
	use_skill(k, x, a);
	edit_hold(k, a, call, x->at.cwd, &x->q, &x->edit);
	x->q.what.task_id = k->session ? k->session->task_id : NULL;
	return judge_narrowed(k, x, h, e);
}

static struct asking asking_about(
	struct kernel *k, struct arena *a, const char *client, const struct tool_call *call)
{
	return (struct asking){ .client = client, .call = call, .at = guard_at(&k->guard, a, call->cwd) };
}

int hook_foresee(struct kernel *k, const char *client, bool can_ask, const struct tool_call *call,
	const struct ruleset *policy, const struct json *more, struct handling *h, struct err *e)
{
	struct asking x = asking_about(k, h->a, client, call);

	x.can_ask = can_ask;
	x.policy = policy;
	x.more = more;
	int rc = judge(k, &x, h, e);
	if (rc == OK)
		would_settle(k, &x.q, h);
	return rc;
}

bool hook_only_looks(struct kernel *k, struct arena *a, const char *client, const struct tool_call *call)
{
	struct asking x = asking_about(k, a, client, call);
	struct handling h = { .a = a };
	struct err e = { 0 };

	return judge(k, &x, &h, &e) == OK && only_reads(&h);
}

/* A shell call that may go on does so in the sandbox, where it was judged to run there: the client is told another command. */
static int offer_sandbox(struct kernel *k, const struct asking *x, const struct handling *h,
	struct hook_answer *ret, struct err *e)
{
	const struct contain_offer o = { .client = x->client,
		.call = x->call,
		.at = &x->at,
		.caller = &x->caller,
		.profile = x->q.profile,
		.handling = h,
		.is_look = !h->decision_id };

	/* Inside a session the sandbox stands already. */
	if (k->session || x->q.placement != IN_SANDBOX || h->verdict == V_DENY ||
		(h->verdict == V_ESCALATE && (!x->can_ask || h->decision.approvers > 1)))
		return OK;
	return contain_offer(k, h->a, &o, &ret->contained, e);
}

/* The row says that the client was told another command: if it runs its own all the same, that is seen afterwards. */
static struct json *offered(struct arena *a, struct json *row, const struct hook_answer *answer)
{
	if (answer->contained)
		json_sets(a, row, "containment", "walls");
	return row;
}

/* The directory that the person started the client in: its own, which it keeps while its shells go elsewhere.  A supervised session knows
 * it; its supervisor may stand elsewhere. */
static const char *started_in(struct kernel *k, struct arena *a, const struct caller *caller)
{
	return k->session ? k->session->started : person_caller_place(k->sys, a, caller);
}

/* Where checkpoints are to be made: a command that stands elsewhere can lose the work tree all the same, and nothing but that. */
static const char *where_it_works(const struct surroundings *at)
{
	return at->work_tree && (!at->cwd || !path_is_below(at->cwd, at->work_tree)) ? at->work_tree
										     : at->cwd;
}

/* The answer starts as DENY and becomes another one only at the end, when everything is on record. */
int hook_before(struct kernel *k, struct arena *a, const char *client, bool can_ask,
	const struct tool_call *call, struct hook_answer *ret, struct err *e)
{
	struct handling h = { .a = a };
	struct asking x = { .client = client, .can_ask = can_ask, .call = call };
	AUTO(workspace_leave) struct workspace *ws = k->ws;

	person_caller(k->sys, k->session ? k->session->caller_pid : 0, &x.caller);
	x.at = guard_at_claimed(&k->guard, a, call->cwd, started_in(k, a, &x.caller));
	workspace_stand(k->sys, a, ws, where_it_works(&x.at));
	int rc = person_note_caller(k->sys, a, &x.caller, e);
	if (rc == OK)
		rc = judge(k, &x, &h, e);
	if (rc)
		return rc;
	*ret = (struct hook_answer){ .verdict = V_DENY, .code = "" };
	if (only_reads(&h)) {
		rc = activate_skill(k, &x, &h, e);
		if (rc == OK)
			rc = offer_sandbox(k, &x, &h, ret, e);
		if (rc == OK)
			rc = note(k, a, offered(a, call_row(k, &x, &h), ret), e);
		if (rc == OK)
			ret->verdict = V_ALLOW;
		ret->is_quiet = rc == OK;
		kernel_shadow(k, &h, V_ALLOW);
		return rc;
	}
	rc = kernel_record(k, &x.q, &h, e);
	size_t in_a_row = rc || h.verdict == V_ALLOW ? 0 : refusals_in_a_row(k, a, call->session, x.digest);
	if (rc == OK)
		rc = activate_skill(k, &x, &h, e);
	if (rc == OK)
		rc = offer_sandbox(k, &x, &h, ret, e);
	if (rc == OK)
		rc = note(k, a, offered(a, decided_row(k, &x, &h), ret), e);
	if (rc)
		return rc;
	const char *id = json_get_text(h.decision_receipt, "receipt_id", NULL);
	ret->receipt_id = id ? receipt_id_short(a, id) : NULL;
	if (h.verdict != V_ALLOW)
		explain(k, call, &h, in_a_row, ret);
	else if ((x.outside || x.opens) && is_answered(&h)) {
		ret->outside_profile = x.q.profile->name;
		ret->outside_terms = settled_terms(&h);
	}
	/* A client's own question is one person's answer. */
	ret->is_asked_elsewhere = x.outside || x.opens || h.decision.approvers > 1;
	ret->decision_id = h.decision_id;
	ret->cwd = x.at.cwd;
	ret->verdict = h.verdict;
	return OK;
}

/* The decision of the same call, by the client's own id of it. */
struct search {
	const char *use_id;
	const struct json *found;
};

/* The row with a verdict is the first half's; the one without is an outcome. */
static int is_the_call(void *arg, struct json *row)
{
	struct search *q = arg;

	if (!text_eq(json_get_text(row, "tool_use_id", ""), q->use_id) || !json_get(row, "verdict"))
		return 0;
	q->found = row;
	return 1;
}

/* In the packed pieces of the ledger. */
static const struct json *find_packed(struct kernel *k, struct arena *a, const char *use_id)
{
	const struct index_place at = { k->sys, a, k->ws->state_dir, k->ws->state_fd };
	struct index *x = NULL;
	struct json *found = NULL;

	if (index_open(&at, INDEX_SOON, &x, NULL) == OK)
		(void)index_call_start(x, use_id, &found, NULL);
	index_close(&x);
	return found;
}

/* By the client's own id of the call, however many calls came since.  NULL when it is not found: then there
 * is no decision to bind to.  An id that nobody knows costs no more than reading what is not packed yet. */
static const struct json *find_call(struct kernel *k, struct arena *a, const char *use_id, struct err *e)
{
	struct search q = { use_id, NULL };
	bool is_more = false;

	if (use_id)
		(void)rows_back_recent(
			k->sys, a, k->ws->state_fd, TOOL_CALLS, use_id, is_the_call, &q, &is_more, e);
	return q.found || !is_more ? q.found : find_packed(k, a, use_id);
}

/* The row that the call left when it ran inside the walls. */
static int is_contained(void *arg, struct json *row)
{
	struct search *q = arg;

	if (!text_eq(json_get_text(row, CONTAINED_USE, ""), q->use_id) ||
		!text_eq(json_get_text(row, "event", ""), CONTAINED_EVENT))
		return 0;
	q->found = row;
	return 1;
}

/* Which walls stood, how it ended and what it left behind: in the row and in the receipt, as after a run.  "none": the client was told
 * another command and ran its own. */
static const struct json *note_walls(struct kernel *k, struct arena *a, const struct json *before,
	const char *use_id, struct json *row, struct json *about)
{
	static const char *const names[] = { "protections", "left_behind", "exit_code", "exit_signal",
		"egress", "refused_by_wall" };
	struct search q = { use_id, NULL };

	if (!json_get(before, "containment"))
		return NULL;
	if (use_id)
		(void)rows_back(k->sys, a, k->ws->state_fd, TOOL_CALLS, CONTAINED_ROWS, use_id, is_contained,
			&q, NULL);
	json_sets(a, row, "containment", q.found ? "walls" : "none");
	json_sets(a, about, "containment", q.found ? "walls" : "none");
	for (size_t i = 0; i < ARRAY_SIZE(names) && q.found; i++)
		if (json_get(q.found, names[i])) {
			json_set(a, row, names[i], json_get(q.found, names[i]));
			json_set(a, about, names[i], json_get(q.found, names[i]));
		}
	return q.found;
}

/* All texts in what the client says about the call: its output, under whatever names. */
static void collect(struct buf *to, const struct json *v)
{
	enum { MOST = 64 << 10 };

	if (!v || to->n > MOST)
		return;
	if (json_text(v))
		buf_addf(to, "%s\n", json_text(v));
	json_each (one, v)
		collect(to, one);
	json_each_member (m, v)
		collect(to, m->value);
}

/* Clients that take a command's output by a pipe keep it from the one who holds the walls; after the call they tell it here. */
static const char *explain_refusal(
	struct kernel *k, struct arena *a, const struct tool_call *call, const struct json *contained)
{
	const char *name = k->session ? k->session->walls : json_get_text(contained, "profile", NULL);
	const struct profile *p;
	struct caller caller;
	struct err e = { 0 };
	struct buf said;

	if (!name || !call->response || !contain_text_of(call) || json_get(contained, "refused_by_wall") ||
		(contained && !json_get_int(contained, "exit_code", 0)) ||
		profiles_get(&k->guard.profiles, name, &p, &e))
		return NULL;
	buf_init(&said, a);
	collect(&said, call->response);
	if (!said.n)
		return NULL;
	person_caller(k->sys, 0, &caller);
	const struct surroundings at = guard_at_claimed(&k->guard, a, call->cwd, started_in(k, a, &caller));
	return refusal_in(k, a, p, &at, said.p);
}

/* Names of files go into the row; only their numbers go into the receipt, which may be shown to others. */
static void note_changes(
	struct kernel *k, struct arena *a, const struct json *before, struct json *row, struct json *about)
{
	const char *at = json_get_text(before, "at", "");
	struct changes found;
	int64_t since;

	if (!json_get_text(before, "decision_id", NULL) || !text_parse_time(at, strlen(at), &since))
		return;
	changes_find(k, a, json_get(before, "expected_changes"), json_get_text(before, "checkpoint_id", NULL),
		since, &found);
	json_set(a, row, "changed_files", found.changed);
	json_set(a, row, "deleted_files", found.deleted);
	json_setb(a, row, "changes_partial", found.is_partial);
	json_seti(a, about, "changed_files", found.changed->n);
	json_seti(a, about, "deleted_files", found.deleted->n);
}

/* Files that do not parse any more are told to the model.  In a session its supervisor answers, which starts no programs for that. */
static const char *check_written(
	struct kernel *k, struct arena *a, const struct tool_call *call, struct json *row)
{
	struct caller caller;

	if (!json_get(row, "changed_files"))
		return NULL;
	person_caller(k->sys, 0, &caller);
	const struct surroundings at = guard_at_claimed(&k->guard, a, call->cwd, started_in(k, a, &caller));
	return written_check_call(k, a, &at, !k->session, row);
}

/* What the call held is used as it was estimated. */
static const struct draw_settled *settled_of(struct arena *a, const struct json *before, size_t *ret_n)
{
	const struct json *draws = json_get(before, "draws");
	struct draw_settled *list = arena_zalloc(a, (draws ? draws->n : 0) + 1, sizeof(*list));
	struct draw d;

	*ret_n = 0;
	json_each (one, draws)
		if (draw_read(one, &d) && d.is_held)
			list[(*ret_n)++] = (struct draw_settled){ d.kind, d.key, d.window_us, d.amount };
	return list;
}

/* A call that was asked about in the client, whose person said yes there, used up what it would have: it is counted now that it is known to have been made, also beyond
 * what was left. */
static const struct draw *drawn_after(
	struct arena *a, const struct json *before, int64_t now_us, size_t *ret_n)
{
	const struct json *draws = json_get(before, "draws_if_done");
	struct draw *list = arena_zalloc(a, (draws ? draws->n : 0) + 1, sizeof(*list)), d;

	*ret_n = 0;
	json_each (one, draws) {
		if (!draw_read(one, &d))
			continue;
		bool is_open = d.kind == DRAW_WINDOW && d.window_us + d.window_length_us > now_us;
		d.limit = DRAW_NO_LIMIT;
		d.is_held = false;
		if (d.kind == DRAW_BUDGET || d.kind == DRAW_COUNT || is_open)
			list[(*ret_n)++] = d;
	}
	return list;
}

/* Is that code what a command says without failing?  "no match" of grep. */
static bool answers_by_code(struct arena *a, const struct tool_call *call, int64_t code)
{
	const char *text = contain_text_of(call);
	struct json *argv = json_new(a, JSON_ARRAY);

	if (!text)
		return false;
	json_pushs(a, argv, "sh");
	json_pushs(a, argv, "-c");
	json_pushs(a, argv, text);
	return failure_answer(a, argv, code, SIZE_MAX) != NULL;
}

/* Without a decision on record there is nothing to bind an outcome to: the row alone is written. */
int hook_after(struct kernel *k, struct arena *a, const char *client, const struct tool_call *call,
	const char **ret_text, struct err *e)
{
	const struct json *before = find_call(k, a, call->use_id, e);
	const char *decision = json_get_text(before, "decision_id", NULL);
	struct json *row = json_new(a, JSON_OBJECT), *about = json_new(a, JSON_OBJECT);

	json_sets(a, row, "at", text_time_iso(a, k->sys->now_us(k->sys)));
	json_sets(a, row, "client", client);
	json_sets(a, row, "session", call->session);
	json_sets(a, row, "tool", call->tool_name);
	json_sets(a, row, "tool_use_id", call->use_id);
	json_sets(a, row, "outcome_sha256",
		call->response ? json_sha256(a, call->response) : sha256_prefixed(a, "", 0));
	bool failed = json_get_bool(call->response, "is_error", false) ||
		json_get_bool(call->response, "interrupted", false);
	int64_t code;
	if (json_int(json_get(call->response, "exit_code"), &code)) {
		json_seti(a, row, "exit_code", code);
		failed |= code && !answers_by_code(a, call, code);
	}
	json_sets(a, row, "outcome", failed ? "failed" : "done");
	AUTO(workspace_leave) struct workspace *ws = k->ws;
	workspace_stand(k->sys, a, ws, call->cwd);
	note_changes(k, a, before, row, about);
	const struct json *contained = note_walls(k, a, before, call->use_id, row, about);
	const char *refusal = explain_refusal(k, a, call, contained);
	if (refusal) {
		json_sets(a, row, "refused_by_wall", refusal);
		json_sets(a, about, "refused_by_wall", refusal);
	}
	const char *broken = check_written(k, a, call, row);
	*ret_text = refusal && broken ? arena_printf(a, "%s\n%s", refusal, broken)
		: broken	      ? broken
				      : refusal;
	edit_after(k, a, before, row);
	int rc = note(k, a, row, e);
	/* A call that only read left no decision to bind an outcome to. */
	if (rc || !decision || (rc = kernel_arm(k, e)))
		return rc;
	/* The client asked, and its person said yes. */
	const char *asked = json_get_text(before, "approval_id", NULL);
	if (asked && (rc = approval_answered_elsewhere(k, a, asked, e)))
		return rc;
	json_sets(a, about, "door", arena_printf(a, "hook/%s", client));
	if (call->session)
		json_sets(a, about, "session", call->session);
	if (json_get(row, "exit_code"))
		json_set(a, about, "exit_code", json_get(row, "exit_code"));
	struct draft d = { .receipt_id = arena_printf(a, "rcpt_%s_outcome", decision),
		.decision_id = decision,
		.effect_id = "AGENT_TOOL_CALL",
		.status = failed ? "FAILED" : "COMPLETED",
		.verdict = json_get_text(before, "verdict", ""),
		.policy_hash = k->policy_hash,
		.args_hash = json_get_text(before, "input_sha256", ""),
		.output_hash = json_get_text(row, "outcome_sha256", ""),
		.executor_id = arena_printf(a, "agent:%s", client),
		.correlation_id = call->session,
		.type = "outcome",
		.tool_name = call->tool_name,
		.metadata = about };
	d.settles = settled_of(a, before, &d.settle_count);
	d.draws = drawn_after(a, before, k->sys->now_us(k->sys), &d.draw_count);
	rc = recorder_append(&k->recorder, a, &d, 1, NULL, e);
	if (rc == OK)
		kernel_tidy(k, a); /* the tool is done, and nobody waits for a verdict */
	return rc;
}

/* kernel.c — the product in one function: kernel_handle().
 *
 * Every line of it is a stage, every stage a folder.  The order is the promise: what was not understood is
 * still decided and on record; nothing runs before its decision is on disk; what ran leaves a second
 * record.
 *
 * Nothing here remembers a request: what belongs to it lives in its struct handling and in that one's
 * arena.
 *
 * Where it closes.  Deciding can only say ALLOW, ESCALATE or DENY, and says DENY when in doubt.  Settling
 * can turn ESCALATE into ALLOW and nothing else.  Recording can fail, and then whoever asked is told an
 * error, which every door treats as "not done". */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/chain_key.h"
#include "kernel/edit.h"
#include "kernel/freeze.h"
#include "kernel/policy/policy.h"
#include "kernel/posture_parts.h"
#include "kernel/settle.h"
#include "kernel/skill.h"
#include "kernel/task/contain.h"
#include "kernel/task/task.h"
#include "privacy/privacy.h"
#include "proof/preimage.h"
#include "record/shown.h"

#include <fcntl.h>
#include <string.h>

static int no_key(struct err *e)
{
	return err_set(e, E_MISSING, "KEY_MISSING",
		"there is no signing key yet, so nothing can be recorded; 'helm key create' makes one");
}

/* Keys belong to the user, not to a workspace: they lie in the helm home. */
static int keys_dir(struct sys *s, struct arena *a, const char **ret, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(s, a, &home, e);

	if (rc == OK)
		*ret = arena_printf(a, "%s/keys", home);
	return rc;
}

/* Only looks whether a key file exists; loading it is left to kernel_arm().  A hook that merely lets a read
 * pass never needs it. */
int kernel_open_unarmed(
	struct sys *s, struct arena *a, struct workspace *ws, struct kernel *ret, struct err *e)
{
	struct kernel k = { .sys = s, .ws = ws };
	const char *keys;
	int rc = guard_open(s, a, ws, NULL, &k.guard, e);

	if (rc == OK)
		rc = keys_dir(s, a, &keys, e);
	if (rc)
		return rc;
	if (!file_exists(s, AT_FDCWD, arena_printf(a, "%s/root.key", keys)) &&
		!file_exists(s, AT_FDCWD, arena_printf(a, "%s/" SIGNER_FILE, keys)))
		return no_key(e);
	k.policy_hash = arena_printf(a, "sha256:%s", policy_sha256(a, k.guard.policy));
	recorder_open(&k.recorder, s, ws->state_fd, NULL);
	k.recorder.keys_dir = keys;
	*ret = k;
	return OK;
}

static int check_record(struct kernel *k, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };

	return chain_key_check(k->sys, &a, k->ws, k->key, e);
}

/* Loads the key once.  Everything that signs calls this first.  From then on the recorder has the key in
 * force: it takes another one when keys were rotated meanwhile. */
int kernel_arm(struct kernel *k, struct err *e)
{
	const bool is_new = !k->key;
	int rc = OK;

	if (!k->key) {
		recorder_mark_key(&k->recorder);
		rc = keys_load(k->sys, AT_FDCWD, k->recorder.keys_dir, &k->key, e);
	}
	if (rc == OK && is_new)
		rc = check_record(k, e);
	if (rc && is_new)
		key_free(&k->key);
	if (rc)
		return rc == E_MISSING ? no_key(e) : rc;
	if (!k->recorder.key)
		k->recorder.key = k->key;
	posture_settle(k);
	return OK;
}

int kernel_open(struct sys *s, struct arena *a, struct workspace *ws, struct kernel *ret, struct err *e)
{
	struct kernel k;
	int rc = kernel_open_unarmed(s, a, ws, &k, e);

	if (rc == OK)
		rc = kernel_arm(&k, e);
	if (rc == OK)
		*ret = k;
	return rc;
}

/* An existing key that cannot be read is an error; only a missing one is made. */
int kernel_ensure_key(struct sys *s, struct arena *a, bool *ret_created, struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	const char *home, *dir;
	int rc = workspace_helm_home(s, a, &home, e);

	if (rc == OK)
		rc = keys_dir(s, a, &dir, e);
	if (rc)
		return rc;
	rc = keys_load(s, AT_FDCWD, dir, &key, e);
	*ret_created = rc == E_MISSING;
	if (rc == E_MISSING && file_mkdirs(s, AT_FDCWD, home, 0700, e)) {
		const struct err why = *e;
		return err_set(e, why.rc, why.code,
			"%s; HELM_HOME can name another place for what Helm keeps", why.text);
	}
	if (!*ret_created)
		return rc;
	rc = keys_create(s, AT_FDCWD, dir, &key, e);
	if (rc == OK || !text_eq(e->code, "KEY_EXISTS"))
		return rc;
	/* Somebody else was quicker, and had the lock until all of it was there. */
	*ret_created = false;
	return keys_load(s, AT_FDCWD, dir, &key, e);
}

void kernel_close(struct kernel *k)
{
	recorder_close(&k->recorder);
	key_free(&k->key);
}

/* ---- propose and decide ---- */

/* A freeze comes before a pause, so that its reason is the one that is told. */
bool kernel_stops(
	struct kernel *k, struct arena *a, const char *principal, const char *profile, struct decision *d)
{
	AUTO(posture_release) const struct workspace *held = posture_hold(k->sys, k->ws);
	const char *frozen = freeze_in_force(k->sys, a, k->ws, principal);
	(void)held; /* one moment decides */
	const char *instead, *paused = frozen ? NULL : pause_in_force(k, a, profile, &instead);

	if (frozen)
		guard_raise(a, ACTION_DENY, freeze_code(k->sys, k->ws, principal), FREEZE_RULE, frozen, d);
	if (paused)
		guard_raise(a, ACTION_DENY, REASON_POLICY_VIOLATION, PAUSE_RULE, paused, d)->instead =
			instead;
	return frozen || paused;
}

/* The door asks too.  Its reason is added to those of the rules, so that a grant or a checkpoint must
 * answer it as well. */
static void add_ask(struct arena *a, const struct request *q, struct decision *d)
{
	struct ask *asks = arena_alloc(a, (d->ask_count + 2) * sizeof(*asks));

	if (d->ask_count)
		memcpy(asks, d->asks, d->ask_count * sizeof(*asks));
	asks[d->ask_count++] = (struct ask){ q->at_least.rule, q->at_least.effect, UNDO_NONE };
	if (q->at_least.also)
		asks[d->ask_count++] = (struct ask){ q->at_least.also, q->at_least.effect, UNDO_NONE };
	d->asks = asks;
}

/* The exact input as a digest: receipts prove what was asked without repeating it, since it may hold
 * secrets. */
const char *request_sha256(struct arena *a, const struct request *q)
{
	if (q->what.args.p)
		return sha256_prefixed(a, q->what.args.p, q->what.args.n);
	if (!q->what.argv)
		return sha256_prefixed(a, q->what.shell.p, q->what.shell.n);
	struct json *argv = json_new(a, JSON_ARRAY);
	for (size_t i = 0; i < q->what.argc; i++)
		json_pushs(a, argv, q->what.argv[i]);
	return json_sha256(a, argv);
}

const char *tool_call_sha256(struct arena *a, const char *tool, const struct json *input)
{
	struct json *o = json_new(a, JSON_OBJECT);

	json_sets(a, o, "tool", tool);
	json_set(a, o, "input", input ? json_copy(a, input) : json_new(a, JSON_OBJECT));
	return json_sha256(a, o);
}

/* From the input to effects.  What cannot be understood becomes a proposal that is not readable, which the
 * rules treat as risky; it is never an error. */
static void understand(const struct request *q, struct handling *h)
{
	if (q->what.proposal)
		h->proposal = *q->what.proposal;
	else if (q->what.argv)
		propose_argv(h->a, q->where, q->what.argv, q->what.argc, &h->proposal);
	else
		propose_shell(h->a, q->where, q->what.shell, &h->proposal);
}

/* What a person starts themselves, and what a decision on record has permitted already, was asked about there: the calls of the
 * session are, each for itself. */
static bool asks_policy(const struct request *q)
{
	return !text_eq(q->who.door, "agent") && !text_eq(q->who.door, "outside");
}

/* The arguments as policies see them, where the door has none of its own. */
static const struct json *params_of(const struct request *q, struct arena *a)
{
	struct json *params, *argv;

	if (q->what.params)
		return q->what.params;
	params = json_new(a, JSON_OBJECT);
	if (!q->what.argv) {
		json_set(a, params, "command",
			json_stringn(a, (const char *)q->what.shell.p, q->what.shell.n));
		return params;
	}
	argv = json_new(a, JSON_ARRAY);
	for (size_t i = 0; i < q->what.argc; i++)
		json_pushs(a, argv, q->what.argv[i]);
	json_set(a, params, "argv", argv);
	return params;
}

/* Whose limits: a supervisor knows its session, and a hook is told by the client.  What the environment of a run says is the word of whoever starts it, and
 * nobody gets a fresh limit by it. */
static const char *session_of(const struct kernel *k, const struct request *q)
{
	if (k->session)
		return k->session->task_id;
	return text_eq(q->who.door, "run") ? NULL : q->who.session;
}

/* What was used up so far; looked at again when something is drawn, so that two at once never take the last of it twice. */
static void sum_up(
	struct kernel *k, const struct request *q, struct handling *h, struct policy_question *asked)
{
	struct err e = { 0 };

	if (policy_is_bounded(k->sys, h->a, k->ws, q->policy) &&
		recorder_drawn(&k->recorder, h->a, &asked->drawn, &e))
		asked->drawn_error = arena_strdup(h->a, e.text);
}

static void ask_policy(struct kernel *k, const struct request *q, struct handling *h)
{
	const struct policy_door door = { .door = q->who.door,
		.profile = q->profile,
		.cwd = q->where->cwd,
		.placement = h->decision.placement,
		.is_supervised = k->session != NULL,
		.rules = q->policy,
		.more = q->who.known };
	struct policy_question *asked;
	struct decision *said;

	if (!asks_policy(q))
		return;
	asked = arena_zalloc(h->a, 1, sizeof(*asked));
	*asked = (struct policy_question){ .action = q->what.action,
		.tool = q->what.tool,
		.principal = q->who.subject_id,
		.session = session_of(k, q),
		.effect_id = q->what.effect_id,
		.budget_id = q->what.budget_id,
		.pdp = q->what.pdp,
		.params = params_of(q, h->a),
		.context = q->what.context,
		.proposal = &h->proposal,
		.now_us = h->decision.evaluated_us };
	policy_tools(h->a, asked, text_eq(q->what.action, "EXECUTE_COMMAND") && !q->what.proposal);
	struct json *known = policy_door_facts(k->sys, h->a, k->ws, &door, asked);
	json_each_member (m, q->who.known)
		json_set(h->a, known, m->name, m->value);
	asked->known = known;
	said = arena_alloc(h->a, sizeof(*said));
	*said = h->decision;
	h->asked = asked;
	h->rules_said = said;
	sum_up(k, q, h, asked);
	h->policy = policy_ask(k->sys, h->a, k->ws, q->policy, asked, said);
	/* Now, while what this very request takes is not in the sum. */
	h->shadow = policy_shadow_ask(k, h->a, asked, said);
}

/* A policy stands above every mode of the guard, as a freeze does. */
static void obey_policy(struct handling *h)
{
	if (!h->policy)
		return;
	policy_raise(h->a, h->policy, &h->decision);
	if (h->policy->verdict == V_ESCALATE && h->verdict == V_ALLOW)
		h->verdict = V_ESCALATE;
	if (h->policy->verdict != V_ESCALATE && h->policy->verdict != V_ALLOW)
		h->verdict = V_DENY;
}

static struct decide_context context_of(const struct kernel *k, const struct request *q,
	const struct handling *h, enum placement placement, int64_t now_us)
{
	return (struct decide_context){ .a = h->a,
		.mode = q->mode,
		.placement = placement,
		.workspace = k->ws ? k->ws->root : q->where->work_tree,
		.home = q->where->home,
		.task_name = q->what.task_name,
		.task_goal = q->what.task_goal,
		.policy_sha256 = k->policy_hash ? k->policy_hash + strlen("sha256:") : NULL,
		.now_us = now_us };
}

void kernel_rules(struct kernel *k, const struct request *q, struct handling *h)
{
	const struct decide_context context = context_of(
		k, q, h, guard_relied(k->sys, k->ws, q->profile, q->placement), k->sys->now_us(k->sys));

	if (!h->args_sha256) {
		h->args_sha256 = request_sha256(h->a, q);
		understand(q, h);
	}
	decide(k->guard.policy, q->profile, &h->proposal, &context, &h->decision);
	h->verdict = decision_effective(&h->decision);
}

bool kernel_leaves_sandbox(const struct request *q, const struct handling *h)
{
	return q->placement == IN_SANDBOX && h->verdict == V_ESCALATE &&
		!contain_fits(&h->decision, &h->proposal, q->profile);
}

/* A freeze or a pause is said with what it keeps from happening. */
static void obey_stops(struct kernel *k, const struct request *q, struct handling *h)
{
	const struct decision before = h->decision;
	const enum verdict verdict = h->verdict;

	if (!kernel_stops(k, h->a, q->who.subject_id, q->profile->name, &h->decision))
		return;
	struct decision *otherwise = arena_alloc(h->a, sizeof(*otherwise));
	*otherwise = before;
	otherwise->verdict = verdict;
	h->otherwise = otherwise;
	h->verdict = V_DENY;
}

/* What the entry point demands, then the contract of a skill, then the policy in use, then freeze and pause: each can only make the answer stricter.
 * Reads, but writes nothing.  Without a workspace nobody has put anything in use. */
void kernel_conclude(struct kernel *k, const struct request *q, struct handling *h)
{
	const struct decide_context context =
		context_of(k, q, h, h->decision.placement, h->decision.evaluated_us);

	k->decided_count++;
	decide_advice(k->guard.policy, &k->guard.profiles, &h->proposal, &context, &h->decision);
	if (q->at_least.action == ACTION_ASK)
		add_ask(h->a, q, &h->decision);
	if (q->at_least.action > h->decision.action)
		guard_raise(h->a, q->at_least.action,
			q->at_least.code			    ? *q->at_least.code
				: q->at_least.action == ACTION_DENY ? REASON_POLICY_VIOLATION
								    : REASON_APPROVAL_REQUIRED,
			q->at_least.rule, q->at_least.text, &h->decision);
	h->verdict = decision_effective(&h->decision);
	if (k->ws && k->ws->state_fd >= 0) {
		if (skill_stops(k, q, h))
			h->verdict = V_DENY;
		ask_policy(k, q, h);
		obey_policy(h);
		obey_stops(k, q, h);
	}
	/* The sentence names paths and addresses of the call, and every entry point passes it on. */
	if (h->decision.summary)
		h->decision.summary = privacy_redact_text(h->a, h->decision.summary);
}

void kernel_decide(struct kernel *k, const struct request *q, struct handling *h)
{
	h->args_sha256 = NULL; /* nothing of an earlier answer counts */
	h->otherwise = NULL;
	kernel_rules(k, q, h);
	kernel_conclude(k, q, h);
}

/* ---- record ---- */

/* Which policy answered, by what, and what profiles and guard rules were in force beside it. */
static struct json *about_policy(const struct handling *h)
{
	const struct policy_answer *p = h->policy;
	const struct {
		const char *name, *value;
	} texts[] = { { "name", p->name }, { "version", p->version }, { "verdict", verdict_name(p->verdict) },
		{ "rule", p->rule }, { "origin", p->origin }, { "gate", p->gate },
		{ "gate_roster", p->roster_sha256 } };
	struct json *doc = json_new(h->a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].value)
			json_sets(h->a, doc, texts[i].name, texts[i].value);
	json_seti(h->a, doc, "epoch", (int64_t)p->epoch);
	if (p->bound) {
		struct json *bound = json_copy(h->a, p->bound);
		privacy_redact_json(h->a, bound);
		receipt_plain_numbers(h->a, bound); /* a caller may have said 1.5 */
		json_set(h->a, doc, "bound", bound);
	}
	return doc;
}

/* Over the text as the row of the ledger has it, so that who is shown that row's text can tell that it is the one that was judged. */
static const char *caption_sha256(struct arena *a, const char *caption)
{
	size_t n;
	const char *text = privacy_redact(a, caption, strlen(caption), &n);

	return sha256_hex(a, text, n);
}

/* What both receipts of one request say about it.  "approved" is set only where a person said yes: a
 * checkpoint or a handoff is no approval. */
static struct json *about(const struct request *q, const struct handling *h)
{
	struct arena *a = h->a;
	struct json *doc = q->what.about ? json_copy(a, q->what.about) : json_new(a, JSON_OBJECT);

	json_sets(a, doc, "door", q->who.door);
	json_sets(a, doc, "profile", q->profile->name);
	json_sets(a, doc, "guard_action", action_name(h->decision.action));
	json_sets(a, doc, "guard_mode", guard_mode_name(q->mode));
	json_sets(a, doc, "containment", containment_name(h->decision.placement));
	if (h->decision.detail_code)
		json_sets(a, doc, "rule", h->decision.detail_code);
	if (q->profile->terms)
		json_sets(a, doc, "skill_contract", q->profile->terms->skill);
	if (h->proposal.file_count)
		json_set(a, doc, "judged_files", judged_files(a, &h->proposal));
	if (h->policy)
		json_set(a, doc, "policy", about_policy(h));
	if (q->who.session)
		json_sets(a, doc, "session", q->who.session);
	if (q->what.task_id)
		json_sets(a, doc, "task_id", q->what.task_id);
	if (q->what.caption)
		json_sets(a, doc, "preview_sha256", caption_sha256(a, q->what.caption));
	if (h->settled.by) {
		if (!text_eq(h->settled.by, "checkpoint") && !text_eq(h->settled.by, "handoff") &&
			!text_eq(h->settled.by, "started") && !text_eq(h->settled.by, "policy"))
			json_setb(a, doc, "approved", true);
		json_sets(a, doc, "settled_by", h->settled.by);
	}
	json_each_member (m, h->settled.about)
		json_set(a, doc, m->name, m->value);
	if (h->question) {
		json_sets(a, doc, "approval_id", json_get_text(h->question, "approval_id", ""));
		json_sets(a, doc, "request_sha256", h->question_sha256);
	}
	return doc;
}

/* The one policy that answered: that which a person put in use, or else profiles and guard rules. */
static const char *policy_of(const struct kernel *k, const struct handling *h)
{
	return h->policy ? h->policy->sha256 : k->policy_hash;
}

/* What both receipts of one request have in common. */
static struct draft draft_of(const struct kernel *k, const struct request *q, const struct handling *h)
{
	return (struct draft){ .decision_id = h->decision_id,
		.effect_id = q->what.action,
		.verdict = verdict_name(h->verdict),
		.policy_hash = policy_of(k, h),
		.args_hash = h->args_sha256,
		.executor_id = q->who.subject_id,
		.correlation_id = q->who.session,
		.tool_name = q->what.tool };
}

/* What the policy counts when it is allowed, and what the door does whenever there is an answer. */
static const struct draw *draws_of(const struct request *q, const struct handling *h, size_t *ret_n)
{
	size_t counted = h->policy && h->verdict == V_ALLOW ? h->policy->draw_count : 0;
	size_t own = h->verdict == V_ESCALATE ? 0 : q->what.draw_count;

	*ret_n = counted + own;
	if (!own)
		return counted ? h->policy->draws : NULL;
	struct draw *list = arena_zalloc(h->a, counted + own, sizeof(*list));
	if (counted)
		memcpy(list, h->policy->draws, counted * sizeof(*list));
	memcpy(list + counted, q->what.draws, own * sizeof(*list));
	return list;
}

/* Signs the decision record, and says what the receipt around it will be.  The record's phenotype_hash binds it to the question that was put,
 * or to what answered it. */
static int draft_decision(
	struct kernel *k, const struct request *q, struct handling *h, struct draft *ret, struct err *e)
{
	const char *reason = h->verdict == V_ALLOW ? "" : reason_get(h->decision.reason_code)->code;
	struct json *record;
	char *content_hash, *id;
	int rc = record_new_id(h->a, k->sys, "dec-", &id, e);

	if (rc)
		return rc;
	struct decision_draft d = { .id = id,
		.verdict = verdict_name(h->verdict),
		.subject_id = q->who.subject_id,
		.action = q->what.action,
		.resource = q->what.tool,
		.effect_digest = h->args_sha256 + strlen("sha256:"),
		.policy_content_hash = policy_of(k, h),
		.policy_version =
			h->policy ? h->policy->version : arena_printf(h->a, "%d", h->decision.policy_version),
		.policy_epoch =
			h->policy ? arena_printf(h->a, "%llu", (unsigned long long)h->policy->epoch) : NULL,
		.gate_roster_hash = h->policy ? h->policy->roster_sha256 : NULL,
		.reason = h->decision.detail_code,
		.reason_code = reason,
		.phenotype_hash = h->question ? h->question_sha256
			: h->settled.about    ? json_sha256(h->a, h->settled.about)
					      : NULL };
	rc = record_decision(h->a, k->sys, k->recorder.key, &d, &record, &content_hash, e);
	if (rc)
		return rc;
	h->decision_id = id;
	struct draft r = draft_of(k, q, h);
	r.type = "decision";
	r.status = d.verdict;
	r.reason_code = reason;
	r.output_hash = content_hash;
	r.metadata = about(q, h);
	if (h->shown_sha256)
		json_sets(h->a, r.metadata, SHOWN_MEMBER, h->shown_sha256);
	r.subject = record;
	r.draws = draws_of(q, h, &r.draw_count);
	*ret = r;
	return OK;
}

/* Signs the receipt and writes it; not yet known to be on disk.  Where many are answered at once it is on disk when the group returns, and there is
 * nothing left to finish. */
static int put_decision(struct kernel *k, struct handling *h, const struct draft *d, struct err *e)
{
	return k->group ? recorder_group_append(k->group, h->a, d, 1, &h->decision_receipt, e)
			: recorder_begin(&k->recorder, h->a, d, 1, &h->decision_receipt, e);
}

/* Again and again somebody else was quicker to take what was left: it is denied, and that is on record. */
static int begin_exhausted(struct kernel *k, const struct request *q, struct handling *h, struct err *e)
{
	guard_raise(h->a, ACTION_DENY, REASON_BUDGET_EXCEEDED, POLICY_RULE "budget",
		"What it would use up was taken by others meanwhile.", &h->decision);
	h->verdict = V_DENY;
	*e = (struct err){ 0 };
	struct draft d;
	int rc = draft_decision(k, q, h, &d, e);
	return rc ? rc : put_decision(k, h, &d, e);
}

/* Waits for the disk.  A failure is remembered in the request, so that no later step can treat it as
 * recorded. */
int kernel_commit(struct kernel *k, struct handling *h, struct err *e)
{
	int rc = recorder_finish(&k->recorder, h->a, e);

	if (rc)
		h->is_unrecorded = true;
	return rc;
}

/* If the question cannot be kept, the answer stays the same: nothing happens either way.  The note tells
 * whoever reads the answer. */
static void keep_question(struct kernel *k, struct handling *h)
{
	struct err e = { 0 };

	if (approval_keep(k, h, &e) == OK)
		h->is_question_kept = true;
	else if (!h->approval_note)
		h->approval_note = arena_printf(h->a, "the request could not be kept: %s", e.text);
}

void kernel_shadow(struct kernel *k, struct handling *h, enum verdict decided)
{
	if (h->asked)
		policy_shadow_note(k, h->a, h->shadow, h->asked, h->rules_said, decided,
			h->decision.detail_code, h->decision_id);
}

void kernel_make_shown(struct kernel *k, const struct request *q, struct handling *h)
{
	struct shown_asked asked = { .tool = q->what.tool,
		.preview = q->what.preview ? q->what.preview : q->what.tool,
		.arguments = params_of(q, h->a) };

	if (h->shown)
		return;
	if (q->what.is_client_tool && h->verdict != V_DENY)
		asked.diff =
			edit_diff(k->sys, h->a, q->what.tool, asked.arguments, q->where->cwd, &asked.note);
	h->shown = shown_make(h->a, &asked);
	h->shown_sha256 = json_sha256(h->a, h->shown);
}

/* What was asked, as people may read it: kept before the receipt that has its digest, for every entry point here and nowhere else.  When it cannot be
 * kept, the receipt says so by its digest, and nobody can read it; that is no reason to stop. */
static void keep_shown(struct kernel *k, const struct request *q, struct handling *h)
{
	struct err e = { 0 };

	kernel_make_shown(k, q, h);
	if (!h->is_shown_kept && k->ws && k->ws->state_fd >= 0)
		(void)shown_keep(k->sys, h->a, k->ws->state_fd, q->who.session, h->shown, &e);
	h->is_shown_kept = true;
}

/* What was judged to fit does not fit any more, by what others drew meanwhile or because a window closed: nothing is written yet, and
 * everything is asked again by what is drawn now. */
static void decide_again(struct kernel *k, const struct request *q, struct handling *h)
{
	h->settled = (struct settlement){ 0 };
	h->question = NULL;
	h->question_sha256 = NULL;
	kernel_decide(k, q, h);
}

static int settle_and_draft(
	struct kernel *k, const struct request *q, struct handling *h, struct recording *ret, struct err *e)
{
	ret->decided = h->verdict;
	keep_shown(k, q, h);
	if (h->verdict == V_ESCALATE)
		settle(k, q, h); /* has the question been answered already? */
	if (h->verdict == V_ALLOW)
		undo_save_overwritten(k, q, h);
	return draft_decision(k, q, h, &ret->draft, e);
}

int kernel_record_begin(
	struct kernel *k, const struct request *q, struct handling *h, struct recording *ret, struct err *e)
{
	int rc = kernel_arm(k, e);

	return rc ? rc : settle_and_draft(k, q, h, ret, e);
}

/* What others drew meanwhile is asked about again, so often and no more. */
int kernel_record_end(struct kernel *k, const struct request *q, struct handling *h, struct recording *made,
	int rc, struct err *e)
{
	enum { TRIES = 3 };

	for (int tries = 0; rc && text_eq(e->code, "DRAW_REFUSED"); tries++) {
		if (tries == TRIES) {
			rc = begin_exhausted(k, q, h, e);
			break;
		}
		*e = (struct err){ 0 };
		decide_again(k, q, h);
		rc = settle_and_draft(k, q, h, made, e);
		if (rc == OK)
			rc = put_decision(k, h, &made->draft, e);
	}
	/* Whoever acts here waits for the disk itself, as late as possible; any other answer is on disk
	 * before it is given. */
	if (rc == OK && !(h->verdict == V_ALLOW && q->is_done_here))
		rc = kernel_commit(k, h, e);
	if (rc)
		return err_wrap(e, "not recorded, so not done");
	if (h->question)
		keep_question(k, h);
	kernel_shadow(k, h, made->decided);
	return OK;
}

/* settle() comes before the record, because the record says how the question was answered.  The question is
 * kept after it, because it is kept together with the signed receipt. */
int kernel_record(struct kernel *k, const struct request *q, struct handling *h, struct err *e)
{
	struct recording made;
	int rc = kernel_arm(k, e);

	if (rc)
		return rc;
	rc = settle_and_draft(k, q, h, &made, e);
	if (rc == OK)
		rc = put_decision(k, h, &made.draft, e);
	return kernel_record_end(k, q, h, &made, rc, e);
}

/* ---- execute, and record again ---- */

/* The last gate before something is done.  Checks again that it was allowed and recorded, so that no order
 * of calls in a caller can get around it. */
int kernel_permit(struct kernel *k, struct handling *h, struct err *e)
{
	if (h->verdict != V_ALLOW || !h->decision_receipt || h->is_unrecorded)
		return err_set(
			e, E_DENIED, "KERNEL_PERMIT", "it was not allowed on record, so it is not done");
	int rc = kernel_commit(k, h, e);
	return rc ? err_wrap(e, "not recorded, so not done") : OK;
}

/* What was held is used as it was estimated, or free again when nothing was done: nobody here knows a truer price. */
static const struct draw_settled *settled_draws(const struct handling *h, bool is_undone, size_t *ret_n)
{
	size_t n = h->policy ? h->policy->draw_count : 0;
	struct draw_settled *list = arena_zalloc(h->a, n + 1, sizeof(*list));

	*ret_n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct draw *d = &h->policy->draws[i];
		if (d->is_held)
			list[(*ret_n)++] = (struct draw_settled){ d->kind, d->key, d->window_us,
				is_undone ? 0 : d->amount };
	}
	return list;
}

/* The second receipt: what happened.  When it fails the effect has happened all the same, so the error has
 * its own code. */
int kernel_outcome(struct kernel *k, const struct request *q, struct handling *h, const struct json *happened,
	const char *status, struct err *e)
{
	struct draft r = draft_of(k, q, h);

	r.receipt_id = arena_printf(h->a, "rcpt_%s_outcome", h->decision_id);
	r.type = "outcome";
	r.status = status;
	r.output_hash = json_sha256(h->a, happened);
	r.metadata = about(q, h);
	r.settles = settled_draws(h, text_eq(status, "NOT_EXECUTED"), &r.settle_count);
	json_each_member (m, happened)
		json_set(h->a, r.metadata, m->name, m->value);
	int rc = k->group ? recorder_group_append(k->group, h->a, &r, 1, &h->outcome_receipt, e)
			  : recorder_append(&k->recorder, h->a, &r, 1, &h->outcome_receipt, e);
	if (rc)
		snprintf(e->code, sizeof(e->code), "RECORD_OUTCOME");
	return rc;
}

void kernel_tidy(struct kernel *k, struct arena *a)
{
	struct err e = { 0 };
	size_t sealed;

	(void)ledger_seal(&k->recorder, a, &sealed, &e);
}

int kernel_handle(struct kernel *k, const struct request *q, struct handling *h, struct err *e)
{
	kernel_decide(k, q, h); /* propose and decide: pure, at worst DENY */
	return kernel_record(k, q, h, e); /* settle; signed, chained, durable */
}

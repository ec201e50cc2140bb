/* kernel.c — the product in one function: kernel_handle().
 *
 * Every line of it is a stage, every stage a folder.  The order is the promise: what was not understood is still decided and on
 * record; nothing runs before its decision is on disk; what ran leaves a second record. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "kernel/freeze.h"
#include "kernel/settle.h"
#include "kernel/task/task.h"

#include <fcntl.h>
#include <string.h>

static int no_key(struct err *e)
{
	return err_set(e, E_MISSING, "KEY_MISSING",
		"there is no signing key yet, so nothing can be recorded; 'helm key create' makes one");
}

static int keys_dir(struct sys *s, struct arena *a, const char **ret, struct err *e)
{
	const char *home;
	int rc = workspace_helm_home(s, a, &home, e);

	if (rc == OK)
		*ret = arena_printf(a, "%s/keys", home);
	return rc;
}

int kernel_open_unarmed(
	struct sys *s, struct arena *a, struct workspace *ws, struct kernel *ret, struct err *e)
{
	struct kernel k = { .sys = s, .a = a, .ws = ws };
	const char *keys;
	int rc = guard_open(s, a, ws, NULL, &k.guard, e);

	if (rc == OK)
		rc = keys_dir(s, a, &keys, e);
	if (rc)
		return rc;
	if (!file_exists(s, AT_FDCWD, arena_printf(a, "%s/root.key", keys)))
		return no_key(e);
	k.policy_hash = arena_printf(a, "sha256:%s", policy_sha256(a, k.guard.policy));
	recorder_open(&k.recorder, s, ws->state_fd, NULL);
	k.recorder.keys_dir = keys;
	*ret = k;
	return OK;
}

int kernel_arm(struct kernel *k, struct err *e)
{
	const char *keys;
	int rc = k->key ? OK : keys_dir(k->sys, k->a, &keys, e);

	if (rc || k->key)
		return rc;
	rc = keys_load(k->sys, AT_FDCWD, keys, &k->key, e);
	k->recorder.key = k->key;
	return rc == E_MISSING ? no_key(e) : rc;
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
	if (rc == E_MISSING)
		rc = file_mkdirs(s, AT_FDCWD, home, 0700, e);
	return *ret_created && rc == OK ? keys_create(s, AT_FDCWD, dir, &key, e) : rc;
}

void kernel_close(struct kernel *k)
{
	recorder_close(&k->recorder);
	key_free(&k->key);
}

const char *kernel_work_tree(struct sys *s, struct arena *a, const char *cwd, const char *home)
{
	char *dir = arena_strdup(a, cwd);

	while (dir[0] && !text_eq(dir, "/")) {
		if (file_exists(s, AT_FDCWD, arena_printf(a, "%s/.git", dir)))
			break;
		char *slash = strrchr(dir, '/');
		slash[slash == dir ? 1 : 0] = '\0';
	}
	const char *top = text_eq(dir, "/") ? cwd : dir;
	return text_eq(top, "/") || (home && path_is_below(home, top)) ? NULL : top;
}

bool kernel_stops(struct kernel *k, const char *principal, const char *profile, struct decision *d)
{
	const char *frozen = freeze_in_force(k, principal);
	const char *paused = frozen ? NULL : pause_in_force(k, profile);

	if (frozen)
		guard_raise(k->a, ACTION_DENY, REASON_SYSTEM_FROZEN, "deny.frozen", frozen, d);
	if (paused)
		guard_raise(k->a, ACTION_DENY, REASON_POLICY_VIOLATION, PAUSE_RULE, paused, d)
			->instead = arena_printf(k->a,
			"wait until a person ends the pause with 'helm profile resume %s --token TOKEN'",
			profile);
	return frozen || paused;
}

/* The door asks too: its reason is one more that an answer has to meet. */
static void add_ask(struct kernel *k, const struct request *q, struct decision *d)
{
	struct ask *asks = arena_alloc(k->a, (d->ask_count + 1) * sizeof(*asks));

	if (d->ask_count)
		memcpy(asks, d->asks, d->ask_count * sizeof(*asks));
	asks[d->ask_count++] = (struct ask){ q->floor_rule, q->floor_effect, UNDO_NONE };
	d->asks = asks;
}

void kernel_decide(struct kernel *k, const struct request *q, struct handling *ret)
{
	struct decide_context context = { .a = k->a,
		.mode = q->mode,
		.workspace = k->ws->root,
		.task_name = q->task_name,
		.task_goal = q->task_goal,
		.policy_sha256 = k->policy_hash + strlen("sha256:"),
		.now_us = k->sys->now_us(k->sys) };

	if (q->proposal)
		ret->proposal = *q->proposal;
	else if (q->argv)
		propose_argv(k->a, &k->guard.at, q->argv, q->argc, &ret->proposal);
	else
		propose_shell(k->a, &k->guard.at, q->shell, &ret->proposal);
	const struct policy *policy = guard_policy(&k->guard, k->a, &ret->proposal);
	decide(policy, q->profile, &ret->proposal, &context, &ret->decision);
	decide_advice(policy, &k->guard.profiles, &ret->proposal, &context, &ret->decision);
	if (q->floor == ACTION_ASK)
		add_ask(k, q, &ret->decision);
	if (q->floor > ret->decision.action)
		guard_raise(k->a, q->floor,
			q->floor == ACTION_DENY ? REASON_POLICY_VIOLATION : REASON_APPROVAL_REQUIRED,
			q->floor_rule, q->floor_text, &ret->decision);
	ret->verdict = decision_effective(&ret->decision);
	if (kernel_stops(k, q->subject_id, q->profile->name, &ret->decision))
		ret->verdict = V_DENY;
}

/* The exact input, as a digest: receipts prove what was asked without repeating it. */
char *kernel_args_digest(struct kernel *k, const struct request *q)
{
	struct buf text;

	if (q->args.p)
		return sha256_prefixed(k->a, q->args.p, q->args.n);
	if (!q->argv)
		return sha256_prefixed(k->a, q->shell.p, q->shell.n);
	struct json *argv = json_new(k->a, JSON_ARRAY);
	for (size_t i = 0; i < q->argc; i++)
		json_pushs(k->a, argv, q->argv[i]);
	buf_init(&text, k->a);
	json_canonical(&text, argv);
	return sha256_prefixed(k->a, text.p, text.n);
}

static struct json *judged_files(struct arena *a, const struct proposal *p)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < p->file_count; i++) {
		struct json *file = json_new(a, JSON_OBJECT);
		json_sets(a, file, "path", text_safe(a, p->files[i].path, strlen(p->files[i].path), true));
		json_sets(a, file, "sha256", p->files[i].sha256);
		json_push(a, list, file);
	}
	return list;
}

/* What both receipts of one request say about it. */
static struct json *about(struct kernel *k, const struct request *q, const struct handling *o)
{
	struct json *doc = q->metadata ? json_copy(k->a, q->metadata) : json_new(k->a, JSON_OBJECT);

	json_sets(k->a, doc, "door", q->door);
	json_sets(k->a, doc, "profile", q->profile->name);
	json_sets(k->a, doc, "guard_action", action_name(o->decision.action));
	json_sets(k->a, doc, "guard_mode", guard_mode_name(q->mode));
	if (o->decision.detail_code)
		json_sets(k->a, doc, "rule", o->decision.detail_code);
	if (o->proposal.file_count)
		json_set(k->a, doc, "judged_files", judged_files(k->a, &o->proposal));
	if (q->session)
		json_sets(k->a, doc, "session", q->session);
	if (q->task_id)
		json_sets(k->a, doc, "task_id", q->task_id);
	if (o->settled.by) {
		if (!text_eq(o->settled.by, "checkpoint") && !text_eq(o->settled.by, "handoff"))
			json_setb(k->a, doc, "approved", true);
		json_sets(k->a, doc, "settled_by", o->settled.by);
	}
	json_each_member (m, o->settled.about)
		json_set(k->a, doc, m->name, m->value);
	if (o->question) {
		json_sets(k->a, doc, "approval_id", json_get_text(o->question, "approval_id", ""));
		json_sets(k->a, doc, "request_sha256", o->question_digest);
	}
	return doc;
}

static int record_first(
	struct kernel *k, const struct request *q, struct handling *o, const char *args, struct err *e)
{
	const char *reason = o->verdict == V_ALLOW ? "" : reason_get(o->decision.reason_code)->code;
	struct json *record;
	char *content_hash, *id;
	int rc = record_new_id(k->a, k->sys, "dec-", &id, e);

	if (rc)
		return rc;
	struct decision_draft d = { .id = id,
		.verdict = verdict_name(o->verdict),
		.subject_id = q->subject_id,
		.action = q->action,
		.resource = q->tool_name,
		.effect_digest = args + strlen("sha256:"),
		.policy_content_hash = k->policy_hash,
		.policy_version = arena_printf(k->a, "%d", o->decision.policy_version),
		.reason = o->decision.detail_code,
		.reason_code = reason,
		.phenotype_hash = o->question ? o->question_digest
			: o->settled.about    ? approval_digest(k->a, o->settled.about)
					      : NULL };
	rc = record_decision(k->a, k->sys, k->key, &d, &record, &content_hash, e);
	if (rc)
		return rc;
	struct draft r = { .decision_id = id,
		.effect_id = q->action,
		.status = d.verdict,
		.verdict = d.verdict,
		.reason_code = reason,
		.policy_hash = k->policy_hash,
		.args_hash = args,
		.output_hash = content_hash,
		.executor_id = q->subject_id,
		.correlation_id = q->session,
		.type = "decision",
		.tool_name = q->tool_name,
		.metadata = about(k, q, o),
		.subject = record };
	o->decision_id = id;
	rc = recorder_begin(&k->recorder, k->a, &r, 1, &o->decision_receipt, e);
	/* Whoever executes waits for the disk itself, as late as possible; any other answer is on disk before it is given. */
	return rc || (o->verdict == V_ALLOW && q->execute) ? rc : kernel_commit(k, e);
}

int kernel_commit(struct kernel *k, struct err *e)
{
	int rc = recorder_finish(&k->recorder, k->a, e);

	if (rc)
		k->is_unrecorded = true;
	return rc;
}

static int record_second(struct kernel *k, const struct request *q, struct handling *o, const char *args,
	const struct json *happened, const char *status, struct err *e)
{
	struct json *doc = about(k, q, o);
	struct buf text;

	json_each_member (m, happened)
		json_set(k->a, doc, m->name, m->value);
	buf_init(&text, k->a);
	json_canonical(&text, happened);
	struct draft r = { .receipt_id = arena_printf(k->a, "rcpt_%s_outcome", o->decision_id),
		.decision_id = o->decision_id,
		.effect_id = q->action,
		.status = status,
		.verdict = verdict_name(o->verdict),
		.policy_hash = k->policy_hash,
		.args_hash = args,
		.output_hash = sha256_prefixed(k->a, text.p, text.n),
		.executor_id = q->subject_id,
		.correlation_id = q->session,
		.type = "outcome",
		.tool_name = q->tool_name,
		.metadata = doc };
	int rc = recorder_append(&k->recorder, k->a, &r, 1, &o->outcome_receipt, e);
	if (rc)
		snprintf(e->code, sizeof(e->code), "RECORD_OUTCOME");
	return rc;
}

/* Not being able to keep it changes nothing about the answer: nothing happens either way. */
static void keep_question(struct kernel *k, struct handling *o)
{
	struct err e = { 0 };

	if (approval_keep(k, o, &e) == OK)
		o->is_question_kept = true;
	else if (!o->approval_note)
		o->approval_note = arena_printf(k->a, "the request could not be kept: %s", e.text);
}

int kernel_carry_out(struct kernel *k, const struct request *q, struct handling *ret, struct err *e)
{
	struct json *happened = json_new(k->a, JSON_OBJECT);
	const char *args = kernel_args_digest(k, q), *status = "UNKNOWN";

	int rc = kernel_arm(k, e);
	if (rc)
		return rc;
	if (ret->verdict == V_ESCALATE)
		settle(k, q, args, ret); /* has the question been answered already? */
	rc = record_first(k, q, ret, args, e); /* signed, chained; durable before anything happens */
	if (rc)
		return err_wrap(e, "not recorded, so not done");
	if (ret->question)
		keep_question(k, ret);
	if (ret->verdict != V_ALLOW || !q->execute)
		return OK;
	rc = q->execute(q->arg, &ret->decision, ret->decision_id, happened, &status, e);
	struct err late = { 0 }; /* what actually happened, also when that was a failure */
	if (kernel_commit(k, &late) || k->is_unrecorded) /* it may have ended before it came to that */
		return rc ? rc : err_set(e, E_IO, "LOG_APPEND", "not recorded, so not done: %s", late.text);
	int late_rc = record_second(k, q, ret, args, happened, status, &late);
	if (rc == OK && late_rc) {
		*e = late;
		rc = late_rc;
	}
	return rc;
}

int kernel_handle(struct kernel *k, const struct request *q, struct handling *ret, struct err *e)
{
	kernel_decide(k, q, ret); /* propose and decide: pure, at worst DENY */
	return kernel_carry_out(k, q, ret, e); /* settle, record, execute, record */
}

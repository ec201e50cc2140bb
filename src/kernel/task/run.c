/* run.c — a guarded run, step by step; each stop appends its row before it returns.
 *
 *   queued -> decided, settled, on record -> blocked | handoff_required
 *                                         -> checkpoint -> running -> completed | failed | timeout
 *
 * task_run() reads from top to bottom, and the order is the promise: nothing is executed before its
 * decision is on disk; the final row is written before the outcome receipt; and the receipt carries the
 * digests of all rows of the run.  What takes long is done beside something else: the walls go up while the
 * decision is signed and synced, earlier tasks are read while the command runs, and what a run that cannot
 * write left behind is ended while its last rows are synced. */
#include "kernel/task/parts.h"

#include "base/file.h"
#include "base/text.h"
#include "execute/checkpoint/checkpoint.h"
#include "kernel/approval/approval.h"
#include "kernel/changes.h"
#include "kernel/policy/policy.h"
#include "remember/lifecycle.h"

#include <string.h>
#include <unistd.h>

enum {
	EXIT_OUTPUT = 1,
	EXIT_DROPPED = 1, /* git's configuration was not changed, although the command ended with 0 */
	EXIT_USAGE = 2,
	EXIT_ASKED = 24,
	EXIT_DENIED = 25,
	EXIT_PAUSED = 26,
	EXIT_PLAN = 29,
	EXIT_UNVERIFIED = 30,
	EXIT_LEFT = 31, /* what may start programs later could not be looked at, or not be taken away */
	EXIT_NOT_STARTED = 126
};

static bool is_settled_by(const struct task *t, const char *what)
{
	const char *by = t->report->handling.settled.by;

	return by && text_eq(by, what);
}

/* Of two errors the first one is told; the second is usually a consequence. */
static int first_error(int rc, struct err *e, int late_rc, const struct err *late)
{
	if (rc == OK && late_rc)
		*e = *late;
	return rc ? rc : late_rc;
}

/* ---- before it is judged ---- */

/* A skill's contract is laid over the profile: from here on there is no wider one.  What it is at its first use is what it stays. */
static int enter_skill(struct task *t, struct err *e)
{
	struct kernel *k = t->k;
	const char *executor = arena_printf(t->a, "user:%u", getuid());

	t->timeout_s = t->spec->timeout_s;
	if (!t->spec->skill)
		return OK;
	int rc = skill_use(k, t->a, t->spec->skill, t->profile, &t->skill, e);
	if (rc == OK && t->skill.is_new && !t->spec->guard_json)
		rc = skill_pin(k, t->a, t->spec->skill, t->skill.sha256, t->skill.files, executor, NULL, e);
	if (rc)
		return rc;
	t->profile = t->skill.profile;
	const struct terms *terms = t->profile->terms;
	if (!terms)
		return OK;
	if (terms->seconds && (!t->timeout_s || terms->seconds < t->timeout_s))
		t->timeout_s = terms->seconds;
	return skill_budget(t->a, terms, &t->request.policy, e);
}

/* A given id becomes part of file names, so only harmless characters pass. */
static int choose_id(struct task *t, struct err *e)
{
	const char *given = t->spec->task_id;
	char *made;

	if (given) {
		if (!text_is_id(given))
			return err_set(e, E_USAGE, "TASK_ID",
				"'%s' is no task id: letters, digits, '.', '_' and '-', at most 128, the "
				"first one a letter or digit",
				given);
		t->id = given;
		return OK;
	}
	int rc = record_new_task_id(t->a, t->k->sys, &made, e);
	if (rc == OK)
		t->id = made;
	return rc;
}

/* Profile, name, place, and the members that every row has.  Nothing is written, so an error here leaves no
 * trace. */
static int prepare(struct task *t, struct err *e)
{
	int rc = profiles_get(&t->k->guard.profiles, t->spec->profile, &t->profile, e);

	if (rc == OK)
		rc = choose_id(t, e);
	if (rc == OK)
		rc = enter_skill(t, e);
	if (rc)
		return rc;
	t->at = guard_at(&t->k->guard, t->a, t->spec->cwd);
	t->report->task_id = t->id;
	task_begin_row(t);
	return task_plan_look(t, e);
}

static bool is_remote(const struct task *t)
{
	return text_eq(t->profile->backend, "manual-remote");
}

/* The request as the kernel sees it.  The program is looked up once, here, and is what will be executed. */
static void make_request(struct task *t)
{
	const struct run_spec *spec = t->spec;
	struct arena *a = t->a;
	struct json *about = json_new(a, JSON_OBJECT);
	const char *const at[] = { "--workspace", t->k->ws->root, "--cwd", spec->cwd };

	task_find_program(t->k, a, spec, &t->program);
	if (t->program.path)
		json_set(a, about, "program", task_program_json(a, &t->program));
	if (spec->skill)
		json_sets(a, about, "skill", spec->skill);
	if (t->skill.sha256)
		json_sets(a, about, "skill_sha256", t->skill.sha256);
	const struct ruleset *budget = t->request.policy; /* of the skill, by enter_skill() */
	t->request = (struct request){
		.who = { .door = spec->session	     ? "agent"
				: spec->permitted_by ? "outside"
						     : "run",
			.subject_id = arena_printf(a, "user:%u", getuid()),
			.session = t->k->sys->getenv(t->k->sys, "HELM_SESSION") },
		.what = { .tool = path_base(spec->argv[0]),
			.action = "EXECUTE_COMMAND",
			.argv = spec->argv,
			.argc = spec->argc,
			.preview = json_get_text(t->row, "command_preview", NULL),
			.caption = json_get_text(t->row, "command_preview", NULL),
			.task_id = t->id,
			.task_name = json_get_text(t->row, "task_name", NULL),
			.task_goal = spec->task_goal,
			.about = about },
		.where = &t->at,
		.profile = t->profile,
		.policy = budget,
		.mode = spec->mode,
		.placement = spec->permitted_by ? guard_supervised(t->profile) : IN_SANDBOX,
		/* What is handed on is not executed here, so there is nothing the guard could stop; it is
		 * on record. */
		.answer = { .is_approved =
				    spec->approve_risk || is_remote(t) || spec->permitted_by || spec->session,
			.permitted_by = spec->permitted_by,
			.permitted_terms = spec->permitted_terms,
			.approval_id = spec->approval_id,
			.resume_before = arena_printf(a, "helm profile run %s %s --approval-id ",
				t->profile->name, task_preview(a, at, ARRAY_SIZE(at))),
			.resume_after = arena_printf(a, " -- %s", task_preview(a, spec->argv, spec->argc)) },
		.is_done_here = !is_remote(t),
	};
	if (task_failure_repeats(t)) {
		t->request.at_least.action = ACTION_ASK;
		t->request.at_least.rule = "risk.repeated_failure";
		t->request.at_least.text = "it failed twice in the same way, and nothing was done about it";
	}
	/* What a person has permitted is compared with what it has become, whatever the wider profile thinks of it. */
	if (spec->permitted_by) {
		t->request.at_least.action = ACTION_ASK;
		t->request.at_least.rule = LEAVES_WALLS;
		t->request.at_least.text = "it leaves the walls of its session";
	}
}

/* ---- where it can stop ---- */

/* Only the judgement was asked for: it is printed, and nothing is signed or run. */
static int stop_audited(struct task *t, struct err *e)
{
	t->report->printed = decision_to_json(t->a, &t->report->handling.decision);
	json_set(t->a, t->row, "guard", t->report->printed);
	return task_put_last(t, "guard_audit", NULL, NULL, e);
}

/* Everything that asks or denies, in one sentence. */
static const char *joined_reasons(struct task *t, const struct decision *d)
{
	struct buf text;

	buf_init(&text, t->a);
	for (size_t i = 0; i < d->finding_count; i++) {
		if (d->findings[i].action < ACTION_ASK)
			continue;
		buf_addf(&text, "%s%s", text.n ? "; " : "", d->findings[i].text);
	}
	if (!text.n)
		buf_adds(&text, d->summary ? d->summary : "not understood");
	return text.p;
}

/* Why the approval that was named on the command line does not help. */
static const char *why_not_approved(struct task *t)
{
	const char *id = t->spec->approval_id, *state = "not known";
	struct json *doc, *entry = NULL;

	if (!id)
		return NULL;
	if (approvals_load(t->k->sys, t->a, t->k->ws, &doc, NULL) == OK)
		entry = json_get(json_get(doc, "requests"), id);
	if (!entry && text_is_id(id))
		entry = approvals_find_settled(t->k->sys, t->a, t->k->ws, false, id);
	if (entry)
		state = request_state(entry, t->k->sys->now_us(t->k->sys));
	return text_eq(state, "approved") ? arena_printf(t->a,
						    "%s was approved, but not for this: another command, "
						    "directory or profile, or it was used",
						    id)
					  : arena_printf(t->a, "%s is %s", id, state);
}

/* Hints are lines for the person; they are collected in the order they come up. */
void task_hint(struct task *t, const char *more)
{
	t->report->hint = t->report->hint ? arena_printf(t->a, "%s\n%s", t->report->hint, more) : more;
}

/* The pause is put into the row, into the file older readers know, and into words. */
static int wait_for_person(struct task *t, struct err *e)
{
	struct arena *a = t->a;
	const struct handling *h = &t->report->handling;
	const char *id = json_get_text(h->question, "approval_id", ""),
		   *resume = json_get_text(h->question, "resume_command", NULL), *why = why_not_approved(t);
	struct json *pause = json_new(a, JSON_OBJECT);

	if (why)
		task_hint(t, why);
	if (h->approval_note)
		task_hint(t, h->approval_note);
	if (t->spec->permitted_by)
		return OK;
	if (!h->is_question_kept) {
		task_hint(t, "a person may run it with --approve-risk");
		return OK;
	}
	json_sets(a, pause, "approval_id", id);
	json_sets(a, pause, "resume_command", resume);
	json_set(a, pause, "expires_at", json_get(h->question, "expires_at"));
	json_set(a, t->row, "runtime_pause", pause);
	task_hint(t,
		h->decision.approvers > 1
			? arena_printf(a,
				  "to approve: helm approval approve %s --key FILE, by each of %d people", id,
				  h->decision.approvers)
			: arena_printf(a, "to approve: helm approval approve %s", id));
	task_hint(t,
		resume ? arena_printf(a, "then:       %s", resume)
		       : arena_printf(a, "then:       repeat the same command with --approval-id %s", id));
	return waiting_add(t->k, t->a, h->question, e);
}

/* A paused profile has an exit code of its own, so that schedulers can wait. */
static int stop_paused(struct task *t, struct err *e)
{
	const struct decision *d = &t->report->handling.decision;

	t->report->exit_code = EXIT_PAUSED;
	t->report->message = d->summary;
	t->report->hint = d->decisive->instead;
	json_sets(t->a, t->row, "reason", d->summary);
	json_sets(t->a, t->row, "updated_at", text_time_iso(t->a, t->k->sys->now_us(t->k->sys)));
	return task_put_row(t, "blocked_by_pause", e);
}

/* The exit code tells a question (a person can answer it) from a denial. */
static int stop_blocked(struct task *t, struct err *e)
{
	const struct decision *d = &t->report->handling.decision;
	bool denied = t->report->handling.verdict != V_ESCALATE;
	/* While everything is frozen, that is the reason, whatever else the guard would say. */
	const bool is_closed = d->detail_code && text_eq(d->detail_code, OPENING_RULE);
	const char *why =
		d->reason_code == REASON_SYSTEM_FROZEN || is_closed ? d->summary : joined_reasons(t, d);
	const char *note = t->spec->permitted_by && !denied ? t->report->handling.approval_note : NULL;
	struct arena *a = t->a;

	/* It was permitted, and is not what was permitted: that is what keeps it from being done. */
	if (note)
		why = arena_printf(a, "%s: %s", note, why);

	t->report->exit_code = denied ? EXIT_DENIED : EXIT_ASKED;
	t->report->message = arena_printf(a, "%s: %s",
		d->has_denied_group && d->action < ACTION_DENY ? "TOOL GRANT DENY"
			: denied			       ? "GUARD DENY"
							       : "GUARD APPROVAL REQUIRED",
		why);
	const char *advice = denied ? task_profile_advice(t) : NULL;
	if (advice)
		t->report->hint = advice;
	else if (d->decisive && d->decisive->instead)
		t->report->hint = d->decisive->instead;
	else if (denied)
		t->report->hint = d->recommended_profile && d->reason_code != REASON_SYSTEM_FROZEN
			? task_other_profile(t, d->recommended_profile)
			: reason_get(d->reason_code)->remedy;
	json_sets(a, t->row, "remedy", t->report->hint);
	if (t->report->handling.settled.why_asked)
		t->report->hint = arena_printf(a, "%s%sa checkpoint could not answer for you (%s)",
			t->report->hint ? t->report->hint : "", t->report->hint ? "; " : "",
			t->report->handling.settled.why_asked);
	if (!denied) {
		int rc = wait_for_person(t, e);
		if (rc)
			return rc;
	}
	if (d->detail_code && text_eq(d->detail_code, PLAN_RULE)) {
		t->report->exit_code = EXIT_PLAN;
		json_sets(a, t->row, "blocked_reason", why);
		json_sets(a, t->row, "next_action", "complete the plan, and give it with --consensus-plan");
		t->report->hint =
			"a plan names its scope, its tasks with what must hold afterwards, how it is verified and taken back: docs/formats/completion.md";
		return task_put_last(t, "blocked", "consensus_plan", why, e);
	}
	const char *browser = task_browser_stopped(t);
	if (browser)
		return task_put_last(t, browser, "browser", why, e);
	return task_put_last(t, "blocked",
		d->has_denied_group && d->action < ACTION_DENY			     ? "tool_grant"
			: d->detail_code && text_eq(d->detail_code, GOVERNANCE_RULE) ? "governance"
										     : "guard",
		why, e);
}

/* Nothing is executed here; the row says where it is to be done. */
static int stop_handed_off(struct task *t, struct err *e)
{
	struct arena *a = t->a;
	struct json *doc = json_new(a, JSON_OBJECT);

	if (!t->spec->runtime_target) {
		t->report->exit_code = EXIT_USAGE;
		t->report->message =
			"this profile hands work to another place: name it with --runtime-target";
		return task_put_last(t, "failed", "handoff", t->report->message, e);
	}
	json_sets(a, doc, "task_id", t->id);
	json_sets(a, doc, "status", "handoff_required");
	json_sets(a, doc, "runtime_target", t->spec->runtime_target);
	json_sets(a, doc, "runtime_note", t->spec->runtime_note);
	json_sets(a, doc, "command_preview", json_get_text(t->row, "command_preview", ""));
	t->report->printed = doc;
	task_put_claims(t, "handoff_required");
	task_put_plan(t, "handoff_required");
	return task_put_last(t, "handoff_required", NULL, NULL, e);
}

/* Where a checkpoint is required, nothing runs without it. */
static int stop_unsaved(struct task *t, struct err *e)
{
	const char *why = arena_strdup(t->a, e->text);

	t->report->exit_code = 1;
	t->report->message = arena_printf(t->a, "the required checkpoint failed: %s", why);
	return task_put_last(t, "failed", "checkpoint", why, e);
}

/* The walls could not be put up, the program is another one by now, or its process did not start. */
static int stop_refused(struct task *t, int refusal, struct err *e)
{
	const char *why = arena_strdup(t->a, e->text);

	t->report->exit_code = refusal == E_DENIED ? EXIT_DENIED : EXIT_NOT_STARTED;
	t->report->message = why;
	json_sets(t->a, t->happened, "refused", why);
	return task_put_last(t, "failed", "sandbox", why, e);
}

/* The session that this would leave has changed what its command would start. */
static int stop_armed(struct task *t, struct err *e)
{
	const char *why = arena_strdup(t->a, e->text);

	t->report->exit_code = EXIT_NOT_STARTED;
	t->report->message = why;
	json_set(t->a, t->row, "left_behind", t->left_behind);
	json_set(t->a, t->happened, "left_behind", t->left_behind);
	json_sets(t->a, t->happened, "refused", why);
	return task_put_last(t, "failed", "armed", why, e);
}

/* ---- once it is allowed ---- */

/* The guard's judgement in the row, with whether somebody said yes. */
static void put_decision(struct task *t)
{
	const struct handling *h = &t->report->handling;
	struct json *doc = decision_to_json(t->a, &h->decision);

	if (h->settled.by && !is_settled_by(t, "checkpoint"))
		json_setb(t->a, doc, "approved", true);
	json_set(t->a, t->row, "guard", doc);
	json_sets(t->a, t->row, "decision_id", h->decision_id);
	if (h->decision.detail_code && text_starts(h->decision.detail_code, "skill."))
		json_sets(t->a, t->row, "left_contract", h->decision.detail_code);
	/* In the next row only: it is long, and does not change. */
	if (h->asked) {
		json_set(t->a, t->row, "asked", policy_question_kept(t->a, h->asked));
		json_sets(t->a, t->row, "guard_action", action_name(h->rules_said->action));
	}
}

/* The row names the checkpoint, which is how prune knows that it is needed. */
static void use_checkpoint(struct task *t, const char *id)
{
	json_sets(t->a, t->row, "checkpoint_id", id);
	t->report->checkpoint_id = id;
}

/* Bounded in time: a run must not wait for ever before it starts. */
static int make_checkpoint(struct task *t, struct err *e)
{
	struct kernel *k = t->k;
	struct checkpoint_store store;
	struct checkpoint_request want = {
		.label = t->spec->label ? t->spec->label
					: arena_printf(t->a, "%s-checkpoint", t->profile->name),
		.task_id = t->id,
		.paths = t->spec->checkpoint_paths,
		.path_count = t->spec->checkpoint_path_count,
		.time_limit_ms = 60000,
	};
	struct checkpoint_result made;
	int rc = workspace_checkpoints(k->sys, t->a, k->ws, true, &store, e);

	if (rc)
		return rc;
	rc = checkpoint_create(&store, &want, &made, e);
	checkpoint_close(&store);
	if (rc == OK)
		use_checkpoint(t, made.id);
	if (rc == OK && made.healed)
		json_sets(t->a, t->row, "checkpoint_note", made.healed);
	return rc;
}

/* Saves the files where the profile requires it, and before what destroys.  *ret_stopped: it was required
 * and failed, and its row is written.  A checkpoint that is only wise may fail; the row tells. */
static int save_first(struct task *t, bool *ret_stopped, struct err *e)
{
	struct handling *h = &t->report->handling;
	bool is_required = t->profile->checkpoint == CHECKPOINT_REQUIRED;

	*ret_stopped = false;
	if (h->settled.checkpoint_id)
		use_checkpoint(t, h->settled.checkpoint_id);
	bool is_wise = h->decision.destructive && t->spec->mode == GUARD_ENFORCE && !t->report->checkpoint_id;
	if (!is_required && !is_wise)
		return OK;
	/* A checkpoint takes its time: the chain is not kept locked for it. */
	int rc = kernel_permit(t->k, h, e);
	if (rc)
		return rc;
	rc = make_checkpoint(t, e);
	*ret_stopped = rc && is_required;
	if (*ret_stopped)
		return stop_unsaved(t, e);
	if (rc)
		json_sets(t->a, t->row, "checkpoint_error", e->text);
	return OK;
}

/* Waits for the end, and gives a sign of life every half minute. */
static int await_end(struct task *t, struct err *e)
{
	bool has_beaten = false;
	int rc;

	while ((rc = run_wait(t->running, HEARTBEAT_MS, &t->result, e)) == OK && !t->result) {
		heartbeat_beat(t->k->sys, t->k->ws, t->id);
		has_beaten = true;
	}
	if (has_beaten)
		heartbeat_end(t->k->sys, t->k->ws, t->id);
	t->report->result = t->result;
	return rc;
}

/* Without helm the command would have been told that its output goes nowhere; it was not, so its own "done" does not stand. */
static void tell_lost_output(struct task *t)
{
	int lost = t->result->out.lost_errno ? t->result->out.lost_errno : t->result->err.lost_errno;

	if (!lost)
		return;
	t->report->message =
		arena_printf(t->a, "what the command printed could not be written: %s", strerror(lost));
	if (!t->report->exit_code)
		t->report->exit_code = EXIT_OUTPUT;
}

/* A log that cannot be written does not keep the run from getting its last row. */
static int put_end_rows(struct task *t, struct err *e)
{
	struct err late = { 0 };
	int rc = task_put_command_log(t, e), late_rc = task_put_final(t, &late);

	t->report->exit_code = task_browser_exit(t, t->result->exit_code);
	/* Without mounts git could not have written it, and would have said so. */
	if (!t->report->exit_code && !t->spec->session && git_private_is_undone(t))
		t->report->exit_code = EXIT_DROPPED;
	/* What it answered stays its exit code. */
	if (t->is_unverified && !t->answer)
		t->report->exit_code = EXIT_UNVERIFIED;
	tell_lost_output(t);
	if (t->is_left)
		t->report->exit_code = EXIT_LEFT;
	return first_error(rc, e, late_rc, &late);
}

static int begin_session(struct task *t, struct err *e)
{
	t->so_far = run_so_far(t->running);
	if (!t->so_far)
		return OK; /* it has ended, and its end says why */
	const struct run_begun b = { .desk = run_take_desk(t->running),
		.task_id = t->id,
		.tmp = t->tmpdir,
		.walls = &t->rules,
		.report = &t->so_far->report,
		.task = t };
	return t->spec->session->begin(t->spec->session->arg, &b, e);
}

/* The walls go up, and the command will stand at a gate behind them. */
static int put_up_walls(struct task *t, struct err *e)
{
	task_tmp_take(t->k->sys, t->a, "/tmp", &t->tmp);
	task_list_cards(t->k, t->a, &t->cards);
	task_walls(t);
	return run_start(t->k->sys, t->a, &t->run, &t->running, e);
}

/* Also where they never went up. */
static void take_down_walls(struct task *t)
{
	run_end(&t->running);
	task_tmp_give(t->k->sys, &t->tmp);
}

/* Beside signing and writing the decision, where nothing has to be made, saved or asked before: they take longer than that and the disk.  What
 * fails is tried again in its place, and told there. */
static void put_up_early(struct task *t)
{
	const struct handling *h = &t->report->handling;
	const struct run_spec *spec = t->spec;
	struct err e = { 0 };

	if (h->verdict == V_ALLOW && !t->opening_count && !spec->session && !spec->left &&
		!spec->permitted_by && !is_remote(t) &&
		(!t->profile->terms || skill_has_places(t->k->sys, t->profile->terms, task_tree(t))) &&
		t->profile->reach != NETWORK_NAMED && t->profile->checkpoint != CHECKPOINT_REQUIRED &&
		!h->decision.destructive && (task_egress_open(t, &e) || put_up_walls(t, &e)))
		take_down_walls(t);
}

/* The door to named hosts, and the places that a contract promises. */
static int make_ready(struct task *t, struct err *e)
{
	const struct run_session *session = t->spec->session;
	int rc = session && session->prepare ? session->prepare(session->arg, t->id, e) : OK;

	if (rc == OK && !t->running)
		rc = task_egress_open(t, e);
	if (rc == OK && t->profile->terms)
		rc = skill_make_places(t->k->sys, t->a, t->profile->terms, task_tree(t), e);
	return rc;
}

/* From the walls to the end of the command.  Nothing is executed before they stand and its decision is on disk. */
static int run_inside(struct task *t, struct err *e)
{
	int rc = t->running ? OK : put_up_walls(t, e); /* they go up ... */

	task_look_at_memory(t);
	if (t->profile->writes == ALLOWANCE_YES)
		before_look(t);
	if (rc == OK)
		rc = kernel_permit(
			t->k, &t->report->handling, e); /* ... while the decision goes to disk ... */
	if (rc == OK)
		rc = run_go(t->running, e); /* ... and both are done */
	t->is_begun = rc == OK;
	if (rc == OK && t->spec->session)
		rc = begin_session(t, e);
	if (rc == OK && t->spec->session && t->so_far && t->watch)
		prompt_begin(t);
	/* What looks has nothing that could be gone on with. */
	if (rc == OK && t->profile->writes == ALLOWANCE_YES)
		task_bundle(t->k->sys, t->a, t->k->ws, task_tree(t), t->plan, t->row);
	if (rc == OK && !t->spec->session)
		task_read_earlier(t);
	return rc ? rc : await_end(t, e);
}

/* Walls, command, rows.  t->happened and t->outcome say how far it came.  A run that may write is ended
 * completely before its changes are looked at; one that may not cannot change them, so its end and the last
 * rows go on at the same time. */
static int execute(struct task *t, struct err *e)
{
	struct handling *h = &t->report->handling;
	bool can_write = t->profile->writes == ALLOWANCE_YES;

	int rc = t->spec->left || t->spec->session ? kernel_permit(t->k, h, e) : OK;
	if (rc)
		return rc;
	/* A look takes its time, as a checkpoint does. */
	if (t->spec->left && armed_hold(t, e))
		return stop_armed(t, e);
	rc = make_ready(t, e);
	if (rc)
		return stop_refused(t, rc, e);
	rc = run_inside(t, e);
	struct err unheard = { 0 };
	int unheard_rc = task_egress_close(t, &unheard);
	if (t->spec->session) {
		prompt_end(t);
		run_end(&t->running);
		t->spec->session->end(t->spec->session->arg, t->row);
	}
	if (rc || can_write || task_is_to_gather(t->spec))
		run_end(&t->running); /* what it left behind could still change what is said about it */
	if (rc)
		return h->is_unrecorded ? rc : stop_refused(t, rc, e);
	openings_tell(t);
	rc = put_end_rows(t, e);
	task_egress_tell(t);
	rc = first_error(rc, e, unheard_rc, &unheard);
	if (!can_write) {
		/* Only these rows: the decision has long been on disk. */
		struct err late = { 0 };
		int late_rc = recorder_finish(&t->k->recorder, t->a, &late);
		rc = first_error(rc, e, late_rc, &late);
	}
	task_tell_end(t);
	return rc;
}

/* How skills live is told beside the ledger, and no run depends on it. */
static void tell_skill(const struct task *t, const char *event)
{
	const struct run_result *r = t->result;
	struct lifecycle_outcome o = { .event = event,
		.task_id = t->id,
		.selection_reason = "named for the run",
		.exit_code = r ? json_number(t->a, r->exit_code) : NULL,
		.evidence_quality = r && t->report->checkpoint_id ? "grounded" : NULL,
		.duration_ms = r ? (r->finished_us - r->started_us) / 1000 : -1 };

	if (t->spec->skill && !t->spec->is_evidence)
		lifecycle_record(t->k->sys, t->a, t->k->ws->root_fd, t->k->ws->state_fd, t->spec->skill, &o);
}

/* From an ALLOW that is signed and written to the last row. */
static int carry_out(struct task *t, struct err *e)
{
	struct handling *h = &t->report->handling;
	bool is_stopped;

	t->program.files = h->proposal.files;
	t->program.file_count = h->proposal.file_count;
	t->expected = changes_expect(t->k, t->a, &t->at, &h->proposal);
	int rc = openings_open(t, e);
	if (rc)
		return stop_refused(t, E_DENIED, e);
	rc = save_first(t, &is_stopped, e);
	if (rc || is_stopped)
		return rc;
	json_sets(t->a, t->row, "started_execution_at", text_time_iso(t->a, t->k->sys->now_us(t->k->sys)));
	rc = task_put_row(t, "running", e);
	if (rc)
		return rc;
	tell_skill(t, "skill_used");
	rc = execute(t, e);
	take_down_walls(t);
	if (t->result)
		tell_skill(t, t->report->exit_code && !t->answer ? "skill_failure" : "skill_success");
	return rc;
}

/* Whatever became of it is put on record, unless not even the decision is: a run that was stopped, too, because the receipt binds its
 * ledger entries, and an entry that says "blocked" could otherwise be changed into "completed" unnoticed.  Entries of something that was
 * executed and cannot be synced are an error, but no reason to leave its receipt out. */
static int put_outcome(struct task *t, int rc, struct err *e)
{
	struct handling *h = &t->report->handling;
	struct err late = { 0 };

	json_set(t->a, t->happened, "rows_sha256", t->digests);
	int late_rc =
		t->result ? recorder_finish(&t->k->recorder, t->a, &late) : kernel_commit(t->k, h, &late);

	if (h->is_unrecorded)
		return rc ? rc : err_set(e, E_IO, "LOG_APPEND", "not recorded, so not done: %s", late.text);
	rc = first_error(rc, e, late_rc, &late);
	late_rc = kernel_outcome(t->k, &t->request, h, t->happened, t->outcome, &late);
	return first_error(rc, e, late_rc, &late);
}

/* What is there before it, noted and written; the receipt of the decision has its digest, and they go to disk together.  Of what another
 * session began, its own beginning counts. */
static int note_before(struct task *t, struct err *e)
{
	const struct handling *h = &t->report->handling;
	const struct task *left = t->spec->left;

	if (t->profile->writes != ALLOWANCE_YES || is_remote(t) || h->verdict == V_DENY)
		return OK;
	if (left) {
		t->armed = left->armed;
		t->nested = left->nested;
		t->modes = left->modes;
		t->hooks = left->hooks;
		t->linked_own = left->linked_own;
	} else {
		if (!t->nested) {
			t->nested = nested_new(t->a, t);
			if (t->spec->session) {
				t->watch = watch_new(t->k->sys, t->a);
				nested_watch(t->nested, t->watch);
				watch_walk_begins(t->watch);
			}
			nested_look(t->nested, t, task_tree(t));
		}
		armed_note(t);
		int rc = autorun_others(t, e);
		if (rc)
			return rc;
	}
	int rc = journal_begin(t, "run", left ? left->so_far->started_us : t->k->sys->now_us(t->k->sys), e);
	if (rc == OK)
		rc = journal_later(t, e);
	if (rc == OK)
		json_sets(t->a, t->request.what.about, "journal_sha256", t->journal->sha256);
	return rc;
}

/* A command that ran, and behind which nobody has looked, is cleaned up as one whose helm was killed. */
static void end_journal(struct task *t)
{
	struct err e = { 0 };
	struct json *done;

	if (!t->journal)
		return;
	if (!t->is_begun || t->is_checked) {
		journal_end(t);
		return;
	}
	close_fd(&t->journal->fd);
	t->journal = NULL;
	if (autorun_recover(t->k, t->a, task_tree(t), &done, &e)) {
		task_hint(t, arena_strdup(t->a, e.text));
		t->report->exit_code = EXIT_LEFT;
	}
}

/* The sequence.  A step that stops the run has written its row. */
static int go_through(struct task *t, struct err *e)
{
	struct handling *h = &t->report->handling;

	make_request(t);
	int rc = task_browser_look(t, e);
	if (rc == OK)
		rc = task_put_row(t, "queued", e);
	if (rc)
		return rc;
	task_browser_hold(t);
	task_plan_hold(t);
	kernel_rules(t->k, &t->request, h);
	task_govern(t);
	kernel_conclude(t->k, &t->request, h);
	openings_foresee(t);
	if (t->spec->guard_json)
		return stop_audited(t, e);
	put_up_early(t);
	rc = note_before(t, e);
	if (rc == OK)
		rc = kernel_record(
			t->k, &t->request, h, e); /* a question that is answered already is settled here */
	task_governed(t, rc == OK);
	if (rc || h->verdict != V_ALLOW || h->settled.checkpoint_id)
		take_down_walls(t); /* it is not done, or was decided anew, or took its time */
	if (rc)
		return rc;
	put_decision(t);
	if (h->decision.detail_code && text_eq(h->decision.detail_code, PAUSE_RULE))
		rc = stop_paused(t, e);
	else if (h->verdict != V_ALLOW)
		rc = stop_blocked(t, e);
	else if (is_remote(t))
		rc = stop_handed_off(t, e);
	else if ((rc = task_browser_allowed(t, e)) == OK)
		rc = carry_out(t, e);
	return put_outcome(t, rc, e);
}

/* Of runs before it in this place. */
static int recover(struct task *t, struct err *e)
{
	struct json *done;
	int rc = autorun_recover(t->k, t->a, task_tree(t), &done, e);

	if (rc == OK && done->n) {
		json_seti(t->a, t->row, "autorun_recovered", done->n);
		task_hint(t, autorun_said(t->a, done));
	}
	return rc;
}

/* From here on the run is open for everybody who looks, until its last row is there. */
static int open_it(struct task *t, struct err *e)
{
	int rc = open_run_begin(t->k->sys, t->k->ws->state_fd, t->id, &t->open, e);

	if (rc == OK)
		json_sets(t->a, t->row, "open_run", t->open.name);
	return rc;
}

/* An error came before the last row: nobody must take it for a run that goes on.  A row that cannot be written now is
 * written by the next run, which finds the file without its lock. */
static void close_it(struct task *t, int rc, const struct err *why)
{
	struct err late = { 0 };

	if (rc && !t->is_ended)
		(void)task_put_last(t, "failed", "record", why->text, &late);
}

/* Whatever happens in between, rows that no receipt followed are made durable at the end. */
int task_run(
	struct kernel *k, struct arena *a, const struct run_spec *spec, struct run_report *ret, struct err *e)
{
	struct task *t = arena_zalloc(a, 1, sizeof(*t));

	*ret = (struct run_report){ .handling = { .a = a } };
	*t = (struct task){ .k = k,
		.a = a,
		.spec = spec,
		.report = ret,
		.open = { .fd = -1 },
		.tmp = { .fd = -1, .rack = -1 },
		.lasts = spec->session,
		.happened = json_new(a, JSON_OBJECT),
		.outcome = "NOT_EXECUTED" };
	int rc = prepare(t, e);
	if (rc == OK && !spec->guard_json && !is_remote(t))
		rc = recover(t, e);
	if (rc == OK)
		rc = open_it(t, e);
	if (rc)
		return rc;
	AUTO(workspace_leave) struct workspace *ws = k->ws;
	workspace_stand(k->sys, a, ws, spec->cwd);
	rc = go_through(t, e);
	take_down_walls(t);
	openings_close(t);
	end_journal(t);
	close_it(t, rc, e);
	struct err late = { 0 };
	int late_rc = kernel_commit(k, &ret->handling, &late); /* rows that no receipt followed */
	if (t->is_ended)
		open_run_end(k->sys, k->ws->state_fd, &t->open);
	close_fd(&t->open.fd);
	kernel_tidy(k, a);
	return first_error(rc, e, late_rc, &late);
}

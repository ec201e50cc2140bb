/* run.c — a guarded run , step by step; each stop appends its row before it returns.
 *
 *   queued -> decided and on record -> blocked | handoff_required
 *                                   -> checkpoint -> running -> completed | failed | timeout
 *
 * The final row is written before the outcome receipt, and the receipt carries the digests of all rows of the run. */
#include "kernel/task/parts.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/proc.h"
#include "base/text.h"
#include "clients/clients.h"
#include "execute/checkpoint/checkpoint.h"
#include "kernel/approval/approval.h"
#include "kernel/changes.h"
#include "privacy/privacy.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct task {
	struct kernel *k;
	const struct run_spec *spec;
	const struct profile *profile;
	struct json *row; /* grows from stage to stage; each append writes all of it */
	struct json *digests; /* of the rows written so far */
	const char *id, *work_tree;
	struct task_tmp tmp;
	struct task_cards cards;
	struct run_report *report;
	struct run_result result;
	bool was_executed, has_beaten, has_end_rows;
	const char *outcome; /* for the receipt, when it was executed */
	struct err end_err; /* of the last rows; rc OK: they are written */
	struct task_program program;
	struct json *expected; /* changes that the effects name */
};

static int append(struct task *t, const char *file, const struct json *row, struct err *e)
{
	char digest[SHA256_HEX];
	int rc = recorder_row(&t->k->recorder, t->k->a, file, row, digest, e);

	if (rc == OK)
		json_pushs(t->k->a, t->digests, digest);
	return rc;
}

static int put_row(struct task *t, const char *status, struct err *e)
{
	json_sets(t->k->a, t->row, "status", status);
	t->report->status = status;
	return append(t, TASK_LEDGER, t->row, e);
}

/* By pid and start time, so that a later process with the same pid is not taken for it. */
static void identify_process(struct task *t)
{
	json_seti(t->k->a, t->row, "pid", getpid());
	json_seti(t->k->a, t->row, "pid_start", proc_start_ticks(t->k->sys, 0));
}

static const char *now(struct task *t)
{
	return text_time_iso(t->k->a, t->k->sys->now_us(t->k->sys));
}

/* A row that ends the task. */
static int put_last(struct task *t, const char *status, const char *stage, const char *reason, struct err *e)
{
	struct arena *a = t->k->a;

	json_sets(a, t->row, "finished_at", now(t));
	json_sets(a, t->row, "status", status);
	if (stage)
		json_sets(a, t->row, "failure_stage", stage);
	if (reason)
		json_sets(a, t->row, "failure_reason", reason);
	json_set(a, t->row, "experience_attribution", task_experience(a, t->row));
	struct json *signature =
		task_failure_signature(a, t->k->ws, t->row, t->was_executed ? &t->result : NULL);
	if (signature)
		json_set(a, t->row, "failure_signature", signature);
	return put_row(t, status, e);
}

static const char *joined_reasons(struct task *t, const struct decision *d)
{
	struct buf text;

	buf_init(&text, t->k->a);
	for (size_t i = 0; i < d->finding_count; i++) {
		if (d->findings[i].action < ACTION_ASK)
			continue;
		buf_addf(&text, "%s%s", text.n ? "; " : "", d->findings[i].text);
	}
	if (!text.n)
		buf_adds(&text, d->summary ? d->summary : "not understood");
	return text.p;
}

/* The guard's object, with whether somebody said yes. */
static struct json *guard_row(struct task *t, const struct decision *d)
{
	struct json *doc = decision_to_json(t->k->a, d);

	const char *by = t->report->handling.settled.by;
	if (by && !text_eq(by, "checkpoint"))
		json_setb(t->k->a, doc, "approved", true);
	return doc;
}

/* Why the approval that was named does not help. */
static const char *why_not_approved(struct task *t)
{
	const char *id = t->spec->approval_id, *state = "not known";
	struct json *doc;

	if (!id)
		return NULL;
	if (approvals_load(t->k->sys, t->k->a, t->k->ws, &doc, NULL) == OK &&
		json_get(json_get(doc, "requests"), id))
		state = approval_state(json_get(json_get(doc, "requests"), id), t->k->sys->now_us(t->k->sys));
	return text_eq(state, "approved") ? arena_printf(t->k->a,
						    "%s was approved, but not for this: another command, "
						    "directory or profile, or it was used",
						    id)
					  : arena_printf(t->k->a, "%s is %s", id, state);
}

static void add_hint(struct task *t, const char *more)
{
	t->report->hint = t->report->hint ? arena_printf(t->k->a, "%s\n%s", t->report->hint, more) : more;
}

/* The pause, in the row, in the file older readers know, and in words. */
static int wait_for_person(struct task *t, struct err *e)
{
	struct arena *a = t->k->a;
	const struct handling *h = &t->report->handling;
	const char *id = json_get_text(h->question, "approval_id", ""),
		   *resume = json_get_text(h->question, "resume_command", NULL), *why = why_not_approved(t);
	struct json *pause = json_new(a, JSON_OBJECT);

	if (why)
		add_hint(t, why);
	if (h->approval_note)
		add_hint(t, h->approval_note);
	if (!h->is_question_kept) {
		add_hint(t, "a person may run it with --approve-risk");
		return OK;
	}
	json_sets(a, pause, "approval_id", id);
	json_sets(a, pause, "resume_command", resume);
	json_set(a, pause, "expires_at", json_get(h->question, "expires_at"));
	json_set(a, t->row, "runtime_pause", pause);
	add_hint(t, arena_printf(a, "to approve: helm approval approve %s", id));
	add_hint(t,
		resume ? arena_printf(a, "then:       %s", resume)
		       : arena_printf(a, "then:       repeat the same command with --approval-id %s", id));
	return waiting_add(t->k, h->question, e);
}

static int blocked_by_pause(struct task *t, struct err *e)
{
	const struct decision *d = &t->report->handling.decision;

	t->report->exit_code = 26;
	t->report->message = d->summary;
	t->report->hint = d->decisive->instead;
	json_sets(t->k->a, t->row, "reason", d->summary);
	json_sets(t->k->a, t->row, "updated_at", now(t));
	return put_row(t, "blocked_by_pause", e);
}

static int blocked(struct task *t, struct err *e)
{
	const struct decision *d = &t->report->handling.decision;
	bool denied = t->report->handling.verdict != V_ESCALATE;
	const char *why = joined_reasons(t, d);
	struct arena *a = t->k->a;

	if (d->detail_code && text_eq(d->detail_code, PAUSE_RULE))
		return blocked_by_pause(t, e);
	t->report->exit_code = denied ? 25 : 24;
	t->report->message = arena_printf(a, "%s: %s",
		d->has_denied_group && d->action < ACTION_DENY ? "TOOL GRANT DENY"
			: denied			       ? "GUARD DENY"
							       : "GUARD APPROVAL REQUIRED",
		why);
	if (d->decisive && d->decisive->instead)
		t->report->hint = d->decisive->instead;
	if (t->report->handling.settled.why_asked)
		t->report->hint = arena_printf(a, "%s%sa checkpoint could not answer for you (%s)",
			t->report->hint ? t->report->hint : "", t->report->hint ? "; " : "",
			t->report->handling.settled.why_asked);
	if (!denied) {
		int rc = wait_for_person(t, e);
		if (rc)
			return rc;
	}
	return put_last(t, "blocked", d->has_denied_group && d->action < ACTION_DENY ? "tool_grant" : "guard",
		why, e);
}

/* ---- what happens once it is allowed ---- */

static void use_checkpoint(struct task *t, const char *id)
{
	json_sets(t->k->a, t->row, "checkpoint_id", id);
	t->report->checkpoint_id = id;
}

static int save_checkpoint(struct task *t, bool required, struct err *e)
{
	struct checkpoint_store store;
	struct checkpoint_request want = {
		.label = t->spec->label ? t->spec->label
					: arena_printf(t->k->a, "%s-checkpoint", t->profile->name),
		.task_id = t->id,
		.paths = t->spec->checkpoint_paths,
		.path_count = t->spec->checkpoint_path_count,
		.time_limit_ms = 60000,
	};
	struct checkpoint_result made;
	int rc = workspace_checkpoints(t->k->sys, t->k->a, t->k->ws, true, &store, e);

	if (rc == OK) {
		rc = checkpoint_create(&store, &want, &made, e);
		checkpoint_close(&store);
	}
	if (rc == OK) {
		use_checkpoint(t, made.id);
		return OK;
	}
	if (required)
		return rc;
	json_sets(t->k->a, t->row, "checkpoint_error", e->text);
	return OK;
}

static void add_path(struct arena *a, struct json *list, const char *path)
{
	if (path)
		json_pushs(a, list, path);
}

static const char *const *path_list(struct arena *a, const struct json *list)
{
	const char **all = arena_zalloc(a, (size_t)list->n + 1, sizeof(*all));

	for (size_t i = 0; i < list->n; i++)
		all[i] = json_text(list->items[i]);
	return all;
}

/* ~/.helm is closed.  When the workspace itself lies in it, its secrets are closed one by one. */
static const char *const *hidden_paths(struct task *t)
{
	struct arena *a = t->k->a;
	struct json *list = json_new(a, JSON_ARRAY);
	const char *home = t->k->ws->helm_home;

	if (home && !path_is_below(t->k->ws->root, home)) {
		add_path(a, list, home);
	} else if (home) {
		add_path(a, list, arena_printf(a, "%s/keys", home));
		add_path(a, list, arena_printf(a, "%s/trust", home));
		add_path(a, list, arena_printf(a, "%s/trees", home));
	}
	if (t->profile->writes != ALLOWANCE_YES)
		add_path(a, list, t->k->ws->state_dir);
	return path_list(a, list);
}

static const char *const *writable_paths(struct task *t)
{
	struct arena *a = t->k->a;
	struct json *list = json_new(a, JSON_ARRAY);

	add_path(a, list, t->tmp.path);
	if (t->profile->writes == ALLOWANCE_YES) {
		add_path(a, list, t->k->ws->root);
		add_path(a, list, t->work_tree);
		add_path(a, list, "/dev/shm");
	}
	for (size_t i = 0; i < t->profile->write_path_count && t->profile->writes == ALLOWANCE_YES; i++)
		add_path(a, list, path_clean(a, path_join(a, t->k->ws->root, t->profile->write_paths[i])));
	return path_list(a, list);
}

/* What decides about runs must not be changed by one, although it lies where a run may write: state, the workspace's own rules,
 * and the settings that arm the guard in agent clients. */
static const char *const *frozen_paths(struct task *t, const char *const *writable)
{
	struct arena *a = t->k->a;
	const char *roots[] = { t->k->ws->root, t->work_tree, t->k->ws->home };
	struct json *list = json_new(a, JSON_ARRAY), *settings = json_new(a, JSON_ARRAY);

	add_path(a, list, t->k->ws->state_dir);
	add_path(a, list, arena_printf(a, "%s/references", t->k->ws->root));
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (roots[i])
			clients_settings_in(t->k->sys, a, NULL, roots[i], settings);
	json_each (one, settings)
		for (const char *const *w = writable; *w; w++)
			if (path_is_below(json_text(one), *w)) {
				add_path(a, list, json_text(one));
				break;
			}
	return path_list(a, list);
}

static void protections(struct arena *a, struct json *to, const struct sandbox_report *r)
{
	struct json *p = json_new(a, JSON_OBJECT);

	json_seti(a, p, "landlock_abi", r->landlock_abi);
	json_setb(a, p, "seccomp", r->seccomp);
	json_setb(a, p, "no_new_privileges", r->no_new_privileges);
	json_setb(a, p, "files_confined", r->files_confined);
	json_setb(a, p, "metadata_confined", r->metadata_confined);
	json_setb(a, p, "network_closed", r->network_closed);
	json_setb(a, p, "network_namespace", r->network_namespace);
	json_setb(a, p, "signals_confined", r->signals_confined);
	json_setb(a, p, "keys_hidden", r->keys_hidden);
	json_setb(a, p, "state_protected", r->state_protected);
	json_sets(a, p, "missing", r->missing);
	json_set(a, to, "protections", p);
}

static const char *tail_text(struct task *t, const struct run_stream *s)
{
	size_t n;
	const char *clean = privacy_redact(t->k->a, s->tail, s->tail_n, &n);

	return text_safe(t->k->a, clean, n, true);
}

static int put_command_log(struct task *t, struct err *e)
{
	struct arena *a = t->k->a;
	const struct run_result *r = &t->result;
	struct json *row = json_new(a, JSON_OBJECT);

	json_sets(a, row, "task_id", t->id);
	json_sets(a, row, "component", "runner");
	json_sets(a, row, "label", json_get_text(t->row, "task_name", ""));
	json_sets(a, row, "command_preview", json_get_text(t->row, "command_preview", ""));
	json_sets(a, row, "profile", t->profile->name);
	json_sets(a, row, "cwd", t->spec->cwd);
	json_sets(a, row, "started_at", text_time_iso(a, r->started_us));
	json_sets(a, row, "finished_at", text_time_iso(a, r->finished_us));
	json_seti(a, row, "duration_ms", (r->finished_us - r->started_us) / 1000);
	json_seti(a, row, "exit_code", r->exit_code);
	if (r->exit_signal)
		json_seti(a, row, "exit_signal", r->exit_signal);
	json_setb(a, row, "timed_out", r->timed_out);
	json_setb(a, row, "captured", r->captured);
	if (r->captured) {
		json_seti(a, row, "stdout_bytes", (int64_t)r->out.bytes);
		json_seti(a, row, "stderr_bytes", (int64_t)r->err.bytes);
		json_sets(a, row, "stdout_tail", tail_text(t, &r->out));
		json_sets(a, row, "stderr_tail", tail_text(t, &r->err));
		json_setb(
			a, row, "truncated", r->out.bytes > RUN_TAIL_BYTES || r->err.bytes > RUN_TAIL_BYTES);
	}
	return append(t, COMMAND_LOG, row, e);
}

static void describe_end(struct task *t, struct json *happened)
{
	struct arena *a = t->k->a;
	const struct run_result *r = &t->result;
	char hex[SHA256_HEX];

	json_seti(a, happened, "exit_code", r->exit_code);
	if (r->exit_signal)
		json_seti(a, happened, "exit_signal", r->exit_signal);
	json_setb(a, happened, "timed_out", r->timed_out);
	if (r->captured) {
		hex_encode(r->out.sha256, SHA256_SIZE, hex);
		json_sets(a, happened, "stdout_sha256", hex);
		hex_encode(r->err.sha256, SHA256_SIZE, hex);
		json_sets(a, happened, "stderr_sha256", hex);
	}
	if (t->report->checkpoint_id)
		json_sets(a, happened, "checkpoint_id", t->report->checkpoint_id);
	protections(a, happened, &r->report);
	json_set(a, happened, "rows_sha256", t->digests);
}

static const char *why_not_executed(struct task *t)
{
	int code = t->result.report.exec_errno;

	if (!code)
		return NULL;
	return arena_printf(t->k->a, "'%s': %s", t->spec->argv[0],
		t->result.exit_code == 127 ? "command not found" : strerror(code));
}

/* Times show what was written; what is gone shows only where it was named, or was saved before. */
static void put_changes(struct task *t)
{
	struct arena *a = t->k->a;
	const char *root = t->work_tree ? t->work_tree : t->k->ws->root;
	struct json *touched = json_new(a, JSON_ARRAY), *deleted = json_new(a, JSON_ARRAY);

	if (t->profile->writes == ALLOWANCE_YES) {
		touched = task_touched(t->k->sys, a, root, t->k->ws->state_name, t->result.started_us);
		deleted = changes_gone(t->k, t->expected, t->report->checkpoint_id);
	}
	json_each (path, deleted)
		json_push(a, touched, path);
	json_set(a, t->row, "touched_paths", touched);
	json_set(a, t->row, "deleted_paths", deleted);
}

static int put_final(struct task *t, const char **ret_status, struct err *e)
{
	struct arena *a = t->k->a;
	const struct run_result *r = &t->result;
	const char *why = why_not_executed(t), *status = r->exit_code == 0 ? "completed" : "failed";

	json_seti(a, t->row, "exit_code", r->exit_code);
	if (r->exit_signal)
		json_seti(a, t->row, "exit_signal", r->exit_signal);
	protections(a, t->row, &r->report);
	put_changes(t);
	json_set(a, t->row, "memory_capture", task_memory_capture(a, r->exit_code));
	if (r->timed_out) {
		status = "timeout";
		why = arena_printf(a, "no end within %lld s", (long long)t->spec->timeout_s);
	} else if (r->interrupted && r->exit_code) {
		why = arena_printf(a, "interrupted; the command ended with %d", r->exit_code);
	}
	if (why)
		t->report->message = why;
	if (t->report->handling.settled.by && text_eq(t->report->handling.settled.by, "checkpoint"))
		t->report->hint = arena_printf(a,
			"this ran without a question; it can be undone with: helm checkpoint restore %s",
			t->report->handling.settled.checkpoint_id);
	json_sets(a, t->row, "finished_at", now(t));
	json_sets(a, t->row, "status", status);
	const char *snapshot = task_snapshot(t->k, &t->cards, t->row);
	if (snapshot)
		json_sets(a, t->row, "state_snapshot", snapshot);
	*ret_status = r->timed_out ? "TIMEOUT" : r->exit_code == 0 ? "COMPLETED" : "FAILED";
	return put_last(t, status, r->exit_code ? "execution" : NULL, why, e);
}

static bool last_look(void *arg, char *why, size_t why_n)
{
	return task_program_is_same(&((struct task *)arg)->program, why, why_n);
}

static void sign_of_life(void *arg)
{
	struct task *t = arg;

	heartbeat_beat(t->k->sys, t->k->ws, t->id);
	t->has_beaten = true;
}

static int commit(void *arg, struct err *e)
{
	struct task *t = arg;
	int rc = kernel_commit(t->k, e);

	return rc ? err_wrap(e, "not recorded, so not done") : OK;
}

/* A log that cannot be written does not keep the run from getting its last row. */
static void put_end_rows(struct task *t)
{
	struct err late = { 0 };

	t->has_end_rows = t->was_executed = true;
	t->report->exit_code = t->result.exit_code;
	int rc = put_command_log(t, &t->end_err);
	if (put_final(t, &t->outcome, &late) && rc == OK)
		t->end_err = late;
}

/* What a run that may not write left behind cannot change its rows any more: they go to disk while it is being ended. */
static void ended(void *arg)
{
	struct task *t = arg;
	struct err late = { 0 };

	if (t->profile->writes == ALLOWANCE_YES)
		return;
	put_end_rows(t);
	if (recorder_finish(&t->k->recorder, t->k->a, &late) && t->end_err.rc == OK)
		t->end_err = late;
}

static int run_it(struct task *t, struct err *e)
{
	const char *const *writable = writable_paths(t);
	struct sandbox_rules rules = {
		.network = t->profile->network == ALLOWANCE_YES ? NETWORK_FULL : t->profile->reach,
		.write_paths = writable,
		.hidden = hidden_paths(t),
		.read_only = t->profile->writes == ALLOWANCE_YES ? frozen_paths(t, writable) : NULL,
		.best_effort = t->profile->sandbox == SANDBOX_BEST_EFFORT,
	};
	const char **argv = arena_zalloc(t->k->a, t->spec->argc + 1, sizeof(*argv));
	memcpy(argv, t->spec->argv, t->spec->argc * sizeof(*argv));
	struct run_request request = { .argv = argv,
		.program = t->program.path,
		.last_look = last_look,
		.sign_of_life = sign_of_life,
		.sign_ms = HEARTBEAT_MS,
		.arg = t,
		.environment = task_environment(t->k, t->spec, t->id, t->tmp.path, t->cards.newest),
		.cwd = t->spec->cwd,
		.timeout_ms = t->spec->timeout_s * 1000,
		.capture = !t->spec->is_terminal,
		.commit = commit,
		.ended = ended,
		.rules = &rules };
	int rc = run_command(t->k->sys, &request, &t->result, e);

	if (t->has_beaten)
		heartbeat_end(t->k->sys, t->k->ws, t->id);
	t->was_executed = rc == OK;
	t->report->result = rc == OK ? &t->result : NULL;
	return rc;
}

static int execute(void *arg, const struct decision *d, const char *decision_id, struct json *happened,
	const char **ret_status, struct err *e)
{
	struct task *t = arg;
	struct arena *a = t->k->a;
	bool required = t->profile->checkpoint == CHECKPOINT_REQUIRED;
	int rc = OK;

	json_set(a, t->row, "guard", guard_row(t, d));
	json_sets(a, t->row, "decision_id", decision_id);
	t->program.files = t->report->handling.proposal.files;
	t->program.file_count = t->report->handling.proposal.file_count;
	t->expected = changes_expect(t->k, &t->report->handling.proposal);
	*ret_status = "NOT_EXECUTED";
	if (t->report->handling.settled.checkpoint_id)
		use_checkpoint(t, t->report->handling.settled.checkpoint_id);
	if (required || (d->destructive && t->spec->mode == GUARD_ENFORCE && !t->report->checkpoint_id)) {
		/* A checkpoint takes its time: the chain is not kept locked for it. */
		rc = kernel_commit(t->k, e);
		if (rc)
			return err_wrap(e, "not recorded, so not done");
		rc = save_checkpoint(t, required, e);
	}
	if (rc) {
		t->report->exit_code = 1;
		t->report->message = arena_printf(a, "the required checkpoint failed: %s", e->text);
		return put_last(t, "failed", "checkpoint", arena_strdup(a, e->text), e);
	}
	json_sets(a, t->row, "started_execution_at", now(t));
	rc = put_row(t, "running", e);
	if (rc)
		return rc;
	task_tmp_take(t->k->sys, a, "/tmp", &t->tmp);
	task_list_cards(t->k, &t->cards);
	rc = run_it(t, e);
	if (rc && t->k->is_unrecorded) {
		task_tmp_give(t->k->sys, &t->tmp);
		return rc;
	}
	if (rc) {
		const char *why = arena_strdup(a, e->text);
		t->report->exit_code = rc == E_DENIED ? 25 : 126;
		t->report->message = why;
		json_sets(a, happened, "refused", why);
		rc = put_last(t, "failed", "sandbox", why, e);
	} else {
		if (!t->has_end_rows)
			put_end_rows(t);
		rc = t->end_err.rc;
		if (rc)
			*e = t->end_err;
		*ret_status = t->outcome;
		describe_end(t, happened);
	}
	task_tmp_give(t->k->sys, &t->tmp);
	return rc;
}

/* ---- the steps before ---- */

/* A skill names the profiles it may run under. */
static int check_skill(struct task *t, struct err *e)
{
	const char *skill = t->spec->skill;
	struct bytes text;
	struct json *contract;

	if (!skill)
		return OK;
	if (strchr(skill, '/') || skill[0] == '.')
		return err_set(e, E_INPUT, "SKILL_NAME", "'%s' is no name of a skill", skill);
	const char *path = arena_printf(t->k->a, "skills/%s/contract.json", skill);
	int rc = file_read(t->k->sys, t->k->a, t->k->ws->root_fd, path, 1 << 20, FILE_BENEATH, &text, e);
	if (rc == E_MISSING)
		return OK;
	if (rc == OK)
		rc = json_parse(t->k->a, text, path, NULL, &contract, e);
	if (rc)
		return rc;
	struct json *allowed = json_get(contract, "allowed_profiles");
	json_each (name, allowed)
		if (json_text(name) && text_eq(json_text(name), t->profile->name))
			return OK;
	if (!allowed || !allowed->n)
		return OK;
	struct buf list;
	buf_init(&list, t->k->a);
	json_write(&list, allowed, JSON_SPACED);
	return err_set(e, E_INPUT, "SKILL_PROFILE", "skill '%s' may not run under %s, only under %s", skill,
		t->profile->name, list.p);
}

static int hand_off(struct task *t, struct err *e)
{
	struct arena *a = t->k->a;
	struct json *doc = json_new(a, JSON_OBJECT);

	if (!t->spec->runtime_target) {
		t->report->exit_code = 2;
		t->report->message =
			"this profile hands work to another place: name it with --runtime-target";
		return put_last(t, "failed", "handoff", t->report->message, e);
	}
	json_sets(a, doc, "task_id", t->id);
	json_sets(a, doc, "status", "handoff_required");
	json_sets(a, doc, "runtime_target", t->spec->runtime_target);
	json_sets(a, doc, "runtime_note", t->spec->runtime_note);
	json_sets(a, doc, "command_preview", json_get_text(t->row, "command_preview", ""));
	t->report->printed = doc;
	return put_last(t, "handoff_required", NULL, NULL, e);
}

/* The line that goes on after an approval.  What must not be written down is not: then there is none. */
static const char *resume_line(void *arg, const char *approval_id)
{
	struct task *t = arg;
	struct arena *a = t->k->a;
	const char *const at[] = { "--workspace", t->k->ws->root, "--cwd", t->spec->cwd };
	const char *line = arena_printf(a, "helm profile run %s %s --approval-id %s -- %s", t->profile->name,
		task_preview(a, at, ARRAY_SIZE(at)), approval_id,
		task_preview(a, t->spec->argv, t->spec->argc));
	size_t n = strlen(line);

	return privacy_redact(a, line, n, &n) == line && text_utf8_valid(line, n) == n ? line : NULL;
}

static struct request make_request(struct task *t)
{
	const struct run_spec *spec = t->spec;
	struct arena *a = t->k->a;
	struct json *about = json_new(a, JSON_OBJECT);

	task_find_program(t->k, spec, &t->program);
	if (t->program.path)
		json_set(a, about, "program", task_program_json(a, &t->program));
	return (struct request){ .door = "run",
		.subject_id = arena_printf(a, "user:%u", getuid()),
		.session = t->k->sys->getenv(t->k->sys, "HELM_SESSION"),
		.tool_name = path_base(spec->argv[0]),
		.action = "EXECUTE_COMMAND",
		.argv = spec->argv,
		.argc = spec->argc,
		.profile = t->profile,
		.mode = spec->mode,
		.task_id = t->id,
		.task_name = json_get_text(t->row, "task_name", NULL),
		.task_goal = spec->task_goal,
		.is_approved = spec->approve_risk,
		.metadata = about,
		.approval_id = spec->approval_id,
		.preview = json_get_text(t->row, "command_preview", NULL),
		.resume = resume_line,
		.execute = execute,
		.arg = t };
}

static int audit_only(struct task *t, const struct request *q, struct err *e)
{
	kernel_decide(t->k, q, &t->report->handling);
	t->report->was_decided = true;
	t->report->printed = decision_to_json(t->k->a, &t->report->handling.decision);
	json_set(t->k->a, t->row, "guard", t->report->printed);
	return put_last(t, "guard_audit", NULL, NULL, e);
}

static int decide_and_run(struct task *t, struct err *e)
{
	struct request q = make_request(t);
	struct arena *a = t->k->a;
	int rc = put_row(t, "queued", e);

	if (rc)
		return rc;
	if (t->spec->guard_json)
		return audit_only(t, &q, e);
	bool remote = text_eq(t->profile->backend, "manual-remote");
	if (remote) {
		/* Nothing is executed here, so there is nothing the guard could stop; what is handed on is on record. */
		q.execute = NULL;
		q.is_approved = true;
	}
	rc = kernel_handle(t->k, &q, &t->report->handling, e);
	if (rc)
		return rc;
	t->report->was_decided = true;
	struct decision *d = &t->report->handling.decision;
	json_set(a, t->row, "guard", guard_row(t, d));
	json_sets(a, t->row, "decision_id", t->report->handling.decision_id);
	if (t->report->handling.verdict != V_ALLOW)
		return blocked(t, e);
	return remote ? hand_off(t, e) : OK;
}

static int new_task_id(struct kernel *k, const char *given, const char **ret, struct err *e)
{
	uint8_t b[16];

	if (given) {
		if (!text_is_id(given))
			return err_set(e, E_USAGE, "TASK_ID",
				"'%s' is no task id: letters, digits, '.', '_' and '-', at most 128, the "
				"first one a letter or digit",
				given);
		*ret = given;
		return OK;
	}
	if (k->sys->random(k->sys, b, sizeof(b)))
		return err_sys(e, "TASK_ID", "cannot make a task id");
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	*ret = arena_printf(k->a, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		b[15]);
	return OK;
}

int task_run(struct kernel *k, const struct run_spec *spec, struct run_report *ret, struct err *e)
{
	struct task *t = arena_zalloc(k->a, 1, sizeof(*t));

	*t = (struct task){ .k = k, .spec = spec, .report = ret, .digests = json_new(k->a, JSON_ARRAY) };
	*ret = (struct run_report){ 0 };
	int rc = profiles_get(&k->guard.profiles, spec->profile, &t->profile, e);
	if (rc == OK)
		rc = new_task_id(k, spec->task_id, &t->id, e);
	if (rc == OK)
		rc = check_skill(t, e);
	if (rc)
		return rc;
	guard_at(&k->guard, k->a, spec->cwd);
	workspace_stand(k->sys, k->a, k->ws, spec->cwd);
	t->work_tree = k->guard.at.work_tree;
	t->row = task_stub(k, spec, t->profile, t->id);
	identify_process(t);
	ret->task_id = t->id;
	rc = decide_and_run(t, e);
	return rc ? rc : kernel_commit(k, e); /* rows that no receipt followed */
}

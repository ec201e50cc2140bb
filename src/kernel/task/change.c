/* change.c — a person moves a task: each change appends a copy of the newest row with what is different.
 *
 * The ledger is append-only: the newest row of a task is its state, and the older ones are its history.
 * These are acts of bookkeeping about work; they allow nothing and run nothing, so they need no
 * decision. */
#include "base/text.h"
#include "kernel/task/parts.h"

#include <string.h>

/* Nothing follows such a state by itself. */
static bool is_terminal(const char *status)
{
	static const char *const ends[] = { "completed", "failed", "blocked", "timeout", "handoff_required",
		"archived", "stale", "needs_verification", "browser_blocked", "browser_requires_approval",
		"browser_cleanup_required", NULL };

	for (const char *const *s = ends; *s; s++)
		if (text_eq(status, *s))
			return true;
	return false;
}

/* What belongs to one attempt must not look like a part of the next. */
static void forget_run(struct json *row)
{
	static const char *const fields[] = { "finished_at", "started_execution_at", "exit_code",
		"exit_signal", "failure_stage", "failure_reason", "failure_signature", "blocked_reason",
		"guard", "decision_id", "checkpoint_id", "memory_capture", "state_snapshot",
		"completion_evidence", "experience_attribution", "protections", "touched_paths",
		"evidence_refs", "completion_claims", "finalization_gate", "operational_status", "scope_gate",
		"state_bundle", "state_bundle_error", "evidence_gathering", "pid", "pid_start", "open_run",
		"heartbeat_at" };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		(void)json_remove(row, fields[i]);
}

void task_evidence_add(struct arena *a, struct json *row, const char *const *evidence, size_t n)
{
	struct json *all = json_get(row, "completion_evidence");

	if (!json_is(all, JSON_ARRAY)) {
		all = json_new(a, JSON_ARRAY);
		json_set(a, row, "completion_evidence", all);
	}
	for (size_t i = 0; i < n; i++) {
		bool known = false;
		json_each (have, all)
			known |= json_text(have) && text_eq(json_text(have), evidence[i]);
		if (!known)
			json_pushs(a, all, evidence[i]);
	}
}

int task_evidence_check(const char *const *evidence, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		const char *colon = strchr(evidence[i], ':');
		if (!colon || colon == evidence[i] || !colon[1])
			return err_set(e, E_USAGE, "TASK_EVIDENCE",
				"evidence is KIND:VALUE, for example test:pytest; not '%.200s'", evidence[i]);
	}
	return OK;
}

/* Changes that make no sense are refused unless forced; claims without evidence are refused always. */
static int check_jump(const struct task_change *c, const char *status, struct err *e)
{
	bool bad = (c->to == TASK_COMPLETE && text_eq(status, "completed")) ||
		(c->to == TASK_RECLAIM && text_eq(status, "running")) ||
		(c->to == TASK_RETRY && !is_terminal(status));

	if (bad && !c->force)
		return err_set(
			e, E_USAGE, "TASK_JUMP", "the task is %s; --force does it all the same", status);
	if (c->to == TASK_COMPLETE && !c->evidence_count)
		return err_set(
			e, E_USAGE, "TASK_EVIDENCE", "say what shows that it is done: --evidence KIND:VALUE");
	return task_evidence_check(c->evidence, c->evidence_count, e);
}

/* A retry is a task of its own that names its parent. */
static int retry(
	struct json *row, struct arena *a, const struct task_change *c, const char *new_id, struct err *e)
{
	int64_t count = json_get_int(row, "retry_count", 0) + 1, most = json_get_int(row, "max_retries", 0);

	if (most && count > most)
		return err_set(e, E_USAGE, "TASK_RETRIES",
			"it was tried %lld times already, which is its limit", (long long)most);
	json_sets(a, row, "parent_task_id", json_get_text(row, "task_id", ""));
	json_sets(a, row, "task_id", new_id);
	json_seti(a, row, "retry_count", count);
	if (c->reason)
		json_sets(a, row, "retry_reason", c->reason);
	forget_run(row);
	return OK;
}

/* The members of each kind of change, in the copy of the row. */
static void apply(struct json *row, struct arena *a, const struct task_change *c, const char *now)
{
	static const char *const states[] = { "blocked", "completed", "ready", "stale", "ready" };
	TABLE_COVERS(states, TASK_MOVES);

	if (c->to == TASK_RECLAIM) {
		forget_run(row);
		json_sets(a, row, "reclaim_reason", c->reason);
		json_sets(a, row, "reclaimed_at", now);
		if (c->owner)
			json_sets(a, row, "owner_session_id", c->owner);
	}
	if (c->to == TASK_BLOCK || c->to == TASK_STALE) {
		json_sets(a, row, c->to == TASK_BLOCK ? "blocked_reason" : "stale_reason", c->reason);
		json_sets(a, row, "failure_reason", c->reason);
		json_sets(a, row, "failure_stage",
			c->stage		      ? c->stage
				: c->to == TASK_BLOCK ? "manual"
						      : "stale");
	}
	if (c->to == TASK_BLOCK || c->to == TASK_STALE || c->to == TASK_COMPLETE) {
		json_sets(a, row, "finished_at", now);
		json_sets(a, row, "heartbeat_at", now);
	}
	if (c->to == TASK_COMPLETE)
		task_evidence_add(a, row, c->evidence, c->evidence_count);
	if (c->next_action)
		json_sets(a, row, "next_action", c->next_action);
	json_sets(a, row, "status", states[c->to]);
	json_sets(a, row, "updated_at", now);
	json_seti(a, row, "task_state_schema_version", 1);
}

/* History is never edited: the change is a new row, durable on return. */
int task_change(struct sys *s, struct arena *a, struct workspace *ws, const struct json *newest,
	const struct task_change *c, struct json **ret, char ret_digest[SHA256_HEX], struct err *e)
{
	struct json *row = json_copy(a, newest);
	char *id = NULL;
	int rc = check_jump(c, json_get_text(row, "status", ""), e);

	if (rc == OK && c->to == TASK_COMPLETE)
		rc = task_complete_check(s, a, ws, c, row, e);
	if (rc == OK && c->to == TASK_RETRY && c->new_id && !text_is_id(c->new_id))
		rc = err_set(e, E_USAGE, "TASK_ID", "'%s' is no task id", c->new_id);
	if (rc == OK && c->to == TASK_RETRY && !c->new_id)
		rc = record_new_id(a, s, "retry-", &id, e);
	if (rc == OK && c->to == TASK_RETRY)
		rc = retry(row, a, c, c->new_id ? c->new_id : id, e);
	if (rc)
		return rc;
	apply(row, a, c, text_time_iso(a, s->now_us(s)));
	if (json_get(row, "state_bundle"))
		task_bundle(s, a, ws, NULL, NULL, row);
	rc = ledger_append(s, a, ws->state_fd, TASK_LEDGER, row, ret_digest, e);
	if (rc == OK)
		*ret = row;
	return rc;
}

/* verified.c — verified execution: each task of a plan is attempted until everything is shown that it asks for, or three times.
 *
 * An attempt is a guarded run, and its row says which attempt of which task it was and what was shown.  The plan has a row of its own at the end, with the
 * digest of the document that tells all of it, and a receipt binds that row.  What is denied, asked about or paused is not attempted again. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/task/parts.h"
#include "remember/consensus.h"

#include <ctype.h>
#include <string.h>

#define KEPT_IN "verified-execution.json"
enum { ATTEMPTS = 3, TAIL_CHARS = 2000, FINGERPRINT_CHARS = 16, EXIT_BLOCKED = 30 };

struct verifying {
	struct kernel *k;
	struct arena *a;
	const struct run_spec *spec;
	struct run_report *report; /* of the last attempt */
	const struct json *plan;
	const char *id;
	struct json *doc;
};

/* ---- one attempt ---- */

/* A failure in few characters: how it ended and what it said, without numbers, which are different each time. */
static const char *fingerprint(struct arena *a, const struct run_report *report)
{
	const struct run_result *r = report->result;
	const struct run_stream *s = !r || !r->exit_code || !r->captured ? NULL
		: r->err.tail_n						 ? &r->err
									 : &r->out;
	struct bytes said = s && s->tail_n ? (struct bytes){ (const uint8_t *)s->tail, s->tail_n }
					   : bytes_of(report->message ? report->message : "");
	struct buf text;

	if (said.n > TAIL_CHARS)
		said = (struct bytes){ said.p + said.n - TAIL_CHARS, TAIL_CHARS };
	buf_init(&text, a);
	buf_addf(&text, "%d\n", report->exit_code);
	for (size_t i = 0; i < said.n; i++) {
		bool is_digit = isdigit(said.p[i]);
		if (!is_digit || !i || !isdigit(said.p[i - 1]))
			buf_addc(&text, is_digit ? '#' : (char)tolower(said.p[i]));
	}
	return arena_strndup(a, sha256_hex(a, text.p, text.n), FINGERPRINT_CHARS);
}

static struct json *criteria_of(struct arena *a, const struct json *row)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (one, json_get(json_get(row, "finalization_gate"), "claims"))
		if (text_starts(json_get_text(one, "claim_id", ""), "criterion:"))
			json_push(a, list, json_copy(a, one));
	return list;
}

/* The plan with this task alone, and its scope where it has one. */
static struct json *plan_for(struct verifying *v, const struct json *task)
{
	struct json *plan = json_copy(v->a, v->plan), *tasks = json_new(v->a, JSON_ARRAY);
	const struct json *scope = json_get(task, "scope");

	json_push(v->a, tasks, json_copy(v->a, task));
	json_set(v->a, plan, "tasks", tasks);
	if (json_is(scope, JSON_ARRAY) && scope->n)
		json_set(v->a, plan, "scope", json_copy(v->a, scope));
	return plan;
}

/* *ret: what is told of it; its member ok says whether everything was shown. */
static int attempt(struct verifying *v, const struct json *task, const char *name, int64_t number,
	struct json **ret, struct err *e)
{
	struct arena *a = v->a;
	const struct run_verified which = { v->id, json_get_text(task, "task_id", ""), number, ATTEMPTS };
	struct run_spec spec = *v->spec;
	struct json *one = json_new(a, JSON_OBJECT), *row = NULL;
	struct err none = { 0 };

	spec.task_id = arena_printf(a, "%s-%s-a%lld", v->id, name, (long long)number);
	spec.task_name = json_get_text(task, "title", v->spec->task_name);
	if (!spec.parent_task_id)
		spec.parent_task_id = v->id;
	spec.plan = plan_for(v, task);
	spec.acceptance_count = 0;
	spec.verified = &which;
	spec.is_verified = true;
	int rc = task_run(v->k, a, &spec, v->report, e);
	if (rc)
		return rc;
	(void)row_newest(v->k->sys, a, v->k->ws->state_fd, spec.task_id, &row, &none);
	bool ok = !v->report->exit_code && text_eq(v->report->status, "completed") && row &&
		text_eq(json_get_text(row, "operational_status", ""), "verified");
	json_sets(a, one, "run_id", spec.task_id);
	json_seti(a, one, "attempt", number);
	json_sets(a, one, "status", v->report->status);
	json_seti(a, one, "exit_code", v->report->exit_code);
	json_setb(a, one, "ok", ok);
	if (!ok) {
		json_sets(a, one, "fingerprint", fingerprint(a, v->report));
		json_sets(a, one, "reason", v->report->message);
	}
	json_set(a, one, "criteria", criteria_of(a, row));
	*ret = one;
	return OK;
}

/* ---- one task ---- */

static bool is_same_each_time(const struct json *attempts)
{
	for (size_t i = 1; i < attempts->n; i++)
		if (!text_eq(json_get_text(attempts->items[i], "fingerprint", ""),
			    json_get_text(attempts->items[0], "fingerprint", "-")))
			return false;
	return attempts->n == ATTEMPTS;
}

/* *ret_why: why it is blocked; NULL: everything is shown. */
static int do_task(
	struct verifying *v, const struct json *task, size_t number, const char **ret_why, struct err *e)
{
	struct arena *a = v->a;
	const char *id = json_get_text(task, "task_id", ""),
		   *name = text_is_id(arena_printf(a, "%s-%s-a%d", v->id, id, ATTEMPTS))
		? id
		: arena_printf(a, "t%zu", number);
	struct json *told = json_new(a, JSON_OBJECT), *attempts = json_new(a, JSON_ARRAY), *one = NULL;
	bool ok = false, is_held = false;

	for (int64_t i = 1; i <= ATTEMPTS && !ok && !is_held; i++) {
		int rc = attempt(v, task, name, i, &one, e);
		if (rc)
			return rc;
		json_push(a, attempts, one);
		ok = json_get_bool(one, "ok", false);
		is_held = !v->report->result || v->report->result->interrupted;
	}
	*ret_why = ok ? NULL
		: is_held
		? arena_printf(
			  a, "task '%s' %s", id, v->report->result ? "was interrupted" : "may not be done")
		: arena_printf(a, "task '%s' is not shown to be done after %d attempts%s", id, ATTEMPTS,
			  is_same_each_time(attempts) ? ", which failed in the same way each time" : "");
	json_sets(a, told, "task_id", id);
	json_sets(a, told, "title", json_get_text(task, "title", ""));
	json_sets(a, told, "status", ok ? "verified" : "blocked");
	json_set(a, told, "attempts", attempts);
	json_push(a, json_get(v->doc, "tasks"), told);
	return OK;
}

/* ---- all of them ---- */

/* The row of the plan, and a receipt over it: what the document says is on record with its digest. */
static int put_row(struct verifying *v, const char *why, const char *sha256, struct err *e)
{
	struct arena *a = v->a;
	struct json *row = json_new(a, JSON_OBJECT), *told = json_new(a, JSON_OBJECT),
		    *about = json_new(a, JSON_OBJECT), *digests = json_new(a, JSON_ARRAY), *receipt;
	const char *status = json_get_text(v->doc, "status", ""), *objective = v->spec->task_name;
	const struct act act = { .effect_id = "helm.task/verified", .type = "task", .about = about };
	char digest[SHA256_HEX];

	if (!objective)
		objective = json_get_text(v->plan, "objective", v->id);
	json_sets(a, told, "status", status);
	json_sets(a, told, "artifact", arena_printf(a, TASK_BUNDLES "/%s/" KEPT_IN, v->id));
	json_sets(a, told, "sha256", sha256);
	json_sets(a, row, "task_id", v->id);
	json_sets(a, row, "parent_task_id", v->spec->parent_task_id);
	json_sets(a, row, "kind", "verified_plan");
	json_sets(a, row, "task_name", objective);
	json_sets(a, row, "skill", v->spec->skill);
	json_sets(a, row, "profile", v->spec->profile);
	json_sets(a, row, "command_preview", task_preview(a, v->spec->argv, v->spec->argc));
	json_sets(a, row, "started_at", json_get_text(v->doc, "created_at", ""));
	json_sets(a, row, "finished_at", text_time_iso(a, v->k->sys->now_us(v->k->sys)));
	json_sets(a, row, "status", why ? "blocked" : "completed");
	json_sets(a, row, "operational_status", why ? "blocked" : "verified");
	if (why) {
		json_sets(a, row, "failure_stage", "verification");
		json_sets(a, row, "failure_reason", why);
	}
	json_set(a, row, "verified_execution", told);
	task_bundle(v->k->sys, a, v->k->ws, NULL, v->plan, row);
	int rc = ledger_append(v->k->sys, a, v->k->ws->state_fd, TASK_LEDGER, row, digest, e);
	if (rc)
		return rc;
	json_pushs(a, digests, digest);
	json_sets(a, about, "task_id", v->id);
	json_sets(a, about, "status", status);
	json_set(a, about, "rows_sha256", digests);
	return act_record(v->k, a, &act, &receipt, e);
}

static int do_tasks(struct verifying *v, struct err *e)
{
	struct task keeping = { .k = v->k, .a = v->a, .id = v->id };
	struct arena *a = v->a;
	const char *why = NULL;
	size_t number = 0;
	int rc = OK;

	json_seti(a, v->doc, "schema_version", 1);
	json_sets(a, v->doc, "plan_id", v->id);
	json_sets(a, v->doc, "created_at", text_time_iso(a, v->k->sys->now_us(v->k->sys)));
	json_seti(a, v->doc, "max_attempts", ATTEMPTS);
	json_set(a, v->doc, "tasks", json_new(a, JSON_ARRAY));
	json_each (task, json_get(v->plan, "tasks")) {
		rc = why ? OK : do_task(v, task, ++number, &why, e);
		if (rc)
			return rc;
	}
	json_sets(a, v->doc, "status", why ? "blocked" : "verified");
	json_setb(a, v->doc, "ok", !why);
	json_sets(a, v->doc, "reason", why);
	rc = put_row(v, why, task_keep(&keeping, KEPT_IN, v->doc), e);
	if (rc || !why)
		return rc;
	/* What was held keeps its own code, since a person can answer it; and what a person ended does. */
	if (v->report->result && !v->report->result->interrupted)
		v->report->exit_code = EXIT_BLOCKED;
	v->report->message = arena_printf(a, "BLOCKED: %s: %s", why,
		v->report->message ? v->report->message : "it ended otherwise than it should");
	return OK;
}

int task_run_verified(
	struct kernel *k, struct arena *a, const struct run_spec *spec, struct run_report *ret, struct err *e)
{
	struct verifying v = { k, a, spec, ret, NULL, spec->task_id, json_new(a, JSON_OBJECT) };
	struct run_spec asked = *spec;
	const struct profile *profile;
	int rc = profiles_get(&k->guard.profiles, spec->profile, &profile, e);

	if (rc)
		return rc;
	asked.is_verified = spec->is_verified ||
		(task_plan_is_switched_on(k) &&
			consensus_is_verified(profile->name, spec->task_name ? spec->task_name : "",
				spec->skill ? spec->skill : "", task_preview(a, spec->argv, spec->argc)));
	if (!asked.is_verified || spec->guard_json || text_eq(profile->backend, "manual-remote"))
		return task_run(k, a, spec, ret, e);
	if (!v.id) {
		char *made;
		rc = record_new_task_id(a, k->sys, &made, e);
		if (rc)
			return rc;
		v.id = made;
	}
	const struct json *review = task_plan_review(k, a, spec, profile, v.id);
	/* Nothing to hold it to: that is a denial on record, by the run itself. */
	if (!json_get_bool(review, "ok", false) || !text_is_id(v.id))
		return task_run(k, a, &asked, ret, e);
	v.plan = json_get(review, "plan");
	return do_tasks(&v, e);
}

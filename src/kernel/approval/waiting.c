/* waiting.c — long-running-runtime.json: runs that wait for a person, in the form older readers of a
 * workspace know.
 *
 * Nothing is decided from this file; approvals.json is what counts.  It is kept because tools of older
 * workspaces show it, and members we do not know stay as they are. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/approval/parts.h"

#include <string.h>

static const struct doc RUNTIME = { .file = "long-running-runtime.json",
	.lock = "long-running-runtime.lock",
	.type = JSON_OBJECT,
	.max_bytes = 16 << 20,
	.style = JSON_SORT_BYTES,
	.code = "RUNTIME_STATE",
	.newest = 1,
	.version = "runtime_state_schema_version" };
enum { MAX_KEPT = 400 };
static const int64_t KEPT_US = INT64_C(7) * 86400 * 1000000;

/* A part that somebody made something else of is begun anew, since nothing is decided from it. */
static struct json *part(struct arena *a, struct json *doc, const char *name)
{
	if (!json_is(json_get(doc, name), JSON_OBJECT))
		(void)json_remove(doc, name);
	return doc_part(a, doc, name);
}

/* A new file gets its version. */
static int load(struct kernel *k, struct arena *a, struct json **ret, struct err *e)
{
	int rc = doc_load(k->sys, a, k->ws->state_fd, &RUNTIME, ret, e);

	if (rc == OK && !(*ret)->n)
		json_seti(a, *ret, "runtime_state_schema_version", 1);
	return rc;
}

/* Pauses that ended long ago; of many, also those that were answered a moment ago. */
static void prune(struct kernel *k, struct json *pauses)
{
	int64_t before = k->sys->now_us(k->sys) - KEPT_US, us;

	for (uint32_t i = pauses->n; i-- > 0;) {
		const struct json *one = pauses->members[i].value;
		const char *end = json_get_text(one, "expires_at", "");
		bool is_old = text_parse_time(end, strlen(end), &us) && us < before;
		if (is_old || (pauses->n > MAX_KEPT && json_get_text(one, "response", NULL)))
			(void)json_remove(pauses, pauses->members[i].name);
	}
}

/* Runs that wait for nothing any more stand in the ledger of tasks: of many they go. */
static void prune_runs(struct json *runs)
{
	for (uint32_t i = runs->n; i-- > 0 && runs->n > MAX_KEPT;)
		if (!json_get_text(runs->members[i].value, "pending_approval_id", NULL))
			(void)json_remove(runs, runs->members[i].name);
}

/* The parts that older readers expect are always there. */
static int store(struct kernel *k, struct arena *a, struct json *doc, struct err *e)
{
	prune(k, part(a, doc, "approval_gates"));
	prune_runs(part(a, doc, "task_runs"));
	(void)part(a, doc, "agent_registry");
	return doc_replace(k->sys, a, k->ws->state_fd, &RUNTIME, doc, e);
}

/* The state of the run that waits, as older readers show it. */
static void set_task(
	struct arena *a, struct json *doc, const char *task, const char *status, const char *pending)
{
	struct json *run = part(a, part(a, doc, "task_runs"), task);

	json_sets(a, run, "status", status);
	json_sets(a, run, "pending_approval_id", pending);
}

/* Only for guarded runs: an agent's call does not wait. */
int waiting_add(struct kernel *k, struct arena *a, const struct json *request, struct err *e)
{
	static const char *const members[] = { "approval_id", "task_id", "pending_action", "resource",
		"risk_reason", "risk_class", "options", "expires_at", "resume_command", "created_at" };
	AUTO(close_fd) int lock = -1;
	const char *id = json_get_text(request, "approval_id", ""),
		   *task = json_get_text(request, "task_id", "");
	struct json *doc, *pause = json_new(a, JSON_OBJECT);
	int rc = doc_lock(k->sys, k->ws->state_fd, &RUNTIME, &lock, e);

	if (rc == OK)
		rc = load(k, a, &doc, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_set(a, pause, members[i], json_get(request, members[i]));
	json_sets(a, pause, "response", NULL);
	json_sets(a, pause, "responder", NULL);
	json_sets(a, pause, "resolved_at", NULL);
	json_set(a, part(a, doc, "approval_gates"), id, pause);
	set_task(a, doc, task, "paused", id);
	return store(k, a, doc, e);
}

/* A request that is not in the file is no error. */
int waiting_settle(struct kernel *k, struct arena *a, const struct json *request, const char *response,
	const char *responder, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	const char *id = json_get_text(request, "approval_id", ""),
		   *task = json_get_text(request, "task_id", NULL);
	struct json *doc;

	if (!task) /* not a run: nothing is paused */
		return OK;
	int rc = doc_lock(k->sys, k->ws->state_fd, &RUNTIME, &lock, e);
	if (rc == OK)
		rc = load(k, a, &doc, e);
	if (rc)
		return rc;
	struct json *pause = json_get(part(a, doc, "approval_gates"), id);
	if (!pause)
		return OK;
	json_sets(a, pause, "response", response);
	json_sets(a, pause, "responder", responder);
	json_sets(a, pause, "resolved_at", text_time_z(a, k->sys->now_us(k->sys)));
	set_task(a, doc, task, text_eq(response, "approved") ? "running" : "cancelled", NULL);
	return store(k, a, doc, e);
}

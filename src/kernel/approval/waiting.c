/* waiting.c — long-running-runtime.json: runs that wait for a person, in the form older readers of a workspace know.
 *
 * Nothing is decided from this file; approvals.json is what counts.  It is kept because tools of older workspaces show it, and
 * members we do not know stay as they are. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/approval/parts.h"

#include <string.h>

#define RUNTIME_FILE "long-running-runtime.json"
#define RUNTIME_LOCK "long-running-runtime.lock"

enum { RUNTIME_LIMIT = 16 << 20 };
static const int64_t KEPT_US = INT64_C(7) * 86400 * 1000000;

static struct json *part(struct arena *a, struct json *doc, const char *name)
{
	struct json *v = json_get(doc, name);

	if (!json_is(v, JSON_OBJECT)) {
		v = json_new(a, JSON_OBJECT);
		json_set(a, doc, name, v);
	}
	return v;
}

static int load(struct kernel *k, struct json **ret, struct err *e)
{
	struct bytes text;
	int rc = file_read(k->sys, k->a, k->ws->state_fd, RUNTIME_FILE, RUNTIME_LIMIT, 0, &text, e);

	if (rc == E_MISSING) {
		*ret = json_new(k->a, JSON_OBJECT);
		json_seti(k->a, *ret, "runtime_state_schema_version", 1);
		return OK;
	}
	if (rc == OK)
		rc = json_parse(k->a, text, RUNTIME_FILE, NULL, ret, e);
	if (rc == OK && !json_is(*ret, JSON_OBJECT))
		rc = err_set(e, E_CORRUPT, "RUNTIME_STATE", "%s is no object", RUNTIME_FILE);
	return rc;
}

/* Gates that ended long ago. */
static void prune(struct kernel *k, struct json *gates)
{
	int64_t before = k->sys->now_us(k->sys) - KEPT_US, us;

	for (uint32_t i = gates->n; i-- > 0;) {
		const char *end = json_get_text(gates->members[i].value, "expires_at", "");
		if (text_parse_time(end, strlen(end), &us) && us < before)
			(void)json_remove(gates, gates->members[i].name);
	}
}

static int store(struct kernel *k, struct json *doc, struct err *e)
{
	struct buf text;

	prune(k, part(k->a, doc, "approval_gates"));
	(void)part(k->a, doc, "task_runs");
	(void)part(k->a, doc, "agent_registry");
	buf_init(&text, k->a);
	json_write(&text, doc, JSON_INDENT | JSON_SORT_BYTES);
	buf_addc(&text, '\n');
	return file_replace(k->sys, k->ws->state_fd, RUNTIME_FILE, 0600, buf_bytes(&text), e);
}

static void set_task(
	struct kernel *k, struct json *doc, const char *task, const char *status, const char *pending)
{
	struct json *run = part(k->a, part(k->a, doc, "task_runs"), task);

	json_sets(k->a, run, "status", status);
	json_sets(k->a, run, "pending_approval_id", pending);
}

int waiting_add(struct kernel *k, const struct json *request, struct err *e)
{
	static const char *const members[] = { "approval_id", "task_id", "pending_action", "resource",
		"risk_reason", "risk_class", "options", "expires_at", "resume_command", "created_at" };
	AUTO(close_fd) int lock = -1;
	const char *id = json_get_text(request, "approval_id", ""),
		   *task = json_get_text(request, "task_id", "");
	struct json *doc, *gate = json_new(k->a, JSON_OBJECT);
	int rc = file_lock(k->sys, k->ws->state_fd, RUNTIME_LOCK, 5000, &lock, e);

	if (rc == OK)
		rc = load(k, &doc, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_set(k->a, gate, members[i], json_get(request, members[i]));
	json_sets(k->a, gate, "response", NULL);
	json_sets(k->a, gate, "responder", NULL);
	json_sets(k->a, gate, "resolved_at", NULL);
	json_set(k->a, part(k->a, doc, "approval_gates"), id, gate);
	set_task(k, doc, task, "paused", id);
	return store(k, doc, e);
}

int waiting_settle(struct kernel *k, const struct json *request, const char *response, const char *responder,
	struct err *e)
{
	AUTO(close_fd) int lock = -1;
	const char *id = json_get_text(request, "approval_id", ""),
		   *task = json_get_text(request, "task_id", NULL);
	struct json *doc;

	if (!task) /* not a run: there is no gate */
		return OK;
	int rc = file_lock(k->sys, k->ws->state_fd, RUNTIME_LOCK, 5000, &lock, e);
	if (rc == OK)
		rc = load(k, &doc, e);
	if (rc)
		return rc;
	struct json *gate = json_get(part(k->a, doc, "approval_gates"), id);
	if (!gate)
		return OK;
	json_sets(k->a, gate, "response", response);
	json_sets(k->a, gate, "responder", responder);
	json_sets(k->a, gate, "resolved_at", text_time_z(k->a, k->sys->now_us(k->sys)));
	set_task(k, doc, task, text_eq(response, "approved") ? "running" : "cancelled", NULL);
	return store(k, doc, e);
}

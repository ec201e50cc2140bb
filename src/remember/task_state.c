/* task_state.c — events of task-state.jsonl, folded. */
#include "remember/task_state.h"

#include "base/file.h"
#include "base/text.h"
#include "record/record.h"

#include <string.h>

#define TASK_STATE_LOCK "task-state.lock"

static bool has_text(const struct json *list, const char *text)
{
	json_each (one, list)
		if (json_text(one) && text_eq(json_text(one), text))
			return true;
	return false;
}

static void add_once(struct arena *a, struct json *list, const char *text)
{
	if (!has_text(list, text))
		json_pushs(a, list, text);
}

static struct json *new_state(struct arena *a)
{
	static const char *const lists[] = { "required_steps", "completed_steps", "blockers",
		"external_side_effect_approvals" };
	struct json *doc = json_new(a, JSON_OBJECT);

	json_seti(a, doc, "task_state_schema_version", 1);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		json_set(a, doc, lists[i], json_new(a, JSON_ARRAY));
	json_sets(a, doc, "finalization_state", "pending");
	json_set(a, doc, "recovered_messages", json_new(a, JSON_ARRAY));
	return doc;
}

static void without(struct arena *a, struct json *doc, const char *name, const char *text)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (one, json_get(doc, name))
		if (!json_text(one) || !text_eq(json_text(one), text))
			json_push(a, list, one);
	json_set(a, doc, name, list);
}

static void fold(struct arena *a, struct json *doc, const struct json *event)
{
	const char *op = json_get_text(event, "op", ""), *text = json_get_text(event, "value", "");

	if (text_eq(op, "require"))
		add_once(a, json_get(doc, "required_steps"), text);
	else if (text_eq(op, "done"))
		add_once(a, json_get(doc, "completed_steps"), text);
	else if (text_eq(op, "blocker"))
		add_once(a, json_get(doc, "blockers"), text);
	else if (text_eq(op, "unblock"))
		without(a, doc, "blockers", text);
	else if (text_eq(op, "approve"))
		json_push(a, json_get(doc, "external_side_effect_approvals"),
			json_copy(a, json_get(event, "value")));
	else if (text_eq(op, "message"))
		json_push(a, json_get(doc, "recovered_messages"), json_copy(a, json_get(event, "value")));
	else if (text_eq(op, "finalize"))
		json_sets(a, doc, "finalization_state", "finalized");
	else if (text_eq(op, "abandon"))
		json_sets(a, doc, "finalization_state", "abandoned");
	if ((text_eq(op, "done") || text_eq(op, "require")) &&
		text_eq(json_get_text(doc, "finalization_state", ""), "pending"))
		json_sets(a, doc, "finalization_state", "in_progress");
}

static const char *first_open(const struct json *doc)
{
	json_each (step, json_get(doc, "required_steps"))
		if (!has_text(json_get(doc, "completed_steps"), json_text(step)))
			return json_text(step);
	return NULL;
}

struct folding {
	struct arena *a;
	const char *task_id;
	struct json *doc;
};

static int take(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct folding *f = arg;

	(void)place;
	(void)line;
	(void)e;
	if (row && text_eq(json_get_text(row, "task_id", ""), f->task_id))
		fold(f->a, f->doc, row);
	return 0;
}

/* What the ledger says of the task itself.  One that is completed there, of which nobody asked anything more and that nothing blocks, is
 * final: nobody has to say so twice. */
static void put_task(struct sys *s, struct arena *a, int state_fd, const char *task_id, struct json *doc)
{
	struct json *row = NULL;
	const char *status;

	if (row_newest(s, a, state_fd, task_id, &row, NULL))
		row = NULL;
	status = json_get_text(row, "status", NULL);
	json_sets(a, doc, "task_status", status);
	if (status && text_eq(status, "completed") && !first_open(doc) && !json_get(doc, "blockers")->n &&
		!text_eq(json_get_text(doc, "finalization_state", ""), "abandoned"))
		json_sets(a, doc, "finalization_state", "finalized");
}

int task_state_load(
	struct sys *s, struct arena *a, int state_fd, const char *task_id, struct json **ret, struct err *e)
{
	struct folding f = { a, task_id, new_state(a) };

	if (!text_is_id(task_id))
		return err_set(e, E_USAGE, "TASK_ID", "'%.128s' is no task id", task_id);
	int rc = rows_each(s, state_fd, TASK_STATE, 0, take, &f, e);
	if (rc == OK)
		put_task(s, a, state_fd, task_id, f.doc);
	json_setb(a, f.doc, "is_final",
		text_eq(json_get_text(f.doc, "finalization_state", ""), "finalized") && !first_open(f.doc));
	*ret = f.doc;
	return rc;
}

static int refuse(struct err *e, const char *what, const char *text)
{
	return err_set(e, E_USAGE, "TASK_STATE", "%s: '%.100s'", what, text);
}

static int check(const struct json *doc, const char *op, const struct json *value, struct err *e)
{
	const char *text = json_text(value);

	if (text_eq(op, "done") && !has_text(json_get(doc, "required_steps"), text))
		return refuse(e, "nobody requires that step", text);
	if (text_eq(op, "unblock") && !has_text(json_get(doc, "blockers"), text))
		return refuse(e, "there is no such blocker", text);
	if (text_eq(op, "finalize") && first_open(doc))
		return refuse(e, "a required step is not done", first_open(doc));
	if (text_eq(op, "finalize") && json_get(doc, "blockers")->n)
		return refuse(e, "something blocks it", json_text(json_at(json_get(doc, "blockers"), 0)));
	json_each (one, json_get(doc, "recovered_messages"))
		if (text_eq(op, "message") &&
			text_eq(json_get_text(one, "message_id", ""),
				json_get_text(value, "message_id", "-")))
			return refuse(e, "that message is known", json_get_text(value, "message_id", "-"));
	return OK;
}

int task_state_add(struct sys *s, struct arena *a, int state_fd, const char *task_id, const char *op,
	struct json *value, const char *by, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *doc, *row = json_new(a, JSON_OBJECT);
	int rc = file_lock(s, state_fd, TASK_STATE_LOCK, 5000, &lock, e);

	if (rc == OK)
		rc = task_state_load(s, a, state_fd, task_id, &doc, e);
	if (rc == OK)
		rc = check(doc, op, value, e);
	if (rc)
		return rc;
	json_sets(a, row, "at", text_time_iso(a, s->now_us(s)));
	json_sets(a, row, "task_id", task_id);
	json_sets(a, row, "op", op);
	json_set(a, row, "value", value);
	json_sets(a, row, "by", by);
	return ledger_append(s, a, state_fd, TASK_STATE, row, NULL, e);
}

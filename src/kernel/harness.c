/* harness.c — one more row of a task, with what was found out about it. */
#include "kernel/harness.h"

#include "base/doc.h"
#include "base/text.h"
#include "kernel/memory_parts.h"
#include "kernel/task/task.h"
#include "privacy/privacy.h"

int harness_add(
	struct kernel *k, struct arena *a, const struct harness_addition *x, struct json **ret, struct err *e)
{
	struct memory_act act = { .verb = "evidence", .task_id = x->task_id };
	struct memory_place m = memory_place_of(k->sys, k->ws);
	AUTO(close_fd) int lock = -1;
	struct json *newest, *row = NULL;
	int rc = task_evidence_check(x->evidence, x->evidence_count, e);

	if (rc == OK)
		rc = memory_take_lock(k, &lock, e);
	if (rc == OK)
		rc = memory_task(&m, a, x->task_id, &newest, e);
	if (rc == OK)
		rc = memory_act_begin(k, a, &act, e);
	if (rc)
		return rc;
	row = json_copy(a, newest);
	if (x->harness)
		doc_lay_over(a, doc_part(a, doc_part(a, row, "meta"), "harness"), x->harness);
	json_each_member (one, x->members)
		json_set(a, row, one->name, json_copy(a, one->value));
	if (x->evidence_count)
		task_evidence_add(a, row, x->evidence, x->evidence_count);
	if (x->needs) {
		json_sets(a, row, "status", "needs_verification");
		json_sets(a, row, "verification_reason", x->needs);
	}
	json_sets(a, row, "updated_at", text_time_iso(a, k->sys->now_us(k->sys)));
	privacy_redact_json(a, row);
	rc = memory_act_row(a, &act, TASK_LEDGER, row, e);
	rc = memory_act_end(a, &act, rc, e);
	if (rc == OK)
		*ret = row;
	return rc;
}

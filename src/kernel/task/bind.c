/* bind.c — rows of the task ledger that no run writes: moves of an operator, restores and repairs of checkpoints.
 *
 * A receipt has their digests, as the outcome of a run has those of its rows, so that one that is changed or removed later is found. */
#include "kernel/act.h"
#include "kernel/task/parts.h"

int task_bind_rows(struct sys *s, struct arena *a, struct workspace *ws, const char *verb,
	const char *task_id, const struct json *digests, struct err *e)
{
	AUTO(kernel_close) struct kernel k = { 0 };
	struct json *about = json_new(a, JSON_OBJECT), *receipt;
	const struct act act = {
		.effect_id = arena_printf(a, "helm.task/%s", verb), .type = "task", .about = about
	};
	int rc = kernel_open(s, a, ws, &k, e);

	if (rc)
		return rc;
	json_sets(a, about, "task_id", task_id);
	json_set(a, about, "rows_sha256", json_copy(a, digests));
	return act_record(&k, a, &act, &receipt, e);
}

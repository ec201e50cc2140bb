/* act.c — a person's act on record.
 *
 * What a person does to the boundary itself (stop it, choose, answer) is not decided by the boundary.  It
 * is signed and chained like everything else, and it comes before its effect: a crash in between leaves an
 * act without effect, never an effect without a record. */
#include "kernel/act.h"

/* The caller changes things only after this returned OK. */
int act_record(
	struct kernel *k, struct arena *a, const struct act *act, struct json **ret_receipt, struct err *e)
{
	char *id = NULL;
	int rc = act->decision_id ? OK : record_new_id(a, k->sys, "dec-", &id, e);

	if (rc)
		return rc;
	struct draft d = { .decision_id = act->decision_id ? act->decision_id : id,
		.effect_id = act->effect_id,
		.status = "RECORDED",
		.reason_code = act->reason_code,
		.policy_hash = k->policy_hash,
		.args_hash = act->args_hash,
		.output_hash = act->output_hash,
		.executor_id = act->executor_id,
		.type = act->type,
		.metadata = act->about };
	return recorder_append(&k->recorder, a, &d, 1, ret_receipt, e);
}

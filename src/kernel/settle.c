/* settle.c — an answer that is there before the question.
 *
 * Between deciding, which is pure, and recording, which is final, a question may find its answer: a person said yes on the
 * command line, or granted it beforehand, or everything it is about was saved just now (undo.c).  Each way either answers the
 * whole question or leaves it as it is; whatever goes wrong in here leaves it asked. */
#include "kernel/settle.h"

#include "base/text.h"
#include "kernel/approval/approval.h"

/* A person started this run and said so. */
static bool by_hand(const struct request *q, struct handling *o)
{
	if (!q->is_approved)
		return false;
	/* What is only handed on is not approved by anybody here. */
	o->settled.by = q->execute ? "approve-risk" : "handoff";
	return true;
}

void settle(struct kernel *k, const struct request *q, const char *args, struct handling *o)
{
	struct json *doc = NULL;
	struct err e = { 0 };

	if (!by_hand(q, o) && approvals_load(k->sys, k->a, k->ws, &doc, &e))
		o->approval_note = arena_printf(k->a, "whether it was approved cannot be read (%s)", e.text);
	if (o->settled.by || grants_settle(k, q, args, doc, o) || undo_settles(k, q, o))
		o->verdict = V_ALLOW;
	else if (approval_pose(k, q, args, doc, o, &e))
		o->approval_note = arena_strdup(k->a, e.text);
	/* A guarded run saves by itself, once it is sure to start. */
	if (text_starts(q->door, "hook/") && (o->verdict == V_ALLOW || q->can_ask))
		undo_save(k, q, o);
}

/* v1.h — what the file of published vectors holds beside them: invariants of receipts, chains, golden receipts, lifecycles, a session to replay. */
#ifndef AUDIT_CONFORM_V1_H
#define AUDIT_CONFORM_V1_H

#include "audit/conform/world.h"

/* The receipts of a run, in order, with what each was asked. */
struct v1_run {
	struct arena *a;
	struct v1_receipt {
		const struct json *receipt;
		const char *effect_id, *principal;
	} * items;
	size_t n, room;
};
/* Copied; NULL counts as a receipt that is missing. */
void v1_keep_receipt(
	struct v1_run *run, const struct json *receipt, const struct json *effect, const char *principal);

/* Each published rule about receipts, over all receipts of the run. */
void v1_invariants(
	struct world *w, struct conform_tally *t, const struct json *rules, const struct v1_run *run);
void v1_fixtures(struct conform_tally *t, const struct json *doc);
/* A vector about a recorded session: made, read back and compared. */
int v1_replay(struct world *w, struct arena *a, const struct json *vector, struct json *got, struct err *e);

#endif

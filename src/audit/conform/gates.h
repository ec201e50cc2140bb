/* gates.h — inside audit/conform/: the gates of conformance that look at an evidence pack. */
#ifndef AUDIT_CONFORM_GATES_H
#define AUDIT_CONFORM_GATES_H

#include "audit/audit.h"

/* One pack on its way through the gates. */
struct gating {
	struct arena *a;
	struct sys *sys;
	const struct pack *pack;
	const struct trust *trust;
	const char *jurisdiction; /* NULL: every one that the pack names */
	struct json *receipts; /* of 02_PROOFGRAPH/receipts, by seq */
	/* Of the gate at hand. */
	struct json *reasons, *paths;
	int64_t looked_at;
	bool is_not_run; /* there was nothing to look at, and that alone is no fault */
};

/* What is wrong, in the registry's words: "RECEIPT_CHAIN_BROKEN", "SLO_MISSING:policy_decision_latency".  Each once. */
void gate_fail(struct gating *g, const char *code, const char *what);
/* A document of the pack that was looked at; NULL when it is not there or no JSON. */
const struct json *gate_document(struct gating *g, const char *path);
/* The i-th JSON file below this directory, wherever the directory lies in the pack; false behind the last. */
bool gate_each(
	struct gating *g, const char *dir, size_t *at, const char **ret_path, const struct json **ret_doc);
/* Is there a file of this name (without suffix: any), wherever it lies? */
const struct pack_file *gate_find(struct gating *g, const char *name);

typedef void conform_gate_fn(struct gating *g);
conform_gate_fn gate_receipts, gate_replay, gate_envelope_bound, gate_tenant_one, gate_human, gate_incident,
	gate_budget_seen, gate_delegations; /* gates_receipts.c */
conform_gate_fn gate_build, gate_schemas, gate_policies, gate_secrets, gate_tools, gate_taint_flow,
	gate_jurisdictions, gate_operability, gate_supply, gate_key, gate_bundles, gate_condensation,
	gate_threat_scans; /* gates_files.c */

#endif

/* workstation.h — local coding agents under a workstation profile (docs/formats/workstation.md).
 *
 * An event (a file, a command, a call) is judged by a profile; the answer can be put into a signed receipt; a whole recorded run can
 * be imported into one receipt with a graph of what happened.  Pure: signing is the caller's, through a function. */
#ifndef AUDIT_CONFORM_WORKSTATION_H
#define AUDIT_CONFORM_WORKSTATION_H

#include "base/json.h"
#include "model/reason.h"
#include "model/verdict.h"

/* The profile in force when nobody gave one: observe only, nothing leaves. */
struct json *workstation_default_profile(struct arena *a);
/* A closed document: E_INPUT SCHEMA_VIOLATION names what is wrong. */
int workstation_profile_check(struct arena *a, const struct json *profile, struct err *e);

struct workstation_answer {
	enum verdict verdict; /* ALLOW or DENY, nothing else */
	enum reason_code code; /* meaningful unless V_ALLOW */
	const char *reason; /* one clause; NULL with V_ALLOW */
	const char *finality; /* when the profile tells it; or NULL */
	const struct json *counterfactual; /* the same */
};
struct workstation_place {
	const char *workspace; /* absolute: what an absolute target is seen from; or NULL */
	const char *resolved; /* where the target's links lead; or NULL: not known */
};
/* The profile was checked.  `at` may be NULL. */
void workstation_judge(struct arena *a, const struct json *profile, const struct json *event,
	const struct workstation_place *at, struct workstation_answer *ret);
/* Type and mode of an event, as said or else derived from its kind. */
const char *workstation_effect_type(const struct json *event);
const char *workstation_effect_mode(const struct json *event);
/* An event of a class that commands name (network, mcp, memory, loop, deploy, secret, payment, shell-operate, sensitive-file-write, file;
 * anything else is a shell command that looks). */
struct json *workstation_event(struct arena *a, const char *class, const char *target);

struct workstation_signer {
	const char *key_id; /* "ed25519:..." */
	void (*sign)(void *arg, struct bytes message, uint8_t ret_sig[64]);
	void *arg;
};
/* prefix_ and 24 hex digits over the parts. */
char *workstation_id(struct arena *a, const char *prefix, const char *const *parts, size_t n);
/* The answer as a receipt.  `request` has run_id, actor_id, workspace_id, agent_surface; the target is kept as its digest when `is_private`. */
struct json *workstation_receipt(struct arena *a, const struct json *profile, const struct json *event,
	const struct json *request, const struct workstation_answer *said, bool is_private,
	const char *created_at, const struct workstation_signer *by);

/* The files of a recorded run; p NULL where there is none.  WORKSTATION_RUN with E_INPUT when one that is needed is missing or is not what it
 * must be. */
struct workstation_run {
	struct bytes manifest, diff, validation; /* needed */
	struct bytes events; /* one object a line */
	struct bytes profile; /* used when `profile_doc` is NULL */
	const struct json *profile_doc; /* the person's; or NULL */
	const struct json *receipts; /* {decision id: receipt}: verified ones of trusted signers; or NULL */
};
/* {PolicyProfile, receipt, proofgraph, replay_root_hash, verdicts}: the same input gives the same bytes. */
int workstation_import(struct arena *a, const struct workstation_run *run,
	const struct workstation_signer *by, struct json **ret, struct err *e);
/* Recomputed from what such a document holds: false when a node, the receipt or the root is not what its hash says. */
bool workstation_import_holds(struct arena *a, const struct json *imported);

/* ---- workers of managed agents ---- */

struct gate_answer; /* decide/gate.h */

/* What a worker with this configuration may do; ret->bound is what a receipt must bind.  `ask`: {tool_class, target, route}. */
void worker_judge(struct arena *a, const struct json *config, const struct json *ask, const char *receipt_id,
	struct gate_answer *ret);

#endif

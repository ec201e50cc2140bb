/* act.h — inside kernel/: a person's act on record. */
#ifndef KERNEL_ACT_H
#define KERNEL_ACT_H

#include "kernel/kernel.h"
#include "kernel/person.h"

/* A freeze, a setting, a grant, a denial, a revocation: nothing that is decided, and signed all the same. */
struct act {
	const char *decision_id; /* NULL: a new one */
	const char *effect_id; /* "helm.freeze/set", ... */
	const char *type; /* "freeze", "setting", "grant", ... */
	const char *reason_code, *args_hash, *output_hash, *executor_id; /* or NULL */
	struct json *about; /* object: what was done */
};
/* The receipt is on disk when this returns OK, and only then does the act take effect: an act that is not
 * on record did not happen. */
int act_record(
	struct kernel *k, struct arena *a, const struct act *act, struct json **ret_receipt, struct err *e);

#define ACT_DOMAIN_SSH "helm:approval:v2\n"
/* The bytes that a person's key signs to say this; and those of a key of OpenSSH, which answers a question. */
struct bytes act_message(struct arena *a, const struct json *said);
struct bytes act_message_ssh(struct arena *a, const struct json *grant, const char *request_sha256);
/* `said`, signed with the key of who says it, becomes about.approver; nothing when they have none. */
void act_sign(struct arena *a, const struct person *who, const struct json *said, struct json *about);

#endif

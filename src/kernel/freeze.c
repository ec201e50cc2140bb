/* freeze.c — stop: nothing is allowed for a principal, or for anybody, until a person lifts it.
 *
 * <state>/freeze.json holds, per principal ("*" is everybody), the signed receipt that set the freeze.  Every decision looks
 * there first.  A file that is there and cannot be read is a freeze of everything: whoever damages it stops the work, and
 * does not set it free. */
#include "kernel/freeze.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"

#include <fcntl.h>
#include <string.h>

static const struct doc FREEZES = { .file = "freeze.json",
	.lock = "freeze.lock",
	.type = JSON_OBJECT,
	.style = JSON_SORT_BYTES,
	.code = "FREEZE_FILE" };

int freeze_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	return doc_load(s, a, ws->state_fd, &FREEZES, ret, e);
}

const char *freeze_in_force(struct kernel *k, const char *principal)
{
	struct json *doc;
	struct err e = { 0 };

	if (freeze_load(k->sys, k->a, k->ws, &doc, &e))
		return arena_printf(k->a, "whether a freeze is in force cannot be read (%s)", e.text);
	const struct json *all = json_get(doc, "*"), *own = principal ? json_get(doc, principal) : NULL;
	const struct json *one = all ? all : own;
	if (!one)
		return NULL;
	const char *reason = json_get_text(json_get(one, "metadata"), "reason", "");
	return arena_printf(k->a, "a person has frozen %s%s%s", all ? "everything" : principal,
		*reason ? ": " : "", reason);
}

static int store(struct kernel *k, const struct json *doc, struct err *e)
{
	if (doc->n)
		return doc_replace(k->sys, k->a, k->ws->state_fd, &FREEZES, doc, e);
	if (k->sys->unlink(k->sys, k->ws->state_fd, FREEZES.file, 0))
		return err_sys(e, "FREEZE_FILE", "cannot remove %s", FREEZES.file);
	return OK;
}

/* The record first: a freeze or its end that is not on record does not happen. */
static int record(struct kernel *k, const char *effect, const char *principal, const char *reason,
	struct json **ret, struct err *e)
{
	struct json *about = json_new(k->a, JSON_OBJECT);
	char *id;
	int rc = record_new_id(k->a, k->sys, "dec-", &id, e);

	if (rc)
		return rc;
	json_sets(k->a, about, "principal", principal);
	json_sets(k->a, about, "reason", reason);
	json_sets(k->a, about, "by", arena_printf(k->a, "user:%u", (unsigned)k->sys->euid(k->sys)));
	struct draft d = { .decision_id = id,
		.effect_id = effect,
		.status = "RECORDED",
		.reason_code = "SYSTEM_FROZEN",
		.policy_hash = k->policy_hash,
		.type = "freeze",
		.metadata = about };
	return recorder_append(&k->recorder, k->a, &d, 1, ret, e);
}

int freeze_set(
	struct kernel *k, const char *principal, const char *reason, struct json **ret_receipt, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *doc, *receipt;
	int rc = doc_lock(k->sys, k->ws->state_fd, &FREEZES, &lock, e);

	if (rc == OK && freeze_load(k->sys, k->a, k->ws, &doc, e))
		doc = json_new(k->a, JSON_OBJECT); /* what cannot be read is replaced by a freeze that can */
	if (rc == OK)
		rc = record(k, "helm.freeze/set", principal, reason, &receipt, e);
	if (rc)
		return rc;
	json_set(k->a, doc, principal, receipt);
	rc = store(k, doc, e);
	if (rc == OK)
		*ret_receipt = receipt;
	return rc;
}

int freeze_lift(
	struct kernel *k, const char *principal, const char *reason, struct json **ret_receipt, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *doc;
	int rc = doc_lock(k->sys, k->ws->state_fd, &FREEZES, &lock, e);

	if (rc == OK)
		rc = freeze_load(k->sys, k->a, k->ws, &doc, e);
	if (rc)
		return rc;
	if (!json_get(doc, principal))
		return err_set(e, E_INPUT, "FREEZE_NOT", "'%s' is not frozen", principal);
	rc = record(k, "helm.freeze/lift", principal, reason, ret_receipt, e);
	if (rc)
		return rc;
	(void)json_remove(doc, principal);
	return store(k, doc, e);
}

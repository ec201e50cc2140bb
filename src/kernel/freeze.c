/* freeze.c — stop: nothing is allowed for a principal, or for anybody, until a person lifts it.
 *
 * <state>/freeze.json holds, per principal ("*" is everybody), the signed receipt that set the freeze.
 * Every decision looks there first.  A file that is there and cannot be read is a freeze of everything:
 * whoever damages it stops the work, and does not set it free. */
#include "kernel/freeze.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/act.h"

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

/* Why `principal` is frozen, or NULL.  What cannot be read counts as a freeze. */
const char *freeze_in_force(struct kernel *k, struct arena *a, const char *principal)
{
	struct json *doc;
	struct err e = { 0 };

	if (freeze_load(k->sys, a, k->ws, &doc, &e))
		return arena_printf(a, "whether a freeze is in force cannot be read (%s)", e.text);
	const struct json *all = json_get(doc, "*"), *own = principal ? json_get(doc, principal) : NULL;
	const struct json *one = all ? all : own;
	if (!one)
		return NULL;
	const char *reason = json_get_text(json_get(one, "metadata"), "reason", "");
	return arena_printf(
		a, "a person has frozen %s%s%s", all ? "everything" : principal, *reason ? ": " : "", reason);
}

/* An empty document is removed, so that the usual case is a file that is not there. */
static int store(struct kernel *k, struct arena *a, const struct json *doc, struct err *e)
{
	if (doc->n)
		return doc_replace(k->sys, a, k->ws->state_fd, &FREEZES, doc, e);
	if (k->sys->unlink(k->sys, k->ws->state_fd, FREEZES.file, 0))
		return err_sys(e, "FREEZE_FILE", "cannot remove %s", FREEZES.file);
	return OK;
}

/* The receipt of a freeze or of its end; it names who did it. */
static int record(struct kernel *k, struct arena *a, const char *effect, const char *principal,
	const char *reason, struct json **ret, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT);

	json_sets(a, about, "principal", principal);
	json_sets(a, about, "reason", reason);
	json_sets(a, about, "by", arena_printf(a, "user:%u", (unsigned)k->sys->euid(k->sys)));
	return act_record(k, a,
		&(struct act){ .effect_id = effect,
			.type = "freeze",
			.reason_code = "SYSTEM_FROZEN",
			.about = about },
		ret, e);
}

/* Works even if the old file is damaged: stopping must always be possible. */
int freeze_set(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *doc, *receipt;
	int rc = doc_lock(k->sys, k->ws->state_fd, &FREEZES, &lock, e);

	if (rc == OK && freeze_load(k->sys, a, k->ws, &doc, e))
		doc = json_new(a, JSON_OBJECT); /* what cannot be read is replaced by a freeze that can */
	if (rc == OK)
		rc = record(k, a, "helm.freeze/set", principal, reason, &receipt, e);
	if (rc)
		return rc;
	json_set(a, doc, principal, receipt);
	rc = store(k, a, doc, e);
	if (rc == OK)
		*ret_receipt = receipt;
	return rc;
}

/* Needs a file that can be read: what is lifted must be known. */
int freeze_lift(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *doc;
	int rc = doc_lock(k->sys, k->ws->state_fd, &FREEZES, &lock, e);

	if (rc == OK)
		rc = freeze_load(k->sys, a, k->ws, &doc, e);
	if (rc)
		return rc;
	if (!json_get(doc, principal))
		return err_set(e, E_INPUT, "FREEZE_NOT", "'%s' is not frozen", principal);
	rc = record(k, a, "helm.freeze/lift", principal, reason, ret_receipt, e);
	if (rc)
		return rc;
	(void)json_remove(doc, principal);
	return store(k, a, doc, e);
}

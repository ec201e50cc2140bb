/* freeze.c — stop: nothing is allowed for a principal, or for anybody, until a person lifts it.
 *
 * What is frozen is part of the standing word (posture.h); <state>/freeze.json says the same for people and older tools, and a freeze
 * that only it knows counts, too.  Every decision looks here first.  What cannot be believed is a freeze of everything: whoever
 * damages it stops the work, and does not set it free. */
#include "kernel/freeze.h"
#include "base/doc.h"
#include "base/text.h"
#include "kernel/posture_parts.h"

#include <string.h>

int freeze_load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	const struct posture *p = posture_of(s, ws);
	struct json *doc;

	if (p->broken)
		return err_set(e, E_CORRUPT, "POSTURE_BROKEN", "%s", p->broken);
	int rc = tree_freezes(s, a, ws, &doc, e);
	if (rc)
		return rc;
	json_each_member (m, json_get(p->word, "freezes"))
		json_set(a, doc, m->name, tree_freeze(a, m->name, m->value));
	*ret = doc;
	return OK;
}

/* Why `principal` is frozen, or NULL.  What cannot be read counts as a freeze. */
const char *freeze_in_force(struct kernel *k, struct arena *a, const char *principal)
{
	struct json *doc;
	struct err e = { 0 };

	if (freeze_load(k->sys, a, k->ws, &doc, &e))
		return arena_printf(
			a, "whether a freeze is in force cannot be read (%s); " FREEZE_REMEDY, e.text);
	const struct json *all = json_get(doc, "*"), *own = principal ? json_get(doc, principal) : NULL;
	const struct json *one = all ? all : own;
	if (!one)
		return NULL;
	const char *reason = json_get_text(json_get(one, "metadata"), "reason", "");
	return arena_printf(
		a, "a person has frozen %s%s%s", all ? "everything" : principal, *reason ? ": " : "", reason);
}

/* One freeze or its end. */
struct freezing {
	struct kernel *k;
	const char *principal, *reason, *by;
	char *id;
	bool is_lift;
};

/* Lifting needs to know what is lifted; what holds here by the word about another place is lifted there. */
static int edit(void *arg, struct arena *a, struct json *word, struct err *e)
{
	struct freezing *f = arg;
	struct json *all = doc_part(a, word, "freezes"), *one = json_new(a, JSON_OBJECT);
	const struct posture *p = posture_of(f->k->sys, f->k->ws);

	if (f->is_lift && json_remove(all, f->principal))
		return OK;
	if (f->is_lift && p->outer && json_get(json_get(p->word, "freezes"), f->principal))
		return err_set(e, E_INPUT, "FREEZE_OUTER",
			"'%s' is frozen by what was decided about %s: helm unfreeze --path %s", f->principal,
			p->outer, p->outer);
	if (f->is_lift)
		return err_set(e, E_INPUT, "FREEZE_NOT", "'%s' is not frozen", f->principal);
	json_sets(a, one, "reason", f->reason);
	json_sets(a, one, "by", f->by);
	json_sets(a, one, "at", text_time_iso(a, f->k->sys->now_us(f->k->sys)));
	json_sets(a, one, "receipt_id", arena_printf(a, "rcpt_%s", f->id));
	json_set(a, all, f->principal, one);
	return OK;
}

/* The receipt of a freeze or of its end; it names who did it. */
static int change(struct kernel *k, struct arena *a, struct freezing *f, const char *effect,
	struct json **ret, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT);
	int rc = record_new_id(a, k->sys, "dec-", &f->id, e);

	if (rc)
		return rc;
	f->by = arena_printf(a, "user:%u", (unsigned)k->sys->euid(k->sys));
	json_sets(a, about, "principal", f->principal);
	json_sets(a, about, "reason", f->reason);
	json_sets(a, about, "by", f->by);
	return posture_change(k, a,
		&(struct act){ .decision_id = f->id,
			.effect_id = effect,
			.type = "freeze",
			.reason_code = "SYSTEM_FROZEN",
			.about = about },
		edit, f, ret, e);
}

/* Works also when nothing that was decided can be believed: stopping must always be possible. */
int freeze_set(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e)
{
	struct freezing f = { .k = k, .principal = principal, .reason = reason };

	return change(k, a, &f, "helm.freeze/set", ret_receipt, e);
}

/* Needs something that can be read: what is lifted must be known. */
int freeze_lift(struct kernel *k, struct arena *a, const char *principal, const char *reason,
	struct json **ret_receipt, struct err *e)
{
	struct freezing f = { .k = k, .principal = principal, .reason = reason, .is_lift = true };
	struct json *doc;
	int rc = freeze_load(k->sys, a, k->ws, &doc, e);

	return rc ? err_wrap(e, FREEZE_REMEDY) : change(k, a, &f, "helm.freeze/lift", ret_receipt, e);
}

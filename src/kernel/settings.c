/* settings.c — what a workspace has chosen: <state>/workspace.json.
 *
 * Today that is the profile by which agents' calls and `helm run` are judged, and what happens to what destroys.  A file that is there and cannot be read is an
 * error, not the default: the choice it held may have been a stricter one.  A change is a signed record before it is a change. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/kernel.h"

static const struct doc SETTINGS = { .file = "workspace.json",
	.lock = "workspace.lock",
	.type = JSON_OBJECT,
	.mode = 0644,
	.code = "PROFILE_CHOICE" };
#define DEFAULT_PROFILE "workspace_edit"

static int load(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	struct err why = { 0 };
	int rc = doc_load(s, a, ws->state_fd, &SETTINGS, ret, &why);

	if (rc)
		return err_set(e, rc, "PROFILE_CHOICE",
			"which profile this workspace has chosen cannot be read: %s; mend %s/%s", why.text,
			ws->state_dir, SETTINGS.file);
	return OK;
}

int workspace_default_profile(
	struct sys *s, struct arena *a, const struct workspace *ws, const char **ret, struct err *e)
{
	struct json *doc;
	int rc = load(s, a, ws, &doc, e);

	if (rc == OK)
		*ret = json_get_text(doc, "default_profile", DEFAULT_PROFILE);
	return rc;
}

int workspace_destructive(struct sys *s, struct arena *a, const struct workspace *ws, const struct profile *p,
	enum destructive_rule *ret, struct err *e)
{
	struct json *doc;
	int rc = load(s, a, ws, &doc, e);

	if (rc)
		return rc;
	const struct json *chosen = json_get(doc, "destructive");
	*ret = p->destructive;
	if (chosen)
		*ret = text_eq(json_get_text(doc, "destructive", ""), "checkpoint") ? DESTRUCTIVE_CHECKPOINT
										    : DESTRUCTIVE_ASK;
	return OK;
}

static int record(struct kernel *k, const char *before, const char *after, const char *destructive,
	struct json **ret_receipt, struct err *e)
{
	struct json *about = json_new(k->a, JSON_OBJECT);
	char *id;
	int rc = record_new_id(k->a, k->sys, "dec-", &id, e);

	if (rc)
		return rc;
	json_sets(k->a, about, "before", before);
	json_sets(k->a, about, "after", after);
	if (destructive)
		json_sets(k->a, about, "destructive", destructive);
	struct draft d = { .decision_id = id,
		.effect_id = "helm.profile/use",
		.status = "RECORDED",
		.policy_hash = k->policy_hash,
		.type = "setting",
		.metadata = about };
	return recorder_append(&k->recorder, k->a, &d, 1, ret_receipt, e);
}

int workspace_use_profile(
	struct kernel *k, const char *name, const char *destructive, struct json **ret_receipt, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	const struct profile *profile;
	struct json *doc;
	int rc = profiles_get(&k->guard.profiles, name, &profile, e);

	if (rc == OK)
		rc = doc_lock(k->sys, k->ws->state_fd, &SETTINGS, &lock, e);
	if (rc == OK)
		rc = load(k->sys, k->a, k->ws, &doc, e);
	if (rc == OK)
		rc = record(k, json_get_text(doc, "default_profile", DEFAULT_PROFILE), name, destructive,
			ret_receipt, e);
	if (rc)
		return rc;
	json_sets(k->a, doc, "default_profile", name);
	if (destructive)
		json_sets(k->a, doc, "destructive", destructive);
	return doc_replace(k->sys, k->a, k->ws->state_fd, &SETTINGS, doc, e);
}

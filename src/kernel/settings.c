/* settings.c — what a workspace has chosen: <state>/workspace.json.
 *
 * Today that is the profile by which agents' calls and `helm run` are judged, and what happens to what
 * destroys.  A file that is there and cannot be read is an error, not the default: the choice it held may
 * have been a stricter one.  A change is a signed record before it is a change. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/act.h"

static const struct doc SETTINGS = { .file = "workspace.json",
	.lock = "workspace.lock",
	.type = JSON_OBJECT,
	.mode = 0644,
	.code = "PROFILE_CHOICE" };
#define DEFAULT_PROFILE "workspace_edit"

/* Names the file to mend, because until then every call is refused. */
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

/* Anything but "checkpoint" means "ask", also a word that is not known. */
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

/* What was chosen before and what is chosen now. */
static int record(struct kernel *k, struct arena *a, const char *before, const char *after,
	const char *destructive, struct json **ret_receipt, struct err *e)
{
	struct json *about = json_new(a, JSON_OBJECT);

	json_sets(a, about, "before", before);
	json_sets(a, about, "after", after);
	if (destructive)
		json_sets(a, about, "destructive", destructive);
	return act_record(k, a,
		&(struct act){ .effect_id = "helm.profile/use", .type = "setting", .about = about },
		ret_receipt, e);
}

/* Checks the name first, so that no unknown profile is ever chosen. */
int workspace_use_profile(struct kernel *k, struct arena *a, const char *name, const char *destructive,
	struct json **ret_receipt, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	const struct profile *profile;
	struct json *doc;
	int rc = profiles_get(&k->guard.profiles, name, &profile, e);

	if (rc == OK)
		rc = doc_lock(k->sys, k->ws->state_fd, &SETTINGS, &lock, e);
	if (rc == OK)
		rc = load(k->sys, a, k->ws, &doc, e);
	if (rc == OK)
		rc = record(k, a, json_get_text(doc, "default_profile", DEFAULT_PROFILE), name, destructive,
			ret_receipt, e);
	if (rc)
		return rc;
	json_sets(a, doc, "default_profile", name);
	if (destructive)
		json_sets(a, doc, "destructive", destructive);
	return doc_replace(k->sys, a, k->ws->state_fd, &SETTINGS, doc, e);
}

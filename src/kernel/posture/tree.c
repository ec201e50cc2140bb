/* tree.c — the files in the tree that say what governs it: <state>/freeze.json, workspace.json and
 * profile-pause-state.json.
 *
 * They are what people and older tools read, and lie where whatever is governed may write.  So each is a copy of the standing
 * word: rewritten with every act, believed where it is stricter, and named where it differs. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/posture_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const struct doc FREEZES = {
	.file = "freeze.json", .type = JSON_OBJECT, .style = JSON_SORT_BYTES, .code = "FREEZE_FILE"
};
static const struct doc SETTINGS = { .file = "workspace.json",
	.type = JSON_OBJECT,
	.mode = 0644,
	.code = "PROFILE_CHOICE",
	.newest = WORKSPACE_VERSION,
	.version = "schema_version" };
static const struct doc PAUSES = {
	.file = PAUSE_FILE, .type = JSON_OBJECT, .style = JSON_SORT_BYTES, .code = "PAUSE_STATE"
};

/* A file that cannot be understood may have been stricter, so without a word it is an error; with one, the word is what it was. */
static int load(struct sys *s, struct arena *a, const struct workspace *ws, const struct doc *d,
	struct json **ret, struct err *e)
{
	int rc = ws->state_fd < 0 ? E_MISSING : doc_load(s, a, ws->state_fd, d, ret, e);

	if (rc && (rc == E_MISSING || posture_of(s, ws)->is_spoken)) {
		*ret = json_new(a, JSON_OBJECT);
		return OK;
	}
	return rc;
}

int tree_freezes(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	return load(s, a, ws, &FREEZES, ret, e);
}

int tree_pauses(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	int rc = load(s, a, ws, &PAUSES, ret, e);

	return rc ? err_wrap(e,
			    "every profile counts as paused until %s/" PAUSE_FILE " is mended or moved away",
			    ws->state_dir)
		  : OK;
}

/* Names the file to mend, because until then every call is refused. */
int tree_settings(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e)
{
	struct err why = { 0 };
	int rc = load(s, a, ws, &SETTINGS, ret, &why);

	return rc
		? err_set(e, rc, "PROFILE_CHOICE",
			  "which profile this workspace has chosen cannot be read: %s; mend %s/%s, or put it aside "
			  "and say it again: mv %s/%s %s/%s.bad && helm profile use NAME",
			  why.text, ws->state_dir, SETTINGS.file, ws->state_dir, SETTINGS.file, ws->state_dir,
			  SETTINGS.file)
		: OK;
}

/* ---- writing ---- */

struct json *tree_freeze(struct arena *a, const char *principal, const struct json *one)
{
	struct json *entry = json_new(a, JSON_OBJECT), *about = json_new(a, JSON_OBJECT);

	json_sets(a, entry, "receipt_id", json_get_text(one, "receipt_id", NULL));
	json_sets(a, entry, "timestamp", json_get_text(one, "at", NULL));
	json_sets(a, about, "principal", principal);
	json_sets(a, about, "reason", json_get_text(one, "reason", ""));
	json_sets(a, about, "by", json_get_text(one, "by", NULL));
	json_set(a, entry, "metadata", about);
	return entry;
}

/* An empty document is removed, so that the usual case is a file that is not there. */
static int write_or_remove(struct sys *s, struct arena *a, const struct workspace *ws, const struct doc *d,
	const struct json *doc, struct err *e)
{
	if (doc->n)
		return doc_replace(s, a, ws->state_fd, d, doc, e);
	if (s->unlink(s, ws->state_fd, d->file, 0) == 0)
		return s->fsync(s, ws->state_fd) ? err_sys(e, d->code, "cannot sync %s", ws->state_dir) : OK;
	return errno == ENOENT ? OK : err_sys(e, d->code, "cannot remove %s", d->file);
}

/* The other members of workspace.json stay, and so does a choice that nobody has spoken about: it may be a stricter one, or wait
 * to be accepted.  A file that cannot be read is made anew. */
static int write_settings(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct json *word, struct err *e)
{
	static const char *const names[] = { "default_profile", "destructive" };
	struct json *doc = NULL;
	struct err why = { 0 };
	bool is_changed = doc_load(s, a, ws->state_fd, &SETTINGS, &doc, &why) != OK || !doc->n;

	if (doc_is_newer(&why))
		return err_set(e, why.rc, why.code, "%s", why.text);
	if (is_changed) {
		doc = json_new(a, JSON_OBJECT);
		json_seti(a, doc, "schema_version", WORKSPACE_VERSION);
		json_sets(a, doc, "helm_version", HELM_VERSION);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *want = json_get_text(word, names[i], NULL);
		if (!want || text_eq(want, json_get_text(doc, names[i], "")))
			continue;
		is_changed = true;
		json_sets(a, doc, names[i], want);
	}
	return is_changed ? doc_replace(s, a, ws->state_fd, &SETTINGS, doc, e) : OK;
}

void tree_adopt_strict(struct sys *s, struct arena *a, const struct workspace *ws, struct json *word)
{
	struct json *freezes, *pauses, *to = doc_part(a, word, "freezes");

	if (tree_freezes(s, a, ws, &freezes, NULL) == OK)
		json_each_member (m, freezes) {
			struct json *one = json_new(a, JSON_OBJECT);
			const struct json *about = json_get(m->value, "metadata");
			if (json_get(to, m->name))
				continue;
			json_sets(a, one, "reason", json_get_text(about, "reason", ""));
			json_sets(a, one, "by", json_get_text(about, "by", NULL));
			json_sets(a, one, "at", json_get_text(m->value, "timestamp", NULL));
			json_sets(a, one, "receipt_id", json_get_text(m->value, "receipt_id", NULL));
			json_set(a, to, m->name, one);
		}
	to = doc_part(a, word, "pauses");
	if (tree_pauses(s, a, ws, &pauses, NULL) == OK)
		json_each_member (m, pauses)
			if (!json_get(to, m->name))
				json_set(a, to, m->name, m->value);
}

int posture_write_tree(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct json *word, struct err *e)
{
	struct json *freezes = json_new(a, JSON_OBJECT);
	const struct json *pauses = json_get(word, "pauses");

	json_each_member (m, json_get(word, "freezes"))
		json_set(a, freezes, m->name, tree_freeze(a, m->name, m->value));
	int rc = write_or_remove(s, a, ws, &FREEZES, freezes, e);
	if (rc == OK)
		rc = write_or_remove(s, a, ws, &PAUSES, pauses ? pauses : json_new(a, JSON_OBJECT), e);
	return rc ? rc : write_settings(s, a, ws, word, e);
}

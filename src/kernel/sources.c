/* sources.c — adopting, and ending an adoption: who may, the receipt, then the registry (sources.h). */
#include "kernel/sources.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/person.h"

#include <fcntl.h>
#include <string.h>

/* What a person adopted for a workspace, in <helm home>/trees/<digest>/: the registry lies in the tree, which is not believed. */
static const struct doc adopted = { .file = "sources.json",
	.lock = "sources.lock",
	.type = JSON_OBJECT,
	.max_bytes = 1 << 20,
	.code = "ADOPT_REGISTRY" };

/* Can a version control system bring files to this place? */
static bool is_in_repository(struct sys *s, struct arena *a, const char *root)
{
	static const char *const marks[] = { ".git", ".hg", ".svn", ".jj" };

	for (size_t n = strlen(root);; n--) {
		while (n && root[n] != '/' && root[n] != '\0')
			n--;
		for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
			if (file_exists(s, AT_FDCWD, arena_printf(a, "%.*s/%s", (int)n, root, marks[i])))
				return true;
		if (!n)
			return false;
	}
}

static struct json *load_adopted(struct sys *s, struct arena *a, const struct workspace *ws)
{
	const char *dir = workspace_beside(a, ws);
	AUTO(close_fd) int fd = dir ? s->open(s, AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, 0) : -1;
	struct json *doc;

	/* What cannot be read adopts nothing. */
	return fd < 0 || doc_load(s, a, fd, &adopted, &doc, NULL) ? json_new(a, JSON_OBJECT) : doc;
}

/* `add`: this record, too.  `drop`: not the one of this name any more.  Neither: the place is our own, when it is not known yet. */
static int change_adopted(struct sys *s, struct arena *a, const struct workspace *ws, const struct json *add,
	const char *drop, struct err *e)
{
	const char *dir = workspace_beside(a, ws);
	AUTO(close_fd) int lock = -1;
	AUTO(close_fd) int fd = -1;
	struct json *doc;
	int rc = dir ? file_mkdirs(s, AT_FDCWD, dir, 0700, e)
		     : err_set(e, E_MISSING, "ADOPT_REGISTRY", "there is no helm home to keep it in");

	if (rc == OK)
		rc = file_open_dir(s, AT_FDCWD, dir, &fd, e);
	if (rc == OK)
		rc = doc_lock(s, fd, &adopted, &lock, e);
	if (rc == OK)
		rc = doc_load(s, a, fd, &adopted, &doc, e);
	if (rc)
		return rc;
	const struct json *list = json_get(doc, "sources");
	if (!add && !drop && list)
		return OK;
	json_sets(a, doc, "root", ws->root);
	if (!add && !drop)
		json_setb(a, doc, "is_own", true);
	json_set(a, doc, "sources",
		add	       ? sources_with(a, list, add)
			: drop ? sources_without(a, list, drop)
			       : json_new(a, JSON_ARRAY));
	return doc_replace(s, a, fd, &adopted, doc, e);
}

int sources_begin(struct sys *s, struct arena *a, const struct workspace *ws, struct err *e)
{
	const char *file = arena_printf(a, "%s/" CONTEXT_SOURCES, ws->state_dir);

	return file_exists(s, AT_FDCWD, file) ? OK : change_adopted(s, a, ws, NULL, NULL, e);
}

struct context_place sources_place(struct sys *s, struct arena *a, const struct workspace *ws)
{
	const struct json *known = load_adopted(s, a, ws);

	return (struct context_place){ .sys = s,
		.a = a,
		.root = ws->root,
		.state_dir = ws->state_dir,
		.kind = layout_name(ws->layout),
		.state_name = ws->state_name,
		.helm_home = ws->helm_home,
		.root_fd = ws->root_fd,
		.state_fd = ws->state_fd,
		.adopted = json_get(known, "sources"),
		.is_own = json_get_bool(known, "is_own", false) && !is_in_repository(s, a, ws->root) };
}

/* What agents are given to read decides what they do: only somebody who is no agent adds to it. */
static int record_act(struct kernel *k, struct arena *a, const char *effect, struct json *about,
	const char **ret_receipt_id, struct err *e)
{
	struct act act = { .effect_id = effect, .type = "context", .about = about };
	struct json *receipt;
	int rc = person_is_outside(k->sys, a, k->ws, e);

	if (rc == OK)
		rc = act_record(k, a, &act, &receipt, e);
	if (rc == OK)
		*ret_receipt_id = json_get_text(receipt, "receipt_id", "");
	return rc;
}

int sources_adopt(struct kernel *k, struct arena *a, const struct json *record, const char **ret_receipt_id,
	struct err *e)
{
	struct context_place at = sources_place(k->sys, a, k->ws);
	int rc = person_may_loosen(k->sys, a, k->ws, e);

	if (rc == OK)
		rc = record_act(k, a, "helm.context/adopt", json_copy(a, record), ret_receipt_id, e);
	if (rc == OK)
		rc = change_adopted(k->sys, a, k->ws, record, NULL, e);
	return rc ? rc : source_put(&at, record, e);
}

int sources_drop(
	struct kernel *k, struct arena *a, const char *name, const char **ret_receipt_id, struct err *e)
{
	struct context_place at = sources_place(k->sys, a, k->ws);
	struct json *about = json_new(a, JSON_OBJECT);

	json_sets(a, about, "name", name);
	int rc = record_act(k, a, "helm.context/drop", about, ret_receipt_id, e);
	if (rc == OK)
		rc = change_adopted(k->sys, a, k->ws, NULL, name, e);
	return rc ? rc : source_remove(&at, name, e);
}

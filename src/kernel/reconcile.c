/* reconcile.c — are the reference files those that this program ships, and if not, should they be?
 *
 * Looks, unless it is told otherwise.  What a person wrote is replaced only when that is asked for, and kept beside; a link or a directory in the
 * place of a file is never written through. */
#include "kernel/reconcile.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "remember/memory.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { MAX_REFERENCE = 16 << 20 };

const char *const required_references[] = { "references/execution_profiles.json",
	"references/model_recovery_policy.json", "references/skill-capture-template.md",
	"references/skill-contract-template.json", NULL };

/* In share/ or in share/workspace/references/. */
static bool find_shipped(struct arena *a, const char *path, struct bytes *ret)
{
	const char *name = path_base(path);

	return embed_find(arena_printf(a, "share/workspace/references/%s", name), ret) ||
		embed_find(arena_printf(a, "share/%s", name), ret);
}

struct reconciling {
	struct sys *s;
	struct arena *a;
	struct workspace *ws;
	enum reconcile how;
	bool shows;
	struct json *summary;
	bool is_converged, is_ok;
};

static void count(struct reconciling *r, const char *name)
{
	json_seti(r->a, r->summary, name, json_get_int(r->summary, name, 0) + 1);
}

/* Nothing else than a plain file in a directory of the workspace itself is read or written. */
static const char *status_of(
	struct reconciling *r, const char *path, struct bytes shipped, struct bytes *ret_found)
{
	struct stat st;
	struct err e = { 0 };

	*ret_found = (struct bytes){ 0 };
	if (r->s->stat(r->s, r->ws->root_fd, "references", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		!S_ISDIR(st.st_mode))
		return "not_a_regular_file";
	if (r->s->stat(r->s, r->ws->root_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		return "not_a_regular_file";
	int rc = file_read(r->s, r->a, r->ws->root_fd, path, MAX_REFERENCE, FILE_BENEATH, ret_found, &e);
	if (rc == E_MISSING)
		return "missing";
	if (rc)
		return "unreadable"; /* nobody knows what it says, so nothing takes its place */
	return bytes_eq(*ret_found, shipped) ? "unchanged" : "drifted";
}

/* What was there, beside it under a name that nothing has yet: FILE.bak, FILE.bak.1, ... */
static int keep(struct reconciling *r, const char *path, struct bytes found, struct err *e)
{
	enum { MOST = 1000 };

	for (int i = 0; i < MOST; i++) {
		struct err why = { 0 };
		const char *name =
			i ? arena_printf(r->a, "%s.bak.%d", path, i) : arena_printf(r->a, "%s.bak", path);
		int rc = file_create(r->s, r->ws->root_fd, name, 0644, found, &why);
		if (rc && text_eq(why.code, "FILE_EXISTS"))
			continue;
		if (rc && e)
			*e = why;
		return rc;
	}
	return err_set(e, E_LIMIT, "RECONCILE_KEEP",
		"'%s' was not replaced: there are %d older ones beside it; remove some", path, MOST);
}

static int put(struct reconciling *r, const char *path, struct bytes shipped, struct bytes found,
	bool is_there, struct err *e)
{
	int rc = file_mkdirs(r->s, r->ws->root_fd, "references", 0755, e);

	if (rc == OK && is_there)
		rc = keep(r, path, found, e);
	return rc ? rc : file_replace(r->s, r->ws->root_fd, path, 0644, shipped, e);
}

/* As one reads it: what is no text, and secrets, do not leave the file. */
static const char *difference(
	struct reconciling *r, const char *path, struct bytes shipped, struct bytes found)
{
	struct buf text;
	size_t n;

	buf_init(&text, r->a);
	memory_difference(r->a, path, shipped, found, &text);
	const char *kept = privacy_redact(r->a, text.p, text.n, &n);
	return text_safe(r->a, kept, n, true);
}

static int reconcile_one(struct reconciling *r, const char *path, struct json *to, struct err *e)
{
	struct json *row = json_new(r->a, JSON_OBJECT);
	struct bytes shipped, found = { 0 };
	bool is_shipped = find_shipped(r->a, path, &shipped);
	const char *status = is_shipped ? status_of(r, path, shipped, &found) : "source_missing",
		   *action = "none";
	int rc = OK;

	if (text_eq(status, "unchanged")) {
		count(r, "unchanged");
	} else if (text_eq(status, "source_missing")) {
		count(r, "source_missing");
		r->is_ok = false;
	} else if (text_eq(status, "not_a_regular_file") || text_eq(status, "unreadable")) {
		count(r, "blocked");
		action = "blocked";
		r->is_ok = false;
	} else {
		bool is_there = text_eq(status, "drifted"),
		     does = r->how == RECONCILE_REPLACE || (r->how == RECONCILE_ADD && !is_there);
		action = !does ? "skipped" : is_there ? "overwritten" : "added";
		count(r, does ? action : is_there ? "drift_skipped" : "missing_skipped");
		if (does)
			rc = put(r, path, shipped, found, is_there, e);
		r->is_converged &= does;
	}
	r->is_converged &= r->is_ok;
	json_sets(r->a, row, "file", path_base(path));
	json_sets(r->a, row, "status", status);
	json_sets(r->a, row, "action", action);
	if (r->shows && text_eq(status, "drifted"))
		json_sets(r->a, row, "diff", difference(r, path, shipped, found));
	json_push(r->a, to, row);
	return rc;
}

int workspace_reconcile(struct sys *s, struct arena *a, struct workspace *ws, enum reconcile how, bool shows,
	struct json **ret, struct err *e)
{
	static const char *const counted[] = { "unchanged", "added", "overwritten", "drift_skipped",
		"missing_skipped", "source_missing", "blocked" };
	struct reconciling r = { s, a, ws, how, shows, json_new(a, JSON_OBJECT), true, true };
	struct json *doc = json_new(a, JSON_OBJECT), *files = json_new(a, JSON_ARRAY);
	int rc = OK;

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++)
		json_seti(a, r.summary, counted[i], 0);
	for (const char *const *path = required_references; rc == OK && *path; path++)
		rc = reconcile_one(&r, *path, files, e);
	json_sets(a, doc, "workspace", ws->root);
	json_setb(a, doc, "dry_run", how == RECONCILE_LOOK);
	json_set(a, doc, "files", files);
	json_set(a, doc, "summary", r.summary);
	json_setb(a, doc, "converged", r.is_converged);
	json_setb(a, doc, "ok", r.is_ok);
	*ret = doc;
	return rc;
}

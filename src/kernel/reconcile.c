/* reconcile.c — are the shipped files of a workspace those that this release ships, and if not, should they be?
 *
 * Looks, unless it is told otherwise.  A file that nobody touched since an earlier release wrote it is brought up to date.  A text that an operator
 * wrote is replaced only when that is asked for, and kept beside; so is one that an operator accepted, because replacing it changes what a later
 * `helm workspace trust` would accept.  A link or a directory in the place of a file is never written through. */
#include "kernel/reconcile.h"
#include "base/file.h"
#include "base/text.h"
#include "kernel/posture.h"
#include "kernel/shipped.h"
#include "privacy/privacy.h"
#include "remember/memory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct reconciling {
	struct sys *s;
	struct arena *a;
	struct workspace *ws;
	enum reconcile how;
	bool shows;
	struct json *files, *summary;
	bool is_ok;
};

static void count(struct reconciling *r, const char *name)
{
	json_seti(r->a, r->summary, name, json_get_int(r->summary, name, 0) + 1);
}

static const char *directory_of(struct arena *a, const char *path)
{
	return arena_strndup(a, path, (size_t)(path_base(path) - path) - 1);
}

static bool is_accepted(struct reconciling *r, const char *path, struct bytes found)
{
	struct bytes accepted;

	return accepted_read(r->s, r->a, r->ws, path, &accepted, NULL) == OK && bytes_eq(accepted, found);
}

/* Nothing else than a plain file in a directory of the workspace itself is read or written. */
static const char *status_of(struct reconciling *r, const struct shipped_file *f, struct bytes *ret_found)
{
	struct stat st;
	struct err e = { 0 };

	*ret_found = (struct bytes){ 0 };
	if (r->s->stat(r->s, r->ws->root_fd, directory_of(r->a, f->to), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		!S_ISDIR(st.st_mode))
		return "not_a_regular_file";
	if (r->s->stat(r->s, r->ws->root_fd, f->to, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		return "not_a_regular_file";
	int rc =
		file_read(r->s, r->a, r->ws->root_fd, f->to, SHIPPED_MOST_BYTES, FILE_BENEATH, ret_found, &e);
	if (rc == E_MISSING)
		return "missing";
	if (rc)
		return "unreadable"; /* nobody knows what it says, so nothing takes its place */
	enum shipped_age age = shipped_age(f->to, *ret_found);
	if (age == SHIPPED_NOW)
		return "unchanged";
	if (is_accepted(r, f->to, *ret_found))
		return "accepted";
	return age == SHIPPED_EARLIER ? "earlier" : "drifted";
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

/* What is done about a file in this state, and as what it is counted. */
static const struct plan {
	const char *status;
	enum reconcile from; /* it is written when the caller asks for this, or for more */
	bool is_there; /* there is a text that is replaced */
	const char *action, *skipped; /* counted under these names */
} PLANS[] = {
	{ "missing", RECONCILE_ADD, false, "added", "missing_skipped" },
	{ "earlier", RECONCILE_ADD, true, "upgraded", "earlier_skipped" },
	{ "drifted", RECONCILE_REPLACE, true, "overwritten", "drift_skipped" },
	{ "accepted", RECONCILE_REPLACE, true, "overwritten", "accepted_skipped" },
};

static const struct plan *plan_for(const char *status)
{
	for (size_t i = 0; i < ARRAY_SIZE(PLANS); i++)
		if (text_eq(PLANS[i].status, status))
			return &PLANS[i];
	return NULL;
}

static int put(struct reconciling *r, const struct shipped_file *f, const struct bytes *found, struct err *e)
{
	int rc = file_mkdirs(r->s, r->ws->root_fd, directory_of(r->a, f->to), 0755, e);

	return rc ? rc : shipped_put(r->s, r->a, r->ws->root_fd, f, found, e);
}

/* One file that cannot be written does not keep the others from it. */
static const char *settle(struct reconciling *r, const struct shipped_file *f, const struct plan *plan,
	const struct bytes *found, struct json *row)
{
	struct err e = { 0 };

	if (r->how < plan->from) {
		count(r, plan->skipped);
		return "skipped";
	}
	if (put(r, f, plan->is_there ? found : NULL, &e)) {
		json_sets(r->a, row, "error", text_safe(r->a, e.text, strlen(e.text), false));
		count(r, "failed");
		r->is_ok = false;
		return "failed";
	}
	count(r, plan->action);
	return plan->action;
}

/* Of files that a workspace can do without, only those are listed that are not as they should be. */
static void reconcile_one(struct reconciling *r, const struct shipped_file *f)
{
	struct json *row = json_new(r->a, JSON_OBJECT);
	struct bytes found;
	const char *status = status_of(r, f, &found), *action = "none";
	const struct plan *plan = plan_for(status);

	if (text_eq(status, "unchanged")) {
		if (f->use != SHIPPED_REQUIRED)
			return;
		count(r, "unchanged");
	} else if (!plan) {
		count(r, "blocked");
		action = "blocked";
		r->is_ok = false;
	} else {
		action = settle(r, f, plan, &found, row);
	}
	json_sets(r->a, row, "file", path_base(f->to));
	json_sets(r->a, row, "status", status);
	json_sets(r->a, row, "action", action);
	if (r->shows && plan && plan->is_there)
		json_sets(r->a, row, "diff", difference(r, f->to, shipped_content(f), found));
	json_push(r->a, r->files, row);
}

/* The next file that is compared, from number *i on; NULL: there is none.  A workspace of another runtime has no state directory of ours. */
static const struct shipped_file *next_compared(const struct reconciling *r, size_t *i)
{
	while (*i < SHIPPED_COUNT) {
		const struct shipped_file *f = &SHIPPED_FILES[(*i)++];
		if (f->use != SHIPPED_BEGUN &&
			(!text_starts(f->to, ".helm/") || text_eq(r->ws->state_name, ".helm")))
			return f;
	}
	return NULL;
}

/* Looked at again, behind everything that was written. */
static bool is_converged(struct reconciling *r)
{
	const struct shipped_file *f;
	struct bytes found;

	for (size_t i = 0; (f = next_compared(r, &i));)
		if (!text_eq(status_of(r, f, &found), "unchanged"))
			return false;
	return true;
}

struct json *workspace_reconcile(
	struct sys *s, struct arena *a, struct workspace *ws, enum reconcile how, bool shows)
{
	static const char *const counted[] = { "unchanged", "added", "upgraded", "overwritten",
		"earlier_skipped", "drift_skipped", "accepted_skipped", "missing_skipped", "source_missing",
		"blocked", "failed" };
	struct reconciling r = { s, a, ws, how, shows, json_new(a, JSON_ARRAY), json_new(a, JSON_OBJECT),
		true };
	struct json *doc = json_new(a, JSON_OBJECT);
	const struct shipped_file *f;

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++)
		json_seti(a, r.summary, counted[i], 0);
	for (size_t i = 0; (f = next_compared(&r, &i));)
		reconcile_one(&r, f);
	json_sets(a, doc, "workspace", ws->root);
	json_setb(a, doc, "dry_run", how == RECONCILE_LOOK);
	json_set(a, doc, "files", r.files);
	json_set(a, doc, "summary", r.summary);
	json_setb(a, doc, "converged", is_converged(&r));
	json_setb(a, doc, "ok", r.is_ok);
	return doc;
}

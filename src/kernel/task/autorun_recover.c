/* autorun_recover.c — runs that were ended before they could clean up behind themselves: whoever begins there next does it for them.
 *
 * A journal that nobody holds (autorun_journal.c) is the state before such a run.  It is looked at with the same code as at the end of a run, and
 * what was done is told, put on record and signed.  What was changed there since then by anybody counts as the run's: nobody knows when
 * it ended.  What cannot be looked at or taken away is active: the journal stays, and nothing begins there.
 *
 * A journal that somebody holds is of use, too: what its owner did not find there may be the owner's own doing, and another run that
 * sees it must not put it back one day. */
#include "base/file.h"
#include "base/hash.h"
#include "base/proc.h"
#include "base/text.h"
#include "kernel/act.h"
#include "kernel/task/armed.h"
#include "kernel/task/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* FIXES: what nobody needs is removed.  DEAD_ONLY: those that somebody holds are passed over. */
enum { FIXES = 1, DEAD_ONLY = 2 };
enum { JOURNAL_MOST = 48 << 20, LOCK_MS = 60000, ENDING_US = 5000000 };
#define EVENT "autorun_recovered"

struct found {
	const char *path; /* absolute */
	int fd; /* locked; -1: somebody holds it */
	struct json *doc;
	const char *sha256;
	const char *tree; /* that its run worked in */
};

/* ---- finding ---- */

static bool overlap(const char *x, const char *y)
{
	return x && y && (path_is_below(x, y) || path_is_below(y, x));
}

static int damaged(const char *path, const char *why, struct err *e)
{
	return err_set(e, E_CORRUPT, "AUTORUN_JOURNAL",
		"the journal '%s' of a run that did not come to its clean-up cannot be understood (%s): look through the work tree for what "
		"starts by itself, and then remove that file",
		path, why);
}

/* Less than a whole one is what a power cut left of one that was not synced: its run has not begun. */
static bool is_torn(struct bytes text)
{
	return !text.n || text.p[text.n - 1] != '\n';
}

/* NAME@PID-START-SPACE.json: is that process gone?  One of another pid namespace (a container) is not known here, and counts as alive while
 * its lock is held. */
static bool is_owner_gone(struct sys *s, const char *path)
{
	const char *at = strrchr(path, '@');
	char *end = NULL;
	int64_t pid = at ? strtoll(at + 1, &end, 10) : 0,
		start = end && *end == '-' ? strtoll(end + 1, &end, 10) : 0,
		space = end && *end == '-' ? strtoll(end + 1, NULL, 10) : 0;

	return pid > 0 && start > 0 && space == journal_pid_space(s) && !proc_is_running(s, pid, start);
}

/* What an owner that was killed had around its command has the lock, too, and needs a moment to end. */
static bool is_locked(struct sys *s, int fd, const char *path)
{
	int64_t until_us = s->mono_us(s) + ENDING_US;

	while (s->lock(s, fd, LOCK_EX | LOCK_NB)) {
		if (!is_owner_gone(s, path) || s->mono_us(s) >= until_us)
			return true;
		s->sleep_us(s, 2000);
	}
	return false;
}

/* *ret_skip: it is gone, or nothing has begun with it. */
static int open_one(struct sys *s, struct arena *a, const char *path, unsigned how, struct found *ret,
	bool *ret_skip, struct err *e)
{
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	struct err why = { 0 };
	struct bytes text;
	struct stat st;

	*ret = (struct found){ .path = path, .fd = -1 };
	*ret_skip = fd < 0 && errno == ENOENT;
	if (*ret_skip)
		return OK;
	if (fd < 0)
		return damaged(path, strerror(errno), e);
	bool is_held = is_locked(s, fd, path);
	if (s->stat(s, fd, "", &st, AT_EMPTY_PATH) || !st.st_nlink || (is_held && how & DEAD_ONLY)) {
		*ret_skip = true;
		return OK;
	}
	int rc = file_read(s, a, AT_FDCWD, path, JOURNAL_MOST, 0, &text, &why);
	if (rc == E_MISSING || (rc == OK && is_torn(text))) {
		if (how & FIXES && !is_held && rc == OK)
			(void)s->unlink(s, AT_FDCWD, path, 0);
		*ret_skip = true;
		return OK;
	}
	if (rc == OK)
		rc = json_parse(a, text, path, NULL, &ret->doc, &why);
	if (rc)
		return damaged(path, why.text, e);
	ret->sha256 = sha256_hex(a, text.p, text.n);
	ret->tree = journal_tree(a, ret->doc);
	if (!ret->tree)
		return damaged(path, "it is no journal of this version", e);
	if (!is_held) {
		ret->fd = fd;
		fd = -1;
	}
	return OK;
}

/* What a writer left that was ended in the middle; one that is held is being written. */
static void sweep_draft(struct sys *s, const char *path)
{
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);

	if (fd >= 0 && s->lock(s, fd, LOCK_EX | LOCK_NB) == 0)
		(void)s->unlink(s, AT_FDCWD, path, 0);
}

typedef int each_journal(void *arg, struct found *f, struct err *e);

static int each(struct sys *s, struct arena *a, const char *home, unsigned how, each_journal *fn, void *arg,
	struct err *e)
{
	const char *dir = arena_printf(a, "%s/" JOURNAL_DIR, home);
	struct err none = { 0 };
	char **names;
	size_t n;
	int rc = home ? file_list(s, a, AT_FDCWD, dir, &names, &n, &none) : E_MISSING;

	if (rc == E_MISSING)
		return OK;
	if (rc)
		return err_set(e, E_IO, "AUTORUN_JOURNAL",
			"not run: it cannot be known what was not cleaned up: %s", none.text);
	for (size_t i = 0; rc == OK && i < n; i++) {
		const char *path = arena_printf(a, "%s/%s", dir, names[i]);
		struct found f;
		bool is_skipped;
		if (names[i][0] == '.') {
			if (how & FIXES && text_ends(names[i], ".tmp"))
				sweep_draft(s, path);
			continue;
		}
		if (!text_ends(names[i], ".json"))
			continue;
		rc = open_one(s, a, path, how, &f, &is_skipped, e);
		if (rc == OK && !is_skipped)
			rc = fn(arg, &f, e);
		close_fd(&f.fd);
	}
	return rc;
}

/* ---- finishing ---- */

struct finishing {
	struct kernel *k;
	struct arena *a;
	const char *tree; /* or NULL: every place */
	struct json *done;
	struct err *left; /* the first thing that is still there; rc OK: none */
};

/* The clean-up was made before the last row; only the journal stayed, because its owner was ended in between, or the disk was. */
static bool was_finished(struct finishing *x, const struct json *doc)
{
	struct workspace *ws = x->k->ws;
	struct json *row = NULL;
	struct err e = { 0 };

	if (json_get(doc, "left") || !text_eq(json_get_text(doc, "kind", ""), "run") ||
		!text_eq(json_get_text(doc, "workspace", ""), ws->root) || ws->state_fd < 0 ||
		row_newest(x->k->sys, x->a, ws->state_fd, json_get_text(doc, "task_id", ""), &row, &e) ||
		!row)
		return false;
	json_each (one, json_get(row, "left_behind"))
		if (text_eq(json_get_text(one, "what", ""), "left"))
			return false;
	return !row_is_open(row) && !json_get_bool(row, "orphaned", false);
}

/* A row among the calls, and a receipt where there is a key; the keeper has none, and its row is bound by the next receipt. */
static int put_on_record(struct finishing *x, struct json *about, struct err *e)
{
	struct sys *s = x->k->sys;
	struct json *row = json_copy(x->a, about);

	json_sets(x->a, row, "at", text_time_iso(x->a, s->now_us(s)));
	json_sets(x->a, row, "event", EVENT);
	int rc = ledger_note(s, x->a, x->k->ws->state_fd, TOOL_CALLS, row, e);
	if (rc || !x->k->key)
		return rc;
	return act_record(x->k, x->a,
		&(struct act){ .effect_id = "helm.recover/autorun",
			.type = "recovery",
			.executor_id = arena_printf(x->a, "user:%u", getuid()),
			.about = about },
		NULL, e);
}

static int finish(void *arg, struct found *f, struct err *e)
{
	struct finishing *x = arg;
	struct arena *a = x->a;
	struct run_report report = { 0 };
	struct run_result *result = arena_zalloc(a, 1, sizeof(*result));
	struct run_spec spec = { .cwd = "/" };
	struct task t = { .k = x->k,
		.a = a,
		.spec = &spec,
		.report = &report,
		.row = json_new(a, JSON_OBJECT),
		.happened = json_new(a, JSON_OBJECT) };
	struct json *about = json_new(a, JSON_OBJECT);

	if (f->fd < 0 ||
		(x->tree && !overlap(f->tree, x->tree) &&
			!text_eq(json_get_text(f->doc, "workspace", ""), x->k->ws->root)))
		return OK;
	if (journal_read(&t, f->doc, result))
		return damaged(f->path, "it is no journal of this version", e);
	if (was_finished(x, f->doc)) {
		(void)x->k->sys->unlink(x->k->sys, AT_FDCWD, f->path, 0);
		return OK;
	}
	struct sys *s = x->k->sys;
	if (file_is_dir(s, AT_FDCWD, task_tree(&t)))
		(void)task_touched(&t);
	armed_check(&t);
	json_sets(a, about, "task_id", t.id);
	json_sets(a, about, "journal_sha256", f->sha256);
	json_sets(a, about, "workspace", t.k->ws->root);
	json_sets(a, about, "work_tree", task_tree(&t));
	struct json *left = t.left_behind ? left_without_notes(a, t.left_behind) : NULL;
	if (left)
		json_set(a, about, "left_behind", left);
	json_sets(a, about, "state", t.is_left ? "left" : "done");
	/* One that was there before is on record. */
	if (!t.is_left || !json_get(f->doc, "left")) {
		int rc = put_on_record(x, about, e);
		if (rc)
			return rc;
	}
	struct journal j = { .fd = f->fd, .path = f->path, .doc = f->doc };
	f->fd = -1;
	t.journal = &j;
	journal_end(&t);
	if (t.is_left && (!x->tree || overlap(f->tree, x->tree)) && !x->left->rc)
		err_set(x->left, E_DENIED, "AUTORUN_LEFT", "not run: %s", armed_left(&t));
	if (!t.is_left)
		json_push(a, x->done, about);
	return OK;
}

int autorun_recover(struct kernel *k, struct arena *a, const char *tree, struct json **ret, struct err *e)
{
	struct err left = { 0 };
	struct finishing x = { .k = k, .a = a, .tree = tree, .done = json_new(a, JSON_ARRAY), .left = &left };
	const char *home = k->ws->helm_home;
	AUTO(close_fd) int lock = -1;
	char **names;
	size_t n = 0;

	*ret = x.done;
	if (!home ||
		file_list(k->sys, a, AT_FDCWD, arena_printf(a, "%s/" JOURNAL_DIR, home), &names, &n, NULL))
		n = 0;
	/* Only the file that locks them, or none. */
	if (n > 1 || (n == 1 && names[0][0] != '.')) {
		/* One at a time: whoever comes while another one cleans up must not take for given what is still there. */
		int rc = file_lock(k->sys, AT_FDCWD, arena_printf(a, "%s/" JOURNAL_DIR "/.lock", home),
			LOCK_MS, &lock, e);
		if (rc)
			return rc;
	}
	int rc = each(k->sys, a, home, FIXES | DEAD_ONLY, finish, &x, e);
	if (rc == OK && left.rc) {
		*e = left;
		rc = left.rc;
	}
	return rc;
}

const char *autorun_said(struct arena *a, const struct json *done)
{
	struct buf text;

	buf_init(&text, a);
	json_each (one, done) {
		size_t n = 0;
		buf_addf(&text, "%sfinished the clean-up of %s, which was ended before its own",
			text.n ? "\n" : "", json_get_text(one, "task_id", ""));
		json_each (file, json_get(one, "left_behind"))
			if (++n <= 3)
				buf_addf(&text, "%s%s (%s)", n > 1 ? ", " : ": ",
					json_get_text(file, "path", ""),
					text_eq(json_get_text(file, "what", ""), "put_back")
						? "put back"
						: json_get_text(file, "what", ""));
		if (n > 3)
			buf_addf(&text, " and %zu more", n - 3);
	}
	return text.n ? text.p : NULL;
}

/* ---- before anything is looked for ---- */

static int reopen(void *arg, struct found *f, struct err *e)
{
	struct kernel *k = arg;
	AUTO(arena_done) struct arena a = { 0 };
	struct run_result result;
	struct task t = { .k = k, .a = &a };

	(void)e;
	if (journal_read(&t, f->doc, &result))
		return OK;
	rights_give_back(&t);
	return OK;
}

/* Reads only, but for modes that a run took away: of errors whoever begins something hears. */
void autorun_reopen(struct sys *s, struct arena *a)
{
	struct workspace ws = { 0 };
	struct kernel k = { .sys = s, .ws = &ws };
	const char *home;
	struct err e = { 0 };

	if (workspace_helm_home(s, a, &home, &e) == OK)
		(void)each(s, a, home, DEAD_ONLY, reopen, &k, &e);
}

/* ---- who lives ---- */

/* The oldest word about a file counts: text and target are what somebody found before anybody who runs now could have written there. */
static int merge(void *arg, struct found *f, struct err *e)
{
	struct task *t = arg;
	struct run_result result;
	struct task other = { .k = t->k, .a = t->a };

	(void)e;
	if (f->fd >= 0 || !overlap(f->tree, task_tree(t)) || journal_read(&other, f->doc, &result))
		return OK;
	for (struct armed_file *mine = t->armed; mine; mine = mine->next) {
		const struct armed_file *old = armed_find(other.armed, mine->root, mine->path);
		bool is_known = text_eq(other.k->ws->root, mine->root) ||
			(other.at.work_tree && text_eq(other.at.work_tree, mine->root));
		if (!is_known)
			continue;
		mine->text = old ? old->text : (struct bytes){ 0 };
		mine->target = old ? old->target : NULL;
	}
	return OK;
}

int autorun_others(struct task *t, struct err *e)
{
	return each(t->k->sys, t->a, t->k->ws->helm_home, 0, merge, t, e);
}

/* ---- who asks ---- */

struct asking {
	struct arena *a;
	struct json *list;
};

static int list_one(void *arg, struct found *f, struct err *e)
{
	struct asking *x = arg;
	struct json *row = json_new(x->a, JSON_OBJECT);
	const char *id = json_get_text(f->doc, "task_id", ""), *first = NULL;

	(void)e;
	if (f->fd < 0 && !json_get(f->doc, "left"))
		return OK;
	json_each (one, json_get(f->doc, "left"))
		if (!first && text_eq(json_get_text(one, "what", ""), "left"))
			first = json_get_text(one, "path", "");
	json_sets(x->a, row, "journal", f->path);
	json_sets(x->a, row, "task_id", id);
	json_sets(x->a, row, "workspace", json_get_text(f->doc, "workspace", ""));
	json_sets(x->a, row, "work_tree", f->tree);
	json_sets(x->a, row, "text",
		first ? arena_printf(x->a,
				"%s in %s may start programs later, and could not be looked at or taken away behind %s",
				first, f->tree, id)
		      : arena_printf(x->a,
				"%s in %s was ended before its clean-up: what starts programs later may be there",
				id, f->tree));
	json_sets(x->a, row, "remedy", first ? "remove it, then: helm task recover" : "helm task recover");
	json_push(x->a, x->list, row);
	return OK;
}

struct json *autorun_unfinished(struct sys *s, struct arena *a, const struct workspace *ws)
{
	struct asking x = { a, json_new(a, JSON_ARRAY) };
	struct err e = { 0 };

	if (each(s, a, ws->helm_home, 0, list_one, &x, &e)) {
		struct json *row = json_new(a, JSON_OBJECT);
		json_sets(a, row, "text", e.text);
		json_sets(a, row, "remedy", "helm task recover");
		json_push(a, x.list, row);
	}
	return x.list->n ? x.list : NULL;
}

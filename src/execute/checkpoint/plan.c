/* plan.c — what a restore would do: the checkpoint's entries beside those on disk.
 *
 * Both lists are in one order, so this is a merge.  Whether a file is the same is decided by its content: a
 * known digest from the stat cache, or the file is read.  Size alone can only say that it is not. */
#include "execute/checkpoint/parts.h"

#include <errno.h>

enum { READ_SIZE = 256 << 10 };

const char *checkpoint_state_name(enum checkpoint_state s)
{
	static const char *const names[] = { "same", "changed", "touched", "missing", "new", "unsaved" };
	TABLE_COVERS(names, CHECKPOINT_STATES);

	return names[s];
}

/* Is the request about this path?  Without a list of paths it is about everything. */
bool plan_wants(const struct plan *p, const char *path)
{
	if (!p->req->only_count)
		return true;
	for (size_t i = 0; i < p->req->only_count; i++)
		if (checkpoint_path_covers(p->req->only[i], path))
			return true;
	return false;
}

/* ---- same content? ---- */

/* The digest of the file's data at the extents of `x`, where the checkpoint has data.  -1 with errno. */
int entry_digest(struct sys *s, struct arena *a, int fd, const struct entry *x, struct object_id *ret)
{
	struct extent whole = { 0, x->size };
	const struct extent *v = x->is_sparse ? x->extents : &whole;
	size_t n = x->is_sparse ? x->extent_count : 1;
	struct arena_mark mark = arena_mark(a);
	uint8_t *block = arena_alloc(a, READ_SIZE);
	struct sha256 h;
	int rc = 0;

	sha256_begin(&h);
	for (size_t i = 0; i < n && !rc; i++) {
		uint64_t at = v[i].at, left = v[i].n;
		while (left && !rc) {
			ssize_t got = s->pread(
				s, fd, block, left < READ_SIZE ? (size_t)left : READ_SIZE, (off_t)at);
			rc = got <= 0 ? -1 : 0;
			if (got > 0) {
				sha256_add(&h, block, (size_t)got);
				at += (uint64_t)got;
				left -= (uint64_t)got;
			}
		}
	}
	arena_release(a, mark);
	sha256_end(&h, ret->b);
	return rc;
}

static bool is_same_extents(const struct entry *x, const struct entry *y)
{
	return x->is_sparse == y->is_sparse && x->extent_count == y->extent_count &&
		(!x->extent_count ||
			memcmp(x->extents, y->extents, x->extent_count * sizeof(*x->extents)) == 0);
}

/* Size first, then what the cache knows, and only then is the file read.  A file that cannot be read counts
 * as different: it will be replaced, or the attempt will be reported. */
static bool is_same_content(struct plan *p, const struct entry *want, struct entry *have)
{
	struct sys *s = p->st->sys;
	struct object_id got;

	if (want->size != have->size)
		return false;
	if (have->is_known && !p->req->verify)
		return is_same_extents(want, have) && object_eq(&want->content.sha, &have->content.sha);
	AUTO(close_fd)
	int fd =
		s->open(s, p->st->root_fd, have->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, RESOLVE_INSIDE);
	if (fd < 0)
		return false;
	if (want->is_sparse && (checkpoint_extents(s, p->a, fd, have) || !is_same_extents(want, have)))
		return false;
	return !entry_digest(s, p->a, fd, want, &got) && object_eq(&want->content.sha, &got);
}

uint32_t plan_mode(const struct checkpoint_restore *req, const struct entry *want, uint32_t have)
{
	const uint32_t set_ids = S_ISUID | S_ISGID;

	if (want->type != ENTRY_FILE || req->set_ids)
		return want->mode;
	return (want->mode & ~set_ids) | (want->mode & have & set_ids);
}

/* What a restore would not change does not count as a difference. */
static bool is_same_meta(struct plan *p, const struct entry *want, const struct entry *have)
{
	/* Times of directories, and whatever a link has but its target, are not worth a change of their
	 * own. */
	if (want->type == ENTRY_LINK)
		return true;
	/* Only root can give files away; to others the owner is no change they could make. */
	if (p->st->sys->euid(p->st->sys) == 0 && (want->uid != have->uid || want->gid != have->gid))
		return false;
	return plan_mode(p->req, want, have->mode) == have->mode &&
		(want->type == ENTRY_DIR || want->mtime_ns == have->mtime_ns);
}

/* In the order of cost: kind, target, content, and last what is only mode, owner or time. */
static enum checkpoint_state compare(struct plan *p, const struct entry *want, struct entry *have)
{
	if (want->type == ENTRY_SKIPPED)
		return CHECKPOINT_UNSAVED;
	if (want->type != have->type)
		return CHECKPOINT_CHANGED;
	if (want->type == ENTRY_LINK && !text_eq(want->text, have->text))
		return CHECKPOINT_CHANGED;
	if (want->type == ENTRY_FILE && !is_same_content(p, want, have))
		return CHECKPOINT_CHANGED;
	return is_same_meta(p, want, have) ? CHECKPOINT_SAME : CHECKPOINT_TOUCHED;
}

/* ---- what is left alone ---- */

/* A pipe, a socket or a device: there is nothing to save. */
static bool has_no_content(const struct entry *x)
{
	return x->type == ENTRY_SKIPPED &&
		(text_eq(x->text, "fifo") || text_eq(x->text, "socket") || text_eq(x->text, "device"));
}

/* Decided by the text of the link alone, without following it. */
bool checkpoint_link_leaves(struct arena *a, const struct entry *link)
{
	const char *name = path_base(link->path);
	const char *dir = arena_strndup(a, link->path, (size_t)(name - link->path));
	const char *there = path_clean(a, arena_printf(a, "%s%s", dir, link->text));

	return link->text[0] == '/' || text_eq(there, "..") || text_starts(there, "../");
}

/* Why something below this path is never put back; NULL when it may be.  Helm's history is not put back
 * even if it was saved, because an old history in its place would hide what happened since. */
static const char *protected_part(struct plan *p, const char *path)
{
	struct selection rules = { .with_vcs = p->req->include_git, .with_state = p->req->include_state };
	struct bytes rest = bytes_of(path);
	bool is_first = true, in_state = false;

	while (rest.p) {
		struct bytes part = text_cut(&rest, '/');
		const char *name = arena_strndup(p->a, (const char *)part.p, part.n);
		if (in_state && (checkpoint_state_hidden(name) || text_ends(name, ".jsonl")))
			return "history is not put back";
		if (is_first && text_eq(name, p->st->state_name))
			in_state = true;
		if (in_state && !p->req->include_state)
			return "Helm's own state";
		if (selection_hides_name(&rules, name))
			return text_eq(name, ".helm") ? "Helm's own state" : "version-control data";
		is_first = false;
	}
	return NULL;
}

/* The request names this very path. */
static bool is_named(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->req->only_count; i++)
		if (text_eq(p->req->only[i], path))
			return true;
	return false;
}

/* Why a step will be left alone.  NULL: it is carried out. */
static const char *judge(struct plan *p, const struct step *t)
{
	const char *part = protected_part(p, t->path);

	if (part)
		return part;
	if (t->state == CHECKPOINT_UNSAVED)
		return t->want->text;
	if (t->state == CHECKPOINT_NEW && !p->req->delete_new)
		return "new";
	if (t->state == CHECKPOINT_NEW && t->have->type == ENTRY_SKIPPED &&
		!(p->req->no_backup && has_no_content(t->have)))
		return arena_printf(p->a, "stays, because it cannot be saved first (%s)%s", t->have->text,
			has_no_content(t->have) ? "; --no-backup removes it" : "");
	if (t->want && t->want->type == ENTRY_LINK && !p->req->all_links &&
		checkpoint_link_leaves(p->a, t->want))
		return "link leads outside the workspace";
	return NULL;
}

/* ---- merge ---- */

/* What the store has lost, and what could not be saved and is not on disk any more, but for what changed while it was saved: that may have
 * been on its way out.  And what was to be removed, and cannot be. */
static bool is_lost(const struct plan *p, const struct step *t)
{
	if (t->state == CHECKPOINT_NEW)
		return p->req->delete_new && t->have->type == ENTRY_SKIPPED;
	if (t->state != CHECKPOINT_UNSAVED)
		return false;
	return text_eq(t->want->text, ENTRY_LOST) ||
		(!t->have && !has_no_content(t->want) && !text_eq(t->want->text, "changed"));
}

/* One path: what the checkpoint has, what the disk has, and what that means. */
static void add_step(struct plan *p, const struct entry *want, struct entry *have)
{
	const char *path = want ? want->path : have->path;
	struct step *t = &p->steps[p->n];

	if (!plan_wants(p, path))
		return;
	*t = (struct step){ .want = want, .have = have, .path = path };
	if (want && have)
		t->state = compare(p, want, have);
	else if (have)
		t->state = CHECKPOINT_NEW;
	else
		t->state = want->type == ENTRY_SKIPPED ? CHECKPOINT_UNSAVED : CHECKPOINT_MISSING;
	if (t->state != CHECKPOINT_SAME)
		t->note = judge(p, t);
	/* Left alone on purpose is no failure, unless this very path was asked for. */
	t->is_missed = t->note && ((t->want && is_named(p, t->path)) || is_lost(p, t));
	p->n++;
}

/* Both lists are sorted in the same order, so each entry is looked at once. */
static void merge(struct plan *p)
{
	struct entries *w = &p->tree.entries, *h = &p->disk;
	const struct checkpoint_progress *pr = p->req->progress;
	size_t i = 0, k = 0;

	p->steps = arena_alloc(p->a, (w->n + h->n + 1) * sizeof(*p->steps));
	while (i < w->n || k < h->n) {
		int order = i == w->n ? 1 : k == h->n ? -1 : checkpoint_path_cmp(w->v[i].path, h->v[k].path);
		if (pr && (i + k) % 256 == 0)
			pr->step(pr->arg, "comparing files", i + k, w->n + h->n);
		if (order < 0)
			add_step(p, &w->v[i++], NULL);
		else if (order > 0)
			add_step(p, NULL, &h->v[k++]);
		else
			add_step(p, &w->v[i++], &h->v[k++]);
	}
}

/* By binary search, since steps are sorted by path. */
struct step *plan_find(struct plan *p, const char *path)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = checkpoint_path_cmp(p->steps[mid].path, path);
		if (order == 0)
			return &p->steps[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* From our own store, or from an archive of older workspaces. */
static int load_tree(struct plan *p, struct err *e)
{
	struct content c;
	struct bytes text;

	if (!text_eq(json_get_text(p->record, "format", ""), "objects/1"))
		return checkpoint_load_archive(p, e);
	if (checkpoint_record_tree(p->record, &c, e) ||
		content_load(p->st->pool, p->a, &c, TREE_LIMIT, &text, e) ||
		tree_parse(p->a, text, &p->tree, e))
		return err_wrap(e, "checkpoint '%s'", json_get_text(p->record, "checkpoint_id", "?"));
	return OK;
}

/* Every path that was asked for must be in the checkpoint, or be new and allowed to go.  A misspelt path is
 * an error, not a restore of nothing. */
static int check_only(struct plan *p, struct err *e)
{
	for (size_t i = 0; i < p->req->only_count; i++) {
		const char *path = p->req->only[i];
		bool found = text_eq(path, ".");
		for (size_t k = 0; !found && k < p->n; k++)
			found = (p->steps[k].want || p->req->delete_new) &&
				checkpoint_path_covers(path, p->steps[k].path);
		if (!found)
			return err_set(e, E_MISSING, "CHECKPOINT_PATH",
				"'%s' is not in checkpoint '%s'; nothing was done", path,
				json_get_text(p->record, "checkpoint_id", "?"));
	}
	return OK;
}

/* The disk is walked with the selection of the checkpoint, so that nothing outside of it can look like
 * "new". */
int plan_make(struct plan *p, struct checkpoint_store *st, const struct checkpoint_restore *req,
	struct arena *a, struct err *e)
{
	struct cache cache;

	*p = (struct plan){ .st = st, .req = req, .a = a };
	if (checkpoint_find(st, req->id, &p->record, e) || load_tree(p, e))
		return e->rc;
	struct scan sc = { .st = st,
		.a = a,
		.sel = &p->tree.sel,
		.to = &p->disk,
		.temps = &p->temps,
		.max_files = UINT64_MAX,
		.max_bytes = UINT64_MAX,
		.may_miss = true,
		.progress = req->progress };
	if (checkpoint_scan(&sc, e))
		return e->rc;
	cache_load(st, a, &p->tree.sel, &cache);
	cache_match(&cache, &p->disk);
	merge(p);
	return check_only(p, e);
}

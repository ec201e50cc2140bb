/* prune.c — which checkpoints go, and what goes with them.
 *
 * Retention looks at records only.  Before anything is removed, every object of every checkpoint that stays
 * is read and compared with its digest.  If one cannot be read, nothing is removed: what that checkpoint
 * needs is not known, and another copy may lie in what would go.
 *
 * Then, in an order that is safe at every step: the index without the records, durable; the directories;
 * and objects that no remaining tree needs.  A pack with little left in it is written anew before it goes,
 * and so are many small ones; the new pack has a name that no pack had before, so that what goes is never
 * what was just written.
 *
 * A crash anywhere leaves files that nothing names.  They are harmless, and the next prune finds them by
 * that. */
#include "execute/checkpoint/parts.h"

#include <errno.h>

enum { SMALL_PACK = 1 << 20, SMALL_PACKS_MAX = 16 };
#define DAY_US ((int64_t)86400 * 1000000)

struct candidate {
	struct json *record;
	int64_t created_us, age_days;
	uint64_t size;
	bool is_recent, is_pinned, is_referenced, is_young, is_over; /* over: pruned for size */
};

struct pruner {
	struct checkpoint_store *st;
	const struct checkpoint_policy *policy;
	const struct json *referenced;
	struct arena *a;
	struct json *array;
	struct candidate *v, **by_age; /* oldest first */
	size_t n;
	uint8_t *is_live; /* per object of the pool */
	struct checkpoint_pruned res;
};

/* ---- retention ---- */

/* Size pressure removes only what is kept for being young; never what is recent, pinned or named by a
 * task. */
static bool is_kept(const struct candidate *c)
{
	return c->is_recent || c->is_pinned || c->is_referenced || (c->is_young && !c->is_over);
}

static int by_created(const void *x, const void *y)
{
	const struct candidate *p = *(struct candidate *const *)x, *q = *(struct candidate *const *)y;

	if (p->created_us != q->created_us)
		return p->created_us < q->created_us ? -1 : 1;
	return p < q ? -1 : p > q;
}

static bool names_id(const struct json *list, const char *id)
{
	json_each (v, list) {
		const char *text = json_text(v);
		if (text && text_eq(text, id))
			return true;
	}
	return false;
}

/* What the checkpoint added to the store; for old archives the size of their file. */
static uint64_t size_of_archive(struct pruner *p, const struct json *record)
{
	struct stat st;
	const char *id = json_get_text(record, "checkpoint_id", "");

	if (json_get(record, "stored_bytes"))
		return (uint64_t)json_get_int(record, "stored_bytes", 0);
	if (!checkpoint_id_ok(id) ||
		p->st->sys->stat(p->st->sys, p->st->dir_fd, arena_printf(p->a, "%s/snapshot.tar.gz", id), &st,
			AT_SYMLINK_NOFOLLOW))
		return 0;
	return (uint64_t)st.st_size;
}

/* Looks at one record.  One whose age cannot be read counts as new, so that it is not removed by
 * mistake. */
static void judge(struct pruner *p, struct candidate *c, struct json *record, int64_t now_us)
{
	const char *created = json_get_text(record, "created_at", "");

	c->record = record;
	if (!text_parse_time(created, strlen(created), &c->created_us))
		c->created_us = now_us; /* of unknown age: not old */
	c->age_days = now_us > c->created_us ? (now_us - c->created_us) / DAY_US : 0;
	c->size = size_of_archive(p, record);
	c->is_young = c->age_days < p->policy->keep_days;
	c->is_pinned = p->policy->protect_pinned &&
		(json_get_bool(record, "pinned", false) ||
			text_eq(json_get_text(record, "retention", ""), "pinned"));
	c->is_referenced = p->policy->protect_referenced &&
		names_id(p->referenced, json_get_text(record, "checkpoint_id", ""));
}

/* Size of everything in objects/ and of the old archives. */
static int measure(struct pruner *p, uint64_t *ret, struct err *e)
{
	struct checkpoint_store *st = p->st;
	char **names;
	size_t n;
	uint64_t total = 0;
	struct stat sb;

	for (size_t i = 0; i < p->n; i++)
		if (!json_get(p->v[i].record, "stored_bytes"))
			total += p->v[i].size;
	if (st->pool->dir_fd >= 0) {
		if (file_list(st->sys, p->a, st->pool->dir_fd, ".", &names, &n, e))
			return e->rc;
		for (size_t i = 0; i < n; i++)
			if (st->sys->stat(st->sys, st->pool->dir_fd, names[i], &sb, AT_SYMLINK_NOFOLLOW) == 0)
				total += (uint64_t)sb.st_size;
	}
	*ret = total;
	return OK;
}

/* Calls that run right now: each relies on a checkpoint that no row names yet. */
enum { CALLS_AT_ONCE = 16 };

/* Those that Helm makes by itself are counted apart: a day of them must not push out what a person has saved.  And the last ones of them
 * stay, in the order they were made and whatever the clock says: what is being destroyed right now must come back. */
static void keep_recent(struct pruner *p)
{
	int64_t n[2] = { 0, 0 };
	size_t calls = 0;

	for (size_t i = p->n; i-- > 0;) {
		struct candidate *c = p->by_age[i];
		c->is_recent = ++n[checkpoint_is_automatic(c->record)] <= p->policy->keep_recent;
	}
	for (size_t i = p->n; i-- > 0 && calls < CALLS_AT_ONCE;)
		if (checkpoint_is_automatic(p->v[i].record) && !checkpoint_is_safety(p->v[i].record)) {
			p->v[i].is_recent = true;
			calls++;
		}
}

/* Also decides what goes for size. */
static int judge_all(struct pruner *p, struct err *e)
{
	int64_t now_us = p->st->sys->now_us(p->st->sys);

	p->v = arena_zalloc(p->a, p->array->n + 1u, sizeof(*p->v));
	p->by_age = arena_zalloc(p->a, p->array->n + 1u, sizeof(struct candidate *));
	json_each (record, p->array) {
		judge(p, &p->v[p->n], record, now_us);
		p->by_age[p->n] = &p->v[p->n];
		p->n++;
	}
	if (p->n)
		qsort(p->by_age, p->n, sizeof(struct candidate *), by_created);
	keep_recent(p);
	if (measure(p, &p->res.total_bytes, e))
		return e->rc;
	if (p->policy->max_total_mb < 0)
		return OK;
	/* Size pressure: what is only young goes, oldest first.  A record's size is what it added, so this
	 * is an estimate where objects are shared. */
	uint64_t max = (uint64_t)p->policy->max_total_mb << 20, left = p->res.total_bytes;
	for (size_t i = 0; i < p->n; i++)
		if (!is_kept(p->by_age[i]))
			left -= left < p->by_age[i]->size ? left : p->by_age[i]->size;
	for (size_t i = 0; i < p->n && left > max; i++) {
		struct candidate *c = p->by_age[i];
		if (!is_kept(c) || c->is_recent || c->is_pinned || c->is_referenced)
			continue;
		c->is_over = true;
		left -= left < c->size ? left : c->size;
	}
	return OK;
}

/* Every reason is told, so that a person sees why something stays. */
static void report(struct pruner *p)
{
	struct arena *a = p->st->a;

	p->res.keep = json_new(a, JSON_ARRAY);
	p->res.prune = json_new(a, JSON_ARRAY);
	for (size_t i = 0; i < p->n; i++) {
		const struct candidate *c = &p->v[i];
		struct json *row = json_copy(a, c->record), *reasons = json_new(a, JSON_ARRAY);
		json_seti(a, row, "age_days", c->age_days);
		json_seti(a, row, "archive_size_bytes", (int64_t)c->size);
		if (c->is_referenced)
			json_pushs(a, reasons, "referenced_by_task");
		if (c->is_pinned)
			json_pushs(a, reasons, "pinned");
		if (c->is_recent)
			json_pushs(a, reasons, "recent_keep_window");
		if (c->is_young)
			json_pushs(a, reasons, "within_keep_days");
		if (is_kept(c))
			json_set(a, row, "retention_reasons", reasons);
		else if (c->is_over)
			json_set(a, row, "prune_reason",
				json_stringf(
					a, "exceeds_max_total_mb_%lld", (long long)p->policy->max_total_mb));
		else
			json_set(a, row, "prune_reason",
				json_stringf(a, "older_than_%lld_days_unreferenced",
					(long long)p->policy->keep_days));
		json_push(a, is_kept(c) ? p->res.keep : p->res.prune, row);
	}
}

/* ---- leftovers ---- */

/* A directory named like a checkpoint that no record names, or a temporary file of ours.  Anything else is
 * not ours to remove. */
static bool is_leftover(struct pruner *p, const char *name)
{
	if (checkpoint_is_temp(name) || text_eq(name, "staging"))
		return true;
	if (!checkpoint_id_ok(name))
		return false;
	json_each (v, p->array)
		if (text_eq(json_get_text(v, "checkpoint_id", ""), name))
			return false;
	return true;
}

/* A directory of ours holds files only, so one level is enough. */
static int remove_dir(struct pruner *p, int parent, const char *name, struct err *e)
{
	struct sys *s = p->st->sys;
	AUTO(close_fd) int fd = s->open(s, parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);

	if (fd < 0 && errno == ENOENT)
		return OK;
	if (fd < 0)
		return err_sys(e, "CHECKPOINT_WRITE", "cannot open '%s'", name);
	if (checkpoint_empty_dir(s, p->a, fd, e))
		return e->rc;
	if (s->unlink(s, parent, name, AT_REMOVEDIR))
		return err_sys(e, "CHECKPOINT_WRITE", "cannot remove '%s'", name);
	return OK;
}

/* Leftovers in one directory of the store: told, and with `apply` removed. */
static int sweep(struct pruner *p, int dir, bool apply, struct err *e)
{
	struct sys *s = p->st->sys;
	char **names;
	size_t n;

	if (dir < 0)
		return OK;
	if (file_list(s, p->a, dir, ".", &names, &n, e))
		return e->rc;
	for (size_t i = 0; i < n; i++) {
		if (!is_leftover(p, names[i]))
			continue;
		json_pushs(p->st->a, p->res.leftovers, names[i]);
		if (!apply || s->unlink(s, dir, names[i], 0) == 0)
			continue;
		if (errno != EISDIR && errno != EPERM)
			return err_sys(e, "CHECKPOINT_WRITE", "cannot remove leftover '%s'", names[i]);
		if (remove_dir(p, dir, names[i], e))
			return e->rc;
	}
	return OK;
}

/* Walks the whole tree, also version-control directories, for files a restore was writing when it died. */
static int sweep_temps(struct pruner *p, bool apply, struct err *e)
{
	struct sys *s = p->st->sys;
	const char *root = ".";
	struct selection all = { .paths = &root, .path_count = 1, .with_vcs = true };
	struct entries seen = { 0 }, temps = { 0 };
	struct scan sc = { .st = p->st,
		.a = p->a,
		.sel = &all,
		.to = &seen,
		.temps = &temps,
		.max_files = UINT64_MAX,
		.max_bytes = UINT64_MAX };

	if (checkpoint_scan(&sc, e))
		return e->rc;
	for (size_t i = 0; i < temps.n; i++) {
		const char *path = temps.v[i].path, *name = path_base(path);
		const char *dir = name == path ? "." : arena_strndup(p->a, path, (size_t)(name - path) - 1);
		json_pushs(p->st->a, p->res.leftovers, text_safe(p->st->a, path, strlen(path), false));
		if (!apply)
			continue;
		AUTO(close_fd)
		int fd = s->open(s, p->st->root_fd, dir, O_RDONLY | O_DIRECTORY, 0, RESOLVE_INSIDE);
		if (fd >= 0 && (s->unlink(s, fd, name, 0) || s->fsync(s, fd)) && errno != ENOENT)
			return err_sys(e, "CHECKPOINT_WRITE", "cannot remove leftover '%s'", path);
	}
	return OK;
}

/* ---- objects ---- */

/* An object that something still needs must be whole; otherwise the prune stops before it removes
 * anything. */
static int mark(void *arg, const struct object_id *id, struct err *e)
{
	struct pruner *p = arg;
	struct pool *pool = p->st->pool;

	if (pool_check(pool, id, e))
		return e->rc;
	p->is_live[pool_find(pool, id) - pool->all] = 1;
	return OK;
}

/* The error a person needs: which checkpoint is damaged, and that nothing was removed. */
static int damaged(const struct json *record, struct err *e)
{
	return err_wrap(e, "nothing was removed: checkpoint '%s', which stays, is damaged",
		json_get_text(record, "checkpoint_id", "?"));
}

/* What the checkpoints that stay need, read and found whole.  Several of one tree need the same objects:
 * look at each tree once. */
static int mark_all(struct pruner *p, struct err *e)
{
	struct pool *pool = p->st->pool;
	const char *seen = NULL;

	if (pool->dir_fd < 0)
		return OK;
	if (pool_load(pool, e))
		return e->rc;
	p->is_live = arena_zalloc(p->a, pool->count + 1, 1);
	for (size_t i = 0; i < p->n; i++) {
		const struct json *record = p->v[i].record;
		const char *tree = json_get_text(record, "tree", "");
		if (!is_kept(&p->v[i]) || (seen && text_eq(seen, tree)))
			continue;
		if (checkpoint_objects(p->st, record, mark, p, e))
			return damaged(record, e);
		seen = tree;
	}
	return OK;
}

struct use {
	uint64_t live_bytes;
	bool is_needed; /* also for an empty object, which has no bytes */
	bool is_rewritten;
};

/* Packs that are mostly dead are written anew, and so are small ones when there are many of them. */
static bool choose_packs(struct pruner *p, struct use *use)
{
	struct pool *pool = p->st->pool;
	size_t small = 0;
	bool any = false;

	for (size_t i = 0; i < pool->count; i++) {
		if (!p->is_live[i])
			continue;
		use[pool->all[i].pack].live_bytes += pool->all[i].stored_n;
		use[pool->all[i].pack].is_needed = true;
	}
	for (size_t i = 0; i < pool->pack_count; i++)
		small += use[i].is_needed && pool->packs[i].size < SMALL_PACK;
	for (size_t i = 0; i < pool->pack_count; i++) {
		bool is_small = pool->packs[i].size < SMALL_PACK && small > SMALL_PACKS_MAX;
		use[i].is_rewritten =
			use[i].is_needed && (is_small || use[i].live_bytes < pool->packs[i].size / 2);
		any |= use[i].is_rewritten;
	}
	return any;
}

/* The new pack is durable and was read back before the first old one is removed. */
static int collect(struct pruner *p, struct err *e)
{
	struct pool *pool = p->st->pool;
	struct sys *s = p->st->sys;
	uint64_t written;

	if (pool->dir_fd < 0)
		return OK;
	struct use *use = arena_zalloc(p->a, pool->pack_count + 1, sizeof(*use));
	size_t packs = pool->pack_count, objects = pool->count;
	if (choose_packs(p, use)) {
		if (pool_begin(pool, e))
			return e->rc;
		for (size_t i = 0; i < objects; i++)
			if (p->is_live[i] && use[pool->all[i].pack].is_rewritten && pool_copy(pool, i, e))
				return e->rc;
		if (pool_commit(pool, &written, e))
			return e->rc;
	}
	for (size_t i = 0; i < packs; i++)
		if ((!use[i].is_needed || use[i].is_rewritten) &&
			s->unlink(s, pool->dir_fd, pool->packs[i].name, 0))
			return err_sys(e, "CHECKPOINT_WRITE", "cannot remove pack '%s'", pool->packs[i].name);
	/* Everything that stays was read from other packs. */
	for (size_t i = 0; i < pool->damaged_count; i++) {
		json_pushs(p->st->a, p->res.leftovers, pool->damaged[i]);
		if (s->unlink(s, pool->dir_fd, pool->damaged[i], 0))
			return err_sys(e, "CHECKPOINT_WRITE", "cannot remove pack '%s'", pool->damaged[i]);
	}
	if (s->fsync(s, pool->dir_fd))
		return err_sys(e, "CHECKPOINT_SYNC", "cannot make the removal durable");
	return OK;
}

/* ---- all of it ---- */

/* The index without the records is durable before anything they name goes. */
static int drop_records(struct pruner *p, struct err *e)
{
	struct json *left = json_new(p->st->a, JSON_ARRAY);

	for (size_t i = 0; i < p->n; i++)
		if (is_kept(&p->v[i]))
			json_push(p->st->a, left, p->v[i].record);
	if (left->n == p->array->n)
		return OK;
	/* Out of the copies first, so that no copy is of a record that the index lacks. */
	if (records_replace(p->st, left, e) || checkpoint_save_index(p->st, left, e))
		return e->rc;
	p->array = left;
	for (size_t i = 0; i < p->n; i++) {
		const char *id = json_get_text(p->v[i].record, "checkpoint_id", "");
		if (!is_kept(&p->v[i]) && checkpoint_id_ok(id) && remove_dir(p, p->st->dir_fd, id, e))
			return e->rc;
	}
	return OK;
}

/* The order is the safety; see the top of this file. */
static int carry_out(struct pruner *p, struct err *e)
{
	uint64_t now;

	if (mark_all(p, e) || drop_records(p, e) || sweep(p, p->st->dir_fd, true, e) ||
		sweep(p, p->st->pool->dir_fd, true, e) || sweep_temps(p, true, e) || collect(p, e))
		return e->rc;
	if (p->st->sys->fsync(p->st->sys, p->st->dir_fd))
		return err_sys(e, "CHECKPOINT_SYNC", "cannot make the removal durable");
	for (size_t i = 0; i < p->n; i++)
		if (!is_kept(&p->v[i]))
			p->v[i].size = 0;
	if (measure(p, &now, e))
		return e->rc;
	p->res.freed_bytes = p->res.total_bytes > now ? p->res.total_bytes - now : 0;
	return OK;
}

/* Without `apply` it takes no lock and changes nothing.  With it, what tasks name is read under the lock: before, one more could be made
 * and named. */
int checkpoint_prune(struct checkpoint_store *st, const struct checkpoint_policy *policy,
	const struct json *referenced, bool apply, struct checkpoint_pruned *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd) int lock = -1;
	struct pruner p = { .st = st, .policy = policy, .referenced = referenced, .a = &a };
	struct json *named = NULL;

	p.res.leftovers = json_new(st->a, JSON_ARRAY);
	if (apply && st->dir_fd >= 0 && checkpoint_lock(st, 0, &lock, e))
		return e->rc;
	if (!referenced && checkpoint_referenced(st, &named, e))
		return e->rc;
	if (named)
		p.referenced = named;
	if ((lock >= 0 ? checkpoint_list_locked : checkpoint_list)(st, &p.array, e) || judge_all(&p, e))
		return e->rc;
	report(&p);
	if (apply && st->dir_fd >= 0) {
		int rc = carry_out(&p, e);
		pool_drop(st->pool);
		pool_forget(st->pool);
		if (rc)
			return rc;
	} else if (sweep(&p, st->dir_fd, false, e) || sweep(&p, st->pool->dir_fd, false, e) ||
		sweep_temps(&p, false, e)) {
		return e->rc;
	}
	*ret = p.res;
	return OK;
}

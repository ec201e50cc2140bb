/* index.c — the records: which checkpoints there are.
 *
 * index.json is an array in order of creation, readable by the program Helm descends from and written by
 * it, too: members we do not know stay, and records of its tar.gz archives stand beside ours.  Whoever
 * changes it holds the store's lock for the whole read, change and replace.
 *
 * The index is the list of what exists: a pack or manifest without a record is a leftover, a record is
 * written only when everything it needs is durable.  So a damaged index is never replaced by an empty one,
 * which would turn all checkpoints into leftovers: it is made anew (rebuild.c) from the copies of its records (records.c) and
 * the manifests. */
#include "base/doc.h"
#include "base/file.h"
#include "execute/checkpoint/parts.h"

#include <errno.h>

enum {
	INDEX_LIMIT = 64 << 20,
	POLICY_LIMIT = 1 << 20,
	LABEL_MAX = 64,
	LOCK_WAIT_MS = 120000,
	LIST_WAIT_MS = 1000
};
enum { DEFAULT_FILES = 250000, DEFAULT_MB = 16384 };

/* Missing directories are no error: the store is empty then, and checkpoint_make_dirs() makes them when
 * something is to be written. */
static int open_in(struct checkpoint_store st, struct checkpoint_store *ret, struct err *e)
{
	struct sys *s = st.sys;
	int state_fd = st.state_fd;
	struct stat sb = { 0 };

	st.pool = arena_zalloc(st.a, 1, sizeof(*st.pool));
	pool_init(st.pool, s, st.a, -1);
	st.dir_fd = -1;
	if (state_fd < 0) {
		*ret = st;
		return OK;
	}
	if (s->stat(s, state_fd, "", &sb, AT_EMPTY_PATH))
		return err_sys(e, "CHECKPOINT_READ", "cannot look at the state directory");
	st.state_dev = sb.st_dev;
	st.state_ino = sb.st_ino;
	st.dir_fd = s->open(s, state_fd, "checkpoints", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
	if (st.dir_fd < 0 && errno != ENOENT)
		return err_sys(e, "CHECKPOINT_READ", "cannot open %s/checkpoints", st.where);
	if (st.dir_fd >= 0)
		st.pool->dir_fd = s->open(s, st.dir_fd, "objects", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
	if (st.dir_fd >= 0 && st.pool->dir_fd < 0 && errno != ENOENT) {
		err_sys(e, "CHECKPOINT_READ", "cannot open %s/checkpoints/objects", st.where);
		close_fd(&st.dir_fd);
		return e->rc;
	}
	*ret = st;
	return OK;
}

int checkpoint_open(struct checkpoint_store *ret, struct sys *s, struct arena *a, int root_fd, int state_fd,
	const char *state_name, struct err *e)
{
	return open_in((struct checkpoint_store){ .sys = s,
			       .a = a,
			       .root_fd = root_fd,
			       .state_fd = state_fd,
			       .ledger_fd = state_fd,
			       .state_name = state_name,
			       .where = state_name },
		ret, e);
}

int checkpoint_open_beside(struct checkpoint_store *ret, struct sys *s, struct arena *a, int root_fd,
	int points_fd, const char *where, int ledger_fd, struct err *e)
{
	return open_in((struct checkpoint_store){ .sys = s,
			       .a = a,
			       .root_fd = root_fd,
			       .state_fd = points_fd,
			       .ledger_fd = ledger_fd,
			       .owns_state = true,
			       .state_name = ".helm",
			       .where = where },
		ret, e);
}

void checkpoint_close(struct checkpoint_store *st)
{
	if (st->pool) {
		pool_done(st->pool);
		close_fd(&st->pool->dir_fd);
	}
	close_fd(&st->dir_fd);
	if (st->owns_state)
		close_fd(&st->state_fd);
	st->dir_fd = -1;
	st->pool = NULL;
}

/* Private directories: checkpoints hold the content of files that may be private. */
int checkpoint_make_dirs(struct checkpoint_store *st, struct err *e)
{
	if (st->dir_fd < 0) {
		if (file_mkdirs(st->sys, st->state_fd, "checkpoints", 0700, e) ||
			file_open_dir(st->sys, st->state_fd, "checkpoints", &st->dir_fd, e))
			return e->rc;
	}
	if (st->pool->dir_fd < 0) {
		if (file_mkdirs(st->sys, st->dir_fd, "objects", 0700, e) ||
			file_open_dir(st->sys, st->dir_fd, "objects", &st->pool->dir_fd, e))
			return e->rc;
	}
	return OK;
}

/* Packs and documents on their way to their names. */
bool checkpoint_is_temp(const char *name)
{
	return text_starts(name, "tmp-") || (name[0] == '.' && text_ends(name, ".tmp"));
}

void checkpoint_remove_temps(struct checkpoint_store *st, struct arena *a)
{
	const int dirs[] = { st->dir_fd, st->pool->dir_fd };
	struct err why = { 0 };

	for (size_t d = 0; d < ARRAY_SIZE(dirs); d++) {
		char **names;
		size_t n = 0;
		if (dirs[d] < 0 || file_list(st->sys, a, dirs[d], ".", &names, &n, &why))
			continue;
		for (size_t i = 0; i < n; i++)
			if (checkpoint_is_temp(names[i]))
				(void)st->sys->unlink(st->sys, dirs[d], names[i], 0);
	}
}

/* Directories inside are left alone. */
int checkpoint_empty_dir(struct sys *s, struct arena *a, int fd, struct err *e)
{
	char **names;
	size_t n;

	if (file_list(s, a, fd, ".", &names, &n, e))
		return e->rc;
	for (size_t i = 0; i < n; i++)
		if (s->unlink(s, fd, names[i], 0) && errno != ENOENT && errno != EISDIR)
			return err_sys(e, "CHECKPOINT_WRITE", "cannot remove leftover '%s'", names[i]);
	return OK;
}

/* One lock for making, restoring and pruning: each of them relies on packs staying where they are.  Until it is held they may go, so what
 * was read of them before is read again. */
int checkpoint_lock(struct checkpoint_store *st, int64_t wait_ms, int *ret_fd, struct err *e)
{
	int wait = wait_ms > 0 && wait_ms < LOCK_WAIT_MS ? (int)wait_ms : LOCK_WAIT_MS;

	if (file_lock(st->sys, st->dir_fd, "index.lock", wait, ret_fd, e))
		return err_wrap(e, "another checkpoint is being made, restored or pruned");
	if (st->pool)
		pool_forget(st->pool);
	return OK;
}

/* Labels become part of ids and so of names of directories. */
bool checkpoint_label_ok(const char *label)
{
	size_t n = strlen(label);
	static const char alnum[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	return n && n <= LABEL_MAX && strchr(alnum, label[0]) &&
		strspn(label, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

/* Ids become names of directories that prune removes, so nothing else may pass. */
bool checkpoint_id_ok(const char *id)
{
	size_t n = strlen(id);

	return n > 17 && n < 100 && strspn(id, "0123456789") == 8 && id[8] == 'T' &&
		strspn(id + 9, "0123456789") == 6 && id[15] == 'Z' && id[16] == '-' &&
		strspn(id + 17, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
		n - 17;
}

static const struct doc INDEX = {
	.file = "index.json", .type = JSON_ARRAY, .max_bytes = INDEX_LIMIT, .code = "CHECKPOINT_INDEX"
};

static int bad_index(struct checkpoint_store *st, const char *why, struct err *e)
{
	return err_set(e, E_CORRUPT, "CHECKPOINT_INDEX",
		"checkpoints/index.json %s; the saved files are still there, and this makes the list of them anew: " CHECKPOINT_REMEDY,
		arena_strdup(st->a, why));
}

/* A file that is not there is an empty list only where nothing was ever saved: the first checkpoint writes an empty index
 * before its pack. */
static int check_missing(struct checkpoint_store *st, const struct copies *c, struct err *e)
{
	if (c->all->n || pool_has_packs(st->pool))
		return bad_index(st, "is missing", e);
	return OK;
}

static int read_index(
	struct checkpoint_store *st, const struct copies *c, struct json **ret_array, struct err *e)
{
	struct json *array;
	int rc = doc_load(st->sys, st->a, st->dir_fd, &INDEX, &array, e);

	if (rc && doc_is_damage(e)) /* it is there and is no JSON, or no list */
		return bad_index(st, arena_printf(st->a, "is damaged (%s)", e->text), e);
	if (rc)
		return rc;
	if (!array->n && !file_exists(st->sys, st->dir_fd, INDEX.file) && check_missing(st, c, e))
		return e->rc;
	json_each (v, array)
		if (!json_is(v, JSON_OBJECT) || !json_get_text(v, "checkpoint_id", NULL))
			return bad_index(st, "is not a list of checkpoint records", e);
	const struct json *other = records_differ(c, array);
	if (other)
		return bad_index(st,
			arena_printf(st->a,
				"is damaged or an older one: it differs from the copy of record '%s'",
				json_get_text(other, "checkpoint_id", "?")),
			e);
	*ret_array = array;
	return OK;
}

/* Every record must be an object with an id, and the copies of the records must say the same, or the whole file counts as
 * damaged. */
int checkpoint_list_locked(struct checkpoint_store *st, struct json **ret_array, struct err *e)
{
	struct copies c;

	if (st->dir_fd < 0) {
		*ret_array = json_new(st->a, JSON_ARRAY);
		return OK;
	}
	/* The copies first: of a record that is added meanwhile the index knows sooner. */
	records_load(st, &c);
	return read_index(st, &c, ret_array, e);
}

/* Without the lock, somebody may be between the two files: what looks damaged is looked at again, with the lock if it can be
 * had soon. */
int checkpoint_list(struct checkpoint_store *st, struct json **ret_array, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct err why = { 0 };
	int rc = checkpoint_list_locked(st, ret_array, e);

	if (rc != E_CORRUPT)
		return rc;
	(void)file_lock(st->sys, st->dir_fd, "index.lock", LIST_WAIT_MS, &lock, &why);
	*e = (struct err){ 0 };
	return checkpoint_list_locked(st, ret_array, e);
}

int checkpoint_list_in(struct sys *s, struct arena *a, int state_fd, struct json **ret_array, struct err *e)
{
	AUTO(checkpoint_close) struct checkpoint_store st = { .dir_fd = -1 };
	struct err own = { 0 };

	e = e ? e : &own;
	if (checkpoint_open(&st, s, a, -1, state_fd, ".helm", e))
		return e->rc;
	return checkpoint_list(&st, ret_array, e);
}

/* Replaced whole and durable; the caller holds the lock. */
int checkpoint_save_index(struct checkpoint_store *st, const struct json *array, struct err *e)
{
	int rc = doc_replace(st->sys, st->a, st->dir_fd, &INDEX, array, e);

	return rc ? err_wrap(e, "checkpoint index") : OK;
}

/* Made by a restore, of what it was about to replace. */
bool checkpoint_is_safety(const struct json *record)
{
	return text_eq(json_get_text(record, "label", ""), CHECKPOINT_SAFETY);
}

bool checkpoint_is_automatic(const struct json *record)
{
	return checkpoint_is_safety(record) || text_eq(json_get_text(record, "label", ""), CHECKPOINT_UNDO) ||
		json_get_text(record, "task_id", "")[0];
}

static int unknown(const char *id, struct err *e)
{
	return err_set(e, E_MISSING, "CHECKPOINT_UNKNOWN",
		"no checkpoint '%s'; `helm checkpoint list` shows what there is", id);
}

/* They hold the same files, so it does not matter which of them is meant. */
static bool is_same_tree(const struct json *x, const struct json *y)
{
	const char *tree = json_get_text(x, "tree", NULL);

	return tree && text_eq(tree, json_get_text(y, "tree", ""));
}

/* The newest with this label, if all with this label hold the same files.  Otherwise an error that lists
 * the ids: restoring the wrong one would be worse than asking. */
static int pick_label(const struct json *array, const char *label, struct json **ret, struct err *e)
{
	struct json *hit = NULL;
	size_t hits = 0, n = 0;
	bool are_same = true;
	char ids[300] = "";

	json_each (v, array) {
		if (!text_eq(json_get_text(v, "label", ""), label) || checkpoint_is_safety(v))
			continue;
		are_same = are_same && (!hit || is_same_tree(hit, v));
		hit = v;
		hits++;
		int more = snprintf(ids + n, sizeof(ids) - n, "%s%s", n ? ", " : "",
			json_get_text(v, "checkpoint_id", "?"));
		n = n + (size_t)more < sizeof(ids) ? n + (size_t)more : sizeof(ids) - 1;
	}
	if (hits > 1 && !are_same)
		return err_set(e, E_INPUT, "CHECKPOINT_AMBIGUOUS",
			"%zu checkpoints are labelled '%s' and hold different files; give an id: %s", hits,
			label, ids);
	*ret = hit;
	return OK;
}

/* A beginning that fits several ids is an error. */
static int pick_beginning(const struct json *array, const char *id, struct json **ret, struct err *e)
{
	size_t hits = 0;

	json_each (v, array)
		if (text_starts(json_get_text(v, "checkpoint_id", ""), id) && !checkpoint_is_safety(v)) {
			*ret = v;
			hits++;
		}
	if (hits > 1)
		return err_set(e, E_INPUT, "CHECKPOINT_AMBIGUOUS",
			"'%s' begins %zu checkpoint ids; give more of it", id, hits);
	return OK;
}

/* Safety copies do not count: "latest" must not bring back what somebody just got rid of. */
struct json *checkpoint_newest(const struct json *array)
{
	for (uint32_t i = array->n; i-- > 0;)
		if (!checkpoint_is_safety(array->items[i]))
			return array->items[i];
	return NULL;
}

/* A whole id first, then a label, then the beginning of an id. */
int checkpoint_pick(const struct json *array, const char *id, struct json **ret_record, struct err *e)
{
	struct json *hit = text_eq(id, "latest") ? checkpoint_newest(array) : NULL;

	json_each (v, array)
		if (text_eq(json_get_text(v, "checkpoint_id", ""), id))
			hit = v;
	if (!hit && *id && pick_label(array, id, &hit, e))
		return e->rc;
	if (!hit && *id && pick_beginning(array, id, &hit, e))
		return e->rc;
	if (!hit)
		return unknown(id, e);
	*ret_record = hit;
	return OK;
}

int checkpoint_find(struct checkpoint_store *st, const char *id, struct json **ret_record, struct err *e)
{
	struct json *array;

	if (checkpoint_list(st, &array, e))
		return e->rc;
	return checkpoint_pick(array, id, ret_record, e);
}

/* Removes both forms of the mark, since older workspaces wrote another one. */
int checkpoint_protect(
	struct checkpoint_store *st, const char *id, bool is_pinned, struct json **ret_record, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	struct json *array, *record;

	if (st->dir_fd < 0)
		return checkpoint_find(st, id, ret_record, e);
	if (checkpoint_lock(st, 0, &lock, e) || checkpoint_list_locked(st, &array, e) ||
		checkpoint_pick(array, id, &record, e))
		return e->rc;
	if (is_pinned)
		json_setb(st->a, record, "pinned", true);
	else
		json_remove(record, "pinned");
	if (!is_pinned && text_eq(json_get_text(record, "retention", ""), "pinned"))
		json_remove(record, "retention");
	/* The copies first: whatever happens now, the index is one of the versions they have. */
	if (records_add(st, array, e) || checkpoint_save_index(st, array, e))
		return e->rc;
	*ret_record = record;
	return OK;
}

/* The content that holds a record's manifest. */
int checkpoint_record_tree(const struct json *record, struct content *ret, struct err *e)
{
	struct content c = { 0 };
	const char *sha = json_get_text(record, "tree", ""),
		   *list = json_get_text(record, "tree_chunks", NULL);
	int64_t n = json_get_int(record, "tree_bytes", -1);

	c.is_list = list != NULL;
	c.n = (uint64_t)n;
	if (n < 0 || !hex_decode(sha, strlen(sha), c.sha.b, SHA256_SIZE, true) ||
		(list && !hex_decode(list, strlen(list), c.list.b, SHA256_SIZE, true)))
		return err_set(e, E_CORRUPT, "CHECKPOINT_RECORD", "checkpoint '%s' has no valid tree",
			json_get_text(record, "checkpoint_id", "?"));
	*ret = c;
	return OK;
}

/* ---- policy ---- */

static int bad_policy(struct err *e, const char *name, const char *want)
{
	return err_set(e, E_INPUT, "CHECKPOINT_POLICY", "references/checkpoint_policy.json: %s must be %s",
		name, want);
}

/* A member that is not there leaves the default as it is. */
static int get_count(const struct json *doc, const char *name, bool may_null, int64_t *to, struct err *e)
{
	const struct json *v = json_get(doc, name);

	if (!v || (may_null && json_is(v, JSON_NULL)))
		return OK;
	if (!json_int(v, to) || *to < 0)
		return bad_policy(e, name, "a whole number, 0 or more");
	return OK;
}

/* true or false and nothing else: a wrong word must not count as false. */
static int get_switch(const struct json *doc, const char *name, bool *to, struct err *e)
{
	const struct json *v = json_get(doc, name);

	if (v && !json_is_bool(v))
		return bad_policy(e, name, "true or false");
	*to = json_get_bool(doc, name, *to);
	return OK;
}

/* Every member is checked; one that is wrong makes the whole policy invalid. */
static int read_policy(struct arena *a, const struct json *doc, struct checkpoint_policy *p, struct err *e)
{
	int64_t max_files = DEFAULT_FILES, max_mb = DEFAULT_MB;
	const struct json *exclude = json_get(doc, "exclude");

	if (get_count(doc, "keep_recent", false, &p->keep_recent, e) ||
		get_count(doc, "keep_days", false, &p->keep_days, e) ||
		get_count(doc, "max_total_mb", true, &p->max_total_mb, e) ||
		get_count(doc, "max_files", false, &max_files, e) ||
		get_count(doc, "max_mb", false, &max_mb, e) ||
		get_switch(doc, "protect_referenced", &p->protect_referenced, e) ||
		get_switch(doc, "protect_pinned", &p->protect_pinned, e))
		return e->rc;
	p->max_files = (uint64_t)max_files;
	p->max_bytes = (uint64_t)max_mb << 20;
	if (!exclude)
		return OK;
	if (!json_is(exclude, JSON_ARRAY))
		return bad_policy(e, "exclude", "a list of patterns");
	p->excludes = arena_zalloc(a, exclude->n + 1u, sizeof(*p->excludes));
	json_each (v, exclude) {
		if (!json_text(v))
			return bad_policy(e, "exclude", "a list of patterns");
		p->excludes[p->exclude_count++] = json_text(v);
	}
	return OK;
}

void checkpoint_policy_defaults(struct checkpoint_policy *ret)
{
	*ret = (struct checkpoint_policy){ .keep_recent = CHECKPOINT_KEEP_RECENT,
		.keep_days = CHECKPOINT_KEEP_DAYS,
		.max_total_mb = -1,
		.protect_referenced = true,
		.protect_pinned = true,
		.max_files = DEFAULT_FILES,
		.max_bytes = (uint64_t)DEFAULT_MB << 20 };
}

int checkpoint_policy_parse(struct arena *a, struct bytes text, struct checkpoint_policy *ret, struct err *e)
{
	struct checkpoint_policy p;
	struct json *doc;

	if (json_parse(a, text, CHECKPOINT_POLICY_FILE, NULL, &doc, e))
		return e->rc;
	if (!json_is(doc, JSON_OBJECT))
		return err_set(
			e, E_INPUT, "CHECKPOINT_POLICY", "%s must hold one object", CHECKPOINT_POLICY_FILE);
	checkpoint_policy_defaults(&p);
	p.is_file = true;
	if (read_policy(a, doc, &p, e))
		return e->rc;
	*ret = p;
	return OK;
}

/* Member by member what loses less, and what takes less room at once. */
static void only_stricter(struct checkpoint_policy *p)
{
	struct checkpoint_policy d;

	checkpoint_policy_defaults(&d);
	if (p->keep_recent < d.keep_recent)
		p->keep_recent = d.keep_recent;
	if (p->keep_days < d.keep_days)
		p->keep_days = d.keep_days;
	if (p->max_files > d.max_files)
		p->max_files = d.max_files;
	if (p->max_bytes > d.max_bytes)
		p->max_bytes = d.max_bytes;
	p->max_total_mb = d.max_total_mb;
	p->protect_referenced = p->protect_pinned = true;
	p->excludes = NULL;
	p->exclude_count = 0;
}

bool checkpoint_policy_loosens(const struct checkpoint_policy *p)
{
	struct checkpoint_policy q = *p;

	only_stricter(&q);
	return q.keep_recent != p->keep_recent || q.keep_days != p->keep_days ||
		q.max_files != p->max_files || q.max_bytes != p->max_bytes ||
		q.max_total_mb != p->max_total_mb || !p->protect_referenced || !p->protect_pinned ||
		p->exclude_count;
}

static int policy_unreadable(struct err *e)
{
	return err_wrap(e, "how checkpoints are kept cannot be read; mend %s, or move it away",
		CHECKPOINT_POLICY_FILE);
}

/* A policy that is there and not valid is an error, not the defaults: those could delete what the user
 * wanted to keep. */
int checkpoint_policy(struct checkpoint_store *st, struct checkpoint_policy *ret, struct err *e)
{
	struct checkpoint_policy p;
	struct bytes text = st->policy;

	if (!text.p &&
		file_read(st->sys, st->a, st->root_fd, CHECKPOINT_POLICY_FILE, POLICY_LIMIT, FILE_BENEATH,
			&text, e)) {
		if (e->rc != E_MISSING)
			return policy_unreadable(e);
		checkpoint_policy_defaults(ret);
		return OK;
	}
	if (checkpoint_policy_parse(st->a, text, &p, e))
		return policy_unreadable(e);
	p.is_accepted = st->policy.p != NULL;
	if (!p.is_accepted)
		only_stricter(&p);
	*ret = p;
	return OK;
}

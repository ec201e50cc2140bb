/* parts.h — what the files of the checkpoint module share.  Others see execute.h only.
 *
 *	scan     walk the chosen paths, apply the rules             -> entries, sorted
 *	cache    which of them are as they were last time           -> entries that need not be read
 *	pack     content by its SHA-256, many objects in one file   -> objects/pack-*.pack
 *	tree     entries <-> the manifest's bytes, itself an object -> one digest names a whole tree
 *	plan     manifest against disk: what a restore would do
 *
 * Paths are bytes relative to the workspace root: no leading slash, no "." or "..", no empty component.
 * Their order is that of a depth-first walk with sorted names: bytes, with '/' below everything else
 * (checkpoint_path_cmp). */
#ifndef EXECUTE_CHECKPOINT_PARTS_H
#define EXECUTE_CHECKPOINT_PARTS_H

#include "base/hash.h"
#include "base/json.h"
#include "base/zst.h"
#include "execute/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <linux/openat2.h>

#define RESTORE_TEMP ".helm-restore-" /* how a file on its way to its name is called */
#define CHECKPOINT_DAMAGED "damaged" /* directory in checkpoints/: what repairs took out of use */

/* How everything that is not ours is opened: below the root, through no link at all. */
#define RESOLVE_INSIDE (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

enum {
	CHUNK_WHOLE = 1 << 20, /* content up to this size is one object */
	CHUNK_MAX = 4 << 20, /* no object is larger */
	PATH_LIMIT = 4000, /* longer paths cannot be opened in one call: skipped and reported */
	NAME_LIMIT = 255,
	DEPTH_LIMIT = 200
};

struct object_id {
	uint8_t b[SHA256_SIZE];
};
static inline bool object_eq(const struct object_id *x, const struct object_id *y)
{
	return __builtin_memcmp(x->b, y->b, SHA256_SIZE) == 0;
}

/* Bytes of any length in the store.  When is_list, `list` names an object that lists the chunks; otherwise
 * the object is `sha` itself. */
struct content {
	struct object_id sha; /* of all the bytes */
	struct object_id list;
	uint64_t n;
	bool is_list;
};

struct extent {
	uint64_t at, n;
};

enum entry_type { ENTRY_DIR = 1, ENTRY_FILE, ENTRY_LINK, ENTRY_SKIPPED, ENTRY_TYPES };

/* Reason of a skipped entry whose content a repair could not find any more. */
#define ENTRY_LOST "lost in the store"

struct entry {
	const char *path;
	uint8_t type; /* enum entry_type */
	bool is_known; /* content comes from the cache; it was not read */
	bool is_racy; /* too young to trust its times next time */
	bool is_unstable; /* kept changing while it was read */
	bool is_sparse; /* content is the extents, one after the other */
	uint32_t extent_count;
	uint32_t names; /* of a file that is known under more than one; else 0 */
	uint32_t mode, uid, gid; /* mode: the low twelve bits */
	uint64_t size, dev, ino;
	uint64_t held_bytes; /* what reading it would give: size, less holes */
	int64_t mtime_ns, ctime_ns;
	struct content content; /* files */
	const char *text; /* link: target; skipped: why; file: its content, when it was kept in memory */
	struct extent *extents;
};

struct entries {
	struct entry *v;
	size_t n, cap;
};
struct entry *entries_add(struct arena *a, struct entries *list);

int checkpoint_path_cmp(const char *x, const char *y);
/* Relative, clean, non-empty, nothing that climbs. */
bool checkpoint_path_ok(const char *path);
/* path is `top` or below it; "." is above everything. */
bool checkpoint_path_covers(const char *top, const char *path);

/* ---- records ---- */

int checkpoint_make_dirs(struct checkpoint_store *st, struct err *e);
int checkpoint_lock(
	struct checkpoint_store *st, int64_t wait_ms, int *ret_fd, struct err *e); /* 0: two minutes */
bool checkpoint_label_ok(const char *label);
bool checkpoint_id_ok(const char *id); /* safe as the name of a directory */
bool checkpoint_is_safety(const struct json *record);
/* Made by Helm before something was lost, not because a person wanted it. */
bool checkpoint_is_automatic(const struct json *record);
struct json *checkpoint_newest(const struct json *array); /* that is no safety copy; or NULL */
int checkpoint_pick(const struct json *array, const char *id, struct json **ret_record, struct err *e);
int checkpoint_save_index(struct checkpoint_store *st, const struct json *array, struct err *e);
int checkpoint_record_tree(const struct json *record, struct content *ret, struct err *e);
/* checkpoint_list() for one who holds the lock: what it finds is not about to change. */
int checkpoint_list_locked(struct checkpoint_store *st, struct json **ret_array, struct err *e);

/* The second copy of the records (records.c). */
struct copies {
	struct json *
		all; /* every whole one, in the order they were written; of one record there may be several versions */
	size_t bad; /* lines that are damaged */
	bool are_complete; /* the file is there and all of it is whole */
};
void records_load(struct checkpoint_store *st, struct copies *ret);
const struct json *records_differ(const struct copies *c, const struct json *array);
int records_replace(struct checkpoint_store *st, const struct json *array, struct err *e);
int records_add(struct checkpoint_store *st, const struct json *array, struct err *e);
struct json *record_of(const struct json *array, const char *id); /* the last one with this id, or NULL */

/* The index again, from whatever is there of it: its own whole records, the copies, and the manifests in the packs.  Reads
 * only; the caller holds the lock.  Records whose manifest cannot be read are among them. */
struct rebuilt {
	struct json *array;
	struct bytes was; /* the index file as it is; empty: there is none */
	const char *why; /* what is wrong with the index; NULL: nothing, array is what it says */
	uint32_t
		recovered; /* records made anew from manifests: label, time and task are not known any more */
};
int checkpoint_rebuild(struct checkpoint_store *st, struct rebuilt *ret, struct err *e);
/* Adds a record for every manifest and archive that no record names: where the copies of the records are not complete. */
int checkpoint_recover(
	struct checkpoint_store *st, struct json *array, uint32_t *ret_recovered, struct err *e);
/* Puts the index that checkpoint_rebuild() found in its place; the old one is kept aside. */
int checkpoint_put_index(struct checkpoint_store *st, const struct rebuilt *r, struct err *e);
/* A damaged index that can be made anew, because no pack is damaged, is; *ret_healed says so, or is NULL. */
int checkpoint_list_healed(
	struct checkpoint_store *st, struct json **ret_array, const char **ret_healed, struct err *e);

/* checkpoint_create() for one who holds the lock. */
int checkpoint_create_locked(struct checkpoint_store *st, const struct checkpoint_request *req,
	struct checkpoint_result *ret, struct err *e);

/* ---- rules and scan ---- */

struct rule {
	const char *glob;
	bool is_negated, is_dir_only, has_slash;
};
struct selection {
	const char **paths; /* "." or clean relative paths, sorted, none below another */
	size_t path_count;
	bool are_exact; /* the paths are entries, not trees: nothing below them is visited */
	struct rule *rules; /* the last one that matches decides */
	size_t rule_count;
	const char **rule_text; /* as written, for the manifest */
	bool with_vcs, with_state;
	uint8_t digest[SHA256_SIZE];
};
/* One gitignore-like line; empty lines and comments add nothing. */
void rules_add(struct arena *a, struct selection *s, const char *line, size_t n);
bool rules_exclude(const struct selection *s, const char *path, bool is_dir);
/* Sort the paths, drop those below others, compute the digest. */
void selection_seal(struct selection *s);
/* A version-control or Helm directory that the selection leaves out by name. */
bool selection_hides_name(const struct selection *s, const char *name);
/* What a checkpoint of Helm's state leaves out all the same. */
bool checkpoint_state_hidden(const char *name);

struct scan {
	struct checkpoint_store *st;
	struct arena *a;
	const struct selection *sel;
	const char *chosen; /* the path that is being started from: no rule excludes it */
	struct entries *to;
	struct entries *temps; /* leftovers of restores go here; or NULL */
	uint64_t max_files, max_bytes;
	uint64_t file_count, byte_count, excluded_count;
	int64_t deadline_us;
	const struct checkpoint_progress *progress;
	const char *spared; /* of the request */
	const char *left_out; /* the first thing that a rule left out and that was not spared */
	bool may_miss; /* a chosen path that is gone, or cannot be reached any more, is simply not there */
	char *dents; /* scratch */
};
void entry_from_stat(struct entry *x, const struct stat *st);
int checkpoint_scan(struct scan *sc, struct err *e);

/* ---- objects ---- */

struct object {
	struct object_id id;
	uint32_t pack; /* index into the pool's packs */
	uint32_t stored_n, raw_n; /* equal: stored as it is */
	uint64_t at;
	bool is_checked; /* was read, and is what its name says */
	bool is_bad; /* this copy cannot be read */
};
struct pack {
	const char *name;
	uint64_t size; /* of the file */
	uint32_t first, count; /* its objects in pool->all */
	bool has_bad_head; /* after pool_read_all(): its first bytes are not those of a pack */
};
enum { POOL_FDS = 16 };
struct pool {
	struct sys *sys;
	struct arena *a;
	int dir_fd; /* checkpoints/objects, or -1 */
	struct zst zst;
	struct pack *packs;
	size_t pack_count, pack_cap;
	struct object *all;
	size_t count, cap;
	uint32_t *slots; /* open addressing; 0 is empty, else index + 1 */
	size_t slot_count;
	bool is_loaded;
	const char **damaged; /* packs whose index cannot be read; they count as not there */
	size_t damaged_count;
	bool checks_all; /* pool_add() reads back every object it finds, not only some */
	uint64_t reused,
		replaced; /* by pool_add(): objects that were there; those of them that were damaged */
	struct {
		uint32_t pack;
		int fd;
	} open[POOL_FDS];
	uint8_t *stored, *raw, *read; /* scratch: CHUNK_MAX and a bit each */
	struct pool_writer *writer;
};
void pool_init(struct pool *p, struct sys *s, struct arena *a, int dir_fd);
void pool_done(struct pool *p);
/* Read the indexes of all packs, once. */
int pool_load(struct pool *p, struct err *e);
const struct object *pool_find(const struct pool *p, const struct object_id *id);
const char *pool_pack_of(const struct pool *p, const struct object_id *id); /* also of a bad copy; or NULL */
/* Read every copy of every object: is_bad is set for those that are damaged, and pool_find() finds a whole one where there is
 * one.  An error only when a pack cannot be opened. */
int pool_read_all(struct pool *p, const struct checkpoint_progress *progress, struct err *e);
/* The damaged packs, too, as far as their rows still lead to something: for repairs, before pool_read_all(). */
int pool_load_damaged(struct pool *p, struct err *e);
bool pool_has_packs(struct pool *p);
/* The object's bytes, checked against its name; valid until the next call.  Of several copies, one that is
 * whole. */
int pool_read(struct pool *p, const struct object_id *id, struct bytes *ret, struct err *e);
/* It is there and can be read.  When not (CHECKPOINT_OBJECT, or why it cannot be read now), pool_find() does not find it any more, and
 * pool_add() writes it anew. */
int pool_check(struct pool *p, const struct object_id *id, struct err *e);

/* Write new objects into one pack.  begin; add...; commit makes them durable, reads them back and gives
 * them their final name; without a commit, pool_done() removes what was written.  An object that is there
 * already, whole as far as it was looked at (checks_all), is not added. */
int pool_begin(struct pool *p, struct err *e);
int pool_add(struct pool *p, struct bytes raw, struct object_id *ret, struct err *e);
/* Into the new pack, from another: for rewriting packs. */
int pool_copy(struct pool *p, size_t index, struct err *e);
void pool_forget(struct pool *p); /* the packs are read again when they are next needed */
void pool_drop(struct pool *p); /* give up what was added since pool_begin */
int pool_commit(struct pool *p, uint64_t *ret_bytes, struct err *e);

/* Content of any length, fed in pieces, cut where the bytes say so.  feed_room gives memory to read into,
 * feed_filled says how much of it was used.  A feed that is begun again keeps its memory. */
struct feed {
	struct pool *pool;
	struct arena *a;
	struct sha256 whole;
	uint8_t *buf; /* CHUNK_MAX bytes */
	size_t n, min, max, whole_max;
	uint64_t mask, total;
	struct buf list;
	size_t chunk_count;
};
void feed_begin(struct feed *f, struct pool *p, struct arena *a, bool is_tree);
int feed_room(struct feed *f, uint8_t **ret_at, size_t *ret_n, struct err *e);
void feed_filled(struct feed *f, size_t n);
int feed_add(struct feed *f, struct bytes from, struct err *e);
int feed_end(struct feed *f, struct content *ret, struct err *e);

/* The content whose chunks the object `id` lists, when it is such a list and the content begins with `start`. */
bool content_of_list(
	struct pool *p, struct arena *a, const struct object_id *id, const char *start, struct content *ret);

/* Give the bytes of a content to fn, piece by piece; the whole is checked against content->sha at the end. */
typedef int content_piece(void *arg, struct bytes piece, struct err *e);
int content_read(struct pool *p, struct arena *a, const struct content *c, content_piece *fn, void *arg,
	struct err *e);
/* All of it in memory, when it is at most max_bytes. */
int content_load(struct pool *p, struct arena *a, const struct content *c, size_t max_bytes,
	struct bytes *ret, struct err *e);
/* Every object a content consists of; for a list first the list itself, then its chunks. */
typedef int content_object(void *arg, const struct object_id *id, struct err *e);
int content_objects(struct pool *p, struct arena *a, const struct content *c, content_object *fn, void *arg,
	struct err *e);
enum { TREE_LIMIT = 1 << 30 }; /* of a manifest */
/* The same for everything that one checkpoint needs.  The pool must be loaded. */
int checkpoint_objects(
	struct checkpoint_store *st, const struct json *record, content_object *fn, void *arg, struct err *e);

/* ---- manifest ---- */

struct tree {
	struct selection sel;
	struct entries entries;
};
void tree_write(struct buf *to, const struct selection *sel, const struct entries *entries);
/* Refuses everything that is not exactly what tree_write makes: order, escapes upwards, children of a
 * non-directory, extents that overlap or pass the size. */
int tree_parse(struct arena *a, struct bytes text, struct tree *ret, struct err *e);

/* ---- stat cache ---- */

struct cache {
	struct arena *a;
	struct bytes rows; /* in the order of paths, decoded when they are compared */
	uint64_t count;
	struct content tree;
	bool is_found;
};
/* Never fails: a cache that is missing, damaged or names packs that are gone is an empty one. */
void cache_load(struct checkpoint_store *st, struct arena *a, const struct selection *sel, struct cache *ret);
/* Before the record, so that a full disk is heard of while there is nothing to take back. */
int cache_save(struct checkpoint_store *st, struct arena *a, const struct selection *sel,
	const struct entries *entries, const struct content *tree, struct err *e);
/* Mark the entries whose times, size and inode say that they are as they were.  True when all are, and none
 * is missing. */
bool cache_match(const struct cache *c, struct entries *entries);

/* ---- plan ---- */

struct step {
	const struct entry *want, *have; /* in the checkpoint, on disk; one may be NULL */
	const char *path;
	enum checkpoint_state state;
	const char *note; /* not NULL: left alone, and why */
	bool is_missed; /* was asked for and is not back; note says why */
	bool is_placed; /* the new file has its name */
	bool is_dirty; /* a directory whose content was changed on the way */
	mode_t was_mode; /* of a directory that had to be opened for writing; 0: it had not */
};
struct plan {
	struct checkpoint_store *st;
	const struct checkpoint_restore *req;
	struct arena *a;
	struct json *record;
	struct tree tree;
	struct entries disk, temps;
	struct step *steps; /* sorted by path */
	size_t n;
};
/* Compare checkpoint and disk.  Reads only. */
int plan_make(struct plan *p, struct checkpoint_store *st, const struct checkpoint_restore *req,
	struct arena *a, struct err *e);
/* The tree of an archive made by the program Helm descends from. */
int checkpoint_load_archive(struct plan *p, struct err *e);
struct stream;
int archive_parse(
	struct plan *p, struct stream *in, struct err *e); /* the tar inside; fills p->tree.entries */
/* The mode that a restore gives a file whose mode is `have` now: set-id bits that are gone stay gone unless they were asked for. */
uint32_t plan_mode(const struct checkpoint_restore *req, const struct entry *want, uint32_t have);
/* The request is about this path. */
bool plan_wants(const struct plan *p, const char *path);
struct step *plan_find(struct plan *p, const char *path);

/* A restore leaves such a link alone unless it is told otherwise. */
bool checkpoint_link_leaves(struct arena *a, const struct entry *link);

/* The digest of an open file's data where the entry has data.  -1 with errno. */
int entry_digest(struct sys *s, struct arena *a, int fd, const struct entry *x, struct object_id *ret);

/* Where the data of an open sparse file is.  -1 with errno. */
int checkpoint_extents(struct sys *s, struct arena *a, int fd, struct entry *x);

/* Temporary files of attempts that were killed; the caller holds the lock, so none is in use.  One that cannot be removed stays. */
void checkpoint_remove_temps(struct checkpoint_store *st, struct arena *a);
bool checkpoint_is_temp(const char *name); /* of a file in checkpoints/ or objects/ */
/* Remove every file in a directory of ours; directories inside stay. */
int checkpoint_empty_dir(struct sys *s, struct arena *a, int fd, struct err *e);

#endif

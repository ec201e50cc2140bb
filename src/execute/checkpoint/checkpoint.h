/* checkpoint.h — the state of a workspace's files, to go back to (docs/formats/checkpoint.md).
 *
 * A checkpoint exists when its record is in checkpoints/index.json, and then everything it needs is on disk
 * and was read back.  Unchanged files cost one stat each.  Nothing here ever writes outside the workspace
 * root, follows a symbolic link, or touches version-control directories and Helm's own state, unless a
 * request says so.
 *
 * Every function below needs a real `struct err *`. */
#ifndef EXECUTE_CHECKPOINT_CHECKPOINT_H
#define EXECUTE_CHECKPOINT_CHECKPOINT_H

#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sys.h"

#include <stdbool.h>
#include <stdint.h>

struct pool;

struct checkpoint_store {
	struct sys *sys;
	struct arena *a; /* lives as long as the store */
	int root_fd; /* the workspace or work tree; borrowed */
	int state_fd; /* the directory that holds checkpoints/; need not lie below the root; -1: there is none yet */
	int ledger_fd; /* the directory of the task ledger; borrowed */
	bool owns_state; /* state_fd is closed with the store */
	const char *state_name; /* ".helm": how a state directory is called when it lies in the root */
	const char *where; /* the directory that holds checkpoints/, as records name it */
	int dir_fd; /* <state>/checkpoints, or -1 while there is none */
	dev_t state_dev;
	ino_t state_ino;
	struct pool *pool;
	struct bytes
		policy; /* the checkpoint policy that a person has accepted for this place; empty: none */
};

/* Creates nothing: a workspace without checkpoints opens as an empty store. */
int checkpoint_open(struct checkpoint_store *ret, struct sys *s, struct arena *a, int root_fd, int state_fd,
	const char *state_name, struct err *e);
/* The same for a tree whose checkpoints lie elsewhere: in points_fd, which the store takes over (-1: there
 * are none), called `where`. */
int checkpoint_open_beside(struct checkpoint_store *ret, struct sys *s, struct arena *a, int root_fd,
	int points_fd, const char *where, int ledger_fd, struct err *e);
void checkpoint_close(struct checkpoint_store *st);

/* Called often during long work, from the thread that asked for it. */
struct checkpoint_progress {
	void (*step)(void *arg, const char *what, uint64_t done, uint64_t total); /* total 0: not known */
	void *arg;
};

struct checkpoint_request {
	const char *label; /* [A-Za-z0-9][A-Za-z0-9._-]{0,63} */
	const char *task_id; /* or NULL */
	const char *const *paths; /* relative to the root; none: the whole workspace */
	size_t path_count;
	const char *const *excludes; /* gitignore-like lines, after those of the policy and .helmignore */
	size_t exclude_count;
	bool include_git; /* also version-control directories */
	bool include_state; /* also Helm's state, without checkpoints, index, vault, locks */
	bool skip_missing; /* a path that does not exist is left out, as long as one exists */
	bool are_exact; /* the paths are single entries: directories without their content */
	bool is_dry_run; /* writes nothing */
	bool is_safety; /* made by a restore, of what it is about to replace */
	/* For somebody who relies on it: CHECKPOINT_INCOMPLETE rather than a checkpoint that leaves out
	 * anything below the paths, by a rule, by its kind or because it could not be read, or that a plain
	 * restore would not put back.  All of it that is in the store already is read back; without this,
	 * some of it. */
	bool is_complete;
	/* With is_complete, for the whole tree: version-control data, too; links wherever they lead; no rule leaves anything out;
	 * sockets and fifos hold nothing and are passed over.  The record says "whole", and a restore brings all of it
	 * back.  Made before every call that may lose something, so what is in the store already is read back in samples. */
	bool is_whole;
	bool is_plain; /* with is_complete: nor may anything be reached from elsewhere: no links, no second names */
	const char *
		spared; /* with is_complete: ".git" in this directory ("." the root) and the state may be left out */
	uint64_t max_files, max_bytes; /* 0: what the policy says */
	int64_t time_limit_ms; /* 0: none */
	const struct checkpoint_progress *progress; /* or NULL */
};

struct checkpoint_skip {
	const char *path, *reason;
};

struct checkpoint_result {
	struct json *record; /* as in index.json; NULL for a dry run */
	const char *id;
	uint64_t files, directories, links, bytes; /* what the checkpoint holds */
	uint64_t read_files, read_bytes; /* what had to be read for it */
	uint64_t stored_bytes; /* what it added to the store */
	uint64_t excluded; /* left out by a rule, directories counted once */
	uint64_t unstable; /* files that kept changing while they were read */
	uint64_t repaired; /* objects that were damaged in the store and were saved anew from the files */
	uint64_t
		damaged_packs; /* packs that cannot be read at all; what they held of these files was saved anew */
	const char
		*healed; /* the index was damaged and was made anew: what is to be said about it; or NULL */
	bool is_same; /* the tree is that of the last checkpoint with this selection */
	struct checkpoint_skip *skipped; /* could not be saved: unreadable, sockets, ... */
	size_t skipped_count;
};

/* Limits and room on the disk are checked before anything is written.  On failure nothing is left but files
 * that checkpoint_prune() finds.  Error codes: CHECKPOINT_LABEL, CHECKPOINT_PATH, CHECKPOINT_LIMIT,
 * CHECKPOINT_SPACE, CHECKPOINT_TIME, CHECKPOINT_INCOMPLETE, CHECKPOINT_INDEX (the index is damaged and cannot be made anew
 * without a repair; it stays as it is), CHECKPOINT_READ, CHECKPOINT_WRITE. */
int checkpoint_create(struct checkpoint_store *st, const struct checkpoint_request *req,
	struct checkpoint_result *ret, struct err *e);

/* All records in order of creation, with every member they have.  E_CORRUPT CHECKPOINT_INDEX when the file
 * is not an array of objects, is missing beside saved files, or says something else than the copies of its records. */
int checkpoint_list(struct checkpoint_store *st, struct json **ret_array, struct err *e);

/* The same for views that only show the list: of the store in the directory state_fd, which stays the caller's.  e may be NULL. */
int checkpoint_list_in(struct sys *s, struct arena *a, int state_fd, struct json **ret_array, struct err *e);

/* By id, by label, by unique beginning of an id, or "latest".  E_MISSING when there is none, E_INPUT when
 * several fit that do not hold the same.  What a restore saved before it replaced anything (label
 * CHECKPOINT_SAFETY) is found by its whole id only: it holds what somebody wanted to get rid of. */
#define CHECKPOINT_SAFETY "pre-restore"
#define CHECKPOINT_UNDO \
	"undo" /* before a call that destroys something; a tree that has not changed since the last one gets no second one */
int checkpoint_find(struct checkpoint_store *st, const char *id, struct json **ret_record, struct err *e);

/* What a checkpoint holds against what is on disk. */
enum checkpoint_state {
	CHECKPOINT_SAME,
	CHECKPOINT_CHANGED, /* content or kind differs */
	CHECKPOINT_TOUCHED, /* only mode, owner or time differ */
	CHECKPOINT_MISSING, /* in the checkpoint, not on disk */
	CHECKPOINT_NEW, /* on disk, not in the checkpoint */
	CHECKPOINT_UNSAVED, /* was not saved (unreadable, a socket): left alone */
	CHECKPOINT_STATES
};
const char *checkpoint_state_name(enum checkpoint_state s);

struct checkpoint_change {
	const char *path;
	enum checkpoint_state state;
	const char *kind; /* "file", "dir", "link" */
	const char *note; /* why it was left alone, or is not back; or NULL */
	bool is_missed; /* was asked for and is not back */
	const char *diff; /* unified, when asked for and both are text; or NULL */
	uint64_t size; /* in the checkpoint; on disk for a new one */
	bool is_binary;
};

struct checkpoint_restore {
	const char *id;
	const char *const *only; /* paths: these entries and everything below them */
	size_t only_count;
	bool delete_new; /* remove what the checkpoint does not have */
	bool no_backup; /* do not save what is about to be replaced */
	bool include_git, include_state;
	bool all_links; /* also links that point outside the workspace */
	bool set_ids; /* also bits by which a file runs as its owner or group; a person asked for it */
	bool verify; /* read every file, also what is known to be the same, and read back what was written */
	bool is_dry_run;
	bool with_diff; /* fill change->diff; for previews */
	const struct checkpoint_progress *progress;
	/* Called with a row that says what is about to happen, before anything is replaced, and with what
	 * did happen afterwards.  A failure before stops the restore: what cannot be recorded is not done.
	 * May be NULL. */
	int (*record)(void *arg, const struct json *row, struct err *e);
	void *record_arg;
};

struct checkpoint_restored {
	struct json *record;
	const char *backup_id; /* the safety checkpoint, or NULL when nothing would have been lost */
	struct checkpoint_change *changes; /* sorted by path; all entries, the same ones too */
	size_t change_count;
	/* skipped: left alone on purpose (a rule, version control, a link that leads out, never saved). */
	uint64_t written, unchanged, touched, deleted, skipped;
	uint64_t missed; /* asked for and not back: the changes with is_missed, each with its reason */
	uint64_t written_bytes;
	uint64_t verified; /* with `verify`: files that were read back and are as they were saved */
	struct json *
		leftovers; /* paths: what an interrupted restore had left and this one removed (a dry run: would) */
};

/* Bring files back.  A file is replaced by a rename of a complete, synced one, so at every moment it is the
 * old or the new one; running it again after a crash finishes the work.  A dry run is the preview.
 *
 * OK means that everything was tried, not that everything is back: an entry that cannot be brought back (a damaged object, an
 * immutable file, a read-only or full file system) does not stop the others.  Whoever calls this looks at ret->missed. */
int checkpoint_restore(struct checkpoint_store *st, const struct checkpoint_restore *req,
	struct checkpoint_restored *ret, struct err *e);

/* Retention. */
#define CHECKPOINT_POLICY_FILE "references/checkpoint_policy.json"
struct checkpoint_policy {
	int64_t keep_recent, keep_days;
	int64_t max_total_mb; /* -1: no limit */
	bool protect_referenced, protect_pinned;
	uint64_t max_files, max_bytes; /* of one checkpoint */
	const char **excludes;
	size_t exclude_count;
	bool is_file; /* from references/checkpoint_policy.json, not the defaults */
	bool is_accepted; /* and counts whole: a person has accepted it */
};
enum { CHECKPOINT_KEEP_RECENT = 5, CHECKPOINT_KEEP_DAYS = 30 };
/* What holds.  The tree's own file counts only where it keeps more, saves more and refuses sooner than the defaults: it lies where
 * whatever is governed may write.  The accepted one (st->policy) counts whole, whatever the tree says now.  A missing file gives the defaults;
 * an invalid one is E_INPUT CHECKPOINT_POLICY. */
void checkpoint_policy_defaults(struct checkpoint_policy *ret);
int checkpoint_policy_parse(struct arena *a, struct bytes text, struct checkpoint_policy *ret, struct err *e);
/* Would this policy lose or leave out anything that the defaults do not? */
bool checkpoint_policy_loosens(const struct checkpoint_policy *p);
int checkpoint_policy(struct checkpoint_store *st, struct checkpoint_policy *ret, struct err *e);

struct checkpoint_pruned {
	struct json *keep,
		*prune; /* records with retention_reasons or prune_reason, age_days, archive_size_bytes */
	uint64_t total_bytes; /* of the whole store */
	uint64_t freed_bytes;
	struct json *leftovers; /* names of what crashes left behind */
};
/* Say, and with `apply` do, what the policy asks for; then remove objects nothing needs and leftovers of
 * crashes. `referenced` holds the ids that tasks name; NULL: as the ledgers say. */
int checkpoint_prune(struct checkpoint_store *st, const struct checkpoint_policy *policy,
	const struct json *referenced, bool apply, struct checkpoint_pruned *ret, struct err *e);

/* Is everything there that the checkpoints need?  OK also when it is not: then there are findings, each an object with `kind`
 * (index, pack, manifest, file, archive), `text`, and where they are known `checkpoint_id`, `path`, `pack`.  The remedy of all of
 * them is a repair.  An error when the store cannot be read at all. */
#define CHECKPOINT_REMEDY "helm checkpoint repair --yes"
struct checkpoint_check {
	bool read_data; /* read and hash every byte; without, only what says what must be there */
	const struct checkpoint_progress *progress; /* or NULL */
};
struct checkpoint_checked {
	uint64_t checkpoints, packs, objects; /* looked at */
	uint64_t lost; /* files that an earlier repair has named as lost: no finding */
	struct json *findings;
};
int checkpoint_check_store(struct checkpoint_store *st, const struct checkpoint_check *how,
	struct checkpoint_checked *ret, struct err *e);

/* Make the store usable again: the index anew if it is damaged, damaged packs out of use (what is whole in them stays), damaged
 * content saved anew from the work tree where that still has it, and the rest named.  Nothing is removed: what is taken out is
 * kept in checkpoints/damaged.  Once more changes nothing. */
struct checkpoint_repair {
	bool is_dry_run; /* says what it would do */
	const struct checkpoint_progress *progress; /* or NULL */
};
struct checkpoint_repaired {
	const char *index; /* what was wrong with it; NULL: nothing */
	uint32_t checkpoints; /* that can be restored now, whole or in part */
	uint32_t recovered; /* of them without label, time and task: only the packs knew them */
	struct json *packs; /* names of those taken out of use */
	uint64_t bad_objects; /* damaged copies of objects in them */
	uint64_t resaved; /* files whose content was saved anew from the work tree */
	struct json *lost; /* { checkpoint_id, path (null: all of it), reason } */
	bool is_changed; /* false: there was nothing to repair */
};
int checkpoint_repair_store(struct checkpoint_store *st, const struct checkpoint_repair *how,
	struct checkpoint_repaired *ret, struct err *e);

/* Ids of checkpoints that any row of the task ledger names. */
int checkpoint_referenced(struct checkpoint_store *st, struct json **ret_ids, struct err *e);

/* The way back from a task: `task_id`, or NULL for the newest risky one (profile risky_edit, a checkpoint
 * of its own, or a command that was judged destructive).  relation: "attached" (the task names it),
 * "before" (the newest made not after the task's start), "after" (there is only a younger one: it may hold
 * the damage), "none".  task and checkpoint may be NULL. E_MISSING TASK_UNKNOWN when the given task is not
 * in the ledger. */
struct checkpoint_advice {
	struct json *task, *checkpoint;
	const char *relation;
	const char *trouble; /* why no checkpoint could be looked for; or NULL */
};
int checkpoint_recommend(
	struct checkpoint_store *st, const char *task_id, struct checkpoint_advice *ret, struct err *e);

/* Set or clear `pinned`. */
int checkpoint_protect(
	struct checkpoint_store *st, const char *id, bool is_pinned, struct json **ret_record, struct err *e);

#endif

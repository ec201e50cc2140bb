/* posture_parts.h — inside kernel/: what reading the standing word and changing it share. */
#ifndef KERNEL_POSTURE_PARTS_H
#define KERNEL_POSTURE_PARTS_H

#include "kernel/posture.h"

#define POSTURE_FILE "posture.json"
#define POSTURE_INTENT "posture.intent"
#define POSTURE_LOCK "posture.lock"
#define POSTURE_NEW \
	"place.json" /* {root, at, stands_alone}: there is no act about this place yet; goes with the first one */
#define POSTURE_SEARCH \
	"search.json" /* how far the chain was searched for a lost document (posture/search.c) */
#define PAUSE_FILE "profile-pause-state.json" /* in the tree */
#define POSTURE_ACCEPTED "accepted" /* directory: one file per accepted text, named by its digest */
enum { POSTURE_LIMIT = 4 << 20, POSTURE_VERSION = 1 };

/* A path as the word names it. */
const char *posture_name(struct arena *a, const char *root);
/* STATE_NEWER when the act binds a snapshot of a version that is not read here: it may forbid what nobody here knows of, so neither it nor
 * an older one counts in its place. */
int posture_check_version(const struct json *receipt, const char *where, struct err *e);
/* The key history, or what else says whose keys count, is damaged or cannot be read: what older keys have signed is not disproved. */
bool posture_keys_damaged(struct sys *s, const struct workspace *ws);
/* The snapshot of an act that we signed and that nobody changed; NULL otherwise. */
const struct json *posture_believe(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct json *receipt);
/* The newest such act in the chain, or the one that binds the snapshot of this digest; NULL when there is none.  An error when the chain
 * cannot be read; POSTURE_DOUBT when one of this digest is there and cannot be believed, POSTURE_AWAY when a file of it is archived and not
 * there: then nobody knows.  E_LIMIT POSTURE_SEARCH: nobody knows yet, and the next call goes on (posture/search.c). */
struct posture_search {
	const char *digest; /* NULL: the newest act of all */
	unsigned since; /* no file of the chain with a lower number can have it; 0: any can */
	bool is_patient; /* to the end, however long that takes */
};
int posture_in_chain(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct posture_search *how, const struct json **ret, struct err *e);
/* What permits no more than either. */
struct json *posture_strictest(struct arena *a, const struct json *x, const struct json *y);
/* Freezes, pauses and the like alone. */
struct json *posture_only_strict(struct arena *a, const struct json *word);
/* As posture_of(), read now and into `a`. */
void posture_read(struct sys *s, struct arena *a, const struct workspace *ws, struct posture *ret);

/* The files in the tree that people and older tools read (posture/tree.c).  A file that cannot be understood is an error only where
 * nobody has spoken; otherwise it says nothing.  Freezes are {principal: {receipt_id, timestamp, metadata}}. */
int tree_freezes(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
int tree_pauses(struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
int tree_settings(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json **ret, struct err *e);
/* One freeze as freeze.json has it. */
struct json *tree_freeze(struct arena *a, const char *principal, const struct json *one);
/* Freezes and pauses that only the tree knows become part of `word`, so that no act loses one. */
void tree_adopt_strict(struct sys *s, struct arena *a, const struct workspace *ws, struct json *word);
/* All three, made to agree with `word`. */
int posture_write_tree(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct json *word, struct err *e);

/* ---- posture/accepted.c ---- */

/* Everything in the tree that can permit something. */
struct governed {
	const char *file;
	const char *shipped; /* in share/; NULL: none is */
};
enum {
	GOVERNED_PROFILES,
	GOVERNED_GROUPS,
	GOVERNED_POLICY,
	GOVERNED_CHECKPOINTS,
	GOVERNED_EVIDENCE,
	GOVERNED_COUNT,
	GOVERNED_LIMIT = 1 << 20
};
extern const struct governed GOVERNED[GOVERNED_COUNT];
/* Where the accepted bytes of this digest ("sha256:...") are kept. */
const char *accepted_copy(struct arena *a, const struct posture *p, const char *digest);
/* The tree's bytes; empty when there is no such file.  Never through a link out of the tree. */
int accepted_in_tree(struct sys *s, struct arena *a, const struct workspace *ws, const struct governed *g,
	struct bytes *ret, struct err *e);
/* The same, of files that an operator can accept: empty also when it is as an earlier release shipped it. */
int accepted_own(struct sys *s, struct arena *a, const struct workspace *ws, const struct governed *g,
	struct bytes *ret, struct err *e);
/* How the tree's file stands to what holds: "in force" (it is what holds), "missing" or "changed" since it was accepted,
 * "earlier" (as an earlier release shipped it, and nobody accepted it: what this one ships holds), "unaccepted". */
const char *accepted_state(
	struct sys *s, struct arena *a, const struct workspace *ws, const struct governed *g);

/* A file as it looks from outside; zeroes: there is none. */
struct stamp posture_stamp(struct sys *s, const char *path, int flags);

#endif

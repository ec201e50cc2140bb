/* layer_parts.h — inside layer*.c: one layer as its ending sees it. */
#ifndef KERNEL_TASK_LAYER_PARTS_H
#define KERNEL_TASK_LAYER_PARTS_H

#include "kernel/task/layer.h"

#define LAYER_FILE "layer.json" /* docs/formats/session-layers.md */
#define LAYER_LOCK "lock"
#define LAYER_HOME "home"
#define LAYER_WAS "was"
#define LAYER_KEPT "kept"

enum {
	LAYER_PLACES = 16, /* directories of a client's state that lie elsewhere */
	LAYER_DEPTH = 64,
	LAYER_JSON_BYTES = 8 << 20,
	LAYER_LINES_BYTES = 64 << 20,
	LAYER_LISTED = 100,
	LAYER_PATH_TOLD = 256
};

/* The operator's own directory behind `rel`, as it was when the session began. */
struct layer_place {
	const char *rel, *real;
	int64_t dev, ino;
};

struct layer_ending {
	struct sys *s;
	struct arena *a;
	struct arena scratch; /* for the content of one file */
	int dir; /* of the layer */
	const struct json *doc;
	const struct client_session *needs;
	const char *title; /* of the client */
	struct layer_place home, places[LAYER_PLACES];
	size_t place_count;
	bool is_moved; /* the client had its variable inside: files of `moved` lie in its directory */
	bool is_moved_outside; /* and outside, too */
	struct json *carried, *left; /* [{path, how}], [{path, bytes, why}] */
	bool is_stuck; /* something could be neither carried nor kept aside, nor looked at: it stays for the next attempt */
	int64_t carried_count, left_count, dropped, deleted;
};

/* From layer.json.  E_INPUT LAYER_FILE when it is not understood. */
int layer_read(struct layer_ending *x, const struct json *doc, struct err *e);

/* The directory of the operator's that holds `rel`, and the name in it; never through a link.  `make`: what is missing on the way is made.  -1 with
 * errno. */
int layer_open_real(const struct layer_ending *x, const char *rel, bool make, const char **ret_name);

/* Is it named by one of these patterns?  "dir/", "name", "name*". */
bool layer_is_named(const char *rel, const char *const *patterns);

/* Carries one file that the session wrote.  NULL: done, or nothing in it is new.  Otherwise why not, or why not all of it. */
const char *layer_carry(struct layer_ending *x, int parent, const char *name, const char *rel,
	const struct client_carry *row);

/* ---- layer_json.c ---- */

/* Sets in `now` what `session` has at these members and `was` (or NULL) has not.  Returns how many. */
size_t members_merge(struct arena *a, const struct client_member *members, const struct json *session,
	const struct json *was, struct json *now);
/* Names of members of `session`, as "a.b", that differ from `was` and are in none of both lists; the first few. */
struct json *members_left(struct arena *a, const struct client_member *members, const char *const *dropped,
	const struct json *session, const struct json *was);
/* By a path of names with dots between. */
const struct json *members_at(struct arena *a, const struct json *doc, const char *path);

#endif

/* layer.h — the layer of a session: everything that it writes below the home directory lies here and not in the home.
 *
 * <helm home>/layers/TASK/ holds the session's own home, which it sees in the place of the operator's, and an overlay for every directory of its
 * client's state; where overlays cannot be had, private copies.  Nothing in the operator's home changes while the session runs.  At its end
 * only what the client's table names as starting nothing is carried back (clients/clients.h); everything else is kept aside in kept/ for the operator to decide, or
 * counted and removed.
 *
 * A session whose helm was killed leaves its layer without the lock: whoever starts something next ends it the same way (layers_finish()). */
#ifndef KERNEL_TASK_LAYER_H
#define KERNEL_TASK_LAYER_H

#include "clients/clients.h"
#include "execute/execute.h"

#define LAYERS "layers" /* in the helm home */

struct layer_spec {
	const char *helm_home, *home, *task_id, *workspace;
	const struct client *client; /* with a session */
	bool has_mounts; /* the session sees its home in the place of the operator's; else variables lead its client there */
	bool has_overlay; /* and the kernel lays one directory over another here */
};

/* Paths are absolute, and as the session sees them; lists end in NULL. */
struct layer {
	const char *dir; /* ours */
	int lock;
	const char *home; /* ours: what it sees as its home, or is led to */
	bool is_mounted; /* the former */
	const struct sandbox_layer *layers; /* or NULL */
	size_t layer_count;
	const char *const
		*own; /* the client's state under the names it has outside; NULL: it is led elsewhere */
	const char *const *closed; /* of it: read-only */
	const char *const *environment; /* NAME=value */
};

/* Nothing is written outside of <helm home>/layers. */
int layer_begin(
	struct sys *s, struct arena *a, const struct layer_spec *spec, struct layer *ret, struct err *e);

/* Once nothing of the session runs any more: {task_id, client, carried[], left[{path, bytes, why}], dropped, deleted}.  What cannot be carried
 * back is left.  NULL: there is none that could be ended (E_IO), or it has been already. */
struct json *layer_end(
	struct sys *s, struct arena *a, const char *helm_home, const char *task_id, struct err *e);
void layer_close(struct layer *l); /* lets go of the lock */

/* Ends the layers of sessions whose helm was killed, and removes those that are old: [what layer_end() says]. */
struct json *layers_finish(struct sys *s, struct arena *a, const char *helm_home);
/* What became of one that has ended; NULL: nothing is known. */
struct json *layer_result(struct sys *s, struct arena *a, const char *helm_home, const char *task_id);
/* Into the last row of its task. */
void layer_tell(struct arena *a, const struct json *result, struct json *row);
/* One line for the operator: what was not carried back, and what to type; NULL: there is nothing to tell. */
const char *layer_line(struct arena *a, const struct json *result);

/* Is this file of it still kept aside? */
bool layer_is_kept(
	struct sys *s, struct arena *a, const char *helm_home, const char *task_id, const char *path);
/* The operator decides: puts a file that was kept aside into its place, with this content, or removes all of them.  E_MISSING LAYER_UNKNOWN, E_INPUT
 * LAYER_FILE. */
int layer_read_kept(struct sys *s, struct arena *a, const char *helm_home, const char *task_id,
	const char *path, struct bytes *ret, struct err *e);
int layer_keep(struct sys *s, struct arena *a, const char *helm_home, const char *task_id, const char *path,
	struct bytes content, struct err *e);
int layer_discard(struct sys *s, struct arena *a, const char *helm_home, const char *task_id, struct err *e);

#endif

/* state_files.h — files of a workspace that are written by Helm or shipped with it, when they are no documents any more. */
#ifndef KERNEL_STATE_FILES_H
#define KERNEL_STATE_FILES_H

#include "kernel/workspace.h"

#define WORKSPACE_REPAIR "helm workspace repair"

/* A file of the tree that nobody could accept, because a profile, a group or a rule in it is none: 'helm workspace trust' would refuse it. */
bool state_file_is_unusable(struct sys *s, struct arena *a, const struct workspace *ws, const char *file);
/* Shipped documents that cannot be read get this release's text, and what was there is kept as FILE.bak; files of the state from which nothing
 * is decided are put aside as FILE.damaged-TIME and made again by whoever needs them.  Adds a sentence for each to `done`. */
int state_files_repair(
	struct sys *s, struct arena *a, const struct workspace *ws, struct json *done, struct err *e);

#endif

/* allow.h — places outside the work tree that a person lets runs write: the member `allowed_paths` of the standing word
 * (posture.h). */
#ifndef KERNEL_ALLOW_H
#define KERNEL_ALLOW_H

#include "kernel/kernel.h"

/* Absolute and clean, NULL-terminated; none where nobody has allowed anything.  In `a`. */
const char *const *allowed_paths(struct sys *s, struct arena *a, const struct workspace *ws);

/* A person's act: runs may write below `path` from now on, or no longer (`is_removed`).  It is signed and on disk when this returns OK.
 * E_INPUT ALLOW_PATH when no run should ever write there; E_MISSING ALLOW_UNKNOWN when there is nothing to take away. */
int allow_path(struct kernel *k, struct arena *a, const char *path, bool is_removed, const char *executor,
	struct json **ret_receipt, struct err *e);

#endif

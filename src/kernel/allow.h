/* allow.h — places outside the work tree that an operator lets runs write or read: the members `allowed_paths` and `readable_paths` of the
 * settings (posture.h). */
#ifndef KERNEL_ALLOW_H
#define KERNEL_ALLOW_H

#include "kernel/kernel.h"

/* Absolute and clean, NULL-terminated; none where nobody has allowed anything.  In `a`. */
const char *const *allowed_paths(struct sys *s, struct arena *a, const struct workspace *ws);

/* The same: places in a home that runs may read. */
const char *const *allowed_to_read(struct sys *s, struct arena *a, const struct workspace *ws);

enum allowing {
	ALLOW_WRITE,
	ALLOW_READ,
	ALLOW_NO_MORE /* neither */
};
/* An operator's act: runs may write or read below `path` from now on, or no longer.  It is signed and on disk when this returns OK.
 * E_INPUT ALLOW_PATH when no run should ever do that there; E_MISSING ALLOW_UNKNOWN when there is nothing to take away. */
int allow_path(struct kernel *k, struct arena *a, const char *path, enum allowing what, const char *executor,
	struct json **ret_receipt, struct err *e);

#endif

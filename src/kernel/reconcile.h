/* reconcile.h — reference files of a workspace beside the shipped ones. */
#ifndef KERNEL_RECONCILE_H
#define KERNEL_RECONCILE_H

#include "kernel/workspace.h"

/* The reference files that a workspace must have, "references/NAME"; ends in NULL. */
extern const char *const required_references[];

/* What to do: look only; bring back what is missing; also put the shipped text in the place of another one, which is kept as FILE.bak. */
enum reconcile { RECONCILE_LOOK, RECONCILE_ADD, RECONCILE_REPLACE };

/* {workspace, dry_run, files [{file, status, action, diff}], summary, converged, ok}.  What is no regular file is never written.  `shows`: with the
 * difference of what drifted, from the shipped text to the one that was found. */
int workspace_reconcile(struct sys *s, struct arena *a, struct workspace *ws, enum reconcile how, bool shows,
	struct json **ret, struct err *e);

#endif

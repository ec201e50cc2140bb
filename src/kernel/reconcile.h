/* reconcile.h — the shipped files of a workspace beside those of this release. */
#ifndef KERNEL_RECONCILE_H
#define KERNEL_RECONCILE_H

#include "kernel/workspace.h"

/* What to do: look only; bring back what is missing, and up to date what nobody touched; also put the shipped text in the place of one that an
 * operator wrote or accepted, which is kept as FILE.bak. */
enum reconcile { RECONCILE_LOOK, RECONCILE_ADD, RECONCILE_REPLACE };

/* {workspace, dry_run, files [{file, status, action, diff, error}], summary, converged, ok}.  What is no regular file is never written.
 * `converged` is found by looking again after everything was written.  `shows`: with the difference from the shipped text to the one that
 * was found. */
struct json *workspace_reconcile(
	struct sys *s, struct arena *a, struct workspace *ws, enum reconcile how, bool shows);

#endif

/* scratch.h — a private directory for one test, gone afterwards. */
#ifndef TOOLS_SCRATCH_H
#define TOOLS_SCRATCH_H

#include "base/mem.h"

#include <stdbool.h>

/* A test that cannot have its directory is aborted: nothing it says would mean anything. */
struct scratch {
	int fd;
	char path[128];
};
void scratch_open(struct scratch *t);
void scratch_open_fast(
	struct scratch *t); /* in memory where possible: for sweeps that sync thousands of times */
void scratch_done(struct scratch *t); /* removes the tree; for AUTO() */

/* Small ways to look and to prepare, past the code under test.  scratch_get returns NUL-terminated malloc'd text that the
 * next call frees, or NULL when the file is not there. */
void scratch_put(struct scratch *t, const char *name, const char *text);
const char *scratch_get(struct scratch *t, const char *name);
bool scratch_has(struct scratch *t, const char *name);
void scratch_empty(struct scratch *t); /* removes what is inside */

#endif

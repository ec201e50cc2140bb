/* changes.h — inside kernel/: which files a call or a run has changed, as far as that can be seen cheaply. */
#ifndef KERNEL_CHANGES_H
#define KERNEL_CHANGES_H

#include "kernel/kernel.h"

/* Before: what the effects name.  {"writes": [...], "removes": [only what is there now], "tree": DIR when
 * something that is not named may change files in it}, absolute paths; NULL when nothing would be
 * changed. */
struct json *changes_expect(
	struct kernel *k, struct arena *a, const struct surroundings *at, const struct proposal *p);

/* After: the lists of paths that changed and that are gone, at most 100 each, relative to the workspace
 * where they lie in it. `checkpoint_id`, made just before, knows them best; may be NULL.  is_partial: there
 * may be others. */
struct changes {
	struct json *changed, *deleted;
	bool is_partial;
};
void changes_find(struct kernel *k, struct arena *a, const struct json *expected, const char *checkpoint_id,
	int64_t since_us, struct changes *ret);

/* After: only what is gone. */
struct json *changes_gone(
	struct kernel *k, struct arena *a, const struct json *expected, const char *checkpoint_id);

#endif

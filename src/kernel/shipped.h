/* shipped.h — the files that `helm init` puts into a workspace, and every version of them that was ever shipped.
 *
 * A file that nobody touched since some release wrote it is known by its digest (share/shipped.txt).  It is no damage and nobody's own text: it
 * may be replaced by what this release ships, and it never counts as the tree's own profiles or rules. */
#ifndef KERNEL_SHIPPED_H
#define KERNEL_SHIPPED_H

#include "kernel/workspace.h"

enum shipped_use {
	SHIPPED_REQUIRED, /* a workspace without it is not complete */
	SHIPPED_OPTIONAL, /* what the program ships holds without it */
	SHIPPED_BEGUN /* the operator goes on writing it; not compared any more once it is made */
};

struct shipped_file {
	const char *to, *from; /* in the workspace; in share/ */
	enum shipped_use use;
};
enum { SHIPPED_COUNT = 8, SHIPPED_MOST_BYTES = 16 << 20 };
extern const struct shipped_file SHIPPED_FILES[SHIPPED_COUNT];

/* As this release ships it. */
struct bytes shipped_content(const struct shipped_file *f);

enum shipped_age { SHIPPED_NOW, SHIPPED_EARLIER, SHIPPED_NEVER };
/* Is this text of the workspace's file `path` the shipped one, that of an earlier release, or neither? */
enum shipped_age shipped_age(const char *path, struct bytes found);

/* Put this release's text in the place of `found`.  A text that was never shipped is kept beside it first, under a name that nothing has yet:
 * FILE.bak, FILE.bak.1, ...  Killed between, nothing is lost, and the same call again keeps no second copy.  `found` may be NULL: there is none. */
int shipped_put(struct sys *s, struct arena *a, int root_fd, const struct shipped_file *f,
	const struct bytes *found, struct err *e);

#endif

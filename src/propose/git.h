/* git.h — inside propose/: what stands in git's own files. */
#ifndef PROPOSE_GIT_H
#define PROPOSE_GIT_H

#include "propose/propose.h"

/* Each setting of a configuration file, in its order: "remote.origin.url" and its value. */
typedef void git_setting_fn(void *arg, const char *key, const char *value);
void git_settings(struct arena *a, struct bytes text, git_setting_fn *fn, void *arg);

/* Where a push from `cwd` to `remote` (a name, an address, or NULL: the one that git would choose) would go, as the repository's and the
 * person's settings say now; is_push false: where a fetch would come from.  Several places stand one behind the other, and passwords are
 * left out.  NULL: it is what `remote` says, or nobody knows. */
const char *git_address(
	struct arena *a, const struct surroundings *at, const char *cwd, const char *remote, bool is_push);

#endif

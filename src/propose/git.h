/* git.h — inside propose/: what stands in git's own files. */
#ifndef PROPOSE_GIT_H
#define PROPOSE_GIT_H

#include "propose/propose.h"

/* Each setting of a configuration file, in its order: "remote.origin.url" and its value. */
typedef void git_setting_fn(void *arg, const char *key, const char *value);
void git_settings(struct arena *a, struct bytes text, git_setting_fn *fn, void *arg);
bool git_setting_runs(const char *key, const char *value); /* git starts what the value names */
/* git_merge.c: a run may leave this setting behind; it starts nothing and leads git nowhere else. */
bool git_key_is_harmless(const char *key, const char *value);

/* Where a push from `cwd` to `remote` (a name, an address, or NULL: the one that git would choose) would go, as the repository's and the
 * person's settings say now; is_push false: where a fetch would come from.  Several places stand one behind the other, and passwords are
 * left out.  NULL: it is what `remote` says, or nobody knows. */
const char *git_address(
	struct arena *a, const struct surroundings *at, const char *cwd, const char *remote, bool is_push);

#endif

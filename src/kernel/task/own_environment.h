/* own_environment.h — temporary directories and caches of a run's own where no mount can put them in place: by environment. */
#ifndef KERNEL_TASK_OWN_ENVIRONMENT_H
#define KERNEL_TASK_OWN_ENVIRONMENT_H

#include "base/mem.h"
#include "base/sys.h"

struct own_environment {
	struct sys *s;
	struct arena *a;
	const char *dir; /* private to the run, writable in it and removed with it */
	const char *home; /* or NULL */
	const char *const *layers; /* caches of the profile, below the home */
	size_t layer_count;
	const char *const *
		write_paths; /* a cache that lies in one of them stays where it is; NULL-terminated; or NULL */
};

enum { OWN_ENVIRONMENT_MAX = 32 }; /* so many entries are added at most */

/* Points the caches that these layers stand for to directories below `dir`, and makes those.  `env` has `n` entries NAME=value and room for
 * OWN_ENVIRONMENT_MAX more.  Returns how many there are then.  A directory that cannot be made leaves its variable as it was. */
size_t own_environment(const struct own_environment *o, const char **env, size_t n);

#endif

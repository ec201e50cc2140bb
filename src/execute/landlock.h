/* landlock.h — inside execute/: file access of a child. */
#ifndef EXECUTE_LANDLOCK_H
#define EXECUTE_LANDLOCK_H

#include "execute/sandbox.h"

#include <stdbool.h>

struct landlock_rules {
	int abi; /* level to use, at most the kernel's */
	bool no_network; /* level 4: no TCP at all */
	const char *const *write_paths; /* NULL-terminated; each may be a file or a directory */
	const char *const *exec_paths; /* files that may be executed, and no others; NULL: any */
	const char *const *own; /* the same, of the run alone; or NULL */
	const char *own_dir, *own_home; /* open although they lie in a hidden place; or NULL */
	const char *const *hidden; /* not readable either; NULL when mounts cover them */
	const struct sandbox_home *homes; /* the same, but for `shown` below them; or NULL */
	const char *const *shown; /* read-only; or NULL */
	const struct sandbox_opening *openings; /* ended by at NULL; or NULL */
	bool is_supervised; /* all that is changed is changed by the supervisor: nothing is granted but reading */
	bool is_shared; /* /dev/pts and /dev/shm are everybody's: closed */
};

/* The kernel's level, 0 when there is none. */
int landlock_abi(void);

/* The rules as the kernel has them: a descriptor, or -1 with errno when one of them could not be told. */
int landlock_build(const struct landlock_rules *rules);
/* Restrict this process and its children for ever; needs no_new_privs.  The descriptor is closed.  0 or -1 with errno. */
int landlock_apply(int ruleset);
int landlock_confine(const struct landlock_rules *rules); /* both */

#endif

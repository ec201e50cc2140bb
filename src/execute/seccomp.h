/* seccomp.h — inside execute/: the system calls a child may not make. */
#ifndef EXECUTE_SECCOMP_H
#define EXECUTE_SECCOMP_H

#include <stdbool.h>

struct seccomp_rules {
	bool inet; /* may make internet sockets */
	bool unix_socket; /* may make sockets that reach others through the file system */
	bool no_exec; /* starts no other program */
	bool no_truncate; /* Landlock below level 3 does not see truncate(2) */
	bool desk; /* one special call of socket(2) is handed to the supervisor: desk.c */
	bool supervised; /* calls that change files, which Landlock does not cover, are handed to the supervisor: supervise.h */
	bool sockets; /* and so are TCP sockets: made, bound and connected by the supervisor */
	bool renames; /* renaming is heard by the supervisor, which lets it continue but for a few names: private_files.h */
	bool signals; /* and so are signals: Landlock below level 6 does not see them */
};

/* Install the filter for this process and its children; needs no_new_privs.  -1 with errno; else 0, or with `desk`, `supervised` or `renames` the
 * descriptor on which the supervisor hears it. */
int seccomp_install(const struct seccomp_rules *rules);

#endif

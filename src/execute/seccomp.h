/* seccomp.h — inside execute/: the system calls a child may not make. */
#ifndef EXECUTE_SECCOMP_H
#define EXECUTE_SECCOMP_H

#include <stdbool.h>

struct seccomp_rules {
	bool inet; /* may make internet sockets */
	bool unix_socket; /* may make sockets that reach others through the file system */
	bool no_exec; /* starts no other program */
	bool no_truncate; /* Landlock below level 3 does not see truncate(2) */
};

/* Install the filter for this process and its children; needs no_new_privs.  0 or -1 with errno. */
int seccomp_install(const struct seccomp_rules *rules);

#endif

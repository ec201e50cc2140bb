/* become.h — inside execute/: from a ward to the command. */
#ifndef EXECUTE_BECOME_H
#define EXECUTE_BECOME_H

#include "execute/execute.h"

/* Returns only when it failed, with errno.  `shell_argv`: sh FILE ARG..., for a script that names no interpreter; its second word is
 * ours to set. */
void become(const struct run_request *request, const char **shell_argv);

void default_signals(void); /* a handler of helm's would run in the command's process until it executes */
void unblock_signals(void);

#endif

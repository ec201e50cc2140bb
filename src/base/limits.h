/* limits.h — what the system gives this process: signals, streams, stack, memory and descriptors, settled before anything is begun. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include "base/err.h"
#include "base/sys.h"

/* Deep input is refused by counting its depth, and the counted limits fit into this much stack. */
#define LIMITS_STACK_KIB 512
#define LIMITS_STACK_REMEDY "raise it with 'ulimit -s 8192'"
/* Before libc has begun nobody can say that it found no memory.  The program itself takes most of this. */
#define LIMITS_MEMORY_KIB 16384
#define LIMITS_MEMORY_REMEDY "raise it with 'ulimit -v unlimited'"
/* A guarded run has this many open at once.  More are asked for where more are needed. */
#define LIMITS_DESCRIPTORS 32

/* Called first in main(): a reader that went away and a file that may not grow are errors of write(), not signals; and no file
 * that is opened later gets the number of a standard stream that is closed.  Programs that are started get default signals. */
void limits_begin(struct sys *s);

/* E_LIMIT when stack, memory or descriptors do not suffice: with less, input could end the process with a signal, and a file that cannot be
 * opened could be taken for one that is not there. */
int limits_check(struct err *e);

/* How a process ends that ran out of memory or time: 1, or what was set here (2 in a hook, which every client takes for "no").  A child that
 * was forked to become a command ends with 126: any other code would say something about the command. */
void limits_block_by(int exit_code);
int limits_exit_code(void);

#endif

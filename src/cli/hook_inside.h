/* hook_inside.h — a hook inside a supervised session. */
#ifndef CLI_HOOK_INSIDE_H
#define CLI_HOOK_INSIDE_H

/* Standard input goes to the supervisor, and its answer to standard output and error.  The exit code; -1 when nobody supervises this process:
 * then nothing was read or written. */
int hook_inside(const char *verb, const char *client);

/* The same for the words of a command line; returns when it is not for us, or nobody supervises.  Called before libc is (sys/begin.c). */
void hook_inside_begin(const long *stack);

#endif

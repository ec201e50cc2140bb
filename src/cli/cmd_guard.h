/* cmd_guard.h — inside cli/: what the guard's commands share. */
#ifndef CLI_CMD_GUARD_H
#define CLI_CMD_GUARD_H

#include "cli/cli.h"
#include "kernel/foresee.h"

/* cmd_guard_batch.c: JSON lines on standard input to JSON lines on standard output. */
int guard_batch(struct cli *r, struct guard *g, struct err *e);

#endif

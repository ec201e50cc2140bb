/* checkpoint.h — what the checkpoint commands share. */
#ifndef CLI_CHECKPOINT_H
#define CLI_CHECKPOINT_H

#include "cli/cli.h"
#include "execute/checkpoint/checkpoint.h"

/* The store of the run's workspace; close it with checkpoint_close(). */
int checkpoint_cli_open(struct cli *r, struct checkpoint_store *st, struct err *e);
const char *checkpoint_size_text(struct arena *a, int64_t bytes); /* "1.5 MiB" */

#endif

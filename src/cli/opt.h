/* opt.h — inside cli/: reading words against a row's option specs. */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include "cli/cli.h"

/* --json, --path, --workspace, --help: understood by every command, with one meaning. */
const struct opt *opt_globals(void);

/* Fill r->values, args, child from the words behind the command's name.  E_USAGE with the reason when they do not fit. */
int opt_parse(struct cli *r, char **argv, size_t argc, struct err *e);

/* workspace_option.c: opens the workspace that is meant, as the row wants it: it must be there, may be there, will be made, or is only looked
 * at.  What --path names is checked to be a workspace also where the command needs none. */
int workspace_option_open(struct cli *r, struct err *e);

#endif

/* opt.h — inside cli/: reading words against a row's option specs. */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include "cli/cli.h"

/* --json, --path, --workspace, --help: understood by every command. */
const struct opt *opt_globals(void);

/* Fill r->values, args, child from the words behind the command's name.  E_USAGE with the reason when they do not fit. */
int opt_parse(struct cli *r, char **argv, size_t argc, struct err *e);

#endif

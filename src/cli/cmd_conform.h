/* cmd_conform.h — inside cli/: what the runs of conformance share. */
#ifndef CLI_CMD_CONFORM_H
#define CLI_CMD_CONFORM_H

#include "audit/audit.h"
#include "cli/cli.h"
#include "kernel/workspace.h"

/* cmd_conform_gates.c: the gates of --level, --profile or --gate over --evidence. */
int conform_run_gates(struct cli *r, struct json **ret, struct err *e);
void conform_show_gates(struct cli *r, const struct json *report);
/* cmd_conform_remote.c: --endpoint.  Exit 3 when nothing answers there. */
int conform_endpoint(struct cli *r, struct err *e);
/* One row of a registry of runtimes.  E_USAGE when the run was not about the vectors it counts. */
int conform_registry_entry(struct cli *r, const struct json *report, struct json **ret, struct err *e);
/* Report v1, signed by this user's key, and the files of --output. */
int conform_sign(struct cli *r, const struct json *report, struct json **ret, struct err *e);

#endif

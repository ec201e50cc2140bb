/* cmd_policy_files.h — inside cli/: policy files as every command about them reads them. */
#ifndef CLI_CMD_POLICY_FILES_H
#define CLI_CMD_POLICY_FILES_H

#include "cli/cli.h"
#include "decide/bundle/bundle.h"

/* lint and fmt of everything that is no text over graphs; cmd_policy_dsl.c has those. */
int policy_lint_file(struct cli *r, const struct policy_reading *reading);
int policy_fmt_file(struct cli *r, struct bytes text, const struct policy_reading *reading);

#endif

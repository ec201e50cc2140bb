/* cmd_policy_files.h — inside cli/: policy files as every command about them reads them. */
#ifndef CLI_CMD_POLICY_FILES_H
#define CLI_CMD_POLICY_FILES_H

#include "cli/cli.h"
#include "decide/bundle/bundle.h"

/* How to take a file; { 0 } is how it describes itself. */
struct policy_way {
	bool as_policy, is_import;
};
/* Read one file ("-": standard input), and what it names beside it.  *ret_text may be NULL.  As policy_document_read(). */
int policy_source_read(struct cli *r, const char *path, struct policy_way way, struct bytes *ret_text,
	struct policy_reading *ret, struct err *e);

/* lint and fmt of everything that is no text over graphs; cmd_policy_dsl.c has those. */
int policy_lint_file(struct cli *r, const struct policy_reading *reading);
int policy_fmt_file(struct cli *r, struct bytes text, const struct policy_reading *reading);

#endif

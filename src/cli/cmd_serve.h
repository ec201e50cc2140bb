/* cmd_serve.h — inside cli/: the other program, which has the network. */
#ifndef CLI_CMD_SERVE_H
#define CLI_CMD_SERVE_H

#include "cli/cmd.h"

/* Run helm-serve with this document of options; *ret is the document it printed, *ret_code how it ended.  What it says on standard error is
 * the error when it printed nothing. */
int serve_ask(struct cli *r, const struct json *options, int timeout_ms, struct json **ret, int *ret_code,
	struct err *e);

/* helm-serve takes the place of this program, with these options. */
int serve_become(struct cli *r, const struct json *options, struct err *e);

#endif

/* cmd_serve.h — inside cli/: the other program, which has the network. */
#ifndef CLI_CMD_SERVE_H
#define CLI_CMD_SERVE_H

#include "cli/cmd.h"

/* Run helm-serve with this document of options; *ret is the document it printed, *ret_code how it ended.  What it says on standard error is
 * the error when it printed nothing. */
int serve_ask(struct cli *r, const struct json *options, int timeout_ms, struct json **ret, int *ret_code,
	struct err *e);

/* What says where helm-serve listens, checked, as members of its options. */
int serve_listening(struct cli *r, int64_t port, struct json *options, struct err *e);
void serve_spans(struct cli *r, struct json *options); /* --otlp */
/* --origin: under which name browsers reach the console; without one only by names of this machine. */
int serve_console(struct cli *r, struct json *options, struct err *e);
/* How helm-serve is started: its options lie in a file without a name that it inherits, because everybody on the machine reads command lines. */
struct serve_start {
	const char *argv[4];
	int fd; /* closed by whoever made it */
};
int serve_prepare(struct cli *r, const struct json *options, struct serve_start *ret, struct err *e);
/* helm-serve takes our place.  Returns only when it cannot. */
int serve_become(struct cli *r, const struct json *options, struct err *e);

/* Where helm-serve is: beside this program, or where it is installed.  And this program itself. */
int serve_find_program(struct cli *r, const char **ret, struct err *e);
const char *serve_own_program(struct cli *r);

#endif

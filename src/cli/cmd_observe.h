/* cmd_observe.h — inside cli/: what the commands that look at records share. */
#ifndef CLI_CMD_OBSERVE_H
#define CLI_CMD_OBSERVE_H

#include "cli/cli.h"
#include "observe/observe.h"

struct observed observed_from(struct run *r);
enum paint paint_for_status(const char *status);
/* A text member made safe for a terminal; "-" when it is not there. */
const char *safe_member(struct run *r, const struct json *row, const char *name);
/* One sentence, broken between words at the terminal's width; `used` columns of its first line are written already, later lines begin
 * `indent` columns in. */
void out_sentence(struct run *r, size_t used, size_t indent, const char *text);
/* On a terminal: at most so many columns of it, with an ellipsis where it was cut.  In a pipe: all of it. */
const char *clip(struct run *r, const char *text, size_t columns);
/* What standing() found wrong, each with its remedy. */
void say_wrong(struct run *r, const struct json *wrong);

#endif

/* cmd_actions.h — inside cli/: what the commands that look at records share. */
#ifndef CLI_CMD_ACTIONS_H
#define CLI_CMD_ACTIONS_H

#include "actions/action_index.h"
#include "actions/actions.h"
#include "cli/cli.h"

struct actions_place actions_place_from(struct cli *r);
struct json *standing_from(struct cli *r, const struct actions_place *o);
/* The actions on record, of everybody, for states and sentences in lists; NULL: they cannot be read, and receipts are shown as they are.  Says on
 * standard error when the list is not whole yet. */
struct action_index *actions_of_cli(struct cli *r);
enum paint paint_for_state(enum action_state state);
enum paint paint_for_status(const char *status);
/* A text member made safe for a terminal; "-" when it is not there. */
const char *safe_member(struct cli *r, const struct json *row, const char *name);
/* Puts memory_review_queue_count (null where there are too many tasks to count on the way) and onboarding into a document. */
void put_waiting(struct cli *r, struct json *doc, int64_t tasks);
/* On standard error: how much of a list is shown, and why not all of it. */
void say_part(struct cli *r, const struct part *p, const char *what);

/* The receipt behind rows that were put into the task ledger (kernel/task/task.h); a warning where it cannot be written. */
void cmd_task_bind(struct cli *r, const char *verb, const char *task_id, const struct json *digests);

#endif

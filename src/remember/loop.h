/* loop.h — loops: contracts for work that is repeated.  When to use it, which evidence it must leave, when to stop.
 *
 * The eight members of the Python Helm are kept as they are; a loop that also says how it is run (`profile`, steps with `run`, `limits`) can be
 * executed (kernel/loop.h).  docs/formats/loops.md. */
#ifndef REMEMBER_LOOP_H
#define REMEMBER_LOOP_H

#include "remember/contract.h"

/* In rows of tasks: `meta` names the run of a loop that this is a part of; `kind` of the row for each turn, and of the one for all of it, whose
 * task_id is the run. */
#define LOOP_RUN "loop_run"
#define LOOP_TURN "loop_turn"
#define LOOP_SHIPPED "built-in:" /* how the path of one begins that is in the program */

/* A file, YAML unless it is named .json.  E_MISSING, E_INPUT LOOP_FILE when it is no object. */
int loop_read(const struct contract_place *at, const char *file, struct json **ret, struct err *e);
/* {id, ok, issues[], warnings[], path}.  Issues are those of the specification; warnings what else looks wrong. */
struct json *loop_validate(struct arena *a, const struct json *loop, const char *path);
/* By id, or by the name of the file without its end: references/loops, examples/loops, then those that are shipped.  *ret_path names the file.
 * `warn` gets a sentence for each file that cannot be read; may be NULL.  E_MISSING LOOP_UNKNOWN. */
int loop_find(const struct contract_place *at, const char *id, struct json **ret, const char **ret_path,
	struct json *warnings, struct err *e);
/* [{id, title, path, ok}] of all of them. */
int loop_list(const struct contract_place *at, struct json *warnings, struct json **ret, struct err *e);

/* ---- what it says about being run ---- */

struct loop_step {
	const char *name;
	const char *const *argv; /* NULL: it is for people */
	size_t argc;
};
struct loop_plan {
	const char *id, *profile, *skill; /* skill may be NULL */
	struct loop_step *steps;
	size_t step_count;
	struct loop_step *success, *blocked; /* conditions that are commands: exit 0 says yes */
	size_t success_count, blocked_count;
	int64_t turns, minutes, same_failure, no_change, step_seconds; /* limits; all above 0 */
	const char *sha256; /* of the loop as it is */
};
/* E_INPUT LOOP_PLAN names what is missing or wrong: such a loop can be inspected, and not run. */
int loop_plan(struct arena *a, const struct json *loop, struct loop_plan *ret, struct err *e);

#endif

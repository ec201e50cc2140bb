/* failure.h — how something failed, in a form that can be counted: equal failures have equal fingerprints; and what follows when it happens again.
 *
 * Whatever differs from run to run (paths of this machine, temporary names, ids, hashes, times) is replaced by a name for its kind before the
 * fingerprint is made.  Pure: nothing is read or written here. */
#ifndef REMEMBER_FAILURE_H
#define REMEMBER_FAILURE_H

#include "base/json.h"

struct failure_place {
	const char *workspace, *home; /* absolute; or NULL */
};
/* {component, tool, profile, error_class, target, fingerprint, said?} of a row or event.  `said` is what it printed; n 0: meta.stderr and
 * meta.error of the event.  The member `said` is the line that shows the class (docs/formats/failures.md). */
struct json *failure_signature(
	struct arena *a, const struct json *event, const struct failure_place *at, struct bytes said);
/* What a command says by an exit code that is no failure, "no match" of `grep` and 1; NULL: it is a failure.  `err_n` is how much it wrote on
 * standard error; SIZE_MAX: not known. */
const char *failure_answer(struct arena *a, const struct json *command, int64_t exit_code, size_t err_n);
/* The words of the command whose exit code that of `command`, an argv, is: inside `sh -c` the last one of a pipeline or list.  false: it cannot be
 * told.  *ret_is_sure: no other command can have given that code. */
bool failure_last_command(struct arena *a, const struct json *command, const char *const **ret_words,
	size_t *ret_n, bool *ret_is_sure);
/* A text without what differs from run to run. */
const char *failure_normal(struct arena *a, const struct failure_place *at, const char *text);

/* What it printed in few characters: equal when it said the same, but for times, how long it took, ids and temporary names.  Counts stay: "5 failed" is not
 * "4 failed". */
const char *failure_said(struct arena *a, struct bytes out, struct bytes err);

/* {action, reason, signature} for failures in the order in which they happened, each an object with a `signature`; action null: nothing follows. */
struct json *failure_transition(struct arena *a, const struct json *history);
/* What a run is told: about the last failure only, and the special rule before the general one.  Member `stop`: it happened
 * before, and the command is not to run again unasked. */
struct json *failure_next(struct arena *a, const struct json *history);
#define FAILURE_STOP "stop_retry_and_diagnose"

#endif

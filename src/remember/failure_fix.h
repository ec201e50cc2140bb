/* failure_fix.h — what made a failure go away: the same command in the same directory, which ended well later, after something had changed.
 *
 * Rows are seen from the newest back, each task once, by its last row. */
#ifndef REMEMBER_FAILURE_FIX_H
#define REMEMBER_FAILURE_FIX_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"

struct failure_fix {
	const char *task_id, *command; /* that ended well */
	const char *changed_by; /* the task, or the call of a client, that changed something in between */
	const char *changed; /* a file that it changed; or NULL */
};
struct failure_past;

/* Changes that agent clients made themselves are read from their ledger, those since `since_us` (INT64_MIN: all). */
int failure_past_open(struct sys *s, struct arena *a, int state_fd, int64_t since_us,
	struct failure_past **ret, struct err *e);
void failure_past_see(struct failure_past *p, const struct json *row);
/* Of a failed row, before it is seen.  false: nothing is known to have fixed it. */
bool failure_past_fix(const struct failure_past *p, const struct json *row, struct failure_fix *ret);

#endif

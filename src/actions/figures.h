/* figures.h — inside actions/: figures that several views show, each from the file that has it.
 *
 * All of them give what can be read; what cannot is named by `helm doctor` and by standing(). */
#ifndef ACTIONS_FIGURES_H
#define ACTIONS_FIGURES_H

#include "actions/actions.h"

#define FIGURE_OPERATIONS "memory-operations.jsonl"
#define FIGURE_CRYSTALS "crystallized-sessions.jsonl"

/* {value: how often}: adds one. */
void figure_add(struct arena *a, struct json *counts, const char *value);
/* What a task's row says about being remembered: no_capture_needed, capture_planned, ...; "unknown" when it says nothing. */
const char *figure_finalization(const struct json *row);
/* {finalization_status: n} of these rows. */
struct json *figure_finalizations(struct arena *a, const struct json *rows);
/* [{name, kind, root, mode}]: the workspace itself as KIND-local, then what was adopted. */
struct json *figure_sources(const struct actions_place *o);
/* The same, names only. */
struct json *figure_source_names(const struct actions_place *o);
/* skill_drafts/NAME/meta/assessment.json, the newest last, at most `limit`. */
struct json *figure_drafts(const struct actions_place *o, size_t limit);
/* The last rows of a ledger beside the task's, oldest first; none when it is not there. */
struct json *figure_tail(const struct actions_place *o, const char *file, size_t limit);
/* Does this row of the command log say that the command failed?  One that says nothing has not ended. */
bool figure_is_failed(const struct json *row);
/* Of the last `lines` of the command log the last `limit` that failed, oldest first.  *ret_count: how many failed; or NULL. */
struct json *figure_failed_commands(
	const struct actions_place *o, size_t lines, size_t limit, int64_t *ret_count);

#endif

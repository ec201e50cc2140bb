/* standing.h — how things stand in a workspace, for everybody who tells a person.
 *
 * One function collects the facts once; status, brief, dashboard, doctor and guard all print from what it
 * gives, so they cannot disagree.  The document is described in docs/formats/status.md. */
#ifndef KERNEL_STANDING_H
#define KERNEL_STANDING_H

#include "kernel/workspace.h"
#include "record/record.h"

/* Reads only, and never fails: what cannot be read is said in `wrong`, with the command that mends it. {
 * profile, policy_in_use (only when there is one), freeze, containment, calls, approvals, wrong, reasons, notes }.  `reasons` are sentences about
 * what needs a person, the worst first; nothing is well while there is one.  `notes` are choices other than
 * the shipped ones. */
struct json *standing(struct sys *s, struct arena *a, struct workspace *ws);

/* The same with totals, however long it takes to bring the index up to date; `shown` may be NULL. */
struct json *standing_patient(
	struct sys *s, struct arena *a, struct workspace *ws, const struct index_progress *shown);

#endif

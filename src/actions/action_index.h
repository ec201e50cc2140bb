/* action_index.h — one row for each action on record, to be searched, counted and paged through.
 *
 * Rows are of decisions with their outcomes, of calls of an agent that only read and have no receipt of their own, and of what a person or Helm
 * itself put into the chain.  They are a projection in SQLite, <state>/acts-index.sqlite3, caught up by place before each question; it may be
 * thrown away at any time and is never asked when something is decided.  What a row does not say itself (is the question still open, does the
 * run go on, was the checkpoint restored) is found out when it is read. */
#ifndef ACTIONS_ACTION_INDEX_H
#define ACTIONS_ACTION_INDEX_H

#include "actions/action.h"
#include "kernel/workspace.h"
#include "record/record.h"

#define ACTION_INDEX "acts-index.sqlite3"

struct action_index;
/* Whose actions are asked about; what names no tenant is that of the installation.  { 0 }: everybody's. */
struct actions_of {
	const char *tenant, *home;
};
/* Up to what is on disk at this moment.  INDEX_SOON: what can be read in about two seconds; *ret_is_behind: there was more, and the next call
 * goes on.  Where the file cannot be written, rows are made for this question alone.  `ws` says which questions are open. */
int action_index_open(struct sys *s, struct arena *a, const struct workspace *ws, struct actions_of whose,
	enum index_how how, struct action_index **ret, bool *ret_is_behind, struct err *e);
void action_index_close(struct action_index **x);

/* Which ones; NULL and 0 mean any. */
struct action_filter {
	const char *verdict; /* ALLOW, DENY, ESCALATE; "stopped": the last two */
	const char *who, *session, *tool, *rule, *kind;
	const char *
		text; /* anywhere in the sentence, the ids or the rule; letter case of ASCII does not count */
	int64_t from_us, to_us;
	bool leaves_out_self_tests; /* of 'helm setup': no agent asked for them */
};
/* Behind which row a page begins; { 0 } is the newest. */
struct action_cursor {
	int64_t at_us, n;
};
/* Valid during the call only; returns 0 to go on, > 0 to stop, or a negative rc. */
typedef int action_visit(void *arg, const struct action *row, struct err *e);
/* The newest first, at most `limit`. */
int action_list(struct action_index *x, const struct action_filter *f, struct action_cursor from,
	size_t limit, action_visit *fn, void *arg, struct err *e);
/* How many; counting stops at `most`. */
int action_count(
	struct action_index *x, const struct action_filter *f, int64_t most, int64_t *ret, struct err *e);
/* {state: how many}, of actions of agents; states that none is in are left out. */
int action_states(struct action_index *x, const struct action_filter *f, struct json **ret, struct err *e);
/* By its id: of a decision, a receipt (with or without its mark) or a call; a unique beginning is enough.  In the arena of the index; *ret
 * NULL: there is none. */
int action_find(struct action_index *x, const char *id, struct action **ret, struct err *e);
/* {value, count} of different values of a column and how often each occurs among the newest 5,000, the most frequent first: "who", "tool", "rule",
 * "session", "kind". */
int action_values(
	struct action_index *x, const char *column, size_t limit, index_visit *fn, void *arg, struct err *e);

/* What was asked, and how it was answered, oldest first. */
int action_list_question(
	struct action_index *x, const char *approval_id, action_visit *fn, void *arg, struct err *e);
/* The newest action that asked it; *ret NULL: there is none. */
int action_of_question(struct action_index *x, const char *approval_id, struct action **ret, struct err *e);

#endif

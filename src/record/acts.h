/* acts.h — part of record.h: one row for each act on record, to be searched and paged through.
 *
 * An act is a decision with its outcome, a call of an agent that only read and has no receipt of its own, or something that a person or
 * the boundary itself put into the chain.  The rows are a projection in SQLite, <state>/acts-index.sqlite3, caught up by place before each
 * question; it may be thrown away at any time and is never asked when something is decided. */
#ifndef RECORD_ACTS_H
#define RECORD_ACTS_H

#include "record/index.h"

#define ACTS_FILE "acts-index.sqlite3"

struct acts;
/* Whose acts are asked about; what names no tenant is that of the installation. */
struct acts_of {
	const char *tenant, *home;
};
/* Up to what is on disk at this moment; *ret_is_behind: there was more than can be read in about two seconds, and the next call goes on.  Every
 * answer is about what is this tenant's. */
int acts_open(const struct index_place *at, struct acts_of whose, struct acts **ret, bool *ret_is_behind,
	struct err *e);
void acts_close(struct acts **x);

/* Which ones; NULL and 0 mean any. */
struct acts_filter {
	const char *verdict; /* ALLOW, DENY, ESCALATE; "stopped": the last two */
	const char *who, *session, *tool, *rule, *kind;
	const char
		*text; /* anywhere in the caption, the ids or the rule; letter case of ASCII does not count */
	int64_t from_us, to_us;
	bool leaves_out_self_tests; /* of 'helm setup': no agent asked for them */
};
/* Behind which row a page begins; { 0 } is the newest. */
struct acts_cursor {
	int64_t at_us, n;
};
/* The newest first, at most `limit`: {id, at, at_us, n, kind, verdict, reason, rule, who, session, tool, door, caption, status, clock,
 * outcome_clock, approval_id, task_id, place}; self_test is there only when it is true. */
int acts_list(struct acts *x, const struct acts_filter *f, struct acts_cursor from, size_t limit,
	index_visit *fn, void *arg, struct err *e);
/* How many; counting stops at `most`. */
int acts_count(struct acts *x, const struct acts_filter *f, int64_t most, int64_t *ret, struct err *e);
/* By its id: of a decision, a receipt (with or without its mark) or a call; a unique beginning is enough.  *ret NULL: there is none. */
int acts_find(struct acts *x, const char *id, struct json **ret, struct err *e);
/* Different values of a column and how often each occurs among the newest 5,000, the most frequent first: "who", "tool", "rule", "session", "kind". */
int acts_values(struct acts *x, const char *column, size_t limit, index_visit *fn, void *arg, struct err *e);

/* What was asked, and how it was answered, oldest first. */
int acts_of_question(struct acts *x, const char *approval_id, index_visit *fn, void *arg, struct err *e);

#endif

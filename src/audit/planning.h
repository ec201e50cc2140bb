/* planning.h — inside audit/: a repair in the making, as repair.c (the chain) and repair_rows.c (the ledgers) share it. */
#ifndef AUDIT_PLANNING_H
#define AUDIT_PLANNING_H

#include "audit/parts.h"

struct stand;
struct line;

/* The plan in the making.  plan.clock and plan.last are those of the last receipt that was kept, over all
 * files so far. */
struct planning {
	struct sys *sys;
	struct arena *a;
	struct recorder *r;
	struct trust trust; /* and the gaps that are on record */
	struct gaps known;
	const struct log_cut *cut;
	struct log_plan plan;
	const char *session;
	struct stand *stands; /* one for each file that was planned for, */
	size_t stand_n;
	size_t from; /* and from which of them on it is to be done again */
	struct file_mark heads; /* as they were read */
	const struct log_report *report; /* what the check found */
	struct log_mend
		bad_heads; /* what to do about them; there is room in the plan for one file more than the chain has */
	int leaves_fd; /* a nameless file with the leaves that the log will have, as lines; -1: there can be none */
	/* The file being read. */
	const struct log_file *file;
	struct line *lines;
	size_t n, cap;
};

/* What is to be done about the chain as it is now, for the reasons in the report; from the first file on that is not as it was when this
 * was asked before. */
int plan_log(struct planning *p, enum cut_lock lock, const struct log_report *report, struct err *e);
/* audit_repair() of the chain alone: ret->report is filled. */
int repair_chain(struct recorder *r, struct arena *a, const struct trust *trust,
	const struct log_check_options *options, bool apply, struct log_repaired *ret, struct err *e);

#endif

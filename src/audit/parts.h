/* parts.h — inside audit/: what checking and repairing share. */
#ifndef AUDIT_PARTS_H
#define AUDIT_PARTS_H

#include "audit/audit.h"
#include "proof/gap.h"
#include "proof/segment.h"

enum { LEAF_TEXT = 65 }; /* a line of log/leaves */

/* One look at the log, with the lock as it says; *ret_is_current: nobody has written since.  See log_check(). */
int log_check_cut(struct sys *s, struct arena *a, int state_fd, enum cut_lock lock, const struct trust *trust,
	const struct log_check_options *options, struct log_report *ret, bool *ret_is_current, struct err *e);

/* What repairs in this log have put on record, as far as their signers are trusted: gaps, and with `mended` not NULL rows about files that
 * were changed.  Seams stand behind the holes they tell of, so the whole chain is searched. */
void audit_seams(const struct log_cut *cut, struct arena *a, const struct trust *trust, struct gaps *gaps,
	struct json *mended);

/* audit_rows() that puts digests into files when there are more than so many. */
int audit_rows_within(struct sys *s, struct arena *a, int state_fd, bool all, size_t in_memory,
	struct log_report *report, struct err *e);

/* A file without a name, for what does not fit into memory; -1 when there can be none. */
int audit_open_nameless(struct sys *s);

/* notes_check.c: begin, give it every receipt in order, end; done frees what it holds. */
struct notes_result {
	uint64_t bound; /* receipts that speak of notes */
	uint64_t changed; /* of them, those that say something else than the ledger */
	uint64_t away; /* and those whose notes lie in archived pieces */
	uint64_t bad[20]; /* clocks of the first that are changed */
};
struct notes_check;
/* Called with each bound note that has "rows_sha256": digests of rows of other ledgers.  `clock` is that of the receipt that binds it. */
typedef int notes_visit(void *arg, uint64_t clock, const struct json *digests, struct err *e);
struct notes_check *notes_check_begin(
	struct sys *s, struct arena *a, int state_fd, notes_visit *fn, void *arg, struct notes_result *ret);
int notes_check_take(struct notes_check *c, const struct json *receipt, uint64_t clock, struct err *e);
int notes_check_end(struct notes_check *c, struct err *e);
void notes_check_done(struct notes_check *c);

#endif

/* parts.h — inside audit/: what checking and repairing share. */
#ifndef AUDIT_PARTS_H
#define AUDIT_PARTS_H

#include "audit/audit.h"
#include "audit/keys.h"
#include "proof/gap.h"
#include "proof/segment.h"
#include "record/keys.h"

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

/* evidence_rows.c: rows that the receipts of a pack bind.  Take every receipt of the pack, be ready, then show it every row of the ledgers. */
enum { BOUND_KEY = 16 };
struct bound_rows {
	struct arena *a;
	uint8_t (*keys)[BOUND_KEY];
	size_t n, cap;
	uint8_t *found; /* a bit for each */
	bool is_over; /* there are more than are compared */
};
void bound_take(struct bound_rows *b, const struct json *receipt);
void bound_ready(struct bound_rows *b);
bool bound_meet(struct bound_rows *b, struct bytes row); /* true: a receipt binds it */
/* {compared, bound, missing, absent: [first half of the digest]} */
struct json *bound_json(const struct bound_rows *b);
/* evidence_notes.c: notes of calls that the receipts of a pack sign. */
struct noted_part;
struct noted_parts {
	struct arena *a;
	bool is_carried; /* the pack is of everything: they go along */
	struct noted_part **list;
	size_t n, cap;
	uint64_t bound; /* receipts that speak of notes */
};
void noted_take(struct noted_parts *n, const struct json *receipt);
/* Files for the pack; {carried, bound, absent: [clock]} for record.json. */
struct json *noted_items(struct noted_parts *n, struct sys *s, int state_fd,
	void (*add)(void *arg, struct pack_item item), void *arg);
/* evidence_shown.c: what was asked, by the digests that the receipts of a pack have. */
struct shown_wanted {
	struct arena *a;
	struct shown_one {
		struct hash digest;
		bool is_taken;
	} * list;
	size_t n, cap;
};
void shown_take(struct shown_wanted *w, const struct json *receipt);
/* Files for the pack; {bound, carried} for record.json. */
struct json *shown_items(struct shown_wanted *w, struct sys *s, int state_fd,
	void (*add)(void *arg, struct pack_item item), void *arg);
/* keys_check.c: the key history as it lies there. */
struct key_history {
	struct bytes raw, text; /* all of it; without a torn last line */
	bool is_there, is_unbroken;
	const char *why; /* it is broken; NULL: it is not, or not there */
	const char *active; /* the key of its last link; "" */
	struct keys_end end; /* how far it went; links 0: not known */
	const struct verification *v; /* or NULL */
};
/* False when it cannot be read now. */
bool audit_history_read(
	struct sys *s, struct arena *a, const char *dir, struct key_history *ret, struct err *e);

/* A file without a name, for what does not fit into memory; -1 when there can be none. */
int audit_open_nameless(struct sys *s);

struct rows_kept;
struct losses;
/* notes_check.c: begin, give it every receipt in order, end; done frees what it holds. */
struct notes_result {
	uint64_t bound; /* receipts that speak of notes */
	uint64_t changed; /* of them, those that say something else than the ledger */
	uint64_t away; /* and those whose notes lie in archived pieces */
	uint64_t bad[20]; /* clocks of the first that are changed */
	struct rows_kept *kept; /* or NULL: every part that receipts speak of */
	struct losses *lost; /* what is on record */
	uint64_t excused; /* parts that are */
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

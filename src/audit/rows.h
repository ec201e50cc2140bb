/* rows.h — inside audit/: what receipts say of rows of ledgers, what is there, and what is lost on record. */
#ifndef AUDIT_ROWS_H
#define AUDIT_ROWS_H

#include "audit/parts.h"
#include "base/hash.h"

enum { ROW_KEY = 16, LEDGER_SHIFT = 61 };

/* Those whose rows are compared, and behind them the one whose text is. */
enum { LEDGERS_OF_ROWS = 7, LEDGERS_OF_ALL = 8 };
extern const char *const audit_ledgers[LEDGERS_OF_ALL];

/* A digest that a receipt names, or that a row has. */
struct mark {
	uint8_t key[ROW_KEY];
	uint64_t clock; /* of the receipt */
	uint64_t place; /* of the row, with its ledger in the top bits; NOWHERE: not found yet */
	uint32_t note; /* 0: the receipt itself names it; else which of the notes */
	uint32_t i; /* which of the digests there */
};
#define NOWHERE UINT64_MAX

/* ---- what seams of repairs tell of rows (rows_lost.c) ---- */

struct lost_row {
	uint64_t clock;
	uint32_t from, to; /* its digests with these numbers, the last one included */
};
struct lost_key { /* a row that a note speaks of */
	uint64_t clock;
	uint8_t key[ROW_KEY];
};
struct lost_notes {
	uint64_t clock;
	int64_t at; /* they stand there now, unchanged; -1: they are lost, */
	const char *now; /* and this is the digest of what stands in their place; "": anything may */
};
struct lost_piece {
	const char *name, *now; /* "": it is not there */
};
struct losses {
	struct arena *a;
	struct lost_row *rows;
	struct lost_key *keys;
	uint64_t *moved;
	struct lost_notes *notes;
	struct lost_piece *pieces;
	size_t row_n, row_cap, key_n, key_cap, moved_n, moved_cap, note_n, note_cap, piece_n, piece_cap;
	bool is_sorted;
	struct json *told; /* one row for each seam that tells of any: {receipt, rows, notes, pieces} */
};
/* Nothing when it is no seam, or its metadata is not what was signed.  Whether the signature counts is the check of the log's question. */
void losses_take(struct losses *l, const struct json *receipt);
bool losses_have_row(struct losses *l, const struct mark *m);
bool losses_have_order(struct losses *l, uint64_t clock);
const struct lost_notes *losses_of_notes(const struct losses *l, uint64_t clock);
/* The piece is on record as being like this; `now` "" when it is not there. */
bool losses_have_piece(const struct losses *l, const char *name, const char *now);

/* ---- what a check keeps for the repair ---- */

struct notes_range {
	uint64_t clock;
	off_t from, to;
	uint8_t hash[SHA256_SIZE];
	bool is_good; /* or on record */
};
struct bad_piece {
	const char *name;
	int64_t clock;
	char expected[SHA256_HEX], found[SHA256_HEX]; /* "": it is not there */
	bool is_elsewhere; /* it was moved away: not ours to change */
};
struct rows_kept {
	struct arena *a;
	enum cut_lock lock; /* CUT_LOCKED: the caller has the log's lock */
	struct mark *list; /* all of them, by receipt, note and number */
	size_t n;
	struct losses *lost; /* what is on record already */
	struct notes_range *ranges; /* in the order of the chain */
	size_t range_n, range_cap;
	struct bad_piece *pieces;
	size_t piece_n, piece_cap;
	uint64_t *entries; /* places of rows of MEMORY_ENTRIES that are not what their receipts say */
	size_t entry_n, entry_cap;
};
/* rows_lines.c: lines of the newest files that are no rows; and rows of memory against the receipts that they name. */
int rows_check_readable(
	struct sys *s, struct arena *a, int state_fd, struct log_report *report, struct err *e);
int rows_check_memory(struct sys *s, struct arena *a, int state_fd, struct log_report *report,
	struct rows_kept *kept, struct err *e);
/* audit_rows() of everything, with what it found. */
int audit_rows_keep(struct sys *s, struct arena *a, int state_fd, enum cut_lock lock,
	struct log_report *report, struct rows_kept *ret, struct err *e);
/* Every receipt, as receipts_each() gives them. */
int audit_receipts(
	struct sys *s, int state_fd, enum cut_lock lock, receipt_visit *fn, void *arg, struct err *e);

/* rows_plan.c: what is to be done about it; plan->ledgers and plan->lost.  Nobody appends to the ledgers meanwhile, or it is only to be shown. */
int rows_plan(struct sys *s, struct arena *a, int state_fd, const struct rows_kept *kept,
	struct log_plan *plan, struct err *e);

/* One more at the end of a list that grows. */
#define GROW(a, list, n, cap) \
	do { \
		if ((n) == (cap)) { \
			size_t more = (cap) ? 2 * (cap) : 16; \
			(list) = arena_grow((a), (list), (cap) * sizeof(*(list)), more * sizeof(*(list))); \
			(cap) = more; \
		} \
	} while (0)

#endif

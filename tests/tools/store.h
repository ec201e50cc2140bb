/* store.h — large records, made fast: a chain of any length as the program writes it, and rows beside it.
 *
 * For tests and benchmarks that ask how things behave at a million.  Receipts are signed and chained by the recorder itself, in
 * large batches, so what comes out is what years of work would leave: rotated files, leaves, signed heads. */
#ifndef TOOLS_STORE_H
#define TOOLS_STORE_H

#include "record/record.h"

struct store_plan {
	uint64_t receipts; /* a decision with its record, then its outcome, and so on */
	uint64_t rows; /* of command-log.jsonl, not synced */
	uint64_t rotate_bytes; /* 0: as usual */
	int64_t start_us, step_us; /* the first receipt's time and the time between two; 0: now, none */
	const char *door; /* of decisions; NULL: "run" */
	uint64_t denied; /* so many of the first decisions are denials */
	const char *session; /* named in every second decision; or NULL */
	/* Every decision and outcome is a task of its own, with the four rows of a run in the ledgers, their digests in the outcome's
	 * receipt, and older pieces of the ledgers sealed. */
	bool has_tasks;
	uint64_t first; /* the number of the first pair, for a store that is filled in several calls */
	uint64_t calls; /* with has_tasks: rows of tool calls before each task, of one supervised session */
	bool is_unsynced; /* nothing is made durable: for millions, on a machine that is not switched off meanwhile */
};

/* Append all of it to the state directory.  The key is the caller's. */
int store_fill(struct sys *s, int state_fd, struct key *key, const struct store_plan *plan, struct err *e);

#endif

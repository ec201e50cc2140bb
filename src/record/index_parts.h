/* index_parts.h — inside record/: what index.c (making it) and index_ask.c (asking it) share. */
#ifndef RECORD_INDEX_PARTS_H
#define RECORD_INDEX_PARTS_H

#include "record/db.h"
#include "record/index.h"
#include "record/segments.h"

enum { INDEX_SOURCES = 4 };

/* An open index. */
struct index {
	struct index_place at;
	const struct index_progress *shown; /* or NULL */
	struct db *db;
	struct json *warnings; /* lines that are no rows */
	int64_t reached[INDEX_SOURCES]; /* how far each source had been read when the index was caught up */
	off_t tasks_until; /* rows of the task ledger from here on are not read; 0: all are, -1: none */
	bool is_whole; /* about everything, not only the newest rows */
	const char *note; /* why it is not the kept one; or NULL */
};

/* Numbers that are kept as they change. */
struct tally {
	int64_t receipts, allowed, denied, asked, outcomes, self_tests, failed_commands, stopped_calls;
};

struct db_value key_of(const char *text);

/* index_receipts.c: the block of the chain that is being made, of one step of reading. */
struct chain_blocks {
	struct arena a;
	struct buf keys;
	int64_t first, last; /* clocks */
	int64_t file, bytes;
	bool is_begun, is_changed;
};
int chain_blocks_add(struct chain_blocks *b, struct db *db, struct arena *a, const struct json *receipt,
	off_t place, size_t bytes, struct err *e);
int chain_blocks_flush(struct chain_blocks *b, struct db *db, struct err *e);

/* index_calls.c: calls of one step of reading, summed up by the minute. */
struct call_minutes {
	int64_t from_us; /* older ones are not counted */
	struct call_minute {
		int64_t minute, last_us;
		struct entry_tally n;
		bool is_begun;
	} of[ENTRY_POINTS];
};
void call_minutes_begin(struct call_minutes *c, struct sys *s);
/* `row` has the verdict; one whose time cannot be read is not counted. */
int call_minutes_add(struct call_minutes *c, struct db *db, enum entry_point entry, const struct json *row,
	const char *at, bool is_self_test, struct err *e);
/* A decision; one of another entry point is not counted. */
int call_minutes_add_receipt(
	struct call_minutes *c, struct db *db, const struct json *receipt, struct err *e);
/* And forget what is older than two days. */
int call_minutes_flush(struct call_minutes *c, struct db *db, struct err *e);

#endif

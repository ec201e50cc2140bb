/* index_parts.h — inside record/: what index.c (making it) and index_ask.c (asking it) share. */
#ifndef RECORD_INDEX_PARTS_H
#define RECORD_INDEX_PARTS_H

#include "record/db.h"
#include "record/index.h"
#include "record/segments.h"

/* An open index. */
struct index {
	struct index_place at;
	struct db *db;
	struct json *warnings; /* lines that are no rows */
	bool is_whole; /* about everything, not only the newest rows */
	const char *note; /* why it is not the kept one; or NULL */
};

/* Numbers that are kept as they change. */
struct tally {
	int64_t receipts, allowed, denied, asked, outcomes, self_tests, failed_commands, stopped_calls;
};

struct db_value key_of(const char *text);

#endif

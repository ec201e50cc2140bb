/* index_parts.h — inside remember/: the index of a search, what fills it (context_index.c) and what asks it (context_lookup.c). */
#ifndef REMEMBER_INDEX_PARTS_H
#define REMEMBER_INDEX_PARTS_H

#include "base/hash.h"
#include "record/db.h"
#include "record/record.h"
#include "remember/context_parts.h"

#define CONTEXT_INDEX "context-index.sqlite3"

enum doc_kind { DOC_FILE, DOC_TASK, DOC_COMMAND };

/* Files that are there and not in the index as they are now: they are read. */
struct pending {
	struct note_file *files;
	size_t count, room;
};

/* How far one ledger is in the index, and what lies behind. */
struct ledger_state {
	off_t place; /* the next row that is not in it */
	off_t last; /* the last one that is; -1: none */
	char mark[SHA256_HEX]; /* of that row */
	int64_t damaged; /* lines that are no rows, so far */
};

struct indexed_source {
	int64_t id; /* 0: not known to the index yet */
	int64_t swept_us, took_us, newest_us;
	struct ledger_state tasks, commands;
	struct pending pending;
	bool is_ready; /* files are looked at */
};

struct context_index {
	struct search *x;
	struct db *db;
	bool is_broken; /* something failed: everything is read instead */
	bool is_closed; /* cannot be written now */
	bool is_some; /* second round: most of the words are enough */
	struct idset words; /* put into the index in this process */
	struct arena a; /* of one document */
	int64_t stop_us,
		rows_stop_us; /* no more files, and no more rows, are added behind this; 0: not known yet */
	struct indexed_source of[MAX_SOURCES];
};

/* The state of this source, loaded and caught up; NULL when it cannot be. */
struct indexed_source *index_source(struct context_index *ix, struct source *s, bool for_files);
/* Rows of a ledger from the place where the index ends, as they are now: taken into the index when there are many. */
int index_catch_up(struct context_index *ix, struct source *s, struct indexed_source *is, enum doc_kind kind,
	struct err *e);

static inline const char *ledger_of(enum doc_kind kind)
{
	return kind == DOC_TASK ? TASK_LEDGER : COMMAND_LOG;
}

#endif

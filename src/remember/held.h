/* held.h — inside remember/: the lines of memory that are on record and hold now. */
#ifndef REMEMBER_HELD_H
#define REMEMBER_HELD_H

#include "remember/memory.h"

struct held_line {
	const struct json *entry; /* with event_sha256, as memory_entries_bound() gives it */
	const char *text; /* as it was written */
	bool is_told;
};
struct held {
	struct memory_place m;
	struct arena *a;
	struct json *entries; /* all */
	struct held_line *lines; /* of those that hold, the newest first */
	size_t n, room;
	struct json *files; /* that were read */
};
int held_load(struct memory_place *m, struct arena *a, struct held *ret, struct err *e);
/* The number of the line in its file, which still says exactly that; 0: it does not any more. */
int64_t held_place(struct held *h, const struct held_line *l);

#endif

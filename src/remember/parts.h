/* parts.h — inside remember/: what its files share. */
#ifndef REMEMBER_PARTS_H
#define REMEMBER_PARTS_H

#include "remember/memory.h"

/* Lower case and composed, of any bytes. */
const char *memory_lower(struct arena *a, const char *text, size_t n);
/* The member `name` of an object, made as an empty list when it is not there. */
struct json *doc_part_list(struct arena *a, struct json *doc, const char *name);

/* When a row happened, in microseconds; INT64_MIN when no member of it says so. */
enum memory_order { MEMORY_BY_START, MEMORY_BY_END };
int64_t memory_row_time(const struct json *row, enum memory_order by);
/* Newest first; rows without a time, and those of the same one, keep their order. */
void memory_sort_rows(struct arena *a, struct json *rows, enum memory_order by);

/* A line that does not hold any more, as it stands in the file. */
const char *memory_struck(struct arena *a, const char *line);
bool memory_is_line(
	struct arena *a, const struct json *lines, struct bytes text); /* one of these, struck or not */

/* Names to be looked up: add all, then ask. */
struct names {
	struct arena *a;
	const char **list;
	size_t n, room;
	bool is_sorted;
};
void names_add(struct names *x, const char *name); /* NULL and "" add nothing */
bool names_has(struct names *x, const char *name);

#endif

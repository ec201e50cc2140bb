/* harvest.h — inside propose/: shared by the readers of files that hold commands. */
#ifndef PROPOSE_HARVEST_HARVEST_H
#define PROPOSE_HARVEST_HARVEST_H

#include "base/text.h"
#include "propose/propose.h"

/* The list under construction, shared by all readers. */
struct harvest {
	struct arena *a;
	struct snippet *list;
	size_t n, room;
};

/* Text of one snippet; bytes are not copied. */
void harvest_add(
	struct harvest *h, struct bytes text, uint32_t line, const char *where, bool is_in_container);

/* The next line without its newline; false at the end.  *line counts from 1. */
struct line_reader {
	struct bytes rest;
	uint32_t line;
};
bool harvest_line(struct line_reader *in, struct bytes *ret);

struct bytes harvest_trim(struct bytes b); /* blanks at both ends */
size_t harvest_indent(struct bytes b); /* leading blanks */
bool harvest_starts(struct bytes b, const char *prefix);

void harvest_make(struct harvest *h, struct bytes text);
void harvest_yaml(struct harvest *h, struct bytes text, bool is_gitlab);

#endif

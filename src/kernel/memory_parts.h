/* memory_parts.h — inside kernel/: what memory.c and memory_write.c share. */
#ifndef KERNEL_MEMORY_PARTS_H
#define KERNEL_MEMORY_PARTS_H

#include "kernel/memory.h"

/* All who change memory take turns. */
int memory_take_lock(struct kernel *k, int *ret, struct err *e);
/* prefix and YYYYMMDDHHMMSSffffff, later than that of the last row: whoever calls has the lock. */
int memory_next_id(struct kernel *k, struct arena *a, const char *file, const char *prefix, char **ret_id,
	const char **ret_time, struct err *e);
/* A Markdown file below notes/ or memory/ that is neither ontology nor tree. */
bool memory_is_note(struct arena *a, const char *file);

#endif

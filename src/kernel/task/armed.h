/* armed.h — inside task/: auto-run files as they were before a run. */
#ifndef KERNEL_TASK_ARMED_H
#define KERNEL_TASK_ARMED_H

#include "base/mem.h"

#include <stdbool.h>
#include <sys/stat.h>

/* What of a file counts.  Most are not to be written at all; what git writes in ordinary work is read. */
enum armed_kind {
	ARMED_WHOLE,
	ARMED_CONFIG, /* settings that make git start something */
	ARMED_TODO, /* commands among the steps of a rebase that waits to go on */
	ARMED_COMMON /* of a further work tree: anything but the repository that it lies in */
};

/* One such file, as it was. */
struct armed_file {
	const char *root, *path; /* path: below root */
	struct stat st;
	struct bytes text; /* of a file; p NULL: not kept */
	const char *target; /* of a symbolic link; or NULL */
	enum armed_kind kind;
	struct armed_file *next;
};

struct armed_file *armed_find(struct armed_file *list, const char *root, const char *path);
/* The same files, in the same order, and none was touched in between. */
bool armed_is_same_list(const struct armed_file *x, const struct armed_file *y);

#endif

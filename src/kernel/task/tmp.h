/* tmp.h — a private place for temporary files, empty and untouched by anybody (tmp.c). */
#ifndef KERNEL_TASK_TMP_H
#define KERNEL_TASK_TMP_H

#include "base/mem.h"
#include "base/sys.h"

struct task_tmp {
	const char *path, *name; /* name: of a spare one; or NULL */
	const char *all; /* the directory that those of all runs lie in; or NULL */
	int fd, rack; /* locked while in use */
};
/* Below `base`. */
void task_tmp_take(struct sys *s, struct arena *a, const char *base, struct task_tmp *ret);
/* Everything in it is gone afterwards. */
void task_tmp_give(struct sys *s, struct task_tmp *tmp);

#endif

/* sources.h — adopting the memory of another program: a person's act, on record before it takes effect (remember/adopt.h). */
#ifndef KERNEL_SOURCES_H
#define KERNEL_SOURCES_H

#include "kernel/kernel.h"
#include "remember/adopt.h"

/* The workspace as remember/ sees it. */
struct context_place sources_place(struct sys *s, struct arena *a, const struct workspace *ws);

/* A person makes this workspace, and it has no registry of sources yet: what lies in it later counts, unless a repository can have brought it. */
int sources_begin(struct sys *s, struct arena *a, const struct workspace *ws, struct err *e);

/* Errors of source_put(), source_remove(), person_is_outside(), person_may_loosen(). */
int sources_adopt(struct kernel *k, struct arena *a, const struct json *record, const char **ret_receipt_id,
	struct err *e);
int sources_drop(
	struct kernel *k, struct arena *a, const char *name, const char **ret_receipt_id, struct err *e);

#endif

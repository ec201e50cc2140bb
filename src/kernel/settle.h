/* settle.h — inside kernel/: questions that are answered already. */
#ifndef KERNEL_SETTLE_H
#define KERNEL_SETTLE_H

#include "kernel/kernel.h"

/* The decision asks.  When somebody or something has answered, h->verdict becomes V_ALLOW and h->settled
 * says by what; else nothing changes.  Only ever called on V_ESCALATE: a denial is never settled. */
void settle(struct kernel *k, const struct request *q, struct handling *h);

/* What a yes to it is about: each reason to ask, as grants say it, and each script that was looked into. */
struct json *settled_terms(const struct handling *h);
/* Scripts whose text was looked into, with the digest of what was read. */
struct json *judged_files(struct arena *a, const struct proposal *p);

/* The same without doing anything: h->verdict and h->settled as settle() would leave them, but for the id of a checkpoint.  Looks, and
 * writes nothing; a grant is named, not used up, and its signature is checked when it is used. */
void would_settle(struct kernel *k, const struct request *q, struct handling *h);

/* undo.c: can everything it asks about be undone, and was it saved just now?  Then h->settled names the
 * checkpoint. */
bool undo_settles(struct kernel *k, const struct request *q, struct handling *h);
/* undo.c: would undo_settles() say so?  Looks, and writes nothing; *ret_why is the doubt, or NULL. */
bool undo_would_settle(struct kernel *k, const struct request *q, struct handling *h, const char **ret_why);
/* undo.c: save what a destructive call may lose, as far as that can be done in a few seconds; h->settled
 * names the checkpoint. */
void undo_save(struct kernel *k, const struct request *q, struct handling *h);
/* undo.c: save the files that an allowed command will write over, where the workspace wants losses saved. */
void undo_save_overwritten(struct kernel *k, const struct request *q, struct handling *h);

#endif

/* approval.h — inside kernel/: the document of requests and grants, and how a decision meets it. */
#ifndef KERNEL_APPROVAL_H
#define KERNEL_APPROVAL_H

#include "kernel/kernel.h"

/* Hold the lock, read, change, write: what is read under the lock is what is replaced. */
struct approval_store {
	struct kernel *k;
	struct json *doc, *requests, *grants;
	int lock_fd;
};
int approval_store_open(struct approval_store *st, struct kernel *k, struct err *e);
void approval_store_close(struct approval_store *st); /* for AUTO(), with lock_fd -1 */
/* Old ones that are settled go; the rest is on disk when this returns OK. */
int approval_store_write(struct approval_store *st, struct err *e);

/* `doc`: as approvals_load() gave it, or NULL when it could not be read.
 *
 * Does a grant that is kept answer the decision?  Then o->settled is filled, and what may be used once has been used up on disk.
 * Whatever cannot be read or verified grants nothing; o->approval_note says so. */
bool approval_lifts(struct kernel *k, const struct request *q, const char *args, const struct json *doc,
	struct handling *o);

/* The question as a person will read it: o->question, its digest, and whether the same one is kept already. */
int approval_pose(struct kernel *k, const struct request *q, const char *args, const struct json *doc,
	struct handling *o, struct err *e);
/* After the decision is on record: keep the question where a person finds it. */
int approval_keep(struct kernel *k, struct handling *o, struct err *e);

/* Is this a grant we signed, unchanged?  Then *ret is what it grants. */
bool approval_is_ours(struct kernel *k, const struct json *receipt, struct approval *ret);

/* The signed decision that this entry's request was made for is ours and is about these very bytes. */
bool approval_is_genuine(struct kernel *k, const struct json *entry);

/* The client asked its own person, who said yes: the call has been made. */
int approval_answered_elsewhere(struct kernel *k, const char *id, struct err *e);

/* SHA-256 over the canonical bytes. */
char *approval_digest(struct arena *a, const struct json *doc);

/* kernel.c: the exact input of a request, as receipts have it. */
char *kernel_args_digest(struct kernel *k, const struct request *q);

/* gate.c: the same pause in the original's file, for its readers. */
int gate_open(struct kernel *k, const struct json *request, struct err *e);
int gate_close(struct kernel *k, const struct json *request, const char *response, const char *responder,
	struct err *e);

#endif

/* parts.h — inside approval/: the document of requests and grants, and proof of what stands in it. */
#ifndef KERNEL_APPROVAL_PARTS_H
#define KERNEL_APPROVAL_PARTS_H

#include "kernel/approval/approval.h"

/* Hold the lock, read, change, write: what is read under the lock is what is replaced. */
struct approval_store {
	struct kernel *k;
	struct arena *a;
	struct json *doc, *requests, *grants;
	int lock_fd;
};
int approval_store_open(struct approval_store *st, struct kernel *k, struct arena *a, struct err *e);
void approval_store_close(struct approval_store *st); /* for AUTO(), with lock_fd -1 */
/* Old ones that are settled go; the rest is on disk when this returns OK. */
int approval_store_write(struct approval_store *st, struct err *e);

/* Is this a grant we signed, unchanged?  Then *ret is what it grants. */
bool grant_is_ours(struct kernel *k, struct arena *a, const struct json *receipt, struct grant *ret);

/* The signed decision that this entry's request was made for is ours and is about these very bytes. */
bool request_is_genuine(struct kernel *k, struct arena *a, const struct json *entry);

#endif

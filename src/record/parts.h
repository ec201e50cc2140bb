/* parts.h — inside record/: what chain.c, log.c and group.c share. */
#ifndef RECORD_PARTS_H
#define RECORD_PARTS_H

#include "record/record.h"

#define RECEIPTS "receipts.jsonl"
#define LOG_DIR "log"
#define LEAVES LOG_DIR "/leaves"
#define EDGE LOG_DIR "/edge"
#define HEADS LOG_DIR "/heads.jsonl"
#define LOG_LOCK LOG_DIR "/lock"

enum { LEAF_LINE = 65 }; /* 64 hex digits and a newline */

int log_lock(struct recorder *r, int *ret_fd, struct err *e);

/* Bring r->tree, and log/leaves and log/edge, to r->clock receipts; `last` is the chain hash of the newest.  LOG_DAMAGED when
 * the leaves do not belong to the receipts. */
int log_catch_up(struct recorder *r, struct arena *a, struct err *e);
/* Add the leaves of the receipts just appended.  Never fails for good: what cannot be written is caught up later. */
void log_advance(struct recorder *r, const struct hash *chain_hashes, size_t n);
/* A head when one is due. */
int log_head_if_due(struct recorder *r, struct arena *a, struct err *e);

/* Under the lock: read where the chain ends, without appending. */
int recorder_settle(struct recorder *r, struct arena *a, struct err *e);

/* The last complete line of a file: its bytes and where it starts.  Empty when there is none.  *ret_end is the offset after
 * its newline; bytes behind that are a torn write. */
int tail_line(struct sys *s, struct arena *a, int fd, off_t size, struct bytes *ret_line, off_t *ret_end,
	struct err *e);

int write_all_at_end(struct sys *s, int fd, struct bytes data);

#endif

/* settle.h — inside kernel/: questions that are answered already. */
#ifndef KERNEL_SETTLE_H
#define KERNEL_SETTLE_H

#include "kernel/kernel.h"

/* The decision asks.  When somebody or something has answered, o->verdict becomes V_ALLOW and o->settled says by what; else
 * nothing changes.  Only ever called on V_ESCALATE: a denial is never settled.  `args` is the digest of the exact input. */
void settle(struct kernel *k, const struct request *q, const char *args, struct handling *o);

#endif

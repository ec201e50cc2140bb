/* ticker.h — inside serve/fleet/: a thread that does one thing again and again. */
#ifndef SERVE_FLEET_TICKER_H
#define SERVE_FLEET_TICKER_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>

/* fn returns true when there is more to do at once; otherwise it is called again after a while.  NULL with *e filled when there can be no thread. */
struct ticker;
struct ticker *ticker_start(int period_ms, bool (*fn)(void *arg), void *arg, struct err *e);
void ticker_stop(struct ticker *t); /* when fn has returned; fine on NULL */

#endif

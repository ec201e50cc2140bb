/* orders.h — inside serve/fleet/: the chain of orders of a tenant. */
#ifndef SERVE_FLEET_ORDERS_H
#define SERVE_FLEET_ORDERS_H

#include "base/json.h"
#include "serve/fleet/db.h"

/* Those behind a number, at most some hundred, in a transaction of their tenant. */
int orders_behind(struct db *d, struct arena *a, int64_t after, struct json **ret, struct err *e);

#endif

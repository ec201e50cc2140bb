/* fleet.h — many machines, one ledger: what they record, verified, in PostgreSQL; one Merkle log for each tenant over it; orders back.
 *
 * The front end (`helm serve fleet`) keeps nothing itself: any number of them work with one database.  How a batch goes.  A worker finds out who
 * sends it (request.c) and verifies every receipt of it (batch.c); one thread appends what all workers have at that moment with one statement
 * (append.c), and only then do the answers leave.  Another thread (sequence.c) folds what was appended into the tree, one front end at a time by
 * the lock of a row, and has committed trees signed (sign.c).  door.c has the routes, orders.c what is told to the machines, schema.c the
 * tables, db.c the database.
 *
 * The other side, on each machine, is ship.c: it reads chains and sends them; what it is told to do, kernel/fleet/ does. */
#ifndef SERVE_FLEET_FLEET_H
#define SERVE_FLEET_FLEET_H

#include "serve/serve.h"

struct fleet;
/* `doc` is the member "fleet" of the options: {database, keys, ...}. */
int fleet_start(struct server *s, const struct json *doc, struct err *e);
void fleet_quiesce(struct server *s); /* while there are workers: whoever waits is answered */
void fleet_stop(struct server *s);
const struct route *fleet_route_at(size_t i); /* NULL behind the last */
const struct route *fleet_route(struct arena *a, const char *method, const char *path,
	const char *args[ROUTE_ARGS], const char **ret_allowed);

/* One thing done with the database and no server: {"do": "migrate" | ..., "database", ...}.  *ret is what there is to say. */
int fleet_do(struct sys *s, struct arena *a, const struct json *q, struct json **ret, struct err *e);

/* What a machine does: {"do": "join" | "sync" | "run" | ...}. */
int ship_do(struct sys *s, struct arena *a, const struct json *q, struct json **ret, struct err *e);

#endif

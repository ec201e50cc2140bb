/* audit.h — inside serve/fleet/: what an audit has found. */
#ifndef SERVE_FLEET_AUDIT_H
#define SERVE_FLEET_AUDIT_H

#include "serve/fleet/centre.h"

struct auditing {
	struct centre *c;
	struct json *findings;
	struct pg_array roots; /* root keys that this fleet had, by its orders */
	bool knows_roots; /* its orders hold */
};
void audit_find(struct auditing *x, const char *kind, const char *what, const char *text);
/* Each row of a query is a finding: what, text. */
int audit_find_rows(struct auditing *x, const char *kind, const char *sql, const struct pg_value *values,
	int n, struct err *e);

/* centre_deep.c */
int audit_deep(struct auditing *x, struct err *e);

/* audit_orders.c: the chain of orders, and what follows from it; the keeper of the control key is asked for its end, and where it is not there `report` says so. */
int audit_orders(struct auditing *x, struct json *report, struct err *e);
/* What machines say of orders and of the root key, in receipts that are in the tree. */
struct anchors {
	const char *origin;
	struct pg_array chain, seq, hash; /* an order that it has heard */
	struct pg_array root_chain, root; /* what it has pinned */
};
void anchors_begin(struct anchors *x, struct arena *a, const char *origin);
void anchors_see(void *arg, int64_t chain_id, const struct json *receipt);
int audit_anchors(struct auditing *x, struct anchors *said, struct err *e);

/* centre_keep.c: what was received, some bundles at a time, as rows of the projection, with the digest that a caption has to have in the place
 * of the caption.  An error of a frame names its chain and first receipt, and the walk
 * goes on behind it. */
struct bundle_walk {
	struct db *d;
	int64_t chain_id, first, bundles;
	bool is_over;
	void (*see)(void *arg, int64_t chain_id, const struct json *receipt); /* each of them; or NULL */
	void *arg;
};
int bundle_walk(struct bundle_walk *w, struct arena *a, struct receipt_columns *to, struct err *e);

#endif

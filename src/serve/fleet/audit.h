/* audit.h — inside serve/fleet/: what an audit has found. */
#ifndef SERVE_FLEET_AUDIT_H
#define SERVE_FLEET_AUDIT_H

#include "serve/fleet/centre.h"

struct auditing {
	struct centre *c;
	struct json *findings;
};
void audit_find(struct auditing *x, const char *kind, const char *what, const char *text);
/* Each row of a query is a finding: what, text. */
int audit_find_rows(struct auditing *x, const char *kind, const char *sql, const struct pg_value *values,
	int n, struct err *e);

/* centre_deep.c */
int audit_deep(struct auditing *x, struct err *e);
int audit_orders(struct auditing *x, struct err *e);

/* centre_keep.c: what was received, some bundles at a time, as rows of the projection, with the digest that a caption has to have in the place
 * of the caption.  An error of a frame names its chain and first receipt, and the walk
 * goes on behind it. */
struct bundle_walk {
	struct db *d;
	int64_t chain_id, first, bundles;
	bool is_over;
};
int bundle_walk(struct bundle_walk *w, struct arena *a, struct receipt_columns *to, struct err *e);

#endif

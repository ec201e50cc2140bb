/* centre.h — inside serve/fleet/: what a person at the centre does, one function each. */
#ifndef SERVE_FLEET_CENTRE_H
#define SERVE_FLEET_CENTRE_H

#include "kernel/log_keeper.h"
#include "serve/fleet/parts.h"

struct centre {
	struct sys *sys;
	struct arena *a;
	const char *database;
	int patience_s; /* with one statement */
	struct log_line *signer; /* NULL until centre_signer() */
	const struct json *q; /* what was asked */
	struct db *d;
	struct tenant tenant; /* that it is about */
	bool is_part; /* for an engineer: the chain of orders would have gaps, and is left out */
};

/* A connection as this role, and nothing more. */
int centre_connect(struct centre *c, const char *role, struct err *e);
/* The same in a transaction of the tenant that q names (the only one when it names none). */
int centre_open(struct centre *c, const char *role, struct err *e);

/* The keeper of the logs' keys, by the socket that q names. */
int centre_signer(struct centre *c, struct err *e);

/* The centre's own record of what was taken there: an order that is for no machine. */
#define ORDER_TAKEN "taken"
#define ORDER_FOR_NOBODY "0"

/* Of a row of `node`: an order that names it has retired it. */
#define RETIRED \
	"(node.retired_at IS NOT NULL AND EXISTS (SELECT FROM directive d WHERE d.seq = node.retired_seq AND d.kind = 'retire'" \
	" AND position('\"' || node.node_id || '\"' in convert_from(d.body, 'UTF8')) > 0))"

/* All give what there is to say in *ret. */
typedef int centre_verb(struct centre *c, struct json **ret, struct err *e);
centre_verb centre_tenant_add, centre_tenants, centre_token, centre_nodes, centre_order, centre_orders,
	centre_search, centre_audit, centre_rebuild, centre_retain, centre_tiles, centre_export,
	centre_questions, centre_taken, centre_reader_add, centre_reader_invite, centre_reader_set,
	centre_readers, centre_reader_revoke;

/* The pack of q, written there; its transaction has asked nothing before. */
int centre_export_to(struct centre *c, int fd, struct err *e);
/* The exact line of a receipt; E_MISSING: it is not kept any more. */
int ledger_line(
	struct db *d, struct arena *a, int64_t chain_id, int64_t lamport, struct bytes *ret, struct err *e);

/* The same question to a front end, by the token of a reader: {do, url, token, ca?, ...}. */
int view_ask(struct arena *a, const struct json *q, struct json **ret, struct err *e);

#endif

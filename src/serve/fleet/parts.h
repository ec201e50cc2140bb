/* parts.h — inside serve/fleet/: what the files of the front end share. */
#ifndef SERVE_FLEET_PARTS_H
#define SERVE_FLEET_PARTS_H

#include "proof/merkle.h"
#include "proof/sign.h"
#include "serve/fleet/db.h"
#include "serve/fleet/fleet.h"
#include "verify/verify.h"

#define ROLE_INGEST "helm_ingest"
#define ROLE_SEQ "helm_seq"
#define ROLE_READ "helm_read"
#define ROLE_CONSOLE "helm_console"
#define ROLE_OWNER "helm_owner"

enum {
	BATCH_BYTES = 1 << 20, /* as sent */
	BATCH_RAW = 16 << 20, /* unpacked */
	BATCH_RECEIPTS = 4096,
	CLOCK_SLACK_S = 300,
	BEAT_S = 30,
	DATABASE_S = 20, /* for one statement of a server */
};

/* schema.c */
int schema_migrate(struct sys *s, struct arena *a, const char *conninfo, int patience_s, const char *login,
	struct json *report, struct err *e);
int ledger_check(struct sys *s, struct arena *a, const char *conninfo, int patience_s, struct err *e);

/* pool.c: connections that are open already.  Whoever has one gives it back; one that broke is closed. */
enum dbpool_role { POOL_INGEST, POOL_SEQ, POOL_READ, POOL_CONSOLE, POOL_ROLES };
struct dbpool;
/* No statement on one of them takes longer than that. */
struct dbpool *dbpool_new(struct sys *s, const char *conninfo, int patience_s);
void dbpool_free(struct dbpool *p);
int dbpool_take(struct dbpool *p, enum dbpool_role role, struct db **ret, struct err *e);
void dbpool_give(struct dbpool *p, enum dbpool_role role, struct db *d);
/* For AUTO(): a connection and its transaction, which is taken back when it was not committed. */
struct lent {
	struct dbpool *p;
	enum dbpool_role role;
	struct db *d;
};
void lent_back(struct lent *l);
/* A transaction of this tenant on one of them. */
int lend(struct dbpool *p, enum dbpool_role role, int32_t tenant, struct lent *ret, struct err *e);
/* The same without one, for pg_transact(). */
int lend_bare(struct dbpool *p, enum dbpool_role role, struct lent *ret, struct err *e);

/* ---- tenants, and who calls ---- */

struct tenant {
	int32_t id;
	const char *name, *origin, *log_vkey, *control_vkey;
	const char *root_key; /* in hex; NULL: nobody answers from the centre */
};
/* E_MISSING: there is none.  One of name and origin is given. */
int tenant_find(struct db *d, struct arena *a, const char *name, const char *origin, struct tenant *ret,
	struct err *e);

struct node {
	int64_t id;
	struct trust trust; /* every key of its line */
};
struct caller_of {
	struct tenant tenant;
	struct node node;
	uint8_t key[SIGN_PUBLIC];
	int64_t skew_ms; /* of its clock against ours */
};
/* Signed by an enrolled key: fills *ret, or refuses with 401 or 403.  `is_new`: the key need not be known yet (joining). */
int request_check(struct call *c, bool is_new, struct caller_of *ret, struct err *e);
/* The keys of a node, verified, in the order of its history; `revoked` ones end when the centre said. */
int node_trust(struct db *d, struct arena *a, int64_t node_id, struct trust *ret, struct err *e);
/* 503 for what the database could not do; anything else stays what it is. */
int database_refuses(struct call *c, struct err *e);

/* ---- batches ---- */

struct chain_row {
	int64_t chain_id, node_id, head, key_order, state, epoch;
	struct hash head_hash; /* zeroes when head is 0 */
};
/* The newest epoch of a session of this node; E_MISSING. */
int chain_find(struct db *d, struct arena *a, int64_t node, const char *session, struct chain_row *ret,
	struct err *e);
const char *chain_state_name(int64_t state);

struct line_of {
	struct bytes text;
	struct hash chain;
	struct json *receipt;
	unsigned order; /* of the key that signed it */
	const char *caption;
	const char *question; /* id of what is asked there; or NULL */
	struct bytes request; /* what is asked, canonical */
	int64_t expires_us;
};
struct batch {
	const char *session;
	int64_t first;
	struct hash before; /* zeroes when first is 1 */
	struct line_of *lines;
	size_t n;
	struct bytes frame; /* what is stored: exactly the lines of the receipts */
	size_t raw_bytes;
};
/* Unpack and read: E_INPUT says what is wrong with it.  Nothing is verified yet; chain hashes are there. */
int batch_read(struct arena *a, struct bytes body, const char *session, struct batch *ret, struct err *e);
/* Every line from `from` on: its place behind `at`, its form, its signature under a key of the node.  On E_INPUT *ret_bad is the line. */
int batch_verify(struct arena *a, const struct batch *b, size_t from, const struct chain_row *at,
	const struct trust *trust, size_t *ret_bad, struct err *e);
/* Lines from..n as one frame. */
int batch_pack(struct arena *a, const struct batch *b, size_t from, struct bytes *ret, size_t *ret_raw,
	struct err *e);
int verdict_number(const struct json *receipt);

/* append.c: one statement for all that wait.  `done` is called by the thread that appended, with OK, E_INPUT APPEND_RACE (the chain has moved), or what
 * the database said. */
struct appending {
	int32_t tenant;
	int64_t chain_id, old_head, n, order;
	struct hash old_hash, new_hash;
	const struct line_of *lines; /* n of them */
	struct bytes frame;
	size_t raw_bytes;
	void (*done)(struct appending *x, int rc, const struct err *e);
	struct call *call;
	void (*answered)(void *);
	void *answered_arg;
	int again; /* so often it was put once more */
	struct appending *next;
};
struct appender;
int append_start(struct fleet *f, struct appender **ret, struct err *e);
void append_stop(struct appender *p); /* what was put is appended first */
void append_put(struct appender *p, struct appending *x);
/* The rows of receipts as the projection has them; also for rebuilding it. */
struct receipt_columns {
	struct pg_array chain, lamport, at, hash, verdict, type, reason, rule, tool, principal, decision,
		caption;
};
void columns_begin(struct receipt_columns *c, struct arena *a);
void columns_add(struct receipt_columns *c, int64_t chain_id, const struct json *receipt,
	const struct hash *chain, const char *caption);

struct fleet {
	struct server *s;
	const char *conninfo;
	struct dbpool *pool;
	struct appender *appender;
	struct sequencer *sequencer;
	struct waiting_room *waiting; /* who waits for an order */
	struct buckets *buckets;
	struct ears *ears; /* who listens in the console */
	uint8_t secret[32]; /* the same for all front ends of this database: what marks a challenge as ours */
};

/* sequence.c */
int sequence_start(struct fleet *f, const struct json *options, struct err *e);
void sequence_stop(struct fleet *f);

/* orders.c */
int orders_start(struct fleet *f, struct err *e);
void orders_quiesce(struct fleet *f);
void orders_stop(struct fleet *f);
/* Answer when there is an order behind `after`, or after a while without one. */
void orders_wait(struct call *c, int32_t tenant, int64_t after);

/* door.c: who calls, and not too often. */
int fleet_enter(struct call *c, struct caller_of *who, struct err *e);
/* view.c: what a reader may look at.  A token opens a transaction of its tenant; 401: it opens nothing. */
int fleet_view(struct call *c, struct err *e);
struct reader {
	struct tenant tenant;
	const char *name, *expires_at;
	const char *
		machines; /* of an engineer, "{1,2}": the transaction sees nothing else; NULL: all of the tenant */
	const char *key_id; /* of the passkey that came in; NULL: a token */
};
/* Words that open something, each followed by the tenant, a dot and a secret: a program's token, an invitation, a session. */
#define READER_WORD "hfr_"
#define INVITE_WORD "hfi_"
#define SESSION_WORD "hfs_"
/* "<prefix><tenant>.<secret>": a transaction of that tenant.  E_MISSING: it is no such word, or there is no such tenant. */
int word_tenant(struct call *c, const char *prefix, const char *word, struct lent *l, struct tenant *ret,
	struct err *e);
int reader_find(struct call *c, const char *token, struct lent *l, struct reader *ret, struct err *e);
const char *reader_bearer(const struct call *c); /* or NULL */
/* look.c: the console for the readers of a tenant. */
extern const struct route fleet_look_routes[];
/* tree.c: routes over the tree. */
int fleet_proofs(struct call *c, struct err *e);
int fleet_log(struct call *c, struct err *e);

#endif

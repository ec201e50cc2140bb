/* db.h — inside serve/fleet/: PostgreSQL, by libpq, which only db.c knows.
 *
 * A connection works as one role and, between pg_begin() and the end of the transaction, for one tenant: the database itself shows it nothing
 * else.  Values go as parameters, never as text of a statement. */
#ifndef SERVE_FLEET_DB_H
#define SERVE_FLEET_DB_H

#include "base/err.h"
#include "base/mem.h"
#include "base/sys.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct db;

/* Errors, all E_IO but the last two:
 *   DB_AWAY     there is no connection, or it broke: what was being committed may be there or not
 *   DB_STALLED  it did not answer in time; the same
 *   DB_SLOW     the database has ended a statement that took longer than the patience with it
 *   DB_RETRY    the database asks for the transaction to be done again
 *   DB_FULL     no room, or no memory, there
 *   DB_REFUSED  E_DENIED: it may not be done by this role
 *   DB_WRONG    E_CORRUPT: the statement or the schema is not what the other expects */
int pg_open(const char *conninfo, const char *role, struct db **ret, struct err *e);
/* No statement takes longer, the first neither: the database ends it, or it is given up and the connection with it.  0: it waits without end. */
int pg_open_patient(const char *conninfo, const char *role, struct sys *s, int patience_s, struct db **ret,
	struct err *e);
void pg_close(struct db **d); /* for AUTO(); fine on NULL */
bool pg_is_broken(const struct db *d);
/* While nobody used it: asked without waiting. */
bool pg_was_cut(struct db *d);

/* One transaction for one tenant; 0: for none, and rows of tenants are not seen.  Without pg_commit() nothing of it is there. */
int pg_begin(struct db *d, int32_t tenant, struct err *e);
int pg_commit(struct db *d, struct err *e);
void pg_rollback(struct db *d); /* fine when none is open */

/* From here on, also in transactions that begin later, this connection sees what these machines sent and nothing else: "{1,2}", their numbers.  Within a
 * transaction of a tenant.  What it may read at all is what helm_engineer may. */
int pg_narrow(struct db *d, const char *machines, struct err *e);
void pg_widen(struct db *d); /* with no transaction open */

/* A parameter.  Arrays are for unnest(). */
struct pg_value {
	const void *p; /* NULL: null */
	int n;
	bool is_binary;
};
struct pg_value pg_i(struct arena *a, int64_t x);
struct pg_value pg_t(const char *text); /* NULL: null */
struct pg_value pg_b(struct bytes b);

enum pg_array_kind { DB_INT8, DB_INT4, DB_TEXT, DB_BYTES, DB_KINDS };
struct pg_array {
	struct buf b;
	enum pg_array_kind kind;
	int32_t n;
};
void pg_array_begin(struct pg_array *x, struct arena *a, enum pg_array_kind kind);
void pg_array_int(struct pg_array *x, int64_t value);
void pg_array_bytes(struct pg_array *x, struct bytes value); /* p NULL: null */
void pg_array_text(struct pg_array *x, const char *value); /* NULL: null */
struct pg_value pg_array_value(struct pg_array *x);

/* What came back; pg_rows_done() frees it. */
struct pg_rows {
	void *result;
	int n;
	int64_t changed; /* rows that a command has changed */
};
void pg_rows_done(struct pg_rows *r);
bool pg_null(const struct pg_rows *r, int row, int column);
int64_t pg_int(const struct pg_rows *r, int row, int column); /* int2, int4, int8, bool; 0 for null */
struct bytes pg_bytes(const struct pg_rows *r, int row, int column); /* valid as long as the rows */
char *pg_text(const struct pg_rows *r, struct arena *a, int row, int column); /* "" for null */

/* One statement, with $1 ... for values. */
int pg_ask(struct db *d, const char *sql, const struct pg_value *values, int n, struct pg_rows *ret,
	struct err *e);
/* The same for one whose rows nobody wants; *ret_changed may be NULL. */
int pg_do(struct db *d, const char *sql, const struct pg_value *values, int n, int64_t *ret_changed,
	struct err *e);
/* The same as pg_ask() for a statement that is asked again and again: a literal, which this connection has the database read and plan once. */
int pg_ask_kept(struct db *d, const char *sql, const struct pg_value *values, int n, struct pg_rows *ret,
	struct err *e);
/* A whole transaction of a tenant that is one such statement, committed: sent at once, so that it waits for the database once. */
int pg_transact(struct db *d, int32_t tenant, const char *sql, const struct pg_value *values, int n,
	struct pg_rows *ret, struct err *e);
/* A text of several statements, without values: migrations. */
int pg_script(struct db *d, const char *sql, struct err *e);
/* One value of a setting or a query without parameters, in `a`. */
int pg_one(struct db *d, struct arena *a, const char *sql, const char **ret, struct err *e);

#endif

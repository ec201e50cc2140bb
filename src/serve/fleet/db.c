/* db.c — PostgreSQL by libpq: the only file that knows it.
 *
 * Results come in binary, so that hashes and frames are neither spelled out nor read again.  Each connection takes on its role once, and says
 * for each transaction which tenant it is about with SET LOCAL: that ends with the transaction, also behind a pooler.
 *
 * Nobody waits without end: connecting has a limit, the database ends a statement that takes too long, and one that does not even do that is given
 * up here.  Then it is not known what became of the statement, as when a connection breaks. */
#include "serve/fleet/db.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { KEPT_MOST = 32, VALUES_MOST = 32 };

struct db {
	PGconn *pg;
	bool is_in;
	bool is_stalled; /* it was given up */
	int patience_ms; /* 0: it waits without end */
	const char *kept[KEPT_MOST]; /* statements that are prepared, k0, k1, ... */
	int kept_count;
	struct sys *sys; /* with patience */
	char *narrow; /* a statement for the beginning of each transaction; or NULL */
};

enum { OID_INT8 = 20, OID_INT4 = 23, OID_TEXT = 25, OID_BYTEA = 17 };

/* One line, without what libpq puts around it. */
static int fail(struct err *e, enum rc rc, const char *code, const char *said)
{
	const char *from = said ? said : "";
	size_t n;

	for (const char *skip = strstr(from, "ERROR:  "); skip; skip = NULL)
		from = skip + strlen("ERROR:  ");
	n = strcspn(from, "\n");
	return err_set(e, rc, code, "the database says: %.*s", (int)n, from);
}

static int fail_state(struct db *d, const PGresult *r, struct err *e)
{
	if (d->is_stalled)
		return err_set(e, E_IO, "DB_STALLED", "the database did not answer for %d s",
			(d->patience_ms + 999) / 1000);
	const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
	const char *said = r ? PQresultErrorMessage(r) : PQerrorMessage(d->pg);

	if (d->patience_ms && PQstatus(d->pg) == CONNECTION_OK && state &&
		(strcmp(state, "57014") == 0 || strcmp(state, "55P03") == 0))
		return fail(e, E_IO, "DB_SLOW", said);
	if (PQstatus(d->pg) != CONNECTION_OK || !state || strncmp(state, "08", 2) == 0 ||
		strncmp(state, "57", 2) == 0)
		return fail(e, E_IO, "DB_AWAY", said);
	if (strncmp(state, "40", 2) == 0 || strcmp(state, "55P03") == 0)
		return fail(e, E_IO, "DB_RETRY", said);
	if (strncmp(state, "53", 2) == 0 || strncmp(state, "58", 2) == 0)
		return fail(e, E_IO, "DB_FULL", said);
	return strcmp(state, "42501") == 0 ? fail(e, E_DENIED, "DB_REFUSED", said)
					   : fail(e, E_CORRUPT, "DB_WRONG", said);
}

static void no_notice(void *arg, const PGresult *r)
{
	(void)arg;
	(void)r;
}

/* ---- waiting ---- */

static int64_t now_ms(const struct db *d)
{
	return d->sys ? d->sys->mono_us(d->sys) / 1000 : 0;
}

/* Until the socket can be read (or written, too); false: its time is over.  What was sent may be done or not, so nothing more goes over it. */
static bool wait_for(struct db *d, bool writes, int64_t until_ms)
{
	struct pollfd fd = { .fd = PQsocket(d->pg), .events = (short)(POLLIN | (writes ? POLLOUT : 0)) };

	for (;;) {
		int64_t left = d->patience_ms ? until_ms - now_ms(d) : -1;
		if (d->patience_ms && left <= 0)
			break;
		int n = poll(&fd, 1, (int)left);
		if (n > 0)
			return true;
		if (n < 0 && errno != EINTR)
			break;
	}
	d->is_stalled = true;
	(void)shutdown(fd.fd, SHUT_RDWR);
	return false;
}

/* What came of what was sent: the first error of it, or its last result.  NULL: the connection is no more. */
static PGresult *result_of(struct db *d, int is_sent)
{
	const int64_t until = now_ms(d) + d->patience_ms;
	PGresult *last = NULL;
	int left = is_sent ? PQflush(d->pg) : -1;

	while (left == 1) {
		if (!wait_for(d, true, until) || !PQconsumeInput(d->pg))
			return NULL;
		left = PQflush(d->pg);
	}
	for (PGresult *r; left == 0;) {
		while (PQisBusy(d->pg))
			if (!wait_for(d, false, until) || !PQconsumeInput(d->pg)) {
				PQclear(last);
				return NULL;
			}
		r = PQgetResult(d->pg);
		if (!r)
			break;
		if (last && PQresultStatus(last) == PGRES_FATAL_ERROR) {
			PQclear(r);
			continue;
		}
		PQclear(last);
		last = r;
	}
	return last;
}

static PGresult *run(struct db *d, const char *sql)
{
	return result_of(d, d->is_stalled ? 0 : PQsendQuery(d->pg, sql));
}

/* From the first statement on.  The database first: it says what was too long, and the connection lives. */
static int prepare(struct db *d, const char *role, int patience_s, struct err *e)
{
	char limits[192] = "", sql[384];

	if (patience_s)
		snprintf(limits, sizeof(limits),
			"SET statement_timeout = '%ds'; SET lock_timeout = '%ds'; SET idle_in_transaction_session_timeout = '%ds'; ",
			patience_s, patience_s, 3 * patience_s);
	snprintf(sql, sizeof(sql), "%sSET search_path = fleet%s%s", limits, role ? "; SET ROLE " : "",
		role ? role : "");
	return pg_script(d, sql, e);
}

int pg_open_patient(
	const char *conninfo, const char *role, struct sys *s, int patience_s, struct db **ret, struct err *e)
{
	/* What the caller says comes behind what we say, and counts. */
	static const char *const names[] = { "connect_timeout", "tcp_user_timeout", "dbname", NULL };
	const char *const values[] = { "10", "30000", conninfo, NULL };
	struct db *d = calloc(1, sizeof(*d));

	if (!d)
		mem_exhausted(0);
	d->sys = s;
	d->patience_ms = patience_s ? patience_s * 1000 + 1000 + patience_s * 250 : 0;
	d->pg = PQconnectdbParams(names, values, 1);
	(void)PQsetnonblocking(d->pg, 1);
	int rc = PQstatus(d->pg) == CONNECTION_OK ? OK : fail(e, E_IO, "DB_AWAY", PQerrorMessage(d->pg));
	if (rc == OK) {
		(void)PQsetNoticeReceiver(d->pg, no_notice, NULL);
		rc = prepare(d, role, patience_s, e);
	}
	if (rc)
		pg_close(&d);
	else
		*ret = d;
	return rc;
}

int pg_open(const char *conninfo, const char *role, struct db **ret, struct err *e)
{
	return pg_open_patient(conninfo, role, NULL, 0, ret, e);
}

void pg_close(struct db **d)
{
	if (*d) {
		PQfinish((*d)->pg);
		free((*d)->narrow);
		free(*d);
	}
	*d = NULL;
}

bool pg_is_broken(const struct db *d)
{
	return d->is_stalled || PQstatus(d->pg) != CONNECTION_OK;
}

bool pg_was_cut(struct db *d)
{
	struct pollfd fd = { .fd = PQsocket(d->pg), .events = POLLIN };

	return pg_is_broken(d) || (poll(&fd, 1, 0) > 0 && (!PQconsumeInput(d->pg) || pg_is_broken(d)));
}

/* ---- transactions ---- */

int pg_begin(struct db *d, int32_t tenant, struct err *e)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "BEGIN; SET LOCAL helm.tenant = '%d'", tenant);
	if (!tenant)
		snprintf(sql, sizeof(sql), "BEGIN");
	int rc = pg_script(d, sql, e);
	d->is_in = rc == OK;
	return rc == OK && d->narrow ? pg_script(d, d->narrow, e) : rc;
}

int pg_narrow(struct db *d, const char *machines, struct err *e)
{
	static const char before[] = "SET LOCAL helm.machines = '",
			  after[] = "'; SET LOCAL ROLE helm_engineer";
	size_t n = sizeof(before) + strlen(machines) + sizeof(after);

	if (machines[0] != '{' || strspn(machines, "{0123456789,}") != strlen(machines))
		return err_set(e, E_CORRUPT, "DB_WRONG", "these are no numbers of machines");
	free(d->narrow);
	d->narrow = malloc(n);
	if (!d->narrow)
		mem_exhausted(0);
	snprintf(d->narrow, n, "%s%s%s", before, machines, after);
	return pg_script(d, d->narrow, e);
}

void pg_widen(struct db *d)
{
	free(d->narrow);
	d->narrow = NULL;
}

int pg_commit(struct db *d, struct err *e)
{
	PGresult *r = run(d, "COMMIT");
	int rc = OK;

	/* A transaction that failed ends with ROLLBACK, and that is no error to the database. */
	if (PQresultStatus(r) != PGRES_COMMAND_OK)
		rc = fail_state(d, r, e);
	else if (strcmp(PQcmdStatus(r), "COMMIT") != 0)
		rc = err_set(e, E_IO, "DB_RETRY", "the transaction was taken back");
	PQclear(r);
	d->is_in = false;
	return rc;
}

void pg_rollback(struct db *d)
{
	/* Also what began and whose beginning failed. */
	if (d &&
		(d->is_in ||
			(!d->is_stalled && PQtransactionStatus(d->pg) > PQTRANS_ACTIVE &&
				PQtransactionStatus(d->pg) < PQTRANS_UNKNOWN)))
		PQclear(run(d, "ROLLBACK"));
	if (d)
		d->is_in = false;
}

/* ---- values ---- */

struct pg_value pg_i(struct arena *a, int64_t x)
{
	char *text = arena_printf(a, "%lld", (long long)x);

	return (struct pg_value){ text, (int)strlen(text), false };
}

struct pg_value pg_t(const char *text)
{
	return (struct pg_value){ text, text ? (int)strlen(text) : 0, false };
}

struct pg_value pg_b(struct bytes b)
{
	return (struct pg_value){ b.p ? (const void *)b.p : "", (int)b.n, true };
}

static void put32(struct buf *b, uint32_t x)
{
	const uint8_t be[] = { (uint8_t)(x >> 24), (uint8_t)(x >> 16), (uint8_t)(x >> 8), (uint8_t)x };

	buf_add(b, be, sizeof(be));
}

/* One dimension, from 1 on; the count is filled in at the end. */
void pg_array_begin(struct pg_array *x, struct arena *a, enum pg_array_kind kind)
{
	static const uint32_t oids[] = { OID_INT8, OID_INT4, OID_TEXT, OID_BYTEA };
	TABLE_COVERS(oids, DB_KINDS);

	*x = (struct pg_array){ .kind = kind };
	buf_init(&x->b, a);
	put32(&x->b, 1);
	put32(&x->b, 1); /* there may be nulls */
	put32(&x->b, oids[kind]);
	put32(&x->b, 0);
	put32(&x->b, 1);
}

void pg_array_int(struct pg_array *x, int64_t value)
{
	uint64_t u = (uint64_t)value;

	put32(&x->b, x->kind == DB_INT8 ? 8 : 4);
	if (x->kind == DB_INT8)
		put32(&x->b, (uint32_t)(u >> 32));
	put32(&x->b, (uint32_t)u);
	x->n++;
}

void pg_array_bytes(struct pg_array *x, struct bytes value)
{
	put32(&x->b, value.p ? (uint32_t)value.n : UINT32_MAX);
	if (value.p)
		buf_add(&x->b, value.p, value.n);
	x->n++;
}

void pg_array_text(struct pg_array *x, const char *value)
{
	pg_array_bytes(x, value ? bytes_of(value) : (struct bytes){ 0 });
}

struct pg_value pg_array_value(struct pg_array *x)
{
	enum { COUNT_AT = 12 };
	uint32_t n = (uint32_t)x->n;

	for (size_t i = 0; i < 4; i++)
		x->b.p[COUNT_AT + i] = (char)(n >> (24 - 8 * i));
	return (struct pg_value){ x->b.p, (int)x->b.n, true };
}

/* ---- rows ---- */

void pg_rows_done(struct pg_rows *r)
{
	PQclear(r->result);
	*r = (struct pg_rows){ 0 };
}

bool pg_null(const struct pg_rows *r, int row, int column)
{
	return PQgetisnull(r->result, row, column);
}

int64_t pg_int(const struct pg_rows *r, int row, int column)
{
	const uint8_t *p = (const uint8_t *)PQgetvalue(r->result, row, column);
	int n = PQgetlength(r->result, row, column);
	uint64_t x = n && n < 8 && p[0] & 0x80 ? UINT64_MAX : 0;

	for (int i = 0; i < n && i < 8; i++)
		x = x << 8 | p[i];
	return (int64_t)x;
}

struct bytes pg_bytes(const struct pg_rows *r, int row, int column)
{
	return (struct bytes){ (const uint8_t *)PQgetvalue(r->result, row, column),
		(size_t)PQgetlength(r->result, row, column) };
}

char *pg_text(const struct pg_rows *r, struct arena *a, int row, int column)
{
	struct bytes b = pg_bytes(r, row, column);

	return arena_strndup(a, (const char *)b.p, b.n);
}

/* ---- statements ---- */

/* Values as libpq wants them. */
struct params {
	int n;
	const char *at[VALUES_MOST];
	int lengths[VALUES_MOST], formats[VALUES_MOST];
};

static void spread(struct params *p, const struct pg_value *values, int n)
{
	if (n > VALUES_MOST)
		BUG("too many parameters");
	p->n = n;
	for (int i = 0; i < n; i++) {
		p->at[i] = values[i].p;
		p->lengths[i] = values[i].n;
		p->formats[i] = values[i].is_binary;
	}
}

/* Takes the result over. */
static int rows_of(struct db *d, PGresult *r, struct pg_rows *ret, struct err *e)
{
	if (PQresultStatus(r) != PGRES_TUPLES_OK && PQresultStatus(r) != PGRES_COMMAND_OK) {
		int rc = fail_state(d, r, e);
		PQclear(r);
		return rc;
	}
	*ret = (struct pg_rows){ r, PQntuples(r), strtoll(PQcmdTuples(r), NULL, 10) };
	return OK;
}

int pg_ask(struct db *d, const char *sql, const struct pg_value *values, int n, struct pg_rows *ret,
	struct err *e)
{
	struct params p;

	spread(&p, values, n);
	return rows_of(d,
		result_of(d,
			d->is_stalled
				? 0
				: PQsendQueryParams(d->pg, sql, n, NULL, p.at, p.lengths, p.formats, 1)),
		ret, e);
}

/* ---- statements that are kept ---- */

struct kept_name {
	char text[16];
};

static struct kept_name name_of(int i)
{
	struct kept_name name;

	snprintf(name.text, sizeof(name.text), "k%d", i);
	return name;
}

/* Its number; kept_count: it is not there yet. */
static int kept_at(const struct db *d, const char *sql)
{
	int i = 0;

	while (i < d->kept_count && d->kept[i] != sql)
		i++;
	if (i == KEPT_MOST)
		BUG("too many statements are kept");
	return i;
}

int pg_ask_kept(struct db *d, const char *sql, const struct pg_value *values, int n, struct pg_rows *ret,
	struct err *e)
{
	struct params p;
	int i = kept_at(d, sql);
	struct kept_name name = name_of(i);

	spread(&p, values, n);
	if (i == d->kept_count) {
		PGresult *r = result_of(d, d->is_stalled ? 0 : PQsendPrepare(d->pg, name.text, sql, 0, NULL));
		bool is_well = PQresultStatus(r) == PGRES_COMMAND_OK;
		int rc = is_well ? OK : fail_state(d, r, e);
		PQclear(r);
		if (rc)
			return rc;
		d->kept[d->kept_count++] = sql;
	}
	return rows_of(d,
		result_of(d,
			d->is_stalled
				? 0
				: PQsendQueryPrepared(d->pg, name.text, n, p.at, p.lengths, p.formats, 1)),
		ret, e);
}

/* One result of a pipeline, and the end that follows each.  NULL: the connection is no more. */
static PGresult *next_of(struct db *d, int64_t until)
{
	for (;;) {
		while (PQisBusy(d->pg))
			if (!wait_for(d, false, until) || !PQconsumeInput(d->pg))
				return NULL;
		PGresult *r = PQgetResult(d->pg);
		if (r || PQstatus(d->pg) != CONNECTION_OK)
			return r;
	}
}

static bool send_transaction(struct db *d, const char *set, const char *sql, bool is_new,
	const struct kept_name *name, const struct params *p)
{
	return !d->is_stalled && PQenterPipelineMode(d->pg) == 1 &&
		(!is_new || PQsendPrepare(d->pg, name->text, sql, 0, NULL) == 1) &&
		PQsendQueryParams(d->pg, "BEGIN", 0, NULL, NULL, NULL, NULL, 0) == 1 &&
		PQsendQueryParams(d->pg, set, 0, NULL, NULL, NULL, NULL, 0) == 1 &&
		PQsendQueryPrepared(d->pg, name->text, p->n, p->at, p->lengths, p->formats, 1) == 1 &&
		PQsendQueryParams(d->pg, "COMMIT", 0, NULL, NULL, NULL, NULL, 0) == 1 &&
		PQpipelineSync(d->pg) == 1;
}

static bool flush_all(struct db *d, int64_t until)
{
	int left;

	while ((left = PQflush(d->pg)) == 1)
		if (!wait_for(d, true, until) || !PQconsumeInput(d->pg))
			return false;
	return left == 0;
}

/* Results in the order in which they were sent; the first error is what the rest was left out for. */
static int take_transaction(
	struct db *d, bool is_new, const char *sql, int64_t until, struct pg_rows *ret, struct err *e)
{
	enum { PREPARED, BEGUN, SET, ROWS, COMMITTED };
	PGresult *rows = NULL;
	int rc = OK, at = is_new ? PREPARED : BEGUN;

	for (;; at++) {
		PGresult *r = next_of(d, until);
		ExecStatusType status = PQresultStatus(r);
		bool is_over = !r || status == PGRES_PIPELINE_SYNC;
		if (rc == OK &&
			(!r ||
				(is_over ? at <= COMMITTED
					 : status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)))
			rc = fail_state(d, r, e);
		if (rc == OK && at == PREPARED)
			d->kept[d->kept_count++] = sql;
		/* A transaction that failed ends with ROLLBACK, and that is no error to the database. */
		if (rc == OK && at == COMMITTED && strcmp(PQcmdStatus(r), "COMMIT") != 0)
			rc = err_set(e, E_IO, "DB_RETRY", "the transaction was taken back");
		if (at == ROWS && rc == OK)
			rows = r;
		else
			PQclear(r);
		if (is_over)
			break;
	}
	if (rc == OK)
		return rows_of(d, rows, ret, e);
	PQclear(rows);
	return rc;
}

int pg_transact(struct db *d, int32_t tenant, const char *sql, const struct pg_value *values, int n,
	struct pg_rows *ret, struct err *e)
{
	const int64_t until = now_ms(d) + d->patience_ms;
	struct params p;
	int i = kept_at(d, sql), rc;
	struct kept_name name = name_of(i);
	bool is_new = i == d->kept_count;
	char set[64];

	if (d->narrow)
		return err_set(e, E_DENIED, "DB_REFUSED", "nothing is written for whoever sees a part");
	snprintf(set, sizeof(set), "SET LOCAL helm.tenant = '%d'", tenant);
	spread(&p, values, n);
	if (!send_transaction(d, set, sql, is_new, &name, &p) || !flush_all(d, until)) {
		rc = fail_state(d, NULL, e);
		d->is_stalled = true; /* half a transaction may be there: nothing more goes over it */
		return rc;
	}
	rc = take_transaction(d, is_new, sql, until, ret, e);
	if (!PQexitPipelineMode(d->pg))
		d->is_stalled = true;
	d->is_in = PQtransactionStatus(d->pg) != PQTRANS_IDLE;
	return rc;
}

int pg_do(struct db *d, const char *sql, const struct pg_value *values, int n, int64_t *ret_changed,
	struct err *e)
{
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };
	int rc = pg_ask(d, sql, values, n, &rows, e);

	if (rc == OK && ret_changed)
		*ret_changed = rows.changed;
	return rc;
}

int pg_script(struct db *d, const char *sql, struct err *e)
{
	PGresult *r = run(d, sql);
	ExecStatusType status = PQresultStatus(r);
	int rc = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? OK : fail_state(d, r, e);

	PQclear(r);
	return rc;
}

int pg_one(struct db *d, struct arena *a, const char *sql, const char **ret, struct err *e)
{
	PGresult *r = run(d, sql);
	int rc = PQresultStatus(r) == PGRES_TUPLES_OK ? OK : fail_state(d, r, e);

	if (rc == OK)
		*ret = PQntuples(r) ? arena_strdup(a, PQgetvalue(r, 0, 0)) : "";
	PQclear(r);
	return rc;
}

/* db.c — the only file that knows SQLite.
 *
 * A rollback journal, not a write-ahead log: the latter's index is a mapped file, and a mapped file on a full disk
 * ends the process that touches it.  What is written here goes through write(), and a full disk is an
 * error like any other.  Memory is bounded by the page cache. */
#include "record/db.h"

#include "base/text.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MAX_STATEMENTS = 48 };

struct db {
	sqlite3 *handle;
	int wait_ms, waited_ms; /* for another process that has it locked; of the present wait */
	struct {
		const char *sql; /* known by its address */
		sqlite3_stmt *stmt;
	} kept[MAX_STATEMENTS];
	int kept_count;
};

struct db_row {
	sqlite3_stmt *stmt;
};

/* Every problem of the index has the same remedy, which is why the message names it; on a full disk it would not help.  E_CORRUPT: what is
 * there is no database, or a damaged one. */
static int failed(const struct db *db, const char *what, struct err *e)
{
	int code = db && db->handle ? sqlite3_errcode(db->handle) : SQLITE_NOMEM;

	return err_set(e, code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? E_CORRUPT : E_IO,
		code == SQLITE_BUSY ? DB_BUSY : "INDEX",
		code == SQLITE_FULL
			? "cannot %s the index: %s; it is not needed, and is made when there is room"
			: code == SQLITE_BUSY
			? "cannot %s the index: another process has been writing it for long (%s); run this again"
			: "cannot %s the index: %s; 'helm db rebuild' makes it anew",
		what, db && db->handle ? sqlite3_errmsg(db->handle) : "out of memory");
}

void db_close(struct db **db)
{
	if (!*db)
		return;
	for (int i = 0; i < (*db)->kept_count; i++)
		sqlite3_finalize((*db)->kept[i].stmt);
	(void)sqlite3_close((*db)->handle);
	free(*db);
	*db = NULL;
}

int db_script(struct db *db, const char *sql, struct err *e)
{
	return sqlite3_exec(db->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? OK : failed(db, "change", e);
}

/* SQLite's own handler looks ten times a second.  Beside several writers the lock is free for a few milliseconds at a time, and a reader
 * that looks so seldom never meets one. */
static int wait_for_lock(void *arg, int looks)
{
	struct db *db = arg;

	if (looks == 0)
		db->waited_ms = 0;
	if (db->waited_ms >= db->wait_ms)
		return 0;
	db->waited_ms += sqlite3_sleep(1 + looks % 5);
	return 1;
}

void db_wait(struct db *db, int wait_ms)
{
	db->wait_ms = wait_ms;
}

/* SQLite would wait for ever at a pipe under one of its names, and cannot use a directory. */
static int must_be_files(const char *path, struct err *e)
{
	static const char *const ends[] = { "", "-journal", "-wal", "-shm" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		char name[PATH_MAX];
		struct stat st;
		int n = snprintf(name, sizeof(name), "%s%s", path, ends[i]);
		if (n > 0 && (size_t)n < sizeof(name) && lstat(name, &st) == 0 && !S_ISREG(st.st_mode))
			return err_set(e, E_CORRUPT, "INDEX",
				"cannot open the index: '%s' is not a regular file; 'helm db rebuild' makes it anew",
				name);
	}
	return OK;
}

/* cache_spill: a transaction whose pages do not fit the cache would lock readers out until it ends. */
int db_open(const char *path, int wait_ms, struct db **ret, struct err *e)
{
	static const char
		common[] = "PRAGMA cache_size=-16000; PRAGMA temp_store=FILE; PRAGMA mmap_size=0;",
		kept[] = "PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=NORMAL; PRAGMA cache_spill=OFF;",
		own[] = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"; /* gone afterwards */

	if (path && must_be_files(path, e))
		return e ? e->rc : E_CORRUPT;
	struct db *db = calloc(1, sizeof(*db));
	if (!db)
		mem_exhausted(sizeof(*db));
	int rc = sqlite3_open_v2(path ? path : "", &db->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
			 NULL) == SQLITE_OK
		? OK
		: failed(db, "open", e);
	if (rc == OK) {
		db_wait(db, wait_ms);
		(void)sqlite3_busy_handler(db->handle, wait_for_lock, db);
		rc = db_script(db, common, e);
		if (rc == OK)
			rc = db_script(db, path ? kept : own, e);
	}
	if (rc)
		db_close(&db);
	*ret = db;
	return rc;
}

/* A statement that is in use already (asked for again while its rows are visited) is not shared. */
static int prepare(struct db *db, const char *sql, sqlite3_stmt **ret, bool *ret_is_kept, struct err *e)
{
	*ret_is_kept = false;
	for (int i = 0; i < db->kept_count; i++)
		if (db->kept[i].sql == sql && !sqlite3_stmt_busy(db->kept[i].stmt)) {
			*ret = db->kept[i].stmt;
			*ret_is_kept = true;
			return OK;
		}
	if (sqlite3_prepare_v2(db->handle, sql, -1, ret, NULL) != SQLITE_OK)
		return failed(db, "ask", e);
	if (db->kept_count < MAX_STATEMENTS) {
		db->kept[db->kept_count].sql = sql;
		db->kept[db->kept_count++].stmt = *ret;
		*ret_is_kept = true;
	}
	return OK;
}

static void bind(sqlite3_stmt *s, const struct db_value *values, int n)
{
	for (int i = 0; i < n; i++)
		if (values[i].kind == DB_INT)
			(void)sqlite3_bind_int64(s, i + 1, values[i].i);
		else if (values[i].kind == DB_TEXT && values[i].text)
			(void)sqlite3_bind_text(s, i + 1, values[i].text, -1, SQLITE_STATIC);
		else
			(void)sqlite3_bind_null(s, i + 1);
}

int db_ask(struct db *db, const char *sql, const struct db_value *values, int n, db_visit *fn, void *arg,
	struct err *e)
{
	sqlite3_stmt *s;
	bool is_kept;
	int rc = prepare(db, sql, &s, &is_kept, e), step = SQLITE_DONE;

	if (rc)
		return rc;
	bind(s, values, n);
	struct db_row row = { s };
	while (rc == OK && (step = sqlite3_step(s)) == SQLITE_ROW)
		rc = fn ? fn(arg, &row, e) : OK;
	if (rc == OK && step != SQLITE_DONE)
		rc = failed(db, "read", e);
	(void)sqlite3_reset(s);
	(void)sqlite3_clear_bindings(s);
	if (!is_kept)
		sqlite3_finalize(s);
	return rc > 0 ? OK : rc;
}

int db_run(struct db *db, const char *sql, const struct db_value *values, int n, struct err *e)
{
	return db_ask(db, sql, values, n, NULL, NULL, e);
}

static int take_number(void *arg, const struct db_row *row, struct err *e)
{
	(void)e;
	*(int64_t *)arg = db_int(row, 0);
	return 1;
}

int db_number(struct db *db, const char *sql, const struct db_value *values, int n, int64_t otherwise,
	int64_t *ret, struct err *e)
{
	*ret = otherwise;
	return db_ask(db, sql, values, n, take_number, ret, e);
}

int db_columns(const struct db_row *row)
{
	return sqlite3_column_count(row->stmt);
}

const char *db_name(const struct db_row *row, int i)
{
	return sqlite3_column_name(row->stmt, i);
}

const char *db_text(const struct db_row *row, int i)
{
	return (const char *)sqlite3_column_text(row->stmt, i);
}

int64_t db_int(const struct db_row *row, int i)
{
	return sqlite3_column_int64(row->stmt, i);
}

enum db_kind db_kind(const struct db_row *row, int i)
{
	int type = sqlite3_column_type(row->stmt, i);

	return type == SQLITE_NULL ? DB_NULL : type == SQLITE_INTEGER ? DB_INT : DB_TEXT;
}

bool db_real(const struct db_row *row, int i, double *ret)
{
	if (sqlite3_column_type(row->stmt, i) != SQLITE_FLOAT)
		return false;
	*ret = sqlite3_column_double(row->stmt, i);
	return true;
}

/* db.h — inside record/: a small door to SQLite, so that only db.c knows it.
 *
 * Statements are fixed texts, kept prepared while the database is open; values are always bound, never pasted into SQL. */
#ifndef RECORD_DB_H
#define RECORD_DB_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

struct db;
struct db_row; /* of an answer, valid during the call */

enum db_kind { DB_NULL, DB_INT, DB_TEXT };
struct db_value {
	enum db_kind kind;
	int64_t i;
	const char *text; /* must stay until the call returns; NULL is SQL's NULL */
};
#define DB_I(n) ((struct db_value){ DB_INT, (int64_t)(n), NULL })
#define DB_T(s) ((struct db_value){ DB_TEXT, 0, (s) })

/* The code of an error (E_IO): another process had the file locked for longer than wait_ms. */
#define DB_BUSY "INDEX_BUSY"

/* path NULL: one of its own that is on disk only when it is large, and is gone afterwards. */
int db_open(const char *path, int wait_ms, struct db **ret, struct err *e);
void db_close(struct db **db);
/* From now on statements wait so long for another process. */
void db_wait(struct db *db, int wait_ms);

/* Several statements, without values. */
int db_script(struct db *db, const char *sql, struct err *e);
int db_run(struct db *db, const char *sql, const struct db_value *values, int n, struct err *e);
/* Every row of the answer, or an error: never a part of it.  fn returns 0 to go on, > 0 to stop, or a negative rc. */
typedef int db_visit(void *arg, const struct db_row *row, struct err *e);
int db_ask(struct db *db, const char *sql, const struct db_value *values, int n, db_visit *fn, void *arg,
	struct err *e);
/* The first column of the first row, as a number; `otherwise` when there is no row.  E_IO when it cannot be asked. */
int db_number(struct db *db, const char *sql, const struct db_value *values, int n, int64_t otherwise,
	int64_t *ret, struct err *e);

int db_columns(const struct db_row *row);
const char *db_name(const struct db_row *row, int i);
enum db_kind db_kind(const struct db_row *row, int i); /* a REAL is DB_TEXT; see db_real() */
const char *db_text(const struct db_row *row, int i); /* NULL for NULL */
int64_t db_int(const struct db_row *row, int i);
bool db_real(const struct db_row *row, int i, double *ret); /* false when it is no REAL */

#endif

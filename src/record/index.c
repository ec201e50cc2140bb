/* index.c — the ledgers as tables (docs/formats/index.md).
 *
 * Each ledger's offset up to which it was read is kept in the index itself, in the same transaction as the
 * rows, so that a crash leaves both or neither.  A ledger that has become shorter is another ledger:
 * everything is read again.
 *
 * The index is a cache for questions ("which tasks failed?").  Nothing is decided by it, and deleting it
 * loses nothing: it is made again from the ledgers.  It is private to the user (0600), because rows hold
 * command lines. */
#include "record/index.h"

#include "base/file.h"
#include "base/text.h"
#include "record/record.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>

/* Tables and columns are documented, and read by other tools: they are part of the format. */
static const char schema[] =
	"CREATE TABLE IF NOT EXISTS schema_info(key TEXT PRIMARY KEY, value TEXT);"
	"CREATE TABLE IF NOT EXISTS task_index(task_id TEXT PRIMARY KEY, task_name TEXT, skill TEXT, profile "
	"TEXT, status TEXT,"
	" started_at TEXT, finished_at TEXT, source_file TEXT, source_line INTEGER, raw_json TEXT);"
	"CREATE TABLE IF NOT EXISTS command_index(id INTEGER PRIMARY KEY, task_id TEXT, command_preview "
	"TEXT, profile TEXT,"
	" exit_code INTEGER, started_at TEXT, finished_at TEXT, source_file TEXT, source_line INTEGER, "
	"raw_json TEXT);"
	"CREATE TABLE IF NOT EXISTS guard_decision_index(id INTEGER PRIMARY KEY, task_id TEXT UNIQUE, action "
	"TEXT, risk_score REAL,"
	" selected_profile TEXT, recommended_profile TEXT, approved INTEGER, matched_rules_json TEXT, "
	"reasons_json TEXT,"
	" classification_json TEXT, created_at TEXT, source_file TEXT, source_line INTEGER);"
	"CREATE INDEX IF NOT EXISTS task_by_status ON task_index(status);"
	"CREATE INDEX IF NOT EXISTS command_by_task ON command_index(task_id);"
	"INSERT OR IGNORE INTO schema_info VALUES('schema_version','1');";

/* An open index, and the place in the ledger that is being read into it. */
struct index {
	const struct index_place *at;
	sqlite3 *db;
	struct json *warnings;
	const char *file; /* ledger being read */
	int64_t line_base, lines;
	off_t end;
};

/* Every problem of the index has the same remedy, which is why the message always names it. */
static int failed(struct index *x, const char *what, struct err *e)
{
	return err_set(e, E_IO, "INDEX", "cannot %s the index: %s; 'helm db rebuild' makes it anew", what,
		x->db ? sqlite3_errmsg(x->db) : "out of memory");
}

static void close_index(struct index *x)
{
	(void)sqlite3_close(x->db);
}

/* Fixed statements only. */
static int run_sql(struct index *x, const char *sql, struct err *e)
{
	return sqlite3_exec(x->db, sql, NULL, NULL, NULL) == SQLITE_OK ? OK : failed(x, "change", e);
}

/* The file is made by us first, so that its mode is ours and nobody else can read it.  WAL lets readers go
 * on while a refresh writes. */
static int open_index(const struct index_place *at, const char *path, struct index *ret, struct err *e)
{
	*ret = (struct index){ .at = at, .warnings = json_new(at->a, JSON_ARRAY) };
	if (path) {
		/* Made by us first, so that nobody else can read it. */
		AUTO(close_fd)
		int fd = at->sys->open(
			at->sys, at->state_fd, INDEX_FILE, O_RDWR | O_CREAT | O_NOFOLLOW, 0600, 0);
		if (fd < 0)
			return err_sys(e, "INDEX", "cannot open the index %s", path);
	}
	if (sqlite3_open_v2(path ? path : ":memory:", &ret->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
		    NULL) != SQLITE_OK)
		return failed(ret, "open", e);
	sqlite3_busy_timeout(ret->db, 5000);
	int rc = run_sql(ret, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;", e);
	return rc ? rc : run_sql(ret, schema, e);
}

static void bind_text(sqlite3_stmt *s, int i, const char *text)
{
	if (text)
		(void)sqlite3_bind_text(s, i, text, -1, SQLITE_TRANSIENT);
	else
		(void)sqlite3_bind_null(s, i);
}

static const char *as_json(struct arena *a, const struct json *v)
{
	struct buf text;

	if (!v)
		return NULL;
	buf_init(&text, a);
	json_write(&text, v, 0);
	return text.p;
}

/* One INSERT with texts bound from a list; integers come as text, and SQLite's columns convert them.
 * Values are always bound, never pasted into SQL. */
static int put(struct index *x, const char *sql, const char *const *values, int n, struct err *e)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(x->db, sql, -1, &s, NULL) != SQLITE_OK)
		return failed(x, "write", e);
	for (int i = 0; i < n; i++)
		bind_text(s, i + 1, values[i]);
	bool ok = sqlite3_step(s) == SQLITE_DONE;
	sqlite3_finalize(s);
	return ok ? OK : failed(x, "write", e);
}

/* The guard's decision about a task, when its row has one.  The newest row of a task replaces the older
 * ones. */
static int put_guard(
	struct index *x, struct arena *a, const struct json *row, const char *line, struct err *e)
{
	const struct json *g = json_get(row, "guard");
	const struct json *score = json_get(g, "risk_score");

	if (!json_get_text(g, "action", NULL))
		return OK;
	const char *values[] = { json_get_text(row, "task_id", NULL), json_get_text(g, "action", NULL),
		json_is(score, JSON_NUMBER) ? score->text : NULL, json_get_text(g, "selected_profile", NULL),
		json_get_text(g, "recommended_profile", NULL),
		json_get_bool(g, "approved", false) ? "1" : "0", as_json(a, json_get(g, "matched_rules")),
		as_json(a, json_get(g, "reasons")), as_json(a, json_get(g, "classification")),
		json_get_text(g, "evaluated_at", NULL), x->file, line };
	return put(x,
		"INSERT OR REPLACE INTO "
		"guard_decision_index(task_id,action,risk_score,selected_profile,recommended_profile,"
		"approved,matched_rules_json,reasons_json,classification_json,created_at,source_file,source_"
		"line)"
		" VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
		values, ARRAY_SIZE(values), e);
}

/* A task has a row for every state it goes through; the last one counts. */
static int put_task(struct index *x, struct arena *a, const struct json *row, const char *line, struct err *e)
{
	const char *id = json_get_text(row, "task_id", NULL);

	if (!id || !json_get_text(row, "status", NULL))
		return OK;
	const char *values[] = { id, json_get_text(row, "task_name", NULL), json_get_text(row, "skill", NULL),
		json_get_text(row, "profile", NULL), json_get_text(row, "status", NULL),
		json_get_text(row, "started_at", NULL), json_get_text(row, "finished_at", NULL), x->file,
		line, as_json(a, row) };
	int rc = put(x, "INSERT OR REPLACE INTO task_index VALUES(?,?,?,?,?,?,?,?,?,?)", values,
		ARRAY_SIZE(values), e);
	return rc ? rc : put_guard(x, a, row, line, e);
}

/* One row per executed command; nothing is replaced. */
static int put_command(
	struct index *x, struct arena *a, const struct json *row, const char *line, struct err *e)
{
	const struct json *code = json_get(row, "exit_code");
	const char *values[] = { json_get_text(row, "task_id", NULL),
		json_get_text(row, "command_preview", NULL), json_get_text(row, "profile", NULL),
		json_is(code, JSON_NUMBER) ? code->text : NULL, json_get_text(row, "started_at", NULL),
		json_get_text(row, "finished_at", NULL), x->file, line, as_json(a, row) };

	return put(x,
		"INSERT INTO "
		"command_index(task_id,command_preview,profile,exit_code,started_at,finished_at,source_file,"
		"source_line,raw_json) VALUES(?,?,?,?,?,?,?,?,?)",
		values, ARRAY_SIZE(values), e);
}

/* A line that cannot be read becomes a warning and does not stop the rest. */
static int take_row(void *arg, off_t offset, uint64_t line, const struct json *row, struct err *e)
{
	struct index *x = arg;
	AUTO(arena_done) struct arena a = { 0 };
	int64_t number = x->line_base + (int64_t)line;
	const char *text = arena_printf(&a, "%lld", (long long)number);

	(void)offset;
	x->lines = number;
	if (!row) {
		json_push(x->at->a, x->warnings,
			json_stringf(x->at->a, "%s line %lld is no row", x->file, (long long)number));
		return 0;
	}
	return text_eq(x->file, TASK_LEDGER) ? put_task(x, &a, row, text, e)
					     : put_command(x, &a, row, text, e);
}

/* 0 for a key that is not there: then the ledger is read from its start. */
static int64_t get_number(struct index *x, const char *key)
{
	sqlite3_stmt *s = NULL;
	int64_t n = 0;

	if (sqlite3_prepare_v2(x->db, "SELECT value FROM schema_info WHERE key=?", -1, &s, NULL) ==
		SQLITE_OK) {
		bind_text(s, 1, key);
		if (sqlite3_step(s) == SQLITE_ROW)
			n = sqlite3_column_int64(s, 0);
	}
	sqlite3_finalize(s);
	return n;
}

/* In the same transaction as the rows it counts. */
static int set_number(struct index *x, const char *key, int64_t n, struct err *e)
{
	const char *values[] = { key, arena_printf(x->at->a, "%lld", (long long)n) };

	return put(x, "INSERT OR REPLACE INTO schema_info VALUES(?,?)", values, 2, e);
}

/* Up to the last newline near the end of the file: a torn end is read when it is complete. */
static off_t whole_size(const struct index_place *at, const char *file)
{
	struct stat st;
	char tail[4096];
	AUTO(close_fd) int fd = at->sys->open(at->sys, at->state_fd, file, O_RDONLY | O_NOFOLLOW, 0, 0);

	if (fd < 0 || at->sys->stat(at->sys, fd, "", &st, AT_EMPTY_PATH) || !st.st_size)
		return 0;
	off_t from = st.st_size > (off_t)sizeof(tail) ? st.st_size - (off_t)sizeof(tail) : 0;
	ssize_t n = at->sys->pread(at->sys, fd, tail, sizeof(tail), from);
	const char *end = n > 0 ? memrchr(tail, '\n', (size_t)n) : NULL;
	return end ? from + (end - tail) + 1 : 0;
}

/* Reads a ledger from where the last refresh stopped. */
static int catch_up(struct index *x, const char *file, struct err *e)
{
	const char *at_key = arena_printf(x->at->a, "%s.offset", file),
		   *line_key = arena_printf(x->at->a, "%s.lines", file);
	off_t from = (off_t)get_number(x, at_key), end = whole_size(x->at, file);

	x->file = file;
	x->line_base = x->lines = get_number(x, line_key);
	if (end <= from)
		return OK;
	int rc = rows_each(x->at->sys, x->at->state_fd, file, from, take_row, x, e);
	if (rc == OK)
		rc = set_number(x, at_key, end, e);
	return rc ? rc : set_number(x, line_key, x->lines, e);
}

/* One transaction: rows and offsets are there together or not at all.  IMMEDIATE, so that two processes do
 * not both read the same rows of a ledger. */
static int fill(struct index *x, bool rebuild, struct err *e)
{
	int rc = run_sql(x, "BEGIN IMMEDIATE", e);

	if (rc)
		return rc;
	bool shorter = get_number(x, TASK_LEDGER ".offset") > (int64_t)whole_size(x->at, TASK_LEDGER) ||
		get_number(x, COMMAND_LOG ".offset") > (int64_t)whole_size(x->at, COMMAND_LOG);
	if (rebuild || shorter)
		rc = run_sql(x,
			"DELETE FROM task_index; DELETE FROM command_index; DELETE FROM guard_decision_index;"
			"DELETE FROM schema_info WHERE key<>'schema_version';",
			e);
	if (rc == OK)
		rc = catch_up(x, TASK_LEDGER, e);
	if (rc == OK)
		rc = catch_up(x, COMMAND_LOG, e);
	if (rc == OK)
		return run_sql(x, "COMMIT", e);
	(void)sqlite3_exec(x->db, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* -1 when the question itself failed. */
static int64_t count(struct index *x, const char *sql)
{
	sqlite3_stmt *s = NULL;
	int64_t n = -1;

	if (sqlite3_prepare_v2(x->db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return n;
}

static void add_counts(struct index *x, struct json *doc)
{
	json_seti(x->at->a, doc, "task_rows", count(x, "SELECT count(*) FROM task_index"));
	json_seti(x->at->a, doc, "command_rows", count(x, "SELECT count(*) FROM command_index"));
	json_seti(
		x->at->a, doc, "guard_decision_rows", count(x, "SELECT count(*) FROM guard_decision_index"));
}

static const char *index_path(const struct index_place *at)
{
	return arena_printf(at->a, "%s/%s", at->state_dir, INDEX_FILE);
}

/* `rebuild` reads everything again. */
int index_refresh(const struct index_place *at, bool rebuild, struct json **ret, struct err *e)
{
	struct json *doc = json_new(at->a, JSON_OBJECT);
	AUTO(close_index) struct index x;
	int rc = open_index(at, index_path(at), &x, e);

	if (rc == OK)
		rc = fill(&x, rebuild, e);
	if (rc)
		return rc;
	json_sets(at->a, doc, "ops_db_path", index_path(at));
	add_counts(&x, doc);
	json_set(at->a, doc, "warnings", x.warnings);
	*ret = doc;
	return OK;
}

/* Builds a second index in memory and compares it with the stored one; changes nothing on disk. */
int index_verify(const struct index_place *at, struct json **ret, struct err *e)
{
	struct json *doc = json_new(at->a, JSON_OBJECT);
	AUTO(close_index) struct index x = { 0 };
	int rc = open_index(at, NULL, &x, e);

	if (rc == OK)
		rc = fill(&x, true, e);
	if (rc)
		return rc;
	json_seti(at->a, doc, "jsonl_task_lines", count(&x, "SELECT count(*) FROM task_index"));
	bool there = file_exists(at->sys, at->state_fd, INDEX_FILE);
	if (there) {
		const char *values[] = { index_path(at) };
		rc = put(&x, "ATTACH DATABASE ? AS kept", values, 1, e);
		if (rc)
			return rc;
		json_seti(at->a, doc, "task_rows", count(&x, "SELECT count(*) FROM kept.task_index"));
		/* What one has and the other has not, in state or in place. */
		int64_t drift = count(&x,
			"SELECT (SELECT count(*) FROM (SELECT task_id,status,source_line FROM "
			"main.task_index EXCEPT "
			"SELECT task_id,status,source_line FROM kept.task_index)) + (SELECT count(*) FROM "
			"(SELECT "
			"task_id,status,source_line FROM kept.task_index EXCEPT SELECT "
			"task_id,status,source_line "
			"FROM main.task_index))");
		json_seti(at->a, doc, "drift", drift);
	} else {
		json_seti(at->a, doc, "task_rows", 0);
		json_seti(at->a, doc, "drift", json_get_int(doc, "jsonl_task_lines", 0));
	}
	json_set(at->a, doc, "warnings", x.warnings);
	*ret = doc;
	return OK;
}

/* Does not create an index that is not there. */
int index_status(const struct index_place *at, struct json **ret, struct err *e)
{
	struct json *doc = json_new(at->a, JSON_OBJECT);
	bool there = file_exists(at->sys, at->state_fd, INDEX_FILE);

	json_sets(at->a, doc, "ops_db_path", index_path(at));
	json_sets(at->a, doc, "status", there ? "present" : "missing");
	if (there) {
		AUTO(close_index) struct index x;
		int rc = open_index(at, index_path(at), &x, e);
		if (rc)
			return rc;
		add_counts(&x, doc);
	}
	*ret = doc;
	return OK;
}

/* Columns under their own names; columns called *_json become JSON again. */
static struct json *row_doc(struct arena *a, sqlite3_stmt *s)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	for (int i = 0; i < sqlite3_column_count(s); i++) {
		const char *name = sqlite3_column_name(s, i), *text = (const char *)sqlite3_column_text(s, i);
		struct json *parsed = NULL;
		if (text && text_ends(name, "_json") &&
			json_parse(a, bytes_of(arena_strdup(a, text)), name, NULL, &parsed, NULL) == OK)
			json_set(a, doc, arena_strndup(a, name, strlen(name) - 5), parsed);
		else if (text && sqlite3_column_type(s, i) == SQLITE_INTEGER)
			json_seti(a, doc, name, sqlite3_column_int64(s, i));
		else if (text && sqlite3_column_type(s, i) == SQLITE_FLOAT)
			json_set(a, doc, name, json_double(a, sqlite3_column_double(s, i)));
		else
			json_sets(a, doc, name, text);
	}
	return doc;
}

/* Catches up first, so that an answer is never older than the ledgers. */
int index_query(const struct index_place *at, const struct index_query *q, struct json **ret, struct err *e)
{
	static const char tasks[] =
		"SELECT task_id,task_name,skill,profile,status,started_at,finished_at,source_line FROM "
		"task_index"
		" WHERE (?1 IS NULL OR status=?1) AND (?2 IS NULL OR profile=?2) AND (?3 IS NULL OR "
		"task_id=?3)"
		" ORDER BY source_line DESC LIMIT ?4";
	static const char guards[] =
		"SELECT "
		"action,risk_score,selected_profile,task_id,reasons_json,matched_rules_json,created_at FROM "
		"guard_decision_index"
		" WHERE action=?1 AND (?2 IS NULL OR selected_profile=?2) AND (?3 IS NULL OR task_id=?3)"
		" ORDER BY source_line DESC LIMIT ?4";
	struct json *rows = json_new(at->a, JSON_ARRAY);
	AUTO(close_index) struct index x;
	sqlite3_stmt *s = NULL;
	int rc = open_index(at, index_path(at), &x, e);

	if (rc == OK)
		rc = fill(&x, false, e);
	if (rc)
		return rc;
	if (sqlite3_prepare_v2(x.db, q->guard_action ? guards : tasks, -1, &s, NULL) != SQLITE_OK)
		return failed(&x, "ask", e);
	bind_text(s, 1, q->guard_action ? q->guard_action : q->status);
	bind_text(s, 2, q->profile);
	bind_text(s, 3, q->task_id);
	(void)sqlite3_bind_int64(s, 4, q->limit ? q->limit : -1);
	while (sqlite3_step(s) == SQLITE_ROW)
		json_push(at->a, rows, row_doc(at->a, s));
	sqlite3_finalize(s);
	*ret = rows;
	return OK;
}

/* index.c — the ledgers and the chain as tables (docs/formats/ledgers.md): made, and caught up.
 *
 * How far each source was read is kept in the index itself, in the same transaction as its rows, so that a
 * crash leaves both or neither.  A source is read in pieces of some megabytes, a transaction each: what was
 * read stays read when the time is over or the disk is full, and neither memory nor the journal grow with
 * the ledgers.  A ledger that has become shorter is another ledger: everything is read again.
 *
 * Counts that views show are kept as they change (triggers, tallies), because counting a million rows for
 * a number on a screen takes longer than everything else.
 *
 * The index is private to the user (0600), because rows hold command lines. */
#include "record/index_parts.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/notice.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum {
	STEP_BYTES = 2 << 20,
	LONG_STEP_BYTES = 8 << 20,
	MAX_WARNINGS = 20,
	SOON_US = 700000,
	REBUILDS_MOST = 5
};
enum { SOON_WAIT_MS = 1000, PATIENT_WAIT_MS = 10000, LONG_WAIT_MS = 60000, RECENT_BYTES = 12 << 20 };

#define SCHEMA_VERSION "7"

/* Tables and columns of the first four are documented, and read by other tools: they are part of the format. */
static const char schema[] =
	"CREATE TABLE IF NOT EXISTS schema_info(key TEXT PRIMARY KEY, value TEXT);"
	"CREATE TABLE IF NOT EXISTS task_index(task_id TEXT PRIMARY KEY, task_name TEXT, skill TEXT, profile "
	"TEXT, status TEXT, started_at TEXT, finished_at TEXT, source_file TEXT, source_line INTEGER, raw_json "
	"TEXT, first_place INTEGER, place INTEGER);"
	"CREATE TABLE IF NOT EXISTS command_index(id INTEGER PRIMARY KEY, task_id TEXT, command_preview "
	"TEXT, profile TEXT, exit_code INTEGER, started_at TEXT, finished_at TEXT, source_file TEXT, "
	"source_line INTEGER, raw_json TEXT);"
	"CREATE TABLE IF NOT EXISTS guard_decision_index(id INTEGER PRIMARY KEY, task_id TEXT UNIQUE, action "
	"TEXT, risk_score REAL, selected_profile TEXT, recommended_profile TEXT, approved INTEGER, "
	"matched_rules_json TEXT, reasons_json TEXT, classification_json TEXT, created_at TEXT, source_file "
	"TEXT, source_line INTEGER);"
	"CREATE TABLE IF NOT EXISTS discovery_snapshot_index(id INTEGER PRIMARY KEY, task_id TEXT UNIQUE, "
	"runtime_kind TEXT, runtime_confidence TEXT, runtime_model_state_json TEXT, "
	"helm_intelligence_state_json TEXT, hardware_json TEXT, strategy_json TEXT, created_at TEXT NOT NULL);"
	"CREATE TABLE IF NOT EXISTS call_index(place INTEGER PRIMARY KEY, session TEXT, verdict TEXT, use_key "
	"INTEGER, input_key INTEGER);"
	"CREATE TABLE IF NOT EXISTS session_index(session TEXT PRIMARY KEY, client TEXT, first_at TEXT, "
	"last_at TEXT, calls INTEGER, allowed INTEGER, asked INTEGER, denied INTEGER, changed_files INTEGER, "
	"self_test INTEGER, place INTEGER);"
	"CREATE TABLE IF NOT EXISTS answer_index(approval_id TEXT PRIMARY KEY, answer TEXT);"
	"CREATE TABLE IF NOT EXISTS receipt_blocks(first INTEGER PRIMARY KEY, last INTEGER, file INTEGER, bytes "
	"INTEGER, keys TEXT);"
	"CREATE TABLE IF NOT EXISTS entry_calls(minute INTEGER, entry TEXT, allowed INTEGER, asked INTEGER, denied "
	"INTEGER, self_tests INTEGER, PRIMARY KEY(entry,minute)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS entry_last(entry TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS task_counts(status TEXT, profile TEXT, skill TEXT, n INTEGER, PRIMARY "
	"KEY(status,profile,skill)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS counts(name TEXT PRIMARY KEY, n INTEGER);"
	"CREATE INDEX IF NOT EXISTS task_by_line ON task_index(source_line);"
	"CREATE INDEX IF NOT EXISTS task_by_start ON task_index(started_at,source_line);"
	"CREATE INDEX IF NOT EXISTS task_by_state ON "
	"task_index(status,ifnull(profile,''),ifnull(skill,''),source_line);"
	"CREATE INDEX IF NOT EXISTS command_by_task ON command_index(task_id);"
	"CREATE INDEX IF NOT EXISTS command_failed ON command_index(id) WHERE exit_code<>0;"
	"CREATE INDEX IF NOT EXISTS guard_by_action ON guard_decision_index(action,source_line);"
	"CREATE INDEX IF NOT EXISTS call_stopped ON call_index(place) WHERE verdict<>'ALLOW';"
	"CREATE INDEX IF NOT EXISTS call_by_session ON call_index(session,place) WHERE verdict IS NOT NULL;"
	"CREATE INDEX IF NOT EXISTS call_starts ON call_index(use_key,place) WHERE verdict IS NOT NULL;"
	"CREATE INDEX IF NOT EXISTS call_ends ON call_index(use_key,place) WHERE verdict IS NULL;"
	"CREATE INDEX IF NOT EXISTS call_allowed ON call_index(input_key,place) WHERE verdict='ALLOW';"
	"CREATE INDEX IF NOT EXISTS session_by_place ON session_index(place);"
	"CREATE TRIGGER IF NOT EXISTS task_added AFTER INSERT ON task_index BEGIN"
	" INSERT INTO task_counts VALUES(new.status,ifnull(new.profile,''),ifnull(new.skill,''),1)"
	" ON CONFLICT DO UPDATE SET n=n+1; END;"
	"CREATE TRIGGER IF NOT EXISTS task_moved AFTER UPDATE OF status,profile,skill ON task_index"
	" WHEN new.status<>old.status OR new.profile IS NOT old.profile OR new.skill IS NOT old.skill BEGIN"
	" UPDATE task_counts SET n=n-1 WHERE status=old.status AND profile=ifnull(old.profile,'') AND "
	"skill=ifnull(old.skill,'');"
	" INSERT INTO task_counts VALUES(new.status,ifnull(new.profile,''),ifnull(new.skill,''),1)"
	" ON CONFLICT DO UPDATE SET n=n+1; END;"
	"CREATE TRIGGER IF NOT EXISTS session_added AFTER INSERT ON session_index BEGIN"
	" INSERT INTO counts VALUES('sessions',1) ON CONFLICT DO UPDATE SET n=n+1; END;"
	"INSERT OR IGNORE INTO schema_info VALUES('schema_version','" SCHEMA_VERSION "');";

/* Everything but who we are; also what another version has made. */
static const char drop_all[] =
	"DROP TABLE IF EXISTS task_index; DROP TABLE IF EXISTS command_index; DROP TABLE IF EXISTS "
	"guard_decision_index; DROP TABLE IF EXISTS discovery_snapshot_index; DROP TABLE IF EXISTS call_index; DROP TABLE IF EXISTS session_index; DROP TABLE "
	"IF EXISTS answer_index; DROP TABLE IF EXISTS entry_calls; DROP TABLE IF EXISTS entry_last; DROP TABLE IF EXISTS receipt_blocks; DROP TABLE IF EXISTS task_counts; DROP TABLE IF EXISTS counts; DROP TABLE IF "
	"EXISTS schema_info;";

/* ---- opening ---- */

static const char *index_path(const struct index_place *at)
{
	return arena_printf(at->a, "%s/%s", at->state_dir, INDEX_FILE);
}

void index_close(struct index **x)
{
	if (*x)
		db_close(&(*x)->db);
	*x = NULL;
}

static struct index *index_new(const struct index_place *at)
{
	struct index *x = arena_zalloc(at->a, 1, sizeof(*x));

	x->at = *at;
	x->warnings = json_new(at->a, JSON_ARRAY);
	x->is_whole = true;
	return x;
}

static int take_text(void *arg, const struct db_row *row, struct err *e)
{
	(void)e;
	snprintf(arg, 64, "%s", db_text(row, 0) ? db_text(row, 0) : "");
	return 1;
}

/* Tables of another version are made anew: everything in them can be read again. */
static int make_tables(struct index *x, struct err *e)
{
	char version[64] = "";
	int64_t is_there;
	int rc = db_number(
		x->db, "SELECT 1 FROM sqlite_master WHERE name='schema_info'", NULL, 0, 0, &is_there, e);

	if (rc == OK && is_there)
		rc = db_ask(x->db, "SELECT value FROM schema_info WHERE key='schema_version'", NULL, 0,
			take_text, version, e);
	if (rc || (is_there && text_eq(version, SCHEMA_VERSION)))
		return rc;
	rc = db_script(x->db, "BEGIN IMMEDIATE", e);
	if (rc == OK && is_there)
		rc = db_script(x->db, drop_all, e);
	if (rc == OK)
		rc = db_script(x->db, schema, e);
	return rc ? rc : db_script(x->db, "COMMIT", e);
}

/* The file is made by us first, so that its mode is ours and nobody else can read it. */
static int open_kept(struct index *x, int wait_ms, struct err *e)
{
	struct sys *s = x->at.sys;
	AUTO(close_fd)
	int fd = s->open(s, x->at.state_fd, INDEX_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600, 0);

	if (fd < 0 && errno == EISDIR)
		return err_set(e, E_CORRUPT, "INDEX", "the index %s is a directory; run: helm db rebuild",
			index_path(&x->at));
	if (fd < 0)
		return err_sys(e, "INDEX", "cannot open the index %s", index_path(&x->at));
	int rc = db_open(index_path(&x->at), wait_ms, &x->db, e);
	return rc ? rc : make_tables(x, e);
}

/* ---- rows into tables ---- */

/* One step of reading: what is written in one transaction. */
struct step {
	struct index *x;
	const char *file;
	struct arena a;
	int64_t lines; /* of the source, so far */
	off_t end; /* behind the last whole line */
	uint64_t bytes, rows, most_bytes; /* of this step */
	off_t until; /* rows from here on are not read; 0: all are, -1: none */
	struct tally t;
	struct chain_blocks blocks;
	struct call_minutes minutes;
	char last_receipt[64];
};

static const char *as_json(struct arena *a, const struct json *v)
{
	struct buf text;

	if (!v)
		return NULL;
	buf_init(&text, a);
	json_write(&text, v, 0);
	return text.p;
}

static struct db_value text_of(const struct json *row, const char *name)
{
	return DB_T(json_get_text(row, name, NULL));
}

static struct db_value number_of(const struct json *row, const char *name)
{
	const struct json *v = json_get(row, name);

	return DB_T(json_is(v, JSON_NUMBER) ? v->text : NULL); /* SQLite's columns convert it */
}

/* The guard's decision about a task, when its row has one.  The newest row of a task replaces the older
 * ones. */
static int put_guard(struct step *p, const struct json *row, struct err *e)
{
	const struct json *g = json_get(row, "guard");
	const char *at = json_get_text(
		g, "created_at", json_get_text(g, "evaluated_at", json_get_text(row, "started_at", NULL)));

	if (!json_get_text(g, "action", NULL))
		return OK;
	const struct db_value values[] = { text_of(row, "task_id"), text_of(g, "action"),
		json_get(g, "risk_score") ? number_of(g, "risk_score") : DB_I(0),
		text_of(g, "selected_profile"), text_of(g, "recommended_profile"),
		DB_I(json_get_bool(g, "approved", false)), DB_T(as_json(&p->a, json_get(g, "matched_rules"))),
		DB_T(as_json(&p->a, json_get(g, "reasons"))),
		DB_T(as_json(&p->a, json_get(g, "classification"))), DB_T(at), DB_T(p->file),
		DB_I(p->lines) };
	static const char sql[] =
		"INSERT OR REPLACE INTO guard_decision_index(task_id,action,risk_score,selected_profile,"
		"recommended_profile,approved,matched_rules_json,reasons_json,classification_json,created_at,"
		"source_file,source_line) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)";
	return db_run(p->x->db, sql, values, ARRAY_SIZE(values), e);
}

/* What was found out about the machine when a task began, when its row says so and when that was. */
static int put_discovery(struct step *p, const struct json *row, struct err *e)
{
	const struct json *d = json_get(row, "discovery"), *runtime = json_get(d, "runtime");
	const char *at = json_get_text(d, "created_at", json_get_text(row, "started_at", NULL));

	if (!json_is(d, JSON_OBJECT) || !at)
		return OK;
	const struct db_value values[] = { text_of(row, "task_id"), text_of(runtime, "kind"),
		DB_T(as_json(&p->a, json_get(runtime, "confidence"))),
		DB_T(as_json(&p->a, json_get(d, "runtime_model_state"))),
		DB_T(as_json(&p->a, json_get(d, "helm_intelligence_state"))),
		DB_T(as_json(&p->a, json_get(d, "hardware"))), DB_T(as_json(&p->a, json_get(d, "strategy"))),
		DB_T(at) };
	static const char sql[] =
		"INSERT OR REPLACE INTO discovery_snapshot_index(task_id,runtime_kind,runtime_confidence,"
		"runtime_model_state_json,helm_intelligence_state_json,hardware_json,strategy_json,created_at) "
		"VALUES(?,?,?,?,?,?,?,?)";
	return db_run(p->x->db, sql, values, ARRAY_SIZE(values), e);
}

/* A task has a row for every state it goes through; the last one counts. */
static int put_task(struct step *p, const struct json *row, off_t place, struct err *e)
{
	if (!json_get_text(row, "task_id", NULL) || !json_get_text(row, "status", NULL))
		return OK;
	const struct db_value values[] = { text_of(row, "task_id"), text_of(row, "task_name"),
		text_of(row, "skill"), text_of(row, "profile"), text_of(row, "status"),
		text_of(row, "started_at"), text_of(row, "finished_at"), DB_T(p->file), DB_I(p->lines),
		DB_T(as_json(&p->a, row)), DB_I(place), DB_I(place) };
	static const char sql[] =
		"INSERT INTO task_index VALUES(?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(task_id) DO UPDATE SET "
		"task_name=excluded.task_name,skill=excluded.skill,profile=excluded.profile,"
		"status=excluded.status,started_at=excluded.started_at,finished_at=excluded.finished_at,"
		"source_line=excluded.source_line,raw_json=excluded.raw_json,place=excluded.place";
	int rc = db_run(p->x->db, sql, values, ARRAY_SIZE(values), e);
	if (rc == OK)
		rc = put_guard(p, row, e);
	return rc ? rc : put_discovery(p, row, e);
}

/* One row per executed command; nothing is replaced. */
static int put_command(struct step *p, const struct json *row, off_t place, struct err *e)
{
	const struct db_value values[] = { text_of(row, "task_id"), text_of(row, "command_preview"),
		text_of(row, "profile"), number_of(row, "exit_code"), text_of(row, "started_at"),
		text_of(row, "finished_at"), DB_T(p->file), DB_I(p->lines), DB_T(as_json(&p->a, row)) };
	static const char sql[] =
		"INSERT INTO command_index(task_id,command_preview,profile,exit_code,started_at,finished_at,"
		"source_file,source_line,raw_json) VALUES(?,?,?,?,?,?,?,?,?)";

	(void)place;
	p->t.failed_commands += json_get_int(row, "exit_code", 0) != 0;
	return db_run(p->x->db, sql, values, ARRAY_SIZE(values), e);
}

/* Ids and digests are only looked for, never shown: eight bytes of their hash are enough to find the row. */
struct db_value key_of(const char *text)
{
	uint8_t hash[SHA256_SIZE];
	int64_t n;

	if (!text)
		return DB_T(NULL);
	sha256(text, strlen(text), hash);
	memcpy(&n, hash, sizeof(n));
	return DB_I(n);
}

static int64_t count_of(const struct json *row, const char *name)
{
	const struct json *v = json_get(row, name);

	return v ? v->n : 0;
}

/* A row with a verdict is a call; one without is its outcome. */
static int put_call(struct step *p, const struct json *row, off_t place, struct err *e)
{
	const char *verdict = json_get_text(row, "verdict", NULL);
	const char *session = json_get_text(row, "session", "-"), *at = json_get_text(row, "at", "");
	bool is_allowed = verdict && text_eq(verdict, "ALLOW"),
	     is_asked = verdict && text_eq(verdict, "ESCALATE");
	const struct db_value call[] = { DB_I(place), DB_T(session), DB_T(verdict),
		key_of(json_get_text(row, "tool_use_id", NULL)),
		key_of(json_get_text(row, "input_sha256", NULL)) };
	const struct db_value about[] = { DB_T(session), DB_T(json_get_text(row, "client", "")), DB_T(at),
		DB_T(at), DB_I(verdict != NULL), DB_I(is_allowed), DB_I(is_asked),
		DB_I(verdict && !is_allowed && !is_asked),
		DB_I(verdict ? 0 : count_of(row, "changed_files") + count_of(row, "deleted_files")),
		DB_I(verdict && json_get_bool(row, "self_test", false)), DB_I(place) };
	static const char
		call_sql[] = "INSERT OR REPLACE INTO call_index VALUES(?,?,?,?,?)",
		session_sql[] =
			"INSERT INTO session_index VALUES(?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET "
			"last_at=excluded.last_at,calls=calls+excluded.calls,"
			"allowed=allowed+excluded.allowed,asked=asked+excluded.asked,"
			"denied=denied+excluded.denied,"
			"changed_files=changed_files+excluded.changed_files,"
			"self_test=max(self_test,excluded.self_test),place=excluded.place";

	p->t.stopped_calls += verdict && !is_allowed;
	int rc = db_run(p->x->db, call_sql, call, ARRAY_SIZE(call), e);
	if (rc == OK && verdict)
		rc = call_minutes_add(&p->minutes, p->x->db, ENTRY_CLIENT, row, at,
			json_get_bool(row, "self_test", false), e);
	return rc ? rc : db_run(p->x->db, session_sql, about, ARRAY_SIZE(about), e);
}

/* What a person answered to a request: the request is forgotten some day, the receipt of its answer stays. */
static int put_answer(struct step *p, const struct json *receipt, struct err *e)
{
	const struct json *about = json_get(receipt, "metadata"), *grant = json_get(about, "grant"),
			  *denial = json_get(about, "denial");
	const char *id = json_get_text(grant, "request_id", json_get_text(denial, "approval_id", NULL));
	const struct db_value values[] = { DB_T(id), DB_T(grant ? "approved" : "denied") };
	static const char sql[] = "INSERT OR IGNORE INTO answer_index VALUES(?,?)";

	return id ? db_run(p->x->db, sql, values, ARRAY_SIZE(values), e) : OK;
}

static int put_receipt(struct step *p, const struct json *receipt, off_t place, struct err *e)
{
	const char *verdict = json_get_text(receipt, "verdict", ""),
		   *type = json_get_text(receipt, "type", "");
	int rc = OK;

	p->t.receipts++;
	p->t.self_tests += json_get_bool(json_get(receipt, "metadata"), "self_test", false);
	p->t.outcomes += text_eq(type, "outcome");
	if (text_eq(type, "decision")) {
		p->t.allowed += text_eq(verdict, "ALLOW");
		p->t.denied += text_eq(verdict, "DENY");
		p->t.asked += text_eq(verdict, "ESCALATE");
		rc = call_minutes_add_receipt(&p->minutes, p->x->db, receipt, e);
	}
	snprintf(p->last_receipt, sizeof(p->last_receipt), "%s", json_get_text(receipt, "timestamp", ""));
	if (rc == OK)
		rc = chain_blocks_add(
			&p->blocks, p->x->db, &p->a, receipt, place, (size_t)(p->end - place), e);
	return rc ? rc : put_answer(p, receipt, e);
}

/* The sources in the order they are read. */
struct source {
	const char *file;
	int (*put)(struct step *p, const struct json *row, off_t place, struct err *e);
	int (*lines)(struct sys *s, int state_fd, const char *file, off_t from, line_visit *fn, void *arg,
		struct err *e);
	int (*end)(struct sys *s, int state_fd, const char *file, off_t *ret, struct err *e);
};
static const struct source sources[] = {
	{ TASK_LEDGER, put_task, ledger_lines, ledger_end },
	{ COMMAND_LOG, put_command, ledger_lines, ledger_end },
	{ TOOL_CALLS, put_call, ledger_lines, ledger_end },
	{ RECEIPTS, put_receipt, receipts_lines, receipts_end },
};
TABLE_COVERS(sources, INDEX_SOURCES);

static void warn_line(struct step *p)
{
	struct index *x = p->x;

	if (x->warnings->n < MAX_WARNINGS)
		json_push(x->at.a, x->warnings,
			json_stringf(x->at.a, "%s line %lld is no row", p->file, (long long)p->lines));
	else if (x->warnings->n == MAX_WARNINGS)
		json_pushs(x->at.a, x->warnings, "and more; 'helm doctor' counts them");
}

struct visit {
	struct step *p;
	const struct source *source;
};

/* Only whole lines: the end of a file may still be being written, and is read when it is complete. */
static int take_line(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct visit *v = arg;
	struct step *p = v->p;

	(void)line;
	if (!is_whole || (p->until && place >= p->until))
		return 1;
	p->lines++;
	p->end = place + (off_t)text.n + 1;
	p->bytes += text.n + 1;
	struct json *row = text.n ? row_parse(&p->a, text, p->file) : NULL;
	int rc = row ? v->source->put(p, row, place, e) : OK;
	if (!row && text.n)
		warn_line(p);
	arena_reset(&p->a);
	p->rows++;
	return rc ? rc : p->bytes >= p->most_bytes;
}

/* ---- catching up ---- */

static int get_number(struct index *x, const char *key, int64_t *ret, struct err *e)
{
	const struct db_value v = DB_T(key);

	return db_number(x->db, "SELECT value FROM schema_info WHERE key=?", &v, 1, 0, ret, e);
}

static int set_text(struct index *x, const char *key, const char *text, struct err *e)
{
	const struct db_value v[] = { DB_T(key), DB_T(text) };

	return db_run(x->db, "INSERT OR REPLACE INTO schema_info VALUES(?,?)", v, 2, e);
}

static int set_number(struct index *x, const char *key, int64_t n, struct err *e)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)n);
	return set_text(x, key, text, e);
}

static int add_counts(struct step *p, struct err *e)
{
	const struct {
		const char *name;
		int64_t n;
	} all[] = { { "receipts", p->t.receipts }, { "allowed", p->t.allowed }, { "denied", p->t.denied },
		{ "asked", p->t.asked }, { "outcomes", p->t.outcomes }, { "self_tests", p->t.self_tests },
		{ "failed_commands", p->t.failed_commands }, { "stopped_calls", p->t.stopped_calls } };
	int rc = OK;

	for (size_t i = 0; i < ARRAY_SIZE(all) && rc == OK; i++) {
		const struct db_value v[] = { DB_T(all[i].name), DB_I(all[i].n) };
		if (all[i].n)
			rc = db_run(p->x->db,
				"INSERT INTO counts VALUES(?1,?2) ON CONFLICT DO UPDATE SET n=n+?2", v, 2, e);
	}
	return rc || !p->last_receipt[0] ? rc : set_text(p->x, "last_receipt", p->last_receipt, e);
}

/* Some megabytes of one source, inside a transaction.  *ret_is_done: there is nothing more. */
static int read_step(
	struct index *x, const struct source *s, uint64_t most_bytes, bool *ret_is_done, struct err *e)
{
	AUTO(arena_done) struct arena names = { 0 };
	const char *end_key = arena_printf(&names, "%s.place", s->file),
		   *line_key = arena_printf(&names, "%s.lines", s->file);
	struct step p = { .x = x,
		.file = s->file,
		.most_bytes = most_bytes,
		.until = s->put == put_task ? x->tasks_until : 0 };
	struct visit v = { &p, s };
	int64_t from = 0;
	int rc = get_number(x, end_key, &from, e);

	if (rc == OK)
		rc = get_number(x, line_key, &p.lines, e);
	p.end = (off_t)from;
	call_minutes_begin(&p.minutes, x->at.sys);
	if (rc == OK)
		rc = s->lines(x->at.sys, x->at.state_fd, s->file, (off_t)from, take_line, &v, e);
	if (rc == OK)
		rc = chain_blocks_flush(&p.blocks, x->db, e);
	if (rc == OK && p.rows)
		rc = call_minutes_flush(&p.minutes, x->db, e);
	arena_done(&p.blocks.a);
	arena_done(&p.a);
	*ret_is_done = p.bytes < most_bytes;
	x->reached[s - sources] = p.end;
	if (rc || !p.rows)
		return rc;
	rc = add_counts(&p, e);
	if (rc == OK)
		rc = set_number(x, end_key, p.end, e);
	return rc ? rc : set_number(x, line_key, p.lines, e);
}

/* How far a source was read. */
static int get_place(struct index *x, size_t source, int64_t *ret, struct err *e)
{
	char key[64];

	snprintf(key, sizeof(key), "%s.place", sources[source].file);
	return get_number(x, key, ret, e);
}

/* Is any source shorter than what was read of it?  Then it is another one. */
static int is_other(struct index *x, bool *ret, struct err *e)
{
	int rc = OK;

	*ret = false;
	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(sources); i++) {
		int64_t from;
		off_t end = 0;
		rc = get_place(x, i, &from, e);
		if (rc == OK)
			rc = sources[i].end(x->at.sys, x->at.state_fd, sources[i].file, &end, e);
		*ret |= rc == OK && from > (int64_t)end;
	}
	return rc;
}

/* Nothing to write: then the source needs no transaction, and readers do not wait for each other. */
static int is_caught_up(struct index *x, size_t source, bool *ret, struct err *e)
{
	off_t end = 0;
	int rc = get_place(x, source, &x->reached[source], e);

	if (rc == OK)
		rc = sources[source].end(x->at.sys, x->at.state_fd, sources[source].file, &end, e);
	*ret = rc == OK && x->reached[source] == (int64_t)end;
	return rc;
}

static int start_anew(struct index *x, struct err *e)
{
	int rc = db_script(x->db, drop_all, e);

	return rc ? rc : db_script(x->db, schema, e);
}

static int roll_back(struct index *x, int rc)
{
	(void)db_script(x->db, "ROLLBACK", NULL);
	return rc;
}

/* IMMEDIATE, so that two processes do not both read the same rows of a ledger. */
static int one_step(
	struct index *x, const struct source *s, uint64_t most_bytes, bool *ret_is_done, struct err *e)
{
	int rc = db_script(x->db, "BEGIN IMMEDIATE", e);

	if (rc)
		return rc;
	rc = read_step(x, s, most_bytes, ret_is_done, e);
	if (rc == OK)
		rc = db_script(x->db, "COMMIT", e);
	return rc ? roll_back(x, rc) : OK;
}

static int check_start(struct index *x, bool rebuild, struct err *e)
{
	bool other = false;
	int rc = is_other(x, &other, e);

	if (rc || (!other && !rebuild))
		return rc;
	rc = db_script(x->db, "BEGIN IMMEDIATE", e);
	if (rc == OK)
		rc = start_anew(x, e);
	if (rc == OK)
		rc = db_script(x->db, "COMMIT", e);
	return rc ? roll_back(x, rc) : OK;
}

/* The last time with is_end: whoever shows it can wipe it. */
static void tell_step(struct index *x, bool is_end)
{
	if (!x->shown)
		return;
	const struct index_part part = index_part(x);
	x->shown->step(x->shown->arg, (uint64_t)(is_end ? part.of : part.receipts), (uint64_t)part.of);
}

/* Up to the ledgers, or until the time is over (until_us 0: never).  *ret_is_behind: it was. */
static int fill(struct index *x, bool rebuild, int64_t until_us, bool *ret_is_behind, struct err *e)
{
	/* Each step waits for the disk, and holds others up while it lasts. */
	uint64_t most_bytes = until_us ? STEP_BYTES : LONG_STEP_BYTES;
	int rc = check_start(x, rebuild, e);

	*ret_is_behind = false;
	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(sources); i++) {
		bool is_done;
		rc = is_caught_up(x, i, &is_done, e);
		if (rc || is_done)
			continue;
		while (rc == OK && !is_done && !*ret_is_behind) {
			rc = one_step(x, &sources[i], most_bytes, &is_done, e);
			tell_step(x, false);
			*ret_is_behind = !is_done && until_us && x->at.sys->mono_us(x->at.sys) > until_us;
		}
	}
	tell_step(x, true);
	return rc;
}

/* All questions to an open index are about one moment: a transaction that reads lasts until it is closed.  Writers wait with what they commit,
 * and no question waits for them.  *ret_is_older: what was caught up is gone, because another process is making it anew. */
static int begin_moment(struct index *x, bool *ret_is_older, struct err *e)
{
	int rc = db_script(x->db, "BEGIN", e);

	*ret_is_older = false;
	for (size_t i = 0; rc == OK && i < ARRAY_SIZE(sources); i++) {
		int64_t place = 0;
		rc = get_place(x, i, &place, e);
		*ret_is_older |= place < x->reached[i];
	}
	if (rc == OK && *ret_is_older)
		rc = db_script(x->db, "COMMIT", e);
	return rc;
}

/* ---- without the kept index ---- */

/* Tables of this question's own: of everything, or of the newest rows. */
static int fill_own(struct index *x, enum index_how how, struct err *e)
{
	AUTO(arena_done) struct arena names = { 0 };
	bool is_behind;
	int rc = x->db ? OK : db_open(NULL, LONG_WAIT_MS, &x->db, e);

	if (rc == OK)
		rc = make_tables(x, e);
	for (size_t i = 0; rc == OK && how == INDEX_SOON && i < ARRAY_SIZE(sources); i++) {
		off_t from = 0;
		rc = (sources[i].lines == ledger_lines ? ledger_recent : receipts_recent)(
			x->at.sys, x->at.state_fd, sources[i].file, RECENT_BYTES, &from, e);
		x->is_whole &= from == 0;
		if (rc == OK)
			rc = set_number(x, arena_printf(&names, "%s.place", sources[i].file), from, e);
	}
	return rc ? rc : fill(x, false, 0, &is_behind, e);
}

/* Numbers of a part are never taken for totals: of how many they are is said with the reason. */
static const char *why_own(struct index *x, const struct err *why)
{
	struct arena *a = x->at.a;
	const char *what =
		why->code[0] ? why->text : "the index is far behind; 'helm db init' brings it up to date";
	const struct index_part part = index_part(x);

	if (x->is_whole)
		return arena_strdup(a, what);
	return arena_printf(a, "%s (only the newest rows were read: %s of %s receipts)", what,
		text_thousands(a, part.receipts), text_thousands(a, part.of));
}

/* The kept index, up to date, at one moment.  *ret_is_behind: there was not enough time for that. */
static int open_caught_up(
	struct index *x, enum index_how how, int wait_ms, bool *ret_is_behind, struct err *e)
{
	struct sys *s = x->at.sys;
	int64_t until = how == INDEX_ALL ? 0 : s->mono_us(s) + SOON_US;
	bool is_older = true;
	int rc = open_kept(x, wait_ms, e);

	*ret_is_behind = false;
	for (int i = 0; rc == OK && is_older && !*ret_is_behind && i < REBUILDS_MOST; i++) {
		rc = fill(x, false, until, ret_is_behind, e);
		if (rc == OK && !*ret_is_behind)
			rc = begin_moment(x, &is_older, e);
	}
	*ret_is_behind |= rc == OK && is_older;
	if (rc || *ret_is_behind)
		db_close(&x->db);
	return rc;
}

/* The kept index, or tables of this question's own.  A process that has the index locked is no reason for a word as long as the answer is about everything: a short
 * record is read at once, and for a long one the lock is waited for once more. */
int index_open_shown(const struct index_place *at, enum index_how how, const struct index_progress *shown,
	struct index **ret, struct err *e)
{
	struct index *x = index_new(at);
	struct err why = { 0 };
	bool is_behind = false, is_kept, was_busy;
	x->shown = shown;
	int rc = open_caught_up(x, how, how == INDEX_ALL ? PATIENT_WAIT_MS : SOON_WAIT_MS, &is_behind, &why);

	was_busy = rc && text_eq(why.code, DB_BUSY);
	is_kept = rc == OK && !is_behind;
	if (!is_kept)
		rc = fill_own(x, how, e);
	if (rc == OK && was_busy && !x->is_whole) {
		index_close(&x);
		x = index_new(at);
		x->shown = shown;
		is_kept = open_caught_up(x, how, PATIENT_WAIT_MS, &is_behind, &why) == OK && !is_behind;
		if (!is_kept)
			rc = fill_own(x, how, e);
	}
	if (rc) {
		index_close(&x);
		return rc;
	}
	if (is_behind)
		why = (struct err){ 0 };
	if (!is_kept && !(was_busy && x->is_whole))
		x->note = why_own(x, &why);
	*ret = x;
	return OK;
}

int index_open(const struct index_place *at, enum index_how how, struct index **ret, struct err *e)
{
	return index_open_shown(at, how, NULL, ret, e);
}

/* ---- helm db ---- */

static int add_rows(struct index *x, struct json *doc, struct err *e)
{
	static const char *const names[] = { "task_rows", "command_rows", "guard_decision_rows",
		"discovery_rows", "call_rows" };
	static const char *const sql[] = { "SELECT count(*) FROM task_index",
		"SELECT count(*) FROM command_index", "SELECT count(*) FROM guard_decision_index",
		"SELECT count(*) FROM discovery_snapshot_index", "SELECT count(*) FROM call_index" };
	int rc = OK;

	for (size_t i = 0; i < ARRAY_SIZE(names) && rc == OK; i++) {
		int64_t n;
		rc = db_number(x->db, sql[i], NULL, 0, 0, &n, e);
		json_seti(x->at.a, doc, names[i], n);
	}
	return rc;
}

/* A file that is no index, or a damaged one, cannot be changed.  One that can be is never removed: another
 * process may be writing it. */
static void remove_kept(const struct index_place *at)
{
	static const char *const ends[] = { "", "-journal", "-wal", "-shm" };

	notice("the index %s was damaged; it is made again from the ledgers", index_path(at));
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const char *name = arena_printf(at->a, INDEX_FILE "%s", ends[i]);
		if (file_is_dir(at->sys, at->state_fd, name))
			(void)at->sys->rename(at->sys, at->state_fd, name, at->state_fd,
				arena_printf(at->a, "%s.damaged-%lld", name,
					(long long)(at->sys->now_us(at->sys) / 1000000)),
				RENAME_NOREPLACE);
		else
			(void)at->sys->unlink(at->sys, at->state_fd, name, 0);
	}
}

int index_refresh(const struct index_place *at, bool rebuild, struct json **ret, struct err *e)
{
	AUTO(index_close) struct index *x = index_new(at);
	struct json *doc = json_new(at->a, JSON_OBJECT);
	bool is_behind;
	int rc = open_kept(x, LONG_WAIT_MS, e);

	if (rc == OK)
		rc = fill(x, rebuild, 0, &is_behind, e);
	if (rc == E_CORRUPT && rebuild) {
		db_close(&x->db);
		remove_kept(at);
		rc = open_kept(x, LONG_WAIT_MS, e);
		if (rc == OK)
			rc = fill(x, false, 0, &is_behind, e);
	}
	json_sets(at->a, doc, "ops_db_path", index_path(at));
	json_sets(at->a, doc, "status", "present");
	if (rc == OK)
		rc = add_rows(x, doc, e);
	json_set(at->a, doc, "warnings", x->warnings);
	*ret = doc;
	return rc;
}

/* What one has and the other has not, in state or in place. */
static const char drift_sql[] =
	"SELECT (SELECT count(*) FROM (SELECT task_id,status,source_line FROM main.task_index EXCEPT SELECT "
	"task_id,status,source_line FROM kept_tasks)) + (SELECT count(*) FROM (SELECT "
	"task_id,status,source_line FROM kept_tasks EXCEPT SELECT task_id,status,source_line FROM "
	"main.task_index))";

/* What the kept index has, and how far it has read, as of one moment: other processes go on writing it. */
static int copy_kept(struct index *x, int64_t *ret_until, struct err *e)
{
	const struct db_value v[] = { DB_T(index_path(&x->at)), DB_T(TASK_LEDGER ".place") };
	int64_t has_tables = 0;
	int rc = db_run(x->db, "ATTACH DATABASE ? AS kept", v, 1, e);

	if (rc == OK)
		rc = db_script(x->db,
			"BEGIN; CREATE TABLE kept_tasks(task_id TEXT,status TEXT,source_line INTEGER);", e);
	/* Another process may be about to make it: then nothing is in it yet. */
	if (rc == OK)
		rc = db_number(x->db, "SELECT count(*) FROM kept.sqlite_master WHERE name='task_index'", NULL,
			0, 0, &has_tables, e);
	if (rc == OK && has_tables)
		rc = db_script(x->db,
			"INSERT INTO kept_tasks SELECT task_id,status,source_line FROM kept.task_index", e);
	if (rc == OK && has_tables)
		rc = db_number(
			x->db, "SELECT value FROM kept.schema_info WHERE key=?", v + 1, 1, 0, ret_until, e);
	return rc ? rc : db_script(x->db, "COMMIT; DETACH DATABASE kept;", e);
}

static int count_line(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	(void)place;
	(void)line;
	(void)text;
	(void)e;
	*(int64_t *)arg += is_whole;
	return 0;
}

/* Makes the tables a second time, in a place of their own, and compares; changes nothing that is kept.  Rows that the kept index has not read yet
 * are no drift: they are counted apart. */
int index_verify(const struct index_place *at, struct json **ret, struct err *e)
{
	AUTO(index_close) struct index *x = index_new(at);
	struct json *doc = json_new(at->a, JSON_OBJECT);
	bool is_kept = file_exists(at->sys, at->state_fd, INDEX_FILE);
	int64_t lines = 0, kept = 0, drift = 0, until = 0, behind = 0;
	int rc = db_open(NULL, LONG_WAIT_MS, &x->db, e);

	if (rc == OK && is_kept)
		rc = copy_kept(x, &until, e);
	x->tasks_until = until || !is_kept ? (off_t)until : -1;
	if (rc == OK)
		rc = fill_own(x, INDEX_ALL, e);
	if (rc == OK)
		rc = db_number(x->db, "SELECT count(*) FROM main.task_index", NULL, 0, 0, &lines, e);
	drift = lines;
	if (rc == OK && is_kept)
		rc = db_number(x->db, "SELECT count(*) FROM kept_tasks", NULL, 0, 0, &kept, e);
	if (rc == OK && is_kept)
		rc = db_number(x->db, drift_sql, NULL, 0, 1, &drift, e);
	if (rc == OK && is_kept)
		rc = ledger_lines(at->sys, at->state_fd, TASK_LEDGER, (off_t)until, count_line, &behind, e);
	if (rc)
		return rc;
	json_seti(at->a, doc, "jsonl_task_lines", lines);
	json_seti(at->a, doc, "task_rows", kept);
	json_seti(at->a, doc, "drift", drift);
	json_seti(at->a, doc, "behind", behind);
	json_set(at->a, doc, "warnings", x->warnings);
	*ret = doc;
	return OK;
}

/* Does not create an index that is not there.  One that cannot be used says why. */
int index_status(const struct index_place *at, struct json **ret)
{
	struct json *doc = json_new(at->a, JSON_OBJECT);
	bool there = file_exists(at->sys, at->state_fd, INDEX_FILE);
	struct err why = { 0 };
	int rc = OK;

	json_sets(at->a, doc, "ops_db_path", index_path(at));
	json_sets(at->a, doc, "status", there ? "present" : "missing");
	if (there) {
		AUTO(index_close) struct index *x = index_new(at);
		rc = open_kept(x, LONG_WAIT_MS, &why);
		if (rc == OK)
			rc = db_script(x->db, "BEGIN", &why); /* all counts are of one moment */
		if (rc == OK)
			rc = add_rows(x, doc, &why);
	}
	if (rc)
		json_sets(at->a, doc, "error", why.text);
	*ret = doc;
	return rc;
}

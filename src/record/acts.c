/* acts.c — the chain and the ledgers beside it as one table of acts.
 *
 * Three sources: receipts, the rows of agents' calls (which know the text, and calls that only read), and the rows of runs (which know the
 * command).  Each was read up to a place that is kept in the same transaction as its rows.  Whatever of an act comes first makes its row;
 * what comes later adds to it.  A source that has become shorter is another one: then everything is read again. */
#include "record/acts.h"

#include "base/text.h"
#include "proof/preimage.h"
#include "record/db.h"
#include "record/record.h"
#include "record/segments.h"

#include <fcntl.h>
#include <string.h>

enum { ACTS_STEP_BYTES = 8 << 20, ACTS_SOON_US = 2000000, ACTS_WAIT_MS = 5000, CAPTION_MOST = 400 };

struct acts {
	struct index_place at;
	struct db *db;
	struct acts_of whose;
	int64_t on_disk; /* receipts: those behind it are not known to be there */
};

#define ACTS_VERSION "2"
static const char acts_schema[] =
	"CREATE TABLE IF NOT EXISTS about(key TEXT PRIMARY KEY, value TEXT);"
	"CREATE TABLE IF NOT EXISTS acts(n INTEGER PRIMARY KEY, id TEXT UNIQUE, at INTEGER, kind TEXT, verdict TEXT, reason TEXT, rule "
	"TEXT, who TEXT, session TEXT, tool TEXT, door TEXT, caption TEXT, status TEXT, clock INTEGER, outcome_clock INTEGER, "
	"approval_id TEXT, task_id TEXT, tenant TEXT, place INTEGER, self_test INTEGER);"
	"CREATE TABLE IF NOT EXISTS runs(task_id TEXT PRIMARY KEY, caption TEXT) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS acts_by_time ON acts(at,n);"
	"CREATE INDEX IF NOT EXISTS acts_stopped ON acts(at,n) WHERE verdict IN ('DENY','ESCALATE');"
	"CREATE INDEX IF NOT EXISTS acts_by_session ON acts(session,at,n);"
	"CREATE INDEX IF NOT EXISTS acts_by_question ON acts(approval_id,at) WHERE approval_id IS NOT NULL;"
	"CREATE INDEX IF NOT EXISTS acts_by_task ON acts(task_id) WHERE task_id IS NOT NULL;"
	"INSERT OR IGNORE INTO about VALUES('version','" ACTS_VERSION "');";
static const char acts_drop[] =
	"DROP TABLE IF EXISTS acts; DROP TABLE IF EXISTS runs; DROP TABLE IF EXISTS about;";

/* ---- rows into the table ---- */

struct acts_step {
	struct acts *x;
	struct arena a;
	off_t end;
	uint64_t bytes;
	bool is_early; /* a receipt that is not known to be on disk was met */
};

static int64_t time_of(const char *text)
{
	int64_t us;

	return text && text_parse_time(text, strlen(text), &us) ? us : 0;
}

static const char *caption_of(struct arena *a, const char *text)
{
	size_t n = text ? strlen(text) : 0;

	if (n <= CAPTION_MOST)
		return n ? text : NULL;
	for (n = CAPTION_MOST; n && ((unsigned char)text[n] & 0xC0) == 0x80; n--)
		;
	return arena_strndup(a, text, n);
}

/* What a receipt that is no decision says in a few words. */
static const char *words_of(struct arena *a, const struct json *receipt)
{
	const struct json *about = json_get(receipt, "metadata");
	const char *effect = json_get_text(receipt, "effect_id", "");
	static const char *const told[] = { "reason", "principal", "command", "preview", "path", "name",
		"file", "continues" };
	const struct json *grant = json_get(about, "grant"), *denial = json_get(about, "denial");
	const char *named = json_get_text(json_get(about, "mcp"), "server_id",
		json_get_text(about, "mcp_server_id",
			json_get_text(json_get(about, "serve_policy"), "name", NULL)));

	if (named)
		return arena_printf(a, "%s: %s", effect, named);
	if (grant)
		return arena_printf(a, "%s: %s", effect, json_get_text(grant, "grant_id", ""));
	if (denial)
		return arena_printf(a, "%s: %s", effect, json_get_text(denial, "reason", ""));
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (json_get_text(about, told[i], NULL))
			return arena_printf(a, "%s: %s", effect, json_get_text(about, told[i], ""));
	return effect;
}

/* What passed the model proxy has no row of its own to be called by. */
static const char *words_of_proxy(struct arena *a, const struct json *receipt)
{
	const struct json *about = json_get(receipt, "metadata");
	const char *source = json_get_text(about, "source", ""),
		   *model = json_get_text(json_get(about, "proxy"), "model", "?"),
		   *tool = json_get_text(receipt, "tool_name", "?");

	if (text_eq(source, "proxy.request"))
		return arena_printf(a, "request to %s", model);
	return text_eq(source, "proxy.call") ? arena_printf(a, "%s, called by %s", tool, model) : NULL;
}

/* Which question a receipt is about: it asks it, or answers it. */
static const char *question_of(const struct json *about)
{
	const struct json *grant = json_get(about, "grant");

	return json_get_text(about, "approval_id",
		json_get_text(json_get(about, "denial"), "approval_id",
			json_get_text(grant, "approval_id", json_get_text(grant, "request_id", NULL))));
}

static struct db_value text_or_null(const char *text)
{
	return DB_T(text && *text ? text : NULL);
}

/* 1, or nothing. */
static struct db_value self_test_of(const struct json *about)
{
	return json_get_bool(about, "self_test", false) ? DB_I(1) : DB_T(NULL);
}

static int put_outcome(struct acts_step *p, const struct json *receipt, struct err *e)
{
	const struct db_value v[] = { DB_T(json_get_text(receipt, "decision_id", "")),
		DB_I(time_of(json_get_text(receipt, "timestamp", NULL))),
		DB_T(json_get_text(receipt, "status", "")), DB_I(json_get_int(receipt, "lamport_clock", 0)) };

	return db_run(p->x->db,
		"INSERT INTO acts(id,at,status,outcome_clock) VALUES(?1,?2,?3,?4) ON CONFLICT(id) DO UPDATE SET "
		"status=excluded.status,outcome_clock=excluded.outcome_clock",
		v, 4, e);
}

static int put_receipt(struct acts_step *p, const struct json *receipt, struct err *e)
{
	const struct json *about = json_get(receipt, "metadata"), *subject = json_get(receipt, "subject");
	const char *type = json_get_text(receipt, "type", ""), *task = json_get_text(about, "task_id", NULL);
	int64_t clock = json_get_int(receipt, "lamport_clock", 0);
	bool is_decision = text_eq(type, "decision");

	if (clock > p->x->on_disk) {
		p->is_early = true;
		return 1;
	}
	if (text_eq(type, "outcome"))
		return put_outcome(p, receipt, e);
	const char *session = json_get_text(receipt, "correlation_id", json_get_text(about, "session", NULL));
	const char *door = json_get_text(about, "door", NULL),
		   *tool = json_get_text(receipt, "tool_name", json_get_text(subject, "resource", NULL));
	const struct db_value v[] = { DB_T(json_get_text(receipt, "decision_id", "")),
		DB_I(time_of(json_get_text(receipt, "timestamp", NULL))), DB_T(type),
		text_or_null(json_get_text(receipt, "verdict", NULL)),
		text_or_null(json_get_text(receipt, "reason_code", NULL)),
		text_or_null(json_get_text(about, "rule", NULL)),
		text_or_null(json_get_text(receipt, "executor_id", NULL)), text_or_null(session),
		text_or_null(tool), text_or_null(door),
		text_or_null(caption_of(
			&p->a, is_decision ? words_of_proxy(&p->a, receipt) : words_of(&p->a, receipt))),
		DB_I(clock), text_or_null(question_of(about)), text_or_null(task),
		text_or_null(json_get_text(about, "tenant", NULL)), self_test_of(about) };

	return db_run(p->x->db,
		"INSERT INTO acts(id,at,kind,verdict,reason,rule,who,session,tool,door,caption,clock,approval_id,task_id,tenant,self_test) "
		"VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,coalesce(?11,(SELECT caption FROM runs WHERE "
		"task_id=?14)),?12,?13,?14,?15,?16) ON CONFLICT(id) DO UPDATE SET "
		"at=excluded.at,kind=excluded.kind,verdict=excluded.verdict,reason=excluded.reason,rule=coalesce("
		"excluded.rule,rule),who=excluded.who,session=coalesce(excluded.session,session),tool=coalesce("
		"excluded.tool,tool),door=excluded.door,caption=coalesce(caption,excluded.caption),clock=excluded.clock,"
		"approval_id=coalesce(excluded.approval_id,approval_id),task_id=excluded.task_id,tenant=excluded.tenant,"
		"self_test=coalesce(excluded.self_test,self_test)",
		v, ARRAY_SIZE(v), e);
}

/* A call: its decision's row learns the text; one that only read is a row of its own.  What has no verdict is the note that a call was made. */
static int put_call(struct acts_step *p, const struct json *row, off_t place, struct err *e)
{
	const char *verdict = json_get_text(row, "verdict", NULL),
		   *id = json_get_text(row, "decision_id", NULL), *client = json_get_text(row, "client", "");

	if (!verdict)
		return OK;
	if (!id)
		id = arena_printf(&p->a, "call-%lld", (long long)place);
	const struct db_value v[] = { DB_T(id), DB_I(time_of(json_get_text(row, "at", NULL))), DB_T("call"),
		DB_T(verdict), text_or_null(json_get_text(row, "rule", NULL)),
		DB_T(arena_printf(&p->a, "agent:%s", client)),
		text_or_null(json_get_text(row, "session", NULL)),
		text_or_null(json_get_text(row, "tool", NULL)), DB_T(arena_printf(&p->a, "hook/%s", client)),
		text_or_null(caption_of(&p->a, json_get_text(row, "preview", NULL))),
		text_or_null(json_get_text(row, "approval_id", NULL)), DB_I(place), self_test_of(row) };

	return db_run(p->x->db,
		"INSERT INTO acts(id,at,kind,verdict,rule,who,session,tool,door,caption,approval_id,place,self_test) "
		"VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13) ON CONFLICT(id) DO UPDATE SET "
		"caption=excluded.caption,tool=excluded.tool,session=coalesce(session,excluded.session),"
		"rule=coalesce(rule,excluded.rule),place=excluded.place,"
		"self_test=coalesce(excluded.self_test,self_test)",
		v, ARRAY_SIZE(v), e);
}

static int put_run(struct acts_step *p, const struct json *row, struct err *e)
{
	const char *task = json_get_text(row, "task_id", NULL),
		   *text = json_get_text(row, "command_preview", json_get_text(row, "task_name", NULL));
	const struct db_value v[] = { DB_T(task), DB_T(caption_of(&p->a, text)) };

	if (!task || !v[1].text)
		return OK;
	int rc = db_run(p->x->db, "INSERT OR REPLACE INTO runs VALUES(?1,?2)", v, 2, e);
	return rc
		? rc
		: db_run(p->x->db,
			  "UPDATE acts SET caption=?2 WHERE task_id=?1 AND (caption IS NULL OR caption<>?2) AND kind='decision'",
			  v, 2, e);
}

/* ---- catching up ---- */

enum acts_source { FROM_RUNS, FROM_CALLS, FROM_CHAIN, ACTS_SOURCES };
static const char *const source_file[] = { TASK_LEDGER, TOOL_CALLS, RECEIPTS };

struct acts_visit {
	struct acts_step *p;
	enum acts_source source;
};

static int take_line(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct acts_visit *v = arg;
	struct acts_step *p = v->p;
	int rc = OK;

	(void)line;
	if (!is_whole)
		return 1;
	struct json *row = text.n ? row_parse(&p->a, text, source_file[v->source]) : NULL;
	if (row && v->source == FROM_CHAIN)
		rc = put_receipt(p, row, e);
	else if (row && v->source == FROM_CALLS)
		rc = put_call(p, row, place, e);
	else if (row)
		rc = put_run(p, row, e);
	arena_reset(&p->a);
	if (rc)
		return rc;
	p->end = place + (off_t)text.n + 1;
	p->bytes += text.n + 1;
	return p->bytes >= ACTS_STEP_BYTES;
}

static int place_of(struct acts *x, enum acts_source s, int64_t *ret, struct err *e)
{
	const struct db_value v = DB_T(source_file[s]);

	return db_number(x->db, "SELECT value FROM about WHERE key=?", &v, 1, 0, ret, e);
}

static int source_end(struct acts *x, enum acts_source s, off_t *ret, struct err *e)
{
	const struct index_place *at = &x->at;

	return s == FROM_CHAIN ? receipts_end(at->sys, at->state_fd, RECEIPTS, ret, e)
			       : ledger_end(at->sys, at->state_fd, source_file[s], ret, e);
}

/* Some megabytes of one source, in a transaction. */
static int read_some(struct acts *x, enum acts_source s, bool *ret_is_done, struct err *e)
{
	const struct index_place *at = &x->at;
	struct acts_step p = { .x = x };
	struct acts_visit v = { &p, s };
	int64_t from;
	char text[24];
	int rc = place_of(x, s, &from, e);

	p.end = (off_t)from;
	if (rc == OK)
		rc = (s == FROM_CHAIN ? receipts_lines : ledger_lines)(
			at->sys, at->state_fd, source_file[s], (off_t)from, take_line, &v, e);
	arena_done(&p.a);
	*ret_is_done = p.bytes < ACTS_STEP_BYTES || p.is_early;
	if (rc || !p.bytes)
		return rc;
	snprintf(text, sizeof(text), "%lld", (long long)p.end);
	const struct db_value kept[] = { DB_T(source_file[s]), DB_T(text) };
	return db_run(x->db, "INSERT OR REPLACE INTO about VALUES(?,?)", kept, 2, e);
}

static int one_step(struct acts *x, enum acts_source s, bool *ret_is_done, struct err *e)
{
	int rc = db_script(x->db, "BEGIN IMMEDIATE", e);

	if (rc)
		return rc;
	rc = read_some(x, s, ret_is_done, e);
	if (rc == OK)
		rc = db_script(x->db, "COMMIT", e);
	if (rc)
		(void)db_script(x->db, "ROLLBACK", NULL);
	return rc;
}

static int make_anew(struct acts *x, struct err *e)
{
	int rc = db_script(x->db, "BEGIN IMMEDIATE", e);

	if (rc == OK)
		rc = db_script(x->db, acts_drop, e);
	if (rc == OK)
		rc = db_script(x->db, acts_schema, e);
	return rc ? rc : db_script(x->db, "COMMIT", e);
}

/* Tables of this version, of sources that have not become shorter.  Where they are there nothing is locked. */
static int prepare_tables(struct acts *x, struct err *e)
{
	int64_t version = 0, from, has_tables;
	int rc = db_number(
		x->db, "SELECT count(*) FROM sqlite_master WHERE name='about'", NULL, 0, 0, &has_tables, e);

	if (rc == OK && has_tables)
		rc = db_number(x->db, "SELECT value FROM about WHERE key='version'", NULL, 0, 0, &version, e);
	bool is_other = rc == OK && version != strtoll(ACTS_VERSION, NULL, 10);
	for (enum acts_source s = 0; rc == OK && !is_other && s < ACTS_SOURCES; s++) {
		off_t end = 0;
		rc = place_of(x, s, &from, e);
		if (rc == OK)
			rc = source_end(x, s, &end, e);
		is_other = rc == OK && from > (int64_t)end;
	}
	return rc || !is_other ? rc : make_anew(x, e);
}

static int catch_up(struct acts *x, bool *ret_is_behind, struct err *e)
{
	struct sys *sys = x->at.sys;
	int64_t until = sys->mono_us(sys) + ACTS_SOON_US;
	struct err busy = { 0 };
	int rc = prepare_tables(x, e);

	*ret_is_behind = false;
	for (enum acts_source s = 0; rc == OK && s < ACTS_SOURCES; s++) {
		off_t end = 0;
		int64_t from;
		bool is_done = false;
		rc = place_of(x, s, &from, e);
		if (rc == OK)
			rc = source_end(x, s, &end, e);
		if (rc || from == (int64_t)end)
			continue; /* nothing to write: readers do not wait for each other */
		while (rc == OK && !is_done && !*ret_is_behind) {
			rc = one_step(x, s, &is_done, &busy);
			/* Another process writes it, and catches up itself: what it has so far can be read. */
			if (rc && text_eq(busy.code, DB_BUSY)) {
				*ret_is_behind = true;
				return OK;
			}
			if (rc && e)
				*e = busy;
			*ret_is_behind = !is_done && sys->mono_us(sys) > until;
		}
	}
	return rc;
}

int acts_open(const struct index_place *at, struct acts_of whose, struct acts **ret, bool *ret_is_behind,
	struct err *e)
{
	struct acts *x = arena_zalloc(at->a, 1, sizeof(*x));
	struct sys *s = at->sys;
	uint64_t leaves = 0;
	AUTO(close_fd)
	int fd = s->open(s, at->state_fd, ACTS_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600, 0);

	x->at = *at;
	x->whose = whose;
	if (fd < 0)
		return err_sys(e, "INDEX", "cannot open %s/" ACTS_FILE, at->state_dir);
	int rc = log_leaf_count(s, at->state_fd, &leaves, NULL);
	x->on_disk = rc == OK ? (int64_t)leaves : 0;
	rc = db_open(arena_printf(at->a, "%s/" ACTS_FILE, at->state_dir), ACTS_WAIT_MS, &x->db, e);
	if (rc == OK)
		rc = catch_up(x, ret_is_behind, e);
	if (rc)
		acts_close(&x);
	else
		*ret = x;
	return rc;
}

void acts_close(struct acts **x)
{
	if (*x)
		db_close(&(*x)->db);
	*x = NULL;
}

/* ---- asking ---- */

struct giving {
	struct arena a;
	index_visit *fn;
	void *arg;
};

static int give_row(void *arg, const struct db_row *row, struct err *e)
{
	struct giving *g = arg;
	struct json *doc = json_new(&g->a, JSON_OBJECT);

	for (int i = 0; i < db_columns(row); i++)
		if (text_eq(db_name(row, i), "self_test")) {
			if (db_kind(row, i) == DB_INT)
				json_setb(&g->a, doc, "self_test", true);
		} else if (db_kind(row, i) == DB_INT)
			json_seti(&g->a, doc, db_name(row, i), db_int(row, i));
		else
			json_sets(&g->a, doc, db_name(row, i), db_text(row, i));
	if (json_get(doc, "at_us"))
		json_sets(&g->a, doc, "at", text_time_z(&g->a, json_get_int(doc, "at_us", 0)));
	int rc = g->fn(g->arg, doc, e);
	arena_reset(&g->a);
	return rc;
}

/* Text for LIKE, with its own signs taken for themselves. */
static const char *like(struct arena *a, const char *text)
{
	struct buf b;

	if (!text || !*text)
		return NULL;
	buf_init(&b, a);
	buf_addc(&b, '%');
	for (; *text; text++) {
		if (strchr("%_\\", *text))
			buf_addc(&b, '\\');
		buf_addc(&b, *text);
	}
	buf_addc(&b, '%');
	return b.p;
}

#define ACT_COLUMNS \
	"id,at AS at_us,n,kind,verdict,reason,rule,who,session,tool,door,caption,status,clock,outcome_clock,approval_id,task_id,place,self_test"
#define ACT_WHERE \
	" WHERE (?1 IS NULL OR verdict=?1) AND (?2 IS NULL OR who=?2) AND (?3 IS NULL OR tool=?3) AND (?4 IS NULL OR rule=?4) AND (?5 IS " \
	"NULL OR kind=?5) AND (?6 IS NULL OR caption LIKE ?6 ESCAPE '\\' OR id LIKE ?6 ESCAPE '\\' OR rule LIKE ?6 ESCAPE '\\' OR who LIKE " \
	"?6 ESCAPE '\\' OR session LIKE ?6 ESCAPE '\\' OR approval_id LIKE ?6 ESCAPE '\\') AND at>=?7 AND at<?8 AND ifnull(tenant,?9)=?10 AND (at,n)<(?11,?12) AND (?14=0 OR self_test IS NULL)"

struct asked {
	struct db_value v[15];
	int n;
};

static void bind_filter(struct acts *x, const struct acts_filter *f, struct acts_cursor from, int64_t limit,
	struct asked *ret)
{
	bool is_stopped = f->verdict && text_eq(f->verdict, "stopped");
	const struct db_value v[] = { DB_T(is_stopped ? NULL : f->verdict), DB_T(f->who), DB_T(f->tool),
		DB_T(f->rule), DB_T(f->kind), DB_T(like(x->at.a, f->text)), DB_I(f->from_us),
		DB_I(f->to_us ? f->to_us : INT64_MAX), DB_T(x->whose.home), DB_T(x->whose.tenant),
		DB_I(from.at_us ? from.at_us : INT64_MAX), DB_I(from.n), DB_I(limit),
		DB_I(f->leaves_out_self_tests), DB_T(f->session) };

	memcpy(ret->v, v, sizeof(v));
	ret->n = f->session ? 15 : 14;
}

/* The order comes from an index in each case, so that a page costs what it shows. */
int acts_list(struct acts *x, const struct acts_filter *f, struct acts_cursor from, size_t limit,
	index_visit *fn, void *arg, struct err *e)
{
	static const char any
		[] = "SELECT " ACT_COLUMNS " FROM acts" ACT_WHERE " ORDER BY at DESC,n DESC LIMIT ?13",
	     stopped[] = "SELECT " ACT_COLUMNS " FROM acts INDEXED BY acts_stopped" ACT_WHERE
			 " AND verdict IN ('DENY','ESCALATE') ORDER BY at DESC,n DESC LIMIT ?13",
	     session[] = "SELECT " ACT_COLUMNS " FROM acts INDEXED BY acts_by_session" ACT_WHERE
			 " AND session=?15 ORDER BY at DESC,n DESC LIMIT ?13",
	     session_stopped[] =
		     "SELECT " ACT_COLUMNS " FROM acts INDEXED BY acts_by_session" ACT_WHERE
		     " AND session=?15 AND verdict IN ('DENY','ESCALATE') ORDER BY at DESC,n DESC LIMIT ?13";
	bool is_stopped = f->verdict && text_eq(f->verdict, "stopped");
	struct giving g = { .fn = fn, .arg = arg };
	struct asked q;

	bind_filter(x, f, from, (int64_t)limit, &q);
	int rc = db_ask(x->db,
		f->session	     ? is_stopped ? session_stopped : session
			: is_stopped ? stopped
				     : any,
		q.v, q.n, give_row, &g, e);
	arena_done(&g.a);
	return rc < 0 ? rc : OK;
}

int acts_count(struct acts *x, const struct acts_filter *f, int64_t most, int64_t *ret, struct err *e)
{
	static const char any[] = "SELECT count(*) FROM (SELECT 1 FROM acts" ACT_WHERE " LIMIT ?13)",
			  stopped[] =
				  "SELECT count(*) FROM (SELECT 1 FROM acts INDEXED BY acts_stopped" ACT_WHERE
				  " AND verdict IN ('DENY','ESCALATE') LIMIT ?13)",
			  session[] = "SELECT count(*) FROM (SELECT 1 FROM acts" ACT_WHERE
				      " AND session=?15 LIMIT ?13)",
			  session_stopped[] =
				  "SELECT count(*) FROM (SELECT 1 FROM acts" ACT_WHERE
				  " AND session=?15 AND verdict IN ('DENY','ESCALATE') LIMIT ?13)";
	bool is_stopped = f->verdict && text_eq(f->verdict, "stopped");
	struct asked q;

	bind_filter(x, f, (struct acts_cursor){ 0 }, most, &q);
	return db_number(x->db,
		f->session	     ? is_stopped ? session_stopped : session
			: is_stopped ? stopped
				     : any,
		q.v, q.n, 0, ret, e);
}

struct found {
	struct arena *a;
	struct json *row;
	int n;
};

static int take_found(void *arg, struct json *row, struct err *e)
{
	struct found *f = arg;

	(void)e;
	f->row = json_copy(f->a, row);
	return ++f->n > 1;
}

/* rcpt_DECISION.MARK, rcpt_DECISION_outcome, DECISION, or a beginning of that. */
static const char *decision_of(struct arena *a, const char *id)
{
	static const char before[] = "rcpt_", behind[] = "_outcome";
	char *own = arena_strdup(a, text_starts(id, before) ? id + strlen(before) : id);

	own[strcspn(own, ".")] = '\0';
	if (text_ends(own, behind))
		own[strlen(own) - strlen(behind)] = '\0';
	return own;
}

int acts_find(struct acts *x, const char *id, struct json **ret, struct err *e)
{
	static const char
		exact[] = "SELECT " ACT_COLUMNS " FROM acts WHERE id=?1 AND ifnull(tenant,?3)=?4",
		start[] = "SELECT " ACT_COLUMNS
			  " FROM acts WHERE id>=?1 AND id<?2 AND ifnull(tenant,?3)=?4 ORDER BY id LIMIT 2";
	const char *own = decision_of(x->at.a, id);
	const struct db_value v[] = { DB_T(own), DB_T(arena_printf(x->at.a, "%s\xf4\x8f\xbf\xbf", own)),
		DB_T(x->whose.home), DB_T(x->whose.tenant) };
	struct found f = { .a = x->at.a };
	struct giving g = { .fn = take_found, .arg = &f };
	int rc = *own ? db_ask(x->db, exact, v, 4, give_row, &g, e) : OK;

	if (rc >= 0 && !f.n && strlen(own) >= 6)
		rc = db_ask(x->db, start, v, 4, give_row, &g, e);
	arena_done(&g.a);
	*ret = f.n == 1 ? f.row : NULL;
	return rc < 0 ? rc : OK;
}

int acts_values(struct acts *x, const char *column, size_t limit, index_visit *fn, void *arg, struct err *e)
{
#define VALUES_OF(c) \
	{ \
#c, \
			"SELECT " #c " AS value,count(*) AS count FROM (SELECT " #c \
			" FROM acts WHERE ifnull(tenant,?2)=?3 ORDER BY at DESC LIMIT 5000) WHERE " #c \
			" IS NOT NULL GROUP BY 1 ORDER BY 2 DESC LIMIT ?1" \
	}
	static const struct {
		const char *column, *sql;
	} known[] = { VALUES_OF(who), VALUES_OF(tool), VALUES_OF(rule), VALUES_OF(session), VALUES_OF(kind) };
	const struct db_value v[] = { DB_I((int64_t)limit), DB_T(x->whose.home), DB_T(x->whose.tenant) };
	struct giving g = { .fn = fn, .arg = arg };
	int rc = OK;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_eq(known[i].column, column))
			rc = db_ask(x->db, known[i].sql, v, 3, give_row, &g, e);
	arena_done(&g.a);
	return rc < 0 ? rc : OK;
}

int acts_of_question(struct acts *x, const char *approval_id, index_visit *fn, void *arg, struct err *e)
{
	const struct db_value v[] = { DB_T(approval_id), DB_T(x->whose.home), DB_T(x->whose.tenant) };
	struct giving g = { .fn = fn, .arg = arg };
	int rc = db_ask(x->db,
		"SELECT " ACT_COLUMNS
		" FROM acts WHERE approval_id=?1 AND approval_id IS NOT NULL AND ifnull(tenant,?2)=?3 ORDER BY at LIMIT 100",
		v, 3, give_row, &g, e);

	arena_done(&g.a);
	return rc < 0 ? rc : OK;
}

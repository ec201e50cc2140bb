/* action_index.c — the chain and the ledgers beside it as one table of actions.
 *
 * Three sources: receipts, the rows of agents' calls (which know the text, and calls that only read), and the rows of runs (which know the
 * command).  Each was read up to a place that is kept in the same transaction as its rows.  Whatever of an action comes first makes its row;
 * what comes later adds to it.  A source that has become shorter is another one: then everything is read again. */
#include "actions/action_index_internal.h"
#include "base/text.h"
#include "kernel/policy/policy.h"
#include "record/record.h"
#include "record/shown.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_BYTES = 2 << 20, SOON_US = 2000000, WAIT_MS = 5000 };

#define ACTIONS_VERSION "3"
static const char schema[] =
	"CREATE TABLE IF NOT EXISTS about(key TEXT PRIMARY KEY, value TEXT);"
	"CREATE TABLE IF NOT EXISTS acts(n INTEGER PRIMARY KEY, id TEXT UNIQUE, at INTEGER, kind TEXT, verdict TEXT, reason TEXT, rule "
	"TEXT, who TEXT, session TEXT, tool TEXT, door TEXT, caption TEXT, status TEXT, clock INTEGER, outcome_clock INTEGER, "
	"approval_id TEXT, task_id TEXT, tenant TEXT, place INTEGER, self_test INTEGER, exit_code INTEGER, changed INTEGER, deleted INTEGER, "
	"checkpoint_id TEXT, use_id TEXT, args INTEGER, by_grant INTEGER);"
	"CREATE TABLE IF NOT EXISTS runs(task_id TEXT PRIMARY KEY, caption TEXT, status TEXT, open_run TEXT, pid INTEGER, pid_start INTEGER, "
	"changed INTEGER, deleted INTEGER, checkpoint_id TEXT) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS answers(approval_id TEXT PRIMARY KEY, answer INTEGER, who TEXT) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS restores(checkpoint_id TEXT PRIMARY KEY, at INTEGER) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS acts_by_time ON acts(at,n);"
	"CREATE INDEX IF NOT EXISTS acts_stopped ON acts(at,n) WHERE verdict IN ('DENY','ESCALATE');"
	"CREATE INDEX IF NOT EXISTS acts_by_session ON acts(session,at,n);"
	"CREATE INDEX IF NOT EXISTS acts_by_question ON acts(approval_id,at) WHERE approval_id IS NOT NULL;"
	"CREATE INDEX IF NOT EXISTS acts_by_task ON acts(task_id) WHERE task_id IS NOT NULL;"
	"CREATE INDEX IF NOT EXISTS acts_by_use ON acts(use_id) WHERE use_id IS NOT NULL;"
	"CREATE INDEX IF NOT EXISTS acts_by_grant ON acts(args,at) WHERE by_grant=1;"
	"INSERT OR IGNORE INTO about VALUES('version','" ACTIONS_VERSION "');";
static const char drop[] =
	"DROP TABLE IF EXISTS acts; DROP TABLE IF EXISTS runs; DROP TABLE IF EXISTS answers; DROP TABLE IF EXISTS restores; "
	"DROP TABLE IF EXISTS about;";

/* ---- rows into the table ---- */

enum { TEXTS_SINGLY = 40 };
struct text_search {
	struct arena *a;
	const char *text;
};

struct index_step {
	struct action_index *x;
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

static struct db_value number_of(const struct json *doc, const char *name)
{
	int64_t n;

	return json_int(json_get(doc, name), &n) ? DB_I(n) : DB_T(NULL);
}

/* How many a list has; an outcome receipt has the number itself. */
static struct db_value size_of(const struct json *doc, const char *name)
{
	const struct json *list = json_get(doc, name);

	return json_is(list, JSON_ARRAY) ? DB_I(list->n) : number_of(doc, name);
}

/* 1, or nothing. */
static struct db_value one_if(bool is_so)
{
	return is_so ? DB_I(1) : DB_T(NULL);
}

/* The first 60 bits of "sha256:HEX": enough to find the same arguments among those of one approval. */
static struct db_value args_of(const struct json *receipt)
{
	static const char before[] = "sha256:";
	const char *text = json_get_text(receipt, "args_hash", "");
	char hex[16] = "";

	if (!text_starts(text, before) || strlen(text) < strlen(before) + 15)
		return DB_T(NULL);
	memcpy(hex, text + strlen(before), 15);
	return DB_I((int64_t)strtoull(hex, NULL, 16));
}

static int put_outcome(struct index_step *p, const struct json *receipt, struct err *e)
{
	const struct json *about = json_get(receipt, "metadata");
	const struct db_value v[] = { DB_T(json_get_text(receipt, "decision_id", "")),
		DB_I(time_of(json_get_text(receipt, "timestamp", NULL))),
		DB_T(json_get_text(receipt, "status", "")), DB_I(json_get_int(receipt, "lamport_clock", 0)),
		number_of(about, "exit_code"), size_of(about, "changed_files"),
		size_of(about, "deleted_files"), text_or_null(json_get_text(about, "checkpoint_id", NULL)) };

	return db_run(p->x->db,
		"INSERT INTO acts(id,at,status,outcome_clock,exit_code,changed,deleted,checkpoint_id) VALUES(?1,?2,?3,?4,?5,?6,?7,?8) "
		"ON CONFLICT(id) DO UPDATE SET status=excluded.status,outcome_clock=excluded.outcome_clock,"
		"exit_code=coalesce(excluded.exit_code,exit_code),changed=coalesce(excluded.changed,changed),"
		"deleted=coalesce(excluded.deleted,deleted),checkpoint_id=coalesce(checkpoint_id,excluded.checkpoint_id)",
		v, ARRAY_SIZE(v), e);
}

/* Who said yes or no to a question.  A question has one answer. */
static int put_answer(struct index_step *p, const struct json *receipt, struct err *e)
{
	const struct json *about = json_get(receipt, "metadata"), *grant = json_get(about, "grant");
	const char *question = question_of(about),
		   *who = json_get_text(grant, "responder", json_get_text(receipt, "executor_id", NULL));
	const struct db_value v[] = { DB_T(question), DB_I(grant ? ANSWERED_YES : ANSWERED_NO),
		text_or_null(who) };

	return question && (grant || json_get(about, "denial"))
		? db_run(p->x->db, "INSERT OR REPLACE INTO answers VALUES(?1,?2,?3)", v, ARRAY_SIZE(v), e)
		: OK;
}

static int keep_text(void *arg, const char *sha256, const struct json *shown, struct err *e)
{
	struct action_index *x = arg;
	const struct db_value v[] = { DB_T(sha256), DB_T(json_get_text(shown, "preview", NULL)) };

	return shown ? db_run(x->db, "INSERT OR IGNORE INTO texts VALUES(?1,?2)", v, 2, e) : OK;
}

static int take_kept(void *arg, const struct db_row *row, struct err *e)
{
	struct text_search *q = arg;

	(void)e;
	q->text = db_text(row, 0) ? arena_strdup(q->a, db_text(row, 0)) : NULL;
	return 1;
}

/* What was asked, in one line, as it is kept beside the record; NULL: it is not, or not any more.  A few are looked up where they stand, at the
 * end of what is kept; before many are asked for, all of them are read once. */
static const char *kept_text(struct index_step *p, const struct json *about)
{
	struct action_index *x = p->x;
	const char *sha256 = json_get_text(about, SHOWN_MEMBER, NULL);
	struct text_search q = { .a = &p->a };
	struct json *shown;
	struct err e = { 0 };

	if (!sha256)
		return NULL;
	if (!x->has_texts && ++x->texts_read <= TEXTS_SINGLY)
		return shown_read(x->sys, &p->a, x->ws->state_fd, sha256, &shown, &e)
			? NULL
			: json_get_text(shown, "preview", NULL);
	if (!x->has_texts) {
		x->has_texts = true;
		if (db_script(x->db,
			    "CREATE TEMP TABLE IF NOT EXISTS texts(sha256 TEXT PRIMARY KEY, text TEXT)",
			    &e) == OK)
			(void)shown_each(x->sys, x->ws->state_fd, keep_text, x, &e);
	}
	const struct db_value v = DB_T(sha256);
	(void)db_ask(x->db, "SELECT text FROM texts WHERE sha256=?1", &v, 1, take_kept, &q, &e);
	return q.text;
}

/* The sentence of a decision that no row of a call or a run tells of: a hook's row and a run's have the text, and may come later. */
static const char *sentence_of(struct index_step *p, const struct json *receipt, const char *tool)
{
	struct arena *a = &p->a;
	const struct json *about = json_get(receipt, "metadata");
	const char *door = json_get_text(about, "door", NULL), *passed = words_of_proxy(a, receipt), *text;

	if (passed && !text_eq(json_get_text(about, "source", ""), "proxy.call"))
		return passed;
	if (passed)
		return (text = kept_text(p, about)) ? arena_printf(a, "%s: %s", passed, text) : passed;
	return text_eq(action_entry_point(door), "http")
		? action_sentence(a, tool, door, kept_text(p, about), NULL)
		: NULL;
}

/* The rule that spoke, by one name: also where a rule of a policy allows, which is no refusal and has no code. */
static const char *rule_of(struct arena *a, const struct json *about)
{
	const char *own = json_get_text(json_get(about, "policy"), "rule", NULL);

	return json_get_text(about, "rule", own ? arena_printf(a, POLICY_RULE "%s", own) : NULL);
}

static int put_receipt(struct index_step *p, const struct json *receipt, struct err *e)
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
		text_or_null(rule_of(&p->a, about)),
		text_or_null(json_get_text(receipt, "executor_id", NULL)), text_or_null(session),
		text_or_null(tool), text_or_null(door),
		text_or_null(is_decision ? sentence_of(p, receipt, tool) : words_of(&p->a, receipt)),
		DB_I(clock), text_or_null(question_of(about)), text_or_null(task),
		text_or_null(json_get_text(about, "tenant", NULL)),
		one_if(json_get_bool(about, "self_test", false)),
		text_or_null(json_get_text(about, "checkpoint_id", NULL)),
		is_decision ? args_of(receipt) : DB_T(NULL),
		one_if(is_decision && text_eq(json_get_text(about, "settled_by", ""), "grant")) };
	int rc = is_decision ? OK : put_answer(p, receipt, e);

	if (rc)
		return rc;
	return db_run(p->x->db,
		"INSERT INTO acts(id,at,kind,verdict,reason,rule,who,session,tool,door,caption,clock,approval_id,task_id,tenant,self_test,"
		"checkpoint_id,args,by_grant) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,coalesce((SELECT caption FROM runs WHERE task_id=?14),"
		"?11),?12,?13,?14,?15,?16,?17,?18,?19) ON CONFLICT(id) DO UPDATE SET "
		"at=excluded.at,kind=excluded.kind,verdict=excluded.verdict,reason=excluded.reason,rule=coalesce("
		"excluded.rule,rule),who=excluded.who,session=coalesce(excluded.session,session),tool=coalesce("
		"excluded.tool,tool),door=excluded.door,caption=coalesce(caption,excluded.caption),clock=excluded.clock,"
		"approval_id=coalesce(excluded.approval_id,approval_id),task_id=excluded.task_id,tenant=excluded.tenant,"
		"self_test=coalesce(excluded.self_test,self_test),checkpoint_id=coalesce(excluded.checkpoint_id,checkpoint_id),"
		"args=excluded.args,by_grant=excluded.by_grant",
		v, ARRAY_SIZE(v), e);
}

/* The note of a client that a call was made, at the call that it was: the newest one with this id. */
static int put_end(struct index_step *p, const struct json *row, struct err *e)
{
	const char *use_id = json_get_text(row, "tool_use_id", NULL),
		   *outcome = json_get_text(row, "outcome", NULL);
	const struct db_value v[] = { DB_T(use_id),
		DB_T(outcome && text_eq(outcome, "done") ? "COMPLETED" : "FAILED"),
		number_of(row, "exit_code"), size_of(row, "changed_files"), size_of(row, "deleted_files") };

	/* The receipt of the outcome says it better, and comes later. */
	return use_id && outcome
		? db_run(p->x->db,
			  "UPDATE acts SET status=?2,exit_code=?3,changed=?4,deleted=?5 WHERE n=(SELECT max(n) FROM acts WHERE "
			  "use_id=?1 AND use_id IS NOT NULL) AND outcome_clock IS NULL",
			  v, ARRAY_SIZE(v), e)
		: OK;
}

/* A call: its decision's row learns the text; one that only read is a row of its own.  What has no verdict is the note that a call was made. */
static int put_call(struct index_step *p, const struct json *row, off_t place, struct err *e)
{
	const char *verdict = json_get_text(row, "verdict", NULL),
		   *id = json_get_text(row, "decision_id", NULL), *client = json_get_text(row, "client", ""),
		   *tool = json_get_text(row, "tool", NULL);

	if (!verdict)
		return put_end(p, row, e);
	if (!id)
		id = arena_printf(&p->a, "call-%lld", (long long)place);
	const char *door = json_get_text(row, "door", arena_printf(&p->a, "hook/%s", client));
	const char *sentence = action_sentence(&p->a, tool, door, json_get_text(row, "preview", NULL), NULL);
	const struct db_value v[] = { DB_T(id), DB_I(time_of(json_get_text(row, "at", NULL))), DB_T("call"),
		DB_T(verdict), text_or_null(json_get_text(row, "rule", NULL)),
		DB_T(arena_printf(&p->a, "agent:%s", client)),
		text_or_null(json_get_text(row, "session", NULL)), text_or_null(tool), DB_T(door),
		text_or_null(sentence), text_or_null(json_get_text(row, "approval_id", NULL)), DB_I(place),
		one_if(json_get_bool(row, "self_test", false)),
		text_or_null(json_get_text(row, "tool_use_id", NULL)),
		text_or_null(json_get_text(row, "checkpoint_id", NULL)) };

	return db_run(p->x->db,
		"INSERT INTO acts(id,at,kind,verdict,rule,who,session,tool,door,caption,approval_id,place,self_test,use_id,checkpoint_id) "
		"VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15) ON CONFLICT(id) DO UPDATE SET "
		"caption=excluded.caption,tool=excluded.tool,session=coalesce(session,excluded.session),"
		"rule=coalesce(rule,excluded.rule),place=excluded.place,use_id=excluded.use_id,"
		"checkpoint_id=coalesce(checkpoint_id,excluded.checkpoint_id),self_test=coalesce(excluded.self_test,self_test)",
		v, ARRAY_SIZE(v), e);
}

/* A restore that came to its end, whole: what its checkpoint was made for is undone. */
static int put_restore(struct index_step *p, const struct json *row, struct err *e)
{
	const struct json *restore = json_get(row, "restore");
	const char *id = json_get_text(restore, "checkpoint_id", NULL);
	const struct db_value v[] = { DB_T(id), DB_I(time_of(json_get_text(row, "finished_at", NULL))) };

	return id && text_eq(json_get_text(restore, "stage", ""), "finished") &&
			!json_get_int(restore, "not_back", 0)
		? db_run(p->x->db, "INSERT OR REPLACE INTO restores VALUES(?1,?2)", v, ARRAY_SIZE(v), e)
		: OK;
}

static int put_run(struct index_step *p, const struct json *row, struct err *e)
{
	const char *task = json_get_text(row, "task_id", NULL),
		   *text = json_get_text(row, "command_preview", json_get_text(row, "task_name", NULL));
	const struct db_value v[] = { DB_T(task),
		text_or_null(text ? action_sentence(&p->a, NULL, "run", text, NULL) : NULL),
		text_or_null(json_get_text(row, "status", NULL)),
		text_or_null(json_get_text(row, "open_run", NULL)), number_of(row, "pid"),
		number_of(row, "pid_start"), size_of(row, "touched_paths"), size_of(row, "deleted_paths"),
		text_or_null(json_get_text(row, "checkpoint_id", NULL)) };
	int rc = put_restore(p, row, e);

	if (rc || !task || !v[1].text)
		return rc;
	rc = db_run(p->x->db, "INSERT OR REPLACE INTO runs VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)", v,
		ARRAY_SIZE(v), e);
	return rc
		? rc
		: db_run(p->x->db,
			  "UPDATE acts SET caption=?2 WHERE task_id=?1 AND (caption IS NULL OR caption<>?2) AND kind='decision'",
			  v, 2, e);
}

/* ---- catching up ---- */

enum row_source { FROM_RUNS, FROM_CALLS, FROM_CHAIN, SOURCES };
static const char *const source_file[] = { TASK_LEDGER, TOOL_CALLS, RECEIPTS };

struct line_arg {
	struct index_step *p;
	enum row_source source;
};

static int take_line(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct line_arg *v = arg;
	struct index_step *p = v->p;
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
	return p->bytes >= STEP_BYTES;
}

static int place_of(struct action_index *x, enum row_source s, int64_t *ret, struct err *e)
{
	const struct db_value v = DB_T(source_file[s]);

	return db_number(x->db, "SELECT value FROM about WHERE key=?", &v, 1, 0, ret, e);
}

static int source_end(struct action_index *x, enum row_source s, off_t *ret, struct err *e)
{
	return s == FROM_CHAIN ? receipts_end(x->sys, x->ws->state_fd, RECEIPTS, ret, e)
			       : ledger_end(x->sys, x->ws->state_fd, source_file[s], ret, e);
}

/* Some megabytes of one source, in a transaction. */
static int read_some(struct action_index *x, enum row_source s, bool *ret_is_done, struct err *e)
{
	struct index_step p = { .x = x };
	struct line_arg v = { &p, s };
	int64_t from;
	char text[24];
	int rc = place_of(x, s, &from, e);

	p.end = (off_t)from;
	if (rc == OK)
		rc = (s == FROM_CHAIN ? receipts_lines : ledger_lines)(
			x->sys, x->ws->state_fd, source_file[s], (off_t)from, take_line, &v, e);
	arena_done(&p.a);
	*ret_is_done = p.bytes < STEP_BYTES || p.is_early;
	if (rc || !p.bytes)
		return rc;
	snprintf(text, sizeof(text), "%lld", (long long)p.end);
	const struct db_value kept[] = { DB_T(source_file[s]), DB_T(text) };
	return db_run(x->db, "INSERT OR REPLACE INTO about VALUES(?,?)", kept, 2, e);
}

static int one_step(struct action_index *x, enum row_source s, bool *ret_is_done, struct err *e)
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

static int make_anew(struct action_index *x, struct err *e)
{
	int rc = db_script(x->db, "BEGIN IMMEDIATE", e);

	if (rc == OK)
		rc = db_script(x->db, drop, e);
	if (rc == OK)
		rc = db_script(x->db, schema, e);
	return rc ? rc : db_script(x->db, "COMMIT", e);
}

/* Tables of this version, of sources that have not become shorter.  Where they are there nothing is locked. */
static int prepare_tables(struct action_index *x, struct err *e)
{
	int64_t version = 0, from, has_tables;
	int rc = db_number(
		x->db, "SELECT count(*) FROM sqlite_master WHERE name='about'", NULL, 0, 0, &has_tables, e);

	if (rc == OK && has_tables)
		rc = db_number(x->db, "SELECT value FROM about WHERE key='version'", NULL, 0, 0, &version, e);
	bool is_other = rc == OK && version != strtoll(ACTIONS_VERSION, NULL, 10);
	for (enum row_source s = 0; rc == OK && !is_other && s < SOURCES; s++) {
		off_t end = 0;
		rc = place_of(x, s, &from, e);
		if (rc == OK)
			rc = source_end(x, s, &end, e);
		is_other = rc == OK && from > (int64_t)end;
	}
	return rc || !is_other ? rc : make_anew(x, e);
}

/* until_us 0: however long it takes. */
static int catch_up(struct action_index *x, int64_t until_us, bool *ret_is_behind, struct err *e)
{
	struct err busy = { 0 };
	int rc = prepare_tables(x, e);

	*ret_is_behind = false;
	for (enum row_source s = 0; rc == OK && s < SOURCES; s++) {
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
			*ret_is_behind = !is_done && until_us && x->sys->mono_us(x->sys) > until_us;
		}
	}
	return rc;
}

/* The kept file, or, where it cannot be written, tables of this question's own. */
static int open_tables(struct action_index *x, struct err *e)
{
	struct sys *s = x->sys;
	AUTO(close_fd)
	int fd = s->open(
		s, x->ws->state_fd, ACTION_INDEX, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600, 0);

	return db_open(
		fd < 0 ? NULL : arena_printf(x->a, "%s/" ACTION_INDEX, x->ws->state_dir), WAIT_MS, &x->db, e);
}

int action_index_open(struct sys *s, struct arena *a, const struct workspace *ws, struct actions_of whose,
	enum index_how how, struct action_index **ret, bool *ret_is_behind, struct err *e)
{
	struct action_index *x = arena_zalloc(a, 1, sizeof(*x));
	int64_t until = how == INDEX_ALL ? 0 : s->mono_us(s) + SOON_US;
	uint64_t leaves = 0;

	*x = (struct action_index){ .sys = s, .a = a, .ws = ws, .whose = whose };
	int rc = log_leaf_count(s, ws->state_fd, &leaves, NULL);
	x->on_disk = rc == OK ? (int64_t)leaves : 0;
	rc = open_tables(x, e);
	if (rc == OK)
		rc = catch_up(x, until, ret_is_behind, e);
	if (rc)
		action_index_close(&x);
	else
		*ret = x;
	return rc;
}

void action_index_close(struct action_index **x)
{
	if (*x)
		db_close(&(*x)->db);
	*x = NULL;
}

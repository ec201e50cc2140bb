/* context_index.c — which words stand where: an index over files and ledgers that may be thrown away at any time (docs/formats/context.md).
 *
 * It says where looking is worth while and nothing else: whatever it names is read and compared again, and whatever changed since is read in
 * any case.  So a search finds the same with it, without it, and with a part of it.  It keeps no texts, and no words that redaction hides.
 *
 * Files are known by time and size.  A new or renamed file changes its directory, and directories are looked at each time.  A file that
 * was changed in place is noticed when all files are looked at: each time where they are few, else when twenty times as long as
 * that took has passed, and ten seconds at least.  Ledgers are known by place; a short end of one is read each time, and a long one is taken in. */
#include "remember/index_parts.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "privacy/privacy.h"

#include <fcntl.h>
#include <string.h>

#define SCHEMA "1"
enum {
	WAIT_MS = 1000, /* for another process that writes it */
	STEP_FILES = 500, /* in one transaction */
	STEP_ROWS = 2000,
	BUDGET_US = 3000000, /* added in one search, unless somebody waits for all of it */
	ROWS_BUDGET_US =
		400000, /* the same for rows of ledgers: what is not in yet is said, and not read instead */
	TAIL_BYTES = 1 << 20, /* an end of a ledger that is read instead */
	FEW_FILES = 5000, /* so many are looked at each time */
	PATIENCE = 20,
	LEAST_PATIENCE_US = 10000000, /* however quick it was: the next time it may not be */
	YOUNG_US = 2000000, /* what changed just now may change again within the same tick of the clock */
	LONGEST_WORD = MAX_TERM_BYTES,
};

static const char tables[] =
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT);"
	"CREATE TABLE source(id INTEGER PRIMARY KEY, root TEXT UNIQUE, swept INTEGER, took INTEGER, newest INTEGER,"
	" task_place INTEGER, task_last INTEGER, task_mark TEXT, task_damaged INTEGER,"
	" command_place INTEGER, command_last INTEGER, command_mark TEXT, command_damaged INTEGER);"
	"CREATE TABLE dir(source INTEGER, path TEXT, mtime INTEGER, PRIMARY KEY(source,path)) WITHOUT ROWID;"
	"CREATE TABLE warning(source INTEGER, text TEXT);"
	"CREATE TABLE doc(id INTEGER PRIMARY KEY, source INTEGER, kind INTEGER, path TEXT, place INTEGER, mtime INTEGER,"
	" size INTEGER);"
	"CREATE UNIQUE INDEX doc_by_path ON doc(source,path) WHERE kind=0;"
	"CREATE TABLE task(source INTEGER, id TEXT, place INTEGER, PRIMARY KEY(source,id)) WITHOUT ROWID;"
	"CREATE TABLE word(w TEXT PRIMARY KEY) WITHOUT ROWID;"
	"CREATE VIRTUAL TABLE token USING fts5(t, content='', columnsize=0, detail=none, tokenize='ascii');"
	"INSERT INTO meta VALUES('schema','" SCHEMA "');";

/* ---- opening ---- */

static int take_version(void *arg, const struct db_row *row, struct err *e)
{
	(void)e;
	*(bool *)arg = db_text(row, 0) && text_eq(db_text(row, 0), SCHEMA);
	return 1;
}

static int open_once(struct context_index *ix, const char *path, bool *ret_is_ours, struct err *e)
{
	int64_t has_tables;
	int rc = db_open(path, WAIT_MS, &ix->db, e);

	*ret_is_ours = false;
	if (rc == OK)
		rc = db_number(ix->db, "SELECT count(*) FROM sqlite_master", NULL, 0, 0, &has_tables, e);
	if (rc == OK && !has_tables) {
		rc = db_script(ix->db, "BEGIN IMMEDIATE", e);
		if (rc == OK)
			rc = db_script(ix->db, tables, e);
		if (rc == OK)
			rc = db_script(ix->db, "COMMIT", e);
	}
	if (rc == OK)
		rc = db_ask(ix->db, "SELECT value FROM meta WHERE key='schema'", NULL, 0, take_version,
			ret_is_ours, e);
	return rc;
}

/* The file is made by us, so that nobody else can read it.  What is no index, or one of another version, is thrown away once. */
static void open_index(struct context_index *ix)
{
	struct search *x = ix->x;
	struct sys *s = x->sys;
	const char *path = arena_printf(x->a, "%s/%s", x->at->state_dir, CONTEXT_INDEX);
	struct err e = { 0 };
	bool is_ours = false;

	for (int attempt = 0; attempt < 2 && !is_ours; attempt++) {
		AUTO(close_fd)
		int fd = s->open(s, x->at->state_fd, CONTEXT_INDEX,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600, 0);
		if (fd < 0)
			ix->is_closed = true;
		int rc = open_once(ix, path, &is_ours, &e);
		if (rc == OK && is_ours)
			return;
		db_close(&ix->db);
		/* Another process has it at the moment: this search does without. */
		if (ix->is_closed || rc == E_IO)
			break;
		(void)s->unlink(s, x->at->state_fd, CONTEXT_INDEX, 0);
		(void)s->unlink(s, x->at->state_fd, CONTEXT_INDEX "-journal", 0);
	}
	ix->is_broken = true;
}

void index_attach(struct search *x)
{
	if (!x->has_words || x->q.is_classic || x->q.has_no_index || x->watched || x->is_timeline ||
		x->is_reflection || x->at->state_fd < 0)
		return;
	x->index = arena_zalloc(x->a, 1, sizeof(*x->index));
	x->index->x = x;
	x->index->stop_us = x->q.is_fresh ? INT64_MAX : x->sys->mono_us(x->sys) + BUDGET_US;
	open_index(x->index);
}

void index_detach(struct search *x)
{
	if (!x->index)
		return;
	db_close(&x->index->db);
	arena_done(&x->index->a);
	x->index = NULL;
}

/* ---- what is put in ---- */

struct tokens {
	struct context_index *ix;
	struct buf text;
	int rc;
	struct err *e;
};

static void take_token(void *arg, const char *token, size_t n, bool is_letters)
{
	struct tokens *t = arg;
	struct context_index *ix = t->ix;

	buf_add(&t->text, token, n);
	buf_addc(&t->text, ' ');
	if (!is_letters || n < 4 || n >= LONGEST_WORD || t->rc)
		return;
	const char *word = arena_strndup(&ix->a, token, n);
	if (!idset_add(ix->x->a, &ix->words, word))
		return;
	t->rc = db_run(ix->db, "INSERT OR IGNORE INTO word VALUES(?)", &DB_T(word), 1, t->e);
}

static int put_tokens(struct context_index *ix, int64_t id, const char *text, size_t n, struct err *e)
{
	size_t shown_n;
	const char *shown = privacy_redact(&ix->a, text, n, &shown_n);
	struct tokens t = { .ix = ix, .e = e };

	buf_init(&t.text, &ix->a);
	words_tokens(words_fold(&ix->a, shown, shown_n), take_token, &t);
	if (t.rc)
		return t.rc;
	const struct db_value values[] = { DB_I(id), DB_T(t.text.p) };
	return db_run(ix->db, "INSERT INTO token(rowid,t) VALUES(?,?)", values, 2, e);
}

static int new_doc(struct context_index *ix, const struct db_value *values, int64_t *ret_id, struct err *e)
{
	int rc = db_run(ix->db, "INSERT INTO doc(source,kind,path,place,mtime,size) VALUES(?,?,?,?,?,?)",
		values, 6, e);

	return rc ? rc : db_number(ix->db, "SELECT last_insert_rowid()", NULL, 0, 0, ret_id, e);
}

/* > 0: it cannot be read now, and stays something that is read each time. */
static int put_file(
	struct context_index *ix, struct source *s, int64_t source, const struct note_file *f, struct err *e)
{
	struct search *x = ix->x;
	struct bytes text;
	int64_t id;
	size_t n;

	if (file_read(x->sys, &ix->a, s->root_fd, f->path, MAX_NOTE_BYTES, FILE_BENEATH, &text, NULL) ||
		memchr(text.p, 0, text.n < 8192 ? text.n : 8192))
		return 1;
	const char *masked = mask_lines(&ix->a, (const char *)text.p, text.n, &n);
	int64_t mtime = x->now_us - f->mtime_ns / 1000 < YOUNG_US ? 0 : f->mtime_ns;
	const struct db_value old[] = { DB_I(source), DB_T(f->path) };
	const struct db_value values[] = { DB_I(source), DB_I(DOC_FILE), DB_T(f->path), DB_I(0), DB_I(mtime),
		DB_I(f->size) };
	int rc = db_run(ix->db, "DELETE FROM doc WHERE source=? AND path=? AND kind=0", old, 2, e);

	if (rc == OK)
		rc = new_doc(ix, values, &id, e);
	return rc ? rc : put_tokens(ix, id, masked, n, e);
}

/* ---- files ---- */

static void add_pending(struct context_index *ix, struct pending *p, const struct note_file *f)
{
	struct arena *a = ix->x->a;

	if (p->count == p->room) {
		size_t room = p->room ? 2 * p->room : 64;
		p->files = arena_grow(a, p->files, p->room * sizeof(*f), room * sizeof(*f));
		p->room = room;
	}
	p->files[p->count] = *f;
	p->files[p->count++].path = arena_strdup(a, f->path);
}

struct sweep {
	struct context_index *ix;
	struct indexed_source *is;
	struct json *dirs; /* [path, mtime, ...]: of this walk */
	bool needs_all; /* a directory that nobody knew */
	size_t files; /* seen */
	int rc;
	struct err e;
};

static int take_two(void *arg, const struct db_row *row, struct err *e)
{
	int64_t *two = arg;

	(void)e;
	two[0] = db_int(row, 0);
	two[1] = db_int(row, 1);
	return 1;
}

static void look_at_file(void *arg, const struct note_file *f)
{
	struct sweep *w = arg;
	int64_t known[2] = { -1, -1 };
	const struct db_value values[] = { DB_I(w->is->id), DB_T(f->path) };

	w->files++;
	if (w->rc == OK && w->is->id)
		w->rc = db_ask(w->ix->db, "SELECT mtime,size FROM doc WHERE source=? AND path=? AND kind=0",
			values, 2, take_two, known, &w->e);
	if (known[0] != f->mtime_ns || known[1] != f->size)
		add_pending(w->ix, &w->is->pending, f);
}

static void look_at_dir(void *arg, const char *path, int64_t mtime_ns)
{
	struct sweep *w = arg;
	struct arena *a = w->ix->x->a;

	json_pushs(a, w->dirs, path);
	json_push(a, w->dirs, json_number(a, w->ix->x->now_us - mtime_ns / 1000 < YOUNG_US ? 0 : mtime_ns));
}

static void look_for_new_dir(void *arg, const char *path, int64_t mtime_ns)
{
	struct sweep *w = arg;
	const struct db_value values[] = { DB_I(w->is->id), DB_T(path) };
	int64_t is_known = 0;

	(void)mtime_ns;
	if (w->rc == OK)
		w->rc = db_number(w->ix->db, "SELECT 1 FROM dir WHERE source=? AND path=?", values, 2, 0,
			&is_known, &w->e);
	w->needs_all |= !is_known;
}

static int put_dirs(struct sweep *w, bool is_all, struct err *e)
{
	struct db *db = w->ix->db;
	int rc = is_all ? db_run(db, "DELETE FROM dir WHERE source=?", &DB_I(w->is->id), 1, e) : OK;

	for (uint32_t i = 0; rc == OK && i + 1 < w->dirs->n; i += 2) {
		int64_t mtime = 0;
		(void)json_int(w->dirs->items[i + 1], &mtime);
		const struct db_value values[] = { DB_I(w->is->id), DB_T(json_text(w->dirs->items[i])),
			DB_I(mtime) };
		if (json_text(w->dirs->items[i]))
			rc = db_run(db, "INSERT OR REPLACE INTO dir VALUES(?,?,?)", values, 3, e);
	}
	return rc;
}

/* What a walk has said is said again by searches that do not walk. */
static int put_warnings(
	struct context_index *ix, const struct indexed_source *is, uint32_t from, struct err *e)
{
	int rc = db_run(ix->db, "DELETE FROM warning WHERE source=?", &DB_I(is->id), 1, e);

	for (uint32_t i = from; rc == OK && i < ix->x->warnings->n; i++) {
		const struct db_value values[] = { DB_I(is->id), DB_T(json_text(ix->x->warnings->items[i])) };
		rc = db_run(ix->db, "INSERT INTO warning VALUES(?,?)", values, 2, e);
	}
	return rc;
}

static int say_again(void *arg, const struct db_row *row, struct err *e)
{
	(void)e;
	search_warn(arg, "%s", db_text(row, 0) ? db_text(row, 0) : "");
	return OK;
}

static int begin(struct context_index *ix, struct err *e)
{
	int rc = ix->is_closed ? E_IO : db_script(ix->db, "BEGIN IMMEDIATE", e);

	if (rc == E_IO)
		ix->is_closed = true;
	return rc;
}

/* Files into the index until the time is over, and some in any case, so that it comes to an end; what was not done stays pending, and is not
 * an error. */
static int take_files(struct context_index *ix, struct source *s, struct indexed_source *is, struct err *e)
{
	struct pending left = { 0 };
	size_t i = 0;
	int rc = OK;

	while (i < is->pending.count && rc == OK && !ix->is_closed &&
		(i == 0 || ix->x->sys->mono_us(ix->x->sys) < ix->stop_us)) {
		rc = begin(ix, e);
		if (ix->is_closed)
			break;
		size_t end = i + STEP_FILES < is->pending.count ? i + STEP_FILES : is->pending.count;
		for (; rc == OK && i < end; i++) {
			rc = put_file(ix, s, is->id, &is->pending.files[i], e);
			if (rc > 0)
				add_pending(ix, &left, &is->pending.files[i]);
			rc = rc > 0 ? OK : rc;
			arena_reset(&ix->a);
		}
		if (rc == OK)
			rc = db_script(ix->db, "COMMIT", e);
	}
	for (; i < is->pending.count; i++)
		add_pending(ix, &left, &is->pending.files[i]);
	is->pending = left;
	return rc && !ix->is_closed ? rc : OK;
}

/* All of it was looked at: noted, so that the next search need not, when everything that can be read is in. */
static int note_sweep(
	struct sweep *w, struct source *s, uint32_t warnings_from, int64_t took, bool is_done, struct err *e)
{
	struct context_index *ix = w->ix;
	const struct db_value values[] = { DB_I(is_done ? ix->x->sys->now_us(ix->x->sys) : 0), DB_I(took),
		DB_I(s->newest_us), DB_I(w->is->id) };
	int rc = begin(ix, e);

	if (ix->is_closed)
		return OK;
	if (rc == OK)
		rc = put_dirs(w, true, e);
	if (rc == OK)
		rc = put_warnings(ix, w->is, warnings_from, e);
	if (rc == OK)
		rc = db_run(ix->db, "UPDATE source SET swept=?,took=?,newest=max(newest,?) WHERE id=?",
			values, 4, e);
	return rc ? rc : db_script(ix->db, "COMMIT", e);
}

static int sweep_all(struct sweep *w, struct source *s, struct err *e)
{
	struct context_index *ix = w->ix;
	uint32_t warnings_from = ix->x->warnings->n;
	int64_t began = ix->x->sys->mono_us(ix->x->sys);

	w->is->pending.count = 0;
	w->dirs = json_new(ix->x->a, JSON_ARRAY);
	notes_walk(ix->x, s, look_at_file, look_at_dir, w);
	int64_t now = ix->x->sys->mono_us(ix->x->sys), took = w->files < FEW_FILES ? 0 : now - began;
	/* As much time for adding as the walk took: where that alone is longer than the budget, nothing would ever come in. */
	if (ix->stop_us < now + (now - began))
		ix->stop_us = now + (now - began);
	uint32_t warnings_to = ix->x->warnings->n;
	if (w->rc) {
		*e = w->e;
		return w->rc;
	}
	size_t before = w->is->pending.count;
	int rc = take_files(ix, s, w->is, e);
	/* Nothing to write down when nothing is different and the next search will look again anyway. */
	if (rc == OK && (before || took || warnings_to != warnings_from || !w->is->swept_us))
		rc = note_sweep(w, s, warnings_from, took,
			w->is->pending.count == 0 ||
				(before && ix->x->sys->mono_us(ix->x->sys) < ix->stop_us),
			e);
	return rc;
}

struct known_dir {
	struct sweep *w;
	struct source *s;
	struct json *changed;
};

static int check_dir(void *arg, const struct db_row *row, struct err *e)
{
	struct known_dir *k = arg;
	struct search *x = k->w->ix->x;
	struct stat st;
	const char *path = db_text(row, 0);

	(void)e;
	if (x->sys->stat(x->sys, k->s->root_fd, path && *path ? path : ".", &st, AT_SYMLINK_NOFOLLOW) ||
		(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec != db_int(row, 1))
		json_pushs(x->a, k->changed, path ? path : "");
	return OK;
}

/* Only what a directory's own time tells. */
static int look_at_dirs(struct sweep *w, struct source *s, struct err *e)
{
	struct search *x = w->ix->x;
	struct known_dir k = { w, s, json_new(x->a, JSON_ARRAY) };
	int rc = db_ask(w->ix->db, "SELECT path,mtime FROM dir WHERE source=?", &DB_I(w->is->id), 1,
		check_dir, &k, e);
	struct stat st;

	/* Places that may appear beside those that are known. */
	static const char *const places[] = { "history", "memory", "notes" };
	for (size_t i = 0; i < ARRAY_SIZE(places) && !s->is_vault && rc == OK; i++)
		if (file_is_dir(x->sys, s->root_fd, places[i]))
			look_for_new_dir(w, places[i], 0);
	if (rc == OK && !s->is_vault &&
		x->sys->stat(x->sys, s->root_fd, "MEMORY.md", &st, AT_SYMLINK_NOFOLLOW) == 0) {
		struct note_file f = { "MEMORY.md",
			(int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec, st.st_size };
		look_at_file(w, &f);
	}
	json_each (dir, k.changed)
		notes_list(x, s, json_text(dir), look_at_file, look_for_new_dir, w);
	if (rc == OK && w->rc) {
		*e = w->e;
		rc = w->rc;
	}
	if (rc || w->needs_all)
		return rc;
	rc = db_ask(
		w->ix->db, "SELECT text FROM warning WHERE source=?", &DB_I(w->is->id), 1, say_again, x, e);
	return rc ? rc : take_files(w->ix, s, w->is, e);
}

static int look_at_files(struct context_index *ix, struct source *s, struct indexed_source *is, struct err *e)
{
	struct sweep w = { .ix = ix, .is = is };
	int64_t age = ix->x->now_us - is->swept_us;
	bool is_due = !is->swept_us || ix->x->q.is_fresh || !is->took_us || age < 0 ||
		age > (PATIENCE * is->took_us > LEAST_PATIENCE_US ? PATIENCE * is->took_us
								  : LEAST_PATIENCE_US);
	int rc = is_due ? OK : look_at_dirs(&w, s, e);

	if (rc == OK && (is_due || w.needs_all))
		rc = sweep_all(&w, s, e);
	if (is->newest_us > s->newest_us)
		s->newest_us = is->newest_us;
	is->is_ready = rc == OK;
	return rc;
}

/* ---- ledgers ---- */

static void mark_of(struct arena *a, const struct json *row, char to[SHA256_HEX])
{
	const char *digest = json_sha256(a, row);

	snprintf(to, SHA256_HEX, "%s", digest + strlen("sha256:"));
}

/* Is the ledger still the one that was read?  Else everything of it is read again. */
static int check_ledger(struct context_index *ix, struct source *s, struct indexed_source *is,
	enum doc_kind kind, struct ledger_state *l, struct err *e)
{
	struct json *row = NULL;
	char mark[SHA256_HEX] = "";
	off_t end;
	int rc = ledger_end(ix->x->sys, s->state_fd, ledger_of(kind), &end, e);

	if (rc || !l->place)
		return rc;
	if (end >= l->place && l->last >= 0)
		rc = row_at(ix->x->sys, &ix->a, s->state_fd, ledger_of(kind), l->last, &row, e);
	if (rc == OK && row)
		mark_of(&ix->a, row, mark);
	arena_reset(&ix->a);
	if (rc || (row && text_eq(mark, l->mark)))
		return rc;
	const struct db_value values[] = { DB_I(is->id), DB_I(kind) };
	*l = (struct ledger_state){ .last = -1 };
	rc = begin(ix, e);
	if (ix->is_closed)
		return E_IO; /* what the index says about this ledger is about another one */
	if (rc == OK)
		rc = db_run(ix->db, "DELETE FROM doc WHERE source=? AND kind=?", values, 2, e);
	if (rc == OK && kind == DOC_TASK)
		rc = db_run(ix->db, "DELETE FROM task WHERE source=?", values, 1, e);
	return rc ? rc : db_script(ix->db, "COMMIT", e);
}

struct taking {
	struct context_index *ix;
	struct source *s;
	int64_t source;
	enum doc_kind kind;
	struct ledger_state *l;
	size_t rows;
	int rc;
	bool is_over;
};

static int put_row(struct taking *t, off_t place, const struct json *row, struct err *e)
{
	struct context_index *ix = t->ix;
	const char *task = json_get_text(row, "task_id", NULL);
	const struct db_value values[] = { DB_I(t->source), DB_I(t->kind), DB_T(NULL), DB_I(place), DB_I(0),
		DB_I(0) };
	const struct db_value newest[] = { DB_I(t->source), DB_T(task), DB_I(place) };
	struct json *copy = json_copy(&ix->a, row);
	struct buf text;
	int64_t id;
	int rc = new_doc(ix, values, &id, e);

	if (rc == OK && task && t->kind == DOC_TASK)
		rc = db_run(ix->db, "INSERT OR REPLACE INTO task VALUES(?,?,?)", newest, 3, e);
	privacy_redact_json(&ix->a, copy);
	buf_init(&text, &ix->a);
	json_write(&text, copy, JSON_SPACED);
	if (rc == OK)
		rc = put_tokens(ix, id, text.p, text.n, e);
	mark_of(&ix->a, row, t->l->mark);
	t->l->last = place;
	arena_reset(&ix->a);
	return rc;
}

static int take_row(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct taking *t = arg;

	(void)line;
	if (!is_whole)
		return 1; /* somebody is writing it */
	if (t->rows == STEP_ROWS) {
		t->is_over = false;
		return 1;
	}
	struct json *row = text.n ? row_parse(&t->ix->a, text, ledger_of(t->kind)) : NULL;
	t->l->place = place + (off_t)text.n + 1;
	t->l->damaged += !row && !row_is_blank(text);
	t->rows++;
	return row ? put_row(t, place, row, e) : OK;
}

static int note_ledger(struct context_index *ix, int64_t source, enum doc_kind kind,
	const struct ledger_state *l, struct err *e)
{
	const struct db_value values[] = { DB_I(l->place), DB_I(l->last), DB_T(l->mark), DB_I(l->damaged),
		DB_I(source) };

	return kind == DOC_TASK
		? db_run(ix->db,
			  "UPDATE source SET task_place=?,task_last=?,task_mark=?,task_damaged=? WHERE id=?",
			  values, 5, e)
		: db_run(ix->db,
			  "UPDATE source SET command_place=?,command_last=?,command_mark=?,command_damaged=? WHERE id=?",
			  values, 5, e);
}

int index_catch_up(struct context_index *ix, struct source *s, struct indexed_source *is, enum doc_kind kind,
	struct err *e)
{
	struct ledger_state *l = kind == DOC_TASK ? &is->tasks : &is->commands;
	off_t end;
	int rc = check_ledger(ix, s, is, kind, l, e);

	if (rc == OK)
		rc = ledger_end(ix->x->sys, s->state_fd, ledger_of(kind), &end, e);
	bool is_over = rc || end - l->place < TAIL_BYTES;
	if (!ix->rows_stop_us)
		ix->rows_stop_us =
			ix->x->q.is_fresh ? INT64_MAX : ix->x->sys->mono_us(ix->x->sys) + ROWS_BUDGET_US;
	/* One step in any case, so that it comes to an end. */
	for (bool is_first = true;
		rc == OK && !is_over && (is_first || ix->x->sys->mono_us(ix->x->sys) < ix->rows_stop_us);
		is_first = false) {
		struct ledger_state now = *l;
		struct taking t = {
			.ix = ix, .s = s, .source = is->id, .kind = kind, .l = &now, .is_over = true
		};
		rc = begin(ix, e);
		if (ix->is_closed)
			return OK;
		if (rc == OK)
			rc = ledger_lines(
				ix->x->sys, s->state_fd, ledger_of(kind), now.place, take_row, &t, e);
		if (rc == OK)
			rc = note_ledger(ix, is->id, kind, &now, e);
		if (rc == OK)
			rc = db_script(ix->db, "COMMIT", e);
		if (rc == OK)
			*l = now;
		is_over = t.is_over;
	}
	return rc;
}

/* ---- a source ---- */

static int take_source(void *arg, const struct db_row *row, struct err *e)
{
	struct indexed_source *is = arg;

	(void)e;
	is->id = db_int(row, 0);
	is->swept_us = db_int(row, 1);
	is->took_us = db_int(row, 2);
	is->newest_us = db_int(row, 3);
	is->tasks = (struct ledger_state){
		.place = db_int(row, 4), .last = db_int(row, 5), .damaged = db_int(row, 7)
	};
	is->commands = (struct ledger_state){
		.place = db_int(row, 8), .last = db_int(row, 9), .damaged = db_int(row, 11)
	};
	snprintf(is->tasks.mark, SHA256_HEX, "%s", db_text(row, 6) ? db_text(row, 6) : "");
	snprintf(is->commands.mark, SHA256_HEX, "%s", db_text(row, 10) ? db_text(row, 10) : "");
	return 1;
}

static int load_source(
	struct context_index *ix, const struct source *s, struct indexed_source *is, struct err *e)
{
	static const char sql[] =
		"SELECT id,swept,took,newest,task_place,task_last,task_mark,task_damaged,command_place,command_last,"
		"command_mark,command_damaged FROM source WHERE root=?";
	int rc = db_ask(ix->db, sql, &DB_T(s->root), 1, take_source, is, e);

	if (rc || is->id || ix->is_closed)
		return rc;
	rc = begin(ix, e);
	if (ix->is_closed)
		return OK;
	if (rc == OK)
		rc = db_run(ix->db, "INSERT OR IGNORE INTO source VALUES(NULL,?,0,0,0,0,-1,'',0,0,-1,'',0)",
			&DB_T(s->root), 1, e);
	if (rc == OK)
		rc = db_script(ix->db, "COMMIT", e);
	return rc ? rc : db_ask(ix->db, sql, &DB_T(s->root), 1, take_source, is, e);
}

/* After any error everything is read, and what is no index any more is thrown away for the next search. */
struct indexed_source *index_source(struct context_index *ix, struct source *s, bool for_files)
{
	struct indexed_source *is = &ix->of[s - ix->x->sources];
	struct err e = { 0 };
	int rc = is->id || ix->is_broken ? OK : load_source(ix, s, is, &e);

	if (rc == OK && !ix->is_broken && for_files && !is->is_ready)
		rc = look_at_files(ix, s, is, &e);
	if (rc == E_CORRUPT)
		(void)ix->x->sys->unlink(ix->x->sys, ix->x->at->state_fd, CONTEXT_INDEX, 0);
	ix->is_broken |= rc != OK || !is->id;
	return ix->is_broken ? NULL : is;
}

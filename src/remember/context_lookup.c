/* context_lookup.c — asking the index where the words of a question may stand, and looking there. */
#include "remember/index_parts.h"

#include "base/text.h"

#include <fcntl.h>
#include <string.h>

enum { MOST_ALTERNATIVES = 400, MOST_ROWS = 4000, WINDOW_BYTES = 4 << 20, MOST_TAIL_BYTES = 12 << 20 };

/* ---- a question in the index's words ---- */

struct asking {
	struct context_index *ix;
	struct buf text;
	struct folded term;
	size_t alternatives;
	bool is_near; /* words nearly like it; else words with it inside */
	bool is_too_much;
	int rc;
	struct err *e;
};

/* A word of the vocabulary that the term may be found in. */
static int take_word(void *arg, const struct db_row *row, struct err *e)
{
	struct asking *k = arg;
	const char *w = db_text(row, 0);

	(void)e;
	if (!w || (k->is_near && !words_are_near(k->term, (struct folded){ w, strlen(w) })))
		return OK;
	if (++k->alternatives > MOST_ALTERNATIVES) {
		k->is_too_much = true;
		return 1;
	}
	buf_addf(&k->text, " OR \"%s\"", w);
	return OK;
}

static bool is_letters(const struct run *r)
{
	return !r->is_unspaced && !r->has_digit;
}

/* Pairs of unspaced letters, all of which must be there; a single one begins a pair, or ends a row. */
static void add_pairs(struct asking *k, const struct run *r)
{
	size_t len = 0, next;
	uint32_t cp;
	bool has_pair = false;

	for (size_t i = 0; i < r->n; i += len) {
		len = text_decode(r->p + i, r->n - i, &cp);
		next = i + len < r->n ? text_decode(r->p + i + len, r->n - i - len, &cp) : 0;
		if (next)
			buf_addf(
				&k->text, "%s\"%.*s\"", has_pair ? " AND " : "", (int)(len + next), r->p + i);
		has_pair |= next > 0;
	}
	if (!has_pair)
		buf_addf(&k->text, "\"%.*s\" *", (int)r->n, r->p);
}

/* One run: at the beginning of a token, or inside a word. */
static void add_run(struct asking *k, const struct run *r)
{
	const char *term = arena_strndup(k->ix->x->a, r->p, r->n);

	buf_addc(&k->text, '(');
	if (r->is_unspaced) {
		add_pairs(k, r);
	} else {
		buf_addf(&k->text, "\"%s\" *", term);
		k->term = (struct folded){ term, r->n };
		if (is_letters(r) && r->n >= 3 && k->rc == OK)
			k->rc = db_ask(k->ix->db, "SELECT w FROM word WHERE instr(w,?)>1", &DB_T(term), 1,
				take_word, k, k->e);
		if (k->ix->x->is_nearly && k->rc == OK) {
			k->is_near = true;
			k->rc = db_ask(k->ix->db, "SELECT w FROM word", NULL, 0, take_word, k, k->e);
			k->is_near = false;
		}
	}
	buf_addc(&k->text, ')');
}

/* All runs of a text. */
static void add_all(struct asking *k, struct folded text)
{
	size_t at = 0, n = 0;
	struct run r;

	buf_addc(&k->text, '(');
	while (run_next(text.p, text.n, &at, &r)) {
		if (n++)
			buf_adds(&k->text, " AND ");
		add_run(k, &r);
	}
	buf_addc(&k->text, ')');
	k->is_too_much |= n == 0; /* signs alone are in no index */
}

static void add_list(struct asking *k, const struct folded *list, size_t n, const char *between)
{
	buf_addc(&k->text, '(');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_adds(&k->text, between);
		add_all(k, list[i]);
	}
	buf_addc(&k->text, ')');
}

/* Its runs are its key words: no name was taken apart, no filler left out. */
static bool is_plain(const struct question *q)
{
	size_t at = 0, n = 0;
	struct run r;

	while (run_next(q->whole.p, q->whole.n, &at, &r))
		if (n >= q->key_count || q->key[n].n != r.n || memcmp(q->key[n++].p, r.p, r.n) != 0)
			return false;
	return n == q->key_count;
}

/* Everything that the question can fit, and more.  NULL: the index cannot tell. */
static const char *expression(struct context_index *ix, struct err *e)
{
	const struct search *x = ix->x;
	const struct question *q = &x->question;
	struct asking k = { .ix = ix, .e = e };

	buf_init(&k.text, x->a);
	if (x->any_count) {
		add_list(&k, x->any, x->any_count, " OR ");
	} else if (!q->key_count) {
		return NULL;
	} else if (x->is_nearly || ix->is_some) {
		add_list(&k, q->key, q->key_count, x->is_nearly ? " AND " : " OR ");
	} else {
		if (!is_plain(q)) {
			add_all(&k, q->whole);
			buf_adds(&k.text, " OR ");
		}
		add_list(&k, q->key, q->key_count, " AND ");
	}
	return k.is_too_much || k.rc ? NULL : k.text.p;
}

void index_widen(struct search *x)
{
	x->index->is_some = true;
}

/* ---- files ---- */

struct looking {
	struct search *x;
	struct source *s;
	struct indexed_source *is;
	enum doc_kind kind;
	int64_t *places; /* of rows, the newest first */
	size_t count, room;
	off_t from; /* rows from here on are read, whatever the index has */
};

static void add_place(struct looking *l, int64_t place)
{
	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		l->places = arena_grow(l->x->a, l->places, l->room * sizeof(place), room * sizeof(place));
		l->room = room;
	}
	l->places[l->count++] = place;
}

static int take_file(void *arg, const struct db_row *row, struct err *e)
{
	struct looking *l = arg;
	struct note_file f = { db_text(row, 0), db_int(row, 1), db_int(row, 2) };
	struct stat st;

	(void)e;
	/* It may be gone, or newer than when all files were looked at. */
	if (!f.path || l->x->sys->stat(l->x->sys, l->s->root_fd, f.path, &st, AT_SYMLINK_NOFOLLOW) ||
		!S_ISREG(st.st_mode))
		return OK;
	f.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	f.size = st.st_size;
	(void)offer_file(l->x, l->s, &f);
	return OK;
}

bool index_files(struct search *x, struct source *s)
{
	static const char sql[] =
		"SELECT path,mtime,size FROM token CROSS JOIN doc ON doc.id=token.rowid WHERE token MATCH ? AND source=? AND kind=0";
	struct err e = { 0 };
	struct indexed_source *is = x->index && !x->index->is_broken ? index_source(x->index, s, true) : NULL;
	const char *words = is ? expression(x->index, &e) : NULL;

	if (!words)
		return false;
	struct looking l = { .x = x, .s = s, .is = is };
	const struct db_value values[] = { DB_T(words), DB_I(is->id) };
	if (db_ask(x->index->db, sql, values, 2, take_file, &l, &e)) {
		x->index->is_broken = true;
		return false;
	}
	for (size_t i = 0; i < is->pending.count; i++)
		(void)offer_file(x, s, &is->pending.files[i]);
	return true;
}

/* ---- rows ---- */

/* As many rows as are ranked, unless somebody waits for all of them. */
static bool has_most(const struct search *x, size_t rows)
{
	return rows >= MOST_ROWS && !search_reads_all(x);
}

static int take_place(void *arg, const struct db_row *row, struct err *e)
{
	struct looking *l = arg;

	(void)e;
	add_place(l, db_int(row, 0));
	return has_most(l->x, l->count);
}

/* A line that is stored as it is searched need not be written again to be looked at. */
static bool line_may_fit(struct search *x, struct bytes line)
{
	return memchr(line.p, '\\', line.n) ||
		search_fit(x, words_fold(&x->scratch, (const char *)line.p, line.n)) != FIT_NONE;
}

/* From brace to brace: what is wrong further in is told when the line is taken into the index. */
static bool looks_whole(struct bytes line)
{
	return line.n > 1 && line.p[0] == '{' && line.p[line.n - 1] == '}';
}

/* The end of the ledger, which is not in the index: its lines that are worth parsing, the newest last.  Where of each task the newest row is wanted, a
 * later line that does not answer may still be the newest of its task, so all are kept. */
struct tail {
	struct search *x;
	bool wants_ids; /* each row says which task it is about */
	struct buf text;
	struct tail_line {
		size_t end;
		bool may_fit;
	} * lines;
	size_t count, room, fitting, offered;
	struct idset ids; /* of its rows, once all of them were parsed */
	bool has_ids;
	bool is_long; /* more than is held in memory: the rows are read one after the other instead */
};

static struct bytes tail_line(const struct tail *t, size_t i)
{
	size_t from = i ? t->lines[i - 1].end : 0;

	return (struct bytes){ (const uint8_t *)t->text.p + from, t->lines[i].end - from };
}

static int take_line(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct tail *t = arg;

	(void)place;
	(void)line;
	(void)is_whole;
	(void)e;
	bool may_fit = !looks_whole(text) || line_may_fit(t->x, text);
	arena_reset(&t->x->scratch);
	if (!may_fit && !t->wants_ids)
		return OK;
	if (t->text.n + text.n > MOST_TAIL_BYTES) {
		t->is_long = true;
		return 1;
	}
	if (t->count == t->room) {
		size_t room = t->room ? 2 * t->room : 256;
		t->lines =
			arena_grow(t->x->a, t->lines, t->room * sizeof(*t->lines), room * sizeof(*t->lines));
		t->room = room;
	}
	buf_add(&t->text, text.p, text.n);
	t->lines[t->count++] = (struct tail_line){ t->text.n, may_fit };
	t->fitting += may_fit;
	return OK;
}

/* Does a line behind number `after` tell of this task?  Looked for in the text, so that only lines that name it are parsed. */
static bool is_told_later(struct tail *t, size_t after, const char *id)
{
	for (size_t i = after; i < t->count; i++) {
		size_t from = i ? t->lines[i - 1].end : 0;
		const char *hit = memmem(t->text.p + from, t->text.n - from, id, strlen(id));
		if (!hit)
			return false;
		while (t->lines[i].end <= (size_t)(hit - t->text.p))
			i++;
		struct json *row = row_parse(&t->x->scratch, tail_line(t, i), TASK_LEDGER);
		if (text_eq(json_get_text(row, "task_id", ""), id))
			return true;
	}
	return false;
}

/* Line number i, of which all later ones were looked at.  The id of a task has one spelling only when it is plain. */
static void offer_line(struct looking *l, struct tail *t, size_t i, size_t *damaged)
{
	struct search *x = l->x;
	struct bytes line = tail_line(t, i);
	struct json *row = line.n ? row_parse(&x->scratch, line, ledger_of(l->kind)) : NULL;
	const char *id = json_get_text(row, "task_id", NULL);

	*damaged += !row && !row_is_blank(line);
	if (row && t->wants_ids && id &&
		(t->has_ids ? !idset_add(x->a, &t->ids, id) : is_told_later(t, i + 1, id)))
		row = NULL; /* a newer one was seen */
	if (row && t->lines[i].may_fit && line_may_fit(x, line)) {
		if (l->kind == DOC_COMMAND)
			offer_command(x, l->s, row);
		else
			offer_task(x, l->s, row, NULL);
	}
	arena_reset(&x->scratch);
}

static int read_tail(struct looking *l, struct tail *t, size_t *ret_damaged, struct err *e)
{
	enum { FEW = 4 }; /* tasks that are looked for in the text, instead of parsing all of it */
	struct search *x = l->x;
	const struct ledger_state *at = l->kind == DOC_TASK ? &l->is->tasks : &l->is->commands;

	*t = (struct tail){ .x = x, .wants_ids = l->kind == DOC_TASK && x->q.latest_tasks };
	buf_init(&t->text, x->a);
	int rc = ledger_lines(x->sys, l->s->state_fd, ledger_of(l->kind), l->from, take_line, t, e);
	*ret_damaged = (size_t)at->damaged;
	/* A backslash may hide an id: then all are parsed. */
	t->has_ids = t->wants_ids &&
		(t->fitting + l->count > FEW || memchr(t->text.p ? t->text.p : "", '\\', t->text.n));
	for (size_t i = t->count; rc == OK && !t->is_long && i-- > 0 && !has_most(x, t->offered);) {
		t->offered += t->lines[i].may_fit;
		if (t->has_ids || t->lines[i].may_fit)
			offer_line(l, t, i, ret_damaged);
	}
	return rc;
}

/* Is this row the newest of its task? */
static bool is_newest(struct looking *l, const struct json *row, int64_t place, struct tail *t)
{
	const char *id = json_get_text(row, "task_id", NULL);
	const struct db_value values[] = { DB_I(l->is->id), DB_T(id) };
	int64_t newest = -1;

	if (!id || !l->x->q.latest_tasks)
		return true;
	return !(t->has_ids ? idset_has(&t->ids, id) : is_told_later(t, 0, id)) &&
		db_number(l->x->index->db, "SELECT place FROM task WHERE source=? AND id=?", values, 2, -1,
			&newest, NULL) == OK &&
		newest == place;
}

static int look_at_rows(struct looking *l, struct tail *t, struct err *e)
{
	struct search *x = l->x;
	int rc = OK;

	for (size_t i = 0; rc == OK && i < l->count; i++) {
		struct json *row = NULL;
		rc = row_at(x->sys, &x->index->a, l->s->state_fd, ledger_of(l->kind), l->places[i], &row, e);
		if (row && l->kind == DOC_COMMAND)
			offer_command(x, l->s, row);
		else if (row && is_newest(l, row, l->places[i], t))
			offer_task(x, l->s, row, NULL);
		arena_reset(&x->scratch);
		arena_reset(&x->index->a);
	}
	return rc;
}

/* What the index has not read yet is read here, but of a long end only its newest part: the rest is said. */
static int find_window(struct looking *l, struct err *e)
{
	struct search *x = l->x;
	const off_t place = (l->kind == DOC_TASK ? l->is->tasks : l->is->commands).place;
	off_t recent = 0;
	int rc = ledger_recent(x->sys, l->s->state_fd, ledger_of(l->kind), WINDOW_BYTES, &recent, e);

	l->from = rc == OK && recent > place ? recent : place;
	if (rc == OK && recent > place)
		warn_partial(x, l->s, ledger_of(l->kind), "rows in the index, and the newest 4 MiB,",
			"'helm context --fresh', which adds the rest to the index,");
	return rc;
}

static int index_ledger(struct search *x, struct source *s, struct indexed_source *is, enum doc_kind kind,
	const char *words, bool *ret_is_done, struct err *e)
{
	static const char sql[] =
		"SELECT place FROM token CROSS JOIN doc ON doc.id=token.rowid WHERE token MATCH ? AND source=? AND kind=? "
		"ORDER BY token.rowid DESC";
	struct looking l = { .x = x, .s = s, .is = is, .kind = kind };
	const struct db_value values[] = { DB_T(words), DB_I(is->id), DB_I(kind) };
	struct tail tail;
	size_t damaged = 0;
	int rc = index_catch_up(x->index, s, is, kind, e);

	if (rc == OK)
		rc = find_window(&l, e);
	if (rc == OK)
		rc = db_ask(x->index->db, sql, values, 3, take_place, &l, e);
	if (rc)
		return rc;
	rc = read_tail(&l, &tail, &damaged, e);
	if (rc || tail.is_long)
		return rc;
	/* The newest ones: those of the end, then those that the index names. */
	if (has_most(x, tail.offered + l.count)) {
		size_t left = tail.offered < MOST_ROWS ? MOST_ROWS - tail.offered : 0;
		l.count = l.count < left ? l.count : left;
		warn_partial(x, s, ledger_of(kind),
			arena_printf(&x->scratch, "the newest %s rows with these words",
				text_thousands(&x->scratch, MOST_ROWS)),
			"--no-index");
	}
	rc = look_at_rows(&l, &tail, e);
	if (rc == OK && damaged)
		warn_rows(x, s, ledger_of(kind), damaged);
	*ret_is_done = rc == OK;
	return rc;
}

bool index_rows(struct search *x, struct source *s)
{
	struct err e = { 0 };
	bool wants_tasks = search_wants(x, AREA_TASKS), wants_commands = search_wants(x, AREA_COMMANDS);

	if (s->state_fd < 0 || (!wants_tasks && !wants_commands))
		return true;
	struct indexed_source *is =
		x->index && !x->index->is_broken ? index_source(x->index, s, false) : NULL;
	const char *words = is ? expression(x->index, &e) : NULL;
	if (!words)
		return false;
	bool tasks = !wants_tasks, commands = !wants_commands;
	int rc = tasks ? OK : index_ledger(x, s, is, DOC_TASK, words, &tasks, &e);
	if (rc == OK && tasks && !commands)
		rc = index_ledger(x, s, is, DOC_COMMAND, words, &commands, &e);
	if (rc)
		x->index->is_broken = true;
	return rc == OK && tasks && commands;
}

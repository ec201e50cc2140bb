/* index_receipts.c — where in the chain the receipts of a task, a session or a decision are.
 *
 * An entry for each receipt would make the index as large again, and slow to make: such ids come in no order.  So the chain is cut into blocks of
 * some hundred receipts, and of each block the index has eight digits of every id in it, as one text.  Who looks for an id searches these
 * texts, a hundredth of the chain, and reads only the blocks that may have it.
 *
 * A block is named by the number of its file and by the clocks of its receipts, not by an offset: a repair may take bytes out of a file. */
#include "base/text.h"
#include "record/index_parts.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK_KEYS = 1024, BLOCK_BYTES = 1 << 20, KEY_TEXT = 9 };

/* "rcpt_ID.MARK", "rcpt_ID_outcome" and "ID" are of one decision. */
static const char *id_core(struct arena *a, const char *id)
{
	static const char before[] = "rcpt_", behind[] = "_outcome";
	const char *start = id + strlen(before);

	if (!text_starts(id, before))
		return id;
	size_t n = strcspn(start, ".");
	if (n > strlen(behind) && memcmp(start + n - strlen(behind), behind, strlen(behind)) == 0)
		n -= strlen(behind);
	return arena_strndup(a, start, n);
}

static void key_text(struct arena *a, const char *id, char ret[KEY_TEXT + 1])
{
	snprintf(ret, KEY_TEXT + 1, "%08x ", (unsigned)(uint64_t)key_of(id_core(a, id)).i);
}

/* ---- making ---- */

static int take_block(void *arg, const struct db_row *row, struct err *e)
{
	struct chain_blocks *b = arg;

	(void)e;
	b->first = db_int(row, 0);
	b->last = db_int(row, 1);
	b->file = db_int(row, 2);
	b->bytes = db_int(row, 3);
	buf_adds(&b->keys, db_text(row, 4) ? db_text(row, 4) : "");
	return 1;
}

/* The last block goes on, if there is room in it. */
static int begin(struct chain_blocks *b, struct db *db, struct err *e)
{
	buf_init(&b->keys, &b->a);
	b->is_begun = true;
	return db_ask(db, "SELECT first,last,file,bytes,keys FROM receipt_blocks ORDER BY first DESC LIMIT 1",
		NULL, 0, take_block, b, e);
}

int chain_blocks_flush(struct chain_blocks *b, struct db *db, struct err *e)
{
	const struct db_value values[] = { DB_I(b->first), DB_I(b->last), DB_I(b->file), DB_I(b->bytes),
		DB_T(b->keys.p) };
	static const char sql[] = "INSERT OR REPLACE INTO receipt_blocks VALUES(?,?,?,?,?)";

	return b->is_changed ? db_run(db, sql, values, ARRAY_SIZE(values), e) : OK;
}

static void add_key(struct chain_blocks *b, struct arena *a, const char *id)
{
	char text[KEY_TEXT + 1];

	if (!id || !*id)
		return;
	key_text(a, id, text);
	if (!memmem(b->keys.p, b->keys.n, text, KEY_TEXT))
		buf_add(&b->keys, text, KEY_TEXT);
}

int chain_blocks_add(struct chain_blocks *b, struct db *db, struct arena *a, const struct json *receipt,
	off_t place, size_t bytes, struct err *e)
{
	const struct json *about = json_get(receipt, "metadata");
	const int64_t clock = json_get_int(receipt, "lamport_clock", 0), file = place >> LEDGER_PLACE_BITS;
	int rc = b->is_begun ? OK : begin(b, db, e);

	if (rc == OK &&
		(file != b->file || b->keys.n >= BLOCK_KEYS * KEY_TEXT || b->bytes >= BLOCK_BYTES ||
			clock <= b->last || !b->first)) {
		rc = chain_blocks_flush(b, db, e);
		arena_reset(&b->a);
		*b = (struct chain_blocks){ .a = b->a, .is_begun = true, .first = clock, .file = file };
		buf_init(&b->keys, &b->a);
	}
	b->last = clock;
	b->bytes += (int64_t)bytes;
	b->is_changed = true;
	add_key(b, a, json_get_text(receipt, "decision_id", NULL));
	add_key(b, a, json_get_text(receipt, "receipt_id", NULL));
	add_key(b, a, json_get_text(receipt, "session_id", NULL));
	add_key(b, a, json_get_text(receipt, "correlation_id", NULL));
	add_key(b, a, json_get_text(about, "session", NULL));
	add_key(b, a, json_get_text(about, "task_id", NULL));
	return rc;
}

/* ---- asking ---- */

struct looking {
	const struct log_cut *cut;
	struct arena a;
	const char *text;
	int64_t first, last;
	struct found_line {
		off_t at;
		struct bytes line;
	} * found; /* of one block, in its order */
	size_t n, cap;
	receipt_back *fn;
	void *arg;
};

static int keep_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct looking *l = arg;
	AUTO(arena_done) struct arena a = { 0 };
	struct json *receipt;

	(void)line;
	(void)e;
	if (!is_whole)
		return 1;
	if (json_parse(&a, text, RECEIPTS, NULL, &receipt, NULL))
		return OK;
	int64_t clock = json_get_int(receipt, "lamport_clock", 0);
	if (clock > l->last)
		return 1;
	if (clock < l->first || !memmem(text.p, text.n, l->text, strlen(l->text)))
		return OK;
	if (l->n == l->cap) {
		size_t more = l->cap ? 2 * l->cap : 64;
		l->found = arena_grow(&l->a, l->found, l->cap * sizeof(*l->found), more * sizeof(*l->found));
		l->cap = more;
	}
	l->found[l->n++] = (struct found_line){ offset,
		{ (const uint8_t *)arena_strndup(&l->a, (const char *)text.p, text.n), text.n } };
	return OK;
}

static int give_found(struct looking *l, const char *file, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	int rc = OK;

	for (size_t i = l->n; rc == OK && i-- > 0;) {
		struct json *receipt = NULL;
		(void)json_parse(&a, l->found[i].line, file, NULL, &receipt, NULL);
		rc = l->fn(l->arg, file, l->found[i].at, l->found[i].line, receipt, e);
		arena_reset(&a);
	}
	return rc;
}

static int look_into(void *arg, const struct db_row *row, struct err *e)
{
	struct looking *l = arg;
	const unsigned number = (unsigned)db_int(row, 2) + 1;
	int rc = OK;

	l->first = db_int(row, 0);
	l->last = db_int(row, 1);
	arena_reset(&l->a);
	l->found = NULL;
	l->n = l->cap = 0;
	for (size_t i = 0; rc == OK && i < l->cut->n; i++) {
		const struct log_file *f = &l->cut->chain[i];
		if (log_file_number(l->cut, i) != number || f->fd < 0)
			continue;
		rc = lines_of(l->cut->sys, f->fd, f->name,
			offset_of_clock(l->cut->sys, f, (uint64_t)l->first), f->size_bytes, keep_line, l, e);
		rc = rc < 0 ? rc : give_found(l, f->name, e);
	}
	return rc;
}

int index_receipts(struct index *x, const char *id, receipt_back *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut cut;
	char key[KEY_TEXT + 1];
	int rc = log_cut_take(x->at.sys, &a, x->at.state_fd, CUT_MOMENT, &cut, e);
	struct looking l = { .cut = &cut, .text = id_core(&a, id), .fn = fn, .arg = arg };

	key_text(&a, id, key);
	const struct db_value v = DB_T(key);
	if (rc == OK)
		rc = db_ask(x->db,
			"SELECT first,last,file FROM receipt_blocks WHERE instr(keys,?) ORDER BY first DESC",
			&v, 1, look_into, &l, e);
	arena_done(&l.a);
	return rc > 0 ? OK : rc;
}

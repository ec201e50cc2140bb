/* listing.c — lists that may be long: rows come one at a time, and leave as soon as they can be printed.
 *
 * A short list is printed as it always was: one table, one JSON array with indentation. A longer one leaves
 * in pieces, each a table of its own widths, or as an array with a row on each line; no more than a piece is
 * held. */
#include "cli/cmd.h"

enum { AT_ONCE = 500 };

void listing_begin(
	struct listing *l, struct cli *r, const char *const *heads, size_t columns, listing_cells *cells)
{
	*l = (struct listing){ .r = r, .heads = heads, .columns = columns, .cells = cells };
	l->rows = json_new(&l->a, JSON_ARRAY);
}

/* Tables and cells are made in the list's own memory, which is used again for the next piece. */
static void print_table(struct listing *l)
{
	struct cli *r = l->r;
	struct arena *saved = r->a;

	r->a = &l->a;
	struct out_table *t = out_table(r, l->heads, l->columns);
	json_each (row, l->rows)
		l->cells(r, t, row);
	out_table_end(t);
	out_flush(r);
	r->a = saved;
}

static void print_json(struct listing *l, bool is_last)
{
	struct cli *r = l->r;

	if (is_last && !l->pieces) {
		out_json(r, l->rows);
		return;
	}
	json_each (row, l->rows) {
		out(r, "%s", l->pieces++ ? ",\n" : "[\n");
		json_write(r->out, row, JSON_SPACED);
	}
	if (is_last)
		out(r, "\n]\n");
	out_flush(r);
}

static void print_piece(struct listing *l, bool is_last)
{
	if (l->r->is_json)
		print_json(l, is_last);
	else if (l->rows->n || (is_last && !l->pieces))
		print_table(l);
	l->pieces++;
	arena_reset(&l->a);
	l->rows = json_new(&l->a, JSON_ARRAY);
}

int listing_row(void *arg, struct json *row, struct err *e)
{
	struct listing *l = arg;

	(void)e;
	if (l->rows->n == AT_ONCE)
		print_piece(l, false);
	json_push(&l->a, l->rows, json_copy(&l->a, row));
	return OK;
}

void listing_end(struct listing *l)
{
	print_piece(l, true);
	arena_done(&l->a);
}

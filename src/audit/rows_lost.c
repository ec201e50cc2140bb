/* rows_lost.c — rows of ledgers that are lost, on record: what seams of repairs say of them.
 *
 * What was recorded in a row cannot be brought back, because only its digest is signed.  A repair names it: by the receipt that speaks of it
 * and its number there, or, of a row that a note speaks of, by its digest.  A seam comes from a file, so what cannot be read as written here
 * is passed over, and then nothing is excused. */
#include "audit/rows.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* "5:0-2,4 9:1": receipt 5, its digests 0 to 2 and 4; receipt 9, its digest 1. */
static void take_rows(struct losses *l, const char *text)
{
	char *end;

	while (*text) {
		uint64_t clock = strtoull(text, &end, 10);
		if (end == text || *end != ':')
			return;
		do {
			text = end + 1;
			unsigned long from = strtoul(text, &end, 10), to = from;
			if (end == text)
				return;
			if (*end == '-')
				to = strtoul(end + 1, &end, 10);
			GROW(l->a, l->rows, l->row_n, l->row_cap);
			l->rows[l->row_n++] = (struct lost_row){ clock, (uint32_t)from, (uint32_t)to };
		} while (*end == ',');
		text = *end == ' ' ? end + 1 : end;
		if (*end && *end != ' ')
			return;
	}
}

/* "5:0123... 9:4567...": a digest of a note that receipt 5 binds. */
static void take_keys(struct losses *l, const char *text)
{
	char *end;

	while (*text) {
		struct lost_key k = { .clock = strtoull(text, &end, 10) };
		if (end == text || *end != ':' || strnlen(end + 1, 2 * ROW_KEY) < 2 * ROW_KEY ||
			!hex_decode(end + 1, 2 * ROW_KEY, k.key, ROW_KEY, true))
			return;
		GROW(l->a, l->keys, l->key_n, l->key_cap);
		l->keys[l->key_n++] = k;
		text = end + 1 + 2 * ROW_KEY;
		if (*text && *text++ != ' ')
			return;
	}
}

static void take_moved(struct losses *l, const char *text)
{
	char *end;

	for (; *text; text = *end == ' ' ? end + 1 : end) {
		uint64_t clock = strtoull(text, &end, 10);
		if (end == text)
			return;
		GROW(l->a, l->moved, l->moved_n, l->moved_cap);
		l->moved[l->moved_n++] = clock;
	}
}

static void take_piece(struct losses *l, const char *name, const char *now)
{
	GROW(l->a, l->pieces, l->piece_n, l->piece_cap);
	l->pieces[l->piece_n++] = (struct lost_piece){ arena_strdup(l->a, name), arena_strdup(l->a, now) };
}

void losses_take(struct losses *l, const struct json *receipt)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	const struct json *about = json_get(receipt, "metadata"), *lost = json_get(about, "lost");
	struct json *told;

	if (!gap_is_seam(&scratch, receipt))
		return;
	json_each (row, json_get(about, "ledgers"))
		if (text_ends(json_get_text(row, "file", ""), ".zst"))
			take_piece(l, json_get_text(row, "file", ""), json_get_text(row, "sha256_after", ""));
	if (!lost)
		return;
	take_rows(l, json_get_text(lost, "rows", ""));
	take_keys(l, json_get_text(lost, "noted", ""));
	take_moved(l, json_get_text(lost, "order", ""));
	json_each (n, json_get(lost, "notes")) {
		GROW(l->a, l->notes, l->note_n, l->note_cap);
		l->notes[l->note_n++] = (struct lost_notes){ (uint64_t)json_get_int(n, "receipt", 0),
			json_get_int(n, "at", -1), arena_strdup(l->a, json_get_text(n, "now", "")) };
	}
	json_each (p, json_get(lost, "pieces"))
		if (json_get(p, "now")) /* else a row of `ledgers` says what it is */
			take_piece(l, json_get_text(p, "segment", ""), json_get_text(p, "now", ""));
	l->is_sorted = false;
	if (!l->told)
		l->told = json_new(l->a, JSON_ARRAY);
	told = json_new(l->a, JSON_OBJECT);
	json_seti(l->a, told, "receipt", json_get_int(receipt, "lamport_clock", 0));
	json_seti(l->a, told, "rows", json_get_int(lost, "row_count", 0));
	json_seti(l->a, told, "notes", json_get_int(lost, "note_count", 0));
	json_seti(l->a, told, "pieces",
		json_is(json_get(lost, "pieces"), JSON_ARRAY) ? json_get(lost, "pieces")->n : 0);
	json_push(l->a, l->told, told);
}

static int by_row(const void *x, const void *y)
{
	const struct lost_row *a = x, *b = y;

	if (a->clock != b->clock)
		return a->clock < b->clock ? -1 : 1;
	return (a->from > b->from) - (a->from < b->from);
}

static int by_key(const void *x, const void *y)
{
	return memcmp(((const struct lost_key *)x)->key, ((const struct lost_key *)y)->key, ROW_KEY);
}

static int by_clock(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

static void sort(struct losses *l)
{
	if (l->is_sorted)
		return;
	if (l->row_n)
		qsort(l->rows, l->row_n, sizeof(*l->rows), by_row);
	if (l->key_n)
		qsort(l->keys, l->key_n, sizeof(*l->keys), by_key);
	if (l->moved_n)
		qsort(l->moved, l->moved_n, sizeof(*l->moved), by_clock);
	l->is_sorted = true;
}

bool losses_have_row(struct losses *l, const struct mark *m)
{
	struct lost_key key = { .clock = m->clock };
	size_t low = 0, high = l->row_n;

	sort(l);
	if (m->note) {
		memcpy(key.key, m->key, ROW_KEY);
		return l->key_n && bsearch(&key, l->keys, l->key_n, sizeof(key), by_key);
	}
	while (low < high) { /* the first one of this receipt */
		size_t mid = low + (high - low) / 2;
		if (l->rows[mid].clock < m->clock)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < l->row_n && l->rows[low].clock == m->clock; low++)
		if (m->i >= l->rows[low].from && m->i <= l->rows[low].to)
			return true;
	return false;
}

bool losses_have_order(struct losses *l, uint64_t clock)
{
	sort(l);
	return l->moved_n && bsearch(&clock, l->moved, l->moved_n, sizeof(clock), by_clock);
}

/* The newest word counts: what was found once may be lost later. */
const struct lost_notes *losses_of_notes(const struct losses *l, uint64_t clock)
{
	for (size_t i = l->note_n; i-- > 0;)
		if (l->notes[i].clock == clock)
			return &l->notes[i];
	return NULL;
}

bool losses_have_piece(const struct losses *l, const char *name, const char *now)
{
	for (size_t i = l->piece_n; i-- > 0;)
		if (text_eq(l->pieces[i].name, name))
			return text_eq(l->pieces[i].now, now);
	return false;
}

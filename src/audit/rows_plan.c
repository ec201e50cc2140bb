/* rows_plan.c — what a repair does about rows of ledgers that are not what receipts say of them.
 *
 * What a lost row said cannot be brought back: only its digest is signed.  So it is named, and what stands in its place goes out of the
 * ledger.  Which line that is, no digest tells.  It is a line that no receipt speaks of, that names the task of the receipt, and stands
 * between the rows of the same receipt that are there; not more of them go than are lost.  Rows that operators wrote, which no receipt
 * speaks of either, are marked as such and stay.  A line that goes leaves blanks of its length: every other one stays at its place.
 *
 * Rows that do not stand in their order are put back into it.  Notes are signed as a text between two places: where a line was removed
 * before them, the same text stands elsewhere in the file, and is found there; what is found nowhere goes, because nobody can tell which of
 * its lines is true. */
#include "audit/rows.h"
#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED = 1000, CLOSE_LOOK = 64 };
#define SEARCH_BYTES ((uint64_t)512 << 20)
#define LOST_LIMIT ((size_t)16 << 20)

/* Rows that one receipt, or one note, speaks of and that are not there. */
struct missing {
	uint64_t clock;
	uint32_t note;
	size_t first, n; /* all its marks */
	size_t count; /* missing among them, and */
	size_t taken; /* lines that go for them */
	const char *task; /* or NULL */
};

/* A line that no receipt speaks of, and may stand in the place of one that is missing. */
struct stranger {
	uint64_t place; /* with the ledger, as in a mark */
	const char *task; /* "": it names none */
	bool goes;
};

/* Of a line: it goes, or another one takes its place. */
struct edit {
	uint64_t place, from;
	bool is_blank;
};

struct rows_planning {
	struct sys *s;
	struct arena *a;
	int state_fd;
	const struct rows_kept *kept;
	struct log_plan *plan;
	struct mark *by_key; /* the kept list by digest */
	struct missing *missing;
	size_t missing_n, missing_cap;
	struct stranger *strangers;
	size_t stranger_n, stranger_cap;
	struct edit *edits;
	size_t edit_n, edit_cap;
	struct json *digests, *notes, *pieces;
	uint64_t row_count, note_count;
	struct buf rows, noted, order;
	size_t plan_cap;
	/* The file being read. */
	uint32_t ledger;
	const struct ledger_file *file;
	uint64_t searched; /* bytes */
};

static const char *const ends_of_ledgers = "\n";

static uint64_t place_in(const struct rows_planning *p, off_t offset)
{
	return (uint64_t)p->ledger << LEDGER_SHIFT | (uint64_t)ledger_place(p->file->number, offset);
}

static uint32_t ledger_of(uint64_t place)
{
	return (uint32_t)(place >> LEDGER_SHIFT);
}

static unsigned piece_of(uint64_t place)
{
	return (unsigned)((place & (((uint64_t)1 << LEDGER_SHIFT) - 1)) >> LEDGER_PLACE_BITS) + 1;
}

static off_t offset_of(uint64_t place)
{
	return (off_t)(place & (((uint64_t)1 << LEDGER_PLACE_BITS) - 1));
}

/* ---- what is missing ---- */

static bool is_missing(const struct rows_planning *p, const struct mark *m)
{
	return m->place == NOWHERE && !losses_have_row(p->kept->lost, m);
}

static size_t group_end(const struct rows_kept *k, size_t i)
{
	size_t end = i + 1;

	while (end < k->n && k->list[end].clock == k->list[i].clock && k->list[end].note == k->list[i].note)
		end++;
	return end;
}

/* "5:0-2,4 9:1", and the digests of notes. */
static void say_missing(struct rows_planning *p, size_t first, size_t end)
{
	const struct mark *list = p->kept->list;
	bool is_first = true;

	for (size_t i = first; i < end; i++) {
		char hex[2 * ROW_KEY + 1];
		if (!is_missing(p, &list[i]))
			continue;
		p->row_count++;
		if (list[i].note) {
			hex_encode(list[i].key, ROW_KEY, hex);
			buf_addf(&p->noted, "%s%llu:%s", p->noted.n ? " " : "",
				(unsigned long long)list[i].clock, hex);
			continue;
		}
		size_t last = i;
		while (last + 1 < end && is_missing(p, &list[last + 1]) &&
			list[last + 1].i == list[last].i + 1)
			last++;
		if (is_first)
			buf_addf(
				&p->rows, "%s%llu:", p->rows.n ? " " : "", (unsigned long long)list[i].clock);
		buf_addf(&p->rows, "%s%u", is_first ? "" : ",", list[i].i);
		if (last > i)
			buf_addf(&p->rows, "-%u", list[last].i);
		is_first = false;
		p->row_count += last - i;
		i = last;
	}
}

static void find_missing(struct rows_planning *p)
{
	const struct rows_kept *k = p->kept;

	for (size_t i = 0, end; i < k->n; i = end) {
		size_t count = 0;
		end = group_end(k, i);
		for (size_t m = i; m < end; m++)
			count += is_missing(p, &k->list[m]);
		if (!count)
			continue;
		GROW(p->a, p->missing, p->missing_n, p->missing_cap);
		p->missing[p->missing_n++] = (struct missing){ .clock = k->list[i].clock,
			.note = k->list[i].note,
			.first = i,
			.n = end - i,
			.count = count };
		say_missing(p, i, end);
	}
}

/* The names of tasks, and the whole digests of the first ones. */
static int name_missing(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct rows_planning *p = arg;
	uint64_t clock = (uint64_t)json_get_int(receipt, "lamport_clock", 0);
	const struct json *about = json_get(receipt, "metadata");
	size_t low = 0, high = p->missing_n;

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (p->missing[mid].clock < clock)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < p->missing_n && p->missing[low].clock == clock; low++) {
		struct missing *m = &p->missing[low];
		const char *task =
			json_get_text(about, "task_id", json_get_text(receipt, "correlation_id", ""));
		task = *task ? task : NULL;
		m->task = task ? arena_strdup(p->a, task) : NULL;
		for (size_t i = m->first; i < m->first + m->n && !m->note && p->digests->n < NAMED; i++) {
			const struct mark *mark = &p->kept->list[i];
			if (!is_missing(p, mark))
				continue;
			struct json *row = json_new(p->a, JSON_OBJECT);
			json_seti(p->a, row, "receipt", (int64_t)clock);
			if (task)
				json_sets(p->a, row, "task_id", task);
			json_sets(p->a, row, "sha256",
				arena_strdup(
					p->a, json_text(json_at(json_get(about, "rows_sha256"), mark->i))));
			json_push(p->a, p->digests, row);
		}
	}
	return OK;
}

/* ---- lines that nobody speaks of ---- */

static int compare_keys(const void *x, const void *y)
{
	return memcmp(((const struct mark *)x)->key, ((const struct mark *)y)->key, ROW_KEY);
}

static bool is_bound(const struct rows_planning *p, struct bytes text)
{
	uint8_t hash[SHA256_SIZE];
	struct mark m;

	sha256(text.p, text.n, hash);
	memcpy(m.key, hash, ROW_KEY);
	return p->kept->n && bsearch(&m, p->by_key, p->kept->n, sizeof(m), compare_keys);
}

/* One or two digits of a name that were flipped. */
static bool is_nearly(const char *x, const char *y)
{
	size_t n = strlen(x), other = 0;

	if (n != strlen(y))
		return false;
	for (size_t i = 0; i < n; i++)
		other += x[i] != y[i];
	return other <= 2;
}

static bool fits(const struct missing *m, const char *task, bool closely)
{
	if (m->note || !m->task)
		return closely;
	return text_eq(m->task, task) || (closely && (!*task || is_nearly(m->task, task)));
}

static bool is_wanted(const struct rows_planning *p, const char *task)
{
	bool closely = p->missing_n <= CLOSE_LOOK;

	for (size_t i = 0; i < p->missing_n; i++)
		if (fits(&p->missing[i], task, closely))
			return true;
	return false;
}

static void add_edit(struct rows_planning *p, struct edit one)
{
	GROW(p->a, p->edits, p->edit_n, p->edit_cap);
	p->edits[p->edit_n++] = one;
}

/* Whoever closes or changes a task says so in the row; no receipt speaks of it. */
static bool is_operators(const struct json *row)
{
	return json_get(row, "task_state_schema_version") || json_get_bool(row, "orphaned", false);
}

/* An entry of memory that is not what its receipt says. */
static bool is_bad_entry(const struct rows_planning *p, uint64_t place)
{
	for (size_t i = 0; i < p->kept->entry_n; i++)
		if (p->kept->entries[i] == place)
			return true;
	return false;
}

static void look_at_line(
	struct rows_planning *p, struct arena *scratch, off_t at, struct bytes text, bool is_whole)
{
	if (row_is_blank(text) || is_bound(p, text))
		return;
	if (is_bad_entry(p, place_in(p, at))) {
		add_edit(p, (struct edit){ .place = place_in(p, at), .is_blank = true });
		return;
	}
	struct json *row = row_parse(scratch, text, p->file->name);
	if (!row) {
		/* Also one without its end, which the next writer would set aside: until then it is no row either. */
		if (p->ledger < LEDGERS_OF_ROWS)
			add_edit(p, (struct edit){ .place = place_in(p, at), .is_blank = true });
		return;
	}
	const char *task = json_get_text(row, "task_id", "");
	if (!is_whole || is_operators(row) || !is_wanted(p, task))
		return;
	GROW(p->a, p->strangers, p->stranger_n, p->stranger_cap);
	p->strangers[p->stranger_n++] =
		(struct stranger){ .place = place_in(p, at), .task = arena_strdup(p->a, task) };
}

static bool is_bad_piece(const struct rows_planning *p, const char *name)
{
	for (size_t i = 0; i < p->kept->piece_n; i++)
		if (text_eq(p->kept->pieces[i].name, name))
			return true;
	return false;
}

/* Sealed pieces are looked at when something is missing; otherwise their digests were enough. */
static int look_at_file(struct rows_planning *p, const struct ledger_file *f, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(arena_done) struct arena scratch = { 0 };
	struct bytes text, rest;
	struct err why = { 0 };

	p->file = f;
	if (f->is_sealed && !p->missing_n && !is_bad_piece(p, f->name))
		return OK;
	int rc = ledger_file_text(p->s, &a, p->state_fd, f, &text, &why);
	if (rc == E_CORRUPT)
		return OK; /* all of it goes */
	if (rc) {
		*e = why;
		return rc;
	}
	for (rest = text; rest.n; arena_reset(&scratch)) {
		off_t at = rest.p - text.p;
		bool is_whole = memchr(rest.p, '\n', rest.n) != NULL;
		look_at_line(p, &scratch, at, text_cut(&rest, '\n'), is_whole);
	}
	return OK;
}

/* ---- which of them go ---- */

/* Does the place lie where a row of this group is missing: behind those before it, and before those behind it? */
static bool is_between(const struct rows_planning *p, const struct missing *m, uint64_t place)
{
	const struct mark *v = &p->kept->list[m->first];

	for (size_t i = 0; i < m->n; i++) {
		bool fits = is_missing(p, &v[i]);
		for (size_t k = 0; fits && k < m->n; k++)
			if (v[k].place != NOWHERE && ledger_of(v[k].place) == ledger_of(place))
				fits = k < i ? v[k].place < place : place < v[k].place;
		if (fits)
			return true;
	}
	return false;
}

/* The same by the rows of other receipts, for what names no task. */
static bool is_in_time(const struct rows_planning *p, const struct missing *m, uint64_t place)
{
	for (size_t i = 0; i < p->kept->n; i++) {
		const struct mark *v = &p->kept->list[i];
		if (v->place == NOWHERE || ledger_of(v->place) != ledger_of(place) || v->clock == m->clock)
			continue;
		if (v->clock < m->clock ? v->place > place : v->place < place)
			return false;
	}
	return true;
}

static void choose(struct rows_planning *p, bool closely)
{
	for (size_t i = 0; i < p->missing_n; i++) {
		struct missing *m = &p->missing[i];
		for (size_t k = 0; k < p->stranger_n && m->taken < m->count; k++) {
			struct stranger *s = &p->strangers[k];
			bool is_same = m->task && !m->note && text_eq(m->task, s->task);
			if (s->goes || (!is_same && !(closely && fits(m, s->task, true))) ||
				!is_between(p, m, s->place) || (!is_same && !is_in_time(p, m, s->place)))
				continue;
			s->goes = true;
			m->taken++;
			add_edit(p, (struct edit){ .place = s->place, .is_blank = true });
		}
	}
}

/* ---- order ---- */

static int by_value(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

/* The rows of one group in one ledger: back into the order of their numbers, in the places they have; in several files that cannot be. */
static void order_group(struct rows_planning *p, size_t first, size_t end, uint32_t ledger)
{
	uint64_t *is = arena_zalloc(p->a, end - first + 1, sizeof(*is)), *to;
	bool is_wrong = false, is_one_file = true;
	size_t n = 0;

	for (size_t i = first; i < end; i++) {
		uint64_t place = p->kept->list[i].place;
		if (place == NOWHERE || ledger_of(place) != ledger)
			continue;
		is_wrong |= n && place < is[n - 1];
		is_one_file &= !n || piece_of(place) == piece_of(is[0]);
		is[n++] = place;
	}
	if (!is_wrong || losses_have_order(p->kept->lost, p->kept->list[first].clock))
		return;
	if (!is_one_file) {
		buf_addf(&p->order, "%s%llu", p->order.n ? " " : "",
			(unsigned long long)p->kept->list[first].clock);
		return;
	}
	to = arena_zalloc(p->a, n, sizeof(*to));
	memcpy(to, is, n * sizeof(*to));
	qsort(to, n, sizeof(*to), by_value);
	for (size_t i = 0; i < n; i++)
		if (to[i] != is[i])
			add_edit(p, (struct edit){ .place = to[i], .from = is[i] });
}

static void find_order(struct rows_planning *p)
{
	for (size_t i = 0, end; i < p->kept->n; i = end) {
		end = group_end(p->kept, i);
		for (uint32_t ledger = 0; ledger < LEDGERS_OF_ROWS && end - i > 1; ledger++)
			order_group(p, i, end, ledger);
	}
}

/* ---- notes ---- */

static bool has_range(struct rows_planning *p, struct bytes text, off_t at, const struct notes_range *r)
{
	uint8_t hash[SHA256_SIZE];
	size_t n = (size_t)(r->to - r->from);

	if (at < 0 || (size_t)at > text.n || n > text.n - (size_t)at)
		return false;
	p->searched += n;
	sha256(text.p + at, n, hash);
	return memcmp(hash, r->hash, SHA256_SIZE) == 0;
}

/* Where the text of this range stands now: where the one before it was moved to, or at any beginning of a line behind that; -1: nowhere. */
static off_t find_range(
	struct rows_planning *p, struct bytes text, const struct notes_range *r, off_t shift, off_t behind)
{
	size_t n = (size_t)(r->to - r->from);

	if (shift && has_range(p, text, offset_of((uint64_t)r->from) + shift, r))
		return offset_of((uint64_t)r->from) + shift;
	for (size_t at = (size_t)behind;
		n && at < text.n && text.n - at >= n && p->searched < SEARCH_BYTES;) {
		if (text.p[at + n - 1] == '\n' && has_range(p, text, (off_t)at, r))
			return (off_t)at;
		const uint8_t *end = memchr(text.p + at, '\n', text.n - at);
		if (!end)
			break;
		at = (size_t)(end - text.p) + 1;
	}
	return -1;
}

/* A range in the file being read: where it stands, or that it is lost. */
struct noted {
	const struct notes_range *r;
	off_t from, to; /* in this file, as the receipt says */
	off_t at; /* where it stands now; -1: lost */
	off_t shift;
	bool is_touched;
};

static size_t ranges_of(struct rows_planning *p, struct bytes text, struct noted **ret)
{
	const struct rows_kept *k = p->kept;
	off_t base = ledger_place(p->file->number, 0), shift = 0, behind = 0;
	struct noted *v = arena_zalloc(p->a, k->range_n + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < k->range_n; i++) {
		const struct notes_range *r = &k->ranges[i];
		const struct lost_notes *known = losses_of_notes(k->lost, r->clock);
		bool is_inside = r->from >= base && r->to >> LEDGER_PLACE_BITS == base >> LEDGER_PLACE_BITS;
		if (r->to <= base || r->from >= ledger_place(p->file->number + 1, 0) || (known && r->is_good))
			continue;
		struct noted *x = &v[n++];
		*x = (struct noted){ .r = r, .at = -1, .shift = shift };
		x->from = r->from > base ? r->from - base : 0;
		x->to = is_inside ? r->to - base : (off_t)text.n;
		if (r->is_good)
			x->at = x->from;
		else if (is_inside)
			x->at = find_range(p, text, r, shift, behind);
		if (x->at >= 0) {
			shift = x->at - x->from;
			behind = x->at + (x->to - x->from);
		}
	}
	*ret = v;
	return n;
}

static bool is_covered(const struct noted *v, size_t n, off_t at, off_t end)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].at >= 0 && v[i].at < end && at < v[i].at + (v[i].to - v[i].from))
			return true;
	return false;
}

/* Does the line stand where notes are lost?  They begin where those before them were moved to, and end where the next ones begin. */
static bool is_lost_place(const struct noted *v, size_t n, off_t at, off_t end)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].at >= 0)
			continue;
		off_t from = v[i].from + v[i].shift, to = v[i].to + v[i].shift;
		for (size_t k = i + 1; k < n; k++)
			if (v[k].at >= 0) {
				to = v[k].at;
				break;
			}
		if (at < to && from < end)
			return true;
	}
	return false;
}

static char *digest_of(struct rows_planning *p, const char *text, size_t size, const struct noted *x)
{
	bool is_whole =
		x->r->from >> LEDGER_PLACE_BITS == x->r->to >> LEDGER_PLACE_BITS && (size_t)x->to <= size;

	return is_whole ? sha256_hex(p->a, text + x->from, (size_t)(x->to - x->from))
			: arena_strdup(p->a, "");
}

/* One row of the seam about notes. */
static void say_notes(struct rows_planning *p, struct bytes text, const char *mended, const struct noted *x)
{
	struct json *row = json_new(p->a, JSON_OBJECT);
	char hex[SHA256_HEX];

	hex_encode(x->r->hash, SHA256_SIZE, hex);
	json_seti(p->a, row, "receipt", (int64_t)x->r->clock);
	json_sets(p->a, row, "range",
		arena_printf(p->a, "%lld-%lld", (long long)x->r->from, (long long)x->r->to));
	json_sets(p->a, row, "sha256", hex);
	if (x->at >= 0 && !x->is_touched) {
		json_seti(p->a, row, "at", (int64_t)ledger_place(p->file->number, x->at));
	} else {
		json_sets(p->a, row, "found", digest_of(p, (const char *)text.p, text.n, x));
		json_sets(p->a, row, "now", digest_of(p, mended, text.n, x));
		p->note_count++;
	}
	json_push(p->a, p->notes, row);
}

static bool is_said(const struct rows_planning *p, uint64_t clock)
{
	for (uint32_t i = 0; i < p->notes->n; i++)
		if ((uint64_t)json_get_int(p->notes->items[i], "receipt", 0) == clock)
			return true;
	return false;
}

static void add_mend(
	struct rows_planning *p, const struct ledger_file *f, struct bytes text, uint64_t rows, bool is_gone)
{
	struct log_plan *plan = p->plan;

	GROW(p->a, plan->ledgers, plan->ledger_n, p->plan_cap);
	plan->ledgers[plan->ledger_n++] =
		(struct ledger_mend){ .file = *f, .text = text, .rows = rows, .is_gone = is_gone };
}

/* Takes lines out of one file of notes that are lost, or no rows at all. */
static int plan_notes_file(struct rows_planning *p, const struct ledger_file *f, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct bytes text = { 0 };
	struct noted *v;
	struct err why = { 0 };
	uint64_t rows = 0;

	p->file = f;
	int rc = ledger_file_text(p->s, p->a, p->state_fd, f, &text, &why);
	if (rc && rc != E_CORRUPT) {
		*e = why;
		return rc;
	}
	size_t n = ranges_of(p, text, &v);
	char *mended = arena_text(p->a, text.n + 1);
	if (text.n)
		memcpy(mended, text.p, text.n);
	for (struct bytes rest = text; rest.n; arena_reset(&scratch)) {
		off_t at = rest.p - text.p;
		bool is_whole = memchr(rest.p, '\n', rest.n) != NULL;
		struct bytes line = text_cut(&rest, '\n');
		off_t end = at + (off_t)line.n + is_whole;
		bool is_lost = is_lost_place(v, n, at, end) && !is_covered(v, n, at, end);
		if (row_is_blank(line) || (!is_lost && row_parse(&scratch, line, f->name)))
			continue;
		memset(mended + at, ' ', line.n);
		rows++;
		for (size_t i = 0; i < n && !is_lost; i++)
			v[i].is_touched |=
				v[i].at >= 0 && v[i].at < end && at < v[i].at + (v[i].to - v[i].from);
	}
	for (size_t i = 0; i < n; i++)
		if ((!v[i].r->is_good || v[i].is_touched) && !is_said(p, v[i].r->clock))
			say_notes(p, text, mended, &v[i]);
	if (rc == E_CORRUPT || rows || is_bad_piece(p, f->name))
		add_mend(p, f, (struct bytes){ (uint8_t *)mended, text.n }, rows, rc == E_CORRUPT);
	return OK;
}

/* Receipts that speak of places that no file has any more. */
static void say_other_notes(struct rows_planning *p)
{
	for (size_t i = 0; i < p->kept->range_n; i++) {
		const struct notes_range *r = &p->kept->ranges[i];
		struct noted x = { .r = r, .at = -1 };
		x.to = r->to - r->from; /* in no file */
		if (!r->is_good && !is_said(p, r->clock))
			say_notes(p, (struct bytes){ 0 }, "", &x);
	}
}

static int plan_notes(struct rows_planning *p, struct err *e)
{
	struct ledger_file *files;
	size_t n;
	int rc = ledger_files(p->s, p->a, p->state_fd, TOOL_CALLS, &files, &n, e);

	p->ledger = LEDGERS_OF_ROWS;
	for (size_t i = 0; rc == OK && i < n; i++) {
		bool is_due = !files[i].is_sealed || is_bad_piece(p, files[i].name);
		for (size_t k = 0; !is_due && k < p->kept->range_n; k++)
			is_due = !p->kept->ranges[k].is_good &&
				p->kept->ranges[k].from >> LEDGER_PLACE_BITS <= (off_t)files[i].number - 1 &&
				p->kept->ranges[k].to >> LEDGER_PLACE_BITS >= (off_t)files[i].number - 1;
		if (is_due)
			rc = plan_notes_file(p, &files[i], e);
	}
	if (rc == OK)
		say_other_notes(p);
	return rc;
}

/* ---- what the files will say ---- */

static int by_place(const void *x, const void *y)
{
	const struct edit *a = x, *b = y;

	return (a->place > b->place) - (a->place < b->place);
}

static size_t line_at(struct bytes text, off_t at)
{
	if ((size_t)at >= text.n)
		return 0;
	const uint8_t *end = memchr(text.p + at, '\n', text.n - (size_t)at);
	return end ? (size_t)(end - (text.p + at)) + 1 : text.n - (size_t)at;
}

/* Lines in the order of the file: blanks, or another line in its place; the others as they are. */
static bool build(struct rows_planning *p, const struct edit *v, size_t n, struct bytes text, struct buf *to)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		size_t here = (size_t)offset_of(v[i].place), size = line_at(text, (off_t)here);
		size_t from = v[i].is_blank ? here : (size_t)offset_of(v[i].from),
		       bytes = line_at(text, (off_t)from);
		if (!size || !bytes || here < at)
			return false;
		buf_add(to, text.p + at, here - at);
		for (size_t k = 1; v[i].is_blank && k < size; k++)
			buf_addc(to, ' ');
		buf_add(to, v[i].is_blank ? (const uint8_t *)ends_of_ledgers : text.p + from,
			v[i].is_blank ? 1 : bytes);
		at = here + size;
	}
	buf_add(to, text.p + at, text.n - at);
	(void)p;
	return true;
}

static int mend_rows_file(struct rows_planning *p, const struct ledger_file *f, struct err *e)
{
	struct bytes text = { 0 };
	struct buf mended;
	struct err why = { 0 };
	size_t first = 0, end;
	uint64_t base;

	p->file = f;
	base = place_in(p, 0);
	while (first < p->edit_n && p->edits[first].place < base)
		first++;
	for (end = first; end < p->edit_n && ledger_of(p->edits[end].place) == p->ledger &&
		piece_of(p->edits[end].place) == f->number;)
		end++;
	if (first == end && !is_bad_piece(p, f->name))
		return OK;
	int rc = ledger_file_text(p->s, p->a, p->state_fd, f, &text, &why);
	if (rc == E_CORRUPT) {
		add_mend(p, f, text, 0, true);
		return OK;
	}
	if (rc) {
		*e = why;
		return rc;
	}
	buf_init(&mended, p->a);
	if (!build(p, p->edits + first, end - first, text, &mended))
		return err_set(
			e, E_IO, "LOG_REPAIR", "%s has changed while it was looked at; try again", f->name);
	add_mend(p, f, buf_bytes(&mended), end - first, false);
	return OK;
}

/* ---- all of it ---- */

static int each_file(struct rows_planning *p,
	int (*fn)(struct rows_planning *p, const struct ledger_file *f, struct err *e), struct err *e)
{
	int rc = OK;

	for (p->ledger = 0; rc == OK && p->ledger < LEDGERS_OF_ROWS; p->ledger++) {
		struct ledger_file *files;
		size_t n = 0;
		rc = ledger_files(p->s, p->a, p->state_fd, audit_ledgers[p->ledger], &files, &n, e);
		for (size_t i = 0; rc == OK && i < n; i++)
			rc = fn(p, &files[i], e);
	}
	return rc;
}

static void say_pieces(struct rows_planning *p)
{
	for (size_t i = 0; i < p->kept->piece_n; i++) {
		const struct bad_piece *b = &p->kept->pieces[i];
		struct json *row = json_new(p->a, JSON_OBJECT);
		json_sets(p->a, row, "segment", b->name);
		json_seti(p->a, row, "receipt", b->clock);
		json_sets(p->a, row, "sha256", b->expected);
		json_sets(p->a, row, "found", b->found);
		if (!*b->found || b->is_elsewhere) /* it stays as it is */
			json_sets(p->a, row, "now", b->found);
		json_push(p->a, p->pieces, row);
	}
}

static void set_text(struct rows_planning *p, struct json *doc, const char *name, struct buf *b)
{
	if (b->n)
		json_sets(p->a, doc, name, arena_strndup(p->a, b->p, b->n));
}

static int say_lost(struct rows_planning *p, struct err *e)
{
	struct json *doc = json_new(p->a, JSON_OBJECT);

	if (p->rows.n + p->noted.n + p->order.n > LOST_LIMIT)
		return err_set(e, E_LIMIT, "LOG_REPAIR",
			"%llu rows are lost, which one receipt cannot name; put the ledgers back from a copy",
			(unsigned long long)p->row_count);
	set_text(p, doc, "rows", &p->rows);
	set_text(p, doc, "noted", &p->noted);
	set_text(p, doc, "order", &p->order);
	if (p->digests->n)
		json_set(p->a, doc, "digests", p->digests);
	if (p->notes->n)
		json_set(p->a, doc, "notes", p->notes);
	if (p->pieces->n)
		json_set(p->a, doc, "pieces", p->pieces);
	if (doc->n) {
		json_seti(p->a, doc, "row_count", (int64_t)p->row_count);
		json_seti(p->a, doc, "note_count", (int64_t)p->note_count);
		p->plan->lost = doc;
	}
	return OK;
}

int rows_plan(struct sys *s, struct arena *a, int state_fd, const struct rows_kept *kept,
	struct log_plan *plan, struct err *e)
{
	struct rows_planning p = { .s = s, .a = a, .state_fd = state_fd, .kept = kept, .plan = plan };
	int rc = OK;

	plan->ledgers = NULL;
	plan->ledger_n = 0;
	plan->lost = NULL;
	p.digests = json_new(a, JSON_ARRAY);
	p.notes = json_new(a, JSON_ARRAY);
	p.pieces = json_new(a, JSON_ARRAY);
	buf_init(&p.rows, a);
	buf_init(&p.noted, a);
	buf_init(&p.order, a);
	p.by_key = arena_zalloc(a, kept->n + 1, sizeof(*p.by_key));
	if (kept->n) {
		memcpy(p.by_key, kept->list, kept->n * sizeof(*p.by_key));
		qsort(p.by_key, kept->n, sizeof(*p.by_key), compare_keys);
	}
	find_missing(&p);
	if (p.missing_n)
		rc = audit_receipts(s, state_fd, kept->lock, name_missing, &p, e);
	if (rc == OK)
		rc = each_file(&p, look_at_file, e);
	if (rc == OK) {
		choose(&p, false);
		choose(&p, p.missing_n <= CLOSE_LOOK);
		find_order(&p);
		if (p.edit_n)
			qsort(p.edits, p.edit_n, sizeof(*p.edits), by_place);
		rc = each_file(&p, mend_rows_file, e);
	}
	if (rc == OK)
		rc = plan_notes(&p, e);
	say_pieces(&p);
	return rc ? rc : say_lost(&p, e);
}

/* pack_rows.c — are the ledger entries in a pack those that its receipts bind?
 *
 * A receipt names the SHA-256 of each row that the run it tells of has written.  Every such row must be a line of a file below transcripts/.
 * A row that was changed, or left out, is one that is not there.  record.json says which rows were away when the pack was made, and whether
 * the record was sound then; a pack without it is one of an earlier program, and says nothing about its rows. */
#include "base/hash.h"
#include "verify/pack.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 8 << 20 };

static void add_key(struct arena *a, struct row_keys *k, const uint8_t key[ROW_KEY])
{
	if (k->n == k->cap && !k->is_over) {
		size_t cap = k->cap ? 2 * k->cap : 1024;
		k->is_over = cap > MOST_KEYS;
		if (!k->is_over) {
			k->keys = arena_grow(a, k->keys, k->cap * ROW_KEY, cap * ROW_KEY);
			k->cap = cap;
		}
	}
	if (!k->is_over)
		memcpy(k->keys[k->n++], key, ROW_KEY);
}

static void want_notes(struct arena *a, struct pack_rows *to, const struct json *receipt)
{
	const struct json *said = json_get(json_get(receipt, "metadata"), "notes");
	struct pack_note one = { .clock = (uint64_t)json_get_int(receipt, "lamport_clock", 0) };

	if (!hash_from_hex(json_get_text(said, "sha256", ""), &one.digest))
		return;
	if (to->note_n == to->note_cap) {
		size_t cap = to->note_cap ? 2 * to->note_cap : 64;
		to->notes = arena_grow(a, to->notes, to->note_cap * sizeof(one), cap * sizeof(one));
		to->note_cap = cap;
	}
	to->notes[to->note_n++] = one;
}

static void want_shown(struct arena *a, struct pack_rows *to, const char *hex, size_t n)
{
	uint8_t key[ROW_KEY];

	if (n >= 2 * SHA256_SIZE && hex_decode(hex, 2 * ROW_KEY, key, ROW_KEY, true))
		add_key(a, &to->shown, key);
}

/* Nearly every decision has one, so it is found in the line, which is canonical, and nothing is parsed for it. */
static void want_shown_in(struct arena *a, struct pack_rows *to, struct bytes line)
{
	static const char name[] = "\"shown_sha256\":\"sha256:";
	const char *hit = memmem(line.p, line.n, name, sizeof(name) - 1);

	if (hit)
		want_shown(a, to, hit + sizeof(name) - 1,
			line.n - (size_t)((const uint8_t *)hit - line.p) - (sizeof(name) - 1));
}

/* Digits that are none count as a digest that nothing has. */
void rows_want(struct arena *a, struct pack_rows *to, const struct json *receipt)
{
	const char *shown = json_get_text(json_get(receipt, "metadata"), "shown_sha256", "");

	want_notes(a, to, receipt);
	if (text_starts(shown, "sha256:"))
		want_shown(a, to, shown + strlen("sha256:"), strlen(shown) - strlen("sha256:"));
	json_each (digest, json_get(json_get(receipt, "metadata"), "rows_sha256")) {
		const char *hex = json_text(digest);
		uint8_t key[ROW_KEY] = { 0 };
		if (!hex || strlen(hex) != 2 * SHA256_SIZE)
			continue;
		(void)hex_decode(hex, 2 * ROW_KEY, key, ROW_KEY, false);
		add_key(a, &to->wanted, key);
	}
}

/* Few receipts name rows, so only those are read once more. */
void rows_want_lines(struct arena *a, struct pack_rows *to, struct bytes text)
{
	static const char name[] = "\"rows_sha256\"", notes[] = "\"notes\":{";
	AUTO(arena_done) struct arena scratch = { 0 };
	struct json *receipt;

	while (text.n) {
		struct bytes line = text_cut(&text, '\n');
		arena_reset(&scratch);
		want_shown_in(a, to, line);
		if ((memmem(line.p, line.n, name, sizeof(name) - 1) ||
			    memmem(line.p, line.n, notes, sizeof(notes) - 1)) &&
			json_parse(&scratch, line, "line", NULL, &receipt, NULL) == OK)
			rows_want(a, to, receipt);
	}
}

/* ---- transcripts ---- */

struct rows_feed {
	struct arena *a;
	struct pack_rows *to;
	struct sha256 digest; /* of the line so far */
	bool has_begun;
};

bool pack_is_rows(const char *path)
{
	return text_starts(path, "transcripts/") && text_ends(path, ".jsonl");
}

struct rows_feed *rows_begin(struct arena *a, struct pack_rows *to)
{
	struct rows_feed *f = arena_zalloc(a, 1, sizeof(*f));

	f->a = a;
	f->to = to;
	sha256_begin(&f->digest);
	return f;
}

static void end_line(struct rows_feed *f)
{
	uint8_t hash[SHA256_SIZE];

	sha256_end(&f->digest, hash);
	add_key(f->a, &f->to->there, hash);
	sha256_begin(&f->digest);
	f->has_begun = false;
}

void rows_feed(struct rows_feed *f, const void *p, size_t n)
{
	const char *from = p;

	while (n) {
		const char *end = memchr(from, '\n', n);
		size_t k = end ? (size_t)(end - from) : n;
		sha256_add(&f->digest, from, k);
		f->has_begun |= k != 0;
		if (end)
			end_line(f);
		k += end != NULL;
		from += k;
		n -= k;
	}
}

void rows_end(struct rows_feed *f)
{
	if (f->has_begun)
		end_line(f);
}

/* ---- comparing ---- */

static int by_key(const void *x, const void *y)
{
	return memcmp(x, y, ROW_KEY);
}

static bool has_key(const struct row_keys *k, const uint8_t *key)
{
	return k->n && bsearch(key, k->keys, k->n, ROW_KEY, by_key);
}

/* Rows that the one who made the pack says were away. */
static void read_absent(struct arena *a, const struct json *entries, struct row_keys *ret)
{
	json_each (one, json_get(entries, "absent")) {
		uint8_t key[ROW_KEY];
		const char *hex = json_text(one);
		if (hex && hex_decode(hex, strlen(hex), key, ROW_KEY, false))
			add_key(a, ret, key);
	}
	if (ret->n)
		qsort(ret->keys, ret->n, ROW_KEY, by_key);
}

/* How many rows are wanted and neither there nor said to be away; *ret_away: those that are. */
static size_t count_lost(struct pack_rows *rows, const struct row_keys *absent, size_t *ret_away)
{
	size_t lost = 0;

	if (rows->there.n)
		qsort(rows->there.keys, rows->there.n, ROW_KEY, by_key);
	for (size_t i = 0; i < rows->wanted.n; i++) {
		const uint8_t *key = rows->wanted.keys[i];
		if (has_key(&rows->there, key))
			continue;
		if (has_key(absent, key))
			++*ret_away;
		else
			lost++;
	}
	return lost;
}

/* Small transcripts that were not looked into while they were read. */
static bool read_kept(struct verification *v, const struct pack *p, struct pack_rows *rows)
{
	for (size_t i = 0; i < p->n && !p->lines; i++) {
		const struct pack_file *f = &p->files[i];
		if (!pack_is_rows(f->path))
			continue;
		if (!f->is_kept)
			return false;
		struct rows_feed *feed = rows_begin(v->a, rows);
		rows_feed(feed, f->content.p, f->content.n);
		rows_end(feed);
	}
	return true;
}

static void check_entries(struct verification *v, const struct pack *p, struct pack_rows *rows,
	const struct json *entries, size_t unread)
{
	struct row_keys absent = { 0 };
	size_t away = 0;

	read_absent(v->a, entries, &absent);
	bool is_read = read_kept(v, p, rows);
	size_t lost = count_lost(rows, &absent, &away);
	bool knows_all = json_get_bool(entries, "compared", false) &&
		json_get_int(entries, "missing", 0) <= (int64_t)absent.n;
	if (!is_read || unread || rows->wanted.is_over || rows->there.is_over || (lost && !knows_all)) {
		verify_check(v, "ledger_entries", CHECK_NOT_APPLICABLE,
			"not established: there are more of them than are compared, or some could not be read");
	} else if (lost) {
		const char *why = arena_printf(v->a,
			"%zu of %zu ledger entries that receipts bind are not in the pack: they were changed or left out",
			lost, rows->wanted.n);
		verify_check(v, "ledger_entries", CHECK_FAIL, why);
		(void)verify_refute(v, "ledger_entries", "%s", why);
	} else if (away) {
		v->complete = v->complete == ANSWER_YES ? ANSWER_UNKNOWN : v->complete;
		verify_check(v, "ledger_entries", CHECK_NOT_APPLICABLE,
			arena_printf(v->a,
				"not established for %zu of %zu, which were archived or lost when the pack was made",
				away, rows->wanted.n));
	} else {
		verify_check(v, "ledger_entries", CHECK_PASS,
			arena_printf(v->a, "%zu, each as its receipt says", rows->wanted.n));
	}
}

static bool is_absent(const struct json *notes, uint64_t clock)
{
	json_each (one, json_get(notes, "absent")) {
		int64_t n;
		if (json_int(one, &n) && (uint64_t)n == clock)
			return true;
	}
	return false;
}

/* The digest of a file of the pack is established already; here it is compared with what a receipt signs. */
static void check_notes(struct verification *v, const struct pack *p, const struct pack_rows *rows,
	const struct json *notes, size_t unread)
{
	size_t away = 0, bad = 0;

	if (!rows->note_n || !notes)
		return;
	for (size_t i = 0; i < rows->note_n; i++) {
		const struct pack_file *f = verify_pack_find(p,
			arena_printf(
				v->a, PACK_NOTES "%012llu.jsonl", (unsigned long long)rows->notes[i].clock));
		if (!f && (!json_get_bool(notes, "carried", false) || is_absent(notes, rows->notes[i].clock)))
			away++;
		else if (!f || !hash_eq(&f->digest, &rows->notes[i].digest))
			bad++;
	}
	if (bad) {
		const char *why = arena_printf(v->a,
			"notes of calls of %zu of %zu receipts are not in the pack as they were signed: they were changed or "
			"left out",
			bad, rows->note_n);
		verify_check(v, "call_notes", CHECK_FAIL, why);
		(void)verify_refute(v, "call_notes", "%s", why);
	} else if (away || unread) {
		verify_check(v, "call_notes", CHECK_NOT_APPLICABLE,
			arena_printf(v->a,
				"not established for %zu of %zu receipts, whose notes do not go along", away,
				rows->note_n));
	} else {
		verify_check(v, "call_notes", CHECK_PASS,
			arena_printf(v->a, "of %zu receipts, each as it was signed", rows->note_n));
	}
}

/* What was asked, redacted: the file is called by its digest, and a receipt has that digest.  One that is not there was not kept, or is of receipts that
 * say none. */
static void check_shown(struct verification *v, const struct pack *p, struct pack_rows *rows, size_t unread)
{
	struct row_keys *named = &rows->shown;
	size_t n = 0, bad = 0;

	if (named->n)
		qsort(named->keys, named->n, ROW_KEY, by_key);
	for (size_t i = 0; i < p->n; i++) {
		const struct pack_file *f = &p->files[i];
		if (!text_starts(f->path, PACK_SHOWN))
			continue;
		n++;
		bad += !text_eq(f->path,
			       arena_printf(v->a, PACK_SHOWN "%s.json", hash_hex(v->a, &f->digest))) ||
			(!unread && !named->is_over && !has_key(named, f->digest.b));
	}
	if (bad) {
		const char *why = arena_printf(v->a,
			"%zu of %zu documents of what was asked are not those whose digest a receipt has",
			bad, n);
		verify_check(v, "shown", CHECK_FAIL, why);
		(void)verify_refute(v, "shown", "%s", why);
	} else if (n) {
		verify_check(v, "shown", CHECK_PASS,
			arena_printf(v->a,
				"%zu documents of what was asked, each with the digest that a receipt has",
				n));
	}
}

void pack_check_rows(struct verification *v, const struct pack *p, struct pack_rows *rows, size_t unread)
{
	const struct pack_file *f = verify_pack_find(p, PACK_RECORD);
	struct json *doc = NULL;
	struct err e = { 0 };

	check_shown(v, p, rows, unread);
	if (!f) {
		if (rows->wanted.n)
			verify_note(v,
				"ledger entries are not bound: the pack does not say which of them belong to its receipts");
		return;
	}
	if (pack_json(v->a, f, &doc, &e) || !text_eq(member_text(doc, "version"), "helm-pack-record/v1")) {
		verify_check(v, "record", CHECK_FAIL, "record.json cannot be read");
		(void)verify_fail(
			v, "record", "record.json cannot be read, or is of a version that is not known");
		return;
	}
	if (json_get(doc, "sound") && !json_get_bool(doc, "sound", false)) {
		const char *why = arena_printf(v->a, "the record was not sound when the pack was made: %s",
			json_get_text(doc, "why", "it does not say why"));
		verify_check(v, "record", CHECK_FAIL, why);
		(void)verify_fail(v, "record", "%s", why);
	} else if (json_get(doc, "sound")) {
		verify_check(v, "record", CHECK_PASS, "sound when the pack was made, says who made it");
	}
	check_entries(v, p, rows, json_get(doc, "entries"), unread);
	check_notes(v, p, rows, json_get(doc, "notes"), unread);
}

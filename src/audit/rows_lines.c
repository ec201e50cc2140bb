/* rows_lines.c — what is looked at line by line: can each be read, and is each entry of memory what its receipt has the digest of?
 *
 * The receipt of an entry of memory is written before the entry, because the entry names it; so it has the digest of the entry without its name, and
 * not that of the row.  A writer that is killed between the two leaves a receipt without an entry.  Therefore entries are compared with
 * receipts, and not the other way round: an entry that was changed or made up is found, one that was removed is not (`helm memory verify`
 * finds what it left in files). */
#include "audit/finding.h"
#include "audit/rows.h"
#include "base/hash.h"
#include "base/text.h"
#include "remember/memory.h"

#include <stdlib.h>
#include <string.h>

enum { SETTLED_US = 2000000, SHOWN = 20 };

static struct json *put(struct arena *a, struct log_report *r, enum finding kind, const char *text)
{
	struct json *f = finding_put(a, r, json_get(r->doc, "findings"), kind, text);

	json_setb(a, r->doc, "sound", r->is_sound);
	if (r->omitted)
		json_seti(a, r->doc, "findings_omitted", (int64_t)r->omitted);
	return f;
}

/* ---- lines that are no rows ---- */

struct unreadable {
	const char *file;
	struct arena a;
	bool is_settled;
	uint64_t n;
};

static int count_unreadable(
	void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct unreadable *u = arg;

	(void)place;
	(void)line;
	(void)e;
	u->n += (is_whole || u->is_settled) && !row_is_blank(text) && !row_parse(&u->a, text, u->file);
	arena_reset(&u->a);
	return OK;
}

/* A last line without its end may be one that is being written; not when nobody has written for a while. */
static bool is_settled(struct sys *s, int state_fd, const char *file)
{
	struct stat st;

	return s->stat(s, state_fd, file, &st, 0) == 0 &&
		(int64_t)st.st_mtim.tv_sec * 1000000 + SETTLED_US < s->now_us(s);
}

/* What such lines said is lost to every reader.  Older pieces are known by their digests. */
int rows_check_readable(
	struct sys *s, struct arena *a, int state_fd, struct log_report *report, struct err *e)
{
	int rc = OK;

	for (size_t i = 0; rc == OK && i < LEDGERS_OF_ALL; i++) {
		struct unreadable u = { .file = audit_ledgers[i] };
		off_t end = 0;
		u.is_settled = i < LEDGERS_OF_ROWS && is_settled(s, state_fd, u.file);
		rc = ledger_end(s, state_fd, u.file, &end, e);
		if (rc == OK)
			rc = ledger_lines_past(s, state_fd, u.file,
				end >> LEDGER_PLACE_BITS << LEDGER_PLACE_BITS, count_unreadable, &u, e);
		arena_done(&u.a);
		if (rc == OK && u.n)
			json_sets(a,
				put(a, report, FINDING_ROWS_UNREADABLE,
					arena_printf(a, "%s of %s cannot be read",
						text_count(a, (int64_t)u.n, "line"), u.file)),
				"file", u.file);
	}
	return rc;
}

/* ---- entries of memory ---- */

struct entry {
	uint8_t id[ROW_KEY], digest[ROW_KEY], receipt[ROW_KEY];
	off_t place;
	uint64_t line;
	int64_t clock; /* of the receipt that it names; 0: it names none */
	bool is_known, is_right; /* a receipt names it; and has this digest */
};

struct entries {
	struct arena *a, scratch;
	struct entry *list;
	size_t n, cap;
};

static void key_of(const char *text, uint8_t ret[ROW_KEY])
{
	uint8_t hash[SHA256_SIZE];

	sha256(text, strlen(text), hash);
	memcpy(ret, hash, ROW_KEY);
}

/* Rows that name no receipt are those of earlier versions, or bound like other rows. */
static int take_entry(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct entries *x = arg;
	struct json *row = is_whole ? row_parse(&x->scratch, text, MEMORY_ENTRIES) : NULL;
	const char *id = json_get_text(row, "id", "");

	(void)e;
	if (*id) {
		GROW(x->a, x->list, x->n, x->cap);
		struct entry *to = &x->list[x->n++];
		*to = (struct entry){
			.place = place, .line = line, .clock = json_get_int(row, "receipt_clock", 0)
		};
		key_of(id, to->id);
		key_of(json_get_text(row, "receipt_id", ""), to->receipt);
		key_of(memory_event_sha256(&x->scratch, row), to->digest);
	}
	arena_reset(&x->scratch);
	return OK;
}

static int by_id(const void *p, const void *q)
{
	return memcmp(((const struct entry *)p)->id, ((const struct entry *)q)->id, ROW_KEY);
}

static int take_bound(
	void *arg, const char *file, off_t at, struct bytes text, const struct json *receipt, struct err *e)
{
	struct entries *x = arg;
	const struct json *about = json_get(receipt, "metadata");
	const char *id = json_get_text(about, "entry_id", NULL),
		   *digest = json_get_text(about, "entry_sha256", NULL);
	struct entry key;
	uint8_t is[ROW_KEY], receipt_id[ROW_KEY];
	size_t low = 0, high = x->n;

	(void)file;
	(void)at;
	(void)text;
	(void)e;
	if (!id || !digest || !memory_receipt_permits(receipt))
		return 0;
	key_of(id, key.id);
	key_of(digest, is);
	key_of(json_get_text(receipt, "receipt_id", ""), receipt_id);
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (by_id(&x->list[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < x->n && by_id(&x->list[low], &key) == 0; low++) {
		x->list[low].is_known = true;
		x->list[low].is_right |= memcmp(x->list[low].digest, is, ROW_KEY) == 0 &&
			(!x->list[low].clock ||
				(memcmp(x->list[low].receipt, receipt_id, ROW_KEY) == 0 &&
					x->list[low].clock == json_get_int(receipt, "lamport_clock", 0)));
	}
	return 0;
}

static uint64_t ledger_bits(void)
{
	for (uint64_t i = 0; i < LEDGERS_OF_ROWS; i++)
		if (text_eq(audit_ledgers[i], MEMORY_ENTRIES))
			return i << LEDGER_SHIFT;
	return 0;
}

/* Where receipts are lost or archived, an entry that none of the others names may be theirs. */
static void tell(struct entries *x, struct log_report *report, struct rows_kept *kept)
{
	const bool is_all = !report->archived && !json_get(report->doc, "lost_on_record");
	uint64_t bad = 0;

	for (size_t i = 0; i < x->n; i++) {
		const struct entry *y = &x->list[i];
		if (y->is_right || (!y->is_known && !(is_all && y->clock)))
			continue;
		if (kept) {
			GROW(kept->a, kept->entries, kept->entry_n, kept->entry_cap);
			kept->entries[kept->entry_n++] = ledger_bits() | (uint64_t)y->place;
		}
		if (bad++ < SHOWN)
			(void)put(x->a, report, FINDING_ENTRY_CHANGED,
				arena_printf(x->a, "%s line %llu: %s", MEMORY_ENTRIES,
					(unsigned long long)y->line,
					y->is_known ? "the entry is not what its receipt has the digest of"
						    : "no receipt of the chain knows this entry"));
	}
	if (bad > SHOWN)
		(void)put(x->a, report, FINDING_ENTRY_CHANGED,
			arena_printf(
				x->a, "in all, %llu entries of memory are changed", (unsigned long long)bad));
}

/* Receipts that are moved away and cannot be read are told elsewhere. */
static int take_receipts(struct entries *x, struct sys *s, int state_fd, enum cut_lock lock, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut cut;
	int rc = log_cut_take(s, &a, state_fd, lock, &cut, e);

	for (size_t i = 0; rc == OK && i < cut.n; i++)
		if (cut.chain[i].fd >= 0)
			rc = log_file_back(&cut, &cut.chain[i], "\"entry_sha256\"", take_bound, x, e);
	return rc;
}

int rows_check_memory(struct sys *s, struct arena *a, int state_fd, struct log_report *report,
	struct rows_kept *kept, struct err *e)
{
	struct entries x = { .a = a };
	off_t end = 0;
	int rc = ledger_end(s, state_fd, MEMORY_ENTRIES, &end, e);

	/* Older pieces are known by their digests. */
	if (rc == OK)
		rc = ledger_lines_past(s, state_fd, MEMORY_ENTRIES,
			end >> LEDGER_PLACE_BITS << LEDGER_PLACE_BITS, take_entry, &x, e);
	arena_done(&x.scratch);
	if (rc || !x.n)
		return rc;
	qsort(x.list, x.n, sizeof(*x.list), by_id);
	rc = take_receipts(&x, s, state_fd, kept ? kept->lock : CUT_MOMENT, e);
	if (rc == OK)
		tell(&x, report, kept);
	return rc;
}

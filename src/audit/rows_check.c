/* rows_check.c — are the rows of the ledgers still those that receipts speak of?
 *
 * The outcome receipt of a run carries the digest of each row that the run has written, and the receipt of a
 * sealed piece the digest of all of it.  Here they are compared: every digest must be that of a row that is
 * there, the rows of a run must stand in the order in which they were written, and every sealed piece must
 * be the file it was.  So a row that was changed, removed or moved is found, and so is a ledger that is gone.
 * Rows that no receipt speaks of (moves that a person made) prove nothing and are passed over.  Notes of calls
 * are compared as a text, in notes_check.c; the digests that stand in them (of connections, of which there may be too many for
 * a receipt) are compared here like those of receipts.
 *
 * There are as many digests as rows, and neither fit into memory.  When there are too many, both are put into
 * nameless files by the first bits of the digest: what belongs together is in the files of the same number,
 * and each pair is small (a hash join).  Everything is read once, whatever the number. */
#include "audit/finding.h"
#include "audit/rows.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "remember/memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { IN_MEMORY = 1 << 18, BUCKETS = 64, HELD = 512, SHOWN = 20, RECENT_BYTES = 32 << 20 };
enum { LONG_PIECES = 16 };
#define LONG_BYTES ((off_t)256 << 20)

const char *const audit_ledgers[LEDGERS_OF_ALL] = { TASK_LEDGER, COMMAND_LOG, EGRESS_LOG, MEMORY_OPERATIONS,
	MEMORY_CRYSTALS, MEMORY_ENTRIES, MEMORY_TREE_ROWS, TOOL_CALLS };

/* Marks in nameless files. */
struct pile {
	struct sys *s;
	int fds[BUCKETS];
	uint64_t n[BUCKETS];
	struct mark (*held)[HELD];
	size_t held_n[BUCKETS];
	bool is_open;
};

struct joining {
	struct sys *s;
	struct arena *a;
	int state_fd;
	uint64_t from; /* receipts up to this clock are not asked about */
	struct arena memory;
	size_t in_memory; /* so many marks fit */
	struct mark *list; /* while they do */
	size_t n, cap;
	struct pile wanted, there, found;
	uint64_t rows, missing, moved;
	struct {
		uint64_t clock;
		bool is_moved, is_noted;
	} bad[SHOWN]; /* receipts with rows that are missing or out of order, the first ones */
	size_t bad_n;
	/* Sealed pieces that are not here, or not readable where they were moved to; and what receipts of the chain say was moved.  A piece is
	 * sealed before it is moved, so which of them may be away is known at the end. */
	struct gone {
		const char *name, *place;
		int64_t rows, clock;
		char expected[SHA256_HEX], found[SHA256_HEX]; /* found: it is there, and another one */
	} * gone;
	const char **archived;
	size_t gone_n, gone_cap, archived_n, archived_cap;
	bool is_chain_away; /* parts of the chain cannot be read: what they say was moved is not known */
	uint64_t gone_rows; /* rows in pieces that are not there */
	uint32_t ledger; /* being read */
	uint32_t note_n; /* that speak of rows */
	struct notes_check *notes;
	struct notes_result noted;
	struct losses lost; /* on record */
	uint64_t excused; /* rows that are */
	struct rows_kept *kept; /* or NULL */
	enum cut_lock lock;
	struct log_report *report;
};

/* ---- piles ---- */

static void pile_close(struct pile *p)
{
	for (int i = 0; p->is_open && i < BUCKETS; i++)
		close_fd(&p->fds[i]);
	free(p->held);
	*p = (struct pile){ 0 };
}

int audit_open_nameless(struct sys *s)
{
	const char *own = s->getenv(s, "TMPDIR");
	const char *const dirs[] = { own && own[0] == '/' ? own : "/var/tmp", "/var/tmp", "/tmp" };
	int fd = -1;

	for (size_t i = 0; i < ARRAY_SIZE(dirs) && fd < 0; i++)
		fd = s->open(s, AT_FDCWD, dirs[i], O_TMPFILE | O_RDWR, 0600, 0);
	return fd;
}

static int pile_open(struct pile *p, struct sys *s, struct err *e)
{
	*p = (struct pile){ .s = s, .is_open = true, .held = calloc(BUCKETS, sizeof(*p->held)) };
	for (int i = 0; i < BUCKETS; i++)
		p->fds[i] = -1;
	if (!p->held)
		mem_exhausted(BUCKETS * sizeof(*p->held));
	for (int i = 0; i < BUCKETS; i++) {
		p->fds[i] = audit_open_nameless(s);
		if (p->fds[i] < 0)
			return err_sys(e, "ROWS_CHECK",
				"cannot make a temporary file; TMPDIR can name another place");
	}
	return OK;
}

static int pile_flush(struct pile *p, unsigned bucket, struct err *e)
{
	const char *at = (const char *)p->held[bucket];
	size_t left = p->held_n[bucket] * sizeof(struct mark);

	while (left) {
		ssize_t n = p->s->write(p->s, p->fds[bucket], at, left);
		if (n < 0)
			return err_sys(e, "ROWS_CHECK",
				"cannot write a temporary file; TMPDIR can name another place");
		at += n;
		left -= (size_t)n;
	}
	p->n[bucket] += p->held_n[bucket];
	p->held_n[bucket] = 0;
	return OK;
}

static int pile_put(struct pile *p, unsigned bucket, const struct mark *m, struct err *e)
{
	p->held[bucket][p->held_n[bucket]++] = *m;
	return p->held_n[bucket] == HELD ? pile_flush(p, bucket, e) : OK;
}

/* Some marks of a bucket, from the first on; 0 at the end. */
static int pile_read(struct pile *p, unsigned bucket, uint64_t from, struct mark *to, size_t room,
	size_t *ret_n, struct err *e)
{
	uint64_t left = p->n[bucket] - from;
	size_t n = left < room ? (size_t)left : room, bytes = n * sizeof(*to), done = 0;

	while (done < bytes) {
		ssize_t got = p->s->pread(p->s, p->fds[bucket], (char *)to + done, bytes - done,
			(off_t)(from * sizeof(*to) + done));
		if (got <= 0)
			return err_sys(e, "ROWS_CHECK", "cannot read a temporary file");
		done += (size_t)got;
	}
	*ret_n = n;
	return OK;
}

/* ---- what receipts speak of ---- */

static unsigned by_key(const struct mark *m)
{
	return m->key[0] % BUCKETS;
}

/* More than fit: from now on they go to files. */
static int spill(struct joining *j, struct err *e)
{
	int rc = pile_open(&j->wanted, j->s, e);

	for (size_t i = 0; rc == OK && i < j->n; i++)
		rc = pile_put(&j->wanted, by_key(&j->list[i]), &j->list[i], e);
	j->n = 0;
	return rc;
}

static int want(struct joining *j, const char *hex, uint64_t clock, uint32_t note, uint32_t i, struct err *e)
{
	struct mark m = { .clock = clock, .place = NOWHERE, .note = note, .i = i };

	if (!hex || strlen(hex) != 2 * SHA256_SIZE || !hex_decode(hex, 2 * ROW_KEY, m.key, ROW_KEY, false))
		return OK; /* no digest of ours */
	j->rows++;
	if (j->wanted.is_open)
		return pile_put(&j->wanted, by_key(&m), &m, e);
	if (j->n == j->in_memory) {
		int rc = spill(j, e);
		return rc ? rc : pile_put(&j->wanted, by_key(&m), &m, e);
	}
	if (j->n == j->cap) {
		size_t cap = j->cap ? 2 * j->cap : 1024;
		j->list = arena_grow(&j->memory, j->list, j->cap * sizeof(m), cap * sizeof(m));
		j->cap = cap;
	}
	j->list[j->n++] = m;
	return OK;
}

static struct json *add_finding(struct joining *j, enum finding kind, const char *text)
{
	struct log_report *r = j->report;
	struct json *f = finding_put(j->a, r, json_get(r->doc, "findings"), kind, text);

	json_setb(j->a, r->doc, "sound", r->is_sound);
	if (r->omitted)
		json_seti(j->a, r->doc, "findings_omitted", (int64_t)r->omitted);
	return f;
}

/* ---- sealed pieces ---- */

static int hash_file(struct joining *j, const char *name, char ret_hex[SHA256_HEX], struct err *e)
{
	AUTO(close_fd) int fd = j->s->open(j->s, j->state_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	AUTO(arena_done) struct arena a = { 0 };
	enum { STEP = 256 << 10 };
	char *step = arena_text(&a, STEP);
	uint8_t hash[SHA256_SIZE];
	struct sha256 h;
	ssize_t n = -1;

	sha256_begin(&h);
	for (off_t at = 0; fd >= 0 && (n = j->s->pread(j->s, fd, step, STEP, at)) > 0; at += n)
		sha256_add(&h, step, (size_t)n);
	if (n < 0)
		return err_sys(e, "LEDGER_READ", "cannot read %s", name);
	sha256_end(&h, hash);
	hex_encode(hash, SHA256_SIZE, ret_hex);
	return OK;
}

static void add_gone(struct joining *j, struct gone one)
{
	if (j->gone_n == j->gone_cap) {
		size_t cap = j->gone_cap ? 2 * j->gone_cap : 16;
		j->gone = arena_grow(j->a, j->gone, j->gone_cap * sizeof(*j->gone), cap * sizeof(*j->gone));
		j->gone_cap = cap;
	}
	j->gone[j->gone_n++] = one;
}

/* The piece may be waiting still, or again, when the one who sealed it was killed: then its text is what it is
 * known by, and the rows in it are looked at anyway. */
static int check_piece(struct joining *j, struct arena *scratch, const struct json *receipt, struct err *e)
{
	const struct json *about = json_get(receipt, "metadata");
	const char *name = json_get_text(about, "segment", ""), *base = path_base(name);
	char hex[SHA256_HEX];
	struct err why = { 0 };

	if (!text_eq(json_get_text(receipt, "output_hash", ""), json_sha256(scratch, about)))
		return OK; /* not what was signed: the log's own check says that */
	const char *waiting =
		arena_printf(scratch, "segments/waiting/%.*s", (int)strlen(base) - (int)strlen(".zst"), base);
	const char *place =
		file_exists(j->s, j->state_fd, name) ? NULL : segment_place(j->s, scratch, j->state_fd, name);
	int rc = hash_file(j, place ? place : name, hex, &why);
	if (rc == OK && text_eq(hex, json_get_text(about, "packed_sha256", "")))
		return OK;
	if (rc == E_MISSING && file_exists(j->s, j->state_fd, waiting))
		return OK;
	if (rc && !place && rc != E_MISSING) {
		*e = why;
		return rc;
	}
	struct gone one = { .name = arena_strdup(j->a, name),
		.place = place ? arena_strdup(j->a, place) : NULL,
		.rows = json_get_int(about, "rows", 0),
		.clock = json_get_int(receipt, "lamport_clock", 0) };
	snprintf(one.expected, sizeof(one.expected), "%s", json_get_text(about, "packed_sha256", ""));
	if (rc == OK)
		memcpy(one.found, hex, sizeof(hex));
	add_gone(j, one);
	return OK;
}

static void note_archived(struct joining *j, struct arena *scratch, const struct json *receipt)
{
	json_each (row, json_get(json_get(receipt, "metadata"), "files")) {
		const char *name = json_get_text(row, "file", "");
		if (!text_starts(name, LEDGER_SEGMENTS "/") || !segment_moved(scratch, receipt, name))
			continue;
		if (j->archived_n == j->archived_cap) {
			size_t cap = j->archived_cap ? 2 * j->archived_cap : 64;
			j->archived = arena_grow(j->a, j->archived, j->archived_cap * sizeof(*j->archived),
				cap * sizeof(*j->archived));
			j->archived_cap = cap;
		}
		j->archived[j->archived_n++] = arena_strdup(j->a, name);
	}
}

static bool is_on_record(const struct joining *j, const char *name)
{
	for (size_t i = 0; i < j->archived_n; i++)
		if (text_eq(j->archived[i], name))
			return true;
	return false;
}

static void keep_piece(struct joining *j, const struct gone *g)
{
	struct rows_kept *k = j->kept;

	if (!k)
		return;
	GROW(j->a, k->pieces, k->piece_n, k->piece_cap);
	struct bad_piece *to = &k->pieces[k->piece_n++];
	*to = (struct bad_piece){ .name = g->name, .clock = g->clock, .is_elsewhere = g->place != NULL };
	memcpy(to->expected, g->expected, sizeof(to->expected));
	memcpy(to->found, g->found, sizeof(to->found));
}

/* What stands in the place of a piece is anybody's word; that it was moved counts when the chain says so. */
static void judge_gone(struct joining *j)
{
	for (size_t i = 0; i < j->gone_n; i++) {
		const struct gone *g = &j->gone[i];
		if (losses_have_piece(&j->lost, g->name, g->found))
			continue;
		if (*g->found) {
			struct json *f = add_finding(j, FINDING_PIECE_CHANGED,
				arena_printf(j->a, "%s is not the file that was sealed",
					g->place ? g->place : g->name));
			json_seti(j->a, f, "receipt_clock", g->clock);
			keep_piece(j, g);
			continue;
		}
		j->gone_rows += g->rows > 0 ? (uint64_t)g->rows : 0;
		if (g->place && (j->is_chain_away || is_on_record(j, g->name))) {
			add_finding(j, FINDING_PIECE_ARCHIVED,
				arena_printf(j->a,
					"%s is archived at %s; it cannot be read there, and its %lld rows were not looked at",
					g->name, g->place, (long long)g->rows));
			continue;
		}
		struct json *f = add_finding(
			j, FINDING_PIECE_MISSING, arena_printf(j->a, "%s is not there any more", g->name));
		json_seti(j->a, f, "receipt_clock", g->clock);
		keep_piece(j, g);
	}
}

static int take_receipt(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct joining *j = arg;
	uint64_t clock = (uint64_t)json_get_int(receipt, "lamport_clock", 0);
	uint32_t i = 0;
	int rc = OK;

	(void)file;
	(void)line;
	(void)text;
	if (clock <= j->from)
		return OK;
	if (text_eq(json_get_text(receipt, "effect_id", ""), LEDGER_ROTATE_EFFECT))
		return check_piece(j, &scratch, receipt, e);
	if (text_eq(json_get_text(receipt, "effect_id", ""), ARCHIVE_EFFECT))
		note_archived(j, &scratch, receipt);
	if (text_eq(json_get_text(receipt, "effect_id", ""), REPAIR_EFFECT))
		losses_take(&j->lost, receipt);
	rc = notes_check_take(j->notes, receipt, clock, e);
	json_each (digest, json_get(json_get(receipt, "metadata"), "rows_sha256"))
		if (rc == OK)
			rc = want(j, json_text(digest), clock, 0, i++, e);
	return rc;
}

/* A note, bound by the receipt of this clock. */
static int take_note(void *arg, uint64_t clock, const struct json *digests, struct err *e)
{
	struct joining *j = arg;
	uint32_t i = 0;
	int rc = OK;

	j->note_n++;
	json_each (digest, digests)
		if (rc == OK)
			rc = want(j, json_text(digest), clock, j->note_n, i++, e);
	return rc;
}

/* ---- comparing ---- */

static int compare_keys(const void *x, const void *y)
{
	return memcmp(((const struct mark *)x)->key, ((const struct mark *)y)->key, ROW_KEY);
}

static int compare_clocks(const void *x, const void *y)
{
	const struct mark *p = x, *q = y;

	if (p->clock != q->clock)
		return p->clock < q->clock ? -1 : 1;
	if (p->note != q->note)
		return p->note < q->note ? -1 : 1;
	return (p->i > q->i) - (p->i < q->i);
}

/* Every mark with this key is found here; the same row twice counts by its last place. */
static void meet(struct mark *list, size_t n, const struct mark *row)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (memcmp(list[mid].key, row->key, ROW_KEY) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < n && memcmp(list[low].key, row->key, ROW_KEY) == 0; low++)
		list[low].place = row->place;
}

/* The oldest ones are named: what was changed first explains what follows. */
static void note_bad(struct joining *j, const struct mark *m, bool is_moved)
{
	uint64_t clock = m->clock;
	size_t at = 0;

	if (is_moved ? losses_have_order(&j->lost, clock) : losses_have_row(&j->lost, m)) {
		j->excused += !is_moved;
		return;
	}
	++*(is_moved ? &j->moved : &j->missing);
	while (at < j->bad_n && j->bad[at].clock < clock)
		at++;
	if (at == SHOWN || (at < j->bad_n && j->bad[at].clock == clock))
		return;
	if (j->bad_n < SHOWN)
		j->bad_n++;
	memmove(j->bad + at + 1, j->bad + at, (j->bad_n - at - 1) * sizeof(*j->bad));
	j->bad[at].clock = clock;
	j->bad[at].is_moved = is_moved;
	j->bad[at].is_noted = m->note;
}

/* All digests of a receipt, or of a note, stand together, by their number: the rows of one ledger must follow each other. */
static void check_order(struct joining *j, struct mark *list, size_t n)
{
	uint64_t last[1 << (64 - LEDGER_SHIFT)] = { 0 };

	if (n)
		qsort(list, n, sizeof(*list), compare_clocks);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || list[i].clock != list[i - 1].clock || list[i].note != list[i - 1].note)
			memset(last, 0, sizeof(last));
		if (list[i].place == NOWHERE)
			continue;
		uint64_t *before = &last[list[i].place >> LEDGER_SHIFT];
		if (list[i].place < *before)
			note_bad(j, &list[i], true);
		*before = list[i].place;
	}
}

static struct mark row_mark(const struct joining *j, off_t place, struct bytes text)
{
	struct mark m = { .place = (uint64_t)j->ledger << LEDGER_SHIFT | (uint64_t)place };
	uint8_t hash[SHA256_SIZE];

	sha256(text.p, text.n, hash);
	memcpy(m.key, hash, ROW_KEY);
	return m;
}

static int take_row(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct joining *j = arg;
	struct mark m = row_mark(j, place, text);

	(void)line;
	(void)is_whole;
	if (j->wanted.is_open)
		return pile_put(&j->there, by_key(&m), &m, e);
	meet(j->list, j->n, &m);
	return OK;
}

static int read_ledgers(struct joining *j, bool is_recent, struct err *e)
{
	int rc = OK;

	for (j->ledger = 0; rc == OK && j->ledger < LEDGERS_OF_ROWS; j->ledger++) {
		off_t from = 0;
		if (is_recent)
			rc = ledger_recent(
				j->s, j->state_fd, audit_ledgers[j->ledger], RECENT_BYTES, &from, e);
		if (rc == OK)
			rc = ledger_lines_past(
				j->s, j->state_fd, audit_ledgers[j->ledger], from, take_row, j, e);
	}
	return rc;
}

static size_t count_missing(const struct mark *list, size_t n)
{
	size_t missing = 0;

	for (size_t i = 0; i < n; i++)
		missing += list[i].place == NOWHERE;
	return missing;
}

/* What is new is near the end; only when it is not all there is everything read. */
static int join_in_memory(struct joining *j, struct err *e)
{
	int rc = OK;

	if (j->n)
		qsort(j->list, j->n, sizeof(*j->list), compare_keys);
	if (j->n && j->from)
		rc = read_ledgers(j, true, e);
	if (rc == OK && j->n && (!j->from || count_missing(j->list, j->n)))
		rc = read_ledgers(j, false, e);
	for (size_t i = 0; i < j->n; i++)
		if (j->list[i].place == NOWHERE)
			note_bad(j, &j->list[i], false);
	check_order(j, j->list, j->n);
	return rc;
}

static int load(
	struct pile *p, unsigned bucket, struct arena *a, struct mark **ret, size_t *ret_n, struct err *e)
{
	size_t room = (size_t)p->n[bucket];

	arena_reset(a);
	*ret = arena_zalloc(a, room + 1, sizeof(**ret));
	return pile_read(p, bucket, 0, *ret, room, ret_n, e);
}

/* One pair of files: what was wanted, and what is there. */
static int join_bucket(struct joining *j, unsigned bucket, struct err *e)
{
	struct mark *list, some[HELD];
	size_t n, got = 1;
	int rc = load(&j->wanted, bucket, &j->memory, &list, &n, e);

	if (rc == OK && n)
		qsort(list, n, sizeof(*list), compare_keys);
	for (uint64_t at = 0; rc == OK && got; at += got) {
		rc = pile_read(&j->there, bucket, at, some, HELD, &got, e);
		for (size_t i = 0; rc == OK && i < got; i++)
			meet(list, n, &some[i]);
	}
	for (size_t i = 0; rc == OK && i < n; i++) {
		if (list[i].place == NOWHERE)
			note_bad(j, &list[i], false);
		else
			rc = pile_put(&j->found, list[i].clock % BUCKETS, &list[i], e);
	}
	return rc;
}

static int flush_all(struct pile *p, struct err *e)
{
	int rc = OK;

	for (unsigned i = 0; rc == OK && i < BUCKETS; i++)
		rc = pile_flush(p, i, e);
	return rc;
}

static int join_in_files(struct joining *j, struct err *e)
{
	struct mark *list;
	size_t n;
	int rc = pile_open(&j->there, j->s, e);

	if (rc == OK)
		rc = pile_open(&j->found, j->s, e);
	if (rc == OK)
		rc = read_ledgers(j, false, e);
	if (rc == OK)
		rc = flush_all(&j->wanted, e);
	if (rc == OK)
		rc = flush_all(&j->there, e);
	for (unsigned i = 0; rc == OK && i < BUCKETS; i++)
		rc = join_bucket(j, i, e);
	if (rc == OK)
		rc = flush_all(&j->found, e);
	for (unsigned i = 0; rc == OK && i < BUCKETS; i++) {
		rc = load(&j->found, i, &j->memory, &list, &n, e);
		if (rc == OK)
			check_order(j, list, n);
	}
	return rc;
}

/* ---- the answer ---- */

/* A receipt that speaks of other notes than those that are there. */
static void name_notes(struct joining *j, uint64_t clock, const char *file, uint64_t line)
{
	const struct notes_result *n = &j->noted;

	for (size_t i = 0; i < n->changed && i < ARRAY_SIZE(n->bad); i++) {
		if (n->bad[i] != clock)
			continue;
		struct json *f = add_finding(j, FINDING_NOTES_CHANGED,
			arena_printf(j->a,
				"notes of calls in " TOOL_CALLS
				" are not those that receipt %llu speaks of: they were changed, removed, added or moved",
				(unsigned long long)clock));
		json_sets(j->a, f, "file", arena_strdup(j->a, file));
		json_seti(j->a, f, "line", (int64_t)line);
		json_seti(j->a, f, "receipt", (int64_t)clock);
	}
}

/* Why rows that a note speaks of are not right. */
static void name_noted(struct joining *j, uint64_t clock, bool is_moved)
{
	struct json *f = add_finding(j, is_moved ? FINDING_ROWS_MOVED : FINDING_ROWS_CHANGED,
		arena_printf(j->a, "connections in " EGRESS_LOG " that notes before receipt %llu speak of %s",
			(unsigned long long)clock,
			is_moved ? "do not stand in the order in which they were written"
				 : "are not there: they were changed or removed"));
	json_seti(j->a, f, "receipt", (int64_t)clock);
}

/* The receipts that were noted, once more, for their lines and the names of their tasks. */
static int name_receipt(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct joining *j = arg;
	uint64_t clock = (uint64_t)json_get_int(receipt, "lamport_clock", 0);

	(void)text;
	(void)e;
	name_notes(j, clock, file, line);
	for (size_t i = 0; i < j->bad_n; i++) {
		if (j->bad[i].clock != clock)
			continue;
		if (j->bad[i].is_noted) {
			name_noted(j, clock, j->bad[i].is_moved);
			continue;
		}
		const char *task = json_get_text(json_get(receipt, "metadata"), "task_id",
			json_get_text(receipt, "correlation_id", "?"));
		task = text_safe(j->a, task, strlen(task), false);
		struct json *f = add_finding(j,
			j->bad[i].is_moved ? FINDING_ROWS_MOVED : FINDING_ROWS_CHANGED,
			j->bad[i].is_moved
				? arena_printf(j->a,
					  "ledger entries of task %s are not in the order in which they were written",
					  task)
				: arena_printf(j->a,
					  "ledger entries of task %s were changed or removed since this receipt was signed",
					  task));
		json_sets(j->a, f, "task_id", task);
		json_sets(j->a, f, "file", arena_strdup(j->a, file));
		json_seti(j->a, f, "line", (int64_t)line);
		json_seti(j->a, f, "receipt", (int64_t)clock);
	}
	return OK;
}

static void count_notes(struct joining *j)
{
	const struct notes_result *n = &j->noted;
	struct json *doc = json_new(j->a, JSON_OBJECT);

	json_seti(j->a, doc, "bound", (int64_t)n->bound);
	json_seti(j->a, doc, "changed", (int64_t)n->changed);
	json_seti(j->a, doc, "away", (int64_t)n->away);
	json_set(j->a, j->report->doc, "notes", doc);
	if (n->changed > ARRAY_SIZE(n->bad))
		add_finding(j, FINDING_NOTES_CHANGED,
			arena_printf(j->a, "in all, %llu of %llu receipts speak of other notes",
				(unsigned long long)n->changed, (unsigned long long)n->bound));
}

/* One notice for each repair that tells of rows. */
static void name_lost(struct joining *j)
{
	json_each (told, j->lost.told) {
		long long receipt = json_get_int(told, "receipt", 0);
		struct json *f = add_finding(j, FINDING_ROWS_LOST,
			arena_printf(j->a, "lost on record, receipt %lld names them: %s, %s of notes, %s",
				receipt, text_count(j->a, json_get_int(told, "rows", 0), "ledger entry"),
				text_count(j->a, json_get_int(told, "notes", 0), "range"),
				text_count(j->a, json_get_int(told, "pieces", 0), "piece")));
		json_seti(j->a, f, "receipt_clock", receipt);
	}
}

static int answer(struct joining *j, struct err *e)
{
	struct json *doc = json_new(j->a, JSON_OBJECT);
	int rc = OK;

	json_seti(j->a, doc, "bound", (int64_t)j->rows);
	json_seti(j->a, doc, "missing", (int64_t)j->missing);
	json_seti(j->a, doc, "out_of_order", (int64_t)j->moved);
	json_seti(j->a, doc, "since_receipt", (int64_t)j->from + 1);
	if (j->excused || j->noted.excused)
		json_seti(j->a, doc, "lost_on_record", (int64_t)(j->excused + j->noted.excused));
	json_set(j->a, j->report->doc, "rows", doc);
	/* Which of them lay in the piece that is gone, nobody can tell; but not more than it had. */
	if (j->missing && j->missing <= j->gone_rows) {
		add_finding(j, FINDING_ROWS_AWAY,
			arena_printf(j->a,
				"%llu rows are not there, in pieces that were moved away or are gone",
				(unsigned long long)j->missing));
		j->bad_n = 0;
		j->missing = j->moved = 0;
	}
	name_lost(j);
	if (j->bad_n || j->noted.changed)
		rc = audit_receipts(j->s, j->state_fd, j->lock, name_receipt, j, e);
	if (rc == OK && j->missing + j->moved > SHOWN)
		add_finding(j, FINDING_ROWS_CHANGED,
			arena_printf(j->a,
				"in all, %llu of %llu rows are changed or removed, %llu out of order",
				(unsigned long long)j->missing, (unsigned long long)j->rows,
				(unsigned long long)j->moved));
	return rc;
}

/* Reading all rows takes seconds where there are millions. */
static int is_long(struct joining *j, bool *ret, struct err *e)
{
	int rc = OK;

	*ret = false;
	for (size_t i = 0; rc == OK && i < LEDGERS_OF_ALL; i++) {
		off_t end = 0;
		rc = ledger_end(j->s, j->state_fd, audit_ledgers[i], &end, e);
		*ret |= end >> LEDGER_PLACE_BITS > LONG_PIECES ||
			(end & (((off_t)1 << LEDGER_PLACE_BITS) - 1)) > LONG_BYTES;
	}
	return rc;
}

int audit_receipts(
	struct sys *s, int state_fd, enum cut_lock lock, receipt_visit *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut cut;
	int rc = log_cut_take(s, &a, state_fd, lock, &cut, e);

	return rc ? rc : log_cut_receipts(&cut, fn, arg, e);
}

/* From this file on; from the oldest one when it is NULL, or has another name since. */
static int take_receipts(struct joining *j, const char *first, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(log_cut_close) struct log_cut cut;
	int rc = log_cut_take(j->s, &a, j->state_fd, j->lock, &cut, e);

	for (size_t i = 0; rc == OK && first && i < cut.n; i++)
		if (text_eq(cut.chain[i].name, first))
			cut.first = i;
	for (size_t i = cut.first; rc == OK && i < cut.n; i++)
		j->is_chain_away |= cut.chain[i].fd < 0;
	if (rc == OK)
		rc = log_cut_receipts(&cut, take_receipt, j, e);
	if (rc == OK)
		judge_gone(j);
	return rc;
}

int audit_rows(
	struct sys *s, struct arena *a, int state_fd, bool all, struct log_report *report, struct err *e)
{
	return audit_rows_within(s, a, state_fd, all, IN_MEMORY, report, e);
}

static int join(struct joining *j, bool all, struct err *e)
{
	bool is_much = false;
	int rc = all ? OK : is_long(j, &is_much, e);

	if (is_much)
		j->from = j->report->receipts_before;
	if (rc == OK)
		rc = take_receipts(j, is_much ? j->report->file_before : NULL, e);
	if (rc == OK)
		rc = notes_check_end(j->notes, e);
	if (rc == OK)
		rc = j->wanted.is_open ? join_in_files(j, e) : join_in_memory(j, e);
	if (rc == OK)
		count_notes(j);
	if (rc == OK)
		rc = answer(j, e);
	if (rc == OK)
		rc = rows_check_readable(j->s, j->a, j->state_fd, j->report, e);
	return rc ? rc : rows_check_memory(j->s, j->a, j->state_fd, j->report, j->kept, e);
}

static int rows_within(struct sys *s, struct arena *a, int state_fd, bool all, size_t in_memory,
	struct log_report *report, struct rows_kept *kept, struct err *e)
{
	struct joining j = { .s = s,
		.in_memory = in_memory,
		.a = a,
		.state_fd = state_fd,
		.memory = { .limit_bytes = (size_t)4 << 30 },
		.lost = { .a = a },
		.kept = kept,
		.lock = kept ? kept->lock : CUT_MOMENT,
		.report = report };

	j.noted.kept = kept;
	j.noted.lost = &j.lost;
	j.notes = notes_check_begin(s, a, state_fd, take_note, &j, &j.noted);
	int rc = join(&j, all, e);
	if (rc == OK && kept) {
		kept->list = arena_zalloc(a, j.n + 1, sizeof(*kept->list));
		if (j.n)
			memcpy(kept->list, j.list, j.n * sizeof(*kept->list));
		kept->n = j.n;
		kept->lost = arena_zalloc(a, 1, sizeof(*kept->lost));
		*kept->lost = j.lost;
	}
	notes_check_done(j.notes);
	pile_close(&j.wanted);
	pile_close(&j.there);
	pile_close(&j.found);
	arena_done(&j.memory);
	return rc;
}

int audit_rows_within(struct sys *s, struct arena *a, int state_fd, bool all, size_t in_memory,
	struct log_report *report, struct err *e)
{
	return rows_within(s, a, state_fd, all, in_memory, report, NULL, e);
}

int audit_rows_keep(struct sys *s, struct arena *a, int state_fd, enum cut_lock lock,
	struct log_report *report, struct rows_kept *ret, struct err *e)
{
	*ret = (struct rows_kept){ .a = a, .lock = lock };
	return rows_within(s, a, state_fd, true, SIZE_MAX, report, ret, e);
}

/* notes_check.c — are the notes of calls still those that receipts speak of?
 *
 * Each receipt that says something about notes names a part of the ledger of calls by its places, and the
 * digest of that part (record/notes.c).  Here both are compared.  The parts follow each other as the receipts
 * do, so the ledger is read once, beside them; a part that begins before the one before it ended (the ledger
 * was shorter for a while, or the writer had forgotten where it was) is read for itself.  What no receipt
 * speaks of yet is not looked at: it may have been lost in a power cut.
 *
 * What receipts say is kept in memory while there is little of it, and in a nameless file else. */
#include "audit/rows.h"
#include "base/hash.h"
#include "base/text.h"

#include <fcntl.h>
#include <string.h>

enum { HELD = 4096 };

/* What one receipt says. */
struct said {
	off_t from, to;
	uint64_t clock;
	uint8_t hash[SHA256_SIZE];
};

struct notes_check {
	struct sys *s;
	int state_fd;
	notes_visit *fn;
	void *arg;
	struct notes_result *ret;
	/* What receipts say: those in the file first, then those in memory. */
	int fd; /* -1: none is in a file */
	struct said held[HELD];
	size_t held_n;
	uint64_t filed; /* in the file */
	/* Reading them again, and the ledger beside it. */
	struct said window[256];
	uint64_t next;
	bool has_now;
	struct said now; /* the one whose text is being read */
	struct sha256 h;
	off_t ended; /* where the one before it ended */
};

struct notes_check *notes_check_begin(
	struct sys *s, struct arena *a, int state_fd, notes_visit *fn, void *arg, struct notes_result *ret)
{
	struct notes_check *c = arena_zalloc(a, 1, sizeof(*c));

	c->s = s;
	c->state_fd = state_fd;
	c->fn = fn;
	c->arg = arg;
	c->ret = ret;
	c->fd = -1;
	return c;
}

void notes_check_done(struct notes_check *c)
{
	close_fd(&c->fd);
	c->fd = -1;
}

static int flush(struct notes_check *c, struct err *e)
{
	const char *at = (const char *)c->held;
	size_t left = c->held_n * sizeof(*c->held);

	if (c->fd < 0 && (c->fd = audit_open_nameless(c->s)) < 0)
		return err_sys(
			e, "ROWS_CHECK", "cannot make a temporary file; TMPDIR can name another place");
	while (left) {
		ssize_t n = c->s->write(c->s, c->fd, at, left);
		if (n < 0)
			return err_sys(e, "ROWS_CHECK",
				"cannot write a temporary file; TMPDIR can name another place");
		at += n;
		left -= (size_t)n;
	}
	c->filed += c->held_n;
	c->held_n = 0;
	return OK;
}

/* Digits that are none count as a digest that nothing has: what was signed is compared, whatever it is. */
int notes_check_take(struct notes_check *c, const struct json *receipt, uint64_t clock, struct err *e)
{
	struct notes_said x;
	struct said one = { .clock = clock };

	if (!receipt_notes(receipt, &x))
		return OK;
	one.from = x.from;
	one.to = x.to;
	(void)hex_decode(x.sha256, strlen(x.sha256), one.hash, SHA256_SIZE, true);
	c->ret->bound++;
	if (c->held_n == HELD) {
		int rc = flush(c, e);
		if (rc)
			return rc;
	}
	c->held[c->held_n++] = one;
	return OK;
}

/* The next one, in the order of the chain. */
static int next_said(struct notes_check *c, struct err *e)
{
	uint64_t i = c->next++;

	c->has_now = i < c->filed + c->held_n;
	if (!c->has_now)
		return OK;
	if (i >= c->filed) {
		c->now = c->held[i - c->filed];
		return OK;
	}
	size_t at = i % ARRAY_SIZE(c->window);
	if (at == 0) {
		uint64_t left = c->filed - i;
		size_t n = left < ARRAY_SIZE(c->window) ? (size_t)left : ARRAY_SIZE(c->window);
		size_t bytes = n * sizeof(c->now), done = 0;
		while (done < bytes) {
			ssize_t got = c->s->pread(c->s, c->fd, (char *)c->window + done, bytes - done,
				(off_t)(i * sizeof(c->now) + done));
			if (got <= 0)
				return err_sys(e, "ROWS_CHECK", "cannot read a temporary file");
			done += (size_t)got;
		}
	}
	c->now = c->window[at];
	return OK;
}

/* Is a piece in which this part lies not here because it was archived? */
static bool is_away(struct notes_check *c, const struct said *x)
{
	AUTO(arena_done) struct arena a = { 0 };

	for (off_t i = x->from >> LEDGER_PLACE_BITS; i <= x->to >> LEDGER_PLACE_BITS; i++)
		if (ledger_is_archived(c->s, &a, c->state_fd, TOOL_CALLS, (unsigned)i + 1))
			return true;
	return false;
}

/* Is it on record that these notes stand elsewhere, where they are still the same, or that they are lost, and nothing has changed since? */
static bool is_on_record(struct notes_check *c, const uint8_t hash[SHA256_SIZE])
{
	const struct lost_notes *l = c->ret->lost ? losses_of_notes(c->ret->lost, c->now.clock) : NULL;
	char hex[SHA256_HEX] = "", want[SHA256_HEX];

	if (!l)
		return false;
	hex_encode(l->at >= 0 ? c->now.hash : hash, SHA256_SIZE, want);
	if (l->at < 0)
		return !*l->now || text_eq(l->now, want);
	return ledger_range_digest(c->s, c->state_fd, TOOL_CALLS, l->at, l->at + (c->now.to - c->now.from),
		       hex, &(struct err){ 0 }) == OK &&
		text_eq(hex, want);
}

static void keep_range(struct notes_check *c, bool is_good)
{
	struct rows_kept *k = c->ret->kept;

	if (!k)
		return;
	GROW(k->a, k->ranges, k->range_n, k->range_cap);
	struct notes_range *to = &k->ranges[k->range_n++];
	*to = (struct notes_range){
		.clock = c->now.clock, .from = c->now.from, .to = c->now.to, .is_good = is_good
	};
	memcpy(to->hash, c->now.hash, SHA256_SIZE);
}

/* Why it differs is asked only when it does. */
static void judge(struct notes_check *c, const uint8_t hash[SHA256_SIZE])
{
	struct notes_result *r = c->ret;
	bool is_same = memcmp(hash, c->now.hash, SHA256_SIZE) == 0,
	     is_known = !is_same && is_on_record(c, hash);

	keep_range(c, is_same || is_known || is_away(c, &c->now));
	r->excused += is_known;
	if (is_same || is_known)
		return;
	if (is_away(c, &c->now)) {
		r->away++;
		return;
	}
	if (r->changed++ < ARRAY_SIZE(r->bad))
		r->bad[r->changed - 1] = c->now.clock;
}

/* On to the next one that is read along with the ledger.  Those that begin too early are read at once. */
static int begin_next(struct notes_check *c, struct err *e)
{
	char hex[SHA256_HEX] = "";
	uint8_t hash[SHA256_SIZE] = { 0 };
	struct err why = { 0 };
	int rc = next_said(c, e);

	while (rc == OK && c->has_now && c->now.from < c->ended) {
		rc = ledger_range_digest(c->s, c->state_fd, TOOL_CALLS, c->now.from, c->now.to, hex, &why);
		if (rc == OK)
			(void)hex_decode(hex, strlen(hex), hash, SHA256_SIZE, true);
		if (rc && rc != E_CORRUPT && rc != E_MISSING) {
			*e = why;
			return rc;
		}
		judge(c, hash);
		rc = next_said(c, e);
	}
	sha256_begin(&c->h);
	return rc;
}

static int end_this(struct notes_check *c, struct err *e)
{
	uint8_t hash[SHA256_SIZE];

	sha256_end(&c->h, hash);
	judge(c, hash);
	c->ended = c->now.to;
	return begin_next(c, e);
}

/* Few notes speak of rows, so only those are read as JSON. */
static int visit_rows(struct notes_check *c, struct bytes text, struct err *e)
{
	static const char name[] = "\"rows_sha256\"";
	AUTO(arena_done) struct arena a = { 0 };
	struct json *row;

	if (!c->fn || !memmem(text.p, text.n, name, sizeof(name) - 1) ||
		json_parse(&a, text, TOOL_CALLS, NULL, &row, NULL))
		return OK;
	return c->fn(c->arg, c->now.clock, json_get(row, "rows_sha256"), e);
}

/* The bytes of this line, to the parts they lie in: one, if nothing was changed. */
static int take_line(void *arg, off_t place, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct notes_check *c = arg;
	off_t end = place + (off_t)text.n + is_whole;
	int rc = OK;

	(void)line;
	while (rc == OK && c->has_now && c->now.to <= place)
		rc = end_this(c, e);
	if (rc == OK && c->has_now && c->now.from <= place && end <= c->now.to)
		rc = visit_rows(c, text, e);
	while (rc == OK && c->has_now && c->now.from < end) {
		off_t from = place < c->now.from ? c->now.from : place,
		      to = end < c->now.to ? end : c->now.to;
		bool has_newline = is_whole && to == end && from < to;
		if (from < to)
			sha256_add(&c->h, text.p + (from - place), (size_t)(to - from) - has_newline);
		if (has_newline)
			sha256_add(&c->h, "\n", 1);
		if (c->now.to > end)
			break;
		rc = end_this(c, e);
	}
	return rc == OK && !c->has_now ? 1 : rc;
}

/* A ledger that cannot be read to its end has none of the rest: that is a finding, and no reason to say
 * nothing. */
int notes_check_end(struct notes_check *c, struct err *e)
{
	struct err why = { 0 };
	int rc = begin_next(c, e);

	if (rc == OK && c->has_now)
		rc = ledger_lines_past(c->s, c->state_fd, TOOL_CALLS, c->now.from, take_line, c, &why);
	if (rc && rc != E_CORRUPT && rc != E_MISSING) {
		if (why.rc)
			*e = why;
		return rc;
	}
	for (rc = OK; rc == OK && c->has_now;)
		rc = end_this(c, e);
	return rc;
}

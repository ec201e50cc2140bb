/* chain_stream.c — a chain of receipts as long as a file can be, in memory that does not grow with it.
 *
 * The file is read twice.  The first time only receipts that speak of the chain itself are kept: changes of keys and repairs, which
 * may stand far behind what they explain.  The second time pieces of whole lines are verified like small chains (chain.c); each
 * begins with the last line of the one before, so that no link is left out.  The answers of all pieces are merged.
 *
 * Only for chains of one session, which is what a workspace writes: with several at once a link could reach over a whole piece.
 * Then false is returned, and the caller reads the file as a whole. */
#include "verify/parts.h"
#include "verify/verify.h"

#include "base/text.h"

#include <string.h>

enum { LINE_MOST = 64 << 20, SEAMS_MOST = 16 << 20 };

struct chain_stream {
	struct verification *v;
	struct sys *sys;
	int fd;
	const char *name;
	struct trust trust; /* the caller's, and what the chain itself tells of */
	struct gaps gaps;
	struct buf keys;
	/* What was found over all pieces. */
	uint64_t lines, lost;
	bool is_first, is_odd; /* is_odd: not for this way of reading */
	struct check checks[8];
	size_t check_n;
	struct merkle tree;
	struct hash last;
	uint64_t clock; /* of the last receipt */
	char *hold; /* the last line, with its newline, then what is read behind it */
	size_t context, n, cap;
	struct arena hold_arena;
	bool has_last_note, has_late_note, has_spelling_note;
};

static bool take_seam(struct chain_stream *s, struct bytes line)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct verification one;
	struct json *receipt;

	if (memmem(line.p, line.n, KEY_EFFECT, strlen(KEY_EFFECT))) {
		buf_add(&s->keys, line.p, line.n);
		buf_addc(&s->keys, '\n');
	}
	if (!memmem(line.p, line.n, REPAIR_EFFECT, strlen(REPAIR_EFFECT)) ||
		json_parse(&scratch, line, s->name, NULL, &receipt, NULL) || !gap_is_seam(&scratch, receipt))
		return s->keys.n <= SEAMS_MOST;
	/* Believed under the keys that are known by then; a key that only a later change of keys introduces needs the whole file. */
	struct trust trust = s->trust;
	(void)trust_add_seam_lines(&scratch, buf_bytes(&s->keys), &trust);
	verification_begin(&one, &scratch, &trust, "receipt");
	verify_receipt(&one, receipt);
	if (one.integrity == ANSWER_YES &&
		(one.trusted == ANSWER_YES || (trust.allow_self_attested && !trust.key_count)))
		(void)gaps_take(&s->gaps, s->v->a, receipt);
	return true;
}

static int read_more(struct chain_stream *s, off_t *at, bool *ret_is_end, struct err *e)
{
	if (s->n == s->cap) {
		if (s->cap >= LINE_MOST)
			return err_set(
				e, E_INPUT, "VERIFY_LINE", "%s has a line longer than any receipt", s->name);
		s->hold = arena_grow(&s->hold_arena, s->hold, s->cap, 2 * s->cap);
		s->cap *= 2;
	}
	ssize_t got = s->sys->pread(s->sys, s->fd, s->hold + s->n, s->cap - s->n, *at);
	if (got < 0)
		return err_sys(e, "VERIFY_READ", "cannot read %s", s->name);
	s->n += (size_t)got;
	*at += got;
	*ret_is_end = got == 0;
	return OK;
}

/* The first time. */
static int find_seams(struct chain_stream *s, struct err *e)
{
	bool is_end = false;
	int rc = OK;

	s->n = 0;
	for (off_t at = 0; rc == OK && !is_end && !s->is_odd;) {
		rc = read_more(s, &at, &is_end, e);
		struct bytes rest = { (uint8_t *)s->hold, s->n };
		const uint8_t *end;
		while (rc == OK && rest.n && (end = memchr(rest.p, '\n', rest.n)))
			s->is_odd |= !take_seam(s, text_cut(&rest, '\n'));
		memmove(s->hold, rest.p, rest.n);
		s->n = rest.n;
	}
	return rc;
}

/* One check of a name over all pieces: a failure counts, then a pass. */
static void merge_check(struct chain_stream *s, const struct check *c)
{
	size_t i = 0;

	while (i < s->check_n && !text_eq(s->checks[i].name, c->name))
		i++;
	if (i == ARRAY_SIZE(s->checks))
		return;
	bool is_new = i == s->check_n;
	s->check_n += is_new;
	if (is_new || (s->checks[i].status != CHECK_FAIL && c->status == CHECK_FAIL) ||
		(s->checks[i].status == CHECK_NOT_APPLICABLE && c->status == CHECK_PASS))
		s->checks[i] = (struct check){ c->name, c->status, arena_strdup(s->v->a, c->detail) };
}

static const char *keep(struct chain_stream *s, const char *text)
{
	return text ? arena_strdup(s->v->a, text) : NULL;
}

static void merge_piece(struct chain_stream *s, const struct verification *one)
{
	struct verification *v = s->v;
	bool had_error = v->error != NULL;

	verify_merge(v, one, s->is_first);
	v->signer = v->signer == one->signer ? keep(s, v->signer) : v->signer;
	v->key_order = one->key_order;
	s->trust.key_order = one->key_order;
	if (!had_error && one->error)
		verify_at(v, keep(s, one->record), keep(s, one->member), keep(s, one->expected),
			keep(s, one->found));
	if (!json_get(v->values, "line") && json_get(one->values, "line"))
		json_seti(v->a, v->values, "line", json_get_int(one->values, "line", 0));
	for (size_t i = 0; i < one->check_count; i++)
		merge_check(s, &one->checks[i]);
	s->lost += (uint64_t)json_get_int(one->values, "lost", 0);
	s->has_last_note = false;
	json_each (note, one->notes) {
		s->has_late_note |= s->is_first && text_starts(json_text(note), "a session's first receipts");
		s->has_last_note |= text_starts(json_text(note), "unsigned members of the last");
		s->has_spelling_note |= text_starts(json_text(note), "some lines are not canonical");
	}
}

/* The tree over receipts that are new in this piece, and over the leaves of those that are lost between them. */
static void grow_tree(struct chain_stream *s, const struct line_place *places, size_t n)
{
	for (size_t i = s->is_first ? 0 : 1; i < n; i++) {
		const struct gap *g = places[i].clock == s->clock + 1
			? NULL
			: gaps_find(&s->gaps, s->clock, &s->last, places[i].clock, &places[i].chain);
		for (uint64_t k = 0; g && k < g->next - g->after - 1; k++)
			merkle_append(&s->tree, &g->leaves[k]);
		struct hash leaf = merkle_leaf(places[i].chain.b, SHA256_SIZE);
		merkle_append(&s->tree, &leaf);
		s->clock = places[i].clock;
		s->last = places[i].chain;
	}
}

static void verify_piece(struct chain_stream *s, struct bytes text)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct trust trust = s->trust;
	struct verification one;
	struct line_place *places;
	size_t n;

	trust.root = NULL;
	verification_begin(&one, &scratch, &trust, "receipt chain");
	one.lines_before = s->is_first ? 0 : s->lines - 1;
	verify_receipt_places(&one, text, s->name, &places, &n);
	s->is_odd |= json_get_int(one.values, "sessions", 0) != 1;
	merge_piece(s, &one);
	grow_tree(s, places, n);
	s->lines += n - (s->is_first ? 0 : 1);
	s->is_first = false;
}

/* The second time. */
static int verify_pieces(struct chain_stream *s, struct err *e)
{
	bool is_end = false;
	int rc = OK;

	s->n = 0;
	s->is_first = true;
	for (off_t at = 0; rc == OK && !is_end && !s->is_odd;) {
		rc = read_more(s, &at, &is_end, e);
		if (rc || (!is_end && s->n < s->cap))
			continue;
		const char *end = is_end && s->n ? s->hold + s->n - 1 : memrchr(s->hold, '\n', s->n);
		if (!end || (size_t)(end - s->hold) + 1 <= s->context)
			continue; /* a line that does not fit yet, or nothing new */
		size_t whole = (size_t)(end - s->hold) + 1;
		verify_piece(s, (struct bytes){ (uint8_t *)s->hold, whole });
		/* The last line stays, as the beginning of the next piece. */
		const char *last = memrchr(s->hold, '\n', whole - 1);
		size_t keep_from = last ? (size_t)(last - s->hold) + 1 : 0;
		s->context = whole - keep_from;
		memmove(s->hold, s->hold + keep_from, s->n - keep_from);
		s->n -= keep_from;
	}
	return rc;
}

static void conclude(struct chain_stream *s)
{
	struct verification *v = s->v;

	for (size_t i = 0; i < s->check_n; i++)
		verify_check(v, s->checks[i].name, s->checks[i].status, s->checks[i].detail);
	json_seti(v->a, v->values, "receipts", (int64_t)s->lines);
	json_seti(v->a, v->values, "sessions", 1);
	verify_value(v, "head", hash_hex(v->a, &s->last));
	verify_chain_notes(v, s->lost, s->has_late_note, s->has_last_note, s->has_spelling_note);
	if (v->trust->root)
		verify_chain_root(v, &s->tree);
}

bool verify_receipt_file(struct verification *v, struct sys *sys, int fd, const char *name,
	size_t piece_bytes, int *ret_rc, struct err *e)
{
	struct chain_stream s = { .v = v,
		.sys = sys,
		.fd = fd,
		.name = name,
		.trust = *v->trust,
		.cap = piece_bytes,
		.is_first = true };

	v->kind = "receipt chain";
	buf_init(&s.keys, v->a);
	s.hold = arena_text(&s.hold_arena, s.cap);
	*ret_rc = find_seams(&s, e);
	(void)trust_add_seam_lines(v->a, buf_bytes(&s.keys), &s.trust);
	if (!s.trust.gaps)
		s.trust.gaps = &s.gaps;
	if (*ret_rc == OK && !s.is_odd)
		*ret_rc = verify_pieces(&s, e);
	arena_done(&s.hold_arena);
	if (*ret_rc == OK && !s.is_odd && s.lines)
		conclude(&s);
	return *ret_rc || (!s.is_odd && s.lines);
}

/* keys_repair.c — a damaged key history, put together again from whatever still has its links.
 *
 * A link is known by its number, by the digest of the one before it, and by its signatures.  So it does not matter where one comes
 * from: what is left of the file, history.end, the seams of a chain (each receipt with which a chain went on under another key carries the
 * links in between), or a copy that somebody kept.  From the first link on, the next one is taken that verifies behind those before it.
 *
 * Where there is none, and one byte of a link was changed, the link is still known by its digest, which the link after it, or
 * history.end, has: every other value of every byte is tried.
 *
 * What cannot be brought back is lost.  An operator may accept that: the key in force then begins a new line of keys. */
#include "audit/parts.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "proof/key_heal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { LINK_LIMIT = 64 << 10 };

struct piece {
	struct bytes line;
	int64_t sequence;
	const char *prev_hash; /* of the link before; "" */
	bool is_own; /* it stands in the damaged file */
};

struct mending {
	struct sys *s;
	struct arena *a;
	const char *dir;
	struct key_history was;
	struct piece *list;
	size_t n, cap;
	struct buf text; /* what was put together so far */
	int64_t links;
	const char *hash; /* of its last line */
	struct keys_repaired *ret;
};

static void add_piece(struct mending *m, struct bytes line, bool is_own)
{
	struct json *link = NULL;

	if (!line.n || line.n > LINK_LIMIT)
		return;
	(void)json_parse(m->a, line, KEY_HISTORY, NULL, &link, NULL);
	if (!link && !is_own)
		return;
	if (m->n == m->cap) {
		size_t cap = m->cap ? 2 * m->cap : 32;
		m->list = arena_grow(m->a, m->list, m->cap * sizeof(*m->list), cap * sizeof(*m->list));
		m->cap = cap;
	}
	m->list[m->n++] = (struct piece){ line, json_get_int(link, "sequence", 0),
		json_get_text(link, "prev_hash", ""), is_own };
}

static void add_lines(struct mending *m, struct bytes text, bool is_own)
{
	while (text.n)
		add_piece(m, text_cut(&text, '\n'), is_own);
}

static int take_seam(void *arg, const char *file, uint64_t line, struct bytes text,
	const struct json *receipt, struct err *e)
{
	struct mending *m = arg;

	(void)file;
	(void)line;
	(void)text;
	(void)e;
	if (!text_eq(json_get_text(receipt, "effect_id", ""), KEY_EFFECT))
		return 0;
	json_each (link, json_get(json_get(receipt, "metadata"), "links")) {
		struct buf one;
		buf_init(&one, m->a);
		json_canonical(&one, link);
		add_piece(m, buf_bytes(&one), false);
	}
	return 0;
}

/* Does the history verify with this line behind what there is? */
static bool verifies_with(struct mending *m, struct bytes line)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const struct trust nobody = { 0 };
	struct verification v;
	struct buf text;

	buf_init(&text, &a);
	buf_add(&text, m->text.p, m->text.n);
	buf_add(&text, line.p, line.n);
	buf_addc(&text, '\n');
	verification_begin(&v, &a, &nobody, "key history");
	verify_key_history(&v, buf_bytes(&text), KEY_HISTORY);
	return v.integrity == ANSWER_YES;
}

static bool take_line(struct mending *m, struct bytes line)
{
	if (!verifies_with(m, line))
		return false;
	buf_add(&m->text, line.p, line.n);
	buf_addc(&m->text, '\n');
	m->links++;
	m->hash = sha256_hex(m->a, line.p, line.n);
	return true;
}

static bool take_next(struct mending *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct piece *p = &m->list[i];
		if (p->sequence != m->links + 1 || !text_eq(p->prev_hash, m->hash) || !take_line(m, p->line))
			continue;
		m->ret->brought += !p->is_own;
		return true;
	}
	return false;
}

/* One byte of a copy of the line is another one: then its digest is this.  Costs some 200,000 digests. */
static bool find_byte(struct mending *m, struct bytes line, const char *hex)
{
	uint8_t *copy = arena_alloc(m->a, line.n), want[SHA256_SIZE], got[SHA256_SIZE];

	memcpy(copy, line.p, line.n);
	if (!hex_decode(hex, strlen(hex), want, sizeof(want), true))
		return false;
	for (size_t at = 0; at < line.n; at++) {
		for (int value = 1; value < 256; value++) {
			copy[at] = line.p[at] ^ (uint8_t)value;
			sha256(copy, line.n, got);
			if (memcmp(got, want, sizeof(got)) == 0)
				return take_line(m, (struct bytes){ copy, line.n });
		}
		copy[at] = line.p[at];
	}
	return false;
}

/* The line that stands in the place of the next link in the damaged file. */
static struct bytes own_line(const struct mending *m)
{
	struct bytes rest = m->was.raw, line = { 0 };

	for (int64_t i = 0; i <= m->links; i++)
		line = rest.n ? text_cut(&rest, '\n') : (struct bytes){ 0 };
	return line;
}

static bool mend_next(struct mending *m)
{
	struct bytes line = own_line(m);
	bool found = false;

	if (!line.n || line.n > LINK_LIMIT)
		return false;
	if (m->was.end.links == m->links + 1)
		found = find_byte(m, line, m->was.end.sha256);
	for (size_t i = 0; i < m->n && !found; i++)
		if (m->list[i].sequence == m->links + 2)
			found = find_byte(m, line, m->list[i].prev_hash);
	m->ret->mended += found;
	return found;
}

/* The key that the history must end with. */
static int load_key(struct mending *m, bool apply, char hex[2 * SIGN_PUBLIC + 1], struct err *e)
{
	AUTO(key_free) struct key *key = NULL;
	uint8_t pub[SIGN_PUBLIC];
	struct bytes text;
	int rc = keys_load(m->s, AT_FDCWD, m->dir, &key, e);

	if (rc == OK) {
		hex_encode(key_public(key), SIGN_PUBLIC, hex);
		return OK;
	}
	if (rc == E_MISSING || !apply ||
		(!text_eq(e->code, "KEY_FORMAT") && !text_eq(e->code, "KEY_MISMATCH")))
		return rc;
	/* One digit of the secret is wrong: whose it was is said by the history, or by root.pub beside it. */
	const char *active = m->was.active;
	if (!hex_decode(active, strlen(active), pub, sizeof(pub), true) &&
		(file_read(m->s, m->a, AT_FDCWD, path_join(m->a, m->dir, "root.pub"), 1024, 0, &text, NULL) ||
			key_parse_public(text, "root.pub", pub, NULL)))
		return rc;
	if (key_mend(m->s, AT_FDCWD, m->dir, "root", pub, NULL))
		return rc;
	m->ret->mended++;
	hex_encode(pub, SIGN_PUBLIC, hex);
	return keys_load(m->s, AT_FDCWD, m->dir, &key, e);
}

static const char *last_key(struct mending *m)
{
	struct verification v;
	static const struct trust nobody = { 0 };

	verification_begin(&v, m->a, &nobody, "key history");
	verify_key_history(&v, buf_bytes(&m->text), KEY_HISTORY);
	return v.integrity == ANSWER_YES ? json_get_text(v.values, "active", "") : "";
}

/* The damaged file stays beside it; then the new one takes its place, and its end is noted last. */
static int write_history(struct mending *m, struct err *e)
{
	AUTO(close_fd) int lock = -1;
	const char *path = path_join(m->a, m->dir, KEY_HISTORY);
	int rc = file_lock(m->s, AT_FDCWD, path_join(m->a, m->dir, "lock"), -1, &lock, e);

	if (rc == OK && (m->was.is_there || m->was.raw.n)) {
		m->ret->aside = arena_printf(m->a, "%s.damaged-%lld", path, (long long)m->s->now_us(m->s));
		/* A copy, so that a crash leaves the damaged file where the next try finds it; a directory in its place moves. */
		if (m->was.raw.p)
			rc = file_create(m->s, AT_FDCWD, m->ret->aside, 0600, m->was.raw, e);
		else if (m->s->rename(m->s, AT_FDCWD, path, AT_FDCWD, m->ret->aside, RENAME_NOREPLACE))
			rc = err_sys(e, "KEY_HISTORY", "cannot put '%s' aside", path);
	}
	if (rc == OK && !m->text.n && m->s->unlink(m->s, AT_FDCWD, path, 0) && errno != ENOENT)
		rc = err_sys(e, "KEY_HISTORY", "cannot remove '%s'", path);
	if (rc == OK && m->text.n)
		rc = file_replace(m->s, AT_FDCWD, path, 0600, buf_bytes(&m->text), e);
	if (rc == OK && m->links)
		rc = keys_end_write(m->s, m->a, AT_FDCWD, m->dir, buf_bytes(&m->text), e);
	else if (rc == OK)
		(void)m->s->unlink(m->s, AT_FDCWD, path_join(m->a, m->dir, KEY_HISTORY_END), 0);
	return rc;
}

static void collect(struct mending *m, const struct keys_repair *how)
{
	add_lines(m, m->was.raw, true);
	add_lines(m, how->copy, false);
	if (m->was.end.links)
		add_lines(m, bytes_of(m->was.end.copy), false);
	if (how->state_fd >= 0)
		(void)receipts_each(m->s, how->state_fd, take_seam, m, NULL);
	while (take_next(m) || mend_next(m))
		;
}

static bool is_sound(const struct mending *m, const char *hex)
{
	return m->was.is_there && m->was.is_unbroken && keys_end_holds(m->a, &m->was.end, m->was.text) &&
		text_eq(m->was.active, hex);
}

static const char *what_is_lost(struct mending *m, const char *last, const char *hex)
{
	if (!text_eq(last, hex))
		return arena_printf(m->a,
			"the links that lead from %.16s... to the key in force (%.16s...) are nowhere: not in the file, "
			"not in " KEY_HISTORY_END ", not in the record of this workspace",
			*last ? last : "no key", hex);
	return arena_printf(m->a,
		"%lld links are nowhere: not in the file, not in the record of this workspace; a key that they revoked "
		"counts again without them",
		(long long)(m->was.end.links - m->links));
}

int audit_keys_repair(struct sys *s, struct arena *a, const char *keys_dir, const struct keys_repair *how,
	struct keys_repaired *ret, struct err *e)
{
	struct mending m = { .s = s, .a = a, .dir = keys_dir, .hash = "", .ret = ret };
	char hex[2 * SIGN_PUBLIC + 1];
	struct json *link;

	*ret = (struct keys_repaired){ 0 };
	buf_init(&m.text, a);
	(void)audit_history_read(s, a, keys_dir, &m.was, NULL);
	int rc = load_key(&m, how->apply, hex, e);
	if (rc)
		return rc;
	if (is_sound(&m, hex)) {
		ret->is_sound = ret->is_whole = true;
		/* Written by an older version: from now on it is known how far it goes. */
		if (how->apply && !m.was.end.links) {
			(void)keys_end_write(s, a, AT_FDCWD, keys_dir, m.was.text, NULL);
		}
		return OK;
	}
	collect(&m, how);
	const char *last = last_key(&m);
	ret->links = m.links;
	ret->is_whole = text_eq(last, hex) && keys_end_holds(a, &m.was.end, buf_bytes(&m.text));
	if (!ret->is_whole)
		ret->text = what_is_lost(&m, last, hex);
	if (!how->apply || (!ret->is_whole && !how->accept_loss))
		return OK;
	ret->has_new_line = !text_eq(last, hex);
	rc = write_history(&m, e);
	if (rc == OK && ret->has_new_line)
		rc = keys_begin_line(s, a, AT_FDCWD, keys_dir,
			"links before this one were lost; an operator accepted that", &link, e);
	return rc;
}

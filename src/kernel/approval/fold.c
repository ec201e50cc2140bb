/* fold.c — which grants are alive, as the chain of receipts tells it.
 *
 * approvals.json lies where whatever is governed might write, and can be put back to an older state.  The
 * chain cannot: there each grant was given, revoked, or used up.  So a grant counts only when a walk along
 * the chain says that it is alive.
 *
 * The walk is not begun anew each time.  What it knew when it got to some receipt is kept as a snapshot in
 * the helm home, which is closed to everything that runs under a profile:
 * <helm home>/trees/<sha256 of the root>/grants.json.  It names that receipt by its chain hash and its place
 * in a file; the next walk goes on behind it.  A snapshot that does not fit the chain is thrown away, and
 * everything is read.  It holds only grants that are alive, so it does not grow with what was answered.
 *
 * Lines are searched for two words and parsed only when one of them is there.  Signatures are not checked
 * here: whoever uses a grant verifies the grant itself, and a line that ends one needs no proof to be
 * believed. */
#include "kernel/approval/parts.h"

#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"

#include <fcntl.h>
#include <string.h>

/* Reading so much again costs less than writing the snapshot. */
enum { SNAPSHOT_BYTES = 256 << 10, SNAPSHOT_MOST = 64 << 20, LINE_MOST = 1 << 20 };

struct fold {
	struct kernel *k;
	struct arena *a;
	struct arena scratch; /* one line's worth */
	struct json *grants; /* {id: receipt}: alive */
	const char *file; /* being read */
	off_t from; /* where this walk began in the first one */
	off_t line_at, end; /* the newest line, and behind it */
	struct buf last; /* its text */
	uint64_t read_bytes;
};

static bool holds(struct bytes text, const char *word)
{
	return memmem(text.p, text.n, word, strlen(word)) != NULL;
}

static const struct json *grant_in(const struct json *receipt)
{
	return json_get(json_get(receipt, "metadata"), "grant");
}

static bool is_once(const struct json *receipt)
{
	return json_get_bool(grant_in(receipt), "once", true);
}

/* One that cannot be parsed speaks of grants all the same: whichever it names is over. */
static void end_named(struct fold *f, struct bytes text)
{
	for (uint32_t i = f->grants->n; i-- > 0;)
		if (holds(text, f->grants->members[i].name))
			(void)json_remove(f->grants, f->grants->members[i].name);
}

/* What a receipt does to grants: gives one, ends one, uses some up. */
static void apply(struct fold *f, struct bytes text)
{
	struct json *receipt;

	arena_reset(&f->scratch);
	if (json_parse(&f->scratch, text, f->file, NULL, &receipt, NULL)) {
		end_named(f, text);
		return;
	}
	const struct json *about = json_get(receipt, "metadata");
	const char *effect = json_get_text(receipt, "effect_id", "");
	if (text_eq(effect, GRANT_EFFECT)) {
		const char *id = json_get_text(grant_in(receipt), "grant_id", "");
		if (*id)
			json_set(f->a, f->grants, arena_strdup(f->a, id), json_copy(f->a, receipt));
	} else if (text_eq(effect, REVOKE_EFFECT)) {
		(void)json_remove(f->grants, json_get_text(json_get(about, "revocation"), "grant_id", ""));
	}
	json_each (id, json_get(about, "grant_ids"))
		if (json_text(id) && json_get(f->grants, json_text(id)) &&
			is_once(json_get(f->grants, json_text(id))))
			(void)json_remove(f->grants, json_text(id));
}

/* A torn end was never acknowledged, and is read again when it is whole. */
static int take_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	struct fold *f = arg;

	(void)line;
	(void)e;
	if (!is_whole)
		return OK;
	if (holds(text, "\"helm.approval/") || holds(text, "\"grant_ids\""))
		apply(f, text);
	f->line_at = offset;
	f->end = offset + (off_t)text.n + 1;
	f->read_bytes += text.n + 1;
	f->last.n = 0;
	buf_add(&f->last, text.p, text.n);
	return OK;
}

/* ---- the snapshot ---- */

static const char *snapshot_dir(const struct kernel *k, struct arena *a)
{
	const struct workspace *ws = k->ws;

	return ws->helm_home
		? arena_printf(a, "%s/trees/%s", ws->helm_home, sha256_hex(a, ws->root, strlen(ws->root)))
		: NULL;
}

bool grants_were_given(struct kernel *k, struct arena *a)
{
	const char *dir = snapshot_dir(k, a);

	return dir && file_exists(k->sys, AT_FDCWD, arena_printf(a, "%s/grants.json", dir));
}

/* Is the receipt that the snapshot speaks of at that place of this file? */
static bool stands_in(struct fold *f, const char *file, off_t at, off_t end, const struct hash *want)
{
	struct sys *s = f->k->sys;
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd)
	int fd = s->open(s, f->k->ws->state_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);
	size_t n = (size_t)(end - at);
	char *text = arena_text(&a, n);
	struct json *receipt;
	struct hash chain;

	return fd >= 0 && s->pread(s, fd, text, n, at) == (ssize_t)n && text[n - 1] == '\n' &&
		json_parse(&a, (struct bytes){ (uint8_t *)text, n - 1 }, file, NULL, &receipt, NULL) == OK &&
		receipt_chain_hash(&a, receipt, chain.b, NULL) == OK && hash_eq(&chain, want);
}

/* The number of the file to go on with, and f as it was there; false: nothing fits, and f is as it was.  The
 * file may have been put aside under another name since, so the newest are tried first. */
static bool resume(struct fold *f, char **files, size_t n, size_t *ret_at)
{
	const char *dir = snapshot_dir(f->k, f->a);
	struct json *doc;
	struct hash chain;

	if (!dir ||
		doc_read(f->k->sys, f->a, AT_FDCWD, arena_printf(f->a, "%s/grants.json", dir), SNAPSHOT_MOST,
			0, &doc, NULL))
		return false;
	int64_t at = json_get_int(doc, "line_at", -1), end = json_get_int(doc, "offset", -1);
	if (json_get_int(doc, "version", 0) != 1 || at < 0 || end - at < 2 || end - at > LINE_MOST ||
		!json_is(json_get(doc, "grants"), JSON_OBJECT) ||
		!hash_from_hex(json_get_text(doc, "chain_hash", ""), &chain))
		return false;
	for (size_t i = n; i-- > 0;)
		if (stands_in(f, files[i], at, end, &chain)) {
			f->grants = json_get(doc, "grants");
			f->from = f->end = end;
			*ret_at = i;
			return true;
		}
	return false;
}

/* Best effort: without it the next walk is longer.  Grants that expired long ago are left out. */
static void keep(struct fold *f)
{
	const char *dir = snapshot_dir(f->k, f->a);
	struct sys *s = f->k->sys;
	struct json *doc = json_new(f->a, JSON_OBJECT), *receipt;
	struct err e = { 0 };
	struct hash chain;
	struct buf text;

	if (!dir || !f->last.n || f->last.n >= LINE_MOST ||
		json_parse(f->a, buf_bytes(&f->last), f->file, NULL, &receipt, NULL) ||
		receipt_chain_hash(f->a, receipt, chain.b, NULL))
		return;
	for (uint32_t i = f->grants->n; i-- > 0;)
		if (approval_is_long_past(grant_in(f->grants->members[i].value), "expires_at", s->now_us(s)))
			(void)json_remove(f->grants, f->grants->members[i].name);
	json_seti(f->a, doc, "version", 1);
	json_sets(f->a, doc, "root", f->k->ws->root);
	json_sets(f->a, doc, "file", f->file);
	json_seti(f->a, doc, "line_at", f->line_at);
	json_seti(f->a, doc, "offset", f->end);
	json_seti(f->a, doc, "clock", json_get_int(receipt, "lamport_clock", 0));
	json_sets(f->a, doc, "chain_hash", hash_hex(f->a, &chain));
	json_set(f->a, doc, "grants", f->grants);
	buf_init(&text, f->a);
	json_write(&text, doc, 0);
	if (file_mkdirs(s, AT_FDCWD, dir, 0700, &e) == OK)
		(void)!file_replace(
			s, AT_FDCWD, arena_printf(f->a, "%s/grants.json", dir), 0600, buf_bytes(&text), &e);
}

/* ---- the walk ---- */

int grants_alive(struct kernel *k, struct arena *a, struct json **ret, struct err *e)
{
	struct fold f = { .k = k, .a = a, .grants = json_new(a, JSON_OBJECT) };
	char **files;
	size_t n, i = 0;
	int rc = receipts_files(k->sys, a, k->ws->state_fd, &files, &n, e);

	buf_init(&f.last, a);
	bool is_resumed = rc == OK && resume(&f, files, n, &i);
	for (off_t from = f.from; rc == OK && i < n; i++, from = 0) {
		f.file = files[i];
		rc = lines_from(k->sys, k->ws->state_fd, f.file, from, take_line, &f, e);
	}
	arena_done(&f.scratch);
	if (rc)
		return rc;
	if (!is_resumed || f.read_bytes > SNAPSHOT_BYTES)
		keep(&f);
	*ret = f.grants;
	return OK;
}

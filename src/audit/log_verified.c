/* log_verified.c — how far a log was verified, so that the next check need not begin at the beginning.
 *
 * Kept outside the workspace, where nobody who is governed can write, as one document: the chain's name, how many receipts, the
 * tree over them and the hash of the last, what every file was like from outside (device, inode, length, change time) and its
 * digest, which signed heads and anchors were compared, and with what trust.  Written only after a sound check.
 *
 * It is believed only while everything of it still fits: the same trust, the same older files, the file that was the newest then
 * still with the bytes it had (they are hashed again: at most one file's worth), the same beginning of the heads, no anchor
 * that was not compared.  Anything else, and everything is read.  What is not looked at again is the content of older files whose
 * marks are unchanged, and the stored leaves of their receipts, which are derived and can be made again. */
#include "audit/checking.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

#include <fcntl.h>
#include <string.h>

enum { MOST_NOTICES = 100 };
#define VERIFIED_VERSION "helm-log-verified/v1"

static const struct doc KEPT = { .type = JSON_OBJECT, .max_bytes = 16 << 20, .code = "LOG_VERIFIED" };

/* One text per key: everything that decides what it is trusted with. */
struct json *verified_trust(struct arena *a, const struct trust *t)
{
	struct json *list = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < t->key_count; i++) {
		const struct trusted_key *k = &t->keys[i];
		char hex[2 * KEY_SIZE + 1];
		hex_encode(k->key, KEY_SIZE, hex);
		json_pushs(a, list,
			arena_printf(a, "%s order %u from %s until %s", hex, k->order,
				k->not_before ? k->not_before : "-", k->not_after ? k->not_after : "-"));
	}
	return list;
}

/* Whoever was trusted then is trusted now, with the same.  More keys make nothing untrue. */
static bool is_trust_enough(const struct json *then, const struct json *now)
{
	json_each (one, then) {
		bool is_there = false;
		json_each (other, now)
			is_there |= text_eq(json_text(one), json_text(other));
		if (!is_there)
			return false;
	}
	return json_is(then, JSON_ARRAY) && then->n;
}

/* ---- marks ---- */

static void set_mark(struct arena *a, struct json *row, const struct file_mark *m)
{
	json_sets(a, row, "mark",
		arena_printf(a, "%llu:%llu:%lld:%lld", (unsigned long long)m->dev, (unsigned long long)m->ino,
			(long long)m->size_bytes, (long long)m->changed_ns));
}

static bool has_mark(const struct json *row, const struct file_mark *m)
{
	char text[100];

	snprintf(text, sizeof(text), "%llu:%llu:%lld:%lld", (unsigned long long)m->dev,
		(unsigned long long)m->ino, (long long)m->size_bytes, (long long)m->changed_ns);
	return text_eq(json_get_text(row, "mark", ""), text);
}

/* The same file, though it may have grown and have another name. */
static bool is_same_file(const struct json *row, const struct log_file *f)
{
	char text[60];

	snprintf(text, sizeof(text), "%llu:%llu:", (unsigned long long)f->mark.dev,
		(unsigned long long)f->mark.ino);
	return text_starts(json_get_text(row, "mark", ""), text);
}

/* ---- going on ---- */

/* An older file is as it was, or was moved away since, on record, with the digest it had. */
static bool is_as_verified(struct log_checking *c, const struct json *row, const struct log_file *f)
{
	if (!text_eq(json_get_text(row, "file", ""), f->name))
		return false;
	if (!f->moved)
		return f->fd >= 0 && has_mark(row, &f->mark);
	const struct json *moved = moved_row(c, f);
	return moved && text_eq(json_get_text(moved, "sha256", ""), json_get_text(row, "sha256", "?"));
}

/* Where to go on: all older files of then must be there unchanged, and the newest one of then must be the same
 * file, at least as long. */
static bool find_place(struct log_checking *c, const struct json *doc)
{
	const struct json *files = json_get(doc, "files"), *newest;

	if (!json_is(files, JSON_ARRAY) || !files->n || files->n > c->cut->n)
		return false;
	for (uint32_t i = 0; i + 1 < files->n; i++)
		if (!is_as_verified(c, files->items[i], &c->cut->chain[i]))
			return false;
	const struct log_file *f = &c->cut->chain[files->n - 1];
	newest = files->items[files->n - 1];
	c->known.first = files->n - 1;
	c->known.at = (off_t)json_get_int(newest, "bytes", -1);
	c->known.line = (uint64_t)json_get_int(newest, "receipts", -1);
	return f->fd >= 0 && !f->moved && is_same_file(newest, f) && c->known.at >= 0 &&
		c->known.at <= f->size_bytes &&
		hash_from_hex(json_get_text(newest, "sha256", ""), &c->known.digest);
}

/* The heads that were verified then are the beginning of the file still. */
static bool has_heads(struct log_checking *c, const struct json *doc)
{
	AUTO(arena_done) struct arena a = { 0 };
	int64_t n = json_get_int(doc, "heads_bytes", -1);

	if (n < 0 || n > (int64_t)c->cut->heads.size_bytes || n > (64 << 20))
		return false;
	char *text = arena_text(&a, (size_t)n + 1);
	if (n && log_file_read(c->cut, &c->cut->heads, text, (size_t)n, 0, NULL))
		return false;
	c->known.heads_bytes = (off_t)n;
	return text_eq(sha256_hex(&a, text, (size_t)n), json_get_text(doc, "heads_sha256", "?"));
}

static bool read_tree(const struct json *doc, struct merkle *ret)
{
	const struct json *list = json_get(doc, "tree");
	uint32_t n = 0;

	*ret = (struct merkle){ .size = (uint64_t)json_get_int(doc, "tree_size", 0) };
	for (unsigned k = MERKLE_MAX_PATH; k-- > 0;)
		if (ret->size >> k & 1)
			if (!hash_from_hex(json_text(json_at(list, n++)), &ret->edge[k]))
				return false;
	return ret->size > 0;
}

static struct json *load(struct log_checking *c)
{
	struct doc kept = KEPT;
	struct json *doc;

	kept.file = c->options->verified;
	if (!kept.file || doc_load(c->sys, c->a, AT_FDCWD, &kept, &doc, NULL) ||
		!text_eq(json_get_text(doc, "version", ""), VERIFIED_VERSION))
		return NULL;
	return doc;
}

/* Like an anchor: it lies where who changed the log cannot have changed it. */
void verified_claim(struct log_checking *c)
{
	struct json *doc = c->known.doc ? NULL : load(c);
	int64_t heads = json_get_int(doc, "heads", 0);
	struct claim claim = { .is_anchor = true, .where = "what was verified before" };

	claim.size = (uint64_t)json_get_int(doc, "tree_size", 0);
	claim.timestamp = json_get_text(doc, "verified_at", "");
	claim.chain = json_get_text(doc, "chain", "");
	c->heads_before = heads > 0 ? (uint64_t)heads : 0;
	c->heads_before_time = claim.timestamp;
	c->heads_before_chain = claim.chain;
	if (doc && hash_from_hex(json_get_text(doc, "root_hash", ""), &claim.root))
		heads_add(c, &claim);
}

/* Findings of then that are about the chain itself hold still: holes that are on record. */
static void resume_report(struct log_checking *c, const struct json *doc)
{
	const struct json *files = json_get(doc, "files");

	json_each (f, json_get(doc, "notices"))
		json_push(c->a, c->findings, json_copy(c->a, f));
	json_each (s, json_get(doc, "repairs"))
		json_push(c->a, c->seams, json_copy(c->a, s));
	for (uint32_t i = 0; i + 1 < files->n; i++) {
		const struct log_file *f = &c->cut->chain[i];
		struct json *row = json_copy(c->a, files->items[i]);
		json_remove(row, "mark");
		json_push(c->a, c->files, row);
		if (f->moved && f->moved_to)
			json_sets(c->a, row, "archived_to", f->moved_to);
		if (f->moved && f->fd < 0)
			moved_note(c, f, moved_row(c, f));
	}
}

void verified_resume(struct log_checking *c)
{
	struct json *doc = c->options->all ? NULL : load(c);
	struct hash last;
	struct merkle tree;

	if (!doc || !is_trust_enough(json_get(doc, "trust"), c->trusted) || !find_place(c, doc) ||
		!has_heads(c, doc) || !read_tree(doc, &tree) ||
		!hash_from_hex(json_get_text(doc, "last_hash", ""), &last)) {
		c->known = (struct verified){ 0 };
		return;
	}
	c->known.doc = doc;
	c->tree = tree;
	c->n = tree.size;
	c->last = last;
	c->session = json_get_text(doc, "chain", "");
	c->receipts = (uint64_t)json_get_int(doc, "receipts", 0);
	c->lost = (uint64_t)json_get_int(doc, "lost_on_record", 0);
	c->archived = (uint64_t)json_get_int(doc, "archived_receipts", 0);
	c->confirmed = (uint64_t)json_get_int(doc, "confirmed", 0);
	c->key_order = (unsigned)json_get_int(doc, "key_order", 0);
	c->trust.key_order = (unsigned)json_get_int(doc, "signed_order", 0);
	resume_report(c, doc);
}

/* A claim of then, by size and root. */
static bool was_compared(struct log_checking *c, const struct claim *claim)
{
	json_each (row, json_get(c->known.doc, "compared"))
		if ((uint64_t)json_get_int(row, "tree_size", 0) == claim->size &&
			text_eq(json_get_text(row, "root_hash", ""), hash_hex(c->a, &claim->root)))
			return true;
	return false;
}

void verified_claims(struct log_checking *c)
{
	struct claims *l = &c->claims;

	if (!c->known.doc)
		return;
	for (; l->at < l->n && l->list[l->at].size <= c->n; l->at++) {
		if (l->list[l->at].size == c->n)
			heads_check(c, &l->list[l->at]);
		else if (!was_compared(c, &l->list[l->at]))
			c->is_doubted = true;
	}
}

/* ---- remembering ---- */

static struct json *claims_json(struct log_checking *c)
{
	struct json *list = json_new(c->a, JSON_ARRAY);

	for (size_t i = 0; i < c->claims.at; i++) {
		const struct claim *claim = &c->claims.list[i];
		struct json *row = json_new(c->a, JSON_OBJECT);
		if (!claim->is_anchor || claim->is_refuted)
			continue;
		json_seti(c->a, row, "tree_size", (int64_t)claim->size);
		json_sets(c->a, row, "root_hash", hash_hex(c->a, &claim->root));
		json_push(c->a, list, row);
	}
	json_each (row, json_get(c->known.doc, "compared"))
		json_push(c->a, list, json_copy(c->a, row));
	return list;
}

/* The rows of the report with the marks of the files; the last one is as far as it was read. */
static struct json *files_json(struct log_checking *c)
{
	struct json *list = json_new(c->a, JSON_ARRAY);

	for (uint32_t i = 0; i < c->files->n; i++) {
		struct json *row = json_copy(c->a, c->files->items[i]);
		if (c->cut->chain[i].fd >= 0)
			set_mark(c->a, row, &c->cut->chain[i].mark);
		json_push(c->a, list, row);
	}
	return list;
}

/* The heads of the moment up to their last whole line. */
static bool set_heads(struct log_checking *c, struct json *doc, size_t heads)
{
	AUTO(arena_done) struct arena a = { 0 };
	size_t n = (size_t)c->cut->heads.size_bytes;

	if (n > (64 << 20))
		return false;
	char *text = arena_text(&a, n + 1);
	if (n && log_file_read(c->cut, &c->cut->heads, text, n, 0, NULL))
		return false;
	const char *end = n ? memrchr(text, '\n', n) : NULL;
	n = end ? (size_t)(end - text) + 1 : 0;
	json_seti(c->a, doc, "heads", (int64_t)heads);
	json_seti(c->a, doc, "heads_bytes", (int64_t)n);
	json_sets(c->a, doc, "heads_sha256", sha256_hex(&a, text, n));
	return true;
}

/* Only what is about the chain for ever: what a crash left, or what cannot be read just now, is looked at again. */
static struct json *lasting_notices(struct log_checking *c)
{
	struct json *list = json_new(c->a, JSON_ARRAY);

	json_each (f, c->findings)
		if (text_eq(json_get_text(f, "what", ""), "gap"))
			json_push(c->a, list, json_copy(c->a, f));
	return list;
}

static void set_tree(struct log_checking *c, struct json *doc)
{
	struct json *tree = json_new(c->a, JSON_ARRAY);
	struct hash root = merkle_head(&c->tree);

	for (unsigned k = MERKLE_MAX_PATH; k-- > 0;)
		if (c->tree.size >> k & 1)
			json_pushs(c->a, tree, hash_hex(c->a, &c->tree.edge[k]));
	json_seti(c->a, doc, "tree_size", (int64_t)c->tree.size);
	json_sets(c->a, doc, "root_hash", hash_hex(c->a, &root));
	json_set(c->a, doc, "tree", tree);
	json_sets(c->a, doc, "last_hash", hash_hex(c->a, &c->last));
}

/* Never an error: who cannot remember reads everything the next time. */
void verified_keep(struct log_checking *c)
{
	struct json *doc = json_new(c->a, JSON_OBJECT), *notices = lasting_notices(c);
	const char *slash = c->options->verified ? strrchr(c->options->verified, '/') : NULL;
	const struct log_file *newest = c->cut->n ? &c->cut->chain[c->cut->n - 1] : NULL;
	struct doc kept = KEPT;

	if (!slash || !c->report->is_sound || !c->n || c->report->omitted || notices->n > MOST_NOTICES ||
		!newest || newest->moved || c->files->n != c->cut->n)
		return;
	json_sets(c->a, doc, "version", VERIFIED_VERSION);
	json_sets(c->a, doc, "verified_at", text_time_z(c->a, c->sys->now_us(c->sys)));
	json_sets(c->a, doc, "by", arena_printf(c->a, "user:%u", (unsigned)c->sys->euid(c->sys)));
	json_set(c->a, doc, "trust", c->trusted);
	json_sets(c->a, doc, "chain", c->session);
	set_tree(c, doc);
	json_seti(c->a, doc, "receipts", (int64_t)c->receipts);
	json_seti(c->a, doc, "lost_on_record", (int64_t)c->lost);
	json_seti(c->a, doc, "archived_receipts", (int64_t)c->archived);
	json_seti(c->a, doc, "confirmed", (int64_t)c->confirmed);
	json_seti(c->a, doc, "key_order", (int64_t)c->key_order);
	json_seti(c->a, doc, "signed_order", (int64_t)c->trust.key_order);
	json_set(c->a, doc, "files", files_json(c));
	json_set(c->a, doc, "compared", claims_json(c));
	json_set(c->a, doc, "repairs", c->seams);
	json_set(c->a, doc, "notices", notices);
	if (!set_heads(c, doc, (size_t)json_get_int(c->report->doc, "heads", 0)))
		return;
	kept.file = c->options->verified;
	if (file_mkdirs(c->sys, AT_FDCWD, arena_strndup(c->a, kept.file, (size_t)(slash - kept.file)), 0700,
		    NULL) == OK)
		(void)!doc_replace(c->sys, c->a, AT_FDCWD, &kept, doc, NULL);
}

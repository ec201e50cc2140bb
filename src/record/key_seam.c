/* key_seam.c — the chain goes on under another key.
 *
 * A writer may have loaded its key long before it appends: a run of hours, with a rotation in between.  So
 * it looks under the log's lock whether its key is still the one in force, and takes the new one when it is
 * not.  Behind the first receipt of a new key there is never one of an older key, and that is what readers
 * rely on: which key was in force is told by the place in the chain, never by a clock.
 *
 * The change itself is on record.  Whoever appends under another key than the newest receipt has puts a seam
 * before its own receipts, in the same write: a receipt that carries the links of the key history since the
 * key before.  Its output_hash is the digest of that, and each link is signed by both keys, so that a chain
 * can be followed from any one key to the others without the history file. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* The public half beside the secret is ours: so is the secret, and nothing has changed. */
static bool is_in_force(struct recorder *r, struct arena *a)
{
	struct bytes text;

	return file_read(r->sys, a, AT_FDCWD, arena_printf(a, "%s/root.pub", r->keys_dir), 1024, 0, &text,
		       NULL) == OK &&
		key_is_public(r->key, text);
}

/* A file that is exchanged between this and the loading has another mark at the first append, which looks
 * closer then. */
void recorder_mark_key(struct recorder *r)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct stat st;

	if (r->keys_dir &&
		r->sys->stat(r->sys, AT_FDCWD, arena_printf(&a, "%s/root.key", r->keys_dir), &st,
			AT_SYMLINK_NOFOLLOW) == 0)
		r->key_file = mark_of(&st);
}

/* One stat when nothing has changed since the last look.  A key whose file is gone is still the newest there
 * is: what happened is better recorded with it than not at all. */
int key_renew(struct recorder *r, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(key_free) struct key *now = NULL;
	struct stat st;

	if (!r->key || !r->keys_dir)
		return OK;
	if (r->sys->stat(
		    r->sys, AT_FDCWD, arena_printf(&a, "%s/root.key", r->keys_dir), &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT
			? OK
			: err_sys(e, "LOG_KEY", "cannot look whether the signing key is still in force");
	struct file_mark mark = mark_of(&st);
	if (mark_eq(&mark, &r->key_file))
		return OK;
	if (!is_in_force(r, &a)) {
		int rc = keys_load(r->sys, AT_FDCWD, r->keys_dir, &now, e);
		if (rc)
			return rc;
		if (memcmp(key_public(now), key_public(r->key), SIGN_PUBLIC) != 0) {
			key_free(&r->renewed);
			r->key = r->renewed = now;
			now = NULL;
		}
	}
	r->key_file = mark;
	return OK;
}

/* Nothing to tell: the chain is new, or its newest key is ours, or ours is older than its history, or the
 * only link says that it was created. */
int key_seam_draft(
	struct recorder *r, struct arena *a, const struct chain_end *at, struct draft *ret, struct err *e)
{
	static const uint8_t nobody[SIGN_PUBLIC] = { 0 };
	bool is_known = memcmp(at->signer, nobody, SIGN_PUBLIC) != 0;
	char before[2 * SIGN_PUBLIC + 1] = "", now[2 * SIGN_PUBLIC + 1];
	struct json *links, *about = json_new(a, JSON_OBJECT);

	*ret = (struct draft){ 0 };
	if (!at->clock || !r->keys_dir || memcmp(at->signer, key_public(r->key), SIGN_PUBLIC) == 0)
		return OK;
	if (is_known)
		hex_encode(at->signer, SIGN_PUBLIC, before);
	hex_encode(key_public(r->key), SIGN_PUBLIC, now);
	int rc = keys_links_since(r->sys, a, AT_FDCWD, r->keys_dir, before, &links, e);
	if (rc || !links->n || (!is_known && links->n == 1))
		return rc;
	json_sets(a, about, "key", now);
	json_sets(a, about, "previous_key", before);
	json_set(a, about, "links", links);
	*ret = (struct draft){ .decision_id = arena_printf(a, "seam-%llu", (unsigned long long)at->clock + 1),
		.effect_id = KEY_SEAM_EFFECT,
		.status = "SEALED",
		.type = "seam",
		.output_hash = json_sha256(a, about),
		.metadata = about };
	return OK;
}

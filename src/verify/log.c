/* log.c — tree heads of the transparency log, inclusion and consistency proofs.
 *
 * A proof is checked against a root the caller has from elsewhere.  The root inside a proof proves nothing
 * and is never used: whoever made up the proof made up that root as well.  The arithmetic is in
 * proof/merkle.c; here documents are read, and failures get their stable names. */
#include "model/records.h"
#include "proof/merkle.h"
#include "proof/preimage.h"
#include "verify/parts.h"

#include <string.h>

/* The bytes a tree head signs.  A head that does not fit the table is refuted. */
static bool tree_head_preimage(struct verification *v, const struct json *head, struct bytes *ret)
{
	struct err e = { 0 };
	struct buf b;

	buf_init(&b, v->a);
	if (projection_write(&b, &tree_head_projection, NULL, head, &e))
		return verify_refute_err(v, &e);
	*ret = buf_bytes(&b);
	return true;
}

/* A log is named by the hash of its key, so a head cannot be moved to another log.  Asked only when some
 * key verified the head; without a signer there is nothing to compare with. */
static bool check_log_id(struct verification *v, const struct json *head)
{
	uint8_t key[KEY_SIZE];
	char *expected;

	if (!v->signer || !trust_parse_key(v->signer, key))
		return true;
	expected = sha256_hex(v->a, key, sizeof(key));
	if (text_eq(expected, member_text(head, "log_id")))
		return true;
	verify_at(v, NULL, "log_id", expected, member_text(head, "log_id"));
	return verify_refute(v, "log_id mismatch", "log_id is not the hash of the signer's key");
}

/* An unsigned head is not refuted: it may be honest, but nothing is established.  One with a malformed
 * signature is refuted, because somebody wrote it. */
void verify_tree_head(struct verification *v, const struct json *head)
{
	const char *text = member_text(head, "signature"), *key_text = member_text(head, "public_key");
	uint8_t signature[SIGNATURE_SIZE], declared[KEY_SIZE];
	bool has_key = *key_text && trust_parse_key(key_text, declared);
	struct bytes preimage;
	struct hash root;

	if (!tree_head_preimage(v, head, &preimage))
		return;
	if (!hash_from_hex(member_text(head, "root_hash"), &root)) {
		(void)verify_refute(v, "undecodable hash", "root_hash is not a hash");
		return;
	}
	verify_value(v, "log_id", member_text(head, "log_id"));
	if (!*text) {
		(void)verify_fail(v, "STH is unsigned", "the tree head carries no signature");
		return;
	}
	if (!parse_signature(text, signature)) {
		(void)verify_refute(
			v, "STH signature invalid", "the signature is not 128 lower-case hex digits");
		return;
	}
	if (verify_signature(
		    v, preimage, signature, has_key ? declared : NULL, NULL, "STH signature invalid") &&
		check_log_id(v, head))
		(void)verify_key_window(v, member_text(head, "timestamp"));
	verify_note(v,
		"a tree head alone does not show that the log was never rewritten; compare it with an older "
		"one");
}

/* Heads of one log and size must have one root.  The two defaults differ, so that heads without a size are
 * never taken for heads of the same size. */
void verify_tree_heads_agree(struct verification *v, const struct json *x, const struct json *y)
{
	if (!text_eq(member_text(x, "log_id"), member_text(y, "log_id")) ||
		json_get_int(x, "tree_size", -1) != json_get_int(y, "tree_size", -2)) {
		verify_note(v, "the heads are of different logs or sizes: only a consistency proof can tell");
		return;
	}
	if (text_eq(member_text(x, "root_hash"), member_text(y, "root_hash"))) {
		v->integrity = ANSWER_YES;
		return;
	}
	verify_at(
		v, "second tree head", "root_hash", member_text(x, "root_hash"), member_text(y, "root_hash"));
	(void)verify_refute(v, "equivocation", "equivocation: two distinct roots at tree size %lld",
		(long long)json_get_int(x, "tree_size", 0));
}

/* Room for one hash more than any path can have: a longer list is cut there, and the check of the path
 * then fails on its length instead of here on memory. */
static bool read_path(
	struct verification *v, const struct json *list, struct hash path[MERKLE_MAX_PATH + 1], size_t *ret_n)
{
	*ret_n = json_is(list, JSON_ARRAY) ? list->n : 0;
	if (list && !json_is(list, JSON_ARRAY))
		return verify_refute(v, "undecodable hash", "the path is not a list");
	for (size_t i = 0; i < *ret_n && i <= MERKLE_MAX_PATH; i++)
		if (!hash_from_hex(json_text(list->items[i]), &path[i]))
			return verify_refute(
				v, "undecodable hash", "hash %zu of the path does not decode to 32 bytes", i);
	if (*ret_n > MERKLE_MAX_PATH)
		*ret_n = MERKLE_MAX_PATH + 1; /* one too many for any tree: the check says so */
	return true;
}

/* A size that is absent, negative or beyond a signed 64-bit integer is refused. */
static bool read_size(struct verification *v, const struct json *proof, const char *name, uint64_t *ret)
{
	int64_t n = json_get_int(proof, name, -1);

	if (n < 0)
		return verify_refute(
			v, "contract_mismatch", "member \"%s\" must be an unsigned integer", name);
	*ret = (uint64_t)n;
	return true;
}

/* Errors of merkle.h begin with stable words and a colon.  The words before the colon become the name of
 * the failure. */
static void refute_proof(struct verification *v, const struct err *e)
{
	const char *colon = strchr(e->text, ':');
	size_t n = colon ? (size_t)(colon - e->text) : strlen(e->text);

	(void)verify_refute(v, arena_strndup(v->a, e->text, n), "%s", e->text);
}

/* The form of the proof is judged first, so that a malformed proof is refuted even when no root is given.
 * Without a root from elsewhere nothing is established. */
void verify_inclusion(struct verification *v, const struct json *proof, const char *trusted_root)
{
	struct hash path[MERKLE_MAX_PATH + 1], leaf, root;
	struct err e = { 0 };
	uint64_t index, size;
	size_t n;

	if (!read_size(v, proof, "leaf_index", &index) || !read_size(v, proof, "tree_size", &size) ||
		!read_path(v, json_get(proof, "audit_path"), path, &n))
		return;
	if (!hash_from_hex(member_text(proof, "leaf_hash"), &leaf)) {
		(void)verify_refute(v, "undecodable hash", "leaf_hash does not decode to 32 bytes");
		return;
	}
	if (!trusted_root) {
		(void)verify_fail(
			v, "no_trusted_root", "no root was given; the one inside the proof proves nothing");
		return;
	}
	if (!hash_from_hex(trusted_root, &root))
		(void)verify_fail(v, "undecodable hash", "the trusted root does not decode to 32 bytes");
	else if (merkle_check_inclusion(&leaf, index, size, path, n, &root, &e))
		refute_proof(v, &e);
	else
		v->integrity = v->trusted = ANSWER_YES;
}

/* Both roots must come from elsewhere: one trusted root and one taken from the proof would show that the
 * log has some past, not that it has this one. */
void verify_consistency(struct verification *v, const struct json *proof, const char *trusted_old_root,
	const char *trusted_new_root)
{
	struct hash path[MERKLE_MAX_PATH + 1], old_root, new_root;
	struct err e = { 0 };
	uint64_t old_size, new_size;
	size_t n;

	if (!read_size(v, proof, "old_size", &old_size) || !read_size(v, proof, "new_size", &new_size) ||
		!read_path(v, json_get(proof, "consistency_path"), path, &n))
		return;
	if (!trusted_old_root || !trusted_new_root) {
		(void)verify_fail(v, "no_trusted_root",
			"both roots must come from elsewhere; those inside the proof prove nothing");
		return;
	}
	if (!hash_from_hex(trusted_old_root, &old_root) || !hash_from_hex(trusted_new_root, &new_root))
		(void)verify_fail(v, "undecodable hash", "a trusted root does not decode to 32 bytes");
	else if (merkle_check_consistency(old_size, new_size, path, n, &old_root, &new_root, &e))
		refute_proof(v, &e);
	else
		v->integrity = v->trusted = ANSWER_YES;
}

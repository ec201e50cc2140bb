/* tlog_proof.c — proofs of inclusion and questions to witnesses: a first line, hashes one on each line, an empty line, a checkpoint. */
#include "proof/tlog_proof.h"

#include "base/hash.h"
#include "base/text.h"

#include <string.h>

static const char magic[] = "c2sp.org/tlog-proof@v1";

/* "index 7" with the word "index". */
static bool take_number(struct bytes line, const char *word, uint64_t *ret)
{
	struct bytes first = text_cut(&line, ' ');

	return line.p && bytes_is(first, word) && note_number(line, ret);
}

/* Lines of hashes up to the empty one; what is behind it stays in *rest. */
static bool take_hashes(struct bytes *rest, struct hash *ret, size_t room, size_t *ret_n)
{
	for (*ret_n = 0;; (*ret_n)++) {
		struct bytes line = text_cut(rest, '\n');
		if (!rest->p)
			return false;
		if (!line.n)
			return true;
		if (*ret_n == room || !note_hash(line, &ret[*ret_n]))
			return false;
	}
}

static void add_hashes(struct buf *b, const struct hash *list, size_t n, struct bytes checkpoint)
{
	for (size_t i = 0; i < n; i++) {
		note_add_hash(b, &list[i]);
		buf_addc(b, '\n');
	}
	buf_addc(b, '\n');
	buf_add(b, checkpoint.p, checkpoint.n);
}

/* ---- proofs ---- */

char *tlog_proof_text(struct arena *a, const struct tlog_proof *proof)
{
	struct buf b;

	buf_init(&b, a);
	buf_addf(&b, "%s\n", magic);
	if (proof->has_extra)
		buf_addf(
			&b, "extra %s\n", base64_encode(a, proof->extra.p, proof->extra.n, BASE64_STD, true));
	buf_addf(&b, "index %llu\n", (unsigned long long)proof->index);
	add_hashes(&b, proof->path, proof->n, proof->checkpoint);
	return b.p;
}

static bool take_extra(struct arena *a, struct bytes line, struct tlog_proof *ret)
{
	struct bytes word = text_cut(&line, ' ');

	ret->has_extra = line.p && bytes_is(word, "extra");
	return ret->has_extra &&
		base64_decode(a, (const char *)line.p, line.n, BASE64_STD, true, &ret->extra);
}

int tlog_proof_parse(
	struct arena *a, struct bytes text, const char *where, struct tlog_proof *ret, struct err *e)
{
	struct tlog_proof got = { 0 };
	struct bytes rest = text, line;
	bool ok;

	if (text.n > TLOG_PROOF_LIMIT)
		return err_set(
			e, E_LIMIT, "TLOG_PROOF", "%s is longer than %d bytes", where, TLOG_PROOF_LIMIT);
	line = text_cut(&rest, '\n');
	ok = bytes_is(line, magic);
	line = text_cut(&rest, '\n');
	if (take_extra(a, line, &got))
		line = text_cut(&rest, '\n');
	if (!ok || !take_number(line, "index", &got.index) ||
		!take_hashes(&rest, got.path, MERKLE_MAX_PATH, &got.n) || !rest.n)
		return err_set(e, E_INPUT, "TLOG_PROOF",
			"%s is no proof of inclusion as c2sp.org/tlog-proof@v1 has them", where);
	got.checkpoint = rest;
	*ret = got;
	return OK;
}

int tlog_proof_verify(struct arena *a, const struct tlog_proof *proof, const struct hash *leaf,
	const struct tlog_policy *policy, const char *where, struct tlog_seen *ret, struct err *e)
{
	struct tlog_seen seen;
	int rc = tlog_policy_check(a, policy, proof->checkpoint, where, &seen, e);

	if (rc == OK &&
		merkle_check_inclusion(
			leaf, proof->index, seen.head.size, proof->path, proof->n, &seen.head.root, e))
		rc = err_wrap(e, "%s", where);
	if (rc == OK)
		*ret = seen;
	return rc;
}

/* ---- witnesses ---- */

char *tlog_request_text(struct arena *a, const struct tlog_request *request)
{
	struct buf b;

	buf_init(&b, a);
	buf_addf(&b, "old %llu\n", (unsigned long long)request->old_size);
	add_hashes(&b, request->path, request->n, request->checkpoint);
	return b.p;
}

int tlog_request_parse(struct bytes text, const char *where, struct tlog_request *ret, struct err *e)
{
	struct tlog_request got = { 0 };
	struct bytes rest = text;

	if (text.n > TLOG_PROOF_LIMIT)
		return err_set(
			e, E_LIMIT, "TLOG_REQUEST", "%s is longer than %d bytes", where, TLOG_PROOF_LIMIT);
	if (!take_number(text_cut(&rest, '\n'), "old", &got.old_size) ||
		!take_hashes(&rest, got.path, TLOG_WITNESS_PATH, &got.n) || !rest.n)
		return err_set(e, E_INPUT, "TLOG_REQUEST",
			"%s has to be 'old SIZE', hashes of a consistency proof one on each line, an empty line, and a checkpoint",
			where);
	got.checkpoint = rest;
	*ret = got;
	return OK;
}

/* From nothing every tree follows, and nothing proves it. */
static int check_step(const struct tlog_head *last, const struct tlog_head *next,
	const struct tlog_request *request, struct err *e)
{
	struct hash empty = merkle_root(NULL, 0);

	if (!next->size && !hash_eq(&next->root, &empty))
		return err_set(e, E_INPUT, "TLOG_ROOT", "that is not the root of a log without leaves");
	if (last->size)
		return merkle_check_consistency(
			last->size, next->size, request->path, request->n, &last->root, &next->root, e);
	return request->n ? err_set(e, E_INPUT, "TLOG_PATH", "the first checkpoint needs no proof") : OK;
}

enum tlog_answer tlog_step(const struct tlog_head *last, const struct tlog_head *next,
	const struct tlog_request *request, struct err *e)
{
	if (request->old_size > next->size) {
		(void)err_set(e, E_INPUT, "TLOG_BACKWARDS",
			"a checkpoint of %llu leaves does not go on from one of %llu",
			(unsigned long long)next->size, (unsigned long long)request->old_size);
		return TLOG_BAD;
	}
	if (request->old_size != last->size) {
		(void)err_set(e, E_INPUT, "TLOG_ELSEWHERE",
			"the last checkpoint of '%s' here has %llu leaves, and not %llu", next->origin,
			(unsigned long long)last->size, (unsigned long long)request->old_size);
		return TLOG_CONFLICT;
	}
	if (check_step(last, next, request, e))
		return last->size && last->size == next->size && !hash_eq(&last->root, &next->root)
			? TLOG_CONFLICT
			: TLOG_INCONSISTENT;
	return TLOG_COSIGN;
}

/* signer.c — the key that another user keeps: how this side asks for signatures.
 *
 * keys/signer.json names a socket and a public key.  Behind the socket runs `helm signer run` as a user of its own, who alone can read
 * the secret (kernel/signer.c says what it signs and what it refuses).  Each signature is one question and one answer: a length in four
 * bytes, big endian, and one JSON document, both ways.
 *
 * What is given is checked against the public key before it is used, so whoever else might listen on the socket gives nothing that
 * counts.  A signer that is away, slow or refuses is an error, and an error means that nothing was recorded, and so nothing is allowed.
 *
 * The signer writes down what it signs before it answers.  When this side is killed between the answer and its own write, the
 * signer is one receipt ahead; its next answer then brings what is missing, and the chain takes that first (chain.c).  So there is never a
 * second receipt for one place. */
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"
#include "record/ask.h"
#include "record/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 4096 };

struct keeper {
	struct arena a; /* what lives as long as the key */
	struct ask_line line;
	const struct json *missing; /* in the newest answer; or NULL */
};

static int away(const struct keeper *k, struct err *e)
{
	int why = errno;

	return err_set(e, E_DENIED, "SIGNER_AWAY",
		"the signer at %s does not answer (%s), so nothing can be recorded and nothing is allowed; its "
		"user starts it: helm signer run --socket %s",
		k->line.socket, strerror(why), k->line.socket);
}

static int keeper_ask(
	void *arg, enum key_use use, const struct json *whole, uint8_t ret_sig[SIGN_SIZE], struct err *e)
{
	static const char *const ops[] = { "receipt", "decision", "head", "link", "fleet" };
	TABLE_COVERS(ops, KEY_USES);
	AUTO(arena_done) struct arena a = { 0 };
	struct keeper *k = arg;
	struct json *answer;

	k->missing = NULL;
	struct bytes question = ask_question(&a, ops[use], whole);
	if (question.n > SIGNER_LIMIT)
		return err_set(e, E_DENIED, "SIGNER_REFUSES", "the record is too large for the signer");
	if (!ask(&k->line, question, &answer))
		return away(k, e);
	const struct json *missing = json_get(answer, "missing");
	k->missing = json_is(missing, JSON_ARRAY) ? missing : NULL;
	const char *code = json_get_text(answer, "error", NULL),
		   *sig = json_get_text(answer, "signature", "");
	if (code)
		return err_set(e, E_DENIED, code, "the signer refuses: %s",
			text_safe(&a, json_get_text(answer, "text", ""),
				strlen(json_get_text(answer, "text", "")), false));
	return hex_decode(sig, strlen(sig), ret_sig, SIGN_SIZE, true)
		? OK
		: err_set(e, E_DENIED, "SIGNER_FALSE", "the signer's answer is no signature");
}

static void keeper_done(void *arg)
{
	struct keeper *k = arg;

	ask_close(&k->line);
	arena_done(&k->a);
	free(k);
}

int signer_links(struct arena *a, const struct key *k, const struct json **ret, struct err *e)
{
	struct keeper *mine = key_keeper(k)->arg;
	struct json *answer;

	mine->missing = NULL;
	if (!ask(&mine->line, ask_question(a, "history", json_new(a, JSON_OBJECT)), &answer))
		return away(mine, e);
	const struct json *links = json_get(answer, "links");
	if (!json_is(links, JSON_ARRAY))
		return err_set(
			e, E_DENIED, "SIGNER_FALSE", "the signer does not tell the history of its key");
	*ret = json_copy(a, links);
	return OK;
}

const struct json *signer_missing(const struct key *k)
{
	const struct key_keeper *keeper = key_keeper(k);
	struct keeper *mine = keeper && keeper->done == keeper_done ? keeper->arg : NULL;
	const struct json *missing = mine ? mine->missing : NULL;

	if (mine)
		mine->missing = NULL;
	return missing;
}

int signer_key(
	struct sys *s, const char *socket, const uint8_t pub[SIGN_PUBLIC], struct key **ret, struct err *e)
{
	struct keeper *k = calloc(1, sizeof(*k));

	if (!k)
		mem_exhausted(0);
	ask_open(&k->line, s, arena_strdup(&k->a, socket));
	int rc = key_new_kept(pub, &(struct key_keeper){ keeper_ask, keeper_done, k }, ret, e);
	if (rc)
		keeper_done(k);
	return rc;
}

int signer_load(struct sys *s, int dirfd, const char *dir, struct key **ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	uint8_t pub[SIGN_PUBLIC];
	struct json *doc;
	const char *path = arena_printf(&a, "%s/" SIGNER_FILE, dir);
	int rc = doc_read(s, &a, dirfd, path, FILE_LIMIT, 0, &doc, e);

	if (rc == OK)
		rc = doc_check_version(doc, "version", 1, path, e);
	if (rc)
		return rc;
	const char *socket = json_get_text(doc, "socket", ""), *key = json_get_text(doc, "public_key", "");
	/* That it is a safe point was asked when it was written; asked again it would cost as much as a signature. */
	if (json_get_int(doc, "version", 0) != 1 || socket[0] != '/' ||
		!hex_decode(key, strlen(key), pub, SIGN_PUBLIC, true))
		return err_set(e, E_CORRUPT, "SIGNER_FILE",
			"%s does not name a socket and a public key; 'helm signer use SOCKET KEY' writes it",
			path);
	return signer_key(s, socket, pub, ret, e);
}

/* ---- what the signer has and we have not ---- */

/* Each must be the very next one, and hold: then it is ours, and was only lost on the way. */
int signer_take(struct recorder *r, struct arena *a, const struct json *receipt, const struct chain_end *at,
	struct json **ret, struct hash *ret_chain, struct err *e)
{
	struct json *mine = json_copy(a, receipt);
	struct hash before;
	const char *previous = json_get_text(mine, "prev_hash", "-");
	bool follows = json_get_int(mine, "lamport_clock", 0) == (int64_t)at->clock + 1 &&
		text_eq(json_get_text(mine, "session_id", ""), at->chain_id) &&
		(at->clock ? hash_from_hex(previous, &before) && hash_eq(&before, &at->last) : !*previous);

	if (!follows || !receipt_is_own(r, a, mine) || receipt_chain_hash(a, mine, ret_chain->b, NULL))
		return err_set(e, E_DENIED, "SIGNER_FALSE",
			"what the signer says was signed before does not continue this chain");
	json_sets(a, mine, "log_id", sha256_hex(a, key_public(r->key), SIGN_PUBLIC));
	if (at->clock)
		json_seti(a, mine, "leaf_index", (int64_t)at->clock);
	json_sort_members(mine);
	*ret = mine;
	return OK;
}

/* The link that begins a history with this key: the only record that may be signed any number of times, because it says nothing new. */
int signer_check(struct arena *a, const struct key *k, struct err *e)
{
	struct json *link = json_new(a, JSON_OBJECT);
	uint8_t signature[SIGN_SIZE];
	char hex[2 * SIGN_PUBLIC + 1];
	struct bytes preimage;

	hex_encode(key_public(k), SIGN_PUBLIC, hex);
	json_sets(a, link, "event", "created");
	json_sets(a, link, "key", hex);
	json_sets(a, link, "signer", hex);
	json_seti(a, link, "sequence", 1);
	json_sets(a, link, "version", KEY_HISTORY_V1);
	json_sets(a, link, "prev_hash", "");
	int rc = key_link_preimage(a, link, &preimage, e);
	return rc ? rc : key_ask(k, KEY_FOR_LINK, link, preimage, signature, e);
}

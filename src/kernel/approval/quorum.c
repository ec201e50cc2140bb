/* quorum.c — a question that takes several people.
 *
 * The question is on record, signed, before anybody is asked; that is when the hold begins.  After it the first who says yes makes the
 * challenge: a nonce, the digest of the question, how many it takes, and until when.  Each then signs an assertion about the digest of
 * that challenge with a registered key of their own.  Times are measured here: nobody's word is taken for how long they looked.
 *
 * Every assertion must hold, not only enough of them, and no two may share a key or a person.  The grant names the digest of all that
 * was signed, and who uses it checks the signatures again. */
#include "kernel/approval/parts.h"

#include "base/hash.h"
#include "base/text.h"
#include "proof/preimage.h"

#include <string.h>
#include <strings.h>

enum { HOLD_S = 2, CHALLENGE_LASTS_S = 3600 };
static const int64_t SECOND = 1000000;

int quorum_of(const struct json *request)
{
	int64_t n = json_get_int(request, "approvers", 1);

	return n < 1 || n > MOST_APPROVERS ? MOST_APPROVERS + 1 : (int)n;
}

static bool time_of(const struct json *doc, const char *name, int64_t *ret)
{
	const char *text = json_get_text(doc, name, "");

	return text_parse_time(text, strlen(text), ret);
}

/* ---- the challenge ---- */

static int new_challenge(struct kernel *k, struct arena *a, const struct json *request, int64_t held_since,
	struct json **ret, struct err *e)
{
	int64_t now = k->sys->now_us(k->sys);
	struct json *c = json_new(a, JSON_OBJECT);
	char *id, *nonce;
	int rc = record_new_id(a, k->sys, "", &id, e);

	if (rc == OK)
		rc = record_new_id(a, k->sys, "", &nonce, e);
	if (rc)
		return rc;
	json_sets(a, c, "domain", "HELM/ApprovalChallenge/v1");
	json_sets(a, c, "challenge_id", arena_printf(a, "challenge-%.12s", id));
	json_sets(a, c, "approval_id", json_get_text(request, "approval_id", ""));
	json_sets(a, c, "request_sha256", json_sha256(a, request));
	json_sets(a, c, "decision", "ALLOW");
	json_seti(a, c, "quorum", quorum_of(request));
	json_sets(a, c, "hold_started_at", text_time_z(a, held_since));
	json_sets(a, c, "eligible_at", text_time_z(a, held_since + HOLD_S * SECOND));
	json_sets(a, c, "issued_at", text_time_z(a, now));
	json_sets(a, c, "expires_at", text_time_z(a, now + CHALLENGE_LASTS_S * SECOND));
	json_sets(a, c, "nonce", nonce);
	*ret = c;
	return OK;
}

/* Is this the challenge of that question, and still good? */
static bool is_live(struct kernel *k, struct arena *a, const struct json *c, const struct json *request)
{
	int64_t until;

	return text_eq(json_get_text(c, "request_sha256", ""), json_sha256(a, request)) &&
		json_get_int(c, "quorum", 0) == quorum_of(request) && time_of(c, "expires_at", &until) &&
		k->sys->now_us(k->sys) < until;
}

/* What was signed so far, or a new challenge that nobody has signed. */
static int proof_of(
	struct kernel *k, struct arena *a, const struct json *entry, struct json **ret, struct err *e)
{
	const struct json *request = json_get(entry, "request"), *kept = json_get(entry, "quorum");
	struct json *proof = json_new(a, JSON_OBJECT), *challenge;
	int64_t since;

	if (json_is(json_get(kept, "assertions"), JSON_ARRAY) &&
		is_live(k, a, json_get(kept, "challenge"), request)) {
		*ret = json_copy(a, kept);
		return OK;
	}
	if (!time_of(request, "created_at", &since) || k->sys->now_us(k->sys) < since + HOLD_S * SECOND)
		return err_set(e, E_DENIED, "APPROVAL_HOLD",
			"this was asked just now; what takes several people is answered after %d seconds",
			HOLD_S);
	int rc = new_challenge(k, a, request, since, &challenge, e);
	if (rc)
		return rc;
	json_set(a, proof, "challenge", challenge);
	json_set(a, proof, "assertions", json_new(a, JSON_ARRAY));
	*ret = proof;
	return OK;
}

/* ---- assertions ---- */

/* The message is the digest of the assertion without its signature. */
static bool digest_of(struct arena *a, const struct json *assertion, uint8_t ret[SHA256_SIZE])
{
	struct bytes text;

	if (sealed_preimage(a, assertion, "signature", &text, NULL))
		return false;
	sha256(text.p, text.n, ret);
	return true;
}

static struct json *assert_by(struct arena *a, const struct json *challenge, const struct key *key)
{
	struct json *x = json_new(a, JSON_OBJECT);
	uint8_t digest[SHA256_SIZE], sig[SIGN_SIZE];
	char id[KEY_ID], hex[2 * SIGN_SIZE + 1];

	key_id(key_public(key), id);
	json_sets(a, x, "domain", "HELM/ApprovalAssertion/v1");
	json_sets(a, x, "schema_version", "approval-assertion.v1");
	json_sets(a, x, "challenge_id", json_get_text(challenge, "challenge_id", ""));
	json_sets(a, x, "challenge_hash", json_sha256(a, challenge));
	json_sets(a, x, "key_id", id);
	json_sets(a, x, "algorithm", "ed25519");
	if (!digest_of(a, x, digest))
		BUG("an assertion of ours has no canonical form");
	key_sign(key, (struct bytes){ digest, sizeof(digest) }, sig);
	hex_encode(sig, sizeof(sig), hex);
	json_sets(a, x, "signature", hex);
	return x;
}

static bool assertion_holds(struct arena *a, const struct json *x, const struct json *challenge)
{
	const char *id = json_get_text(x, "key_id", ""), *hex = json_get_text(x, "signature", "");
	uint8_t pub[SIGN_PUBLIC], digest[SHA256_SIZE], sig[SIGN_SIZE];

	return text_eq(json_get_text(x, "domain", ""), "HELM/ApprovalAssertion/v1") &&
		text_eq(json_get_text(x, "algorithm", ""), "ed25519") &&
		text_eq(json_get_text(x, "challenge_id", ""), json_get_text(challenge, "challenge_id", "")) &&
		text_eq(json_get_text(x, "challenge_hash", ""), json_sha256(a, challenge)) &&
		key_parse_public(bytes_of(id), "key_id", pub, NULL) == OK &&
		hex_decode(hex, strlen(hex), sig, sizeof(sig), true) && digest_of(a, x, digest) &&
		sign_verify(pub, (struct bytes){ digest, sizeof(digest) }, sig);
}

static bool is_there_before(const struct json *list, uint32_t i)
{
	const char *id = json_get_text(json_at(list, i), "key_id", "");

	for (uint32_t j = 0; j < i; j++)
		if (strcasecmp(json_get_text(json_at(list, j), "key_id", ""), id) == 0)
			return true;
	return false;
}

/* All of them, each by another key. */
static bool all_hold(struct arena *a, const struct json *proof)
{
	const struct json *list = json_get(proof, "assertions"), *challenge = json_get(proof, "challenge");

	if (!json_is(list, JSON_ARRAY) || !json_is(challenge, JSON_OBJECT))
		return false;
	for (uint32_t i = 0; i < list->n; i++)
		if (!assertion_holds(a, json_at(list, i), challenge) || is_there_before(list, i))
			return false;
	return true;
}

bool quorum_holds(struct arena *a, const struct json *proof, const struct grant *g)
{
	const struct json *challenge = json_get(proof, "challenge"), *list = json_get(proof, "assertions");

	return g->quorum_sha256 && text_eq(g->quorum_sha256, json_sha256(a, proof)) && all_hold(a, proof) &&
		(int64_t)list->n >= json_get_int(challenge, "quorum", INT64_MAX) &&
		(int)list->n == g->approvers && g->request_id &&
		text_eq(json_get_text(challenge, "approval_id", ""), g->request_id);
}

/* ---- people ---- */

/* Every key is registered now, each with the name of a person, and no two belong to one. */
static int check_people(struct kernel *k, struct arena *a, const struct json *list, struct err *e)
{
	const char *labels[MOST_APPROVERS + 1];

	if (list->n > ARRAY_SIZE(labels))
		return err_set(e, E_DENIED, "APPROVAL_QUORUM",
			"more than %d people said yes; deny the request, and ask again", MOST_APPROVERS);
	for (uint32_t i = 0; i < list->n; i++) {
		const char *id = json_get_text(json_at(list, i), "key_id", "");
		bool is_known;
		int rc = person_of_key(k->sys, a, id, &is_known, &labels[i], e);
		if (rc)
			return rc;
		if (!is_known)
			return err_set(e, E_DENIED, "APPROVER_UNKNOWN",
				"key %.24s... said yes and is no longer registered; deny the request, and ask again",
				id);
		if (!*labels[i])
			return err_set(e, E_DENIED, "APPROVER_UNNAMED",
				"key %.24s... is registered without a name, so nobody knows whose it is; 'helm approval trust remove', then 'trust add FILE --label NAME'",
				id);
		for (uint32_t j = 0; j < i; j++)
			if (text_eq(labels[i], labels[j]))
				return err_set(e, E_DENIED, "APPROVAL_TWICE",
					"two keys of '%s' are one person; somebody else must say yes",
					labels[i]);
	}
	return OK;
}

int quorum_add(struct kernel *k, struct arena *a, struct json *entry, const struct person *who,
	struct grant *ret, struct json **ret_proof, bool *ret_is_enough, struct err *e)
{
	int needed = quorum_of(json_get(entry, "request"));
	struct json *proof;

	if (needed > MOST_APPROVERS || !who->key || key_keeper(who->key))
		return err_set(e, E_DENIED, "APPROVAL_QUORUM",
			"this takes %d people, each with a registered key of their own: --key FILE", needed);
	int rc = proof_of(k, a, entry, &proof, e);
	if (rc)
		return rc;
	struct json *list = json_get(proof, "assertions");
	json_push(a, list, assert_by(a, json_get(proof, "challenge"), who->key));
	if (is_there_before(list, list->n - 1))
		return err_set(e, E_DENIED, "APPROVAL_TWICE",
			"this key has said yes already; somebody else must, too");
	if (!all_hold(a, proof))
		return err_set(e, E_CORRUPT, "APPROVAL_TAMPERED",
			"what was signed for request %s does not hold; deny it, and ask again",
			json_get_text(json_get(entry, "request"), "approval_id", ""));
	rc = check_people(k, a, list, e);
	if (rc)
		return rc;
	json_set(a, entry, "quorum", proof);
	*ret_is_enough = (int)list->n >= needed;
	if (*ret_is_enough) {
		ret->approvers = (int)list->n;
		ret->quorum_sha256 = json_sha256(a, proof);
	}
	*ret_proof = json_copy(a, proof);
	return OK;
}

/* quorum.c — a question that takes several people.
 *
 * The question is on record, signed, before anybody is asked; that is when the hold begins.  After it the first who says yes makes the
 * challenge: a nonce, the digest of the question, how many it takes, and until when.  Each then signs an assertion about the digest of
 * that challenge with a registered key of their own.  Times are measured here: nobody's word is taken for how long they looked.
 *
 * A passkey signs the challenge itself, whole, so that its page can show what it is about.  The challenge of the first who says yes comes back with
 * their signature; it is taken when it is what would have been made here.  Whoever was shown another one in between looks again.
 *
 * Every assertion must hold, not only enough of them, and no two may share a key or a person.  The grant names the digest of all that
 * was signed, and who uses it checks the signatures again. */
#include "kernel/approval/parts.h"

#include "base/hash.h"
#include "base/text.h"
#include "kernel/passkey.h"
#include "proof/preimage.h"

#include <string.h>
#include <strings.h>

enum { HOLD_S = 2, CHALLENGE_LASTS_S = 3600, ANSWER_IN_S = 600, EARLY_S = 60 };
static const char DOMAIN[] = "helm:quorum:v1\n", BY_PASSKEY[] = "webauthn-";
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

static struct json *challenge_of(struct arena *a, const struct json *request, int64_t held_since,
	int64_t issued, const char *id, const char *nonce)
{
	struct json *c = json_new(a, JSON_OBJECT);

	json_sets(a, c, "domain", "HELM/ApprovalChallenge/v1");
	json_sets(a, c, "challenge_id", id);
	json_sets(a, c, "approval_id", json_get_text(request, "approval_id", ""));
	json_sets(a, c, "request_sha256", json_sha256(a, request));
	json_sets(a, c, "decision", "ALLOW");
	json_seti(a, c, "quorum", quorum_of(request));
	json_sets(a, c, "hold_started_at", text_time_z(a, held_since));
	json_sets(a, c, "eligible_at", text_time_z(a, held_since + HOLD_S * SECOND));
	json_sets(a, c, "issued_at", text_time_z(a, issued));
	json_sets(a, c, "expires_at", text_time_z(a, issued + CHALLENGE_LASTS_S * SECOND));
	json_sets(a, c, "nonce", nonce);
	return c;
}

static int new_challenge(struct sys *s, struct arena *a, const struct json *request, int64_t held_since,
	struct json **ret, struct err *e)
{
	char *id, *nonce;
	int rc = record_new_id(a, s, "", &id, e);

	if (rc == OK)
		rc = record_new_id(a, s, "", &nonce, e);
	if (rc == OK)
		*ret = challenge_of(
			a, request, held_since, s->now_us(s), arena_printf(a, "challenge-%.12s", id), nonce);
	return rc;
}

/* Is this the challenge of that question, and still good? */
static bool is_live(struct sys *s, struct arena *a, const struct json *c, const struct json *request)
{
	int64_t until;

	return text_eq(json_get_text(c, "request_sha256", ""), json_sha256(a, request)) &&
		json_get_int(c, "quorum", 0) == quorum_of(request) && time_of(c, "expires_at", &until) &&
		s->now_us(s) < until;
}

/* What was signed so far, or a new challenge that nobody has signed. */
static int proof_of(
	struct kernel *k, struct arena *a, const struct json *entry, struct json **ret, struct err *e)
{
	const struct json *request = json_get(entry, "request"), *kept = json_get(entry, "quorum");
	struct json *proof = json_new(a, JSON_OBJECT), *challenge;
	int64_t since;

	if (json_is(json_get(kept, "assertions"), JSON_ARRAY) &&
		is_live(k->sys, a, json_get(kept, "challenge"), request)) {
		*ret = json_copy(a, kept);
		return OK;
	}
	if (!time_of(request, "created_at", &since) || k->sys->now_us(k->sys) < since + HOLD_S * SECOND)
		return err_set(e, E_DENIED, "APPROVAL_HOLD",
			"this was asked just now; what takes several people is answered after %d seconds",
			HOLD_S);
	int rc = new_challenge(k->sys, a, request, since, &challenge, e);
	if (rc)
		return rc;
	json_set(a, proof, "challenge", challenge);
	json_set(a, proof, "assertions", json_new(a, JSON_ARRAY));
	*ret = proof;
	return OK;
}

/* ---- what a passkey signs ---- */

struct bytes approval_quorum_bytes(struct arena *a, const struct json *challenge)
{
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text, DOMAIN);
	json_canonical(&text, challenge);
	return buf_bytes(&text);
}

int quorum_message(
	struct kernel *k, struct arena *a, const struct json *entry, struct bytes *ret, struct err *e)
{
	struct json *proof;
	int rc = proof_of(k, a, entry, &proof, e);

	if (rc == OK)
		*ret = approval_quorum_bytes(a, json_get(proof, "challenge"));
	return rc;
}

/* The challenge that these bytes are, or NULL. */
static struct json *challenge_in(struct arena *a, struct bytes message)
{
	const size_t n = sizeof(DOMAIN) - 1;
	struct json *said;

	return message.n > n && memcmp(message.p, DOMAIN, n) == 0 &&
			json_parse(a, (struct bytes){ message.p + n, message.n - n }, "answer", NULL, &said,
				NULL) == OK &&
			bytes_eq(message, approval_quorum_bytes(a, said))
		? said
		: NULL;
}

int quorum_terms(const struct json *request, struct approval_terms *ret, struct err *e)
{
	*ret = (struct approval_terms){ .reach = REACH_EXACT, .is_once = true };
	if (!time_of(request, "expires_at", &ret->expires_us))
		return err_set(e, E_CORRUPT, "APPROVAL_TIME", "the request has no end");
	ret->expires_us = ret->expires_us / SECOND * SECOND;
	return OK;
}

/* What was signed for the kept challenge joins it.  Where nobody has said yes, the signed challenge is the first, if it is what would be made here. */
static int proof_for(struct kernel *k, struct arena *a, const struct json *entry, struct bytes message,
	int64_t in_s, struct json **ret, struct err *e)
{
	const struct json *request = json_get(entry, "request");
	struct json *proof, *said;
	int64_t issued, since, now = k->sys->now_us(k->sys);
	int rc = proof_of(k, a, entry, &proof, e);

	if (rc)
		return rc;
	if (bytes_eq(message, approval_quorum_bytes(a, json_get(proof, "challenge")))) {
		*ret = proof;
		return OK;
	}
	if (json_get(proof, "assertions")->n > 0)
		return err_set(e, E_INPUT, "APPROVAL_MESSAGE",
			"somebody else has said yes since this was shown, or it was shown too long ago; look again, and sign anew");
	said = challenge_in(a, message);
	if (!said || !time_of(said, "issued_at", &issued) || !time_of(request, "created_at", &since) ||
		issued > now + EARLY_S * SECOND || issued < now - in_s * SECOND ||
		!text_is_id(json_get_text(said, "challenge_id", "")) ||
		!text_is_id(json_get_text(said, "nonce", "")) ||
		!bytes_eq(message,
			approval_quorum_bytes(a,
				challenge_of(a, request, since, issued,
					json_get_text(said, "challenge_id", ""),
					json_get_text(said, "nonce", "")))))
		return err_set(e, E_DENIED, "APPROVAL_MESSAGE",
			"what was signed is not about request %s as it was asked, or was shown too long ago",
			json_get_text(request, "approval_id", ""));
	json_set(a, proof, "challenge", said);
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

static struct json *new_assertion(
	struct arena *a, const struct json *challenge, const char *key_id, const char *algorithm)
{
	struct json *x = json_new(a, JSON_OBJECT);

	json_sets(a, x, "domain", "HELM/ApprovalAssertion/v1");
	json_sets(a, x, "schema_version", "approval-assertion.v1");
	json_sets(a, x, "challenge_id", json_get_text(challenge, "challenge_id", ""));
	json_sets(a, x, "challenge_hash", json_sha256(a, challenge));
	json_sets(a, x, "key_id", key_id);
	json_sets(a, x, "algorithm", algorithm);
	return x;
}

/* With all that is needed to verify it again. */
static struct json *assertion_of_passkey(
	struct arena *a, const struct json *challenge, const struct json *proof)
{
	static const char *const parts[] = { "public_key_hex", "origin", "rp_id", "authenticator_data",
		"client_data_json", "signature" };
	struct json *x = new_assertion(a, challenge, json_get_text(proof, "key_id", ""),
		arena_printf(a, "%s%s", BY_PASSKEY, json_get_text(proof, "algorithm", "")));

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		json_sets(a, x, parts[i], json_get_text(proof, parts[i], ""));
	return x;
}

static struct json *assert_by(struct arena *a, const struct json *challenge, const struct key *key)
{
	uint8_t digest[SHA256_SIZE], sig[SIGN_SIZE];
	char id[KEY_ID], hex[2 * SIGN_SIZE + 1];

	key_id(key_public(key), id);
	struct json *x = new_assertion(a, challenge, id, "ed25519");
	if (!digest_of(a, x, digest))
		BUG("an assertion of ours has no canonical form");
	key_sign(key, (struct bytes){ digest, sizeof(digest) }, sig);
	hex_encode(sig, sizeof(sig), hex);
	json_sets(a, x, "signature", hex);
	return x;
}

int approval_people(const struct json *request)
{
	return quorum_of(request);
}

int approval_quorum_message(
	struct sys *s, struct arena *a, const struct json *request, struct bytes *ret, struct err *e)
{
	struct json *challenge;
	int64_t since;

	if (!time_of(request, "created_at", &since) || quorum_of(request) > MOST_APPROVERS)
		return err_set(e, E_INPUT, "APPROVAL_QUORUM", "nobody can answer this question");
	int rc = new_challenge(s, a, request, since, &challenge, e);
	if (rc == OK)
		*ret = approval_quorum_bytes(a, challenge);
	return rc;
}

bool approval_quorum_is_live(struct sys *s, struct arena *a, const struct json *request, struct bytes message)
{
	const struct json *said = challenge_in(a, message);

	return said &&
		text_eq(json_get_text(said, "approval_id", ""), json_get_text(request, "approval_id", "?")) &&
		is_live(s, a, said, request);
}

struct json *approval_quorum_assert(struct arena *a, struct bytes message, const struct key *key)
{
	const struct json *challenge = challenge_in(a, message);

	if (!challenge)
		BUG("an assertion is about a challenge");
	return assert_by(a, challenge, key);
}

static bool is_of_passkey(const struct json *x)
{
	return text_starts(json_get_text(x, "algorithm", ""), BY_PASSKEY);
}

static bool passkey_holds(
	struct arena *a, const struct json *x, const struct json *challenge, webauthn_es256 *es256)
{
	struct json *proof = json_copy(a, x);

	json_sets(a, proof, "algorithm", json_get_text(x, "algorithm", "") + sizeof(BY_PASSKEY) - 1);
	return passkey_proof_is_signed(a, proof, approval_quorum_bytes(a, challenge), es256);
}

static bool key_holds(struct arena *a, const struct json *x)
{
	const char *id = json_get_text(x, "key_id", ""), *hex = json_get_text(x, "signature", "");
	uint8_t pub[SIGN_PUBLIC], digest[SHA256_SIZE], sig[SIGN_SIZE];

	return text_eq(json_get_text(x, "algorithm", ""), "ed25519") &&
		key_parse_public(bytes_of(id), "key_id", pub, NULL) == OK &&
		hex_decode(hex, strlen(hex), sig, sizeof(sig), true) && digest_of(a, x, digest) &&
		sign_verify(pub, (struct bytes){ digest, sizeof(digest) }, sig);
}

static bool assertion_holds(
	struct arena *a, const struct json *x, const struct json *challenge, webauthn_es256 *es256)
{
	return text_eq(json_get_text(x, "domain", ""), "HELM/ApprovalAssertion/v1") &&
		text_eq(json_get_text(x, "challenge_id", ""), json_get_text(challenge, "challenge_id", "")) &&
		text_eq(json_get_text(x, "challenge_hash", ""), json_sha256(a, challenge)) &&
		(is_of_passkey(x) ? passkey_holds(a, x, challenge, es256) : key_holds(a, x));
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
static bool all_hold(struct arena *a, const struct json *proof, webauthn_es256 *es256)
{
	const struct json *list = json_get(proof, "assertions"), *challenge = json_get(proof, "challenge");

	if (!json_is(list, JSON_ARRAY) || !json_is(challenge, JSON_OBJECT))
		return false;
	for (uint32_t i = 0; i < list->n; i++)
		if (!assertion_holds(a, json_at(list, i), challenge, es256) || is_there_before(list, i))
			return false;
	return true;
}

/* This program has no ECDSA.  Whoever signed the receipt of the grant had, and put no assertion there that did not hold; all but the curve is checked again. */
static bool was_checked_when_given(const struct webauthn_key *key, struct bytes message, struct bytes der)
{
	(void)key;
	(void)message;
	(void)der;
	return true;
}

bool quorum_holds(struct arena *a, const struct json *proof, const struct grant *g)
{
	const struct json *challenge = json_get(proof, "challenge"), *list = json_get(proof, "assertions");

	return g->quorum_sha256 && text_eq(g->quorum_sha256, json_sha256(a, proof)) &&
		all_hold(a, proof, was_checked_when_given) &&
		(int64_t)list->n >= json_get_int(challenge, "quorum", INT64_MAX) &&
		(int)list->n == g->approvers && g->request_id &&
		text_eq(json_get_text(challenge, "approval_id", ""), g->request_id);
}

/* ---- people ---- */

/* Registered here, or named by the fleet: for what an order of it brought. */
static int find_person(struct kernel *k, struct arena *a, const struct json *x, const struct json *fleet,
	bool *ret_is_known, const char **ret_label, struct err *e)
{
	const char *id = json_get_text(x, "key_id", "");
	const struct json *named = json_get(fleet, id);
	int rc = person_of_key(k->sys, a, id, ret_is_known, ret_label, e);

	if (rc == OK && *ret_is_known && is_of_passkey(x))
		rc = passkey_is_registered(
			k->sys, a, id, json_get_text(x, "public_key_hex", ""), ret_is_known, e);
	if (rc || *ret_is_known || !named)
		return rc;
	*ret_is_known = !is_of_passkey(x) ||
		text_eq(json_get_text(named, "public_key_hex", ""), json_get_text(x, "public_key_hex", "?"));
	*ret_label = json_get_text(named, "label", "");
	return OK;
}

const char *approval_yes_by(struct sys *s, struct arena *a, const struct json *assertion)
{
	const char *id = json_get_text(assertion, "key_id", ""), *label = "";
	bool is_known = false;

	(void)!person_of_key(s, a, id, &is_known, &label, NULL);
	return is_known ? label : json_get_text(json_get(person_of_fleet(s, a), id), "label", "");
}

bool approval_same_person(struct arena *a, const char *x, const char *y)
{
	return text_eq(text_fold(a, x, strlen(x)), text_fold(a, y, strlen(y)));
}

/* Every key counts now, each with the name of a person, and no two belong to one. */
static int check_people(
	struct kernel *k, struct arena *a, const struct json *list, const struct person *who, struct err *e)
{
	const char *labels[MOST_APPROVERS + 1];
	/* Those before may have come by orders, and were looked at then; who answers here has to be registered here. */
	const struct json *fleet = who->fleet || list->n < 2 ? who->fleet : person_of_fleet(k->sys, a);

	if (list->n > ARRAY_SIZE(labels))
		return err_set(e, E_DENIED, "APPROVAL_QUORUM",
			"more than %d people said yes; deny the request, and ask again", MOST_APPROVERS);
	for (uint32_t i = 0; i < list->n; i++) {
		const struct json *x = json_at(list, i);
		const char *id = json_get_text(x, "key_id", "");
		bool is_known;
		int rc = find_person(k, a, x, i + 1 < list->n ? fleet : who->fleet, &is_known, &labels[i], e);
		if (rc)
			return rc;
		if (!is_known)
			return err_set(e, E_DENIED, "APPROVER_UNKNOWN",
				"key %.24s... said yes and is neither registered here nor named by the fleet; deny the request, and ask again",
				id);
		if (!*labels[i])
			return err_set(e, E_DENIED, "APPROVER_UNNAMED",
				"key %.24s... is registered without a name, so nobody knows whose it is; 'helm approval trust remove', then 'trust add FILE --label NAME'",
				id);
		for (uint32_t j = 0; j < i; j++)
			if (approval_same_person(a, labels[i], labels[j]))
				return err_set(e, E_DENIED, "APPROVAL_TWICE",
					"two keys of '%s' are one person; somebody else must say yes",
					labels[i]);
	}
	return OK;
}

/* An answer that only a program with ECDSA can check: not tampered with, but not to be built upon here. */
static bool needs_console(const struct json *list, webauthn_es256 *es256)
{
	json_each (x, list)
		if (!es256 && text_eq(json_get_text(x, "algorithm", ""), "webauthn-es256"))
			return true;
	return false;
}

/* What was signed so far, and this one. */
static int add_one(struct kernel *k, struct arena *a, const struct json *entry, struct bytes message,
	const struct person *who, struct json **ret, struct err *e)
{
	const struct json *passkey =
				  message.n && json_get(who->proof, "authenticator_data") ? who->proof : NULL,
			  *signed_elsewhere = message.n ? who->assertion : NULL;
	int needed = quorum_of(json_get(entry, "request"));

	if (needed > MOST_APPROVERS || (!passkey && !signed_elsewhere && (!who->key || key_keeper(who->key))))
		return err_set(e, E_DENIED, "APPROVAL_QUORUM",
			"this takes %d people, each with a registered key of their own: --key FILE, or a passkey in the console",
			needed);
	/* An order may be long under way; the challenge ends by itself. */
	const int64_t in_s = who->order ? CHALLENGE_LASTS_S : ANSWER_IN_S;
	int rc = passkey || signed_elsewhere ? proof_for(k, a, entry, message, in_s, ret, e)
					     : proof_of(k, a, entry, ret, e);
	if (rc)
		return rc;
	const struct json *challenge = json_get(*ret, "challenge");
	json_push(a, json_get(*ret, "assertions"),
		passkey			   ? assertion_of_passkey(a, challenge, passkey)
			: signed_elsewhere ? json_copy(a, signed_elsewhere)
					   : assert_by(a, challenge, who->key));
	return OK;
}

int quorum_add(struct kernel *k, struct arena *a, struct json *entry, struct bytes message,
	const struct person *who, struct grant *ret, struct json **ret_proof, bool *ret_is_enough,
	struct err *e)
{
	int needed = quorum_of(json_get(entry, "request"));
	struct json *proof = NULL;
	int rc = add_one(k, a, entry, message, who, &proof, e);

	if (rc)
		return rc;
	const struct json *list = json_get(proof, "assertions");
	if (is_there_before(list, list->n - 1))
		return err_set(e, E_DENIED, "APPROVAL_TWICE",
			"this key has said yes already; somebody else must, too");
	if (needs_console(list, who->es256))
		return err_set(e, E_DENIED, "APPROVAL_QUORUM",
			"somebody said yes with a passkey that only the console can check: say yes there, too ('helm open'), or from the fleet");
	if (!all_hold(a, proof, who->es256))
		return err_set(e, E_CORRUPT, "APPROVAL_TAMPERED",
			"what was signed for request %s does not hold; deny it, and ask again",
			json_get_text(json_get(entry, "request"), "approval_id", ""));
	rc = check_people(k, a, list, who, e);
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

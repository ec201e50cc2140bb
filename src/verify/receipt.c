/* receipt.c — one mainline receipt, and bundles of them.
 *
 * The version tag selects the preimage and nothing else is tried for a tagged receipt: a verifier that
 * falls back can be talked into the weaker form by deleting a member.  Untagged receipts sign colon-joined
 * fields that can be read two ways; they are refused unless asked for, and marked as legacy then.
 *
 * What the signature does not cover by name (time, executor, metadata, keys) is bound by the mark in the
 * signed receipt_id, and by the chain hash in the next receipt.  Receipts from before marks, and those of
 * others, have only the second; the head of a chain has no next one, and the report says so. */
#include "verify/receipt.h"

#include "model/records.h"
#include "proof/merkle.h"
#include "proof/preimage.h"
#include "verify/parts.h"

#include <string.h>

static bool text_is_empty(const struct json *v)
{
	return !v || (v->type == JSON_STRING && v->n == 0);
}

/* Profile and algorithm are either both unsaid, or both said and what the signature is.  Nothing is
 * guessed and nothing is treated as a weaker form. */
static bool check_profile(struct verification *v, const struct json *receipt)
{
	const struct json *profile = json_get(receipt, "signature_profile");
	const struct json *algorithm = json_get(receipt, "signature_algorithm");
	bool is_hybrid = text_starts(member_text(receipt, "signature"), "hybrid:");

	if (text_is_empty(profile) && text_is_empty(algorithm))
		return true;
	if (text_eq(member_text(receipt, "signature_profile"), is_hybrid ? "hybrid" : "classical") &&
		text_eq(member_text(receipt, "signature_algorithm"),
			is_hybrid ? "Hybrid-Ed25519-MLDSA65" : "ed25519"))
		return true;
	verify_at(v, NULL, "signature_algorithm", is_hybrid ? "hybrid" : "classical with ed25519",
		arena_printf(v->a, "%s with %s", member_text(receipt, "signature_profile"),
			member_text(receipt, "signature_algorithm")));
	return verify_fail(v, "unsupported_algorithm",
		"signature profile \"%s\" with algorithm \"%s\" is not supported, or is not what the "
		"signature is",
		member_text(receipt, "signature_profile"), member_text(receipt, "signature_algorithm"));
}

/* The key the receipt carries.  It can show that the receipt is unchanged, never who signed it. */
static bool declared_key(const struct json *receipt, uint8_t ret[KEY_SIZE])
{
	const char *key = member_text(json_get(receipt, "public_key_set"), "ed25519");

	return *key && trust_parse_key(key, ret);
}

/* The form of the signature text decides between hybrid and classical; check_profile has refused a receipt
 * that states another. */
static bool check_signature(
	struct verification *v, const struct json *receipt, struct bytes preimage, const char *error)
{
	uint8_t signature[SIGNATURE_SIZE], declared[KEY_SIZE];
	bool has_key = declared_key(receipt, declared);
	const char *text = member_text(receipt, "signature");

	if (text_starts(text, "hybrid:"))
		return verify_hybrid(v, receipt, preimage, error);
	if (!parse_signature(text, signature)) {
		verify_at(v, NULL, "signature", "128 lower-case hex digits", text);
		return verify_refute(v, error, "the signature is not 128 lower-case hex digits");
	}
	return verify_signature(
		v, preimage, signature, has_key ? declared : NULL, member_text(receipt, "key_id"), error);
}

/* The signature of a tagged receipt over the one preimage its tag selects. */
static bool check_v5(struct verification *v, const struct json *receipt)
{
	struct err e = { 0 };
	struct bytes preimage;

	if (receipt_preimage_v5(v->a, receipt, &preimage, &e))
		return verify_refute_err(v, &e);
	verify_value(v, "preimage_version", RECEIPT_V5);
	return check_signature(v, receipt, preimage, "signature_rejected");
}

/* Checks an untagged receipt under one of the old preimages.  Works on a verification of its own, so that
 * a failure leaves no trace and the caller can try the next. */
static bool try_legacy(struct verification *v, const struct json *receipt, const char *name,
	int (*preimage_of)(struct arena *, const struct json *, struct bytes *, struct err *))
{
	struct verification attempt;
	struct bytes preimage;

	if (preimage_of(v->a, receipt, &preimage, NULL))
		return false;
	verification_begin(&attempt, v->a, v->trust, v->kind);
	if (!check_signature(&attempt, receipt, preimage, "signature_rejected"))
		return false;
	verify_merge(v, &attempt, true);
	v->signer_key = attempt.signer_key;
	verify_value(v, "preimage_version", name);
	if (v->values)
		json_set(v->a, v->values, "preimage_text",
			json_stringn(v->a, (const char *)preimage.p, preimage.n));
	return true;
}

/* The form that covers the whole receipt is tried before the ambiguous one. */
static bool check_untagged(struct verification *v, const struct json *receipt)
{
	v->is_legacy = true;
	if (!v->trust->allow_legacy)
		return verify_fail(v, "legacy_refused",
			"the receipt has no signature_version; its old preimage is ambiguous and is accepted "
			"only with "
			"--allow-legacy");
	if (try_legacy(v, receipt, "v5-jcs", receipt_preimage_v5_jcs) ||
		try_legacy(v, receipt, "v4-fields", receipt_preimage_v4_fields)) {
		verify_note(v, "legacy receipt: its signed text can be read in more than one way");
		return true;
	}
	return verify_fail(v, "signature_rejected", "no preimage of an untagged receipt verifies");
}

/* A tag that is not known is refuted: it is not read as if it were absent. */
static bool check_tag(struct verification *v, const struct json *receipt)
{
	const struct json *tag = json_get(receipt, "signature_version");

	if (!tag)
		return check_untagged(v, receipt);
	if (tag->type != JSON_STRING || !text_eq(tag->text, RECEIPT_V5)) {
		verify_at(v, NULL, "signature_version", RECEIPT_V5,
			json_text(tag) ? tag->text : json_type_name(tag));
		return verify_refute(v, "unsupported receipt signature version",
			"unsupported receipt signature version \"%s\"", json_text(tag) ? tag->text : "");
	}
	return check_v5(v, receipt);
}

/* Everything is asked although the hash failed, so that the signer is known; but what cannot be hashed is
 * not what was signed, whatever the signature says about thirteen of its members. */
bool verify_receipt_core(
	struct verification *v, const struct json *receipt, struct hash *ret_chain, bool *ret_hashed)
{
	struct receipt_text text;
	struct err e = { 0 };

	*ret_hashed = false;
	if (!json_is(receipt, JSON_OBJECT))
		return verify_refute(v, "contract_mismatch", "receipt must be a JSON object");
	/* Projecting the whole receipt also refuses names that differ from known ones only in letter case. */
	if (receipt_text(v->a, receipt, &text, &e)) {
		(void)verify_refute_err(v, &e);
	} else {
		receipt_text_chain(&text, ret_chain->b);
		*ret_hashed = true;
	}
	if (*ret_hashed && v->values)
		verify_value(v, "chain_hash", hash_hex(v->a, ret_chain));
	bool is_signed = check_profile(v, receipt) && check_tag(v, receipt);
	if (!*ret_hashed)
		v->integrity = ANSWER_NO;
	return is_signed && *ret_hashed && verify_key_window(v, member_text(receipt, "timestamp")) &&
		verify_subject(v, receipt) && verify_own_form(v, receipt, &text);
}

/* Names the record in the report, and says what the signature leaves open. */
void verify_receipt(struct verification *v, const struct json *receipt)
{
	struct hash chain;
	bool hashed;
	const char *id = member_text(receipt, "receipt_id");

	v->record = NULL;
	if (!verify_receipt_core(v, receipt, &chain, &hashed) && !v->record)
		v->record = arena_printf(v->a, "receipt %s", *id ? id : "without id");
	if (!receipt_id_mark(id))
		verify_note(v,
			"the signature does not cover timestamp, executor_id, metadata, keys and log members; a "
			"later receipt's prev_hash or a log proof does");
	if (verification_headline(v) != HEADLINE_ADMISSIBLE)
		verify_note(v, "verdict and status of this receipt are unestablished claims");
}

void verify_receipt_text(struct verification *v, struct bytes text, const char *name)
{
	struct err e = { 0 };
	struct json *receipt;

	if (json_parse(v->a, text, name, NULL, &receipt, &e))
		(void)verify_refute_err(v, &e);
	else
		verify_receipt(v, receipt);
}

/* Bundles.  The six checks of an offline bundle, each pass, fail or not applicable. */

/* A bundle is a list of receipts in causal order, judged by six checks: identity, integrity, policy,
 * execution_observation, closure and permit.  Each passes, fails or does not apply. */
struct bundle {
	struct verification *v;
	const char *identity_fault, *hash_fault, *link_fault; /* first one, or NULL */
	struct hash previous;
	int64_t previous_clock;
	unsigned key_order;
	bool has_previous, is_governed, is_observed;
	struct json *chain_hashes;
};

static const char *name_record(struct arena *a, size_t i, const struct json *receipt)
{
	return arena_printf(a, "receipt %zu (%s)", i + 1, member_text(receipt, "receipt_id"));
}

/* The receipt must continue the one before it: its hash, and a later clock.  Only the first broken link is
 * kept. */
static void check_link(struct bundle *b, size_t i, const struct json *receipt)
{
	struct verification *v = b->v;
	const char *prev = member_text(receipt, "prev_hash"), *expected = hash_hex(v->a, &b->previous);
	const char *bare = text_starts(prev, "sha256:") ? prev + strlen("sha256:") : prev;
	int64_t clock = json_get_int(receipt, "lamport_clock", -1);
	const char *record = name_record(v->a, i, receipt);

	if (b->link_fault)
		return;
	if (!text_eq(bare, expected)) {
		b->link_fault =
			arena_printf(v->a, "%s: prev_hash is not the hash of the receipt before it", record);
		verify_at(v, record, "prev_hash", expected, *prev ? prev : "(empty)");
	} else if (clock <= b->previous_clock) {
		b->link_fault = arena_printf(v->a, "%s: lamport_clock does not increase", record);
		verify_at(v, record, "lamport_clock",
			arena_printf(v->a, "more than %lld", (long long)b->previous_clock),
			arena_printf(v->a, "%lld", (long long)clock));
	}
}

/* Embedded keys count only when the caller allows it and brought none. */
static bool is_identified(const struct verification *one)
{
	return one->trusted == ANSWER_YES || (one->trust->allow_self_attested && one->trust->key_count == 0);
}

/* A receipt without a chain hash is left out of the chain: its successor is compared with the last one
 * that has a hash, and fails. */
static void take_receipt(struct bundle *b, size_t i, const struct json *receipt)
{
	struct verification one, *v = b->v;
	struct hash chain;
	bool hashed;

	verification_begin(&one, v->a, v->trust, "receipt");
	bool is_good = verify_receipt_core(&one, receipt, &chain, &hashed);
	b->key_order = verify_key_order(&one, b->key_order);
	if (!(is_good && !one.error && is_identified(&one)) && !b->identity_fault) {
		b->identity_fault = arena_printf(v->a, "%s: %s", name_record(v->a, i, receipt),
			one.text ? one.text
				 : "the signature verifies only under the key the receipt carries");
		verify_at(v, name_record(v->a, i, receipt), one.member ? one.member : "signature",
			one.expected, one.found);
	}
	verify_merge(v, &one, i == 0);
	if (!hashed) {
		if (!b->hash_fault)
			b->hash_fault = arena_printf(v->a, "%s: %s", name_record(v->a, i, receipt), one.text);
		return;
	}
	json_pushs(v->a, b->chain_hashes, hash_hex(v->a, &chain));
	if (b->has_previous)
		check_link(b, i, receipt);
	b->previous = chain;
	b->previous_clock = json_get_int(receipt, "lamport_clock", -1);
	b->has_previous = true;
	bool is_v5 = text_eq(member_text(receipt, "signature_version"), RECEIPT_V5);
	b->is_governed |= is_v5 && (*member_text(receipt, "policy_hash") || *member_text(receipt, "verdict"));
	b->is_observed |= *member_text(receipt, "args_hash") || *member_text(receipt, "output_hash");
}

static void report_check(struct verification *v, const char *name, const char *fault, bool applies)
{
	verify_check(v, name,
		fault		  ? CHECK_FAIL
			: applies ? CHECK_PASS
				  : CHECK_NOT_APPLICABLE,
		fault ? fault : "");
	if (fault)
		(void)verify_fail(v, arena_printf(v->a, "%s_failed", name), "%s", fault);
}

/* What is wrong with the first permit that does not verify under a trusted key, or NULL. */
static const char *first_bad_permit(struct verification *v, const struct json *permits)
{
	for (size_t i = 0; permits && i < permits->n; i++) {
		struct verification one;
		verification_begin(&one, v->a, v->trust, "effect permit");
		verify_permit(&one, permits->items[i]);
		if (one.trusted != ANSWER_YES)
			return arena_printf(v->a, "permit %zu (%s): %s", i + 1,
				member_text(permits->items[i], "permit_id"), one.text ? one.text : one.error);
	}
	return NULL;
}

/* Policy and observation only say whether such receipts are there.  A broken chain refutes the bundle; a
 * bad permit only takes away trust. */
static void report_checks(struct bundle *b, size_t n, const struct json *permits)
{
	struct verification *v = b->v;
	const char *permit_fault = first_bad_permit(v, permits);

	report_check(v, "identity", b->identity_fault, true);
	report_check(v, "integrity", b->hash_fault, true);
	report_check(v, "policy", NULL, b->is_governed);
	report_check(v, "execution_observation", NULL, b->is_observed);
	report_check(v, "closure", b->link_fault, n >= 2);
	report_check(v, "permit", permit_fault, permits && permits->n > 0);
	if (b->link_fault || b->hash_fault)
		v->integrity = ANSWER_NO;
	if (permit_fault)
		v->trusted = ANSWER_NO;
}

void verify_receipts(struct verification *v, const struct json *receipts, const struct json *permits)
{
	struct bundle b = { .v = v, .chain_hashes = json_new(v->a, JSON_ARRAY) };

	if (!json_is(receipts, JSON_ARRAY) || receipts->n == 0) {
		(void)verify_fail(v, "no receipts supplied", "no receipts supplied");
		return;
	}
	struct trust *trust = arena_alloc(v->a, sizeof(*trust));
	*trust = *v->trust;
	(void)trust_add_seams(v->a, (const struct json *const *)receipts->items, receipts->n, trust);
	v->trust = trust;
	for (size_t i = 0; i < receipts->n; i++)
		take_receipt(&b, i, receipts->items[i]);
	report_checks(&b, receipts->n, json_is(permits, JSON_ARRAY) ? permits : NULL);
	json_set(v->a, v->values, "chain_hashes", b.chain_hashes);
	if (!receipt_id_mark(member_text(receipts->items[receipts->n - 1], "receipt_id")))
		verify_note(v, "unsigned members of the last receipt are protected by nothing in this file");
	verify_note(v, "whether receipts after the last one existed is not established");
}

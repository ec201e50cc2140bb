/* attest.c — counterfactual receipts (what would have been decided) and workstation receipts (what a local
 * agent did).
 *
 * Both carry their own hash and a signature, and both name their signer by its key.  That key shows that
 * the receipt is unchanged; trust comes only from a key the caller brought.  The two differ in what is
 * signed: a counterfactual receipt signs a text with its hash in it, a workstation receipt signs the bytes
 * that are hashed. */
#include "model/reason.h"
#include "model/records.h"
#include "proof/preimage.h"
#include "verify/parts.h"

#include <string.h>

/* Canonical bytes of the members in `p`; *ret is set only on success. */
static int project(struct arena *a, const struct projection *p, const struct except *but,
	const struct json *record, struct bytes *ret, struct err *e)
{
	struct buf b;
	int rc;

	buf_init(&b, a);
	rc = projection_write(&b, p, but, record, e);
	if (rc == OK)
		*ret = buf_bytes(&b);
	return rc;
}

/* The signature over a message, under the key the record names in signer_key_id. */
static bool check_signature(struct verification *v, const struct json *record, struct bytes message)
{
	uint8_t signature[SIGNATURE_SIZE], declared[KEY_SIZE];
	const char *key = member_text(record, "signer_key_id");
	bool has_key = *key && trust_parse_key(key, declared);

	if (!parse_signature(member_text(record, "signature"), signature))
		return verify_refute(
			v, "signature_rejected", "the signature is not 128 lower-case hex digits");
	return verify_signature(
		       v, message, signature, has_key ? declared : NULL, key, "signature_rejected") &&
		verify_key_window(v, member_text(record, "created_at"));
}

/* The stated hash is compared before the signature: a reader who is told about a wrong hash knows that the
 * content was changed. */
static bool check_hash(struct verification *v, const struct json *record, const char *computed)
{
	const char *stored = member_text(record, "receipt_hash");

	verify_value(v, "receipt_hash", computed);
	if (text_eq(stored, computed))
		return true;
	verify_at(v, NULL, "receipt_hash", computed, *stored ? stored : "(empty)");
	return verify_refute(v, "hash_mismatch", "receipt_hash is not the hash of the receipt");
}

/* Counterfactual receipts. */

/* A counterfactual receipt must say that it is one.  Otherwise somebody could show it as a decision that
 * was enforced.  A verdict that would have stopped something needs a reason from the register. */
static bool check_counterfactual_rules(struct verification *v, const struct json *r)
{
	static const char *const required[] = { "receipt_id", "observe_grant_id", "boundary_record_id",
		"boundary_record_hash", "policy_epoch", "created_at" };
	const char *verdict = member_text(r, "would_have_verdict"), *reason = member_text(r, "reason_code");

	if (!text_eq(member_text(r, "enforcement"), "counterfactual")) {
		verify_at(v, NULL, "enforcement", "counterfactual", member_text(r, "enforcement"));
		return verify_refute(v, "contract_mismatch",
			"only enforcement \"counterfactual\" is a counterfactual receipt");
	}
	if (!text_eq(verdict, "ALLOW") && !text_eq(verdict, "DENY") && !text_eq(verdict, "ESCALATE"))
		return verify_refute(
			v, "contract_mismatch", "would_have_verdict \"%s\" is no verdict", verdict);
	if (!text_eq(verdict, "ALLOW") && !reason_find(reason))
		return verify_refute(v, "contract_mismatch",
			"%s needs a registered reason_code, found \"%s\"", verdict, reason);
	for (size_t i = 0; i < ARRAY_SIZE(required); i++)
		if (!*member_text(r, required[i]))
			return verify_refute(v, "contract_mismatch", "member \"%s\" is missing", required[i]);
	return true;
}

/* The signed text begins with "counterfactual:", so that this signature can never be used for a hash of
 * another kind. */
void verify_counterfactual(struct verification *v, const struct json *receipt)
{
	static const char *const sealed[] = { "receipt_hash", "signature", "signer_key_id", NULL };
	static const struct except but = { .absent = sealed };
	struct err e = { 0 };
	struct bytes view;

	if (!json_is(receipt, JSON_OBJECT)) {
		(void)verify_refute(v, "contract_mismatch", "a counterfactual receipt is an object");
		return;
	}
	if (!check_counterfactual_rules(v, receipt))
		return;
	if (project(v->a, &counterfactual_projection, &but, receipt, &view, &e)) {
		(void)verify_refute_err(v, &e);
		return;
	}
	char *hash = preimage_prefixed(v->a, view);
	if (!check_hash(v, receipt, hash))
		return;
	(void)check_signature(v, receipt, bytes_of(arena_printf(v->a, "counterfactual:%s", hash)));
	verify_note(v, "a verdict that was not enforced: nothing was allowed or stopped by it");
}

/* Workstation receipts. */

/* A receipt with a `request` is a policy decision and has other members.  Hash and signature cover the
 * same bytes and are both checked even when the first fails, so that the signer is known; a wrong hash
 * then still refutes the receipt. */
void verify_workstation(struct verification *v, const struct json *receipt)
{
	static const char *const sealed[] = { "receipt_hash", "signature", NULL };
	static const struct except but = { .cleared = sealed };
	bool is_decision = json_get(receipt, "request") != NULL;
	struct err e = { 0 };
	struct bytes view;

	if (!text_eq(member_text(receipt, "receipt_version"), "agent_run_receipt.v1")) {
		(void)verify_refute(v, "unsupported_version", "unsupported receipt_version \"%s\"",
			member_text(receipt, "receipt_version"));
		return;
	}
	if (project(v->a, is_decision ? &policy_decision_projection : &agent_run_projection, &but, receipt,
		    &view, &e)) {
		(void)verify_refute_err(v, &e);
		return;
	}
	bool hashed = check_hash(v, receipt, preimage_hex(v->a, view));
	bool is_signed = check_signature(v, receipt, view);
	if (!hashed && is_signed)
		v->integrity = ANSWER_NO;
}

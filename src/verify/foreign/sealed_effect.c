/* sealed_effect.c — how an effect ends: close receipts, dispositions under a fence, and approval of
 * generated specs.
 *
 * Each ceremony is a chain of two or three records by different signers.  A record is first judged by
 * itself (form, hash, signature), then against the one before it; the names of errors say which record
 * failed.  Keys that the caller pins are used for exactly the record they are pinned for. */
#include "verify/foreign/sealed.h"

#include "model/stamp.h"

#include <string.h>

/* Close: the connector's acknowledgement, then the kernel's receipt bound to it. */

/* An effect that took place has a reference, one that did not has none. */
static bool check_outcome(struct verification *v, const struct json *r, const char *error)
{
	bool is_applied = text_eq(member_text(r, "outcome"), "APPLIED");

	if (is_applied == (*member_text(r, "effect_ref") != '\0'))
		return true;
	verify_at(v, NULL, "effect_ref", is_applied ? "present" : "absent", member_text(r, "effect_ref"));
	return verify_refute(v, error, "APPLIED names its effect, NOT_APPLIED names none");
}

/* A signature may stand in the envelope, beside the record, or in both places.  Each one that is given
 * must verify. */
static bool check_two_signatures(struct verification *v, const struct sealed_kind *k,
	const struct json *record, const char *given, const struct json *envelope, const char *key,
	const char *error)
{
	const char *enclosed = member_text(envelope, "signature");

	if (*enclosed && !sealed_signature(v, k, record, enclosed, key, error))
		return false;
	return sealed_signature(v, k, record, *given ? given : enclosed, key, error);
}

static const char *pinned_key(const struct json *pinned)
{
	return pinned ? member_text(pinned, "public_key") : NULL;
}

/* The connector's word, before the kernel's receipt about it is looked at. */
static bool check_acknowledgement(struct verification *v, const struct json *doc, const struct json *pinned)
{
	const struct json *ack = json_get(doc, "acknowledgement"),
			  *envelope = json_get(doc, "acknowledgement_envelope");

	if (!sealed_contract(v, &sealed_acknowledgement, ack, "acknowledgement_contract_rejected") ||
		!check_outcome(v, ack, "acknowledgement_contract_rejected") ||
		!sealed_hash(v, &sealed_acknowledgement, ack, "acknowledgement_hash_mismatch"))
		return false;
	if (envelope && !json_eq(json_get(envelope, "acknowledgement"), ack))
		return verify_refute(
			v, "acknowledgement_hash_mismatch", "the envelope carries another acknowledgement");
	if (pinned && !sealed_pinned(v, pinned, ack, "observed_at", "acknowledgement_trust_rejected"))
		return false;
	return check_two_signatures(v, &sealed_acknowledgement, ack,
		member_text(doc, "acknowledgement_signature"), envelope, pinned_key(pinned),
		"acknowledgement_signature_rejected");
}

/* An effect whose outcome was uncertain can only be closed by a reconciliation, which must be named. */
static bool check_close_rules(struct verification *v, const struct json *r)
{
	if (!check_outcome(v, r, "receipt_contract_rejected"))
		return false;
	if (text_eq(member_text(r, "prior_state"), "UNCERTAIN") && !*member_text(r, "reconciliation_ref")) {
		verify_at(v, NULL, "reconciliation_ref", "present", "(absent)");
		return verify_refute(
			v, "receipt_contract_rejected", "an uncertain effect is closed by a reconciliation");
	}
	return true;
}

/* Everything both records speak of must agree.  Clocks of connector and kernel may differ by five minutes. */
static bool check_close_bound(struct verification *v, const struct json *r, const struct json *ack)
{
	static const char bound[] =
		"admission_id attempt_id tenant_id workspace_id audience connector_id connector_version "
		"connector_action "
		"acknowledgement_hash outcome idempotency_key_hash effect_hash response_hash "
		"connector_execution_ref "
		"proof_session_ref intent_ref effect_ref reconciliation_ref disposition_receipt_hash";

	if (!sealed_bound(v, r, ack, bound, "acknowledgement_binding_rejected"))
		return false;
	return lasts_at_most(member_text(r, "closed_at"), member_text(ack, "observed_at"), 300) ||
		verify_refute(v, "acknowledgement_binding_rejected",
			"the observation lies more than five minutes after the close");
}

void verify_effect_close(struct verification *v, const struct json *doc, const struct json *given)
{
	const struct json *r = json_get(doc, "receipt");
	const struct json *ack_pinned = json_get(given, "acknowledgement_trust"),
			  *pinned = json_get(given, "receipt_trust");

	if (!check_acknowledgement(v, doc, ack_pinned))
		return;
	if (!sealed_contract(v, &sealed_close, r, "receipt_contract_rejected") || !check_close_rules(v, r) ||
		!sealed_hash(v, &sealed_close, r, "receipt_hash_mismatch") ||
		!check_close_bound(v, r, json_get(doc, "acknowledgement")))
		return;
	if (pinned && !sealed_pinned(v, pinned, r, "closed_at", "receipt_trust_rejected"))
		return;
	(void)sealed_signature(v, &sealed_close, r, member_text(doc, "receipt_signature"), pinned_key(pinned),
		"receipt_signature_rejected");
}

/* Disposition: a command under a fence, and the kernel's acceptance of it.  Neither grants execution. */

/* Commands are short-lived and numbered; each but the first names the receipt of the one before it. */
static bool check_command(struct verification *v, const struct json *doc, const struct json *pinned)
{
	const struct json *c = json_get(doc, "command"), *envelope = json_get(doc, "command_envelope");
	const char *issued = member_text(c, "issued_at"), *expires = member_text(c, "expires_at");
	bool is_first = json_get_int(c, "disposition_sequence", 0) == 1;

	if (!sealed_contract(v, &sealed_command, c, "command_contract_rejected"))
		return false;
	if (!is_before(issued, expires) || !lasts_at_most(issued, expires, 600))
		return verify_refute(
			v, "command_contract_rejected", "a disposition command lives at most ten minutes");
	if (is_first != (*member_text(c, "previous_receipt_hash") == '\0'))
		return verify_refute(
			v, "command_contract_rejected", "the first disposition alone has no predecessor");
	if (!sealed_hash(v, &sealed_command, c, "command_hash_mismatch"))
		return false;
	if (envelope && !json_eq(json_get(envelope, "command"), c))
		return verify_refute(v, "command_hash_mismatch", "the envelope carries another command");
	if (pinned && !sealed_pinned(v, pinned, c, "issued_at", "command_trust_rejected"))
		return false;
	return check_two_signatures(v, &sealed_command, c, member_text(doc, "command_signature"), envelope,
		pinned_key(pinned), "command_signature_rejected");
}

/* The acceptance is of exactly this command, while it was live. */
static bool check_disposition_bound(struct verification *v, const struct json *r, const struct json *c)
{
	static const char bound[] = "command_id command_hash disposition_sequence previous_receipt_hash "
				    "tenant_id workspace_id audience "
				    "fence_command_id fence_command_hash fence_epoch fence_receipt_hash "
				    "admission_id reservation_sequence "
				    "reservation_head_hash reservation_state action disposition_ref";

	if (!sealed_bound(v, r, c, bound, "command_binding_rejected"))
		return false;
	return is_within(member_text(r, "accepted_at"), member_text(c, "issued_at"),
		       member_text(c, "expires_at")) ||
		verify_refute(v, "command_binding_rejected", "the command was not live when it was accepted");
}

void verify_disposition(struct verification *v, const struct json *doc, const struct json *given)
{
	const struct json *r = json_get(doc, "receipt"), *pinned = json_get(given, "receipt_trust");

	if (!check_command(v, doc, json_get(given, "command_trust")))
		return;
	if (!sealed_contract(v, &sealed_disposition, r, "receipt_contract_rejected") ||
		!sealed_hash(v, &sealed_disposition, r, "receipt_hash_mismatch") ||
		!check_disposition_bound(v, r, json_get(doc, "command")))
		return;
	if (pinned && !sealed_pinned(v, pinned, r, "accepted_at", "receipt_trust_rejected"))
		return;
	(void)sealed_signature(v, &sealed_disposition, r, member_text(doc, "receipt_signature"),
		pinned_key(pinned), "receipt_signature_rejected");
}

/* Approval of a generated spec. */

#define SPEC_BOUND \
	"approval_id tenant_id workspace_id audience generated_spec_id generated_spec_hash " \
	"execution_plan_hash " \
	"plan_transaction_hash write_set_hash verification_scope_hash policy_envelope_hash policy_version " \
	"policy_epoch " \
	"action requesting_principal_id authority_source authority_version authority_snapshot_hash " \
	"server_identity " \
	"challenge_hash"

/* A hold comes before the challenge, so that nobody can approve in haste; the times must be in that order. */
static bool check_spec_challenge(struct verification *v, const struct json *c)
{
	static const char *const times[] = { "hold_started_at", "eligible_at", "issued_at", "expires_at" };

	if (!sealed_contract(v, &sealed_spec_challenge, c, "contract_mismatch") ||
		!sealed_hash(v, &sealed_spec_challenge, c, "challenge_hash_mismatch"))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (!stamp_is_utc(member_text(c, times[i]), 9))
			return verify_refute(v, "contract_mismatch", "%s is not a UTC time", times[i]);
	if (!is_before(member_text(c, "hold_started_at"), member_text(c, "eligible_at")) ||
		!is_not_after(member_text(c, "eligible_at"), member_text(c, "issued_at")) ||
		!is_before(member_text(c, "issued_at"), member_text(c, "expires_at")))
		return verify_refute(v, "contract_mismatch", "the challenge's times are out of order");
	return is_bare_hash(member_text(c, "nonce")) ||
		verify_refute(v, "contract_mismatch", "the nonce is not 64 lower-case hex digits");
}

/* Sorted and named once, so that nobody counts twice.  Whoever asks may not approve. */
static bool check_approvers(struct verification *v, const struct json *grant, int64_t quorum)
{
	const struct json *list = json_get(grant, "approver_principal_ids");
	const char *requester = member_text(grant, "requesting_principal_id"), *before = "";

	json_each (item, list) {
		const char *id = json_text(item) ? json_text(item) : "";
		if (strcmp(before, id) >= 0 || text_eq(id, requester))
			return verify_refute(v, "contract_mismatch",
				"approvers are sorted, named once, and never the requester");
		before = id;
	}
	if (!json_is(list, JSON_ARRAY) || list->n < (uint64_t)quorum)
		return verify_refute(v, "quorum_not_verified", "fewer approvers than the quorum of %lld",
			(long long)quorum);
	return true;
}

/* The grant cannot outlive the challenge, and repeats what the challenge asked for. */
static bool check_spec_grant(struct verification *v, const struct json *grant, const struct json *challenge)
{
	const char *issued = member_text(grant, "issued_at"), *expires = member_text(grant, "expires_at");

	if (!sealed_contract(v, &sealed_spec_grant, grant, "contract_mismatch") ||
		!sealed_hash(v, &sealed_spec_grant, grant, "grant_hash_mismatch") ||
		!check_approvers(v, grant, json_get_int(challenge, "quorum", 0)))
		return false;
	if (!stamp_is_utc(issued, 9) || !stamp_is_utc(expires, 9) || !is_before(issued, expires) ||
		!is_not_after(member_text(challenge, "issued_at"), issued) ||
		!is_not_after(expires, member_text(challenge, "expires_at")))
		return verify_refute(v, "contract_mismatch", "the grant's lifetime leaves the challenge's");
	if (!is_bare_hash(member_text(grant, "nonce")))
		return verify_refute(v, "contract_mismatch", "the nonce is not 64 lower-case hex digits");
	return sealed_bound(v, grant, challenge, SPEC_BOUND, "grant_binding_rejected");
}

/* Used while live, and for exactly what was granted. */
static bool check_spec_consumption(struct verification *v, const struct json *c, const struct json *grant)
{
	static const char bound[] =
		SPEC_BOUND " grant_id grant_hash approver_principal_ids ceremony_hash signer_set_hash "
			   "kernel_trust_root_id "
			   "signing_key_ref grant_issued_at=issued_at grant_expires_at=expires_at";

	if (!sealed_contract(v, &sealed_spec_consumption, c, "contract_mismatch") ||
		!sealed_hash(v, &sealed_spec_consumption, c, "consumption_hash_mismatch") ||
		!sealed_bound(v, c, grant, bound, "consumption_binding_rejected"))
		return false;
	return is_within(member_text(c, "consumed_at"), member_text(grant, "issued_at"),
		       member_text(grant, "expires_at")) ||
		verify_refute(v, "inactive_grant", "the grant was not live when it was consumed");
}

/* States come in one order, each once; a second consumption would be a state too many. */
static bool check_lifecycle(struct verification *v, const struct json *lifecycle)
{
	static const char *const states[] = { "HOLD_PENDING", "CHALLENGE_ISSUED", "QUORUM_VERIFIED",
		"GRANT_ISSUED", "CONSUMED" };
	const struct json *list = json_get(lifecycle, "states");

	for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->n; i++)
		if (i >= ARRAY_SIZE(states) || !json_text(list->items[i]) ||
			!text_eq(json_text(list->items[i]), states[i]))
			return verify_refute(v, "transition_conflict",
				"state %zu does not follow; a grant is consumed once", i + 1);
	return true;
}

/* Challenge, grant, consumption, in the order they were made.  Both kernel signatures must verify. */
void verify_spec_approval(struct verification *v, const struct json *doc, const struct json *given)
{
	const struct json *challenge = json_get(doc, "challenge"), *grant = json_get(doc, "grant");
	const struct json *consumption = json_get(doc, "consumption");
	const char *at = json_get_text(given, "verification_time", NULL);

	if (!check_spec_challenge(v, challenge) || !check_spec_grant(v, grant, challenge))
		return;
	if (at && !is_within(at, member_text(grant, "issued_at"), member_text(grant, "expires_at"))) {
		(void)verify_refute(v, "inactive_grant", "the grant is not live at %s", at);
		return;
	}
	if (!sealed_signature(v, &sealed_spec_grant, grant, member_text(doc, "grant_signature"),
		    json_get_text(given, "grant_public_key", NULL), "signature_rejected") ||
		!check_spec_consumption(v, consumption, grant) ||
		!sealed_signature(v, &sealed_spec_consumption, consumption,
			member_text(doc, "consumption_signature"),
			json_get_text(given, "consumption_public_key", NULL), "signature_rejected"))
		return;
	(void)check_lifecycle(v, json_get(doc, "lifecycle"));
}

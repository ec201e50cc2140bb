/* decision.c — decision records, execution intents and effect permits.
 *
 * These are the records by which the kernel says what may happen.  Their signatures are judged here;
 * whether a permit is still valid or was used already is the kernel's question, and the notes say that it
 * is not answered. */
#include "model/records.h"
#include "proof/preimage.h"
#include "verify/parts.h"

#include <string.h>

/* The part of signature_type behind the colon is the id of the key: a hint which trusted key to try first. */
static bool check_hex_signature(
	struct verification *v, const struct json *record, struct bytes preimage, const char *error)
{
	uint8_t signature[SIGNATURE_SIZE];
	const char *text = member_text(record, "signature"), *type = member_text(record, "signature_type");

	if (!parse_signature(text, signature)) {
		verify_at(v, NULL, "signature", "128 lower-case hex digits", text);
		return verify_refute(v, error, "the signature is not 128 lower-case hex digits");
	}
	return verify_signature(
		v, preimage, signature, NULL, text_starts(type, "ed25519:") ? type + 8 : NULL, error);
}

/* The signed bytes go into the report, so that a reader can check the signature with other tools. */
static void add_preimage(struct verification *v, struct bytes preimage)
{
	json_set(v->a, v->values, "preimage", json_stringn(v->a, (const char *)preimage.p, preimage.n));
}

/* signature_type names the algorithm before the colon.  Others than Ed25519 are not refuted but not
 * supported: such a record may be genuine. */
static bool check_type(struct verification *v, const struct json *record)
{
	const char *type = member_text(record, "signature_type");

	if (text_starts(type, "ml-dsa-65:") || text_starts(type, "Hybrid-Ed25519-MLDSA65:") ||
		text_starts(member_text(record, "signature"), "hybrid:"))
		return verify_fail(
			v, "unsupported_algorithm", "signature type \"%s\" is not supported here", type);
	return true;
}

/* Names are checked before the preimage is made: a member that differs from a known one only in letter
 * case is refused, because some programs would read it as the known one and see another decision than the
 * signed one. */
void verify_decision(struct verification *v, const struct json *decision)
{
	struct err e = { 0 };
	struct bytes preimage;
	const char *version = member_text(decision, "signature_version");

	if (!json_is(decision, JSON_OBJECT)) {
		(void)verify_refute(v, "contract_mismatch", "a decision record is an object");
		return;
	}
	v->record = NULL;
	if (projection_check_names(&decision_projection, decision, &e) ||
		decision_preimage(v->a, decision, &preimage, &e)) {
		(void)verify_refute_err(v, &e);
		return;
	}
	add_preimage(v, preimage);
	verify_value(v, "content_hash", preimage_prefixed(v->a, preimage));
	json_setb(v->a, v->values, "grants_new_authority", text_eq(version, DECISION_V4));
	v->is_legacy = !json_get(decision, "signature_version");
	if (v->is_legacy && !v->trust->allow_legacy) {
		(void)verify_fail(v, "legacy_refused",
			"the decision has no signature_version; its old preimage is ambiguous and is "
			"accepted only with "
			"--allow-legacy");
		return;
	}
	if (check_type(v, decision) && check_hex_signature(v, decision, preimage, "signature_rejected"))
		(void)verify_key_window(v, member_text(decision, "timestamp"));
	if (!text_eq(version, DECISION_V4))
		verify_note(v, "evidence only: an older form grants no new execution authority");
	verify_note(v,
		"the signature does not cover timestamp, policy_epoch, input_context and gate_roster_hash");
}

/* The intent signs the digest of its effect.  When the effect itself is shown too, the digest must be that
 * of the effect shown. */
static bool check_effect(struct verification *v, const struct json *intent)
{
	const struct json *binding = json_get(intent, "effect_binding");
	const char *declared = member_text(intent, "effect_digest_hash");
	struct err e = { 0 };
	char *digest;

	if (!json_is(binding, JSON_OBJECT))
		return true;
	if (effect_digest(v->a, binding, &digest, &e))
		return verify_refute_err(v, &e);
	verify_value(v, "effect_digest", digest);
	if (text_eq(digest, declared))
		return true;
	verify_at(v, NULL, "effect_digest_hash", digest, declared);
	return verify_refute(
		v, "effect_digest_mismatch", "effect_digest_hash is not the digest of effect_binding");
}

/* The signature first, then the effect: what the digest says only counts once it is known that the kernel
 * signed it. */
void verify_intent(struct verification *v, const struct json *intent)
{
	struct err e = { 0 };
	struct bytes preimage;

	if (!json_is(intent, JSON_OBJECT) || intent_preimage(v->a, intent, &preimage, &e)) {
		(void)verify_refute(v, e.code[0] ? e.code : "contract_mismatch", "%s",
			e.text[0] ? e.text : "an intent is an object");
		return;
	}
	add_preimage(v, preimage);
	if (!check_type(v, intent) || !check_hex_signature(v, intent, preimage, "signature_rejected") ||
		!verify_key_window(v, member_text(intent, "issued_at")))
		return;
	(void)check_effect(v, intent);
	verify_note(v, "whether the intent's time window is open is not judged here");
}

/* Only the letters of hex digits matter here. */
static bool has_upper(const char *s)
{
	for (; *s; s++)
		if (*s >= 'A' && *s <= 'F')
			return true;
	return false;
}

/* Upper-case hex gets its own words, since it is a common mistake of other implementations. */
void verify_permit_over(struct verification *v, const struct json *permit, struct bytes preimage)
{
	uint8_t signature[SIGNATURE_SIZE];
	const char *text = member_text(permit, "signature");

	if (!*text) {
		(void)verify_fail(v, "permit_unsigned", "the permit carries no signature");
		return;
	}
	if (!parse_signature(text, signature)) {
		verify_at(v, NULL, "signature", "128 lower-case hex digits", text);
		(void)verify_refute(v, "invalid_encoding", "the permit's signature %s",
			has_upper(text) ? "holds upper-case hex" : "is not 128 lower-case hex digits");
		return;
	}
	if (verify_signature(v, preimage, signature, NULL, NULL, "permit_signature_rejected"))
		(void)verify_key_window(v, member_text(permit, "issued_at"));
}

/* Names that differ from known ones only in letter case are refused, then the signature is checked over
 * the permit's own preimage. */
void verify_permit(struct verification *v, const struct json *permit)
{
	struct err e = { 0 };
	struct bytes preimage;

	if (projection_check_names(&permit_projection, permit, &e) ||
		permit_preimage(v->a, permit, &preimage, &e)) {
		(void)verify_refute_err(v, &e);
		return;
	}
	add_preimage(v, preimage);
	verify_permit_over(v, permit, preimage);
	verify_note(v, "expiry, consumption and scope of the permit are not judged here");
}

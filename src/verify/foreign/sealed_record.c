/* sealed_record.c — records that sign what they hash: compiled boundary profiles, posture attestations,
 * update bundles; and the emergency stop's command and acknowledgement.
 *
 * Here the signature covers the same bytes as the hash, unlike the records of sealed.c, which sign a small
 * payload.  The emergency stop adds the action to those bytes, so that a signed command cannot be
 * presented as an acknowledgement. */
#include "verify/foreign/sealed.h"

#include "proof/preimage.h"

#include <string.h>

/* The record with record_hash empty, and signature empty, or absent where the kind leaves it out. */
static bool record_payload(
	struct verification *v, const struct json *record, bool is_signature_absent, struct bytes *ret)
{
	struct json *view = json_new(v->a, JSON_OBJECT);
	struct err e = { 0 };

	json_each_member (m, record)
		json_set(v->a, view, m->name, m->value);
	json_sets(v->a, view, "record_hash", "");
	if (is_signature_absent)
		(void)json_remove(view, "signature");
	else
		json_sets(v->a, view, "signature", "");
	return sealed_preimage(v->a, view, NULL, ret, &e) == OK || verify_refute_err(v, &e);
}

/* An attestation without signature agrees with itself and nothing more: anybody could have written it.  That
 * something drifted may be said by anybody; that all is well may not. */
static bool check_unsigned(struct verification *v, const struct json *record)
{
	verify_note(v, "a posture attestation carries no signature");
	if (!text_eq(member_text(record, "verdict"), "MATCH"))
		return true;
	v->trusted = ANSWER_UNKNOWN;
	return verify_fail(v, "attestation_unsigned", "an attestation that says MATCH is not signed");
}

/* Hash, then signature.  A posture attestation may be unsigned: it is then bound to its receipt by hash
 * only. */
static bool check_record(
	struct verification *v, const struct json *record, bool is_signature_absent, const char *key)
{
	const char *stored = member_text(record, "record_hash"),
		   *signature = member_text(record, "signature");
	struct bytes payload;

	if (!record_payload(v, record, is_signature_absent, &payload))
		return false;
	char *computed = preimage_prefixed(v->a, payload);
	if (!text_eq(stored, computed)) {
		verify_at(v, member_text(record, "schema_version"), "record_hash", computed, stored);
		return verify_refute(v, "hash_mismatch", "record_hash is not the hash of the record");
	}
	if (is_signature_absent && !json_get(record, "signature"))
		return check_unsigned(v, record);
	return sealed_check_signature(v, payload, signature, key, "signature_rejected") &&
		(key || verify_key_window(v, sealed_time(record)));
}

/* A list of {path, sha256, ...}: sorted, each path once. */
static bool is_sorted(const struct json *list)
{
	const char *before = "";

	json_each (entry, list) {
		const char *path = member_text(entry, "path");
		if (strcmp(before, path) >= 0)
			return false;
		before = path;
	}
	return json_is(list, JSON_ARRAY);
}

/* Hash of a list as it stands; "" when it has none, which equals no stated hash. */
static const char *set_hash(struct verification *v, const struct json *list)
{
	struct err e = { 0 };
	struct bytes text;

	return list && sealed_preimage(v->a, list, NULL, &text, &e) == OK ? preimage_prefixed(v->a, text)
									  : "";
}

/* Each listed file is there with its hash (and size), and none besides. */
static bool check_files(
	struct verification *v, const struct json *list, const struct json *files, const char *error)
{
	if (!json_is(files, JSON_OBJECT) || !json_is(list, JSON_ARRAY) || files->n != list->n)
		return verify_refute(v, error, "the files are not those that are listed");
	json_each (entry, list) {
		const struct json *text = json_get(files, member_text(entry, "path"));
		if (!json_is(text, JSON_STRING) ||
			!text_eq(sha256_prefixed(v->a, text->text, text->n), member_text(entry, "sha256")) ||
			json_get_int(entry, "size", text->n) != text->n) {
			verify_at(
				v, member_text(entry, "path"), "sha256", member_text(entry, "sha256"), NULL);
			return verify_refute(
				v, error, "file \"%s\" is missing or differs", member_text(entry, "path"));
		}
	}
	return true;
}

static bool check_schema(struct verification *v, const struct json *record, const char *schema)
{
	return text_eq(member_text(record, "schema_version"), schema) ||
		verify_refute(v, "contract_mismatch", "schema_version is \"%s\", not \"%s\"",
			member_text(record, "schema_version"), schema);
}

/* Boundary profiles. */

/* The receipt ties the compiled artifacts to the profile they were compiled from. */
static bool check_compile(struct verification *v, const struct json *doc, const char *key)
{
	const struct json *r = json_get(doc, "compile_receipt"), *list = json_get(r, "artifacts");
	struct err e = { 0 };
	struct bytes text;

	if (!check_schema(v, r, "profile_compile_receipt.v1") || !check_record(v, r, false, key))
		return false;
	if (!json_get(doc, "profile_input") ||
		sealed_preimage(v->a, json_get(doc, "profile_input"), NULL, &text, &e) ||
		!text_eq(preimage_prefixed(v->a, text), member_text(r, "policy_input_hash")))
		return verify_refute(
			v, "input_hash_mismatch", "policy_input_hash is not the hash of the profile");
	if (!is_sorted(list) || !text_eq(set_hash(v, list), member_text(r, "artifact_set_hash")))
		return verify_refute(
			v, "artifact_mismatch", "artifact_set_hash is not the hash of the sorted list");
	return check_files(v, list, json_get(doc, "artifacts"), "artifact_mismatch");
}

/* The verdict must follow from the checks that are listed: a drift cannot be called a match. */
static bool check_verdict(struct verification *v, const struct json *attestation)
{
	const char *verdict = member_text(attestation, "verdict");
	size_t failed = 0;

	json_each (check, json_get(attestation, "checks"))
		failed += text_eq(member_text(check, "result"), "FAIL");
	if (failed > 0 ? text_eq(verdict, "DRIFT") : text_eq(verdict, "MATCH"))
		return true;
	return verify_refute(v, "verdict_inconsistent", "verdict %s with %zu failed checks", verdict, failed);
}

/* A missing attestation is no failure; one that is there must belong to this compile receipt. */
static bool check_attestation(
	struct verification *v, const struct json *attestation, const struct json *receipt, const char *key)
{
	if (!attestation)
		return true;
	return check_schema(v, attestation, "posture_attestation.v1") &&
		sealed_bound(
			v, attestation, receipt, "receipt_hash=record_hash receipt_id", "binding_mismatch") &&
		check_verdict(v, attestation) && check_record(v, attestation, true, key);
}

void verify_boundary_profile(struct verification *v, const struct json *doc, const struct json *given)
{
	const char *key = json_get_text(given, "public_key", NULL);
	const struct json *r = json_get(doc, "compile_receipt");

	if (check_compile(v, doc, key) && check_attestation(v, json_get(doc, "attestation_match"), r, key) &&
		check_attestation(v, json_get(doc, "attestation_drift"), r, key))
		(void)check_attestation(v, json_get(doc, "attestation"), r, key);
}

/* Update bundles. */

/* The manifest is judged even when the payload is not there; the report then says that the payload was not
 * given. */
void verify_update_bundle(struct verification *v, const struct json *doc, const struct json *given)
{
	const struct json *m = json_get(doc, "manifest"), *list = json_get(m, "entries");

	if (!check_schema(v, m, "update_bundle_manifest.v1"))
		return;
	if (!is_sorted(list)) {
		(void)verify_refute(v, "contract_mismatch", "entries are not sorted by path, each once");
		return;
	}
	if (!text_eq(set_hash(v, list), member_text(m, "artifact_set_hash"))) {
		verify_at(v, "update manifest", "artifact_set_hash", set_hash(v, list),
			member_text(m, "artifact_set_hash"));
		(void)verify_refute(
			v, "set_hash_mismatch", "artifact_set_hash is not the hash of the entries");
		return;
	}
	if (!check_record(v, m, false, json_get_text(given, "public_key", NULL)))
		return;
	if (json_get(doc, "payloads"))
		(void)check_files(v, list, json_get(doc, "payloads"), "payload_mismatch");
	else
		verify_note(v, "the payload itself was not given");
}

/* Emergency stop. */

static bool is_blank(const char *s)
{
	return s[strspn(s, " \t\r\n\v\f")] == '\0';
}

/* An emergency stop is addressed and lives at most ten minutes, so that an old one cannot be played again. */
static bool check_stop_command(struct verification *v, const struct json *command)
{
	const char *issued = member_text(command, "issued_at"), *expires = member_text(command, "expires_at");

	if (!text_eq(member_text(command, "contract_version"), "emergency-stop-fence.v1"))
		return verify_refute(
			v, "contract_mismatch", "contract_version is not emergency-stop-fence.v1");
	if (is_blank(member_text(command, "audience")))
		return verify_refute(v, "audience_must_be_nonempty_after_trim", "the audience is empty");
	if (!is_before(issued, expires))
		return verify_refute(
			v, "expires_at_must_be_after_issued_at", "the command expires before it is issued");
	if (!lasts_at_most(issued, expires, 600))
		return verify_refute(
			v, "expiry_window_exceeds_ten_minutes", "the command lives longer than ten minutes");
	return true;
}

/* Exactly 128 lower-case hex digits, without the prefix other records may have. */
static bool check_raw_signature(struct verification *v, const char *signature)
{
	uint8_t raw[SIGNATURE_SIZE];

	return parse_signature(signature, raw) ||
		verify_refute(v, "signature_must_be_exact_lowercase_raw_hex",
			"the signature is not exactly 128 lower-case hex digits");
}

static bool stop_payload(
	struct verification *v, const struct json *members, const char *action, struct bytes *ret)
{
	struct err e = { 0 };

	if (!json_is(members, JSON_OBJECT))
		return verify_refute(v, "contract_mismatch", "a command or state is not an object");
	return fence_preimage(v->a, members, action, ret, &e) == OK || verify_refute_err(v, &e);
}

/* *ret_hash is the hash of the command, which the acknowledgement must name. */
static bool check_stop_envelope(
	struct verification *v, const struct json *doc, const char *key, char **ret_hash)
{
	const struct json *command = json_get(doc, "command"), *envelope = json_get(doc, "command_envelope");
	struct bytes payload;

	if (!check_stop_command(v, command) || !stop_payload(v, command, "FENCE", &payload))
		return false;
	*ret_hash = preimage_prefixed(v->a, payload);
	if (!json_eq(json_get(envelope, "command"), command))
		return verify_refute(v, "hash_mismatch", "the envelope carries another command");
	return check_raw_signature(v, member_text(envelope, "signature")) &&
		sealed_check_signature(
			v, payload, member_text(envelope, "signature"), key, "signature_rejected") &&
		(key || verify_key_window(v, sealed_time(command)));
}

/* The kernel's key must be one the caller pinned, under the id and the profile it was pinned with. */
static bool check_kernel_key(struct verification *v, const struct json *state, const struct json *keyring)
{
	const struct json *pinned = json_get(json_get(keyring, "keys"), member_text(state, "kernel_key_id"));

	if (!text_eq(member_text(state, "kernel_signer_profile"), "classical"))
		return verify_refute(v, "kernel_signer_profile_is_not_supported",
			"profile \"%s\" is not supported", member_text(state, "kernel_signer_profile"));
	if (!pinned)
		return verify_refute(v, "kernel_key_id_is_not_pinned", "kernel key \"%s\" is not pinned",
			member_text(state, "kernel_key_id"));
	return sealed_bound(
		v, state, pinned, "kernel_public_key kernel_signer_profile", "kernel_key_id_is_not_pinned");
}

/* With a keyring, the kernel's key must be pinned there, and the signature is checked under that key only. */
static bool check_stop_ack(
	struct verification *v, const struct json *ack, const char *command_hash, const struct json *keyring)
{
	const struct json *state = json_get(ack, "state");
	struct bytes payload;

	if (keyring && !check_kernel_key(v, state, keyring))
		return false;
	if (command_hash && !text_eq(member_text(state, "command_hash"), command_hash))
		return verify_refute(v, "hash_mismatch", "the acknowledgement is for another command");
	if (!stop_payload(v, state, "FENCE_ACK", &payload))
		return false;
	if (!text_eq(preimage_prefixed(v->a, payload), member_text(state, "receipt_hash")))
		return verify_refute(
			v, "hash_mismatch", "receipt_hash is not the hash of the acknowledgement");
	return check_raw_signature(v, member_text(ack, "kernel_signature")) &&
		sealed_check_signature(v, payload, member_text(ack, "kernel_signature"),
			keyring ? member_text(state, "kernel_public_key") : NULL, "signature_rejected");
}

/* Documents may hold a command, an acknowledgement, or both; what is there is judged. */
void verify_emergency_stop(
	struct verification *v, const struct json *doc, const char *command_key, const struct json *keyring)
{
	char *command_hash = NULL;

	if (json_get(doc, "command_envelope")) {
		if (!check_stop_envelope(v, doc, command_key, &command_hash))
			return;
	} else if (json_get(doc, "command") && !check_stop_command(v, json_get(doc, "command"))) {
		return;
	}
	if (json_get(doc, "signature") && !check_raw_signature(v, member_text(doc, "signature")))
		return;
	if (json_get(doc, "acknowledgement"))
		(void)check_stop_ack(v, json_get(doc, "acknowledgement"), command_hash, keyring);
}

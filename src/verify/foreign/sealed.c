/* sealed.c — the engine of sealed contract records; see sealed.h.
 *
 * Seal, then sign: the record without its own hash member is hashed as received; the signature covers a
 * small payload that holds this hash and names its domain, so that no signature of one kind can be passed
 * off as another.
 *
 * The table says for each kind which members it must have and what form they take.  Members that the table
 * does not name are allowed: they are covered by the hash. */
#include "verify/foreign/sealed.h"

#include "model/stamp.h"
#include "proof/preimage.h"

#include <string.h>

/* The table. */

/* The connector that will carry out an effect, certified, and for exactly which effect.  It is embedded in
 * other records and not signed by itself. */
static const struct rule connector_rules[] = {
	{ "state", WANT_ONE_OF, "certified", false },
	{ "binding_ref tenant_id workspace_id pack_id pack_version connector_action connector_id "
	  "connector_version "
	  "release_authority_id connector_signature_ref connector_signer_id connector_sandbox_profile "
	  "connector_drift_policy_ref certification_ref certification_authority",
		WANT_TOKEN, NULL, false },
	{ "release_scope_kind", WANT_ONE_OF, "global tenant_workspace", false },
	{ "connector_executor_kind", WANT_ONE_OF, "digital analog", false },
	{ "release_registry_revision", WANT_COUNT, NULL, false },
	{ "pack_manifest_hash effect_hash policy_hash connector_binary_hash connector_signature_hash "
	  "certification_hash release_authority_hash authority_hash",
		WANT_HASH, NULL, false },
	{ 0 },
};
const struct sealed_kind sealed_connector_authority = { "approval-connector-authority.v1", "2026-07-17.1",
	"authority_hash", NULL, NULL, connector_rules };

#define PACK_ACTIONS "install upgrade uninstall rollback"

/* A grant was used. */
static const struct rule consumption_rules[] = {
	{ "action", WANT_ONE_OF, PACK_ACTIONS, false },
	{ "approval_id grant_id tenant_id workspace_id audience consumed_by kernel_trust_root_id "
	  "signing_key_ref",
		WANT_TOKEN, NULL, false },
	{ "consumed_at grant_issued_at grant_expires_at", WANT_TIME, NULL, false },
	{ "grant_hash effect_hash consumption_hash", WANT_HASH, NULL, false },
	{ 0 },
};
const struct sealed_kind sealed_consumption = { "approval-grant-consumption.v1", "2026-07-17",
	"consumption_hash", "HELM/ApprovalGrantConsumptionSignature/v1",
	"consumption_hash kernel_trust_root_id", consumption_rules };

/* One dispatch may start. */
static const struct rule admission_rules[] = {
	{ "action", WANT_ONE_OF, PACK_ACTIONS, false },
	{ "state", WANT_ONE_OF, "NOT_STARTED", false },
	{ "coverage", WANT_ONE_OF, "new_governed_dispatches_only", false },
	{ "admission_id attempt_id approval_id grant_id tenant_id workspace_id audience admitted_by "
	  "kernel_trust_root_id "
	  "signing_key_ref",
		WANT_TOKEN, NULL, false },
	{ "issued_at expires_at", WANT_TIME, NULL, false },
	{ "grant_hash effect_hash consumption_hash idempotency_key_hash admission_hash", WANT_HASH, NULL,
		false },
	{ 0 },
};
const struct sealed_kind sealed_admission = { "approval-dispatch-admission.v1", "2026-07-17.1",
	"admission_hash", "HELM/ApprovalDispatchAdmissionSignature/v1", "admission_hash kernel_trust_root_id",
	admission_rules };

/* A connector's release is certified or revoked. */
static const struct rule release_rules[] = {
	{ "algorithm", WANT_ONE_OF, "ed25519", false },
	{ "state", WANT_ONE_OF, "certified revoked", false },
	{ "scope_kind", WANT_ONE_OF, "global tenant_workspace", false },
	{ "connector_executor_kind", WANT_ONE_OF, "digital analog", false },
	{ "authority_id connector_id connector_version connector_sandbox_profile connector_drift_policy_ref "
	  "connector_signature_ref connector_signer_id certification_ref certification_authority "
	  "signing_key_ref",
		WANT_TOKEN, NULL, false },
	{ "tenant_id workspace_id", WANT_TOKEN, NULL, true },
	{ "registry_revision", WANT_COUNT, NULL, false },
	{ "signed_at valid_from", WANT_STAMP, NULL, false },
	{ "valid_until", WANT_STAMP, NULL, true },
	{ "connector_binary_hash connector_signature_hash certification_hash authority_hash", WANT_HASH, NULL,
		false },
	{ "previous_authority_hash revokes_authority_hash", WANT_HASH, NULL, true },
	{ 0 },
};
const struct sealed_kind sealed_release = { "connector-release-authority.v1", "2026-07-17", "authority_hash",
	"HELM/ConnectorReleaseAuthoritySignature/v1", "authority_hash authority_id registry_revision",
	release_rules };

/* A connector says whether the effect took place. */
static const struct rule acknowledgement_rules[] = {
	{ "algorithm", WANT_ONE_OF, "ed25519", false },
	{ "outcome", WANT_ONE_OF, "APPLIED NOT_APPLIED", false },
	{ "acknowledgement_id admission_id attempt_id tenant_id workspace_id audience connector_id "
	  "connector_version "
	  "connector_action connector_execution_ref issuer_id intent_ref proof_session_ref signing_key_ref",
		WANT_TOKEN, NULL, false },
	{ "effect_ref reconciliation_ref", WANT_TOKEN, NULL, true },
	{ "observed_at", WANT_STAMP, NULL, false },
	{ "effect_hash response_hash idempotency_key_hash acknowledgement_hash", WANT_HASH, NULL, false },
	{ "disposition_receipt_hash", WANT_HASH, NULL, true },
	{ 0 },
};
const struct sealed_kind sealed_acknowledgement = { "connector-effect-acknowledgement.v1", "2026-07-18",
	"acknowledgement_hash", "HELM/ConnectorEffectAcknowledgementSignature/v1",
	"acknowledgement_hash connector_id connector_version issuer_id", acknowledgement_rules };

/* The kernel's receipt that an effect is finished. */
static const struct rule close_rules[] = {
	{ "outcome", WANT_ONE_OF, "APPLIED NOT_APPLIED", false },
	{ "prior_state", WANT_ONE_OF, "STARTED UNCERTAIN", false },
	{ "state", WANT_ONE_OF, "COMPLETED", false },
	{ "close_id admission_id attempt_id tenant_id workspace_id audience connector_id connector_version "
	  "connector_action "
	  "connector_execution_ref closed_by evidence_pack_ref intent_ref proof_session_ref "
	  "kernel_trust_root_id "
	  "signing_key_ref",
		WANT_TOKEN, NULL, false },
	{ "effect_ref reconciliation_ref", WANT_TOKEN, NULL, true },
	{ "reservation_sequence", WANT_COUNT, NULL, false },
	{ "closed_at", WANT_STAMP, NULL, false },
	{ "acknowledgement_hash effect_hash evidence_pack_hash idempotency_key_hash reservation_head_hash "
	  "response_hash "
	  "receipt_hash",
		WANT_HASH, NULL, false },
	{ "disposition_receipt_hash", WANT_HASH, NULL, true },
	{ 0 },
};
const struct sealed_kind sealed_close = { "effect-close-receipt.v1", "2026-07-18", "receipt_hash",
	"HELM/EffectCloseReceiptSignature/v1", "receipt_hash kernel_trust_root_id", close_rules };

/* An operator's command about an effect that hangs. */
static const struct rule command_rules[] = {
	{ "algorithm", WANT_ONE_OF, "ed25519", false },
	{ "action", WANT_ONE_OF, "HOLD RECONCILE_SOURCE REQUEST_CANCEL REQUEST_COMPENSATE", false },
	{ "reservation_state", WANT_ONE_OF, "STARTED UNCERTAIN", false },
	{ "command_id actor_id admission_id audience authority_id tenant_id workspace_id disposition_ref "
	  "fence_command_id "
	  "signing_key_ref",
		WANT_TOKEN, NULL, false },
	{ "attempt_id connector_id connector_version connector_action connector_execution_ref intent_ref "
	  "effect_ref "
	  "proof_session_ref",
		WANT_TOKEN, NULL, true },
	{ "reason", WANT_REASON, NULL, false },
	{ "disposition_sequence fence_epoch reservation_sequence", WANT_COUNT, NULL, false },
	{ "issued_at expires_at", WANT_STAMP, NULL, false },
	{ "fence_command_hash fence_receipt_hash reservation_head_hash command_hash", WANT_HASH, NULL,
		false },
	{ "previous_receipt_hash effect_hash idempotency_key_hash", WANT_HASH, NULL, true },
	{ 0 },
};
const struct sealed_kind sealed_command = { "effect-disposition-command.v1", "2026-07-18", "command_hash",
	"HELM/EffectDispositionCommandSignature/v1", "command_hash audience authority_id", command_rules };

/* The kernel accepted such a command.  It never grants execution, and says so. */
static const struct rule disposition_rules[] = {
	{ "action", WANT_ONE_OF, "HOLD RECONCILE_SOURCE REQUEST_CANCEL REQUEST_COMPENSATE", false },
	{ "reservation_state", WANT_ONE_OF, "STARTED UNCERTAIN", false },
	{ "state", WANT_ONE_OF, "ACCEPTED", false },
	{ "execution_authority", WANT_ONE_OF, "NONE", false },
	{ "receipt_id command_id admission_id audience tenant_id workspace_id disposition_ref "
	  "fence_command_id accepted_by "
	  "kernel_trust_root_id signing_key_ref",
		WANT_TOKEN, NULL, false },
	{ "disposition_sequence fence_epoch reservation_sequence", WANT_COUNT, NULL, false },
	{ "accepted_at", WANT_STAMP, NULL, false },
	{ "command_hash fence_command_hash fence_receipt_hash reservation_head_hash receipt_hash", WANT_HASH,
		NULL, false },
	{ "previous_receipt_hash", WANT_HASH, NULL, true },
	{ 0 },
};
const struct sealed_kind sealed_disposition = { "effect-disposition-receipt.v1", "2026-07-18", "receipt_hash",
	"HELM/EffectDispositionReceiptSignature/v1", "receipt_hash kernel_trust_root_id", disposition_rules };

#define SPEC_TOKENS \
	"approval_id tenant_id workspace_id audience generated_spec_id policy_version policy_epoch " \
	"requesting_principal_id authority_source authority_version server_identity"
#define SPEC_HASHES \
	"generated_spec_hash execution_plan_hash plan_transaction_hash write_set_hash " \
	"verification_scope_hash " \
	"policy_envelope_hash authority_snapshot_hash challenge_hash"

/* Approval of a generated specification: the challenge, the grant and its consumption. */
static const struct rule spec_challenge_rules[] = {
	{ "domain", WANT_ONE_OF, "HELM/GeneratedSpecApprovalChallenge/v1", false },
	{ "action", WANT_ONE_OF, "approve_generated_spec", false },
	{ "challenge_id required_role " SPEC_TOKENS, WANT_TOKEN, NULL, false },
	{ "quorum", WANT_COUNT, NULL, false },
	{ SPEC_HASHES, WANT_HASH, NULL, false },
	{ 0 },
};
const struct sealed_kind sealed_spec_challenge = { "generated-spec-approval-challenge.v1", "2026-07-22",
	"challenge_hash", NULL, NULL, spec_challenge_rules };

static const struct rule spec_grant_rules[] = {
	{ "domain", WANT_ONE_OF, "HELM/GeneratedSpecApprovalGrant/v1", false },
	{ "action", WANT_ONE_OF, "approve_generated_spec", false },
	{ "grant_id kernel_trust_root_id signing_key_ref " SPEC_TOKENS, WANT_TOKEN, NULL, false },
	{ "ceremony_hash signer_set_hash grant_hash " SPEC_HASHES, WANT_HASH, NULL, false },
	{ 0 },
};
const struct sealed_kind sealed_spec_grant = { "generated-spec-approval-grant.v1", "2026-07-22", "grant_hash",
	"HELM/GeneratedSpecApprovalGrantSignature/v1", "grant_hash kernel_trust_root_id", spec_grant_rules };

static const struct rule spec_consumption_rules[] = {
	{ "domain", WANT_ONE_OF, "HELM/GeneratedSpecApprovalConsumption/v1", false },
	{ "action", WANT_ONE_OF, "approve_generated_spec", false },
	{ "grant_id consumed_by kernel_trust_root_id signing_key_ref " SPEC_TOKENS, WANT_TOKEN, NULL, false },
	{ "consumed_at grant_issued_at grant_expires_at", WANT_TIME, NULL, false },
	{ "ceremony_hash signer_set_hash grant_hash consumption_hash " SPEC_HASHES, WANT_HASH, NULL, false },
	{ 0 },
};
const struct sealed_kind sealed_spec_consumption = { "generated-spec-approval-consumption.v1", "2026-07-22",
	"consumption_hash", "HELM/GeneratedSpecApprovalConsumptionSignature/v1",
	"consumption_hash kernel_trust_root_id", spec_consumption_rules };

/* Reading. */

static bool is_white(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* An identifier is one word, so that it cannot be split or trimmed into another one on its way. */
static bool is_token(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > 512)
		return false;
	for (; *s; s++)
		if (is_white(*s))
			return false;
	return true;
}

/* A text for people; trimmed, so that it has one spelling. */
static bool is_reason(const char *s)
{
	size_t n = strlen(s);

	return n > 0 && n <= 2048 && !is_white(s[0]) && !is_white(s[n - 1]);
}

/* Up to 2^53 - 1, the largest integer that every JSON reader keeps exactly. */
static bool is_count(const struct json *value)
{
	int64_t n;

	return json_int(value, &n) && n >= 1 && n <= 9007199254740991;
}

/* The next word of a list; NULL at its end. */
static const char *next_word(struct arena *a, const char **list)
{
	size_t n = strcspn(*list, " ");
	const char *word;

	if (n == 0)
		return NULL;
	word = arena_strndup(a, *list, n);
	*list += n + ((*list)[n] == ' ');
	return word;
}

static bool is_one_of(struct arena *a, const char *s, const char *words)
{
	for (const char *word; (word = next_word(a, &words));)
		if (text_eq(word, s))
			return true;
	return false;
}

/* Counts are numbers, everything else is a text. */
static bool follows(struct arena *a, const struct rule *r, const struct json *value)
{
	const char *s = json_text(value);

	if (r->want == WANT_COUNT)
		return is_count(value);
	if (!s)
		return false;
	switch (r->want) {
	case WANT_TOKEN:
		return is_token(s);
	case WANT_HASH:
		return is_prefixed_hash(s);
	case WANT_TIME:
		return stamp_is_utc(s, 9);
	case WANT_STAMP:
		return stamp_is_utc(s, 6);
	case WANT_REASON:
		return is_reason(s);
	case WANT_NONCE:
		return is_bare_hash(s);
	case WANT_ONE_OF:
		return is_one_of(a, s, r->words);
	case WANT_COUNT:
		break;
	}
	return false;
}

/* Every member the rule names follows it.  A member that may lack may be absent, but not malformed. */
static bool check_rule(
	struct verification *v, const struct rule *r, const struct json *record, const char *error)
{
	const char *names = r->members;

	for (const char *name; (name = next_word(v->a, &names));) {
		const struct json *value = json_get(record, name);
		if (!value && r->may_lack)
			continue;
		if (follows(v->a, r, value))
			continue;
		verify_at(
			v, NULL, name, r->words, json_text(value) ? json_text(value) : json_type_name(value));
		return verify_refute(v, error, "member \"%s\" is missing or not acceptable", name);
	}
	return true;
}

static bool check_version(struct verification *v, const struct json *record, const char *member,
	const char *expected, const char *error)
{
	if (text_eq(member_text(record, member), expected))
		return true;
	verify_at(v, NULL, member, expected, member_text(record, member));
	return verify_refute(
		v, error, "%s is \"%s\", not \"%s\"", member, member_text(record, member), expected);
}

/* Both versions are exact: a record of another version follows other rules. */
bool sealed_contract(
	struct verification *v, const struct sealed_kind *k, const struct json *record, const char *error)
{
	if (!json_is(record, JSON_OBJECT))
		return verify_refute(v, error, "no %s record", k->schema_version);
	if (!check_version(v, record, "schema_version", k->schema_version, error) ||
		!check_version(v, record, "contract_version", k->contract_version, error))
		return false;
	for (const struct rule *r = k->rules; r->members; r++)
		if (!check_rule(v, r, record, error))
			return false;
	return true;
}

/* The computed hash goes into the report in any case. */
bool sealed_hash(
	struct verification *v, const struct sealed_kind *k, const struct json *record, const char *error)
{
	const char *stored = member_text(record, k->hash_member), *computed;
	struct err e = { 0 };
	struct bytes text;

	if (sealed_preimage(v->a, record, k->hash_member, &text, &e))
		return verify_refute(v, error, "%s", e.text);
	computed = preimage_prefixed(v->a, text);
	verify_value(v, k->hash_member, computed);
	if (text_eq(stored, computed))
		return true;
	verify_at(v, k->schema_version, k->hash_member, computed, stored);
	return verify_refute(v, error, "%s is not the hash of the record", k->hash_member);
}

/* A pinned key replaces the caller's other keys for this one signature: a record must be signed by the one
 * it is expected from, not by any key that is trusted for something.  v->trust is put back whatever the
 * result. */
bool sealed_check_signature(struct verification *v, struct bytes message, const char *signature,
	const char *key, const char *error)
{
	uint8_t sig[SIGNATURE_SIZE], pinned[KEY_SIZE];
	struct trusted_key one = { .id = "" };
	struct trust only = { .keys = &one, .key_count = 1 };
	const struct trust *before = v->trust;

	if (text_starts(signature, "ed25519:"))
		signature += strlen("ed25519:");
	if (!parse_signature(signature, sig))
		return verify_refute(v, error, "the signature is not 128 lower-case hex digits");
	if (!key)
		return verify_signature(v, message, sig, NULL, NULL, error);
	if (!trust_parse_key(key, pinned))
		return verify_fail(v, error, "the pinned key is not 64 hex digits");
	memcpy(one.key, pinned, sizeof(pinned));
	v->trust = &only;
	bool ok = verify_signature(v, message, sig, NULL, NULL, error);
	v->trust = before;
	return ok;
}

const char *sealed_time(const struct json *record)
{
	static const char *const names[] = { "signed_at", "consumed_at", "observed_at", "closed_at",
		"accepted_at", "compiled_at", "issued_at", "created_at" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(record, names[i]))
			return member_text(record, names[i]);
	return "";
}

/* The payload is made from the record's own members; members that are absent there are absent here. */
bool sealed_signature(struct verification *v, const struct sealed_kind *k, const struct json *record,
	const char *signature, const char *key, const char *error)
{
	struct json *payload = json_new(v->a, JSON_OBJECT);
	const char *names = k->payload;
	struct err e = { 0 };
	struct bytes message;

	json_sets(v->a, payload, "algorithm", "ed25519");
	json_sets(v->a, payload, "contract_version", member_text(record, "contract_version"));
	json_sets(v->a, payload, "domain", k->domain);
	json_sets(v->a, payload, "signing_key_ref", member_text(record, "signing_key_ref"));
	for (const char *name; (name = next_word(v->a, &names));)
		if (json_get(record, name))
			json_set(v->a, payload, name, json_get(record, name));
	if (sealed_preimage(v->a, payload, NULL, &message, &e))
		return verify_refute_err(v, &e);
	return sealed_check_signature(v, message, signature, key, error) &&
		(key || verify_key_window(v, sealed_time(record)));
}

/* Values are compared as JSON values, so objects must agree as a whole. */
bool sealed_bound(struct verification *v, const struct json *x, const struct json *y, const char *members,
	const char *error)
{
	for (const char *word; (word = next_word(v->a, &members));) {
		const char *equals = strchr(word, '=');
		const char *left = equals ? arena_strndup(v->a, word, (size_t)(equals - word)) : word;
		const struct json *p = json_get(x, left), *q = json_get(y, equals ? equals + 1 : word);
		if ((!p && !q) || (p && q && json_eq(p, q)))
			continue;
		verify_at(v, NULL, left, json_text(q), json_text(p));
		return verify_refute(v, error, "member \"%s\" differs between the two records", left);
	}
	return true;
}

/* Times that cannot be read are never before or after anything, so all checks of times fail on them. */
bool is_before(const char *x, const char *y)
{
	int order;

	return stamp_compare(x, y, &order) && order < 0;
}

bool is_not_after(const char *x, const char *y)
{
	int order;

	return stamp_compare(x, y, &order) && order <= 0;
}

bool is_within(const char *t, const char *x, const char *y)
{
	return is_not_after(x, t) && is_before(t, y);
}

bool lasts_at_most(const char *x, const char *y, int64_t seconds)
{
	int64_t s, ns;

	return stamp_between(x, y, &s, &ns) && (s < seconds || (s == seconds && ns == 0));
}

/* Everything the caller pinned is compared, whatever it is called; only the key and its window are treated
 * apart. */
bool sealed_pinned(struct verification *v, const struct json *pinned, const struct json *record,
	const char *time_member, const char *error)
{
	const char *from = member_text(pinned, "key_not_before"), *to = member_text(pinned, "key_not_after");
	const char *when = member_text(record, time_member);

	json_each_member (m, pinned) {
		if (text_starts(m->name, "key_not_") || text_eq(m->name, "public_key"))
			continue;
		if (!sealed_bound(v, record, pinned, m->name, error))
			return false;
	}
	if ((*from && !is_not_after(from, when)) || (*to && !is_before(when, to))) {
		verify_at(v, NULL, time_member, arena_printf(v->a, "%s .. %s", from, to), when);
		return verify_refute(v, error, "%s is outside the key's window", time_member);
	}
	return true;
}

static const char CONNECTOR_REJECTED[] = "connector_authority_rejected";

/* The embedded authority by itself: its form and its own hash.  What it must share with the record is
 * asked later, since the contract wants other checks in between. */
bool sealed_connector(struct verification *v, const struct json *record)
{
	const struct json *authority = json_get(record, "connector_authority");

	return sealed_contract(v, &sealed_connector_authority, authority, CONNECTOR_REJECTED) &&
		sealed_hash(v, &sealed_connector_authority, authority, CONNECTOR_REJECTED);
}

/* What record and connector authority both say must agree.  Members only one of them has are not compared. */
bool sealed_connector_bound(struct verification *v, const struct json *record)
{
	static const char *const names[] = { "tenant_id", "workspace_id", "pack_id", "pack_version",
		"pack_manifest_hash", "action", "effect_hash", "policy_hash" };
	const struct json *authority = json_get(record, "connector_authority");

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(record, names[i]) &&
			!sealed_bound(v, authority, record, names[i], CONNECTOR_REJECTED))
			return false;
	return true;
}

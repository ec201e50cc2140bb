/* sealed_approval.c — approvals and what follows from one: assertions to a quorum, consumption of the
 * grant, admission of a dispatch, release authority of a connector.
 *
 * An approval starts with a challenge, which fixes what is to be approved and by whom (an authority
 * snapshot).  Approvers sign assertions about the hash of the challenge.  Enough of them make a grant; the
 * grant is consumed once; a consumption admits one dispatch for a short time.  Each record names the hash
 * of the one before it.
 *
 * The first failing step names the error; the order of steps is part of the contract with other
 * implementations. */
#include "proof/preimage.h"
#include "verify/foreign/sealed.h"

#include <stdlib.h>
#include <string.h>

/* Approval by a quorum. */

struct signer {
	const struct json *key; /* in the authority snapshot */
	const char *assertion_hash;
};

/* `signers` are those whose assertions held so far. */
struct approval {
	struct verification *v;
	const struct json *snapshot, *challenge;
	const char *challenge_hash, *at;
	struct signer *signers;
	size_t n;
};

/* "sha256:" hash of a value as received, or NULL when it has no canonical form. */
static char *hash_of(struct arena *a, const struct json *value, struct err *e)
{
	struct bytes text;

	return sealed_preimage(a, value, NULL, &text, e) ? NULL : preimage_prefixed(a, text);
}

static bool has_word(const struct json *list, const char *word)
{
	json_each (item, list) {
		if (json_text(item) && text_eq(json_text(item), word))
			return true;
	}
	return false;
}

/* The key is enabled, and its tenant, workspace, role, action, audience and window all allow this
 * approval.  A member that is missing does not allow anything. */
static bool check_scope(struct approval *p, const struct json *key)
{
	const struct json *c = p->challenge, *enabled = json_get(key, "enabled");

	if (json_is(enabled, JSON_TRUE) &&
		text_eq(member_text(key, "tenant_id"), member_text(c, "tenant_id")) &&
		has_word(json_get(key, "workspace_ids"), member_text(c, "workspace_id")) &&
		has_word(json_get(key, "roles"), member_text(c, "required_role")) &&
		has_word(json_get(key, "actions"), member_text(c, "action")) &&
		has_word(json_get(key, "audiences"), member_text(c, "audience")) &&
		is_within(p->at, member_text(key, "not_before"), member_text(key, "not_after")))
		return true;
	return verify_refute(
		p->v, "authority_rejected", "key \"%s\" may not approve this", member_text(key, "key_id"));
}

static const struct json *find_key(const struct approval *p, const char *id)
{
	json_each (key, json_get(p->snapshot, "keys")) {
		if (text_eq(member_text(key, "key_id"), id))
			return key;
	}
	return NULL;
}

/* An assertion names its domain, so that a signature made for something else is not one. */
static bool check_envelope(struct verification *v, const struct json *assertion)
{
	if (text_eq(member_text(assertion, "domain"), "HELM/ApprovalAssertion/v1") &&
		text_eq(member_text(assertion, "schema_version"), "approval-assertion.v1") &&
		text_eq(member_text(assertion, "algorithm"), "ed25519"))
		return true;
	return verify_refute(
		v, "contract_mismatch", "the assertion is of another domain, version or algorithm");
}

/* The message is the hash of the assertion without its signature, as 32 bytes. */
static bool check_assertion_signature(
	struct approval *p, const struct json *assertion, const struct json *key)
{
	struct verification *v = p->v;
	uint8_t digest[SHA256_SIZE];
	struct err e = { 0 };
	struct bytes text;

	if (sealed_preimage(v->a, assertion, "signature", &text, &e))
		return verify_refute_err(v, &e);
	sha256(text.p, text.n, digest);
	return sealed_check_signature(v, (struct bytes){ digest, sizeof(digest) },
		member_text(assertion, "signature"), member_text(key, "public_key"), "signature_rejected");
}

/* What stands around an assertion repeats its key and signature.  Another one there would be read by programs
 * that do not look inside. */
static bool check_outer(struct verification *v, const struct json *entry, const struct json *assertion)
{
	static const char *const names[] = { "key_id", "signature" };

	for (size_t i = 0; entry != assertion && i < ARRAY_SIZE(names); i++) {
		const char *outer = member_text(entry, names[i]), *inner = member_text(assertion, names[i]);
		if (text_eq(outer, inner))
			continue;
		verify_at(v, "assertion", names[i], inner, outer);
		return verify_refute(v, "signature_rejected",
			"%s beside the assertion is not the one inside it", names[i]);
	}
	return true;
}

/* One approver.  The key comes from the snapshot; a key carried beside the assertion must be the same one.
 * Authority is judged before the signature: a good signature of somebody who may not approve is refused
 * for that reason. */
static bool check_assertion(struct approval *p, const struct json *entry)
{
	const struct json *assertion = json_get(entry, "assertion") ? json_get(entry, "assertion") : entry;
	const struct json *key = find_key(p, member_text(assertion, "key_id"));
	const char *carried = member_text(entry, "public_key"),
		   *stored = member_text(entry, "assertion_hash");
	struct err e = { 0 };

	if (!check_envelope(p->v, assertion) || !check_outer(p->v, entry, assertion))
		return false;
	if (!key || (*carried && !text_eq(carried, member_text(key, "public_key"))))
		return verify_refute(p->v, "authority_rejected",
			"key \"%s\" is not in the authority snapshot", member_text(assertion, "key_id"));
	if (!check_scope(p, key))
		return false;
	if (!text_eq(member_text(assertion, "challenge_hash"), p->challenge_hash) ||
		!text_eq(member_text(assertion, "challenge_id"), member_text(p->challenge, "challenge_id")))
		return verify_refute(
			p->v, "challenge_hash_mismatch", "the assertion answers another challenge");
	if (!check_assertion_signature(p, assertion, key))
		return false;
	char *hash = hash_of(p->v->a, assertion, &e);
	if (!hash || (*stored && !text_eq(stored, hash)))
		return verify_refute(
			p->v, "hash_mismatch", "assertion_hash is not the hash of the assertion");
	p->signers[p->n++] = (struct signer){ key, hash };
	return true;
}

/* Two approvers count as one when they share any of person, credential, device or key. */
static bool share_identity(const struct signer *x, const struct signer *y)
{
	static const char *const names[] = { "principal_id", "credential_id", "device_id", "key_id",
		"public_key" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(member_text(x->key, names[i]), member_text(y->key, names[i])))
			return true;
	return false;
}

/* Duplicates are refused, not merely counted once: somebody tried to approve twice. */
static bool check_quorum(struct approval *p)
{
	int64_t quorum = json_get_int(p->challenge, "quorum", 0);

	for (size_t i = 0; i < p->n; i++)
		for (size_t j = i + 1; j < p->n; j++)
			if (share_identity(&p->signers[i], &p->signers[j]))
				return verify_refute(
					p->v, "duplicate_signer", "two assertions come from one signer");
	if (quorum < 1 || (int64_t)p->n < quorum)
		return verify_refute(
			p->v, "quorum_not_met", "%zu of %lld approvals", p->n, (long long)quorum);
	verify_value(p->v, "status", (int64_t)p->n > quorum ? "verified_over_quorum" : "verified");
	return true;
}

static int by_signer(const void *x, const void *y)
{
	static const char *const names[] = { "principal_id", "credential_id", "device_id", "key_id" };
	const struct signer *p = x, *q = y;
	int order = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && order == 0; i++)
		order = strcmp(member_text(p->key, names[i]), member_text(q->key, names[i]));
	return order;
}

/* Sorted by identity, so that the hash of the set does not depend on the order of the assertions. */
static struct json *signer_list(struct approval *p)
{
	static const char *const names[] = { "principal_id", "credential_id", "device_id", "key_id" };
	struct arena *a = p->v->a;
	struct json *list = json_new(a, JSON_ARRAY);

	qsort(p->signers, p->n, sizeof(*p->signers), by_signer);
	for (size_t i = 0; i < p->n; i++) {
		struct json *s = json_new(a, JSON_OBJECT);
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			json_sets(a, s, names[k], member_text(p->signers[i].key, names[k]));
		json_sets(a, s, "role", member_text(p->challenge, "required_role"));
		json_sets(a, s, "assertion_hash", p->signers[i].assertion_hash);
		json_push(a, list, s);
	}
	return list;
}

/* What a verified approval is, in hashes: the set of signers, and the projection that later records name. */
static void add_projection(struct approval *p)
{
	static const char *const names[] = { "approval_id", "tenant_id", "workspace_id", "audience",
		"pack_id", "pack_version", "pack_manifest_hash", "action", "connector_authority",
		"intent_hash", "effect_hash", "plan_hash", "decision", "policy_version", "policy_epoch",
		"policy_hash", "authority_source", "authority_version", "authority_snapshot_hash",
		"server_identity", "required_role", "quorum", "challenge_id" };
	struct arena *a = p->v->a;
	struct json *set = json_new(a, JSON_OBJECT), *view = json_new(a, JSON_OBJECT),
		    *signers = signer_list(p);
	struct err e = { 0 };

	json_sets(a, set, "domain", "HELM/ApprovalSignerSet/v1");
	json_sets(a, set, "authority_snapshot_hash", member_text(p->challenge, "authority_snapshot_hash"));
	json_sets(a, set, "challenge_hash", p->challenge_hash);
	json_set(a, set, "signers", signers);
	const char *set_hash = hash_of(a, set, &e);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(p->challenge, names[i]))
			json_set(a, view, names[i], json_get(p->challenge, names[i]));
	json_sets(a, view, "challenge_hash", p->challenge_hash);
	json_set(a, view, "signers", signers);
	json_sets(a, view, "signer_set_hash", set_hash);
	json_sets(a, view, "verified_at", p->at);
	verify_value(p->v, "signer_set_hash", set_hash);
	verify_value(p->v, "verified_projection_hash", hash_of(a, view, &e));
}

/* The snapshot is the one the challenge was made for, by hash. */
static bool check_snapshot(struct approval *p)
{
	struct err e = { 0 };
	char *hash = hash_of(p->v->a, p->snapshot, &e);

	if (!hash || !text_eq(hash, member_text(p->challenge, "authority_snapshot_hash")))
		return verify_refute(
			p->v, "authority_rejected", "the challenge binds another authority snapshot");
	return sealed_bound(
		p->v, p->challenge, p->snapshot, "authority_source authority_version", "authority_rejected");
}

/* The connector's authority inside the challenge is sound before the challenge is hashed, and bound to it
 * after. */
static bool check_challenge(struct approval *p, const struct json *doc)
{
	const char *stated = member_text(doc, "challenge_hash");
	struct err e = { 0 };

	if (!json_is(p->challenge, JSON_OBJECT))
		return verify_refute(p->v, "contract_mismatch", "no challenge");
	if (!sealed_connector(p->v, p->challenge))
		return false;
	p->challenge_hash = hash_of(p->v->a, p->challenge, &e);
	if (!p->challenge_hash || (*stated && !text_eq(stated, p->challenge_hash))) {
		verify_at(p->v, "challenge", "challenge_hash", p->challenge_hash, stated);
		return verify_refute(
			p->v, "challenge_hash_mismatch", "challenge_hash is not the hash of the challenge");
	}
	return sealed_connector_bound(p->v, p->challenge) && check_snapshot(p);
}

/* Trust depends on the snapshot.  When the caller has not pinned it, the keys came with the document: the
 * assertions agree with the document, and that is all. */
void verify_approval(struct verification *v, const struct json *doc, bool is_snapshot_pinned)
{
	const struct json *assertions = json_get(doc, "assertions");
	size_t n = json_is(assertions, JSON_ARRAY) ? assertions->n : 0;
	struct approval p = { .v = v,
		.snapshot = json_get(doc, "authority_snapshot"),
		.challenge = json_get(doc, "challenge"),
		.at = member_text(doc, "verified_at") };

	p.signers = arena_zalloc(v->a, n + 1, sizeof(*p.signers));
	if (!check_challenge(&p, doc))
		return;
	if (!is_within(p.at, member_text(p.challenge, "issued_at"), member_text(p.challenge, "expires_at"))) {
		(void)verify_refute(v, "contract_mismatch", "the challenge was not open at verified_at");
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!check_assertion(&p, assertions->items[i]))
			return;
	if (!check_quorum(&p))
		return;
	add_projection(&p);
	if (is_snapshot_pinned)
		return;
	/* The approvers' keys came with the document: it agrees with itself, and that is all. */
	v->trusted = ANSWER_UNKNOWN;
	v->is_self_attested = true;
	v->signer = NULL;
	verify_note(v,
		"the authority snapshot is the document's own; whether these people may approve is not "
		"established");
}

/* Consumption of a grant. */

/* A grant can only be consumed while it is live. */
static bool consumption_steps(struct verification *v, const struct json *c)
{
	if (!sealed_contract(v, &sealed_consumption, c, "contract_mismatch") || !sealed_connector(v, c) ||
		!sealed_connector_bound(v, c))
		return false;
	if (!is_within(member_text(c, "consumed_at"), member_text(c, "grant_issued_at"),
		    member_text(c, "grant_expires_at"))) {
		verify_at(v, "consumption", "consumed_at", "inside the grant's lifetime",
			member_text(c, "consumed_at"));
		return verify_refute(
			v, "inactive_consumption", "the grant was not live when it was consumed");
	}
	return true;
}

void verify_consumption(struct verification *v, const struct json *c, const char *signature, const char *key)
{
	if (consumption_steps(v, c) && sealed_hash(v, &sealed_consumption, c, "hash_mismatch"))
		(void)sealed_signature(v, &sealed_consumption, c, signature, key, "signature_rejected");
}

/* Admission of a dispatch. */

/* An admission lies inside the grant's lifetime, after its consumption, and lives at most a minute.
 * Whether it is live is judged only when the caller says at what time. */
static bool check_admission_times(
	struct verification *v, const struct json *admission, const struct json *consumption, const char *at)
{
	const char *issued = member_text(admission, "issued_at"),
		   *expires = member_text(admission, "expires_at");

	if (!is_not_after(member_text(consumption, "consumed_at"), issued) ||
		!is_not_after(member_text(consumption, "grant_issued_at"), issued) ||
		!is_not_after(expires, member_text(consumption, "grant_expires_at")))
		return verify_refute(
			v, "consumption_binding_rejected", "the admission leaves the grant's lifetime");
	if (!is_before(issued, expires) || !lasts_at_most(issued, expires, 60))
		return verify_refute(v, "inactive_admission", "an admission lives at most 60 seconds");
	if (at && !is_within(at, issued, expires)) {
		verify_at(v, "admission", "expires_at", arena_printf(v->a, "after %s", at), expires);
		return verify_refute(v, "inactive_admission", "the admission is not live at %s", at);
	}
	if (!at)
		verify_note(v, "whether the admission is live now is not judged here");
	return true;
}

/* The consumption is bound by hash and by the members both have; its own signature is the matter of
 * verify_consumption. */
void verify_admission(struct verification *v, const struct json *admission, const struct json *consumption,
	const char *signature, const char *key, const char *at)
{
	static const char bound[] =
		"approval_id grant_id grant_hash consumption_hash tenant_id workspace_id audience "
		"admitted_by=consumed_by effect_hash action kernel_trust_root_id signing_key_ref "
		"connector_authority";

	if (!sealed_contract(v, &sealed_admission, admission, "contract_mismatch") ||
		!sealed_connector(v, admission) || !sealed_connector_bound(v, admission))
		return;
	if (!sealed_hash(v, &sealed_consumption, consumption, "hash_mismatch") ||
		!sealed_bound(v, admission, consumption, bound, "consumption_binding_rejected") ||
		!check_admission_times(v, admission, consumption, at) ||
		!sealed_hash(v, &sealed_admission, admission, "hash_mismatch"))
		return;
	(void)sealed_signature(v, &sealed_admission, admission, signature, key, "signature_rejected");
}

/* Release authority of a connector. */

/* What a statement may say by itself: its scope, its place in the chain, and how it ends.  A revocation
 * has no end and names exactly its predecessor. */
static bool check_release_rules(struct verification *v, const struct json *r)
{
	bool is_global = text_eq(member_text(r, "scope_kind"), "global");
	bool is_first = json_get_int(r, "registry_revision", 0) == 1;
	const char *previous = member_text(r, "previous_authority_hash"),
		   *until = member_text(r, "valid_until");
	const char *revokes = member_text(r, "revokes_authority_hash");
	bool has_tenant = *member_text(r, "tenant_id"), has_workspace = *member_text(r, "workspace_id");

	if (is_global ? has_tenant || has_workspace : !has_tenant || !has_workspace)
		return verify_refute(v, "contract_rejected", "scope_kind does not fit tenant and workspace");
	if (is_first ? *previous != '\0' : *previous == '\0')
		return verify_refute(v, "contract_rejected", "the first revision alone has no predecessor");
	if (text_eq(member_text(r, "state"), "certified") &&
		(*revokes || !is_before(member_text(r, "valid_from"), until)))
		return verify_refute(v, "contract_rejected",
			"a certified statement ends after it begins and revokes nothing");
	if (text_eq(member_text(r, "state"), "revoked") &&
		(*until || !*revokes || !text_eq(revokes, previous)))
		return verify_refute(
			v, "contract_rejected", "a revocation revokes its predecessor and has no end");
	return true;
}

/* Statement and envelope must carry the same authority.  authority_id is compared first, under its own
 * error name; the other pinned members follow. */
void verify_release(struct verification *v, const struct json *statement, const struct json *pinned)
{
	const struct json *r = json_get(statement, "authority"), *envelope = json_get(statement, "envelope");
	struct json *window = json_new(v->a, JSON_OBJECT);

	if (!sealed_contract(v, &sealed_release, r, "contract_rejected") || !check_release_rules(v, r) ||
		!sealed_hash(v, &sealed_release, r, "hash_mismatch"))
		return;
	if (!envelope || !json_eq(json_get(envelope, "authority"), r)) {
		(void)verify_refute(v, "hash_mismatch", "the envelope carries another statement");
		return;
	}
	if (pinned && !sealed_bound(v, r, pinned, "authority_id", "authority_rejected"))
		return;
	json_each_member (m, pinned)
		json_set(v->a, window, m->name, m->value);
	(void)json_remove(window, "authority_id");
	if (pinned && !sealed_pinned(v, window, r, "signed_at", "trust_rejected"))
		return;
	(void)sealed_signature(v, &sealed_release, r, member_text(envelope, "signature"),
		pinned ? member_text(pinned, "public_key") : NULL, "signature_rejected");
}

/* Everything that identifies the connector stays the same along the chain; the revision rises by one and
 * times never go back. */
bool verify_release_chain(struct verification *v, const struct json *older, const struct json *newer)
{
	static const char fixed[] =
		"schema_version contract_version authority_id algorithm scope_kind tenant_id workspace_id "
		"connector_id "
		"connector_version connector_executor_kind connector_sandbox_profile "
		"connector_drift_policy_ref "
		"connector_binary_hash connector_signature_ref connector_signature_hash connector_signer_id "
		"certification_ref certification_hash certification_authority "
		"previous_authority_hash=authority_hash";

	if (!sealed_bound(v, newer, older, fixed, "current_state_rejected"))
		return false;
	if (json_get_int(newer, "registry_revision", 0) != json_get_int(older, "registry_revision", 0) + 1)
		return verify_refute(
			v, "current_state_rejected", "the revision does not follow its predecessor");
	if (!is_not_after(member_text(older, "signed_at"), member_text(newer, "signed_at")) ||
		!is_not_after(member_text(older, "valid_from"), member_text(newer, "valid_from")))
		return verify_refute(v, "current_state_rejected", "times move back along the chain");
	return true;
}

/* Only the latest statement can be in force. */
void verify_release_current(
	struct verification *v, const struct json *statement, const struct json *later, const char *at)
{
	const struct json *r = json_get(statement, "authority");

	if (later) {
		(void)verify_refute(v, "current_state_rejected", "a later statement replaces this one");
		return;
	}
	if (!text_eq(member_text(r, "state"), "certified") ||
		!is_within(at, member_text(r, "valid_from"), member_text(r, "valid_until")))
		(void)verify_refute(v, "inactive_authority", "the statement is not in force at %s", at);
}

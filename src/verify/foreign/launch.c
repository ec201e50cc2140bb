/* launch.c — launch effect receipts (preview profile): a closed object with an identity, a base64
 * signature over its id, an authority binding from the durable reservation, and a small graph of evidence.
 *
 * The receipt's id is the hash of everything in it but id and signature; the chain id is the hash of the
 * dispatch identity, so that revisions of one dispatch share it.
 *
 * The receipt is checked from the outside in: form and states first, then the hashes and the signature,
 * then what ties it to other records.  The first failure ends it. */
#include "model/records.h"
#include "model/stamp.h"
#include "proof/preimage.h"
#include "verify/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Members that identify one dispatch.  They are the same in all revisions of a receipt and in the
 * authority binding. */
static const char *const identity[] = { "effect_id", "tenant_id", "workspace_id", "mission_id",
	"effect_ordinal", "input_schema_hash", "input_hash", "idempotency_key", "plan_hash", "request_hash",
	"args_c14n_hash", "kernel_verdict_ref", "kernel_verdict_hash", "principal", "audience",
	"kernel_trust_root_id", "approval_artifact_ref", "approval_artifact_hash", "approval_consumption_ref",
	"approval_consumption_hash", "dispatch_admission_ref", "dispatch_admission_hash",
	"effect_reservation_ref", "effect_reservation_hash", "effect_permit_ref", "effect_permit_hash",
	"permit_nonce", "permit_consumption_ref", "permit_consumption_hash", "proof_session_ref",
	"evidence_reservation_ref", "policy_epoch", "emergency_fence_epoch", "connector_contract_hash",
	"connector_authority_ref", "connector_authority_hash", "dependency_set_ref", "dependency_set_hash" };

/* Members about the provider; part of the identity for the effects that have a route. */
static const char *const route[] = { "route_binding_ref", "route_binding_hash", "route_placement_id",
	"provider_id", "provider_account_ref", "provider_account_hash", "region_id", "offering_id",
	"provider_connector_id", "provider_connector_contract_hash", "provider_action_urn",
	"provider_payload_hash", "provider_capability_profile_ref", "provider_capability_profile_hash",
	"provider_certification_ref", "provider_certification_hash", "offer_snapshot_ref",
	"offer_snapshot_hash", "price_evidence_hash", "terms_evidence_hash" };

/* Required besides the identity. */
static const char *const other[] = { "schema_version", "receipt_version", "kind", "receipt_id",
	"receipt_chain_id", "receipt_revision", "reconciliation_revision", "decision_id", "verdict", "tool",
	"action", "timestamp", "lamport", "proofgraph_node", "signer_key_id", "payload_hash", "metadata",
	"result_hash", "reconciliation_locator_hash", "outcome", "reconciliation_status", "dependency_state",
	"dependency_state_hash", "signature" };

static const char *const optional[] = { "provider_operation_ref", "provider_resource_refs",
	"evidence_pack_ref", "evidence_pack_hash", "previous_receipt_id" };

/* Which tool and action belong to an effect, and which of the route members it has. */
static const struct {
	const char *effect, *tool, *action;
	bool has_route, has_payload;
} effects[] = {
	{ "PROVIDER_PROVISION", "helm-provider-route", "urn:helm:provider-route:provision", true, true },
	{ "DEPLOY_PRODUCTION_ACTIVATE", "helm-provider-route", "urn:helm:provider-route:activate", true,
		true },
	{ "PROVIDER_ROLLBACK", "helm-provider-route", "urn:helm:provider-route:rollback", true, true },
	{ "PROVIDER_TEARDOWN", "helm-provider-route", "urn:helm:provider-route:teardown", true, true },
	{ "SPEND_AUTHORIZE", "helm-spend-authority", "urn:helm:spend:authorize", true, false },
	{ "COMPANY_ARTIFACT_UPDATE", "helm-company-state", "urn:helm:company-artifact:update", false, false },
};

static const char MISMATCH[] = "binding_mismatch";

static bool in_list(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(names[i], name))
			return true;
	return false;
}

static bool refuse(struct verification *v, const char *member, const char *why)
{
	verify_at(v, NULL, member, NULL, NULL);
	return verify_refute(v, MISMATCH, "member \"%s\" %s", member, why);
}

/* Numbers that programs read differently are refused before anything is hashed. */
static bool check_integers(struct verification *v, const struct json *r)
{
	struct buf b;
	struct err e = { 0 };

	buf_init(&b, v->a);
	return json_canonical_strict(&b, r, &e) == OK || verify_refute(v, "unsafe_integer", "%s", e.text);
}

/* A closed object: everything required is there, nothing unknown is, and whatever is called a hash looks
 * like one. */
static bool check_members(struct verification *v, const struct json *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(identity); i++)
		if (!json_get(r, identity[i]))
			return refuse(v, identity[i], "is missing");
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		if (!json_get(r, other[i]))
			return refuse(v, other[i], "is missing");
	json_each_member (m, r) {
		bool is_hash = text_ends(m->name, "_hash") || text_eq(m->name, "idempotency_key") ||
			text_eq(m->name, "proofgraph_node") || text_eq(m->name, "receipt_chain_id");
		if (!in_list(identity, ARRAY_SIZE(identity), m->name) &&
			!in_list(route, ARRAY_SIZE(route), m->name) &&
			!in_list(other, ARRAY_SIZE(other), m->name) &&
			!in_list(optional, ARRAY_SIZE(optional), m->name))
			return refuse(v, m->name, "is not known; the receipt is a closed object");
		if (is_hash && !(json_text(m->value) && is_prefixed_hash(json_text(m->value))))
			return refuse(v, m->name, "is not \"sha256:\" and 64 hex digits");
	}
	return true;
}

/* Values the profile fixes, and members that repeat each other. */
static bool check_constants(struct verification *v, const struct json *r)
{
	static const char *const fixed[][2] = { { "schema_version", "launch_effect_receipt.v1" },
		{ "receipt_version", "1.0" }, { "kind", "helm_native_receipt" }, { "verdict", "ALLOW" } };

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (!text_eq(member_text(r, fixed[i][0]), fixed[i][1]))
			return refuse(v, fixed[i][0], "has another value than the profile's");
	if (!text_eq(member_text(r, "payload_hash"), member_text(r, "request_hash")))
		return refuse(v, "payload_hash", "is not request_hash");
	if (!text_eq(member_text(r, "decision_id"), member_text(r, "kernel_verdict_ref")))
		return refuse(v, "decision_id", "is not kernel_verdict_ref");
	if (strlen(member_text(r, "permit_nonce")) < 22)
		return refuse(v, "permit_nonce", "is too short");
	return true;
}

/* Effect, tool and action belong together, and the route members are there exactly when the effect has a
 * route. */
static bool check_route(struct verification *v, const struct json *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(effects); i++) {
		if (!text_eq(member_text(r, "effect_id"), effects[i].effect))
			continue;
		if (!text_eq(member_text(r, "tool"), effects[i].tool) ||
			!text_eq(member_text(r, "action"), effects[i].action))
			return refuse(v, "action", "does not belong to the effect");
		for (size_t k = 0; k < ARRAY_SIZE(route); k++) {
			bool is_payload = text_eq(route[k], "provider_action_urn") ||
				text_eq(route[k], "provider_payload_hash");
			bool wanted = is_payload ? effects[i].has_payload : effects[i].has_route;
			if (wanted != (json_get(r, route[k]) != NULL))
				return refuse(v, route[k],
					wanted ? "is missing" : "must be absent for this effect");
		}
		return true;
	}
	return refuse(v, "effect_id", "is not known");
}

/* The first revision has no predecessor; each later one names it. */
static bool check_revision(struct verification *v, const struct json *r)
{
	int64_t revision = json_get_int(r, "receipt_revision", 0);
	int64_t reconciled = json_get_int(r, "reconciliation_revision", -1);
	const char *previous = member_text(r, "previous_receipt_id");

	if (revision < 1 || reconciled < 0 || reconciled > revision || json_get_int(r, "lamport", 0) < 1)
		return refuse(v, "receipt_revision", "is out of order");
	if (revision == 1 ? *previous != '\0' : !is_bare_hash(previous))
		return refuse(v, "previous_receipt_id", "does not fit the revision");
	return true;
}

/* Which outcomes go with which states.  An unknown outcome keeps its dependents frozen and has no evidence
 * pack yet; a final one needs a pack and at least one reconciliation; only an applied success releases
 * dependents. */
static bool check_state(struct verification *v, const struct json *r)
{
	const char *outcome = member_text(r, "outcome"), *status = member_text(r, "reconciliation_status");
	const char *state = member_text(r, "dependency_state");
	bool has_pack = json_get(r, "evidence_pack_ref") && json_get(r, "evidence_pack_hash");
	bool any_pack = json_get(r, "evidence_pack_ref") || json_get(r, "evidence_pack_hash");
	bool is_applied = text_eq(status, "PROVEN_APPLIED");

	if (text_eq(outcome, "UNKNOWN"))
		return ((text_eq(status, "PENDING") || text_eq(status, "CONFLICT")) &&
			       text_eq(state, "FROZEN") && !any_pack) ||
			refuse(v, "outcome", "UNKNOWN does not fit the other states");
	if (!has_pack || json_get_int(r, "reconciliation_revision", 0) < 1 ||
		json_get_int(r, "receipt_revision", 0) < 2)
		return refuse(v, "evidence_pack_ref",
			"is needed by a terminal receipt, with a reconciled revision");
	if (is_applied && text_starts(member_text(r, "effect_id"), "PROVIDER_") &&
		(!json_get(r, "provider_operation_ref") || !json_get(r, "provider_resource_refs")))
		return refuse(v, "provider_operation_ref", "is needed by an applied provider effect");
	if (text_eq(outcome, "SUCCEEDED"))
		return (is_applied && text_eq(state, "RELEASED")) ||
			refuse(v, "outcome", "SUCCEEDED does not fit the other states");
	return (text_eq(outcome, "FAILED") && (is_applied || text_eq(status, "PROVEN_NOT_APPLIED")) &&
		       text_eq(state, "FROZEN")) ||
		refuse(v, "outcome", "does not fit the other states");
}

/* Copies the named members that are there. */
static void pick(
	struct arena *a, struct json *to, const struct json *from, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (json_get(from, names[i]))
			json_set(a, to, names[i], json_get(from, names[i]));
}

/* The hash of the dispatch identity, with the route where there is one. */
static bool check_chain_id(struct verification *v, const struct json *r)
{
	struct json *view = json_new(v->a, JSON_OBJECT);
	struct err e = { 0 };
	struct bytes text;

	pick(v->a, view, r, identity, ARRAY_SIZE(identity));
	pick(v->a, view, r, route, ARRAY_SIZE(route));
	if (sealed_preimage(v->a, view, NULL, &text, &e))
		return verify_refute(v, "unsafe_integer", "%s", e.text);
	char *computed = preimage_prefixed(v->a, text);
	if (text_eq(computed, member_text(r, "receipt_chain_id")))
		return true;
	verify_at(v, NULL, "receipt_chain_id", computed, member_text(r, "receipt_chain_id"));
	return verify_refute(v, "hash_mismatch", "receipt_chain_id is not the hash of the dispatch identity");
}

/* Hashed with id and signature empty, not absent. */
static bool check_id(struct verification *v, const struct json *r)
{
	struct json *view = json_copy(v->a, r);
	struct err e = { 0 };
	struct bytes text;

	json_sets(v->a, view, "receipt_id", "");
	json_sets(v->a, view, "signature", "");
	if (sealed_preimage(v->a, view, NULL, &text, &e))
		return verify_refute(v, "unsafe_integer", "%s", e.text);
	char *computed = preimage_hex(v->a, text);
	verify_value(v, "receipt_id", computed);
	if (text_eq(computed, member_text(r, "receipt_id")))
		return true;
	verify_at(v, NULL, "receipt_id", computed, member_text(r, "receipt_id"));
	return verify_refute(v, "receipt_id_mismatch", "receipt_id is not the hash of the receipt");
}

/* The signature is over the text of receipt_id, which check_id has shown to be the hash of the whole. */
static bool check_signature(struct verification *v, const struct json *r)
{
	const char *text = member_text(r, "signature");
	struct bytes raw;

	if (!base64_decode(v->a, text, strlen(text), BASE64_STD, true, &raw) || raw.n != SIGNATURE_SIZE)
		return verify_refute(
			v, "invalid_encoding", "the signature is not standard base64 of 64 bytes");
	return verify_signature(v, bytes_of(member_text(r, "receipt_id")), raw.p, NULL,
		       member_text(r, "signer_key_id"), "signature_rejected") &&
		verify_key_window(v, member_text(r, "timestamp"));
}

/* Equal on both sides, or absent on both. */
static bool same(struct verification *v, const struct json *r, const char *name, const struct json *binding,
	const char *there)
{
	const struct json *x = json_get(r, name), *y = json_get(binding, there);

	if ((!x && !y) || (x && y && json_eq(x, y)))
		return true;
	verify_at(v, "authority binding", there, json_text(x), json_text(y));
	return verify_refute(v, MISMATCH, "the authority binding differs in \"%s\"", there);
}

/* The binding is what the kernel reserved before dispatch.  A receipt for anything else than what was
 * reserved is refused.  Without a binding that stays open. */
static bool check_binding(struct verification *v, const struct json *r, const struct json *binding)
{
	if (!binding) {
		verify_note(v, "no authority binding was given: what the kernel reserved is not established");
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(identity); i++)
		if (!same(v, r, identity[i], binding, identity[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(route); i++)
		if (!same(v, r, route[i], binding, route[i]))
			return false;
	return same(v, r, "tool", binding, "connector_id") && same(v, r, "action", binding, "action_urn");
}

/* The evidence graph. */

/* A list of texts in rising order, each once and none of them empty. */
static bool is_sorted_set(const struct json *list)
{
	const char *before = "";

	json_each (item, list) {
		const char *s = json_text(item) ? json_text(item) : "";
		if (strcmp(before, s) >= 0)
			return false;
		before = s;
	}
	return json_is(list, JSON_ARRAY);
}

static const struct json *find_node(const struct json *nodes, const char *hash)
{
	json_each (node, nodes) {
		if (text_eq(member_text(node, "node_hash"), hash))
			return node;
	}
	return NULL;
}

/* A node of evidence: its own hash, sorted references, the session of the receipt, a clock before the
 * receipt's, and parents that are there and earlier.  Rising clocks also rule out a cycle. */
static bool check_node(
	struct verification *v, const struct json *r, const struct json *nodes, const struct json *node)
{
	int64_t clock = json_get_int(node, "lamport", 0);
	struct err e = { 0 };
	struct buf b;

	buf_init(&b, v->a);
	if (projection_write(&b, &launch_node_projection, NULL, node, &e) ||
		!text_eq(preimage_prefixed(v->a, buf_bytes(&b)), member_text(node, "node_hash")))
		return refuse(v, "node_hash", "is not the hash of the evidence node");
	if (!is_sorted_set(json_get(node, "parent_hashes")) ||
		!is_sorted_set(json_get(node, "artifact_refs")))
		return refuse(v, "artifact_refs", "and parents must be sorted, each once");
	if (!text_eq(member_text(node, "proof_session_ref"), member_text(r, "proof_session_ref")) ||
		!text_eq(member_text(node, "evidence_reservation_ref"),
			member_text(r, "evidence_reservation_ref")))
		return refuse(v, "proof_session_ref", "of an evidence node is another than the receipt's");
	if (clock < 1 || clock >= json_get_int(r, "lamport", 0))
		return refuse(v, "lamport", "of an evidence node does not precede the receipt");
	json_each (parent, json_get(node, "parent_hashes")) {
		const struct json *p = find_node(nodes, json_text(parent));
		if (!p || json_get_int(p, "lamport", 0) >= clock)
			return refuse(v, "parent_hashes", "names a node that is absent or not earlier");
	}
	return true;
}

static char *lower(struct arena *a, const char *s)
{
	char *copy = arena_strdup(a, s);

	for (char *c = copy; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return copy;
}

/* Evidence may not refer to the receipt it is evidence for, in whatever spelling: that would be a circle.
 * A bare hash is refused as well, since it cannot be told what it refers to. */
static bool leans_on_receipt(struct arena *a, const struct json *r, const char *ref)
{
	static const char *const own[] = { "receipt_id", "previous_receipt_id", "receipt_chain_id",
		"evidence_pack_ref", "evidence_pack_hash" };
	char *s = lower(a, ref);

	if (text_starts(s, "receipt:") || text_starts(s, "evidencepack:") || is_bare_hash(s))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		const char *id = lower(a, member_text(r, own[i]));
		if (*id && (text_eq(s, id) || text_eq(s, arena_printf(a, "sha256:%s", id))))
			return true;
	}
	return false;
}

/* Every node is sound, no hash occurs twice, and the node the receipt names is among them. */
static bool check_evidence(struct verification *v, const struct json *r, const struct json *dag)
{
	const struct json *nodes = json_get(dag, "nodes");

	if (!dag) {
		verify_note(v, "no evidence graph was given");
		return true;
	}
	if (!json_is(nodes, JSON_ARRAY) || nodes->n == 0)
		return refuse(v, "evidence_dag", "is empty");
	for (size_t i = 0; i < nodes->n; i++) {
		if (!check_node(v, r, nodes, nodes->items[i]))
			return false;
		if (find_node(nodes, member_text(nodes->items[i], "node_hash")) != nodes->items[i])
			return refuse(v, "node_hash", "occurs twice");
		json_each (ref, json_get(nodes->items[i], "artifact_refs")) {
			if (leans_on_receipt(v->a, r, json_text(ref) ? json_text(ref) : ""))
				return verify_refute(
					v, "evidence_cycle", "evidence refers to the receipt it supports");
		}
	}
	return find_node(nodes, member_text(r, "proofgraph_node")) ||
		refuse(v, "proofgraph_node", "is not in the evidence graph");
}

void verify_launch_receipt(struct verification *v, const struct json *receipt, const struct json *binding,
	const struct json *evidence)
{
	if (!json_is(receipt, JSON_OBJECT)) {
		(void)verify_refute(v, MISMATCH, "a launch receipt is an object");
		return;
	}
	if (!check_integers(v, receipt) || !check_members(v, receipt) || !check_constants(v, receipt) ||
		!check_route(v, receipt) || !check_revision(v, receipt) || !check_state(v, receipt))
		return;
	if (!check_id(v, receipt) || !check_signature(v, receipt) || !check_chain_id(v, receipt) ||
		!check_binding(v, receipt, binding))
		return;
	(void)check_evidence(v, receipt, evidence);
	verify_note(v, "a preview profile: it grants no dispatch");
}

/* Inputs may spell whole numbers as 1, 1.0 or 1e0; they are brought to one spelling.  A number that is not
 * a safe integer stays as it is, and the strict writer refuses it. */
static struct json *integral(struct arena *a, const struct json *v)
{
	struct json *copy;

	if (v->type == JSON_NUMBER) {
		double x = strtod(v->text, NULL);
		return x == floor(x) && fabs(x) <= 9007199254740991.0 ? json_number(a, (int64_t)x)
								      : (struct json *)v;
	}
	if (v->type != JSON_ARRAY && v->type != JSON_OBJECT)
		return (struct json *)v;
	copy = json_copy(a, v);
	for (uint32_t i = 0; v->type == JSON_ARRAY && i < copy->n; i++)
		copy->items[i] = integral(a, copy->items[i]);
	json_each_member (m, copy)
		m->value = integral(a, m->value);
	return copy;
}

void verify_launch_artifact(struct verification *v, const struct json *artifact, const char *declared)
{
	struct err e = { 0 };
	struct bytes text;

	if (artifact)
		artifact = integral(v->a, sealed_cleared(v->a, artifact));
	if (sealed_preimage(v->a, artifact, NULL, &text, &e)) {
		(void)verify_refute(v, "unsafe_integer", "%s", e.text);
		return;
	}
	char *hash = preimage_prefixed(v->a, text);
	verify_value(v, "hash", hash);
	if (declared && !text_eq(hash, declared)) {
		verify_at(v, "artifact", "hash", hash, declared);
		(void)verify_refute(v, "hash_mismatch", "the declared hash is not the artifact's");
	}
}

/* Hash and signature cover the record with both members empty.  The hash may be written with or without
 * its prefix. */
void verify_launch_companion(struct verification *v, const struct json *record, const char *hash_member,
	const char *signature_member)
{
	struct json *view = json_copy(v->a, record);
	const char *signature = member_text(record, signature_member);
	uint8_t raw[SIGNATURE_SIZE];
	struct err e = { 0 };
	struct bytes text;

	json_sets(v->a, view, hash_member, "");
	json_sets(v->a, view, signature_member, "");
	if (sealed_preimage(v->a, view, NULL, &text, &e)) {
		(void)verify_refute(v, "unsafe_integer", "%s", e.text);
		return;
	}
	char *hash = preimage_prefixed(v->a, text);
	const char *stored = member_text(record, hash_member);
	if (!text_eq(stored, hash) && !text_eq(stored, hash + strlen("sha256:"))) {
		verify_at(v, NULL, hash_member, hash, stored);
		(void)verify_refute(v, "hash_mismatch", "%s is not the hash of the record", hash_member);
		return;
	}
	if (text_starts(signature, "ed25519:"))
		signature += strlen("ed25519:");
	if (!parse_signature(signature, raw))
		(void)verify_refute(v, "invalid_encoding", "the signature is not 128 lower-case hex digits");
	else
		(void)verify_signature(v, text, raw, NULL, NULL, "signature_rejected");
}

/* gates_receipts.c — gates that look at the receipts of a pack: is each whole, signed and tied to the others.
 *
 * A receipt's own hash and its signature are computed again over canonical bytes.  Only keys that the reader brought count: a pack that
 * brings its own trust proves nothing. */
#include "audit/conform/gates.h"
#include "base/hash.h"
#include "base/text.h"
#include "proof/sign.h"

#include <string.h>

/* 64 digits, with or without "sha256:" in front. */
static const char *bare(const char *digest)
{
	return text_starts(digest, "sha256:") ? digest + strlen("sha256:") : digest;
}

static const char *id_of(const struct json *r)
{
	return json_get_text(r, "decision_id", json_get_text(r, "receipt_hash", "?"));
}

/* ---- G1 ---- */

static bool is_known_action(const char *action)
{
	static const char *const known[] = { "policy_decision", "boundary_decision", "tool_call",
		"connector_call", "schema_validation", "approval_action", "budget_decrement",
		"budget_exhausted", "containment_transition", "pack_install", "pack_upgrade", "pack_rollback",
		"effect_attempt", "effect_denied", "envelope_bind", "envelope_unbind", "key_rotation",
		"incident_open", "incident_close", "receipt_emission_panic" };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (text_eq(known[i], action))
			return true;
	return false;
}

static bool has_text(const struct json *r, const char *name)
{
	return *json_get_text(r, name, "") != '\0';
}

/* Everything that a receipt must say, by the code of what is missing without it. */
static void check_members(struct gating *g, const struct json *r)
{
	static const char *const must[] = { "run_id", "timestamp_virtual", "schema_version", "jurisdiction",
		"policy_hash", "policy_version", "actor", "action_type", "effect_class", "effect_type",
		"decision_id", "intent_id", "effect_digest_hash", "capability_ref", "budget_snapshot_ref",
		"phenotype_hash", "receipt_hash", "signature", "payload_commitment" };

	for (size_t i = 0; i < ARRAY_SIZE(must); i++)
		if (!has_text(r, must[i]))
			gate_fail(g, "RECEIPT_CHAIN_BROKEN", NULL);
	if (!has_text(r, "tenant_id"))
		gate_fail(g, "TENANT_ISOLATION_VIOLATION", NULL);
	if (!has_text(r, "envelope_id") || !has_text(r, "envelope_hash"))
		gate_fail(g, "ENVELOPE_NOT_BOUND", NULL);
	if (!is_known_action(json_get_text(r, "action_type", "")))
		gate_fail(g, "UNKNOWN_ACTION_TYPE", json_get_text(r, "action_type", ""));
}

static bool is_signed(struct gating *g, const struct json *r)
{
	struct json *whole = json_copy(g->a, r);
	const char *hex = json_get_text(r, "signature", "");
	uint8_t signature[SIGN_SIZE];
	struct buf text;

	(void)json_remove(whole, "signature");
	buf_init(&text, g->a);
	json_canonical(&text, whole);
	if (!hex_decode(hex, strlen(hex), signature, SIGN_SIZE, false))
		return false;
	for (size_t i = 0; i < g->trust->key_count; i++)
		if (sign_verify(g->trust->keys[i].key, buf_bytes(&text), signature))
			return true;
	return false;
}

static bool has_own_hash(struct gating *g, const struct json *r)
{
	struct json *whole = json_copy(g->a, r);

	(void)json_remove(whole, "signature");
	(void)json_remove(whole, "receipt_hash");
	return text_eq(bare(json_sha256(g->a, whole)), bare(json_get_text(r, "receipt_hash", "")));
}

/* Parents are receipts of this pack that came before, or the beginning. */
static bool has_parents(struct gating *g, size_t i)
{
	const struct json *parents = json_get(g->receipts->items[i], "parent_receipt_hashes");

	json_each (parent, parents) {
		const char *hash = json_text(parent);
		bool found = hash && text_eq(hash, "genesis");
		for (size_t k = 0; hash && !found && k < i; k++)
			found = text_eq(
				bare(hash), bare(json_get_text(g->receipts->items[k], "receipt_hash", "-")));
		if (!found)
			return false;
	}
	return json_is(parents, JSON_ARRAY) && parents->n;
}

void gate_receipts(struct gating *g)
{
	int64_t before = -1, seq;
	const char *tenant = NULL;

	if (!g->receipts->n)
		gate_fail(g, "RECEIPT_CHAIN_BROKEN", NULL);
	if (!g->trust->key_count)
		gate_fail(g, "TRUST_ROOTS_MISSING", NULL);
	for (size_t i = 0; i < g->receipts->n; i++) {
		const struct json *r = g->receipts->items[i];
		g->looked_at++;
		check_members(g, r);
		if (!json_int(json_get(r, "seq"), &seq) || seq <= before)
			gate_fail(g, "RECEIPT_CHAIN_BROKEN", NULL);
		else
			before = seq;
		if (!has_own_hash(g, r))
			gate_fail(g, "RECEIPT_CHAIN_BROKEN", NULL);
		if (!has_parents(g, i))
			gate_fail(g, "RECEIPT_DAG_BROKEN", NULL);
		if (g->trust->key_count && !is_signed(g, r))
			gate_fail(g, "SIGNATURE_INVALID", id_of(r));
		const char *whose = json_get_text(r, "tenant_id", "");
		if (tenant && !text_eq(tenant, whose))
			gate_fail(g, "TENANT_ISOLATION_VIOLATION", NULL);
		tenant = whose;
	}
}

/* ---- G2 ---- */

static void check_tapes(struct gating *g)
{
	struct verification v;

	if (!gate_document(g, "08_TAPES/tape_manifest.json")) {
		gate_fail(g, "REPLAY_TAPE_MISS", NULL);
		return;
	}
	verification_begin(&v, g->a, g->trust, "tapes");
	verify_pack_tapes(&v, g->pack);
	if (v.integrity == ANSWER_NO)
		gate_fail(g, "REPLAY_TAPE_MISS", NULL);
}

void gate_replay(struct gating *g)
{
	const struct json *same = gate_document(g, "02_PROOFGRAPH/determinism_manifest.json");
	const char *live = json_get_text(same, "live_hash", ""),
		   *again = json_get_text(same, "replay_hash", "-");
	int64_t before = -1, clock;

	check_tapes(g);
	if (!*live || !text_eq(live, again))
		gate_fail(g, "REPLAY_HASH_DIVERGENCE", NULL);
	for (size_t i = 0; i < g->pack->n; i++)
		if (text_starts(g->pack->files[i].path, "05_DIFFS/"))
			gate_fail(g, "REPLAY_HASH_DIVERGENCE", NULL);
	json_each (r, g->receipts) {
		g->looked_at++;
		if (json_int(json_get(r, "lamport_clock"), &clock)) {
			if (clock <= before)
				gate_fail(g, "LAMPORT_NOT_MONOTONIC", NULL);
			before = clock;
		}
		if (text_eq(json_get_text(r, "action_type", ""), "policy_decision") &&
			!has_text(r, "policy_decision_hash"))
			gate_fail(g, "POLICY_DECISION_HASH_MISSING", NULL);
	}
}

/* ---- what some receipt must say ---- */

static bool some_receipt(struct gating *g, const char *member, const char *const *values)
{
	json_each (r, g->receipts)
		for (const char *const *v = values; *v; v++)
			if (text_eq(json_get_text(r, member, ""), *v))
				return true;
	return false;
}

void gate_human(struct gating *g)
{
	static const char *const people[] = { "operator", NULL };

	g->looked_at = g->receipts->n;
	json_each (r, g->receipts)
		if (text_starts(json_get_text(r, "actor", ""), "operator:"))
			return;
	if (!some_receipt(g, "actor", people))
		gate_fail(g, "HITL_RECEIPTS_MISSING", NULL);
}

/* An incident was exported, and something was contained because of one. */
void gate_incident(struct gating *g)
{
	static const char *const types[] = { "FREEZE", "THROTTLE", "EMERGENCY", NULL };
	static const char *const actions[] = { "containment_transition", NULL };
	bool has_export = false;

	for (size_t i = 0; i < g->pack->n; i++)
		has_export |= text_starts(g->pack->files[i].path, "04_EXPORTS/incidents/");
	g->looked_at = g->receipts->n;
	if (!has_export ||
		(!some_receipt(g, "effect_type", types) && !some_receipt(g, "action_type", actions)))
		gate_fail(g, "CONTAINMENT_NOT_TRIGGERED", NULL);
}

void gate_budget_seen(struct gating *g)
{
	static const char *const tracked[] = { "time", "tokens", "tool_calls", "spend", "recursion" };
	static const char *const exhausted[] = { "budget_exhausted", NULL };
	const struct json *metrics = gate_document(g, "03_TELEMETRY/budget_metrics.json");

	for (size_t i = 0; i < ARRAY_SIZE(tracked); i++)
		if (!json_get(metrics, tracked[i]))
			gate_fail(g, "BUDGET_EXHAUSTED", tracked[i]);
	if (!some_receipt(g, "action_type", exhausted))
		gate_fail(g, "CONTAINMENT_NOT_TRIGGERED", NULL);
}

/* ---- GX ---- */

static bool has_receipt_of(struct gating *g, const char *decision)
{
	json_each (r, g->receipts)
		if (text_eq(json_get_text(r, "decision_id", ""), decision))
			return true;
	return false;
}

void gate_envelope_bound(struct gating *g)
{
	const struct json *doc;
	const char *path;
	size_t at = 0;

	if (!g->receipts->n)
		gate_fail(g, "ENVELOPE_NOT_BOUND", NULL);
	json_each (r, g->receipts) {
		g->looked_at++;
		if (!has_text(r, "envelope_id") || !has_text(r, "envelope_hash"))
			gate_fail(g, "ENVELOPE_NOT_BOUND", NULL);
		if (!has_text(r, "envelope_decision"))
			gate_fail(g, "ENVELOPE_NOT_ENFORCED", NULL);
	}
	while (gate_each(g, "policy_decisions", &at, &path, &doc))
		if (!text_eq(json_get_text(doc, "verdict", ""), "ALLOW") &&
			!has_receipt_of(g, json_get_text(doc, "decision_id", "")))
			gate_fail(g, "DENIAL_NO_RECEIPT", json_get_text(doc, "decision_id", "?"));
}

void gate_tenant_one(struct gating *g)
{
	const char *tenant = NULL;

	if (!g->receipts->n)
		gate_fail(g, "TENANT_ID_MISSING", NULL);
	json_each (r, g->receipts) {
		const char *whose = json_get_text(r, "tenant_id", "");
		g->looked_at++;
		if (!*whose)
			gate_fail(g, "TENANT_ID_MISSING", NULL);
		else if (tenant && !text_eq(tenant, whose))
			gate_fail(g, "TENANT_ISOLATION_VIOLATION", NULL);
		else
			tenant = whose;
	}
}

/* A decision that names a delegation says who gave it to whom, and that it was looked at; and what was refused for it was refused. */
void gate_delegations(struct gating *g)
{
	static const char *const must[] = { "delegator", "delegate" };
	const struct json *doc;
	const char *path;
	size_t at = 0;

	while (gate_each(g, "policy_decisions", &at, &path, &doc)) {
		const struct json *d = json_get(doc, "delegation");
		if (!d)
			continue;
		g->looked_at++;
		for (size_t i = 0; i < ARRAY_SIZE(must); i++)
			if (!has_text(d, must[i]))
				gate_fail(g, "DELEGATION_INCOMPLETE", path);
		if (!json_get_bool(d, "validated", false) &&
			text_eq(json_get_text(doc, "verdict", ""), "ALLOW"))
			gate_fail(g, "DELEGATION_INCONSISTENT", path);
	}
}

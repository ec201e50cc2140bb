/* gates_files.c — gates that look at what else a pack must hold: identity of the build, schemas, decisions, tools, operation.
 *
 * A file that must be there and is no JSON is not there. */
#include "audit/conform/gates.h"
#include "base/hash.h"
#include "base/schema.h"
#include "base/text.h"
#include "proof/sign.h"

#include <string.h>

static bool has_any(struct gating *g, const char *const *names)
{
	for (; *names; names++)
		if (gate_find(g, *names))
			return true;
	return false;
}

/* ---- G0 ---- */

void gate_build(struct gating *g)
{
	static const char *const locks[] = { "dependency_lock.json", "dependencies.lock", "go.sum",
		"package-lock.json", "Cargo.lock", "poetry.lock", "uv.lock", "yarn.lock", "pnpm-lock.yaml",
		NULL };
	static const char *const sboms[] = { "sbom.json", "sbom.xml", "sbom.spdx", NULL };
	static const char *const origins[] = { "provenance.json", "provenance.jsonl", "provenance.intoto",
		NULL };
	static const char *const roots[] = { "trust_roots.json", "signing_keys.json", "public_keys.json",
		NULL };
	const struct json *identity = gate_document(g, "07_ATTESTATIONS/build_identity.json");

	if (!json_is(identity, JSON_OBJECT) || !identity->n)
		gate_fail(g, "BUILD_IDENTITY_MISSING", "build_identity.json");
	if (!has_any(g, locks))
		gate_fail(g, "BUILD_IDENTITY_MISSING", "dependency lock");
	if (!has_any(g, sboms))
		gate_fail(g, "BUILD_IDENTITY_MISSING", "sbom");
	if (!has_any(g, origins))
		gate_fail(g, "BUILD_IDENTITY_MISSING", "provenance");
	if (!has_any(g, roots))
		gate_fail(g, "TRUST_ROOTS_MISSING", NULL);
}

/* ---- G2A, G3 ---- */

/* A schema that this program cannot use for a check checks nothing. */
void gate_schemas(struct gating *g)
{
	const struct json *doc;
	struct schema *schema;
	const char *path;
	size_t at = 0;

	while (gate_each(g, "tool_io", &at, &path, &doc)) {
		g->looked_at++;
		if (!doc || schema_compile(g->a, doc, path, &schema, NULL))
			gate_fail(g, "SCHEMA_VALIDATION_FAILED", path);
	}
	if (!g->looked_at)
		gate_fail(g, "SCHEMA_VALIDATION_FAILED", NULL);
}

void gate_policies(struct gating *g)
{
	const struct json *doc;
	const char *path;
	size_t at = 0;

	while (gate_each(g, "policy_decisions", &at, &path, &doc)) {
		g->looked_at++;
		if (!*json_get_text(doc, "policy_hash", "") || !*json_get_text(doc, "boundary", ""))
			gate_fail(g, "POLICY_DECISION_MISSING", path);
	}
	if (!g->looked_at)
		gate_fail(g, "POLICY_DECISION_MISSING", NULL);
}

/* ---- G4 ---- */

static bool has_aws_key(struct bytes text)
{
	for (const uint8_t *p = text.p, *end = text.p + text.n; (p = memmem(p, (size_t)(end - p), "AKIA", 4));
		p++) {
		size_t n = 4;
		while (p + n < end && n < 20 &&
			((p[n] >= 'A' && p[n] <= 'Z') || (p[n] >= '0' && p[n] <= '9')))
			n++;
		if (n == 20)
			return true;
	}
	return false;
}

static bool has_private_key(struct bytes text)
{
	const uint8_t *p = memmem(text.p, text.n, "-----BEGIN ", 11);

	return p && memmem(p, (size_t)(text.p + text.n - p), "PRIVATE KEY-----", 16);
}

static bool leaks(struct bytes text)
{
	static const char *const marks[] = { "sk_live_", "ghp_", "password=" };

	if (!text.n)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (memmem(text.p, text.n, marks[i], strlen(marks[i])))
			return true;
	return has_aws_key(text) || has_private_key(text);
}

/* What is too large to be looked into is not said to be clean. */
void gate_secrets(struct gating *g)
{
	static const char *const places[] = { "06_LOGS/", "08_TAPES/", "02_PROOFGRAPH/" };

	for (size_t i = 0; i < g->pack->n; i++) {
		const struct pack_file *f = &g->pack->files[i];
		for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
			if (!text_starts(f->path, places[k]))
				continue;
			g->looked_at++;
			if (!f->is_kept || leaks(f->content))
				gate_fail(g, "SECRET_LEAK_DETECTED", f->path);
		}
	}
	g->is_not_run = !g->looked_at;
}

/* ---- G5, G6 ---- */

void gate_tools(struct gating *g)
{
	static const char *const must[] = { "tool_id", "version", "capabilities", "side_effect_classes",
		"data_classes_in", "data_classes_out", "network_scopes", "fs_scopes", "required_approvals",
		"schemas", "signatures" };
	const struct json *doc;
	const char *path;
	size_t at = 0;

	while (gate_each(g, "tool_manifests", &at, &path, &doc)) {
		g->looked_at++;
		for (size_t i = 0; i < ARRAY_SIZE(must); i++)
			if (!json_get(doc, must[i])) {
				gate_fail(g, "TOOL_MANIFEST_INVALID", path);
				break;
			}
	}
	if (!g->looked_at)
		gate_fail(g, "TOOL_MANIFEST_MISSING", NULL);
}

void gate_taint_flow(struct gating *g)
{
	const struct json *doc = gate_document(g, "taint/lineage.json");

	if (!doc)
		doc = gate_document(g, "03_TELEMETRY/taint/lineage.json");
	const struct json *nodes = json_get(doc, "nodes"), *wrong = json_get(doc, "violations");
	if (!json_is(nodes, JSON_ARRAY) || (wrong && (!json_is(wrong, JSON_ARRAY) || wrong->n)))
		gate_fail(g, "TAINT_FLOW_VIOLATION", NULL);
	json_each (node, nodes) {
		g->looked_at++;
		if (!*json_get_text(node, "lineage_hash", ""))
			gate_fail(g, "TAINT_FLOW_VIOLATION", json_get_text(node, "id", NULL));
	}
}

/* ---- G9, G11, G12 ---- */

static void check_jurisdiction(struct gating *g, const char *code)
{
	const char *place = arena_printf(g->a, "04_EXPORTS/jurisdictions/%s/", code);
	bool has_suite = false;

	g->looked_at++;
	for (size_t i = 0; i < g->pack->n; i++)
		has_suite |= text_starts(g->pack->files[i].path, arena_printf(g->a, "%stest_suite", place));
	if (!has_suite || !gate_document(g, arena_printf(g->a, "%sconformance_report.json", place)))
		gate_fail(g, "JURISDICTION_EVIDENCE_MISSING", code);
}

void gate_jurisdictions(struct gating *g)
{
	static const char place[] = "04_EXPORTS/jurisdictions/";
	const char *before = "";

	if (g->jurisdiction) {
		check_jurisdiction(g, g->jurisdiction);
		return;
	}
	for (size_t i = 0; i < g->pack->n; i++) {
		const char *path = g->pack->files[i].path;
		const char *end = text_starts(path, place) ? strchr(path + strlen(place), '/') : NULL;
		const char *code = end
			? arena_strndup(g->a, path + strlen(place), (size_t)(end - path) - strlen(place))
			: "";
		if (*code && !text_eq(code, before))
			check_jurisdiction(g, code);
		before = *code ? code : before;
	}
	if (!g->looked_at)
		gate_fail(g, "JURISDICTION_EVIDENCE_MISSING", NULL);
}

void gate_operability(struct gating *g)
{
	static const char *const objectives[] = { "scheduler_latency", "policy_decision_latency",
		"receipt_verification_latency", "connector_error_rate", "escalation_queue_latency" };
	static const char *const snapshots[] = { "ops_status_snapshot.json", "ops_status_snapshot.txt",
		"ops_status_snapshot.md", NULL };
	static const char *const runbooks[] = { "runbooks/index.json", "runbooks/index.md",
		"runbooks_index.json", NULL };
	const struct pack_file *file = gate_find(g, "slo.json");
	const struct json *slo = file ? gate_document(g, file->path) : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(objectives); i++)
		if (!json_get(slo, objectives[i]))
			gate_fail(g, "SLO_MISSING", objectives[i]);
	if (!has_any(g, snapshots))
		gate_fail(g, "OPS_STATUS_SNAPSHOT_MISSING", NULL);
	if (!has_any(g, runbooks))
		gate_fail(g, "RUNBOOKS_MISSING", NULL);
}

/* signature.json beside it: {sha256, public_key, signature}; the signature is over the text of the digest, which is that of pack.json. */
static bool is_signed_pack(
	struct gating *g, const char *dir, const struct json *signature, const struct json *roots)
{
	const struct pack_file *file = verify_pack_find(g->pack, arena_printf(g->a, "%spack.json", dir));
	const char *key = json_get_text(signature, "public_key", ""),
		   *hex = json_get_text(signature, "signature", "");
	const char *digest = json_get_text(signature, "sha256", "");
	uint8_t pub[SIGN_PUBLIC], sig[SIGN_SIZE];
	bool is_trusted = false;

	json_each (root, json_get(roots, "keys"))
		is_trusted |= json_text(root) && text_eq(json_text(root), key);
	return is_trusted && file && file->is_kept &&
		text_eq(digest, sha256_prefixed(g->a, file->content.p, file->content.n)) &&
		hex_decode(key, strlen(key), pub, SIGN_PUBLIC, false) &&
		hex_decode(hex, strlen(hex), sig, SIGN_SIZE, false) && sign_public_ok(pub) &&
		sign_verify(pub, bytes_of(digest), sig);
}

void gate_supply(struct gating *g)
{
	const struct pack_file *file = gate_find(g, "trusted_roots.json");
	const struct json *roots = file ? gate_document(g, file->path) : NULL;

	if (!roots)
		gate_fail(g, "TRUSTED_ROOTS_MISSING", NULL);
	for (size_t i = 0; i < g->pack->n; i++) {
		const char *path = g->pack->files[i].path;
		if (!text_ends(path, "/pack.json"))
			continue;
		const char *dir = arena_strndup(g->a, path, strlen(path) - strlen("pack.json"));
		const struct json *signature = gate_document(g, arena_printf(g->a, "%ssignature.json", dir));
		g->looked_at++;
		if (!signature)
			gate_fail(g, "PACK_UNSIGNED", dir);
		else if (!is_signed_pack(g, dir, signature, roots))
			gate_fail(g, "PACK_SIG_INVALID", dir);
	}
	g->is_not_run = !g->looked_at;
}

/* ---- G13, G14, G15 ---- */

/* Can this machine make a key, sign with it and tell a wrong signature from a right one? */
void gate_key(struct gating *g)
{
	uint8_t seed[SIGN_SEED], secret[SIGN_SECRET], pub[SIGN_PUBLIC], sig[SIGN_SIZE];
	static const char message[] = "helm:conformance:v1\n";

	g->looked_at = 1;
	if (g->sys->random(g->sys, seed, sizeof(seed))) {
		gate_fail(g, "KEY_GENERATION_FAILED", NULL);
		return;
	}
	sign_expand(seed, secret, pub);
	sign_message(secret, bytes_of(message), sig);
	if (!sign_verify(pub, bytes_of(message), sig))
		gate_fail(g, "KEY_SIGNATURE_REFUSED", NULL);
	sig[0] ^= 1;
	if (sign_verify(pub, bytes_of(message), sig))
		gate_fail(g, "KEY_FORGERY_ACCEPTED", NULL);
	explicit_bzero(seed, sizeof(seed));
	explicit_bzero(secret, sizeof(secret));
}

/* The same bundle has the same digest however often it is read; where it states one, that one. */
void gate_bundles(struct gating *g)
{
	const struct json *doc;
	struct json *again;
	const char *path;
	size_t at = 0;

	while (gate_each(g, "bundles", &at, &path, &doc)) {
		struct buf text;
		g->looked_at++;
		if (!doc) {
			gate_fail(g, "BUNDLE_HASH_DIFFERS", path);
			continue;
		}
		buf_init(&text, g->a);
		json_canonical(&text, doc);
		struct json *unstated = json_copy(g->a, doc);
		const char *stated = json_get_text(doc, "content_hash", NULL);
		(void)json_remove(unstated, "content_hash");
		if (json_parse(g->a, buf_bytes(&text), path, NULL, &again, NULL) ||
			!text_eq(json_sha256(g->a, again), json_sha256(g->a, doc)) ||
			(stated && !text_eq(stated, json_sha256(g->a, unstated))))
			gate_fail(g, "BUNDLE_HASH_DIFFERS", path);
	}
	if (!g->looked_at)
		gate_fail(g, "BUNDLE_MISSING", NULL);
}

void gate_condensation(struct gating *g)
{
	static const char *const places[] = { "02_PROOFGRAPH/condensation.json",
		"02_PROOFGRAPH/proofgraph.json" };
	uint8_t root[SHA256_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *text = json_get_text(gate_document(g, places[i]), "merkle_root", "");
		const char *hex = text_starts(text, "sha256:") ? text + strlen("sha256:") : text;
		if (hex_decode(hex, strlen(hex), root, SHA256_SIZE, false))
			return;
	}
	gate_fail(g, "MERKLE_ROOT_MISSING", NULL);
}

/* Each scan says what was scanned, by digest. */
void gate_threat_scans(struct gating *g)
{
	const struct json *doc;
	const char *path;
	size_t at = 0;

	while (gate_each(g, "threat_scans", &at, &path, &doc)) {
		g->looked_at++;
		if (!*json_get_text(doc, "content_hash", "") || !json_get(doc, "findings"))
			gate_fail(g, "THREAT_SCAN_INCOMPLETE", path);
	}
	if (!g->looked_at)
		gate_fail(g, "THREAT_SCAN_MISSING", NULL);
}

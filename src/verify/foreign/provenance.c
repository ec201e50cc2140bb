/* provenance.c — agent provenance packs: what an agent session was made of, by hashes.
 *
 * Such a pack is advisory: it never makes an effect native.  The class says how much was established: all
 * hashes hold; they are also signed and redacted; they are also tied to a run receipt that verifies.  A
 * manifest that is not understood lowers it to unverified. */
#include "proof/preimage.h"
#include "verify/pack.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PACK_VERSION "agent_provenance_pack.v1"

struct provenance {
	struct verification *v;
	const struct pack *p;
	const struct json *manifest;
	struct json *failed;
	bool is_hashed; /* every object, report and root */
	bool is_known; /* the manifest's own words are understood */
	bool is_redacted, is_signed, is_bound;
};

/* Reports a check and returns its result, so that callers can collect it. */
static bool check(struct provenance *x, const char *name, bool ok, const char *detail)
{
	verify_check(x->v, name, ok ? CHECK_PASS : CHECK_FAIL, ok ? "" : detail);
	if (!ok) {
		json_pushs(x->v->a, x->failed, name);
		(void)verify_fail(x->v, name, "%s", detail);
	}
	return ok;
}

/* All words are checked, without stopping at the first, so `ok` is collected with &=. */
static void check_words(struct provenance *x)
{
	const struct json *m = x->manifest;
	const char *profile = member_text(m, "capture_profile");
	bool ok = check(x, "manifest:version", text_eq(member_text(m, "version"), PACK_VERSION),
		"the manifest is not of version " PACK_VERSION);

	ok &= check(x, "manifest:object_hash_alg", text_eq(member_text(m, "object_hash_alg"), "sha256"),
		"objects must be hashed with sha256");
	ok &= check(x, "manifest:canonical_json",
		strncasecmp(member_text(m, "canonical_json"), "jcs", 3) == 0,
		"canonical_json must be a form of JCS");
	ok &= check(x, "manifest:capture_profile",
		text_eq(profile, "hash_only") || text_eq(profile, "local_minimized") ||
			text_eq(profile, "dev_raw"),
		"the capture profile is not known");
	x->is_known = ok;
}

/* The object is in the pack with the hash and size the manifest states. */
static bool object_holds(struct provenance *x, const struct json *object)
{
	const struct pack_file *f = verify_pack_find(x->p, member_text(object, "path"));

	return f && text_eq(hash_hex(x->v->a, &f->digest), member_text(object, "hash")) &&
		json_get_int(object, "size", -1) == (int64_t)f->size_bytes;
}

/* The listed objects, the redaction report and, where there is one, the run receipt. */
static void check_objects(struct provenance *x)
{
	const struct json *run = json_get(x->manifest, "agent_run_receipt");

	json_each (object, json_get(x->manifest, "objects")) {
		char *name = arena_printf(
			x->v->a, "object:%s:%s", member_text(object, "kind"), member_text(object, "hash"));
		x->is_hashed &= check(x, name, object_holds(x, object), "the object is missing or differs");
	}
	x->is_hashed &=
		check(x, "redaction_report:hash", object_holds(x, json_get(x->manifest, "redaction_report")),
			"the redaction report is missing or differs");
	if (json_is(run, JSON_OBJECT))
		x->is_hashed &= check(x, "agent_run_receipt:hash", object_holds(x, run),
			"the run receipt is missing or differs");
}

static int by_kind_and_hash(const void *x, const void *y)
{
	const struct json *p = *(const struct json *const *)x, *q = *(const struct json *const *)y;
	int order = strcmp(member_text(p, "kind"), member_text(q, "kind"));

	return order ? order : strcmp(member_text(p, "hash"), member_text(q, "hash"));
}

/* Only these four members of an object go into the root. */
static void add_object(struct arena *a, struct json *list, const struct json *object)
{
	static const char *const names[] = { "hash", "kind", "path", "size" };
	struct json *view = json_new(a, JSON_OBJECT);

	if (!json_is(object, JSON_OBJECT))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_get(object, names[i]))
			json_set(a, view, names[i], json_get(object, names[i]));
	json_push(a, list, view);
}

/* Objects sorted by kind and hash: the root does not depend on the order in the manifest. */
static void check_root(struct provenance *x)
{
	struct arena *a = x->v->a;
	struct json *view = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
	struct err e = { 0 };
	struct bytes text;

	json_each (object, json_get(x->manifest, "objects"))
		add_object(a, list, object);
	add_object(a, list, json_get(x->manifest, "redaction_report"));
	add_object(a, list, json_get(x->manifest, "agent_run_receipt"));
	if (list->n)
		qsort(list->items, list->n, sizeof(struct json *), by_kind_and_hash);
	json_set(a, view, "objects", list);
	json_sets(a, view, "version", PACK_VERSION);
	const char *root = sealed_preimage(a, view, NULL, &text, &e) ? "" : preimage_hex(a, text);
	verify_value(x->v, "root_hash", root);
	bool same = text_eq(root, member_text(x->manifest, "root_hash"));
	if (!same)
		verify_at(x->v, "manifest", "root_hash", root, member_text(x->manifest, "root_hash"));
	x->is_hashed &= check(x, "manifest:root_hash", same, "root_hash is not over the listed objects");
}

/* A pack whose redaction failed may hold secrets and is never conformant. */
static void check_redaction(struct provenance *x)
{
	const struct pack_file *f =
		verify_pack_find(x->p, member_text(json_get(x->manifest, "redaction_report"), "path"));
	struct json *report = NULL;

	bool ok = f && pack_json(x->v->a, f, &report, NULL) == OK && *member_text(report, "version") &&
		!text_eq(member_text(report, "status"), "redaction_failed");
	x->is_redacted =
		check(x, "redaction_report:status", ok, "redaction failed, or its report has no version");
}

/* The signature covers the root, the id and the capture profile.  Only a key the caller brought counts. */
static void check_signature(struct provenance *x)
{
	static const char *const names[] = { "capture_profile", "pack_id", "root_hash" };
	struct json *view = json_new(x->v->a, JSON_OBJECT);
	const struct json *signing = json_get(x->manifest, "signing");
	struct verification one;
	uint8_t signature[SIGNATURE_SIZE];
	struct err e = { 0 };
	struct bytes message;

	if (x->v->trust->key_count == 0) {
		(void)check(x, "signature:key", false, "no trusted key was given");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_sets(x->v->a, view, names[i], member_text(x->manifest, names[i]));
	json_sets(x->v->a, view, "version", PACK_VERSION);
	verification_begin(&one, x->v->a, x->v->trust, x->v->kind);
	bool ok = parse_signature(member_text(signing, "signature_hex"), signature) &&
		sealed_preimage(x->v->a, view, NULL, &message, &e) == OK &&
		verify_signature(&one, message, signature, NULL, member_text(signing, "signer_key_id"),
			"signature_rejected") &&
		verify_key_window(&one, member_text(x->manifest, "created_at"));
	x->is_signed = check(x, "signature:ed25519", ok, "the signature verifies under no trusted key");
	x->v->signer = one.signer;
}

/* A run receipt that verifies under a trusted key and names the evidence it belongs to. */
static void check_run_receipt(struct provenance *x)
{
	static const char *const schemes[] = { "evidence://", "evidence-pack://", "helm-receipt://",
		"proofgraph://" };
	const struct json *run = json_get(x->manifest, "agent_run_receipt");
	const struct pack_file *f = verify_pack_find(x->p, member_text(run, "path"));
	struct json *receipt = NULL;
	struct verification one;
	bool has_ref = false;

	if (!json_is(run, JSON_OBJECT))
		return;
	verification_begin(&one, x->v->a, x->v->trust, "workstation receipt");
	if (f && pack_json(x->v->a, f, &receipt, NULL) == OK)
		verify_workstation(&one, receipt);
	json_each (ref, json_get(receipt, "evidence_pack_refs"))
		for (size_t i = 0; json_text(ref) && i < ARRAY_SIZE(schemes); i++)
			has_ref |= text_starts(json_text(ref), schemes[i]);
	bool ok = check(x, "agent_run_receipt:signature", verification_headline(&one) == HEADLINE_ADMISSIBLE,
		"the run receipt does not verify under a trusted key");
	x->is_bound = ok && has_ref;
}

/* Each class includes the conditions of the ones before it. */
static const char *class_of(const struct provenance *x)
{
	if (!x->is_hashed || !x->is_known)
		return "unverified";
	if (!x->is_redacted || !x->is_signed)
		return "hash_conformant";
	return x->is_bound ? "helm_bound_advisory" : "crypto_conformant_advisory";
}

/* Every check is made, whatever failed before, and all failures are listed. */
void verify_provenance(struct verification *v, const struct pack *p)
{
	const struct pack_file *f = verify_pack_find(p, "manifest.json");
	struct provenance x = { .v = v, .p = p, .failed = json_new(v->a, JSON_ARRAY), .is_hashed = true };
	struct json *manifest = NULL;
	struct err e = { 0 };

	v->kind = "agent provenance pack";
	if (!f || pack_json(v->a, f, &manifest, &e)) {
		(void)verify_refute(v, "manifest", "%s", f ? e.text : "there is no manifest.json");
		return;
	}
	x.manifest = manifest;
	check_words(&x);
	check_objects(&x);
	check_root(&x);
	check_redaction(&x);
	check_signature(&x);
	check_run_receipt(&x);
	json_set(v->a, v->values, "failed_checks", x.failed);
	verify_value(v, "class", class_of(&x));
	v->integrity = x.is_hashed && x.is_known ? ANSWER_YES : ANSWER_NO;
	v->trusted = x.is_signed ? ANSWER_YES : v->trust->key_count ? ANSWER_NO : ANSWER_UNKNOWN;
	verify_note(v, "advisory: a provenance pack describes a session and authorises nothing");
}

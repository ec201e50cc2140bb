/* external.c — decision receipts of other producers, in the normal form helm_external.v1.
 *
 * Such a receipt can be sound, but it is never a native one: a receipt that claims to be is refused, not
 * rewritten.  The class says how far it was established, and the weakest receipt of a bundle decides:
 * unverified (some check failed), compatible (sound under a key the bundle itself discloses), conformant
 * (sound under a key the caller trusts). */
#include "model/records.h"
#include "proof/preimage.h"
#include "verify/parts.h"

#include <string.h>
#include <strings.h>

#define FORMAT "helm_external.v1"

enum grade { UNVERIFIED, COMPATIBLE, CONFORMANT, GRADES };
static const char *const grade_names[] = { "unverified", "crypto_compatible_non_conformant",
	"crypto_conformant" };
TABLE_COVERS(grade_names, GRADES);

struct external {
	struct verification *v;
	const struct json *bundle;
	const char *id; /* of the receipt at hand */
	char *previous_hash;
	enum grade grade; /* weakest so far */
};

/* Members that are not part of what is hashed and signed: added later, or made from the rest. */
static const char *const cleared[] = { "classification", "limitations", "original_digest", "receipt_hash",
	"signature", NULL };

/* Sets a member that is absent or empty. */
static void fill(struct arena *a, struct json *o, const char *name, const char *value)
{
	if (!*member_text(o, name))
		json_sets(a, o, name, value);
}

/* The normal form.  `kind` is always written as that of a foreign receipt, so a native claim changes the
 * hash and fails. */
static int preimage(struct arena *a, const struct json *receipt, struct bytes *ret, struct err *e)
{
	static const struct except but = { .absent = cleared };
	struct json *view = json_copy(a, receipt);
	struct buf b;
	int rc;

	fill(a, view, "schema_version", "external_decision_receipt.v1");
	fill(a, view, "format_id", FORMAT);
	json_sets(a, view, "kind", "external_decision_receipt");
	buf_init(&b, a);
	rc = projection_write(&b, &external_decision_projection, &but, view, e);
	if (rc == OK)
		*ret = buf_bytes(&b);
	return rc;
}

/* Hex first; then base64 in its four spellings. */
static bool decode_signature(struct arena *a, const char *text, uint8_t ret[SIGNATURE_SIZE])
{
	struct bytes raw;

	if (hex_decode(text, strlen(text), ret, SIGNATURE_SIZE, false))
		return true;
	for (int form = 0; form < 4; form++)
		if (base64_decode(
			    a, text, strlen(text), form & 1 ? BASE64_URL : BASE64_STD, form < 2, &raw) &&
			raw.n == SIGNATURE_SIZE) {
			memcpy(ret, raw.p, SIGNATURE_SIZE);
			return true;
		}
	return false;
}

/* A key the bundle discloses: the first of that id that decodes. */
static bool bundle_key(const struct json *bundle, const char *id, uint8_t ret[KEY_SIZE])
{
	json_each (key, json_get(bundle, "public_keys")) {
		if ((!*id || text_eq(member_text(key, "key_id"), id)) &&
			trust_parse_key(member_text(key, "public_key_hex"), ret))
			return true;
	}
	return false;
}

/* Reports a check under the receipt's id.  One failure makes the whole bundle unverified. */
static void check(struct external *x, const char *what, const char *fault)
{
	struct verification *v = x->v;

	verify_check(v, arena_printf(v->a, "decision:%s:%s", x->id, what), fault ? CHECK_FAIL : CHECK_PASS,
		fault ? fault : "");
	if (!fault)
		return;
	x->grade = UNVERIFIED;
	verify_at(v, x->id, what, NULL, NULL);
	(void)verify_fail(v, arena_printf(v->a, "%s_failed", what), "%s: %s", x->id, fault);
}

/* A key the bundle discloses is used only when the caller brought none. */
static void check_signature(struct external *x, const struct json *receipt, struct bytes message)
{
	struct verification one, *v = x->v;
	uint8_t signature[SIGNATURE_SIZE], disclosed[KEY_SIZE];
	const char *algorithm = member_text(receipt, "signature_algorithm"),
		   *text = member_text(receipt, "signature");
	bool has_disclosed = v->trust->key_count == 0 &&
		bundle_key(x->bundle, member_text(receipt, "signing_key_id"), disclosed);

	if (*algorithm && strcasecmp(algorithm, "ed25519") != 0) {
		check(x, "signature", arena_printf(v->a, "algorithm %s is not supported", algorithm));
		return;
	}
	if (v->trust->key_count == 0 && !has_disclosed) {
		check(x, "key", "no key was given and the bundle discloses none that fits");
		return;
	}
	if (!*text || !decode_signature(v->a, text, signature)) {
		check(x, "signature",
			*text ? "the signature is neither hex nor base64 of 64 bytes" : "unsigned");
		return;
	}
	verification_begin(&one, v->a, v->trust, v->kind);
	bool ok = verify_signature(&one, message, signature, has_disclosed ? disclosed : NULL,
		member_text(receipt, "signing_key_id"), "signature_rejected");
	bool in_force = ok && verify_key_window(&one, member_text(receipt, "decision_time"));
	check(x, "signature", in_force ? NULL : ok ? one.text : "the signature does not verify");
	v->signer = one.signer;
	if (!ok)
		v->integrity = one.integrity == ANSWER_NO ? ANSWER_NO : v->integrity;
	else if (one.trusted != ANSWER_YES && x->grade == CONFORMANT)
		x->grade = COMPATIBLE;
}

/* A receipt need not store its hash; one that is stored must be right. */
static void check_hash(struct external *x, const struct json *receipt, const char *computed)
{
	const char *stored = member_text(receipt, "receipt_hash");

	if (*stored && !text_eq(stored, computed)) {
		x->v->integrity = ANSWER_NO;
		verify_at(x->v, x->id, "receipt_hash", computed, stored);
		check(x, "hash", "receipt_hash is not the hash of the receipt");
		return;
	}
	if (!*stored)
		verify_note(x->v, arena_printf(x->v->a, "%s stores no receipt_hash", x->id));
	check(x, "hash", NULL);
}

/* Links go to the recomputed hash of the receipt before. */
static void check_receipt(struct external *x, const struct json *receipt, size_t i)
{
	struct verification *v = x->v;
	const char *prev = member_text(receipt, "prev_receipt_hash");
	struct err e = { 0 };
	struct bytes message;

	x->id = *member_text(receipt, "receipt_id") ? member_text(receipt, "receipt_id")
						    : arena_printf(v->a, "#%zu", i + 1);
	if (!json_is(receipt, JSON_OBJECT)) {
		v->integrity = ANSWER_NO;
		check(x, "hash", "a receipt is not an object");
		return;
	}
	if (preimage(v->a, receipt, &message, &e)) {
		v->integrity = ANSWER_NO;
		check(x, "hash", arena_strdup(v->a, e.text));
		return;
	}
	char *computed = preimage_prefixed(v->a, message);
	check(x, "kind",
		text_eq(member_text(receipt, "kind"), "helm_native_receipt")
			? "a foreign receipt claims to be a native one"
			: NULL);
	check_hash(x, receipt, computed);
	check_signature(x, receipt, message);
	if (i > 0 && !text_eq(prev, x->previous_hash)) {
		v->integrity = ANSWER_NO;
		verify_at(v, x->id, "prev_receipt_hash", x->previous_hash, *prev ? prev : "(empty)");
		check(x, "chain", "prev_receipt_hash is not the hash of the receipt before it");
	}
	x->previous_hash = computed;
}

/* The format is named by the bundle or by a receipt in it. */
static bool is_format(const struct json *doc, const struct json *receipts)
{
	if (text_eq(member_text(doc, "format_id"), FORMAT))
		return true;
	json_each (receipt, receipts) {
		if (text_eq(member_text(receipt, "format_id"), FORMAT))
			return true;
	}
	return false;
}

static const struct json *receipts_of(struct arena *a, const struct json *doc)
{
	struct json *list;

	if (json_is(doc, JSON_ARRAY))
		return doc;
	if (json_get(doc, "receipts") || !json_get(doc, "receipt_id"))
		return json_get(doc, "receipts");
	list = json_new(a, JSON_ARRAY);
	json_push(a, list, (struct json *)doc);
	return list;
}

/* The loop ends at the first receipt with a failure. */
void verify_external_decisions(struct verification *v, const struct json *doc)
{
	const struct json *receipts = receipts_of(v->a, doc);
	struct external x = { .v = v, .bundle = doc, .grade = CONFORMANT };

	if (!json_is(receipts, JSON_ARRAY) || receipts->n == 0) {
		verify_check(v, "decision:bundle", CHECK_FAIL, "no receipts");
		(void)verify_fail(v, "no receipts supplied", "the bundle holds no receipts");
		x.grade = UNVERIFIED;
	} else if (!is_format(doc, receipts)) {
		(void)verify_fail(v, "unsupported_version", "no receipt is of format " FORMAT);
		x.grade = UNVERIFIED;
	}
	for (size_t i = 0; !v->error && receipts && i < receipts->n; i++)
		check_receipt(&x, receipts->items[i], i);
	verify_value(v, "classification", grade_names[x.grade]);
	if (x.grade == UNVERIFIED)
		return;
	v->integrity = ANSWER_YES;
	v->trusted = x.grade == CONFORMANT ? ANSWER_YES : ANSWER_UNKNOWN;
	v->is_self_attested = x.grade == COMPATIBLE;
	verify_note(v, "a foreign decision: it binds no verdict, permit or evidence of this kernel");
}

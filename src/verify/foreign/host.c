/* host.c — what a recorder outside the kernel saw on the host: chains of external host receipts.
 *
 * Every check is reported by name.  The chain hash and the links are compared with recomputed hashes,
 * never with stored ones: a forger who changes a receipt can change its stored hash too.  Claims that
 * cannot be checked here (a hardware root, a foreign signed payload) fail instead of being passed over. */
#include "model/records.h"
#include "proof/preimage.h"
#include "verify/parts.h"

#include <string.h>
#include <strings.h>

struct host {
	struct verification *v;
	const struct json *chain;
	uint8_t chain_key[KEY_SIZE];
	bool has_chain_key;
	const char *previous_hash; /* recomputed; "" when the one before has none */
	struct buf hashes; /* recomputed, joined by newline */
	struct json *failed;
	bool is_untrusted; /* a signature verified only under a key the chain carries */
};

/* Reports a check; `fault` is NULL when it passes.  A name is listed once in failed_checks, however many
 * receipts fail it. */
static void check(struct host *h, const char *name, const char *fault)
{
	verify_check(h->v, name, fault ? CHECK_FAIL : CHECK_PASS, fault ? fault : "");
	if (!fault)
		return;
	(void)verify_fail(h->v, name, "%s", fault);
	json_each (old, h->failed) {
		if (text_eq(json_text(old), name))
			return;
	}
	json_pushs(h->v->a, h->failed, name);
}

/* Producers leave out what is the same for the whole chain.  The hashes are made with these members filled
 * in. */
static struct json *with_defaults(struct host *h, const struct json *receipt)
{
	static const char *const inherited[] = { "source_vendor", "source_profile" };
	struct json *view = json_copy(h->v->a, receipt);

	if (!*member_text(view, "schema_version"))
		json_sets(h->v->a, view, "schema_version", "external_host_receipt.v1");
	for (size_t i = 0; i < ARRAY_SIZE(inherited); i++)
		if (!*member_text(view, inherited[i]) && *member_text(h->chain, inherited[i]))
			json_sets(h->v->a, view, inherited[i], member_text(h->chain, inherited[i]));
	return view;
}

/* A receipt is about a tool action or about a network event; each has members without which it says
 * nothing. */
static bool is_complete(const struct json *receipt)
{
	const struct json *event = json_get(receipt, "event"), *action = json_get(receipt, "action_event");

	if (!*member_text(receipt, "receipt_id") || !*member_text(receipt, "host_id"))
		return false;
	if (json_is(action, JSON_OBJECT) && action->n > 0)
		return *member_text(action, "action_id") && *member_text(action, "tool_name") &&
			*member_text(action, "timestamp");
	return (*member_text(event, "destination_ip") || *member_text(event, "destination_host")) &&
		json_get_int(event, "destination_port", 0) > 0 && *member_text(event, "protocol") &&
		*member_text(event, "timestamp");
}

/* The receipt's own hash is made with that member empty; the signature covers the receipt with the hash
 * filled in.  The recomputed hash is filled in, not the stored one. */
static int preimages(
	struct host *h, struct json *view, struct bytes *ret_signed, char **ret_hash, struct err *e)
{
	static const char *const signature[] = { "signature", NULL },
				 *const hash[] = { "receipt_hash", NULL };
	static const struct except hashed = { .absent = signature, .cleared = hash },
				   covered = { .absent = signature };
	struct buf b, filled;

	buf_init(&b, h->v->a);
	buf_init(&filled, h->v->a);
	if (projection_write(&b, &host_receipt_projection, &hashed, view, e))
		return e->rc;
	*ret_hash = preimage_prefixed(h->v->a, buf_bytes(&b));
	json_sets(h->v->a, view, "receipt_hash", *ret_hash);
	if (projection_write(&filled, &host_receipt_projection, &covered, view, e))
		return e->rc;
	*ret_signed = buf_bytes(&filled);
	return OK;
}

/* Producers write hex or base64. */
static bool decode_signature(struct arena *a, const char *text, uint8_t ret[SIGNATURE_SIZE])
{
	struct bytes raw;

	if (hex_decode(text, strlen(text), ret, SIGNATURE_SIZE, false))
		return true;
	if (!base64_decode(a, text, strlen(text), BASE64_STD, true, &raw) || raw.n != SIGNATURE_SIZE)
		return false;
	memcpy(ret, raw.p, SIGNATURE_SIZE);
	return true;
}

/* What is wrong with the signature, or NULL.  The key the chain carries is tried only when the caller
 * brought none, and then marks the chain as untrusted. */
static const char *signature_fault(struct host *h, const struct json *receipt, struct bytes message)
{
	struct verification one;
	uint8_t signature[SIGNATURE_SIZE];
	const char *algorithm = member_text(receipt, "signature_algorithm"), *payload;

	if (*algorithm && strcasecmp(algorithm, "ed25519") != 0)
		return arena_printf(h->v->a, "algorithm %s is not supported", algorithm);
	if (!decode_signature(h->v->a, member_text(receipt, "signature"), signature))
		return "the signature is neither hex nor base64 of 64 bytes";
	payload = member_text(receipt, "signed_payload_b64");
	if (*payload && !base64_decode(h->v->a, payload, strlen(payload), BASE64_STD, true, &message))
		return "signed_payload_b64 is not base64";
	verification_begin(&one, h->v->a, h->v->trust, h->v->kind);
	bool is_own = h->v->trust->key_count == 0 && h->has_chain_key;
	if (!verify_signature(&one, message, signature, is_own ? h->chain_key : NULL,
		    member_text(receipt, "signing_key_id"), "signature_rejected"))
		return "the signature does not verify";
	if (!verify_key_window(&one, member_text(receipt, "recorded_at")))
		return one.text;
	h->is_untrusted |= one.trusted != ANSWER_YES;
	h->v->signer = one.signer;
	return NULL;
}

/* An empty member claims nothing. */
static bool claims_hardware(const struct json *receipt)
{
	const struct json *root = json_get(receipt, "hardware_root");

	return root && root->type != JSON_NULL && !(root->type == JSON_OBJECT && root->n == 0);
}

/* previous_hash is emptied first: when this receipt has no hash, the next one cannot follow it. */
static void check_receipt(struct host *h, const struct json *receipt, size_t i)
{
	struct verification *v = h->v;
	const char *stored = member_text(receipt, "receipt_hash"),
		   *prev = member_text(receipt, "prev_receipt_hash"), *before = h->previous_hash;
	struct json *view;
	struct bytes message;
	struct err e = { 0 };
	char *hash = NULL;

	h->previous_hash = "";
	if (!json_is(receipt, JSON_OBJECT)) {
		check(h, "external_host:receipt_schema", "a receipt is not an object");
		return;
	}
	view = with_defaults(h, receipt);
	check(h, "external_host:receipt_schema", is_complete(view) ? NULL : "a required member is missing");
	if (preimages(h, view, &message, &hash, &e)) {
		check(h, "external_host:receipt_hash", arena_strdup(v->a, e.text));
		return;
	}
	if (!text_eq(stored, hash))
		verify_at(v,
			arena_printf(v->a, "receipt %zu (%s)", i + 1, member_text(receipt, "receipt_id")),
			"receipt_hash", hash, stored);
	check(h, "external_host:receipt_hash", text_eq(stored, hash) ? NULL : "receipt_hash does not match");
	if (i > 0)
		check(h, "external_host:prev_hash",
			*before && text_eq(prev, before) ? NULL : "prev_receipt_hash does not match");
	check(h, "external_host:signature", signature_fault(h, view, message));
	check(h, "external_host:binding",
		*member_text(receipt, "signed_payload_b64")
			? "no checker binds the signed payload to this receipt"
			: NULL);
	check(h, "external_host:hardware_root",
		claims_hardware(receipt) ? "a hardware root is claimed and no quote verifier exists" : NULL);
	if (i > 0)
		buf_addc(&h->hashes, '\n');
	buf_adds(&h->hashes, hash);
	h->previous_hash = hash;
}

/* The first usable key the chain carries. */
static void find_chain_key(struct host *h)
{
	json_each (key, json_get(h->chain, "public_keys")) {
		const char *algorithm = member_text(key, "algorithm");
		if ((!*algorithm || strcasecmp(algorithm, "ed25519") == 0) &&
			trust_parse_key(member_text(key, "public_key_hex"), h->chain_key)) {
			h->has_chain_key = true;
			return;
		}
	}
}

/* The chain hash is over the recomputed hashes of all receipts, joined by newlines. */
static void check_chain(struct host *h, const struct json *receipts)
{
	const char *stored = member_text(h->chain, "receipt_chain_hash");

	find_chain_key(h);
	if (h->v->trust->key_count == 0 && !h->has_chain_key)
		check(h, "external_host:public_key", "no key was given and the chain carries none");
	for (size_t i = 0; i < receipts->n; i++)
		check_receipt(h, receipts->items[i], i);
	char *hash = preimage_prefixed(h->v->a, buf_bytes(&h->hashes));
	verify_value(h->v, "chain_hash", hash);
	if (*stored)
		check(h, "external_host:chain_hash",
			text_eq(stored, hash) ? NULL : "receipt_chain_hash is not over the receipts' hashes");
}

/* A document is a chain, a bare list, or a single receipt. */
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

/* Any failed check refutes the evidence: it is only worth something as a whole. */
void verify_host_evidence(struct verification *v, const struct json *doc)
{
	struct host h = { .v = v, .chain = doc, .previous_hash = "", .failed = json_new(v->a, JSON_ARRAY) };
	const struct json *receipts = receipts_of(v->a, doc);

	buf_init(&h.hashes, v->a);
	if (!json_is(receipts, JSON_ARRAY) || receipts->n == 0)
		check(&h, "external_host:receipts", "the chain holds no receipts");
	else
		check_chain(&h, receipts);
	json_set(v->a, v->values, "failed_checks", h.failed);
	if (v->error) {
		v->integrity = ANSWER_NO;
		return;
	}
	v->integrity = ANSWER_YES;
	v->trusted = h.is_untrusted ? ANSWER_UNKNOWN : ANSWER_YES;
	v->is_self_attested = h.is_untrusted;
}

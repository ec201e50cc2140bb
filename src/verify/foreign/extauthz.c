/* extauthz.c — external authorization: request and response on the wire between a gateway and the kernel.
 *
 * The shape decides much: permit material stands in an ALLOW only, and nothing of a finished effect may
 * stand in an answer given before dispatch.  The schema is the one that is published with the program, so
 * shape is judged here exactly as others can judge it. */
#include "base/embed.h"
#include "base/schema.h"
#include "proof/preimage.h"
#include "verify/parts.h"

#include <string.h>

/* A schema that is missing or does not compile is a fault of this program, not of the document. */
static bool check_shape(struct verification *v, const struct json *document)
{
	struct err e = { 0 };
	struct json *source;
	struct schema *schema;
	struct bytes text;

	verify_value(v, "layer", "schema");
	if (!embed_find("schemas/extauthz.schema.json", &text))
		BUG("schemas/extauthz.schema.json is not embedded");
	if (json_parse(v->a, text, "schemas/extauthz.schema.json", NULL, &source, &e) ||
		schema_compile(v->a, source, "extauthz", &schema, &e))
		BUG(e.text);
	return schema_check(schema, document, &e) == OK || verify_refute_err(v, &e);
}

bool verify_extauthz_shape(struct verification *v, const struct json *document)
{
	return check_shape(v, document);
}

/* Hash and signature cover the response with both members empty.  The schema has already required a
 * well-formed signature. */
void verify_extauthz(struct verification *v, const struct json *document)
{
	const struct json *response = json_get(document, "response");
	struct json *view;
	uint8_t signature[SIGNATURE_SIZE];
	struct err e = { 0 };
	struct bytes text;

	if (!check_shape(v, document))
		return;
	view = json_copy(v->a, response);
	json_sets(v->a, view, "kernel_verdict_hash", "");
	json_sets(v->a, view, "kernel_verdict_signature", "");
	if (sealed_preimage(v->a, view, NULL, &text, &e)) {
		(void)verify_refute_err(v, &e);
		return;
	}
	char *hash = preimage_hex(v->a, text);
	verify_value(v, "kernel_verdict_hash", hash);
	if (!text_eq(hash, member_text(response, "kernel_verdict_hash"))) {
		verify_at(v, "response", "kernel_verdict_hash", hash,
			member_text(response, "kernel_verdict_hash"));
		(void)verify_refute(
			v, "hash_mismatch", "kernel_verdict_hash is not the hash of the response");
		return;
	}
	if (parse_signature(member_text(response, "kernel_verdict_signature"), signature) &&
		verify_signature(v, text, signature, NULL, member_text(response, "signing_key_ref"),
			"signature_rejected"))
		(void)verify_key_window(v, member_text(response, "kernel_verdict_issued_at"));
}

/* base.c — handlers of the families that need no record: canonical JSON, Ed25519, identifiers.
 *
 * Other implementations publish inputs with the answers they expect.  These handlers ask the same
 * functions that sign and verify, so a passing case is a statement about the program and not about a copy
 * of its rules. */
#include "audit/conform/conform.h"

#include "base/hash.h"
#include "model/identifier.h"
#include "proof/preimage.h"
#include "proof/sign.h"

#include <string.h>

/* "interoperable" says whether the strict writer accepts the value as well. */
static void add_canonical(struct conform_case *c, const struct json *value)
{
	struct buf b, strict;

	buf_init(&b, c->a);
	buf_init(&strict, c->a);
	json_canonical(&b, value);
	json_sets(c->a, c->got, "result", "value");
	json_set(c->a, c->got, "canonical", json_stringn(c->a, b.p, b.n));
	json_sets(c->a, c->got, "sha256", sha256_hex(c->a, b.p, b.n));
	json_setb(c->a, c->got, "interoperable", json_canonical_strict(&strict, value, NULL) == OK);
}

/* A case is a document with the input as text, or (".bin") the input itself.  Published ones state their
 * answer beside the input; those members are expected as well. */
int conform_canonical_json(struct conform_case *c, struct err *e)
{
	static const char *const stated[] = { "canonical", "sha256", "interoperable" };
	const char *name = json_text(json_at(c->files, 0));
	const struct json *input = json_get(c->doc, "input_text");
	struct bytes text = c->text;
	struct json *value;

	(void)e;
	if (!input)
		input = json_get(c->doc, "input");
	if (name && text_ends(name, ".json") && json_is(input, JSON_STRING)) {
		text = (struct bytes){ (const uint8_t *)input->text, input->n };
		for (size_t i = 0; i < ARRAY_SIZE(stated); i++)
			if (json_get(c->doc, stated[i]))
				json_set(c->a, c->also_expect, stated[i], json_get(c->doc, stated[i]));
	}
	if (json_parse(c->a, text, c->id, NULL, &value, NULL))
		conform_result(c, false);
	else
		add_canonical(c, value);
	return OK;
}

/* Nothing when the text is not hex; a check of the length then refuses it. */
static struct bytes hex_bytes(struct arena *a, const char *hex)
{
	size_t n = strlen(hex) / 2;
	uint8_t *p = arena_alloc(a, n + 1);

	return hex_decode(hex, strlen(hex), p, n, false) ? (struct bytes){ p, n } : (struct bytes){ NULL, 0 };
}

/* Wrong lengths are a rejected signature, not an error of the case. */
int conform_ed25519(struct conform_case *c, struct err *e)
{
	struct bytes key = hex_bytes(c->a, json_get_text(c->doc, "public_key", ""));
	struct bytes message = hex_bytes(c->a, json_get_text(c->doc, "message_hex", ""));
	struct bytes signature = hex_bytes(c->a, json_get_text(c->doc, "signature", ""));

	(void)e;
	conform_result(c, key.n == 32 && signature.n == 64 && sign_verify(key.p, message, signature.p));
	return OK;
}

/* The hash of a policy bundle, and the text it is made of. */
static int bundle_case(struct conform_case *c, struct err *e)
{
	struct bytes text;

	if (bundle_preimage(c->a, json_get(c->doc, "bundle"), &text, e))
		return e->rc;
	json_sets(c->a, c->got, "result", "value");
	json_sets(c->a, c->got, "hash", preimage_hex(c->a, text));
	json_set(c->a, c->got, "hashed_text", json_stringn(c->a, (const char *)text.p, text.n));
	return OK;
}

static int receipt_id_case(struct conform_case *c)
{
	const char *text;
	char *id = receipt_tenant_id(
		c->a, json_get_text(c->doc, "tenant", ""), json_get_text(c->doc, "decision_id", ""), &text);

	json_sets(c->a, c->got, "result", "value");
	json_sets(c->a, c->got, "receipt_id", id);
	json_sets(c->a, c->got, "hashed_text", text);
	return OK;
}

/* The case's members tell which identifier is asked about. */
int conform_identifiers(struct conform_case *c, struct err *e)
{
	if (json_get(c->doc, "bundle"))
		return bundle_case(c, e);
	if (json_get(c->doc, "tenant"))
		return receipt_id_case(c);
	if (!json_get(c->doc, "urn"))
		return err_set(e, E_INPUT, "CONFORM_CASE", "neither urn, bundle nor tenant in the case");
	conform_result(c, urn_is_valid(json_get_text(c->doc, "urn", "")));
	return OK;
}

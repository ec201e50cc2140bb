/* sdjwt.c — checking selective disclosures; see sdjwt.h.
 *
 * The form is header.payload.signature~disclosure~disclosure~, all in base64url.  The payload lists the
 * digests of claims that may be shown; a disclosure is [salt, name, value].  The order of the checks is:
 * size, form, header, signature, payload, disclosures.  Nothing of the payload is looked at before its
 * signature holds. */
#include "proof/sdjwt.h"

#include "base/hash.h"

static const char *const reserved[] = { "_sd", "_sd_alg", "iss", "..." };

/* Names that have a meaning in the format itself: a disclosure must not be able to set them. */
static bool is_reserved(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++)
		if (text_eq(name, reserved[i]))
			return true;
	return false;
}

static int bad(struct err *e, const char *code, const char *why)
{
	return err_set(e, E_INPUT, code, "the presentation is refused: %s", why);
}

/* One part, from base64url to JSON.  Padding is refused: one document has one spelling. */
static int decode_json(struct arena *a, struct bytes part, const char *name, struct json **ret, struct err *e)
{
	struct err why = { 0 };
	struct bytes text;

	if (!base64_decode(a, (const char *)part.p, part.n, BASE64_URL, false, &text))
		return err_set(
			e, E_INPUT, "SDJWT_FORM", "the presentation is refused: %s is not base64url", name);
	if (json_parse(a, text, name, NULL, ret, &why))
		return err_set(e, E_INPUT, "SDJWT_FORM", "the presentation is refused: %s", why.text);
	return OK;
}

/* <header>.<payload>.<signature>; `message` is what is signed: the first two with the dot between them. */
struct parts {
	struct bytes header, payload, signature, message;
};

/* Exactly three parts, none of them empty. */
static bool split(struct bytes jwt, struct parts *p)
{
	struct bytes rest = jwt;

	p->header = text_cut(&rest, '.');
	if (!rest.p)
		return false;
	p->payload = text_cut(&rest, '.');
	if (!rest.p)
		return false;
	p->signature = rest;
	p->message = (struct bytes){ jwt.p, p->header.n + 1 + p->payload.n };
	return p->header.n && p->payload.n && p->signature.n && !memchr(rest.p, '.', rest.n);
}

/* The algorithm is fixed here and not taken from the header: a header could say "none".  An extension that
 * is marked as critical must be understood or the document refused; none is known here. */
static int check_header(struct arena *a, struct bytes part, struct err *e)
{
	struct json *header;
	int rc;

	if ((rc = decode_json(a, part, "header", &header, e)))
		return rc;
	if (!text_eq(json_get_text(header, "alg", ""), "EdDSA"))
		return bad(e, "SDJWT_ALGORITHM", "its algorithm is not EdDSA");
	if (!text_eq(json_get_text(header, "typ", ""), "sd+jwt"))
		return bad(e, "SDJWT_FORM", "its type is not sd+jwt");
	if (json_get(header, "crit"))
		return bad(e, "SDJWT_FORM", "it has critical header parameters that are not understood");
	return OK;
}

static int check_payload(struct arena *a, struct bytes part, struct json **ret, struct err *e)
{
	struct json *payload;
	const struct json *digests;
	int rc;

	if ((rc = decode_json(a, part, "payload", &payload, e)))
		return rc;
	digests = json_get(payload, "_sd");
	if (!json_is(payload, JSON_OBJECT))
		return bad(e, "SDJWT_FORM", "its payload is not an object");
	if (!text_eq(json_get_text(payload, "_sd_alg", ""), "sha-256"))
		return bad(e, "SDJWT_ALGORITHM", "its digest algorithm is not sha-256");
	if (digests && (!json_is(digests, JSON_ARRAY) || digests->n > SDJWT_MAX_DISCLOSURES))
		return bad(e, "SDJWT_FORM", "its digests are not a list of reasonable length");
	*ret = payload;
	return OK;
}

static int check_signature(
	struct arena *a, const struct parts *p, const uint8_t issuer[SIGN_PUBLIC], struct err *e)
{
	struct bytes sig;

	if (!base64_decode(a, (const char *)p->signature.p, p->signature.n, BASE64_URL, false, &sig) ||
		sig.n != SIGN_SIZE)
		return bad(e, "SDJWT_SIGNATURE", "its signature is not 64 bytes of base64url");
	if (!sign_verify(issuer, p->message, sig.p))
		return bad(e, "SDJWT_SIGNATURE", "its signature is not by the given issuer");
	return OK;
}

/* How often the payload promises a digest.  Anything but once is refused by the caller: a digest that
 * stands twice makes it unclear which place is meant. */
static size_t count_digest(const struct json *payload, const char *digest)
{
	size_t n = 0;

	json_each (d, json_get(payload, "_sd")) {
		const char *text = json_text(d);
		n += text && text_eq(text, digest);
	}
	return n;
}

/* Adds one disclosed claim.  It must be promised by exactly one digest and must not replace a claim that
 * is open or was disclosed before. */
static int take_disclosure(
	struct arena *a, const struct json *payload, struct bytes part, struct json *claims, struct err *e)
{
	const char *encoded = arena_strndup(a, (const char *)part.p, part.n);
	const char *name;
	struct json *list;
	int rc;

	if ((rc = decode_json(a, part, "disclosure", &list, e)))
		return rc;
	name = json_text(json_at(list, 1));
	if (!json_is(list, JSON_ARRAY) || list->n != 3 || !json_is(json_at(list, 0), JSON_STRING) || !name)
		return bad(e, "SDJWT_DISCLOSURE", "a disclosure is not [salt, name, value]");
	if (count_digest(payload, sdjwt_digest(a, encoded)) != 1)
		return bad(e, "SDJWT_DISCLOSURE", "a disclosure is not among those the issuer signed");
	if (is_reserved(name) || json_get(claims, name))
		return bad(e, "SDJWT_DISCLOSURE", "a disclosure repeats or replaces a claim");
	json_set(a, claims, name, json_at(list, 2));
	return OK;
}

/* The claims the issuer left readable for everybody. */
static struct json *open_claims(struct arena *a, const struct json *payload)
{
	struct json *claims = json_new(a, JSON_OBJECT);

	json_each_member (m, payload) {
		if (!is_reserved(m->name))
			json_set(a, claims, m->name, m->value);
	}
	return claims;
}

/* *ret_claims is set only when every disclosure holds: one bad disclosure refuses the whole presentation. */
int sdjwt_verify(struct arena *a, struct bytes presentation, const uint8_t issuer[SIGN_PUBLIC],
	struct json **ret_claims, struct err *e)
{
	struct bytes rest = presentation, jwt;
	struct json *payload, *claims;
	struct parts p;
	size_t shown = 0;
	int rc;

	if (presentation.n > SDJWT_MAX_BYTES)
		return err_set(e, E_LIMIT, "SDJWT_FORM", "the presentation is larger than 1 MiB");
	jwt = text_cut(&rest, '~');
	if (!rest.p || presentation.p[presentation.n - 1] != '~')
		return bad(e, "SDJWT_FORM", "it does not end in '~'");
	if (!split(jwt, &p))
		return bad(e, "SDJWT_FORM", "it is not header.payload.signature");
	if ((rc = check_header(a, p.header, e)) || (rc = check_signature(a, &p, issuer, e)) ||
		(rc = check_payload(a, p.payload, &payload, e)))
		return rc;
	claims = open_claims(a, payload);
	while (rest.n) {
		struct bytes part = text_cut(&rest, '~');
		if (++shown > SDJWT_MAX_DISCLOSURES)
			return bad(e, "SDJWT_FORM", "it has too many disclosures");
		if ((rc = take_disclosure(a, payload, part, claims, e)))
			return rc;
	}
	*ret_claims = claims;
	return OK;
}

char *sdjwt_digest(struct arena *a, const char *disclosure)
{
	uint8_t digest[SHA256_SIZE];

	sha256(disclosure, strlen(disclosure), digest);
	return base64_encode(a, digest, sizeof(digest), BASE64_URL, false);
}

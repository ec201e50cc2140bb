/* webauthn.c — what authenticators say, read strictly.
 *
 * CBOR as CTAP2 has it: definite lengths, each number in its shortest form, at most a few levels deep. */
#include "proof/webauthn.h"

#include "base/json.h"
#include "base/text.h"
#include "proof/sign.h"

#include <string.h>

enum {
	FLAG_PRESENT = 0x01,
	FLAG_VERIFIED = 0x04,
	FLAG_ELIGIBLE = 0x08,
	FLAG_BACKED_UP = 0x10,
	FLAG_KEY = 0x40,
	FLAG_EXTENSIONS = 0x80,
	FLAGS_KNOWN = 0xDD
};
enum { HEAD_BYTES = 37, AAGUID = 16, CBOR_DEEP = 6, CBOR_MANY = 256 };

/* ---- CBOR ---- */

enum cbor_major {
	CBOR_UINT,
	CBOR_NEGATIVE,
	CBOR_BYTES,
	CBOR_TEXT,
	CBOR_ARRAY,
	CBOR_MAP,
	CBOR_TAG,
	CBOR_SIMPLE
};
struct cbor {
	const uint8_t *p, *end;
};

/* The head of one item: its kind and its number.  A number has one spelling. */
static bool cbor_head(struct cbor *c, enum cbor_major *ret, uint64_t *ret_n)
{
	static const uint64_t least[] = { 24, 0x100, 0x10000, 0x100000000 };

	if (c->p == c->end)
		return false;
	uint8_t first = *c->p++, low = first & 31;
	size_t n = low < 24 ? 0 : low < 28 ? (size_t)1 << (low - 24) : 9;
	uint64_t value = n ? 0 : low;
	if (n > 8 || (size_t)(c->end - c->p) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		value = value << 8 | *c->p++;
	*ret = (enum cbor_major)(first >> 5);
	*ret_n = value;
	return !n || *ret == CBOR_SIMPLE || value >= least[low - 24];
}

static bool cbor_is(struct cbor *c, enum cbor_major want, uint64_t *ret_n)
{
	enum cbor_major got;

	return cbor_head(c, &got, ret_n) && got == want;
}

/* Bytes or text. */
static bool cbor_string(struct cbor *c, enum cbor_major want, struct bytes *ret)
{
	uint64_t n;

	if (!cbor_is(c, want, &n) || n > (size_t)(c->end - c->p))
		return false;
	*ret = (struct bytes){ c->p, (size_t)n };
	c->p += n;
	return true;
}

/* -24..23 and a little more: what keys of COSE are named and numbered with. */
static bool cbor_small(struct cbor *c, int *ret)
{
	enum cbor_major kind;
	uint64_t n;

	if (!cbor_head(c, &kind, &n) || n > 1000 || (kind != CBOR_UINT && kind != CBOR_NEGATIVE))
		return false;
	*ret = kind == CBOR_UINT ? (int)n : -1 - (int)n;
	return true;
}

/* Over one item, whatever it is. */
static bool cbor_skip(struct cbor *c, int deep)
{
	enum cbor_major kind;
	uint64_t n;

	if (deep == CBOR_DEEP || !cbor_head(c, &kind, &n))
		return false;
	if (kind == CBOR_BYTES || kind == CBOR_TEXT) {
		if (n > (size_t)(c->end - c->p))
			return false;
		c->p += n;
		return true;
	}
	if (kind == CBOR_TAG)
		return false;
	if (kind != CBOR_ARRAY && kind != CBOR_MAP)
		return true;
	if (n > CBOR_MANY)
		return false;
	for (uint64_t i = 0; i < n * (kind == CBOR_MAP ? 2 : 1); i++)
		if (!cbor_skip(c, deep + 1))
			return false;
	return true;
}

/* ---- keys ---- */

static bool coordinate(struct cbor *c, uint8_t to[32])
{
	struct bytes b;

	if (!cbor_string(c, CBOR_BYTES, &b) || b.n != 32)
		return false;
	memcpy(to, b.p, 32);
	return true;
}

static bool named(struct cbor *c, int name, int value)
{
	int x, y;

	return cbor_small(c, &x) && x == name && cbor_small(c, &y) && y == value;
}

/* {1: kty, 3: alg, -1: crv, -2: x, -3: y}, in this order, and nothing else. */
static bool read_key(struct cbor *c, struct webauthn_key *ret)
{
	struct cbor start = *c;
	uint64_t n;
	int x;

	*ret = (struct webauthn_key){ .algorithm = WEBAUTHN_ED25519 };
	if (cbor_is(c, CBOR_MAP, &n) && n == 4)
		return named(c, 1, 1) && named(c, 3, -8) && named(c, -1, 6) && cbor_small(c, &x) && x == -2 &&
			coordinate(c, ret->x);
	*c = start;
	ret->algorithm = WEBAUTHN_ES256;
	return cbor_is(c, CBOR_MAP, &n) && n == 5 && named(c, 1, 2) && named(c, 3, -7) && named(c, -1, 1) &&
		cbor_small(c, &x) && x == -2 && coordinate(c, ret->x) && cbor_small(c, &x) && x == -3 &&
		coordinate(c, ret->y);
}

/* ---- what the browser says ---- */

static int wrong(struct err *e, const char *code, const char *text)
{
	return err_set(e, code[9] == 'F' ? E_INPUT : E_DENIED, code, "%s", text);
}

static int check_client(
	struct arena *a, const struct webauthn_wanted *w, struct bytes text, const char *type, struct err *e)
{
	struct json *doc;

	if (text.n > WEBAUTHN_LIMIT || json_parse(a, text, "clientDataJSON", NULL, &doc, NULL) ||
		!json_is(doc, JSON_OBJECT))
		return wrong(
			e, "WEBAUTHN_FORMAT", "what the browser says about the signature cannot be read");
	if (!text_eq(json_get_text(doc, "type", ""), type))
		return wrong(e, "WEBAUTHN_TYPE", "this was not signed for that: its type is another one");
	if (!text_eq(json_get_text(doc, "challenge", ""),
		    base64_encode(a, w->challenge, sizeof(w->challenge), BASE64_URL, false)))
		return wrong(e, "WEBAUTHN_CHALLENGE", "something else was signed than what is to be done");
	if (!text_eq(json_get_text(doc, "origin", ""), w->origin) ||
		json_is(json_get(doc, "crossOrigin"), JSON_TRUE) || json_get(doc, "topOrigin"))
		return wrong(e, "WEBAUTHN_ORIGIN", "it was signed for a page of another origin");
	return OK;
}

/* ---- what the authenticator says ---- */

struct authenticator {
	uint8_t flags;
	uint32_t counter;
	struct cbor rest; /* behind the head */
};

static int read_authenticator(
	const struct webauthn_wanted *w, struct bytes data, struct authenticator *ret, struct err *e)
{
	uint8_t rp[SHA256_SIZE];

	if (data.n < HEAD_BYTES || data.n > WEBAUTHN_LIMIT)
		return wrong(e, "WEBAUTHN_FORMAT", "what the authenticator says cannot be read");
	sha256(w->rp_id, strlen(w->rp_id), rp);
	if (memcmp(rp, data.p, sizeof(rp)) != 0)
		return wrong(e, "WEBAUTHN_RP", "the key was used for another name than this one");
	const uint8_t *p = data.p + sizeof(rp);
	*ret = (struct authenticator){ .flags = p[0],
		.counter = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4],
		.rest = { data.p + HEAD_BYTES, data.p + data.n } };
	if (ret->flags & ~FLAGS_KNOWN || (ret->flags & FLAG_BACKED_UP && !(ret->flags & FLAG_ELIGIBLE)))
		return wrong(e, "WEBAUTHN_FORMAT", "the authenticator's flags cannot be understood");
	if (!(ret->flags & FLAG_PRESENT))
		return wrong(e, "WEBAUTHN_PRESENCE", "nobody has touched the key");
	if (!(ret->flags & FLAG_VERIFIED))
		return wrong(e, "WEBAUTHN_PRESENCE",
			"the key has not asked who touches it: a PIN, a finger or a face is needed");
	return OK;
}

/* One map, and nothing behind it, where the flags say so; otherwise nothing. */
static bool ends_well(struct authenticator *x)
{
	enum cbor_major kind;
	uint64_t n;
	struct cbor look = x->rest;

	if (x->flags & FLAG_EXTENSIONS &&
		(!cbor_head(&look, &kind, &n) || kind != CBOR_MAP || !cbor_skip(&x->rest, 0)))
		return false;
	return x->rest.p == x->rest.end;
}

/* {"fmt": text, "attStmt": map, "authData": bytes}. */
static bool read_attestation(struct bytes object, struct bytes *ret)
{
	struct cbor c = { object.p, object.p + object.n };
	struct bytes name, text;
	uint64_t n;

	return object.n && object.n <= WEBAUTHN_LIMIT && cbor_is(&c, CBOR_MAP, &n) && n == 3 &&
		cbor_string(&c, CBOR_TEXT, &name) && bytes_is(name, "fmt") &&
		cbor_string(&c, CBOR_TEXT, &text) && cbor_string(&c, CBOR_TEXT, &name) &&
		bytes_is(name, "attStmt") && cbor_skip(&c, 0) && cbor_string(&c, CBOR_TEXT, &name) &&
		bytes_is(name, "authData") && cbor_string(&c, CBOR_BYTES, ret) && c.p == c.end;
}

int webauthn_register(struct arena *a, const struct webauthn_wanted *w, struct bytes client_data,
	struct bytes attestation_object, struct webauthn_made *ret, struct err *e)
{
	struct authenticator x;
	struct bytes data;
	int rc = check_client(a, w, client_data, "webauthn.create", e);

	if (rc)
		return rc;
	if (!read_attestation(attestation_object, &data))
		return wrong(e, "WEBAUTHN_FORMAT", "what the authenticator made cannot be read");
	rc = read_authenticator(w, data, &x, e);
	if (rc)
		return rc;
	size_t left = (size_t)(x.rest.end - x.rest.p);
	if (!(x.flags & FLAG_KEY) || left < AAGUID + 2)
		return wrong(e, "WEBAUTHN_FORMAT", "the authenticator made no key");
	size_t n = (size_t)x.rest.p[AAGUID] << 8 | x.rest.p[AAGUID + 1];
	if (!n || n > CREDENTIAL_LIMIT || left < AAGUID + 2 + n)
		return wrong(e, "WEBAUTHN_FORMAT", "the name of the key cannot be read");
	*ret = (struct webauthn_made){ .credential_id = { x.rest.p + AAGUID + 2, n }, .counter = x.counter };
	x.rest.p += AAGUID + 2 + n;
	if (!read_key(&x.rest, &ret->key))
		return wrong(e, "WEBAUTHN_KEY", "only Ed25519 and ES256 keys are taken");
	return ends_well(&x) ? OK : wrong(e, "WEBAUTHN_FORMAT", "something is left over behind the key");
}

static bool holds(
	const struct webauthn_key *key, struct bytes message, struct bytes signature, webauthn_es256 *es256)
{
	if (key->algorithm == WEBAUTHN_ED25519)
		return signature.n == SIGN_SIZE && sign_verify(key->x, message, signature.p);
	return key->algorithm == WEBAUTHN_ES256 && es256 && es256(key, message, signature);
}

int webauthn_check(struct arena *a, const struct webauthn_wanted *w, const struct webauthn_key *key,
	const struct webauthn_signed *given, webauthn_es256 *es256, uint32_t *ret_counter, struct err *e)
{
	struct authenticator x;
	struct buf message;
	uint8_t digest[SHA256_SIZE];
	int rc = check_client(a, w, given->client_data, "webauthn.get", e);

	if (rc == OK)
		rc = read_authenticator(w, given->authenticator_data, &x, e);
	if (rc)
		return rc;
	if (x.flags & FLAG_KEY || !ends_well(&x))
		return wrong(e, "WEBAUTHN_FORMAT", "something is left over in what the authenticator says");
	if (key->algorithm == WEBAUTHN_ES256 && !es256)
		return wrong(e, "WEBAUTHN_KEY",
			"an ES256 key is checked by helm-serve; this program checks Ed25519 only");
	sha256(given->client_data.p, given->client_data.n, digest);
	buf_init(&message, a);
	buf_add(&message, given->authenticator_data.p, given->authenticator_data.n);
	buf_add(&message, digest, sizeof(digest));
	if (!holds(key, buf_bytes(&message), given->signature, es256))
		return wrong(e, "WEBAUTHN_INVALID", "the signature does not hold");
	*ret_counter = x.counter;
	return OK;
}

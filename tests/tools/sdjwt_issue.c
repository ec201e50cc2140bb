/* sdjwt_issue.c — see sdjwt_issue.h. */
#include "tools/sdjwt_issue.h"

#include "base/hash.h"
#include "base/text.h"

#include <string.h>

char *sdjwt_disclosure(struct arena *a, const struct sdjwt_claim *claim)
{
	struct json *list = json_new(a, JSON_ARRAY);
	struct buf b;

	json_pushs(a, list, claim->salt);
	json_pushs(a, list, claim->name);
	json_push(a, list, json_copy(a, claim->value));
	buf_init(&b, a);
	json_write(&b, list, 0);
	return base64_encode(a, (const uint8_t *)b.p, b.n, BASE64_URL, false);
}

static int by_text(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static bool is_reserved(const char *name)
{
	return text_eq(name, "_sd") || text_eq(name, "_sd_alg") || text_eq(name, "iss") ||
		text_eq(name, "...");
}

static int bad(struct err *e, const char *code, const char *why)
{
	return err_set(e, E_INPUT, code, "not issued: %s", why);
}

static int check_hidden(const struct json *open, const struct sdjwt_claim *hidden, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		if (is_reserved(hidden[i].name) || json_get(open, hidden[i].name))
			return bad(e, "SDJWT_DISCLOSURE", "a hidden claim has the name of an open one");
		for (size_t j = 0; j < i; j++)
			if (text_eq(hidden[i].name, hidden[j].name))
				return bad(e, "SDJWT_DISCLOSURE", "two hidden claims have the same name");
	}
	return OK;
}

static char *encode_json(struct arena *a, const struct json *v)
{
	struct buf b;

	buf_init(&b, a);
	json_canonical(&b, v);
	return base64_encode(a, (const uint8_t *)b.p, b.n, BASE64_URL, false);
}

int sdjwt_issue(struct arena *a, const struct json *open, const char *issuer_name,
	const struct sdjwt_claim *hidden, size_t hidden_n, const struct key *k, char **ret_presentation,
	struct err *e)
{
	char **digests = arena_zalloc(a, hidden_n + 1, sizeof(*digests));
	struct json *payload = json_copy(a, open), *list = json_new(a, JSON_ARRAY);
	uint8_t sig[SIGN_SIZE];
	struct buf b, shown;
	int rc = check_hidden(open, hidden, hidden_n, e);

	if (rc)
		return rc;
	buf_init(&b, a);
	buf_init(&shown, a);
	for (size_t i = 0; i < hidden_n; i++) {
		char *disclosure = sdjwt_disclosure(a, &hidden[i]);
		digests[i] = sdjwt_digest(a, disclosure);
		buf_addf(&shown, "%s~", disclosure);
	}
	qsort(digests, hidden_n, sizeof(*digests), by_text);
	for (size_t i = 0; i < hidden_n; i++)
		json_pushs(a, list, digests[i]);
	json_set(a, payload, "_sd", list);
	json_sets(a, payload, "_sd_alg", "sha-256");
	json_sets(a, payload, "iss", issuer_name);
	buf_addf(&b, "eyJhbGciOiJFZERTQSIsInR5cCI6InNkK2p3dCJ9.%s", encode_json(a, payload));
	key_sign(k, buf_bytes(&b), sig);
	buf_addf(&b, ".%s~%s", base64_encode(a, sig, sizeof(sig), BASE64_URL, false), shown.p);
	*ret_presentation = b.p;
	return OK;
}

static const char *disclosed_name(struct arena *a, struct bytes part)
{
	struct json *list;
	struct bytes text;

	if (!base64_decode(a, (const char *)part.p, part.n, BASE64_URL, false, &text) ||
		json_parse(a, text, "disclosure", NULL, &list, NULL))
		return NULL;
	return json_text(json_at(list, 1));
}

int sdjwt_present(struct arena *a, const char *issued, const char *const *names, size_t names_n,
	char **ret_presentation, struct err *e)
{
	struct bytes rest = bytes_of(issued), jwt = text_cut(&rest, '~');
	size_t found = 0;
	struct buf b;

	buf_init(&b, a);
	buf_add(&b, jwt.p, jwt.n);
	buf_addc(&b, '~');
	while (rest.n) {
		struct bytes part = text_cut(&rest, '~');
		const char *name = disclosed_name(a, part);
		for (size_t i = 0; name && i < names_n; i++)
			if (text_eq(names[i], name)) {
				buf_add(&b, part.p, part.n);
				buf_addc(&b, '~');
				found++;
				break;
			}
	}
	if (found != names_n)
		return err_set(
			e, E_MISSING, "SDJWT_DISCLOSURE", "not every claim asked for can be disclosed");
	*ret_presentation = b.p;
	return OK;
}

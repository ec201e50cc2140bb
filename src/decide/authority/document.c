/* document.c — documents from outside, and what gates read of them; see authority.h. */
#include "decide/authority/parts.h"

#include "base/embed.h"
#include "base/hash.h"
#include "base/schema.h"
#include "proof/preimage.h"
#include "proof/sign.h"

#include <string.h>
#include <strings.h>

/* Schemas are part of the program: one that is not there, or does not compile, is a mistake of ours. */
int authority_document(struct arena *a, const char *name, const struct json *doc, struct err *e)
{
	struct schema *schema;
	struct json *source;
	struct bytes text;

	if (!embed_find(arena_printf(a, "schemas/%s.schema.json", name), &text))
		BUG("no such schema");
	if (json_parse(a, text, name, NULL, &source, NULL) || schema_compile(a, source, name, &schema, NULL))
		BUG("a schema of ours is none");
	return schema_check(schema, doc, e);
}

int authority_sections(struct arena *a, const struct json *policy, struct err *e)
{
	static const struct {
		const char *name;
		int (*check)(struct arena *a, const struct json *section,
			struct err *e); /* beyond its schema; or NULL */
	} rows[] = { { "egress", NULL }, { "mcp", NULL }, { "privilege", NULL }, { "taint", NULL },
		{ "threat", NULL }, { "delegation", delegation_section },
		{ "capability", capability_section } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct json *section = json_get(policy, rows[i].name);
		if (!section)
			continue;
		struct json *alone = json_new(a, JSON_OBJECT);
		json_set(a, alone, rows[i].name, json_copy(a, section));
		if (authority_document(a, "policy-authority", alone, e))
			return err_set(e, E_INPUT, "POLICY_DOCUMENT", "policy: section \"%s\" %s",
				rows[i].name, arena_strdup(a, e->text));
		if (rows[i].check && rows[i].check(a, section, e))
			return e->rc;
	}
	return OK;
}

bool texts_have(const struct json *list, const char *text)
{
	json_each (item, list)
		if (json_text(item) && text_eq(json_text(item), text))
			return true;
	return false;
}

bool texts_have_caseless(const struct json *list, const char *text)
{
	json_each (item, list)
		if (json_text(item) && strcasecmp(json_text(item), text) == 0)
			return true;
	return false;
}

bool member_time(const struct json *doc, const char *name, int64_t *ret_us)
{
	const char *text = json_get_text(doc, name, "");

	return text_parse_time(text, strlen(text), ret_us);
}

int64_t checked_time(const struct json *doc, const char *name)
{
	int64_t us;

	if (!member_time(doc, name, &us))
		BUG("a schema let pass what is no time");
	return us;
}

char *hash_without(struct arena *a, const struct json *doc, const char *without)
{
	struct bytes text;

	return sealed_preimage(a, doc, without, &text, NULL) ? NULL : preimage_prefixed(a, text);
}

static bool read_hex(const char *text, uint8_t *to, size_t n)
{
	const char *digits = text_starts(text, "ed25519:") ? text + strlen("ed25519:") : text;

	return hex_decode(digits, strlen(digits), to, n, true);
}

bool signature_holds(const char *public_key, struct bytes message, const char *signature)
{
	uint8_t pub[SIGN_PUBLIC], sig[SIGN_SIZE];

	return read_hex(public_key, pub, sizeof(pub)) && read_hex(signature, sig, sizeof(sig)) &&
		sign_verify(pub, message, sig);
}

const struct json *section_of(const struct judging *j, const char *name)
{
	return json_get(j->document, name);
}

const char *who_asks(const struct judging *j)
{
	return j->facts->principal ? j->facts->principal : j->ask->principal;
}

const char *once_key(struct judging *j, const char *kind, const char *name)
{
	return arena_printf(j->a, "%s:%zu:%s", kind, strlen(name), name);
}

/* What is bound so far belongs to this judging: it may grow. */
void bind_text(struct judging *j, struct gate_answer *ret, const char *name, const char *value)
{
	struct json *bound = ret->bound ? json_copy(j->a, ret->bound) : json_new(j->a, JSON_OBJECT);

	json_sets(j->a, bound, name, value);
	ret->bound = bound;
}

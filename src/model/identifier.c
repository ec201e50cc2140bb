/* identifier.c — names of things across systems: urn:helm:TYPE:IDENTIFIER; see identifier.h.
 *
 * The types are a closed list. For some of them the identifier is the hash of the thing itself, and then
 * it must be a whole SHA-256 in lower-case hex: two spellings of one hash would be two names of one thing. */
#include "model/identifier.h"

#include "base/hash.h"
#include "base/text.h"

static const char PREFIX[] = "urn:helm:";
enum { PREFIX_N = sizeof(PREFIX) - 1 };

static const struct {
	const char *name;
	bool is_hash; /* the identifier is the content's hash */
} types[] = {
	{ "bundle", false },
	{ "bundle-hash", true },
	{ "decision", true },
	{ "effect", false },
	{ "effect-digest", true },
	{ "key", false },
	{ "pack", false },
	{ "pgnode", true },
	{ "principal", false },
	{ "receipt", true },
	{ "session", false },
};

/* Letters that need no quoting in paths, shells and addresses. */
static bool is_identifier(const char *s)
{
	size_t n = strlen(s);

	return n >= 1 && n <= 255 &&
		strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

static bool is_hash(const char *s)
{
	uint8_t hash[SHA256_SIZE];

	return hex_decode(s, strlen(s), hash, sizeof(hash), true);
}

bool urn_is_valid(const char *s)
{
	const char *type = s + PREFIX_N, *colon;

	if (!text_starts(s, PREFIX) || !(colon = strchr(type, ':')))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strlen(types[i].name) == (size_t)(colon - type) &&
			memcmp(types[i].name, type, (size_t)(colon - type)) == 0)
			return is_identifier(colon + 1) && (!types[i].is_hash || is_hash(colon + 1));
	return false;
}

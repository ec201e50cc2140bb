/* credentials.c — the shapes of credentials.
 *
 * At each position where a word can start, every shape is asked whether it matches there and how far it reaches; the first that
 * matches wins.  The order of the shapes matters: "Bearer TOKEN" stands before "authorization: ...", because the second
 * shape alone would take the word "Bearer" for the secret and leave the token behind it.
 *
 * A matcher looks only forward, and the pass goes on behind what a match consumed, so the cost grows with the length of the
 * text and not with its square.
 *
 * On doubt a shape matches: a word that only looks like a key is lost from a log, which is cheaper than a key that stays in it. */
#include "base/text.h"
#include "privacy/parts.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Letters of a bearer token: base64 in both alphabets, and the dots of a JWT. */
static bool is_token(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("._~+/=-", c));
}

bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

size_t run(const char *p, size_t n, size_t at, bool (*fn)(char))
{
	while (at < n && fn(p[at]))
		at++;
	return at;
}

/* Names and schemes are compared without case: headers and variables are written in any. */
static bool starts(const char *p, size_t n, const char *prefix)
{
	size_t len = strlen(prefix);

	return n >= len && strncasecmp(p, prefix, len) == 0;
}

/* "Bearer", blanks, token. At least one blank is needed, or every word "bearers" would lose its tail. */
static struct hit match_bearer(const char *p, size_t n)
{
	if (!starts(p, n, "bearer"))
		return (struct hit){ 0, 0 };
	size_t at = 6;
	while (at < n && (p[at] == ' ' || p[at] == '\t'))
		at++;
	size_t end = run(p, n, at, is_token);
	return at > 6 && end > at ? (struct hit){ at, end } : (struct hit){ 0, 0 };
}

/* Names whose value is a secret, without '_', '-' and case. */
static const struct {
	const char *text;
	size_t n;
} secret_names[] = {
#define NAME(s) \
	{ \
		s, sizeof(s) - 1 \
	}
	NAME("secret"),
	NAME("token"),
	NAME("passwd"),
	NAME("password"),
	NAME("passphrase"),
	NAME("apikey"),
	NAME("accesskey"),
	NAME("secretkey"),
	NAME("privatekey"),
	NAME("accesstoken"),
	NAME("refreshtoken"),
	NAME("authtoken"),
	NAME("clientsecret"),
	NAME("authorization"),
	NAME("credential"),
	NAME("credentials"),
#undef NAME
};

/* Does any secret name end in this letter?  Asked about every word that is written, and mostly answered no:
 * then nothing else is done with the word. */
static bool may_end_secret(char c)
{
	char last = (char)tolower((unsigned char)c);

	for (size_t i = 0; i < ARRAY_SIZE(secret_names); i++)
		if (secret_names[i].text[secret_names[i].n - 1] == last)
			return true;
	return false;
}

/* Only the last 60 bytes are looked at; the longest secret name is far shorter. */
bool is_secret_name(const char *p, size_t n)
{
	char plain[64];
	size_t len = 0;

	while (n && (p[n - 1] == '_' || p[n - 1] == '-'))
		n--;
	if (n > 5 && (p[n - 5] == '_' || p[n - 5] == '-') && strncasecmp(p + n - 4, "pass", 4) == 0)
		return true; /* DB_PASS; a compass is none */
	if (!n || !may_end_secret(p[n - 1]))
		return false;
	for (size_t i = n > 60 ? n - 60 : 0; i < n; i++)
		if (p[i] != '_' && p[i] != '-')
			plain[len++] = (char)tolower((unsigned char)p[i]);
	for (size_t i = 0; i < ARRAY_SIZE(secret_names); i++) {
		size_t k = secret_names[i].n;
		if (len >= k && memcmp(plain + len - k, secret_names[i].text, k) == 0)
			return true;
	}
	return false;
}

/* A secret name with its value, in the three forms that command lines, headers and JSON use: token=VALUE,
 * "token": "VALUE" and --token VALUE. The name stays readable. The value ends at a blank, a quote or a
 * separator; an empty value is no match. */
static struct hit match_key_value(const char *p, size_t n, bool is_whole)
{
	size_t name = run(p, n, 0, is_word), at = name;

	if (!name || name > 128 || !is_secret_name(p, name))
		return (struct hit){ 0, 0 };
	if (at < n && (p[at] == '"' || p[at] == '\''))
		at++;
	while (at < n && p[at] == ' ')
		at++;
	/* --token VALUE as well as token=VALUE and "token": "VALUE" */
	bool option = name > 2 && p[0] == '-' && p[1] == '-' && at > name;
	if (!option) {
		if (at >= n || (p[at] != '=' && p[at] != ':'))
			return (struct hit){ 0, 0 };
		at++;
		while (at < n && p[at] == ' ')
			at++;
	}
	if (at < n && (p[at] == '"' || p[at] == '\''))
		at++;
	size_t end = at;
	const char *stops = is_whole ? "\"'" : "\"',;&";
	while (end < n && !isspace((unsigned char)p[end]) && (!p[end] || !strchr(stops, p[end])))
		end++;
	/* "Authorization: Bearer x": the next word is the secret, too. */
	if (starts(p + at, n - at, "bearer ") || starts(p + at, n - at, "basic "))
		end = run(p, n, end + 1, is_token);
	return end > at ? (struct hit){ at, end } : (struct hit){ 0, 0 };
}

/* The user part of an address: scheme://user:password@host. It is one only when it holds a ':', since
 * ssh://git@host names no secret. The whole of "user:password" is replaced, because a token often stands
 * in the place of the user. */
static struct hit match_url(const char *p, size_t n)
{
	size_t at = 3;

	if (!starts(p, n, "://"))
		return (struct hit){ 0, 0 };
	while (at < n && !isspace((unsigned char)p[at]) && !strchr("/@?#\"'", p[at]))
		at++;
	if (at >= n || p[at] != '@' || !memchr(p + 3, ':', at - 3))
		return (struct hit){ 0, 0 };
	return (struct hit){ 3, at };
}

static const struct {
	/* Keys that services mark with a prefix of their own. `least` spares short words that happen to
	 * begin alike. */
	const char *prefix;
	size_t least; /* further characters */
	bool (*fn)(char);
} prefixes[] = {
	{ "sk-", 8, is_word },
	{ "sk_", 8, is_word },
	{ "ghp_", 8, is_word },
	{ "gho_", 8, is_word },
	{ "ghu_", 8, is_word },
	{ "ghs_", 8, is_word },
	{ "ghr_", 8, is_word },
	{ "github_pat_", 8, is_word },
	{ "glpat-", 8, is_word },
	{ "xoxa-", 8, is_word },
	{ "xoxb-", 8, is_word },
	{ "xoxp-", 8, is_word },
	{ "xoxr-", 8, is_word },
	{ "xoxs-", 8, is_word },
	{ "npm_", 20, is_word },
	{ "AKIA", 16, is_word },
	{ "ASIA", 16, is_word },
	{ "AIza", 20, is_word },
	{ "helm_", 24, is_word },
};

static struct hit match_prefix(const char *p, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (prefixes[i].prefix[0] != p[0]) /* of nearly every word */
			continue;
		size_t len = strlen(prefixes[i].prefix);
		if (n < len || memcmp(p, prefixes[i].prefix, len) != 0)
			continue;
		size_t end = run(p, n, len, prefixes[i].fn);
		if (end - len >= prefixes[i].least)
			return (struct hit){ 0, end };
	}
	return (struct hit){ 0, 0 };
}

/* The token of a Telegram bot in an address: bot12345:AAAAAAAAAAAAAAA. */
static struct hit match_bot(const char *p, size_t n)
{
	size_t at = 3;

	if (!starts(p, n, "bot"))
		return (struct hit){ 0, 0 };
	while (at < n && isdigit((unsigned char)p[at]))
		at++;
	if (at < 8 || at >= n || p[at] != ':')
		return (struct hit){ 0, 0 };
	size_t end = run(p, n, at + 1, is_word);
	return end - at > 15 ? (struct hit){ 0, end } : (struct hit){ 0, 0 };
}

/* A JSON Web Token: three base64url parts joined by dots. "eyJ" is how every JSON object begins in base64. */
static struct hit match_jwt(const char *p, size_t n)
{
	size_t at = 0;

	if (n < 3 || memcmp(p, "eyJ", 3) != 0)
		return (struct hit){ 0, 0 };
	for (int part = 0; part < 3; part++) {
		size_t end = run(p, n, at, is_word);
		if (end - at < 5 || (part < 2 && (end >= n || p[end] != '.')))
			return (struct hit){ 0, 0 };
		at = end + 1;
	}
	return (struct hit){ 0, at - 1 };
}

/* A PEM block, from its first line to the end of its last. Certificates are replaced as well as keys: they
 * look alike until the label is read, and nobody misses one in a log. */
static struct hit match_pem(const char *p, size_t n)
{
	static const char end_mark[] = "-----END ";

	if (n < 11 || memcmp(p, "-----BEGIN ", 11) != 0)
		return (struct hit){ 0, 0 };
	const char *end = memmem(p, n, end_mark, sizeof(end_mark) - 1);
	/* Logs keep the tails of output cut to a size, so the closing line may be missing. */
	if (!end)
		return (struct hit){ 0, n }; /* cut off: the rest is key */
	const char *line = memchr(end, '\n', n - (size_t)(end - p));
	return (struct hit){ 0, line ? (size_t)(line - p) : n };
}

/* Most words end here: by their first letters they have no prefix of a service, and by their last letter and what follows they are no
 * name of a secret with a value. */
bool may_be_credential(const char *p, size_t n, size_t word)
{
	static const char firsts[256] = { ['-'] = 1,
		['b'] = 1,
		['B'] = 1,
		['s'] = 1,
		['g'] = 1,
		['x'] = 1,
		['n'] = 1,
		['h'] = 1,
		['A'] = 1,
		['e'] = 1 };
	static const char lasts[256] = { ['t'] = 1,
		['n'] = 1,
		['d'] = 1,
		['e'] = 1,
		['y'] = 1,
		['l'] = 1,
		['s'] = 1,
		['T'] = 1,
		['N'] = 1,
		['D'] = 1,
		['E'] = 1,
		['Y'] = 1,
		['L'] = 1,
		['S'] = 1,
		['_'] = 1,
		['-'] = 1 };
	size_t at = word;

	/* No key of a service is shorter, and "bearer" is a word of six letters. */
	if (firsts[(unsigned char)p[0]] &&
		(word >= 11 || word == 6 || p[0] == '-' || p[0] == 'b' || p[0] == 'e'))
		return true;
	if (!lasts[(unsigned char)p[word - 1]])
		return false;
	if (at < n && (p[at] == '"' || p[at] == '\''))
		at++;
	while (at < n && p[at] == ' ')
		at++;
	return at < n && (p[at] == '=' || p[at] == ':');
}

/* The first shape that matches here.  Only an address begins with ':', where no word starts. */
struct hit credential_at(const char *p, size_t n, bool is_whole)
{
	static struct hit (*const shapes[])(const char *, size_t) = { match_prefix, match_jwt, match_bot };
	struct hit h;

	if (p[0] == ':')
		return match_url(p, n);
	h = match_pem(p, n);
	if (!h.end)
		h = match_bearer(p, n);
	if (!h.end)
		h = match_key_value(p, n, is_whole);
	for (size_t i = 0; !h.end && i < ARRAY_SIZE(shapes); i++)
		h = shapes[i](p, n);
	return h;
}

/* Programs are full of `password = read_password()`, `token: string` and sk_X509_new().  A literal changes between letters and digits as chance
 * does, is in quotes or has a long part without separators, and does not say that it is none. */
bool is_literal_secret(const char *p, size_t n, bool is_quoted)
{
	static const char *const others[] = { "example", "placeholder", "changeme", "dummy", "xxxx", "****",
		"your", "test" };
	int changes = 0, best = 0;
	size_t part = 0, longest = 0;

	if (n < 8 || n > 512)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i], before = i ? (unsigned char)p[i - 1] : '.';
		if (c > 126 || strchr("()[]{}<>$%\\`|", c))
			return false;
		changes = !isalnum(c) ? 0 : changes + (isalnum(before) && !isdigit(c) != !isdigit(before));
		part = isalnum(c) ? part + 1 : 0;
		longest = part > longest ? part : longest;
		best = changes > best ? changes : best;
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		for (size_t at = 0; at + strlen(others[i]) <= n; at++)
			if (starts(p + at, n - at, others[i]))
				return false;
	return is_quoted ? best >= 1 : best >= 3 && longest >= 14;
}

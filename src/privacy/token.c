/* token.c — names that stand for what belongs to a person, and the way back. */
#include "base/text.h"
#include "privacy/parts.h"

#include <ctype.h>
#include <string.h>

#define TOKEN_START "<PRIVATE_"
#define SECRET_START "<SECRET_REDACTED_"

/* "<PRIVATE_EMAIL_12>", or the same with a backslash behind the '<'; its length, 0 when it is none. */
static size_t token_at(const char *p, size_t n, bool *ret_is_escaped)
{
	size_t at = 1;

	if (n < 4 || p[0] != '<')
		return 0;
	*ret_is_escaped = p[1] == '\\';
	while (at < n && p[at] == '\\')
		at++;
	size_t left = n - at;
	if ((left < 8 || memcmp(p + at, "PRIVATE_", 8) != 0) &&
		(left < 16 || memcmp(p + at, "SECRET_REDACTED_", 16) != 0))
		return 0;
	while (at < n && (isupper((unsigned char)p[at]) || isdigit((unsigned char)p[at]) || p[at] == '_'))
		at++;
	return at < n && p[at] == '>' && isdigit((unsigned char)p[at - 1]) ? at + 1 : 0;
}

/* Text between findings: what looks like a token gets one backslash more. */
static void add_escaped(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool is_escaped;
		buf_addc(out, p[i]);
		if (p[i] == '<' && token_at(p + i, n - i, &is_escaped))
			buf_addc(out, '\\');
	}
}

/* The highest number that the scope has for a label. */
static int64_t highest(const struct json *scope, const char *label)
{
	const char *start = TOKEN_START;
	size_t len = strlen(start), m = strlen(label);
	int64_t best = 0;

	json_each_member (t, json_get(scope, "tokens")) {
		int64_t value;
		char digits[24];
		size_t n = t->name_n;
		if (n < len + m + 3 || n - len - m - 2 >= sizeof(digits) ||
			memcmp(t->name, start, len) != 0 || memcmp(t->name + len, label, m) != 0 ||
			t->name[len + m] != '_' || t->name[n - 1] != '>')
			continue;
		memcpy(digits, t->name + len + m + 1, n - len - m - 2);
		digits[n - len - m - 2] = '\0';
		if (text_int(digits, &value) && value > best)
			best = value;
	}
	return best;
}

static struct json *part(struct arena *a, struct json *scope, const char *name)
{
	struct json *v = json_get(scope, name);

	if (!json_is(v, JSON_OBJECT)) {
		v = json_new(a, JSON_OBJECT);
		json_set(a, scope, name, v);
	}
	return v;
}

/* The token of a value: the one it has, or the next. */
static const char *token_for(struct arena *a, struct json *scope, enum privacy_label label, const char *value,
	size_t n, const char *hash)
{
	const char *name = privacy_label_name(label),
		   *known = json_get_text(json_get(scope, "hashes"), hash, NULL);
	const struct json *there = known ? json_get(json_get(scope, "tokens"), known) : NULL;

	/* The digest is short: what decides is the value. */
	if (json_is(there, JSON_STRING) && there->n == n && memcmp(there->text, value, n) == 0)
		return known;
	json_each_member (t, json_get(scope, "tokens"))
		if (json_is(t->value, JSON_STRING) && t->value->n == n &&
			memcmp(t->value->text, value, n) == 0 &&
			text_eq(json_get_text(json_get(scope, "labels"), t->name, name), name))
			return t->name;
	const char *token =
		arena_printf(a, TOKEN_START "%s_%lld>", name, (long long)highest(scope, name) + 1);
	json_set(a, part(a, scope, "tokens"), token, json_stringn(a, value, n));
	json_sets(a, part(a, scope, "labels"), token, name);
	json_sets(a, part(a, scope, "hashes"), hash, token);
	return token;
}

struct json *privacy_tokenize(struct arena *a, const char *text, size_t n,
	const struct privacy_options *options, struct json *scope, bool is_kept)
{
	struct json *doc = json_new(a, JSON_OBJECT), *rows = json_new(a, JSON_ARRAY);
	struct privacy_finding *found;
	size_t count = privacy_scan(a, text, n, options, &found), from = 0;
	int64_t secrets = 0;
	struct buf out;

	buf_init(&out, a);
	for (size_t i = 0; i < count; i++) {
		const char *value = text + found[i].start, *token;
		size_t len = found[i].end - found[i].start;
		bool is_recoverable = privacy_label_is_recoverable(found[i].label);
		char hash[PRIVACY_HASH + 1];

		privacy_hash(value, len, hash);
		token = is_recoverable ? token_for(a, scope, found[i].label, value, len, hash)
				       : arena_printf(a, SECRET_START "%lld>", (long long)++secrets);
		add_escaped(&out, text + from, found[i].start - from);
		buf_adds(&out, token);
		from = found[i].end;
		struct json *row = json_new(a, JSON_OBJECT);
		json_sets(a, row, "label", privacy_label_name(found[i].label));
		json_sets(a, row, "token", token);
		json_sets(a, row, "value_hash", hash);
		json_setb(a, row, "recoverable", is_recoverable && is_kept);
		json_push(a, rows, row);
	}
	add_escaped(&out, text + from, n - from);
	json_set(a, doc, "text", json_stringn(a, out.p, out.n));
	json_seti(a, doc, "replacement_count", (int64_t)count);
	json_set(a, doc, "replacements", rows);
	return doc;
}

struct json *privacy_restore(struct arena *a, const char *text, size_t n, const struct json *scope)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	const struct json *tokens = json_get(scope, "tokens");
	int64_t count = 0;
	struct buf out;

	buf_init(&out, a);
	for (size_t at = 0; at < n;) {
		bool is_escaped;
		size_t len = token_at(text + at, n - at, &is_escaped);
		const struct json *value = NULL;
		if (len && !is_escaped)
			value = json_get(tokens, arena_strndup(a, text + at, len));
		if (json_is(value, JSON_STRING)) {
			buf_add(&out, value->text, value->n);
			count++;
		} else if (len && is_escaped) {
			buf_addc(&out, '<');
			buf_add(&out, text + at + 2, len - 2);
		} else {
			buf_add(&out, text + at, len ? len : 1);
		}
		at += len ? len : 1;
	}
	json_set(a, doc, "text", json_stringn(a, out.p, out.n));
	json_seti(a, doc, "replacement_count", count);
	return doc;
}

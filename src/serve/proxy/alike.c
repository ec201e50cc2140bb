/* alike.c — events of text that differ from the last one in nothing but the text. */
#include "serve/proxy/alike.h"
#include "base/text.h"

#include <string.h>

/* Values that are for a person's eyes, or a count. */
static bool may_differ(const char *name, size_t n)
{
	static const char *const names[] = { "content", "text", "delta", "thinking", "obfuscation",
		"sequence_number" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
			return true;
	return false;
}

/* How many bytes from here on are plain: visible ASCII, no quote and no backslash.  Eight at a time: the highest bit of each byte says that it is one of the others. */
static size_t plain_bytes(const char *p, size_t n)
{
	const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
	size_t at = 0;

	for (; n - at >= 8; at += 8) {
		uint64_t w, quote, slash;
		memcpy(&w, p + at, 8);
		quote = w ^ ones * '"';
		slash = w ^ ones * '\\';
		uint64_t odd = (w | (w - ones * 0x20) | (quote - ones) | (slash - ones)) & high;
		if (odd)
			return at + (size_t)__builtin_ctzll(odd) / 8;
	}
	return at;
}

/* Behind the closing quote of the string that begins at p, 0 when it is none, or one that has to be looked at by the parser. */
static size_t string_end(const char *p, size_t n)
{
	size_t at = plain_bytes(p, n);

	while (at < n && p[at] != '"') {
		unsigned char c = (unsigned char)p[at];
		uint32_t cp;
		if (c == '\\') {
			if (at + 1 >= n || !p[at + 1] || !strchr("\"\\/bfnrt", p[at + 1]))
				return 0;
			at += 2;
		} else if (c < ' ') {
			return 0;
		} else if (c < 0x80) {
			at++;
		} else {
			size_t length = text_decode(p + at, n - at, &cp);
			if (!length)
				return 0;
			at += length;
		}
	}
	return at < n ? at + 1 : 0;
}

/* A whole number without a sign; one that a zero begins is zero. */
static size_t number_end(const char *p, size_t n)
{
	size_t at = 0;

	while (at < n && p[at] >= '0' && p[at] <= '9')
		at++;
	return at && at < 18 && (p[0] != '0' || at == 1) ? at : 0;
}

static size_t skip_blanks(const char *p, size_t n, size_t at)
{
	while (at < n && p[at] == ' ')
		at++;
	return at;
}

/* The value behind a name that may have one that differs. */
static void add_gap(struct alike *x, size_t at)
{
	struct alike_gap *g = &x->gaps[x->gap_n];
	bool is_text = x->raw[at] == '"';
	size_t start = is_text ? at + 1 : at;
	size_t length =
		is_text ? string_end(x->raw + start, x->n - start) : number_end(x->raw + start, x->n - start);

	if (!length || x->gap_n == GAPS_MOST)
		return;
	*g = (struct alike_gap){ (uint16_t)start, (uint16_t)(start + length - is_text), !is_text };
	x->gap_n++;
}

void alike_forget(struct alike *x)
{
	x->n = x->gap_n = 0;
}

/* It was parsed: so quotes outside of strings begin strings, and what is followed by a colon is a name. */
void alike_learn(struct alike *x, struct bytes raw)
{
	static const char data[] = "data: {";
	const char *json;

	alike_forget(x);
	if (raw.n > ALIKE_MOST || raw.n < sizeof(data) || memcmp(raw.p + raw.n - 2, "\n\n", 2) != 0 ||
		memchr(raw.p, '\r', raw.n) || !(json = memmem(raw.p, raw.n, data, strlen(data))) ||
		memmem(json + 1, raw.n - (size_t)(json + 1 - (const char *)raw.p), "\ndata", 5))
		return;
	memcpy(x->raw, raw.p, raw.n);
	x->n = raw.n;
	for (size_t at = (size_t)(json - (const char *)raw.p) + strlen(data) - 1; at < x->n; at++) {
		if (x->raw[at] != '"')
			continue;
		size_t length = string_end(x->raw + at + 1, x->n - at - 1);
		if (!length) {
			alike_forget(x);
			return;
		}
		size_t next = skip_blanks(x->raw, x->n, at + 1 + length);
		bool is_name = next < x->n && x->raw[next] == ':';
		if (is_name && may_differ(x->raw + at + 1, length - 1))
			add_gap(x, skip_blanks(x->raw, x->n, next + 1));
		at += length;
	}
	if (!x->gap_n)
		alike_forget(x);
}

/* Bytes of the event at p; 0: it is not alike, or not whole. */
static size_t take_one(const struct alike *x, const char *p, size_t n)
{
	size_t at = 0, from = 0;

	for (size_t i = 0; i < x->gap_n; i++) {
		const struct alike_gap *g = &x->gaps[i];
		size_t same = g->start - from;
		if (n - at < same || memcmp(p + at, x->raw + from, same) != 0)
			return 0;
		at += same;
		size_t length = g->is_number ? number_end(p + at, n - at) : string_end(p + at, n - at);
		if (!length)
			return 0;
		at += length - !g->is_number;
		from = g->end;
	}
	if (n - at < x->n - from || memcmp(p + at, x->raw + from, x->n - from) != 0)
		return 0;
	return at + x->n - from;
}

size_t alike_take(const struct alike *x, struct bytes in, size_t *ret_n)
{
	size_t at = 0, one;

	*ret_n = 0;
	while (x->n && (one = take_one(x, (const char *)in.p + at, in.n - at))) {
		at += one;
		++*ret_n;
	}
	return at;
}

/* host.c — who would be reached: the authority of a URL.
 *
 * Programs disagree about odd spellings, and whoever is governed chooses the spelling.  So everything odd is refused here: user-info
 * ("https://allowed.host:443@evil.example/"), backslashes, blanks, escapes, addresses as numbers.  A name with letters beyond ASCII
 * is compared in the form that resolvers use, so that a look-alike is another name. */
#include "decide/authority/parts.h"

#include "model/egress.h"

#include <string.h>

/* ---- names beyond ASCII (RFC 3492) ---- */

enum { BASE = 36, TMIN = 1, TMAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 128, LABEL_MOST = 63 };

static uint32_t adapt(uint32_t delta, uint32_t points, bool is_first)
{
	uint32_t k = 0;

	delta = is_first ? delta / DAMP : delta / 2;
	delta += delta / points;
	for (; delta > ((BASE - TMIN) * TMAX) / 2; k += BASE)
		delta /= BASE - TMIN;
	return k + (BASE - TMIN + 1) * delta / (delta + SKEW);
}

static void add_digit(struct buf *to, uint32_t d)
{
	buf_addc(to, (char)(d < 26 ? 'a' + d : '0' + d - 26));
}

/* One number of variable length. */
static void add_delta(struct buf *to, uint32_t q, uint32_t bias)
{
	for (uint32_t k = BASE;; k += BASE) {
		uint32_t t = k <= bias ? TMIN : k >= bias + TMAX ? TMAX : k - bias;
		if (q < t)
			break;
		add_digit(to, t + (q - t) % (BASE - t));
		q = (q - t) / (BASE - t);
	}
	add_digit(to, q);
}

/* `cp` are the characters of one label, at most LABEL_MOST. */
static void add_punycode(struct buf *to, const uint32_t *cp, size_t n)
{
	uint32_t next = FIRST, delta = 0, bias = BIAS, done = 0;

	for (size_t i = 0; i < n; i++)
		if (cp[i] < FIRST) {
			buf_addc(to, (char)cp[i]);
			done++;
		}
	uint32_t plain = done;
	if (plain)
		buf_addc(to, '-');
	while (done < n) {
		uint32_t least = UINT32_MAX;
		for (size_t i = 0; i < n; i++)
			if (cp[i] >= next && cp[i] < least)
				least = cp[i];
		delta += (least - next) * (done + 1);
		next = least;
		for (size_t i = 0; i < n; i++) {
			if (cp[i] < next)
				delta++;
			if (cp[i] != next)
				continue;
			add_delta(to, delta, bias);
			bias = adapt(delta, done + 1, done == plain);
			delta = 0;
			done++;
		}
		delta++;
		next++;
	}
}

/* One label, folded already.  False when it is too long. */
static bool add_label(struct buf *to, const char *p, size_t n)
{
	uint32_t cp[LABEL_MOST];
	size_t count = 0;
	bool is_plain = true;

	for (size_t at = 0; at < n; count++) {
		if (count == LABEL_MOST)
			return false;
		at += text_decode(p + at, n - at, &cp[count]);
		is_plain = is_plain && cp[count] < FIRST;
	}
	if (is_plain) {
		buf_add(to, p, n);
		return true;
	}
	buf_adds(to, "xn--");
	add_punycode(to, cp, count);
	return true;
}

/* The name in its ASCII form.  NULL when it is no text or has a label that is too long. */
static const char *ascii_name(struct arena *a, const char *p, size_t n)
{
	struct buf to;

	if (text_utf8_valid(p, n) != n)
		return NULL;
	const char *folded = text_fold(a, p, n);
	struct bytes rest = bytes_of(folded);
	buf_init(&to, a);
	while (rest.p) {
		struct bytes label = text_cut(&rest, '.');
		if (!add_label(&to, (const char *)label.p, label.n))
			return NULL;
		if (rest.p)
			buf_addc(&to, '.');
	}
	return to.p;
}

/* ---- authority ---- */

static bool is_scheme(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') ||
			    (i && strchr("0123456789+-.", p[i]))))
			return false;
	return n > 0;
}

static bool doubt(const char **ret_why, const char *why)
{
	*ret_why = why;
	return false;
}

static bool has_odd_character(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == '\\' || *p == 0x7f)
			return true;
	return false;
}

static bool is_whole_address(const char *text, struct authority *ret)
{
	char name[EGRESS_HOST];
	bool is_address = false;

	return egress_host(text, strlen(text), name, &is_address, ret->address) && is_address;
}

/* Host and port of the text between scheme and path. */
static bool read_host(struct arena *a, const char *at, size_t n, struct authority *ret, const char **ret_why)
{
	char name[EGRESS_HOST];
	const char *host, *ascii;
	size_t host_n;

	if (memchr(at, '@', n))
		return doubt(ret_why, "it names a user before the host, so that two hosts could be meant");
	if (memchr(at, '%', n))
		return doubt(ret_why, "the host has an escape in it");
	if (!egress_split(at, n, &host, &host_n, &ret->port))
		return doubt(ret_why, "it has no host, or a port that is none");
	ascii = ascii_name(a, host, host_n);
	if (!ascii || !egress_host(ascii, strlen(ascii), name, &ret->is_address, ret->address))
		return doubt(ret_why, "the host is neither a name nor an address in its usual spelling");
	ret->host = arena_strdup(a, name);
	return true;
}

bool authority_of(struct arena *a, const char *text, struct authority *ret, const char **ret_why)
{
	const char *mark = strstr(text, "://"), *at = mark ? mark + 3 : text;

	*ret = (struct authority){ 0 };
	if (has_odd_character(text))
		return doubt(ret_why, "it has a blank, a backslash or a control character in it");
	if (mark && !is_scheme(text, (size_t)(mark - text)))
		return doubt(ret_why, "what stands before :// is no scheme");
	ret->scheme = mark ? text_fold(a, text, (size_t)(mark - text)) : NULL;
	if (!mark && is_whole_address(text, ret)) {
		char name[EGRESS_HOST];
		egress_address_text(ret->address, name);
		ret->host = arena_strdup(a, name);
		ret->is_address = true;
		return true;
	}
	return read_host(a, at, strcspn(at, "/?#"), ret, ret_why);
}

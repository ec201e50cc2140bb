/* scan.c — the table of detectors, and one pass over a text that asks them.
 *
 * Which detectors can begin at a byte is looked up in a table of 256 entries, so that most bytes are passed by at once. */
#include "base/hash.h"
#include "base/text.h"
#include "privacy/parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name;
	bool is_recoverable, is_default;
} labels[PRIVACY_LABEL_COUNT] = {
#define PRIVACY_ROW(name, recoverable, is_default) { #name, recoverable, is_default },
	PRIVACY_LABELS(PRIVACY_ROW)
#undef PRIVACY_ROW
};

const char *privacy_label_name(enum privacy_label l)
{
	return labels[l].name;
}

bool privacy_label_is_recoverable(enum privacy_label l)
{
	return labels[l].is_recoverable;
}

bool privacy_label_parse(const char *name, size_t n, enum privacy_label *ret)
{
	for (size_t i = 0; i < PRIVACY_LABEL_COUNT; i++)
		if (strlen(labels[i].name) == n && strncasecmp(labels[i].name, name, n) == 0) {
			*ret = (enum privacy_label)i;
			return true;
		}
	return false;
}

unsigned privacy_default_labels(void)
{
	unsigned set = 0;

	for (unsigned i = 0; i < PRIVACY_LABEL_COUNT; i++)
		if (labels[i].is_default)
			set |= 1u << i;
	return set;
}

void privacy_hash(const char *value, size_t n, char ret[PRIVACY_HASH + 1])
{
	uint8_t digest[SHA256_SIZE];

	sha256(value, n, digest);
	hex_encode(digest, PRIVACY_HASH / 2, ret);
}

/* What a byte can be the beginning of. */
enum begins { AT_SIGN = 1, NUMBER = 2, CAPITAL = 4, HEX = 8, WORD = 16, COLON = 32 };
static const struct {
	enum privacy_label label;
	enum begins at;
	personal_fn *fn;
} detectors[] = {
	{ PRIVACY_EMAIL, AT_SIGN, personal_email },
	{ PRIVACY_KOREAN_RRN, NUMBER, personal_rrn },
	{ PRIVACY_CREDIT_CARD, NUMBER, personal_card },
	{ PRIVACY_IBAN, CAPITAL, personal_iban },
	{ PRIVACY_MAC_ADDRESS, HEX, personal_mac },
	{ PRIVACY_IP_ADDRESS, NUMBER, personal_ip },
	{ PRIVACY_PHONE, NUMBER, personal_phone },
};

/* Bytes by what they can begin. */
static const unsigned char kinds[256] = { ['@'] = AT_SIGN,
	[':'] = COLON,
	['+'] = NUMBER,
	['('] = NUMBER,
	['0' ... '9'] = NUMBER | HEX | WORD,
	['A' ... 'F'] = CAPITAL | HEX | WORD,
	['G' ... 'Z'] = CAPITAL | WORD,
	['a' ... 'f'] = HEX | WORD,
	['g' ... 'z'] = WORD,
	['_'] = WORD,
	['-'] = WORD };

struct pass {
	struct arena *a;
	const struct privacy_options *options;
	unsigned begins; /* what the wanted detectors begin with */
	struct privacy_finding *found;
	size_t count, room;
};

static void add(struct pass *s, enum privacy_label label, size_t start, size_t end)
{
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		struct privacy_finding *more = arena_alloc(s->a, room * sizeof(*more));
		if (s->count)
			memcpy(more, s->found, s->count * sizeof(*more));
		s->found = more;
		s->room = room;
	}
	s->found[s->count++] = (struct privacy_finding){ label, start, end };
}

/* The earlier first, of the same start the longer, of the same place the more special. */
static int compare(const void *x, const void *y)
{
	const struct privacy_finding *l = x, *r = y;

	if (l->start != r->start)
		return l->start < r->start ? -1 : 1;
	if (l->end != r->end)
		return l->end > r->end ? -1 : 1;
	return (int)l->label - (int)r->label;
}

/* In program text certificates and public keys are no secret, and the first line alone is what a program looks for. */
static bool is_key_block(const char *p, size_t n)
{
	static const char private[] = "PRIVATE KEY";
	const char *end = n > 11 ? memmem(p + 11, n - 11, "-----", 5) : NULL;

	if (!end || !memmem(p + 11, (size_t)(end - p) - 11, private, sizeof(private) - 1))
		return false;
	/* The line ends there, in the text or in a literal of it, and something follows. */
	const char *body = end + 5;
	size_t left = (size_t)(p + n - body);
	return left > 6 && (body[0] == '\n' || body[0] == '\r' || (body[0] == '\\' && body[1] != '"')) &&
		isalnum((unsigned char)body[3]) && isalnum((unsigned char)body[4]);
}

/* In program text a key block counts when it has a key; of anything else the value must look like one. */
static bool is_doubtful(const char *p, const struct hit *h)
{
	bool is_block = h->end > 5 && memcmp(p, "-----", 5) == 0;

	if (is_block)
		return !is_key_block(p, h->end);
	bool is_quoted = h->keep && (p[h->keep - 1] == '"' || p[h->keep - 1] == '\'');

	return !is_literal_secret(p + h->keep, h->end - h->keep, is_quoted);
}

/* A credential in the word, or the ':', at `at`; returns where the next can begin, 0 when there was none. */
static size_t look_for_credential(struct pass *s, const char *text, size_t n, size_t at)
{
	struct hit h = credential_at(text + at, n - at, true);

	if (!h.end || (s->options->is_strict && is_doubtful(text + at, &h)))
		return 0;
	/* "://user:password@": what is before it is no part of the secret. */
	add(s, PRIVACY_SECRET, text[at] == ':' ? at + h.keep : at, at + h.end);
	return at + h.end;
}

static void look_for_personal(struct pass *s, const char *text, size_t n, size_t at, unsigned begins)
{
	for (size_t i = 0; i < ARRAY_SIZE(detectors); i++) {
		struct place p;
		if (!(detectors[i].at & begins) || !(s->options->labels & 1u << detectors[i].label))
			continue;
		if (detectors[i].fn(text, n, at, s->options->is_strict, &p))
			add(s, detectors[i].label, p.start, p.end);
	}
}

/* One word: a credential at its start, and in it whatever begins with a digit or a capital. */
static void look_at_word(
	struct pass *s, const char *text, size_t n, size_t at, size_t end, size_t *secret_from)
{
	unsigned wanted = s->options->labels;

	if (wanted & 1u << PRIVACY_SECRET && at >= *secret_from &&
		may_be_credential(text + at, n - at, end - at)) {
		size_t next = look_for_credential(s, text, n, at);
		*secret_from = next ? next : *secret_from;
	}
	for (size_t i = at; i < end; i++) {
		unsigned begins = kinds[(unsigned char)text[i]] & s->begins;
		if (!begins)
			continue;
		unsigned char before = i ? (unsigned char)text[i - 1] : ' ';
		if (isdigit(before))
			begins &= ~(unsigned)NUMBER;
		if (isalnum(before))
			begins &= ~(unsigned)(CAPITAL | HEX);
		if (begins)
			look_for_personal(s, text, n, i, begins);
	}
}

size_t privacy_scan(struct arena *a, const char *text, size_t n, const struct privacy_options *options,
	struct privacy_finding **ret)
{
	struct pass s = { .a = a, .options = options };
	size_t secret_from = 0, kept = 0, end = 0;

	for (size_t i = 0; i < ARRAY_SIZE(detectors); i++)
		if (options->labels & 1u << detectors[i].label)
			s.begins |= detectors[i].at;
	for (size_t at = 0; at < n;) {
		unsigned kind = kinds[(unsigned char)text[at]];
		if (kind & WORD) {
			size_t stop = at + 1;
			while (stop < n && kinds[(unsigned char)text[stop]] & WORD)
				stop++;
			look_at_word(&s, text, n, at, stop, &secret_from);
			at = stop;
			continue;
		}
		if (kind == COLON && options->labels & 1u << PRIVACY_SECRET && at >= secret_from &&
			at + 2 < n && text[at + 1] == '/') {
			size_t next = look_for_credential(&s, text, n, at);
			secret_from = next ? next : secret_from;
		} else if (kind & s.begins & (AT_SIGN | NUMBER) &&
			!(at && isdigit((unsigned char)text[at - 1]) && kind == NUMBER)) {
			look_for_personal(&s, text, n, at, kind);
		}
		at++;
	}
	if (s.count)
		qsort(s.found, s.count, sizeof(*s.found), compare);
	for (size_t i = 0; i < s.count; i++) {
		if (s.found[i].start < end)
			continue;
		end = s.found[i].end;
		s.found[kept++] = s.found[i];
	}
	*ret = s.found;
	return kept;
}

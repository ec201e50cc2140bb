/* text.c — text: growing buffers, UTF-8, numbers, times, globs, nearest names.
 *
 * Everything here is total: any bytes go in, and the worst that comes out is "no". Nothing depends on the
 * locale, and only text_time_local() and text_time_zone(), which are for a person's eyes, depend on the
 * time zone: what ends up in records must read the same everywhere. */
#include "base/text.h"

#include "base/err.h"

#include <stdarg.h>
#include <time.h>
#include <utf8proc.h>

/* ---- buffers ---- */

enum { BUF_FIRST = 256 };

void buf_init(struct buf *b, struct arena *a)
{
	*b = (struct buf){ .a = a, .p = arena_text(a, BUF_FIRST), .cap = BUF_FIRST };
	b->p[0] = '\0';
}

/* Doubles, so that appending n bytes one by one costs O(n). One byte more is kept for the final NUL. */
char *buf_grow(struct buf *b, size_t n)
{
	size_t cap = b->cap * 2;

	if (n >= SIZE_MAX / 2 - b->n)
		BUG("a buffer of half the address space");
	if (cap < b->n + n + 1)
		cap = b->n + n + 1;
	b->p = arena_grow(b->a, b->p, b->cap, cap);
	b->cap = cap;
	return b->p + b->n;
}

void buf_add(struct buf *b, const void *from, size_t n)
{
	char *to = buf_room(b, n);

	if (n)
		memcpy(to, from, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

/* Tries the room that is there first; most texts fit. */
void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(b->p + b->n, b->cap - b->n, fmt, ap);
	va_end(ap);
	if (n < 0)
		BUG("bad format");
	if ((size_t)n >= b->cap - b->n)
		vsnprintf(buf_room(b, (size_t)n), (size_t)n + 1, fmt, again);
	va_end(again);
	b->n += (size_t)n;
}

bool text_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && memcmp(s + n - k, suffix, k) == 0;
}

/* ---- UTF-8 ---- */

static bool is_continuation(uint8_t c)
{
	return (c & 0xc0) == 0x80;
}

/* The second byte decides about overlong forms, surrogates and values past U+10FFFF (Unicode, table 3-7). */
static bool is_second_byte(uint8_t lead, uint8_t c)
{
	switch (lead) {
	case 0xe0:
		return c >= 0xa0 && c <= 0xbf;
	case 0xed:
		return c >= 0x80 && c <= 0x9f;
	case 0xf0:
		return c >= 0x90 && c <= 0xbf;
	case 0xf4:
		return c >= 0x80 && c <= 0x8f;
	default:
		return is_continuation(c);
	}
}

/* The length of the character at p, or 0 when the bytes there are no well-formed UTF-8. */
size_t text_decode(const char *p, size_t n, uint32_t *ret_cp)
{
	const uint8_t *s = (const uint8_t *)p;

	if (n == 0)
		return 0;
	if (s[0] < 0x80) {
		*ret_cp = s[0];
		return 1;
	}
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	size_t len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (n < len || !is_second_byte(s[0], s[1]))
		return 0;
	uint32_t cp = s[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if (!is_continuation(s[i]))
			return 0;
		cp = cp << 6 | (s[i] & 0x3fu);
	}
	*ret_cp = cp;
	return len;
}

/* The caller knows that cp is a character; surrogates and values past U+10FFFF must not come here. */
size_t text_encode(uint32_t cp, char to[4])
{
	if (cp < 0x80) {
		to[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		to[0] = (char)(0xc0 | cp >> 6);
		to[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		to[0] = (char)(0xe0 | cp >> 12);
		to[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		to[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | cp >> 18);
	to[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	to[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	to[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

/* How many bytes at the start are well-formed; n when all are. Eight ASCII bytes are passed at once. */
size_t text_utf8_valid(const char *p, size_t n)
{
	size_t i = 0;
	uint32_t cp;

	while (i < n) {
		uint64_t word;
		if (n - i >= sizeof(word)) {
			memcpy(&word, p + i, sizeof(word));
			if (!(word & 0x8080808080808080u)) {
				i += sizeof(word);
				continue;
			}
		}
		if ((uint8_t)p[i] < 0x80) {
			i++;
			continue;
		}
		size_t len = text_decode(p + i, n - i, &cp);
		if (len == 0)
			return i;
		i += len;
	}
	return n;
}

/* Columns on a terminal: wide characters take two, combining ones none. */
size_t text_width(const char *p, size_t n)
{
	size_t width = 0;

	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t len = text_decode(p + i, n - i, &cp);
		if (len == 0) { /* shown as one replacement character */
			width++;
			i++;
			continue;
		}
		if (cp >= 0x20 && cp != 0x7f)
			width += cp < 0x7f ? 1 : (size_t)utf8proc_charwidth((utf8proc_int32_t)cp);
		i += len;
	}
	return width;
}

/* Characters that move the cursor, change the direction of the line, or are invisible on purpose. In a
 * question to a person they could hide what is asked. */
static bool is_unsafe(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x061c || cp == 0x200e || cp == 0x200f ||
		(cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff;
}

/* The same, and everything else without a width; some scripts and emoji need a few of these in running text, no name of a file or a host
 * does. */
static bool is_unseen(uint32_t cp)
{
	return is_unsafe(cp) || cp == 0x00ad || cp == 0x034f || cp == 0x115f || cp == 0x1160 ||
		cp == 0x180e || (cp >= 0x200b && cp <= 0x200d) || (cp >= 0x2060 && cp <= 0x206f) ||
		cp == 0x3164 || cp == 0xffa0 || (cp >= 0xfff9 && cp <= 0xfffb) ||
		(cp >= 0xe0000 && cp <= 0xe007f);
}

size_t text_first_unseen(const char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint32_t cp = 0;
		if (p[i] >= 0x20 && p[i] < 0x7f) {
			i++;
			continue;
		}
		size_t len = text_decode(p + i, n - i, &cp);
		if (len == 0 || is_unseen(cp))
			return i;
		i += len;
	}
	return n;
}

/* Characters that `hides` names and bad bytes become visible escapes. Plain letters are copied by the run. */
static char *escape(struct arena *a, const char *p, size_t n, bool keep_lines, bool (*hides)(uint32_t cp))
{
	struct buf b;

	buf_init(&b, a);
	for (size_t i = 0, plain = 0; i < n; plain = i) {
		while (plain < n && p[plain] >= 0x20 && p[plain] < 0x7f)
			plain++;
		buf_add(&b, p + i, plain - i);
		if ((i = plain) == n)
			break;
		uint32_t cp = 0;
		size_t len = text_decode(p + i, n - i, &cp);
		if (len == 0)
			buf_addf(&b, "\\x%02X", (uint8_t)p[i]);
		else if (!hides(cp) || (keep_lines && (cp == '\n' || cp == '\t')))
			buf_add(&b, p + i, len);
		else if (cp < 0x80)
			buf_addf(&b, "\\x%02X", cp);
		else
			buf_addf(&b, "\\u{%04X}", cp);
		i += len ? len : 1;
	}
	return b.p;
}

char *text_safe(struct arena *a, const char *p, size_t n, bool keep_lines)
{
	return escape(a, p, n, keep_lines, is_unsafe);
}

char *text_seen(struct arena *a, const char *p, size_t n, bool keep_lines)
{
	return escape(a, p, n, keep_lines, is_unseen);
}

/* One word at `p`; NULL when a quote has no end. */
static const char *take_word(const char *p, struct buf *to)
{
	char quote = 0;

	for (; *p && (quote || !strchr(" \t\r\n", *p)); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"') {
			quote = quote ? 0 : *p;
			continue;
		}
		if (*p == '\\' && quote != '\'' && p[1])
			p++;
		buf_addc(to, *p);
	}
	return quote ? NULL : p;
}

bool text_words(struct arena *a, const char *text, const char *const **ret_words, size_t *ret_n)
{
	const char **words = arena_zalloc(a, strlen(text) / 2 + 2, sizeof(*words));
	size_t n = 0;

	for (const char *p = text + strspn(text, " \t\r\n"); *p; p += strspn(p, " \t\r\n")) {
		struct buf word;
		buf_init(&word, a);
		p = take_word(p, &word);
		if (!p)
			return false;
		words[n++] = word.p;
	}
	*ret_words = words;
	*ret_n = n;
	return true;
}

/* For a POSIX shell: inside single quotes nothing is special but the quote itself. */
char *text_quote(struct arena *a, const char *word)
{
	struct buf b;

	buf_init(&b, a);
	buf_addc(&b, '\'');
	for (; *word; word++)
		if (*word == '\'')
			buf_adds(&b, "'\\''");
		else
			buf_addc(&b, *word);
	buf_addc(&b, '\'');
	return b.p;
}

/* Bytes that are no UTF-8 become `mark` and two hex digits. The same pointer when there are none. */
const char *text_utf8(struct arena *a, const char *p, size_t n, const char *mark, size_t *ret_n)
{
	size_t good = text_utf8_valid(p, n);
	struct buf b;

	*ret_n = n;
	if (good == n)
		return p;
	buf_init(&b, a);
	while (good < n) {
		buf_add(&b, p, good);
		buf_addf(&b, "%s%02X", mark, (uint8_t)p[good]);
		p += good + 1;
		n -= good + 1;
		good = text_utf8_valid(p, n);
	}
	buf_add(&b, p, n);
	*ret_n = b.n;
	return b.p;
}

/* ---- integers and fields ---- */

/* The whole text must be a decimal number that fits. Negative numbers are built downwards, so that the
 * smallest one fits, too. */
bool text_int(const char *s, int64_t *ret_value)
{
	bool is_negative = *s == '-';
	int64_t value = 0;

	s += is_negative;
	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return false;
		int digit = is_negative ? '0' - *s : *s - '0';
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value))
			return false;
	}
	*ret_value = value;
	return true;
}

/* The part up to the separator; *rest becomes what is behind it, with p NULL after the last part. */
struct bytes text_cut(struct bytes *rest, char sep)
{
	struct bytes part = *rest;
	const uint8_t *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;

	if (!at) {
		*rest = (struct bytes){ NULL, 0 };
		return part;
	}
	part.n = (size_t)(at - rest->p);
	*rest = (struct bytes){ at + 1, rest->n - part.n - 1 };
	return part;
}

/* ---- times ---- */

#define US_PER_S INT64_C(1000000)
#define S_PER_DAY INT64_C(86400)

struct civil {
	int64_t year;
	int month, day, hour, minute, second, us;
};

/* Days since 1970-01-01 of a date in the Gregorian calendar.  Years start in March here, so that the leap day is the
 * last day of its year and every month's start is a linear formula. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

	return era * 146097 + day_of_era - 719468;
}

/* The inverse of days_from_civil(). Rounds towards the past, so that times before 1970 are right. */
static struct civil civil_from_us(int64_t us)
{
	int64_t s = us / US_PER_S, fraction = us % US_PER_S;
	if (fraction < 0) {
		fraction += US_PER_S;
		s--;
	}
	int64_t days = s / S_PER_DAY, rest = s % S_PER_DAY;
	if (rest < 0) {
		rest += S_PER_DAY;
		days--;
	}
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;
	int month = (int)(mp < 10 ? mp + 3 : mp - 9);

	return (struct civil){ .year = yoe + era * 400 + (month <= 2),
		.month = month,
		.day = (int)(doy - (153 * mp + 2) / 5 + 1),
		.hour = (int)(rest / 3600),
		.minute = (int)(rest / 60 % 60),
		.second = (int)(rest % 60),
		.us = (int)fraction };
}

/* Microseconds are written only when there are any, so a whole second has one spelling. */
static char *print_time(struct arena *a, int64_t us, const char *zone)
{
	struct civil t = civil_from_us(us);
	char fraction[8] = "";

	if (t.us)
		snprintf(fraction, sizeof(fraction), ".%06d", t.us);
	return arena_printf(a, "%04lld-%02d-%02dT%02d:%02d:%02d%s%s", (long long)t.year, t.month, t.day,
		t.hour, t.minute, t.second, fraction, zone);
}

char *text_time_iso(struct arena *a, int64_t us)
{
	return print_time(a, us, "+00:00");
}

char *text_time_z(struct arena *a, int64_t us)
{
	return print_time(a, us, "Z");
}

char *text_time_compact(struct arena *a, int64_t us)
{
	struct civil t = civil_from_us(us);

	return arena_printf(a, "%04lld%02d%02dT%02d%02d%02dZ", (long long)t.year, t.month, t.day, t.hour,
		t.minute, t.second);
}

/* On the reader's clock; for screens only, never for records. */
char *text_time_local(struct arena *a, int64_t us)
{
	time_t seconds = (time_t)(us / 1000000);
	struct tm t;
	char text[32];

	if (us < 0 || !localtime_r(&seconds, &t) || !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &t))
		return text_time_iso(a, us);
	return arena_strdup(a, text);
}

char *text_time_zone(struct arena *a, int64_t us)
{
	time_t seconds = (time_t)(us / 1000000);
	struct tm t;
	char text[64];

	return arena_strdup(
		a, localtime_r(&seconds, &t) && strftime(text, sizeof(text), "%Z", &t) ? text : "UTC");
}

/* A cursor over the text of a time: every step takes what it expects or remembers that it was not there. */
struct time_text {
	const char *p, *end;
	bool is_bad;
};

/* Exactly so many digits. */
static int take_digits(struct time_text *t, int count)
{
	int value = 0;

	for (; count > 0; count--, t->p++) {
		if (t->p == t->end || *t->p < '0' || *t->p > '9') {
			t->is_bad = true;
			return 0;
		}
		value = value * 10 + (*t->p - '0');
	}
	return value;
}

static bool take_char(struct time_text *t, char c)
{
	if (t->p == t->end || *t->p != c)
		return false;
	t->p++;
	return true;
}

static void want_char(struct time_text *t, char c)
{
	if (!take_char(t, c))
		t->is_bad = true;
}

/* Microseconds of ".123456789". Digits past the sixth are cut off; more than nine are refused. */
static int take_fraction(struct time_text *t)
{
	int us = 0, digits = 0;

	if (!take_char(t, '.'))
		return 0;
	for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++, digits++)
		if (digits < 6)
			us = us * 10 + (*t->p - '0');
	if (digits == 0 || digits > 9)
		t->is_bad = true;
	for (; digits < 6; digits++)
		us *= 10;
	return us;
}

/* Seconds east of UTC. */
static int take_offset(struct time_text *t)
{
	if (take_char(t, 'Z') || take_char(t, 'z'))
		return 0;
	int sign = take_char(t, '-') ? -1 : 1;
	if (sign == 1)
		want_char(t, '+');
	int hours = take_digits(t, 2);
	want_char(t, ':');
	int minutes = take_digits(t, 2);
	if (hours > 23 || minutes > 59)
		t->is_bad = true;
	return sign * (hours * 3600 + minutes * 60);
}

static int days_in_month(int64_t year, int month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && is_leap);
}

/* A date and time that exist. Second 60 is allowed only as a leap second. */
static bool is_possible(const struct civil *c, int offset_s)
{
	if (c->year < 1 || c->month < 1 || c->month > 12 || c->day < 1 ||
		c->day > days_in_month(c->year, c->month))
		return false;
	if (c->hour > 23 || c->minute > 59 || c->second > 60)
		return false;
	if (c->second < 60)
		return true;
	/* A leap second is the last of a day in UTC. */
	int64_t utc_s = c->hour * 3600 + c->minute * 60 - offset_s;
	return ((utc_s % S_PER_DAY) + S_PER_DAY) % S_PER_DAY == S_PER_DAY - 60;
}

/* RFC 3339, or the compact form 20240131T235959Z. Anything before, behind or between is refused. */
bool text_parse_time(const char *s, size_t n, int64_t *ret_us)
{
	struct time_text t = { .p = s, .end = s + n };
	struct civil c = { 0 };
	int offset_s = 0;

	c.year = take_digits(&t, 4);
	bool is_compact = !take_char(&t, '-');
	c.month = take_digits(&t, 2);
	if (!is_compact)
		want_char(&t, '-');
	c.day = take_digits(&t, 2);
	if (!take_char(&t, 't'))
		want_char(&t, 'T');
	c.hour = take_digits(&t, 2);
	if (!is_compact)
		want_char(&t, ':');
	c.minute = take_digits(&t, 2);
	if (!is_compact)
		want_char(&t, ':');
	c.second = take_digits(&t, 2);
	if (is_compact) {
		want_char(&t, 'Z');
	} else {
		c.us = take_fraction(&t);
		offset_s = take_offset(&t);
	}
	if (t.is_bad || t.p != t.end || !is_possible(&c, offset_s))
		return false;
	int64_t day_s = c.hour * 3600 + c.minute * 60 + c.second - offset_s;
	*ret_us = (days_from_civil(c.year, c.month, c.day) * S_PER_DAY + day_s) * US_PER_S + c.us;
	return true;
}

/* ---- globs ----
 *
 * The pattern is run as a non-deterministic automaton: the set of pattern positions reached after each character of the
 * text.  So the work is pattern times text whatever the pattern is; backtracking would be a gift to whoever writes it. */

struct glob {
	const char *pattern;
	size_t n;
	bool path;
};

/* One character at p, or one byte where the text is not UTF-8. */
static size_t next_char(const char *p, size_t n, uint32_t *ret_cp)
{
	size_t len = text_decode(p, n, ret_cp);

	if (len)
		return len;
	*ret_cp = 0x110000u + (uint8_t)*p; /* equal to itself, to no character */
	return 1;
}

/* Length of the bracket expression at i, or 0 when the bracket never closes (then it is an ordinary character). */
static size_t bracket_length(const struct glob *g, size_t i)
{
	size_t j = i + 1;

	if (j < g->n && (g->pattern[j] == '!' || g->pattern[j] == '^'))
		j++;
	for (bool is_first = true; j < g->n; j++, is_first = false) {
		if (g->pattern[j] == ']' && !is_first)
			return j + 1 - i;
		if (g->pattern[j] == '\\' && j + 1 < g->n)
			j++;
	}
	return 0;
}

/* An escaped character stands for itself. */
static size_t bracket_char(const struct glob *g, size_t j, uint32_t *ret_cp)
{
	size_t skip = g->pattern[j] == '\\' ? 1 : 0;

	return skip + next_char(g->pattern + j + skip, g->n - j - skip, ret_cp);
}

/* A range compares code points. A '-' at the end stands for itself. */
static bool bracket_matches(const struct glob *g, size_t i, size_t len, uint32_t cp)
{
	size_t j = i + 1, end = i + len - 1;
	bool is_inverted = g->pattern[j] == '!' || g->pattern[j] == '^', found = false;

	j += is_inverted;
	while (j < end) {
		uint32_t low = 0, high;
		j += bracket_char(g, j, &low);
		high = low;
		if (j + 1 < end && g->pattern[j] == '-')
			j += 1 + bracket_char(g, j + 1, &high);
		found |= cp >= low && cp <= high;
	}
	return found != is_inverted;
}

/* Whether the element at i (not a star) takes cp; its length in *ret_len. */
static bool element_matches(const struct glob *g, size_t i, uint32_t cp, size_t *ret_len)
{
	bool can_cross = !g->path || cp != '/';
	uint32_t want = 0;

	if (g->pattern[i] == '?') {
		*ret_len = 1;
		return can_cross;
	}
	if (g->pattern[i] == '[' && (*ret_len = bracket_length(g, i)) > 0)
		return can_cross && bracket_matches(g, i, *ret_len, cp);
	*ret_len = 0;
	if (g->pattern[i] == '\\' && i + 1 < g->n) {
		i++;
		*ret_len = 1;
	}
	*ret_len += next_char(g->pattern + i, g->n - i, &want);
	return cp == want;
}

static size_t star_length(const struct glob *g, size_t i)
{
	size_t n = 0;

	while (i + n < g->n && g->pattern[i + n] == '*')
		n++;
	return n;
}

/* A star may match nothing: being before it is being behind it, too. */
static void pass_stars(const struct glob *g, uint8_t *states)
{
	for (size_t i = 0; i < g->n; i++)
		if (states[i] && g->pattern[i] == '*')
			states[i + star_length(g, i)] = 1;
}

/* The set of positions after one more character. A single star does not cross '/' in paths; two stars do. */
static void glob_step(const struct glob *g, const uint8_t *now, uint8_t *next, uint32_t cp)
{
	memset(next, 0, g->n + 1);
	for (size_t i = 0; i < g->n; i++) {
		size_t len;
		if (!now[i])
			continue;
		if (g->pattern[i] == '*') {
			if (!g->path || cp != '/' || star_length(g, i) > 1)
				next[i] = 1;
		} else if (element_matches(g, i, cp, &len)) {
			next[i + len] = 1;
		}
	}
	pass_stars(g, next);
}

/* The sets of positions in the pattern where the text may be, one character after the other: linear in the
 * text, whatever the stars.  Short patterns keep their two sets on the stack. */
static bool glob_sets(const char *pattern, const char *s, bool path)
{
	AUTO(arena_done) struct arena scratch = { 0 };
	struct glob g = { .pattern = pattern, .n = strlen(pattern), .path = path };
	uint8_t small[2][256];
	uint8_t *now = small[0], *next = small[1];
	size_t n = strlen(s);

	if (g.n >= sizeof(small[0])) {
		now = arena_alloc(&scratch, g.n + 1);
		next = arena_alloc(&scratch, g.n + 1);
	}
	memset(now, 0, g.n + 1);
	now[0] = 1;
	pass_stars(&g, now);
	for (size_t i = 0; i < n;) {
		uint32_t cp;
		i += next_char(s + i, n - i, &cp);
		glob_step(&g, now, next, cp);
		uint8_t *swap = now;
		now = next;
		next = swap;
	}
	return now[g.n] == 1;
}

/* Is it a character that stands for itself in a pattern, one byte long? */
static bool is_literal(char c)
{
	return c && (unsigned char)c < 0x80 && !strchr("*?[\\", c);
}

/* Most patterns begin with letters, and most texts differ from them in one of the first: that needs no
 * sets. */
bool text_glob(const char *pattern, const char *s, bool path)
{
	while (is_literal(*pattern)) {
		if (*s++ != *pattern++)
			return false;
	}
	if (!*pattern)
		return !*s;
	return glob_sets(pattern, s, path);
}

/* ---- nearest name ---- */

enum { NEAREST_LONGEST = 64 };

static size_t min3(size_t x, size_t y, size_t z)
{
	size_t least = x < y ? x : y;

	return least < z ? least : z;
}

/* Optimal string alignment: the number of insertions, deletions, changes and swaps of two neighbours. */
static size_t edit_distance(const char *x, size_t xn, const char *y, size_t yn)
{
	size_t rows[3][NEAREST_LONGEST + 1];
	size_t *above2 = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= yn; j++)
		above[j] = j;
	for (size_t i = 1; i <= xn; i++) {
		row[0] = i;
		for (size_t j = 1; j <= yn; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x[i - 1] != y[j - 1]));
			if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1] &&
				above2[j - 2] + 1 < row[j])
				row[j] = above2[j - 2] + 1;
		}
		size_t *oldest = above2;
		above2 = above;
		above = row;
		row = oldest;
	}
	return above[yn];
}

/* A name counts as near when fewer than half of the word's letters differ, and at most three. */
const char *text_nearest(const char *word, const char *const *names, size_t n)
{
	size_t word_n = strlen(word), best = 4;
	const char *found = NULL;

	if (word_n > NEAREST_LONGEST)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t name_n = strlen(names[i]);
		if (name_n > NEAREST_LONGEST)
			continue;
		size_t d = edit_distance(word, word_n, names[i], name_n);
		if (d < best && d * 2 < word_n) {
			best = d;
			found = names[i];
		}
	}
	return found;
}

/* ---- folding ---- */

/* utf8proc allocates what it returns; it is copied into the arena and freed here. Text that cannot be
 * mapped stays as it is. */
static char *map_text(struct arena *a, const char *p, size_t n, utf8proc_option_t options)
{
	utf8proc_uint8_t *mapped = NULL;
	utf8proc_ssize_t got =
		utf8proc_map((const utf8proc_uint8_t *)p, (utf8proc_ssize_t)n, &mapped, options);
	char *copy = got < 0 ? arena_strndup(a, p, n) : arena_strndup(a, (const char *)mapped, (size_t)got);

	free(mapped);
	return copy;
}

static bool is_ascii(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((uint8_t)p[i] >= 0x80)
			return false;
	return true;
}

/* For names that must not differ in case or form only, as on file systems that ignore it. */
char *text_fold(struct arena *a, const char *p, size_t n)
{
	if (!is_ascii(p, n))
		return map_text(a, p, n, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
	char *copy = arena_strndup(a, p, n);
	for (char *c = copy; c < copy + n; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return copy;
}

/* One form for characters that can be written in several ways, case untouched. */
char *text_nfc(struct arena *a, const char *p, size_t n)
{
	return is_ascii(p, n) ? arena_strndup(a, p, n)
			      : map_text(a, p, n, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
}

/* Ids become parts of paths, so they hold no '/' and begin with no dot. */
bool text_is_id(const char *s)
{
	size_t n = strlen(s);

	return n >= 1 && n <= 128 &&
		strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n &&
		!strchr("._-", s[0]);
}

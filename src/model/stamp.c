/* stamp.c — times as signed records spell them; see stamp.h.
 *
 * A time is hashed as text, so one moment must have one spelling: no trailing zeros in the fraction, "Z"
 * for a zero offset. The text is cut into whole seconds, fraction and offset. base/text checks the date;
 * only the fraction needs care here, because base/text keeps microseconds and records keep nanoseconds. */
#include "model/stamp.h"

#include "base/text.h"

/* A time cut into pieces; the pointers lead into the text it was read from. */
struct parts {
	int64_t whole_us; /* of the whole second, UTC */
	uint32_t ns;
	const char *fraction; /* digits without trailing zeros */
	size_t fraction_n;
	const char *offset; /* "Z", "+02:00" */
	size_t offset_n;
};

enum { SECONDS_N = 19 }; /* YYYY-MM-DDTHH:MM:SS */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits and separators where they belong, and at least one byte behind them for the offset. */
static bool has_shape(const char *s, size_t n)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";

	if (n < SECONDS_N + 1)
		return false;
	for (size_t i = 0; i < SECONDS_N; i++)
		if (shape[i] == 'd' ? !is_digit(s[i]) : s[i] != shape[i])
			return false;
	return true;
}

static bool offset_ok(const char *s, size_t n)
{
	if (n == 1)
		return s[0] == 'Z';
	return n == 6 && (s[0] == '+' || s[0] == '-') && is_digit(s[1]) && is_digit(s[2]) && s[3] == ':' &&
		is_digit(s[4]) && is_digit(s[5]);
}

/* Fewer than nine digits are filled up with zeros. */
static uint32_t nanoseconds(const char *digits, size_t n)
{
	uint32_t ns = 0;

	for (size_t i = 0; i < 9; i++)
		ns = ns * 10 + (i < n ? (uint32_t)(digits[i] - '0') : 0);
	return ns;
}

/* Digits behind the ninth are cut off, as readers with nanoseconds do. The date without its fraction goes
 * to base/text, which refuses days and hours that do not exist. */
static bool parse(const char *s, size_t n, struct parts *ret)
{
	char plain[SECONDS_N + 7];
	size_t at = SECONDS_N, digits = 0;

	if (!has_shape(s, n))
		return false;
	if (s[at] == '.') {
		while (++at < n && is_digit(s[at]))
			digits++;
		if (digits == 0)
			return false;
	}
	if (!offset_ok(s + at, n - at))
		return false;
	ret->offset = s + at;
	ret->offset_n = n - at;
	ret->fraction = s + SECONDS_N + 1;
	ret->fraction_n = digits > 9 ? 9 : digits;
	while (ret->fraction_n > 0 && ret->fraction[ret->fraction_n - 1] == '0')
		ret->fraction_n--;
	ret->ns = nanoseconds(ret->fraction, ret->fraction_n);
	memcpy(plain, s, SECONDS_N);
	memcpy(plain + SECONDS_N, ret->offset, ret->offset_n);
	return text_parse_time(plain, SECONDS_N + ret->offset_n, &ret->whole_us);
}

/* "+00:00" and "-00:00" are "Z". */
static bool is_zero_offset(const struct parts *p)
{
	return p->offset_n == 1 || memcmp(p->offset + 1, "00:00", 5) == 0;
}

/* With `utc` the time is moved to UTC; otherwise it keeps its offset. NULL for what is no time. */
char *stamp_canonical(struct arena *a, const char *s, size_t n, bool utc)
{
	struct parts p;
	const char *seconds = s, *offset;
	struct buf b;

	if (!parse(s, n, &p))
		return NULL;
	offset = is_zero_offset(&p) || utc ? "Z" : arena_strndup(a, p.offset, p.offset_n);
	/* The whole seconds alone are rewritten; an offset never changes the fraction. */
	if (utc && !is_zero_offset(&p))
		seconds = text_time_z(a, p.whole_us);
	buf_init(&b, a);
	buf_add(&b, seconds, SECONDS_N);
	if (p.fraction_n > 0) {
		buf_addc(&b, '.');
		buf_add(&b, p.fraction, p.fraction_n);
	}
	buf_adds(&b, offset);
	return b.p;
}

/* Seconds and nanoseconds are subtracted apart and then borrowed, so that no precision is lost. */
bool stamp_between(const char *x, const char *y, int64_t *ret_s, int64_t *ret_ns)
{
	struct parts from, to;
	int64_t s, ns;

	if (!x || !y || !parse(x, strlen(x), &from) || !parse(y, strlen(y), &to))
		return false;
	s = to.whole_us / 1000000 - from.whole_us / 1000000;
	ns = (int64_t)to.ns - from.ns;
	if (ns < 0) {
		s--;
		ns += 1000000000;
	}
	*ret_s = s;
	*ret_ns = ns;
	return true;
}

bool stamp_compare(const char *x, const char *y, int *ret_order)
{
	int64_t s, ns;

	if (!stamp_between(x, y, &s, &ns))
		return false;
	*ret_order = s < 0 ? 1 : s > 0 || ns > 0 ? -1 : 0;
	return true;
}

/* "Z" itself, with at most so many digits of fraction. */
bool stamp_is_utc(const char *s, int max_digits)
{
	struct parts p;
	size_t n = s ? strlen(s) : 0;

	if (!s || !parse(s, n, &p) || p.offset_n != 1)
		return false;
	return n <= SECONDS_N + 1 || n - SECONDS_N - 2 <= (size_t)max_digits;
}

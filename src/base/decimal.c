/* decimal.c — exact comparison of decimal numbers as they are written; see decimal.h.
 *
 * JSON Schema compares numbers of any size, and a double would round them: 9007199254740993 is not
 * 9007199254740992. So a number stays its digits: digits without zeros at either end, and the place of the
 * decimal point. Comparing is then comparing texts; divisibility is arithmetic modulo the divisor. */
#include "base/decimal.h"

/* The token is a well-formed JSON number. False only when the exponent is beyond 32 bits. */
bool decimal_read(const char *token, struct decimal *ret)
{
	const char *p = token + (*token == '-');
	const char *end = p + strspn(p, "0123456789.");
	const char *dot = memchr(p, '.', (size_t)(end - p));
	int64_t exponent = 0;

	if (*end && !text_int(end[1] == '+' ? end + 2 : end + 1, &exponent))
		return false;
	if (exponent > INT32_MAX || exponent < INT32_MIN)
		return false;
	int64_t point = (dot ? dot : end) - p + exponent;
	/* Leading zeros move the point; the dot itself does not count as a
	 * digit. */
	for (; p < end && (*p == '0' || *p == '.'); p++)
		point -= *p == '0';
	while (end > p && (end[-1] == '0' || end[-1] == '.'))
		end--;
	bool has_dot = dot && dot > p && dot < end;
	*ret = (struct decimal){ .digits = p, .n = (size_t)(end - p) - has_dot };
	if (ret->n) {
		ret->sign = *token == '-' ? -1 : 1;
		ret->point = point;
	}
	return true;
}

/* The next digit; the dot that may stand among the digits is stepped over. */
static inline char digit_at(const char **p)
{
	if (**p == '.')
		(*p)++;
	return *(*p)++;
}

/* The digits have no leading zeros, so the place of the point decides first. */
static int cmp_magnitude(const struct decimal *x, const struct decimal *y)
{
	const char *px = x->digits, *py = y->digits;
	size_t n = x->n < y->n ? x->n : y->n;

	if (x->point != y->point)
		return x->point < y->point ? -1 : 1;
	for (size_t i = 0; i < n; i++) {
		char cx = digit_at(&px), cy = digit_at(&py);
		if (cx != cy)
			return cx < cy ? -1 : 1;
	}
	return (x->n > y->n) - (x->n < y->n);
}

int decimal_cmp(const struct decimal *x, const struct decimal *y)
{
	if (x->sign != y->sign)
		return x->sign < y->sign ? -1 : 1;
	return x->sign == 0 ? 0 : x->sign * cmp_magnitude(x, y);
}

/* The power of ten of the last digit. */
static int64_t last_place(const struct decimal *d)
{
	return d->point - (int64_t)d->n;
}

bool decimal_is_integer(const struct decimal *d)
{
	return d->sign == 0 || last_place(d) >= 0;
}

static uint64_t mulmod(uint64_t x, uint64_t y, uint64_t m)
{
	return (uint64_t)((unsigned __int128)x * y % m);
}

static uint64_t digits_mod(const struct decimal *d, uint64_t m)
{
	const char *p = d->digits;
	uint64_t r = 0;

	for (size_t i = 0; i < d->n; i++)
		r = (mulmod(r, 10, m) + (uint64_t)(digit_at(&p) - '0')) % m;
	return r;
}

/* 10^exponent mod m by repeated squaring, so a huge exponent costs no more than 64 steps. */
static uint64_t pow10_mod(uint64_t exponent, uint64_t m)
{
	uint64_t r = 1 % m;

	for (uint64_t base = 10 % m; exponent; exponent >>= 1, base = mulmod(base, base, m))
		if (exponent & 1)
			r = mulmod(r, base, m);
	return r;
}

/* Neither number's digits end in zero. So when the value has finer places than the divisor it cannot be a
 * multiple; otherwise both are scaled to whole numbers, and the remainder is computed without ever forming
 * the value. */
bool decimal_is_multiple(const struct decimal *value, const struct decimal *divisor)
{
	const char *p = divisor->digits;
	uint64_t m = 0;

	if (value->sign == 0)
		return true;
	if (last_place(value) < last_place(divisor))
		return false;
	for (size_t i = 0; i < divisor->n; i++)
		m = m * 10 + (uint64_t)(digit_at(&p) - '0');
	uint64_t shift = (uint64_t)(last_place(value) - last_place(divisor));
	return mulmod(digits_mod(value, m), pow10_mod(shift, m), m) == 0;
}

void decimal_write(struct buf *to, const struct decimal *d)
{
	const char *p = d->digits;

	if (d->sign == 0) {
		buf_addc(to, '0');
		return;
	}
	if (d->sign < 0)
		buf_addc(to, '-');
	for (size_t i = 0; i < d->n; i++)
		buf_addc(to, digit_at(&p));
	buf_addf(to, "e%lld", (long long)last_place(d));
}

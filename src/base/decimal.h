/* decimal.h — numbers as JSON writes them, compared exactly.
 *
 * A double has 53 bits and a limit in a policy may have more digits than that; so a number token is taken apart into sign,
 * digits and exponent, and compared as the decimal it is.  1, 1.0 and 10e-1 are the same number here. */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include "base/text.h"

/* value = sign * 0.DIGITS * 10^point, DIGITS without zeros at either end (none for zero).  Points into the token. */
struct decimal {
	int sign; /* -1, 0, 1 */
	const char *digits; /* may hold one '.' */
	size_t n; /* digits, without the point */
	int64_t point;
};

/* From a number token of the JSON grammar (json.h keeps them).  False when the exponent does not fit 32 bits. */
bool decimal_read(const char *token, struct decimal *ret);

int decimal_cmp(const struct decimal *x, const struct decimal *y);
bool decimal_is_integer(const struct decimal *d);
/* value is a whole multiple of divisor, which is positive and has at most 18 digits. */
bool decimal_is_multiple(const struct decimal *value, const struct decimal *divisor);
/* One spelling per number, for comparing texts: "0", "-125e-2". */
void decimal_write(struct buf *to, const struct decimal *d);

enum { DECIMAL_DIVISOR_DIGITS = 18 };

#endif

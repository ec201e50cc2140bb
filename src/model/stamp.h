/* stamp.h — times as signed records spell them.
 *
 * Preimages hold times as text with up to nine fraction digits.  A reader prints them again by one rule: fraction without
 * trailing zeros, "Z" for offset zero, another offset kept.  Nothing passes a number of microseconds, so nothing is cut. */
#ifndef MODEL_STAMP_H
#define MODEL_STAMP_H

#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* How a time that was never set is written. */
#define STAMP_UNSET "0001-01-01T00:00:00Z"

/* The canonical spelling of an RFC 3339 time, or NULL when it is none.  Digits after the ninth are cut.  With `utc` the
 * time is converted to offset zero first. */
char *stamp_canonical(struct arena *a, const char *s, size_t n, bool utc);

/* Compare two RFC 3339 times to the nanosecond.  False when one is not a time. */
bool stamp_compare(const char *x, const char *y, int *ret_order);

/* Seconds from x to y, rounded down, with the nanoseconds that remain (0..999999999). */
bool stamp_between(const char *x, const char *y, int64_t *ret_s, int64_t *ret_ns);

/* Spelled with "Z", and with at most `max_digits` fraction digits. */
bool stamp_is_utc(const char *s, int max_digits);

#endif

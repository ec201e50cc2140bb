/* stamp.c — see stamp.h.  Times are taken apart as text and put together again: a double or a 64-bit count of nanoseconds
 * could not hold the years 1 to 9999. */
#include "proof/stamp.h"

#include "base/text.h"

struct stamp {
	int64_t seconds; /* since 1970, as the clock on the wall shows them */
	int offset_minutes;
	char fraction[10]; /* digits without trailing zeros */
};

static bool take_number(const char **s, int digits, int64_t max, int64_t *ret)
{
	int64_t value = 0;

	for (int i = 0; i < digits; i++, (*s)++) {
		if (**s < '0' || **s > '9')
			return false;
		value = value * 10 + (**s - '0');
	}
	*ret = value;
	return value <= max;
}

static bool take_char(const char **s, char c)
{
	return *(*s)++ == c;
}

static bool is_leap(int64_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t month_days(int64_t year, int64_t month)
{
	static const int8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar, years counted from March so that the leap day is last. */
static int64_t days_from_date(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_from_days(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
	int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * y + y / 4 - y / 100), m = (5 * of_year + 2) / 153;

	*day = of_year - (153 * m + 2) / 5 + 1;
	*month = m < 10 ? m + 3 : m - 9;
	*year = y + era * 400 + (*month <= 2);
}

static bool take_date(const char **s, int64_t *ret_days)
{
	int64_t year, month, day;

	if (!take_number(s, 4, 9999, &year) || !take_char(s, '-') || !take_number(s, 2, 12, &month) ||
		!month || !take_char(s, '-') || !take_number(s, 2, 31, &day) || !day ||
		day > month_days(year, month))
		return false;
	*ret_days = days_from_date(year, month, day);
	return true;
}

static bool take_fraction(const char **s, char fraction[10])
{
	int n = 0;

	fraction[0] = 0;
	if (**s != '.')
		return true;
	for ((*s)++; **s >= '0' && **s <= '9'; (*s)++, n++)
		if (n < 9) {
			fraction[n] = **s;
			fraction[n + 1] = 0;
		}
	for (int last = (n > 9 ? 9 : n) - 1; last >= 0 && fraction[last] == '0'; last--)
		fraction[last] = 0;
	return n > 0;
}

static bool take_offset(const char **s, int *ret_minutes)
{
	int64_t hours, minutes;
	char sign = *(*s)++;

	*ret_minutes = 0;
	if (sign == 'Z')
		return true;
	if ((sign != '+' && sign != '-') || !take_number(s, 2, 23, &hours) || !take_char(s, ':') ||
		!take_number(s, 2, 59, &minutes))
		return false;
	*ret_minutes = (int)(hours * 60 + minutes) * (sign == '-' ? -1 : 1);
	return true;
}

static bool parse(const char *s, struct stamp *t)
{
	int64_t days, hour, minute, second;

	if (!take_date(&s, &days) || !take_char(&s, 'T') || !take_number(&s, 2, 23, &hour) ||
		!take_char(&s, ':') || !take_number(&s, 2, 59, &minute) || !take_char(&s, ':') ||
		!take_number(&s, 2, 59, &second) || !take_fraction(&s, t->fraction) ||
		!take_offset(&s, &t->offset_minutes))
		return false;
	t->seconds = days * 86400 + hour * 3600 + minute * 60 + second;
	return *s == 0;
}

char *stamp_canonical(struct arena *a, const char *s, bool to_utc)
{
	struct stamp t;
	int64_t year, month, day, of_day;
	char zone[8] = "Z";

	if (!s || !parse(s, &t))
		return NULL;
	if (to_utc) {
		t.seconds -= t.offset_minutes * 60;
		t.offset_minutes = 0;
	}
	of_day = ((t.seconds % 86400) + 86400) % 86400;
	date_from_days((t.seconds - of_day) / 86400, &year, &month, &day);
	if (year < 0 || year > 9999)
		return NULL;
	if (t.offset_minutes) {
		int minutes = t.offset_minutes < 0 ? -t.offset_minutes : t.offset_minutes;
		snprintf(zone, sizeof(zone), "%c%02d:%02d", t.offset_minutes < 0 ? '-' : '+',
			minutes / 60 % 100, minutes % 60);
	}
	return arena_printf(a, "%04d-%02d-%02dT%02d:%02d:%02d%s%s%s", (int)year, (int)month, (int)day,
		(int)(of_day / 3600), (int)(of_day / 60 % 60), (int)(of_day % 60), t.fraction[0] ? "." : "",
		t.fraction, zone);
}

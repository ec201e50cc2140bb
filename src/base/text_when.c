/* text_when.c — times as people type them and read them, on the clock of this machine's time zone.
 *
 * The one grammar behind every option that takes a time or a span.  What is recorded is read with text_parse_time(), which knows no
 * local clock: the same bytes must mean the same moment everywhere. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define US_PER_S INT64_C(1000000)

enum { LONGEST_SPAN = 1000000, DAY_LENGTH = sizeof("2026-05-01") - 1 };

/* The limit on the number keeps the product from overflowing. */
bool text_span(const char *s, int64_t *ret_us)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 7 * 86400 } };
	char digits[16];
	size_t n = strlen(s);
	int64_t count;

	if (n < 2 || n > sizeof(digits) || s[0] < '0' || s[0] > '9')
		return false;
	memcpy(digits, s, n - 1);
	digits[n - 1] = '\0';
	if (!text_int(digits, &count) || count < 1 || count > LONGEST_SPAN)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (s[n - 1] == units[i].unit) {
			*ret_us = count * units[i].seconds * US_PER_S;
			return true;
		}
	return false;
}

/* A date as the clock on the wall shows it; `days` later.  An hour that daylight saving time leaves out is taken as mktime() does. */
static bool local_us(struct tm t, int days, int64_t *ret_us)
{
	t.tm_mday += days;
	t.tm_isdst = -1;
	time_t seconds = mktime(&t);

	*ret_us = (int64_t)seconds * US_PER_S;
	return seconds != (time_t)-1;
}

/* From the midnight before to the next one. */
static bool whole_day(struct tm t, struct text_when *ret)
{
	t.tm_hour = t.tm_min = t.tm_sec = 0;
	return local_us(t, 0, &ret->from_us) && local_us(t, 1, &ret->to_us);
}

static bool named_day(int64_t now_us, int back, struct text_when *ret)
{
	time_t seconds = (time_t)(now_us / US_PER_S);
	struct tm t;

	if (!localtime_r(&seconds, &t))
		return false;
	t.tm_mday -= back;
	return whole_day(t, ret);
}

/* A date, or a date and a time, without a zone.  Read as if it were UTC, which says whether it exists, and then taken for the local clock. */
static bool without_zone(const char *s, struct text_when *ret)
{
	static const char *const ends[] = { "T00:00:00Z", ":00Z", "Z" };
	char full[40];
	size_t n = strlen(s);
	int64_t us;

	for (size_t i = 0; i < ARRAY_SIZE(ends) && n >= DAY_LENGTH && n < 20; i++) {
		snprintf(full, sizeof(full), "%s%s", s, ends[i]);
		full[DAY_LENGTH] = full[DAY_LENGTH] == ' ' ? 'T' : full[DAY_LENGTH];
		if (!text_parse_time(full, strlen(full), &us))
			continue;
		time_t seconds = (time_t)(us / US_PER_S);
		struct tm t;
		if (!gmtime_r(&seconds, &t))
			return false;
		if (i == 0)
			return whole_day(t, ret);
		bool is_time = local_us(t, 0, &ret->from_us);
		ret->to_us = ret->from_us;
		return is_time;
	}
	return false;
}

bool text_when(const char *s, int64_t now_us, struct text_when *ret)
{
	struct text_when when = { 0 };
	char full[64];
	int64_t span;

	snprintf(full, sizeof(full), "%s", s);
	if (strlen(full) > DAY_LENGTH && full[DAY_LENGTH] == ' ')
		full[DAY_LENGTH] = 'T';
	if (text_eq(s, "today") || text_eq(s, "yesterday")) {
		if (!named_day(now_us, *s == 'y', &when))
			return false;
	} else if (text_span(s, &span)) {
		when.from_us = when.to_us = now_us - span;
	} else if (strlen(s) < sizeof(full) && text_parse_time(full, strlen(full), &when.from_us)) {
		when.to_us = when.from_us;
	} else if (!without_zone(s, &when)) {
		return false;
	}
	*ret = when;
	return true;
}

char *text_when_words(struct arena *a, int64_t us)
{
	return arena_printf(a, "%.*s %s", (int)sizeof("2026-05-01 09:00") - 1, text_time_local(a, us),
		text_time_zone(a, us));
}

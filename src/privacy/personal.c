/* personal.c — the shapes of what belongs to a person: addresses and numbers.
 *
 * Each matcher is asked at a byte that its shape cannot do without ('@' of an address, the first digit of a number) and looks around it, so
 * that ordinary text costs one look a byte.  Numbers are the hard part, since programs, logs and tables are made of them: where a checksum
 * exists it must hold; a telephone number must be written as one. */
#include "privacy/parts.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool digit(const char *text, size_t n, size_t at)
{
	return at < n && isdigit((unsigned char)text[at]);
}

static bool letter(const char *text, size_t n, size_t at)
{
	return at < n && isalpha((unsigned char)text[at]);
}

static bool alnum(const char *text, size_t n, size_t at)
{
	return at < n && isalnum((unsigned char)text[at]);
}

static size_t digits_from(const char *text, size_t n, size_t at)
{
	size_t end = at;

	while (digit(text, n, end))
		end++;
	return end - at;
}

static int number(const char *p, size_t n)
{
	int value = 0;

	for (size_t i = 0; i < n; i++)
		value = value * 10 + (p[i] - '0');
	return value;
}

/* ---- EMAIL ---- */

static bool is_local(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.+-", c));
}

/* "a name with blanks"@host: where the quoted name begins; `at` when there is none. */
static size_t quoted_local(const char *text, size_t at)
{
	size_t i = at < 3 || text[at - 1] != '"' ? 0 : at - 2;

	for (; i && at - i < 64 && (unsigned char)text[i] >= ' ' && text[i] != '"'; i--)
		;
	return at >= 3 && text[at - 1] == '"' && text[i] == '"' && i + 2 < at ? i : at;
}

/* Asked at '@'.  The name before it is ASCII, or quoted outside of program text; a host has two parts at least, and the last is two letters or more. */
bool personal_email(const char *text, size_t n, size_t at, bool is_strict, struct place *ret)
{
	size_t start = at, end = 0, part = at + 1, i = at + 1;

	while (start && at - start < 64 && is_local(text[start - 1]))
		start--;
	if (start == at && !is_strict)
		start = quoted_local(text, at);
	if (start == at || (start && is_local(text[start - 1])))
		return false;
	for (; i < n && i - at < 255 && (isalnum((unsigned char)text[i]) || text[i] == '-' || text[i] == '.');
		i++) {
		if (text[i] == '.') {
			if (i == part)
				break;
			part = i + 1;
		}
	}
	/* The longest host that ends in a part of letters with nothing behind it. */
	for (size_t stop = i; stop > at + 1 && !end; stop--) {
		size_t first = stop;
		while (first > at + 1 && isalpha((unsigned char)text[first - 1]))
			first--;
		bool is_word_behind = stop < n && (isalnum((unsigned char)text[stop]) || text[stop] == '_');
		if (stop - first >= 2 && first > at + 2 && text[first - 1] == '.' && !is_word_behind)
			end = stop;
	}
	if (!end)
		return false;
	/* name@2x.png, and addresses that documents use for nobody */
	if (is_strict) {
		const char *host = text + at + 1;
		size_t len = end - at - 1;
		static const char *const nobody[] = { "example.com", "example.org", "example.net", ".example",
			".test", ".invalid", ".png", ".jpg", ".svg", ".local" };
		for (size_t k = 0; k < ARRAY_SIZE(nobody); k++) {
			size_t m = strlen(nobody[k]);
			if (len >= m && strncasecmp(host + len - m, nobody[k], m) == 0)
				return false;
		}
	}
	*ret = (struct place){ start, end };
	return true;
}

/* ---- KOREAN_RRN ---- */

/* Asked at the first of a run of digits: six digits that are a date, '-', 1 to 4, six digits. */
bool personal_rrn(const char *text, size_t n, size_t at, bool is_strict, struct place *ret)
{
	const char *p = text + at;

	(void)is_strict;
	if (digits_from(text, n, at) != 6 || at + 14 > n || p[6] != '-' || digits_from(text, n, at + 7) != 7)
		return false;
	int month = number(p + 2, 2), day = number(p + 4, 2);
	if (p[7] < '1' || p[7] > '4' || month < 1 || month > 12 || day < 1 || day > 31)
		return false;
	*ret = (struct place){ at, at + 14 };
	return true;
}

/* ---- CREDIT_CARD ---- */

/* Four hexadecimal digits from here, and no more. */
static bool is_code(const char *text, size_t n, size_t at)
{
	size_t len = 0;

	while (at + len < n && len < 5 && isalnum((unsigned char)text[at + len]))
		if (!isxdigit((unsigned char)text[at + len++]))
			return false;
	return len == 4;
}

/* Groups in a row of a table of codes go on before or behind: 5145 5144 5189 518A. */
static bool is_in_table(const char *text, size_t n, size_t start, size_t end)
{
	if (start >= 5 && text[start - 1] == ' ' &&
		(start == 5 || !isalnum((unsigned char)text[start - 6])) &&
		is_code(text, start - 1, start - 5))
		return true;
	return end < n && text[end] == ' ' && is_code(text, n, end + 1);
}

/* Asked at the first of a run of digits: 13 to 19, with single blanks or '-' between them, and the sum of Luhn. */
bool personal_card(const char *text, size_t n, size_t at, bool is_strict, struct place *ret)
{
	char card[20];
	size_t count = 0, i = at, end = at, gaps = 0;
	int sum = 0;

	while (i < n && count < 20) {
		if (digit(text, n, i)) {
			if (count < 19)
				card[count] = text[i];
			count++;
			end = ++i;
		} else if (count && (text[i] == ' ' || text[i] == '-') && digit(text, n, i + 1)) {
			gaps++;
			i++;
		} else {
			break;
		}
	}
	if (count < 13 || count > 19)
		return false;
	for (size_t k = 0; k < count; k++) {
		int d = card[count - 1 - k] - '0';
		if (k % 2)
			d = d * 2 > 9 ? d * 2 - 9 : d * 2;
		sum += d;
	}
	if (sum == 0 || sum % 10)
		return false;
	/* A tenth of all numbers has that sum; in programs the issuer's digit and the groups must be right, too, and no letter touch it. */
	if (is_strict &&
		(!strchr("3456", card[0]) || gaps < 3 || count > 16 || is_in_table(text, n, at, end) ||
			(at && isalnum((unsigned char)text[at - 1])) ||
			(end < n && isalnum((unsigned char)text[end]))))
		return false;
	*ret = (struct place){ at, end };
	return true;
}

/* ---- IBAN ---- */

/* Asked at a capital: two capitals, two digits, 11 to 30 capitals and digits, in groups of four or not; modulo 97 it is 1. */
bool personal_iban(const char *text, size_t n, size_t at, bool is_strict, struct place *ret)
{
	char plain[36];
	size_t count = 0, end = at;
	unsigned rest = 0;

	(void)is_strict;
	if (at + 15 > n || !isupper((unsigned char)text[at]) || !isupper((unsigned char)text[at + 1]) ||
		!digit(text, n, at + 2) || !digit(text, n, at + 3))
		return false;
	for (size_t i = at; i < n && count <= 34; i++) {
		if (text[i] == ' ' && count % 4 == 0 && i + 1 < n &&
			(isupper((unsigned char)text[i + 1]) || digit(text, n, i + 1)))
			continue;
		if (!isupper((unsigned char)text[i]) && !digit(text, n, i))
			break;
		plain[count++] = text[i];
		end = i + 1;
	}
	if (count < 15 || count > 34 || alnum(text, n, end))
		return false;
	for (size_t k = 0; k < count; k++) {
		char c = plain[(k + 4) % count];
		rest = isdigit((unsigned char)c) ? (rest * 10 + (unsigned)(c - '0')) % 97
						 : (rest * 100 + (unsigned)(c - 'A' + 10)) % 97;
	}
	*ret = (struct place){ at, end };
	return rest == 1;
}

/* ---- IP_ADDRESS, MAC_ADDRESS ---- */

/* Asked at the first of a run of digits: four numbers up to 255.  Loopback and "any" are nobody's. */
bool personal_ip(const char *text, size_t n, size_t at, bool is_strict, struct place *ret)
{
	size_t i = at;
	int first = 0;

	(void)is_strict;
	if (at && (text[at - 1] == '.' || text[at - 1] == '-' || letter(text, n, at - 1)))
		return false;
	for (int part = 0; part < 4; part++) {
		size_t len = digits_from(text, n, i);
		if (!len || len > 3 || number(text + i, len) > 255 || (len > 1 && text[i] == '0'))
			return false;
		if (!part)
			first = number(text + i, len);
		i += len;
		if (part < 3 && (i >= n || text[i++] != '.'))
			return false;
	}
	if ((i < n && (alnum(text, n, i) || text[i] == '_')) ||
		(i + 1 < n && text[i] == '.' && digit(text, n, i + 1)))
		return false;
	*ret = (struct place){ at, i };
	return first != 127 && first != 0;
}

/* Asked where a word starts: six pairs of hexadecimal digits with ':' or '-' between them. */
bool personal_mac(const char *text, size_t n, size_t at, bool is_strict, struct place *ret)
{
	(void)is_strict;
	if (at + 17 > n || (text[at + 2] != ':' && text[at + 2] != '-'))
		return false;
	for (size_t i = 0; i < 17; i++)
		if (i % 3 == 2 ? text[at + i] != text[at + 2] : !isxdigit((unsigned char)text[at + i]))
			return false;
	if (at + 17 < n && (alnum(text, n, at + 17) || text[at + 17] == text[at + 2]))
		return false;
	*ret = (struct place){ at, at + 17 };
	return true;
}

/* ---- PHONE ---- */

static bool separator(const char *text, size_t n, size_t at)
{
	return at < n && (text[at] == '-' || text[at] == '.' || isspace((unsigned char)text[at]));
}

/* Behind an optional separator. */
static size_t past(const char *text, size_t n, size_t at, bool with)
{
	return with && separator(text, n, at) ? at + 1 : at;
}

/* Three or four digits, an optional separator, four digits, and no digit behind them; 0: no. */
static size_t phone_tail(const char *text, size_t n, size_t at)
{
	for (size_t len = 4; len >= 3; len--) {
		if (digits_from(text, n, at) < len)
			continue;
		size_t next = past(text, n, at + len, true);
		if (digits_from(text, n, next) == 4)
			return next + 4;
	}
	return 0;
}

/* An optional group of two to four digits, with or without parentheses, then the rest.  As many digits as possible are taken first. */
static size_t phone_area(const char *text, size_t n, size_t at)
{
	size_t open = at < n && text[at] == '(' ? at + 1 : at;

	for (size_t len = 4; len >= 2; len--) {
		if (digits_from(text, n, open) < len)
			continue;
		size_t next = open + len;
		if (next < n && text[next] == ')')
			next++;
		for (int with = 1; with >= 0; with--) {
			size_t end = phone_tail(text, n, past(text, n, next, with));
			if (end)
				return end;
		}
	}
	return open == at ? phone_tail(text, n, at) : 0;
}

/* One to three digits of a country before that, or none. */
static size_t phone_end(const char *text, size_t n, size_t at)
{
	size_t open = at < n && text[at] == '+' ? at + 1 : at;

	for (size_t len = 3; len >= 1; len--) {
		if (digits_from(text, n, open) < len)
			continue;
		for (int with = 1; with >= 0; with--) {
			size_t end = phone_area(text, n, past(text, n, open + len, with));
			if (end)
				return end;
		}
	}
	return open == at ? phone_area(text, n, at) : 0;
}

/* Does a word before it say that it is one? */
static bool is_announced(const char *text, size_t at)
{
	static const char *const words[] = { "tel", "phone", "mobile", "cell", "fax", "call", "hotline",
		"\xec\xa0\x84\xed\x99\x94", "\xed\x9c\xb4\xeb\x8c\x80\xed\x8f\xb0",
		"\xec\x97\xb0\xeb\x9d\xbd\xec\xb2\x98" };

	for (size_t k = at; k && at - k < 24 && text[k - 1] != '\n'; k--) {
		/* Only where a word begins. */
		unsigned char c = (unsigned char)text[k - 1];
		if (!(isalpha(c) || c >= 0xe0) || (k > 1 && isalnum((unsigned char)text[k - 2])))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			size_t len = strlen(words[i]);
			if (at - k + 1 >= len && strncasecmp(text + k - 1, words[i], len) == 0)
				return true;
		}
	}
	return false;
}

/* 20260701-0001, 1999-2004: a date or a span of years, written as nobody writes a telephone number. */
static bool is_date(const char *p, size_t n)
{
	size_t len = digits_from(p, n, 0);

	if (len != 4 && len != 8)
		return false;
	int year = number(p, 4);
	if (year < 1900 || year > 2099)
		return false;
	if (len == 8)
		return number(p + 4, 2) <= 12 && number(p + 6, 2) <= 31;
	return n == 9 && digits_from(p, n, 5) == 4 && number(p + 5, 4) >= 1900 && number(p + 5, 4) <= 2099;
}

/* 3.4567890, 0.123.4567, 1.2.3.4567890: a fraction, or the number of a version. */
static bool is_fraction(const char *text, size_t n, size_t at, size_t end)
{
	size_t dots = 0, first = digits_from(text, n, at);

	for (size_t i = at; i < end; i++) {
		if (!digit(text, n, i) && text[i] != '.')
			return false;
		dots += text[i] == '.';
	}
	return (dots == 1 && end - at - first - 1 > 4) || (dots == 2 && first == 1) ||
		(dots && at > 1 && text[at - 1] == '.' && digit(text, n, at - 2));
}

/* Asked at '+', '(' or the first of a run of digits.  Digits alone, and numbers in a table, are none: it has a '+', parentheses or separators, or
 * is announced as a telephone number; blanks as separators only behind one of these or a leading zero. */
bool personal_phone(const char *text, size_t n, size_t at, bool is_strict, struct place *ret)
{
	size_t digits = 0, marks = 0, blanks = 0, end = at;

	/* Most numbers are too short, and that is seen at once. */
	for (; end < n && end < at + 24 &&
		(digit(text, n, end) || separator(text, n, end) || text[end] == '+' || text[end] == '(' ||
			text[end] == ')');
		end++)
		digits += digit(text, n, end);
	end = digits < 7 ? 0 : phone_end(text, n, at);
	if (!end)
		return false;
	digits = 0;
	for (size_t i = at; i < end; i++) {
		digits += digit(text, n, i);
		marks += text[i] == '-' || text[i] == '.';
		blanks += isspace((unsigned char)text[i]) != 0;
	}
	bool is_written_so = text[at] == '+' || (text[at] == '(' && memchr(text + at, ')', end - at)) ||
		is_announced(text, at);
	if (digits < 7 || digits > 15 || is_date(text + at, end - at))
		return false;
	if (!is_written_so && ((!marks && !(blanks && text[at] == '0')) || is_fraction(text, n, at, end)))
		return false;
	if (is_strict &&
		(!is_written_so || digits < 9 || (at && (is_word(text[at - 1]) || text[at - 1] == '.')) ||
			(end < n && (is_word(text[end]) || text[end] == '.'))))
		return false;
	*ret = (struct place){ at, end };
	return true;
}

/* reached.c — whom an address leads to, whatever its spelling.
 *
 * Programs read one address in many ways: as a number, in octal or hexadecimal parts, mapped into IPv6, with escapes, wide digits, a name in
 * front or a dot behind.  Who wants to forbid a place must know it in each of them, so this takes what any of these programs would take.
 * To permit something it is too generous: that is what egress_host() is for. */
#include "model/egress.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* Digits, letters and dots that stand for the ones of ASCII (as IDNA maps them); everything else as it is. */
static uint32_t plain_character(uint32_t c)
{
	if (c >= 0xff01 && c <= 0xff5e)
		return c - 0xfee0;
	if (c == 0x3002 || c == 0xff61)
		return '.';
	if (c >= 0x2460 && c <= 0x2468)
		return '1' + (c - 0x2460);
	if (c >= 0x24d0 && c <= 0x24e9)
		return 'a' + (c - 0x24d0);
	if (c >= 0x24b6 && c <= 0x24cf)
		return 'a' + (c - 0x24b6);
	if (c == 0x24ea || c == 0x2070 || c == 0x2080)
		return '0';
	if (c == 0xb9)
		return '1';
	if (c == 0xb2 || c == 0xb3)
		return '2' + (c - 0xb2);
	if (c >= 0x2074 && c <= 0x2079)
		return '4' + (c - 0x2074);
	if (c >= 0x2081 && c <= 0x2089)
		return '1' + (c - 0x2081);
	if (c >= 0x1d7ce && c <= 0x1d7ff)
		return '0' + (c - 0x1d7ce) % 10;
	return c;
}

static int hex_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Escapes undone, then one character for one, in lower case.  False when it is longer than any host. */
static bool plain_host(const char *p, size_t n, char ret[EGRESS_HOST])
{
	char bare[EGRESS_HOST * 4];
	size_t m = 0, k = 0;

	if (n >= sizeof(bare))
		return false;
	for (size_t i = 0; i < n; i++)
		if (p[i] == '%' && n - i > 2 && hex_of(p[i + 1]) >= 0 && hex_of(p[i + 2]) >= 0) {
			bare[m++] = (char)(hex_of(p[i + 1]) * 16 + hex_of(p[i + 2]));
			i += 2;
		} else {
			bare[m++] = p[i];
		}
	for (size_t i = 0; i < m;) {
		uint32_t c;
		size_t len = text_decode(bare + i, m - i, &c);
		c = len ? plain_character(c) : (unsigned char)bare[i];
		size_t keep = c < 0x80 || !len ? 1 : len;
		if (k + keep >= EGRESS_HOST)
			return false;
		if (keep == 1)
			ret[k++] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
		else
			for (size_t j = 0; j < len; j++)
				ret[k++] = bare[i + j];
		i += len ? len : 1;
	}
	while (k && ret[k - 1] == '.')
		k--;
	ret[k] = '\0';
	return k > 0;
}

/* One part of an IPv4 address: decimal, octal with a 0, hexadecimal with 0x.  What begins with a 0 and cannot be octal is read as decimal by those
 * that read it at all. */
static bool read_part(const char *p, size_t n, uint64_t *ret)
{
	bool is_hex = n > 1 && p[0] == '0' && p[1] == 'x', is_octal = !is_hex && n > 1 && p[0] == '0';
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		is_octal = is_octal && p[i] <= '7';
	for (size_t i = is_hex ? 2 : 0; i < n; i++) {
		int d = hex_of(p[i]);
		if (d < 0 || (!is_hex && d > 9) || value > UINT32_MAX)
			return false;
		value = value * (is_hex ? 16 : is_octal ? 8 : 10) + (unsigned)d;
	}
	*ret = value;
	return n > 0;
}

/* As inet_aton(): one to four parts, of which the last fills what is left. */
static bool read_v4(const char *text, uint8_t ret[4])
{
	uint64_t parts[4], last;
	size_t count = 0;

	for (const char *at = text;; at++) {
		size_t n = strcspn(at, ".");
		if (count == 4 || !read_part(at, n, &parts[count++]))
			return false;
		at += n;
		if (!*at)
			break;
	}
	last = parts[count - 1];
	for (size_t i = 0; i + 1 < count; i++)
		if (parts[i] > 255)
			return false;
	if (last >> (8 * (5 - count)))
		return false;
	for (size_t i = 0; i + 1 < count; i++)
		ret[i] = (uint8_t)parts[i];
	for (size_t i = 4; i-- > count - 1; last >>= 8)
		ret[i] = (uint8_t)last;
	return true;
}

/* Mapped, compatible (::1.2.3.4) and translated (64:ff9b::) addresses are the IPv4 address in them. */
static bool carries_v4(const uint8_t a[EGRESS_ADDRESS])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }, nat64[12] = { 0, 0x64, 0xff, 0x9b },
			     compatible[13] = { 0 };

	return memcmp(a, mapped, sizeof(mapped)) == 0 || memcmp(a, nat64, sizeof(nat64)) == 0 ||
		(memcmp(a, compatible, 12) == 0 && a[12]);
}

static bool read_address(const char *text, uint8_t ret[EGRESS_ADDRESS])
{
	uint8_t v4[4], v6[EGRESS_ADDRESS];
	char bare[EGRESS_HOST];
	size_t n = strcspn(text, "%"); /* of a zone: fe80::1%eth0 */

	memcpy(bare, text, n);
	bare[n] = '\0';
	if (read_v4(text, v4)) {
		memcpy(ret + 12, v4, 4);
	} else if (inet_pton(AF_INET6, bare, v6) == 1) {
		memcpy(ret, v6, sizeof(v6));
		if (!carries_v4(v6))
			return true;
	} else {
		return false;
	}
	memset(ret, 0, 10);
	ret[10] = ret[11] = 0xff;
	return true;
}

/* Where the host begins: behind a scheme with as many slashes as there are, of either kind, or at the beginning. */
static const char *behind_scheme(const char *p)
{
	const char *mark;

	p += strspn(p, " \t\r\n/\\");
	mark = p + strcspn(p, ":/\\?#@[");
	return *mark == ':' && (mark[1] == '/' || mark[1] == '\\') ? mark + 1 + strspn(mark + 1, "/\\") : p;
}

bool egress_reached(
	const char *target, char ret[EGRESS_HOST], bool *ret_is_address, uint8_t ret_address[EGRESS_ADDRESS])
{
	const char *p = behind_scheme(target), *at, *colon;
	size_t n = strcspn(p, "/\\?# \t\r\n");

	if ((at = memrchr(p, '@', n))) {
		n -= (size_t)(at + 1 - p);
		p = at + 1;
	}
	if (n && p[0] == '[') {
		const char *close = memchr(p, ']', n);
		n = close ? (size_t)(close - p - 1) : n - 1;
		p++;
	} else if ((colon = memchr(p, ':', n)) && !memchr(colon + 1, ':', n - (size_t)(colon + 1 - p))) {
		n = (size_t)(colon - p);
	}
	if (!plain_host(p, n, ret))
		return false;
	*ret_is_address = read_address(ret, ret_address);
	if (*ret_is_address)
		egress_address_text(ret_address, ret);
	return true;
}

bool egress_in_network(const char *network, const uint8_t address[EGRESS_ADDRESS])
{
	const char *slash = strchr(network, '/');
	uint8_t net[EGRESS_ADDRESS];
	char name[EGRESS_HOST];
	bool is_address = false;
	int64_t bits;

	if (!slash || !text_int(slash + 1, &bits) || bits < 0 ||
		!egress_host(network, (size_t)(slash - network), name, &is_address, net) || !is_address)
		return false;
	bool is_v4 = !strchr(name, ':');
	if (bits > (is_v4 ? 32 : 128))
		return false;
	unsigned all = (unsigned)bits + (is_v4 ? 96 : 0), whole = all / 8, rest = all % 8;
	return memcmp(net, address, whole) == 0 && (!rest || !((net[whole] ^ address[whole]) >> (8 - rest)));
}

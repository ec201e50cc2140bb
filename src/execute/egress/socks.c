/* socks.c — SOCKS version 5 as far as the door speaks it (RFC 1928): no authentication, CONNECT, names and addresses.
 *
 * Both messages are read from what has come so far; nothing is kept between calls. */
#include "execute/egress/parts.h"

#include <arpa/inet.h>
#include <string.h>

enum { VERSION = 5, NO_AUTH = 0, CONNECT = 1, TYPE_V4 = 1, TYPE_NAME = 3, TYPE_V6 = 4 };

/* 5, n, then n methods, of which one must be "none". */
int socks_greeting(const uint8_t *p, size_t n)
{
	if (n < 2 || n < 2u + p[1])
		return p[0] == VERSION ? 0 : -1;
	if (p[0] != VERSION || !memchr(p + 2, NO_AUTH, p[1]))
		return -1;
	return 2 + p[1];
}

static bool read_target(const uint8_t *p, size_t n, struct egress_target *ret)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t name_n = p[0];

	switch (p[-1]) {
	case TYPE_V4:
		return inet_ntop(AF_INET, p, text, sizeof(text)) &&
			egress_host(text, strlen(text), ret->host, &ret->is_address, ret->address);
	case TYPE_V6:
		return inet_ntop(AF_INET6, p, text, sizeof(text)) &&
			egress_host(text, strlen(text), ret->host, &ret->is_address, ret->address);
	default:
		return name_n && name_n < n &&
			egress_host((const char *)p + 1, name_n, ret->host, &ret->is_address, ret->address);
	}
}

/* 5, command, 0, type, address, port. */
int socks_request(const uint8_t *p, size_t n, struct egress_target *ret, uint8_t *ret_code)
{
	size_t address_n;

	*ret_code = SOCKS_FAILURE;
	if (n && p[0] != VERSION)
		return -1;
	if (n < 5)
		return 0;
	address_n = p[3] == TYPE_V4 ? 4 : p[3] == TYPE_V6 ? 16 : p[3] == TYPE_NAME ? 1u + p[4] : 0;
	if (!address_n) {
		*ret_code = SOCKS_NO_SUCH_ADDRESS;
		return -1;
	}
	if (n < 4 + address_n + 2)
		return 0;
	if (p[1] != CONNECT) {
		*ret_code = SOCKS_NO_SUCH_COMMAND;
		return -1;
	}
	ret->port = (uint16_t)(p[4 + address_n] << 8 | p[5 + address_n]);
	if (p[2] || !ret->port || !read_target(p + 4, address_n, ret))
		return -1;
	return (int)(4 + address_n + 2);
}

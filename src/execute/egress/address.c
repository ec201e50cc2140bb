/* address.c — which addresses the door goes to when only a name was admitted.
 *
 * A name says nothing about where it leads: whoever answers for it may answer with an address inside this machine or its network.
 * So only addresses of the public internet are taken; what else there is must be named as an address itself.  IPv6 addresses that
 * carry an IPv4 address are judged by that one.  What a later standard will set aside is not known here, and so IPv6 is
 * closed outside of the one block that is given out to everybody. */
#include "execute/egress/parts.h"

#include <string.h>

struct block {
	uint8_t prefix[4];
	uint8_t bits;
	const char *what;
};

static const struct block v4_blocks[] = {
	{ { 169, 254, 169, 254 }, 32, "a metadata service" },
	{ { 168, 63, 129, 16 }, 32, "a metadata service" },
	{ { 100, 100, 100, 200 }, 32, "a metadata service" },
	{ { 192, 0, 0, 192 }, 32, "a metadata service" },
	{ { 0 }, 8, "this network" },
	{ { 10 }, 8, "private" },
	{ { 100, 64 }, 10, "shared with a provider" },
	{ { 127 }, 8, "loopback" },
	{ { 169, 254 }, 16, "link-local" },
	{ { 172, 16 }, 12, "private" },
	{ { 192, 0, 0 }, 24, "reserved" },
	{ { 192, 0, 2 }, 24, "reserved" },
	{ { 192, 88, 99 }, 24, "reserved" },
	{ { 192, 168 }, 16, "private" },
	{ { 198, 18 }, 15, "reserved" },
	{ { 198, 51, 100 }, 24, "reserved" },
	{ { 203, 0, 113 }, 24, "reserved" },
	{ { 224 }, 4, "multicast" },
	{ { 240 }, 4, "reserved" },
};

static bool starts_with(const uint8_t *p, const uint8_t *prefix, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return memcmp(p, prefix, whole) == 0 && (!rest || ((p[whole] ^ prefix[whole]) >> (8 - rest)) == 0);
}

static const char *v4_trouble(const uint8_t v4[4])
{
	for (size_t i = 0; i < sizeof(v4_blocks) / sizeof(v4_blocks[0]); i++)
		if (starts_with(v4, v4_blocks[i].prefix, v4_blocks[i].bits))
			return v4_blocks[i].what;
	return NULL;
}

/* NAT64 and 6to4 lead to the IPv4 address in them; mapped ones are that address. */
static const uint8_t *embedded_v4(const uint8_t a[EGRESS_ADDRESS])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }, nat64[12] = { 0, 0x64, 0xff, 0x9b },
			     six_to_four[2] = { 0x20, 0x02 };

	if (starts_with(a, mapped, 96) || starts_with(a, nat64, 96))
		return a + 12;
	return starts_with(a, six_to_four, 16) ? a + 2 : NULL;
}

const char *egress_trouble(const uint8_t a[EGRESS_ADDRESS])
{
	static const uint8_t loopback[EGRESS_ADDRESS] = { [15] = 1 },
			     metadata[EGRESS_ADDRESS] = { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54 };
	static const struct block v6_blocks[] = {
		{ { 0xfc }, 7, "private" },
		{ { 0xfe, 0x80 }, 10, "link-local" },
		{ { 0xfe, 0xc0 }, 10, "private" },
		{ { 0xff }, 8, "multicast" },
		{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, "reserved" },
		{ { 0x20, 0x01 }, 23, "reserved" }, /* Teredo and other protocols */
		{ { 0x3f, 0xff }, 20, "reserved" },
	};
	const uint8_t *v4 = embedded_v4(a);

	if (v4)
		return v4_trouble(v4);
	if (memcmp(a, loopback, sizeof(loopback)) == 0)
		return "loopback";
	if (memcmp(a, metadata, sizeof(metadata)) == 0)
		return "a metadata service";
	for (size_t i = 0; i < sizeof(v6_blocks) / sizeof(v6_blocks[0]); i++)
		if (starts_with(a, v6_blocks[i].prefix, v6_blocks[i].bits))
			return v6_blocks[i].what;
	return (a[0] & 0xe0) == 0x20 ? NULL : "reserved";
}

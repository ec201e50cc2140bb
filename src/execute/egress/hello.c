/* hello.c — the name inside a TLS ClientHello.
 *
 * A tunnel was admitted for one name; the first thing a TLS client says in it names the host it wants.  The two must be the same,
 * or a server that answers for many hosts would be a way to those that nobody named.  The bytes are only looked at.  A hello may
 * come in several records and several pieces; whatever is not understood is refused rather than passed. */
#include "execute/egress/parts.h"

#include <string.h>

enum { RECORD_HANDSHAKE = 22, HANDSHAKE_HELLO = 1, EXTENSION_NAME = 0, NAME_HOST = 0 };
enum { RECORD_HEAD = 5, RECORD_MOST = 16384, HELLO_MOST = 24 << 10 };

/* What is left to read.  A read beyond the end gives 0 and marks it. */
struct rest {
	const uint8_t *p;
	size_t n;
	bool is_bad;
};

static size_t take_number(struct rest *r, size_t bytes)
{
	size_t value = 0;

	if (r->n < bytes) {
		r->is_bad = true;
		r->n = 0;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | r->p[i];
	r->p += bytes;
	r->n -= bytes;
	return value;
}

/* A part whose length stands in front of it in `bytes` bytes. */
static struct rest take_part(struct rest *r, size_t bytes)
{
	size_t n = take_number(r, bytes);
	struct rest part = { r->p, n, false };

	if (r->is_bad || n > r->n) {
		r->is_bad = true;
		return (struct rest){ .is_bad = true };
	}
	r->p += n;
	r->n -= n;
	return part;
}

/* The server_name extension: exactly one host name. */
static bool name_is(struct rest extension, const char *host)
{
	char name[EGRESS_HOST];
	uint8_t address[EGRESS_ADDRESS];
	bool is_address;
	struct rest list = take_part(&extension, 2);
	size_t type = take_number(&list, 1);
	struct rest text = take_part(&list, 2);

	return !extension.is_bad && !extension.n && !list.is_bad && !list.n && !text.is_bad &&
		type == NAME_HOST && egress_host((const char *)text.p, text.n, name, &is_address, address) &&
		strcmp(name, host) == 0;
}

/* The body of a ClientHello: version, random, session, ciphers, compressions, extensions. */
static bool body_fits(struct rest body, const char *host)
{
	size_t names = 0;

	(void)take_number(&body, 2);
	for (int i = 0; i < 4; i++)
		(void)take_number(&body, 8);
	(void)take_part(&body, 1);
	(void)take_part(&body, 2);
	(void)take_part(&body, 1);
	if (body.is_bad)
		return false;
	if (!body.n)
		return true;
	struct rest extensions = take_part(&body, 2);
	if (body.is_bad || body.n)
		return false;
	while (extensions.n) {
		size_t type = take_number(&extensions, 2);
		struct rest one = take_part(&extensions, 2);
		if (extensions.is_bad)
			return false;
		if (type == EXTENSION_NAME && (names++ || !name_is(one, host)))
			return false;
	}
	return true;
}

/* The handshake bytes of the records so far, in `to`.  False: this is not what a hello looks like. */
static bool join_records(const uint8_t *p, size_t n, uint8_t *to, size_t *ret_n)
{
	size_t used = 0;

	while (n >= RECORD_HEAD) {
		size_t length = (size_t)p[3] << 8 | p[4];
		if (p[0] != RECORD_HANDSHAKE || p[1] != 3 || !length || length > RECORD_MOST)
			return false;
		size_t have = n - RECORD_HEAD < length ? n - RECORD_HEAD : length;
		if (used + have > HELLO_MOST)
			return false;
		memcpy(to + used, p + RECORD_HEAD, have);
		used += have;
		p += RECORD_HEAD + have;
		n -= RECORD_HEAD + have;
		if (used >= 4 && used >= 4 + ((size_t)to[1] << 16 | (size_t)to[2] << 8 | to[3]))
			break; /* what follows the hello is not ours to read */
	}
	*ret_n = used;
	return true;
}

enum hello hello_judge(const uint8_t *p, size_t n, const char *host)
{
	uint8_t joined[HELLO_MOST];
	size_t used;

	if (!n)
		return HELLO_MORE;
	if (p[0] != RECORD_HANDSHAKE)
		return HELLO_PASS;
	if (!join_records(p, n, joined, &used))
		return HELLO_REFUSE;
	if (used < 4)
		return used && joined[0] != HANDSHAKE_HELLO ? HELLO_REFUSE : HELLO_MORE;
	size_t body_n = (size_t)joined[1] << 16 | (size_t)joined[2] << 8 | joined[3];
	if (joined[0] != HANDSHAKE_HELLO || body_n > HELLO_MOST - 4)
		return HELLO_REFUSE;
	if (used < 4 + body_n)
		return HELLO_MORE;
	return body_fits((struct rest){ joined + 4, body_n, false }, host) ? HELLO_PASS : HELLO_REFUSE;
}

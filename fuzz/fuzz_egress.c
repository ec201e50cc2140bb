/* fuzz_egress.c — what strangers say to the door to named hosts: the first byte chooses the reader.
 *
 * Whatever comes, nothing is read beyond its end, a target is one that the rules' own reader takes, and a request that is passed on
 * is read by the door's own reader as the same request again: there is one reading of it. */
#include "execute/egress/parts.h"
#include "fuzz.h"

#include <string.h>

static void demand(bool is_so)
{
	if (!is_so)
		__builtin_trap();
}

static void check_target(const struct egress_target *t)
{
	struct egress_target again;

	demand(t->port &&
		egress_host(t->host, strlen(t->host), again.host, &again.is_address, again.address) &&
		strcmp(again.host, t->host) == 0 && again.is_address == t->is_address);
}

static void one_request(struct arena *a, const char *p, size_t n)
{
	struct http_request r, again;
	const char *why;
	struct buf to, whole;
	ssize_t length = http_request(p, n, &r, &why);

	demand(length <= (ssize_t)n && (length >= 0 || why));
	if (length <= 0)
		return;
	check_target(&r.target);
	if (r.is_connect)
		return;
	buf_init(&to, a);
	http_forward(&to, &r);
	const char *path = memchr(to.p, ' ', to.n);
	buf_init(&whole, a);
	buf_add(&whole, to.p, (size_t)(path + 1 - to.p));
	buf_addf(&whole, strchr(r.target.host, ':') ? "http://[%s]:%u" : "http://%s:%u", r.target.host,
		r.target.port);
	buf_adds(&whole, path + 1);
	length = http_request(whole.p, whole.n, &again, &why);
	demand(length == (ssize_t)whole.n && again.body.kind == r.body.kind &&
		again.body.left == r.body.left && strcmp(again.target.host, r.target.host) == 0 &&
		again.target.port == r.target.port);
}

/* In pieces a body ends where it ends as a whole. */
static void one_body(const char *p, size_t n)
{
	struct http_body whole = { .kind = BODY_CHUNKED }, parts = whole;
	ssize_t all = http_body(&whole, p, n), sum = 0;

	for (size_t i = 0; i < n && sum >= 0; i++) {
		ssize_t some = http_body(&parts, p + i, 1);
		sum = some < 0 ? -1 : sum + some;
	}
	demand(all == sum && whole.kind == parts.kind);
}

static void one_socks(const uint8_t *p, size_t n)
{
	struct egress_target t;
	uint8_t code;
	int length = socks_request(p, n, &t, &code);

	demand(length <= (int)n && (!n || socks_greeting(p, n) <= (int)n));
	if (length > 0)
		check_target(&t);
}

/* What was refused is refused with more behind it, and what passed passes. */
static void one_hello(const uint8_t *p, size_t n)
{
	enum hello whole = hello_judge(p, n, "example.com");

	for (size_t k = 0; k < n && k < 64; k++) {
		enum hello part = hello_judge(p, n - k, "example.com");
		demand(part == HELLO_MORE || part == whole);
	}
}

void fuzz_one(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = 64 << 20 };
	struct buf to;
	bool is_last;

	if (!size || size > 64 << 10)
		return;
	const uint8_t *p = data + 1;
	size_t n = size - 1;
	buf_init(&to, &a);
	switch (data[0]) {
	case 'r':
		one_request(&a, (const char *)p, n);
		break;
	case 'a':
		demand(http_answer(&to, (const char *)p, n, &is_last) <= (ssize_t)n);
		break;
	case 'b':
		one_body((const char *)p, n);
		break;
	case 's':
		one_socks(p, n);
		break;
	case 'h':
		one_hello(p, n);
		break;
	default: {
		struct egress_rules rules = { 0 };
		const char *text = arena_strndup(&a, (const char *)p, n);
		if (egress_add(&a, &rules, text, "fuzz", NULL) == OK && text[0] != '@')
			demand(rules.n == 1 &&
				egress_add(&a, &rules, rules.list[0].text, "fuzz", NULL) == OK &&
				strcmp(rules.list[0].text, rules.list[1].text) == 0);
	}
	}
}

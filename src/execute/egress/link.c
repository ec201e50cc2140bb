/* link.c — one connection from its first byte to the server it asked for: what does it want, is that named, where does the name
 * lead, and may one go there.
 *
 * The order is the promise.  A name that no rule admits is never looked up.  Of the addresses of a name only those are kept that
 * are public or named themselves, and one of exactly these is connected to: the name is not looked up a second time.  Only then the
 * client hears that it is connected, and its first bytes are looked at before the first of them goes out. */
#include "execute/egress/door.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT_MS = 15000, IDLE_MS = 600000, LINGER_MS = 2000 };

/* ---- answers ---- */

static void answer_socks(struct link *l, uint8_t code)
{
	const uint8_t reply[10] = { 5, code, 0, 1 };

	flow_hold(l, &l->down, reply, sizeof(reply));
}

/* The sentence stands in the status line, too: of a refused CONNECT most clients show nothing else. */
static void answer_http(struct link *l, int status, const char *text)
{
	struct buf out;

	buf_init(&out, &l->a);
	buf_addf(&out,
		"HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
		"Cache-Control: no-store\r\nConnection: close\r\n\r\n%s\n",
		status, text, strlen(text) + 1, text);
	flow_hold(l, &l->down, out.p, out.n);
}

/* The connection ends with an answer.  `is_refused` is what the record says: a host that was admitted may still not be there. */
static void give_up(struct door *d, struct link *l, bool is_refused, const char *reason, int status,
	uint8_t code, const char *text)
{
	l->is_refused = is_refused;
	l->reason = reason;
	if (l->via == VIA_SOCKS)
		answer_socks(l, code);
	else
		answer_http(l, status, text);
	l->stage = STAGE_LINGER;
	l->down.is_ended = true;
	link_wait(d, l, LINGER_MS);
}

static void refuse_malformed(struct door *d, struct link *l, int status, const char *why)
{
	give_up(d, l, true, "malformed", status, SOCKS_FAILURE, arena_printf(&l->a, "helm: %s", why));
}

/* How a person would write the rule. */
static const char *as_rule(struct link *l)
{
	const struct egress_target *t = &l->target;
	bool is_v6 = t->is_address && strchr(t->host, ':');

	if (t->port == 80 || t->port == 443)
		return t->host;
	return arena_printf(&l->a, "%s%s%s:%u", is_v6 ? "[" : "", t->host, is_v6 ? "]" : "", t->port);
}

static void refuse_unnamed(struct door *d, struct link *l)
{
	give_up(d, l, true, "not named", 403, SOCKS_FORBIDDEN,
		arena_printf(&l->a,
			"helm: %s:%u is not named in %s; a person can allow it: helm allow host %s",
			l->target.host, l->target.port, d->who, as_rule(l)));
}

/* ---- to the server ---- */

static void fail(struct door *d, struct link *l, const char *reason, int status)
{
	give_up(d, l, false, reason, status, SOCKS_UNREACHABLE,
		arena_printf(&l->a, "helm: %s:%u is %s", l->target.host, l->target.port, reason));
}

static socklen_t socket_address(
	const uint8_t address[EGRESS_ADDRESS], uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;

	memset(ret, 0, sizeof(*ret));
	memcpy(&v6->sin6_addr, address, EGRESS_ADDRESS);
	if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		return sizeof(*v6);
	}
	memset(ret, 0, sizeof(*ret));
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	memcpy(&v4->sin_addr, address + 12, 4);
	return sizeof(*v4);
}

/* The first address that can be tried. */
static void connect_next(struct door *d, struct link *l)
{
	struct sockaddr_storage to;
	int on = 1;

	for (; l->address_at < l->address_n; l->address_at++) {
		socklen_t n = socket_address(l->addresses[l->address_at], l->target.port, &to);
		egress_address_text(l->addresses[l->address_at], l->address);
		l->server.fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (l->server.fd < 0)
			continue;
		(void)setsockopt(l->server.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (connect(l->server.fd, (struct sockaddr *)&to, n) == 0 || errno == EINPROGRESS) {
			l->stage = STAGE_CONNECT;
			link_wait(d, l, d->how->connect_ms ? d->how->connect_ms : CONNECT_MS);
			return;
		}
		close(l->server.fd);
		l->server.fd = -1;
	}
	fail(d, l, "unreachable", 502);
}

/* Names lead where their owners say; those addresses are kept that this run may reach. */
static void keep_addresses(struct door *d, struct link *l, const struct lookup *found)
{
	const char *trouble = NULL;

	for (int i = 0; i < found->n; i++) {
		const char *what = egress_trouble(found->addresses[i]);
		if (what && !egress_has_address(&d->rules, found->addresses[i], l->target.port)) {
			if (!trouble)
				egress_address_text(found->addresses[i], l->address);
			trouble = trouble ? trouble : what;
			continue;
		}
		memcpy(l->addresses[l->address_n++], found->addresses[i], EGRESS_ADDRESS);
	}
	if (l->address_n || !trouble)
		return;
	l->rule = NULL;
	give_up(d, l, true, "not public", 403, SOCKS_FORBIDDEN,
		arena_printf(&l->a,
			"helm: %s leads to %s, which is %s; a person can allow that address: helm allow host %s:%u",
			l->target.host, l->address, trouble, l->address, l->target.port));
}

void link_resolved(struct door *d, struct link *l, const struct lookup *found)
{
	l->lookup = NULL;
	keep_addresses(d, l, found);
	if (l->stage == STAGE_LINGER)
		return;
	if (l->address_n)
		connect_next(d, l);
	else
		fail(d, l, "unknown: it cannot be resolved", 502);
}

static void judge(struct door *d, struct link *l)
{
	const struct egress_target *t = &l->target;
	const struct egress_rule *rule = t->is_address ? egress_has_address(&d->rules, t->address, t->port)
						       : egress_names(&d->rules, t->host, t->port);

	if (!rule) {
		refuse_unnamed(d, l);
		return;
	}
	l->rule = rule->text;
	l->reason = "named";
	if (t->is_address) {
		memcpy(l->addresses[0], t->address, EGRESS_ADDRESS);
		l->address_n = 1;
		connect_next(d, l);
		return;
	}
	l->stage = STAGE_RESOLVE;
	link_wait(d, l, d->how->connect_ms ? d->how->connect_ms : CONNECT_MS);
	l->lookup = resolver_ask(d->resolver, l, t->host);
}

/* ---- what the client wants ---- */

static void forget_head(struct link *l, size_t n)
{
	memmove(l->head, l->head + n, l->head_n - n);
	l->head_n -= n;
}

static void greet_socks(struct door *d, struct link *l)
{
	static const uint8_t welcome[2] = { 5, 0 };
	uint8_t code = SOCKS_FAILURE;
	int n;

	l->via = VIA_SOCKS;
	if (l->stage == STAGE_GREET) {
		n = socks_greeting((uint8_t *)l->head, l->head_n);
		if (n <= 0) {
			if (n < 0)
				refuse_malformed(d, l, 400, "SOCKS without a password is spoken here");
			return;
		}
		forget_head(l, (size_t)n);
		flow_hold(l, &l->down, welcome, sizeof(welcome));
		if (!flow_flush(&l->down, l->client.fd)) {
			link_end(d, l);
			return;
		}
		l->stage = STAGE_ASK;
	}
	n = socks_request((uint8_t *)l->head, l->head_n, &l->target, &code);
	if (n < 0)
		give_up(d, l, true, "malformed", 400, code, "");
	if (n <= 0)
		return;
	forget_head(l, (size_t)n);
	judge(d, l);
}

/* The request as the server is to see it is held until there is one; so is what has come of its body. */
static bool take_request(struct link *l, const struct http_request *r, size_t head_n)
{
	struct buf head;

	buf_init(&head, &l->a);
	http_forward(&head, r);
	flow_hold(l, &l->up, head.p, head.n);
	l->body = r->body;
	ssize_t own = http_body(&l->body, l->head + head_n, l->head_n - head_n);
	if (own < 0)
		return false;
	flow_hold(l, &l->up, l->head + head_n, (size_t)own);
	l->up.bytes = l->up.held_n;
	l->head_n = 0; /* from here on it is for the answer's head */
	return true;
}

static void greet_http(struct door *d, struct link *l)
{
	struct http_request r;
	const char *why;
	ssize_t n = http_request(l->head, l->head_n, &r, &why);

	if (n == 0 && l->head_n == HEAD_MOST)
		refuse_malformed(d, l, 431, "the head of the request is too long");
	else if (n < 0)
		refuse_malformed(d, l, 400, why);
	if (n <= 0)
		return;
	l->target = r.target;
	l->via = r.is_connect ? VIA_CONNECT : VIA_HTTP;
	if (r.is_connect)
		forget_head(l, (size_t)n);
	else if (!take_request(l, &r, (size_t)n)) {
		refuse_malformed(d, l, 400, "the body of the request is not framed as it must be");
		return;
	}
	judge(d, l);
}

/* False: nothing new is there, or the connection has ended. */
static bool read_head(struct door *d, struct link *l)
{
	if (!l->head)
		l->head = arena_alloc(&l->a, HEAD_MOST);
	ssize_t n = read(l->client.fd, l->head + l->head_n, HEAD_MOST - l->head_n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		link_end(d, l);
		return false;
	}
	l->head_n += (size_t)n;
	return true;
}

void link_greet(struct door *d, struct link *l)
{
	if (!read_head(d, l))
		return;
	if (l->head[0] == 5 || l->stage == STAGE_ASK)
		greet_socks(d, l);
	else
		greet_http(d, l);
}

/* ---- connected ---- */

/* What has come of the client so far may go out, or more of it must come, or it ends here. */
static void judge_hello(struct door *d, struct link *l)
{
	enum hello is = l->target.is_address ? HELLO_PASS
					     : hello_judge((uint8_t *)l->head, l->head_n, l->target.host);

	if (is == HELLO_REFUSE || (is == HELLO_MORE && l->head_n == HEAD_MOST)) {
		l->is_refused = true;
		l->reason = "another name inside";
		link_end(d, l);
	} else if (is == HELLO_PASS) {
		l->stage = STAGE_RELAY;
		l->up.bytes += l->head_n;
		flow_hold(l, &l->up, l->head, l->head_n);
		l->head_n = 0;
		flow_up(d, l);
	}
}

void link_hello(struct door *d, struct link *l)
{
	if (read_head(d, l))
		judge_hello(d, l);
}

void link_connected(struct door *d, struct link *l)
{
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	int why = 0;
	socklen_t n = sizeof(why);

	if (getsockopt(l->server.fd, SOL_SOCKET, SO_ERROR, &why, &n) || why) {
		close(l->server.fd); /* epoll forgets it by that */
		l->server = (struct end){ .link = l, .fd = -1 };
		l->address_at++;
		connect_next(d, l);
		return;
	}
	link_wait(d, l, d->how->idle_ms ? d->how->idle_ms : IDLE_MS);
	if (l->via == VIA_HTTP) {
		l->stage = STAGE_RELAY;
		flow_up(d, l);
		return;
	}
	if (l->via == VIA_SOCKS)
		answer_socks(l, SOCKS_OK);
	else
		flow_hold(l, &l->down, established, sizeof(established) - 1);
	if (!flow_flush(&l->down, l->client.fd)) {
		link_end(d, l);
		return;
	}
	l->stage = STAGE_HELLO;
	judge_hello(d, l);
}

void link_timeout(struct door *d, struct link *l)
{
	switch (l->stage) {
	case STAGE_GREET:
	case STAGE_ASK:
		if (l->head_n || l->stage == STAGE_ASK)
			refuse_malformed(d, l, 408, "the request took too long");
		else
			link_end(d, l);
		return;
	case STAGE_RESOLVE:
		l->lookup->owner = NULL;
		l->lookup = NULL;
		fail(d, l, "unknown: nobody answers who could resolve it", 504);
		return;
	case STAGE_CONNECT:
		close(l->server.fd);
		l->server = (struct end){ .link = l, .fd = -1 };
		l->address_at++;
		connect_next(d, l);
		return;
	default:
		link_end(d, l);
	}
}

/* fuzz_serve.c — what a stranger sends to helm-serve: path, query, content type and body.
 *
 * The first line is "METHOD PATH?NAME=VALUE...", the second the content type, the rest the body.  Whatever it is, a route is found or not,
 * a body is taken or refused, and a part of it lies inside of it. */
#include "fuzz.h"

#include "base/json.h"
#include "base/text.h"
#include "serve/http/http.h"

#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* "a=b&c=d" as it stands. */
static void split_query(struct arena *a, struct bytes rest, struct call *c)
{
	c->query = arena_zalloc(a, rest.n + 1, sizeof(*c->query));
	while (rest.p && rest.n) {
		struct bytes value = text_cut(&rest, '&'), name = text_cut(&value, '=');
		c->query[c->query_count++] = (struct pair){ arena_strndup(a, (const char *)name.p, name.n),
			value.p ? arena_strndup(a, (const char *)value.p, value.n) : "" };
	}
}

void fuzz_one(const uint8_t *data, size_t size)
{
	static struct arena forever;
	static struct server server;
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes rest = { data, size }, line = text_cut(&rest, '\n'),
		     type = rest.p ? text_cut(&rest, '\n') : rest;
	struct bytes method = text_cut(&line, ' '),
		     target = line.p ? line : (struct bytes){ (const uint8_t *)"", 0 };
	struct bytes path = text_cut(&target, '?'), part;
	struct pair header = { "Content-Type",
		type.p ? arena_strndup(&a, (const char *)type.p, type.n) : "" };
	struct call c = { .a = &a,
		.server = &server,
		.headers = &header,
		.header_count = 1,
		.raw = rest,
		.correlation_id = "x" };
	struct receipts_filter filter;
	struct err e = { 0 };
	struct json *body;

	server.sys = sys_real();
	check(forever.used_bytes || routes_prepare(&forever, &e) == OK);
	c.method = arena_strndup(&a, (const char *)method.p, method.n);
	c.path = arena_strndup(&a, (const char *)path.p, path.n);
	if (target.p)
		split_query(&a, target, &c);
	c.route = route_find(&a, c.method, c.path, c.args, &c.allowed);
	check(!c.route || !c.allowed);
	if (call_part(&c, "bundle", &part, &e) == OK && part.n)
		check(part.p >= rest.p && part.p + part.n <= rest.p + rest.n);
	(void)receipts_read_filter(&c, &filter, &e);
	if (c.route && rest.n && json_parse(&a, rest, "body", NULL, &body, &e) == OK)
		(void)route_check(c.route, body, &e);
	c.status = 0;
	(void)call_refuse(&c, &e, 400, "BAD_REQUEST", "%s", e.text);
	call_error(&c, &e, NULL);
	check(json_parse(&a, c.answer, "answer", NULL, &body, &e) == OK);
}

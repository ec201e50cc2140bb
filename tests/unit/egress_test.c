/* egress_test.c — rules for hosts, addresses, and the readers of the door: HTTP, SOCKS, the hello of TLS. */
#include "execute/egress/parts.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <string.h>

static struct arena a;

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

/* ---- rules ---- */

static bool admits(const char *rule, const char *target)
{
	struct egress_rules rules = { 0 };
	uint8_t address[EGRESS_ADDRESS];
	char name[EGRESS_HOST];
	const char *host;
	uint16_t port = 443;
	bool is_address;
	size_t n;
	struct err e = { 0 };

	if (egress_add(&a, &rules, rule, "test", &e))
		fail_msg("%s: %s", rule, e.text);
	if (!egress_split(target, strlen(target), &host, &n, &port) ||
		!egress_host(host, n, name, &is_address, address))
		return false;
	return is_address ? egress_has_address(&rules, address, port) : egress_names(&rules, name, port);
}

static void rules_name_hosts(void **state)
{
	static const struct {
		const char *rule, *target;
		bool want;
	} cases[] = {
		{ "example.com", "example.com", true },
		{ "example.com", "example.com:80", true },
		{ "example.com", "example.com:8080", false },
		{ "Example.COM", "eXample.com.", true },
		{ "example.com:8080", "example.com:8080", true },
		{ "example.com:8080", "example.com", false },
		{ "example.com", "www.example.com", false },
		{ "example.com", "badexample.com", false },
		{ "*.example.com", "www.example.com", true },
		{ "*.example.com", "a.b.example.com", true },
		{ "*.example.com", "example.com", false },
		{ "*.example.com", "badexample.com", false },
		{ "*.example.com:22", "git.example.com:22", true },
		{ "*.example.com:22", "git.example.com", false },
		{ "10.0.0.1", "10.0.0.1", true },
		{ "10.0.0.1", "10.0.0.1:22", false },
		{ "10.0.0.1:22", "[::ffff:10.0.0.1]:22", true },
		{ "10.0.0.1", "10.0.0.2", false },
		{ "[fd00::1]:8443", "[fd00:0::1]:8443", true },
		{ "fd00::1", "[fd00::1]:443", true },
		{ "fd00::1", "[fd00::2]", false },
		{ "@pypi", "files.pythonhosted.org", true },
		{ "@registries", "static.crates.io", true },
		{ "@registries", "github.com", false },
		{ "xn--bcher-kva.example", "XN--BCHER-KVA.example", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (admits(cases[i].rule, cases[i].target) != cases[i].want)
			fail_msg("%s and %s", cases[i].rule, cases[i].target);
}

static void what_is_no_rule_is_refused(void **state)
{
	static const char *const bad[] = { "", "*", "*.com", "*.", "*.1.2.3.4", "a b", "a..b", "-a.com",
		"a-.com", "a.com:0", "a.com:65536", "a.com:", "a.com:x", "http://a.com", "a.com/x",
		"user@a.com", "0x7f.1", "127.1", "2130706433", "1.2.3", "256.1.1.1", "[::1", "[::1]x",
		"[a.com]", "a.*.com", "@", "@no_such", "@../programs/net",
		"b\xc3\xbc"
		"cher.example",
		"a.com\n", "%65xample.com",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.com" };
	struct egress_rules rules = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct err e = { 0 };
		if (egress_add(&a, &rules, bad[i], "test", &e) != E_INPUT ||
			strcmp(e.code, "EGRESS_RULE") != 0)
			fail_msg("%s: taken", bad[i]);
		assert_int_equal(rules.n, 0);
	}
}

/* A text of a rule reads as the same rule again; the door gets them so. */
static void rules_are_written_as_they_are_read(void **state)
{
	static const char *const texts[] = { "example.com", "*.example.com:22", "[fd00::1]:8443", "fd00::1",
		"10.0.0.1:80", "a_b.example" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct egress_rules rules = { 0 };
		assert_int_equal(egress_add(&a, &rules, texts[i], "test", NULL), OK);
		assert_string_equal(rules.list[0].text, texts[i]);
	}
}

static void shipped_lists_are_rules(void **state)
{
	char name[64], about[200];
	size_t i;

	(void)state;
	for (i = 0; egress_list_at(i, name, about); i++) {
		struct egress_rules rules = { 0 };
		struct err e = { 0 };
		if (egress_add(&a, &rules, arena_printf(&a, "@%s", name), "", &e))
			fail_msg("%s: %s", name, e.text);
		assert_true(rules.n > 0 && about[0]);
		for (size_t k = 0; k < rules.n; k++)
			assert_non_null(rules.list[k].host);
	}
	assert_true(i >= 10);
}

/* ---- addresses ---- */

static void only_public_addresses_pass(void **state)
{
	static const char *const inside[] = { "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.100.100.200",
		"127.0.0.1", "127.255.255.254", "169.254.169.254", "169.254.0.1", "172.16.0.1",
		"172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1",
		"198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.1.1.1", "240.0.0.1",
		"255.255.255.255", "168.63.129.16", "::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
		"::127.0.0.1", "::10.0.0.1", "64:ff9b::a00:1", "64:ff9b::7f00:1", "64:ff9b:1::1",
		"2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::", "2001:0:1::1", "2001:db8::1", "fc00::1",
		"fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "100::1", "5f00::1", "3fff::1", "4000::1",
		"::ffff:0:127.0.0.1" };
	static const char *const outside[] = { "1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255",
		"100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1", "198.17.0.1", "198.20.0.1",
		"223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2620:fe::fe", "2001:4860:4860::8888",
		"::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1" };
	uint8_t address[EGRESS_ADDRESS];
	char text[EGRESS_HOST];
	bool is_address;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(inside); i++) {
		assert_true(
			egress_host(inside[i], strlen(inside[i]), text, &is_address, address) && is_address);
		if (!egress_trouble(address))
			fail_msg("%s passes", inside[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
		assert_true(egress_host(outside[i], strlen(outside[i]), text, &is_address, address) &&
			is_address);
		if (egress_trouble(address))
			fail_msg("%s: %s", outside[i], egress_trouble(address));
	}
}

static void one_address_has_many_spellings(void **state)
{
	static const struct {
		const char *target, *want;
	} cases[] = {
		{ "http://169.254.169.254/x", "169.254.169.254" },
		{ "2852039166", "169.254.169.254" },
		{ "http://2852039166:80/", "169.254.169.254" },
		{ "http://0xa9fea9fe", "169.254.169.254" },
		{ "http://0XA9.0xFE.43518/", "169.254.169.254" },
		{ "http://0251.0376.0251.0376?x", "169.254.169.254" },
		{ "http://169.16689662#x", "169.254.169.254" },
		{ "http://0169.254.169.254/", "169.254.169.254" },
		{ "http://[::ffff:169.254.169.254]:80/", "169.254.169.254" },
		{ "http://[::ffff:a9fe:a9fe]/", "169.254.169.254" },
		{ "http://[::a9fe:a9fe]/", "169.254.169.254" },
		{ "http://[64:ff9b::a9fe:a9fe]/", "169.254.169.254" },
		{ "::ffff:a9fe:a9fe", "169.254.169.254" },
		{ "http://a:b@169.254.169.254/", "169.254.169.254" },
		{ "http://e.example\\@x.example/", "e.example" },
		{ "http://e.example#@x.example/", "e.example" },
		{ "http:/169.254.169.254", "169.254.169.254" },
		{ "http:\\\\169.254.169.254\\x", "169.254.169.254" },
		{ " http://169.254.169.254..", "169.254.169.254" },
		{ "http://%31%36%39%2e254%2E169.254/", "169.254.169.254" },
		{ "http://\xef\xbc\x91\xef\xbc\x96\xef\xbc\x99\xe3\x80\x82"
		  "254.169.254/",
			"169.254.169.254" },
		{ "http://[fe80::1%eth0]/", "fe80::1" },
		{ "http://[FD00:EC2::254]/", "fd00:ec2::254" },
		{ "127.1", "127.0.0.1" },
		{ "0", "0.0.0.0" },
		{ "4294967295", "255.255.255.255" },
		{ "4294967296", "4294967296" },
		{ "1.2.3.4.5", "1.2.3.4.5" },
		{ "256.1.1.1", "256.1.1.1" },
		{ "Metadata.Google.INTERNAL.", "metadata.google.internal" },
		{ "host:8080/x", "host" },
		{ "dead.beef", "dead.beef" },
	};
	uint8_t address[EGRESS_ADDRESS];
	char text[EGRESS_HOST], longer[2 * EGRESS_HOST];
	bool is_address;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!egress_reached(cases[i].target, text, &is_address, address))
			fail_msg("%s names nobody", cases[i].target);
		assert_string_equal(text, cases[i].want);
	}
	assert_false(egress_reached("", text, &is_address, address));
	assert_false(egress_reached("http:///", text, &is_address, address));
	assert_false(egress_reached("http://[", text, &is_address, address));
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_false(egress_reached(longer, text, &is_address, address));
	assert_true(egress_reached("http://2852039166/", text, &is_address, address) && is_address);
	assert_true(egress_in_network("169.254.0.0/16", address));
	assert_true(egress_in_network("169.254.169.254/32", address));
	assert_true(egress_in_network("::/0", address));
	assert_false(egress_in_network("169.254.0.0/32", address));
	assert_false(egress_in_network("169.254.0.0", address));
	assert_false(egress_in_network("169.254.0.0/33", address));
	assert_false(egress_in_network("name/8", address));
}

/* ---- HTTP ---- */

static ssize_t ask(const char *text, struct http_request *r)
{
	const char *why;

	return http_request(text, strlen(text), r, &why);
}

static void requests_are_read(void **state)
{
	struct http_request r;
	static const char get[] =
		"GET http://Example.com:8080/a?b HTTP/1.1\r\nHost: example.com:8080\r\nX: 1\r\n\r\nrest";
	static const char tunnel[] = "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n";
	struct buf to;

	(void)state;
	assert_int_equal(ask(get, &r), (ssize_t)strlen(get) - 4);
	assert_string_equal(r.target.host, "example.com");
	assert_int_equal(r.target.port, 8080);
	assert_int_equal(r.body.kind, BODY_NONE);
	buf_init(&to, &a);
	http_forward(&to, &r);
	assert_string_equal(
		to.p, "GET /a?b HTTP/1.1\r\nHost: example.com:8080\r\nX: 1\r\nConnection: close\r\n\r\n");
	assert_int_equal(ask(tunnel, &r), (ssize_t)strlen(tunnel));
	assert_true(r.is_connect && r.target.port == 443);
	assert_true(ask("GET http://a.b?q HTTP/1.0\r\n\r\n", &r) > 0);
	buf_init(&to, &a);
	http_forward(&to, &r);
	assert_string_equal(to.p, "GET /?q HTTP/1.0\r\nConnection: close\r\n\r\n");
	/* every beginning of a good request asks for more */
	for (size_t n = 0; n + 4 < strlen(get); n++) {
		const char *why;
		assert_int_equal(http_request(get, n, &r, &why), 0);
	}
}

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
	static const char *const bad[] = {
		"GET http://a.b/ HTTP/1.1\nHost: a.b\n\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b\n\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b\rX: y\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: c.d\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b:81\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nhost: a.b\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost : a.b\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\n Host: a.b\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX: 1\r\n 2\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX: 1\r\n\t2\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\n: x\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nno colon\r\n\r\n",
		"GET http://a.b/ HTTP/2.0\r\nHost: a.b\r\n\r\n",
		"GET http://a.b/ HTTP/1.2\r\nHost: a.b\r\n\r\n",
		"GET  http://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET http://a.b/ x HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET http://a.b/#x HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET http://u@a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET http:///x HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET https://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"CONNECT a.b HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"CONNECT a.b:443/x HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"CONNECT a.b:443 HTTP/1.1\r\nHost: c.d:443\r\n\r\n",
		"CONNECT a.b:443 HTTP/1.1\r\nContent-Length: 1\r\n\r\n",
		"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
		"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: +1\r\n\r\n",
		"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 1, 1\r\n\r\n",
		"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nContent-Length: 9999999999999999999\r\n\r\n",
		"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: xchunked\r\n\r\n",
		"POST http://a.b/ HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST http://a.b/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nConnection: close, Host\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nConnection: transfer-encoding\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nConnection: content-length\r\n\r\n",
		"\r\n\r\nGET http://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
		"GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nX: \x01\r\n\r\n",
	};
	struct http_request r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (ask(bad[i], &r) != -1)
			fail_msg("taken: %s", bad[i]);
}

static void fields_of_one_hop_stay(void **state)
{
	struct http_request r;
	struct buf to;

	(void)state;
	assert_true(
		ask("GET http://a.b/ HTTP/1.1\r\nHost: a.b\r\nConnection: x-one, close\r\nX-One: 1\r\nX-Two: 2\r\n"
		    "Proxy-Authorization: secret\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\n\r\n",
			&r) > 0);
	buf_init(&to, &a);
	http_forward(&to, &r);
	assert_string_equal(to.p, "GET / HTTP/1.1\r\nHost: a.b\r\nX-Two: 2\r\nConnection: close\r\n\r\n");
}

/* All of it at once, and byte by byte. */
static ssize_t body(const char *text, enum body_kind kind, uint64_t length, bool *ret_is_over)
{
	struct http_body whole = { .kind = kind, .left = length }, parts = whole;
	ssize_t n = http_body(&whole, text, strlen(text)), sum = 0;

	for (size_t i = 0; i < strlen(text) && sum >= 0; i++) {
		ssize_t one = http_body(&parts, text + i, 1);
		sum = one < 0 ? -1 : sum + one;
	}
	assert_int_equal(n, sum);
	*ret_is_over = whole.kind == BODY_NONE;
	return n;
}

static void bodies_end_where_they_say(void **state)
{
	static const char *const bad[] = { "x\r\n", "5;ext=1\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n",
		"5\r\nhelloX", "5\r\nhello\r\n0\r\nX: trailer\r\n\r\n", "\r\n", "123456789\r\n", " 5\r\n",
		"-1\r\n", "0x5\r\n" };
	bool is_over;

	(void)state;
	assert_int_equal(body("helloGET", BODY_LENGTH, 5, &is_over), 5);
	assert_true(is_over);
	assert_int_equal(body("hel", BODY_LENGTH, 5, &is_over), 3);
	assert_false(is_over);
	assert_int_equal(
		body("5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\nGET /", BODY_CHUNKED, 0, &is_over), 30);
	assert_true(is_over);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (body(bad[i], BODY_CHUNKED, 0, &is_over) != -1)
			fail_msg("taken: %s", bad[i]);
}

static void answers_say_that_the_connection_ends(void **state)
{
	static const char text[] =
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\n\r\nhi";
	static const char early[] = "HTTP/1.1 100 Continue\r\n\r\n";
	bool is_last;
	struct buf to;

	(void)state;
	buf_init(&to, &a);
	assert_int_equal(http_answer(&to, text, strlen(text), &is_last), (ssize_t)strlen(text) - 2);
	assert_true(is_last);
	assert_string_equal(to.p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
	buf_init(&to, &a);
	assert_int_equal(http_answer(&to, early, strlen(early), &is_last), (ssize_t)strlen(early));
	assert_false(is_last);
	assert_string_equal(to.p, early);
	assert_int_equal(http_answer(&to, "SSH-2.0\r\n\r\n", 11, &is_last), -1);
	assert_int_equal(http_answer(&to, "HTTP/1.1 101 Switching\r\n\r\n", 26, &is_last), -1);
	assert_int_equal(http_answer(&to, text, 20, &is_last), 0);
}

/* ---- SOCKS ---- */

static void socks_is_read(void **state)
{
	static const uint8_t name[] = "\5\1\0\3\13example.com\1\273", v4[] = "\5\1\0\1\x7f\0\0\1\x1f\x90",
			     listen[] = "\5\2\0\1\x7f\0\0\1\0\x50", zero[] = "\5\1\0\3\3a\0b\1\273",
			     type[] = "\5\1\0\2\1\1\1\1\0\x50", no_port[] = "\5\1\0\1\x7f\0\0\1\0\0";
	struct egress_target t;
	uint8_t code;

	(void)state;
	assert_int_equal(socks_greeting((const uint8_t *)"\5\1\0", 3), 3);
	assert_int_equal(socks_greeting((const uint8_t *)"\5\2\0\2", 4), 4);
	assert_int_equal(socks_greeting((const uint8_t *)"\5\1\2", 3), -1); /* only with a password */
	assert_int_equal(socks_greeting((const uint8_t *)"\5", 1), 0);
	assert_int_equal(socks_greeting((const uint8_t *)"\4\1", 2), -1);
	for (size_t n = 0; n < sizeof(name) - 1; n++)
		assert_int_equal(socks_request(name, n, &t, &code), 0);
	assert_int_equal(socks_request(name, sizeof(name) - 1, &t, &code), (int)sizeof(name) - 1);
	assert_string_equal(t.host, "example.com");
	assert_int_equal(t.port, 443);
	assert_int_equal(socks_request(v4, sizeof(v4) - 1, &t, &code), 10);
	assert_true(t.is_address && t.port == 8080);
	assert_int_equal(socks_request(listen, sizeof(listen) - 1, &t, &code), -1);
	assert_int_equal(code, SOCKS_NO_SUCH_COMMAND);
	assert_int_equal(socks_request(type, sizeof(type) - 1, &t, &code), -1);
	assert_int_equal(code, SOCKS_NO_SUCH_ADDRESS);
	assert_int_equal(socks_request(zero, sizeof(zero) - 1, &t, &code), -1);
	assert_int_equal(socks_request(no_port, sizeof(no_port) - 1, &t, &code), -1);
}

/* ---- TLS ---- */

/* A hello with these names; `fragment` bytes to a record. */
static size_t make_hello(uint8_t *to, const char *const *names, size_t count, size_t fragment)
{
	uint8_t body[2000] = { 1, 0, 0, 0, 3, 3 };
	size_t n = 4 + 2 + 32, used = 0;

	body[n++] = 0; /* session */
	memcpy(body + n, "\0\2\x13\1\1\0", 6); /* ciphers, compressions */
	n += 6;
	size_t extensions = n;
	n += 2;
	for (size_t i = 0; i < count; i++) {
		size_t m = strlen(names[i]);
		const uint8_t head[9] = { 0, 0, 0, (uint8_t)(m + 5), 0, (uint8_t)(m + 3), 0, 0, (uint8_t)m };
		memcpy(body + n, head, 9);
		memcpy(body + n + 9, names[i], m);
		n += 9 + m;
	}
	memcpy(body + n, "\0\x2b\0\3\2\3\4", 7); /* versions */
	n += 7;
	body[extensions] = (uint8_t)((n - extensions - 2) >> 8);
	body[extensions + 1] = (uint8_t)(n - extensions - 2);
	body[2] = (uint8_t)((n - 4) >> 8);
	body[3] = (uint8_t)(n - 4);
	for (size_t at = 0; at < n; at += fragment) {
		size_t some = n - at < fragment ? n - at : fragment;
		const uint8_t head[5] = { 22, 3, 1, (uint8_t)(some >> 8), (uint8_t)some };
		memcpy(to + used, head, 5);
		memcpy(to + used + 5, body + at, some);
		used += 5 + some;
	}
	return used;
}

static void a_hello_names_the_host_it_was_admitted_for(void **state)
{
	static const char *const same[] = { "Example.com" }, *const other[] = { "evil.example" },
				 *const both[] = { "example.com", "evil.example" },
				 *const odd[] = { "127.1" };
	uint8_t hello[16000];

	(void)state;
	for (size_t fragment = 1; fragment < 300; fragment += 37) {
		size_t n = make_hello(hello, same, 1, fragment);
		assert_int_equal(hello_judge(hello, n, "example.com"), HELLO_PASS);
		for (size_t k = 1; k < n; k++)
			assert_int_not_equal(hello_judge(hello, k, "example.com"), HELLO_REFUSE);
		assert_int_equal(hello_judge(hello, n - 1, "example.com"), HELLO_MORE);
		n = make_hello(hello, other, 1, fragment);
		assert_int_equal(hello_judge(hello, n, "example.com"), HELLO_REFUSE);
	}
	assert_int_equal(hello_judge(hello, make_hello(hello, both, 2, 500), "example.com"), HELLO_REFUSE);
	assert_int_equal(hello_judge(hello, make_hello(hello, odd, 1, 500), "example.com"), HELLO_REFUSE);
	assert_int_equal(hello_judge(hello, make_hello(hello, NULL, 0, 500), "example.com"), HELLO_PASS);
	assert_int_equal(hello_judge((const uint8_t *)"SSH-2.0", 7, "example.com"), HELLO_PASS);
	assert_int_equal(hello_judge((const uint8_t *)"\x16", 1, "example.com"), HELLO_MORE);
	assert_int_equal(
		hello_judge((const uint8_t *)"\x16\x09\x09\x00\x10", 5, "example.com"), HELLO_REFUSE);
	assert_int_equal(
		hello_judge((const uint8_t *)"\x16\x03\x01\x00\x10\x02", 6, "example.com"), HELLO_REFUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(rules_name_hosts, done),
		cmocka_unit_test_teardown(what_is_no_rule_is_refused, done),
		cmocka_unit_test_teardown(rules_are_written_as_they_are_read, done),
		cmocka_unit_test_teardown(shipped_lists_are_rules, done),
		cmocka_unit_test_teardown(only_public_addresses_pass, done),
		cmocka_unit_test_teardown(one_address_has_many_spellings, done),
		cmocka_unit_test_teardown(requests_are_read, done),
		cmocka_unit_test_teardown(what_could_be_read_in_two_ways_is_refused, done),
		cmocka_unit_test_teardown(fields_of_one_hop_stay, done),
		cmocka_unit_test_teardown(bodies_end_where_they_say, done),
		cmocka_unit_test_teardown(answers_say_that_the_connection_ends, done),
		cmocka_unit_test_teardown(socks_is_read, done),
		cmocka_unit_test_teardown(a_hello_names_the_host_it_was_admitted_for, done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

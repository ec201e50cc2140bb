/* egress.c — rules for hosts: reading and matching.
 *
 * The reader is narrow, because a rule that means more than its writer thought opens more than that: one spelling per name, no
 * wildcard but a leading "*." with two labels behind it, no address in an odd spelling.  Matching compares whole texts. */
#include "model/egress.h"

#include "base/embed.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LABEL = 63, MAX_NAME = 253, MAX_DEPTH = 3 };
#define LISTS "share/egress/"

/* ---- spelling ---- */

static void map_v4(const uint8_t v4[4], uint8_t ret[EGRESS_ADDRESS])
{
	memset(ret, 0, 10);
	ret[10] = ret[11] = 0xff;
	memcpy(ret + 12, v4, 4);
}

void egress_address_text(const uint8_t address[EGRESS_ADDRESS], char ret[EGRESS_HOST])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool is_v4 = memcmp(address, mapped, sizeof(mapped)) == 0;

	if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? address + 12 : address, ret, EGRESS_HOST))
		ret[0] = '\0';
}

static bool is_label(const char *p, size_t n)
{
	if (!n || n > MAX_LABEL || p[0] == '-' || p[n - 1] == '-')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= '0' && p[i] <= '9') || p[i] == '-' ||
			    p[i] == '_'))
			return false;
	return true;
}

/* A name whose last label is a number is taken for an address by some resolvers: it is none here. */
static bool is_name(const char *name)
{
	const char *at = name;

	for (;;) {
		size_t n = strcspn(at, ".");
		if (!is_label(at, n))
			return false;
		if (!at[n])
			return strspn(at, "0123456789") != n && !text_starts(at, "0x");
		at += n + 1;
	}
}

bool egress_host(const char *p, size_t n, char ret[EGRESS_HOST], bool *ret_is_address,
	uint8_t ret_address[EGRESS_ADDRESS])
{
	uint8_t v4[4], v6[EGRESS_ADDRESS];

	if (n > 2 && p[0] == '[' && p[n - 1] == ']' && memchr(p, ':', n))
		p++, n -= 2;
	if (!n || n > MAX_NAME + 1 || memchr(p, '\0', n))
		return false;
	for (size_t i = 0; i < n; i++)
		ret[i] = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] - 'A' + 'a') : p[i];
	ret[n] = '\0';
	bool has_colon = memchr(ret, ':', n);
	*ret_is_address = has_colon ? inet_pton(AF_INET6, ret, v6) == 1
				    : ret[0] >= '0' && ret[0] <= '9' && inet_pton(AF_INET, ret, v4) == 1;
	if (*ret_is_address) {
		if (has_colon)
			memcpy(ret_address, v6, sizeof(v6));
		else
			map_v4(v4, ret_address);
		egress_address_text(ret_address, ret);
		return true;
	}
	if (ret[n - 1] == '.')
		ret[--n] = '\0';
	return n && n <= MAX_NAME && is_name(ret);
}

static bool read_port(const char *p, size_t n, uint16_t *ret)
{
	unsigned port = 0;

	if (!n || n > 5)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return false;
		port = port * 10 + (unsigned)(p[i] - '0');
	}
	if (!port || port > 65535)
		return false;
	*ret = (uint16_t)port;
	return true;
}

/* Two colons without brackets are an IPv6 address without a port. */
bool egress_split(const char *p, size_t n, const char **ret_host, size_t *ret_host_n, uint16_t *ret_port)
{
	const char *colon = memrchr(p, ':', n), *close = n && p[0] == '[' ? memchr(p, ']', n) : NULL;
	size_t host_n = n;

	if (n && p[0] == '[') {
		if (!close)
			return false;
		host_n = (size_t)(close + 1 - p);
		colon = host_n < n ? close + 1 : NULL;
		if (colon && *colon != ':')
			return false;
	} else if (colon && memchr(p, ':', (size_t)(colon - p))) {
		colon = NULL;
	} else if (colon) {
		host_n = (size_t)(colon - p);
	}
	if (colon && !read_port(colon + 1, (size_t)(p + n - colon - 1), ret_port))
		return false;
	*ret_host = p;
	*ret_host_n = host_n;
	return host_n > 0;
}

/* ---- rules ---- */

static int bad_rule(const char *text, const char *why, struct err *e)
{
	return err_set(e, E_INPUT, "EGRESS_RULE",
		"'%.80s' is no rule for a host: %s; write host, host:port, *.host, an address or @list", text,
		why);
}

static void push(struct arena *a, struct egress_rules *to, const struct egress_rule *rule)
{
	if (to->n == to->cap) {
		size_t cap = to->cap ? to->cap * 2 : 16;
		to->list = arena_grow(a, to->list, to->n * sizeof(*to->list), cap * sizeof(*to->list));
		to->cap = cap;
	}
	to->list[to->n++] = *rule;
}

/* As it would be written again. */
static const char *rule_text(struct arena *a, const struct egress_rule *rule, const char *name)
{
	bool is_v6 = strchr(name, ':');

	if (!rule->port && !rule->is_below)
		return rule->host ? rule->host : arena_strdup(a, name);
	if (!rule->port)
		return arena_printf(a, "*.%s", name);
	return arena_printf(a, "%s%s%s%s:%u", rule->is_below ? "*." : "", is_v6 ? "[" : "", name,
		is_v6 ? "]" : "", rule->port);
}

static int add_host(
	struct arena *a, struct egress_rules *to, const char *text, const char *from, struct err *e)
{
	struct egress_rule rule = { .from = from, .is_below = text_starts(text, "*.") };
	const char *at = text + (rule.is_below ? 2 : 0), *host;
	char name[EGRESS_HOST];
	bool is_address;
	size_t n;

	if (!egress_split(at, strlen(at), &host, &n, &rule.port))
		return bad_rule(text, "the port must be a number from 1 to 65535", e);
	if (!egress_host(host, n, name, &is_address, rule.address))
		return bad_rule(text, "that is neither a name nor an address", e);
	if (rule.is_below && (is_address || !strchr(name, '.')))
		return bad_rule(text, "behind '*.' stands a name with a dot in it", e);
	if (to->n >= EGRESS_MAX_RULES)
		return err_set(e, E_LIMIT, "EGRESS_RULE", "there are more than %d rules for hosts",
			EGRESS_MAX_RULES);
	rule.host = is_address ? NULL : arena_strdup(a, name);
	rule.text = rule_text(a, &rule, name);
	push(a, to, &rule);
	return OK;
}

static int add(struct arena *a, struct egress_rules *to, const char *text, const char *from, int depth,
	struct err *e);

/* A line of a list is a rule; what follows a '#' is for people. */
static int add_list(struct arena *a, struct egress_rules *to, const char *name, int depth, struct err *e)
{
	const char *from = arena_printf(a, "@%s", name);
	struct bytes text;
	int rc = OK;

	if (depth >= MAX_DEPTH || strchr(name, '/') || strlen(name) > 40 ||
		!embed_find(arena_printf(a, LISTS "%s.txt", name), &text))
		return err_set(e, E_INPUT, "EGRESS_RULE",
			"'@%.40s' is no shipped list; see: helm egress list", name);
	while (text.p && rc == OK) {
		struct bytes line = text_cut(&text, '\n');
		const char *end = line.n ? memchr(line.p, '#', line.n) : NULL;
		size_t n = end ? (size_t)(end - (const char *)line.p) : line.n;
		while (n && (line.p[n - 1] == ' ' || line.p[n - 1] == '\t'))
			n--;
		if (n)
			rc = add(a, to, arena_strndup(a, (const char *)line.p, n), from, depth + 1, e);
	}
	return rc;
}

static int add(struct arena *a, struct egress_rules *to, const char *text, const char *from, int depth,
	struct err *e)
{
	return text[0] == '@' ? add_list(a, to, text + 1, depth, e) : add_host(a, to, text, from, e);
}

int egress_add(struct arena *a, struct egress_rules *to, const char *text, const char *from, struct err *e)
{
	size_t n = to->n;
	int rc = add(a, to, text, from, 0, e);

	if (rc)
		to->n = n;
	return rc;
}

/* ---- matching ---- */

static bool port_fits(const struct egress_rule *rule, uint16_t port)
{
	return rule->port ? rule->port == port : port == 80 || port == 443;
}

static bool is_below(const char *host, const char *top)
{
	size_t n = strlen(host), m = strlen(top);

	return n > m + 1 && host[n - m - 1] == '.' && text_eq(host + n - m, top);
}

const struct egress_rule *egress_names(const struct egress_rules *rules, const char *host, uint16_t port)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct egress_rule *r = &rules->list[i];
		if (r->host && port_fits(r, port) &&
			(r->is_below ? is_below(host, r->host) : text_eq(host, r->host)))
			return r;
	}
	return NULL;
}

const struct egress_rule *egress_has_address(
	const struct egress_rules *rules, const uint8_t address[EGRESS_ADDRESS], uint16_t port)
{
	for (size_t i = 0; i < rules->n; i++) {
		const struct egress_rule *r = &rules->list[i];
		if (!r->host && port_fits(r, port) && memcmp(r->address, address, EGRESS_ADDRESS) == 0)
			return r;
	}
	return NULL;
}

/* ---- shipped lists ---- */

bool egress_list_at(size_t i, char ret_name[64], char ret_about[200])
{
	const char *name;
	struct bytes text;

	for (size_t k = 0; embed_at(k, &name, &text); k++) {
		if (!text_starts(name, LISTS) || i--)
			continue;
		struct bytes first = text_cut(&text, '\n');
		size_t skip = 0;
		while (skip < first.n && (first.p[skip] == '#' || first.p[skip] == ' '))
			skip++;
		snprintf(ret_name, 64, "%.*s", (int)(strlen(name) - strlen(LISTS ".txt")),
			name + strlen(LISTS));
		snprintf(ret_about, 200, "%.*s", (int)(first.n - skip), (const char *)first.p + skip);
		return true;
	}
	return false;
}

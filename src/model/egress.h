/* egress.h — which hosts a run may reach, by name.
 *
 * A profile with "network": "named" lists rules in its member "egress", and a person may allow more for a place.  A rule is
 *
 *	host		this name, ports 80 and 443
 *	host:port	this name and port
 *	*.host		every name below it, not itself; also with :port
 *	address[:port]	this address, IPv6 in brackets when a port follows; opens it also where it is private
 *	@list		the rules of a shipped list (share/egress/LIST.txt)
 *
 * Nothing here does I/O: the door (execute/egress/) asks for every connection, the guard and `helm egress check` ask the same. */
#ifndef MODEL_EGRESS_H
#define MODEL_EGRESS_H

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum { EGRESS_HOST = 256, EGRESS_ADDRESS = 16, EGRESS_MAX_RULES = 4096 };

struct egress_rule {
	const char *text; /* as written, in lower case */
	const char *from; /* who said so: "profile develop", "@npm", "a person" */
	const char *host; /* the name, without "*."; NULL for an address */
	bool is_below; /* names below `host` */
	uint8_t address[EGRESS_ADDRESS]; /* IPv4 as ::ffff:a.b.c.d */
	uint16_t port; /* 0: 80 and 443 */
};

struct egress_rules {
	struct egress_rule *list;
	size_t n, cap;
};

/* Add one rule, or all of a shipped list.  E_INPUT EGRESS_RULE says what is wrong with it; then nothing was added. */
int egress_add(struct arena *a, struct egress_rules *to, const char *text, const char *from, struct err *e);

/* The rule that admits this name (as egress_host() gives it) or address and port; NULL: there is none. */
const struct egress_rule *egress_names(const struct egress_rules *rules, const char *host, uint16_t port);
const struct egress_rule *egress_has_address(
	const struct egress_rules *rules, const uint8_t address[EGRESS_ADDRESS], uint16_t port);

/* A host as a client spells it: its name in lower case without the last dot, or an address in its usual spelling with
 * *ret_is_address.  False for anything else; numbers in other spellings (0x7f.1, 2130706433) are neither. */
bool egress_host(const char *p, size_t n, char ret[EGRESS_HOST], bool *ret_is_address,
	uint8_t ret_address[EGRESS_ADDRESS]);
/* Whom a URL, host or host:port would lead to in any program that reads it, in whatever spelling: for what is forbidden, never for what is
 * permitted.  `ret` is the name in lower case, or the address in its usual spelling.  False: it names nobody. */
bool egress_reached(
	const char *target, char ret[EGRESS_HOST], bool *ret_is_address, uint8_t ret_address[EGRESS_ADDRESS]);
/* "10.1.0.0/16", "2001:db8::/32"; anything else names no network. */
bool egress_in_network(const char *network, const uint8_t address[EGRESS_ADDRESS]);
/* "host:port", "[v6]:port", "host": *ret_port stays as it is when none is said. */
bool egress_split(const char *p, size_t n, const char **ret_host, size_t *ret_host_n, uint16_t *ret_port);
void egress_address_text(const uint8_t address[EGRESS_ADDRESS], char ret[EGRESS_HOST]);

/* The i-th shipped list in the order of names: "npm" and its first line; false past the end. */
bool egress_list_at(size_t i, char ret_name[64], char ret_about[200]);

#endif

/* egress.h — the one door to the network of what runs behind walls without a route.
 *
 * A run whose profile says "network": "named" has a network namespace with nothing but a loopback.  On that loopback listens the
 * door, a proxy (HTTP CONNECT, plain HTTP, SOCKS 5) at EGRESS_ADDRESS_TEXT.  The listening socket is made inside the namespace
 * (egress_offer) and handed out through a socket; the process that serves it is outside (egress_start), a program of its own
 * without a key, that can write no file and start nothing.  It admits what the rules of model/egress.h name, and says for every
 * connection what became of it.
 *
 *	egress_start()		the door's process is there and knows the rules
 *	... egress_inside()	goes into sandbox_rules.door: the warden offers the listening socket through it
 *	egress_hear()		whenever egress_records() can be read: one call of `fn` for each connection that ended
 *	egress_stop()		connections end, the last records come, the process is gone
 *
 * One door serves any number of processes in one namespace, so a session keeps it from its first call to its last. */
#ifndef EXECUTE_EGRESS_EGRESS_H
#define EXECUTE_EGRESS_EGRESS_H

#include "base/json.h"
#include "base/sys.h"
#include "model/egress.h"

/* A namespace of its own has every port free, so the place is always the same there. */
enum { EGRESS_DOOR_PORT = 3128, EGRESS_LINKS = 1000 };

struct egress_door;
/* Variables that make programs use the door, NAME=value, the last one NULL; none without a door.  And whether an inherited NAME=value is
 * one of them, and so must not stand beside ours. */
const char *const *egress_environment(struct arena *a, const struct egress_door *d);
bool egress_is_variable(const char *entry);

/* NULL when this address is on the public internet; otherwise what it is: "private", "loopback", "a metadata service". */
const char *egress_trouble(const uint8_t address[EGRESS_ADDRESS]);

/* ---- outside ---- */

/* One connection: {at, host, port, address, via, verdict, reason, rule, bytes_out, bytes_in, duration_ms}.  verdict is "admitted" or
 * "refused".  Valid during the call only. */
typedef int egress_visit(void *arg, const struct json *record, struct err *e);

/* `who` is what refusals name: "profile develop".  E_IO EGRESS_START when there can be no door: then there is nothing to stop. */
int egress_start(struct sys *s, struct arena *a, const struct egress_rules *rules, const char *who,
	struct egress_door **ret, struct err *e);
/* More rules, from now on. */
int egress_allow(struct egress_door *d, const struct egress_rules *more, struct err *e);
int egress_inside(const struct egress_door *d);
/* Where there is no namespace to listen in: on a free port of this machine's loopback, which is returned.  0: E_IO. */
uint16_t egress_listen(struct egress_door *d, struct err *e);
uint16_t egress_port(const struct egress_door *d); /* where it listens */
int egress_records(const struct egress_door *d); /* to be polled; -1 once the door has gone */
int egress_hear(struct egress_door *d, egress_visit *fn, void *arg, struct err *e);
/* fn may be NULL.  NULL is fine for d. */
int egress_stop(struct egress_door *d, egress_visit *fn, void *arg, struct err *e);

/* ---- inside: in the warden, with the loopback up ---- */

/* Listen, and hand the socket out through `to`, which is closed.  0, or -1 with errno. */
int egress_offer(int to);

/* ---- the door's own process ---- */

/* All addresses of a name, in the order to try them; how many, or -1.  Called in a thread. */
typedef int egress_resolve(void *arg, const char *host, uint8_t (*ret)[EGRESS_ADDRESS], int most);

struct egress_service {
	int control; /* rules and the listening socket come from here; its end is the end */
	int records; /* one line of JSON for each connection */
	egress_resolve *resolve; /* NULL: the system's */
	void *arg;
	bool is_open; /* tests: not confined */
	int64_t greet_ms, connect_ms, idle_ms; /* 0: the usual ones */
};
/* Serves until the control socket ends or TERM comes.  OK, or E_IO when it could not begin. */
int egress_serve(const struct egress_service *how, struct err *e);

#endif

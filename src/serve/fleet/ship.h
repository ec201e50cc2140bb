/* ship.h — inside serve/fleet/: the side of a machine. */
#ifndef SERVE_FLEET_SHIP_H
#define SERVE_FLEET_SHIP_H

#include "base/json.h"
#include "base/sys.h"
#include "kernel/fleet/fleet.h"
#include "kernel/kernel.h"

/* A whole batch is below what a ledger takes (BATCH_BYTES), however badly it packs. */
enum { SHIP_RECEIPTS = 256, SHIP_BYTES = 768 << 10, BESIDE_BYTES = 120 << 10 };
/* A round ends after so many batches of each chain, or after so long; the next one goes on.  What a round has allocated ends with it. */
enum { ROUND_BATCHES = 16, ROUND_MS = 2000 };

struct shipper {
	struct sys *sys;
	struct arena *a; /* of one round */
	const char *helm_home;
	struct json *joined, *state;
	struct key *key;
	int64_t ahead_s; /* of the ledger's clock before ours */
	int64_t until_us; /* the end of the round, by the clock that is never set */
	bool is_behind; /* the round ended before everything was sent */
	bool is_slowed; /* the ledger asks for fewer requests */
	bool has_orders; /* the round ended before every order was heard */
};

/* What the ledger said to one request. */
struct reply {
	int status;
	struct json *doc; /* never NULL */
	const char *code; /* of an error; "" */
	const char *text;
};
/* Signed and sent; a clock that differs is corrected and asked again once.  E_IO: nobody answered. */
int ship_ask(struct shipper *h, const char *method, const char *path, struct bytes body, const char *type,
	int64_t timeout_ms, struct reply *ret, struct err *e);

/* One chain on this machine. */
struct local_chain {
	const char *root;
	struct workspace *ws;
	const char *session; /* NULL: nothing was recorded yet */
	int64_t head;
	const char *head_hash;
};
int local_open(struct shipper *h, const char *root, struct local_chain *ret, struct err *e);
void local_close(struct local_chain *c);
/* The chain hash of a receipt of it, in hex; E_MISSING. */
int local_hash_at(
	struct shipper *h, const struct local_chain *c, int64_t clock, const char **ret, struct err *e);
/* One batch from `first` on, in `a`: the frame, how many receipts, and the hash of the last. */
struct packed {
	struct bytes frame;
	int64_t n;
	const char *last_hash;
};
int local_pack(struct shipper *h, struct arena *a, const struct local_chain *c, int64_t first,
	struct packed *ret, struct err *e);

/* What is known of a chain: {acked, hash, stopped: {code, why, at}}. */
struct json *ship_chain_state(struct shipper *h, const char *session);
/* Send what is new of one chain, as much as a round may.  OK also when it had to be stopped: the state says so.  E_IO: try again later. */
int ship_chain(struct shipper *h, struct local_chain *c, int64_t *ret_sent, struct err *e);
/* Say that this machine is there, and hear what is new: checkpoint and number of the newest order. */
int ship_beat(struct shipper *h, struct json **ret_answer, struct err *e);
/* Is the checkpoint that the ledger shows consistent with the last one, and is what it acknowledged in it?  Otherwise the state has an alarm. */
int ship_check_log(struct shipper *h, const char *checkpoint, struct err *e);
/* Fetch and obey orders behind those that were: as many as one answer has; h->has_orders says that there are more. */
int ship_orders(struct shipper *h, int64_t newest, struct err *e);
/* The ledger has more of a chain than is here. */
void ship_set_back(struct shipper *h, struct json *st, int64_t theirs, int64_t ours);
void ship_stop(struct shipper *h, struct json *where, const char *code, const char *why);

#endif

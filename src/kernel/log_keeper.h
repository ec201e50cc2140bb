/* log_keeper.h — the keeper of the keys of fleets' logs: what it signs, and what it refuses (docs/formats/fleet-signer.md).
 *
 * Whoever has the log's key can tell two stories about one log; whoever has the control key can give orders to every machine.  So neither is where the
 * database and the network are: `helm signer log` has them, as a user of its own, and is a witness of its own logs.  It signs a head only with a proof that
 * the one it signed last is a beginning of it, and an order only as the next one of its chain. */
#ifndef KERNEL_LOG_KEEPER_H
#define KERNEL_LOG_KEEPER_H

#include "base/json.h"
#include "base/sys.h"
#include "kernel/signer.h"
#include "proof/tlog_proof.h"

#define FLEET_ORDER_V1 "helm-fleet-order/1"

/* ---- who keeps them ---- */

struct log_keeper;

/* Make both keys of a log, and say what it is called: LOG_EXISTS when there is one of that name.  `home` is the keeper's own helm home; what is made lies in
 * <home>/logs/<name>. */
int log_keeper_create(struct sys *s, struct arena *a, const char *home, const char *name, const char *origin,
	struct err *e);
/* SIGNER_RUNS when another one works there. */
int log_keeper_open(struct sys *s, const char *home, struct log_keeper **ret, struct err *e);
/* To ask for facts only, beside one that runs. */
int log_keeper_look(struct sys *s, const char *home, struct log_keeper **ret, struct err *e);
void log_keeper_close(struct log_keeper **k); /* for AUTO() */
/* One question, one answer; for signer_serve(). */
struct json *log_keeper_answer(void *keeper, struct arena *a, uid_t user, struct bytes question);

/* ---- who asks them ---- */

/* Over a socket, or, with `keeper`, in this process: for tests, and for a ledger on a machine where nobody else is. */
struct log_line;
int log_line_open(
	struct sys *s, const char *socket, struct log_keeper *keeper, struct log_line **ret, struct err *e);
void log_line_close(struct log_line **l); /* for AUTO() */

/* What the keeper has of a log. */
struct log_facts {
	struct note_key log, control;
	struct tlog_head last; /* signed last; size 0: nothing */
	int64_t order_seq; /* the last one signed; 0: none */
	const char *order_hash; /* of it; "" */
};
/* LOG_UNKNOWN, LOG_AWAY. */
int log_ask_facts(
	struct log_line *l, struct arena *a, const char *name, struct log_facts *ret, struct err *e);
/* A note about `next` signed by the log, given what leads there from the last one signed.  `newest` is the newest note of this log that whoever asks has, or
 * NULL: it shows the keeper whether it was set back itself.  Before the note is given, it is on disk there that it was signed.
 *
 * LOG_SMALLER: a larger tree was signed before; LOG_DIFFERENT: another tree; LOG_ELSEWHERE: the proof begins elsewhere than at the last one signed, ask for the
 * facts again; LOG_SET_BACK: the keeper has forgotten what it signed.  The first two, from a database that nobody else grows, mean that it was set back. */
int log_ask_head(struct log_line *l, struct arena *a, const char *name, const struct tlog_head *next,
	const struct tlog_request *request, const char *newest, const char **ret_note, struct err *e);
/* The order with its signature.  It must be the next one; one that was signed before is signed again as it was.  LOG_ORDER_TAKEN: another one has this number,
 * which is *ret then, with its signature: whoever asked lost it, and takes it before going on.  LOG_ORDER: it is no order to sign, or not the next one. */
int log_ask_order(struct log_line *l, struct arena *a, const char *name, const struct json *order,
	struct json **ret, struct err *e);

/* The bytes that an order's signature is of, and the hash that the next one names. */
struct bytes log_order_message(struct arena *a, const struct json *order);
const char *log_order_hash(struct arena *a, const struct json *signed_order);

#endif

/* look.h — inside serve/fleet/: the console of a fleet, for the readers of one tenant (docs/formats/console.md, "At the front end of a fleet").
 *
 * A view: what is shown comes from a transaction of that tenant, as the role that only reads.  What a person does there is an order, signed by their
 * passkey and then by the control key; the machines look at both. */
#ifndef SERVE_FLEET_LOOK_H
#define SERVE_FLEET_LOOK_H

#include "serve/fleet/centre.h"

struct looking {
	struct lent
		l; /* for an engineer it sees their own machines, whatever it is asked (db.h, pg_narrow) */
	struct reader who;
	int64_t until_us; /* when the session is over; 0: a token itself */
};
void looking_done(struct looking *x); /* for AUTO() */
/* Pages know by the code what to ask for. */
#define READER_WANTED "READER_TOKEN"
/* Who looks: by a session of one of our own pages, or by a token.  401, 403. */
int looking_begin(struct call *c, struct looking *ret, struct err *e);
/* What is asked at the centre, asked in that transaction. */
struct centre looking_centre(struct call *c, struct looking *x, const struct json *q);
/* For whoever listens for long: what they came with, in memory of theirs, and whether it still opens the tenant. */
const char *looking_token(struct call *c);
bool reader_still(struct server *s, struct arena *a, const char *token);

/* people.c: sessions of people; the cookie of one, NULL: there is none. */
const char *session_cookie(const struct call *c);
int session_begin(struct call *c, const char *cookie, struct looking *ret, struct err *e); /* 401 */
int session_still(struct call *c, const char *cookie, struct err *e); /* the same without its page */
int session_leave(struct call *c, const char *cookie, struct err *e);
int people_challenge(struct call *c, struct err *e);
int people_login(struct call *c, struct err *e);
int people_register_begin(struct call *c, struct err *e);
int people_register(struct call *c, struct err *e);

/* challenge.c: `purpose` is part of it: what was given to come in signs no act. */
int challenge_make(struct call *c, const char *purpose, uint8_t ret[32], struct err *e);
bool challenge_is_ours(struct call *c, const char *purpose, const uint8_t challenge[32]); /* and in time */
int challenge_use(
	struct db *d, const uint8_t challenge[32], bool *ret, struct err *e); /* *ret: for the first time */
int challenges_start(struct fleet *f, struct err *e);

/* Those who may act, as the newest list of the tenant has them, looked at against its root key; *ret NULL: nobody. */
int looking_approvers(struct call *c, struct looking *x, const struct json **ret, struct err *e);

typedef int look_view(struct call *c, struct looking *x, struct err *e);
/* Who looks first, then what they see. */
int look(struct call *c, look_view *fn, struct err *e);

/* An order, signed by the keeper of the control key; *ret is {seq, hash, order}. */
int look_order(struct call *c, struct looking *x, const char *kind, const struct json *nodes,
	struct json *body, const char *by, struct json **ret, struct err *e);

/* look_quorum.c: a question that takes several people. */
struct several {
	const struct json *request;
	const char *id, *session;
	int64_t chain_id, clock; /* of the receipt that asked */
	struct json *
		yes; /* [{key_id, label, order?}]; with an order: the machine has not said yet what became of it */
	struct bytes message; /* what those have signed; empty: nobody has */
};
/* Fills in who has said yes, and what they signed. */
int look_several(struct call *c, struct looking *x, struct several *q, struct err *e);
/* What the next one signs: the same. */
int look_several_message(struct call *c, const struct several *q, struct bytes *ret, struct err *e);
/* May the yes of this person, to these bytes, be one more?  403, 409. */
int look_several_check(
	struct call *c, const struct several *q, struct bytes message, const char *label, struct err *e);

/* look_taken.c: what is about to be given, on record before it is; 503 NOT_ON_RECORD: then it is not given. */
struct taken {
	const char *what; /* pack, csv, jsonl */
	struct json *over; /* which of it */
	struct bytes bytes;
	int64_t rows; /* -1: it has none */
};
int look_record_taken(struct call *c, struct looking *x, struct taken *t, struct err *e);

#define LOOKS(name) int look_##name(struct call *c, struct err *e)
/* look_views.c */
LOOKS(now);
LOOKS(machines);
LOOKS(machine);
LOOKS(log);
LOOKS(evidence);
LOOKS(taken);
/* look_acts.c */
LOOKS(acts);
LOOKS(values);
LOOKS(export);
LOOKS(act);
/* look_waiting.c */
LOOKS(waiting);
LOOKS(answer_message);
LOOKS(answer);
LOOKS(freeze);
LOOKS(freeze_message);
LOOKS(freeze_order);
/* look_events.c */
LOOKS(events);
int look_start(struct fleet *f, struct err *e);
void look_stop(struct fleet *f);

/* Columns of a receipt and its row; the query has r, c and n for receipt, chain and node. */
#define ACT_COLUMNS \
	"to_char(r.at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), (extract(epoch FROM r.at) * 1000000)::int8, r.verdict, r.rtype, r.reason, " \
	"r.rule, r.tool, r.principal, r.decision_id, coalesce(r.caption, ''), c.session_id, r.lamport, n.host, n.owner, n.node_id::text, r.chain_id"
#define LEAF_OF \
	"(SELECT s.leaf_first + r.lamport - s.lamport_first FROM span s WHERE s.chain_id = r.chain_id AND s.lamport_first <= r.lamport ORDER BY s.lamport_first DESC LIMIT 1)"
/* Receipts by spans, and each span by the key of its chain: a join would compare all receipts of a chain with all of its spans. */
#define FROM_SPANS \
	" FROM span s CROSS JOIN LATERAL (SELECT * FROM receipt x WHERE x.chain_id = s.chain_id AND x.lamport >= s.lamport_first AND x.lamport < s.lamport_first + s.n OFFSET 0) r" \
	" JOIN chain c ON c.chain_id = s.chain_id JOIN node n ON n.node_id = c.node_id"
/* Column 0 is the leaf; those of ACT_COLUMNS follow. */
struct json *look_row(struct arena *a, const struct pg_rows *rows, int i);

#endif

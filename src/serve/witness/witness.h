/* witness.h — vouching for the logs of others, and asking others to vouch for ours (docs/formats/fleet-witness.md, c2sp.org/tlog-witness).
 *
 * A witness is asked to put its name to each further state of a log, and does so only with a proof that the state it put its name to last is a beginning of
 * it.  So whoever has a checkpoint with its name, and trusts it, knows that everybody else who has one sees the same log. */
#ifndef SERVE_WITNESS_WITNESS_H
#define SERVE_WITNESS_WITNESS_H

#include "proof/tile.h"
#include "proof/tlog_proof.h"
#include "serve/serve.h"

/* ---- being one ---- */

struct witness;
/* `doc` is the member "witness" of the options: {home, logs: [vkey]}; the key and the name are in home. */
int witness_start(struct server *s, const struct json *doc, struct err *e);
void witness_stop(struct server *s);
const struct route *witness_route_at(size_t i); /* NULL behind the last */
const struct route *witness_route(struct arena *a, const char *method, const char *path,
	const char *args[ROUTE_ARGS], const char **ret_allowed);

/* ---- asking them ---- */

enum { WITNESS_WAIT_MS = 3000 };
/* What came of it.  `note` has the log's signature and those cosignatures that hold, also when they are too few. */
struct witness_result {
	const char *note;
	size_t cosigned;
	uint64_t
		largest; /* the largest size that a witness says it has cosigned: beyond ours, ours was set back */
	struct json *report; /* [{name, says}], for a person */
};
/* Ask all witnesses of a policy that have a URL, at once, and be back after WITNESS_WAIT_MS at most.  `note` is signed by the log; its tree is in `tiles`, read
 * by this thread only.  `sizes` has one entry for each witness of the policy: what it has cosigned last as far as we know, 0 at first, kept for the next time.
 * OK when the quorum is met; otherwise E_DENIED TLOG_QUORUM, and *ret is filled as well. */
int witness_ask(struct sys *s, struct arena *a, const struct tlog_policy *policy, const char *note,
	const struct tile_source *tiles, uint64_t *sizes, struct witness_result *ret, struct err *e);
/* The same for `helm witness ask`: {policy: FILE, note: FILE, tiles: DIR}; *ret is {note, cosigned, witnesses}. */
int witness_do(struct sys *s, struct arena *a, const struct json *q, struct json **ret, struct err *e);

#endif

/* fleet_packs.h — a small pack of a fleet for tests: two machines, of which one told two stories, a log over both, a witness, two orders. */
#ifndef TOOLS_FLEET_PACKS_H
#define TOOLS_FLEET_PACKS_H

#include "proof/fleet_pack.h"
#include "proof/tlog_proof.h"
#include "tools/scratch.h"

enum { FLEET_MACHINES = 2 };
struct fleet_parts {
	struct arena *a;
	struct key *log, *control, *witness;
	struct note_key log_key, control_key, witness_key;
	struct fleet_chain chains[FLEET_MACHINES];
	struct bytes receipts[FLEET_MACHINES];
	struct bytes checkpoint, orders;
	struct json *fork;
};
/* Made in the scratch directory, with keys of its own. */
void fleet_parts_make(struct fleet_parts *f, struct scratch *t, struct arena *a);
void fleet_parts_done(struct fleet_parts *f);
/* The log's note about the receipts of both machines, cosigned; and proofs of their ends.  Again after something has changed. */
void fleet_parts_log(struct fleet_parts *f);
/* As a pack, by the writer; and to any sink. */
struct bytes fleet_parts_pack(const struct fleet_parts *f);
int fleet_parts_write(const struct fleet_parts *f, struct sink *to, struct err *e);

#endif

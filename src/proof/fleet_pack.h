/* fleet_pack.h — what happened on many machines, in one file that anybody can check alone (docs/formats/fleet-pack.md).
 *
 * A tar archive in the one form that tar.h writes.  Each chain of receipts with the history of the keys that signed it, and a proof that its last receipt is in
 * the log of the fleet: the receipts before it are bound by their links.  The checkpoint that the proofs lead to, cosigned; the orders; the forks that were
 * found.  At the end a list of all of it.  verify/fleet.c reads it.  No clock, no keys: documents in, bytes out. */
#ifndef PROOF_FLEET_PACK_H
#define PROOF_FLEET_PACK_H

#include "base/json.h"
#include "base/tar.h"
#include "proof/merkle.h"

#define FLEET_PACK_V1 "helm-fleet-pack/1"
/* The first name in the archive, which tells what it is. */
#define FLEET_PACK_MARK "HELM-FLEET-PACK"
#define FLEET_PACK_CHECKPOINT "checkpoint"
#define FLEET_PACK_ORDERS "orders.jsonl"
#define FLEET_PACK_LIST "pack.json"

/* The list.  Everything in it follows from the rest of the pack, so whoever reads it makes it anew and compares. */
struct fleet_list {
	struct json *chains, *files; /* arrays */
	int64_t forks, orders;
};
void fleet_list_begin(struct fleet_list *l, struct arena *a);
void fleet_list_file(
	struct fleet_list *l, struct arena *a, const char *path, uint64_t size, const struct hash *digest);
void fleet_list_chain(struct fleet_list *l, struct arena *a, const char *session_id, uint64_t first,
	uint64_t last, const struct hash *last_hash);
/* Canonical.  The keys as note.h spells them. */
struct bytes fleet_list_text(struct arena *a, const struct fleet_list *l, const char *origin,
	const char *log_key, const char *control_key);

/* Writing.  In this order: begin; for each chain chain, receipts; checkpoint; forks; orders; end.  Anything else is a BUG.  What fails once fails from then on,
 * and fleet_pack_end() says it, so nothing else has to be looked at. */
struct fleet_pack {
	struct arena *a;
	struct tar_writer tar;
	struct fleet_list list;
	const char *origin, *log_key, *control_key;
	unsigned chain, fork; /* so many */
	const char *open_path; /* of the file that is being written */
	struct sha256 digest;
	uint64_t size;
	int rc;
	struct err e;
};
void fleet_pack_begin(struct fleet_pack *p, struct arena *a, struct sink *to, const char *origin,
	const char *log_key, const char *control_key);

struct fleet_chain {
	const char *session_id;
	struct bytes keys; /* the key history of who wrote it, one link per line */
	struct bytes proof; /* c2sp.org/tlog-proof@v1 of the last receipt */
	uint64_t first, last; /* clocks */
	struct hash last_hash; /* chain hash of the last receipt */
	uint64_t receipts_bytes; /* of the lines that follow */
};
void fleet_pack_chain(struct fleet_pack *p, const struct fleet_chain *c);
/* Lines as they were shipped, in any number of pieces; so many bytes as were said. */
void fleet_pack_receipts(struct fleet_pack *p, struct bytes some);
void fleet_pack_checkpoint(struct fleet_pack *p, struct bytes note);
/* Two receipts for one place of a chain, both signed: {session_id, lamport_clock, keys: [link], receipts: [one, other]}. */
void fleet_pack_fork(struct fleet_pack *p, const struct json *fork);
/* One signed order per line, from the first on. */
void fleet_pack_orders(struct fleet_pack *p, struct bytes lines);
int fleet_pack_end(struct fleet_pack *p, struct err *e);

#endif

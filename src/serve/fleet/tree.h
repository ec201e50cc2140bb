/* tree.h — inside serve/fleet/: the Merkle log of a tenant, in the database. */
#ifndef SERVE_FLEET_TREE_H
#define SERVE_FLEET_TREE_H

#include "base/json.h"
#include "proof/tile.h"
#include "serve/fleet/db.h"

struct tree_at {
	uint64_t size;
	struct hash root;
};
/* In a transaction of the tenant.  With a lock: E_MISSING FLEET_BUSY when another front end has it. */
int tree_state(struct db *d, struct arena *a, bool is_locked, struct tree_at *ret, struct err *e);
/* Tiles of this connection's tenant. */
struct tile_source tree_source(struct db *d);
/* Under the lock: fold in what chains have; *ret_added leaves.  FLEET_GAP, TILE_ROOT: what lies there is not what was written. */
int tree_tick(struct db *d, struct arena *a, int32_t tenant, const struct tree_at *at, size_t *ret_added,
	struct err *e);
/* Which leaf a receipt is; E_MISSING: none yet. */
int tree_leaf_of(
	struct db *d, struct arena *a, int64_t chain_id, int64_t clock, uint64_t *ret, struct err *e);
/* The newest one that is published; E_MISSING. */
int tree_checkpoint(struct db *d, struct arena *a, const char **ret_note, uint64_t *ret_size, struct err *e);
/* Where a receipt is in the newest published tree: {leaf_index, audit_path, checkpoint}.  E_MISSING: that does not reach so far yet. */
int tree_place(
	struct db *d, struct arena *a, int64_t chain_id, int64_t clock, struct json **ret, struct err *e);

#endif

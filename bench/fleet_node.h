/* fleet_node.h — a machine of a fleet that is not there: a real chain with a real key, sent as helm sends it. */
#ifndef BENCH_FLEET_NODE_H
#define BENCH_FLEET_NODE_H

#include "base/json.h"
#include "base/mem.h"
#include "base/sys.h"
#include "proof/key.h"
#include "proof/merkle.h"

struct fleet_node {
	struct arena a;
	struct key *key;
	struct json *history;
	const char *session;
	struct bytes *lines; /* of its chain, as they stand in the file */
	struct json **receipts;
	struct hash *hashes;
	size_t n;
	size_t bytes;
};
/* Made in a directory of its own, by the recorder. */
int fleet_node_make(struct fleet_node *ret, const char *dir, uint64_t receipts, struct err *e);
void fleet_node_done(struct fleet_node *x);
/* Receipts from..from+n (from 0) as one frame. */
struct bytes fleet_node_batch(const struct fleet_node *x, struct arena *a, size_t from, size_t n);
/* One signed request; the status, or -1. */
struct fleet_place {
	const char *url, *origin;
};
int fleet_node_ask(const struct fleet_node *x, struct arena *a, const struct fleet_place *to,
	const char *method, const char *path, struct bytes body, const char *type, struct json **ret);
int fleet_node_join(const struct fleet_node *x, const struct fleet_place *to, const char *secret);
/* helm-bench --machines: so many of them at once, for so long; what came of it as JSON. */
int fleet_machines(int argc, char **argv);

#endif

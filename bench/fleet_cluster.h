/* fleet_cluster.h — inside bench/: the database of the fleet's figures, one for a run. */
#ifndef BENCH_FLEET_CLUSTER_H
#define BENCH_FLEET_CLUSTER_H

#include "bench.h"
#include "fleet_node.h"
#include "serve/fleet/centre.h"

#include <sys/types.h>

#define FLEET_ORIGIN "ledger.bench/one"
#define FLEET_SECRET "bench"
enum { FLEET_LINES = 4096, FLEET_BATCH = 256 };

struct fleet_cluster {
	struct arena a;
	bool is_tried, is_there;
	const char *why; /* it is not there */
	const char *dir, *admin, *login; /* how to connect, as its owner and as a server */
	struct dbpool *pool;
	struct appender *appender;
	struct fleet f;
	struct server server;
	struct fleet_node node;
	struct line_of *lines;
	int64_t heads[8192]; /* of chains 1, 2, ... */
	int free_chain; /* from here on nobody writes to them */
};
extern struct fleet_cluster fleet_cluster;

/* NULL: it is there; otherwise why it is not. */
const char *fleet_cluster_need(const struct bench *b);
/* What it says is no figure, and goes nowhere but to `out`; -1: not even there. */
bool fleet_spawn(pid_t *ret, const char *const *argv, char *const *env, int out);
/* Everything that was stored is in the tree then: how many leaves that were; negative: it failed. */
int64_t fleet_fold_all(void);
double fleet_one_number(const char *sql);

#endif

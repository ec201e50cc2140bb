/* bench_fleet_http.c — a whole front end before the database of bench_fleet.c, and machines that talk to it over HTTP.
 *
 * fleet_backlog: `helm fleet sync` of a machine with so many receipts that were never sent; the most memory that it had, of 64 MiB.  The same with a tenth of them must
 * need as much: what the sender needs does not grow with what is left to send.  HELM_BENCH_BACKLOG=N changes how many. */
#include "bench.h"

#ifndef HAVE_MICROHTTPD
#define NO(name) \
	int name(struct bench *b) \
	{ \
		b->skipped = "helm-serve is not built"; \
		return 0; \
	}
NO(bench_fleet_replay)
NO(bench_fleet_lag)
NO(bench_fleet_backlog)
#else

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "fleet_cluster.h"
#include "place.h"
#include "serve/web.h"
#include "tools/store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- over HTTP ---- */

struct front {
	pid_t pid;
	char url[128];
};

static bool front_start(struct front *f, const struct place *p)
{
	const char *const argv[] = { p->helm, "serve", "fleet", "--database", fleet_cluster.login, "--signer",
		"/nowhere/socket", "--port", "0", NULL };
	const char *const env[] = { p->env[0], p->env[1], "HELM_LIMIT_NODE=1000000", NULL };
	char text[2048] = "";
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return false;
	bool is_there = fleet_spawn(&f->pid, argv, (char *const *)(uintptr_t)env, ends[1]);
	(void)close(ends[1]);
	size_t have = 0;
	for (ssize_t n = 1; is_there && n > 0 && have < sizeof(text) - 1 && !strchr(text, '\n');
		have += n > 0 ? (size_t)n : 0)
		n = read(ends[0], text + have, sizeof(text) - 1 - have);
	(void)close(ends[0]);
	const char *at = strstr(text, "\"base_url\":\"");
	if (!at || sscanf(at, "\"base_url\":\"%127[^\"]", f->url) != 1) /* NOLINT: our own program */
		return false;
	return true;
}

static void front_stop(struct front *f)
{
	if (f->pid > 0) {
		(void)kill(f->pid, SIGTERM);
		(void)waitpid(f->pid, NULL, 0);
	}
	f->pid = 0;
}

static double send_all(const struct fleet_place *to)
{
	double start = bench_now_s();

	for (size_t k = 0; k < FLEET_LINES / FLEET_BATCH; k++) {
		AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)1 << 30 };
		const char *path =
			arena_printf(&a, "/v1/fleet/chains/%s/receipts", fleet_cluster.node.session);
		if (fleet_node_ask(&fleet_cluster.node, &a, to, "POST", path,
			    fleet_node_batch(&fleet_cluster.node, &a, k * FLEET_BATCH, FLEET_BATCH),
			    "application/zstd", NULL) != 200)
			return -1;
	}
	return bench_now_s() - start;
}

int bench_fleet_replay(struct bench *b)
{
	struct place p;
	struct front f = { 0 };

	b->skipped = fleet_cluster_need(b);
	if (b->skipped)
		return 0;
	/* What other figures have left for the tree would be folded in beside this one. */
	bool is_well = fleet_fold_all() >= 0 && place_open(&p, b, "fleet") && front_start(&f, &p);
	const struct fleet_place to = { f.url, FLEET_ORIGIN };
	is_well = is_well && fleet_node_join(&fleet_cluster.node, &to, FLEET_SECRET) == 0;
	double fresh = is_well ? send_all(&to) : -1, again = 1e9;
	for (int i = 0; i < 3 && fresh > 0; i++) {
		double t = send_all(&to);
		again = t < 0 ? -1 : t < again ? t : again;
	}
	front_stop(&f);
	place_close(&p);
	b->unit = "receipts/s";
	b->value = FLEET_LINES / again;
	b->baseline = FLEET_LINES / fresh;
	b->ratio = fresh / again;
	return fresh <= 0 || again <= 0;
}

static int by_size(const void *x, const void *y)
{
	double a = *(const double *)x, c = *(const double *)y;

	return a < c ? -1 : a > c;
}

static bool join_place(struct place *p, const struct front *f)
{
	AUTO(arena_done) struct arena a = { 0 };
	static const char doc[] = "{\"control_vkey\":\"\",\"log_vkey\":\"\",\"origin\":\"" FLEET_ORIGIN
				  "\",\"secret\":\"" FLEET_SECRET "\",\"version\":\"helm-fleet-token/1\"}";
	const char *file = arena_printf(&p->a, "%s/token", p->home);
	FILE *t = fopen(file, "w");

	return t &&
		fprintf(t, "hft_%s\n",
			base64_encode(&a, (const uint8_t *)doc, sizeof(doc) - 1, BASE64_URL, false)) > 0 &&
		fclose(t) == 0 &&
		place_start(p,
			(const char *const[]){
				p->helm, "fleet", "join", f->url, "--token-file", file, NULL }) == 0;
}

/* The newest row that everybody sees of the machine that joined last. */
static const char newest_row[] =
	"SELECT coalesce(max(lamport), 0) FROM fleet.receipt WHERE chain_id = (SELECT chain_id FROM fleet.chain WHERE node_id = "
	"(SELECT node_id FROM fleet.node ORDER BY enrolled_at DESC LIMIT 1) LIMIT 1)";

/* One receipt, and how long it takes to be seen; negative: it is not there after half a minute. */
static double lag_of(struct place *p, struct db *d, int64_t before)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	if (place_start(p, (const char *const[]){ p->helm, "freeze", "--reason", "x", NULL }))
		return -1;
	double start = bench_now_s();
	while (bench_now_s() - start < 30) {
		AUTO(arena_done) struct arena a = { 0 };
		const char *text = "0";
		int64_t now = 0;
		if (pg_one(d, &a, newest_row, &text, NULL) || !text_int(text, &now))
			return -1;
		if (now > before)
			return bench_now_s() - start;
		(void)nanosleep(&pause, NULL);
	}
	return -1;
}

/* From a receipt that is on disk to a row that everybody sees, by the service that sends. */
int bench_fleet_lag(struct bench *b)
{
	enum { TIMES = 20 };
	struct place p;
	struct front f = { 0 };
	double lags[TIMES];
	pid_t ship = 0;
	int n = 0;

	b->skipped = fleet_cluster_need(b);
	if (b->skipped)
		return 0;
	AUTO(pg_close) struct db *d = NULL;
	const char *at = "the tree";
	bool is_well = fleet_fold_all() >= 0;
	is_well = is_well && (at = "its place", place_open(&p, b, "fleet"));
	is_well = is_well && (at = "the front end", front_start(&f, &p));
	is_well = is_well && (at = "joining", join_place(&p, &f));
	const char *const argv[] = { p.helm, "fleet", "ship", NULL };
	is_well =
		is_well && (at = "the sender", fleet_spawn(&ship, argv, (char *const *)(uintptr_t)p.env, -1));
	is_well = is_well && (at = "the database", pg_open(fleet_cluster.admin, NULL, &d, NULL) == OK);
	for (; is_well && n < TIMES; n++) {
		at = "a receipt";
		lags[n] = lag_of(&p, d, (int64_t)fleet_one_number(newest_row));
		is_well = lags[n] >= 0;
	}
	if (ship > 0) {
		(void)kill(ship, SIGTERM);
		(void)waitpid(ship, NULL, 0);
	}
	front_stop(&f);
	place_close(&p);
	if (!is_well) {
		fprintf(stderr, "helm-bench: fleet_lag ended at %s (%d were seen)\n", at, n ? n - 1 : 0);
		return 1;
	}
	qsort(lags, TIMES, sizeof(lags[0]), by_size);
	b->unit = "s";
	b->value = lags[TIMES - 1];
	b->baseline = 1.5;
	b->ratio = b->value / b->baseline;
	return 0;
}

/* ---- a backlog ---- */

static bool fill_place(struct place *p, uint64_t receipts)
{
	AUTO(close_fd) int fd = -1;
	AUTO(key_free) struct key *key = NULL;
	const struct store_plan plan = { .receipts = receipts, .is_unsynced = true };
	struct err e = { 0 };

	return file_open_dir(sys_real(), AT_FDCWD, path_join(&p->a, p->home, "ws/.helm"), &fd, &e) == OK &&
		keys_load(sys_real(), AT_FDCWD, path_join(&p->a, p->home, ".helm/keys"), &key, &e) == OK &&
		store_fill(sys_real(), fd, key, &plan, &e) == OK;
}

/* The most memory, in MiB, that sending so many receipts took; negative: they are not all there. */
static double peak_of_backlog(const struct bench *b, uint64_t receipts)
{
	enum { SYNCS = 20 }; /* each ends after some minutes, and says so */
	struct place p;
	struct front f = { 0 };
	double most = 0;
	bool is_well = place_open(&p, b, "fleet-backlog") && front_start(&f, &p) && join_place(&p, &f) &&
		fill_place(&p, receipts);

	for (int i = 0; is_well && i < SYNCS && fleet_one_number(newest_row) < (double)receipts; i++) {
		double mib = place_memory(&p, (const char *const[]){ p.helm, "fleet", "sync", NULL });
		most = mib > most ? mib : most;
		is_well = !p.has_failed;
	}
	is_well = is_well && fleet_one_number(newest_row) >= (double)receipts;
	front_stop(&f);
	place_close(&p);
	return is_well ? most : -1;
}

int bench_fleet_backlog(struct bench *b)
{
	enum { USUAL = 100000, SPREAD_MIB = 8 };
	const char *said = getenv("HELM_BENCH_BACKLOG");
	int64_t receipts = USUAL;

	b->skipped = fleet_cluster_need(b);
	if (b->skipped)
		return 0;
	if (said && (!text_int(said, &receipts) || receipts < 10))
		return 1;
	double few = peak_of_backlog(b, (uint64_t)receipts / 10),
	       many = peak_of_backlog(b, (uint64_t)receipts);
	b->unit = "MiB";
	b->value = many;
	b->baseline = 64;
	b->ratio = b->value / b->baseline;
	if (few < 0 || many < 0 || many > few + SPREAD_MIB) {
		fprintf(stderr,
			"helm-bench: fleet_backlog: %.1f MiB for %lld receipts, %.1f for a tenth of them\n",
			many, (long long)receipts, few);
		return 1;
	}
	return 0;
}
#endif

/* bench_views.c — views of a long record: a hundred thousand receipts, which nobody has looked at yet or everybody has.
 *
 * status_large: `helm status --brief` with an index that is caught up, against an empty workspace.
 *
 * report_cold: the first `helm report`, which verifies every receipt and makes the index, against libsodium verifying as many signatures on all
 * cores: one for each receipt, and one for each decision's record.
 *
 * actions_catchup: making the index (`helm db rebuild`), against jansson parsing the same lines. */
#include "base/file.h"
#include "bench.h"
#include "place.h"
#include "proof/sign.h"
#include "record/segments.h"
#include "tools/store.h"
#include "yardstick.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RECEIPTS_MADE = 100000, ROWS_MADE = 1000000, VIEWS = 5, MAX_THREADS = 64, MESSAGE = 1024 };

static bool fill(struct place *p, uint64_t rows)
{
	AUTO(key_free) struct key *key = NULL;
	AUTO(close_fd) int fd = -1;
	AUTO(arena_done) struct arena a = { 0 };
	const struct store_plan plan = { .receipts = RECEIPTS_MADE, .rows = rows, .is_unsynced = true };
	struct err e = { 0 };

	return place_start(p, (const char *const[]){ p->helm, "key", "create", NULL }) >= 0 &&
		file_open_dir(sys_real(), AT_FDCWD, path_join(&a, p->home, "ws/.helm"), &fd, &e) == OK &&
		keys_load(sys_real(), AT_FDCWD, path_join(&a, p->home, ".helm/keys"), &key, &e) == OK &&
		store_fill(sys_real(), fd, key, &plan, &e) == OK;
}

static void run(struct place *p, const char *const *argv)
{
	p->has_failed |= place_start(p, argv) != 0;
}

static void look(void *arg)
{
	struct place *p = arg;

	for (int i = 0; i < VIEWS; i++)
		run(p, (const char *const[]){ p->helm, "status", "--brief", NULL });
}

int bench_status_large(struct bench *b)
{
	struct place full, empty;
	double ours = 1e9, theirs = 1e9;

	if (!place_open(&full, b, "status-full") || !place_open(&empty, b, "status-empty"))
		return 1;
	full.has_failed |= !fill(&full, ROWS_MADE);
	/* Once, as the first view does it. */
	run(&full, (const char *const[]){ full.helm, "db", "init", NULL });
	for (int i = 0; i < b->rounds; i++) {
		double t = bench_best(1, look, &full), u = bench_best(1, look, &empty);
		ours = t < ours ? t : ours;
		theirs = u < theirs ? u : theirs;
	}
	b->unit = "us";
	b->value = ours / VIEWS * 1e6;
	b->baseline = theirs / VIEWS * 1e6;
	b->ratio = ours / theirs;
	int rc = full.has_failed || empty.has_failed;
	place_close(&empty);
	place_close(&full);
	return rc;
}

/* ---- the first report ---- */

struct cold {
	struct place place;
	uint8_t public[SIGN_PUBLIC], signature[SIGN_SIZE], message[MESSAGE];
	unsigned threads;
	bool has_failed;
};

/* Nobody has looked yet. */
static void forget(struct cold *c)
{
	char command[4400];

	snprintf(command, sizeof(command),
		"rm -f '%s'/ws/.helm/ops-index.sqlite3* '%s'/.helm/trees/*/verif* '%s'/.helm/trees/*/verdict*",
		c->place.home, c->place.home, c->place.home);
	run(&c->place, (const char *const[]){ "/bin/sh", "-c", command, NULL });
}

static void report(void *arg)
{
	struct cold *c = arg;

	run(&c->place, (const char *const[]){ c->place.helm, "report", NULL });
}

static void *verify_share(void *arg)
{
	struct cold *c = arg;
	const struct bytes message = { c->message, MESSAGE };
	bool ok = true;

	for (unsigned i = 0; i < RECEIPTS_MADE * 3 / 2 / c->threads; i++)
		ok &= yardstick_sodium_verify(c->public, message, c->signature);
	return ok ? c : NULL;
}

static void verify(void *arg)
{
	struct cold *c = arg;
	pthread_t threads[MAX_THREADS];
	void *said;

	for (unsigned i = 1; i < c->threads; i++)
		if (pthread_create(&threads[i], NULL, verify_share, c))
			abort();
	c->has_failed |= !verify_share(c);
	for (unsigned i = 1; i < c->threads; i++) {
		(void)pthread_join(threads[i], &said);
		c->has_failed |= !said;
	}
}

int bench_report_cold(struct bench *b)
{
	static struct cold c;
	uint8_t seed[SIGN_SEED] = { 42 }, secret[SIGN_SECRET];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	double ours = 1e9, theirs = 1e9;

	if (!place_open(&c.place, b, "report-cold"))
		return 1;
	c.threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (unsigned)cores;
	sign_expand(seed, secret, c.public);
	sign_message(secret, (struct bytes){ c.message, MESSAGE }, c.signature);
	c.has_failed = !fill(&c.place, 0);
	for (int i = 0; i < b->rounds; i++) {
		forget(&c);
		double t = bench_best(1, report, &c), u = bench_best(1, verify, &c);
		ours = t < ours ? t : ours;
		theirs = u < theirs ? u : theirs;
	}
	b->unit = "s";
	b->value = ours;
	b->baseline = theirs;
	b->ratio = ours / theirs;
	int rc = c.has_failed || c.place.has_failed;
	place_close(&c.place);
	return rc;
}

/* ---- the index ---- */

static void rebuild(void *arg)
{
	struct place *p = arg;

	run(p, (const char *const[]){ p->helm, "db", "rebuild", NULL });
}

static int parse_line(void *arg, off_t offset, uint64_t line, struct bytes text, bool is_whole, struct err *e)
{
	(void)arg;
	(void)offset;
	(void)line;
	(void)is_whole;
	(void)e;
	yardstick_jansson(text);
	return 0;
}

static void parse(void *arg)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(close_fd) int fd = -1;
	struct place *p = arg;
	struct err e = { 0 };

	p->has_failed |= file_open_dir(sys_real(), AT_FDCWD, path_join(&a, p->home, "ws/.helm"), &fd, &e) ||
		receipts_lines(sys_real(), fd, RECEIPTS, 0, parse_line, p, &e);
}

int bench_actions_catchup(struct bench *b)
{
	struct place p;
	double ours, theirs;

	if (!yardstick_has_jansson()) {
		b->skipped = "jansson is not here";
		return 0;
	}
	if (!place_open(&p, b, "catchup"))
		return 1;
	p.has_failed |= !fill(&p, 0);
	bench_pair(b->rounds, rebuild, parse, &p, &ours, &theirs);
	b->unit = "receipts/s";
	b->value = RECEIPTS_MADE / ours;
	b->baseline = RECEIPTS_MADE / theirs;
	b->ratio = b->value / b->baseline;
	int rc = p.has_failed;
	place_close(&p);
	return rc;
}

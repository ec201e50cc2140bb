/* bench_large.c — a long log: checking what is new of it, and carrying it away.
 *
 * log_check_warm: `helm log check` on 100,000 receipts of which all but some were verified before, against verifying those few alone, on all
 * cores: who has to verify them can do no less.
 *
 * log_edge_lost: the next append to the same log when log/edge is gone, against the same with one file of the chain: what is looked at does not grow
 * with the log.
 *
 * export_million: `helm evidence export --all` of a million receipts in MB/s, against `tar` of the same files, which looks at none of it.
 *
 * memory_records: the most that any command which reads the chain needs on a quarter of a million receipts, of the 64 MiB that it may at ten million. */
#include "base/file.h"
#include "bench.h"
#include "place.h"
#include "tools/store.h"
#include "verify/verify.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONG = 100000, NEW = 4000, SHORT = 20000, QUARTER = 250000, MILLION = 1000000 };

struct large {
	struct place place;
	struct arena a;
	int state_fd;
	struct key *key;
	struct trusted_key trusted;
	struct bytes fresh; /* the newest receipts */
	const char *tar_out, *pack_out;
	double check_s, verify_s;
	bool has_failed;
};

static bool open_large(struct large *l, const struct bench *b, const char *name, uint64_t receipts)
{
	const struct store_plan plan = { .receipts = receipts };
	struct err e = { 0 };

	*l = (struct large){ .state_fd = -1, .trusted = { .id = "" } };
	if (!place_open(&l->place, b, name) ||
		place_start(&l->place, (const char *const[]){ l->place.helm, "key", "create", NULL }) < 0)
		return false;
	const char *keys = path_join(&l->a, l->place.home, ".helm/keys");
	if (file_open_dir(
		    sys_real(), AT_FDCWD, path_join(&l->a, l->place.home, "ws/.helm"), &l->state_fd, &e) ||
		keys_load(sys_real(), AT_FDCWD, keys, &l->key, &e) ||
		store_fill(sys_real(), l->state_fd, l->key, &plan, &e))
		return false;
	memcpy(l->trusted.key, key_public(l->key), KEY_SIZE);
	return true;
}

static void close_large(struct large *l)
{
	key_free(&l->key);
	close_fd(&l->state_fd);
	arena_done(&l->a);
	place_close(&l->place);
}

static bool run(struct large *l, const char *const *argv)
{
	return place_start(&l->place, argv) == 0;
}

static void check(void *arg)
{
	struct large *l = arg;

	l->has_failed |= !run(l, (const char *const[]){ l->place.helm, "log", "check", NULL });
}

static void verify_new(void *arg)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct large *l = arg;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct trust trust = {
		.keys = &l->trusted, .key_count = 1, .threads = cores > 1 ? (unsigned)cores : 1
	};
	struct verification v;

	verification_begin(&v, &a, &trust, "receipt chain");
	verify_receipt_lines(&v, l->fresh, "new");
	l->has_failed |= v.trusted != ANSWER_YES;
}

/* Receipts behind this many bytes of the newest file. */
static bool take_fresh(struct large *l, off_t from)
{
	struct err e = { 0 };
	struct bytes text;

	if (file_read(sys_real(), &l->a, l->state_fd, RECEIPTS, (size_t)1 << 30, 0, &text, &e) ||
		(off_t)text.n <= from)
		return false;
	l->fresh = (struct bytes){ text.p + from, text.n - (size_t)from };
	return true;
}

/* Each round has receipts of its own that are new. */
static bool warm_round(struct large *l)
{
	const struct store_plan more = { .receipts = NEW };
	struct err e = { 0 };
	struct stat st;

	if (fstatat(l->state_fd, RECEIPTS, &st, 0) || store_fill(sys_real(), l->state_fd, l->key, &more, &e))
		return false;
	struct stat now;
	if (fstatat(l->state_fd, RECEIPTS, &now, 0) || now.st_ino != st.st_ino || !take_fresh(l, st.st_size))
		return true; /* a new file was started: this round says nothing */
	double ours = bench_best(1, check, l), bare = bench_best(1, verify_new, l);
	if (!l->check_s || ours / bare < l->check_s / l->verify_s) {
		l->check_s = ours;
		l->verify_s = bare;
	}
	return true;
}

int bench_log_check_warm(struct bench *b)
{
	struct large l;
	bool is_done = open_large(&l, b, "check-warm", LONG);

	if (is_done)
		check(&l); /* all of it, once */
	for (int i = 0; is_done && i < b->rounds; i++)
		is_done = warm_round(&l);
	close_large(&l);
	b->unit = "s";
	b->value = l.check_s;
	b->baseline = l.verify_s;
	b->ratio = l.verify_s > 0 ? l.check_s / l.verify_s : 0;
	return !is_done || l.has_failed || !l.check_s;
}

static double without_edge(struct large *l, int rounds)
{
	double best = 1e9;

	for (int i = 0; i < rounds; i++) {
		(void)unlinkat(l->state_fd, "log/edge", 0);
		double start = bench_now_s();
		l->has_failed |= !run(l, (const char *const[]){ l->place.helm, "run", "--", "true", NULL });
		double s = bench_now_s() - start;
		best = s < best ? s : best;
	}
	return best;
}

int bench_log_edge_lost(struct bench *b)
{
	struct large few, many;
	bool has_few = open_large(&few, b, "edge-few", SHORT);
	bool has_many = has_few && open_large(&many, b, "edge-many", LONG);

	b->unit = "s";
	if (has_many) {
		b->value = without_edge(&many, b->rounds);
		b->baseline = without_edge(&few, b->rounds);
		b->ratio = b->value / b->baseline;
	}
	int rc = !has_many || few.has_failed || many.has_failed;
	if (has_few)
		close_large(&many);
	close_large(&few);
	return rc;
}

static void export(void *arg)
{
	struct large *l = arg;

	(void)unlink(l->pack_out);
	l->has_failed |= !run(l,
		(const char *const[]){
			l->place.helm, "evidence", "export", "--all", "--out", l->pack_out, NULL });
}

static void tar(void *arg)
{
	struct large *l = arg;

	(void)unlink(l->tar_out);
	l->has_failed |= !run(
		l, (const char *const[]){ "/bin/tar", "cf", l->tar_out, "-C", l->place.home, "ws", NULL });
}

int bench_export_million(struct bench *b)
{
	struct large l;
	double ours, theirs;
	struct stat st = { 0 };

	if (access("/bin/tar", X_OK)) {
		b->skipped = "tar is not here";
		return 0;
	}
	bool is_open = open_large(&l, b, "export", MILLION);
	l.pack_out = path_join(&l.a, l.place.home, "pack.tar");
	l.tar_out = path_join(&l.a, l.place.home, "plain.tar");
	if (is_open) {
		bench_pair(b->rounds > 2 ? 2 : b->rounds, export, tar, &l, &ours, &theirs);
		l.has_failed |= stat(l.pack_out, &st) != 0;
		b->unit = "MB/s";
		b->value = (double)st.st_size / 1e6 / ours;
		b->baseline = (double)st.st_size / 1e6 / theirs;
		b->ratio = b->value / b->baseline;
	}
	close_large(&l);
	return !is_open || l.has_failed;
}

int bench_memory_records(struct bench *b)
{
	struct large l;
	bool is_open = open_large(&l, b, "memory", QUARTER);
	const char *helm = l.place.helm, *out = path_join(&l.a, l.place.home, "out");
	const char *const commands[][7] = { { helm, "log", "check", "--all" },
		{ helm, "evidence", "export", "--all", "--out", out },
		{ helm, "receipts", "list", "--limit", "0" }, { helm, "receipts", "export" },
		{ helm, "log", "repair" }, { helm, "db", "rebuild" }, { helm, "doctor", "--deep" },
		{ helm, "status" } };

	b->unit = "MiB";
	b->baseline = 64;
	for (size_t i = 0; is_open && i < ARRAY_SIZE(commands); i++) {
		double mib = place_memory(&l.place, commands[i]);
		b->value = mib > b->value ? mib : b->value;
	}
	b->ratio = b->value / b->baseline;
	bool failed = !is_open || l.place.has_failed;
	close_large(&l);
	return failed;
}

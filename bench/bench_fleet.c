/* bench_fleet.c — the ledger of a fleet against what its database and its processors can do, in one run.
 *
 * A cluster of our own, started as an unprivileged user with fsync on, in a directory that is removed afterwards.  What is stored are real receipts
 * of a chain that the recorder made.  Ours is the code of the front end itself: its batches, its one statement, its tick. */
#include "bench.h"

#ifndef HAVE_MICROHTTPD
#define NO(name) \
	int name(struct bench *b) \
	{ \
		b->skipped = "helm-serve is not built"; \
		return 0; \
	}
NO(bench_fleet_append)
NO(bench_fleet_group)
NO(bench_fleet_batch)
NO(bench_fleet_sequence)
NO(bench_fleet_ingest)
NO(bench_fleet_replay)
NO(bench_fleet_size)
NO(bench_fleet_stopped)
NO(bench_fleet_lag)
#else

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "fleet_node.h"
#include "place.h"
#include "proof/preimage.h"
#include "serve/fleet/centre.h"
#include "serve/fleet/tree.h"
#include "serve/web.h"
#include "yardstick.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ORIGIN "ledger.bench/one"
#define SECRET "bench"
enum { LINES = 4096, CHAINS = 256, CLIENTS = 8, BATCH = 256 };

/* One cluster for all figures of a run. */
static struct cluster {
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
} the;

/* ---- the cluster ---- */

/* What it says is no figure, and goes nowhere but to `out`; -1: not even there. */
static bool spawn(pid_t *ret, const char *const *argv, char *const *env, int out)
{
	posix_spawn_file_actions_t files;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	bool is_there = posix_spawn(ret, argv[0], &files, NULL, (char *const *)(uintptr_t)argv, env) == 0;
	posix_spawn_file_actions_destroy(&files);
	return is_there;
}

static int shell(const char *script, const char *arg)
{
	const char *const argv[] = { "/bin/sh", "-c", script, "sh", arg, NULL };
	pid_t pid;
	int status = -1;

	if (spawn(&pid, argv, environ, -1))
		(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

/* Whoever is root becomes nobody for it. */
#define AS_NOBODY \
	"bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1); [ -x \"$bin/initdb\" ] || exit 77; " \
	"as() { if [ \"$(id -u)\" = 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups -- env PATH=\"$bin:/usr/bin:/bin\" \"$@\"; " \
	"else env PATH=\"$bin:/usr/bin:/bin\" \"$@\"; fi; }; cd /; "

static void stop_cluster(void)
{
	if (the.is_there) {
		append_stop(the.appender);
		dbpool_free(the.pool);
	}
	if (the.dir)
		(void)shell(
			AS_NOBODY "as pg_ctl -D \"$1/data\" -m immediate -w stop; rm -rf \"$1\"", the.dir);
	the.is_there = false;
}

static int fill_tables(struct arena *a, struct err *e)
{
	AUTO(pg_close) struct db *d = NULL;
	struct hash empty = merkle_root(NULL, 0);
	int rc = schema_migrate(sys_real(), a, the.admin, 0, "helm_bench", json_new(a, JSON_OBJECT), e);

	if (rc == OK)
		rc = pg_open(the.admin, NULL, &d, e);
	if (rc == OK)
		rc = pg_script(d,
			arena_printf(a,
				"INSERT INTO tenant(tenant_id, name, origin, log_vkey, control_vkey) VALUES (1, 'one', '" ORIGIN
				"', '', '');"
				"INSERT INTO log VALUES (1, 0, '\\x%s');"
				"INSERT INTO node(tenant_id, node_id, host, owner) VALUES (1, 1, 'h', 'u');"
				"INSERT INTO join_token VALUES (1, sha256('" SECRET
				"'), 1000, now() + interval '1 day', 'bench');"
				"INSERT INTO chain(tenant_id, chain_id, node_id, session_id) SELECT 1, i, 1, 'c' || i FROM generate_series(1, %d) i;"
				"CREATE TABLE public.raw(body text); GRANT ALL ON public.raw TO PUBLIC",
				hash_hex(a, &empty), (int)ARRAY_SIZE(the.heads)),
			e);
	return rc;
}

static int make_node(struct err *e)
{
	int rc = fleet_node_make(&the.node, arena_printf(&the.a, "%s/node", the.dir), LINES, e);

	the.lines = arena_zalloc(&the.a, LINES, sizeof(*the.lines));
	for (size_t i = 0; rc == OK && i < the.node.n && i < LINES; i++)
		the.lines[i] = (struct line_of){ .text = the.node.lines[i],
			.chain = the.node.hashes[i],
			.receipt = the.node.receipts[i] };
	return rc;
}

/* NULL: it is there; otherwise why it is not. */
static const char *need_cluster(const struct bench *b)
{
	struct err e = { 0 };

	if (the.is_tried)
		return the.why;
	the.is_tried = true;
	the.a.limit_bytes = (size_t)8 << 30;
	the.dir = arena_printf(&the.a, "/tmp/helm-bench-fleet.%d", (int)getpid());
	atexit(stop_cluster);
	int rc = shell(AS_NOBODY
		"mkdir -m 0711 \"$1\" && if [ \"$(id -u)\" = 0 ]; then chown 65534:65534 \"$1\"; fi; "
		"as initdb -k -D \"$1/data\" -U postgres -A trust --no-locale -E UTF8 && "
		"as pg_ctl -D \"$1/data\" -w -t 60 -l \"$1/log\" -o \"-c listen_addresses= -c unix_socket_directories=$1 -c max_connections=60 -c shared_buffers=1GB\" start && "
		"as createdb -h \"$1\" -U postgres helm && mkdir -p \"$1/node\" 2>/dev/null || exit 1",
		the.dir);
	if (rc)
		return the.why = rc == 77 ? "PostgreSQL is not installed (package postgresql)"
					  : "no PostgreSQL cluster could be started here";
	the.admin = arena_printf(&the.a, "host=%s dbname=helm user=postgres", the.dir);
	the.login = arena_printf(&the.a, "host=%s dbname=helm user=helm_bench", the.dir);
	rc = fill_tables(&the.a, &e);
	if (rc == OK)
		rc = make_node(&e);
	if (rc == OK)
		rc = web_start(&e);
	the.free_chain = CHAINS;
	the.pool = dbpool_new(sys_real(), the.login, 600);
	the.f = (struct fleet){ .pool = the.pool, .conninfo = the.login };
	if (rc == OK)
		rc = append_start(&the.f, &the.appender, &e);
	if (rc)
		return the.why = arena_printf(&the.a, "%s: %s", b->name, e.text);
	the.is_there = true;
	return NULL;
}

/* ---- appending ---- */

struct put {
	struct appending x;
	pthread_mutex_t lock;
	pthread_cond_t done;
	int left, failed;
};

static void was_appended(struct appending *x, int rc, const struct err *e)
{
	struct put *p = x->answered_arg;

	(void)e;
	pthread_mutex_lock(&p->lock);
	p->failed += rc != OK;
	if (--p->left == 0)
		pthread_cond_signal(&p->done);
	pthread_mutex_unlock(&p->lock);
}

/* n receipts to chain i, as a worker of the front end puts them: packed already. */
static void fill(struct appending *x, struct put *p, int i, size_t n, struct bytes frame, size_t raw)
{
	int64_t head = the.heads[i];

	*x = (struct appending){ .tenant = 1,
		.chain_id = i + 1,
		.old_head = head,
		.n = (int64_t)n,
		.old_hash = head ? the.lines[(head - 1) % LINES].chain : (struct hash){ { 0 } },
		.new_hash = the.lines[(head + (int64_t)n - 1) % LINES].chain,
		.lines = &the.lines[head % LINES],
		.frame = frame,
		.raw_bytes = raw,
		.done = was_appended,
		.answered_arg = p };
}

static void wait_for(struct put *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->left)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

static struct bytes pack(struct arena *a, int64_t head, size_t n, size_t *ret_raw)
{
	struct batch b = { .lines = &the.lines[head % LINES], .n = n };
	struct bytes frame = { 0 };

	(void)!batch_pack(a, &b, 0, &frame, ret_raw, NULL);
	return frame;
}

struct writer {
	pthread_t thread;
	int chain; /* a new one when it has all the lines: each line stands at its place in a chain */
	size_t batch;
	double until_s;
	int64_t done;
	bool has_failed;
	struct db *d;
};

static int new_chain(void)
{
	int n = __atomic_fetch_add(&the.free_chain, 1, __ATOMIC_RELAXED);

	if (n >= (int)ARRAY_SIZE(the.heads))
		abort();
	return n;
}

static void *append_on(void *arg)
{
	struct writer *c = arg;

	while (bench_now_s() < c->until_s) {
		AUTO(arena_done) struct arena a = { 0 };
		struct put p = {
			.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .left = 1
		};
		if (the.heads[c->chain] == LINES)
			c->chain = new_chain();
		int chain = c->chain;
		size_t raw;
		struct bytes frame = pack(&a, the.heads[chain], c->batch, &raw);
		fill(&p.x, &p, chain, c->batch, frame, raw);
		append_put(the.appender, &p.x);
		wait_for(&p);
		c->has_failed |= p.failed != 0;
		the.heads[chain] += (int64_t)c->batch;
		c->done += (int64_t)c->batch;
	}
	return NULL;
}

static void *insert_raw(void *arg)
{
	struct writer *c = arg;

	while (bench_now_s() < c->until_s) {
		struct bytes line = the.lines[c->done % LINES].text;
		c->has_failed |=
			pg_do(c->d, "INSERT INTO public.raw VALUES ($1)",
				(struct pg_value[]){ { line.p, (int)line.n, true } }, 1, NULL, NULL) != OK;
		c->done++;
	}
	return NULL;
}

/* What eight clients do in a while, a second; negative when something failed. */
static double clients_rate(void *(*fn)(void *), size_t batch, double seconds)
{
	struct writer all[CLIENTS] = { 0 };
	double start = bench_now_s();
	int64_t done = 0;
	bool has_failed = false;

	for (int i = 0; i < CLIENTS; i++) {
		all[i] = (struct writer){
			.chain = fn == append_on ? new_chain() : 0, .batch = batch, .until_s = start + seconds
		};
		if (fn == insert_raw)
			has_failed |= pg_open(the.admin, NULL, &all[i].d, NULL) != OK;
	}
	for (int i = 0; i < CLIENTS && !has_failed; i++)
		if (pthread_create(&all[i].thread, NULL, fn, &all[i]))
			abort();
	for (int i = 0; i < CLIENTS && !has_failed; i++) {
		(void)pthread_join(all[i].thread, NULL);
		done += all[i].done;
		has_failed |= all[i].has_failed;
		pg_close(&all[i].d);
	}
	return has_failed ? -1 : (double)done / (bench_now_s() - start);
}

/* The better of three rounds of each, in turns. */
static int compare_rates(struct bench *b, double (*ours)(void), double (*theirs)(void))
{
	b->skipped = need_cluster(b);
	if (b->skipped)
		return 0;
	b->value = b->baseline = 0;
	for (int i = 0; i < 3; i++) {
		double t = theirs(), o = ours();
		b->baseline = t > b->baseline ? t : b->baseline;
		b->value = o > b->value ? o : b->value;
		if (t < 0 || o < 0)
			return 1;
	}
	b->unit = "receipts/s";
	b->ratio = b->value / b->baseline;
	return b->value <= 0 || b->baseline <= 0;
}

static double rate_of_inserts(void)
{
	return clients_rate(insert_raw, 1, 1);
}

static double rate_of_appends(void)
{
	return clients_rate(append_on, 1, 1);
}

int bench_fleet_append(struct bench *b)
{
	return compare_rates(b, rate_of_appends, rate_of_inserts);
}

/* 256 machines, each with its next receipt when the ledger has the one before: what a front end has to do in a busy moment. */
struct crowd {
	struct put p;
	struct appending all[CHAINS];
	struct bytes frames[LINES];
	size_t raws[LINES];
	double until_s;
	int64_t done;
};

static void crowd_goes_on(struct appending *one, int rc, const struct err *e);

static void crowd_put(struct crowd *x, int i)
{
	int64_t at = the.heads[i] % LINES;

	fill(&x->all[i], &x->p, i, 1, x->frames[at], x->raws[at]);
	x->all[i].done = crowd_goes_on;
	append_put(the.appender, &x->all[i]);
}

static void crowd_goes_on(struct appending *one, int rc, const struct err *e)
{
	struct crowd *x = (struct crowd *)((char *)one->answered_arg - offsetof(struct crowd, p));
	int i = (int)(one - x->all);

	if (rc == OK) {
		the.heads[i]++;
		(void)__atomic_add_fetch(&x->done, 1, __ATOMIC_RELAXED);
	}
	if (rc == OK && bench_now_s() < x->until_s)
		crowd_put(x, i);
	else
		was_appended(one, rc, e);
}

static double group_rate(void)
{
	AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)2 << 30 };
	struct crowd *x = arena_zalloc(&a, 1, sizeof(*x));
	double start;

	x->p = (struct put){
		.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .left = CHAINS
	};
	for (int64_t i = 0; i < LINES; i++)
		x->frames[i] = pack(&a, i, 1, &x->raws[i]);
	start = bench_now_s();
	x->until_s = start + 1;
	for (int i = 0; i < CHAINS; i++)
		crowd_put(x, i);
	wait_for(&x->p);
	return x->p.failed ? -1 : (double)x->done / (bench_now_s() - start);
}

int bench_fleet_group(struct bench *b)
{
	return compare_rates(b, group_rate, rate_of_inserts);
}

/* The same lines by one COPY into a table without an index, from a file that the server reads. */
static double copy_rate(void)
{
	enum { TIMES = 8 };
	AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 << 30 };
	AUTO(pg_close) struct db *d = NULL;
	const char *path = arena_printf(&a, "%s/lines", the.dir);
	struct buf text;

	buf_init(&text, &a);
	for (int k = 0; k < TIMES; k++)
		for (size_t i = 0; i < LINES; i++) {
			buf_add(&text, the.lines[i].text.p, the.lines[i].text.n);
			buf_addc(&text, '\n');
		}
	FILE *f = fopen(path, "w");
	if (!f || fwrite(text.p, 1, text.n, f) != text.n || fclose(f) || chmod(path, 0644) ||
		pg_open(the.admin, NULL, &d, NULL) ||
		pg_script(d,
			"DROP TABLE IF EXISTS public.copied; CREATE TABLE public.copied(body text); "
			"DO $$ BEGIN ALTER TABLE public.copied ALTER body SET COMPRESSION lz4; EXCEPTION WHEN OTHERS THEN NULL; END $$",
			NULL))
		return -1;
	double start = bench_now_s();
	int rc = pg_script(d,
		arena_printf(&a,
			"COPY public.copied FROM '%s' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')",
			path),
		NULL);
	return rc ? -1 : TIMES * LINES / (bench_now_s() - start);
}

static double rate_of_batches(void)
{
	return clients_rate(append_on, BATCH, 1.5);
}

int bench_fleet_batch(struct bench *b)
{
	return compare_rates(b, rate_of_batches, copy_rate);
}

/* ---- the tree ---- */

/* Everything that waits, into the tree; the leaves, or -1. */
static int64_t fold_all(void)
{
	size_t leaves = 0, added = 1;
	struct err e = { 0 };
	int rc = OK;

	while (rc == OK && added) {
		AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 << 30 };
		AUTO(lent_back) struct lent l = { 0 };
		struct tree_at at;
		added = 0;
		rc = lend(the.pool, POOL_SEQ, 1, &l, &e);
		if (rc == OK)
			rc = tree_state(l.d, &a, true, &at, &e);
		if (rc == OK)
			rc = tree_tick(l.d, &a, 1, &at, &added, &e);
		if (rc == OK)
			rc = pg_commit(l.d, &e);
		leaves += added;
	}
	if (rc)
		fprintf(stderr, "helm-bench: %s\n", e.text);
	return rc ? -1 : (int64_t)leaves;
}

int bench_fleet_sequence(struct bench *b)
{
	b->skipped = need_cluster(b);
	if (b->skipped)
		return 0;
	b->baseline = clients_rate(append_on, BATCH, 2);
	double start = bench_now_s();
	int64_t leaves = fold_all();
	b->unit = "leaves/s";
	b->value = (double)leaves / (bench_now_s() - start);
	b->ratio = b->value / b->baseline;
	return leaves <= 0 || b->baseline <= 0;
}

/* ---- verifying ---- */

struct sharing {
	pthread_t thread;
	int number, of;
	bool is_ours, has_failed;
	struct trust trust;
	struct bytes *frames, *preimages;
	uint8_t (*signatures)[SIGN_SIZE];
	size_t signature_count;
	struct put *put;
	struct appending *x;
};

static void ingest_one(struct sharing *s, size_t k)
{
	struct arena *a = arena_zalloc(&the.a, 1, sizeof(*a)); /* lives until it is appended */
	struct batch *batch = arena_zalloc(&the.a, 1, sizeof(*batch));
	struct chain_row at = { .state = 1, .head = (int64_t)k * BATCH };
	struct bytes frame = { 0 };
	struct err e = { 0 };
	size_t bad, raw;

	a->limit_bytes = (size_t)1 << 30;
	if (batch_read(a, s->frames[k], the.node.session, batch, &e) ||
		batch_verify(a, batch, 0, &at, &s->trust, &bad, &e) ||
		batch_pack(a, batch, 0, &frame, &raw, &e)) {
		fprintf(stderr, "helm-bench: %s\n", e.text);
		s->has_failed = true;
		was_appended(&(struct appending){ .answered_arg = s->put }, -1, NULL);
		return;
	}
	fill(&s->x[k], s->put, new_chain(), BATCH, frame, raw);
	s->x[k].lines = batch->lines;
	append_put(the.appender, &s->x[k]);
}

static void *share(void *arg)
{
	struct sharing *s = arg;

	for (size_t k = (size_t)s->number; s->is_ours && k < LINES / BATCH; k += (size_t)s->of)
		ingest_one(s, k);
	for (size_t i = (size_t)s->number; !s->is_ours && i < s->signature_count; i += (size_t)s->of)
		s->has_failed |=
			!yardstick_sodium_verify(key_public(the.node.key), s->preimages[i], s->signatures[i]);
	return NULL;
}

static double run_shares(struct sharing *like, bool is_ours, struct put *put)
{
	struct sharing all[64];
	double start = bench_now_s();

	for (int i = 0; i < like->of; i++) {
		all[i] = *like;
		all[i].number = i;
		all[i].is_ours = is_ours;
		if (pthread_create(&all[i].thread, NULL, share, &all[i]))
			abort();
	}
	for (int i = 0; i < like->of; i++) {
		(void)pthread_join(all[i].thread, NULL);
		like->has_failed |= all[i].has_failed;
	}
	if (is_ours)
		wait_for(put);
	return bench_now_s() - start;
}

/* Each receipt's own signature; and once more for each that brings its signed decision along, which is verified, too. */
static void take_signatures(struct sharing *s)
{
	s->preimages = arena_zalloc(&the.a, 2 * LINES, sizeof(*s->preimages));
	s->signatures = arena_zalloc(&the.a, 2 * LINES, sizeof(*s->signatures));
	for (size_t i = 0; i < LINES; i++) {
		const char *hex = json_get_text(the.node.receipts[i], "signature", "");
		size_t n = s->signature_count++;
		if (receipt_preimage_v5(&the.a, the.node.receipts[i], &s->preimages[n], NULL) ||
			!hex_decode(hex, strlen(hex), s->signatures[n], SIGN_SIZE, true))
			s->has_failed = true;
		if (json_get_text(json_get(the.node.receipts[i], "subject"), "signature", NULL)) {
			size_t m = s->signature_count++;
			s->preimages[m] = s->preimages[n];
			memcpy(s->signatures[m], s->signatures[n], SIGN_SIZE);
		}
	}
}

int bench_fleet_ingest(struct bench *b)
{
	struct put put = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };
	struct trusted_key key = { .id = "" };
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	b->skipped = need_cluster(b);
	if (b->skipped)
		return 0;
	struct sharing s = { .of = cores < 1 ? 1 : cores > 64 ? 64 : (int)cores, .put = &put };
	struct buf history;
	buf_init(&history, &the.a);
	json_each (link, the.node.history) {
		json_canonical(&history, link);
		buf_addc(&history, '\n');
	}
	memcpy(key.key, key_public(the.node.key), KEY_SIZE);
	s.trust = (struct trust){ .keys = &key, .key_count = 1 };
	if (trust_add_history_text(&the.a, buf_bytes(&history), "history", &s.trust, NULL))
		return 1;
	s.frames = arena_zalloc(&the.a, LINES / BATCH, sizeof(*s.frames));
	s.x = arena_zalloc(&the.a, LINES / BATCH, sizeof(*s.x));
	for (size_t k = 0; k < LINES / BATCH; k++)
		s.frames[k] = fleet_node_batch(&the.node, &the.a, k * BATCH, BATCH);
	take_signatures(&s);
	double theirs = 1e9, ours = 1e9;
	for (int i = 0; i < 2 && !s.has_failed; i++) {
		double t = run_shares(&s, false, NULL);
		theirs = t < theirs ? t : theirs;
		put.left = LINES / BATCH;
		t = run_shares(&s, true, &put);
		ours = t < ours ? t : ours;
	}
	b->unit = "receipts/s";
	b->value = LINES / ours;
	b->baseline = LINES / theirs;
	b->ratio = theirs / ours;
	return s.has_failed || put.failed;
}

/* ---- questions ---- */

static double one_number(const char *sql)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(pg_close) struct db *d = NULL;
	const char *text = "";

	return pg_open(the.admin, NULL, &d, NULL) || pg_one(d, &a, sql, &text, NULL) ? -1
										     : strtod(text, NULL);
}

int bench_fleet_size(struct bench *b)
{
	b->skipped = need_cluster(b);
	if (b->skipped)
		return 0;
	/* Of what came in batches: in the tables of this month, with their keys. */
	static const char sizes[] =
		"SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'fleet' AND "
		"(c.relname LIKE 'bundle\\_%' OR c.relname LIKE 'receipt\\_%' OR c.relname IN ('span', 'tile')) AND c.relkind = 'r'";
	double before = one_number(sizes),
	       raw_before = one_number("SELECT coalesce(sum(raw), 0) FROM fleet.bundle");
	double rate = clients_rate(append_on, BATCH, 3);
	double bytes = one_number(sizes) - before,
	       raw = one_number("SELECT coalesce(sum(raw), 0) FROM fleet.bundle") - raw_before;
	b->unit = "bytes/receipt";
	b->value = bytes / (raw / ((double)the.node.bytes / (double)the.node.n));
	b->baseline = (double)the.node.bytes / (double)the.node.n;
	b->ratio = bytes / raw;
	return rate <= 0 || before < 0 || raw <= 0;
}

struct asking {
	struct arena a;
	struct db *d;
	struct json *q;
	bool has_failed;
};

static void ask_stopped(void *arg)
{
	struct asking *x = arg;
	struct arena a = { 0 };
	struct centre c = { .sys = sys_real(), .a = &a, .q = x->q, .d = x->d, .tenant = { .id = 1 } };
	struct json *rows = NULL;

	x->has_failed |= centre_search(&c, &rows, NULL) != OK || !rows || rows->n != 100;
	arena_done(&a);
}

static void ask_nothing(void *arg)
{
	struct asking *x = arg;
	AUTO(pg_rows_done) struct pg_rows rows = { 0 };

	x->has_failed |= pg_ask(x->d, "SELECT 1", NULL, 0, &rows, NULL) != OK;
}

int bench_fleet_stopped(struct bench *b)
{
	struct asking x = { 0 };
	double ours, theirs;

	b->skipped = need_cluster(b);
	if (b->skipped)
		return 0;
	AUTO(pg_close) struct db *d = NULL;
	if (pg_open(the.admin, NULL, &d, NULL) ||
		pg_script(d,
			"INSERT INTO fleet.receipt SELECT 1, 1000000, i, now() - i * interval '1 ms', now(), '', CASE WHEN i % 3 = 0 THEN 2 ELSE 1 END, 'decision', 'R', "
			"'rule', 'Bash', 'agent:x', 'dec-' || i, NULL FROM generate_series(1, 1000000) i;"
			"INSERT INTO fleet.chain(tenant_id, chain_id, node_id, session_id, head, sequenced) VALUES (1, 1000000, 1, 'large', 1000000, 1000000);"
			"ANALYZE fleet.receipt; ANALYZE fleet.chain; ANALYZE fleet.node",
			NULL) ||
		pg_open(the.login, ROLE_READ, &x.d, NULL) || pg_begin(x.d, 1, NULL))
		return 1;
	x.q = json_new(&x.a, JSON_OBJECT);
	json_setb(&x.a, x.q, "stopped", true);
	json_seti(&x.a, x.q, "limit", 100);
	ask_stopped(&x);
	bench_pair(20, ask_stopped, ask_nothing, &x, &ours, &theirs);
	pg_close(&x.d);
	arena_done(&x.a);
	b->unit = "ms";
	b->value = ours * 1000;
	b->baseline = theirs * 1000;
	b->ratio = ours / theirs;
	return x.has_failed;
}

/* ---- over HTTP ---- */

struct front {
	pid_t pid;
	char url[128];
};

static bool front_start(struct front *f, const struct place *p)
{
	const char *const argv[] = { p->helm, "serve", "fleet", "--database", the.login, "--signer",
		"/nowhere/socket", "--port", "0", NULL };
	const char *const env[] = { p->env[0], p->env[1], "HELM_LIMIT_NODE=1000000", NULL };
	char text[2048] = "";
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return false;
	bool is_there = spawn(&f->pid, argv, (char *const *)(uintptr_t)env, ends[1]);
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

	for (size_t k = 0; k < LINES / BATCH; k++) {
		AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)1 << 30 };
		const char *path = arena_printf(&a, "/v1/fleet/chains/%s/receipts", the.node.session);
		if (fleet_node_ask(&the.node, &a, to, "POST", path,
			    fleet_node_batch(&the.node, &a, k * BATCH, BATCH), "application/zstd",
			    NULL) != 200)
			return -1;
	}
	return bench_now_s() - start;
}

int bench_fleet_replay(struct bench *b)
{
	struct place p;
	struct front f = { 0 };

	b->skipped = need_cluster(b);
	if (b->skipped)
		return 0;
	/* What other figures have left for the tree would be folded in beside this one. */
	bool is_well = fold_all() >= 0 && place_open(&p, b, "fleet") && front_start(&f, &p);
	const struct fleet_place to = { f.url, ORIGIN };
	is_well = is_well && fleet_node_join(&the.node, &to, SECRET) == 0;
	double fresh = is_well ? send_all(&to) : -1, again = 1e9;
	for (int i = 0; i < 3 && fresh > 0; i++) {
		double t = send_all(&to);
		again = t < 0 ? -1 : t < again ? t : again;
	}
	front_stop(&f);
	place_close(&p);
	b->unit = "receipts/s";
	b->value = LINES / again;
	b->baseline = LINES / fresh;
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
	static const char doc[] = "{\"control_vkey\":\"\",\"log_vkey\":\"\",\"origin\":\"" ORIGIN
				  "\",\"secret\":\"" SECRET "\",\"version\":\"helm-fleet-token/1\"}";
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

	b->skipped = need_cluster(b);
	if (b->skipped)
		return 0;
	AUTO(pg_close) struct db *d = NULL;
	const char *at = "the tree";
	bool is_well = fold_all() >= 0;
	is_well = is_well && (at = "its place", place_open(&p, b, "fleet"));
	is_well = is_well && (at = "the front end", front_start(&f, &p));
	is_well = is_well && (at = "joining", join_place(&p, &f));
	const char *const argv[] = { p.helm, "fleet", "ship", NULL };
	is_well = is_well && (at = "the sender", spawn(&ship, argv, (char *const *)(uintptr_t)p.env, -1));
	is_well = is_well && (at = "the database", pg_open(the.admin, NULL, &d, NULL) == OK);
	for (; is_well && n < TIMES; n++) {
		at = "a receipt";
		lags[n] = lag_of(&p, d, (int64_t)one_number(newest_row));
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
#endif

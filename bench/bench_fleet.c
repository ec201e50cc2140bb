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
NO(bench_fleet_size)
NO(bench_fleet_stopped)
#else

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "fleet_cluster.h"
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

enum { LINES = FLEET_LINES, CHAINS = 256, CLIENTS = 8, BATCH = FLEET_BATCH };

struct fleet_cluster fleet_cluster;

/* ---- the cluster ---- */

/* What it says is no figure, and goes nowhere but to `out`; -1: not even there. */
bool fleet_spawn(pid_t *ret, const char *const *argv, char *const *env, int out)
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

	if (fleet_spawn(&pid, argv, environ, -1))
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
	if (fleet_cluster.is_there) {
		append_stop(fleet_cluster.appender);
		dbpool_free(fleet_cluster.pool);
	}
	if (fleet_cluster.dir)
		(void)shell(AS_NOBODY "as pg_ctl -D \"$1/data\" -m immediate -w stop; rm -rf \"$1\"",
			fleet_cluster.dir);
	fleet_cluster.is_there = false;
}

static int fill_tables(struct arena *a, struct err *e)
{
	AUTO(pg_close) struct db *d = NULL;
	struct hash empty = merkle_root(NULL, 0);
	int rc = schema_migrate(
		sys_real(), a, fleet_cluster.admin, 0, "helm_bench", json_new(a, JSON_OBJECT), e);

	if (rc == OK)
		rc = pg_open(fleet_cluster.admin, NULL, &d, e);
	if (rc == OK)
		rc = pg_script(d,
			arena_printf(a,
				"INSERT INTO tenant(tenant_id, name, origin, log_vkey, control_vkey) VALUES (1, 'one', '" FLEET_ORIGIN
				"', '', '');"
				"INSERT INTO log VALUES (1, 0, '\\x%s');"
				"INSERT INTO node(tenant_id, node_id, host, owner) VALUES (1, 1, 'h', 'u');"
				"INSERT INTO join_token VALUES (1, sha256('" FLEET_SECRET
				"'), 1000, now() + interval '1 day', 'bench');"
				"INSERT INTO chain(tenant_id, chain_id, node_id, session_id) SELECT 1, i, 1, 'c' || i FROM generate_series(1, %d) i;"
				"CREATE TABLE public.raw(body text); GRANT ALL ON public.raw TO PUBLIC",
				hash_hex(a, &empty), (int)ARRAY_SIZE(fleet_cluster.heads)),
			e);
	return rc;
}

static int make_node(struct err *e)
{
	int rc = fleet_node_make(
		&fleet_cluster.node, arena_printf(&fleet_cluster.a, "%s/node", fleet_cluster.dir), LINES, e);

	fleet_cluster.lines = arena_zalloc(&fleet_cluster.a, LINES, sizeof(*fleet_cluster.lines));
	for (size_t i = 0; rc == OK && i < fleet_cluster.node.n && i < LINES; i++)
		fleet_cluster.lines[i] = (struct line_of){ .text = fleet_cluster.node.lines[i],
			.chain = fleet_cluster.node.hashes[i],
			.receipt = fleet_cluster.node.receipts[i] };
	return rc;
}

/* NULL: it is there; otherwise why it is not. */
const char *fleet_cluster_need(const struct bench *b)
{
	struct err e = { 0 };

	if (fleet_cluster.is_tried)
		return fleet_cluster.why;
	fleet_cluster.is_tried = true;
	fleet_cluster.a.limit_bytes = (size_t)8 << 30;
	fleet_cluster.dir = arena_printf(&fleet_cluster.a, "/tmp/helm-bench-fleet.%d", (int)getpid());
	atexit(stop_cluster);
	int rc = shell(AS_NOBODY
		"mkdir -m 0711 \"$1\" && if [ \"$(id -u)\" = 0 ]; then chown 65534:65534 \"$1\"; fi; "
		"as initdb -k -D \"$1/data\" -U postgres -A trust --no-locale -E UTF8 && "
		"as pg_ctl -D \"$1/data\" -w -t 60 -l \"$1/log\" -o \"-c listen_addresses= -c unix_socket_directories=$1 -c max_connections=60 -c shared_buffers=1GB\" start && "
		"as createdb -h \"$1\" -U postgres helm && mkdir -p \"$1/node\" 2>/dev/null || exit 1",
		fleet_cluster.dir);
	if (rc)
		return fleet_cluster.why = rc == 77 ? "PostgreSQL is not installed (package postgresql)"
						    : "no PostgreSQL cluster could be started here";
	fleet_cluster.admin =
		arena_printf(&fleet_cluster.a, "host=%s dbname=helm user=postgres", fleet_cluster.dir);
	fleet_cluster.login =
		arena_printf(&fleet_cluster.a, "host=%s dbname=helm user=helm_bench", fleet_cluster.dir);
	rc = fill_tables(&fleet_cluster.a, &e);
	if (rc == OK)
		rc = make_node(&e);
	if (rc == OK)
		rc = web_start(&e);
	fleet_cluster.free_chain = CHAINS;
	fleet_cluster.pool = dbpool_new(sys_real(), fleet_cluster.login, 600);
	fleet_cluster.f = (struct fleet){ .pool = fleet_cluster.pool, .conninfo = fleet_cluster.login };
	if (rc == OK)
		rc = append_start(&fleet_cluster.f, &fleet_cluster.appender, &e);
	if (rc)
		return fleet_cluster.why = arena_printf(&fleet_cluster.a, "%s: %s", b->name, e.text);
	fleet_cluster.is_there = true;
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
	int64_t head = fleet_cluster.heads[i];

	*x = (struct appending){ .tenant = 1,
		.chain_id = i + 1,
		.old_head = head,
		.n = (int64_t)n,
		.old_hash = head ? fleet_cluster.lines[(head - 1) % LINES].chain : (struct hash){ { 0 } },
		.new_hash = fleet_cluster.lines[(head + (int64_t)n - 1) % LINES].chain,
		.lines = &fleet_cluster.lines[head % LINES],
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
	struct batch b = { .lines = &fleet_cluster.lines[head % LINES], .n = n };
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
	int n = __atomic_fetch_add(&fleet_cluster.free_chain, 1, __ATOMIC_RELAXED);

	if (n >= (int)ARRAY_SIZE(fleet_cluster.heads))
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
		if (fleet_cluster.heads[c->chain] == LINES)
			c->chain = new_chain();
		int chain = c->chain;
		size_t raw;
		struct bytes frame = pack(&a, fleet_cluster.heads[chain], c->batch, &raw);
		fill(&p.x, &p, chain, c->batch, frame, raw);
		append_put(fleet_cluster.appender, &p.x);
		wait_for(&p);
		c->has_failed |= p.failed != 0;
		fleet_cluster.heads[chain] += (int64_t)c->batch;
		c->done += (int64_t)c->batch;
	}
	return NULL;
}

static void *insert_raw(void *arg)
{
	struct writer *c = arg;

	while (bench_now_s() < c->until_s) {
		struct bytes line = fleet_cluster.lines[c->done % LINES].text;
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
			has_failed |= pg_open(fleet_cluster.admin, NULL, &all[i].d, NULL) != OK;
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
	b->skipped = fleet_cluster_need(b);
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
	int64_t at = fleet_cluster.heads[i] % LINES;

	fill(&x->all[i], &x->p, i, 1, x->frames[at], x->raws[at]);
	x->all[i].done = crowd_goes_on;
	append_put(fleet_cluster.appender, &x->all[i]);
}

static void crowd_goes_on(struct appending *one, int rc, const struct err *e)
{
	struct crowd *x = (struct crowd *)((char *)one->answered_arg - offsetof(struct crowd, p));
	int i = (int)(one - x->all);

	if (rc == OK) {
		fleet_cluster.heads[i]++;
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
	const char *path = arena_printf(&a, "%s/lines", fleet_cluster.dir);
	struct buf text;

	buf_init(&text, &a);
	for (int k = 0; k < TIMES; k++)
		for (size_t i = 0; i < LINES; i++) {
			buf_add(&text, fleet_cluster.lines[i].text.p, fleet_cluster.lines[i].text.n);
			buf_addc(&text, '\n');
		}
	FILE *f = fopen(path, "w");
	if (!f || fwrite(text.p, 1, text.n, f) != text.n || fclose(f) || chmod(path, 0644) ||
		pg_open(fleet_cluster.admin, NULL, &d, NULL) ||
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
int64_t fleet_fold_all(void)
{
	size_t leaves = 0, added = 1;
	struct err e = { 0 };
	int rc = OK;

	while (rc == OK && added) {
		AUTO(arena_done) struct arena a = { .limit_bytes = (size_t)4 << 30 };
		AUTO(lent_back) struct lent l = { 0 };
		struct tree_at at;
		added = 0;
		rc = lend(fleet_cluster.pool, POOL_SEQ, 1, &l, &e);
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
	b->skipped = fleet_cluster_need(b);
	if (b->skipped)
		return 0;
	b->baseline = clients_rate(append_on, BATCH, 2);
	double start = bench_now_s();
	int64_t leaves = fleet_fold_all();
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
	struct arena *a = arena_zalloc(&fleet_cluster.a, 1, sizeof(*a)); /* lives until it is appended */
	struct batch *batch = arena_zalloc(&fleet_cluster.a, 1, sizeof(*batch));
	struct chain_row at = { .state = 1, .head = (int64_t)k * BATCH };
	struct bytes frame = { 0 };
	struct err e = { 0 };
	size_t bad, raw;

	a->limit_bytes = (size_t)1 << 30;
	if (batch_read(a, s->frames[k], fleet_cluster.node.session, batch, &e) ||
		batch_verify(a, batch, 0, &at, &s->trust, &bad, &e) ||
		batch_pack(a, batch, 0, &frame, &raw, &e)) {
		fprintf(stderr, "helm-bench: %s\n", e.text);
		s->has_failed = true;
		was_appended(&(struct appending){ .answered_arg = s->put }, -1, NULL);
		return;
	}
	fill(&s->x[k], s->put, new_chain(), BATCH, frame, raw);
	s->x[k].lines = batch->lines;
	append_put(fleet_cluster.appender, &s->x[k]);
}

static void *share(void *arg)
{
	struct sharing *s = arg;

	for (size_t k = (size_t)s->number; s->is_ours && k < LINES / BATCH; k += (size_t)s->of)
		ingest_one(s, k);
	for (size_t i = (size_t)s->number; !s->is_ours && i < s->signature_count; i += (size_t)s->of)
		s->has_failed |= !yardstick_sodium_verify(
			key_public(fleet_cluster.node.key), s->preimages[i], s->signatures[i]);
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
	s->preimages = arena_zalloc(&fleet_cluster.a, 2 * LINES, sizeof(*s->preimages));
	s->signatures = arena_zalloc(&fleet_cluster.a, 2 * LINES, sizeof(*s->signatures));
	for (size_t i = 0; i < LINES; i++) {
		const char *hex = json_get_text(fleet_cluster.node.receipts[i], "signature", "");
		size_t n = s->signature_count++;
		if (receipt_preimage_v5(
			    &fleet_cluster.a, fleet_cluster.node.receipts[i], &s->preimages[n], NULL) ||
			!hex_decode(hex, strlen(hex), s->signatures[n], SIGN_SIZE, true))
			s->has_failed = true;
		if (json_get_text(json_get(fleet_cluster.node.receipts[i], "subject"), "signature", NULL)) {
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

	b->skipped = fleet_cluster_need(b);
	if (b->skipped)
		return 0;
	struct sharing s = { .of = cores < 1 ? 1 : cores > 64 ? 64 : (int)cores, .put = &put };
	struct buf history;
	buf_init(&history, &fleet_cluster.a);
	json_each (link, fleet_cluster.node.history) {
		json_canonical(&history, link);
		buf_addc(&history, '\n');
	}
	memcpy(key.key, key_public(fleet_cluster.node.key), KEY_SIZE);
	s.trust = (struct trust){ .keys = &key, .key_count = 1 };
	if (trust_add_history_text(&fleet_cluster.a, buf_bytes(&history), "history", &s.trust, NULL))
		return 1;
	s.frames = arena_zalloc(&fleet_cluster.a, LINES / BATCH, sizeof(*s.frames));
	s.x = arena_zalloc(&fleet_cluster.a, LINES / BATCH, sizeof(*s.x));
	for (size_t k = 0; k < LINES / BATCH; k++)
		s.frames[k] = fleet_node_batch(&fleet_cluster.node, &fleet_cluster.a, k * BATCH, BATCH);
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

double fleet_one_number(const char *sql)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(pg_close) struct db *d = NULL;
	const char *text = "";

	return pg_open(fleet_cluster.admin, NULL, &d, NULL) || pg_one(d, &a, sql, &text, NULL)
		? -1
		: strtod(text, NULL);
}

int bench_fleet_size(struct bench *b)
{
	b->skipped = fleet_cluster_need(b);
	if (b->skipped)
		return 0;
	/* Of what came in batches: in the tables of this month, with their keys. */
	static const char sizes[] =
		"SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'fleet' AND "
		"(c.relname LIKE 'bundle\\_%' OR c.relname LIKE 'receipt\\_%' OR c.relname IN ('span', 'tile')) AND c.relkind = 'r'";
	double before = fleet_one_number(sizes),
	       raw_before = fleet_one_number("SELECT coalesce(sum(raw), 0) FROM fleet.bundle");
	double rate = clients_rate(append_on, BATCH, 3);
	double bytes = fleet_one_number(sizes) - before,
	       raw = fleet_one_number("SELECT coalesce(sum(raw), 0) FROM fleet.bundle") - raw_before;
	b->unit = "bytes/receipt";
	b->value = bytes / (raw / ((double)fleet_cluster.node.bytes / (double)fleet_cluster.node.n));
	b->baseline = (double)fleet_cluster.node.bytes / (double)fleet_cluster.node.n;
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

	b->skipped = fleet_cluster_need(b);
	if (b->skipped)
		return 0;
	AUTO(pg_close) struct db *d = NULL;
	if (pg_open(fleet_cluster.admin, NULL, &d, NULL) ||
		pg_script(d,
			"INSERT INTO fleet.receipt SELECT 1, 1000000, i, now() - i * interval '1 ms', now(), '', CASE WHEN i % 3 = 0 THEN 2 ELSE 1 END, 'decision', 'R', "
			"'rule', 'Bash', 'agent:x', 'dec-' || i, NULL FROM generate_series(1, 1000000) i;"
			"INSERT INTO fleet.chain(tenant_id, chain_id, node_id, session_id, head, sequenced) VALUES (1, 1000000, 1, 'large', 1000000, 1000000);"
			"ANALYZE fleet.receipt; ANALYZE fleet.chain; ANALYZE fleet.node",
			NULL) ||
		pg_open(fleet_cluster.login, ROLE_READ, &x.d, NULL) || pg_begin(x.d, 1, NULL))
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
#endif

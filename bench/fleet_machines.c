/* fleet_machines.c — helm-bench --machines URL TOKEN N SECONDS PERIOD_MS DIR: a fleet on one machine.
 *
 * Each of them has a key and a chain of its own, made by the recorder, joins with the token, sends a receipt every PERIOD_MS in batches as they
 * come to be, says every 30 seconds that it is there, and waits for orders all the time: what helm does, over loopback HTTP with real signatures.
 * At the end one line of JSON says what was sent, what was answered and how long answers took. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "bench.h"
#include "fleet_node.h"
#include "serve/web.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2000, TIMES = 1 << 20, BEAT_MS = 30000 };

struct fleet {
	struct fleet_place to;
	const char *secret, *dir;
	int n;
	int64_t seconds, period_ms;
	double start_s;
	pthread_mutex_t lock;
	double *times; /* of batches, in seconds */
	size_t time_count;
	int64_t sent, batches, beats, polls, busy, failed, joined, elsewhere;
	bool is_over;
};
struct machine {
	struct fleet *f;
	struct fleet_node node;
	int number;
};

static void nap(double seconds)
{
	struct sys *s = sys_real();

	if (seconds > 0)
		s->sleep_us(s, (int64_t)(seconds * 1000000));
}

static void count(struct fleet *f, int64_t *which, int64_t by, double took)
{
	pthread_mutex_lock(&f->lock);
	*which += by;
	if (took >= 0 && f->time_count < TIMES)
		f->times[f->time_count++] = took;
	pthread_mutex_unlock(&f->lock);
}

static void beat(struct machine *m, size_t acked)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct fleet *f = m->f;
	struct json *doc = json_new(&a, JSON_OBJECT), *heads = json_new(&a, JSON_ARRAY),
		    *head = json_new(&a, JSON_OBJECT);
	struct buf text;

	json_sets(&a, head, "session_id", m->node.session);
	json_seti(&a, head, "head", (int64_t)acked);
	json_sets(&a, head, "head_hash", acked ? hash_hex(&a, &m->node.hashes[acked - 1]) : "");
	if (acked)
		json_push(&a, heads, head);
	json_set(&a, doc, "heads", heads);
	json_seti(&a, doc, "backlog", 0);
	json_seti(&a, doc, "order", 0);
	json_sets(&a, doc, "helm_version", "simulated");
	json_sets(&a, doc, "at", text_time_z(&a, sys_real()->now_us(sys_real())));
	buf_init(&text, &a);
	json_canonical(&text, doc);
	int status =
		fleet_node_ask(&m->node, &a, &f->to, "POST", "/v1/fleet/beat", buf_bytes(&text), NULL, NULL);
	if (status != 200 && status != 429 && status != 503)
		fprintf(stderr, "helm-bench: machine %d, beat: %d\n", m->number, status);
	count(f, status == 200 ? &f->beats : status == 429 || status == 503 ? &f->busy : &f->failed, 1, -1);
}

/* Everything that came to be since the last time, in one batch. */
static void ship(struct machine *m, size_t *acked, size_t there)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct fleet *f = m->f;
	size_t n = there - *acked > 256 ? 256 : there - *acked;
	const char *path = arena_printf(&a, "/v1/fleet/chains/%s/receipts", m->node.session);
	double before = bench_now_s();
	int status = fleet_node_ask(&m->node, &a, &f->to, "POST", path,
		fleet_node_batch(&m->node, &a, *acked, n), "application/zstd", NULL);

	if (status == 200) {
		*acked += n;
		count(f, &f->batches, 1, bench_now_s() - before);
		count(f, &f->sent, (int64_t)n, -1);
		return;
	}
	if (status == 409) { /* a real one asks how far the ledger is, and it is where we are: no harm done */
		count(f, &f->elsewhere, 1, -1);
		return;
	}
	if (status != 429 && status != 503)
		fprintf(stderr, "helm-bench: machine %d, batch at %zu: %d\n", m->number, *acked, status);
	count(f, status == 429 || status == 503 ? &f->busy : &f->failed, 1, -1);
	nap(1);
}

static void *live(void *arg)
{
	struct machine *m = arg;
	struct fleet *f = m->f;
	const double period = (double)f->period_ms / 1000, offset = period * m->number / f->n;
	double next_beat = f->start_s + (double)BEAT_MS / 1000 * m->number / f->n;
	size_t acked = 0;

	for (;;) {
		double now = bench_now_s(), age = now - f->start_s - offset;
		size_t there = age < 0 ? 0 : (size_t)(age / period) + 1;
		bool is_over = now - f->start_s >= (double)f->seconds;
		if (there > m->node.n)
			there = m->node.n;
		if (there > acked)
			ship(m, &acked, there);
		else if (is_over)
			return NULL;
		if (now >= next_beat && !is_over) {
			beat(m, acked);
			next_beat = now + (double)BEAT_MS / 1000;
		}
		if (!is_over)
			nap(period / 4 < 0.2 ? period / 4 : 0.2);
	}
}

static void *listen(void *arg)
{
	struct machine *m = arg;
	struct fleet *f = m->f;

	while (!__atomic_load_n(&f->is_over, __ATOMIC_RELAXED)) {
		AUTO(arena_done) struct arena a = { 0 };
		int status = fleet_node_ask(
			&m->node, &a, &f->to, "GET", "/v1/fleet/orders/0", (struct bytes){ 0 }, NULL, NULL);
		count(f, status == 200 ? &f->polls : &f->busy, 1, -1);
		if (status != 200)
			nap(1);
	}
	return NULL;
}

static int ascending(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static void tell(struct fleet *f, double took)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc = json_new(&a, JSON_OBJECT);
	struct buf text;
	const size_t n = f->time_count;
	const struct {
		const char *name;
		int64_t value;
	} counts[] = { { "machines", f->n }, { "joined", f->joined }, { "receipts", f->sent },
		{ "batches", f->batches }, { "beats", f->beats }, { "polls", f->polls }, { "busy", f->busy },
		{ "failed", f->failed }, { "elsewhere", f->elsewhere }, { "seconds", (int64_t)took },
		{ "receipts_per_s", (int64_t)((double)f->sent / took) },
		{ "p50_ms", n ? (int64_t)(f->times[n / 2] * 1000) : 0 },
		{ "p99_ms", n ? (int64_t)(f->times[n * 99 / 100] * 1000) : 0 },
		{ "max_ms", n ? (int64_t)(f->times[n - 1] * 1000) : 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		json_seti(&a, doc, counts[i].name, counts[i].value);
	buf_init(&text, &a);
	json_write(&text, doc, 0);
	puts(text.p);
}

static int make_all(struct fleet *f, struct machine *all)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct err e = { 0 };
	uint64_t each = (uint64_t)(f->seconds * 1000 / f->period_ms) + 2;

	for (int i = 0; i < f->n; i++) {
		all[i] = (struct machine){ .f = f, .number = i };
		if (fleet_node_make(&all[i].node, arena_printf(&a, "%s/%d", f->dir, i), each, &e)) {
			fprintf(stderr, "helm-bench: %s\n", e.text);
			return 1;
		}
		f->joined += fleet_node_join(&all[i].node, &f->to, f->secret) == 0;
	}
	return 0;
}

static int read_token(struct fleet *f, struct arena *a, const char *file)
{
	struct bytes text, doc;
	struct json *token;

	if (file_read(sys_real(), a, AT_FDCWD, file, 16384, FILE_FOLLOW, &text, NULL) || text.n < 5)
		return 1;
	const char *word = arena_strndup(a, (const char *)text.p + 4, text.n - 4);
	((char *)(uintptr_t)word)[strcspn(word, " \r\n")] = '\0';
	if (!base64_decode(a, word, strlen(word), BASE64_URL, false, &doc) ||
		json_parse(a, doc, "token", NULL, &token, NULL))
		return 1;
	f->to.origin = json_get_text(token, "origin", "");
	f->secret = json_get_text(token, "secret", "");
	return 0;
}

int fleet_machines(int argc, char **argv)
{
	AUTO(arena_done) struct arena a = { 0 };
	int64_t n = 0;
	struct fleet f = { 0 };
	pthread_attr_t small;

	if (argc != 8 || !text_int(argv[4], &n) || n < 1 || n > MOST || !text_int(argv[5], &f.seconds) ||
		!text_int(argv[6], &f.period_ms) || f.seconds < 1 || f.period_ms < 1 ||
		read_token(&f, &a, argv[3]) || web_start(NULL)) {
		fprintf(stderr, "helm-bench: --machines URL TOKENFILE N SECONDS PERIOD_MS DIR\n");
		return 2;
	}
	f.n = (int)n;
	f.to.url = argv[2];
	f.dir = argv[7];
	f.times = arena_zalloc(&a, TIMES, sizeof(double));
	pthread_mutex_init(&f.lock, NULL);
	struct machine *all = arena_zalloc(&a, (size_t)n, sizeof(*all));
	pthread_t *threads = arena_zalloc(&a, 2 * (size_t)n, sizeof(*threads));
	if (make_all(&f, all))
		return 1;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 512 << 10);
	f.start_s = bench_now_s();
	for (int i = 0; i < f.n; i++)
		if (pthread_create(&threads[i], &small, live, &all[i]) ||
			pthread_create(&threads[f.n + i], &small, listen, &all[i]))
			abort();
	for (int i = 0; i < f.n; i++)
		(void)pthread_join(threads[i], NULL);
	double took = bench_now_s() - f.start_s;
	__atomic_store_n(&f.is_over, true, __ATOMIC_RELAXED);
	qsort(f.times, f.time_count, sizeof(double), ascending);
	tell(&f, took);
	fflush(stdout);
	_exit(f.failed || f.joined != f.n ? 1 : 0); /* whoever waits for an order would wait on */
}

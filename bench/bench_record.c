/* bench_record.c — writing receipts and checking the log over them.
 *
 * receipt_append: a decision record and its receipt, signed, chained and on disk, one after the other, against appending the same
 * bytes to a file and syncing each time: nobody who promises durability can do less.
 *
 * receipt_group: the same from 64 writers in one process, against one by one.  Each signature covers the hash of the receipt before it,
 * so receipts are signed one after the other however many writers there are; decision records are signed by the writers
 * themselves.  That, or the processors where there are few, bounds the figure, and not the disk.
 *
 * budget_draw: the same 64 writers, each receipt drawing on one budget, against those that draw nothing.
 *
 * verify_log: a million leaves read from disk and hashed up to their root, against hashing as many nodes from memory. */
#include "base/file.h"
#include "base/hash.h"
#include "bench.h"
#include "record/record.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ONE_BY_ONE = 25, ROUNDS = 12, WRITERS = 64, EACH = 40, SIGNATURES = 500, LEAF_COUNT = 1000000 };

struct place {
	char dir[64];
	int fd, bare_fd;
	struct key *key;
	struct recorder r;
	struct recorder_group *group;
	bool draws; /* each receipt takes one from the same budget */
	struct bytes *lines;
	size_t line_count;
	struct arena a;
	struct hash root;
	double cpu_s; /* processor time of the cheapest round of all writers together */
	bool has_failed;
};

static int open_place(struct place *p)
{
	struct err e = { 0 };

	*p = (struct place){ .dir = "/tmp/helm-bench-XXXXXX", .fd = -1, .bare_fd = -1 };
	if (!mkdtemp(p->dir) || (p->fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return 1;
	p->bare_fd = openat(p->fd, "bare", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (p->bare_fd < 0 || key_create(sys_real(), p->fd, "keys", "root", &p->key, &e))
		return 1;
	recorder_open(&p->r, sys_real(), p->fd, p->key);
	return 0;
}

static void close_place(struct place *p)
{
	char *const argv[] = { (char *)(uintptr_t) "rm", (char *)(uintptr_t) "-rf", p->dir, NULL };
	pid_t pid;

	recorder_close(&p->r);
	key_free(&p->key);
	close_fd(&p->fd);
	close_fd(&p->bare_fd);
	arena_done(&p->a);
	if (posix_spawnp(&pid, "rm", NULL, NULL, argv, environ) == 0)
		waitpid(pid, NULL, 0);
}

/* What the kernel writes for an ordinary command. */
static int record(struct place *p, struct arena *a, struct recorder_group *g)
{
	static const char hash[] = "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";
	struct json *decision, *about = json_new(a, JSON_OBJECT);
	char *id, *content;
	struct err e;

	if (record_new_id(a, sys_real(), "dec-", &id, &e))
		return 1;
	struct decision_draft d = { .id = id,
		.verdict = "ALLOW",
		.subject_id = "user:1000",
		.action = "EXECUTE_COMMAND",
		.resource = "git",
		.effect_digest = hash + 7,
		.policy_content_hash = hash,
		.policy_version = "1",
		.reason = "",
		.reason_code = "" };
	if (record_decision(a, sys_real(), p->key, &d, &decision, &content, &e))
		return 1;
	json_sets(a, about, "door", "run");
	json_sets(a, about, "profile", "workspace_edit");
	json_sets(a, about, "guard_action", "allow");
	struct draft r = { .decision_id = id,
		.effect_id = "EXECUTE_COMMAND",
		.status = "ALLOW",
		.verdict = "ALLOW",
		.policy_hash = hash,
		.args_hash = hash,
		.output_hash = content,
		.executor_id = "user:1000",
		.type = "decision",
		.tool_name = "git",
		.metadata = about,
		.subject = decision };
	struct draw cent = {
		.kind = DRAW_BUDGET, .key = "6:budget|5:bench|0:", .amount = 1, .limit = INT64_C(1) << 40
	};
	r.draws = &cent;
	r.draw_count = p->draws;
	return g ? recorder_group_append(g, a, &r, 1, NULL, &e) : recorder_append(&p->r, a, &r, 1, NULL, &e);
}

static void append_ours(void *arg)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct place *p = arg;

	for (int i = 0; i < ONE_BY_ONE; i++) {
		p->has_failed |= record(p, &a, NULL) != 0;
		arena_reset(&a);
	}
}

static void append_bare(void *arg)
{
	struct place *p = arg;

	for (size_t i = 0; i < ONE_BY_ONE; i++) {
		struct bytes line = p->lines[i % p->line_count];
		if (write(p->bare_fd, line.p, line.n) != (ssize_t)line.n || fdatasync(p->bare_fd))
			p->has_failed = true;
	}
}

/* The bytes of real receipts, newline included. */
static int take_lines(struct place *p)
{
	struct err e;
	struct bytes text;

	append_ours(p);
	if (file_read(sys_real(), &p->a, p->fd, RECEIPTS, 1 << 30, 0, &text, &e))
		return 1;
	p->lines = arena_zalloc(&p->a, ONE_BY_ONE, sizeof(*p->lines));
	while (text.n && p->line_count < ONE_BY_ONE) {
		const uint8_t *end = memchr(text.p, '\n', text.n);
		size_t n = (size_t)(end - text.p) + 1;
		p->lines[p->line_count++] = (struct bytes){ text.p, n };
		text.p += n;
		text.n -= n;
	}
	return p->line_count == 0;
}

int bench_receipt_append(struct bench *b)
{
	struct place p;
	double ours, bare;

	if (open_place(&p) || take_lines(&p)) {
		close_place(&p);
		return 1;
	}
	bench_pair(ROUNDS * b->rounds, append_ours, append_bare, &p, &ours,
		&bare); /* a shared disk has quiet moments, not minutes */
	close_place(&p);
	b->unit = "receipts/s";
	b->value = ONE_BY_ONE / ours;
	b->baseline = ONE_BY_ONE / bare;
	b->ratio = b->value / b->baseline;
	return p.has_failed;
}

static void *write_many(void *arg)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct place *p = arg;
	bool has_failed = false;

	for (int i = 0; i < EACH; i++) {
		has_failed |= record(p, &a, p->group) != 0;
		arena_reset(&a);
	}
	return has_failed ? arg : NULL;
}

static double process_cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void append_together(void *arg)
{
	struct place *p = arg;
	pthread_t threads[WRITERS];
	double start = process_cpu_s();

	for (int i = 0; i < WRITERS; i++)
		if (pthread_create(&threads[i], NULL, write_many, p))
			abort();
	for (int i = 0; i < WRITERS; i++) {
		void *failed;
		(void)pthread_join(threads[i], &failed);
		p->has_failed |= failed != NULL;
	}
	double used = process_cpu_s() - start;
	p->cpu_s = p->cpu_s == 0 || used < p->cpu_s ? used : p->cpu_s;
}

static void sign_only(void *arg)
{
	struct place *p = arg;
	uint8_t message[700] = { 0 }, signature[SIGN_SIZE];

	for (int i = 0; i < SIGNATURES; i++) {
		key_sign(p->key, (struct bytes){ message, sizeof(message) }, signature);
		memcpy(message, signature, sizeof(signature));
	}
	bench_keep(message);
}

int bench_receipt_group(struct bench *b)
{
	struct place p;
	double together, alone;

	if (open_place(&p)) {
		close_place(&p);
		return 1;
	}
	p.group = recorder_group_new(&p.r);
	bench_pair(2 * b->rounds, append_together, append_ours, &p, &together, &alone);
	double signing = bench_best(b->rounds, sign_only, &p);
	recorder_group_free(p.group);
	close_place(&p);
	b->unit = "receipts/s";
	b->value = WRITERS * EACH / together;
	b->baseline = ONE_BY_ONE / alone;
	b->ratio = b->value / b->baseline;
	double serial = SIGNATURES / signing,
	       processors = WRITERS * EACH / p.cpu_s * (double)sysconf(_SC_NPROCESSORS_ONLN);
	b->bound = (serial < processors ? serial : processors) / b->baseline;
	b->bound_by = serial < processors
		? "signing receipts one after the other, as each signs the hash of the one before"
		: "the processor time of all of them, on these cores";
	return p.has_failed;
}

static void draw_together(void *arg)
{
	struct place *p = arg;

	p->draws = true;
	append_together(arg);
	p->draws = false;
}

/* Did every cent that was drawn arrive? */
static bool is_drawn(struct place *p, int64_t least)
{
	struct drawn d;
	struct err e;

	if (draws_look(sys_real(), p->fd, NULL, &d, &e))
		return false;
	const struct drawn_entry *x = drawn_find(&d, DRAW_BUDGET, "6:budget|5:bench|0:", 0);
	bool is = x && x->used >= least && x->used % (WRITERS * EACH) == 0;
	drawn_done(&d);
	return is;
}

int bench_budget_draw(struct bench *b)
{
	struct place p;
	double drawing, plain;

	if (open_place(&p)) {
		close_place(&p);
		return 1;
	}
	p.group = recorder_group_new(&p.r);
	bench_pair(2 * b->rounds, draw_together, append_together, &p, &drawing, &plain);
	recorder_group_free(p.group);
	p.has_failed |= !is_drawn(&p, WRITERS * EACH);
	close_place(&p);
	b->unit = "draws/s";
	b->value = WRITERS * EACH / drawing;
	b->baseline = WRITERS * EACH / plain;
	b->ratio = b->value / b->baseline;
	return p.has_failed;
}

static int make_leaves(struct place *p)
{
	struct err e;
	struct buf text;
	struct merkle tree = { 0 };

	buf_init(&text, &p->a);
	buf_room(&text, (size_t)LEAF_COUNT * 65);
	for (uint64_t i = 0; i < LEAF_COUNT; i++) {
		struct hash leaf = merkle_leaf(&i, sizeof(i));
		char line[66];
		hex_encode(leaf.b, SHA256_SIZE, line);
		line[64] = '\n';
		buf_add(&text, line, 65);
		merkle_append(&tree, &leaf);
	}
	p->root = merkle_head(&tree);
	if (file_mkdirs(sys_real(), p->fd, LOG_DIR, 0700, &e))
		return 1;
	return file_create(sys_real(), p->fd, LEAVES, 0600, buf_bytes(&text), &e);
}

static void check_log(void *arg)
{
	struct place *p = arg;
	AUTO(arena_done) struct arena a = { 0 };
	struct merkle tree = { 0 };
	struct hash *leaves;
	struct err e;
	uint64_t n;

	if (log_leaves(sys_real(), &a, p->fd, &leaves, &n, &e) || n != LEAF_COUNT) {
		p->has_failed = true;
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		merkle_append(&tree, &leaves[i]);
	struct hash root = merkle_head(&tree);
	p->has_failed |= !hash_eq(&root, &p->root);
}

static void hash_nodes(void *arg)
{
	uint8_t node[65] = { 1 };

	(void)arg;
	for (int i = 0; i < LEAF_COUNT - 1; i++)
		sha256(node, sizeof(node), node + 1 + 32 * (i & 1));
	bench_keep(node);
}

int bench_verify_log(struct bench *b)
{
	struct place p;
	double ours, bare;

	if (open_place(&p) || make_leaves(&p)) {
		close_place(&p);
		return 1;
	}
	bench_pair_cpu(b->rounds, check_log, hash_nodes, &p, &ours, &bare);
	close_place(&p);
	b->unit = "nodes/s";
	b->value = LEAF_COUNT / ours;
	b->baseline = LEAF_COUNT / bare;
	b->ratio = b->value / b->baseline;
	return p.has_failed;
}

/* bench_guard.c — what a decision costs: against one signature, with hostile input, and as a process. */
#include "bench.h"

#include "base/file.h"
#include "base/json.h"
#include "decide/decide.h"
#include "proof/sign.h"
#include "propose/propose.h"

#include <fcntl.h>
#include <malloc.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

struct guard_bench {
	struct arena a, scratch;
	struct profiles profiles;
	const struct profile *profile;
	const struct policy *policy;
	struct surroundings at;
	struct bytes *texts;
	double *seconds;
	size_t n;
};

static void open_guard(struct guard_bench *g)
{
	profiles_builtin(&g->a, &g->profiles);
	g->profile = profiles_find(&g->profiles, "workspace_edit");
	g->policy = policy_compile(&g->a, NULL);
	g->at = (struct surroundings){ .cwd = "/home/user/work",
		.home = "/home/user",
		.workspace = "/home/user/work",
		.state_dir = "/home/user/work/.helm",
		.tmpdir = "/tmp" };
}

static void judge(struct guard_bench *g, struct bytes text)
{
	struct decide_context at = { .a = &g->scratch, .workspace = g->at.workspace };
	struct proposal p = { 0 };
	struct decision d;

	propose_shell(&g->scratch, &g->at, text, &p);
	decide(g->policy, g->profile, &p, &at, &d);
	bench_keep(&d);
	arena_reset(&g->scratch);
}

/* Case files stand in the source tree: below the current directory, or two above the program. */
static bool read_cases(struct guard_bench *g, const char *program, const char *name, struct bytes *ret)
{
	const char *base = path_base(program);

	if (file_read(sys_real(), &g->a, AT_FDCWD, arena_printf(&g->a, "tests/cases/%s", name), 16 << 20,
		    FILE_FOLLOW, ret, NULL) == OK)
		return true;
	return file_read(sys_real(), &g->a, AT_FDCWD,
		       arena_printf(&g->a, "%.*s../../tests/cases/%s", (int)(base - program), program, name),
		       16 << 20, FILE_FOLLOW, ret, NULL) == OK;
}

static void add_texts(struct guard_bench *g, struct bytes file)
{
	while (file.p && file.n) {
		struct bytes line = text_cut(&file, '\n');
		struct json *row;
		const struct json *text;
		if (line.n == 0 || json_parse(&g->a, line, "case", NULL, &row, NULL))
			continue;
		text = json_get(row, "shell");
		if (text && g->n < 4000)
			g->texts[g->n++] = (struct bytes){ (const uint8_t *)text->text, text->n };
	}
}

static int compare_seconds(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* Each text on its own clock would measure the clock; forty in a row are one reading. */
enum { REPEAT = 40 };

static double median_of_texts(struct guard_bench *g)
{
	for (size_t i = 0; i < g->n; i++) {
		double start = bench_now_s();
		for (int k = 0; k < REPEAT; k++)
			judge(g, g->texts[i]);
		g->seconds[i] = (bench_now_s() - start) / REPEAT;
	}
	qsort(g->seconds, g->n, sizeof(*g->seconds), compare_seconds);
	return g->seconds[g->n / 2];
}

static double one_signature(void)
{
	static const uint8_t seed[SIGN_SEED] = { 7 };
	static uint8_t message[512];
	uint8_t secret[SIGN_SECRET], pub[SIGN_PUBLIC], sig[SIGN_SIZE];
	double start;

	sign_expand(seed, secret, pub);
	start = bench_now_s();
	for (int i = 0; i < 200; i++) {
		message[0] = (uint8_t)i;
		sign_message(secret, (struct bytes){ message, sizeof(message) }, sig);
		bench_keep(sig);
	}
	return (bench_now_s() - start) / 200;
}

int bench_guard_check(struct bench *b)
{
	struct guard_bench g = { 0 };
	struct bytes safe, destructive;

	open_guard(&g);
	if (!read_cases(&g, b->program, "guard_safe.jsonl", &safe) ||
		!read_cases(&g, b->program, "guard_destructive.jsonl", &destructive)) {
		b->skipped = "tests/cases is not here";
		arena_done(&g.a);
		return 0;
	}
	g.texts = arena_zalloc(&g.a, 4000, sizeof(*g.texts));
	g.seconds = arena_zalloc(&g.a, 4000, sizeof(*g.seconds));
	add_texts(&g, safe);
	add_texts(&g, destructive);
	b->value = b->baseline = 1e9;
	for (int i = 0; i < b->rounds; i++) {
		double ours = median_of_texts(&g), theirs = one_signature();
		b->value = ours < b->value ? ours : b->value;
		b->baseline = theirs < b->baseline ? theirs : b->baseline;
	}
	b->ratio = b->value / b->baseline;
	b->value *= 1e6;
	b->baseline *= 1e6;
	b->unit = "us";
	arena_done(&g.a);
	arena_done(&g.scratch);
	return 0;
}

/* Hostile input: each shape, eight times longer, must not cost much more than eight times as much. */
static const char *const shapes[] = { "$(", "\"$(", "`x", "{a,", "${x:-", "((", "x|", "<<E\n", "f(){ ", "if ",
	"\\\n", "'", "x=$x;", "rm -rf $x/*;", "[[ ", "case x in ", "$'\\x72", "a{1..9}", "eval \"", "<(" };

static struct bytes repeat(struct arena *a, const char *unit, size_t n)
{
	size_t unit_n = strlen(unit);
	char *p = arena_text(a, n);

	for (size_t i = 0; i < n; i++)
		p[i] = unit[i % unit_n];
	return (struct bytes){ (const uint8_t *)p, n };
}

struct worst {
	struct guard_bench g;
	struct bytes small, large;
};

static void judge_small(void *arg)
{
	struct worst *w = arg;

	judge(&w->g, w->small);
}

static void judge_large(void *arg)
{
	struct worst *w = arg;

	judge(&w->g, w->large);
}

int bench_guard_worst(struct bench *b)
{
	struct worst w = { 0 };

	/* Memory stays with the process: how the kernel clears pages is not what is measured. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	open_guard(&w.g);
	b->unit = "ms";
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		double large, small;
		w.small = repeat(&w.g.a, shapes[i], 128 << 10);
		w.large = repeat(&w.g.a, shapes[i], 1 << 20);
		bench_pair_cpu(b->rounds, judge_large, judge_small, &w, &large, &small);
		/* What is refused at once takes no time worth a ratio. */
		if (small > 50e-6 && large / small > b->ratio) {
			b->ratio = large / small;
			b->value = large * 1e3;
			b->baseline = small * 1e3;
		}
	}
	arena_done(&w.g.a);
	arena_done(&w.g.scratch);
	return 0;
}

/* guard_exec: the whole process, against the smallest one there is */

enum { STARTS = 60 };

struct exec_bench {
	const char *helm;
	bool has_failed;
};

static void spawn_often(struct exec_bench *x, const char *const *argv)
{
	posix_spawn_file_actions_t quiet;
	int status;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	for (int i = 0; i < STARTS; i++) {
		pid_t pid;
		if (posix_spawn(&pid, argv[0], &quiet, NULL, (char *const *)argv, environ) ||
			waitpid(pid, &status, 0) != pid || status != 0)
			x->has_failed = true;
	}
	posix_spawn_file_actions_destroy(&quiet);
}

static void run_helm(void *arg)
{
	struct exec_bench *x = arg;

	spawn_often(x, (const char *const[]){ x->helm, "guard", "check", "--", "git", "status", NULL });
}

static void run_true(void *arg)
{
	spawn_often(arg, (const char *const[]){ "/bin/true", NULL });
}

int bench_guard_exec(struct bench *b)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *name = path_base(b->program);
	struct exec_bench x = { .helm = arena_printf(&a, "%.*shelm", (int)(name - b->program), b->program) };
	double ours, theirs;

	if (access(x.helm, X_OK)) {
		b->skipped = "there is no helm beside helm-bench";
		return 0;
	}
	bench_pair(b->rounds, run_helm, run_true, &x, &ours, &theirs);
	b->value = ours / STARTS * 1e6;
	b->baseline = theirs / STARTS * 1e6;
	b->unit = "us";
	b->ratio = b->value / b->baseline;
	return x.has_failed;
}

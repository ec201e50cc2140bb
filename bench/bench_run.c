/* bench_run.c — what a guarded run and a hook cost, with their durable rows and receipts, against starting /bin/true; and that
 * neither a run nor a status grows with the ledger. */
#include "bench.h"

#include "base/file.h"
#include "base/sys.h"
#include "base/text.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { RUNS = 15, ROWS = 1000000 };

struct place {
	struct arena a;
	const char *helm, *home;
	const char *env[8];
	bool has_failed;
	char input[4200]; /* file given as standard input; "" = /dev/null */
};

static int start(struct place *p, const char *const *argv)
{
	posix_spawn_file_actions_t files;
	pid_t pid;
	int status = -1;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, p->input[0] ? p->input : "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, argv[0], &files, NULL, (char *const *)argv, (char *const *)p->env) == 0)
		(void)waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&files);
	return status;
}

/* A throw-away home with a workspace, below the build so that it is on a real disk. */
static bool open_place(struct place *p, const struct bench *b, const char *name)
{
	const char *base = path_base(b->program);

	*p = (struct place){ 0 };
	char *dir = arena_printf(&p->a, "%.*s", (int)(base - b->program), b->program);
	p->helm = path_clean(&p->a, path_join(&p->a, dir, "helm"));
	p->home = path_clean(&p->a, path_join(&p->a, dir, arena_printf(&p->a, "bench-%s.d", name)));
	if (p->helm[0] != '/') {
		char *cwd = getcwd(NULL, 0);
		p->helm = path_join(&p->a, cwd, p->helm);
		p->home = path_join(&p->a, cwd, p->home);
		free(cwd);
	}
	file_remove_tree(sys_real(), AT_FDCWD, p->home);
	p->env[0] = arena_printf(&p->a, "HOME=%s", p->home);
	p->env[1] = "PATH=/usr/bin:/bin";
	p->env[2] = arena_printf(&p->a, "HELM_WORKSPACE=%s/ws", p->home);
	if (access(p->helm, X_OK) || mkdir(p->home, 0700))
		return false;
	return start(p, (const char *const[]){ p->helm, "init", NULL }) == 0;
}

static void close_place(struct place *p)
{
	file_remove_tree(sys_real(), AT_FDCWD, p->home);
	arena_done(&p->a);
}

static void fill_ledger(struct place *p)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/ws/.helm/task-ledger.jsonl", p->home);
	FILE *f = fopen(path, "a");
	if (!f)
		p->has_failed = true;
	for (int i = 0; f && i < ROWS; i++)
		fprintf(f,
			"{\"exit_code\": 0, \"profile\": \"inspect_local\", \"started_at\": "
			"\"2026-01-01T00:00:00+00:00\", "
			"\"status\": \"completed\", \"task_id\": \"t-%d\", \"task_name\": \"row %d\"}\n",
			i, i);
	if (f)
		fclose(f);
}

static void one_true(void *arg)
{
	for (int i = 0; i < RUNS; i++)
		(void)start(arg, (const char *const[]){ "/bin/true", NULL });
}

static void one_run(void *arg)
{
	struct place *p = arg;

	for (int i = 0; i < RUNS; i++)
		p->has_failed |= start(p,
					 (const char *const[]){ p->helm, "profile", "run", "inspect_local",
						 "--", "/bin/true", NULL }) != 0;
}

static void one_status(void *arg)
{
	struct place *p = arg;

	for (int i = 0; i < RUNS; i++)
		p->has_failed |= start(p, (const char *const[]){ p->helm, "status", "--brief", NULL }) != 0;
}

static void one_hook(void *arg)
{
	struct place *p = arg;

	for (int i = 0; i < RUNS; i++)
		p->has_failed |= start(p,
					 (const char *const[]){ p->helm, "hook", "pre-tool", "--client",
						 "claude-code", NULL }) != 0;
}

static int finish(struct bench *b, struct place *p, double ours, double theirs)
{
	b->value = ours / RUNS * 1e6;
	b->baseline = theirs / RUNS * 1e6;
	b->unit = "us";
	b->ratio = ours / theirs;
	bool failed = p->has_failed;
	close_place(p);
	return failed;
}

static int against_true(struct bench *b, const char *name, void (*fn)(void *), const char *payload)
{
	struct place p;
	double ours, theirs;

	if (!open_place(&p, b, name))
		return 1;
	if (payload) {
		snprintf(p.input, sizeof(p.input), "%s/payload", p.home);
		FILE *f = fopen(p.input, "w");
		if (!f || fputs(payload, f) < 0 || fclose(f))
			p.has_failed = true;
	}
	bench_pair(b->rounds, fn, one_true, &p, &ours, &theirs);
	return finish(b, &p, ours, theirs);
}

int bench_run_overhead(struct bench *b)
{
	return against_true(b, "run", one_run, NULL);
}

int bench_hook_pass(struct bench *b)
{
	return against_true(b, "pass", one_hook,
		"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls -la\"},\"session_id\":\"b\"}");
}

int bench_hook_decide(struct bench *b)
{
	return against_true(b, "decide", one_hook,
		"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"git reset "
		"--hard\"},\"session_id\":\"b\"}");
}

/* The same command on a ledger of a million rows and on an empty one. */
static int against_empty(struct bench *b, const char *name, void (*fn)(void *))
{
	struct place full, empty;
	double ours = 1e9, theirs = 1e9;
	char full_name[32];

	snprintf(full_name, sizeof(full_name), "%s-full", name);
	if (!open_place(&full, b, full_name))
		return 1;
	if (!open_place(&empty, b, name))
		return 1;
	fill_ledger(&full);
	for (int i = 0; i < b->rounds; i++) {
		double t = bench_best(1, fn, &full), u = bench_best(1, fn, &empty);
		ours = t < ours ? t : ours;
		theirs = u < theirs ? u : theirs;
	}
	full.has_failed |= empty.has_failed;
	close_place(&empty);
	return finish(b, &full, ours, theirs);
}

int bench_run_scale(struct bench *b)
{
	return against_empty(b, "scale", one_run);
}

int bench_status_large(struct bench *b)
{
	return against_empty(b, "status", one_status);
}

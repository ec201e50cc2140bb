/* bench_run.c — what a guarded run and a hook cost, with their durable rows and receipts, against starting /bin/true; and that
 * neither a run nor a status grows with the ledger. */
#include "bench.h"
#include "place.h"

#include "base/file.h"
#include "base/sys.h"
#include "base/text.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 15, ROWS = 1000000 };

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
		(void)place_start(arg, (const char *const[]){ "/bin/true", NULL });
}

static void one_run(void *arg)
{
	struct place *p = arg;

	for (int i = 0; i < RUNS; i++)
		p->has_failed |= place_start(p,
					 (const char *const[]){ p->helm, "profile", "run", "inspect_local",
						 "--", "/bin/true", NULL }) != 0;
}

static void one_hook_after(void *arg)
{
	struct place *p = arg;

	for (int i = 0; i < RUNS; i++)
		p->has_failed |= place_start(p,
					 (const char *const[]){ p->helm, "hook", "post-tool", "--client",
						 "claude-code", NULL }) != 0;
}

static void one_hook(void *arg)
{
	struct place *p = arg;

	for (int i = 0; i < RUNS; i++)
		p->has_failed |= place_start(p,
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
	place_close(p);
	return failed;
}

static int against_true(struct bench *b, const char *name, void (*fn)(void *), const char *payload)
{
	struct place p;
	double ours, theirs;

	if (!place_open(&p, b, name))
		return 1;
	if (payload)
		place_input(&p, payload);
	bench_pair(b->rounds, fn, one_true, &p, &ours, &theirs);
	return finish(b, &p, ours, theirs);
}

/* A line as long as a receipt, on disk. */
static void one_sync(void *arg)
{
	static const char line[2400];
	struct place *p = arg;
	const char *path = arena_printf(&p->a, "%s/bare", p->home);
	AUTO(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	for (int i = 0; i < RUNS; i++)
		p->has_failed |= fd < 0 || write(fd, line, sizeof(line)) != (ssize_t)sizeof(line) ||
			fdatasync(fd) != 0;
}

static int leave(void *arg)
{
	(void)arg;
	_exit(0);
}

/* The namespaces of a run with nothing in them, made and taken down.  Zero seconds where they are forbidden. */
static void one_space(void *arg)
{
	static _Alignas(16) char stack[16 << 10];
	const int spaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | (geteuid() ? CLONE_NEWUSER : 0);

	(void)arg;
	for (int i = 0; i < RUNS; i++) {
		pid_t pid =
			clone(leave, stack + sizeof(stack), spaces | CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
		if (pid > 0)
			(void)waitpid(pid, NULL, 0);
	}
}

/* The least a run can take: helm and the command are started, three moments must be on disk one after the other, and the
 * namespaces go up and down while the first of them is waited for. */
int bench_run_overhead(struct bench *b)
{
	struct place p;
	double ours, theirs;

	if (!place_open(&p, b, "run"))
		return 1;
	bench_pair(b->rounds, one_run, one_true, &p, &ours, &theirs);
	double synced = bench_best(b->rounds, one_sync, &p), spaces = bench_best(b->rounds, one_space, &p);
	b->bound = (2 * theirs + 2 * synced + (spaces > synced ? spaces : synced)) / theirs;
	b->bound_by = "two programs started, three ordered syncs, and namespaces beside the first of them";
	return finish(b, &p, ours, theirs);
}

int bench_hook_pass(struct bench *b)
{
	return against_true(b, "pass", one_hook,
		"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls -la\"},\"session_id\":\"b\"}");
}

int bench_hook_after(struct bench *b)
{
	return against_true(b, "after", one_hook_after,
		"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls -la\"},\"session_id\":\"b\","
		"\"tool_use_id\":\"u1\",\"tool_response\":{\"exit_code\":0}}");
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
	if (!place_open(&full, b, full_name))
		return 1;
	if (!place_open(&empty, b, name))
		return 1;
	fill_ledger(&full);
	/* Once, as the first view does it over some calls. */
	full.has_failed |= place_start(&full, (const char *const[]){ full.helm, "db", "init", NULL }) != 0;
	for (int i = 0; i < b->rounds; i++) {
		double t = bench_best(1, fn, &full), u = bench_best(1, fn, &empty);
		ours = t < ours ? t : ours;
		theirs = u < theirs ? u : theirs;
	}
	full.has_failed |= empty.has_failed;
	place_close(&empty);
	return finish(b, &full, ours, theirs);
}

int bench_run_scale(struct bench *b)
{
	return against_empty(b, "scale", one_run);
}

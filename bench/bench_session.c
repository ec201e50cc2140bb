/* bench_session.c — hooks inside a supervised session, which ask their supervisor.
 *
 * What is measured starts inside, so this program starts itself there: `helm agent helm-bench -- --inside ...` measures and prints four
 * numbers, which the one outside reads. */
#include "bench.h"
#include "place.h"

#include "base/err.h"
#include "base/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 15, HOOKS = 32 };

static double children_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* ---- inside ---- */

static bool one_call(const struct place *p)
{
	return place_start(p,
		       (const char *const[]){
			       p->helm, "hook", "pre-tool", "--client", "claude-code", NULL }) == 0;
}

static void hooks(void *arg)
{
	struct place *p = arg;

	for (int i = 0; i < RUNS; i++)
		p->has_failed |= !one_call(p);
}

/* What the yardstick itself needs of the processors is not the hooks'. */
static double yardstick_s;

static void trues(void *arg)
{
	double before = children_s();

	for (int i = 0; i < RUNS; i++)
		(void)place_start(arg, (const char *const[]){ "/bin/true", NULL });
	yardstick_s += children_s() - before;
}

struct caller {
	struct place *place;
	pthread_barrier_t *gate;
	double seconds;
	bool has_failed;
};

static void *call_at_once(void *arg)
{
	struct caller *c = arg;

	pthread_barrier_wait(c->gate);
	double start = bench_now_s();
	c->has_failed = !one_call(c->place);
	c->seconds = bench_now_s() - start;
	return NULL;
}

static double storm(struct place *p)
{
	pthread_barrier_t gate;
	pthread_t threads[HOOKS];
	struct caller callers[HOOKS];
	double slowest = 0;

	pthread_barrier_init(&gate, NULL, HOOKS);
	for (int i = 0; i < HOOKS; i++) {
		callers[i] = (struct caller){ .place = p, .gate = &gate };
		if (pthread_create(&threads[i], NULL, call_at_once, &callers[i]))
			BUG("no thread");
	}
	for (int i = 0; i < HOOKS; i++) {
		pthread_join(threads[i], NULL);
		slowest = callers[i].seconds > slowest ? callers[i].seconds : slowest;
		p->has_failed |= callers[i].has_failed;
	}
	pthread_barrier_destroy(&gate);
	return slowest;
}

int bench_inside(const char *helm, const char *input, int rounds)
{
	struct place p = { .helm = helm, .env = { "PATH=/usr/bin:/bin" } };
	double ours, theirs, slowest = 1e9;

	snprintf(p.input, sizeof(p.input), "%s", input);
	bench_pair(rounds, hooks, trues, &p, &ours, &theirs);
	for (int i = 0; i < rounds; i++) {
		double s = storm(&p);
		slowest = s < slowest ? s : slowest;
	}
	printf("%.9f %.9f %.9f %.9f\n", ours / RUNS, theirs / RUNS, slowest, yardstick_s);
	return p.has_failed;
}

/* ---- outside ---- */

struct figures {
	double hook, bare, slowest; /* seconds */
	double cpu; /* of one hook, with what its supervisor did for it */
};

static int start_session(struct place *p, const struct bench *b, const char *to)
{
	char rounds[16], where[4200], self[4200];
	const char *const argv[] = { p->helm, "agent", "--profile", "workspace_edit", "--cwd", where, self,
		"--", "--inside", p->helm, p->input, rounds, NULL };
	posix_spawn_file_actions_t files;
	pid_t pid;
	int status = -1;

	snprintf(rounds, sizeof(rounds), "%d", b->rounds);
	snprintf(self, sizeof(self), "%.*s%s", (int)(path_base(p->helm) - p->helm), p->helm,
		path_base(b->program));
	snprintf(where, sizeof(where), "%s/ws", p->home);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, argv[0], &files, NULL, (char *const *)argv, (char *const *)p->env) == 0)
		(void)waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&files);
	return status;
}

/* Every call left its receipt, the session two, and the log is whole. */
static bool all_are_there(struct place *p, int calls)
{
	char path[4200];
	int lines = 0;

	snprintf(path, sizeof(path), "%s/ws/.helm/receipts.jsonl", p->home);
	FILE *f = fopen(path, "r");
	for (int c; f && (c = getc(f)) != EOF;)
		lines += c == '\n';
	if (f)
		fclose(f);
	return lines == calls + 2 &&
		place_start(p, (const char *const[]){ p->helm, "log", "check", NULL }) == 0;
}

static int measure(struct bench *b, const char *name, struct figures *ret)
{
	const int calls = b->rounds * (RUNS + HOOKS);
	struct place p;
	char to[4200], text[200] = "";

	if (!place_open(&p, b, name))
		return 1;
	place_input(&p,
		"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"git commit -m x\"},\"session_id\":\"b\"}");
	snprintf(to, sizeof(to), "%s/figures", p.home);
	double before = children_s();
	p.has_failed |= start_session(&p, b, to) != 0;
	double used = children_s() - before;
	FILE *f = fopen(to, "r");
	if (!f || !fgets(text, sizeof(text), f))
		p.has_failed = true;
	if (f)
		fclose(f);
	char *at = text;
	ret->hook = strtod(at, &at);
	ret->bare = strtod(at, &at);
	ret->slowest = strtod(at, &at);
	ret->cpu = (used - strtod(at, &at)) / calls;
	p.has_failed |= ret->slowest <= 0 || !all_are_there(&p, calls);
	int failed = p.has_failed;
	place_close(&p);
	return failed;
}

int bench_session_decide(struct bench *b)
{
	struct figures f;
	int failed = measure(b, "session", &f);

	b->value = f.hook * 1e6;
	b->baseline = f.bare * 1e6;
	b->unit = "us";
	b->ratio = f.hook / f.bare;
	return failed;
}

int bench_session_storm(struct bench *b)
{
	struct figures f;
	int failed = measure(b, "session-storm", &f);

	b->value = f.slowest * 1e3;
	b->baseline = f.hook * 1e3;
	b->unit = "ms";
	b->ratio = f.slowest / f.hook;
	b->bound = f.cpu * HOOKS / (double)sysconf(_SC_NPROCESSORS_ONLN) / f.hook;
	b->bound_by = "the processor time of all of them and of their supervisor, on these cores";
	return failed;
}

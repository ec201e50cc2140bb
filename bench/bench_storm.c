/* bench_storm.c — many hooks at once on one workspace.
 *
 * An agent that makes several calls at a time, or several agents in one workspace, must not wait long for each other, and no
 * decision may be lost.  All start together; the figure is the one that waited longest. */
#include "bench.h"
#include "place.h"

#include "base/err.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { HOOKS = 32, ALONE = 20 };

struct storm {
	struct place place;
	pthread_barrier_t gate;
	double seconds[HOOKS];
	bool has_failed;
};

struct caller {
	struct storm *storm;
	int number;
};

static bool call(struct storm *s, double *ret_s)
{
	double start = bench_now_s();
	int status = place_start(&s->place,
		(const char *const[]){ s->place.helm, "hook", "pre-tool", "--client", "claude-code", NULL });

	*ret_s = bench_now_s() - start;
	return status == 0;
}

static void *caller_run(void *arg)
{
	struct caller *c = arg;

	pthread_barrier_wait(&c->storm->gate);
	if (!call(c->storm, &c->storm->seconds[c->number]))
		c->storm->has_failed = true;
	return NULL;
}

/* Seconds of the slowest of all. */
static double all_at_once(struct storm *s)
{
	pthread_t threads[HOOKS];
	struct caller callers[HOOKS];
	double slowest = 0;

	pthread_barrier_init(&s->gate, NULL, HOOKS);
	for (int i = 0; i < HOOKS; i++) {
		callers[i] = (struct caller){ s, i };
		if (pthread_create(&threads[i], NULL, caller_run, &callers[i]))
			BUG("no thread");
	}
	for (int i = 0; i < HOOKS; i++) {
		pthread_join(threads[i], NULL);
		slowest = s->seconds[i] > slowest ? s->seconds[i] : slowest;
	}
	pthread_barrier_destroy(&s->gate);
	return slowest;
}

/* Processor time of all children so far. */
static double children_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double one_alone(struct storm *s)
{
	double sum = 0, seconds;

	for (int i = 0; i < ALONE; i++) {
		if (!call(s, &seconds))
			s->has_failed = true;
		sum += seconds;
	}
	return sum / ALONE;
}

/* Every call left its receipt, and the log is whole. */
static bool all_are_there(struct storm *s, int calls)
{
	char path[4200];
	int lines = 0;

	snprintf(path, sizeof(path), "%s/ws/.helm/receipts.jsonl", s->place.home);
	FILE *f = fopen(path, "r");
	for (int c; f && (c = getc(f)) != EOF;)
		lines += c == '\n';
	if (f)
		fclose(f);
	return lines == calls &&
		place_start(&s->place, (const char *const[]){ s->place.helm, "log", "check", NULL }) == 0;
}

int bench_hook_storm(struct bench *b)
{
	struct storm s = { 0 };

	if (!place_open(&s.place, b, "storm"))
		return 1;
	place_input(&s.place,
		"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"git reset --hard\"},"
		"\"session_id\":\"b\"}");
	double cpu = 1e9;
	b->value = b->baseline = 1e9;
	for (int i = 0; i < b->rounds; i++) {
		double before = children_s(), alone = one_alone(&s), used = (children_s() - before) / ALONE;
		double slowest = all_at_once(&s);
		b->baseline = alone < b->baseline ? alone : b->baseline;
		b->value = slowest < b->value ? slowest : b->value;
		cpu = used < cpu ? used : cpu;
	}
	s.has_failed |= s.place.has_failed || !all_are_there(&s, b->rounds * (HOOKS + ALONE));
	b->ratio = b->value / b->baseline;
	b->bound = cpu * HOOKS / (double)sysconf(_SC_NPROCESSORS_ONLN) / b->baseline;
	b->bound_by = "the processor time of all of them, on these cores";
	b->value *= 1e3;
	b->baseline *= 1e3;
	b->unit = "ms";
	place_close(&s.place);
	return s.has_failed;
}

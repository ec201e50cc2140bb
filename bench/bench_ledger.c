/* bench_ledger.c — views of a workspace with a million rows, against one with a thousand; and how much memory they take.
 *
 * The ledgers are written directly, as runs would leave them: three rows for each task, one of the command log, two of the calls.  The
 * index is made once, which is the first figure of memory; the views are measured behind that. */
#include "bench.h"
#include "place.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FEW = 1000, MANY = 1000000, VIEWS = 5 };

static FILE *open_ledger(const struct place *p, const char *name)
{
	char path[4300];

	snprintf(path, sizeof(path), "%s/ws/.helm/%s", p->home, name);
	return fopen(path, "a");
}

static void put_task(FILE *f, int i)
{
	static const char *const states[] = { "queued", "running", "completed" };

	for (int k = 0; k < 3; k++)
		fprintf(f,
			"{\"command_preview\": \"make test-%d\", \"cwd\": \"/w\", \"exit_code\": %s, \"finished_at\": "
			"\"2026-01-%02dT%02d:%02d:00+00:00\", \"profile\": \"%s\", \"started_at\": "
			"\"2026-01-%02dT%02d:%02d:00+00:00\", \"status\": \"%s\", \"task_id\": \"%08x-0000-4000-8000-"
			"%012x\", \"task_name\": \"make test-%d\"}\n",
			i, k == 2 ? (i % 10 ? "0" : "1") : "null", 1 + i / 14400 % 28, i / 60 % 24, i % 60,
			i % 3 ? "workspace_edit" : "read_only", 1 + i / 14400 % 28, i / 60 % 24, i % 60,
			k == 2 && i % 10 == 0 ? "failed" : states[k], (unsigned)i * 2654435761u, i, i);
}

static void put_call(FILE *f, int i)
{
	fprintf(f,
		"{\"at\": \"2026-01-%02dT%02d:%02d:00+00:00\", \"client\": \"claude-code\", \"input_sha256\": "
		"\"sha256:%064x\", \"preview\": \"Bash: make test-%d\", \"session\": \"s-%d\", \"tool\": \"Bash\", "
		"\"tool_use_id\": \"use-%d\", \"verdict\": \"%s\"}\n",
		1 + i / 14400 % 28, i / 60 % 24, i % 60, i % 5000, i, i / 200, i,
		i % 20 ? "ALLOW" : "ESCALATE");
	fprintf(f,
		"{\"at\": \"2026-01-01T00:00:00+00:00\", \"client\": \"claude-code\", \"outcome\": \"done\", "
		"\"session\": \"s-%d\", \"tool_use_id\": \"use-%d\"}\n",
		i / 200, i);
}

/* So many rows of tasks, and what belongs to them. */
static void fill(struct place *p, int rows)
{
	FILE *tasks = open_ledger(p, "task-ledger.jsonl"), *commands = open_ledger(p, "command-log.jsonl"),
	     *calls = open_ledger(p, "tool-calls.jsonl");

	if (!tasks || !commands || !calls) {
		p->has_failed = true;
		return;
	}
	for (int i = 0; i < rows / 3; i++) {
		put_task(tasks, i);
		fprintf(commands,
			"{\"command_preview\": \"make test-%d\", \"exit_code\": %d, \"task_id\": \"%d\"}\n",
			i, i % 10 == 0, i);
		put_call(calls, i);
	}
	p->has_failed |= fclose(tasks) || fclose(commands) || fclose(calls);
}

/* Both are made once, for all figures of this file. */
static struct place many, few;
static bool is_made;
static double rebuild_mib, rebuild_few_mib;

static void remove_both(void)
{
	if (is_made) {
		place_close(&few);
		place_close(&many);
	}
}

static bool make_both(const struct bench *b)
{
	if (is_made)
		return true;
	if (!place_open(&many, b, "ledger-many") || !place_open(&few, b, "ledger-few"))
		return false;
	is_made = true;
	(void)atexit(remove_both);
	fill(&many, MANY);
	fill(&few, FEW);
	rebuild_mib = place_memory(&many, (const char *const[]){ many.helm, "db", "rebuild", NULL });
	rebuild_few_mib = place_memory(&few, (const char *const[]){ few.helm, "db", "rebuild", NULL });
	return !many.has_failed && !few.has_failed;
}

static const char *const *view;

static void look(void *arg)
{
	struct place *p = arg;
	const char *argv[8] = { p->helm };
	size_t n = 1;

	for (; view[n - 1]; n++)
		argv[n] = view[n - 1];
	for (int i = 0; i < VIEWS; i++)
		(void)place_start(p, argv);
}

static int large(struct bench *b, const char *const *words)
{
	double ours = 1e9, theirs = 1e9;

	if (!make_both(b))
		return 1;
	view = words;
	for (int i = 0; i < b->rounds; i++) {
		double t = bench_best(1, look, &many), u = bench_best(1, look, &few);
		ours = t < ours ? t : ours;
		theirs = u < theirs ? u : theirs;
	}
	b->unit = "ms";
	b->value = ours / VIEWS * 1e3;
	b->baseline = theirs / VIEWS * 1e3;
	b->ratio = ours / theirs;
	return 0;
}

int bench_report_large(struct bench *b)
{
	return large(b, (const char *const[]){ "report", NULL });
}

int bench_task_list_large(struct bench *b)
{
	return large(b, (const char *const[]){ "task", "list", NULL });
}

/* In MiB, against what is allowed for any command: the ratio is at most one. */
static int memory(struct bench *b, double mib)
{
	b->unit = "MiB";
	b->value = mib;
	b->baseline = 64;
	b->ratio = mib / 64;
	return many.has_failed;
}

int bench_memory_rebuild(struct bench *b)
{
	return make_both(b) ? memory(b, rebuild_mib) : 1;
}

int bench_memory_report(struct bench *b)
{
	return make_both(b)
		? memory(b, place_memory(&many, (const char *const[]){ many.helm, "report", NULL }))
		: 1;
}

int bench_memory_doctor(struct bench *b)
{
	return make_both(b)
		? memory(b, place_memory(&many, (const char *const[]){ many.helm, "doctor", NULL }))
		: 1;
}

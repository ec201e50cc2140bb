/* bench_context.c — searching a large vault with an index, against reading all of it; and what new rows cost a search. */
#include "bench.h"
#include "place.h"

#include "base/sys.h"
#include "record/record.h"
#include "remember/context.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	DIRS = 1000,
	NOTES_PER_DIR = 100,
	ROWS = 100000,
	LINES = 12,
	WORDS = 10,
	VOCABULARY = 30000,
	NEW_ROWS = 1000
};

static unsigned seed;

static unsigned next(void)
{
	seed = seed * 1103515245u + 12345u;
	return seed >> 8;
}

/* Words of letters, always the same for a number. */
static void put_word(FILE *f, unsigned number)
{
	static const char *const parts[] = { "ka", "lo", "mi", "ne", "ru", "ta", "ve", "zo" };

	for (unsigned n = number + 64; n; n /= 8)
		fputs(parts[n % 8], f);
}

static bool put_note(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return false;
	for (int line = 0; line < LINES; line++) {
		for (int i = 0; i < WORDS; i++) {
			put_word(f, next() % VOCABULARY);
			putc(i + 1 < WORDS ? ' ' : '\n', f);
		}
	}
	return fclose(f) == 0;
}

static void put_row(FILE *f, int i)
{
	fprintf(f,
		"{\"command_preview\": \"make %d\", \"exit_code\": 0, \"finished_at\": \"2026-01-%02dT00:00:00+00:00\", \"profile\": \"workspace_edit\", "
		"\"runtime_backend\": \"local-shell\", \"skill\": null, \"status\": \"completed\", \"task_id\": \"%08x-0000-4000-8000-%012x\", \"task_name\": \"",
		i, 1 + i % 28, (unsigned)i * 2654435761u, i);
	for (int k = 0; k < 6; k++) {
		put_word(f, next() % VOCABULARY);
		putc(' ', f);
	}
	fputs("\", \"touched_paths\": [\"docs/a.md\", \"src/b.c\"]}\n", f);
}

static bool put_rows(const char *path, int from, int to)
{
	FILE *f = fopen(path, "a");

	for (int i = from; f && i < to; i++)
		put_row(f, i);
	return f && fclose(f) == 0;
}

static bool fill(const struct place *p)
{
	char path[4300];
	bool ok = true;

	for (int d = 0; ok && d < DIRS; d++) {
		snprintf(path, sizeof(path), "%s/ws/notes/d%d", p->home, d);
		if (d == 0) {
			char top[4300];
			snprintf(top, sizeof(top), "%s/ws/notes", p->home);
			(void)mkdir(top, 0755);
		}
		ok = mkdir(path, 0755) == 0;
		for (int i = 0; ok && i < NOTES_PER_DIR; i++) {
			snprintf(path, sizeof(path), "%s/ws/notes/d%d/n%d.md", p->home, d, i);
			ok = put_note(path);
		}
	}
	snprintf(path, sizeof(path), "%s/ws/.helm/task-ledger.jsonl", p->home);
	return ok && put_rows(path, 0, ROWS);
}

static const char word[] = "zotatamizo"; /* of the vocabulary: in some four hundred notes and twenty rows */

static void search(void *arg)
{
	struct place *p = arg;

	(void)place_start(p, (const char *const[]){ p->helm, "context", word, "--json", NULL });
}

static void grep(void *arg)
{
	struct place *p = arg;
	char notes[4300], ledger[4300];

	snprintf(notes, sizeof(notes), "%s/ws/notes", p->home);
	snprintf(ledger, sizeof(ledger), "%s/ws/.helm/task-ledger.jsonl", p->home);
	(void)place_start(
		p, (const char *const[]){ "/usr/bin/env", "grep", "-r", word, notes, ledger, NULL });
}

int bench_context_query(struct bench *b)
{
	struct place p;
	int rounds = b->rounds < 5 ? b->rounds : 5;

	if (!place_open(&p, b, "context"))
		return 1;
	seed = 1;
	if (!fill(&p))
		p.has_failed = true;
	/* Everything into the index, and into the page cache.  What is younger than two seconds would be read once more by the next search. */
	(void)sleep(3);
	if (place_start(&p, (const char *const[]){ p.helm, "context", word, "--fresh", "--json", NULL }))
		p.has_failed = true;
	grep(&p);
	bench_pair(rounds, search, grep, &p, &b->value, &b->baseline);
	b->ratio = b->value / b->baseline;
	b->value *= 1e3;
	b->baseline *= 1e3;
	b->unit = "ms";
	place_close(&p);
	return p.has_failed;
}

/* ---- new rows ---- */

struct catchup {
	struct context_place at;
	struct arena a;
	off_t from;
	size_t seen;
};

static void ask(void *arg)
{
	struct catchup *c = arg;
	struct context_answer answer = { 0 };
	const struct context_query q = { .text = "make 4242", .areas = 1u << AREA_TASKS }; /* one row */

	if (context_ask(&c->at, &q, &answer, NULL))
		abort();
	arena_reset(&c->a);
}

static int count(void *arg, off_t place, uint64_t line, const struct json *row, struct err *e)
{
	struct catchup *c = arg;

	(void)place;
	(void)line;
	(void)e;
	c->seen += row != NULL;
	return 0;
}

static void read_rows(void *arg)
{
	struct catchup *c = arg;

	c->seen = 0;
	if (rows_each(c->at.sys, c->at.state_fd, TASK_LEDGER, c->from, count, c, NULL) || c->seen != NEW_ROWS)
		abort();
}

static void nothing(void *arg)
{
	bench_keep(arg);
}

int bench_context_catchup(struct bench *b)
{
	struct place p;
	struct catchup c = { 0 };
	char root[4300], state[4400], ledger[4500];

	if (!place_open(&p, b, "catchup"))
		return 1;
	snprintf(root, sizeof(root), "%s/ws", p.home);
	snprintf(state, sizeof(state), "%s/.helm", root);
	snprintf(ledger, sizeof(ledger), "%s/task-ledger.jsonl", state);
	c.at = (struct context_place){ sys_real(), &c.a, root, state, "helm", ".helm", NULL,
		open(root, O_RDONLY | O_CLOEXEC), open(state, O_RDONLY | O_CLOEXEC), NULL, false };
	seed = 2;
	p.has_failed |= !put_rows(ledger, 0, 5000); /* enough to be taken in */
	if (place_start(&p, (const char *const[]){ p.helm, "context", word, "--fresh", "--json", NULL }))
		p.has_failed = true;
	p.has_failed |= ledger_end(c.at.sys, c.at.state_fd, TASK_LEDGER, &c.from, NULL) != OK;
	/* What a search costs anyway is not the rows' fault. */
	double before, ignored;
	bench_pair_cpu(b->rounds, ask, nothing, &c, &before, &ignored);
	p.has_failed |= !put_rows(ledger, 5000, 5000 + NEW_ROWS);
	bench_pair_cpu(b->rounds, ask, read_rows, &c, &b->value, &b->baseline);
	b->value = b->value > before ? b->value - before : 0;
	b->ratio = b->value / b->baseline;
	b->value *= 1e3;
	b->baseline *= 1e3;
	b->unit = "ms";
	close(c.at.root_fd);
	close(c.at.state_fd);
	arena_done(&c.a);
	place_close(&p);
	return p.has_failed;
}

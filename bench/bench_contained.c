/* bench_contained.c — what a contained call costs: the wrapper, the keeper that redeems it, and the shell inside, against starting
 * /bin/true.
 *
 * Each call needs a ticket of its own, which the hook makes; that is measured elsewhere, and done before the clock starts. */
#include "bench.h"
#include "place.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { CALLS = 20 };

struct contained {
	struct place place;
	char ids[CALLS][64];
};

/* One id out of the hook's answer, which lies in a file. */
static bool read_id(const char *path, char id[64])
{
	char text[8192];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	const char *at = strstr(text, "contained ");
	return at && sscanf(at, "contained %63s", id) == 1;
}

static void make_tickets(struct contained *c)
{
	struct place *p = &c->place;
	const char *answer = arena_printf(&p->a, "%s/answer", p->home),
		   *hook = arena_printf(&p->a, "exec %s hook pre-tool --client claude-code >%s",
			   text_quote(&p->a, p->helm), text_quote(&p->a, answer));

	for (int i = 0; i < CALLS; i++)
		p->has_failed |= place_start(p, (const char *const[]){ "/bin/sh", "-c", hook, NULL }) != 0 ||
			!read_id(answer, c->ids[i]);
}

static void all_calls(void *arg)
{
	struct contained *c = arg;

	for (int i = 0; i < CALLS; i++)
		c->place.has_failed |= place_start(&c->place,
					       (const char *const[]){ c->place.helm, "contained", c->ids[i],
						       "--", "sh", "true", NULL }) != 0;
}

static void all_true(void *arg)
{
	struct contained *c = arg;

	for (int i = 0; i < CALLS; i++)
		c->place.has_failed |=
			place_start(&c->place, (const char *const[]){ "/bin/true", NULL }) != 0;
}

int bench_contained_call(struct bench *b)
{
	struct contained c = { 0 };
	double ours = 1e9, theirs = 1e9;

	if (!place_open(&c.place, b, "contained"))
		return 1;
	struct place *p = &c.place;
	p->has_failed |= place_start(p,
				 (const char *const[]){ p->helm, "setup", "claude-code", "--scope", "user",
					 "--yes", NULL }) != 0;
	place_input(p, "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"true\"},\"session_id\":\"b\"}");
	for (int i = 0; i < b->rounds && !p->has_failed; i++) {
		make_tickets(&c);
		double t = bench_best(1, all_calls, &c), u = bench_best(1, all_true, &c);
		ours = t < ours ? t : ours;
		theirs = u < theirs ? u : theirs;
	}
	b->value = ours / CALLS * 1e6;
	b->baseline = theirs / CALLS * 1e6;
	b->unit = "us";
	b->ratio = ours / theirs;
	bool failed = p->has_failed;
	place_close(p);
	return failed;
}

/* rank_test.c — the weights of the search: for each of them a case in which it decides the order, and the numbers of both rankings.
 *
 * Files and rows have fixed times and the clock stands still, so every number is the same on every machine. */
#include "base/doc.h"
#include "base/text.h"
#include "remember/context.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY INT64_C(86400000000)
static const int64_t now = INT64_C(1780272000000000); /* 2026-06-01T00:00:00Z */

struct room {
	struct scratch t;
	struct arena a;
	int state_fd;
	char state[160];
};

static void room_open(struct room *r)
{
	*r = (struct room){ .state_fd = -1 };
	scratch_open_fast(&r->t);
	assert_int_equal(mkdirat(r->t.fd, ".helm", 0700), 0);
	assert_int_equal(mkdirat(r->t.fd, "memory", 0700), 0);
	assert_int_equal(mkdirat(r->t.fd, "notes", 0700), 0);
	snprintf(r->state, sizeof(r->state), "%s/.helm", r->t.path);
	r->state_fd = openat(r->t.fd, ".helm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void room_done(struct room *r)
{
	close(r->state_fd);
	scratch_done(&r->t);
	arena_done(&r->a);
}

/* A file that was written so many days ago. */
static void put(struct room *r, const char *name, int days, const char *text)
{
	struct timespec at = { .tv_sec = (now - days * DAY) / 1000000 };

	scratch_put(&r->t, name, text);
	assert_int_equal(utimensat(r->t.fd, name, (struct timespec[]){ at, at }, 0), 0);
}

static int64_t still(struct sys *s)
{
	(void)s;
	return now;
}

/* "name total" of each result, best first. */
static const char *order(struct room *r, const char *text, bool is_classic, bool has_numbers)
{
	struct sys held = *sys_real();
	struct context_place at = { &held, &r->a, r->t.path, r->state, "helm", ".helm", NULL, r->t.fd,
		r->state_fd, NULL, false };
	struct context_query q = {
		.text = text, .explains = true, .is_classic = is_classic, .has_no_index = true
	};
	struct context_answer answer = { 0 };
	struct err e = { 0 };
	struct buf out;

	held.now_us = still;
	if (context_ask(&at, &q, &answer, &e))
		fail_msg("%s", e.text);
	buf_init(&out, &r->a);
	json_each (one, answer.results) {
		const struct json *meta = json_get(one, "metadata");
		const char *path = json_get_text(meta, "path", NULL);
		buf_addf(&out, "%s%s", out.n ? " " : "",
			path ? path : json_get_text(meta, "task_id", json_get_text(one, "title", "?")));
		if (has_numbers) {
			buf_addc(&out, '=');
			json_write(&out, json_get(json_get(meta, "ranking"), "total_score"), 0);
		}
	}
	return out.p;
}

/* Two notes, and which of them comes first. */
struct pair {
	const char *why, *ask;
	const char *first, *first_text;
	int first_days;
	const char *second, *second_text;
	int second_days;
};

static const struct pair pairs[] = {
	{ "a shorter text says more", "router", "notes/b.md", "router is slow\n", 0, "notes/a.md",
		"router is one of many things that were said on that long day about nothing\n", 0 },
	{ "a word that stands alone counts more than one inside another", "rout", "notes/b.md",
		"rout one two three\n", 0, "notes/a.md", "router one two three\n", 0 },
	{ "words that stand closer", "router timeout", "notes/b.md", "timeout of router one two three four\n",
		0, "notes/a.md", "timeout one two three four of router\n", 0 },
	{ "a headline", "router", "notes/b.md", "# router one two\n", 0, "notes/a.md", "router one two is\n",
		0 },
	{ "curated memory", "router", "MEMORY.md", "router one two three\n", 0, "notes/a.md",
		"router one two three\n", 0 },
	{ "what is newer", "router", "notes/b.md", "router one two three\n", 1, "notes/a.md",
		"router one two three\n", 60 },
	{ "old things stay findable: twice as often counts more than three months", "router", "notes/b.md",
		"router router router one\n", 90, "notes/a.md", "one two three router four five six seven\n",
		0 },
	{ "a headline does not outweigh a text that has the word twice as often", "router", "notes/b.md",
		"router router router one\n", 0, "notes/a.md", "# router one two\n", 0 },
	{ "memory does not outweigh one either", "router", "notes/b.md", "router router router one\n", 0,
		"MEMORY.md", "router one two three\n", 0 },
};

static void each_weight_decides_its_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct room r;
		room_open(&r);
		put(&r, pairs[i].first, pairs[i].first_days, pairs[i].first_text);
		put(&r, pairs[i].second, pairs[i].second_days, pairs[i].second_text);
		const char *got = order(&r, pairs[i].ask, false, false),
			   *want = arena_printf(&r.a, "%s %s", pairs[i].first, pairs[i].second);
		if (!text_eq(got, want))
			fail_msg("%s: expected %s, got %s", pairs[i].why, want,
				order(&r, pairs[i].ask, false, true));
		room_done(&r);
	}
}

/* One of each area and form, under both rankings. */
static void furnish(struct room *r)
{
	put(r, "MEMORY.md", 30, "# Router\nthe router timeout is ten seconds\n");
	put(r, "notes/b.md", 200, "# router timeout\n");
	put(r, "notes/c.md", 8, "timeout one two three of the router\n");
	put(r, "memory/2026-05-31.md", 1, "routers had a timeout\n");
	scratch_put(&r->t, ".helm/task-ledger.jsonl",
		"{\"task_id\": \"t1\", \"task_name\": \"router timeout\", \"status\": \"completed\", \"command_preview\": \"make router\", "
		"\"started_at\": \"2026-05-18T00:00:00+00:00\", \"skill\": \"router\"}\n");
	scratch_put(&r->t, ".helm/command-log.jsonl",
		"{\"task_id\": \"t2\", \"command_preview\": \"ping router timeout 3\", \"status\": \"completed\", \"started_at\": "
		"\"2026-05-18T00:00:00+00:00\"}\n");
}

static void pinned(const char *ask, bool is_classic, const char *want)
{
	struct room r;

	room_open(&r);
	furnish(&r);
	const char *got = order(&r, ask, is_classic, true);
	if (!text_eq(got, want))
		fail_msg("'%s'%s: expected\n%s\ngot\n%s", ask, is_classic ? " (classic)" : "", want, got);
	room_done(&r);
}

static void numbers_of_ours(void **state)
{
	(void)state;
	pinned("router timeout", false, "MEMORY.md=5.464 notes/b.md=4.304 t1=3.668 t2=3.186");
	pinned("timeout router", false,
		"MEMORY.md=3.672 notes/b.md=2.889 notes/c.md=2.755 memory/2026-05-31.md=2.743 t1=2.468 t2=2.144");
	pinned("router", false,
		"MEMORY.md=1.74 t1=1.336 MEMORY.md=1.284 notes/c.md=1.192 notes/b.md=1.004 memory/2026-05-31.md=0.83 t2=0.755");
}

static void numbers_of_the_old_one(void **state)
{
	(void)state;
	pinned("router timeout", true, "notes/b.md=96 MEMORY.md=96 t1=93 t2=62");
	pinned("router", true,
		"t1=119 memory/2026-05-31.md=104 notes/c.md=94 notes/b.md=94 MEMORY.md=94 MEMORY.md=94 t2=60");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_weight_decides_its_case),
		cmocka_unit_test(numbers_of_ours),
		cmocka_unit_test(numbers_of_the_old_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

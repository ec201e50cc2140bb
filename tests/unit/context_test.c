/* context_test.c — searches: the same with and without an index, nothing that redaction hides, and an order that people would choose. */
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "privacy/privacy.h"
#include "remember/context.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A workspace with nothing but what a test puts there. */
struct room {
	struct scratch t;
	struct arena a;
	int state_fd;
	char state[160];
};

static void room_open(struct room *r)
{
	*r = (struct room){ .state_fd = -1 };
	scratch_open(&r->t);
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

/* The time of both questions of a comparison: what ages between them changes places. */
static int64_t held_us; /* 0: the real one */

static int64_t now_or_held(struct sys *s)
{
	(void)s;
	return held_us ? held_us : sys_real()->now_us(sys_real());
}

/* A machine on which any look at the clock is four seconds after the last one. */
static bool is_slow;
static int64_t slow_us;

static int64_t mono_or_slow(struct sys *s)
{
	(void)s;
	return is_slow ? (slow_us += 4000000) : sys_real()->mono_us(sys_real());
}

static int opened; /* notes, by searches */

static int open_counted(struct sys *s, int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	(void)s;
	opened += text_ends(path, ".md");
	return sys_real()->open(sys_real(), dirfd, path, flags, mode, resolve);
}

static struct json *ask(struct room *r, struct context_query q, struct context_answer *ret)
{
	struct sys held = *sys_real();
	struct context_place at = { &held, &r->a, r->t.path, r->state, "helm", ".helm", NULL, r->t.fd,
		r->state_fd, NULL, false };
	struct err e = { 0 };

	held.now_us = now_or_held;
	held.mono_us = mono_or_slow;
	held.open = open_counted;
	int rc = context_ask(&at, &q, ret, &e);
	if (rc)
		fail_msg("%s", e.text);
	return ret->results;
}

/* What a result is, in one word. */
static const char *name_of(struct arena *a, const struct json *result)
{
	const struct json *meta = json_get(result, "metadata");
	int64_t line = json_get_int(meta, "line", 0);

	if (line)
		return arena_printf(a, "%s:%lld", json_get_text(meta, "path", ""), (long long)line);
	return json_get_text(meta, "task_id", json_get_text(result, "title", "?"));
}

static const char *names_of(struct arena *a, const struct json *results)
{
	struct buf text;

	buf_init(&text, a);
	json_each (one, results)
		buf_addf(&text, "%s\n", name_of(a, one));
	return text.p;
}

/* ---- the order ---- */

static double gain(int64_t grade, size_t rank)
{
	return (exp2((double)grade) - 1) / log2((double)rank + 2);
}

static int grades_down(const void *x, const void *y)
{
	return (int)(*(const int64_t *)y - *(const int64_t *)x);
}

static double ndcg(struct room *r, const struct json *question, bool is_classic)
{
	struct context_answer answer = { 0 };
	const struct json *want = json_get(question, "want");
	const struct json *got = ask(r,
		(struct context_query){
			.text = json_get_text(question, "ask", ""), .is_classic = is_classic, .limit = 5 },
		&answer);
	double score = 0, best = 0;
	int64_t grades[16] = { 0 };
	size_t n = 0;

	for (uint32_t i = 0; i < got->n; i++)
		score += gain(json_get_int(want, name_of(&r->a, got->items[i]), 0), i);
	json_each_member (m, want)
		assert_true(json_int(m->value, &grades[n++]));
	qsort(grades, n, sizeof(*grades), grades_down);
	for (size_t i = 0; i < n && i < 5; i++)
		best += gain(grades[i], i);
	return score / best;
}

static void fill(struct room *r, const struct json *set)
{
	struct buf rows;

	json_each_member (m, json_get(set, "files"))
		scratch_put(&r->t, m->name, json_text(m->value));
	buf_init(&rows, &r->a);
	json_each (row, json_get(set, "tasks")) {
		json_write(&rows, row, JSON_SPACED);
		buf_addc(&rows, '\n');
	}
	scratch_put(&r->t, ".helm/task-ledger.jsonl", rows.p);
}

static struct json *labelled_set(struct arena *a)
{
	const char *source = getenv("HELM_SOURCE");
	struct json *set;
	struct err e = { 0 };

	if (doc_read(sys_real(), a, AT_FDCWD,
		    arena_printf(a, "%s/tests/cases/context/ranking.json", source ? source : "."), 1 << 20,
		    FILE_FOLLOW, &set, &e))
		fail_msg("%s", e.text);
	return set;
}

static void test_better_than_classic(void **state)
{
	struct room r;
	double ours = 0, classic = 0;
	int n = 0;

	(void)state;
	room_open(&r);
	const struct json *set = labelled_set(&r.a);
	fill(&r, set);
	json_each (question, json_get(set, "questions")) {
		double x = ndcg(&r, question, false), y = ndcg(&r, question, true);
		print_message("%-40s ours %.3f classic %.3f\n", json_get_text(question, "ask", ""), x, y);
		ours += x;
		classic += y;
		n++;
	}
	print_message("nDCG@5 of %d questions: ours %.3f, classic %.3f\n", n, ours / n, classic / n);
	assert_true(ours / n > classic / n + 0.1);
	assert_true(ours / n > 0.85);
	room_done(&r);
}

/* ---- the same with an index and without ---- */

static const char *const vocabulary[] = { "router", "timeout", "parseConfig", "parse_config", "checkpoint",
	"서버", "배포", "데이터베이스", "決定", "migration", "sha256", "v2beta", "3f9a1c", "the", "of",
	"decision", "größe", "Straße", "tar", "restore" };

static void random_words(struct buf *to, unsigned *seed, int n)
{
	for (int i = 0; i < n; i++)
		buf_addf(to, "%s%s", i ? (rand_r(seed) % 5 ? " " : "") : "",
			vocabulary[(size_t)rand_r(seed) % ARRAY_SIZE(vocabulary)]);
}

static void random_notes(struct room *r, unsigned *seed, int files)
{
	for (int i = 0; i < files; i++) {
		struct buf text;
		buf_init(&text, &r->a);
		for (int line = 0; line < 6; line++) {
			random_words(&text, seed, 1 + rand_r(seed) % 6);
			buf_addc(&text, '\n');
		}
		scratch_put(&r->t, arena_printf(&r->a, i % 2 ? "notes/n%d.md" : "memory/m%d.md", i), text.p);
	}
}

static void random_rows(struct room *r, unsigned *seed, int rows, bool is_long)
{
	struct buf text;

	buf_init(&text, &r->a);
	for (int i = 0; i < rows; i++) {
		struct buf name;
		buf_init(&name, &r->a);
		random_words(&name, seed, 3);
		buf_addf(&text,
			"{\"command_preview\": \"make %d\", \"filler\": \"%0*d\", \"started_at\": \"2026-01-%02dT00:00:00+00:00\", \"status\": "
			"\"%s\", \"task_id\": \"t%d\", \"task_name\": \"%s\"}\n",
			i, is_long ? 900 : 3, i, 1 + i % 28, i % 3 ? "completed" : "failed", i / 3, name.p);
		if (i % 50 == 0)
			buf_adds(&text, "no row at all\n");
	}
	scratch_put(&r->t, ".helm/task-ledger.jsonl", text.p);
}

static void compare(struct room *r, const char *words)
{
	struct context_answer quick = { 0 }, slow = { 0 };

	held_us = sys_real()->now_us(sys_real());
	(void)ask(r, (struct context_query){ .text = words, .limit = 50 }, &quick);
	(void)ask(r, (struct context_query){ .text = words, .limit = 50, .has_no_index = true }, &slow);
	const char *x = names_of(&r->a, quick.results), *y = names_of(&r->a, slow.results);
	if (!text_eq(x, y) || quick.total != slow.total)
		fail_msg("'%s': with the index\n%s\nwithout\n%s", words, x, y);
	assert_int_equal(quick.warnings->n, slow.warnings->n);
	held_us = 0;
}

static void compare_many(struct room *r, unsigned *seed, int times)
{
	for (int i = 0; i < times; i++) {
		struct buf words;
		buf_init(&words, &r->a);
		random_words(&words, seed, 1 + rand_r(seed) % 4);
		/* A piece of it, or a slip of the pen. */
		if (rand_r(seed) % 3 == 0 && words.n > 5 && !(words.p[2] & 0x80) && !(words.p[1] & 0x80))
			words.p[1] = words.p[2];
		compare(r, words.p);
	}
}

static void test_same_answers(void **state)
{
	struct room r;
	unsigned seed = 11;

	(void)state;
	room_open(&r);
	random_notes(&r, &seed, 30);
	random_rows(&r, &seed, 60, false);
	compare_many(&r, &seed, 60);
	/* What only one row has, which may not be the newest of its task. */
	for (int i = 0; i < 60; i++)
		compare(&r, arena_printf(&r.a, "make %d", i));
	assert_true(scratch_has(&r.t, ".helm/context-index.sqlite3"));
	/* What changes in place, comes and goes is noticed. */
	random_notes(&r, &seed, 8);
	assert_int_equal(unlinkat(r.t.fd, "notes/n11.md", 0), 0);
	assert_int_equal(mkdirat(r.t.fd, "notes/deeper", 0700), 0);
	scratch_put(&r.t, "notes/deeper/x.md", "router in the depth\n");
	compare_many(&r, &seed, 40);
	/* A ledger that is long enough to be taken in, and then another one in its place. */
	random_rows(&r, &seed, 3000, true);
	compare_many(&r, &seed, 25);
	random_rows(&r, &seed, 2500, true);
	compare_many(&r, &seed, 15);
	/* Damage: thrown away and made again. */
	scratch_put(&r.t, ".helm/context-index.sqlite3",
		"not a database, not at all, and long enough to be read as one");
	compare_many(&r, &seed, 10);
	room_done(&r);
}

/* ---- what redaction hides ---- */

static void test_nothing_hidden_is_found(void **state)
{
	static const char key[] =
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\nAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAt\n-----END "
		"OPENSSH PRIVATE KEY-----\n";
	static const char *const asked[] = { "hunter2hunter2", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU",
		"ghp_0123456789abcdefghijABCDEFGHIJ012345", "swordfish99" };
	struct room r;

	(void)state;
	room_open(&r);
	scratch_put(&r.t, "notes/a.md",
		"login with password=hunter2hunter2 today\ntoken ghp_0123456789abcdefghijABCDEFGHIJ012345 router\n");
	scratch_put(&r.t, "notes/key.md",
		arena_printf(&r.a, "the key of the router:\n%sbehind it: router\n", key));
	scratch_put(&r.t, ".helm/task-ledger.jsonl",
		"{\"task_id\": \"t1\", \"task_name\": \"router\", \"env\": {\"password\": \"swordfish99\"}, \"command_preview\": \"x "
		"--password hunter2hunter2\"}\n");
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		for (int no_index = 0; no_index < 2; no_index++) {
			struct context_answer answer = { 0 };
			assert_int_equal(
				ask(&r, (struct context_query){ .text = asked[i], .has_no_index = no_index },
					&answer)
					->n,
				0);
		}
	struct context_answer all = { 0 };
	struct buf text;
	buf_init(&text, &r.a);
	json_write(&text, ask(&r, (struct context_query){ .text = "router" }, &all), 0);
	assert_int_equal(all.results->n, 4); /* a line of a.md, two of key.md, and the task */
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		assert_null(strstr(text.p, asked[i]));
	/* Lines behind a block that is hidden keep their number. */
	assert_non_null(strstr(names_of(&r.a, all.results), "notes/key.md:6"));
	/* Nor are they in the file of the index. */
	struct bytes index;
	assert_int_equal(
		file_read(sys_real(), &r.a, r.state_fd, "context-index.sqlite3", 16 << 20, 0, &index, NULL),
		OK);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		assert_null(memmem(index.p, index.n, asked[i], strlen(asked[i])));
	room_done(&r);
}

/* ---- bad input ---- */

static void test_bad_input_is_named(void **state)
{
	struct room r;
	struct context_answer answer = { 0 };
	int fd;

	(void)state;
	room_open(&r);
	scratch_put(&r.t, "notes/good.md", "a walrus\n");
	fd = openat(r.t.fd, "notes/binary.md", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "walrus\0\1\2", 9), 9);
	close(fd);
	fd = openat(r.t.fd, "notes/huge.md", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, (off_t)3 << 30), 0); /* a hole: no bytes on the disk */
	close(fd);
	assert_int_equal(symlinkat(".", r.t.fd, "notes/circle"), 0);
	scratch_put(&r.t, "notes/new\nline.md", "another walrus\n");
	for (int round = 0; round < 2; round++) {
		(void)ask(&r, (struct context_query){ .text = "walrus" }, &answer);
		assert_int_equal(answer.results->n, 2);
		assert_int_equal(answer.warnings->n, 3);
	}
	(void)ask(&r, (struct context_query){ .text = "nowhere" }, &answer);
	assert_int_equal(answer.results->n, 0);
	assert_int_equal(answer.warnings->n, 3); /* nothing was found, and this was not looked at */
	room_done(&r);
}

/* However slow the machine is, a search takes something in, and in the end it is all there: a walk that takes longer than a search may
 * add to the index must not keep it empty for ever. */
static void test_slow_machine(void **state)
{
	enum { NOTES = 600, SEARCHES = 4 };
	struct room r;
	struct context_answer answer;

	(void)state;
	room_open(&r);
	for (int i = 0; i < NOTES; i++) {
		char name[40], text[40];
		snprintf(name, sizeof(name), "notes/n%d.md", i);
		snprintf(text, sizeof(text), "word%d\n", i);
		scratch_put(&r.t, name, text);
	}
	held_us = sys_real()->now_us(sys_real()) + 60000000; /* none of them is young */
	is_slow = true;
	for (int i = 0; i < SEARCHES; i++) {
		opened = 0;
		(void)ask(&r, (struct context_query){ .text = "word577" }, &answer);
		assert_int_equal(answer.results->n, 1);
	}
	is_slow = false;
	held_us = 0;
	assert_in_range(opened, 1, 20);
	room_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_better_than_classic),
		cmocka_unit_test(test_same_answers), cmocka_unit_test(test_nothing_hidden_is_found),
		cmocka_unit_test(test_bad_input_is_named), cmocka_unit_test(test_slow_machine) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

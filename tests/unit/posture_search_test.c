/* posture_search_test.c — a standing word that is lost in the helm home is looked for in the chain, in steps, and nothing goes meanwhile. */
#include "base/file.h"
#include "base/hash.h"
#include "kernel/freeze.h"
#include "kernel/posture_parts.h"
#include "tools/kernel_fixture.h"
#include "tools/store.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>

static struct kernel_fixture x;

static void write_at(const char *path, const char *text)
{
	struct err e = { 0 };

	assert_int_equal(file_replace(sys_real(), AT_FDCWD, path, 0600,
				 (struct bytes){ (const uint8_t *)text, strlen(text) }, &e),
		OK);
}

static void freeze(const char *principal)
{
	struct json *receipt;
	struct err e = { 0 };

	assert_int_equal(freeze_set(&x.k, &x.request, principal, "fire", &receipt, &e), OK);
}

/* Every look at the clock finds that much time has passed. */
static int64_t hours_us;
static int64_t slow_clock(struct sys *s)
{
	(void)s;
	return hours_us += 3600000000;
}

static void lose_word(void)
{
	const char *file = arena_printf(&x.request, "%s/.helm/trees/%s/posture.json", x.home.path,
		sha256_hex(&x.request, x.ws->root, strlen(x.ws->root)));

	assert_int_equal(unlinkat(AT_FDCWD, file, 0), 0);
	assert_int_equal(unlinkat(AT_FDCWD, arena_printf(&x.request, "%s.seal", file), 0), 0);
}

static void fill_files(void)
{
	struct err e = { 0 };

	for (uint64_t i = 0; i < 10; i++) { /* a file is closed between two batches */
		const struct store_plan plan = { .receipts = 40, .rotate_bytes = 30000, .first = 20 * i };
		assert_int_equal(store_fill(sys_real(), x.ws->state_fd, x.k.key, &plan, &e), OK);
	}
}

/* A record of many files, begun with a freeze, whose document is lost. */
static void begin_lost(void)
{
	kernel_fixture_begin(&x);
	freeze("agent:a");
	fill_files();
	lose_word();
}

/* One step is never longer than a part of the chain; until the last one everything is frozen, and afterwards what was forbidden is. */
static void a_long_chain_is_searched_in_steps(void **state)
{
	struct sys slow = *sys_real();
	struct posture p;
	unsigned steps = 0, files;
	struct err e = { 0 };

	(void)state;
	begin_lost();
	assert_int_equal(receipts_newest(sys_real(), x.ws->state_fd, &files, &e), OK);
	assert_true(files > 5);
	slow.mono_us = slow_clock;
	for (;; steps++) {
		AUTO(arena_done) struct arena a = { 0 };
		posture_read(&slow, &a, x.ws, &p);
		if (!p.broken)
			break;
		assert_true(steps < files);
		assert_non_null(strstr(p.broken, "is looked for in its record"));
		assert_non_null(strstr(p.broken, "helm workspace trust"));
	}
	assert_int_equal(steps, files - 2); /* the newest and one more each time, and none twice */
	AUTO(arena_done) struct arena a = { 0 };
	posture_read(&slow, &a, x.ws, &p);
	assert_null(p.broken);
	assert_non_null(json_get(json_get(p.word, "freezes"), "agent:a"));
	/* What is decided meanwhile is newer than what was found. */
	freeze("agent:b");
	lose_word();
	posture_read(&slow, &a, x.ws, &p);
	assert_null(p.broken);
	assert_non_null(json_get(json_get(p.word, "freezes"), "agent:b"));
	kernel_fixture_done(&x);
}

/* Progress that is not about this record is none; and who waits for it gets it at once. */
static void progress_is_about_one_record(void **state)
{
	struct sys slow = *sys_real();
	struct posture p;
	struct bytes kept;
	struct err e = { 0 };

	(void)state;
	begin_lost();
	slow.mono_us = slow_clock;
	posture_read(&slow, &x.request, x.ws, &p);
	assert_non_null(p.broken);
	const char *file = arena_printf(&x.request, "%s/search.json", p.dir);
	assert_int_equal(file_read(sys_real(), &x.request, AT_FDCWD, file, 1 << 20, 0, &kept, &e), OK);
	/* All of it, says a file that was made for another directory. */
	const char *forged = arena_printf(&x.request,
		"{\"root\": \"%s\", \"state\": \"1:2\", \"newest\": 2, \"oldest\": 1}", x.ws->root);
	write_at(file, forged);
	posture_read(&slow, &x.request, x.ws, &p);
	assert_non_null(p.broken);
	const struct json *act;
	assert_int_equal(posture_in_chain(&slow, &x.request, x.ws,
				 &(struct posture_search){ .is_patient = true }, &act, &e),
		OK);
	assert_non_null(act);
	freeze("agent:b");
	assert_false(file_exists(sys_real(), AT_FDCWD, file));
	posture_read(&slow, &x.request, x.ws, &p);
	assert_non_null(json_get(json_get(p.word, "freezes"), "agent:a"));
	assert_non_null(json_get(json_get(p.word, "freezes"), "agent:b"));
	kernel_fixture_done(&x);
}

/* What was decided may stand in a file that is away: nothing goes. */
static void what_is_away_is_unknown(void **state)
{
	struct posture p;

	(void)state;
	begin_lost();
	const char *first = arena_printf(&x.request, "%s/.helm/receipts-000001.jsonl", x.ws->root);
	const char *stub = arena_printf(&x.request, "%s.archived", first);
	assert_int_equal(unlinkat(AT_FDCWD, first, 0), 0);
	write_at(stub, "{\"metadata\": {\"to\": \"/nowhere\"}}");
	posture_read(sys_real(), &x.request, x.ws, &p);
	assert_non_null(p.broken);
	assert_non_null(strstr(p.broken, "archived to /nowhere"));
	kernel_fixture_done(&x);
}

static uint64_t bytes_read;
static ssize_t (*real_pread)(struct sys *, int, void *, size_t, off_t);
static ssize_t count_pread(struct sys *s, int fd, void *to, size_t n, off_t at)
{
	ssize_t got = real_pread(s, fd, to, n, at);

	bytes_read += got > 0 ? (uint64_t)got : 0;
	return got;
}

/* An act that was begun and is not on record is looked for in what was written since it began, and nowhere else.  An intent that was damaged does
 * not say since when. */
static void an_interrupted_act_is_looked_for_at_the_end(void **state)
{
	struct err e = { 0 };
	struct posture p;
	unsigned file;

	(void)state;
	kernel_fixture_begin(&x);
	freeze("agent:a");
	fill_files();
	posture_read(sys_real(), &x.request, x.ws, &p);
	const char *path = arena_printf(&x.request, "%s/" POSTURE_INTENT, p.dir);
	assert_int_equal(receipts_newest(sys_real(), x.ws->state_fd, &file, &e), OK);
	for (unsigned is_damaged = 0; is_damaged < 2; is_damaged++) {
		struct json *intent = json_new(&x.request, JSON_OBJECT);
		json_set(&x.request, intent, "posture", json_copy(&x.request, p.word));
		json_sets(&x.request, json_get(intent, "posture"), "at", "2030-01-01T00:00:00Z");
		json_sets(&x.request, intent, "effect_id", "helm.freeze/set");
		json_seti(&x.request, intent, "since_file", file);
		json_sets(&x.request, intent, "sha256", json_sha256(&x.request, intent));
		if (is_damaged)
			json_sets(&x.request, intent, "effect_id", "helm.freeze/sat");
		struct buf text;
		buf_init(&text, &x.request);
		json_write(&text, intent, 0);
		write_at(path, text.p);
		real_pread = x.f.sys.pread;
		x.f.sys.pread = count_pread;
		bytes_read = 0;
		kernel_fixture_reopen(&x);
		x.f.sys.pread = real_pread;
		assert_false(file_exists(sys_real(), AT_FDCWD, path));
		assert_true(is_damaged ? bytes_read > 300000 : bytes_read < 200000);
	}
	kernel_fixture_done(&x);
}

/* A place that has no record yet: nothing is searched, and nothing that is open here is closed. */
static void a_place_without_state_has_no_acts(void **state)
{
	struct workspace *ws;
	const struct json *act;
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	assert_int_equal(file_mkdirs(sys_real(), AT_FDCWD, arena_printf(&x.request, "%s/empty", x.home.path),
				 0700, &e),
		OK);
	assert_int_equal(workspace_open(&x.f.sys, &x.process,
				 arena_printf(&x.request, "%s/empty", x.home.path), WORKSPACE_NEW, &ws, &e),
		OK);
	assert_true(ws->state_fd < 0);
	assert_int_equal(
		posture_in_chain(sys_real(), &x.request, ws, &(struct posture_search){ 0 }, &act, &e), OK);
	assert_null(act);
	assert_true(fcntl(0, F_GETFD) >= 0);
	workspace_close(ws);
	kernel_fixture_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_chain_is_searched_in_steps),
		cmocka_unit_test(progress_is_about_one_record),
		cmocka_unit_test(what_is_away_is_unknown),
		cmocka_unit_test(an_interrupted_act_is_looked_for_at_the_end),
		cmocka_unit_test(a_place_without_state_has_no_acts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

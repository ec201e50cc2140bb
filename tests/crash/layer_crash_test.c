/* layer_crash_test.c — the end of a session's layer, when every single system call fails or is the last one.
 *
 * Whatever happens, and once the next start has gone on with it: nothing that starts anything is in the home, the history has each line once or the file
 * waits where it was kept aside, and nothing that the session wrote is lost. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/layer.h"
#include "tools/crash.h"
#include "tools/unit.h"

#include <string.h>
#include <sys/stat.h>

static void put(struct crash *c, const char *dir, const char *name, const char *text)
{
	AUTO(arena_done) struct arena a = { 0 };

	assert_int_equal(file_mkdirs(sys_real(), c->t.fd, dir, 0700, NULL), OK);
	scratch_put(&c->t, arena_printf(&a, "%s/%s", dir, name), text);
}

static void setup(struct crash *c)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct layer layer;
	struct err e = { 0 };
	const struct layer_spec spec = { .helm_home = arena_printf(&a, "%s/helm", c->t.path),
		.home = arena_printf(&a, "%s/home", c->t.path),
		.task_id = "t1",
		.workspace = c->t.path,
		.client = clients_find("claude-code") };

	assert_int_equal(mkdirat(c->t.fd, "helm", 0700), 0);
	put(c, "home/.claude", "history.jsonl", "{\"n\":0}\n");
	put(c, "home", ".claude.json", "{\"numStartups\": 1, \"mcpServers\": {}}");
	assert_int_equal(layer_begin(sys_real(), &a, &spec, &layer, &e), OK);
	layer_close(&layer);
	put(c, "helm/layers/t1/home/.claude", "history.jsonl", "{\"n\":0}\n{\"n\":1}\n");
	put(c, "helm/layers/t1/home/.claude", ".claude.json",
		"{\"numStartups\": 2, \"mcpServers\": {\"evil\": {\"command\": \"x\"}}}");
	put(c, "helm/layers/t1/home/.claude", "settings.json", "{\"hooks\": \"evil\"}");
	put(c, "helm/layers/t1/home/.claude/projects/p", "s.jsonl", "{\"s\":1}\n");
}

static int finish(struct crash *c, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };

	(void)e;
	(void)layers_finish(&c->f.sys, &a, arena_printf(&a, "%s/helm", c->t.path));
	return OK;
}

static bool is_aside(struct crash *c, const char *name, const char *text)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *have = scratch_get(&c->t, arena_printf(&a, "helm/layers/t1/kept/%s", name));

	return have && text_eq(have, text);
}

static bool has(struct crash *c, const char *name, const char *text)
{
	const char *have = scratch_get(&c->t, name);

	return have && strstr(have, text);
}

static void check(struct crash *c, const struct crash_end *end)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *history = "{\"n\":0}\n{\"n\":1}\n";

	(void)end;
	/* Also before anybody goes on with it. */
	assert_false(scratch_has(&c->t, "home/.claude/settings.json"));
	assert_false(has(c, "home/.claude.json", "evil"));
	(void)layers_finish(sys_real(), &a, arena_printf(&a, "%s/helm", c->t.path));
	assert_int_equal(layers_finish(sys_real(), &a, arena_printf(&a, "%s/helm", c->t.path))->n, 0);
	assert_false(scratch_has(&c->t, "home/.claude/settings.json"));
	assert_false(has(c, "home/.claude.json", "evil"));
	assert_false(scratch_has(&c->t, "helm/layers/t1/home"));
	assert_false(scratch_has(&c->t, "helm/layers/t1/lock"));
	assert_true(is_aside(c, ".claude/settings.json", "{\"hooks\": \"evil\"}"));
	assert_true(is_aside(
		c, ".claude.json", "{\"numStartups\": 2, \"mcpServers\": {\"evil\": {\"command\": \"x\"}}}"));
	assert_true(text_eq(scratch_get(&c->t, "home/.claude/history.jsonl"), history) ||
		is_aside(c, ".claude/history.jsonl", history));
	assert_true(has(c, "home/.claude/projects/p/s.jsonl", "{\"s\":1}\n") ||
		is_aside(c, ".claude/projects/p/s.jsonl", "{\"s\":1}\n"));
	struct json *result = layer_result(sys_real(), &a, arena_printf(&a, "%s/helm", c->t.path), "t1");
	assert_true(json_get_int(result, "left_count", 0) >= 2);
}

static void an_end_survives_every_call(void **state)
{
	static const struct crash_case it = { "layers_finish", setup, finish, check };

	(void)state;
	assert_true(crash_sweep(&it, NULL) >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(an_end_survives_every_call) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* layer_test.c — what comes back from a session's layer: logins, histories of two sessions, members, places behind links; and what the operator
 * takes out of it later. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/layer.h"
#include "tools/fault_sys.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
	struct scratch t;
	struct fault f;
	struct arena a;
	const char *env[3];
	const char *helm_home, *home;
	struct layer layer;
	struct json *result;
};

static void fixture_done(struct fixture *x)
{
	layer_close(&x->layer);
	arena_done(&x->a);
	scratch_done(&x->t);
}

static void fixture_open(struct fixture *x)
{
	*x = (struct fixture){ .layer = { .lock = -1 } };
	scratch_open(&x->t);
	fault_init(&x->f);
	x->f.env = x->env;
	x->home = arena_printf(&x->a, "%s/home", x->t.path);
	x->helm_home = arena_printf(&x->a, "%s/helm", x->t.path);
	assert_int_equal(mkdirat(x->t.fd, "home", 0700), 0);
	assert_int_equal(mkdirat(x->t.fd, "helm", 0700), 0);
}

static void put(struct fixture *x, const char *name, const char *text)
{
	const char *slash = strrchr(name, '/');

	assert_int_equal(file_mkdirs(sys_real(), x->t.fd, arena_strndup(&x->a, name, (size_t)(slash - name)),
				 0700, NULL),
		OK);
	scratch_put(&x->t, name, text);
}

static void begin_as(struct fixture *x, const char *client, const char *id)
{
	struct err e = { 0 };
	const struct layer_spec spec = { .helm_home = x->helm_home,
		.home = x->home,
		.task_id = id,
		.workspace = x->t.path,
		.client = clients_find(client) };

	assert_int_equal(layer_begin(&x->f.sys, &x->a, &spec, &x->layer, &e), OK);
}

/* In the directory that the client is led to. */
static void write_inside(struct fixture *x, const char *id, const char *name, const char *text)
{
	put(x, arena_printf(&x->a, "helm/layers/%s/home/%s", id, name), text);
}

static void end(struct fixture *x, const char *id)
{
	struct err e = { 0 };

	x->result = layer_end(&x->f.sys, &x->a, x->helm_home, id, &e);
	layer_close(&x->layer);
	if (!x->result)
		fail_msg("%s", e.text);
}

static const char *why_left(struct fixture *x, const char *path)
{
	json_each (one, json_get(x->result, "left"))
		if (text_eq(json_get_text(one, "path", ""), path))
			return json_get_text(one, "why", "");
	return NULL;
}

#define LOGIN(token, until) "{\"claudeAiOauth\": {\"accessToken\": \"" token "\", \"expiresAt\": " until "}}"
#define ACCOUNT(id) "{\"oauthAccount\": {\"accountUuid\": \"" id "\"}}"

static void check_login(const char *account_before, const char *login_before, const char *account_inside,
	const char *login_inside, const char *expected, const char *why)
{
	AUTO(fixture_done) struct fixture x;

	fixture_open(&x);
	if (account_before)
		put(&x, "home/.claude.json", account_before);
	if (login_before)
		put(&x, "home/.claude/.credentials.json", login_before);
	begin_as(&x, "claude-code", "t1");
	write_inside(&x, "t1", ".claude/.claude.json", account_inside);
	write_inside(&x, "t1", ".claude/.credentials.json", login_inside);
	end(&x, "t1");
	const char *now = scratch_get(&x.t, "home/.claude/.credentials.json");
	assert_true(expected ? now && strstr(now, expected) : !now);
	const char *said = why_left(&x, ".claude/.credentials.json");
	assert_true(why ? said && strstr(said, why) : !said);
}

static void test_a_login_comes_back_for_the_same_account(void **state)
{
	(void)state;
	check_login(ACCOUNT("A"), LOGIN("old", "5"), ACCOUNT("A"), LOGIN("new", "9"), "\"new\"", NULL);
	check_login(ACCOUNT("A"), LOGIN("old", "5"), ACCOUNT("B"), LOGIN("new", "9"), "\"old\"",
		"another account");
	check_login(ACCOUNT("A"), LOGIN("old", "9"), ACCOUNT("A"), LOGIN("new", "5"), "\"old\"", "newer");
	check_login(ACCOUNT("A"), NULL, ACCOUNT("A"), LOGIN("new", "9"), NULL, "first login");
	check_login(NULL, NULL, ACCOUNT("A"), LOGIN("new", "9"), NULL, "first login");
	check_login(NULL, LOGIN("old", "5"), "{\"oauthAccount\": {}}", LOGIN("new", "9"), "\"old\"",
		"another account");
}

static void test_codex_login(void **state)
{
	AUTO(fixture_done) struct fixture x;

	(void)state;
	fixture_open(&x);
	put(&x, "home/.codex/auth.json",
		"{\"OPENAI_API_KEY\": null, \"tokens\": {\"account_id\": \"A\", \"access_token\": \"old\"}, \"last_refresh\": \"2026-01-01T00:00:00Z\"}");
	begin_as(&x, "codex", "t1");
	write_inside(&x, "t1", ".codex/auth.json",
		"{\"OPENAI_API_KEY\": \"evil\", \"tokens\": {\"account_id\": \"A\", \"access_token\": \"new\"}, \"last_refresh\": \"2026-02-01T00:00:00Z\"}");
	end(&x, "t1");
	const char *now = scratch_get(&x.t, "home/.codex/auth.json");
	assert_non_null(strstr(now, "\"new\""));
	assert_null(strstr(now, "evil"));
	assert_non_null(strstr(why_left(&x, ".codex/auth.json"), "OPENAI_API_KEY"));
}

static void test_two_sessions_add_to_one_history(void **state)
{
	AUTO(fixture_done) struct fixture x;

	(void)state;
	fixture_open(&x);
	put(&x, "home/.claude/history.jsonl", "{\"n\":0}\n");
	put(&x, "home/.claude.json", "{\"numStartups\": 1, \"tipsHistory\": {\"a\": 1}}");
	begin_as(&x, "claude-code", "t1");
	layer_close(&x.layer);
	begin_as(&x, "claude-code", "t2");
	write_inside(&x, "t1", ".claude/history.jsonl", "{\"n\":0}\n{\"n\":1}\n{\"torn\"");
	write_inside(&x, "t2", ".claude/history.jsonl", "{\"n\":0}\n{\"n\":2}\n");
	write_inside(&x, "t1", ".claude/.claude.json",
		"{\"numStartups\": 2, \"tipsHistory\": {\"a\": 1, \"b\": 1}}");
	write_inside(&x, "t2", ".claude/.claude.json", "{\"numStartups\": 1, \"tipsHistory\": {\"a\": 2}}");
	end(&x, "t1");
	end(&x, "t2");
	assert_string_equal(
		scratch_get(&x.t, "home/.claude/history.jsonl"), "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n");
	/* The second did not touch the number: it does not set it back. */
	const char *doc = scratch_get(&x.t, "home/.claude.json");
	assert_non_null(strstr(doc, "\"numStartups\": 2"));
	assert_non_null(strstr(doc, "\"a\": 2"));
	assert_non_null(strstr(doc, "\"b\": 1"));
	assert_false(scratch_has(&x.t, "helm/layers/t1"));
}

static void test_untouched_copies_are_not_told(void **state)
{
	AUTO(fixture_done) struct fixture x;
	struct stat st;

	(void)state;
	fixture_open(&x);
	put(&x, "home/.claude/settings.json", "{}");
	put(&x, "home/.claude/projects/p/old.jsonl", "{}\n");
	assert_int_equal(fchmodat(x.t.fd, "home/.claude/settings.json", 0644, 0), 0);
	begin_as(&x, "claude-code", "t1");
	assert_true(scratch_has(&x.t, "helm/layers/t1/home/.claude/settings.json"));
	assert_false(scratch_has(&x.t, "helm/layers/t1/home/.claude/projects/p"));
	/* Outside it changes meanwhile. */
	scratch_put(&x.t, "home/.claude/settings.json", "{\"by\": \"operator\"}");
	end(&x, "t1");
	assert_int_equal(json_get_int(x.result, "left_count", -1), 0);
	assert_string_equal(scratch_get(&x.t, "home/.claude/settings.json"), "{\"by\": \"operator\"}");
	assert_int_equal(fstatat(x.t.fd, "home/.claude/settings.json", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
}

/* ~/.claude may be a link into a directory of dotfiles; one that leads elsewhere by the end is not followed. */
static void test_places_behind_links(void **state)
{
	AUTO(fixture_done) struct fixture x;

	(void)state;
	fixture_open(&x);
	put(&x, "home/dots/claude/history.jsonl", "{\"n\":0}\n");
	assert_int_equal(symlinkat("dots/claude", x.t.fd, "home/.claude"), 0);
	begin_as(&x, "claude-code", "t1");
	write_inside(&x, "t1", ".claude/history.jsonl", "{\"n\":0}\n{\"n\":1}\n");
	end(&x, "t1");
	assert_string_equal(scratch_get(&x.t, "home/dots/claude/history.jsonl"), "{\"n\":0}\n{\"n\":1}\n");
	begin_as(&x, "claude-code", "t2");
	write_inside(&x, "t2", ".claude/history.jsonl", "{\"n\":0}\n{\"n\":1}\n{\"n\":2}\n");
	assert_int_equal(renameat(x.t.fd, "home/dots/claude", x.t.fd, "home/dots/other"), 0);
	assert_int_equal(symlinkat("other", x.t.fd, "home/dots/claude"), 0);
	end(&x, "t2");
	assert_string_equal(scratch_get(&x.t, "home/dots/other/history.jsonl"), "{\"n\":0}\n{\"n\":1}\n");
	assert_non_null(why_left(&x, ".claude/history.jsonl"));
	assert_true(layer_is_kept(sys_real(), &x.a, x.helm_home, "t2", ".claude/history.jsonl"));
}

/* A link in the operator's own state is not written through. */
static void test_links_outside_are_not_followed(void **state)
{
	AUTO(fixture_done) struct fixture x;

	(void)state;
	fixture_open(&x);
	put(&x, "home/victim/f.jsonl", "{\"mine\":1}\n");
	put(&x, "home/.claude/x", "x");
	assert_int_equal(symlinkat("../victim", x.t.fd, "home/.claude/projects"), 0);
	assert_int_equal(symlinkat("../victim/f.jsonl", x.t.fd, "home/.claude/history.jsonl"), 0);
	begin_as(&x, "claude-code", "t1");
	assert_int_equal(unlinkat(x.t.fd, "helm/layers/t1/home/.claude/projects", 0), 0);
	assert_int_equal(unlinkat(x.t.fd, "helm/layers/t1/home/.claude/history.jsonl", 0), 0);
	write_inside(&x, "t1", ".claude/projects/f.jsonl", "{\"mine\":1}\n{\"evil\":1}\n");
	write_inside(&x, "t1", ".claude/history.jsonl", "{\"mine\":1}\n{\"evil\":1}\n");
	end(&x, "t1");
	assert_string_equal(scratch_get(&x.t, "home/victim/f.jsonl"), "{\"mine\":1}\n");
	assert_non_null(why_left(&x, ".claude/projects/f.jsonl"));
	assert_non_null(why_left(&x, ".claude/history.jsonl"));
}

static void test_the_variable_of_the_operator(void **state)
{
	AUTO(fixture_done) struct fixture x;

	(void)state;
	fixture_open(&x);
	put(&x, "elsewhere/.claude.json", "{\"numStartups\": 1}");
	put(&x, "elsewhere/history.jsonl", "{\"n\":0}\n");
	x.env[0] = arena_printf(&x.a, "CLAUDE_CONFIG_DIR=%s/elsewhere", x.t.path);
	begin_as(&x, "claude-code", "t1");
	write_inside(&x, "t1", ".claude/.claude.json", "{\"numStartups\": 2, \"mcpServers\": {\"e\": {}}}");
	write_inside(&x, "t1", ".claude/history.jsonl", "{\"n\":0}\n{\"n\":1}\n");
	end(&x, "t1");
	assert_string_equal(scratch_get(&x.t, "elsewhere/history.jsonl"), "{\"n\":0}\n{\"n\":1}\n");
	const char *doc = scratch_get(&x.t, "elsewhere/.claude.json");
	assert_non_null(strstr(doc, "\"numStartups\": 2"));
	assert_null(strstr(doc, "mcpServers"));
	assert_false(scratch_has(&x.t, "home/.claude.json"));
}

static void test_the_operator_keeps_one(void **state)
{
	AUTO(fixture_done) struct fixture x;
	struct bytes content;
	struct err e = { 0 };

	(void)state;
	fixture_open(&x);
	begin_as(&x, "claude-code", "t1");
	write_inside(&x, "t1", ".claude/agents/a.md", "by an agent\n");
	write_inside(&x, "t1", ".claude/CLAUDE.md", "by an agent\n");
	end(&x, "t1");
	assert_int_equal(json_get_int(x.result, "left_count", 0), 2);
	assert_int_equal(
		layer_read_kept(sys_real(), &x.a, x.helm_home, "t1", ".claude/agents/a.md", &content, &e),
		OK);
	assert_int_equal(
		layer_keep(sys_real(), &x.a, x.helm_home, "t1", ".claude/agents/a.md", content, &e), OK);
	assert_string_equal(scratch_get(&x.t, "home/.claude/agents/a.md"), "by an agent\n");
	assert_false(layer_is_kept(sys_real(), &x.a, x.helm_home, "t1", ".claude/agents/a.md"));
	assert_int_not_equal(
		layer_read_kept(sys_real(), &x.a, x.helm_home, "t1", "../layer.json", &content, &e), OK);
	assert_int_equal(layer_discard(sys_real(), &x.a, x.helm_home, "t1", &e), OK);
	assert_false(layer_is_kept(sys_real(), &x.a, x.helm_home, "t1", ".claude/CLAUDE.md"));
	assert_false(scratch_has(&x.t, "home/.claude/CLAUDE.md"));
}

/* Names, depths and kinds that no client makes. */
static void test_odd_files(void **state)
{
	AUTO(fixture_done) struct fixture x;
	struct buf deep;

	(void)state;
	fixture_open(&x);
	begin_as(&x, "claude-code", "t1");
	write_inside(&x, "t1", ".claude/projects/p/a b.jsonl", "{}\n");
	write_inside(&x, "t1", ".claude/projects/p/\xff\x1b[2J.jsonl", "{}\n");
	write_inside(&x, "t1", ".claude/projects/p/good.jsonl", "{\"n\":1}\n");
	write_inside(&x, "t1", ".claude/projects/p/bad.jsonl", "#!/bin/sh\n");
	buf_init(&deep, &x.a);
	buf_adds(&deep, ".claude/projects/");
	for (int i = 0; i < 100; i++)
		buf_adds(&deep, "d/");
	buf_adds(&deep, "s.jsonl");
	write_inside(&x, "t1", deep.p, "{}\n");
	assert_int_equal(mkfifoat(x.t.fd, "helm/layers/t1/home/.claude/history.jsonl", 0600), 0);
	assert_int_equal(fchmodat(x.t.fd, "helm/layers/t1/home/.claude/projects/p", 0, 0), 0);
	assert_int_equal(fchmodat(x.t.fd, "helm/layers/t1/home", 0, 0), 0);
	end(&x, "t1");
	assert_true(scratch_has(&x.t, "home/.claude/projects/p/good.jsonl"));
	assert_false(scratch_has(&x.t, "home/.claude/projects/p/bad.jsonl"));
	assert_false(scratch_has(&x.t, "home/.claude/projects/p/a b.jsonl"));
	assert_false(scratch_has(&x.t, "home/.claude/projects/d"));
	assert_false(scratch_has(&x.t, "home/.claude/history.jsonl"));
	assert_non_null(why_left(&x, ".claude/projects/p/bad.jsonl"));
	assert_non_null(why_left(&x, ".claude/history.jsonl"));
	assert_int_equal(json_get_int(x.result, "carried_count", 0), 1);
	assert_false(scratch_has(&x.t, "helm/layers/t1/home"));
}

/* The one that lasts is not ended by others. */
static void test_a_layer_in_use_is_left_alone(void **state)
{
	AUTO(fixture_done) struct fixture x;

	(void)state;
	fixture_open(&x);
	begin_as(&x, "claude-code", "t1");
	write_inside(&x, "t1", ".claude/history.jsonl", "{\"n\":1}\n");
	assert_int_equal(layers_finish(sys_real(), &x.a, x.helm_home)->n, 0);
	layer_close(&x.layer);
	assert_int_equal(layers_finish(sys_real(), &x.a, x.helm_home)->n, 1);
	assert_string_equal(scratch_get(&x.t, "home/.claude/history.jsonl"), "{\"n\":1}\n");
}

/* Thousands of files of state: the copy is bounded, and an overlay does not look at them. */
static void test_it_is_ready_soon(void **state)
{
	AUTO(fixture_done) struct fixture x;
	struct sys *s = sys_real();
	struct err e = { 0 };
	int64_t best = INT64_MAX;

	(void)state;
	fixture_open(&x);
	for (int i = 0; i < 2000; i++)
		put(&x, arena_printf(&x.a, "home/.claude/projects/p%d/s.jsonl", i % 50 * 40 + i / 50),
			"{}\n");
	put(&x, "home/.claude.json", "{\"numStartups\": 1}");
	for (int i = 0; i < 5; i++) {
		const struct layer_spec spec = { .helm_home = x.helm_home,
			.home = x.home,
			.task_id = arena_printf(&x.a, "t%d", i),
			.workspace = x.t.path,
			.client = clients_find("claude-code"),
			.has_mounts = true,
			.has_overlay = true };
		int64_t from = s->mono_us(s);
		assert_int_equal(layer_begin(s, &x.a, &spec, &x.layer, &e), OK);
		int64_t took = s->mono_us(s) - from;
		best = took < best ? took : best;
		assert_int_equal(x.layer.layer_count, 1);
		layer_close(&x.layer);
	}
	print_message("a layer is ready in %lld us\n", (long long)best);
	assert_true(best < 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_login_comes_back_for_the_same_account),
		cmocka_unit_test(test_codex_login),
		cmocka_unit_test(test_two_sessions_add_to_one_history),
		cmocka_unit_test(test_untouched_copies_are_not_told),
		cmocka_unit_test(test_places_behind_links),
		cmocka_unit_test(test_links_outside_are_not_followed),
		cmocka_unit_test(test_the_variable_of_the_operator),
		cmocka_unit_test(test_the_operator_keeps_one),
		cmocka_unit_test(test_odd_files),
		cmocka_unit_test(test_a_layer_in_use_is_left_alone),
		cmocka_unit_test(test_it_is_ready_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

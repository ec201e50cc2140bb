/* terms_test.c — terms of contracts: what is read, what is refused, how they lie over a profile, and what leaves them. */
#include "decide/decide.h"
#include "model/terms.h"
#include "tools/unit.h"

#include <string.h>

static struct arena a;

static int read_terms(const char *text, struct terms *ret, struct err *e)
{
	struct json *doc;

	assert_int_equal(json_parse(&a, bytes_of(text), "contract", NULL, &doc, e), OK);
	return terms_read(&a, "s", doc, ret, e);
}

static struct terms good(const char *text)
{
	struct terms t;
	struct err e = { 0 };

	if (read_terms(text, &t, &e))
		fail_msg("%s: %s", text, e.text);
	return t;
}

static void bad(const char *text, const char *why)
{
	struct terms t;
	struct err e = { 0 };

	assert_int_equal(read_terms(text, &t, &e), E_INPUT);
	if (!strstr(e.text, why))
		fail_msg("%s: %s", text, e.text);
}

static void test_reading(void **state)
{
	(void)state;
	struct terms t = good("{}");
	assert_false(terms_bind(&t));
	t = good(
		"{\"tools\":[\"read_file\",\"Read\"],\"paths\":{\"write\":[\"./docs/\",\".\"],\"hidden\":[\"x\"]},"
		"\"hosts\":[],\"commands\":[\"git diff\",\"'a b' c\"],\"budget\":{\"seconds\":5,\"memory_mb\":64}}");
	assert_true(terms_bind(&t));
	assert_int_equal(t.groups, 1u << GROUP_READ_FILE);
	assert_string_equal(t.tools[0], "Read");
	assert_null(t.tools[1]);
	assert_string_equal(t.writes[0], "docs");
	assert_string_equal(t.commands[1].words[0], "a b");
	assert_int_equal(t.limits.memory_mb, 64);
	bad("{\"paths\":{\"write\":[\"/etc\"]}}", "below the tree");
	bad("{\"paths\":{\"write\":[\"a/../../b\"]}}", "below the tree");
	bad("{\"paths\":{\"write\":[\"*.md\"]}}", "without patterns");
	bad("{\"paths\":{\"read\":[\"x\"]}}", "only 'write' and 'hidden'");
	bad("{\"paths\":[]}", "must be an object");
	bad("{\"tools\":\"all\"}", "must be a list");
	bad("{\"tools\":[\" \"]}", "not blank");
	bad("{\"hosts\":[\"http://x/y\"]}", "hosts");
	bad("{\"commands\":[\"'a\"]}", "no end");
	bad("{\"budget\":{\"seconds\":0}}", "above 0");
	bad("{\"budget\":{\"seconds\":\"5\"}}", "above 0");
	bad("{\"budget\":{\"hours\":5}}", "no such limit");
	bad("{\"budget\":[1]}", "must be an object");
	bad("{\"runner\":{\"strict_required\":true}}", "needs runner.entrypoint");
}

static const struct profile *narrowed(const char *profile, const struct terms *t)
{
	static struct profiles all;

	profiles_builtin(&a, &all);
	return terms_narrow(&a, profiles_find(&all, profile), t);
}

/* Names of hosts are compared one by one: a contract may name some of a shipped list. */
static bool is_within(const struct profile *n, const struct profile *p)
{
	struct profile x = *n;

	for (size_t i = 0; profile_reach(p) == NETWORK_NAMED && i < n->hosts.n; i++) {
		bool is_known = false;
		for (size_t j = 0; j < p->hosts.n; j++)
			is_known |= strcmp(p->hosts.list[j].text, n->hosts.list[i].text) == 0;
		if (!is_known && !egress_names(&p->hosts, n->hosts.list[i].host, n->hosts.list[i].port))
			return false;
	}
	x.egress = p->egress;
	x.egress_count = profile_reach(p) == NETWORK_NAMED ? p->egress_count : 0;
	return profile_is_within(&x, p);
}

/* Whatever a contract says, the profile is at most the one that it was made of. */
static void test_narrow(void **state)
{
	static const char *const contracts[] = { "{}", "{\"tools\":[]}", "{\"tools\":[\"read_file\"]}",
		"{\"tools\":[\"Read\"]}", "{\"paths\":{\"write\":[]}}", "{\"paths\":{\"write\":[\"docs\"]}}",
		"{\"hosts\":[]}", "{\"hosts\":[\"example.com\"]}", "{\"hosts\":[\"@npm\"]}",
		"{\"budget\":{\"processes\":10}}" };
	struct profiles all;

	(void)state;
	profiles_builtin(&a, &all);
	for (size_t i = 0; i < ARRAY_SIZE(contracts); i++)
		for (size_t p = 0; p < all.count; p++) {
			struct terms t = good(contracts[i]);
			const struct profile *n = terms_narrow(&a, &all.list[p], &t);
			if (!all.list[p].handoff_required && !is_within(n, &all.list[p]))
				fail_msg("%s under %s permits more", contracts[i], all.list[p].name);
		}
	struct terms none = good("{\"tools\":[]}"), hosts = good("{\"hosts\":[\"example.com\"]}");
	assert_int_equal(narrowed("workspace_edit", &none)->writes, ALLOWANCE_NO);
	assert_int_equal(profile_reach(narrowed("service_ops", &none)), NETWORK_NONE);
	assert_int_equal(profile_reach(narrowed("service_ops", &hosts)), NETWORK_NAMED);
	assert_int_equal(narrowed("service_ops", &hosts)->egress_count, 1);
	assert_true(profile_reach(narrowed("workspace_edit", &hosts)) < NETWORK_NAMED);
}

static void test_both(void **state)
{
	(void)state;
	struct terms
		x = good(
			"{\"paths\":{\"write\":[\"docs\",\"src\"]},\"commands\":[\"git\",\"make docs\"],\"hosts\":[\"a.b\"]}"),
		y = good(
			"{\"paths\":{\"write\":[\"docs/api\",\"lib\"],\"hidden\":[\"k\"]},\"commands\":[\"git diff\",\"make\"],"
			"\"hosts\":[\"c.d\"],\"budget\":{\"seconds\":3}}");
	const struct terms *t = terms_both(&a, &x, &y);
	assert_string_equal(t->writes[0], "docs/api");
	assert_null(t->writes[1]);
	assert_string_equal(t->hidden[0], "k");
	assert_int_equal(t->command_count, 2);
	assert_true(t->has_hosts);
	assert_null(t->hosts[0]);
	assert_int_equal(t->seconds, 3);
	struct terms g = good("{\"tools\":[\"read_file\"]}"), h = good("{\"tools\":[\"git_diff\"]}");
	t = terms_both(&a, &g, &h);
	assert_true(t->has_tools && !t->groups && !*t->tools);
	struct terms r = good("{\"runner\":{\"entrypoint\":\"a\",\"strict_required\":true}}"),
		     s = good("{\"runner\":{\"entrypoint\":\"b\",\"strict_required\":true}}");
	t = terms_both(&a, &r, &s);
	assert_true(t->has_commands && !t->command_count);
	t = terms_both(&a, &x, &s);
	assert_true(t->is_strict);
}

/* ---- leaving ---- */

static bool leaves(
	const struct terms *t, const struct terms_call *call, const struct proposal *p, const char *rule)
{
	struct terms_breach breach = { 0 };
	bool is_left = decide_terms(&a, t, call, p, &breach);

	if (is_left && rule && strcmp(breach.rule, rule) != 0)
		fail_msg("%s, wanted %s", breach.rule, rule);
	return is_left;
}

static void test_paths(void **state)
{
	(void)state;
	struct terms t = good("{\"paths\":{\"write\":[\"docs\"],\"hidden\":[\"k\"]}}");
	struct effect f = {
		.kind = FX_WRITE, .target = "/t/docs/a", .certainty = CERTAIN, .path_class = PATH_IN
	};
	struct proposal p = { .effects = &f, .effect_count = 1, .readable = true };
	const struct terms_call walled = { .tree = "/t", .is_shell = true, .is_walled = true },
				bare = { .tree = "/t", .tool = "Bash", .is_shell = true };

	assert_false(leaves(&t, &walled, &p, NULL));
	f.resolved = "/t/src/a";
	assert_true(leaves(&t, &walled, &p, "skill.paths"));
	f.resolved = NULL;
	f.target = "/t/docsx";
	assert_true(leaves(&t, &walled, &p, "skill.paths"));
	f.flags = FXF_DRY_RUN;
	assert_false(leaves(&t, &walled, &p, NULL));
	f.flags = 0;
	f.path_class = PATH_SINK;
	assert_false(leaves(&t, &bare, &p, NULL));
	f.path_class = PATH_TMP;
	assert_false(leaves(&t, &walled, &p, NULL));
	assert_true(leaves(&t, &bare, &p, "skill.paths"));
	f.path_class = PATH_IN;
	f.certainty = DYNAMIC;
	assert_false(leaves(&t, &walled, &p, NULL));
	assert_true(leaves(&t, &bare, &p, "skill.paths"));
	f = (struct effect){ .kind = FX_SCRIPT };
	assert_false(leaves(&t, &walled, &p, NULL));
	assert_true(leaves(&t, &bare, &p, "skill.paths"));
	f.flags = FXF_WAS_READ;
	assert_false(leaves(&t, &bare, &p, NULL));
	f = (struct effect){ .kind = FX_READ, .target = "/t/k/x" };
	assert_true(leaves(&t, &walled, &p, "skill.paths"));
	f.target = "/t/other";
	f.resolved = "/t/k";
	assert_true(leaves(&t, &walled, &p, "skill.paths"));
	p = (struct proposal){ .readable = false };
	assert_true(leaves(&t, &bare, &p, "skill.paths"));
	assert_false(leaves(&t, &walled, &p, NULL));
}

static void test_hosts(void **state)
{
	(void)state;
	struct terms t = good("{\"hosts\":[]}");
	struct effect f = { .kind = FX_DYNAMIC_EXEC };
	struct proposal p = { .effects = &f, .effect_count = 1, .readable = true };
	const struct terms_call walled = { .tree = "/t", .is_shell = true, .is_walled = true },
				bare = { .tree = "/t", .tool = "Bash", .is_shell = true };

	assert_true(leaves(&t, &bare, &p, "skill.hosts"));
	assert_false(leaves(&t, &walled, &p, NULL));
	f.kind = FX_READ;
	assert_false(leaves(&t, &bare, &p, NULL));
	p.readable = false;
	assert_true(leaves(&t, &bare, &p, "skill.hosts"));
}

static struct proposal one_step(struct step *s, const char *head, const char *text)
{
	*s = (struct step){ .head = head, .program = head, .text = text, .parent = UINT32_MAX };
	return (struct proposal){ .steps = s, .step_count = 1, .readable = true };
}

static void test_commands(void **state)
{
	(void)state;
	struct terms t = good("{\"commands\":[\"git diff\",\"scripts/x.sh\"]}");
	const struct terms_call call = { .tree = "/t", .is_shell = true, .is_walled = true };
	struct step s;
	struct proposal p = one_step(&s, "git", "git diff HEAD");

	assert_false(leaves(&t, &call, &p, NULL));
	p = one_step(&s, "/usr/bin/git", "/usr/bin/git diff");
	assert_false(leaves(&t, &call, &p, NULL));
	p = one_step(&s, "./git", "./git diff");
	assert_true(leaves(&t, &call, &p, "skill.commands"));
	p = one_step(&s, "git", "git difftool");
	assert_true(leaves(&t, &call, &p, "skill.commands"));
	p = one_step(&s, "git", "git");
	assert_true(leaves(&t, &call, &p, "skill.commands"));
	p = one_step(&s, "scripts/x.sh", "scripts/x.sh a");
	assert_false(leaves(&t, &call, &p, NULL));
	p = one_step(&s, "", "");
	assert_false(leaves(&t, &call, &p, NULL));
	p = one_step(&s, NULL, NULL);
	assert_true(leaves(&t, &call, &p, "skill.commands"));
	p = one_step(&s, "cd", "cd docs");
	assert_false(leaves(&t, &call, &p, NULL));
	p = one_step(&s, "sh", "sh");
	assert_true(leaves(&t, &call, &p, "skill.commands"));
	p.readable = false;
	assert_true(leaves(&t, &call, &p, "skill.commands"));
	struct step two[] = { { .head = "sh", .text = "sh -c x", .parent = UINT32_MAX },
		{ .head = "git", .text = "git diff", .parent = 0, .depth = 1 } };
	p = (struct proposal){ .steps = two, .step_count = 2, .readable = true };
	assert_false(leaves(&t, &call, &p, NULL));
	struct effect f = { .kind = FX_WRITE };
	p = one_step(&s, "echo", "echo x");
	s.effect_count = 1;
	p.effects = &f;
	p.effect_count = 1;
	assert_true(leaves(&t, &call, &p, "skill.commands"));
	f = (struct effect){ .kind = FX_WRITE, .path_class = PATH_SINK };
	assert_false(leaves(&t, &call, &p, NULL));
}

static void test_entrypoint(void **state)
{
	(void)state;
	struct terms t = good(
		"{\"runner\":{\"entrypoint\":\"python3 run.py\",\"strict_required\":true},\"commands\":[]}");
	const struct terms_call call = { .tree = "/t", .is_shell = true, .is_walled = true };
	struct step s;
	struct proposal p = one_step(&s, "python3", "python3 run.py x");

	assert_false(leaves(&t, &call, &p, NULL));
	p = one_step(&s, "python3", "python3 other.py");
	assert_true(leaves(&t, &call, &p, "skill.entrypoint"));
	p = (struct proposal){ .readable = true };
	assert_true(leaves(&t, &call, &p, "skill.entrypoint"));
	const struct terms_call other = { .tree = "/t", .tool = "Read" };
	assert_false(leaves(&t, &other, &p, NULL));
}

static void test_tools(void **state)
{
	(void)state;
	struct terms names = good("{\"tools\":[\"Read\",\"Bash\"]}"),
		     groups = good("{\"tools\":[\"read_file\"]}"), none = good("{\"tools\":[]}");
	struct proposal p = { .readable = true };
	struct effect f = { .kind = FX_UNKNOWN, .tag = "mcp.call" };
	const struct terms_call read = { .tree = "/t", .tool = "read" },
				write = { .tree = "/t", .tool = "Write" },
				shell = { .tree = "/t", .tool = "shell", .is_shell = true },
				run = { .tree = "/t", .is_shell = true };

	assert_false(leaves(&names, &read, &p, NULL));
	assert_false(leaves(&names, &shell, &p, NULL));
	assert_true(leaves(&names, &write, &p, "skill.tools"));
	assert_false(leaves(&groups, &write, &p, NULL));
	assert_true(leaves(&none, &read, &p, "skill.tools"));
	assert_false(leaves(&none, &run, &p, NULL));
	p.effects = &f;
	p.effect_count = 1;
	assert_true(leaves(&groups, &write, &p, "skill.tools"));
	f.tag = "tool.unknown";
	assert_true(leaves(&groups, &write, &p, "skill.tools"));
	f.tag = NULL;
	assert_false(leaves(&groups, &write, &p, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_reading), cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_both), cmocka_unit_test(test_paths), cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_commands), cmocka_unit_test(test_entrypoint),
		cmocka_unit_test(test_tools) };
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	arena_done(&a);
	return failed;
}

/* profile_test.c — profiles say no where the file says nothing. */
#include "model/profile.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static struct arena a;

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

static int parse(const char *text, struct profiles *ret, struct err *e)
{
	return profiles_parse(&a, bytes_of(text), "p.json", (struct bytes){ NULL, 0 }, NULL, ret, e);
}

static void six_profiles_ship(void **state)
{
	struct profiles p;

	(void)state;
	profiles_builtin(&a, &p);
	assert_int_equal(p.count, 6);
	assert_int_equal(p.warning_count, 0);
	assert_int_equal(profiles_find(&p, "inspect_local")->writes, ALLOWANCE_NO);
	assert_int_equal(profiles_find(&p, "workspace_edit")->writes, ALLOWANCE_YES);
	assert_int_equal(profiles_find(&p, "workspace_edit")->network, ALLOWANCE_NO);
	assert_int_equal(profiles_find(&p, "risky_edit")->checkpoint, CHECKPOINT_REQUIRED);
	assert_int_equal(profiles_find(&p, "service_ops")->reach, NETWORK_FULL);
	assert_int_equal(profiles_find(&p, "remote_handoff")->writes, ALLOWANCE_TARGET);
	assert_true(profiles_find(&p, "remote_handoff")->handoff_required);
	assert_null(profiles_find(&p, "no_such"));
	/* Only one relies on its walls instead of asking, so it requires all of them. */
	for (size_t i = 0; i < p.count; i++)
		assert_int_equal(p.list[i].contained,
			text_eq(p.list[i].name, "develop") ? CONTAINED_ALLOW : CONTAINED_ASK);
	assert_int_equal(profiles_find(&p, "develop")->requires, WALL_ALL);
	assert_int_equal(profiles_find(&p, "develop")->network, ALLOWANCE_TARGET);
	assert_int_equal(profiles_find(&p, "develop")->reach, NETWORK_NAMED);
	assert_int_equal(profiles_find(&p, "develop")->destructive, DESTRUCTIVE_CHECKPOINT);
	assert_int_equal(profiles_find(&p, "develop")->secret_count, 0);
	assert_string_equal(profiles_find(&p, "develop")->own_paths[0], "/tmp");
	for (size_t i = 0; i < p.count; i++) {
		assert_int_equal(p.list[i].intended_for_count, 4);
		assert_true(strlen(p.list[i].description) > 20);
	}
}

static void what_is_not_said_is_not_allowed(void **state)
{
	struct profiles p;
	struct err e;

	(void)state;
	assert_int_equal(
		parse("{\"profiles\": {\"x\": {\"backend\": \"local\", \"checkpoint\": \"never\"}}}", &p, &e),
		OK);
	assert_int_equal(p.list[0].writes, ALLOWANCE_NO);
	assert_int_equal(p.list[0].network, ALLOWANCE_NO);
	assert_int_equal(p.list[0].reach, NETWORK_NONE);
	assert_int_equal(p.list[0].sandbox, SANDBOX_BEST_EFFORT);
	assert_string_equal(p.list[0].runtime_backend, "local");
	assert_int_equal(p.warning_count, 2);
	assert_non_null(strstr(p.warnings[0], "writes_allowed"));
	for (int g = 0; g < GROUP_COUNT; g++)
		assert_int_equal(p.list[0].tool_rules[g], TOOLS_ASK);
}

static void a_text_means_the_target_decides(void **state)
{
	struct profiles p;
	struct err e;

	(void)state;
	assert_int_equal(parse("{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"manual\","
			       "\"writes_allowed\": \"maybe\", \"network_allowed\": 1}}}",
				 &p, &e),
		OK);
	assert_int_equal(p.list[0].writes, ALLOWANCE_TARGET);
	assert_int_equal(p.list[0].network, ALLOWANCE_TARGET);
}

static void later_members_are_read(void **state)
{
	struct profiles p;
	struct err e;

	(void)state;
	assert_int_equal(
		parse("{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"optional\", "
		      "\"writes_allowed\": true,"
		      "\"network_allowed\": false, \"network\": \"loopback\", \"sandbox\": \"required\","
		      "\"destructive\": \"checkpoint\", \"unknown_tool\": \"ask\", \"unread\": \"ask\", \"write_paths\": "
		      "[\"src\", \"/opt/x\"]}}}",
			&p, &e),
		OK);
	assert_int_equal(p.list[0].reach, NETWORK_LOOPBACK);
	assert_int_equal(p.list[0].sandbox, SANDBOX_REQUIRED);
	assert_int_equal(p.list[0].destructive, DESTRUCTIVE_CHECKPOINT);
	assert_int_equal(p.list[0].unknown_tool, UNKNOWN_ASK);
	assert_int_equal(p.list[0].unread, UNREAD_ASK);
	assert_int_equal(p.list[0].write_path_count, 2);
	assert_string_equal(p.list[0].write_paths[1], "/opt/x");
}

static void hosts_are_named(void **state)
{
	struct profiles p;
	struct err e;

	(void)state;
	assert_int_equal(parse("{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"optional\", "
			       "\"writes_allowed\": true, \"network_allowed\": true, \"network\": \"named\", "
			       "\"egress\": [\"@pypi\", \"a.example:22\"]}}}",
				 &p, &e),
		OK);
	assert_int_equal(p.list[0].reach, NETWORK_NAMED);
	assert_int_equal(profile_reach(&p.list[0]), NETWORK_NAMED);
	assert_int_equal(p.list[0].egress_count, 2);
	assert_non_null(egress_names(&p.list[0].hosts, "pypi.org", 443));
	assert_non_null(egress_names(&p.list[0].hosts, "a.example", 22));
	assert_int_equal(parse("{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"optional\", "
			       "\"network\": \"named\", \"egress\": [\"*.com\"]}}}",
				 &p, &e),
		E_INPUT);
	assert_string_equal(e.code, "PROFILE_FIELD");
	assert_non_null(strstr(e.text, "*.com"));
	assert_int_equal(parse("{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"optional\", "
			       "\"network\": \"loopback\", \"egress\": [\"a.example\"]}}}",
				 &p, &e),
		E_INPUT);
}

static void bad_files_are_refused(void **state)
{
	static const char *const texts[] = {
		"", "[]", "{}", "{\"profiles\": []}", "{\"profiles\": {}}", "{\"profiles\": {\"x\": 1}}",
		"{\"profiles\": {\"x\": {\"checkpoint\": \"never\"}}}",
		"{\"profiles\": {\"x\": {\"backend\": \"b\"}}}",
		"{\"profiles\": {\"x\": {\"backend\": 1, \"checkpoint\": \"never\"}}}",
		"{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"sometimes\"}}}",
		"{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"never\", "
		"\"handoff_required\": \"no\"}}}",
		"{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"never\", \"write_paths\": "
		"\"src\"}}}",
		"{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"never\", \"write_paths\": "
		"[1]}}}",
		"{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"never\", \"network_allowed\": "
		"false,"
		"\"network\": \"full\"}}}",
		"{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"never\", \"sandbox\": true}}}"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct profiles p = { .count = 77 };
		struct err e = { 0 };
		assert_int_not_equal(parse(texts[i], &p, &e), OK);
		assert_int_equal(p.count, 77);
		assert_non_null(strstr(e.text, "p.json"));
	}
}

static void broken_tool_groups_are_refused(void **state)
{
	static const char profiles[] =
		"{\"profiles\": {\"x\": {\"backend\": \"b\", \"checkpoint\": \"never\"}}}";
	static const char *const groups[] = { "{", "{}", "{\"profiles\": {\"x\": []}}",
		"{\"profiles\": {\"x\": {\"allow\": \"read_file\"}}}",
		"{\"profiles\": {\"x\": {\"deny\": [\"no_such_group\"]}}}",
		"{\"profiles\": {\"x\": {\"ask\": [1]}}}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		struct profiles p;
		struct err e = { 0 };
		assert_int_not_equal(profiles_parse(&a, bytes_of(profiles), "p.json", bytes_of(groups[i]),
					     "g.json", &p, &e),
			OK);
		assert_non_null(strstr(e.text, "g.json"));
	}
}

/* Disjoint, in the order asked for, and together exactly what was asked for; deny wins over allow. */
static void grants_split_what_was_requested(void **state)
{
	enum tool_group all[GROUP_COUNT];
	struct profiles p;
	struct buf b;

	(void)state;
	for (int g = 0; g < GROUP_COUNT; g++)
		all[g] = (enum tool_group)g;
	profiles_builtin(&a, &p);
	buf_init(&b, &a);
	json_write(&b, profile_compute_grant(&a, profiles_find(&p, "workspace_edit"), all, GROUP_COUNT), 0);
	assert_string_equal(b.p,
		"{\"granted\":[\"read_file\",\"apply_patch\",\"focused_test\",\"git_diff\"],"
		"\"requires_approval\":[\"broad_shell\",\"secrets_read\",\"destructive_git\"],"
		"\"denied\":[\"external_network\"]}");
	for (size_t i = 0; i < p.count; i++) {
		const struct json *grant = profile_compute_grant(&a, &p.list[i], all, GROUP_COUNT);
		assert_int_equal(json_get(grant, "granted")->n + json_get(grant, "requires_approval")->n +
				json_get(grant, "denied")->n,
			GROUP_COUNT);
	}
}

static void unknown_profiles_name_the_known_ones(void **state)
{
	const struct profile *found = NULL;
	struct profiles p;
	struct err e;

	(void)state;
	profiles_builtin(&a, &p);
	assert_int_equal(profiles_get(&p, "yolo", &found, &e), E_USAGE);
	assert_null(found);
	assert_non_null(
		strstr(e.text, "inspect_local, remote_handoff, risky_edit, service_ops, workspace_edit"));
	assert_int_equal(profiles_get(&p, "risky_edit", &found, &e), OK);
	assert_string_equal(found->name, "risky_edit");
}

static bool is_within(const struct profiles *p, const char *x, const char *y)
{
	return profile_is_within(profiles_find(p, x), profiles_find(p, y));
}

/* Any single right more, and it is no longer within. */
static void within(void **state)
{
	static const char *const write[] = { "/srv" };
	struct profiles p;

	(void)state;
	profiles_builtin(&a, &p);
	for (size_t i = 0; i < p.count; i++)
		assert_int_equal(profile_is_within(&p.list[i], &p.list[i]), !p.list[i].handoff_required);
	assert_true(is_within(&p, "inspect_local", "workspace_edit"));
	assert_true(is_within(&p, "inspect_local", "risky_edit"));
	assert_true(is_within(&p, "risky_edit", "workspace_edit"));
	assert_false(is_within(&p, "workspace_edit", "risky_edit")); /* that one saves first */
	assert_false(is_within(&p, "workspace_edit", "inspect_local"));
	assert_false(is_within(&p, "service_ops", "workspace_edit"));
	assert_false(is_within(&p, "remote_handoff", "service_ops"));
	assert_false(is_within(&p, "inspect_local", "remote_handoff"));
	assert_true(is_within(&p, "workspace_edit", "develop"));
	assert_true(is_within(&p, "inspect_local", "develop"));
	assert_false(is_within(&p, "develop", "workspace_edit"));
	assert_false(is_within(&p, "develop", "service_ops")); /* which asks about losses */

	const struct profile *base = profiles_find(&p, "workspace_edit");
	struct profile more[10];
	for (size_t i = 0; i < ARRAY_SIZE(more); i++)
		more[i] = *base;
	more[0].network = ALLOWANCE_YES;
	more[1].network = ALLOWANCE_TARGET;
	more[2].reach = NETWORK_FULL;
	more[3].destructive = DESTRUCTIVE_CHECKPOINT;
	more[4].write_paths = write;
	more[4].write_path_count = 1;
	more[5].writes = ALLOWANCE_TARGET;
	more[6].checkpoint = CHECKPOINT_NEVER;
	more[7].tool_rules[GROUP_EXTERNAL_NETWORK] = TOOLS_ASK;
	more[8].backend = "elsewhere";
	more[9].contained = CONTAINED_ALLOW;
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		assert_false(profile_is_within(&more[i], base));
		if (i != 4)
			continue;
		assert_true(profile_is_within(base, &more[i]));
		assert_true(profile_is_within(&more[i], &more[i]));
	}
	struct profile strict = *base;
	strict.requires = WALL_ALL;
	strict.unknown_tool = UNKNOWN_ASK;
	assert_true(profile_is_within(&strict, base));
	assert_false(profile_is_within(base, &strict));
	strict.requires = base->requires;
	assert_false(profile_is_within(base, &strict));
	static const char *const few[] = { "a.example" }, *const many[] = { "a.example", "b.example" };
	struct profile named = *base, wider = *base;
	named.reach = wider.reach = NETWORK_NAMED;
	named.egress = few;
	named.egress_count = 1;
	wider.egress = many;
	wider.egress_count = 2;
	assert_true(profile_is_within(base, &named));
	assert_false(profile_is_within(&named, base));
	assert_true(profile_is_within(&named, &wider));
	assert_false(profile_is_within(&wider, &named));
	wider.network = named.network = ALLOWANCE_YES;
	struct profile open = *base; /* may use the network: all of it, whatever `reach` says */
	open.network = ALLOWANCE_YES;
	assert_true(profile_is_within(&named, &open));
	assert_false(profile_is_within(&open, &named));
	static const char *const keys[] = { ".ssh" };
	struct profile reader = *base;
	reader.secrets = keys;
	reader.secret_count = 1;
	assert_false(profile_is_within(&reader, base));
	assert_true(profile_is_within(base, &reader));
	strict.unknown_tool = base->unknown_tool;
	strict.unread = UNREAD_ASK;
	assert_true(profile_is_within(&strict, base));
	assert_false(profile_is_within(base, &strict));
	strict.unread = base->unread;
	strict.checkpoint = CHECKPOINT_MANUAL;
	assert_false(profile_is_within(&strict, base));
	assert_false(profile_is_within(base, &strict));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(six_profiles_ship, done),
		cmocka_unit_test_teardown(what_is_not_said_is_not_allowed, done),
		cmocka_unit_test_teardown(a_text_means_the_target_decides, done),
		cmocka_unit_test_teardown(later_members_are_read, done),
		cmocka_unit_test_teardown(hosts_are_named, done),
		cmocka_unit_test_teardown(bad_files_are_refused, done),
		cmocka_unit_test_teardown(broken_tool_groups_are_refused, done),
		cmocka_unit_test_teardown(grants_split_what_was_requested, done),
		cmocka_unit_test_teardown(unknown_profiles_name_the_known_ones, done),
		cmocka_unit_test_teardown(within, done),
	};
	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}

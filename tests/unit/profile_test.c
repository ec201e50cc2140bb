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

static void same_text(const char *x, const char *y)
{
	assert_int_equal(x == NULL, y == NULL);
	if (x)
		assert_string_equal(x, y);
}

static void same_list(const char *const *x, size_t n, const char *const *y, size_t m)
{
	assert_int_equal(x == NULL, y == NULL);
	assert_int_equal(n, m);
	for (size_t i = 0; i < n; i++)
		same_text(x[i], y[i]);
	if (x)
		assert_null(x[n]);
}

static void same_hosts(const struct egress_rules *x, const struct egress_rules *y)
{
	assert_int_equal(x->n, y->n);
	for (size_t i = 0; i < x->n; i++) {
		same_text(x->list[i].text, y->list[i].text);
		same_text(x->list[i].from, y->list[i].from);
		same_text(x->list[i].host, y->list[i].host);
		assert_int_equal(x->list[i].is_below, y->list[i].is_below);
		assert_int_equal(x->list[i].port, y->list[i].port);
		assert_memory_equal(x->list[i].address, y->list[i].address, EGRESS_ADDRESS);
	}
}

/* The tables in the program say what reading the shipped files says, in every member. */
static void tables_say_what_the_files_say(void **state)
{
	struct profiles made, read;
	struct err e = { 0 };

	(void)state;
	profiles_builtin(&a, &made);
	assert_int_equal(profiles_parse(&a, profiles_shipped("execution_profiles.json"), "built-in",
				 profiles_shipped("tool_groups.json"), "built-in", &read, &e),
		OK);
	assert_int_equal(made.count, read.count);
	assert_int_equal(made.warning_count, read.warning_count);
	same_text(made.origin, read.origin);
	for (size_t i = 0; i < made.count; i++) {
		const struct profile *x = &made.list[i], *y = &read.list[i];
		assert_true(json_eq(profile_document(&a, x), y->document));
		assert_ptr_equal(profile_document(&a, y), y->document);
		same_text(x->name, y->name);
		same_text(x->description, y->description);
		same_text(x->backend, y->backend);
		same_text(x->runtime_backend, y->runtime_backend);
		same_text(x->runtime_target_kind, y->runtime_target_kind);
		same_text(x->isolation, y->isolation);
		same_text(x->browser_policy_ref, y->browser_policy_ref);
		same_list(x->secrets, x->secret_count, y->secrets, y->secret_count);
		same_list(x->egress, x->egress_count, y->egress, y->egress_count);
		same_list(x->own_paths, x->own_path_count, y->own_paths, y->own_path_count);
		same_list(x->layers, x->layer_count, y->layers, y->layer_count);
		same_list(x->write_paths, x->write_path_count, y->write_paths, y->write_path_count);
		same_list(x->intended_for, x->intended_for_count, y->intended_for, y->intended_for_count);
		same_hosts(&x->hosts, &y->hosts);
		assert_memory_equal(&x->limits, &y->limits, sizeof(x->limits));
		assert_memory_equal(x->tool_rules, y->tool_rules, sizeof(x->tool_rules));
		/* The rest are numbers: with what was compared left out, the two are the same bytes. */
		struct profile n = *x, m = *y;
		n.name = m.name = n.description = m.description = n.backend = m.backend = NULL;
		n.runtime_backend = m.runtime_backend = n.runtime_target_kind = m.runtime_target_kind = NULL;
		n.isolation = m.isolation = n.browser_policy_ref = m.browser_policy_ref = NULL;
		n.secrets = m.secrets = n.egress = m.egress = n.own_paths = m.own_paths = NULL;
		n.layers = m.layers = n.write_paths = m.write_paths = NULL;
		n.intended_for = m.intended_for = NULL;
		n.hosts = m.hosts = (struct egress_rules){ 0 };
		n.document = m.document = NULL;
		assert_int_equal(n.writes, m.writes);
		assert_int_equal(n.network, m.network);
		assert_memory_equal(&n, &m, sizeof(n));
	}
}

/* Rules of a person are added behind those of the table. */
static void hosts_can_be_added_to_the_table(void **state)
{
	struct profiles p;
	struct err e = { 0 };

	(void)state;
	profiles_builtin(&a, &p);
	for (size_t i = 0; i < p.count; i++) {
		size_t n = p.list[i].hosts.n;
		assert_int_equal(egress_add(&a, &p.list[i].hosts, "more.example.org", "a person", &e), OK);
		assert_int_equal(p.list[i].hosts.n, n + 1);
		assert_non_null(egress_names(&p.list[i].hosts, "more.example.org", 443));
	}
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
		cmocka_unit_test_teardown(tables_say_what_the_files_say, done),
		cmocka_unit_test_teardown(hosts_can_be_added_to_the_table, done),
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

/* standby_test.c — a kernel that is kept is the one that opening would give, whatever has changed meanwhile. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/posture.h"
#include "tools/kernel_fixture.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct kernel_fixture x;
static struct standby kept;

/* The clock: so many seconds from now. */
static void look_from(int64_t seconds)
{
	x.f.has_clock = true;
	x.f.clock_us = sys_real()->now_us(sys_real()) + seconds * 1000000;
	x.f.step_us = 0;
}

static int begin(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	look_from(3600); /* everything is old enough to be known by its times */
	return 0;
}

static int end(void **state)
{
	(void)state;
	standby_close(&kept);
	kernel_fixture_done(&x);
	return 0;
}

static struct kernel *get(void)
{
	struct kernel *k = NULL;
	struct err e = { 0 };

	if (standby_open(&kept, &x.f.sys, x.ws->root, &k, &e))
		fail_msg("%s", e.text);
	return k;
}

/* How many were opened so far: a new one has nobody's mark. */
static uint64_t opened(void)
{
	static uint64_t number;
	const struct person *mark = (const void *)&number;
	struct kernel *k = get();

	number += k->person != mark;
	k->person = mark;
	return number;
}

static void put(const char *name, const char *text)
{
	struct err e = { 0 };

	if (file_replace(sys_real(), x.ws->root_fd, name, 0644, bytes_of(text), &e))
		fail_msg("%s", e.text);
}

static void test_kept(void **state)
{
	uint64_t first = opened();

	(void)state;
	assert_int_equal(opened(), first);
	assert_int_equal(opened(), first);
	/* What comes and goes beside its sources is nothing to it. */
	put("README.md", "x");
	put(".helm/other.json", "{}");
	assert_int_equal(opened(), first);
	standby_close(&kept);
	assert_int_equal(opened(), first + 1);
}

/* What has only just changed may do so again without looking otherwise: it is read until it has not for a while. */
static void test_young(void **state)
{
	(void)state;
	put("references/guard_policy.json", "{\"version\":1}");
	look_from(0);
	uint64_t first = opened();
	assert_int_equal(opened(), first + 1);
	look_from(1);
	assert_int_equal(opened(), first + 2); /* what was known of it then is not enough */
	assert_int_equal(opened(), first + 2);
}

static void test_files(void **state)
{
	static const char *const names[] = { "references/guard_policy.json", ".helm/workspace.json",
		"references/execution_profiles.json", "references/tool_groups.json" };
	struct err e = { 0 };
	struct bytes text;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t before = opened();
		if (file_read(sys_real(), &x.request, x.ws->root_fd, names[i], 1 << 20, 0, &text, &e))
			text = bytes_of("{\"version\":1}");
		put(names[i], arena_printf(&x.request, "%.*s\n", (int)text.n, (const char *)text.p));
		assert_int_equal(opened(), before + 1);
		assert_int_equal(opened(), before + 1);
	}
}

/* A rule in the tree can only be stricter, and counts at once. */
static void test_stricter_rule(void **state)
{
	const char *before = arena_strdup(&x.request, get()->policy_hash);

	(void)state;
	put("references/guard_policy.json",
		"{\"version\":1,\"absolute_deny\":[{\"id\":\"no_touch\",\"patterns\":[\"touch\"]}]}");
	assert_string_not_equal(get()->policy_hash, before);
	assert_int_equal(unlinkat(x.ws->root_fd, "references/guard_policy.json", 0), 0);
	assert_string_equal(get()->policy_hash, before);
}

static int choose(void *arg, struct arena *a, struct json *word, struct err *e)
{
	(void)e;
	(void)arg;
	json_sets(a, word, "default_profile", "inspect_local");
	return OK;
}

static void test_word(void **state)
{
	struct json *receipt;
	struct err e = { 0 };
	uint64_t before = opened();

	(void)state;
	assert_int_equal(posture_change(&x.k, &x.request,
				 &(struct act){ .effect_id = "helm.profile/use", .type = "setting" }, choose,
				 NULL, &receipt, &e),
		OK);
	assert_int_equal(opened(), before + 1);
	assert_int_equal(opened(), before + 1);
}

static void test_key(void **state)
{
	const char *key = arena_printf(&x.request, "%s/.helm/keys/root.key", x.home.path);
	struct kernel *k;
	struct err e = { 0 };
	uint64_t before = opened();

	(void)state;
	assert_int_equal(rename(key, arena_printf(&x.request, "%s.away", key)), 0);
	assert_int_equal(standby_open(&kept, &x.f.sys, x.ws->root, &k, &e), E_MISSING);
	assert_string_equal(e.code, "KEY_MISSING");
	assert_int_equal(rename(arena_printf(&x.request, "%s.away", key), key), 0);
	assert_int_equal(opened(), before + 1);
}

/* Another directory under the same name is another workspace. */
static void test_place(void **state)
{
	const char *aside = arena_printf(&x.request, "%s.aside", x.ws->root);
	struct kernel *k;
	struct err e = { 0 };

	(void)state;
	(void)opened();
	assert_int_equal(rename(x.ws->root, aside), 0);
	assert_int_equal(standby_open(&kept, &x.f.sys, x.ws->root, &k, &e), E_MISSING);
	assert_int_equal(mkdir(x.ws->root, 0755), 0);
	assert_int_equal(standby_open(&kept, &x.f.sys, x.ws->root, &k, &e), E_MISSING);
	assert_int_equal(rmdir(x.ws->root), 0);
	assert_int_equal(rename(aside, x.ws->root), 0);
	(void)opened();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_kept, begin, end),
		cmocka_unit_test_setup_teardown(test_young, begin, end),
		cmocka_unit_test_setup_teardown(test_files, begin, end),
		cmocka_unit_test_setup_teardown(test_stricter_rule, begin, end),
		cmocka_unit_test_setup_teardown(test_word, begin, end),
		cmocka_unit_test_setup_teardown(test_key, begin, end),
		cmocka_unit_test_setup_teardown(test_place, begin, end) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

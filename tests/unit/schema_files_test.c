/* schema_files_test.c — every schema of the tree compiles and is listed, its examples do what their names say, and the files
 * we ship fit. */
#include "base/file.h"
#include "base/schema.h"
#include "base/text.h"
#include "tools/cases.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>

static struct arena a;

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

static struct json *parse(const char *path)
{
	struct json *doc;
	struct err e;

	if (json_parse(&a, cases_read(&a, path), path, NULL, &doc, &e))
		fail_msg("%s", e.text);
	return doc;
}

static struct schema *compile(const char *path)
{
	struct schema *s;
	struct err e;

	if (schema_compile(&a, parse(path), path, &s, &e))
		fail_msg("%s", e.text);
	return s;
}

static size_t list(const char *dir, char ***ret)
{
	struct err e;
	size_t n;

	if (file_list(sys_real(), &a, AT_FDCWD, dir, ret, &n, &e))
		fail_msg("%s", e.text);
	return n;
}

static void every_schema_compiles_and_is_listed(void **state)
{
	struct bytes index = cases_read(&a, "schemas/INDEX.md");
	char **names;
	size_t n = list("schemas", &names), count = 0;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		if (!text_ends(names[i], ".schema.json"))
			continue;
		compile(arena_printf(&a, "schemas/%s", names[i]));
		if (!memmem(index.p, index.n, names[i], strlen(names[i])))
			fail_msg("schemas/INDEX.md does not list %s", names[i]);
		count++;
	}
	assert_true(count >= 7);
}

static void check_example(const struct schema *s, const char *dir, const char *name)
{
	const char *path = arena_printf(&a, "schemas/examples/%s/%s", dir, name);
	struct err e;
	int rc = schema_check(s, parse(path), &e);

	if (text_starts(name, "valid-") && rc)
		fail_msg("%s: %s", path, e.text);
	if (text_starts(name, "invalid-") && !rc)
		fail_msg("%s passes", path);
}

static void examples_do_what_their_names_say(void **state)
{
	char **dirs, **names;
	size_t n = list("schemas/examples", &dirs);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		const struct schema *s = compile(arena_printf(&a, "schemas/%s.schema.json", dirs[i]));
		size_t count = list(arena_printf(&a, "schemas/examples/%s", dirs[i]), &names);
		assert_true(count > 0);
		for (size_t k = 0; k < count; k++)
			check_example(s, dirs[i], names[k]);
	}
}

static void shipped_files_fit_their_schemas(void **state)
{
	static const char *const pairs[][2] = {
		{ "share/guard_rules.json", "guard-rules" },
		{ "share/guard_policy.json", "guard-policy" },
		{ "share/execution_profiles.json", "execution-profiles" },
		{ "share/tool_groups.json", "tool-groups" },
		{ "share/capability_boundaries.json", "capability-boundaries" },
		{ "share/serve/prices.json", "prices" },
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (schema_check(compile(arena_printf(&a, "schemas/%s.schema.json", pairs[i][1])),
			    parse(pairs[i][0]), &e))
			fail_msg("%s: %s", pairs[i][0], e.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(every_schema_compiles_and_is_listed, done),
		cmocka_unit_test_teardown(examples_do_what_their_names_say, done),
		cmocka_unit_test_teardown(shipped_files_fit_their_schemas, done),
	};
	return cmocka_run_group_tests_name("schema_files", tests, NULL, NULL);
}

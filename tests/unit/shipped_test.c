/* shipped_test.c — every text that was ever shipped is known, and no other; replacing one loses nothing that an operator wrote. */
#include "base/embed.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/shipped.h"
#include "tools/scratch.h"
#include "tools/unit.h"

#include <string.h>

/* When this fails a shipped file was changed: sh tools/shipped.sh lists it. */
static void what_is_shipped_is_listed(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bytes table;

	(void)state;
	assert_true(embed_find("share/shipped.txt", &table));
	for (size_t i = 0; i < SHIPPED_COUNT; i++) {
		const struct shipped_file *f = &SHIPPED_FILES[i];
		struct bytes text = shipped_content(f);
		const char *row = arena_printf(&a, " %s %s\n", sha256_hex(&a, text.p, text.n), f->from);
		if (!strstr((const char *)table.p, row))
			fail_msg(
				"share/shipped.txt has no line for %s as it is now; sh tools/shipped.sh adds it",
				f->from);
		assert_int_equal(shipped_age(f->to, text), SHIPPED_NOW);
	}
}

/* Earlier texts are opened from states of that time, in tests/cli/upgrade.t. */
static void no_other_text_is_known(void **state)
{
	AUTO(arena_done) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < SHIPPED_COUNT; i++) {
		const struct shipped_file *f = &SHIPPED_FILES[i];
		struct bytes text = shipped_content(f);
		const char *more = arena_printf(&a, "%.*s\n", (int)text.n, (const char *)text.p);
		assert_int_equal(shipped_age(f->to, bytes_of(more)), SHIPPED_NEVER);
		assert_int_equal(shipped_age(f->to, (struct bytes){ 0 }), SHIPPED_NEVER);
	}
	/* The same text under another name is not that file. */
	assert_int_equal(shipped_age("MEMORY.md", shipped_content(&SHIPPED_FILES[2])), SHIPPED_NEVER);
	assert_int_equal(shipped_age("notes.txt", shipped_content(&SHIPPED_FILES[2])), SHIPPED_NEVER);
}

static void replacing_keeps_what_was_written(void **state)
{
	static const struct shipped_file file = { "tool_groups.json", "share/tool_groups.json",
		SHIPPED_OPTIONAL };
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(scratch_done) struct scratch t;
	struct bytes mine = bytes_of("{\"mine\": 1}"), other = bytes_of("{\"mine\": 2}");
	struct err e = { 0 };

	(void)state;
	scratch_open(&t);
	assert_int_equal(shipped_put(sys_real(), &a, t.fd, &file, NULL, &e), OK);
	assert_false(scratch_has(&t, "tool_groups.json.bak"));
	assert_int_equal(shipped_put(sys_real(), &a, t.fd, &file, &mine, &e), OK);
	assert_int_equal(shipped_put(sys_real(), &a, t.fd, &file, &other, &e), OK);
	/* Killed behind the copy, and done again: there is no second copy. */
	assert_int_equal(shipped_put(sys_real(), &a, t.fd, &file, &other, &e), OK);
	assert_string_equal(scratch_get(&t, "tool_groups.json.bak"), "{\"mine\": 1}");
	assert_string_equal(scratch_get(&t, "tool_groups.json.bak.1"), "{\"mine\": 2}");
	assert_false(scratch_has(&t, "tool_groups.json.bak.2"));
	assert_true(bytes_is(shipped_content(&file), scratch_get(&t, "tool_groups.json")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_shipped_is_listed),
		cmocka_unit_test(no_other_text_is_known),
		cmocka_unit_test(replacing_keeps_what_was_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

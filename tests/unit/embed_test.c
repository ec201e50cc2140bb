/* embed_test.c — files inside the program: found by name. */
#include "base/embed.h"
#include "tools/unit.h"

static void every_file_is_found_by_its_name(void **state)
{
	(void)state;
	const char *name;
	struct bytes content, found;
	size_t n = 0;

	for (; embed_at(n, &name, &content); n++) {
		assert_true(embed_find(name, &found));
		assert_ptr_equal(found.p, content.p);
		assert_int_equal(found.n, content.n);
		assert_int_equal(content.p[content.n], '\0');
	}
	assert_true(n > 10);
	assert_false(embed_at(n, &name, &content));
}

static void what_is_not_there_is_not_found(void **state)
{
	(void)state;
	struct bytes content;

	assert_false(embed_find("share/no-such-file", &content));
	assert_false(embed_find("", &content));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file_is_found_by_its_name),
		cmocka_unit_test(what_is_not_there_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* embed_test.c — files inside the program: found by name, and with the digest of their bytes. */
#include "base/embed.h"
#include "base/hash.h"
#include "tools/unit.h"

static void every_file_has_its_digest(void **state)
{
	(void)state;
	AUTO(arena_done) struct arena a = { 0 };
	const char *name;
	struct bytes content, found;
	size_t n = 0;

	for (; embed_at(n, &name, &content); n++) {
		assert_true(embed_find(name, &found));
		assert_ptr_equal(found.p, content.p);
		assert_int_equal(found.n, content.n);
		assert_string_equal(embed_sha256(name), sha256_hex(&a, content.p, content.n));
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
	assert_null(embed_sha256("zzz"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file_has_its_digest),
		cmocka_unit_test(what_is_not_there_is_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

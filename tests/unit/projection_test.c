/* projection_test.c — names of members that differ from known ones in letter case only are refused, wherever they stand. */
#include "base/text.h"
#include "model/projection.h"
#include "tools/unit.h"

#include <string.h>

static struct arena a;

static struct json *parse(const char *text)
{
	struct json *v;
	struct err e;

	if (json_parse(&a, bytes_of(text), "test", NULL, &v, &e))
		fail_msg("%s: %s", e.text, text);
	return v;
}

PROJECTION(inner, MEMBER("key", TEXT, ALWAYS));
PROJECTION(outer, MEMBER_OF("list", OBJECTS, OMIT, inner), MEMBER_OF("one", OBJECT, OMIT, inner),
	MEMBER("plain", TEXT, OMIT));

/* A reader that ignores case would take one member for another: refused at the top, in an object and in a list of them. */
static void names_that_differ_in_case(void **state)
{
	static const char *const good[] = { "{}", "{\"plain\":\"x\",\"other\":1,\"Other\":2}",
		"{\"one\":{\"key\":\"x\"},\"list\":[{\"key\":\"x\"},{\"more\":1}]}",
		"{\"plain\":{\"KEY\":1}}" };
	static const char *const bad[] = { "{\"Plain\":\"x\"}", "{\"one\":{\"Key\":\"x\"}}",
		"{\"list\":[{\"Key\":\"x\"}]}", "{\"list\":[{\"key\":\"x\"},{\"KEY\":\"x\"}]}",
		"{\"list\":[1,{\"\xe2\x84\xaa"
		"ey\":\"x\"}]}" };
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(projection_check_names(&outer, parse(good[i]), &e), OK);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		e = (struct err){ 0 };
		assert_int_equal(projection_check_names(&outer, parse(bad[i]), &e), E_INPUT);
		assert_string_equal(e.code, "MEMBER_CASE");
	}
}

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_differ_in_case),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}

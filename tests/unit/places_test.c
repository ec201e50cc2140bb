/* places_test.c — places that are closed while a session lasts (execute/sandbox.h). */
#include "execute/sandbox.h"
#include "tools/unit.h"

#include <string.h>

/* A place that could not be closed is told: whoever relies on it must not go on. */
static void a_place_that_stays_open_is_told(void **state)
{
	const struct sandbox_rules rules = { .network = NETWORK_NONE };
	char name[400] = "/";
	const char *const places[] = { name, NULL }, *const none[] = { "/nobody/has/this", NULL };

	(void)state;
	memset(name + 1, 'x',
		sizeof(name) - 2); /* longer than a name may be, so that it cannot even be looked for */
	assert_int_equal(sandbox_close_places(&rules, places, NULL), -1);
	assert_int_equal(sandbox_close_places(&rules, none, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_place_that_stays_open_is_told) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

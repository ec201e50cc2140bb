/* grant_form_test.c — the edges of a grant that is read from a document: bounds that are no texts, numbers of people that nothing proves. */
#include "base/text.h"
#include "model/grant.h"
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

static int grant_of(const char *more)
{
	struct grant g;
	struct err e;

	return grant_from_json(&a,
		parse(arena_printf(&a,
			"{\"grant_id\":\"g\",\"reach\":\"exact\",\"once\":true,\"profile\":\"p\",\"args_sha256\":\"x\",\"cwd\":\"/\","
			"\"created_at\":\"2026-01-01T00:00:00Z\",\"expires_at\":\"2026-01-02T00:00:00Z\",\"responder\":\"r\","
			"\"covers\":[]%s}",
			more)),
		&g, &e);
}

/* A number that nothing proves is none, and a proof without its number neither. */
static void grants_of_several_people(void **state)
{
	(void)state;
	int plain = grant_of("");

	assert_int_equal(grant_of(",\"approvers\":2,\"quorum_sha256\":\"x\""), plain);
	assert_int_equal(
		grant_of(arena_printf(&a, ",\"approvers\":%d,\"quorum_sha256\":\"x\"", MOST_APPROVERS)),
		plain);
	assert_int_equal(
		grant_of(arena_printf(&a, ",\"approvers\":%d,\"quorum_sha256\":\"x\"", MOST_APPROVERS + 1)),
		E_INPUT);
	assert_int_equal(grant_of(",\"approvers\":-1,\"quorum_sha256\":\"x\""), E_INPUT);
	assert_int_equal(grant_of(",\"approvers\":2"), E_INPUT);
	assert_int_equal(grant_of(",\"quorum_sha256\":\"x\""), E_INPUT);
	assert_int_equal(grant_of(",\"principal\":[\"x\"]"), E_INPUT);
	assert_int_equal(grant_of(",\"session\":7"), E_INPUT);
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
		cmocka_unit_test(grants_of_several_people),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}

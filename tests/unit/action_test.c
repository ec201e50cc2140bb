/* action_test.c — the state of an action from what the record says of it, in words and as a document that fits its schema. */
#include "actions/action.h"
#include "base/schema.h"
#include "base/text.h"
#include "tools/cases.h"
#include "tools/unit.h"

static struct arena a;

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	a = (struct arena){ 0 };
	return 0;
}

#define ASKED .verdict = "ESCALATE", .approval_id = "approval-1"
#define YES .answer = ANSWERED_YES, .answered_by = "user:anna"
#define EXIT(n) .has_exit_code = true, .exit_code = (n)
static const struct {
	struct action x;
	enum action_state state;
	const char *text;
} rows[] = {
	{ { .verdict = "DENY" }, ACTION_DENIED, "denied" },
	{ { .verdict = "DENY", .status = "NOT_EXECUTED" }, ACTION_DENIED, "denied" },
	{ { .verdict = "ALLOW" }, ACTION_ALLOWED, "allowed" },
	{ { .verdict = "ALLOW", .is_running = true }, ACTION_RUNNING, "running" },
	{ { .verdict = "ALLOW", .was_left = true }, ACTION_FAILED,
		"failed, helm was ended before the run was" },
	{ { .verdict = "ALLOW", .status = "COMPLETED", EXIT(0) }, ACTION_DONE, "done" },
	{ { .verdict = "ALLOW", .status = "FAILED", EXIT(1) }, ACTION_FAILED, "failed, exit 1" },
	{ { .verdict = "ALLOW", .status = "COMPLETED", EXIT(1) }, ACTION_DONE, "done, exit 1" },
	{ { .verdict = "ALLOW", EXIT(3) }, ACTION_FAILED, "failed, exit 3" },
	{ { .verdict = "ALLOW", .status = "TIMEOUT", EXIT(124) }, ACTION_FAILED, "failed, timed out" },
	{ { .verdict = "ALLOW", .status = "NOT_EXECUTED" }, ACTION_FAILED, "failed, did not start" },
	{ { .verdict = "ALLOW", .status = "COMPLETED", .undone_us = 5 }, ACTION_UNDONE, "undone" },
	{ { .verdict = "ALLOW", .status = "FAILED", EXIT(1), .undone_us = 5 }, ACTION_UNDONE, "undone" },
	{ { ASKED, .is_waiting = true }, ACTION_WAITING, "waiting for an answer" },
	{ { ASKED }, ACTION_EXPIRED, "expired, nobody answered" },
	{ { ASKED, .status = "NOT_EXECUTED", .is_waiting = true }, ACTION_WAITING, "waiting for an answer" },
	{ { ASKED, YES }, ACTION_APPROVED, "approved by user:anna, not called again" },
	{ { ASKED, YES, .again_id = "dec-2" }, ACTION_APPROVED, "approved by user:anna" },
	{ { ASKED, .answer = ANSWERED_NO, .answered_by = "user:anna" }, ACTION_REFUSED,
		"refused by user:anna" },
	{ { ASKED, .answer = ANSWERED_NO }, ACTION_REFUSED, "refused by a person" },
	{ { ASKED, .status = "COMPLETED" }, ACTION_DONE, "done, answered in the client" },
	{ { ASKED, .status = "FAILED", EXIT(2) }, ACTION_FAILED, "failed, exit 2, answered in the client" },
	{ { ASKED, .undone_us = 5 }, ACTION_EXPIRED, "expired, nobody answered" },
	{ { .kind = "grant", .verdict = "ALLOW" }, ACTION_RECORDED, "grant" },
};

static void states_follow_from_the_record(void **state)
{
	struct schema *schema;
	struct json *doc;
	struct err e;

	(void)state;
	assert_int_equal(
		json_parse(&a, cases_read(&a, "schemas/action.schema.json"), "schema", NULL, &doc, &e), OK);
	assert_int_equal(schema_compile(&a, doc, "schema", &schema, &e), OK);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct action x = rows[i].x;
		x.id = "dec-1";
		x.sentence = "ls";
		x.kind = x.kind ? x.kind : "decision";
		x.changed = x.deleted = x.place = -1;
		if (action_state_of(&x) != rows[i].state)
			fail_msg("row %zu: %s, not %s", i, action_state_name(action_state_of(&x)),
				action_state_name(rows[i].state));
		assert_string_equal(action_state_text(&a, &x), rows[i].text);
		if (schema_check(schema, action_json(&a, &x), &e))
			fail_msg("row %zu: %s", i, e.text);
	}
}

static void sentences_name_tool_and_arguments(void **state)
{
	static const struct {
		const char *tool, *door, *text, *shown, *want;
	} cases[] = {
		{ "Bash", "hook/codex", "rm -rf build", NULL, "rm -rf build" },
		{ "Write", "hook/codex", "src/a.c", NULL, "write src/a.c" },
		{ "WebFetch", "hook/codex", "https://example.org", NULL, "fetch https://example.org" },
		{ "rm", "run", "rm -rf d3", NULL, "rm -rf d3" },
		{ "mcp__mail__send", "mcp", "mcp__mail__send {\"to\":\"a\"}", NULL,
			"send of mail: {\"to\":\"a\"}" },
		{ "mcp__mail__send", "mcp", NULL, NULL, "send of mail" },
		{ "Bash", "api", NULL, NULL, "Bash by HTTP" },
		{ "Bash", "api", NULL, "{\"text\": \"Bash {\\\"command\\\":\\\"ls\\\"}\"}",
			"Bash {\"command\":\"ls\"} by HTTP" },
		{ "Bash", "hook/codex", "one\ntwo", NULL, "one two" },
		{ NULL, NULL, NULL, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json *shown = NULL;
		struct err e;
		if (cases[i].shown)
			assert_int_equal(
				json_parse(&a, bytes_of(cases[i].shown), "shown", NULL, &shown, &e), OK);
		const char *got = action_sentence(&a, cases[i].tool, cases[i].door, cases[i].text, shown);
		if (!got || !cases[i].want)
			assert_ptr_equal(got, cases[i].want);
		else
			assert_string_equal(got, cases[i].want);
	}
}

static void a_long_sentence_ends_between_characters(void **state)
{
	char text[1000];

	(void)state;
	text[0] = 'x';
	for (size_t i = 1; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	text[999] = '\0';
	const char *got = action_sentence(&a, "Bash", "hook/codex", text, NULL);
	assert_int_equal(strlen(got), 399);
	assert_int_equal(text_utf8_valid(got, strlen(got)), strlen(got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(states_follow_from_the_record, done),
		cmocka_unit_test_teardown(sentences_name_tool_and_arguments, done),
		cmocka_unit_test_teardown(a_long_sentence_ends_between_characters, done),
	};
	return cmocka_run_group_tests_name("action", tests, NULL, NULL);
}

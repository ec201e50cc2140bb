/* evidence_command_test.c — a list of beginnings: what it permits, and what of it is new. */
#include "base/text.h"
#include "remember/evidence_command.h"
#include "tools/unit.h"

#include <string.h>

static struct json *parse(struct arena *a, const char *text)
{
	struct json *doc = NULL;
	struct err e = { 0 };

	if (json_parse(a, bytes_of(text), "test", NULL, &doc, &e))
		fail_msg("%s: %s", text, e.text);
	return doc;
}

static const char *kind_of(
	struct arena *a, const struct evidence_rules *r, const char *argv, bool is_readback)
{
	const struct evidence_question q = { parse(a, argv), "/ws/site", "/ws", is_readback };
	const char *why = NULL;
	const struct json *found = evidence_prefix(a, r, &q, &why);

	return found ? evidence_kind(found) : why;
}

static void compared_word_by_word(void **state)
{
	static const struct {
		const char *argv, *said;
	} cases[] = {
		{ "[\"npm\",\"test\"]", "test" },
		{ "[\"npm\",\"test\",\"--\",\"-x\"]", "test" },
		{ "[\"npm\",\"run\",\"build\"]", "build" },
		{ "[\"npm\",\"run\",\"typecheck\"]", "static_check" },
		{ "[\"python\",\"-m\",\"pytest\"]", "test" },
		{ "[\"/usr/bin/python3.11\",\"-m\",\"mypy\",\"x\"]", "static_check" },
		{ "[\"black\",\"--check\",\".\"]", "static_check" },
		{ "[\"npm\"]", "it is not on the list of evidence commands" },
		{ "[\"npm\",\"tests\"]", "it is not on the list of evidence commands" },
		{ "[\"pythonx\",\"-m\",\"pytest\"]", "it is not on the list of evidence commands" },
		{ "[\"sh\",\"-c\",\"npm test\"]", "it is not on the list of evidence commands" },
		{ "[\"npm\",\"test\",\"x;y\"]", "a word has a character of the shell" },
		{ "[\"npm\",\"test\",\"$(y)\"]", "a word has a character of the shell" },
		{ "[\"npm\",\"test\",\"${y}\"]", "a word has a character of the shell" },
		{ "[\"npm\",\"test\",\"$y\"]", "test" },
		{ "[]", "a command is a list of 1 to 64 words" },
		{ "[\"npm\",1]", "a command is a list of 1 to 64 words" },
		{ "\"npm test\"", "a command is a list of 1 to 64 words" },
	};
	struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(
			kind_of(&a, evidence_rules_shipped(&a), cases[i].argv, false), cases[i].said);
	assert_string_equal(kind_of(&a, evidence_rules_shipped(&a), "[\"npm\",\"test\"]", true),
		"it is no readback command that a person accepted");
	arena_done(&a);
}

#define OWN \
	"{\"limits\":{\"max_commands\":9,\"timeout_seconds\":5},\"allowed_prefixes\":[[\"make\",\"check\"],[\"npm\",\"test\",\"-x\"]]," \
	"\"service_readback_prefixes\":[[\"curl\",\"-f\"]],\"repository_prefixes\":[{\"root\":\"site\",\"prefixes\":[[\"make\",\"site\"]]}]}"

static void stricter_where_nobody_accepted(void **state)
{
	struct arena a = { 0 };
	struct evidence_rules own, both;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(evidence_rules_parse(&a, bytes_of(OWN), &own, &e), OK);
	both = evidence_rules_both(&own, evidence_rules_shipped(&a));
	assert_int_equal(both.max_commands, 8);
	assert_int_equal(both.timeout_seconds, 5);
	assert_int_equal(own.output_chars, 12000);
	assert_string_equal(kind_of(&a, &own, "[\"make\",\"check\"]", false), "verification");
	assert_string_equal(kind_of(&a, &own, "[\"make\",\"site\"]", false), "verification");
	assert_string_equal(kind_of(&a, &own, "[\"curl\",\"-f\",\"x\"]", true), "verification");
	static const char *const none[] = { "[\"make\",\"check\"]", "[\"make\",\"site\"]",
		"[\"npm\",\"test\"]" };
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_string_equal(
			kind_of(&a, &both, none[i], false), "it is not on the list of evidence commands");
	assert_string_equal(kind_of(&a, &both, "[\"curl\",\"-f\",\"x\"]", true),
		"it is no readback command that a person accepted");
	assert_string_equal(kind_of(&a, &both, "[\"npm\",\"test\",\"-x\"]", false), "test");
	arena_done(&a);
}

static void a_person_is_told_what_is_new(void **state)
{
	struct arena a = { 0 };
	struct evidence_rules own;
	struct err e = { 0 };
	const struct evidence_rules *shipped = evidence_rules_shipped(&a);

	(void)state;
	assert_int_equal(evidence_rules_parse(&a, bytes_of(OWN), &own, &e), OK);
	struct json *list = evidence_rules_loosen(&a, &own, shipped);
	assert_int_equal(list->n, 4);
	assert_string_equal(json_text(list->items[0]), "evidence: 'make check' shows that work was done");
	assert_string_equal(json_text(list->items[1]), "evidence: 'curl -f' shows what a service has");
	assert_string_equal(
		json_text(list->items[2]), "evidence: 'make site' shows that work was done in site");
	assert_string_equal(json_text(list->items[3]), "evidence: more or longer commands than shipped");
	assert_int_equal(evidence_rules_loosen(&a, shipped, shipped)->n, 0);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(compared_word_by_word),
		cmocka_unit_test(stricter_where_nobody_accepted),
		cmocka_unit_test(a_person_is_told_what_is_new) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* reason_test.c — the registry of reason codes holds together, and agrees with the published one where that is present. */
#include "tools/reasons.h"

#include "base/text.h"

#include "tools/unit.h"
#include <stdio.h>
#include <string.h>

static void codes_are_unique_and_found(void **state)
{
	(void)state;
	for (int i = 0; i < REASON_COUNT; i++) {
		const struct reason *r = reason_get((enum reason_code)i);
		assert_ptr_equal(reason_find(r->code), r);
	}
	assert_null(reason_find("NO_SUCH_CODE"));
	assert_null(reason_find(""));
}

static void every_row_speaks_to_a_person(void **state)
{
	(void)state;
	for (int i = 0; i < REASON_COUNT; i++) {
		const struct reason *r = reason_get((enum reason_code)i);
		assert_int_equal(r->meaning[strlen(r->meaning) - 1], '.');
		assert_int_equal(r->remedy[strlen(r->remedy) - 1], '.');
		assert_true(r->verdicts != 0);
	}
}

static void verdicts_fit_as_registered(void **state)
{
	(void)state;
	assert_true(reason_fits(reason_get(REASON_POLICY_VIOLATION), V_DENY));
	assert_false(reason_fits(reason_get(REASON_POLICY_VIOLATION), V_ESCALATE));
	assert_false(reason_fits(reason_get(REASON_POLICY_VIOLATION), V_ALLOW));
	/* widened: conforming vectors use these three against their registration */
	assert_true(reason_fits(reason_get(REASON_MISSING_REQUIREMENT), V_ESCALATE));
	assert_true(reason_fits(reason_get(REASON_CONTEXT_MISMATCH), V_ESCALATE));
	assert_true(reason_fits(reason_get(REASON_APPROVAL_REQUIRED), V_DENY));
	assert_string_equal(finality_name(FINALITY_UNGRANTED), "ungranted");
	assert_null(finality_name(FINALITY_UNCLASSIFIED));
}

static void the_registry_has_102_codes(void **state)
{
	int n = 0;

	(void)state;
	for (int i = 0; i < REASON_COUNT; i++)
		n += text_eq(reason_get((enum reason_code)i)->family, "registry");
	assert_int_equal(n, 102);
}

/* One entry of the published registry, as text: it is small and regular, so it is searched rather than parsed. */
static void check_entry(const char *entry)
{
	char code[80], want[120];
	const struct reason *r;

	assert_int_equal(sscanf(entry, "\"code\": \"%79[A-Z0-9_]\"", code), 1);
	r = reason_find(code);
	if (!r)
		fail_msg("published code %s is not in the table", code);
	snprintf(want, sizeof(want), "\"domain\": \"%s\"", r->domain);
	if (!strstr(entry, want))
		fail_msg("%s: domain differs from '%s'", code, r->domain);
	if (!strstr(entry, "\"DENY\"") != !(r->verdicts & REASON_DENIES) ||
		!strstr(entry, "\"ESCALATE\"") != !(r->verdicts & REASON_ESCALATES))
		fail_msg("%s: verdicts differ", code);
	snprintf(want, sizeof(want), "\"finality\": \"%s\"",
		finality_name(r->finality) ? finality_name(r->finality) : "");
	if (r->finality ? !strstr(entry, want) : strstr(entry, "\"finality\"") != NULL)
		fail_msg("%s: finality differs", code);
}

static void agrees_with_the_published_registry(void **state)
{
	static const char path[] =
		"../shared/vectors/kernel/protocols/json-schemas/reason-codes/reason-codes-v1.json";
	static char text[1 << 18];
	FILE *f = fopen(path, "r");
	int count = 0;

	(void)state;
	if (!f) {
		skip_because("%s is not here", path);
	}
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	for (char *at = strstr(text, "\"code\""), *next; at; at = next, count++) {
		next = strstr(at + 1, "\"code\"");
		if (next)
			next[-1] = '\0';
		check_entry(at);
	}
	assert_int_equal(count, 102);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_are_unique_and_found),
		cmocka_unit_test(every_row_speaks_to_a_person),
		cmocka_unit_test(verdicts_fit_as_registered),
		cmocka_unit_test(the_registry_has_102_codes),
		cmocka_unit_test(agrees_with_the_published_registry),
	};
	return cmocka_run_group_tests_name("reason", tests, NULL, NULL);
}

/* numbers_test.c — a number is a total, or says of how many: views of a record that the index is behind. */
#include "actions/actions.h"
#include "base/text.h"
#include "kernel/standing.h"
#include "tools/kernel_fixture.h"
#include "tools/store.h"
#include "tools/unit.h"

#include <string.h>

enum { MADE = 8000, DENIED = 3 };

static struct kernel_fixture x;
static struct actions_place place;

/* Every look at the clock finds that an hour has passed: there is never time for more than one step. */
static int64_t hours_us;
static int64_t hasty_clock(struct sys *s)
{
	(void)s;
	return hours_us += INT64_C(3600) * 1000000;
}

/* Longer than what a hasty view reads of the newest rows; the denials are the oldest. */
static void begin(void)
{
	struct err e = { 0 };

	kernel_fixture_begin(&x);
	const struct store_plan plan = { .receipts = MADE,
		.denied = DENIED,
		.door = "api",
		.start_us = sys_real()->now_us(sys_real()) - INT64_C(600) * 1000000,
		.step_us = 1000,
		.is_unsynced = true };
	assert_int_equal(store_fill(sys_real(), x.ws->state_fd, x.k.key, &plan, &e), OK);
	place = (struct actions_place){ .sys = sys_real(),
		.a = &x.request,
		.ws = x.ws,
		.root = x.ws->root,
		.layout = "helm",
		.state_name = x.ws->state_name,
		.state_dir = x.ws->state_dir,
		.root_fd = x.ws->root_fd,
		.state_fd = x.ws->state_fd };
}

static int64_t number(const struct json *doc, const char *part, const char *span, const char *name)
{
	const struct json *calls = json_get(doc, "calls");

	return json_get_int(json_get(part ? json_get(calls, part) : calls, span), name, -1);
}

static bool has_reason(const struct json *doc, const char *text)
{
	json_each (reason, json_get(doc, "reasons"))
		if (strstr(json_text(reason), text))
			return true;
	return false;
}

static void a_hasty_view_says_of_how_many(void **state)
{
	struct sys hasty = *sys_real();
	struct json *brief;
	struct err e = { 0 };

	(void)state;
	begin();
	hasty.mono_us = hasty_clock;
	place.sys = &hasty;
	place.is_quick = true;
	assert_int_equal(actions_brief(&place, standing(&hasty, &x.request, x.ws), &brief, &e), OK);
	const struct json *counted = json_get(json_get(brief, "calls"), "counted");
	int64_t n = json_get_int(counted, "receipts", 0), of = json_get_int(counted, "of", 0);
	assert_true(n > 0 && n < MADE && of >= MADE);
	assert_int_equal(number(brief, "other_doors", "last_24_hours", "refused"), 0);
	assert_string_equal(json_get_text(brief, "health", ""), "attention");
	const char *part = arena_printf(&x.request, "the newest %s of %s receipts",
			   text_thousands(&x.request, n), text_thousands(&x.request, of)),
		   *text = actions_brief_text(&x.request, brief, hasty.now_us(&hasty));
	assert_true(has_reason(brief, part));
	assert_non_null(
		strstr(actions_calls_text(&x.request, json_get(brief, "calls"), hasty.now_us(&hasty)), part));
	assert_null(strstr(text, "All is well"));
	kernel_fixture_done(&x);
}

static void a_patient_view_has_totals(void **state)
{
	struct sys hasty = *sys_real();
	struct json *status, *report;
	struct err e = { 0 };

	(void)state;
	begin();
	hasty.mono_us = hasty_clock;
	place.sys = &hasty;
	assert_int_equal(actions_report(&place, 20, &report, &e), OK);
	assert_int_equal(json_get_int(json_get(report, "receipts"), "denied", -1), DENIED);
	assert_int_equal(json_get_int(json_get(report, "receipts"), "allowed", -1), MADE / 2 - DENIED);
	assert_true(json_get_bool(report, "complete", false));
	assert_int_equal(
		actions_status(&place, standing_patient(&hasty, &x.request, x.ws, NULL), &status, &e), OK);
	assert_null(json_get(json_get(status, "calls"), "counted"));
	assert_int_equal(number(status, "other_doors", "last_24_hours", "refused"), DENIED);
	assert_int_equal(number(status, "other_doors", "last_hour", "refused"), DENIED);
	assert_int_equal(number(status, "other_doors", "last_24_hours", "passed"), MADE / 2 - DENIED);
	assert_int_equal(number(status, NULL, "last_24_hours", "refused"), 0);
	assert_true(has_reason(status, "3 calls over HTTP, the proxy or in sessions were refused"));
	kernel_fixture_done(&x);
}

/* What is older than a day is in no number; when it came is still known. */
static void an_old_call_is_in_no_number(void **state)
{
	const int64_t long_ago_us = sys_real()->now_us(sys_real()) - INT64_C(40) * 3600 * 1000000;
	const struct store_plan plan = {
		.receipts = 20, .denied = 10, .door = "proxy", .start_us = long_ago_us, .step_us = 1000
	};
	struct err e = { 0 };

	(void)state;
	kernel_fixture_begin(&x);
	assert_int_equal(store_fill(sys_real(), x.ws->state_fd, x.k.key, &plan, &e), OK);
	const struct json *doc = standing_patient(sys_real(), &x.request, x.ws, NULL);
	assert_int_equal(number(doc, "other_doors", "last_24_hours", "refused"), 0);
	assert_non_null(json_get_text(json_get(json_get(doc, "calls"), "other_doors"), "last_at", NULL));
	assert_false(has_reason(doc, "refused"));
	kernel_fixture_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hasty_view_says_of_how_many),
		cmocka_unit_test(a_patient_view_has_totals),
		cmocka_unit_test(an_old_call_is_in_no_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

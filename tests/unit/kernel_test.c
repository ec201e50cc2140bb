/* kernel_test.c — one process and many requests: nothing stays behind, nothing is done that is not allowed on record. */
#include "base/text.h"
#include "kernel/freeze.h"
#include "tools/kernel_fixture.h"
#include "tools/unit.h"

#include <errno.h>

static struct kernel_fixture x;

static int begin(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	return 0;
}

static int end(void **state)
{
	(void)state;
	kernel_fixture_done(&x);
	return 0;
}

static enum verdict handle(struct arena *a, const char *text)
{
	struct handling h = { .a = a };
	struct request q = kernel_fixture_shell(&x, text);
	struct err e = { 0 };

	if (kernel_handle(&x.k, &q, &h, &e))
		fail_msg("%s: %s", text, e.text);
	return h.verdict;
}

/* What a server will do: the same kernel, an arena per request, given back each time. */
static void a_thousand_requests_leave_nothing_in_the_process(void **state)
{
	static const struct {
		const char *text;
		enum verdict verdict;
	} asked[] = { { "ls -l", V_ALLOW }, { "rm -rf /", V_DENY }, { "rm -rf build", V_ESCALATE },
		{ "echo $(", V_ESCALATE }, { "touch a && cat a", V_ALLOW } };
	size_t kept = x.process.used_bytes, most = 0, first = 0;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		AUTO(arena_done) struct arena a = { 0 };
		size_t which = i % ARRAY_SIZE(asked);
		assert_int_equal(handle(&a, asked[which].text), asked[which].verdict);
		if (i < ARRAY_SIZE(asked) && a.used_bytes > first)
			first = a.used_bytes;
		if (a.used_bytes > most)
			most = a.used_bytes;
	}
	assert_int_equal(x.process.used_bytes, kept);
	/* Nor does a request get more expensive with those before it. */
	assert_true(most < 4 * first);
	assert_int_equal(kernel_fixture_receipts(&x, "decision")->n, 1000);
}

static void done_here_is_permitted_and_told(void **state)
{
	struct request q = kernel_fixture_shell(&x, "touch a");
	struct handling h = { .a = &x.request };
	struct json *happened = json_new(&x.request, JSON_OBJECT);
	struct err e = { 0 };

	(void)state;
	q.is_done_here = true;
	kernel_decide(&x.k, &q, &h);
	assert_int_equal(kernel_permit(&x.k, &h, &e), E_DENIED); /* allowed, and not on record */
	assert_int_equal(kernel_record(&x.k, &q, &h, &e), OK);
	assert_false(kernel_fixture_is_durable(&x, RECEIPTS));
	assert_int_equal(kernel_permit(&x.k, &h, &e), OK);
	assert_true(kernel_fixture_is_durable(&x, RECEIPTS));
	json_seti(&x.request, happened, "exit_code", 0);
	assert_int_equal(kernel_outcome(&x.k, &q, &h, happened, "COMPLETED", &e), OK);
	struct json *first = kernel_fixture_receipts(&x, "decision"),
		    *second = kernel_fixture_receipts(&x, "outcome");
	assert_int_equal(first->n, 1);
	assert_int_equal(second->n, 1);
	assert_string_equal(json_get_text(second->items[0], "decision_id", "?"), h.decision_id);
	assert_string_equal(json_get_text(first->items[0], "decision_id", "?"), h.decision_id);
	assert_string_equal(json_get_text(second->items[0], "args_hash", "?"),
		json_get_text(first->items[0], "args_hash", ""));
}

static void what_is_not_allowed_is_not_permitted(void **state)
{
	static const char *const refused[] = { "rm -rf /", "rm -rf build" };
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct request q = kernel_fixture_shell(&x, refused[i]);
		struct handling h = { .a = &x.request };
		q.is_done_here = true;
		assert_int_equal(kernel_handle(&x.k, &q, &h, &e), OK);
		assert_int_equal(kernel_permit(&x.k, &h, &e), E_DENIED);
		assert_string_equal(e.code, "KERNEL_PERMIT");
	}
}

/* Whatever call fails: without the record there is no permission. */
static void no_record_no_permission(void **state)
{
	(void)state;
	unsigned refused = 0;
	for (unsigned n = 1;; n++) {
		struct request q = kernel_fixture_shell(&x, "touch a");
		struct handling h = { .a = &x.request };
		struct err e = { 0 };
		uint32_t before = kernel_fixture_receipts(&x, "decision")->n;
		q.is_done_here = true;
		x.f.calls = 0;
		x.f.fail_at = n;
		x.f.fail_errno = EIO;
		x.f.fail_stays = true;
		int rc = kernel_handle(&x.k, &q, &h, &e);
		if (rc == OK)
			rc = kernel_permit(&x.k, &h, &e);
		bool has_fired = fault_fired(&x.f);
		x.f.fail_at = 0;
		if (rc == OK)
			assert_int_equal(kernel_fixture_receipts(&x, "decision")->n, before + 1);
		else
			refused++;
		kernel_fixture_reopen(&x);
		if (!has_fired)
			break;
	}
	assert_true(refused >= 3);
}

static void a_door_makes_it_stricter_only(void **state)
{
	struct err e = { 0 };
	struct request q = kernel_fixture_shell(&x, "ls");
	struct handling asked = { .a = &x.request }, denied = { .a = &x.request },
			worse = { .a = &x.request };

	(void)state;
	q.at_least.action = ACTION_ASK;
	q.at_least.rule = "risk.test";
	q.at_least.text = "the door asks";
	assert_int_equal(kernel_handle(&x.k, &q, &asked, &e), OK);
	assert_int_equal(asked.verdict, V_ESCALATE);
	assert_string_equal(asked.decision.detail_code, "risk.test");
	q.at_least.action = ACTION_DENY;
	assert_int_equal(kernel_handle(&x.k, &q, &denied, &e), OK);
	assert_int_equal(denied.verdict, V_DENY);
	q = kernel_fixture_shell(&x, "rm -rf /");
	q.at_least.action = ACTION_ASK;
	q.at_least.rule = "risk.test";
	q.at_least.text = "the door asks";
	assert_int_equal(kernel_handle(&x.k, &q, &worse, &e), OK);
	assert_int_equal(worse.verdict, V_DENY);
}

static int by_order(const char *kind, const char *signed_at, struct err *e)
{
	struct json *order = json_new(&x.request, JSON_OBJECT), *who = json_new(&x.request, JSON_OBJECT),
		    *receipt;

	json_sets(&x.request, who, "signed_at", signed_at);
	json_sets(&x.request, order, "kind", kind);
	json_set(&x.request, order, "approver", who);
	*e = (struct err){ 0 };
	return freeze_by_order(&x.k, &x.request, order, "fire", text_eq(kind, "unfreeze"), &receipt, e);
}

/* Times are what a centre shows to whoever signs, and it may lie. */
static void a_person_lifts_what_is_past(void **state)
{
	struct err e;
	int64_t now = x.k.sys->now_us(x.k.sys);
	const char *soon = text_time_z(&x.request, now + 60 * INT64_C(1000000)),
		   *earlier = text_time_z(&x.request, now - 60 * INT64_C(1000000));

	(void)state;
	assert_int_equal(by_order("freeze", earlier, &e), OK);
	assert_int_equal(by_order("unfreeze", "2199-01-01T00:00:00Z", &e), E_DENIED);
	assert_string_equal(e.code, "FLEET_TOUCH");
	assert_int_equal(by_order("unfreeze", soon, &e), OK);
	/* one by a clock that is far ahead is lifted today */
	assert_int_equal(by_order("freeze", "2199-01-01T00:00:00Z", &e), OK);
	assert_int_equal(by_order("unfreeze", earlier, &e), E_DENIED);
	assert_int_equal(by_order("unfreeze", soon, &e), OK);
}

static void a_freeze_is_above_everything(void **state)
{
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(handle(&x.request, "ls"), V_ALLOW);
	assert_int_equal(freeze_set(&x.k, &x.request, "agent:x", "fire", &receipt, &e), OK);
	assert_string_equal(json_get_text(receipt, "type", ""), "freeze");
	struct request q = kernel_fixture_shell(&x, "rm -rf build");
	struct handling h = { .a = &x.request };
	q.answer.is_approved = true;
	assert_int_equal(kernel_handle(&x.k, &q, &h, &e), OK);
	assert_int_equal(h.verdict, V_DENY);
	assert_int_equal(freeze_lift(&x.k, &x.request, "agent:x", "over", &receipt, &e), OK);
	assert_int_equal(handle(&x.request, "ls"), V_ALLOW);
	assert_int_equal(freeze_lift(&x.k, &x.request, "agent:x", "over", &receipt, &e), E_INPUT);
}

/* An act that cannot be recorded does not take effect. */
static void an_act_is_on_record_first(void **state)
{
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	x.f.fail_at = x.f.calls + 2;
	x.f.fail_errno = ENOSPC;
	x.f.fail_stays = true;
	assert_true(freeze_set(&x.k, &x.request, "*", "", &receipt, &e) != OK);
	x.f.fail_at = 0;
	kernel_fixture_reopen(&x);
	assert_int_equal(handle(&x.request, "ls"), V_ALLOW);
	assert_int_equal(workspace_use_profile(&x.k, &x.request, "inspect_local", NULL, &receipt, &e), OK);
	assert_string_equal(json_get_text(json_get(receipt, "metadata"), "after", ""), "inspect_local");
	assert_int_equal(kernel_fixture_receipts(&x, "setting")->n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_thousand_requests_leave_nothing_in_the_process, begin, end),
		cmocka_unit_test_setup_teardown(done_here_is_permitted_and_told, begin, end),
		cmocka_unit_test_setup_teardown(what_is_not_allowed_is_not_permitted, begin, end),
		cmocka_unit_test_setup_teardown(no_record_no_permission, begin, end),
		cmocka_unit_test_setup_teardown(a_door_makes_it_stricter_only, begin, end),
		cmocka_unit_test_setup_teardown(a_freeze_is_above_everything, begin, end),
		cmocka_unit_test_setup_teardown(a_person_lifts_what_is_past, begin, end),
		cmocka_unit_test_setup_teardown(an_act_is_on_record_first, begin, end),
	};

	return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}

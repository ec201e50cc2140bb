/* policy_crash_test.c — putting a policy in use, when every single system call fails or is the last one.
 *
 * While it is unfinished nothing is permitted that either policy forbids.  The next command finishes it: then the policy decides if and only if
 * the act is on record, and whoever was told OK finds it so. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/policy/policy.h"
#include "tools/act_crash.h"
#include "tools/unit.h"

#include <string.h>

/* Everything goes but one action. */
static int put_in_use(struct place *p, const char *forbidden, struct err *e)
{
	const char *text = arena_printf(&p->a,
		"{\"format\":\"helm.policy.v1\",\"name\":\"p\",\"version\":\"1\",\"epoch\":0,\"coverage\":\"open\",\"layers\":[{"
		"\"name\":\"P1\",\"priority\":1,\"rules\":[{\"id\":\"no\",\"actions\":[\"%s\"],\"verdict\":\"DENY\"}]}]}",
		forbidden);
	struct json *document, *receipt;
	int rc = json_parse(&p->a, bytes_of(text), "policy", NULL, &document, e);

	return rc ? rc
		  : policy_use(&p->k, &p->a, &(struct policy_choice){ .document = document }, &receipt, e);
}

static int use_first(struct place *p, struct err *e)
{
	return put_in_use(p, "FIRST", e);
}

static int use_second(struct place *p, struct err *e)
{
	return put_in_use(p, "SECOND", e);
}

static int use_none(struct place *p, struct err *e)
{
	struct json *receipt;

	return policy_use(&p->k, &p->a, &(struct policy_choice){ 0 }, &receipt, e);
}

static void setup_used(struct crash *c)
{
	setup_workspace(c);
	calmly(c, use_first);
}

static int act_first(struct crash *c, struct err *e)
{
	return act(c, use_first, e);
}

static int act_second(struct crash *c, struct err *e)
{
	return act(c, use_second, e);
}

static int act_none(struct crash *c, struct err *e)
{
	return act(c, use_none, e);
}

/* ---- what is found afterwards ---- */

static bool is_on_record(struct crash *c, const char *effect)
{
	struct bytes text = { 0 };
	AUTO(arena_done) struct arena a = { 0 };

	if (file_read(sys_real(), &a, c->t.fd, "ws/.helm/receipts.jsonl", 1 << 20, 0, &text, NULL))
		return false;
	const uint8_t *at = memmem(text.p, text.n, effect, strlen(effect));
	return at && memchr(at, '\n', text.n - (size_t)(at - text.p)); /* a torn line is no record */
}

static bool is_denied(struct place *p, struct sys *s, const char *action)
{
	const struct decision guard = { .verdict = V_ALLOW };
	const struct policy_question q = { .action = action, .principal = "agent:a", .now_us = s->now_us(s) };
	const struct policy_answer *x = policy_ask(s, &p->a, p->ws, NULL, &q, &guard);

	return x && x->verdict != V_ALLOW;
}

/* One reader before anything is finished, then one command, then another reader. */
struct found {
	bool first_before, second_before, first, second;
};

static void find(struct crash *c, struct found *ret)
{
	for (int i = 0; i < 3; i++) {
		AUTO(place_close) struct place p = { 0 };
		struct fault f;
		struct err e = { 0 };
		fault_init(&f);
		set_home(c, &f, &p);
		if (i == 1 ? place_open(c, &f.sys, &p, &e) : look(c, &f.sys, &p, &e))
			fail_msg("%s", e.text);
		*(i ? &ret->first : &ret->first_before) = is_denied(&p, &f.sys, "FIRST");
		*(i ? &ret->second : &ret->second_before) = is_denied(&p, &f.sys, "SECOND");
	}
}

static void check_first(struct crash *c, const struct crash_end *end)
{
	struct found x;
	bool is_recorded = is_on_record(c, "helm.policy/use");

	find(c, &x);
	assert_true(x.first_before || !is_recorded);
	assert_int_equal(x.first, is_recorded);
	assert_false(x.second);
	if (end->acks)
		assert_true(x.first_before && x.first);
}

/* The act of the setup is on record before; the second one says what it went from. */
static void check_second(struct crash *c, const struct crash_end *end)
{
	struct found x;
	bool is_recorded =
		is_on_record(c, "\"before\":\"sha256:") || is_on_record(c, "\"before\": \"sha256:");

	find(c, &x);
	assert_true(x.first_before || is_recorded);
	assert_true(x.second_before || !is_recorded);
	assert_int_equal(x.first, !is_recorded);
	assert_int_equal(x.second, is_recorded);
	if (end->acks)
		assert_true(x.second_before && !x.first_before);
}

static void check_none(struct crash *c, const struct crash_end *end)
{
	struct found x;
	bool is_recorded =
		is_on_record(c, "\"before\":\"sha256:") || is_on_record(c, "\"before\": \"sha256:");

	find(c, &x);
	assert_true(x.first_before || is_recorded);
	assert_int_equal(x.first, !is_recorded);
	if (end->acks)
		assert_false(x.first_before);
}

static void putting_in_use(void **state)
{
	(void)state;
	const struct crash_case what = { "use", setup_workspace, act_first, check_first };

	assert_true(crash_sweep(&what, NULL) > 10);
}

static void replacing(void **state)
{
	(void)state;
	const struct crash_case what = { "replace", setup_used, act_second, check_second };

	assert_true(crash_sweep(&what, NULL) > 10);
}

static void going_back(void **state)
{
	(void)state;
	const struct crash_case what = { "none", setup_used, act_none, check_none };

	assert_true(crash_sweep(&what, NULL) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(putting_in_use),
		cmocka_unit_test(replacing),
		cmocka_unit_test(going_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

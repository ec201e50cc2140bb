/* posture_crash_test.c — acts about what governs a workspace, when every single system call fails or is the last one.
 *
 * While an act is unfinished nothing is permitted that either the old word or the new one forbids.  The next command finishes it: then
 * what holds, what the tree's files say and what the chain says are the same, and whoever was told OK finds it so. */
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/freeze.h"
#include "kernel/posture.h"
#include "tools/act_crash.h"
#include "tools/unit.h"

#include <string.h>

static int freeze(struct place *p, struct err *e)
{
	struct json *receipt;

	return freeze_set(&p->k, &p->a, "*", "fire", &receipt, e);
}

static int lift(struct place *p, struct err *e)
{
	struct json *receipt;

	return freeze_lift(&p->k, &p->a, "*", "over", &receipt, e);
}

static int widen(struct place *p, struct err *e)
{
	struct json *receipt;

	return workspace_use_profile(&p->k, &p->a, "service_ops", "checkpoint", &receipt, e);
}

/* As init leaves it when a person made it. */
static void setup_alone(struct crash *c)
{
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct err e = { 0 };

	setup_workspace(c);
	fault_init(&f);
	set_home(c, &f, &p);
	assert_int_equal(look(c, &f.sys, &p, &e), OK);
	assert_int_equal(posture_begin(&f.sys, &p.a, p.ws, true, &e), OK);
}

static void setup_frozen(struct crash *c)
{
	setup_workspace(c);
	calmly(c, freeze);
}

static int act_freeze(struct crash *c, struct err *e)
{
	return act(c, freeze, e);
}

static int act_lift(struct crash *c, struct err *e)
{
	return act(c, lift, e);
}

static int act_widen(struct crash *c, struct err *e)
{
	return act(c, widen, e);
}

/* ---- what is found afterwards ---- */

static bool is_frozen(struct place *p)
{
	struct json *doc;
	struct err e = { 0 };

	return freeze_load(sys_real(), &p->a, p->ws, &doc, &e) != OK || json_get(doc, "*");
}

static const char *profile(struct place *p, struct sys *s)
{
	const char *name = "?";
	struct err e = { 0 };

	return workspace_default_profile(s, &p->a, p->ws, &name, &e) ? "?" : name;
}

static bool is_on_record(struct crash *c, const char *effect)
{
	struct bytes text = { 0 };
	AUTO(arena_done) struct arena a = { 0 };

	if (file_read(sys_real(), &a, c->t.fd, "ws/.helm/receipts.jsonl", 1 << 20, 0, &text, NULL))
		return false;
	const uint8_t *at = memmem(text.p, text.n, effect, strlen(effect));
	return at && memchr(at, '\n', text.n - (size_t)(at - text.p)); /* a torn line is no record */
}

static bool file_says(struct crash *c, const char *file, const char *what)
{
	struct bytes text = { 0 };
	AUTO(arena_done) struct arena a = { 0 };

	return file_read(sys_real(), &a, c->t.fd, file, 1 << 20, 0, &text, NULL) == OK &&
		memmem(text.p, text.n, what, strlen(what));
}

/* One reader before anything is finished, then one command, then another reader. */
struct found {
	bool was_frozen, is_frozen;
	char before[32], after[32];
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
		*(i ? &ret->is_frozen : &ret->was_frozen) = is_frozen(&p);
		snprintf(i ? ret->after : ret->before, 32, "%s", profile(&p, &f.sys));
	}
}

static void check_freeze(struct crash *c, const struct crash_end *end)
{
	struct found x;
	bool is_recorded = is_on_record(c, "helm.freeze/set");

	find(c, &x);
	assert_true(x.was_frozen || !is_recorded);
	assert_int_equal(x.is_frozen, is_recorded);
	assert_int_equal(file_says(c, "ws/.helm/freeze.json", "fire"), is_recorded);
	if (end->acks)
		assert_true(x.is_frozen);
}

/* No act is about that, so none changes it, finished or not. */
static void check_alone(struct crash *c, const struct crash_end *end)
{
	AUTO(place_close) struct place p = { 0 };
	struct fault f;
	struct err e = { 0 };

	check_freeze(c, end);
	fault_init(&f);
	set_home(c, &f, &p);
	assert_int_equal(look(c, &f.sys, &p, &e), OK);
	assert_true(posture_of(&f.sys, p.ws)->stands_alone);
}

static void check_lift(struct crash *c, const struct crash_end *end)
{
	struct found x;
	bool is_recorded = is_on_record(c, "helm.freeze/lift");

	find(c, &x);
	assert_true(x.was_frozen || is_recorded);
	assert_int_equal(x.is_frozen, !is_recorded);
	assert_int_equal(file_says(c, "ws/.helm/freeze.json", "fire"), !is_recorded);
	if (end->acks)
		assert_true(!x.was_frozen && !x.is_frozen);
}

static void check_widen(struct crash *c, const struct crash_end *end)
{
	struct found x;
	bool is_recorded = is_on_record(c, "helm.profile/use");

	find(c, &x);
	assert_true(is_recorded || !text_eq(x.before, "service_ops"));
	assert_string_equal(x.after, is_recorded ? "service_ops" : "workspace_edit");
	assert_int_equal(file_says(c, "ws/.helm/workspace.json", "service_ops"), is_recorded);
	if (end->acks)
		assert_string_equal(x.before, "service_ops");
}

static void freezing(void **state)
{
	(void)state;
	const struct crash_case what = { "freeze", setup_workspace, act_freeze, check_freeze };

	assert_true(crash_sweep(&what, NULL) > 10);
}

static void the_first_act(void **state)
{
	(void)state;
	const struct crash_case what = { "first act", setup_alone, act_freeze, check_alone };

	assert_true(crash_sweep(&what, NULL) > 10);
}

static void lifting(void **state)
{
	(void)state;
	const struct crash_case what = { "lift", setup_frozen, act_lift, check_lift };

	assert_true(crash_sweep(&what, NULL) > 10);
}

static void widening(void **state)
{
	(void)state;
	const struct crash_case what = { "widen", setup_workspace, act_widen, check_widen };

	assert_true(crash_sweep(&what, NULL) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(freezing),
		cmocka_unit_test(the_first_act),
		cmocka_unit_test(lifting),
		cmocka_unit_test(widening),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

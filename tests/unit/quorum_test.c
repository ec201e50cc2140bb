/* quorum_test.c — what takes several people: two real registered keys say yes, and nothing less lets it through. */
#include "base/text.h"
#include "kernel/approval/approval.h"
#include "tools/kernel_fixture.h"
#include "tools/unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static struct kernel_fixture x;
static const char COMMAND[] = "rm -rf build";
enum { KEYS = 4, SECOND = 1000000 };
static struct person people[KEYS]; /* ann, bob, ann again, and one that nobody registered */

static void register_keys(size_t n)
{
	static const char *const labels[KEYS] = { "ann", "bob", "ann", "" };
	struct arena *a = &x.process;
	struct json *doc = json_new(a, JSON_OBJECT), *keys = json_new(a, JSON_ARRAY);
	struct buf text;

	for (size_t i = 0; i < n; i++) {
		struct json *row = json_new(a, JSON_OBJECT);
		char id[KEY_ID];
		key_id(key_public(people[i].key), id);
		json_sets(a, row, "key_id", id);
		json_sets(a, row, "public_key_hex", id + strlen("ed25519:"));
		json_sets(a, row, "label", labels[i]);
		json_push(a, keys, row);
	}
	json_set(a, doc, "keys", keys);
	buf_init(&text, a);
	json_write(&text, doc, 0);
	(void)mkdirat(x.home.fd, ".helm/trust", 0700);
	scratch_put(&x.home,
		".helm/trust/"
		"approvers.json",
		text.p);
}

static int begin(void **state)
{
	(void)state;
	kernel_fixture_begin(&x);
	x.f.has_clock = true;
	x.f.clock_us = INT64_C(1800000000) * SECOND;
	x.f.step_us = 1000;
	for (size_t i = 0; i < KEYS; i++) {
		struct err e = { 0 };
		char *name = arena_printf(&x.process, "person%zu", i);
		if (key_create(&x.f.sys, x.home.fd, "people", name, &people[i].key, &e))
			fail_msg("%s", e.text);
		people[i].name = name;
	}
	register_keys(3);
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (size_t i = 0; i < KEYS; i++)
		key_free(&people[i].key);
	kernel_fixture_done(&x);
	return 0;
}

/* As a door does when a policy says that this takes so many people. */
static struct handling ask_for(int approvers)
{
	struct handling h = { .a = &x.request };
	struct request q = kernel_fixture_shell(&x, COMMAND);
	struct err e = { 0 };

	kernel_decide(&x.k, &q, &h);
	h.decision.approvers = approvers;
	if (kernel_record(&x.k, &q, &h, &e))
		fail_msg("%s", e.text);
	return h;
}

static const char *id_of(const struct handling *h)
{
	return json_get_text(h->question, "approval_id", "");
}

static struct approval_terms once(void)
{
	return (struct approval_terms){
		.reach = REACH_EXACT, .is_once = true, .expires_us = (x.f.clock_us / SECOND + 3600) * SECOND
	};
}

static int say_yes(const char *id, const struct person *who, struct json **receipt, struct err *e)
{
	struct approval_terms t = once();

	return approval_approve(&x.k, &x.request, id, &t, who, receipt, e);
}

static void refused(const char *id, const struct person *who, const char *code)
{
	struct json *receipt;
	struct err e = { 0 };

	assert_int_not_equal(say_yes(id, who, &receipt, &e), OK);
	assert_string_equal(e.code, code);
}

static const char *so_far(const char *id, const struct person *who)
{
	struct json *receipt;
	struct err e = { 0 };

	if (say_yes(id, who, &receipt, &e))
		fail_msg("%s", e.text);
	const struct json *about = json_get(receipt, "metadata");
	return json_get(about, "grant") ? "granted" : "not yet";
}

static void two_people_say_yes(void **state)
{
	(void)state;
	struct handling h = ask_for(2);
	const char *id = id_of(&h);

	assert_int_equal(h.verdict, V_ESCALATE);
	assert_int_equal(json_get_int(h.question, "approvers", 0), 2);
	x.f.clock_us += 3 * SECOND;
	assert_string_equal(so_far(id, &people[0]), "not yet");
	assert_int_equal(ask_for(2).verdict, V_ESCALATE);
	/* Another process: what was signed is beside the question. */
	kernel_fixture_reopen(&x);
	assert_string_equal(so_far(id, &people[1]), "granted");
	struct handling used = ask_for(2);
	assert_int_equal(used.verdict, V_ALLOW);
	assert_string_equal(used.settled.by, "grant");
	/* Once. */
	assert_int_equal(ask_for(2).verdict, V_ESCALATE);
}

static void one_person_is_not_two(void **state)
{
	static const struct person at_terminal = { .name = "user:1000 at a test" };
	struct approval_terms wide = once();
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	const char *id = id_of(&(struct handling){ .question = ask_for(2).question });
	refused(id, &people[0], "APPROVAL_HOLD");
	x.f.clock_us += 3 * SECOND;
	refused(id, &at_terminal, "APPROVAL_QUORUM");
	assert_string_equal(so_far(id, &people[0]), "not yet");
	refused(id, &people[0], "APPROVAL_TWICE");
	refused(id, &people[2], "APPROVAL_TWICE"); /* another key of the same person */
	refused(id, &people[3], "APPROVER_UNKNOWN");
	wide.is_once = false;
	assert_int_equal(approval_approve(&x.k, &x.request, id, &wide, &people[1], &receipt, &e), E_INPUT);
	assert_string_equal(e.code, "APPROVAL_REACH");
	assert_int_equal(ask_for(2).verdict, V_ESCALATE);
}

/* A grant of one person, however wide, never answers what takes two; nor do two such grants, nor a grant of two what takes three. */
static void single_grants_never_answer(void **state)
{
	struct approval_terms shape = { .reach = REACH_SHAPE,
		.expires_us = (x.f.clock_us / SECOND + 3600) * SECOND };
	struct json *receipt;
	struct err e = { 0 };

	(void)state;
	struct handling one = ask_for(0);
	assert_int_equal(
		approval_approve(&x.k, &x.request, id_of(&one), &shape, &people[0], &receipt, &e), OK);
	assert_int_equal(ask_for(0).verdict, V_ALLOW);
	struct handling two = ask_for(2);
	assert_int_equal(two.verdict, V_ESCALATE);
	x.f.clock_us += 3 * SECOND;
	assert_string_equal(so_far(id_of(&two), &people[0]), "not yet");
	assert_string_equal(so_far(id_of(&two), &people[1]), "granted");
	assert_int_equal(ask_for(3).verdict, V_ESCALATE);
	assert_int_equal(ask_for(2).verdict, V_ALLOW);
}

/* A key that is taken away between the first yes and the last counts for nothing. */
static void keys_must_still_be_registered(void **state)
{
	(void)state;
	struct handling h = ask_for(2);

	x.f.clock_us += 3 * SECOND;
	assert_string_equal(so_far(id_of(&h), &people[1]), "not yet");
	register_keys(1);
	refused(id_of(&h), &people[0], "APPROVER_UNKNOWN");
}

/* Two keys without a name may be one person's. */
static void keys_without_a_name_count_for_nobody(void **state)
{
	(void)state;
	struct handling h = ask_for(2);

	register_keys(KEYS);
	x.f.clock_us += 3 * SECOND;
	refused(id_of(&h), &people[3], "APPROVER_UNNAMED");
	assert_string_equal(so_far(id_of(&h), &people[0]), "not yet");
	refused(id_of(&h), &people[3], "APPROVER_UNNAMED");
	assert_string_equal(so_far(id_of(&h), &people[1]), "granted");
}

/* The challenge lasts an hour: who said yes before that says it again. */
static void an_old_challenge_is_over(void **state)
{
	(void)state;
	struct handling h = ask_for(2);

	x.f.clock_us += 3 * SECOND;
	assert_string_equal(so_far(id_of(&h), &people[0]), "not yet");
	x.f.clock_us += INT64_C(3601) * SECOND;
	assert_string_equal(so_far(id_of(&h), &people[1]), "not yet");
	assert_string_equal(so_far(id_of(&h), &people[0]), "granted");
}

/* Somebody writes a signature of their own beside the question. */
static void what_was_signed_cannot_be_exchanged(void **state)
{
	(void)state;
	struct handling h = ask_for(2);
	struct json *doc, *entry;
	struct err e = { 0 };
	struct buf text;

	x.f.clock_us += 3 * SECOND;
	assert_string_equal(so_far(id_of(&h), &people[0]), "not yet");
	assert_int_equal(approvals_load(&x.f.sys, &x.request, x.ws, &doc, &e), OK);
	entry = json_get(json_get(doc, "requests"), id_of(&h));
	struct json *assertion = json_at(json_get(json_get(entry, "quorum"), "assertions"), 0);
	char id[KEY_ID];
	key_id(key_public(people[3].key), id);
	json_sets(&x.request, assertion, "key_id", id);
	buf_init(&text, &x.request);
	json_write(&text, doc, JSON_INDENT);
	scratch_put(&x.home, "ws/.helm/" APPROVALS, text.p);
	refused(id_of(&h), &people[1], "APPROVAL_TAMPERED");
	assert_int_equal(ask_for(2).verdict, V_ESCALATE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(two_people_say_yes, begin, end),
		cmocka_unit_test_setup_teardown(one_person_is_not_two, begin, end),
		cmocka_unit_test_setup_teardown(single_grants_never_answer, begin, end),
		cmocka_unit_test_setup_teardown(keys_must_still_be_registered, begin, end),
		cmocka_unit_test_setup_teardown(keys_without_a_name_count_for_nobody, begin, end),
		cmocka_unit_test_setup_teardown(an_old_challenge_is_over, begin, end),
		cmocka_unit_test_setup_teardown(what_was_signed_cannot_be_exchanged, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

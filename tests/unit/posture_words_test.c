/* posture_words_test.c — two words about one place: what holds by both, and whether one binds the places inside. */
#include "base/text.h"
#include "kernel/posture_parts.h"
#include "tools/unit.h"

static struct arena a;

static struct json *word_of(const char *text)
{
	struct json *word;

	assert_int_equal(json_parse(&a, bytes_of(text), "word", NULL, &word, NULL), OK);
	return word;
}

/* Each policy that holds by either of two words is asked, once, and none answers for a person. */
static void all_policies_of_both_words_hold(void **state)
{
	(void)state;
	struct json *unfinished = word_of(
		"{\"policy\":{\"sha256\":\"a\",\"lifts\":[\"r\"]},\"policy_also\":[{\"sha256\":\"b\"}]}");
	struct json *own = word_of(
		"{\"policy\":{\"sha256\":\"c\"},\"policy_also\":[{\"sha256\":\"d\"},{\"sha256\":\"a\"}]}");
	struct json *both = posture_strictest(&a, unfinished, own);
	assert_true(json_eq(json_get(both, "policy"), word_of("{\"sha256\":\"a\"}")));
	assert_true(json_eq(json_get(both, "policy_also"),
		word_of("[{\"sha256\":\"b\"},{\"sha256\":\"c\"},{\"sha256\":\"d\"}]")));
	both = posture_strictest(&a, word_of("{}"), unfinished);
	assert_true(json_eq(json_get(both, "policy"), word_of("{\"sha256\":\"a\"}")));
	assert_true(json_eq(json_get(both, "policy_also"), word_of("[{\"sha256\":\"b\"}]")));
	both = posture_strictest(&a, word_of("{\"policy\":{\"sha256\":\"a\"}}"), word_of("{}"));
	assert_null(json_get(both, "policy_also"));
	/* Two words that say the same leave what it answers. */
	struct json *same = word_of("{\"policy\":{\"sha256\":\"a\",\"lifts\":[\"r\"]}}");
	both = posture_strictest(&a, same, same);
	assert_non_null(json_get(json_get(both, "policy"), "lifts"));
	/* What either word holds against a policy holds. */
	struct json *barred = word_of("{\"policy_revoked\":{\"a\":\"lost\"},\"policy_signed\":true}");
	both = posture_strictest(&a, word_of("{\"policy_revoked\":{\"b\":\"old\"}}"), barred);
	assert_true(json_eq(json_get(both, "policy_revoked"), word_of("{\"b\":\"old\",\"a\":\"lost\"}")));
	assert_true(json_get_bool(both, "policy_signed", false));
	arena_done(&a);
	a = (struct arena){ 0 };
}

/* Of two different choices neither counts: what only looks does, and what destroys is asked about. */
static void of_two_choices_neither_holds(void **state)
{
	(void)state;
	struct json *one = word_of("{\"default_profile\":\"service_ops\",\"destructive\":\"checkpoint\"}");
	struct json *other = word_of("{\"default_profile\":\"risky_edit\",\"destructive\":\"ask\"}");
	struct json *both = posture_strictest(&a, one, other);
	assert_string_equal(json_get_text(both, "default_profile", ""), "inspect_local");
	assert_string_equal(json_get_text(both, "destructive", ""), "ask");
	both = posture_strictest(&a, one, one);
	assert_string_equal(json_get_text(both, "default_profile", ""), "service_ops");
	assert_string_equal(json_get_text(both, "destructive", ""), "checkpoint");
	arena_done(&a);
	a = (struct arena){ 0 };
}

/* Settings that name no guarantees, as older versions wrote them, waive all; of two only what both waive counts. */
static void only_what_both_waive_is_waived(void **state)
{
#define ON(machine, rest) "{\"degraded\":true,\"degraded_machine\":\"" machine "\"" rest "}"
	static const struct {
		const char *x, *y, *names;
	} cases[] = {
		{ ON("m", ",\"degraded_guarantees\":[\"read\",\"own\"]"),
			ON("m", ",\"degraded_guarantees\":[\"own\",\"write\"]"), "own" },
		{ ON("m", ""), ON("m", ",\"degraded_guarantees\":[\"own\"]"), "own" },
		{ ON("m", ",\"degraded_guarantees\":[\"own\"]"), ON("m", ""), "own" },
		{ ON("m", ",\"degraded_guarantees\":[\"own\"]"),
			ON("m", ",\"degraded_guarantees\":[\"read\"]"), NULL },
		{ ON("m", ",\"degraded_guarantees\":[\"own\"]"),
			ON("n", ",\"degraded_guarantees\":[\"own\"]"), NULL },
		{ ON("m", ",\"degraded_guarantees\":[\"gravity\"]"), ON("m", ""), NULL },
		{ ON("m", ""), "{\"degraded\":false}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json *both = posture_strictest(&a, word_of(cases[i].x), word_of(cases[i].y)),
			    *names = json_get(both, "degraded_guarantees");
		assert_int_equal(json_get_bool(both, "degraded", false), cases[i].names != NULL);
		assert_int_equal(names != NULL, cases[i].names != NULL);
		if (names) {
			assert_int_equal(names->n, 1);
			assert_string_equal(json_text(json_at(names, 0)), cases[i].names);
		}
	}
	struct json *all = posture_strictest(&a, word_of(ON("m", "")), word_of(ON("m", "")));
	assert_true(json_get_bool(all, "degraded", false));
	assert_null(json_get(all, "degraded_guarantees"));
	arena_done(&a);
	a = (struct arena){ 0 };
#undef ON
}

/* Whatever a word about the place around says binds the one inside; a word that says nothing does not. */
static void every_part_of_a_word_binds(void **state)
{
	static const char *const words[] = { "{\"freezes\":{\"*\":{}}}", "{\"pauses\":{\"p\":{}}}",
		"{\"accepted\":{\"f\":\"d\"}}", "{\"egress\":[\"a.example\"]}",
		"{\"allowed_paths\":{\"/srv\":\"x\"}}", "{\"default_profile\":\"inspect_local\"}",
		"{\"policy\":{}}", "{\"destructive\":\"ask\"}", "{\"require_key\":true}",
		"{\"degraded\":true}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct posture p = { .word = word_of(words[i]), .outer = "/srv" };
		if (!posture_binds(&p))
			fail_msg("%s binds nobody", words[i]);
		p.outer = NULL;
		assert_false(posture_binds(&p));
	}
	struct posture silent = { .word = word_of("{\"freezes\":{},\"require_key\":false}"),
		.outer = "/srv" };
	assert_false(posture_binds(&silent));
	silent.broken = "lost";
	assert_true(posture_binds(&silent));
	arena_done(&a);
	a = (struct arena){ 0 };
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_policies_of_both_words_hold),
		cmocka_unit_test(of_two_choices_neither_holds),
		cmocka_unit_test(every_part_of_a_word_binds),
		cmocka_unit_test(only_what_both_waive_is_waived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

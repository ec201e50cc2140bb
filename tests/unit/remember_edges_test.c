/* remember_edges_test.c — whose word memory takes for what, and which commands may test a claim. */
#include "base/text.h"
#include "remember/claim.h"
#include "remember/lifecycle.h"
#include "remember/memory.h"
#include "tools/unit.h"

#include <string.h>

static struct arena a;

static int done(void **state)
{
	(void)state;
	arena_done(&a);
	return 0;
}

static struct json *parse(const char *text)
{
	struct json *v;
	struct err e;

	if (json_parse(&a, bytes_of(text), "test", NULL, &v, &e))
		fail_msg("%s: %s", e.text, text);
	return v;
}

/* What came from a page or a search was fetched, also when the network was closed to the run itself. */
static void what_was_fetched_is_called_so(void **state)
{
	static const struct {
		const char *row;
		enum memory_trust trust;
	} rows[] = {
		{ "{}", TRUST_FETCHED },
		{ "{\"protections\":{\"network_closed\":false}}", TRUST_FETCHED },
		{ "{\"protections\":{\"network_closed\":true}}", TRUST_TOOL },
		{ "{\"protections\":{\"network_closed\":true},\"meta\":{\"harness\":{\"browser_evidence\":{}}}}",
			TRUST_FETCHED },
		{ "{\"protections\":{\"network_closed\":true},\"meta\":{\"harness\":{\"retrieval_evidence\":{}}}}",
			TRUST_FETCHED },
		{ "{\"protections\":{\"network_closed\":true},\"meta\":{\"harness\":{\"other\":{}}}}",
			TRUST_TOOL },
		{ "{\"runtime_backend\":\"conversation\"}", TRUST_AGENT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (memory_trust_of_task(parse(rows[i].row)) != rows[i].trust)
			fail_msg("%s", rows[i].row);
}

/* Only what a person has put on the list runs, word by word. */
static void only_listed_probes_run(void **state)
{
	static const struct {
		const char *list, *command;
		bool may;
	} rows[] = {
		{ "[\"git status\"]", "git status", true },
		{ "[\"git status\"]", "git status --short", true },
		{ "[\"git status\"]", "git stat", false },
		{ "[\"git status\"]", "git", false },
		{ "[\"git status\"]", "rm -rf x", false },
		{ "[[\"git\",\"status\"]]", "git status", true },
		{ "[[\"git\",\"status\"]]", "git push", false },
		{ "[\"\"]", "rm -rf x", false },
		{ "[[]]", "rm -rf x", false },
		{ "[[1]]", "rm -rf x", false },
		{ "[]", "git status", false },
		{ "[\"true\",\"git status\"]", "git status", true },
		{ "[\"git status\"]", "", false },
		{ "[\"git status\"]", "git 'status", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct lifecycle l = { .at = { .a = &a }, .config = json_new(&a, JSON_OBJECT) };
		const char *const *argv;
		size_t argc;
		json_set(&a, l.config, "negative_claim_safe_probe_prefixes", parse(rows[i].list));
		if (claims_may_probe(&l, rows[i].command, &argv, &argc) != rows[i].may)
			fail_msg("%s: %s", rows[i].list, rows[i].command);
	}
}

/* Every move from every state: one step forward, back from promoted, or to rejected; promoting takes a person. */
static void notes_move_step_by_step(void **state)
{
	static const char *const states[] = { "captured", "reviewed", "applied", "promoted", "rejected" };

	(void)state;
	for (size_t from = 0; from < ARRAY_SIZE(states); from++)
		for (size_t to = 0; to < ARRAY_SIZE(states); to++)
			for (int by = 0; by < 4; by++) {
				struct note_move m = {
					.to = states[to], .is_person = by & 1, .incident = by & 2 ? "x" : NULL
				};
				struct json *fields = json_new(&a, JSON_OBJECT);
				json_sets(&a, fields, "state", states[from]);
				bool may = from != 4 &&
					(to == 4 || (from == 0 && to == 1) || (from == 1 && to == 2) ||
						(from == 2 && to == 3 && m.is_person) ||
						(from == 3 && to == 2 && (m.is_person || m.incident)));
				if (may != !memory_note_refuses(fields, &m))
					fail_msg("%s to %s by %d", states[from], states[to], by);
			}
	assert_non_null(memory_note_refuses(json_new(&a, JSON_OBJECT), &(struct note_move){ .to = "gone" }));
	assert_null(memory_note_refuses(json_new(&a, JSON_OBJECT), &(struct note_move){ .to = "reviewed" }));
}

/* Lines that stayed between two changes keep them apart: each side's change is taken, and nothing is in conflict. */
static void changes_that_lie_apart_are_both_taken(void **state)
{
	struct json *told = NULL;
	struct buf b;

	(void)state;
	buf_init(&b, &a);
	memory_merge(&a, bytes_of("1\n2\n3\n4\n5\n6\n7\n"), bytes_of("1\nour 2\n3\n4\n5\nour 6\n7\n"),
		bytes_of("1\n2\n3\ntheir 4\n5\n6\n7\n"), &b, &told);
	assert_string_equal(b.p, "1\nour 2\n3\ntheir 4\n5\nour 6\n7\n");
	assert_true(!told || !told->n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_fetched_is_called_so),
		cmocka_unit_test(only_listed_probes_run),
		cmocka_unit_test(notes_move_step_by_step),
		cmocka_unit_test(changes_that_lie_apart_are_both_taken),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}

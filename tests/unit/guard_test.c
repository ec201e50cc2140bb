/* guard_test.c — the guard as a whole, text in, decision out, over tables of commands.
 *
 * guard.jsonl holds the cases whose action is fixed.  guard_safe.jsonl and guard_destructive.jsonl are what agents really
 * type, with a budget each: how many ordinary commands may be stopped, how many destructive ones may pass.  The shared
 * vectors are read where they are present. */
#include "base/json.h"
#include "base/text.h"
#include "tools/cases.h"
#include "tools/guard_fixture.h"
#include "tools/unit.h"

#include <stdio.h>
#include <string.h>

static struct guard_fixture g;

static int begin(void **state)
{
	(void)state;
	guard_fixture_begin(&g);
	return 0;
}

static int done(void **state)
{
	(void)state;
	guard_fixture_done(&g);
	return 0;
}

typedef void row_fn(struct arena *a, const struct json *row, void *arg);

static size_t each_row(const char *path, row_fn *fn, void *arg)
{
	AUTO(arena_done) struct arena whole = { 0 }, one = { 0 };
	struct bytes text = cases_read(&whole, path);
	size_t n = 0;

	while (text.p && text.n) {
		struct bytes line = text_cut(&text, '\n');
		struct json *row;
		struct err e;
		if (line.n == 0)
			continue;
		if (json_parse(&one, line, path, NULL, &row, &e))
			fail_msg("%s", e.text);
		fn(&one, row, arg);
		arena_reset(&one);
		n++;
	}
	return n;
}

static struct decision judge_row(struct arena *a, const struct json *row)
{
	const struct json *list = json_get(row, "argv"), *shell = json_get(row, "shell");
	const char *profile = json_get_text(row, "profile", "workspace_edit"), **argv;

	if (shell)
		return guard_fixture_shell(&g, a, profile, shell->text, shell->n);
	argv = arena_zalloc(a, list->n + 1, sizeof(*argv));
	for (size_t i = 0; i < list->n; i++)
		argv[i] = json_text(json_at(list, i));
	return guard_fixture_argv(&g, a, profile, argv, list->n);
}

static const char *row_text(struct arena *a, const struct json *row)
{
	struct buf b;

	buf_init(&b, a);
	if (json_get(row, "shell"))
		return json_get_text(row, "shell", "");
	json_each (word, json_get(row, "argv"))
		buf_addf(&b, "%s%s", b.n ? " " : "", json_text(word));
	return b.p;
}

static void fixed_row(struct arena *a, const struct json *row, void *arg)
{
	struct decision d = judge_row(a, row);
	size_t *failures = arg;

	if (text_eq(action_name(d.action), json_get_text(row, "expect", "")))
		return;
	print_message("%s %s wants %s, is %s (%s) :: %s\n", json_get_text(row, "name", "?"),
		json_get_text(row, "profile", "?"), json_get_text(row, "expect", "?"), action_name(d.action),
		d.decisive ? d.decisive->rule : "-", row_text(a, row));
	++*failures;
}

static void fixed_cases(void **state)
{
	size_t failures = 0, n = each_row("tests/cases/guard.jsonl", fixed_row, &failures);

	(void)state;
	assert_int_equal(n, 343);
	assert_int_equal(failures, 0);
}

struct tally {
	size_t stopped, passed;
	bool wants_stop;
};

/* Network use under a profile without network is the profile's business, not a false alarm. */
static bool is_only_network(const struct decision *d)
{
	for (size_t i = 0; i < d->finding_count; i++)
		if (d->findings[i].action >= ACTION_ASK && !text_eq(d->findings[i].rule, "profile.network"))
			return false;
	for (size_t i = 0; i < d->denied_used_count; i++)
		if (d->denied_used[i] != GROUP_EXTERNAL_NETWORK)
			return false;
	return true;
}

static void corpus_row(struct arena *a, const struct json *row, void *arg)
{
	struct decision d = judge_row(a, row);
	struct tally *t = arg;
	bool is_stopped = d.verdict != V_ALLOW && (t->wants_stop || !is_only_network(&d));

	t->stopped += is_stopped;
	t->passed += !is_stopped;
	if (is_stopped != t->wants_stop)
		print_message("%s (%s) :: %s\n", is_stopped ? "stopped" : "passed",
			d.decisive ? d.decisive->rule : "-", row_text(a, row));
}

static void destructive_commands_are_stopped(void **state)
{
	struct tally t = { .wants_stop = true };
	size_t n = each_row("tests/cases/guard_destructive.jsonl", corpus_row, &t);

	(void)state;
	print_message("destructive: %zu of %zu stopped\n", t.stopped, n);
	assert_true(n >= 500);
	assert_true(t.stopped * 100 >= n * 98);
}

static void ordinary_work_is_left_alone(void **state)
{
	struct tally t = { .wants_stop = false };
	size_t n = each_row("tests/cases/guard_safe.jsonl", corpus_row, &t);

	(void)state;
	print_message("safe: %zu of %zu stopped\n", t.stopped, n);
	assert_true(n >= 400);
	assert_true(t.stopped * 100 <= n * 3);
}

/* --- shared vectors --------------------------------------------------------------------------------------------------- */

/* Cases that the guard decides the other way: privileges are always asked about, so is the removal of a container. */
static const char *const decided_otherwise[] = { "safe-sudo-preserve-env", "safe-sudo-E-ls",
	"safe-docker-rm-no-force", "safe-docker-rm-force-name" };

static bool is_decided_otherwise(const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(decided_otherwise); i++)
		if (text_eq(decided_otherwise[i], id))
			return true;
	return false;
}

struct shared {
	struct arena *a;
	size_t failures, count;
};

/* It passes, or is asked about for nothing but the name of a program, as without a sandbox everything unknown is. */
static bool is_calm(const struct decision *d)
{
	bool is_calm = d->verdict != V_DENY;

	for (size_t i = 0; i < d->finding_count; i++)
		is_calm &= d->findings[i].action < ACTION_ASK ||
			text_eq(d->findings[i].rule, "profile.unknown_tool");
	return is_calm;
}

/* One row of guard_classes.jsonl: what is dangerous is stopped under profiles that permit changes and network, and its harmless
 * neighbour is not. */
static void class_row(struct arena *a, const struct json *row, void *arg)
{
	const struct json *shell = json_get(row, "shell");
	bool wants_stop = json_get_bool(row, "stopped", false);
	struct decision edit = guard_fixture_shell(&g, a, "workspace_edit", shell->text, shell->n);
	struct decision ops = guard_fixture_shell(&g, a, "service_ops", shell->text, shell->n);
	bool is_right = wants_stop ? edit.verdict != V_ALLOW && ops.verdict != V_ALLOW
				   : is_calm(&ops) && (is_calm(&edit) || is_only_network(&edit));

	if (is_right)
		return;
	++*(size_t *)arg;
	print_message("%s (%s) :: %s :: %s\n", wants_stop ? "passed" : "stopped",
		ops.decisive ? ops.decisive->rule : "-", json_get_text(row, "class", "?"), shell->text);
}

static void classes_hold(void **state)
{
	size_t failures = 0, n = each_row("tests/cases/guard_classes.jsonl", class_row, &failures);

	(void)state;
	assert_true(n >= 2000);
	assert_int_equal(failures, 0);
}

/* One row of guard_tools.jsonl: a tool call as a client would make it. */
static void tool_row(struct arena *a, const struct json *row, void *arg)
{
	struct tool_call call = { .tool_name = json_get_text(row, "tool", "?"),
		.input = (struct json *)json_get(row, "input") };
	struct decision d = guard_fixture_tool(&g, a, "workspace_edit", &call);

	if ((d.verdict != V_ALLOW) == json_get_bool(row, "stopped", false))
		return;
	++*(size_t *)arg;
	print_message("%s (%s) :: %s\n", d.verdict == V_ALLOW ? "passed" : "stopped",
		d.decisive ? d.decisive->rule : "-", call.tool_name);
}

static void tools_are_judged_by_their_arguments(void **state)
{
	size_t failures = 0, n = each_row("tests/cases/guard_tools.jsonl", tool_row, &failures);

	(void)state;
	assert_true(n >= 120);
	assert_int_equal(failures, 0);
}

/* "Must reach a decision" is a question to a person at least; "must pass" is judged where the profile gives the right to
 * write and to use the network. */
static void shared_case(struct shared *s, const struct json *row, const char *id, bool wants_decision)
{
	const struct json *command = json_is(row, JSON_STRING) ? row : json_get(row, "command");
	const char *profile = wants_decision ? "workspace_edit" : "service_ops";
	struct decision d = guard_fixture_shell(&g, s->a, profile, command->text, command->n);

	s->count++;
	if (wants_decision == (d.action >= ACTION_ASK) || is_decided_otherwise(id))
		return;
	print_message("%s: %s (%s) :: %s\n", id, action_name(d.action), d.decisive ? d.decisive->rule : "-",
		command->text);
	s->failures++;
}

static void shared_list(struct shared *s, const struct json *list, bool wants_decision)
{
	json_each (row, list)
		shared_case(s, row, json_get_text(row, "id", "?"), wants_decision);
}

static bool has_fact(const struct decision *d, const char *class, const char *target)
{
	bool is_secret = text_eq(class, "secret");

	for (size_t i = 0; i < d->proposal->effect_count; i++) {
		const struct effect *e = &d->proposal->effects[i];
		bool is_class =
			is_secret ? e->kind == FX_SECRET_READ : e->kind == FX_NETWORK || e->kind == FX_REMOTE;
		if (is_class && e->target && (strstr(e->target, target) || strstr(target, e->target)))
			return true;
	}
	return false;
}

static void shared_facts(struct shared *s, const struct json *list)
{
	json_each (row, list) {
		const struct json *command = json_get(row, "command");
		struct decision d = guard_fixture_shell(&g, s->a, "service_ops", command->text, command->n);
		json_each (fact, json_get(row, "expected_facts")) {
			s->count++;
			if (has_fact(&d, json_get_text(fact, "class", ""), json_get_text(fact, "target", "")))
				continue;
			print_message("no %s fact :: %s\n", json_get_text(fact, "class", ""), command->text);
			s->failures++;
		}
	}
}

static void shared_lists(struct shared *s, const struct json *doc)
{
	static const char *const decided[] = { "decide", "unparseable", "facts_plus_generic_decision" };

	for (size_t i = 0; i < ARRAY_SIZE(decided); i++)
		shared_list(s, json_get(doc, decided[i]), true);
	shared_list(s, json_get(doc, "pass"), false);
	json_each (row, json_get(doc, "sensitive_target"))
		shared_case(s, row, "sensitive_target", json_get_bool(row, "expected_decide", true));
	json_each (row, json_get(doc, "beyond_the_original"))
		shared_case(s, row, json_get_text(row, "id", "?"),
			!text_starts(json_get_text(row, "must", ""), "not "));
	shared_facts(s, json_get(doc, "effect_facts"));
}

static void shared_vectors(void **state)
{
	static const char path[] = "../shared/vectors/policy/derived/shell-guard-cases.json";
	AUTO(arena_done) struct arena a = { 0 };
	struct shared s = { .a = &a };
	struct json *doc;
	struct err e;
	FILE *f = fopen(path, "r");

	(void)state;
	if (!f) {
		skip_because("%s is not here", path);
	}
	fclose(f);
	if (json_parse(&a, cases_read(&a, path), path, NULL, &doc, &e))
		fail_msg("%s", e.text);
	shared_lists(&s, doc);
	print_message("shared: %zu of %zu differ\n", s.failures, s.count);
	assert_true(s.count > 150);
	assert_int_equal(s.failures, 0);
}

/* Which tool groups a command uses is told by what was understood, not by how its text begins. */
static bool uses(const char *text, enum tool_group group)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct decision d = guard_fixture_shell(&g, &a, "workspace_edit", text, strlen(text));

	for (size_t i = 0; i < d.used_count; i++)
		if (d.used[i] == group)
			return true;
	return false;
}

static void looking_with_git_is_known_by_its_verb(void **state)
{
	(void)state;
	assert_true(uses("git diff", GROUP_GIT_DIFF));
	assert_true(uses("make && git -C sub status --short", GROUP_GIT_DIFF));
	assert_true(uses("env /usr/bin/git diff HEAD", GROUP_GIT_DIFF));
	assert_false(uses("git difftool", GROUP_GIT_DIFF));
	assert_false(uses("git log", GROUP_GIT_DIFF));
	assert_false(uses("'git diff' x", GROUP_GIT_DIFF));
	assert_false(uses("echo git diff", GROUP_GIT_DIFF));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fixed_cases, begin, done),
		cmocka_unit_test_setup_teardown(destructive_commands_are_stopped, begin, done),
		cmocka_unit_test_setup_teardown(ordinary_work_is_left_alone, begin, done),
		cmocka_unit_test_setup_teardown(classes_hold, begin, done),
		cmocka_unit_test_setup_teardown(tools_are_judged_by_their_arguments, begin, done),
		cmocka_unit_test_setup_teardown(looking_with_git_is_known_by_its_verb, begin, done),
		cmocka_unit_test_setup_teardown(shared_vectors, begin, done),
	};
	return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}

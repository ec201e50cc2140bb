/* shell.c — the suite of shell commands: which ones must reach a decision, and what they do.
 *
 *     derived/shell-guard-cases.json
 *
 * "Must reach a decision" is a question to a person at least, under a profile that writes; "must pass" is judged where the profile
 * gives the right to write and to use the network.  The command is read as everywhere (propose/), with no file system behind it. */
#include "audit/conform/conform.h"

#include "decide/decide.h"
#include "propose/propose.h"

#include <string.h>

struct shell_suite {
	struct conform_tally *t;
	const struct policy *policy;
	struct profiles profiles;
	struct surroundings at;
};

static void judge(const struct shell_suite *s, struct arena *a, const char *profile,
	const struct json *command, struct decision *ret)
{
	struct proposal *p = arena_zalloc(a, 1, sizeof(*p));
	struct decide_context at = { .a = a, .workspace = s->at.workspace };

	propose_shell(a, &s->at, (struct bytes){ (const uint8_t *)command->text, command->n }, p);
	decide(s->policy, profiles_find(&s->profiles, profile), p, &at, ret);
}

static const struct json *command_of(const struct json *row)
{
	return json_is(row, JSON_STRING) ? row : json_get(row, "command");
}

static void lacks_command(const struct shell_suite *s, const char *family, const struct json *row)
{
	conform_count(s->t, family, CONFORM_FAILED, json_get_text(row, "id", "?"), row, NULL);
}

/* Privileges and containers are asked about here whatever the command, which the published answers leave to others. */
static bool is_asked_by_others(const struct decision *d)
{
	for (size_t i = 0; i < d->ask_count; i++)
		if (!d->asks[i].effect ||
			(d->asks[i].effect->kind != FX_PRIVILEGE && d->asks[i].effect->kind != FX_CONTAINER))
			return false;
	return d->ask_count > 0;
}

static void run_command(const struct shell_suite *s, const char *family, const struct json *row, bool wants)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *command = command_of(row);
	struct decision d;

	if (!json_is(command, JSON_STRING)) {
		lacks_command(s, family, row);
		return;
	}
	judge(s, &a, wants ? "workspace_edit" : "service_ops", command, &d);
	const char *id = json_get_text(row, "id", command->text);
	if (!wants && is_asked_by_others(&d))
		conform_leave(s->t, family, id,
			"here a person is asked about privileges and containers, whatever the command");
	else
		conform_answer(s->t, family, id, json_bool(&a, wants), json_bool(&a, d.action >= ACTION_ASK));
}

static void run_list(const struct shell_suite *s, const struct json *doc, const char *family, bool wants)
{
	json_each (row, json_get(doc, family))
		run_command(s, family, row, json_get_bool(row, "expected_decide", wants));
}

static bool is_of_class(const struct effect *e, const char *class)
{
	return text_eq(class, "secret") ? e->kind == FX_SECRET_READ
					: e->kind == FX_NETWORK || e->kind == FX_REMOTE;
}

/* The targets of all effects of this class. */
static struct json *targets_of(struct arena *a, const struct decision *d, const char *class)
{
	struct json *targets = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < d->proposal->effect_count; i++)
		if (is_of_class(&d->proposal->effects[i], class) && d->proposal->effects[i].target)
			json_pushs(a, targets, d->proposal->effects[i].target);
	return targets;
}

/* An effect of this class on this target, and no other. */
static void run_fact(const struct shell_suite *s, struct arena *a, const char *id, const struct decision *d,
	const struct json *fact)
{
	const char *class = json_get_text(fact, "class", ""), *target = json_get_text(fact, "target", "");

	if (!text_eq(class, "secret") && !text_eq(class, "network")) {
		conform_leave(s->t, "effect_facts", id,
			arena_printf(a, "no effect here is of the class '%s'", class));
		return;
	}
	const struct json *targets = targets_of(a, d, class);
	bool is_met = false;
	json_each (x, targets)
		is_met |= text_eq(x->text, target);
	conform_count(s->t, "effect_facts", is_met ? CONFORM_PASSED : CONFORM_FAILED, id, fact, targets);
}

static void run_facts(const struct shell_suite *s, const struct json *doc)
{
	json_each (row, json_get(doc, "effect_facts")) {
		AUTO(arena_done) struct arena a = { 0 };
		struct decision d;
		const struct json *command = json_get(row, "command");
		if (!json_is(command, JSON_STRING)) {
			lacks_command(s, "effect_facts", row);
			continue;
		}
		judge(s, &a, "service_ops", command, &d);
		json_each (fact, json_get(row, "expected_facts"))
			run_fact(s, &a, json_get_text(row, "id", "?"), &d, fact);
	}
}

/* Members of the original's own result that no answer of ours has: counted, not run. */
static void leave_out(
	const struct shell_suite *s, const struct json *doc, const char *family, const char *reason)
{
	json_each (row, json_get(doc, family))
		conform_leave(s->t, family, json_get_text(row, "command", "?"), reason);
}

int conform_shell(struct conform_place *p, struct conform_tally *t, struct err *e)
{
	struct shell_suite s = { .t = t,
		.policy = policy_compile(t->a, NULL),
		.at = { .cwd = "/home/user/work",
			.home = "/home/user",
			.workspace = "/home/user/work",
			.state_dir = "/home/user/work/.helm",
			.helm_home = "/home/user/.helm",
			.tmpdir = "/tmp",
			.inspect_scripts = true,
			.inside_run = true } };
	struct json *doc;

	profiles_builtin(t->a, &s.profiles);
	if (conform_document(p, t->a, "derived/shell-guard-cases.json", &doc, e))
		return e->rc;
	run_list(&s, doc, "decide", true);
	run_list(&s, doc, "pass", false);
	run_list(&s, doc, "sensitive_target", true);
	run_list(&s, doc, "facts_plus_generic_decision", true);
	run_list(&s, doc, "unparseable", true);
	json_each (row, json_get(doc, "beyond_the_original"))
		run_command(
			&s, "beyond_the_original", row, !text_starts(json_get_text(row, "must", ""), "not "));
	run_facts(&s, doc);
	leave_out(&s, doc, "requires_shell_permission",
		"the guard asks a person, and knows no permissions that a shell could have");
	leave_out(&s, doc, "arity_prefix",
		"the guard counts no words: programs and their verbs are known by a table");
	return OK;
}

/* lint.c — what a policy says that is most likely not meant.
 *
 * Above all: every condition through which a fact that is missing lets something pass stands in the list.  Adding strictness is always safe; forgetting a fact is not. */
#include "decide/bundle/parts.h"

#include <stdlib.h>
#include <string.h>

enum { MANY_RULES = 1000, MOST_COMPARED = 64 };

/* One rule of the document, wherever it stands. */
struct item {
	const struct json *rule;
	const char *id, *verdict, *group; /* group: layer or pack */
	int64_t priority; /* of a layer; -1 in a pack */
	bool is_unconditional;
};

struct linting {
	struct arena *a;
	const char *file;
	struct policy_problems *to;
	struct item *items;
	size_t n, room;
};

/* ---- problems ---- */

/* At the origin that the rule itself names: "file:line:column". */
static void add(struct linting *l, const struct item *x, enum policy_severity severity, const char *code,
	const char *word, const char *fix, const char *text)
{
	struct policy_problem p = { .severity = severity,
		.code = code,
		.file = l->file,
		.rule = x ? x->id : NULL,
		.word = word,
		.text = text,
		.fix = fix };
	const char *origin = x ? json_get_text(x->rule, "origin", "") : "", *colon = strchr(origin, ':');
	char *rest;

	if (colon) {
		p.line = (uint32_t)strtoul(colon + 1, &rest, 10);
		p.column = *rest == ':' ? (uint32_t)strtoul(rest + 1, NULL, 10) : 1;
	}
	problem_add(l->a, l->to, &p);
}

static bool is_allow(const struct item *x)
{
	return text_eq(x->verdict, "ALLOW");
}

/* ---- collecting ---- */

static bool is_unconditional(struct linting *l, const struct json *rule)
{
	const char *when = json_get_text(rule, "when", NULL);
	const struct json *all = json_get(rule, "all");
	struct expression *x;
	bool value;

	if (json_get(rule, "effects") || (all && all->n > 0))
		return false;
	if (!when)
		return true;
	return !expression_compile(l->a, bytes_of(when), "x", &x, NULL) &&
		expression_is_constant(x, &value) && value;
}

static void collect(struct linting *l, const struct json *rules, const char *group, int64_t priority)
{
	json_each (rule, rules) {
		if (l->n == l->room) {
			size_t room = l->room ? l->room * 2 : 32;
			l->items = arena_grow(
				l->a, l->items, l->n * sizeof(*l->items), room * sizeof(*l->items));
			l->room = room;
		}
		l->items[l->n++] = (struct item){ rule, json_get_text(rule, "id", ""),
			json_get_text(rule, "verdict", ""), group, priority, is_unconditional(l, rule) };
	}
}

/* ---- one rule: its expression ---- */

static bool is_caller_word(const char *path)
{
	return text_starts(path, "input.context.") || text_starts(path, "context.");
}

static void check_read(struct linting *l, const struct item *x, const struct expression_read *read)
{
	if (read->is_asked)
		add(l, x, POLICY_NOTE, "POLICY_MISSING_PASSES", read->path, "",
			arena_printf(
				l->a, "what the rule says depends on whether '%s' is there", read->path));
	if (read->is_read && is_allow(x) && is_caller_word(read->path))
		add(l, x, POLICY_WARNING, "POLICY_CALLER_WORD", read->path, "use a fact: facts.NAME",
			arena_printf(l->a, "the rule allows on the word of whoever asks: '%s' is theirs",
				read->path));
	if (read->is_read && !read->is_asked && !is_allow(x) && strchr(read->path, '.') &&
		!text_starts(read->path, "effect."))
		add(l, x, POLICY_NOTE, "POLICY_MISSING_DENIES", read->path, "",
			arena_printf(l->a, "when '%s' is missing the answer is DENY PRG_EVALUATION_ERROR",
				read->path));
}

static void check_expression(struct linting *l, const struct item *x)
{
	const char *when = json_get_text(x->rule, "when", NULL);
	struct expression *compiled;
	const char *doubt;
	bool value;
	size_t n;

	if (!when || expression_compile(l->a, bytes_of(when), "when", &compiled, NULL))
		return;
	if (expression_is_constant(compiled, &value) && !value)
		add(l, x, POLICY_ERROR, "POLICY_NEVER_FIRES", when, "take the rule out, or say when it holds",
			arena_printf(l->a, "rule '%s' can never hold", x->id));
	if (expression_compares_text(compiled, l->a, "input.effect"))
		add(l, x, POLICY_WARNING, "POLICY_NEVER_TRUE", "input.effect",
			"compare 'input.effect.type', or a member of 'input.params'",
			"'input.effect' is an object and never equal to a text");
	doubt = expression_doubt(compiled, l->a);
	if (doubt)
		add(l, x, POLICY_WARNING, "POLICY_DOUBT", "", "",
			arena_printf(l->a, "a part of the condition can only fail: %s", doubt));
	const struct expression_read *reads = expression_reads(compiled, l->a, &n);
	for (size_t i = 0; i < n; i++)
		check_read(l, x, &reads[i]);
}

/* ---- one rule: its other conditions ---- */

static bool holds_when_missing(const char *op)
{
	return text_eq(op, "empty") || text_eq(op, "missing");
}

static void check_condition(struct linting *l, const struct item *x, const struct json *c, bool is_strict)
{
	const char *field = json_get_text(c, "field", ""), *op = json_get_text(c, "op", "");
	const struct json *values = json_get(c, "values");
	bool is_negative = text_starts(op, "not_") || text_eq(op, "equals_field") || text_ends(op, "_not_in");

	if (values && values->n == 0 && !text_starts(op, "not_") && !text_ends(op, "_not_in"))
		add(l, x, POLICY_ERROR, "POLICY_NEVER_FIRES", field, "list values, or take the rule out",
			arena_printf(l->a, "the list of values is empty: rule '%s' can never hold", x->id));
	if (is_allow(x) && holds_when_missing(op))
		add(l, x, POLICY_WARNING, "POLICY_MISSING_PASSES", field, "say what must be there instead",
			arena_printf(l->a, "the rule allows when '%s' is missing", field));
	else if (!is_allow(x) && !holds_when_missing(op) && !is_strict)
		add(l, x, is_negative ? POLICY_WARNING : POLICY_NOTE, "POLICY_MISSING_PASSES", field,
			"set 'missing_is: escalate', or add a rule for '{op: missing}'",
			arena_printf(l->a,
				"when '%s' is missing the rule does not hold, and the request passes",
				field));
	if (is_allow(x) && text_starts(field, "context."))
		add(l, x, POLICY_WARNING, "POLICY_CALLER_WORD", field, "use a fact: facts.NAME",
			arena_printf(
				l->a, "the rule allows on the word of whoever asks: '%s' is theirs", field));
}

static bool names_everything(const struct item *x)
{
	json_each (action, json_get(x->rule, "actions"))
		if (text_eq(json_text(action), "*"))
			return true;
	return false;
}

/* A name of its own may be meant; one that is nearly that of a door is a slip, and then the rule is never asked. */
static void check_actions(struct linting *l, const struct item *x)
{
	static const char *const doors[] = { "EXECUTE_COMMAND", "AGENT_TOOL_CALL" };

	json_each (action, json_get(x->rule, "actions")) {
		const char *name = json_text(action), *near;
		if (!name || strchr(name, '*') || !(near = text_nearest(name, doors, ARRAY_SIZE(doors))) ||
			text_eq(near, name))
			continue;
		add(l, x, POLICY_WARNING, "POLICY_ACTION", name, arena_printf(l->a, "write '%s'", near),
			"no door asks about this action: the rule is never looked at");
	}
}

static void check_rule(struct linting *l, const struct item *x, bool is_strict)
{
	check_actions(l, x);
	check_expression(l, x);
	json_each (c, json_get(x->rule, "all"))
		check_condition(l, x, c, is_strict && x->priority < 0);
	if (is_allow(x) && x->is_unconditional && names_everything(x))
		add(l, x, POLICY_WARNING, "POLICY_ALLOWS_ALL", "*", "name the actions, or say when",
			"the rule allows everything that no other rule stops");
}

/* ---- rules beside each other ---- */

static int by_id(const void *x, const void *y)
{
	const struct item *const *one = x, *const *two = y;

	return strcmp((*one)->id, (*two)->id);
}

static void check_duplicates(struct linting *l)
{
	const struct item **sorted = arena_zalloc(l->a, l->n + 1, sizeof(*sorted));

	for (size_t i = 0; i < l->n; i++)
		sorted[i] = &l->items[i];
	qsort(sorted, l->n, sizeof(*sorted), by_id);
	for (size_t i = 1; i < l->n; i++) {
		if (!text_eq(sorted[i - 1]->id, sorted[i]->id))
			continue;
		bool is_same = text_eq(sorted[i - 1]->group, sorted[i]->group);
		add(l, sorted[i], is_same ? POLICY_ERROR : POLICY_WARNING, "POLICY_DUPLICATE", sorted[i]->id,
			"give it an id of its own",
			"two rules have this id: an answer could not say which one it was");
	}
}

static int strictness(const struct item *x)
{
	return text_eq(x->verdict, "DENY") ? 2 : text_eq(x->verdict, "ESCALATE") ? 1 : 0;
}

/* Everything that y is about is covered by x. */
static bool covers(const struct item *x, const struct item *y)
{
	json_each (other, json_get(y->rule, "actions")) {
		bool is_covered = false;
		json_each (action, json_get(x->rule, "actions"))
			is_covered |= action_covers(json_text(action), json_text(other));
		if (!is_covered)
			return false;
	}
	return true;
}

/* y can never decide anything while x is there. */
static bool hides(const struct item *x, const struct item *y)
{
	return x != y && x->is_unconditional && x->priority >= 0 && strictness(x) > strictness(y) &&
		covers(x, y);
}

static bool overlap(const struct item *x, const struct item *y)
{
	json_each (one, json_get(x->rule, "actions")) {
		json_each (two, json_get(y->rule, "actions"))
			if (action_overlap(json_text(one), json_text(two)))
				return true;
	}
	return false;
}

/* A rule of a lower layer that allows what a higher one asks about or denies: the higher one stays in force. */
static bool widens(const struct item *high, const struct item *low)
{
	return high->priority >= 0 && low->priority > high->priority && is_allow(low) && overlap(high, low);
}

/* Compared with the rules that are without condition; there are few in a policy that somebody wrote. */
static void compare(struct linting *l)
{
	size_t strict = 0;

	for (size_t i = 0; i < l->n && strict < MOST_COMPARED; i++) {
		const struct item *x = &l->items[i];
		if (strictness(x) == 0)
			continue;
		strict += x->is_unconditional;
		for (size_t k = 0; k < l->n; k++) {
			const struct item *y = &l->items[k];
			if (hides(x, y))
				/* Until a rule that asks was enough by itself, policies had to allow the action, too: they stay valid. */
				add(l, y, is_allow(y) && strictness(x) == 1 ? POLICY_WARNING : POLICY_ERROR,
					"POLICY_UNREACHABLE", y->id, "take it out, or narrow the other rule",
					arena_printf(l->a,
						"rule '%s' always holds here and is stricter: this one never decides",
						x->id));
			else if (x->is_unconditional && widens(x, y))
				add(l, y, POLICY_WARNING, "POLICY_WIDENS", y->id,
					"take it out, or change the higher layer",
					arena_printf(l->a,
						"layer '%s' allows what rule '%s' of the higher layer '%s' %s; that stays",
						y->group, x->id, x->group,
						strictness(x) == 2 ? "denies" : "asks about"));
		}
	}
}

/* ---- the document ---- */

static void check_requirements(struct linting *l, const struct json *set)
{
	json_each (leaf, json_get(set, "requirements")) {
		struct item x = { .rule = set, .id = json_get_text(leaf, "id", ""), .verdict = "ALLOW" };
		const char *text = json_get_text(leaf, "expression", NULL);
		struct expression *compiled;
		if (text && !expression_compile(l->a, bytes_of(text), "x", &compiled, NULL) &&
			expression_compares_text(compiled, l->a, "input.effect"))
			add(l, &x, POLICY_WARNING, "POLICY_NEVER_TRUE", "input.effect",
				"compare 'input.effect.type', or a member of 'input.params'",
				"'input.effect' is an object and never equal to a text: the requirement can never be met");
	}
	json_each (child, json_get(set, "children"))
		check_requirements(l, child);
}

static void check_whole(struct linting *l, const struct json *document)
{
	bool is_closed = !text_eq(json_get_text(document, "coverage", "closed"), "open"), has_some = false,
	     has_strict = false;

	for (size_t i = 0; i < l->n; i++) {
		has_some |= strictness(&l->items[i]) < 2;
		has_strict |= !is_allow(&l->items[i]);
	}
	if (!*json_get_text(document, "version", ""))
		add(l, NULL, POLICY_NOTE, "LINT001", "", "add 'version'", "the policy has no version");
	if (is_closed && !has_some && !json_get(document, "requirements"))
		add(l, NULL, POLICY_WARNING, "POLICY_ALLOWS_NOTHING", "",
			"add rules that allow or ask, or 'coverage: open'",
			"no rule allows anything or asks about anything: every effect is NO_POLICY_DEFINED");
	if (l->n > 0 && !has_strict)
		add(l, NULL, POLICY_NOTE, "LINT007", "", "", "no rule denies or asks");
	if (l->n > MANY_RULES)
		add(l, NULL, POLICY_NOTE, "LINT009", "", "", "the policy has more than 1000 rules");
}

/* ---- limits ---- */

/* What a limit cannot hold by itself. */
static void check_limits(struct linting *l, const struct json *limits)
{
	static const char *const lists[] = { "budgets", "windows", "buckets" };
	bool has_session = false, has_other = false;
	const char *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		json_each (one, json_get(limits, lists[i])) {
			bool is_session = text_eq(json_get_text(one, "per", ""), "session");
			has_session |= is_session;
			has_other |= !is_session;
			first = first ? first : json_get_text(one, "id", "");
		}
	first = first ? first : json_get_text(json_at(json_get(limits, "spend"), 0), "id", NULL);
	if (first)
		add(l, NULL, POLICY_NOTE, "POLICY_LIMIT_PLACE", first,
			"projects without a workspace of their own share the default one, and its limits",
			"what is used up is counted in each workspace by itself: two workspaces have the limit twice");
	if (has_session && !has_other)
		add(l, NULL, POLICY_WARNING, "POLICY_LIMIT_SESSION", first,
			"add one with 'per: all' or 'per: principal'",
			"every limit is per session, and whoever begins another session has it afresh");
}

void policy_lint(
	struct arena *a, const struct json *document, const char *file, struct policy_problems *problems)
{
	struct linting l = { .a = a, .file = file, .to = problems };
	bool is_strict = text_eq(json_get_text(document, "missing_is", "false"), "escalate");

	json_each (layer, json_get(document, "layers"))
		collect(&l, json_get(layer, "rules"), json_get_text(layer, "name", ""),
			json_get_int(layer, "priority", 0));
	json_each (pack, json_get(document, "packs"))
		collect(&l, json_get(pack, "rules"), json_get_text(pack, "id", ""), -1);
	check_whole(&l, document);
	check_limits(&l, json_get(document, "limits"));
	for (size_t i = 0; i < l.n; i++)
		check_rule(&l, &l.items[i], is_strict);
	check_duplicates(&l);
	compare(&l);
	json_each_member (m, json_get(document, "requirements"))
		check_requirements(&l, m->value);
}

/* A rule that can never speak is a mistake in whatever else is right: nothing is put in use with one. */
int policy_speaks(struct arena *a, const struct json *document, const char *file, struct err *e)
{
	struct policy_problems problems = { 0 };

	policy_lint(a, document, file, &problems);
	return problems.errors ? problems_error(a, &problems, e) : OK;
}

/* ---- what it rests on ---- */

static bool is_listed(const struct policy_problems *p, const char *rule, const char *field)
{
	for (size_t i = 0; i < p->n; i++)
		if (text_eq(p->items[i].code, "POLICY_MISSING_PASSES") && p->items[i].rule && rule &&
			text_eq(p->items[i].rule, rule) && (!field || text_eq(p->items[i].word, field)))
			return true;
	return false;
}

void policy_lint_absences(
	struct arena *a, const struct json *absences, const char *file, struct policy_problems *problems)
{
	struct linting l = { .a = a, .file = file, .to = problems };

	json_each (row, absences) {
		const char *field = json_get_text(row, "field", NULL),
			   *condition = json_get_text(row, "condition", ""),
			   *rule = json_get_text(row, "rule", NULL), *layer = json_get_text(row, "layer", "");
		struct item x = { .rule = row, .id = rule };
		if (is_listed(problems, rule, field))
			continue;
		add(&l, &x, POLICY_NOTE, "POLICY_RESTS_ON", field ? field : condition, "",
			text_eq(condition, "activates_on")
				? arena_printf(a,
					  "pack '%s' counts only while somebody states this: without it none of its rules holds",
					  layer)
				: arena_printf(a, "'%s' may be met by what is missing", rule ? rule : layer));
	}
}

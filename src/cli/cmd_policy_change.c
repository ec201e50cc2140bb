/* cmd_policy_change.c — helm policy simulate, diff: what a change of policy would change.
 *
 * simulate asks a candidate everything that the record says was asked, at the time it was asked; what is drawn on its budgets is summed up on the
 * way.  diff asks two policies the same: what was recorded, and what their own rules suggest. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_approval.h"
#include "cli/cmd_policy.h"
#include "model/draw.h"

#include <string.h>

enum { MOST_SHOWN = 20, MOST_GENERATED = 5000 };

const struct opt policy_simulate_opts[] = {
	{ "since", OPT_VALUE, "TIME", "look back to 12h, 30d, 2026-05-01, ... (default 30d)", NULL, false },
	{ "fact", OPT_LIST, "NAME=VALUE", "what rules may rely on", NULL, false },
	{ 0 },
};

const struct opt policy_diff_opts[] = {
	{ "since", OPT_VALUE, "TIME", "ask what was recorded since 12h, 30d, 2026-05-01, ... (default 30d)",
		NULL, false },
	{ 0 },
};

static const struct policy_facts READY = { .is_required = true };

/* ---- what differs ---- */

struct comparing {
	struct cli *r;
	const struct policy_file *before, *after; /* before NULL: what was decided */
	const struct json *facts;
	struct drawn drawn_before, drawn_after; /* what each would have used up so far */
	struct json *changes, *by_rule;
	int64_t same, differ;
};

static const char *change_name(enum verdict from, enum verdict to)
{
	if (from == to)
		return NULL;
	return to == V_ALLOW ? "newly allowed" : to == V_ESCALATE ? "newly asked" : "newly denied";
}

static void count_rule(struct comparing *c, const char *change, const char *rule)
{
	struct arena *a = c->r->a;
	struct json *found = NULL;

	json_each (row, c->by_rule)
		if (text_eq(json_get_text(row, "change", ""), change) &&
			text_eq(json_get_text(row, "rule", ""), rule))
			found = row;
	if (!found) {
		found = json_new(a, JSON_OBJECT);
		json_sets(a, found, "change", change);
		json_sets(a, found, "rule", rule);
		json_seti(a, found, "count", 0);
		json_push(a, c->by_rule, found);
	}
	json_seti(a, found, "count", json_get_int(found, "count", 0) + 1);
}

static const char *rule_of(const struct policy_answer *p)
{
	return p->rule ? p->rule : p->gate ? p->gate : "no objection";
}

static void note_change(struct comparing *c, enum verdict from, enum verdict to,
	const struct policy_answer *p, const struct policy_question *q, const char *at,
	const char *decision_id, const char *preview)
{
	struct arena *a = c->r->a;
	const char *change = change_name(from, to);
	struct json *row;

	if (!change) {
		c->same++;
		return;
	}
	c->differ++;
	row = json_new(a, JSON_OBJECT);
	json_sets(a, row, "change", change);
	json_sets(a, row, "from", verdict_name(from));
	json_sets(a, row, "to", verdict_name(to));
	json_sets(a, row, "rule", rule_of(p));
	if (p->origin)
		json_sets(a, row, "origin", p->origin);
	json_sets(a, row, "action", q->action);
	json_sets(a, row, "tool", q->tool);
	json_sets(a, row, "principal", q->principal);
	if (at)
		json_sets(a, row, "at", at);
	if (decision_id)
		json_sets(a, row, "decision_id", decision_id);
	if (preview && *preview)
		json_sets(a, row, "what", preview);
	json_push(a, c->changes, row);
	count_rule(c, change, rule_of(p));
}

static void comparing_done(struct comparing *c)
{
	drawn_done(&c->drawn_before);
	drawn_done(&c->drawn_after);
}

/* What a policy uses up counts for what it is asked later, from the time on at which it was asked: what comes back with time comes back here, too. */
static void draw(
	struct drawn *to, struct arena *a, const struct policy_answer *p, const struct policy_recorded *x)
{
	struct json *receipt = json_new(a, JSON_OBJECT), *metadata = json_new(a, JSON_OBJECT);

	json_sets(a, receipt, "decision_id", x->decision_id ? x->decision_id : "");
	json_sets(a, receipt, "timestamp", x->at);
	json_set(a, metadata, DRAWS_MEMBER, draws_json(a, p->draws, p->draw_count));
	json_set(a, receipt, "metadata", metadata);
	(void)drawn_receipt(to, receipt); /* our own words: they can be read */
}

static const struct json *known_of(struct comparing *c, struct arena *a, const struct policy_question *q)
{
	struct json *entry = json_new(a, JSON_OBJECT);

	if (c->facts)
		json_set(a, entry, "facts", (struct json *)c->facts);
	return policy_known(a, entry, q);
}

/* Each policy is asked with what it would have used up itself. */
static enum verdict ask_with(struct arena *a, const struct policy_file *f, struct drawn *drawn,
	const struct policy_recorded *x, struct policy_question *q, const struct policy_answer **ret)
{
	q->drawn = drawn;
	*ret = policy_judge(a, f->rules, &READY, q, &x->guard);
	enum verdict v = policy_with_guard(*ret, &x->guard);
	if (v == V_ALLOW)
		draw(drawn, a, *ret, x);
	return v;
}

static int compare_recorded(void *arg, const struct policy_recorded *x, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct comparing *c = arg;
	struct policy_question q = x->question;
	const struct policy_answer *before, *after;
	enum verdict from = x->then;

	(void)e;
	q.known = known_of(c, &a, &q);
	if (c->before)
		from = ask_with(&a, c->before, &c->drawn_before, x, &q, &before);
	enum verdict to = ask_with(&a, c->after, &c->drawn_after, x, &q, &after);
	note_change(c, from, to, after, &q, x->at, x->decision_id, x->preview);
	return OK;
}

/* ---- showing ---- */

static void print_changes(struct cli *r, const struct comparing *c)
{
	static const char *const headings[] = { "COUNT", "CHANGE", "BY" };
	size_t i = 0;

	if (!c->by_rule->n)
		return;
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));
	json_each (row, c->by_rule) {
		const char *cells[] = { arena_printf(r->a, "%lld", (long long)json_get_int(row, "count", 0)),
			json_get_text(row, "change", ""), policy_shown(r, json_get_text(row, "rule", "")) };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
	out(r, "\n");
	json_each (row, c->changes)
		if (i++ < MOST_SHOWN)
			out(r, "%-13s  %s%s%s %s  %s\n", json_get_text(row, "change", ""),
				json_get_text(row, "at", ""), json_get(row, "at") ? "  " : "",
				policy_shown(r, json_get_text(row, "action", "")),
				policy_shown(r, json_get_text(row, "tool", "")),
				policy_shown(r, json_get_text(row, "what", "")));
	if (c->changes->n > MOST_SHOWN)
		out(r, "and %u more (--json)\n", c->changes->n - MOST_SHOWN);
}

static struct json *replay_json(struct arena *a, const struct policy_replay *x)
{
	struct json *doc = json_new(a, JSON_OBJECT);

	json_seti(a, doc, "decisions", x->seen);
	json_seti(a, doc, "replayed", x->replayed);
	json_seti(a, doc, "inexact", x->inexact);
	json_seti(a, doc, "not_kept", x->not_kept);
	json_seti(a, doc, "stopped", x->stopped);
	return doc;
}

static void print_replay(struct cli *r, const struct policy_replay *x, int64_t since_us)
{
	out(r, "%lld decisions since %s; %lld asked again", (long long)x->seen,
		text_when_words(r->a, since_us), (long long)x->replayed);
	if (x->inexact)
		out(r, ", %lld of them with texts that were cut or redacted", (long long)x->inexact);
	out(r, "\n");
	if (x->not_kept)
		out(r, "%lld could not be: their rows do not say what was asked\n", (long long)x->not_kept);
	if (x->stopped)
		out(r, "%lld were stopped by a freeze or a pause, which no policy changes\n",
			(long long)x->stopped);
}

/* The last 30 days when nothing is said. */
static int since_of(struct cli *r, int64_t *ret_us, struct err *e)
{
	*ret_us = r->sys->now_us(r->sys) - 30 * INT64_C(86400) * 1000000;
	return opt_since(r, "since", ret_us, e);
}

/* ---- simulate ---- */

static struct json *comparison_json(const struct comparing *c)
{
	struct arena *a = c->r->a;
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "candidate", ruleset_sha256(c->after->rules));
	json_seti(a, doc, "same", c->same);
	json_seti(a, doc, "different", c->differ);
	json_set(a, doc, "by_rule", c->by_rule);
	json_set(a, doc, "changes", c->changes);
	return doc;
}

/* Exit 0 also when much would change: it is a question, not a test. */
int cmd_policy_simulate(struct cli *r, struct err *e)
{
	struct comparing c = {
		.r = r, .changes = json_new(r->a, JSON_ARRAY), .by_rule = json_new(r->a, JSON_ARRAY)
	};
	struct policy_replay replay;
	struct policy_file f;
	int64_t since_us;
	int rc = since_of(r, &since_us, e);

	if (rc == OK)
		rc = policy_file_open(r, r->args[0], NULL, 0, &f, e);
	if (rc == OK)
		rc = policy_facts_option(r, &c.facts, e);
	if (rc)
		return rc;
	c.after = &f;
	rc = policy_replay_each(r->sys, r->ws, since_us, compare_recorded, &c, &replay, e);
	comparing_done(&c);
	if (rc)
		return rc;
	if (r->is_json) {
		struct json *doc = comparison_json(&c);
		json_set(r->a, doc, "replay", replay_json(r->a, &replay));
		out_json(r, doc);
		return 0;
	}
	print_replay(r, &replay, since_us);
	out(r, "%lld would be as they were, %lld would change\n\n", (long long)c.same, (long long)c.differ);
	print_changes(r, &c);
	return 0;
}

/* ---- diff ---- */

/* Questions that the rules of a policy themselves suggest: each action, with params that meet all conditions of the rule, and with each of them
 * just missed. */
struct generating {
	struct comparing *c;
	int made;
};

static struct json *set_path(struct arena *a, struct json *object, const char *path, const struct json *value)
{
	struct json *at = object;
	const char *dot;

	for (; (dot = strchr(path, '.')); path = dot + 1) {
		const char *name = arena_strndup(a, path, (size_t)(dot - path));
		if (!json_is(json_get(at, name), JSON_OBJECT))
			json_set(a, at, name, json_new(a, JSON_OBJECT));
		at = json_get(at, name);
	}
	json_set(a, at, path, json_copy(a, value));
	return object;
}

/* A value that meets the condition, or one that misses it; NULL: there is none to be found. */
static const struct json *value_for(struct arena *a, const struct json *test, bool meets)
{
	const char *op = json_get_text(test, "op", "");
	const struct json *value = json_get(test, "value"), *first = json_at(json_get(test, "values"), 0);
	int64_t bound;

	if (json_int(value, &bound) && bound < INT64_MAX && bound > INT64_MIN) {
		bool is_above = text_eq(op, "greater_than"), is_below = text_eq(op, "less_than");
		bool is_least = text_eq(op, "at_least"), is_most = text_eq(op, "at_most");
		if (is_above || is_least)
			return json_number(a, meets ? bound + is_above : bound - is_least);
		if (is_below || is_most)
			return json_number(a, meets ? bound - is_below : bound + is_most);
	}
	if (!meets)
		return json_string(a, "something else");
	if (first && text_eq(op, "path_under"))
		return json_stringf(a, "%s/x", json_text(first) ? json_text(first) : "");
	if (first && text_eq(op, "host_in"))
		return json_stringf(a, "https://%s/", json_text(first) ? json_text(first) : "");
	if (text_starts(op, "not_") || text_ends(op, "_not_in"))
		return json_string(a, "something else");
	return value ? value : first;
}

static void apply(struct arena *a, struct policy_question *q, struct json *params, struct json *known,
	struct json *context, const struct json *test, bool meets)
{
	const char *field = json_get_text(test, "field", "");
	const struct json *value = value_for(a, test, meets);

	if (!value)
		return;
	if (text_starts(field, "params."))
		set_path(a, params, field + strlen("params."), value);
	else if (text_starts(field, "facts."))
		set_path(a, known, field + strlen("facts."), value);
	else if (text_starts(field, "context."))
		set_path(a, context, field + strlen("context."), value);
	else if (text_eq(field, "tool") && json_text(value))
		q->tool = json_text(value);
	else if (text_eq(field, "principal") && json_text(value))
		q->principal = json_text(value);
}

/* `missed`: the condition of that number does not hold; -1: all do. */
static void ask_both(struct generating *g, const char *action, const struct json *rule, int missed)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct comparing *c = g->c;
	struct json *params = json_new(&a, JSON_OBJECT), *known = json_new(&a, JSON_OBJECT),
		    *context = json_new(&a, JSON_OBJECT);
	struct policy_question q = { .action = action,
		.principal = "agent:generated",
		.tool = "generated",
		.params = params,
		.known = known,
		.context = context,
		.now_us = c->r->sys->now_us(c->r->sys) };
	int i = 0;

	if (g->made++ >= MOST_GENERATED)
		return;
	json_each (test, json_get(rule, "all"))
		apply(&a, &q, params, known, context, test, i++ != missed);
	const struct policy_answer *before = policy_judge(&a, c->before->rules, &READY, &q, NULL),
				   *after = policy_judge(&a, c->after->rules, &READY, &q, NULL);
	struct buf text;
	buf_init(&text, &a);
	json_write(&text, params, 0);
	note_change(c, before->verdict, after->verdict,
		after->verdict == V_ALLOW && !after->rule ? before : after, &q, NULL, NULL,
		params->n ? arena_strdup(c->r->a, text.p) : "");
}

static void generate(struct generating *g, const struct ruleset *rules)
{
	struct ruleset_rule rule;

	for (size_t i = 0; ruleset_rule(rules, i, &rule); i++)
		json_each (action, json_get(rule.document, "actions")) {
			const char *name = json_text(action);
			size_t star = name ? strcspn(name, "*?[") : 0;
			const struct json *tests = json_get(rule.document, "all");
			if (!name)
				continue;
			if (name[star])
				name = arena_printf(g->c->r->a, "%.*sanything", (int)star, name);
			for (int miss = -1; miss < (tests ? (int)tests->n : 0); miss++)
				ask_both(g, name, rule.document, miss);
		}
}

static void print_diff(struct cli *r, const struct comparing *made, const struct comparing *recorded,
	const struct policy_replay *replay, int64_t since_us)
{
	out(r, "%s  ->  %s\n\n", policy_shown(r, made->before->path), policy_shown(r, made->after->path));
	out(r, "Of %lld requests that the rules themselves suggest, %lld are answered differently.\n",
		(long long)(made->same + made->differ), (long long)made->differ);
	print_changes(r, made);
	if (!recorded)
		return;
	out(r, "\n");
	print_replay(r, replay, since_us);
	out(r, "Of these, %lld are answered differently.\n", (long long)recorded->differ);
	print_changes(r, recorded);
}

/* Exit 1 when they differ, as diff does. */
int cmd_policy_diff(struct cli *r, struct err *e)
{
	struct comparing made = {
		.r = r, .changes = json_new(r->a, JSON_ARRAY), .by_rule = json_new(r->a, JSON_ARRAY)
	};
	struct policy_replay replay = { 0 };
	struct policy_file files[2];
	int64_t since_us;
	int rc = since_of(r, &since_us, e);

	for (size_t i = 0; rc == OK && i < 2; i++)
		rc = policy_file_open(r, r->args[i], NULL, 0, &files[i], e);
	if (rc)
		return rc;
	made.before = &files[0];
	made.after = &files[1];
	struct comparing recorded = made;
	recorded.changes = json_new(r->a, JSON_ARRAY);
	recorded.by_rule = json_new(r->a, JSON_ARRAY);
	struct generating g = { .c = &made };
	generate(&g, files[0].rules);
	generate(&g, files[1].rules);
	bool has_record = r->ws && r->ws->state_fd >= 0;
	if (has_record)
		rc = policy_replay_each(r->sys, r->ws, since_us, compare_recorded, &recorded, &replay, e);
	comparing_done(&recorded);
	if (rc)
		return rc;
	if (r->is_json) {
		struct json *doc = json_new(r->a, JSON_OBJECT);
		json_set(r->a, doc, "generated", comparison_json(&made));
		json_set(r->a, doc, "recorded", comparison_json(&recorded));
		json_set(r->a, doc, "replay", replay_json(r->a, &replay));
		out_json(r, doc);
	} else {
		print_diff(r, &made, has_record ? &recorded : NULL, &replay, since_us);
	}
	return made.differ || recorded.differ ? EXIT_NO : 0;
}

/* cmd_policy_explain.c — helm policy explain: one request through the gates of a policy, and what would change the answer.
 *
 * What would change it is found by trying: one thing of the request or of what is known is made what some rule asks for, and the policy is
 * asked again.  So each line that is printed is an answer, not a guess. */
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_policy.h"
#include "clients/clients.h"
#include "kernel/foresee.h"
#include "kernel/hook.h"
#include "kernel/kernel.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TRIES = 2000, MOST_SHOWN = 6 };

static const struct policy_facts required = { .is_required = true };

/* ---- what would change it ---- */

struct trying {
	struct cli *r;
	const struct policy_file *f;
	const struct policy_question *q;
	enum verdict now;
	bool is_door; /* what a door knows is not left out */
	struct json *found; /* [{change, verdict, rule}] */
	int tries;
};

static int laxness(enum verdict v)
{
	return v == V_ALLOW ? 2 : v == V_ESCALATE ? 1 : 0;
}

static const char *compact(struct cli *r, const struct json *v)
{
	struct buf b;

	buf_init(&b, r->a);
	json_write(&b, v, 0);
	return b.n > 80 ? arena_printf(r->a, "%.77s...", text_safe(r->a, b.p, b.n, false))
			: text_safe(r->a, b.p, b.n, false);
}

/* One changed question.  Kept when the answer is laxer, each change once. */
static void try_one(struct trying *t, const struct policy_question *changed, const char *change)
{
	if (t->tries++ >= MOST_TRIES)
		return;
	const struct policy_answer *p = policy_judge(t->r->a, t->f->rules, &required, changed, NULL);
	if (laxness(p->verdict) <= laxness(t->now))
		return;
	json_each (one, t->found)
		if (text_eq(json_get_text(one, "change", ""), change))
			return;
	struct json *row = json_new(t->r->a, JSON_OBJECT);
	json_sets(t->r->a, row, "change", change);
	json_sets(t->r->a, row, "verdict", verdict_name(p->verdict));
	if (p->rule)
		json_sets(t->r->a, row, "rule", p->rule);
	json_push(t->r->a, t->found, row);
}

/* The object with one dotted member set, or removed when value is NULL. */
static struct json *with(
	struct arena *a, const struct json *object, const char *path, const struct json *value)
{
	struct json *copy = json_is(object, JSON_OBJECT) ? json_copy(a, object) : json_new(a, JSON_OBJECT),
		    *at = copy;
	const char *dot;

	for (; (dot = strchr(path, '.')); path = dot + 1) {
		const char *name = arena_strndup(a, path, (size_t)(dot - path));
		if (!json_is(json_get(at, name), JSON_OBJECT))
			json_set(a, at, name, json_new(a, JSON_OBJECT));
		at = json_get(at, name);
	}
	if (value)
		json_set(a, at, path, json_copy(a, value));
	else
		(void)json_remove(at, path);
	return copy;
}

/* A field of a rule made to be something else; false where it is not ours to change. */
static bool change_field(
	struct trying *t, const char *field, const struct json *value, struct policy_question *ret)
{
	const char *name = text_starts(field, "input.") ? field + strlen("input.") : field;

	*ret = *t->q;
	if (text_starts(name, "params."))
		ret->params = with(t->r->a, t->q->params, name + strlen("params."), value);
	else if (text_starts(name, "context."))
		ret->context = with(t->r->a, t->q->context, name + strlen("context."), value);
	else if (text_starts(name, "facts."))
		ret->known = with(t->r->a, t->q->known, name + strlen("facts."), value);
	else if (text_eq(name, "tool") && json_text(value))
		ret->tool = json_text(value), ret->tools = NULL;
	else if (text_eq(name, "principal") && json_text(value))
		ret->principal = json_text(value);
	else
		return false;
	return true;
}

static void try_field(struct trying *t, const char *field, const struct json *value)
{
	struct policy_question changed;

	if (!change_field(t, field, value, &changed))
		return;
	try_one(t, &changed,
		value ? arena_printf(t->r->a, "%s = %s", field, compact(t->r, value))
		      : arena_printf(t->r->a, "without %s", field));
}

/* Bounds and their neighbours; a path below, a URL of a host; each value of a list. */
static void try_condition(struct trying *t, const struct json *test)
{
	const char *field = json_get_text(test, "field", ""), *op = json_get_text(test, "op", "");
	const struct json *value = json_get(test, "value");
	struct arena *a = t->r->a;
	int64_t bound;

	try_field(t, field, NULL);
	if (json_int(value, &bound)) {
		for (int64_t d = -1; d <= 1; d++)
			if ((d < 0 && bound > INT64_MIN) || d == 0 || (d > 0 && bound < INT64_MAX))
				try_field(t, field, json_number(a, bound + d));
		return;
	}
	if (value)
		try_field(t, field, value);
	json_each (one, json_get(test, "values")) {
		try_field(t, field, one);
		if (json_text(one) && text_eq(op, "path_under"))
			try_field(t, field, json_stringf(a, "%s/x", json_text(one)));
		if (json_text(one) && text_starts(op, "host_"))
			try_field(t, field, json_stringf(a, "https://%s/", json_text(one)));
	}
}

static void try_rule(struct trying *t, const struct json *rule)
{
	json_each (action, json_get(rule, "actions")) {
		struct policy_question changed = *t->q;
		if (!json_text(action) || strchr(json_text(action), '*') ||
			text_eq(json_text(action), t->q->action))
			continue;
		changed.action = json_text(action);
		try_one(t, &changed, arena_printf(t->r->a, "action = %s", json_text(action)));
	}
	json_each (test, json_get(rule, "all"))
		try_condition(t, test);
}

/* Members of the request one by one left out, for conditions that are expressions. */
static void try_without(struct trying *t)
{
	json_each_member (m, t->q->params)
		try_field(t, arena_printf(t->r->a, "params.%s", m->name), NULL);
	json_each_member (m, t->q->known)
		if (!t->is_door || !policy_is_door_fact(m->name))
			try_field(t, arena_printf(t->r->a, "facts.%s", m->name), NULL);
}

/* What allows comes before what is only asked, and an argument before another tool, person or action. */
static int by_nearness(const void *x, const void *y)
{
	const struct json *p = *(struct json *const *)x, *q = *(struct json *const *)y;
	const char *change[] = { json_get_text(p, "change", ""), json_get_text(q, "change", "") };
	int rank[2];

	for (int i = 0; i < 2; i++)
		rank[i] = (text_eq(json_get_text(i ? q : p, "verdict", ""), "ALLOW") ? 0 : 4) +
			(text_starts(change[i], "params.")		     ? 0
					: text_starts(change[i], "without ") ? 1
					: text_starts(change[i], "facts.")   ? 2
									     : 3);
	return rank[0] != rank[1] ? rank[0] - rank[1] : strcmp(change[0], change[1]);
}

/* Everything that some rule speaks about, tried. */
static struct json *what_would_change(struct cli *r, const struct policy_file *f,
	const struct policy_question *q, bool is_door, enum verdict now)
{
	struct trying t = {
		.r = r, .f = f, .q = q, .now = now, .is_door = is_door, .found = json_new(r->a, JSON_ARRAY)
	};
	struct ruleset_rule rule;

	if (now == V_ALLOW)
		return t.found;
	for (size_t i = 0; ruleset_rule(f->rules, i, &rule); i++)
		try_rule(&t, rule.document);
	try_without(&t);
	if (t.found->n > 1)
		qsort(t.found->items, t.found->n, sizeof(*t.found->items), by_nearness);
	return t.found;
}

/* ---- showing ---- */

/* A question, and all that is known about its answer. */
struct explained {
	struct policy_question *q;
	const struct policy_answer *p; /* of the policy that is explained */
	/* Where a door would decide: its answer, with profiles, guard rules, freeze and pause.  d NULL: only the policy was asked. */
	const struct decision *d;
	enum verdict verdict;
	const char *door; /* how it was asked; NULL: as the request says */
	const struct json *sentences; /* what else would be found there now; or NULL */
};

static void print_gates(struct cli *r, const struct json *judgement)
{
	const struct json *gates = json_get(judgement, "gates");
	size_t n = gates ? gates->n : 0, i = 0;

	json_each (gate, gates) {
		bool is_last = ++i == n;
		const char *verdict = json_get_text(gate, "verdict", ""),
			   *rule = json_get_text(gate, "rule", NULL);
		bool is_quiet = text_eq(verdict, "ALLOW") && !rule;
		out(r, "%s %-13s%s%s%s", is_last ? glyph(r, "└─", "`-") : glyph(r, "├─", "|-"),
			json_get_text(gate, "gate", ""),
			paint(r,
				is_quiet			    ? PAINT_MUTED
					: text_eq(verdict, "ALLOW") ? PAINT_GOOD
								    : PAINT_BAD),
			is_quiet ? "no objection" : verdict, paint(r, PAINT_OFF));
		if (json_get(gate, "reason_code"))
			out(r, " %s", json_get_text(gate, "reason_code", ""));
		if (rule)
			out(r, "  rule %s", policy_shown(r, rule));
		if (json_get(gate, "origin"))
			out(r, " (%s)", policy_shown(r, json_get_text(gate, "origin", "")));
		out(r, "\n");
		if (json_get(gate, "text"))
			out(r, "%s %13s%s\n", is_last ? "  " : glyph(r, "│ ", "| "), "",
				policy_shown(r, json_get_text(gate, "text", "")));
	}
}

/* Why rules about what a command does hold or not, those that hold first; and of guard rules the one that decided, in the same words. */
static struct json *reasons_of(struct cli *r, const struct policy_file *f, const struct explained *x)
{
	struct json *all = f ? policy_reasons(r->a, f->rules, x->q, x->d) : NULL,
		    *list = json_new(r->a, JSON_ARRAY), *guard = NULL;

	if (x->d && x->d->decisive)
		guard = decide_reason(r->a, x->d, x->d->decisive);
	if (guard)
		json_push(r->a, list, guard);
	for (int holds = 1; holds >= 0; holds--)
		json_each (one, all)
			if (json_get_bool(one, "holds", false) == (bool)holds)
				json_push(r->a, list, one);
	return list;
}

static void print_reasons(struct cli *r, const struct json *reasons)
{
	size_t i = 0;

	if (!reasons->n)
		return;
	out(r, "\nRules about what it does:\n");
	json_each (one, reasons)
		if (i++ < MOST_SHOWN)
			out(r, "  %s\n", policy_shown(r, reason_line(r->a, one)));
	if (reasons->n > MOST_SHOWN)
		out(r, "  and %u more (--json)\n", reasons->n - MOST_SHOWN);
}

static void print_changes(struct cli *r, const struct json *changes, enum verdict now)
{
	size_t i = 0;

	if (now == V_ALLOW)
		return;
	out(r, "\nWhat would change the answer:\n");
	if (!changes->n)
		out(r, "  no single change of the request or of a fact that the rules name\n");
	json_each (one, changes)
		if (i++ < MOST_SHOWN)
			out(r, "  %s  ->  %s%s%s\n", policy_shown(r, json_get_text(one, "change", "")),
				json_get_text(one, "verdict", ""), json_get(one, "rule") ? " by " : "",
				json_get(one, "rule") ? policy_shown(r, json_get_text(one, "rule", "")) : "");
	if (changes->n > MOST_SHOWN)
		out(r, "  and %u more (--json)\n", changes->n - MOST_SHOWN);
}

/* ---- what would happen ---- */

/* Who decided, where profiles and guard rules have a say: {verdict, reason_code, rule or guard_rule}. */
static struct json *decided_by(struct cli *r, const struct explained *x)
{
	static const char own[] = POLICY_RULE;
	struct json *doc = json_new(r->a, JSON_OBJECT);
	const char *rule = x->d->detail_code;
	bool is_policy = rule && text_starts(rule, own);

	json_sets(r->a, doc, "verdict", verdict_name(x->verdict));
	if (x->verdict == V_ALLOW)
		return doc;
	json_sets(r->a, doc, "reason_code", reason_get(x->d->reason_code)->code);
	if (rule && (!is_policy || x->p->rule))
		json_sets(
			r->a, doc, is_policy ? "rule" : "guard_rule", is_policy ? rule + strlen(own) : rule);
	return doc;
}

/* The policy's own words where it decided; otherwise what did. */
static void print_verdict(struct cli *r, const struct explained *x)
{
	struct json *by = x->d ? decided_by(r, x) : NULL;
	const char *guard_rule = json_get_text(by, "guard_rule", NULL);
	const struct policy_answer *p = x->p;

	out(r, "%s%s%s", paint(r, x->verdict == V_ALLOW ? PAINT_GOOD : PAINT_BAD), verdict_name(x->verdict),
		paint(r, PAINT_OFF));
	if (x->verdict != V_ALLOW)
		out(r, " %s", by ? json_get_text(by, "reason_code", "") : reason_get(p->code)->code);
	if (guard_rule)
		out(r, " by guard rule %s; the policy says %s", policy_shown(r, guard_rule),
			verdict_name(p->verdict));
	if (p->rule)
		out(r, " by rule %s", policy_shown(r, p->rule));
	else if (p->gate && p->verdict != V_ALLOW)
		out(r, " by gate %s", p->gate);
	if (p->origin)
		out(r, " (%s)", policy_shown(r, p->origin));
	out(r, "\npolicy %s %s, %s\n", policy_shown(r, p->name), policy_shown(r, p->version), p->sha256);
	if (x->door)
		out(r, "asked as %s, in %s, under profile %s\n", x->door,
			policy_shown(r, json_get_text(x->q->known, "cwd", ".")),
			json_get_text(x->q->known, "profile", ""));
	json_each (one, x->sentences)
		out(r, "now: %s\n", policy_shown(r, json_text(one)));
	out(r, "\n");
}

/* What was answered then; what follows is what this policy says to the same today. */
static void print_recorded(struct cli *r, const struct json *x)
{
	const struct json *policy = json_get(x, "policy");
	const char *rule = json_get_text(x, "rule", POLICY_RULE);
	bool is_policy = policy && text_starts(rule, POLICY_RULE); /* otherwise a rule of the guard */
	const char *own = json_get_text(policy, "rule", NULL);

	out(r, "recorded %s: %s", json_get_text(x, "at", ""), json_get_text(x, "verdict", ""));
	if (json_get(x, "reason_code"))
		out(r, " %s", json_get_text(x, "reason_code", ""));
	if (is_policy && own)
		out(r, " by rule %s (%s)", policy_shown(r, own),
			policy_shown(r, json_get_text(policy, "origin", NULL)));
	else if (is_policy && json_get(policy, "gate"))
		out(r, " by gate %s", json_get_text(policy, "gate", ""));
	else if (json_get(x, "rule"))
		out(r, " by guard rule %s", policy_shown(r, rule));
	if (policy)
		out(r, "\nby policy %s %s, %s\n", policy_shown(r, json_get_text(policy, "name", "")),
			policy_shown(r, json_get_text(policy, "version", "")),
			json_get_text(policy, "sha256", ""));
	else
		out(r, "\nno policy was in use: profiles and guard rules decided alone\n");
	out(r, "\nasked again today, of the policy alone:\n");
}

static void show_json(struct cli *r, const struct explained *x, struct json *changes, struct json *reasons,
	struct json *recorded)
{
	struct json *doc = policy_judgement(r->a, x->p), *policy = json_new(r->a, JSON_OBJECT);

	json_sets(r->a, policy, "name", x->p->name);
	json_sets(r->a, policy, "version", x->p->version);
	json_sets(r->a, policy, "sha256", x->p->sha256);
	json_sets(r->a, policy, "verdict", verdict_name(x->p->verdict));
	json_set(r->a, doc, "policy", policy);
	if (x->d) {
		json_set(r->a, doc, "decision", decided_by(r, x));
		json_sets(r->a, doc, "verdict", verdict_name(x->verdict));
	}
	if (recorded)
		json_set(r->a, doc, "recorded", recorded);
	json_set(r->a, doc, "reasons", reasons);
	json_set(r->a, doc, "would_change", changes);
	json_set(r->a, doc, "request", policy_question_json(r->a, x->q));
	out_json(r, doc);
}

static int show(struct cli *r, const struct policy_file *f, const struct explained *x, struct json *recorded)
{
	/* Of one that holds for a place above, only its answer is known here. */
	bool is_it = text_eq(x->p->sha256, ruleset_sha256(f->rules));
	struct json *changes = is_it ? what_would_change(r, f, x->q, x->door != NULL, x->p->verdict)
				     : json_new(r->a, JSON_ARRAY);

	struct json *reasons = reasons_of(r, is_it ? f : NULL, x);

	if (r->is_json) {
		show_json(r, x, changes, reasons, recorded);
	} else {
		if (recorded)
			print_recorded(r, recorded);
		print_verdict(r, x);
		print_gates(r, policy_judgement(r->a, x->p));
		print_reasons(r, reasons);
		if (is_it)
			print_changes(r, changes, x->p->verdict);
	}
	return x->verdict == V_ALLOW ? 0 : x->verdict == V_ESCALATE ? EXIT_APPROVAL : EXIT_DENIED;
}

/* ---- how it is asked ---- */

/* What --facts and --fact say, beside the facts of the request: one that both name would leave open which was meant. */
static int add_facts(struct cli *r, const char *request, struct policy_question *q, struct err *e)
{
	const char *word = opt_text(r, "facts", NULL);
	struct json *given, *all;

	if (word && request && text_eq(word, "-") && text_eq(request, "-"))
		return err_set(
			e, E_USAGE, "USAGE", "only one of the request and --facts can be standard input");
	int rc = policy_facts_given(r, &given, e);
	if (rc || !given)
		return rc;
	all = q->known ? json_copy(r->a, q->known) : json_new(r->a, JSON_OBJECT);
	json_each_member (m, given) {
		if (json_get(all, m->name))
			return err_set(e, E_INPUT, "POLICY_FACTS",
				"the request has a fact '%s' already; leave it out of --facts",
				text_safe(r->a, m->name, strlen(m->name), false));
		json_set(r->a, all, m->name, m->value);
	}
	q->known = all;
	return OK;
}

/* A request as it stands, or a command where no door stands: by the policy alone. */
static int explain_alone(struct cli *r, const struct policy_file *f, const struct json *entry,
	const char *request, const char *command, struct err *e)
{
	struct policy_question q = { .action = "",
		.principal = arena_printf(r->a, "user:%u", getuid()),
		.now_us = r->sys->now_us(r->sys) };
	const char *id =
		request && !file_exists(r->sys, AT_FDCWD, request) ? policy_decision_id(r->a, request) : NULL;
	struct explained x = { .q = &q };
	struct json *recorded = NULL;
	int rc = request				  ? policy_request_open(r, request, &q, e)
		: policy_request_guard(r, &q, command, e) ? OK
							  : e->rc;

	if (rc == OK && id)
		rc = policy_recorded_answer(r, id, &recorded, e);
	if (rc == OK)
		rc = add_facts(r, request, &q, e);
	if (rc)
		return rc;
	q.known = policy_known(r->a, entry, &q);
	x.p = policy_judge(r->a, f->rules, &required, &q, NULL);
	x.verdict = x.p->verdict;
	return show(r, f, &x, recorded);
}

/* What a door has asked, answered by the policy that is explained.  One that is not in use answers in the place of those that are. */
static int explain_asked(struct cli *r, const struct policy_file *f, const struct json *entry,
	const struct decision *rules_said, struct explained *x)
{
	struct decision *d = arena_alloc(r->a, sizeof(*d));

	x->q->known = policy_known(r->a, entry, x->q);
	if (!entry) {
		x->p = policy_judge(r->a, f->rules, &required, x->q, rules_said);
		*d = *rules_said;
		policy_raise(r->a, x->p, d);
		x->d = d;
		x->verdict = policy_with_guard(x->p, rules_said);
	}
	return show(r, f, x, NULL);
}

/* As `helm run` would, here. */
static int explain_run(struct cli *r, const struct policy_file *f, const struct json *entry,
	const char *command, const struct json *more, struct err *e)
{
	const struct foresee_question question = {
		.shell = bytes_of(command), .policy = entry ? NULL : f->rules, .more = more
	};
	AUTO(foresight_done) struct foresight seen = { 0 };
	struct guard g;

	if (guard_open(r->sys, r->a, r->ws, NULL, &g, e))
		return e->rc;
	g.placement = IN_SANDBOX;
	g.is_by_client = false;
	if (foresee(&g, r->a, &question, &seen, e))
		return e->rc;
	struct policy_question q = *seen.h.asked;
	struct explained x = { .q = &q,
		.p = seen.h.policy,
		.d = &seen.h.decision,
		.verdict = seen.h.verdict,
		.door = "'helm run' would",
		.sentences = entry ? json_get(foresight_json(&seen), "sentences") : NULL };
	return explain_asked(r, f, entry, seen.h.rules_said, &x);
}

/* The call of an agent client: its shell with a command, or the tool and the params of a request. */
static int read_call(struct cli *r, const struct client *c, const char *request, const char *command,
	struct tool_call *ret, struct err *e)
{
	struct policy_question q;
	struct buf payload;

	buf_init(&payload, r->a);
	if (command) {
		json_write(&payload, c->speech->payload(r->a, command), 0);
		int rc = clients_read_call(
			c, r->a, (struct bytes){ (const uint8_t *)payload.p, payload.n }, ret, e);
		ret->cwd = NULL;
		return rc;
	}
	if (policy_request_open(r, request, &q, e))
		return e->rc;
	if (!q.tool)
		return err_set(e, E_USAGE, "USAGE", "with --as the request must name a \"tool\"");
	*ret = (struct tool_call){ .tool_name = q.tool,
		.session = q.session,
		.input = q.params ? json_copy(r->a, q.params) : json_new(r->a, JSON_OBJECT) };
	return OK;
}

/* As the hook of an agent client would, here. */
static int explain_hook(struct cli *r, const struct policy_file *f, const struct json *entry,
	const char *request, const char *command, const struct json *more, struct err *e)
{
	const char *name = opt_text(r, "as", "");
	const struct client *c = clients_find(name);
	struct handling h = { .a = r->a };
	struct tool_call call;
	struct kernel k;

	if (!c || !c->speech)
		return err_set(e, E_USAGE, "USAGE", "no hook is known of a client '%s'; there are %s", name,
			clients_with_hook(r->a));
	if (read_call(r, c, request, command, &call, e) || kernel_open_unarmed(r->sys, r->a, r->ws, &k, e))
		return e->rc;
	/* Of one that is not in use the places are looked up, and its limits. */
	int rc = hook_foresee(&k, c->name, c->speech->can_ask, &call, entry ? NULL : f->rules, more, &h, e);
	if (rc == OK) {
		struct policy_question q = *h.asked;
		struct explained x = { .q = &q,
			.p = h.policy,
			.d = &h.decision,
			.verdict = h.verdict,
			.door = arena_printf(r->a, "the hook of %s would", c->name) };
		rc = explain_asked(r, f, entry, h.rules_said, &x);
	}
	kernel_close(&k);
	return rc;
}

/* What is said beside a door's own facts: nobody says what the door knows itself. */
static int read_more(struct cli *r, struct json **ret, struct err *e)
{
	if (policy_facts_given(r, ret, e))
		return e->rc;
	json_each_member (m, *ret)
		if (policy_is_door_fact(m->name))
			return err_set(e, E_INPUT, "POLICY_FACTS",
				"'%s' is what the door knows itself; leave it out of --facts",
				text_safe(r->a, m->name, strlen(m->name), false));
	return OK;
}

int policy_explain_request(
	struct cli *r, const char *policy, const char *request, const char *command, struct err *e)
{
	bool is_door = (command || opt_text(r, "as", NULL)) && r->ws && r->ws->state_fd >= 0;
	struct json *more = NULL;
	const struct json *entry;
	struct policy_file f;
	int rc = policy_file_or_used(r, policy, &f, &entry, e);

	if (rc == OK && is_door)
		rc = read_more(r, &more, e);
	if (rc)
		return rc;
	if (!is_door && opt_text(r, "as", NULL))
		return err_set(e, E_MISSING, "WORKSPACE_MISSING",
			"--as asks as a hook of this workspace would, and there is none; 'helm init' makes one");
	if (!is_door)
		return explain_alone(r, &f, entry, request, command, e);
	return opt_text(r, "as", NULL) ? explain_hook(r, &f, entry, request, command, more, e)
				       : explain_run(r, &f, entry, command, more, e);
}

/* decision.c — names, and the decision as JSON.
 *
 * The members down to "classification", their names and their order are those that older readers of the
 * ledger know, so that these keep working. Everything from "reason_codes" on was added later and stands
 * behind them. */
#include "model/decision.h"

#include "base/text.h"

#include <string.h>

static const char *const action_names[] = { "allow", "warn", "require_approval", "deny" };
TABLE_COVERS(action_names, ACTION_COUNT);
static const char *const mode_names[] = { "enforce", "audit", "off" };
TABLE_COVERS(mode_names, GUARD_MODES);

/* A value out of range is named "deny": a broken decision must never read as a mild one. */
const char *action_name(enum rule_effect a)
{
	return (unsigned)a < ARRAY_SIZE(action_names) ? action_names[a] : "deny";
}

/* "ask" is the short word for "require_approval" that rule files use. */
bool action_parse(const char *name, enum rule_effect *ret)
{
	if (text_eq(name, "ask")) {
		*ret = ACTION_ASK;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(action_names); i++)
		if (text_eq(action_names[i], name)) {
			*ret = (enum rule_effect)i;
			return true;
		}
	return false;
}

/* A warning passes; whatever is neither allowed nor asked is denied. */
enum verdict action_verdict(enum rule_effect a)
{
	if (a == ACTION_ALLOW || a == ACTION_WARN)
		return V_ALLOW;
	return a == ACTION_ASK ? V_ESCALATE : V_DENY;
}

const char *guard_mode_name(enum guard_mode m)
{
	return mode_names[m];
}

/* An unknown mode is false, and *ret is left alone. */
bool guard_mode_parse(const char *name, enum guard_mode *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(mode_names); i++)
		if (text_eq(mode_names[i], name)) {
			*ret = (enum guard_mode)i;
			return true;
		}
	return false;
}

/* Whether an earlier finding says something stricter about the same effect. Then this one need not be told
 * to a person. Findings that belong to no effect are always told. */
bool decision_is_outspoken(const struct decision *d, size_t i)
{
	const struct finding *f = &d->findings[i];

	for (size_t k = 0; k < i; k++)
		if (f->effect && d->findings[k].effect == f->effect && d->findings[k].action > f->action)
			return true;
	return false;
}

const char *placement_name(enum placement p)
{
	return p == IN_SANDBOX ? "in_sandbox" : p == BY_SUPERVISOR ? "by_supervisor" : "unsandboxed";
}

const char *containment_name(enum placement p)
{
	return p == IN_SANDBOX || p == BY_SUPERVISOR ? "walls" : "none";
}

/* What is enforced. In audit mode the verdict is recorded, but the call passes. */
enum verdict decision_effective(const struct decision *d)
{
	/* A mode says what becomes of an objection; input that was not understood was not judged at all. */
	if (d->proposal && d->proposal->ambiguity == AMBIGUITY_DENIED)
		return V_DENY;
	return d->mode == GUARD_ENFORCE ? d->verdict : V_ALLOW;
}

/* 24 and 25 are the exit codes that scripts tell "asked" and "denied" by. */
int decision_exit(const struct decision *d)
{
	enum verdict v = decision_effective(d);

	if (v == V_ALLOW)
		return 0;
	return v == V_ESCALATE ? 24 : 25;
}

/* Scores are kept in hundredths, so that no rounding of floating point decides a level. */
const char *risk_level(int score_hundredths)
{
	if (score_hundredths < 35)
		return "low";
	if (score_hundredths < 70)
		return "medium";
	return score_hundredths < 95 ? "high" : "critical";
}

/* Scores are written as fractions: 95 is 0.95. */
static struct json *hundredths(struct arena *a, int n)
{
	return json_double(a, n / 100.0);
}

/* Words and paths of a command may hold any bytes; JSON may not. What is not UTF-8 is made visible instead
 * of being dropped. */
static const char *printable(struct arena *a, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	return s && text_utf8_valid(s, n) < n ? text_safe(a, s, n, true) : s;
}

static struct json *text_list(struct arena *a, const char *const *list, size_t n)
{
	struct json *arr = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++)
		json_pushs(a, arr, printable(a, list[i]));
	return arr;
}

/* Lists are short, so a walk is enough. */
static void push_unique(struct arena *a, struct json *arr, const char *text)
{
	json_each (item, arr)
		if (text_eq(json_text(item), text))
			return;
	json_pushs(a, arr, text);
}

/* In the order of the findings; a rule that fired twice is named once. */
static struct json *matched_rules(struct arena *a, const struct decision *d)
{
	struct json *arr = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < d->finding_count; i++)
		push_unique(a, arr, d->findings[i].rule);
	return arr;
}

/* Reasons for a person: each finding with its rule, then the tool groups that the profile denies. */
static struct json *reason_texts(struct arena *a, const struct decision *d)
{
	struct json *arr = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < d->finding_count; i++)
		push_unique(a, arr,
			arena_printf(a, "%s (%s)", printable(a, d->findings[i].text), d->findings[i].rule));
	for (size_t i = 0; i < d->denied_used_count; i++)
		push_unique(a, arr,
			arena_printf(a, "profile %s denies the tool group %s", d->profile->name,
				tool_group_name(d->denied_used[i])));
	return arr;
}

/* Reasons for a program. Two of them come from no finding: an operator that stood in the arguments, and a
 * tool group that the profile denies. */
static struct json *reason_codes(struct arena *a, const struct decision *d)
{
	struct json *arr = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < d->finding_count; i++)
		push_unique(a, arr, reason_get(d->findings[i].reason)->code);
	if (d->proposal->operator_in_argv)
		push_unique(a, arr, reason_get(REASON_operator_token_in_argv)->code);
	if (d->denied_used_count)
		push_unique(a, arr, reason_get(REASON_tool_grant)->code);
	return arr;
}

/* What the command does, as older readers of the ledger know it. */
static struct json *classification(struct arena *a, const struct decision *d)
{
	const struct proposal *p = d->proposal;
	struct json *c = json_new(a, JSON_OBJECT);

	json_sets(
		a, c, "normalized_command", p->normalized_command ? printable(a, p->normalized_command) : "");
	json_set(a, c, "argv", text_list(a, p->argv, p->argc));
	json_setb(a, c, "shell_wrapped", p->shell_wrapped);
	json_sets(a, c, "shell_inner_command", printable(a, p->shell_inner_command));
	json_set(a, c, "categories", text_list(a, d->categories, d->category_count));
	json_set(a, c, "matched_rules", matched_rules(a, d));
	json_setb(a, c, "writes_detected", d->writes);
	json_setb(a, c, "network_detected", d->network);
	json_setb(a, c, "destructive_detected", d->destructive);
	json_setb(a, c, "privilege_detected", d->privilege);
	json_setb(a, c, "remote_detected", d->remote);
	json_set(a, c, "target_paths", text_list(a, d->target_paths, d->target_path_count));
	return c;
}

/* Start and end as offsets in the text of the command. */
static struct json *span_json(struct arena *a, struct span at)
{
	struct json *v = json_new(a, JSON_ARRAY);

	json_push(a, v, json_number(a, at.start));
	json_push(a, v, json_number(a, at.end));
	return v;
}

/* Members that would say the usual thing (no path class, certain, not resolved) are left out. */
static struct json *effect_json(struct arena *a, const struct effect *e)
{
	struct json *v = json_new(a, JSON_OBJECT);

	json_sets(a, v, "kind", effect_kind_name(e->kind));
	json_sets(a, v, "tag", e->tag);
	json_sets(a, v, "target", printable(a, e->target));
	json_seti(a, v, "node", e->step);
	if (e->path_class != PATH_NONE)
		json_sets(a, v, "path_class", path_class_name(e->path_class));
	if (e->certainty != CERTAIN)
		json_sets(a, v, "certainty", certainty_name(e->certainty));
	if (e->resolved)
		json_sets(a, v, "resolved", printable(a, e->resolved));
	json_set(a, v, "span", span_json(a, e->at));
	return v;
}

/* The span is shown with its text only when it lies inside its source: spans of generated text may not. */
static struct json *finding_json(struct arena *a, const struct finding *f)
{
	struct json *v = json_new(a, JSON_OBJECT);

	json_sets(a, v, "rule", f->rule);
	json_sets(a, v, "action", action_name(f->action));
	json_sets(a, v, "reason_code", reason_get(f->reason)->code);
	json_sets(a, v, "understood", printable(a, f->text));
	json_sets(a, v, "instead", f->instead);
	json_sets(a, v, "recommended_profile", f->recommended_profile);
	if (f->undo != UNDO_NONE)
		json_sets(a, v, "undo", f->undo == UNDO_TREE ? "tree" : "checkpoint");
	json_set(a, v, "span", span_json(a, f->at));
	if (f->source && f->at.end <= f->source->n && f->at.start < f->at.end)
		json_sets(a, v, "text",
			text_safe(a, f->source->text + f->at.start, f->at.end - f->at.start, true));
	json_sets(a, v, "via", f->source ? printable(a, f->source->via) : NULL);
	return v;
}

/* "truncated" means that a limit stopped the reader, which is something else than a syntax error. */
static struct json *parser_json(struct arena *a, const struct proposal *p)
{
	struct json *v = json_new(a, JSON_OBJECT);

	json_setb(a, v, "ok", p->readable);
	json_seti(a, v, "depth", p->max_depth);
	json_setb(a, v, "truncated",
		!p->readable && p->unreadable_code && !text_eq(p->unreadable_code, "parse_error"));
	if (!p->readable) {
		json_sets(a, v, "code", p->unreadable_code);
		json_sets(a, v, "text", printable(a, p->unreadable_text));
		json_set(a, v, "span", span_json(a, p->unreadable_at));
	}
	return v;
}

/* Which tool groups the profile gives, which of them this call uses, and which it uses without being given
 * them. */
static struct json *grant_json(struct arena *a, const struct decision *d)
{
	enum tool_group all[GROUP_COUNT];
	struct json *v, *used = json_new(a, JSON_ARRAY), *denied = json_new(a, JSON_ARRAY), *violation;

	for (int i = 0; i < GROUP_COUNT; i++)
		all[i] = (enum tool_group)i;
	v = json_new(a, JSON_OBJECT);
	json_sets(a, v, "profile", d->profile->name);
	const struct json *grant = profile_compute_grant(a, d->profile, all, GROUP_COUNT);
	json_each_member (m, grant)
		json_set(a, v, m->name, m->value);
	for (size_t i = 0; i < d->used_count; i++)
		json_pushs(a, used, tool_group_name(d->used[i]));
	json_set(a, v, "used", used);
	json_setb(a, v, "enforced", d->mode == GUARD_ENFORCE);
	if (d->denied_used_count == 0)
		return v;
	for (size_t i = 0; i < d->denied_used_count; i++)
		json_pushs(a, denied, tool_group_name(d->denied_used[i]));
	violation = json_new(a, JSON_OBJECT);
	json_set(a, violation, "denied_used", denied);
	json_set(a, v, "violation", violation);
	return v;
}

/* The members that older readers do not know. */
static void add_new_members(struct arena *a, const struct decision *d, struct json *v)
{
	struct json *effects = json_new(a, JSON_ARRAY), *findings = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < d->proposal->effect_count; i++)
		json_push(a, effects, effect_json(a, &d->proposal->effects[i]));
	for (size_t i = 0; i < d->finding_count; i++)
		json_push(a, findings, finding_json(a, &d->findings[i]));
	json_set(a, v, "reason_codes", reason_codes(a, d));
	json_set(a, v, "effects", effects);
	json_set(a, v, "parser", parser_json(a, d->proposal));
	json_sets(a, v, "policy_sha256", d->policy_sha256);
	json_sets(a, v, "verdict", verdict_name(d->verdict));
	json_sets(a, v, "reason_code", d->verdict == V_ALLOW ? NULL : reason_get(d->reason_code)->code);
	json_sets(a, v, "detail_code", d->detail_code);
	json_sets(a, v, "understood", printable(a, d->summary));
	json_sets(a, v, "instead", d->decisive ? d->decisive->instead : NULL);
	json_set(a, v, "findings", findings);
	json_set(a, v, "tool_grant", grant_json(a, d));
	json_sets(a, v, "mode", guard_mode_name(d->mode));
	json_sets(a, v, "containment", containment_name(d->placement));
}

/* The order of members is part of the format: see the head of this file. */
struct json *decision_to_json(struct arena *a, const struct decision *d)
{
	struct json *v = json_new(a, JSON_OBJECT), *parts = json_new(a, JSON_OBJECT);

	/* With the guard off nothing was judged, so nothing else is said. */
	if (d->mode == GUARD_OFF) {
		json_setb(a, v, "enabled", false);
		json_sets(a, v, "mode", "off");
		return v;
	}
	for (size_t i = 0; i < d->part_count; i++)
		json_set(a, parts, d->parts[i].name, hundredths(a, d->parts[i].hundredths));
	json_sets(a, v, "action", action_name(d->action));
	json_set(a, v, "risk_score", hundredths(a, d->score_hundredths));
	json_set(a, v, "score_breakdown", parts);
	json_sets(a, v, "selected_profile", d->profile->name);
	json_sets(a, v, "recommended_profile", d->recommended_profile);
	json_set(a, v, "reasons", reason_texts(a, d));
	json_set(a, v, "matched_rules", matched_rules(a, d));
	json_setb(a, v, "approval_required", d->action == ACTION_ASK);
	json_sets(a, v, "approval_hint", d->action == ACTION_ASK ? "--approve-risk" : NULL);
	json_sets(a, v, "evaluated_at", text_time_iso(a, d->evaluated_us));
	json_seti(a, v, "policy_version", d->policy_version);
	json_sets(a, v, "workspace", d->workspace);
	json_sets(a, v, "task_name", d->task_name);
	json_sets(a, v, "task_goal", d->task_goal);
	json_set(a, v, "classification", classification(a, d));
	add_new_members(a, d, v);
	return v;
}

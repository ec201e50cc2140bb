/* cmd_guard.c — ask the guard: check (one answer), explain (the whole reasoning, for a person), rules.
 *
 * Nothing here runs anything or writes anything: the same judgement is made as before a real run, and only
 * the answer is printed. The exit code is that of the decision, so that scripts can ask, too. */
#include "cli/cmd_guard.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "kernel/kernel.h"
#include "kernel/policy/policy.h"

#include <fcntl.h>
#include <string.h>

enum { MAX_STEPS_SHOWN = 400 };

const struct opt guard_check_opts[] = {
	{ "profile", OPT_VALUE, "NAME", "judge under this profile (default: the workspace's)", NULL, false },
	{ "cwd", OPT_VALUE, "DIR", "judge as if run in DIR", NULL, false },
	{ "shell", OPT_VALUE, "TEXT", "judge this text as a shell would read it", NULL, false },
	{ "containment", OPT_VALUE, "WHAT",
		"where it runs: 'walls', in the sandbox of its profile, or 'none' (default: as calls of the clients that are set up here, else as 'helm run')",
		NULL, false },
	{ "batch", OPT_FLAG, NULL, "JSON lines in, JSON lines out (see below)", NULL, false },
	{ "full", OPT_FLAG, NULL, "with --batch: the whole decision in every answer", NULL, false },
	{ 0 },
};
const struct opt guard_explain_opts[] = {
	{ "profile", OPT_VALUE, "NAME", "judge under this profile (default: the workspace's)", NULL, false },
	{ "cwd", OPT_VALUE, "DIR", "judge as if run in DIR", NULL, false },
	{ "containment", OPT_VALUE, "WHAT",
		"where it runs: 'walls', in the sandbox of its profile, or 'none' (default: as calls of the clients that are set up here, else as 'helm run')",
		NULL, false },
	{ "shell", OPT_VALUE, "TEXT", "explain this text as a shell would read it", NULL, false },
	{ 0 },
};

/* The order is that of enum rule_effect. */
static enum paint action_paint(enum rule_effect a)
{
	static const enum paint paints[] = { PAINT_GOOD, PAINT_WARN, PAINT_WARN, PAINT_BAD };
	TABLE_COVERS(paints, ACTION_COUNT);

	return paints[a];
}

static int choose_placement(struct cli *r, struct guard *g, struct err *e)
{
	const char *what = opt_text(r, "containment", NULL);

	if (what && !text_eq(what, "walls") && !text_eq(what, "none"))
		return err_set(e, E_USAGE, "USAGE_CONTAINMENT",
			"--containment is 'walls' or 'none', not '%s'", what);
	if (what) {
		g->placement = text_eq(what, "walls") ? IN_SANDBOX : UNSANDBOXED;
		g->is_by_client = false;
	}
	return OK;
}

/* What else would decide now: sentences from the kernel. */
static void print_outlook(struct cli *r, const struct json *now)
{
	json_each (text, json_get(now, "sentences")) {
		out(r, "  now      ");
		out(r, "%s\n", text_safe(r->a, json_text(text), strlen(json_text(text)), false));
	}
}

/* The hash of the policy costs time, so it is computed only where it is shown. */
static struct json *answer_doc(struct cli *r, struct guard *g, struct decision *d, struct json *now)
{
	d->policy_sha256 = policy_sha256(r->a, g->policy);
	struct json *doc = decision_to_json(r->a, d);
	json_set(r->a, doc, "now", now ? now : json_new(r->a, JSON_NULL));
	return doc;
}

/* What to judge: --shell TEXT, or everything behind "--". Exactly one of them. */
static int judge_words(struct cli *r, const struct guard *g, struct foresight *ret, struct err *e)
{
	const char *text = opt_text(r, "shell", NULL);
	const struct foresee_question q = { .profile = opt_text(r, "profile", NULL),
		.argv = text ? NULL : (const char *const *)r->child,
		.argc = r->child_count,
		.shell = bytes_of(text ? text : "") };

	/* Two commands could not be told apart in one answer. */
	if (text && r->child_count)
		return err_set(e, E_USAGE, "USAGE_TWO_COMMANDS", "give --shell TEXT or -- COMMAND, not both");
	if (!text && !r->child_count)
		return err_set(e, E_USAGE, "USAGE_NO_COMMAND",
			"say what to judge: --shell TEXT, or -- COMMAND ARGS...");
	/* Who quotes a whole line has meant a line. */
	if (!text && r->child_count == 1 && strchr(r->child[0], ' ') &&
		!file_exists(r->sys, AT_FDCWD, r->child[0]))
		warn(r, "this is judged as the name of one program; a line of shell is given with --shell");
	return foresee(g, r->a, &q, ret, e);
}

/* The part of the command that the finding is about, and the text it was nested in. */
static void print_span(struct cli *r, const struct finding *f)
{
	size_t n = f->at.end - f->at.start;

	if (!f->source || f->at.end > f->source->n || f->at.start >= f->at.end)
		return;
	out(r, "  at       %s%s%s", paint(r, PAINT_PRIMARY),
		text_safe(r->a, f->source->text + f->at.start, n > 160 ? 160 : n, false),
		paint(r, PAINT_OFF));
	out(r, "%s%s%s%s\n", f->source->via ? paint(r, PAINT_MUTED) : "", f->source->via ? "  inside " : "",
		f->source->via ? text_safe(r->a, f->source->via, strlen(f->source->via), false) : "",
		f->source->via ? paint(r, PAINT_OFF) : "");
}

/* A tool group that the profile denies is final: no approval lifts it. */
static void print_groups(struct cli *r, const struct decision *d)
{
	for (size_t i = 0; i < d->denied_used_count; i++)
		out(r, "  profile  %s denies the tool group %s; no approval lifts that\n", d->profile->name,
			tool_group_name(d->denied_used[i]));
}

/* By which profile it was judged and what happens to destructive commands; said only when it is not as
 * shipped. */
static void print_under(struct cli *r, const struct decision *d, const struct json *now)
{
	const char *destructive = json_get_text(now, "destructive", "ask");

	if (!text_eq(d->profile->name, "workspace_edit") || !text_eq(destructive, "ask"))
		out(r, "  under    profile %s, destructive=%s%s\n", d->profile->name, destructive,
			d->placement == IN_SANDBOX ? ", in its sandbox" : "");
}

/* What happens is said, as the exit code does: a profile may deny what a rule would only ask about, and a checkpoint answers
 * some questions. */
static enum rule_effect shown_action(const struct decision *d)
{
	if (d->verdict == V_DENY)
		return ACTION_DENY;
	return d->verdict == V_ALLOW && d->action > ACTION_WARN ? ACTION_ALLOW : d->action;
}

/* What else speaks against it; the gravest is on the first line. */
static void print_more(struct cli *r, const struct decision *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->finding_count; i++)
		n += d->findings[i].action >= ACTION_ASK && &d->findings[i] != d->decisive &&
			!decision_is_outspoken(d, i);
	if (n)
		out(r, "  also     %zu more reason%s; %s shows %s\n", n, n == 1 ? "" : "s",
			hint(r, "'helm guard explain'"), n == 1 ? "it" : "them");
}

/* The answer on one line, and for what does not pass why, where and what to do instead. */
static void print_check(struct cli *r, const struct decision *d, const struct json *now)
{
	const struct finding *f = d->decisive;

	enum rule_effect action = shown_action(d);

	out(r, "%s%s%s", paint(r, action_paint(action)), action_name(action), paint(r, PAINT_OFF));
	if (f)
		out(r, "  %s%s%s", paint(r, PAINT_MUTED), f->rule, paint(r, PAINT_OFF));
	out(r, "  ");
	out(r, "%s\n", d->summary);
	print_under(r, d, now);
	print_outlook(r, now);
	/* What passes needs no place and no advice. */
	if (d->verdict == V_ALLOW)
		return;
	if (f)
		print_span(r, f);
	print_groups(r, d);
	print_more(r, d);
	if (f && f->instead)
		out(r, "%s\n", arena_printf(r->a, "  instead  %s", called(r->a, f->instead)));
	if (d->recommended_profile)
		out(r,
			"  profile  under %s it is allowed: helm run --profile %s ..., or helm profile use "
			"%s\n",
			d->recommended_profile, d->recommended_profile, d->recommended_profile);
}

/* With --batch the questions come from standard input instead (cmd_guard_batch.c). */
int cmd_guard_check(struct cli *r, struct err *e)
{
	struct guard g;
	AUTO(foresight_done) struct foresight f = { 0 };
	int rc = guard_open(r->sys, r->a, r->ws, opt_text(r, "cwd", NULL), &g, e);

	if (rc || (rc = choose_placement(r, &g, e)))
		return rc;
	/* The guard is opened once for all lines. */
	if (opt_flag(r, "batch"))
		return guard_batch(r, &g, e);
	if ((rc = judge_words(r, &g, &f, e)))
		return rc;
	struct json *now = foresight_json(&f);
	if (r->is_json)
		out_json(r, answer_doc(r, &g, &f.h.decision, now));
	else
		print_check(r, &f.h.decision, now);
	return decision_exit(&f.h.decision);
}

/* --- explain: the command as a tree ---------------------------------------------------------------------------------- */

/* Whether there is a later step with the same parent. It decides between a branch and a corner in the
 * tree. */
static bool has_sibling(const struct proposal *p, size_t i)
{
	for (size_t k = i + 1; k < p->step_count; k++)
		if (p->steps[k].parent == p->steps[i].parent)
			return true;
	return false;
}

/* The bars left of a step, one column per level above it. Deeper than 32 levels they are cut. */
static void print_bars(struct cli *r, const struct proposal *p, size_t i, bool is_head)
{
	size_t path[32], depth = 0;

	for (size_t at = i; depth < ARRAY_SIZE(path); at = p->steps[at].parent) {
		path[depth++] = at;
		/* A parent out of range marks a step at the top. */
		if (p->steps[at].parent >= p->step_count)
			break;
	}
	out(r, "  %s", paint(r, PAINT_MUTED));
	while (depth-- > 1)
		out(r, "%s", has_sibling(p, path[depth]) ? glyph(r, "│  ", "|  ") : "   ");
	if (is_head)
		out(r, "%s", has_sibling(p, i) ? glyph(r, "├─ ", "|- ") : glyph(r, "└─ ", "`- "));
	else
		out(r, "%s", has_sibling(p, i) ? glyph(r, "│  ", "|  ") : "   ");
	out(r, "%s", paint(r, PAINT_OFF));
}

/* Where a path lies, in words. */
static const char *where_text(const struct effect *e)
{
	static const char *const texts[] = {
		[PATH_NONE] = "",
		[PATH_SINK] = "",
		[PATH_IN] = "inside the workspace",
		[PATH_TMP] = "temporary",
		[PATH_OUT] = "outside the workspace",
		[PATH_HOME] = "in the home directory",
		[PATH_UP] = "the workspace itself or above it",
		[PATH_SYS] = "the system's",
		[PATH_STATE] = "Helm's own",
		[PATH_ROOT] = "the whole file system",
		[PATH_DEV] = "a raw device",
	};
	TABLE_COVERS(texts, PATH_CLASS_COUNT);
	return texts[e->path_class];
}

/* One effect below its step: kind, target, where it leads and how sure that is. */
static void print_effect(struct cli *r, const struct proposal *p, size_t step, const struct effect *e)
{
	const char *where = where_text(e), *mark = paint(r, PAINT_MUTED), *off = paint(r, PAINT_OFF);

	print_bars(r, p, step, false);
	out(r, "   %s%s%s", mark, effect_kind_name(e->kind), off);
	if (e->target && *e->target && !(e->kind == FX_READ && e->path_class == PATH_NONE))
		out(r, " %s", text_safe(r->a, e->target, strnlen(e->target, 200), false));
	if (e->resolved)
		out(r, " %s%s%s %s", mark, glyph(r, "→", "->"), off,
			text_safe(r->a, e->resolved, strnlen(e->resolved, 200), false));
	if (*where)
		out(r, " %s(%s)%s", mark, where, off);
	if (e->certainty != CERTAIN)
		out(r, " %s%s%s", mark,
			e->certainty == DYNAMIC ? "not known beforehand" : "known only in part", off);
	if (e->flags & FXF_RECURSIVE)
		out(r, "%s, recursively%s", mark, off);
	if (e->flags & FXF_DRY_RUN)
		out(r, "%s, dry run%s", mark, off);
	if (e->flags & FXF_PRIVILEGED)
		out(r, "%s, privileged%s", mark, off);
	if (e->flags & FXF_DECODED)
		out(r, "%s, found by decoding%s", mark, off);
	out(r, "\n");
}

/* A finding below the step it is about, with what to do instead. */
static void print_finding(
	struct cli *r, const struct proposal *p, size_t step, const struct finding *f, bool passes)
{
	print_bars(r, p, step, false);
	out(r, "   %s%s %s%s  %s\n", paint(r, action_paint(f->action)), glyph(r, "▲", "^"), f->rule,
		paint(r, PAINT_OFF), f->text);
	/* What runs anyway, saved first, needs no other way. */
	if (!f->instead || passes)
		return;
	print_bars(r, p, step, false);
	out(r, "     %sinstead: %s%s\n", paint(r, PAINT_MUTED), called(r->a, f->instead),
		paint(r, PAINT_OFF));
}

/* Which rule it is, where it stands, and which conditions hold: as 'policy explain' says it. */
static void print_reason(struct cli *r, const struct decision *d, size_t step, const struct finding *f)
{
	const struct json *reason = decide_reason(r->a, d, f);

	if (!reason)
		return;
	print_bars(r, d->proposal, step, false);
	out(r, "     %s%s%s\n", paint(r, PAINT_MUTED), reason_line(r->a, reason), paint(r, PAINT_OFF));
}

/* A step with its effects and what the rules say about them. A finding that a stricter one outspeaks is
 * left out. */
static void print_step(struct cli *r, const struct decision *d, size_t i)
{
	const struct proposal *p = d->proposal;
	const struct step *s = &p->steps[i];
	const char *text = s->text ? s->text : s->program ? s->program : glyph(r, "…", "...");

	print_bars(r, p, i, true);
	out(r, "%s%s%s", paint(r, PAINT_PRIMARY), text_safe(r->a, text, strnlen(text, 400), false),
		paint(r, PAINT_OFF));
	if (s->source && s->source->via &&
		(s->parent >= p->step_count || p->steps[s->parent].source != s->source))
		out(r, "  %sby %s%s", paint(r, PAINT_MUTED),
			text_safe(r->a, s->source->via, strlen(s->source->via), false), paint(r, PAINT_OFF));
	out(r, "\n");
	for (size_t k = 0; k < p->effect_count; k++)
		if (p->effects[k].step == i && p->effects[k].path_class != PATH_SINK)
			print_effect(r, p, i, &p->effects[k]);
	for (size_t k = 0; k < d->finding_count; k++)
		if (d->findings[k].effect && d->findings[k].effect->step == i &&
			d->findings[k].action > ACTION_ALLOW && !decision_is_outspoken(d, k)) {
			print_finding(
				r, p, i, &d->findings[k], d->verdict == V_ALLOW && d->action > ACTION_WARN);
			print_reason(r, d, i, &d->findings[k]);
		}
}

/* The verdict in words for a person. */
static const char *answer(const struct decision *d)
{
	if (d->verdict == V_ALLOW)
		return d->action == ACTION_WARN	  ? "allowed, with a note"
			: d->action > ACTION_WARN ? "allowed, after a checkpoint"
						  : "allowed";
	return d->verdict == V_ESCALATE ? "a person must approve" : "denied";
}

/* Findings about the command as a whole, which belong to no step. */
static void print_whole_findings(struct cli *r, const struct decision *d)
{
	for (size_t i = 0; i < d->finding_count; i++) {
		const struct finding *f = &d->findings[i];
		if (f->effect || f->action == ACTION_ALLOW)
			continue;
		out(r, "  %s%s %s%s  %s\n", paint(r, action_paint(f->action)), glyph(r, "▲", "^"), f->rule,
			paint(r, PAINT_OFF), f->text);
		if (f->instead)
			out(r, "    %sinstead: %s%s\n", paint(r, PAINT_MUTED), called(r->a, f->instead),
				paint(r, PAINT_OFF));
	}
	print_groups(r, d);
}

/* What the policy in use says, check by check; each that says nothing is named, too. */
static void print_policy(struct cli *r, const struct policy_answer *p)
{
	if (!p) {
		out(r, "  policy   none is in use: profile and guard rules decide alone\n");
		return;
	}
	out(r, "  policy   ");
	out(r, "%s %s: %s\n", p->name, p->version ? p->version : "", verdict_name(p->verdict));
	const struct json *judgement = policy_judgement(r->a, p);
	json_each (gate, json_get(judgement, "gates")) {
		const char *rule = json_get_text(gate, "rule", NULL),
			   *text = json_get_text(gate, "text", NULL),
			   *from = json_get_text(gate, "origin", NULL);
		out(r, "    %-14s", json_get_text(gate, "gate", ""));
		out(r, "%s%s%s%s%s", json_get_text(gate, "verdict", ""), rule ? "  rule " : "",
			rule ? rule : "", from ? ", " : "", from ? from : "");
		out(r, "%s%s\n", text ? ": " : "", text ? text_safe(r->a, text, strlen(text), false) : "");
	}
}

static const char *placement_text(const struct foresight *f)
{
	switch (f->h.decision.placement) {
	case IN_SANDBOX:
		return arena_printf(f->h.a, "in the sandbox of profile %s", f->h.decision.profile->name);
	case BY_SUPERVISOR:
		return "by a process that Helm supervises, in a sandbox of its own";
	default:
		return f->q.placement == IN_SANDBOX
			? "in a sandbox that lacks a guarantee, so it is judged as without one"
			: "without a sandbox";
	}
}

/* Everything beside the rules that has a say, in the order in which it has it; then the answer. */
static void print_rest(struct cli *r, const struct foresight *f, const struct json *now)
{
	const struct decision *d = &f->h.decision;

	out(r, "  runs     %s\n", placement_text(f));
	if (now) {
		print_policy(r, f->h.policy);
		out(r, "  stop     %s\n",
			json_get_bool(now, "frozen", false)	      ? "everything is frozen"
				: json_get_bool(now, "paused", false) ? "the profile is paused"
								      : "nothing is frozen or paused for it");
		out(r, "  saved    %s\n",
			f->h.settled.is_covered ? "everything it would lose, before it runs"
						: "nothing has to be saved first for this answer");
	}
	print_under(r, d, now);
	print_outlook(r, now);
	out(r, "  answer   %s, exit code %d\n", verdict_name(d->verdict), decision_exit(d));
}

/* The verdict first, then the command as a tree, then what concerns all of it. */
static void print_explanation(struct cli *r, const struct foresight *f, const struct json *now)
{
	const struct decision *d = &f->h.decision;
	enum paint p = action_paint(shown_action(d));

	out(r, "\n  %s%s%s %s%s  %sunder %s, risk %d.%02d (%s)%s\n\n", paint(r, PAINT_BOLD), paint(r, p),
		glyph(r, "●", "*"), answer(d), paint(r, PAINT_OFF), paint(r, PAINT_MUTED), d->profile->name,
		d->score_hundredths / 100, d->score_hundredths % 100, risk_level(d->score_hundredths),
		paint(r, PAINT_OFF));
	for (size_t i = 0; i < d->proposal->step_count && i < MAX_STEPS_SHOWN; i++)
		print_step(r, d, i);
	if (d->proposal->step_count > MAX_STEPS_SHOWN)
		out(r, "  %s and %zu more\n", glyph(r, "…", "..."),
			d->proposal->step_count - MAX_STEPS_SHOWN);
	if (d->proposal->step_count)
		out(r, "\n");
	print_whole_findings(r, d);
	if (d->verdict == V_ALLOW)
		out(r, "  %s\n", d->summary);
	if (d->recommended_profile && d->verdict != V_ALLOW)
		out(r, "  %sunder the profile %s it is allowed%s\n", paint(r, PAINT_MUTED),
			d->recommended_profile, paint(r, PAINT_OFF));
	/* A freeze or pause stands above everything that the rules say. */
	if (json_get_bool(now, "frozen", false) || json_get_bool(now, "paused", false))
		out(r, "  %s%s %s%s  %s\n", paint(r, PAINT_BAD), glyph(r, "▲", "^"), d->detail_code,
			paint(r, PAINT_OFF), d->summary);
	print_rest(r, f, now);
	out(r, "\n");
}

/* The same tree for programs: [{parent, text, effects: [{kind, target, where}], findings: [{rule, action, text, instead}]}]; parent is the place of
 * another step, or -1. */
static struct json *step_json(struct cli *r, const struct decision *d, size_t i)
{
	const struct proposal *p = d->proposal;
	const struct step *s = &p->steps[i];
	struct json *o = json_new(r->a, JSON_OBJECT), *effects = json_new(r->a, JSON_ARRAY),
		    *findings = json_new(r->a, JSON_ARRAY);

	json_seti(r->a, o, "parent", s->parent < p->step_count ? (int64_t)s->parent : -1);
	json_sets(r->a, o, "text", s->text ? s->text : s->program ? s->program : "…");
	for (size_t k = 0; k < p->effect_count; k++) {
		const struct effect *x = &p->effects[k];
		struct json *one = json_new(r->a, JSON_OBJECT);
		if (x->step != i || x->path_class == PATH_SINK)
			continue;
		json_sets(r->a, one, "kind", effect_kind_name(x->kind));
		json_sets(r->a, one, "target", x->target);
		json_sets(r->a, one, "where", where_text(x));
		json_push(r->a, effects, one);
	}
	for (size_t k = 0; k < d->finding_count; k++) {
		const struct finding *f = &d->findings[k];
		struct json *one = json_new(r->a, JSON_OBJECT);
		if (!f->effect || f->effect->step != i || f->action <= ACTION_ALLOW ||
			decision_is_outspoken(d, k))
			continue;
		json_sets(r->a, one, "rule", f->rule);
		json_sets(r->a, one, "action", action_name(f->action));
		json_sets(r->a, one, "text", f->text);
		json_sets(r->a, one, "instead", f->instead);
		struct json *reason = decide_reason(r->a, d, f);
		if (reason)
			json_set(r->a, one, "reason", reason);
		json_push(r->a, findings, one);
	}
	json_set(r->a, o, "effects", effects);
	json_set(r->a, o, "findings", findings);
	return o;
}

static struct json *explanation_json(struct cli *r, struct guard *g, struct foresight *f, struct json *now)
{
	struct decision *d = &f->h.decision;
	struct json *doc = answer_doc(r, g, d, now), *steps = json_new(r->a, JSON_ARRAY);

	for (size_t i = 0; i < d->proposal->step_count && i < MAX_STEPS_SHOWN; i++)
		json_push(r->a, steps, step_json(r, d, i));
	json_set(r->a, doc, "steps", steps);
	if (f->h.policy) {
		struct json *policy = policy_judgement(r->a, f->h.policy);
		json_sets(r->a, policy, "name", f->h.policy->name);
		json_sets(r->a, policy, "version", f->h.policy->version);
		json_sets(r->a, policy, "verdict", verdict_name(f->h.policy->verdict));
		json_set(r->a, doc, "policy", policy);
	}
	return doc;
}

int cmd_guard_explain(struct cli *r, struct err *e)
{
	struct guard g;
	AUTO(foresight_done) struct foresight f = { 0 };
	int rc = guard_open(r->sys, r->a, r->ws, opt_text(r, "cwd", NULL), &g, e);

	if (rc || (rc = choose_placement(r, &g, e)) || (rc = judge_words(r, &g, &f, e)))
		return rc;
	struct json *now = foresight_explain(&f);
	if (r->is_json)
		out_json(r, explanation_json(r, &g, &f, now));
	else
		print_explanation(r, &f, now);
	return decision_exit(&f.h.decision);
}

/* --- rules ------------------------------------------------------------------------------------------------------------ */

/* One rule with everything that decides when it speaks. */
static struct json *rule_json(struct arena *a, const struct rule_view *rule)
{
	struct json *v = json_new(a, JSON_OBJECT);

	json_sets(a, v, "id", rule->id);
	json_sets(a, v, "action", action_name(rule->action));
	json_sets(a, v, "reason_code", reason_get(rule->reason)->code);
	json_sets(a, v, "text", rule->text);
	json_sets(a, v, "instead", rule->instead);
	json_sets(a, v, "recommended_profile", rule->recommended_profile);
	json_sets(a, v, "origin", rule->origin);
	if (rule->when)
		json_set(a, v, "when", json_copy(a, rule->when));
	if (rule->patterns)
		json_set(a, v, "patterns", json_copy(a, rule->patterns));
	return v;
}

/* The rules together with the hash of the policy, so that a reader can tell which policy they belong to. */
static void rules_as_json(struct cli *r, const struct guard *g)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *rules = json_new(r->a, JSON_ARRAY);
	struct rule_view rule;

	for (size_t i = 0; policy_rule(g->policy, i, &rule); i++)
		json_push(r->a, rules, rule_json(r->a, &rule));
	json_seti(r->a, doc, "policy_version", policy_version(g->policy));
	json_sets(r->a, doc, "policy_sha256", policy_sha256(r->a, g->policy));
	json_sets(r->a, doc, "error", policy_error(g->policy));
	json_sets(r->a, doc, "default_guard_mode", guard_mode_name(policy_default_mode(g->policy)));
	json_setb(r->a, doc, "allow_guard_off", policy_permits_off(g->policy));
	json_setb(r->a, doc, "override_waiting", policy_wants_override(g->policy));
	json_set(r->a, doc, "rules", rules);
	out_json(r, doc);
}

/* The text of a rule with "it" and "its target" in the place of what a command would fill in. */
static const char *plain_text(struct arena *a, const char *text)
{
	struct buf b;

	buf_init(&b, a);
	while (*text) {
		if (text_starts(text, "{program}")) {
			buf_adds(&b, "it");
			text += sizeof("{program}") - 1;
		} else if (text_starts(text, "{target}")) {
			buf_adds(&b, "its target");
			text += sizeof("{target}") - 1;
		} else {
			buf_addc(&b, *text++);
		}
	}
	return b.p;
}

/* A policy that was not understood is told first: then everything needs approval, whatever the table says. */
int cmd_guard_rules(struct cli *r, struct err *e)
{
	static const char *const headings[] = { "RULE", "ACTION", "SPEAKS WHEN" };
	struct out_table *t;
	struct rule_view rule;
	struct guard g;
	int rc = guard_open(r->sys, r->a, r->ws, NULL, &g, e);

	if (rc)
		return rc;
	if (policy_error(g.policy))
		warn(r, "the policy was not understood, so everything needs approval: %s",
			policy_error(g.policy));
	if (policy_wants_override(g.policy))
		warn(r, "the policy asks to lower rules; that waits for a person to accept it");
	if (r->is_json) {
		rules_as_json(r, &g);
		return policy_error(g.policy) ? EXIT_NO : 0;
	}
	t = out_table(r, headings, ARRAY_SIZE(headings));
	for (size_t i = 0; policy_rule(g.policy, i, &rule); i++) {
		const char *cells[] = { rule.id, action_name(rule.action), plain_text(r->a, rule.text) };
		const enum paint paints[] = { PAINT_PRIMARY, action_paint(rule.action), PAINT_OFF };
		out_row(t, cells, paints);
	}
	out_table_end(t);
	return policy_error(g.policy) ? EXIT_NO : 0;
}

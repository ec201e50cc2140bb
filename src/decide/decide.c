/* decide.c — from the effects of a command to one decision.
 *
 * Every source of objections looks at every effect: the rules, the rights of the profile, the
 * workspace's own rules, what could not be read, and last the risk score. Each objection is a finding
 * with an action (allow, warn, ask, deny), and the strictest action decides. No source can silence
 * another one. Therefore the answer is monotone: adding a command, a wrapper or a rule can make it
 * stricter, never milder. Whoever extends this file must keep it so, because a command could otherwise
 * be made acceptable by putting something else next to it.
 *
 * Two lists come out. Findings explain the decision to a person; equal ones are left out and their
 * number is limited. Asks are for the machine: each reason to ask, complete, because a grant must answer
 * every one of them (grant.c). */
#include "decide/decide.h"

#include "base/text.h"
#include "decide/policy/policy.h"

#include <string.h>

/* Findings beyond the limit are not kept, but they still raise the action. Asks beyond the limit set
 * has_more_asks, and then only a grant for this very input can answer. */
enum { MAX_FINDINGS = 200, MAX_ASKS = 400 };

struct judge {
	const struct policy *policy;
	const struct profile *profile;
	const struct proposal *proposal;
	const struct decide_context *at;
	struct decision *d;
	const struct profile_rule *raise; /* of the policy file, for this profile; or NULL */
	struct when_at place; /* what conditions see of where it happens */
	bool is_denied_by_rule;
};

/* How a sentence names the target of an effect; NULL when there is nothing to name. A path of which only
 * the beginning is known is shown with an ellipsis behind it. */
static const char *target_text(struct arena *a, const struct effect *e)
{
	const char *name = e && e->target && *e->target ? e->target : NULL;

	/* The name of a remote says nothing to whoever does not know what it stands for today. */
	if (e && e->kind == FX_NETWORK && e->resolved)
		return name ? arena_printf(a, "%s (%s)", name, e->resolved) : e->resolved;
	if (!name)
		return NULL;
	bool is_open = e->certainty == PREFIXED && !strpbrk(name, "*?[…");
	return is_open ? arena_printf(a, "%s…", name) : name;
}

/* Removes the words around a {target} that has no value, so that a sentence does not end in ": " or
 * contain "()". Elsewhere a phrase stands in for the name. Returns where the text goes on. */
static const char *leave_out(struct buf *b, const char *text)
{
	if (!*text && b->n > 2 && memcmp(b->p + b->n - 2, ": ", 2) == 0) {
		b->p[b->n -= 2] = '\0';
	} else if (*text == ')' && b->n > 2 && memcmp(b->p + b->n - 2, " (", 2) == 0) {
		b->p[b->n -= 2] = '\0';
		text++;
	} else {
		buf_adds(b, "something that is not named");
	}
	return text;
}

/* Fills in {program} and {target} in a rule's text. Both come from the command that is judged, so they
 * are made safe to show and cut to 200 bytes. */
static const char *render(struct arena *a, const char *text, const struct effect *e)
{
	struct buf b;

	if (!strchr(text, '{'))
		return text;
	buf_init(&b, a);
	while (*text) {
		const char *value = NULL;
		if (text_starts(text, "{program}")) {
			value = e && e->program ? e->program : "the command";
			text += sizeof("{program}") - 1;
		} else if (text_starts(text, "{target}")) {
			value = target_text(a, e);
			text += sizeof("{target}") - 1;
			if (!value) {
				text = leave_out(&b, text);
				continue;
			}
		}
		if (value)
			buf_adds(&b, text_seen(a, value, strnlen(value, 200), false));
		else
			buf_addc(&b, *text++);
	}
	return b.p;
}

/* Two effects of one step that meet the same rule are one finding for a person: rm of ten files is said
 * once. */
static bool is_same(const struct finding *f, const char *rule, const struct effect *e)
{
	return f->effect && e && f->effect->step == e->step && text_eq(f->rule, rule);
}

/* Records a finding and raises the action. The strictest finding so far is always kept in findings[0];
 * so a full list can give up its last entry for a stricter one and the decisive finding is never lost.
 * Returns NULL when the finding was not kept; its action counts all the same. */
static struct finding *add(struct judge *j, enum rule_effect action, const char *rule,
	enum reason_code reason, const char *text, const struct effect *e)
{
	struct decision *d = j->d;
	struct finding *f;

	if (action > d->action)
		d->action = action;
	if (d->finding_count == MAX_FINDINGS && action <= d->findings[0].action)
		return NULL;
	/* Room is kept for one that is stricter than all before. */
	if (d->finding_count == MAX_FINDINGS)
		d->finding_count--;
	f = &d->findings[d->finding_count++];
	*f = (struct finding){ .action = action,
		.rule = rule,
		.reason = reason,
		.text = render(j->at->a, text, e),
		.effect = e,
		.source = e ? e->source : j->proposal->source };
	if (e)
		f->at = e->at;
	if (action > d->findings[0].action) {
		struct finding first = d->findings[0];
		d->findings[0] = *f;
		*f = first;
		f = &d->findings[0];
	}
	return f;
}

/* Notes a reason to ask. It is called before has_spoken() hides repetitions: a person need not read an
 * equal reason twice, but a grant has to cover each effect it is about. */
static void note_ask(
	struct judge *j, enum rule_effect action, const char *rule, const struct effect *e, enum undo undo)
{
	struct decision *d = j->d;

	if (action != ACTION_ASK)
		return;
	if (d->ask_count == MAX_ASKS) {
		d->has_more_asks = true;
		return;
	}
	if (!d->asks)
		d->asks = arena_alloc(j->at->a, MAX_ASKS * sizeof(*d->asks));
	d->asks[d->ask_count++] = (struct ask){ rule, e, undo };
}

/* Whether this rule already has a finding about the same step. */
static bool has_spoken(const struct judge *j, const char *rule, const struct effect *e)
{
	for (size_t i = 0; i < j->d->finding_count; i++)
		if (is_same(&j->d->findings[i], rule, e))
			return true;
	return false;
}

/* The rule holds for the effect. The order matters: what counts (destructive, denied, ask) is noted for
 * every effect, and only then a repetition is left out of the list of findings. */
static void apply_rule(
	struct judge *j, const struct rule_layer *l, const struct rule *r, const struct effect *e)
{
	const enum rule_effect action = (enum rule_effect)r->action;
	const char *id = rule_layer_text(l, r->id);
	struct finding *f;

	j->d->destructive |= r->is_destructive && action >= ACTION_ASK;
	j->is_denied_by_rule |= action == ACTION_DENY;
	note_ask(j, action, id, e, (enum undo)r->undo);
	if (j->d->action >= action && has_spoken(j, id, e))
		return;
	f = add(j, action, id, (enum reason_code)r->reason, rule_layer_text(l, r->text), e);
	if (!f)
		return;
	f->instead = rule_layer_text(l, r->instead);
	f->recommended_profile = rule_layer_text(l, r->recommended_profile);
	f->is_destructive = r->is_destructive;
	f->undo = (enum undo)r->undo;
}

static void try_rule(struct judge *j, const struct rule_layer *l, size_t i, const struct effect *e)
{
	const struct rule *r = &l->rules[i];

	if (when_holds(&l->data, &r->when, e, &j->place, false))
		apply_rule(j, l, r, e);
}

/* Tries the rules of each layer that can hold for this kind of effect: of the shipped one they are found by an index made at
 * build time. */
static void judge_by_rules(struct judge *j, const struct effect *e)
{
	for (size_t k = 0; k < LAYER_COUNT; k++) {
		const struct rule_layer *l = &j->policy->layers[k];
		if (l->by_kind)
			for (size_t i = l->kind_start[e->kind]; i < l->kind_start[e->kind + 1]; i++)
				try_rule(j, l, l->by_kind[i], e);
		else
			for (size_t i = 0; i < l->n; i++)
				if (l->rules[i].when.kinds >> e->kind & 1)
					try_rule(j, l, i, e);
	}
}

/* Adds a finding that does not come from a rule with a condition. Like apply_rule(), it notes the ask
 * first. */
static void say(struct judge *j, enum rule_effect action, const char *rule, enum reason_code reason,
	const char *text, const struct effect *e, const char *instead, const char *profile)
{
	struct finding *f;

	note_ask(j, action, rule, e, UNDO_NONE);
	if (j->d->action >= action && has_spoken(j, rule, e))
		return;
	f = add(j, action, rule, reason, text, e);
	if (f) {
		f->instead = instead;
		f->recommended_profile = profile;
	}
}

static enum rule_effect stricter(enum rule_effect x, enum rule_effect y)
{
	return x > y ? x : y;
}

/* What a profile's right means: "no", or a workspace policy that takes the right away, denies; "the
 * target decides" asks. */
static enum rule_effect action_for(enum allowance right, bool is_taken_away)
{
	if (right == ALLOWANCE_NO || is_taken_away)
		return ACTION_DENY;
	return right == ALLOWANCE_TARGET ? ACTION_ASK : ACTION_ALLOW;
}

static void judge_write(struct judge *j, const struct effect *e)
{
	enum rule_effect action = action_for(j->profile->writes, j->raise && j->raise->denies_writes);

	if (j->raise)
		action = stricter(action, j->raise->on_write);
	if (action == ACTION_DENY)
		say(j, action, "profile.write", REASON_write_not_allowed,
			"{program} would change {target}, and the profile does not permit changes", e, NULL,
			"workspace_edit");
	else if (action > ACTION_ALLOW)
		say(j, action, "profile.write", REASON_target_decides,
			"{program} would change {target}; whether that may be is not decided here", e, NULL,
			NULL);
}

static void judge_network(struct judge *j, const struct effect *e)
{
	enum rule_effect action = action_for(j->profile->network, j->raise && j->raise->denies_network);

	if (j->raise)
		action = stricter(action, j->raise->on_network);
	if (action == ACTION_DENY)
		say(j, action, "profile.network", REASON_network_not_allowed,
			"{program} would use the network ({target}), and the profile does not permit that", e,
			NULL, "service_ops");
	else if (action > ACTION_ALLOW)
		say(j, action, "profile.network", REASON_target_decides,
			j->profile->reach == NETWORK_NAMED
				? "{program} would use the network ({target}), and the profile does not name that host"
				: "{program} would use the network ({target}); whether that may be is not decided here",
			e, NULL, NULL);
}

/* The rights of the profile: changing files, using the network, running what was not read and tools nobody knows. */
static void judge_by_profile(struct judge *j, const struct effect *e)
{
	if (facts_writes(e))
		judge_write(j, e);
	if (facts_uses_network(e, j->profile, j->at))
		judge_network(j, e);
	if (e->kind == FX_SCRIPT && !(e->flags & FXF_WAS_READ) && j->profile->unread == UNREAD_ASK)
		say(j, ACTION_ASK, "profile.unread", REASON_opaque_script,
			"{program} would run {target}, whose text was not read to its end, and the profile wants that "
			"asked",
			e, NULL, NULL);
	if (e->kind == FX_UNKNOWN && j->profile->unknown_tool != UNKNOWN_ALLOW)
		say(j, j->profile->unknown_tool == UNKNOWN_DENY ? ACTION_DENY : ACTION_ASK,
			"profile.unknown_tool", REASON_unknown_tool,
			"{program} is not known here, and the profile wants that asked", e, NULL, NULL);
}

static bool is_unknown(const struct effect *e, const char *tag)
{
	return e->kind == FX_UNKNOWN && e->tag && text_eq(e->tag, tag);
}

/* Where no sandbox stands, a program that is in no table is asked about.  Inline code, scripts, and tools of a client or a server have tags of
 * their own; what merely looks like a command among the arguments of such a tool is none.  Called last, because any other reason
 * to ask says more. */
static void judge_unknown_programs(struct judge *j)
{
	const struct proposal *p = j->proposal;

	if (j->at->placement == IN_SANDBOX)
		return;
	for (size_t i = 0; i < p->effect_count; i++)
		if (is_unknown(&p->effects[i], "tool.unknown") || is_unknown(&p->effects[i], "mcp.call"))
			return;
	enum { NAMED_MOST = 8 }; /* the first of them are enough for an answer */
	const char *named[NAMED_MOST];
	size_t n = 0;
	for (size_t i = 0; i < p->effect_count && n < NAMED_MOST; i++) {
		const struct effect *e = &p->effects[i];
		const char *program = e->program ? e->program : "";
		bool is_said = false;
		if (!is_unknown(e, "unknown.program") || e->flags & (FXF_DECODED | FXF_DRY_RUN))
			continue;
		for (size_t k = 0; k < n; k++)
			is_said |= text_eq(named[k], program);
		if (is_said)
			continue;
		named[n++] = program;
		say(j, ACTION_ASK, "profile.unknown_tool", REASON_unknown_tool,
			"{program} is not known here, and no sandbox would contain it", e,
			"run it in a sandbox: `helm run -- COMMAND`", NULL);
	}
}

/* All there is to say about one effect. Decoded text is shown for information only: the program that
 * decodes and runs it has its own effect, which is judged. A dry run changes nothing and is not judged. */
static void judge_effect(struct judge *j, const struct effect *e)
{
	if (e->flags & FXF_DECODED) {
		say(j, ACTION_ALLOW, "note.decoded_payload", REASON_decoded_payload,
			"the encoded text, decoded for this report, holds {program} on {target}", e, NULL,
			NULL);
		return;
	}
	if (e->flags & FXF_DRY_RUN)
		return;
	if (j->place.contained != WHEN_TRUE || !facts_is_its_own(e, j->profile, j->at))
		judge_by_rules(j, e);
	judge_by_profile(j, e);
	if (e->kind == FX_SCRIPT)
		say(j, ACTION_ALLOW, "note.opaque_script", REASON_opaque_script,
			"{program} would run {target}, whose text was not read", e, NULL, NULL);
}

/* The workspace's rules that look at the text of the command instead of its effects. */
static void judge_texts(struct judge *j)
{
	const struct policy *p = j->policy;

	for (size_t i = 0; i < p->text_rule_count; i++) {
		const struct text_rule *t = &p->text_rules[i];
		if (!policy_text_holds(t, j->proposal, j->at->a))
			continue;
		j->is_denied_by_rule |= t->action == ACTION_DENY;
		say(j, t->action, t->id,
			t->action == ACTION_DENY ? REASON_absolute_deny : REASON_approval_rules,
			arena_printf(j->at->a, "a rule of this workspace speaks: %s", t->text), NULL, NULL,
			t->recommended_profile);
	}
}

/* The command could not be understood to its end, so nobody can say what else it does: a person is
 * asked. */
static void judge_unreadable(struct judge *j)
{
	const struct proposal *p = j->proposal;
	bool is_syntax = !p->unreadable_code || text_eq(p->unreadable_code, "parse_error");
	struct finding *f;

	note_ask(j, ACTION_ASK, is_syntax ? "read.parse_error" : "read.limit", NULL, UNDO_NONE);
	f = add(j, ACTION_ASK, is_syntax ? "read.parse_error" : "read.limit",
		is_syntax ? REASON_parse_error : REASON_depth_limit,
		p->unreadable_text ? p->unreadable_text : "the text could not be read as a command", NULL);
	if (f) {
		f->at = p->unreadable_at;
		f->instead = is_syntax ? "correct the syntax" : "split it into smaller commands";
	}
}

/* A text in the input is read differently by others.  No grant and no profile answers for a text that is not understood; one that is only
 * misleading for a reader needs an operator who has seen it escaped. */
static void judge_ambiguity(struct judge *j)
{
	const struct proposal *p = j->proposal;
	bool is_denied = p->ambiguity == AMBIGUITY_DENIED;
	enum rule_effect action = is_denied ? ACTION_DENY : ACTION_ASK;
	const char *rule = is_denied ? NOT_UNDERSTOOD_RULE : "read.ambiguous";
	struct finding *f;

	j->is_denied_by_rule |= is_denied;
	note_ask(j, action, rule, NULL, UNDO_NONE);
	f = add(j, action, rule, REASON_ambiguous_text, "", NULL);
	if (f) {
		f->text = p->ambiguity_text; /* names of the input, in which nothing is filled in */
		f->instead = p->ambiguity_instead;
	}
}

/* This asks only because other rules have found something destructive. When each of those can be undone
 * from a checkpoint, so can this; therefore it carries UNDO_CHECKPOINT itself. */
static void say_destructive(struct judge *j)
{
	note_ask(j, j->raise->on_destructive, "profile.destructive", NULL, UNDO_CHECKPOINT);
	(void)add(j, j->raise->on_destructive, "profile.destructive", REASON_destructive,
		"the workspace's policy speaks about destructive commands under this profile", NULL);
}

/* What is about the whole command rather than one effect. It runs after the effects, because the last
 * question depends on whether one of them was destructive. */
static void judge_whole(struct judge *j)
{
	if (j->policy->error)
		say(j, ACTION_ASK, "fail_closed.all", REASON_policy_invalid,
			arena_printf(j->at->a, "the guard policy could not be read: %s", j->policy->error),
			NULL, "correct the policy file", NULL);
	if (!j->proposal->readable)
		judge_unreadable(j);
	if (j->proposal->heredoc_input && j->proposal->operator_in_argv)
		say(j, ACTION_ASK, "risk.heredoc_input", REASON_heredoc_input,
			"a here-document operator was given as a plain word", NULL,
			"give the whole text to `sh -c`", NULL);
	if (j->profile->handoff_required || (j->raise && j->raise->wants_handoff))
		say(j, ACTION_ASK, "profile.handoff", REASON_handoff_required,
			"the profile hands work over to another machine", NULL, NULL, NULL);
	if (j->raise && j->raise->on_execute > ACTION_ALLOW)
		say(j, j->raise->on_execute, "profile.execute", REASON_approval_rules,
			"the workspace's policy speaks about everything that is run under this profile", NULL,
			NULL, NULL);
	if (j->raise && j->d->destructive && j->raise->on_destructive > ACTION_ALLOW)
		say_destructive(j);
}

/* The last source of objections. A sum of small things may warn or ask, and only when nothing has asked
 * yet; to deny takes a rule that says so. */
static void judge_by_score(struct judge *j)
{
	struct decision *d = j->d;
	struct buf b;

	if (d->score_hundredths < 35 || d->action >= ACTION_ASK)
		return;
	buf_init(&b, j->at->a);
	buf_addf(&b, "risk score %d.%02d:", d->score_hundredths / 100, d->score_hundredths % 100);
	for (size_t i = 0; i < d->part_count; i++)
		buf_addf(&b, "%s %s", i == 0 ? "" : ",", d->parts[i].name);
	/* Names of parts are identifiers; a person reads them as words. */
	for (char *at = b.p; (at = strchr(at, '_'));)
		*at = ' ';
	/* A sum of small things behind walls is still small. */
	if (d->score_hundredths >= 70 && j->place.contained != WHEN_TRUE)
		say(j, ACTION_ASK, "score.high", REASON_risk_score, b.p, NULL, "split it into smaller steps",
			NULL);
	else if (d->action < ACTION_WARN)
		say(j, ACTION_WARN, "score.medium",
			text_eq(d->parts[0].name, "unknown_under_inspect") ? REASON_unknown_under_inspect
									   : REASON_risk_score,
			b.p, NULL, NULL, NULL);
}

/* Of two reasons for the same answer the lesser: what another profile would permit, what a checkpoint brings back. */
static bool is_lesser(const struct finding *f)
{
	return f->action == ACTION_DENY ? text_starts(f->rule, "profile.") : f->undo == UNDO_CHECKPOINT;
}

/* Strictest first; then what is graver; among equals, the order of the command. Every action above ALLOW
 * has a finding, so the first one is then the decisive one. */
static void sort_findings(struct decision *d, struct arena *a)
{
	struct finding *sorted = arena_alloc(a, (d->finding_count + 1) * sizeof(*sorted));
	size_t n = 0;

	for (int rank = 2 * ACTION_DENY + 1; rank >= 2 * ACTION_ALLOW; rank--)
		for (size_t i = 0; i < d->finding_count; i++)
			if (2 * (int)d->findings[i].action + !is_lesser(&d->findings[i]) == rank)
				sorted[n++] = d->findings[i];
	d->findings = sorted;
	if (d->finding_count > 0 && sorted[0].action > ACTION_ALLOW)
		d->decisive = &sorted[0];
}

/* The profile that a refused or questioned command is better run under, or NULL. This is only what the
 * rules have in mind; decide_advice() checks whether it helps. */
static const char *recommend(const struct decision *d)
{
	const char *name = d->profile->name;

	/* What a rule denies, no profile permits. */
	if (d->action == ACTION_DENY && !text_starts(d->decisive->rule, "profile."))
		return NULL;
	for (size_t i = 0; i < d->finding_count; i++) {
		const char *wanted = d->findings[i].recommended_profile;
		if (wanted && !text_eq(wanted, name))
			return wanted;
	}
	if (d->destructive && d->action == ACTION_ASK && !text_eq(name, "risky_edit"))
		return "risky_edit";
	return NULL;
}

/* A sentence for a command that nothing spoke against: what it does, by kinds of effects. */
static const char *summarize(struct arena *a, const struct proposal *p)
{
	uint64_t seen = 0;
	struct buf b;

	buf_init(&b, a);
	for (size_t i = 0; i < p->effect_count; i++) {
		const struct effect *e = &p->effects[i];
		if ((seen >> e->kind & 1) || e->path_class == PATH_SINK || (e->flags & FXF_DECODED))
			continue;
		seen |= UINT64_C(1) << e->kind;
		buf_addf(&b, "%s%s%s", b.n == 0 ? "it would " : ", ",
			e->flags & FXF_DRY_RUN ? "only say how to " : "", effect_kind_clause(e->kind));
	}
	return b.n ? b.p : "it would change nothing";
}

/* The public reason code for the decision. A profile that lacks a right is "insufficient privilege"; a
 * rule that denies is a policy violation; all else is a matter of approval. */
static enum reason_code registry_code(const struct decision *d)
{
	if (d->action == ACTION_DENY) {
		if (text_starts(d->decisive->rule, "profile."))
			return REASON_INSUFFICIENT_PRIVILEGE;
		return text_eq(d->decisive->rule, NOT_UNDERSTOOD_RULE) ? REASON_ENVELOPE_INVALID
								       : REASON_POLICY_VIOLATION;
	}
	return d->has_denied_group ? REASON_INSUFFICIENT_PRIVILEGE : REASON_APPROVAL_REQUIRED;
}

/* Turns the findings into the verdict. A tool group that the profile denies makes the verdict DENY even
 * when no single rule denied; the detail code then names the grant of tools, so that the reason shown is
 * the real one. */
static void conclude(struct judge *j)
{
	struct decision *d = j->d;

	sort_findings(d, j->at->a);
	d->recommended_profile = recommend(d);
	d->verdict = action_verdict(d->action);
	if (d->has_denied_group)
		d->verdict = V_DENY;
	d->reason_code = registry_code(d);
	d->detail_code = d->decisive ? d->decisive->rule : NULL;
	d->summary = d->decisive && !text_starts(d->decisive->rule, "score.")
		? d->decisive->text
		: summarize(j->at->a, j->proposal);
	if (d->has_denied_group && d->action != ACTION_DENY)
		d->detail_code = "tool_grant";
}

/* The workspace policy's stricter settings for this profile, or NULL. */
static const struct profile_rule *find_raise(const struct policy *p, const char *profile)
{
	for (size_t i = 0; i < p->profile_rule_count; i++)
		if (text_eq(p->profile_rules[i].profile, profile))
			return &p->profile_rules[i];
	return NULL;
}

/* The order of the steps matters. The score needs to know whether a rule denied or found something
 * destructive, so the rules come first; the score may add a finding, so sorting comes last. */
void decide(const struct policy *policy, const struct profile *profile, const struct proposal *proposal,
	const struct decide_context *at, struct decision *ret)
{
	/* Until conclude() sets it, the verdict is DENY. */
	struct decision d = { .verdict = V_DENY,
		.action = ACTION_ALLOW,
		.profile = profile,
		.proposal = proposal,
		.mode = at->mode,
		.placement = at->placement,
		.policy_version = policy->version,
		.policy_sha256 = at->policy_sha256,
		.policy = policy,
		.workspace = at->workspace,
		.task_name = at->task_name,
		.task_goal = at->task_goal,
		.evaluated_us = at->now_us };
	struct judge j = { policy, profile, proposal, at, &d, find_raise(policy, profile->name),
		when_at_profile(profile, at->placement, at->workspace), false };

	d.findings = arena_alloc(at->a, MAX_FINDINGS * sizeof(*d.findings));
	/* First, so that of several denials this is the one that is told. */
	if (proposal->ambiguity != AMBIGUITY_NONE)
		judge_ambiguity(&j);
	for (size_t i = 0; i < proposal->effect_count; i++)
		judge_effect(&j, &proposal->effects[i]);
	judge_unknown_programs(&j);
	judge_texts(&j);
	judge_whole(&j);
	facts_collect(&d, at);
	facts_score(&d, at, j.is_denied_by_rule);
	facts_groups(&d, at);
	judge_by_score(&j);
	conclude(&j);
	*ret = d;
}

void decide_advice(const struct policy *policy, const struct profiles *profiles,
	const struct proposal *proposal, const struct decide_context *at, struct decision *d)
{
	const struct profile *other =
		d->recommended_profile ? profiles_find(profiles, d->recommended_profile) : NULL;
	struct decision there = { 0 };

	d->recommended_profile = NULL;
	if (!other)
		return;
	decide(policy, other, proposal, at, &there);
	if (there.verdict == V_ALLOW)
		d->recommended_profile = other->name;
}

/* governance.c — what a run does, in the words of people who answer for it: which action on what, was it asked for, and what would show it.
 *
 * Each run that changes something is one of the actions of a registry (docs/formats/governance.md).  The verbs of the task's name and goal say
 * how far whoever asked wanted to go; without such words the effect itself says it, since a name that somebody left out forbids nothing.
 * Always a row.  A workspace that brings a registry of its own is also held to it, beside guard and policy: it can refuse and ask, and
 * never permit.  One that cannot be read refuses. */
#include "base/doc.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "kernel/task/parts.h"
#include "privacy/privacy.h"
#include "remember/evidence.h"

#include <string.h>

#define REGISTRY "references/action_governance_registry.json"
#define SHIPPED "share/action_governance_registry.json"
enum { REGISTRY_BYTES = 1 << 20, MESSAGE_SHOWN = 160 };

static const char *const decisions[] = { "allow", "deny", "require_approval", "inspect_only" };
static const char *const scopes[] = { "inspect", "save", "edit", "delete", "external_send" };

static int place_of(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (text_eq(list[i], name))
			return (int)i;
	return -1;
}

/* ---- the registry ---- */

/* Is it left out, or one of the decisions?  Of another type it would count as left out, which may be looser than what was meant. */
static bool is_decision(const struct json *doc, const char *name)
{
	const struct json *v = json_get(doc, name);

	return !v ||
		(json_is(v, JSON_STRING) && place_of(decisions, ARRAY_SIZE(decisions), json_text(v)) >= 0);
}

static bool is_action(const struct json *one)
{
	static const char *const bools[] = { "requires_approval", "needs_live_source", "mutates" };

	for (size_t i = 0; i < ARRAY_SIZE(bools); i++) {
		const struct json *v = json_get(one, bools[i]);
		if (v && !json_is(v, JSON_TRUE) && !json_is(v, JSON_FALSE))
			return false;
	}
	return *json_get_text(one, "action_id", "") && is_decision(one, "default_decision") &&
		place_of(scopes, ARRAY_SIZE(scopes), json_get_text(one, "required_scope", "")) >= 0;
}

/* Two of the same, a word that there is none of, or a member of another type make it none. */
static int check(const struct json *doc, struct err *e)
{
	const struct json *list = json_get(doc, "actions");

	if (!json_is(list, JSON_ARRAY) || !is_decision(doc, "default_action") ||
		!text_eq(json_get_text(doc, "schema_version", ""), "helm.governance/v1"))
		return err_set(e, E_INPUT, "GOVERNANCE", REGISTRY " is no registry of helm.governance/v1");
	for (size_t i = 0; i < list->n; i++) {
		const char *id = json_get_text(list->items[i], "action_id", "");
		if (!is_action(list->items[i]))
			return err_set(
				e, E_INPUT, "GOVERNANCE", REGISTRY ": action %zu is not understood", i);
		for (size_t k = 0; k < i; k++)
			if (text_eq(json_get_text(list->items[k], "action_id", ""), id))
				return err_set(
					e, E_INPUT, "GOVERNANCE", REGISTRY ": '%.80s' is there twice", id);
	}
	return OK;
}

/* *ret_is_own: the workspace's, which counts. */
static int read_registry(struct task *t, struct json **ret, bool *ret_is_own, struct err *e)
{
	struct bytes text;
	int rc = doc_read(t->k->sys, t->a, t->k->ws->root_fd, REGISTRY, REGISTRY_BYTES, FILE_BENEATH, ret, e);

	*ret_is_own = rc != E_MISSING;
	if (rc != E_MISSING)
		return rc ? rc : check(*ret, e);
	if (!embed_find(SHIPPED, &text))
		BUG("the registry of actions is not in the program");
	return json_parse(t->a, text, SHIPPED, NULL, ret, e);
}

static const struct json *find(const struct json *registry, const char *id)
{
	json_each (one, json_get(registry, "actions"))
		if (text_eq(json_get_text(one, "action_id", ""), id))
			return one;
	return NULL;
}

/* ---- which actions it is ---- */

/* A run can be several; of two that are judged alike, the first is told. */
enum { GIT_PUSH, GIT_COMMIT, CRON_REMOVE, CRON_UPDATE, FILE_WRITE };
static const char *const actions[] = { "git_push", "git_commit", "cron_remove", "cron_update", "file_write" };

/* The subcommand of git, behind options whose values stand apart. */
static const char *verb_of(const struct run_spec *spec)
{
	static const char *const valued[] = { "-C", "-c", "--git-dir", "--work-tree", "--namespace",
		"--exec-path", "--super-prefix", "--config-env", "--attr-source" };

	for (size_t i = 1; i < spec->argc; i++) {
		if (spec->argv[i][0] != '-')
			return spec->argv[i];
		if (place_of(valued, ARRAY_SIZE(valued), spec->argv[i]) >= 0)
			i++;
	}
	return "";
}

static unsigned of_verb(const char *verb)
{
	return text_eq(verb, "push") ? 1u << GIT_PUSH : text_eq(verb, "commit") ? 1u << GIT_COMMIT : 0;
}

static unsigned of_tag(const char *tag)
{
	if (text_eq(tag, "network.git_push") || text_starts(tag, "git.push_"))
		return 1u << GIT_PUSH;
	return text_eq(tag, "cron.delete")  ? 1u << CRON_REMOVE
		: text_eq(tag, "cron.edit") ? 1u << CRON_UPDATE
					    : 0;
}

/* Does it write something that no other action is about? */
static bool writes_beside(const struct proposal *p, const struct effect *e)
{
	const char *verb = e->step < p->step_count ? p->steps[e->step].git_verb : NULL;

	if (e->path_class == PATH_SINK || (verb && of_verb(verb)))
		return false;
	return e->kind == FX_WRITE || e->kind == FX_DELETE || e->kind == FX_MOVE || e->kind == FX_PERMISSION;
}

/* By what it does, not by how it is spelled: the guard has looked behind options, wrappers and shells.  0: nothing that anybody answers
 * for. */
static unsigned actions_of(const struct task *t)
{
	const struct handling *h = &t->report->handling;
	const struct proposal *p = &h->proposal;
	unsigned found = text_eq(path_base(t->spec->argv[0]), "git") ? of_verb(verb_of(t->spec)) : 0;
	bool beside = false;

	for (size_t i = 0; i < p->step_count; i++)
		found |= p->steps[i].git_verb ? of_verb(p->steps[i].git_verb) : 0;
	for (size_t i = 0; i < p->effect_count; i++) {
		found |= p->effects[i].tag ? of_tag(p->effects[i].tag) : 0;
		beside |= writes_beside(p, &p->effects[i]);
	}
	if ((h->decision.writes || h->decision.destructive) && (beside || !found))
		found |= 1u << FILE_WRITE;
	return found;
}

static const char *target_of(const struct task *t, const char *action)
{
	const struct decision *d = &t->report->handling.decision;

	if (d->target_path_count)
		return d->target_paths[0];
	if (text_starts(action, "git_"))
		return "the repository";
	return text_starts(action, "cron_") ? "scheduled jobs" : t->spec->argv[t->spec->argc - 1];
}

/* ---- what is said about it ---- */

struct governed {
	const char *decision, *reason, *approval, *scope;
};

/* `counts`: whether somebody has approved is answered by settle(), which looks for the very grant; that an id is named says nothing. */
static struct governed judge(struct task *t, const struct json *registry, const struct json *action,
	const struct json *asked, const char *target, bool counts)
{
	struct governed g = { "allow", "policy_satisfied", "not_required",
		json_get_text(asked, "locked_scope", NULL) };
	const char *needed = json_get_text(action, "required_scope", "edit"),
		   *refusal = json_get_text(asked, "refusal_reason", ""),
		   *otherwise = json_get_text(action, "default_decision", "allow");

	if (!action) {
		g.decision = json_get_text(registry, "default_action", "deny");
		g.reason = "unregistered_action";
		return g;
	}
	/* Nobody has said how far to go, so the effect says it. */
	if (!g.scope)
		g.scope = needed;
	if (json_get_bool(action, "requires_approval", false))
		g.approval = !counts && t->spec->approve_risk ? "approved" : "pending";
	if (text_eq(refusal, "social_privacy_requirements_missing"))
		g.decision = "deny", g.reason = refusal;
	else if (text_eq(g.scope, "inspect") && json_get_bool(action, "mutates", true))
		g.decision = "inspect_only", g.reason = "inspect_scope_for_mutation";
	else if (!*target)
		g.decision = "deny", g.reason = "missing_explicit_target";
	else if (place_of(scopes, ARRAY_SIZE(scopes), g.scope) < place_of(scopes, ARRAY_SIZE(scopes), needed))
		g.decision = "deny", g.reason = "scope_below_required";
	else if (json_get_bool(action, "needs_live_source", false) && !t->spec->is_live_confirmed)
		g.decision = "deny", g.reason = "live_source_required";
	/* What is refused anyway is not asked about: no approval opens it. */
	else if (!text_eq(otherwise, "allow") && !text_eq(otherwise, "require_approval"))
		g.decision = otherwise, g.reason = "default_decision";
	else if (text_eq(g.approval, "pending"))
		g.decision = "require_approval", g.reason = "approval_required";
	else if (!text_eq(otherwise, "allow"))
		g.decision = otherwise, g.reason = "default_decision";
	if (counts && text_eq(g.decision, "require_approval"))
		g.approval = "pending";
	return g;
}

static struct json *row_of(struct task *t, const struct json *registry, const struct json *action,
	const char *name, const char *target, const char *message, const struct governed *g, bool counts)
{
	struct arena *a = t->a;
	struct json *row = json_new(a, JSON_OBJECT), *contract = json_get(action, "evidence_contract");
	size_t n, shown;
	const char *clean = message ? privacy_redact(a, message, strlen(message), &n) : NULL;

	for (shown = clean && n > MESSAGE_SHOWN ? MESSAGE_SHOWN
			: clean			? n
						: 0;
		shown && clean[shown] && ((unsigned char)clean[shown] & 0xc0) == 0x80; shown--)
		;
	json_sets(a, row, "timestamp", text_time_iso(a, t->k->sys->now_us(t->k->sys)));
	json_sets(a, row, "session_id", t->id);
	json_sets(a, row, "user_message_hash",
		sha256_hex(a, message ? message : "", message ? strlen(message) : 0));
	json_sets(a, row, "user_message_redacted", clean ? arena_strndup(a, clean, shown) : NULL);
	json_sets(a, row, "parsed_scope", g->scope);
	json_sets(a, row, "attempted_action", name);
	json_sets(a, row, "resource", json_get_text(action, "resource_type", "unknown"));
	json_sets(a, row, "target", target);
	json_sets(a, row, "policy_version", json_get_text(registry, "policy_version", "0"));
	json_sets(a, row, "decision", g->decision);
	json_sets(a, row, "reason", g->reason);
	json_setb(a, row, "live_source_requirement", json_get_bool(action, "needs_live_source", false));
	json_sets(a, row, "approval_status", g->approval);
	json_sets(a, row, "execution_status", "decided"); /* task_governed() */
	json_sets(a, row, "verification_result", "pending");
	struct json *shows = json_new(a, JSON_OBJECT);
	for (size_t i = 0; i < 2; i++) {
		const char *which = i ? "require_one_of" : "require_all";
		const struct json *list = json_get(contract, which);
		json_set(a, shows, which, list ? json_copy(a, list) : json_new(a, JSON_ARRAY));
	}
	json_set(a, row, "evidence_contract", shows);
	json_setb(a, row, "advisory_only", !counts);
	return row;
}

static void hold(struct task *t, const struct governed *g, const char *name)
{
	bool is_question = text_eq(g->decision, "require_approval");
	enum rule_effect action = is_question ? ACTION_ASK : ACTION_DENY;
	const char *text = arena_printf(t->a, "%s is governed here: %s", name, g->reason);

	if (text_eq(g->decision, "allow") || t->request.at_least.action == ACTION_DENY)
		return;
	if (t->request.at_least.action == action) {
		/* Somebody asks already: one question, and who answers it answers both. */
		t->request.at_least.also = GOVERNANCE_RULE;
		t->request.at_least.text = arena_printf(t->a, "%s; %s", t->request.at_least.text, text);
	} else {
		t->request.at_least.action = action;
		t->request.at_least.rule = GOVERNANCE_RULE;
		t->request.at_least.text = text;
	}
}

/* The name and goal that somebody gave it; NULL: nobody did. */
static const char *message_of(const struct task *t)
{
	const char *name = t->spec->task_name, *goal = t->spec->task_goal;

	return name && goal ? arena_printf(t->a, "%s\n%s", name, goal) : name ? name : goal;
}

/* What is refused comes before what is asked about. */
static int weight(const char *decision)
{
	return text_eq(decision, "allow") ? 0 : text_eq(decision, "require_approval") ? 1 : 2;
}

static struct governed judge_one(
	struct task *t, const struct json *registry, const char *name, const char *message, bool counts)
{
	const char *target = target_of(t, name);
	struct json *asked = NULL;

	if (message)
		asked = scope_evaluate(t->a,
			&(struct scope_question){
				.message = message, .targets = &target, .target_count = 1 });
	return judge(t, registry, find(registry, name), asked, target, counts);
}

void task_govern(struct task *t)
{
	struct json *registry = NULL;
	struct err e = { 0 };
	bool is_own = false;
	const char *name = NULL, *message = message_of(t);
	unsigned found = actions_of(t);
	struct governed g = { "deny", "registry_unreadable", "not_required", NULL };

	if (!found || t->spec->guard_json)
		return;
	int rc = read_registry(t, &registry, &is_own, &e);
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (!(found & 1u << i) || (name && rc))
			continue;
		struct governed one = rc ? g : judge_one(t, registry, actions[i], message, is_own);
		if (!name || weight(one.decision) > weight(g.decision))
			name = actions[i], g = one;
	}
	const struct json *action = rc == OK ? find(registry, name) : NULL;
	json_set(t->a, t->row, "governance",
		row_of(t, registry, action, name, target_of(t, name), message, &g, is_own));
	if (is_own)
		hold(t, &g, name);
}

void task_governed(struct task *t, bool is_recorded)
{
	const struct handling *h = &t->report->handling;
	struct json *row = json_get(t->row, "governance");
	const char *by = h->settled.by ? h->settled.by : "";
	struct err e = { 0 };

	if (!row)
		return;
	/* A handoff, a start, a policy and a checkpoint answer, but are nobody's approval. */
	if (text_eq(json_get_text(row, "approval_status", ""), "pending") && is_recorded &&
		h->verdict == V_ALLOW &&
		(text_eq(by, "approve-risk") || text_eq(by, "grant") || text_eq(by, "decision")))
		json_sets(t->a, row, "approval_status", "approved");
	json_sets(
		t->a, row, "execution_status", is_recorded && h->verdict == V_ALLOW ? "decided" : "blocked");
	/* The ledger has it, too, and is what receipts speak of. */
	(void)ledger_note(t->k->sys, t->a, t->k->ws->state_fd, GOVERNANCE_LOG, row, &e);
}

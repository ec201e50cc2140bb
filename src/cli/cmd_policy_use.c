/* cmd_policy_use.c — helm policy use, show, revoke, shadow: which policy decides here, and since when.
 *
 * A policy is put in use by a person, by the digest of exactly what was shown.  What is shown first is what it would change: how many rules,
 * whether it is closed, which questions it would answer instead of a person. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/cmd_actions.h"
#include "cli/cmd_approval.h"
#include "cli/cmd_policy.h"
#include "kernel/posture.h"
#include "proof/preimage.h"

#include <string.h>

#define POLICY_CHOICE \
	{ "pack", OPT_LIST, "FILE", "also the packs of this file", NULL, false }, \
	{ \
		"fact", OPT_LIST, "NAME=VALUE", \
			"what rules may rely on here: jurisdiction=EU, industry=finance", NULL, false \
	}

const struct opt policy_use_opts[] = {
	POLICY_CHOICE,
	{ "lift", OPT_LIST, "RULE", "an explicit ALLOW answers what this guard rule asks about", NULL,
		false },
	{ "fresh", OPT_VALUE, "DURATION",
		"it must be put in use again after 12h, 30d, ...; then everything is denied", NULL, false },
	{ "none", OPT_FLAG, NULL, "no policy from now on: profiles and guard rules decide alone", NULL,
		false },
	{ "require-signature", OPT_VALUE, "YES|NO", "from now on only policies that a trusted key has signed",
		"yes|no", false },
	{ "allow-rollback", OPT_FLAG, NULL, "an older epoch than the one before is meant", NULL, false },
	PERSON_KEY,
	{ 0 },
};

const struct opt policy_revoke_opts[] = {
	{ "reason", OPT_VALUE, "TEXT", "why, for the record", NULL, true },
	{ "even-unknown", OPT_FLAG, NULL,
		"also a digest that is not known here: it is refused should it come", NULL, false },
	PERSON_KEY,
	{ 0 },
};

const struct opt policy_shadow_opts[] = {
	{ "profile", OPT_VALUE, "NAME", "the candidate is this profile, in the place of the one that is used",
		NULL, false },
	{ "skill", OPT_VALUE, "NAME", "the candidate is the contract of this skill", NULL, false },
	POLICY_CHOICE,
	PERSON_KEY,
	{ 0 },
};

/* ---- what is chosen ---- */

/* Only a rule that asks can be answered; one that denies never is. */
static int check_lift(const struct guard *g, const char *id, struct err *e)
{
	struct rule_view v;

	for (size_t i = 0; policy_rule(g->policy, i, &v); i++)
		if (text_eq(v.id, id))
			return v.action == ACTION_ASK
				? OK
				: err_set(e, E_USAGE, "POLICY_LIFT",
					  "guard rule '%s' does not ask (it says %s), so there is no question to answer",
					  id, action_name(v.action));
	return err_set(
		e, E_USAGE, "POLICY_LIFT", "there is no guard rule '%s'; 'helm guard rules' lists them", id);
}

static int read_lifts(struct cli *r, const struct guard *g, const struct json **ret, struct err *e)
{
	struct json *lifts = json_new(r->a, JSON_ARRAY);
	const char **words;
	size_t n = opt_list(r, "lift", &words);

	for (size_t i = 0; i < n; i++) {
		if (check_lift(g, words[i], e))
			return e->rc;
		json_pushs(r->a, lifts, words[i]);
	}
	*ret = lifts;
	return OK;
}

static int read_fresh(struct cli *r, int64_t *ret_seconds, struct err *e)
{
	int64_t us = 0;
	int rc = opt_span(r, "fresh", &us, e);

	*ret_seconds = us / 1000000;
	return rc;
}

static int read_file(
	struct cli *r, const char *path, struct policy_choice *c, struct policy_file *f, struct err *e)
{
	const char **packs;
	size_t n = opt_list(r, "pack", &packs);
	int rc = policy_file_open(r, path, packs, n, f, e);

	if (rc == OK)
		rc = policy_file_signer(r, f, &c->signer, e);
	if (rc == OK)
		rc = policy_facts_option(r, &c->facts, e);
	if (rc)
		return rc;
	c->document = f->document;
	c->source = path;
	return OK;
}

/* ---- saying what it is ---- */

static const char *coverage_text(const struct json *document)
{
	return text_eq(json_get_text(document, "coverage", "closed"), "open")
		? "open: it only adds to what profiles and guard rules say"
		: "closed: what no rule allows is denied";
}

static struct json *summary_of(struct cli *r, const struct json *document, const struct ruleset *rules)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *counts = json_new(r->a, JSON_OBJECT);
	struct ruleset_rule rule;
	int64_t allow = 0, ask = 0, deny = 0;

	for (size_t i = 0; ruleset_rule(rules, i, &rule); i++)
		rule.verdict == V_ALLOW ? allow++ : rule.verdict == V_ESCALATE ? ask++ : deny++;
	json_sets(r->a, doc, "name", ruleset_name(rules));
	json_sets(r->a, doc, "version", ruleset_version(rules));
	json_seti(r->a, doc, "epoch", (int64_t)ruleset_epoch(rules));
	json_sets(r->a, doc, "sha256", ruleset_sha256(rules));
	json_sets(r->a, doc, "coverage", json_get_text(document, "coverage", "closed"));
	json_seti(r->a, counts, "allow", allow);
	json_seti(r->a, counts, "ask", ask);
	json_seti(r->a, counts, "deny", deny);
	json_set(r->a, doc, "rules", counts);
	return doc;
}

static void print_summary(struct cli *r, const struct json *document, const struct json *s)
{
	const struct json *counts = json_get(s, "rules");

	out(r, "policy   %s %s, epoch %lld\n", safe_member(r, s, "name"), safe_member(r, s, "version"),
		(long long)json_get_int(s, "epoch", 0));
	out(r, "digest   %s\n", safe_member(r, s, "sha256"));
	out(r, "rules    %lld allow, %lld ask, %lld deny\n", (long long)json_get_int(counts, "allow", 0),
		(long long)json_get_int(counts, "ask", 0), (long long)json_get_int(counts, "deny", 0));
	out(r, "covers   %s\n", coverage_text(document));
}

/* ---- use ---- */

/* Packs that wait for a fact of a kind that nobody gave say nothing. */
static void warn_silent_packs(struct cli *r, const struct policy_choice *c)
{
	static const struct {
		const char *kind, *fact, *or_fact;
	} kinds[] = { { "jurisdiction", "jurisdiction", "jurisdictions" },
		{ "industry", "industry", "industry" }, { "preset", "business_preset", "business_preset" } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct json *first = NULL;
		size_t n = 0;
		json_each (pack, json_get(c->document, "packs"))
			if (text_eq(json_get_text(pack, "kind", ""), kinds[i].kind)) {
				first = first ? first : pack;
				n++;
			}
		if (!n || json_get(c->facts, kinds[i].fact) || json_get(c->facts, kinds[i].or_fact))
			continue;
		warn(r, "pack '%s'%s says nothing here without a fact, such as --fact %s=%s",
			policy_shown(r, json_get_text(first, "id", "")),
			n > 1 ? arena_printf(r->a, " (and %zu more of its kind)", n - 1) : "", kinds[i].fact,
			policy_shown(r, json_text(json_at(json_get(first, "activates_on"), 0))));
	}
}

/* Does some rule allow that action, under whatever condition? */
static bool allows(const struct json *document, const char *action)
{
	json_each (layer, json_get(document, "layers"))
		json_each (rule, json_get(layer, "rules"))
			json_each (name, json_get(rule, "actions"))
				if (text_eq(json_get_text(rule, "verdict", ""), verdict_name(V_ALLOW)) &&
					text_glob(json_text(name), action, false))
					return true;
	return false;
}

/* A policy for effects that others submit closes the doors of this place: that is seldom what somebody who stands here wants. */
static void warn_closed_doors(struct cli *r, const struct json *document)
{
	static const struct {
		const char *action, *what;
	} doors[] = { { "EXECUTE_COMMAND", "every 'helm run' (EXECUTE_COMMAND)" },
		{ "AGENT_TOOL_CALL", "every call of an agent (AGENT_TOOL_CALL)" } };

	if (text_eq(json_get_text(document, "coverage", "closed"), "open") ||
		json_get(document, "requirements"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(doors); i++)
		if (!allows(document, doors[i].action))
			warn(r, "%s is denied here, since no rule allows that, but for tools that rules name; 'coverage: open' leaves it to profiles and guard rules",
				doors[i].what);
}

/* What is most likely not meant is told before it is in use, and does not stop it. */
static void warn_findings(struct cli *r, const struct policy_choice *c, const struct policy_file *f)
{
	struct policy_problems problems = f->reading.problems;

	policy_lint(r->a, f->document, f->path, &problems);
	for (size_t i = 0; i < problems.n; i++)
		if (problems.items[i].severity == POLICY_WARNING)
			warn(r, "%s", policy_problem_line(r->a, &problems.items[i]));
	warn_silent_packs(r, c);
	warn_closed_doors(r, f->document);
}

/* What would be said about a policy needs one. */
static int check_alone(struct cli *r, struct err *e)
{
	static const char *const lists[] = { "pack", "fact", "lift" };
	bool says_more = opt_text(r, "fresh", NULL) || opt_flag(r, "allow-rollback");
	const char **words;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		says_more |= opt_list(r, lists[i], &words) > 0;
	return says_more ? err_set(e, E_USAGE, "USAGE", "name the policy that all of this is about") : OK;
}

static int read_choice(
	struct cli *r, const struct guard *g, struct policy_choice *c, struct policy_file *f, struct err *e)
{
	bool none = opt_flag(r, "none");

	c->require_signature = opt_text(r, "require-signature", NULL);
	c->is_as_before = !none && r->arg_count == 0 && c->require_signature;
	if (c->is_as_before)
		return check_alone(r, e);
	if (none == (r->arg_count == 1))
		return err_set(e, E_USAGE, "USAGE",
			none ? "--none takes no FILE"
			     : "name the policy to be put in use, or --none to go back");
	c->may_go_back = opt_flag(r, "allow-rollback");
	if (none)
		return OK;
	int rc = read_file(r, r->args[0], c, f, e);
	if (rc == OK)
		rc = policy_speaks(r->a, f->document, f->path, e);
	if (rc == OK)
		rc = read_lifts(r, g, &c->lifts, e);
	if (rc == OK)
		rc = read_fresh(r, &c->fresh_seconds, e);
	if (rc == OK)
		warn_findings(r, c, f);
	return rc;
}

static void print_used(
	struct cli *r, const struct policy_choice *c, const struct policy_file *f, const struct json *receipt)
{
	const char *id = receipt_id_short(r->a, safe_member(r, receipt, "receipt_id"));

	if (r->is_json) {
		out_json(r, receipt);
		return;
	}
	if (c->document)
		print_summary(r, f->document, summary_of(r, f->document, f->rules));
	else if (c->is_as_before)
		out(r, "policy   as before; %s\n",
			text_eq(c->require_signature, "yes")
				? "from now on only signed ones are put in use here"
				: "unsigned ones are put in use here, too");
	else
		out(r, "policy   none: profiles and guard rules decide alone\n");
	json_each (lift, c->lifts)
		out(r, "answers  %s, where a rule allows it\n", json_text(lift));
	out(r, "receipt  %s\n", id);
	if (c->document)
		out(r, "Every door obeys it from now on. 'helm policy use --none' goes back.\n");
}

/* The kernel is opened first, so that what would be stricter is known before a person is asked for. */
int cmd_policy_use(struct cli *r, struct err *e)
{
	struct person who = { 0 };
	struct policy_choice c = { 0 };
	struct policy_file f = { 0 };
	struct json *receipt;
	struct kernel k;
	int rc = kernel_open(r->sys, r->a, r->ws, &k, e);

	if (rc)
		return rc;
	rc = read_choice(r, &k.guard, &c, &f, e);
	if (rc == OK)
		rc = policy_choice_is_stricter(&k, &c) ? person_here(r, &who, e) : person_loosens(r, &who, e);
	if (rc == OK) {
		k.person = &who;
		c.executor = who.name;
		rc = policy_use(&k, r->a, &c, &receipt, e);
	}
	key_free(&who.key);
	kernel_close(&k);
	if (rc)
		return rc;
	print_used(r, &c, &f, receipt);
	return 0;
}

/* ---- revoke ---- */

static void print_known(struct cli *r)
{
	enum { MOST = 20 };
	const struct json *list = policy_known_here(r->sys, r->a, r->ws);
	size_t n = 0;

	json_each (one, list)
		if (n++ < MOST)
			out(r, "%s  %s %s %s\n", json_get_bool(one, "in_use", false) ? "in use " : "known  ",
				safe_member(r, one, "sha256"), safe_member(r, one, "name"),
				safe_member(r, one, "version"));
	if (n > MOST)
		out(r, "and %zu more\n", n - MOST);
}

/* Revoking only ever forbids, so it is possible while everything is frozen. */
int cmd_policy_revoke(struct cli *r, struct err *e)
{
	struct person who = { 0 };
	struct json *receipt;
	struct kernel k;
	int rc = person_here(r, &who, e);

	if (rc)
		return rc;
	rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK) {
		k.person = &who;
		rc = policy_revoke(&k, r->a, r->args[0], opt_text(r, "reason", ""),
			opt_flag(r, "even-unknown"), who.name, &receipt, e);
		kernel_close(&k);
	}
	key_free(&who.key);
	if (rc && text_eq(e->code, "POLICY_UNKNOWN") && !r->is_json)
		print_known(r);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, receipt);
	else
		out(r, "revoked  %s\nreceipt  %s\n", policy_shown(r, r->args[0]),
			receipt_id_short(r->a, safe_member(r, receipt, "receipt_id")));
	return 0;
}

/* ---- show ---- */

/* Profiles and guard rules, in the form of a policy: what decides when nobody put one in use. */
static struct json *default_policy(struct cli *r, const struct guard *g)
{
	struct json *doc = json_new(r->a, JSON_OBJECT), *layers = json_new(r->a, JSON_ARRAY),
		    *layer = json_new(r->a, JSON_OBJECT), *rules = json_new(r->a, JSON_ARRAY);
	struct rule_view v;

	for (size_t i = 0; policy_rule(g->policy, i, &v); i++) {
		struct json *rule = json_new(r->a, JSON_OBJECT);
		json_sets(r->a, rule, "id", v.id);
		json_sets(r->a, rule, "verdict", verdict_name(action_verdict(v.action)));
		json_sets(r->a, rule, "reason_code", reason_get(v.reason)->code);
		json_sets(r->a, rule, "text", v.text);
		if (v.when)
			json_set(r->a, rule, "holds_when", json_copy(r->a, v.when));
		json_sets(r->a, rule, "origin", v.origin);
		json_push(r->a, rules, rule);
	}
	json_sets(r->a, layer, "name", "guard rules");
	json_set(r->a, layer, "rules", rules);
	json_push(r->a, layers, layer);
	json_sets(r->a, doc, "name", "profiles and guard rules");
	json_sets(r->a, doc, "version", arena_printf(r->a, "%d", policy_version(g->policy)));
	json_sets(r->a, doc, "sha256", arena_printf(r->a, "sha256:%s", policy_sha256(r->a, g->policy)));
	json_sets(r->a, doc, "coverage", "open");
	json_set(r->a, doc, "layers", layers);
	return doc;
}

static void print_default(struct cli *r, const struct json *doc, const char *profile)
{
	static const char *const headings[] = { "VERDICT", "RULE", "WHAT IT SAYS" };
	struct out_table *t;

	out(r, "No policy is in use. Profile %s and these rules decide; 'helm policy use FILE' puts a policy in use.\n",
		profile);
	out(r, "digest   %s\n", json_get_text(doc, "sha256", ""));
	t = out_table(r, headings, ARRAY_SIZE(headings));
	json_each (layer, json_get(doc, "layers"))
		json_each (rule, json_get(layer, "rules")) {
			const char *cells[] = { json_get_text(rule, "verdict", ""),
				safe_member(r, rule, "id"), safe_member(r, rule, "text") };
			out_row(t, cells, NULL);
		}
	out_table_end(t);
}

static int show_default(struct cli *r, struct err *e)
{
	const char *profile;
	struct guard g;
	int rc = guard_open(r->sys, r->a, r->ws, NULL, &g, e);

	if (rc == OK)
		rc = guard_profile(&g, r->a, NULL, &profile, e);
	if (rc)
		return rc;
	struct json *doc = default_policy(r, &g);
	json_sets(r->a, doc, "profile", profile);
	json_setb(r->a, doc, "in_use", false);
	if (r->is_json)
		out_json(r, doc);
	else
		print_default(r, doc, profile);
	return 0;
}

static void print_rules(struct cli *r, const struct ruleset *rules)
{
	static const char *const headings[] = { "VERDICT", "RULE", "LAYER", "WHERE", "WHAT IT SAYS" };
	struct out_table *t = out_table(r, headings, ARRAY_SIZE(headings));
	struct ruleset_rule rule;

	for (size_t i = 0; ruleset_rule(rules, i, &rule); i++) {
		const char *cells[] = { verdict_name(rule.verdict), policy_shown(r, rule.id),
			policy_shown(r, rule.layer), policy_shown(r, rule.origin),
			rule.text ? policy_shown(r, rule.text) : "" };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
}

static void print_entry(struct cli *r, const struct json *word, const struct json *entry)
{
	out(r, "in use   since %s", safe_member(r, entry, "at"));
	out(r, "%s%s\n", json_get(entry, "source") ? ", from " : "",
		json_get(entry, "source") ? safe_member(r, entry, "source") : "");
	json_each_member (m, json_get(entry, "facts"))
		out(r, "fact     %s\n", policy_shown(r, m->name));
	json_each (lift, json_get(entry, "lifts"))
		out(r, "answers  %s, where a rule allows it\n", policy_shown(r, json_text(lift)));
	if (json_get(entry, "signer"))
		out(r, "signed   %s\n", safe_member(r, entry, "signer"));
	if (json_get(entry, "fresh_seconds"))
		out(r, "fresh    for %lld seconds\n", (long long)json_get_int(entry, "fresh_seconds", 0));
	if (policy_revocation(
		    word, json_get_text(entry, "sha256", ""), json_get_text(entry, "content_sha256", NULL)))
		out(r, "REVOKED: everything is denied until another policy is in use\n");
	if (json_get_bool(word, "policy_signed", false))
		out(r, "only signed policies are put in use here\n");
}

int cmd_policy_show(struct cli *r, struct err *e)
{
	const struct json *word = r->ws && r->ws->memo ? posture_of(r->sys, r->ws)->word : NULL, *entry;
	struct policy_file f;

	if (!json_get(word, "policy"))
		return show_default(r, e);
	int rc = policy_file_or_used(r, NULL, &f, &entry, e);
	if (rc)
		return rc;
	struct json *doc = summary_of(r, f.document, f.rules);
	if (r->is_json) {
		json_setb(r->a, doc, "in_use", true);
		json_sets(r->a, doc, "rule_prefix", POLICY_RULE);
		json_set(r->a, doc, "accepted", json_copy(r->a, entry));
		json_set(r->a, doc, "document", f.document);
		out_json(r, doc);
		return 0;
	}
	print_summary(r, f.document, doc);
	print_entry(r, word, entry);
	print_rules(r, f.rules);
	return 0;
}

/* ---- shadow ---- */

static int change_shadow(struct cli *r, struct policy_choice *c, struct err *e)
{
	struct person who = { 0 };
	struct json *receipt;
	struct kernel k;
	int rc = person_here(r, &who, e);

	if (rc)
		return rc;
	rc = kernel_open(r->sys, r->a, r->ws, &k, e);
	if (rc == OK) {
		k.person = &who;
		c->executor = who.name;
		rc = policy_shadow(&k, r->a, c, &receipt, e);
		kernel_close(&k);
	}
	key_free(&who.key);
	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, receipt);
	else
		out(r, "shadow   %s\nreceipt  %s\n",
			c->document ? "started; 'helm policy shadow report' shows what differs" : "stopped",
			receipt_id_short(r->a, safe_member(r, receipt, "receipt_id")));
	return 0;
}

static void print_report(struct cli *r, const struct json *doc)
{
	static const char *const headings[] = { "COUNT", "WOULD BE", "RULE" };
	const struct json *shadow = json_get(doc, "shadow");
	struct out_table *t;

	out(r, "shadow   %s %s, since %s\n", safe_member(r, shadow, "name"),
		safe_member(r, shadow, "version"), safe_member(r, shadow, "at"));
	out(r, "%s would have been different\n",
		text_count(r->a, json_get_int(doc, "different", 0), "decision"));
	if (json_get_bool(doc, "is_full", false))
		out(r, "There is no room for more: stop and start it again to go on.\n");
	if (!json_get(doc, "by_rule")->n)
		return;
	t = out_table(r, headings, ARRAY_SIZE(headings));
	json_each (row, json_get(doc, "by_rule")) {
		const char *cells[] = { arena_printf(r->a, "%lld", (long long)json_get_int(row, "count", 0)),
			safe_member(r, row, "would_be"), safe_member(r, row, "rule") };
		out_row(t, cells, NULL);
	}
	out_table_end(t);
}

static int shadow_report(struct cli *r, struct err *e)
{
	struct json *doc;
	int rc = policy_shadow_report(r->sys, r->a, r->ws, &doc, e);

	if (rc)
		return rc;
	if (r->is_json)
		out_json(r, doc);
	else
		print_report(r, doc);
	return 0;
}

int cmd_policy_shadow(struct cli *r, struct err *e)
{
	const char *verb = r->args[0];
	struct policy_choice c = { 0 };
	struct policy_file f;

	if (text_eq(verb, "report") && r->arg_count == 1)
		return shadow_report(r, e);
	if (text_eq(verb, "stop") && r->arg_count == 1)
		return change_shadow(r, &c, e);
	c.candidate_profile = opt_text(r, "profile", NULL);
	c.candidate_skill = opt_text(r, "skill", NULL);
	if (text_eq(verb, "start") && r->arg_count == 1 && (c.candidate_profile || c.candidate_skill)) {
		c.document = policy_candidate(r->a, c.candidate_profile ? "profile" : "skill",
			c.candidate_profile ? c.candidate_profile : c.candidate_skill);
		return change_shadow(r, &c, e);
	}
	if (!text_eq(verb, "start") || r->arg_count != 2)
		return err_set(e, E_USAGE, "USAGE",
			"say 'start FILE', 'start --profile NAME', 'start --skill NAME', 'report' or 'stop'");
	int rc = read_file(r, r->args[1], &c, &f, e);
	return rc ? rc : change_shadow(r, &c, e);
}

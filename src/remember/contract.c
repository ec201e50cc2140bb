/* contract.c — contracts of skills, read and checked.
 *
 * A check goes on after every fault, so that one answer shows everything that is wrong.  Files in the tree are looked at as they lie there,
 * also profiles that nobody has accepted yet: it is about whether they would do. */
#include "remember/contract.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/text.h"
#include "model/profile.h"
#include "model/terms.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_CONTRACT = 1 << 20 };
#define POLICIES "references/skill_profile_policies.json"
#define PROFILES "references/execution_profiles.json"

/* ---- reading ---- */

static bool is_nothing(const struct json *v)
{
	return !v || v->type == JSON_NULL ||
		((json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY) || json_is(v, JSON_STRING)) && !v->n);
}

const char *const skill_rooms[] = { "skills", ".claude/skills", ".codex/skills", ".agents/skills",
	SKILL_DRAFTS, NULL };

int contract_read(const struct contract_place *at, const char *skill, struct json **ret, struct err *e)
{
	*ret = NULL;
	if (!text_is_id(skill))
		return OK;
	for (const char *const *room = skill_rooms; *room; room++) {
		const char *path = arena_printf(at->a, "%s/%s/contract.json", *room, skill);
		struct json *doc;
		int rc = doc_read(at->sys, at->a, at->root_fd, path, MAX_CONTRACT, FILE_BENEATH, &doc, e);
		if (rc && rc != E_MISSING)
			return rc;
		if (rc == OK && json_is(doc, JSON_OBJECT) && doc->n) {
			*ret = doc;
			return OK;
		}
	}
	return OK;
}

/* {name: {allowed_profiles, default_profile}}; NULL when there is no such file. */
static int read_policies(const struct contract_place *at, struct json **ret, struct err *e)
{
	struct json *doc;
	int rc = doc_read(at->sys, at->a, at->root_fd, POLICIES, MAX_CONTRACT, FILE_BENEATH, &doc, e);

	*ret = rc ? NULL : json_get(doc, "skills");
	if (rc == E_MISSING)
		return OK;
	if (rc == OK && *ret && !json_is(*ret, JSON_OBJECT))
		return err_set(e, E_INPUT, "SKILL_POLICIES", POLICIES ": 'skills' must be an object");
	return rc;
}

/* Of two that say something, the contract counts, member by member. */
static struct json *merged(struct arena *a, const struct json *policy, const struct json *contract)
{
	static const char *const names[] = { "allowed_profiles", "default_profile" };
	struct json *doc = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct json *v = json_get(contract, names[i]);
		v = is_nothing(v) ? json_get(policy, names[i]) : v;
		if (!is_nothing(v))
			json_set(a, doc, names[i], v);
	}
	return doc;
}

struct json *contract_profiles(
	const struct contract_place *at, const char *skill, const struct json *contract)
{
	struct json *policies, *doc;

	if (read_policies(at, &policies, NULL))
		policies = NULL;
	doc = merged(at->a, json_get(policies, skill), contract);
	if (!json_get(doc, "allowed_profiles"))
		json_set(at->a, doc, "allowed_profiles", json_new(at->a, JSON_ARRAY));
	if (!json_get(doc, "default_profile"))
		json_set(at->a, doc, "default_profile", json_new(at->a, JSON_NULL));
	return doc;
}

/* ---- evidence ---- */

static bool has_hint(struct arena *a, const char *text, const struct json *hints)
{
	const char *folded;

	if (!text || text_utf8_valid(text, strlen(text)) != strlen(text))
		return false;
	folded = text_fold(a, text, strlen(text));
	json_each (hint, hints) {
		const char *word = json_text(hint);
		if (word && *word && strstr(folded, text_fold(a, word, strlen(word))))
			return true;
	}
	return false;
}

bool contract_demands(const struct json *contract, const char *section, const struct json *row)
{
	static const char *const said[] = { "task_name", "command_preview", "runtime_target", "runtime_note",
		"failure_stage", "failure_reason" };
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *s = json_get(contract, section), *hints = json_get(s, "when_any");

	if (json_get_bool(s, "required", false))
		return true;
	for (size_t i = 0; hints && i < ARRAY_SIZE(said); i++)
		if (has_hint(&a, json_get_text(row, said[i], NULL), hints))
			return true;
	return has_hint(
		&a, json_get_text(json_get(json_get(row, "meta"), "harness"), "user_request", NULL), hints);
}

/* ---- checking ---- */

struct checking {
	const struct contract_place *at;
	struct arena *a;
	const char *file; /* the one that is looked at */
	struct json *issues, *known; /* known: names of profiles */
};

__attribute__((format(printf, 2, 3))) static void issue(struct checking *c, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_push(c->a, c->issues, json_stringf(c->a, "%s: %s", c->file, text));
}

static bool is_known(const struct checking *c, const char *name)
{
	json_each (one, c->known)
		if (text_eq(json_text(one), name))
			return true;
	return false;
}

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

/* Not at all, or of the type that is asked for. */
enum must { MUST_OBJECT, MUST_BOOL, MUST_TEXT, MUST_TEXTS, MUST_WORDS, MUST_OBJECTS };

static bool is_list_of(const struct json *v, enum must must)
{
	if (!json_is(v, JSON_ARRAY))
		return false;
	json_each (one, v) {
		const char *text = json_text(one);
		if (must == MUST_OBJECTS ? !json_is(one, JSON_OBJECT)
					 : !text || (must == MUST_WORDS && is_blank(text)))
			return false;
	}
	return true;
}

static void check_member(
	struct checking *c, const struct json *in, const char *section, const char *name, enum must must)
{
	static const char *const wanted[] = { "must be an object", "must be true or false", "must be a text",
		"must be a list of texts", "must be a list of texts that are not blank",
		"must be a list of objects" };
	const struct json *v = json_get(in, name);
	const bool is_right = is_nothing(v) ? true
		: must == MUST_OBJECT	    ? json_is(v, JSON_OBJECT)
		: must == MUST_BOOL	    ? json_is_bool(v)
		: must == MUST_TEXT	    ? json_text(v) != NULL
					    : is_list_of(v, must);

	if (!is_right)
		issue(c, "%s%s%s %s, not %s", section ? section : "", section ? "." : "", name, wanted[must],
			json_type_name(v));
}

/* The members of a contract beside its profiles. */
static const struct {
	const char *section, *name; /* section NULL: the contract itself */
	enum must must;
} members[] = {
	{ NULL, "approval_keywords", MUST_TEXTS },
	{ NULL, "require_finalization_written", MUST_BOOL },
	{ NULL, "context", MUST_OBJECT },
	{ "context", "required", MUST_BOOL },
	{ "context", "include", MUST_TEXTS },
	{ NULL, "runner", MUST_OBJECT },
	{ "runner", "entrypoint", MUST_TEXT },
	{ "runner", "strict_required", MUST_BOOL },
#define EVIDENCE(name) \
	{ NULL, name, MUST_OBJECT }, { name, "required", MUST_BOOL }, \
		{ name, "required_fields", MUST_WORDS }, \
	{ \
		name, "when_any", MUST_WORDS \
	}
	EVIDENCE("browser_work"),
	EVIDENCE("retrieval_policy"),
	EVIDENCE("file_intake"),
	EVIDENCE("artifact_validation"),
	{ NULL, "route_decision", MUST_OBJECT },
	{ "route_decision", "required_fields", MUST_TEXTS },
	{ "route_decision", "allowed_stages", MUST_TEXTS },
	{ "route_decision", "allowed_next_actions", MUST_TEXTS },
	{ "route_decision", "tool_rules", MUST_OBJECTS },
	{ NULL, "result_contract", MUST_OBJECT },
	{ NULL, "failure_downgrade", MUST_OBJECT },
	{ "failure_downgrade", "steps", MUST_OBJECTS },
};

static void check_members(struct checking *c, const struct json *contract)
{
	const struct json *runner = json_get(contract, "runner");

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		check_member(c, members[i].section ? json_get(contract, members[i].section) : contract,
			members[i].section, members[i].name, members[i].must);
	if (json_get_bool(runner, "strict_required", false) && !json_get_text(runner, "entrypoint", "")[0])
		issue(c, "runner.strict_required needs runner.entrypoint");
	json_each (rule, json_get(json_get(contract, "route_decision"), "tool_rules"))
		if (json_is(rule, JSON_OBJECT) &&
			(!json_get(rule, "match_any") ||
				!is_list_of(json_get(rule, "match_any"), MUST_WORDS)))
			issue(c,
				"each of route_decision.tool_rules needs match_any, a list of texts that are not blank");
	json_each (step, json_get(json_get(contract, "failure_downgrade"), "steps"))
		if (json_is(step, JSON_OBJECT) &&
			(!json_get_text(step, "when", NULL) || !json_get_text(step, "action", NULL)))
			issue(c, "each of failure_downgrade.steps needs the texts when and action");
}

/* What it permits beside profiles (model/terms.h). */
static void check_terms(struct checking *c, const char *skill, const struct json *contract)
{
	struct terms t;
	struct err e = { 0 };

	/* What runner says wrong was said by check_members(). */
	if (terms_read(c->a, skill, contract, &t, &e) && !text_starts(e.text, "runner"))
		issue(c, "%s", e.text);
}

/* The profiles of one skill, from wherever they come. */
static void check_allowed(struct checking *c, const char *skill, const struct json *policy)
{
	const struct json *allowed = json_get(policy, "allowed_profiles"),
			  *chosen = json_get(policy, "default_profile");
	const char *name = json_text(chosen);
	bool is_allowed = false;

	if (!allowed || !is_list_of(allowed, MUST_WORDS))
		issue(c, "skill '%s': allowed_profiles must be a list of profiles with at least one", skill);
	json_each (one, allowed) {
		const char *text = json_text(one);
		if (text && !is_known(c, text))
			issue(c, "skill '%s': allowed_profiles names '%s', which is no profile", skill, text);
		is_allowed |= text && name && text_eq(text, name);
	}
	if (!name || !*name)
		issue(c, "skill '%s': default_profile must name a profile", skill);
	else if (!is_known(c, name))
		issue(c, "skill '%s': default_profile '%s' is no profile", skill, name);
	else if (!is_allowed)
		issue(c, "skill '%s': default_profile '%s' is none of its allowed_profiles", skill, name);
}

/* Every contract below a directory, by the name of its skill; those that are there already are replaced.  `lacks`: live skills
 * without one. */
static void gather(struct checking *c, const char *room, struct json *contracts, struct json *lacks)
{
	const struct contract_place *at = c->at;
	char **names;
	size_t n = 0;

	if (file_list(at->sys, c->a, at->root_fd, room, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		struct json *doc, *entry;
		struct err e = { 0 };
		if (names[i][0] == '.')
			continue;
		c->file = arena_printf(c->a, "%s/%s/contract.json", room, names[i]);
		int rc = doc_read(at->sys, c->a, at->root_fd, c->file, MAX_CONTRACT, FILE_BENEATH, &doc, &e);
		if (rc && rc != E_MISSING) {
			issue(c, "%s", e.text);
			continue;
		}
		if (rc || !json_is(doc, JSON_OBJECT) || !doc->n) {
			if (lacks &&
				file_exists(at->sys, at->root_fd,
					arena_printf(c->a, "%s/%s/SKILL.md", room, names[i])))
				json_pushs(c->a, lacks, names[i]);
			continue;
		}
		entry = json_new(c->a, JSON_OBJECT);
		json_sets(c->a, entry, "file", c->file);
		json_set(c->a, entry, "contract", doc);
		json_set(c->a, contracts, names[i], entry);
	}
}

/* Each profile of the tree, and whether the whole file would do if a person accepted it. */
static void check_profiles(struct checking *c)
{
	static const char *const needed[] = { "description", "backend", "checkpoint" };
	const struct contract_place *at = c->at;
	struct json *doc, *all;
	struct bytes text;
	struct profiles loaded;
	struct err e = { 0 };

	c->file = PROFILES;
	if (file_read(at->sys, c->a, at->root_fd, PROFILES, MAX_CONTRACT, FILE_BENEATH, &text, &e) ||
		json_parse(c->a, text, PROFILES, NULL, &doc, &e)) {
		issue(c, "%s",
			e.rc == E_MISSING ? "is missing; 'helm reconcile --apply' brings it back" : e.text);
		return;
	}
	all = json_get(doc, "profiles");
	if (!json_is(all, JSON_OBJECT) || !all->n)
		issue(c, "'profiles' must be an object with at least one profile");
	json_each_member (m, all) {
		const char *rule = json_get_text(m->value, "checkpoint", NULL);
		json_pushs(c->a, c->known, m->name);
		if (!json_is(m->value, JSON_OBJECT))
			issue(c, "profile '%s' must be an object", m->name);
		for (size_t i = 0; i < ARRAY_SIZE(needed) && json_is(m->value, JSON_OBJECT); i++)
			if (!json_get_text(m->value, needed[i], "")[0])
				issue(c, "profile '%s' needs the text '%s'", m->name, needed[i]);
		if (rule && *rule && !text_eq(rule, "never") && !text_eq(rule, "optional") &&
			!text_eq(rule, "required") && !text_eq(rule, "manual"))
			issue(c,
				"profile '%s': checkpoint must be never, optional, required or manual, not '%s'",
				m->name, rule);
	}
	/* What this program would say to it beside. */
	if (!c->issues->n && profiles_parse(c->a, text, PROFILES, (struct bytes){ 0 }, NULL, &loaded, &e))
		issue(c, "%s", e.text);
}

static void check_skills(struct checking *c, const struct json *contracts, struct json *policies)
{
	struct err e = { 0 };
	struct json *said;

	c->file = POLICIES;
	if (read_policies(c->at, &said, &e))
		issue(c, "%s", e.text);
	json_each_member (m, said) {
		struct json *own = json_get(json_get(contracts, m->name), "contract");
		json_set(c->a, policies, m->name, merged(c->a, m->value, own));
	}
	json_each_member (m, contracts) {
		struct json *own = merged(c->a, json_get(policies, m->name), json_get(m->value, "contract"));
		if (own->n)
			json_set(c->a, policies, m->name, own);
	}
	json_each_member (m, policies) {
		c->file = json_get_text(json_get(contracts, m->name), "file", POLICIES);
		check_allowed(c, m->name, m->value);
	}
	json_each_member (m, contracts) {
		c->file = json_get_text(m->value, "file", "");
		check_members(c, json_get(m->value, "contract"));
		check_terms(c, m->name, json_get(m->value, "contract"));
	}
}

struct json *contract_issues(const struct contract_place *at, const char *skill, const struct json *contract,
	const struct json *profiles, const char *known[])
{
	struct checking c = { at, at->a, "contract.json", json_new(at->a, JSON_ARRAY),
		json_new(at->a, JSON_ARRAY) };

	for (; *known; known++)
		json_pushs(at->a, c.known, *known);
	if (!is_nothing(json_get(profiles, "allowed_profiles")) ||
		!is_nothing(json_get(profiles, "default_profile")))
		check_allowed(&c, skill, profiles);
	check_members(&c, contract);
	check_terms(&c, skill, contract);
	return c.issues;
}

static struct json *others(struct arena *a, const struct json *names, bool is_session)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (one, names)
		if (text_eq(json_text(one), "develop") == is_session)
			json_push(a, list, one);
	return list;
}

struct json *contract_validate(const struct contract_place *at)
{
	struct arena *a = at->a;
	struct checking c = { at, a, "", json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY) };
	struct json *doc = json_new(a, JSON_OBJECT), *contracts = json_new(a, JSON_OBJECT),
		    *policies = json_new(a, JSON_OBJECT), *lacks = json_new(a, JSON_ARRAY);

	check_profiles(&c);
	gather(&c, "skill_drafts", contracts, NULL);
	gather(&c, "skills", contracts, lacks);
	check_skills(&c, contracts, policies);
	json_each (name, lacks) {
		c.file = arena_printf(a, "skills/%s", json_text(name));
		issue(&c, "has a SKILL.md and no contract.json");
	}
	json_seti(a, doc, "profile_count", c.known->n);
	json_seti(a, doc, "skill_policy_count", policies->n);
	json_seti(a, doc, "manifest_count", contracts->n);
	/* What a skill runs under, and what whole sessions of agents do. */
	json_set(a, doc, "profiles", others(a, c.known, false));
	json_set(a, doc, "session_profiles", others(a, c.known, true));
	json_set(a, doc, "missing_contract_skills", lacks);
	json_set(a, doc, "issues", c.issues);
	json_setb(a, doc, "ok", c.issues->n == 0);
	return doc;
}

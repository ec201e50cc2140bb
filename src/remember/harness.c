/* harness.c — before work starts: how strict to be, and what it must bring. */
#include "remember/harness_parts.h"

#include "base/doc.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define POLICY "references/adaptive_harness_policy.json"
#define OVERLAYS "references/adaptive_harness.d"
enum { MAX_POLICY = 1 << 20, MIN_SCORE = 25, CONTEXT_LIMIT = 6 };

const struct harness_evidence harness_evidence[EVIDENCE_KINDS] = {
	{ "browser_evidence", "browser_work", "browser_evidence" },
	{ "retrieval_evidence", "retrieval_policy", "retrieval_evidence" },
	{ "file_intake_evidence", "file_intake", "file_intake_evidence" },
};

/* ---- what both halves use ---- */

struct checks checks_begin(struct arena *a)
{
	return (struct checks){ a, json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY), true };
}

void check_add(struct checks *c, const char *name, bool ok, const char *fmt, ...)
{
	struct json *one = json_new(c->a, JSON_OBJECT);
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_sets(c->a, one, "name", name);
	json_setb(c->a, one, "ok", ok);
	json_sets(c->a, one, "detail", text);
	json_push(c->a, c->list, one);
	c->ok &= ok;
}

void checks_end(const struct checks *c, struct json *doc)
{
	json_set(c->a, doc, "checks", c->list);
	json_set(c->a, doc, "warnings", c->warnings);
	json_setb(c->a, doc, "ok", c->ok);
}

const char *harness_folded(struct arena *a, const char *text)
{
	size_t n;
	const char *clean = text_utf8(a, text ? text : "", text ? strlen(text) : 0, "?", &n);

	return text_fold(a, clean, n);
}

bool harness_has_any(const char *folded, const char *const *words)
{
	for (; *words; words++)
		if (strstr(folded, *words))
			return true;
	return false;
}

bool harness_has_text(const struct json *list, const char *text)
{
	json_each (one, list)
		if (text && json_text(one) && text_eq(json_text(one), text))
			return true;
	return false;
}

bool harness_is_missing(const struct json *v)
{
	const char *text = json_text(v);

	return !v || v->type == JSON_NULL || (text && text[strspn(text, " \t\r\n")] == '\0') ||
		(json_is(v, JSON_ARRAY) && !v->n);
}

const char *harness_missing_fields(struct arena *a, const struct json *section, const struct json *evidence)
{
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text, "");
	json_each (field, json_get(section, "required_fields")) {
		const char *name = json_text(field);
		if (name && harness_is_missing(json_get(evidence, name)))
			buf_addf(&text, "%s%s", text.n ? ", " : "", name);
	}
	return text.p;
}

/* ---- policy and level ---- */

static const char *const levels[LEVEL_COUNT] = { "light", "balanced", "strict" };

const char *harness_level_name(enum harness_level l)
{
	return levels[l];
}

enum harness_level harness_level_parse(const char *name, enum harness_level fallback)
{
	for (enum harness_level l = LEVEL_LIGHT; name && l < LEVEL_COUNT; l++)
		if (text_eq(name, levels[l]))
			return l;
	return fallback;
}

static int lay_file(const struct contract_place *at, struct json *base, const char *path, struct err *e)
{
	struct json *doc;
	int rc = doc_read(at->sys, at->a, at->root_fd, path, MAX_POLICY, FILE_BENEATH, &doc, e);

	if (rc == E_MISSING)
		return OK;
	if (rc == OK && !json_is(doc, JSON_OBJECT))
		return err_set(e, E_INPUT, "HARNESS_POLICY", "%s must be an object", path);
	if (rc == OK)
		doc_lay_over(at->a, base, doc);
	return rc;
}

int harness_policy(const struct contract_place *at, struct json **ret, struct err *e)
{
	struct bytes shipped;
	struct json *doc;
	char **names;
	size_t n = 0;

	if (!embed_find("share/adaptive_harness_policy.json", &shipped))
		return err_set(e, E_MISSING, "HARNESS_POLICY", "the policy is not in this program");
	int rc = json_parse(at->a, shipped, "share/adaptive_harness_policy.json", NULL, &doc, e);
	if (rc == OK)
		rc = lay_file(at, doc, POLICY, e);
	if (rc == OK && file_list(at->sys, at->a, at->root_fd, OVERLAYS, &names, &n, NULL))
		n = 0;
	for (size_t i = 0; i < n && rc == OK; i++)
		if (text_ends(names[i], ".json"))
			rc = lay_file(at, doc, arena_printf(at->a, OVERLAYS "/%s", names[i]), e);
	if (rc == OK)
		*ret = doc;
	return rc;
}

/* The longest alias that the model's name begins with; an unknown model is not trusted to be a good one. */
static const char *tier_of(
	struct arena *a, const struct json *policy, const struct harness_request *q, struct json *warnings)
{
	const struct json *tiers = json_get(policy, "tiers");
	const char *found = NULL;
	size_t best = 0;

	if (q->model_tier && json_get(tiers, q->model_tier))
		return q->model_tier;
	if (!q->model)
		return q->model_tier ? "constrained" : "frontier";
	const char *model = harness_folded(a, q->model);
	json_each_member (m, json_get(policy, "model_aliases")) {
		const char *alias = harness_folded(a, m->name);
		if (text_starts(model, alias) && strlen(alias) > best && json_text(m->value)) {
			best = strlen(alias);
			found = json_text(m->value);
		}
	}
	if (found && json_get(tiers, found))
		return found;
	json_push(a, warnings,
		json_stringf(
			a, "the model '%.80s' is not known; it is held to the tier constrained", q->model));
	return "constrained";
}

static enum harness_level higher(enum harness_level x, enum harness_level y)
{
	return x > y ? x : y;
}

enum harness_level harness_level_of(
	const struct json *policy, const char *tier, const char *profile, const struct json *contract)
{
	const struct json *t = json_get(json_get(policy, "tiers"), tier);
	enum harness_level level = harness_level_parse(json_get_text(t, "default", NULL), LEVEL_BALANCED);
	bool is_live = text_eq(profile, "service_ops") || text_eq(profile, "risky_edit");

	level = higher(level,
		harness_level_parse(
			json_get_text(json_get(t, "profile_overrides"), profile, NULL), LEVEL_LIGHT));
	if (json_get_bool(json_get(contract, "context"), "required", false))
		level = higher(level, LEVEL_BALANCED);
	if (is_live && json_get_bool(json_get(contract, "runner"), "strict_required", false))
		level = LEVEL_STRICT;
	return level;
}

/* ---- what it is about ---- */

static bool is_assignment(const char *word)
{
	const char *sign = strchr(word, '=');

	return sign && sign > word && sign[1];
}

/* The first word that is no option, from `i` on. */
static const char *operand(const char *const *argv, size_t argc, size_t i)
{
	for (; i < argc; i++)
		if (argv[i][0] != '-')
			return argv[i];
	return NULL;
}

static const char *tool_at(struct arena *a, const char *const *argv, size_t argc, int deep)
{
	size_t i = 0, n;
	const char *const *inner;

	while (i + 1 < argc && is_assignment(argv[i]))
		i++;
	if (i >= argc)
		return "";
	const char *base = path_base(argv[i]), *next = i + 1 < argc ? argv[i + 1] : "",
		   *first = operand(argv, argc, i + 1);
	if (text_starts(base, "python")) {
		if (text_eq(next, "-m"))
			return i + 2 < argc ? argv[i + 2] : base;
		if (text_eq(next, "-c"))
			return "python-inline";
		return first ? path_base(first) : base;
	}
	if (text_eq(base, "sh") || text_eq(base, "bash") || text_eq(base, "zsh")) {
		if (!text_eq(next, "-c") && !text_eq(next, "-lc"))
			return first ? path_base(first) : base;
		if (deep < 4 && i + 2 < argc && text_words(a, argv[i + 2], &inner, &n) && n)
			return tool_at(a, inner, n, deep + 1);
	}
	return base;
}

const char *harness_tool(struct arena *a, const char *const *argv, size_t argc)
{
	return tool_at(a, argv, argc, 0);
}

static const char *joined(struct arena *a, const char *const *argv, size_t argc)
{
	struct buf text;

	buf_init(&text, a);
	buf_adds(&text, "");
	for (size_t i = 0; i < argc; i++)
		buf_addf(&text, "%s%s", i ? " " : "", argv[i]);
	return text.p;
}

/* Does the request want choices, a result, or a result with a word about choices? */
static struct json *workflow_of(struct arena *a, const char *blob)
{
	static const char *const diverging[] = { "plan", "design", "architecture", "proposal", "strategy",
		"compare", "draft", "기획", "설계", "방향", "비교", "초안", "제안", NULL };
	static const char *const converging[] = { "fix", "apply", "save", "run", "execute", "implement",
		"patch", "update", "commit", "고쳐", "수정", "적용", "저장", "실행", "구현", "진행", NULL };
	bool opens = harness_has_any(blob, diverging), closes = harness_has_any(blob, converging);
	struct json *doc = json_new(a, JSON_OBJECT);
	bool is_open = opens && !closes;

	json_sets(a, doc, "mode",
		is_open		? "diverge_then_converge"
			: opens ? "converge_with_tradeoff_note"
				: "converge");
	json_sets(a, doc, "stage", is_open ? "diverge" : "execute");
	json_sets(a, doc, "next_action", is_open ? "present_options" : "run");
	json_sets(a, doc, "reason",
		is_open		? "it asks for a plan or a comparison"
			: opens ? "it asks for both, a plan and work"
				: "it asks for work");
	return doc;
}

static struct json *infer_route(struct arena *a, const struct harness_request *q, const struct json *contract)
{
	static const char *const sensitive[] = { "book", "buy", "pay", "sign", "approval", NULL };
	struct json *doc = json_new(a, JSON_OBJECT);

	json_sets(a, doc, "task_type",
		json_get_text(json_get(contract, "route_decision"), "task_type", "generic"));
	json_sets(a, doc, "stage", "execute");
	json_sets(a, doc, "chosen_tool", harness_tool(a, q->argv, q->argc));
	json_sets(a, doc, "next_action", "run");
	json_setb(a, doc, "approval_sensitive",
		q->request && harness_has_any(harness_folded(a, q->request), sensitive));
	json_setb(a, doc, "inferred", true);
	return doc;
}

static bool matches_rule(struct arena *a, const struct json *rules, const char *tool, const char *command)
{
	const char *t = harness_folded(a, tool), *c = harness_folded(a, command);

	json_each (rule, rules)
		json_each (one, json_get(rule, "match_any")) {
			const char *word = json_text(one) ? harness_folded(a, json_text(one)) : "";
			if (*word && (strstr(t, word) || strstr(c, word)))
				return true;
		}
	return false;
}

/* Only where the contract wants one, or says which tools there are. */
void harness_check_route(
	struct checks *c, const struct json *contract, const struct json *route, const char *command)
{
	const struct json *section = json_get(contract, "route_decision"),
			  *rules = json_get(section, "tool_rules");
	const char *stage = json_get_text(route, "stage", ""),
		   *next = json_get_text(route, "next_action", ""),
		   *missing = harness_missing_fields(c->a, section, route);

	if (!json_get_bool(section, "required", false) && (!rules || !rules->n)) {
		check_add(c, "route_decision", true, "the contract does not ask for one");
		return;
	}
	if (!json_is(route, JSON_OBJECT))
		check_add(c, "route_decision", false, "the contract asks for one, and there is none");
	else if (*missing)
		check_add(c, "route_decision", false, "it lacks %s", missing);
	else if (!harness_has_text(json_get(section, "allowed_stages"), stage))
		check_add(c, "route_decision", false, "the stage '%.60s' is none of allowed_stages", stage);
	else if (!harness_has_text(json_get(section, "allowed_next_actions"), next))
		check_add(c, "route_decision", false, "'%.60s' is none of allowed_next_actions", next);
	else if (rules && rules->n &&
		!matches_rule(c->a, rules, json_get_text(route, "chosen_tool", ""), command))
		check_add(c, "route_decision", false, "no tool_rules match the tool '%.80s'",
			json_get_text(route, "chosen_tool", ""));
	else
		check_add(c, "route_decision", true, "it fits the contract");
}

/* ---- before ---- */

static void add_query(struct arena *a, struct json *list, const char *query, const struct json *areas,
	int64_t limit, bool failed)
{
	struct json *argv = json_new(a, JSON_ARRAY);

	json_pushs(a, argv, "helm");
	json_pushs(a, argv, "context");
	if (query && *query)
		json_pushs(a, argv, query);
	if (areas && areas->n)
		json_pushs(a, argv, "--include");
	json_each (area, areas)
		json_push(a, argv, json_copy(a, area));
	if (failed)
		json_pushs(a, argv, "--failed-only");
	json_pushs(a, argv, "--limit");
	json_push(a, argv, json_stringf(a, "%lld", (long long)limit));
	json_push(a, list, argv);
}

/* The questions that the contract wants asked first. */
static struct json *hydration(struct arena *a, const struct json *contract)
{
	const struct json *context = json_get(contract, "context"),
			  *failed = json_get(context, "failed_include");
	const char *query = json_get_text(context, "query", "");
	struct json *list = json_new(a, JSON_ARRAY);

	if (!json_get_bool(context, "required", false) && !*query)
		return list;
	add_query(a, list, query, json_get(context, "include"), json_get_int(context, "limit", CONTEXT_LIMIT),
		false);
	if (json_is(failed, JSON_ARRAY) && failed->n)
		add_query(a, list, query, failed, json_get_int(context, "failed_limit", CONTEXT_LIMIT), true);
	return list;
}

static void check_relevance(struct checks *c, const struct json *rules, const struct json *relevance)
{
	const char *verdict = json_get_text(relevance, "verdict", "");
	int64_t score = json_get_int(relevance, "score", 0);
	bool ok = score >= json_get_int(rules, "skill_relevance_min_score", MIN_SCORE) &&
		!harness_has_text(json_get(rules, "skill_relevance_block_verdicts"), verdict);

	check_add(c, "skill_relevance", ok, "%s, %lld points", verdict, (long long)score);
	if (ok && harness_has_text(json_get(rules, "skill_relevance_warn_verdicts"), verdict))
		json_push(c->a, c->warnings,
			json_stringf(c->a, "the skill shares little with the request (%lld points)",
				(long long)score));
}

static bool is_blank(const char *text)
{
	return !text || text[strspn(text, " \t\r\n")] == '\0';
}

/* What must have been said about it. */
static void check_said(struct checks *c, const struct harness_request *q, const struct json *rules)
{
	bool wants_name = harness_has_text(json_get(rules, "task_name_required_profiles"), q->profile),
	     wants_target = harness_has_text(json_get(rules, "runtime_target_required_profiles"), q->profile);

	check_add(c, "task_name", !wants_name || !is_blank(q->task_name), "%s",
		!wants_name			  ? "not needed here"
			: !is_blank(q->task_name) ? "given"
						  : "this profile needs --task-name");
	check_add(c, "runtime_target", !wants_target || !is_blank(q->runtime_target), "%s",
		!wants_target			       ? "not needed here"
			: !is_blank(q->runtime_target) ? "given"
						       : "this profile needs --runtime-target");
}

static void check_boundaries(struct checks *c, const struct harness_request *q, const struct json *rules,
	const struct json *contract, enum harness_level level, const char *command)
{
	const enum harness_level from = harness_level_parse(
		json_get_text(rules, "context_required_at_or_above", NULL), LEVEL_BALANCED);
	bool wants_context = json_get_bool(json_get(contract, "context"), "required", false) && level >= from;
	const char *request = harness_folded(c->a, q->request),
		   *entry = json_get_text(json_get(contract, "runner"), "entrypoint", "");
	bool wants_runner = json_get_bool(json_get(contract, "runner"), "strict_required", false) &&
		level == LEVEL_STRICT;
	const char *keyword = NULL;

	json_each (word, json_get(contract, "approval_keywords"))
		if (!keyword && json_text(word) && *json_text(word) &&
			strstr(request, harness_folded(c->a, json_text(word))))
			keyword = json_text(word);
	check_add(c, "context_hydration", !wants_context || q->has_context, "%s",
		!wants_context		 ? "not needed here"
			: q->has_context ? "done, or will be"
					 : "ask the hydration commands first, or give --auto-hydrate");
	check_add(c, "approval_boundary", !keyword || text_eq(q->profile, "remote_handoff"), "%s%.60s%s",
		keyword ? "the request says '" : "no word that needs approval", keyword ? keyword : "",
		keyword ? "', which is for remote_handoff" : "");
	check_add(c, "preferred_runner",
		!wants_runner || strstr(harness_folded(c->a, command), harness_folded(c->a, entry)),
		"%s%.100s", wants_runner ? "the contract starts it by " : "not needed here",
		wants_runner ? entry : "");
}

/* Only what was passed is looked at. */
static void check_shapes(struct checks *c, const struct harness_request *q, const struct json *contract)
{
	for (enum harness_kind k = 0; k < EVIDENCE_KINDS; k++) {
		const struct harness_evidence *h = &harness_evidence[k];
		const char *missing;
		if (!q->evidence[k])
			continue;
		bool is_object = json_is(q->evidence[k], JSON_OBJECT);
		check_add(c, arena_printf(c->a, "%s_shape", h->name), is_object, "%s",
			is_object ? "an object" : "it must be an object");
		missing = harness_missing_fields(c->a, json_get(contract, h->section), q->evidence[k]);
		if (is_object)
			check_add(c, arena_printf(c->a, "%s_contract", h->name), !*missing, "%s%s",
				*missing ? "it lacks " : "it has what the contract wants", missing);
	}
}

/* Steps of failure_downgrade that speak of a check that does not hold. */
static struct json *downgrades(struct arena *a, const struct json *contract, const struct json *checks)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (step, json_get(json_get(contract, "failure_downgrade"), "steps")) {
		const char *when = harness_folded(a, json_get_text(step, "when", ""));
		json_each (check, checks) {
			if (json_get_bool(check, "ok", true) || !*when)
				continue;
			if (strstr(when, json_get_text(check, "name", "")) ||
				strstr(json_get_text(check, "name", ""), when)) {
				json_push(a, list, json_copy(a, step));
				break;
			}
		}
	}
	return list;
}

static void check_profile(struct checks *c, const struct harness_request *q, const struct json *profiles)
{
	const struct json *allowed = json_get(profiles, "allowed_profiles");
	bool ok = !q->skill || !allowed->n || harness_has_text(allowed, q->profile);

	check_add(c, "skill_profile", ok, "%s",
		!q->skill    ? "no skill"
			: ok ? "its contract allows the profile"
			     : "its contract does not allow this profile");
}

/* All that is said about it, beside the checks. */
static void describe(struct arena *a, struct json *doc, const struct harness_request *q, const char *tier,
	enum harness_level level, const struct json *contract)
{
	json_sets(a, doc, "task_id", q->task_id);
	json_sets(a, doc, "skill", q->skill);
	json_sets(a, doc, "profile", q->profile);
	json_sets(a, doc, "model", q->model);
	json_sets(a, doc, "model_tier", tier);
	json_sets(a, doc, "enforcement_level", harness_level_name(level));
	json_set(a, doc, "contract", json_copy(a, contract));
	json_setb(
		a, doc, "context_required", json_get_bool(json_get(contract, "context"), "required", false));
	json_set(a, doc, "hydration_commands", hydration(a, contract));
	for (enum harness_kind k = 0; k < EVIDENCE_KINDS; k++)
		json_set(a, doc, harness_evidence[k].member,
			q->evidence[k] ? json_copy(a, q->evidence[k]) : json_new(a, JSON_NULL));
}

int harness_preflight(
	const struct contract_place *at, const struct harness_request *q, struct json **ret, struct err *e)
{
	struct arena *a = at->a;
	struct json *policy, *own = NULL, *doc = json_new(a, JSON_OBJECT);
	struct checks c = checks_begin(a);
	int rc = harness_policy(at, &policy, e);

	if (rc == OK && q->skill)
		rc = skill_contract(at, q->skill, &own, e);
	if (rc)
		return rc;
	const char *command = joined(a, q->argv, q->argc), *tier = tier_of(a, policy, q, c.warnings);
	struct json *contract = skill_contract_whole(a, own), *rules = json_get(policy, "validation"),
		    *profiles = contract_profiles(at, q->skill ? q->skill : "", own);
	const struct skill_request asked = { q->task_name, q->request, command, q->profile };
	struct json *relevance = skill_relevance(a, q->skill, own, profiles, &asked),
		    *route = q->route ? json_copy(a, q->route) : infer_route(a, q, contract);
	enum harness_level level = harness_level_of(policy, tier, q->profile, contract);

	describe(a, doc, q, tier, level, contract);
	json_setb(a, doc, "skill_contract_present", own != NULL);
	check_profile(&c, q, profiles);
	check_relevance(&c, rules, relevance);
	check_said(&c, q, rules);
	check_boundaries(&c, q, rules, contract, level, command);
	check_shapes(&c, q, contract);
	harness_check_route(&c, contract, route, command);
	json_set(a, doc, "route_decision", route);
	json_set(a, doc, "interaction_workflow",
		workflow_of(a,
			arena_printf(a, "%s %s %s", harness_folded(a, q->task_name),
				harness_folded(a, q->request), harness_folded(a, command))));
	json_set(a, doc, "skill_relevance", relevance);
	json_set(a, doc, "downgrade_hints", downgrades(a, contract, c.list));
	checks_end(&c, doc);
	*ret = doc;
	return OK;
}

struct json *harness_meta(struct arena *a, const struct harness_request *q, const struct json *preflight)
{
	static const char *const kept[] = { "model", "model_tier", "enforcement_level", "context_required",
		"skill_contract_present", "browser_evidence", "retrieval_evidence", "file_intake_evidence",
		"route_decision", "interaction_workflow", "skill_relevance" };
	struct json *doc = json_new(a, JSON_OBJECT);

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		const struct json *v = json_get(preflight, kept[i]);
		if (v && v->type != JSON_NULL)
			json_set(a, doc, kept[i], json_copy(a, v));
	}
	json_setb(a, doc, "context_satisfied",
		!json_get_bool(preflight, "context_required", false) || q->has_context);
	json_sets(a, doc, "user_request", q->request);
	return doc;
}

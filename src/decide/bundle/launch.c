/* launch.c — launch policies (TOML): what an app, a substrate or a publisher's skills may do when they are started.
 *
 * Each setting that somebody can enforce becomes a rule or a setting of a gate.  What the file does not say about network, servers and tools is closed.  Settings that
 * only describe are reported, so that nobody takes them for enforced. */
#include "decide/bundle/parts.h"

#include <string.h>

static const struct setting {
	const char *name;
	const char *action; /* of its rule; NULL: described only */
	const char *when; /* condition of the rule; NULL: always */
	const char *verdict;
	const char *code;
	const char *text;
} settings[] = {
	{ "permission_bypass_forbidden", "permission_bypass", NULL, "DENY", "POLICY_VIOLATION",
		"Going around permissions is forbidden." },
	{ "recursive_launch_forbidden", "launch", "has(facts.launched_by) && facts.launched_by != ''", "DENY",
		"POLICY_VIOLATION", "What was launched may not launch." },
	{ "receipt_required", "launch", "!has(facts.receipts) || !facts.receipts", "DENY",
		"MISSING_REQUIREMENT", "No receipt can be written." },
	{ "receipts_required", "skill_install", "!has(facts.receipts) || !facts.receipts", "DENY",
		"MISSING_REQUIREMENT", "No receipt can be written." },
	{ "evidencepack_required", "launch", "!has(facts.evidence_pack) || !facts.evidence_pack", "DENY",
		"MISSING_REQUIREMENT", "No evidence pack can be made." },
	{ "explicit_human_approval_required", "launch", NULL, "ESCALATE", "APPROVAL_REQUIRED",
		"A person approves each launch." },
	{ "idempotency_key_required", "launch",
		"!has(input.params.idempotency_key) || input.params.idempotency_key == ''", "DENY",
		"MISSING_REQUIREMENT", "A launch needs an idempotency key." },
	{ "require_schema_pin", "mcp_tool_call", "!has(facts.schema_pinned) || !facts.schema_pinned", "DENY",
		"MISSING_REQUIREMENT", "The tool's schema is not pinned." },
	{ "teardown_receipt_required", "teardown", "!has(facts.receipts) || !facts.receipts", "DENY",
		"MISSING_REQUIREMENT", "No receipt can be written." },
};

/* A word of these files and what it means. */
static const char *verdict_of_word(const char *word)
{
	static const char *const words[][2] = { { "deny", "DENY" }, { "DENY", "DENY" },
		{ "quarantine", "DENY" }, { "off_by_default", "DENY" }, { "ESCALATE", "ESCALATE" },
		{ "escalate", "ESCALATE" } };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (text_eq(word, words[i][0]))
			return words[i][1];
	return NULL;
}

/* Settings whose value is a word; what the file does not say is DENY. */
static const struct word {
	const char *table, *name, *action, *when, *text;
} words[] = {
	{ "app", "network_default", "network",
		"!(has(input.params.destination) && input.params.destination in %s)",
		"The destination is not on the list." },
	{ "substrate", "network_default", "network",
		"!(has(input.params.destination) && input.params.destination in %s)",
		"The destination is not on the list." },
	{ "app", "mcp_unknown_server_policy", "mcp_tool_call",
		"!has(facts.mcp_server_known) || !facts.mcp_server_known", "The server is not known." },
	{ "app", "mcp_unknown_tool_policy", "mcp_tool_call",
		"!has(facts.mcp_tool_known) || !facts.mcp_tool_known", "The tool is not known." },
	{ "skill", "global_install_default", "skill_install",
		"has(input.params.scope) && input.params.scope == 'global'",
		"Skills are not installed for everybody." },
	{ "skill", "user_install_default", "skill_install",
		"has(input.params.scope) && input.params.scope == 'user'",
		"Skills for a user are asked about." },
	{ "skill", "mcp_auto_enable_default", "mcp_enable", NULL, "Servers are not enabled on their own." },
	{ "skill", "hooks_default", "hook_enable", NULL, "Hooks are off until somebody enables them." },
};

static const char *const described[] = { "publisher", "availability", "redistribution", "isolation_mode",
	"hostile_agent_grade", "default_dry_run", "reconcile_before_retry", "secret_log_redaction",
	"model_gateway_provider", "model_gateway_catalog_scope", "workstation_adapter_mode",
	"workstation_policy_profile", "scope_default" };

static struct json *add_rule(struct reading *r, struct json *rules, const char *name, const char *action,
	const char *when, const char *verdict, const struct json *at)
{
	struct json *rule = make_rule(r, name, action, verdict, at);

	if (when)
		json_sets(r->a, rule, "when", when);
	json_push(r->a, rules, rule);
	return rule;
}

static void add_switches(struct reading *r, const struct json *table, struct json *rules)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		const struct setting *s = &settings[i];
		const struct json *v = json_get(table, s->name);
		if (!v)
			continue;
		if (!json_is_bool(v)) {
			problem_at(r, POLICY_ERROR, "LAUNCH_POLICY", v->at, scalar_text(r->a, v),
				"write true or false", "'%s' is no truth value", s->name);
			continue;
		}
		if (json_is(v, JSON_FALSE))
			continue;
		struct json *rule = add_rule(r, rules, s->name, s->action, s->when, s->verdict, v);
		json_sets(r->a, rule, "reason_code", s->code);
		json_sets(r->a, rule, "text", s->text);
	}
}

/* ["a", "b"] as an expression; absent is empty, and so denies. */
static const char *list_text(struct reading *r, const struct json *table)
{
	struct buf b;

	buf_init(&b, r->a);
	json_write(&b,
		take_list(r, table, "network_allowlist", "LAUNCH_POLICY")
			? json_get(table, "network_allowlist")
			: json_new(r->a, JSON_ARRAY),
		0);
	return b.p;
}

static void add_words(struct reading *r, const struct json *table, const char *table_name, struct json *rules)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const struct word *w = &words[i];
		const struct json *v = json_get(table, w->name);
		const char *verdict = v ? verdict_of_word(scalar_text(r->a, v)) : "DENY", *when = w->when;
		if (!text_eq(w->table, table_name))
			continue;
		if (!verdict) {
			problem_at(r, POLICY_ERROR, "LAUNCH_POLICY", v->at, scalar_text(r->a, v),
				"write deny, quarantine or ESCALATE", "'%s' has no such answer", w->name);
			continue;
		}
		if (when && strstr(when, "%s")) {
			const char *mark = strstr(when, "%s");
			when = arena_printf(
				r->a, "%.*s%s%s", (int)(mark - when), when, list_text(r, table), mark + 2);
		}
		struct json *rule = add_rule(r, rules, w->name, w->action, when, verdict, v ? v : table);
		json_sets(r->a, rule, "text", w->text);
	}
}

static bool is_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (text_eq(name, settings[i].name))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (text_eq(name, words[i].name))
			return true;
	return false;
}

static bool is_described(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(described); i++)
		if (text_eq(name, described[i]))
			return true;
	return false;
}

/* "x_forbidden" without "_forbidden"; NULL when it ends otherwise. */
static const char *before(struct arena *a, const char *name, const char *ending)
{
	size_t n = strlen(name), m = strlen(ending);

	return text_ends(name, ending) && n > m ? arena_strndup(a, name, n - m) : NULL;
}

/* A setting of a name that is not known, but that ends as those that forbid or require: it does so, too.  Required is what a fact says is there. */
static bool add_unknown(struct reading *r, const struct json_member *m, struct json *rules)
{
	const char *forbidden = before(r->a, m->name, "_forbidden"),
		   *required = before(r->a, m->name, "_required");
	const char *answered = before(r->a, m->name, text_ends(m->name, "_policy") ? "_policy" : "_default");

	if (json_is(m->value, JSON_FALSE) && (forbidden || required))
		return true;
	if (json_is(m->value, JSON_TRUE) && forbidden)
		(void)add_rule(r, rules, m->name, forbidden, NULL, "DENY", m->value);
	else if (json_is(m->value, JSON_TRUE) && required)
		(void)add_rule(r, rules, m->name, "launch",
			arena_printf(r->a, "!has(facts.%s) || !facts.%s", required, required), "DENY",
			m->value);
	else if (answered && verdict_of_word(scalar_text(r->a, m->value)))
		(void)add_rule(r, rules, m->name, answered, NULL,
			verdict_of_word(scalar_text(r->a, m->value)), m->value);
	else
		return false;
	return true;
}

/* What describes is noted, so that nobody takes it for enforced. */
static void add_rest(struct reading *r, const struct json *table, struct json *rules)
{
	json_each_member (m, table) {
		if (is_known(m->name) || text_eq(m->name, "id") || text_eq(m->name, "network_allowlist"))
			continue;
		if (is_described(m->name) || !add_unknown(r, m, rules))
			problem_at(r, is_described(m->name) ? POLICY_NOTE : POLICY_WARNING,
				"LAUNCH_DESCRIBES", key_at(r, m), m->name, "",
				"'%s' describes; nothing here enforces it", m->name);
	}
}

void read_launch(struct reading *r)
{
	static const char *const tables[] = { "app", "substrate", "skill" };
	const char *name = "", *dot = strrchr(r->file, '.');
	struct json *rules;

	(void)TAKE_ONLY(r, r->tree, "POLICY_MEMBER", "app", "substrate", "skill", "projection", "evidence");
	for (size_t i = 0; i < ARRAY_SIZE(tables) && !*name; i++)
		name = json_get_text(json_get(r->tree, tables[i]), "id",
			json_get_text(json_get(r->tree, tables[i]), "publisher", ""));
	if (!*name)
		name = dot && dot > r->file ? arena_strndup(r->a, r->file, (size_t)(dot - r->file)) : r->file;
	make_document(r, name, "", "open");
	rules = make_layer(r, "P0", 0);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		const struct json *table = json_get(r->tree, tables[i]);
		if (!table ||
			!take_object(r, table, arena_printf(r->a, "'[%s]'", tables[i]), "LAUNCH_POLICY"))
			continue;
		add_switches(r, table, rules);
		add_words(r, table, tables[i], rules);
		add_rest(r, table, rules);
	}
}

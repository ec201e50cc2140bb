/* quality.c — contracts and texts of skills that are valid and say too little, or something else than each other. */
#include "base/embed.h"
#include "base/file.h"
#include "base/text.h"
#include "remember/skill.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TEXT = 1 << 20, MOST_HINTS = 12, SHORTEST_HINT = 3 };

/* ---- sentences of templates ---- */

static struct bytes line_of(struct bytes *rest)
{
	const uint8_t *end = memchr(rest->p, '\n', rest->n);
	size_t n = end ? (size_t)(end - rest->p) : rest->n;
	struct bytes line = { rest->p, n };

	n += end != NULL;
	*rest = (struct bytes){ rest->p + n, rest->n - n };
	while (line.n && strchr(" \t\r", line.p[line.n - 1]))
		line.n--;
	return line;
}

static bool has_line(const char *text, struct bytes wanted)
{
	for (struct bytes rest = bytes_of(text); rest.n;)
		if (bytes_eq(line_of(&rest), wanted))
			return true;
	return false;
}

/* Headings, front matter and lines with a name to be filled in are no sentences. */
static void find_lines(struct arena *a, const char *text, struct bytes template, struct json *hits)
{
	bool is_front = template.n > 3 && memcmp(template.p, "---", 3) == 0;
	size_t fences = 0;

	while (template.n) {
		struct bytes line = line_of(&template);
		if (is_front && fences < 2) {
			fences += bytes_is(line, "---");
			continue;
		}
		if (!line.n || line.p[0] == '#' || memmem(line.p, line.n, "__", 2))
			continue;
		if (has_line(text, line))
			json_push(a, hits, json_stringn(a, (const char *)line.p, line.n));
	}
}

struct json *skill_placeholders(struct arena *a, const char *text)
{
	static const char *const files[] = { "share/workspace/references/skill-capture-template.md",
		"share/skill-placeholders.txt" };
	struct json *hits = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct bytes template;
		if (embed_find(files[i], &template))
			find_lines(a, text, template, hits);
	}
	return hits;
}

/* ---- one skill ---- */

struct audit {
	struct arena *a;
	const struct json *contract, *profiles;
	const char *text; /* of SKILL.md, folded; NULL: there is none */
	struct json *warnings;
};

__attribute__((format(printf, 2, 3))) static void warn(struct audit *x, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_pushs(x->a, x->warnings, text);
}

static bool allows(const struct audit *x, const char *profile)
{
	json_each (one, json_get(x->profiles, "allowed_profiles"))
		if (json_text(one) && text_eq(json_text(one), profile))
			return true;
	return false;
}

static bool says_one(const struct audit *x, const char *const *words)
{
	for (; *words; words++)
		if (strstr(x->text, *words))
			return true;
	return false;
}

static bool is_required(const struct audit *x, const char *section)
{
	return json_get_bool(json_get(x->contract, section), "required", false);
}

static void audit_profiles(struct audit *x)
{
	static const char *const all[] = { "inspect_local", "workspace_edit", "risky_edit", "service_ops",
		"remote_handoff" };
	const char *chosen = json_get_text(x->profiles, "default_profile", "");
	bool has_runner = json_get_text(json_get(x->contract, "runner"), "entrypoint", "")[0];
	const struct json *keywords = json_get(x->contract, "approval_keywords");
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		n += allows(x, all[i]);
	if (n == ARRAY_SIZE(all))
		warn(x, "allowed_profiles has every profile: name those that it needs");
	if (text_eq(chosen, "inspect_local") && !has_runner &&
		(allows(x, "workspace_edit") || allows(x, "risky_edit")))
		warn(x, "default_profile is inspect_local although profiles that edit are allowed, and there is no runner");
	if (allows(x, "remote_handoff") && (!keywords || !keywords->n))
		warn(x, "remote_handoff is allowed without approval_keywords");
	if (allows(x, "risky_edit") && !has_runner)
		warn(x, "risky_edit is allowed without a runner");
}

static void audit_sections(struct audit *x)
{
	const struct json *context = json_get(x->contract, "context"),
			  *route = json_get(x->contract, "route_decision"),
			  *rules = json_get(route, "tool_rules"),
			  *downgrade = json_get(x->contract, "failure_downgrade"),
			  *steps = json_get(downgrade, "steps");

	if (is_required(x, "context") && !json_get_text(context, "query", "")[0])
		warn(x, "context is required and asks for nothing in particular");
	if (is_required(x, "route_decision") && (!rules || !rules->n))
		warn(x, "route_decision is required without tool_rules");
	if (json_get(x->contract, "result_contract") && !is_required(x, "result_contract"))
		warn(x, "result_contract is not required");
	if (downgrade && (!steps || !steps->n))
		warn(x, "failure_downgrade has no steps");
}

static void audit_hints(struct audit *x, const char *section)
{
	static const char *const vague[] = { "web", "site", "task", "request", "work" };
	const struct json *hints = json_get(json_get(x->contract, section), "when_any");
	struct json *seen = json_new(x->a, JSON_OBJECT);

	if (!hints || !hints->n)
		return;
	if (is_required(x, section))
		warn(x, "%s.when_any says nothing beside required", section);
	if (hints->n > MOST_HINTS)
		warn(x, "%s.when_any has more than %d hints", section, MOST_HINTS);
	json_each (hint, hints) {
		const char *word = json_text(hint);
		if (!word)
			continue;
		if (json_get(seen, word))
			warn(x, "%s.when_any has '%.60s' twice", section, word);
		json_setb(x->a, seen, word, true);
		if (strlen(word) < SHORTEST_HINT)
			warn(x, "%s.when_any: '%.60s' is too short", section, word);
		for (size_t i = 0; i < ARRAY_SIZE(vague); i++)
			if (text_eq(word, vague[i]))
				warn(x, "%s.when_any: '%s' fits nearly everything", section, word);
	}
}

static void audit_text(struct audit *x, bool has_scripts)
{
	static const struct {
		const char *heading;
		const char *phrases[4];
	} wanted[] = {
		{ "## core rule", { NULL } },
		{ "## input contract", { "ask first when missing", NULL } },
		{ "## decision contract", { "red flags", NULL } },
		{ "## output contract", { "default output format", "always include", NULL } },
		{ "## failure contract",
			{ "failure types", "fallback behavior", "user-facing failure language", NULL } },
	};
	static const char *const context[] = { "## context contract", "prior context", "saved context",
		"hydrate", "hydration", "recent failures", NULL };
	static const char *const handoff[] = { "approval", "ask for user confirmation", "hitl",
		"human-in-the-loop", "handoff", "account-bound", "remote_handoff", NULL };
	static const char *const approval[] = { "approval", "ask for user confirmation", "hitl", NULL };
	static const char *const execution[] = { "## execution contract", "## tool routing contract",
		"## execution profiles", "commands:", "```bash", "tools", "apis", "scripts", NULL };
	static const char *const runner[] = { "strict runner", "guarded runner", "runner example",
		"strict harness", "entrypoint", NULL };
	static const char *const intake[] = { "file intake", "attachment", "uploaded file", "claimed_type",
		"detected_type", "route_decision", NULL };
	const struct json *keywords = json_get(x->contract, "approval_keywords"),
			  *run = json_get(x->contract, "runner");

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (!strstr(x->text, wanted[i].heading))
			warn(x, "SKILL.md lacks '%s'", wanted[i].heading);
		for (const char *const *p = wanted[i].phrases; *p; p++)
			if (!strstr(x->text, *p))
				warn(x, "SKILL.md does not say '%s'", *p);
	}
	const struct {
		bool holds;
		const char *const *words;
		const char *what;
	} rules[] = {
		{ is_required(x, "context"), context, "context is required" },
		{ allows(x, "remote_handoff"), handoff, "work may be handed to another place" },
		{ keywords && keywords->n, approval, "some requests need an approval" },
		{ allows(x, "workspace_edit") || allows(x, "risky_edit") || allows(x, "service_ops"),
			execution, "it changes something" },
		{ json_get_bool(run, "strict_required", false), runner, "only its runner may start it" },
		{ is_required(x, "file_intake"), intake, "files are taken in" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].holds && !says_one(x, rules[i].words))
			warn(x, "the contract says that %s, and SKILL.md does not explain it", rules[i].what);
	if (has_scripts && !json_get_text(run, "entrypoint", "")[0])
		warn(x, "there are scripts and no runner");
}

/* ---- all of them ---- */

static bool has_scripts(const struct contract_place *at, const char *dir)
{
	char **names;
	size_t n = 0, count = 0;

	if (file_list(at->sys, at->a, at->root_fd, arena_printf(at->a, "%s/scripts", dir), &names, &n, NULL))
		return false;
	for (size_t i = 0; i < n; i++)
		count += !text_eq(names[i], "README.md");
	return count;
}

static struct json *audit_one(const struct contract_place *at, const struct skill *s)
{
	static const char *const sections[] = { "browser_work", "retrieval_policy", "file_intake",
		"artifact_validation" };
	struct arena *a = at->a;
	struct json *item = json_new(a, JSON_OBJECT), *contract = NULL;
	struct bytes text;
	struct audit x = { .a = a, .warnings = json_new(a, JSON_ARRAY) };

	if (contract_read(at, s->name, &contract, NULL))
		json_pushs(a, x.warnings, "contract.json cannot be read");
	x.contract = contract;
	x.profiles = contract_profiles(at, s->name, contract);
	audit_profiles(&x);
	audit_sections(&x);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		audit_hints(&x, sections[i]);
	if (!s->has_text) {
		warn(&x, "there is a contract and no SKILL.md");
	} else if (file_read(at->sys, a, at->root_fd, arena_printf(a, "%s/SKILL.md", s->dir), MAX_TEXT,
			   FILE_BENEATH, &text, NULL) == OK) {
		size_t n;
		json_each (line, skill_placeholders(a, (const char *)text.p))
			warn(&x, "SKILL.md still has a line of the template: %.120s", json_text(line));
		const char *clean = text_utf8(a, (const char *)text.p, text.n, "?", &n);
		x.text = text_fold(a, clean, n);
		audit_text(&x, has_scripts(at, s->dir));
	}
	json_sets(a, item, "skill", s->name);
	json_set(a, item, "allowed_profiles", json_get(x.profiles, "allowed_profiles"));
	json_set(a, item, "default_profile", json_get(x.profiles, "default_profile"));
	json_set(a, item, "warnings", x.warnings);
	return item;
}

int skill_quality(const struct contract_place *at, struct json **ret, struct err *e)
{
	struct arena *a = at->a;
	struct json *doc = json_new(a, JSON_OBJECT), *items = json_new(a, JSON_ARRAY);
	struct skill *list;
	size_t n, count = 0;
	int rc = skill_list(at, skill_rooms, &list, &n, e);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++) {
		if (!list[i].has_contract)
			continue;
		count++;
		struct json *item = audit_one(at, &list[i]);
		if (json_get(item, "warnings")->n)
			json_push(a, items, item);
	}
	json_seti(a, doc, "manifest_count", (int64_t)count);
	json_seti(a, doc, "flagged_count", items->n);
	json_set(a, doc, "items", items);
	json_setb(a, doc, "ok", items->n == 0);
	*ret = doc;
	return OK;
}

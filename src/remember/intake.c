/* intake.c — the words by which skills from outside are sorted. */
#include "remember/intake.h"

#include "base/text.h"
#include "remember/memory.h"

#include <string.h>

static const char *const offensive[] = { "phishing", "credential theft", "collect credentials",
	"exploit execution", "malware", "persistence", "evasion", "stealth", "bypass authorization",
	"privilege escalation", NULL };
static const char *const documentation[] = { "documentation", NULL };
static const char *const checklist[] = { "checklist", NULL };
static const char *const defensive[] = { "mcp", "tool poisoning", "prompt injection", "permission review",
	"untrusted content", "audit", NULL };
static const char *const operational[] = { "incident response", "log review", "threat hunting",
	"dependency security", "suspicious command", NULL };
static const char *const high_impact[] = { "cloud", "production", "credential store", "delete", "rotate",
	"revoke", NULL };

static const char *first_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (memory_has_word(text, *words))
			return *words;
	return NULL;
}

static struct json *answer(struct arena *a, const char *name, const char *class, const char *action,
	const char *why, const char *word, const char *impact)
{
	struct json *doc = json_new(a, JSON_OBJECT), *matched = json_new(a, JSON_ARRAY);

	if (word)
		json_pushs(a, matched, word);
	if (impact)
		json_pushs(a, matched, impact);
	json_sets(a, doc, "default_action", action);
	json_set(a, doc, "matched", matched);
	json_sets(a, doc, "name", name);
	json_sets(a, doc, "rationale", why);
	json_sets(a, doc, "risk_class", class);
	return doc;
}

struct json *intake_classify(struct arena *a, const char *name, const char *description)
{
	size_t n;
	const char *whole = arena_printf(a, "%s %s", name, description ? description : ""),
		   *clean = text_utf8(a, whole, strlen(whole), "?", &n), *text = text_fold(a, clean, n);
	const char *impact = first_of(text, high_impact), *word;

	if ((word = first_of(text, offensive)))
		return answer(a, name, "X", "reject", "it is about attacking", word, NULL);
	if ((word = first_of(text, documentation)))
		return impact
			? answer(a, name, "D3", "quarantine",
				  "documentation that is about changing something that matters", word, impact)
			: answer(a, name, "D0", "keep_reference", "it is text to be read", word, NULL);
	if (!impact && (word = first_of(text, checklist)))
		return answer(a, name, "D0", "keep_reference", "it is text to be read", word, NULL);
	if ((word = first_of(text, defensive)))
		return impact ? answer(a, name, "D3", "quarantine",
					"a review that can change something that matters", word, impact)
			      : answer(a, name, "D1", "draft", "it reviews, and changes nothing", word, NULL);
	if ((word = first_of(text, operational)))
		return impact ? answer(a, name, "D3", "quarantine", "operations on something that matters",
					word, impact)
			      : answer(a, name, "D2", "draft_with_contract", "operations, within a contract",
					word, NULL);
	return answer(a, name, "X", "quarantine", "nothing says what it is for", NULL, impact);
}

struct json *intake_validate(struct arena *a, const char *name, const char *risk_class, const char *action)
{
	static const struct {
		const char *class, *action;
	} fits[] = { { "D0", "keep_reference" }, { "D1", "draft" }, { "D2", "draft_with_contract" },
		{ "D3", "quarantine" }, { "X", "reject" }, { "X", "quarantine" } };
	struct json *doc = json_new(a, JSON_OBJECT), *issues = json_new(a, JSON_ARRAY),
		    *warnings = json_new(a, JSON_ARRAY);
	bool is_class = false, is_fit = false;

	for (size_t i = 0; i < ARRAY_SIZE(fits); i++) {
		is_class |= text_eq(fits[i].class, risk_class);
		is_fit |= text_eq(fits[i].class, risk_class) && text_eq(fits[i].action, action);
	}
	if (!name[strspn(name, " \t")])
		json_pushs(a, issues, "name is empty");
	if (!is_class)
		json_pushs(a, issues, "risk_class must be one of D0, D1, D2, D3, X");
	if (!action[strspn(action, " \t")])
		json_pushs(a, issues, "default_action is empty");
	else if (is_class && !is_fit)
		json_pushs(a, warnings,
			arena_printf(a, "'%s' is not what is usual for class %s", action, risk_class));
	json_set(a, doc, "issues", issues);
	json_setb(a, doc, "ok", issues->n == 0);
	json_set(a, doc, "warnings", warnings);
	return doc;
}

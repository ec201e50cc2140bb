/* file.c — reads a workspace's guard_policy.json.
 *
 * The rules of this format look at text: substrings, pipe patterns, regular expressions; a rule of type
 * "effect" looks at effects like a shipped rule. Many files began as a copy of the shipped defaults.
 * Such a copy says nothing new, and its substrings would stop `grep 'rm -rf' notes`, although built-in
 * rules of the same ids already judge the same things by meaning. So a pattern that stands in the
 * shipped file under the same id is left out, and what a person added is kept.
 *
 * The file lies in the workspace, where the agent may be able to write. Therefore it can only make the
 * guard stricter. The one exception is `override`, and that works only for rules that ask and only when
 * a person has accepted this very file. Any mistake fails the whole file; policy.c then asks about
 * everything. */
#include "decide/policy/policy.h"

#include "base/embed.h"
#include "base/text.h"

#include <string.h>

enum { MAX_RULES = 60000 };

static int bad(struct err *e, const struct policy_source *from, const char *where, const char *why)
{
	return err_set(e, E_INPUT, "GUARD_POLICY", "%s: %s: %s", from->file_name, where, why);
}

/* The defaults as they ship, to recognise copies of them. They are part of the program, so a failure is
 * a bug. */
static const struct json *shipped_policy(struct arena *a)
{
	struct bytes text;
	struct json *doc;
	struct err e;

	if (!embed_find("share/guard_policy.json", &text) ||
		json_parse(a, text, "guard_policy.json", NULL, &doc, &e))
		BUG("share/guard_policy.json is missing or not JSON");
	return doc;
}

/* Is this pattern one that ships under this id in this list? */
static bool is_shipped(const struct json *list, const char *id, const char *pattern)
{
	json_each (rule, list) {
		if (!text_eq(json_get_text(rule, "id", ""), id))
			continue;
		json_each (p, json_get(rule, "patterns"))
			if (text_eq(json_text(p), pattern))
				return true;
	}
	return false;
}

struct file_reader {
	struct arena *a;
	struct policy *policy;
	const struct policy_source *from;
	const struct json *shipped_list; /* the list of the same name in the shipped file */
	enum rule_effect action;
	struct rule_layer_maker made;
	struct err *e;
};

/* Adds a rule about text. The rule does not count when all its patterns are copies of shipped ones. */
static int add_text_rule(struct file_reader *r, const struct json *doc, const char *id, bool is_regex)
{
	const struct json *patterns = json_get(doc, "patterns");
	struct text_rule *t = &r->policy->text_rules[r->policy->text_rule_count];
	size_t substrings = 0, regexes = 0;

	if (!json_is(patterns, JSON_ARRAY))
		return bad(r->e, r->from, id, "'patterns' must be a list");
	*t = (struct text_rule){ .id = id,
		.text = json_get_text(doc, "description", id),
		.recommended_profile = json_get_text(doc, "recommended_profile", NULL),
		.action = r->action,
		.origin = r->from->file_name,
		.document = doc,
		.substrings = arena_zalloc(r->a, patterns->n + 1, sizeof(char *)),
		.patterns = arena_zalloc(r->a, patterns->n + 1, sizeof(struct pattern *)) };
	json_each (item, patterns) {
		const char *text = json_text(item);
		struct pattern *p;
		if (!text || !*text)
			return bad(r->e, r->from, id, "a pattern must be a text and not empty");
		if (is_shipped(r->shipped_list, id, text))
			continue;
		if (!is_regex) {
			t->substrings[substrings++] = text;
			continue;
		}
		if (pattern_compile(r->a, text, strlen(text), PATTERN_CASELESS, &p, r->e))
			return err_wrap(r->e, "%s: %s", r->from->file_name, id);
		t->patterns[regexes++] = p;
	}
	if (substrings + regexes > 0)
		r->policy->text_rule_count++;
	return OK;
}

/* A rule in a list is at least as strict as the list is named: "warn" in absolute_deny still denies. */
static int add_effect_rule(struct file_reader *r, const struct json *doc)
{
	if (r->made.n >= MAX_RULES)
		return bad(r->e, r->from, json_get_text(doc, "id", ""), "too many rules");
	return rule_layer_add(&r->made, doc, r->action, r->e);
}

/* An unknown type is an error: to skip the rule would leave the author believing that it holds. */
static int add_rule(struct file_reader *r, const struct json *doc)
{
	const char *id = json_get_text(doc, "id", NULL), *type = json_get_text(doc, "type", "substring");

	if (!json_is(doc, JSON_OBJECT) || !id || !*id)
		return bad(r->e, r->from, "rule", "must be an object with an 'id'");
	if (text_eq(type, "effect"))
		return add_effect_rule(r, doc);
	if (!text_eq(type, "substring") && !text_eq(type, "regex"))
		return bad(r->e, r->from, id, "'type' must be substring, regex or effect");
	return add_text_rule(r, doc, id, text_eq(type, "regex"));
}

static int add_list(struct file_reader *r, const struct json *doc, const struct json *shipped,
	const char *name, enum rule_effect action)
{
	const struct json *list = json_get(doc, name);
	int rc;

	if (!list)
		return OK;
	if (!json_is(list, JSON_ARRAY))
		return bad(r->e, r->from, name, "must be a list");
	r->action = action;
	r->shipped_list = json_get(shipped, name);
	json_each (item, list)
		if ((rc = add_rule(r, item)))
			return rc;
	return OK;
}

/* Reads an action that a profile is to be raised to; left out or null: none. */
static int read_raise(struct file_reader *r, const struct json *doc, const char *profile, const char *name,
	enum rule_effect *ret)
{
	const struct json *v = json_get(doc, name);

	if (!v || json_is(v, JSON_NULL))
		return OK;
	if (!json_text(v) || !action_parse(json_text(v), ret))
		return bad(r->e, r->from, arena_printf(r->a, "profile_rules.%s.%s", profile, name),
			"must be allow, warn, require_approval or deny");
	return OK;
}

/* Reads a right as true or false, nothing else. The text "false" would otherwise take nothing away, and
 * nobody would notice. `strict` is the value that makes the profile stricter. */
static int read_right(struct file_reader *r, const struct json *doc, const char *profile, const char *name,
	bool strict, bool *ret)
{
	const struct json *v = json_get(doc, name);

	if (v && !json_is_bool(v))
		return bad(r->e, r->from, arena_printf(r->a, "profile_rules.%s.%s", profile, name),
			"must be true or false");
	*ret = json_is(v, strict ? JSON_TRUE : JSON_FALSE);
	return OK;
}

/* Rights can only be taken away here: true says nothing, the profile decides. */
static int add_profile_rule(struct file_reader *r, const char *profile, const struct json *doc)
{
	struct profile_rule *p = &r->policy->profile_rules[r->policy->profile_rule_count];
	int rc;

	if (!json_is(doc, JSON_OBJECT))
		return bad(r->e, r->from, "profile_rules", "must hold objects");
	*p = (struct profile_rule){ .profile = profile };
	if ((rc = read_right(r, doc, profile, "writes_allowed", false, &p->denies_writes)) ||
		(rc = read_right(r, doc, profile, "network_allowed", false, &p->denies_network)) ||
		(rc = read_right(r, doc, profile, "handoff_required", true, &p->wants_handoff)) ||
		(rc = read_raise(r, doc, profile, "on_write", &p->on_write)) ||
		(rc = read_raise(r, doc, profile, "on_network", &p->on_network)) ||
		(rc = read_raise(r, doc, profile, "on_destructive", &p->on_destructive)) ||
		(rc = read_raise(r, doc, profile, "on_execute", &p->on_execute)))
		return rc;
	r->policy->profile_rule_count++;
	return OK;
}

static int add_profile_rules(struct file_reader *r, const struct json *doc)
{
	const struct json *rules = json_get(doc, "profile_rules");
	int rc;

	if (!rules)
		return OK;
	if (!json_is(rules, JSON_OBJECT))
		return bad(r->e, r->from, "profile_rules", "must be an object");
	r->policy->profile_rules = arena_zalloc(r->a, rules->n + 1, sizeof(*r->policy->profile_rules));
	json_each_member (m, rules)
		if ((rc = add_profile_rule(r, m->name, m->value)))
			return rc;
	return OK;
}

/* {"rule id": "warn"} changes the action of a rule. A rule that denies cannot be lowered, with or
 * without acceptance. */
static int check_override(struct file_reader *r, const struct json *override)
{
	const struct policy *p = r->policy;
	const struct rule_layer *l;
	const struct rule *rule;

	if (override && !json_is(override, JSON_OBJECT))
		return bad(r->e, r->from, "override", "must be an object of rule ids and actions");
	json_each_member (m, override) {
		enum rule_effect action;
		if (!json_text(m->value) || !action_parse(json_text(m->value), &action))
			return bad(r->e, r->from, m->name, "must name an action");
		for (size_t i = 0; (rule = policy_rule_at(p, i, &l)); i++)
			if (text_eq(rule_layer_text(l, rule->id), m->name) && rule->action == ACTION_DENY &&
				action < ACTION_DENY)
				return bad(r->e, r->from, m->name, "a rule that denies cannot be lowered");
	}
	return OK;
}

/* Runs only after the whole file was found to be right, so that a file with a mistake leaves every
 * shipped rule as it is. Raising a rule needs nobody's acceptance; lowering one without it is noted, so
 * that the person can be told. */
static void apply_override(struct policy *p, const struct json *override, bool is_accepted)
{
	json_each_member (m, override) {
		enum rule_effect action = ACTION_DENY;
		const struct rule_layer *l;
		const struct rule *rule;
		action_parse(json_text(m->value), &action);
		for (size_t i = 0; (rule = policy_rule_at(p, i, &l)); i++) {
			if (!text_eq(rule_layer_text(l, rule->id), m->name))
				continue;
			if (is_accepted || action > rule->action)
				policy_set_action(p, i, action);
			else if (action < rule->action)
				p->has_unaccepted_override = true;
		}
	}
}

static int read_settings(struct file_reader *r, const struct json *doc)
{
	const struct json *mode = json_get(doc, "default_guard_mode"),
			  *off = json_get(doc, "allow_guard_off");
	int64_t version;

	if (!json_int(json_get(doc, "version"), &version) || version != 1)
		return bad(r->e, r->from, "version", "must be 1");
	if (mode && (!json_text(mode) || !guard_mode_parse(json_text(mode), &r->policy->default_mode)))
		return bad(r->e, r->from, "default_guard_mode", "must be enforce, audit or off");
	if (off && !json_is_bool(off))
		return bad(r->e, r->from, "allow_guard_off", "must be true or false");
	r->policy->permits_off = !json_is(off, JSON_FALSE);
	return OK;
}

static struct rule_layer layer_made(const struct rule_layer_maker *m)
{
	return (struct rule_layer){ .name = "workspace",
		.origin = m->name,
		.file = m->name,
		.rules = m->rules,
		.own = m->rules,
		.n = m->n,
		.data = when_made(&m->when) };
}

/* Overrides come last: they may name rules that the file itself adds. */
int policy_file_add(struct arena *a, struct policy *p, const struct policy_source *from, struct err *e)
{
	struct file_reader r = { .a = a, .policy = p, .from = from, .e = e };
	const struct json *shipped, *deny, *ask;
	struct json *doc;
	int rc = json_parse(a, from->file, from->file_name, NULL, &doc, e);

	if (rc)
		return rc;
	if (!json_is(doc, JSON_OBJECT))
		return bad(e, from, "document", "must be an object");
	shipped = shipped_policy(a);
	deny = json_get(doc, "absolute_deny");
	ask = json_get(doc, "require_approval");
	p->text_rules = arena_zalloc(a,
		(json_is(deny, JSON_ARRAY) ? deny->n : 0) + (json_is(ask, JSON_ARRAY) ? ask->n : 0) + 1,
		sizeof(*p->text_rules));
	rule_layer_begin(&r.made, a, from->file_name, from->file);
	if ((rc = read_settings(&r, doc)) ||
		(rc = add_list(&r, doc, shipped, "absolute_deny", ACTION_DENY)) ||
		(rc = add_list(&r, doc, shipped, "require_approval", ACTION_ASK)) ||
		(rc = add_profile_rules(&r, doc)))
		return rc;
	p->layers[LAYER_FILE] = layer_made(&r.made);
	if ((rc = check_override(&r, json_get(doc, "override"))))
		return rc;
	apply_override(p, json_get(doc, "override"), from->override_accepted);
	return OK;
}

/* Looks for a word in one piece of a pipeline, without case. An empty word stands for anything;
 * only_first looks at the program's place only. */
static bool has_word(const char *piece, size_t n, const char *word, size_t word_n, bool only_first)
{
	size_t i = 0;

	if (word_n == 0)
		return true;
	while (i < n) {
		size_t start;
		while (i < n && strchr(" \t\r\n", piece[i]))
			i++;
		start = i;
		while (i < n && !strchr(" \t\r\n", piece[i]))
			i++;
		if (i - start == word_n && strncasecmp(piece + start, word, word_n) == 0)
			return true;
		if (only_first)
			return false;
	}
	return false;
}

/* A pattern like "curl|sh" holds when curl is any word of one piece of a pipeline and sh the first word
 * of the next one. A side that is left out, as in "|sh", stands for anything. */
static bool pipe_pattern_holds(const char *pattern, const char *text)
{
	const char *bar = strchr(pattern, '|'), *left = pattern, *right, *next;
	size_t left_n, right_n;

	if (!bar)
		return false;
	while (*left == ' ')
		left++;
	for (left_n = (size_t)(bar - left); left_n && left[left_n - 1] == ' ';)
		left_n--;
	for (right = bar + 1; *right == ' ';)
		right++;
	for (right_n = strlen(right); right_n && right[right_n - 1] == ' ';)
		right_n--;
	for (; (next = strchr(text, '|')); text = next + 1)
		if (has_word(text, (size_t)(next - text), left, left_n, false) &&
			has_word(next + 1, strcspn(next + 1, "|"), right, right_n, true))
			return true;
	return false;
}

/* A regular expression that runs out of its budget gives an answer that is not 0, and so counts as a
 * match. */
static bool text_holds(const struct text_rule *r, const char *text)
{
	if (!text)
		return false;
	for (const char **s = r->substrings; *s; s++)
		if (strcasestr(text, *s) || pipe_pattern_holds(*s, text))
			return true;
	for (const struct pattern **p = r->patterns; *p; p++)
		if (pattern_search(*p, text, strlen(text), 0, NULL, NULL) != 0)
			return true;
	return false;
}

/* Looks at the command as it was given, at the text inside a shell wrapper, and at every step after
 * expansion, so that quoting or a wrapper does not hide a text. Sources are borrowed bytes without a
 * NUL; they are copied for that. */
bool policy_text_holds(const struct text_rule *r, const struct proposal *p, struct arena *a)
{
	if (text_holds(r, p->normalized_command) || text_holds(r, p->shell_inner_command))
		return true;
	if (p->source && text_holds(r, arena_strndup(a, p->source->text, p->source->n)))
		return true;
	for (size_t i = 0; i < p->step_count; i++)
		if (text_holds(r, p->steps[i].text))
			return true;
	return false;
}

/* rules.c — rule objects of a file become a layer: the shipped file when Helm is built, a workspace's when it is opened.
 *
 * What a rule means when it holds is read here; its condition is read by when.c, as those of policy documents are. */
#include "decide/policy/policy.h"

#include "base/text.h"

struct reader {
	struct rule_layer_maker *to;
	const char *where; /* "file: rule 'id'", for messages */
	struct err *e;
};

static int bad(const struct reader *r, const char *what, const char *word)
{
	return err_set(r->e, E_INPUT, "GUARD_RULE", "%s: %s '%s'", r->where, what, word);
}

void rule_layer_begin(struct rule_layer_maker *m, struct arena *a, const char *name, struct bytes file)
{
	*m = (struct rule_layer_maker){ .name = name, .file = file, .line = 1 };
	when_begin(&m->when, a);
}

/* Rules are mostly read in the order of the file, so lines are counted from the last one on. */
static uint32_t line_of(struct rule_layer_maker *m, uint32_t at)
{
	if (at < m->at) {
		m->at = 0;
		m->line = 1;
	}
	for (; m->at < at && m->at < m->file.n; m->at++)
		m->line += m->file.p[m->at] == '\n';
	return m->line;
}

/* Without a reason in the file, a rule that denies has the general reason for a denial, and any other
 * that for an approval. */
static int read_reason(const struct reader *r, const struct json *doc, struct rule *rule)
{
	const char *code = json_get_text(doc, "reason", NULL);
	const struct reason *found;

	rule->reason = rule->action == ACTION_DENY ? REASON_absolute_deny : REASON_approval_rules;
	if (!code)
		return OK;
	found = reason_find(code);
	if (!found)
		return bad(r, "no such reason code:", code);
	rule->reason = (uint16_t)(found - reason_get((enum reason_code)0));
	return OK;
}

/* Only a checkpoint can undo. An unknown word is refused, because `undo` makes a rule milder in use. */
static int read_undo(const struct reader *r, const struct json *doc, struct rule *rule)
{
	const struct json *v = json_get(doc, "undo");

	if (!v)
		return OK;
	if (json_text(v) && text_eq(json_text(v), "checkpoint"))
		rule->undo = UNDO_CHECKPOINT;
	else if (json_text(v) && text_eq(json_text(v), "tree"))
		rule->undo = UNDO_TREE;
	else
		return bad(r, "can only be 'checkpoint' or 'tree':", "undo");
	return OK;
}

static int read_when(const struct reader *r, const struct json *doc, struct rule *rule)
{
	const struct json *when = json_get(doc, "when");
	const struct when_reader to = {
		.to = &r->to->when, .where = r->where, .code = "GUARD_RULE", .e = r->e
	};
	struct buf text;

	if (!json_is(when, JSON_OBJECT))
		return bad(r, "must have an object:", "when");
	if (when_read(&to, when, &rule->when))
		return r->e->rc;
	buf_init(&text, r->to->when.a);
	json_write(&text, when, 0);
	rule->when_text = when_text(&r->to->when, text.p);
	return OK;
}

/* Older files say "description" where newer ones say "text"; without either, the id must do. */
static void read_texts(struct when_maker *m, const struct json *doc, struct rule *rule)
{
	const char *id = json_get_text(doc, "id", ""), *text = json_get_text(doc, "text", NULL);
	const char *profile = json_get_text(doc, "profile", json_get_text(doc, "recommended_profile", NULL));

	rule->id = when_text(m, id);
	rule->text = when_text(m, text ? text : json_get_text(doc, "description", id));
	rule->instead = when_text(m, json_get_text(doc, "instead", NULL));
	rule->recommended_profile = when_text(m, profile);
}

static void put_rule(struct rule_layer_maker *m, const struct rule *rule)
{
	if (m->n == m->room) {
		uint32_t room = m->room ? 2 * m->room : 16;
		m->rules = arena_grow(
			m->when.a, m->rules, m->room * sizeof(*m->rules), room * sizeof(*m->rules));
		m->room = room;
	}
	m->rules[m->n++] = *rule;
}

int rule_layer_add(struct rule_layer_maker *m, const struct json *doc, enum rule_effect least, struct err *e)
{
	const char *id = json_get_text(doc, "id", ""),
		   *word = json_get_text(doc, "action", "require_approval");
	const struct reader r = {
		.to = m, .where = arena_printf(m->when.a, "%s: rule '%s'", m->name, id), .e = e
	};
	struct rule rule = { .line = line_of(m, doc->at) };
	enum rule_effect action;

	if (!action_parse(word, &action))
		return bad(&r, "no such action:", word);
	rule.action = (uint8_t)action;
	rule.is_destructive = json_get_bool(doc, "destructive", false);
	if (read_undo(&r, doc, &rule) || read_when(&r, doc, &rule) || read_reason(&r, doc, &rule))
		return e->rc;
	if (action < least)
		rule.action = (uint8_t)least;
	read_texts(&m->when, doc, &rule);
	put_rule(m, &rule);
	return OK;
}

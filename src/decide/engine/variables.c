/* variables.c — what conditions see of a question: fields by name, and all of it as one JSON object for expressions.
 *
 * Under `input` stand the caller's own words, under `facts` what is known; nothing the caller says can come to stand under `facts`.  The
 * object is made when the first expression needs it: most conditions read a field or two where they lie. */
#include "decide/engine/parts.h"

#include <string.h>

static const char *const root_names[] = { "params", "context", "facts", "effect", "input" };

/* The names of `input` that have no members of their own; the others are reached through their own roots. */
static const char *const input_names[] = { "action", "principal", "tool", "session", "taint", "timestamp",
	"artifacts", "threat_scan", "effects", "effect" };

/* What is known without "input." in front as well. */
static const char *const short_names[] = { "action", "tool", "principal", "session", "params", "context" };

static bool is_one_of(const char *const *names, size_t n, struct table_key k)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(names[i]) == k.n && memcmp(names[i], k.p, k.n) == 0)
			return true;
	return false;
}

static bool key_is(struct table_key k, const char *name)
{
	return strlen(name) == k.n && memcmp(name, k.p, k.n) == 0;
}

static int bad_field(struct err *e, const char *where, const char *text)
{
	return err_set(e, E_INPUT, "POLICY_RULE",
		"%s: field '%s' is not known; write params.NAME, context.NAME, facts.NAME, action, principal, tool, "
		"session or taint, or effect.NAME in a rule with \"effects\"",
		where, text);
}

/* What effect_object() makes; any other name would never be there. */
static int check_effect_field(struct table_key k, const char *where, struct err *e)
{
	enum when_field f;

	if (when_field_parse(k.p, k.n, &f) || key_is(k, "tags"))
		return OK;
	return err_set(e, E_INPUT, "POLICY_RULE",
		"%s: an effect has no field '%.*s'; docs/formats/guard-rules.md lists its conditions", where,
		(int)k.n, k.p);
}

/* Drop the first k names. */
static void drop(struct field *f, unsigned k)
{
	f->names += k;
	f->name_n = (uint8_t)(f->name_n - k);
	f->head = head_of(f->names[0].p, f->names[0].n);
}

static int cut_names(struct arena *a, const char *text, const char *where, struct field *ret, struct err *e)
{
	struct table_key *names = arena_alloc(a, FIELD_NAMES * sizeof(*names));
	size_t n = 0;

	for (const char *p = text;; p++) {
		size_t len = strcspn(p, ".");
		if (len == 0 || n == FIELD_NAMES)
			return bad_field(e, where, text);
		names[n++] = (struct table_key){ p, (uint32_t)len };
		p += len;
		if (!*p)
			break;
	}
	*ret = (struct field){
		.name_n = (uint8_t)n, .head = head_of(names[0].p, names[0].n), .names = names
	};
	return OK;
}

static int read_field(struct arena *a, const char *text, const char *where, bool has_effects,
	struct field *ret, struct err *e)
{
	struct field f = { 0 };

	if (cut_names(a, text, where, &f, e))
		return e->rc;
	if (f.name_n > 1 && key_is(f.names[0], "input"))
		drop(&f, 1);
	if (f.name_n > 1 && key_is(f.names[0], "effect") && key_is(f.names[1], "params"))
		drop(&f, 1);
	for (unsigned i = 0; i < ROOT_INPUT; i++)
		if (key_is(f.names[0], root_names[i]) && f.name_n > 1 && (i != ROOT_EFFECT || has_effects)) {
			f.root = (uint8_t)i;
			drop(&f, 1);
			if (i == ROOT_EFFECT && check_effect_field(f.names[0], where, e))
				return e->rc;
			*ret = f;
			return OK;
		}
	if (!is_one_of(input_names, ARRAY_SIZE(input_names), f.names[0]) || key_is(f.names[0], "effect"))
		return bad_field(e, where, text);
	f.root = ROOT_INPUT;
	*ret = f;
	return OK;
}

/* Fields are few and named by many rules: each is read once.  "effect.x" means something only in rules about effects, so it is not kept. */
int field_compile(struct arena *a, struct shared *shared, const char *text, const char *where,
	bool has_effects, const struct field **ret, struct err *e)
{
	uint32_t before = shared->names.n, i;
	struct field f, *made;

	if (text_starts(text, "effect.")) {
		if (read_field(a, text, where, has_effects, &f, e))
			return e->rc;
		made = arena_alloc(a, sizeof(*made));
		*made = f;
		*ret = made;
		return OK;
	}
	i = table_find(&shared->names, text, strlen(text));
	if (i == TABLE_NONE) {
		if (read_field(a, text, where, has_effects, &f, e))
			return e->rc;
		if (before == shared->field_room)
			return err_set(e, E_LIMIT, "POLICY_SIZE",
				"%s: the policy reads more than %u different fields", where,
				shared->field_room);
		i = table_add(&shared->names, a, text, strlen(text));
		shared->fields[i] = f;
	}
	*ret = &shared->fields[i];
	return OK;
}

/* ---- the object ---- */

static void set_text(struct arena *a, struct json *o, const char *name, const char *text)
{
	if (text)
		json_sets(a, o, name, text);
}

static void set_value(struct arena *a, struct json *o, const char *name, const struct json *v)
{
	if (v)
		json_set(a, o, name, (struct json *)v); /* read only from here on */
}

/* Every field that a condition about an effect can read, and its tag as a list. */
static struct json *effect_object(struct arena *a, const struct effect *f, const struct when_at *at)
{
	struct json *o = json_new(a, JSON_OBJECT), *tags = json_new(a, JSON_ARRAY);

	for (unsigned i = 0; i < WHEN_FIELD_COUNT; i++)
		set_value(
			a, o, when_field_name((enum when_field)i), when_value(a, (enum when_field)i, f, at));
	if (f->tag)
		json_pushs(a, tags, f->tag);
	json_set(a, o, "tags", tags);
	return o;
}

/* In the order of the command, so that the i-th is about proposal->effects[i]. */
static struct json *effects_list(const struct judging *j)
{
	const struct proposal *p = j->ask->proposal;
	const struct when_at at = effects_place(j);
	struct json *list = json_new(j->a, JSON_ARRAY);

	for (size_t i = 0; p && i < p->effect_count; i++)
		json_push(j->a, list, effect_object(j->a, &p->effects[i], &at));
	return list;
}

static struct json *input_object(struct judging *j)
{
	const struct submission *q = j->ask;
	struct json *in = json_new(j->a, JSON_OBJECT), *effect = json_new(j->a, JSON_OBJECT);
	struct json *none = json_new(j->a, JSON_OBJECT);
	const struct json *taint = j->facts->taint ? j->facts->taint : json_new(j->a, JSON_ARRAY);

	json_sets(j->a, in, "action", q->effect_type);
	json_sets(j->a, effect, "type", q->effect_type);
	json_sets(j->a, effect, "effect_id", q->effect_id);
	set_value(j->a, effect, "params", q->params ? q->params : none);
	set_value(j->a, effect, "taint", taint);
	json_set(j->a, in, "effect", effect);
	set_value(j->a, in, "params", q->params ? q->params : none);
	set_value(j->a, in, "context", json_is(q->context, JSON_OBJECT) ? q->context : none);
	json_sets(j->a, in, "principal", q->principal);
	set_text(j->a, in, "tool", q->tool);
	set_text(j->a, in, "session", j->facts->session);
	set_value(j->a, in, "taint", taint);
	json_seti(j->a, in, "timestamp", j->facts->now_us / 1000000);
	json_set(j->a, in, "effects", effects_list(j));
	/* What is attached or scanned is known by whoever checked it, so it comes from there. */
	set_value(j->a, in, "artifacts", json_get(j->facts->known, "artifacts"));
	set_value(j->a, in, "threat_scan", json_get(j->facts->known, "threat_scan"));
	return in;
}

/* What is authenticated wins over what is merely named so. */
static struct json *facts_object(struct judging *j)
{
	const struct facts *f = j->facts;
	struct json *o = json_new(j->a, JSON_OBJECT);

	json_each_member (m, f->known)
		json_set(j->a, o, m->name, m->value);
	json_seti(j->a, o, "now", f->now_us / 1000000);
	const struct {
		const char *name, *value;
	} own[] = { { "principal", f->principal }, { "tenant", f->tenant }, { "workspace", f->workspace },
		{ "session", f->session } };
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		(void)json_remove(o, own[i].name);
		set_text(j->a, o, own[i].name, own[i].value);
	}
	return o;
}

const struct json *gate_variables(struct judging *j)
{
	if (!j->variables) {
		struct json *all = json_new(j->a, JSON_OBJECT);
		struct json *input = input_object(j);
		json_set(j->a, all, "input", input);
		json_set(j->a, all, "facts", facts_object(j));
		for (size_t i = 0; i < ARRAY_SIZE(short_names); i++)
			set_value(j->a, all, short_names[i], json_get(input, short_names[i]));
		j->variables = all;
	}
	return j->variables;
}

const struct json *variables_effects(struct judging *j)
{
	return json_get(json_get(gate_variables(j), "input"), "effects");
}

/* ---- fields ---- */

/* Those that do not come from facts.known. */
static bool is_own_fact(struct table_key k)
{
	static const char *const names[] = { "now", "principal", "tenant", "workspace", "session" };

	return is_one_of(names, ARRAY_SIZE(names), k);
}

static const struct json *text_value(const char *text, struct json *scratch)
{
	*scratch = (struct json){ .type = JSON_STRING, .n = (uint32_t)strlen(text), .text = text };
	return scratch;
}

/* The object that the names of a field are looked up in. */
const struct json *field_start(struct judging *j, const struct field *f, const struct json *effect)
{
	switch ((enum root)f->root) {
	case ROOT_PARAMS:
		return j->ask->params;
	case ROOT_CONTEXT:
		return j->ask->context;
	case ROOT_EFFECT:
		return effect;
	case ROOT_FACTS:
		return is_own_fact(f->names[0]) ? json_get(gate_variables(j), "facts") : j->facts->known;
	default: /* ROOT_INPUT */
		break;
	}
	return json_get(gate_variables(j), "input");
}

/* NULL when it is not there.  `scratch` is where a value is made that lies nowhere. */
const struct json *field_value(
	struct judging *j, const struct field *f, const struct json *effect, struct json *scratch)
{
	const struct json *v;

	if (f->root == ROOT_INPUT && f->name_n == 1 && key_is(f->names[0], "action"))
		return text_value(j->ask->effect_type, scratch);
	v = field_start(j, f, effect);
	for (unsigned i = 0; v && i < f->name_n; i++)
		v = json_member(v, f->names[i]);
	return v;
}

/* rules.c — layers and packs of a policy document become rules, and rules are put where a question finds them.
 *
 * Within a layer or pack rules are in the order of their ids, not of the file: moving one changes nothing.  A question looks up its action
 * and its tool by name, then "*", then prefixes of the lengths that the policy uses, then the few other patterns; rules about effects
 * are found by the kinds of effect that the command has.  So the number of rules about other things costs nothing. */
#include "decide/engine/parts.h"

#include <stdlib.h>
#include <string.h>

int members_known(const struct json *doc, const char *const *names, const char *where, struct err *e)
{
	if (!json_is(doc, JSON_OBJECT))
		return err_set(e, E_INPUT, "POLICY_DOCUMENT", "%s: an object is needed, not %s", where,
			json_type_name(doc));
	json_each_member (m, doc) {
		size_t i = 0;
		while (names[i] && (names[i][0] != m->name[0] || !text_eq(names[i], m->name)))
			i++;
		if (!names[i])
			return err_set(e, E_INPUT, "POLICY_DOCUMENT", "%s: member '%s' is not known", where,
				m->name);
	}
	return OK;
}

/* ---- one rule ---- */

struct reader {
	struct arena *a;
	struct ruleset *r;
	const char *layer, *where; /* for messages */
	struct err *e;
	struct shared shared;
	struct when_maker when;
	struct test tests[RULE_TESTS]; /* of the rule at hand */
	struct rule_about about; /* of the one at hand */
};

static int bad(struct reader *d, const char *fmt, const char *word)
{
	return err_set(d->e, E_INPUT, "POLICY_RULE", "%s: %s '%s'", d->where, fmt, word);
}

static int read_verdict(struct reader *d, const char *name, enum verdict *ret)
{
	static const enum verdict all[] = { V_ALLOW, V_DENY, V_ESCALATE };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (name && text_eq(verdict_name(all[i]), name)) {
			*ret = all[i];
			return OK;
		}
	return bad(d, "verdict must be ALLOW, DENY or ESCALATE, not", name ? name : "");
}

const struct reason *code_find(const char *name, enum reason_code *ret)
{
	const struct reason *found = reason_find(name);

	if (found)
		*ret = (enum reason_code)(found - reason_get((enum reason_code)0));
	return found;
}

/* A code must be registered for the verdict that it explains. */
static int read_code(struct reader *d, const struct json *doc, struct rule *r)
{
	const char *name = json_get_text(doc, "reason_code", NULL);

	r->code = r->verdict == V_ESCALATE ? REASON_APPROVAL_REQUIRED : REASON_POLICY_VIOLATION;
	if (!json_get(doc, "reason_code"))
		return OK;
	const struct reason *found = name ? code_find(name, &r->code) : NULL;
	if (!found)
		return bad(d, "no such reason code (docs/reason-codes.md has them):", name ? name : "");
	if (r->verdict == V_ALLOW)
		return bad(d, "a rule that allows has no reason code:", name);
	unsigned fits = r->verdict == V_DENY ? REASON_DENIES | REASON_ALSO_DENIES
					     : REASON_ESCALATES | REASON_ALSO_ESCALATES;
	if (!(found->verdicts & fits))
		return bad(d, "this reason code is not for that verdict:", name);
	return OK;
}

static int read_texts(struct reader *d, const struct json *doc)
{
	const struct {
		const char *name;
		const char **to;
	} texts[] = { { "detail_code", &d->about.detail_code }, { "text", &d->about.text },
		{ "origin", &d->about.origin } };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		*texts[i].to = json_get_text(doc, texts[i].name, NULL);
		if (json_get(doc, texts[i].name) && !*texts[i].to)
			return bad(d, "must be a text:", texts[i].name);
	}
	return OK;
}

static int read_approvers(struct reader *d, const struct json *doc, struct rule *r)
{
	const struct json *v = json_get(doc, "approvers");
	int64_t n;

	if (!v)
		return OK;
	if (!json_int(v, &n) || n < 1 || n > 100 || r->verdict != V_ESCALATE)
		return bad(d, "must be 1 to 100, in a rule that escalates:", "approvers");
	struct json *bound = json_new(d->a, JSON_OBJECT);
	json_seti(d->a, bound, "approvers", n);
	d->about.bound = bound;
	return OK;
}

/* {name in the receipt: field}. */
static int read_binds(struct reader *d, const struct json *map, struct bindings *ret)
{
	struct binding *binds;

	if (!map)
		return OK;
	if (!json_is(map, JSON_OBJECT) || map->n == 0 || map->n > RULE_BINDS)
		return bad(d, "must be an object of 1 to 16 names and fields:", "binds");
	binds = arena_alloc(d->a, map->n * sizeof(*binds));
	json_each_member (m, map) {
		struct binding *b = &binds[ret->n++];
		if (!m->name_n || m->name[strspn(m->name, "abcdefghijklmnopqrstuvwxyz0123456789_")] ||
			text_eq(m->name, "approvers"))
			return bad(d, "names under \"binds\" are of small letters, digits and '_', and not",
				m->name);
		if (!json_text(m->value))
			return bad(d, "must be the name of a field:", m->name);
		b->name = m->name;
		if (field_compile(d->a, &d->shared, json_text(m->value), d->where, false, &b->field, d->e))
			return d->e->rc;
	}
	ret->list = binds;
	return OK;
}

static int read_actions(struct reader *d, const struct json *list)
{
	if (!json_is(list, JSON_ARRAY) || list->n == 0 || list->n > RULE_ACTIONS)
		return bad(d, "must be a list of 1 to 1024 action names:", "actions");
	json_each (item, list) {
		if (!json_text(item) || item->n == 0)
			return bad(d, "must be texts that are not empty:", "actions");
		const char *star = strchr(item->text, '*');
		if (star && (star[1] || star - item->text > ACTION_PREFIX))
			return bad(
				d, "a pattern is '*' or a prefix of at most 63 bytes and '*':", item->text);
	}
	return OK;
}

static struct when_reader reader_of(struct reader *d, const struct rule *r)
{
	return (struct when_reader){ .to = &d->when,
		.where = d->where,
		.code = "POLICY_RULE",
		.is_allowing = r->verdict == V_ALLOW,
		.e = d->e };
}

static int read_effects(struct reader *d, const struct json *v, struct rule *r)
{
	const struct when_reader at = reader_of(d, r);

	return effects_read(&at, v, &r->effects);
}

static int read_tests(struct reader *d, const struct json *list, struct rule *r)
{
	bool is_allowing = r->verdict == V_ALLOW, has_effects = r->effects.kinds != 0;
	const struct when_reader at = reader_of(d, r);

	if (!list)
		return OK;
	if (!json_is(list, JSON_ARRAY) || list->n > RULE_TESTS)
		return bad(d, "must be a list of at most 64 conditions:", "all");
	json_each (item, list) {
		bool is_taken = false;
		if (has_effects && effects_take(&at, item, &r->effects, &is_taken))
			return d->e->rc;
		if (is_taken)
			continue;
		if (test_compile(d->a, &d->shared, item, d->where, is_allowing, has_effects,
			    &d->tests[r->test_n++], d->e))
			return d->e->rc;
	}
	return OK;
}

static int read_when(struct reader *d, const struct json *doc, struct rule *r)
{
	const struct json *v = json_get(doc, "when");
	struct expression *x;

	if (!v)
		return OK;
	if (!json_text(v))
		return bad(d, "must be an expression:", "when");
	struct bytes text = { (const uint8_t *)v->text, v->n };
	if (expression_compile(d->a, text, d->about.origin ? d->about.origin : d->where, &x, d->e))
		return err_set(d->e, d->e->rc, "POLICY_EXPRESSION", "%s: %s", d->where,
			arena_strdup(d->a, d->e->text));
	if (!expression_may_be_bool(x))
		return err_set(d->e, E_INPUT, "POLICY_EXPRESSION",
			"%s: \"when\" can never be true or false, so it is no condition", d->where);
	r->when = x;
	return OK;
}

static size_t own_text(const struct test *t)
{
	bool is_number = t->op >= OP_GREATER_THAN && t->op <= OP_AT_MOST;

	return t->is_own && !is_number ? t->n : 0;
}

/* Rule, tests and texts side by side: asking it touches as little memory as can be. */
static struct rule *rule_pack(struct arena *a, const struct rule *from, const struct test *tests)
{
	size_t texts = 0, n = from->test_n;
	struct rule *r;

	for (size_t i = 0; i < n; i++)
		texts += own_text(&tests[i]);
	r = arena_alloc(a, sizeof(*r) + n * sizeof(*tests) + texts);
	char *text = (char *)(r->tests + n);
	*r = *from;
	for (size_t i = 0; i < n; i++) {
		r->tests[i] = tests[i];
		if (!own_text(&tests[i]))
			continue;
		memcpy(text, tests[i].text, tests[i].n);
		r->tests[i].text = text;
		text += tests[i].n;
	}
	return r;
}

/* "layer: rule 'id'", or by its place.  Made for every rule and read for few, so by hand where it is short. */
static void name_rule(const char *layer, const char *id, size_t place, char *to, size_t room)
{
	static const char between[] = ": rule '";
	size_t n = strlen(layer), len = id ? strlen(id) : 0;

	if (!len) {
		(void)snprintf(to, room, "%s: rule %zu", layer, place + 1);
	} else if (len > 100 || n + sizeof(between) + len + 1 > room) {
		(void)snprintf(to, room, "%s: rule '%.100s'", layer, id);
	} else {
		memcpy(to, layer, n);
		memcpy(to + n, between, sizeof(between) - 1);
		memcpy(to + n + sizeof(between) - 1, id, len);
		memcpy(to + n + sizeof(between) - 1 + len, "'", 2);
	}
}

static int read_rule(struct reader *d, const struct json *doc, size_t place, size_t group, struct rule **ret)
{
	static const char *const names[] = { "id", "actions", "all", "verdict", "effects", "when",
		"reason_code", "detail_code", "text", "approvers", "binds", "origin", NULL };
	struct rule r = { .id = json_get_text(doc, "id", NULL), .document = doc, .group = (uint16_t)group };
	char where[256];

	name_rule(d->layer, r.id, place, where, sizeof(where));
	d->where = where;
	d->about = (struct rule_about){ 0 };
	if (members_known(doc, names, where, d->e))
		return d->e->rc;
	if (!r.id || !r.id[0])
		return bad(d, "needs a text that is not empty:", "id");
	if (read_verdict(d, json_get_text(doc, "verdict", NULL), &r.verdict) || read_code(d, doc, &r) ||
		read_texts(d, doc) || read_approvers(d, doc, &r) ||
		read_binds(d, json_get(doc, "binds"), &d->about.binds) ||
		read_effects(d, json_get(doc, "effects"), &r) || read_actions(d, json_get(doc, "actions")) ||
		read_tests(d, json_get(doc, "all"), &r) || read_when(d, doc, &r))
		return d->e->rc;
	r.is_simple = !r.when && !d->about.binds.n;
	if (d->about.detail_code || d->about.text || d->about.origin || d->about.bound || d->about.binds.n) {
		struct rule_about *kept = arena_alloc(d->a, sizeof(*kept));
		*kept = d->about;
		r.about = kept;
	}
	*ret = rule_pack(d->a, &r, d->tests);
	return OK;
}

/* ---- layers and packs ---- */

static int by_id(const void *x, const void *y)
{
	return strcmp((*(struct rule *const *)x)->id, (*(struct rule *const *)y)->id);
}

/* Sorted already is what a file that a program wrote is: then nothing is moved. */
static void sort_rules(struct rule **rules, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (by_id(&rules[i - 1], &rules[i]) > 0) {
			qsort(rules, n, sizeof(*rules), by_id);
			return;
		}
}

static int read_rules(struct reader *d, const struct json *list, size_t group, size_t *at)
{
	struct rule **first = d->r->rules + *at;
	size_t n = 0;

	if (!json_is(list, JSON_ARRAY))
		return err_set(d->e, E_INPUT, "POLICY_DOCUMENT", "%s: \"rules\" must be a list", d->layer);
	json_each (doc, list) {
		if (read_rule(d, doc, n, group, &first[n]))
			return d->e->rc;
		n++;
	}
	sort_rules(first, n);
	for (size_t i = 0; i < n; i++) {
		first[i]->rank = (uint32_t)i;
		if (i > 0 && text_eq(first[i - 1]->id, first[i]->id))
			return err_set(d->e, E_INPUT, "POLICY_RULE", "%s: two rules have the id '%s'",
				d->layer, first[i]->id);
	}
	*at += n;
	return OK;
}

static int layer_order(const void *x, const void *y)
{
	const struct json *a = *(struct json *const *)x, *b = *(struct json *const *)y;
	int64_t pa = json_get_int(a, "priority", 0), pb = json_get_int(b, "priority", 0);

	if (pa != pb)
		return pa < pb ? -1 : 1;
	return strcmp(json_get_text(a, "name", ""), json_get_text(b, "name", ""));
}

/* The list in another order than it was written; what is no list is empty. */
static struct json **sorted(
	struct arena *a, const struct json *list, int (*order)(const void *, const void *))
{
	struct json **items = arena_alloc(a, (list ? list->n + 1 : 1) * sizeof(*items));
	size_t n = 0;

	json_each (item, list)
		items[n++] = item;
	qsort(items, n, sizeof(*items), order);
	return items;
}

static int read_layer(struct reader *d, const struct json *doc, struct group *g)
{
	static const char *const names[] = { "name", "priority", "rules", NULL };

	if (members_known(doc, names, "a layer", d->e))
		return d->e->rc;
	g->name = json_get_text(doc, "name", NULL);
	if (!g->name || !json_int(json_get(doc, "priority"), &g->priority) || g->priority < 0)
		return err_set(d->e, E_INPUT, "POLICY_DOCUMENT",
			"a layer needs a name and a priority from 0 on (0 is the highest)");
	return OK;
}

static int pack_order(const void *x, const void *y)
{
	const struct json *a = *(struct json *const *)x, *b = *(struct json *const *)y;

	return strcmp(json_get_text(a, "id", ""), json_get_text(b, "id", ""));
}

static int read_pack(struct reader *d, const struct json *doc, struct group *g)
{
	static const char *const names[] = { "id", "kind", "activates_on", "rules", "deny_codes", NULL };
	static const struct {
		const char *kind, *fact;
	} kinds[] = { { "jurisdiction", "jurisdiction" }, { "industry", "industry" },
		{ "preset", "business_preset" } };
	const char *kind = json_get_text(doc, "kind", "");

	if (members_known(doc, names, "a pack", d->e))
		return d->e->rc;
	g->is_pack = true;
	g->name = json_get_text(doc, "id", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (text_eq(kinds[i].kind, kind))
			g->fact = kinds[i].fact;
	g->activates_on = json_get(doc, "activates_on");
	if (!g->name || !g->fact || !json_is(g->activates_on, JSON_ARRAY))
		return err_set(d->e, E_INPUT, "POLICY_DOCUMENT",
			"pack '%s' needs an id, a kind (jurisdiction, industry or preset) and a list \"activates_on\"",
			g->name ? g->name : "");
	json_each (code, g->activates_on)
		if (!json_text(code))
			return err_set(d->e, E_INPUT, "POLICY_DOCUMENT",
				"pack '%s': \"activates_on\" must be texts", g->name);
	return OK;
}

static int count_rules(const struct json *groups, const char *what, size_t *ret, struct err *e)
{
	if (groups && !json_is(groups, JSON_ARRAY))
		return err_set(e, E_INPUT, "POLICY_DOCUMENT", "\"%s\" must be a list", what);
	json_each (g, groups)
		*ret += json_is(json_get(g, "rules"), JSON_ARRAY) ? json_get(g, "rules")->n : 0;
	return OK;
}

static int read_groups(struct reader *d, struct json **items, size_t n, bool are_packs, size_t *at)
{
	for (size_t i = 0; i < n; i++) {
		struct group *g = &d->r->groups[d->r->group_n];
		if ((are_packs ? read_pack : read_layer)(d, items[i], g))
			return d->e->rc;
		for (size_t k = 0; k < d->r->group_n; k++)
			if (text_eq(d->r->groups[k].name, g->name))
				return err_set(d->e, E_INPUT, "POLICY_DOCUMENT",
					"two layers or packs have the name '%s'", g->name);
		d->layer = g->name;
		if (read_rules(d, json_get(items[i], "rules"), d->r->group_n, at))
			return d->e->rc;
		d->r->group_n++;
	}
	return OK;
}

int rules_compile(struct arena *a, struct ruleset *r, const struct json *document, struct err *e)
{
	const struct json *layers = json_get(document, "layers"), *packs = json_get(document, "packs");
	struct reader d = { .a = a, .r = r, .e = e, .where = "policy" };
	size_t n = 0, at = 0;

	if (count_rules(layers, "layers", &n, e) || count_rules(packs, "packs", &n, e))
		return e->rc;
	r->layer_n = layers ? layers->n : 0;
	r->pack_n = packs ? packs->n : 0;
	if (n > POLICY_RULES || r->layer_n + r->pack_n > POLICY_GROUPS)
		return err_set(e, E_LIMIT, "POLICY_SIZE",
			"the policy has %zu rules in %zu layers and packs; at most %d in %d are read", n,
			r->layer_n + r->pack_n, POLICY_RULES, POLICY_GROUPS);
	d.shared.field_room = POLICY_FIELDS;
	d.shared.fields = arena_alloc(a, POLICY_FIELDS * sizeof(*d.shared.fields));
	table_begin(&d.shared.names, a, 64);
	when_begin(&d.when, a);
	r->rules = arena_alloc(a, (n + 1) * sizeof(*r->rules));
	r->groups = arena_zalloc(a, r->layer_n + r->pack_n + 1, sizeof(*r->groups));
	if (read_binds(&d, json_get(document, "binds"), &r->binds) ||
		read_groups(&d, sorted(a, layers, layer_order), r->layer_n, false, &at) ||
		read_groups(&d, sorted(a, packs, pack_order), r->pack_n, true, &at))
		return e->rc;
	r->rule_n = at;
	r->conditions = when_made(&d.when);
	return OK;
}

/* ---- the index ---- */

static void list_add(struct arena *a, struct rule_list *l, const struct rule *rule)
{
	if (l->n == 0) {
		l->one = rule;
		l->n = 1;
		return;
	}
	if (l->n >= l->room) {
		uint32_t room = l->room ? l->room * 2 : 4;
		const struct rule **many = arena_alloc(a, room * sizeof(*many));
		for (uint32_t i = 0; i < l->n; i++)
			many[i] = list_at(l, i);
		l->many = many;
		l->room = room;
	}
	l->many[l->n++] = rule;
}

/* The bucket of an action or pattern; new ones are empty. */
static struct bucket *bucket_of(struct arena *a, struct ruleset *r, const struct json *action, uint32_t *room)
{
	uint32_t before = r->actions.n;
	uint32_t i = table_add(&r->actions, a, action->text, action->n);

	if (i < before)
		return &r->buckets[i];
	if (i == *room) {
		r->buckets = arena_grow(
			a, r->buckets, *room * sizeof(*r->buckets), 2 * (size_t)*room * sizeof(*r->buckets));
		*room *= 2;
	}
	r->buckets[i] = (struct bucket){ 0 };
	if (text_eq(action->text, "*"))
		r->star = i;
	else if (action->text[action->n - 1] == '*')
		r->prefix_lengths |= UINT64_C(1) << (action->n - 1);
	return &r->buckets[i];
}

static void put(struct arena *a, const struct ruleset *r, struct bucket *b, const struct rule *rule)
{
	if (rule_covers(rule->verdict))
		*(r->groups[rule->group].is_pack ? &b->pack_covers : &b->covers) = true;
	if (!rule->effects.kinds) {
		list_add(a, &b->whole, rule);
		return;
	}
	if (!b->kinds)
		b->kinds = arena_zalloc(a, FX_KIND_COUNT, sizeof(*b->kinds));
	for (unsigned k = 0; k < FX_KIND_COUNT; k++)
		if (rule->effects.kinds >> k & 1)
			list_add(a, &b->kinds[k], rule);
}

/* Is the action in the list twice?  Then the rule is put there once. */
static bool is_repeated(const struct json *actions, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (text_eq(actions->items[i]->text, actions->items[at]->text))
			return true;
	return false;
}

int rules_index(struct arena *a, struct ruleset *r, const struct json *requirements, struct err *e)
{
	uint32_t room = (uint32_t)r->rule_n + 16;
	struct requirement_set *set;

	r->star = TABLE_NONE;
	table_begin(&r->actions, a, room);
	r->buckets = arena_alloc(a, room * sizeof(*r->buckets));
	for (size_t i = 0; i < r->rule_n; i++) {
		const struct json *actions = json_get(r->rules[i]->document, "actions");
		r->has_effects |= r->rules[i]->effects.kinds != 0;
		for (uint32_t k = 0; k < actions->n; k++)
			if (!is_repeated(actions, k))
				put(a, r, bucket_of(a, r, actions->items[k], &room), r->rules[i]);
	}
	if (requirements && !json_is(requirements, JSON_OBJECT))
		return err_set(e, E_INPUT, "POLICY_DOCUMENT", "\"requirements\" must be an object");
	json_each_member (m, requirements) {
		struct json name = { .type = JSON_STRING, .n = m->name_n, .text = m->name };
		if (requirement_compile(a, m->value, m->name, 0, &set, e))
			return e->rc;
		if (m->name_n == 0 || strchr(m->name, '*'))
			return err_set(e, E_INPUT, "POLICY_DOCUMENT",
				"\"requirements\" are for actions by name, not for '%s'", m->name);
		bucket_of(a, r, &name, &room)->set = set;
	}
	r->has_patterns = r->prefix_lengths || r->star != TABLE_NONE;
	/* By name, prefix and star, each for the action, the tool and the tool that the request names. */
	r->max_matched = 3 * (2 + (uint32_t)__builtin_popcountll(r->prefix_lengths));
	return OK;
}

/* layers.c — P0, P1, P2: a layer may narrow what a higher one says and never widen it.
 *
 * The validator's answer and its hashes are those of the published one.  `findings` is ours: what that one overlooks. */
#include "base/hash.h"
#include "decide/bundle/parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- actions ---- */

static bool is_prefix(const char *pattern)
{
	return text_ends(pattern, "*");
}

bool action_covers(const char *pattern, const char *other)
{
	size_t n = strlen(pattern);

	if (!is_prefix(pattern))
		return text_eq(pattern, other);
	return strncmp(pattern, other, n - 1) == 0;
}

bool action_overlap(const char *x, const char *y)
{
	return action_covers(x, y) || action_covers(y, x);
}

/* ---- hashes ---- */

static const char *hash_of(struct arena *a, const struct json *v)
{
	struct buf b;

	buf_init(&b, a);
	json_write(&b, v, JSON_HTML_SAFE);
	return sha256_hex(a, b.p, b.n);
}

static struct json *rule_preimage(struct arena *a, const struct json *rule)
{
	static const char *const members[] = { "id", "action", "verdict", "reason" };
	struct json *made = json_new(a, JSON_OBJECT), *conditions = json_get(rule, "conditions");

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_sets(a, made, members[i], json_get_text(rule, members[i], ""));
	if (json_is(conditions, JSON_ARRAY) && conditions->n > 0)
		json_set(a, made, "conditions", conditions);
	return made;
}

/* {name, priority, rules}, in this order. */
static struct json *layer_preimage(struct arena *a, const struct json *layer)
{
	const struct json *rules = json_get(layer, "rules");
	struct json *made = json_new(a, JSON_OBJECT),
		    *list = json_new(a, json_is(rules, JSON_ARRAY) ? JSON_ARRAY : JSON_NULL);

	json_each (rule, rules)
		json_push(a, list, rule_preimage(a, rule));
	json_sets(a, made, "name", json_get_text(layer, "name", ""));
	json_seti(a, made, "priority", json_get_int(layer, "priority", 0));
	json_set(a, made, "rules", list);
	return made;
}

/* ---- the validator ---- */

struct sorted {
	struct json *layer;
	int64_t priority;
	size_t order;
};

static int by_priority(const void *x, const void *y)
{
	const struct sorted *one = x, *two = y;

	if (one->priority != two->priority)
		return one->priority < two->priority ? -1 : 1;
	return (int)one->order - (int)two->order;
}

static struct sorted *sort_layers(struct arena *a, const struct json *layers, size_t *ret_n)
{
	struct sorted *all = arena_zalloc(a, (layers ? layers->n : 0) + 1, sizeof(*all));
	size_t n = 0;

	json_each (layer, layers) {
		all[n] = (struct sorted){ layer, json_get_int(layer, "priority", 0), n };
		n++;
	}
	qsort(all, n, sizeof(*all), by_priority);
	*ret_n = n;
	return all;
}

struct comparing {
	struct arena *a;
	struct json *conflicts, *findings;
	const struct json *high, *low; /* layers */
};

static const char *text_of(const struct json *v, const char *name)
{
	return json_get_text(v, name, "");
}

static struct json *row_of(
	const struct comparing *c, const struct json *x, const struct json *y, const char *detail)
{
	struct json *row = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, row, "layer_a", text_of(c->high, "name"));
	json_sets(c->a, row, "layer_b", text_of(c->low, "name"));
	json_sets(c->a, row, "rule_a", text_of(x, "id"));
	json_sets(c->a, row, "rule_b", text_of(y, "id"));
	json_sets(c->a, row, "action", text_of(x, "action"));
	json_sets(c->a, row, "detail", detail);
	return row;
}

static void add_finding(const struct comparing *c, const char *code, const struct json *x,
	const struct json *y, const char *detail)
{
	struct json *row = json_new(c->a, JSON_OBJECT);

	json_sets(c->a, row, "code", code);
	json_each_member (m, row_of(c, x, y, detail))
		json_set(c->a, row, m->name, m->value);
	json_push(c->a, c->findings, row);
}

/* x stands higher than y. */
static void compare_rules(const struct comparing *c, const struct json *x, const struct json *y)
{
	const char *higher = text_of(x, "verdict");

	if (!action_overlap(text_of(x, "action"), text_of(y, "action")) ||
		!text_eq(text_of(y, "verdict"), "ALLOW"))
		return;
	if (text_eq(higher, "DENY"))
		json_push(c->a, c->conflicts,
			row_of(c, x, y,
				arena_printf(c->a,
					"lower-priority layer \"%s\" attempts to ALLOW action \"%s\" that "
					"higher-priority layer \"%s\" DENYs",
					text_of(c->low, "name"), text_of(y, "action"),
					text_of(c->high, "name"))));
	else if (text_eq(higher, "ESCALATE"))
		add_finding(c, "WIDENS_ESCALATE", x, y,
			arena_printf(c->a,
				"layer \"%s\" allows \"%s\", which layer \"%s\" asks about; the question stays",
				text_of(c->low, "name"), text_of(y, "action"), text_of(c->high, "name")));
}

/* An id that two rules have cannot be named in an answer. */
static void find_duplicates(struct comparing *c, struct json *layer, struct json *seen)
{
	json_each (rule, json_get(layer, "rules")) {
		const struct json *before = json_get(seen, text_of(rule, "id"));
		if (before) {
			c->high = json_get(before, "layer");
			c->low = layer;
			add_finding(
				c, "DUPLICATE_ID", json_get(before, "rule"), rule, "two rules have this id");
			continue;
		}
		struct json *entry = json_new(c->a, JSON_OBJECT);
		json_set(c->a, entry, "layer", layer);
		json_set(c->a, entry, "rule", rule);
		json_set(c->a, seen, text_of(rule, "id"), entry);
	}
}

static struct json *layer_rows(struct arena *a, const struct sorted *all, size_t n)
{
	struct json *rows = json_new(a, JSON_ARRAY);

	for (size_t i = 0; i < n; i++) {
		struct json *row = json_new(a, JSON_OBJECT), *rules = json_get(all[i].layer, "rules");
		json_sets(a, row, "name", text_of(all[i].layer, "name"));
		json_seti(a, row, "rule_count", json_is(rules, JSON_ARRAY) ? rules->n : 0);
		json_sets(a, row, "hash", hash_of(a, layer_preimage(a, all[i].layer)));
		json_push(a, rows, row);
	}
	return rows;
}

static void compare_layers(struct comparing *c, const struct sorted *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t j = i + 1; j < n; j++) {
			c->high = all[i].layer;
			c->low = all[j].layer;
			json_each (x, json_get(c->high, "rules")) {
				json_each (y, json_get(c->low, "rules"))
					compare_rules(c, x, y);
			}
		}
	}
}

struct json *stack_validate(struct arena *a, const struct json *layers)
{
	struct comparing c = {
		.a = a, .conflicts = json_new(a, JSON_ARRAY), .findings = json_new(a, JSON_ARRAY)
	};
	struct json *made = json_new(a, JSON_OBJECT), *seen = json_new(a, JSON_OBJECT);
	size_t n;
	const struct sorted *all = sort_layers(a, layers, &n);

	compare_layers(&c, all, n);
	for (size_t i = 0; i < n; i++)
		find_duplicates(&c, all[i].layer, seen);
	json_sets(a, made, "verdict", c.conflicts->n ? "CONFLICT" : "CONSISTENT");
	json_set(a, made, "conflicts", c.conflicts->n ? c.conflicts : json_new(a, JSON_NULL));
	json_set(a, made, "layers", layer_rows(a, all, n));
	const char *hash = n ? hash_of(a, made) : sha256_hex(a, "empty", 5);
	json_sets(a, made, "hash", hash);
	json_set(a, made, "findings", c.findings);
	return made;
}

/* ---- the compiled form ---- */

static int check_rule(const struct json *layer, const struct json *rule, struct err *e)
{
	const char *verdict = text_of(rule, "verdict");

	if (!*text_of(rule, "id") || !*text_of(rule, "action"))
		return err_set(e, E_INPUT, "LAYER_INVALID", "a rule of layer '%s' has no id or no action",
			text_of(layer, "name"));
	if (!text_eq(verdict, "ALLOW") && !text_eq(verdict, "DENY") && !text_eq(verdict, "ESCALATE"))
		return err_set(e, E_INPUT, "LAYER_INVALID",
			"rule '%s' has the verdict '%s'; write ALLOW, DENY or ESCALATE", text_of(rule, "id"),
			verdict);
	return OK;
}

const char *stack_compiled_hash(struct arena *a, const struct json *layers, struct err *e)
{
	struct json *list = json_new(a, JSON_ARRAY);

	json_each (layer, layers) {
		if (!*text_of(layer, "name")) {
			(void)err_set(e, E_INPUT, "LAYER_INVALID", "a layer has no name");
			return NULL;
		}
		json_each (rule, json_get(layer, "rules"))
			if (check_rule(layer, rule, e))
				return NULL;
		struct json *made = layer_preimage(a, layer);
		json_sets(a, made, "hash", hash_of(a, made));
		json_push(a, list, made);
	}
	return list->n ? hash_of(a, list) : sha256_hex(a, "empty", 5);
}

/* ---- reading ---- */

/* A condition is an expression, or {field, op, value}. */
static void read_conditions(struct reading *r, const struct json *rule, struct json *made)
{
	struct json *all = json_new(r->a, JSON_ARRAY);
	struct buf when;

	buf_init(&when, r->a);
	const struct json *conditions = take_list(r, rule, "conditions", "LAYER_INVALID");
	json_each (c, conditions) {
		if (json_is(c, JSON_OBJECT))
			json_push(r->a, all, c);
		else if (take_condition(r, c))
			buf_addf(&when, "%s(%s)", when.n ? " && " : "", json_text(c));
	}
	if (when.n)
		json_sets(r->a, made, "when", when.p);
	if (all->n)
		json_set(r->a, made, "all", all);
}

static void read_rule(struct reading *r, const struct json *rule, struct json *into)
{
	size_t errors = r->problems->errors;

	r->rule = NULL;
	if (!take_object(r, rule, "a rule", "LAYER_INVALID"))
		return;
	r->rule = take_text(r, rule, "id", "LAYER_INVALID");
	const char *action = take_text(r, rule, "action", "LAYER_INVALID"),
		   *reason = json_get_text(rule, "reason", "");
	const char *word = take_text(r, rule, "verdict", "LAYER_INVALID");
	const char *verdict = *word ? TAKE_WORD(r, json_get(rule, "verdict"), "verdict", "LAYER_INVALID",
					      "ALLOW", "DENY", "ESCALATE")
				    : NULL;
	(void)TAKE_ONLY(r, rule, "POLICY_MEMBER", "id", "action", "verdict", "reason", "conditions");
	if (*action)
		(void)take_action(r, json_get(rule, "action"), "POLICY_ACTION");
	if (r->problems->errors > errors)
		return;
	struct json *made = make_rule(r, r->rule, action, verdict, rule);
	read_conditions(r, rule, made);
	if (*reason)
		json_sets(r->a, made, "text", reason);
	json_push(r->a, into, made);
}

static void read_layer(struct reading *r, const struct json *layer)
{
	const struct json *priority = json_get(layer, "priority");
	int64_t number = 0;

	if (!take_object(r, layer, "a layer", "LAYER_INVALID"))
		return;
	(void)TAKE_ONLY(r, layer, "POLICY_MEMBER", "name", "priority", "rules", "hash", "metadata");
	if (!json_int(priority, &number) || number < 0)
		problem_at(r, POLICY_ERROR, "LAYER_INVALID", priority ? priority->at : layer->at,
			scalar_text(r->a, priority), "write 0 for the highest layer, 1, 2, ... below it",
			"the layer has no priority");
	struct json *rules = make_layer(r, take_text(r, layer, "name", "LAYER_INVALID"), number);
	const struct json *rules_given = take_list(r, layer, "rules", "LAYER_INVALID");
	json_each (rule, rules_given)
		read_rule(r, rule, rules);
	r->rule = NULL;
}

/* A conflict is an error: at run time the strictest wins, so the ALLOW would have no effect, and its author should know. */
static void report_conflicts(struct reading *r, const struct json *checked)
{
	json_each (c, json_get(checked, "conflicts")) {
		r->rule = text_of(c, "rule_b");
		problem_at(r, POLICY_ERROR, "LAYER_CONFLICT", r->tree->at, text_of(c, "rule_b"),
			"a lower layer can only narrow: take the rule out, or change the higher layer", "%s",
			text_of(c, "detail"));
	}
	json_each (c, json_get(checked, "findings")) {
		r->rule = text_of(c, "rule_b");
		problem_at(r, POLICY_WARNING, text_of(c, "code"), r->tree->at, text_of(c, "rule_b"), "", "%s",
			text_of(c, "detail"));
	}
	r->rule = NULL;
}

/* A list of layers, {layers: [...]}, or one layer. */
void read_layers(struct reading *r)
{
	const struct json *list = r->tree;
	const char *name = r->file, *dot = strrchr(name, '.');

	if (json_get(r->tree, "layers")) {
		(void)TAKE_ONLY(
			r, r->tree, "POLICY_MEMBER", "name", "version", "layers", "epoch", "coverage");
		list = take_list(r, r->tree, "layers", "LAYER_INVALID");
	}
	if (json_is(r->tree, JSON_OBJECT) && !json_get(r->tree, "layers")) {
		struct json *one = json_new(r->a, JSON_ARRAY);
		json_push(r->a, one, r->tree);
		list = one;
	}
	if (json_get(r->tree, "layers") && json_get_text(r->tree, "name", NULL))
		name = json_get_text(r->tree, "name", "");
	else if (dot && dot > name)
		name = arena_strndup(r->a, name, (size_t)(dot - name));
	make_document(r, name, scalar_text(r->a, json_get(r->tree, "version")), "closed");
	take_settings(r, json_get(r->tree, "layers") ? r->tree : NULL);
	json_each (layer, list)
		read_layer(r, layer);
	if (r->problems->errors)
		return;
	struct json *checked = stack_validate(r->a, list);
	report_conflicts(r, checked);
	r->ret->report = checked;
	r->ret->content_hash = stack_compiled_hash(r->a, list, NULL);
}

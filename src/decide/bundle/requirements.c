/* requirements.c — the requirement graph: action -> set of requirements. */
#include "base/hash.h"
#include "decide/bundle/parts.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 16 };

/* ---- hashes ---- */

static void add_set(struct arena *a, struct buf *b, const struct json *set)
{
	buf_addf(b, "id=%s:logic=%s:", json_get_text(set, "id", ""), json_get_text(set, "logic", ""));
	json_each (x, json_get(set, "requirements"))
		buf_addf(b, "req=%s:%s:%s;", json_get_text(x, "id", ""),
			json_get_text(x, "artifact_type", ""), json_get_text(x, "expression", ""));
	json_each (child, json_get(set, "children"))
		buf_addf(b, "child=%s;", requirement_set_hash(a, child));
}

const char *requirement_set_hash(struct arena *a, const struct json *set)
{
	struct buf b;

	buf_init(&b, a);
	add_set(a, &b, set);
	return sha256_prefixed(a, b.p, b.n);
}

const char *requirement_graph_hash(struct arena *a, const struct json *graph)
{
	struct json *sorted = json_copy(a, graph);
	struct buf b;

	buf_init(&b, a);
	json_sort_members(sorted);
	json_each_member (m, sorted)
		buf_addf(&b, "%s=%s;", m->name, requirement_set_hash(a, m->value));
	return b.n ? sha256_hex(a, b.p, b.n) : "";
}

/* ---- reading ---- */

/* A leaf that asks for nothing would always pass. */
static void check_leaf(struct reading *r, const struct json *leaf)
{
	const struct json *expression = json_get(leaf, "expression");

	if (!take_object(r, leaf, "a requirement", "POLICY_REQUIREMENT"))
		return;
	r->rule = take_text(r, leaf, "id", "POLICY_REQUIREMENT");
	(void)TAKE_ONLY(
		r, leaf, "POLICY_MEMBER", "id", "description", "artifact_type", "signer_id", "expression");
	if (expression)
		(void)take_expression(r, expression);
	else if (!*json_get_text(leaf, "artifact_type", ""))
		problem_at(r, POLICY_ERROR, "POLICY_REQUIREMENT", leaf->at, json_get_text(leaf, "id", ""),
			"give it an 'expression' or an 'artifact_type'", "the requirement asks for nothing");
}

static bool check_set(struct reading *r, const struct json *set, const char *action, int depth)
{
	const struct json *logic = json_get(set, "logic"), *leaves, *children;

	if (!take_object(r, set, "a requirement set", "POLICY_REQUIREMENT"))
		return false;
	if (depth == DEEPEST) {
		problem_at(r, POLICY_ERROR, "POLICY_REQUIREMENT", set->at, action, "nest them less",
			"requirement sets are more than %d deep", DEEPEST);
		return false;
	}
	r->rule = json_get_text(set, "id", action);
	(void)take_text(r, set, "id", "POLICY_REQUIREMENT");
	(void)TAKE_ONLY(
		r, set, "POLICY_MEMBER", "id", "logic", "requirements", "children", "description", "origin");
	if (logic && *scalar_text(r->a, logic))
		(void)TAKE_WORD(r, logic, "logic", "POLICY_REQUIREMENT", "AND", "OR", "NOT");
	leaves = take_list(r, set, "requirements", "POLICY_REQUIREMENT");
	children = take_list(r, set, "children", "POLICY_REQUIREMENT");
	json_each (leaf, leaves)
		check_leaf(r, leaf);
	json_each (child, children)
		(void)check_set(r, child, action, depth + 1);
	if ((!leaves || leaves->n == 0) && (!children || children->n == 0))
		problem_at(r, POLICY_WARNING, "POLICY_EMPTY_SET", set->at, action,
			"say what is required, or allow the action by a rule", "nothing is required of '%s'",
			action);
	r->rule = NULL;
	return true;
}

bool read_requirement_set(struct reading *r, const struct json *set, const char *action)
{
	return check_set(r, set, action, 0);
}

/* The members that the document has; `description` is for people only. */
struct json *requirement_set_made(struct reading *r, const struct json *set)
{
	struct arena *a = r->a;
	struct json *made = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
	const char *logic = json_get_text(set, "logic", "");

	json_sets(a, made, "id", json_get_text(set, "id", ""));
	json_sets(a, made, "logic", *logic ? logic : "AND");
	json_set(a, made, "requirements",
		json_is(json_get(set, "requirements"), JSON_ARRAY) ? json_get(set, "requirements")
								   : json_new(a, JSON_ARRAY));
	json_each (child, json_get(set, "children"))
		json_push(a, list, requirement_set_made(r, child));
	json_set(a, made, "children", list);
	json_sets(a, made, "origin", json_get_text(set, "origin", origin_at(r, set->at)));
	return made;
}

/* {requirements: {action: set}, name, version} or the map alone. */
void read_requirements(struct reading *r)
{
	const struct json *graph = json_get(r->tree, "requirements"), *name = json_get(r->tree, "name");
	struct json *made = json_new(r->a, JSON_OBJECT);

	if (json_is(graph, JSON_OBJECT)) {
		(void)TAKE_ONLY(
			r, r->tree, "POLICY_MEMBER", "name", "version", "epoch", "coverage", "requirements");
	} else {
		graph = r->tree;
		name = NULL;
	}
	make_document(r, name ? scalar_text(r->a, name) : r->file, "", "closed");
	if (graph != r->tree)
		take_settings(r, r->tree);
	json_each_member (m, graph)
		if (read_requirement_set(r, m->value, m->name))
			json_set(r->a, made, m->name, requirement_set_made(r, m->value));
	json_set(r->a, r->document, "requirements", made);
	r->ret->content_hash = requirement_graph_hash(r->a, graph);
}

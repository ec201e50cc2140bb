/* requirements.c — the requirement graph: what must be there before an action is even looked at.
 *
 * A set joins its requirements and its children by AND, OR or NOT.  An expression that fails makes the answer an error wherever it
 * stands, whatever the others say: a requirement nobody could evaluate is not one that was met. */
#include "decide/engine/parts.h"

#include <string.h>

/* ---- compiling ---- */

static int bad(struct err *e, const char *action, const char *id, const char *what)
{
	return err_set(e, E_INPUT, "POLICY_RULE", "requirements of '%s': '%s' %s", action, id, what);
}

static int read_leaf(struct arena *a, const struct json *doc, const char *action,
	struct requirement_leaf *ret, struct err *e)
{
	static const char *const names[] = { "id", "description", "artifact_type", "signer_id", "expression",
		NULL };
	struct requirement_leaf l = { .id = json_get_text(doc, "id", NULL),
		.artifact_type = json_get_text(doc, "artifact_type", NULL),
		.signer_id = json_get_text(doc, "signer_id", NULL) };
	const struct json *text = json_get(doc, "expression");
	struct expression *x;

	if (members_known(doc, names, action, e))
		return e->rc;
	if (!l.id)
		return bad(e, action, "", "a requirement needs an id");
	if (text) {
		const char *where = arena_printf(a, "%s: %s", action, l.id);
		struct bytes bytes = { (const uint8_t *)text->text, text->n };
		if (!json_text(text))
			return bad(e, action, l.id, "needs a text in \"expression\"");
		if (expression_compile(a, bytes, where, &x, e))
			return err_set(e, e->rc, "POLICY_EXPRESSION", "%s", arena_strdup(a, e->text));
		if (!expression_may_be_bool(x))
			return err_set(e, E_INPUT, "POLICY_EXPRESSION",
				"%s: the expression can never be true or false", where);
		l.expression = x;
	}
	if (!l.expression && !l.artifact_type)
		return bad(e, action, l.id,
			"needs an \"expression\" or an \"artifact_type\": nothing is no requirement");
	*ret = l;
	return OK;
}

static int read_logic(const struct json *doc, const char *action, enum logic *ret, struct err *e)
{
	static const char *const names[] = { "AND", "OR", "NOT" };
	const char *name = json_get_text(doc, "logic", "");

	*ret = LOGIC_AND;
	if (!name[0])
		return OK;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(names[i], name)) {
			*ret = (enum logic)i;
			return OK;
		}
	return bad(e, action, name, "is no logic; write AND, OR or NOT");
}

static int read_children(struct arena *a, const struct json *list, const char *action, int depth,
	struct requirement_set *s, struct err *e)
{
	struct requirement_set **children = arena_alloc(a, (list ? list->n + 1 : 1) * sizeof(void *));

	json_each (child, list)
		if (requirement_compile(a, child, action, depth + 1, &children[s->child_n++], e))
			return e->rc;
	s->children = children;
	return OK;
}

int requirement_compile(struct arena *a, const struct json *doc, const char *action, int depth,
	struct requirement_set **ret, struct err *e)
{
	static const char *const names[] = { "id", "logic", "requirements", "children", "origin", NULL };
	const struct json *leaves = json_get(doc, "requirements"), *children = json_get(doc, "children");
	struct requirement_set *s = arena_zalloc(a, 1, sizeof(*s));

	if (depth > SET_DEPTH)
		return err_set(e, E_LIMIT, "POLICY_SIZE",
			"requirements of '%s': sets may be %d deep in each other", action, SET_DEPTH);
	if (members_known(doc, names, action, e) || read_logic(doc, action, &s->logic, e))
		return e->rc;
	s->id = json_get_text(doc, "id", action);
	s->origin = json_get_text(doc, "origin", NULL);
	if ((leaves && !json_is(leaves, JSON_ARRAY)) || (children && !json_is(children, JSON_ARRAY)))
		return bad(e, action, s->id, "needs lists in \"requirements\" and \"children\"");
	struct requirement_leaf *l = arena_zalloc(a, leaves ? leaves->n + 1 : 1, sizeof(*l));
	json_each (leaf, leaves)
		if (read_leaf(a, leaf, action, &l[s->leaf_n++], e))
			return e->rc;
	s->leaves = l;
	if (read_children(a, children, action, depth, s, e))
		return e->rc;
	*ret = s;
	return OK;
}

/* ---- evaluating ---- */

struct asking {
	struct judging *j;
	struct buf failing; /* ids of what is not met */
	struct err error; /* the first */
	bool has_error;
};

static bool has_artifact(struct judging *j, const struct requirement_leaf *l)
{
	json_each (item, json_get(j->facts->known, "artifacts"))
		if (text_eq(json_get_text(item, "type", ""), l->artifact_type) &&
			(!l->signer_id || text_eq(json_get_text(item, "signer_id", ""), l->signer_id)))
			return true;
	return false;
}

static bool leaf_holds(struct asking *q, const struct requirement_leaf *l)
{
	struct err e = { 0 };
	enum requirement r;

	if (!l->expression)
		return has_artifact(q->j, l);
	r = expression_requirement(l->expression, gate_variables(q->j), q->j->a, &e);
	if (r == REQUIREMENT_ERROR && !q->has_error) {
		q->error = e;
		q->has_error = true;
	}
	return r == REQUIREMENT_SATISFIED;
}

static void note(struct asking *q, const char *id)
{
	buf_adds(&q->failing, q->failing.n ? ", " : "");
	buf_adds(&q->failing, id);
}

/* Everything is evaluated, so that an error is found wherever it is.  What fails is named by the innermost set that is not met. */
static bool set_holds(struct asking *q, const struct requirement_set *s)
{
	size_t all = s->leaf_n + s->child_n, met = 0;
	size_t names = q->failing.n;

	for (size_t i = 0; i < s->leaf_n; i++) {
		bool holds = leaf_holds(q, &s->leaves[i]);
		met += holds;
		if (!holds && s->logic != LOGIC_NOT)
			note(q, s->leaves[i].id);
	}
	for (size_t i = 0; i < s->child_n; i++)
		met += set_holds(q, s->children[i]);
	bool holds = all == 0 ||
		(s->logic == LOGIC_AND		       ? met == all
				: s->logic == LOGIC_OR ? met > 0
						       : met < all);
	if (holds || s->logic == LOGIC_NOT) {
		q->failing.n = names;
		q->failing.p[names] = '\0';
	}
	if (!holds && s->logic == LOGIC_NOT)
		note(q, s->id);
	return holds;
}

/* What a caller could say, by name and type, so that they learn what the policy reads without reading it. */
static const char *available(struct judging *j)
{
	struct buf b;

	buf_init(&b, j->a);
	json_each_member (m, j->ask->params)
		buf_addf(&b, "%sparams.%s (%s)", b.n ? ", " : "", m->name, json_type_name(m->value));
	return b.n ? b.p : "none";
}

static void judge_set(struct judging *j, const struct requirement_set *s, struct gate_answer *ret)
{
	struct asking q = { .j = j };

	buf_init(&q.failing, j->a);
	bool holds = set_holds(&q, s);
	if (q.has_error)
		gate_deny(ret, REASON_PRG_EVALUATION_ERROR, s->id, arena_strdup(j->a, q.error.text));
	else if (!holds)
		gate_deny(ret, REASON_MISSING_REQUIREMENT, s->id,
			arena_printf(j->a, "Not satisfied: %s. Given were: %s.", q.failing.p, available(j)));
	ret->origin = s->origin;
}

/* The set of the action and the one of the tool, each when there is one: naming another tool leaves out nothing. */
void gate_requirements(struct judging *j, struct gate_answer *ret)
{
	for (size_t i = 0; i < j->matched->bucket_n && ret->verdict == V_ALLOW; i++) {
		const struct requirement_set *s = j->matched->buckets[i]->set;
		if (!s)
			continue;
		ret->is_active = true;
		judge_set(j, s, ret);
	}
}

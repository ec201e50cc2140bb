/* graph.c — rules over graphs (dsl/) are asked about the request, whatever it is.
 *
 * What somebody wants to do is a change of a graph: who asks is an agent, what an effect touches is a node, and what leaves the machine is a flow.  Subjects that the request
 * names itself are asked about as well.  What they are compared with is known: `facts.graph` is the snapshot (what this session did so far), and every fact of the
 * request is a fact of the rules.  docs/formats/policy-dsl.md has the members. */
#include "decide/dsl/dsl.h"
#include "decide/engine/parts.h"

struct drawing {
	struct arena *a;
	struct json *subjects;
};

static struct json *begin_subject(struct drawing *d, const char *target)
{
	struct json *one = json_new(d->a, JSON_OBJECT), *value = json_new(d->a, JSON_OBJECT);

	json_sets(d->a, one, "target", target);
	json_set(d->a, one, "value", value);
	json_push(d->a, d->subjects, one);
	return value;
}

static void set_text(struct drawing *d, struct json *o, const char *name, const char *text)
{
	if (text)
		json_sets(d->a, o, name, text);
}

/* What goes to somebody else, or lets somebody else in. */
static bool is_flow(enum effect_kind k)
{
	return k == FX_NETWORK || k == FX_LISTEN || k == FX_REMOTE || k == FX_PUBLISH ||
		k == FX_REVERSE_SHELL || k == FX_FETCH_EXEC;
}

static void add_effect(struct drawing *d, const struct effect *f, const struct json *jurisdiction)
{
	struct json *v = begin_subject(d, is_flow(f->kind) ? "data_flow" : "node"),
		    *tags = json_new(d->a, JSON_ARRAY);

	json_sets(d->a, v, "node_type", effect_kind_name(f->kind));
	json_sets(d->a, v, "edge_type", effect_kind_name(f->kind));
	json_sets(d->a, v, "at", f->target ? f->target : "");
	json_sets(d->a, v, "class", path_class_name(f->path_class));
	set_text(d, v, "program", f->program);
	if (json_text(jurisdiction))
		json_sets(d->a, v, "jurisdiction", json_text(jurisdiction));
	if (f->tag)
		json_pushs(d->a, tags, f->tag);
	json_set(d->a, v, "tags", tags);
}

static void add_agent(struct drawing *d, const struct judging *j)
{
	struct json *v = begin_subject(d, "agent");
	const struct json *jurisdiction = json_get(j->facts->known, "jurisdiction");

	json_sets(d->a, v, "node_type", "AGENT");
	json_sets(d->a, v, "id", j->facts->principal ? j->facts->principal : j->ask->principal);
	json_sets(d->a, v, "action", j->ask->effect_type);
	set_text(d, v, "tool", j->ask->tool);
	if (json_text(jurisdiction))
		json_sets(d->a, v, "jurisdiction", json_text(jurisdiction));
}

/* Those of the request first, then who asks, then what was understood of it. */
static struct json *subjects_of(struct judging *j)
{
	struct drawing d = { j->a, json_new(j->a, JSON_ARRAY) };
	const struct json *named = json_get(j->ask->params, "subjects");
	const struct proposal *p = j->ask->proposal;

	json_each (one, named)
		json_push(j->a, d.subjects, one); /* read only from here on */
	add_agent(&d, j);
	for (size_t i = 0; p && i < p->effect_count; i++)
		add_effect(&d, &p->effects[i], json_get(j->facts->known, "jurisdiction"));
	return d.subjects;
}

/* The change that the request describes, where it describes one, with what is asked. */
static struct json *delta_of(struct judging *j)
{
	const struct json *given = json_get(j->ask->params, "delta");
	struct json *delta =
		json_is(given, JSON_OBJECT) ? json_copy(j->a, given) : json_new(j->a, JSON_OBJECT);

	json_sets(j->a, delta, "action", j->ask->effect_type);
	json_sets(j->a, delta, "principal", j->facts->principal ? j->facts->principal : j->ask->principal);
	json_sets(j->a, delta, "tool", j->ask->tool ? j->ask->tool : "");
	return delta;
}

static void add_known(struct arena *a, struct json *request, const char *name, const struct json *v)
{
	if (json_is(v, JSON_OBJECT))
		json_set(a, request, name, (struct json *)v); /* read only from here on */
}

/* The rule that would have changed a subject first; NULL: none. */
static const char *first_rewrite(const struct json *answer)
{
	json_each (subject, json_get(answer, "subjects"))
		json_each (rule, json_get(subject, "rewrites"))
			return json_text(rule) ? json_text(rule) : "rewrite";
	return NULL;
}

void gate_graph(struct judging *j, struct gate_answer *ret)
{
	struct json *request = json_new(j->a, JSON_OBJECT), *answer;
	const struct json *named = json_get(j->ask->params, "subjects");
	struct err e = { 0 };

	ret->is_active = true;
	if (named && !json_is(named, JSON_ARRAY)) {
		gate_deny(ret, REASON_PRG_EVALUATION_ERROR, NULL, "The subjects of the request are no list.");
		return;
	}
	json_set(j->a, request, "subjects", subjects_of(j));
	json_set(j->a, request, "delta", delta_of(j));
	add_known(j->a, request, "snapshot", json_get(j->facts->known, "graph"));
	add_known(j->a, request, "facts", j->facts->known);
	if (dsl_judge(j->a, j->rules->graph, request, &answer, &e)) {
		gate_deny(ret, REASON_PRG_EVALUATION_ERROR, NULL, arena_strdup(j->a, e.text));
		return;
	}
	const char *verdict = json_get_text(answer, "verdict", ""), *rewritten = first_rewrite(answer);
	if (text_eq(verdict, verdict_name(V_ALLOW)) && rewritten)
		gate_deny(ret, REASON_POLICY_VIOLATION, rewritten,
			"The rule allows this only in another form, and no entry point changes a request.");
	if (text_eq(verdict, verdict_name(V_ALLOW)))
		return;
	ret->verdict = text_eq(verdict, verdict_name(V_ESCALATE)) ? V_ESCALATE : V_DENY;
	ret->code = REASON_POLICY_VIOLATION;
	(void)code_find(json_get_text(answer, "reason_code", ""), &ret->code);
	ret->detail_code = json_get_text(answer, "code", NULL);
	ret->rule = json_get_text(answer, "rule", NULL);
	ret->bound = answer;
}

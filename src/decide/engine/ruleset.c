/* ruleset.c — a policy document becomes something that answers: its members are read here, its rules in rules.c.
 *
 * Nothing is skipped: a member, gate or format that is not known is an error, since a policy that is half understood would say less than
 * its author thinks. */
#include "decide/engine/parts.h"

#include "decide/authority/authority.h"
#include "decide/dsl/dsl.h"

#include <string.h>

/* The members that a document may have, and whether another folder understands it; who reads one checks it (checks.def). */
static const struct {
	const char *name;
	enum { MEMBER_own, MEMBER_section, MEMBER_file } reader;
} members[] = {
#define MEMBER(name, reader, page) { #name, MEMBER_##reader },
#include "decide/checks.def"
#undef MEMBER
};

static bool is_section(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (text_eq(members[i].name, name))
			return members[i].reader == MEMBER_section;
	return false;
}

static int bad(struct err *e, const char *fmt, const char *word)
{
	return err_set(e, E_INPUT, "POLICY_DOCUMENT", "policy: %s '%s'", fmt, word);
}

static int check_members(const struct json *doc, struct err *e)
{
	if (!json_is(doc, JSON_OBJECT))
		return bad(e, "a document must be an object, not", json_type_name(doc));
	json_each_member (m, doc) {
		size_t i = 0;
		while (i < ARRAY_SIZE(members) && !text_eq(members[i].name, m->name))
			i++;
		if (i == ARRAY_SIZE(members) || members[i].reader == MEMBER_file)
			return bad(e, "member is not known:", m->name);
	}
	return OK;
}

/* One of two words, or absent. */
static int read_choice(const struct json *doc, const char *name, const char *no, const char *yes,
	bool fallback, bool *ret, struct err *e)
{
	const struct json *v = json_get(doc, name);
	const char *text = json_text(v);

	*ret = fallback;
	if (!v)
		return OK;
	if (!text || (!text_eq(text, no) && !text_eq(text, yes)))
		return err_set(e, E_INPUT, "POLICY_DOCUMENT", "policy: \"%s\" must be \"%s\" or \"%s\"", name,
			no, yes);
	*ret = text_eq(text, yes);
	return OK;
}

static int read_head(struct arena *a, const struct json *doc, struct ruleset *r, struct err *e)
{
	int64_t epoch = 0;

	if (!text_eq(json_get_text(doc, "format", ""), "helm.policy.v1"))
		return bad(e, "\"format\" must be helm.policy.v1, not", json_get_text(doc, "format", ""));
	r->name = json_get_text(doc, "name", NULL);
	r->version = json_get_text(doc, "version", "");
	if (!r->name || !r->name[0])
		return bad(e, "needs a text that is not empty:", "name");
	if (json_get(doc, "epoch") && (!json_int(json_get(doc, "epoch"), &epoch) || epoch < 0))
		return bad(e, "must be a whole number from 0 on:", "epoch");
	r->epoch = (uint64_t)epoch;
	r->document = doc;
	r->sha256 = json_sha256(a, doc);
	if (read_choice(doc, "coverage", "open", "closed", true, &r->is_closed, e))
		return e->rc;
	return read_choice(doc, "missing_is", "false", "escalate", false, &r->is_strict, e);
}

/* What bounds nothing of a kind has nothing to check of that kind. */
static const char *lacking_for(const struct ruleset *r, enum gate_id g)
{
	const char *member = gate_member(g);

	if (!member || !json_get(r->document, member))
		return member;
	switch (g) {
	case GATE_ENVELOPE:
		return limits_envelope(r->limits) ? NULL : "limits.envelope";
	case GATE_VELOCITY:
		return limits_pace(r->limits) ? NULL : "limits.windows";
	case GATE_BUDGET:
		return limits_money(r->limits) ? NULL : "limits.budgets";
	default:
		return NULL;
	}
}

/* A gate that can never be active would deny everything for ever: that is said now. */
static int read_required(const struct json *list, struct ruleset *r, struct err *e)
{
	enum gate_id g;

	if (list && !json_is(list, JSON_ARRAY))
		return bad(e, "must be a list of gates:", "requires_gates");
	json_each (item, list) {
		const char *name = json_text(item);
		if (!name || !gate_parse(name, &g))
			return err_set(e, E_INPUT, "POLICY_GATE",
				"policy: \"requires_gates\" names '%s', and there is no such gate",
				name ? name : json_type_name(item));
		if (lacking_for(r, g))
			return err_set(e, E_INPUT, "POLICY_GATE",
				"policy: \"requires_gates\" names '%s', which has nothing to check without \"%s\": "
				"everything would be denied; add that, or take the name out",
				name, lacking_for(r, g));
		r->required |= UINT32_C(1) << g;
	}
	return OK;
}

static int read_schemas(struct arena *a, const struct json *map, const char *what, struct table *names,
	struct schema ***ret, struct err *e)
{
	size_t n = 0;

	if (map && !json_is(map, JSON_OBJECT))
		return bad(e, "must be an object of JSON schemas:", what);
	table_begin(names, a, map ? map->n : 0);
	*ret = arena_zalloc(a, map ? map->n + 1 : 1, sizeof(**ret));
	json_each_member (m, map) {
		(void)table_add(names, a, m->name, m->name_n);
		if (schema_compile(a, m->value, m->name, &(*ret)[n++], e))
			return err_set(
				e, e->rc, "POLICY_SCHEMA", "policy: %s: %s", what, arena_strdup(a, e->text));
	}
	return OK;
}

static int read_regions(struct arena *a, const struct json *list, struct ruleset *r, struct err *e)
{
	static const char *const names[] = { "match", "region", NULL };

	if (list && !json_is(list, JSON_ARRAY))
		return bad(e, "must be a list:", "regions");
	r->regions = arena_zalloc(a, list ? list->n + 1 : 1, sizeof(*r->regions));
	json_each (item, list) {
		struct region g = { json_get_text(item, "match", NULL), json_get_text(item, "region", NULL) };
		if (members_known(item, names, "regions", e))
			return e->rc;
		if (!g.match || !g.region)
			return bad(e, "each needs \"match\" and \"region\":", "regions");
		g.match = text_fold(a, g.match, strlen(g.match));
		r->regions[r->region_n++] = g;
	}
	return OK;
}

static bool is_text_list(const struct json *list)
{
	json_each (item, list)
		if (!json_text(item))
			return false;
	return json_is(list, JSON_ARRAY);
}

static int read_sandbox(struct arena *a, const struct json *doc, struct ruleset *r, struct err *e)
{
	static const char *const names[] = { "actions", "runtimes", "commands", "min_gas", NULL };
	struct sandbox_rules *s = arena_zalloc(a, 1, sizeof(*s));

	if (!doc)
		return OK;
	if (members_known(doc, names, "sandbox", e))
		return e->rc;
	s->actions = json_get(doc, "actions");
	s->runtimes = json_get(doc, "runtimes");
	s->commands = json_get(doc, "commands");
	s->min_gas = json_get_int(doc, "min_gas", -1);
	if (!is_text_list(s->actions) || !is_text_list(s->runtimes) || !is_text_list(s->commands) ||
		s->min_gas < 0)
		return bad(e, "needs lists of texts actions, runtimes and commands, and min_gas from 0 on:",
			"sandbox");
	r->sandbox = s;
	return OK;
}

static int read_graph(struct arena *a, const struct json *v, struct ruleset *r, struct err *e)
{
	struct dsl_problems problems = { 0 };

	if (!v)
		return OK;
	if (!json_text(v))
		return bad(e, "must be a text:", "graph");
	r->graph = dsl_compile(a, (struct bytes){ (const uint8_t *)v->text, v->n }, &problems);
	if (r->graph)
		return OK;
	/* Without a policy there is an error among them. */
	const struct dsl_problem *p = problems.items;
	while (p->is_warning)
		p++;
	return err_set(e, E_INPUT, "POLICY_EXPRESSION", "policy: graph:%u:%u: %s: %s", p->line, p->column,
		p->word, p->text);
}

static int read_limits(struct arena *a, const struct json *doc, struct ruleset *r, struct err *e)
{
	return doc ? limits_compile(a, doc, &r->limits, e) : OK;
}

/* Gates that this policy itself gives something to do. */
static uint32_t configured_gates(const struct ruleset *r)
{
	uint32_t bits = UINT32_C(1) << GATE_RULES | (uint32_t)r->is_closed << GATE_COVERAGE;

	for (unsigned g = 0; g < GATE_COUNT; g++) {
		const char *member = gate_member((enum gate_id)g);
		bits |= (uint32_t)(member && json_get(r->document, member)) << g;
	}
	return bits;
}

/* Does what its rules say rest on the names of actions alone?  Then what they allow is seen at once (match.c). */
static bool is_plain(const struct ruleset *r)
{
	return !r->pack_n && !r->has_patterns && !r->has_effects && !json_get(r->document, "requirements");
}

int ruleset_compile(struct arena *a, const struct json *document, struct ruleset **ret, struct err *e)
{
	struct ruleset *r = arena_zalloc(a, 1, sizeof(*r));

	if (check_members(document, e) || read_head(a, document, r, e) || rules_compile(a, r, document, e) ||
		rules_index(a, r, json_get(document, "requirements"), e) ||
		read_schemas(a, json_get(document, "schemas"), "schemas", &r->schema_names, &r->schemas, e) ||
		read_schemas(a, json_get(document, "output_schemas"), "output_schemas", &r->output_names,
			&r->outputs, e) ||
		read_regions(a, json_get(document, "regions"), r, e) ||
		read_sandbox(a, json_get(document, "sandbox"), r, e) ||
		read_graph(a, json_get(document, "graph"), r, e) ||
		read_limits(a, json_get(document, "limits"), r, e) || authority_sections(a, document, e) ||
		read_required(json_get(document, "requires_gates"), r, e))
		return e->rc;
	r->configured = configured_gates(r);
	r->is_plain = is_plain(r);
	*ret = r;
	return OK;
}

/* ---- looking at it ---- */

const char *ruleset_name(const struct ruleset *r)
{
	return r->name;
}

const char *ruleset_version(const struct ruleset *r)
{
	return r->version;
}

const char *ruleset_sha256(const struct ruleset *r)
{
	return r->sha256;
}

uint64_t ruleset_epoch(const struct ruleset *r)
{
	return r->epoch;
}

const struct json *ruleset_document(const struct ruleset *r)
{
	return r->document;
}

const struct limits *ruleset_limits(const struct ruleset *r)
{
	return r->limits;
}

const struct json *ruleset_section(const struct ruleset *r, const char *name)
{
	return is_section(name) ? json_get(r->document, name) : NULL;
}

static bool is_about_paths(const struct test *t)
{
	return t->op == OP_PATH_UNDER || t->op == OP_PATH_NAMES;
}

static void add_places(struct arena *a, const struct test *t, struct table *seen, struct json *to)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct json *v = t->values[i];
		if (v->text[0] == '/' && table_add(seen, a, v->text, v->n) == to->n)
			json_pushs(a, to, v->text);
	}
}

struct json *ruleset_places(struct arena *a, const struct ruleset *r)
{
	struct json *list = NULL;
	struct table seen;

	for (size_t i = 0; i < r->rule_n; i++)
		for (uint16_t k = 0; k < r->rules[i]->test_n; k++) {
			if (!is_about_paths(&r->rules[i]->tests[k]))
				continue;
			if (!list) {
				list = json_new(a, JSON_ARRAY);
				table_begin(&seen, a, 16);
			}
			add_places(a, &r->rules[i]->tests[k], &seen, list);
		}
	return list;
}

bool ruleset_requires(const struct ruleset *r, enum gate_id g)
{
	return r->required >> g & 1;
}

bool ruleset_wants(const struct ruleset *r, enum gate_id g)
{
	return (r->required | r->configured) >> g & 1;
}

size_t ruleset_rule_count(const struct ruleset *r)
{
	return r->rule_n;
}

bool ruleset_rule(const struct ruleset *r, size_t i, struct ruleset_rule *ret)
{
	if (i >= r->rule_n)
		return false;
	static const struct rule_about nothing = { 0 };
	const struct rule *x = r->rules[i];
	const struct rule_about *about = x->about ? x->about : &nothing;
	*ret = (struct ruleset_rule){ .id = x->id,
		.layer = r->groups[x->group].name,
		.origin = about->origin,
		.text = about->text,
		.verdict = x->verdict,
		.code = x->code,
		.detail_code = about->detail_code,
		.document = x->document };
	return true;
}

/* read.c — which kind of file it is, and the reader of that kind. */
#include "base/conf.h"
#include "base/toml.h"
#include "decide/bundle/parts.h"

#include <stdlib.h>
#include <string.h>

static const char *const shape_names[POLICY_SHAPE_COUNT] = {
#define POLICY_SHAPE_NAME(id, name) [POLICY_SHAPE_##id] = name,
	POLICY_SHAPES(POLICY_SHAPE_NAME)
#undef POLICY_SHAPE_NAME
};

const char *policy_shape_name(enum policy_shape s)
{
	return shape_names[s];
}

enum policy_shape policy_shape_find(const char *name)
{
	size_t i = POLICY_SHAPE_DETECT + 1;

	while (i < POLICY_SHAPE_COUNT && !text_eq(name, shape_names[i]))
		i++;
	return (enum policy_shape)i;
}

static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/* ---- which one ---- */

/* The first byte that says something: behind blanks, and comments of that sign. */
static struct bytes behind_comments(struct bytes t, const char *comment)
{
	size_t n = strlen(comment);

	for (;;) {
		while (t.n > 0 && memchr(" \t\r\n", t.p[0], 4)) {
			t.p++;
			t.n--;
		}
		if (t.n < n || memcmp(t.p, comment, n) != 0)
			return t;
		(void)text_cut(&t, '\n');
		if (!t.p)
			return (struct bytes){ (const uint8_t *)"", 0 };
	}
}

static bool starts_word(struct bytes t, const char *word)
{
	size_t n = strlen(word);

	return t.n > n && memcmp(t.p, word, n) == 0 && (t.p[n] == ' ' || t.p[n] == '\t');
}

static bool is_graph_text(const struct policy_input *in)
{
	struct bytes t = behind_comments(in->text, "//");

	return starts_word(t, "module") || starts_word(t, "bundle");
}

/* `key = ...` or `[table]` on the first line that says something. */
static bool is_toml_text(const struct policy_input *in)
{
	struct bytes t = behind_comments(in->text, "#"), line;

	if (text_ends(in->name, ".toml"))
		return true;
	if (text_ends(in->name, ".yaml") || text_ends(in->name, ".yml") || text_ends(in->name, ".json"))
		return false;
	line = text_cut(&t, '\n');
	const uint8_t *equals = line.n ? memchr(line.p, '=', line.n) : NULL,
		      *colon = line.n ? memchr(line.p, ':', line.n) : NULL;
	if (line.n > 2 && line.p[0] == '[' && line.p[1] != '{' && line.p[1] != '[' &&
		memchr(line.p, ']', line.n))
		return true;
	return equals && (!colon || equals < colon) && line.p[0] != '{';
}

static bool has(const struct json *v, const char *name)
{
	return json_get(v, name) != NULL;
}

static bool is_requirements(const struct json *v)
{
	json_each_member (m, v)
		if (!has(m->value, "requirements") && !has(m->value, "children") && !has(m->value, "logic"))
			return false;
	return json_is(v, JSON_OBJECT) && v->n > 0;
}

/* The three older shapes, told apart by the members of their rules. */
static enum policy_shape older_shape(const struct json *v)
{
	const struct json *rule = json_at(json_get(v, "rules"), 0);

	if (has(v, "bundle_id") || has(rule, "rule_id"))
		return POLICY_SHAPE_MANAGED;
	if (has(rule, "conditions") || has(rule, "effect") || (has(v, "id") && !has(v, "name")))
		return POLICY_SHAPE_LINT;
	return POLICY_SHAPE_LOADER;
}

/* A policy document without its first line: no other shape has rules with these two members beside each other. */
static bool lacks_format(const struct json *v)
{
	const struct json *rule = json_at(json_get(v, "rules"), 0);

	return has(rule, "verdict") && (has(rule, "action") || has(rule, "actions"));
}

static enum policy_shape shape_of_tree(const struct json *v)
{
	const char *kind = json_get_text(v, "kind", "");

	if (json_is(v, JSON_ARRAY))
		return POLICY_SHAPE_LAYERS;
	if (has(v, "format"))
		return POLICY_SHAPE_DOCUMENT;
	if (has(v, "spec") || text_ends(kind, "Pack") || text_ends(kind, "Preset"))
		return POLICY_SHAPE_PACKS;
	if (has(v, "metadata") || has(v, "apiVersion") || has(v, "kind"))
		return POLICY_SHAPE_BUNDLE;
	if (has(v, "pack_id"))
		return has(v, "programs") ? POLICY_SHAPE_MAPPING : POLICY_SHAPE_ACTIONS;
	if (has(v, "layers") || (has(v, "priority") && has(v, "rules")))
		return POLICY_SHAPE_LAYERS;
	if (json_is(json_get(v, "requirements"), JSON_OBJECT) || is_requirements(v))
		return POLICY_SHAPE_REQUIREMENTS;
	if (has(v, "rules"))
		return lacks_format(v) ? POLICY_SHAPE_COUNT : older_shape(v);
	return POLICY_SHAPE_COUNT;
}

static enum policy_shape shape_of_toml(const struct json *v)
{
	return has(v, "app") || has(v, "substrate") || has(v, "skill") ? POLICY_SHAPE_LAUNCH
								       : POLICY_SHAPE_SERVE;
}

/* ---- reading ---- */

/* Several documents in one text are packs; nothing else may come in a row. */
static int parse_yaml(struct reading *r, struct err *e)
{
	struct json *list;

	if (conf_parse_yaml_all(r->a, r->in->text, r->in->name, &list, e))
		return e->rc;
	r->tree = list->n == 1 ? list->items[0] : list;
	if (list->n == 1)
		return OK;
	json_each (doc, list) {
		if (shape_of_tree(doc) != POLICY_SHAPE_PACKS)
			return err_set(e, E_INPUT, "CONF_DOCUMENTS",
				"%s: expected one document, found %u; only packs may stand in one file together",
				r->in->name, list->n);
	}
	r->ret->shape = POLICY_SHAPE_PACKS;
	return OK;
}

static int parse(struct reading *r, struct err *e)
{
	struct bytes t = behind_comments(r->in->text, "#");

	if (is_toml_text(r->in)) {
		if (toml_parse(r->a, r->in->text, r->in->name, &r->tree, e))
			return e->rc;
		r->ret->shape = shape_of_toml(r->tree);
	} else if (t.n > 0 && (t.p[0] == '{' || t.p[0] == '[') && !text_ends(r->in->name, ".yaml")) {
		if (json_parse(r->a, r->in->text, r->in->name, NULL, &r->tree, e))
			return e->rc;
	} else if (parse_yaml(r, e)) {
		return e->rc;
	}
	if (r->ret->shape == POLICY_SHAPE_DETECT)
		r->ret->shape = shape_of_tree(r->tree);
	r->ret->source = r->tree;
	return OK;
}

/* A shape that the caller names must be one the file can have. */
static int choose(struct reading *r, struct err *e)
{
	enum policy_shape wanted = r->in->shape, found = r->ret->shape;

	if (found == POLICY_SHAPE_COUNT && lacks_format(r->tree))
		return err_set(e, E_INPUT, "POLICY_SHAPE",
			"%s has no 'format'; write 'format: helm.policy.v1' as its first line", r->in->name);
	if (found == POLICY_SHAPE_COUNT)
		return err_set(e, E_INPUT, "POLICY_SHAPE",
			"%s is no policy file that is known here: it has neither 'format', 'metadata', 'spec', 'layers', "
			"'requirements' nor 'pack_id'; 'helm policy new' writes one to start from",
			r->in->name);
	if (wanted != POLICY_SHAPE_DETECT && wanted != found)
		return err_set(e, E_INPUT, "POLICY_SHAPE", "%s is read as '%s', not as '%s'", r->in->name,
			policy_shape_name(found), policy_shape_name(wanted));
	if (found >= POLICY_SHAPE_LINT && !r->in->is_import)
		return err_set(e, E_INPUT, "POLICY_SHAPE",
			"%s has the older shape '%s'; 'helm policy import' makes a policy of it", r->in->name,
			policy_shape_name(found));
	return OK;
}

typedef void reader_fn(struct reading *r);
static reader_fn *const readers[POLICY_SHAPE_COUNT] = {
	[POLICY_SHAPE_DOCUMENT] = read_document,
	[POLICY_SHAPE_BUNDLE] = read_bundle,
	[POLICY_SHAPE_PACKS] = read_packs,
	[POLICY_SHAPE_SERVE] = read_serve,
	[POLICY_SHAPE_ACTIONS] = read_actions,
	[POLICY_SHAPE_MAPPING] = read_mapping,
	[POLICY_SHAPE_LAYERS] = read_layers,
	[POLICY_SHAPE_REQUIREMENTS] = read_requirements,
	[POLICY_SHAPE_LAUNCH] = read_launch,
	[POLICY_SHAPE_GRAPH] = read_graph,
	[POLICY_SHAPE_LINT] = read_older,
	[POLICY_SHAPE_MANAGED] = read_older,
	[POLICY_SHAPE_LOADER] = read_older,
};

/* A text that could not be read is a problem, too, so that whoever lists problems lists everything.  "name:line:column: " of the message becomes its place. */
static int unreadable(struct reading *r, const struct err *e)
{
	struct policy_problem p = { .severity = POLICY_ERROR,
		.code = arena_strdup(r->a, e->code),
		.file = r->in->name,
		.word = "",
		.text = arena_strdup(r->a, e->text),
		.fix = "" };
	const char *behind = text_starts(e->text, r->in->name) ? e->text + strlen(r->in->name) : NULL;
	char *rest;

	if (behind && *behind == ' ') {
		p.text = arena_printf(r->a, "this file%s", behind);
	} else if (behind && behind[1] == ' ') {
		p.text = arena_strdup(r->a, behind + 2);
	} else if (behind) {
		p.line = (uint32_t)strtoul(behind + 1, &rest, 10);
		p.column = rest[1] == ' ' ? 1 : (uint32_t)strtoul(rest + 1, &rest, 10);
		p.text = arena_strdup(r->a, rest + strspn(rest, ": "));
	}
	problem_add(r->a, r->problems, &p);
	return e->rc;
}

int policy_document_read(
	struct arena *a, const struct policy_input *in, struct policy_reading *ret, struct err *e)
{
	struct reading r = {
		.a = a, .in = in, .file = last_part(in->name), .ret = ret, .problems = &ret->problems
	};
	struct err local;

	e = e ? e : &local;
	*ret = (struct policy_reading){ .text = in->text, .file = in->name, .name = "", .version = "" };
	if (in->text.n > POLICY_MAX_BYTES) {
		(void)err_set(e, E_LIMIT, "POLICY_SIZE", "%s has more than %d MiB", in->name,
			POLICY_MAX_BYTES >> 20);
		return unreadable(&r, e);
	}
	if (in->text.n >= 3 && memcmp(in->text.p, "\xEF\xBB\xBF", 3) == 0) {
		(void)err_set(e, E_INPUT, "POLICY_BOM",
			"%s:1:1: the file begins with a byte order mark (UTF-8 BOM); save it without one",
			in->name);
		return unreadable(&r, e);
	}
	if (is_graph_text(in))
		ret->shape = POLICY_SHAPE_GRAPH;
	else if (parse(&r, e))
		return unreadable(&r, e);
	if (choose(&r, e))
		return unreadable(&r, e);
	readers[ret->shape](&r);
	if (ret->problems.errors)
		return problems_error(a, &ret->problems, e);
	ret->document = r.document;
	return OK;
}

/* function.c — the functions of the language: one table, and what they do.
 *
 * Their arguments were evaluated and have the kinds that the row says; so a function only calculates.  Work on
 * long texts is charged. */
#include "decide/expression/parts.h"

#include <string.h>

static size_t characters(struct bytes text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += (text.p[i] & 0xc0) != 0x80;
	return n;
}

static struct value run_size(struct machine *m, const struct node *n, const struct value *v)
{
	(void)n;
	if (v->kind != KIND_STRING)
		return value_int((int64_t)v->n);
	m->cost += v->text.n / BYTES_PER_COST;
	return value_int((int64_t)characters(v->text));
}

static struct value run_starts(struct machine *m, const struct node *n, const struct value *v)
{
	struct bytes text = v[0].text, part = v[1].text;

	(void)n;
	m->cost += part.n / BYTES_PER_COST;
	return value_bool(text.n >= part.n && bytes_eq((struct bytes){ text.p, part.n }, part));
}

static struct value run_ends(struct machine *m, const struct node *n, const struct value *v)
{
	struct bytes text = v[0].text, part = v[1].text;

	(void)n;
	m->cost += part.n / BYTES_PER_COST;
	return value_bool(
		text.n >= part.n && bytes_eq((struct bytes){ text.p + (text.n - part.n), part.n }, part));
}

static struct value run_contains(struct machine *m, const struct node *n, const struct value *v)
{
	(void)n;
	m->cost += v[0].text.n / BYTES_PER_COST;
	return value_bool(
		v[1].text.n == 0 || memmem(v[0].text.p, v[0].text.n, v[1].text.p, v[1].text.n) != NULL);
}

/* A pattern that is no constant is compiled for this one search.  Visited states count a quarter of a step each. */
static struct value run_matches(struct machine *m, const struct node *n, const struct value *v)
{
	enum { STATES_PER_COST = 4, COMPILING = 50 };
	struct arena_mark mark = arena_mark(m->a);
	struct regex *regex = n->regex;

	if (!regex) {
		if (!charge(m, COMPILING + v[1].text.n))
			return value_fail(FAIL_COST, n->word);
		if (regex_compile(m->a, v[1].text, &regex, NULL))
			return value_fail(FAIL_PATTERN, n->word);
	}
	/* Making room for all states. */
	m->cost += regex_states(regex) / BYTES_PER_COST;
	uint64_t left = m->cost < EXPRESSION_COST ? (EXPRESSION_COST - m->cost) * STATES_PER_COST : 0;
	uint64_t before = left;
	int found = regex_search(regex, m->a, v[0].text, &left);
	m->cost += (before - left) / STATES_PER_COST + (found < 0);
	arena_release(m->a, mark);
	return found < 0 ? value_fail(FAIL_COST, n->word) : value_bool(found);
}

/* Is the label among these?  A list of labels that holds anything else is refused, since a label could hide behind it. */
static struct value find_label(
	struct machine *m, const struct node *n, const struct value *labels, const struct value *label)
{
	bool is_found = false;

	for (size_t i = 0; i < labels->n; i++) {
		struct value here = value_item(labels, i, n->word);
		if (!charge(m, 1))
			return value_fail(FAIL_COST, n->word);
		if (here.kind != KIND_STRING)
			return here.kind == KIND_ERROR ? here : value_clash(n->word, here.kind, 0);
		is_found = is_found || value_compare(&here, label) == 0;
	}
	return value_bool(is_found);
}

static struct value run_taint_of(struct machine *m, const struct node *n, const struct value *v)
{
	return find_label(m, n, &v[0], &v[1]);
}

/* The labels of the input itself: `taint`, or `input.taint`. */
static struct value run_taint(struct machine *m, const struct node *n, const struct value *v)
{
	const struct json *labels = json_get(m->variables, "taint");

	if (!labels)
		labels = json_get(json_get(m->variables, "input"), "taint");
	if (!labels)
		return value_fail(FAIL_VARIABLE, n->word);
	struct value list = value_of_json(labels, n->word);
	if (list.kind != KIND_LIST)
		return list.kind == KIND_ERROR ? list : value_clash(n->word, list.kind, 0);
	return find_label(m, n, &list, v);
}

static const struct function functions[] = {
	{ "size", 1, true, true, { KIND_STRING | KIND_LIST | KIND_MAP }, KIND_INT, run_size },
	{ "startsWith", 2, true, false, { KIND_STRING, KIND_STRING }, KIND_BOOL, run_starts },
	{ "endsWith", 2, true, false, { KIND_STRING, KIND_STRING }, KIND_BOOL, run_ends },
	{ "contains", 2, true, false, { KIND_STRING, KIND_STRING }, KIND_BOOL, run_contains },
	{ "matches", 2, true, true, { KIND_STRING, KIND_STRING }, KIND_BOOL, run_matches },
	{ "taint_contains", 1, false, true, { KIND_STRING }, KIND_BOOL, run_taint },
	{ "taint_contains", 2, false, true, { KIND_LIST, KIND_STRING }, KIND_BOOL, run_taint_of },
};

const struct function *function_find(struct bytes name, size_t arguments, bool is_method)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const struct function *f = &functions[i];
		if (f->arguments == arguments && (is_method ? f->is_method : f->is_global) &&
			bytes_is(name, f->name))
			return f;
	}
	return NULL;
}

const char *function_nearest(struct arena *a, struct bytes name)
{
	const char *names[ARRAY_SIZE(functions)];

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		names[i] = functions[i].name;
	return text_nearest(arena_strndup(a, (const char *)name.p, name.n), names, ARRAY_SIZE(functions));
}

bool function_is_matches(const struct function *f)
{
	return f && f->run == run_matches;
}

/* rewrite.c — what a rule with `enforce: rewrite` does to a copy of the change.
 *
 * The request itself is never touched: rules are tried again on the copy, and whoever acts upon the answer must take the copy.  Operations
 * only add or narrow. */
#include "decide/dsl/run.h"

#include <stdlib.h>
#include <string.h>

/* The value an operation is about: the argument of that name, or the first without a name. */
static const struct dsl_arg *about(const struct dsl_op *op, const char *name)
{
	const struct dsl_arg *unnamed = NULL;

	for (const struct dsl_arg *arg = op->args; arg; arg = arg->next) {
		if (arg->name && text_eq(arg->name, name))
			return arg;
		if (!arg->name && !unnamed)
			unnamed = arg;
	}
	return unnamed;
}

/* It as a string; NULL with an error when it is none. */
static const struct json *text_of(struct run *run, const struct dsl_op *op, const char *name)
{
	const struct dsl_arg *arg = about(op, name);
	const struct json *found = NULL;

	if (arg)
		found = arg->path ? run_find(run, arg->path) : dsl_value_json(run->a, &arg->literal);
	if (!json_is(found, JSON_STRING) && !run->error)
		run->error = arena_printf(run->a, "'%s' needs %s = a string", op->name, name);
	return run->error ? NULL : found;
}

/* An operation on members works on the subject; one that names another target cannot be done. */
static void check_target(struct run *run, const struct dsl_op *op)
{
	const char *subject = run_subject_name(run->target);

	for (const struct dsl_arg *arg = op->args; arg; arg = arg->next) {
		const struct dsl_path *path = arg->path;
		if (!arg->name || !text_eq(arg->name, "target"))
			continue;
		if (!path || path->n != 2 || !text_eq(path->names[0], "delta") ||
			!text_eq(path->names[1], subject))
			run->error =
				arena_printf(run->a, "'%s' can only change delta.%s here", op->name, subject);
	}
}

static int by_bytes(const void *x, const void *y)
{
	const struct json *p = *(struct json *const *)x, *q = *(struct json *const *)y;
	int order = memcmp(p->text, q->text, p->n < q->n ? p->n : q->n);

	return order ? order : (p->n > q->n) - (p->n < q->n);
}

/* Add a string to a list of the subject, which becomes a sorted set. */
static void add_to(struct run *run, const char *member, const struct json *text)
{
	const struct json *old = dsl_member(run->subject, member);
	struct json *list = json_new(run->a, JSON_ARRAY);

	if (dsl_value_of(old).type != TYPE_LIST) {
		run->error = arena_printf(run->a, "member '%s' is not a list of strings", member);
		return;
	}
	json_each (item, old)
		json_push(run->a, list, item);
	json_push(run->a, list, json_copy(run->a, text));
	qsort(list->items, list->n, sizeof *list->items, by_bytes);
	struct json *set = json_new(run->a, JSON_ARRAY);
	json_each (item, list) {
		if (set->n == 0 || by_bytes(&item, &set->items[set->n - 1]) != 0)
			json_push(run->a, set, item);
	}
	json_set(run->a, run->subject, member, set);
}

/* Everything else is noted in a list of the change that has the operation's name. */
static void append(struct run *run, const struct dsl_op *op)
{
	struct json *list;

	if (!run->delta)
		run->delta = json_new(run->a, JSON_OBJECT);
	list = json_get(run->delta, op->name);
	if (!list) {
		list = json_new(run->a, JSON_ARRAY);
		json_set(run->a, run->delta, op->name, list);
	}
	if (!json_is(list, JSON_ARRAY)) {
		run->error = arena_printf(run->a, "delta.%s is not a list", op->name);
		return;
	}
	json_push(run->a, list, run_args(run, op->args));
}

static void apply(struct run *run, const struct dsl_op *op)
{
	static const struct {
		const char *op, *argument, *member;
	} rows[] = { { "add_tag", "tag", "tags" }, { "attach_primitive", "primitive", "primitives" },
		{ "bind_jurisdiction", "jurisdiction", NULL } };
	const struct json *text;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!text_eq(op->name, rows[i].op))
			continue;
		check_target(run, op);
		text = text_of(run, op, rows[i].argument);
		if (text && rows[i].member)
			add_to(run, rows[i].member, text);
		else if (text)
			json_set(run->a, run->subject, "jurisdiction", json_copy(run->a, text));
		return;
	}
	append(run, op);
}

void run_rewrite(struct run *run, const struct dsl_op *ops)
{
	struct json *subject = run->subject, *delta = run->delta;

	run->subject = json_copy(run->a, subject);
	run->delta = delta ? json_copy(run->a, delta) : NULL;
	for (const struct dsl_op *op = ops; op && !run->error; op = op->next)
		apply(run, op);
	if (run->error) {
		run->subject = subject;
		run->delta = delta;
	}
}

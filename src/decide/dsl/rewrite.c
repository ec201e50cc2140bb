/* rewrite.c — what a rule with `enforce: rewrite` makes of the change.
 *
 * The request itself is never touched: rules are tried again on new objects that share what did not change, and whoever acts upon the answer must
 * take those.  Operations only add or narrow.  Making objects costs fuel, so that long ones cannot be made again and again. */
#include "decide/dsl/run.h"

#include <stdlib.h>
#include <string.h>

/* Operations that change the subject: what says how, and the set that grows. */
static const struct {
	const char *op, *argument, *member;
} own_ops[] = { { "add_tag", "tag", "tags" }, { "attach_primitive", "primitive", "primitives" },
	{ "bind_jurisdiction", "jurisdiction", NULL } };

const char *dsl_about_name(const struct dsl_op *op, const char **ret_member)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_ops); i++)
		if (text_eq(op->name, own_ops[i].op)) {
			*ret_member = own_ops[i].member;
			return own_ops[i].argument;
		}
	return NULL;
}

const struct dsl_arg *dsl_about(const struct dsl_op *op, const char *name)
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
	const struct dsl_arg *arg = dsl_about(op, name);
	const struct json *found = NULL;

	if (arg)
		found = arg->path ? run_find(run, arg->path) : dsl_value_json(run->a, &arg->literal);
	if (!json_is(found, JSON_STRING))
		run_fail(run, arena_printf(run->a, "'%s' needs %s = a string", op->name, name));
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

enum { COST = 8 };

/* A new object with the members of an old one and one of them set; NULL, with an error, when it costs too much. */
static const struct json *with(
	struct run *run, const struct json *object, const char *name, struct json *value)
{
	size_t n = object ? object->n : 0;
	struct json *made;

	if (!run_burn(run, COST * n))
		return object;
	made = json_new(run->a, JSON_OBJECT);
	made->members = arena_zalloc(run->a, n + 1, sizeof *made->members);
	made->n = (uint32_t)n;
	made->cap = (uint32_t)n + 1;
	if (n)
		memcpy(made->members, object->members, n * sizeof *made->members);
	json_set(run->a, made, name, value);
	return made;
}

/* A new list with the items of an old one and one more. */
static struct json *list_with(struct run *run, const struct json *old, struct json *item)
{
	struct json *list = json_new(run->a, JSON_ARRAY);

	if (!run_burn(run, COST * (old ? old->n : 0)))
		return list;
	json_each (i, old)
		json_push(run->a, list, i);
	json_push(run->a, list, item);
	return list;
}

/* Add a string to a list of the subject, which becomes a sorted set. */
static void add_to(struct run *run, const char *member, const struct json *text)
{
	const struct json *old = dsl_member(run->subject, member);
	struct json *list, *set = json_new(run->a, JSON_ARRAY);

	if (dsl_value_of(old).type != TYPE_LIST) {
		run_fail(run, arena_printf(run->a, "member '%s' is not a list of strings", member));
		return;
	}
	list = list_with(run, old, json_copy(run->a, text));
	if (list->n)
		qsort(list->items, list->n, sizeof *list->items, by_bytes);
	json_each (item, list) {
		if (set->n == 0 || by_bytes(&item, &set->items[set->n - 1]) != 0)
			json_push(run->a, set, item);
	}
	run->subject = with(run, run->subject, member, set);
}

/* Everything else is noted in a list of the change that has the operation's name. */
static void append(struct run *run, const struct dsl_op *op)
{
	const struct json *old = json_get(run->delta, op->name);

	if (old && !json_is(old, JSON_ARRAY)) {
		run_fail(run, arena_printf(run->a, "delta.%s is not a list", op->name));
		return;
	}
	run->delta = with(run, run->delta, op->name, list_with(run, old, run_args(run, op->args)));
}

static void apply(struct run *run, const struct dsl_op *op)
{
	const char *member = NULL, *name = dsl_about_name(op, &member);
	const struct json *text;

	if (!name) {
		append(run, op);
		return;
	}
	check_target(run, op);
	text = text_of(run, op, name);
	if (text && member)
		add_to(run, member, text);
	else if (text)
		run->subject = with(run, run->subject, "jurisdiction", json_copy(run->a, text));
}

void run_rewrite(struct run *run, const struct dsl_op *ops)
{
	const struct json *subject = run->subject, *delta = run->delta;

	for (const struct dsl_op *op = ops; op && !run->error; op = op->next)
		apply(run, op);
	if (run->error) {
		run->subject = subject;
		run->delta = delta;
	}
}

/* run.c — the machine that runs scopes and conditions.
 *
 * Every instruction costs one unit of fuel, and looking through something long costs more, so that no policy and no request can hold it up.  An
 * error stops the rule; nothing after it is looked at, and the caller denies. */
#include "decide/dsl/run.h"

#include <string.h>

enum { LOOKS_PER_UNIT = 64 };

void run_fail(struct run *run, const char *why)
{
	if (!run->error)
		run->error = why;
}

bool run_burn(struct run *run, size_t looks)
{
	run->fuel -= 1 + (int64_t)(looks / LOOKS_PER_UNIT);
	if (run->fuel < 0)
		run_fail(run, "the rules need more steps than one subject is given");
	return run->fuel >= 0;
}

static void note(struct run *run, const char *name, bool is_fact, const struct json *value)
{
	if (run->note_n < RUN_NOTES)
		run->notes[run->note_n++] = (struct run_note){ name, is_fact, value };
}

const char *run_subject_name(enum dsl_target target)
{
	return target == TARGET_EDGE				  ? "edge"
		: target == TARGET_NODE || target == TARGET_AGENT ? "node"
								  : "flow";
}

const struct json *dsl_member(const struct json *object, const char *name)
{
	static const struct json none = { .type = JSON_ARRAY };
	const struct json *found = json_get(object, name);

	if (!found && json_is(object, JSON_OBJECT) && (text_eq(name, "tags") || text_eq(name, "primitives")))
		return &none;
	return found;
}

/* From an object down the names of a path. */
static const struct json *walk(
	struct run *run, const struct json *from, const struct dsl_path *path, size_t i)
{
	for (; from && i < path->n; i++) {
		if (!run_burn(run, from->n))
			return NULL;
		from = from == run->subject ? dsl_member(from, path->names[i])
					    : json_get(from, path->names[i]);
	}
	return from;
}

const struct json *run_find(struct run *run, const struct dsl_path *path)
{
	if (text_eq(path->names[0], "snapshot"))
		return walk(run, run->snapshot, path, 1);
	if (text_eq(path->names[1], run_subject_name(run->target)))
		return walk(run, run->subject, path, 2);
	return walk(run, run->delta, path, 1);
}

static struct dsl_value read_value(struct run *run, const struct json *doc)
{
	if (json_is(doc, JSON_ARRAY) || json_is(doc, JSON_STRING))
		(void)run_burn(run, doc->n);
	return dsl_value_of(doc);
}

/* The list of tags or primitives of an object, or an error. */
static const struct json *list_of(struct run *run, const struct json *object, const char *name)
{
	const struct json *list = dsl_member(object, name);
	struct dsl_value v = read_value(run, list);

	if (v.type != TYPE_LIST)
		run_fail(run,
			arena_printf(run->a,
				json_is(object, JSON_OBJECT) ? "member '%s' is not a list of strings"
							     : "what should have '%s' is not an object",
				name));
	return run->error ? NULL : list;
}

static struct dsl_value truth(bool is_true)
{
	return (struct dsl_value){ .type = TYPE_BOOL, .number = is_true };
}

/* has_tag and has_primitive. */
static struct dsl_value has(
	struct run *run, const struct dsl_value *object, const struct dsl_value *text, const char *name)
{
	const struct json *list = list_of(run, object->doc, name);
	bool is_there;

	if (text->type != TYPE_STRING)
		run_fail(run, arena_printf(run->a, "what is looked for in '%s' is not a string", name));
	if (run->error)
		return truth(false);
	is_there = dsl_list_has(list, text->text, text->text_n);
	note(run, name, false, list);
	if (!is_there && text_eq(name, "primitives") && run->missing_n < RUN_NOTES)
		run->missing[run->missing_n++] = *text;
	return truth(is_there);
}

/* node_type and edge_type. */
static struct dsl_value type_of(struct run *run, const struct dsl_value *object, const char *name)
{
	const struct json *found = json_get(object->doc, name);
	struct dsl_value v = read_value(run, found);

	if (v.type != TYPE_STRING)
		run_fail(run,
			arena_printf(run->a,
				found ? "member '%s' is not a string" : "member '%s' is not there", name));
	note(run, name, false, found);
	return v;
}

static struct dsl_value is_in(struct run *run, const struct json *set)
{
	const struct json *found = json_get(run->subject, "jurisdiction");

	(void)run_burn(run, set->n);
	if (!found)
		return truth(false);
	if (!json_is(found, JSON_STRING)) {
		run_fail(run, "member 'jurisdiction' is not a string");
		return truth(false);
	}
	return truth(dsl_list_has(set, found->text, found->n));
}

static struct dsl_value is_tagged(struct run *run, const struct json *set)
{
	const struct json *tags = list_of(run, run->subject, "tags");
	bool found = false;

	if (!tags)
		return truth(false);
	json_each (tag, set) {
		if (!run_burn(run, tags->n))
			break;
		found |= dsl_list_has(tags, tag->text, tag->n);
	}
	return truth(found);
}

static struct dsl_value compare(
	struct run *run, enum dsl_cmp cmp, const struct dsl_value *x, const struct dsl_value *y)
{
	bool is_true = false;
	const char *why = dsl_compare(cmp, x, y, &is_true);

	if (why)
		run_fail(run,
			arena_printf(run->a, "%s %s %s: %s", dsl_type_name(x->type), dsl_cmp_names[cmp],
				dsl_type_name(y->type), why));
	return truth(is_true);
}

/* What an instruction that takes nothing from the stack puts there.  False: the program ends here with false. */
static bool load(struct run *run, const struct dsl_instr *i, struct dsl_value *ret)
{
	bool is_path = i->op == OP_REF || i->op == OP_MEMBER;
	const struct dsl_value *k = is_path ? NULL : &run->code->consts[i->c];
	const struct dsl_path *path = is_path ? run->code->paths[i->c] : NULL;
	const struct json *found;

	switch (i->op) {
	case OP_CONST:
		*ret = *k;
		return true;
	case OP_IN:
		*ret = is_in(run, k->doc);
		return true;
	case OP_TAGGED:
		*ret = is_tagged(run, k->doc);
		return true;
	case OP_FACT:
	case OP_KNOWN:
		found = json_get(run->facts, k->text);
		note(run, k->text, true, found);
		*ret = i->op == OP_KNOWN ? truth(found != NULL) : read_value(run, found);
		return true;
	case OP_MEMBER:
		found = walk(run, run->subject, path, 0);
		*ret = read_value(run, found);
		return found != NULL;
	default:
		found = run_find(run, path);
		if (!found)
			run_fail(run, arena_printf(run->a, "%s is not there", path->text));
		*ret = read_value(run, found);
		if (ret->type != TYPE_OTHER || !found)
			note(run, path->text, false, found);
		return true;
	}
}

/* An instruction over the one or two values on top: `x`, and `y` above it. */
static struct dsl_value work(
	struct run *run, const struct dsl_instr *i, const struct dsl_value *x, const struct dsl_value *y)
{
	switch (i->op) {
	case OP_HAS_TAG:
		return has(run, x, y, "tags");
	case OP_HAS_PRIMITIVE:
		return has(run, x, y, "primitives");
	case OP_NODE_TYPE:
		return type_of(run, y, "node_type");
	case OP_EDGE_TYPE:
		return type_of(run, y, "edge_type");
	case OP_COMPARE:
		return compare(run, (enum dsl_cmp)i->a, x, y);
	case OP_NOT:
		return truth(!y->number);
	default: /* OP_BOOL */
		if (y->type != TYPE_BOOL)
			run_fail(run,
				arena_printf(
					run->a, "%s stands where a bool is needed", dsl_type_name(y->type)));
		return *y;
	}
}

bool run_code(struct run *run, uint32_t pc)
{
	struct dsl_value stack[DSL_STACK + 1] = {
		0
	}; /* the lowest is never used: x of an instruction that takes one */
	size_t top = 0;

	for (;; pc++) {
		const struct dsl_instr *i = &run->code->instrs[pc];

		if (!run_burn(run, 0))
			return false;
		if (i->op == OP_RETURN)
			return stack[top].number != 0;
		if (i->op == OP_POP) {
			top--;
		} else if (i->op == OP_JUMP_FALSE || i->op == OP_JUMP_TRUE) {
			if ((stack[top].number != 0) == (i->op == OP_JUMP_TRUE))
				pc = i->c - 1;
		} else if (i->op <= OP_KNOWN || i->op == OP_IN || i->op == OP_TAGGED) {
			if (!load(run, i, &stack[++top]))
				return false;
		} else {
			size_t takes = i->op <= OP_HAS_PRIMITIVE || i->op == OP_COMPARE ? 2 : 1;
			stack[top + 1 - takes] = work(run, i, &stack[top - 1], &stack[top]);
			top = top + 1 - takes;
		}
		if (run->error)
			return false;
	}
}

/* Bytes of text in a value, counted until they are too many to be shown; objects are. */
static size_t size_of(const struct json *value)
{
	size_t size = 0;

	if (!json_is(value, JSON_ARRAY))
		return json_is(value, JSON_OBJECT) ? DSL_MAX_SHOWN + 1 : value->n;
	json_each (item, value) {
		size += 1 + size_of(item);
		if (size > DSL_MAX_SHOWN)
			break;
	}
	return size;
}

struct json *run_shown(struct arena *a, const struct json *value, const char *name)
{
	struct json *ref;

	if (!value)
		return json_new(a, JSON_NULL);
	if (size_of(value) <= DSL_MAX_SHOWN ||
		(json_is(value, JSON_OBJECT) && dsl_value_of(value).type != TYPE_OTHER))
		return json_copy(a, value);
	ref = json_new(a, JSON_OBJECT);
	json_sets(a, ref, "ref", name);
	return ref;
}

struct json *run_args(struct run *run, const struct dsl_arg *args)
{
	struct json *made = json_new(run->a, JSON_OBJECT);
	int place = 0;

	for (const struct dsl_arg *arg = args; arg; arg = arg->next) {
		const char *name = arg->name;
		place++;
		if (!name)
			name = arena_printf(run->a, "arg%d", place);
		json_set(run->a, made, name,
			arg->path ? run_shown(run->a, run_find(run, arg->path), arg->path->text)
				  : dsl_value_json(run->a, &arg->literal));
	}
	return made;
}

/* check.c — what can be known without variables: which kinds of values a node may have.
 *
 * Each node has a set of kinds, calculated from those of its kids when it is made.  A variable may be anything.  A node whose
 * set is empty can only fail.  That alone does not condemn the whole: `&&` and `||` overlook an error when the other side decides, so their
 * set is empty only when both sides are.  An expression whose root has no kind is refused when it is compiled. */
#include "decide/expression/parts.h"

static unsigned kinds_of(const struct node *n, size_t kid)
{
	return n->kids[kid]->kinds;
}

/* Of what is made of all its kids: none may be a failure. */
static unsigned of_all(const struct node *n, unsigned kinds)
{
	for (size_t i = 0; i < n->kid_n; i++)
		if (!kinds_of(n, i))
			return 0;
	return kinds;
}

static unsigned of_map(const struct node *n)
{
	for (size_t i = 0; i < n->kid_n; i += 2)
		if (!(kinds_of(n, i) & KIND_KEY))
			return 0;
	return of_all(n, KIND_MAP);
}

static unsigned of_index(const struct node *n)
{
	bool is_list = kinds_of(n, 0) & KIND_LIST && kinds_of(n, 1) & KIND_INT;
	bool is_map = kinds_of(n, 0) & KIND_MAP && kinds_of(n, 1) & KIND_KEY;

	return is_list || is_map ? KIND_ANY : 0;
}

static unsigned of_call(const struct node *n)
{
	if (!n->function)
		return 0;
	for (size_t i = 0; i < n->kid_n; i++)
		if (!(kinds_of(n, i) & n->function->takes[i]))
			return 0;
	return n->function->gives;
}

/* Both sides of the same kind, and that one of those the operator knows. */
static unsigned common(const struct node *n, unsigned known)
{
	return kinds_of(n, 0) & kinds_of(n, 1) & known;
}

static unsigned of_operator(const struct node *n)
{
	switch ((enum node_type)n->type) {
	case NODE_NOT:
		return kinds_of(n, 0) & KIND_BOOL;
	case NODE_NEGATE:
		return kinds_of(n, 0) & KIND_INT;
	case NODE_CHOICE:
		return kinds_of(n, 0) & KIND_BOOL ? kinds_of(n, 1) | kinds_of(n, 2) : 0;
	case NODE_AND:
	case NODE_OR:
		return (kinds_of(n, 0) | kinds_of(n, 1)) & KIND_BOOL;
	case NODE_EQUAL:
	case NODE_UNEQUAL:
		return of_all(n, KIND_BOOL);
	case NODE_IN:
		return kinds_of(n, 1) & KIND_MANY ? of_all(n, KIND_BOOL) : 0;
	case NODE_ADD:
		return common(n, KIND_INT | KIND_STRING | KIND_LIST);
	case NODE_SUBTRACT:
	case NODE_MULTIPLY:
	case NODE_DIVIDE:
	case NODE_REMAINDER:
		return common(n, KIND_INT);
	default: /* < <= > >= */
		return common(n, KIND_ORDERED) ? KIND_BOOL : 0;
	}
}

static unsigned of_node(const struct node *n)
{
	switch ((enum node_type)n->type) {
	case NODE_CONSTANT:
		return n->constant.kind;
	case NODE_PATH:
	case NODE_LOCAL:
		return KIND_ANY;
	case NODE_SELECT:
		return kinds_of(n, 0) & KIND_MAP ? KIND_ANY : 0;
	case NODE_HAS:
		return kinds_of(n, 0) & KIND_MAP ? KIND_BOOL : 0;
	case NODE_INDEX:
		return of_index(n);
	case NODE_LIST:
		return of_all(n, KIND_LIST);
	case NODE_MAP:
		return of_map(n);
	case NODE_CALL:
		return of_call(n);
	case NODE_ALL:
	case NODE_EXISTS:
	case NODE_EXISTS_ONE:
		return kinds_of(n, 0) & KIND_MANY ? KIND_BOOL : 0;
	case NODE_FILTER:
	case NODE_MAP_EACH:
	case NODE_MAP_IF:
		return kinds_of(n, 0) & KIND_MANY ? KIND_LIST : 0;
	default:
		return of_operator(n);
	}
}

void check_node(struct node *n)
{
	n->kinds = (uint8_t)of_node(n);
}

const struct node *check_find(const struct node *n)
{
	for (size_t i = 0; i < n->kid_n; i++) {
		const struct node *found = check_find(n->kids[i]);
		if (found)
			return found;
	}
	return n->kinds ? NULL : n;
}

/* The operand that does not fit, where there is one; the two together otherwise.  All kids have kinds: the failure begins here. */
struct value check_failure(const struct node *n)
{
	size_t i = 0;

	if (n->type == NODE_CALL) {
		if (!n->function)
			return value_fail(FAIL_FUNCTION, n->word);
		while (kinds_of(n, i) & n->function->takes[i])
			i++;
		return value_clash(n->word, kinds_of(n, i), 0);
	}
	if (n->type == NODE_MAP) {
		while (kinds_of(n, i) & KIND_KEY)
			i += 2;
		return value_clash(n->kids[i]->word, kinds_of(n, i), 0);
	}
	bool has_two = n->kid_n == 2 && n->type < NODE_ALL;
	return value_clash(n->word, kinds_of(n, 0), has_two ? kinds_of(n, 1) : 0);
}

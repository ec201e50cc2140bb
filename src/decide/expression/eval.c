/* eval.c — a tree and variables become a value.
 *
 * An error is a value like any other and goes up through the operators: each passes it on, but for `&&`, `||`, all() and exists(), which
 * overlook it when another operand decides.  When the cost is used up nothing is evaluated any more, so that no operator can
 * overlook that. */
#include "decide/expression/parts.h"

#include "model/reason.h"

#include <string.h>

/* An error stays what it is; any other value that is no bool is one. */
static struct value not_bool(const struct node *n, const struct value *v)
{
	return v->kind == KIND_ERROR ? *v : value_clash(n->word, v->kind, 0);
}

/* ---- names ---- */

/* Variables may have dots in their names: of a.b.c the longest that is one.  Looked for when there is no `a`. */
static const struct json *find_dotted(struct machine *m, const struct node *n, uint32_t *ret_names)
{
	struct buf b;

	for (uint32_t names = n->name_n; names > 1; names--) {
		struct arena_mark mark = arena_mark(m->a);
		buf_init(&b, m->a);
		for (uint32_t i = 0; i < names; i++) {
			buf_adds(&b, i ? "." : "");
			buf_add(&b, n->names[i].text.p, n->names[i].text.n);
		}
		m->cost += names;
		const struct json *v = value_member(m, m->variables, buf_bytes(&b));
		arena_release(m->a, mark);
		if (v) {
			*ret_names = names;
			return v;
		}
	}
	return NULL;
}

static struct value select_member(struct machine *m, const struct value *v, const struct name *name)
{
	if (v->kind != KIND_MAP)
		return v->kind == KIND_ERROR ? *v : value_clash(name->word, v->kind, 0);
	return value_get_text(m, v, name);
}

/* Objects of the variables are gone through without making values of them. */
static struct value eval_path(struct machine *m, const struct node *n)
{
	uint32_t i = 1;
	const struct json *found = value_member(m, m->variables, n->names[0].text);

	if (!found)
		found = find_dotted(m, n, &i);
	if (!found)
		return value_fail(FAIL_VARIABLE, n->word);
	for (; i < n->name_n; i++) {
		if (found->type != JSON_OBJECT) {
			struct value v = value_of_json(found, n->names[i - 1].word);
			return select_member(m, &v, &n->names[i]);
		}
		found = value_member(m, found, n->names[i].text);
		if (!found)
			return value_fail(FAIL_MEMBER, n->names[i].word);
	}
	return value_of_json(found, n->names[i - 1].word);
}

static struct value eval_has(struct machine *m, const struct node *n)
{
	struct value v = eval(m, n->kids[0]);

	v = select_member(m, &v, n->names);
	if (v.kind != KIND_ERROR || v.why == FAIL_NUMBER)
		return value_bool(true);
	/* Only the last name may be missing. */
	return v.why == FAIL_MEMBER && v.blame.at == n->names->word.at ? value_bool(false) : v;
}

static struct value eval_index(struct machine *m, const struct node *n)
{
	struct value of = eval(m, n->kids[0]), key = eval(m, n->kids[1]);

	if (of.kind == KIND_ERROR || key.kind == KIND_ERROR)
		return of.kind == KIND_ERROR ? of : key;
	if (of.kind == KIND_MAP && key.kind & KIND_KEY)
		return value_get(m, &of, &key, n->kids[1]->word);
	if (of.kind != KIND_LIST || key.kind != KIND_INT)
		return value_clash(n->word, of.kind, key.kind);
	if (key.number < 0 || (uint64_t)key.number >= of.n)
		return value_fail(FAIL_INDEX, n->kids[1]->word);
	return value_item(&of, (size_t)key.number, n->word);
}

/* ---- lists and maps ---- */

static struct value eval_list(struct machine *m, const struct node *n)
{
	struct value *items = arena_alloc(m->a, (n->kid_n + 1) * sizeof(*items));

	m->cost += n->kid_n;
	for (size_t i = 0; i < n->kid_n; i++) {
		items[i] = eval(m, n->kids[i]);
		if (items[i].kind == KIND_ERROR)
			return items[i];
	}
	return (struct value){ .kind = KIND_LIST, .items = items, .n = n->kid_n };
}

static struct value eval_map(struct machine *m, const struct node *n)
{
	struct pair *pairs = arena_alloc(m->a, (n->kid_n / 2 + 1) * sizeof(*pairs));
	struct value map = { .kind = KIND_MAP, .pairs = pairs };

	m->cost += n->kid_n;
	for (size_t i = 0; i < n->kid_n; i += 2) {
		struct value key = eval(m, n->kids[i]), value = eval(m, n->kids[i + 1]);
		struct word at = n->kids[i]->word;
		if (key.kind == KIND_ERROR || value.kind == KIND_ERROR)
			return key.kind == KIND_ERROR ? key : value;
		if (!(key.kind & KIND_KEY))
			return value_clash(at, key.kind, 0);
		struct value other = value_get(m, &map, &key, at);
		if (other.kind != KIND_ERROR)
			return value_fail(FAIL_DUPLICATE, at);
		pairs[map.n++] = (struct pair){ key, value };
	}
	return map;
}

/* ---- operators ---- */

/* `decides` is the bool that settles it alone: false for &&, true for ||. */
static struct value eval_logic(struct machine *m, const struct node *n, bool decides)
{
	struct value left = eval(m, n->kids[0]);

	if (left.kind == KIND_BOOL && left.truth == decides)
		return left;
	struct value right = eval(m, n->kids[1]);
	if (right.kind == KIND_BOOL && right.truth == decides)
		return right;
	if (left.kind != KIND_BOOL)
		return not_bool(n, &left);
	return right.kind == KIND_BOOL ? right : not_bool(n, &right);
}

static struct value eval_choice(struct machine *m, const struct node *n)
{
	struct value condition = eval(m, n->kids[0]);

	if (condition.kind != KIND_BOOL)
		return not_bool(n, &condition);
	return eval(m, n->kids[condition.truth ? 1 : 2]);
}

static struct value eval_sign(struct machine *m, const struct node *n)
{
	struct value v = eval(m, n->kids[0]);

	if (v.kind == KIND_ERROR)
		return v;
	if (n->type == NODE_NOT)
		return v.kind == KIND_BOOL ? value_bool(!v.truth) : value_clash(n->word, v.kind, 0);
	if (v.kind != KIND_INT)
		return value_clash(n->word, v.kind, 0);
	return v.number == INT64_MIN ? value_fail(FAIL_OVERFLOW, n->word) : value_int(-v.number);
}

static struct value calculate(const struct node *n, int64_t x, int64_t y)
{
	int64_t result = 0;
	bool is_over;

	switch ((enum node_type)n->type) {
	case NODE_ADD:
		is_over = __builtin_add_overflow(x, y, &result);
		break;
	case NODE_SUBTRACT:
		is_over = __builtin_sub_overflow(x, y, &result);
		break;
	case NODE_MULTIPLY:
		is_over = __builtin_mul_overflow(x, y, &result);
		break;
	default: /* / and % */
		if (y == 0)
			return value_fail(FAIL_ZERO, n->word);
		is_over = x == INT64_MIN && y == -1;
		if (!is_over)
			result = n->type == NODE_DIVIDE ? x / y : x % y;
	}
	return is_over ? value_fail(FAIL_OVERFLOW, n->word) : value_int(result);
}

static struct value join_texts(struct machine *m, const struct node *n, struct bytes x, struct bytes y)
{
	if (!charge(m, (x.n + y.n) / BYTES_PER_COST))
		return value_fail(FAIL_COST, n->word);
	char *text = arena_text(m->a, x.n + y.n + 1);
	memcpy(text, x.p, x.n);
	memcpy(text + x.n, y.p, y.n);
	return (struct value){ .kind = KIND_STRING, .text = { (const uint8_t *)text, x.n + y.n } };
}

static struct value join_lists(
	struct machine *m, const struct node *n, const struct value *x, const struct value *y)
{
	if (!charge(m, x->n + y->n))
		return value_fail(FAIL_COST, n->word);
	struct value *items = arena_alloc(m->a, (x->n + y->n + 1) * sizeof(*items));
	for (size_t i = 0; i < x->n + y->n; i++) {
		items[i] = i < x->n ? value_item(x, i, n->word) : value_item(y, i - x->n, n->word);
		if (items[i].kind == KIND_ERROR)
			return items[i];
	}
	return (struct value){ .kind = KIND_LIST, .items = items, .n = x->n + y->n };
}

static struct value eval_arithmetic(
	struct machine *m, const struct node *n, const struct value *x, const struct value *y)
{
	if (x->kind == KIND_INT && y->kind == KIND_INT)
		return calculate(n, x->number, y->number);
	if (n->type == NODE_ADD && x->kind == KIND_STRING && y->kind == KIND_STRING)
		return join_texts(m, n, x->text, y->text);
	if (n->type == NODE_ADD && x->kind == KIND_LIST && y->kind == KIND_LIST)
		return join_lists(m, n, x, y);
	return value_clash(n->word, x->kind, y->kind);
}

static struct value eval_order(
	struct machine *m, const struct node *n, const struct value *x, const struct value *y)
{
	if (x->kind != y->kind || !(x->kind & KIND_ORDERED))
		return value_clash(n->word, x->kind, y->kind);
	m->cost += x->kind == KIND_STRING ? x->text.n / BYTES_PER_COST : 0;
	int order = value_compare(x, y);
	switch ((enum node_type)n->type) {
	case NODE_LESS:
		return value_bool(order < 0);
	case NODE_LESS_EQUAL:
		return value_bool(order <= 0);
	case NODE_GREATER:
		return value_bool(order > 0);
	default:
		return value_bool(order >= 0);
	}
}

/* In a list: equal to an element; in a map: one of its keys.  An element that cannot be compared counts when no other is equal. */
static struct value eval_in(
	struct machine *m, const struct node *n, const struct value *x, const struct value *y)
{
	struct value answer = value_bool(false);

	if (!(y->kind & KIND_MANY))
		return value_clash(n->word, x->kind, y->kind);
	for (size_t i = 0; i < y->n; i++) {
		struct value here = y->kind == KIND_LIST ? value_item(y, i, n->word) : value_key(y, i);
		struct value same = value_equal(m, x, &here, n->word);
		if (same.kind == KIND_ERROR)
			answer = same;
		else if (same.truth)
			return same;
	}
	return answer;
}

/* Operators that evaluate both sides. */
static struct value eval_binary(struct machine *m, const struct node *n)
{
	struct value x = eval(m, n->kids[0]), y = eval(m, n->kids[1]), same;

	if (x.kind == KIND_ERROR || y.kind == KIND_ERROR)
		return x.kind == KIND_ERROR ? x : y;
	switch ((enum node_type)n->type) {
	case NODE_EQUAL:
	case NODE_UNEQUAL:
		same = value_equal(m, &x, &y, n->word);
		return same.kind == KIND_BOOL ? value_bool(same.truth == (n->type == NODE_EQUAL)) : same;
	case NODE_LESS:
	case NODE_LESS_EQUAL:
	case NODE_GREATER:
	case NODE_GREATER_EQUAL:
		return eval_order(m, n, &x, &y);
	case NODE_IN:
		return eval_in(m, n, &x, &y);
	default:
		return eval_arithmetic(m, n, &x, &y);
	}
}

static struct value eval_call(struct machine *m, const struct node *n)
{
	struct value arguments[2] = { 0 };

	if (!n->function)
		return value_fail(FAIL_FUNCTION, n->word);
	for (size_t i = 0; i < n->kid_n; i++) {
		arguments[i] = eval(m, n->kids[i]);
		if (arguments[i].kind == KIND_ERROR)
			return arguments[i];
		if (!(arguments[i].kind & n->function->takes[i]))
			return value_clash(n->word, arguments[i].kind, 0);
	}
	return n->function->run(m, n, arguments);
}

/* ---- macros ---- */

/* The i-th element of what a macro goes through, in the macro's variable. */
static void bind(struct machine *m, const struct node *n, const struct value *range, size_t i)
{
	m->slots[n->slot] = range->kind == KIND_LIST ? value_item(range, i, n->word) : value_key(range, i);
}

/* all() and exists(): the first element that decides, else the first error, else the other answer. */
static struct value eval_fold(struct machine *m, const struct node *n, const struct value *range)
{
	bool decides = n->type == NODE_EXISTS;
	struct value answer = value_bool(!decides);

	for (size_t i = 0; i < range->n; i++) {
		bind(m, n, range, i);
		struct value v = eval(m, n->kids[1]);
		if (v.kind == KIND_BOOL && v.truth == decides)
			return v;
		if (v.kind != KIND_BOOL && answer.kind == KIND_BOOL)
			answer = not_bool(n, &v);
		if (m->cost > EXPRESSION_COST)
			break;
	}
	return answer;
}

static struct value eval_exists_one(struct machine *m, const struct node *n, const struct value *range)
{
	size_t found = 0;

	for (size_t i = 0; i < range->n; i++) {
		bind(m, n, range, i);
		struct value v = eval(m, n->kids[1]);
		if (v.kind != KIND_BOOL)
			return not_bool(n, &v);
		found += v.truth;
	}
	return value_bool(found == 1);
}

/* filter() keeps elements, map() what its body makes of them; map() of three arguments filters first. */
static struct value eval_map_each(struct machine *m, const struct node *n, const struct value *range)
{
	struct value list = { .kind = KIND_LIST }, *items;

	if (!charge(m, range->n))
		return value_fail(FAIL_COST, n->word);
	list.items = items = arena_alloc(m->a, (range->n + 1) * sizeof(*items));
	for (size_t i = 0; i < range->n; i++) {
		bind(m, n, range, i);
		if (n->type != NODE_MAP_EACH) {
			struct value keep = eval(m, n->kids[1]);
			if (keep.kind != KIND_BOOL)
				return not_bool(n, &keep);
			if (!keep.truth)
				continue;
		}
		struct value v = n->type == NODE_FILTER ? m->slots[n->slot] : eval(m, n->kids[n->kid_n - 1]);
		if (v.kind == KIND_ERROR)
			return v;
		items[list.n++] = v;
	}
	return list;
}

static struct value eval_macro(struct machine *m, const struct node *n)
{
	struct value range = eval(m, n->kids[0]);

	if (!(range.kind & KIND_MANY))
		return range.kind == KIND_ERROR ? range : value_clash(n->word, range.kind, 0);
	if (n->type == NODE_ALL || n->type == NODE_EXISTS)
		return eval_fold(m, n, &range);
	return n->type == NODE_EXISTS_ONE ? eval_exists_one(m, n, &range) : eval_map_each(m, n, &range);
}

struct value eval(struct machine *m, const struct node *n)
{
	if (!charge(m, 1))
		return value_fail(FAIL_COST, n->word);
	switch ((enum node_type)n->type) {
	case NODE_CONSTANT:
		return n->constant;
	case NODE_PATH:
		return eval_path(m, n);
	case NODE_LOCAL:
		return m->slots[n->slot];
	case NODE_SELECT: {
		struct value v = eval(m, n->kids[0]);
		return select_member(m, &v, n->names);
	}
	case NODE_HAS:
		return eval_has(m, n);
	case NODE_INDEX:
		return eval_index(m, n);
	case NODE_LIST:
		return eval_list(m, n);
	case NODE_MAP:
		return eval_map(m, n);
	case NODE_NOT:
	case NODE_NEGATE:
		return eval_sign(m, n);
	case NODE_CHOICE:
		return eval_choice(m, n);
	case NODE_AND:
	case NODE_OR:
		return eval_logic(m, n, n->type == NODE_OR);
	case NODE_CALL:
		return eval_call(m, n);
	default:
		return n->type >= NODE_ALL ? eval_macro(m, n) : eval_binary(m, n);
	}
}

/* ---- the whole ---- */

/* The value of the root; an error also when the cost was used up on the way. */
static struct value run(
	const struct expression *x, const struct json *variables, struct arena *a, struct machine *m)
{
	static const struct json none = { .type = JSON_OBJECT };

	m->variables = json_is(variables, JSON_OBJECT) ? variables : &none;
	m->a = a;
	m->cost = 0;
	m->slots = x->slots ? arena_alloc(a, x->slots * sizeof(*m->slots)) : NULL;
	struct value v = eval(m, x->root);
	return m->cost > EXPRESSION_COST ? value_fail(FAIL_COST, x->root->word) : v;
}

int expression_value(const struct expression *x, const struct json *variables, struct arena *a,
	struct json **ret, struct err *e)
{
	struct machine m;
	struct value v = run(x, variables, a, &m), why = value_fail(FAIL_NOT_JSON, x->root->word);

	if (v.kind == KIND_ERROR)
		return message_fail(e, x, &v);
	struct json *value = value_to_json(&m, &v, &why);
	if (!value)
		return message_fail(e, x, &why);
	*ret = value;
	return OK;
}

enum requirement expression_requirement(
	const struct expression *x, const struct json *variables, struct arena *a, struct err *e)
{
	struct machine m;
	struct value v = run(x, variables, a, &m);

	if (v.kind == KIND_BOOL)
		return v.truth ? REQUIREMENT_SATISFIED : REQUIREMENT_MISSING;
	if (v.kind != KIND_ERROR)
		v = value_fail(FAIL_NOT_BOOL, x->root->word);
	(void)message_fail(e, x, &v);
	return REQUIREMENT_ERROR;
}

const char *requirement_name(enum requirement r)
{
	if (r == REQUIREMENT_SATISFIED)
		return "SATISFIED";
	return reason_get(r == REQUIREMENT_MISSING ? REASON_MISSING_REQUIREMENT : REASON_PRG_EVALUATION_ERROR)
		->code;
}

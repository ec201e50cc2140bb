/* parse.c — the grammar: words become a tree whose nodes know their kinds.
 *
 * Recursive descent, with a table of the binary operators.  Sizes are counted while the tree grows, so that no text makes it
 * deeper or larger than the limits; what recurses over the tree later needs no limits of its own.  Macros are known here, because the name they
 * bind is a word and no value. */
#include "decide/expression/parts.h"

struct parser {
	struct expression *x;
	struct arena *a;
	struct token now;
	unsigned nodes, nesting, parentheses;
	struct bytes locals[EXPRESSION_NESTING + 1]; /* names that macros around here bind, outermost first */
	unsigned local_n;
	struct err *e;
};

static int parse_expression(struct parser *p, struct node **ret);

/* ---- words ---- */

static void advance(struct parser *p)
{
	p->now = lex(p->a, p->x->text, p->now.word.at + p->now.word.n);
}

static bool take(struct parser *p, int type)
{
	if (p->now.type != type)
		return false;
	advance(p);
	return true;
}

/* The word that stands here is not what should. */
static int expected(struct parser *p, const char *what)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct token *t = &p->now;

	if (t->type == TOKEN_END)
		return message_set(p->e, p->x, E_INPUT, "EXPRESSION_SYNTAX", t->word,
			"expected %s, found the end; write what is missing", what);
	const char *word = message_word(&a, p->x, t->word);
	if (t->type == TOKEN_BAD)
		return message_set(
			p->e, p->x, E_INPUT, "EXPRESSION_SYNTAX", t->word, "'%s': %s", word, t->why);
	if (t->type == TOKEN_RESERVED)
		return message_set(p->e, p->x, E_INPUT, "EXPRESSION_SYNTAX", t->word,
			"'%s' is a reserved word; as a key it is written [\"%s\"]", word, word);
	return message_set(p->e, p->x, E_INPUT, "EXPRESSION_SYNTAX", t->word,
		"expected %s, found '%s'; take it out, or write what is missing before it", what, word);
}

static int expect(struct parser *p, int type, const char *what)
{
	return take(p, type) ? OK : expected(p, what);
}

static int too_large(struct parser *p, const char *what, int most)
{
	return message_set(p->e, p->x, E_LIMIT, "EXPRESSION_SIZE", p->now.word,
		"more than %d %s; split the expression in two", most, what);
}

/* ---- nodes ---- */

static int count(struct parser *p, unsigned n)
{
	p->nodes += n;
	return p->nodes > EXPRESSION_NODES ? too_large(p, "operators, names and values", EXPRESSION_NODES)
					   : OK;
}

static int new_node(struct parser *p, enum node_type type, struct word word, struct node **ret)
{
	if (count(p, 1))
		return p->e->rc;
	struct node *n = arena_zalloc(p->a, 1, sizeof(*n));
	n->type = (uint8_t)type;
	n->word = word;
	*ret = n;
	return OK;
}

static void add_kid(struct parser *p, struct node *n, struct node *kid)
{
	/* Room doubles when it is used up. */
	if ((n->kid_n & (n->kid_n - 1)) == 0)
		n->kids = arena_grow(
			p->a, n->kids, n->kid_n * sizeof(kid), (n->kid_n ? 2 * n->kid_n : 1) * sizeof(kid));
	n->kids[n->kid_n++] = kid;
}

/* A node of up to three kids, with its kinds. */
static int make(struct parser *p, enum node_type type, struct word word, struct node *x, struct node *y,
	struct node *z, struct node **ret)
{
	struct node *kids[] = { x, y, z }, *n;

	if (new_node(p, type, word, &n))
		return p->e->rc;
	for (size_t i = 0; i < ARRAY_SIZE(kids) && kids[i]; i++)
		add_kid(p, n, kids[i]);
	check_node(n);
	*ret = n;
	return OK;
}

static int make_constant(struct parser *p, struct word word, struct value v, struct node **ret)
{
	if (new_node(p, NODE_CONSTANT, word, ret))
		return p->e->rc;
	(*ret)->constant = v;
	check_node(*ret);
	return OK;
}

static void add_name(struct parser *p, struct node *n, const struct token *t)
{
	n->names = arena_grow(
		p->a, n->names, n->name_n * sizeof(*n->names), (n->name_n + 1) * sizeof(*n->names));
	n->names[n->name_n++] = (struct name){ t->text, t->word };
}

/* ---- what is in brackets ---- */

static int enter(struct parser *p)
{
	return ++p->nesting > EXPRESSION_NESTING
		? too_large(p, "lists, maps, calls and indexes in each other", EXPRESSION_NESTING)
		: OK;
}

/* Expressions up to `end`, with commas; a list may have one behind the last. */
static int parse_items(struct parser *p, struct node *n, int end, const char *what, bool is_trailing)
{
	if (enter(p))
		return p->e->rc;
	while (!take(p, end)) {
		struct node *item;
		if (parse_expression(p, &item))
			return p->e->rc;
		add_kid(p, n, item);
		if (take(p, ',')) {
			if (p->now.type == end && !is_trailing)
				return expected(p, "an argument");
			continue;
		}
		if (p->now.type != end)
			return expected(p, what);
	}
	p->nesting--;
	return OK;
}

static int parse_list(struct parser *p, struct node **ret)
{
	struct word at = p->now.word;

	advance(p);
	if (new_node(p, NODE_LIST, at, ret) || parse_items(p, *ret, ']', "',' or ']'", true))
		return p->e->rc;
	check_node(*ret);
	return OK;
}

static int parse_entry(struct parser *p, struct node *map)
{
	struct node *key, *value;

	if (parse_expression(p, &key) || expect(p, ':', "':' and the value of this key") ||
		parse_expression(p, &value))
		return p->e->rc;
	add_kid(p, map, key);
	add_kid(p, map, value);
	return OK;
}

static int parse_map(struct parser *p, struct node **ret)
{
	struct word at = p->now.word;

	advance(p);
	if (new_node(p, NODE_MAP, at, ret) || enter(p))
		return p->e->rc;
	while (!take(p, '}')) {
		if (parse_entry(p, *ret))
			return p->e->rc;
		if (!take(p, ',') && p->now.type != '}')
			return expected(p, "',' or '}'");
	}
	p->nesting--;
	check_node(*ret);
	return OK;
}

/* ---- calls ---- */

/* A constant pattern is compiled with the expression. */
static int compile_pattern(struct parser *p, struct node *call)
{
	const struct node *pattern = call->kids[1];
	struct err why;

	if (pattern->type != NODE_CONSTANT || pattern->constant.kind != KIND_STRING)
		return OK;
	int rc = regex_compile(p->a, pattern->constant.text, &call->regex, &why);
	return rc ? message_set(p->e, p->x, rc, "EXPRESSION_PATTERN", pattern->word, "%s", why.text) : OK;
}

/* Behind the '(' of a function; `target` is what stood before the dot, or NULL. */
static int parse_call(struct parser *p, const struct token *name, struct node *target, struct node **ret)
{
	struct node *n;

	if (new_node(p, NODE_CALL, name->word, &n))
		return p->e->rc;
	if (target)
		add_kid(p, n, target);
	if (parse_items(p, n, ')', "',' or ')'", false))
		return p->e->rc;
	n->function = function_find(name->text, n->kid_n, target != NULL);
	check_node(n);
	*ret = n;
	return function_is_matches(n->function) ? compile_pattern(p, n) : OK;
}

/* Behind "has(": a member, of which the last name is split off. */
static int parse_has(struct parser *p, struct word word, struct node **ret)
{
	struct node *n;

	if (enter(p) || parse_expression(p, &n) || expect(p, ')', "')'"))
		return p->e->rc;
	p->nesting--;
	if (n->type != NODE_SELECT && !(n->type == NODE_PATH && n->name_n > 1))
		return message_set(p->e, p->x, E_INPUT, "EXPRESSION_SYNTAX", n->word,
			"has() asks for a member; write has(a.b)");
	if (n->type == NODE_SELECT) {
		n->type = NODE_HAS;
		n->word = word;
		check_node(n);
		*ret = n;
		return OK;
	}
	struct name *last = &n->names[--n->name_n];
	if (make(p, NODE_HAS, word, n, NULL, NULL, ret))
		return p->e->rc;
	(*ret)->names = last;
	(*ret)->name_n = 1;
	return OK;
}

static const struct {
	const char *name;
	enum node_type type;
} macros[] = { { "all", NODE_ALL }, { "exists", NODE_EXISTS }, { "exists_one", NODE_EXISTS_ONE },
	{ "existsOne", NODE_EXISTS_ONE }, { "filter", NODE_FILTER }, { "map", NODE_MAP_EACH } };

/* Behind the '(' of a macro: a name, and one or two expressions in which it is known. */
static int parse_macro(
	struct parser *p, enum node_type type, struct word word, struct node *range, struct node **ret)
{
	struct node *body, *second = NULL;

	if (enter(p))
		return p->e->rc;
	if (p->now.type != TOKEN_NAME)
		return expected(p, "a name for each element, as in list.all(x, x > 0)");
	p->locals[p->local_n++] = p->now.text;
	p->x->slots = p->local_n > p->x->slots ? p->local_n : p->x->slots;
	advance(p);
	if (expect(p, ',', "',' and an expression over the name") || parse_expression(p, &body))
		return p->e->rc;
	if (type == NODE_MAP_EACH && take(p, ',')) {
		type = NODE_MAP_IF;
		if (parse_expression(p, &second))
			return p->e->rc;
	}
	if (expect(p, ')', "')'"))
		return p->e->rc;
	p->local_n--;
	p->nesting--;
	if (make(p, type, word, range, body, second, ret))
		return p->e->rc;
	(*ret)->slot = (uint16_t)p->local_n;
	return OK;
}

/* ---- names, members, literals ---- */

/* A name: the variable of the nearest macro that binds it, or one of the input.  After a leading dot only the latter. */
static int parse_name(struct parser *p, bool is_rooted, struct node **ret)
{
	struct token name = p->now;

	advance(p);
	if (take(p, '('))
		return bytes_is(name.text, "has") ? parse_has(p, name.word, ret)
						  : parse_call(p, &name, NULL, ret);
	for (unsigned i = is_rooted ? 0 : p->local_n; i-- > 0;) {
		if (bytes_eq(p->locals[i], name.text)) {
			if (make(p, NODE_LOCAL, name.word, NULL, NULL, NULL, ret))
				return p->e->rc;
			(*ret)->slot = (uint16_t)i;
			return OK;
		}
	}
	if (make(p, NODE_PATH, name.word, NULL, NULL, NULL, ret))
		return p->e->rc;
	add_name(p, *ret, &name);
	return OK;
}

static int make_int(struct parser *p, bool is_negative, struct node **ret)
{
	struct token t = p->now;

	if (!is_negative && t.number > INT64_MAX)
		return message_set(p->e, p->x, E_INPUT, "EXPRESSION_SYNTAX", t.word,
			"a number has at most 64 bits, one of them its sign");
	advance(p);
	return make_constant(p, t.word, value_int((int64_t)(is_negative ? -t.number : t.number)), ret);
}

static int parse_literal(struct parser *p, struct node **ret)
{
	struct token t = p->now;

	switch (t.type) {
	case TOKEN_INT:
		return make_int(p, false, ret);
	case TOKEN_STRING:
		advance(p);
		return make_constant(p, t.word, (struct value){ .kind = KIND_STRING, .text = t.text }, ret);
	case TOKEN_TRUE:
	case TOKEN_FALSE:
		advance(p);
		return make_constant(p, t.word, value_bool(t.type == TOKEN_TRUE), ret);
	case TOKEN_NULL:
		advance(p);
		return make_constant(p, t.word, (struct value){ .kind = KIND_NULL }, ret);
	default:
		return expected(p, "a value");
	}
}

static int parse_primary(struct parser *p, struct node **ret)
{
	if (take(p, '(')) {
		if (parse_expression(p, ret))
			return p->e->rc;
		return expect(p, ')', "')'");
	}
	if (p->now.type == '[')
		return parse_list(p, ret);
	if (p->now.type == '{')
		return parse_map(p, ret);
	if (p->now.type == TOKEN_NAME)
		return parse_name(p, false, ret);
	if (take(p, '.'))
		return p->now.type == TOKEN_NAME ? parse_name(p, true, ret) : expected(p, "a variable");
	return parse_literal(p, ret);
}

/* Behind a dot: a member, a method or a macro. */
static int parse_member(struct parser *p, struct node **ret)
{
	struct token name = p->now;

	if (name.type != TOKEN_NAME && name.type != TOKEN_RESERVED && name.type != TOKEN_QUOTED_NAME)
		return expected(p, "the name of a member");
	advance(p);
	if (name.type != TOKEN_QUOTED_NAME && take(p, '(')) {
		for (size_t i = 0; i < ARRAY_SIZE(macros); i++)
			if (bytes_is(name.text, macros[i].name))
				return parse_macro(p, macros[i].type, name.word, *ret, ret);
		return parse_call(p, &name, *ret, ret);
	}
	if ((*ret)->type == NODE_PATH) {
		if (count(p, 1))
			return p->e->rc;
	} else if (make(p, NODE_SELECT, name.word, *ret, NULL, NULL, ret)) {
		return p->e->rc;
	}
	add_name(p, *ret, &name);
	return OK;
}

static int parse_index(struct parser *p, struct word at, struct node **ret)
{
	struct node *key;

	if (enter(p) || parse_expression(p, &key) || expect(p, ']', "']'"))
		return p->e->rc;
	p->nesting--;
	return make(p, NODE_INDEX, at, *ret, key, NULL, ret);
}

static int parse_postfix(struct parser *p, struct node **ret)
{
	for (;;) {
		struct word at = p->now.word;
		int rc = OK;
		if (take(p, '.'))
			rc = parse_member(p, ret);
		else if (take(p, '['))
			rc = parse_index(p, at, ret);
		else
			return OK;
		if (rc)
			return rc;
	}
}

/* ---- operators ---- */

/* Signs are counted as parentheses are: each is a call deeper. */
static int parse_unary(struct parser *p, struct node **ret)
{
	struct word at = p->now.word;
	enum node_type type = p->now.type == '!' ? NODE_NOT : NODE_NEGATE;

	if (p->now.type != '!' && p->now.type != '-')
		return parse_primary(p, ret) ? p->e->rc : parse_postfix(p, ret);
	advance(p);
	/* The smallest number has no positive counterpart: sign and digits are one literal. */
	if (type == NODE_NEGATE && p->now.type == TOKEN_INT)
		return make_int(p, true, ret) ? p->e->rc : parse_postfix(p, ret);
	if (++p->parentheses > EXPRESSION_PARENTHESES)
		return too_large(p, "parentheses and signs in each other", EXPRESSION_PARENTHESES);
	if (parse_unary(p, ret))
		return p->e->rc;
	p->parentheses--;
	return make(p, type, at, *ret, NULL, NULL, ret);
}

static const struct operator
{
	int token;
	uint8_t type, binds;
}
operators[] = {
	{ TOKEN_OR, NODE_OR, 1 },
	{ TOKEN_AND, NODE_AND, 2 },
	{ TOKEN_EQUAL, NODE_EQUAL, 3 },
	{ TOKEN_UNEQUAL, NODE_UNEQUAL, 3 },
	{ '<', NODE_LESS, 3 },
	{ TOKEN_LESS_EQUAL, NODE_LESS_EQUAL, 3 },
	{ '>', NODE_GREATER, 3 },
	{ TOKEN_GREATER_EQUAL, NODE_GREATER_EQUAL, 3 },
	{ TOKEN_IN, NODE_IN, 3 },
	{ '+', NODE_ADD, 4 },
	{ '-', NODE_SUBTRACT, 4 },
	{ '*', NODE_MULTIPLY, 5 },
	{ '/', NODE_DIVIDE, 5 },
	{ '%', NODE_REMAINDER, 5 },
};

static const struct operator* find_operator(int token)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (operators[i].token == token)
			return &operators[i];
	return NULL;
}

/* Operators that bind at least so; all of them group to the left. */
static int parse_binary(struct parser *p, unsigned binds, struct node **ret)
{
	const struct operator* op;

	if (parse_unary(p, ret))
		return p->e->rc;
	while ((op = find_operator(p->now.type)) && op->binds >= binds) {
		struct word at = p->now.word;
		struct node *right;
		advance(p);
		if (parse_binary(p, op->binds + 1, &right) ||
			make(p, (enum node_type)op->type, at, *ret, right, NULL, ret))
			return p->e->rc;
	}
	return OK;
}

/* The conditional groups to the right. */
static int parse_expression(struct parser *p, struct node **ret)
{
	struct node *yes, *no;

	if (++p->parentheses > EXPRESSION_PARENTHESES)
		return too_large(p, "parentheses and conditionals in each other", EXPRESSION_PARENTHESES);
	if (parse_binary(p, 1, ret))
		return p->e->rc;
	struct word at = p->now.word;
	if (take(p, '?') &&
		(parse_expression(p, &yes) || expect(p, ':', "':' and what holds otherwise") ||
			parse_expression(p, &no) || make(p, NODE_CHOICE, at, *ret, yes, no, ret)))
		return p->e->rc;
	p->parentheses--;
	return OK;
}

static int parse_whole(struct parser *p)
{
	advance(p);
	if (parse_expression(p, &p->x->root))
		return p->e->rc;
	if (p->now.type != TOKEN_END)
		return expected(p, "an operator or the end");
	if (p->x->root->kinds)
		return OK;
	/* What can only fail because of a part: follow the failure to where it begins. */
	const struct node *n = p->x->root;
	for (size_t i = 0; i < n->kid_n;) {
		if (!n->kids[i]->kinds) {
			n = n->kids[i];
			i = 0;
		} else {
			i++;
		}
	}
	struct value why = check_failure(n);
	return message_fail(p->e, p->x, &why);
}

int expression_compile(
	struct arena *a, struct bytes text, const char *name, struct expression **ret, struct err *e)
{
	struct err own;
	struct parser p = { .a = a, .e = e ? e : &own };

	if (text.n > EXPRESSION_BYTES)
		return err_set(e, E_LIMIT, "EXPRESSION_SIZE",
			"%s: an expression of %zu bytes is longer than %d", name, text.n, EXPRESSION_BYTES);
	p.x = arena_zalloc(a, 1, sizeof(*p.x));
	p.x->name = arena_strdup(a, name);
	p.x->text =
		(struct bytes){ (const uint8_t *)arena_strndup(a, text.n ? (const char *)text.p : "", text.n),
			text.n };
	size_t good = text_utf8_valid((const char *)p.x->text.p, text.n);
	if (good != text.n)
		return message_set(p.e, p.x, E_INPUT, "EXPRESSION_SYNTAX", (struct word){ (uint32_t)good, 1 },
			"the text is not UTF-8 here; save it as UTF-8");
	if (parse_whole(&p))
		return p.e->rc;
	*ret = p.x;
	return OK;
}

bool expression_may_be_bool(const struct expression *x)
{
	return x->root->kinds & KIND_BOOL;
}

const char *expression_doubt(const struct expression *x, struct arena *a)
{
	const struct node *n = check_find(x->root);
	struct err e = { 0 };

	if (!n)
		return NULL;
	struct value why = check_failure(n);
	(void)message_fail(&e, x, &why);
	return arena_strdup(a, e.text);
}

/* compile.c — from a text to a policy that can be run: the steps in their order, and the code of conditions.
 *
 * A rule has two programs, its scope and its condition.  `and` and `or` become jumps forward, so a program ends after at most as
 * many instructions as it has, and never needs more than two values at once. */
#include "decide/dsl/parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- problems ---- */

/* Columns count characters, as editors do. */
static uint32_t column_of(const struct dsl_reading *r, struct dsl_mark at)
{
	uint32_t column = 1;

	for (size_t i = at.line_at; i < at.at; i++)
		column += ((uint8_t)r->text[i] & 0xc0) != 0x80;
	return column;
}

void dsl_problem(
	struct dsl_reading *r, struct dsl_mark at, const char *code, const char *text, const char *fix)
{
	struct dsl_problems *all = r->problems;
	bool is_warning = code[0] == 'W';
	size_t shown = at.n < 60 ? at.n : 60;

	all->errors += !is_warning;
	if (all->n >= (is_warning ? DSL_MAX_WARNINGS : DSL_MAX_PROBLEMS))
		return;
	if (all->n == r->room) {
		size_t room = r->room ? 2 * r->room : 8;
		all->items =
			arena_grow(r->a, all->items, r->room * sizeof *all->items, room * sizeof *all->items);
		r->room = room;
	}
	while (shown < at.n && ((uint8_t)r->text[at.at + shown] & 0xc0) == 0x80)
		shown++;
	all->items[all->n++] = (struct dsl_problem){ .code = code,
		.line = at.line,
		.column = column_of(r, at),
		.word = text_safe(r->a, r->text + at.at, shown, false),
		.text = text,
		.fix = fix,
		.is_warning = is_warning };
}

static int by_place(const void *x, const void *y)
{
	const struct dsl_problem *p = x, *q = y;

	if (p->line != q->line)
		return p->line < q->line ? -1 : 1;
	if (p->column != q->column)
		return p->column < q->column ? -1 : 1;
	return strcmp(p->code, q->code);
}

/* ---- code ---- */

static void emit(struct arena *a, struct dsl_code *code, enum dsl_opcode op, unsigned arg, size_t c)
{
	if (code->n == code->room) {
		size_t room = code->room ? 2 * code->room : 64;
		code->instrs = arena_grow(
			a, code->instrs, code->room * sizeof *code->instrs, room * sizeof *code->instrs);
		code->room = room;
	}
	code->instrs[code->n++] = (struct dsl_instr){ (uint8_t)op, (uint8_t)arg, (uint32_t)c };
}

static size_t add_const(struct arena *a, struct dsl_code *code, struct dsl_value v)
{
	if (code->const_n == code->const_room) {
		size_t room = code->const_room ? 2 * code->const_room : 64;
		code->consts = arena_grow(a, code->consts, code->const_room * sizeof v, room * sizeof v);
		code->const_room = room;
	}
	code->consts[code->const_n] = v;
	return code->const_n++;
}

static size_t add_path(struct arena *a, struct dsl_code *code, const struct dsl_path *path)
{
	if (code->path_n == code->path_room) {
		size_t room = code->path_room ? 2 * code->path_room : 64;
		code->paths = arena_grow(a, code->paths, code->path_room * sizeof path, room * sizeof path);
		code->path_room = room;
	}
	code->paths[code->path_n] = path;
	return code->path_n++;
}

static struct dsl_value text_value(const char *text)
{
	return (struct dsl_value){ .type = TYPE_STRING, .text = text, .text_n = strlen(text) };
}

static void emit_arg(struct arena *a, struct dsl_code *code, const struct dsl_arg *arg)
{
	if (arg->path)
		emit(a, code, OP_REF, 0, add_path(a, code, arg->path));
	else
		emit(a, code, OP_CONST, 0, add_const(a, code, arg->literal));
}

static void emit_operand(struct arena *a, struct dsl_code *code, const struct dsl_operand *o)
{
	static const enum dsl_opcode ops[] = { [OPERAND_HAS_TAG] = OP_HAS_TAG,
		[OPERAND_HAS_PRIMITIVE] = OP_HAS_PRIMITIVE,
		[OPERAND_NODE_TYPE] = OP_NODE_TYPE,
		[OPERAND_EDGE_TYPE] = OP_EDGE_TYPE };
	TABLE_COVERS(ops, OPERAND_COUNT);

	switch (o->kind) {
	case OPERAND_LITERAL:
		emit(a, code, OP_CONST, 0, add_const(a, code, o->literal));
		return;
	case OPERAND_REF:
		emit(a, code, OP_REF, 0, add_path(a, code, o->path));
		return;
	case OPERAND_FACT:
	case OPERAND_KNOWN:
		emit(a, code, o->kind == OPERAND_FACT ? OP_FACT : OP_KNOWN, 0,
			add_const(a, code, text_value(o->key)));
		return;
	default:
		for (const struct dsl_arg *arg = o->args; arg; arg = arg->next)
			emit_arg(a, code, arg);
		emit(a, code, ops[o->kind], 0, 0);
	}
}

static void emit_expr(struct arena *a, struct dsl_code *code, const struct dsl_expr *x);

/* Each part but the last may end the chain: its jump is set when the end is known.  Until then the jumps are a list, each holding the
 * place of the one before. */
static void emit_chain(struct arena *a, struct dsl_code *code, const struct dsl_expr *x)
{
	enum dsl_opcode jump = x->kind == EXPR_AND ? OP_JUMP_FALSE : OP_JUMP_TRUE;
	uint32_t last = UINT32_MAX;

	for (const struct dsl_expr *part = x->parts;; part = part->next) {
		emit_expr(a, code, part);
		if (!part->next)
			break;
		emit(a, code, jump, 0, last);
		last = (uint32_t)code->n - 1;
		emit(a, code, OP_POP, 0, 0);
	}
	while (last != UINT32_MAX) {
		uint32_t before = code->instrs[last].c;
		code->instrs[last].c = (uint32_t)code->n;
		last = before;
	}
}

static void emit_expr(struct arena *a, struct dsl_code *code, const struct dsl_expr *x)
{
	switch (x->kind) {
	case EXPR_NOT:
		emit_expr(a, code, x->parts);
		emit(a, code, OP_NOT, 0, 0);
		return;
	case EXPR_TEST:
		emit_operand(a, code, &x->x);
		if (x->x.kind == OPERAND_FACT)
			emit(a, code, OP_BOOL, 0, 0);
		return;
	case EXPR_COMPARE:
		emit_operand(a, code, &x->x);
		emit_operand(a, code, &x->y);
		emit(a, code, OP_COMPARE, x->cmp, 0);
		return;
	default:
		emit_chain(a, code, x);
	}
}

/* Everything a scope asks for, joined by `and`.  Each test but the first is entered with the true result of the one before on the stack. */
static void emit_scope(struct arena *a, struct dsl_code *code, const struct dsl_rule *rule)
{
	size_t begin = code->n;

#define JOIN() \
	do { \
		if (code->n > begin) { \
			emit(a, code, OP_JUMP_FALSE, 0, UINT32_MAX); \
			emit(a, code, OP_POP, 0, 0); \
		} \
	} while (0)
	for (const struct dsl_pred *p = rule->preds; p; p = p->next) {
		JOIN();
		emit(a, code, OP_MEMBER, 0, add_path(a, code, p->path));
		emit(a, code, OP_CONST, 0, add_const(a, code, p->literal));
		emit(a, code, OP_COMPARE, p->cmp, 0);
	}
	if (rule->in) {
		JOIN();
		emit(a, code, OP_IN, 0,
			add_const(a, code, (struct dsl_value){ .type = TYPE_LIST, .doc = rule->in }));
	}
	if (rule->tagged) {
		JOIN();
		emit(a, code, OP_TAGGED, 0,
			add_const(a, code, (struct dsl_value){ .type = TYPE_LIST, .doc = rule->tagged }));
	}
#undef JOIN
	if (code->n == begin)
		emit(a, code, OP_CONST, 0,
			add_const(a, code, (struct dsl_value){ .type = TYPE_BOOL, .number = 1 }));
	for (size_t i = begin; i < code->n; i++)
		if (code->instrs[i].op == OP_JUMP_FALSE)
			code->instrs[i].c = (uint32_t)code->n;
	emit(a, code, OP_RETURN, 0, 0);
}

/* ---- order ---- */

static int by_order(const void *x, const void *y)
{
	const struct dsl_rule *p = *(struct dsl_rule *const *)x, *q = *(struct dsl_rule *const *)y;

	if (p->module != q->module)
		return p->module - q->module;
	if (p->priority != q->priority)
		return p->priority < q->priority ? -1 : 1;
	return strcmp(p->name, q->name);
}

/* Rules in the order of evaluation, and the two programs of each. */
void dsl_generate(struct arena *a, struct dsl_policy *p)
{
	for (int i = 0; i < MODULES; i++)
		p->rule_n += p->modules[i].rule_count;
	p->order = arena_zalloc(a, p->rule_n + 1, sizeof *p->order);
	p->rule_n = 0;
	for (int i = 0; i < MODULES; i++)
		for (struct dsl_rule *r = p->modules[i].rules; r; r = r->next)
			p->order[p->rule_n++] = r;
	qsort(p->order, p->rule_n, sizeof *p->order, by_order);
	for (size_t i = 0; i < p->rule_n; i++) {
		struct dsl_rule *r = p->order[i];
		r->scope_pc = (uint32_t)p->code.n;
		emit_scope(a, &p->code, r);
		r->when_pc = (uint32_t)p->code.n;
		emit_expr(a, &p->code, r->when);
		emit(a, &p->code, OP_RETURN, 0, 0);
	}
}

/* ---- the whole ---- */

static struct dsl_mark place_of(const char *text, size_t at)
{
	struct dsl_mark mark = { .at = (uint32_t)at, .line = 1 };

	for (size_t i = 0; i < at; i++)
		if (text[i] == '\n') {
			mark.line++;
			mark.line_at = (uint32_t)i + 1;
		}
	return mark;
}

/* What the compiler makes always passes.  Should it ever not, the program ends here: such code must never run. */
static void verify_all(struct arena *a, const struct dsl_policy *p)
{
	uint8_t *lands = arena_zalloc(a, p->code.n + 1, 1);

	for (size_t i = 0; i < p->rule_n; i++)
		if (dsl_verify(&p->code, p->order[i]->scope_pc, lands) ||
			dsl_verify(&p->code, p->order[i]->when_pc, lands))
			BUG("compiled policy code does not verify");
}

const struct dsl_policy *dsl_compile(struct arena *a, struct bytes text, struct dsl_problems *ret)
{
	struct dsl_policy *p = arena_zalloc(a, 1, sizeof *p);
	struct dsl_reading r = { .a = a, .text = (const char *)text.p, .n = text.n, .problems = ret };
	size_t valid = text.n > DSL_MAX_BYTES ? 0 : text_utf8_valid(r.text, r.n);

	*ret = (struct dsl_problems){ 0 };
	if (text.n > DSL_MAX_BYTES) {
		dsl_problem(&r, (struct dsl_mark){ .line = 1 }, "E_LIMIT_SIZE",
			"this text is larger than 1 MiB", "split it into several policies");
		return NULL;
	}
	if (valid < r.n) {
		dsl_problem(&r, place_of(r.text, valid), "E_LEX", "the text is not UTF-8 here",
			"save the file as UTF-8");
		return NULL;
	}
	dsl_parse(&r, p);
	dsl_check(&r, p);
	if (ret->n)
		qsort(ret->items, ret->n, sizeof *ret->items, by_place);
	if (ret->errors)
		return NULL;
	dsl_generate(a, p);
	verify_all(a, p);
	dsl_describe(a, p);
	return p;
}

const struct json *dsl_document(const struct dsl_policy *p)
{
	return p->document;
}

const char *dsl_hash(const struct dsl_policy *p)
{
	return p->hash;
}

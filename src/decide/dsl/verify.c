/* verify.c — is this program safe to run?  Checked before every use, whoever made the code.
 *
 * One pass from the first instruction to the RETURN.  Jumps go forward only and land inside the program, so it ends without counting; there
 * are never more values than the stack has room for, nor fewer than an instruction takes; wherever a jump starts or lands there is exactly one
 * value, a bool; constants and paths exist and have the type that is asked for; RETURN finds one bool. */
#include "decide/dsl/parts.h"

/* What the stack looks like before the next instruction. */
struct state {
	uint32_t depth;
	bool is_bool; /* the top */
};

/* How many values an instruction takes, whether it leaves one, and whether that is surely a bool. */
static const struct {
	uint8_t takes, leaves;
	bool is_bool;
} shapes[] = {
	[OP_CONST] = { 0, 1, false },
	[OP_REF] = { 0, 1, false },
	[OP_MEMBER] = { 0, 1, false },
	[OP_FACT] = { 0, 1, false },
	[OP_KNOWN] = { 0, 1, true },
	[OP_HAS_TAG] = { 2, 1, true },
	[OP_HAS_PRIMITIVE] = { 2, 1, true },
	[OP_NODE_TYPE] = { 1, 1, false },
	[OP_EDGE_TYPE] = { 1, 1, false },
	[OP_COMPARE] = { 2, 1, true },
	[OP_BOOL] = { 1, 1, true },
	[OP_IN] = { 0, 1, true },
	[OP_TAGGED] = { 0, 1, true },
	[OP_NOT] = { 1, 1, true },
	[OP_JUMP_FALSE] = { 1, 1, true },
	[OP_JUMP_TRUE] = { 1, 1, true },
	[OP_POP] = { 1, 0, false },
	[OP_RETURN] = { 1, 1, true },
};

static bool needs_bool(enum dsl_opcode op)
{
	return op == OP_NOT || op == OP_JUMP_FALSE || op == OP_JUMP_TRUE || op == OP_RETURN;
}

/* What it points at exists and has the right type. */
static const char *check_operand(const struct dsl_code *code, const struct dsl_instr *i)
{
	switch (i->op) {
	case OP_CONST:
		return i->c < code->const_n ? NULL : "a constant that is not there";
	case OP_FACT:
	case OP_KNOWN:
		return i->c < code->const_n && code->consts[i->c].type == TYPE_STRING
			? NULL
			: "a fact without a key";
	case OP_IN:
	case OP_TAGGED:
		return i->c < code->const_n && code->consts[i->c].type == TYPE_LIST ? NULL
										    : "a set that is no list";
	case OP_REF:
	case OP_MEMBER:
		return i->c < code->path_n ? NULL : "a path that is not there";
	case OP_COMPARE:
		return i->a <= CMP_CONTAINS ? NULL : "a comparison that does not exist";
	default:
		return NULL;
	}
}

/* A jump from pc: forward, inside, with one bool.  `furthest` is the last place something jumps to. */
static const char *check_jump(
	const struct dsl_code *code, uint32_t pc, uint32_t depth, uint8_t *lands, uint32_t *furthest)
{
	uint32_t to = code->instrs[pc].c;

	if (to <= pc || to >= code->n)
		return "a jump that does not lead forward inside the program";
	if (depth != 1)
		return "a jump with more than one value";
	lands[to] = 1;
	if (to > *furthest)
		*furthest = to;
	return NULL;
}

const char *dsl_verify(const struct dsl_code *code, uint32_t begin, uint8_t *lands)
{
	struct state s = { 0 };
	uint32_t furthest = 0;

	for (uint32_t pc = begin; pc < code->n; pc++) {
		const struct dsl_instr *i = &code->instrs[pc];
		const char *why;

		if (i->op > OP_RETURN)
			return "an instruction that does not exist";
		if (lands[pc] && !(s.depth == 1 && s.is_bool))
			return "a jump to where there is not one bool";
		if (s.depth < shapes[i->op].takes)
			return "a value that is not there";
		if (needs_bool((enum dsl_opcode)i->op) && !s.is_bool)
			return "something else where a bool is needed";
		why = check_operand(code, i);
		if (!why && (i->op == OP_JUMP_FALSE || i->op == OP_JUMP_TRUE))
			why = check_jump(code, pc, s.depth, lands, &furthest);
		if (why)
			return why;
		if (i->op == OP_RETURN)
			return s.depth != 1	? "more than one value at the end"
				: furthest > pc ? "a jump behind the end"
						: NULL;
		s.depth += shapes[i->op].leaves;
		s.depth -= shapes[i->op].takes;
		s.is_bool =
			shapes[i->op].is_bool || (i->op == OP_CONST && code->consts[i->c].type == TYPE_BOOL);
		if (s.depth > DSL_STACK)
			return "more values than there is room for";
	}
	return "no end";
}

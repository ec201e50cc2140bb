/* parts.h — inside decide/dsl/: tokens, the tree of a policy, compiled code, and the one kind of value.
 *
 * text --lex.c--> tokens --parse.c, parse_rule.c--> tree --check.c--> checked tree --compile.c--> code --verify.c--> policy --judge.c--> answer */
#ifndef DECIDE_DSL_PARTS_H
#define DECIDE_DSL_PARTS_H

#include "base/text.h"
#include "decide/dsl/dsl.h"

enum {
	DSL_MAX_DEPTH = 16, /* parentheses and `not` around a condition, and itself */
	DSL_MAX_PATH = 16, /* names in a path */
	DSL_MAX_RULES = 256, /* of one module */
	DSL_MAX_TEMPLATES = 256, /* of one module */
	DSL_MAX_OPS = 32, /* of one template or rewrite */
	DSL_MAX_PARAMS = 8, /* of one invocation of a template */
	DSL_MAX_ARGS = 16, /* of one operation, function or explanation */
	DSL_MAX_PATCHES = 8, /* suggested by one rule */
	DSL_MAX_SHOWN = 256, /* bytes of a value of the request that are repeated in an answer */
	DSL_MAX_NAME = 128, /* bytes of a name */
	DSL_MAX_STRING = 4096, /* bytes of a string */
	DSL_MAX_FACTS = 64, /* different facts in one condition: they are bits of a word */
	DSL_MAX_PROBLEMS = 100, /* reported for one text */
	DSL_MAX_WARNINGS = 50, /* of them, so that there is always room for errors */
	DSL_STACK = 4 /* values during evaluation; the verifier holds code to it */
};

/* ---- values ---- */

enum dsl_type {
	TYPE_OTHER,
	TYPE_STRING,
	TYPE_INT,
	TYPE_BOOL,
	TYPE_MONEY,
	TYPE_DURATION,
	TYPE_LIST,
	TYPE_COUNT
};

/* One value, of the text or of a request.  OTHER is what the language has no type for: it may be handed on, never compared. */
struct dsl_value {
	enum dsl_type type;
	const char *text; /* string, or currency of money */
	size_t text_n;
	int64_t number; /* int, bool, minor units, milliseconds */
	const struct json *doc; /* list: array of strings; and what a value of a request was read from */
};
struct dsl_value dsl_value_of(const struct json *doc); /* never fails: at worst OTHER */
struct json *dsl_value_json(struct arena *a, const struct dsl_value *v);
const char *dsl_type_name(enum dsl_type t); /* with its article: "a string" */

enum dsl_cmp { CMP_EQ, CMP_NE, CMP_GT, CMP_LT, CMP_GE, CMP_LE, CMP_CONTAINS, CMP_COUNT };
extern const char *const dsl_cmp_names[];
/* x cmp y; NULL, or why these two cannot be compared so. */
const char *dsl_compare(
	enum dsl_cmp cmp, const struct dsl_value *x, const struct dsl_value *y, bool *ret_truth);
bool dsl_list_has(const struct json *list, const char *text, size_t n);

/* ---- tokens ---- */

enum dsl_token_kind {
	TOKEN_END,
	TOKEN_IDENT,
	TOKEN_INT,
	TOKEN_STRING,
	TOKEN_HASH,
	TOKEN_PUNCT, /* one of { } ( ) [ ] : , = . < > and the two-character comparisons */
	TOKEN_COMMENT, /* only when asked for */
	TOKEN_BAD /* the lexer has reported it */
};

/* A place in the text: offset, line, and where that line starts. */
struct dsl_mark {
	uint32_t at, n, line, line_at;
};

struct dsl_token {
	enum dsl_token_kind kind;
	struct dsl_mark mark;
	const char *text; /* identifier, punctuation, decoded string, hash; NUL-terminated */
	int64_t number;
	bool is_first; /* nothing but white space before it on its line */
};

struct dsl_reading; /* below */

struct dsl_lexer {
	struct dsl_reading *r;
	size_t at;
	uint32_t line;
	size_t line_at;
	bool keeps_comments;
	bool is_line_new; /* nothing but white space since the line began */
};
struct dsl_token dsl_lex(struct dsl_lexer *x);
/* The run of letters, digits, '_' and '.' that starts at a token; the lexer goes on behind it. */
struct dsl_token dsl_lex_code(struct dsl_lexer *x, const struct dsl_token *from);

/* ---- the tree ---- */

struct dsl_path {
	const char **names; /* "delta", "node", "risk" */
	size_t n;
	const char *text; /* "delta.node.risk" */
};

struct dsl_arg {
	struct dsl_arg *next;
	const char *name; /* NULL: by place */
	const struct dsl_path *path; /* NULL: `literal` */
	struct dsl_value literal;
	struct dsl_mark mark;
};

enum dsl_operand_kind {
	OPERAND_LITERAL,
	OPERAND_REF,
	OPERAND_FACT,
	OPERAND_KNOWN,
	OPERAND_HAS_TAG,
	OPERAND_HAS_PRIMITIVE,
	OPERAND_NODE_TYPE,
	OPERAND_EDGE_TYPE,
	OPERAND_COUNT
};
extern const char *const dsl_function_names[]; /* NULL for what is no function */

struct dsl_operand {
	enum dsl_operand_kind kind;
	struct dsl_value literal;
	const struct dsl_path *path;
	const char *key; /* of a fact; set by the parser for known(), by the checker for fact() */
	struct dsl_arg *args;
	struct dsl_mark mark;
};

enum dsl_expr_kind { EXPR_AND, EXPR_OR, EXPR_NOT, EXPR_COMPARE, EXPR_TEST };

/* AND and OR have a list of parts, so that a long one costs no depth. */
struct dsl_expr {
	enum dsl_expr_kind kind;
	struct dsl_expr *parts, *next;
	struct dsl_operand x, y; /* TEST uses x */
	enum dsl_cmp cmp;
	struct dsl_mark mark;
};

struct dsl_pred {
	struct dsl_pred *next;
	const struct dsl_path *path;
	enum dsl_cmp cmp;
	struct dsl_value literal;
	struct dsl_mark mark;
};

struct dsl_op {
	struct dsl_op *next;
	const char *name;
	struct dsl_arg *args;
	struct dsl_mark mark;
};

struct dsl_invoke {
	struct dsl_invoke *next;
	const char *name;
	struct dsl_arg *args;
	const struct dsl_template *is; /* set by the checker */
	struct dsl_mark mark;
};

struct dsl_template {
	struct dsl_template *next;
	const char *name;
	struct dsl_op *ops;
	struct dsl_mark mark;
};

enum dsl_target { TARGET_NODE, TARGET_EDGE, TARGET_AGENT, TARGET_CAPITAL_FLOW, TARGET_DATA_FLOW, TARGETS };
extern const char *const dsl_target_names[];
enum dsl_action { ACTION_DENY, ACTION_APPROVAL, ACTION_FACTS, ACTION_REWRITE, ACTIONS };
extern const char *const dsl_action_names[];

struct dsl_rule {
	struct dsl_rule *next;
	const char *name, *id; /* "mica_required", "licenses.mica_required" */
	int module;
	int64_t priority;
	enum dsl_target target;
	struct dsl_pred *preds;
	struct json *in, *tagged; /* arrays of strings; or NULL */
	struct dsl_expr *when;
	enum dsl_action action;
	const char *role; /* of ACTION_APPROVAL */
	struct json *facts; /* of ACTION_FACTS */
	struct dsl_op *ops; /* of ACTION_REWRITE */
	const char *code;
	struct dsl_arg *args; /* of the explanation */
	struct dsl_invoke *patches;
	struct dsl_mark mark, when_mark, code_mark;
	bool is_bad; /* has had its one error */
	uint32_t scope_pc, when_pc; /* where its code begins */
};

enum { MODULES = 10 };
extern const char *const dsl_module_names[]; /* in the order of evaluation */

struct dsl_module {
	bool is_there;
	struct dsl_rule *rules;
	struct dsl_template *templates;
	size_t rule_count, template_count;
};

/* ---- code ---- */

enum dsl_opcode {
	OP_CONST, /* push constant c */
	OP_REF, /* push what path c names in the request; a missing one is an error */
	OP_MEMBER, /* push member path c of the subject; a missing one ends the program with false */
	OP_FACT, /* push fact c */
	OP_KNOWN, /* push whether fact c is known */
	OP_HAS_TAG, /* object, string -> bool */
	OP_HAS_PRIMITIVE, /* object, string -> bool */
	OP_NODE_TYPE, /* object -> string */
	OP_EDGE_TYPE, /* object -> string */
	OP_COMPARE, /* value, value -> bool, by comparison a */
	OP_BOOL, /* the top must be a bool; else an error */
	OP_IN, /* push whether the subject's jurisdiction is in constant c */
	OP_TAGGED, /* push whether the subject has a tag of constant c */
	OP_NOT,
	OP_JUMP_FALSE, /* to c when the top is false; the top stays */
	OP_JUMP_TRUE,
	OP_POP,
	OP_RETURN
};

struct dsl_instr {
	uint8_t op, a;
	uint32_t c;
};

struct dsl_code {
	struct dsl_instr *instrs;
	size_t n, room;
	struct dsl_value *consts; /* facts are strings here, too */
	size_t const_n, const_room;
	const struct dsl_path **paths;
	size_t path_n, path_room;
};

struct dsl_policy {
	const char *name, *cpi; /* of the header; or NULL */
	struct dsl_module modules[MODULES];
	struct dsl_rule **order; /* all rules, in the order of evaluation */
	size_t rule_n;
	struct dsl_code code;
	struct json *document;
	const char *hash;
};

/* ---- the steps ---- */

/* One reading of one text: where problems are collected. */
struct dsl_reading {
	struct arena *a;
	const char *text;
	size_t n;
	struct dsl_problems *problems;
	size_t room;
	const struct json *messages; /* the English texts; read when first needed */
};

/* Report; the word is what stands at the mark.  Past the limits nothing more is kept, but errors are counted. */
void dsl_problem(
	struct dsl_reading *r, struct dsl_mark at, const char *code, const char *text, const char *fix);

void dsl_parse(struct dsl_reading *r, struct dsl_policy *p);
void dsl_check(struct dsl_reading *r, struct dsl_policy *p);
void dsl_generate(struct arena *a, struct dsl_policy *p);
/* NULL, or what is wrong with the program that begins at pc.  Only what passes is ever run.  `lands` has a byte for each instruction of the
 * code, zero at first: where jumps land. */
const char *dsl_verify(const struct dsl_code *code, uint32_t pc, uint8_t *lands);
void dsl_describe(struct arena *a, struct dsl_policy *p); /* fills document and hash */

/* Texts of a language, {"key": "text with {argument}"}; NULL when there are none. */
const struct json *dsl_messages(struct arena *a, const char *language);
/* The key of the text about a reason code: "reason.cpi_data_forbidden_x.summary". */
char *dsl_message_key(struct arena *a, const char *code);

/* A member of an object, or of tags and primitives the empty list when it is absent. */
const struct json *dsl_member(const struct json *object, const char *name);

/* The argument that says what an operation does to its subject: the one of that name, or the first without a name; or NULL. */
const struct dsl_arg *dsl_about(const struct dsl_op *op, const char *name);
/* The name of that argument; NULL for operations that do not change the subject. */
const char *dsl_about_name(const struct dsl_op *op, const char **ret_member);

/* parse_rule.c works for parse.c. */
struct dsl_parser {
	struct dsl_reading *r;
	struct dsl_lexer lexer;
	struct dsl_token now;
	bool has_failed; /* the one error of this rule or template was reported */
};
void dsl_next(struct dsl_parser *p);
void dsl_fail(struct dsl_parser *p, const char *code, const char *text, const char *fix);
bool dsl_is(const struct dsl_parser *p, const char *word); /* the token is this word or sign */
bool dsl_take(struct dsl_parser *p, const char *word); /* the same, and go on */
void dsl_expect(struct dsl_parser *p, const char *word, const char *after);
const char *dsl_ident(struct dsl_parser *p, const char *what);
/* The place of the token in a list of names, or -1. */
int dsl_which(const struct dsl_parser *p, const char *const *names, size_t n);
struct dsl_op *dsl_parse_ops(struct dsl_parser *p);
struct dsl_arg *dsl_parse_args(struct dsl_parser *p, size_t *ret_n);
struct dsl_rule *dsl_parse_rule(struct dsl_parser *p, int module);

#endif

/* parts.h — what the files of this folder share: kinds, values, nodes of the tree, and the errors they end in. */
#ifndef DECIDE_EXPRESSION_PARTS_H
#define DECIDE_EXPRESSION_PARTS_H

#include "base/regex.h"
#include "decide/expression/expression.h"

/* One bit each, so that a set of kinds is a number.  No bit is an error: a value that is none, or a node that has none. */
enum kind {
	KIND_ERROR = 0,
	KIND_NULL = 1,
	KIND_BOOL = 2,
	KIND_INT = 4,
	KIND_STRING = 8,
	KIND_LIST = 16,
	KIND_MAP = 32,
	KIND_ANY = 63,
	KIND_KEY = KIND_BOOL | KIND_INT | KIND_STRING, /* what may be the key of a map */
	KIND_ORDERED = KIND_KEY, /* what < and > compare */
	KIND_MANY = KIND_LIST | KIND_MAP
};

/* Why there is no value. */
enum failure {
	FAIL_COST,
	FAIL_KIND,
	FAIL_FUNCTION,
	FAIL_VARIABLE,
	FAIL_MEMBER,
	FAIL_KEY,
	FAIL_INDEX,
	FAIL_OVERFLOW,
	FAIL_ZERO,
	FAIL_DUPLICATE,
	FAIL_NUMBER,
	FAIL_PATTERN,
	FAIL_NOT_JSON,
	FAIL_NOT_BOOL,
	FAIL_COUNT
};

/* A place in the text: the word that is to blame. */
struct word {
	uint32_t at, n;
};

struct pair;

/* A list or map is either one of the variables, used where it lies, or was made by the expression. */
struct value {
	uint8_t kind; /* enum kind, one bit or none */
	bool is_json; /* list, map */
	uint8_t why; /* error: enum failure */
	uint8_t left, right; /* FAIL_KIND: the kinds that do not fit; right 0 when there is one only */
	union {
		bool truth;
		int64_t number;
		struct bytes text;
		struct {
			union {
				const struct value *items;
				const struct pair *pairs;
				const struct json *json;
			};
			size_t n;
		};
		struct word blame;
	};
};

struct pair {
	struct value key, value;
};

enum node_type {
	NODE_CONSTANT,
	NODE_PATH, /* a variable and members of it */
	NODE_LOCAL, /* the variable of a macro */
	NODE_SELECT,
	NODE_HAS,
	NODE_INDEX,
	NODE_LIST,
	NODE_MAP, /* kids: key, value, key, value, ... */
	NODE_NOT,
	NODE_NEGATE,
	NODE_CHOICE,
	NODE_AND,
	NODE_OR,
	NODE_EQUAL,
	NODE_UNEQUAL,
	NODE_LESS,
	NODE_LESS_EQUAL,
	NODE_GREATER,
	NODE_GREATER_EQUAL,
	NODE_IN,
	NODE_ADD,
	NODE_SUBTRACT,
	NODE_MULTIPLY,
	NODE_DIVIDE,
	NODE_REMAINDER,
	NODE_CALL,
	/* Macros.  Kids: what is gone through, the body; MAP_IF has the condition between them. */
	NODE_ALL,
	NODE_EXISTS,
	NODE_EXISTS_ONE,
	NODE_FILTER,
	NODE_MAP_EACH,
	NODE_MAP_IF
};

struct name {
	struct bytes text;
	struct word word;
};

struct machine;
struct node;

/* A function of the language; the table is in function.c. */
struct function {
	const char *name;
	uint8_t arguments; /* the one before the dot included */
	bool is_method, is_global; /* x.f(y), f(x, y) */
	uint8_t takes[2], gives; /* kinds */
	struct value (*run)(struct machine *m, const struct node *n, const struct value *arguments);
};

struct node {
	uint8_t type;
	uint8_t kinds; /* its value is one of these; none: it can only fail */
	uint16_t slot; /* of a macro's variable */
	uint32_t kid_n;
	struct word word; /* to blame when it fails */
	struct node **kids;
	union {
		struct value constant;
		struct {
			struct name *names; /* path: the variable first; select, has: one member */
			uint32_t name_n;
		};
		struct {
			const struct function *function; /* NULL: there is no such one */
			struct regex *regex; /* of matches() with a constant pattern */
		};
	};
};

struct expression {
	const char *name;
	struct bytes text;
	struct node *root;
	unsigned slots; /* variables of macros that are known at once */
};

/* One evaluation. */
struct machine {
	const struct json *variables;
	struct arena *a;
	uint64_t cost;
	struct value *slots; /* variables of macros; each is set before its body runs */
};

/* lex.c */
enum token_type {
	/* Other tokens are the character itself. */
	TOKEN_END = 256,
	TOKEN_BAD,
	TOKEN_INT,
	TOKEN_STRING,
	TOKEN_NAME,
	TOKEN_QUOTED_NAME, /* `in-backquotes`: behind a dot only */
	TOKEN_RESERVED,
	TOKEN_TRUE,
	TOKEN_FALSE,
	TOKEN_NULL,
	TOKEN_IN,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_EQUAL,
	TOKEN_UNEQUAL,
	TOKEN_LESS_EQUAL,
	TOKEN_GREATER_EQUAL
};
struct token {
	int type;
	struct word word;
	struct bytes text; /* of a name, or a string with its escapes resolved */
	uint64_t number; /* at most 2^63 */
	const char *why; /* TOKEN_BAD: what is wrong and how it is written */
};
/* The token at or behind offset `at`. */
struct token lex(struct arena *a, struct bytes text, uint32_t at);

/* check.c */
/* Sets n->kinds from those of its kids. */
void check_node(struct node *n);
/* The first node inside of n that can only fail although its kids need not; NULL when there is none. */
const struct node *check_find(const struct node *n);
/* What the operator or function accepts there, for messages and for evaluation alike. */
struct value check_failure(const struct node *n);

/* function.c */
const struct function *function_find(struct bytes name, size_t arguments, bool is_method);
const char *function_nearest(struct arena *a, struct bytes name);
/* Is it matches()? */
bool function_is_matches(const struct function *f);

/* value.c */
struct value value_of_json(const struct json *v, struct word blame);
struct value value_fail(enum failure why, struct word blame);
struct value value_clash(struct word blame, unsigned left, unsigned right);
static inline struct value value_bool(bool truth)
{
	return (struct value){ .kind = KIND_BOOL, .truth = truth };
}
static inline struct value value_int(int64_t number)
{
	return (struct value){ .kind = KIND_INT, .number = number };
}
struct value value_item(const struct value *list, size_t i, struct word blame);
/* The i-th key of a map. */
struct value value_key(const struct value *map, size_t i);
/* True, false or an error.  Values of different kinds are not equal. */
struct value value_equal(struct machine *m, const struct value *x, const struct value *y, struct word blame);
/* Negative, 0 or positive, for two values of the same ordered kind. */
int value_compare(const struct value *x, const struct value *y);
/* The member of that key: its value, or an error when there is none. */
struct value value_get(
	struct machine *m, const struct value *map, const struct value *key, struct word blame);
/* The same for a name behind a dot. */
struct value value_get_text(struct machine *m, const struct value *map, const struct name *name);
/* The member of a JSON object; NULL when there is none. */
const struct json *value_member(struct machine *m, const struct json *object, struct bytes name);
/* NULL when JSON has no such value, and then *ret_why says so. */
struct json *value_to_json(struct machine *m, const struct value *v, struct value *ret_why);

/* eval.c */
struct value eval(struct machine *m, const struct node *n);
/* Is there that much left?  When not, nothing is evaluated any more. */
static inline bool charge(struct machine *m, uint64_t cost)
{
	m->cost += cost;
	return m->cost <= EXPRESSION_COST;
}
enum { BYTES_PER_COST = 64 }; /* of texts that are compared, copied or searched */

/* message.c */
/* The word as it stands, cut and harmless. */
const char *message_word(struct arena *a, const struct expression *x, struct word w);
int message_set(struct err *e, const struct expression *x, enum rc rc, const char *code, struct word at,
	const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* The same for a value that is an error. */
int message_fail(struct err *e, const struct expression *x, const struct value *v);

#endif

/* shell.h — the shell's grammar: text into a tree, and nothing else.  Not visible outside this folder.
 *
 * POSIX shell and the bash forms that people and agents write.  What `bash -n` accepts is accepted and what it refuses is
 * refused, with three deliberate differences: texts inside backquotes and here-documents are parsed too (bash looks at
 * them only when they run), extended globs are read without `shopt -s extglob`, and `${ cmd; }` is refused because shells
 * disagree about it.  Nothing is guessed: the first thing that does not fit ends the parse, with its place and what was
 * expected there.  Commands completed before that place are in the tree, because a shell would have run them. */
#ifndef PROPOSE_SHELL_SHELL_H
#define PROPOSE_SHELL_SHELL_H

#include "model/effect.h"
#include "propose/walk.h"

/* Nesting of any kind within one text; bounds the recursion of everything that goes through the tree. */
enum { SHELL_MAX_NESTING = 64 };

enum part_kind {
	PART_TEXT, /* literal bytes; when not quoted, globs, braces and a leading tilde in it are alive */
	PART_PARAM, /* $x ${x...} */
	PART_COMMAND, /* $(...) or backquotes */
	PART_ARITH, /* $((...)) */
	PART_PROC_IN, /* <(...) */
	PART_PROC_OUT /* >(...) */
};

/* A piece of a word. Parts keep whether they were quoted, because only unquoted ones are split and
 * matched as globs. */
struct shell_part {
	enum part_kind kind;
	bool is_quoted;
	struct span at;
	struct shell_part *next;
	const char *text; /* TEXT */
	size_t text_n;
	union {
		struct shell_param *param;
		struct shell_script *script; /* COMMAND, PROC_* */
		struct shell_word *arith; /* ARITH: its parts, as in double quotes */
	};
};

/* A word as it is written. What it stands for is found by the evaluator (evaluate/words.c). */
struct shell_word {
	struct shell_part *first; /* NULL: the empty operand of ${x:-} */
	struct shell_word *next;
	struct span at;
	struct shell_word *index; /* of name[index]=value */
	struct shell_word *elements; /* of name=(elements) */
	uint32_t name_n; /* length of NAME when the word is NAME=..., NAME+=..., NAME[..]=..., else 0 */
	uint32_t value_skip; /* then: bytes of the first part before the value */
	bool is_append, is_array;
	bool has_brace; /* an unquoted '{' */
	bool is_extglob; /* holds @(...) or one of its kin, or is a regular expression */
	bool is_plain; /* one unquoted text without anything to expand */
};

enum param_op {
	PARAM_PLAIN,
	PARAM_DEFAULT, /* - */
	PARAM_ASSIGN, /* = */
	PARAM_ERROR, /* ? */
	PARAM_ALTERNATE, /* + */
	PARAM_CUT_HEAD, /* # ## */
	PARAM_CUT_TAIL, /* % %% */
	PARAM_REPLACE, /* / // /# /% */
	PARAM_UPPER, /* ^ ^^ */
	PARAM_LOWER, /* , ,, */
	PARAM_SLICE, /* :offset:length */
	PARAM_LENGTH, /* ${#x} */
	PARAM_NAMES, /* ${!prefix*} ${!array[@]} */
	PARAM_OTHER /* @Q and whatever else: the value is not known */
};

/* $x or ${x...}: a name and at most one operator. */
struct shell_param {
	const char *name; /* also "@" "*" "#" "?" "-" "$" "!" and digits */
	size_t name_n;
	enum param_op op;
	bool is_colon; /* :- := :? :+ : an empty value counts as none */
	bool is_forced; /* ::= of zsh: assigned whatever the value is */
	bool is_longest; /* ## %% // ^^ ,, */
	char anchor; /* '#' or '%' of a replacement, or 0 */
	bool is_indirect; /* ${!x} */
	struct shell_word *index; /* x[index] */
	struct shell_word *word, *word2; /* operands; word2: replacement, length */
};

/* One redirection as it is written. */
struct shell_redir {
	enum redirect_op op;
	int fd; /* -1: default */
	bool is_fd_name; /* {name}> */
	bool is_quoted; /* here-document whose body is not expanded */
	bool strips_tabs;
	struct span at;
	struct shell_word *word; /* target; for a here-document its body */
	const char *delimiter;
	size_t delimiter_n;
	struct shell_redir *next;
	struct shell_redir *next_pending; /* while its body has not been read */
};

/* Kinds of commands. Which members of struct shell_node a kind uses stands beside them. */
enum shell_kind {
	SH_SIMPLE,
	SH_PIPELINE,
	SH_AND_OR,
	SH_SUBSHELL,
	SH_GROUP,
	SH_IF,
	SH_WHILE, /* and until */
	SH_FOR, /* and select */
	SH_FOR_ARITH,
	SH_CASE,
	SH_FUNCTION,
	SH_COPROC,
	SH_ARITH, /* ((...)) */
	SH_COND /* [[ ... ]] */
};

enum shell_join { JOIN_SEQUENCE, JOIN_AND, JOIN_OR, JOIN_PIPE, JOIN_PIPE_BOTH };

/* A list is a chain of nodes; so are the commands of a pipeline and the pipelines of an and-or list. */
struct shell_node {
	enum shell_kind kind;
	enum shell_join join; /* how it follows the one before it */
	bool is_background, is_negated, is_timed;
	struct span at;
	struct shell_node *next;
	struct shell_redir *redirs;
	struct shell_word
		*words; /* SIMPLE: its words; FOR: the list; CASE: the subject; COND: operands; ARITH: all */
	struct shell_word *assigns; /* SIMPLE */
	struct shell_node
		*items; /* PIPELINE, AND_OR; condition of WHILE; body of SUBSHELL, GROUP, COPROC, FUNCTION */
	struct shell_node *body; /* of WHILE, FOR */
	struct shell_clause *clauses; /* IF, CASE */
	const char *name; /* FOR, FUNCTION, COPROC */
	size_t name_n;
	bool has_in; /* FOR */
};

/* A branch of if, or one list of patterns of case with its commands. */
struct shell_clause {
	struct shell_clause *next;
	struct shell_node *condition; /* IF; NULL: else */
	struct shell_word *patterns; /* CASE */
	struct shell_node *body; /* may be NULL in CASE */
	struct span at;
};

/* A parsed text: the whole input, or what stands inside a substitution. */
struct shell_script {
	const struct source *source;
	struct shell_node *first; /* NULL when there is no command */
};

/* Shared by all parses of one analysis. */
struct shell_limits {
	uint32_t nodes, max_nodes;
};

struct shell_error {
	const char *code; /* NULL: none; else parse_error, depth_limit, node_limit, size_limit */
	const char *text;
	struct span at;
	const struct source *source; /* where `at` lies */
};

/* Parse all of source->text.  Never fails otherwise than by filling *ret_error; ret->first then holds the complete
 * commands before the error.  Linear in the length of the text. */
void shell_parse(struct arena *a, const struct source *source, struct shell_limits *limits,
	struct shell_script *ret, struct shell_error *ret_error);

/* The word's text when it is one unquoted literal, else NULL. */
bool shell_word_is(const struct shell_word *w, const char *text);

#endif

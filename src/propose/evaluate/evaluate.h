/* evaluate.h — inside the evaluator: what is known while a tree is walked.  Shared by walk.c, builtins.c, words.c, params.c,
 * braces.c, arith.c, scope.c and outputs.c only.
 *
 * A value is text in which unknown parts are single marker bytes, so that it can be stored, joined, split and parsed again
 * like any other text.  Markers in the input itself are taken for what they say: unknown. */
#ifndef PROPOSE_EVALUATE_EVALUATE_H
#define PROPOSE_EVALUATE_EVALUATE_H

#include "base/text.h"
#include "propose/shell/shell.h"
#include "propose/walk.h"

enum {
	MARK_UNKNOWN = 1, /* anything, also nothing */
	MARK_FILLED = 2, /* anything but nothing */
	MARK_DECODED = 3,
	MARK_FETCHED = 4,
	MARK_NAME = 5, /* one of the names a glob matched */
	MARK_SECRETS = 6, /* names of files that hold secrets */
	MARK_CREDENTIAL =
		14, /* the value of a variable whose name says that it is one; those between are bytes that texts have */
	MARK_LAST = MARK_SECRETS
};
static inline bool is_mark(char c)
{
	return (c >= MARK_UNKNOWN && c <= MARK_LAST) || c == MARK_CREDENTIAL;
}
bool has_mark(const char *s);

enum {
	EVAL_MAX_ALTERNATIVES = 64, /* values one variable may have */
	EVAL_MAX_TRIES = 64, /* combinations of them one command is judged for */
	EVAL_MAX_CHOICES = 16,
	EVAL_MAX_RECURSION = 3, /* times one function may be active */
	EVAL_MAX_WORK = 20000, /* simple commands judged */
	EVAL_MAX_BYTES = 4 << 20 /* text made by expansion */
};

/* Immutable.  A scalar: the alternatives it may have, none when it is unset.  An array: its elements. */
struct value {
	const char **items;
	uint32_t n;
	bool is_array;
	bool is_open; /* array: there may be more */
	bool is_keyed; /* array: elements do not stand where their index says, and some may be gone */
};

enum binding_kind { BIND_VARIABLE, BIND_FUNCTION, BIND_ALIAS, BIND_DIRECTORY };

/* A name and what it means at this point of the walk. The epochs belong to the merging of branches in
 * scope.c. */
struct binding {
	struct binding *next; /* in its bucket */
	const char *name;
	size_t name_n;
	uint32_t hash;
	enum binding_kind kind;
	const void *now; /* struct value, struct function, alias text; NULL: not set here */
	uint32_t cut_epoch, merge_epoch, merge_count;
	const void *merged;
};

/* A function that the text defines. */
struct function {
	const struct shell_node *node;
	const struct shell_script *script; /* for its source */
	bool is_certain; /* defined for sure, not in some branch */
	bool *was_called; /* shared by copies */
	struct function *older; /* in order of definition */
};

/* An entry of the log: what a binding was before it was set. */
struct change {
	struct binding *binding;
	const void *before;
};

/* One thing with several possible values, and which of them is taken in the present try (eval_choose). */
struct choice {
	const void *key;
	uint32_t n, i;
};

/* What a list prints, for $(...) and pipes. */
struct capture {
	struct capture *outer;
	uint32_t conditional; /* depth of maybe-executed code where it began */
	enum feed_kind kind; /* EMPTY, KNOWN, or the worst seen */
	struct buf text;
	bool is_filled;
	const char *below; /* some of it are names of files below this directory */
	const char *names, *lines; /* as in struct feed */
	struct feed
		sole; /* the only thing printed so far, when it is a file or decoded text; kind EMPTY otherwise */
};

/* A call of a function that is being walked. */
struct frame {
	struct frame *outer;
	const struct shell_node *function;
	uint32_t background; /* depth of background where it was called */
	const struct shell_node *pipeline; /* in which it last called itself */
	struct local *locals; /* to be given back at its end */
};

/* All that one analysis knows. Members in groups: where results go and limits; names and their log;
 * choices; where in the execution the walk stands; the scratch stack of words.c. */
struct walk {
	struct arena *a;
	const struct surroundings *at;
	struct proposal *p;
	size_t effect_cap, step_cap;
	struct shell_limits limits;
	uint32_t depth, step, work;
	size_t bytes;
	bool is_attempt; /* what is found will be taken back (walk_attempt) */
	bool is_stopped; /* a limit was reached: nothing more is looked at */

	struct binding **table;
	uint32_t table_size, table_count;
	struct change *log;
	size_t log_n, log_cap;
	uint32_t epoch;
	const struct value **directories; /* of pushd */
	size_t directory_count, directory_cap;

	struct choice choices[EVAL_MAX_CHOICES];
	uint32_t choice_n;
	int64_t diagonal; /* >= 0: every choice takes this one, modulo */

	uint32_t conditional, loops, background;
	bool is_dead; /* exit or return ended this branch */
	const struct shell_node *pipeline;
	struct capture *capture;
	struct feed in;
	uint64_t socket_fds;
	int next_fd; /* of process substitutions */
	struct {
		int fd; /* of a process substitution; -1: $(...) */
		struct feed out;
	} sources[WALK_SOURCES]; /* what the latest substitutions print, where that is a file */
	size_t source_count;
	bool is_in_source;
	const struct shell_script *script;
	unsigned flags;
	struct frame *frames;
	struct function *functions;
	void *notes;
	const struct shell_node *extra_node; /* the command that gets an alias's arguments */
	const struct word *extra;
	size_t extra_n;

	char *scratch; /* a stack of texts under construction */
	size_t scratch_n, scratch_cap;
};

/* walk.c */
void eval_stop(struct walk *w, const char *code, const char *text); /* a limit was reached */
uint32_t walk_step_begin(struct walk *w, const struct command *c); /* inside the current step */
void walk_step_end(struct walk *w, uint32_t outer); /* of the current step, which becomes `outer` again */
/* Parse text and go through it one level deeper.  in_place: what it sets remains.  extra: words its last command gets. */
struct script_call {
	const char *text;
	size_t n;
	struct span at;
	const char *via;
	bool in_place;
	const struct word *extra;
	size_t extra_n;
};
void eval_text(struct walk *w, const struct command *from, const struct script_call *call);

/* eval.c */
void eval_list(struct walk *w, const struct shell_node *first);
bool eval_enter(struct walk *w); /* one level deeper; false: that was too deep */
/* What a script prints, run in a subshell. */
struct feed eval_output(struct walk *w, const struct shell_script *script);
/* Which of n possibilities to take now; the command is judged again for the others. */
uint32_t eval_choose(struct walk *w, const void *key, uint32_t n);
void eval_capture_begin(struct walk *w);
struct feed eval_capture_end(struct walk *w);
void eval_prints(struct walk *w, const struct feed *out);

/* A simple command to be judged, with the words an alias gives it. */
struct simple_run {
	const struct shell_node *node;
	const struct word *extra;
	size_t extra_n;
};
void eval_simple(struct walk *w, const void *simple_run);
/* Run one command whose words are expanded; is_plain: no alias applies. */
void eval_dispatch(struct walk *w, struct command *c, bool is_plain);
void eval_redirs(struct walk *w, const struct shell_redir *first, struct command *c);
bool eval_redirects_output(const struct command *c); /* to a file, or nowhere */
void eval_define(struct walk *w, const struct shell_node *node); /* a function */
/* Text that the shell expands when it shows it: PS4, ${x@P}. */
void eval_prompt(struct walk *w, const struct command *c, const char *text);
/* Text with a subscript in it, which is evaluated when it is used: a[$(cmd)]. */
void eval_subscript(struct walk *w, const struct command *c, const char *text);
void eval_local(struct walk *w, struct binding *b); /* local: the caller gets its value back */
void eval_uncalled(struct walk *w); /* functions nobody called may be called later, with anything */

/* scope.c */
struct binding *scope_binding(
	struct walk *w, enum binding_kind kind, const char *name, size_t n, bool create);
void scope_set(struct walk *w, struct binding *b, const void *value);
void scope_undo(struct walk *w, size_t mark);
struct value *value_new(struct walk *w, uint32_t n, bool is_array);
const struct value *value_text(struct walk *w, const char *text);
const struct value *value_union(struct walk *w, const struct value *x, const struct value *y);
/* Of a variable: what was assigned, or the environment's, or unknown.  Never NULL. */
const struct value *scope_variable(struct walk *w, const char *name, size_t n);
void scope_set_variable(struct walk *w, const char *name, size_t n, const struct value *v);
const struct value *scope_directory(struct walk *w);
void scope_set_directory(struct walk *w, const struct value *v);
/* One of several ways things may go: changes made between fork_begin and fork_cut belong to one branch; fork_end leaves
 * what may be true after any of them. */
struct fork {
	size_t mark;
	struct fork_change *changes;
	size_t n, cap;
	uint32_t branches;
	bool was_dead;
};
void fork_begin(struct walk *w, struct fork *f);
void fork_cut(struct walk *w, struct fork *f);
/* Returns whether anything differs from before.  may_skip: perhaps none of the branches ran. */
bool fork_end(struct walk *w, struct fork *f, bool may_skip);

/* words.c */
struct word_list {
	struct word *v;
	size_t n, cap;
};
void expand_word(struct walk *w, const struct shell_word *word, struct word_list *to); /* into fields */
const char *expand_text(
	struct walk *w, const struct shell_word *word, uint32_t skip); /* no splitting; marked */
const char *expand_pattern(struct walk *w, const struct shell_word *word); /* quoted globs escaped; marked */
struct word word_of_marked(struct walk *w, const char *marked, size_t n, size_t glob_at, struct span at);
const char *word_marked(struct walk *w, const struct word *x); /* the reverse */
const char *text_keep(struct walk *w, const char *p, size_t n); /* copied, and counted against the limit */
void eval_note_source(struct walk *w, int fd, const struct feed *out);
const char *mark_of_feed(struct walk *w, const struct feed *f);
void word_push(struct walk *w, struct word_list *l, struct word x);

/* A value under construction: fields of a word, or one text. */
struct fields {
	struct word_list *to; /* NULL: one text */
	size_t base; /* in the scratch stack */
	size_t glob_at;
	bool is_open, is_quoted, escapes, is_filled_name;
	struct span at;
};
void fields_add(struct walk *w, struct fields *f, const char *p, size_t n, bool is_quoted);
void fields_add_value(
	struct walk *w, struct fields *f, const char *s, bool is_quoted); /* split when not quoted */
void fields_break(struct walk *w, struct fields *f);
void expand_parts(struct walk *w, const struct shell_part *first, struct fields *f);
/* params.c */
void expand_param(struct walk *w, const struct shell_part *part, struct fields *f);
/* braces.c: the words a word with braces stands for, as part lists.  Returns how many; 0: none, take it as it is. */
size_t expand_braces(struct walk *w, const struct shell_word *word, struct shell_part ***ret);

/* arith.c: the value of a text without markers; assignments in it are made.  False: not known. */
bool arith_eval(struct walk *w, const char *text, int64_t *ret);

/* builtins.c: true when the command was one of the builtins that change what is known. */
bool builtin_run(struct walk *w, struct command *c);
void builtin_assign(struct walk *w, const struct shell_word *word, struct assignment *ret);
/* outputs.c: what some ordinary programs print. */
void outputs_refine(struct walk *w, struct command *c);

/* paths.c */
enum path_tail { TAIL_NONE, TAIL_GLOB, TAIL_OPEN };
enum path_class paths_judge(const struct surroundings *at, struct arena *a, const char *path,
	enum path_tail tail, bool resolves, const char **ret_resolved);
/* A directory that must never vanish: "/", a system directory, home, the workspace or what holds it. */
bool paths_is_protected(const struct surroundings *at, struct arena *a, const char *path);

#endif

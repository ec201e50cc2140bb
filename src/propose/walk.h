/* walk.h — the seam inside propose/ between the evaluator (evaluate/) and the knowledge of programs (programs/).  Not
 * visible outside this folder.
 *
 * shell.c turns text into a tree.  walk.c goes through the tree in the order of execution, expands words with what is
 * known (variables, IFS, functions, aliases, working directory) and hands each simple command to classify_command().  That
 * adds effects, and re-enters the walker for whatever the program itself would interpret: another argv (sudo, xargs, find
 * -exec) or another text (bash -c, eval, ssh). */
#ifndef PROPOSE_WALK_H
#define PROPOSE_WALK_H

#include "model/effect.h"
#include "propose/propose.h"

/* Beyond these nothing more is looked at, and the text counts as unreadable. */
enum {
	WALK_SOURCES = 8,
	WALK_MAX_DEPTH = 16,
	WALK_MAX_NODES = 20000,
	WALK_MAX_TEXT = 1 << 20,
	WALK_MAX_BRACES = 256
};

/* Where text that nobody typed comes from; the later one is the worse one. */
enum origin {
	ORIGIN_LITERAL,
	ORIGIN_UNKNOWN,
	ORIGIN_SECRETS, /* unknown names, of files that hold secrets */
	ORIGIN_DECODED,
	ORIGIN_FETCHED,
	ORIGIN_COUNT
};

/* A word after expansion.  `text` is the value with unknown parts left out; for CERTAIN words it is the value. */
struct word {
	const char *text; /* NUL-terminated, text_n bytes */
	size_t text_n;
	size_t known_n; /* length of the known beginning of the value (== text_n when CERTAIN) */
	enum certainty certainty;
	enum origin origin; /* of the unknown parts */
	bool is_glob; /* holds an unquoted * ? [ : `text` keeps the pattern characters; known_n stops before it */
	bool is_guarded; /* unknown parts come from ${X:?} or cannot be empty */
	bool is_quoted; /* some part was quoted: an empty word is still a word */
	struct span at;
	const char *
		marked; /* the evaluator's own spelling of `text`, with its unknown parts in place; or NULL */
};

/* What a command reads on standard input, or gives on standard output. */
enum feed_kind {
	FEED_INHERIT, /* whatever the caller has: a terminal, a pipe from outside */
	FEED_EMPTY, /* /dev/null or closed */
	FEED_KNOWN, /* exactly these bytes */
	FEED_FILE, /* a file: path in `text` */
	FEED_UNKNOWN, /* some other program's output; `text`: how it begins, where that is known */
	FEED_DECODED, /* text that went through a decoder or filter */
	FEED_FETCHED, /* text from the network */
	FEED_SOCKET /* a socket: /dev/tcp, nc, mkfifo loop */
};
struct feed {
	enum feed_kind kind;
	const char *text; /* FEED_KNOWN: the bytes; FEED_FILE: the path */
	size_t n;
	bool is_filled; /* FEED_UNKNOWN: it cannot be empty */
	const char *
		below; /* FEED_UNKNOWN, FEED_DECODED: names of files below this directory, or what else it tells about; or NULL */
	const char *names; /* FEED_UNKNOWN: names of files that are among it, one a line; or NULL */
	const char *
		lines; /* FEED_UNKNOWN, FEED_DECODED: text of which it prints lines, as they stand there; or NULL */
};
#define FEED_ENVIRONMENT "the environment" /* `below`: names and values of variables */
/* The text holds names of files with secrets: whoever reads those files reads secrets. */
bool feed_names_secrets(const struct feed *f);
bool feed_is_environment(const struct feed *f);
/* The text of this origin, as input.  Names of secrets may have gone through a decoder on the way: then they are decoded text. */
enum feed_kind feed_kind_of(enum origin o);

/* Operators of redirections; where two spellings mean the same there is one name. */
enum redirect_op {
	REDIR_IN,
	REDIR_OUT,
	REDIR_APPEND,
	REDIR_CLOBBER,
	REDIR_RDWR,
	REDIR_DUP_IN,
	REDIR_DUP_OUT,
	REDIR_BOTH,
	REDIR_BOTH_APPEND,
	REDIR_HEREDOC,
	REDIR_HERESTRING,
	REDIR_COUNT
};
/* A redirection with its word expanded. */
struct redirect {
	enum redirect_op op;
	int fd; /* -1: the operator's default */
	struct word target; /* the word, or the expanded body of a here-document */
	struct span at;
};

/* NAME=value or NAME+=value in front of a command. */
struct assignment {
	const char *name;
	struct word value;
	bool is_append;
};

struct walk; /* one analysis */

/* A simple command with its words expanded. */
struct command {
	struct word *argv; /* argv[0] is the head; argc may be 0 (only assignments or redirections) */
	size_t argc;
	struct assignment *assigns; /* prefix assignments */
	size_t assign_count;
	struct redirect *redirs;
	size_t redir_count;
	struct feed in; /* standard input, redirections applied */
	struct feed
		out; /* set by classify_command: what it prints, for the right side of a pipe and for $(...) */
	const struct source *source;
	struct span at;
	unsigned
		flags; /* FXF_PRIVILEGED, FXF_INSIDE_CONTAINER, FXF_REMOTE_SIDE, FXF_FIND inherited by every effect */
	bool is_argv; /* from argv analysis: no shell builtins, functions or aliases apply */
};

/* A word for a process substitution is PREFIXED "/dev/fd/N", with the origin of what the substitution prints.
 *
 * The walker keeps to itself the builtins that change what it knows: cd pushd popd export readonly declare typeset local read
 * mapfile getopts unset set shift eval alias unalias trap exec command builtin hash enable let exit return.
 * classify_command() sees such a command with argc 0, for its assignments and redirections only; it sees `.` and
 * `source` as they are.
 *
 * programs/programs.c: add the effects of one simple command, of its prefix assignments and of its redirections (the walker adds
 * none for those; the redirections of a compound command come as a command with argc 0 whose `out` the walker has set).
 * Never fails: what it does not know is FX_UNKNOWN. */
void classify_command(struct walk *w, struct command *c);

/* walk.c: re-entry.  Each makes a step one level deeper, and marks the proposal unreadable at the limits. */
void walk_text(struct walk *w, const struct command *from, const struct word *text, const char *via);
void walk_bytes(struct walk *w, const struct command *from, const char *text, size_t n, struct span at,
	const char *via); /* text known as bytes: decoded, read from a script */
/* The text is not known, but substitutions have printed files: each that can be read is judged as if it were the text.  `fd`: of a
 * process substitution, or -1. */
void walk_sources(struct walk *w, const struct command *from, int fd);
/* What a process substitution prints; false: this is none, or nobody knows. */
bool walk_process(const struct walk *w, const struct word *x, struct feed *ret);
/* Text that a shell expands when it shows it, as a prompt. */
void walk_prompt(struct walk *w, const struct command *from, const char *text);
/* Another argv run by `from` (peeled wrapper, xargs template, find -exec).  add_flags are or-ed into the inner command's.
 * The inner command's `out` is copied back to from->out when it takes from's place (wrappers). */
void walk_argv(struct walk *w, struct command *from, struct word *argv, size_t argc, unsigned add_flags,
	const char *via);

/* What would this argv, or this text, do?  Everything is taken back: nothing of it is an effect of the command.  True: an effect
 * was found that is_bad() says yes to.  Does nothing inside another attempt. */
bool walk_attempt(struct walk *w, struct command *from, struct word *argv, size_t argc,
	const struct word *text, bool (*is_bad)(const struct effect *));

/* A script is read for what matters in it: of the effects found since `mark`, those that keeps() says yes to count for the
 * current step, and the others are forgotten. */
struct walk_mark {
	size_t effects, steps;
	bool readable;
};
struct walk_mark walk_mark(const struct walk *w);
void walk_keep(struct walk *w, struct walk_mark mark, bool (*keeps)(const struct effect *));
/* One of the effects found since `mark` is such. */
bool walk_has(const struct walk *w, struct walk_mark mark, bool (*is_such)(const struct effect *));
/* The newest effect of the current step that starts a script: its text was read to its end. */
void walk_was_read(struct walk *w);

/* The text of a file was judged: kept with its digest, so that it can be known whether it is that text which is run. */
void walk_judged(struct walk *w, const char *path, struct bytes text);

/* Add one effect; source, span, step and inherited flags are filled in from c.  Returns it so that the caller can set the
 * rest; valid until the next call. */
struct effect *walk_effect(
	struct walk *w, const struct command *c, enum effect_kind kind, const struct word *operand);
/* The same with an operand that is a path: makes it absolute against the scope's directory, cleans it, sets path_class
 * (worse of lexical and resolved), certainty and FXF_UNSET_ROOT. */
struct effect *walk_path(
	struct walk *w, const struct command *c, enum effect_kind kind, const struct word *operand);

/* git's subcommand is known: the step says so. */
void walk_git_verb(struct walk *w, const char *verb);

struct arena *walk_arena(struct walk *w);
/* One pointer per analysis for programs/ (files written so far, for "written, then run"); NULL at first. */
void **walk_notes(struct walk *w);
const struct surroundings *walk_surroundings(const struct walk *w);
/* The command's current directory as far as known: absolute and clean, or NULL. */
const char *walk_cwd(const struct walk *w, const struct command *c);
void walk_set_cwd(
	struct walk *w, struct command *c, const struct word *dir); /* cd; unknown when not CERTAIN */
/* A word made from known text. */
struct word walk_word(struct walk *w, const char *text, struct span at);
/* The word as text that can be gone through again, its unknown parts in place. */
const char *walk_marked(struct walk *w, const struct word *x);
/* "$DIR/tool", $(npm bin)/tool: where it lies is not known, but what it is called is. */
bool walk_knows_name(const struct word *x);
/* Has the text so far given it a value, or asked for it? */
bool walk_names_variable(struct walk *w, const char *name);
/* The i-th value that it may have by now, unknown parts in place; NULL after the last, and where nobody gave it one. */
const char *walk_value(struct walk *w, const char *name, size_t i);
/* From here on it may also have this value, which a wrapper gives it. */
void walk_may_be(struct walk *w, const char *name, const struct word *x);

#define WALK_MARKS "\1\2\3\4\5\6\16" /* the bytes that stand for what is not known (evaluate/evaluate.h) */
/* An address with the value of a credential in its host, path or query: whoever is there gets it.  What stands before an @ is how one logs in. */
bool walk_sends_credential(const struct word *x);

/* HOME is what it was when the text began. */
bool walk_is_at_home(struct walk *w);
bool walk_is_piped(const struct walk *w); /* what it prints may go to a program, or comes from one */

/* paths.c: where a clean absolute path lies.  `is_pattern`: may end in an unknown tail or glob, judged by everything it can
 * match. */
enum path_class paths_classify(const struct surroundings *at, struct arena *a, const char *path,
	bool is_pattern, const char **ret_resolved);
/* A credential file by its name (.env, id_rsa, *.pem, .aws/credentials, ...). */
bool paths_is_secret(const struct surroundings *at, const char *path);
/* A pattern of a search (find -name, locate, grep over names) that selects such files. */
bool paths_selects_secrets(const struct surroundings *at, struct arena *a, const char *pattern);
/* A variable whose name says that it holds a credential. */
bool paths_is_secret_variable(const char *name, size_t n);

/* A directory that holds such files: reading all of it reads them. */
bool paths_holds_secrets(const struct surroundings *at, struct arena *a, const char *path);

/* ambiguous.c.  The stricter of two answers stays, and of equal ones the first. */
void ambiguity_raise(struct proposal *p, enum ambiguity ambiguity, const char *text, const char *instead);
/* One text of the input, which `what` names. */
void ambiguity_check_text(struct arena *a, const char *what, const char *text, size_t n, struct proposal *p);
/* The text without characters that have no width, as somebody sees it; NULL when that is the text itself. */
const char *ambiguity_seen_as(struct arena *a, const char *text, size_t n, size_t *ret_n);
/* A path or an address as a server's tool is given it, which may run on another system.  NULL, or the path that it is there. */
const char *ambiguity_foreign_path(
	struct arena *a, const char *name, const char *path, bool is_path, struct proposal *p);
/* Paths and hosts among the effects: when all of them are there. */
void ambiguity_check_effects(struct arena *a, struct proposal *p);

/* plain.c: the last thing, when all effects are there. */
void propose_mark_plain(struct proposal *p);

#endif

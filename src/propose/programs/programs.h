/* programs.h — inside the knowledge of programs: one call, its effects, and the tables.
 *
 * classify.c finds the program; a row of one of the tables says what it does, either by a function or by a table of verbs
 * (verbs.c).  Every table is sorted by name; a test checks it.  Adding a program is adding a row. */
#ifndef PROPOSE_PROGRAMS_PROGRAMS_H
#define PROPOSE_PROGRAMS_PROGRAMS_H

#include "base/text.h"
#include "propose/programs/options.h"
#include "propose/walk.h"

enum tag {
#define X(id, name, kind, meant, meaning, example) TAG_##id,
#include "propose/programs/tags.def"
#undef X
	TAG_COUNT
};
const char *tag_name(enum tag t);
enum effect_kind tag_kind(enum tag t);

struct call;

/* A way to use a program: its subcommand words ("volume rm", alternatives as "rm|remove", "*" for any word), options that
 * must and must not be there (args_find lists), and what it then does.  The first matching row speaks. */
struct verb {
	const char *words;
	const char *needs, *forbids;
	enum tag tag;
	unsigned flags;
	void (*run)(struct call *); /* instead of the tag; call->rest are the words after the verb */
};

struct program {
	const char *name;
	void (*run)(struct call *); /* NULL: run_verbs when there are verbs, else one effect of `tag` */
	enum tag tag; /* what it does, or its verbs do unless a row says otherwise */
	const char *spec; /* its options; for verbs: those before the subcommand that take values */
	const struct verb *verbs; /* ends with words NULL */
	unsigned flags; /* of the effect */
	unsigned mode; /* bits for `run` */
};

/* A command being understood. */
struct call {
	struct walk *w;
	struct command *c;
	const char *head; /* the resolved name */
	const struct program *program;
	struct word *rest; /* words after the head, or after the verb */
	size_t rest_count;
	unsigned link_depth; /* links followed to where this path leads */
	bool is_elsewhere; /* git: told to work in another place than it stands in */
};

/* classify.c */
void classify_known(struct call *k); /* k->program is set */
void classify_unknown(struct call *k);
const struct program *program_find(const char *name, size_t n);
/* Effects.  All fill in program and tag, and return the effect for more. */
struct effect *fx(struct call *k, enum tag t, const struct word *target, unsigned flags);
struct effect *fx_name(struct call *k, enum tag t, const char *target, unsigned flags);
/* A file effect: judged by path class; devices and what the file is (start-up file, hook, secret) included.  NULL for
 * the sinks (/dev/null, /dev/stdout, ...), which are no effect. */
struct effect *fx_path(struct call *k, enum tag t, const struct word *target, unsigned flags);
void fx_paths(struct call *k, enum tag t, const struct word *v, size_t n, unsigned flags);
void fx_read(struct call *k, const struct word *v, size_t n);
void fx_read_tree(struct call *k, const struct word *v, size_t n); /* and everything below */
/* A word for some file below a directory: what find selects, what an archive holds. */
struct word word_below(struct call *k, const struct word *dir);
/* NAME=value as a word of env, sudo or export: counts as in front of a command. */
bool is_assignment(const struct word *x);
bool task_destroys(const struct word *x); /* classify_packages.c: db:reset, drop-db */
bool is_loose_program(const struct word *x); /* ./x, /tmp/x: named for another program to run */
void note_assignment(struct call *k, const struct word *x);
/* Other commands inside this one.  The words are copied. */
void run_argv(struct call *k, struct word *v, size_t n, unsigned flags, const char *via);
void run_text(struct call *k, const struct word *text, unsigned flags, const char *via);
/* The same with another working directory. */
void run_argv_in(
	struct call *k, const struct word *dir, struct word *v, size_t n, unsigned flags, const char *via);

/* Files written earlier in the same analysis, so that running them is seen for what it is. */
void note_written(struct call *k, const char *path, struct feed content);
bool note_find(struct call *k, const char *path, struct feed *ret);
/* A symbolic link made earlier: what goes through it is judged by where it leads. */
void note_link(struct call *k, const char *path, const struct word *to);
const char *note_program(struct call *k, const char *path); /* that a link at `path` stands for, or NULL */

/* verbs.c */
void run_verbs(struct call *k);
bool run_rows(struct call *k, const struct verb *rows); /* false: no row speaks */
/* The subcommand words: options (with values by `spec`) skipped.  Returns how many, at most `max`; places[i] is the index
 * in rest. */
size_t verb_words(struct call *k, const char *spec, size_t max, size_t *places);
/* A verb of this list, alone or as the first part of delete-stack, DeleteStack, or the last of apps:delete. */
bool verb_in(const char *list, const char *word, size_t n);
bool verb_is_destroying(const char *word, size_t n);
bool verb_is_reading(const char *word, size_t n);
bool verb_only_shows(const struct word *x); /* whatever comes behind it */

/* classify_shell.c: run text as a program of this kind; what the feed is when it is unknown. */
void run_stdin_shell(struct call *k, const struct feed *in, const char *language);
void run_script(struct call *k, const struct word *path, const char *language);
void classify_shell(struct call *k);
void classify_interpreter(struct call *k);
void classify_show(struct call *k); /* classify_win.c: type, Get-Content */
void classify_path_head(struct call *k); /* ./x or /a/b/x that is not in the tables, or was just written */

/* classify_code.c: inline code.  `language` is "python", "perl", "ruby", "node", "php", "lua", "awk", ... */
void classify_code(struct call *k, const char *language, const struct word *text);
void classify_code_bytes(struct call *k, const char *language, const char *text, size_t n);
/* classify_win.c: text for cmd or PowerShell. */
void classify_windows_text(struct call *k, const struct word *text);
/* classify_data.c: SQL text. */
void classify_sql(struct call *k, const struct word *text);
void classify_sql_bytes(struct call *k, const char *text, size_t n);

/* Head tables, one per domain. */
struct program_table {
	const struct program *rows;
	size_t count;
};
extern const struct program_table programs_wrappers, programs_files, programs_edit, programs_readers,
	programs_git, programs_net, programs_data, programs_cloud, programs_helm, programs_containers,
	programs_host, programs_packages, programs_shells, programs_windows;
extern const struct program_table *const program_tables[];
extern const size_t program_table_count;

#endif

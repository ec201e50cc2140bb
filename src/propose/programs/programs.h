/* programs.h — inside the knowledge of programs: one call, its effects, and the table.
 *
 * programs.c finds the program; its row says what it does: by a tag, by verbs (verbs.c) or by a handler.  The rows are the text
 * files of share/programs/ (docs/formats/programs.md), made into one table by tools/generate/programs.c when Helm is built.
 * Adding a program is adding a line there.  Handlers are C, for programs where options or operands decide: HANDLER(tar) here
 * is "run: tar" there. */
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

/* Bits that a row gives its handler. */
enum mode_number {
#define X(id, name, meaning) MODE_NUMBER_##id,
#include "propose/programs/modes.def"
#undef X
};
enum mode {
#define X(id, name, meaning) MODE_##id = 1 << MODE_NUMBER_##id,
#include "propose/programs/modes.def"
#undef X
};

/* The rows.  Texts are distances in program_text, where 0 is the empty one: a table without addresses needs no relocation.
 *
 * A way to use a program: its subcommand words ("volume rm", alternatives as "rm|remove", "*" for any word), options that
 * must and must not be there (args_find lists), and what it then does.  The first matching row speaks. */
struct verb {
	uint32_t words, needs, without;
	uint16_t tag; /* enum tag */
	uint16_t handler; /* instead of the tag; call->rest are the words after the verb */
	uint32_t flags;
};

/* An option whose value is more than a word: a command, code, a file. */
enum value_meaning {
#define X(id, name, meaning) VALUE_##id,
#include "propose/programs/values.def"
#undef X
};
struct value_option {
	uint32_t option; /* as it is typed; one that ends in "=" or ":" is the beginning of a word */
	uint32_t verb; /* it has this meaning behind this verb only; or empty */
	uint16_t meaning; /* enum value_meaning */
};

struct program {
	uint32_t name;
	uint32_t options; /* for verbs: those before the subcommand that take values */
	uint16_t first_verb, verb_count;
	uint16_t tag; /* what it does, or its verbs do unless a row says otherwise */
	uint16_t handler; /* 0: run_verbs when there are verbs, else one effect of `tag` */
	uint32_t flags; /* of the effect */
	uint32_t mode; /* for the handler */
	uint16_t first_value, value_count; /* in program_values */
};

extern const char program_text[];
extern const struct verb program_verbs[];
extern const struct value_option program_values[];
extern const struct program programs[]; /* sorted by name */
extern const size_t program_count;

static inline const char *program_name(const struct program *p)
{
	return program_text + p->name;
}
static inline const char *program_options(const struct program *p)
{
	return program_text + p->options;
}

/* Defines what "run: name" does. */
#define HANDLER(name) \
	void handle_##name(struct call *k); \
	void handle_##name(struct call *k)
void program_handle(unsigned handler, struct call *k);

/* A command being understood. */
struct call {
	struct walk *w;
	struct command *c;
	const char *head; /* the resolved name */
	const struct program *program;
	struct word *rest; /* words after the head, or after the verb */
	size_t rest_count;
	const struct word *operands; /* words that inline code is given */
	size_t operand_count;
	unsigned code_depth; /* texts of code inside each other that are being read */
	unsigned link_depth; /* links followed to where this path leads */
	const struct word *git_dir; /* git: the repository that it was told to use; or NULL */
	bool is_elsewhere; /* git: told to work in another place than it stands in */
	const struct word *remote; /* a database or queue on another machine that it talks to; or NULL */
};

/* own.c: it is this program that would run, by a link, a copy or another name. */
bool head_is_own(struct call *k);

/* programs.c, effect.c */
void classify_known(struct call *k); /* k->program is set */
void classify_unknown(struct call *k);
bool only_asks_help(const struct call *k); /* program --version */
const struct program *program_find(const char *name, size_t n);
/* Effects.  All fill in program and tag, and return the effect for more. */
/* A credential in `part` goes to whom `url` names; nothing when there is none. */
void fx_sent(struct call *k, const struct word *part, const struct word *url);
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
bool task_destroys(const struct word *x); /* packages.c: db:reset, drop-db */
bool is_loose_program(const struct word *x); /* ./x, /tmp/x: named for another program to run */
void note_assignment(struct call *k, const struct word *x);
void classify_assignment(struct call *k, const struct assignment *x);
/* The file of the work tree, or of a place where everybody writes, that PATH finds for this command; NULL: none. */
const char *file_of_path(struct call *k);
bool names_local_host(const char *address); /* an address, as proxies are named: this machine's */
bool git_key_runs(const char *key); /* git.c: git runs the value of this setting */
bool git_key_is_proxy(const char *key); /* git.c: what git sends goes there */
/* Other commands inside this one.  The words are copied. */
void run_argv(struct call *k, struct word *v, size_t n, unsigned flags, const char *via);
void run_text(struct call *k, const struct word *text, unsigned flags, const char *via);
enum tag tag_of_run(enum origin o, enum tag otherwise);
/* The same with another working directory. */
void run_argv_in(
	struct call *k, const struct word *dir, struct word *v, size_t n, unsigned flags, const char *via);

/* notes.c: files written earlier in the same analysis, so that running them is seen for what it is. */
void note_written(struct call *k, const char *path, struct feed content);
void note_appended(struct call *k, const char *path, struct feed content);
void note_copied(struct call *k, const char *from, const char *to);
void note_changed(struct call *k, const char *path, bool is_tree); /* what it holds is no longer known */
/* The newest content of a path, also through links.  Without a path: was anything noted? */
bool note_find(struct call *k, const char *path, struct feed *ret);
/* A symbolic link made earlier: what goes through it is judged by where it leads. */
void note_link(struct call *k, const char *path, const struct word *to);
const char *note_program(struct call *k, const char *path); /* that a link at `path` stands for, or NULL */
/* Where the operand leads when links are followed as the kernel does (".." goes up from where a link led); NULL: where it says.
 * is_entry: the last component itself is meant, as when a link is deleted. */
const char *note_physical(struct call *k, const struct word *x, bool is_entry);

/* verbs.c */
void run_verbs(struct call *k);
/* One of these options, which make the command harmless, is there for sure (args_surely). */
bool call_surely(const struct call *k, const char *names);
bool run_rows(struct call *k); /* the rows only; false: none speaks */
/* The options before the verb have been read, `rest` starts with it; what no row knows does `t`. */
void run_verbs_at(struct call *k, enum tag t);
/* The subcommand words: options (with values by `spec`) skipped.  Returns how many, at most `max`; places[i] is the index
 * in rest. */
size_t verb_words(struct call *k, const char *spec, size_t max, size_t *places);
/* tool login, tool auth login, tool sso login: a person's account is put into its hands. */
bool verb_logs_in(const struct call *k, const size_t *places, size_t i);
/* A verb of this list, alone or as the first part of delete-stack, DeleteStack, or the last of apps:delete. */
bool verb_in(const char *list, const char *word, size_t n);
bool verb_is_destroying(const char *word, size_t n);
bool verb_is_reading(const char *word, size_t n);
bool verb_only_shows(const struct word *x); /* whatever comes behind it */

/* read.c: every variable is printed. */
void print_environment(struct call *k);
bool says_credential(const struct word *pattern);
/* What it prints are lines of this file, or of its input (NULL). */
void keep_lines(struct call *k, const struct word *file);
/* wrappers.c: names of files come from standard input, and the files are read. */
void read_listed(struct call *k);

/* values.c: the options of this program whose value runs, loads, writes or reads something. */
void classify_values(struct call *k);
/* A name of a setting that says by its end that the value is run: ProxyCommand, core.pager, target.x.runner. */
bool names_command(const char *name, size_t n);
/* A file or module whose code another program takes in. */
void load_code(struct call *k, const struct word *x, const char *language);

/* hosts.c: the machines that a client of a database or queue talks to. */
void judge_host(struct call *k, const struct word *x);
void classify_hosts(struct call *k); /* operands and variables; options come by classify_values() */
void classify_sent_data(struct call *k, struct walk_mark mark);
bool names_host_variable(const char *name); /* some client finds its host in this variable */

/* project.c: scripts and build files on disk, read for what reaches out of the project. */
bool project_is_read(const struct call *k); /* may files of the project be looked into? */
/* The text of a file, as the command has written it a moment ago, or as it lies in the workspace. */
bool project_text(struct call *k, const char *path, struct bytes *ret);
const char *project_here(
	struct call *k, const char *name); /* a file next to where the command stands; or NULL */
void project_recipe(
	struct call *k, struct bytes text, const char *via); /* command lines of the project's own */
void project_code(struct call *k, const char *path, const char *language);
void project_script(struct call *k, const struct word *name); /* of package.json */
void project_document(
	struct call *k, const char *path, const char *language); /* started.c: not code: cmake, ... */
void project_started(struct call *k); /* started.c: files that the program takes in without being told */
void project_repository(struct call *k, const char *verb); /* what git starts by settings and hooks */
void project_makefile(struct call *k, const char *path, const struct word *goals, size_t count);
void project_justfile(struct call *k, const struct word *file, const struct word *goals, size_t count);
void project_taskfile(struct call *k, const struct word *file, const struct word *goals, size_t count);
struct bytes project_included(struct call *k, struct bytes text);

/* trees.c: files of the work tree, as they lie there: whose name fits `pattern` (NULL: all), or whose path below `dir` does. */
size_t tree_select(
	struct call *k, const char *dir, const char *pattern, bool is_path, const char **ret, size_t max);
size_t tree_glob(struct call *k, const struct word *x, const char **ret,
	size_t max); /* that a word of the shell stands for */
enum { SCRIPTS_FOUND = 24 }; /* as many of them are read */

/* shells.c: run text as a program of this kind; what the feed is when it is unknown. */
void run_script(struct call *k, const struct word *path, const char *language);
void handle_interpreter(struct call *k);
void handle_show(struct call *k); /* windows.c: type, Get-Content */
void classify_path_head(struct call *k); /* ./x or /a/b/x that is not in the tables, or was just written */

/* code.c: inline code.  `language` is "python", "perl", "ruby", "node", "php", "lua", "awk", ... */
void classify_code(struct call *k, const char *language, const struct word *text);
void classify_code_bytes(struct call *k, const char *language, const char *text, size_t n);
/* windows.c: text for cmd or PowerShell. */
void classify_windows_text(struct call *k, const struct word *text);
/* data.c: SQL text. */
void classify_sql(struct call *k, const struct word *text);
void classify_sql_bytes(struct call *k, const char *text, size_t n);

#endif

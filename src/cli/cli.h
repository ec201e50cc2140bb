/* cli.h — the doors for people: one table of commands, one way to read options, one way to print.
 *
 * A command is one line of model/command.def (name, class, group, tool) and one row of commands.c: arguments, help, options,
 * what main() must open first, and the function.
 * Dispatch, --help, usage errors, man page, completion and `help --json` all come from that row.  The function receives
 * opened objects, prints through out_*(), and returns an exit code or a negative rc with *e filled; main() alone prints the
 * error and picks the exit code. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sys.h"
#include "model/command.h"

#include <stdbool.h>
#include <stdint.h>

struct workspace;

enum needs {
	NEEDS_WORKSPACE = 1, /* resolve it; E_MISSING with the `helm init` hint when there is none */
	MAY_WORKSPACE = 2, /* resolve it; run->ws is NULL when there is none */
	NEW_WORKSPACE = 4, /* init: resolution without the walk up, need not exist */
	ANY_WORKSPACE = 64, /* resolve it; need not be one */
	MADE_WORKSPACE = 1024, /* the same, and it is made where it is missing */
	CHILD_ARGV =
		8, /* words after -- are a child's argv, untouched; without -- the first unknown bare word starts it */
	PATH_MAY_BE_FILE =
		16, /* a --path that names no workspace is a file of it, as in the Python Helm: --include or --file of the row */
	SAYS_INSIDE =
		256, /* inside a supervised session, where no record is shown, it answers for itself: run->ws is NULL */
	OPENS_ITSELF =
		512, /* it opens what --path names by itself: to make it, or to answer in a form of its own when it is none */
	OR_URL = 128, /* with --url it is about a boundary elsewhere, and nothing is opened here */
	DOCUMENT =
		32 /* prints a document that is meant to be kept or read by a program: bytes as they are, never wrapped */
};

/* OPT_WORDS: a list that also takes the words behind it, as long as they are among its choices; without choices up to the next option. */
enum opt_kind { OPT_FLAG, OPT_VALUE, OPT_LIST, OPT_INT, OPT_WORDS, OPT_KINDS };
struct opt {
	const char *name; /* without -- */
	enum opt_kind kind;
	const char *value; /* name of the value in help: "FILE"; NULL for flags */
	const char *help;
	const char *choices; /* "text|json|html": only these; or NULL */
	bool is_required;
};

struct cli;
struct cmd {
	const struct helm_command *is; /* its name, class, group and tool: a row of model/command.def */
	const char *
		args; /* "[PATH...]" as shown; "" for none.  TASK, PROFILE, ... are also what completion offers */
	int min_args, max_args; /* positionals; max -1 = any number */
	const char *help; /* one line */
	const char *about; /* paragraphs for --help and the man page; NULL = only the line */
	const char *
		examples; /* lines "$ helm ..." with "# what it shows"; executed by tests/cli/examples.t; or NULL */
	const struct opt
		*opts; /* ends in { 0 }; or NULL.  --json, --path/--workspace and --help are always there */
	unsigned needs;
	int (*fn)(struct cli *r, struct err *e);
};
extern const struct cmd *const commands[]; /* in the order of command.def */
extern const size_t command_count;

/* Families: the first word of two-word commands. */
struct family {
	const char *name, *help;
};
extern const struct family families[];
extern const size_t family_count;

struct opt_value {
	const struct opt *opt;
	const char *text;
	int64_t number;
};

/* One call of one command: what was typed, what main() has opened for it, and where its words go. */
struct cli {
	struct sys *sys;
	struct arena *a;
	const struct cmd *cmd;
	struct opt_value *values;
	size_t value_count;
	char **args; /* positionals */
	size_t arg_count;
	char **child; /* after -- */
	size_t child_count;
	const char *path_option; /* --path/--workspace as given, or NULL */
	struct workspace *ws; /* as `needs` says */
	bool is_json;
	bool wants_help;
	bool is_document; /* what is printed is one after all: a diff, a man page */
	bool is_tty; /* standard output is a terminal */
	bool has_color; /* and colour is wanted */
	struct buf *out;
};

/* Option access by name; asking for a name that is not in the row's specs is a BUG. */
bool opt_flag(const struct cli *r, const char *name);
const char *opt_text(const struct cli *r, const char *name, const char *fallback);
int64_t opt_int(const struct cli *r, const char *name, int64_t fallback);
size_t opt_list(const struct cli *r, const char *name, const char ***ret); /* in the order given */
/* Times and spans, in the grammar of text_when() and text_span().  Unchanged when the option was not given; E_USAGE USAGE_TIME names the forms.
 * opt_since is the first moment of what was named; opt_until the one behind its last, so that a day is meant as a whole. */
int opt_since(struct cli *r, const char *name, int64_t *ret_us, struct err *e);
int opt_until(struct cli *r, const char *name, int64_t *ret_us, struct err *e);
int opt_span(struct cli *r, const char *name, int64_t *ret_us, struct err *e);

/* Output.  Text is buffered and written at the end or at out_flush(); a closed pipe ends the program quietly. */
void out(struct cli *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void out_json(struct cli *r, const struct json *v); /* one document, two-space indent, final newline */
void out_line_json(struct cli *r, const struct json *v); /* one line, for streams */
/* The result of a command by the one rule for all of them: the document for --json, else lines and tables for people. */
void out_result(struct cli *r, const struct json *v);
/* The second half of that rule, for commands that choose between more than the two. */
void out_pretty(struct cli *r, const struct json *v);
/* Paragraphs wrapped to the screen, each line after the first `indent` columns in; lines that start with a blank stay whole. */
void out_text(struct cli *r, size_t indent, const char *text);
void out_flush(struct cli *r);
/* So long, and not longer than somebody reads: false, at once, when the reader of standard output has gone. */
bool out_wait(int64_t us);
/* Between the two, what commands print goes to standard error: standard output is for our document.  The second passes `rc` on. */
int out_set_aside(struct cli *r, int *ret_kept, struct err *e);
int out_put_back(int kept, int rc, struct err *e);
/* "Since 2026-05-01 09:00 CEST:", above what --since has left of a list for people; nothing when it is 0. */
void out_since(struct cli *r, int64_t since_us);
/* Lines for people on standard error, made safe by the caller; wrapped where that is a terminal. */
void out_say(struct cli *r, const char *text, size_t n);
void warn(struct cli *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3))); /* "helm: warning: ..." */

/* Commands of ours in a text, for the workspace that --path named: 'helm doctor' becomes 'helm doctor --path W'.  The same pointer when none was
 * named.  hint_json() does it to members that advise: next, remedy, detail, ... */
const char *hint(const struct cli *r, const char *text);
/* Only the name that this program has here.  For texts of ours, never for what was recorded: "helm status" there may be another program's. */
const char *called(struct arena *a, const char *text);
void hint_json(const struct cli *r, struct json *v);

/* Colour: text between paint(r, PAINT_X) and paint(r, PAINT_OFF); empty strings when colour is off. */
enum paint {
	PAINT_OFF,
	PAINT_PRIMARY,
	PAINT_ACCENT,
	PAINT_MUTED,
	PAINT_GOOD,
	PAINT_WARN,
	PAINT_BAD,
	PAINT_BOLD,
	PAINT_COUNT
};
const char *paint(const struct cli *r, enum paint p);
/* A mark of ours that is not ASCII, or `plain` where the locale has no UTF-8 (LC_ALL=C).  Where none is named it is taken for UTF-8. */
const char *glyph(const struct cli *r, const char *fine, const char *plain);

/* Columns of the screen: COLUMNS, or what the terminal says, or 80. */
size_t out_width(const struct cli *r);

/* A table: columns sized to their widest cell.  A last cell that does not fit is wrapped between words, below itself; in a pipe
 * without COLUMNS each row stays one line, for those who read lines. */
struct out_table;
struct out_table *out_table(struct cli *r, const char *const *headings, size_t columns);
void out_row(
	struct out_table *t, const char *const *cells, const enum paint *paints); /* paints may be NULL */
void out_table_end(struct out_table *t);

/* A list that may be long: rows are given one at a time and printed in pieces, as tables or as one JSON array.  listing_row() is a visitor of
 * the index; `cells` puts one row into the table. */
typedef void listing_cells(struct cli *r, struct out_table *t, const struct json *row);
struct listing {
	struct cli *r;
	struct arena a; /* of one piece */
	const char *const *heads;
	size_t columns, pieces;
	listing_cells *cells;
	struct json *rows;
};
void listing_begin(
	struct listing *l, struct cli *r, const char *const *heads, size_t columns, listing_cells *cells);
int listing_row(void *arg, struct json *row, struct err *e);
void listing_end(struct listing *l);

/* Progress on standard error, only when that is a terminal: counts, rate, time left.  Cheap to call often. */
struct progress {
	struct sys *sys;
	const char *what;
	uint64_t done, total; /* total 0 = unknown */
	int64_t started_us, shown_us;
	bool is_on;
};
void progress_begin(struct progress *p, struct cli *r, const char *what, uint64_t total);
void progress_step(struct progress *p, uint64_t done);
void progress_end(struct progress *p);
/* The same for work of several kinds, one line after the other; kinds are told apart by the address of their name. */
struct shown {
	struct cli *r;
	struct progress p;
	const char *what;
};
void show_step(void *shown, const char *what, uint64_t done, uint64_t total);
void show_end(struct shown *s);

/* Exit codes, the same for every command. */
enum {
	EXIT_NO = 1,
	EXIT_USAGE = 2,
	EXIT_GATE = 3,
	EXIT_APPROVAL = 24,
	EXIT_DENIED = 25,
	EXIT_PAUSED = 26,
	EXIT_TIMEOUT = 124
};

#endif

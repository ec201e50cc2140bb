/* propose.h — any input becomes one struct proposal (model/effect.h).
 *
 * Nothing is executed and nothing is written.  The file system is consulted only to resolve symbolic links of operands and
 * to read scripts inside the workspace, and only when `sys` is given.  What cannot be understood is marked unreadable,
 * never guessed.  Work is linear in the input; every limit ends in "unreadable". */
#ifndef PROPOSE_PROPOSE_H
#define PROPOSE_PROPOSE_H

#include "base/err.h"
#include "base/sys.h"
#include "clients/clients.h"
#include "model/effect.h"

/* What the analysis may assume about where the command would run.  Strings are absolute and clean. */
struct surroundings {
	struct sys *sys; /* NULL: judge lexically, read no scripts */
	const char *cwd; /* NULL: unknown */
	const char *home; /* NULL: unknown */
	const char *workspace; /* NULL: none */
	const char *
		work_tree; /* the caller's git top level or directory, when it differs from the workspace; or NULL */
	const char *state_dir; /* workspace/.helm; or NULL */
	const char *helm_home; /* ~/.helm; or NULL */
	const char *const *
		allowed; /* NULL-terminated: places that a person lets be changed like the workspace; or NULL */
	const char *tmpdir; /* $TMPDIR or "/tmp" */
	const char *const *environment; /* NAME=value of the child, NULL-terminated; or NULL */
	const char *const
		*narrower; /* names of profiles that permit no more than the one in force; NULL: unknown */
	bool inspect_scripts; /* read scripts inside the workspace (default true for commands) */
	bool on_runner; /* the text is run by a CI system, which sets variables of its own */
	bool inside_run; /* we are ourselves below a governed process */
};

/* A text that a shell would run. */
void propose_shell(struct arena *a, const struct surroundings *at, struct bytes text, struct proposal *ret);

/* An argv that is executed without a shell: metacharacters are data. */
void propose_argv(struct arena *a, const struct surroundings *at, const char *const *argv, size_t argc,
	struct proposal *ret);

/* Shells, by name or path: of sh's language (bash, dash, ksh, ...), and of any (fish, csh, ... too). */
bool shell_speaks_sh(const char *path);
bool shell_is_known(const char *path);

/* What an agent's tool call would do.  A tool nobody knows is one FX_UNKNOWN with tag "tool.unknown" or "mcp.call", and what its
 * arguments say: paths, commands, code, addresses and SQL. */
void propose_tool(
	struct arena *a, const struct surroundings *at, const struct tool_call *call, struct proposal *ret);

/* ambiguous.c: texts that other programs read differently.  propose_shell(), propose_argv() and propose_tool() look at their own input; a
 * caller that judges more than that (the context of a request, arguments under another name) adds it here.  The stricter answer stays.
 * `what` names the document in the sentence: "argument". */
void propose_check_document(
	struct arena *a, const char *what, const struct json *document, struct proposal *p);

/* What a client's tool does to the one file that its arguments name: reads it, changes a part of it, writes all of it; else none of these. */
enum file_tool { FILE_TOOL_NONE, FILE_TOOL_READ, FILE_TOOL_PATCH, FILE_TOOL_REWRITE };
enum file_tool propose_file_tool(const char *tool, const struct json *input);

/* Does a tool of this name run a text that it is given, or can nobody tell? */
bool propose_runs_text(const char *tool);
/* What a tool of this name does to the file, address or words that its arguments name, as a verb for people: "write", "fetch".  NULL: it runs a
 * text, or nobody knows. */
const char *propose_tool_verb(const char *tool);

/* Files that hold commands: scripts, recipes, CI definitions, histories. */
#define SCRIPT_KINDS(X) \
	X(SHELL, "shell") \
	X(MAKE, "make") \
	X(GITHUB, "github") \
	X(GITLAB, "gitlab") \
	X(DOCKER, "docker") \
	X(PACKAGE_JSON, "package.json") \
	X(HISTORY, "history")

enum script_kind {
#define SCRIPT_ENUM(id, name) SCRIPT_##id,
	SCRIPT_KINDS(SCRIPT_ENUM)
#undef SCRIPT_ENUM
		SCRIPT_KIND_COUNT /* not recognised */
};
bool script_kind_parse(const char *name, enum script_kind *ret);

/* One piece of shell text found in a file.  Its newlines are those of the file, so the line of an offset is `line` plus the
 * newlines before it. */
struct snippet {
	struct bytes text;
	struct bytes
		shown; /* the same lines as they stand in the file, when `text` was changed; else empty */
	uint32_t line; /* of its first byte, from 1 */
	const char *where; /* "target clean", "script test"; or NULL */
	bool is_in_container; /* it runs while an image is built */
};

/* By name and first bytes; SCRIPT_KIND_COUNT when it is none that we know. */
enum script_kind harvest_guess(const char *name, struct bytes text);
/* Everything in the file that a shell would run.  What does not fit the format is left out, never an error. */
void harvest(struct arena *a, enum script_kind kind, struct bytes text, struct snippet **ret, size_t *ret_n);

/* What a git configuration file makes git start: ["core.pager=...", ...], empty for a harmless one. */
struct json *propose_git_commands(struct arena *a, struct bytes text);
/* Those of its settings that hold no credentials, addresses or programs, added to `to` as a configuration file. */
void propose_git_plain(struct arena *a, struct bytes text, struct buf *to);
/* Each of its settings, in its order: "remote.origin.url" and its value. */
void propose_git_each(struct arena *a, struct bytes text,
	void (*fn)(void *arg, const char *key, const char *value), void *arg);

/* A configuration file that a run has written in a copy of its own, merged into the one outside. */
struct git_dropped {
	const char *key, *value; /* value NULL: the run has removed the setting */
	bool runs; /* git would run the value */
	bool is_outside; /* it may change, and was changed outside meanwhile */
};
struct git_merge {
	struct bytes text; /* the file outside as it is to be; is_changed false: as it is */
	bool is_changed, is_unread; /* is_unread: one of the three is not understood; nothing is merged */
	struct git_dropped *dropped;
	size_t dropped_count;
	bool is_cut; /* there are more of them */
};
/* base: the copy as it was given to the run, or as it was merged the last time; now: the file outside; inside: the copy.  Only settings that
 * start nothing and lead git nowhere else get into *ret->text. */
void propose_git_merge(
	struct arena *a, struct bytes base, struct bytes now, struct bytes inside, struct git_merge *ret);
/* The same, and an operator said yes to changes of these: keys ("remote.origin.url"), or remotes with all of their addresses ("remote.origin.").  Ended by
 * NULL; or NULL.  Nothing gets through by that which git would run. */
void propose_git_merge_approved(struct arena *a, struct bytes base, struct bytes now, struct bytes inside,
	const char *const *approved, struct git_merge *ret);
/* The other way: the copy with what was changed outside since `base`. */
struct bytes propose_git_refresh(struct arena *a, struct bytes base, struct bytes inside, struct bytes now);
/* Every directory that the person's or the repository's settings name as that of hooks in `tree`: absolute paths. */
struct json *propose_git_hooks(struct arena *a, const struct surroundings *at, const char *tree);

#endif

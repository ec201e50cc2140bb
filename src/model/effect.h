/* effect.h — what a proposed action would do to the world, in a form that can be judged.
 *
 * propose/ turns any input (shell text, argv, a hook payload, a tool call) into one struct proposal: a list of effects and
 * the steps they come from.  decide/ reads nothing else.  An effect is a fact about what would happen; whether that is
 * allowed is not known here. */
#ifndef MODEL_EFFECT_H
#define MODEL_EFFECT_H

#include "base/json.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

/* X(NAME, "name", "category", "what it means, as a clause: it would ...") — names are stable: they stand in receipts,
 * rules and reports.  The category is the guard's vocabulary (docs/formats/guard-policy.md). */
#define EFFECT_KINDS(X) \
	X(READ, "read", "read", "read files") \
	X(WRITE, "write", "write", "write files") \
	X(DELETE, "delete", "write", "delete files") \
	X(MOVE, "move", "write", "move or rename files") \
	X(PERMISSION, "permission", "write", "change owners or permissions") \
	X(DEVICE, "device", "device", "touch a raw device or disk") \
	X(PROCESS, "process", "process", "signal or control processes or services") \
	X(POWER, "power", "host_control", "stop or restart the machine") \
	X(NETWORK, "network", "network", "use the network") \
	X(LISTEN, "listen", "network", "open a listening port or tunnel") \
	X(REMOTE, "remote", "remote", "act on another machine") \
	X(PRIVILEGE, "privilege", "privilege", "gain other privileges") \
	X(PACKAGE, "package", "package", "install or remove packages") \
	X(PUBLISH, "publish", "package_publish", "publish to others") \
	X(DATABASE, "database", "database", "change or destroy a database") \
	X(CLOUD, "cloud", "cloud", "change or destroy cloud resources") \
	X(CONTAINER, "container", "container", "control containers") \
	X(GIT, "git", "destructive", "discard or rewrite version history") \
	X(CRON, "cron", "cron", "change scheduled jobs") \
	X(PERSISTENCE, "persistence", "persistence", "arrange for code to run later") \
	X(FIREWALL, "firewall", "firewall", "change network filters or routes") \
	X(ACCOUNT, "account", "host_control", "change user accounts") \
	X(KERNEL, "kernel", "host_control", "change the kernel or mounts") \
	X(SECRET_READ, "secret_read", "secret_read", "read credentials") \
	X(CREDENTIAL, "credential", "credential_exposure", "print the environment") \
	X(TAMPER, "tamper", "tamper", "interfere with Helm or its state") \
	X(DYNAMIC_EXEC, "dynamic_exec", "dynamic_exec", "run something that cannot be known beforehand") \
	X(DECODE_EXEC, "decode_exec", "decode_exec", "run text that was encoded or transformed") \
	X(FETCH_EXEC, "fetch_exec", "fetch_exec", "run text fetched from the network") \
	X(STDIN_SHELL, "stdin_shell", "dynamic_exec", "run a shell on unknown input") \
	X(SCRIPT, "script", "unknown", "run a script or build whose text was not read") \
	X(FORK_BOMB, "fork_bomb", "destructive", "multiply itself without end") \
	X(REVERSE_SHELL, "reverse_shell", "network", "hand a shell to the network") \
	X(ENVIRONMENT, "environment", "dynamic_exec", "change how later commands are found or loaded") \
	X(UNKNOWN, "unknown", "unknown", "do something not known to the guard")

enum effect_kind {
#define EFFECT_ENUM(id, name, category, clause) FX_##id,
	EFFECT_KINDS(EFFECT_ENUM)
#undef EFFECT_ENUM
		FX_KIND_COUNT
};
const char *effect_kind_name(enum effect_kind k);
const char *effect_kind_category(enum effect_kind k);
const char *effect_kind_clause(enum effect_kind k);
bool effect_kind_parse(const char *name, enum effect_kind *ret);

/* Where a path operand lies, from harmless to worst: the worse of the lexical and the link-resolved reading counts, and
 * the later of two classes here is the worse one. */
#define PATH_CLASSES(X) \
	X(NONE, "none") /* not a path, or no operand */ \
	X(SINK, "sink") /* /dev/null, /dev/stdout, /dev/stderr, /dev/tty and fd duplicates */ \
	X(IN, "in") /* strictly inside the workspace or the work tree */ \
	X(TMP, "tmp") /* below a temporary root */ \
	X(OUT, "out") /* another absolute path */ \
	X(HOME, "home") /* the home directory or below it, outside the workspace */ \
	X(UP, "up") /* the workspace or work tree itself, or an ancestor of it */ \
	X(SYS, "sys") /* the system's directories */ \
	X(STATE, "state") /* Helm's state, keys or references; client settings that arm the guard */ \
	X(ROOT, "root") /* "/" and what can be all of it */ \
	X(DEV, "dev") /* block and raw devices */

enum path_class {
#define PATH_ENUM(id, name) PATH_##id,
	PATH_CLASSES(PATH_ENUM)
#undef PATH_ENUM
		PATH_CLASS_COUNT
};
const char *path_class_name(enum path_class c);
bool path_class_parse(const char *name, enum path_class *ret);

/* How much of an operand is known. */
enum certainty {
	CERTAIN, /* fully known */
	PREFIXED, /* a known beginning, an unknown end; globs too */
	DYNAMIC, /* not known */
	CERTAINTY_COUNT
};
const char *certainty_name(enum certainty c);
bool certainty_parse(const char *name, enum certainty *ret);

enum effect_flags {
	FXF_RECURSIVE = 1 << 0,
	FXF_FORCE = 1 << 1,
	FXF_PRIVILEGED = 1 << 2, /* below sudo, doas, su, ... */
	FXF_DRY_RUN = 1 << 3, /* -n, --dry-run: says what it would do */
	FXF_OVERWRITE = 1 << 4, /* replaces content that was there (>, truncate, cp over) */
	FXF_APPEND = 1 << 5,
	FXF_IRRECOVERABLE = 1 << 6, /* shred and the like */
	FXF_MUTATING = 1 << 7, /* an upload or a changing verb of a remote interface */
	FXF_UNSET_ROOT = 1 << 8, /* with its unknown parts empty the operand names a protected directory */
	FXF_SETUID = 1 << 9,
	FXF_INSIDE_CONTAINER = 1 << 10,
	FXF_REMOTE_SIDE = 1 << 11, /* happens on another machine */
	FXF_FIND = 1 << 12, /* selected by find, fd, git ls-files | xargs, ... */
	FXF_DECODED = 1 << 13, /* found in text that was decoded for the report only */
	FXF_HOST_MOUNT = 1 << 14, /* inside a container that sees this machine's root or system directories */
	FXF_OPEN_END = 1 << 15, /* the operand's end is not known: it may lead out of where it starts */
	FXF_ONE_HOST = 1 << 16, /* the target is all of the network that the command names */
	FXF_WAS_READ = 1 << 18, /* a script whose whole text was judged with the command */
	FXF_IN_REPOSITORY = 1 << 17 /* git works on the repository above `cwd` and on no other place */
};

/* By the names that rules and share/programs/ use; those that only explain or guide have none. */
bool effect_flag_parse(const char *name, unsigned *ret);
const char *effect_flag_name(unsigned flag); /* of one flag; NULL: it has none */
struct json *effect_flags_json(struct arena *a, unsigned flags); /* the names of those that have one */

struct span {
	uint32_t start, end; /* bytes in the source's text, end exclusive */
};

/* A text some program would interpret: the whole input, or a string inside it. */
struct source {
	const char *text;
	size_t n;
	const struct source *parent; /* NULL for the input itself */
	struct span in_parent; /* the word that carried it */
	const char *via; /* "bash -c", "ssh host", "here-document", "git alias x", ... ; NULL for the input */
};

struct effect {
	enum effect_kind kind;
	enum path_class path_class; /* of target, when it is a path */
	enum certainty certainty; /* of target */
	unsigned flags; /* enum effect_flags */
	const char *
		tag; /* finer than kind, stable, dotted: "git.reset_hard", "docker.prune", "sql.drop"; or NULL */
	const char *program; /* the head that does it: "rm" */
	const char *target; /* path as judged (absolute where possible), host, unit, database...; or NULL */
	const char *resolved; /* target after link resolution where that differs, else NULL */
	const char *cwd; /* where it happens, and what a relative target is seen from; NULL: not known */
	const struct source *source;
	struct span at;
	uint32_t step; /* index into proposal.steps */
	/* What is plain about it, for whoever answers for it; false where in doubt. */
	bool is_literal; /* the operand is written out: nothing in it is still to be replaced or resolved */
	bool is_direct; /* the input, or a text it gives to a shell, starts it: no program and no script in between */
	bool is_in_sequence; /* its text is one command after the other, each once: what stands behind happens after */
};

/* One simple command as understood, for explanations. */
struct step {
	uint32_t depth; /* nesting: pipelines and lists 0, inside $(...), functions, -c strings +1 each */
	uint32_t parent; /* step that carried this one, or UINT32_MAX */
	const struct source *source;
	struct span at;
	const char *program; /* resolved head, or NULL when dynamic */
	const char *head; /* as it is started: a name, or a path; "": it starts nothing, NULL: not known */
	const char *text; /* the command with its words resolved, unknown parts as "…" */
	const char *wrappers; /* "sudo env" — what was peeled, or NULL */
	const char *git_verb; /* the subcommand, where it is git and that is known; or NULL */
	uint32_t first_effect, effect_count;
};

/* A file whose text was read and judged as if it stood in the command. */
struct judged_file {
	const char *path; /* absolute */
	const char *sha256; /* of the text that was judged, in hex */
};

/* Does the input hold a text that other programs read differently from us?  Then what was understood may not be what happens.  The
 * later is the stricter. */
enum ambiguity {
	AMBIGUITY_NONE,
	AMBIGUITY_ASKED, /* one reading counts, but a person may see another one: an operator is asked */
	AMBIGUITY_DENIED /* nobody can say which reading counts: the input is not understood */
};

/* Everything the analysis found.  When `readable` is false the effects found so far still count, and no decision may be
 * better than "ask". */
struct proposal {
	struct effect *effects;
	size_t effect_count;
	struct step *steps;
	size_t step_count;
	const struct source *source;
	struct judged_file *files; /* the first of them; more are not kept */
	size_t file_count;
	bool readable;
	const char *unreadable_code; /* parse_error, depth_limit, node_limit, size_limit, expansion_limit */
	const char *unreadable_text; /* for a person, with position */
	struct span unreadable_at;
	enum ambiguity ambiguity;
	const char *ambiguity_text; /* one sentence that names the text, escaped; NULL for AMBIGUITY_NONE */
	const char *ambiguity_instead; /* what to do otherwise */
	uint32_t max_depth;
	uint32_t move_count; /* steps that change the directory; known when some effect can lose files */
	const char
		*moves_to; /* where the last of them goes, when that is written out and absolute; or NULL */

	/* The original's classification members, kept for the ledger. */
	const char *normalized_command;
	const char *const *argv;
	size_t argc;
	bool shell_wrapped;
	const char *shell_inner_command; /* or NULL */
	bool operator_in_argv;
	bool heredoc_input;
};

#endif

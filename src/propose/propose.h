/* propose.h — any input becomes one struct proposal (model/effect.h).
 *
 * Nothing is executed and nothing is written.  The file system is consulted only to resolve symbolic links of operands and
 * to read scripts inside the workspace, and only when `sys` is given.  What cannot be understood is marked unreadable,
 * never guessed.  Work is linear in the input; every limit ends in "unreadable". */
#ifndef PROPOSE_PROPOSE_H
#define PROPOSE_PROPOSE_H

#include "base/err.h"
#include "base/sys.h"
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
	const char *tmpdir; /* $TMPDIR or "/tmp" */
	const char *const *environment; /* NAME=value of the child, NULL-terminated; or NULL */
	bool inspect_scripts; /* read scripts inside the workspace (default true for commands) */
	bool inside_run; /* we are ourselves below a governed process */
};

/* A text that a shell would run. */
void propose_shell(struct arena *a, const struct surroundings *at, struct bytes text, struct proposal *ret);

/* An argv that is executed without a shell: metacharacters are data. */
void propose_argv(struct arena *a, const struct surroundings *at, const char *const *argv, size_t argc,
	struct proposal *ret);

#endif

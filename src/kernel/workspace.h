/* workspace.h — the directory that holds Helm's state, what is in a new one, and what was chosen there.
 *
 * One resolver finds the workspace for every command (workspace_open), so that no two commands can disagree
 * about it. */
#ifndef KERNEL_WORKSPACE_H
#define KERNEL_WORKSPACE_H

#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"
#include "model/profile.h"

#include <stdbool.h>

enum layout { LAYOUT_UNKNOWN, LAYOUT_GENERIC, LAYOUT_HERMES, LAYOUT_OPENCLAW, LAYOUT_HELM, LAYOUT_COUNT };
const char *layout_name(enum layout l);

struct workspace {
	const char *root; /* absolute, links resolved where it exists */
	enum layout layout;
	const char *source; /* how it was chosen: markers, env, cwd, default, nested, fallback */
	const char *state_name; /* ".helm", ".openclaw" or ".hermes" */
	const char *state_dir; /* root/state_name */
	const char *home; /* $HOME, or NULL */
	const char *helm_home; /* $HELM_HOME or ~/.helm: keys and trust; NULL when neither is known */
	struct json *markers; /* names that told the layout */
	bool exists; /* the root is a directory */
	int root_fd, state_fd; /* -1 when not there */

	/* What checkpoints are made of, and where they lie: root and state_dir, until workspace_stand()
	 * says otherwise. */
	const char *tree;
	int tree_fd; /* borrowed from root_fd when tree is root */
	const char *points_dir;
	struct posture_memo *memo; /* the standing word about the root, as it was read last; posture.h */
	struct policy_memo *policies; /* the policy in use, compiled; policy/policy.h */
	const char *no_tree; /* why nothing can be saved from where one stands; or NULL */
};

/* Find and open the workspace: `path` (from --path) if given, else $HELM_WORKSPACE, else the nearest
 * directory above the current one that is a workspace, else <helm home>/workspace.  Without flags a place
 * that is no workspace is E_MISSING with the remedy.  WORKSPACE_OPTIONAL: *ret is NULL then, unless it was
 * named.  WORKSPACE_ANY: the place is given all the same, to be looked at, if it is there, or is made then (WORKSPACE_MADE).  WORKSPACE_NEW:
 * that too, and the walk up is left out, because it is to be made. */
enum { WORKSPACE_OPTIONAL = 1, WORKSPACE_NEW = 2, WORKSPACE_ANY = 4, WORKSPACE_MADE = 8 };
enum {
	WORKSPACE_VERSION = 1
}; /* `schema_version` of workspace.json; a newer one is refused, whatever the flags */
int workspace_open(struct sys *s, struct arena *a, const char *path, unsigned flags, struct workspace **ret,
	struct err *e);
void workspace_close(struct workspace *ws); /* NULL is fine */

/* Would workspace_open() take `path` for a workspace that is there? */
bool workspace_is_one(struct sys *s, struct arena *a, const char *path);

/* The directory in which a call that names none is judged: the root.  The default workspace is Helm's record, and nobody works in it: for
 * it, the current directory where that can be somebody's work, else a directory that there is not, in which no file is one of ours. */
const char *workspace_call_dir(struct sys *s, struct arena *a, const struct workspace *ws);
#define WORKSPACE_NOWHERE "/nowhere"

/* Somebody works in `dir` (NULL: the current directory).  The default workspace (<helm home>/workspace) is Helm's own place and
 * holds nobody's work: used from elsewhere, its checkpoints are of the work tree one stands in (the git top
 * level, else the directory), and are kept beside it, in <helm home>/trees/<sha256 of the path>/
 * (docs/formats/checkpoint.md).  Never of /, the home directory or above it, a system directory or the helm
 * home: then no_tree says why.  For every other workspace this changes nothing. */
void workspace_stand(struct sys *s, struct arena *a, struct workspace *ws, const char *dir);
void workspace_leave(
	struct workspace **ws); /* before `a` ends, where the workspace outlives it; for AUTO() */

/* Why a directory is too much, or nothing, to be somebody's work; NULL when it is not.  `home`, `helm_home` may be NULL. */
const char *place_is_too_much(const char *home, const char *helm_home, const char *dir);

/* The checkpoints of the place one stands in.  E_INPUT CHECKPOINT_PLACE when nothing can be saved from
 * there.  `will_write` makes the directory they are kept in. */
struct checkpoint_store;
int workspace_checkpoints(struct sys *s, struct arena *a, const struct workspace *ws, bool will_write,
	struct checkpoint_store *ret, struct err *e);

/* What this user keeps about the workspace where nobody who works in it can write: <helm home>/trees/<sha256 of root>.  NULL: there is
 * no helm home. */
const char *workspace_beside(struct arena *a, const struct workspace *ws);
/* The same, opened; `will_write` makes it.  E_MISSING: there is no helm home, or nothing was kept yet. */
int workspace_open_beside(struct sys *s, struct arena *a, const struct workspace *ws, bool will_write,
	int *ret_fd, struct err *e);
/* The same for any path. */
const char *workspace_place(struct arena *a, const struct workspace *ws, const char *path);

/* $HELM_HOME or ~/.helm, absolute and clean; E_MISSING when HOME is unset too. */
int workspace_helm_home(struct sys *s, struct arena *a, const char **ret, struct err *e);

/* The directory alone, still without state. */
int workspace_make_root(struct sys *s, const struct workspace *ws, struct err *e);
/* Create what is missing: directories, the files of shipped.h, workspace.json.  Files that nobody touched since an earlier release wrote
 * them are brought up to date.  `force` replaces the others that differ, each kept as FILE.bak (or .bak.1, ...) first.
 * Idempotent, and safe to be killed at any point.  The result lists workspace, state_dir, references, created, kept, upgraded, replaced. */
int workspace_init(
	struct sys *s, struct arena *a, struct workspace *ws, bool force, struct json **ret, struct err *e);

/* Root of the default workspace, which governs work in any place; NULL without a home. */
const char *workspace_default_root(struct arena *a, const struct workspace *ws);

/* The profile by which agents' calls and `helm run` are judged: what a person chose, workspace_edit when nobody did;
 * `default_profile` of .helm/workspace.json where that is stricter.  An error when nobody has spoken and that file cannot
 * be read. */
int workspace_default_profile(
	struct sys *s, struct arena *a, const struct workspace *ws, const char **ret, struct err *e);
/* The same for a supervised session, which is all inside walls: AGENT_PROFILE, when nobody chose and `all` (those in force) have it. */
int workspace_agent_profile(struct sys *s, struct arena *a, const struct workspace *ws,
	const struct profiles *all, const char **ret, struct err *e);
#define AGENT_PROFILE "develop"

/* The profiles in force: the accepted bytes of references/execution_profiles.json and tool_groups.json, else the shipped ones,
 * whatever lies in the tree.  An error when accepted bytes are lost or not valid: then nothing can be decided. */
int workspace_profiles(
	struct sys *s, struct arena *a, const struct workspace *ws, struct profiles *ret, struct err *e);

/* What kind of place a directory is, by the names in it, which are added to `markers`. */
enum layout workspace_look(
	struct sys *s, struct arena *a, const char *dir, struct json *markers, const char **ret_state_name);
/* A path as a person gives it: "~" is the home directory; absolute, links resolved where it exists. */
const char *workspace_named(struct sys *s, struct arena *a, const char *path);

/* What happens to what destroys: as a person chose for the workspace, else as the profile says; `destructive` of
 * .helm/workspace.json can only make it stricter. */
int workspace_destructive(struct sys *s, struct arena *a, const struct workspace *ws, const struct profile *p,
	enum destructive_rule *ret, struct err *e);

#endif

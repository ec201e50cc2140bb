/* workspace.c — which directory is the workspace, and what is in a new one.
 *
 * The rule that matters: walking up from the current directory stops only at a directory that really holds
 * Helm's state (or an OpenClaw runtime's).  A home directory has a .helm too, and many source trees have
 * docs/ or notes/: neither is a workspace by that.
 *
 * Two questions are kept apart.  Which workspace governs: one resolver answers that for every command.
 * Which files checkpoints are made of: usually those of the workspace, but the default workspace governs
 * work in any directory, and then it is the project one stands in (workspace_stand()). */
#include "kernel/workspace.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "execute/checkpoint/checkpoint.h"
#include "kernel/kernel.h"
#include "kernel/policy/policy.h"
#include "kernel/posture.h"
#include "kernel/shipped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *layout_name(enum layout l)
{
	static const char *const names[] = { "unknown", "generic", "hermes", "openclaw", "helm" };
	TABLE_COVERS(names, LAYOUT_COUNT);

	return names[l];
}

static const char *state_name(enum layout l)
{
	return l == LAYOUT_OPENCLAW ? ".openclaw" : l == LAYOUT_HERMES ? ".hermes" : ".helm";
}

static const char *const helm_state[] = { "workspace.json", "task-ledger.jsonl", "command-log.jsonl",
	"context_sources.json", "checkpoints", NULL };
static const char *const openclaw_state[] = { "task-ledger.jsonl", "command-log.jsonl", "checkpoints", NULL };
static const char *const hermes_marks[] = { ".hermes", "hermes", "notes", "history", NULL };
static const char *const generic_marks[] = { "references", "docs", "scripts", ".obsidian", NULL };

/* Is there anything of this name in the directory? */
static bool exists(struct sys *s, struct arena *a, const char *dir, const char *name)
{
	return file_exists(s, AT_FDCWD, arena_printf(a, "%s/%s", dir, name));
}

/* A state directory counts only with one of Helm's own files in it. */
static bool has_one_of(
	struct sys *s, struct arena *a, const char *dir, const char *sub, const char *const *names)
{
	if (!exists(s, a, dir, sub))
		return false;
	for (; *names; names++)
		if (exists(s, a, dir, arena_printf(a, "%s/%s", sub, *names)))
			return true;
	return false;
}

/* Notes every name that is there, for people who wonder why a layout was chosen. */
static bool collect(
	struct sys *s, struct arena *a, const char *dir, const char *const *names, struct json *markers)
{
	bool found = false;

	for (; *names; names++)
		if (exists(s, a, dir, *names)) {
			json_pushs(a, markers, *names);
			found = true;
		}
	return found;
}

/* Which kind of workspace a directory is.  `strict`: only what the walk up from the current directory may
 * stop at, which must be certain. */
static enum layout look(struct sys *s, struct arena *a, const char *dir, bool strict, struct json *markers)
{
	bool bare_state = !strict && exists(s, a, dir, ".helm") && !exists(s, a, dir, ".helm/workspace");

	/* ~/.helm/workspace marks ~/.helm as the helm home, not as the state of a workspace in the home
	 * directory. */
	if (bare_state || has_one_of(s, a, dir, ".helm", helm_state)) {
		json_pushs(a, markers, ".helm");
		return LAYOUT_HELM;
	}
	if (has_one_of(s, a, dir, ".openclaw", openclaw_state)) {
		json_pushs(a, markers, ".openclaw");
		return LAYOUT_OPENCLAW;
	}
	if (strict)
		return LAYOUT_UNKNOWN;
	if (collect(s, a, dir, hermes_marks, markers))
		return LAYOUT_HERMES;
	if (collect(s, a, dir, generic_marks, markers))
		return LAYOUT_GENERIC;
	return LAYOUT_UNKNOWN;
}

enum layout workspace_look(
	struct sys *s, struct arena *a, const char *dir, struct json *markers, const char **ret_state_name)
{
	enum layout l = look(s, a, dir, false, markers);

	*ret_state_name = state_name(l);
	return l;
}

/* Only "~" and "~/...": other users' homes are not looked up. */
static char *expand_home(struct arena *a, const char *home, const char *path)
{
	if (path[0] == '~' && (path[1] == '/' || !path[1]) && home)
		return arena_printf(a, "%s%s", home, path + 1);
	return arena_strdup(a, path);
}

/* Absolute, and with links resolved where the place exists, so that one workspace has one name. */
static const char *absolute(struct arena *a, const char *path)
{
	char *real = realpath(path, NULL);

	if (real) {
		const char *copy = arena_strdup(a, real);
		free(real);
		return copy;
	}
	char *cwd = getcwd(NULL, 0);
	const char *joined = path_clean(a, path_join(a, cwd ? cwd : "/", path));
	free(cwd);
	return joined;
}

const char *workspace_named(struct sys *s, struct arena *a, const char *path)
{
	const char *home = s->getenv(s, "HOME");

	return absolute(a, expand_home(a, home && *home == '/' ? home : NULL, path));
}

int workspace_helm_home(struct sys *s, struct arena *a, const char **ret, struct err *e)
{
	const char *own = s->getenv(s, "HELM_HOME"), *home = s->getenv(s, "HOME");

	if (own && *own)
		*ret = absolute(a, expand_home(a, home, own));
	else if (home && *home == '/')
		*ret = path_clean(a, arena_printf(a, "%s/.helm", home));
	else
		return err_set(e, E_MISSING, "HOME_UNSET",
			"HOME is not set; set it, or HELM_HOME, to say where keys live");
	return OK;
}

struct choice {
	const char *root, *source;
	enum layout layout;
	struct json *markers;
};

/* Where the record lies when nobody names a workspace: in the helm home, whose key signs it. */
static const char *default_root(struct arena *a, const char *helm_home)
{
	return helm_home ? absolute(a, arena_printf(a, "%s/workspace", helm_home)) : NULL;
}

/* A place that somebody named is taken as it is; if it is no workspace but holds one inside, that one is
 * meant. */
static void choose_named(
	struct sys *s, struct arena *a, const char *path, const char *source, struct choice *c)
{
	static const char *const nested[] = { ".helm/workspace", ".openclaw/workspace" };

	c->root = absolute(a, path);
	c->source = source;
	c->layout = look(s, a, c->root, false, c->markers);
	if (c->layout == LAYOUT_HELM || c->layout == LAYOUT_OPENCLAW)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(nested); i++) {
		struct json *markers = json_new(a, JSON_ARRAY);
		const char *inner = arena_printf(a, "%s/%s", c->root, nested[i]);
		enum layout l = look(s, a, inner, true, markers);
		if (l != LAYOUT_UNKNOWN) {
			*c = (struct choice){ absolute(a, inner), "nested", l, markers };
			return;
		}
	}
}

/* The nearest directory above the current one that is a workspace; false when there is none. */
static bool choose_above(struct sys *s, struct arena *a, struct choice *c)
{
	char *cwd = getcwd(NULL, 0);
	char *dir = cwd ? arena_strdup(a, cwd) : NULL;

	free(cwd);
	while (dir && *dir) {
		c->layout = look(s, a, dir, true, c->markers);
		if (c->layout != LAYOUT_UNKNOWN) {
			c->root = dir;
			c->source = "cwd";
			return true;
		}
		char *slash = strrchr(dir, '/');
		if (!slash || text_eq(dir, "/"))
			break;
		slash[slash == dir ? 1 : 0] = '\0';
	}
	return false;
}

/* One order for every command: named, environment, above, default. */
static int choose(struct sys *s, struct arena *a, const char *path, const char *home, unsigned flags,
	struct choice *c, struct err *e)
{
	const char *env = s->getenv(s, "HELM_WORKSPACE"), *helm_home;

	if (path) {
		choose_named(s, a, expand_home(a, home, path), "markers", c);
	} else if (env && *env) {
		choose_named(s, a, expand_home(a, home, env), "env", c);
	} else if ((flags & WORKSPACE_NEW) || !choose_above(s, a, c)) {
		if (workspace_helm_home(s, a, &helm_home, NULL))
			return err_set(e, E_MISSING, "HOME_UNSET",
				"HOME is not set; name the workspace with --path");
		c->root = default_root(a, helm_home);
		c->source = "default";
		c->layout = look(s, a, c->root, false, c->markers);
	}
	if (c->layout == LAYOUT_UNKNOWN && text_eq(c->source, "markers"))
		c->source = "fallback";
	return OK;
}

static int open_quietly(struct sys *s, const char *path)
{
	return s->open(s, AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, 0);
}

bool workspace_is_one(struct sys *s, struct arena *a, const char *path)
{
	struct choice c = { .markers = json_new(a, JSON_ARRAY) };
	const char *home = s->getenv(s, "HOME");

	choose_named(s, a, expand_home(a, home && *home == '/' ? home : NULL, path), "markers", &c);
	return c.layout != LAYOUT_UNKNOWN &&
		file_is_dir(s, AT_FDCWD, arena_printf(a, "%s/%s", c.root, state_name(c.layout)));
}

/* Where a limit was reached nothing is known: the directory must not be taken for one that is not there. */
static bool is_unknown(int why)
{
	return why == EMFILE || why == ENFILE || why == ENOMEM || why == EIO;
}

/* ---- the place one stands in ---- */

/* Back to the workspace itself.  tree_fd is closed only if it is not root_fd under another name. */
static void leave_tree(struct workspace *ws)
{
	if (ws->tree_fd != ws->root_fd)
		close_fd(&ws->tree_fd);
	ws->tree = ws->root;
	ws->tree_fd = ws->root_fd;
	ws->points_dir = ws->state_dir;
	ws->no_tree = NULL;
}

void workspace_leave(struct workspace **ws)
{
	leave_tree(*ws);
}

const char *workspace_default_root(struct arena *a, const struct workspace *ws)
{
	return default_root(a, ws->helm_home);
}

/* The workspace in the helm home, which serves work in any place.  Asked of the directories themselves:
 * their names may differ by links. */
static bool is_default(struct sys *s, struct arena *a, const struct workspace *ws)
{
	const char *path = default_root(a, ws->helm_home);
	struct stat there, own;

	return path && s->stat(s, AT_FDCWD, path, &there, 0) == 0 &&
		s->stat(s, ws->root_fd, "", &own, AT_EMPTY_PATH) == 0 && there.st_dev == own.st_dev &&
		there.st_ino == own.st_ino;
}

/* The first list with everything below, the second only the directories themselves. */
static bool is_system(const char *dir)
{
	static const char *const whole[] = { "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64",
		"/proc", "/sbin", "/sys", "/usr" };
	static const char *const tops[] = { "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv",
		"/tmp", "/var", "/var/tmp" };

	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		if (path_is_below(dir, whole[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(tops); i++)
		if (text_eq(dir, tops[i]))
			return true;
	return false;
}

/* Why a directory is too much to be somebody's work; NULL when it is not.  Saving or restoring it as a
 * whole would concern far more than one project. */
const char *place_is_too_much(const char *home, const char *helm_home, const char *dir)
{
	if (text_eq(dir, "/"))
		return "it is the whole machine";
	if (home && path_is_below(home, dir))
		return "it is the home directory, or above it";
	if (helm_home && (path_is_below(dir, helm_home) || path_is_below(helm_home, dir)))
		return "it is Helm's own, or holds that";
	/* ~/.ssh, ~/.config and the like arm what runs later. */
	if (home && path_is_below(dir, home) && dir[strlen(home)] == '/' && dir[strlen(home) + 1] == '.')
		return "it holds settings of programs";
	return is_system(dir) ? "it is a system directory" : NULL;
}

static const char *too_much(const struct workspace *ws, const char *dir)
{
	return place_is_too_much(ws->home, ws->helm_home, dir);
}

/* Named by the digest of the path, because paths can be longer than names. */
const char *workspace_place(struct arena *a, const struct workspace *ws, const char *path)
{
	return ws->helm_home
		? arena_printf(a, "%s/trees/%s", ws->helm_home, sha256_hex(a, path, strlen(path)))
		: NULL;
}

const char *workspace_beside(struct arena *a, const struct workspace *ws)
{
	return workspace_place(a, ws, ws->root);
}

int workspace_open_beside(struct sys *s, struct arena *a, const struct workspace *ws, bool will_write,
	int *ret_fd, struct err *e)
{
	const char *dir = workspace_beside(a, ws);

	if (!dir)
		return err_set(e, E_MISSING, "HELM_HOME", "there is no helm home: HOME is not set");
	int rc = will_write ? file_mkdirs(s, AT_FDCWD, dir, 0700, e) : OK;
	return rc ? rc : file_open_dir(s, AT_FDCWD, dir, ret_fd, e);
}

/* The git top level is preferred; if that is too much, the directory itself is taken.  The name of the
 * place for checkpoints is the digest of the tree's path, so one tree always finds its own. */
void workspace_stand(struct sys *s, struct arena *a, struct workspace *ws, const char *dir)
{
	leave_tree(ws);
	if (!is_default(s, a, ws))
		return;
	dir = absolute(a, dir ? dir : ".");
	if (path_is_below(dir, ws->root))
		return;
	const char *top = kernel_work_tree(s, a, dir, ws->home);
	const char *why = too_much(ws, dir);
	if (why || !ws->helm_home) {
		ws->no_tree =
			arena_printf(a, "'%s' cannot be saved: %s", dir, why ? why : "there is no helm home");
		return;
	}
	/* A repository around the whole home directory must not make every project in it one tree. */
	if (!top || too_much(ws, top))
		top = dir;
	ws->tree = top;
	ws->tree_fd = open_quietly(s, top);
	ws->points_dir = workspace_place(a, ws, top);
	if (ws->tree_fd < 0)
		ws->no_tree = arena_printf(a, "'%s' cannot be opened", top);
}

const char *workspace_call_dir(struct sys *s, struct arena *a, const struct workspace *ws)
{
	if (!is_default(s, a, ws))
		return ws->root;
	const char *here = absolute(a, ".");
	return too_much(ws, here) ? WORKSPACE_NOWHERE : here;
}

/* Says which tree a directory of checkpoints belongs to, since its name is only a digest.  For people;
 * nothing reads it back to decide. */
static int name_tree(struct sys *s, struct arena *a, const struct workspace *ws, int fd, struct err *e)
{
	struct json *doc = json_new(a, JSON_OBJECT);
	struct buf text;

	if (file_exists(s, fd, "tree.json"))
		return OK;
	json_seti(a, doc, "schema_version", 1);
	json_sets(a, doc, "tree", text_safe(a, ws->tree, strlen(ws->tree), false));
	json_sets(a, doc, "created_at", text_time_iso(a, s->now_us(s)));
	buf_init(&text, a);
	json_write(&text, doc, JSON_INDENT);
	buf_addc(&text, '\n');
	return file_replace(s, fd, "tree.json", 0600, buf_bytes(&text), e);
}

/* What was accepted and is lost is an error: the defaults could delete what it keeps. */
static int take_accepted_policy(struct sys *s, struct arena *a, const struct workspace *ws,
	struct checkpoint_store *st, struct err *e)
{
	int rc = accepted_read(s, a, ws, CHECKPOINT_POLICY_FILE, &st->policy, e);

	if (rc == E_MISSING)
		return OK;
	if (rc)
		checkpoint_close(st);
	return rc;
}

/* The store takes the descriptor over only when it could be opened. */
int workspace_checkpoints(struct sys *s, struct arena *a, const struct workspace *ws, bool will_write,
	struct checkpoint_store *ret, struct err *e)
{
	if (ws->no_tree)
		return err_set(e, E_INPUT, "CHECKPOINT_PLACE",
			"%s; go into a project, or name a workspace with --path ('helm init --path DIR' "
			"makes one)",
			ws->no_tree);
	if (text_eq(ws->tree, ws->root)) {
		int rc = checkpoint_open(ret, s, a, ws->root_fd, ws->state_fd, ws->state_name, e);
		return rc ? rc : take_accepted_policy(s, a, ws, ret, e);
	}
	int rc = will_write ? file_mkdirs(s, AT_FDCWD, ws->points_dir, 0700, e) : OK;
	int fd = rc == OK ? open_quietly(s, ws->points_dir) : -1;
	if (rc == OK && will_write)
		rc = fd < 0 ? err_sys(e, "CHECKPOINT_WRITE", "cannot open '%s'", ws->points_dir)
			    : name_tree(s, a, ws, fd, e);
	if (rc == OK)
		rc = checkpoint_open_beside(ret, s, a, ws->tree_fd, fd, ws->points_dir, ws->state_fd, e);
	if (rc)
		close_fd(&fd);
	return rc;
}

/* Inside a sandbox Helm's state is covered (task/hidden.c): by an empty directory without rights on a file system of its own, with all that
 * is around it, or by Landlock.  An empty record must not be taken for the record. */
static bool is_covered(struct sys *s, const struct workspace *ws)
{
	const char *inside = s->getenv(s, "HELM_WORKSPACE");
	struct stat root, state;

	if (!s->getenv(s, "HELM_TASK_ID"))
		return false;
	if (s->stat(s, AT_FDCWD, ws->root, &root, 0))
		return inside && text_eq(inside, ws->root);
	if (s->stat(s, AT_FDCWD, ws->state_dir, &state, AT_SYMLINK_NOFOLLOW))
		return false;
	return ws->state_fd < 0 || (state.st_dev != root.st_dev && !(state.st_mode & 0777));
}

/* A workspace that a newer release has made into something else is refused as a whole, before anything of it is read or written. */
static int check_version(struct sys *s, struct arena *a, const struct workspace *ws, struct err *e)
{
	struct json *doc;

	if (ws->state_fd < 0 || doc_read(s, a, ws->state_fd, "workspace.json", 1 << 20, 0, &doc, NULL))
		return OK; /* a file that cannot be read is told by whoever needs it */
	return doc_check_version(doc, "schema_version", WORKSPACE_VERSION,
		arena_printf(a, "%s/workspace.json", ws->state_dir), e);
}

int workspace_open(struct sys *s, struct arena *a, const char *path, unsigned flags, struct workspace **ret,
	struct err *e)
{
	const char *home = s->getenv(s, "HOME");
	struct choice c = { .markers = json_new(a, JSON_ARRAY) };
	struct workspace *ws = arena_zalloc(a, 1, sizeof(*ws));

	home = home && *home == '/' ? path_clean(a, home) : NULL;
	int rc = choose(s, a, path, home, flags, &c, e);
	if (rc)
		return rc;
	*ws = (struct workspace){
		.root = c.root, .layout = c.layout, .source = c.source, .home = home, .markers = c.markers
	};
	(void)workspace_helm_home(s, a, &ws->helm_home, NULL);
	ws->memo = posture_memo_new(a);
	ws->policies = policy_memo_new(a);
	ws->state_name = state_name(c.layout);
	ws->state_dir = arena_printf(a, "%s/%s", ws->root, ws->state_name);
	ws->root_fd = open_quietly(s, ws->root);
	if (ws->root_fd < 0 && is_unknown(errno))
		return err_sys(e, "WORKSPACE_OPEN", "cannot open '%s'", ws->root);
	ws->exists = ws->root_fd >= 0;
	ws->tree = ws->root;
	ws->tree_fd = ws->root_fd;
	ws->points_dir = ws->state_dir;
	ws->state_fd = open_quietly(s, ws->state_dir);
	if (ws->state_fd < 0 && is_unknown(errno)) {
		rc = err_sys(e, "WORKSPACE_OPEN", "cannot open '%s'", ws->state_dir);
		workspace_close(ws);
		return rc;
	}
	if (is_covered(s, ws) && !(flags & WORKSPACE_OPTIONAL && !path)) {
		workspace_close(ws);
		return err_set(e, E_DENIED, "STATE_INSIDE",
			"Helm's record of '%s' is not shown inside the sandbox of task %s; run this command outside of it",
			ws->root, s->getenv(s, "HELM_TASK_ID"));
	}
	rc = check_version(s, a, ws, e);
	if (rc) {
		workspace_close(ws);
		return rc;
	}
	/* Everything that decides or records needs state; only those who make or inspect a workspace do without.  Who inspects a place that was
	 * named wants one that is there. */
	const bool is_wanting = flags & WORKSPACE_ANY
		? path && !ws->exists && !(flags & WORKSPACE_MADE)
		: !(flags & WORKSPACE_NEW) && (ws->state_fd < 0 || c.layout == LAYOUT_UNKNOWN);
	if (is_wanting) {
		const bool is_named = path || (text_eq(c.source, "env") && !s->getenv(s, "HELM_TASK_ID"));
		workspace_close(ws);
		if (flags & WORKSPACE_OPTIONAL && !is_named) {
			*ret = NULL;
			return OK;
		}
		if (text_eq(c.source, "default"))
			return err_set(e, E_MISSING, "WORKSPACE_MISSING",
				"there is no workspace here, and '%s' is not a workspace; 'helm init' makes "
				"it one for "
				"work anywhere, 'helm init --path .' makes this directory one",
				ws->root);
		return err_set(e, E_MISSING, "WORKSPACE_MISSING",
			"%s'%s' is not a workspace%s; 'helm init --path %s' makes %s",
			text_eq(c.source, "env") ? "HELM_WORKSPACE: " : "", ws->root,
			ws->exists ? "" : ": it does not exist", ws->root,
			ws->exists ? "it one" : "one there");
	}
	*ret = ws;
	return OK;
}

void workspace_close(struct workspace *ws)
{
	if (!ws)
		return;
	leave_tree(ws);
	posture_memo_done(ws->memo);
	policy_memo_done(ws->policies);
	ws->memo = NULL;
	ws->policies = NULL;
	close_fd(&ws->root_fd);
	close_fd(&ws->state_fd);
	ws->root_fd = ws->state_fd = ws->tree_fd = -1;
}

/* What init makes, beside the files of shipped.h. */
static const char *const init_dirs[] = { "references", "skills", "skill_drafts", "docs", "memory",
	"memory/ontology", ".helm", ".helm/checkpoints" };

struct making {
	struct sys *s;
	struct arena *a;
	struct workspace *ws;
	struct json *created, *kept, *upgraded, *replaced;
	bool force;
};

/* A text that an operator wrote stays, unless `force` is given, and then it is kept beside.  One that an earlier release wrote and nobody touched
 * is brought up to date, unless an operator accepted exactly it. */
static int make_file(struct making *m, const struct shipped_file *f, struct err *e)
{
	struct bytes old, accepted;
	struct err why;
	int rc = file_read(m->s, m->a, m->ws->root_fd, f->to, SHIPPED_MOST_BYTES, 0, &old, &why);

	if (rc && rc != E_MISSING) {
		*e = why;
		return rc;
	}
	enum shipped_age age = rc ? SHIPPED_NEVER : shipped_age(f->to, old);
	bool is_upgrade = age == SHIPPED_EARLIER && f->use != SHIPPED_BEGUN &&
		!(accepted_read(m->s, m->a, m->ws, f->to, &accepted, NULL) == OK && bytes_eq(accepted, old));
	if (rc == OK && !is_upgrade && (!m->force || age == SHIPPED_NOW)) {
		json_pushs(m->a, m->kept, f->to);
		return OK;
	}
	json_pushs(m->a, rc ? m->created : age == SHIPPED_EARLIER ? m->upgraded : m->replaced, f->to);
	return shipped_put(m->s, m->a, m->ws->root_fd, f, rc ? NULL : &old, e);
}

int workspace_make_root(struct sys *s, const struct workspace *ws, struct err *e)
{
	int rc = file_mkdirs(s, AT_FDCWD, ws->root, 0755, e);

	return rc ? err_wrap(e, "cannot create workspace '%s'", ws->root) : OK;
}

/* State is private to the user: it holds commands and their output. */
static int make_directories(struct making *m, struct err *e)
{
	int rc = workspace_make_root(m->s, m->ws, e);

	if (rc)
		return rc;
	if (m->ws->root_fd < 0) {
		rc = file_open_dir(m->s, AT_FDCWD, m->ws->root, &m->ws->root_fd, e);
		if (rc)
			return rc;
		m->ws->exists = true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(init_dirs); i++) {
		bool there = file_is_dir(m->s, m->ws->root_fd, init_dirs[i]);
		json_pushs(m->a, there ? m->kept : m->created, arena_printf(m->a, "%s/", init_dirs[i]));
		/* State holds commands and their output: nobody else's business. */
		mode_t mode = text_starts(init_dirs[i], ".helm") ? 0700 : 0755;
		rc = there ? OK : file_mkdirs(m->s, m->ws->root_fd, init_dirs[i], mode, e);
		if (rc)
			return err_wrap(e, "cannot create workspace '%s'", m->ws->root);
	}
	return OK;
}

/* Written last, so that its presence says that the rest is complete. */
static int make_identity(struct making *m, struct err *e)
{
	struct json *doc = json_new(m->a, JSON_OBJECT);
	struct buf text;

	if (file_exists(m->s, m->ws->root_fd, ".helm/workspace.json")) {
		json_pushs(m->a, m->kept, ".helm/workspace.json");
		return OK;
	}
	json_seti(m->a, doc, "schema_version", WORKSPACE_VERSION);
	json_sets(m->a, doc, "created_at", text_time_iso(m->a, m->s->now_us(m->s)));
	json_sets(m->a, doc, "helm_version", HELM_VERSION);
	buf_init(&text, m->a);
	json_write(&text, doc, JSON_INDENT);
	buf_addc(&text, '\n');
	json_pushs(m->a, m->created, ".helm/workspace.json");
	return file_replace(m->s, m->ws->root_fd, ".helm/workspace.json", 0644, buf_bytes(&text), e);
}

int workspace_init(
	struct sys *s, struct arena *a, struct workspace *ws, bool force, struct json **ret, struct err *e)
{
	struct making m = { s, a, ws, json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY),
		json_new(a, JSON_ARRAY), json_new(a, JSON_ARRAY), force };
	struct json *references = json_new(a, JSON_ARRAY), *doc = json_new(a, JSON_OBJECT);
	int rc = make_directories(&m, e);

	for (size_t i = 0; rc == OK && i < SHIPPED_COUNT; i++) {
		if (text_starts(SHIPPED_FILES[i].to, "references/"))
			json_pushs(a, references, SHIPPED_FILES[i].to);
		rc = make_file(&m, &SHIPPED_FILES[i], e);
	}
	if (rc == OK)
		rc = make_identity(&m, e);
	if (rc)
		return rc;
	json_sets(a, doc, "workspace", ws->root);
	json_sets(a, doc, "state_dir", ".helm");
	json_set(a, doc, "references", references);
	json_set(a, doc, "created", m.created);
	json_set(a, doc, "kept", m.kept);
	json_set(a, doc, "upgraded", m.upgraded);
	json_set(a, doc, "replaced", m.replaced);
	*ret = doc;
	return OK;
}

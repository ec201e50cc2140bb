/* armed.c — files that make somebody start programs later: kept as they were before a run.
 *
 * Settings of agent clients, hooks and configuration of git, .envrc, the workspace's own rules.  What of them exists is read-only in a
 * run (walls.c).  What does not exist yet cannot be forbidden by name: Landlock does not know names, and a mount needs something to
 * lie on.  So they are noted before the run and looked at when nothing of it is left.  What is new is held: renamed, so that nobody
 * reads it, and nothing is lost.  What is another one than before is held, too, and the old one put back.  .git/config is git's
 * to write, so only a setting that makes git start something counts.
 *
 * Below the roots of workspace and work tree, where nothing was noted, times tell: the walk that lists what a run touched asks here about
 * each file.  Nothing follows a symbolic link: a run may have left one that leads to the person's own settings. */
#include "kernel/task/armed.h"
#include "base/file.h"
#include "base/names.h"
#include "base/text.h"
#include "clients/clients.h"
#include "kernel/linked.h"
#include "kernel/posture.h"
#include "kernel/task/parts.h"
#include "propose/propose.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>

enum {
	KEPT_BYTES = 256 << 10,
	/* A directory with more than that, or below all of them, is taken as one thing: nobody can hide a file behind many others. */
	DIR_MAX = 500,
	WALKED_MAX = 20000,
	MODULE_DEPTH = 8,
	COPIES_MOST = 8,
	BELOW = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS
};

/* ---- which files ---- */

/* Where git finds what it starts, below a repository's own directory, and what else starts programs, at a root.  Ends in '/': what is in
 * that directory.  A main repository has no commondir, which leads git to the configuration of another one; remotes and branches may name
 * any command as an address.  What is closed is read-only to a run where it exists; the rest has to be written in ordinary work. */
static const struct armed_name {
	const char *path;
	enum armed_kind kind;
	bool is_of_git, is_closed;
} armed_names[] = {
	{ "hooks/", .is_of_git = true, .is_closed = true },
	{ "config", ARMED_CONFIG, .is_of_git = true },
	{ "config.worktree", ARMED_CONFIG, .is_of_git = true },
	{ "rebase-merge/git-rebase-todo", ARMED_TODO, .is_of_git = true },
	{ "commondir", .is_of_git = true },
	{ "remotes/", .is_of_git = true },
	{ "branches/", .is_of_git = true },
	{ ".envrc", .is_closed = true },
};

const char *armed_closed_at(struct arena *a, size_t i)
{
	for (const struct armed_name *n = armed_names; n < armed_names + ARRAY_SIZE(armed_names); n++)
		if (n->is_closed && i-- == 0)
			return n->is_of_git ? arena_printf(a, ".git/%s", n->path) : n->path;
	return NULL;
}

static bool is_same(const struct stat *x, const struct stat *y)
{
	return x->st_dev == y->st_dev && x->st_ino == y->st_ino && x->st_ctim.tv_sec == y->st_ctim.tv_sec &&
		x->st_ctim.tv_nsec == y->st_ctim.tv_nsec;
}

struct armed_file *armed_find(struct armed_file *list, const char *root, const char *path)
{
	for (; list; list = list->next)
		if (text_eq(list->path, path) && text_eq(list->root, root))
			return list;
	return NULL;
}

bool armed_is_same_list(const struct armed_file *x, const struct armed_file *y)
{
	for (; x && y; x = x->next, y = y->next)
		if (!text_eq(x->path, y->path) || !text_eq(x->root, y->root) ||
			x->st.st_mode != y->st.st_mode || !is_same(&x->st, &y->st))
			return false;
	return !x && !y;
}

struct search {
	struct task *t;
	const char *root, *dir; /* dir: below root */
	int root_fd;
	struct names there; /* in the root */
	bool keeps; /* the text, too */
	enum armed_kind kind; /* of what is added now */
	struct armed_file *list;
	size_t n, in_dir; /* in_dir: of the directory that is walked */
};

/* Where a link leads; NULL when that cannot be read, or is longer than any path. */
static const char *read_target(struct search *x, const char *path)
{
	struct sys *s = x->t->k->sys;
	char target[PATH_MAX];
	ssize_t n = s->readlink(s, x->root_fd, path, target, sizeof(target));

	return n > 0 && n < (ssize_t)sizeof(target) ? arena_strndup(x->t->a, target, (size_t)n) : NULL;
}

/* The names in a directory; none where it is not there. */
static size_t list_names(struct search *x, const char *dir, char ***ret)
{
	struct task *t = x->t;
	AUTO(close_fd) int fd = rights_enter(t, x->root_fd, dir, dir);
	struct err e = { 0 };
	size_t n = 0;

	if (fd >= 0 && file_list(t->k->sys, t->a, fd, ".", ret, &n, &e))
		rights_cannot(t, dir, e.text);
	return n;
}

/* Is there anything under this name?  The directories on the way are opened, where they are closed. */
static bool is_anything(struct search *x, const char *path, struct stat *ret)
{
	struct sys *s = x->t->k->sys;

	if (s->stat(s, x->root_fd, path, ret, AT_SYMLINK_NOFOLLOW) == 0) {
		rights_see(x->t, x->root, x->root_fd, path, ret);
		return true;
	}
	if (errno == ENOENT || errno == ENOTDIR)
		return false;
	rights_reach(x->t, x->root_fd, arena_strndup(x->t->a, path, (size_t)(path_base(path) - path)));
	if (s->stat(s, x->root_fd, path, ret, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	if (errno != ENOENT && errno != ENOTDIR)
		rights_cannot(x->t, path, strerror(errno));
	return false;
}

static void add_file(struct search *x, const char *path, const struct stat *st)
{
	struct task *t = x->t;

	if (armed_find(x->list, x->root, path))
		return;
	struct armed_file *f = arena_zalloc(t->a, 1, sizeof(*f));
	*f = (struct armed_file){
		.root = x->root, .path = arena_strdup(t->a, path), .st = *st, .kind = x->kind, .next = x->list
	};
	if (x->keeps && S_ISREG(st->st_mode) &&
		file_read(t->k->sys, t->a, x->root_fd, path, KEPT_BYTES, FILE_BENEATH, &f->text, NULL))
		f->text.p = NULL;
	if (x->keeps && S_ISLNK(st->st_mode))
		f->target = read_target(x, path);
	x->list = f;
	x->n++;
}

/* git's examples are not run. */
static int add_below(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct search *x = arg;

	(void)parent;
	(void)e;
	if (S_ISDIR(st->st_mode) || text_ends(name, ".sample") || strstr(name, HELD))
		return 0;
	if (++x->in_dir > DIR_MAX || x->n >= WALKED_MAX)
		return E_LIMIT;
	add_file(x, arena_printf(x->t->a, "%s/%s", x->dir, rel), st);
	return 0;
}

/* The directory itself, in the place of what is in it. */
static void add_whole(struct search *x, const char *dir)
{
	struct stat st;

	x->kind = ARMED_WHOLE;
	if (is_anything(x, dir, &st))
		add_file(x, dir, &st);
}

static int enter(void *arg, int parent, const char *name, const char *rel)
{
	struct search *x = arg;

	return rights_enter(x->t, parent, name, arena_printf(x->t->a, "%s/%s", x->dir, rel));
}

static void add_directory(struct search *x, const char *dir)
{
	struct armed_file *list = x->list;
	size_t n = x->n;

	x->dir = dir;
	x->in_dir = 0;
	AUTO(close_fd) int fd = rights_enter(x->t, x->root_fd, dir, dir);
	struct err e = { 0 };
	int rc = fd < 0 ? OK : file_walk_by(x->t->k->sys, fd, false, add_below, enter, x, &e);
	if (rc && rc != E_LIMIT)
		rights_cannot(x->t, dir, e.text);
	if (rc != E_LIMIT)
		return;
	x->list = list;
	x->n = n;
	add_whole(x, dir);
}

/* The first part of `path` that is a link stands for all behind it. */
static void add_path(struct search *x, const char *path)
{
	struct stat st;

	for (const char *end = strchr(path, '/');; end = strchr(end + 1, '/')) {
		size_t n = end ? (size_t)(end - path) : strlen(path);
		const char *part = arena_strndup(x->t->a, path, n);
		if (!is_anything(x, part, &st))
			return;
		if (S_ISLNK(st.st_mode) || ((!end || !end[1]) && !S_ISDIR(st.st_mode))) {
			add_file(x, part, &st);
			return;
		}
		if (!end || !end[1]) {
			add_directory(x, part);
			return;
		}
	}
}

/* Files that a configuration takes in, where they lie in the root: relative to the directory it is in. */
static void add_included(struct search *x, const char *config)
{
	struct arena *a = x->t->a;
	const char *slash = strrchr(config, '/');
	struct bytes text;

	if (file_read(x->t->k->sys, a, x->root_fd, config, KEPT_BYTES, FILE_BENEATH, &text, NULL))
		return;
	struct json *settings = propose_git_commands(a, text);
	json_each (one, settings) {
		const char *line = json_text(one), *path = strchr(line, '=');
		if (!text_starts(line, "include") || !path || path[1] == '~')
			continue;
		path = path[1] == '/' ? path_clean(a, path + 1)
				      : path_clean(a,
						arena_printf(a, "%s/%.*s/%s", x->root,
							slash ? (int)(slash - config) : 0, config, path + 1));
		if (path_is_below(path, x->root) && path[strlen(x->root)])
			add_path(x, path + strlen(x->root) + 1);
	}
}

/* `dir`: what a repository keeps of a further work tree. */
static void add_further(struct search *x, const char *dir)
{
	static const struct {
		const char *path;
		enum armed_kind kind;
	} names[] = { { "config.worktree", ARMED_CONFIG }, { "rebase-merge/git-rebase-todo", ARMED_TODO },
		{ "commondir", ARMED_COMMON } };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		x->kind = names[i].kind;
		add_path(x, path_clean(x->t->a, arena_printf(x->t->a, "%s/%s", dir, names[i].path)));
	}
}

bool armed_is_store(const char *name)
{
	static const char *const names[] = { "objects", "refs", "logs", "info", "rr-cache", "lfs" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(name, names[i]))
			return true;
	return false;
}

/* Directories that git itself makes in a repository.  Any other could be a repository of its own, with hooks and settings that nobody
 * looks at. */
static void add_strange(struct search *x, const char *dir)
{
	static const char *const known[] = { "hooks", "branches", "remotes", "modules", "worktrees",
		"rebase-merge", "rebase-apply", "sequencer", "NOTES_MERGE_WORKTREE", "fsmonitor--daemon" };
	char **names = NULL;
	size_t n = list_names(x, dir, &names);
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		bool is_known = strstr(names[i], HELD) || armed_is_store(names[i]);
		for (size_t k = 0; k < ARRAY_SIZE(known) && !is_known; k++)
			is_known = text_eq(names[i], known[k]);
		const char *path = arena_printf(x->t->a, "%s/%s", dir, names[i]);
		if (!is_known && is_anything(x, path, &st) && S_ISDIR(st.st_mode))
			add_whole(x, path);
	}
}

/* `dir`: a repository's own directory, ".git" or that of a submodule. */
static void add_repository(struct search *x, const char *dir)
{
	struct arena *a = x->t->a;
	struct names there;
	char **names = NULL;
	struct stat st;

	if (!is_anything(x, dir, &st))
		return;
	names_look(x->t->k->sys, x->root_fd, dir, &there);
	for (size_t i = 0; i < ARRAY_SIZE(armed_names); i++) {
		const char *path = arena_printf(a, "%s/%s", dir, armed_names[i].path);
		x->kind = armed_names[i].kind;
		if (!armed_names[i].is_of_git || !names_may_have(&there, armed_names[i].path))
			continue;
		add_path(x, path);
		if (x->kind == ARMED_CONFIG)
			add_included(x, path);
	}
	add_strange(x, dir);
	size_t n = list_names(x, arena_printf(a, "%s/worktrees", dir), &names);
	if (n > DIR_MAX || (n && x->n >= WALKED_MAX))
		add_whole(x, arena_printf(a, "%s/worktrees", dir));
	for (size_t i = 0; i < n && n <= DIR_MAX; i++)
		add_further(x, arena_printf(a, "%s/worktrees/%s", dir, names[i]));
	x->kind = ARMED_WHOLE;
}

/* Configuration and hooks of submodules lie in the repository, not beside it, in directories that may be as deep as their names. */
static void add_modules(struct search *x, const char *dir, int depth)
{
	struct sys *s = x->t->k->sys;
	struct arena *a = x->t->a;
	char **names = NULL;
	size_t n = list_names(x, dir, &names);

	if (!n)
		return;
	if (depth > MODULE_DEPTH || n > DIR_MAX || x->n >= WALKED_MAX) {
		add_whole(x, dir);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const char *one = arena_printf(a, "%s/%s", dir, names[i]);
		struct stat st;
		if (!is_anything(x, one, &st) || !S_ISDIR(st.st_mode))
			continue;
		if (file_exists(s, x->root_fd, arena_printf(a, "%s/HEAD", one))) {
			add_repository(x, one);
			add_modules(x, arena_printf(a, "%s/modules", one), depth + 1);
		} else {
			add_modules(x, one, depth + 1);
		}
	}
}

/* A row with a '*' stands for the directory it is in: what does not fit it is told apart below. */
static void add_client_rows(struct search *x)
{
	const struct client *c;
	struct json *more = json_new(x->t->a, JSON_ARRAY);

	for (size_t i = 0; (c = clients_at(i)); i++)
		for (const struct client_file *f = c->files; f->path; f++)
			if (!strchr(f->path, '*') && names_may_have(&x->there, f->path))
				add_path(x, f->path);
	clients_settings_in(x->t->k->sys, x->t->a, NULL, x->root, more);
	json_each (one, more)
		add_path(x, json_text(one) + strlen(x->root) + 1);
}

/* What the repository keeps of a work tree that is linked to it.  Which one that is was asked before the run. */
static void add_linked(struct search *x)
{
	AUTO(close_fd) int fd = -1;

	x->root = x->t->linked_own;
	if (!x->root || rights_open_root(x->t, x->root, &fd))
		return;
	x->root_fd = fd;
	add_further(x, ".");
}

/* In the place of a repository a file that leads to one. */
static bool is_link_to_repository(const struct search *x)
{
	struct stat st;

	return x->t->k->sys->stat(x->t->k->sys, x->root_fd, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		!S_ISDIR(st.st_mode);
}

/* Directories of the tree that settings name as those of hooks.  A tool that makes such a directory for itself keeps the scripts beside
 * it. */
static void add_hooks(struct search *x)
{
	json_each (dir, x->t->hooks) {
		const char *path = json_text(dir);
		if (path_is_below(path, x->root) && path[strlen(x->root)])
			add_path(x, path + strlen(x->root) + 1);
	}
}

/* All that is there now. */
static struct armed_file *search(struct task *t, bool keeps)
{
	const char *roots[] = { t->k->ws->root, t->at.work_tree };
	struct search x = { .t = t, .keeps = keeps };

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		if (!roots[i] || (i && text_eq(roots[0], roots[1])))
			continue;
		AUTO(close_fd) int fd = -1;
		if (rights_open_root(t, roots[i], &fd))
			continue;
		x.root = roots[i];
		x.root_fd = fd;
		names_look(t->k->sys, fd, ".", &x.there);
		add_client_rows(&x);
		for (size_t n = 0; n < ARRAY_SIZE(armed_names); n++)
			if (!armed_names[n].is_of_git && names_may_have(&x.there, armed_names[n].path))
				add_path(&x, armed_names[n].path);
		if (names_may_have(&x.there, ".git")) {
			add_repository(&x, ".git");
			add_modules(&x, ".git/modules", 0);
		}
		add_hooks(&x);
		if (i == 0)
			add_path(&x, "references/");
		if (names_may_have(&x.there, ".git") && is_link_to_repository(&x))
			add_path(&x, ".git");
	}
	add_linked(&x);
	return x.list;
}

void armed_note(struct task *t)
{
	struct linked to;

	if (t->profile->writes != ALLOWANCE_YES)
		return;
	t->linked_own = linked_find(t->k->sys, t->a, task_tree(t), t->k->ws->home, &to) ? to.own : NULL;
	t->hooks = propose_git_hooks(t->a, &t->at, task_tree(t));
	t->is_noting = true;
	t->armed = search(t, true);
	t->is_noting = false;
	rights_put_back(t);
}

/* ---- what is done about one ---- */

static void tell(struct task *t, const char *path, const char *what, const char *as, const char *why)
{
	struct arena *a = t->a;
	struct json *row = json_new(a, JSON_OBJECT);

	t->is_left |= text_eq(what, "left");
	if (!t->left_behind)
		t->left_behind = json_new(a, JSON_ARRAY);
	if (t->left_behind->n >= 100)
		return;
	json_sets(a, row, "path", text_safe(a, path, strlen(path), false));
	json_sets(a, row, "what", what);
	if (as)
		json_sets(a, row, "as", as);
	if (why)
		json_sets(a, row, "why", why);
	json_push(a, t->left_behind, row);
}

/* Out of the way under another name in the same directory, or NULL. */
static const char *rename_away(struct task *t, int dir, const char *name)
{
	struct sys *s = t->k->sys;

	for (int i = 1; i < 100; i++) {
		const char *to = i == 1 ? arena_printf(t->a, "%s" HELD, name)
					: arena_printf(t->a, "%s" HELD "-%d", name, i);
		if (rights_rename(t, dir, name, to) == 0)
			return to;
		if (errno != EEXIST)
			return NULL;
		/* Whoever makes it again and again while it goes on fills no directory with copies. */
		if (t->is_prompt && i >= COPIES_MOST && s->unlink(s, dir, name, 0) == 0)
			return "nothing: it is gone";
	}
	const char *to = arena_printf(t->a, "%s" HELD "-%llx", name, (unsigned long long)s->mono_us(s));
	return rights_rename(t, dir, name, to) == 0 ? to : NULL;
}

static bool is_kept(const struct armed_file *old)
{
	return old && (old->text.p || old->target);
}

/* A link comes back as the link it was: to the same text, whatever that leads to. */
static bool put_back(struct task *t, int dir, const char *name, const struct armed_file *old)
{
	struct sys *s = t->k->sys;

	if (old->target)
		return s->symlink(s, old->target, dir, name) == 0;
	return file_replace(s, dir, name, old->st.st_mode & 0777, old->text, NULL) == OK;
}

/* Holds what is there under this name and puts `old`, unless NULL, in its place. */
static void set_right(struct task *t, int root_fd, const char *path, bool is_there,
	const struct armed_file *old, const char *why)
{
	struct sys *s = t->k->sys;
	const char *name = path_base(path), *as = NULL;
	const char *parent = name > path ? arena_strndup(t->a, path, (size_t)(name - path)) : ".";
	AUTO(close_fd) int dir = rights_open(t, root_fd, parent);

	if (is_there && (dir < 0 || !(as = rename_away(t, dir, name)))) {
		tell(t, path, "left", NULL,
			arena_printf(t->a, "%s; it could not be held: %s", why, strerror(errno)));
		return;
	}
	if (!is_kept(old)) {
		tell(t, path, old ? "lost" : "held", as, why);
		return;
	}
	if (dir < 0 && file_mkdirs(s, root_fd, parent, 0755, NULL) == OK)
		dir = rights_open(t, root_fd, parent);
	bool is_back = dir >= 0 && put_back(t, dir, name, old);
	tell(t, path, is_back ? "put_back" : "lost", as, why);
}

/* The same of an entry that a walk has found in its directory. */
static void hold_found(struct task *t, int parent, const char *name, const char *rel, const char *why)
{
	const char *as = rename_away(t, parent, name);

	tell(t, rel, as ? "held" : "left", as,
		as ? why : arena_printf(t->a, "%s; it could not be held: %s", why, strerror(errno)));
}

/* A wall kept the run from it: somebody outside has changed it. */
static bool was_closed(const struct task *t, const char *root, const char *path)
{
	const char *full = arena_printf(t->a, "%s/%s", root, path);

	for (const char *const *p = t->rules.read_only; p && *p && t->result->report.read_only_held; p++)
		if (path_is_below(full, *p))
			return true;
	return false;
}

/* The first setting in `text` that makes git start something and was not there before; or NULL. */
static const char *new_command(struct arena *a, struct bytes text, const struct armed_file *old)
{
	struct json *now = propose_git_commands(a, text),
		    *before = propose_git_commands(a, old && old->text.p ? old->text : (struct bytes){ 0 });

	json_each (one, now) {
		bool is_old = false;
		json_each (known, before)
			is_old |= text_eq(json_text(one), json_text(known));
		if (!is_old)
			return text_safe(a, json_text(one), strlen(json_text(one)), false);
	}
	return NULL;
}

static const char *why_armed(const char *path)
{
	if (text_starts(path, "references/"))
		return "it would change the rules of this workspace";
	if (strstr(path, "hooks/"))
		return "it would be run as a hook";
	if (text_ends(path, "/commondir") || text_eq(path_base(path), ".git"))
		return "it would lead git to another configuration";
	return "it would start programs, or change what guards them";
}

/* What was put back, or written again, is the same file under another number. */
static bool is_same_text(
	struct task *t, int root_fd, const struct armed_file *f, const struct armed_file *old)
{
	struct bytes text;

	return old && old->text.p && S_ISREG(f->st.st_mode) && f->st.st_mode == old->st.st_mode &&
		file_read(t->k->sys, t->a, root_fd, f->path, KEPT_BYTES, FILE_BENEATH, &text, NULL) == OK &&
		text.n == old->text.n && memcmp(text.p, old->text.p, text.n) == 0;
}

/* The first command among the steps in `text`, one that is not in `old`; or NULL. */
static const char *new_step(struct arena *a, struct bytes text, struct bytes old)
{
	while (text.p) {
		struct bytes line = text_cut(&text, '\n'), rest = old;
		const char *step = arena_strndup(a, (const char *)line.p, line.n);
		const char *word = step + strspn(step, " \t");
		size_t n = strcspn(word, " \t");
		bool is_old = false;
		if (!(n == 1 && *word == 'x') && !(n == 4 && strncmp(word, "exec", n) == 0))
			continue;
		while (rest.p) {
			struct bytes known = text_cut(&rest, '\n');
			is_old |= known.n == line.n && memcmp(known.p, line.p, line.n) == 0;
		}
		if (!is_old)
			return text_safe(a, word, strlen(word), false);
	}
	return NULL;
}

/* NULL: what git finds in it starts nothing new. */
static const char *why_read(
	struct task *t, int root_fd, const struct armed_file *f, const struct armed_file *old)
{
	struct bytes text, before = old && old->text.p ? old->text : (struct bytes){ 0 };

	if (file_read(t->k->sys, t->a, root_fd, f->path, KEPT_BYTES, FILE_BENEATH, &text, NULL))
		return "it cannot be read";
	if (f->kind == ARMED_COMMON)
		return text_eq((const char *)text.p, "../..\n") ? NULL : why_armed(f->path);
	const char *what =
		f->kind == ARMED_TODO ? new_step(t->a, text, before) : new_command(t->a, text, old);
	return what ? arena_printf(t->a, "git would run %s", what) : NULL;
}

/* The run had a copy of it (git_private.c): what is new in the file outside is the operator's. */
static bool is_private(const struct task *t, const struct armed_file *f)
{
	const char *full = arena_printf(t->a, "%s/%s", f->root, f->path);

	if (t->rules.kind != SANDBOX_NAMESPACES || !t->result->report.files_private)
		return false;
	for (const struct sandbox_file *p = t->rules.files; p && p->at; p++)
		if (text_eq(p->at, full))
			return true;
	return false;
}

static void look_at(struct task *t, int root_fd, struct armed_file *f, struct armed_file *old)
{
	const char *why = why_armed(f->path);

	if ((old && is_same(&old->st, &f->st)) || was_closed(t, f->root, f->path) ||
		is_same_text(t, root_fd, f, old))
		return;
	if (f->kind != ARMED_WHOLE && (t->is_prompt || is_private(t, f)))
		return;
	if (f->kind != ARMED_WHOLE) {
		why = why_read(t, root_fd, f, old);
		if (!why)
			return;
	}
	set_right(t, root_fd, f->path, true, old, why);
}

/* ---- below the roots, by times ---- */

bool armed_is_newer(const struct task *t, const struct stat *st)
{
	int64_t changed = (int64_t)st->st_ctim.tv_sec * 1000000 + st->st_ctim.tv_nsec / 1000;

	return changed >=
		t->result->started_us - 10000; /* the file system's clock ticks more coarsely than ours */
}

/* Files that a service runs when they are pushed: a change of them is ordinary work, and is told. */
bool armed_is_ci(const char *rel)
{
	static const char *const names[] = { ".gitlab-ci.yml", ".travis.yml", "Jenkinsfile",
		"azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml", ".circleci/config.yml",
		".pre-commit-config.yaml" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(rel, names[i]))
			return true;
	return text_starts(rel, ".github/workflows/") || text_starts(rel, ".github/actions/") ||
		text_starts(rel, ".husky/") || text_starts(rel, ".buildkite/");
}

/* Written since the run began; or moved to where it is, with the directory that it lies in, whose number tells. */
static bool is_fresh(struct task *t, int root_fd, const struct armed_file *f, const char *repository)
{
	const char *name = path_base(f->path),
		   *dir = arena_strndup(t->a, f->path, (size_t)(name - f->path) - 1);
	struct stat st;

	return armed_is_newer(t, &f->st) ||
		(!text_eq(dir, repository) &&
			t->k->sys->stat(t->k->sys, root_fd, dir, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			nested_is_new(t->nested, dir, &st));
}

/* A repository inside the work tree: its hooks and configuration.  The root's own is looked at apart.  All of one that was moved there
 * counts. */
static void look_at_repository(struct task *t, const char *rel, bool is_moved)
{
	const char *root = task_tree(t);
	AUTO(close_fd) int root_fd = -1;
	struct search x = { .t = t, .root = root };

	if (text_eq(rel, ".git") || rights_open_root(t, root, &root_fd))
		return;
	x.root_fd = root_fd;
	add_repository(&x, rel);
	for (struct armed_file *f = x.list; f; f = f->next)
		if (is_moved || is_fresh(t, root_fd, f, rel))
			look_at(t, root_fd, f, NULL);
}

/* A file ".git" leads to a repository elsewhere.  Those of submodules and further work trees lie in the root's own, which is looked at;
 * any other is a way around that. */
static bool leads_elsewhere(struct task *t, int parent, const char *name, const char *rel)
{
	static const char word[] = "gitdir: ";
	const char *tree = task_tree(t), *slash = strrchr(rel, '/');
	struct bytes text;

	if (file_read(t->k->sys, t->a, parent, name, PATH_MAX, 0, &text, NULL) ||
		!text_starts((const char *)text.p, word))
		return true;
	const char *to = arena_strndup(t->a, (const char *)text.p + sizeof(word) - 1,
		strcspn((const char *)text.p + sizeof(word) - 1, "\n"));
	if (*to != '/')
		to = arena_printf(t->a, "%s/%.*s/%s", tree, slash ? (int)(slash - rel) : 0, rel, to);
	to = path_clean(t->a, to);
	return !path_is_below(to, arena_printf(t->a, "%s/.git/modules", tree)) &&
		!path_is_below(to, arena_printf(t->a, "%s/.git/worktrees", tree));
}

/* A file that the run left, and that runs as its owner or group, loses that: others could use it. */
void armed_strip_set_ids(struct task *t, int parent, const char *name, const char *rel, const struct stat *st)
{
	struct sys *s = t->k->sys;

	if (!(S_ISREG(st->st_mode) && st->st_mode & (S_ISUID | S_ISGID) && armed_is_newer(t, st)))
		return;
	AUTO(close_fd) int fd = s->open(s, parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, BELOW);
	bool is_done = fd >= 0 && s->chmod(s, fd, st->st_mode & 01777) == 0;

	tell(t, rel, is_done ? "stripped" : "left", NULL, "it would run as its owner or group");
}

/* A workspace below that this run can have made or moved there.  One that the helm home knows was made or is used by somebody beside the
 * run, and what is recorded there is theirs; its files permit nothing that a person has not accepted. */
static bool is_new_workspace(
	struct task *t, int parent, const char *name, const char *rel, const struct stat *st)
{
	struct sys *s = t->k->sys;
	struct stat inside;

	if (text_eq(rel, name) || !text_eq(name, t->k->ws->state_name) || was_closed(t, task_tree(t), rel) ||
		s->stat(s, parent, arena_printf(t->a, "%s/workspace.json", name), &inside,
			AT_SYMLINK_NOFOLLOW) ||
		!(armed_is_newer(t, st) || armed_is_newer(t, &inside) || nested_is_new(t->nested, rel, st)))
		return false;
	const char *root =
		arena_printf(t->a, "%s/%.*s", task_tree(t), (int)(strlen(rel) - strlen(name) - 1), rel);
	return !posture_knows(s, t->a, t->k->ws, root);
}

/* A file that counts below the root, and came since the run began. */
static void look_at_file(struct task *t, int parent, const char *name, const char *rel, const struct stat *st)
{
	armed_strip_set_ids(t, parent, name, rel, st);
	if (text_eq(name, ".git") && !t->is_prompt && !text_eq(rel, name) &&
		leads_elsewhere(t, parent, name, rel))
		hold_found(t, parent, name, rel, why_armed(rel));
	else if (S_ISLNK(st->st_mode) && strchr(rel, '/') && clients_care_below_anywhere(rel) != CARE_NONE &&
		!text_eq(name, ".github") && !text_eq(name, ".config"))
		hold_found(t, parent, name, rel, "a client would read its settings behind this link");
	else if (armed_is_ci(rel))
		tell(t, rel, "noted", NULL, "a service runs it once it is pushed");
	else if (!clients_care(rel) &&
		(clients_care_anywhere(rel) == CARE_CLOSED || text_eq(name, ".envrc")) &&
		!was_closed(t, task_tree(t), rel))
		hold_found(t, parent, name, rel, why_armed(rel));
}

/* Asked about each entry of the walk over the work tree.  The entry may have another name afterwards. */
void armed_look(struct task *t, int parent, const char *name, const char *rel, const struct stat *st)
{
	bool is_dir = S_ISDIR(st->st_mode), is_git = is_dir && text_eq(name, ".git");
	bool is_moved = (is_git || (!is_dir && nested_counts(rel))) && nested_is_new(t->nested, rel, st);

	if (is_git) {
		look_at_repository(t, rel, is_moved);
		armed_look_inside(t, rel);
	} else if (!is_dir && (armed_is_newer(t, st) || is_moved) &&
		(text_eq(name, "HEAD") || text_eq(name, "config") || text_eq(name, "commondir")) &&
		strchr(rel, '/') && armed_is_repository(t->k->sys, parent)) {
		look_at_repository(t, arena_strndup(t->a, rel, strlen(rel) - strlen(name) - 1), is_moved);
	}
	if (is_dir && is_new_workspace(t, parent, name, rel, st))
		hold_found(t, parent, name, rel, "it would be a workspace with rules of its own");
	if (!is_dir && (armed_is_newer(t, st) || is_moved) && !strstr(name, HELD))
		look_at_file(t, parent, name, rel, st);
}

void armed_away(struct task *t, int root_fd, const char *path, const char *why)
{
	set_right(t, root_fd, path, true, NULL, why);
}

void armed_say_row(struct task *t, struct json *row)
{
	if (!t->left_behind)
		t->left_behind = json_new(t->a, JSON_ARRAY);
	json_push(t->a, t->left_behind, row);
}

void armed_say(struct task *t, const char *path, const char *what, const char *why)
{
	tell(t, path, what, NULL, why);
}

/* ---- the end ---- */

/* Links first, as wholes: where one was replaced by a directory, that is held with all that is in it. */
static void check_links(struct task *t)
{
	struct sys *s = t->k->sys;
	struct stat st;

	for (struct armed_file *f = t->armed; f; f = f->next) {
		AUTO(close_fd) int fd = -1;
		if (!f->target || rights_open_root(t, f->root, &fd))
			continue;
		rights_reach(t, fd, arena_strndup(t->a, f->path, (size_t)(path_base(f->path) - f->path)));
		bool is_there = s->stat(s, fd, f->path, &st, AT_SYMLINK_NOFOLLOW) == 0;
		if (is_there && is_same(&f->st, &st))
			continue;
		set_right(t, fd, f->path, is_there, f, is_there ? why_armed(f->path) : "it was removed");
		/* As it is now it is right: nothing more is to be done about it. */
		(void)s->stat(s, fd, f->path, &f->st, AT_SYMLINK_NOFOLLOW);
	}
}

static bool is_hook(const struct task *t, const struct armed_file *f)
{
	json_each (dir, t->hooks)
		if (path_is_below(arena_printf(t->a, "%s/%s", f->root, f->path), json_text(dir)))
			return true;
	return false;
}

/* Somebody who was ended had held what was there, and not put back what was there before. */
static bool is_half_done(struct task *t, const struct armed_file *f)
{
	return file_exists(t->k->sys, AT_FDCWD, arena_printf(t->a, "%s/%s" HELD, f->root, f->path));
}

/* When nothing of the run is left: at the roots, against what was noted. */
void armed_check(struct task *t)
{
	check_links(t);
	struct armed_file *now = search(t, false);

	for (struct armed_file *f = now; f; f = f->next) {
		AUTO(close_fd) int fd = -1;
		if (rights_open_root(t, f->root, &fd) == OK)
			look_at(t, fd, f, armed_find(t->armed, f->root, f->path));
	}
	/* While it goes on, one that is gone may be on its way to be written anew. */
	for (struct armed_file *f = t->is_prompt ? NULL : t->armed; f; f = f->next) {
		AUTO(close_fd) int fd = -1;
		bool is_gone = !armed_find(now, f->root, f->path) && !was_closed(t, f->root, f->path);
		/* Who removes a repository removes its configuration; a hook that is gone starts nothing. */
		bool is_ours = text_starts(f->path, ".git/") || is_hook(t, f);
		if (is_gone && is_kept(f) && (!is_ours || is_half_done(t, f)) &&
			rights_open_root(t, f->root, &fd) == OK)
			set_right(t, fd, f->path, false, f, "it was removed");
	}
	rights_put_back(t);
}

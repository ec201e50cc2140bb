/* git_private.c — git's configuration during a run: copies that the run writes, and what of them is taken over.
 *
 * A line in .git/config is enough to have a program run at the next `git status`, or to send the next `git push` elsewhere.  git has to
 * write the file in ordinary work, so a run gets a copy of each: of the repository of its tree, of its submodules, of its own directory
 * in the repository that a linked work tree belongs to, and of repositories deeper in the tree.  With mounts the copy lies over the file
 * (execute/private_files.h); without them the supervisor judges each new text before it takes the name.  So nothing that a run
 * writes there is in force outside, at no moment.  When the run has ended, and after each call of a session, settings that start nothing
 * and lead git nowhere else are written into the files outside (propose_git_merge()); all others are dropped and told.
 *
 * The file outside is written in place, under git's own lock: a rename would take away the mounts that lie on it, those of this session and
 * of others.  One write puts the new text there, filled up with empty lines to the old length, and then the file is cut: whoever
 * reads it in between finds the same settings. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/linked.h"
#include "kernel/task/parts.h"
#include "propose/propose.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum {
	FILES_MOST = 128, /* each is a mount */
	NESTED_MOST = 64,
	MODULE_DEPTH = 8,
	CONFIG_BYTES = 256 << 10,
	HINTS_MOST = 4,
	LOCK_TRIES = 20,
	LOCK_WAIT_MS = 10
};

struct private_file {
	const char *at; /* absolute, without links */
	int copy; /* open for reading and writing; -1: the file did not exist, and there is none */
	struct bytes base; /* the copy as it was merged or filled the last time */
	struct bytes seen; /* the file outside, at the same time */
};

struct git_private {
	struct private_file files[FILES_MOST];
	size_t n;
};

/* ---- which repositories ---- */

struct repositories {
	struct task *t;
	struct json *list; /* directories that hold a configuration */
};

static bool has_kind(const struct task *t, const char *path, mode_t kind)
{
	struct stat st;

	return t->k->sys->stat(t->k->sys, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		(st.st_mode & S_IFMT) == kind;
}

static void add_modules(struct repositories *r, const char *dir, int depth)
{
	struct sys *s = r->t->k->sys;
	struct arena *a = r->t->a;
	char **names = NULL;
	size_t n = 0;

	if (depth > MODULE_DEPTH || !has_kind(r->t, dir, S_IFDIR) ||
		file_list(s, a, AT_FDCWD, dir, &names, &n, NULL))
		return;
	for (size_t i = 0; i < n && r->list->n < FILES_MOST; i++) {
		const char *one = arena_printf(a, "%s/%s", dir, names[i]);
		if (!has_kind(r->t, one, S_IFDIR))
			continue;
		bool is_repository = file_exists(s, AT_FDCWD, arena_printf(a, "%s/HEAD", one));
		if (is_repository)
			json_pushs(a, r->list, one);
		add_modules(r, is_repository ? arena_printf(a, "%s/modules", one) : one, depth + 1);
	}
}

/* The repository, its submodules, and what it keeps of further work trees. */
static void add_repository(struct repositories *r, const char *git)
{
	struct arena *a = r->t->a;
	const char *trees = arena_printf(a, "%s/worktrees", git);
	char **names = NULL;
	size_t n = 0;

	if (!has_kind(r->t, git, S_IFDIR))
		return;
	json_pushs(a, r->list, git);
	add_modules(r, arena_printf(a, "%s/modules", git), 0);
	if (has_kind(r->t, trees, S_IFDIR) &&
		file_list(r->t->k->sys, a, AT_FDCWD, trees, &names, &n, NULL) == OK)
		for (size_t i = 0; i < n && r->list->n < FILES_MOST; i++)
			json_pushs(a, r->list, arena_printf(a, "%s/%s", trees, names[i]));
}

/* Those that the run may write in.  is_first: also those deeper in the tree; a session's calls may make and remove such repositories, and
 * a mount would keep them from it. */
static struct json *find_repositories(struct task *t, const char *const *writable, bool is_first)
{
	struct repositories r = { t, json_new(t->a, JSON_ARRAY) };
	const char *roots[] = { t->k->ws->root, t->at.work_tree };
	struct json *found = json_new(t->a, JSON_ARRAY);
	struct linked to;

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		if (roots[i] && !(i && text_eq(roots[0], roots[1])))
			add_repository(&r, arena_printf(t->a, "%s/.git", roots[i]));
	if (linked_find(t->k->sys, t->a, task_tree(t), t->k->ws->home, &to))
		json_pushs(t->a, r.list, to.own);
	/* Repositories in a tree that is none itself are the operator's.  In a repository others are clones that builds and agents make and
	 * remove, which a mount would prevent: those are left to the scan. */
	const bool has_nested =
		is_first && !file_exists(t->k->sys, AT_FDCWD, arena_printf(t->a, "%s/.git", task_tree(t)));
	const char **nested = has_nested ? nested_repositories(t->nested, t->a, NESTED_MOST) : NULL;
	for (; nested && *nested; nested++)
		add_repository(&r, arena_printf(t->a, "%s/%s", task_tree(t), *nested));
	json_each (one, r.list)
		if (path_is_in_one(json_text(one), writable))
			json_push(t->a, found, one);
	return found;
}

static void add_once(struct arena *a, struct json *list, const char *path)
{
	json_each (one, list)
		if (path_is_below(path, json_text(one)))
			return;
	place_add(a, list, path);
}

void git_private_places(struct task *t, const char *const *writable, struct json *list)
{
	struct sys *s = t->k->sys;
	const char *roots[] = { t->k->ws->root, t->at.work_tree };
	const bool is_supervised = t->rules.kind == SANDBOX_SUPERVISED;

	if (t->profile->writes != ALLOWANCE_YES)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		const char *git = roots[i] ? arena_printf(t->a, "%s/.git", roots[i]) : NULL;
		if (!git || !path_is_in_one(git, writable))
			continue;
		/* What leads to a repository elsewhere. */
		if (has_kind(t, git, S_IFREG))
			add_once(t->a, list, git);
		/* Without it a run could make one, with hooks in it; git itself makes it in every repository. */
		const char *hooks = arena_printf(t->a, "%s/hooks", git);
		if (has_kind(t, git, S_IFDIR) && !file_exists(s, AT_FDCWD, hooks) &&
			s->mkdir(s, AT_FDCWD, hooks, 0755) == 0)
			add_once(t->a, list, hooks);
	}
	json_each (dir, find_repositories(t, writable, !t->git)) {
		const char *hooks = arena_printf(t->a, "%s/hooks", json_text(dir)),
			   *common = arena_printf(t->a, "%s/commondir", json_text(dir));
		if (has_kind(t, hooks, S_IFDIR))
			add_once(t->a, list, hooks);
		/* The supervisor closes a name, too. */
		if (has_kind(t, common, S_IFREG) || is_supervised)
			add_once(t->a, list, common);
	}
}

/* ---- the copies ---- */

static bool read_outside(struct task *t, struct arena *a, const char *at, struct bytes *ret)
{
	return file_read(t->k->sys, a, AT_FDCWD, at, CONFIG_BYTES, 0, ret, NULL) == OK;
}

/* git reads a second file where the first one says so.  It must be there to be covered. */
static void make_second(struct task *t, const char *dir, struct bytes config)
{
	const char *at = arena_printf(t->a, "%s/config.worktree", dir);
	const char *text = arena_strndup(t->a, (const char *)config.p, config.n);

	if (strcasestr(text, "worktreeconfig") && !file_exists(t->k->sys, AT_FDCWD, at))
		(void)file_create(t->k->sys, AT_FDCWD, at, 0644, (struct bytes){ 0 }, NULL);
}

/* False: there is no room, or no copy; the file stays as it is, and is looked at afterwards. */
static bool add_copy(struct task *t, const char *dir, const char *at, struct sandbox_file *ret)
{
	struct sys *s = t->k->sys;
	struct private_file *f = &t->git->files[t->git->n];
	struct stat st;

	if (t->git->n == FILES_MOST)
		return false;
	*f = (struct private_file){ .at = at, .copy = -1 };
	if (!has_kind(t, at, S_IFREG)) {
		t->git->n++;
		return false;
	}
	const char *name = arena_printf(t->a, "%zu", t->git->n);
	if (!dir || !read_outside(t, t->a, at, &f->base))
		return false;
	f->seen = f->base;
	(void)s->stat(s, AT_FDCWD, at, &st, 0);
	const char *copy = arena_printf(t->a, "%s/%s", dir, name);
	f->copy = s->open(s, AT_FDCWD, copy, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, st.st_mode & 0777, 0);
	if (f->copy < 0)
		return false;
	if (s->write(s, f->copy, f->base.p, f->base.n) != (ssize_t)f->base.n || fstat(f->copy, &st)) {
		close_fd(&f->copy);
		return false;
	}
	t->git->n++;
	*ret = (struct sandbox_file){ .at = at, .name = name, .dev = st.st_dev, .ino = st.st_ino };
	return true;
}

void git_private_begin(struct task *t)
{
	static const char *const names[] = { "config", "config.worktree" };
	const bool is_supervised = t->rules.kind == SANDBOX_SUPERVISED;
	struct sys *s = t->k->sys;

	if (t->profile->writes != ALLOWANCE_YES || !t->tmp.path)
		return;
	struct json *list = find_repositories(t, t->rules.write_paths, true);
	if (!list->n)
		return;
	const char *dir = is_supervised ? NULL : arena_printf(t->a, "%s/git", t->tmp.path);
	if (dir && s->mkdir(s, AT_FDCWD, dir, 0700))
		return;
	struct sandbox_file *files = arena_zalloc(t->a, FILES_MOST + 1, sizeof(*files));
	size_t n = 0;
	t->git = arena_zalloc(t->a, 1, sizeof(*t->git));
	json_each (one, list) {
		struct bytes config;
		/* A further work tree has that of the repository. */
		if (read_outside(t, t->a, arena_printf(t->a, "%s/config", json_text(one)), &config) ||
			read_outside(t, t->a, arena_printf(t->a, "%s/../../config", json_text(one)), &config))
			make_second(t, json_text(one), config);
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			const char *at = arena_printf(t->a, "%s/%s", json_text(one), names[i]);
			if (path_is_in_one(at, t->rules.read_only))
				continue;
			if (is_supervised && n < FILES_MOST)
				files[n++] = (struct sandbox_file){ .at = at };
			else if (!is_supervised && add_copy(t, dir, at, &files[n]))
				n++;
		}
	}
	t->rules.files = n ? files : NULL;
	t->rules.files_dir = dir;
}

/* ---- afterwards ---- */

static struct bytes read_copy(
	struct task *t, struct arena *a, const struct private_file *f, bool *ret_is_read)
{
	char *text = arena_text(a, CONFIG_BYTES + 1);
	size_t n = 0;
	ssize_t got = 1;

	while (n <= CONFIG_BYTES && got > 0) {
		got = t->k->sys->pread(t->k->sys, f->copy, text + n, CONFIG_BYTES + 1 - n, (off_t)n);
		n += got > 0 ? (size_t)got : 0;
	}
	*ret_is_read = got == 0 && n <= CONFIG_BYTES;
	return (struct bytes){ (const uint8_t *)text, n };
}

static struct bytes keep(struct arena *a, struct bytes text)
{
	return (struct bytes){ (const uint8_t *)arena_strndup(a, (const char *)text.p, text.n), text.n };
}

/* Filled up to the old length first, so that nobody finds the end of the old text behind the new one. */
static bool write_in_place(struct sys *s, struct arena *a, int fd, struct bytes text, size_t old_n)
{
	size_t n = text.n > old_n ? text.n : old_n;
	char *all = arena_text(a, n + 1);

	memcpy(all, text.p, text.n);
	memset(all + text.n, '\n', n - text.n);
	return s->seek(s, fd, 0, SEEK_SET) == 0 && s->write(s, fd, all, n) == (ssize_t)n &&
		s->truncate(s, fd, (off_t)text.n) == 0 && s->sync(s, fd) == 0;
}

/* Under the lock that git takes.  NULL, or why it was not written. */
static const char *write_outside(
	struct task *t, struct arena *a, const char *at, struct bytes old, struct bytes text)
{
	struct sys *s = t->k->sys;
	const char *lock = arena_printf(a, "%s.lock", at);
	struct bytes now;
	int held = -1;

	for (int i = 0; held < 0 && i < LOCK_TRIES; i++) {
		held = s->open(s, AT_FDCWD, lock, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, 0);
		if (held < 0 && errno == EEXIST)
			(void)poll(NULL, 0, LOCK_WAIT_MS);
	}
	if (held < 0)
		return arena_printf(a, "it is locked: %s", strerror(errno));
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, at, O_WRONLY | O_NOFOLLOW, 0, 0);
	const char *why = fd < 0 ? strerror(errno) : NULL;
	if (!why && (!read_outside(t, a, at, &now) || !bytes_eq(now, old)))
		why = "it was changed outside at the same time";
	if (!why && !write_in_place(s, a, fd, text, old.n))
		why = strerror(errno);
	close_fd(&held);
	(void)s->unlink(s, AT_FDCWD, lock, 0);
	return why;
}

static void tell(struct task *t, struct task *of, const char *at, const char *why)
{
	const char *tree = task_tree(t);
	const char *path = path_is_below(at, tree) && at[strlen(tree)] ? at + strlen(tree) + 1 : at;

	armed_say(of, path, "dropped", why);
}

/* Was the command understood to change git's configuration? */
static bool sets_git(const struct task *t)
{
	const struct proposal *p = &t->report->handling.proposal;

	for (size_t i = 0; i < p->effect_count; i++) {
		const struct effect *e = &p->effects[i];
		if (e->tag && e->program && text_eq(e->program, "git") &&
			(text_eq(e->tag, "git.remote") || text_eq(e->tag, "write.config")))
			return true;
	}
	return false;
}

bool git_private_is_undone(const struct task *t)
{
	bool is_dropped = false;

	json_each (one, t->left_behind)
		is_dropped |= text_eq(json_get_text(one, "what", ""), "dropped");
	return is_dropped && sets_git(t);
}

void git_private_tell(struct task *t)
{
	size_t n = 0;

	json_each (one, t->left_behind) {
		if (!text_eq(json_get_text(one, "what", ""), "dropped") || ++n > HINTS_MOST)
			continue;
		task_hint(t,
			arena_printf(t->a, "not taken over from this run into %s: %s",
				json_get_text(one, "path", ""), json_get_text(one, "why", "")));
	}
	if (n > HINTS_MOST)
		task_hint(t, arena_printf(t->a, "and %zu more", n - HINTS_MOST));
	if (n && t->spec->argc && !t->spec->session && !t->spec->approve_risk && sets_git(t))
		task_hint(t,
			arena_printf(t->a,
				"to do it with your yes: helm run --profile %s --approve-risk -- %s",
				t->profile->name, task_preview(t->a, t->spec->argv, t->spec->argc)));
}

static void tell_dropped(struct task *t, struct task *of, const char *at, const struct git_merge *m)
{
	struct arena *a = of->a;

	if (m->is_unread)
		tell(t, of, at, "it is no configuration that git would read");
	for (size_t i = 0; i < m->dropped_count; i++) {
		const struct git_dropped *d = &m->dropped[i];
		const char *key = text_safe(a, d->key, strlen(d->key), false), *why;
		if (d->runs)
			why = arena_printf(a, "git would run %s=%s", key,
				text_safe(a, d->value, strnlen(d->value, 200), false));
		else if (d->is_outside)
			why = arena_printf(a, "%s was changed outside meanwhile", key);
		else
			why = arena_printf(a, "a run may not set %s; you can, outside: git config", key);
		tell(t, of, at, why);
	}
}

/* A second file that came into being: outside git reads it only once the first one, which is a copy, says so. */
static void merge_new(struct task *t, struct task *of, const struct private_file *f)
{
	struct git_merge m;
	struct bytes text;

	if (!has_kind(t, f->at, S_IFREG) || !read_outside(t, of->a, f->at, &text))
		return;
	propose_git_merge_approved(
		of->a, (struct bytes){ 0 }, (struct bytes){ 0 }, text, t->rules.git_approved, &m);
	if (!m.is_unread && !m.dropped_count)
		return;
	const char *why = NULL;
	if (m.is_unread || !m.is_changed)
		why = t->k->sys->unlink(t->k->sys, AT_FDCWD, f->at, 0) ? strerror(errno) : NULL;
	else
		why = write_outside(t, of->a, f->at, text, m.text);
	tell_dropped(t, of, f->at, &m);
	if (why)
		tell(t, of, f->at, why);
}

static void merge_one(struct task *t, struct task *of, struct private_file *f)
{
	struct bytes inside, now = { 0 };
	struct git_merge m;
	bool is_read;

	inside = read_copy(t, of->a, f, &is_read);
	if (is_read && bytes_eq(inside, f->base))
		return;
	const char *why = !is_read		       ? "it is too long"
		: !read_outside(t, of->a, f->at, &now) ? "it is gone"
						       : NULL;
	if (!why) {
		propose_git_merge_approved(of->a, f->base, now, inside, t->rules.git_approved, &m);
		if (m.is_changed)
			why = write_outside(t, of->a, f->at, now, m.text);
		tell_dropped(t, of, f->at, &m);
	}
	if (why)
		tell(t, of, f->at, why);
	if (is_read)
		f->base = keep(t->a, inside);
	f->seen = keep(t->a, !why && m.is_changed ? m.text : now);
}

void git_private_merge(struct task *t, struct task *of)
{
	struct git_private *g = t->git;

	for (size_t i = 0; g && i < g->n; i++)
		if (g->files[i].copy >= 0)
			merge_one(t, of, &g->files[i]);
		else
			merge_new(t, of, &g->files[i]);
}

void git_private_refresh(struct task *t)
{
	struct git_private *g = t->git;
	AUTO(arena_done) struct arena a = { 0 };

	for (size_t i = 0; g && i < g->n; i++) {
		struct private_file *f = &g->files[i];
		struct bytes now;
		bool is_read;
		if (f->copy < 0 || !read_outside(t, &a, f->at, &now) || bytes_eq(now, f->seen))
			continue;
		struct bytes inside = read_copy(t, &a, f, &is_read);
		/* What the copy has beyond that is merged first. */
		if (!is_read || !bytes_eq(inside, f->base))
			continue;
		struct bytes text = propose_git_refresh(&a, f->seen, inside, now);
		if (write_in_place(t->k->sys, &a, f->copy, text, inside.n)) {
			f->base = keep(t->a, text);
			f->seen = keep(t->a, now);
		}
	}
}

/* scan.c — which entries a checkpoint is about: the chosen paths, less what rules and safety leave out.
 *
 * The walk reads each directory through its parent's descriptor and never follows a link, so it cannot be
 * led out of the workspace.  Names are sorted, so two walks of one tree give one order, and everything
 * later is a merge of sorted lists.
 *
 * Never visited: Helm's state, recognised by its inode and by the name .helm at any depth, and
 * version-control directories. Both hold history; a file put back there from an old checkpoint would forge
 * it.
 *
 * The walk does not read files.  It notes what a later step needs to decide whether a file must be read at
 * all: kind, size, times, inode, and how much of it is data. */
#include "execute/checkpoint/parts.h"

#include <dirent.h>
#include <errno.h>

enum { DENTS_SIZE = 64 << 10, SMALL_FILE = 64 << 10 };

struct entry *entries_add(struct arena *a, struct entries *list)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 256;
		list->v = arena_grow(a, list->v, list->cap * sizeof(*list->v), cap * sizeof(*list->v));
		list->cap = cap;
	}
	struct entry *x = &list->v[list->n++];
	*x = (struct entry){ 0 };
	return x;
}

/* ---- paths ---- */

/* '/' sorts before every other byte, so that everything below a directory follows it directly; with plain
 * byte order "a-b" would stand between "a" and "a/c". */
int checkpoint_path_cmp(const char *x, const char *y)
{
	const uint8_t *p = (const uint8_t *)x, *q = (const uint8_t *)y;

	while (*p && *p == *q)
		p++, q++;
	if (*p == *q)
		return 0;
	if (!*p || !*q)
		return *p ? 1 : -1;
	if (*p == '/' || *q == '/')
		return *p == '/' ? -1 : 1;
	return *p < *q ? -1 : 1;
}

/* Accepts only paths that cannot lead out of the root by their text.  Links on the way are a matter of how
 * they are opened. */
bool checkpoint_path_ok(const char *path)
{
	const char *at = path;

	if (!*path || strlen(path) > PATH_LIMIT + NAME_LIMIT)
		return false;
	for (;;) {
		size_t n = strcspn(at, "/");
		if (n == 0 || n > NAME_LIMIT || (n == 1 && at[0] == '.') ||
			(n == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		if (!at[n])
			return true;
		at += n + 1;
	}
}

/* Whole components only: "a" does not cover "ab". */
bool checkpoint_path_covers(const char *top, const char *path)
{
	size_t n = strlen(top);

	return text_eq(top, ".") || (strncmp(top, path, n) == 0 && (path[n] == '\0' || path[n] == '/'));
}

/* ---- rules ---- */

/* One line as in .gitignore: '!' negates, a slash at the end means directories only, a pattern with a slash
 * is matched against the whole path, one without against the name. */
void rules_add(struct arena *a, struct selection *s, const char *line, size_t n)
{
	while (n && (line[n - 1] == '\r' || line[n - 1] == ' ' || line[n - 1] == '\t'))
		n--;
	if (!n || line[0] == '#')
		return;
	struct rule r = { 0 };
	const char *text = arena_strndup(a, line, n);
	const char *at = text;
	if (*at == '!') {
		r.is_negated = true;
		at++;
	}
	size_t len = strlen(at);
	if (len && at[len - 1] == '/') {
		r.is_dir_only = true;
		len--;
	}
	if (!len)
		return;
	char *glob = arena_strndup(a, at, len);
	r.has_slash = strchr(glob, '/') != NULL;
	if (text_starts(glob, "**/") && !strchr(glob + 3, '/')) {
		r.has_slash = false;
		glob += 3;
	}
	r.glob = glob[0] == '/' ? glob + 1 : glob;
	size_t i = s->rule_count++;
	s->rules = arena_grow(a, s->rules, i * sizeof(r), (i + 1) * sizeof(r));
	s->rule_text = arena_grow(a, s->rule_text, i * sizeof(text), (i + 1) * sizeof(text));
	s->rules[i] = r;
	s->rule_text[i] = text;
}

/* The last rule that matches decides, so they are tried from the end. */
bool rules_exclude(const struct selection *s, const char *path, bool is_dir)
{
	const char *name = path_base(path);

	for (size_t i = s->rule_count; i-- > 0;) {
		const struct rule *r = &s->rules[i];
		if (r->is_dir_only && !is_dir)
			continue;
		if (text_glob(r->glob, r->has_slash ? path : name, true))
			return !r->is_negated;
	}
	return false;
}

/* Directories in which version-control systems keep their data. */
static bool is_vcs_name(const char *name)
{
	/* Called for every entry of a tree: most names are none of these by their first letter. */
	if (name[0] != '.' && name[0] != 'C' && name[0] != '_')
		return false;
	static const char *const names[] = { ".git", ".hg", ".svn", ".jj", ".bzr", "CVS", "_darcs" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (text_eq(name, names[i]))
			return true;
	return false;
}

/* By name alone, at any depth. */
bool selection_hides_name(const struct selection *s, const char *name)
{
	if (!s->with_vcs && is_vcs_name(name))
		return true;
	return !s->with_state && text_eq(name, ".helm");
}

/* Inside the state directory: secrets, locks, temporary files and the checkpoints themselves are never
 * saved. */
bool checkpoint_state_hidden(const char *name)
{
	static const char *const globs[] = { "checkpoints", "*.sqlite3*", "privacy-vault.json", "*.lock",
		"*.tmp*", "tmp-*", ".tmp*", "keys" };

	for (size_t i = 0; i < ARRAY_SIZE(globs); i++)
		if (text_glob(globs[i], name, true))
			return true;
	return false;
}

static int cmp_paths(const void *x, const void *y)
{
	return checkpoint_path_cmp(*(const char *const *)x, *(const char *const *)y);
}

static void digest_text(struct sha256 *h, const char *text)
{
	sha256_add(h, text, strlen(text) + 1);
}

/* Makes the selection canonical: sorted, without paths below other chosen paths.  The digest names the
 * cache, so equal selections must have equal digests. */
void selection_seal(struct selection *s)
{
	size_t kept = 0;

	if (s->path_count)
		qsort(s->paths, s->path_count, sizeof(*s->paths), cmp_paths);
	for (size_t i = 0; i < s->path_count; i++)
		if (text_eq(s->paths[i], ".") && !s->are_exact) {
			s->paths[0] = ".";
			s->path_count = 1;
		}
	for (size_t i = 0; i < s->path_count; i++) {
		bool is_covered = kept &&
			(s->are_exact ? text_eq(s->paths[kept - 1], s->paths[i])
				      : checkpoint_path_covers(s->paths[kept - 1], s->paths[i]));
		if (!is_covered)
			s->paths[kept++] = s->paths[i];
	}
	s->path_count = kept;
	struct sha256 h;
	sha256_begin(&h);
	for (size_t i = 0; i < s->path_count; i++)
		digest_text(&h, s->paths[i]);
	digest_text(&h, "");
	for (size_t i = 0; i < s->rule_count; i++)
		digest_text(&h, s->rule_text[i]);
	uint8_t flags[3] = { s->are_exact, s->with_vcs, s->with_state };
	sha256_add(&h, flags, sizeof(flags));
	sha256_end(&h, s->digest);
}

/* ---- walk ---- */

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A file that has fewer blocks than its size is sparse; held_bytes is what reading it would give. */
void entry_from_stat(struct entry *x, const struct stat *st)
{
	x->mode = st->st_mode & 07777;
	x->uid = st->st_uid;
	x->gid = st->st_gid;
	x->dev = st->st_dev;
	x->ino = st->st_ino;
	x->mtime_ns = ns_of(st->st_mtim);
	x->ctime_ns = ns_of(st->st_ctim);
	x->size = S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size;
	uint64_t on_disk = (uint64_t)st->st_blocks * 512;
	x->names = S_ISREG(st->st_mode) && st->st_nlink > 1 ? (uint32_t)st->st_nlink : 0;
	/* Small files may live in the inode and show no blocks at all. */
	x->is_sparse = S_ISREG(st->st_mode) && x->size > SMALL_FILE && on_disk < x->size;
	x->held_bytes = x->is_sparse ? on_disk : x->size;
}

/* Asks the file system where data lies, which may change while it is asked; the caller compares times
 * afterwards. */
int checkpoint_extents(struct sys *s, struct arena *a, int fd, struct entry *x)
{
	size_t cap = 0;
	off_t at = 0;

	x->extents = NULL;
	x->extent_count = 0;
	x->held_bytes = 0;
	while ((uint64_t)at < x->size) {
		off_t from = s->seek(s, fd, at, SEEK_DATA);
		if (from < 0 && errno == ENXIO)
			break;
		off_t to = from < 0 ? -1 : s->seek(s, fd, from, SEEK_HOLE);
		if (to <= from)
			return -1;
		if (x->extent_count == cap) {
			size_t more = cap ? cap * 2 : 8;
			x->extents = arena_grow(
				a, x->extents, cap * sizeof(*x->extents), more * sizeof(*x->extents));
			cap = more;
		}
		x->extents[x->extent_count++] = (struct extent){ (uint64_t)from, (uint64_t)(to - from) };
		x->held_bytes += (uint64_t)(to - from);
		at = to;
	}
	x->is_sparse = x->held_bytes != x->size;
	return s->seek(s, fd, 0, SEEK_SET) < 0 ? -1 : 0;
}

static void skip(struct entry *x, const char *why)
{
	*x = (struct entry){ .path = x->path, .type = ENTRY_SKIPPED, .text = why };
}

/* What is neither file, directory nor link cannot be saved. */
static const char *odd_kind(mode_t mode)
{
	if (S_ISFIFO(mode))
		return "fifo";
	if (S_ISSOCK(mode))
		return "socket";
	return "device";
}

/* Asked after every file, so that a huge tree is refused early and not after a long walk. */
static int check_limits(struct scan *sc, struct err *e)
{
	if (sc->file_count > sc->max_files)
		return err_set(e, E_LIMIT, "CHECKPOINT_LIMIT",
			"more than %llu file%s; leave some out with --exclude or .helmignore, or raise max_files "
			"in references/checkpoint_policy.json",
			(unsigned long long)sc->max_files, sc->max_files == 1 ? "" : "s");
	if (sc->byte_count > sc->max_bytes)
		return err_set(e, E_LIMIT, "CHECKPOINT_LIMIT",
			"more than %llu MiB; leave some out with --exclude or .helmignore, or raise max_mb "
			"in references/checkpoint_policy.json",
			(unsigned long long)(sc->max_bytes >> 20));
	if (sc->deadline_us && sc->st->sys->mono_us(sc->st->sys) > sc->deadline_us)
		return err_set(e, E_LIMIT, "CHECKPOINT_TIME", "looking at the files took too long");
	return OK;
}

/* A link that vanished or became something else meanwhile is noted as changed. */
static int read_target(struct scan *sc, int fd, const char *name, struct entry *x, struct err *e)
{
	char target[4097];
	ssize_t n = sc->st->sys->readlink(sc->st->sys, fd, name, target, sizeof(target));

	if (n < 0 && errno != ENOENT && errno != EINVAL)
		return err_sys(e, "CHECKPOINT_READ", "cannot read link '%s'", x->path);
	if (n < 0 || n == sizeof(target)) {
		skip(x, n < 0 ? "changed" : "link too long");
		return OK;
	}
	x->text = arena_strndup(sc->a, target, (size_t)n);
	return OK;
}

static int scan_dir(struct scan *sc, int fd, const char *path, int depth, bool is_state, struct err *e);

/* A directory that cannot be opened becomes a skipped entry, and the walk goes on. */
static int enter(
	struct scan *sc, int parent, const char *name, size_t at, int depth, bool is_state, struct err *e)
{
	struct sys *s = sc->st->sys;
	const char *path = sc->to->v[at].path;

	if (depth >= DEPTH_LIMIT) {
		skip(&sc->to->v[at], "too deep");
		return OK;
	}
	AUTO(close_fd) int fd = s->open(s, parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
	if (fd < 0) {
		if (errno != EACCES && errno != EPERM && errno != ENOENT && errno != ENOTDIR &&
			errno != ELOOP)
			return err_sys(e, "CHECKPOINT_READ", "cannot open directory '%s'", path);
		skip(&sc->to->v[at], errno == EACCES || errno == EPERM ? "unreadable" : "changed");
		return OK;
	}
	return scan_dir(sc, fd, path, depth + 1, is_state, e);
}

/* The chosen path itself is never excluded by a rule; by name and by inode it is. */
static bool is_hidden(
	struct scan *sc, const char *path, const char *name, const struct stat *st, bool in_state)
{
	bool is_state = st->st_ino == sc->st->state_ino && st->st_dev == sc->st->state_dev;

	if (in_state)
		return checkpoint_state_hidden(name);
	if (is_state)
		return !sc->sel->with_state;
	if (selection_hides_name(sc->sel, name))
		return true;
	return path != sc->chosen && rules_exclude(sc->sel, path, S_ISDIR(st->st_mode));
}

/* Left out on purpose, and known to whoever asked: no reason to call the checkpoint incomplete. */
static bool is_spared(struct scan *sc, const char *path, const char *name, const struct stat *st)
{
	if (!sc->spared)
		return false;
	if (st->st_ino == sc->st->state_ino && st->st_dev == sc->st->state_dev)
		return true;
	size_t n = (size_t)(name - path);
	bool is_there = text_eq(sc->spared, ".")
		? n == 0
		: n == strlen(sc->spared) + 1 && strncmp(path, sc->spared, n - 1) == 0;
	return is_there && text_eq(name, ".git");
}

/* Files that a restore was writing when it was interrupted are collected apart, and never saved. */
static int visit(struct scan *sc, int parent, const char *path, const char *name, int depth, bool in_state,
	struct err *e)
{
	struct sys *s = sc->st->sys;
	struct stat st;

	if (s->stat(s, parent, name, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno == ENOENT)
			return OK;
		return err_sys(e, "CHECKPOINT_READ", "cannot look at '%s'", path);
	}
	if (text_starts(name, RESTORE_TEMP) && !S_ISDIR(st.st_mode)) {
		if (sc->temps)
			entries_add(sc->a, sc->temps)->path = path;
		return OK;
	}
	if (is_hidden(sc, path, name, &st, in_state)) {
		sc->excluded_count++;
		if (!sc->left_out && !is_spared(sc, path, path_base(path), &st))
			sc->left_out = path;
		return OK;
	}
	size_t at = sc->to->n;
	struct entry *x = entries_add(sc->a, sc->to);
	entry_from_stat(x, &st);
	x->path = path;
	if (strlen(path) > PATH_LIMIT) {
		skip(x, "path too long");
		return OK;
	}
	if (S_ISDIR(st.st_mode)) {
		bool is_state =
			in_state || (st.st_ino == sc->st->state_ino && st.st_dev == sc->st->state_dev);
		x->type = ENTRY_DIR;
		return sc->sel->are_exact ? OK : enter(sc, parent, name, at, depth, is_state, e);
	}
	sc->file_count++;
	if (S_ISREG(st.st_mode))
		x->type = ENTRY_FILE, sc->byte_count += x->held_bytes;
	else if (S_ISLNK(st.st_mode)) {
		x->type = ENTRY_LINK;
		if (read_target(sc, parent, name, x, e))
			return e->rc;
	} else
		skip(x, odd_kind(st.st_mode));
	return check_limits(sc, e);
}

struct names {
	const char **v; /* the name; its whole path begins `lead` bytes before it */
	size_t n, cap;
};

/* Each name is stored as part of its whole path, so that neither has to be built again. */
static int read_names(struct scan *sc, int fd, const char *path, struct names *names, struct err *e)
{
	struct sys *s = sc->st->sys;
	size_t path_n = strlen(path), lead = path_n ? path_n + 1 : 0;

	if (!sc->dents)
		sc->dents = arena_alloc(sc->a, DENTS_SIZE);
	for (;;) {
		ssize_t got = s->getdents(s, fd, sc->dents, DENTS_SIZE);
		if (got < 0)
			return err_sys(e, "CHECKPOINT_READ", "cannot read directory '%s'", path);
		if (got == 0)
			return OK;
		for (ssize_t at = 0; at < got;) {
			const struct dirent64 *d = (const struct dirent64 *)(sc->dents + at);
			at += d->d_reclen;
			if (text_eq(d->d_name, ".") || text_eq(d->d_name, ".."))
				continue;
			size_t n = strlen(d->d_name);
			char *full = arena_text(sc->a, lead + n + 1);
			memcpy(full, path, path_n);
			if (lead)
				full[path_n] = '/';
			memcpy(full + lead, d->d_name, n + 1);
			if (names->n == names->cap) {
				size_t cap = names->cap ? names->cap * 2 : 64;
				names->v = arena_grow(sc->a, names->v, names->cap * sizeof(*names->v),
					cap * sizeof(*names->v));
				names->cap = cap;
			}
			names->v[names->n++] = full + lead;
		}
	}
}

static int cmp_names(const void *x, const void *y)
{
	return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Sorted names give the order that everything later relies on. */
static int scan_dir(struct scan *sc, int fd, const char *path, int depth, bool is_state, struct err *e)
{
	struct names names = { 0 };
	size_t lead = *path ? strlen(path) + 1 : 0;

	if (read_names(sc, fd, path, &names, e))
		return e->rc;
	if (names.n)
		qsort(names.v, names.n, sizeof(*names.v), cmp_names);
	if (sc->progress)
		sc->progress->step(sc->progress->arg, "looking at files", sc->file_count, 0);
	for (size_t i = 0; i < names.n; i++)
		if (visit(sc, fd, names.v[i] - lead, names.v[i], depth, is_state, e))
			return e->rc;
	return OK;
}

/* A path the caller chose: every component above it must be a real directory. */
static int scan_path(struct scan *sc, const char *path, struct err *e)
{
	struct sys *s = sc->st->sys;
	const char *name = path_base(path);
	bool is_root = text_eq(path, "."), is_top = name == path;
	const char *parent = is_top ? "." : arena_strndup(sc->a, path, (size_t)(name - path) - 1);
	AUTO(close_fd)
	int fd = s->open(s, sc->st->root_fd, parent, O_RDONLY | O_DIRECTORY, 0, RESOLVE_INSIDE);

	sc->chosen = path;
	if (fd < 0 && sc->may_miss &&
		(errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV))
		return OK;
	if (fd < 0)
		return err_sys(e, "CHECKPOINT_PATH", "cannot open '%s' for '%s'", parent, path);
	return is_root ? scan_dir(sc, fd, "", 0, false, e) : visit(sc, fd, path, name, 0, false, e);
}

/* Paths are sorted and none lies below another, so the result is sorted as a whole. */
int checkpoint_scan(struct scan *sc, struct err *e)
{
	for (size_t i = 0; i < sc->sel->path_count; i++)
		if (scan_path(sc, sc->sel->paths[i], e))
			return e->rc;
	return OK;
}

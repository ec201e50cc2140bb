/* own.c — a /tmp that is the run's alone, homes of which it sees little, and toolchain caches that it may soil.
 *
 * A private directory is bound over the shared one: what is deleted, filled or planted there concerns nobody else, and is gone
 * with the run.  A home is covered in the same way, read-only.  A layer is an overlay: the run reads what lies in the cache, and what it writes goes to an upper directory
 * of ours, so a poisoned cache does not outlive it.
 *
 * Layers come first, because their lower directories may lie below a place that a private directory is about to cover.
 * What the run needs there (its work tree, its layers) is taken out before and put back on top afterwards. */
#include "execute/own.h"

#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The newer mount calls, for which older C libraries have no names. */
enum { SYS_OPEN_TREE = 428, SYS_MOVE_MOUNT = 429, TREE_CLONE = 1, MOVE_FROM_EMPTY = 4, KEPT_MAX = 256 };

/* ---- layers ---- */

/* A path of one of these would become other options, or a second lower directory. */
static bool is_plain(const char *path)
{
	return !strpbrk(path, ",:\\");
}

/* "volatile": nothing in it is meant to survive, so nothing is synced when it goes. */
static bool put_layer(const struct sandbox_layer *l, bool is_user_namespace)
{
	char options[3 * 4096 + 64];

	if (!is_plain(l->at) || !is_plain(l->upper) || !is_plain(l->work))
		return false;
	/* A directory that was renamed, or a file whose mode was changed, is whole in the upper directory: whoever looks there later sees all
	 * of it.  In a user namespace the kernel follows no redirects, and refuses to be told so. */
	int n = snprintf(options, sizeof(options),
		"lowerdir=%s,upperdir=%s,workdir=%s,volatile,metacopy=off,%s", l->at, l->upper, l->work,
		is_user_namespace ? "userxattr" : "redirect_dir=off");

	return n > 0 && (size_t)n < sizeof(options) &&
		mount("overlay", l->at, "overlay", MS_NOSUID | MS_NODEV, options) == 0;
}

static bool is_up(const struct sandbox_report *report, size_t i)
{
	return report->layers_up >> i & 1;
}

static void put_layers(const struct sandbox_rules *rules, struct sandbox_report *report)
{
	for (size_t i = 0; rules->layers && rules->layers[i].at && i < LAYERS_MAX; i++) {
		report->layers_wanted++;
		if (put_layer(&rules->layers[i], report->user_namespace))
			report->layers_up |= 1u << i;
	}
}

/* ---- what must stay visible below a covered place ---- */

struct kept {
	const char *path[KEPT_MAX];
	int fd[KEPT_MAX];
	size_t n;
};

/* A copy of the mounts at `path`, held by a descriptor. */
static bool keep(struct kept *k, const char *path)
{
	int fd = (int)syscall(SYS_OPEN_TREE, AT_FDCWD, path, TREE_CLONE | AT_RECURSIVE | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT;
	if (k->n == KEPT_MAX) {
		close(fd);
		return false;
	}
	k->path[k->n] = path;
	k->fd[k->n++] = fd;
	return true;
}

bool own_covers(const struct sandbox_rules *rules, const char *path)
{
	for (const struct sandbox_own *o = rules->own; o && o->at; o++)
		if (path_is_below(path, o->at) && !text_eq(path, o->at))
			return true;
	for (const struct sandbox_home *h = rules->homes; h && h->at; h++)
		if (path_is_below(path, h->at) && !text_eq(path, h->at))
			return true;
	return false;
}

static bool keep_all(const struct sandbox_rules *rules, const char *program, struct kept *k)
{
	bool ok = !own_covers(rules, program) || keep(k, program);

	for (const char *const *p = rules->write_paths; p && *p; p++)
		if (own_covers(rules, *p))
			ok &= keep(k, *p);
	for (const char *const *p = rules->shown; p && *p; p++)
		if (own_covers(rules, *p))
			ok &= keep(k, *p);
	for (size_t i = 0; rules->layers && rules->layers[i].at && i < LAYERS_MAX; i++)
		if (own_covers(rules, rules->layers[i].at)) /* one that is not up is read-only */
			ok &= keep(k, rules->layers[i].at);
	return ok;
}

/* Every directory on the way is made where it is missing; the last one carries the mount. */
bool own_make_way(const char *path, mode_t last)
{
	char dir[4096];

	if (strlen(path) >= sizeof(dir))
		return false;
	for (const char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(end - path), path);
		if (mkdir(dir, 0755) && errno != EEXIST)
			return false;
	}
	if (S_ISDIR(last))
		return mkdir(path, 0755) == 0 || errno == EEXIST;
	AUTO(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd >= 0;
}

/* One that lies in another is there already, with everything that is mounted below it. */
static bool put_back(struct kept *k)
{
	bool ok = true;

	for (size_t i = 0; i < k->n; i++) {
		bool is_inside = false;
		struct stat st;
		for (size_t j = 0; j < k->n; j++)
			is_inside |= j != i && path_is_below(k->path[i], k->path[j]) &&
				(j < i || !text_eq(k->path[i], k->path[j]));
		if (!is_inside)
			ok &= fstat(k->fd[i], &st) == 0 && own_make_way(k->path[i], st.st_mode) &&
				syscall(SYS_MOVE_MOUNT, k->fd[i], "", AT_FDCWD, k->path[i],
					MOVE_FROM_EMPTY) == 0;
	}
	for (size_t i = 0; i < k->n; i++)
		close(k->fd[i]);
	return ok;
}

/* ---- private directories and homes ---- */

/* Puts the mount that `fd` holds at `at`.  A place that does not exist needs no cover. */
static bool put_at(int fd, const char *at)
{
	return access(at, F_OK) || syscall(SYS_MOVE_MOUNT, fd, "", AT_FDCWD, at, MOVE_FROM_EMPTY) == 0;
}

static bool write_git_config(const struct sandbox_home *h)
{
	char path[4096];
	const size_t n = strlen(h->git_config);

	if ((size_t)snprintf(path, sizeof(path), "%s/.gitconfig", h->at) >= sizeof(path))
		return false;
	AUTO(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd >= 0 && write(fd, h->git_config, n) == (ssize_t)n;
}

/* A home below a private directory was covered with it, and is made there.  `fd`: holds h->from, or -1. */
static bool put_home(const struct sandbox_home *h, int fd)
{
	if (access(h->at, F_OK) && !own_make_way(h->at, S_IFDIR))
		return false;
	if (fd >= 0)
		return put_at(fd, h->at);
	return mount("none", h->at, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755") == 0 &&
		(!h->git_config || write_git_config(h));
}

static bool is_in_home(const struct sandbox_rules *rules, const char *path)
{
	for (const struct sandbox_home *h = rules->homes; h && h->at; h++)
		if (path_is_below(path, h->at) && !text_eq(path, h->at))
			return true;
	return false;
}

/* The first bind hides the place where the directories themselves lie, so all of them are taken first, too. */
static void put_private(const struct sandbox_rules *rules, const char *program, struct sandbox_report *report)
{
	struct kept own = { .n = 0 }, kept = { .n = 0 };
	int homes[HOMES_MAX] = { 0 };
	bool ok = true;

	for (const struct sandbox_own *o = rules->own; o && o->at && ok; o++)
		ok = keep(&own, o->from) && own.n == (size_t)(o - rules->own) + 1;
	const size_t own_count = own.n;
	for (size_t i = 0; ok && rules->homes && rules->homes[i].at; i++) {
		ok = i < HOMES_MAX &&
			(!rules->homes[i].from || (keep(&own, rules->homes[i].from) && own.n > own_count));
		if (ok)
			homes[i] = rules->homes[i].from ? own.fd[own.n - 1] : -1;
	}
	ok = ok && keep_all(rules, program, &kept);
	for (size_t i = 0; i < own_count && ok; i++)
		if (!is_in_home(rules, rules->own[i].at))
			ok = put_at(own.fd[i], rules->own[i].at);
	for (size_t i = 0; ok && rules->homes && rules->homes[i].at; i++)
		ok = put_home(&rules->homes[i], homes[i]);
	/* One that lies in a home is made there. */
	for (size_t i = 0; i < own_count && ok; i++)
		if (is_in_home(rules, rules->own[i].at))
			ok = own_make_way(rules->own[i].at, S_IFDIR) && put_at(own.fd[i], rules->own[i].at);
	for (size_t i = 0; i < own.n; i++)
		close(own.fd[i]);
	ok = put_back(&kept) && ok;
	/* What is opened later is put on names that have to be there before this becomes read-only. */
	struct stat st;
	for (const struct sandbox_opening *o = rules->openings; o && o->at && ok; o++)
		if (own_covers(rules, o->at) && lstat(o->at, &st))
			ok = own_make_way(o->at, o->is_dir ? S_IFDIR : S_IFREG);
	report->own_directories = rules->own && ok;
	report->homes_covered = rules->homes && ok;
}

void own_put_up(const struct sandbox_rules *rules, const char *program, struct sandbox_report *report)
{
	put_layers(rules, report);
	if (rules->own || rules->homes)
		put_private(rules, program, report);
}

void own_list(const struct sandbox_rules *rules, const struct sandbox_report *report, const char **ret)
{
	size_t n = 0;

	for (const struct sandbox_own *o = rules->own;
		report->own_directories && o && o->at && n < OWN_MAX - LAYERS_MAX - HOMES_MAX; o++)
		ret[n++] = o->at;
	for (const struct sandbox_home *h = rules->homes;
		report->homes_covered && h && h->at && n < OWN_MAX - LAYERS_MAX; h++)
		if (h->is_writable)
			ret[n++] = h->at;
	for (size_t i = 0; rules->layers && rules->layers[i].at && i < LAYERS_MAX; i++)
		if (is_up(report, i))
			ret[n++] = rules->layers[i].at;
	ret[n] = NULL;
}

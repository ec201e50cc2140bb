/* cgroup.c — control groups: where one may be made, what it bounds, and its end.
 *
 * The group this process stands in is the only one that it may have been given; neighbours and parents belong to the service manager, also
 * where the permissions would let us write there.  A group that a killed helm left behind is known by its lock, which the
 * kernel took back, and is ended by the next one that makes a group in the same place. */
#include "execute/cgroup.h"

#include "base/mem.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define OWN_PLACE "helm-keeps" /* where helm itself goes to leave its group free of processes */
#define RUN_NAME "helm-run-"
enum { NAMES = 16, FILE_BYTES = 16 << 10, END_MS = 10000, STEP_US = 2000 };

/* The beginning of a small file; "" when it cannot be read. */
static const char *read_text(struct sys *s, int dir, const char *name, char to[FILE_BYTES])
{
	int fd = s->open(s, dir, name, O_RDONLY, 0, 0);
	size_t n = 0;

	while (fd >= 0 && n < FILE_BYTES - 1) {
		ssize_t got = s->read(s, fd, to + n, FILE_BYTES - 1 - n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	to[n] = '\0';
	close_fd(&fd);
	return to;
}

/* The kernel takes a value with one write, or not at all. */
static int write_text(struct sys *s, int dir, const char *name, const char *text)
{
	int fd = s->open(s, dir, name, O_WRONLY, 0, 0);
	int rc = fd >= 0 && s->write(s, fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;

	close_fd(&fd);
	return rc;
}

static bool has_word(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += n)
		if ((at == text || strchr(" \n", at[-1])) && strchr(" \n", at[n]))
			return true;
	return false;
}

/* ---- where ---- */

/* The group of this process, or the one above it when helm has moved out of that before.  -1: there is none. */
static int open_base(struct sys *s)
{
	static const char *const roots[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char text[FILE_BYTES], path[FILE_BYTES + 64];
	const char *line = read_text(s, AT_FDCWD, "/proc/self/cgroup", text);

	while (*line && strncmp(line, "0::/", 4)) {
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	size_t n = *line ? strcspn(line + 3, "\n") : 0;
	const size_t place = strlen("/" OWN_PLACE);
	if (n >= place && !strncmp(line + 3 + n - place, "/" OWN_PLACE, place))
		n -= place;
	for (size_t i = 0; n && i < ARRAY_SIZE(roots); i++) {
		struct stat st;
		snprintf(path, sizeof(path), "%s%.*s", roots[i], (int)n, line + 3);
		int fd = s->open(s, AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, 0);
		if (fd >= 0 && s->stat(s, fd, "cgroup.procs", &st, 0) == 0 &&
			s->stat(s, fd, "cgroup.subtree_control", &st, 0) == 0)
			return fd;
		close_fd(&fd);
	}
	return -1;
}

/* ---- leave for limits ---- */

/* Is it we, or a child of ours? */
static bool is_ours(struct sys *s, long pid)
{
	char path[64], text[FILE_BYTES];

	if (pid == getpid())
		return true;
	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	const char *at = strrchr(read_text(s, AT_FDCWD, path, text), ')');
	return at && strlen(at) > 4 && strtol(at + 4, NULL, 10) == getpid();
}

/* Each process of the group `dir`: false when one is not ours, and nothing is done.  With `to` they are moved there. */
static bool each_of_ours(struct sys *s, int dir, const char *to)
{
	char text[FILE_BYTES], pid_text[32];
	char *end;

	for (const char *at = read_text(s, dir, "cgroup.procs", text); *at; at = end + strspn(end, "\n")) {
		long pid = strtol(at, &end, 10);
		if (end == at || !is_ours(s, pid))
			return false;
		snprintf(pid_text, sizeof(pid_text), "%ld\n", pid);
		if (to && write_text(s, dir, to, pid_text))
			return false;
	}
	return true;
}

/* Make the controllers count below `base`.  Groups below one that holds processes are of no use to us, so we step aside; if that does not
 * help we step back. */
static int step_aside(struct sys *s, int base, const char *controllers)
{
	if (!each_of_ours(s, base, NULL) || (s->mkdir(s, base, OWN_PLACE, 0755) && errno != EEXIST))
		return -1;
	if (each_of_ours(s, base, OWN_PLACE "/cgroup.procs") &&
		write_text(s, base, "cgroup.subtree_control", controllers) == 0)
		return 0;
	int place = s->open(s, base, OWN_PLACE, O_RDONLY | O_DIRECTORY, 0, 0);
	if (place >= 0)
		(void)each_of_ours(s, place, "../cgroup.procs");
	close_fd(&place);
	(void)s->unlink(s, base, OWN_PLACE, AT_REMOVEDIR);
	return -1;
}

/* Of the limits that are wanted, those that can be set below `base`.  False: none.  The root of all groups, which is the one without a type,
 * belongs to the whole machine: there only what is switched on already can be had. */
static bool get_leave(struct sys *s, int base, bool *processes, bool *memory)
{
	char text[FILE_BYTES], wanted[32];
	struct stat st;
	const bool is_root = s->stat(s, base, "cgroup.type", &st, 0);

	read_text(s, base, is_root ? "cgroup.subtree_control" : "cgroup.controllers", text);
	*processes &= has_word(text, "pids");
	*memory &= has_word(text, "memory");
	snprintf(wanted, sizeof(wanted), "%s%s", *processes ? "+pids " : "", *memory ? "+memory " : "");
	return *wanted && (is_root || step_aside(s, base, wanted) == 0);
}

/* ---- one of its own ---- */

/* Groups whose makers have gone. */
static void sweep(struct sys *s, int base)
{
	_Alignas(struct dirent64) char entries[8192];
	ssize_t n;

	while ((n = s->getdents(s, base, entries, sizeof(entries))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(entries + at);
			at += d->d_reclen;
			if (strncmp(d->d_name, RUN_NAME, strlen(RUN_NAME)))
				continue;
			int dir = s->open(s, base, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
			if (dir >= 0 && s->lock(s, dir, LOCK_EX | LOCK_NB) == 0) {
				(void)write_text(s, dir, "cgroup.kill", "1");
				(void)s->unlink(s, base, d->d_name, AT_REMOVEDIR);
			}
			close_fd(&dir);
		}
}

/* A name that nobody has; another one when a sweep takes it away before it is locked. */
static int make_dir(struct sys *s, struct cgroup *g)
{
	for (int i = 0; i < NAMES; i++) {
		struct stat st;
		snprintf(g->name, sizeof(g->name), RUN_NAME "%ld-%d", (long)getpid(), i);
		if (s->mkdir(s, g->base, g->name, 0755)) {
			if (errno != EEXIST)
				return -1;
			continue;
		}
		g->dir = s->open(s, g->base, g->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
		if (g->dir >= 0 && s->lock(s, g->dir, LOCK_EX | LOCK_NB) == 0 &&
			s->stat(s, g->dir, "cgroup.procs", &st, 0) == 0)
			return 0;
		close_fd(&g->dir);
		g->dir = -1;
	}
	return -1;
}

static void make(struct sys *s, struct cgroup *g)
{
	struct stat st;

	sweep(s, g->base);
	if (make_dir(s, g) == 0) {
		g->has_kill = s->stat(s, g->dir, "cgroup.kill", &st, 0) == 0;
		return;
	}
	close_fd(&g->base);
	g->base = -1;
}

static bool set_number(const struct cgroup *g, const char *name, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld\n", (long long)value);
	return write_text(g->s, g->dir, name, text) == 0;
}

void cgroup_make_limited(struct sys *s, const struct run_limits *limits, struct cgroup *ret)
{
	bool processes = limits->processes, memory = limits->memory_mb;

	*ret = (struct cgroup){ .s = s, .base = -1, .dir = -1 };
	if (!processes && !memory)
		return;
	ret->base = open_base(s);
	if (ret->base < 0)
		return;
	if (!get_leave(s, ret->base, &processes, &memory)) {
		close_fd(&ret->base);
		ret->base = -1;
		return;
	}
	make(s, ret);
	if (ret->dir < 0)
		return;
	ret->has_processes = processes && set_number(ret, "pids.max", limits->processes);
	ret->has_memory = memory && set_number(ret, "memory.max", limits->memory_mb << 20);
	if (ret->has_memory)
		(void)write_text(s, ret->dir, "memory.swap.max", "0"); /* else the sum would be another one */
}

void cgroup_make_plain(struct sys *s, struct cgroup *ret)
{
	*ret = (struct cgroup){ .s = s, .base = open_base(s), .dir = -1 };
	if (ret->base >= 0)
		make(s, ret);
}

int cgroup_enter(const struct cgroup *g)
{
	return g->dir >= 0 ? write_text(g->s, g->dir, "cgroup.procs", "0") : 0;
}

void cgroup_kill(const struct cgroup *g)
{
	if (g->dir >= 0 && g->has_kill)
		(void)write_text(g->s, g->dir, "cgroup.kill", "1");
}

/* What dies takes a moment.  What the kernel cannot end in that time stays, with the group, and the next sweep tries again. */
void cgroup_end(struct cgroup *g)
{
	char text[FILE_BYTES];

	if (g->dir < 0)
		return;
	for (int waited = 0; waited < END_MS * 1000 / STEP_US; waited++) {
		if (!has_word(read_text(g->s, g->dir, "cgroup.events", text), "populated") ||
			strstr(text, "populated 0"))
			break;
		cgroup_kill(g);
		g->s->sleep_us(g->s, STEP_US);
	}
	(void)g->s->unlink(g->s, g->base, g->name, AT_REMOVEDIR);
	close_fd(&g->dir);
	close_fd(&g->base);
	g->dir = g->base = -1;
}

/* supervise_devices.c — devices that a run may open for writing: those that nearly every program needs, and terminals of its own.
 *
 * Without a devpts of its own the run sees the terminals of others.  Its own are those it was given, and those whose other side the
 * caller holds. */
#include "execute/supervise.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PTS_MAJOR_FIRST = 136, PTS_MAJOR_LAST = 143 };

/* The number of the caller's controlling terminal; 0: it has none. */
static dev_t terminal_of(const struct notified *c)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)c->asked.pid);
	AUTO(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	text[n > 0 ? n : 0] = '\0';
	const char *at = strrchr(text, ')');
	int tty = 0;
	if (at)
		(void)!sscanf(at + 1, " %*c %*d %*d %*d %d", &tty);
	return makedev((unsigned)tty >> 8 & 0xfff, ((unsigned)tty & 0xff) | ((unsigned)tty >> 12 & 0xfff00));
}

/* By file system and inode: each devpts counts its terminals from 0. */
static bool is_own_terminal(const struct notified *c, const struct stat *st)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->s->terminals); i++)
		if (c->s->terminals[i].ino && c->s->terminals[i].dev == st->st_dev &&
			c->s->terminals[i].ino == st->st_ino)
			return true;
	return false;
}

static bool is_in_our_devpts(const struct stat *st)
{
	struct stat pts;

	return major(st->st_rdev) >= PTS_MAJOR_FIRST && major(st->st_rdev) <= PTS_MAJOR_LAST &&
		stat("/dev/pts", &pts) == 0 && pts.st_dev == st->st_dev;
}

/* Does the caller hold the other side of this pseudo-terminal?  Then somebody inside has made it. */
static bool holds_master(const struct notified *c, unsigned index)
{
	char path[96], text[512], wanted[32];

	snprintf(wanted, sizeof(wanted), "tty-index:\t%u\n", index);
	for (int fd = 0; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)c->asked.pid, fd);
		AUTO(close_fd) int info = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = info >= 0 ? read(info, text, sizeof(text) - 1) : -1;
		text[n > 0 ? n : 0] = '\0';
		if (strstr(text, wanted))
			return true;
	}
	return false;
}

/* Devices that nearly every program needs, and terminals of the run's own. */
int64_t supervise_device(struct notified *c, int device, const char *name, const struct stat *st, int flags)
{
	static const char *const sinks[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
		"/dev/urandom", "/dev/ptmx", "/dev/pts/ptmx" };
	char link[64];
	const char *path = link;
	bool is_allowed = is_own_terminal(c, st);

	snprintf(link, sizeof(link), "/proc/self/fd/%d", device);
	for (size_t i = 0; i < ARRAY_SIZE(sinks); i++)
		is_allowed |= text_eq(name, sinks[i]);
	if (text_eq(name, "/dev/tty")) {
		dev_t own = terminal_of(c);
		struct stat own_st;
		if (!own)
			return -ENXIO;
		snprintf(link, sizeof(link), "/dev/pts/%u", minor(own));
		path = link;
		is_allowed = major(own) >= PTS_MAJOR_FIRST && major(own) <= PTS_MAJOR_LAST &&
			stat(link, &own_st) == 0 &&
			(is_own_terminal(c, &own_st) ||
				(is_in_our_devpts(&own_st) && holds_master(c, minor(own))));
	}
	if (!is_allowed && is_in_our_devpts(st))
		is_allowed = holds_master(c, minor(st->st_rdev));
	if (!is_allowed)
		return -EACCES;
	AUTO(close_fd) int fd = open(path, (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : notified_give(c, &fd, flags & O_CLOEXEC);
}

/* watch.c — has anything in the tree changed since somebody last walked over it?
 *
 * One watch of the kernel's for each directory, put there by the walk itself before it reads the directory: whatever comes afterwards is
 * heard.  Nothing is learned from it but that something happened, and then the tree is walked as if nobody watched.  So a watch that is
 * lost, a queue that has overflown and a tree with more directories than may be watched cost a walk and hide nothing.  What is written
 * through a mapping of a file makes no sound: so whoever relies on this walks once more at the end. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* The number that one user may have is for all of their programs. */
enum { SHARE_OF_ALL = 4 };

struct watch {
	int fd; /* -1: nobody watches */
	int64_t directories, most;
	bool is_changed;
};

/* A file of the kernel's, which gives all of itself to the first read. */
static int64_t most_watches(struct sys *s)
{
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, "/proc/sys/fs/inotify/max_user_watches", O_RDONLY, 0, 0);
	char text[32];
	ssize_t got = fd < 0 ? -1 : s->read(s, fd, text, sizeof(text) - 1);
	int64_t n;

	text[got > 0 ? got : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text_int(text, &n) ? n / SHARE_OF_ALL : 0;
}

struct watch *watch_new(struct sys *s, struct arena *a)
{
	struct watch *w = arena_zalloc(a, 1, sizeof(*w));

	*w = (struct watch){
		.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), .most = most_watches(s), .is_changed = true
	};
	return w;
}

static void give_up(struct watch *w)
{
	close_fd(&w->fd);
	w->fd = -1;
	w->is_changed = true;
}

void watch_end(struct watch *w)
{
	if (w)
		give_up(w);
}

void watch_directory(struct watch *w, int parent, const char *name)
{
	static const uint32_t heard = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY |
		IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
	char path[NAME_MAX + 40];

	if (!w || w->fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", parent, name);
	/* One that is gone by now was heard to go. */
	if (++w->directories > w->most ||
		(inotify_add_watch(w->fd, path, heard | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK) < 0 &&
			errno != ENOENT && errno != ENOTDIR))
		give_up(w);
}

/* From now on; what comes while the walk lasts counts for the next one. */
void watch_walk_begins(struct watch *w)
{
	if (!w)
		return;
	(void)watch_is_changed(w);
	w->is_changed = false;
	w->directories = 0;
}

bool watch_is_changed(struct watch *w)
{
	_Alignas(struct inotify_event) char events[4096];

	if (!w || w->fd < 0)
		return true;
	/* What it was does not matter. */
	while (read(w->fd, events, sizeof(events)) > 0)
		w->is_changed = true;
	return w->is_changed;
}

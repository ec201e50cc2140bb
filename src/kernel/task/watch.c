/* watch.c — has anything in the tree changed since somebody last walked over it?
 *
 * One watch of the kernel's for each directory, put there by the walk itself before it reads the directory: whatever comes afterwards is
 * heard.  What is relied on is only that something happened: then the tree is walked as if nobody watched.  So a watch that is
 * lost, a queue that has overflown and a tree with more directories than may be watched cost a walk and hide nothing.  What is written
 * through a mapping of a file makes no sound: so whoever relies on this walks once more at the end.
 *
 * The walk may have to wait, in a large tree for seconds.  So names that count, and new directories, are told as they were heard, a
 * bounded number of them, for whoever looks at those at once. */
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
enum { SHARE_OF_ALL = 4, NAMES_MAX = 256, NUMBERS_MAX = 1 << 22 };

struct watch {
	int fd; /* -1: nobody watches */
	int64_t directories, most;
	bool is_changed;
	struct arena places; /* of the last walk */
	const char **dirs; /* by the number of the watch: where it is; or NULL */
	size_t room;
	struct arena told;
	const char *names[NAMES_MAX];
	size_t name_count;
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

static void forget_places(struct watch *w)
{
	arena_done(&w->places);
	w->places = (struct arena){ 0 };
	w->dirs = NULL;
	w->room = 0;
}

static void give_up(struct watch *w)
{
	close_fd(&w->fd);
	w->fd = -1;
	w->is_changed = true;
	w->name_count = 0;
	arena_done(&w->told);
	forget_places(w);
}

void watch_end(struct watch *w)
{
	if (w)
		give_up(w);
}

/* The kernel never gives a number twice: a tree that is built again and again ends the watch one day, which hides nothing. */
static void note_dir(struct watch *w, int number, const char *rel)
{
	size_t i = (size_t)number;

	if (i > NUMBERS_MAX) {
		give_up(w);
		return;
	}
	if (i >= w->room) {
		size_t room = i < 512 ? 1024 : 2 * i;
		w->dirs =
			arena_grow(&w->places, w->dirs, w->room * sizeof(*w->dirs), room * sizeof(*w->dirs));
		memset(w->dirs + w->room, 0, (room - w->room) * sizeof(*w->dirs));
		w->room = room;
	}
	if (!rel || !w->dirs[i] || !text_eq(w->dirs[i], rel))
		w->dirs[i] = rel ? arena_strdup(&w->places, rel) : NULL;
}

void watch_directory(struct watch *w, int parent, const char *name, const char *rel)
{
	static const uint32_t heard = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY |
		IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
	char path[NAME_MAX + 40];

	if (!w || w->fd < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", parent, name);
	int number = ++w->directories > w->most
		? -1
		: inotify_add_watch(w->fd, path, heard | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK);
	/* One that is gone by now was heard to go. */
	if (number >= 0)
		note_dir(w, number, rel);
	else if (w->directories > w->most || (errno != ENOENT && errno != ENOTDIR))
		give_up(w);
}

/* Too many of them are left to the walk. */
static void note_name(struct watch *w, const struct inotify_event *event)
{
	const char *dir = event->wd >= 0 && (size_t)event->wd < w->room ? w->dirs[event->wd] : NULL;

	if (!dir || !event->len || w->name_count == NAMES_MAX ||
		!(event->mask & (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE)))
		return;
	const char *rel = *dir ? arena_printf(&w->told, "%s/%s", dir, event->name)
			       : arena_strdup(&w->told, event->name);
	if (event->mask & IN_ISDIR || nested_counts(rel) || text_eq(event->name, "config") ||
		text_eq(event->name, "commondir"))
		w->names[w->name_count++] = rel;
}

size_t watch_told(struct watch *w, struct arena *a, const char ***ret)
{
	if (!w)
		return 0;
	(void)watch_is_changed(w);
	size_t n = w->name_count;
	*ret = arena_alloc(a, (n + 1) * sizeof(**ret));
	for (size_t i = 0; i < n; i++)
		(*ret)[i] = arena_strdup(a, w->names[i]);
	w->name_count = 0;
	arena_done(&w->told);
	w->told = (struct arena){ 0 };
	return n;
}

/* From now on; what comes while the walk lasts counts for the next one. */
void watch_walk_begins(struct watch *w)
{
	if (!w)
		return;
	(void)watch_is_changed(w);
	w->is_changed = false;
	w->directories = 0;
	w->name_count = 0; /* the walk sees them */
	arena_done(&w->told);
	w->told = (struct arena){ 0 };
	forget_places(w); /* and notes them again */
}

bool watch_is_changed(struct watch *w)
{
	_Alignas(struct inotify_event) char events[4096];

	if (!w || w->fd < 0)
		return true;
	for (ssize_t got; (got = read(w->fd, events, sizeof(events))) > 0; w->is_changed = true)
		for (const char *at = events; at < events + got;) {
			const struct inotify_event *event = (const void *)at;
			note_name(w, event);
			at += sizeof(*event) + event->len;
		}
	return w->is_changed;
}

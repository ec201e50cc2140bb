/* watch.c — has anything in the tree changed since somebody last walked over it, and where?
 *
 * One watch of the kernel's for each directory, put there by the walk itself before it reads the directory: whatever comes afterwards is
 * heard.  What is relied on is that something happened in a directory, and which directories came: then these are walked again
 * (again.c).  A watch that is lost, a queue that has overflown, too much at once and a tree with more directories than may be watched cost a
 * walk over everything and hide nothing.  What is written through a mapping of a file makes no sound: so whoever relies on this walks once more
 * at the end.
 *
 * The walk may have to wait.  So names that count, and new directories, are told as they were heard, a bounded number of them, for whoever
 * looks at those at once. */
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
enum { SHARE_OF_ALL = 4, NAMES_MAX = 256, NUMBERS_MAX = 1 << 22, PLACES_MAX = 4096, NOTED_MAX = 1 << 19 };

/* One directory that is watched; all of a repository's own stand for the repository. */
struct watched {
	const char *rel; /* of the directory, or of the repository; NULL: not known */
	bool is_inside; /* of a repository */
	bool is_heard;
};

struct watch {
	int fd; /* -1: nobody watches */
	int64_t directories, most;
	bool is_changed;
	bool is_lost; /* nobody knows where */
	struct arena places; /* of the last walk over everything */
	struct watched *dirs; /* by the number of the watch */
	size_t room, noted; /* noted: so many paths, those of directories that are gone included */
	struct arena since; /* of the last walk */
	struct watch_news news;
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

	*w = (struct watch){ .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK),
		.most = most_watches(s),
		.is_changed = true,
		.is_lost = true };
	return w;
}

/* What was heard since the last walk. */
static void forget_news(struct watch *w)
{
	arena_done(&w->since);
	w->since = (struct arena){ 0 };
	w->news = (struct watch_news){ 0 };
}

static void forget_places(struct watch *w)
{
	forget_news(w);
	arena_done(&w->places);
	w->places = (struct arena){ 0 };
	w->dirs = NULL;
	w->room = w->noted = 0;
}

static void give_up(struct watch *w)
{
	close_fd(&w->fd);
	w->fd = -1;
	w->is_changed = true;
	w->is_lost = true;
	w->name_count = 0;
	arena_done(&w->told);
	forget_places(w);
}

int watch_fd(const struct watch *w)
{
	return w ? w->fd : -1;
}

void watch_end(struct watch *w)
{
	if (w)
		give_up(w);
}

/* The kernel never gives a number twice: a tree that is built again and again ends the watch one day, which hides nothing. */
static void note_dir(struct watch *w, int number, const char *rel, bool is_inside)
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
	struct watched *one = &w->dirs[i];
	w->directories += !one->rel;
	if (!one->rel || !text_eq(one->rel, rel)) {
		one->rel = arena_strdup(&w->places, rel);
		w->is_lost |= ++w->noted > NOTED_MAX; /* a walk over everything begins anew */
	}
	one->is_inside = is_inside;
}

static void add(struct watch *w, int parent, const char *name, const char *rel, bool is_inside)
{
	static const uint32_t heard = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY |
		IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
	char path[NAME_MAX + 40];

	if (!w || w->fd < 0)
		return;
	if (w->directories >= w->most) {
		give_up(w);
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", parent, name);
	int number = inotify_add_watch(w->fd, path, heard | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK);
	/* One that is gone by now was heard to go. */
	if (number >= 0)
		note_dir(w, number, rel, is_inside);
	else if (errno == EACCES)
		w->is_lost = true; /* closed to its owner: the walk opens it, and the next one hears it */
	else if (errno != ENOENT && errno != ENOTDIR)
		give_up(w);
}

void watch_directory(struct watch *w, int parent, const char *name, const char *rel)
{
	add(w, parent, name, rel, false);
}

void watch_repository(struct watch *w, int parent, const char *name, const char *rel)
{
	add(w, parent, name, rel, true);
}

static void push(struct watch *w, struct watch_list *list, const char *rel)
{
	if (list->n && text_eq(list->paths[list->n - 1], rel))
		return;
	if (list->n == PLACES_MAX) {
		w->is_lost = true;
		return;
	}
	if (!list->paths)
		list->paths = arena_alloc(&w->since, PLACES_MAX * sizeof(*list->paths));
	list->paths[list->n++] = rel;
}

/* Whatever cannot be told where it happened is a reason to look everywhere. */
static void note_place(struct watch *w, const struct inotify_event *event)
{
	struct watched *dir = event->wd >= 0 && (size_t)event->wd < w->room ? &w->dirs[event->wd] : NULL;

	if (event->mask & IN_IGNORED) { /* it is gone, as its parent has heard */
		w->directories -= dir && dir->rel;
		if (dir)
			*dir = (struct watched){ 0 };
		return;
	}
	if (event->mask & (IN_Q_OVERFLOW | IN_UNMOUNT) || !dir || !dir->rel ||
		(event->mask & (IN_DELETE_SELF | IN_MOVE_SELF) && !*dir->rel))
		w->is_lost = true;
	if (w->is_lost)
		return;
	bool is_dir = event->mask & IN_ISDIR && event->len, came = event->mask & (IN_CREATE | IN_MOVED_TO);
	if (!dir->is_heard)
		push(w, dir->is_inside ? &w->news.repositories : &w->news.heard,
			arena_strdup(&w->since, dir->rel));
	dir->is_heard = true;
	if (dir->is_inside) {
		if (is_dir && came)
			push(w, &w->news.grown, arena_strdup(&w->since, dir->rel));
		return;
	}
	if (!is_dir || !came)
		return;
	const char *rel = *dir->rel ? arena_printf(&w->since, "%s/%s", dir->rel, event->name)
				    : arena_strdup(&w->since, event->name);
	push(w, &w->news.fresh, rel);
}

/* Too many of them are left to the walk. */
static void note_name(struct watch *w, const struct inotify_event *event)
{
	const struct watched *in = event->wd >= 0 && (size_t)event->wd < w->room ? &w->dirs[event->wd] : NULL;
	const char *dir = in && !in->is_inside ? in->rel : NULL;

	if (!dir || !event->len || w->name_count == NAMES_MAX ||
		!(event->mask & (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE)))
		return;
	const char *rel = *dir ? arena_printf(&w->told, "%s/%s", dir, event->name)
			       : arena_strdup(&w->told, event->name);
	if (event->mask & IN_ISDIR || nested_counts(rel) || text_eq(event->name, "config") ||
		text_eq(event->name, "commondir"))
		w->names[w->name_count++] = rel;
}

static void forget_told(struct watch *w)
{
	w->name_count = 0;
	arena_done(&w->told);
	w->told = (struct arena){ 0 };
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
	forget_told(w);
	return n;
}

/* From now on; what comes while the walk lasts counts for the next one. */
void watch_walk_begins(struct watch *w)
{
	if (!w)
		return;
	(void)watch_is_changed(w);
	w->is_changed = false;
	w->is_lost = w->fd < 0;
	w->directories = 0;
	forget_told(w); /* the walk sees them */
	forget_places(w); /* and notes them again */
}

static void copy(struct arena *a, const struct watch_list *from, struct watch_list *to)
{
	*to = (struct watch_list){ arena_alloc(a, (from->n + 1) * sizeof(*to->paths)), from->n };
	for (size_t i = 0; i < from->n; i++)
		to->paths[i] = arena_strdup(a, from->paths[i]);
}

bool watch_walk_part_begins(struct watch *w, struct arena *a, struct watch_news *ret)
{
	if (!w || !watch_is_changed(w) || w->is_lost)
		return false;
	copy(a, &w->news.heard, &ret->heard);
	copy(a, &w->news.repositories, &ret->repositories);
	copy(a, &w->news.grown, &ret->grown);
	copy(a, &w->news.fresh, &ret->fresh);
	for (size_t i = 0; i < w->room; i++)
		w->dirs[i].is_heard = false;
	w->is_changed = false;
	forget_told(w);
	forget_news(w);
	return true;
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
			note_place(w, event);
			at += sizeof(*event) + event->len;
		}
	return w->is_changed;
}

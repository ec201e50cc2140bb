/* prompt.c — auto-run files that appear while something runs are taken away when they are heard of, not only at its end.
 *
 * The watch of the tree (watch.c) tells that something happened; a moment later, so that a file is written by then and many events are one
 * look, the names at the roots are compared with what was noted, and names that count are looked at where they were heard.  Configuration
 * of git and the steps of its rebase are left to the end: git writes them in ordinary work.  What is not heard is found by the walks behind it.
 *
 * A look costs at most a tenth of the time. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>

enum { HEARD_ENTRIES = 2000, MOMENT_US = 10000, UNHEARD_US = 100000, SHARE = 9, ROWS_MOST = 100 };

struct heard {
	struct task *t;
	struct watch *watch;
	const char *dir;
	size_t seen;
};

static int see_heard(
	void *arg, int parent, const char *name, const char *below, const struct stat *st, struct err *e)
{
	struct heard *h = arg;
	const char *rel = h->dir ? arena_printf(h->t->a, "%s/%s", h->dir, below) : below;

	(void)e;
	armed_look(h->t, parent, name, rel, st);
	if (!S_ISDIR(st->st_mode))
		return ++h->seen > HEARD_ENTRIES ? E_LIMIT : 0;
	if (text_eq(name, ".git") || text_eq(name, h->t->k->ws->state_name))
		return FILE_SKIP;
	watch_directory(h->watch, parent, name, rel);
	return ++h->seen > HEARD_ENTRIES ? E_LIMIT : 0;
}

static int enter_heard(void *arg, int parent, const char *name, const char *below)
{
	struct heard *h = arg;

	return rights_enter(h->t, parent, name, arena_printf(h->t->a, "%s/%s", h->dir, below));
}

static void look_at_one(struct heard *h, int root, const char *rel)
{
	struct sys *s = h->t->k->sys;
	const char *name = path_base(rel);

	/* git is at work in a repository: a further work tree is made file by file.  The look at the end judges it as a whole. */
	if (text_starts(rel, ".git/") || strstr(rel, "/.git/"))
		return;
	AUTO(close_fd)
	int parent = rights_open(
		h->t, root, name == rel ? "." : arena_strndup(h->t->a, rel, (size_t)(name - rel) - 1));
	struct stat st;

	if (parent < 0 || s->stat(s, parent, name, &st, AT_SYMLINK_NOFOLLOW))
		return;
	h->dir = NULL;
	bool is_entered = see_heard(h, parent, name, rel, &st, NULL) == 0 && S_ISDIR(st.st_mode);
	h->dir = rel;
	AUTO(close_fd) int fd = is_entered ? rights_enter(h->t, parent, name, rel) : -1;
	if (fd >= 0)
		(void)file_walk_by(s, fd, false, see_heard, enter_heard, h, NULL);
}

void prompt_look_at_heard(struct task *t, struct watch *w)
{
	AUTO(close_fd) int root = -1;
	struct heard h = { .t = t, .watch = w };
	const char **told;
	size_t n = watch_told(w, t->a, &told);

	if (n && rights_open_root(t, task_tree(t), &root) == OK)
		for (size_t i = 0; i < n && h.seen <= HEARD_ENTRIES; i++)
			look_at_one(&h, root, told[i]);
}

/* In memory of its own: many looks may come before the end. */
void prompt_look(struct task *t, struct watch *w, struct prompt *p)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct sys *s = t->k->sys;
	int64_t began = s->mono_us(s);
	struct task look = *t;

	look.a = &a;
	if (!look.result)
		look.result = t->so_far;
	look.left_behind = NULL;
	look.is_prompt = true;
	armed_check(&look);
	prompt_look_at_heard(&look, w);
	rights_put_back(&look);
	json_each (one, look.left_behind)
		if (!t->left_behind || t->left_behind->n < ROWS_MOST)
			armed_say_row(t, json_copy(t->a, one));
	t->is_left |= look.is_left;
	p->due_us = 0;
	p->not_before_us = s->mono_us(s) + SHARE * (s->mono_us(s) - began);
}

void prompt_hear(struct prompt *p, struct sys *s, bool is_heard)
{
	int64_t soon = s->mono_us(s) + (is_heard ? MOMENT_US : UNHEARD_US);

	if (!p->due_us)
		p->due_us = soon > p->not_before_us ? soon : p->not_before_us;
}

/* ---- a supervised session ---- */

static void wait_for_look(struct prompt *p, struct sys *s)
{
	int64_t us = p->due_us - s->mono_us(s);
	struct itimerspec at = { .it_value = { .tv_sec = us > 0 ? us / 1000000 : 0,
					 .tv_nsec = us > 0 ? us % 1000000 * 1000 + 1 : 1 } };

	p->fd = timerfd_settime(p->timer, 0, &at, NULL) ? -1 : p->timer;
}

/* One descriptor at a time: of the tree while nothing was heard, of the clock from then on until it was looked at. */
static void on_news(void *arg)
{
	struct task *t = arg;
	struct prompt *p = t->prompt;
	struct sys *s = t->k->sys;
	uint64_t times;

	if (p->fd != p->timer) {
		(void)watch_is_changed(t->watch);
		prompt_hear(p, s, true);
	} else {
		if (s->read(s, p->timer, &times, sizeof(times)) != (ssize_t)sizeof(times))
			return;
		prompt_look(t, t->watch, p);
		p->fd = watch_fd(t->watch);
		if (p->fd >= 0)
			return;
		prompt_hear(p, s, false);
	}
	wait_for_look(p, s);
}

void prompt_begin(struct task *t)
{
	struct prompt *p = arena_zalloc(t->a, 1, sizeof(*p));

	p->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	p->fd = watch_fd(t->watch);
	t->prompt = p;
	t->run.on_other = on_news;
	t->run.other_arg = t;
	t->run.other_fd = &p->fd;
	if (p->fd >= 0 || p->timer < 0)
		return;
	prompt_hear(p, t->k->sys, false);
	wait_for_look(p, t->k->sys);
}

void prompt_end(struct task *t)
{
	if (t->prompt)
		close_fd(&t->prompt->timer);
	t->prompt = NULL;
	watch_end(t->watch);
	t->watch = NULL;
}

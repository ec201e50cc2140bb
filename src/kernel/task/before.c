/* before.c — what each file of the tree was before a run, so that what the run changed is not guessed from times.
 *
 * The clock of a file system ticks more coarsely than ours and may be another machine's: a file that somebody wrote a moment before a run
 * looks as if the run had written it, and the other way round.  So inode, size and the moment of its last change are noted for each
 * file and compared afterwards.  A tree is walked once more for that, so this has a bound; what lies behind it is told by the clock, with some
 * tolerance, as a file that nobody noted. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/task/parts.h"

#include <fcntl.h>
#include <string.h>

enum { FILES_MOST = 2048, SLOTS = 2 * FILES_MOST, ENTRIES_MOST = 2 * FILES_MOST, TOLERANCE_US = 10000 };

struct noted {
	uint64_t path; /* its hash: two files with the same one differ in what else is noted */
	uint64_t inode;
	int64_t size;
	struct timespec changed;
};

struct before {
	const char *state_name;
	bool is_whole; /* nothing was left out */
	size_t files, entries;
	/* Only where there is a plan: the paths of those below, to tell which of them are gone, and which the last walk has seen.  Or NULL. */
	struct arena *a;
	const char **names;
	bool *seen;
	struct noted of[SLOTS]; /* path 0: free */
};

/* FNV-1a.  Nobody gains by a collision: to hide a change, inode and time would have to be the same, too. */
static uint64_t hash_of(const char *rel)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *rel; rel++)
		h = (h ^ (unsigned char)*rel) * 0x100000001b3u;
	return h ? h : 1;
}

static bool is_same(const struct noted *n, const struct stat *st)
{
	return n->inode == st->st_ino && n->size == st->st_size && n->changed.tv_sec == st->st_ctim.tv_sec &&
		n->changed.tv_nsec == st->st_ctim.tv_nsec;
}

static int note(
	void *arg, int parent, const char *name, const char *rel, const struct stat *st, struct err *e)
{
	struct before *b = arg;
	uint64_t path = hash_of(rel);
	size_t i = path % SLOTS;

	(void)parent;
	(void)e;
	if (++b->entries > ENTRIES_MOST)
		return E_LIMIT;
	if (S_ISDIR(st->st_mode))
		return text_eq(name, ".git") || text_eq(name, b->state_name) ? FILE_SKIP : 0;
	if (b->files == FILES_MOST)
		return E_LIMIT;
	while (b->of[i].path)
		i = (i + 1) % SLOTS;
	b->of[i] = (struct noted){
		.path = path, .inode = st->st_ino, .size = st->st_size, .changed = st->st_ctim
	};
	if (b->names)
		b->names[i] = arena_strdup(b->a, rel);
	b->files++;
	return 0;
}

void before_look(struct task *t)
{
	struct before *b = arena_zalloc(t->a, 1, sizeof(*b));

	b->state_name = t->k->ws->state_name;
	if (t->plan) {
		b->a = t->a;
		b->names = arena_zalloc(t->a, SLOTS, sizeof(*b->names));
		b->seen = arena_zalloc(t->a, SLOTS, sizeof(*b->seen));
	}
	b->is_whole = file_walk(t->k->sys, AT_FDCWD, task_tree(t), note, b, NULL) == OK;
	t->before = b;
}

void before_walk(struct task *t)
{
	if (t->before && t->before->seen)
		memset(t->before->seen, 0, SLOTS * sizeof(*t->before->seen));
}

struct json *before_gone(const struct task *t)
{
	const struct before *b = t->before;
	struct json *gone = json_new(t->a, JSON_ARRAY);

	for (size_t i = 0; b && b->names && i < SLOTS; i++)
		if (b->names[i] && !b->seen[i])
			json_pushs(t->a, gone, b->names[i]);
	return gone;
}

bool before_has_all(const struct task *t)
{
	return !t->before || t->before->is_whole;
}

bool before_differs(const struct task *t, const char *rel, const struct stat *st)
{
	const struct before *b = t->before;
	uint64_t path = hash_of(rel);
	bool is_noted = false;

	for (size_t i = path % SLOTS; b && b->of[i].path; i = (i + 1) % SLOTS) {
		if (b->names && b->of[i].path == path && text_eq(b->names[i], rel))
			b->seen[i] = true;
		if (b->of[i].path == path && is_same(&b->of[i], st))
			return false;
		is_noted |= b->of[i].path == path;
	}
	if (is_noted || (b && b->is_whole))
		return true;
	return (int64_t)st->st_ctim.tv_sec * 1000000 + st->st_ctim.tv_nsec / 1000 >=
		t->result->started_us - TOLERANCE_US;
}

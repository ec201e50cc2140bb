/* scratch.c — see scratch.h.  Uses the C library directly, never the code under test. */
#include "tools/scratch.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

static void open_in(struct scratch *t, const char *base)
{
	snprintf(t->path, sizeof(t->path), "%s/helm-test-XXXXXX", base && strlen(base) < 80 ? base : "/tmp");
	need(mkdtemp(t->path) != NULL, t->path);
	t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	need(t->fd >= 0, t->path);
}

void scratch_open(struct scratch *t)
{
	open_in(t, getenv("TMPDIR"));
}

void scratch_open_fast(struct scratch *t)
{
	open_in(t, access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : getenv("TMPDIR"));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st, (void)type;
	return where->level ? remove(path) : 0;
}

void scratch_empty(struct scratch *t)
{
	need(nftw(t->path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0, t->path);
}

void scratch_done(struct scratch *t)
{
	if (t->fd < 0)
		return;
	scratch_empty(t);
	close(t->fd);
	t->fd = -1;
	need(rmdir(t->path) == 0, t->path);
}

void scratch_put(struct scratch *t, const char *name, const char *text)
{
	int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), name);
	close(fd);
}

const char *scratch_get(struct scratch *t, const char *name)
{
	static char *text;
	struct stat st;
	int fd = openat(t->fd, name, O_RDONLY | O_CLOEXEC);

	free(text);
	text = NULL;
	if (fd < 0)
		return NULL;
	need(fstat(fd, &st) == 0 && (text = calloc(1, (size_t)st.st_size + 1)) != NULL, name);
	need(read(fd, text, (size_t)st.st_size) == (ssize_t)st.st_size, name);
	close(fd);
	return text;
}

bool scratch_has(struct scratch *t, const char *name)
{
	return faccessat(t->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* open_runs.c — which runs are going on, told by locks and not by pids.
 *
 * Every run has a file of its own in <state>/open-runs/ for as long as it lasts, and holds a lock on it.  The
 * kernel lets the lock go when the process ends, however it ends, and knows of it in every container that
 * shares the workspace, where the pid of another means nothing.  So whoever gets the lock knows that the run
 * is over, and whoever does not knows that it is not; and what is looked at are the runs that are open, however
 * many there have been.
 *
 * A name is TASK@PID-START: a task that is run again under the same id has another file, and its row names
 * it. */
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char *path_of(struct arena *a, const char *name)
{
	return arena_printf(a, OPEN_RUNS "/%s", name);
}

/* Who looks may hold the lock of a file that was just made for a moment, and take it for one that was left
 * behind: then it is gone when we have the lock, and another one is made. */
int open_run_begin(struct sys *s, int state_fd, const char *task_id, struct open_run *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct stat st;

	snprintf(ret->name, sizeof(ret->name), "%s@%d-%lld", task_id, getpid(),
		(long long)proc_start_ticks(s, 0));
	const char *path = path_of(&a, ret->name);
	for (int tries = 0; tries < 100; tries++) {
		AUTO(close_fd)
		int fd = s->open(s, state_fd, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600, 0);
		if (fd < 0 && errno == ENOENT && file_mkdirs(s, state_fd, OPEN_RUNS, 0700, e) == OK)
			continue;
		if (fd < 0 || s->lock(s, fd, LOCK_EX) || s->stat(s, fd, "", &st, AT_EMPTY_PATH))
			return err_sys(e, "RUN_OPEN", "cannot say in %s that this runs", OPEN_RUNS);
		if (!st.st_nlink)
			continue;
		ret->fd = fd;
		fd = -1;
		return OK;
	}
	return err_set(e, E_IO, "RUN_OPEN", "somebody keeps removing what is put into %s", OPEN_RUNS);
}

/* The name first: a file that is there and not locked means that somebody died. */
void open_run_end(struct sys *s, int state_fd, struct open_run *r)
{
	AUTO(arena_done) struct arena a = { 0 };

	if (r->fd < 0)
		return;
	(void)s->unlink(s, state_fd, path_of(&a, r->name), 0);
	close_fd(&r->fd);
	r->fd = -1;
}

int open_run_take(struct sys *s, int state_fd, const char *name, struct open_run *ret)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct stat st;
	AUTO(close_fd)
	int fd = s->open(s, state_fd, path_of(&a, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, 0);

	if (fd < 0)
		return errno == ENOENT ? E_MISSING : E_IO;
	if (s->lock(s, fd, LOCK_EX | LOCK_NB) || s->stat(s, fd, "", &st, AT_EMPTY_PATH))
		return E_IO;
	if (!st.st_nlink)
		return E_MISSING;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->fd = fd;
	fd = -1;
	return OK;
}

/* A name that no run of ours can have is no evidence of anything. */
static bool is_name(const char *name)
{
	return strchr(name, '@') && !strchr(name, '/') && strlen(name) < sizeof((struct open_run){ 0 }.name);
}

/* Rows of older versions name only their process, by pid and start time; rows that name nothing are
 * believed. */
bool open_run_is_over(struct sys *s, int state_fd, const struct json *row)
{
	const char *name = json_get_text(row, "open_run", NULL);
	int64_t pid = json_get_int(row, "pid", 0), start = json_get_int(row, "pid_start", 0);
	struct open_run taken = { .fd = -1 };

	if (!row_is_open(row))
		return false;
	if (!name)
		return pid && start && !proc_is_running(s, pid, start);
	if (!is_name(name))
		return false;
	int rc = open_run_take(s, state_fd, name, &taken);
	close_fd(&taken.fd);
	return rc == OK || rc == E_MISSING;
}

bool row_is_open(const struct json *row)
{
	const char *status = json_get_text(row, "status", "");

	return text_eq(status, "running") || text_eq(status, "queued");
}

struct newest {
	const char *task_id;
	struct json *row;
};

static int is_of_task(void *arg, struct json *row)
{
	struct newest *n = arg;

	if (!text_eq(json_get_text(row, "task_id", ""), n->task_id))
		return 0;
	n->row = row;
	return 1;
}

int row_newest(
	struct sys *s, struct arena *a, int state_fd, const char *task_id, struct json **ret, struct err *e)
{
	struct newest n = { task_id, NULL };
	int rc = rows_back(s, a, state_fd, TASK_LEDGER, 0, task_id, is_of_task, &n, e);

	*ret = n.row;
	return rc;
}

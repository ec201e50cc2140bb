/* supervise.c — hears the calls of the sandbox, reads their arguments, and hands them to the part that carries them out. */
#include "execute/supervise.h"

#include "base/fds.h"
#include "base/file.h"
#include "base/text.h"
#include "execute/execute.h"
#include "execute/private_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOTIF_SET_FLAGS _IOW('!', 4, uint64_t) /* Linux 6.6; the headers of Debian 12 lack its name */
enum { SYNC_WAKE_UP = 1, ANCESTORS_MOST = 4096 };

/* ---- places ---- */

static int add_place(const char **list, size_t *n, char *pool, size_t *pool_n, const char *path)
{
	char real[PATH_MAX];
	const char *at = realpath(path, real) ? real : path;
	size_t length = strlen(at) + 1;

	if (*n + 1 >= SUPERVISED_PATHS || *pool_n + length > SUPERVISED_POOL)
		return -1;
	list[(*n)++] = memcpy(pool + *pool_n, at, length);
	*pool_n += length;
	return 0;
}

/* A writable place in a hidden one would be seen by nobody under mounts: it is none here, either. */
int supervisor_init(struct supervisor *s, const struct sandbox_rules *rules)
{
	int rc = 0;

	*s = (struct supervisor){ .listener = -1,
		.desk = -1,
		.shm = rules->shm,
		.proxy_port = rules->proxy_port,
		.files = rules->files,
		.openings = rules->openings,
		.git_approved = rules->git_approved,
		.is_private = rules->kind == SANDBOX_NAMESPACES,
		.is_root = geteuid() == 0 };
	if (s->is_private)
		return 0;
	for (const struct sandbox_file *f = rules->files; f && f->at; f++)
		rc |= supervisor_close_place(s, f->at);
	for (const char *const *p = rules->write_paths; p && *p; p++)
		if (!path_is_in_one(*p, rules->hidden) && !path_is_below(*p, "/dev"))
			rc |= add_place(s->writable, &s->writable_count, s->pool, &s->pool_n, *p);
	if (rules->own_dir)
		rc |= add_place(s->writable, &s->writable_count, s->pool, &s->pool_n, rules->own_dir);
	if (rules->own_home)
		rc |= add_place(s->writable, &s->writable_count, s->pool, &s->pool_n, rules->own_home);
	for (const char *const *p = rules->read_only; p && *p; p++)
		rc |= supervisor_close_place(s, *p);
	for (const char *const *p = rules->hidden; p && *p; p++) {
		rc |= add_place(s->hidden, &s->hidden_count, s->pool, &s->pool_n, *p);
		if (path_is_in_one(s->hidden[s->hidden_count ? s->hidden_count - 1 : 0], s->writable) ||
			path_is_in_one(*p, rules->write_paths))
			rc |= supervisor_close_place(s, *p);
	}
	return rc;
}

int supervisor_close_place(struct supervisor *s, const char *path)
{
	return add_place(s->closed, &s->closed_count, s->pool, &s->pool_n, path);
}

static int64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void supervisor_take_files(struct supervisor *s, const struct sandbox_report *report)
{
	if (!s)
		return;
	s->files_dir = report->files_dir;
	s->renew_ms = s->is_private && s->files && s->files_dir > 0 ? clock_ms() + SUPERVISOR_WATCH_MS : 0;
}

void supervisor_renew_files(struct supervisor *s, short events)
{
	if (!events && supervisor_patience(s) != 0)
		return;
	s->is_uncovered = !private_files_renew(s);
	s->renew_ms = s->is_uncovered ? clock_ms() + SUPERVISOR_RENEW_MS : 0;
}

int supervisor_patience(const struct supervisor *s)
{
	const int64_t left_ms = s->renew_ms ? s->renew_ms - clock_ms() : -1;

	return !s->renew_ms ? -1 : left_ms > 0 ? (int)left_ms : 0;
}

void supervisor_note_terminals(struct supervisor *s)
{
	struct stat st;
	size_t n = 0;

	for (int fd = 0; fd <= 2; fd++)
		if (isatty(fd) && fstat(fd, &st) == 0) {
			s->terminals[n].dev = st.st_dev;
			s->terminals[n++].ino = st.st_ino;
		}
}

static void begin(struct supervisor *s, int listener)
{
	s->listener = listener;
	s->self = getpid();
	umask(0); /* that of each caller is applied by us */
	(void)!ioctl(listener, NOTIF_SET_FLAGS, SYNC_WAKE_UP);
}

int supervisor_send_listener(int socket, int listener)
{
	return fds_send(socket, BYTES_LITERAL("n"), &listener, 1);
}

static int receive_listener(int socket)
{
	struct fds_got got;
	char byte;

	if (fds_receive(socket, &byte, 1, MSG_DONTWAIT, &got) != 1)
		return -1;
	int fd = got.fds[0];
	got.fds[0] = -1;
	fds_close(&got);
	return fd;
}

/* ---- the caller's memory ---- */

/* Where a filter of the container refuses the call that reads memory, the file in /proc is read instead. */
int notified_read(const struct notified *c, uint64_t from, void *to, size_t n)
{
	struct iovec ours = { to, n }, theirs = { (void *)(uintptr_t)from, n };
	pid_t pid = (pid_t)c->asked.pid;
	char path[64];
	ssize_t got = process_vm_readv(pid, &ours, 1, &theirs, 1, 0);

	if (got < 0 && (errno == ENOSYS || errno == EPERM)) {
		snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
		AUTO(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -EPERM; /* a process that does not let itself be looked at */
		got = pread(fd, to, n, (off_t)from);
	}
	return got == (ssize_t)n ? 0 : -EFAULT;
}

/* Memory may end behind the text, so never more is read than up to the end of a page. */
int notified_read_text(const struct notified *c, uint64_t from, char *to, size_t room)
{
	enum { PAGE = 4096 };
	size_t n = 0;

	while (n < room) {
		size_t part = PAGE - (size_t)((from + n) % PAGE);
		part = part > room - n ? room - n : part;
		part = part > 256 && n == 0 && (from % PAGE) <= PAGE - 256 ? 256 : part; /* most are short */
		int rc = notified_read(c, from + n, to + n, part);
		if (rc)
			return rc;
		if (memchr(to + n, '\0', part))
			return 0;
		n += part;
	}
	return -ENAMETOOLONG;
}

bool notified_is_valid(const struct notified *c)
{
	return ioctl(c->s->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &c->asked.id) == 0;
}

/* ---- answers ---- */

/* The caller may be killed while it waits: then there is nobody to answer. */
void notified_answer(struct notified *c, int64_t result)
{
	struct seccomp_notif_resp resp = {
		.id = c->asked.id, .val = result >= 0 ? result : 0, .error = result < 0 ? (int32_t)result : 0
	};

	c->is_answered = true;
	(void)!ioctl(c->s->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

void notified_continue(struct notified *c)
{
	struct seccomp_notif_resp resp = { .id = c->asked.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	c->is_answered = true;
	(void)!ioctl(c->s->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

/* Our own copy must be gone before the caller goes on: a program that is open for writing cannot be executed.  So the descriptor is put in
 * first, and the answer follows.  The caller closes `fd` between the two by giving its address; NULL: it stays open. */
static int64_t put_descriptor(struct notified *c, int fd, int *closing, bool is_cloexec)
{
	struct seccomp_notif_addfd give = {
		.id = c->asked.id, .srcfd = (uint32_t)fd, .newfd_flags = is_cloexec ? O_CLOEXEC : 0
	};
	int number = ioctl(c->s->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give);

	if (number < 0)
		return errno == ENOENT ? -EINTR : -errno;
	if (closing) {
		close(*closing);
		*closing = -1;
	}
	notified_answer(c, number);
	return 0;
}

int64_t notified_give(struct notified *c, int *fd, bool is_cloexec)
{
	return put_descriptor(c, *fd, fd, is_cloexec);
}

int64_t notified_lend(struct notified *c, int fd, bool is_cloexec)
{
	return put_descriptor(c, fd, NULL, is_cloexec);
}

/* A place among those that wait; those that have ended make room.  NULL: all still wait. */
static int *find_waiting_slot(struct supervisor *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->waiting); i++) {
		struct pollfd ended = { s->waiting[i], POLLIN, 0 };
		if (s->waiting[i] > 0 && poll(&ended, 1, 0) > 0) {
			close(s->waiting[i]);
			s->waiting[i] = 0;
		}
		if (!s->waiting[i])
			return &s->waiting[i];
	}
	return NULL;
}

/* The child is the warden's, and ends with the run. */
int64_t notified_later(
	struct notified *c, void (*fn)(struct notified *c, int fd, int flags), int fd, int flags)
{
	int *slot = find_waiting_slot(c->s);
	pid_t pid = slot ? _Fork() : -1;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		fn(c, fd, flags);
		_exit(0);
	}
	if (pid < 0)
		return -EAGAIN;
	int ended = (int)syscall(SYS_pidfd_open, pid, 0);
	*slot = ended > 0 ? ended : 0;
	c->is_answered = true;
	return 0;
}

/* ---- who ---- */

int proc_status(pid_t pid, char *to, size_t room)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	AUTO(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, to, room - 1) : -1;
	to[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : -ESRCH;
}

int proc_each(const char *path, bool (*fn)(void *arg, long number), void *arg)
{
	_Alignas(struct dirent64) char entries[8192];
	AUTO(close_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n = -1;

	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *e = (const void *)(entries + at);
			at += e->d_reclen;
			if (e->d_name[0] >= '0' && e->d_name[0] <= '9' &&
				fn(arg, strtol(e->d_name, NULL, 10)))
				return 0;
		}
	return n < 0 ? -1 : 0;
}

static pid_t parent_of(pid_t pid)
{
	char text[4096];
	const char *at = proc_status(pid, text, sizeof(text)) ? NULL : strstr(text, "\nPPid:");

	return at ? (pid_t)strtol(at + strlen("\nPPid:"), NULL, 10) : 0;
}

/* Whoever loses its parent is given to the warden, so everything inside leads up to it. */
bool supervisor_has_inside(const struct supervisor *s, pid_t pid)
{
	for (int i = 0; pid > 1 && pid != s->self && i < ANCESTORS_MOST; i++) {
		pid = parent_of(pid);
		if (pid == s->self)
			return true;
	}
	return false;
}

/* ---- one call ---- */

/* Of the process that a thread belongs to. */
int supervisor_open_process(pid_t thread)
{
	char text[4096];
	int fd = (int)syscall(SYS_pidfd_open, thread, 0);
	const char *at = fd >= 0 || proc_status(thread, text, sizeof(text)) ? NULL : strstr(text, "\nTgid:");

	return at ? (int)syscall(SYS_pidfd_open, strtol(at + strlen("\nTgid:"), NULL, 10), 0) : fd;
}

/* A request to the supervisor socket goes on to helm, which serves it; the caller's number goes along. */
static int64_t pass_to_desk(struct notified *c)
{
	int pair[2];
	pid_t pid = (pid_t)c->asked.pid;

	if (c->s->desk < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -ECONNREFUSED;
	/* In a pid namespace the number says nothing to helm outside; a descriptor of the process does. */
	AUTO(close_fd) int process = c->s->is_private ? supervisor_open_process(pid) : -1;
	const int fds[] = { pair[0], process };
	int64_t rc = fds_send(c->s->desk, (struct bytes){ (const uint8_t *)&pid, sizeof(pid) }, fds,
			     process >= 0 ? 2 : 1)
		? -ECONNREFUSED
		: notified_lend(c, pair[1], true);
	close(pair[0]);
	close(pair[1]);
	return rc;
}

/* In a process of its own: helm has not taken those before yet. */
static void pass_waiting(struct notified *c, int fd, int flags)
{
	int64_t rc = pass_to_desk(c);

	(void)fd;
	(void)flags;
	if (rc)
		notified_answer(c, rc);
}

static int64_t call_desk(struct notified *c)
{
	struct pollfd room = { c->s->desk, POLLOUT, 0 };

	return c->s->desk < 0 || poll(&room, 1, 0) > 0 ? pass_to_desk(c)
						       : notified_later(c, pass_waiting, -1, 0);
}

static bool is_for_desk(const struct notified *c)
{
	return c->asked.data.nr == SYS_socket && ARGUMENT(c, 0) == AF_UNIX &&
		(uint32_t)ARGUMENT(c, 2) == DESK_PROTOCOL;
}

static void serve(struct supervisor *s)
{
	struct notified c = { .s = s };

	/* Who asked may have been killed meanwhile. */
	if (ioctl(s->listener, SECCOMP_IOCTL_NOTIF_RECV, &c.asked))
		return;
	int64_t result = is_for_desk(&c) ? call_desk(&c)
		: s->is_private		 ? private_files_call(&c)
					 : supervise_file(&c);
	if (result == -ENOSYS && !c.is_answered)
		result = supervise_network(&c);
	if (result == -ENOSYS && !c.is_answered)
		result = supervise_signal(&c);
	if (!c.is_answered)
		notified_answer(&c, result);
}

struct pollfd supervisor_await(const struct supervisor *s, int socket)
{
	return (struct pollfd){ .fd = s->listener >= 0 ? s->listener : socket, .events = POLLIN };
}

void supervisor_act(struct supervisor *s, int notify[2], short events)
{
	if (events && s->listener < 0) {
		int listener = receive_listener(notify[0]);
		close(notify[0]);
		close_fd(&notify[1]);
		notify[0] = notify[1] = -1;
		if (listener >= 0)
			begin(s, listener);
	} else if (events & POLLIN) {
		serve(s);
	} else if (events) {
		close(s->listener); /* nothing inside lives any more */
		s->listener = -1;
	}
}

/* proc.c — starting and ending helper processes.
 *
 * A child that cannot run its program says why through a pipe that closes by itself when the program
 * starts, so proc_start() knows the truth before it returns.
 *
 * Every child leads a process group of its own. The group is killed while its leader is dead but not yet
 * reaped: until then the number cannot belong to anybody else. So ending a helper ends everything it
 * started, and nothing else. */
#include "base/proc.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

/* Together they are more than a pipe can hold, so one round empties it; the deadline is looked at between
 * rounds. */
enum { CAPTURE_STEP = 16 << 10, CAPTURE_ROUND = 80 };

/* finding the program */

/* *why becomes EACCES when something is there that cannot be run, which is a better answer than "not
 * found". */
static bool is_program(struct sys *s, const char *path, int *why)
{
	struct stat st;

	if (s->stat(s, AT_FDCWD, path, &st, 0))
		return false;
	if (S_ISREG(st.st_mode) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0)
		return true;
	*why = EACCES;
	return false;
}

/* As execvp() does, but before there is a child. Elements of PATH that are empty or relative are skipped:
 * what an agent can write in its current directory must not become a helper. */
static const char *find_program(struct sys *s, struct arena *a, const struct proc_spec *spec, int *why)
{
	const char *name = spec->argv[0];
	const char *path = spec->path ? spec->path : s->getenv(s, "PATH");

	*why = ENOENT;
	if (strchr(name, '/'))
		return is_program(s, name, why) ? name : NULL;
	if (!path)
		path = "/usr/local/bin:/usr/bin:/bin";
	while (*path) {
		size_t n = strcspn(path, ":");
		if (n && path[0] == '/') {
			const char *full = arena_printf(a, "%.*s/%s", (int)n, path, name);
			if (is_program(s, full, why))
				return full;
		}
		path += n + (path[n] == ':');
	}
	return NULL;
}

/* the child's side: only calls that are safe after fork */

/* Ignored and blocked signals would be inherited by the program. */
static void reset_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The three streams may sit on each other's numbers. So they are first lifted out of the way and then put
 * down. */
static bool place_streams(const struct proc_spec *spec, int null_fd)
{
	const int from[3] = { spec->in_fd, spec->out_fd, spec->err_fd };
	int lifted[3];

	for (int i = 0; i < 3; i++) {
		lifted[i] = fcntl(from[i] >= 0 ? from[i] : null_fd, F_DUPFD_CLOEXEC, 10);
		if (lifted[i] < 0)
			return false;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(lifted[i], i) < 0)
			return false;
	return true;
}

/* The child's side. The parent-death signal is set before the parent is checked: a parent that died in
 * between is noticed either way. All other descriptors vanish with exec; the report pipe has to live until
 * then. */
static _Noreturn void become(
	const struct proc_spec *spec, const char *program, int null_fd, int report_fd, pid_t parent)
{
	reset_signals();
	int report = fcntl(report_fd, F_DUPFD_CLOEXEC, 20);
	if (report >= 0 && setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
		getppid() == parent && (spec->cwd_fd < 0 || fchdir(spec->cwd_fd) == 0) &&
		place_streams(spec, null_fd) &&
		syscall(SYS_close_range, 3, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) == 0 &&
		(!spec->kept_fd || fcntl(spec->kept_fd, F_SETFD, 0) == 0))
		(void)execve(
			program, (char *const *)spec->argv, spec->env ? (char *const *)spec->env : environ);
	int why = errno ? errno : EINVAL;
	(void)!write(report >= 0 ? report : report_fd, &why, sizeof(why));
	_exit(127);
}

/* our side */

/* The three answers a person can act on: no such program, not executable, anything else. */
static int start_failed(struct err *e, const char *name, int why)
{
	if (why == ENOENT)
		return err_set(e, E_MISSING, "PROC_NOT_FOUND", "there is no program '%s'", name);
	if (why == EACCES || why == ENOEXEC)
		return err_set(e, E_IO, "PROC_NOT_EXECUTABLE", "'%s' cannot be executed", name);
	errno = why;
	return err_sys(e, "PROC_START", "cannot start '%s'", name);
}

static void reap(struct proc *p, siginfo_t *ret)
{
	while (waitid(P_PID, (id_t)p->pid, ret, WEXITED) == -1 && errno == EINTR)
		;
}

/* Kills before reaping. The second kill is for a child that did not get as far as its own group. */
static void end_group(struct proc *p, siginfo_t *ret)
{
	(void)kill(-p->pid, SIGKILL);
	(void)kill(p->pid, SIGKILL); /* before it had a group of its own */
	reap(p, ret);
	(void)close(p->pidfd);
	*p = (struct proc){ 0 };
}

void proc_done(struct proc *p)
{
	siginfo_t gone;

	if (p->pid > 0)
		end_group(p, &gone);
}

/* Either a running program or an error; a child that failed is reaped before this returns. */
int proc_start(struct sys *s, const struct proc_spec *spec, struct proc *ret, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	AUTO(proc_done) struct proc p = { 0 };
	AUTO(close_fd) int null_fd = s->open(s, AT_FDCWD, "/dev/null", O_RDWR, 0, 0);
	AUTO(close_fd) int hear = -1;
	AUTO(close_fd) int tell = -1;
	const char *name = spec->argv[0];
	int pipe_fd[2], why;

	const char *program = find_program(s, &a, spec, &why);
	if (!program)
		return start_failed(e, name, why);
	if (null_fd < 0 || pipe2(pipe_fd, O_CLOEXEC))
		return err_sys(e, "PROC_START", "cannot start '%s'", name);
	hear = pipe_fd[0];
	tell = pipe_fd[1];
	pid_t parent = getpid();
	pid_t pid = s->fork(s);
	if (pid < 0)
		return err_sys(e, "PROC_START", "cannot start '%s'%s", name, err_start_hint());
	if (pid == 0)
		become(spec, program, null_fd, tell, parent);
	p = (struct proc){ pid, (int)syscall(SYS_pidfd_open, pid, 0) };
	if (p.pidfd < 0)
		return err_sys(e, "PROC_START", "cannot watch '%s'", name);
	(void)close(tell);
	tell = -1;
	/* End of file means that exec closed the pipe: the program runs. A number is the errno of what
	 * failed. */
	if (s->read(s, hear, &why, sizeof(why)) != 0)
		return start_failed(e, name, why);
	*ret = p;
	p = (struct proc){ 0 };
	return OK;
}

/* Milliseconds left, for poll(2); -1 means for ever. Rounded up, so that poll() does not wake a moment too
 * early. */
static int left_ms(struct sys *s, int64_t deadline_us)
{
	if (deadline_us < 0)
		return -1;
	int64_t left = (deadline_us - s->mono_us(s) + 999) / 1000;
	return left < 0 ? 0 : left > 1 << 30 ? 1 << 30 : (int)left;
}

static int64_t deadline_of(struct sys *s, int timeout_ms)
{
	return timeout_ms < 0 ? -1 : s->mono_us(s) + (int64_t)timeout_ms * 1000;
}

/* The group is ended before the error is told. */
static int timed_out(struct proc *p, struct err *e)
{
	proc_done(p);
	return err_set(e, E_LIMIT, "PROC_TIMEOUT", "a helper process took too long and was ended");
}

/* 128 + signal is how shells report a process that a signal ended. */
static void ended(struct proc *p, struct proc_end *ret)
{
	siginfo_t how;

	end_group(p, &how);
	ret->signal = how.si_code == CLD_EXITED ? 0 : how.si_status;
	ret->code = how.si_code == CLD_EXITED ? how.si_status : 128 + how.si_status;
}

/* When time is up the whole group is killed and E_LIMIT is returned. */
int proc_wait(struct sys *s, struct proc *p, int timeout_ms, struct proc_end *ret, struct err *e)
{
	int64_t deadline = deadline_of(s, timeout_ms);
	struct pollfd watch = { .fd = p->pidfd, .events = POLLIN };
	int n;

	while ((n = poll(&watch, 1, left_ms(s, deadline))) < 0 && errno == EINTR)
		;
	if (n == 0)
		return timed_out(p, e);
	ended(p, ret);
	return OK;
}

/* capture */

/* One captured stream. */
struct stream {
	int fd;
	uint8_t *p;
	size_t n, cap;
	bool is_cut;
};

/* Reads what is there now. False at the end of the stream. What is beyond max_bytes is read and dropped,
 * so that the child never blocks on a full pipe. */
static bool drain(struct sys *s, struct arena *a, struct stream *to, size_t max_bytes)
{
	uint8_t step[CAPTURE_STEP];
	ssize_t got = 0;

	for (int i = 0; i < CAPTURE_ROUND && (got = s->read(s, to->fd, step, sizeof(step))) > 0; i++) {
		size_t n = (size_t)got;
		if (n > max_bytes - to->n) {
			n = max_bytes - to->n;
			to->is_cut = true;
		}
		if (to->n + n + 1 > to->cap) {
			size_t more = 2 * (to->n + n + 1);
			to->p = arena_grow(a, to->p, to->cap, more);
			to->cap = more;
		}
		memcpy(to->p + to->n, step, n);
		to->n += n;
	}
	return got > 0 || (got < 0 && errno == EAGAIN);
}

static struct bytes stream_bytes(struct arena *a, struct stream *from)
{
	if (!from->p)
		return (struct bytes){ (const uint8_t *)arena_strdup(a, ""), 0 };
	from->p[from->n] = '\0';
	return (struct bytes){ from->p, from->n };
}

/* The end of the process ends the reading, not the end of its streams: a grandchild may hold them open for
 * ever. What the process wrote before it ended is in the pipes and is still read. */
static int read_streams(struct sys *s, struct arena *a, struct proc *p, struct stream io[2], size_t max_bytes,
	int64_t deadline, struct proc_output *ret, struct err *e)
{
	struct pollfd watch[3] = { { .fd = p->pidfd, .events = POLLIN }, { .fd = io[0].fd, .events = POLLIN },
		{ .fd = io[1].fd, .events = POLLIN } };

	for (;;) {
		int n = poll(watch, 3, left_ms(s, deadline));
		if (n == 0 || (deadline >= 0 && left_ms(s, deadline) == 0))
			return timed_out(p, e);
		if (n < 0 && errno != EINTR)
			return err_sys(e, "PROC_READ", "cannot watch a helper process");
		bool is_over = n > 0 && watch[0].revents;
		for (int i = 0; i < 2; i++)
			if (watch[i + 1].fd >= 0 && !drain(s, a, &io[i], max_bytes))
				watch[i + 1].fd = -1;
		if (is_over)
			break;
	}
	ended(p, &ret->end);
	return OK;
}

/* Input is a file in memory: the child reads at its own pace, and neither side waits for the other. */
static int input_fd(struct sys *s, struct bytes input)
{
	AUTO(close_fd) int fd = memfd_create("input", MFD_CLOEXEC);

	for (size_t done = 0; fd >= 0 && done < input.n;) {
		ssize_t got = s->write(s, fd, input.p + done, input.n - done);
		if (got < 0)
			return -1;
		done += (size_t)got;
	}
	if (fd < 0 || s->seek(s, fd, 0, SEEK_SET) != 0)
		return -1;
	int given = fd;
	fd = -1;
	return given;
}

static bool make_stream(struct stream *io, int *ret_write_fd)
{
	int pipe_fd[2];

	if (pipe2(pipe_fd, O_CLOEXEC))
		return false;
	(void)fcntl(pipe_fd[0], F_SETFL, O_NONBLOCK);
	io->fd = pipe_fd[0];
	*ret_write_fd = pipe_fd[1];
	return true;
}

/* The write ends are closed here right after the start, or the streams would never end. */
int proc_capture(struct sys *s, struct arena *a, const struct proc_spec *spec, struct bytes input,
	size_t max_bytes, int timeout_ms, struct proc_output *ret, struct err *e)
{
	AUTO(proc_done) struct proc p = { 0 };
	AUTO(close_fd) int in = -1;
	AUTO(close_fd) int out = -1;
	AUTO(close_fd) int err = -1;
	struct stream io[2] = { { .fd = -1 }, { .fd = -1 } };
	struct proc_output got = { 0 };
	struct proc_spec with = *spec;
	int64_t deadline = deadline_of(s, timeout_ms);
	int rc;

	in = input_fd(s, input);
	if (in < 0 || !make_stream(&io[0], &out) || !make_stream(&io[1], &err)) {
		rc = err_sys(e, "PROC_START", "cannot start '%s'", spec->argv[0]);
	} else {
		with.in_fd = in;
		with.out_fd = out;
		with.err_fd = err;
		rc = proc_start(s, &with, &p, e);
	}
	close_fd(&out);
	close_fd(&err);
	out = err = -1;
	if (!rc)
		rc = read_streams(s, a, &p, io, max_bytes, deadline, &got, e);
	close_fd(&io[0].fd);
	close_fd(&io[1].fd);
	if (rc)
		return rc;
	got.out = stream_bytes(a, &io[0]);
	got.err = stream_bytes(a, &io[1]);
	got.is_cut = io[0].is_cut || io[1].is_cut;
	*ret = got;
	return OK;
}

/* What the kernel says about a process; pid 0 is ourselves. False when there is none. */
bool proc_look(struct sys *s, int64_t pid, struct proc_info *ret)
{
	char path[64] = "/proc/self/stat", text[1024];
	long long parent, group, session, tty, start;
	char state;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	AUTO(close_fd) int fd = s->open(s, AT_FDCWD, path, O_RDONLY, 0, 0);
	ssize_t n = fd >= 0 ? s->read(s, fd, text, sizeof(text) - 1) : 0;
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The name in parentheses may hold anything; the fields are counted behind it. */
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	if (!open || !close || close < open ||
		sscanf(close + 1,
			" %c %lld %lld %lld %lld %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			"%lld",
			&state, &parent, &group, &session, &tty, &start) != 6)
		return false;
	*ret = (struct proc_info){ .pid = strtoll(text, NULL, 10),
		.parent = parent,
		.session = session,
		.tty = tty,
		.start_ticks = start,
		.has_ended = state == 'Z' || state == 'X' };
	size_t len = (size_t)(close - open - 1);
	memcpy(ret->name, open + 1, len < sizeof(ret->name) ? len : sizeof(ret->name) - 1);
	return true;
}

int64_t proc_start_ticks(struct sys *s, int64_t pid)
{
	struct proc_info info;

	return proc_look(s, pid, &info) && !info.has_ended ? info.start_ticks : 0;
}

bool proc_is_running(struct sys *s, int64_t pid, int64_t start_ticks)
{
	return pid > 0 && start_ticks > 0 && proc_start_ticks(s, pid) == start_ticks;
}

const char *proc_boot_id(struct sys *s, struct arena *a)
{
	struct bytes text;

	if (file_read(s, a, AT_FDCWD, "/proc/sys/kernel/random/boot_id", 4096, 0, &text, NULL))
		return NULL;
	size_t n = strcspn((const char *)text.p, "\n");
	return n ? arena_strndup(a, (const char *)text.p, n) : NULL;
}

int proc_become(const char *const *argv, struct err *e)
{
	execv(argv[0], (char *const *)(uintptr_t)argv);
	return err_sys(e, "PROC_START", "cannot start %s", argv[0]);
}

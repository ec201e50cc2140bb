/* session.c — the warden of a session, and the keeper's hold on it.
 *
 * The warden is a process of its own with a copy of the keeper's memory, which holds no key.  It has one socket, to the keeper, and
 * nothing else open.  A call is started with vfork semantics: the ward uses the warden's memory, and the warden stands still, until the
 * ward has become the command; so nothing is copied, and what the ward reports is there at once.
 *
 * Every call is a process group of its own in the warden's session, so that it can be stopped and continued (the kernel does not stop
 * groups that nobody in their session looks after).  It has no controlling terminal: a terminal among its streams can be read, written
 * and asked for its size all the same, and what is typed there arrives as signals of the wrapper.
 *
 * When the keeper ends, however it ends, the warden does, and with the pid namespace everything inside. */
#include "execute/session.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_REFUSED = 125, STACK_BYTES = 256 << 10, CALLS_MAX = 512, CONTROL_FD = 3 };
enum { RUN_CALL = 1, SIGNAL_CALL, CLOSE_PLACES };
/* The texts of RUN_CALL, in this order; argv and environment follow, each ended by an empty list mark. */
enum { T_PROGRAM, T_CWD, T_NOTE, T_UMASK, T_LIMITS, T_ARGC, T_FIRST };

struct session {
	const struct sandbox_rules *rules;
	int socket;
	pid_t warden;
	bool is_namespace; /* the kernel ends everything inside with the warden */
};

/* What the warden knows. */
struct inside {
	const struct sandbox_rules *rules;
	struct sandbox_report report; /* of what all calls share */
	int socket, signals;
	char *stack; /* of a ward, until it has become the command */
	struct one_call {
		uint32_t call;
		pid_t pid;
		struct sandbox_report report;
		char note[PATH_MAX];
	} calls[CALLS_MAX];
	size_t call_count;
};

/* ---- the ward ---- */

struct becoming {
	const struct inside *in;
	struct one_call *one;
	const struct bundle *b;
	const char *const *argv, *const *environment;
	bool has_extra;
};

char *session_limits(struct arena *a)
{
	struct buf text;
	struct rlimit r;

	buf_init(&text, a);
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (getrlimit((__rlimit_resource_t)i, &r) == 0)
			buf_addf(&text, "%d %llu %llu ", i, (unsigned long long)r.rlim_cur,
				(unsigned long long)r.rlim_max);
	return text.p;
}

/* Those of the wrapper.  What cannot be set is left: they guard against accidents. */
static void set_client_limits(const char *text)
{
	char *at = (char *)text;

	for (;;) {
		char *end;
		long which = strtol(at, &end, 10);
		if (end == at)
			return;
		struct rlimit r;
		r.rlim_cur = strtoull(end, &end, 10);
		r.rlim_max = strtoull(end, &end, 10);
		(void)setrlimit((__rlimit_resource_t)which, &r);
		at = end;
	}
}

static void default_signals(void)
{
	for (int n = 1; n < NSIG; n++)
		signal(n, SIG_DFL);
}

static void unblock_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the warden's memory, on a stack of its own; leaves with execve() or _exit(). */
static int become_call(void *arg)
{
	struct becoming *x = arg;
	struct sandbox_report *report = &x->one->report;
	const char *cwd = x->b->texts[T_CWD];
	int extra = x->has_extra ? x->b->fds[3] : -1;

	setpgid(0, 0);
	default_signals();
	if (!report->pid_namespace)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	umask((mode_t)strtoul(x->b->texts[T_UMASK], NULL, 8));
	set_client_limits(x->b->texts[T_LIMITS]);
	for (int i = 0; i < 3; i++)
		if (dup2(x->b->fds[i], i) < 0)
			_exit(EXIT_REFUSED);
	if (chdir(cwd)) {
		snprintf(report->refused, sizeof(report->refused), "cannot enter '%.150s': %s", cwd,
			strerror(errno));
		_exit(EXIT_REFUSED);
	}
	if (sandbox_lock(x->in->rules, report))
		_exit(EXIT_REFUSED);
	if (extra == SESSION_EXTRA)
		(void)fcntl(extra, F_SETFD, 0);
	else if (extra >= 0)
		(void)dup2(extra, SESSION_EXTRA);
	unblock_signals();
	execve(x->b->texts[T_PROGRAM], (char *const *)x->argv, (char *const *)x->environment);
	report->exec_errno = errno;
	_exit(errno == ENOENT ? 127 : 126);
}

/* ---- the warden ---- */

static void tell(const struct inside *in, struct session_news *news)
{
	/* No child at all: not even one that another call left behind. */
	news->is_empty = waitid(P_ALL, 0, NULL, WEXITED | WNOHANG | WNOWAIT) && errno == ECHILD;
	while (send(in->socket, news, sizeof(*news), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* One line that the command left; the file is gone afterwards.  Whatever else lies there says nothing. */
static void read_note(const char *path, char to[SESSION_NOTE])
{
	struct stat st;
	AUTO(close_fd) int fd = *path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;

	to[0] = '\0';
	if (fd < 0)
		return;
	ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, to, SESSION_NOTE - 1) : 0;
	to[n > 0 ? n : 0] = '\0';
	to[strcspn(to, "\n")] = '\0';
	(void)unlink(path);
}

static void tell_end(struct inside *in, size_t i, int status)
{
	struct session_news news = { .what = SESSION_ENDED, .call = in->calls[i].call, .status = status };

	news.report = in->calls[i].report;
	read_note(in->calls[i].note, news.note);
	in->calls[i] = in->calls[--in->call_count];
	tell(in, &news);
}

/* A ward that could not be started is told like one that ended. */
static void start_call(struct inside *in, const struct bundle *b)
{
	struct one_call *one = &in->calls[in->call_count];
	size_t argc = 0;
	int64_t count = 0;

	*one = (struct one_call){ .call = b->call, .report = in->report };
	bool is_sound = b->text_count >= T_FIRST && text_int(b->texts[T_ARGC], &count) && count > 0 &&
		(size_t)count < b->text_count - T_FIRST && b->fds[2] >= 0 && in->call_count < CALLS_MAX - 1;
	in->call_count++;
	if (!is_sound) {
		snprintf(one->report.refused, sizeof(one->report.refused), "too many calls at once");
		tell_end(in, in->call_count - 1, EXIT_REFUSED << 8);
		return;
	}
	argc = (size_t)count;
	snprintf(one->note, sizeof(one->note), "%s", b->texts[T_NOTE]);
	/* The texts end in NULL; argv is ended where the environment begins. */
	const char **argv = (const char **)b->texts + T_FIRST;
	argv[argc] = NULL;
	struct becoming x = { in, one, b, argv, argv + argc + 1, b->fds[3] >= 0 };
	one->pid = clone(become_call, in->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, &x);
	if (one->pid < 0) {
		snprintf(one->report.refused, sizeof(one->report.refused), "clone: %s", strerror(errno));
		tell_end(in, in->call_count - 1, EXIT_REFUSED << 8);
	}
}

static void signal_call(const struct inside *in, const struct bundle *b)
{
	for (size_t i = 0; i < in->call_count; i++)
		if (in->calls[i].call == b->call && in->calls[i].pid > 0)
			(void)kill(-in->calls[i].pid, b->number);
}

/* number: how many of the texts are to be hidden; the rest is read-only from now on. */
static void close_places(const struct inside *in, const struct bundle *b)
{
	const char **texts = (const char **)b->texts;
	size_t n = (size_t)b->number;

	if (n > b->text_count || !in->report.mount_namespace)
		return;
	const char **hidden = calloc(n + 1, sizeof(*hidden));
	if (!hidden)
		_exit(EXIT_REFUSED);
	memcpy(hidden, texts, n * sizeof(*hidden));
	/* What cannot be closed must not be taken for closed: no call goes on without it. */
	if (sandbox_close_places(in->rules, hidden, texts + n))
		_exit(EXIT_REFUSED);
	free(hidden);
}

/* Everybody who has ended or stopped by now. */
static void reap(struct inside *in)
{
	int status;
	pid_t pid;
	bool was_stray = false;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		size_t i = 0;
		while (i < in->call_count && in->calls[i].pid != pid)
			i++;
		if (i == in->call_count) {
			was_stray = true;
			continue;
		}
		if (WIFSTOPPED(status)) {
			struct session_news news = { .what = SESSION_STOPPED, .call = in->calls[i].call };
			tell(in, &news);
		} else {
			tell_end(in, i, status);
		}
	}
	if (was_stray) {
		struct session_news news = { .what = SESSION_QUIET };
		tell(in, &news);
	}
}

static void serve_keeper(struct inside *in)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bundle b;

	if (bundle_receive(&a, in->socket, &b)) {
		if (!in->report.pid_namespace)
			run_end_strays();
		_exit(0); /* the keeper is gone */
	}
	if (b.kind == RUN_CALL)
		start_call(in, &b);
	else if (b.kind == SIGNAL_CALL)
		signal_call(in, &b);
	else if (b.kind == CLOSE_PLACES)
		close_places(in, &b);
	bundle_close_fds(&b);
}

/* Only the socket stays open, and it is nobody's streams that keep somebody waiting. */
static int keep_socket(int socket)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(socket, CONTROL_FD) < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
		dup2(null, 2) < 0)
		return -1;
	(void)fcntl(CONTROL_FD, F_SETFD, FD_CLOEXEC);
	return (int)syscall(SYS_close_range, CONTROL_FD + 1, ~0U, 0);
}

static int be_warden(void *arg)
{
	struct inside *in = arg;
	struct session_news news = { .what = SESSION_QUIET };
	sigset_t all;

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (keep_socket(in->socket))
		_exit(EXIT_REFUSED);
	in->socket = CONTROL_FD;
	if (sandbox_prepare(in->rules, &in->report)) {
		news.report = in->report;
		tell(in, &news);
		_exit(EXIT_REFUSED);
	}
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* nobody inside looks into this memory */
	prctl(PR_SET_NAME, "helm-warden", 0, 0, 0);
	in->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	in->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (in->signals < 0 || in->stack == MAP_FAILED)
		_exit(EXIT_REFUSED);
	tell(in, &news); /* the walls stand */
	for (;;) {
		struct pollfd p[] = { { in->socket, POLLIN, 0 }, { in->signals, POLLIN, 0 } };
		struct signalfd_siginfo info;
		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			_exit(EXIT_REFUSED);
		while (p[1].revents && read(in->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			;
		reap(in);
		if (p[0].revents)
			serve_keeper(in);
	}
}

/* ---- in the keeper ---- */

int session_start(const struct sandbox_rules *rules, struct session **ret, struct err *e)
{
	static struct inside in; /* the warden has its own copy */
	static struct session x;
	struct session_news news;
	int pair[2];
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

	if (stack == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_sys(e, "SESSION_START", "cannot start a session");
	in = (struct inside){ .rules = rules, .socket = pair[1] };
	x = (struct session){ .rules = rules, .socket = pair[0] };
	x.warden = sandbox_start(rules, &in.report, 0, be_warden, &in, stack + STACK_BYTES);
	x.is_namespace = in.report.pid_namespace;
	close(pair[1]);
	munmap(stack, STACK_BYTES);
	if (x.warden < 0) {
		close(x.socket);
		return err_sys(e, "SESSION_START", "cannot start a session");
	}
	*ret = &x;
	bool is_heard = session_hear(&x, &news) == 0;
	if (is_heard && !news.report.refused[0])
		return OK;
	session_end(ret);
	return err_set(e, E_DENIED, "SANDBOX_REFUSED", "no walls could be put up: %s",
		is_heard ? news.report.refused : "the first process inside ended at once");
}

int session_fd(const struct session *x)
{
	return x->socket;
}

int session_hear(struct session *x, struct session_news *ret)
{
	ssize_t n;

	while ((n = recv(x->socket, ret, sizeof(*ret), 0)) < 0 && errno == EINTR)
		;
	return n == (ssize_t)sizeof(*ret) ? 0 : -1;
}

static size_t count_of(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

int session_run(struct session *x, uint32_t call, const struct session_call *how)
{
	AUTO(arena_done) struct arena a = { 0 };
	size_t argc = count_of(how->argv), envc = count_of(how->environment);
	const char **texts = arena_zalloc(&a, T_FIRST + argc + envc + 2, sizeof(*texts));
	struct bundle b = { .kind = RUN_CALL,
		.call = call,
		.texts = texts,
		.text_count = T_FIRST + argc + 1 + envc,
		.fds = { how->streams[0], how->streams[1], how->streams[2], how->extra, -1 } };

	texts[T_PROGRAM] = how->program;
	texts[T_CWD] = how->cwd;
	texts[T_NOTE] = how->note ? how->note : "";
	texts[T_UMASK] = arena_printf(&a, "%o", how->umask);
	texts[T_LIMITS] = how->limits ? how->limits : "";
	texts[T_ARGC] = arena_printf(&a, "%zu", argc);
	memcpy(texts + T_FIRST, how->argv, argc * sizeof(*texts));
	texts[T_FIRST + argc] = ""; /* becomes the end of argv */
	memcpy(texts + T_FIRST + argc + 1, how->environment, envc * sizeof(*texts));
	return bundle_send(x->socket, &b);
}

void session_signal(struct session *x, uint32_t call, int signal_number)
{
	struct bundle b = {
		.kind = SIGNAL_CALL, .call = call, .number = signal_number, .fds = { -1, -1, -1, -1, -1 }
	};

	(void)bundle_send(x->socket, &b);
}

int session_close_places(struct session *x, const char *const *hidden, const char *const *read_only)
{
	AUTO(arena_done) struct arena a = { 0 };
	size_t h = count_of(hidden), r = count_of(read_only);
	const char **texts = arena_zalloc(&a, h + r + 1, sizeof(*texts));
	struct bundle b = { .kind = CLOSE_PLACES,
		.number = (int32_t)h,
		.texts = texts,
		.text_count = h + r,
		.fds = { -1, -1, -1, -1, -1 } };

	if (!(h + r))
		return 0;
	memcpy(texts, hidden, h * sizeof(*texts));
	memcpy(texts + h, read_only, r * sizeof(*texts));
	return bundle_send(x->socket, &b);
}

void session_end(struct session **given)
{
	struct session *x = *given;

	if (!x)
		return;
	*given = NULL;
	close(x->socket); /* the warden ends by that; where it must end the others itself, it is given the time */
	if (x->is_namespace)
		(void)kill(x->warden, SIGKILL);
	(void)waitpid(x->warden, NULL, 0);
}

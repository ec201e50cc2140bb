/* session.c — the first processes of a session, and the keeper's hold on them.
 *
 *   keeper ──> warden: the namespaces; it alone can still mount, reaps what loses its parent, and does nothing else
 *                └──> nurse: locks itself in once, starts the calls
 *                       └──> ward: one call
 *
 * Landlock parts processes that locked themselves in one by one: a call could neither signal nor look at a server that an earlier call
 * left running.  So the nurse locks itself in, with the same code as the ward of a run (sandbox.h), and all calls are its children.  It is
 * inside itself, and so holds nothing that a call must not have: a call that kills it ends its own session.
 *
 * Both have a copy of the keeper's memory, which holds no key, and a socket to the keeper; nobody looks into their memory.  A call is started
 * with vfork semantics: the ward uses the nurse's memory, and the nurse stands still, until the ward has become the command; so nothing is
 * copied.  Every call is a process group of its own in the warden's session, so that it can be stopped and continued (the kernel does not
 * stop groups that nobody in their session looks after).  It has no controlling terminal: a terminal among its streams can be read,
 * written and asked for its size all the same, and what is typed there arrives as signals of the wrapper.
 *
 * When the keeper ends, however it ends, the warden does, and with the pid namespace everything inside. */
#include "execute/session.h"

#include "base/text.h"
#include "execute/become.h"
#include "execute/machine.h"
#include "execute/supervise.h"

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

enum { EXIT_REFUSED = 125, STACK_BYTES = 256 << 10, CALLS_MAX = 512, CONTROL_FD = 3, NURSE_FD, KEPT_FD };
enum { RUN_CALL = 1, SIGNAL_CALL, CLOSE_PLACES, ASK_EMPTY };
/* The texts of RUN_CALL, in this order; argv and environment follow, each ended by an empty list mark. */
enum { T_PROGRAM, T_CWD, T_NOTE, T_UMASK, T_LIMITS, T_READS_ONLY, T_ARGC, T_FIRST };

struct session {
	int warden_socket, nurse_socket;
	pid_t warden;
	struct cgroup group;
	bool is_namespace; /* the kernel ends everything inside with the warden */
};

/* What warden and nurse know; each has its own copy. */
struct inside {
	const struct sandbox_rules *rules;
	struct sandbox_report report; /* of the walls, the same for all calls */
	struct cgroup group; /* of the nurse and all calls */
	int socket, signals;
	int notify[2]; /* where calls are heard: the nurse gives the warden the listener of its filter */
	struct supervisor supervisor; /* the warden is it */
	pid_t nurse, nurse_listed; /* the second: as /proc numbers it */
	char *stack; /* of the nurse, and then of a ward until it has become the command */
	struct one_call {
		uint32_t call;
		pid_t pid;
		int exec_errno;
		char refused[256];
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

/* Those of the wrapper, as far as the walls leave them. */
static void set_client_limits(const char *text)
{
	char *at = (char *)text, *end;

	for (long which; (which = strtol(at, &end, 10)), end != at; at = end) {
		struct rlimit want, have;
		want.rlim_cur = strtoull(end, &end, 10);
		want.rlim_max = strtoull(end, &end, 10);
		if (getrlimit((__rlimit_resource_t)which, &have))
			continue;
		have.rlim_max = want.rlim_max < have.rlim_max ? want.rlim_max : have.rlim_max;
		have.rlim_cur = want.rlim_cur < have.rlim_max ? want.rlim_cur : have.rlim_max;
		(void)setrlimit((__rlimit_resource_t)which, &have);
	}
}

/* In the nurse's memory, on a stack of its own; leaves with execve() or _exit().  The walls stand already. */
static int become_call(void *arg)
{
	struct becoming *x = arg;
	const char *cwd = x->b->texts[T_CWD];
	int extra = x->has_extra ? x->b->fds[3] : -1;

	setpgid(0, 0);
	default_signals();
	if (!x->in->report.pid_namespace)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	umask((mode_t)strtoul(x->b->texts[T_UMASK], NULL, 8));
	set_client_limits(x->b->texts[T_LIMITS]);
	for (int i = 0; i < 3; i++)
		if (dup2(x->b->fds[i], i) < 0)
			_exit(EXIT_REFUSED);
	if (chdir(cwd)) {
		snprintf(x->one->refused, sizeof(x->one->refused), "cannot enter '%.150s': %s", cwd,
			strerror(errno));
		_exit(EXIT_REFUSED);
	}
	if (text_eq(x->b->texts[T_READS_ONLY], "1") && reads_only_lock(x->in->rules, &x->in->report)) {
		snprintf(x->one->refused, sizeof(x->one->refused),
			"the client's own sandbox lets nothing be written, and Landlock cannot be had for that: %s",
			strerror(errno));
		_exit(EXIT_REFUSED);
	}
	if (extra == SESSION_EXTRA)
		(void)fcntl(extra, F_SETFD, 0);
	else if (extra >= 0)
		(void)dup2(extra, SESSION_EXTRA);
	unblock_signals();
	execve(x->b->texts[T_PROGRAM], (char *const *)x->argv, (char *const *)x->environment);
	x->one->exec_errno = errno;
	_exit(errno == ENOENT ? 127 : 126);
}

/* ---- the nurse ---- */

static void tell(const struct inside *in, const struct session_news *news)
{
	while (send(in->socket, news, sizeof(*news), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* A supervisor carries it out, and must be able to look at who asks; the nurse cannot be looked at.  So a process does it that has nothing
 * but the path. */
static void remove_note(const char *path, bool is_supervised)
{
	pid_t pid = is_supervised ? _Fork() : -1;

	if (!is_supervised) {
		(void)unlink(path);
		return;
	}
	if (pid == 0) {
		(void)syscall(SYS_close_range, 3, ~0U, 0);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		(void)unlink(path);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* One line that the command left; the file is gone afterwards.  Whatever else lies there says nothing. */
static void read_note(const char *path, bool is_supervised, char to[SESSION_NOTE])
{
	struct stat st;
	AUTO(close_fd) int fd = *path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;

	to[0] = '\0';
	if (fd < 0)
		return;
	ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, to, SESSION_NOTE - 1) : 0;
	to[n > 0 ? n : 0] = '\0';
	to[strcspn(to, "\n")] = '\0';
	remove_note(path, is_supervised);
}

static void tell_end(struct inside *in, size_t i, int status)
{
	struct session_news news = { .what = SESSION_ENDED, .call = in->calls[i].call, .status = status };

	news.report = in->report;
	news.report.exec_errno = in->calls[i].exec_errno;
	memcpy(news.report.refused, in->calls[i].refused, sizeof(news.report.refused));
	read_note(in->calls[i].note, in->report.supervised, news.note);
	in->calls[i] = in->calls[--in->call_count];
	tell(in, &news);
}

/* A ward that could not be started is told like one that ended. */
static void start_call(struct inside *in, const struct bundle *b)
{
	struct one_call *one = &in->calls[in->call_count];
	size_t argc = 0;
	int64_t count = 0;

	*one = (struct one_call){ .call = b->call };
	bool is_sound = b->text_count >= T_FIRST && text_int(b->texts[T_ARGC], &count) && count > 0 &&
		(size_t)count < b->text_count - T_FIRST && b->fds[2] >= 0,
	     has_room = in->call_count < CALLS_MAX - 1;
	in->call_count++;
	if (!is_sound || !has_room) {
		snprintf(one->refused, sizeof(one->refused),
			has_room ? "the call cannot be read" : "too many calls at once");
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
		snprintf(one->refused, sizeof(one->refused), "clone: %s", strerror(errno));
		tell_end(in, in->call_count - 1, EXIT_REFUSED << 8);
	}
}

static void signal_call(const struct inside *in, const struct bundle *b)
{
	for (size_t i = 0; i < in->call_count; i++)
		if (in->calls[i].call == b->call && in->calls[i].pid > 0)
			(void)kill(-in->calls[i].pid, b->number);
}

/* Every call that has ended or stopped by now. */
static void reap_calls(struct inside *in)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		size_t i = 0;
		while (i < in->call_count && in->calls[i].pid != pid)
			i++;
		if (i < in->call_count && WIFSTOPPED(status))
			tell(in,
				&(struct session_news){ .what = SESSION_STOPPED, .call = in->calls[i].call });
		else if (i < in->call_count)
			tell_end(in, i, status);
	}
}

static void serve_calls(struct inside *in)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bundle b;

	if (bundle_receive(&a, in->socket, &b))
		_exit(0); /* the keeper is gone */
	if (b.kind == RUN_CALL)
		start_call(in, &b);
	else if (b.kind == SIGNAL_CALL)
		signal_call(in, &b);
	bundle_close_fds(&b);
}

/* Wait for signals or the keeper; all signals are blocked.  True: the keeper wants something. */
static bool await(struct inside *in, bool is_warden)
{
	struct pollfd p[] = { { in->socket, POLLIN, 0 }, { in->signals, POLLIN, 0 },
		is_warden ? supervisor_await(&in->supervisor, in->notify[0]) : (struct pollfd){ .fd = -1 },
		{ is_warden && in->supervisor.files_watch > 0 ? in->supervisor.files_watch : -1, POLLIN,
			0 } };
	struct signalfd_siginfo info;
	const int due_ms = is_warden ? supervisor_patience(&in->supervisor) : -1;
	const int n = poll(p, ARRAY_SIZE(p), due_ms);

	if (n < 0 && errno != EINTR)
		_exit(EXIT_REFUSED);
	if (is_warden)
		supervisor_renew_files(&in->supervisor, p[3].revents);
	supervisor_act(&in->supervisor, in->notify, p[2].revents);
	while (p[1].revents && read(in->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		;
	return p[0].revents;
}

static int open_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

static _Noreturn void be_nurse(struct inside *in)
{
	struct session_news news = { .what = SESSION_READY };

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	close(CONTROL_FD);
	if (in->report.files_dir > 0)
		close(in->report.files_dir);
	in->socket = NURSE_FD;
	in->signals = open_signals();
	bool is_locked = in->signals >= 0 && sandbox_lock(in->rules, &in->group, &in->report) == 0 &&
		(in->report.listener <= 0 ||
			supervisor_send_listener(in->notify[1], in->report.listener) == 0);
	if (in->report.listener > 0)
		close(in->report.listener); /* who has it answers for what is outside */
	close_fd(&in->notify[0]);
	close_fd(&in->notify[1]);
	if (!is_locked && !in->report.refused[0])
		snprintf(in->report.refused, sizeof(in->report.refused), "signals: %s", strerror(errno));
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* no call looks into this memory */
	news.report = in->report;
	tell(in, &news);
	while (is_locked) {
		bool is_wanted = await(in, false);
		reap_calls(in);
		if (is_wanted)
			serve_calls(in);
	}
	_exit(EXIT_REFUSED);
}

/* ---- the warden ---- */

/* number: how many of the texts are to be hidden; the rest is read-only from now on. */
static int close_places(const struct inside *in, const struct bundle *b)
{
	const char **texts = (const char **)b->texts;
	size_t n = (size_t)b->number;

	if (n > b->text_count)
		return -1;
	if (!in->report.mount_namespace) {
		for (size_t i = 0; in->supervisor.listener >= 0 && i < b->text_count; i++)
			if (supervisor_close_place((struct supervisor *)&in->supervisor, texts[i]))
				return -1;
		return 0; /* the report says so */
	}
	const char **hidden = calloc(n + 1, sizeof(*hidden));
	if (!hidden)
		return -1;
	memcpy(hidden, texts, n * sizeof(*hidden));
	int rc = sandbox_close_places(in->rules, hidden, texts + n);
	free(hidden);
	return rc;
}

/* Reads the list of children of the process `pid` (0: this one) into `text`.  Returns its length, or -1. */
static ssize_t read_children(pid_t pid, char *text, size_t size)
{
	char path[64];

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	else
		snprintf(path, sizeof(path), "/proc/thread-self/children");
	AUTO(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
	text[n > 0 ? n : 0] = '\0';
	return n;
}

/* The number of this process's first child, or 0.  Where no /proc of our own could be mounted, as in many containers, /proc has the
 * numbers of another pid namespace: not the one that fork() gave. */
static pid_t listed_child(void)
{
	char text[256];

	return read_children(0, text, sizeof(text)) > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* Has the process `pid` (0: this one) no child but `known`?  Both are numbers of /proc. */
static bool has_no_child(pid_t pid, pid_t known)
{
	char text[256];
	ssize_t n = read_children(pid, text, sizeof(text));
	char *end = text;
	bool is_known = n <= 0 || strtol(text, &end, 10) == known;
	return n >= 0 && is_known && strspn(end, " \n") == strlen(end);
}

static void serve_keeper(struct inside *in)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bundle b, answer = { .fds = { -1, -1, -1, -1, -1 } };

	if (bundle_receive(&a, in->socket, &b)) {
		if (!in->report.pid_namespace) {
			cgroup_kill(&in->group);
			run_end_strays();
		}
		_exit(0); /* the keeper is gone */
	}
	if (b.kind == CLOSE_PLACES)
		answer.number = close_places(in, &b);
	else if (b.kind == ASK_EMPTY)
		answer.number = in->nurse_listed && has_no_child(0, in->nurse_listed) &&
			has_no_child(in->nurse_listed, 0);
	bundle_close_fds(&b);
	(void)bundle_send(in->socket, &answer);
}

/* Only the sockets and `kept` stay open, and nobody's streams that somebody waits for.  Of `kept`, 0 or less is none. */
static int keep_sockets(int warden, int nurse, int *const kept[], size_t count)
{
	int null = open("/dev/null", O_RDWR), next = KEPT_FD;
	/* Out of the way first: each may have the number that the other is to get. */
	int w = fcntl(warden, F_DUPFD, 20), n = fcntl(nurse, F_DUPFD, 20);

	for (size_t i = 0; i < count; i++)
		*kept[i] = *kept[i] > 0 ? fcntl(*kept[i], F_DUPFD, 20) : *kept[i];
	if (null < 0 || w < 0 || n < 0 || dup2(w, CONTROL_FD) < 0 || dup2(n, NURSE_FD) < 0 ||
		dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		return -1;
	(void)fcntl(CONTROL_FD, F_SETFD, FD_CLOEXEC);
	(void)fcntl(NURSE_FD, F_SETFD, FD_CLOEXEC);
	for (size_t i = 0; i < count; i++)
		if (*kept[i] > 0)
			*kept[i] = dup3(*kept[i], next++, O_CLOEXEC);
	return (int)syscall(SYS_close_range, next, ~0U, 0);
}

struct opening {
	struct inside in;
	int warden, nurse; /* their ends of the sockets */
};

static int be_warden(void *arg)
{
	struct opening *o = arg;
	struct inside *in = &o->in;
	struct session_news news = { .what = SESSION_READY };

	/* In a pid namespace everything ends with the warden.  Without one it must live to end it: the socket tells. */
	if (in->report.pid_namespace)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	in->signals = -1;
	in->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (in->stack == MAP_FAILED || sandbox_prepare(in->rules, &in->report)) {
		in->socket = o->nurse;
		news.report = in->report;
		tell(in, &news);
		_exit(EXIT_REFUSED);
	}
	/* The door's socket has been handed out by now. */
	int *const kept[] = { &in->group.dir, &in->report.files_dir };
	if (keep_sockets(o->warden, o->nurse, kept, ARRAY_SIZE(kept)) || (in->signals = open_signals()) < 0)
		_exit(EXIT_REFUSED);
	supervisor_take_files(&in->supervisor, &in->report);
	in->notify[0] = in->notify[1] = -1;
	if (sandbox_is_heard(in->rules) && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, in->notify))
		_exit(EXIT_REFUSED);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NAME, "helm-warden", 0, 0, 0);
	in->nurse = fork();
	if (in->nurse == 0)
		be_nurse(in);
	in->nurse_listed = listed_child();
	close(NURSE_FD);
	in->socket = CONTROL_FD;
	for (;;) {
		bool is_wanted = await(in, true);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (is_wanted)
			serve_keeper(in);
	}
}

/* ---- in the keeper ---- */

int session_start(struct sys *s, const struct sandbox_rules *rules, struct session **ret, struct err *e)
{
	static struct opening o; /* those inside have their own copies */
	static struct session x;
	struct session_news news = { 0 };
	int warden[2] = { -1, -1 }, nurse[2] = { -1, -1 };
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

	if (stack == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, warden) ||
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, nurse))
		return err_sys(e, "SESSION_START", "cannot start a session");
	o = (struct opening){ .in = { .rules = rules }, .warden = warden[1], .nurse = nurse[1] };
	if (supervisor_init(&o.in.supervisor, rules))
		return err_set(
			e, E_IO, "SESSION_START", "cannot start a session: too many places to protect");
	x = (struct session){ .warden_socket = warden[0], .nurse_socket = nurse[0] };
	x.warden = sandbox_start(s, rules, &o.in.report, &o.in.group, 0, be_warden, &o, stack + STACK_BYTES);
	x.group = o.in.group;
	x.is_namespace = o.in.report.pid_namespace;
	close(warden[1]);
	close(nurse[1]);
	munmap(stack, STACK_BYTES);
	*ret = &x;
	bool is_heard = x.warden > 0 && session_hear(&x, &news) == 0;
	if (is_heard && !news.report.refused[0])
		return OK;
	session_end(ret);
	return machine_refuse(s, rules, is_heard ? &news.report : NULL, e);
}

int session_fd(const struct session *x)
{
	return x->nurse_socket;
}

int session_hear(struct session *x, struct session_news *ret)
{
	ssize_t n;

	while ((n = recv(x->nurse_socket, ret, sizeof(*ret), 0)) < 0 && errno == EINTR)
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
	texts[T_READS_ONLY] = how->reads_only ? "1" : "";
	texts[T_ARGC] = arena_printf(&a, "%zu", argc);
	memcpy(texts + T_FIRST, how->argv, argc * sizeof(*texts));
	texts[T_FIRST + argc] = ""; /* becomes the end of argv */
	memcpy(texts + T_FIRST + argc + 1, how->environment, envc * sizeof(*texts));
	return bundle_send(x->nurse_socket, &b);
}

void session_signal(struct session *x, uint32_t call, int signal_number)
{
	struct bundle b = {
		.kind = SIGNAL_CALL, .call = call, .number = signal_number, .fds = { -1, -1, -1, -1, -1 }
	};

	(void)bundle_send(x->nurse_socket, &b);
}

/* What the warden answers, or -1. */
static int ask_warden(struct session *x, const struct bundle *b)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct bundle answer;

	if (bundle_send(x->warden_socket, b) || bundle_receive(&a, x->warden_socket, &answer))
		return -1;
	bundle_close_fds(&answer);
	return answer.number;
}

bool session_is_empty(struct session *x)
{
	return ask_warden(x, &(struct bundle){ .kind = ASK_EMPTY, .fds = { -1, -1, -1, -1, -1 } }) == 1;
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
	return ask_warden(x, &b);
}

void session_end(struct session **given)
{
	struct session *x = *given;

	if (!x)
		return;
	*given = NULL;
	close(x->nurse_socket);
	close(x->warden_socket); /* the warden ends by that; where it must end the others itself, it is given the time */
	if (x->warden > 0 && x->is_namespace)
		(void)kill(x->warden, SIGKILL);
	if (x->warden > 0)
		(void)waitpid(x->warden, NULL, 0);
	cgroup_end(&x->group);
}

/* run.c — the life of one child: start, watch, pass signals on, end everything, report.
 *
 * helm waits in one poll(): the warden's pidfd, a signalfd, the command's output, and the clock.  The warden waits for the ward
 * and reaps what is left behind; it tells helm through a pipe when the ward stopped on a terminal, so that Ctrl-Z stops helm
 * too.  Facts that only the children know (which walls stand, why exec failed) come back through shared memory. */
#include "execute/run.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { EXIT_REFUSED = 125 };

/* What the children leave for helm. */
struct shared {
	struct sandbox_report report;
	int wait_status; /* of the ward, as waitpid gives it */
	bool finished;
	char changed[256]; /* why the last look refused */
};

struct watch {
	struct sys *s;
	const struct run_request *request;
	struct run_result *result;
	struct shared *shared;
	pid_t warden;
	int pid_fd, signal_fd, control; /* control: the warden's "stopped" */
	int out_fd, err_fd; /* our ends of the output pipes, or -1 */
	struct sha256 out_hash, err_hash;
	int terminal; /* descriptor of the terminal we gave away, or -1 */
	int64_t deadline_us, kill_us, sign_us;
};

/* ---- in the ward ---- */

static void default_signals(void)
{
	sigset_t none;

	for (int n = 1; n < NSIG; n++)
		signal(n, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void become_command(const struct run_request *request, struct shared *shared)
{
	default_signals();
	if (request->cwd && chdir(request->cwd)) {
		snprintf(shared->report.refused, sizeof(shared->report.refused), "cannot enter '%s': %s",
			request->cwd, strerror(errno));
		_exit(EXIT_REFUSED);
	}
	if (sandbox_lock(request->rules, &shared->report))
		_exit(EXIT_REFUSED);
	environ = (char **)request->environment;
	if (request->last_look && !request->last_look(request->arg, shared->changed, sizeof(shared->changed)))
		_exit(EXIT_REFUSED);
	execvp(request->program ? request->program : request->argv[0], (char *const *)request->argv);
	shared->report.exec_errno = errno;
	_exit(errno == ENOENT ? 127 : 126);
}

/* ---- in the warden ---- */

/* Without a pid namespace the kernel does not end the tree for us. */
static void end_strays(void)
{
	for (int round = 0; round < 100; round++) {
		char text[4096];
		AUTO(close_fd) int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
		ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
		if (n <= 0)
			return;
		text[n] = '\0';
		for (char *at = text; *at;) {
			long pid = strtol(at, &at, 10);
			if (pid > 0)
				kill((pid_t)pid, SIGKILL);
			while (*at == ' ')
				at++;
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

_Noreturn static void be_warden(const struct run_request *request, struct shared *shared, int control)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (sandbox_prepare(request->rules, &shared->report))
		_exit(EXIT_REFUSED);
	pid_t ward = fork();
	if (ward < 0) {
		snprintf(shared->report.refused, sizeof(shared->report.refused), "fork: %s", strerror(errno));
		_exit(EXIT_REFUSED);
	}
	if (ward == 0)
		become_command(request, shared);
	/* Output pipes must end when the command's processes end, not when we do. */
	(void)dup2(open("/dev/null", O_RDWR | O_CLOEXEC), 0);
	(void)dup2(0, 1);
	(void)dup2(0, 2);
	for (;;) {
		int status;
		pid_t who = waitpid(-1, &status, WUNTRACED);
		if (who < 0 && errno == EINTR)
			continue;
		if (who == ward && WIFSTOPPED(status)) {
			(void)!write(control, "s", 1);
			continue;
		}
		if (who != ward && who > 0)
			continue;
		shared->wait_status = who == ward ? status : 0;
		shared->finished = who == ward;
		break;
	}
	if (!shared->report.pid_namespace)
		end_strays();
	_exit(0);
}

/* ---- in helm ---- */

static void to_group(struct watch *w, int signal_number)
{
	(void)kill(-w->warden, signal_number);
}

static void end_all(struct watch *w)
{
	to_group(w, SIGKILL);
	(void)kill(w->warden, SIGKILL);
}

/* TERM now, KILL after the grace period. */
static void ask_to_end(struct watch *w, int signal_number)
{
	int64_t now = w->s->mono_us(w->s);

	to_group(w, signal_number);
	to_group(w, SIGCONT);
	if (!w->kill_us)
		w->kill_us = now + (int64_t)RUN_GRACE_MS * 1000;
	else if (signal_number == SIGINT)
		end_all(w);
}

static void keep_tail(struct run_stream *stream, const char *p, size_t n)
{
	stream->bytes += n;
	if (n >= RUN_TAIL_BYTES) {
		memcpy(stream->tail, p + n - RUN_TAIL_BYTES, RUN_TAIL_BYTES);
		stream->tail_n = RUN_TAIL_BYTES;
		return;
	}
	size_t over = stream->tail_n + n > RUN_TAIL_BYTES ? stream->tail_n + n - RUN_TAIL_BYTES : 0;
	memmove(stream->tail, stream->tail + over, stream->tail_n - over);
	memcpy(stream->tail + stream->tail_n - over, p, n);
	stream->tail_n += n - over;
}

static bool pass_on(int to, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(to, p, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

/* One read from an output pipe.  When our own reader has gone, the pipe is closed, so that the command learns it. */
static void drain(struct watch *w, int *fd, int to, struct run_stream *stream, struct sha256 *hash)
{
	char chunk[64 << 10];
	ssize_t n = read(*fd, chunk, sizeof(chunk));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		sha256_add(hash, chunk, (size_t)n);
		keep_tail(stream, chunk, (size_t)n);
		if (w->request->quiet || pass_on(to, chunk, (size_t)n))
			return;
	}
	close(*fd);
	*fd = -1;
}

static void give_terminal(struct watch *w)
{
	if (w->terminal >= 0)
		(void)tcsetpgrp(w->terminal, w->warden);
}

static void take_terminal(struct watch *w)
{
	if (w->terminal >= 0)
		(void)tcsetpgrp(w->terminal, getpgrp());
}

/* The command stopped on the terminal: so do we, and when we are continued, so is it. */
static void stop_together(struct watch *w)
{
	char byte;

	if (read(w->control, &byte, 1) != 1)
		return;
	take_terminal(w);
	kill(getpid(), SIGSTOP);
	give_terminal(w);
	to_group(w, SIGCONT);
}

static void take_signal(struct watch *w)
{
	struct signalfd_siginfo info;

	if (read(w->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	w->result->interrupted = true;
	ask_to_end(w, (int)info.ssi_signo);
}

static int next_timeout_ms(struct watch *w)
{
	int64_t at = w->kill_us ? w->kill_us : w->deadline_us;

	if (w->sign_us && (!at || w->sign_us < at))
		at = w->sign_us;
	if (!at)
		return -1;
	int64_t left = at - w->s->mono_us(w->s);
	return left <= 0 ? 0 : left / 1000 > 1000000 ? 1000000 : (int)(left / 1000) + 1;
}

static void check_clock(struct watch *w)
{
	int64_t now = w->s->mono_us(w->s);

	if (w->sign_us && now >= w->sign_us) {
		w->request->sign_of_life(w->request->arg);
		w->sign_us = now + w->request->sign_ms * 1000;
	}
	if (w->kill_us && now >= w->kill_us) {
		end_all(w);
		w->kill_us = now + 1000000;
	} else if (!w->kill_us && w->deadline_us && now >= w->deadline_us) {
		w->result->timed_out = true;
		ask_to_end(w, SIGTERM);
	}
}

static void wait_for_end(struct watch *w)
{
	bool running = true;

	while (running || w->out_fd >= 0 || w->err_fd >= 0) {
		struct pollfd p[] = {
			{ running ? w->pid_fd : -1, POLLIN, 0 },
			{ w->signal_fd, POLLIN, 0 },
			{ w->out_fd, POLLIN, 0 },
			{ w->err_fd, POLLIN, 0 },
			{ running ? w->control : -1, POLLIN, 0 },
		};
		int n = poll(p, ARRAY_SIZE(p), running ? next_timeout_ms(w) : 1000);
		if (n < 0 && errno != EINTR)
			break;
		if (n == 0 && !running)
			break; /* something outside the tree holds the pipe; what it writes is not the command's */
		if (n > 0 && p[2].revents)
			drain(w, &w->out_fd, 1, &w->result->out, &w->out_hash);
		if (n > 0 && p[3].revents)
			drain(w, &w->err_fd, 2, &w->result->err, &w->err_hash);
		if (n > 0 && p[1].revents & POLLIN)
			take_signal(w);
		if (n > 0 && p[4].revents & POLLIN)
			stop_together(w);
		if (n > 0 && p[0].revents & POLLIN)
			running = false;
		if (running)
			check_clock(w);
	}
}

static void judge_end(struct watch *w)
{
	struct run_result *r = w->result;
	int status = w->shared->wait_status;

	r->report = w->shared->report;
	if (!w->shared->finished) {
		r->exit_signal = SIGKILL; /* the warden was ended with everything below it */
		r->exit_code = 128 + SIGKILL;
	} else if (WIFSIGNALED(status)) {
		r->exit_signal = WTERMSIG(status);
		r->exit_code = 128 + r->exit_signal;
	} else {
		r->exit_code = WEXITSTATUS(status);
	}
	if (r->timed_out)
		r->exit_code = 124;
	if (r->captured) {
		sha256_end(&w->out_hash, r->out.sha256);
		sha256_end(&w->err_hash, r->err.sha256);
	}
}

static int open_signals(sigset_t *ret_old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigprocmask(SIG_BLOCK, &set, ret_old);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

struct pipes {
	int out[2], err[2], control[2];
};

static int open_pipes(struct pipes *p, bool capture)
{
	if (pipe2(p->control, O_CLOEXEC))
		return -1;
	if (capture && (pipe2(p->out, O_CLOEXEC) || pipe2(p->err, O_CLOEXEC)))
		return -1;
	return 0;
}

static void close_pair(int pair[2])
{
	close_fd(&pair[0]);
	close_fd(&pair[1]);
}

/* The first lines of the warden: its group, its streams. */
_Noreturn static void start_warden(
	const struct run_request *request, struct shared *shared, struct pipes *p, int tty)
{
	setpgid(0, 0);
	if (tty >= 0) {
		signal(SIGTTOU, SIG_IGN);
		(void)tcsetpgrp(tty, getpgrp());
	}
	if (p->out[1] >= 0) {
		(void)dup2(p->out[1], 1);
		(void)dup2(p->err[1], 2);
	}
	be_warden(request, shared, p->control[1]);
}

static int find_terminal(const struct run_request *request)
{
	if (request->capture || !isatty(0) || tcgetpgrp(0) != getpgrp())
		return -1;
	return 0;
}

int run_command(struct sys *s, const struct run_request *request, struct run_result *ret, struct err *e)
{
	struct pipes p = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	struct run_result result = { .captured = request->capture };
	struct watch w = { .s = s,
		.request = request,
		.result = &result,
		.pid_fd = -1,
		.terminal = find_terminal(request) };
	sigset_t old;

	w.shared = mmap(NULL, sizeof(*w.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w.shared == MAP_FAILED || open_pipes(&p, request->capture))
		return err_sys(e, "RUN_START", "cannot start '%s'", request->argv[0]);
	w.signal_fd = open_signals(&old);
	result.started_us = s->now_us(s);
	w.deadline_us = request->timeout_ms > 0 ? s->mono_us(s) + request->timeout_ms * 1000 : 0;
	w.sign_us = request->sign_of_life ? s->mono_us(s) + request->sign_ms * 1000 : 0;
	w.warden = sandbox_fork(request->rules, &w.shared->report);
	if (w.warden == 0)
		start_warden(request, w.shared, &p, w.terminal);
	int rc = OK;
	if (w.warden < 0) {
		rc = err_sys(e, "RUN_START", "cannot start '%s'", request->argv[0]);
	} else {
		setpgid(w.warden, w.warden);
		w.pid_fd = (int)syscall(SYS_pidfd_open, w.warden, 0);
		w.control = p.control[0];
		w.out_fd = p.out[0];
		w.err_fd = p.err[0];
		p.out[0] = p.err[0] = -1;
		close_fd(&p.out[1]);
		close_fd(&p.err[1]);
		p.out[1] = p.err[1] = -1;
		sha256_begin(&w.out_hash);
		sha256_begin(&w.err_hash);
		wait_for_end(&w);
		(void)waitpid(w.warden, NULL, 0);
		if (w.terminal >= 0) {
			signal(SIGTTOU, SIG_IGN);
			take_terminal(&w);
			signal(SIGTTOU, SIG_DFL);
		}
		result.finished_us = s->now_us(s);
		judge_end(&w);
		if (w.shared->changed[0])
			rc = err_set(e, E_DENIED, "RUN_CHANGED", "not run: %s", w.shared->changed);
		else if (result.report.refused[0])
			rc = err_set(e, E_DENIED, "SANDBOX_REFUSED",
				"not run: %s; 'sandbox: best-effort' in the profile accepts less",
				result.report.refused);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	close_fd(&w.signal_fd);
	close_fd(&w.pid_fd);
	close_fd(&w.out_fd);
	close_fd(&w.err_fd);
	close_pair(p.control);
	close_pair(p.out);
	close_pair(p.err);
	munmap(w.shared, sizeof(*w.shared));
	if (rc == OK)
		*ret = result;
	return rc;
}

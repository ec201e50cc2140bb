/* run.c — the life of one child: start, watch, pass signals on, end everything, report.
 *
 * helm waits in one poll(): the warden's pidfd, a signalfd, the command's output, and the clock.  The warden waits for the ward and reaps what
 * is left behind; it tells helm through a pipe when the ward stopped on a terminal, so that Ctrl-Z stops helm too, and when it ended.
 *
 * Until the command is executed all of them share helm's memory, because copying page tables twice costs
 * more than everything else here.  For that a thread, the keeper, starts the warden and does nothing but
 * wait for it: the warden, and then the ward, borrow its thread-local storage, so errno and locks work as
 * in any threaded program.  All signals are blocked in them until the ward is about to become the command.
 * Meanwhile helm's own thread waits for the disk; the ward stands at its gate until it is told that the
 * decision is on record.
 *
 * Who ends what.  With a pid namespace the kernel kills everything below the warden when the warden ends.
 * Without one the warden is a subreaper, so that stray processes become its children, and it kills them itself; a control group, where there
 * is one, kills them at once.  The warden asks the kernel to be killed when helm dies, or, without a pid namespace, to be told, so that it can
 * end the others first: no run outlives helm. */
#include "execute/execute.h"

#include "base/text.h"
#include "execute/become.h"
#include "execute/hand.h"
#include "execute/run_output.h"
#include "execute/supervise.h"
#include "execute/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HELM_GONE SIGUSR2 /* what the kernel tells the warden when helm has died */
enum { EXIT_REFUSED = 125, STACK_BYTES = 256 << 10, CHUNK_BYTES = 64 << 10 };

struct pipes {
	int out[2], err[2], control[2];
	int hand[2]; /* of a session: the ward gives us what it has made inside */
	int notify[2]; /* where calls are heard: the ward gives the warden the listener of its filter */
	int relay[2]; /* the same, of a session: the warden passes on who asks at the desk */
};

/* What helm, warden and ward share. */
struct stage {
	const struct run_request *request;
	/* sh FILE ARG...: made by helm, because what a ward allocates stays behind in its memory. */
	const char **shell_argv;
	struct pipes pipes; /* never changed once the keeper runs: the warden looks here when it gets to it */
	int terminal; /* to be given away, or -1 */
	struct terminal relay; /* of a session */
	int null; /* where calls are heard: /dev/null; or -1 */
	int master; /* our side of the session's terminal, as the warden has it; or -1 */
	char *stacks; /* the keeper's; it lends the lower two thirds to ward and warden */
	pthread_t keeper;
	sem_t started, gate;
	bool is_called_off; /* said before the gate opens */
	pid_t warden; /* or -1 */
	int start_errno, was_dumpable;
	struct sandbox_report report;
	struct supervisor *supervisor; /* where calls are heard: the warden is it; else NULL */
	struct sys *s;
	struct cgroup group; /* of the ward and all that it starts */
	pid_t ward; /* once it was started */
	int wait_status; /* as waitpid gives it */
	bool finished;
	char changed[256]; /* why the last look refused */
};

/* What helm's own thread knows about the run while it waits. */
struct watch {
	struct sys *s;
	const struct run_request *request;
	struct run_result *result;
	struct stage *stage;
	pid_t warden;
	pid_t group; /* that is signalled: the warden's, or in a session the ward's own */
	int desk; /* of a session, or -1 */
	struct pipes pipes; /* what of them is still open here */
	int pid_fd, signal_fd;
	int control; /* "stopped" and "ended" from the warden; in pipes */
	int out_fd, err_fd; /* our ends of the output pipes, or -1 */
	char *chunk; /* for what is read from them; on the stack all of it would be zeroed for each line */
	struct sha256 out_hash, err_hash;
	int terminal; /* descriptor of the terminal we gave away, or -1 */
	int64_t deadline_us, kill_us;
	int64_t back_us; /* when the caller wants to be back, or 0 */
	bool has_ended;
};

struct running {
	struct stage stage;
	struct watch watch;
	struct run_result result;
	sigset_t old_signals;
	bool is_open; /* the gate */
};

static void close_pair(int pair[2])
{
	close_fd(&pair[0]);
	close_fd(&pair[1]);
}

/* ---- in the ward ---- */

/* Is helm gone?  It may have been killed before the warden could ask to be told about that.  Then nobody
 * reads the control pipe any more, which poll() shows as an error. */
static bool is_abandoned(const struct stage *st)
{
	struct pollfd control = { .fd = st->pipes.control[1] };

	return poll(&control, 1, 0) > 0 && control.revents & POLLERR;
}

/* Waits until helm opens the gate.  Once a second it looks whether helm still exists: a ward whose helm was
 * killed must never become the command, because nobody has its decision on record. */
static void wait_at_gate(struct stage *st)
{
	struct timespec until;

	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec++;
		if (sem_clockwait(&st->gate, CLOCK_MONOTONIC, &until) == 0)
			break;
		if (errno == ETIMEDOUT && is_abandoned(st))
			_exit(EXIT_REFUSED);
	}
	if (st->is_called_off || is_abandoned(st))
		_exit(EXIT_REFUSED);
}

/* A session's ward leads a process group of its own, which has the session's terminal: a group whose parent is in the same kernel
 * session can be stopped by Ctrl-Z.  TTOU is blocked still. */
static void lead_group(const struct stage *st)
{
	setpgid(0, 0);
	for (int fd = 0; st->master >= 0 && fd < 3; fd++)
		if (st->relay.is_stream[fd] && tcsetpgrp(fd, getpgrp()) == 0)
			return;
}

/* To helm: the desk, our side of the terminal, and, from the kernel, who we are. */
static int hand_over(const struct stage *st)
{
	int fds[2], n = 0;

	if (st->report.listener > 0 && !st->supervisor)
		fds[n++] = st->report.listener;
	if (st->master >= 0)
		fds[n++] = st->master;
	return hand_send(st->pipes.hand[1], fds, n);
}

/* The ward.  It shares helm's memory until it executes: whatever it allocates and does not free stays
 * behind there, and it leaves with _exit().  last_look comes after the gate, as late as possible, so that
 * the program that is executed is the one that was judged. */
static int become_command(void *arg)
{
	struct stage *st = arg;
	const struct run_request *request = st->request;

	default_signals();
	/* Without a pid namespace the kernel ends only the warden when helm dies: this one follows it. */
	if (!st->report.pid_namespace)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (request->cwd && chdir(request->cwd)) {
		snprintf(st->report.refused, sizeof(st->report.refused), "cannot enter '%s': %s",
			request->cwd, strerror(errno));
		_exit(EXIT_REFUSED);
	}
	if (request->is_session)
		lead_group(st);
	if (sandbox_lock(request->rules, &st->group, &st->report))
		_exit(EXIT_REFUSED);
	const bool is_heard = st->supervisor && st->report.listener > 0;
	if ((is_heard && supervisor_send_listener(st->pipes.notify[1], st->report.listener)) ||
		(request->is_session && hand_over(st))) {
		snprintf(st->report.refused, sizeof(st->report.refused), "cannot hand over: %s",
			strerror(errno));
		_exit(EXIT_REFUSED);
	}
	if (is_heard)
		close(st->report.listener); /* who has it answers for what is outside */
	wait_at_gate(st);
	if (request->last_look && !request->last_look(request->arg, st->changed, sizeof(st->changed)))
		_exit(EXIT_REFUSED);
	unblock_signals();
	become(request, st->shell_argv);
	st->report.exec_errno = errno;
	_exit(errno == ENOENT ? 127 : 126);
}

/* ---- in the warden ---- */

static void say(const struct stage *st, char what)
{
	(void)!write(st->pipes.control[1], &what, 1);
}

/* Calls of the sandbox are carried out here until a signal comes or the time is over, also when they never stop coming.  Returns the
 * signal, or 0. */
static int supervise(struct stage *st, int signals, int64_t for_ms)
{
	const int64_t until_us = st->s->mono_us(st->s) + for_ms * 1000;

	for (int64_t left_us; (left_us = until_us - st->s->mono_us(st->s)) > 0;) {
		struct pollfd p[] = { { signals, POLLIN, 0 },
			supervisor_await(st->supervisor, st->pipes.notify[0]),
			{ st->supervisor->files_watch > 0 ? st->supervisor->files_watch : -1, POLLIN, 0 } };
		struct signalfd_siginfo info;
		const int most_ms = (int)(left_us / 1000) + 1, due_ms = supervisor_patience(st->supervisor);
		if (poll(p, 3, due_ms >= 0 && due_ms < most_ms ? due_ms : most_ms) < 0)
			return 0;
		supervisor_renew_files(st->supervisor, p[2].revents);
		if (p[0].revents && read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			return (int)info.ssi_signo;
		supervisor_act(st->supervisor, st->pipes.notify, p[1].revents);
	}
	return 0;
}

/* Until a signal comes, or some time has passed. */
static int await_signal(struct stage *st, const sigset_t *wake, int signals, int64_t for_ms)
{
	struct timespec patience = { for_ms / 1000, for_ms % 1000 * 1000000 };

	return st->supervisor ? supervise(st, signals, for_ms) : sigtimedwait(wake, NULL, &patience);
}

/* Until the ward has ended.  Other children are strays that were handed to us; they are only reaped.  All signals are blocked here, so
 * none is lost between the look and the wait.  When helm has gone there is nobody to tell, and what is left is ended. */
static void watch_ward(struct stage *st, pid_t ward)
{
	int64_t patience_ms = 1000;
	sigset_t wake;

	sigemptyset(&wake);
	sigaddset(&wake, SIGCHLD);
	sigaddset(&wake, HELM_GONE);
	AUTO(close_fd) int signals = st->supervisor ? signalfd(-1, &wake, SFD_CLOEXEC | SFD_NONBLOCK) : -1;
	for (;;) {
		int status;
		pid_t who = waitpid(-1, &status, WUNTRACED | WNOHANG);
		/* The word comes with the end of one thread of helm; another may hold the pipe for a moment.  And anybody may send it. */
		if (who == 0 && await_signal(st, &wake, signals, patience_ms) == HELM_GONE)
			patience_ms = 10;
		if (who == 0 && is_abandoned(st))
			return;
		if (who == 0 || (who < 0 && errno == EINTR))
			continue;
		if (who == ward && WIFSTOPPED(status)) {
			say(st, 's');
			continue;
		}
		if (who != ward && who > 0)
			continue;
		st->wait_status = who == ward ? status : 0;
		st->finished = who == ward;
		return;
	}
}

/* A session is a kernel session of its own, without the person's terminal.  Its own is made where its /dev/pts is mounted. */
static int make_terminal(struct stage *st)
{
	if (!st->relay.is_wanted)
		return 0;
	st->master = terminal_make(&st->relay);
	if (st->master < 0)
		snprintf(st->report.refused, sizeof(st->report.refused), "cannot make a terminal: %s",
			strerror(errno));
	return st->master < 0 ? -1 : 0;
}

/* Whoever reads or writes the other ends must learn when the command has gone.  The numbers stay taken where more is opened. */
static void let_streams_go(const struct stage *st)
{
	if (st->supervisor)
		supervisor_note_terminals(st->supervisor);
	for (int fd = 0; fd <= 2; fd++)
		if (!st->supervisor || dup2(st->null, fd) < 0)
			close(fd);
}

/* Sets up the process group and streams, puts up the first half of the walls, starts the ward, and waits
 * for it.  The status goes into shared memory; the control pipe only wakes helm. */
static int be_warden(void *arg)
{
	struct stage *st = arg;

	if (st->request->is_session)
		setsid();
	else
		setpgid(0, 0);
	if (st->terminal >= 0)
		(void)tcsetpgrp(st->terminal, getpgrp()); /* TTOU is blocked */
	if (st->pipes.out[1] >= 0) {
		(void)dup2(st->pipes.out[1], 1);
		(void)dup2(st->pipes.err[1], 2);
		/* Neither end stays open here, so that reader and writer learn when the other is gone. */
		for (int i = 0; i < 2; i++) {
			close(st->pipes.out[i]);
			close(st->pipes.err[i]);
		}
	}
	close(st->pipes.control[0]);
	close_fd(&st->pipes.relay[0]);
	/* In a pid namespace everything ends with the warden.  Without one the warden must live to end it. */
	prctl(PR_SET_PDEATHSIG, st->report.pid_namespace ? SIGKILL : HELM_GONE, 0, 0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (sandbox_prepare(st->request->rules, &st->report) ||
		(st->request->is_session && make_terminal(st)))
		_exit(EXIT_REFUSED);
	supervisor_take_files(st->supervisor, &st->report);
	/* The memory the command's parent runs in is helm's own, keys and all: nobody looks into it,
	 * Landlock or not. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	pid_t ward = clone(become_command, st->stacks + STACK_BYTES, CLONE_VM | SIGCHLD, st);
	if (ward < 0) {
		snprintf(st->report.refused, sizeof(st->report.refused), "clone: %s", strerror(errno));
		_exit(EXIT_REFUSED);
	}
	st->ward = ward;
	let_streams_go(st);
	close_pair(st->pipes.hand);
	if (st->master >= 0)
		close(st->master); /* ours alone now, so that the session's side ends with helm */
	watch_ward(st, ward);
	say(st, 'e');
	if (!st->report.pid_namespace) {
		cgroup_kill(&st->group);
		run_end_strays();
		if (is_abandoned(st))
			cgroup_end(&st->group);
	}
	_exit(0);
}

/* ---- the keeper ---- */

/* The keeper thread: starts the warden, and then only waits.  It must not do anything else, because the
 * warden uses this thread's errno until it ends.  WNOWAIT leaves the process for end_keeper() to reap. */
static void *keep(void *arg)
{
	struct stage *st = arg;
	pid_t pid = sandbox_start(st->s, st->request->rules, &st->report, &st->group, CLONE_VM, be_warden, st,
		st->stacks + 2 * STACK_BYTES);

	if (pid < 0)
		st->start_errno = errno;
	st->warden = pid;
	sem_post(&st->started);
	/* From here to its end the warden uses our errno: a call that cannot fail meanwhile. */
	while (pid > 0 && syscall(SYS_waitid, P_PID, pid, NULL, WEXITED | WNOWAIT, NULL) && errno == EINTR)
		;
	return NULL;
}

/* One mapping holds three stacks: the lowest for the ward, the next for the warden, the highest for the
 * thread itself.  All signals are blocked in the thread, and so in what it starts. */
static int start_keeper(struct stage *st)
{
	pthread_attr_t how;
	sigset_t all, old;

	st->stacks = mmap(NULL, 3 * STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
	if (st->stacks == MAP_FAILED)
		return -1;
	sem_init(&st->started, 0, 0);
	sem_init(&st->gate, 0, 0);
	pthread_attr_init(&how);
	pthread_attr_setstack(&how, st->stacks, 3 * STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errno = pthread_create(&st->keeper, &how, keep, st);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&how);
	if (!errno)
		return 0;
	munmap(st->stacks, 3 * STACK_BYTES);
	return -1;
}

/* When this returns nothing of the run is left, and its stacks can be unmapped. */
static void end_keeper(struct stage *st)
{
	pthread_join(st->keeper, NULL);
	if (st->warden > 0)
		(void)waitpid(st->warden, NULL, 0);
	cgroup_end(&st->group);
	munmap(st->stacks, 3 * STACK_BYTES);
	prctl(PR_SET_DUMPABLE, st->was_dumpable, 0, 0, 0);
}

/* ---- in helm ---- */

/* To the process group of the command.  What has left that group is ended with the warden. */
static void to_group(struct watch *w, int signal_number)
{
	if (w->group > 0)
		(void)kill(-w->group, signal_number);
}

/* Without a pid namespace the warden must live, because it ends what has left the process group: it notices the end of the ward. */
static void end_all(struct watch *w)
{
	cgroup_kill(&w->stage->group);
	if (w->stage->report.pid_namespace || w->stage->ward <= 0) {
		to_group(w, SIGKILL);
		(void)kill(w->warden, SIGKILL);
	} else if (!w->stage->finished) {
		(void)kill(w->stage->ward, SIGKILL);
	}
}

/* Asks with a signal now and kills after the grace period.  CONT wakes a stopped process, which could not
 * react otherwise.  A second Ctrl-C does not wait for the end of the grace period. */
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

/* One read from an output pipe.  When our own reader has gone, the pipe is closed, so that the command gets
 * the same SIGPIPE it would get without helm. */
static void drain(struct watch *w, int *fd, int to, struct run_stream *stream, struct sha256 *hash)
{
	char *chunk = w->chunk;
	ssize_t n = read(*fd, chunk, CHUNK_BYTES);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		const int64_t limit = w->request->rules->limits.output_mb << 20;
		if (limit && (int64_t)(w->result->out.bytes + w->result->err.bytes) + n > limit) {
			w->result->printed_too_much = true;
			end_all(w);
			return;
		}
		sha256_add(hash, chunk, (size_t)n);
		run_output_keep(stream, chunk, (size_t)n);
		if (w->request->quiet || run_output_pass(to, chunk, (size_t)n))
			return;
		stream->lost_errno = errno == EPIPE ? 0 : errno;
	}
	close(*fd);
	*fd = -1;
}

static void give_terminal(struct watch *w)
{
	if (w->terminal >= 0)
		(void)tcsetpgrp(w->terminal, w->warden);
}

/* We are in the background now, where asking for the terminal would stop us with SIGTTOU; so that signal is
 * ignored for the moment. */
static void take_terminal(struct watch *w)
{
	if (w->terminal < 0)
		return;
	signal(SIGTTOU, SIG_IGN);
	(void)tcsetpgrp(w->terminal, getpgrp());
	signal(SIGTTOU, SIG_DFL);
}

/* The command was stopped on the terminal.  helm stops too, so that the shell shows one stopped job;
 * continued, it continues the command. */
static void stop_together(struct watch *w)
{
	/* At a terminal that is nobody's there is no shell that could continue it. */
	if (w->stage->relay.is_alone) {
		to_group(w, SIGCONT);
		return;
	}
	take_terminal(w);
	terminal_yield(&w->stage->relay);
	kill(getpid(), SIGSTOP);
	give_terminal(w);
	terminal_resume(&w->stage->relay);
	to_group(w, SIGCONT);
}

/* 's': the ward was stopped; 'e': it has ended. */
static void hear_warden(struct watch *w)
{
	char byte;

	if (read(w->control, &byte, 1) != 1)
		return;
	if (byte == 's')
		stop_together(w);
	else
		w->has_ended = true;
}

/* Somebody asks helm to end: the command is asked first, with the same signal. */
static void take_signal(struct watch *w)
{
	struct signalfd_siginfo info;

	if (read(w->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	switch (info.ssi_signo) {
	case SIGWINCH:
		terminal_resize(&w->stage->relay);
		return;
	case SIGCONT: /* somebody had stopped us, and the shell has set the terminal for itself */
		terminal_resume(&w->stage->relay);
		return;
	case SIGTSTP: /* stops what is inside; when that has stopped, we do */
		to_group(w, SIGTSTP);
		return;
	}
	w->result->interrupted = true;
	ask_to_end(w, (int)info.ssi_signo);
}

/* Until the nearest of: time to kill, time limit, time to be back at the caller.  -1 when there is none. */
static int next_timeout_ms(struct watch *w)
{
	int64_t at = w->kill_us ? w->kill_us : w->deadline_us;

	if (w->back_us && (!at || w->back_us < at))
		at = w->back_us;
	if (!at)
		return -1;
	int64_t left = at - w->s->mono_us(w->s);
	return left <= 0 ? 0 : left / 1000 > 1000000 ? 1000000 : (int)(left / 1000) + 1;
}

/* After KILL it is tried again every second, in case something could not be killed the first time. */
static void check_clock(struct watch *w)
{
	int64_t now = w->s->mono_us(w->s);

	if (w->kill_us && now >= w->kill_us) {
		end_all(w);
		w->kill_us = now + 1000000;
	} else if (!w->kill_us && w->deadline_us && now >= w->deadline_us) {
		w->result->timed_out = true;
		ask_to_end(w, SIGTERM);
	}
}

/* False: it is time to be back, and the command is still running.  After the end of the command its output
 * is read until the pipes close, but for no longer than a second of silence: a process outside the tree may
 * hold them open. */
static bool wait_for_end(struct watch *w)
{
	while (!w->has_ended || w->out_fd >= 0 || w->err_fd >= 0) {
		bool running = !w->has_ended;
		if (running && w->back_us && w->s->mono_us(w->s) >= w->back_us)
			return false;
		struct pollfd p[] = {
			{ running ? w->pid_fd : -1, POLLIN, 0 },
			{ w->signal_fd, POLLIN, 0 },
			{ w->out_fd, POLLIN, 0 },
			{ w->err_fd, POLLIN, 0 },
			{ running ? w->control : -1, POLLIN, 0 },
			{ w->request->on_side ? *w->request->side_fd : -1, POLLIN, 0 },
			[9] = { running && w->request->on_other ? *w->request->other_fd : -1, POLLIN, 0 },
		};
		p[6].fd = p[7].fd = p[8].fd = -1;
		if (running && w->stage->relay.is_wanted)
			terminal_await(&w->stage->relay, p + 6);
		int n = poll(p, ARRAY_SIZE(p), running ? next_timeout_ms(w) : 1000);
		if (n < 0 && errno != EINTR) {
			end_all(w);
			break;
		}
		if (n == 0 && !running)
			break; /* something outside the tree holds the pipe; what it writes is not the command's */
		if (n > 0 && p[2].revents)
			drain(w, &w->out_fd, 1, &w->result->out, &w->out_hash);
		if (n > 0 && p[3].revents)
			drain(w, &w->err_fd, 2, &w->result->err, &w->err_hash);
		if (n > 0 && p[5].revents)
			w->request->on_side(w->request->side_arg);
		if (n > 0 && p[9].revents)
			w->request->on_other(w->request->other_arg);
		if (n > 0 && w->stage->relay.is_wanted)
			terminal_relay(&w->stage->relay, p + 6);
		if (n > 0 && p[1].revents & POLLIN)
			take_signal(w);
		if (n > 0 && p[4].revents & POLLIN)
			hear_warden(w);
		if (n > 0 && p[0].revents & POLLIN)
			w->has_ended = true;
		if (!w->has_ended)
			check_clock(w);
	}
	return true;
}

/* From a wait status to what the caller is told.  A time limit counts as 124, whatever the command made of
 * its signal. */
static void judge_end(struct watch *w)
{
	struct run_result *r = w->result;
	int status = w->stage->wait_status;

	r->report = w->stage->report;
	if (!w->stage->finished) {
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

/* Blocked here and read from a descriptor, so that they arrive in poll() and never interrupt anything. */
static int open_signals(bool is_session, sigset_t *ret_old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	if (is_session) {
		sigaddset(&set, SIGWINCH);
		sigaddset(&set, SIGTSTP);
		sigaddset(&set, SIGCONT);
	}
	sigprocmask(SIG_BLOCK, &set, ret_old);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int open_pipes(struct pipes *p, const struct run_request *request)
{
	if (pipe2(p->control, O_CLOEXEC))
		return -1;
	if (request->is_session && hand_open(p->hand))
		return -1;
	if (request->capture && (pipe2(p->out, O_CLOEXEC) || pipe2(p->err, O_CLOEXEC)))
		return -1;
	if (sandbox_is_heard(request->rules) &&
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p->notify))
		return -1;
	if (sandbox_is_heard(request->rules) && request->rules->desk &&
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p->relay))
		return -1;
	return 0;
}

/* Everything that the supervisor knows is laid down before it exists. */
static int open_supervisor(struct stage *st, struct arena *a)
{
	if (!sandbox_is_heard(st->request->rules))
		return 0;
	st->supervisor = arena_zalloc(a, 1, sizeof(*st->supervisor));
	st->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (supervisor_init(st->supervisor, st->request->rules) == 0) {
		st->supervisor->desk = st->pipes.relay[1];
		return 0;
	}
	errno = E2BIG; /* more places than it can hold */
	return -1;
}

/* Only if nothing is captured and helm itself is in the foreground may it give the terminal away. */
static int find_terminal(const struct run_request *request)
{
	if (request->capture || request->is_session || !isatty(0) || tcgetpgrp(0) != getpgrp())
		return -1;
	return 0;
}

/* Returns when the keeper has started the warden, or could not. */
static void await_warden(struct running *r)
{
	while (sem_wait(&r->stage.started) && errno == EINTR)
		;
	r->watch.warden = r->stage.warden;
}

/* is_called_off is set before the semaphore is posted, so the ward sees it when it wakes. */
static void open_gate(struct running *r, bool is_called_off)
{
	r->stage.is_called_off = is_called_off;
	r->is_open = true;
	sem_post(&r->stage.gate);
}

/* Gives back terminal, descriptors and signal mask, in this order: signals that arrived meanwhile act
 * last. */
static void release(struct running *r)
{
	struct watch *w = &r->watch;

	take_terminal(w);
	if (r->stage.relay.is_wanted)
		terminal_end(&r->stage.relay);
	close_fd(&w->desk);
	close_fd(&r->stage.null);
	close_pair(w->pipes.notify);
	close_pair(w->pipes.relay);
	close_pair(w->pipes.hand);
	close_fd(&w->signal_fd);
	close_fd(&w->pid_fd);
	close_fd(&w->out_fd);
	close_fd(&w->err_fd);
	close_pair(w->pipes.control);
	close_pair(w->pipes.out);
	close_pair(w->pipes.err);
	sigprocmask(SIG_SETMASK, &r->old_signals, NULL);
}

static const char **make_shell_argv(struct arena *a, const char *const *argv)
{
	size_t n = 1;

	while (argv[n])
		n++;
	const char **shell = arena_zalloc(a, n + 2, sizeof(*shell));
	shell[0] = "/bin/sh";
	memcpy(shell + 2, argv + 1, (n - 1) * sizeof(*shell));
	return shell;
}

int run_start(struct sys *s, struct arena *a, const struct run_request *request, struct running **ret,
	struct err *e)
{
	struct running *r = arena_zalloc(a, 1, sizeof(*r));
	struct watch *w = &r->watch;

	r->result.captured = request->capture;
	r->stage = (struct stage){ .request = request,
		.s = s,
		.group = { .dir = -1 },
		.shell_argv = make_shell_argv(a, request->argv),
		.pipes = { { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } },
		.null = -1,
		.master = -1,
		.was_dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0),
		.terminal = find_terminal(request) };
	*w = (struct watch){ .s = s,
		.request = request,
		.result = &r->result,
		.stage = &r->stage,
		.pid_fd = -1,
		.desk = -1,
		.out_fd = -1,
		.err_fd = -1,
		.chunk = arena_text(a, CHUNK_BYTES),
		.terminal = r->stage.terminal };
	if (request->is_session && request->alone)
		terminal_be_alone(&r->stage.relay, request->alone);
	else if (request->is_session)
		terminal_find(&r->stage.relay);
	w->signal_fd = open_signals(request->is_session, &r->old_signals);
	bool is_piped = open_pipes(&r->stage.pipes, request) == 0 && open_supervisor(&r->stage, a) == 0;
	w->pipes = r->stage.pipes;
	if (is_piped && start_keeper(&r->stage) == 0) {
		*ret = r;
		return OK;
	}
	int rc = err_sys(e, "RUN_START", "cannot start '%s'%s", request->argv[0], err_start_hint());
	release(r);
	return rc;
}

/* What the ward has handed over before it went to the gate.  Nothing when it did not get that far: then the end of the run says
 * why. */
static void take_over(struct watch *w)
{
	const bool has_terminal = w->stage->relay.is_wanted, is_relayed = w->stage->supervisor,
		   has_desk = w->request->rules->desk && !is_relayed;
	int fds[2] = { -1, -1 };

	w->group = hand_receive(w->pipes.hand[0], fds);
	w->desk = has_desk ? fds[0] : is_relayed ? w->pipes.relay[0] : -1;
	if (is_relayed)
		w->pipes.relay[0] = -1;
	if (has_terminal && fds[has_desk] >= 0)
		terminal_begin(&w->stage->relay, fds[has_desk]);
	w->result->report = w->stage->report; /* its walls stand */
}

int run_take_desk(struct running *r)
{
	int desk = r->watch.desk;

	r->watch.desk = -1;
	return desk;
}

const struct run_result *run_so_far(const struct running *r)
{
	return r->watch.group > 0 ? &r->result : NULL;
}

int run_go(struct running *r, struct err *e)
{
	struct watch *w = &r->watch;
	struct pipes *p = &w->pipes;

	await_warden(r);
	r->result.started_us = w->s->now_us(w->s);
	if (w->request->timeout_ms > 0)
		w->deadline_us = w->s->mono_us(w->s) + w->request->timeout_ms * 1000;
	open_gate(r, false);
	if (w->warden < 0) {
		errno = r->stage.start_errno;
		return err_sys(e, "RUN_START", "cannot start '%s'%s", w->request->argv[0], err_start_hint());
	}
	if (w->request->is_session) {
		close_fd(&p->hand[1]);
		p->hand[1] = -1;
		take_over(w);
	} else {
		setpgid(w->warden, w->warden);
		w->group = w->warden;
	}
	w->pid_fd = (int)syscall(SYS_pidfd_open, w->warden, 0);
	w->control = p->control[0];
	close_pair(p->notify);
	close_fd(&p->relay[1]);
	p->notify[0] = p->notify[1] = p->relay[1] = -1;
	w->out_fd = p->out[0];
	w->err_fd = p->err[0];
	p->out[0] = p->err[0] = -1;
	close_fd(&p->out[1]);
	close_fd(&p->err[1]);
	p->out[1] = p->err[1] = -1;
	sha256_begin(&w->out_hash);
	sha256_begin(&w->err_hash);
	return OK;
}

int run_wait(struct running *r, int64_t for_ms, const struct run_result **ret, struct err *e)
{
	struct watch *w = &r->watch;

	w->back_us = for_ms ? w->s->mono_us(w->s) + for_ms * 1000 : 0;
	if (!wait_for_end(w)) {
		*ret = NULL;
		return OK;
	}
	r->result.finished_us = w->s->now_us(w->s);
	if (w->stage->relay.is_wanted)
		terminal_end(&w->stage->relay);
	judge_end(w);
	if (r->stage.changed[0])
		return err_set(e, E_DENIED, "RUN_CHANGED", "not run: %s", r->stage.changed);
	if (r->stage.report.refused[0])
		return machine_refuse(w->s, w->request->rules, &r->stage.report, e);
	*ret = &r->result;
	return OK;
}

/* Fine at every stage: before the gate was opened the ward is called off, and never becomes the command; a
 * command that still runs is killed. */
void run_end(struct running **given)
{
	struct running *r = *given;

	if (!r)
		return;
	*given = NULL;
	if (!r->is_open) {
		await_warden(r);
		open_gate(r, true);
	} else if (r->watch.warden > 0 && !r->watch.has_ended) {
		end_all(&r->watch);
	}
	end_keeper(&r->stage);
	release(r);
}

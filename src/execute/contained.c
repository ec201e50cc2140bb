/* contained.c — the wrapper's side of a call: hand it over, pass signals on, end as it ended.
 *
 * To whoever started it the wrapper is the command: INT, TERM, HUP, QUIT, USR1, USR2, TSTP, CONT and WINCH go to the command's process
 * group; when the command is stopped the wrapper stops; when it dies of a signal the wrapper dies of the same one.  A wrapper that is
 * killed cannot tell anybody: the keeper sees its socket close, and kills the command's group. */
#include "execute/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Blocked, and read from a descriptor instead. */
static int open_signals(sigset_t *ret_old)
{
	static const int passed[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT,
		SIGWINCH };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
		sigaddset(&set, passed[i]);
	sigprocmask(SIG_BLOCK, &set, ret_old);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void pass_signal(int signals, int socket)
{
	struct signalfd_siginfo info;
	struct bundle b = { .kind = CONTAINED_SIGNAL, .fds = { -1, -1, -1, -1, -1 } };

	if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	b.number = (int32_t)info.ssi_signo;
	(void)bundle_send(socket, &b);
}

/* The last message, or E_IO. */
static int hear_keeper(struct arena *a, int socket, struct bundle *ret, bool *ret_is_over, struct err *e)
{
	*ret_is_over = false;
	if (bundle_receive(a, socket, ret))
		return err_set(e, E_IO, "SESSION_LOST",
			"the session that this call ran in was ended, and the call with it");
	bundle_close_fds(ret);
	if (ret->kind == CONTAINED_STOPPED)
		(void)kill(getpid(), SIGSTOP); /* whoever continues us sends CONT, which is passed on */
	*ret_is_over = ret->kind == CONTAINED_ENDED || ret->kind == CONTAINED_REFUSED;
	return OK;
}

int contained_wait(struct arena *a, int socket, const struct bundle *call, int *ret_status,
	const char **ret_word, struct err *e)
{
	sigset_t old;
	struct bundle last;
	bool is_over = false;
	AUTO(close_fd) int signals = open_signals(&old);
	int rc = bundle_send(socket, call) ? err_sys(e, "SESSION_LOST", "cannot hand the call over") : OK;

	while (rc == OK && !is_over) {
		struct pollfd p[] = { { socket, POLLIN, 0 }, { signals, POLLIN, 0 } };
		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			rc = err_sys(e, "SESSION_LOST", "cannot wait for the call");
		if (p[1].revents)
			pass_signal(signals, socket);
		if (rc == OK && p[0].revents)
			rc = hear_keeper(a, socket, &last, &is_over, e);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return rc;
	const char *word = last.text_count ? last.texts[0] : "";
	if (last.kind == CONTAINED_REFUSED)
		return err_set(
			e, E_DENIED, last.text_count > 1 ? last.texts[1] : "CONTAINED_REFUSED", "%s", word);
	*ret_status = last.number;
	*ret_word = word;
	return OK;
}

int contained_end_alike(int status)
{
	struct rlimit no_core = { 0, 0 };

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	(void)setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	(void)kill(getpid(), WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

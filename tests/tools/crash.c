/* crash.c — see crash.h. */
#include "tools/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const fault_names[] = { "ENOSPC once", "EIO from then on", "short write", "blind",
	"killed", "killed half way" };

static void stop(const char *name, const char *what)
{
	fprintf(stderr, "crash sweep '%s': %s\n", name, what);
	abort();
}

void crash_ack(struct crash *c)
{
	if (c->f.unsynced_count)
		stop("ack", "acknowledged what a power failure would still lose");
	if (c->f.violations)
		stop("ack", "a file was renamed before its bytes were synced");
	if (write(c->ack_fd, "+", 1) != 1)
		stop("ack", "cannot report");
}

static void arm(struct fault *f, enum crash_fault fault, unsigned at)
{
	fault_init(f);
	f->fail_errno = fault == CRASH_FAIL ? ENOSPC : EIO;
	f->fail_at = fault == CRASH_FAIL || fault == CRASH_FAIL_ON ? at : 0;
	f->fail_stays = fault == CRASH_FAIL_ON;
	f->look_fail_at = fault == CRASH_LOOK ? at : 0;
	f->look_errno = EIO;
	f->short_at = fault == CRASH_SHORT ? at : 0;
	f->kill_at = fault == CRASH_KILL ? at : 0;
	f->tear_at = fault == CRASH_TEAR ? at : 0;
}

/* In a child, which tells by its exit status whether it got past the fault. */
static bool act_in_child(const struct crash_case *what, struct crash *c, struct crash_end *end)
{
	int status;

	/* What the child started and left behind when it was killed becomes ours, and is waited for. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		stop(what->name, "cannot take over what a child leaves behind");
	pid_t pid = fork();

	if (pid < 0)
		stop(what->name, "cannot fork");
	if (pid == 0) {
		struct err e = { 0 };
		(void)what->act(c, &e);
		_exit(fault_fired(&c->f) ? 1 : 0);
	}
	if (waitpid(pid, &status, 0) != pid)
		stop(what->name, "cannot wait");
	end->was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (!end->was_killed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		stop(what->name, "the child crashed, or lived on after its end");
	while (waitpid(-1, NULL, 0) > 0)
		;
	return end->was_killed;
}

/* One fault at one call.  False when the act was over before it. */
static bool one_fault(const struct crash_case *what, void *arg, struct crash_end *end)
{
	struct crash c = { .arg = arg };
	int pipe_fd[2];
	char acks[4096];

	if (pipe2(pipe_fd, O_CLOEXEC | O_NONBLOCK))
		stop(what->name, "no pipe");
	c.ack_fd = pipe_fd[1];
	scratch_open_fast(&c.t);
	fault_init(&c.f);
	if (what->setup)
		what->setup(&c);
	arm(&c.f, end->fault, end->at);
	if (end->fault == CRASH_KILL || end->fault == CRASH_TEAR) {
		end->fired = act_in_child(what, &c, end);
	} else {
		end->rc = what->act(&c, &end->err);
		end->fired = fault_fired(&c.f);
	}
	ssize_t n = read(pipe_fd[0], acks, sizeof(acks));
	end->acks = n > 0 ? (unsigned)n : 0;
	what->check(&c, end);
	scratch_done(&c.t);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	return end->fired;
}

/* Sanitizers look for wrong memory on the ways back from a call that failed: each of these is taken.  What a kill leaves on the disk they know nothing of: with
 * them, which take several times as long, every fourth of the others is. */
static unsigned step_of(enum crash_fault fault)
{
#ifdef __SANITIZE_ADDRESS__
	return fault == CRASH_FAIL || fault == CRASH_LOOK ? 1 : 4;
#else
	(void)fault;
	return 1;
#endif
}

unsigned crash_sweep(const struct crash_case *what, void *arg)
{
	unsigned calls = 0;

	for (enum crash_fault fault = 0; fault < CRASH_FAULTS; fault++) {
		unsigned step = step_of(fault);
		for (unsigned at = 1;; at += step) {
			struct crash_end end = { .fault = fault, .at = at };
			if (!one_fault(what, arg, &end)) {
				if (!end.was_killed && end.rc)
					stop(what->name, end.err.text);
				calls = at - 1;
				if (at == 1 || step == 1)
					break;
				at -= step; /* the last that was hit: one by one from there, so that they are counted */
				step = 1;
			}
			if (at > 10000)
				stop(what->name, "never ends");
		}
		printf("# %s, %s: %u calls\n", what->name, fault_names[fault], calls);
	}
	return calls;
}

/* outside.c — what a person has permitted and the walls do not let through: carried out once, by the supervisor.
 *
 * A permit is the text that was judged, where it runs, and the profile that is wide enough.  It lives in the supervisor's memory and is
 * named by the decision that is on record; whoever redeems it brings nothing but that name and three streams.  So nothing
 * inside can change what is run, and the agent never gains the right itself: the command runs in walls of its own, and only its
 * output comes back.
 *
 * It is a run like every other: a child of the supervisor opens the kernel anew, decides under the wider profile (a denial there still
 * denies, and so does a reason to ask or a script that the person was not asked about), writes rows and receipts that name session and
 * decision, and ends with everything it started when the one who asked has gone.  Frozen and paused are looked at by that decision, too: a
 * permit has no list of checks of its own but whose it is, that it is used once, and for ten minutes. */
#include "base/file.h"
#include "base/text.h"
#include "kernel/agent/parts.h"
#include "propose/propose.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PERMIT_US = 600000000, PERMITS_MOST = 64, EXIT_FAILED = 126 };

/* ---- permits ---- */

static char *copy(const char *text)
{
	char *kept = strdup(text);

	if (!kept)
		mem_exhausted(0);
	return kept;
}

void permit_free(struct permit *p)
{
	free(p->id);
	free(p->command);
	free(p->cwd);
	free(p->real);
	free(p->profile);
	free(p->terms);
	free(p);
}

/* Those that are too late, and the oldest of too many: each holds the text of a call.  Under the lock. */
static void drop_permits(struct session *s)
{
	const int64_t now_us = s->sys->mono_us(s->sys);
	size_t n = 0;

	for (struct permit **p = &s->permits, *old; (old = *p);) {
		if (now_us <= old->until_us && n++ < PERMITS_MOST) {
			p = &old->next;
			continue;
		}
		*p = old->next;
		permit_free(old);
	}
}

/* The directory as it is now: whoever is inside may put another one, or a link, in its place before the permit is used. */
static void hold_place(struct session *s, struct permit *p)
{
	AUTO(close_fd) int fd = s->sys->open(s->sys, AT_FDCWD, p->cwd, O_PATH | O_DIRECTORY, 0, 0);
	char link[32], real[PATH_MAX];
	struct stat st;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n =
		fd < 0 || fstat(fd, &st) ? -1 : s->sys->readlink(s->sys, AT_FDCWD, link, real, sizeof(real));
	/* One that cannot be told is none that could be met again. */
	if (n <= 0 || n >= (ssize_t)sizeof(real)) {
		p->place = (struct held_place){ .real = "" };
		return;
	}
	real[n] = '\0';
	p->real = copy(real);
	p->place = (struct held_place){ .real = p->real, .dev = st.st_dev, .ino = st.st_ino };
}

const char *permit_add(struct session *s, struct arena *a, const char *command, const struct hook_answer *how)
{
	struct permit *p = calloc(1, sizeof(*p));
	struct buf terms;

	if (!p)
		mem_exhausted(0);
	buf_init(&terms, a);
	json_write(&terms, how->outside_terms, 0);
	*p = (struct permit){ .id = copy(how->decision_id),
		.command = copy(command),
		.cwd = copy(how->cwd ? how->cwd : s->root),
		.profile = copy(how->outside_profile),
		.terms = copy(arena_strndup(a, terms.p, terms.n)),
		.until_us = s->sys->mono_us(s->sys) + PERMIT_US };
	hold_place(s, p);
	pthread_mutex_lock(&s->lock);
	drop_permits(s);
	p->next = s->permits;
	s->permits = p;
	pthread_mutex_unlock(&s->lock);
	return arena_printf(a, "%s outside %s", text_quote(a, s->helm), how->decision_id);
}

struct permit *permit_take(struct session *s, const char *id)
{
	struct permit *found = NULL;

	pthread_mutex_lock(&s->lock);
	drop_permits(s);
	for (struct permit **p = &s->permits; *p; p = &(*p)->next)
		if (text_eq((*p)->id, id)) {
			found = *p;
			*p = found->next;
			break;
		}
	s->count.outside += found != NULL;
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* ---- in the child ---- */

static void tell(struct sys *s, struct arena *a, const char *text)
{
	const char *line = arena_printf(a, "helm: %s\n", text_safe(a, text, strlen(text), true));

	(void)!s->write(s, 2, line, strlen(line));
}

/* The exit code. */
static int carry_out(struct session *s, const struct permit *p)
{
	AUTO(arena_done) struct arena a = { 0 };
	const char *const argv[] = { s->shell, "-c", p->command, NULL };
	struct run_spec spec = { .profile = p->profile,
		.argv = argv,
		.argc = 3,
		.task_name = TASK_OUTSIDE,
		.parent_task_id = s->task_id,
		.mode = GUARD_ENFORCE,
		.mode_source = "default",
		.permitted_by = p->id,
		.permitted_at = &p->place,
		.left = s->task,
		.left_told = s->left_told,
		.cwd = p->cwd,
		.is_terminal = isatty(1) && isatty(2) };
	struct run_report report;
	struct workspace *ws;
	struct json *terms;
	struct kernel k;
	struct err e = { 0 };
	int rc = json_parse(&a, bytes_of(p->terms), "permit", NULL, &terms, &e);

	spec.permitted_terms = terms;
	if (rc == OK)
		rc = workspace_open(s->sys, &a, s->root, 0, &ws, &e);

	if (rc == OK)
		rc = kernel_open(s->sys, &a, ws, &k, &e);
	if (rc == OK) {
		rc = task_run(&k, &a, &spec, &report, &e);
		kernel_close(&k);
	}
	if (rc) {
		tell(s->sys, &a, e.text);
		return EXIT_FAILED;
	}
	if (report.message)
		tell(s->sys, &a, report.message);
	if (report.hint)
		tell(s->sys, &a, report.hint);
	return report.exit_code;
}

/* A kernel session of its own, so that the person's terminal is none of its business; gone when the supervisor is. */
static void be_child(struct session *s, const struct permit *p, const int streams[3], pid_t parent)
{
	int moved[3];
	sigset_t none;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* The supervisor's memory is closed while its session runs; a process that is so cannot map users into new namespaces. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (getppid() != parent)
		_exit(EXIT_FAILED);
	/* A supervisor that was started without a stream may have got others under these numbers. */
	for (int fd = 0; fd < 3; fd++)
		moved[fd] = fcntl(streams[fd], F_DUPFD_CLOEXEC, 3);
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(moved[fd], fd);
	(void)syscall(SYS_close_range, 3, ~0U, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	_exit(carry_out(s, p));
}

/* ---- in the supervisor ---- */

/* Signals from the one who asked go on to it; when that one has gone, it is asked to end. */
void outside_attend(struct session *s, pid_t child, int pidfd, int conn)
{
	for (;;) {
		struct pollfd p[] = { { pidfd, POLLIN, 0 }, { conn, POLLIN, 0 } };
		unsigned char number;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return;
		if (p[0].revents)
			return;
		if (!p[1].revents)
			continue;
		ssize_t n = s->sys->read(s->sys, conn, &number, 1);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		(void)kill(child, n == 1 && (number == SIGINT || number == SIGQUIT) ? number : SIGTERM);
		if (n <= 0)
			return;
	}
}

int outside_run(
	struct session *s, const struct permit *p, const int streams[3], int conn, int *ret, struct err *e)
{
	const pid_t parent = getpid();
	const uint32_t told = task_left_count(s->task);
	pid_t child = s->sys->fork(s->sys);
	int status;

	if (child < 0)
		return err_sys(e, "AGENT_OUTSIDE", "it cannot be started");
	if (child == 0)
		be_child(s, p, streams, parent);
	s->left_told = told;
	AUTO(close_fd) int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	if (pidfd >= 0)
		outside_attend(s, child, pidfd, conn);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "AGENT_OUTSIDE", "its end was not seen");
	*ret = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return OK;
}

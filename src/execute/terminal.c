/* terminal.c — a session's own terminal, and the relay to the person's.
 *
 * Nothing inside a session holds the person's terminal: a program that does can read what is typed there after the session, put
 * characters into its input, or change its modes.  So the session gets a pseudo-terminal that was made in its own
 * mount namespace (where /dev/pts holds nothing else), and bytes are carried between the two.  The person's terminal is in raw
 * mode meanwhile: Ctrl-C, Ctrl-Z and the like are bytes, and the session's own terminal makes signals of them, as it would without us.
 *
 * Both sides are written without waiting: a session that does not read, or a window that is not drawn, holds up nothing but
 * itself.  For that the person's terminal is opened once more, since O_NONBLOCK on the shell's own open file would be the shell's, too. */
#include "execute/terminal.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { LAST_WORDS_MS = 1000 };

void terminal_find(struct terminal *t)
{
	*t = (struct terminal){ .in = -1, .out = -1, .own = -1, .master = -1 };
	for (int fd = 0; fd < 3; fd++) {
		t->is_stream[fd] = isatty(fd);
		if (!t->is_stream[fd])
			continue;
		if (!t->is_wanted) {
			(void)tcgetattr(fd, &t->as_found);
			(void)ioctl(fd, TIOCGWINSZ, &t->size);
		}
		t->is_wanted = true;
	}
	if (t->is_stream[0])
		t->in = 0;
	if (t->is_wanted)
		t->out = t->is_stream[1] ? 1 : t->is_stream[2] ? 2 : 0;
}

int terminal_make(const struct terminal *t)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int slave = master >= 0 && unlockpt(master) == 0
		? ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)
		: -1;

	if (slave < 0) {
		close_fd(&master);
		return -1;
	}
	(void)tcsetattr(slave, TCSANOW, &t->as_found);
	(void)ioctl(slave, TIOCSWINSZ, &t->size);
	(void)ioctl(slave, TIOCSCTTY, 0);
	for (int fd = 0; fd < 3; fd++)
		if (t->is_stream[fd])
			(void)dup2(slave, fd);
	if (slave > 2)
		close(slave);
	return master;
}

/* Only where we read from it: who merely prints to a terminal leaves its modes alone. */
static void make_raw(struct terminal *t)
{
	struct termios raw = t->as_found;

	if (t->in < 0)
		return;
	cfmakeraw(&raw);
	t->is_raw = tcsetattr(t->in, TCSANOW, &raw) == 0;
}

void terminal_begin(struct terminal *t, int master)
{
	char name[32];

	t->master = master;
	(void)fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", t->out);
	t->own = open(name, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (t->own >= 0) {
		t->out = t->own;
		t->in = t->in >= 0 ? t->own : -1;
	}
	make_raw(t);
	terminal_resize(t);
}

void terminal_yield(struct terminal *t)
{
	if (t->is_raw)
		(void)tcsetattr(t->in, TCSADRAIN, &t->as_found);
	t->is_raw = false;
}

/* The shell may have changed its modes since; what it left is what is given back in the end. */
void terminal_resume(struct terminal *t)
{
	if (t->master < 0 || t->is_raw)
		return;
	if (t->in >= 0)
		(void)tcgetattr(t->in, &t->as_found);
	make_raw(t);
	terminal_resize(t);
}

/* The kernel tells the programs inside by SIGWINCH when the size is another one. */
void terminal_resize(struct terminal *t)
{
	if (t->master >= 0 && ioctl(t->out, TIOCGWINSZ, &t->size) == 0)
		(void)ioctl(t->master, TIOCSWINSZ, &t->size);
}

void terminal_await(const struct terminal *t, struct pollfd *p)
{
	bool is_open = t->master >= 0;
	short want = (short)((t->to_person.n ? 0 : POLLIN) | (t->to_session.n ? POLLOUT : 0));

	p[0] = (struct pollfd){ is_open && !t->to_session.n ? t->in : -1, POLLIN, 0 };
	p[1] = (struct pollfd){ is_open && want ? t->master : -1, want, 0 };
	p[2] = (struct pollfd){ t->to_person.n ? t->out : -1, POLLOUT, 0 };
}

/* False when there is nothing more to come. */
static bool fill(struct terminal_flow *f, int from)
{
	ssize_t n = read(from, f->bytes, sizeof(f->bytes));

	f->at = 0;
	f->n = n > 0 ? (size_t)n : 0;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* False when nobody takes it any more. */
static bool pour(struct terminal_flow *f, int to)
{
	ssize_t n = write(to, f->bytes + f->at, f->n);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	f->at += (size_t)n;
	f->n -= (size_t)n;
	return true;
}

/* A side that has gone is not asked again: the person's, when its window was closed; the session's, when nothing has it open. */
void terminal_relay(struct terminal *t, const struct pollfd *p)
{
	if (p[0].revents && !fill(&t->to_session, t->in))
		t->in = -1;
	if (p[1].revents & (POLLIN | POLLHUP | POLLERR) && !t->to_person.n && !fill(&t->to_person, t->master))
		close_fd(&t->master), t->master = -1;
	if (t->to_session.n && t->master >= 0 && !pour(&t->to_session, t->master))
		t->to_session.n = 0;
	if (t->to_person.n && !pour(&t->to_person, t->out)) {
		t->to_person.n = 0;
		t->out = -1;
	}
}

/* What lies in the terminal when its last program has ended.  A program outside that still has it open, or a window that takes
 * nothing, is not waited for. */
static void last_words(struct terminal *t)
{
	struct pollfd p[TERMINAL_POLLS];

	t->in = -1;
	t->to_session.n = 0;
	do
		terminal_await(t, p);
	while ((t->master >= 0 || t->to_person.n) && t->out >= 0 &&
		poll(p, TERMINAL_POLLS, LAST_WORDS_MS) > 0 && (terminal_relay(t, p), true));
}

void terminal_end(struct terminal *t)
{
	int in = t->in;

	last_words(t);
	t->in = in;
	terminal_yield(t);
	close_fd(&t->master);
	close_fd(&t->own);
	t->master = t->own = t->in = t->out = -1;
}

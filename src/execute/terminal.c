/* terminal.c — a session's own terminal, and the relay to the person's.
 *
 * Nothing inside a session holds the person's terminal: a program that does can read what is typed there after the session, put
 * characters into its input, or change its modes.  So the session gets a pseudo-terminal that was made in its own
 * mount namespace (where /dev/pts holds nothing else), and bytes are carried between the two.  The person's terminal is in raw
 * mode meanwhile: Ctrl-C, Ctrl-Z and the like are bytes, and the session's own terminal makes signals of them, as it would without us.
 *
 * Both sides are written without waiting: a session that does not read, or a window that is not drawn, holds up nothing but
 * itself.  For that the person's terminal is opened once more, since O_NONBLOCK on the shell's own open file would be the shell's, too.
 *
 * A session that was detached has a terminal that nobody sits at: we keep what it has shown last, and a guest (attach.c) gets that and
 * sits in the person's place until it leaves. */
#include "execute/terminal.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LAST_WORDS_MS = 1000, KEPT_BYTES = 256 << 10 };

void terminal_find(struct terminal *t)
{
	*t = (struct terminal){ .in = -1, .out = -1, .own = -1, .master = -1, .listener = -1, .guest = -1 };
	for (int fd = 0; fd < 3; fd++) {
		t->is_stream[fd] = isatty(fd);
		if (!t->is_stream[fd])
			continue;
		if (!t->is_wanted) {
			t->has_modes = tcgetattr(fd, &t->as_found) == 0;
			(void)ioctl(fd, TIOCGWINSZ, &t->size);
		}
		t->is_wanted = true;
	}
	if (t->is_stream[0])
		t->in = 0;
	if (t->is_wanted)
		t->out = t->is_stream[1] ? 1 : t->is_stream[2] ? 2 : 0;
}

void terminal_be_alone(struct terminal *t, const struct run_alone *how)
{
	*t = (struct terminal){ .is_wanted = true,
		.is_stream = { true, true, true },
		.is_alone = true,
		.has_modes = how->has_modes,
		.as_found = how->modes,
		.size = how->size,
		.in = -1,
		.out = -1,
		.own = -1,
		.master = -1,
		.listener = how->listener,
		.guest = -1 };
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
	if (t->has_modes)
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
	if (t->is_alone) {
		t->kept = malloc(KEPT_BYTES);
		if (!t->kept)
			mem_exhausted(0);
		return;
	}
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

/* ---- nobody's ---- */

/* A guest that takes nothing holds up the session as a window that is not drawn does; without one everything is kept as it comes. */
static void await_alone(const struct terminal *t, struct pollfd *p)
{
	bool has_room = t->guest < 0 || t->kept_n - t->told < KEPT_BYTES / 4;
	short want = (short)((has_room ? POLLIN : 0) | (t->to_session.n ? POLLOUT : 0)),
	      guest = (short)((t->to_session.n ? 0 : POLLIN) | (t->told < t->kept_n ? POLLOUT : 0));

	p[0] = (struct pollfd){ t->listener, POLLIN, 0 };
	p[1] = (struct pollfd){ want ? t->master : -1, want, 0 };
	p[2] = (struct pollfd){ t->guest, guest, 0 };
}

/* False when there is nothing more to come.  The older half makes room. */
static bool keep_shown(struct terminal *t)
{
	if (t->kept_n + TERMINAL_CHUNK > KEPT_BYTES) {
		const size_t gone = KEPT_BYTES / 2;
		t->kept_n -= gone;
		memmove(t->kept, t->kept + gone, t->kept_n);
		t->told = t->told > gone ? t->told - gone : 0;
		t->is_cut = true;
	}
	ssize_t n = read(t->master, t->kept + t->kept_n, TERMINAL_CHUNK);
	t->kept_n += n > 0 ? (size_t)n : 0;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void drop_guest(struct terminal *t)
{
	close_fd(&t->guest);
	t->guest = -1;
}

/* It sees what was shown last, from the beginning of a line. */
static void meet_guest(struct terminal *t)
{
	pid_t who;
	int fd = session_accept(t->listener, &who);
	const char *line = t->is_cut ? memchr(t->kept, '\n', t->kept_n) : NULL;

	if (fd < 0)
		return;
	(void)!send(fd, t->guest < 0 ? "a" : "b", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (t->guest >= 0) {
		close(fd);
		return;
	}
	t->guest = fd;
	t->is_new = true;
	t->told = line ? (size_t)(line + 1 - t->kept) : 0;
}

/* Programs draw anew when the size has changed: for a new guest it is changed in any case. */
static void fit_guest(struct terminal *t, struct winsize size)
{
	struct winsize other = size;

	if (t->is_new && other.ws_row > 1) {
		other.ws_row--;
		(void)ioctl(t->master, TIOCSWINSZ, &other);
	}
	t->is_new = false;
	(void)ioctl(t->master, TIOCSWINSZ, &size);
}

static void hear_guest(struct terminal *t)
{
	char message[TERMINAL_CHUNK + 1];
	struct winsize size;
	ssize_t n = recv(t->guest, message, sizeof(message), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop_guest(t);
	} else if (message[0] == 'k') {
		t->to_session.at = 0;
		t->to_session.n = (size_t)n - 1;
		memcpy(t->to_session.bytes, message + 1, t->to_session.n);
	} else if (message[0] == 'w' && n == 1 + (ssize_t)sizeof(size)) {
		memcpy(&size, message + 1, sizeof(size));
		fit_guest(t, size);
	}
}

static void tell_guest(struct terminal *t)
{
	char message[TERMINAL_CHUNK + 1] = { 'o' };
	size_t n = t->kept_n - t->told < TERMINAL_CHUNK ? t->kept_n - t->told : TERMINAL_CHUNK;

	memcpy(message + 1, t->kept + t->told, n);
	if (send(t->guest, message, n + 1, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		t->told += n;
	else if (errno != EAGAIN && errno != EINTR)
		drop_guest(t);
}

static void relay_alone(struct terminal *t, const struct pollfd *p)
{
	if (p[0].revents)
		meet_guest(t);
	if (p[2].revents & (POLLIN | POLLHUP | POLLERR) && t->guest >= 0)
		hear_guest(t);
	if (p[1].revents & (POLLIN | POLLHUP | POLLERR) && !keep_shown(t)) {
		close_fd(&t->master);
		t->master = -1;
	}
	if (t->to_session.n && (t->master < 0 || !pour(&t->to_session, t->master)))
		t->to_session.n = 0;
	if (t->guest >= 0 && t->told < t->kept_n)
		tell_guest(t);
}

/* ---- both ---- */

void terminal_await(const struct terminal *t, struct pollfd *p)
{
	if (t->is_alone) {
		await_alone(t, p);
		return;
	}
	bool is_open = t->master >= 0;
	short want = (short)((t->to_person.n ? 0 : POLLIN) | (t->to_session.n ? POLLOUT : 0));

	p[0] = (struct pollfd){ is_open && !t->to_session.n ? t->in : -1, POLLIN, 0 };
	p[1] = (struct pollfd){ is_open && want ? t->master : -1, want, 0 };
	p[2] = (struct pollfd){ t->to_person.n ? t->out : -1, POLLOUT, 0 };
}

/* A side that has gone is not asked again: the person's, when its window was closed; the session's, when nothing has it open. */
void terminal_relay(struct terminal *t, const struct pollfd *p)
{
	if (t->is_alone) {
		relay_alone(t, p);
		return;
	}
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
	while ((t->master >= 0 || t->to_person.n || (t->guest >= 0 && t->told < t->kept_n)) &&
		(t->out >= 0 || t->is_alone) && poll(p, TERMINAL_POLLS, LAST_WORDS_MS) > 0 &&
		(terminal_relay(t, p), true));
}

void terminal_end(struct terminal *t)
{
	int in = t->in;

	last_words(t);
	t->in = in;
	terminal_yield(t);
	close_fd(&t->master);
	close_fd(&t->own);
	close_fd(&t->guest);
	t->master = t->own = t->in = t->out = t->guest = -1;
	free(t->kept);
	t->kept = NULL;
	t->kept_n = t->told = 0;
}

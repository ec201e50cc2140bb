/* attach.c — the person's side of a session whose terminal nobody sits at: keys and window size go in, what it shows comes out.
 *
 * It is a process of its own, so that the person's terminal is given back whatever becomes of the session, and the session goes on
 * whatever becomes of the person's window.  Between the two are messages.  First the session says 'a', sit down, or 'b', somebody else is
 * there already; then 'k' are keys, 'w' the window's size, and 'o' output.
 *
 * One key is kept from the session: Ctrl-], and then d to leave, or Ctrl-] once more to send it.  Programs may have asked the terminal
 * to say keys in longer forms, so these are understood, too. */
#include "execute/execute.h"

#include "execute/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEY = 0x1d }; /* Ctrl-] */

struct sitting {
	int socket;
	bool has_key; /* Ctrl-] was typed */
	enum attach_end end;
	bool is_over;
};

static void leave(struct sitting *x, enum attach_end how)
{
	x->end = how;
	x->is_over = true;
}

/* What cannot be sent any more has nobody to read it: the end is heard from the other side. */
static void say(struct sitting *x, char what, const void *p, size_t n)
{
	char message[TERMINAL_CHUNK + 1] = { what };

	memcpy(message + 1, p, n);
	while (send(x->socket, message, n + 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void say_size(struct sitting *x)
{
	struct winsize size;

	if (ioctl(0, TIOCGWINSZ, &size) == 0)
		say(x, 'w', &size, sizeof(size));
}

/* How many bytes of `p` are the key: 0, none. */
static size_t is_key(const char *p, size_t n)
{
	static const char *const forms[] = { "\x1d", "\x1b[93;5u", "\x1b[27;5;93~" };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (n >= strlen(forms[i]) && memcmp(p, forms[i], strlen(forms[i])) == 0)
			return strlen(forms[i]);
	return 0;
}

static void take_keys(struct sitting *x)
{
	char typed[TERMINAL_CHUNK / 2], sent[TERMINAL_CHUNK];
	ssize_t n = read(0, typed, sizeof(typed));
	size_t out = 0;

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		leave(x, ATTACH_LEFT); /* the window is gone */
	for (size_t i = 0, length; n > 0 && i < (size_t)n && !x->is_over; i += length) {
		bool was_key = x->has_key;
		length = is_key(typed + i, (size_t)n - i);
		x->has_key = length && !was_key;
		if (x->has_key)
			continue;
		if (was_key && !length && typed[i] == 'd')
			leave(x, ATTACH_LEFT);
		if (was_key)
			sent[out++] = KEY;
		if (!length) {
			sent[out++] = typed[i];
			length = 1;
		}
	}
	if (out && !x->is_over)
		say(x, 'k', sent, out);
}

static void take_output(struct sitting *x)
{
	char message[TERMINAL_CHUNK + 1];
	ssize_t n = recv(x->socket, message, sizeof(message), 0);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0)
		leave(x, ATTACH_ENDED);
	for (ssize_t at = 1, done; !x->is_over && at < n; at += done) {
		done = write(1, message + at, (size_t)(n - at));
		if (done < 0 && errno != EINTR)
			leave(x, ATTACH_LEFT);
		done = done < 0 ? 0 : done;
	}
}

static int open_signals(sigset_t *ret_old)
{
	static const int heard[] = { SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(heard); i++)
		sigaddset(&set, heard[i]);
	sigprocmask(SIG_BLOCK, &set, ret_old);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void sit(struct sitting *x, int signals)
{
	say_size(x);
	while (!x->is_over) {
		struct pollfd p[] = { { x->socket, POLLIN, 0 }, { 0, POLLIN, 0 }, { signals, POLLIN, 0 } };
		struct signalfd_siginfo info;
		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			return;
		if (p[2].revents && read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
			if (info.ssi_signo == SIGWINCH)
				say_size(x);
			else
				leave(x, ATTACH_LEFT);
		}
		if (p[0].revents && !x->is_over)
			take_output(x);
		if (p[1].revents && !x->is_over)
			take_keys(x);
	}
}

/* What programs switch on in a terminal and would switch off at their end: other screen, hidden cursor, pasting in brackets, reports of mouse
 * and focus, longer forms of keys, colours. */
static const char plain[] =
	"\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l"
	"\x1b[<u\x1b[>4m\x1b[0m\r\n";

/* ATTACH_LEFT: we may sit down. */
static enum attach_end hear_welcome(int socket)
{
	char word = 0;
	ssize_t n;

	while ((n = recv(socket, &word, 1, 0)) < 0 && errno == EINTR)
		;
	return n <= 0 ? ATTACH_ENDED : word == 'a' ? ATTACH_LEFT : ATTACH_BUSY;
}

int attach_sit(int socket, enum attach_end *ret)
{
	struct sitting x = { .socket = socket, .end = ATTACH_LEFT };
	struct termios as_found, raw;
	sigset_t old;

	if (tcgetattr(0, &as_found))
		return -1;
	*ret = hear_welcome(socket);
	if (*ret != ATTACH_LEFT)
		return 0;
	AUTO(close_fd) int signals = open_signals(&old);
	raw = as_found;
	cfmakeraw(&raw);
	(void)tcsetattr(0, TCSANOW, &raw);
	sit(&x, signals);
	(void)!write(1, plain, sizeof(plain) - 1);
	(void)tcsetattr(0, TCSADRAIN, &as_found);
	sigprocmask(SIG_SETMASK, &old, NULL);
	*ret = x.end;
	return 0;
}

void run_alone_look(struct run_alone *to)
{
	for (int fd = 0; fd < 3 && !to->has_modes; fd++) {
		to->has_modes = tcgetattr(fd, &to->modes) == 0;
		if (to->has_modes)
			(void)ioctl(fd, TIOCGWINSZ, &to->size);
	}
	if (!to->size.ws_row || !to->size.ws_col)
		to->size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
}

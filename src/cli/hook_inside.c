/* hook_inside.c — a hook inside a supervised session: what the client wrote goes to the supervisor, and its answer to the client.
 *
 * That is all there is to do, since the supervisor decides, signs and knows the client's words, and an agent waits for it at every call.  So it
 * is done at the first instruction of the program (sys/begin.c), before relocations, libc and tables: most of the time of a hook was the start
 * of a program that it does not need.  Hence the rules of this file.  It calls nothing, not even memcpy(); its only memory is its own; and no
 * pointer stands in its data, because nobody has relocated them.  A test looks that it needs no symbol (tests/cli/linking.t).
 *
 * Whatever goes wrong before a call ends in exit code 2, which every client takes for "no". */
#include "cli/hook_inside.h"

#include "execute/execute.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 256, DEADLINE_S = 10, HEADER = 160, SMALL = 32 << 10, PAYLOAD = 8 << 20, LARGE = 64 << 20 };

/* The result, or an error as a negative number. */
static long ask(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#else
	long ret = syscall(number, a, b, c, d, e, f);

	return ret < 0 ? -errno : ret;
#endif
}

/* ---- memory ---- */

struct room {
	uint8_t *p;
	size_t n, most;
};

static uint8_t small[SMALL];

/* Few calls, and few answers, are longer than the memory that is there anyway. */
static bool make_room(struct room *x)
{
	if (x->n < x->most)
		return true;
	if (x->most != SMALL)
		return false;
	long got = ask(SYS_mmap, 0, LARGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (got < 0 && got > -4096)
		return false;
	uint8_t *p = (uint8_t *)got;
	for (size_t i = 0; i < x->n; i++)
		p[i] = x->p[i];
	x->p = p;
	x->most = LARGE;
	return true;
}

/* ---- words ---- */

static size_t length(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

static bool is_text(const char *x, const char *y)
{
	while (*x && *x == *y) {
		x++;
		y++;
	}
	return *x == *y;
}

/* Nothing that JSON would have to quote. */
static bool is_plain(const char *word)
{
	size_t n = 0;

	for (; word[n]; n++)
		if (!(word[n] >= 'a' && word[n] <= 'z') && !(word[n] >= '0' && word[n] <= '9') &&
			word[n] != '-' && word[n] != '_')
			return false;
	return n > 0 && n < 40;
}

static size_t put(char *to, size_t at, const char *text)
{
	for (size_t n = length(text), i = 0; i < n; i++)
		to[at + i] = text[i];
	return at + length(text);
}

static size_t put_number(char *to, size_t at, size_t number)
{
	char digits[24];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (n > 0)
		to[at++] = digits[--n];
	return at;
}

/* A number and the byte behind it; false when there is none. */
static bool take_number(const struct room *x, size_t *at, char end, size_t *ret)
{
	size_t number = 0, from = *at;

	for (; *at < x->n && x->p[*at] >= '0' && x->p[*at] <= '9' && number <= LARGE; (*at)++)
		number = number * 10 + (size_t)(x->p[*at] - '0');
	if (*at == from || *at >= x->n || x->p[*at] != (uint8_t)end)
		return false;
	(*at)++;
	*ret = number;
	return true;
}

/* ---- input and output ---- */

/* The kernel takes off `left` what has passed. */
static bool is_in_time(int fd, short what, struct timespec *left)
{
	struct pollfd p = { fd, what, 0 };
	long rc;

	do
		rc = ask(SYS_ppoll, (long)&p, 1, (long)left, 0, 0, 0);
	while (rc == -EINTR);
	return rc > 0;
}

static bool write_all(int fd, const uint8_t *p, size_t n)
{
	while (n > 0) {
		long done = ask(SYS_write, fd, (long)p, (long)n, 0, 0, 0);
		if (done == -EINTR)
			continue;
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

static int fail(const char *why)
{
	(void)write_all(2, (const uint8_t *)why, length(why));
	return FAILED;
}

/* Everything up to its end.  False: too late, too much, or unreadable. */
static bool read_all(int fd, size_t most, struct timespec *left, struct room *x)
{
	for (;;) {
		if (x->n > most || !make_room(x) || !is_in_time(fd, POLLIN, left))
			return false;
		long got = ask(SYS_read, fd, (long)(x->p + x->n), (long)(x->most - x->n), 0, 0, 0);
		if (got == -EINTR || got == -EAGAIN)
			continue;
		if (got < 0)
			return false;
		if (got == 0)
			return true;
		x->n += (size_t)got;
	}
}

/* One after the other, and no more than there is room for at the other end. */
static bool send_all(int fd, const uint8_t *p, size_t n, struct timespec *left)
{
	while (n > 0) {
		long done = ask(SYS_sendto, fd, (long)p, (long)n, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
		if (done == -EINTR)
			continue;
		if (done == -EAGAIN && is_in_time(fd, POLLOUT, left))
			continue;
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

/* "EXIT OUT ERR\n", and so many bytes of each (kernel/agent/parts.h).  Half an answer is none. */
static int pass_on(const struct room *x)
{
	const uint64_t broken_pipe = 1UL << (SIGPIPE - 1);
	size_t at = 0, code, out, err;

	if (!take_number(x, &at, ' ', &code) || !take_number(x, &at, ' ', &out) ||
		!take_number(x, &at, '\n', &err) || x->n - at < out || x->n - at - out != err || code > 255)
		return fail(
			"helm: the supervisor of this session has gone, or is busy: nothing was decided\n");
	if (out + err > 0) /* a reader that has gone is an error, not our end */
		(void)ask(SYS_rt_sigprocmask, SIG_BLOCK, (long)&broken_pipe, 0, sizeof(broken_pipe), 0, 0);
	if (!write_all(1, x->p + at, out))
		return fail("helm: cannot emit denial\n");
	(void)write_all(2, x->p + at + out, err);
	return (int)code;
}

static int exchange(int fd, const char *verb, const char *client)
{
	char header[HEADER];
	struct room x = { small, HEADER, SMALL }; /* the line stands right before what is read: one message */
	struct timespec left = { DEADLINE_S, 0 };
	size_t n;

	if (!read_all(0, HEADER + PAYLOAD, &left, &x))
		return fail("helm: the call could not be read, or not in time: nothing was decided\n");
	n = put(header, 0, "{\"ask\":\"hook\",\"verb\":\"");
	n = put(header, n, verb);
	n = put(header, n, "\",\"client\":\"");
	n = put(header, n, client);
	n = put(header, n, "\",\"bytes\":");
	n = put_number(header, n, x.n - HEADER);
	n = put(header, n, "}\n");
	for (size_t i = 0; i < n; i++)
		x.p[HEADER - n + i] = (uint8_t)header[i];
	if (!send_all(fd, x.p + HEADER - n, x.n - HEADER + n, &left))
		return fail("helm: the supervisor of this session cannot be reached: nothing was decided\n");
	x.n = 0;
	if (!read_all(fd, LARGE, &left, &x))
		return fail(
			"helm: the supervisor of this session gave no answer, or not in time: nothing was decided\n");
	return pass_on(&x);
}

/* Before a call every failure is a block; behind it there is nothing left to stop. */
int hook_inside(const char *verb, const char *client)
{
	if (!is_plain(client))
		return -1;
	int code, fd = (int)ask(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, DESK_PROTOCOL, 0, 0, 0);
	/* Of a filter whose supervisor is gone the kernel says that there is no such call, and of nothing else. */
	if (fd == -ENOSYS)
		code = fail("helm: the supervisor of this session has gone: nothing was decided\n");
	else if (fd < 0)
		return -1;
	else if (fd <= 2) /* where a stream is closed the line would take its place */
		code = fail("helm: standard input, output and error must be open: nothing was decided\n");
	else
		code = exchange(fd, verb, client);
	return code != FAILED ? code : is_text(verb, "pre-tool") ? 2 : 1;
}

/* `hook VERB` with the options that setup writes.  All other words are main()'s. */
void hook_inside_begin(const long *stack)
{
	const char *const *argv = (const char *const *)(stack + 1);
	const char *client = NULL;
	long argc = stack[0];

	if (argc < 5 || argc % 2 == 0 || !is_text(argv[1], "hook") ||
		(!is_text(argv[2], "pre-tool") && !is_text(argv[2], "post-tool")))
		return;
	for (long i = 3; i + 1 < argc; i += 2) {
		if (is_text(argv[i], "--client") && !client)
			client = argv[i + 1];
		else if (!is_text(argv[i], "--workspace"))
			return;
	}
	int code = client ? hook_inside(argv[2], client) : -1;
	if (code >= 0)
		(void)ask(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

/* start.c — the door as those see it who start it and those who listen for it inside.
 *
 * Between them is one socket pair of messages: rules go in at any time, and the listening socket, which only a process inside the
 * namespace can make.  Shutting it down ends the door, whoever else holds a copy of it. */
#include "execute/egress/egress.h"

#include "base/fds.h"
#include "base/proc.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 32 << 10, LINE_MOST = 16 << 10, STOP_MS = 5000 };

struct egress_door {
	struct sys *sys;
	struct arena *a;
	struct proc proc;
	int control; /* our end; also what goes inside */
	int records; /* -1: ended */
	uint16_t port; /* where it listens */
	char line[LINE_MOST]; /* of a record, as far as it has come */
	size_t line_n;
};

/* The proxy's address follows a value that ends with "//". */
static const char *const variables[] = { "http_proxy=http://", "https_proxy=http://", "HTTP_PROXY=http://",
	"HTTPS_PROXY=http://", "all_proxy=socks5h://", "ALL_PROXY=socks5h://",
	"no_proxy=localhost,127.0.0.1,::1", "NO_PROXY=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1" };

const char *const *egress_environment(struct arena *a, const struct egress_door *d)
{
	const char **list = arena_zalloc(a, ARRAY_SIZE(variables) + 1, sizeof(*list));

	for (size_t i = 0; d && i < ARRAY_SIZE(variables); i++)
		list[i] = text_ends(variables[i], "//")
			? arena_printf(a, "%s127.0.0.1:%u", variables[i], d->port)
			: variables[i];
	return list;
}

bool egress_is_variable(const char *entry)
{
	static const char *const others[] = {
		"ftp_proxy=", "FTP_PROXY=", "RSYNC_PROXY=", "npm_config_proxy=", "npm_config_https_proxy="
	};
	size_t n = strcspn(entry, "=");

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (strncmp(entry, variables[i], n + 1) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (text_starts(entry, others[i]))
			return true;
	return false;
}

/* ---- inside ---- */

/* Port 0: any that is free.  Returns the port, or 0 with errno. */
static uint16_t listen_for(int to, uint16_t port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	socklen_t n = sizeof(at);
	AUTO(close_fd) int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof(at)) ||
		listen(listener, EGRESS_LINKS) || getsockname(listener, (struct sockaddr *)&at, &n) ||
		fds_send(to, BYTES_LITERAL("l"), &listener, 1))
		return 0;
	return ntohs(at.sin_port);
}

int egress_offer(int to)
{
	uint16_t port = listen_for(to, EGRESS_DOOR_PORT);

	close(to);
	return port ? 0 : -1;
}

/* ---- outside ---- */

static int send_text(struct egress_door *d, const struct buf *text, struct err *e)
{
	if (fds_send(d->control, buf_bytes(text), NULL, 0) == 0)
		return OK;
	return err_sys(e, "EGRESS_START", "the door does not listen");
}

int egress_allow(struct egress_door *d, const struct egress_rules *more, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct buf text;
	int rc = OK;

	buf_init(&text, &a);
	buf_addc(&text, 'r');
	for (size_t i = 0; i < more->n && rc == OK; i++) {
		buf_addf(&text, "%s\t%s\n", more->list[i].from, more->list[i].text);
		if (text.n < MESSAGE_BYTES && i + 1 < more->n)
			continue;
		rc = send_text(d, &text, e);
		text.n = 1;
	}
	return rc;
}

static int start_program(struct egress_door *d, struct err *e)
{
	const char *const argv[] = { "/proc/self/exe", "egress", "serve", NULL }, *const none[] = { NULL };
	struct proc_spec spec = PROC_SPEC(argv);
	AUTO(close_fd) int theirs = -1;
	AUTO(close_fd) int to = -1;
	int pair[2], pipe_fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_sys(e, "EGRESS_START", "cannot make a socket for the door");
	d->control = pair[0];
	theirs = pair[1];
	if (pipe2(pipe_fds, O_CLOEXEC))
		return err_sys(e, "EGRESS_START", "cannot make a pipe for the door");
	d->records = pipe_fds[0];
	to = pipe_fds[1];
	(void)fcntl(d->records, F_SETFL, O_NONBLOCK);
	spec.env = none;
	spec.in_fd = theirs;
	spec.out_fd = to;
	return proc_start(d->sys, &spec, &d->proc, e);
}

static void close_all(struct egress_door *d)
{
	proc_done(&d->proc);
	close_fd(&d->control);
	close_fd(&d->records);
	d->control = d->records = -1;
}

int egress_start(struct sys *s, struct arena *a, const struct egress_rules *rules, const char *who,
	struct egress_door **ret, struct err *e)
{
	struct egress_door *d = arena_zalloc(a, 1, sizeof(*d));
	struct buf text;

	*d = (struct egress_door){ .sys = s, .a = a, .control = -1, .records = -1, .port = EGRESS_DOOR_PORT };
	buf_init(&text, a);
	buf_addf(&text, "w%s", who);
	int rc = start_program(d, e);
	if (rc == OK)
		rc = send_text(d, &text, e);
	if (rc == OK)
		rc = egress_allow(d, rules, e);
	if (rc == OK)
		*ret = d;
	else
		close_all(d);
	return rc;
}

int egress_inside(const struct egress_door *d)
{
	return d->control;
}

uint16_t egress_listen(struct egress_door *d, struct err *e)
{
	uint16_t port = listen_for(d->control, 0);

	if (port)
		d->port = port;
	else
		(void)err_sys(e, "EGRESS_START", "cannot listen for the egress proxy");
	return port;
}

uint16_t egress_port(const struct egress_door *d)
{
	return d->port;
}

int egress_records(const struct egress_door *d)
{
	return d->records;
}

/* Whole lines go to `fn`; the beginning of another one stays. */
static int hear_lines(struct egress_door *d, egress_visit *fn, void *arg, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	char *at = d->line, *end;
	int rc = OK;

	while (rc == OK && (end = memchr(at, '\n', (size_t)(d->line + d->line_n - at)))) {
		struct json *record;
		struct bytes text = { (const uint8_t *)at, (size_t)(end - at) };
		rc = json_parse(&a, text, "a record of the door", NULL, &record, e);
		if (rc == OK && fn)
			rc = fn(arg, record, e);
		arena_reset(&a);
		at = end + 1;
	}
	d->line_n -= (size_t)(at - d->line);
	memmove(d->line, at, d->line_n);
	return rc;
}

/* A record longer than any the door makes, or one that is none, ends the door: it is not what was started. */
int egress_hear(struct egress_door *d, egress_visit *fn, void *arg, struct err *e)
{
	int rc = OK;

	while (d->records >= 0 && rc == OK) {
		ssize_t n = read(d->records, d->line + d->line_n, LINE_MOST - d->line_n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return OK;
		if (n > 0) {
			d->line_n += (size_t)n;
			rc = hear_lines(d, fn, arg, e);
		}
		if (n > 0 && rc == OK && d->line_n < LINE_MOST)
			continue;
		close_fd(&d->records);
		d->records = -1;
	}
	return rc;
}

/* From here on nothing comes in; its last records are read until its end of the pipe closes. */
int egress_stop(struct egress_door *d, egress_visit *fn, void *arg, struct err *e)
{
	struct proc_end end;
	int rc = OK;

	if (!d)
		return OK;
	(void)shutdown(d->control, SHUT_RDWR);
	int64_t until_us = d->sys->mono_us(d->sys) + (int64_t)STOP_MS * 1000;
	while (rc == OK && d->records >= 0 && d->sys->mono_us(d->sys) < until_us) {
		struct pollfd more = { .fd = d->records, .events = POLLIN };
		(void)poll(&more, 1, 1000);
		rc = egress_hear(d, fn, arg, e);
	}
	if (d->proc.pid > 0)
		(void)proc_wait(d->sys, &d->proc, STOP_MS, &end, NULL);
	close_all(d);
	return rc;
}

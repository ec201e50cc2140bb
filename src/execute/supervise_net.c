/* supervise_net.c — TCP without a network namespace: sockets are made, bound and connected by the supervisor.
 *
 * Landlock knows ports, not addresses.  So the caller gets its socket from us, and we keep a duplicate until it is connected or listens.
 * connect(), bind() and listen() are carried out on that duplicate, with our own copy of the address.  A run reaches the egress
 * proxy, and what listens on the loopback for this very run; it listens on the loopback only.  Every other address answers as
 * if there were no route.  There is no other kind of socket.
 *
 * Whether something that listens is the run's own is known by its inode, which /proc/net/tcp shows. */
#include "execute/supervise.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BACKLOG_MOST = 4096 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage room;
};

static const struct in6_addr mapped_loopback = {
	{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 } }
};

/* ---- sockets of the run ---- */

/* "socket:[123]"; 0: it is none. */
static ino_t inode_of_link(const char *path)
{
	char text[64];
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text_starts(text, "socket:[") ? (ino_t)strtoull(text + strlen("socket:["), NULL, 10) : 0;
}

static struct supervised_socket *find_socket(const struct notified *c, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)c->asked.pid, fd);
	ino_t inode = inode_of_link(path);
	for (size_t i = 0; inode && i < c->s->socket_count; i++)
		if (c->s->sockets[i].inode == inode)
			return &c->s->sockets[i];
	return NULL;
}

static void let_go(struct supervisor *s, struct supervised_socket *x)
{
	close(x->fd);
	*x = s->sockets[--s->socket_count];
}

/* Which of our sockets some process still has. */
struct use {
	const struct supervisor *s;
	pid_t pid;
	bool is_used[SUPERVISED_SOCKETS];
};

static bool note_socket(void *arg, long fd)
{
	struct use *u = arg;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%ld", (int)u->pid, fd);
	ino_t inode = inode_of_link(path);
	for (size_t i = 0; inode && i < u->s->socket_count; i++)
		u->is_used[i] |= u->s->sockets[i].inode == inode;
	return false;
}

static bool note_process(void *arg, long pid)
{
	struct use *u = arg;
	char path[64];

	u->pid = (pid_t)pid;
	snprintf(path, sizeof(path), "/proc/%ld/fd", pid);
	if (pid != u->s->self)
		(void)proc_each(path, note_socket, u);
	return false;
}

/* Nobody tells us when the caller has closed a socket: a port that is bound and forgotten would stay taken. */
static void drop_unused(struct supervisor *s)
{
	struct use u = { .s = s };

	if (proc_each("/proc", note_process, &u))
		return;
	for (size_t i = s->socket_count; i-- > 0;)
		if (!u.is_used[i])
			let_go(s, &s->sockets[i]);
}

static int64_t do_socket(struct notified *c)
{
	const int domain = (int)ARGUMENT(c, 0), type = (int)ARGUMENT(c, 1), protocol = (int)ARGUMENT(c, 2);
	struct supervisor *s = c->s;
	struct stat st;

	if ((type & 0xf) != SOCK_STREAM || (protocol && protocol != IPPROTO_TCP))
		return -EPERM;
	if (s->socket_count == SUPERVISED_SOCKETS)
		drop_unused(s);
	if (s->socket_count == SUPERVISED_SOCKETS)
		return -ENFILE;
	int fd = socket(domain, (type & SOCK_NONBLOCK) | SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int64_t rc = fstat(fd, &st) ? -errno : notified_lend(c, fd, type & SOCK_CLOEXEC);
	if (rc) {
		close(fd);
		return rc;
	}
	s->sockets[s->socket_count++] = (struct supervised_socket){ fd, st.st_ino };
	return 0;
}

/* ---- addresses ---- */

static int read_address(const struct notified *c, union address *to)
{
	const size_t n = (size_t)(uint32_t)ARGUMENT(c, 2);

	memset(to, 0, sizeof(*to));
	if (n < sizeof(sa_family_t) || n > sizeof(*to))
		return -EINVAL;
	int rc = notified_read(c, ARGUMENT(c, 1), to, n);
	if (rc)
		return rc;
	if (!notified_is_valid(c))
		return -EINTR;
	switch (to->any.sa_family) {
	case AF_INET:
		return n < sizeof(to->v4) ? -EINVAL : 0;
	case AF_INET6:
		return n < sizeof(to->v6) - sizeof(to->v6.sin6_scope_id) ? -EINVAL : 0;
	default:
		return -EAFNOSUPPORT;
	}
}

static socklen_t size_of(const union address *x)
{
	return x->any.sa_family == AF_INET ? sizeof(x->v4) : sizeof(x->v6);
}

static uint16_t port_of(const union address *x)
{
	return ntohs(x->any.sa_family == AF_INET ? x->v4.sin_port : x->v6.sin6_port);
}

/* All in one form: IPv4 as IPv6 has it. */
static struct in6_addr host_of(const union address *x)
{
	struct in6_addr host = mapped_loopback;

	if (x->any.sa_family == AF_INET6)
		return x->v6.sin6_addr;
	memcpy(host.s6_addr + 12, &x->v4.sin_addr, 4);
	return host;
}

static bool is_any(const struct in6_addr *host)
{
	static const uint8_t none[4];

	return IN6_IS_ADDR_UNSPECIFIED(host) ||
		(IN6_IS_ADDR_V4MAPPED(host) && !memcmp(host->s6_addr + 12, none, 4));
}

static bool is_loopback(const struct in6_addr *host)
{
	return IN6_IS_ADDR_LOOPBACK(host) || (IN6_IS_ADDR_V4MAPPED(host) && host->s6_addr[12] == 127);
}

/* ---- who listens there ---- */

static bool is_own_port(const struct supervisor *s, uint16_t port, ino_t inode)
{
	for (size_t i = 0; i < SUPERVISED_PORTS; i++)
		if (s->ports[i].port == port && s->ports[i].inode == inode)
			return true;
	return false;
}

enum listener { NOBODY, OWN, FOREIGN };

/* A line of /proc/net/tcp: addresses are groups of four bytes, each group as a number of this machine.  False: it is no listener. */
static bool read_listener(const char *line, struct in6_addr *host, uint16_t *port, ino_t *inode)
{
	char digits[33];
	unsigned at_port, state;
	unsigned long number;

	if (sscanf(line, " %*u: %32[0-9A-F]:%4X %*[0-9A-F]:%*X %2X %*s %*s %*s %*u %*u %lu", digits, &at_port,
		    &state, &number) != 4 ||
		state != 0x0a)
		return false;
	size_t groups = strlen(digits) / 8, first = groups == 4 ? 0 : 3;
	*host = mapped_loopback;
	for (size_t i = 0; i < groups && first + i < 4; i++) {
		char group[9] = { 0 };
		memcpy(group, digits + i * 8, 8);
		uint32_t value = (uint32_t)strtoul(group, NULL, 16);
		memcpy(host->s6_addr + (first + i) * 4, &value, 4);
	}
	*port = (uint16_t)at_port;
	*inode = (ino_t)number;
	return true;
}

/* One line, added to what is known. */
static enum listener judge_line(const struct supervisor *s, const char *line, const struct in6_addr *to,
	uint16_t port, enum listener found, bool *is_last)
{
	struct in6_addr host;
	uint16_t on;
	ino_t inode;

	*is_last = !read_listener(line, &host, &on, &inode);
	if (*is_last || on != port || (!is_any(&host) && memcmp(&host, to, sizeof(host)) != 0))
		return found;
	return found != FOREIGN && is_own_port(s, port, inode) ? OWN : FOREIGN;
}

/* The file has a title, then those that listen, then all connections, of which there may be thousands. */
static enum listener who_listens(
	const struct supervisor *s, const char *file, const struct in6_addr *to, uint16_t port)
{
	enum listener found = NOBODY;
	AUTO(close_fd) int fd = open(file, O_RDONLY | O_CLOEXEC);
	char text[16 << 10];
	size_t have = 0;
	ssize_t n;
	bool is_title = true, is_last = false;

	while (fd >= 0 && !is_last && (n = read(fd, text + have, sizeof(text) - 1 - have)) > 0) {
		char *line = text, *end;
		text[have += (size_t)n] = '\0';
		for (; !is_last && (end = strchr(line, '\n')); line = end + 1, is_title = false) {
			*end = '\0';
			if (!is_title)
				found = judge_line(s, line, to, port, found, &is_last);
		}
		have = strlen(line);
		memmove(text, line, have);
	}
	return found;
}

/* 0, or why not. */
static int may_connect(const struct supervisor *s, const union address *to)
{
	const struct in6_addr host = host_of(to);
	const uint16_t port = port_of(to);

	if (is_any(&host) || !is_loopback(&host))
		return is_any(&host) ? -ECONNREFUSED : -ENETUNREACH;
	if (s->proxy_port && port == s->proxy_port && memcmp(&host, &mapped_loopback, sizeof(host)) == 0)
		return 0;
	enum listener v4 = who_listens(s, "/proc/self/net/tcp", &host, port),
		      v6 = who_listens(s, "/proc/self/net/tcp6", &host, port);
	return v4 != FOREIGN && v6 != FOREIGN && (v4 == OWN || v6 == OWN) ? 0 : -ECONNREFUSED;
}

/* ---- the calls ---- */

/* In a process of its own, which may wait: the caller shares the socket's flags and can make it a waiting one at any moment. */
static void connect_waiting(struct notified *c, int fd, int flags)
{
	const union address *to = c->arg; /* a copy, which was judged */

	(void)flags;
	notified_answer(c, connect(fd, &to->any, size_of(to)) ? -errno : 0);
}

/* The duplicate goes with the attempt: a socket that could not be connected is made anew by every program. */
static int64_t do_connect(struct notified *c)
{
	struct supervised_socket *x = find_socket(c, (int)ARGUMENT(c, 0));
	union address to;
	int64_t rc = read_address(c, &to);

	if (!x)
		return -EPERM;
	if (rc == 0)
		rc = may_connect(c->s, &to);
	c->arg = &to;
	if (rc == 0)
		rc = notified_later(c, connect_waiting, x->fd, 0);
	if (rc == 0)
		let_go(c->s, x);
	c->arg = NULL;
	return rc;
}

/* "All addresses" becomes the loopback: nobody outside this machine reaches a server of the run. */
static int narrow(int fd, union address *at)
{
	struct in6_addr host = host_of(at);
	int only = 0;
	socklen_t n = sizeof(only);

	if (!is_any(&host))
		return is_loopback(&host) ? 0 : -EADDRNOTAVAIL;
	if (at->any.sa_family == AF_INET) {
		at->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return 0;
	}
	(void)getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &n);
	at->v6.sin6_addr = only ? in6addr_loopback : mapped_loopback;
	return 0;
}

/* A socket that asks for routes binds itself before it asks, and takes answers to that address only. */
static bool is_for_routes(const struct notified *c)
{
	struct {
		sa_family_t family;
		unsigned short pad;
		uint32_t pid, groups;
	} at = { 0 };

	return ARGUMENT(c, 2) == sizeof(at) && notified_read(c, ARGUMENT(c, 1), &at, sizeof(at)) == 0 &&
		at.family == AF_NETLINK && !at.groups;
}

/* The kernel chooses the address, and getsockname() tells it to the caller. */
static int64_t bind_routes(const struct notified *c)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK };
	int domain = 0;
	socklen_t n = sizeof(domain);
	AUTO(close_fd) int process = supervisor_open_process((pid_t)c->asked.pid);
	AUTO(close_fd)
	int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, (int)ARGUMENT(c, 0), 0);

	/* A process that does not let itself be looked at does without an address. */
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) || domain != AF_NETLINK)
		return 0;
	return bind(fd, (struct sockaddr *)&at, sizeof(at)) ? -errno : 0;
}

static int64_t do_bind(struct notified *c)
{
	if (is_for_routes(c))
		return bind_routes(c);
	struct supervised_socket *x = find_socket(c, (int)ARGUMENT(c, 0));
	union address at;
	int64_t rc = read_address(c, &at);

	if (!x)
		return -EPERM;
	if (rc == 0)
		rc = narrow(x->fd, &at);
	if (rc || bind(x->fd, &at.any, size_of(&at)) == 0)
		return rc;
	if (errno != EADDRINUSE)
		return -errno;
	drop_unused(c->s);
	x = find_socket(c, (int)ARGUMENT(c, 0)); /* its place may be another one now */
	return !x ? -EPERM : bind(x->fd, &at.any, size_of(&at)) ? -errno : 0;
}

/* Who listens without having bound gets a port from the kernel, on all addresses; ours is on the loopback. */
static int64_t do_listen(struct notified *c)
{
	struct supervised_socket *x = find_socket(c, (int)ARGUMENT(c, 0));
	struct supervisor *s = c->s;
	union address at = { .any.sa_family = AF_UNSPEC };
	socklen_t n = sizeof(at);
	int backlog = (int)ARGUMENT(c, 1);

	if (!x || !notified_is_valid(c))
		return x ? -EINTR : -EPERM;
	if (getsockname(x->fd, &at.any, &n))
		return -errno;
	if (!port_of(&at)) {
		int rc = narrow(x->fd, &at);
		if (rc || bind(x->fd, &at.any, size_of(&at)))
			return rc ? rc : -errno;
		n = sizeof(at);
	}
	if (listen(x->fd, backlog > BACKLOG_MOST || backlog < 0 ? BACKLOG_MOST : backlog) ||
		getsockname(x->fd, &at.any, &n))
		return -errno;
	s->ports[s->port_at++ % SUPERVISED_PORTS] = (struct supervised_port){ port_of(&at), x->inode };
	let_go(s, x);
	return 0;
}

int64_t supervise_network(struct notified *c)
{
	switch (c->asked.data.nr) {
	case SYS_socket:
		return do_socket(c);
	case SYS_connect:
		return do_connect(c);
	case SYS_bind:
		return do_bind(c);
	case SYS_listen:
		return do_listen(c);
	default:
		return -ENOSYS;
	}
}

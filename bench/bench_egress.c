/* bench_egress.c — how fast bytes go through the door to named hosts, against the same copy through one loopback connection.
 *
 * Door and server are processes of their own, as they are in a run; what is measured is the time until the server has read all. */
#include "bench.h"

#include "execute/egress/egress.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 256 << 10 };
#define TOTAL ((size_t)256 << 20)

struct egress_place {
	pid_t door, server;
	int control, records;
	uint16_t door_port, server_port;
	char piece[PIECE];
	bool has_failed;
};

static int listen_on(uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, n) || listen(fd, 16) ||
		getsockname(fd, (struct sockaddr *)&at, &n))
		return -1;
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static int reach(uint16_t port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0 ? fd : -1;
}

/* Reads to the end and says one byte: it has all. */
static void be_server(int listener)
{
	static char piece[PIECE];

	for (;;) {
		int fd = accept(listener, NULL, NULL);
		size_t got = 0;
		for (ssize_t n; (n = read(fd, piece, sizeof(piece))) > 0;)
			got += (size_t)n;
		(void)!write(fd, got == TOTAL ? "y" : "n", 1);
		close(fd);
	}
}

static pid_t start_server(struct egress_place *p)
{
	int listener = listen_on(&p->server_port);
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_server(listener);
	}
	close(listener);
	return pid;
}

static bool hand_over(int control, int listener)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} c = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS } };
	char byte = 'l';
	struct iovec part = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)
	};

	memcpy(CMSG_DATA(&c.head), &listener, sizeof(listener));
	return sendmsg(control, &message, 0) == 1;
}

static bool start_door(struct egress_place *p)
{
	int pair[2], records[2], listener = listen_on(&p->door_port);
	char rule[60];

	if (listener < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) || pipe(records))
		return false;
	p->door = fork();
	if (p->door == 0) {
		const struct egress_service how = { .control = pair[1], .records = records[1] };
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		close(records[0]);
		_exit(egress_serve(&how, NULL) ? 1 : 0);
	}
	close(pair[1]);
	close(records[1]);
	p->control = pair[0];
	p->records = records[0];
	snprintf(rule, sizeof(rule), "rbench\t127.0.0.1:%u\n", p->server_port);
	bool is_told = send(p->control, rule, strlen(rule), 0) > 0 && hand_over(p->control, listener);
	close(listener);
	return is_told;
}

static void copy(struct egress_place *p, int fd)
{
	char answer = 'n';

	for (size_t done = 0; fd >= 0 && done < TOTAL;) {
		size_t some = TOTAL - done < PIECE ? TOTAL - done : PIECE;
		ssize_t n = write(fd, p->piece, some);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	p->has_failed |= fd < 0 || shutdown(fd, SHUT_WR) || read(fd, &answer, 1) != 1 || answer != 'y';
	close(fd);
}

static void directly(void *arg)
{
	struct egress_place *p = arg;

	copy(p, reach(p->server_port));
}

static void through_the_door(void *arg)
{
	struct egress_place *p = arg;
	int fd = reach(p->door_port);
	char text[200];

	snprintf(text, sizeof(text), "CONNECT 127.0.0.1:%u HTTP/1.1\r\n\r\n", p->server_port);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || read(fd, text, sizeof(text)) < 12 ||
		memcmp(text, "HTTP/1.1 200", 12) != 0)
		p->has_failed = true;
	copy(p, fd);
}

int bench_egress_rate(struct bench *b)
{
	static struct egress_place p;
	double ours, base;

	signal(SIGPIPE, SIG_IGN);
	p.server = start_server(&p);
	if (p.server < 0 || !start_door(&p))
		return 1;
	bench_pair(b->rounds, through_the_door, directly, &p, &ours, &base);
	kill(p.server, SIGKILL);
	waitpid(p.server, NULL, 0);
	close(p.control);
	waitpid(p.door, NULL, 0);
	close(p.records);
	b->unit = "MB/s";
	b->value = (double)TOTAL / ours / 1e6;
	b->baseline = (double)TOTAL / base / 1e6;
	b->ratio = b->value / b->baseline;
	return p.has_failed;
}

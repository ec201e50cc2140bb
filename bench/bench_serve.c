/* bench_serve.c — helm serve: durable decisions over HTTP.
 *
 * serve_evaluate: decisions per second over 64 connections that are kept, against a bare libmicrohttpd server in this process that answers the
 * same number of bytes to the same requests.  Each of our answers has two signatures and a share of a sync behind it: no more can be answered than the
 * record alone takes.
 *
 * serve_group: the same against the library's own 64 writers in one process (receipt_group).
 *
 * serve_latency: the median of one client, against the median of the bare server plus one sync of the disk.
 *
 * serve_tail: the 99th of a hundred answers at full load, against the median there. */
#include "bench.h"
#include "place.h"

#ifdef HAVE_MICROHTTPD
#include "base/text.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONNECTIONS = 64, WARM = 256, MANY = 6000, FEW = 400, SYNCS = 50, LONGEST = 16 << 10 };

/* ---- the client ---- */

struct connection {
	int fd;
	double began_s;
	char text[LONGEST];
	size_t n;
};

struct load {
	uint16_t port;
	const char *request;
	size_t request_n;
	size_t answer_n; /* of the last answer, with its head */
	double *latency_s;
	size_t n, room;
	bool has_failed;
};

static int dial(uint16_t port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void send_request(struct load *l, struct connection *c)
{
	c->began_s = bench_now_s();
	c->n = 0;
	l->has_failed |= send(c->fd, l->request, l->request_n, MSG_NOSIGNAL) != (ssize_t)l->request_n;
}

/* Bytes of a whole answer; 0: not all of it is here. */
static size_t whole(const struct connection *c)
{
	const char *end = memmem(c->text, c->n, "\r\n\r\n", 4),
		   *length = end ? memmem(c->text, (size_t)(end - c->text), "Content-Length: ", 16) : NULL;
	size_t n = length ? (size_t)(end + 4 - c->text) + strtoul(length + 16, NULL, 10) : 0;

	return n && c->n >= n ? n : 0;
}

static bool receive(struct load *l, struct connection *c)
{
	ssize_t got = recv(c->fd, c->text + c->n, sizeof(c->text) - c->n, 0);

	if (got <= 0) {
		l->has_failed = true;
		return true;
	}
	c->n += (size_t)got;
	size_t n = whole(c);
	if (!n)
		return false;
	l->has_failed |= memcmp(c->text, "HTTP/1.1 200", 12) != 0;
	l->answer_n = n;
	if (l->n < l->room)
		l->latency_s[l->n++] = bench_now_s() - c->began_s;
	return true;
}

/* `total` requests over so many connections, each asking again as soon as it is answered.  Requests per second. */
static double run(struct load *l, size_t connections, size_t total)
{
	struct connection *all = calloc(connections, sizeof(*all));
	struct pollfd *fds = calloc(connections, sizeof(*fds));
	size_t sent = 0, answered = 0;
	double start = bench_now_s();

	l->room = total;
	l->n = 0;
	l->latency_s = realloc(l->latency_s, total * sizeof(*l->latency_s));
	for (size_t i = 0; i < connections; i++) {
		all[i].fd = dial(l->port);
		l->has_failed |= all[i].fd < 0;
		fds[i] = (struct pollfd){ .fd = all[i].fd, .events = POLLIN };
		if (sent++ < total)
			send_request(l, &all[i]);
	}
	while (answered < total && !l->has_failed) {
		if (poll(fds, connections, 30000) <= 0)
			l->has_failed = true;
		for (size_t i = 0; i < connections && !l->has_failed; i++) {
			if (!fds[i].revents || !receive(l, &all[i]))
				continue;
			answered++;
			if (sent++ < total)
				send_request(l, &all[i]);
		}
	}
	double seconds = bench_now_s() - start;
	for (size_t i = 0; i < connections; i++)
		if (all[i].fd >= 0)
			close(all[i].fd);
	free(all);
	free(fds);
	return (double)answered / seconds;
}

static int by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

static double part_of(struct load *l, double part)
{
	qsort(l->latency_s, l->n, sizeof(*l->latency_s), by_size);
	return l->n ? l->latency_s[(size_t)((double)(l->n - 1) * part)] : 0;
}

/* ---- the bare server ---- */

static char bare_answer[LONGEST];

static enum MHD_Result answer_bare(void *cls, struct MHD_Connection *c, const char *url, const char *method,
	const char *version, const char *data, size_t *n, void **state)
{
	(void)url;
	(void)method;
	(void)version;
	(void)data;
	if (!*state) {
		*state = cls;
		return MHD_YES;
	}
	if (*n) {
		*n = 0;
		return MHD_YES;
	}
	struct MHD_Response *r =
		MHD_create_response_from_buffer(*(size_t *)cls, bare_answer, MHD_RESPMEM_PERSISTENT);
	enum MHD_Result rc = MHD_queue_response(c, 200, r);
	MHD_destroy_response(r);
	return rc;
}

static struct MHD_Daemon *start_bare(size_t *bytes, uint16_t *ret_port)
{
	struct MHD_Daemon *d = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer_bare, bytes, MHD_OPTION_END);
	const union MHD_DaemonInfo *port = d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT) : NULL;

	memset(bare_answer, 'x', sizeof(bare_answer));
	*ret_port = port ? port->port : 0;
	return d;
}

/* ---- both, side by side ---- */

struct servers {
	struct place p;
	pid_t pid;
	struct MHD_Daemon *bare;
	size_t bare_bytes;
	struct load ours, theirs;
	char request[1024];
};

static bool start_ours(struct servers *s)
{
	static const char policy[] =
		"format: helm.policy.v1\nname: bench\nrules:\n  - {id: read, action: read_ticket, verdict: ALLOW}\n";
	const char *file = arena_printf(&s->p.a, "%s/policy.yaml", s->p.home);
	const char *env[16];
	size_t n = 0;
	int out[2], fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	posix_spawn_file_actions_t files;
	char line[512] = "";
	unsigned port = 0;

	if (fd < 0 || write(fd, policy, strlen(policy)) != (ssize_t)strlen(policy) || close(fd) ||
		pipe2(out, O_CLOEXEC))
		return false;
	for (; s->p.env[n]; n++)
		env[n] = s->p.env[n];
	env[n++] = "HELM_ADMIN_API_KEY=bench";
	env[n++] = "HELM_LIMIT_IP=0";
	env[n++] = "HELM_LIMIT_KERNEL=0";
	env[n] = NULL;
	const char *const argv[] = { s->p.helm, "serve", "--policy", file, "--port", "0", NULL };
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, out[1], 1);
	bool is_there = posix_spawn(&s->pid, s->p.helm, &files, NULL, (char *const *)(uintptr_t)argv,
				(char *const *)(uintptr_t)env) == 0;
	posix_spawn_file_actions_destroy(&files);
	close(out[1]);
	ssize_t got = is_there ? read(out[0], line, sizeof(line) - 1) : 0;
	close(out[0]);
	const char *at = got > 0 ? strstr(line, "127.0.0.1:") : NULL;
	if (!at || sscanf(at + strlen("127.0.0.1:"), "%u", &port) != 1)
		return false;
	s->ours.port = (uint16_t)port;
	return true;
}

static void stop(struct servers *s)
{
	if (s->pid > 0) {
		kill(s->pid, SIGTERM);
		(void)waitpid(s->pid, NULL, 0);
	}
	if (s->bare)
		MHD_stop_daemon(s->bare);
	free(s->ours.latency_s);
	free(s->theirs.latency_s);
	place_close(&s->p);
}

static bool start(struct servers *s, const struct bench *b, const char *name)
{
	static const char body[] =
		"{\"tool\":\"read_ticket\",\"effect_level\":\"read\",\"session_id\":\"s1\",\"args\":{\"id\":7}}";

	*s = (struct servers){ 0 };
	if (!place_open(&s->p, b, name) || !start_ours(s))
		return false;
	int n = snprintf(s->request, sizeof(s->request),
		"POST /api/v1/evaluate HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bench\r\nX-Helm-Tenant-ID: default\r\n"
		"X-Helm-Principal-ID: system-admin\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		strlen(body), body);
	s->ours.request = s->theirs.request = s->request;
	s->ours.request_n = s->theirs.request_n = (size_t)n;
	(void)run(&s->ours, CONNECTIONS, WARM);
	s->bare_bytes = s->ours.answer_n;
	s->bare = start_bare(&s->bare_bytes, &s->theirs.port);
	return s->bare && !s->ours.has_failed;
}

/* A sync of a small append, as the record makes one. */
static double sync_s(struct servers *s)
{
	const char *file = arena_printf(&s->p.a, "%s/synced", s->p.home);
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	double took[SYNCS];

	for (int i = 0; i < SYNCS && fd >= 0; i++) {
		double began = bench_now_s();
		if (write(fd, bare_answer, 1500) < 0 || fdatasync(fd))
			break;
		took[i] = bench_now_s() - began;
	}
	if (fd >= 0)
		close(fd);
	qsort(took, SYNCS, sizeof(*took), by_size);
	return took[SYNCS / 2];
}

static int rates(struct bench *b, double *ret_ours, double *ret_bare)
{
	struct servers s;
	bool is_there = start(&s, b, "serve");

	*ret_ours = *ret_bare = 0;
	for (int i = 0; i < b->rounds && is_there; i++) {
		double ours = run(&s.ours, CONNECTIONS, MANY), bare = run(&s.theirs, CONNECTIONS, MANY);
		*ret_ours = ours > *ret_ours ? ours : *ret_ours;
		*ret_bare = bare > *ret_bare ? bare : *ret_bare;
	}
	bool has_failed = !is_there || s.ours.has_failed || s.theirs.has_failed;
	stop(&s);
	return has_failed;
}

int bench_serve_evaluate(struct bench *b)
{
	struct bench group = *b;
	int rc = rates(b, &b->value, &b->baseline);

	if (rc == 0)
		rc = bench_receipt_group(&group);
	b->unit = "decisions/s";
	b->ratio = b->baseline ? b->value / b->baseline : 0;
	b->bound = b->baseline ? group.value / b->baseline : 0;
	b->bound_by = "the record alone, without HTTP and with one signature instead of two (receipt_group)";
	return rc;
}

int bench_serve_group(struct bench *b)
{
	struct bench group = *b;
	double bare;
	int rc = rates(b, &b->value, &bare);

	if (rc == 0)
		rc = bench_receipt_group(&group);
	b->unit = "decisions/s";
	b->baseline = group.value;
	b->ratio = b->baseline ? b->value / b->baseline : 0;
	return rc;
}

int bench_serve_latency(struct bench *b)
{
	struct servers s;
	bool is_there = start(&s, b, "serve-latency");

	b->value = b->baseline = 1e9;
	for (int i = 0; i < b->rounds && is_there; i++) {
		(void)run(&s.ours, 1, FEW);
		(void)run(&s.theirs, 1, FEW);
		double ours = part_of(&s.ours, 0.5) * 1e6,
		       bare = (part_of(&s.theirs, 0.5) + sync_s(&s)) * 1e6;
		b->value = ours < b->value ? ours : b->value;
		b->baseline = bare < b->baseline ? bare : b->baseline;
	}
	bool has_failed = !is_there || s.ours.has_failed || s.theirs.has_failed;
	stop(&s);
	b->unit = "us";
	b->ratio = b->value / b->baseline;
	return has_failed;
}

int bench_serve_tail(struct bench *b)
{
	struct servers s;
	bool is_there = start(&s, b, "serve-tail");

	b->ratio = 1e9;
	for (int i = 0; i < b->rounds && is_there; i++) {
		(void)run(&s.ours, CONNECTIONS, MANY);
		double middle = part_of(&s.ours, 0.5) * 1e6, late = part_of(&s.ours, 0.99) * 1e6;
		if (late / middle < b->ratio) {
			b->value = late;
			b->baseline = middle;
			b->ratio = late / middle;
		}
	}
	bool has_failed = !is_there || s.ours.has_failed;
	stop(&s);
	b->unit = "us";
	return has_failed;
}

#else
static int without(struct bench *b)
{
	b->skipped = "libmicrohttpd-dev is not installed, so there is no helm-serve";
	return 0;
}

int bench_serve_evaluate(struct bench *b)
{
	return without(b);
}

int bench_serve_group(struct bench *b)
{
	return without(b);
}

int bench_serve_latency(struct bench *b)
{
	return without(b);
}

int bench_serve_tail(struct bench *b)
{
	return without(b);
}
#endif

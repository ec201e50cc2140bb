/* bench_proxy.c — helm proxy: what a program feels of it.
 *
 * A model on loopback (a thread of this process) answers with a stream: after THINK_MS the first word, as a model that thinks.  The yardstick is a bare forwarder of the
 * same two libraries, libmicrohttpd and libcurl, in this process: it passes bytes and looks at none.
 *
 * proxy_first_byte: from the request to the first word, median, against the bare forwarder.  Ours has a decision on disk before anything is sent.
 * proxy_stream: bytes a second of a long stream of words.
 * proxy_tool_call: from the last byte of a call until the client has it, less what the bare forwarder takes, against one sync and one signature. */
#include "bench.h"
#include "place.h"

#ifdef HAVE_MICROHTTPD
#include "base/text.h"
#include "proof/sign.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FEW = 40, THINK_MS = 20, WORDS = 400000, SYNCS = 30 };

#define WORD \
	"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"some words of a model\"}}]}\n\n"
#define CALL \
	"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"1\",\"function\":{\"name\":\"read_ticket\",\"arguments\":\"{\\\"id\\\":7}\"}}]}}]}\n\n"
#define FINISH \
	"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"
#define DONE "data: [DONE]\n\n"

/* ---- the model ---- */

enum wish { FIRST_WORD, MANY_WORDS, ONE_CALL };

struct model {
	int fd;
	uint16_t port;
	enum wish wish;
	double said_s; /* when the last byte of the call was written */
	pthread_t thread;
};

static void say(int fd, const char *text, size_t n)
{
	char head[32];
	int length = snprintf(head, sizeof(head), "%zx\r\n", n);

	(void)!send(fd, head, (size_t)length, MSG_NOSIGNAL | MSG_MORE);
	(void)!send(fd, text, n, MSG_NOSIGNAL | MSG_MORE);
	(void)!send(fd, "\r\n", 2, MSG_NOSIGNAL);
}

static void think(void)
{
	nanosleep(&(struct timespec){ 0, THINK_MS * 1000000L }, NULL);
}

static void answer(struct model *m, int fd)
{
	static const char head[] =
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
	static char many[64 * sizeof(WORD)];

	(void)!send(fd, head, strlen(head), MSG_NOSIGNAL);
	if (m->wish != MANY_WORDS)
		think();
	if (m->wish == FIRST_WORD)
		say(fd, WORD, strlen(WORD));
	if (m->wish == MANY_WORDS) {
		size_t n = 0;
		for (int i = 0; i < 64; i++, n += strlen(WORD))
			memcpy(many + n, WORD, strlen(WORD));
		for (int i = 0; i < WORDS / 64; i++)
			say(fd, many, n);
	}
	if (m->wish == ONE_CALL) {
		say(fd, CALL, strlen(CALL));
		think();
		m->said_s = bench_now_s();
		say(fd, FINISH, strlen(FINISH));
	}
	say(fd, DONE, strlen(DONE));
	(void)!send(fd, "0\r\n\r\n", 5, MSG_NOSIGNAL);
}

/* A head, and a body of the length it says. */
static bool read_request(int fd)
{
	char text[8192];
	size_t n = 0, want = SIZE_MAX;

	while (n < want && n < sizeof(text) - 1) {
		ssize_t got = recv(fd, text + n, sizeof(text) - 1 - n, 0);
		if (got <= 0)
			return false;
		n += (size_t)got;
		text[n] = '\0';
		const char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length: ");
		if (end)
			want = (size_t)(end + 4 - text) +
				(length && length < end ? strtoul(length + 16, NULL, 10) : 0);
	}
	return true;
}

struct talk {
	struct model *m;
	int fd;
};

static void *be_talk(void *arg)
{
	struct talk t = *(struct talk *)arg;

	free(arg);
	while (read_request(t.fd))
		answer(t.m, t.fd);
	close(t.fd);
	return NULL;
}

static void *be_model(void *arg)
{
	struct model *m = arg;
	int fd;

	while ((fd = accept4(m->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct talk *t = malloc(sizeof(*t));
		pthread_t thread;
		int on = 1;
		if (!t)
			break;
		*t = (struct talk){ m, fd };
		(void)setsockopt(fd, 6, 1, &on, sizeof(on)); /* TCP_NODELAY */
		if (pthread_create(&thread, NULL, be_talk, t) == 0)
			pthread_detach(thread);
	}
	return NULL;
}

static bool start_model(struct model *m)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);

	m->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (m->fd < 0 || bind(m->fd, (struct sockaddr *)&at, n) || listen(m->fd, 64) ||
		getsockname(m->fd, (struct sockaddr *)&at, &n))
		return false;
	m->port = ntohs(at.sin_port);
	return pthread_create(&m->thread, NULL, be_model, m) == 0;
}

/* ---- the bare forwarder ---- */

struct passing {
	struct model *m;
	CURL *h;
	int pipe[2];
	pthread_t thread;
	struct curl_slist *headers;
	char url[64];
};

static size_t pass(char *data, size_t size, size_t n, void *arg)
{
	struct passing *p = arg;
	size_t at = 0;

	n *= size;
	while (at < n) {
		ssize_t did = write(p->pipe[1], data + at, n - at);
		if (did <= 0)
			return 0;
		at += (size_t)did;
	}
	return n;
}

static CURL *kept; /* one connection that is kept, as ours are */
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static void *be_passing(void *arg)
{
	struct passing *p = arg;

	pthread_mutex_lock(&kept_lock);
	if (!kept)
		kept = curl_easy_init();
	curl_easy_reset(kept);
	curl_easy_setopt(kept, CURLOPT_URL, p->url);
	curl_easy_setopt(kept, CURLOPT_PROXY, "");
	curl_easy_setopt(kept, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(kept, CURLOPT_POSTFIELDS, "{}");
	curl_easy_setopt(kept, CURLOPT_WRITEFUNCTION, pass);
	curl_easy_setopt(kept, CURLOPT_WRITEDATA, p);
	(void)curl_easy_perform(kept);
	pthread_mutex_unlock(&kept_lock);
	close(p->pipe[1]);
	return NULL;
}

static ssize_t fill(void *cls, uint64_t at, char *to, size_t room)
{
	struct passing *p = cls;
	ssize_t n = read(p->pipe[0], to, room);

	(void)at;
	return n > 0 ? n : MHD_CONTENT_READER_END_OF_STREAM;
}

static void end_passing(void *cls)
{
	struct passing *p = cls;

	pthread_join(p->thread, NULL);
	close(p->pipe[0]);
	free(p);
}

static enum MHD_Result forward(void *cls, struct MHD_Connection *c, const char *url, const char *method,
	const char *version, const char *data, size_t *n, void **state)
{
	struct model *m = cls;

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
	struct passing *p = calloc(1, sizeof(*p));
	if (!p || pipe2(p->pipe, O_CLOEXEC))
		return MHD_NO;
	snprintf(p->url, sizeof(p->url), "http://127.0.0.1:%u/v1/chat/completions", m->port);
	if (pthread_create(&p->thread, NULL, be_passing, p))
		return MHD_NO;
	struct MHD_Response *r =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, fill, p, end_passing);
	enum MHD_Result rc = MHD_queue_response(c, 200, r);
	MHD_destroy_response(r);
	return rc;
}

/* ---- both ---- */

struct both {
	struct place p;
	struct model m;
	struct MHD_Daemon *bare;
	uint16_t ours, theirs;
	pid_t pid;
};

static bool start_ours(struct both *s)
{
	static const char policy[] =
		"format: helm.policy.v1\nname: bench\nrules:\n  - {id: read, action: read_ticket, verdict: ALLOW}\n";
	const char *file = arena_printf(&s->p.a, "%s/policy.yaml", s->p.home);
	const char *url = arena_printf(&s->p.a, "http://127.0.0.1:%u/v1", s->m.port);
	int out[2], fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const char *const argv[] = { s->p.helm, "proxy", "--policy", file, "--upstream", url, "--port", "0",
		NULL };
	posix_spawn_file_actions_t files;
	const char *env[16];
	char line[512] = "";
	unsigned port = 0;
	size_t n = 0;

	if (fd < 0 || write(fd, policy, strlen(policy)) != (ssize_t)strlen(policy) || close(fd) ||
		pipe2(out, O_CLOEXEC))
		return false;
	for (; s->p.env[n]; n++)
		env[n] = s->p.env[n];
	env[n++] = "HELM_LIMIT_IP=0";
	env[n++] = "HELM_LIMIT_KERNEL=0";
	env[n] = NULL;
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
	s->ours = (uint16_t)port;
	return true;
}

static bool start(struct both *s, const struct bench *b, enum wish wish)
{
	*s = (struct both){ .m.wish = wish };
	if (!place_open(&s->p, b, "proxy") || !start_model(&s->m) || !start_ours(s))
		return false;
	s->bare = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL,
		NULL, forward, &s->m, MHD_OPTION_END);
	const union MHD_DaemonInfo *port =
		s->bare ? MHD_get_daemon_info(s->bare, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	s->theirs = port ? port->port : 0;
	return s->theirs != 0;
}

static void stop(struct both *s)
{
	if (s->pid > 0) {
		kill(s->pid, SIGTERM);
		(void)waitpid(s->pid, NULL, 0);
	}
	if (s->bare)
		MHD_stop_daemon(s->bare);
	if (s->m.fd > 0) {
		shutdown(s->m.fd, SHUT_RDWR);
		close(s->m.fd);
	}
	place_close(&s->p);
}

/* One request on a connection that is kept; seconds until `mark` is here, and all bytes until the stream ends. */
static double ask(int fd, const char *mark, size_t *ret_bytes)
{
	static const char body[] =
		"{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
	static char text[1 << 20];
	char head[256];
	size_t n = 0, all = 0;
	double began = bench_now_s(), at = 0;
	int length = snprintf(head, sizeof(head),
		"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		strlen(body), body);

	if (send(fd, head, (size_t)length, MSG_NOSIGNAL) != length)
		return -1;
	for (;;) {
		ssize_t got = recv(fd, text + n, sizeof(text) - n, 0);
		if (got <= 0)
			return -1;
		n += (size_t)got;
		all += (size_t)got;
		if (!at && memmem(text, n, mark, strlen(mark)))
			at = bench_now_s();
		if (n >= 7 && memcmp(text + n - 7, "\r\n0\r\n\r\n", 7) == 0)
			break;
		if (n > sizeof(text) / 2) {
			memmove(text, text + n - 256, 256);
			n = 256;
		}
	}
	if (ret_bytes)
		*ret_bytes = all;
	return at ? at - began : -1;
}

static int dial(uint16_t port)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) ? -1 : fd;
}

static int by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* Medians of what both take, one after the other. */
static bool medians(struct both *s, const char *mark, bool is_hold, double *ret_ours, double *ret_bare)
{
	int ours = dial(s->ours), bare = dial(s->theirs);
	double x[FEW], y[FEW];
	bool is_good = ours >= 0 && bare >= 0;

	for (int i = 0; i < FEW && is_good; i++) {
		double began = bench_now_s();
		x[i] = ask(ours, mark, NULL);
		is_good &= x[i] >= 0;
		if (is_hold)
			x[i] -= s->m.said_s - began;
		began = bench_now_s();
		y[i] = ask(bare, mark, NULL);
		is_good &= y[i] >= 0;
		if (is_hold)
			y[i] -= s->m.said_s - began;
	}
	qsort(x, FEW, sizeof(*x), by_size);
	qsort(y, FEW, sizeof(*y), by_size);
	*ret_ours = x[FEW / 2];
	*ret_bare = y[FEW / 2];
	close(ours);
	close(bare);
	return is_good;
}

int bench_proxy_first_byte(struct bench *b)
{
	struct both s;
	bool is_good = start(&s, b, FIRST_WORD) && medians(&s, "some words", false, &b->value, &b->baseline);

	stop(&s);
	b->value *= 1e6;
	b->baseline *= 1e6;
	b->unit = "us";
	b->ratio = b->baseline ? b->value / b->baseline : 0;
	return !is_good;
}

int bench_proxy_stream(struct bench *b)
{
	struct both s;
	bool is_good = start(&s, b, MANY_WORDS);

	for (int i = 0; i < b->rounds && is_good; i++) {
		const uint16_t ports[] = { s.ours, s.theirs };
		double *best[] = { &b->value, &b->baseline };
		for (int k = 0; k < 2; k++) {
			int fd = dial(ports[k]);
			size_t bytes = 0;
			double began = bench_now_s();
			is_good &= fd >= 0 && ask(fd, "DONE", &bytes) >= 0;
			double rate = (double)bytes / (bench_now_s() - began) / 1e6;
			*best[k] = rate > *best[k] ? rate : *best[k];
			close(fd);
		}
	}
	stop(&s);
	b->unit = "MB/s";
	b->ratio = b->baseline ? b->value / b->baseline : 0;
	return !is_good;
}

/* One append and its sync, as the record makes one, and one signature. */
static double sync_and_sign_s(struct both *s)
{
	const char *file = arena_printf(&s->p.a, "%s/synced", s->p.home);
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	static uint8_t text[1500], seed[SIGN_SEED], secret[SIGN_SECRET], pub[SIGN_PUBLIC], sig[SIGN_SIZE];
	double took[SYNCS] = { 0 };

	sign_expand(seed, secret, pub);

	for (int i = 0; i < SYNCS && fd >= 0; i++) {
		double began = bench_now_s();
		sign_message(secret, (struct bytes){ text, 700 }, sig);
		if (write(fd, text, sizeof(text)) < 0 || fdatasync(fd))
			break;
		took[i] = bench_now_s() - began;
	}
	close(fd);
	qsort(took, SYNCS, sizeof(*took), by_size);
	return took[SYNCS / 2];
}

int bench_proxy_tool_call(struct bench *b)
{
	struct both s;
	double ours = 0, bare = 0;
	bool is_good = start(&s, b, ONE_CALL) && medians(&s, "finish_reason", true, &ours, &bare);

	b->value = (ours - bare) * 1e6;
	b->baseline = is_good ? sync_and_sign_s(&s) * 1e6 : 0;
	stop(&s);
	b->unit = "us";
	b->ratio = b->baseline ? b->value / b->baseline : 0;
	return !is_good;
}

#else
static int without(struct bench *b)
{
	b->skipped = "libmicrohttpd-dev is not installed, so there is no helm-serve";
	return 0;
}

int bench_proxy_first_byte(struct bench *b)
{
	return without(b);
}

int bench_proxy_stream(struct bench *b)
{
	return without(b);
}

int bench_proxy_tool_call(struct bench *b)
{
	return without(b);
}
#endif

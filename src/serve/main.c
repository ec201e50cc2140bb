/* main.c — helm-serve: `helm serve` reads the command line and starts this program in its place, with one JSON document of options.
 *
 * Order.  The policy is read and on record, the kernel opens, then the listeners; only then does the ready line leave.  It ends the other way
 * round: no new connections, what was asked is answered, streams end, the record is closed. */
#include "base/text.h"
#include "serve/conform.h"
#include "serve/mcp/mcp.h"
#include "serve/metrics.h"
#include "serve/serve.h"
#include "serve/web.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int print_error(const struct err *e)
{
	fprintf(stderr, "helm: %s\n", e->text);
	return e->rc == E_USAGE ? 2 : 1;
}

/* `helm serve` has checked them; whoever starts this program otherwise is told. */
static int read_options(struct arena *a, int argc, char **argv, struct json **ret, struct err *e)
{
	if (argc != 2 || json_parse(a, bytes_of(argv[1]), "options", NULL, ret, e) ||
		!json_is(*ret, JSON_OBJECT))
		return err_set(e, E_USAGE, "SERVE_START",
			"helm-serve is started by 'helm serve'; see 'helm serve --help'");
	return OK;
}

static struct serve_options options_of(const struct json *doc)
{
	return (struct serve_options){ .workspace = json_get_text(doc, "workspace", NULL),
		.policy = json_get_text(doc, "policy", NULL),
		.authority = json_get_text(doc, "authority", NULL),
		.otlp = json_get_text(doc, "otlp", NULL),
		.bind = json_get_text(doc, "bind", "127.0.0.1"),
		.socket = json_get_text(doc, "socket", NULL),
		.tls_cert = json_get_text(doc, "tls_cert", NULL),
		.tls_key = json_get_text(doc, "tls_key", NULL),
		.port = json_get_int(doc, "port", 7714),
		.workers = json_get_int(doc, "workers", WORKERS),
		.may_be_remote = json_get_bool(doc, "insecure_remote", false),
		.is_demo = json_get_bool(doc, "demo", false),
		.is_conformance = json_get_bool(doc, "conformance", false),
		.is_open = json_get_bool(doc, "open", false),
		.mcp = json_get(doc, "mcp") };
}

/* ---- the service manager ---- */

/* READY=1 and the like, where somebody listens (sd_notify(3)). */
static void tell_manager(struct server *s, const char *state)
{
	const char *path = s->sys->getenv(s->sys, "NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(to.sun_path))
		return;
	AUTO(close_fd) int fd = s->sys->datagram_local(s->sys);
	if (fd < 0)
		return;
	memcpy(to.sun_path, path, strlen(path));
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
}

/* ---- from start to end ---- */

static int open_record(struct server *s, struct err *e)
{
	int rc = workspace_open(s->sys, &s->a, s->o.workspace, 0, &s->ws, e);

	if (rc == OK)
		rc = kernel_open(s->sys, &s->a, s->ws, &s->k, e);
	if (rc == OK)
		s->group = recorder_group_new(&s->k.recorder);
	return rc;
}

/* The gateway's guest is whoever started us. */
static bool is_by_streams(const struct server *s)
{
	return s->o.mcp && !text_eq(json_get_text(s->o.mcp, "transport", ""), "http");
}

static int start(struct server *s, struct err *e)
{
	pthread_mutex_init(&s->lock, NULL);
	s->started_us = s->sys->now_us(s->sys);
	s->limiter = limiter_new(s->sys);
	s->once = once_new(s->sys);
	s->metrics = metrics_new();
	int rc = web_start(e);
	if (rc == OK)
		rc = routes_prepare(&s->a, e);
	if (rc == OK)
		rc = open_record(s, e);
	if (rc == OK)
		rc = s->o.policy ? policy_load(s, e) : OK;
	if (rc == OK)
		rc = work_start(s, e);
	if (rc == OK && s->o.mcp)
		rc = gateway_start(s, s->o.mcp, e);
	if (rc == OK)
		s->spans = spans_start(s, e);
	if (rc == OK && !(s->tail = tail_start(s, listen_wake, s, e)))
		rc = e->rc;
	return rc || is_by_streams(s) ? rc : listen_start(s, e);
}

static void end(struct server *s)
{
	listen_quiesce(s);
	gateway_stop(s->gateway);
	work_stop(s);
	spans_stop(s->spans);
	listen_stop(s);
	gateway_free(s->gateway);
	tail_stop(s->tail);
	policy_drop(s, s->policy);
	recorder_group_free(s->group);
	if (s->group)
		kernel_close(&s->k);
	workspace_close(s->ws);
	once_free(s->once);
	metrics_free(s->metrics);
	limiter_free(s->limiter);
}

static void reload(struct server *s)
{
	struct err e = { 0 };

	tell_manager(s, "RELOADING=1");
	if (policy_load(s, &e))
		log_line(s, "error", NULL, "the policy stays as it was: %s", e.text);
	else
		log_line(s, "info", NULL, "the policy was loaded again");
	tell_manager(s, "READY=1");
}

/* Until it is told to end. */
static void wait_for_signals(struct server *s, const sigset_t *mine)
{
	for (;;) {
		int number = sigwaitinfo(mine, NULL);
		if (number == SIGHUP)
			reload(s);
		else if (number > 0 || errno != EINTR)
			return;
	}
}

static void say_ready(struct server *s)
{
	AUTO(arena_done) struct arena a = { 0 };
	struct json *doc = json_new(&a, JSON_OBJECT);
	struct buf line;

	json_setb(&a, doc, "ready", true);
	json_sets(&a, doc, "base_url", s->base_url);
	buf_init(&line, &a);
	json_write(&line, doc, 0);
	printf("%s\n", line.p);
	fflush(stdout);
	tell_manager(s, "READY=1");
}

static int show(struct arena *a, const char *what)
{
	struct buf text;

	buf_init(&text, a);
	json_write(&text, text_eq(what, "openapi") ? routes_openapi(a) : routes_json(a), JSON_INDENT);
	printf("%s\n", text.p);
	return 0;
}

/* 3: nothing answered at all, so nothing is said. */
static int conform(struct server *s, const struct json *o)
{
	struct json *report;
	struct err e = { 0 };
	struct buf text;

	if (web_start(&e) || conform_remote(s->sys, &s->a, o, &report, &e)) {
		(void)print_error(&e);
		return text_eq(e.code, "CONFORM_UNREACHABLE") ? 3 : 1;
	}
	buf_init(&text, &s->a);
	json_write(&text, report, JSON_INDENT);
	printf("%s\n", text.p);
	return text_eq(json_get_text(report, "result", ""), "PASS") ? 0 : 1;
}

int main(int argc, char **argv)
{
	static struct server s;
	struct json *options;
	struct err e = { 0 };
	sigset_t mine;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mine);
	sigaddset(&mine, SIGTERM);
	sigaddset(&mine, SIGINT);
	sigaddset(&mine, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &mine, NULL);
	s.sys = sys_default();
	int rc = read_options(&s.a, argc, argv, &options, &e);
	if (rc)
		return print_error(&e);
	if (json_get(options, "conform"))
		return conform(&s, json_get(options, "conform"));
	if (json_get(options, "show"))
		return show(&s.a, json_get_text(options, "show", ""));
	s.o = options_of(options);
	rc = start(&s, &e);
	if (rc == OK && is_by_streams(&s)) {
		rc = text_eq(json_get_text(s.o.mcp, "transport", ""), "ask") ? ask_serve(&s, &e)
									     : stdio_serve(&s, &e);
	} else if (rc == OK) {
		say_ready(&s);
		wait_for_signals(&s, &mine);
		tell_manager(&s, "STOPPING=1");
	}
	end(&s);
	arena_done(&s.a);
	return rc ? print_error(&e) : 0;
}

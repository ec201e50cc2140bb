/* main.c — helm-serve: `helm serve` reads the command line and starts this program in its place, with one JSON document of options.
 *
 * Order.  The policy is read and on record, the kernel opens, then the listeners; only then does the ready line leave.  It ends the other way
 * round: no new connections, what was asked is answered, streams end, the record is closed. */
#include "base/limits.h"
#include "base/text.h"
#include "kernel/person.h"
#include "model/command.h"
#include "proof/key.h"
#include "serve/conform.h"
#include "serve/console.h"
#include "serve/fleet/fleet.h"
#include "serve/mcp/mcp.h"
#include "serve/metrics.h"
#include "serve/proxy/proxy.h"
#include "serve/remote.h"
#include "serve/serve.h"
#include "serve/web.h"
#include "serve/witness/witness.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int print_error(const struct err *e)
{
	fprintf(stderr, "helm: %s\n", e->text);
	return e->rc == E_USAGE ? 2 : 1;
}

/* What stands in the file that we inherited: {NULL} when there is none. */
static struct bytes inherited_options(struct arena *a, const char *said)
{
	enum { MOST = 64 << 20, PIECE = 64 << 10 };
	struct buf text;
	int64_t fd;
	ssize_t got = 1;

	if (!text_starts(said, SERVE_OPTIONS_FD) || !text_int(said + strlen(SERVE_OPTIONS_FD), &fd) ||
		fd < 3 || fd > INT_MAX)
		return (struct bytes){ 0 };
	buf_init(&text, a);
	while (got > 0 && text.n < MOST)
		if ((got = read((int)fd, buf_room(&text, PIECE), PIECE)) > 0)
			text.n += (size_t)got;
	(void)close((int)fd);
	return got ? (struct bytes){ 0 } : buf_bytes(&text);
}

/* `helm serve` has checked them; whoever starts this program otherwise is told. */
static int read_options(struct arena *a, int argc, char **argv, struct json **ret, struct err *e)
{
	struct bytes text = argc == 3 ? inherited_options(a, argv[1])
		: argc == 2	      ? bytes_of(argv[1])
				      : (struct bytes){ 0 };

	if (!text.n || json_parse(a, text, "options", NULL, ret, e) || !json_is(*ret, JSON_OBJECT))
		return err_set(e, E_USAGE, "SERVE_START",
			"helm-serve is started by 'helm serve'; see 'helm serve --help'");
	return OK;
}

/* What only a person may want is asked here once more: whoever starts this program by hand goes round the questions of `helm`.  A link into the
 * console and joining a fleet take somebody outside of what is governed, an invitation to register a key a person at a terminal. */
static int check_person(struct sys *s, const struct json *options, struct err *e)
{
	AUTO(arena_done) struct arena a = { 0 };
	const struct json *console = json_get(options, "console"), *ship = json_get(options, "ship");
	const char *verb = json_get_text(ship, "do", "");
	bool joins = text_eq(verb, "join") || text_eq(verb, "rejoin"), invites = json_get(console, "invite");
	struct workspace *ws = NULL;
	struct person who = { 0 };

	if (!joins && !invites && !json_get(console, "token_sha256"))
		return OK;
	int rc = workspace_open(s, &a, json_get_text(ship ? ship : options, "workspace", NULL), 0, &ws, e);
	if (rc == OK)
		rc = person_is_outside(s, &a, ws, e);
	if (rc == OK && invites)
		rc = person_open(s, &a, ws, NULL, &who, e);
	if (rc == OK && invites)
		rc = person_may_loosen(s, &a, ws, e);
	key_free(&who.key);
	workspace_close(ws);
	return rc;
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
		.tls_client_ca = json_get_text(doc, "tls_client_ca", NULL),
		.port = json_get_int(doc, "port", 7714),
		.workers = json_get_int(doc, "workers", WORKERS),
		.may_be_remote = json_get_bool(doc, "insecure_remote", false),
		.is_demo = json_get_bool(doc, "demo", false),
		.is_conformance = json_get_bool(doc, "conformance", false),
		.is_open = json_get_bool(doc, "open", false),
		.mcp = json_get(doc, "mcp"),
		.console = json_get(doc, "console"),
		.is_both_loopbacks = json_get_bool(doc, "both_loopbacks", false),
		.proxy = json_get(doc, "proxy"),
		.fleet = json_get(doc, "fleet"),
		.witness = json_get(doc, "witness") };
}

/* ---- from start to end ---- */

static int open_record(struct server *s, struct err *e)
{
	int rc = workspace_open(s->sys, &s->a, s->o.workspace, 0, &s->ws, e);

	if (rc == OK)
		rc = kernel_open(s->sys, &s->a, s->ws, &s->k, e);
	/* Whoever asks here waits: rows of calls that are signed themselves are bound by a later receipt (record/notes.c). */
	s->k.recorder.is_hurried = true;
	if (rc == OK)
		s->group = recorder_group_new(&s->k.recorder);
	return rc;
}

/* The gateway's guest is whoever started us. */
static bool is_by_streams(const struct server *s)
{
	return s->o.mcp && !text_eq(json_get_text(s->o.mcp, "transport", ""), "http");
}

/* `helm serve` offers a model, too, when it is told of one. */
static const struct json *model_of(struct server *s)
{
	const char *url = s->sys->getenv(s->sys, "HELM_UPSTREAM_URL");
	struct json *doc = json_new(&s->a, JSON_OBJECT), *list = json_new(&s->a, JSON_ARRAY),
		    *one = json_new(&s->a, JSON_OBJECT), *key = json_new(&s->a, JSON_OBJECT);

	if (s->o.proxy || !url || !*url)
		return s->o.proxy;
	json_sets(&s->a, one, "url", url);
	json_sets(&s->a, key, "env", "HELM_UPSTREAM_API_KEY");
	if (s->sys->getenv(s->sys, "HELM_UPSTREAM_API_KEY"))
		json_set(&s->a, one, "key", key);
	json_push(&s->a, list, one);
	json_set(&s->a, doc, "upstreams", list);
	return doc;
}

static int start(struct server *s, struct err *e)
{
	pthread_mutex_init(&s->lock, NULL);
	s->started_us = s->sys->now_us(s->sys);
	s->limiter = limiter_new(s->sys, s->o.fleet != NULL);
	s->once = once_new(s->sys);
	s->metrics = metrics_new();
	s->console = console_new(s, s->o.console);
	int rc = web_start(e);
	if (rc == OK)
		rc = routes_prepare(&s->a, e);
	/* A ledger of many machines, or a witness of one, decides nothing and has no workspace. */
	if (rc == OK && (s->o.fleet || s->o.witness)) {
		rc = s->o.fleet ? fleet_start(s, s->o.fleet, e) : witness_start(s, s->o.witness, e);
		if (rc == OK)
			rc = work_start(s, e);
		return rc ? rc : listen_start(s, e);
	}
	if (rc == OK)
		rc = open_record(s, e);
	/* A proxy or a gateway may have none. */
	if (rc == OK && s->o.policy)
		rc = policy_load(s, e);
	if (rc == OK && model_of(s))
		rc = proxy_start(s, model_of(s), e);
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
	proxy_quiesce(s);
	fleet_quiesce(s);
	gateway_stop(s->gateway);
	work_stop(s);
	proxy_quiesce(s); /* what was let in meanwhile */
	work_stop(s);
	fleet_stop(s);
	witness_stop(s);
	proxy_stop(s);
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
	console_free(s->console);
}

/* Until it is told to end. */
static void wait_for_signals(struct server *s, const sigset_t *mine)
{
	for (struct watchdog w = manager_watchdog(s);;) {
		int number = manager_wait(s, &w, mine);
		struct err e = { 0 };
		if (number == SIGHUP)
			(void)server_reload(s, &e);
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
	manager_tell(s, "READY=1");
}

static int show(struct arena *a, const char *what)
{
	struct buf text;

	buf_init(&text, a);
	json_write(&text, text_eq(what, "openapi") ? routes_openapi(a, NULL) : routes_json(a), JSON_INDENT);
	printf("%s\n", text.p);
	return 0;
}

typedef int asking(struct sys *s, struct arena *a, const struct json *q, struct json **ret, struct err *e);

/* One question for somebody who has no network. */
static int ask(struct server *s, asking *fn, const struct json *o)
{
	struct json *answer;
	struct err e = { 0 };
	struct buf text;

	if (web_start(&e) || fn(s->sys, &s->a, o, &answer, &e))
		return print_error(&e);
	buf_init(&text, &s->a);
	json_write(&text, answer, 0);
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

	s.sys = sys_default();
	limits_begin(s.sys);
	/* Every request takes and gives back some hundred kilobytes: they are not given back to the system in between. */
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
	mallopt(M_TOP_PAD, 1 << 20);
	mallopt(M_ARENA_MAX, 4);
	sigemptyset(&mine);
	sigaddset(&mine, SIGTERM);
	sigaddset(&mine, SIGINT);
	sigaddset(&mine, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &mine, NULL);
	int rc = limits_check(&e);
	if (rc == OK)
		rc = read_options(&s.a, argc, argv, &options, &e);
	if (rc == OK) {
		command_be_called(json_get_text(options, "called", "helm"));
		rc = check_person(s.sys, options, &e);
	}
	if (rc)
		return print_error(&e);
	if (json_get(options, "conform"))
		return conform(&s, json_get(options, "conform"));
	if (json_get(options, "remote"))
		return ask(&s, remote_ask, json_get(options, "remote"));
	if (json_get(options, "probe"))
		return ask(&s, remote_probe, json_get(options, "probe"));
	if (json_get(options, "fleet_do"))
		return ask(&s, fleet_do, json_get(options, "fleet_do"));
	if (json_get(options, "witness_do"))
		return ask(&s, witness_do, json_get(options, "witness_do"));
	if (json_get(options, "ship"))
		return ask(&s, ship_do, json_get(options, "ship"));
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
		manager_tell(&s, "STOPPING=1");
	}
	end(&s);
	arena_done(&s.a);
	return rc ? print_error(&e) : 0;
}

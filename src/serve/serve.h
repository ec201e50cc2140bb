/* serve.h — the boundary over HTTP: helm-serve, the second program, which has the network.
 *
 * It decides nothing itself: a route turns its request into a struct request and calls kernel_handle(), as every door does.  It keeps
 * nothing itself: what is decided stands in the chain of the workspace, beside what the command line and hooks write there.
 *
 * How a request goes.  listen.c (the only file that knows the HTTP library) reads it and puts it into the queue; a worker (work.c) with a
 * kernel of its own takes it out, asks who calls (auth.c), reads the body, and calls the function of its route; the answer leaves
 * when that returns, which is after its receipt is on disk.  Decisions of all workers are signed in order and synced together
 * (record/group.c).
 *
 * How to add a route.
 *  1. A file in src/serve/http/, or one that is there: `int my_thing(struct call *c, struct err *e)`.  It reads c->body, c->args,
 *     call_query(), call_header(); who calls is c->who, never the body.  It decides with c->k (struct kernel) and gives its answer
 *     with call_answer(), call_bytes() or call_stream(); or returns call_refuse(), or an error, which becomes a status and a body that both
 *     SDKs understand.
 *  2. One row in the file's table: `const struct route http_mine_routes[] = { { "POST", "/api/v1/mine", ... }, { 0 } };`, and one line
 *     `DOOR(mine)` in serve/doors.def for a new file.
 *  3. Names of schemas in the row are members of share/serve/schemas.json: a request is checked against its own before the function
 *     is called, and both stand in GET /openapi.yaml.
 * `helm serve routes`, the OpenAPI document and the tests of every route (tests/cli/serve_routes.t) come from the table. */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sys.h"
#include "kernel/apikey.h"
#include "kernel/kernel.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- routes ---- */

/* Who may call.  A key's scopes say which of these it opens. */
enum auth_class {
	AUTH_PUBLIC, /* anybody */
	AUTH_TENANT, /* somebody who is known, in the tenant they belong to */
	AUTH_ADMIN,
	AUTH_SERVICE, /* other programs of the installation */
	AUTH_MACHINE, /* of a fleet: signed by the key of one that has joined; the route itself looks */
	AUTH_READER, /* of a fleet: a session or token of its console; the route itself looks */
	AUTH_COUNT
};
const char *auth_class_name(enum auth_class c);

enum rate_class { RATE_PUBLIC, RATE_KERNEL, RATE_EVIDENCE, RATE_ADMIN, RATE_STREAM, RATE_COUNT };
const char *rate_class_name(enum rate_class c);

enum route_flags {
	TAKES_JSON = 1, /* the body is a JSON object; without one it is empty */
	BODY_OPTIONAL = 2, /* or nothing */
	TAKES_BYTES = 4, /* multipart or raw: c->raw */
	IS_STREAM = 8, /* answers with events until the client goes */
	IS_ONCE = 16, /* Idempotency-Key counts */
	NO_KERNEL = 32, /* nothing is decided: c->k is NULL */
	NOT_OFFERED = 64, /* answers 501 with `what` */
	ALL_MACHINES =
		256, /* of a fleet: about the tenant as a whole, and not for who sees some of its machines */
	ASKS_ONLY =
		128, /* it decides by call_handle_then(), and nothing else: answered together with others */
};

struct call;
struct server;
enum { ROUTE_ARGS = 3, SENT_MOST = 64 };
struct route {
	const char *method, *path; /* "/api/v1/receipts/{id}" */
	enum auth_class auth;
	enum apikey_scope scope; /* that a key needs; 0 for public ones */
	enum rate_class rate;
	unsigned flags;
	int (*fn)(struct call *c, struct err *e);
	const char *what; /* one line */
	const char *request, *response; /* schemas, "[]NAME" is an array of them; or NULL */
};
/* All of them, in the order of doors.def; NULL behind the last. */
const struct route *route_at(size_t i);
/* The one that answers.  Otherwise NULL, and *ret_allowed says which methods this path has ("GET, POST"), NULL for a path that is
 * not known. */
const struct route *route_find(struct arena *a, const char *method, const char *path,
	const char *args[ROUTE_ARGS], const char **ret_allowed);
/* The same in another table than that of `helm serve`: NULL behind its last. */
const struct route *route_find_in(const struct route *(*at)(size_t), struct arena *a, const char *method,
	const char *path, const char *args[ROUTE_ARGS], const char **ret_allowed);
/* %XX decoded; NULL: it is no text, or holds a NUL. */
char *path_decoded(struct arena *a, const char *p, size_t n);
const char *query_decoded(struct arena *a, const char *text);
/* The table as a document, and as OpenAPI 3.1. */
/* Of every server there is: {server, method, path, auth, ...}. */
struct json *routes_json(struct arena *a);
/* Of the one that serves it; NULL: of 'helm serve'. */
struct json *routes_openapi(struct arena *a, const struct server *s);
/* GET /openapi.yaml and .json. */
int route_openapi(struct call *c, struct err *e);
/* Once, before the first request. */
int routes_prepare(struct arena *a, struct err *e);
/* Does a document fit the schema of that name?  E_INPUT names the member. */
int routes_schema(struct arena *a, const char *name, const struct json *doc, struct err *e);
/* Is the body what the route wants?  E_INPUT names the member. */
int route_check(const struct route *r, const struct json *body, struct err *e);

/* ---- who calls ---- */

struct peer {
	bool is_local; /* by the socket of this machine: `uid` is who */
	uid_t uid;
	bool is_loopback, is_tls;
	const char *
		certificate; /* the name in one that holds; or NULL, and `no_certificate` says what is wrong with it */
	const char *no_certificate;
	const char *address; /* for limits and logs */
};
struct who {
	const char *principal, *tenant; /* NULL: nobody */
	const char *key_id; /* or NULL: a variable, or the socket */
	unsigned scopes;
};
/* By its headers alone, before a body is read: 401 for who brings nothing that could open the route. */
int auth_at_headers(struct call *c, struct err *e);
/* Fills c->who, or refuses with 401 or 403. */
int auth_check(struct call *c, struct err *e);
/* The tenant of the installation: what stands in the workspace and names no tenant (runs, hooks, a person's acts) is theirs. */
const char *auth_home_tenant(const struct server *s);
/* Of who listens for long: does the key still open it?  Looked at every few seconds, since *asked_us.  `key_id` NULL: it is no key that could end. */
bool auth_still(struct server *s, const char *key_id, unsigned scope, int64_t *asked_us);
/* The same by one key alone. */
int auth_token(struct call *c, const char *token, struct err *e);

/* ---- one request on its way ---- */

struct pair {
	const char *name, *value;
};
struct events;
struct trace {
	char trace_id[33], span_id[17], parent_id[17]; /* "": none */
	char linked_id[33]; /* the trace of a caller from elsewhere, which is not ours */
	bool is_sampled;
};
struct call {
	struct server *server;
	const struct door_policy *policy; /* in force for this request */
	struct kernel *k; /* of the worker */
	const struct workspace *held; /* its word is looked at once for this request; call_wait() ends that */
	struct worker *together; /* that answers others with it, after one look for all of them; or NULL */
	struct parked *parked; /* decided, and not yet on record with these; or NULL */
	struct arena *a;
	const struct route *route; /* NULL: there is none */
	const char *method, *path;
	const char *args[ROUTE_ARGS]; /* what stands in the places of {...} */
	struct pair *headers, *query;
	size_t header_count, query_count;
	struct bytes raw; /* the body */
	struct json *body; /* of TAKES_JSON; an empty object when there is none */
	struct peer peer;
	struct who who;
	const char *request_id, *correlation_id;
	struct trace trace;
	const char *allowed; /* of 405 */

	/* the answer */
	int status; /* 0: not yet */
	struct bytes answer;
	const char *type; /* of the content */
	struct pair sent[SENT_MOST]; /* further headers */
	size_t sent_count;
	struct events *stream;
	/* A route that cannot answer yet sets `defer`: it is called when the worker has left the call, and whoever it gave it to calls `done` once there is an answer.
	 * Meanwhile work_put() has a worker run `resume` with its kernel. */
	void (*defer)(struct call *c, void (*done)(void *), void *arg);
	int (*resume)(struct call *c, struct err *e);
	bool is_made; /* what was decided is being done: no step of it is left for want of memory, as its outcome has to be on record */
	void (*drop)(void *owner); /* called last, when nobody has the call any more; or NULL */
	void *owner;
	int fd; /* of the connection, to look whether its client is still there; -1: there is none */
	struct json *
		telemetry; /* {verdict, reason_code, decision_id, receipt_id, tool, policy} of a decision; or NULL */
};
const char *call_header(const struct call *c, const char *name); /* or NULL */
const char *call_query(const struct call *c, const char *name); /* or NULL */
/* A whole number of the query between two bounds; `fallback` when it is not there. */
int call_query_int(struct call *c, const char *name, int64_t fallback, int64_t least, int64_t most,
	int64_t *ret, struct err *e);
void call_answer(struct call *c, int status, const struct json *body);
void call_bytes(struct call *c, int status, const char *type, struct bytes body);
void call_send_header(struct call *c, const char *name, const char *value);
/* `code` is a reason code of the registry, or one of the API's own: BAD_REQUEST, UNAUTHENTICATED, FORBIDDEN, NOT_FOUND, ... */
int call_refuse(struct call *c, struct err *e, int status, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* The body of an error: both shapes in one object.  `more`: members beside them, or NULL. */
void call_error(struct call *c, const struct err *e, const struct json *more);
/* The call; where it ended without an answer, with one: 500, and a line in the log. */
struct call *call_with_answer(struct call *c);
/* Decide and record: kernel_handle(), with its decision on disk when it returns OK.  What is decided may run out of memory, and then it is as if
 * nobody had asked; what is written may not. */
int call_handle(struct call *c, const struct request *q, struct handling *h, struct err *e);
/* The same, and `then`, which gives the answer or an error.  Of those that are answered together, `then` is called when the receipts of all of them are on disk: after the
 * function of the route has returned.  q, h and arg are in c->a. */
typedef int call_then(struct call *c, int rc, void *arg, struct err *e);
int call_handle_then(struct call *c, const struct request *q, struct handling *h, call_then *then, void *arg,
	struct err *e);
/* Before somebody is waited for: what a person says meanwhile counts. */
void call_wait(struct call *c);
/* How the last write went, for whoever asks how the boundary stands. */
void call_recorded(struct call *c, int rc, const struct err *e);
/* For whatever else writes: from here to the end of the call there is no way back when memory runs out. */
bool call_hold(struct call *c);
/* The exact bytes of one part of multipart/form-data, or the body itself when it is not multipart. */
int call_part(struct call *c, const char *name, struct bytes *ret, struct err *e);

/* ---- events ---- */

/* What is sent as long as the client listens.  fill() gives the next bytes: > 0 so many, 0 nothing now, -1 the end, less: it broke off.  It is called again
 * after the chain has grown, and at least every second. */
struct events {
	int64_t (*fill)(struct events *s, char *to, size_t room);
	void (*done)(struct events *s);
	bool is_many; /* as many as there are connections; each is woken by itself */
};
void call_stream(struct call *c, struct events *s);

/* ---- the server ---- */

struct serve_options {
	const char *workspace, *policy, *authority, *otlp, *bind, *socket, *tls_cert, *tls_key,
		*tls_client_ca;
	int64_t port, workers;
	bool may_be_remote; /* beyond loopback without TLS */
	bool is_demo; /* /api/demo is offered */
	bool is_conformance; /* a harness may describe the world */
	const struct json *proxy; /* what the proxy was started with; NULL: it is none */
	bool is_open; /* /mcp, and nothing else, without a key for whoever is on this machine */
	const struct json *console; /* origin, link, program (console.h); NULL: as it is without */
	bool is_both_loopbacks; /* also on [::1], so that the name localhost leads nowhere else */
	const struct json *mcp; /* options of the gateway (mcp/mcp.h); NULL: there is none */
	const struct json
		*witness; /* of a witness (witness/witness.h), which has no workspace; NULL: it is none */
	const struct json *
		fleet; /* of the ledger of many machines (fleet/fleet.h), which has no workspace; NULL: it is none */
};

struct door_policy {
	struct arena a;
	struct ruleset *rules;
	const struct json
		*authority; /* of --authority (docs/formats/serve-authority.md); NULL: there is none */
	const char *file;
	int64_t loaded_us;
	int refs;
};

struct queue;
struct server {
	struct sys *sys;
	struct arena a;
	struct serve_options o;
	struct workspace *ws;
	struct kernel k; /* whose recorder writes for all, and does nothing else */
	struct recorder_group *group;
	pthread_mutex_t lock; /* of what follows */
	struct door_policy *policy;
	int64_t reload_errors;
	int64_t ceilings_ns; /* when the budgets that were set by hand had changed, as the policy was loaded with */
	struct queue *queue;
	size_t call_memory; /* of one request */
	const char *base_url;
	int64_t started_us;
	struct serve_counts {
		uint64_t requests, decisions, allowed, denied, escalated, refused_busy, errors,
			unauthenticated;
	} count;
	bool is_failing; /* the last that was to be recorded could not be */
	struct idempotency *once;
	struct limiter *limiter;
	struct tail *tail;
	struct metrics *metrics;
	struct spans *spans; /* NULL: nobody wants them */
	struct proxy *proxy; /* NULL: this is no proxy */
	struct gateway *gateway; /* to servers of tools (mcp/mcp.h); NULL: there is none */
	struct witness *witness; /* of logs (witness/witness.h); NULL: it is none */
	struct fleet *fleet; /* the ledger of many machines (fleet/fleet.h); NULL: it is none */
	struct console *console; /* console.h */
};

/* manager.c: policy, authority and certificates, as the files are now.  On an error what was in force stays. */
int server_reload(struct server *s, struct err *e);
void manager_tell(
	struct server *s, const char *state); /* "READY=1", to whoever started us and wants to know */
/* A service manager that wants a sign of life (WatchdogSec=) gets one for as long as requests that wait are taken up. */
struct watchdog {
	int64_t every_us; /* 0: nobody wants one */
	uint64_t taken; /* requests, at the last sign */
};
struct watchdog manager_watchdog(struct server *s);
/* The next signal, as sigwaitinfo(2). */
int manager_wait(struct server *s, struct watchdog *w, const sigset_t *mine);

/* policy.c: the policy that this door was started with.  A file that cannot be used leaves the old one in force. */
int policy_load(struct server *s, struct err *e);
/* Every second: another server of this workspace may have set a budget. */
void policy_look(struct server *s);
struct door_policy *policy_take(struct server *s);
void policy_drop(struct server *s, struct door_policy *p);

/* queue.c and work.c: so many workers, each with a kernel of its own. */
enum { QUEUE_MOST = 1024, WORKERS = 32 };
int work_start(struct server *s, struct err *e);
size_t work_descriptors(void); /* as many as this process may have, for everything */
/* `done` is called by the worker when the answer is there.  False: too many wait. */
bool work_put(struct server *s, struct call *c, void (*done)(void *), void *arg);
/* The same by this thread itself, with a kernel of its own, where it is a decision and nobody else waits or is at work: then nobody has to be woken for it.  False: it was not
 * begun. */
struct worker;
struct worker *worker_new(struct server *s);
void worker_free(struct worker *w); /* NULL is fine */
bool work_here(struct worker *w, struct call *c, void (*done)(void *), void *arg);
bool work_is_here(void); /* this thread is in it */
void work_stop(struct server *s); /* what is in the queue is answered first */
size_t work_waiting(struct server *s);
void work_reloaded(struct server *s); /* other rules are in force */
uint64_t work_taken(struct server *s); /* requests that a worker took up, ever */

/* limit.c: may this address, before it is known who calls, and may this caller go on?  0, or the seconds after which to try again. */
struct limiter *limiter_new(struct sys *s, bool is_fleet);
void limiter_free(struct limiter *l);
int64_t limiter_ask_address(struct limiter *l, const struct call *c);
int64_t limiter_ask_class(struct limiter *l, const struct call *c);
int64_t limiter_ask_node(struct limiter *l, int64_t tenant, int64_t node); /* of a fleet */
/* 429 unless there is nothing to wait for. */
int limited(struct call *c, int64_t wait_s, const char *why, struct err *e);

/* once.c: Idempotency-Key.  ONCE_NEW: go on, and say how it ended with once_end().  ONCE_SAME: c has the answer of the first time. */
enum once { ONCE_NEW, ONCE_SAME, ONCE_OTHER, ONCE_BUSY };
struct idempotency *once_new(struct sys *s);
void once_free(struct idempotency *o);
enum once once_begin(struct idempotency *o, struct call *c, const char *key);
void once_end(struct idempotency *o, struct call *c, const char *key);

/* tail.c: the chain as it grows, whoever writes it. */
struct tail *tail_start(struct server *s, void (*grown)(void *), void *arg, struct err *e);
void tail_stop(struct tail *t);
uint64_t tail_length(struct tail *t); /* receipts that are known to be on disk */
void tail_heed(struct tail *t, bool is_heeded); /* does somebody listen, who is told at once?  NULL is fine */

/* listen.c.  Sockets that a service manager has opened (LISTEN_FDS) are taken instead of those of the options. */
int listen_start(struct server *s, struct err *e);
int listen_reload(struct server *s,
	struct err *e); /* certificates, for the next connections; on an error those before go on */
void listen_quiesce(struct server *s); /* no new connections; what is open is answered */
void listen_stop(struct server *s);
void listen_wake(void *server); /* streams look whether there is something to send */
/* `is_here`: what it has is sent by this thread, which holds nothing that fill() needs; otherwise by another one, at the same time. */
void listen_wake_one(struct call *c, bool is_here);
int listen_fd(struct call *c); /* of its connection */
/* The call lives until it is released as often as it was kept, also when its client is gone. */
void call_keep(struct call *c);
void call_release(struct call *c);

/* log.c: one JSON object a line on standard error; no arguments, no secrets. */
void log_line(struct server *s, const char *level, const struct call *c, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif

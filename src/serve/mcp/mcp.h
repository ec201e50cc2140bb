/* mcp.h — inside serve/mcp/: the gateway between agents and servers of tools.
 *
 *	guest		a client: its session, its protocol, what tainted it
 *	flight		one request of a guest, from its first byte to its answer
 *	upstream	one server of the registry: a child inside walls, or an address; its own thread reads what it says
 *
 * How a call goes.  A transport (stdio.c, http.c) makes a flight; a worker runs its step: call.c checks the arguments against the pinned schema,
 * asks the registry and the kernel, and has the decision on disk.  Only then the flight goes to the upstream; its worker goes on with other
 * things.  What comes back, and what does not, is a second step of a worker, which puts the outcome on record and answers.
 *
 * Who owns a flight: the worker that runs its step; then the upstream it is sent to, until that gives it back by flight_go().  There is always
 * exactly one, so nothing in a flight is locked but what flight_cancel() sets. */
#ifndef SERVE_MCP_MCP_H
#define SERVE_MCP_MCP_H

#include "kernel/mcp/mcp.h"
#include "serve/http/http.h"
#include "serve/mcp/rpc.h"
#include "serve/serve.h"

#define MCP_LATEST "2025-11-25"
#define MCP_STATELESS "2026-07-28"
#define MCP_OWN "helm" /* the upstream of Helm's own tools */
enum {
	MCP_TIMEOUT_S = 60,
	MCP_START_S = 30,
	MCP_RESULT_KB = 1024,
	MCP_LIST_S = 60,
	MCP_ASK_S = 600,
	MCP_LEVEL = 1, /* info */
	MCP_QUESTIONS = 16,
	MCP_STREAMS = 128,
	MCP_IDLE_S = 1800,
	MCP_SESSIONS = 4000,
	MCP_SESSIONS_EACH = 500,
	MCP_FLIGHTS_EACH = 1024
};

/* ---- the registry, as it was when somebody looked ---- */

struct snapshot {
	struct arena a;
	struct json *registry;
	int refs;
};

/* What an upstream offers, as it said. */
struct offer {
	struct arena a;
	struct json *tools; /* list of definitions */
	struct json *capabilities;
	const char *name, *version; /* of the server */
	int refs;
};

struct gateway {
	struct server *server;
	const struct json *o; /* options: {servers: [id], client, program, own_tools, prefix, origins} */
	struct arena a;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t idle;
	struct snapshot *snapshot;
	struct stat looked_at;
	struct upstream *upstreams;
	struct guest *guests;
	struct flight *asleep;
	size_t guest_count, flights, streams;
	uint64_t next_number; /* of flights */
	bool is_over, has_ticker;
};
int gateway_start(struct server *s, const struct json *options, struct err *e);
void gateway_stop(struct gateway
		*g); /* children end; every flight is ended, and one that comes later finds no server */
void gateway_free(struct gateway *g); /* when nobody can come any more */
/* The registry now.  NULL: it cannot be read, and then nothing is offered. */
struct snapshot *snapshot_take(struct gateway *g);
void snapshot_drop(struct gateway *g, struct snapshot *s);
/* Is this a version of the protocol with sessions that is spoken?  All versions, the newest first. */
bool mcp_speaks(const char *version);
void mcp_push_versions(struct arena *a, struct json *to);

/* ---- guests ---- */

struct guest {
	struct gateway *g;
	struct guest *next;
	int refs;
	bool is_over;
	char id[33]; /* of the session */
	char client[65]; /* what it calls itself */
	char principal[128], tenant[64];
	char version[16];
	int64_t used_us;
	struct json *taint; /* labels; in `a`, under the lock of the gateway */
	struct arena a;
	struct json *watched; /* {server: {uri: true}} that it wants to hear of; the same */
	bool is_told; /* its transport can tell it things that it did not ask for */
	int level; /* of what servers log: that and what is graver is passed on */
	bool may_sample, may_elicit; /* as it said in its hello */
	struct flight *flights; /* on their way, under the lock of the gateway */
	size_t flight_count;
	/* A message to it that answers nothing; NULL: there is no way to it.  Under the lock of the gateway. */
	void (*tell)(struct guest *u, struct bytes line);
	void *teller; /* of the transport */
};
struct guest *guest_new(struct gateway *g, const char *principal, const char *tenant, struct err *e);
struct guest *guest_find(struct gateway *g, const char *id); /* NULL: it is not known, or was away too long */
void guest_hold(struct guest *u); /* one more reference */
void guest_drop(struct guest *u); /* gives back what new or find gave */
void guest_end(struct guest *u); /* it is not found any more; what is on its way is cancelled */
/* To all guests that can be told. */
void guests_tell(struct gateway *g, const char *method);

/* ---- flights ---- */

struct upstream;
struct saying {
	struct saying *next;
	size_t n;
	char text[];
};
struct want {
	struct flight *f;
	struct want *next;
};
struct flight {
	struct arena a;
	struct call call; /* for the workers */
	struct gateway *g;
	struct guest *guest;
	struct snapshot *snap;
	struct flight *next, **self; /* in the guest's list */
	struct rpc rpc;
	uint64_t number;
	bool is_question; /* a server's, to the guest */
	bool can_hear; /* its guest hears what is sent before the answer */
	bool is_stateless; /* of the era without sessions */
	bool has_own; /* Helm's own tools are for this caller */

	int (*step)(struct flight *f, struct err *e); /* what a worker does next */
	struct json *answer; /* the whole message; NULL: none is owed */

	/* on its way */
	struct upstream *to; /* where it goes after this step; NULL: nowhere, it is answered */
	const char *method;
	struct json *params;
	int64_t timeout_us;
	int wants; /* upstreams that it waits for, and one for the worker that runs its step; atomic */
	bool is_waiting; /* for upstreams: the same step again, then */
	bool awaits_start,
		has_waited; /* for the start of an upstream; it did, and what failed meanwhile is not started again for it */
	int64_t began_us;
	int64_t wake_us; /* step again at that time; 0: it does not wait for a person */
	struct bytes ask; /* the guest, when it waits */
	struct flight *next_asleep;

	/* and back */
	struct json *result, *error;
	const char *trouble; /* why there is neither; "cancelled", "timeout", "ended", ... */
	size_t result_bytes;
	int is_cancelled; /* atomic */
	int64_t upstream_id, deadline_us;
	struct flight *next_pending;
	struct json *progress_token; /* the guest's; or NULL */

	void *state; /* of the step's own file */
	/* The transport: one message of several, or the last (message.p NULL: there is none). */
	void (*send)(struct flight *f, struct bytes message, bool is_last);
	bool (*is_clear)(struct flight *f); /* an answer would not wait for others; NULL: it never does */
	void *transport;
	void (*done)(void *); /* of a call that waits for the answer, and its argument */
	void *done_arg;
};
/* Takes over `text`'s bytes by copying them.  The reference to the guest becomes the flight's.  `scopes`: what the caller may. */
struct flight *flight_new(struct guest *u, struct bytes text, unsigned scopes);
void flight_go(struct flight *f); /* to a worker */
/* The same by this thread, where nobody else is at work and its step waits for nobody (work_here()); otherwise by a worker. */
void flight_go_here(struct flight *f, struct worker *w);
void flight_answer(struct flight *f, struct json *result);
void flight_refuse(struct flight *f, int code, const char *text);
/* The guest does not want it any more.  False: there is no such request on its way. */
bool guest_cancel(struct guest *u, const struct json *id);
/* list.c: the first step of every request. */
int flight_begin(struct flight *f, struct err *e);
/* A notification or response of a guest. */
void guest_heard(struct guest *u, const struct rpc *m);

/* ---- upstreams ---- */

enum upstream_state { UP_IDLE, UP_STARTING, UP_READY, UP_FAILED };
struct upstream {
	struct gateway *g;
	struct upstream *next;
	const char *id, *launch;
	bool is_web, is_own;
	pthread_mutex_t lock; /* of what follows */
	enum upstream_state state;
	bool is_listing, has_thread;
	bool must_list; /* its list is older than a call may rely on */
	int64_t listed_us;
	bool is_ending; /* for good */
	bool is_dismissed; /* until somebody wants it again */
	struct offer *offer;
	char why[400];
	int64_t retry_us, failures;
	struct want *wants;
	struct flight *pending; /* sent */
	struct flight *sending; /* to be sent */
	struct saying *saying; /* messages to be sent that are no flights */
	struct child *child; /* that is ready to be asked by any thread; NULL: by its own */
	uint64_t
		starts; /* so often it was started: an answer to what an earlier one asked is not for this one */
	size_t questions; /* of it, that are open */
	int wake; /* eventfd: there is something to send, or to cancel */
	int64_t last_id; /* atomic */
	pthread_t thread;
	char session[257], version[16]; /* of one that is reached by url */
	char *token; /* of client credentials */
	int64_t token_until_us;
	size_t threads;
};
struct upstream *upstream_get(struct gateway *g, const char *id, const struct json *row);
/* Is it ready, with a list of its tools that is new enough, or has it failed for now?  Otherwise false: it is being started or asked, and `f` goes on when it
 * is either. */
bool upstream_want(struct upstream *u, struct flight *f);
/* Its offer, to be given back; NULL and why there is none. */
struct offer *upstream_offer(struct upstream *u, char why[400]);
void offer_drop(struct upstream *u, struct offer *o);
/* f->method and f->params go there. */
void upstream_send(struct upstream *u, struct flight *f);
void upstreams_wake(struct gateway *g); /* they look whether somebody does not wait any more */
void upstream_stop(struct upstream *u);
int64_t upstream_next_id(struct upstream *u);
/* Those that are not in the registry any more, or may not run, are ended. */
void upstreams_dismiss(struct gateway *g, const struct snapshot *now);

/* For those who speak with it (child.c, web.c): */
void upstream_is_ready(struct upstream *u, struct offer *o);
void upstream_keep(struct upstream *u, const struct offer *o); /* as what was seen last */
void upstream_has_failed(struct upstream *u, const char *why);
struct offer *offer_new(void);
/* The tools of one page; false: there are more than are looked at. */
bool offer_add(struct offer *o, const struct json *page);
void flight_back(struct flight *f, const char *trouble); /* ended: to its next step */
void flight_back_here(
	struct flight *f, struct worker *w); /* answered: the same by this thread, if it can be */
struct json *upstream_hello(struct arena *a, const struct json *row);
const struct json *upstream_row(const struct upstream *u, const struct snapshot *s);
void *upstream_child(void *upstream); /* the thread of a child */
/* Under the lock of the upstream: it is asked now, by this thread.  *ret_wakes: its own has something left to do.  False: it cannot be, and nothing was sent. */
bool child_send_now(struct child *c, struct flight *f, bool *ret_wakes);
void *upstream_web(void *upstream); /* the thread that greets an address, or asks again for its tools */
void upstream_send_web(struct upstream *u, struct flight *f);
/* What it says by itself: progress, what it logs, news.  `f`: what it was asked when it said it; NULL: anything that waits for it. */
void upstream_said(struct upstream *u, struct arena *a, const struct rpc *m, struct flight *f);
/* A message to it that nobody waits for, if it is still the one that was started then; 0: whichever. */
void upstream_say(struct upstream *u, uint64_t starts, struct bytes message);
void upstream_say_web(struct upstream *u, struct bytes message);

/* ---- news.c: what servers say to guests by themselves ---- */

int step_level(struct flight *f, struct err *e); /* logging/setLevel */

/* ---- question.c: what servers ask guests ---- */

/* One of its server asks.  It is decided about, and answered by upstream_say(); or refused at once. */
void question_heard(struct upstream *u, struct bytes text, const struct rpc *m, struct flight *carrier);
/* It does not want to know any more. */
void question_dropped(struct upstream *u, const struct json *id);
/* A guest answers one.  What was not asked is nothing. */
void question_answered(struct guest *u, const struct rpc *m);
/* Under the lock of the gateway, when somebody can answer it: it goes to the guest. */
void question_ask(struct flight *f);

/* ---- steps ---- */

int step_list(struct flight *f, struct err *e); /* tools/list */
int step_call(struct flight *f, struct err *e); /* tools/call */
int step_ask(struct flight *f,
	struct err *e); /* what all servers of the options offer: {id: {tools} or {error}} */
/* pass.c: resources, prompts, completions, of every server that a person let pass them on. */
int step_pass(struct flight *f, struct err *e);
bool is_passed(const struct json *row, const char *word);
/* Does one of the servers that this gateway offers pass on that?  Approved ones only. */
bool some_pass(const struct flight *f, const char *word);
/* A resource of this server has changed: whoever watches it is told. */
void pass_updated(struct upstream *u, const struct json *params);
/* A tool by the name that guests know it by; its upstream's own name in *ret_tool. */
const struct json *tool_by_name(
	struct flight *f, const char *exposed, const char **ret_server, const char **ret_tool);
/* How it is called here: "<id>__<tool>", or with the prefix that a person chose. */
const char *exposed_name(struct arena *a, const struct flight *f, const char *server, const char *tool);
/* Which servers this gateway was started for, and which of them it offers. */
bool is_served(const struct gateway *g, const char *id);
bool is_offered(const struct flight *f, const char *id);
/* Members that a result of the era without sessions has. */
struct json *result_of_era(struct flight *f, struct json *result, bool is_list);

/* own.c */
struct json *own_tools(struct gateway *g, struct arena *a);
struct json *own_row(
	struct gateway *g, struct arena *a); /* as if somebody had approved it, which the build did */
int own_run(struct flight *f, const char *tool, const struct json *args, struct err *e);

/* results.c: f->result, or f->error, becomes what may be passed on; findings go into `about` (strings and numbers).  `tool`: what it promised; NULL: it
 * is no call of a tool. */
void result_check(struct flight *f, const struct json *row, const struct json *tool, struct json *about);
/* What of a server's word about its progress is passed on: numbers, and a short text in which nothing is found. */
struct json *progress_check(struct arena *a, const struct json *row, const struct json *params);

/* What of a line of its log; NULL: nothing. */
struct json *told_check(struct arena *a, const struct json *row, const struct json *params);
/* How many secrets stand in the texts of this; *ret_grave: [name] of what in them speaks to the model. */
size_t texts_check(struct arena *a, const struct json *v, struct json **ret_grave);

struct json *result_text(struct arena *a, const char *text, bool is_error);

/* ---- transports ---- */

/* stdio.c: until standard input ends or we are told to. */
int stdio_serve(struct server *s, struct err *e);
/* ask.c: one document about the servers on standard output, and the end. */
int ask_serve(struct server *s, struct err *e);

#endif

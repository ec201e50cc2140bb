/* parts.h — inside serve/proxy/. */
#ifndef SERVE_PROXY_PARTS_H
#define SERVE_PROXY_PARTS_H

#include "model/draw.h"
#include "privacy/privacy.h"
#include "serve/http/http.h"
#include "serve/proxy/alike.h"
#include "serve/proxy/form.h"
#include "serve/proxy/proxy.h"
#include "serve/web.h"

enum { UPSTREAMS_MOST = 32, BUDGETS_MOST = 32, OUT_MOST = 256 << 10, OUT_LOW = 64 << 10 };

/* ---- config.c ---- */

enum on_deny { DENY_ERROR, DENY_REWRITE };
enum key_from { KEY_NONE, KEY_ENV, KEY_FILE, KEY_CREDENTIAL, KEY_COMMAND };

struct upstream {
	const char *id, *url, *provider;
	const char *const *models; /* patterns, ends in NULL */
	enum key_from key_from;
	const char *key_name; /* variable, file or credential */
	const char *const *key_command;
	const char *ca_file; /* or NULL */
	const struct upstream *fallback; /* or NULL */
	const char *fallback_id;
	pthread_mutex_t lock; /* of what a command said */
	char *key; /* own */
	int64_t key_at_us;
};

struct budget {
	const char *id, *unit, *period, *per;
	int64_t limit; /* of cents: in millionths */
	bool is_held;
};

struct proxy {
	struct server *s;
	struct arena a;
	struct upstream upstreams[UPSTREAMS_MOST];
	size_t upstream_n;
	struct budget budgets[BUDGETS_MOST];
	size_t budget_n;
	enum on_deny on_deny;
	bool is_observing;
	bool needs_token;
	const char *client_token; /* that opens it beside the keys of callers; or NULL */
	const char *principal, *tenant; /* of whoever shows no key */
	const char *const *models, *const *providers; /* patterns that are allowed; NULL: any */
	const struct json *pins; /* {tool: "sha256:..."}; or NULL */
	unsigned redact, refuse; /* bit per label of privacy */
	int64_t request_bytes, answer_bytes, hold_bytes, idle_s, wallclock_us, assumed_output;
	const struct json *prices;
	const char *prices_sha256;
	struct web_loop *loop;
	pthread_mutex_t lock;
	pthread_cond_t left;
	size_t live; /* requests under way; under the lock */
	struct tx *first; /* those that were begun; of the loop's thread */
	struct tx *pushed; /* those of which the listener is to be told; the same */
	struct worker *w; /* the same */
};
int config_read(struct proxy *p, const struct json *doc, struct err *e);

/* ---- upstream.c ---- */

/* Whoever serves this model; NULL: nobody does. */
const struct upstream *upstream_for(const struct proxy *p, const char *model);
/* The key as a header line, in `a`; NULL when the client's own goes on.  E_IO PROXY_KEY without any word of it. */
int upstream_key(struct proxy *p, const struct upstream *u, struct arena *a, const char **ret, struct err *e);
/* Where a path and its query lead. */
const char *upstream_url(struct call *c, const struct upstream *u);
/* Lines for the vendor: what the client sent, without what is meant for us or for one connection. */
const char **upstream_headers(struct call *c, const struct form *form, const char *key);
bool upstream_is_allowed(const struct proxy *p, const struct upstream *u, const char *model);

/* ---- request.c ---- */

struct offered_tool {
	const char *name;
	const struct json *schema; /* or NULL */
	const char *sha256; /* of its definition */
	bool is_vendors; /* who carries it out */
	const struct json *entry;
};
struct asked {
	const struct form *form;
	const char *model, *session; /* model "": none was named */
	bool is_json, is_stream, has_results, is_cut; /* is_cut: not all of the results was looked through */
	struct offered_tool *tools;
	size_t tool_n, tool_room;
	const char *const *names; /* of the tools, ends in NULL */
	const char *tools_sha256; /* or NULL */
	int64_t bytes, input_tokens, output_tokens; /* as much as it may be */
	size_t findings[PRIVACY_LABEL_COUNT];
	struct json *taint; /* list of labels; or NULL */
	struct bytes body; /* as it is sent */
	bool is_redacted;
};
/* What the caller wants; 4xx when it cannot be known. */
int request_read(struct call *c, struct proxy *p, struct asked *ret, struct err *e);

/* ---- budget.c ---- */

struct held {
	struct draw draws[BUDGETS_MOST + 1];
	bool is_cents[BUDGETS_MOST + 1]; /* otherwise tokens, of what is held */
	size_t n;
};
/* What a model costs in cents for a million tokens; NULL: that is not known. */
const struct json *budget_price(const struct proxy *p, const char *provider, const char *model);
/* Millionths of a cent. */
int64_t budget_cost(const struct json *price, const struct usage *u);
/* What this request, or `calls` calls in one answer, draw.  BUDGET_EXCEEDED with E_DENIED when it does not fit; *ret_left says what is left.  PROXY_UNPRICED. */
int budget_draws(struct call *c, struct proxy *p, const struct asked *q, const struct upstream *u,
	size_t calls, struct held *ret, struct json **ret_left, struct err *e);
/* What is left of each budget for whoever asks; NULL: that is not known. */
struct json *budget_left(struct call *c, struct proxy *p, const struct asked *q);
/* What really happened, for the outcome. */
struct draw_settled *budget_settle(struct arena *a, const struct held *h, const struct usage *u,
	int64_t micro, bool is_unsent, size_t *ret_n);
/* Is the session older than it may be? */
bool budget_is_too_old(struct call *c, struct proxy *p, const char *session);

/* ---- one request on its way (stream.c) ---- */

/* What was decided about what is held. */
struct ruling {
	bool is_made; /* a worker has come to its end */
	bool is_allowed;
	struct refusal refusal;
	const char **why; /* by call; NULL when all are allowed */
	const char *receipt_id, *decision_id;
};

enum phase { TX_HEAD, TX_AGAIN, TX_WHOLE, TX_STREAM, TX_RAW };

/* ---- mask.c: the vendor's key in what the vendor says ---- */

struct mask {
	const char *key; /* NULL: there is none to be looked for */
	size_t key_n;
	struct bulk copy; /* of the key */
	struct bulk text; /* what was given out last, and behind it what waits */
	size_t waits;
};
void mask_begin(struct mask *m, const char *key); /* or NULL */
bool mask_has(const struct mask *m, const char *value);
/* What may be passed on of it and of what waits; valid until the next call. */
struct bytes mask_take(struct mask *m, struct bytes some);
struct bytes mask_rest(struct mask *m); /* at the end */
void mask_free(struct mask *m);

struct tx {
	struct proxy *p;
	struct call *c;
	struct call work; /* a copy of it, for one decision */
	void (*answered)(void *); /* tells the listener; NULL: done */
	void *arg;
	struct asked asked;
	const struct upstream *up;
	const char *url, **headers;
	struct web_transfer *transfer;
	enum phase phase;
	bool is_deciding, is_ended, is_paused, is_gone, is_recorded, is_refused, is_rewriting, is_unsent,
		is_too_large;
	bool is_unasked; /* events to a request for a document: nothing leaves before everything in them is decided */
	size_t pushed; /* bytes that the listener was not told of yet */
	struct tx *next_pushed;
	int fd; /* of the client */
	int64_t began_us;
	/* of the vendor's answer */
	int status;
	struct mask mask;
	struct bulk whole; /* all of it, or what waits while it is decided */
	struct bulk held;
	struct sse sse;
	struct alike alike;
	struct assembly x;
	struct arena event; /* of one event */
	size_t calls, denied;
	const char *kind, *code; /* status of the outcome, and reason code; code NULL: none */
	struct err failed; /* of the transfer */
	struct arena *home; /* of the request: lives as long as this */
	struct arena job; /* of one decision */
	struct ruling ruling;
	/* of the decision about the request */
	const char *decision_id, *policy_hash, *args_hash, *receipt_id;
	const struct draw *policy_draws;
	size_t policy_draw_n;
	struct held reserved;
	struct json *receipt; /* the last one; for headers */
	/* on its way to the client; under the lock */
	pthread_mutex_t lock;
	struct bulk out;
	size_t out_at, out_hashed; /* sent so far, and in the digest so far, of `out` */
	struct sha256 sent; /* of what left, and of what of `out` is in the digest */
	bool is_out_over, is_out_broken, is_out_full;
	struct events events;
	struct tx *next, **self;
};
/* Called by the worker when it has left the call. */
void tx_start(struct call *c, void (*done)(void *), void *arg);
void tx_free(void *tx);
/* "sha256:..." of everything that was passed on until now.  Any thread. */
const char *tx_digest(struct tx *t, struct arena *a);
void tx_flush_all(void *proxy); /* the loop's thread, at the end of a round */
void tx_gone(void *tx); /* the loop's thread: its client is */
/* The loop's thread: everything that is under way ends now, and says so. */
void tx_cut_all(void *proxy);

/* ---- forward.c ---- */

int forward(struct call *c, struct err *e);
bool is_of_the_boundary(const struct call *c);
bool is_from_a_page(struct call *c);
/* May it go to the next vendor instead?  Decided anew. */
int forward_again(struct call *c, struct err *e);
void refuse_call(struct call *c, const struct form *form, const struct refusal *r);

/* ---- govern.c: run by workers, with c->a the arena of the job ---- */

#define NO_POLICY_TEXT \
	"no policy is in force, so no tool may be called; start the proxy with --policy FILE, or put one in use ('helm policy use')"
bool govern_lacks_policy(struct call *c);
/* Decides about every call that is held; tx->ruling says how. */
int govern_calls(struct call *c, struct err *e);
/* An answer that came whole: decided, recorded, and c has what is sent. */
int govern_whole(struct call *c, struct err *e);
/* What became of the request, on record. */
int govern_outcome(struct call *c, struct err *e);
struct json *proxy_about(struct arena *a, const struct tx *t);

#endif

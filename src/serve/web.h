/* web.h — inside serve/: asking others over HTTP. */
#ifndef SERVE_WEB_H
#define SERVE_WEB_H

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sys.h"

#include <stdbool.h>
#include <stdint.h>

enum { WEB_HEADERS = 16 };
struct web_ask {
	const char *method; /* NULL: POST with a body, else GET */
	const char *url;
	const char *socket; /* of this machine, instead of the host in the url; or NULL */
	const char *ca_file; /* whose certificates count; NULL: those of the system */
	const char *cert_file, *key_file; /* who asks, in PEM; or NULL */
	const char *token; /* Authorization: Bearer; or NULL */
	const char *headers[WEB_HEADERS];
	size_t header_count;
	struct bytes body; /* p NULL: none */
	const char *type; /* of the body; NULL: application/json */
	int64_t timeout_ms;
	size_t most_bytes; /* of the answer; 0: 1 MiB */
	const int *is_cancelled; /* atomic, looked at meanwhile; or NULL */
	/* Called when more of the answer has come, with all of it so far; or NULL. */
	bool (*heard)(void *arg, struct bytes so_far); /* true: that is all; the rest is not waited for */
	void *heard_arg;
};
struct web_answer {
	int status;
	struct bytes body; /* with a NUL behind it */
	const char *type; /* of the content; or NULL */
	const char *session; /* Mcp-Session-Id; or NULL */
};
/* Once, before the first question. */
int web_start(struct err *e);
/* OK for any status of an answer whose headers came whole.  WEB_TIMEOUT, WEB_UNREACHABLE with E_IO, WEB_TOO_LARGE with E_LIMIT. */
int web_ask(struct arena *a, const struct web_ask *q, struct web_answer *ret, struct err *e);

/* ---- many at once, as their bytes come ---- */

/* One thread that talks to others.  What is called back is called by it; what it is told, it is told by functions that it calls itself, so that a transfer belongs to
 * one thread and needs no lock. */
struct web_loop;
struct web_transfer;
int web_loop_start(struct sys *s, struct web_loop **ret, struct err *e);
void web_loop_stop(struct web_loop *l); /* what is under way is forgotten */
/* Any thread: have it call this.  In the order in which they were given. */
void web_post(struct web_loop *l, void (*fn)(void *), void *arg);

/* Whoever listens to us, by their socket: `fn` is called once when they are gone. */
void web_watch(struct web_loop *l, int fd, void *arg);
void web_unwatch(struct web_loop *l, int fd);
/* Called whenever everything that came was taken, before the loop sleeps. */
void web_on_round(struct web_loop *l, void (*fn)(void *arg), void *arg);
void web_on_gone(struct web_loop *l, void (*fn)(void *arg));

struct web_spec {
	const char *method, *url;
	const char *ca_file; /* or NULL */
	const char *const *headers; /* lines, ends in NULL */
	struct bytes body; /* p NULL: none; lives until the end */
	int64_t connect_ms, idle_s; /* idle_s: without a byte, unless we are the ones who wait */
	void *arg;
	void (*header)(void *arg, const char *name, const char *value); /* of the answer that counts */
	void (*begin)(void *arg, int status); /* all headers were told */
	bool (*data)(void *arg,
		struct bytes some); /* decoded; false: not now, the same bytes again after web_go_on() */
	/* The transfer is over.  NULL: all of it came, and begin() was called.  Otherwise WEB_UNREACHABLE: nothing was sent; WEB_INCOMPLETE: it was, and no whole answer
	 * came; WEB_TIMEOUT. */
	void (*end)(void *arg, const struct err *failed);
};
/* The rest only by that thread. */
struct web_transfer *web_send(struct web_loop *l, const struct web_spec *spec);
void web_go_on(struct web_transfer *t);
void web_cancel(struct web_transfer *t); /* at once; end() is not called */

#endif

/* console.h — inside serve/: who looks at the console, and whether a browser's request may be answered at all.
 *
 * The console is a page that reads; what it does goes through the kernel with a signature of a person's key.  A reader comes in by a
 * one-time link or with a registered key, and then has a session: a cookie, and beside it a word that only pages of this very origin know,
 * because cookies of one host are shared by all of its ports.  Sessions live in memory and end with the server. */
#ifndef SERVE_CONSOLE_H
#define SERVE_CONSOLE_H

#include "serve/serve.h"

struct console;
/* `options` is the member `console` of the server's options, or NULL: {origin, token_sha256, token_expires_us, invite}. */
struct console *console_new(struct server *s, const struct json *options);
void console_free(struct console *x);

/* A path of the console: its pages, or its part of the API. */
bool console_is_path(const char *path);
bool console_is_api(const char *path);
/* Was it asked for by a name of ours, and, when a cookie speaks for the caller, by one of our own pages?  421, 403. */
int console_check_host(struct call *c, struct err *e);
int console_check_browser(struct call *c, struct err *e);
/* Does the request bring a session that holds?  Then who it is. */
bool console_has_cookie(const struct call *c);
bool console_who(struct call *c, struct who *ret);

/* What a session is. */
struct console_session {
	const char *label, *key_id; /* NULL: by a link, and looks only */
	const char *may_register; /* the name under which one key may be registered; or NULL */
	int64_t expires_us;
	uint64_t number; /* of this server's sessions */
};
/* Does it go on?  For whoever listens longer than one request.  Whether its key is still registered is read every other second; *asked_us is
 * when that was read last. */
bool console_is_alive(struct server *s, uint64_t number, int64_t *asked_us);
bool console_session_of(struct call *c, struct console_session *ret);
/* The one-time link that the server was started with: true once. */
bool console_take_link(struct call *c, const char *token, const char **ret_invite);
/* A session begins: sets the cookie, *ret_page is what pages send beside it. */
int console_begin(struct call *c, const struct console_session *who, int64_t lasts_us, const char **ret_page,
	struct err *e);
void console_end(struct call *c);
/* The right to register is used up. */
void console_registered(struct call *c);

/* A challenge that counts once, within five minutes: made, and taken. */
int console_challenge(struct call *c, uint8_t ret[32], struct err *e);
bool console_take_challenge(struct call *c, const uint8_t challenge[32]);

/* Of the request: "http://localhost:7714", and the name that keys are bound to, "localhost". */
const char *console_origin(struct call *c);
const char *console_rp_id(struct call *c);

/* What a command of `helm` prints with --json, for views that are the same there; `words` ends in NULL.  `input` may be empty. */
int console_ask_helm(struct call *c, const char *const *words, struct bytes input, struct json **ret,
	int *ret_code, struct err *e);

#endif
